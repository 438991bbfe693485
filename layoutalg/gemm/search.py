"""All tilings of a problem that the tables and the register file allow, ranked by the time that the roofline predicts.

For 4096x4096x4096 in f16 on B580 the search finds the form that was measured as the best one, and says why others lost:

>>> found = search(Problem.of(4096, 4096, 4096, target="bmg"))
>>> print(found.best.tiling)
32x64x64 per subgroup, 8x4 subgroups, 256 registers, shared prefetch 1 step ahead

The candidates: tiles of 8 to 64 rows and 16 to 64 columns whose accumulators and operands fit into the registers, steps of one
to four instructions along k, workgroups of 1 to as many subgroups as a core has threads for (powers of two), 128 and 256
registers, every form of prefetch, one step ahead (another distance is taken where it is asked for, and searched where C has too
few tiles for the chip). What a caller fixes (`Choices`) the search leaves alone:

>>> search(Problem.of(64, 64, 64), Choices(tile=(16, 32), registers=128)).best.tiling.tile.n
32

Among tilings of the same time (to a tenth of a per cent) those win that have the fewest products outside of C; of these, those
that would be fastest if memory gave everything at once; then those of which a core holds two workgroups, which hide each
other's waits; then the fewest bytes from L3, the larger tile, the wider one, and at last the order of the list.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.errors import PlanError
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.notebook import NotebookAnswer
from layoutalg.core.whole_numbers import instance_of
from layoutalg.core.whole_numbers import whole_number as whole
from layoutalg.gemm.choices import Choices, check_choices, check_turns_nothing
from layoutalg.gemm.counting import asked, further, instructions
from layoutalg.gemm.edges import edges, loop_edges
from layoutalg.gemm.gated import loop_of
from layoutalg.gemm.options import PREFETCHES, REDUCTIONS, TRANSPOSES
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.ranking import Numbers, Ranked, longest
from layoutalg.gemm.registers import registers
from layoutalg.gemm.rejections import reason
from layoutalg.gemm.roles import ROLES, check_roles, exchanged, takes_roles
from layoutalg.gemm.roofline import Forms, Roofline, Times, roofline, times
from layoutalg.gemm.sharing import line_elements, takes_whole_lines
from layoutalg.gemm.stream_forms import may_have_runs, with_runs, with_work_for_all
from layoutalg.gemm.stream_k import check_runs
from layoutalg.gemm.tiling import REGISTERS, Tile, Tiling
from layoutalg.gemm.turning import SCRATCH, SLM, check_turning, takes_turning, turns, why_no_share
from layoutalg.hardware import XeChip, xe_chip

__all__ = ["DEEP", "WORTH", "Candidate", "Found", "refused", "search"]

ROWS = (8, 16, 24, 32, 40, 48, 56, 64)
COLUMNS = (16, 32, 48, 64)
DEPTHS = (1, 2, 4)
"""Instructions along k in one step of the loop: 128 bytes of a row at most. Twice as deep steps have 1 % fewer instructions
(listings of 32x64 on pvc: 1.44 and 1.42 per dpas) and twice as much on its way, 256 KiB for a workgroup of 256x256."""
PARTS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""In how many parts k is computed where C has too few tiles for the chip (`layoutalg.gemm.split_k`)."""
DISTANCES = (2, 4)
"""Further steps ahead that a shared prefetch may ask, where C has too few tiles for the chip."""
DEEP = 1024
"""Less deep products are not split unless asked: their time is that of two launches, which the model knows least of."""
WORTH = 0.9
"""A split takes this part of the time without one, or less: it needs a workspace, and counters or a second kernel."""
_EDGE_ROWS, _EDGE_COLUMNS = (8, 16, 32), (16, 32)
"""Tiles where lanes load A or B themselves: every element of a fragment has instructions of its own."""
GRID = (1, 2, 4, 8, 16, 32, 64)
_LARGEST = (8, 4)
"""The workgroup whose subgroups prefetch the least each: what doesn't fit here fits nowhere."""


