"""The workgroup's, the subgroup's and the lane's kernel compute the same bits, and so does la.lower of the first two.

The operands are random reals, so the order in which products are added is part of what is compared.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg.core.errors import PlanError
from layoutalg.gemm import plan_gemm
from layoutalg.gemm.emission.subgroup import emit_subgroup
from layoutalg.gemm.emission.workgroup import emit_workgroup
from tests.gemm.running import inputs, reals, run

EMITTERS = {"workgroup": emit_workgroup, "subgroup": emit_subgroup}
SMALL: dict[str, Any] = {"tile": (16, 32), "subgroups": (2, 2), "k_step": 32, "registers": 128, "prefetch": "shared"}
CASES: dict[str, tuple[tuple[int, int, int], dict[str, Any]]] = {
    "f16": ((64, 64, 64), {}),
    "bf16 to bf16": ((40, 80, 160), {"a": "bf16", "c": "bf16", "distance": 2}),
    "ragged": ((37, 40, 50), {"lda": 56, "ldc": 44}),
    "three subgroups": ((50, 100, 96), {"tile": (24, 16), "subgroups": (1, 3), "ldb": 104}),
    "f16 accumulators": ((40, 64, 64), {"acc": "f16"}),
    "gelu": ((37, 40, 48), {"alpha": 0.3, "beta": 1.7, "activation": "gelu", "bias": "column"}),
    "silu": ((37, 40, 48), {"beta": 1, "activation": "silu", "bias": "row", "c": "f16"}),
    "relu in a batch": ((24, 64, 48), {"alpha": -1.5, "activation": "relu", "batch": 3, "lda": 64}),
    "B transposed": ((40, 48, 64), {"trans_b": True}),
    "A transposed": ((40, 48, 64), {"trans_a": True}),
    "s8": ((40, 64, 64), {"a": "s8", "k_step": 64, "beta": 1, "bias": "row"}),
    "s8 to f32": ((40, 64, 64), {"a": "s8", "k_step": 64, "c": "f32", "alpha": 0.01, "bias": "column"}),
}


@pytest.mark.parametrize("level", EMITTERS)
@pytest.mark.parametrize("case", CASES)
def test_every_level_computes_the_bits_of_the_lane_level_kernel(case: str, level: str) -> None:
    size, choices = CASES[case]
    gemm = plan_gemm(*size, **SMALL | choices)
    given = inputs(gemm) if gemm.problem.a == "s8" else reals(gemm)
    assert np.array_equal(run(gemm, given, EMITTERS[level](gemm)), run(gemm, given))


@pytest.mark.parametrize("level", EMITTERS)
@pytest.mark.parametrize("case", ["ragged", "gelu", "silu", "B transposed", "A transposed"])
def test_lowering_the_tiles_ourselves_computes_the_same_and_finds_nothing_wrong(case: str, level: str) -> None:
    size, choices = CASES[case]
    gemm = plan_gemm(*size, **SMALL | choices)
    text = EMITTERS[level](gemm, lanes=True)
    assert la.check(la.read(text)).findings == ()
    assert la.check(la.read(EMITTERS[level](gemm))).findings == ()
    lowered = la.lower(la.read(text))
    assert not [finding for finding in lowered.findings if ": error:" in str(finding)]
    given = reals(gemm)
    assert np.array_equal(run(gemm, given, str(lowered.module)), run(gemm, given))


@pytest.mark.parametrize("static", [False, True])
def test_sizes_are_arguments_or_constants(static: bool) -> None:
    gemm = plan_gemm(40, 80, 160, **SMALL)
    for level in ("workgroup", "subgroup", "lane"):
        text = gemm.emit(level, static=static)
        assert ("arith.index_cast %n : i32 to index" in text) == (not static)
        given = reals(gemm)
        assert np.array_equal(run(gemm, given, text), run(gemm, given))


@pytest.mark.parametrize("element", ["f16", "bf16", "s8"])
@pytest.mark.parametrize("target", ["pvc", "bmg"])
def test_the_layouts_of_the_lanes_are_the_operands_of_dpas(element: str, target: str) -> None:
    gemm = plan_gemm(64, 64, 64, element, target=target)
    for fragment in gemm.fragments:
        assert la.same(gemm.layouts.lane[fragment.name], fragment.layout, fragment.block), fragment.name
    for name, layout in gemm.layouts.workgroup.items():
        assert la.parse(str(layout)) == layout, name


@pytest.mark.parametrize("llvm", [22, 23, 24])
def test_the_parts_of_the_workgroup_cover_its_tile_once(llvm: int) -> None:
    """Every element of A belongs to a row of subgroups, of B to a column of them, of C to one subgroup."""
    gemm = plan_gemm(
        512, 512, 512, tile=(32, 64), k_step=64, subgroups=(8, 4), registers=256, prefetch="shared", llvm=llvm
    )
    found = gemm.layouts.workgroup
    machine = la.Machine(lanes=1, subgroups=32)
    for name, shape, copies in (
        ("A", (256, 64), 4),
        ("B", (64, 256), 8),
        ("C", (256, 256), 1),
        ("prefetch A", (256, 64), 1),
    ):
        owners = {owner[0] for owner in found[name].layout(shape, machine).owners((50, 30))}
        assert len(owners) == copies, name
    owners = {found["C"].layout((256, 256), machine).owners((row, 0))[0][0] for row in range(0, 256, 32)}
    assert owners == set(range(0, 32, 4))


REFUSED: list[tuple[str, int, dict[str, Any], str]] = [
    ("s8", 24, {}, "failed to legalize operation 'xegpu.dpas'.*LLVM 22 lowers it"),
    ("u8", 22, {}, "takes i8 for signed.*level 'lane'"),
    ("tf32", 23, {}, "level 'lane' has it for every version"),
    ("f16", 22, {"acc": "f16"}, "Failed to update operation.*LLVM 23 and 24 lower it"),
    ("f16", 22, {"trans_b": True}, "LLVM 23 and 24 lower it"),
    ("f16", 22, {"bias": "row"}, "LLVM 23 and 24 lower it"),
    ("f16", 22, {"subgroups": (3, 2)}, "cannot distribute"),
]


@pytest.mark.parametrize(("element", "llvm", "choices", "words"), REFUSED)
def test_what_a_version_refuses_is_refused_in_its_words(
    element: str, llvm: int, choices: dict[str, Any], words: str
) -> None:
    more: dict[str, Any] = {"tile": (16, 16), "k_step": 32} | choices
    gemm = plan_gemm(64, 64, 64, element, llvm=llvm, **more)
    with pytest.raises(PlanError, match=words):
        gemm.emit("workgroup")
    gemm.emit("lane")


KINDS = ("f16", "bf16", "s8", "tf32")


@pytest.mark.parametrize("seed", range(4))
def test_every_layout_tiles_its_block(seed: int) -> None:
    """Random plans: parts of subgroups fit into the workgroup's block, blocks of messages into those, lanes into blocks.

    The lanes have what the fragments say, of C^T too where A and B change roles.
    """
    drawn = random.Random(seed)
    made = 0
    while made < 8:
        sizes = [drawn.choice((8, 16, 40, 64, 96, 128, 200, 256, 512)) for _ in range(3)]
        turned = {"trans_a": drawn.random() < 0.6, "trans_b": drawn.random() < 0.6}
        try:
            plan = plan_gemm(*sizes, drawn.choice(KINDS), target=drawn.choice(("pvc", "bmg")), **turned)
        except la.LayoutError:
            continue
        made += 1
        whole, found = plan.tiling.workgroup_tile, plan.layouts
        blocks = {"A": (whole.m, whole.k), "B": (whole.k, whole.n), "C": (whole.m, whole.n)}
        for name, layout in found.workgroup.items():
            in_memory = len(name) > 1 and turned.get(f"trans_{name[-1].lower()}", False)
            block = blocks[name[-1]][:: -1 if in_memory else 1]
            down, across = layout.sg_layout
            assert down * across == plan.tiling.count
            for size, parts, part, unit in zip(block, layout.sg_layout, layout.sg_data, layout.inst_data, strict=True):
                assert size % part == 0, (plan.tiling, name, layout)
                assert (parts * part) % size == 0 or size % (parts * part) == 0, (plan.tiling, name, layout)
                assert part % unit == 0, (plan.tiling, name, layout)
            lanes = found.lane[name]
            for unit, some, packed in zip(layout.inst_data, lanes.lane_layout, lanes.lane_data, strict=True):
                assert unit % (some * packed) == 0, (plan.tiling, name, layout, lanes)
        for fragment in plan.fragments:
            assert found.workgroup[fragment.name].inst_data == fragment.block, (plan.tiling, fragment.name)
            same = la.same(found.lane[fragment.name], fragment.layout, fragment.block)
            # the registers of a turned block are in the order of its rows, which the attribute cannot say
            assert same or "another register order" in same.note, (plan.tiling, fragment.name)
            assert same or plan.loop is not plan, (plan.tiling, fragment.name)
