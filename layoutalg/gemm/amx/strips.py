"""How the rows (or columns) of C are cut into register blocks: as many whole ones as there are, and the rest.

A strip is `count` blocks of the same heights, one after the other. 100 rows in blocks of two tiles are three blocks of 32 and
one of 4; 60 rows are one of 32, and one whose second tile has 12 rows:

>>> [str(strip) for strip in strips(100, 2)]
['3 x (16, 16) from 0', '1 x (4,) from 96']
>>> [str(strip) for strip in strips(60, 2)]
['1 x (16, 16) from 0', '1 x (16, 12) from 32']

LLVM gives a tile register one shape for a whole function. So a block with a smaller tile takes more registers than a whole
one: each of its shapes has its own. Where that is more than eight, the smaller tile is cut off as a block of its own:

>>> [str(strip) for strip in cut(16, 92, Blocking(1, 6))[1]]
['1 x (16, 16, 16, 16, 16) from 0', '1 x (12,) from 80']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from layoutalg.amx import REGISTERS
from layoutalg.core.errors import PlanError
from layoutalg.core.limits import MAX_EXTENT
from layoutalg.core.whole_numbers import instance_of, listed
from layoutalg.core.whole_numbers import whole_number as whole
from layoutalg.gemm.amx.tiling import TILE, Blocking

__all__ = ["Strip", "any_rows", "cut", "registers_of", "strips"]


@dataclass(frozen=True)
class Strip:
    """`count` blocks of `sum(heights)` rows (or columns) each, from row `first` on.

    >>> Strip(32, 2, (16, 12)).size, Strip(32, 2, (16, 12)).end
    (28, 88)
    """

    first: int
    count: int
    heights: tuple[int, ...]

    def __post_init__(self) -> None:
        heights = listed(self.heights, "heights of a strip", error=PlanError)
        object.__setattr__(self, "first", whole(self.first, "first row of a strip =", 0, MAX_EXTENT, PlanError))
        object.__setattr__(self, "count", whole(self.count, "blocks of a strip =", 1, MAX_EXTENT, PlanError))
        sizes = tuple(whole(one, "height of a tile =", 1, TILE, PlanError) for one in heights)
        if not 1 <= len(sizes) <= REGISTERS:
            raise PlanError(f"a strip of {len(sizes)} tiles: expected 1 to {REGISTERS}")
        object.__setattr__(self, "heights", sizes)

    @property
    def size(self) -> int:
        """Rows of one block."""
        return sum(self.heights)

    @property
    def end(self) -> int:
        """The row behind the last one."""
        return self.first + self.count * self.size

    def __str__(self) -> str:
        return f"{self.count} x {self.heights} from {self.first}"


def strips(size: int, tiles: int, *, joined: bool = True) -> tuple[Strip, ...]:
    """Cut `size` rows into blocks of `tiles` tiles; `joined` leaves the smaller tile in one block with whole ones.

    >>> [str(strip) for strip in strips(60, 2, joined=False)]
    ['1 x (16, 16) from 0', '1 x (16,) from 32', '1 x (12,) from 48']
    """
    size, tiles = whole(size, "rows =", 1, MAX_EXTENT, PlanError), whole(tiles, "tiles =", 1, REGISTERS, PlanError)
    count, rest = divmod(size, TILE * tiles)
    found = [Strip(0, count, (TILE,) * tiles)] if count else []
    first, full, small = count * TILE * tiles, rest // TILE, rest % TILE
    if joined or not full or not small:
        if rest:
            found.append(Strip(first, 1, (TILE,) * full + (small,) * bool(small)))
    else:
        found += [Strip(first, 1, (TILE,) * full), Strip(first + full * TILE, 1, (small,))]
    return tuple(found)


def registers_of(heights: Sequence[int], widths: Sequence[int]) -> int:
    """Tile registers of a block with tiles of these heights and widths, counted by shape.

    Each tile of C has one, and each of the operand with fewer tiles; of the other, each shape has one.

    >>> registers_of((16, 16), (16, 16)), registers_of((16, 12), (16, 12)), registers_of((16,), (16,) * 5 + (12,))
    (7, 8, 9)
    """
    held, streamed = (heights, widths) if len(heights) <= len(widths) else (widths, heights)
    return len(heights) * len(widths) + len(held) + len(set(streamed))


def any_rows(m: int, tiles: int) -> tuple[Strip, ...]:
    """The strips of a number of rows that is known at the call alone, m at most: whole blocks, and each smaller last one.

    Tiles have all 16 rows. A call has one of the smaller blocks at most, where its whole ones end: `first` says nothing of it.

    >>> [str(strip) for strip in any_rows(100, 3)]
    ['2 x (16, 16, 16) from 0', '1 x (16,) from 0', '1 x (16, 16) from 0']
    """
    m, tiles = whole(m, "rows =", 1, MAX_EXTENT, PlanError), whole(tiles, "tiles =", 1, REGISTERS, PlanError)
    padded = -(-m // TILE)
    wholes = [Strip(0, padded // tiles, (TILE,) * tiles)] if padded >= tiles else []
    return (*wholes, *(Strip(0, 1, (TILE,) * rest) for rest in range(1, min(tiles, padded + 1))))


def cut(m: int, n: int, blocking: Blocking) -> tuple[tuple[Strip, ...], tuple[Strip, ...]]:
    """The strips of the rows and of the columns of C, such that every block fits into the registers.

    >>> [[str(strip) for strip in side] for side in cut(13, 10, Blocking(2, 2))]
    [['1 x (13,) from 0'], ['1 x (10,) from 0']]
    """
    instance_of(blocking, Blocking, "blocking", PlanError)
    for rows_joined, columns_joined in ((True, True), (True, False), (False, True), (False, False)):
        rows = strips(m, blocking.rows, joined=rows_joined)
        columns = strips(n, blocking.columns, joined=columns_joined)
        if all(registers_of(row.heights, column.heights) <= REGISTERS for row in rows for column in columns):
            break
    return rows, columns
