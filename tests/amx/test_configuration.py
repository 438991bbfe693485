"""The 64-byte tile configuration, against the offsets of the Intel manual's LDTILECFG."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from layoutalg.amx import TileConfig, TileType
from layoutalg.core import LayoutError, VerificationError

TILES = [TileType(16, 64, "i8"), TileType(3, 14, "bf16"), TileType(5, 7, "f32")]


def record(
    palette: int = 1, start_row: int = 0, colsb: dict[int, int] | None = None, rows: dict[int, int] | None = None
) -> bytes:
    """Byte 0 palette, byte 1 start row, 16-bit bytes per row from byte 16 on, rows from byte 48 on."""
    data = bytearray(64)
    data[0], data[1] = palette, start_row
    for tmm, value in (colsb or {}).items():
        data[16 + 2 * tmm : 18 + 2 * tmm] = value.to_bytes(2, "little")
    for tmm, value in (rows or {}).items():
        data[48 + tmm] = value
    return bytes(data)


def test_the_record_has_the_manuals_offsets() -> None:
    expected = record(colsb={0: 64, 1: 28, 2: 28}, rows={0: 16, 1: 3, 2: 5})
    config = TileConfig.of(TILES)
    assert config.to_bytes() == expected
    assert TileConfig.from_bytes(expected) == config
    assert TileConfig.from_bytes(memoryview(expected)) == config  # type: ignore[arg-type]


def test_every_register_has_its_place() -> None:
    for tmm in range(8):
        data = record(start_row=tmm, colsb={tmm: 60}, rows={tmm: 1 + tmm})
        config = TileConfig.from_bytes(data)
        assert (config.colsb[tmm], config.rows[tmm], config.start_row) == (60, 1 + tmm, tmm)
        assert config.to_bytes() == data


def test_eight_tiles_fit_and_a_ninth_does_not() -> None:
    tile = TileType(16, 16, "f32")
    assert TileConfig.of([tile] * 8).rows == (16,) * 8
    with pytest.raises(VerificationError, match="9 tiles: there are 8 tile registers, tmm0 to tmm7"):
        TileConfig.of([tile] * 9)
    with pytest.raises(VerificationError, match="9 tiles: there are 8 tile registers"):
        TileConfig((1,) * 9, (4,) * 9)


def test_a_tile_that_fits_no_register_is_refused_in_llvms_words() -> None:
    with pytest.raises(VerificationError, match="bad row height: 17"):
        TileConfig.of([TILES[0], TileType(17, 64, "i8")])
    with pytest.raises(VerificationError, match="tmm0"):
        TileConfig.of(["!amx.tile<16x64xi8>"])  # type: ignore[list-item]
    with pytest.raises(VerificationError, match="expected a list of TileType"):
        TileConfig.of(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (record(palette=0), "palette 0"),
        (record(palette=2, colsb={0: 64}, rows={0: 16}), "palette 2"),
        (record(colsb={3: 65}, rows={3: 16}), "tmm3 with bytes per row = 65"),
        (record(colsb={3: 512}, rows={3: 16}), "tmm3 with bytes per row = 512"),
        (record(colsb={7: 64}, rows={7: 17}), "tmm7 with rows = 17"),
        (record(colsb={1: 64}), "tmm1: 0 rows of 64 bytes"),
        (record(rows={1: 4}), "tmm1: 4 rows of 0 bytes"),
        (record(start_row=16), "start_row = 16"),
        (record()[:2] + b"\1" + record()[3:], "byte 2 is 1"),
        (record()[:32] + b"\1" + record()[33:], "byte 32 is 1"),
        (record()[:63] + b"\1", "byte 63 is 1"),
    ],
)
def test_records_that_the_cpu_would_not_take_are_refused(data: bytes, says: str) -> None:
    with pytest.raises(VerificationError) as caught:
        TileConfig.from_bytes(data)
    assert says in str(caught.value)


@pytest.mark.parametrize("value", [b"", bytes(63), bytes(65), "0" * 64, None, [0] * 64])
def test_what_is_no_record_is_refused(value: Any) -> None:
    with pytest.raises(LayoutError, match="64"):
        TileConfig.from_bytes(value)


@pytest.mark.parametrize(
    ("rows", "colsb"),
    [((1, 2), (4,)), (("1",), (4,)), (16, 64), ((-1,), (4,)), ((10**5000,), (4,)), ((1.0,), (4,))],
    ids=lambda value: type(value).__name__,
)
def test_sizes_that_are_none_are_refused(rows: Any, colsb: Any) -> None:
    with pytest.raises(VerificationError):
        TileConfig(rows, colsb)


def test_values_are_frozen_hashable_and_picklable() -> None:
    config = TileConfig.of(TILES)
    assert {config: 1}[TileConfig((16, 3, 5), (64, 28, 28))] == 1
    assert pickle.loads(pickle.dumps(config)) == config
    with pytest.raises(AttributeError):
        config.rows = ()  # type: ignore[misc]
