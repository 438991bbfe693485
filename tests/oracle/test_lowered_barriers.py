"""Barriers of lowered kernels in machine code: a conversion within one subgroup has none of the workgroup's.

A barrier of the workgroup is a message to the gateway and a `sync.bar`, with a fence of shared memory (`send.slm`), and one of
global memory (`send.ugm`) unless it says what it orders.
"""

from __future__ import annotations

import pytest

import layoutalg as la
from layoutalg.gemm.listing import compile_kernel
from tests.lowering.conversion_modules import MODULES
from tests.lowering.test_exchanges import BARRIER
from tests.oracle.toolchains import require_new


def listed(name: str, version: int, *, plain: bool = False) -> list[str]:
    """The instructions on bmg, with `gpu.barrier` for each barrier or with those that `la.lower` writes."""
    require_new(f"mlir-opt-{version}")
    require_new("ocloc")
    text = str(la.lower(la.read(MODULES[name].module), target="bmg", llvm=version))
    made = compile_kernel(BARRIER.sub("gpu.barrier\n", text) if plain else text, "bmg", 256, llvm=version)
    lines = [line.strip() for line in made.assembly.splitlines()]
    return [line for line in lines if line and not line.startswith("//") and not line.endswith(":")]


def fences(lines: list[str], memory: str) -> int:
    return sum(f"send.{memory}" in line and "0x0210001F" in line for line in lines)


@pytest.mark.parametrize("version", [23, 24])
def test_a_conversion_within_one_subgroup_has_no_barrier_of_the_workgroup(version: int) -> None:
    own, plain = (listed("inside_turned", version, plain=plain) for plain in (False, True))
    assert not any("sync.bar" in line for line in own)
    assert sum("sync.bar" in line for line in plain) == 2
    assert fences(own, "ugm") == 0
    assert len(own) <= len(plain) - 10


def test_a_barrier_of_the_workgroup_has_no_fence_of_global_memory() -> None:
    own, plain = (listed("across_rows_f16", 24, plain=plain) for plain in (False, True))
    assert [sum("sync.bar" in line for line in one) for one in (own, plain)] == [2, 2]
    assert [fences(one, "ugm") for one in (own, plain)] == [0, 2]
    assert len(own) < len(plain)
