"""Small problems that a kernel's text serves as well as the plan's own, so that what a text computes is known in a second.

Sizes are arguments of planned kernels: types, tiles, masks and epilogues make the text, and one text serves problems of other
sizes. A mistake in a text is therefore a mistake in a small problem too, where it is computed in a moment, every element is
compared, and all edges are in sight. A problem counts only if its plan has the very same text. A text that has its sizes as
constants serves no other problem. Modules for AMX have them so, but for a batch, and for rows whose number is an argument.

By hand: C of 4100x4096 in tiles of 256x256 ends with a tile of 4 rows, and k of 4096 is 64 steps. C of 260x512 has such a last
tile as well, and 4 steps of k are enough for every part of the loop. The second problem has edges in all directions.

>>> plan = la.plan_gemm(4100, 4096, 4096, tile=(32, 64), subgroups=(8, 4), prefetch="none")
>>> for small in small_products(plan, plan.emit()):
...     print(small.problem)
C[260, 512] f32 = A[260, 256] f16 * B[256, 512] f16 on pvc
C[257, 504] f32 = A[257, 248] f16 * B[248, 504] f16 on pvc
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from math import lcm
from typing import TYPE_CHECKING, Any, TypeVar

from layoutalg.core.errors import LayoutError, SizeError
from layoutalg.core.limits import MOST_CHECKED_PRODUCTS
from layoutalg.gemm.amx.simulating import check_size
from layoutalg.gemm.amx.tiling import TILE

if TYPE_CHECKING:
    from layoutalg.gemm.amx import AmxGemm
    from layoutalg.gemm.attention import Attention, AttentionProblem
    from layoutalg.gemm.attention.decode import Decode
    from layoutalg.gemm.plan import Gemm
    from layoutalg.gemm.tiling import Tiling
    from layoutalg.gemm.weights import WeightsGemm

__all__ = ["small_amx", "small_attentions", "small_decodes", "small_products", "small_weights"]

_STEPS = 3
"""Steps of k, besides those that a prefetch is ahead."""
_QUERIES, _KEYS = 93, (203, 67)
_WINDOW = 45
_PARTIAL = 91
"""Keys that fill no whole step and no whole page."""
_SEQUENCES = 3
"""Matrices of a batch, heads of K and V, and sequences, at most."""


_Planned = TypeVar("_Planned")


def small_products(plan: Gemm, text: str, level: str = "lane") -> tuple[Gemm, ...]:
    """Plans of small products whose text is this one, which the plan has at `level`."""
    problem, tiling = plan.problem, plan.tiling
    whole = tiling.workgroup_tile
    m, n = _shorter(problem.m, whole.m), _shorter(problem.n, whole.n)
    k = _shorter(problem.k, tiling.tile.k, _enough_steps(tiling) - 1)
    sizes = [(m, n, k), (_uneven(m, 3), _uneven(n, 8), _uneven(k, 8))]
    batch = min(problem.batch, _SEQUENCES)
    made = (replace(plan, problem=replace(problem, m=m, n=n, k=k, batch=batch)) for m, n, k in sizes)
    return _of_text(made, lambda one: one.emit(level) == text)


def small_weights(plan: WeightsGemm, text: str) -> tuple[WeightsGemm, ...]:
    """The same for products with quantised weights.

    >>> plan = la.plan_weights(8, 4096, 4096, tile=(8, 32), subgroups=(1, 4))
    >>> [str(small.problem.product) for small in small_weights(plan, plan.emit())]
    ['C[8, 256] f32 = A[8, 896] f16 * B[896, 256] f16 on pvc', 'C[8, 248] f32 = A[8, 896] f16 * B[896, 248] f16 on pvc']
    """
    problem, whole = plan.problem.product, plan.tiling.workgroup_tile
    unit = lcm(plan.problem.group, plan.tiling.tile.k)
    m, n = _shorter(problem.m, whole.m), _shorter(problem.n, whole.n)
    k = _shorter(problem.k, unit, _enough_steps(plan.tiling) - 1)
    sizes = [(m, n, k), (_uneven(m, 3), _uneven(n, 8), k)]
    small = (replace(problem, m=m, n=n, k=k, batch=min(problem.batch, _SEQUENCES)) for m, n, k in sizes)
    made = (replace(plan, problem=replace(plan.problem, product=product)) for product in small)
    return _of_text(made, lambda one: one.emit() == text)


def small_attentions(plan: Attention, text: str) -> tuple[Attention, ...]:
    """The same for attention; with a causal mask some rows of the second one see no key.

    >>> plan = la.plan_attention(4096, 4096, 64, causal=True, target="bmg")
    >>> [(small.problem.queries, small.problem.keys) for small in small_attentions(plan, plan.emit())]
    [(93, 203), (93, 67)]
    """
    problem = plan.problem
    heads = min(problem.kv_heads, _SEQUENCES) * problem.heads // problem.kv_heads
    few = {"heads": heads, "kv_heads": min(problem.kv_heads, _SEQUENCES), "batch": min(problem.batch, _SEQUENCES)}
    if problem.order != "bhsd":  # rows have all heads
        few = {"batch": few["batch"]}
    sizes = dict.fromkeys((min(problem.queries, _QUERIES), min(problem.keys, keys)) for keys in _KEYS)
    made = (replace(plan, problem=_attention(problem, *size, few)) for size in sizes)
    return _of_text(made, lambda one: one.emit() == text)


def _attention(problem: AttentionProblem, queries: int, keys: int, few: dict[str, int]) -> AttentionProblem:
    more: dict[str, Any] = dict(few)
    if problem.window is not None:
        more["window"] = min(problem.window, _WINDOW)
    if problem.starts is not None:  # one sequence has nothing, the others are uneven
        more["starts"] = tuple((0, 2 * size // 3, 2 * size // 3, size) for size in (queries, keys))
    return replace(problem, queries=queries, keys=keys, **more)


def small_decodes(plan: Decode, text: str) -> tuple[Decode, ...]:
    """The same for decode: each part has two steps or three, and there are sequences of other lengths besides.

    >>> plan = la.plan_decode(4096, 128, heads=32, kv_heads=8, parts=4, target="bmg")
    >>> [(small.problem.keys, small.problem.batch) for small in small_decodes(plan, plan.emit())]
    [(347, 3)]
    """
    problem = plan.problem
    one = replace(problem, keys=min(problem.keys, _PARTIAL + 2 * 32 * plan.parts), batch=_SEQUENCES)
    if problem.page:
        one = replace(one, pages=one.batch * one.pages_of_sequence + 1)
    return _of_text([replace(plan, problem=one)], lambda small: small.emit() == text)


def small_amx(plan: AmxGemm) -> tuple[AmxGemm, ...]:
    """The same for CPUs with AMX: at most three products of a batch, and fewer rows where the code takes their number.

    None, if its products of tiles are still more than are simulated within seconds.

    >>> [small.problem.batch for small in small_amx(la.plan_amx(64, 64, 64, batch=90))]
    [3]
    >>> [small.problem.m for small in small_amx(la.plan_amx(4096, 1024, 1024, blocks=(64, 64, 64), dynamic_m=True))]
    [128, 125, 1]
    >>> small_amx(la.plan_amx(4096, 4096, 4096))
    ()
    """
    problem, across = plan.problem, -(-plan.problem.n // TILE) * plan.k_steps
    rows = problem.m
    if problem.dynamic_m:
        rows = min(_shorter(rows, plan.tiling.m_block), MOST_CHECKED_PRODUCTS // across * TILE)
    batch = min(problem.batch, _SEQUENCES)
    if not rows or -(-rows // TILE) * across * batch > MOST_CHECKED_PRODUCTS:
        return ()
    few = replace(problem, batch=batch)
    sizes = dict.fromkeys((rows, _uneven(rows, 3), 1)) if problem.dynamic_m else (rows,)
    made = [replace(plan, problem=few.with_rows(size)) for size in sizes]
    with suppress(SizeError):  # rows that lie far apart
        check_size(made[0])
        return tuple(made)
    return ()


def _of_text(plans: Iterable[_Planned], has_it: Callable[[_Planned], bool]) -> tuple[_Planned, ...]:
    """Those of the plans that have the text, each once."""
    found: list[_Planned] = []
    for plan in plans:
        with suppress(LayoutError):  # a size that is not planned
            if plan not in found and has_it(plan):
                found.append(plan)
    return tuple(found)


def _enough_steps(tiling: Tiling) -> int:
    """Steps of k that a loop needs to show all that it does: those that a prefetch is ahead and some more, two of each part."""
    ahead = tiling.distance if tiling.prefetch != "none" else 1
    return max(_STEPS + ahead, 2 * tiling.split_k)


def _shorter(size: int, unit: int, units: int = 1) -> int:
    """The size less so many whole units that more than `units` of them are left.

    >>> _shorter(4100, 256), _shorter(4096, 256), _shorter(100, 256), _shorter(4096, 64, 3)
    (260, 512, 100, 256)
    """
    return size - max(0, (size - units * unit - 1) // unit * unit)


def _uneven(size: int, less: int) -> int:
    return size - less if size >= 4 * less else size
