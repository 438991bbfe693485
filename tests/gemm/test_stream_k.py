"""Stream-K: the runs have every step of every tile once, the sums are those of the definition, and mistakes show."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutalg.core.errors import LayoutError, PlanError
from layoutalg.gemm import Gemm, plan_gemm
from layoutalg.gemm.choices import Choices
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.roofline import roofline
from layoutalg.gemm.run import execute
from layoutalg.gemm.search import search
from layoutalg.gemm.split_k import computed_by, counters
from layoutalg.gemm.stream_k import Runs, cuts, slots_of_workspace, tiles_of
from layoutalg.gemm.tiling import MOST_RUNS
from layoutalg.simulate import Memory, run_kernel
from tests.gemm.random_operands import operands, same_bits
from tests.gemm.test_split_k import by_numpy, small_numbers

Array = NDArray[Any]

SMALL: dict[str, Any] = {"tile": (8, 32), "k_step": 16, "subgroups": (1, 2), "registers": 128, "prefetch": "none"}
PLAN = plan_gemm(35, 144, 72, **SMALL, stream_k=4, beta=0.5, bias="row")
"""15 tiles of 5 steps on 4 workgroups: 2 tiles each, then 35 pairs in runs of 9, 9, 9 and 8; rows and columns behind C."""


@cache
def given() -> tuple[Array | None, ...]:
    return small_numbers(PLAN, 5)


@cache
def right() -> bytes:
    return by_numpy(PLAN, *given()).astype(np.float32).tobytes()  # type: ignore[arg-type]


@pytest.mark.parametrize(("tiles", "steps", "runs"), list(product((1, 3, 7, 12, 21), (1, 2, 5, 8), (1, 2, 5, 20))))
def test_every_step_of_every_tile_is_in_one_run(tiles: int, steps: int, runs: int) -> None:
    pieces = cuts(tiles, steps, runs)
    pairs = Counter((piece.tile, step) for piece in pieces for step in range(piece.begin, piece.end))
    assert pairs == {(tile, step): 1 for tile in range(tiles) for step in range(steps)}
    alone = max(tiles // runs - 1, 0) * steps
    lengths = [sum(piece.end - piece.begin for piece in pieces if piece.run == run) - alone for run in range(runs)]
    each = -(-(tiles * steps - alone * runs) // runs)
    assert lengths == sorted(lengths, reverse=True)
    assert sum(length not in (0, each) for length in lengths) <= 1
    if tiles >= runs:
        assert Counter(piece.tile for piece in pieces).most_common(1)[0][1] <= 2


@pytest.mark.parametrize(("tiles", "steps", "runs"), list(product((1, 3, 7, 12, 21), (1, 2, 5, 8), (1, 2, 5, 20))))
def test_what_the_model_says_of_runs_is_what_the_cuts_say(tiles: int, steps: int, runs: int) -> None:
    pieces = cuts(tiles, steps, runs)
    by_run = [[piece for piece in pieces if piece.run == run] for run in range(runs)]
    parts = Counter(piece.tile for piece in pieces)
    found = Runs.of(*(np.array([float(one)]) for one in (tiles, steps, runs)))
    assert found.steps == max(sum(piece.end - piece.begin for piece in some) for some in by_run)
    assert found.shared == sum(count > 1 for count in parts.values()) or found.shared >= found.parts - 1
    assert found.begun >= max(len(some) for some in by_run)
    assert found.parts >= max(parts.values())
    assert (found.shared == 0) == (max(parts.values()) == 1)


def test_the_plan_by_hand() -> None:
    assert PLAN.grid == (4, 1, 1)
    assert PLAN.k_steps == 2 * 5 + 9
    assert (tiles_of(PLAN.problem, PLAN.tiling), counters(PLAN.problem, PLAN.tiling)) == (15, 15 * 2)
    assert PLAN.workspace_bytes == (4 + 7 - 1) * 2 * 8 * 32 * 4
    shared = [piece for piece in cuts(15, 5, 4) if piece.end - piece.begin < 5]
    assert [(piece.run, piece.tile, piece.begin, piece.end) for piece in shared] == [
        (0, 9, 0, 4), (1, 9, 4, 5), (1, 11, 0, 3), (2, 11, 3, 5), (2, 13, 0, 2), (3, 13, 2, 5),
    ]  # fmt: skip
    places = [piece.run + piece.tile - 8 for piece in shared]
    assert len(set(places)) == len(places)
    assert max(places) < slots_of_workspace(PLAN.problem, PLAN.tiling) == 10


def test_whole_numbers_give_the_product_by_the_definition() -> None:
    found, executed = execute(PLAN, *given(), counted="messages")  # type: ignore[arg-type]
    assert found.tobytes() == right()
    assert executed is not None
    assert executed.dpas == PLAN.dpas_total == 15 * 5 * 2 * 2


@pytest.mark.parametrize(
    ("size", "runs", "choices"),
    [
        ((50, 72, 104), 42, {"tile": (8, 16), "subgroups": (2, 2), "k_step": 16}),
        ((8, 64, 256), 4, {"tile": (8, 64), "subgroups": (1, 1), "k_step": 32}),  # one tile: k in 4 parts
        ((64, 64, 256), 5, {"a": "s8", "c": "s32", "subgroups": (2, 1), "k_step": 64}),
        ((64, 72, 200), 3, {"trans_b": True, "ldb": 208, "lda": 208, "subgroups": (2, 2), "k_step": 32}),
        ((64, 64, 200), 3, {"trans_a": True, "ldb": 72, "subgroups": (1, 2), "k_step": 32}),
        ((64, 64, 256), 5, {"prefetch": "shared", "distance": 2, "subgroups": (2, 2), "k_step": 32, "c": "f16"}),
        (
            (64, 64, 256),
            5,
            {"prefetch": "lines", "registers": 256, "k_step": 64, "activation": "silu", "target": "bmg"},
        ),
        # there are 12 blocks and 8 are added at once: rows of blocks are cut
        (
            (32, 96, 96),
            3,
            {"tile": (32, 48), "subgroups": (1, 1), "k_step": 32, "registers": 256, "bias": "column", "beta": 1},
        ),
        ((64, 96, 160), 4, {"a": "tf32", "k_step": 16, "scale": "both"}),
        # tiles of one matrix and the next in one run; k in parts of a tile of the second matrix
        ((35, 144, 72), 7, {"batch": 3, "bias": "row", "beta": 0.5, "prefetch": "shared", "lda": 96, "k_step": 32}),
        ((8, 64, 256), 3, {"batch": 2, "trans_b": True, "scale": "column", "k_step": 32}),
        ((34, 64, 200), 3, {"batch": 2, "trans_a": True, "lda": 64, "a": "bf16", "c": "bf16", "k_step": 32}),
    ],
)
def test_parts_are_added_in_the_order_of_k(size: tuple[int, int, int], runs: int, choices: dict[str, Any]) -> None:
    """The bits are those of chains of sums for each part, added one after the other (numpy, nothing of the kernel)."""
    plan = plan_gemm(*size, **{**SMALL, **choices}, stream_k=runs)
    inputs = operands(plan)
    assert same_bits(plan.simulate(*inputs), computed_by(plan, *inputs))


@pytest.mark.parametrize(("runs", "idle"), [(64, 22), (84, 0), (100, 16)])
def test_a_launch_may_have_more_workgroups_than_there_is_work(runs: int, idle: int) -> None:
    """A kernel takes its sizes as arguments, so it meets smaller ones than its plan's: 12 tiles of 7 steps."""
    plan = plan_gemm(50, 72, 104, **{**SMALL, "tile": (8, 16), "subgroups": (2, 2)}, stream_k=12)
    more = replace(plan, tiling=replace(plan.tiling, stream_k=runs))
    assert more.emit() == plan.emit()
    inputs = operands(more)
    assert same_bits(more.simulate(*inputs), computed_by(more, *inputs))
    assert runs - len({piece.run for piece in cuts(12, 7, runs)}) == idle


