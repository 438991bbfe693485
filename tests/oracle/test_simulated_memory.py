"""Kernels that use memory, in the simulator and as the same SPIR-V on Intel's CPU OpenCL runtime: the same bits.

A kernel has two workgroups of two subgroups of 16. It reads `%in`, 256 elements, and writes `%out`, 256 elements; %t is the
work-item in its workgroup, %i in the launch, %x is element %i of `%in`. A body's `%r` goes to element %i of `%out`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutalg.simulate.launching import launch
from tests.oracle.kernel_cpu import Launch, module_of, run_kernels

Array = NDArray[Any]

DTYPES = {"i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "f16": "f2", "f32": "f4", "f64": "f8"}
GRID, ITEMS, SIZE = 2, 32, 256


@dataclass(frozen=True)
class Case:
    """A body, the type of the elements, and what is declared beside the kernel."""

    body: str
    element: str = "i32"
    shared: str = ""


def _text(name: str, case: Case) -> str:
    known = f"intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: {ITEMS}, 1, 1>"
    begin = ["%t = gpu.thread_id x", "%g = gpu.block_id x", "%yes = arith.constant true"]
    begin += [f"%c{n} = arith.constant {n} : index" for n in (0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 31, 32, 64)]
    begin += ["%first = arith.muli %g, %c32 : index", "%i = arith.addi %first, %t : index"]
    begin += ["%lane = arith.andi %t, %c15 : index", "%sg = arith.shrui %t, %c4 : index"]
    begin.append(f"%x = xegpu.load %in[%i], %yes : i64, index, i1 -> {case.element}")
    if case.shared:
        begin.append(f"%slm = memref.get_global @{name}_slm : {case.shared}")
    end = [f"xegpu.store %r, %out[%i], %yes : {case.element}, i64, index, i1"] if "%r =" in case.body else []
    declared = f'memref.global "private" @{name}_slm : {case.shared} {{alignment = 64 : i64}}\n' if case.shared else ""
    lines = "\n".join([*begin, case.body, *end])
    return f"{declared}gpu.func @{name}(%in: i64, %out: i64) kernel attributes {{{known}}} {{\n{lines}\ngpu.return\n}}"


def _exchanged(element: str) -> Case:
    kind = f"memref<32x{element}, 3>"
    return Case(
        f"memref.store %x, %slm[%t] : {kind}\ngpu.barrier\n%o = arith.xori %t, %c31 : index\n"
        f"%r = memref.load %slm[%o] : {kind}",
        element,
        kind,
    )


LANES = (
    "%half = arith.shrui %t, %c1 : index %even = arith.andi %t, %c1 : index %isodd = arith.cmpi ne, %even, %c0 : index"
)

CASES: dict[str, Case] = {
    # Scattered messages
    **{f"gather_{element}": Case(
        "%o = arith.muli %i, %c3 : index\n"
        f"%r = xegpu.load %in[%o], %yes : i64, index, i1 -> {element}", element) for element in DTYPES if element != "f64"},
    **{f"chunk_{count}_{element}": Case(
        f"%n = arith.constant {count} : index %o = arith.muli %t, %n : index %p = arith.muli %g, %c64 : index\n"
        f"%s = arith.minui %o, %c64 : index %q = arith.addi %s, %p : index\n"
        f"%v = xegpu.load %in[%s], %yes <{{chunk_size = {count} : i64}}> : i64, index, i1 -> vector<{count}x{element}>\n"
        "%low = arith.cmpi ult, %o, %c64 : index\n"
        f"xegpu.store %v, %out[%q], %low <{{chunk_size = {count} : i64}}> : vector<{count}x{element}>, i64, index, i1",
        element) for count, element in ((2, "i32"), (4, "f32"), (8, "f16"), (4, "i8"), (2, "i64"), (8, "i32"))},
    "masked_load": Case(
        "%some = arith.cmpi ult, %lane, %c5 : index\n%y = xegpu.load %in[%c7], %some : i64, index, i1 -> i32\n"
        "%r = arith.select %some, %y, %x : i32"),
    "masked_store": Case(
        "%some = arith.cmpi ugt, %lane, %c5 : index\n%o = arith.xori %i, %c64 : index\n"
        "xegpu.store %x, %out[%o], %some : i32, i64, index, i1"),
    "vector_mask": Case(
        "%some = arith.cmpi ugt, %lane, %c5 : index %m = vector.broadcast %some : i1 to vector<1xi1>\n"
        "%o = vector.broadcast %i : index to vector<1xindex> %v = vector.broadcast %x : i32 to vector<1xi32>\n"
        "xegpu.store %v, %out[%o], %m : vector<1xi32>, i64, vector<1xindex>, vector<1xi1>"),
    # Shared memory
    **{f"exchange_{element}": _exchanged(element) for element in DTYPES},
    "two_dimensions": Case(
        "memref.store %x, %slm[%lane, %sg] : memref<16x2xi32, 3>\ngpu.barrier\n%o = arith.xori %lane, %c5 : index\n"
        "%r = memref.load %slm[%o, %sg] : memref<16x2xi32, 3>", "i32", "memref<16x2xi32, 3>"),
    "vectors_of_two": Case(
        "%v = vector.from_elements %x, %x : vector<2xi32> %o = arith.muli %t, %c2 : index\n"
        "vector.store %v, %slm[%o] : memref<64xi32, 3>, vector<2xi32>\ngpu.barrier\n"
        "%w = vector.load %slm[%t] : memref<64xi32, 3>, vector<2xi32>\n%r = vector.extract %w[1] : i32 from vector<2xi32>",
        "i32", "memref<64xi32, 3>"),
    "vectors_of_four": Case(
        "memref.store %x, %slm[%t] : memref<64xf32, 3>\n%o = arith.addi %t, %c32 : index\n"
        "memref.store %x, %slm[%o] : memref<64xf32, 3>\ngpu.barrier\n"
        "%w = vector.load %slm[%t] : memref<64xf32, 3>, vector<4xf32>\n"
        "%a = vector.extract %w[0] : f32 from vector<4xf32> %b = vector.extract %w[3] : f32 from vector<4xf32>\n"
        "%r = arith.subf %a, %b : f32", "f32", "memref<64xf32, 3>"),
    "reduction_tree": Case(
        "memref.store %x, %slm[%t] : memref<32xi32, 3>\ngpu.barrier\nscf.for %step = %c0 to %c5 step %c1 {\n"
        "%far = arith.shrui %c16, %step : index %some = arith.cmpi ult, %t, %far : index\nscf.if %some {\n"
        "%o = arith.addi %t, %far : index %a = memref.load %slm[%t] : memref<32xi32, 3>\n"
        "%b = memref.load %slm[%o] : memref<32xi32, 3>\n"
        "%s = arith.addi %a, %b : i32\nmemref.store %s, %slm[%t] : memref<32xi32, 3>\n}\ngpu.barrier\n}\n"
        "%r = memref.load %slm[%c0] : memref<32xi32, 3>", "i32", "memref<32xi32, 3>"),
    "ping_pong": Case(
        "%v = scf.for %step = %c0 to %c4 step %c1 iter_args(%y = %x) -> (i32) {\n"
        "memref.store %y, %slm[%t] : memref<32xi32, 3>\n"
        "gpu.barrier\n%n = arith.addi %t, %c3 : index %o = arith.andi %n, %c31 : index\n"
        "%z = memref.load %slm[%o] : memref<32xi32, 3>\n"
        "gpu.barrier\n%w = arith.addi %y, %z : i32\nscf.yield %w : i32\n}\n%r = arith.addi %v, %x : i32",
        "i32", "memref<32xi32, 3>"),
    "divergent_stores": Case(
        f"{LANES}\nscf.if %isodd {{\nmemref.store %x, %slm[%half] : memref<32xi32, 3>\n}} else {{\n"
        f"%o = arith.addi %half, %c16 : index\n"
        "memref.store %x, %slm[%o] : memref<32xi32, 3>\n}\ngpu.barrier\n%r = memref.load %slm[%t] : memref<32xi32, 3>",
        "i32", "memref<32xi32, 3>"),
    "subview": Case(
        "memref.store %x, %slm[%sg, %lane] : memref<4x16xi32, 3>\ngpu.barrier\n"
        "%w = memref.subview %slm[%c1, 2] [1, 8] [1, 1] : memref<4x16xi32, 3> to "
        "memref<1x8xi32, strided<[16, 1], offset: ?>, 3>\n"
        "%o = arith.andi %t, %c7 : index\n%r = memref.load %w[%c0, %o] : memref<1x8xi32, strided<[16, 1], offset: ?>, 3>",
        "i32", "memref<4x16xi32, 3>"),
    "strided_subview": Case(
        "memref.store %x, %slm[%t] : memref<32xi32, 3>\ngpu.barrier\n"
        "%w = memref.subview %slm[1] [8] [3] : memref<32xi32, 3> to memref<8xi32, strided<[3], offset: 1>, 3>\n"
        "%o = arith.andi %t, %c7 : index\n%r = memref.load %w[%o] : memref<8xi32, strided<[3], offset: 1>, 3>",
        "i32", "memref<32xi32, 3>"),
    "reinterpret_cast": Case(
        "memref.store %x, %slm[%t] : memref<32xi32, 3>\ngpu.barrier\n"
        "%w = memref.reinterpret_cast %slm to offset: [4], sizes: [4, 4], "
        "strides: [1, 4] : memref<32xi32, 3> to memref<4x4xi32, strided<[1, 4], offset: 4>, 3>\n"
        "%o = arith.andi %t, %c3 : index\n%r = memref.load %w[%o, %c2] : memref<4x4xi32, strided<[1, 4], offset: 4>, 3>",
        "i32", "memref<32xi32, 3>"),
    "view_of_bytes": Case(
        "%w = memref.view %slm[%c64][] : memref<256xi8, 3> to memref<32xi32, 3>\nmemref.store %x, %w[%t] : memref<32xi32, 3>\n"
        "gpu.barrier\n%n = arith.addi %t, %c64 : index %b = memref.load %slm[%n] : memref<256xi8, 3>\n"
        "%r = arith.extui %b : i8 to i32",
        "i32", "memref<256xi8, 3>"),
    "atomic_sum": Case(
        "%zero = arith.constant 0 : i32\nmemref.store %zero, %slm[%t] : memref<32xi32, 3>\ngpu.barrier\n"
        "%o = arith.andi %t, %c3 : index\n"
        "%old = memref.atomic_rmw addi %x, %slm[%o] : (i32, memref<32xi32, 3>) -> i32\ngpu.barrier\n"
        "%r = memref.load %slm[%o] : memref<32xi32, 3>", "i32", "memref<32xi32, 3>"),
    **{f"atomic_{kind}": Case(
        "memref.store %x, %slm[%t] : memref<32xi32, 3>\ngpu.barrier\n%o = arith.andi %t, %c3 : index\n"
        f"%old = memref.atomic_rmw {kind} %x, %slm[%o] : (i32, memref<32xi32, 3>) -> i32\ngpu.barrier\n"
        "%r = memref.load %slm[%o] : memref<32xi32, 3>", "i32", "memref<32xi32, 3>")
        for kind in ("maxs", "maxu", "mins", "minu", "andi", "ori", "xori")},
}  # fmt: skip


def _arrays(name: str, case: Case) -> tuple[Array, Array]:
    rng = np.random.default_rng(sum(map(ord, name)))
    dtype = np.dtype(DTYPES[case.element])
    given = rng.integers(-100, 100, SIZE).astype(dtype)
    return given, rng.integers(0, 7, SIZE).astype(dtype)


@cache
def _executed(directory: Path) -> dict[str, list[Array]]:
    launches = [Launch(name, _arrays(name, case), (GRID, 1, 1), (ITEMS, 1, 1)) for name, case in CASES.items()]
    # (This runtime's compiler crashes on matrices in shared memory: tests/simulate/test_matrices.py has those.)
    return run_kernels(module_of([_text(name, case) for name, case in CASES.items()]), launches, directory)


@pytest.mark.parametrize("name", CASES)
def test_memory_holds_what_it_holds_on_the_cpu(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    expected = _executed(tmp_path_factory.getbasetemp())[name]
    arrays = _arrays(name, CASES[name])
    outcome = launch(f"gpu.module @m {{\n{_text(name, CASES[name])}\n}}", arrays, (GRID, 1, 1))
    assert outcome.findings == ()
    for mine, theirs in zip(arrays, expected, strict=True):
        assert np.array_equal(mine.view(f"u{mine.itemsize}"), theirs.view(f"u{theirs.itemsize}"))
