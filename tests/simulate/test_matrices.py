"""Matrices in shared memory, blocks, and vectors from memory, by definition: Intel's CPU runtime runs none of these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutalg.core.errors import LayoutError
from layoutalg.simulate.launching import launch
from tests.simulate.kernels import found, kernel, run

Array = NDArray[Any]

RAW = 'memref.global "private" @slm : memref<4096xi8, 3>'
ARGUMENTS = "%a: memref<16x32xf32>, %c: memref<16x32xf32>"
LAYOUTS: dict[str, Callable[[int, int], int]] = {
    "": lambda i, j: 32 * i + j,
    ", #xegpu.mem_layout<stride = [1, 16]>": lambda i, j: i + 16 * j,
    ", #xegpu.mem_layout<stride = [40, 1]>": lambda i, j: 40 * i + j,
    ", #xegpu.mem_layout<block = [8, 16]>": lambda i, j: 128 * (2 * (i // 8) + j // 16) + 16 * (i % 8) + j % 16,
    ", #xegpu.mem_layout<stride = [1, 16], block = [8, 16]>": lambda i, j: (
        128 * (i // 8 + 2 * (j // 16)) + i % 8 + 8 * (j % 16)
    ),
}
"""Where element (i, j) of a 16x32 matrix lies, as the dialect's page says."""


def source() -> Array:
    return np.random.default_rng(1).normal(size=(16, 32)).astype(np.float32)


def matrix_run(
    layout: str, body: str, level: str = "lane", items: int = 32, values: list[Any] | None = None
) -> tuple[Array, Any]:
    kind = f"!xegpu.mem_desc<16x32xf32{layout}>"
    made = "%slm = memref.get_global @slm : memref<4096xi8, 3>\n"
    made += f"%m = xegpu.create_mem_desc %slm : memref<4096xi8, 3> -> {kind}\n"
    arrays = values or [source(), np.zeros((16, 32), np.float32)]
    text = kernel(made + body.replace("MATRIX", kind), ARGUMENTS, before=RAW, items=items)
    if level != "lane":
        text = text.replace("%t = gpu.thread_id x", "%t = arith.constant 0 : index")
    outcome = launch(text, arrays, (1, 1, 1), level=level)  # pyright: ignore[reportArgumentType]
    return arrays[1], outcome


FILL = """scf.for %i = %c0 to %c16 step %c1 {
  %e = memref.load %a[%i, %t] : memref<16x32xf32>
  xegpu.store_matrix %e, %m[%i, %t] : f32, MATRIX, index, index
}
gpu.barrier
"""


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_element_of_a_matrix_lies_where_its_layout_says(layout: str) -> None:
    """Written through the matrix, read as plain memory."""
    body = FILL + (
        "%w = memref.view %slm[%c0][] : memref<4096xi8, 3> to memref<1024xf32, 3>\nscf.for %i = %c0 to %c16 step %c1 {\n"
        "%n = arith.muli %i, %c32 : index %o = arith.addi %n, %t : index\n%e = memref.load %w[%o] : memref<1024xf32, 3>\n"
        "memref.store %e, %c[%i, %t] : memref<16x32xf32>\n}"
    )
    result, outcome = matrix_run(layout, body)
    memory, written = np.zeros(1024, np.float32), np.zeros(1024, np.bool_)
    for i in range(16):
        for j in range(32):
            memory[LAYOUTS[layout](i, j)], written[LAYOUTS[layout](i, j)] = source()[i, j], True
    expected, known = memory[:512].reshape(16, 32), written[:512].reshape(16, 32)
    assert (result[known] == expected[known]).all()
    assert [finding.rule for finding in outcome.findings] == ([] if known.all() else ["run.uninitialised"])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("rows", "columns", "row", "column"), [(2, 4, 1, 3), (8, 2, 8, 30), (1, 16, 15, 0)])
def test_a_work_item_has_blocks_of_its_own(layout: str, rows: int, columns: int, row: int, column: int) -> None:
    body = FILL + (
        f"%v = xegpu.load_matrix %m[{row}, {column}] : MATRIX -> vector<{rows}x{columns}xf32>\n"
        f"vector.store %v, %c[%c0, %c0] : memref<16x32xf32>, vector<{rows}x{columns}xf32>"
    )
    result, outcome = matrix_run(layout, body)
    assert found(outcome) == []
    assert (result[:rows, :columns] == source()[row : row + rows, column : column + columns]).all()


