"""Kernels with one mistake are found out: they are refused, reported, or compute something else. What survives means the same.

The elements that a conversion is given have values of their own, and holders of one element the same one: a mutant whose
result is right moves every element as the kernel does. It is run again on other values and more workgroups. A matrix product
is run on sizes that all differ, m, n, k and the leading dimensions, and a survivor on more of them. The survivors are
printed; for those of a product the reason why they mean the same stands here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutalg.conversion.lowering.emit import emit_kernel
from layoutalg.core.errors import LayoutError
from layoutalg.gemm import Gemm, plan_gemm
from layoutalg.ir import read_module
from layoutalg.simulate.launching import launch
from tests.oracle.test_conversions_run import CASES, Case
from tests.simulate.mutants import mutated

Array = NDArray[Any]
Verdict = Callable[[str], str]

FROM_CONVERSIONS, FROM_PRODUCTS = 220, 100
PLANNED = [case for case in CASES if case.name.startswith(("planned", "named"))]
PRODUCTS = [(56, 104, 72, 88, 112, 120), (33, 48, 40, 48, 56, 52), (120, 56, 136, 144, 64, 72)]
PRODUCT = (Path(__file__).parent / "product.mlir").read_text()
"""A product in its plainest form: one subgroup per workgroup computes 32x32 elements of C, 16 of k at a time."""

SAME = {
    r"xegpu.load_nd %matrix_b\[[^]]*\] : ": "B without packing is the same lane by lane, only slower",
    r"= arith.xori %(row|column)0, ": "tiles begin at multiples of their size: adding sets bits",
    r"= arith.ori %(row|column)0, ": "tiles begin at multiples of their size: adding sets bits",
    r"%at_least_one = arith.maxsi %k, ": "the loop may go on beyond k, where A and B read as zero",
    r"%one_step = arith.constant ": "the loop may go on beyond k, where A and B read as zero",
    r"%depth = arith.index_cast %(k|lda|one_step|at_least_one|ldb|ldc|n|m) ": "the loop may go on beyond k (or k is as large)",
}
"""What survives in a product, and why it means the same (for k of 1 at least, as planned)."""


def _values(numbers: Array, seed: int) -> Array:
    """A value for each number, another one for each seed: a number in a type becomes a permutation of the type's bits."""
    raw = np.ascontiguousarray(numbers).view(f"u{numbers.itemsize}")
    rng = np.random.default_rng(seed)
    if raw.itemsize == 1:
        return rng.permutation(256).astype(np.uint8)[raw].view(numbers.dtype)
    odd, shift = rng.integers(0, np.iinfo(raw.dtype).max, dtype=raw.dtype) | raw.dtype.type(1), raw.itemsize * 4
    mixed = raw * odd + odd
    mixed = (mixed ^ (mixed >> raw.dtype.type(shift))) * odd
    return (mixed ^ (mixed >> raw.dtype.type(shift))).view(numbers.dtype)


def _converted(case: Case, text: str, source: Array) -> str:
    expected = np.stack([case.run(given) for given in source])
    target = np.zeros_like(expected)
    target.view(np.uint8)[...] = 0x5A
    source = source.copy()
    source.flags.writeable = False
    try:
        outcome = launch(text, [source, target], (len(source), 1, 1))
    except LayoutError:
        return "refused"
    if outcome.findings:
        return outcome.findings[0].rule
    return "right" if np.array_equal(target.view(np.uint8), expected.view(np.uint8)) else "wrong"


def _conversion(case: Case) -> tuple[str, Verdict]:
    job = case.job()
    fragments = np.ascontiguousarray(job.fragments)

    def verdict(text: str) -> str:
        for seed, source in enumerate((fragments, np.concatenate([fragments] * 3), fragments)):
            found = _converted(case, text, _values(source, seed))
            if found != "right":
                return found
        return "right"

    return emit_kernel(job.programs, job.element, job.name), verdict


@cache
def _product(sizes: tuple[int, ...]) -> tuple[Gemm, Array, Array, Array]:
    m, n, k, lda, ldb, ldc = sizes
    rng = np.random.default_rng(m)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((m, k), (k, n)))
    gemm = plan_gemm(
        m, n, k, lda=lda, ldb=ldb, ldc=ldc, tile=(32, 32), subgroups=(1, 1), k_step=16, registers=128, prefetch="none"
    )
    return gemm, a, b, a.astype(np.float32) @ b.astype(np.float32)


