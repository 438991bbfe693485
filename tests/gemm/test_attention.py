"""Attention: what is planned, what is refused, and kernels that compute what is stated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg.core.errors import PlanError, SizeError
from layoutalg.gemm.attention import Attention, AttentionProblem, Steps, plan_attention
from layoutalg.gemm.attention.numerics import exact, model
from layoutalg.gemm.attention.run import execute
from layoutalg.gemm.attention.steps import keys_of_step, rows_of_subgroup, steps_of, stretches, visible
from tests.gemm.attention_runs import defined, random_arrays, same_bits

TOLERANCE = {"f32": 3e-3, "f16": 3e-3, "bf16": 3e-2}


def run_and_compare(plan: Attention, spread: float = 1.0) -> None:
    """The kernel gives the model's bits, and both are near the exact result (P has 11 or 8 bits)."""
    q, k, v = random_arrays(plan, spread=spread)
    found = plan.simulate(q, k, v)
    assert same_bits(found, model(plan, q, k, v))
    tolerance = TOLERANCE["bf16" if plan.problem.type == "bf16" else plan.problem.out] * spread
    assert np.abs(found.astype(np.float64) - defined(plan.problem, q, k, v)).max() < tolerance


# The shapes; the other half of the combinations is exhaustive.


@pytest.mark.parametrize(
    "case",
    [
        {"keys": 256, "d": 64, "type": "f16", "causal": False},
        {"keys": 1000, "d": 64, "type": "bf16", "causal": True},
        {"keys": 256, "d": 128, "type": "bf16", "causal": False},
        {"keys": 1000, "d": 128, "type": "f16", "causal": True},
    ],
    ids=str,
)
def test_kernels_give_the_models_bits(case: dict[str, Any]) -> None:
    run_and_compare(plan_attention(min(case["keys"], 256), **case))


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["bmg", "pvc"])
@pytest.mark.parametrize("llvm", [23, 24])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("out", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize("keys", [256, 1000])
@pytest.mark.parametrize("d", [64, 128])
def test_all_kernels_give_the_models_bits(
    d: int, keys: int, element: str, out: str, causal: bool, llvm: int, target: str
) -> None:
    run_and_compare(plan_attention(keys, keys, d, element, out, target, causal=causal, llvm=llvm))


@pytest.mark.parametrize(
    ("queries", "keys", "more"),
    [
        (1, 1, {}),
        (1, 1000, {"causal": True}),
        (100, 1, {"causal": True}),  # all queries but the last see nothing
        (33, 65, {"d": 40}),
        (17, 31, {"d": 72, "out": "f16", "causal": True}),
        (100, 61, {"heads": 4, "kv_heads": 2, "batch": 2, "d": 96, "type": "bf16", "out": "bf16", "causal": True}),
        (20, 200, {"d": 256, "causal": True, "scale": 0.5}),
        (64, 96, {"heads": 3, "subgroups": 2, "causal": True}),
        (24, 100, {"heads": 2, "kv_heads": 1, "order": "bshd", "batch": 2, "causal": True}),
        (9, 70, {"heads": 3, "order": "bshd", "d": 96, "ldq": 320, "ldk": 512, "ldv": 304, "ldo": 304, "type": "bf16"}),
        (24, 40, {"d": 40, "ldq": 48, "ldk": 56, "ldv": 64, "ldo": 44}),
        (8, 40, {"heads": 2, "ldv": 80, "out": "f16"}),
        (70, 191, {"causal": True, "window": 33, "heads": 2, "kv_heads": 1}),
        (40, 140, {"causal": True, "window": 100, "order": "bshd", "d": 128, "type": "bf16"}),
        (61, 33, {"causal": True, "window": 1, "d": 32}),
        (24, 300, {"causal": True, "window": 7, "d": 144, "out": "f16"}),
    ],
    ids=str,
)
def test_sizes_of_any_kind_give_the_models_bits(queries: int, keys: int, more: dict[str, Any]) -> None:
    run_and_compare(plan_attention(queries, keys, **more))


def test_exact_is_the_definition() -> None:
    for causal, heads in ((False, 1), (True, 1), (True, 4)):
        plan = plan_attention(30, 20, 64, heads=heads, kv_heads=1, causal=causal, target="bmg")
        arrays = random_arrays(plan)
        assert np.allclose(exact(plan, *arrays), defined(plan.problem, *arrays), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("array", "value", "more"),
    [
        (0, np.nan, {}),
        *((one, value, {"causal": True, "window": 20}) for one, value in ((0, np.nan), (1, np.nan), (1, np.inf))),
    ],
)
def test_a_nan_is_not_hidden(array: int, value: float, more: dict[str, Any]) -> None:
    """A number of O is NaN where the definition makes it NaN, as is a score of infinity; all others are as they were."""
    plan = plan_attention(20, 100, **more)
    arrays = random_arrays(plan)
    arrays[array][(3, 85)[array], 5] = value
    found = plan.simulate(*arrays)
    assert same_bits(found, model(plan, *arrays))
    with np.errstate(invalid="ignore"):
        lost = np.isnan(defined(plan.problem, *arrays))
    assert lost.any()
    assert (np.isnan(found) == lost).all()


def test_large_scores_do_not_overflow() -> None:
    run_and_compare(plan_attention(32, 100, 64, target="bmg"), spread=30.0)


@pytest.mark.parametrize("first", [-3e4, -1e2, 1e2])
def test_scores_that_rise_at_every_step_or_begin_far_below(first: float) -> None:
    """The first 16 keys have one score, the others rise by 20 a step: every step gives every row another maximum."""
    plan = plan_attention(16, 300, 64, causal=True, scale=1.0, target="bmg")
    q, k = np.zeros((16, 64), np.float16), np.zeros((300, 64), np.float16)
    q[:, 0] = 1
    k[:, 0] = np.arange(300) // 32 * 20.0
    k[:16, 0] = first
    v = random_arrays(plan)[2]
    found = plan.simulate(q, k, v)
    assert same_bits(found, model(plan, q, k, v))
    assert np.abs(found - defined(plan.problem, q, k, v)).max() < 3e-3


def test_first_keys_with_scores_of_minus_infinity() -> None:
    plan = plan_attention(16, 100, 64, target="bmg")
    q, k, v = np.ones((16, 64), np.float16), -np.ones((100, 64), np.float16), random_arrays(plan)[2]
    k[:40] = -np.inf
    found = plan.simulate(q, k, v)
    assert same_bits(found, model(plan, q, k, v))
    assert np.abs(found - v[40:].astype(np.float64).mean(0)).max() < 3e-3


def test_keys_that_do_not_exist_never_count() -> None:
    """With scores far below 0 for every key, a key of zeros beyond the end would win."""
    plan = plan_attention(16, 40, 64, scale=1.0, target="bmg")
    q, k = np.ones((16, 64), np.float16), -np.ones((40, 64), np.float16)
    v = np.ones((40, 64), np.float16)
    assert (plan.simulate(q, k, v) == 1).all()


def test_a_query_that_sees_no_key_gives_zero() -> None:
    plan = plan_attention(20, 3, 64, causal=True, target="bmg")
    q, k, v = random_arrays(plan)
    found = plan.simulate(q, k, v)
    assert (found[:17] == 0).all()
    assert (found[17] == v[0]).all()


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(60))
def test_random_problems_give_the_models_bits_and_the_planned_counts(seed: int) -> None:
    random = np.random.default_rng(seed)
    kv_heads, group = map(int, random.integers(1, 4, 2))
    queries, keys = map(int, random.integers(1, 260, 2))
    plan = plan_attention(
        queries,
        keys,
        32 * int(random.integers(1, 9)),
        str(random.choice(["f16", "bf16"])),
        str(random.choice(["f32", "f16", "bf16"])),
        heads=kv_heads * group,
        kv_heads=kv_heads,
        batch=int(random.integers(1, 3)),
        causal=(causal := bool(random.integers(2))),
        window=int(random.integers(1, 200)) if causal and random.integers(2) else None,
        order=str(random.choice(["bhsd", "bshd"])),
        subgroups=int(random.integers(1, 17)),
        prefetch=str(random.choice(["none", "shared"])),
        target="bmg",
    )
    arrays = random_arrays(plan, seed)
    found, executed = execute(plan, *arrays, counted="messages")
    assert same_bits(found, model(plan, *arrays))
    assert executed is not None
    loaded = executed.total("load")
    assert (executed.dpas, loaded.messages, loaded.bytes) == (plan.dpas_total, plan.messages_total, plan.bytes_total)
    assert executed.total("prefetch").messages == plan.prefetches_total


