"""What differs between the versions of LLVM: a row for each.

>>> sorted(VERSIONS), VERSIONS[22].meet.__name__
([22], 'first_wins')
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from xdsl.ir import Operation

from layoutalg.propagation.like_llvm import first_arrival
from layoutalg.propagation.like_llvm.analysis import Analysis, Meet, Rule, first_wins
from layoutalg.propagation.like_llvm.stating import over_anchors

__all__ = ["VERSIONS", "Version"]


@dataclass(frozen=True)
class Version:
    """How one version propagates: the rules of operations, which demand wins, how results are written."""

    llvm: int
    rules: Mapping[str, Rule]
    default: Rule
    meet: Meet
    state: Callable[[Analysis], None]

    def propagate(self, module: Operation, level: str, target: str) -> None:
        """Write layouts into a module.

        >>> from layoutalg.ir import read_module
        >>> VERSIONS[22].propagate(read_module("gpu.barrier"), "lane", "pvc")
        """
        analysis = Analysis(module, level, self.rules, self.default, self.meet)
        analysis.run()
        self.state(analysis)


VERSIONS = {
    22: Version(22, first_arrival.RULES, first_arrival.elementwise, first_wins, over_anchors),
}
