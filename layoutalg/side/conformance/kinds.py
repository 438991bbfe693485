"""The kinds of layouts that kernels are generated with, and layouts of each kind, random in their sizes.

A kind says what is special about a layout. Everything else (how many subgroups, how much each has) is drawn:

| kind | what is special | instruction tile, lanes, lane_data (32 bits) |
|---|---|---|
| rows | nothing: a row per register, a column per lane | [8, 16], [1, 16], [1, 1] |
| order | subgroups are counted along columns | the same |
| units | a lane has several units of a row | [8, 32], [1, 16], [1, 1] |
| pairs | neighbours of a row stay in one lane | [8, 32], [1, 16], [1, 2] |
| packed | neighbours of a column stay in one lane | [16, 16], [1, 16], [2, 1] |
| columns | a row per lane | [16, 8], [16, 1], [1, 1] |
| grid | lanes in two dimensions | [8, 16], [2, 8] or [4, 4], [1, 1] |
| rounds | a subgroup has several blocks | as rows |
| shared | subgroups hold copies | as rows |
| whole | without instruction tiles | -, [1, 16], [1, 1] |

>>> from random import Random
>>> print(drawn(Random(0), "rows", "f32").attribute)  # doctest: +ELLIPSIS
#xegpu.layout<sg_layout = [...], sg_data = [...], inst_data = [8, 16], lane_layout = [1, 16], lane_data = [1, 1]>
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from random import Random

from layoutalg.xegpu import LayoutAttr

__all__ = ["BITS", "KINDS", "PLAIN_KINDS", "Tile", "drawn", "turned"]

BITS = {"i1": 1, "i8": 8, "i16": 16, "f16": 16, "bf16": 16, "f32": 32, "i32": 32, "f64": 64, "i64": 64, "index": 64}
"""Element types that kernels have, and their widths."""

KINDS = ("rows", "order", "units", "pairs", "packed", "columns", "grid", "rounds", "shared", "whole")
"""The kinds of layouts with all levels, at workgroup level."""

PLAIN_KINDS = ("none", "rows", "columns", "units", "pairs", "grid")
"""The kinds at subgroup level: no layouts at all, or lanes as anchors of loads and stores."""

_MANY = ((2, 2), (4, 1), (1, 4), (2, 1), (1, 2), (4, 2), (2, 4))
"""How subgroups stand."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A layout of two dimensions, and a shape that it fits.

    >>> from random import Random
    >>> tile = drawn(Random(1), "columns", "f32")
    >>> [extent % count for extent, count in zip(tile.shape, tile.attribute.sg_layout)]
    [0, 0]
    """

    attribute: LayoutAttr
    shape: tuple[int, int]

    @property
    def subgroups(self) -> int:
        """How many subgroups the layout has."""
        return prod(self.attribute.sg_layout or (1,))

    def with_shape(self, rows: int, columns: int) -> Tile:
        """The same layout on another shape."""
        return replace(self, shape=(rows, columns))


def _inner(random: Random, kind: str, bits: int) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    """Instruction tile, lanes, lane_data."""
    wide = 2 if bits == 8 else 1
    match kind:
        case "units":
            return (8, 32 * wide), (1, 16), (1, wide)
        case "pairs":
            return (8, 32), (1, 16), (1, 2)
        case "packed":
            factor = max(32 // bits, 2)
            return (max(16, 8 * factor), 16), (1, 16), (factor, 1)
        case "columns":
            return (16, 8 * wide), (16, 1), (1, 1 if bits == 32 else 32 // bits)
        case "grid":
            return (8, 16), random.choice(((2, 8), (4, 4))), (1, 1)
        case _:
            return (8, 16 * wide), (1, 16), (1, wide)


def drawn(random: Random, kind: str, element: str, *, lanes_only: bool = False) -> Tile:
    """A layout of a kind for elements of a type, and a shape for it; with `lanes_only`, of one subgroup's tile."""
    tile, lanes, data = _inner(random, kind, BITS[element])
    if lanes_only:
        rows, columns = random.choice(((1, 1), (1, 1), (2, 1)))
        columns *= 2 if kind == "columns" else 1  # as many columns as rows have lanes
        return Tile(LayoutAttr(lane_layout=lanes, lane_data=data), (tile[0] * rows, tile[1] * columns))
    grid = random.choice([many for many in _MANY if kind not in ("order", "grid") or 1 not in many])
    times = (random.choice((1, 1, 2)), 2 if kind == "columns" else random.choice((1, 1, 2)))
    block = (tile[0] * times[0], tile[1] * times[1])
    shape = [block[dim] * grid[dim] for dim in (0, 1)]
    if kind == "rounds":
        dim = random.choice((0, 1))
        shape[dim] *= 2
    elif kind == "shared":
        dim = random.choice([dim for dim in (0, 1) if grid[dim] > 1])
        shape[dim] = block[dim]
    attribute = LayoutAttr(
        sg_layout=grid,
        sg_data=block,
        inst_data=None if kind == "whole" else tile,
        lane_layout=lanes,
        lane_data=data,
        order=(0, 1) if kind == "order" else None,
    )
    return Tile(attribute, (shape[0], shape[1]))


def turned(attribute: LayoutAttr, permutation: tuple[int, ...] = (1, 0)) -> LayoutAttr:
    """The layout of the transposed tensor in which every work-item has the same elements.

    >>> print(turned(LayoutAttr(lane_layout=(1, 16), lane_data=(1, 2))))
    #xegpu.layout<lane_layout = [16, 1], lane_data = [2, 1], order = [0, 1]>
    """
    rank = len(permutation)
    back = [permutation.index(dim) for dim in range(rank)]
    order = attribute.order or tuple(reversed(range(rank)))
    new_order = tuple(back[dim] for dim in order)

    def field(values: tuple[int, ...] | None) -> tuple[int, ...] | None:
        return None if values is None else tuple(values[dim] for dim in permutation)

    return LayoutAttr(
        sg_layout=field(attribute.sg_layout),
        sg_data=field(attribute.sg_data),
        inst_data=field(attribute.inst_data),
        lane_layout=field(attribute.lane_layout),
        lane_data=field(attribute.lane_data),
        order=None if new_order == tuple(reversed(range(rank))) else new_order,
    )