# Plans


def test_the_layout_of_scores_is_that_of_weights_so_nothing_moves() -> None:
    for element in ("f16", "bf16"):
        for d in (64, 128, 192):
            plan = plan_attention(64, 64, d, element, target="bmg")
            scores, weights = plan.layouts["S"], plan.layouts["P"]
            assert scores == weights
            assert la.same(scores, weights)
            assert plan.exchange.shuffles == plan.exchange.moves == 0


def test_messages_deliver_what_dpas_takes() -> None:
    plan = plan_attention(64, 64, 64, target="bmg")
    unit, loads = plan.dpas, plan.loads
    assert loads["K"].layout == unit.b.permute((1, 0))
    for row in (0, 16):
        for column in (0, 16):  # the cut of 16 registers that the kernel makes
            part = loads["V"].layout.fragment_map()[0, :, row + 2 * column :][:, :16]
            assert (part - [row, column] == unit.b.fragment_map()[0]).all()
    assert plan.store.layout == unit.c


def brute_force(problem: AttentionProblem, rows: int, row: int) -> tuple[list[int], set[int]]:
    """The keys that every query of a subgroup sees, and those that some query sees, one by one."""
    shift = problem.keys - problem.queries
    sees = [
        [not problem.causal or key <= query + shift for query in range(row, row + rows)] for key in range(problem.keys)
    ]
    return [key for key, who in enumerate(sees) if all(who)], {key for key, who in enumerate(sees) if any(who)}


