"""Running `iree_gpu.multi_mma` on numpy arrays.

Operands become fragments, the outer dimensions are brought into the order of the loops, and every step of the reduction
loops runs the intrinsic on all points of the parallel loops at once.

>>> from layoutalg.nested.gpu.kinds import mma
>>> from layoutalg.nested.gpu.multi_mma import MultiMma
>>> op = MultiMma(mma("MFMA_F32_16x16x4_F32"), ["(k) -> (k)", "(k) -> (k)", "(k) -> ()"], ("reduction",))
>>> execute(op, np.ones((3, 16, 4)), np.ones((3, 4, 16)), np.zeros((16, 16)))[0, 0].tolist()
12.0
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.errors import VerificationError
from layoutalg.core.messages import shown
from layoutalg.nested.gpu.enums import MMAFragment
from layoutalg.nested.gpu.operand_types import OperandType

if TYPE_CHECKING:
    from layoutalg.nested.gpu.multi_mma import MultiMma

__all__ = ["execute"]


def execute(
    op: MultiMma, lhs: NDArray[Any], rhs: NDArray[Any], acc: NDArray[Any], scope: str | None = None
) -> NDArray[Any]:
    """The accumulator after all loops (see `MultiMma.execute`)."""
    arrays = (lhs, rhs, acc)
    scope, lanes = _scope(op, arrays, scope)
    held = [_fragments(op, f, one, scope, lanes) for f, one in zip(MMAFragment, arrays, strict=True)]
    sizes: list[int] = [1] * len(op.iterator_types)
    for one, given in zip(op.indexing_maps, held, strict=True):
        for axis, loop in enumerate(one.dims):
            sizes[loop] = given.shape[axis]
    a, b, total = (_by_loop(op, f, given) for f, given in zip(MMAFragment, held, strict=True))
    for point in _reduction_points(op, sizes):
        step = tuple(
            slice(point[loop], point[loop] + 1) if loop in point else slice(None) for loop in range(len(sizes))
        )
        here = tuple(slice(None) if a.shape[loop] == 1 else part for loop, part in enumerate(step))
        there = tuple(slice(None) if b.shape[loop] == 1 else part for loop, part in enumerate(step))
        total = op.kind.multiply(a[here], b[there], total)
    dims = op.indexing_maps[MMAFragment.Acc].dims
    order = [*dims, *(loop for loop in range(len(sizes)) if loop not in dims)]
    outer = total.transpose(*order, *range(len(sizes), total.ndim))
    result = outer.reshape(*outer.shape[: len(dims)], *outer.shape[len(sizes) :])
    return _inner_values(op, result, acc, scope, lanes)


def _scope(op: MultiMma, arrays: tuple[NDArray[Any], ...], asked: str | None) -> tuple[str, int]:
    """The scope that is asked for or that the shapes say, and how many leading axes hold work-items."""
    if asked is not None and (type(asked) is not str or asked not in ("thread", "subgroup")):
        raise VerificationError(f"scope {shown(asked)}: expected 'thread' or 'subgroup'")
    for one in arrays:
        if not isinstance(one, np.ndarray) or not one.size:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise VerificationError("multi_mma runs on numpy arrays with at least one element each")
    items = op.kind.work_items
    lanes = len(items)
    problems: list[str] = []
    found: list[tuple[str, int]] = []
    for scope, lead in (("subgroup", 0), ("thread", lanes)):
        if asked not in (None, scope):
            continue
        types = [
            OperandType(one.shape[lead:], op.kind.instruction.element_type(f), "tensor")
            for f, one in zip(MMAFragment, arrays, strict=True)
        ]
        problem = op.check(*types)
        if problem is None and op.scope(*types) != scope:
            problem = "the inner dimensions are not those"
        if problem is None and any(one.shape[:lead] != items[:lead] for one in arrays):
            problem = f"at thread scope the leading axes hold the work-items {list(items)}"
        if problem is None:
            found.append((scope, lead))
        problems.append(f"as operands of a {scope}: {problem}")
    shapes = ", ".join(str(list(one.shape)) for one in arrays)
    if not found:
        raise VerificationError(f"arrays of shapes {shapes}: {'; '.join(problems)}")
    if len(found) > 1:
        raise VerificationError(
            f"arrays of shapes {shapes} can be a subgroup's tiles or the registers of all lanes: say which, "
            "scope='subgroup' or scope='thread'"
        )
    return found[0]


def _fragments(op: MultiMma, fragment: MMAFragment, array: NDArray[Any], scope: str, lead: int) -> NDArray[Any]:
    """An operand as `[outer dimensions, (sg,) lane, reg]`."""
    outer = len(op.indexing_maps[fragment].dims)
    if scope == "thread":
        flat = array.reshape(*array.shape[: lead + outer], -1)
        return np.moveaxis(flat, range(lead), range(outer, outer + lead))
    order = op.permutation(fragment)
    if order is not None:
        back = sorted(range(len(order)), key=order.__getitem__)
        array = array.transpose(*range(outer), *(outer + i for i in back))
    flat = array.reshape(*array.shape[:outer], -1)
    return op.kind.from_memory(fragment, flat)


def _by_loop(op: MultiMma, fragment: MMAFragment, held: NDArray[Any]) -> NDArray[Any]:
    """Outer dimensions in the order of the loops, those that the operand lacks with size 1."""
    dims = op.indexing_maps[fragment].dims
    order = sorted(range(len(dims)), key=dims.__getitem__)
    moved = held.transpose(*order, *range(len(dims), held.ndim))
    missing = [loop for loop in range(len(op.iterator_types)) if loop not in dims]
    return np.expand_dims(moved, missing) if missing else moved


def _inner_values(op: MultiMma, held: NDArray[Any], acc: NDArray[Any], scope: str, lead: int) -> NDArray[Any]:
    """Accumulator fragments `[outer, (sg,) lane, reg]` in the shape that the accumulator came in."""
    outer = len(op.indexing_maps[MMAFragment.Acc].dims)
    if scope == "thread":
        return np.moveaxis(held, range(outer, outer + lead), range(lead)).reshape(acc.shape)
    tile = op.kind.to_memory(MMAFragment.Acc, held)
    order = op.permutation(MMAFragment.Acc)
    if order is None:
        return tile.reshape(acc.shape)
    sizes = acc.shape[outer:]
    canonical = [0] * len(order)
    for i, d in enumerate(order):
        canonical[d] = sizes[i]
    return tile.reshape(*acc.shape[:outer], *canonical).transpose(*range(outer), *(outer + d for d in order))


def _reduction_points(op: MultiMma, sizes: Sequence[int]) -> list[dict[int, int]]:
    """The values of the reduction loops, one after another."""
    loops = [loop for loop, iterator in enumerate(op.iterator_types) if iterator == "reduction"]
    return [dict(zip(loops, point, strict=True)) for point in product(*(range(sizes[loop]) for loop in loops))]
