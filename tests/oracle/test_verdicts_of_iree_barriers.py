"""`verify` says what iree-opt says of barriers, of what a region yields, and of values that are given a layout."""

from __future__ import annotations

from itertools import product

import pytest

from layoutalg.ir import read_file_text
from layoutalg.ir.findings import OURS
from layoutalg.ir.verify import verify_module
from tests.oracle.iree import diagnostics
from tests.oracle.test_verdicts_of_operations import words_of

_LAYOUT = (
    "#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [1, 1], outer_tile = [1, 1], thread_tile = [8, 8], "
    "element_tile = [2, 2], subgroup_strides = [0, 0], thread_strides = [8, 1]>"
)
_T, _V, _SMALL = "tensor<16x16xf32>", "vector<16x16xf32>", "tensor<8xf32>"


def function(arguments: str, body: str) -> str:
    return f"func.func @f({arguments}) {{\n{body}\nreturn\n}}\n"


def region(given: str, entry: str, yielded: str, result: str) -> str:
    last = f"iree_gpu.yield %a : {yielded}" if entry == "none" else yielded
    inside = "" if entry == "none" else f"^bb0({entry}):\n"
    return function(f"%a: {given}", f"%0 = iree_gpu.barrier_region ins(%a : {given}) {{\n{inside}{last}\n}} : {result}")


def regions() -> list[str]:
    yields = {_T: f"iree_gpu.yield %x : {_T}", _SMALL: f"iree_gpu.yield %x : {_SMALL}"}
    found = [
        region(given, f"%x: {kind}", yields[kind], result) for given, kind, result in product((_T, _SMALL), repeat=3)
    ]
    found += [
        region(_T, "none", _T, _T),
        region(_T, f"%x: {_T}, %y: {_T}", yields[_T], _T),
        region(_T, f"%x: {_T}", "iree_gpu.yield", _T),
        region(_T, f"%x: {_T}", f"iree_gpu.yield %x, %x : {_T}, {_T}", _T),
        region(_T, f"%x: {_T}", "%n = arith.constant 1 : i32", _T),
        region("f32", "%x: f32", "iree_gpu.yield %x : f32", "f32"),
        region("memref<4xf32>", "%x: memref<4xf32>", "iree_gpu.yield %x : memref<4xf32>", "memref<4xf32>"),
        function(f"%a: {_T}", f"iree_gpu.yield %a : {_T}"),
        function(f"%a: {_T}, %c: i1", f"scf.if %c {{\niree_gpu.yield %a : {_T}\n}}"),
    ]
    return found


def barriers() -> list[str]:
    kinds = (_T, _V, "vector<4xf32>", _SMALL, "f32", "memref<4xf32>", "index", "tensor<*xf32>", "vector<f32>")
    found = [function(f"%a: {kind}", f"%0 = iree_gpu.value_barrier %a : {kind}") for kind in kinds]
    return found + [
        function(f"%a: {one}, %b: {two}", f"%0:2 = iree_gpu.value_barrier %a, %b : {one}, {two}")
        for one, two in product(kinds[:4], kinds[:5])
    ]


def layouts() -> list[str]:
    shapes = ("16x16x", "16x32x", "32x16x", "16x", "1x16x16x", "8x8x", "", "?x16x")
    kinds = [f"{name}<{shape}f32>" for name in ("vector", "tensor") for shape in shapes]
    known = [kind for kind in kinds if kind != "vector<?x16xf32>"]  # no such vector
    found = [
        function(f"%a: {kind}", f"%0 = iree_vector_ext.to_layout %a to layout({_LAYOUT}) : {kind}")
        for kind in (*known, "f32", "memref<16x16xf32>", "memref<16xf32>", "memref<16x32xf32>")
    ]
    for name, one, two in product(
        ("to_simt", "to_simd"), (_V, "vector<4xf16>"), (_V, "vector<4x4xf32>", "vector<4xf16>")
    ):
        found.append(function(f"%a: {one}", f"%0 = iree_vector_ext.{name} %a : {one} -> {two}"))
    return found


@pytest.mark.parametrize(
    "questions", [barriers, regions, layouts], ids=["value_barrier", "barrier_region", "to_layout"]
)
def test_iree_opt_and_we_agree(questions: object) -> None:
    assert callable(questions)
    texts: list[str] = questions()
    verdicts = diagnostics(texts)
    assert None in verdicts
    for text, verdict in zip(texts, verdicts, strict=True):
        [part] = (reading := read_file_text(text)).modules
        refused = [finding.message.removeprefix("cannot be read: ") for finding in reading.findings]
        found = [*refused, *(finding.message for finding in verify_module(part.module) if finding.source != OURS)]
        wanted = None if verdict is None else words_of(verdict)
        if wanted is not None:
            wanted = wanted.removeprefix("custom op 'iree_vector_ext.to_layout' ")
        assert (found[0] if found else None) == wanted, f"iree-opt: {verdict}\n{text}"
