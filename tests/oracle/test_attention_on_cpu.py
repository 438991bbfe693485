"""Attention on Intel's OpenCL runtime for CPUs: LLVM's SPIR-V of the kernel, run as real work-items, gives the model's bits.

The model says everything but exp2, which OpenCL's native_exp2 leaves to the device. So the device is asked: what the model
takes exp2 of does not depend on exp2, and one more launch computes it all with the operation that the kernel has. With the
device's exp2 the model's result must be the kernel's, bit for bit.

How good native_exp2 is, OpenCL leaves to the device too: on CPUs with AVX-512 the error of Intel's runtime is
below 2^-20, on others near 2^-14
(`CL_CONFIG_CPU_TARGET_ARCH=core-avx2` shows it on any CPU).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from layoutalg.gemm.attention import Attention, plan_attention
from layoutalg.gemm.attention.arrays import heads_of, in_memory, laid_out, out_of_memory, starts_in_memory
from layoutalg.gemm.attention.numerics import exp2_of_simulator, model
from tests.gemm.attention_runs import Array, random_arrays, random_plans, same_bits
from tests.oracle.kernel_cpu import CpuLaunch, run_kernels_on_cpu
from tests.oracle.toolchains import require_new

EXP2 = """
builtin.module attributes {gpu.container_module} {
  gpu.module @exp2 {
    gpu.func @exp2(%from: i64, %to: i64, %rows: i32) kernel attributes
        {intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: 16, 1, 1>} {
      %c8 = arith.constant 8 : index
      %size = arith.index_cast %rows : i32 to index
      %block = gpu.block_id x
      %row = arith.muli %block, %c8 : index
      %in = xegpu.create_nd_tdesc %from, shape : [%size, 16], strides : [16, 1] : i64 -> !xegpu.tensor_desc<8x16xf32>
      %out = xegpu.create_nd_tdesc %to, shape : [%size, 16], strides : [16, 1] : i64 -> !xegpu.tensor_desc<8x16xf32>
      %x = xegpu.load_nd %in[%row, 0] : !xegpu.tensor_desc<8x16xf32> -> vector<8xf32>
      %y = math.exp2 %x fastmath<afn> : vector<8xf32>
      xegpu.store_nd %y, %out[%row, 0] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>
      gpu.return
    }
  }
}
"""


def launch_of(plan: Attention, arrays: tuple[Array, Array, Array]) -> CpuLaunch:
    laid = laid_out(plan, *arrays)
    held = zip("QKVO", (laid.q, laid.k, laid.v, None), strict=True)
    q, k, v, o = (in_memory(plan, name, array) for name, array in held)
    starts = starts_in_memory(plan.problem)
    kinds = [np.int32 if kind == "i32" else np.int64 for _, kind in plan.parameters[4 + len(starts) :]]
    sizes = [kind(size) for kind, size in zip(kinds, plan.arguments, strict=True)]
    return CpuLaunch(plan.emit(), (q, k, v, o, *starts, *sizes), plan.grid, plan.workgroup, plan.llvm)


def exponents_of(plan: Attention, arrays: tuple[Array, Array, Array]) -> Array:
    """All that the model takes exp2 of, in order, with zeros up to a multiple of 128."""
    seen: list[Array] = []

    def noted(value: Array) -> Array:
        seen.append(value.reshape(-1))
        return exp2_of_simulator(value)

    model(plan, *arrays, exp2=noted)
    whole = np.concatenate(seen)
    return np.pad(whole, (0, -len(whole) % 128)).reshape(-1, 16)


def launch_of_exp2(exponents: Array) -> CpuLaunch:
    rows = len(exponents)
    arguments = (exponents, np.full_like(exponents, np.nan), np.int32(rows))
    return CpuLaunch(EXP2, arguments, (rows // 8, 1, 1), (16, 1, 1), 24)


def expected_with(powers: Array, plan: Attention, arrays: tuple[Array, Array, Array]) -> Array:
    """The model's result with the device's powers in the order of the exponents."""
    given, used = powers.reshape(-1), 0

    def looked_up(value: Array) -> Array:
        nonlocal used
        found = given[used : used + value.size].reshape(value.shape)
        used += value.size
        return found

    return model(plan, *arrays, exp2=looked_up)


def higher_scores(plan: Attention) -> tuple[Array, Array, Array]:
    """Random arrays with larger scores behind key 16, and larger still where steps without a mask are: rows get another m."""
    q, k, v = random_arrays(plan, 0, 2.0)
    k[..., 16:, :] *= 2
    k[..., 40:64, :] *= 2
    return q, k, v


def large_scores(plan: Attention) -> tuple[Array, Array, Array]:
    """Random arrays whose scaled scores reach 10^5, so that the exact maximum is taken."""
    q, k, v = random_arrays(plan, 0, 2.0)
    q[...] = np.clip(q.astype(np.float32), -7, 7) * 2**13  # finite in f16
    return q, k, v


def scores_of_minus_infinity(plan: Attention) -> tuple[Array, Array, Array]:
    """The first 40 keys have scores of -inf, the others of -d."""
    q, k, v = random_arrays(plan)
    k[...], q[...] = -1, 1
    k[..., :40, :] = -np.inf
    return q, k, v


def check_on_cpu(pairs: Sequence[tuple[Attention, tuple[Array, Array, Array]]], directory: Path) -> None:
    for name in ("mlir-opt-23", "mlir-opt-24"):
        require_new(name)
    exponents = [exponents_of(plan, given) for plan, given in pairs]
    done = run_kernels_on_cpu([*(launch_of(*pair) for pair in pairs), *map(launch_of_exp2, exponents)], directory)
    for (plan, given), asked, after, (_, powers) in zip(pairs, exponents, done, done[len(pairs) :], strict=False):
        q, k, v, o, *_ = after
        laid = laid_out(plan, *given)
        for name, held, before in zip("QKV", (q, k, v), (laid.q, laid.k, laid.v), strict=True):
            assert same_bits(held, in_memory(plan, name, before))
        assert np.allclose(powers, exp2_of_simulator(asked), rtol=2**-12, atol=1e-37, equal_nan=True)
        assert same_bits(heads_of(plan, out_of_memory(plan, o)), expected_with(powers, plan, given)), plan.problem


QUICK: list[dict[str, Any]] = [
    {"queries": 40, "keys": 100, "d": 32},
    {
        "queries": 20,
        "keys": 140,
        "d": 64,
        "type": "bf16",
        "out": "bf16",
        "heads": 2,
        "kv_heads": 1,
        "causal": True,
        "llvm": 23,
    },
]


@pytest.mark.parametrize("case", QUICK, ids=str)
def test_the_spirv_gives_the_models_bits(case: dict[str, Any], tmp_path: Path) -> None:
    plan = plan_attention(**case)
    check_on_cpu(
        [(plan, given) for given in (random_arrays(plan, 0, 2.0), higher_scores(plan), large_scores(plan))], tmp_path
    )


def test_first_keys_without_a_score(tmp_path: Path) -> None:
    plan = plan_attention(**QUICK[0])
    check_on_cpu([(plan, scores_of_minus_infinity(plan))], tmp_path)


SIDE_BY_SIDE: dict[str, Any] = {"d": 32, "heads": 2, "kv_heads": 1, "batch": 2, "order": "bshd", "prefetch": "none"}


def test_heads_side_by_side_with_gaps_between_rows_and_with_a_window(tmp_path: Path) -> None:
    plan = plan_attention(20, 70, **SIDE_BY_SIDE, causal=True, window=33, ldq=96, ldk=64, ldv=96, ldo=80)
    check_on_cpu([(plan, random_arrays(plan, 0, 2.0))], tmp_path)


def test_packed_sequences_and_nothing_of_their_neighbours(tmp_path: Path) -> None:
    starts: dict[str, Any] = {"starts_q": (0, 20, 20, 45), "starts_k": (0, 40, 57, 100)}
    plan = plan_attention(45, 100, 32, heads=2, order="bshd", causal=True, prefetch="none", **starts)
    check_on_cpu([(plan, random_arrays(plan, 0, 2.0))], tmp_path)


def test_one_maximum_and_an_o_that_overflows(tmp_path: Path) -> None:
    """In bf16 a score is 2^110 above m, and O is infinite in some columns where the sum isn't; other rows are sure."""
    plan = plan_attention(32, 70, 32, "bf16", maximum="first", prefetch="none", subgroups=2, target="bmg")
    q, k, v = random_arrays(plan)
    q[:, 0], k[:, 0], v[50, 20:24] = 0, 0, 2.0**40
    q[3, 0], k[50, 0] = 32, 16
    check_on_cpu([(plan, (q, k, v))], tmp_path)


