"""The simulator against brute force: loops over elements and numbers worked out by hand."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutalg.core.errors import LayoutError, ParseError
from layoutalg.simulate import Memory, launch, run_kernel
from tests.oracle.toolchains import require
from tests.oracle.toolchains import run as run_program

Array = NDArray[Any]

HEAD = "intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: {items}, 1, 1>"


def kernel(body: str, arguments: str = "%src: i64, %dst: i64", items: int = 16) -> str:
    attributes = HEAD.format(items=items)
    return f"gpu.module @k {{ gpu.func @f({arguments}) kernel attributes {{{attributes}}} {{\n{body}\ngpu.return }} }}"


def describe(name: str, pointer: str, rows: int, columns: int, block: str, pitch: int | None = None) -> str:
    return (
        f"%{name} = xegpu.create_nd_tdesc %{pointer}, shape : [{rows}, {columns}], strides : [{pitch or columns}, 1]"
        f" : i64 -> !xegpu.tensor_desc<{block}>\n"
    )


def run(text: str, source: Array, target: Array, grid: tuple[int, int, int] = (1, 1, 1), **options: Any) -> None:
    memory = Memory()
    run_kernel(text, [memory.bind("source", source), memory.bind("target", target)], grid, memory, **options)


def numbered(rows: int, columns: int, dtype: Any) -> Array:
    return np.arange(rows * columns, dtype=np.int64).reshape(rows, columns).astype(dtype)


def load_then_store(load: str, block: str, vector: str, source: Array, registers: int, element: str) -> Array:
    """Every lane's registers after a load, seen by storing them one by one as rows: [register, lane]."""
    name = {"f16": np.float16, "f32": np.float32}[element]
    target = np.full((registers, 32), 9999, name)
    rows, columns = source.shape
    body = describe("t", "src", rows, columns, block) + load + "\n"
    body += describe("o", "dst", registers, 32, f"1x16x{element}")
    body += "".join(
        f"%e{r} = vector.extract %x[{r}] : {element} from {vector}\n"
        f"%v{r} = vector.broadcast %e{r} : {element} to vector<1x{element}>\n"
        f"xegpu.store_nd %v{r}, %o[{r}, 0] : vector<1x{element}>, !xegpu.tensor_desc<1x16x{element}>\n"
        for r in range(registers)
    )
    run(kernel(body), source, target)
    assert (target[:, 16:] == target.dtype.type(9999)).all()
    return target[:, :16]


def test_a_load_puts_row_r_of_column_l_into_register_r_of_lane_l() -> None:
    source = numbered(64, 32, np.float16)
    load = "%x = xegpu.load_nd %t[3, 16] : !xegpu.tensor_desc<8x16xf16> -> vector<8xf16>"
    held = load_then_store(load, "8x16xf16", "vector<8xf16>", source, 8, "f16")
    for register in range(8):
        for lane in range(16):
            assert held[register, lane] == source[3 + register, 16 + lane]


def test_a_packed_load_puts_pairs_of_rows_next_to_each_other() -> None:
    """SPV_INTEL_2d_block_io: transform puts the rows of one column into one 32-bit component, the low row low."""
    source = numbered(64, 32, np.float16)
    load = "%x = xegpu.load_nd %t[32, 0] <{packed}> : !xegpu.tensor_desc<16x16xf16> -> vector<16xf16>"
    held = load_then_store(load, "16x16xf16", "vector<16xf16>", source, 16, "f16")
    for component in range(8):
        for half in range(2):
            for lane in range(16):
                assert held[2 * component + half, lane] == source[32 + 2 * component + half, lane]


def test_two_blocks_of_an_array_follow_each_other() -> None:
    source = numbered(16, 64, np.float16)
    kind = "8x16xf16, #xegpu.block_tdesc_attr<array_length = 2 : i64>"
    load = f"%x = xegpu.load_nd %t[0, 16] : !xegpu.tensor_desc<{kind}> -> vector<16xf16>"
    held = load_then_store(load, kind, "vector<16xf16>", source, 16, "f16")
    for block in range(2):
        for row in range(8):
            for lane in range(16):
                assert held[8 * block + row, lane] == source[row, 16 + 16 * block + lane]


def test_a_transposed_load_gives_lane_l_the_row_l() -> None:
    source = numbered(16, 16, np.float32)
    load = (
        "%x = xegpu.load_nd %t[0, 8] <{transpose = array<i64: 1, 0>}> : !xegpu.tensor_desc<16x8xf32> -> vector<8xf32>"
    )
    held = load_then_store(load, "16x8xf32", "vector<8xf32>", source, 8, "f32")
    for register in range(8):
        for lane in range(16):
            assert held[register, lane] == source[lane, 8 + register]


