"""What the costs count, against the emitted loops walked one by one; what they predict, against laws that times keep."""

from dataclasses import replace

import numpy as np
import pytest

from layoutalg.core.errors import PlanError
from layoutalg.gemm.amx import plan_amx
from layoutalg.gemm.amx.costs import AMX_LIMITS, AmxForms, amx_roofline, amx_times
from layoutalg.gemm.amx.problem import AmxProblem
from layoutalg.gemm.amx.tiling import BLOCKINGS, AmxTiling, Blocking
from layoutalg.hardware import amx_chip

from .caches import Cache, walk_loops

CHIP = amx_chip("gnr")


@pytest.mark.parametrize(
    ("sizes", "kind", "blocking", "blocks"),
    [
        ((64, 96, 128), "bf16", (2, 2), (32, 64, 64)),
        ((100, 60, 200), "bf16", (2, 2), (64, 32, 64)),
        ((33, 95, 70), "bf16", (1, 4), (16, 64, 64)),
        ((95, 33, 70), "s8", (3, 1), (48, 32, 64)),
        ((13, 10, 33), "u8", (2, 2), (32, 32, 64)),
        ((1, 1, 1), "bf16", (1, 6), (16, 96, 32)),
        ((80, 112, 260), "s8", (1, 6), (16, 96, 128)),
        ((40, 92, 64), "bf16", (1, 6), (16, 96, 64)),
    ],
)
def test_bytes_and_products_are_those_of_the_loops(
    sizes: tuple[int, int, int], kind: str, blocking: tuple[int, int], blocks: tuple[int, int, int]
) -> None:
    plan = plan_amx(*sizes, kind, blocking=blocking, blocks=blocks, pack_a=True, target="gnr")
    # 92 columns are five whole tiles and one of 12: in one block of 1x6 they would need nine registers, counted by shape
    tiles = list(walk_loops(plan, columns_joined=sizes[1] != 92))
    loaded = sum(tile.rows * tile.row_bytes for tile in tiles if tile.matrix != "C")
    line = amx_roofline(plan.problem, plan.tiling)
    assert line.l1_bytes == loaded
    moved = sum(tile.rows * tile.row_bytes for tile in tiles if tile.matrix == "C")
    levels = amx_times(plan.problem, AmxForms.of([plan.tiling])).levels["C"]
    assert sum(float(part[0]) for part in levels.values()) == moved
    in_registers = {(tile.matrix, tile.start) for tile in tiles if tile.matrix != "C"}
    tiles_a, tiles_b = (len([one for one in in_registers if one[0] == name]) for name in "AB")
    steps = -(-plan.problem.k_padded // plan.problem.depth)
    assert line.products == tiles_a * tiles_b // steps


# Caches are small here, so that walking is quick. The sizes keep away from where a cache begins to lose lines: there the costs
# go from one level to the next in a straight line, and LRU jumps.
WALKED = [
    # m, n, k, m_block, n_block, k_block, order, L1 KiB, L2 KiB
    (128, 128, 256, 128, 128, 256, "columns", 48, 1024),  # panel and strip stay in L1; all in L2
    (128, 128, 256, 128, 128, 256, "rows", 48, 1024),
    (128, 128, 256, 128, 128, 256, "columns", 16, 1024),  # they don't
    (256, 64, 256, 256, 64, 64, "columns", 16, 1024),  # k is cut, and they do
    (128, 256, 256, 64, 64, 256, "columns", 44, 2048),
    (128, 128, 256, 128, 128, 256, "columns", 12, 20),  # the block of A doesn't stay in L2
    (128, 256, 256, 32, 256, 256, "columns", 12, 100),  # the block of A stays, the next passes
    (256, 128, 256, 256, 32, 256, "rows", 12, 100),
]


@pytest.mark.parametrize(("m", "n", "k", "m_block", "n_block", "k_block", "order", "l1", "l2"), WALKED)
def test_levels_are_those_of_caches_that_drop_what_was_used_longest_ago(
    m: int, n: int, k: int, m_block: int, n_block: int, k_block: int, order: str, l1: int, l2: int
) -> None:
    plan = plan_amx(m, n, k, blocking=(2, 2), blocks=(m_block, n_block, k_block), order=order, pack_a=True)
    first, second = Cache(l1 * 1024), Cache(l2 * 1024)
    for tile in walk_loops(plan):
        for line in tile.lines():
            if first.use(tile.matrix, line):
                second.use(tile.matrix, line)
    chip = replace(CHIP, l1_bytes=l1 * 1024, l2_bytes=l2 * 1024)
    levels = amx_times(plan.problem, AmxForms.of([plan.tiling]), chip).levels
    whole = (m * k + k * n) * 2 + m * n * 4
    for matrix in "AB":
        counted = {name: float(part[0]) for name, part in levels[matrix].items()}
        beyond_l1 = counted["L2"] + counted["L3"] + counted["memory"]
        assert beyond_l1 == pytest.approx(first.fetched[matrix], rel=0.15), f"{matrix} from L2"
        if whole > 1.5 * l2 * 1024:
            assert counted["L3"] + counted["memory"] == pytest.approx(second.fetched[matrix], rel=0.15), (
                f"{matrix} from L3"
            )


def test_rows_that_share_the_sets_of_a_cache_take_more_of_its_room() -> None:
    tiling = AmxTiling(Blocking(2, 2), 256, 256, 512)
    apart = [AmxProblem.of(256, 1024, 512, lda=lda) for lda in (2080, 2048)]
    even, crowded = (amx_times(problem, AmxForms.of([tiling])) for problem in apart)
    assert crowded.levels["A"]["L1"][0] <= even.levels["A"]["L1"][0]
    assert crowded.clocks[0] >= even.clocks[0]
    # 256 rows of 1 KiB, 8 KiB apart: 16 different beginnings in 128 KiB, so an eighth of L2's sets hold them
    far = amx_times(AmxProblem.of(256, 1024, 512, lda=4096), AmxForms.of([tiling]))
    assert far.clocks[0] > even.clocks[0]


def test_the_parts_are_the_whole_and_no_part_is_negative() -> None:
    random = np.random.default_rng(0)
    for _ in range(60):
        m, n, k = (int(size) for size in random.integers(1, 3000, 3))
        problem = AmxProblem.of(m, n, k, "s8" if random.random() < 0.3 else "bf16")
        blocking = BLOCKINGS[random.integers(len(BLOCKINGS))]
        tiling = AmxTiling(
            blocking, 16 * blocking.rows * int(random.integers(1, 40)), 16 * blocking.columns * int(random.integers(1, 40)),
            problem.depth * int(random.integers(1, 40)), ("rows", "columns")[random.integers(2)], bool(random.integers(2)),
        )  # fmt: skip
        found = amx_times(problem, AmxForms.of([tiling]))
        parts = {"products", "L1 and L2", "L3 and memory", "C", "calls", "packing", "epilogue"}
        assert set(found.parts) == parts
        assert set(found.limits) == set(AMX_LIMITS)
        assert min(float(part[0]) for part in found.parts.values()) >= -1e-6
        assert sum(float(part[0]) for part in found.parts.values()) == pytest.approx(float(found.clocks[0]))
        assert amx_roofline(problem, tiling).part_of_peak <= 1
        each = [float(found.bytes_from(level)[0]) for level in AMX_LIMITS[2:]]
        assert each == sorted(each, reverse=True)


def test_many_tilings_at_once_cost_what_each_costs_alone() -> None:
    problem = AmxProblem.of(500, 300, 700)
    tilings = [
        AmxTiling(blocking, 96 * blocking.rows, 96 * blocking.columns, k, order, packed)
        for blocking in BLOCKINGS
        for k in (64, 256, 700)
        for order in ("rows", "columns")
        for packed in (False, True)
    ]
    together = amx_times(problem, AmxForms.of(tilings)).clocks
    alone = [float(amx_times(problem, AmxForms.of([tiling])).clocks[0]) for tiling in tilings]
    assert together.tolist() == pytest.approx(alone)


def test_more_cores_take_less_time_until_memory_is_the_limit() -> None:
    problem = AmxProblem.of(4096, 4096, 4096, target="gnr")
    tiling = AmxTiling(Blocking(2, 2), 256, 256, 1024, "columns", True)
    lines = [amx_roofline(problem, tiling, cores=cores) for cores in (2, 4, 16, 64, 128)]
    assert [line.seconds for line in lines] == sorted((line.seconds for line in lines), reverse=True)
    assert all(line.seconds >= line.limit_seconds["memory"] for line in lines)
    assert all(line.seconds >= line.flops / line.peak for line in lines)


def test_operations_per_byte_decide_which_roof_holds() -> None:
    # By hand: 2 * 4096^3 operations over 2 * 32 MiB of A and B and 64 MiB of C are 1024 a byte; 128 cores with 262 TFLOP/s and
    # 844.8 GB/s have their ridge at 310.
    line = amx_roofline(
        AmxProblem.of(4096, 4096, 4096, target="gnr"),
        AmxTiling(Blocking(2, 2), 256, 256, 1024, "columns", True),
        cores=128,
    )
    assert line.intensity == 1024
    assert line.ridge == pytest.approx(128 * 1024 * 2.0 / 844.8)
    thin = amx_roofline(
        AmxProblem.of(64, 4096, 4096, target="gnr"), AmxTiling(Blocking(2, 2), 64, 64, 4096, "columns", True), cores=64
    )
    assert thin.intensity < thin.ridge


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((None, None), "problem None: expected an AmxProblem"),
        ((AmxProblem.of(8, 8, 8), "2x2"), "tiling '2x2': expected an AmxTiling"),
        ((AmxProblem.of(8, 8, 8), AmxTiling(Blocking(1, 1), 16, 16, 8), "gnr"), "chip 'gnr': expected an AmxChip"),
        ((AmxProblem.of(8, 8, 8), AmxTiling(Blocking(1, 1), 16, 16, 8), None, 0), "cores = 0"),
        ((AmxProblem.of(8, 8, 8), AmxTiling(Blocking(1, 1), 16, 16, 8), None, 1.5), "cores = 1.5"),
    ],
)
def test_wrong_arguments_are_refused_in_words(arguments: tuple[object, ...], words: str) -> None:
    with pytest.raises(PlanError, match=words.replace("(", r"\(")):
        amx_roofline(*arguments)  # pyright: ignore[reportArgumentType]