@pytest.mark.parametrize(("tiles", "steps"), list(product((1, 3, 7, 12, 21, 40), (1, 2, 5, 8))))
def test_every_workgroup_has_work_or_fewer_are_asked_for(tiles: int, steps: int) -> None:
    """What is refused names a number of workgroups that is planned, and by the cuts all of them have work."""
    options: dict[str, Any] = {"tile": (8, 32), "k_step": 32, "subgroups": (1, 1), "prefetch": "none"}
    for runs in range(1, 30):
        working = {piece.run for piece in cuts(tiles, steps, runs)}
        try:
            planned = plan_gemm(8, 32 * tiles, 32 * steps, **options, stream_k=runs).tiling.stream_k
        except PlanError as refused:
            found = re.search(r"work for (\d+) workgroups?; stream_k = (\d+) would do$", str(refused))
            assert found is not None
            able, fewer = map(int, found.groups())
            assert able == len(working) < runs
            assert {piece.run for piece in cuts(tiles, steps, fewer)} == set(range(fewer))
        else:
            assert planned == runs == len(working)


def test_the_search_takes_a_tile_that_gives_all_workgroups_work() -> None:
    assert plan_gemm(64, 64, 128, stream_k=32).tiling.stream_k == 32
    with pytest.raises(PlanError, match="stream_k = 2 would do"):  # one tile of two steps
        plan_gemm(64, 64, 128, tile=(64, 32), k_step=64, subgroups=(1, 2), stream_k=40)