@pytest.mark.parametrize(("row", "column"), [(-2, 0), (0, -4), (60, 0), (0, 24), (61, 30), (1000, 1000), (-8, -16)])
def test_reads_outside_the_matrix_give_zero_and_writes_outside_are_dropped(row: int, column: int) -> None:
    source, target = numbered(64, 32, np.float32), np.full((64, 32), -1, np.float32)
    body = describe("t", "src", 64, 32, "8x16xf32") + describe("o", "dst", 64, 32, "8x16xf32")
    body += f"%x = xegpu.load_nd %t[{row}, {column}] : !xegpu.tensor_desc<8x16xf32> -> vector<8xf32>\n"
    body += f"xegpu.store_nd %x, %o[{column}, {row}] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>"
    run(kernel(body), source, target)
    expected = np.full((64, 32), -1, np.float32)
    for i in range(8):
        for j in range(16):
            inside = 0 <= row + i < 64 and 0 <= column + j < 32
            value = source[row + i, column + j] if inside else 0
            if 0 <= column + i < 64 and 0 <= row + j < 32:
                expected[column + i, row + j] = value
    assert (target == expected).all()


def test_the_pitch_separates_rows_and_the_padding_is_left_alone() -> None:
    source, target = numbered(8, 48, np.float32), np.zeros((8, 48), np.float32)
    body = describe("t", "src", 8, 16, "8x16xf32", 48) + describe("o", "dst", 8, 16, "8x16xf32", 48)
    body += "%x = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<8x16xf32> -> vector<8xf32>\n"
    body += "xegpu.store_nd %x, %o[0, 0] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>"
    run(kernel(body), source, target)
    assert (target[:, :16] == source[:, :16]).all()
    assert (target[:, 16:] == 0).all()


def test_offsets_in_the_descriptor_updates_and_offsets_of_the_message_add_up() -> None:
    source, target = numbered(64, 64, np.float32), np.zeros((8, 16), np.float32)
    kind = "!xegpu.tensor_desc<8x16xf32>"
    body = f"%t = xegpu.create_nd_tdesc %src[1, 2], shape : [64, 64], strides : [64, 1] : i64 -> {kind}\n"
    body += f"%u = xegpu.update_nd_offset %t, [10, 20] : {kind}\n"
    body += f"%x = xegpu.load_nd %u[5, 7] : {kind} -> vector<8xf32>\n"
    body += describe("o", "dst", 8, 16, "8x16xf32")
    body += f"xegpu.store_nd %x, %o : vector<8xf32>, {kind}"
    run(kernel(body), source, target)
    assert (target == source[16:24, 29:45]).all()


@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize("with_accumulator", [True, False])
def test_dpas_adds_pairs_of_products_in_the_order_of_depth(element: str, with_accumulator: bool) -> None:
    rng = np.random.default_rng(1)
    dtype: Any = np.float16
    if element == "bf16":
        from ml_dtypes import bfloat16

        dtype = bfloat16
    a, b = rng.standard_normal((8, 32)).astype(dtype), rng.standard_normal((16, 32)).astype(dtype)
    # One source buffer: A in rows 0-7, B in rows 8-23.
    source, target = np.vstack([a, b]), np.full((8, 16), 0.1, np.float32)
    start = target.copy()
    body = describe("t", "src", 24, 32, f"8x16x{element}") + describe("p", "src", 24, 32, f"16x16x{element}")
    body += describe("o", "dst", 8, 16, "8x16xf32")
    body += f"%a = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<8x16x{element}> -> vector<8x{element}>\n"
    body += f"%b = xegpu.load_nd %p[8, 0] <{{packed}}> : !xegpu.tensor_desc<16x16x{element}> -> vector<16x{element}>\n"
    body += "%c = xegpu.load_nd %o[0, 0] : !xegpu.tensor_desc<8x16xf32> -> vector<8xf32>\n"
    operands, types = "%a, %b", f"vector<8x{element}>, vector<16x{element}>"
    if with_accumulator:
        operands, types = operands + ", %c", types + ", vector<8xf32>"
    body += f"%d = xegpu.dpas {operands} : {types} -> vector<8xf32>\n"
    body += "xegpu.store_nd %d, %o[0, 0] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>"
    run(kernel(body), source, target)
    f32 = np.float32
    for i in range(8):
        for j in range(16):
            total = start[i, j] if with_accumulator else f32(0)
            for d in range(0, 16, 2):
                first = f32(f32(a[i, d]) * f32(b[d, j]))
                second = f32(f32(a[i, d + 1]) * f32(b[d + 1, j]))
                total = f32(total + f32(first + second))
            assert target[i, j] == total


