"""AMX asked of LLVM 22: its verdicts and diagnostics, the instructions it selects, and what its code computes.

The last part needs no AMX: at -O0 `llc --enable-x86-scalar-amx` turns tile instructions into scalar loops that any x86-64
runs. It knows bf16 and the four int8 products; for f16 there is the verdict and the instruction.
"""

from __future__ import annotations

import ctypes
import platform
import random
import re
import secrets
import sys
from itertools import product as combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16

from layoutalg.amx import TileConfig, TileProduct, TileType, check_product, dialect_of, pack_vnni, parse_tile
from layoutalg.core import ParseError, VerificationError
from tests.oracle.toolchains import absent, require, require_new, run

WIDTHS = {"f32": 4, "f16": 2, "bf16": 2, "i32": 4, "i8": 1}
ELEMENTS = list(WIDTHS)
SIGNS = list(combinations((False, True), repeat=2))
ERROR = re.compile(r"^<stdin>:(\d+):\d+: error: (?:'(?:x86\.)?amx\.\w+' op )?(.*)$", re.MULTILINE)


def verdicts(functions: list[str], llvm: int = 22) -> list[str | None]:
    """LLVM's verdict on each function (one line of text each): None, or its first diagnostic."""
    compiler = require("mlir-opt-22") if llvm == 22 else require_new(f"mlir-opt-{llvm}")
    text = "".join(f"{function}\n// -----\n" for function in functions)
    done = run([compiler, "--split-input-file", "-o", "/dev/null"], text)
    found: dict[int, str] = {}
    for line, message in ERROR.findall(done.stderr):
        found.setdefault(int(line), message)
    assert (done.returncode == 0) == (not found), done.stderr[:2000]
    assert all(line % 2 for line in found)
    return [found.get(2 * i + 1) for i in range(len(functions))]


def uses(tile: str, dialect: str = "amx") -> str:
    return f"func.func @f() {{ %0 = {dialect}.tile_zero : {tile} func.return }}"


def multiplies(op: str, types: tuple[str, str, str], lhs_zext: bool = False, rhs_zext: bool = False) -> str:
    operands = f"%a{' zext' * lhs_zext}, %b{' zext' * rhs_zext}, %c"
    arguments = ", ".join(f"{name}: {tile}" for name, tile in zip(("%a", "%b", "%c"), types, strict=True))
    return f"func.func @f({arguments}) {{ %0 = {op} {operands} : {', '.join(types)} func.return }}"


# Verdicts


@pytest.mark.parametrize("llvm", [22, 24])
def test_every_verdict_on_a_tile_agrees(llvm: int) -> None:
    tiles = [TileType(r, c, e) for e in ELEMENTS for r in (1, 2, 15, 16, 17, 64, 2**31) for c in range(1, 70)]
    tiles += [TileType(16, c, e) for e in ELEMENTS for c in (128, 1000, 2**26 - 1, 2**26)]
    dialect = dialect_of(llvm)
    found = verdicts([uses(f"!{dialect}.tile<{t.rows}x{t.cols}x{t.element}>", dialect) for t in tiles], llvm)
    wrong = [(str(t), t.check(), v) for t, v in zip(tiles, found, strict=True) if t.check() != v]
    assert not wrong, (len(wrong), wrong[:5])
    assert {v is None for v in found} == {True, False}


def test_llvm_accepts_what_is_refused_here_and_nothing_else() -> None:
    """A dimension of 0, and a row whose bits wrap to a width that fits: the two places where layoutalg is stricter."""
    zero, wrapped = "!amx.tile<0x64xi8>", f"!amx.tile<16x{2**29}xi8>"
    assert verdicts([uses(zero), uses(wrapped)]) == [None, None]
    with pytest.raises(VerificationError, match="LLVM 22 accepts this"):
        parse_tile(zero)
    assert parse_tile(wrapped).check() == f"bad column width: {2**29}"