@dataclass(frozen=True)
class Candidate(NotebookAnswer):
    """A tiling, what is predicted for it, and why it lost (nothing for the best one).

    `instructions` are those of a step, `clocks` those of the whole problem on the chip.

    >>> assert not search(Problem.of(4096, 4096, 4096, target="bmg")).best.reason
    """

    tiling: Tiling
    instructions: float
    clocks: float
    limit: str
    reason: str

    def __str__(self) -> str:
        return f"{self.tiling}: {self.clocks:,.0f} clocks, limit: {self.limit}{'; ' * bool(self.reason)}{self.reason}"


@dataclass(frozen=True, eq=False)
class Found(Ranked[Candidate]):
    """All candidates, the best one first. Candidates are made when they are asked for.

    >>> found = search(Problem.of(512, 512, 512, target="bmg"))
    >>> len(found) > 1000, found[0] == found.best
    (True, True)
    """

    problem: Problem
    chip: XeChip
    forms: Forms
    times: Times
    order: NDArray[np.intp] = field(repr=False)

    @property
    def best(self) -> Candidate:
        """The candidate with the least time.

        >>> search(Problem.of(4096, 4096, 4096, target="pvc")).best.tiling.registers
        256
        """
        return self[0]

    def roofline(self, tiling: Tiling, instructions: float) -> Roofline:
        """The roofline of a tiling on the chip of the search.

        >>> found = search(Problem.of(4096, 4096, 4096, target="bmg"))
        >>> found.roofline(found.best.tiling, found.best.instructions).limit
        'issue'
        """
        return roofline(self.problem, tiling, instructions, self.chip)

    def runners_up(self, count: int = 5) -> tuple[Candidate, ...]:
        """The next candidates, one for each tile and form of prefetch: the best of those that differ in more than the grid.

        >>> [len({(c.tiling.tile.m, c.tiling.tile.n) for c in search(Problem.of(64, 64, 64)).runners_up(3)})]
        [3]
        """
        seen = {self._kind(int(self.order[0]))}
        chosen: list[Candidate] = []
        for row in self.order[1:]:
            kind = self._kind(int(row))
            if kind not in seen:
                seen.add(kind)
                chosen.append(self._made(int(row)))
            if len(chosen) == count:
                break
        return tuple(chosen)

    def _kind(self, row: int) -> tuple[float, ...]:
        forms = self.forms
        return float(forms.m[row]), float(forms.n[row])

    def _made(self, row: int) -> Candidate:
        forms = self.forms
        tiling = forms.tiling(row)
        limits = {name: float(clocks[row]) for name, clocks in self.times.limits.items()}
        best = int(self.order[0])
        why = "" if row == best else reason(self.problem, self.forms, self.times, row, best)
        return Candidate(
            tiling,
            float(forms.instructions[row]),
            float(self.times.clocks[row]),
            longest(limits),
            why,
        )


_BLOCKS_OF_B = "lanes ask for lines of A and B, and workgroups that transpose A ask for blocks of B"


def search(
    problem: Problem, choices: Choices | None = None, llvm: int = DEFAULT_LLVM, chip: XeChip | None = None
) -> Found:
    """All tilings of a problem, ranked. `chip` stands in for the product that the target names.

    Raises:
        PlanError: where nothing fits what was chosen; says what would.
        LayoutError: for arguments of other types.

    >>> search(Problem.of(64, 64, 64), Choices(tile=(64, 128)))
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: tile 64x128: its accumulators alone are 512 registers, and a thread has 256
    """
    instance_of(problem, Problem, "problem", PlanError)
    choices = Choices() if choices is None else choices
    instance_of(choices, Choices, "choices", PlanError)
    chip = xe_chip(problem.target) if chip is None else chip
    instance_of(chip, XeChip, "chip", PlanError)
    llvm = whole(llvm, "llvm =", 22, 99, PlanError)
    if choices.split_k not in (None, 1) and (problem.gated or problem.groups):
        raise PlanError(
            f"split_k = {choices.split_k}: gated and grouped products are not split over k; split_k = 1 would do"
        )
    if choices.stream_k:
        way, added = choices.transpose or "registers", choices.reduction or "last"
        check_runs(problem, choices.stream_k, choices.split_k or 1, added, way)
        choices = replace(choices, transpose=way)
    if problem.gated:
        check_turns_nothing(choices.transpose)
        return _of_pair(problem, choices, llvm, chip)
    if choices.transpose == ROLES:
        check_roles(problem)
    check_choices(problem, choices)
    if choices.transpose in (SLM, SCRATCH):
        check_turning(problem, choices.transpose, llvm)
        if choices.prefetch == "lines":
            raise PlanError(
                f"prefetch lines with transpose {choices.transpose}: {_BLOCKS_OF_B}; prefetch shared would do"
            )
    return _search(problem, choices, llvm, chip)


