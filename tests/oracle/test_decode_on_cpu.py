"""Decode on Intel's OpenCL runtime for CPUs: LLVM's SPIR-V of both kernels, run as real work-items, gives the model's bits.

The model says everything but exp2, which OpenCL leaves to the device (see `test_attention_on_cpu`): so the device is asked for
the exp2 of all that the model needs, and with it the model's result must be the kernels', bit for bit.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import layoutalg as la
from layoutalg.core.elements import numpy_type
from layoutalg.gemm.attention.decode import Decode
from layoutalg.gemm.attention.decode.numerics import model
from layoutalg.gemm.attention.numerics import exp2_of_simulator
from tests.gemm.attention_runs import same_bits
from tests.gemm.decode_runs import Array, random_arrays, random_plan
from tests.oracle.kernel_cpu import CpuLaunch, run_kernels_on_cpu
from tests.oracle.test_attention_on_cpu import launch_of_exp2
from tests.oracle.toolchains import require_new

Given = tuple[Decode, list[int], tuple[Array, ...]]


def launch_of(plan: Decode, lengths: list[int], arrays: tuple[Array, ...]) -> CpuLaunch:
    q, k, v, *table = arrays
    o = np.full(q.shape, np.nan, numpy_type(plan.problem.out))
    workspace = [np.full(plan.workspace_bytes // 4, np.nan, np.float32)] if plan.parts > 1 else []
    then = next(((one.kernel, one.grid, one.workgroup) for one in plan.launch.then), None)
    sizes = [np.int32(number) for number in plan.arguments]
    given = (q, k, v, o, np.array(lengths, np.int32), *table, *workspace, *sizes)
    return CpuLaunch(plan.emit(), given, plan.grid, plan.workgroup, plan.llvm, then=then)


def exponents_of(given: Given) -> Array:
    """All that the model takes exp2 of, in order, with zeros up to a multiple of 128."""
    plan, lengths, arrays = given
    seen: list[Array] = []

    def noted(value: Array) -> Array:
        seen.append(value.reshape(-1))
        return exp2_of_simulator(value)

    model(plan, *arrays[:3], lengths, *arrays[3:], exp2=noted)
    whole = np.concatenate([*seen, np.zeros(1, np.float32)])
    return np.pad(whole, (0, -len(whole) % 128)).reshape(-1, 16)


def expected_with(powers: Array, given: Given) -> Array:
    """The model's result with the device's powers in the order of the exponents."""
    plan, lengths, arrays = given
    held, used = powers.reshape(-1), 0

    def looked_up(value: Array) -> Array:
        nonlocal used
        found = held[used : used + value.size].reshape(value.shape)
        used += value.size
        return found

    return model(plan, *arrays[:3], lengths, *arrays[3:], exp2=looked_up)


def check_on_cpu(cases: Sequence[Given], directory: Path) -> None:
    for name in ("mlir-opt-23", "mlir-opt-24"):
        require_new(name)
    exponents = [exponents_of(given) for given in cases]
    done = run_kernels_on_cpu([*(launch_of(*given) for given in cases), *map(launch_of_exp2, exponents)], directory)
    for given, asked, after, (_, powers) in zip(cases, exponents, done, done[len(cases) :], strict=False):
        for array, before in zip(after, given[2], strict=False):
            assert same_bits(array, before)
            break  # Q; behind the keys of K and V there is NaN, whose bits are not kept
        assert np.allclose(powers, exp2_of_simulator(asked), rtol=2**-12, atol=1e-37)
        assert same_bits(after[3], expected_with(powers, given)), given[0].problem


def random_case(draw: random.Random, seed: int) -> Given:
    plan, lengths = random_plan(draw)
    return plan, lengths, random_arrays(plan, lengths, seed, 2.0)


def test_the_spirv_gives_the_models_bits(tmp_path: Path) -> None:
    whole = la.plan_decode(100, 64, heads=12, kv_heads=1, batch=2, queries=2, parts=3, target="bmg")
    paged = la.plan_decode(90, 96, heads=5, kv_heads=1, batch=2, page=16, order="nhd", parts=1, target="bmg")
    cases = ((whole, [100, 0]), (paged, [90, 37]))
    check_on_cpu([(plan, lengths, random_arrays(plan, lengths, 0, 2.0)) for plan, lengths in cases], tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(0, 60, 3))
def test_the_spirv_of_random_problems_gives_the_models_bits(first: int, tmp_path: Path) -> None:
    draw = random.Random(first + 100)
    check_on_cpu([random_case(draw, seed) for seed in range(first, first + 3)], tmp_path)
