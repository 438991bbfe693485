"""Matrices that lanes move together on NVIDIA's and AMD's chips: what is moved, and what is found where it makes no sense."""

from __future__ import annotations

import numpy as np
import pytest

from layoutalg.simulate.launching import launch
from layoutalg.simulate.machine import SimulationError

FRAME = """
gpu.module @k {{
  llvm.mlir.global internal @slm() {{addr_space = 3 : i32, alignment = 16 : i64}} : !llvm.array<1024 x i8>
  gpu.func @f(%from: i64, %to: i64) kernel attributes {{known_block_size = array<i32: {lanes}, 1, 1>}} {{
    %c0 = arith.constant 0 : i32
    %c4 = arith.constant 4 : i32
    %c8 = arith.constant 8 : i32
    %c16 = arith.constant 16 : i32
    %id = gpu.lane_id
    %lane = arith.index_cast %id : index to i32
    %source = llvm.inttoptr %from : i64 to !llvm.ptr<1>
    %target = llvm.inttoptr %to : i64 to !llvm.ptr<1>
    %slm = llvm.mlir.addressof @slm : !llvm.ptr<3>
    %bytes = arith.muli %lane, {stride} : i32
    %own = llvm.getelementptr %slm[%bytes] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    %given = llvm.getelementptr %source[%bytes] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
    %made = llvm.getelementptr %target[%bytes] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
{body}
    gpu.return
  }}
}}
"""
STORE = """
    %row = llvm.load %given : !llvm.ptr<1> -> {kind}
    llvm.store %row, %own : {kind}, !llvm.ptr<3>
    {wait}
"""
WAIT = """%all = arith.constant -1 : i32
    llvm.call_intrinsic "llvm.nvvm.bar.warp.sync"(%all) : (i32) -> ()"""
FOUR = "!llvm.struct<(i32, i32, i32, i32)>"


def load_of_four(transposed: str, pointer: str = "%own") -> str:
    words = "\n".join(f"    %w{i} = llvm.extractvalue %m[{i}] : {FOUR}" for i in range(4))
    name = f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4{transposed}.b16"
    return f"""
    %m = llvm.call_intrinsic "{name}"({pointer}) : (!llvm.ptr<3>) -> {FOUR}
{words}
    %v = vector.from_elements %w0, %w1, %w2, %w3 : vector<4xi32>
    llvm.store %v, %made : vector<4xi32>, !llvm.ptr<1>"""


def executed(body: str, size: int, lanes: int, stride: str, target: str) -> tuple[np.ndarray, tuple[str, ...]]:
    given = np.arange(size * lanes // 2, dtype=np.uint16)
    made = np.zeros_like(given)
    outcome = launch(FRAME.format(lanes=lanes, stride=stride, body=body), [given, made], target=target)
    return made, tuple(finding.rule for finding in outcome.findings)


@pytest.mark.parametrize("transposed", ["", ".trans"])
def test_ldmatrix_gives_each_lane_two_halves_of_each_matrix(transposed: str) -> None:
    """PTX ISA: thread t has the elements 2 (t % 4) and 2 (t % 4) + 1 of row t / 4, of the matrix or of its transpose."""
    body = STORE.format(kind="vector<4xi32>", wait=WAIT) + load_of_four(transposed)
    made, rules = executed(body, 16, 32, "%c16", "sm_80")
    matrices = np.arange(256).reshape(4, 8, 8)
    if transposed:
        matrices = matrices.transpose(0, 2, 1)
    expected = matrices.reshape(4, 32, 2).transpose(1, 0, 2).reshape(-1)
    assert rules == ()
    assert made.tolist() == expected.tolist()


def test_ds_read_b64_tr_b16_transposes_among_16_lanes() -> None:
    """ROCm/rocm-systems PR 10175: half n of lane l is half l & 3 of lane (l & ~15 | l >> 2 & 3) + 4n."""
    body = (
        STORE.format(kind="vector<4xi16>", wait='llvm.fence syncscope("wavefront") acq_rel')
        + """
    %v = llvm.call_intrinsic "llvm.amdgcn.ds.read.tr16.b64"(%own) : (!llvm.ptr<3>) -> vector<4xi16>
    llvm.store %v, %made : vector<4xi16>, !llvm.ptr<1>"""
    )
    made, rules = executed(body, 8, 64, "%c8", "gfx950")
    expected = [4 * ((lane & ~15 | lane >> 2 & 3) + 4 * n) + (lane & 3) for lane in range(64) for n in range(4)]
    assert rules == ()
    assert made.tolist() == expected


def test_a_row_that_is_not_aligned_is_found() -> None:
    body = STORE.format(kind="vector<4xi32>", wait=WAIT)
    body += "    %off = llvm.getelementptr %slm[%c4] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8"
    assert "run.undefined" in executed(body + load_of_four("", "%off"), 16, 32, "%c16", "sm_80")[1]


def test_a_matrix_that_is_read_before_the_others_have_stored_is_a_race() -> None:
    body = STORE.format(kind="vector<4xi32>", wait="") + load_of_four("")
    assert "run.race" in executed(body, 16, 32, "%c16", "sm_80")[1]


def test_a_wavefront_of_64_has_no_ldmatrix() -> None:
    body = STORE.format(kind="vector<4xi32>", wait="") + load_of_four("")
    with pytest.raises(SimulationError, match="matrices are moved by 32 lanes; here by 64"):
        executed(body, 16, 64, "%c16", "gfx942")
