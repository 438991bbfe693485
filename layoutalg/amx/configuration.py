"""The tile configuration: the 64 bytes that LDTILECFG reads before any tile is used.

Palette 1 has eight tile registers of at most 16 rows of 64 bytes. Its record (Intel 64 manual, LDTILECFG):

    byte 0        palette: 1
    byte 1        start_row: where an interrupted load goes on, 0 otherwise
    bytes 16-31   colsb[8]: bytes per row of each register, 16 bits each, little end first
    bytes 48-55   rows[8]: rows of each register
    the others    0

>>> config = TileConfig.of([TileType(16, 64, "i8"), TileType(16, 64, "i8"), TileType(16, 16, "i32")])
>>> config.to_bytes()[16:24].hex(" "), config.to_bytes()[48:52].hex(" ")
('40 00 40 00 40 00 00 00', '10 10 10 00')
>>> TileConfig.from_bytes(config.to_bytes()) == config
True

The record has no element types: what is kept is rows and bytes per row; a register that is not used has 0 of both.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from layoutalg.amx.tiles import BYTES_PER_ROW, REGISTERS, ROWS, TileType, as_tile
from layoutalg.core.errors import LayoutError, VerificationError
from layoutalg.core.limits import MOST_TILES_GIVEN
from layoutalg.core.notebook import table
from layoutalg.core.whole_numbers import as_ints, listed, whole_number

__all__ = ["PALETTE", "TileConfig"]

PALETTE = 1
"""The palette with eight registers of 1 KiB, the only one with registers."""

_RECORD = struct.Struct("<BB14x8H16x8B8x")
_RESERVED = (*range(2, 16), *range(32, 48), *range(56, 64))


@dataclass(frozen=True, slots=True)
class TileConfig:
    """Rows and bytes per row of each register, tmm0 first; registers beyond those given are not used.

    Raises `VerificationError` for what LDTILECFG would fault on: a ninth register, more than 16 rows or 64 bytes per row,
    rows without bytes or bytes without rows.

    >>> TileConfig((16, 8), (64, 32)).rows
    (16, 8, 0, 0, 0, 0, 0, 0)
    >>> TileConfig((17,), (64,))
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: tmm0 with rows = 17: expected a whole number from 0 to 16
    """

    rows: tuple[int, ...]
    colsb: tuple[int, ...]
    start_row: int = 0

    def _repr_html_(self) -> str:
        used = [
            (f"tmm{i}", rows, width) for i, (rows, width) in enumerate(zip(self.rows, self.colsb, strict=True)) if rows
        ]
        return table(["register", "rows", "bytes in a row"], used)

    def __post_init__(self) -> None:
        for given in (self.rows, self.colsb):  # a range may be longer than memory
            if isinstance(given, (tuple, list, range)) and given[MOST_TILES_GIVEN:]:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise VerificationError(
                    f"more than {MOST_TILES_GIVEN} tiles: there are {REGISTERS} tile registers, tmm0 to tmm7"
                )
        rows, colsb = as_ints("rows", self.rows), as_ints("colsb", self.colsb)
        if len(rows) != len(colsb):
            raise VerificationError(
                f"rows of {len(rows)} registers, colsb of {len(colsb)}: expected one of each apiece"
            )
        if len(rows) > REGISTERS:
            raise VerificationError(f"{len(rows)} tiles: there are {REGISTERS} tile registers, tmm0 to tmm7")
        start = whole_number(self.start_row, "start_row =", 0, ROWS - 1, VerificationError)
        object.__setattr__(self, "start_row", start)
        for tmm, (height, width) in enumerate(zip(rows, colsb, strict=True)):
            whole_number(height, f"tmm{tmm} with rows =", 0, ROWS, VerificationError)
            whole_number(width, f"tmm{tmm} with bytes per row =", 0, BYTES_PER_ROW, VerificationError)
            if bool(height) != bool(width):
                raise VerificationError(
                    f"tmm{tmm}: {height} rows of {width} bytes, expected both or (for an unused register) neither"
                )
        unused = (0,) * (REGISTERS - len(rows))
        object.__setattr__(self, "rows", rows + unused)
        object.__setattr__(self, "colsb", colsb + unused)

    @staticmethod
    def of(tiles: Sequence[TileType]) -> TileConfig:
        """The configuration for tiles in tmm0, tmm1, and so on.

        Raises `VerificationError` for a ninth tile, and for a tile that fits no register (in LLVM's words).

        >>> TileConfig.of([TileType(16, 16, "f32")] * 9)
        Traceback (most recent call last):
        layoutalg.core.errors.VerificationError: 9 tiles: there are 8 tile registers, tmm0 to tmm7
        """
        if not isinstance(tiles, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise VerificationError(f"tiles of type {type(tiles).__name__}: expected a list of TileType")
        given = listed(tiles, "tiles", error=VerificationError)
        if len(given) > REGISTERS:
            raise VerificationError(f"{len(given)} tiles: there are {REGISTERS} tile registers, tmm0 to tmm7")
        for tmm, tile in enumerate(given):
            problem = as_tile(f"tmm{tmm}", tile).check()
            if problem is not None:
                raise VerificationError(f"{problem} (in {tile} for tmm{tmm})")
        return TileConfig(tuple(t.rows for t in given), tuple(t.row_bytes for t in given))

    @staticmethod
    def from_bytes(record: bytes) -> TileConfig:
        """Read the 64-byte record.

        Raises `LayoutError` for another length, `VerificationError` for another palette or for reserved bytes that are not
        0 (LDTILECFG faults on both; palette 0 means that no tile is configured).

        >>> TileConfig.from_bytes(bytes(64))
        Traceback (most recent call last):
        layoutalg.core.errors.VerificationError: palette 0: expected 1 (0 configures no tile)
        """
        if not isinstance(record, (bytes, bytearray, memoryview)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise LayoutError(f"a tile configuration of type {type(record).__name__}: expected 64 bytes")
        data = bytes(record)
        if len(data) != _RECORD.size:
            raise LayoutError(f"a tile configuration of {len(data)} bytes: expected {_RECORD.size}")
        palette, start_row, *sizes = _RECORD.unpack(data)
        if palette != PALETTE:
            raise VerificationError(
                f"palette {palette}: expected {PALETTE}{'' if palette else ' (0 configures no tile)'}"
            )
        for at in _RESERVED:
            if data[at]:
                raise VerificationError(f"byte {at} is {data[at]}: expected 0, it is reserved")
        return TileConfig(tuple(sizes[REGISTERS:]), tuple(sizes[:REGISTERS]), start_row)

    def to_bytes(self) -> bytes:
        """The 64-byte record.

        >>> len(TileConfig((), ()).to_bytes())
        64
        """
        return _RECORD.pack(PALETTE, self.start_row, *self.colsb, *self.rows)
