"""Transfers between memory (or a tensor) and vectors: with a map, a mask, and a value for what is out of bounds.

    %w = vector.transfer_read %m[%i, %j], %zero {in_bounds = [true, false]} : memref<64x64xf16>, vector<8x16xf16>

>>> from layoutalg.ir import read_module
>>> text = '%m = "test.op"() : () -> memref<4xf32> %i = arith.constant 0 : index %z = arith.constant 0.0 : f32 '
>>> module = read_module(text + "%v = vector.transfer_read %m[%i], %z : memref<4xf32>, vector<8xf32>")
>>> print(list(module.ops)[3].permutation_map)
affine_map<(d0) -> (d0)>
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    BoolAttr,
    IndexType,
    MemRefType,
    ShapedType,
    TensorType,
    VectorType,
    i1,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_result_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.hints import isa

from layoutalg.ir.assembly import split_attributes
from layoutalg.ir.dialects.type_directives import element_type

__all__ = [
    "TransferReadOp",
    "TransferWriteOp",
]


def _smallest_identity(source: Attribute, vector: Attribute) -> AffineMap | None:
    """The map of a transfer that moves the innermost dimensions as they are: what stands for no map at all."""
    if not (isinstance(source, ShapedType) and isinstance(vector, VectorType)):
        return None
    element: Attribute = source.element_type if isa(source, MemRefType[Attribute] | TensorType[Attribute]) else source
    inner = element.get_num_dims() if isinstance(element, VectorType) else 0
    rank, moved = source.get_num_dims(), vector.get_num_dims() - inner
    if rank == 0 and vector.get_shape() == (1,):
        return AffineMap(0, 0, (AffineExpr.constant(0),))
    if not 0 <= moved <= rank:
        return None
    return AffineMap(rank, 0, tuple(AffineExpr.dimension(dim) for dim in range(rank - moved, rank)))


def _mask_type(vector: VectorType, permutation: AffineMap) -> VectorType:
    """The type of a transfer's mask: the dimensions of the source that the map uses, in their order there."""
    used = permutation.used_dims()
    where = {expr: number for number, expr in enumerate(permutation.results)}
    places = [where[AffineExpr.dimension(dim)] for dim in sorted(used) if AffineExpr.dimension(dim) in where]
    shape, scalable = vector.get_shape(), vector.scalable_dims.data
    places = [place for place in places if place < len(shape)]
    return VectorType(i1, [shape[p] for p in places] or [1], ArrayAttr([scalable[p] for p in places] or [_FALSE]))


_FALSE = BoolAttr.from_bool(False)


class _TransferOp(IRDLOperation, ABC):
    """A transfer between memory (or a tensor) and a vector: with a map, a mask and bounds."""

    permutation_map = prop_def(AffineMapAttr)
    in_bounds = prop_def(ArrayAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())

    def print_dictionary(self, printer: Printer, source: Attribute, vector: Attribute) -> None:
        """Write `{...}` without what stands for itself: the smallest identity map, and bounds that hold nowhere."""
        shown = {**self.attributes, "permutation_map": self.permutation_map, "in_bounds": self.in_bounds}
        if self.permutation_map.data == _smallest_identity(source, vector):
            del shown["permutation_map"]
        if all(bound == _FALSE for bound in self.in_bounds):
            del shown["in_bounds"]
        printer.print_op_attributes({name: shown[name] for name in sorted(shown)})


def _parse_dictionary(
    parser: Parser, operation: type[_TransferOp], attributes: dict[str, Attribute], source: Attribute, vector: Attribute
) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """The map and the bounds of a transfer, as written or as they are when nothing is written, and the other attributes."""
    properties, rest = split_attributes(operation, {}, attributes)
    if "permutation_map" not in properties:
        smallest = _smallest_identity(source, vector)
        if smallest is None:
            parser.raise_error(f"{vector} does not fit {source}: a transfer between them needs a permutation_map")
        properties["permutation_map"] = AffineMapAttr(smallest)
    if "in_bounds" not in properties:
        written = properties["permutation_map"]
        count = len(written.data.results) if isinstance(written, AffineMapAttr) else 0
        properties["in_bounds"] = ArrayAttr([_FALSE] * count)
    return properties, rest