def _of_pair(problem: Problem, choices: Choices, llvm: int, chip: XeChip) -> Found:
    """The tilings of a gated pair: those of its loop whose halves are whole blocks, and prefetch whole cache lines."""
    tile = choices.tile
    of_loop = replace(choices, tile=None if tile is None else (tile[0], 2 * tile[1]), split_k=1)
    loop = loop_of(problem)
    check_choices(problem, choices)
    found = _search(loop, of_loop, llvm, chip)
    unit, line = problem.dpas.n, line_elements(problem)
    half = found.forms.n / 2
    fits = (half % unit == 0) & ((found.forms.prefetch == 0) | (half * found.forms.columns % line == 0))
    order = found.order[fits[found.order]]
    if not order.size:
        raise PlanError(
            f"a gated pair with what was chosen: tiles are multiples of {unit} columns, and prefetches ask for whole cache "
            f"lines, {line} elements, of both products; prefetch none would do"
        )
    return replace(found, problem=problem, forms=replace(found.forms, n=half), order=order)


@lru_cache(maxsize=256)
def _search(problem: Problem, choices: Choices, llvm: int, chip: XeChip) -> Found:
    """The search for arguments that are checked."""
    forms = with_work_for_all(problem, _forms(problem, choices, llvm, chip))
    if choices.split_k is not None and not choices.stream_k:
        forms = _those_with_parts(problem, forms, choices.split_k)
        if choices.split_k > 1:
            forms = _added(forms, choices)
    found = times(problem, forms, chip)
    order = _order(forms, found)
    if choices.split_k is None and not choices.stream_k and _might_split(problem, found, int(order[0])):
        plain = forms, found
        more = _in_parts(problem, forms, found, chip, choices)
        split = times(problem, more, chip)
        best = _order(more, split)
        if split.clocks[best[0]] < WORTH * found.clocks[order[0]]:
            forms, found, order = more, split, best
        if choices.stream_k is None and choices.reduction in (None, "last") and may_have_runs(problem, chip):
            more = with_runs(problem, *plain, chip)
            stream = times(problem, more, chip)
            best = _order(more, stream)
            if stream.clocks[best[0]] < WORTH * found.clocks[order[0]]:
                forms, found, order = more, stream, best
    return Found(problem, chip, forms, found, order)


def _might_split(problem: Problem, found: Times, best: int) -> bool:
    """Whether work split over k could be faster: a tenth and more above what no split changes."""
    least = found.parts["peak"][best], found.limits["memory"][best]
    deep = problem.k >= DEEP and not problem.groups and problem.acc in ("f32", "s32") and not problem.edges
    return deep and bool(WORTH * found.clocks[best] > max(least))


def _added(forms: Forms, choices: Choices) -> Forms:
    """The forms with every way to add their parts that the caller allows."""
    ways = REDUCTIONS if choices.reduction is None else (choices.reduction,)
    blocks: list[Numbers] = []
    for way in ways:
        blocks.append(_columns(forms).copy())
        blocks[-1][_REDUCTION] = REDUCTIONS.index(way)
    return Forms(*np.concatenate(blocks, axis=1))


