"""Rows of a tile in memory: without a stride, the memref says how far they are apart, and its columns are neighbours."""

from __future__ import annotations

import pytest

import layoutalg as la
from tests.oracle.toolchains import require, require_new, run

RANK, UNIT = "requires at least 2D memref", "requires memref with unit innermost stride"
MEMORY = {
    "?xf32": RANK,
    "f32": RANK,
    "?x?xf32, strided<[?, ?]>": UNIT,
    "16x16xf32, strided<[1, 16]>": UNIT,
    "16x16xf32, strided<[16, 2], offset: ?>": UNIT,
    "16x16xf32, affine_map<(d0, d1) -> (d1, d0)>": UNIT,
    "16x16xf32, affine_map<(d0, d1) -> (d0 * 32 + d1 * 2)>": UNIT,
    "16x16xf32, affine_map<(d0, d1) -> (d0 floordiv 2, d1, d0 mod 2)>": UNIT,
    "?x?xf32": None,
    "16x16xf32, strided<[?, 1]>": None,
    "2x16x16xf32, strided<[1, 32, 1], offset: 3>": None,
    "16x16xf32, affine_map<(d0, d1) -> (d0 * 32 + d1)>": None,
}


def text(memory: str, dialect: str, store: bool, stride: bool) -> str:
    kind = memory.partition(", ")[0]
    indices = ", ".join(["%c"] * kind.count("x"))
    apart, tile = ", %c" if stride else "", f"!{dialect}.tile<16x16xf32>"
    if store:
        body = f"%t = {dialect}.tile_zero : {tile}\n{dialect}.tile_store %m[{indices}], %t{apart} : memref<{memory}>, {tile}"
    else:
        body = f"%t = {dialect}.tile_load %m[{indices}]{apart} : memref<{memory}> into {tile}"
    return f"func.func @f(%m: memref<{memory}>, %c: index) {{\n{body}\nfunc.return }}\n"


def messages(source: str, llvm: int) -> list[str]:
    return [finding.message for finding in la.read(source).verify(llvm=llvm)]


@pytest.mark.parametrize(("dialect", "llvm"), [("amx", 22), ("x86.amx", 23), ("x86.amx", 24)])
@pytest.mark.parametrize("store", [False, True])
def test_mlir_opt_and_we_say_the_same_of_memory_of_tiles(dialect: str, llvm: int, store: bool) -> None:
    program = require("mlir-opt-22") if llvm == 22 else require_new(f"mlir-opt-{llvm}")
    kernels = [text(memory, dialect, store, stride) for memory in MEMORY for stride in (False, True)]
    for kernel in kernels:
        theirs = run([program], kernel)
        ours = messages(kernel, llvm)
        if ours:
            assert ours[0] in theirs.stderr, kernel
        else:
            assert theirs.returncode == 0, theirs.stderr


@pytest.mark.parametrize(("memory", "problem"), MEMORY.items(), ids=MEMORY)
def test_a_memref_without_a_stride_beside_it_has_neighbouring_columns(memory: str, problem: str | None) -> None:
    for store in (False, True):
        assert messages(text(memory, "x86.amx", store, False), 24) == ([] if problem is None else [problem])
        assert not messages(text(memory, "x86.amx", store, True), 24)
