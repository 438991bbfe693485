"""The linalg dialect: xDSL's operations, and the named ones in LLVM's syntax, maps of their indices included.

    %d = linalg.matmul indexing_maps = [#a, #b, #c] ins(%x, %y : T, T) outs(%z : T) -> T
    %s = linalg.reduce { arith.addf } ins(%x : tensor<16x64xf32>) outs(%z : tensor<16xf32>) dimensions = [1]

All named operations have one form: what is special about one stands between its name and `ins`. Their bodies, which LLVM makes
from the name, are not read: a matrix product is known by its name.

>>> from layoutalg.ir import read_module, write_module
>>> before = '%z, %t = "test.op"() : () -> (complex<f32>, tensor<4xcomplex<f32>>) '
>>> text = before + "%f = linalg.fill ins(%z : complex<f32>) outs(%t : tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>"
>>> print(write_module(read_module(text)).splitlines()[-2].strip())
%f = linalg.fill ins(%z : complex<f32>) outs(%t : tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>

The law: `write_module(read_module(text))` is a fixed point.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DenseArrayBase, IndexType, IntegerAttr, i64
from xdsl.dialects.linalg import Linalg
from xdsl.ir import Attribute, Block, Dialect, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator

from layoutalg.ir.dialects.linalg_generic import GenericOp, parse_sides, print_sides

__all__ = ["LINALG", "MapOp", "PackOp", "ReduceOp", "SoftmaxOp", "StructuredOp", "UnpackOp"]

NAMED = (
    "abs", "add", "batch_matmul", "batch_matvec", "batch_mmt4d", "batch_reduce_matmul", "batch_vecmat", "ceil", "contract",
    "copy", "div", "div_unsigned", "dot", "elementwise", "erf", "exp", "fill", "fill_rng_2d", "floor", "log", "matmul",
    "matvec", "max", "min", "mmt4d", "mul", "negf", "powf", "quantized_batch_matmul", "quantized_matmul", "reciprocal",
    "round", "rsqrt", "select", "sqrt", "square", "sub", "tanh", "vecmat", "winograd_filter_transform",
    "winograd_input_transform", "winograd_output_transform",
    "conv_1d", "conv_2d", "conv_3d", "conv_1d_ncw_fcw", "conv_1d_nwc_wcf", "conv_2d_nchw_fchw", "conv_2d_nchw_fchw_q",
    "conv_2d_ngchw_fgchw", "conv_2d_ngchw_gfchw", "conv_2d_ngchw_gfchw_q", "conv_2d_nhwc_fhwc", "conv_2d_nhwc_fhwc_q",
    "conv_2d_nhwc_hwcf", "conv_2d_nhwc_hwcf_q", "conv_2d_nhwgc_gfhwc", "conv_2d_nhwgc_gfhwc_q", "conv_3d_ncdhw_fcdhw",
    "conv_3d_ndhwc_dhwcf", "conv_3d_ndhwc_dhwcf_q", "depthwise_conv_1d_ncw_cw", "depthwise_conv_1d_nwc_wc",
    "depthwise_conv_1d_nwc_wcm", "depthwise_conv_2d_nchw_chw", "depthwise_conv_2d_nhwc_hwc", "depthwise_conv_2d_nhwc_hwc_q",
    "depthwise_conv_2d_nhwc_hwcm", "depthwise_conv_2d_nhwc_hwcm_q", "depthwise_conv_3d_ncdhw_cdhw",
    "depthwise_conv_3d_ndhwc_dhwc", "depthwise_conv_3d_ndhwc_dhwcm",
    "pooling_nchw_max", "pooling_nchw_sum", "pooling_ncw_max", "pooling_ncw_sum", "pooling_ndhwc_max", "pooling_ndhwc_min",
    "pooling_ndhwc_sum", "pooling_nhwc_max", "pooling_nhwc_max_unsigned", "pooling_nhwc_min", "pooling_nhwc_min_unsigned",
    "pooling_nhwc_sum", "pooling_nwc_max", "pooling_nwc_max_unsigned", "pooling_nwc_min", "pooling_nwc_min_unsigned",
    "pooling_nwc_sum",
)  # fmt: skip
"""The named operations of LLVM 22 to 24, as mlir-opt knows them."""


class StructuredOp(IRDLOperation):
    """A named operation: inputs, outputs, and what is special about it."""

    inputs = var_operand_def()
    outputs = var_operand_def()
    res = var_result_def()
    body = var_region_def()
    indexing_maps = opt_prop_def(ArrayAttr)
    kind = opt_prop_def(Attribute)
    dilations = opt_prop_def(Attribute)
    strides = opt_prop_def(Attribute)
    cast = opt_prop_def(Attribute)
    fmr = opt_prop_def(Attribute)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def parse(cls, parser: Parser) -> StructuredOp:
        """Read `name indexing_maps = [...] {...} ins(...) outs(...) -> types`."""
        found: dict[str, Attribute] = {}
        while (
            word := parser.parse_optional_keyword("indexing_maps") or parser.parse_optional_keyword("kind")
        ) is not None:
            parser.parse_punctuation("=")
            found[word] = parser.parse_attribute()
        attributes = parser.parse_optional_attr_dict()
        properties = {name: value for name, value in attributes.items() if name in cls.get_irdl_definition().properties}
        rest = {name: value for name, value in attributes.items() if name not in properties}
        inputs, outputs, results = parse_sides(parser)
        return cls.build(
            operands=[inputs, outputs],
            result_types=[results],
            regions=[[]],
            properties=properties | found,
            attributes=rest,
        )

    def print(self, printer: Printer) -> None:
        """Write the same."""
        inherent = {name: value for name, value in self.properties.items() if name != "operandSegmentSizes"}
        for name in ("indexing_maps", "kind"):
            if name in inherent:
                printer.print_string(f" {name} = ")
                printer.print_attribute(inherent.pop(name))
        if inherent or self.attributes:
            printer.print_string(" ")
            printer.print_attr_dict({**inherent, **self.attributes})
        print_sides(printer, self.inputs, self.outputs, [result.type for result in self.res])


def _structured(name: str) -> type[StructuredOp]:
    words = "".join(part.capitalize() for part in name.split("_"))
    made = type(
        f"{words}Op",
        (StructuredOp,),
        {"name": f"linalg.{name}", "__doc__": f"`linalg.{name}`.", "__module__": __name__},
    )
    return irdl_op_definition(made)


class _WithBody(IRDLOperation):
    """An operation on elements whose body is written, or named in braces where it is one operation."""

    inputs = var_operand_def()
    outputs = var_operand_def()
    res = var_result_def()
    mapper = region_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def in_short(cls, parser: Parser) -> tuple[str, dict[str, Attribute]] | None:
        """Read `{ arith.addf {...} }`, if it is there."""
        if parser.parse_optional_punctuation("{") is None:
            return None
        name = parser.parse_identifier("the name of an operation")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation("}")
        return name, attributes

    @classmethod
    def body_of(cls, parser: Parser, short: tuple[str, dict[str, Attribute]] | None, kinds: Sequence[Attribute],
                operands: Sequence[int], results: Sequence[Attribute]) -> Region:  # fmt: skip
        """The body: of the operation that is named, on these of the block's arguments, or what is written."""
        if short is None:
            arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
            return parser.parse_region(arguments)
        name, attributes = short
        block = Block(arg_types=kinds)
        kind = parser.ctx.get_op(name)
        known = kind.get_irdl_definition().properties if issubclass(kind, IRDLOperation) else {}
        inner = kind.create(
            operands=[block.args[number] for number in operands],
            result_types=results,
            properties={key: value for key, value in attributes.items() if key in known},
            attributes={key: value for key, value in attributes.items() if key not in known},
        )
        block.add_ops([inner, parser.ctx.get_op("linalg.yield").create(operands=inner.results)])
        return Region(block)

    def named(self, operands: Sequence[int]) -> Operation | None:
        """The operation that is the body, where it takes these arguments in order and its results are passed on."""
        block = self.mapper.blocks[0] if self.mapper.blocks else None
        inner = None if block is None else block.first_op
        if (
            block is None
            or inner is None
            or inner.next_op is None
            or inner.next_op.next_op is not None
            or inner.regions
        ):
            return None
        passed = inner.next_op.has_trait(IsTerminator) and tuple(inner.next_op.operands) == tuple(inner.results)
        taken = tuple(inner.operands) == tuple(block.args[number] for number in operands if number < len(block.args))
        return inner if passed and taken else None

    def print_body(self, printer: Printer) -> None:
        """Write `(%a: f32) { ... }`."""
        block = self.mapper.blocks[0]
        printer.print_string(" (")
        printer.print_list(block.args, printer.print_block_argument)
        printer.print_string(") ")
        printer.print_region(self.mapper, print_entry_block_args=False)

    @staticmethod
    def print_short(printer: Printer, inner: Operation) -> None:
        """Write ` { arith.addf }`."""
        printer.print_string(f" {{ {inner.name}")
        written = {**inner.properties, **inner.attributes}
        if written:
            printer.print_string(" ")
            printer.print_attr_dict(written)
        printer.print_string(" }")


