"""Single elements of buffers: load, store, atomic updates, prefetch.

    %v = memref.load %m[%i] : memref<4xf32>

>>> from layoutalg.ir import read_module
>>> text = '%m = "test.op"() : () -> memref<4xf32> %i = arith.constant 0 : index %s = memref.load %m[%i] : memref<4xf32>'
>>> print(list(read_module(text).ops)[2].res.type)
f32
"""

from __future__ import annotations

from xdsl.dialects.builtin import (
    BoolAttr,
    IndexType,
    IntegerAttr,
    i64,
)
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsTerminator,
    MemoryReadEffect,
    MemoryWriteEffect,
    Pure,
)

from layoutalg.ir.assembly import print_attributes
from layoutalg.ir.dialects.inherent import inherent
from layoutalg.ir.dialects.memref.directives import AtomicKind, PrefetchFlags
from layoutalg.ir.dialects.type_directives import ElementOf, element_type

__all__ = ["AtomicRMWOp", "AtomicYieldOp", "GenericAtomicRMWOp", "LoadOp", "PrefetchOp", "StoreOp"]


@inherent("alignment", "nontemporal", equals=False)
@irdl_op_definition
class LoadOp(IRDLOperation):
    """Read an element."""

    name = "memref.load"

    memref = operand_def()
    indices = var_operand_def(IndexType)
    res = result_def()
    nontemporal = opt_prop_def(BoolAttr, default_value=BoolAttr.from_bool(False))
    alignment = opt_prop_def(IntegerAttr)

    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(MemoryReadEffect())
    custom_directives = (ElementOf,)

    assembly_format = "$memref `[` $indices `]` attr-dict `:` custom<ElementOf>(type($memref), type($res))"


@inherent("alignment", "nontemporal", equals=False)
@irdl_op_definition
class StoreOp(IRDLOperation):
    """Write an element."""

    name = "memref.store"

    value = operand_def()
    memref = operand_def()
    indices = var_operand_def(IndexType)
    nontemporal = opt_prop_def(BoolAttr, default_value=BoolAttr.from_bool(False))
    alignment = opt_prop_def(IntegerAttr)

    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(MemoryWriteEffect())
    custom_directives = (ElementOf,)

    assembly_format = "$value `,` $memref `[` $indices `]` attr-dict `:` custom<ElementOf>(type($memref), type($value))"


@irdl_op_definition
class AtomicRMWOp(IRDLOperation):
    """Combine an element with a value, at once for all who do so; the result is the element as it was."""

    name = "memref.atomic_rmw"

    value = operand_def()
    memref = operand_def()
    indices = var_operand_def(IndexType)
    kind = prop_def(IntegerAttr.constr(i64))
    result = result_def()

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    custom_directives = (AtomicKind,)

    assembly_format = (
        "custom<AtomicKind>($kind) $value `,` $memref `[` $indices `]` attr-dict `:` `(` type($value) `,` type($memref) `)` "
        "`->` type($result)"
    )


@irdl_op_definition
class GenericAtomicRMWOp(IRDLOperation):
    """Replace an element by what the region makes of it, at once for all who do so."""

    name = "memref.generic_atomic_rmw"

    memref = operand_def()
    indices = var_operand_def(IndexType)
    result = result_def()
    atomic_body = region_def()

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    custom_directives = (ElementOf,)

    @classmethod
    def parse(cls, parser: Parser) -> GenericAtomicRMWOp:
        """Read LLVM's syntax."""
        memref = parser.parse_unresolved_operand()
        indices = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parser.parse_operand(IndexType()))
        parser.parse_punctuation(":")
        start = parser.pos
        kind = parser.parse_type()
        made = element_type(parser, kind, start)
        region = parser.parse_region()
        attributes = parser.parse_optional_attr_dict()
        operands = [parser.resolve_operand(memref, kind), indices]
        return cls.build(operands=operands, result_types=[made], regions=[region], attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Write LLVM's syntax."""
        printer.print_string(" ")
        printer.print_ssa_value(self.memref)
        with printer.in_square_brackets():
            printer.print_list(self.indices, printer.print_ssa_value)
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)
        printer.print_string(" ")
        printer.print_region(self.atomic_body)
        print_attributes(printer, self)


@irdl_op_definition
class AtomicYieldOp(IRDLOperation):
    """The new element of `memref.generic_atomic_rmw`."""

    name = "memref.atomic_yield"

    result = operand_def()

    traits = traits_def(IsTerminator(), Pure())

    assembly_format = "$result attr-dict `:` type($result)"


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """Ask for an element to be brought into the cache."""

    name = "memref.prefetch"

    memref = operand_def()
    indices = var_operand_def(IndexType)
    is_write = prop_def(BoolAttr, prop_name="isWrite")
    locality_hint = prop_def(IntegerAttr, prop_name="localityHint")
    is_data_cache = prop_def(BoolAttr, prop_name="isDataCache")

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    custom_directives = (PrefetchFlags,)

    assembly_format = (
        "$memref `[` $indices `]` `,` custom<PrefetchFlags>($isWrite, $localityHint, $isDataCache) "
        "attr-dict `:` type($memref)"
    )
