"""A notation from outside the package, modelled on the tiled layouts of JAX's Mosaic for GPUs.

    #tiled.layout<[64, 8] [16, 8] [8, 8] [1, 2], warp = [-8], lane = [-4, -3], vector = -1>

Each tile splits the last dimensions into which tile (left standing) and where in it (split on by the next tile). What stands
at the end is counted from the back: here -1 is the two columns of `[1, 2]`, -4 and -3 the 8 x 4 such pairs in `[8, 8]`, -8 the
four blocks of 16 rows. Those are dealt out to warps and lanes; all others are registers, the vector's fastest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import layoutalg as la
from layoutalg.core.extents import Extent
from layoutalg.core.notation import Operand, as_machine, one_operand
from layoutalg.core.reader import Reader
from layoutalg.core.work_items import cover
from layoutalg.notations import NotationText, register_notation

Ints = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TiledLayout(la.Notation):
    """`#tiled.layout<...>`: tiles of tiles, and which of their dimensions are warps, lanes and the vector."""

    tiling: tuple[Ints, ...]
    warp: Ints
    lane: Ints
    vector: int

    def __post_init__(self) -> None:
        for larger, smaller in zip(self.tiling, self.tiling[1:], strict=False):
            if len(smaller) != len(larger) or any(n % m for n, m in zip(larger, smaller, strict=True)):
                raise la.VerificationError(f"tile {list(smaller)} does not divide {list(larger)}")
        dims = [*self.warp, *self.lane, self.vector]
        standing = len(self.tiling) * len(self.tiling[0]) if self.tiling else 0
        if not all(-standing <= d < 0 for d in dims) or len(set(dims)) != len(dims):
            raise la.VerificationError(f"dimensions {dims}: expected each once, from {-standing} to -1")

    def __str__(self) -> str:
        tiles = " ".join(map(str, map(list, self.tiling)))
        return f"#tiled.layout<{tiles}, warp = {list(self.warp)}, lane = {list(self.lane)}, vector = {self.vector}>"

    @property
    def needs_shape(self) -> bool:
        """True: whole tiles repeat over registers."""
        return True

    def operands(self, shape: Sequence[Extent] | None = None, machine: la.Machine | None = None) -> tuple[Operand, ...]:
        """The layout on `shape`, unless given one tile."""
        sizes = self.tiling[0] if shape is None else tuple(shape)
        rank = len(self.tiling[0])
        if len(sizes) != rank:
            raise la.DistributionError(f"shape {list(sizes)}: expected rank {rank} (of {self})")
        for d, (n, m) in enumerate(zip(sizes, self.tiling[0], strict=True)):
            if n % m:
                raise la.DistributionError(f"dimension {d} has size {n}: a multiple of {m} would fit (in {self})")
        # One row of extents per level, outermost first: the dimensions that are left standing.
        levels = [sizes, *self.tiling]
        inner = [*self.tiling, (1,) * rank]
        rows = [[n // m for n, m in zip(a, b, strict=True)] for a, b in zip(levels, inner, strict=True)]
        counts = [n for row in rows for n in row]
        places = {d % len(counts): ("sg", self.warp) for d in self.warp} | {
            d % len(counts): ("lane", self.lane) for d in self.lane
        }
        orders: dict[str, list[int]] = {"sg": [d % len(counts) for d in self.warp]}
        orders["lane"] = [d % len(counts) for d in self.lane]
        rest = [i for i in range(len(counts)) if i not in places and i != self.vector % len(counts)]
        orders["reg"] = [*rest, self.vector % len(counts)]
        factors: dict[int, la.Factor] = {}
        for axis, order in orders.items():
            for i, at in enumerate(order):
                factors[at] = la.Factor(counts[at], prod(counts[j] for j in order[i + 1 :]), axis)
        dims = [[factors[i] for i in range(d, len(counts), rank)] for d in range(rank)]
        layout = cover(la.Layout(dims).canonical(), as_machine(machine), self)
        return one_operand(f"{self}, {'x'.join(map(str, sizes))}", layout, self.tiling[0])


def read_tiled(reader: Reader) -> TiledLayout:
    """Read one attribute, and leave the reader behind it."""
    reader.expect("#tiled.layout")
    reader.expect("<")
    tiles = [reader.integers(1)]
    while reader.looking_at("["):
        tiles.append(reader.integers(1))
    fields: dict[str, Any] = {}
    for name in ("warp", "lane", "vector"):
        reader.expect(",")
        reader.one_of((name,))
        reader.expect("=")
        fields[name] = reader.integer() if name == "vector" else reader.integers()
    reader.expect(">")
    return TiledLayout(tuple(tiles), **fields)


TILED = NotationText("tiled", re.compile(r"#tiled\."), read_tiled, ("#tiled.layout<",))
register_notation(TILED)
