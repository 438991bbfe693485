"""XeVM's block messages and products, by hand and beside XeGPU's own."""

from __future__ import annotations

import numpy as np
import pytest

from layoutalg.simulate import SimulationError, launch

HEAD = "kernel attributes {intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: 16, 1, 1>}"
SIZES = "\n".join(f"%c{n} = arith.constant {n} : i32" for n in (0, 8, 16, 64, 32))


def load(bits: int, height: int, packed: bool, result: str) -> str:
    said = (
        f"elem_size_in_bits = {bits} : i32, tile_width = 16 : i32, tile_height = {height} : i32, v_blocks = 1 : i32, "
        f"transpose = false, pack_register = {str(packed).lower()}"
    )
    return (
        f"%x = xevm.blockload2d %s, %c64, %c16, %c64, %c0, %c0 <{{{said}}}> : "
        f"(!llvm.ptr<1>, i32, i32, i32, i32, i32) -> {result}"
    )


def kernel(body: str) -> str:
    pointers = "%s = llvm.inttoptr %a : i64 to !llvm.ptr<1>\n%t = llvm.inttoptr %b : i64 to !llvm.ptr<1>"
    return f"gpu.module @k {{ gpu.func @k(%a: i64, %b: i64) {HEAD} {{\n{SIZES}\n{pointers}\n{body}\ngpu.return }} }}"


def stored(kind: str) -> str:
    said = "elem_size_in_bits = 32 : i32, tile_width = 16 : i32, tile_height = 8 : i32"
    return (
        f"xevm.blockstore2d %t, %c64, %c8, %c64, %c0, %c0, %x <{{{said}}}> : "
        f"(!llvm.ptr<1>, i32, i32, i32, i32, i32, {kind})"
    )


def test_a_block_of_rows_is_copied() -> None:
    source = np.arange(16 * 16, dtype=np.int32).reshape(16, 16)
    target = np.zeros((8, 16), np.int32)
    text = kernel(load(32, 8, False, "vector<8xi32>") + "\n" + stored("vector<8xi32>"))
    assert not launch(text, [source, target], level="lane").findings
    assert np.array_equal(target, source[:8])


def test_packed_rows_lie_in_the_halves_of_an_integer() -> None:
    source = np.arange(16 * 32, dtype=np.int16).reshape(16, 32)
    target = np.zeros((8, 16), np.int32)
    text = kernel(load(16, 16, True, "vector<8xi32>") + "\n" + stored("vector<8xi32>"))
    assert not launch(text, [source, target], level="lane").findings
    rows = source[:, :16].astype(np.int32)
    assert np.array_equal(target, rows[::2] + (rows[1::2] << 16))


def test_a_vector_that_is_not_what_the_message_gives_is_refused() -> None:
    text = kernel(load(32, 8, False, "vector<4xi32>"))
    with pytest.raises(SimulationError, match="8 elements of 32 bits per lane"):
        launch(text, [np.zeros((16, 16), np.int32), np.zeros((8, 16), np.int32)], level="lane")


def test_rows_below_the_surface_read_as_zero_and_are_not_written() -> None:
    source = np.ones((16, 16), np.int32)
    target = np.full((16, 16), 7, np.int32)
    below = load(32, 8, False, "vector<8xi32>").replace("%c0, %c0 <", "%c0, %c8 <").replace("%c64, %c16,", "%c64, %c8,")
    text = kernel(below + "\n" + stored("vector<8xi32>").replace("%c0, %c0, %x", "%c0, %c0, %x"))
    assert not launch(text, [source, target], level="lane").findings
    assert (target[:8] == 0).all()
    assert (target[8:] == 7).all()
