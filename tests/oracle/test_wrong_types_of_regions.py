"""Operations with regions around them refuse wrong types in LLVM's words: loops, branches and padding."""

from __future__ import annotations

import pytest

from layoutalg.ir import read_file_text
from layoutalg.ir.verify import verify_module
from tests.oracle.llvm_xegpu import mlir_opt
from tests.oracle.toolchains import run

INDEX, FLOAT, NONE, MEMREF = ("%i", "index"), ("%f", "f32"), ("%n", "none"), ("%m", "memref<4xf32>")
TENSOR, UNRANKED = ("%t", "tensor<4xf32>"), ("%u", "tensor<*xf32>")
VALUES = "".join(
    f'{name} = "test.op"() : () -> {kind}\n' for name, kind in (INDEX, FLOAT, NONE, MEMREF, TENSOR, UNRANKED)
)
Value = tuple[str, str]


def loop(lower: Value, upper: Value, initial: Value | None = None) -> str:
    name, kind = initial or ("", "")
    comma, argument = (", ", f", %a: {kind}") if initial else ("", "")
    maps = "lowerBoundMap = affine_map<()[s0] -> (s0)>, upperBoundMap = affine_map<()[s0] -> (s0)>"
    properties = f"{maps}, step = 1 : index, operandSegmentSizes = array<i32: 1, 1, {1 if initial else 0}>"
    body = f'^bb0(%k: index{argument}):\n"affine.yield"({"%a" if initial else ""}) : ({kind}) -> ()'
    types = f"({lower[1]}, {upper[1]}{comma}{kind}) -> ({kind})"
    return f'"affine.for"({lower[0]}, {upper[0]}{comma}{name}) <{{{properties}}}> ({{\n{body}\n}}) : {types}'


def pad(source: Value, low: Value, high: Value, result: str) -> str:
    sizes = "static_low = array<i64: -9223372036854775808>, static_high = array<i64: -9223372036854775808>"
    properties = f"operandSegmentSizes = array<i32: 1, 1, 1>, {sizes}"
    body = '^bb0(%k: index):\n"tensor.yield"(%f) : (f32) -> ()'
    types = f"({source[1]}, {low[1]}, {high[1]}) -> {result}"
    return f'%r = "tensor.pad"({source[0]}, {low[0]}, {high[0]}) <{{{properties}}}> ({{\n{body}\n}}) : {types}'


CASES = [
    loop(INDEX, INDEX),
    loop(FLOAT, INDEX),
    loop(INDEX, FLOAT),
    loop(INDEX, INDEX, FLOAT),
    loop(INDEX, INDEX, NONE),
    loop(INDEX, MEMREF, FLOAT),
    pad(TENSOR, INDEX, INDEX, "tensor<?xf32>"),
    pad(FLOAT, INDEX, INDEX, "tensor<?xf32>"),
    pad(TENSOR, FLOAT, INDEX, "tensor<?xf32>"),
    pad(TENSOR, INDEX, NONE, "tensor<?xf32>"),
    pad(TENSOR, INDEX, INDEX, "f32"),
    pad(UNRANKED, INDEX, INDEX, "tensor<?xf32>"),
    pad(TENSOR, INDEX, INDEX, "memref<?xf32>"),
]


@pytest.mark.parametrize("llvm", [22, 23, 24])
@pytest.mark.parametrize("operation", CASES)
def test_wrong_types_are_refused_in_llvm_s_words(operation: str, llvm: int) -> None:
    text = VALUES + operation
    said = run([mlir_opt(llvm), "--allow-unregistered-dialect"], text)
    wanted = [line.partition(" op ")[2] for line in said.stderr.splitlines() if " error: " in line]
    [part] = (reading := read_file_text(text)).modules
    assert not reading.findings
    assert [finding.message for finding in verify_module(part.module, llvm=llvm)] == wanted
    assert bool(wanted) == bool(said.returncode)
