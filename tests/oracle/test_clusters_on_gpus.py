"""Conversions across the workgroups of a cluster, on sm_90: lowered by LLVM 22 to 24, executed in software, and counted.

As `test_conversions_on_gpus`: what LLVM makes of the emitted kernels is executed by definitions that know nothing of layoutalg,
and in the listing of ptxas the barriers of the cluster and the accesses to others' memory are counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from layoutalg.conversion import ConversionPlan
from layoutalg.conversion.lowering.emit import emit_kernel
from layoutalg.conversion.program.cluster_places import placement
from layoutalg.conversion.program.steps import Barrier
from tests.conversion.test_clusters import ELEMENTS, NAMED, fragments_of, moved, named, plans
from tests.oracle.gpu_software import run_kernel
from tests.oracle.test_conversions_on_gpus import GPU
from tests.oracle.toolchains import require, require_module, require_new, run

WARP = 32


def agree(found: list[ConversionPlan], version: int, *, every: bool = False) -> None:
    """The kernels (of every way) do in software what brute force says."""
    ways = [(plan, way.programs) for plan in found for way in (plan.candidates if every else plan.candidates[:1])]
    texts = [
        emit_kernel(chain, f"i{plan.element_bits}", f"k{i}", "sm_90", version, plan.workgroups)
        for i, (plan, chain) in enumerate(ways)
    ]
    ir = GPU["lowered"](texts, "sm_90", version)
    for i, (plan, chain) in enumerate(ways):
        given, wanted = fragments_of(plan.source, plan.element_bits), moved(plan)
        items = chain[0].subgroups * chain[0].lanes
        made = run_kernel(ir, f"k{i}", given, wanted.shape, items, WARP, plan.workgroups)
        assert np.array_equal(made, wanted), (str(plan.source), str(plan.destination), plan.workgroups)


@pytest.mark.parametrize("version", [22, 23, 24])
def test_kernels_of_clusters_do_in_software_what_brute_force_says(version: int) -> None:
    (require if version == 22 else require_new)(f"mlir-opt-{version}")
    agree([*map(named, NAMED), *plans(version, 8)], version)


def test_every_way_in_a_cluster_is_right() -> None:
    require("mlir-opt-22")
    agree([named(NAMED[2]), *plans(0, 3)], 22, every=True)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(100, 106))
@pytest.mark.parametrize("version", [22, 23, 24])
def test_hundreds_of_kernels_of_clusters(version: int, seed: int) -> None:
    (require if version == 22 else require_new)(f"mlir-opt-{version}")
    agree(plans(seed, 20), version, every=version == 22)


@pytest.mark.parametrize("version", [22, 23, 24])
def test_a_version_of_llvm_verifies_functions_and_compiles_kernels(version: int) -> None:
    """Down to PTX: sizes of clusters, addresses of others, barriers."""
    program = require("mlir-opt-22") if version == 22 else require_new(f"mlir-opt-{version}")
    plan = named(NAMED[0])
    done = run([program], plan.emit("f32", llvm=version))
    assert done.returncode == 0, done.stderr[:500]
    texts = [
        one.emit(ELEMENTS[one.element_bits], kernel=True, name=f"k{i}", llvm=version)
        for i, one in enumerate(map(named, NAMED[:3]))
    ]
    (require if version == 22 else require_new)(f"llc-{version}")
    ptx = GPU["assembly"](GPU["lowered"](texts, "sm_90", version), "sm_90", version)
    assert [f".reqnctapercluster {workgroups}, 1, 1" in ptx for *_, workgroups, _ in NAMED[:3]] == [True] * 3
    assert "mapa.shared::cluster" in ptx
    assert ptx.count("barrier.cluster.arrive.aligned") == ptx.count("barrier.cluster.wait.aligned") == 6


def test_listings_have_the_barriers_and_what_reaches_others() -> None:
    """ptxas: a barrier of the cluster is UCGABAR_ARV and UCGABAR_WAIT; the memory of others is reached by ST and LD."""
    require("llc-22")
    require_module("triton")
    found: list[Any] = list(
        map(named, [*NAMED[:5], ("d0 = 2@sg 4@reg, d1 = 32@lane", "d0 = 4@reg 2@sg, d1 = 32@lane", 2, 32)])
    )
    texts = [plan.emit(kernel=True, name=f"k{i}", llvm=22) for i, plan in enumerate(found)]
    listed = GPU["listings"](texts, "sm_90")
    seen: set[str] = set()
    for i, plan in enumerate(found):
        names = [line.split()[0] for line in listed[f"k{i}"]]
        barriers = sum(
            one.scope == "cluster" for program in plan.programs for one in program.steps if type(one) is Barrier
        )
        assert names.count("UCGABAR_ARV") == names.count("UCGABAR_WAIT") == barriers == 2
        reaching = {
            placed.reaching for one in plan.programs if one.slm_bytes and (placed := placement(one, plan.workgroups))
        }
        stores, loads = (any(name.startswith(f"{kind}.E") for name in names) for kind in ("ST", "LD"))
        assert (stores, loads) == ("stores" in reaching, "loads" in reaching)
        seen |= reaching
    assert seen == {"stores", "loads"}
