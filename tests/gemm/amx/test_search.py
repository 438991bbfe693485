"""The search: what it offers fits, what a caller fixes stays, the same question has the same answer, losers say why."""

from dataclasses import replace

import numpy as np
import pytest

from layoutalg.core.errors import PlanError
from layoutalg.gemm.amx import plan_amx
from layoutalg.gemm.amx.packing import must_pack_a
from layoutalg.gemm.amx.problem import AmxProblem
from layoutalg.gemm.amx.search import AmxChoices, AmxFound, _search, search_amx
from layoutalg.gemm.amx.strips import cut, registers_of
from layoutalg.gemm.amx.tiling import BLOCKINGS, Blocking
from layoutalg.hardware import amx_chip

SIZES = [(16, 16, 64), (64, 96, 128), (100, 60, 200), (13, 10, 33), (1, 1, 1), (512, 512, 512), (4096, 4096, 4096)]


def test_the_blockings_are_all_that_fit_into_eight_registers() -> None:
    # By hand: accumulators, the tiles of the operand that has fewer, and one that passes
    fitting = {(r, c) for r in range(1, 9) for c in range(1, 9) if r * c + min(r, c) + 1 <= 8}
    assert {(one.rows, one.columns) for one in BLOCKINGS} == fitting
    assert (2, 2) in fitting
    assert (2, 3) not in fitting


def shapes_of(heights: tuple[int, ...], widths: tuple[int, ...]) -> int:
    """Registers that a function needs if each has one shape for good, found by walking a step of the loop.

    Tiles of one shape that are not needed at the same time share a register.
    """
    rows_held = len(heights) <= len(widths)
    held, passing = (heights, widths) if rows_held else (widths, heights)
    alive = {("C", height, width, i, j) for i, height in enumerate(heights) for j, width in enumerate(widths)}
    alive |= {("held", size, i) for i, size in enumerate(held)}
    return len(alive) + len({("passing", size) for size in passing})


@pytest.mark.parametrize("blocking", BLOCKINGS, ids=str)
def test_no_block_at_an_edge_needs_a_ninth_register(blocking: Blocking) -> None:
    rows = {size: cut(size, 1, blocking)[0] for size in range(1, 201)}
    assert len(rows) == 200
    for m in range(1, 201):
        for n in range(1, 201):
            if m > 32 * blocking.rows and n > 32 * blocking.columns and (m % 16, n % 16) not in ((0, 0), (1, 1)):
                continue  # the same rests as at smaller sizes
            down, across = cut(m, n, blocking)
            needed = [shapes_of(row.heights, column.heights) for row in down for column in across]
            assert max(needed) <= 8, f"{m}x{n} in {blocking}"


@pytest.mark.parametrize("blocking", BLOCKINGS, ids=str)
def test_strips_cover_every_row_once_in_blocks_of_whole_tiles(blocking: Blocking) -> None:
    for size in range(1, 201):
        down, across = cut(size, 301 - size, blocking)
        for side, total, tiles in ((down, size, blocking.rows), (across, 301 - size, blocking.columns)):
            covered = 0
            for strip in side:
                assert strip.first == covered
                assert 1 <= len(strip.heights) <= tiles
                assert all(height == 16 for height in strip.heights[:-1])
                assert strip.count == 1 or set(strip.heights) == {16}
                covered += strip.count * sum(strip.heights)
            assert covered == total


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("kind", ["bf16", "u8"])
def test_every_candidate_is_a_tiling_that_fits(sizes: tuple[int, int, int], kind: str) -> None:
    problem = AmxProblem.of(*sizes, kind)
    found = search_amx(problem)
    step = max(1, len(found) // 40)
    for candidate in found[::step]:
        tiling = candidate.tiling
        assert tiling.blocking in BLOCKINGS
        assert tiling.m_block - 16 * tiling.blocking.rows < problem.m
        assert tiling.n_block - 16 * tiling.blocking.columns < problem.n
        assert tiling.k_block == problem.k_padded or tiling.k_block % problem.depth == 0
        assert tiling.pack_a or must_pack_a(problem) is None
        for row in cut(problem.m, problem.n, tiling.blocking)[0]:
            for column in cut(problem.m, problem.n, tiling.blocking)[1]:
                assert registers_of(row.heights, column.heights) <= 8


@pytest.mark.parametrize("sizes", SIZES)
def test_the_same_question_has_the_same_answer(sizes: tuple[int, int, int]) -> None:
    problem = AmxProblem.of(*sizes)
    again = _search.__wrapped__(problem, AmxChoices(), amx_chip("spr"))
    assert again.order.tolist() == search_amx(problem).order.tolist()
    assert search_amx(problem, AmxChoices()) is search_amx(problem)


def test_the_best_is_within_what_the_prediction_can_tell_apart() -> None:
    for sizes in SIZES:
        found = search_amx(AmxProblem.of(*sizes))
        assert found[0].clocks <= 1.11 * found.times.clocks.min()
        assert found[0].reason == ""
        assert found.best == found[0].tiling


def test_two_by_two_is_the_default_where_products_decide() -> None:
    for sizes in ((512, 512, 512), (1024, 1024, 1024), (4096, 4096, 4096)):
        assert str(search_amx(AmxProblem.of(*sizes)).best.blocking) == "2x2"


@pytest.mark.parametrize(
    ("choices", "kept"),
    [
        ({"blocking": (1, 4)}, lambda t: str(t.blocking) == "1x4"),
        ({"blocking": [3, 1]}, lambda t: str(t.blocking) == "3x1"),
        ({"blocks": (192, 192, 128)}, lambda t: (t.m_block, t.n_block, t.k_block) == (192, 192, 128)),
        ({"blocks": (10**6, 64, 10**6)}, lambda t: (t.m_block, t.n_block, t.k_block) == (512, 64, 512)),
        ({"order": "rows"}, lambda t: t.order == "rows"),
        ({"pack_a": False}, lambda t: not t.pack_a),
        ({"blocking": (np.int64(2), np.int64(2)), "pack_a": np.True_, "order": "columns"}, lambda t: t.pack_a),
    ],
)
def test_what_is_chosen_is_kept_by_every_candidate(choices: dict[str, object], kept: object) -> None:
    problem = AmxProblem.of(512, 512, 512)
    found = search_amx(problem, AmxChoices(**choices))  # pyright: ignore[reportArgumentType]
    assert callable(kept)
    tilings = [found.forms.tiling(row) for row in range(len(found))]
    if "blocks" in choices:  # a block as large as C is rounded up to the blocking's tiles
        tilings = [tiling for tiling in tilings if str(tiling.blocking) == "2x2"]
    assert tilings
    assert all(kept(tiling) for tiling in tilings)
    assert plan_amx(512, 512, 512, **choices).tiling in tilings or "blocks" in choices  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"blocking": (2, 3)}, "2x3 tiles takes 9 of 8 tile registers"),
        ({"blocking": (2,)}, "blocking of 1 numbers: expected two"),
        ({"blocking": "2x2"}, "expected a list, got str"),
        ({"blocking": (0, 1)}, "rows of a blocking"),
        ({"blocks": (64, 64)}, "blocks of 2 numbers: expected three"),
        ({"blocks": (40, 64, 64)}, "expected rows in multiples of 16 and columns in multiples of 16, as 32x64"),
        ({"blocks": (48, 64, 64), "blocking": (2, 2)}, "for a blocking of 2x2 tiles: expected rows in multiples of 32"),
        (
            {"blocks": (64, 64, 100)},
            "k_block = 100: expected a multiple of 32, the depth of a tile of bf16, or all of k = 512",
        ),
        ({"blocks": (64, 64, 2.5)}, "k_block"),
        ({"blocks": (64, 64, 0)}, "k_block"),
        ({"blocks": range(10**12)}, "blocks"),
        ({"order": "diagonal"}, "order 'diagonal': expected 'columns' or 'rows'"),
        ({"pack_a": "yes"}, "pack_a = 'yes': expected True or False"),
    ],
)
def test_choices_that_no_plan_has_are_refused_in_words(choices: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError) as raised:
        search_amx(AmxProblem.of(512, 512, 512), AmxChoices(**choices))  # pyright: ignore[reportArgumentType]
    assert words in str(raised.value)


