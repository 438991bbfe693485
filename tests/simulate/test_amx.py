"""Tiles in a module: memory is read and written row by row, and what the hardware would not do is found or refused."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16
from numpy.typing import NDArray

from layoutalg.amx import pack_vnni
from layoutalg.simulate import Outcome, SimulationError, launch

Array = NDArray[Any]
SPELLINGS = ("amx", "x86.amx")
TYPES = {
    "bf16": (bfloat16, 2),
    "f16": (np.float16, 2),
    "i8": (np.int8, 1),
    "f32": (np.float32, 4),
    "i32": (np.int32, 4),
}


def copying(dialect: str, source: str, target: str, tile: str, load: str, store: str) -> str:
    """A function that loads a tile at `load` (indices, and a stride behind `,`) and stores it at `store`."""
    at, _, stride = load.partition(";")
    to, _, other = store.partition(";")
    names = sorted(set(re.findall(r"c\d+", f"{load} {store}")))
    constants = "\n".join(f"%{name} = arith.constant {name.removeprefix('c')} : index" for name in names)
    return f"""func.func @copy(%source: {source}, %target: {target}) {{
      {constants}
      %x = {dialect}.tile_load %source[{at}]{", " + stride if stride else ""} : {source} into !{dialect}.tile<{tile}>
      {dialect}.tile_store %target[{to}], %x{", " + other if other else ""} : {target}, !{dialect}.tile<{tile}>
      return
    }}"""


def run(text: str, arguments: list[Any], entry: str = "copy", **others: Any) -> Outcome:
    return launch(text, arguments, entry=entry, **others)


def bits(random: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array:
    return random.integers(0, 256, (*shape, np.dtype(dtype).itemsize), np.uint8).view(dtype)[..., 0]


@pytest.mark.parametrize("dialect", SPELLINGS)
@pytest.mark.parametrize("kind", TYPES)
def test_a_tile_is_rows_of_memory(dialect: str, kind: str) -> None:
    random = np.random.default_rng(3)
    dtype, size = TYPES[kind]
    for _ in range(6):
        rows, words = int(random.integers(1, 17)), int(random.integers(1, 17))
        cols = words * 4 // size
        source, target = bits(random, (3, 40, cols + 24), dtype), bits(random, (40, cols + 8), dtype)
        row, column = int(random.integers(0, 41 - rows)), int(random.integers(0, 25))
        expected = target.copy()
        expected[40 - rows :, 8:] = source[1, row : row + rows, column : column + cols]
        of = f"memref<3x40x{cols + 24}x{kind}>"
        text = copying(dialect, of, f"memref<40x{cols + 8}x{kind}>", f"{rows}x{cols}x{kind}",
                       f"%c1, %c{row}, %c{column}", f"%c{40 - rows}, %c8")  # fmt: skip
        assert run(text, [source, target]).findings == ()
        assert target.tobytes() == expected.tobytes()


@pytest.mark.parametrize("stride", [32, 33, 40, 0, 5])
def test_a_stride_counts_elements(stride: int) -> None:
    """Also one that is less than a row: loaded rows overlap, and of rows stored over each other the later one stays."""
    source, target = np.arange(15 * 40 + 64, dtype=np.float16), np.full(15 * 40 + 64, -1, np.float16)
    expected = target.copy()
    for row in range(16):
        start = 7 + row * stride
        expected[3 + row * stride : 35 + row * stride] = source[start : start + 32]
    of = f"memref<{source.size}xf16>"
    text = copying("amx", of, of, "16x32xf16", f"%c7; %c{stride}", f"%c3; %c{stride}")
    assert run(text, [source, target]).findings == ()
    assert np.array_equal(target, expected)


def test_a_stride_of_its_own_leaves_the_dimensions_of_the_memref() -> None:
    source, target = np.arange(4 * 4 * 16, dtype=np.int32).reshape(4, 4, 16), np.zeros((4, 16), np.int32)
    text = copying("amx", "memref<4x4x16xi32>", "memref<4x16xi32>", "4x16xi32", "%c0, %c2, %c0; %c64", "%c0, %c0")
    assert run(text, [source, target]).findings == ()
    assert np.array_equal(target, source[:, 2])


REFUSED = {
    "bad row height: 17": ("memref<64x64xf32>", "17x16xf32", "%c0, %c0"),
    "bad column width: 68": ("memref<64x64xf32>", "16x17xf32", "%c0, %c0"),
    "bad column width: 62": ("memref<64x64xbf16>", "16x31xbf16", "%c0, %c0"),
    "requires at least 2D memref": ("memref<64xf32>", "16x16xf32", "%c0"),
    "requires memref with unit innermost stride": ("memref<64x64xf32, strided<[128, 2]>>", "16x16xf32", "%c0, %c0"),
    "requires 2 indices": ("memref<64x64xf32>", "16x16xf32", "%c0"),
}
"""LLVM's words (see tests/oracle/test_amx_cpu.py), with a memref, a tile and indices that it says them of."""


