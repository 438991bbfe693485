"""The llvm dialect: xDSL's operations and those that kernels use and it lacks, with LLVM's syntax.

    %0 = llvm.addrspacecast %p : !llvm.ptr to !llvm.ptr<4>

>>> from layoutalg.ir import read_module
>>> print(list(read_module("%v = llvm.mlir.poison : vector<4xf32>").ops)[0].results[0].type)
vector<4xf32>
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.dialects.llvm import LLVM as XDSL
from xdsl.dialects.llvm import LLVM_CALLING_CONVS
from xdsl.ir import Attribute, Dialect
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from layoutalg.ir.dialects.type_directives import ElementOf

__all__ = [
    "LLVM",
    "AddrSpaceCastOp",
    "ExtractElementOp",
    "FPToSIOp",
    "FPToUIOp",
    "FenceOp",
    "FreezeOp",
    "PoisonOp",
    "SMaxOp",
    "SMinOp",
    "UIToFPOp",
    "UMaxOp",
    "UMinOp",
]

LLVM_CALLING_CONVS.update(("spir_funccc", "spir_kernelcc", "intel_ocl_bicc"))
"""Calling conventions of kernels, which xDSL's table lacks: its parser refuses what is not there."""


class _CastOp(IRDLOperation, ABC):
    arg = operand_def()
    res = result_def()

    traits = traits_def(Pure())

    assembly_format = "$arg attr-dict `:` type($arg) `to` type($res)"


@irdl_op_definition
class AddrSpaceCastOp(_CastOp):
    """A pointer into another address space."""

    name = "llvm.addrspacecast"


@irdl_op_definition
class FPToSIOp(_CastOp):
    """A float as a signed integer."""

    name = "llvm.fptosi"


@irdl_op_definition
class FPToUIOp(_CastOp):
    """A float as an unsigned integer."""

    name = "llvm.fptoui"


@irdl_op_definition
class UIToFPOp(_CastOp):
    """An unsigned integer as a float."""

    name = "llvm.uitofp"


@irdl_op_definition
class FenceOp(IRDLOperation):
    """Order the accesses to memory before it and after it, as all threads of the scope see them.

    llvm.fence syncscope("wavefront") acq_rel
    """

    name = "llvm.fence"

    ordering = prop_def(IntegerAttr.constr(i64))
    syncscope = opt_prop_def(StringAttr)

    @classmethod
    def parse(cls, parser: Parser) -> FenceOp:
        """Read LLVM's form: the scope, if it is not the whole system, and the ordering."""
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("syncscope") is not None:
            with parser.in_parens():
                properties["syncscope"] = StringAttr(parser.parse_str_literal())
        word = parser.parse_identifier("an ordering")
        if word not in _ORDERINGS:
            parser.raise_error(f"ordering {word}: expected one of {', '.join(_ORDERINGS)}")
        properties["ordering"] = IntegerAttr(_ORDERINGS[word], i64)
        return cls(properties=properties, attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        """Write LLVM's form."""
        if self.syncscope is not None:
            printer.print_string(" syncscope(")
            printer.print_attribute(self.syncscope)
            printer.print_string(")")
        number = self.ordering.value.data
        printer.print_string(" " + next((word for word, one in _ORDERINGS.items() if one == number), str(number)))
        printer.print_op_attributes(self.attributes)


_ORDERINGS = {"not_atomic": 0, "unordered": 1, "monotonic": 2, "acquire": 4, "release": 5, "acq_rel": 6, "seq_cst": 7}
"""LLVM's orderings of atomic operations, by their numbers."""


@irdl_op_definition
class PoisonOp(IRDLOperation):
    """A value that must not be used."""

    name = "llvm.mlir.poison"

    res = result_def()

    traits = traits_def(Pure())

    assembly_format = "attr-dict `:` type($res)"


@irdl_op_definition
class FreezeOp(IRDLOperation):
    """The value, or some value where it is poison."""

    name = "llvm.freeze"

    T: ClassVar = VarConstraint("T", AnyAttr())

    val = operand_def(T)
    res = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$val attr-dict `:` type($val)"


@irdl_op_definition
class ExtractElementOp(IRDLOperation):
    """The element of a vector at a position."""

    name = "llvm.extractelement"

    vector = operand_def()
    position = operand_def()
    res = result_def()

    traits = traits_def(Pure())
    custom_directives = (ElementOf,)

    assembly_format = (
        "$vector `[` $position `:` type($position) `]` attr-dict `:` custom<ElementOf>(type($vector), type($res))"
    )


class _IntrinsicOp(IRDLOperation, ABC):
    a = operand_def()
    b = operand_def()
    res = result_def()

    traits = traits_def(Pure())

    assembly_format = "`(` operands `)` attr-dict `:` functional-type(operands, results)"


@irdl_op_definition
class SMaxOp(_IntrinsicOp):
    """The larger one, signed."""

    name = "llvm.intr.smax"


@irdl_op_definition
class SMinOp(_IntrinsicOp):
    """The smaller one, signed."""

    name = "llvm.intr.smin"


@irdl_op_definition
class UMaxOp(_IntrinsicOp):
    """The larger one, unsigned."""

    name = "llvm.intr.umax"


@irdl_op_definition
class UMinOp(_IntrinsicOp):
    """The smaller one, unsigned."""

    name = "llvm.intr.umin"


_OWN = (
    AddrSpaceCastOp,
    ExtractElementOp,
    FPToSIOp,
    FPToUIOp,
    FenceOp,
    FreezeOp,
    PoisonOp,
    SMaxOp,
    SMinOp,
    UIToFPOp,
    UMaxOp,
    UMinOp,
)

LLVM = Dialect("llvm", [*XDSL.operations, *_OWN], list(XDSL.attributes))
"""xDSL's dialect and the operations above."""
