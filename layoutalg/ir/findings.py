"""What is wrong with a module: one value for verifiers, the simulator and checks of layouts alike.

>>> from layoutalg.ir.places import Place
>>> finding = Finding("xegpu.dpas.depth", "K-dimension mismatch", "xegpu.dpas", Place("k.mlir", 7, 8), source="LLVM 24")
>>> print(finding)
k.mlir:7:8: error: 'xegpu.dpas' op K-dimension mismatch [LLVM 24: xegpu.dpas.depth]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from layoutalg.core.notebook import NotebookAnswer
from layoutalg.ir.places import Place

__all__ = ["OURS", "Finding"]

OURS = "layoutalg"
"""The source of a finding that no LLVM reports: the page or the hardware says it."""


@dataclass(frozen=True, slots=True)
class Finding(NotebookAnswer):
    """One complaint about one operation.

    `rule` is a stable name (`xegpu.dpas.depth`), `source` who says so (`LLVM 22`, or `layoutalg` for rules of our own),
    `notes` the reason, the sentence of the page, or what would be accepted.

    >>> Finding("arith.divsi.zero", "division by zero", "arith.divsi", None).level
    'error'
    """

    rule: str
    message: str
    operation: str
    place: Place | None
    source: str = OURS
    level: Literal["error", "warning"] = "error"
    notes: tuple[str, ...] = ()

    def _text(self) -> str:
        return "\n".join([str(self), *(f"  note: {note}" for note in self.notes)])

    def _row(self) -> dict[str, object]:
        said = "; ".join((self.message, *self.notes))
        return {
            "place": self.place or "",
            "level": self.level,
            "operation": self.operation,
            "message": said,
            "rule": f"{self.source}: {self.rule}",
        }

    def __str__(self) -> str:
        where = "" if self.place is None else f"{self.place}: "
        return f"{where}{self.level}: '{self.operation}' op {self.message} [{self.source}: {self.rule}]"