BATCH = plan_gemm(19, 80, 72, **SMALL, stream_k=7, batch=2, bias="row", beta=0.5, lda=96)
"""Two matrices of 6 tiles of 5 steps on 7 workgroups: the runs are 9 steps, and the fourth has parts of both matrices."""


def test_the_tiles_of_a_batch_are_one_list() -> None:
    assert (BATCH.grid, tiles_of(BATCH.problem, BATCH.tiling)) == ((7, 1, 1), 12)
    assert counters(BATCH.problem, BATCH.tiling) == 12 * 2
    pieces = cuts(12, 5, 7)
    assert {piece.tile // 6 for piece in pieces if piece.run == 3} == {0, 1}
    assert dict(zip([name for name, _ in BATCH.parameters[6:]], BATCH.arguments, strict=True))["batch"] == 2
    given = small_numbers(BATCH, 3)
    assert BATCH.simulate(*given).tobytes() == by_numpy(BATCH, *given).astype(np.float32).tobytes()


MISTAKES_OF_BATCH: dict[str, tuple[str, str]] = {
    "tiles of one matrix": (r"(%tiles = arith.muli %tiles_of_matrix, )%batch", r"\1%c1_i32"),
    "the matrix is counted by rows of tiles": (r"(%matrix = arith.divui %number, )%tiles_of_matrix", r"\1%tiles_across"),
    "all is the first matrix": (r"(%matrix = arith.divui )%number", r"\1%c0_i32"),
    "the tile is that of the list": (r"(%tile_of_matrix = arith.remui %number, )%tiles_of_matrix", r"\1%tiles"),
    "A is always the first": (r"(%address_a = arith.addi %a, )%\d+", r"\1%c0_i64"),
    "B is as far as A": (r"(arith.muli %\d+, )%stride_b", r"\1%stride_a"),
    "C is always the first": (r"(%address_c = arith.addi %c, )%\d+", r"\1%c0_i64"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES_OF_BATCH)
def test_mistakes_of_a_batch_are_seen(mistake: str) -> None:
    text, (before, behind) = BATCH.emit(), MISTAKES_OF_BATCH[mistake]
    text = text.replace("%c1_i32 = ", "%c0_i64 = arith.constant 0 : i64\n      %c1_i32 = ", 1)
    changed, count = re.subn(before, behind, text, count=1)
    assert count, "the mistake is not in the text"
    given = small_numbers(BATCH, 3)
    try:
        found = BATCH.simulate(*given, text=changed)
    except LayoutError:
        return
    assert found.tobytes() != by_numpy(BATCH, *given).astype(np.float32).tobytes()


def test_the_counters_are_zero_again_and_serve_the_next_launch() -> None:
    memory, counted = Memory(), np.zeros(counters(PLAN.problem, PLAN.tiling), np.int32)
    a, b, c, bias, *_ = given()
    assert a is not None
    assert b is not None
    assert c is not None
    assert bias is not None
    arrays = [a.astype(np.float16), b.astype(np.float16), np.empty((35, 144), np.float32), bias.astype(np.float32)]
    arrays += [np.zeros(PLAN.workspace_bytes // 4, np.float32), counted]
    addresses = [memory.bind(f"array {number}", array) for number, array in enumerate(arrays)]
    for _ in range(2):
        arrays[2][:] = c
        run_kernel(PLAN.emit(), [*addresses, *PLAN.arguments], PLAN.grid, memory)
        assert arrays[2].tobytes() == right()
        assert not counted.any()


MISTAKES: dict[str, tuple[str, str]] = {
    # Which pairs a run has
    "tiles are not rounded up": (r"(%tiles_across = arith.divui )%\d+", r"\1%n"),
    "steps are not rounded up": (r"(%steps = arith.divui )%\d+", r"\1%k"),
    "nobody has a tile alone": (r"(%alone = arith.)maxsi", r"\1minsi"),
    "one tile more alone": (r"(%alone = arith.maxsi %\d+, )%c0_i32", r"\1%tiles"),
    "runs are one too short": (r"(%each = arith.divui )%\d+", r"\1%work"),
    "a run begins with the next one": (r"(%start = arith.minsi )%\d+", r"\1%each"),
    "a run may begin behind the work": (r"(%start = arith.)minsi", r"\1maxsi"),
    "a run may end behind the work": (r"(%stop = arith.)minsi", r"\1maxsi"),
    "the first tile is another": (r"(%first_tile = arith.divui %start, )%steps", r"\1%each"),
    "one tile less": (r"(%tiles_of_run = arith.addi )%alone", r"\1%c0_i32"),
    "whole tiles are those of a neighbour": (r"(arith.muli %place, )%runs", r"\1%c1_i32"),
    "tiles of the run count from the first": (r"(%number = arith.select %in_run, )%\d+", r"\1%tile"),
    "the run begins one tile early": (r"(%in_run = arith.cmpi )sge", r"\1sgt"),
    "every tile is begun anew": (r"(%skipped = arith.select )%in_run, %\d+", r"\1%in_run, %c0_i32"),
    "a whole tile begins where the run does": (r"(%skipped = arith.select %in_run, (%\d+), )%c0_i32", r"\1\2"),
    "steps of another depth": (r"(%begin = arith.muli %skipped, )%c16_i32", r"\1%c32_i32"),
    "a tile ends with k always": (r"(%end = arith.maxsi )%\d+", r"\1%k"),
    "rows of tiles are columns": (r"(arith.)divui( %number, %tiles_across)", r"\1remui\2"),
    # Which tiles are shared, and by whom
    "all are whole": (r"(%whole = arith.cmpi )eq", r"\1ule"),
    "none is whole": (r"(%whole = arith.cmpi )eq", r"\1ugt"),
    "none is shared": (r"(%shared = arith.cmpi )ne", r"\1ugt"),
    "all are shared": (r"(%shared = arith.cmpi )ne", r"\1ule"),
    "the first run is another": (r"(%sharer = arith.divui %behind, )%each", r"\1%steps"),
    "one part more": (r"(%others = arith.subi %\d+, )%sharer", r"\1%c0_i32"),
    "parts of neighbours lie in one place": (r"(arith.addi )%run(, %tile)", r"\1%c0_i32\2"),
    "parts of tiles lie in one place": (r"(arith.addi %run, )%tile", r"\1%c0_i32"),
    "subgroups share places": (r"(%\d+ = arith.addi %\d+, )%subgroup(?=[^\n]*\n[^\n]*index to i64)", r"\1%c0"),
    "tiles share counters": (r"(%\d+ = arith.index_cast )%number( : i32 to index)", r"\1%c0_i32\2"),
    # The sum
    "the first part is left out": (r"(scf.for %part = )%c0", r"\1%c1"),
    "the last part is left out": (r"(%\d+ = arith.addi %\d+, )%c1(?= : index\n[^\n]*scf.for %part)", r"\1%c0"),
    "parts lie closer": (r"(%sums_1 = arith.addi %workspace, )%\d+", r"\1%c4_i64"),
    "the addition orders nothing": (r'syncscope\("device"\) acq_rel', 'syncscope("device") monotonic'),
    "it only acquires": (r'syncscope\("device"\) acq_rel', 'syncscope("device") acquire'),
    "it only releases": (r'syncscope\("device"\) acq_rel', 'syncscope("device") release'),
    "it reaches the workgroup alone": (r'syncscope\("device"\) acq_rel', 'syncscope("workgroup") acq_rel'),
    "everybody is last": (r"(%last_part = arith.cmpi )eq", r"\1ule"),
    "nobody is last": (r"(%last_part = arith.cmpi )eq", r"\1ugt"),
    "the counter is left as it is": (r"\n *llvm.store %c0_i32, %counter_1 [^\n]*", ""),
    "a block is stored for another": (r"(xegpu.store_nd )%tile0x1(, %workspace_tile\[)", r"\1%tile0x0\2"),
    "the column of a block is that of another": (r"(xegpu.store_nd %tile0x1, %workspace_tile\[%c0, )%c16", r"\1%c0"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_seen(mistake: str) -> None:
    before, behind = MISTAKES[mistake]
    changed, count = re.subn(before, behind, PLAN.emit(), count=1)
    assert count, "the mistake is not in the text"
    assert changed != PLAN.emit()
    try:
        found = PLAN.simulate(*given(), text=changed)  # type: ignore[arg-type]
    except LayoutError:
        return
    assert found.tobytes() != right()


REFUSED: tuple[tuple[dict[str, Any], str], ...] = (
    ({"groups": 2}, "groups.*stream_k = 0 would do"),
    ({"gated": "silu"}, "gated pair.*stream_k = 0 would do"),
    ({"split_k": 2}, "split_k = 1 would do"),
    ({"reduction": "kernel"}, "reduction last would do"),
    ({"trans_a": True, "transpose": "slm"}, "transpose registers would do"),
    ({"trans_a": True, "trans_b": True, "transpose": "roles"}, "transpose registers would do"),
    ({"acc": "f16", "c": "f16"}, "accumulators are f16.*stream_k = 0 would do"),
    ({"lda": 65}, "problem.edges says"),
    ({"stream_k": -1}, "expected a number of workgroups"),
    ({"stream_k": 2.5}, "expected a number of workgroups"),
    ({"stream_k": MOST_RUNS + 1}, "expected a number of workgroups"),
)


@pytest.mark.parametrize(("options", "words"), REFUSED)
def test_what_has_no_runs_is_refused_with_what_would_do(options: dict[str, Any], words: str) -> None:
    asked: dict[str, Any] = {"stream_k": 4, **options}
    with pytest.raises(PlanError, match=words):
        plan_gemm(64, 64, 64, **asked)


@pytest.mark.parametrize("level", ["subgroup", "workgroup"])
def test_other_levels_are_refused(level: str) -> None:
    with pytest.raises(PlanError, match="stream_k = 0 has every level"):
        PLAN.emit(level)


def thin_last_wave(**more: Any) -> Gemm:
    """21 tiles of 256x256 on the 20 cores of a B580."""
    return plan_gemm(
        1792,
        768,
        8192,
        target="bmg",
        tile=(32, 64),
        subgroups=(8, 4),
        k_step=64,
        registers=256,
        prefetch="shared",
        **more,
    )


def test_it_is_chosen_where_the_last_wave_is_thin() -> None:
    """A core holds one of these workgroups: 32 subgroups on 8 engines of 4 threads. 21 tiles of 128 steps on 20: 135 steps
    instead of 256."""
    plan, plain = thin_last_wave(), thin_last_wave(stream_k=0)
    assert (plan.tiling.stream_k, plan.k_steps) == (20, 135)
    assert (plain.tiling.stream_k, plain.k_steps) == (0, 128)
    times = [roofline(one.problem, one.tiling, 88) for one in (plan, plain)]
    assert [one.waves for one in times] == [1, 2]
    assert times[0].seconds / times[1].seconds == pytest.approx(135 / 256, rel=0.06)


@pytest.mark.parametrize("size", [(4096, 4096, 4096), (1280, 1024, 8192), (1024, 1024, 512)])
def test_it_is_not_chosen_where_the_plain_grid_or_parts_are_as_good(size: tuple[int, int, int]) -> None:
    for chip in ("bmg", "pvc"):
        assert not search(Problem.of(*size, target=chip)).best.tiling.stream_k


def test_a_grid_that_fills_the_chip_has_no_runs() -> None:
    """20 tiles on 20 cores: nothing to share."""
    choices = Choices((32, 64), (8, 4), 64, 256, "shared")
    assert not search(Problem.of(1280, 1024, 8192, target="bmg"), choices).forms.stream.any()


def test_the_price_by_hand() -> None:
    """Runs of 135 steps in 2 tiles at most: 64 dpas of 16 clocks, 24 other instructions, 4 subgroups of an engine in turn."""
    line = roofline(thin_last_wave().problem, thin_last_wave().tiling, 88)
    clocks = {name: seconds * line.chip.clock_ghz * 1e9 for name, seconds in line.part_seconds.items()}
    assert clocks["instructions"] == pytest.approx(135 * 4 * 24)
    assert clocks["peak"] + clocks["outside"] + clocks["idle"] == pytest.approx(135 * 4 * 64 * 16)
    latency, core = line.chip.l3_latency, line.chip.l3_clock_bytes / line.chip.cores
    # two counts, each a fence and an addition; 16 blocks of 2 parts, 6 blocks at once; 2 parts stored, 2 loaded, C
    assert clocks["reduction"] == pytest.approx((4 + 3 * 2) * latency + (2 + 2 + 1) * 256 * 256 * 4 / core)