def test_texts_are_read_as_llvm_reads_them() -> None:
    texts = [f"!amx.tile<16x16x{element}>" for element in (*ELEMENTS, "i1", "i16", "i64", "si8", "ui8", "index")]
    texts += [f"!amx.tile<16x16x{element}>" for element in ("f64", "tf32", "f8E4M3FN", "vector<2xi8>", "I8", "")]
    texts += ["!amx.tile<16 x 64 x i8>", "!amx.tile< 16x64 xi8 >", "!amx.tile<016x064xi8>", "!amx.tile<0x10x64xi8>"]
    texts += ["!amx.tile<16xi8>", "!amx.tile<i8>", "!amx.tile<4x4x4xi8>", "!amx.tile<?x64xi8>", "!amx.tile<16x?xi8>"]
    texts += ["!amx.tile<>", "!amx.tile<16x64>", "!amx.tile<16x64x>", "!amx.tile<-1x64xi8>", "!amx.tile<[4]x4xi8>"]
    texts += [
        "!amx.tile<16x64xi8,>",
        "!amx.tile<16X64xi8>",
        "!amx.tile<99999999999999999999x64xi8>",
        "!amx.tiles<1x4xi8>",
    ]
    readable = []
    for text, verdict in zip(texts, verdicts([uses(text) for text in texts]), strict=True):
        try:
            problem = parse_tile(text).check()
        except (ParseError, VerificationError) as error:
            problem = str(error)
        assert (problem is None) == (verdict is None), (text, problem, verdict)
        if problem is not None and "elementType" in problem:
            assert verdict is not None
            assert problem.startswith(verdict), (text, problem, verdict)
        if problem is None:
            readable.append(text)
    assert len(readable) == 8
    module = "\n".join(f"func.func private @f{i}({text})" for i, text in enumerate(readable))
    printed = re.findall(r"!amx\.tile<\S+>", run([require("mlir-opt-22")], module).stdout)
    assert printed == [parse_tile(text).text(llvm=22) for text in readable]


def some_operands(rng: random.Random) -> tuple[str, list[TileType]]:
    """An operation and three tiles, near enough to a product that every rule has its turn."""
    op = rng.choice(("amx.tile_mulf", "amx.tile_muli"))
    elements = [rng.choice(("bf16", "f16"))] * 2 + ["f32"] if op == "amx.tile_mulf" else ["i8", "i8", "i32"]
    m, n, words = (rng.choice((1, 2, 3, 8, 15, 16)) for _ in range(3))
    v = 4 // WIDTHS[elements[0]]
    shapes = [[m, words * v], [words, n * v], [m, n]]
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        if rng.random() < 0.3:
            elements[rng.randrange(3)] = rng.choice(ELEMENTS)
        else:
            shapes[rng.randrange(3)][rng.randrange(2)] = rng.choice((1, 2, 4, 7, 8, 16, 17, 30, 32, 64, 65))
    return op, [TileType(rows, cols, element) for (rows, cols), element in zip(shapes, elements, strict=True)]


@pytest.mark.parametrize("llvm", [22, 24])
def test_every_verdict_on_a_product_agrees(llvm: int) -> None:
    seed = secrets.randbits(32)
    rng = random.Random(seed)
    cases = [some_operands(rng) for _ in range(4_000)]
    dialect = dialect_of(llvm)
    texts = [[f"!{dialect}.tile<{t.rows}x{t.cols}x{t.element}>" for t in tiles] for _, tiles in cases]
    asked = [multiplies(op.replace("amx", dialect), (a, b, c)) for (op, _), (a, b, c) in zip(cases, texts, strict=True)]
    found = verdicts(asked, llvm)
    wrong = []
    for (op, tiles), verdict in zip(cases, found, strict=True):
        said = check_product(op, *tiles, llvm=llvm)
        if said != verdict:
            wrong.append((op, [str(t) for t in tiles], said, verdict))
    assert not wrong, (seed, len(wrong), wrong[:3])
    kinds = {None if v is None else re.sub(r"\d.*|'.*", "", v) for v in found}
    rules = {"bad row height: ", "bad column width: ", "bad mult shape: ", "unsupported type combination"}
    assert rules | {None, "operand #"} == kinds, (seed, kinds)


# Instructions