@pytest.mark.parametrize("d", [64, 256])
@pytest.mark.parametrize("window", [1, 7, 64, 100, 333])
@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (70, 200), (200, 70), (256, 256)])
def test_steps_with_a_window_cover_every_visible_key_once_and_mask_the_others(
    queries: int, keys: int, window: int, d: int
) -> None:
    problem, shift = AttentionProblem.of(queries, keys, d, causal=True, window=window), keys - queries
    rows, each = rows_of_subgroup(d), keys_of_step(d)
    for row in range(0, queries, rows):
        found = stretches(problem, rows, row)
        seen = [
            {key for key in range(keys) if query + shift - window < key <= query + shift}
            for query in range(row, min(row + rows, queries))
        ]
        free = set(range(found.inner, found.full))
        masked = [*range(found.begin, found.inner), *range(found.full, found.end)]
        assert all(free <= keys_of_row for keys_of_row in seen)
        assert set[int]().union(*seen) <= free | set(masked)
        assert len(free) % each == (found.inner - found.begin) % 32 == 0
        assert steps_of(problem, rows, row) == Steps(
            sum(-(-len(part) // 32) for part in (range(found.begin, found.inner), range(found.full, found.end))),
            len(free) // each,
        )


@pytest.mark.parametrize(
    ("queries", "keys", "window"),
    [
        (1000, 1000, 100),
        (300, 1000, 17),
        (1000, 300, 33),
        (999, 999, 1),
        (64, 64, 4096),
        (777, 900, 64),
        (5000, 5000, 1024),
    ],
)
@pytest.mark.parametrize("d", [64, 256])
def test_the_total_with_a_window_is_the_sum_over_subgroups(queries: int, keys: int, window: int, d: int) -> None:
    plan = plan_attention(queries, keys, d, causal=True, window=window, target="bmg")
    total = Steps(0, 0)
    for place in range(plan.grid[0] * plan.subgroups):
        total += plan.steps_of(place * plan.rows)
    assert plan.steps_total == total


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (64, 64), (70, 200), (200, 70), (256, 256), (33, 1)])
def test_steps_cover_every_visible_key_and_mask_the_others(queries: int, keys: int, causal: bool) -> None:
    problem = AttentionProblem.of(queries, keys, 64, causal=causal)
    for row in range(0, queries + 32, 16):
        full, end = visible(problem, 16, row)
        by_all, by_some = brute_force(problem, 16, row)
        assert by_all[:full] == list(range(full))
        assert full % 64 == 0
        assert by_some <= set(range(end))
        assert steps_of(problem, 16, row).masked == len(range(full, end, 32))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("d", [64, 256])
