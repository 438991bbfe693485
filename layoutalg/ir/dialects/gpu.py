"""The gpu operations that kernels use, with LLVM's syntax (xDSL 0.74 reads and prints only their generic form).

    gpu.module @gemm {
      gpu.func @gemm(%a : i64) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
        %x = gpu.block_id x
        gpu.return
      }
    }

`known_block_size` is a property of the function, though it is written among the attributes; so are `known_grid_size`
and `known_cluster_size`. Everything else in the braces is an attribute that the function carries.

>>> print(BlockIdOp.along(DimensionEnum.X))
%0 = gpu.block_id x
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects import gpu as upstream
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    i1,
    i32,
)
from xdsl.dialects.gpu import DimensionAttr, DimensionEnum
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Block, Dialect, Operation, Region, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import (
    IRDLOperation,
    attr_def,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_attr_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsolatedFromAbove, IsTerminator, NoTerminator, SymbolOpInterface, SymbolTable
from xdsl.utils.str_enum import StrEnum

from layoutalg.ir.assembly import parse_attributes, parse_operand_list, print_attributes, split_attributes

__all__ = [
    "GPU",
    "BarrierOp",
    "BlockDimOp",
    "BlockIdOp",
    "FuncOp",
    "GlobalIdOp",
    "GridDimOp",
    "LaneIdOp",
    "ModuleOp",
    "NumSubgroupsOp",
    "ReturnOp",
    "ShuffleMode",
    "ShuffleModeAttr",
    "ShuffleOp",
    "SubgroupIdOp",
    "SubgroupSizeOp",
    "ThreadIdOp",
]


class ShuffleMode(StrEnum):
    """Whose value a lane receives: of the lane above, below, xor an offset, or of a lane by its number."""

    Up = "up"
    Down = "down"
    Xor = "xor"
    Idx = "idx"


@irdl_attr_definition
class ShuffleModeAttr(EnumAttribute[ShuffleMode], SpacedOpaqueSyntaxAttribute):
    """`#gpu<shuffle_mode idx>`."""

    name = "gpu.shuffle_mode"


class _IndexOp(IRDLOperation, ABC):
    """A number that the hardware gives, optionally with a bound that it stays below."""

    upper_bound = opt_prop_def(IntegerAttr)
    result = result_def(IndexType)

    def print_bound(self, printer: Printer) -> None:
        """Write `upper_bound 16 {...}`."""
        if self.upper_bound is not None:
            printer.print_string(f" upper_bound {self.upper_bound.value.data}")
        print_attributes(printer, self)


def _parse_bound(parser: Parser) -> dict[str, Attribute]:
    if parser.parse_optional_keyword("upper_bound") is None:
        return {}
    return {"upper_bound": IntegerAttr(parser.parse_integer(allow_boolean=False), IndexType())}


class _DimensionOp(_IndexOp, ABC):
    """An index with a dimension, e.g. `gpu.block_id x`."""

    dimension = prop_def(DimensionAttr)

    @classmethod
    def along(cls, dimension: DimensionEnum) -> _DimensionOp:
        """The index along one dimension of the grid."""
        return cls.build(result_types=[IndexType()], properties={"dimension": DimensionAttr(dimension)})

    @classmethod
    def parse(cls, parser: Parser) -> _DimensionOp:
        """Read LLVM's syntax."""
        dimension = DimensionAttr(parser.parse_str_enum(DimensionEnum))
        properties = {"dimension": dimension, **_parse_bound(parser)}
        return cls.build(result_types=[IndexType()], properties=properties, attributes=parse_attributes(parser))

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(f" {self.dimension.data.value}")
        self.print_bound(printer)


@irdl_op_definition
class BlockIdOp(_DimensionOp):
    """Which workgroup this is."""

    name = "gpu.block_id"


@irdl_op_definition
class BlockDimOp(_DimensionOp):
    """How many work-items a workgroup has."""

    name = "gpu.block_dim"


@irdl_op_definition
class GridDimOp(_DimensionOp):
    """How many workgroups there are."""

    name = "gpu.grid_dim"


@irdl_op_definition
class GlobalIdOp(_DimensionOp):
    """Which work-item of the whole grid this is."""

    name = "gpu.global_id"


@irdl_op_definition
class ThreadIdOp(_DimensionOp):
    """Which work-item of the workgroup this is."""

    name = "gpu.thread_id"