def kernel(name: str, tile: TileProduct, strides: tuple[int, int, int]) -> str:
    """C = C + A * B on three buffers; rows start `strides` elements apart."""
    m, n, k, a, b = tile.m, tile.n, tile.k, tile.a, tile.b
    v = 4 // WIDTHS[a]
    acc = "i32" if a == "i8" else "f32"
    types = (f"!amx.tile<{m}x{k}x{a}>", f"!amx.tile<{k // v}x{n * v}x{b}>", f"!amx.tile<{m}x{n}x{acc}>")
    op = "amx.tile_muli" if a == "i8" else "amx.tile_mulf"
    operands = f"%0{' zext' * tile.lhs_zext}, %1{' zext' * tile.rhs_zext}, %2"
    lines = [
        f"func.func @{name}(%a: memref<?x{a}>, %b: memref<?x{b}>, %c: memref<?x{acc}>) "
        "attributes {llvm.emit_c_interface} {",
        "  %z = arith.constant 0 : index",
        *(f"  %s{i} = arith.constant {stride} : index" for i, stride in enumerate(strides)),
        f"  %0 = amx.tile_load %a[%z], %s0 : memref<?x{a}> into {types[0]}",
        f"  %1 = amx.tile_load %b[%z], %s1 : memref<?x{b}> into {types[1]}",
        f"  %2 = amx.tile_load %c[%z], %s2 : memref<?x{acc}> into {types[2]}",
        f"  %3 = {op} {operands} : {', '.join(types)}",
        f"  amx.tile_store %c[%z], %3, %s2 : memref<?x{acc}>, {types[2]}",
        "  return",
        "}",
    ]
    return "\n".join(lines)


def assembly(module: str, *options: str) -> str:
    """The x86-64 assembly that LLVM writes for a module."""
    mlir = run([require("mlir-opt-22"), "--convert-to-llvm", "--reconcile-unrealized-casts"], module)
    assert mlir.returncode == 0, mlir.stderr[:2000]
    llvm = run([require("mlir-translate-22"), "--mlir-to-llvmir"], mlir.stdout)
    assert llvm.returncode == 0, llvm.stderr[:2000]
    done = run([require("llc-22"), "-mtriple=x86_64-linux-gnu", *options, "-o", "-"], llvm.stdout)
    assert done.returncode == 0, done.stderr[:2000]
    return done.stdout


PRODUCTS = [TileProduct(5, 7, 12, "i8", "i8", *zext) for zext in SIGNS]
PRODUCTS += [TileProduct(5, 7, 6, e, e) for e in ("bf16", "f16")]


@pytest.mark.parametrize("tile", PRODUCTS, ids=lambda tile: tile.instruction)
def test_llvm_selects_the_instruction_with_the_feature_and_the_configuration(tile: TileProduct) -> None:
    text = assembly(kernel("f", tile, (64, 64, 16)), "-O2", f"-mattr=+amx-tile,+{tile.feature}")
    body = text[text.index("\nf:") : text.index(".Lfunc_end0")]
    assert re.findall(r"\ttdp(\w+)", body) == [tile.instruction.removeprefix("tdp")]
    # The record that ldtilecfg reads is built on the stack.
    [base] = re.findall(r"\tldtilecfg\t(-?\d+)\(%rsp\)", body)
    record = bytearray(64)
    for size, value, at in re.findall(r"\tmov([bw])\t\$(\d+), (-?\d+)\(%rsp\)", body):
        start = int(at) - int(base)
        record[start : start + (1 if size == "b" else 2)] = int(value).to_bytes(1 if size == "b" else 2, "little")
    loaded = [int(tmm) for tmm in re.findall(r"\ttileloadd\t.*%tmm(\d)", body)]
    tiles = [tile.lhs_type, tile.rhs_type, tile.acc_type]
    by_register = [tiles[loaded.index(tmm)] for tmm in range(3)]
    assert TileConfig.of(by_register).to_bytes() == bytes(record)
    assert TileConfig.from_bytes(bytes(record)) == TileConfig.of(by_register)


@pytest.mark.parametrize("tile", PRODUCTS, ids=lambda tile: tile.instruction)
def test_llvm_reads_the_text_of_a_product(tile: TileProduct) -> None:
    for version in (22, 23, 24):
        types = [one.text(version) for one in (tile.lhs_type, tile.rhs_type, tile.acc_type)]
        arguments = ", ".join(f"{name}: {kind}" for name, kind in zip(("%a", "%b", "%c"), types, strict=True))
        text = f"func.func @f({arguments}) {{ %0 = {tile.text(version)} func.return }}"
        assert verdicts([text], version) == [None]
    assert str(tile) == tile.text(24)


# Execution