def _multiplied(text: str) -> str:
    for sizes in PRODUCTS:
        gemm, a, b, expected = _product(sizes)
        try:
            found = gemm.simulate(a, b, text=text)
        except LayoutError as problem:
            finding = getattr(problem, "finding", None)
            return finding.rule if finding is not None and finding.rule.startswith("run.") else "refused"
        if not np.array_equal(found, expected):
            return "wrong"
    return "right"


def _reads(text: str) -> bool:
    try:
        read_module(text)
    except LayoutError:
        return False
    return True


def _judged(text: str, verdict: Verdict, count: int, seed: int) -> list[tuple[str, str, str]]:
    """For so many mutants that can be read: the line that was, the line that is, and what became of it."""
    assert verdict(text) == "right"
    found: list[tuple[str, str, str]] = []
    for line, now, made in mutated(text, 20 * count, seed):
        if len(found) < count and _reads(made):
            found.append((text.splitlines()[line - 1].strip(), now, verdict(made)))
    return found


def _of_conversions(part: slice) -> tuple[int, list[tuple[str, str]]]:
    """How many mutants of some of 44 conversions there are, and which of them mean the same."""
    found: list[tuple[str, str, str]] = []
    for seed, case in list(enumerate(PLANNED[:: len(PLANNED) // 44 or 1][:44]))[part]:
        found += _judged(*_conversion(case), FROM_CONVERSIONS // 44, seed)
    survivors = [(was, now) for was, now, what in found if what == "right"]
    print(f"{len(found)} mutants of conversions: {dict(Counter(what for *_, what in found))}")
    for was, now in survivors:
        print(f"  means the same: {now}   (was {was})")
    assert not any("barrier" in was or "store" in was for was, _ in survivors)
    return len(found), survivors


@pytest.mark.slow
@pytest.mark.parametrize("part", range(11))
def test_mutants_of_conversions_are_found_out(part: int) -> None:
    count, survivors = _of_conversions(slice(part, None, 11))
    assert count == FROM_CONVERSIONS // 11
    assert len(survivors) <= count // 4


@pytest.mark.exhaustive
def test_of_all_mutants_of_conversions_seven_eighths_are_found_out() -> None:
    count, survivors = _of_conversions(slice(None))
    assert count >= 200
    assert len(survivors) <= count // 8


@pytest.mark.slow
def test_mutants_of_products_are_found_out(capsys: pytest.CaptureFixture[str]) -> None:
    found = _judged(PRODUCT, _multiplied, FROM_PRODUCTS, 7)
    survivors = [(was, now) for was, now, what in found if what == "right"]
    reasons = [[reason for pattern, reason in SAME.items() if re.search(pattern, now)] for _, now in survivors]
    with capsys.disabled():
        print(f"\n{len(found)} mutants of a product: {dict(Counter(what for *_, what in found))}")
        for (was, now), why in zip(survivors, reasons, strict=True):
            print(f"  {', '.join(why) or 'NO REASON'}: {now}   (was {was})")
    assert len(found) >= 100
    assert all(reasons)


MISSED_ONCE = {
    "a store into the padding of C's rows": (
        "%matrix_c = xegpu.create_nd_tdesc %c, shape : [%size_m, %size_n]",
        "%matrix_c = xegpu.create_nd_tdesc %c, shape : [%size_m, %size_ldc]",
        "run.padding",
    ),
    "a store to A": (
        "%matrix_c = xegpu.create_nd_tdesc %c, shape : [%size_m, %size_n], strides : [%size_ldc",
        "%matrix_c = xegpu.create_nd_tdesc %a, shape : [%one, %size_n], strides : [%size_ldc",
        "run.input_written",
    ),
}


@pytest.mark.parametrize("name", MISSED_ONCE)
def test_what_once_survived_is_found_out(name: str) -> None:
    right, wrong, rule = MISSED_ONCE[name]
    text = PRODUCT
    assert right in text
    assert _multiplied(text) == "right"
    one = "%zero = arith.constant 0 : index"
    assert _multiplied(text.replace(right, wrong).replace(one, one + "\n%one = arith.constant 1 : index")) == rule
