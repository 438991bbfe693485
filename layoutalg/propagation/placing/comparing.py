"""What LLVM's own propagation costs on a module: its layouts kept, what it leaves open completed at the least cost.

>>> from layoutalg.module import read
>>> compared(read("gpu.barrier"), "lane", "pvc", 22).text()
'LLVM 22: 0'
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutalg.core.errors import LayoutError
from layoutalg.core.plurals import counted
from layoutalg.module import Module
from layoutalg.propagation.placing.likewise import like
from layoutalg.propagation.placing.propagating import propagate

__all__ = ["Likewise", "compared"]


@dataclass(frozen=True, slots=True)
class Likewise:
    """What a version of LLVM makes of a module: the cost (None where it refuses the module), and what is wrong with it.

    `wrong` counts the findings of `la.check` in its layouts that the module does not have before.

    >>> print(Likewise(23, 172, 1, 0, "").text())
    LLVM 23: 172, with 1 conversion
    """

    llvm: int
    cost: int | None
    conversions: int
    wrong: int
    refused: str

    def text(self) -> str:
        """In a line.

        >>> Likewise(24, None, 0, 0, "crashes").text()
        'LLVM 24: refused, crashes'
        """
        if self.cost is None:
            return f"LLVM {self.llvm}: refused, {self.refused}"
        parts = [f"LLVM {self.llvm}: {self.cost}"]
        if self.conversions:
            parts.append(f"with {counted(self.conversions, 'conversion')}")
        if self.wrong:
            parts.append(f"and wrong at {counted(self.wrong, 'operation')}")
        return ", ".join(parts)


def compared(module: Module, level: str, target: str, llvm: int) -> Likewise:
    """What LLVM's propagation costs on a module, by the prices of `propagate`.

    >>> from layoutalg.module import read
    >>> compared(read("gpu.barrier"), "lane", "pvc", 22).cost
    0
    """
    from layoutalg.propagation.checking import check

    try:
        theirs = like(module, llvm, level, target)
    except LayoutError as error:
        return Likewise(llvm, None, 0, 0, str(error).removeprefix(f"LLVM {llvm}: "))
    completed = propagate(theirs, level=level, target=target, llvm=llvm)
    before = _wrong(check(module, target=target, llvm=llvm).findings)
    after = _wrong(check(theirs, target=target, llvm=llvm).findings)
    conversions = len(completed.conversions) + theirs.source.count("xegpu.convert_layout")
    return Likewise(llvm, completed.cost, conversions, max(after - before, 0), "")


def _wrong(findings: tuple[object, ...]) -> int:
    return sum(getattr(finding, "level", "") == "error" for finding in findings)
