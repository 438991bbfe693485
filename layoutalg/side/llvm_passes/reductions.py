"""How LLVM 23 and 24 spread what is reduced: lanes on rows, where each adds its own, or along the rows.

>>> print(reduced((16, 64), (1,), None, None, "lane", one_by_one, reuses=False))
#xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>
>>> print(reduced((16, 64), (0,), None, None, "lane", one_by_one, reuses=False))
#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from layoutalg.core.errors import LayoutError
from layoutalg.side.llvm_passes.anchors import UNDEFINED
from layoutalg.side.llvm_passes.block_sizes import LANES
from layoutalg.side.llvm_passes.fields import Attribute, lanes, numbers_of, with_data
from layoutalg.xegpu import LayoutAttr, SliceAttr

__all__ = ["Upright", "lacks_lanes", "one_by_one", "reduced", "vectors"]

Upright = Callable[[int, int], tuple[tuple[int, int], tuple[int, int]]]
"""The lanes and data of rows and columns, where lanes are on rows so that each adds its own row."""


def one_by_one(rows: int, columns: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """A lane for each row, and an element at a time (LLVM 23)."""
    return (min(LANES, rows), 1), (1, 1)


def vectors(rows: int, columns: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Up to 16 elements at a time; lanes that are left share a row (LLVM 24).

    >>> vectors(16, 64), vectors(8, 64)
    (((16, 1), (1, 16)), ((8, 2), (1, 1)))
    """
    lanes_of_rows = min(LANES, rows)
    left = LANES // lanes_of_rows
    if left > 1:
        return (lanes_of_rows, min(left, columns)), (1, 1)
    return (lanes_of_rows, 1), (1, min(LANES, columns))


def lacks_lanes(layout: Attribute) -> bool:
    """Whether a layout says no lanes."""
    return not (numbers_of(layout, "lane_layout") and numbers_of(layout, "lane_data"))


def reduced(
    shape: Sequence[int],
    dims: Sequence[int],
    wanted: Attribute | None,
    count: int | None,
    level: str,
    upright: Upright,
    *,
    reuses: bool,
) -> Attribute:
    """The layout of what is reduced: such that the result suits its user."""
    parent = wanted.parent if isinstance(wanted, SliceAttr) and tuple(wanted.dims) == tuple(dims) else None
    if level == "workgroup":
        if parent is not None:
            source = parent
            subgroups = numbers_of(source, "sg_layout")
            if subgroups is not None and all(s % n == 0 for s, n in zip(shape, subgroups, strict=False)):
                for dim in dims:
                    source = with_data(source, dim, sg_data=shape[dim] // subgroups[dim])
            return source
        return _reduced_by_subgroups(shape, dims, wanted, count)
    if parent is not None and level == "lane":
        return parent
    if parent is not None and reuses and not lacks_lanes(parent):
        counts, data = numbers_of(parent, "lane_layout") or (), numbers_of(parent, "lane_data") or ()
        return lanes(counts, data, tuple(count * each for count, each in zip(counts, data, strict=True)))
    lies = not (isinstance(wanted, SliceAttr) and wanted.dims) or (reuses and parent is None)
    counts = (*(1,) * (len(shape) - 1), min(LANES, shape[-1]))
    data = (1,) * len(shape)
    last = len(shape) - 1
    kept = [dim for dim in range(last) if dim not in dims]
    if lies and last in dims and kept and (reuses or tuple(dims) == (last,)):
        (of_rows, of_columns), ones = upright(shape[kept[-1]], shape[-1]), [1] * len(shape)
        counts, data = (_at(ones, {kept[-1]: pair[0], last: pair[1]}) for pair in (of_rows, of_columns))
    inst = tuple(count * each for count, each in zip(counts, data, strict=True)) if level == "inst" else None
    return lanes(counts, data, inst)


def _at(sizes: Sequence[int], places: dict[int, int]) -> tuple[int, ...]:
    return tuple(places.get(dim, size) for dim, size in enumerate(sizes))


def _reduced_by_subgroups(
    shape: Sequence[int], dims: Sequence[int], wanted: Attribute | None, count: int | None
) -> Attribute:
    subgroups = list((numbers_of(wanted, "sg_layout") if wanted is not None else None) or ())
    data = list((numbers_of(wanted, "sg_data") if wanted is not None else None) or ())
    order = numbers_of(wanted, "order") if wanted is not None and wanted.parent_layout().order is not None else None
    left = count or 0
    found: dict[int, tuple[int, int, int]] = {}
    kept = [dim for dim in range(len(shape)) if dim not in dims]
    ranks = list(order or range(len(subgroups) - 1, -1, -1))
    for at, dim in enumerate(kept[: len(subgroups)]):
        left //= subgroups[at]
        found[dim] = (subgroups[at], data[at], ranks[at])
    last = len(subgroups)
    for dim in dims:
        part = min(shape[dim], left)
        if part < 1 or shape[dim] % part:
            raise LayoutError(f"vector.multi_reduction: {UNDEFINED}: {shape[dim]} rows for {left} subgroups")
        found[dim] = (part, shape[dim] // part, last)
        left //= part
        last += 1
    if set(found) != set(range(len(shape))):
        raise LayoutError(
            "vector.multi_reduction: LLVM writes sg_layout = 0 for a dimension that its user does not say"
        )
    columns = [found[dim] for dim in range(len(shape))]
    return LayoutAttr(
        sg_layout=tuple(each[0] for each in columns),
        sg_data=tuple(each[1] for each in columns),
        order=tuple(each[2] for each in columns) if order is not None else None,
    )