@irdl_op_definition
class LaneIdOp(_IndexOp):
    """Which lane of the subgroup this is."""

    name = "gpu.lane_id"

    @classmethod
    def parse(cls, parser: Parser) -> LaneIdOp:
        """Read LLVM's syntax."""
        properties = _parse_bound(parser)
        return cls.build(result_types=[IndexType()], properties=properties, attributes=parse_attributes(parser))

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        self.print_bound(printer)


class _SubgroupOp(_IndexOp, ABC):
    """A number of the subgroup, e.g. `gpu.subgroup_id : index`."""

    @classmethod
    def parse(cls, parser: Parser) -> _SubgroupOp:
        """Read LLVM's syntax."""
        properties = _parse_bound(parser)
        attributes = parse_attributes(parser)
        parser.parse_punctuation(":")
        return cls.build(result_types=[parser.parse_type()], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        self.print_bound(printer)
        printer.print_string(" : index")


@irdl_op_definition
class SubgroupIdOp(_SubgroupOp):
    """Which subgroup of the workgroup this is."""

    name = "gpu.subgroup_id"


@irdl_op_definition
class NumSubgroupsOp(_SubgroupOp):
    """How many subgroups the workgroup has."""

    name = "gpu.num_subgroups"


@irdl_op_definition
class SubgroupSizeOp(_SubgroupOp):
    """How many lanes a subgroup has."""

    name = "gpu.subgroup_size"


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """Wait for every work-item of the workgroup."""

    name = "gpu.barrier"

    assembly_format = "attr-dict"


@irdl_op_definition
class ShuffleOp(IRDLOperation):
    """Receive the value of another lane, and whether that lane exists."""

    name = "gpu.shuffle"

    value = operand_def()
    offset = operand_def(i32)
    width = operand_def(i32)
    mode = prop_def(ShuffleModeAttr)
    shuffle_result = result_def()
    valid = result_def(i1)

    @classmethod
    def parse(cls, parser: Parser) -> ShuffleOp:
        """Read LLVM's syntax."""
        mode = ShuffleModeAttr(parser.parse_str_enum(ShuffleMode))
        operands = parse_operand_list(parser, 3)
        attributes = parse_attributes(parser)
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        resolved = [parser.resolve_operand(o, t) for o, t in zip(operands, (kind, i32, i32), strict=True)]
        return cls.build(operands=resolved, result_types=[kind, i1], properties={"mode": mode}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(f" {self.mode.data.value} ")
        printer.print_list(self.operands, printer.print_ssa_value)
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)


@irdl_op_definition
class ModuleOp(IRDLOperation):
    """The kernels that one compilation for a device takes."""

    name = "gpu.module"

    body = region_def("single_block")
    sym_name = prop_def(StringAttr)
    targets = opt_prop_def(ArrayAttr)

    traits = traits_def(IsolatedFromAbove(), NoTerminator(), SymbolOpInterface(), SymbolTable())

    @classmethod
    def of(cls, name: str, operations: Sequence[Operation]) -> ModuleOp:
        """A module of this name that holds these functions."""
        return cls.build(properties={"sym_name": StringAttr(name)}, regions=[Region(Block(operations))])

    @classmethod
    def parse(cls, parser: Parser) -> ModuleOp:
        """Read LLVM's syntax."""
        properties: dict[str, Attribute] = {"sym_name": parser.parse_symbol_name()}
        targets = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_attribute)
        if targets is not None:
            properties["targets"] = ArrayAttr(targets)
        written = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region()
        if not region.blocks:
            region.add_block(Block())
        return cls.build(properties=properties, attributes=dict(written.data) if written else {}, regions=[region])

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        if self.targets is not None:
            printer.print_string(" ")
            printer.print_attribute(self.targets)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body)