def test_a_fragment_with_a_layout_is_a_part_of_the_tile() -> None:
    """Fact 1 of LLVM 22's mistakes: 8x16 in [1, 16] is a column per lane, not eight neighbours."""
    layout = "<{layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>}>"
    body = FILL + (
        f"%o = arith.shrui %t, %c4 : index %p = arith.muli %o, %c16 : index %lane = arith.remui %t, %c16 : index\n"
        f"%v = xegpu.load_matrix %m[8, %p] {layout} : MATRIX, index -> vector<8x1xf32>\n"
        f"xegpu.store_matrix %v, %m[0, %p] {layout} : vector<8x1xf32>, MATRIX, index\ngpu.barrier\n"
        "scf.for %i = %c0 to %c16 step %c1 {\n%e = xegpu.load_matrix %m[%i, %t] : MATRIX, index, index -> f32\n"
        "memref.store %e, %c[%i, %t] : memref<16x32xf32>\n}"
    )
    result, outcome = matrix_run("", body)
    assert found(outcome) == []
    assert (result == np.concatenate([source()[8:], source()[8:]])).all()


def test_several_units_of_a_lane_are_apart() -> None:
    """Fact 2: of 8x32 in [1, 16], lane l has columns l and l + 16."""
    layout = "<{layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>}>"
    body = FILL + (
        f"%lane = arith.remui %t, %c16 : index\n%v = xegpu.load_matrix %m[0, 0] {layout} : MATRIX -> vector<8x2xf32>\n"
        "%far = arith.addi %lane, %c16 : index\n"
        + "\n".join(
            f"%e{r}{u} = vector.extract %v[{r}, {u}] : f32 from vector<8x2xf32> %r{r}{u} = arith.constant {r} : index\n"
            f"memref.store %e{r}{u}, %c[%r{r}{u}, {'%far' if u else '%lane'}] : memref<16x32xf32>"
            for r in range(8)
            for u in range(2)
        )
    )
    result, _ = matrix_run("", body, items=32)
    assert (result[:8] == source()[:8]).all()


def test_a_subgroup_block_gives_consecutive_lanes_consecutive_elements() -> None:
    body = FILL + (
        "%o = arith.shrui %t, %c4 : index %p = arith.muli %o, %c16 : index\n"
        "%v = xegpu.load_matrix %m[8, %p] <{subgroup_block_io}> : MATRIX, index -> vector<8xf32>\n"
        + "\n".join(
            f"%e{r} = vector.extract %v[{r}] : f32 from vector<8xf32> %r{r} = arith.constant {r} : index\n"
            f"memref.store %e{r}, %c[%r{r}, %t] : memref<16x32xf32>"
            for r in range(8)
        )
    )
    result, outcome = matrix_run(", #xegpu.mem_layout<block = [8, 16]>", body)
    assert found(outcome) == []
    assert (result[:8] == source()[8:]).all()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_window_of_a_matrix_is_a_part_of_it(layout: str) -> None:
    window = layout or ", #xegpu.mem_layout<stride = [32, 1]>"
    part = f"!xegpu.mem_desc<8x16xf32{window}>"
    body = FILL + (
        f"%w = xegpu.mem_desc_subview %m[8, 16] : MATRIX -> {part}\n%lane = arith.remui %t, %c16 : index\n"
        f"scf.for %i = %c0 to %c8 step %c1 {{\n%e = xegpu.load_matrix %w[%i, %lane] : {part}, index, index -> f32\n"
        "memref.store %e, %c[%i, %lane] : memref<16x32xf32>\n}"
    )
    result, outcome = matrix_run(layout, body)
    assert found(outcome) == []
    assert (result[:8, :16] == source()[8:, 16:]).all()


@pytest.mark.parametrize(
    ("access", "words"),
    [
        ("%e = xegpu.load_matrix %m[16, 0] : MATRIX -> f32", "element [16, 0] of !xegpu.mem_desc<16x32xf32>"),
        ("%e = xegpu.load_matrix %m[0, 31] : MATRIX -> vector<1x2xf32>", "element [0, 32] of"),
        (
            "%w = xegpu.mem_desc_subview %m[12, 0] : MATRIX -> !xegpu.mem_desc<8x8xf32>",
            "a window of [8, 8] at [12, 0] of",
        ),
    ],
)
def test_what_is_outside_a_matrix_is_out_of_bounds(access: str, words: str) -> None:
    _, outcome = matrix_run("", FILL + access)
    assert [finding.rule for finding in outcome.findings] == ["run.out_of_bounds"]
    assert words in outcome.findings[0].message


