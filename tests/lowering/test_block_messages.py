"""Blocks are moved by the messages that they are priced by, whatever the order of registers; and what is moved is right."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg.flow.relations import relation_of
from layoutalg.ir import read_module
from layoutalg.lowering import lower
from layoutalg.simulate import launch
from layoutalg.xegpu import LayoutAttr

DTYPES: dict[str, Any] = {"f32": np.float32, "f16": np.float16, "i8": np.int8, "i32": np.int32}
_KERNEL = "kernel attributes {known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32}"
ROWS = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"


def transfer(element: str, rows: int, columns: int, layout: str, at: str = "0, 0", more: str = "") -> str:
    """A block that is loaded and stored in one layout."""
    tile, block = f"!xegpu.tensor_desc<{rows}x{columns}x{element}>", f"vector<{rows}x{columns}x{element}>"
    memory = f"shape : [128, 128], strides : [128, 1] : i64 -> {tile}"
    return f"""gpu.module @m {{ gpu.func @k(%p: i64, %q: i64) {_KERNEL} {{
      %t = xegpu.create_nd_tdesc %p, {memory}
      %x = xegpu.load_nd %t[{at}] <{{layout = {layout}}}> : {tile} -> {block} {more}
      %u = xegpu.create_nd_tdesc %q, {memory}
      xegpu.store_nd %x, %u[{at}] <{{layout = {layout}}}> : {block}, {tile}
      gpu.return }} }}"""


def lowered(text: str, warnings: int = 0) -> str:
    found = lower(la.read(text))
    assert [finding.level for finding in found.findings] == ["warning"] * warnings, found.findings
    assert found.module is not None
    return str(found.module)


def matrix(element: str) -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).integers(-99, 99, (128, 128)).astype(DTYPES[element])


def run(
    text: str, element: str, given: np.ndarray[Any, Any] | None = None, grid: Any = (1, 1, 1)
) -> np.ndarray[Any, Any]:
    given = matrix(element) if given is None else given
    made = np.zeros_like(given)
    assert launch(text, [given, made], grid, level="lane").findings == ()
    return made


def random_case(seed: int) -> tuple[str, int, int, str]:
    rng = random.Random(seed)
    while True:
        element = rng.choice(("f32", "f16", "i8"))
        shape = rng.choice((8, 16, 32)), rng.choice((16, 32))
        attribute = LayoutAttr(
            inst_data=rng.choice((None, None, (8, 16), (16, 16), (16, 8), (8, 32), (32, 16))),
            lane_layout=rng.choice(((1, 16), (1, 16), (16, 1), (2, 8))),
            lane_data=rng.choice(((1, 1), (1, 1), (2, 1), (1, 2), (4, 1), (1, 4))),
        )
        if attribute.check(shape, 24) is None:
            return element, *shape, str(attribute)


@pytest.mark.parametrize("seed", range(16))
def test_what_is_written_is_what_is_priced(seed: int) -> None:
    """As many messages as the demand counts, or none where it has a problem; and the block arrives whole."""
    element, rows, columns, layout = random_case(seed)
    text = transfer(element, rows, columns, layout)
    attribute: Any = la.parse(layout)
    machine = la.Machine(lanes=16)
    shown = ""
    for op in read_module(text).walk():
        relation = relation_of(op) if op.name in ("xegpu.load_nd", "xegpu.store_nd") else None
        for demand in () if relation is None else relation.demands:
            if not shown:
                found = lower(la.read(text))
                assert found.module is not None
                shown = str(found.module)
            problem, price = demand.problem(attribute, machine, "pvc"), demand.price(attribute, machine, "pvc")
            written = len(re.findall(op.name + " ", shown))
            assert (
                price > 0 if problem is None else not price or "inst_data" in layout
            )  # a stated tile is LLVM's message
            if price:
                bits = np.dtype(DTYPES[element]).itemsize * 8
                words = rows * columns * bits // 32 // 16
                moved = price - written * 8 - words
                assert 0 <= moved <= words * 32 // bits, (str(op.name), written, price)
    given = matrix(element)
    made = run(shown, element, given)
    assert np.array_equal(made[:rows, :columns], given[:rows, :columns])
    assert not made[rows:].any()


def test_registers_are_renamed_where_a_message_has_them_in_another_order() -> None:
    """Instruction tiles of 8x16 in row-major order: two messages of 16 rows bring columns after columns."""
    tiles = "#xegpu.layout<inst_data = [8, 16], lane_layout = [1, 16], lane_data = [1, 1]>"
    text = lowered(transfer("f32", 16, 32, tiles))
    assert len(re.findall("xegpu.load_nd .*<16x16xf32>", text)) == 2
    given = matrix("f32")
    assert np.array_equal(run(text, "f32", given)[:16, :32], given[:16, :32])


def test_several_blocks_come_with_one_message() -> None:
    text = lowered(transfer("f16", 8, 32, ROWS))
    assert text.count("xegpu.load_nd") == 1
    assert "!xegpu.tensor_desc<8x16xf16, #xegpu.block_tdesc_attr<array_length = 2 : i64>>" in text
    given = matrix("f16")
    assert np.array_equal(run(text, "f16", given)[:8, :32], given[:8, :32])


def transposing(tile: str) -> str:
    rows, columns = map(int, tile.split("x"))
    block, kind = f"vector<{columns}x{rows}xf32>", f"!xegpu.tensor_desc<{tile}xf32>"
    out = f"!xegpu.tensor_desc<{columns}x{rows}xf32>"
    return f"""gpu.module @m {{ gpu.func @k(%p: memref<16x16xf32>, %q: memref<{columns}x{rows}xf32>) {_KERNEL} {{
      %t = xegpu.create_nd_tdesc %p : memref<16x16xf32> -> {kind}
      %x = xegpu.load_nd %t[0, 0] <{{layout = {ROWS}, transpose = array<i64: 1, 0>}}> : {kind} -> {block}
      %u = xegpu.create_nd_tdesc %q : memref<{columns}x{rows}xf32> -> {out}
      xegpu.store_nd %x, %u[0, 0] <{{layout = {ROWS}}}> : {block}, {out}
      gpu.return }} }}"""


def test_a_transposed_load_is_a_transposed_message() -> None:
    text = lowered(transposing("16x16"))
    assert text.count("transpose = array<i64: 1, 0>") == 2
    given = np.arange(256, dtype=np.float32).reshape(16, 16)
    made = np.zeros((16, 16), np.float32)
    assert launch(text, [given, made], (1, 1, 1), level="lane").findings == ()
    assert np.array_equal(made, given.T)


def test_a_transposed_load_whose_layout_does_not_fit_memory_is_refused_as_llvm_24_does() -> None:
    """LLVM asks the layout of the block as it lies in memory; `check` says the same."""
    module = la.read(transposing("16x8"))
    for findings in (lower(module).findings, la.check(module, llvm=24).findings):
        [finding] = findings
        assert finding.message == "TensorDesc shape is not distributable with the layout"


DOWN = "#xegpu.layout<lane_layout = [16, 1], lane_data = [1, 2]>"


@pytest.mark.parametrize(
    ("arguments", "memory"),
    [
        ("%p: memref<128x128xf16>, %q: memref<128x128xf16>", ": memref<128x128xf16>"),
        ("%p: i64, %q: i64", ", shape : [%h, %w], strides : [%w, %c1] : i64"),
    ],
)
def test_units_of_words_are_counted_in_memory_of_any_kind(arguments: str, memory: str) -> None:
    """Of a memref, and of sizes and places that are values: width, pitch and column are halved."""
    tile, block = "!xegpu.tensor_desc<16x32xf16>", "vector<16x32xf16>"
    text = lowered(
        f"""gpu.module @m {{ gpu.func @k({arguments}) {_KERNEL} {{
      %c1 = arith.constant 1 : index
      %c16 = arith.constant 16 : index
      %b = gpu.block_id x
      %h = arith.constant 128 : index
      %w = arith.addi %h, %b : index
      %at = arith.muli %b, %c16 : index
      %t = xegpu.create_nd_tdesc %p{memory} -> {tile}
      %x = xegpu.load_nd %t[%at, %at] <{{layout = {DOWN}}}> : {tile} -> {block}
      %u = xegpu.create_nd_tdesc %q{memory} -> {tile}
      xegpu.store_nd %x, %u[%at, %at] <{{layout = {DOWN}}}> : {block}, {tile}
      gpu.return }} }}""",
        warnings=1,
    )
    loads = re.findall(r"load_nd .*", text)
    assert len(loads) == 2
    assert all("tensor_desc<16x8xi32>" in load for load in loads)
    given = matrix("f16")
    made = run(text, "f16", given)
    assert np.array_equal(made[:16, :32], given[:16, :32])


def test_a_column_inside_of_a_word_is_loaded_element_by_element() -> None:
    """A 2D block of f16 begins at an even column; another one has no message."""
    for column, loads in ((2, 1), (3, 0)):
        text = lowered(transfer("f16", 16, 16, ROWS, at=f"0, {column}"))
        assert text.count("xegpu.load_nd") == loads
        given = matrix("f16")
        made = run(text, "f16", given)
        assert np.array_equal(made[:16, column : column + 16], given[:16, column : column + 16])


def test_a_prefetch_of_rows_in_lanes_is_a_plain_message() -> None:
    tile = "!xegpu.tensor_desc<16x32xf16>"
    text = lowered(f"""gpu.module @m {{ gpu.func @k(%p: i64, %q: i64) {_KERNEL} {{
      %t = xegpu.create_nd_tdesc %p, shape : [128, 128], strides : [128, 1] : i64 -> {tile}
      xegpu.prefetch_nd %t[0, 0] <{{layout = {DOWN}}}> : {tile}
      %x = xegpu.load_nd %t[0, 0] <{{layout = {ROWS}}}> : {tile} -> vector<16x32xf16>
      %u = xegpu.create_nd_tdesc %q, shape : [128, 128], strides : [128, 1] : i64 -> {tile}
      xegpu.store_nd %x, %u[0, 0] <{{layout = {ROWS}}}> : vector<16x32xf16>, {tile}
      gpu.return }} }}""")
    prefetches = re.findall(r"prefetch_nd .*", text)
    assert prefetches
    assert all("xf16" in one for one in prefetches)
    run(text, "f16")