def _in_parts(problem: Problem, forms: Forms, found: Times, chip: XeChip, choices: Choices) -> Forms:
    """The forms, and behind them those that ask further ahead, and those with k in parts: at least two steps each, where one
    launch leaves cores without work. Few subgroups on a core don't hide each other's waits, so the distance counts there."""
    columns, room = _columns(forms), chip.cores * found.resident
    shared = forms.prefetch == PREFETCHES.index("shared")
    more = DISTANCES if choices.distance is None else ()
    blocks = [columns, *(_further_ahead(problem, columns[:, shared], distance) for distance in more)]
    for parts in PARTS:
        each, full = _parts(problem, forms, parts)
        fits = (forms.transpose == 0) & (each >= 2) & (full == parts) & (found.workgroups * parts <= 2 * room)
        for distance in (None, *more):
            some = columns[:, fits if distance is None else fits & shared & (each > distance)].copy()
            some[_PARTS] = parts
            if distance is not None:
                some = _further_ahead(problem, some, distance)
            blocks.append(_columns(_added(Forms(*some), choices)))
    return Forms(*np.concatenate(blocks, axis=1))


def _those_with_parts(problem: Problem, forms: Forms, parts: int) -> Forms:
    """The forms whose steps make so many parts; all where none does, and `check_split` says what would do."""
    fits = (_parts(problem, forms, parts)[1] == parts) & ((forms.transpose == 0) | (parts == 1))
    return Forms(*_columns(forms)[:, fits]) if fits.any() else forms


def _further_ahead(problem: Problem, columns: Numbers, distance: int) -> Numbers:
    """The same forms, with prefetches that ask so many steps ahead; loops that transpose A have no price for it."""
    made = columns.copy()
    made[_DISTANCE] = distance
    transpose = made[_NAMES.index("transpose")]
    prices = {ROLES: exchanged(problem) if takes_roles(problem) else problem, "registers": problem}
    for way, loop in prices.items():
        made[_NAMES.index("instructions")] += (transpose == TRANSPOSES.index(way)) * further(loop, distance)
    return made


def _parts(problem: Problem, forms: Forms, parts: int) -> tuple[Numbers, Numbers]:
    """The steps of the longest of so many parts, and how many parts such steps make."""
    steps = np.ceil(problem.k / forms.k)
    each = np.ceil(steps / parts)
    return each, np.ceil(steps / each)


_NAMES = [one.name for one in fields(Forms)]
_PARTS, _REDUCTION, _DISTANCE = (_NAMES.index(name) for name in ("parts", "reduction", "distance"))


def _columns(forms: Forms) -> Numbers:
    return np.array([getattr(forms, name) for name in _NAMES])


def _order(forms: Forms, found: Times) -> NDArray[np.intp]:
    # The last key counts most: time to a tenth of a per cent (less means nothing here), then what is likely to be better.
    keys = (
        forms.prefetch, forms.registers, forms.k, forms.columns, forms.rows, -forms.n, -forms.m * forms.n, found.l3_bytes,
        found.resident < 2, np.round(np.log(found.inside) * 50),
        np.round(found.parts["outside"] / found.parts["peak"], 2), np.round(np.log(found.clocks) * 1e3),
    )  # fmt: skip
    return np.lexsort(keys)


def _in_loop(choices: Choices) -> Choices:
    """What a caller chose of C, as choices for the loop of C^T."""
    tile, subgroups = (chosen and chosen[::-1] for chosen in (choices.tile, choices.subgroups))
    return replace(choices, tile=tile, subgroups=subgroups, transpose="registers")


def _forms(problem: Problem, choices: Choices, llvm: int, chip: XeChip) -> Forms:
    """All tilings that fit, with the instructions of a step of each; with C^T in the loop where that is possible."""
    if choices.transpose in (None, SLM, SCRATCH) and takes_turning(problem, llvm):
        return _with_turning(problem, choices, llvm, chip)
    if choices.transpose == "registers" or not takes_roles(problem):
        return _forms_of_loop(problem, choices, llvm, chip)
    loop, of_loop = exchanged(problem), _in_loop(choices)
    try:
        check_choices(problem, replace(choices, transpose=ROLES))
        found = _columns(_forms_of_loop(loop, of_loop, llvm, chip, of_c_turned=True))
    except PlanError:
        if choices.transpose == ROLES:
            raise
        return _forms_of_loop(problem, choices, llvm, chip)
    order = [
        _NAMES.index({"m": "n", "n": "m", "rows": "columns", "columns": "rows"}.get(name, name)) for name in _NAMES
    ]
    found = found[order]
    found[_NAMES.index("transpose")] = TRANSPOSES.index(ROLES)
    if choices.transpose is None:
        found = np.concatenate((_columns(_forms_of_loop(problem, choices, llvm, chip)), found), axis=1)
    return Forms(*found)


