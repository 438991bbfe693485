"""The builtins that LLVM's lowering calls, as OpenCL C for the CPU: block messages and products, each against plain indexing.

A message is written as `xegpu.load_nd` or `store_nd` at lane level, so LLVM 23 and 24 choose the builtin; every lane writes the
registers that it got to its own row of an array. Places reach over every edge of the matrix: what lies outside is 0. A product
is called by its name in the OpenCL extension, with operands that numpy has spread over the lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16
from numpy.typing import NDArray

from layoutalg.gemm.hosts.builtins import builtins_of
from layoutalg.gemm.hosts.spirv import imports_of
from tests.oracle.kernel_cpu import Launch, launch_all, module_of
from tests.oracle.xe_toolchain import machine_code, shim_of, spirv_of

Array = NDArray[Any]

ROWS, COLUMNS = 70, 96
ELEMENTS = {8: ("i8", np.uint8), 16: ("f16", np.uint16), 32: ("i32", np.uint32)}
HEAD = "kernel attributes {intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: 16, 1, 1>}"
LANES = np.arange(16)


@dataclass(frozen=True)
class Load:
    """A block message: its shape in elements, and which element of it is register i of a lane."""

    bits: int
    rows: int
    columns: int
    blocks: int = 1
    how: str = ""

    @property
    def name(self) -> str:
        return f"load_{self.how}{self.bits}b_{self.rows}r{self.columns}x{self.blocks}"

    @property
    def count(self) -> int:
        """The elements that a lane has."""
        return self.rows * self.columns * self.blocks // 16

    def places(self) -> tuple[Array, Array]:
        """The row and the column of register i of lane l, in the message."""
        each = self.count // self.blocks
        block, i = divmod(np.arange(self.count), each)
        block, i, lane = block[None, :], i[None, :], LANES[:, None]
        if self.how == "transpose":
            return lane + 0 * i, i + 0 * lane
        if self.how == "packed":
            return i + 0 * lane, block * self.columns + lane
        side = self.columns // 16  # two bytes of a row are side by side in a lane
        if side > 1:
            return i // side + 0 * lane, block * self.columns + lane * side + i % side
        per = 16 // self.columns  # rows that share a register
        return i * per + lane // self.columns, block * self.columns + lane % self.columns

    def text(self) -> str:
        element, _ = ELEMENTS[self.bits]
        length = f", #xegpu.block_tdesc_attr<array_length = {self.blocks}>" if self.blocks > 1 else ""
        kind = f"!xegpu.tensor_desc<{self.rows}x{self.columns}x{element}{length}>"
        how = {"packed": " <{packed}>", "transpose": " <{transpose = array<i64: 1, 0>}>"}.get(self.how, "")
        whole = f"vector<{self.count}x{element}>"
        lines = [f"%v = xegpu.load_nd %d[%row, %column]{how} : {kind} -> {whole}"]
        for first in range(0, self.count, 16):
            size = min(16, self.count)
            part, kept = f"vector<{size}x{element}>", ", ".join(str(first + i) for i in range(size))
            lines += [
                f"%s{first} = vector.shuffle %v, %v [{kept}] : {whole}, {whole}",
                f"%f{first} = arith.constant {first * self.bits // 8} : i64",
                f"%q{first} = arith.addi %mine, %f{first} : i64",
                f"%p{first} = llvm.inttoptr %q{first} : i64 to !llvm.ptr<1>",
                f"llvm.store %s{first}, %p{first} : {part}, !llvm.ptr<1>",
            ]
        joined = "\n  ".join(lines)
        return f"""gpu.func @{self.name}(%a: i64, %o: i64, %y: i32, %x: i32) {HEAD} {{
  %row = arith.index_cast %y : i32 to index
  %column = arith.index_cast %x : i32 to index
  %d = xegpu.create_nd_tdesc %a, shape: [{ROWS - 6}, {COLUMNS - 16}], strides: [{COLUMNS}, 1] : i64 -> {kind}
  %lane = gpu.lane_id
  %wide = arith.index_cast %lane : index to i64
  %size = arith.constant {self.count * self.bits // 8} : i64
  %before = arith.muli %wide, %size : i64
  %mine = arith.addi %o, %before : i64
  {joined}
  gpu.return
}}"""


LOADS = (
    *(Load(16, rows, 16, blocks) for rows in (1, 2, 4, 8, 16, 32) for blocks in (1, 2)),
    *(Load(8, rows, 32, blocks) for rows in (1, 2, 4, 8, 16, 32) for blocks in (1, 2)),
    *(Load(32, rows, 16) for rows in (1, 2, 4, 8, 16, 32)),
    *(Load(32, rows, 8, blocks) for rows in (2, 8, 16, 32) for blocks in (1, 2)),
    *(Load(16, rows, 16, blocks, "packed") for rows in (16, 32) for blocks in (1, 2)),
    *(Load(8, 32, 16, blocks, "packed") for blocks in (1, 2, 4)),
    *(Load(32, 16, columns, 1, "transpose") for columns in (4, 8)),
    Load(16, 16, 16, 1, "transpose"),
)
ALWAYS = ("16b_8r16x2", "8b_8r32x1", "32b_8r8x1", "packed16b_16r16x1", "transpose32b_16r4x1")
"""One of each order, and small: the CPU's compiler takes seconds for what writes 64 registers."""
STORES = tuple((bits, rows) for bits in (8, 16, 32) for rows in (1, 2, 4, 8))
PLACES = ((0, 0), (5, 32), (50, 64), (-3, -16), (62, 72))


def store_text(bits: int, rows: int) -> str:
    element, _ = ELEMENTS[bits]
    columns = 32 if bits == 8 else 16
    part = f"vector<{rows * columns // 16}x{element}>"
    kind = f"!xegpu.tensor_desc<{rows}x{columns}x{element}>"
    return f"""gpu.func @store_{bits}b_{rows}(%a: i64, %o: i64, %y: i32, %x: i32) {HEAD} {{
  %row = arith.index_cast %y : i32 to index
  %column = arith.index_cast %x : i32 to index
  %d = xegpu.create_nd_tdesc %a, shape: [{ROWS - 6}, {COLUMNS - 16}], strides: [{COLUMNS}, 1] : i64 -> {kind}
  %lane = gpu.lane_id
  %wide = arith.index_cast %lane : index to i64
  %size = arith.constant {rows * columns // 16 * bits // 8} : i64
  %before = arith.muli %wide, %size : i64
  %mine = arith.addi %o, %before : i64
  %p = llvm.inttoptr %mine : i64 to !llvm.ptr<1>
  %v = llvm.load %p : !llvm.ptr<1> -> {part}
  xegpu.store_nd %v, %d[%row, %column] : {part}, {kind}
  gpu.return
}}"""


def matrix(bits: int) -> Array:
    """Elements that differ from their neighbours, none of them 0."""
    kind = ELEMENTS[bits][1]
    return (np.arange(1, ROWS * COLUMNS + 1) * 40503 % (2**bits - 1) + 1).astype(kind).reshape(ROWS, COLUMNS)


def windowed(values: Array, rows: Array, columns: Array) -> Array:
    """The elements at these places; 0 outside of the surface, which is smaller than the array."""
    inside = (rows >= 0) & (rows < ROWS - 6) & (columns >= 0) & (columns < COLUMNS - 16)
    return np.where(inside, values[np.clip(rows, 0, ROWS - 1), np.clip(columns, 0, COLUMNS - 1)], 0)


def moved(
    version: int, loads: Sequence[Load], stores: Sequence[tuple[int, int]], folder: Path
) -> dict[tuple[str, tuple[int, int]], Array]:
    """What each message leaves in its array, by its name and place."""
    texts = [*(load.text() for load in loads), *(store_text(*store) for store in stores)]
    binary = spirv_of(module_of(texts), folder, version)
    launches: dict[tuple[str, tuple[int, int]], Launch] = {}
    for place in PLACES:
        at = tuple(np.int32(number) for number in place)
        for load in loads:
            found = np.zeros((16, load.count), ELEMENTS[load.bits][1])
            launches[load.name, place] = Launch(load.name, (matrix(load.bits), found, *at))
        for bits, rows in stores:
            name = f"store_{bits}b_{rows}"
            launches[name, place] = Launch(name, (matrix(bits) * 0, fragment(bits, rows), *at))
    after = launch_all([(binary, launch) for launch in launches.values()], folder)
    return {key: arrays[0 if key[0].startswith("store") else 1] for key, arrays in zip(launches, after, strict=True)}


def fragment(bits: int, rows: int) -> Array:
    """What the lanes have to store."""
    return matrix(bits)[:16, : rows * (2 if bits == 8 else 1)].copy()


def check(version: int, loads: Sequence[Load], stores: Sequence[tuple[int, int]], folder: Path) -> None:
    """Compare every message at every place."""
    found, wrong = moved(version, loads, stores, folder), list[str]()
    for place in PLACES:
        for load in loads:
            rows, columns = load.places()
            expected = windowed(matrix(load.bits), rows + place[0], columns + place[1])
            if not np.array_equal(found[load.name, place], expected):
                wrong.append(f"{load.name} at {place}")
        for bits, rows in stores:
            expected, each = matrix(bits) * 0, 2 if bits == 8 else 1
            for lane, i, side in np.ndindex(16, rows, each):
                y, x = place[0] + i, place[1] + lane * each + side
                if 0 <= y < ROWS - 6 and 0 <= x < COLUMNS - 16:
                    expected[y, x] = fragment(bits, rows)[lane, i * each + side]
            if not np.array_equal(found[f"store_{bits}b_{rows}", place], expected):
                wrong.append(f"store of {rows} rows of {bits} bits at {place}")
    assert not wrong
    assert len(found) == len(PLACES) * (len(loads) + len(stores))


def test_a_message_moves_the_elements_that_it_names(tmp_path: Path) -> None:
    loads = [load for load in LOADS if load.name.removeprefix("load_") in ALWAYS]
    assert len(loads) == len(ALWAYS)
    check(24, loads, [(32, 8)], tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("version", [23, 24])
def test_every_message_moves_the_elements_that_it_names(version: int, tmp_path: Path) -> None:
    check(version, LOADS, STORES, tmp_path)


# name, the mangled parameters, rows, element types of A, B and C
PRODUCTS = (
    ("f16_f16_matrix_mad_k16", "Dv8_sDv8_iDv8_f", 8, np.float16, np.float16, np.float32),
    ("f16_f16_matrix_mad_k16", "Dv4_sDv8_iDv4_f", 4, np.float16, np.float16, np.float32),
    ("f16_f16_matrix_mad_k16", "Dv2_sDv8_iDv2_f", 2, np.float16, np.float16, np.float32),
    ("f16_f16_matrix_mad_k16", "Dv8_sDv8_iDv8_Dh", 8, np.float16, np.float16, np.float16),
    ("bf16_bf16_matrix_mad_k16", "Dv8_sDv8_iDv8_f", 8, bfloat16, bfloat16, np.float32),
    ("bf16_bf16_matrix_mad_k16", "Dv8_sDv8_iS_", 8, bfloat16, bfloat16, bfloat16),
    ("tf32_tf32_matrix_mad_k8", "Dv4_fDv8_fS0_", 8, np.float32, np.float32, np.float32),
    ("i8_i8_matrix_mad_k32", "Dv8_sDv8_iS0_", 8, np.int8, np.int8, np.int32),
    ("s8_s8_matrix_mad_k32", "Dv8_sDv8_iS0_", 8, np.int8, np.int8, np.int32),
    ("i8_u8_matrix_mad_k32", "Dv8_sDv8_jDv8_i", 8, np.int8, np.uint8, np.int32),
    ("u8_i8_matrix_mad_k32", "Dv8_tDv8_iS0_", 8, np.uint8, np.int8, np.int32),
    ("u8_u8_matrix_mad_k32", "Dv8_tDv8_jDv8_i", 8, np.uint8, np.uint8, np.int32),
    ("u8_u8_matrix_mad_k32", "Dv8_sDv8_iS0_", 8, np.uint8, np.uint8, np.int32),
)
_SCALARS = {"s": "i16", "t": "i16", "i": "i32", "j": "i32", "f": "f32", "Dh": "f16"}


def product_text(number: int) -> str:
    name, parameters, *_ = PRODUCTS[number]
    a, b, c = operand_types(parameters)
    function = f"_Z{len('intel_sub_group_' + name)}intel_sub_group_{name}{parameters}"
    lines: list[str] = []
    for operand, kind in zip("abc", (a, b, c), strict=True):
        lines += [
            f"%s{operand} = arith.constant {_bytes_of(kind)} : i64",
            f"%f{operand} = arith.muli %wide, %s{operand} : i64",
            f"%q{operand} = arith.addi %{operand}, %f{operand} : i64",
            f"%p{operand} = llvm.inttoptr %q{operand} : i64 to !llvm.ptr<1>",
            f"%v{operand} = llvm.load %p{operand} : !llvm.ptr<1> -> {kind}",
        ]
    joined = "\n  ".join(lines)
    return f"""llvm.func spir_funccc @{function}({a}, {b}, {c}) -> {c} attributes {{convergent, no_unwind, will_return}}
gpu.func @product_{number}(%a: i64, %b: i64, %c: i64) {HEAD} {{
  %lane = gpu.lane_id
  %wide = arith.index_cast %lane : index to i64
  {joined}
  %r = llvm.call spir_funccc @{function}(%va, %vb, %vc) {{convergent, no_unwind, will_return}} : ({a}, {b}, {c}) -> {c}
  llvm.store %r, %pc : {c}, !llvm.ptr<1>
  gpu.return
}}"""


def operand_types(parameters: str) -> tuple[str, str, str]:
    """The types of A, B and C in LLVM's dialect; `S_` repeats the first vector, `S0_` the second."""
    kinds: list[str] = []
    while parameters:
        if parameters.startswith("S"):
            repeated, parameters = parameters.split("_", 1)
            kinds.append(kinds[0 if repeated == "S" else 1])
            continue
        count, parameters = parameters.removeprefix("Dv").split("_", 1)
        scalar = "Dh" if parameters.startswith("Dh") else parameters[0]
        kinds.append(f"vector<{count}x{_SCALARS[scalar]}>")
        parameters = parameters.removeprefix(scalar)
    a, b, c = kinds
    return a, b, c


def _bytes_of(kind: str) -> int:
    count, _, scalar = kind.removeprefix("vector<").removesuffix(">").partition("x")
    return int(count) * int(scalar[1:]) // 8


def numbers(kind: Any, shape: tuple[int, int], rng: np.random.Generator) -> Array:
    if np.dtype(kind).kind in "iu":
        limits = np.iinfo(kind)
        return rng.integers(limits.min, limits.max + 1, shape).astype(kind)
    return rng.standard_normal(shape).astype(kind)


def spread_a(a: Array) -> Array:
    """A row of A over the lanes: an element each, of 8 bits two; tf32 has two rows in a register."""
    rows, depth = a.shape
    if a.dtype.itemsize == 4:
        return np.ascontiguousarray(a.reshape(rows // 2, 16).T)
    return np.ascontiguousarray(a.reshape(rows, 16, depth // 16).transpose(1, 0, 2))


def multiplied(a: Array, b: Array, c: Array) -> Array:
    """C + A B one element at a time: links of 32 bits in the order of depth, each summed before it meets the sum."""
    packed = 4 // a.dtype.itemsize
    if a.dtype.kind in "iu":
        return (c.astype(np.int64) + a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32)
    left, right = (x.astype(np.float32) for x in (a, b))
    if packed == 1:
        left, right = ((x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32) for x in (left, right))
    result = c.astype(np.float32)
    for row, column in np.ndindex(result.shape):
        total = result[row, column]
        for k in range(0, a.shape[1], packed):
            link = left[row, k] * right[k, column]
            for j in range(1, packed):
                link = link + left[row, k + j] * right[k + j, column]
            total = total + link
        result[row, column] = total
    return result.astype(c.dtype)


def test_every_product_is_the_sum_of_its_links(tmp_path: Path) -> None:
    rng, jobs, expected = np.random.default_rng(5), list[tuple[Path, Launch]](), list[Array]()
    binary = spirv_of(module_of([product_text(number) for number in range(len(PRODUCTS))]), tmp_path, 23)
    for number, (_, _, rows, of_a, of_b, of_c) in enumerate(PRODUCTS):
        depth = 32 // np.dtype(of_a).itemsize
        a, b, c = numbers(of_a, (rows, depth), rng), numbers(of_b, (depth, 16), rng), numbers(of_c, (rows, 16), rng)
        operands = spread_a(a), np.ascontiguousarray(b.T), np.ascontiguousarray(c.T)
        jobs.append((binary, Launch(f"product_{number}", operands)))
        expected.append(multiplied(a, b, c))
    for product, after, right in zip(PRODUCTS, launch_all(jobs, tmp_path), expected, strict=True):
        assert np.array_equal(after[2].T, right), product


def test_debian_s_compiler_makes_a_message_of_each(tmp_path: Path) -> None:
    """What LLVM 22 lowers, at most 16 elements a lane, linked with the bodies in vISA: messages, and no call is left."""
    loads = [load for load in LOADS if 2 <= load.count <= 16 and (load.how != "transpose" or load.bits == 32)]
    stores = [(bits, rows) for bits, rows in STORES if rows > 1]
    texts = [*(load.text() for load in loads), *(store_text(*store) for store in stores)]
    binary = spirv_of(module_of(texts), tmp_path)
    names = imports_of(binary.read_bytes())
    assert len(builtins_of(names)) == len(loads) + len(stores)
    machine_code(binary, shim_of(tmp_path, names), tmp_path)
    listings = {path.name: path.read_text() for path in (tmp_path / "dis").glob("*_KernelHeap.asm")}
    assert len(listings) == len(texts) + 1
    assert not [name for name, text in listings.items() if "calla" in text]
    for load in loads:
        text = next(text for name, text in listings.items() if name.startswith(f"{load.name}_"))
        assert text.count("load_block2d") == 1, load.name


def test_products_that_debian_s_compiler_names_otherwise_become_dpas(tmp_path: Path) -> None:
    texts = [product_text(number) for number in range(len(PRODUCTS))]
    binary = spirv_of(module_of(texts), tmp_path)
    machine_code(binary, shim_of(tmp_path, imports_of(binary.read_bytes())), tmp_path)
    listings = list((tmp_path / "dis").glob("product_*_KernelHeap.asm"))
    assert len(listings) == len(PRODUCTS)
    for path in listings:
        text = path.read_text()
        assert (text.count("dpas."), text.count("calla")) == (1, 0), path.name
