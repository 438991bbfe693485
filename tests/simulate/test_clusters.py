"""Clusters of workgroups: shared memory that others reach, barriers in two halves, and what goes wrong without them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from layoutalg.core.errors import LayoutError
from layoutalg.simulate import Memory, SimulationError, run_kernel
from layoutalg.simulate.launching import launch

ARRIVE, WAIT = (
    f'llvm.call_intrinsic "llvm.nvvm.barrier.cluster.{half}.aligned"() : () -> ()' for half in ("arrive", "wait")
)
BARRIER = f"{ARRIVE}\n{WAIT}"
STORE_OWN, STORE_FAR = (
    f"llvm.store %value, {at} : i32, {kind}" for at, kind in (("%mine", "!llvm.ptr<3>"), ("%its", "!llvm.ptr<7>"))
)
LOAD_OWN, LOAD_FAR = (
    f"%found = llvm.load {at} : {kind} -> i32" for at, kind in (("%mine", "!llvm.ptr<3>"), ("%its", "!llvm.ptr<7>"))
)
STORE_MORE = "%more = arith.addi %value, %c1 : i32\nllvm.store %more, %its : i32, !llvm.ptr<7>"
STORE_BEYOND = """%beyond = llvm.getelementptr %its[1] : (!llvm.ptr<7>) -> !llvm.ptr<7>, i32
llvm.store %value, %beyond : i32, !llvm.ptr<7>"""
PUSH = f"{BARRIER}\n{STORE_FAR}\n{BARRIER}\n{LOAD_OWN}"
PULL = f"{STORE_OWN}\n{BARRIER}\n{LOAD_FAR}\n{BARRIER}"


def kernel(body: str, size: int = 2, other: str = "arith.xori %rank, %c1 : i32") -> str:
    """Each work-item gives its number in the grid to the same work-item of another workgroup."""
    return f"""
    gpu.module @k {{
      llvm.mlir.global internal @slm() {{addr_space = 3 : i32}} : !llvm.array<128 x i8>
      gpu.func @k(%p: memref<?xi32>) kernel attributes
          {{known_block_size = array<i32: 32, 1, 1>, known_cluster_size = array<i32: {size}, 1, 1>}} {{
        %c1 = arith.constant 1 : i32
        %slm = llvm.mlir.addressof @slm : !llvm.ptr<3>
        %rank = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.cluster.ctarank"() : () -> i32
        %other = {other}
        %lane_index = gpu.lane_id
        %lane = arith.index_cast %lane_index : index to i32
        %item = gpu.global_id x
        %value = arith.index_cast %item : index to i32
        %mine = llvm.getelementptr %slm[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
        %its = llvm.call_intrinsic "llvm.nvvm.mapa.shared.cluster"(%mine, %other) : (!llvm.ptr<3>, i32) -> !llvm.ptr<7>
        {body}
        memref.store %found, %p[%item] : memref<?xi32>
        gpu.return }} }}"""


def run(text: str, groups: int = 4) -> tuple[list[int], list[str]]:
    """What every workgroup's first work-item has at the end, and the rules of what is found."""
    made = np.full(32 * groups, -1, np.int32)
    outcome = launch(text, [made], (groups, 1, 1), target="sm_90")
    return made[::32].tolist(), [finding.rule for finding in outcome.findings]


@pytest.mark.parametrize("body", [PUSH, PULL], ids=["stores reach", "loads reach"])
def test_workgroups_of_a_cluster_exchange_words(body: str) -> None:
    assert run(kernel(body), 6) == ([32, 0, 96, 64, 160, 128], [])
    around = "arith.remui %next, %c4 : i32"
    text = kernel(body, 4, around).replace(
        "%other =", "%c4 = arith.constant 4 : i32\n%next = arith.addi %rank, %c1 : i32\n%other ="
    )
    turned = [32, 64, 96, 0] if body == PULL else [96, 0, 32, 64]
    assert run(text, 8) == ([*turned, *(one + 128 for one in turned)], [])


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        (PUSH.replace(BARRIER, "", 1), "run.not_started"),
        (f"{BARRIER}\n{STORE_FAR}\n{LOAD_OWN}", "run.race"),
        (f"{BARRIER}\n{STORE_FAR}\ngpu.barrier\n{LOAD_OWN}", "run.race"),
        (f"{STORE_OWN}\n{LOAD_FAR}\n{BARRIER}", "run.not_started"),
        (f"{BARRIER}\n{STORE_OWN}\n{LOAD_FAR}\n{BARRIER}", "run.race"),
        (PULL.removesuffix(BARRIER), "run.ended"),
        (f"{PUSH}\n{STORE_MORE}", "run.race"),
        (f"{PULL}\n{STORE_FAR}", "run.ended"),
        # What is between arriving and waiting is ordered before nothing of the others, and after nothing.
        (f"{BARRIER}\n{ARRIVE}\n{STORE_FAR}\n{WAIT}\n{LOAD_OWN}", "run.race"),
        (f"{BARRIER}\n{STORE_FAR}\n{ARRIVE}\n{LOAD_OWN}\n{WAIT}", "run.race"),
        (f"{STORE_OWN}\n{BARRIER}\n{ARRIVE}\n{LOAD_FAR}\n{WAIT}", "run.ended"),
        (f"{WAIT}\n{PUSH}", "run.deadlock"),
        (f"{ARRIVE}\n{PUSH}", "run.deadlock"),
        (PUSH.replace(STORE_FAR, STORE_BEYOND), "run.out_of_bounds"),
    ],
)  # fmt: skip
def test_what_a_barrier_of_the_cluster_does_not_order_is_found(body: str, rule: str) -> None:
    try:
        _, rules = run(kernel(body))
    except SimulationError as problem:
        rules = [problem.finding.rule if problem.finding else ""]
    assert rule in rules, rules