def _elements(values: Sequence[SSAValue]) -> list[Attribute]:
    found: list[Attribute] = []
    for value in values:
        kind: Any = value.type
        found.append(getattr(kind, "element_type", kind))
    return found


@irdl_op_definition
class MapOp(_WithBody):
    """Elements of the result from those of the inputs at the same place."""

    name = "linalg.map"

    @classmethod
    def parse(cls, parser: Parser) -> MapOp:
        """Read `{ math.exp } ins(...) outs(...)`, or the body behind them."""
        short = cls.in_short(parser)
        inputs, outputs, _ = parse_sides(parser)
        attributes = parser.parse_optional_attr_dict()
        kinds = _elements([*inputs, *outputs])
        body = cls.body_of(parser, short, kinds, range(len(inputs)), _elements(outputs))
        results = [value.type for value in outputs if value.type.name == "tensor"]
        return cls.build(operands=[inputs, outputs], result_types=[results], regions=[body], attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Write the same."""
        inner = self.named(range(len(self.inputs)))
        if inner is not None:
            self.print_short(printer, inner)
        print_sides(printer, self.inputs, self.outputs, ())
        if self.attributes:
            printer.print_string(" ")
            printer.print_attr_dict(self.attributes)
        if inner is None:
            self.print_body(printer)


@irdl_op_definition
class ReduceOp(_WithBody):
    """Elements of the inputs put together along dimensions."""

    name = "linalg.reduce"

    dimensions = prop_def(DenseArrayBase.constr(i64))

    @classmethod
    def parse(cls, parser: Parser) -> ReduceOp:
        """Read `{ arith.addf } ins(...) outs(...) dimensions = [1]`, or the body behind them."""
        short = cls.in_short(parser)
        inputs, outputs, _ = parse_sides(parser)
        properties = {"dimensions": _parse_numbers(parser, "dimensions")}
        attributes = parser.parse_optional_attr_dict()
        # LLVM's short form takes what there was first: `arith.addf %init, %in`.
        order = [*range(len(inputs), len(inputs) + len(outputs)), *range(len(inputs))]
        body = cls.body_of(parser, short, _elements([*inputs, *outputs]), order, _elements(outputs))
        results = [value.type for value in outputs if value.type.name == "tensor"]
        return cls.build(
            operands=[inputs, outputs],
            result_types=[results],
            regions=[body],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        """Write the same."""
        count = len(self.inputs)
        inner = self.named([*range(count, 2 * count), *range(count)])
        if inner is not None:
            self.print_short(printer, inner)
        print_sides(printer, self.inputs, self.outputs, ())
        printer.print_string(f" dimensions = {list(self.dimensions.get_values())}")
        if self.attributes:
            printer.print_string(" ")
            printer.print_attr_dict(self.attributes)
        if inner is None:
            self.print_body(printer)


def _parse_numbers(parser: Parser, word: str) -> DenseArrayBase[Any]:
    """Read `dimensions = [0, 1]`."""
    parser.parse_keyword(word)
    return _numbers_behind(parser)


def _numbers_behind(parser: Parser) -> DenseArrayBase[Any]:
    """Read `= [0, 1]`."""
    parser.parse_punctuation("=")
    numbers = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    return DenseArrayBase.from_list(i64, numbers)


@irdl_op_definition
class SoftmaxOp(IRDLOperation):
    """exp(x - max) / sum along a dimension."""

    name = "linalg.softmax"

    input = operand_def()
    output = operand_def()
    result = var_result_def()
    dimension = prop_def(IntegerAttr)

    @classmethod
    def parse(cls, parser: Parser) -> SoftmaxOp:
        """Read `dimension(1) ins(...) outs(...) -> T`."""
        attributes = parser.parse_optional_attr_dict()
        parser.parse_keyword("dimension")
        with parser.in_parens():
            dimension = IntegerAttr(parser.parse_integer(), i64)
        inputs, outputs, results = parse_sides(parser)
        return cls.create(
            operands=[*inputs, *outputs],
            result_types=results,
            properties={"dimension": dimension},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        """Write the same."""
        if self.attributes:
            printer.print_string(" ")
            printer.print_attr_dict(self.attributes)
        printer.print_string(f" dimension({self.dimension.value.data})")
        print_sides(printer, [self.input], [self.output], [result.type for result in self.result])


class _Tiled(IRDLOperation):
    """A tensor cut into tiles, or put together from them."""

    source = operand_def()
    dest = operand_def()
    padding_value = opt_operand_def()
    inner_tiles = var_operand_def()
    result = var_result_def()
    outer_dims_perm = opt_prop_def(DenseArrayBase.constr(i64))
    inner_dims_pos = prop_def(DenseArrayBase.constr(i64))
    static_inner_tiles = prop_def(DenseArrayBase.constr(i64))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def parse(cls, parser: Parser) -> _Tiled:
        """Read `%a padding_value(%p : f32) inner_dims_pos = [0, 1] inner_tiles = [4, %n] into %c : T -> U`."""
        source = parser.parse_unresolved_operand()
        padding: list[SSAValue] = []
        if parser.parse_optional_keyword("padding_value") is not None:
            with parser.in_parens():
                value = parser.parse_unresolved_operand()
                parser.parse_punctuation(":")
                padding = [parser.resolve_operand(value, parser.parse_type())]
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("outer_dims_perm") is not None:
            properties["outer_dims_perm"] = _numbers_behind(parser)
        properties["inner_dims_pos"] = _parse_numbers(parser, "inner_dims_pos")
        parser.parse_keyword("inner_tiles")
        parser.parse_punctuation("=")
        sizes = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: parser.parse_optional_unresolved_operand() or parser.parse_integer()
        )
        properties["static_inner_tiles"] = DenseArrayBase.from_list(
            i64, [size if isinstance(size, int) else DYNAMIC_INDEX for size in sizes]
        )
        tiles = [parser.resolve_operand(size, IndexType()) for size in sizes if not isinstance(size, int)]
        parser.parse_keyword("into")
        dest = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        taken = parser.parse_type()
        parser.parse_punctuation("->")
        made = parser.parse_type()
        operands = [parser.resolve_operand(source, taken), parser.resolve_operand(dest, made), padding, tiles]
        results = [made] if made.name == "tensor" else []
        return cls.build(operands=operands, result_types=[results], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Write the same."""
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        if self.padding_value is not None:
            printer.print_string(" padding_value(")
            printer.print_ssa_value(self.padding_value)
            printer.print_string(" : ")
            printer.print_attribute(self.padding_value.type)
            printer.print_string(")")
        if self.outer_dims_perm is not None:
            printer.print_string(f" outer_dims_perm = {list(self.outer_dims_perm.get_values())}")
        printer.print_string(f" inner_dims_pos = {list(self.inner_dims_pos.get_values())} inner_tiles = [")
        values = iter(self.inner_tiles)
        for number, size in enumerate(self.static_inner_tiles.get_values()):
            printer.print_string(", " if number else "")
            if size == DYNAMIC_INDEX:
                printer.print_ssa_value(next(values))
            else:
                printer.print_string(str(size))
        printer.print_string("] into ")
        printer.print_ssa_value(self.dest)
        if self.attributes:
            printer.print_string(" ")
            printer.print_attr_dict(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.dest.type)


@irdl_op_definition
class PackOp(_Tiled):
    """A tensor cut into tiles, one after the other."""

    name = "linalg.pack"


@irdl_op_definition
class UnpackOp(_Tiled):
    """A tensor put together from tiles."""

    name = "linalg.unpack"


_OWN: list[type[Operation]] = [*map(_structured, NAMED), GenericOp, MapOp, ReduceOp, SoftmaxOp, PackOp, UnpackOp]
_KNOWN = {operation.name for operation in _OWN}

LINALG = Dialect("linalg", [*(one for one in Linalg.operations if one.name not in _KNOWN), *_OWN], [*Linalg.attributes])
"""xDSL's operations, save those that are declared above."""