@pytest.mark.parametrize(
    ("queries", "keys"), [(1, 1), (64, 64), (1000, 200), (200, 1000), (999, 999), (5, 300), (333, 331), (90, 40)]
)
def test_the_total_is_the_sum_over_subgroups(queries: int, keys: int, d: int, causal: bool) -> None:
    plan = plan_attention(queries, keys, d, causal=causal, heads=3, kv_heads=1, target="bmg")
    total = Steps(0, 0)
    for place in range(plan.grid[0] * plan.subgroups):
        total += plan.steps_of(place * plan.rows)
    assert plan.steps_total == total * 3


@pytest.mark.parametrize(
    ("queries", "keys", "more"),
    [
        (256, 256, {}),
        (100, 333, {"causal": True, "heads": 2, "d": 72 + 24, "out": "f16"}),
        (90, 40, {"causal": True, "d": 40, "type": "bf16"}),
        (30, 130, {"d": 200}),
    ],
    ids=str,
)
def test_planned_counts_are_those_of_the_executed_kernel(queries: int, keys: int, more: dict[str, Any]) -> None:
    plan = plan_attention(queries, keys, **more)
    executed = execute(plan, *random_arrays(plan), counted="messages")[1]
    assert executed is not None
    loaded, stored = executed.total("load"), executed.total("store")
    assert (executed.dpas, loaded.messages, loaded.bytes) == (plan.dpas_total, plan.messages_total, plan.bytes_total)
    blocks = plan.grid[0] * plan.subgroups * plan.row_blocks * plan.depth_blocks * plan.grid[2]
    assert stored.messages == blocks
    assert executed.total("prefetch").messages == plan.prefetches_total


def test_with_a_causal_mask_no_prefetch_is_wasted_or_late() -> None:
    plan = plan_attention(200, 300, 64, causal=True, target="bmg")
    executed = execute(plan, *random_arrays(plan), counted="lines")[1]
    assert executed is not None
    assert executed.lines is not None
    lines = executed.lines
    assert len(lines.asked_twice) == len(lines.late) == len(lines.never_loaded) == 0
    # Two workgroups of 128 queries: the first query of each sees 101 and 229 keys, which are 1 and 3 steps of 64 keys.
    assert (lines.asked == 1).sum() == 2 * (1 + 3) * 64 * 64 * 2 // 64


