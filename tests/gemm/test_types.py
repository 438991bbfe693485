"""Products of every type and storage, against sums written out: integers exactly, floats bit for bit.

A link of the chain is as many products as fit into 32 bits, added first; links are added in the order of k, each sum rounded to
f32. That is DPAS.md's order, written here once more without the library.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16
from numpy.typing import NDArray

from layoutalg.gemm import Gemm, plan_gemm
from layoutalg.lowering.matrix_instruction import instruction

Array = NDArray[Any]
TYPES = [("f16", "f16"), ("bf16", "bf16"), ("tf32", "tf32"), ("s8", "s8"), ("u8", "u8"), ("s8", "u8"), ("u8", "s8")]
STORED = [(False, False), (False, True), (True, False), (True, True)]
NAMES = {(False, False): "plain", (False, True): "trans_b", (True, False): "trans_a", (True, True): "both"}
DTYPES: dict[str, Any] = {"f16": np.float16, "bf16": bfloat16, "tf32": np.float32, "s8": np.int8, "u8": np.uint8}
DEPTHS = {"f16": 16, "bf16": 16, "tf32": 8, "s8": 32, "u8": 32}


def numbers(kind: str, *shape: int) -> Array:
    rng = np.random.default_rng(sum(shape))
    if kind in ("s8", "u8"):
        limits = np.iinfo(DTYPES[kind])
        return rng.integers(limits.min, limits.max + 1, shape).astype(DTYPES[kind])
    return rng.standard_normal(shape).astype(DTYPES[kind])


def product(kind: str, a: Array, b: Array, acc: str = "f32") -> Array:
    """A B in the order of DPAS; accumulators of 16 bits are rounded after each instruction."""
    if kind in ("s8", "u8"):
        return (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32)
    link, depth = (1, 8) if kind == "tf32" else (2, 16)
    left, right = a.astype(np.float32), b.astype(np.float32)
    if kind == "tf32":
        left, right = ((x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32) for x in (left, right))
    pad = -left.shape[1] % depth
    left, right = np.pad(left, ((0, 0), (0, pad))), np.pad(right, ((0, pad), (0, 0)))
    total = np.zeros((left.shape[0], right.shape[1]), np.float32)
    for k in range(0, left.shape[1], link):
        terms = [left[:, d, None] * right[d] for d in range(k, k + link)]
        total = total + (terms[0] if link == 1 else terms[0] + terms[1])
        if acc != "f32" and (k + link) % depth == 0:
            total = total.astype(DTYPES[acc]).astype(np.float32)
    return total if acc == "f32" else total.astype(DTYPES[acc])


def plan(m: int, n: int, k: int, a: str, b: str, stored: tuple[bool, bool], **options: Any) -> Gemm:
    """A plan with rows that are padded in memory, to 16 bytes and then once more."""
    each = {"tf32": 4}.get(a, 8 if a[0] in "fb" else 16)
    of_a, of_b = (m if stored[0] else k), (k if stored[1] else n)
    pitch: dict[str, Any] = {"lda": of_a + each - of_a % each, "ldb": of_b + each - of_b % each, "ldc": n + 8 - n % 4}
    chosen: dict[str, Any] = {
        "tile": (24, 48),
        "k_step": 2 * DEPTHS[a],
        "registers": 256,
        "subgroups": (1, 2),
        "prefetch": "none",
    }
    return plan_gemm(m, n, k, a, b, trans_a=stored[0], trans_b=stored[1], **(chosen | pitch | options))


def check(gemm: Gemm) -> None:
    problem = gemm.problem
    a, b = numbers(problem.a, gemm.m, gemm.k), numbers(problem.b, gemm.k, gemm.n)
    found = gemm.simulate(a.T if problem.trans_a else a, b.T if problem.trans_b else b)
    expected = product(problem.a, a, b, "f32" if problem.acc == "s32" else problem.acc)
    assert found.dtype == expected.dtype
    assert np.array_equal(found.view(f"u{found.itemsize}"), expected.view(f"u{found.itemsize}"))


@pytest.mark.parametrize("stored", STORED, ids=NAMES.get)
@pytest.mark.parametrize("types", TYPES, ids="x".join)
def test_every_type_and_storage(types: tuple[str, str], stored: tuple[bool, bool]) -> None:
    check(plan(68, 84, 100, *types, stored))


@pytest.mark.parametrize("stored", STORED[1:], ids=NAMES.get)
@pytest.mark.parametrize("a", ["tf32", "u8"])
def test_the_small_messages_of_llvm_22(a: str, stored: tuple[bool, bool]) -> None:
    check(plan(64, 80, 68, a, a, stored, llvm=22))


@pytest.mark.parametrize("target", ["pvc", "bmg"])
@pytest.mark.parametrize("stored", STORED[1:3], ids=NAMES.get)
@pytest.mark.parametrize("a", ["f16", "s8"])
def test_loops_whose_counter_counts_units_end_where_the_others_do(
    a: str, stored: tuple[bool, bool], target: str
) -> None:
    """With prefetch there are two loops, and the first ends two steps before the end; k is no multiple of a step."""
    check(plan(64, 96, 292, a, a, stored, target=target, prefetch="shared", distance=2, k_step=64))


@pytest.mark.parametrize("k", [1, 2, 65])
@pytest.mark.parametrize("a", ["f16", "s8", "u8", "tf32"])
def test_rows_of_a_transposed_a_need_no_even_number(a: str, k: int) -> None:
    """A of 8 bits is read as its even and its odd rows; nothing is read beyond the last."""
    check(plan(64, 64, k, a, a, (True, False), tile=(16, 16)))


@pytest.mark.parametrize("a", ["f16", "bf16"])
@pytest.mark.parametrize("stored", STORED[:3], ids=NAMES.get)
def test_accumulators_of_16_bits(a: str, stored: tuple[bool, bool]) -> None:
    check(plan(40, 64, 64, a, a, stored, acc=a))


@pytest.mark.parametrize(
    ("a", "name"), [("f16", "xegpu.dpas"), ("bf16", "xegpu.dpas"), ("tf32", "xevm.mma"), ("u8", "llvm.call")]
)
def test_products_are_written_in_the_words_that_llvm_can_lower(a: str, name: str) -> None:
    gemm = plan(64, 64, 64, a, a, (False, False), tile=(16, 32))
    text = gemm.emit("lane")
    assert instruction(a) == name
    assert text.count(f" = {name} ") == gemm.dpas_per_step
    assert sum(text.count(f" = {other} ") for other in ("xegpu.dpas", "xevm.mma", "llvm.call")) == gemm.dpas_per_step


@pytest.mark.parametrize(
    (
        "types",
        "symbol",
    ),  # as clang 16 of IGC 2.40.14 mangles OpenCL C's declarations, which the compiler's library defines
    [
        (("s8", "s8"), "_Z36intel_sub_group_i8_i8_matrix_mad_k32Dv8_sDv8_iS0_"),
        (("s8", "u8"), "_Z36intel_sub_group_i8_u8_matrix_mad_k32Dv8_sDv8_jDv8_i"),
        (("u8", "s8"), "_Z36intel_sub_group_u8_i8_matrix_mad_k32Dv8_tDv8_iS0_"),
        (("u8", "u8"), "_Z36intel_sub_group_u8_u8_matrix_mad_k32Dv8_tDv8_jDv8_i"),
    ],
)
def test_integers_are_multiplied_by_functions_that_the_graphics_compiler_has(
    types: tuple[str, str], symbol: str
) -> None:
    text = plan(64, 64, 64, *types, (False, False)).emit("lane")
    assert text.count(f"llvm.func spir_funccc @{symbol}(") == 1
    assert f"llvm.call spir_funccc @{symbol}(" in text