@pytest.mark.exhaustive
def test_one_maximum_and_weights_that_overflow(tmp_path: Path) -> None:
    plan = plan_attention(40, 100, 32, heads=2, causal=True, maximum="first", target="bmg")
    wide = plan_attention(20, 70, 112, "bf16", maximum="first", prefetch="none", target="bmg")
    pairs = [(plan, given) for given in (random_arrays(plan), higher_scores(plan), large_scores(plan))]
    check_on_cpu([*pairs, (wide, random_arrays(wide, 0, 2.0))], tmp_path)


FULL: list[dict[str, Any]] = [
    {"queries": 256, "keys": 256, "d": 64},
    {"queries": 256, "keys": 256, "d": 64, "type": "bf16", "causal": True},
    {"queries": 64, "keys": 1000, "d": 64, "causal": True, "out": "bf16"},
    {"queries": 100, "keys": 61, "d": 96, "causal": True, "heads": 4, "kv_heads": 2, "batch": 2, "llvm": 23},
    {"queries": 256, "keys": 256, "d": 128, "out": "f16"},
    {"queries": 64, "keys": 1000, "d": 128, "type": "bf16", "causal": True},
    {"queries": 17, "keys": 31, "d": 40},
    {"queries": 1, "keys": 1, "d": 72},
    {"queries": 20, "keys": 200, "d": 256, "causal": True},
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", FULL, ids=str)
def test_the_spirv_of_every_kind_gives_the_models_bits(case: dict[str, Any], tmp_path: Path) -> None:
    plan = plan_attention(**case)
    check_on_cpu([(plan, random_arrays(plan, 0, 2.0))], tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("form", range(15))
def test_the_spirv_of_random_problems_gives_the_models_bits(form: int, tmp_path: Path) -> None:
    """Four problems of each form; the last one's scores are so large that the kernel takes its keys once more."""
    *plans, last = random_plans(random.Random(form + 700), 4)
    check_on_cpu([*((plan, random_arrays(plan, form, 2.0)) for plan in plans), (last, large_scores(last))], tmp_path)
