"""Every form of kernel that is planned, small enough to be run a hundred times, with inputs at which every line counts.

A form has a text and runs: each takes a text, runs it on arrays, and says whether the result has the bits that the stated
arithmetic gives (`numerics`: numpy, nothing of the kernel). The first run decides about most mistakes; what survives it is run
on other sizes, other lengths or other values too. Sizes of one run all differ, so that one in the place of another shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import layoutalg as la
from layoutalg.core.errors import LayoutError, ParseError
from layoutalg.gemm import numerics as of_products
from layoutalg.gemm.amx import numerics as of_amx
from layoutalg.gemm.attention import numerics as of_attention
from layoutalg.gemm.attention.decode import numerics as of_decode
from layoutalg.gemm.weights import numerics as of_weights
from tests.gemm import decode_runs
from tests.gemm.amx.mutating import mutants as mistakes_of_amx
from tests.gemm.attention_runs import random_arrays
from tests.gemm.mutating import Mutant, mutants
from tests.gemm.random_operands import operands, same_bits
from tests.gemm.test_grouped import random_inputs
from tests.gemm.test_split_k import by_numpy, small_numbers
from tests.gemm.test_weights import others, random_weights

Array = NDArray[Any]
Run = Callable[[str], bool]


@dataclass(frozen=True)
class Form:
    """A kernel's text, and what says whether a text computes the right result: one run after the other.

    `mistakes` are those made in its operations, so many at most, where there is something that makes them.
    """

    text: str
    runs: tuple[Run, ...]
    mistakes: Callable[[str, int], list[Mutant]] | None = None

    def verdict(self, text: str) -> str:
        """What becomes of a text: `unread`, `refused`, `wrong`, or `right` where all runs have the right result."""
        for run in self.runs:
            try:
                if not run(text):
                    return "wrong"
            except ParseError:
                return "unread"
            except LayoutError:
                return "refused"
        return "right"


def product(
    *sizes: tuple[int, int, int], starts: Sequence[Sequence[int]] = (), infinite: bool = False, **options: Any
) -> Form:
    """A product, run at several sizes, which have one kernel; with groups at several distributions.

    In an `infinite` run at the end B is infinite: what stands in the place of zeros behind k is not to be one of its elements.
    """
    plans = [la.plan_gemm(*size, **options) for size in sizes]
    runs: list[Run] = []
    for plan in plans:
        assert plan.emit() == plans[0].emit(), "a kernel of its own"
        given = operands(plan) if not starts else random_inputs(plan.problem, np.random.default_rng(0))
        for where in starts or (None,):
            more: dict[str, Any] = {} if where is None else {"starts": where}
            wanted = of_products.computed(plan.problem, *given, starts=where)
            runs.append(
                lambda text, plan=plan, given=given, more=more, wanted=wanted: same_bits(
                    plan.simulate(*given, **more, text=text), wanted
                )
            )
    if infinite:
        a, b, *more = operands(plans[0])
        ones, full = np.ones_like(a), np.full_like(b, np.inf)
        every = of_products.computed(plans[0].problem, ones, full, *more)
        runs.append(lambda text: same_bits(plans[0].simulate(ones, full, *more, text=text), every))
    return Form(plans[0].emit(), tuple(runs), mutants)


def in_parts(*sizes: tuple[int, int, int], **options: Any) -> Form:
    """A product whose k is in parts, of whole numbers, so that no order of the sums hides a mistake."""
    plans = [la.plan_gemm(*size, **options) for size in sizes]
    runs: list[Run] = []
    for seed, plan in enumerate(plans):
        assert plan.emit() == plans[0].emit(), "a kernel of its own"
        given = small_numbers(plan, seed)
        wanted = by_numpy(plan, *given).astype(np.float32)
        runs.append(
            lambda text, plan=plan, given=given, wanted=wanted: same_bits(plan.simulate(*given, text=text), wanted)
        )
    return Form(plans[0].emit(), tuple(runs), mutants)


def quantised(*sizes: tuple[int, int, int], **options: Any) -> Form:
    """A product with quantised weights; scales are powers of two, so that no order of roundings hides a mistake."""
    plans = [la.plan_weights(*size, **options) for size in sizes]
    runs: list[Run] = []
    for seed, plan in enumerate(plans):
        assert plan.emit() == plans[0].emit(), "a kernel of its own"
        product, many = plan.problem.product, plan.problem.product.batch
        weights, given = random_weights(plan.problem, seed), others(plan.problem, seed)
        if many > 1:
            weights = [random_weights(plan.problem, seed + number) for number in range(many)]
        left = np.random.default_rng(seed).standard_normal((*(many,) * (many > 1), product.m, product.k))
        left = left.astype(la.core.elements.numpy_type(plan.problem.product.a))
        wanted = of_weights.computed(plan.problem, left, weights, **given, parts=plan.tiling.split_k)
        runs.append(
            lambda text, plan=plan, left=left, weights=weights, given=given, wanted=wanted: same_bits(
                plan.simulate(left, weights, **given, text=text), wanted
            )
        )
    return Form(plans[0].emit(), tuple(runs), mutants)


def attention(*sizes: tuple[int, int], rising: float = 1.0, large: bool = False, **options: Any) -> Form:
    """Attention, with scores that rise from step to step where `rising` is above 1; `large` scores are about 10^5.

    All sizes are run with scores that every key counts in as well: where they rise, the last keys alone have weights. Every
    kernel has a part for large scores, so the last runs have them: in all rows, in one of 16, and there in late keys. In the
    very last they are so large that a maximum follows them only when it takes all of its tries.
    """
    by_size = [dict(options) for _ in sizes]
    if "starts" in options:
        for one, (starts_q, starts_k) in zip(by_size, options["starts"], strict=True):
            del one["starts"]
            one |= {"starts_q": starts_q, "starts_k": starts_k}
    plans = [la.plan_attention(*size, 32, **one) for size, one in zip(sizes, by_size, strict=True)]
    turns = [
        Scores(leaping=900, turns=True),
        Scores(large=True, turns=True),
        *(Scores(rising=2000.0, middle=one, turns=True) for one in (False, True)),
    ]
    others = [Scores(), Scores(large=True), Scores(huge=True, turns=True)]
    several = plans[0].problem.heads * plans[0].problem.batch
    many = {name: value for name, value in by_size[0].items() if not name.startswith("starts")}
    if "window" in options:
        many["window"] = 170  # so that every subgroup has a step without a mask
    if "starts" in options:
        many |= {"starts_q": (0, 80, 130), "starts_k": (0, 140, 290)}
    wide = la.plan_attention(
        130 if "starts" in options else max(32, 256 // several), 290 if "starts" in options else 350, 32, **many
    )
    given: list[tuple[Any, Scores]] = [(plan, Scores()) for plan in plans]
    given += [(wide, Scores(leaping=8, turns=True))]
    given += [(plan, Scores(rising=rising, large=large)) for plan in plans if rising > 1 or large]
    given += [(wide, one) for one in turns] + [(plans[0], one) for one in others]
    given += [
        (wide, Scores(leaping=900, last_low=True, turns=True)),
        (wide, Scores(huge=True, falling=True, turns=True)),
    ]
    given += [(wide, Scores(leaping=60, every=71, start=one, last_low=True, turns=True)) for one in (5, 45, 62)]
    given += [(wide, Scores(large=True, late=True, turns=True)), (plans[0], Scores(unknown=True))]
    runs: list[Run] = []
    for seed, (plan, scores) in enumerate(given):
        assert plan.emit() == plans[0].emit(), "a kernel of its own"
        runs.append(_attention_run(plan, scores, seed))
    return Form(plans[0].emit(), tuple(runs))


def _attention_run(plan: Any, scores: Scores, seed: int) -> Run:
    """A run whose arrays and whose result are made when it is first asked for: few changes get as far as the last ones."""

    @cache
    def arrays() -> tuple[tuple[Array, Array, Array], Array]:
        given = with_scores(plan, scores, seed)
        return given, of_attention.model(plan, *given)

    def run(text: str) -> bool:
        given, wanted = arrays()
        return same_bits(plan.simulate(*given, text), wanted)

    return run


@dataclass(frozen=True)
class Scores:
    """How large scores are: they rise by thirds of the keys, or are about 10^5 or 10^8.

    With `middle` they rise in steps without a mask alone, at 20 of each 128 keys. `leaping` scores are -800, and rise at every
    29th key (or another number of keys) by five times so much: more than a maximum allows. With `last_low` the last 30 keys,
    which a kernel takes first, rise least; with `late` they alone are large. `huge` scores are `falling` where the first keys
    have the largest. With `turns` it is one row of each subgroup alone that has such scores, in one after the other another
    one. `unknown` ones are NaN, in row 7 of each 16: the last row of a block, so that the largest score is NaN too.
    """

    rising: float = 1.0
    middle: bool = False
    large: bool = False
    huge: bool = False
    falling: bool = False
    late: bool = False
    leaping: int = 0
    every: int = 29
    start: int = 13
    last_low: bool = False
    turns: bool = False
    unknown: bool = False


def with_scores(plan: Any, scores: Scores, seed: int) -> tuple[Array, Array, Array]:
    """Q, K and V at random, with such scores."""
    q, k, v = random_arrays(plan, seed, spread=2.0)
    axis = (-2 if plan.problem.order == "bhsd" else 0 if plan.problem.batch == 1 else 1) % q.ndim
    key = np.arange(k.shape[axis])

    def along(values: Array) -> Array:
        return values.reshape([-1 if place == axis else 1 for place in range(k.ndim)])

    chosen = _by_turns(q.shape[:-1], axis) if scores.turns else np.ones(q.shape[:-1], np.bool_)
    if scores.leaping:
        q[..., -2], k[..., -2] = 8, -100
        q[..., -1] = np.where(chosen, scores.leaping, 0)
        rise = np.where(scores.last_low & (key >= len(key) - 30), 1, key // scores.every + 1 + scores.last_low)
        k[..., -1:] = along(np.where(key % scores.every == scores.start, 5 * rise, 0))
    elif scores.large or scores.huge:
        first = (20000 if scores.huge else 100) + np.random.default_rng(seed).integers(0, 4, q.shape[:-1]) / 16
        q[..., 0] = np.where(chosen, first, 0)
        if scores.falling or scores.late or not scores.turns:
            k = (k * 0.05).astype(k.dtype)
        step = -4 if scores.falling else 4 if scores.huge else 1 / 8  # f16 has every fourth there
        begun = key >= len(key) - 30 if scores.late else key >= 0
        k[..., :1] = along(np.where(begun, 6000 + key // 16 * step, 0))
    else:
        if scores.turns:
            q = np.where(chosen[..., None], q, q / 2048).astype(q.dtype)
        third = key * 3 // len(key)
        grown = (key % 128 >= 40) & (key % 128 < 60) if scores.middle else third
        growth = grown * (scores.rising - 1) + 1
        k = (k * along(growth)).astype(k.dtype)
    if scores.unknown:
        row = np.arange(q.shape[axis]).reshape([-1 if place == axis else 1 for place in range(q.ndim)])
        q = np.where(row % 16 == 7, np.nan, q).astype(q.dtype)
    return q, k, v


def _by_turns(shape: tuple[int, ...], axis: int) -> Array:
    """One row of each 16 along an axis: row 0 of the first subgroup, row 1 of the next, and on with the next head."""
    heads = [1 if place == axis else size for place, size in enumerate(shape)]
    query = np.arange(shape[axis]).reshape([-1 if place == axis else 1 for place in range(len(shape))])
    subgroup = np.arange(np.prod(heads)).reshape(heads) * -(-shape[axis] // 16) + query // 16
    return query % 16 == subgroup % 16


def decode(*sizes: tuple[int, list[int]], **options: Any) -> Form:
    """Decode, with room for so many keys and several sets of lengths; in the last run all scores are far below 0."""
    plans = [la.plan_decode(keys, 32, batch=len(lengths), **options) for keys, lengths in sizes]
    runs: list[Run] = []
    for seed, (plan, (_, lengths)) in enumerate(zip((*plans, plans[0]), (*sizes, sizes[0]), strict=True)):
        assert plan.emit() == plans[0].emit(), "a kernel of its own"
        q, k, v, *table = decode_runs.random_arrays(plan, lengths, seed, spread=2.0)
        if seed == len(sizes):
            q[..., 0], k[..., 0] = 8, np.where(np.isnan(k[..., 0]), k[..., 0], -100)
        wanted = of_decode.model(plan, q, k, v, lengths, *table)
        runs.append(
            lambda text, plan=plan, one=lengths, q=q, k=k, v=v, table=table, wanted=wanted: same_bits(
                plan.simulate(q, k, v, one, *(table or [None]), text=text), wanted
            )
        )
    return Form(plans[0].emit(), tuple(runs))


def amx(*sizes: tuple[int, int, int], rows: Sequence[int] = (), **options: Any) -> Form:
    """A product on a CPU; with `rows` its code for any m is run with so many."""
    plan = la.plan_amx(*sizes[0], **options)
    of_rows = {**options, "dynamic_m": False, "blocks": None}
    shapes = [la.plan_amx(m, *sizes[0][1:], **of_rows) for m in rows] or [la.plan_amx(*one, **options) for one in sizes]
    runs: list[Run] = []
    for seed, shape in enumerate(shapes):
        given = dict(la.gemm.amx.operands.random_operands(shape.problem, seed))
        wanted = of_amx.computed(shape.problem, **given)
        runs.append(lambda text, given=given, wanted=wanted: same_bits(plan.simulate(**given, text=text), wanted))
    return Form(plan.emit(), tuple(runs), mistakes_of_amx)


SMALL: dict[str, Any] = {"tile": (8, 16), "subgroups": (1, 2), "k_step": 32, "prefetch": "none"}
WIDE: dict[str, Any] = {**SMALL, "lda": 96, "ldb": 96, "ldc": 80}
TURNED: dict[str, Any] = {**WIDE, "trans_a": True, "lda": 48}
FEW_ROWS: dict[str, Any] = {"tile": (8, 16), "subgroups": (1, 2), "prefetch": "none", "lda": 544, "ldc": 80}
TILES: dict[str, Any] = {"tile": (16, 16), "subgroups": (2, 2), "k_step": 64}

FORMS: dict[str, Callable[[], Form]] = {
    "edges": lambda: product(
        (21, 29, 51), (9, 37, 43), *((3, 5, k) for k in range(1, 20, 2)), infinite=True, batch=2, bias="column", **SMALL
    ),
    "odd pitches": lambda: product((24, 40, 48), (13, 56, 40), lda=51, ldb=67, ldc=73, beta=2.0, **SMALL),
    "batch": lambda: product((24, 72, 88), (11, 40, 72), batch=2, **WIDE),
    "small m, k in parts": lambda: in_parts(
        (13, 40, 256), (7, 72, 224), split_k=3, bias="row", beta=0.5, lda=272, ldb=80, ldc=80, **SMALL
    ),
    "stream-K": lambda: in_parts(
        (35, 136, 120), (13, 40, 248), (61, 72, 88), stream_k=4, bias="row", beta=0.5, lda=256, ldb=144, ldc=144, **SMALL
    ),
    "stream-K of a batch": lambda: in_parts(  # the second has a part in the middle of a tile, the third 33 tiles in a run
        (19, 72, 88), (7, 32, 280), (104, 136, 60), stream_k=4, batch=2, beta=0.5, lda=288, ldb=144, ldc=144, **SMALL
    ),
    "A transposed by registers": lambda: product((40, 72, 88), (34, 40, 72), transpose="registers", **TURNED),
    "A transposed by workgroups": lambda: product(
        (40, 32, 88), (34, 48, 120), transpose="slm", **{**TURNED, **TILES}
    ),
    "A transposed in a scratch": lambda: product(
        (40, 32, 88), (34, 48, 120), transpose="scratch", **{**TURNED, **TILES}
    ),
    "both transposed": lambda: product(
        (40, 72, 88), (34, 40, 72), transpose="roles", trans_b=True, **{**TURNED, "tile": (16, 16)}
    ),
    "int4 with zeros": lambda: quantised(
        (13, 32, 256), (7, 64, 320), group=64, zeros=True, bias="row", **FEW_ROWS,
    ),
    "int8 with scales": lambda: quantised(
        (13, 32, 256), (7, 64, 320), b="u8", group=64, c="f16", scale="both", **FEW_ROWS,
    ),
    "int4, k in parts": lambda: quantised(
        (13, 48, 512), (7, 32, 448), a="bf16", group=64, split_k=2, reduction="kernel", **FEW_ROWS,
    ),
    "int4, parts added by the last": lambda: quantised(
        (13, 48, 512), (7, 32, 448), zeros=True, group=64, split_k=4, reduction="last", bias="column", batch=2, **FEW_ROWS,
    ),
    "fp8 and bf16": lambda: quantised(
        (13, 32, 256), (7, 64, 320), a="bf16", b="f8E4M3FN", group=64, c="f16", split_k=1, **FEW_ROWS,
    ),
    "groups": lambda: product(
        (60, 40, 72), groups=6, c="f16", bias="column", **{**WIDE, "ldc": 48},
        starts=([0, 17, 17, 18, 40, 59, 60], [0, 0, 0, 33, 33, 60, 60], [9, 9, 10, 20, 31, 31, 31], [0] * 7),
    ),
    "gated": lambda: product((24, 40, 72), (11, 32, 88), c="f16", gated="silu", **{**WIDE, "ldc": 48}),
    "expression": lambda: product(
        (24, 40, 72), (11, 56, 88), c="f16", **{**WIDE, "ldc": 64},
        epilogue="gelu(acc * row_scale + bias) + residual * 0.5 - clamp(tanh(acc), -0.25, 0.5)",
    ),
    "attention": lambda: attention((30, 126), (16, 191), rising=30.0, subgroups=1),
    "causal": lambda: attention((40, 203), (93, 60), (50, 67), rising=30.0, causal=True, subgroups=2),
    "grouped heads": lambda: attention((12, 80), (9, 110), heads=6, kv_heads=2, batch=2, subgroups=1, rising=3.0),
    "window": lambda: attention((24, 200), (40, 170), causal=True, window=90, subgroups=1, rising=3.0),
    "sequences": lambda: attention(
        (56, 150), (40, 130), heads=2, kv_heads=1, subgroups=2, order="bshd", rising=3.0,
        starts=(((0, 20, 23, 56), (0, 40, 110, 150)), ((0, 3, 40, 40), (0, 80, 130, 130))),
    ),
    "heads side by side": lambda: attention(
        (20, 70), (17, 90), heads=4, kv_heads=2, batch=2, order="bshd", causal=True, ldq=160, ldk=96, ldv=128, ldo=144,
        subgroups=2, rising=3.0,
    ),
    "large scores": lambda: attention((20, 140), (17, 100), heads=2, kv_heads=1, causal=True, subgroups=2, large=True),
    "decode in parts": lambda: decode(
        (190, [71, 64, 190]), (190, [170, 0, 33]), (190, [187, 97, 161]),
        heads=16, kv_heads=2, queries=2, parts=3,
    ),
    "decode, pages": lambda: decode(
        (140, [71, 64, 140]), (140, [140, 1, 33]), (140, [127, 90, 30]), (140, [9, 40, 3]), (12, [12] * 17),
        heads=16, kv_heads=2, parts=2, page=16, order="nhd",
    ),
    "amx, batch": lambda: amx((20, 72, 100), batch=2, blocking=(1, 2), blocks=(16, 32, 64)),
    "amx, any m": lambda: amx((64, 48, 100), dynamic_m=True, blocks=(32, 32, 64), rows=(29, 64, 1)),
    "amx, bytes with scales": lambda: amx(
        (20, 72, 130), a="u8", b="s8", c="s8", scale="column", bias="row", blocking=(1, 1), blocks=(32, 32, 128),
    ),
}  # fmt: skip
"""Each form by its name; it is planned when it is asked for."""