def test_workgroups_subgroups_and_lanes_have_their_numbers() -> None:
    """Two subgroups per workgroup, a grid of 3x2: every subgroup writes a row of numbers it computed."""
    target = np.zeros((12, 16), np.float32)
    body = """
      %bx = gpu.block_id x
      %by = gpu.block_id y
      %gx = gpu.grid_dim x
      %sg = gpu.subgroup_id : index
      %ns = gpu.num_subgroups : index
      %lane = gpu.lane_id
      %tx = gpu.thread_id x
      %row0 = arith.muli %by, %gx : index
      %row1 = arith.addi %row0, %bx : index
      %row2 = arith.muli %row1, %ns : index
      %row = arith.addi %row2, %sg : index
      %c100 = arith.constant 100 : index
      %n0 = arith.muli %lane, %c100 : index
      %n1 = arith.addi %n0, %tx : index
      %n2 = arith.index_cast %n1 : index to i32
      %n = arith.sitofp %n2 : i32 to f32
      %v = vector.broadcast %n : f32 to vector<1xf32>
    """
    body += describe("o", "dst", 12, 16, "1x16xf32")
    body += "xegpu.store_nd %v, %o[%row, 0] : vector<1xf32>, !xegpu.tensor_desc<1x16xf32>"
    run(kernel(body, items=32), np.zeros(16), target, (3, 2, 1))
    for row in range(12):
        for lane in range(16):
            assert target[row, lane] == 100 * lane + (row % 2) * 16 + lane


def test_loops_carry_values_and_branches_choose() -> None:
    target = np.zeros((1, 16), np.float32)
    body = """
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c10 = arith.constant 10 : index
      %c5 = arith.constant 5 : index
      %zero = arith.constant dense<0.0> : vector<1xf32>
      %one = arith.constant dense<1.0> : vector<1xf32>
      %hundred = arith.constant dense<100.0> : vector<1xf32>
      %sum = scf.for %i = %c0 to %c10 step %c1 iter_args(%acc = %zero) -> (vector<1xf32>) {
        %late = arith.cmpi sge, %i, %c5 : index
        %add = scf.if %late -> (vector<1xf32>) {
          scf.yield %hundred : vector<1xf32>
        } else {
          scf.yield %one : vector<1xf32>
        }
        %next = arith.addf %acc, %add : vector<1xf32>
        scf.yield %next : vector<1xf32>
      }
    """
    body += describe("o", "dst", 1, 16, "1x16xf32")
    body += "xegpu.store_nd %sum, %o[0, 0] : vector<1xf32>, !xegpu.tensor_desc<1x16xf32>"
    run(kernel(body), np.zeros(16), target)
    assert (target == 505).all()


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("idx", [5] * 16), ("xor", [lane ^ 5 for lane in range(16)]), ("up", [0, 1, 2, 3, 4, *range(11)])],
)
def test_shuffles_take_the_value_of_the_lane_that_is_named(mode: str, expected: list[int]) -> None:
    target = np.zeros((1, 16), np.float32)
    body = f"""
      %lane = gpu.lane_id
      %n = arith.index_cast %lane : index to i32
      %f = arith.sitofp %n : i32 to f32
      %five = arith.constant 5 : i32
      %w = arith.constant 16 : i32
      %s, %ok = gpu.shuffle {mode} %f, %five, %w : f32
      %v = vector.broadcast %s : f32 to vector<1xf32>
    """
    body += describe("o", "dst", 1, 16, "1x16xf32")
    body += "xegpu.store_nd %v, %o[0, 0] : vector<1xf32>, !xegpu.tensor_desc<1x16xf32>"
    run(kernel(body), np.zeros(16), target)
    assert target[0].tolist() == expected


INTEGERS = [
    ("arith.addi", 2**31 - 1, 1, -(2**31)),
    ("arith.muli", 65536, 65536, 0),
    ("arith.divsi", -7, 2, -3),
    ("arith.remsi", -7, 2, -1),
    ("arith.floordivsi", -7, 2, -4),
    ("arith.ceildivsi", 7, 2, 4),
    ("arith.shli", 1, 31, -(2**31)),
    ("arith.shrsi", -8, 1, -4),
    ("arith.shrui", -8, 1, 2**31 - 4),
    ("arith.maxsi", -1, 3, 3),
    ("arith.maxui", -1, 3, -1),
    ("arith.minui", -1, 3, 3),
    ("arith.xori", 12, 10, 6),
]


