"""Twenty mistakes and more in every kind of kernel: the simulator catches each, by another result or by refusing the kernel.

`mutating` makes them in the operations of the emitted kernel, so each mutant is valid; that it parses and verifies is checked.
The unmutated kernel computes what numpy makes of the same operands, one link of the chain after the other. A prefetch of wrong
lines, or none, changes no result: that is measured too, and the count of lines says what is wrong with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutalg.core.errors import LayoutError, ParseError, VerificationError
from layoutalg.gemm import Gemm, plan_gemm
from layoutalg.gemm.run import execute
from tests.gemm.mutating import Mutant, mutants, prefetches
from tests.gemm.random_operands import Operands, operands, same_bits

Array = NDArray[Any]

SMALL: dict[str, Any] = {"tile": (16, 16), "subgroups": (1, 2), "k_step": 32, "prefetch": "none", "lda": 96, "ldb": 96}
KINDS: dict[str, dict[str, Any]] = {
    "wide loads": {**SMALL, "tile": (16, 32)},
    "packed, for LLVM 22": {**SMALL, "k_step": 16, "llvm": 22},
    "A transposed": {**SMALL, "trans_a": True, "lda": 48},
    "B transposed": {**SMALL, "trans_b": True},
    "A transposed by workgroups": {
        **SMALL,
        "n": 32,
        "subgroups": (2, 2),
        "k_step": 64,
        "trans_a": True,
        "lda": 48,
        "transpose": "slm",
    },
    "A transposed in a scratch": {
        **SMALL,
        "n": 32,
        "subgroups": (2, 2),
        "k_step": 64,
        "trans_a": True,
        "lda": 48,
        "transpose": "scratch",
    },
    "both transposed": {**SMALL, "trans_a": True, "trans_b": True, "lda": 48, "transpose": "roles"},
    "both transposed, a bias of rows": {
        **SMALL,
        "trans_a": True,
        "trans_b": True,
        "lda": 48,
        "transpose": "roles",
        "bias": "row",
        "beta": 2.0,
    },
    "s8": {**SMALL, "a": "s8", "k": 104, "k_step": 64, "lda": 128, "ldb": 128},
    "tf32": {**SMALL, "a": "tf32", "k": 92, "k_step": 16},
    "a bias of rows": {
        **SMALL,
        "tile": (8, 16),
        "k_step": 16,
        "bias": "row",
        "alpha": 0.5,
        "beta": 2.0,
        "activation": "relu",
    },
    "a bias of columns": {
        **SMALL,
        "tile": (8, 16),
        "k_step": 16,
        "bias": "column",
        "alpha": 0.5,
        "beta": 2.0,
        "c": "f16",
    },
    "scales and a bias": {**SMALL, "tile": (8, 16), "k_step": 16, "scale": "both", "bias": "column"},
    "a batch": {**SMALL, "tile": (8, 16), "k_step": 16, "batch": 2},
    "shared prefetch": {**SMALL, "tile": (8, 16), "subgroups": (2, 2), "prefetch": "shared"},
    "workgroup level": {**SMALL, "tile": (16, 32), "subgroups": (2, 2)},
}
"""Sizes at which every step, row and piece counts: k ends in the second half of the last step, no two sizes are equal."""
LEAST = 20


def plan_of(kind: str) -> tuple[Gemm, str]:
    choices: dict[str, Any] = {"m": 40, "n": 72, "k": 88, "ldc": 80, **KINDS[kind]}
    return plan_gemm(**choices), "workgroup" if kind == "workgroup level" else "lane"


def by_links(gemm: Gemm, given: Operands) -> Array:
    """C by numpy: two products (one of tf32, all of integers) are added before they meet the sum."""
    problem, results = gemm.problem, list[Array]()
    pairs = zip(*(x.reshape(-1, *x.shape[-2:]) for x in given[:2]), strict=True)
    for a, b in pairs:
        left, right = a.T if problem.trans_a else a, b.T if problem.trans_b else b
        if left.dtype.kind == "i":
            results.append(left.astype(np.int32) @ right.astype(np.int32))
            continue
        left, right = left.astype(np.float32), right.astype(np.float32)
        each = 2
        if problem.a == "tf32":
            each, low = 1, np.uint32(0xFFFFE000)
            left, right = (np.ascontiguousarray(x).view(np.uint32) & low for x in (left, right))
            left, right = left.view(np.float32), right.view(np.float32)
        total = np.zeros((gemm.m, gemm.n), np.float32)
        for k in range(0, gemm.k, each):
            link = left[:, k, None] * right[k]
            total = total + (link if each == 1 else link + left[:, k + 1, None] * right[k + 1])
        results.append(total)
    total = np.stack(results) if problem.batch > 1 else results[0]
    if (
        given.bias is not None and given.c is not None
    ):  # alpha and beta are powers of two: fma and two operations round alike
        bias = given.bias.astype(np.float32)
        total = np.float32(problem.alpha) * total + (bias[:, None] if problem.bias == "row" else bias)
        total = np.float32(problem.beta) * given.c.astype(np.float32) + total
    if given.row_scale is not None and given.column_scale is not None and given.bias is not None:
        wide = np.longdouble  # the last scale and the bias are one fma
        product = (total * given.row_scale[:, None]).astype(wide) * given.column_scale.astype(wide)
        total = (product + given.bias.astype(wide)).astype(np.float32)
    if problem.activation:
        total = np.maximum(total, np.float32(0))
    return total.astype(np.float16) if problem.c == "f16" else total


def uncaught(gemm: Gemm, mutant: Mutant, given: Operands, expected: Array, level: str) -> bool:
    """Whether the mutant computes the right result."""
    try:
        found = gemm.simulate(*given, text=mutant.text, level=level)
    except (ParseError, VerificationError):
        raise AssertionError(f"{mutant.mistake}: not a valid kernel") from None
    except LayoutError:
        return False
    return same_bits(found, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_every_mistake_is_caught(kind: str) -> None:
    gemm, level = plan_of(kind)
    given, text = operands(gemm), gemm.emit(level)
    expected = by_links(gemm, given)
    assert same_bits(gemm.simulate(*given, text=text, level=level), expected)
    made = mutants(text)
    assert len(made) >= LEAST
    assert len({mutant.text for mutant in made} | {text}) == len(made) + 1
    assert [mutant.mistake for mutant in made if uncaught(gemm, mutant, given, expected, level)] == []


def test_a_wrong_prefetch_is_harmless_and_said_to_be_wrong() -> None:
    gemm = plan_gemm(64, 64, 96, ldb=96, tile=(8, 16), subgroups=(4, 4), k_step=32, prefetch="shared")
    given, text = operands(gemm), gemm.emit()
    expected = by_links(gemm, given)

    def wrong(kernel: str) -> set[str]:
        found, executed = execute(gemm, *given, text=kernel, counted="lines")
        assert same_bits(found, expected)
        assert executed is not None
        assert executed.lines is not None
        # A subgroup without a share asks outside of the matrix, for nothing.
        return {finding.rule for finding in executed.lines.findings(gemm.tiling.distance)} - {"prefetch.outside"}

    assert wrong(text) == set()
    made = prefetches(text)
    assert len(made) >= 3
    for mutant in made:
        assert wrong(mutant.text), mutant.mistake