def test_a_that_must_be_packed_cannot_be_left_as_it_lies() -> None:
    with pytest.raises(PlanError, match="pack_a = False: A lies transposed; A must be packed"):
        plan_amx(64, 64, 64, trans_a=True, pack_a=False)
    assert all(candidate.tiling.pack_a for candidate in search_amx(AmxProblem.of(64, 64, 33))[:50])


def test_a_slower_memory_makes_losers_say_so() -> None:
    problem = AmxProblem.of(2048, 2048, 2048, target="gnr")
    found = search_amx(problem, chip=replace(amx_chip("gnr"), load_l3=1000.0))
    assert isinstance(found, AmxFound)
    assert any("MiB come from L3 and beyond, not" in candidate.reason for candidate in found[::200])


def test_every_loser_has_a_reason_with_figures() -> None:
    for sizes in ((4096, 4096, 4096), (100, 60, 200), (64, 4096, 4096)):
        found = search_amx(AmxProblem.of(*sizes))
        for candidate in found[1 :: max(1, len(found) // 60)]:
            assert candidate.reason
        slow = found[-1]
        assert any(letter.isdigit() for letter in slow.reason)
        assert slow.clocks >= 0.9 * max(found.times.clocks)


def test_a_loser_that_is_predicted_to_be_faster_says_so() -> None:
    found = search_amx(AmxProblem.of(100, 60, 200, "s8", c="s8", scale="column", trans_a=True))
    least = found[0].clocks
    faster = [candidate for candidate in found.runners_up(9) if candidate.clocks < 0.99 * least]
    assert faster
    for candidate in faster:
        shown = f"{100 * (1 - candidate.clocks / least):.1f} % faster, which is less than the prediction's error, but "
        assert candidate.reason.startswith(shown)
        assert "tiles are loaded for each product" in candidate.reason


def test_runners_up_have_other_blockings() -> None:
    found = search_amx(AmxProblem.of(1024, 1024, 1024))
    names = [str(one.tiling.blocking) for one in found.runners_up(11)]
    assert len(set(names)) == len(names) == 11
    assert str(found.best.blocking) not in names
    assert len(found.runners_up(0)) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("512",), "problem '512': expected an AmxProblem"),
        ((AmxProblem.of(8, 8, 8), (2, 2)), "expected an AmxChoices"),
        ((AmxProblem.of(8, 8, 8), None, "spr"), "chip 'spr': expected an AmxChip"),
    ],
)
def test_arguments_of_other_types_are_refused(arguments: tuple[object, ...], words: str) -> None:
    with pytest.raises(PlanError) as raised:
        search_amx(*arguments)  # pyright: ignore[reportArgumentType]
    assert words in str(raised.value)
