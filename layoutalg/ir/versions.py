"""Which version of LLVM a text is written for: the operations of a dialect ask the printer.

>>> from layoutalg.ir.writing import ModulePrinter
>>> printed_for(ModulePrinter(llvm=24))
24
"""

from __future__ import annotations

from xdsl.printer import Printer

from layoutalg.core.llvm_versions import DEFAULT_LLVM

__all__ = ["printed_for"]


def printed_for(printer: Printer) -> int:
    """The version of LLVM that a printer writes for: its `llvm`, or the default.

    >>> printed_for(Printer())
    24
    """
    return int(getattr(printer, "llvm", DEFAULT_LLVM))
