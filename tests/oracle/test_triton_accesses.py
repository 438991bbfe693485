"""Loads and stores of shared memory as Triton's compiler emits them, and its own estimate of conflicts, for fresh pairs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from layoutalg.core import LayoutError
from layoutalg.memory.triton_access import SharedAccess, shared_access
from layoutalg.triton.encodings import (
    AmdMfma,
    Blocked,
    DotOperand,
    NvidiaMma,
    NvmmaShared,
    SharedLinear,
    SwizzledShared,
)
from tests.oracle.test_triton_conversions import linear, power, seeded, sizes
from tests.oracle.toolchains import require_module
from tests.oracle.triton_compiled import TARGETS, emitted
from tests.oracle.triton_wheel import estimated_waits

ELEMENTS = {8: "i8", 16: "f16", 32: "f32", 64: "f64"}


def memory(rng: random.Random, shape: tuple[int, ...], bits: int) -> Any:
    chance, rank = rng.random(), len(shape)
    if chance < 0.5 or rank != 2:
        order = tuple(rng.sample(range(rank), rank))
        return SwizzledShared(power(rng, 3), power(rng, 2), power(rng, 3), order)
    if chance < 0.75 and bits <= 32:
        return NvmmaShared(rng.choice((32, 64, 128)), rng.random() < 0.5, bits)
    one = linear(rng, shape, 5, 2)
    every = [list(basis) for basis in (*one.lane, *one.warp, *one.register) if any(basis)]
    for _ in range(3):  # invertible steps
        a, b = rng.sample(range(len(every)), 2)
        every[a] = [x ^ y for x, y in zip(every[a], every[b], strict=True)]
    return SharedLinear(tuple(map(tuple, every)), ())


def tensor(rng: random.Random, shape: tuple[int, ...], warps: int, target: str) -> Any:
    chance, rank, lanes = rng.random(), len(shape), 6 if target == "gfx942" else 5
    if chance < 0.3:
        return linear(rng, shape, lanes, warps)
    if chance < 0.65 or rank != 2:
        order = tuple(rng.sample(range(rank), rank))
        return Blocked(sizes(rng, rank, rng.randint(0, 4)), sizes(rng, rank, lanes), sizes(rng, rank, warps), order)
    across = sizes(rng, 2, warps)
    parent = NvidiaMma(2, 0, across, (16, 8)) if lanes == 5 else AmdMfma(3, across, (16, 16, 16), True)
    return parent if chance < 0.75 else DotOperand(rng.randint(0, 1), parent, power(rng, 2, 1))


def accesses(rng: random.Random, *targets: str) -> Iterator[tuple[Any, Any, tuple[int, ...], int, str, int]]:
    while True:
        bits, shape = rng.choice((8, 16, 16, 32, 32, 64)), sizes(rng, rng.choice((1, 2, 2, 2, 3)), rng.randint(6, 11))
        warps, target = rng.choice((0, 1, 2)), rng.choice(targets)
        try:
            one, other = tensor(rng, shape, warps, target), memory(rng, shape, bits)
            shared_access(one, other, shape, bits, TARGETS[target])
        except LayoutError:
            continue  # what Triton refuses
        yield one, other, shape, bits, target, 1 << warps


@pytest.mark.slow
def test_conflicts_are_estimated_as_triton_does_and_counted_no_lower() -> None:
    require_module("triton")
    rng, seed = seeded()
    answered = exact = 0
    for one, other, shape, bits, _, _ in accesses(rng, "sm80"):
        found = shared_access(one, other, shape, bits, "sm_80")
        estimate = estimated_waits(str(one), str(other), shape, bits)
        if estimate is None:
            continue  # Triton's estimate dies of one in a hundred, which its compiler takes
        answered += 1
        where = f"seed {seed}: {one} {other} {shape} {bits}: {found}"
        assert estimate == found.waits, where
        if found.instruction == "shared":
            assert found.ways >= found.waits + 1, where
            exact += found.ways == found.waits + 1
        if answered == 40:
            break
    assert exact > 20


@pytest.mark.slow
def test_accesses_are_as_wide_as_triton_emits_them() -> None:
    require_module("triton")
    rng, seed = seeded()
    for _, (one, other, shape, bits, target, warps) in zip(range(40), accesses(rng, *TARGETS), strict=False):
        loads, stores = (
            shared_access(one, other, shape, bits, TARGETS[target], direction) for direction in ("load", "store")
        )
        made = emitted(str(one), str(one), shape, ELEMENTS[bits], target, warps, str(other))
        where = f"seed {seed}: {one} {other} {shape} {bits} {target}: {loads}, {stores}"
        assert made is not None, where
        assert sorted(made["matrices"]) == sorted([*_matrices(loads), *_matrices(stores)]), where
        if stores.instruction == "shared":
            assert made["stores"] == [stores.bits] * stores.instructions, where
        if loads.instruction == "shared":  # LLVM cuts loads whose elements are used one by one
            assert sum(made["loads"]) == loads.bits * loads.instructions, where
            assert max(made["loads"]) <= loads.bits, where


def _matrices(found: SharedAccess) -> list[str]:
    return [f"nvvm.{found.instruction.split('.')[0]}"] * found.instructions if found.instruction != "shared" else []
