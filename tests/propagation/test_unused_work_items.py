"""Layouts that use some of the lanes or subgroups, and parts of tensors: right by meaning, and the same numbers when run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import layoutalg as la

ROWS = "sg_layout = [2, 1], sg_data = [16, 32], lane_layout = [1, 16], lane_data = [1, 1]"


def kernel(items: int, source: str, result: str, *lines: str) -> str:
    """`%x` is what is loaded of the type `source`; `%r`, of the type `result`, is stored."""
    return "\n".join(
        [
            "gpu.module @m { gpu.func @k(%p: i64, %q: i64) kernel attributes {",
            f"known_block_size = array<i32: {items}, 1, 1>, intel_reqd_sub_group_size = 16 : i32}} {{",
            *loaded("%x", "%p", source),
            *lines,
            *offsets("%at", "%all", result),
            f"xegpu.store %r, %q[%at], %all : vector<{result}>, i64, {indices(result)}, {masks(result)}",
            "gpu.return } }",
        ]
    )


def loaded(name: str, pointer: str, kind: str) -> list[str]:
    load = (
        f"{name} = xegpu.load {pointer}[{name}_at], {name}_all : i64, {indices(kind)}, {masks(kind)} -> vector<{kind}>"
    )
    return [*offsets(f"{name}_at", f"{name}_all", kind), load]


def offsets(at: str, mask: str, kind: str) -> list[str]:
    count = int(np.prod(sizes(kind)))
    return [
        f"{at}_row = vector.step : vector<{count}xindex>",
        f"{at} = vector.shape_cast {at}_row : vector<{count}xindex> to {indices(kind)}",
        f"{mask} = arith.constant dense<true> : {masks(kind)}",
    ]


def sizes(kind: str) -> tuple[int, ...]:
    return tuple(map(int, kind.split("x")[:-1]))


def indices(kind: str) -> str:
    return f"vector<{'x'.join(map(str, sizes(kind)))}xindex>"


def masks(kind: str) -> str:
    return f"vector<{'x'.join(map(str, sizes(kind)))}xi1>"


Case = tuple[int, str, str, tuple[str, ...], Callable[[Any], Any]]
CASES: dict[str, Case] = {
    "columns of half of the lanes": (
        16,
        "16x16xi32",
        "16x16xi32",
        (
            "%y = arith.addi %x, %x {layout_result_0 = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>}"
            " : vector<16x16xi32>",
            "%h = vector.extract_strided_slice %y {offsets = [8, 8], sizes = [8, 8], strides = [1, 1]}"
            " : vector<16x16xi32> to vector<8x8xi32>",
            "%s = arith.addi %h, %h : vector<8x8xi32>",
            "%r = vector.insert_strided_slice %s, %y {offsets = [0, 8], strides = [1, 1]}"
            " : vector<8x8xi32> into vector<16x16xi32>",
        ),
        lambda x: 2 * np.block([[x[:8, :8], 2 * x[8:, 8:]], [x[8:]]]),
    ),
    "an odd part": (
        16,
        "16x2x16xi32",
        "1x2x7xi32",
        (
            "%y = arith.addi %x, %x {layout_result_0 = #xegpu.layout<lane_layout = [1, 2, 8], lane_data = [2, 1, 1]>}"
            " : vector<16x2x16xi32>",
            "%r = vector.extract_strided_slice %y {offsets = [15, 0, 9], sizes = [1, 2, 7], strides = [1, 1, 1]}"
            " : vector<16x2x16xi32> to vector<1x2x7xi32>",
        ),
        lambda x: 2 * x[15:, :, 9:],
    ),
    "two of four subgroups": (
        64,
        "32x32xi32",
        "32x32xi32",
        (
            f"%y = arith.addi %x, %x {{layout_result_0 = #xegpu.layout<{ROWS}>}} : vector<32x32xi32>",
            "%t = vector.transpose %y, [1, 0] : vector<32x32xi32> to vector<32x32xi32>",
            "%r = arith.subi %t, %y : vector<32x32xi32>",
        ),
        lambda x: 2 * (x.T - x),
    ),
    "one subgroup has what four had": (
        64,
        "4x2xi32",
        "4xi32",
        (
            "%c = arith.constant dense<2> : vector<4xi32>",
            "%d = arith.constant dense<1> : vector<2xi32>",
            "%r = vector.multi_reduction <xor>, %x, %c [1] : vector<4x2xi32> to vector<4xi32>",
            "%s = vector.multi_reduction <mul>, %x, %d [0] : vector<4x2xi32> to vector<2xi32>",
        ),
        lambda x: x[:, 0] ^ x[:, 1] ^ 2,
    ),
    "one element of one": (
        16,
        "1xi32",
        "1x1xi32",
        ("%r = vector.shape_cast %x : vector<1xi32> to vector<1x1xi32>",),
        lambda x: x[None],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_right_and_computes_the_same(name: str) -> None:
    items, source, result, lines, define = CASES[name]
    module = la.read(kernel(items, source, result, *lines))
    for level in ("lane",) if items == 16 else ("workgroup", "lane"):
        done = la.propagate(module, level=level)
        assert not [finding for finding in done.findings if finding.level == "error"]
        module = done.module
        assert la.check(module, llvm=24).is_right, level
    lowered = la.lower(module).module
    assert lowered is not None
    given = np.random.default_rng(13).integers(-99, 99, sizes(source), np.int32)
    stored = np.zeros(sizes(result), np.int32)
    assert not lowered.run([given, stored], (1, 1, 1)).findings
    np.testing.assert_array_equal(stored, define(given))


def test_a_layout_with_lanes_converts_to_one_of_subgroups_alone() -> None:
    """What one of the layouts does not say counts as registers."""
    text = kernel(
        32,
        "32x64xi32",
        "32x64xi32",
        "%y = arith.addi %x, %x {layout_result_0 = #xegpu.layout<"
        + ROWS.replace("32", "64")
        + ">} : vector<32x64xi32>",
        "%r = arith.addi %y, %x {layout_result_0 = #xegpu.layout<sg_layout = [1, 2], sg_data = [32, 32]>}"
        " : vector<32x64xi32>",
    )
    done = la.propagate(text, level="workgroup")
    assert not [finding for finding in done.findings if finding.level == "error"]
    assert done.conversions
