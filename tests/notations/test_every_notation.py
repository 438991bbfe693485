"""One contract for every notation: text, value and Layout are taken in the same way, and give the same answers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import layoutalg as la
from layoutalg.cli import main
from layoutalg.core.agreement import agree
from tests.notations import tiled  # registers a notation from outside

Shape = tuple[int, ...] | None


class Case(NamedTuple):
    text: str
    shape: Shape = None
    machine: la.Machine | None = None


CASES = [
    Case("d0 = 8@lane 2@reg, d1 = 4@reg:2"),
    Case("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane"),
    Case("#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>", (8, 32)),
    Case("#xegpu.layout<sg_layout = [2, 2], sg_data = [8, 16], lane_layout = [1, 16], lane_data = [1, 1]>", (16, 32)),
    Case("#xegpu.layout<lane_layout = [8, 1], lane_data = [1, 1]>", (8, 2), la.Machine(lanes=16)),
    Case("#xegpu.slice<#xegpu.layout<lane_layout = [2, 8], lane_data = [1, 1]>, dims = [0]>", (16,)),
    Case("#xegpu.sg_map<wi_layout = [2, 8], wi_data = [1, 2]>", (8, 32)),
    Case("!xegpu.tensor_desc<8x16xf16, #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>>"),
    Case(
        "#iree_vector_ext.nested_layout<subgroup_tile = [2, 1], batch_tile = [1, 2], outer_tile = [1, 1], "
        "thread_tile = [4, 16], element_tile = [4, 1], subgroup_strides = [1, 0], thread_strides = [16, 1]>"
    ),
    Case(
        "#iree_vector_ext.nested_layout<subgroup_tile = [1], batch_tile = [1], outer_tile = [1], "
        "thread_tile = [16], element_tile = [4], subgroup_strides = [0], thread_strides = [1]>",
        machine=la.Machine(lanes=32, subgroups=2),
    ),
    Case("MFMA_F32_16x16x16_F16.acc"),
    Case("WMMAR3_F32_16x16x16_F16.lhs"),
    Case("#ttg.linear<{register = [[1, 0], [2, 0]], lane = [[0, 1], [0, 2], [4, 0]], warp = [[0, 4]], block = []}>"),
    Case(
        "#ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [4, 8], warpsPerCTA = [2, 1], order = [1, 0]}>", (8, 16)
    ),
    Case(
        "tensor<16x16xf16, #ttg.dot_op<{opIdx = 0, parent = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, "
        "warpsPerCTA = [1, 1], instrShape = [16, 8]}>, kWidth = 2}>>"
    ),
    Case("SM80_16x8x16_F32F16F16F32_TN.C"),
    Case("ldmatrix.x4.trans.destination"),
    Case("gl.BlockedLayout([1, 2], [4, 8], [1, 2], [1, 0])", (4, 32)),
    Case("((4,8),(2,2)):((32,1),(16,8))", (16, 8), la.Machine(lanes=32)),
    Case(
        str(la.parse("#tiled.layout<[64, 8] [16, 8] [8, 8] [1, 2], warp = [-8], lane = [-4, -3], vector = -1>")),
        (64, 8),
    ),
]
ON_MEMORY = [
    Case("#ttg.swizzled_shared<{vec = 2, perPhase = 1, maxPhase = 4, order = [1, 0]}>", (4, 8)),
    Case(
        "!ttg.memdesc<8x8xf32, #ttg.padded_shared<[8:+4] {order = [1, 0], shape = [8, 8]}>, #ttg.shared_memory, mutable>"
    ),
    Case("!amx.tile<16x64xi8>"),
    Case("!xegpu.mem_desc<16x32xf16>"),
    Case("(8,4):(4,1)"),
    Case("d0 = 16@addr:4, d1 = 4@addr"),
]


def name(case: Case) -> str:
    return case.text[:32]


def options(case: Case) -> list[str]:
    found = [] if case.shape is None else ["x".join(map(str, case.shape))]
    if case.machine is not None:
        found += ["--subgroup-size", str(case.machine.lanes)]
        found += [] if case.machine.subgroups is None else ["--subgroups", str(case.machine.subgroups)]
    return found


def cells(svg: str) -> list[str]:
    """The drawn cells, with what is written into them, below the first of them: what is over them may take more lines."""
    lines = [
        line
        for line in svg.splitlines()
        if line.startswith(("<rect", "<g", "<text"))
        and not any(part in line for part in ('weight="bold"', 'class="paper"', ">cells: "))
    ]
    heights = r'(?<= y=")[\d.]+'
    top = float(re.findall(heights, "".join(lines))[0])
    return [re.sub(heights, lambda found: f"{max(float(found[0]) - top, -1):.1f}", line) for line in lines]


def layout_of(case: Case) -> la.Layout:
    return la.parse(case.text).layout(case.shape, case.machine)


@pytest.mark.parametrize("case", CASES + ON_MEMORY, ids=name)
def test_parse_prints_and_reads_back(case: Case) -> None:
    value = la.parse(case.text)
    assert isinstance(value, la.Notation)
    assert la.parse(str(value)) == value
    assert hash(la.parse(str(value))) == hash(value)
    assert str(la.parse(str(value))) == str(value)


@pytest.mark.parametrize("case", CASES + ON_MEMORY, ids=name)
def test_operands_are_the_layout_on_the_machine(case: Case) -> None:
    value = la.parse(case.text)
    (operand,) = value.operands(case.shape, case.machine)
    assert operand.layout == layout_of(case)
    (asked,) = agree((value,), case.shape, case.machine)
    assert asked.operand is not None
    assert asked.operand.layout == layout_of(case)
    if case.machine is not None:
        assert layout_of(case).axes["lane"] == case.machine.lanes


@pytest.mark.parametrize("case", CASES, ids=name)
def test_coordinates_are_the_layout_s_map(case: Case) -> None:
    value, layout = la.parse(case.text), layout_of(case)
    held = value.coordinates(case.shape, case.machine)
    assert np.array_equal(held, layout.fragment_map())
    # Every slot that a coordinate names is one of its element's owners, and none is missing.
    named = {(tuple(held[where]), where) for where in np.ndindex(held.shape[:-1]) if held[where].min() >= 0}
    owned = {(element, place) for element in np.ndindex(layout.shape) for place in layout.owners(element)}
    assert {(tuple(map(int, element)), place) for element, place in named} == owned


@pytest.mark.parametrize("case", CASES + ON_MEMORY, ids=name)
def test_same_takes_text_value_and_layout(case: Case) -> None:
    value, layout = la.parse(case.text), layout_of(case)
    ways: Sequence[Any] = (case.text, value, layout)
    for a in ways:
        for b in ways:
            assert la.same(a, b, case.shape, machine=case.machine), (a, b)
    other = layout.permute(tuple(reversed(range(layout.rank)))) if layout.rank > 1 else layout.tile((2,))
    answers = {str(la.same(one, other, machine=case.machine)) for one in (layout,)}
    assert len(answers) == 1


@pytest.mark.parametrize("case", CASES, ids=name)
def test_convert_takes_text_value_and_layout(case: Case) -> None:
    value, layout = la.parse(case.text), layout_of(case)
    machine = {axis: layout.axes.get(axis, 1) for axis in ("sg", "lane")}
    size = int(np.prod(layout.shape))
    other = la.Layout.parse(f"d0 = {size}@reg | replicas {machine['sg']}@sg {machine['lane']}@lane").reshape(
        layout.shape
    )
    plans = [la.convert(one, other, case.shape, machine=case.machine) for one in (case.text, value, layout)]
    assert plans[0] == plans[1] == plans[2]
    tensor = np.arange(size, dtype=np.int32).reshape(layout.shape)
    held = layout.fragment_map()
    before = np.where(held[..., 0] >= 0, tensor[tuple(np.moveaxis(held, -1, 0))], -1).astype(np.int32)
    after = np.broadcast_to(tensor.ravel(), (machine["sg"], machine["lane"], size))
    assert np.array_equal(plans[0].apply(before), after)
    back = [la.convert(other, one, case.shape, machine=case.machine) for one in (case.text, value, layout)]
    assert back[0] == back[1] == back[2]


@pytest.mark.parametrize("case", CASES, ids=name)
def test_bank_conflicts_take_text_value_and_layout(case: Case) -> None:
    value, layout = la.parse(case.text), layout_of(case)
    found = [la.bank_conflicts(one, shape=case.shape, machine=case.machine) for one in (case.text, value)]
    assert found[0] == found[1] == la.bank_conflicts(layout)


@pytest.mark.parametrize("case", CASES + ON_MEMORY, ids=name)
def test_pictures_are_the_same(case: Case) -> None:
    value, layout = la.parse(case.text), layout_of(case)
    texts = la.picture(case.text, case.shape, machine=case.machine, title="it").svg()
    values = value.picture(case.shape, machine=case.machine, title="it").svg()
    assert texts == values
    if value.operands(case.shape, case.machine)[0][2:] == layout.operands()[0][2:]:  # no instruction tile to mark
        assert cells(texts) == cells(layout.picture(title="it").svg())


@pytest.mark.parametrize("case", CASES + ON_MEMORY, ids=name)
def test_show_prints_the_layout(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", case.text, *options(case), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert la.Layout.parse(facts["layout"]) == layout_of(case)
    assert main(["show", case.text, *options(case)]) == 0
    assert str(layout_of(case)) in capsys.readouterr().out


@pytest.mark.parametrize("case", CASES + ON_MEMORY, ids=name)
def test_draw_writes_the_picture(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["draw", case.text, *options(case), "-o", str(tmp_path / "it.svg"), "--title", "it"]) == 0
    assert (tmp_path / "it.svg").read_text() == la.picture(
        case.text, case.shape, machine=case.machine, title="it"
    ).svg()


@pytest.mark.parametrize("case", CASES + ON_MEMORY, ids=name)
def test_the_command_same_takes_texts(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["same", case.text, str(layout_of(case)), *options(case)]) == 0
    assert "the same map" in capsys.readouterr().out


def test_every_registered_notation_has_a_case() -> None:
    from layoutalg.notations import notations

    assert tiled.TILED in notations().values()
    texts = [case.text for case in CASES + ON_MEMORY]
    for notation in notations().values():
        if notation.name == "stripes":  # of a page of the documentation, which registers one of its own
            continue
        assert any(notation.begins.match(text) for text in texts), notation.name


MEANT = (
    "MFMA_F32_16x16x16_F16.acc",
    "#xegpu.layout<lane_layout = [4, 16], lane_data = [4, 1]>",
    "d0 = 4@lane:16 4@reg, d1 = 16@lane",
    "#ttg.linear<{register = [[1, 0], [2, 0]], "
    "lane = [[0, 1], [0, 2], [0, 4], [0, 8], [4, 0], [8, 0]], warp = [], block = []}>",
)


@pytest.mark.parametrize("a", MEANT, ids=lambda text: text[:24])
@pytest.mark.parametrize("b", MEANT, ids=lambda text: text[:24])
def test_one_map_in_four_notations(a: str, b: str) -> None:
    assert la.same(a, b, (16, 16))
    assert la.convert(a, b, (16, 16)).kind == "identity"