def _resolved_mask(
    parser: Parser, mask: UnresolvedOperand | None, vector: Attribute, properties: dict[str, Attribute]
) -> list[SSAValue]:
    permutation = properties["permutation_map"]
    if mask is None:
        return []
    if not (isa(vector, VectorType[Attribute]) and isinstance(permutation, AffineMapAttr)):
        parser.raise_error("a transfer with a mask needs a vector type and an affine map")
    return [parser.resolve_operand(mask, _mask_type(vector, permutation.data))]


def _parse_indices(parser: Parser) -> list[SSAValue]:
    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parser.parse_operand(IndexType()))


def _parse_mask(parser: Parser) -> UnresolvedOperand | None:
    return parser.parse_unresolved_operand() if parser.parse_optional_punctuation(",") is not None else None


def _parse_types(parser: Parser) -> tuple[Attribute, Attribute]:
    parser.parse_punctuation(":")
    first = parser.parse_type()
    parser.parse_punctuation(",")
    return first, parser.parse_type()


@irdl_op_definition
class TransferReadOp(_TransferOp):
    """Read a vector from memory or a tensor; a padding value stands for what is out of bounds or masked."""

    name = "vector.transfer_read"

    source = operand_def()
    indices = var_operand_def(IndexType)
    padding = operand_def()
    mask = opt_operand_def()
    result = result_def()

    traits = traits_def(MemoryReadEffect())

    @classmethod
    def parse(cls, parser: Parser) -> TransferReadOp:
        """Read LLVM's syntax."""
        source = parser.parse_unresolved_operand()
        indices = _parse_indices(parser)
        parser.parse_punctuation(",")
        padding = parser.parse_unresolved_operand()
        mask = _parse_mask(parser)
        attributes = parser.parse_optional_attr_dict()
        start = parser.pos
        kind, vector = _parse_types(parser)
        properties, rest = _parse_dictionary(parser, cls, attributes, kind, vector)
        operands = [
            [parser.resolve_operand(source, kind)],
            indices,
            [parser.resolve_operand(padding, element_type(parser, kind, start))],
            _resolved_mask(parser, mask, vector, properties),
        ]
        return cls.build(operands=operands, result_types=[vector], properties=properties, attributes=rest)

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        _print_indices(printer, self.indices)
        printer.print_string(", ")
        printer.print_ssa_value(self.padding)
        _print_mask(printer, self.mask)
        self.print_dictionary(printer, self.source.type, self.result.type)
        printer.print_string(" : ")
        printer.print_list([self.source.type, self.result.type], printer.print_attribute)


@irdl_op_definition
class TransferWriteOp(_TransferOp):
    """Write a vector to memory or into a tensor, except what is out of bounds or masked."""

    name = "vector.transfer_write"

    vector = operand_def()
    source = operand_def()
    indices = var_operand_def(IndexType)
    mask = opt_operand_def()
    result = opt_result_def()

    traits = traits_def(MemoryWriteEffect())

    @classmethod
    def parse(cls, parser: Parser) -> TransferWriteOp:
        """Read LLVM's syntax."""
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        source = parser.parse_unresolved_operand()
        indices = _parse_indices(parser)
        mask = _parse_mask(parser)
        attributes = parser.parse_optional_attr_dict()
        vector, kind = _parse_types(parser)
        properties, rest = _parse_dictionary(parser, cls, attributes, kind, vector)
        operands = [
            [parser.resolve_operand(value, vector)],
            [parser.resolve_operand(source, kind)],
            indices,
            _resolved_mask(parser, mask, vector, properties),
        ]
        results: list[list[Attribute]] = [[kind] if isa(kind, TensorType[Attribute]) else []]
        return cls.build(operands=operands, result_types=results, properties=properties, attributes=rest)

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_list([self.vector, self.source], printer.print_ssa_value)
        _print_indices(printer, self.indices)
        _print_mask(printer, self.mask)
        self.print_dictionary(printer, self.source.type, self.vector.type)
        printer.print_string(" : ")
        printer.print_list([self.vector.type, self.source.type], printer.print_attribute)


def _print_indices(printer: Printer, indices: Sequence[SSAValue]) -> None:
    with printer.in_square_brackets():
        printer.print_list(indices, printer.print_ssa_value)


def _print_mask(printer: Printer, mask: SSAValue | None) -> None:
    if mask is not None:
        printer.print_string(", ")
        printer.print_ssa_value(mask)
