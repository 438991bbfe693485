"""What a picture of memory says of its banks: the bank of an address, and an access that people make, outlined.

Lanes that read a column of row-major memory meet in one bank; an XOR swizzle sends each to a bank of its own:

>>> from layoutalg.core.notation import Operand
>>> from layoutalg.viz.grid import tensor_grid
>>> memory = tensor_grid(Operand("memory", Layout.parse("d0 = 8@addr:32, d1 = 32@addr")))
>>> column = read_at_once(memory)
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

__all__ = ["Read", "read_at_once", "told_of_bank"]

_WORD = 8 * BANK_BYTES


class Read(NamedTuple):
    """Elements of memory that lanes read at once: their drawn cells, and what that costs, with and without a swizzle."""

    cells: list[int]
    told: list[str]


class _Line(NamedTuple):
    """A column or a row, or as much of it as is served at once: what it is called, its rows and columns, its drawn cells."""

    name: str
    rows: Sequence[int]
    columns: Sequence[int]
    cells: list[int]

    @property
    def lanes(self) -> int:
        return len(self.rows) * len(self.columns)

    def addresses(self, grid: Grid, layout: Layout | None = None) -> list[int]:
        """The addresses of its elements, in the grid's memory or in another layout."""
        plane = grid.owner["addr"]
        if layout is None and isinstance(plane, AddressPlane):  # all of it is drawn
            everything = [*plane.cells]
            return [everything[cell] for cell in self.cells]
        found = owner_planes(layout or grid.layout, grid.rows.at(self.rows), grid.columns.at(self.columns))
        return [*found["addr"].cells]


def read_at_once(grid: Grid, cell: int = 0) -> Read | None:
    """The column of a drawn cell, an element for each lane, as many as are served at once; its row where more lanes meet there.

    None where the grid is not memory, or has one element.
    """
    if not grid.tensor or "bank" not in colourings(grid):
        return None
    bits = grid.bits or _WORD
    plain = unswizzled(grid.layout)
    sides = (grid.rows, True), (grid.columns, False)
    lines = [_line(grid, cell, bits, down=down) for side, down in sides if side.size > 1]
    if not lines:
        return None
    line = max(lines, key=lambda one: _cycles(one.addresses(grid, plain), bits))  # of equal ones the column
    told = [f"outlined: {line.name}, read by {counted(line.lanes, 'lane')} at once", _cost(line.addresses(grid), bits)]
    ordered = _cost([row * grid.columns.size + one for row in line.rows for one in line.columns], bits)
    if plain is not None:
        told.append(f"unswizzled: {_cost(line.addresses(grid, plain), bits)}")
    elif ordered != told[-1]:
        told.append(f"row-major: {ordered}")
    return Read(line.cells, told)


def _line(grid: Grid, cell: int, bits: int, *, down: bool) -> _Line:
    """The column of a cell, or its row, as many elements as lanes are served at once."""
    row, column = divmod(cell, grid.shape[1])
    along, other, at = (grid.rows, grid.columns, column) if down else (grid.columns, grid.rows, row)
    count = min(along.size, BANKS * _WORD // max(bits, _WORD))
    drawn = [i for i, n in enumerate(along.starts) if n < count]
    cells = [i * grid.shape[1] + column if down else row * grid.shape[1] + i for i in drawn]
    start = other.starts[at]
    first, last = (",".join(map(str, one)) for one in zip(*along.at([0, count - 1]), strict=True))
    name = (
        f"{'column' if down else 'row'} {','.join(str(one) for (one,) in other.at([start]))}" if other.size > 1 else ""
    )
    part = f"{('rows' if down else 'columns') if name else 'elements'} {first} to {last}"
    name = ", ".join([name] * bool(name) + [part] * (not name or count < along.size))
    return _Line(name, range(count) if down else [start], [start] if down else range(count), cells)


def told_of_bank(grid: Grid, address: int) -> str:
    """The bank of an address, and how that is worked out."""
    bits = grid.bits or _WORD
    bank = number_by(grid, "bank", address)
    if bits == _WORD:
        return f"address {address} is in bank {address} mod {BANKS} = {bank}"
    byte = address * bits // 8
    return f"address {address} is byte {byte}, in bank {byte}/{BANK_BYTES} mod {BANKS} = {bank}"


def _served(addresses: Sequence[int], bits: int) -> list[dict[int, list[int]]]:
    """The words of each bank that serves some, where each lane reads an element."""
    words = [at * bits // _WORD for at in addresses]
    start = min(words) // BANKS * BANKS  # addresses below 0 count from a pointer
    return [one for one in served([word - start for word in words], max(bits // _WORD, 1)) if one]


def _cycles(addresses: Sequence[int], bits: int) -> int:
    return max(map(len, _served(addresses, bits)))


def _cost(addresses: Sequence[int], bits: int) -> str:
    """The words and banks of an element for each lane, and the cycles that they take."""
    busy, cycles = _served(addresses, bits), _cycles(addresses, bits)
    places = f"{counted(sum(map(len, busy)), 'word')} in {counted(len(busy), 'bank')}"
    return f"{places}: {counted(cycles, 'cycle')}, {f'{cycles}-way' if cycles > 1 else 'no'} conflict"