def _with_turning(problem: Problem, choices: Choices, llvm: int, chip: XeChip) -> Forms:
    """The tilings whose workgroups transpose A; and the others, where the caller leaves the choice."""
    asked = choices.transpose is not None
    found = [] if asked else [_columns(_forms_of_loop(problem, replace(choices, transpose="registers"), llvm, chip))]
    try:
        found.append(
            _columns(_forms_of_loop(problem, replace(choices, transpose=choices.transpose or SLM), llvm, chip))
        )
    except PlanError:
        if asked:
            raise
    return Forms(*np.concatenate(found, axis=1))


def _forms_of_loop(problem: Problem, choices: Choices, llvm: int, chip: XeChip, *, of_c_turned: bool = False) -> Forms:
    """All tilings of the loop that fit, with the instructions of a step of each; the loop may be that of C^T."""
    blocks: list[Numbers] = []
    for form in _loops(problem, choices, llvm, of_c_turned=of_c_turned):
        grids = np.array([choices.subgroups]).T if choices.subgroups else _grids(chip.threads(form.registers))
        if form.prefetch == "lines":
            ahead, _ = asked(_loop_of(problem), form, *grids.astype(np.int64))
            grids = grids[:, ahead <= registers(_loop_of(problem), form, llvm).most_asked]
        if turns(form):
            grids = grids[
                :, [not why_no_share(problem.dpas.k, form.tile, (int(r), int(c)), form.registers) for r, c in grids.T]
            ]
        count = grids.shape[1]
        if count == 0:
            continue
        fixed = (form.tile.m, form.tile.n, form.tile.k, form.registers, PREFETCHES.index(form.prefetch), form.distance)
        m, n, k, held, prefetch, distance = (np.full(count, float(one)) for one in fixed)
        rows, columns = (grids[side].astype(np.int64) for side in (0, 1))
        counts = instructions(_loop_of(problem), form, rows, columns, llvm).astype(np.float64)
        parts = np.full(count, float(choices.split_k or 1))
        turned = np.full(count, float(TRANSPOSES.index(form.transpose)))
        runs = np.full(count, float(choices.stream_k or 0))
        added = np.where(runs > 0, float(REDUCTIONS.index("last")), 0.0)
        blocks.append(np.array((m, n, k, *grids, held, prefetch, distance, counts, parts, turned, added, runs)))
    if not blocks:  # no workgroup of one of the loops can share A
        raise PlanError(_least_share(problem, choices))
    return Forms(*np.concatenate(blocks, axis=1))


@lru_cache(maxsize=64)
def _grids(room: int) -> Numbers:
    grids = [(rows, columns) for rows in GRID for columns in GRID if rows * columns <= room]
    return np.array(grids, dtype=np.float64).T


@lru_cache(maxsize=256)
def _loop_of(problem: Problem) -> Problem:
    """A problem with the same loop: registers and instructions don't depend on sizes, so what is known of one serves all."""
    sizes = dict.fromkeys(("m", "n", "k", "lda", "ldb", "ldc"), 4096)
    sizes |= {f"ld{name.lower()}": 4097 for name in edges(problem)}
    plain = {"alpha": 1.0, "beta": 0.0, "bias": None, "scale": None, "activation": None, "epilogue": None}
    return replace(problem, **sizes, batch=1, groups=0, gated=False, **plain)  # pyright: ignore[reportArgumentType]


def _loops(problem: Problem, choices: Choices, llvm: int, *, of_c_turned: bool = False) -> Iterator[Tiling]:
    """Every loop that fits: a tile, registers and a form of prefetch, for one subgroup."""
    some, least = False, ""
    best = 0
    for form, why, over in _tried(problem, choices, llvm):
        if not why:
            some = True
            yield form
        elif not least or over < best:
            sizes = (form.tile.m, form.tile.n)[:: -1 if of_c_turned else 1]
            named = "" if choices.tile else "no tile fits; the nearest is "
            least, best = f"{named}tile {sizes[0]}x{sizes[1]}: {why}", over
    if not some:
        raise PlanError(least)