class Buffer(ctypes.Structure):
    """MLIR's descriptor of a memref of one dimension."""

    _fields_ = (
        ("allocated", ctypes.c_void_p),
        ("aligned", ctypes.c_void_p),
        ("offset", ctypes.c_int64),
        ("size", ctypes.c_int64),
        ("stride", ctypes.c_int64),
    )

    @classmethod
    def of(cls, array: np.ndarray[Any, Any]) -> Buffer:
        return cls(array.ctypes.data, array.ctypes.data, 0, array.size, 1)


def library(folder: Path, kernels: list[str]) -> ctypes.CDLL:
    """Kernels as scalar code of this CPU."""
    if platform.machine() not in ("x86_64", "AMD64") or not sys.platform.startswith("linux"):
        absent("x86-64-linux")
    features = "-mattr=+amx-tile,+amx-bf16,+amx-int8"
    text = assembly("\n".join(kernels), "-O0", "--enable-x86-scalar-amx=true", "-relocation-model=pic", features)
    assert not re.findall(r"\t(?:tdp\w+|tile\w+|ldtilecfg|sttilecfg)\t", text), "AMX instructions are left"
    source, built = folder / "kernels.s", folder / "kernels.so"
    source.write_text(text)
    done = run([require("cc"), "-shared", "-o", str(built), str(source)])
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(built))


def in_memory(tile: np.ndarray[Any, Any], kind: TileType, stride: int, fill: int) -> np.ndarray[Any, Any]:
    """A buffer with the tile's elements where `memory_layout` says; other bytes are `fill`."""
    buffer = np.full(kind.rows * stride * kind.itemsize + 64, fill, np.uint8).view(tile.dtype)
    buffer[kind.memory_layout(stride).owner_map("addr")] = tile
    return buffer


def call(compiled: ctypes.CDLL, name: str, buffers: list[np.ndarray[Any, Any]]) -> None:
    getattr(compiled, f"_mlir_ciface_{name}")(*(ctypes.byref(Buffer.of(buffer)) for buffer in buffers))


def computed(compiled: ctypes.CDLL, name: str, tile: TileProduct, a: Any, b: Any, c: Any, strides: Any) -> Any:
    """What LLVM's code leaves in C; the bytes between C's rows must be as they were."""
    kinds = (tile.lhs_type, tile.rhs_type, tile.acc_type)
    operands = (a, pack_vnni(b), c)
    buffers = [in_memory(x, kind, s, 0xA5) for x, kind, s in zip(operands, kinds, strides, strict=True)]
    untouched = buffers[2].copy()
    call(compiled, name, buffers)
    places = tile.acc_type.memory_layout(strides[2]).owner_map("addr")
    result = buffers[2][places].copy()
    buffers[2][places] = untouched[places]
    assert buffers[2].tobytes() == untouched.tobytes()
    return result


INTEGERS = [
    TileProduct(m, n, k, "i8", "i8", *zext)
    for m, n, k in ((16, 16, 64), (1, 1, 4), (5, 7, 12), (16, 3, 60), (3, 16, 8))
    for zext in SIGNS
]
FLOATS = [
    TileProduct(m, n, k, "bf16", "bf16") for m, n, k in ((16, 16, 32), (1, 1, 2), (5, 7, 6), (16, 3, 30), (3, 16, 4))
]


def apart(tile: TileProduct) -> tuple[int, int, int]:
    """Strides that leave gaps of different sizes between rows (LLVM's scalar loops drop what is no whole word)."""
    return tile.lhs_type.cols + 4, tile.rhs_type.cols + 16, tile.acc_type.cols + 1


def test_llvms_code_computes_the_four_integer_products(tmp_path: Path) -> None:
    compiled = library(tmp_path, [kernel(f"f{i}", tile, apart(tile)) for i, tile in enumerate(INTEGERS)])
    rng = np.random.default_rng(1)
    for i, tile in enumerate(INTEGERS):
        types = [np.uint8 if zext else np.int8 for zext in (tile.lhs_zext, tile.rhs_zext)]
        a = rng.integers(0, 256, (tile.m, tile.k)).astype(np.uint8).view(types[0])
        b = rng.integers(0, 256, (tile.k, tile.n)).astype(np.uint8).view(types[1])
        c = rng.integers(-(2**31), 2**31, (tile.m, tile.n)).astype(np.int32)
        result = computed(compiled, f"f{i}", tile, a, b, c, apart(tile))
        exact = c.astype(np.int64) + a.astype(np.int64) @ b.astype(np.int64)
        assert np.array_equal(result, exact.astype(np.int32)), str(tile)
        assert np.array_equal(result, tile.execute(a, pack_vnni(b), c)), str(tile)


