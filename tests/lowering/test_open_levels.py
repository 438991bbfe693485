"""Where one end of a conversion or of a tie leaves lanes (or subgroups) open, it has what the other end says; what nobody says
is refused by name where it would be exchanged."""

from __future__ import annotations

import numpy as np
import pytest

import layoutalg as la

SG = "#xegpu.layout<sg_layout = [4, 1], sg_data = [16, 32]>"
LANES = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
BOTH = "#xegpu.layout<sg_layout = [4, 1], sg_data = [16, 32], lane_layout = [1, 16], lane_data = [1, 1]>"
OTHER = "#xegpu.layout<sg_layout = [2, 2], sg_data = [32, 16]>"
OTHER_BOTH = "#xegpu.layout<sg_layout = [2, 2], sg_data = [32, 16], lane_layout = [1, 16], lane_data = [1, 1]>"
V = "vector<64x32xf32>"
T = "!xegpu.tensor_desc<64x32xf32>"


def kernel(lines: str, load: str = "", store: str = "") -> la.Module:
    loaded, stored = (f"<{{layout = {one}}}>" if one else "" for one in (load, store))
    return la.read(f"""gpu.module @m {{ gpu.func @k(%p: i64, %q: i64) kernel attributes {{
        known_block_size = array<i32: 64, 1, 1>, intel_reqd_sub_group_size = 16 : i32}} {{
      %t = xegpu.create_nd_tdesc %p, shape : [64, 32], strides : [32, 1] : i64 -> {T}
      %u = xegpu.create_nd_tdesc %q, shape : [64, 32], strides : [32, 1] : i64 -> {T}
      %x = xegpu.load_nd %t[0, 0] {loaded} : {T} -> {V}
      {lines}
      xegpu.store_nd %y, %u[0, 0] {stored} : {V}, {T}
      gpu.return }} }}""")


def converted(source: str, result: str) -> str:
    return f"%y = xegpu.convert_layout %x <{{input_layout = {source}, target_layout = {result}}}> : {V}"


ADDED = f"%y = arith.addf %x, %x : {V}"


@pytest.mark.parametrize(
    ("lines", "load", "store", "times"),
    [
        (converted(BOTH, SG), BOTH, SG, 1),
        (converted(SG, BOTH), SG, BOTH, 1),
        (converted(BOTH, SG), "", "", 1),
        (converted(SG, BOTH), "", "", 1),
        (converted(SG, BOTH), BOTH, BOTH, 1),
        (converted(BOTH, OTHER), BOTH, OTHER, 1),
        (converted(OTHER, BOTH), OTHER, SG, 1),
        (converted(SG, OTHER), BOTH, OTHER, 1),
        (converted(SG, OTHER), SG, OTHER_BOTH, 1),
        (ADDED, SG, BOTH, 2),
        (ADDED, BOTH, SG, 2),
        (ADDED, LANES, SG, 2),
        (ADDED, SG, LANES, 2),
    ],
)
def test_what_check_says_is_what_lower_writes(lines: str, load: str, store: str, times: int) -> None:
    module = kernel(lines, load, store)
    checked, lowered = la.check(module), la.lower(module)
    assert checked.is_right, checked.findings
    assert lowered.module is not None
    assert lowered.findings == ()
    assert sum(one.price.slots or 0 for one in lowered.exchanges) == checked.cost
    assert all(one.written for one in lowered.exchanges)
    x, y = np.random.default_rng(0).random((64, 32), np.float32), np.zeros((64, 32), np.float32)
    assert lowered.module.run([x, y], (1, 1, 1)).findings == ()
    np.testing.assert_array_equal(y, x * np.float32(times))


@pytest.mark.parametrize(
    ("lines", "load", "store"), [(ADDED, SG, SG), (converted(SG, SG), SG, SG), (converted(SG, OTHER), SG, OTHER)]
)
def test_lanes_that_nobody_says_are_refused_by_name_and_can_be_decided(lines: str, load: str, store: str) -> None:
    module = kernel(lines, load, store)
    assert la.check(module).is_right
    lowered = la.lower(module)
    assert lowered.module is None
    errors = [finding for finding in lowered.findings if finding.level == "error"]
    assert errors
    assert {finding.rule for finding in errors} == {"lower.lanes"}
    assert la.lower(module, level="lane").module is not None


def test_what_each_subgroup_holds_already_is_picked_and_not_exchanged() -> None:
    """8 subgroups hold 16x32 of 32x32 each; the store takes 8x16 of it, which check calls right."""
    held, taken = (
        f"#xegpu.layout<sg_layout = {grid}, sg_data = {data}, lane_layout = [1, 16], lane_data = [1, 1]>"
        for grid, data in (([2, 4], [16, 32]), ([4, 2], [8, 16]))
    )
    block, kind = "!xegpu.tensor_desc<32x32xf32>", "vector<32x32xf32>"
    kernel = la.read(f"""gpu.module @m {{ gpu.func @k(%p: memref<32x32xf32>, %q: memref<32x32xf32>) kernel attributes
      {{known_block_size = array<i32: 128, 1, 1>, intel_reqd_sub_group_size = 16 : i32}} {{
      %s = xegpu.create_nd_tdesc %p : memref<32x32xf32> -> {block}
      %u = xegpu.create_nd_tdesc %q : memref<32x32xf32> -> {block}
      %w = xegpu.load_nd %s[0, 0] <{{layout = {held}}}> : {block} -> {kind}
      %y = arith.negf %w : {kind}
      xegpu.store_nd %y, %u[0, 0] <{{layout = {taken}}}> : {kind}, {block}
      gpu.return }} }}""")
    assert la.check(kernel, llvm=24).is_right
    lowered = la.lower(kernel)
    assert [finding.rule for finding in lowered.findings if finding.rule == "lower.exchange"] == []
    assert lowered.module is not None
    source, result = np.arange(1024, dtype=np.float32).reshape(32, 32), np.zeros((32, 32), np.float32)
    assert lowered.module.run([source, result], (1, 1, 1)).findings == ()
    assert (result == -source).all()
