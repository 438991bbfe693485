"""Which tilings may share the steps of all tiles evenly (stream-K), beside those that a search has.

By hand, for workgroups of 256x256 on a B580, whose 20 cores hold one each: 1792x768 has 21 tiles, which 20 runs may share;
1280x1024 has 20 tiles, which fill the cores.

>>> from layoutalg.gemm.roofline import times
>>> from layoutalg.gemm.tiling import Tile, Tiling
>>> from layoutalg.hardware import xe_chip
>>> chip, forms = xe_chip("bmg"), Forms.of([(Tiling(Tile(32, 64, 64), (8, 4), 256, "shared"), 88)])
>>> problems = [Problem.of(m, n, 8192, target="bmg") for m, n in ((1792, 768), (1280, 1024))]
>>> [with_runs(problem, forms, times(problem, forms, chip), chip).stream.tolist() for problem in problems]
[[0.0, 20.0], [0.0]]
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from layoutalg.gemm.options import REDUCTIONS
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.ranking import Numbers
from layoutalg.gemm.roofline import Forms, Times
from layoutalg.gemm.stream_k import MOST_PAIRS, busy
from layoutalg.hardware import XeChip

__all__ = ["may_have_runs", "with_runs", "with_work_for_all"]


def may_have_runs(problem: Problem, chip: XeChip) -> bool:
    """Whether runs are searched for a product that could be split: the loop of a run is as short as the plain one. It is longer
    where the loads of a transposed B have no immediate offsets (`counting`)."""
    return not problem.trans_b or chip.immediate_offsets


def with_runs(problem: Problem, forms: Forms, found: Times, chip: XeChip) -> Forms:
    """The forms, and behind them those whose workgroups fill the chip once and share the steps of all tiles, where a plain grid
    does not fill it; a run has two steps at least. `found` are the times of the forms, which have k whole."""
    columns = _columns(forms)
    tiles, steps = found.workgroups, np.ceil(problem.k / forms.k)
    runs = busy(tiles, steps, chip.cores * found.resident)
    fits = (forms.transpose == 0) & (tiles % runs > 0) & (tiles * steps >= 2 * runs) & (tiles * steps <= MOST_PAIRS)
    fits &= busy(tiles, steps, runs) == runs
    some = columns[:, fits]
    some[_NAMES.index("stream")] = runs[fits]
    some[_NAMES.index("reduction")] = REDUCTIONS.index("last")
    return Forms(*np.concatenate((columns, some), axis=1))


def with_work_for_all(problem: Problem, forms: Forms) -> Forms:
    """The forms, of those with runs the ones whose tiles make work for all; every form where none does, and `check_stream` says
    what would do."""
    tiles = problem.batch * np.ceil(problem.m / forms.workgroup_m) * np.ceil(problem.n / forms.workgroup_n)
    runs = np.maximum(1, forms.stream)
    fits = busy(tiles, np.ceil(problem.k / forms.k), runs) == runs
    return Forms(*_columns(forms)[:, fits]) if fits.any() else forms


_NAMES = [one.name for one in fields(Forms)]


def _columns(forms: Forms) -> Numbers:
    return np.array([getattr(forms, name) for name in _NAMES])
