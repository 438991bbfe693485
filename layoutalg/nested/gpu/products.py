"""What matrix intrinsics compute, on numpy arrays of fragments.

Fragments are `[..., lane, reg]`. Lane and register say which values of A meet which of B, not a number k. A **slot** is a k
factor of the lane together with a register position along k; the values of A and B in equal slots are multiplied and added
up.

>>> from layoutalg.nested.gpu.kinds import mma
>>> k_of_slots(mma("MFMA_F32_16x16x4_F32").operand("Lhs"), 1)
array([0, 1, 2, 3])
>>> k_of_slots(mma("VMFMA_F32_16x16x32_F8E4M3FNUZ").operand("Lhs"), 1)[:8]
array([ 0,  1,  2,  3, 16, 17, 18, 19])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.distributing import collect, distribute
from layoutalg.core.elements import numpy_type
from layoutalg.core.errors import LayoutError, VerificationError
from layoutalg.nested.gpu.enums import MMAFragment
from layoutalg.nested.gpu.intrinsics import OperandLayout

if TYPE_CHECKING:
    from layoutalg.nested.gpu.data_tiled import DataTiledMMAAttr
    from layoutalg.nested.gpu.kinds import MMAAttr, MMAKind

__all__ = ["k_of_slots", "multiply", "multiply_tiles"]


def k_of_slots(operand: OperandLayout, dim: int) -> NDArray[np.intp]:
    """The coordinate along dimension `dim` in each slot: lane factor major, then outer and element, the register's order.

    >>> k_of_slots(OperandLayout((2, 1), (4, 8), (1, 4), (2, 1)), 0)[:4]
    array([0, 1, 8, 9])
    """
    outer, thread, element = operand.outer[dim], operand.thread[dim], operand.element[dim]
    return np.arange(outer * thread * element).reshape(outer, thread, element).swapaxes(0, 1).reshape(-1)


def multiply(kind: MMAKind, lhs: NDArray[Any], rhs: NDArray[Any], acc: NDArray[Any]) -> NDArray[Any]:
    """`acc + lhs * rhs` on fragments of one subgroup (see `MMAKind.multiply`)."""
    for fragment, given in zip(MMAFragment, (lhs, rhs, acc), strict=True):
        size = (kind.subgroup_size, kind.operand(fragment).registers)
        _require(given, "lane, reg", size, fragment, kind.name)
    product = distribute(kind.acc, _product(kind, lhs, rhs))[..., 0, :, :]
    return _add(product, acc)


def multiply_tiles(kind: DataTiledMMAAttr, lhs: NDArray[Any], rhs: NDArray[Any], acc: NDArray[Any]) -> NDArray[Any]:
    """`acc + lhs * rhs` on fragments of a data-tiled kind (see `DataTiledMMAAttr.multiply`)."""
    for fragment, given in zip(MMAFragment, (lhs, rhs, acc), strict=True):
        size = (kind.subgroups, kind.subgroup_size, kind.swizzle(fragment).registers)
        _require(given, "sg, lane, reg", size, fragment, str(kind))
    a = _apart(kind, MMAFragment.Lhs, lhs)[..., :, None, :, :, :]  # sg, m, 1, k, lane, reg
    b = _apart(kind, MMAFragment.Rhs, rhs)[..., None, :, :, :, :]  # sg, 1, n, k, lane, reg
    product = _product(kind.native, a, b).sum(-3)
    groups = (kind.subgroups_m, kind.subgroups_n, kind.subgroups_k)
    together = product.reshape(*product.shape[:-5], *groups, *product.shape[-4:]).sum(-5, keepdims=True)
    shared = np.broadcast_to(together, (*product.shape[:-5], *groups, *product.shape[-4:])).reshape(product.shape)
    native = distribute(kind.native.acc, shared)[..., 0, :, :]  # sg, m, n, lane, reg
    return _add(_together(kind, native), acc)


def _require(given: NDArray[Any], axes: str, size: tuple[int, ...], fragment: MMAFragment, name: str) -> None:
    if not isinstance(given, np.ndarray):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LayoutError(f"{fragment.name}: expected a numpy array, got a {type(given).__name__}")
    if given.dtype.kind not in "biufV" or given.dtype.names:
        raise LayoutError(f"{fragment.name}: expected numbers, got elements of type {given.dtype}")
    if given.shape[max(given.ndim - len(size), 0) :] != size:
        raise LayoutError(
            f"{fragment.name} of shape {list(given.shape)}: expected [..., {axes}] of sizes {list(size)} (of {name})"
        )


def _product(kind: MMAKind, lhs: NDArray[Any], rhs: NDArray[Any]) -> NDArray[Any]:
    """The matrix product of fragments, `[..., m, n]`, in the accumulator's precision (at least f32)."""
    native, count = kind.runs
    first, *others = zip(np.split(lhs, count, -1), np.split(rhs, count, -1), strict=True)
    product = _native_product(native, *first)
    for a, b in others:
        product = product + _native_product(native, a, b)
    return product


