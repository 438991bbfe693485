"""Why a tiling for AMX lost: the part of its time that is most above the best one's, in a sentence.

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

__all__ = ["amx_reason"]

_MIB = 2.0**20


def amx_reason(problem: AmxProblem, forms: AmxForms, found: AmxTimes, row: int, best: int) -> str:
    """The sentence for tiling `row` of the forms, compared with tiling `best`.

    >>> from layoutalg.gemm.amx.costs import amx_times
    >>> from layoutalg.gemm.amx.tiling import AmxTiling, Blocking
    >>> problem = AmxProblem.of(4096, 4096, 4096)
    >>> forms = AmxForms.of([AmxTiling(Blocking(2, 2), 256, 512, k, "columns", True) for k in (256, 64)])
    >>> print(amx_reason(problem, forms, amx_times(problem, forms), 1, 0).partition(": ")[2])
    C is stored 64 times, not 16 times: k is cut every 64
    """
    above = {name: float(part[row] - part[best]) for name, part in found.parts.items()}
    name = max(above, key=lambda part: above[part])
    clocks, least = float(found.clocks[row]), float(found.clocks[best])
    slower = clocks / least - 1
    because = _because(problem, forms, found, name, row, best)
    if abs(slower) < 0.005:
        return f"as fast, but {because}" if above[name] > 0.005 * least else "as fast, but it comes later in the list"
    if slower >= 1:
        return f"{clocks / least:.1f} times as slow: {because}"
    return f"{100 * slower:.{0 if slower >= 0.1 else 1}f} % slower: {because}"


def _because(problem: AmxProblem, forms: AmxForms, found: AmxTimes, name: str, row: int, best: int) -> str:
    if name == "near":
        return _near(problem, forms, row, best)
    if name == "far":
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
    ratios = [(forms.rows[i] + forms.columns[i]) / (forms.rows[i] * forms.columns[i]) for i in (row, best)]
    if not forms.packed[row] and forms.packed[best]:
        return f"rows of A cross cache lines, {problem.lda * problem.element_bytes} bytes apart; packed ones don't"
    if ratios[0] > ratios[1] + 1e-9:
        return f"{ratios[0]:.3g} tiles are loaded for each product, not {ratios[1]:.3g}"
    depth = min(int(forms.k_block[row]), problem.k_padded)
    panel = (forms.rows[row] + forms.columns[row]) * 16 * depth * problem.element_bytes / 1024
    return f"a strip of A and a panel of B, {panel:.0f} KiB for {depth} of k, share L1 less well"


def _calls(problem: AmxProblem, forms: AmxForms, row: int) -> int:
    sizes = ((problem.m, forms.m_block), (problem.n, forms.n_block), (problem.k_padded, forms.k_block))
    down, across, deep = (-(-size // int(block[row])) for size, block in sizes)
    return down * across * deep


def _mebibytes(size: float) -> str:
    return f"{size:.0f} MiB" if size >= 10 else f"{size:.2g} MiB"