def test_arriving_early_and_waiting_late_is_a_barrier_too() -> None:
    """All have started when the first barrier is waited for, whatever is done meanwhile in the own memory."""
    assert run(kernel(f"{ARRIVE}\n{STORE_OWN}\n{WAIT}\n{STORE_FAR.replace('%its', '%later')}\n{BARRIER}\n{LOAD_OWN}".replace(
        STORE_OWN, "%later = llvm.getelementptr %its[0] : (!llvm.ptr<7>) -> !llvm.ptr<7>, i32")))[1] == []  # fmt: skip


def test_the_messages_say_who_reaches_whom() -> None:
    def said(body: str) -> str:
        return launch(kernel(body), [np.zeros(64, np.int32)], (2, 1, 1), target="sm_90").findings[0].message

    assert said(PUSH.replace(BARRIER, "", 1)) == (
        "workgroup 0 reaches the shared memory of workgroup 1, which may not have started: no barrier of the cluster before"
    )
    assert said(PULL.removesuffix(BARRIER)) == (
        "workgroup 1 reaches the shared memory of workgroup 0, which may have ended: no barrier of the cluster behind"
    )
    assert re.fullmatch(
        r"work-item 0 of workgroup 0 reads byte 0 of shared memory slm, which work-item 0 of workgroup 1 wrote at line \d+ "
        r"\(llvm.store\) with no barrier of the cluster between",
        said(f"{BARRIER}\n{STORE_FAR}\n{LOAD_OWN}"),
    )


def test_a_workgroup_that_the_cluster_does_not_have_is_found() -> None:
    assert "run.undefined" in run(kernel(PUSH, other="arith.addi %rank, %c1 : i32"))[1]


def test_some_work_items_alone_do_not_pass_the_barrier() -> None:
    few = f"%few = arith.cmpi ult, %lane, %c1 : i32\nscf.if %few {{\n{ARRIVE}\n}}\n"
    body = f"{few}{WAIT}\n%found = arith.addi %lane, %c1 : i32"
    assert run(kernel(body))[1] == ["run.divergent_barrier"]


def test_global_memory_is_ordered_inside_a_cluster_alone() -> None:
    def rules(between: str, distance: int) -> list[str]:
        body = f"""memref.store %value, %p[%item] : memref<?xi32>
            {between}
            %far = arith.constant {distance} : index
            %n = arith.constant 128 : index
            %sum = arith.addi %item, %far : index
            %there = arith.remui %sum, %n : index
            %found = memref.load %p[%there] : memref<?xi32>
            {BARRIER}"""
        text = kernel(body)
        return run(text.replace("memref.store %found, %p[%item]", "memref.store %value, %p[%item]"))[1]

    # Workgroups 0 and 1 are a cluster; the next one of workgroup 1 is in the other cluster.
    assert set(rules(BARRIER, 64)) == {"run.other_workgroup"}
    assert "run.race" in rules("", 32)
    turned = """%c32 = arith.constant 32 : index
        %turned = arith.xori %item, %c32 : index
        %found = memref.load %p[%turned] : memref<?xi32>"""
    pair = kernel(f"memref.store %value, %p[%item] : memref<?xi32>\n{BARRIER}\n{turned}\n{BARRIER}")
    assert run(pair) == ([32, 0, 96, 64], [])


def test_numbers_of_clusters() -> None:
    names = ("cluster_block_id", "cluster_dim_blocks", "cluster_id", "cluster_dim")
    for name, wanted in zip(names, ([0, 1, 0, 1], [2] * 4, [0, 0, 1, 1], [2] * 4), strict=True):
        body = f"%n = gpu.{name} x\n%m = gpu.{name} y\n%ten = arith.constant 10 : index\n%k = arith.muli %m, %ten : index\n"
        body += "%s = arith.addi %n, %k : index\n%found = arith.index_cast %s : index to i32"
        beyond = 0 if name.endswith("id") else 10
        assert run(kernel(body)) == ([one + beyond for one in wanted], [])