def test_forms_and_levels_of_other_kinds_are_refused_in_words() -> None:
    with pytest.raises(PlanError, match="tiling '2x2': expected an AmxTiling"):
        AmxForms.of(["2x2"])  # pyright: ignore[reportArgumentType]
    found = amx_times(AmxProblem.of(8, 8, 8), AmxForms.of([AmxTiling(Blocking(1, 1), 16, 16, 8)]))
    with pytest.raises(PlanError, match="level 'L4': expected 'L1', 'L2', 'L3' or 'memory'"):
        found.bytes_from("L4")


def test_an_aligned_a_crosses_no_lines_where_its_rows_are_multiples_of_64_bytes() -> None:
    """By hand, 64x64x64 in bf16 with 2x2 tiles: 4 blocks of 2 steps, 2 tiles of A and 2 of B beside 64 clocks of products.

    A tile comes from L2 (22 clocks) the first time, from L1 (8) the second: both operands from L2 are 88 clocks, one of them
    60, none 32, in 1, 2 and 1 of 4 steps. So 24 clocks are seen in a fourth of the steps; with 37 more for each tile of A, 74
    in a step, 70 are seen on average.
    """
    tiling = AmxTiling(Blocking(2, 2), 64, 64, 64)
    crossed, aligned, narrow = (
        amx_times(AmxProblem.of(64, 64, 64, **given), AmxForms.of([tiling])).parts["L1 and L2"][0]
        for given in ({}, {"aligned": True}, {"aligned": True, "lda": 72})
    )
    assert (crossed, aligned, narrow) == (8 * 70, 8 * 24 / 4, 8 * 70)
