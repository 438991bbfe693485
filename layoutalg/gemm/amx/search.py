"""All tilings of a product for AMX, ranked by the time that the costs predict for one core.

For 4096x4096x4096 in bf16 the search cuts k and the columns of C so that a block of B stays in L2 while the strips of A pass
by; A is copied into whole tiles first:

>>> found = search_amx(AmxProblem.of(4096, 4096, 4096, target="gnr"), AmxChoices())
>>> print(found.best)
2x2 tiles, blocks of 1024x256, 1024 of k, rows first, A packed
>>> found.best.n_block * found.best.k_block * 2 / 2**20, found[0].limit
(0.5, 'L2')

The candidates: every blocking whose tiles fit into the eight registers, cache blocks of about 64 to 2048 rows and columns (C is
cut evenly, so that the last block is about as large as the others), k whole or cut every 256 to 4096 bytes, both orders, A as
it lies where tiles can be loaded from there, and packed. What a caller fixes (`AmxChoices`) the search leaves alone:

>>> print(search_amx(AmxProblem.of(512, 512, 512), AmxChoices(blocking=(1, 4), blocks=(128, 256, 512))).best.m_block)
128

The prediction is worth no more than its error. So among tilings within 10 % of the fastest those win that load the fewest tiles
for a product, which is 2x2 where it is among them; of these, among those within 3 %, the ones with more cache blocks (up to
64), which worker threads share out, then those that leave A as it lies, then the faster one: the same question has the same
answer always.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.errors import PlanError
from layoutalg.core.limits import MAX_EXTENT
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import as_flag, instance_of, listed, one_of
from layoutalg.core.whole_numbers import whole_number as whole
from layoutalg.gemm.amx.costs import AmxForms, AmxRoofline, AmxTimes, amx_roofline, amx_times
from layoutalg.gemm.amx.packing import must_pack_a
from layoutalg.gemm.amx.problem import AmxProblem
from layoutalg.gemm.amx.rejections import amx_reason
from layoutalg.gemm.amx.tiling import BLOCKINGS, TILE, AmxTiling, Blocking, checked_prefetch
from layoutalg.gemm.matrix_in_memory import whole_number
from layoutalg.gemm.options import ORDERS
from layoutalg.gemm.ranking import Ranked, longest
from layoutalg.hardware import AmxChip, amx_chip

__all__ = ["AmxCandidate", "AmxChoices", "AmxFound", "search_amx"]

_SIDES = (64, 128, 256, 512, 1024, 2048)
"""About how many rows and columns of C a cache block has."""
_K_BYTES = (256, 512, 1024, 2048, 4096)
"""Where k is cut: bytes of a row of A in one part."""
_MOST = 2**31
_SHARED = 64
"""So many cache blocks are enough for worker threads to share out."""
_SAME_BLOCKING, _SAME = 0.10, 0.03
"""What part of the time the prediction cannot tell apart: between blockings, and between tilings of one blocking."""


@dataclass(frozen=True)
class AmxChoices:
    """What the caller has chosen; None leaves it to the search. `blocks` is (m_block, n_block, k_block), in elements.

    A block that is larger than the matrix is the whole matrix.

    Raises `PlanError` for values that no plan has.

    >>> AmxChoices(order="rows").order
    'rows'
    """

    blocking: Sequence[int] | None = None
    blocks: Sequence[int] | None = None
    order: str | None = None
    pack_a: bool | None = None
    prefetch_b: int | None = None

    def __post_init__(self) -> None:
        if self.blocking is not None:
            given = listed(self.blocking, "blocking", error=PlanError)
            if len(given) != 2:
                raise PlanError(f"blocking of {len(given)} numbers: expected two, tiles of rows and of columns")
            chosen = Blocking(*given)
            object.__setattr__(self, "blocking", (chosen.rows, chosen.columns))
        if self.blocks is not None:
            given = listed(self.blocks, "blocks", error=PlanError)
            if len(given) != 3:
                raise PlanError(
                    f"blocks of {len(given)} numbers: expected three, rows and columns of C and a part of k"
                )
            sizes = [whole_number(name, size, _MOST) for name, size in zip(_BLOCKS, given, strict=True)]
            object.__setattr__(self, "blocks", tuple(sizes))
        if self.order is not None:
            one_of(self.order, ORDERS, "order", PlanError)
        if self.pack_a is not None:
            object.__setattr__(self, "pack_a", as_flag(self.pack_a, "pack_a", PlanError))
        if self.prefetch_b is not None:
            object.__setattr__(self, "prefetch_b", checked_prefetch(self.prefetch_b))


_BLOCKS = ("m_block", "n_block", "k_block")


@dataclass(frozen=True)
class AmxCandidate:
    """A tiling, what is predicted for it on one core, and why it lost (nothing for the best one).

    `clocks` are those of the whole product, `loads` and `products` the tiles of a step, `limit` what alone would take longest.

    >>> first, second = search_amx(AmxProblem.of(512, 512, 512), AmxChoices())[:2]
    >>> first.reason, first.clocks <= 1.11 * second.clocks
    ('', True)
    """

    tiling: AmxTiling
    loads: int
    products: int
    clocks: float
    limit: str
    reason: str


@dataclass(frozen=True, eq=False)
class AmxFound(Ranked[AmxCandidate]):
    """All candidates, the best one first. Candidates are made when they are asked for.

    >>> found = search_amx(AmxProblem.of(512, 512, 512), AmxChoices())
    >>> len(found) > 1000, found[0].tiling == found.best
    (True, True)
    """

    problem: AmxProblem
    chip: AmxChip
    forms: AmxForms
    times: AmxTimes
    order: NDArray[np.intp] = field(repr=False)

    @property
    def best(self) -> AmxTiling:
        """The tiling with the least time.

        >>> search_amx(AmxProblem.of(64, 64, 64), AmxChoices()).best.k_block
        64
        """
        return self.forms.tiling(int(self.order[0]))

    def roofline(self, tiling: AmxTiling | None = None, cores: int = 1) -> AmxRoofline:
        """The roofline of a tiling (of the best one, unless given) on so many cores of the chip.

        >>> search_amx(AmxProblem.of(4096, 4096, 4096), AmxChoices()).roofline(cores=60).cores
        60
        """
        return amx_roofline(self.problem, self.best if tiling is None else tiling, self.chip, cores)

    def best_on(self, cores: int) -> AmxTiling:
        """The tiling with the least time where so many cores share out its cache blocks: there have to be enough of them.

        >>> found = search_amx(AmxProblem.of(4096, 4096, 4096, target="gnr"))
        >>> found.best_on(1) == found.best, found.best_on(128).m_block * found.best_on(128).n_block <= 4096 * 4096 // 128
        (True, True)
        """
        cores = whole(cores, "cores =", 1, self.chip.cores, PlanError)
        if cores == 1:
            return self.best
        forms, problem = self.forms, self.problem
        blocks = problem.batch * np.ceil(problem.m / forms.m_block) * np.ceil(problem.n / forms.n_block)
        clocks = (self.times.clocks * np.ceil(blocks / cores) / blocks)[self.order]
        near = clocks <= clocks.min() * (1 + _SAME)
        return forms.tiling(int(self.order[int(np.argmax(near))]))

    def runners_up(self, count: int = 5) -> tuple[AmxCandidate, ...]:
        """The next candidates, the best one for each other blocking.

        >>> found = search_amx(AmxProblem.of(512, 512, 512), AmxChoices())
        >>> len({str(candidate.tiling.blocking) for candidate in found.runners_up(4)})
        4
        """
        count = whole(count, "runners-up =", 0, MAX_EXTENT, PlanError)
        kinds = self.forms.rows[self.order] * TILE + self.forms.columns[self.order]
        _, firsts = np.unique(kinds, return_index=True)
        return tuple(self[int(row)] for row in np.sort(firsts)[1 : count + 1])

    def _made(self, row: int) -> AmxCandidate:
        tiling = self.forms.tiling(row)
        best = int(self.order[0])
        limits = {name: float(clocks[row]) for name, clocks in self.times.limits.items()}
        return AmxCandidate(
            tiling,
            tiling.blocking.loads_per_step,
            tiling.blocking.products_per_step,
            float(self.times.clocks[row]),
            longest(limits),
            "" if row == best else amx_reason(self.problem, self.forms, self.times, row, best),
        )


def search_amx(problem: AmxProblem, choices: AmxChoices | None = None, chip: AmxChip | None = None) -> AmxFound:
    """All tilings of a product, the best one first. `chip` stands in for the one that the target names.

    Raises:
        PlanError: what was chosen doesn't fit; says what would.

    >>> search_amx(AmxProblem.of(64, 64, 64), AmxChoices(blocking=(3, 3)))
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: a blocking of 3x3 tiles takes 13 of 8 tile registers: 9 of C, 3 to hold, 1 to stream
    """
    instance_of(problem, AmxProblem, "problem", PlanError)
    choices = AmxChoices() if choices is None else choices
    instance_of(choices, AmxChoices, "choices", PlanError)
    chip = amx_chip(problem.chip) if chip is None else chip
    instance_of(chip, AmxChip, "chip", PlanError)
    return _search(problem, choices, chip)


@lru_cache(maxsize=256)
def _search(problem: AmxProblem, choices: AmxChoices, chip: AmxChip) -> AmxFound:
    """The search for arguments that are checked."""
    forms = _forms(problem, choices)
    found = amx_times(problem, forms, chip)
    blocks = problem.batch * np.ceil(problem.m / forms.m_block) * np.ceil(problem.n / forms.n_block)
    loads = (forms.rows + forms.columns) / (forms.rows * forms.columns)
    above = np.log(found.clocks / found.clocks.min())
    coarse, fine = np.floor(above / _SAME_BLOCKING), np.floor(above / _SAME)
    # The last key counts most. Between equals those that go along the rows of C are the faster ones, by 5 % where C is 512x512.
    keys = (forms.rows, -forms.by_rows, found.clocks, forms.packed, -np.minimum(blocks, _SHARED), fine, loads, coarse)
    return AmxFound(problem, chip, forms, found, np.lexsort(keys))


def _forms(problem: AmxProblem, choices: AmxChoices) -> AmxForms:
    """All tilings that fit what was chosen."""
    k_blocks = _k_blocks(problem, choices)
    orders = [float(ORDERS.index(name)) for name in ORDERS if choices.order in (None, name)]
    packed = _packed(problem, choices)
    table: list[NDArray[np.float64]] = []
    for blocking in BLOCKINGS:
        if choices.blocking not in (None, (blocking.rows, blocking.columns)):
            continue
        sides = [
            _sides(size, TILE * tiles, None if choices.blocks is None else choices.blocks[side])
            for side, (size, tiles) in enumerate(((problem.m, blocking.rows), (problem.n, blocking.columns)))
        ]
        axes = ((blocking.rows,), (blocking.columns,), *sides, k_blocks, orders, packed, (choices.prefetch_b or 0,))
        table.append(np.array(list(product(*axes)), dtype=np.float64).reshape(-1, len(axes)))
    every = np.concatenate(table)
    if not len(every):
        raise PlanError(_no_fit(choices))
    return AmxForms(*every.T)


def _sides(size: int, unit: int, chosen: int | None) -> list[int]:
    """The rows (or columns) that a cache block may have: multiples of a register block's."""
    most = -(-size // unit) * unit
    if chosen is not None:
        return [most] if chosen >= most else [chosen] * (chosen % unit == 0)
    # C is cut evenly: 600 rows in blocks of about 512 are two of 304, not one of 512 and one of 88.
    parts = [max(1, round(size / side)) for side in _SIDES]
    return sorted({min(most, -(-size // (part * unit)) * unit) for part in parts})


def _k_blocks(problem: AmxProblem, choices: AmxChoices) -> list[int]:
    """The parts of k: whole tiles deep, or all of it."""
    if choices.blocks is None:
        sizes = [size // problem.element_bytes for size in _K_BYTES]
        return [*(size for size in sizes if size < problem.k_padded), problem.k_padded]
    chosen = choices.blocks[2]
    if chosen >= problem.k:
        return [problem.k_padded]
    if chosen % problem.depth:
        raise PlanError(
            f"k_block = {chosen}: expected a multiple of {problem.depth}, the depth of a tile of {problem.a}, "
            f"or all of k = {problem.k}"
        )
    return [chosen]


def _packed(problem: AmxProblem, choices: AmxChoices) -> list[float]:
    """Whether A is packed: what was chosen, what has to be, or both."""
    why = must_pack_a(problem)
    if why is not None and choices.pack_a is False:
        raise PlanError(f"pack_a = False: {why}; A must be packed")
    if choices.pack_a is not None:
        return [float(choices.pack_a)]
    return [1.0] if why is not None else [0.0, 1.0]


def _no_fit(choices: AmxChoices) -> str:
    """Why no blocking fits the chosen blocks."""
    rows, columns, _ = choices.blocks or (0, 0, 0)
    high, wide = (1, 1) if choices.blocking is None else choices.blocking
    chosen = "" if choices.blocking is None else f" for a blocking of {high}x{wide} tiles"
    fits = [max(1, size // unit) * unit for size, unit in ((rows, TILE * high), (columns, TILE * wide))]
    return (
        f"blocks {shown(choices.blocks)}{chosen}: expected rows in multiples of {TILE * high} and columns in multiples of "
        f"{TILE * wide}, as {fits[0]}x{fits[1]}"
    )
