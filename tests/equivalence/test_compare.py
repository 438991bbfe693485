"""Two versions of a kernel: a change in one operation is found at this operation, and rounding is no change."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg.equivalence import keeps_meaning, passes_keep_meaning
from tests.simulate.levels.kernels import KERNELS

HEAD = "gpu.module @m { gpu.func @k(%p: memref<16x16xf32>, %q: memref<16x16xf32>, %r: memref<16x16xf32>) kernel\n"
SIZES = "  attributes {known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32} {\n"
TILE = "!xegpu.tensor_desc<16x16xf32>"
LINES = (
    f"%t = xegpu.create_nd_tdesc %p : memref<16x16xf32> -> {TILE}",
    f"%u = xegpu.create_nd_tdesc %q : memref<16x16xf32> -> {TILE}",
    f"%v = xegpu.create_nd_tdesc %r : memref<16x16xf32> -> {TILE}",
    f"%x = xegpu.load_nd %t[0, 0] : {TILE} -> vector<16x16xf32>",
    f"%y = xegpu.load_nd %u[0, 0] : {TILE} -> vector<16x16xf32>",
    "%a = arith.subf %x, %y : vector<16x16xf32>",
    "%e = math.exp %a : vector<16x16xf32>",
    "%b = arith.addf %e, %x : vector<16x16xf32>",
    f"xegpu.store_nd %b, %v[0, 0] : vector<16x16xf32>, {TILE}",
)


def kernel(*lines: str) -> str:
    return HEAD + SIZES + "\n".join(lines or LINES) + "\ngpu.return } }"


@pytest.mark.parametrize(
    ("old", "new", "culprit", "line"),
    [
        ("subf %x, %y", "subf %y, %x", "arith.subf", 8),
        ("math.exp", "math.absf", "math.exp", 9),
        ("addf %e, %x", "addf %e, %y", "arith.addf", 10),
        ("addf %e, %x", "addf %x, %x", "arith.addf", 10),
        ("%x = xegpu.load_nd %t", "%x = xegpu.load_nd %u", "xegpu.load_nd", 6),
    ],
)
def test_a_changed_operation_is_the_one_that_is_named(old: str, new: str, culprit: str, line: int) -> None:
    found = keeps_meaning(kernel(), kernel().replace(old, new))
    assert not found.is_kept
    assert found.culprit is not None
    assert found.culprit.before is not None
    assert (found.culprit.operation, found.culprit.before.line) == (culprit, line)


def test_a_transpose_on_the_way_to_memory_goes_to_another_place() -> None:
    turned = kernel(
        *LINES[:-1],
        "%c = vector.transpose %b, [1, 0] : vector<16x16xf32> to vector<16x16xf32>",
        f"xegpu.store_nd %c, %v[0, 0] : vector<16x16xf32>, {TILE}",
    )
    found = keeps_meaning(kernel(), turned)
    assert found.difference is not None
    assert found.difference.element == (0, 1)
    assert found.difference.count > 200
    assert found.culprit is not None
    assert found.culprit.moved


def test_a_sum_in_another_order_is_the_same() -> None:
    other = kernel().replace("arith.addf %e, %x", "arith.addf %x, %e")
    assert keeps_meaning(kernel(), other).is_kept


def test_what_is_not_stored_makes_a_difference_in_what_was_there() -> None:
    found = keeps_meaning(kernel(), kernel(*LINES[:-1]))
    assert found.difference is not None
    assert found.difference.name == "%r"


def test_given_arguments_are_copied_and_used() -> None:
    arrays = [np.full((16, 16), n, np.float32) for n in (1.0, 2.0, 3.0)]
    found = keeps_meaning(kernel(), kernel().replace("math.exp", "math.absf"), arguments=arrays)
    assert found.difference is not None
    assert found.difference.before == pytest.approx(np.exp(-1.0) + 1)
    assert float(arrays[2].max()) == 3.0


@pytest.mark.parametrize("name", ["gemm_f16", "softmax", "sum_of_rows", "transpose"])
def test_a_kernel_is_the_same_as_itself(name: str) -> None:
    one = KERNELS[name]
    assert keeps_meaning(one.text, one.text, grid=one.grid).is_kept


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ("gpu.module @m { gpu.func @k(%n: index) kernel { gpu.return } }", "does not say its value"),
        ("gpu.module @m { gpu.func @k(%n: i64) kernel { gpu.return } }", "does not say its size"),
        ("gpu.module @m { gpu.func @k(%n: memref<?xf32>) kernel { gpu.return } }", "does not say its size"),
        ("gpu.module @m { gpu.func @k(%n: memref<99999999999xf32>) kernel { gpu.return } }", "too large"),
        ("gpu.barrier", "no kernel"),
        ("module {}\n// -----\nmodule {}", "2 modules"),
        ("what is this", "before"),
    ],
)
def test_what_cannot_be_tried_is_refused_in_words(before: str, words: str) -> None:
    with pytest.raises(la.LayoutError, match=words):
        keeps_meaning(before, kernel())


@pytest.mark.parametrize("wrong", [None, 5, b"x", ["x"]])
def test_values_of_other_types_are_refused(wrong: object) -> None:
    with pytest.raises(la.LayoutError):
        keeps_meaning(wrong, kernel())  # type: ignore[arg-type]
    with pytest.raises(la.LayoutError):
        passes_keep_meaning(kernel(), wrong)  # type: ignore[arg-type]
    with pytest.raises(la.LayoutError):
        passes_keep_meaning(kernel(), "cse", compiler=wrong)  # type: ignore[arg-type]


def test_what_cannot_be_compared_says_which_version_and_what_is_expected() -> None:
    with pytest.raises(la.LayoutError, match=r"^after: no kernel"):
        keeps_meaning(kernel(), "gpu.barrier")
    with pytest.raises(la.LayoutError, match=r"^tolerance -1: expected a number of at least 0"):
        keeps_meaning(kernel(), kernel(), tolerance=-1)
    with pytest.raises(la.LayoutError, match=r"^passes: expected a pipeline"):
        passes_keep_meaning(kernel(), " ")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"tolerance": "much"}, "tolerance 'much': expected a number of at least 0"),
        ({"tolerance": np.zeros(0)}, "expected a number of at least 0"),
        ({"tolerance": float("nan")}, "expected a number of at least 0"),
        ({"seed": -1}, "seed -1: expected a whole number"),
        ({"seed": "x"}, "seed 'x': expected a whole number"),
        ({"grid": (1, 10**5000, 1)}, "expected positive sizes"),
    ],
)
def test_options_that_nobody_means_are_refused_in_words(given: dict[str, Any], words: str) -> None:
    with pytest.raises(la.LayoutError, match=re.escape(words)):
        la.keeps_meaning(kernel(), kernel(), **given)
