"""Why a tiling lost: the part of its time that is most above the best one's, in a sentence.

>>> from layoutalg.gemm.problem import Problem
>>> from layoutalg.gemm.roofline import times
>>> from layoutalg.gemm.tiling import Tile, Tiling
>>> forms = Forms.of([(Tiling(Tile(32, 64, 64), (8, 4), 256, kind), 92) for kind in ("shared", "none")])
>>> problem = Problem.of(4096, 4096, 4096, target="bmg")
>>> print(reason(problem, forms, times(problem, forms), 1, 0))
18 % slower: every step waits 800 clocks for data that nothing prefetched
"""

from __future__ import annotations

from layoutalg.core.plurals import counted
from layoutalg.gemm.options import PREFETCHES, REDUCTIONS
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.roofline import Forms, Times

__all__ = ["reason"]


def reason(problem: Problem, forms: Forms, found: Times, row: int, best: int) -> str:
    """The sentence for tiling `row` of the forms, compared with tiling `best`."""
    above = {name: float(part[row] - part[best]) for name, part in found.parts.items()}
    name = max(above, key=lambda part: above[part])
    clocks, least = float(found.clocks[row]), float(found.clocks[best])
    slower = clocks / least - 1
    if abs(slower) < 1e-3:
        return "as fast, but " + _equal(forms, found, row, best)
    because = _because(problem, forms, found, name, row, best)
    if slower >= 1:
        return f"{clocks / least:.1f} times as slow: {because}"
    digits = 2 if slower < 0.01 else 1 if slower < 0.1 else 0
    return f"{100 * slower:.{digits}f} % slower: {because}"


def _because(problem: Problem, forms: Forms, found: Times, name: str, row: int, best: int) -> str:
    unit = problem.dpas
    if name == "outside":
        share = 1 - 1 / (1 + found.parts["outside"][row] / found.parts["peak"][row])
        high, wide = forms.workgroup_m[row], forms.workgroup_n[row]
        percent = f"{share:.0%}".replace("%", " %")
        return f"workgroups of {high:.0f}x{wide:.0f} and steps of {forms.k[row]:.0f} leave {percent} of their products outside"
    if name == "idle":
        count, waves = int(found.workgroups[row]), int(found.waves[row])
        groups, parts = counted(count, "workgroup"), counted(int(forms.count[row]), "subgroup")
        return f"{groups} of {parts} in {counted(waves, 'wave')} leave engines idle"
    if name == "instructions":
        dpas = [float(forms.m[i] / unit.m * forms.n[i] / unit.n * forms.k[i] / unit.k) for i in (row, best)]
        mine, its = (float(forms.instructions[i]) / each for i, each in zip((row, best), dpas, strict=True))
        return f"{mine:.2f} instructions per DPAS, not {its:.2f}"
    if name == "caches":
        level = max(("L1", "L3"), key=lambda one: float(found.steps[one][row]))
        where = "from L1 to registers" if level == "L1" else "from L3 to L1"
        return f"a step moves its bytes {where} in {found.steps[level][row]:.0f} clocks, and computes in fewer"
    if name == "waiting":
        clocks = float(found.steps["waiting"][row])
        what = {"none": "that nothing prefetched", "lines": "that is prefetched into L3 only"}
        kind = PREFETCHES[int(forms.prefetch[row])]
        return f"every step waits {clocks:.0f} clocks for data {what.get(kind, 'that is prefetched too late')}"
    if name == "reduction" and forms.stream[row]:
        return (
            f"{forms.stream[row]:.0f} workgroups share the steps of all tiles, and add the parts of those that they cut"
        )
    if name == "reduction":
        who = {"kernel": "a second kernel adds", "last": "one subgroup of each tile adds"}
        return f"k is in {forms.parts[row]:.0f} parts, which {who[REDUCTIONS[int(forms.reduction[row])]]}"
    if name == "ends":
        waves = int(found.waves[row])
        return f"{waves} wave{'s' * (waves != 1)} begin with empty caches and end with storing C"
    return f"memory gives {found.memory_bytes[row] / 2**20:.0f} MiB, not {found.memory_bytes[best] / 2**20:.0f} MiB"


def _equal(forms: Forms, found: Times, row: int, best: int) -> str:
    """What decides between tilings of the same time."""
    outside = [float(found.parts["outside"][one] / found.parts["peak"][one]) for one in (row, best)]
    if outside[0] > outside[1] + 0.01:
        return "more of its products lie outside of C"
    inside = float(found.inside[row] / found.inside[best])
    if inside > 1.02:
        return f"without waiting for memory it would take {inside:.2g} times as long"
    if found.resident[row] < 2 <= found.resident[best]:
        return "a core holds one of its workgroups, and nothing hides its waits"
    more = float(found.l3_bytes[row] / found.l3_bytes[best])
    if more > 1.005:
        return f"it moves {more:.2g} times the bytes from L3 to L1"
    if forms.m[row] * forms.n[row] < forms.m[best] * forms.n[best]:
        return "its tiles are smaller"
    if forms.n[row] < forms.n[best]:
        return "the rows of its tiles are shorter"
    return "it comes later in the order of tilings"
