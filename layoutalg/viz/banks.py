"""What a picture of memory says of its banks: the bank of an address, and an access that people make, outlined.

Lanes that read a column of row-major memory meet in one bank; an XOR swizzle sends each to a bank of its own:

>>> from layoutalg.core.notation import Operand
>>> from layoutalg.viz.grid import tensor_grid
>>> memory = tensor_grid(Operand("memory", Layout.parse("d0 = 8@addr:32, d1 = 32@addr")))
>>> column = column_read(memory)
>>> column.cells == [i * memory.shape[1] for i in range(8)], column.told
(True, ['outlined: column 0, read by 8 lanes at once', '8 words in 1 bank: 8 cycles, 8-way conflict'])
>>> told_of_bank(memory, 32)
'address 32 is in bank 32 mod 32 = 0'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from layoutalg.core.banks import BANK_BYTES, BANKS, served
from layoutalg.core.layout import Layout
from layoutalg.core.plurals import counted
from layoutalg.core.swizzle import unswizzled
from layoutalg.viz.colouring import colourings, number_by
from layoutalg.viz.grid import AddressPlane, Grid, owner_planes

__all__ = ["ColumnRead", "column_read", "told_of_bank"]

_WORD = 8 * BANK_BYTES


class ColumnRead(NamedTuple):
    """A column of memory that lanes read at once: its drawn cells, and what that costs, with and without a swizzle."""

    cells: list[int]
    told: list[str]


def column_read(grid: Grid, column: int = 0) -> ColumnRead | None:
    """The first rows of a drawn column, one for each lane, as many as are served at once; of one row, its first elements.

    None where the grid is not memory, or has one element.
    """
    if not grid.tensor or "bank" not in colourings(grid):
        return None
    across = grid.shape[1]
    down = grid.rows.size > 1
    side = grid.rows if down else grid.columns
    bits = grid.bits or _WORD
    count = min(side.size, BANKS * _WORD // max(bits, _WORD))
    if count < 2:
        return None
    start = grid.columns.starts[column] if down else 0
    rows, columns = (range(count), [start]) if down else ([0], range(count))
    names = [",".join(map(str, one)) for one in zip(*side.at([0, count - 1]), strict=True)]

    def at(layout: Layout) -> list[int]:
        plane = owner_planes(layout, grid.rows.at(rows), grid.columns.at(columns))["addr"]
        return [*plane.cells]

    plane = grid.owner["addr"]
    drawn = [(n, i) for i, n in enumerate(side.starts) if n < count]
    cells = [i * across + column if down else i for _, i in drawn]
    if isinstance(plane, AddressPlane):  # all of it is drawn
        everything = [*plane.cells]
        addresses = [everything[cell] for cell in cells]
    else:
        addresses = at(grid.layout)
    of = f"column {grid.columns.at([start])[0][0]}" if down and grid.columns.size > 1 else "elements"
    if count < side.size or not down:
        of += f"{', rows' * (of != 'elements')} {names[0]} to {names[1]}"
    told = [f"outlined: {of}, read by {counted(count, 'lane')} at once", _cost(addresses, bits)]
    plain = unswizzled(grid.layout)
    ordered = [row * grid.columns.size + one for row in rows for one in columns]
    if plain is not None:
        told.append(f"unswizzled: {_cost(at(plain), bits)}")
    elif _cost(ordered, bits) != told[-1]:
        told.append(f"row-major: {_cost(ordered, bits)}")
    return ColumnRead(cells, told)


def told_of_bank(grid: Grid, address: int) -> str:
    """The bank of an address, and how that is worked out."""
    bits = grid.bits or _WORD
    bank = number_by(grid, "bank", address)
    if bits == _WORD:
        return f"address {address} is in bank {address} mod {BANKS} = {bank}"
    byte = address * bits // 8
    return f"address {address} is byte {byte}, in bank {byte}/{BANK_BYTES} mod {BANKS} = {bank}"


def _cost(addresses: Sequence[int], bits: int) -> str:
    """The words and banks of an element for each lane, and the cycles that they take."""
    busy = [words for words in served([at * bits // _WORD for at in addresses], max(bits // _WORD, 1)) if words]
    cycles = max(map(len, busy))
    places = f"{counted(sum(map(len, busy)), 'word')} in {counted(len(busy), 'bank')}"
    return f"{places}: {counted(cycles, 'cycle')}, {f'{cycles}-way' if cycles > 1 else 'no'} conflict"
