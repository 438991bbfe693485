"""A chip is one row of a table: its messages decide what is proposed, priced, propagated and lowered, and nothing else does."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg.flow.relations import relation_of
from layoutalg.hardware import chips
from layoutalg.hardware.block_tables import BlockSizes, BlockTable
from layoutalg.hardware.chips import SurfaceLimits, TargetInfo
from layoutalg.ir import read_module
from layoutalg.simulate import launch
from layoutalg.xegpu import LayoutAttr

WIDE = TargetInfo(
    "wide",
    32,
    surface=SurfaceLimits(),
    blocks=BlockTable(
        loads=(BlockSizes(16, 32, (2, 4, 8)), BlockSizes(32, 32, (4, 16))),
        transforms=(),
        transposes=(BlockSizes(32, 4, (32,)),),
        stores=(BlockSizes(16, 32, (4,)), BlockSizes(32, 32, (4,))),
    ),
)
"""A made-up chip: subgroups of 32 lanes, blocks 32 wide, stores of 4 rows, and transposes of 32x4 words."""
FEW = replace(WIDE, blocks=BlockTable((BlockSizes(32, 32, (2,)),), (), (), (BlockSizes(32, 32, (1,)),)))
"""The same chip with messages of other sizes."""


@pytest.fixture
def chip(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Puts a row into the table; called again, another row of the same name."""

    def put(row: TargetInfo) -> None:
        monkeypatch.setitem(chips.__dict__["_CHIPS"], row.name, row)

    put(WIDE)
    return put


def copying(rows: int, columns: int, element: str, lanes: int, layout: str = "") -> str:
    tile = f"!xegpu.tensor_desc<{rows}x{columns}x{element}>"
    stated = f" <{{layout = {layout}}}>" if layout else ""
    memory = f"shape : [{rows}, {columns}], strides : [{columns}, 1] : i64 -> {tile}"
    return f"""gpu.module @m {{ gpu.func @k(%p: i64, %q: i64) kernel attributes {{known_block_size = array<i32: {lanes}, 1, 1>,
        intel_reqd_sub_group_size = {lanes} : i32}} {{
      %t = xegpu.create_nd_tdesc %p, {memory}
      %x = xegpu.load_nd %t[0, 0]{stated} : {tile} -> vector<{rows}x{columns}x{element}>
      %u = xegpu.create_nd_tdesc %q, {memory}
      xegpu.store_nd %x, %u[0, 0]{stated} : vector<{rows}x{columns}x{element}>, {tile}
      gpu.return }} }}"""


def demand_of(name: str, rows: int, columns: int, element: str) -> Any:
    [op] = [op for op in read_module(copying(rows, columns, element, 32)).walk() if op.name == name]
    relation = relation_of(op)
    assert relation is not None
    [demand] = relation.demands
    return demand


def messages_in(text: str) -> list[str]:
    return re.findall(r"(?:load|store)_nd.*tensor_desc<([\dx]+x[if]\d+)>", text)


@pytest.mark.usefixtures("chip")
def test_what_is_proposed_and_priced_are_the_messages_of_the_row() -> None:
    load, store = demand_of("xegpu.load_nd", 32, 32, "f32"), demand_of("xegpu.store_nd", 32, 32, "f32")
    choices = load.choices("lane", None, "wide", 24)
    assert [(str(one.attribute), one.why) for one in choices] == [
        ("#xegpu.layout<lane_layout = [1, 32], lane_data = [1, 1]>", "2 x read_32b_16r32x1c"),
        ("#xegpu.layout<lane_layout = [32, 1], lane_data = [1, 1]>", "8 x read_transpose_32b_32r4x1c"),
    ]
    # 16 slots for a message and 8 for a word of a chip without listings: 2, 8 and 8 messages of 32 words in all
    assert [one.cost for one in choices] == [2 * 16 + 32 * 8, 8 * 16 + 32 * 8]
    rows = LayoutAttr(lane_layout=(1, 32), lane_data=(1, 1))
    assert store.price(rows, None, "wide") == 8 * 16 + 32 * 8
    assert [str(one.attribute) for one in store.choices("inst", None, "wide", 24)] == [
        "#xegpu.layout<inst_data = [4, 32]>"
    ]
    assert store.problem(rows, None, "wide") is None
    assert store.problem(LayoutAttr(lane_layout=(32, 1), lane_data=(1, 1)), None, "wide") == (
        "no 2D block message of wide takes 32-bit elements so: tiles of 4 along dimension 0 are in different lanes "
        "(8@lane:4); all lanes share a tile"
    )


@pytest.mark.parametrize(("row", "loads", "stores"), [(WIDE, 2, 8), (FEW, 16, 32)])
def test_a_kernel_without_layouts_is_propagated_and_lowered_for_the_row(
    chip: Any, row: TargetInfo, loads: int, stores: int
) -> None:
    """Both rows have one name: nothing is kept by name."""
    chip(row)
    module = la.read(copying(32, 32, "f32", 32))
    done = la.propagate(module, level="lane", target="wide")
    assert "lane_layout = [1, 32], lane_data = [1, 1]" in str(done.module)
    lowered = la.lower(done.module, target="wide")
    assert lowered.findings == ()
    found = messages_in(str(lowered))
    assert len(found) == loads + stores
    given = np.arange(1024, dtype=np.float32).reshape(32, 32)
    made = np.zeros_like(given)
    outcome = launch(str(lowered), [given, made], (1, 1, 1), level="lane", target="wide")
    assert outcome.findings == ()
    assert np.array_equal(made, given)


@pytest.mark.usefixtures("chip")
def test_rows_in_lanes_come_by_the_rows_transposes() -> None:
    """Of f16, in units of 32 bits; what is stored is exchanged into rows first."""
    down = "#xegpu.layout<lane_layout = [32, 1], lane_data = [1, 2]>"
    lowered = la.lower(la.read(copying(32, 32, "f16", 32, down)), target="wide")
    assert [finding.level for finding in lowered.findings] == ["warning"]
    found = messages_in(str(lowered))
    assert found[:4] == ["32x4xi32"] * 4
    assert found[4:] == ["4x32xf16"] * 8
    given = np.arange(1024).astype(np.float16).reshape(32, 32)
    made = np.zeros_like(given)
    assert launch(str(lowered), [given, made], (1, 1, 1), level="lane", target="wide").findings == ()
    assert np.array_equal(made, given)


@pytest.mark.usefixtures("chip")
def test_the_rows_sizes_are_what_a_module_is_verified_for() -> None:
    for rows, right in ((16, True), (8, False)):
        tile = f"!xegpu.tensor_desc<{rows}x32xf32>"
        text = f"""func.func @f(%p: i64) {{
          %t = xegpu.create_nd_tdesc %p, shape: [64, 64], strides: [64, 1] : i64 -> {tile}
          %x = xegpu.load_nd %t[0, 0] : {tile} -> vector<{rows}xf32>
          return }}"""
        findings = [str(finding) for finding in la.read(text).verify(target="wide")]
        assert (findings == []) == right
        assert all("of 32 bits there are 32 wide x 4, 16 rows" in finding for finding in findings)


@pytest.mark.usefixtures("chip")
def test_a_subgroup_of_other_lanes_has_no_messages() -> None:
    demand = demand_of("xegpu.load_nd", 32, 32, "f32")
    rows = LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
    problem = demand.problem(rows, la.Machine(lanes=16), "wide")
    assert problem == "wide has no 2D block messages for 16 lanes and elements of 32 bits"