def test_clusters_run_whole() -> None:
    with pytest.raises(SimulationError, match="3 workgroups along x are not whole clusters of 2"):
        run(kernel(PUSH), 3)
    with pytest.raises(
        SimulationError, match=r"known_cluster_size = \[2, 2, 1\]: clusters of 1 to 16 workgroups along x"
    ):
        run(kernel(PUSH).replace("array<i32: 2, 1, 1>}", "array<i32: 2, 2, 1>}"))
    memory = Memory()
    made: Any = np.zeros(128, np.int32)
    text = kernel(PUSH).replace("memref<?xi32>) kernel", "i64) kernel").replace(
        "memref.store %found, %p[%item] : memref<?xi32>",
        "%q = llvm.inttoptr %p : i64 to !llvm.ptr<1>\n"
        "%r = llvm.getelementptr %q[%value] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n"
        "llvm.store %found, %r : i32, !llvm.ptr<1>",
    )  # fmt: skip
    address = memory.bind("made", made)
    run_kernel(text, [address], (4, 1, 1), memory, target="sm_90", workgroups=[2, 3])
    assert made[::32].tolist() == [0, 0, 96, 64]
    with pytest.raises(LayoutError, match="expected whole clusters of 2"):
        run_kernel(text, [address], (4, 1, 1), memory, target="sm_90", workgroups=[1, 2])


def test_pointers_of_a_cluster_are_made_from_shared_memory() -> None:
    text = kernel(PUSH).replace('"llvm.nvvm.mapa.shared.cluster"(%mine', '"llvm.nvvm.mapa.shared.cluster"(%wild').replace(
        "%its = ", "%c9 = arith.constant 9 : i64\n%wild = llvm.inttoptr %c9 : i64 to !llvm.ptr<3>\n%its = ")  # fmt: skip
    with pytest.raises(SimulationError, match="is not shared memory of the workgroup"):
        run(text)


MAPPED = """
gpu.module @k {
  llvm.mlir.global internal @word() {addr_space = 3 : i32} : !llvm.array<4 x i8>
  gpu.func @mapped(%p: memref<1xi32>) kernel attributes {known_block_size = array<i32: 1, 1, 1>SIZES} {
    %word = llvm.mlir.addressof @word : !llvm.ptr<3>
    %rank = arith.constant 0 : i32
    %there = llvm.call_intrinsic "llvm.nvvm.mapa.shared.cluster"(%word, %rank) : (!llvm.ptr<3>, i32) -> !llvm.ptr<7>
    %seven = arith.constant 7 : i32
    llvm.store %seven, %there : i32, !llvm.ptr<7>
    %found = llvm.load %word : !llvm.ptr<3> -> i32
    %zero = arith.constant 0 : index
    memref.store %found, %p[%zero] : memref<1xi32>
    gpu.return } }"""


@pytest.mark.parametrize("sizes", ["", ", known_cluster_size = array<i32: 1, 1, 1>"])
def test_a_workgroup_alone_is_a_cluster_of_one(sizes: str) -> None:
    outcome = launch(
        MAPPED.replace("SIZES", sizes), [np.zeros(1, np.int32)], (1, 1, 1), target="sm_90", subgroup_size=1
    )
    assert outcome.arguments[0].tolist() == [7]
    assert outcome.findings == ()


@pytest.mark.parametrize("numbers", ["", ": 2", ": 1, 2, 1", ": 0, 1, 1", ": 17, 1, 1", ": 2, 1, 1, 1"])
def test_other_sizes_of_clusters_are_refused(numbers: str) -> None:
    text = MAPPED.replace("SIZES", f", known_cluster_size = array<i32{numbers}>")
    with pytest.raises(SimulationError, match="clusters of 1 to 16 workgroups along x"):
        launch(text, [np.zeros(1, np.int32)], (2, 2, 1), target="sm_90", subgroup_size=1)


def test_clusters_are_refused_on_chips_without() -> None:
    text = MAPPED.replace("SIZES", ", known_cluster_size = array<i32: 2, 1, 1>")
    with pytest.raises(SimulationError, match="on sm_80: its workgroups do not reach"):
        launch(text, [np.zeros(1, np.int32)], (2, 1, 1), target="sm_80", subgroup_size=1)


def test_intrinsics_of_clusters_have_their_types() -> None:
    text = MAPPED.replace("SIZES", "").replace(
        "%rank = arith.constant 0 : i32",
        '%rank = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.cluster.ctarank"(%word) : (!llvm.ptr<3>) -> i32',
    )
    with pytest.raises(SimulationError, match=r"ctarank: expected \(\) -> i32"):
        launch(text, [np.zeros(1, np.int32)], (1, 1, 1), target="sm_90", subgroup_size=1)
