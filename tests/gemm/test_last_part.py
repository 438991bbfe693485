"""Parts that the last subgroup of a tile adds: the bits of the second kernel, counters that are 0 again, mistakes that show."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutalg.core.errors import LayoutError, PlanError
from layoutalg.gemm import Gemm, plan_gemm
from layoutalg.gemm.numerics import random_inputs
from layoutalg.gemm.roofline import roofline
from layoutalg.gemm.run import execute
from layoutalg.gemm.split_k import counters, loaded_at_once
from layoutalg.simulate import Memory, run_kernel

Array = NDArray[Any]

PLAN = plan_gemm(
    16, 80, 224, tile=(16, 32), k_step=16, subgroups=(1, 2), split_k=14, reduction="last", batch=2, registers=128,
    prefetch="none", beta=0.5, bias="row",
)  # fmt: skip
"""Two matrices, two workgroups of two subgroups a part, a loop over the parts two at a time, columns behind C."""


@cache
def given() -> tuple[Array | None, ...]:
    return random_inputs(PLAN.problem, np.random.default_rng(5))


@cache
def right() -> bytes:
    return by_second_kernel(PLAN).simulate(*given()).tobytes()  # type: ignore[arg-type]


def by_second_kernel(plan: Gemm) -> Gemm:
    """The same parts, added by a second kernel."""
    tiling = plan.tiling
    return plan_gemm(
        plan.m, plan.n, plan.k, plan.problem.a, c=plan.problem.c, batch=plan.problem.batch, beta=plan.problem.beta,
        bias=plan.problem.bias, activation=plan.problem.activation, tile=(tiling.tile.m, tiling.tile.n),
        k_step=tiling.tile.k, subgroups=tiling.subgroups, split_k=tiling.split_k, registers=tiling.registers,
        prefetch=tiling.prefetch, target=plan.target, reduction="kernel",
    )  # fmt: skip


def test_the_bits_are_those_of_the_second_kernel() -> None:
    assert PLAN.simulate(*given()).tobytes() == right()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("size", "choices"),
    [
        ((13, 48, 160), {"tile": (8, 16), "split_k": 5}),  # rows behind C, all parts at once
        ((40, 96, 512), {"tile": (24, 16), "split_k": 16, "c": "f16", "activation": "relu"}),
        ((8, 64, 256), {"tile": (8, 16), "split_k": 4, "a": "s8", "c": "s32", "prefetch": "none"}),
        ((64, 64, 448), {"tile": (64, 32), "split_k": 7, "registers": 256, "a": "bf16", "target": "bmg"}),
    ],
)
def test_they_are_the_same_for_other_tiles_and_types(size: tuple[int, int, int], choices: dict[str, Any]) -> None:
    options: dict[str, Any] = {"k_step": 32, "subgroups": (1, 2), "prefetch": "shared", **choices}
    last, second = (plan_gemm(*size, **options, reduction=way) for way in ("last", "kernel"))
    a, b, *others = random_inputs(last.problem, np.random.default_rng(1))
    found, executed = execute(last, a, b, *others, counted="messages")
    assert found.tobytes() == second.simulate(a, b, *others).tobytes()
    assert executed is not None
    assert executed.dpas == last.dpas_total


def test_the_counters_are_zero_again_and_serve_the_next_launch() -> None:
    plan = plan_gemm(8, 32, 256, tile=(8, 16), k_step=32, subgroups=(1, 1), split_k=4, reduction="last")
    a, b = np.arange(8 * 256).reshape(8, 256) % 5, np.arange(256 * 32).reshape(256, 32) % 7
    memory, counted = Memory(), np.zeros(counters(plan.problem, plan.tiling), np.int32)
    arrays = [a.astype(np.float16), b.astype(np.float16), np.zeros((8, 32), np.float32)]
    arrays += [np.zeros(plan.workspace_bytes // 4, np.float32), counted]
    addresses = [memory.bind(f"array {number}", array) for number, array in enumerate(arrays)]
    for _ in range(2):
        arrays[2][:] = np.nan
        run_kernel(plan.emit(), [*addresses, *plan.arguments], plan.grid, memory)
        assert np.array_equal(arrays[2], a @ b)
        assert not counted.any()


def test_a_host_that_forgets_to_fill_the_counters_finds_c_unwritten() -> None:
    plan = plan_gemm(8, 32, 256, tile=(8, 16), k_step=32, subgroups=(1, 1), split_k=4, reduction="last")
    memory = Memory()
    arrays = [np.ones((8, 256), np.float16), np.ones((256, 32), np.float16), np.full((8, 32), np.nan, np.float32)]
    arrays += [np.zeros(plan.workspace_bytes // 4, np.float32), np.full(2, 7, np.int32)]
    addresses = [memory.bind(f"array {number}", array) for number, array in enumerate(arrays)]
    run_kernel(plan.emit(), [*addresses, *plan.arguments], plan.grid, memory)
    assert np.isnan(arrays[2]).all()


ATOMIC = r'syncscope\("device"\) acq_rel'
MISTAKES: dict[str, tuple[str, str]] = {
    # What orders the subgroups
    "the addition orders nothing": (ATOMIC, 'syncscope("device") monotonic'),
    "it only acquires": (ATOMIC, 'syncscope("device") acquire'),
    "it only releases": (ATOMIC, 'syncscope("device") release'),
    "it reaches the workgroup alone": (ATOMIC, 'syncscope("workgroup") acq_rel'),
    "it reaches the subgroup alone": (ATOMIC, 'syncscope("subgroup") acq_rel'),
    "it is counted before the sums are stored": (r"(?s)(\n *xegpu.store_nd %tile0x0, [^\n]*)(.*?)(\n *scf.if )", r"\2\1\3"),
    "another block is stored behind it": (r"(?s)(\n *xegpu.store_nd %tile1x1, [^\n]*)(.*?)(\n *%before)", r"\2\1\3"),
    # The counter
    "nothing is counted": ("atomicrmw add", "atomicrmw _or"),
    "two are counted": ("(atomicrmw add %counter_1, )%c1_i32", r"\1%c2_i32"),
    "the counter is set": ("atomicrmw add", "atomicrmw xchg"),
    "it is the greatest": ("atomicrmw add", "atomicrmw max"),
    "all lanes count": ("(%first_lane = arith.cmpi )eq", r"\1uge"),
    "no lane counts": ("(%first_lane = arith.cmpi )eq", r"\1ult"),
    "the second lane counts": ("(%first_lane = arith.cmpi eq, %lane, )%c0", r"\1%c1"),
    "the count of another lane is taken": ("(gpu.shuffle idx %arrived, )%c0_i32", r"\1%c1_i32"),
    "everybody is last": ("(%last_part = arith.cmpi )eq", r"\1ule"),
    "nobody is last": ("(%last_part = arith.cmpi )eq", r"\1ugt"),
    "all others are last": ("(%last_part = arith.cmpi )eq", r"\1ne"),
    "the first is last": ("(%last_part = arith.cmpi eq, %before, )%c13_i32", r"\1%c0_i32"),
    "it is last one too early": ("(%last_part = arith.cmpi eq, %before, )%c13_i32", r"\1%c8_i32"),
    "it is last one too late": ("(%last_part = arith.cmpi eq, %before, )%c13_i32", r"\1%c14_i32"),
    "the counter is left as it is": (r"\n *llvm.store %c0_i32, %counter_1 [^\n]*", ""),
    "the counter begins at one next time": (r"llvm.store %c0_i32(, %counter_1)", r"llvm.store %c1_i32\1"),
    "the workspace is counted in": (r"(arith.addi )%counters", r"\1%workspace"),
    # Which counter
    "matrices share counters": (r"(%\d+ = arith.divui %2, )%c14(?=[^\n]*\n[^\n]*%grid_dim_y)", r"\1%c32"),
    "columns of workgroups share counters": (r"(arith.addi %\d+, )%block_id_x", r"\1%block_id_y"),
    "subgroups share counters": (r"(arith.muli %\d+, %c2 : index\n *%\d+ = arith.addi %\d+, )%subgroup", r"\1%c0"),
    "counters of workgroups overlap": (r"(arith.muli %\d+, )%c2( : index\n *%\d+ = arith.addi %\d+, %subgroup)", r"\1%c1\2"),
    "counters are two bytes apart": (r"(arith.muli %\d+, )%c4_i64(?=[^\n]*\n[^\n]*%counters)", r"\1%c2_i64"),
    "z is part of the counter's number": (r"(%\d+ = arith.)divui %2, %c14(?=[^\n]*\n[^\n]*%grid_dim_y)", r"\1addi %2, %c0"),
    # The sum
    "the first parts are left out": (r"(scf.for %part = )%c0", r"\1%c2"),
    "the last parts are left out": (r"(scf.for %part = %c0 to )%c14", r"\1%c8"),
    "parts behind the last are added": (r"(scf.for %part = %c0 to )%c14", r"\1%c16"),
    "every second pair is added": (r"(scf.for %part = %c0 to %c14 step )%c2", r"\1%c8"),
    "parts are added twice": (r"(scf.for %part = %c0 to %c14 step )%c2", r"\1%c1"),
    "sums begin at one": (r"(%nothing = arith.constant dense<)-0.0", r"\g<1>1.0"),
    "the parts of the first matrix are added": (r"(arith.addi %part, )%\d+", r"\1%c0"),
    "a part is added for another": (r"(arith.addf %\d+, )%loaded_part_4", r"\1%loaded_part"),
    "blocks change places": (r"(arith.addf %sum_1, )%loaded_part_1", r"\1%loaded_part_2"),
    "a block is added to another": (r"(arith.addf )%sum_2", r"\1%sum_1"),
    "a sum is dropped": (r"(scf.yield )%\d+(, %\d+, %\d+, %\d+ : vector<8xf32>)(?=(?s:.*)%size_ldc)", r"\1%sum\2"),
    "the order of two parts changes": (
        r"(arith.addf %sum, )%loaded_part( [^\n]*(?s:.*?)arith.addf %\d+, )%loaded_part_4", r"\1%loaded_part_4\2%loaded_part"
    ),
    "parts lie closer": (r"(%sums_1 = arith.addi %workspace, )%\d+", r"\1%c4_i64"),
    "the row of a block is that of another": (r"(%loaded_part_2 = [^\n]*\[)%\d+", r"\1%row"),
    "the column of a block is that of another": (r"(%loaded_part_1 = [^\n]*\[%row, )%\d+", r"\1%column"),
    # What is stored
    "a total is stored for another": (r"(arith.addf )%total_1", r"\1%total"),
    "the sums of one part are stored": (r"(arith.addf )%total,", r"\1%tile0x0,"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_seen(mistake: str) -> None:
    text = PLAN.emit()
    before, behind = MISTAKES[mistake]
    head, mark, tail = text.partition("\n      %sums = ")
    tail = mark + tail
    wrong, count = re.subn(before, behind, tail, count=1)
    if not count:
        head, count = re.subn(before, behind, head, count=1)
    assert count, "the mistake is not in the text"
    changed = head + wrong
    assert changed != text
    try:
        found = PLAN.simulate(*given(), text=changed)  # type: ignore[arg-type]
    except LayoutError:
        return
    assert found.tobytes() != right()


def test_the_last_subgroup_loads_as_much_as_fits() -> None:
    """By hand: 128 registers less 32 for addresses hold 12 blocks of 8; 3 blocks of sums leave room for 9, 3 parts of 3 blocks,
    and 2 divides 64, 3 divides 48."""
    assert [float(one) for one in loaded_at_once(3, 128, 64)] == [3, 2]
    assert [float(one) for one in loaded_at_once(3, 128, 48)] == [3, 3]
    assert [float(one) for one in loaded_at_once(16, 256, 64)] == [12, 1]


def test_the_price_of_adding_in_the_kernel_by_hand() -> None:
    """8 x 16 tiles, 2x2 subgroups, 16 parts on pvc: 8 parts fit at once, so two rounds behind fence and addition, 400 clocks
    each; a workgroup's 16 parts of 16 x 32 sums and its C through one core at 64 bytes a clock."""
    plan = plan_gemm(
        64,
        64,
        65536,
        tile=(8, 16),
        k_step=64,
        subgroups=(2, 2),
        split_k=16,
        registers=128,
        prefetch="shared",
        distance=4,
    )
    assert plan.tiling.reduction == "last"
    line = roofline(plan.problem, plan.tiling, 48)
    clocks = line.part_seconds["reduction"] * 1.6e9
    assert clocks == pytest.approx((2 + 2) * 400 + (16 + 1) * 16 * 32 * 4 / 64)


def test_a_way_to_add_that_nobody_has_is_refused() -> None:
    with pytest.raises(PlanError, match="reduction"):
        plan_gemm(64, 64, 4096, split_k=4, reduction="atomics")