@pytest.mark.parametrize("words", REFUSED)
def test_what_llvm_refuses_is_refused_in_its_words(words: str) -> None:
    memref, tile, at = REFUSED[words]
    with pytest.raises(SimulationError, match=f"tile_load: {words}$"):
        run(copying("amx", memref, memref, tile, at, at), [1 << 40, 2 << 40])


def products(lhs: str, rhs: str, acc: str, signs: tuple[str, str] = ("", "")) -> str:
    op = "muli" if acc.endswith("i32") else "mulf"

    def memref(tile: str) -> str:
        return f"memref<{tile}>"

    return f"""func.func @multiply(%a: {memref(lhs)}, %b: {memref(rhs)}, %c: {memref(acc)}) {{
      %c0 = arith.constant 0 : index
      %x = amx.tile_load %a[%c0, %c0] : {memref(lhs)} into !amx.tile<{lhs}>
      %y = amx.tile_load %b[%c0, %c0] : {memref(rhs)} into !amx.tile<{rhs}>
      %z = amx.tile_load %c[%c0, %c0] : {memref(acc)} into !amx.tile<{acc}>
      %d = amx.tile_{op} %x {signs[0]}, %y {signs[1]}, %z : !amx.tile<{lhs}>, !amx.tile<{rhs}>, !amx.tile<{acc}>
      amx.tile_store %c[%c0, %c0], %d : {memref(acc)}, !amx.tile<{acc}>
      return
    }}"""


@pytest.mark.parametrize("signs", [("", ""), ("zext", ""), ("", "zext"), ("zext", "zext")])
def test_bytes_are_read_with_the_signs_that_the_operation_says(signs: tuple[str, str]) -> None:
    random = np.random.default_rng(4)
    a, b = bits(random, (5, 12), np.int8), bits(random, (12, 7), np.int8)
    c = random.integers(-(2**31), 2**31, (5, 7)).astype(np.int32)
    left, right = (x.view(np.uint8) if sign else x for x, sign in zip((a, b), signs, strict=True))
    expected = (c + left.astype(np.int64) @ right.astype(np.int64)).astype(np.int32)
    outcome = run(products("5x12xi8", "3x28xi8", "5x7xi32", signs), [a, pack_vnni(b), c], "multiply")
    assert outcome.findings == ()
    assert np.array_equal(c, expected)


def nearest(number: Fraction) -> Fraction:
    """A number rounded to 24 bits, ties to even; below 2^-126 zero."""
    if not number:
        return number
    exponent = 0
    while abs(number) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while abs(number) < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** (exponent - 23)
    rounded = round(number / unit) * unit
    return rounded if abs(rounded) >= Fraction(1, 2**126) else Fraction(0)


def manual(a: Array, b: Array, c: Array) -> Array:
    """TDPBF16PS in exact fractions: an independent statement of the manual's loops."""
    result = np.zeros(c.shape, np.float32)
    for (m, n), start in np.ndenumerate(c):
        chains = [Fraction(0), Fraction(0)]
        for k in range(a.shape[1]):
            chains[k % 2] = nearest(chains[k % 2] + Fraction(float(a[m, k])) * Fraction(float(b[k, n])))
        result[m, n] = float(nearest(Fraction(float(start)) + nearest(chains[0] + chains[1])))
    return result