def test_llvms_code_computes_the_bf16_product(tmp_path: Path) -> None:
    """On whole numbers all agree exactly. Elsewhere LLVM adds onto C in the order of k, the manual even and odd k apart."""
    compiled = library(tmp_path, [kernel(f"f{i}", tile, apart(tile)) for i, tile in enumerate(FLOATS)])
    rng = np.random.default_rng(2)
    for i, tile in enumerate(FLOATS):
        a, b = (rng.integers(-16, 17, s).astype(bfloat16) for s in ((tile.m, tile.k), (tile.k, tile.n)))
        c = rng.integers(-1000, 1000, (tile.m, tile.n)).astype(np.float32)
        result = computed(compiled, f"f{i}", tile, a, b, c, apart(tile))
        assert np.array_equal(result, c + a.astype(np.float32) @ b.astype(np.float32)), str(tile)
        assert np.array_equal(result, tile.execute(a, pack_vnni(b), c)), str(tile)

        a, b = (rng.standard_normal(s).astype(bfloat16) for s in ((tile.m, tile.k), (tile.k, tile.n)))
        c = rng.standard_normal((tile.m, tile.n)).astype(np.float32)
        result = computed(compiled, f"f{i}", tile, a, b, c, apart(tile))
        in_order = c.copy()
        for k in range(tile.k):
            in_order = in_order + a[:, k, None].astype(np.float32) * b[None, k].astype(np.float32)
        assert np.array_equal(result, in_order), str(tile)
        size = np.abs(c) + np.abs(a.astype(float)) @ np.abs(b.astype(float))
        assert (np.abs(result - tile.execute(a, pack_vnni(b), c)) <= 1e-6 * size).all(), str(tile)


def test_llvms_loads_read_rows_that_overlap_and_its_stores_keep_the_later_row(tmp_path: Path) -> None:
    """A stride below the row is legal: tile[r, c] = base[r * stride + c], and rows are stored in order."""
    tile = TileProduct(4, 4, 16, "i8", "i8")
    strides = (8, 16, 1)
    compiled = library(tmp_path, [kernel("f", tile, strides)])
    rng = np.random.default_rng(3)
    memory = rng.integers(-128, 128, 64).astype(np.int8)
    b = rng.integers(-128, 128, (16, 4)).astype(np.int8)
    sums = np.arange(32, dtype=np.int32)
    a = memory[tile.lhs_type.memory_layout(8).owner_map("addr")]
    assert np.array_equal(a, [[memory[8 * r + c] for c in range(16)] for r in range(4)])
    c = np.array([[r + col for col in range(4)] for r in range(4)], np.int32)
    call(compiled, "f", [memory, pack_vnni(b).reshape(-1).copy(), sums])
    expected = np.arange(32)
    for r, row in enumerate(c + a.astype(int) @ b.astype(int)):
        expected[r : r + 4] = row
    assert np.array_equal(sums, expected)


# Spellings of later versions


@pytest.mark.parametrize("llvm", [22, 23, 24])
def test_what_is_printed_for_a_version_it_reads_and_the_others_do_not(llvm: int) -> None:
    program = require("mlir-opt-22") if llvm == 22 else require_new(f"mlir-opt-{llvm}")
    kinds = [TileProduct(m, 16, 64, "i8", "i8", *signs) for m in (1, 7, 16) for signs in SIGNS]
    kinds += [TileProduct(m, 8, 32, element, element) for m in (2, 16) for element in ("bf16", "f16")]
    for version in (22, 23, 24):
        lines = []
        for one in kinds:
            tiles = (one.lhs_type, one.rhs_type, one.acc_type)
            arguments = ", ".join(
                f"{name}: {t.text(version)}" for name, t in zip(("%a", "%b", "%c"), tiles, strict=True)
            )
            lines.append(f"func.func @f({arguments}) {{ %0 = {one.text(version)} func.return }}")
        done = run([program, "--split-input-file", "-o", "/dev/null"], "\n// -----\n".join(lines))
        read = (version == 22) == (llvm == 22)
        assert (done.returncode == 0) == read, done.stderr[:1000]
        assert done.stderr.count("error:") == (0 if read else len(kinds))