@pytest.mark.parametrize(("name", "left", "right", "expected"), INTEGERS, ids=[row[0] for row in INTEGERS])
def test_integers_of_32_bits_wrap_and_divide_as_the_machine_does(
    name: str, left: int, right: int, expected: int
) -> None:
    target = np.zeros((1, 16), np.float32)
    body = f"""
      %l = arith.constant {left} : i32
      %r = arith.constant {right} : i32
      %x = {name} %l, %r : i32
      %e = arith.constant {expected} : i32
      %same = arith.cmpi eq, %x, %e : i32
      %yes = arith.constant dense<1.0> : vector<1xf32>
      %no = arith.constant dense<0.0> : vector<1xf32>
      %v = arith.select %same, %yes, %no : vector<1xf32>
    """
    body += describe("o", "dst", 1, 16, "1x16xf32")
    body += "xegpu.store_nd %v, %o[0, 0] : vector<1xf32>, !xegpu.tensor_desc<1x16xf32>"
    run(kernel(body), np.zeros(16), target)
    assert (target == 1).all()


TILE = "!xegpu.tensor_desc<8x16xf16>"
WRONG = {
    "a vector of the wrong length": (
        f"%x = xegpu.load_nd %t[0, 0] : {TILE} -> vector<16xf16>",
        r"line 3: xegpu.load_nd: vector<16xf16> .* each of 16 lanes holds 8 elements",
    ),
    "a vector of other elements": (
        f"%x = xegpu.load_nd %t[0, 0] : {TILE} -> vector<8xf32>",
        r"line 3: xegpu.load_nd: vector<8xf32> for a block of f16",
    ),
    "a block that no message moves": (
        "%u = xegpu.create_nd_tdesc %src, shape : [64, 64], strides : [64, 1] : i64 -> !xegpu.tensor_desc<7x16xf16>\n"
        "%x = xegpu.load_nd %u[0, 0] : !xegpu.tensor_desc<7x16xf16> -> vector<7xf16>",
        r"line 4: xegpu.load_nd: .*7 rows",
    ),
    "a column that is not a multiple of 4 bytes": (
        f"%x = xegpu.load_nd %t[0, 1] : {TILE} -> vector<8xf16>",
        r"line 3: xegpu.load_nd: column 1: .* multiple of 2",
    ),
    "rows that are too short": (
        f"%u = xegpu.create_nd_tdesc %src, shape : [64, 16], strides : [64, 1] : i64 -> {TILE}",
        r"line 3: xegpu.create_nd_tdesc: rows of 32 bytes",
    ),
    "a pitch that is not a multiple of 16 bytes": (
        f"%u = xegpu.create_nd_tdesc %src, shape : [64, 64], strides : [68, 1] : i64 -> {TILE}",
        r"line 3: xegpu.create_nd_tdesc: rows 136 bytes apart",
    ),
    "columns that are not next to each other": (
        f"%u = xegpu.create_nd_tdesc %src, shape : [64, 64], strides : [1, 64] : i64 -> {TILE}",
        r"line 3: xegpu.create_nd_tdesc: .*next to each other",
    ),
    "an address that is not a multiple of 64": (
        "%c4 = arith.constant 4 : i64\n%q = arith.addi %src, %c4 : i64\n"
        f"%u = xegpu.create_nd_tdesc %q, shape : [64, 64], strides : [64, 1] : i64 -> {TILE}",
        r"line 5: xegpu.create_nd_tdesc: the address .*multiple of 64",
    ),
    "an address of nothing": (
        "%q = arith.constant 640 : i64\n"
        f"%u = xegpu.create_nd_tdesc %q, shape : [64, 64], strides : [64, 1] : i64 -> {TILE}\n"
        f"%x = xegpu.load_nd %u[0, 0] : {TILE} -> vector<8xf16>",
        r"line 5: xegpu.load_nd: access to address 0x280, which is in no buffer",
    ),
    "a matrix that is larger than its buffer": (
        f"%u = xegpu.create_nd_tdesc %src, shape : [65, 64], strides : [64, 1] : i64 -> {TILE}\n"
        f"%x = xegpu.load_nd %u[60, 0] : {TILE} -> vector<8xf16>",
        r"line 4: xegpu.load_nd: access to byte 8222 of buffer source, which has 8192 bytes",
    ),
    "a place that differs between lanes": (
        f"%l = gpu.lane_id\n%x = xegpu.load_nd %t[%l, 0] : {TILE} -> vector<8xf16>",
        r"line 4: xegpu.load_nd: the row differs between the lanes",
    ),
    "a barrier that some lanes do not reach": (
        "%l = gpu.lane_id\n%c3 = arith.constant 3 : index\n%low = arith.cmpi slt, %l, %c3 : index\n"
        "scf.if %low { gpu.barrier }",
        r"line 6: gpu.barrier: 3 of 16 work-items of a workgroup arrive at the barrier",
    ),
    "a division by zero": (
        "%z = arith.constant 0 : i32\n%q = arith.divsi %z, %z : i32",
        r"line 4: arith.divsi: division by zero",
    ),
    "operands of the wrong size": (
        f"%x = xegpu.load_nd %t[0, 0] : {TILE} -> vector<8xf16>\n"
        "%d = xegpu.dpas %x, %x : vector<8xf16>, vector<8xf16> -> vector<8xf32>",
        r"line 4: xegpu.dpas: B has 8 elements per lane; its 16x16 block over 16 lanes has 16",
    ),
    "more rows than an instruction has": (
        "%x = arith.constant dense<1.0> : vector<16xf16>\n"
        "%d = xegpu.dpas %x, %x : vector<16xf16>, vector<16xf16> -> vector<16xf32>",
        r"line 4: xegpu.dpas: ",
    ),
    "an operation that is not known": (
        '%x = "math.unheard"() : () -> i32',
        r"line 3: math.unheard: this operation is not simulated",
    ),
    "a step of zero": (
        "%z = arith.constant 0 : index\nscf.for %i = %z to %z step %z { scf.yield }",
        r"line 4: scf.for: the step is 0",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_the_hardware_would_not_do_is_refused_with_the_operation_and_its_line(what: str) -> None:
    body, message = WRONG[what]
    text = kernel(describe("t", "src", 64, 64, "8x16xf16") + body)
    with pytest.raises(LayoutError, match=message):
        run(text, np.zeros((64, 64), np.float16), np.zeros(16, np.float32))


def test_text_that_cannot_be_read_is_a_parse_error() -> None:
    with pytest.raises(ParseError):
        run("gpu.module @k {", np.zeros(16), np.zeros(16))


RACE = r"line \d+: xegpu.store_nd: two work-items write different values to byte 0 of buffer target"


def store_of(value: str, row: str) -> str:
    body = "%bx = gpu.block_id x\n%i = arith.index_cast %bx : index to i32\n%f = arith.sitofp %i : i32 to f32\n"
    body += "%seven = arith.constant 7.0 : f32\n%zero = arith.constant 0 : index\n"
    body += f"%v = vector.broadcast {value} : f32 to vector<1xf32>\n" + describe("o", "dst", 4096, 16, "1x16xf32")
    return kernel(body + f"xegpu.store_nd %v, %o[{row}, 0] : vector<1xf32>, !xegpu.tensor_desc<1x16xf32>")


@pytest.mark.parametrize("groups", [2, 3000])
def test_a_race_is_two_workgroups_that_store_different_values_to_one_place(groups: int) -> None:
    """3000 workgroups do not run together, and are caught all the same."""
    target = np.zeros((4096, 16), np.float32)
    run(store_of("%f", "%bx"), np.zeros(16), target, (groups, 1, 1))
    run(store_of("%seven", "%zero"), np.zeros(16), target, (groups, 1, 1))
    with pytest.raises(LayoutError, match=RACE):
        run(store_of("%f", "%zero"), np.zeros(16), target, (groups, 1, 1))


def test_a_race_across_groups_of_workgroups_is_found() -> None:
    """Workgroups 0 and 2048 run in different groups and meet on one row; no two of one group do."""
    body = "%bx = gpu.block_id x\n%c = arith.constant 2048 : index\n%row = arith.remsi %bx, %c : index\n"
    body += "%i = arith.index_cast %bx : index to i32\n%f = arith.sitofp %i : i32 to f32\n"
    body += "%v = vector.broadcast %f : f32 to vector<1xf32>\n" + describe("o", "dst", 4096, 16, "1x16xf32")
    text = kernel(body + "xegpu.store_nd %v, %o[%row, 0] : vector<1xf32>, !xegpu.tensor_desc<1x16xf32>")
    run(text, np.zeros(16), np.zeros((4096, 16), np.float32), (2048, 1, 1))
    with pytest.raises(LayoutError, match="two workgroups write different values"):
        run(text, np.zeros(16), np.zeros((4096, 16), np.float32), (4096, 1, 1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (kernel("", "%m: vector<4xf32>"), "vector<4xf32> is not simulated"),
        (kernel("", "%a: i64"), "takes 1 arguments, and was given 2"),
        (kernel("").replace("intel_reqd_sub_group_size = 16 : i32,", ""), "intel_reqd_sub_group_size"),
        (kernel("", items=17), "17x1x1 work-items"),
        (kernel("").replace(" kernel ", " "), "it has: none"),
    ],
)
def test_a_kernel_that_cannot_be_launched_is_refused(text: str, message: str) -> None:
    arguments = [0, 0] if "%a: i64" in text or "%src" in text else [0]
    with pytest.raises(LayoutError, match=message):
        run_kernel(text, arguments, (1, 1, 1), Memory())


def test_one_kernel_of_several_is_chosen_by_name() -> None:
    first = "gpu.func @f() kernel attributes {" + HEAD.format(items=16) + "} { gpu.return }"
    text = f"gpu.module @k {{ {first} {first.replace('@f', '@g')} }}"
    run_kernel(text, [], (1, 1, 1), Memory(), kernel="g")
    with pytest.raises(LayoutError, match=r"expected one kernel .* f, g"):
        run_kernel(text, [], (1, 1, 1), Memory())
    with pytest.raises(LayoutError, match="a kernel named h"):
        run_kernel(text, [], (1, 1, 1), Memory(), kernel="h")


def scalars(body: str, kind: str = "i32", items: int = 16) -> int:
    """What `%r`, an integer of type `kind`, is after the body: stored as an f32 by one message, read back."""
    cast = "" if kind == "i32" else f"%w = arith.extsi %r : {kind} to i32\n"
    name = "%r" if kind == "i32" else "%w"
    store = (
        f"{cast}%fl = arith.sitofp {name} : i32 to f32\n%v = vector.broadcast %fl : f32 to vector<1xf32>\n"
        + describe("o", "dst", 1, 16, "1x16xf32")
        + "xegpu.store_nd %v, %o[0, 0] : vector<1xf32>, !xegpu.tensor_desc<1x16xf32>"
    )
    target = np.zeros((1, 16), np.float32)
    run(kernel(f"{body}\n{store}", items=items), np.zeros(16), target)
    return int(target[0, 0])


CONSTANTS = (
    "%t = arith.constant true\n%f = arith.constant false\n%m = arith.constant -1 : i32\n%n = arith.constant 28 : i32\n"
)
FOLDED = [
    ("%r = arith.addi %t, %t : i1", "i1"),
    ("%r = arith.addi %t, %f : i1", "i1"),
    ("%r = arith.subi %t, %t : i1", "i1"),
    ("%r = arith.muli %t, %t : i1", "i1"),
    ("%r = arith.xori %t, %f : i1", "i1"),
    ("%r = arith.cmpi slt, %t, %f : i1", "i1"),
    ("%r = arith.cmpi ult, %t, %f : i1", "i1"),
    ("%r = arith.cmpi ult, %m, %n : i32", "i1"),
    ("%r = arith.extsi %t : i1 to i32", "i32"),
    ("%r = arith.extui %t : i1 to i32", "i32"),
    ("%r = arith.trunci %n : i32 to i1", "i1"),
    ("%r = arith.shrui %m, %n : i32", "i32"),
    ("%r = arith.shrsi %m, %n : i32", "i32"),
    ("%r = arith.divsi %m, %n : i32", "i32"),
    ("%r = arith.floordivsi %m, %n : i32", "i32"),
    ("%r = arith.ceildivsi %n, %m : i32", "i32"),
    ("%r = arith.remsi %m, %n : i32", "i32"),
    ("%r = arith.maxui %m, %n : i32", "i32"),
]


def test_integers_are_what_llvm_folds_them_to() -> None:
    functions = "".join(
        f"func.func @f{i}() -> {kind} {{\n{CONSTANTS}{operation}\nreturn %r : {kind}\n}}\n"
        for i, (operation, kind) in enumerate(FOLDED)
    )
    done = run_program([require("mlir-opt-22"), "--canonicalize", "-"], functions)
    assert done.returncode == 0, done.stderr
    folded = re.findall(r"arith\.constant (true|false|-?\d+)(?: : i32)?\n    return", done.stdout)
    assert len(folded) == len(FOLDED), done.stdout
    for (operation, kind), text in zip(FOLDED, folded, strict=True):
        stated = {"true": -1, "false": 0}.get(text) if text in ("true", "false") else int(text)
        assert scalars(CONSTANTS + operation, kind) == stated, operation


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "%a = arith.constant 1 : i32\n%n = arith.constant 40 : i32\n%r = arith.shli %a, %n : i32",
            "shift of 32 bits by 40",
        ),
        (
            "%a = arith.constant 1 : i32\n%n = arith.constant -1 : i32\n%r = arith.shrsi %a, %n : i32",
            "shift of 32 bits by -1",
        ),
        (
            "%a = arith.constant -9223372036854775808 : i64\n%n = arith.constant -1 : i64\n%r = arith.divsi %a, %n : i64",
            "no defined result",
        ),
        (
            "%v = arith.constant dense<1.0> : vector<4xf32>\n%e = vector.extract %v[4] : f32 from vector<4xf32>",
            "vector.extract",
        ),
        (
            "%v = arith.constant dense<1.0> : vector<4xf32>\n%i = arith.constant -1 : index\n"
            "%e = vector.extract %v[%i] : f32 from vector<4xf32>",
            "position -1 of vector<4xf32>: expected 0 to 3",
        ),
        (
            "%z = arith.constant 0 : index\n%o = arith.constant 1 : index\n%n = arith.constant 1099511627776 : index\n"
            "scf.for %i = %z to %n step %o { %s = arith.addi %i, %o : index\n scf.yield }",
            "more operations",
        ),
        ("%c = arith.constant 99999999999999999999 : index\n%d = arith.addi %c, %c : index", "arith.constant"),
        (
            "%f = arith.constant 1.0 : f32\n%v = vector.broadcast %f : f32 to vector<100000xf32>",
            "4096 elements at most",
        ),
        ("%b = arith.addi %a, %a : i32\n%a = arith.constant 1 : i32", "used before it is defined"),
    ],
)
def test_what_has_no_result_is_refused_with_its_line(body: str, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        run(kernel(body), np.zeros(16), np.zeros(16))


def test_workgroups_that_run_together_race_too() -> None:
    """Two workgroups write their number to row b, then to row 1 - b."""
    body = describe("o", "dst", 2, 16, "1x16xf32") + (
        "%b = gpu.block_id x\n%one = arith.constant 1 : index\n%other = arith.subi %one, %b : index\n"
        "%i = arith.index_cast %b : index to i32\n%f = arith.sitofp %i : i32 to f32\n"
        "%v = vector.broadcast %f : f32 to vector<1xf32>\n"
        "xegpu.store_nd %v, %o[%b, 0] : vector<1xf32>, !xegpu.tensor_desc<1x16xf32>\n"
        "xegpu.store_nd %v, %o[%other, 0] : vector<1xf32>, !xegpu.tensor_desc<1x16xf32>"
    )
    with pytest.raises(LayoutError, match="two workgroups write different values"):
        run(kernel(body), np.zeros(16), np.zeros((2, 16), np.float32), (2, 1, 1))
    run(kernel(body), np.zeros(16), np.zeros((2, 16), np.float32), (1, 1, 1))


def test_another_launch_is_no_race() -> None:
    memory, target = Memory(), np.zeros((1, 16), np.float32)
    addresses = [memory.bind("source", np.zeros(16)), memory.bind("target", target)]
    for value in (1.0, 2.0):
        body = describe("o", "dst", 1, 16, "1x16xf32") + (
            f"%v = arith.constant dense<{value}> : vector<1xf32>\n"
            "xegpu.store_nd %v, %o[0, 0] : vector<1xf32>, !xegpu.tensor_desc<1x16xf32>"
        )
        run_kernel(kernel(body), addresses, (1, 1, 1), memory)
    assert (target == 2).all()


@pytest.mark.parametrize("arguments", [[1.5, 0], ["x", 0], [None, 0], [2**70, 0], [-(2**64), 0]])
def test_arguments_that_are_no_integers_of_their_type_are_refused(arguments: list[Any]) -> None:
    with pytest.raises(LayoutError, match="argument 0"):
        run_kernel(kernel(""), arguments, (1, 1, 1), Memory())


@pytest.mark.parametrize("grid", [(1, 1), (1.5, 1, 1), (-1, -1, 1), (0, 1, 1), (2**31, 2**31, 1), None])
def test_grids_that_are_none_are_refused(grid: Any) -> None:
    with pytest.raises(LayoutError, match="grid"):
        run_kernel(kernel(""), [0, 0], grid, Memory())


def test_targets_blocks_and_subgroups_are_checked() -> None:
    with pytest.raises(LayoutError, match="target 'i486'"):
        run_kernel(kernel(""), [0, 0], (1, 1, 1), Memory(), target="i486")
    with pytest.raises(LayoutError, match="1024 in all"):
        run_kernel(kernel("", items=2**30), [0, 0], (1, 1, 1), Memory())
    zeros = "".join(
        f"%{n} = arith.constant dense<0.0> : vector<{size}x{kind}>\n"
        for n, size, kind in (("a", 8, "f16"), ("b", 16, "f16"))
    )
    product = zeros + "%d = xegpu.dpas %a, %b : vector<8xf16>, vector<16xf16> -> vector<8xf32>"
    text = kernel(product, items=32).replace("intel_reqd_sub_group_size = 16", "intel_reqd_sub_group_size = 32")
    with pytest.raises(LayoutError, match="32 lanes; dpas on pvc needs 16"):
        run(text, np.zeros(16), np.zeros(16))


def test_a_read_only_result_is_refused() -> None:
    target = np.zeros((1, 16), np.float32)
    target.setflags(write=False)
    body = describe("o", "dst", 1, 16, "1x16xf32") + (
        "%v = arith.constant dense<1.0> : vector<1xf32>\n"
        "xegpu.store_nd %v, %o[0, 0] : vector<1xf32>, !xegpu.tensor_desc<1x16xf32>"
    )
    with pytest.raises(LayoutError, match="read-only"):
        run(kernel(body), np.zeros(16), target)


@pytest.mark.slow
def test_mutated_kernels_give_numbers_or_errors_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines dropped, doubled, swapped, numbers and names exchanged, text cut: never anything but a LayoutError."""
    import random
    import secrets

    from layoutalg.gemm import plan_gemm

    monkeypatch.setattr("layoutalg.simulate.kernel.MAX_OPERATIONS", 10_000)  # a mutation may make a loop long
    seed = secrets.randbits(32)
    rng = random.Random(seed)
    gemm = plan_gemm(16, 32, 32, tile=(8, 16))
    original = gemm.emit("lane")
    a, b = numbered(16, 32, np.float16), numbered(32, 32, np.float16)
    refused = 0
    for _ in range(250):
        lines = original.splitlines()
        for _ in range(rng.randint(1, 3)):
            i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
            kind = rng.randrange(6)
            if kind == 0:
                del lines[i]
            elif kind == 1:
                lines.insert(i, lines[j])
            elif kind == 2:
                lines[i], lines[j] = lines[j], lines[i]
            elif kind == 3:
                lines[i] = lines[i].replace(
                    rng.choice("0123468"), rng.choice(["0", "1", "7", "-1", "999", "4294967296"]), 1
                )
            elif kind == 4:
                lines[i] = lines[i][: rng.randint(0, len(lines[i]))]
            else:
                lines[i] = lines[i].replace(
                    rng.choice(["f16", "i32", "index", "%a", "%b", "row0"]), rng.choice(["f32", "i1", "%k"])
                )
            if not lines:
                break
        try:
            gemm.simulate(a, b, text="\n".join(lines))
        except LayoutError:
            refused += 1
        except Exception as error:
            raise AssertionError((seed, "\n".join(lines))) from error
    assert refused > 50


@pytest.mark.parametrize("rows", [1, 2, 8])
def test_a_product_of_few_rows_is_the_matrix_product(rows: int) -> None:
    text = f"""gpu.module @m {{ gpu.func @k(%a: i64, %b: i64, %c: i64) kernel
      attributes {{known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32}} {{
    %t = xegpu.create_nd_tdesc %a, shape: [{rows}, 32], strides: [32, 1] : i64 -> !xegpu.tensor_desc<{rows}x16xf16>
    %u = xegpu.create_nd_tdesc %b, shape: [16, 32], strides: [32, 1] : i64 -> !xegpu.tensor_desc<16x16xf16>
    %v = xegpu.create_nd_tdesc %c, shape: [{rows}, 16], strides: [16, 1] : i64 -> !xegpu.tensor_desc<{rows}x16xf32>
    %x = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<{rows}x16xf16> -> vector<{rows}xf16>
    %y = xegpu.load_nd %u[0, 0] <{{packed}}> : !xegpu.tensor_desc<16x16xf16> -> vector<16xf16>
    %d = xegpu.dpas %x, %y : vector<{rows}xf16>, vector<16xf16> -> vector<{rows}xf32>
    xegpu.store_nd %d, %v[0, 0] : vector<{rows}xf32>, !xegpu.tensor_desc<{rows}x16xf32>
    gpu.return }} }}"""
    random = np.random.default_rng(rows)
    a, b = (random.integers(-4, 5, shape).astype(np.float16) for shape in ((rows, 32), (16, 32)))
    c = np.zeros((rows, 16), np.float32)
    assert not launch(text, [a, b, c]).findings
    np.testing.assert_array_equal(c, a[:, :16].astype(np.float32) @ b[:, :16].astype(np.float32))
