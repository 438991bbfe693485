"""Wrong arguments to conversions, memory questions, chips and messages: only documented errors, in a line, and quickly."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg import conversion, hardware
from layoutalg.conversion.bound import bound_of


class Nameless:
    def __repr__(self) -> str:
        raise RuntimeError("no name")


TILE = la.Layout.parse("d0 = 2@reg, d1 = 16@lane")
OPEN = "#xegpu.layout<lane_layout = [1, 16]>"
PLAN = la.convert("d0 = 4@reg, d1 = 4@lane", "d0 = 4@lane, d1 = 4@reg")
BEST = la.best_swizzle("d0 = 4@reg, d1 = 4@lane", "d0 = 4@lane, d1 = 4@reg")
WRONG: list[Any] = [
    *(
        None,
        -1,
        0,
        1.5,
        True,
        2**31,
        10**30,
        10**5000,
        float("nan"),
        "a",
        "\ud800",
        b"x",
        [],
        (),
        [1.5],
        (None,),
        ("x",),
        {},
    ),
    *(range(3), range(10**9), (10**5000,), [10**5000], object(), Nameless(), np.zeros(2), np.array(3), la.Swizzled),
    *(TILE, la.mma("MFMA_F32_16x16x16_F16"), la.parse(OPEN)),
    # Bombs: layouts that are short to write and huge to work out.
    *(
        "d0 = M@lane",
        "d0 = 2147483648@lane",
        "d0 = 2147483648@reg, d1 = 16@lane",
        "d0 = 4@lane | offset 2147483647@lane",
    ),
    *("d0 = 4@lane | replicas 2147483648@lane:4", "d0 = 2@sg:2147483648 | replicas 2147483648@sg"),
]
CALLS: dict[str, Callable[[Any], object]] = {
    "bank_conflicts": la.bank_conflicts,
    "bank_conflicts banks": lambda x: la.bank_conflicts(TILE, banks=x),
    "bank_conflicts width": lambda x: la.bank_conflicts(TILE, width=x),
    "bank_conflicts element_bits": lambda x: la.bank_conflicts(TILE, element_bits=x),
    "bank_conflicts memory": lambda x: la.bank_conflicts(TILE, memory=x),
    "bank_conflicts vector": lambda x: la.bank_conflicts(TILE, vector=x),
    "bank_conflicts shape": lambda x: la.bank_conflicts(OPEN, shape=x),
    "bank_conflicts own shape": lambda x: la.bank_conflicts(TILE, shape=x),
    "bank_conflicts machine": lambda x: la.bank_conflicts(TILE, machine=x),
    "coalescing": lambda x: la.coalescing(x, element_bits=32),
    "coalescing shape": lambda x: la.coalescing(OPEN, x, element_bits=32),
    "coalescing element_bits": lambda x: la.coalescing(TILE, element_bits=x),
    "coalescing line": lambda x: la.coalescing(TILE, element_bits=32, line=x),
    "coalescing memory": lambda x: la.coalescing(TILE, element_bits=32, memory=x),
    "best_swizzle write": lambda x: la.best_swizzle(x, TILE),
    "best_swizzle both": lambda x: la.best_swizzle(x, x),
    "best_swizzle shape": lambda x: la.best_swizzle(TILE, TILE, x),
    "best_swizzle banks": lambda x: la.best_swizzle(TILE, TILE, banks=x),
    "best_swizzle width": lambda x: la.best_swizzle(TILE, TILE, width=x),
    "BestSwizzle.address": BEST.address,
    "BestSwizzle.address of two": lambda x: BEST.address([x, x]),
    "convert source": lambda x: la.convert(x, TILE),
    "convert destination": lambda x: la.convert(TILE, x),
    "convert both": lambda x: la.convert(x, x),
    "convert shape": lambda x: la.convert(OPEN, OPEN.replace("1, 16", "16, 1"), x),
    "convert machine": lambda x: la.convert(TILE, TILE, machine=x),
    "convert element_bits": lambda x: la.convert(TILE, TILE, element_bits=x),
    "convert target": lambda x: la.convert(TILE, TILE, target=x),
    "convert slm_limit": lambda x: la.convert(TILE, TILE, slm_limit=x),
    "ConversionPlan": lambda x: str(conversion.ConversionPlan(x, x, x, x)),
    "ConversionPlan element_bits": lambda x: conversion.ConversionPlan(TILE, TILE, x, "pvc").cost,
    "ConversionPlan slm_limit": lambda x: conversion.ConversionPlan(TILE, TILE, 32, "pvc", x).cost,
    "bound_of": lambda x: bound_of(x, x, 32),
    "bound_of destination": lambda x: bound_of(TILE, x, 32),
    "bound_of element_bits": lambda x: bound_of(TILE, TILE, x),
    "Candidate.count": PLAN.chosen.count,
    "emit element": PLAN.emit,
    "emit name": lambda x: PLAN.emit(name=x),
    "apply": PLAN.apply,
    "cost_of": conversion.cost_of,
    "target_info": hardware.target_info,
    "dpas": lambda x: hardware.dpas(x, x),
    "dpas m": lambda x: hardware.dpas("f16", "f16", m=x),
    "dpas target": lambda x: hardware.dpas("f16", "f16", target=x),
    "dpas_instructions": hardware.dpas_instructions,
    "block_load": lambda x: hardware.block_load(x, x, x),
    "block_load count": lambda x: hardware.block_load(8, 16, 16, x),
    "block_load transpose_bits": lambda x: hardware.block_load(8, 16, 16, transpose=True, transpose_bits=x),
    "block_load subgroup_size": lambda x: hardware.block_load(8, 16, 16, subgroup_size=x),
    "block_store": lambda x: hardware.block_store(x, x, x),
    "block_store subgroup_size": lambda x: hardware.block_store(8, 16, 16, x),
    "gather": hardware.gather,
    "gather chunk_size": lambda x: hardware.gather(16, x),
    "row_fragment": lambda x: hardware.row_fragment(x, x, x),
}


@pytest.mark.parametrize("name", CALLS)
def test_wrong_arguments_raise_only_layout_errors(name: str) -> None:
    for argument in WRONG:
        start = time.thread_time()
        try:
            CALLS[name](argument)
        except la.LayoutError as error:
            assert str(error)
            assert "\n" not in str(error)
        assert time.thread_time() - start < 5


def test_texts_values_and_layouts_give_the_same_answers() -> None:
    texts = OPEN, "#xegpu.layout<lane_layout = [16, 1]>"
    values = [la.parse(text) for text in texts]
    layouts = [value.layout((16, 16)) for value in values]
    memory_text = "d0 = 16@addr:17, d1 = 16@addr"
    plans = {la.convert(*pair, (16, 16)) for pair in (texts, values, layouts)}
    assert len(plans) == 1
    swizzles = {str(la.best_swizzle(*pair, (16, 16))) for pair in (texts, values, layouts)}
    assert len(swizzles) == 1
    for pair in zip(texts, values, layouts, strict=True):
        for given in (memory_text, la.Layout.parse(memory_text)):
            assert len({la.bank_conflicts(one, shape=(16, 16), memory=given) for one in pair}) == 1
            assert len({la.coalescing(one, (16, 16), element_bits=32, memory=given) for one in pair}) == 1


def test_lanes_that_a_value_leaves_open_hold_copies_for_every_question() -> None:
    few, all16 = (
        "#xegpu.layout<lane_layout = [8, 1], lane_data = [1, 1]>",
        "d0 = 8@lane, d1 = 2@reg | replicas 2@lane:8",
    )
    machine = la.Machine(lanes=16)
    assert la.convert(few, all16).kind == "identity"
    assert la.bank_conflicts(few, shape=(8, 2), machine=machine) == la.bank_conflicts(all16)
    assert la.coalescing(few, (8, 2), machine=machine, element_bits=32) == la.coalescing(all16, element_bits=32)
    assert la.best_swizzle(few, all16).read == la.best_swizzle(all16, all16).read


def test_memory_may_be_of_any_notation() -> None:
    tile = la.Layout.parse("d0 = 16@lane, d1 = 4@reg")
    for memory_of_columns in ("(16,4):(5,1)", la.parse("(16,4):(5,1)"), "d0 = 16@addr:5, d1 = 4@addr"):
        assert la.bank_conflicts(tile, memory=memory_of_columns).ways == 1  # 5 and 32 have no factor in common
    with pytest.raises(la.ConversionError, match="expected one tensor"):
        la.bank_conflicts(tile, memory="d0 = 64@addr")