@pytest.mark.parametrize("level", ["subgroup", "workgroup"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_tile_goes_through_shared_memory_as_a_whole(level: str, layout: str) -> None:
    """One subgroup: at both levels the value is the whole 8x16 tile."""
    body = (
        "%d = xegpu.create_nd_tdesc %a : memref<16x32xf32> -> !xegpu.tensor_desc<8x16xf32>\n"
        "%e = xegpu.create_nd_tdesc %c : memref<16x32xf32> -> !xegpu.tensor_desc<4x16xf32>\n"
        "%x0 = xegpu.load_nd %d[8, 16] : !xegpu.tensor_desc<8x16xf32> -> vector<8x16xf32>\n"
        "xegpu.store_matrix %x0, %m[4, 8] : vector<8x16xf32>, MATRIX\n"
        "%y = xegpu.load_matrix %m[6, 8] : MATRIX -> vector<4x16xf32>\n"
        "xegpu.store_nd %y, %e[0, 0] : vector<4x16xf32>, !xegpu.tensor_desc<4x16xf32>"
    )
    result, outcome = matrix_run(layout, body, level, items=16)
    assert found(outcome) == []
    assert (result[:4, :16] == source()[10:14, 16:]).all()


# Blocks


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_block_of_one_dimension_is_dealt_to_the_lanes_in_turn(count: int) -> None:
    size = 16 * count
    body = (
        f"%d = xegpu.create_nd_tdesc %a : memref<256xi32> -> !xegpu.tensor_desc<{size}xi32>\n"
        f"%v = xegpu.load_nd %d[32] : !xegpu.tensor_desc<{size}xi32> -> vector<{count}xi32>\n%o = arith.muli %t, %n : index\n"
        f"vector.store %v, %c[%o] : memref<256xi32>, vector<{count}xi32>"
    )
    values = [np.arange(256, dtype=np.int32), np.zeros(256, np.int32)]
    outcome = run(
        f"%n = arith.constant {count} : index\n{body}", "%a: memref<256xi32>, %c: memref<256xi32>", values, items=16
    )
    assert found(outcome) == []
    assert (values[1][:size].reshape(16, count) == 32 + np.arange(size).reshape(count, 16).T).all()


@pytest.mark.parametrize(
    ("kind", "offset"), [("64xf32", "480"), ("8x16xf32, #xegpu.block_tdesc_attr<boundary_check = false>", "12, 0")]
)
def test_only_block_messages_are_clipped(kind: str, offset: str) -> None:
    flat = "xf32>" in kind + ">" and "x16" not in kind
    memory = "memref<512xf32>" if flat else "memref<16x32xf32>"
    shape = (512,) if flat else (16, 32)
    count = 4 if flat else 8
    body = (
        f"%d = xegpu.create_nd_tdesc %a : {memory} -> !xegpu.tensor_desc<{kind}>\n"
        f"%v = xegpu.load_nd %d[{offset}] : !xegpu.tensor_desc<{kind}> -> vector<{count}xf32>"
    )
    values = [source().reshape(shape), np.zeros(shape, np.float32)]
    outcome = run(body, f"%a: {memory}, %c: {memory}", values, items=16)
    assert [finding.rule for finding in outcome.findings] == ["run.out_of_bounds"]


def test_a_block_of_a_memref_of_more_dimensions_has_the_inner_two() -> None:
    body = (
        "%d = xegpu.create_nd_tdesc %a[1, 2, 0, 0] : memref<2x3x8x16xf32> -> !xegpu.tensor_desc<8x16xf32>\n"
        "%e = xegpu.create_nd_tdesc %c : memref<8x16xf32> -> !xegpu.tensor_desc<8x16xf32>\n"
        "%v = xegpu.load_nd %d : !xegpu.tensor_desc<8x16xf32> -> vector<8xf32>\n"
        "xegpu.store_nd %v, %e[0, 0] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>"
    )
    given = np.arange(768, dtype=np.float32).reshape(2, 3, 8, 16)
    values = [given, np.zeros((8, 16), np.float32)]
    assert found(run(body, "%a: memref<2x3x8x16xf32>, %c: memref<8x16xf32>", values, items=16)) == []
    assert (values[1] == given[1, 2]).all()


# Vectors and memory


def vectors(body: str) -> tuple[Array, Any]:
    values = [np.arange(512, dtype=np.float32).reshape(16, 32), np.full((16, 32), -1, np.float32)]
    begin = "%z = arith.constant -5.0 : f32 %c30 = arith.constant 30 : index %c15 = arith.constant 15 : index\n"
    outcome = run(begin + body, ARGUMENTS, values, items=16, before="")
    return values[1], outcome


STORE4 = "%o = arith.constant 0 : index\nvector.store %v, %c[%t, %c0] : memref<16x32xf32>, vector<4xf32>"
MASK = "%mask = arith.constant dense<[true, false, true, false]> : vector<4xi1> %p = vector.broadcast %z : f32 to vector<4xf32>"


def test_masked_loads_and_stores_leave_elements_out() -> None:
    body = f"{MASK}\n%v = vector.maskedload %a[%t, %c3], %mask, %p : memref<16x32xf32>, vector<4xi1>, "
    body += "vector<4xf32> into vector<4xf32>"
    result, outcome = vectors(
        f"{body}\n{STORE4}\nvector.maskedstore %c[%t, %c8], %mask, %v : memref<16x32xf32>, vector<4xi1>, vector<4xf32>"
    )
    row = np.arange(16)[:, None] * 32
    assert found(outcome) == []
    assert (result[:, :4] == np.where([True, False, True, False], row + 3 + np.arange(4), -5)).all()
    assert (result[:, 8:12] == np.where([True, False, True, False], row + 3 + np.arange(4), -1)).all()


def test_gather_and_scatter_have_an_index_for_each_element() -> None:
    index = "%n = arith.constant dense<[7, 0, 31, 7]> : vector<4xindex>\n"
    index += "%q = arith.constant dense<[9, 20, 11, 30]> : vector<4xindex>"
    body = (
        f"{MASK}\n{index}\n%v = vector.gather %a[%t, %c0] [%n], %mask, %p : memref<16x32xf32>, vector<4xindex>, vector<4xi1>, "
        f"vector<4xf32> into vector<4xf32>\n{STORE4}\n"
        "vector.scatter %c[%t, %c0] [%q], %mask, %v : memref<16x32xf32>, vector<4xindex>, vector<4xi1>, vector<4xf32>"
    )
    result, outcome = vectors(body)
    row = np.arange(16) * 32
    assert found(outcome) == []
    assert (result[:, :4] == np.stack([row + 7, row * 0 - 5, row + 31, row * 0 - 5], 1)).all()
    assert (result[:, [9, 11]] == np.stack([row + 7, row + 31], 1)).all()
    assert (result[:, [20, 30]] == -1).all()


def test_a_transfer_pads_beyond_the_memref_and_drops_what_is_written_there() -> None:
    body = (
        "%v = vector.transfer_read %a[%t, %c30], %z : memref<16x32xf32>, vector<4xf32>\n" + STORE4 + "\n"
        "vector.transfer_write %v, %c[%t, %c30] : vector<4xf32>, memref<16x32xf32>"
    )
    result, outcome = vectors(body)
    row = np.arange(16) * 32
    assert found(outcome) == []
    assert (result[:, :4] == np.stack([row + 30, row + 31, row * 0 - 5, row * 0 - 5], 1)).all()
    assert (result[:, 30:] == np.stack([row + 30, row + 31], 1)).all()


def test_a_transfer_may_transpose_and_broadcast() -> None:
    body = (
        "%v = vector.transfer_read %a[%c0, %t], %z {permutation_map = affine_map<(d0, d1) -> (d0)>} : memref<16x32xf32>, "
        f"vector<4xf32>\n{STORE4}\n"
        "%w = vector.transfer_read %a[%c0, %t], %z {permutation_map = affine_map<(d0, d1) -> (0)>} : memref<16x32xf32>, "
        "vector<4xf32>\nvector.store %w, %c[%t, %c8] : memref<16x32xf32>, vector<4xf32>"
    )
    result, outcome = vectors(body)
    assert found(outcome) == []
    assert (result[:, :4] == np.arange(4) * 32 + np.arange(16)[:, None]).all()
    assert (result[:, 8:12] == np.arange(16)[:, None]).all()


def test_a_transfer_that_promises_to_be_inside_must_be() -> None:
    _, outcome = vectors(
        "%v = vector.transfer_read %a[%t, %c30], %z {in_bounds = [true]} : memref<16x32xf32>, vector<4xf32>"
    )
    assert [finding.rule for finding in outcome.findings] == ["run.out_of_bounds"]


def test_a_promised_alignment_must_hold() -> None:
    load = "%v = vector.load %a[%t, %c{}] {{alignment = {} : i64}} : memref<16x32xf32>, vector<4xf32>"
    assert found(vectors(load.format(4, 16))[1]) == []
    assert [finding.rule for finding in vectors(load.format(3, 16))[1].findings] == ["run.misaligned"]
    with pytest.raises(LayoutError, match="power of two"):
        vectors(load.format(4, 24))