@pytest.mark.parametrize("scale", [1.0, 2.0**-62, 2.0**-63, 2.0**60])
@pytest.mark.parametrize("kind", ["bf16", "f16"])
def test_floats_follow_the_manual(kind: str, scale: float) -> None:
    """At small scales sums are subnormal, and flushed; at large ones nothing overflows yet."""
    if kind == "f16" and scale != 1.0:
        scale = 2.0**-12
    random = np.random.default_rng(5)
    dtype = TYPES[kind][0]
    a, b = (
        (random.standard_normal(shape) * 2.0 ** random.integers(-3, 4, shape) * scale).astype(dtype)
        for shape in ((3, 12), (12, 4))
    )
    a, b = (np.where(np.abs(x.astype(np.float32)) < 2.0**-126, x.dtype.type(0), x) for x in (a, b))
    c = (random.standard_normal((3, 4)) * scale * scale).astype(np.float32)
    c = np.where(np.abs(c) < 2.0**-126, np.float32(0), c)
    expected = manual(a, b, c)
    assert run(products(f"3x12x{kind}", f"6x8x{kind}", "3x4xf32"), [a, pack_vnni(b), c], "multiply").findings == ()
    assert np.array_equal(c, expected)


WRONG = {
    "a row too many": ("%c1, %c0", "%c0, %c0", "run.out_of_bounds", "element [16, 0] of a memref of 16x16 elements"),
    "a column too many": ("%c0, %c1", "%c0, %c0", "run.out_of_bounds", "element [0, 16] of a memref of 16x16 elements"),
    "a stride too long": (
        "%c0, %c0; %c17",
        "%c0, %c0",
        "run.out_of_bounds",
        "element [256] of a memref of 256 elements",
    ),
    "a row stored too low": (
        "%c0, %c0",
        "%c1, %c0",
        "run.out_of_bounds",
        "element [16, 0] of a memref of 16x16 elements",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_tile_that_leaves_its_memref_is_found(what: str) -> None:
    load, store, rule, message = WRONG[what]
    of = "memref<16x16xf32>"
    found = run(copying("amx", of, of, "16x16xf32", load, store), [np.ones((16, 16), np.float32) for _ in range(2)])
    assert [(one.rule, one.message) for one in found.findings] == [(rule, message)]


def test_reading_what_nobody_wrote_and_writing_an_input_are_found() -> None:
    of = "memref<4x4xf32>"
    body = copying("amx", of, of, "4x4xf32", "%c0, %c0", "%c0, %c0")
    text = body.replace("%c0 = ", f"%m = memref.alloc() : {of}\n%c0 = ").replace("tile_load %source", "tile_load %m")
    source, target = np.ones((4, 4), np.float32), np.zeros((4, 4), np.float32)
    assert [one.rule for one in run(text, [source, target]).findings] == ["run.uninitialised"]
    target.flags.writeable = False
    assert [one.rule for one in run(body, [source, target]).findings] == ["run.input_written"]


def test_kernels_of_a_device_have_no_tiles() -> None:
    text = """gpu.module @k { gpu.func @f() kernel attributes {intel_reqd_sub_group_size = 16 : i32,
      known_block_size = array<i32: 16, 1, 1>} { %z = amx.tile_zero : !amx.tile<16x16xf32> gpu.return } }"""
    with pytest.raises(SimulationError, match=r"amx\.tile_zero: this operation is not simulated"):
        launch(text, [])


@pytest.mark.parametrize(("dialect", "other"), [("amx", "x86.amx"), ("x86.amx", "amx")])
def test_an_operation_with_a_tile_of_the_other_dialect_is_refused(dialect: str, other: str) -> None:
    """No version of LLVM reads both."""
    text = f"func.func @copy() {{ %0 = {dialect}.tile_zero : !{other}.tile<16x16xf32> return }}"
    with pytest.raises(SimulationError, match="is a tile of the other dialect: LLVM 22 calls both amx, LLVM 23 and 24"):
        run(text, [])


def test_a_tile_of_unknown_size_is_refused() -> None:
    text = "func.func @copy() { %0 = amx.tile_zero : !amx.tile<?x16xf32> return }"
    with pytest.raises(SimulationError, match=r"the rows and columns of a tile are numbers$"):
        run(text, [])
