"""MLIR text out: `write_module`, in the syntax of a version of LLVM.

Most operations are written the same way for LLVM 22, 23 and 24. Where they are not, the operation's syntax asks the
printer which version it writes for (`ModulePrinter.llvm`).

>>> from layoutalg.ir import read_module
>>> print(write_module(read_module("%c = arith.constant 16 : index")), end="")
builtin.module {
  %c = arith.constant 16 : index
}

The law: `write_module(read_module(text))` is a fixed point; writing what was written changes nothing.
"""

from __future__ import annotations

from io import StringIO

from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Operation
from xdsl.printer import Printer

from layoutalg.core.errors import LayoutError
from layoutalg.xegpu.rules import DEFAULT_LLVM, rules

__all__ = ["ModulePrinter", "printed_for", "write_module"]


_ENUMS = ("xegpu.fence_scope", "xegpu.memory_space")


class ModulePrinter(Printer):
    """xDSL's printer, which knows the version of LLVM that will read the text.

    >>> ModulePrinter(llvm=24).llvm
    24
    """

    def __init__(self, stream: StringIO | None = None, llvm: int = DEFAULT_LLVM) -> None:
        super().__init__(stream=stream)
        self.llvm = llvm

    def print_attribute(self, attribute: Attribute) -> None:
        """Write an attribute; the enums of XeGPU are `#xegpu<memory_space slm>` until 23, `#xegpu.memory_space<slm>` in 24."""
        if self.llvm < 24 or attribute.name not in _ENUMS or not isinstance(attribute, EnumAttribute):
            super().print_attribute(attribute)
            return
        self.print_string(f"#{attribute.name}")
        with self.in_angle_brackets():
            attribute.print_parameter(self)


def printed_for(printer: Printer) -> int:
    """The version of LLVM that a printer writes for.

    >>> printed_for(Printer()), printed_for(ModulePrinter(llvm=23))
    (22, 23)
    """
    return printer.llvm if isinstance(printer, ModulePrinter) else DEFAULT_LLVM


def write_module(module: Operation, *, llvm: int = DEFAULT_LLVM) -> str:
    """The text of a module (or of any operation) in the syntax of a version of LLVM, ending in a newline.

    This translates nothing: an operation that the version does not have is written all the same (`migrate` is for that).

    >>> from layoutalg.ir import read_module
    >>> print(write_module(read_module("gpu.module @k { gpu.func @f(%p: i64) kernel { gpu.return } }")), end="")
    builtin.module {
      gpu.module @k {
        gpu.func @f(%p: i64) kernel {
          gpu.return
        }
      }
    }
    """
    stream = StringIO()
    try:
        ModulePrinter(stream, rules(llvm).llvm).print_op(module)
    except (LookupError, StopIteration, TypeError, ValueError) as problem:
        raise LayoutError(f"the module cannot be written: {problem or type(problem).__name__}") from None
    return stream.getvalue() + "\n"
