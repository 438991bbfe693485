"""What LLVM's own propagation costs on a module: its layouts kept, what it leaves open completed at the least cost.

>>> from layoutalg.module import read
>>> compared(read("gpu.barrier"), "lane", "pvc", 22).text()
"LLVM 22's own propagation: 0"
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from layoutalg.core.errors import LayoutError
from layoutalg.core.plurals import counted
from layoutalg.flow.written_layouts import statements_of
from layoutalg.ir.places import place_of
from layoutalg.propagation.propagating import completed, written_module

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from layoutalg.module.module import Module

__all__ = ["Likewise", "compared"]


@dataclass(frozen=True, slots=True)
class Likewise:
    """What a version of LLVM makes of a module: the cost (None where it refuses the module), and what is wrong with it.

    `wrong` counts the findings of `la.check` in its layouts that the module does not have before, `overwritten` the layouts of
    the text that it replaces by others.

    >>> print(Likewise(23, 172, 1, 0, 2, "").text())
    LLVM 23's own propagation: 172, with 1 conversion, 2 layouts of the text overwritten
    """

    llvm: int
    cost: int | None
    conversions: int
    wrong: int
    overwritten: int
    refused: str
    unfit: int = 0
    """Operations to whose operands its layouts cannot be carried: their cost is not counted."""

    def text(self) -> str:
        """In a line.

        >>> Likewise(24, None, 0, 0, 0, "crashes").text()
        "LLVM 24's own propagation: refused, crashes"
        """
        if self.cost is None:
            return f"LLVM {self.llvm}'s own propagation: refused, {self.refused}"
        parts = [f"LLVM {self.llvm}'s own propagation: {self.cost}"]
        if self.conversions:
            parts.append(f"with {counted(self.conversions, 'conversion')}")
        if self.overwritten:
            parts.append(f"{counted(self.overwritten, 'layout')} of the text overwritten")
        if self.unfit:
            parts.append(f"{counted(self.unfit, 'operation')} not counted")
        if self.wrong:
            parts.append(f"wrong at {counted(self.wrong, 'operation')}")
        return ", ".join(parts)


def compared(module: Module, level: str, target: str, llvm: int) -> Likewise:
    """What LLVM's propagation costs on a module, by the prices of `propagate`."""
    from layoutalg.checking import check
    from layoutalg.side.llvm_passes.propagating import propagated_like

    try:
        made = [propagated_like(part.module, llvm, level, target) for part in module.parts]
    except LayoutError as error:
        return Likewise(llvm, None, 0, 0, 0, str(error).removeprefix(f"LLVM {llvm}: "))
    theirs = written_module(made, module, llvm)
    done = completed(made, module, level, target, llvm)
    before = _wrong(check(module, target=target, llvm=llvm).findings)
    after = _wrong(check(theirs, target=target, llvm=llvm).findings)
    conversions = len(done.conversions) + theirs.source.count("xegpu.convert_layout")
    unfit = sum(finding.rule == "propagate.operand" for finding in done.findings)
    overwritten = sum(
        _said(one).get(at) != attribute
        for part, one in zip(module.parts, made, strict=True)
        for at, attribute in _said(part.module).items()
    )
    return Likewise(llvm, done.cost, conversions, max(after - before, 0), overwritten, "", unfit)


def _said(module: Operation) -> dict[tuple[str, str], str]:
    """The layouts of a module, by the place of the operation and the name of the attribute."""
    return {
        (f"{place_of(operation)} {operation.name}", statement.name): str(statement.attribute)
        for operation in module.walk()
        for statement in statements_of(operation)
    }


def _wrong(findings: tuple[object, ...]) -> int:
    return sum(getattr(finding, "level", "") == "error" for finding in findings)
