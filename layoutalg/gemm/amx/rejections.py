"""Why a tiling for AMX lost: the part of its time that is most above the best one's, in a sentence.

The search prefers few loads and many cache blocks among tilings that the prediction cannot tell apart. So one that is
predicted to be a little faster may lose too, and the sentence says that.

>>> from layoutalg.gemm.amx.costs import amx_times
>>> from layoutalg.gemm.amx.tiling import AmxTiling, Blocking
>>> problem = AmxProblem.of(4096, 4096, 4096)
>>> tilings = [AmxTiling(Blocking(*tiles), 256, 512, 256, "columns", True) for tiles in ((2, 2), (1, 2), (1, 4))]
>>> forms = AmxForms.of(tilings)
>>> print(amx_reason(problem, forms, amx_times(problem, forms), 1, 0).partition(": ")[2])
1.5 tiles are loaded for each product, not 1
"""

from __future__ import annotations

from layoutalg.core.plurals import counted
from layoutalg.gemm.amx.costs import AmxForms, AmxTimes
from layoutalg.gemm.amx.problem import AmxProblem
from layoutalg.gemm.amx.tiling import TILE

__all__ = ["amx_reason"]

_MIB = 2.0**20


def amx_reason(problem: AmxProblem, forms: AmxForms, found: AmxTimes, row: int, best: int) -> str:
    """The sentence for tiling `row` of the forms, compared with tiling `best`."""
    above = {name: float(part[row] - part[best]) for name, part in found.parts.items()}
    name = max(above, key=lambda part: above[part])
    clocks, least = float(found.clocks[row]), float(found.clocks[best])
    slower = clocks / least - 1
    because = _because(problem, forms, found, name, row, best)
    if slower < 0.005:
        if above[name] <= 0.005 * least or slower <= -0.005:
            because = _preferred(problem, forms, row, best)
        speed = (
            "as fast" if slower > -0.005 else f"{-100 * slower:.1f} % faster, which is less than the prediction's error"
        )
        return f"{speed}, but {because}"
    if slower >= 1:
        return f"{clocks / least:.1f} times as slow: {because}"
    return f"{100 * slower:.{0 if slower >= 0.1 else 1}f} % slower: {because}"


def _preferred(problem: AmxProblem, forms: AmxForms, row: int, best: int) -> str:
    """What the search prefers where the predicted times are taken for equal, in its order."""
    loads = [_loads(forms, one) for one in (row, best)]
    if loads[0] > loads[1] + 1e-9:
        return _more_loads(*loads)
    blocks = [_cache_blocks(problem, forms, one) for one in (row, best)]
    if blocks[0] < blocks[1]:
        return f"it has {counted(blocks[0], 'cache block')} to share out, not {blocks[1]}"
    if forms.packed[row] > forms.packed[best]:
        return "A is copied into whole tiles first"
    return "it comes later in the list"


def _because(problem: AmxProblem, forms: AmxForms, found: AmxTimes, name: str, row: int, best: int) -> str:
    if name == "L1 and L2":
        return _near(problem, forms, row, best)
    if name == "L3 and memory":
        gives = [found.bytes_from("L3")[one] / _MIB for one in (row, best)]
        return f"{_mebibytes(gives[0])} come from L3 and beyond, not {_mebibytes(gives[1])}"
    if name == "C":
        times = [-(-problem.k_padded // int(forms.k_block[one])) for one in (row, best)]
        if times[0] != times[1]:
            mine, its = (counted(count, "time") for count in times)
            return f"C is stored {mine}, not {its}: k is cut every {forms.k_block[row]:.0f}"
        return "its block of C doesn't stay in L2 between the parts of k"
    if name == "calls":
        blocks = [_calls(problem, forms, one) for one in (row, best)]
        return f"{counted(blocks[0], 'part')} of C and k, each with its LDTILECFG, not {blocks[1]}"
    if name == "packing":
        return "A is copied into whole tiles first"
    return "tiles beyond the edges of C are computed"


def _near(problem: AmxProblem, forms: AmxForms, row: int, best: int) -> str:
    """Why its steps wait longer for L1 and L2."""
    loads = [_loads(forms, one) for one in (row, best)]
    if not forms.packed[row] and forms.packed[best]:
        return f"rows of A cross cache lines, {problem.lda * problem.element_bytes} bytes apart; packed ones don't"
    if loads[0] > loads[1] + 1e-9:
        return _more_loads(*loads)
    depth = min(int(forms.k_block[row]), problem.k_padded)
    panel = (forms.rows[row] + forms.columns[row]) * TILE * depth * problem.element_bytes / 1024
    return f"a strip of A and a panel of B, {panel:.0f} KiB for {depth} of k, share L1 less well"


def _loads(forms: AmxForms, row: int) -> float:
    """Tile loads for each product."""
    return float((forms.rows[row] + forms.columns[row]) / (forms.rows[row] * forms.columns[row]))


def _more_loads(mine: float, others: float) -> str:
    return f"{mine:.3g} tiles are loaded for each product, not {others:.3g}"


def _cache_blocks(problem: AmxProblem, forms: AmxForms, row: int) -> int:
    sizes = ((problem.m, forms.m_block), (problem.n, forms.n_block))
    down, across = (-(-size // int(block[row])) for size, block in sizes)
    return down * across


def _calls(problem: AmxProblem, forms: AmxForms, row: int) -> int:
    return _cache_blocks(problem, forms, row) * -(-problem.k_padded // int(forms.k_block[row]))


def _mebibytes(size: float) -> str:
    return f"{size:.0f} MiB" if size >= 10 else f"{size:.2g} MiB"
