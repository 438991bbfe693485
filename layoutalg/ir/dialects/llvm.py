"""The llvm dialect: xDSL's operations and those that kernels use and it lacks, with LLVM's syntax.

    %0 = llvm.addrspacecast %p : !llvm.ptr to !llvm.ptr<4>

>>> from layoutalg.ir import read_module
>>> print(list(read_module("%v = llvm.mlir.poison : vector<4xf32>").ops)[0].results[0].type)
vector<4xf32>
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.dialects.llvm import LLVM as XDSL
from xdsl.dialects.llvm import LLVM_CALLING_CONVS
from xdsl.ir import Attribute, Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, opt_prop_def, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from layoutalg.ir.dialects.type_directives import ElementOf
from layoutalg.ir.operations.classes import define

__all__ = ["LLVM", "FenceOp"]

LLVM_CALLING_CONVS.update(("spir_funccc", "spir_kernelcc", "intel_ocl_bicc"))
"""Calling conventions of kernels, which xDSL's table lacks: its parser refuses what is not there."""


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


LLVM = Dialect(
    "llvm",
    [*XDSL.operations, FenceOp, *define(__name__, "llvm", directives=(ElementOf,))],
    list(XDSL.attributes),
)
"""xDSL's dialect, the operation above, and those of the table."""