@pytest.mark.parametrize(("d", "element"), [(64, "f16"), (128, "bf16"), (32, "f16"), (96, "f16")])
def test_a_prefetched_line_is_asked_for_once_and_in_time(d: int, element: str) -> None:
    plan = plan_attention(64, 300, d, element, prefetch="shared", target="bmg")
    executed = execute(plan, *random_arrays(plan), counted="lines")[1]
    assert executed is not None
    assert executed.lines is not None
    lines = executed.lines
    assert len(lines.asked_twice) == len(lines.late) == len(lines.never_loaded) == 0
    # All of K and V but the keys behind the last whole step, in each workgroup.
    assert (lines.asked == 1).sum() == 2 * (300 // plan.keys_per_step * plan.keys_per_step) * d * 2 // 64 * plan.grid[0]


def test_planning_does_not_depend_on_the_size() -> None:
    large = plan_attention(2**24, 2**24, 128, causal=True, subgroups=8, target="bmg")
    assert large.steps_total.seen > 10**10
    with pytest.raises(SizeError, match="dpas instructions; at most"):
        large.simulate([], [], [])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"queries": 0}, "queries = 0: a size is an integer from 1 to 16777216"),
        ({"keys": -1}, "keys = -1: a size"),
        ({"keys": 10**9}, "keys = 1000000000: a size"),
        ({"queries": 1.5}, "queries = 1.5: a size"),
        ({"d": 30}, "heads of 32 to 256 in steps of 8; a 2D block message needs rows of 64 bytes"),
        ({"d": 68}, "zeros up to 72 fit"),
        ({"d": 512}, "more than 256 do not fit 256 registers"),
        ({"d": "64"}, "d = '64': a size"),
        ({"type": "f32"}, "type 'f32': expected 'f16' or 'bf16'"),
        ({"type": 16}, "type 16: expected"),
        ({"out": "s8"}, "out 's8': expected 'f32', 'f16' or 'bf16'"),
        ({"target": "dg2"}, "target 'dg2' has no 2D block messages"),
        ({"target": "gfx942"}, "target 'gfx942' has no DPAS"),
        ({"target": None}, "target None"),
        ({"heads": 6, "kv_heads": 4}, "kv_heads of 1, 2, 3, 6 would fit"),
        ({"heads": 0}, "heads = 0: a size"),
        ({"heads": 1000, "batch": 1000}, "at most 65535 heads in all"),
        ({"heads": 2, "d": 40, "queries": 3}, "does not begin at a multiple of 64 bytes"),
        ({"order": "sbhd"}, "order 'sbhd': expected 'bhsd' or 'bshd'"),
        (
            {"heads": 2, "d": 40, "order": "bshd"},
            "a head of 80 bytes in a row, so the next one does not begin at a multiple of 64",
        ),
        ({"window": 64}, "a window is planned with a causal mask; causal = True would fit"),
        ({"window": 0, "causal": True}, "window = 0: a size is an integer from 1"),
        ({"ldq": 48}, "a row has 64 elements, so the leading dimension is 64 at least"),
        ({"ldk": 68}, "its rows are 136 bytes apart, which is not a multiple of 16 bytes"),
        ({"ldo": 2**23}, "more than the 16777216 bytes that a 2D block message reaches"),
        ({"batch": 2, "order": "bshd", "ldv": 72, "keys": 3}, "a batch of 432 bytes"),
        ({"causal": "yes"}, "causal = 'yes': expected True or False"),
        ({"scale": 0}, "scale = 0: expected a finite number above 0"),
        ({"scale": float("nan")}, "expected a finite number above 0"),
        ({"scale": 1e300}, "expected 2^-100 to 2^100"),
        ({"subgroups": 0}, "subgroups = 0: expected a whole number from 1 to 32"),
        ({"prefetch": "lines"}, "prefetch 'lines': expected 'none' or 'shared'"),
        ({"llvm": 22}, "LLVM 22 does not lower loads of more than 16 elements"),
        ({"llvm": "x"}, "llvm = 'x': attention is planned for LLVM 23 and 24"),
        ({"llvm": 25}, "llvm = 25: attention is planned for LLVM 23 and 24"),
        ({"llvm": None}, "llvm = None: attention is planned for LLVM 23 and 24"),
    ],
    ids=str,
)
def test_what_cannot_be_planned_is_refused_in_words(arguments: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"queries": 64, "keys": 64, **arguments}
    with pytest.raises(PlanError) as refused:
        plan_attention(**given)
    assert words in str(refused.value)


def test_levels_and_arrays_that_do_not_fit_are_refused_in_words() -> None:
    plan = plan_attention(8, 8, 64, target="bmg")
    ones = np.ones((8, 64))
    with pytest.raises(PlanError, match="level 'workgroup': attention is planned for the level 'lane'"):
        plan.emit("workgroup")
    for arrays, words in (
        ((ones[:7], ones, ones), "Q is planned as 8x64, and the array is 7x64"),
        ((ones, ones[0], ones), "K is planned as 8x64, and the array is 64"),
        ((ones, ones, 1e9 * ones), "V has the value 1000000000.0, which f16 cannot hold"),
        ((ones, ones, ones.astype(complex)), "V is an array of complex128; numbers are needed"),
        ((None, ones, ones), "Q is planned as 8x64, and the array is a scalar"),
    ):
        with pytest.raises(PlanError, match=words):
            plan.simulate(*arrays)  # pyright: ignore[reportArgumentType]
