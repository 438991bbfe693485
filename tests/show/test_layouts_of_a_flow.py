"""`show` answers as `check`: what a conversion converts and costs, and how a value that states nothing is held."""

from __future__ import annotations

import json

import pytest

import layoutalg as la
from layoutalg.cli import main
from layoutalg.ir.places import Place
from layoutalg.show.modules import describe_module
from layoutalg.show.operation_layouts import layout_uses_of
from tests.checking.test_conversions_of_other_notations import IREE
from tests.lowering.test_open_levels import BOTH, OTHER, OTHER_BOTH, SG, V, converted, kernel
from tests.propagation.generated import asked_of

COLUMNS = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
ROWS = "#xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>"


def in_both(module: la.Module) -> list[tuple[Place | None, int | None]]:
    """Of each conversion that `show` tells, its place and price, as `check` has them too."""
    shown = [(row.conversion.source.place, row.facts["cost"]) for row in describe_module(module).conversions]
    assert shown == [(one.place, one.cost) for one in la.check(module).conversions]
    return shown


def test_a_conversion_that_says_its_target_alone_is_shown_with_the_source_that_check_finds() -> None:
    module = la.read(IREE)
    assert [place and place.line for place, _ in in_both(module)] == [9, 10]
    [turned, moved] = describe_module(module).conversions
    assert turned.words == "the same map"
    # Lane l has rows 4 (l // 16) to 4 (l // 16) + 3 of column l % 16 before the transpose: element (0, 1) is (1, 0) there.
    assert moved.words == "element (0, 1) is in lane 0, register 1 in the first and in lane 1, register 0 in the second"
    assert moved.facts["stated"] is False


@pytest.mark.parametrize(("load", "source"), [(BOTH, SG), ("", SG), (SG, SG), (BOTH, BOTH)])
@pytest.mark.parametrize(("store", "result"), [(OTHER_BOTH, OTHER), ("", OTHER), (BOTH, SG), (SG, BOTH)])
def test_levels_that_a_conversion_leaves_open_are_those_that_check_finds(
    load: str, source: str, store: str, result: str
) -> None:
    assert len(in_both(kernel(converted(source, result), load, store))) == 1


def test_the_conversions_of_generated_kernels_are_shown_as_check_has_them() -> None:
    made = [la.propagate(one.text, level=level).module for one, level in asked_of(24, seed=5)]
    assert sum(len(in_both(module)) for module in made) >= 3


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"%y = math.exp %x : {V}", BOTH),
        (f"%y = arith.addf %x, %x : {V}", BOTH),
        (f"%z = arith.constant dense<1.0> : {V}\n %y = arith.addf %z, %x : {V}", BOTH),
    ],
)
def test_a_value_that_states_nothing_is_held_as_its_operands_are(line: str, expected: str) -> None:
    [use] = layout_uses_of(kernel(line, BOTH, BOTH), "%y")
    assert (use.operand, use.text, use.shape) == ("result, as its operands give it", expected, (64, 32))


def test_a_transpose_turns_the_layout() -> None:
    module = la.read(f"""func.func @f(%x: vector<32x16xf32>) {{
      %a = math.exp %x {{layout_result_0 = {COLUMNS}}} : vector<32x16xf32>
      %t = vector.transpose %a, [1, 0] : vector<32x16xf32> to vector<16x32xf32>
      func.return }}""")
    [use] = layout_uses_of(module, "%t")
    for row in range(16):
        for column in range(32):
            assert use.layout(la.Machine(lanes=16)).owners((row, column)) == [(0, row, column)]


def test_an_argument_and_what_only_its_uses_speak_of_are_held_as_these_want() -> None:
    module = la.read(f"""func.func @f(%x: vector<16x16xf32>) {{
      %y = math.exp %x : vector<16x16xf32>
      %z = math.exp %y {{layout_result_0 = {ROWS}}} : vector<16x16xf32>
      func.return }}""")
    for name, what in (("%x", "argument"), ("%y", "result")):
        [use] = layout_uses_of(module, name)
        assert (use.operand, use.text) == (f"{what}, as its uses want it", ROWS)
    assert [use.name for use in layout_uses_of(module, "math.exp")] == ["%z", "%y"]


def test_subgroups_alone_are_shown_as_subgroups_alone() -> None:
    module = la.read(f"""gpu.module @m {{ gpu.func @k(%p: i64) kernel attributes {{
        known_block_size = array<i32: 64, 1, 1>, intel_reqd_sub_group_size = 16 : i32}} {{
      %a = arith.constant {{layout_result_0 = {SG}}} dense<1.0> : {V}
      %t = vector.transpose %a, [1, 0] : {V} to vector<32x64xf32>
      gpu.return }} }}""")
    [use] = layout_uses_of(module, "%t")
    assert use.layout().axes.get("lane", 1) == 1
    # Subgroup s had rows 16 s to 16 s + 15; these are columns now, and its registers have them row by row.
    assert use.layout().owners((2, 19)) == [(1, 0, 2 * 16 + 3)]


@pytest.mark.parametrize("asked", ["%none", "", "arith.constant"])
def test_what_has_no_layout_is_refused_by_name(asked: str) -> None:
    module = la.read(f"""func.func @f(%x: vector<16x16xf32>) {{
      %c = arith.constant dense<1.0> : vector<16x16xf32>
      %z = math.exp %x {{layout_result_0 = {ROWS}}} : vector<16x16xf32>
      func.return }}""")
    with pytest.raises(la.LayoutError, match="has no such operation with a layout; it has %z"):
        layout_uses_of(module, asked)


def test_the_command_says_why_a_layout_is_there(capsys: pytest.CaptureFixture[str], tmp_path: object) -> None:
    path = f"{tmp_path}/k.mlir"
    with open(path, "w") as file:
        file.write(str(kernel(f"%y = math.exp %x : {V}", BOTH, BOTH)))
    assert main(["show", path, "--op", "%y", "--lane", "3"]) == 0
    assert "%y = math.exp result, as its operands give it" in capsys.readouterr().out
    assert main(["show", path, "--op", "%y", "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)["layouts"]
    assert (row["name"], row["operand"], row["text"]) == ("%y", "result, as its operands give it", BOTH)
