"""Tile products on the CPU that runs the tests, where it has AMX; and what a CPU with AMX said, for those that have none.

`python -m tests.oracle.amx_cpu` asks the CPU for the products of `samples()` and writes operands and results to
data/amx_cpu.npz. What is there was written by a Xeon with amx_tile, amx_bf16 and amx_int8.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16
from numpy.typing import NDArray

from layoutalg.amx import TileProduct
from tests.oracle.toolchains import require, run

Array = NDArray[Any]
Operands = tuple[Array, Array, Array]

SOURCE = Path(__file__).with_suffix(".c")
RECORDED = Path(__file__).parent / "data" / "amx_cpu.npz"
FEATURES = ("amx_tile", "amx_bf16", "amx_int8")
SIZES = ((16, 16, 16), (1, 1, 1), (5, 7, 3), (16, 3, 15), (2, 16, 8), (11, 9, 16))
"""Rows, columns, words of k."""
SIGNS = ((False, False), (False, True), (True, False), (True, True))


class AmxCpu:
    """The compiled C program of `amx_cpu.c`."""

    def __init__(self, path: Path) -> None:
        self.library = ctypes.CDLL(str(path))
        if self.library.amx_ask() != 0:
            pytest.skip("the kernel gives this process no tile registers")

    def products(self, tile: TileProduct, operands: Operands) -> Array:
        """C after the instruction, for batches of tiles [batch, rows, columns]."""
        a, b, c = (np.ascontiguousarray(operand) for operand in operands)
        result = c.copy()
        known = self.library.amx_products(
            tile.instruction.encode(), ctypes.c_long(len(a)), tile.m, tile.rhs_type.rows, tile.n,
            *(ctypes.c_void_p(array.ctypes.data) for array in (a, b, result)),
        )  # fmt: skip
        assert known, tile.instruction
        return result

    def copy(
        self, rows: int, row_bytes: int, source: Array, source_stride: int, target: Array, target_stride: int
    ) -> None:
        """A tile from bytes to bytes."""
        self.library.amx_copy(
            rows, row_bytes, ctypes.c_void_p(source.ctypes.data), ctypes.c_long(source_stride),
            ctypes.c_void_p(target.ctypes.data), ctypes.c_long(target_stride),
        )  # fmt: skip


def amx_cpu(folder: Path) -> AmxCpu:
    """The CPU, or a skip where it has no AMX: the recorded products stand for it then."""
    info = Path("/proc/cpuinfo")
    flags = set(info.read_text(encoding="utf-8").split()) if info.is_file() else set[str]()
    lacking = [feature for feature in FEATURES if feature not in flags]
    if lacking:
        pytest.skip(f"this CPU has no {lacking[0]}; the products that one with it computed are compared instead")
    path = folder / "amx_cpu.so"
    compiled = run([require("cc"), "-O2", "-shared", "-fPIC", "-mamx-tile", "-mamx-bf16", "-mamx-int8", str(SOURCE),
                    "-o", str(path)])  # fmt: skip
    assert compiled.returncode == 0, compiled.stderr
    return AmxCpu(path)


def any_bits(random: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array:
    """Numbers of any kind: subnormal, infinite, not a number."""
    return random.integers(0, 256, (*shape, np.dtype(dtype).itemsize), np.uint8).view(dtype)[..., 0]


def of_size(random: np.random.Generator, shape: tuple[int, ...], low: int, high: int, dtype: Any) -> Array:
    """Numbers of both signs with exponents from `low` to `high`."""
    number = (1 + random.random(shape)) * 2.0 ** random.integers(low, high + 1, shape)
    return (number * random.choice([-1.0, 1.0], shape)).astype(dtype)


def float_kinds(random: np.random.Generator, tile: TileProduct, count: int) -> Iterator[tuple[str, Operands]]:
    """Operands of bf16 products: ordinary ones, and those where an order, a rounding or a flush shows."""
    of_a, of_b, of_c = ((count, *kind.shape) for kind in (tile.lhs_type, tile.rhs_type, tile.acc_type))
    f32 = np.float32
    yield "ordinary", (of_size(random, of_a, -2, 2, bfloat16), of_size(random, of_b, -2, 2, bfloat16),
                       of_size(random, of_c, -2, 2, f32))  # fmt: skip
    yield "any bits", (any_bits(random, of_a, bfloat16), any_bits(random, of_b, bfloat16), any_bits(random, of_c, f32))
    yield "cancelling", (of_size(random, of_a, -12, 12, bfloat16), of_size(random, of_b, -12, 12, bfloat16),
                         of_size(random, of_c, 10, 26, f32))  # fmt: skip
    yield "subnormal sums", (of_size(random, of_a, -66, -60, bfloat16), of_size(random, of_b, -66, -60, bfloat16),
                             of_size(random, of_c, -130, -120, f32))  # fmt: skip
    yield "subnormal operands", (of_size(random, of_a, -133, -120, bfloat16), of_size(random, of_b, -5, 20, bfloat16),
                                 of_size(random, of_c, -130, -100, f32))  # fmt: skip
    yield "overflowing", (of_size(random, of_a, 60, 66, bfloat16), of_size(random, of_b, 58, 64, bfloat16),
                          of_size(random, of_c, 120, 127, f32))  # fmt: skip
    # 2^-126 less a little: whether that is a normal number shows where it is rounded before it is flushed.
    a, b = np.zeros(of_a, bfloat16), np.zeros(of_b, bfloat16)
    a[..., 0], b[:, 0, ::2] = 2.0**-63, 2.0**-63
    if tile.k > 2:
        a[..., 2] = of_size(random, of_a[:-1], -76, -74, bfloat16)
        b[:, 1, ::2] = of_size(random, (count, tile.n), -76, -75, bfloat16)
    yield "just below the normal numbers", (a, b, np.zeros(of_c, f32))


def byte_operands(random: np.random.Generator, tile: TileProduct, count: int) -> Operands:
    """Bytes and accumulators of any value."""
    of_a, of_b, of_c = ((count, *kind.shape) for kind in (tile.lhs_type, tile.rhs_type, tile.acc_type))
    return any_bits(random, of_a, np.int8), any_bits(random, of_b, np.int8), any_bits(random, of_c, np.int32)


def samples(
    random: np.random.Generator, sizes: tuple[tuple[int, int, int], ...], count: int
) -> Iterator[tuple[str, TileProduct, Operands]]:
    """Products of all kinds in all sizes, `count` of each: a name, the product, its operands."""
    for m, n, words in sizes:
        tile = TileProduct(m, n, 2 * words, "bf16", "bf16")
        for name, operands in float_kinds(random, tile, count):
            yield f"{name} {m}x{n}x{2 * words}", tile, operands
        for signs in SIGNS:
            tile = TileProduct(m, n, 4 * words, "i8", "i8", *signs)
            yield f"{tile.instruction} {m}x{n}x{4 * words}", tile, byte_operands(random, tile, count)


def same_bits(one: Array, other: Array) -> bool:
    """Equal bit for bit, but any NaN is like any other."""
    if one.dtype != np.float32:
        return bool((one == other).all())
    return bool(((one.view(np.int32) == other.view(np.int32)) | (np.isnan(one) & np.isnan(other))).all())


def record(cpu: AmxCpu) -> None:
    """Write operands and what the CPU made of them; bf16 as the bits."""
    arrays: dict[str, Array] = {}
    for number, (name, tile, operands) in enumerate(samples(np.random.default_rng(15), ((5, 7, 3), (3, 4, 16)), 2)):
        parts = (*operands, cpu.products(tile, operands))
        for part, array in zip("abcd", parts, strict=True):
            arrays[f"{number}.{part}"] = array.view(np.uint16) if array.dtype == bfloat16 else array
        arrays[f"{number}.name"] = np.array(f"{tile.instruction}: {name}")
    np.savez_compressed(RECORDED, allow_pickle=False, **arrays)


def recorded() -> Iterator[tuple[str, TileProduct, Operands, Array]]:
    """The products that are written down."""
    with np.load(RECORDED) as arrays:
        for number in range(sum(key.endswith(".name") for key in arrays)):
            a, b, c, d = (arrays[f"{number}.{part}"] for part in "abcd")
            name = str(arrays[f"{number}.name"])
            _, m, n = c.shape
            if a.dtype == np.uint16:
                a, b = a.view(bfloat16), b.view(bfloat16)
                tile = TileProduct(m, n, a.shape[-1], "bf16", "bf16")
            else:
                signs = name.partition(":")[0].removeprefix("tdpb")
                tile = TileProduct(m, n, a.shape[-1], "i8", "i8", signs[0] == "u", signs[1] == "u")
            yield name, tile, (a, b, c), d


if __name__ == "__main__":
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        record(amx_cpu(Path(folder)))