def _native_product(kind: MMAAttr, lhs: NDArray[Any], rhs: NDArray[Any]) -> NDArray[Any]:
    """The product of one native intrinsic, slot by slot."""
    a, b = kind.operand(MMAFragment.Lhs), kind.operand(MMAFragment.Rhs)
    if _along_k(a, -1) != _along_k(b, -2):
        raise VerificationError(f"{kind.name}: A and B cut k differently, {_along_k(a, -1)} and {_along_k(b, -2)}")
    exact = numpy_type(kind.intrinsic.c_type)
    wide = np.dtype(np.int64) if exact.kind == "i" else np.result_type(exact, np.float32)
    rows = collect(a.layout(kind.subgroup_size), lhs[..., None, :, :]).astype(wide)
    columns = collect(b.layout(kind.subgroup_size), rhs[..., None, :, :]).astype(wide)
    product: NDArray[Any] = rows[..., k_of_slots(a, -1)] @ columns[..., k_of_slots(b, -2), :]
    return product


def _along_k(operand: OperandLayout, dim: int) -> tuple[int, int, int, int]:
    return operand.outer[dim], operand.thread[dim], operand.tstrides[dim], operand.element[dim]


def _add(product: NDArray[Any], acc: NDArray[Any]) -> NDArray[Any]:
    total: NDArray[Any] = product + acc.astype(product.dtype)
    return total.astype(acc.dtype)


def _native_order(kind: DataTiledMMAAttr, fragment: MMAFragment) -> tuple[list[int], list[int], list[int]]:
    """A slice's factors (memory order) as: their extents, where each goes, and the extents [count, count, registers].

    In the native order the two counts of intrinsics come first (m or n, then k or n), then the intrinsic's registers.
    """
    own = kind.swizzle(fragment).own
    natural = (1, 0) if fragment is MMAFragment.Rhs else (0, 1)
    wanted = [("intrinsic", 0), ("intrinsic", 1), *((role, d) for role in ("outer", "element") for d in natural)]
    order = sorted(range(len(own)), key=lambda i: wanted.index((own[i].role, own[i].dim)))
    counts = [next((x.extent for x in own if (x.role, x.dim) == ("intrinsic", d)), 1) for d in (0, 1)]
    return [x.extent for x in own], order, [*counts, kind.native.operand(fragment).registers]


def _apart(kind: DataTiledMMAAttr, fragment: MMAFragment, fragments: NDArray[Any]) -> NDArray[Any]:
    """Fragments `[..., lane, reg]` as fragments of each intrinsic: `[..., count, count, lane, reg]`."""
    extents, order, sizes = _native_order(kind, fragment)
    lead = fragments.ndim - 1
    split = fragments.reshape(*fragments.shape[:-1], *extents)
    in_order = split.transpose(*range(lead), *(lead + i for i in order))
    return np.moveaxis(in_order.reshape(*fragments.shape[:-1], *sizes), lead - 1, -2)


def _together(kind: DataTiledMMAAttr, native: NDArray[Any]) -> NDArray[Any]:
    """The way back for accumulators: `[..., m, n, lane, reg]` as `[..., lane, reg]`."""
    extents, order, _ = _native_order(kind, MMAFragment.Acc)
    moved = np.moveaxis(native, -2, -4)
    lead = moved.ndim - 3
    split = moved.reshape(*moved.shape[:lead], *(extents[i] for i in order))
    back = sorted(range(len(order)), key=order.__getitem__)
    return split.transpose(*range(lead), *(lead + i for i in back)).reshape(*moved.shape[:lead], -1)
