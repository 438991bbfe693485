"""One kernel at workgroup, subgroup and lane level: the same numbers, bit for bit, and those of loops in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16
from numpy.typing import NDArray

from layoutalg.core.errors import LayoutError
from layoutalg.simulate import launch

Array = NDArray[Any]
f32 = np.float32

# C (32 x 64) = A (32 x 32) B (32 x 64): two workgroups side by side of 32x32, of 4 subgroups of 16x16 each.
M, N, K = 32, 64, 32
ATTRIBUTES = "intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: 64, 1, 1>"


def gpu_kernel(body: str) -> str:
    arguments = "%a: i64, %b: i64, %c: i64"
    return f"gpu.module @k {{ gpu.func @f({arguments}) kernel attributes {{{ATTRIBUTES}}} {{\n{body}\ngpu.return }} }}"


def descriptors(a: str, b: str, c: str, kind: str) -> str:
    return (
        f"%ta = xegpu.create_nd_tdesc %a, shape : [{M}, {K}], strides : [{K}, 1] : i64 -> !xegpu.tensor_desc<{a}>\n"
        f"%tb = xegpu.create_nd_tdesc %b, shape : [{K}, {N}], strides : [{N}, 1] : i64 -> !xegpu.tensor_desc<{b}>\n"
        f"%tc = xegpu.create_nd_tdesc %c, shape : [{M}, {N}], strides : [{N}, 1] : i64 -> !xegpu.tensor_desc<{c}>\n"
        "%bx = gpu.block_id x\n%c0 = arith.constant 0 : index\n%c16 = arith.constant 16 : index\n"
        f"%c32 = arith.constant 32 : index\n%depth = arith.constant {K} : index\n%x0 = arith.muli %bx, %c32 : index\n"
    )


def loop(
    row: str, column: str, a: str, b: str, c: str, types: tuple[str, str, str], packed: str = "", by: int = 16
) -> str:
    va, vb, vc = types
    zero = "0.0" if "f" in vc.rsplit("x", 1)[-1] else "0"
    return (
        f"%zero = arith.constant dense<{zero}> : {vc}\n%by = arith.constant {by} : index\n"
        f"%r = scf.for %k = %c0 to %depth step %by iter_args(%acc = %zero) -> ({vc}) {{\n"
        f"%x = xegpu.load_nd %ta[{row}, %k] : !xegpu.tensor_desc<{a}> -> {va}\n"
        f"%y = xegpu.load_nd %tb[%k, {column}]{packed} : !xegpu.tensor_desc<{b}> -> {vb}\n"
        f"%z = xegpu.dpas %x, %y, %acc : {va}, {vb}, {vc} -> {vc}\nscf.yield %z : {vc}\n}}\n"
        f"xegpu.store_nd %r, %tc[{row}, {column}] : {vc}, !xegpu.tensor_desc<{c}>\n"
    )


SUBGROUP = """
%sg = gpu.subgroup_id : index
%c2 = arith.constant 2 : index
%srow = arith.divui %sg, %c2 : index
%scol = arith.remui %sg, %c2 : index
%row1 = arith.muli %srow, %c16 : index
%col1 = arith.muli %scol, %c16 : index
%col = arith.addi %col1, %x0 : index
"""


def at_workgroup(e: str, layout: str = "sg_layout = [2, 2], sg_data = [16, 16]", by: int = 16) -> str:
    def tile(rows: int, columns: int, element: str) -> str:
        return f"{rows}x{columns}x{element}, #xegpu.layout<{layout}>"

    a, b, c = tile(32, by, e), tile(by, 32, e), tile(32, 32, "f32")
    types = (f"vector<32x{by}x{e}>", f"vector<{by}x32x{e}>", "vector<32x32xf32>")
    return gpu_kernel(descriptors(a, b, c, e) + loop("0", "%x0", a, b, c, types, by=by))


def at_subgroup(e: str) -> str:
    a, b, c = f"16x16x{e}", f"16x16x{e}", "16x16xf32"
    types = (f"vector<16x16x{e}>", f"vector<16x16x{e}>", "vector<16x16xf32>")
    return gpu_kernel(descriptors(a, b, c, e) + SUBGROUP.replace("ui ", "si ") + loop("%row1", "%col", a, b, c, types))


def at_lane(e: str) -> str:
    """Two rows of 8 for each subgroup."""
    a, b, c = f"8x16x{e}", f"16x16x{e}", "8x16xf32"
    types = (f"vector<8x{e}>", f"vector<16x{e}>", "vector<8xf32>")
    first = loop("%row1", "%col", a, b, c, types, " <{packed}>")
    second = loop("%row2", "%col", a, b, c, types, " <{packed}>").replace("%zero", "%zero2").replace("%by", "%by2")
    second = second.replace("%r ", "%r2 ").replace("%r,", "%r2,")
    rows = "%c8 = arith.constant 8 : index\n%row2 = arith.addi %row1, %c8 : index\n"
    return gpu_kernel(descriptors(a, b, c, e) + SUBGROUP.replace("ui ", "si ") + rows + first + second)


def by_definition(a: Array, b: Array) -> Array:
    """The chain of pairs, in the order of depth."""
    c = np.zeros((M, N), f32)
    for i in range(M):
        for j in range(N):
            total = f32(0)
            for d in range(0, K, 2):
                total = f32(total + f32(f32(a[i, d]) * f32(b[d, j]) + f32(f32(a[i, d + 1]) * f32(b[d + 1, j]))))
            c[i, j] = total
    return c


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_a_product_is_the_same_at_every_level(element: str) -> None:
    rng = np.random.default_rng(3)
    dtype: Any = np.float16 if element == "f16" else bfloat16
    a, b = rng.standard_normal((M, K)).astype(dtype), rng.standard_normal((K, N)).astype(dtype)
    expected = by_definition(a, b)
    texts = [at_workgroup(element), at_workgroup(element, by=32), at_subgroup(element), at_lane(element)]
    for text in texts:
        c = np.full((M, N), np.nan, f32)
        outcome = launch(text, [a, b, c], (2, 1, 1))
        assert not outcome.findings
        assert np.array_equal(c, expected)


SOURCE = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)


def describe(name: str, pointer: str, rows: int, columns: int, block: str) -> str:
    return (
        f"%{name} = xegpu.create_nd_tdesc %{pointer}, shape : [{rows}, {columns}], strides : [{columns}, 1]"
        f" : i64 -> !xegpu.tensor_desc<{block}>\n"
    )


def test_a_load_at_subgroup_level_transposes_the_tensor() -> None:
    source, target = SOURCE.astype(np.float16), np.zeros((32, 16), np.float16)
    body = describe("t", "a", 64, 64, "16x32xf16") + describe("o", "c", 32, 16, "32x16xf16")
    body += "%x = xegpu.load_nd %t[8, 24] <{transpose = array<i64: 1, 0>}> : !xegpu.tensor_desc<16x32xf16>"
    body += " -> vector<32x16xf16>\nxegpu.store_nd %x, %o[0, 0] : vector<32x16xf16>, !xegpu.tensor_desc<32x16xf16>"
    launch(gpu_kernel(body), [source, source, target], (1, 1, 1))
    assert np.array_equal(target, source[8:24, 24:56].T)


def test_a_packed_tensor_has_pairs_of_rows_next_to_each_other() -> None:
    """A vector of 8x16x2: element (r, c, s) is row 2r + s of column c. The product of it says where each one went."""
    source, target = (SOURCE % 8).astype(np.float16), np.zeros((16, 16), f32)
    body = describe("t", "a", 64, 64, "16x16xf16") + describe("o", "c", 16, 16, "16x16xf32")
    body += "%x = xegpu.load_nd %t[8, 24] <{packed}> : !xegpu.tensor_desc<16x16xf16> -> vector<8x16x2xf16>\n"
    body += "%w = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<16x16xf16> -> vector<16x16xf16>\n"
    body += "%p = xegpu.dpas %w, %x : vector<16x16xf16>, vector<8x16x2xf16> -> vector<16x16xf32>\n"
    body += "xegpu.store_nd %p, %o[0, 0] : vector<16x16xf32>, !xegpu.tensor_desc<16x16xf32>"
    launch(gpu_kernel(body), [source, source, target], (1, 1, 1))
    assert np.array_equal(target, source[:16, :16].astype(f32) @ source[8:24, 24:40].astype(f32))


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ("%l = gpu.lane_id", "at workgroup level, .* no number of a lane"),
        ("%l = gpu.subgroup_id : index", "at workgroup level, .* no number of a subgroup"),
        ("%l = gpu.thread_id x", "at workgroup level, .* no number of a work-item"),
    ],
)
def test_a_kernel_at_workgroup_level_has_no_lanes(operation: str, message: str) -> None:
    text = at_workgroup("f16").replace("%bx = gpu.block_id x", f"%bx = gpu.block_id x\n{operation}")
    arrays = [np.zeros((M, K), np.float16), np.zeros((K, N), np.float16), np.zeros((M, N), f32)]
    with pytest.raises(LayoutError, match=message):
        launch(text, arrays, (2, 1, 1))


def test_the_level_can_be_said() -> None:
    arrays = [np.zeros((M, K), np.float16), np.zeros((K, N), np.float16), np.zeros((M, N), f32)]
    with pytest.raises(LayoutError, match=r"each of 16 lanes holds"):
        launch(at_workgroup("f16"), arrays, (2, 1, 1), level="lane")
    with pytest.raises(LayoutError, match=r"level 'warp': expected lane, subgroup, workgroup"):
        launch(at_workgroup("f16"), arrays, (2, 1, 1), level="warp")  # type: ignore[arg-type]


def test_a_change_of_layout_moves_elements_between_lanes() -> None:
    """A row of 32: lane l holds 2l and 2l + 1 before, l and l + 16 after; the store puts register r into row r."""
    target = np.zeros((2, 16), f32)
    pairs, strided = (f"#xegpu.layout<lane_layout = [1, 16], lane_data = [1, {n}]>" for n in (2, 1))
    body = f"""
      %l = gpu.lane_id
      %n = arith.index_cast %l : index to i32
      %c2 = arith.constant 2 : i32
      %c1 = arith.constant 1 : i32
      %low = arith.muli %n, %c2 : i32
      %high = arith.addi %low, %c1 : i32
      %p = arith.sitofp %low : i32 to f32
      %q = arith.sitofp %high : i32 to f32
      %v = vector.from_elements %p, %q : vector<1x2xf32>
      %w = xegpu.convert_layout %v <{{input_layout = {pairs}, target_layout = {strided}}}> : vector<1x2xf32>
      %s = vector.shape_cast %w : vector<1x2xf32> to vector<2xf32>
    """
    body += describe("o", "c", 2, 16, "2x16xf32")
    body += "xegpu.store_nd %s, %o[0, 0] : vector<2xf32>, !xegpu.tensor_desc<2x16xf32>"
    launch(gpu_kernel(body), [SOURCE, SOURCE, target], (1, 1, 1))
    assert np.array_equal(target, [range(16), range(16, 32)])


@pytest.mark.parametrize(("left", "right"), [("i8", "i8"), ("ui8", "i8"), ("i8", "ui8"), ("ui8", "ui8")])
def test_integer_products_are_exact_for_every_mix_of_signs(left: str, right: str) -> None:
    """C = A B of 8x32 and 32x16, with an accumulator that overflows: 2^31 - 1 plus the product, modulo 2^32."""
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, 256, shape).astype(np.uint8) for shape in ((8, 32), (32, 16)))
    start = np.full((8, 16), 2**31 - 1, np.int32)
    padded_a, padded_b = np.zeros((8, 64), np.uint8), np.zeros((32, 64), np.uint8)
    padded_a[:, :32], padded_b[:, :16] = a, b
    body = describe("ta", "a", 8, 64, f"8x32x{left}") + describe("tb", "b", 32, 64, f"32x16x{right}")
    body += describe("tc", "c", 8, 16, "8x16xi32")
    body += f"%x = xegpu.load_nd %ta[0, 0] : !xegpu.tensor_desc<8x32x{left}> -> vector<16x{left}>\n"
    body += f"%y = xegpu.load_nd %tb[0, 0] <{{packed}}> : !xegpu.tensor_desc<32x16x{right}> -> vector<32x{right}>\n"
    body += "%z = xegpu.load_nd %tc[0, 0] : !xegpu.tensor_desc<8x16xi32> -> vector<8xi32>\n"
    body += f"%d = xegpu.dpas %x, %y, %z : vector<16x{left}>, vector<32x{right}>, vector<8xi32> -> vector<8xi32>\n"
    body += "xegpu.store_nd %d, %tc[0, 0] : vector<8xi32>, !xegpu.tensor_desc<8x16xi32>"
    launch(gpu_kernel(body), [padded_a, padded_b, start], (1, 1, 1))
    signed: dict[str, Any] = {"i8": np.int8, "ui8": np.uint8}
    exact = a.view(signed[left]).astype(np.int64) @ b.view(signed[right]).astype(np.int64) + 2**31 - 1
    assert np.array_equal(start, exact.astype(np.uint32).view(np.int32))


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_a_narrow_accumulator_is_rounded_once_for_each_instruction(element: str) -> None:
    rng = np.random.default_rng(2)
    dtype: Any = np.float16 if element == "f16" else bfloat16
    a = np.zeros((8, 32), dtype)
    a[:, :16] = rng.standard_normal((8, 16))
    b, c = (np.zeros((rows, 32), dtype) for rows in (16, 8))
    b[:, :16], c[:, :16] = rng.standard_normal((16, 16)), rng.standard_normal((8, 16))
    start = c.copy()
    body = describe("ta", "a", 8, 32, f"8x16x{element}") + describe("tb", "b", 16, 32, f"16x16x{element}")
    body += describe("tc", "c", 8, 32, f"8x16x{element}")
    body += f"%x = xegpu.load_nd %ta[0, 0] : !xegpu.tensor_desc<8x16x{element}> -> vector<8x{element}>\n"
    body += f"%y = xegpu.load_nd %tb[0, 0] <{{packed}}> : !xegpu.tensor_desc<16x16x{element}> -> vector<16x{element}>\n"
    body += f"%z = xegpu.load_nd %tc[0, 0] : !xegpu.tensor_desc<8x16x{element}> -> vector<8x{element}>\n"
    types = f"vector<8x{element}>, vector<16x{element}>, vector<8x{element}> -> vector<8x{element}>"
    body += f"%d = xegpu.dpas %x, %y, %z : {types}\n"
    body += f"xegpu.store_nd %d, %tc[0, 0] : vector<8x{element}>, !xegpu.tensor_desc<8x16x{element}>"
    launch(gpu_kernel(body), [a, b, c], (1, 1, 1))
    for i in range(8):
        for j in range(16):
            total = f32(start[i, j])
            for d in range(0, 16, 2):
                total = f32(total + f32(f32(a[i, d]) * f32(b[d, j]) + f32(f32(a[i, d + 1]) * f32(b[d + 1, j]))))
            assert c[i, j] == dtype(total)


def test_tf32_drops_the_low_bits_and_adds_one_product_at_a_time() -> None:
    rng = np.random.default_rng(4)
    a, b = np.zeros((8, 16), f32), np.zeros((8, 16), f32)
    a[:, :8], b[:] = rng.standard_normal((8, 8)), rng.standard_normal((8, 16))
    target = np.zeros((8, 16), f32)
    body = describe("ta", "a", 8, 16, "8x8xtf32") + describe("tb", "b", 8, 16, "8x16xtf32")
    body += describe("tc", "c", 8, 16, "8x16xf32")
    body += "%x = xegpu.load_nd %ta[0, 0] : !xegpu.tensor_desc<8x8xtf32> -> vector<8x8xtf32>\n"
    body += "%y = xegpu.load_nd %tb[0, 0] : !xegpu.tensor_desc<8x16xtf32> -> vector<8x16xtf32>\n"
    body += "%d = xegpu.dpas %x, %y : vector<8x8xtf32>, vector<8x16xtf32> -> vector<8x16xf32>\n"
    body += "xegpu.store_nd %d, %tc[0, 0] : vector<8x16xf32>, !xegpu.tensor_desc<8x16xf32>"
    launch(gpu_kernel(body), [a, b, target], (1, 1, 1))
    cut_a, cut_b = ((x.view(np.uint32) & np.uint32(0xFFFFE000)).view(f32) for x in (a, b))
    for i in range(8):
        for j in range(16):
            total = f32(0)
            for d in range(8):
                total = f32(total + f32(cut_a[i, d] * cut_b[d, j]))
            assert target[i, j] == total


@pytest.mark.parametrize(("m", "n", "k"), [(7, 13, 5), (1, 1, 1)])
def test_a_product_may_be_of_odd_depth_above_lane_level(m: int, n: int, k: int) -> None:
    zero = "%z = arith.constant 0 : index"
    loads = [
        f"%{name} = vector.load %{memory}[%z, %z] : memref<{rows}x{columns}xf16>, vector<{rows}x{columns}xf16>"
        for name, memory, rows, columns in (("x", "a", m, k), ("y", "b", k, n))
    ]
    types = f"vector<{m}x{k}xf16>, vector<{k}x{n}xf16> -> vector<{m}x{n}xf32>"
    stored = f"vector.store %r, %c[%z, %z] : memref<{m}x{n}xf32>, vector<{m}x{n}xf32>"
    body = "\n".join((zero, *loads, f"%r = xegpu.dpas %x, %y : {types}", stored))
    memories = "%a: i64, %b: i64, %c: i64", f"%a: memref<{m}x{k}xf16>, %b: memref<{k}x{n}xf16>, %c: memref<{m}x{n}xf32>"
    random = np.random.default_rng(0)
    a, b = (random.integers(-4, 5, shape).astype(np.float16) for shape in ((m, k), (k, n)))
    c = np.zeros((m, n), f32)
    launch(gpu_kernel(body).replace(*memories), [a, b, c], (1, 1, 1), level="workgroup")
    assert np.array_equal(c, a.astype(f32) @ b.astype(f32))