@irdl_op_definition
class FuncOp(IRDLOperation):
    """A function of the device; with `gpu.kernel`, one that the host can launch."""

    name = "gpu.func"

    body = region_def()
    sym_name = attr_def(StringAttr)
    kernel = opt_attr_def(UnitAttr, attr_name="gpu.kernel")
    workgroup_attributions = opt_attr_def(IntegerAttr)
    function_type = prop_def(FunctionType)
    arg_attrs = opt_prop_def(ArrayAttr)
    known_block_size = opt_prop_def(DenseArrayBase)
    known_grid_size = opt_prop_def(DenseArrayBase)
    known_cluster_size = opt_prop_def(DenseArrayBase)

    traits = traits_def(IsolatedFromAbove(), HasParent(ModuleOp), SymbolOpInterface())

    @classmethod
    def kernel_of(cls, name: str, body: Region, block_size: Sequence[int], subgroup_size: int) -> FuncOp:
        """A kernel with this body, launched with this many work-items per workgroup."""
        return cls.build(
            properties={
                "function_type": FunctionType.from_lists(body.block.arg_types, []),
                "known_block_size": DenseArrayBase.from_list(i32, list(block_size)),
            },
            attributes={
                "sym_name": StringAttr(name),
                "gpu.kernel": UnitAttr(),
                "intel_reqd_sub_group_size": IntegerAttr(subgroup_size, i32),
                "workgroup_attributions": IntegerAttr(0, 64),
            },
            regions=[body],
        )

    @classmethod
    def parse(cls, parser: Parser) -> FuncOp:
        """Read LLVM's syntax."""
        name = parser.parse_symbol_name()
        written = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: (parser.parse_argument(), parser.parse_optional_dictionary_attr_dict())
        )
        arguments = [argument for argument, _ in written]
        outputs: list[Attribute] = []
        if parser.parse_optional_punctuation("->") is not None:
            found = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
            outputs += [parser.parse_type()] if found is None else found
        inputs = [argument.type for argument in arguments]
        shared = _parse_attributions(parser, "workgroup")
        private = _parse_attributions(parser, "private")
        kernel = parser.parse_optional_keyword("kernel") is not None
        dictionary = parser.parse_optional_attr_dict_with_keyword(("sym_name", "function_type"))
        properties, attributes = split_attributes(cls, {}, dictionary.data if dictionary else {})
        properties["function_type"] = FunctionType.from_lists(inputs, outputs)
        if any(attributes_of for _, attributes_of in written):
            properties["arg_attrs"] = ArrayAttr([DictionaryAttr(attributes_of) for _, attributes_of in written])
        attributes |= {"sym_name": name, "workgroup_attributions": IntegerAttr(len(shared), 64)}
        if kernel:
            attributes["gpu.kernel"] = UnitAttr()
        region = parser.parse_region([*arguments, *shared, *private])
        return cls.build(properties=properties, attributes=attributes, regions=[region])

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        count = len(self.function_type.inputs)
        shared = self.workgroup_attributions.value.data if self.workgroup_attributions else 0
        arguments = self.body.blocks[0].args
        with printer.in_parens():
            for position, argument in enumerate(arguments[:count]):
                printer.print_string(", " if position else "")
                printer.print_block_argument(argument)
                if self.arg_attrs is not None:
                    own = self.arg_attrs.data[position]
                    printer.print_op_attributes(own.data if isinstance(own, DictionaryAttr) else {})
        if self.function_type.outputs.data:
            printer.print_string(" -> ")
            with printer.in_parens():
                printer.print_list(self.function_type.outputs, printer.print_attribute)
        for keyword, block in (
            ("workgroup", arguments[count : count + shared]),
            ("private", arguments[count + shared :]),
        ):
            if block:
                printer.print_string(f" {keyword}")
                with printer.in_parens():
                    printer.print_list(block, printer.print_block_argument)
        if self.kernel is not None:
            printer.print_string(" kernel")
        shown = {**self.attributes, **self.properties}
        for name in ("sym_name", "function_type", "gpu.kernel", "workgroup_attributions", "arg_attrs"):
            shown.pop(name, None)
        printer.print_op_attributes({name: shown[name] for name in sorted(shown)}, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_block_terminators=True)


def _parse_attributions(parser: Parser, keyword: str) -> list[Parser.Argument]:
    if parser.parse_optional_keyword(keyword) is None:
        return []
    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """Leave the function."""

    name = "gpu.return"

    values = var_operand_def()

    traits = traits_def(IsTerminator(), HasParent(FuncOp))

    assembly_format = "attr-dict ($values^ `:` type($values))?"


_OWN: tuple[type[Operation], ...] = (
    BarrierOp,
    BlockDimOp,
    BlockIdOp,
    FuncOp,
    GlobalIdOp,
    GridDimOp,
    LaneIdOp,
    ModuleOp,
    NumSubgroupsOp,
    ReturnOp,
    ShuffleOp,
    SubgroupIdOp,
    SubgroupSizeOp,
    ThreadIdOp,
)

GPU = Dialect(
    "gpu",
    [*_OWN, *(op for op in upstream.GPU.operations if op.name not in {own.name for own in _OWN})],
    [*upstream.GPU.attributes, ShuffleModeAttr],
)