def _tried(problem: Problem, choices: Choices, llvm: int) -> Iterator[tuple[Tiling, str, int]]:
    """Every loop that is tried, why it does not fit (nothing where it does), and by how many registers."""
    unit = problem.dpas
    slow = bool(loop_edges(problem))
    sides = (_EDGE_ROWS, _EDGE_COLUMNS) if slow else (ROWS, COLUMNS)
    if problem.halves:
        sides = sides[0], tuple(2 * columns for columns in sides[1])
    tiles = [choices.tile] if choices.tile else list(product(*sides))
    deepest = -(-problem.k // unit.k)
    # Steps of one instruction are for products that are not much deeper: the loop's own instructions would be a tenth.
    steps = [1] if slow else [depth for depth in DEPTHS if depth <= deepest and (depth > 1 or deepest <= 4)]
    depths = [choices.k_step] if choices.k_step else [unit.k * depth for depth in steps]
    turned = choices.transpose if choices.transpose in (SLM, SCRATCH) else None
    prefetches = (choices.prefetch,) if choices.prefetch else ("none",) if slow else PREFETCHES[: 2 if turned else 3]
    files = (choices.registers,) if choices.registers else REGISTERS[-1:] if turned else REGISTERS
    runs = choices.stream_k or 0
    for (m, n), k, held in product(tiles, depths, files):
        tile = Tile(m, n, k)
        alone = -(-m * n * unit.c_bits // 8 // unit.target.grf_bytes)
        if 4 * alone < held == REGISTERS[-1] and not choices.registers and not turned:
            continue  # it fits twice as often into threads of 128
        for prefetch in prefetches:
            form = Tiling(
                tile, (1, 1), held, prefetch, choices.distance or 1, transpose=turned or "registers", stream_k=runs
            )
            if turned and prefetch == "lines":
                yield form, _BLOCKS_OF_B, 1
                continue
            if alone >= held:
                yield form, f"its accumulators alone are {alone} registers, and a thread has {held}", alone - held
                continue
            if prefetch != "none" and not takes_whole_lines(problem, k, prefetch):
                what = f"steps of {k}" if not takes_whole_lines(problem, k) else "the distances of rows"
                yield form, f"prefetches ask for whole cache lines, and {what} are parts of one", 1
                continue
            try:
                needed = registers(_loop_of(problem), replace(form, subgroups=choices.subgroups or _LARGEST), llvm)
            except PlanError as error:
                yield form, str(error), 1
                continue
            if needed.fits:
                yield form, "", 0
            else:
                over = max(1, needed.used - held)
                yield form, f"with {prefetch} prefetch its {needed.used} registers of {held} leave too few", over


def _least_share(problem: Problem, choices: Choices) -> str:
    """Why no workgroup can share A, for the tile that was asked for."""
    m, n = choices.tile or (32, 64)
    tile = Tile(m, n, choices.k_step or 64)
    why = why_no_share(problem.dpas.k, tile, choices.subgroups or _LARGEST, choices.registers or REGISTERS[-1])
    return f"transpose {choices.transpose}: {why or 'no workgroup has subgroups that share its tile of A evenly'}"


def refused(problem: Problem, llvm: int = DEFAULT_LLVM) -> tuple[tuple[Tiling, str], ...]:
    """The loops of one subgroup that are not candidates because their registers would spill, each with a sentence.

    >>> [why for tiling, why in refused(Problem.of(512, 512, 512)) if tiling.tile == Tile(64, 64, 64)][3]
    'its accumulators alone are 256 registers, and a thread has 256'
    """
    instance_of(problem, Problem, "problem", PlanError)
    llvm = whole(llvm, "llvm =", 22, 99, PlanError)
    return tuple((form, why) for form, why, _ in _tried(problem, Choices(), llvm) if why)
