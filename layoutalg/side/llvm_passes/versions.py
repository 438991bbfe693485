"""What differs between the versions of LLVM: a row for each.

>>> sorted(VERSIONS), VERSIONS[22].meet.__name__
([22, 23, 24], 'first_wins')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.ir import Operation

from layoutalg.side.llvm_passes import llvm22_rules, llvm23_rules
from layoutalg.side.llvm_passes.analysis import Analysis, Habits, Meet, Rule, first_wins, nearest_wins
from layoutalg.side.llvm_passes.conflicts import make_again, resolve
from layoutalg.side.llvm_passes.default_layouts import filled, left_open
from layoutalg.side.llvm_passes.reductions import one_by_one, vectors
from layoutalg.side.llvm_passes.sinking import sink
from layoutalg.side.llvm_passes.write_llvm22 import over_anchors
from layoutalg.side.llvm_passes.writing_anchors import Fill, beside_anchors, cleaned

__all__ = ["VERSIONS", "Version"]


@dataclass(frozen=True)
class Version:
    """How one version propagates.

    >>> VERSIONS[22].keeps, VERSIONS[24].keeps
    (False, True)
    """

    llvm: int
    rules: Mapping[str, Rule]
    """What operations demand."""
    meet: Meet
    """Which of two demands wins."""
    keeps: bool
    """Whether anchors keep their layouts, and conversions are put in; otherwise what is demanded is written over them."""
    habits: Habits = field(default_factory=Habits)
    """What it does otherwise in the analysis."""
    fill: Fill = left_open
    """The layout of a result that nobody demands."""
    ends: bool = False
    """Whether what goes out of regions gets conversions, and a result of theirs that nobody uses."""
    copies: bool = False
    """Whether a constant is made again at once where it is used in another layout; otherwise later, with what it is made of."""

    def propagate(self, module: Operation, level: str, target: str) -> None:
        """Write layouts into a module."""
        if self.keeps:
            cleaned(module)
        analysis = Analysis(module, level, self.rules, llvm22_rules.elementwise, self.meet, self.habits)
        analysis.run()
        if not self.keeps:
            over_anchors(analysis)
            return
        beside_anchors(analysis, self.fill)
        resolve(module, ends=self.ends, copies=self.copies)
        if not self.copies:
            sink(module)
            make_again(module)


VERSIONS = {
    22: Version(22, llvm22_rules.RULES, first_wins, keeps=False),
    23: Version(23, llvm23_rules.rules(one_by_one), first_wins, keeps=True, habits=Habits(counts=True), copies=True),
    24: Version(
        24,
        llvm23_rules.rules(vectors),
        nearest_wins,
        keeps=True,
        habits=Habits(strict=True, rigid=True, reuses=True, counts=True, tf32=16),
        fill=filled,
        ends=True,
    ),
}
