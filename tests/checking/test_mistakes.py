"""Each mistake of the compilers that is one of layouts is found at its operation; the repair that is proposed repairs it."""

from __future__ import annotations

import pytest

import layoutalg as la
from layoutalg.checking import Check, check
from tests.checking import modules
from tests.checking.repairing import repair_all


def wrong(text: str, llvm: int = 22) -> list[tuple[str, str, int]]:
    """The rule, the operation and the line of each error."""
    found = check(la.read(text), llvm=llvm)
    return [
        (finding.rule, finding.operation, finding.place.line)
        for finding in found.findings
        if finding.level == "error" and finding.place is not None
    ]


def line_of(text: str, beginning: str) -> int:
    return next(number for number, line in enumerate(text.split("\n"), 1) if line.startswith(beginning))


CASES = {
    "a fragment of a column is stored as a row": (modules.STORE_MATRIX, "compiler.matrix", "xegpu.store_matrix"),
    "several pieces of a row are loaded as one": (modules.LOAD_MATRIX, "compiler.matrix", "xegpu.load_matrix"),
    "a conversion that LLVM 22 deletes": (modules.DELETED_CONVERSION, "layouts.contradiction", "xegpu.load_nd"),
    "A has the rows of another subgroup": (modules.DPAS_ROWS, "layouts.operand", "xegpu.dpas"),
    "i8 in halves of an instruction": (modules.HALF_DEPTH, "layouts.demand", "xegpu.dpas"),
    "broadcast from a slice with the wrong dims": (modules.broadcast("1"), "layouts.operand", "vector.broadcast"),
    "transpose that moves nothing": (
        modules.transpose(modules.subgroups("2, 4", "8, 8"), modules.subgroups("2, 4", "16, 4")),
        "layouts.operand",
        "vector.transpose",
    ),
    "fields permuted, and the order not": (
        modules.transpose(modules.subgroups("2, 4", "8, 8"), modules.subgroups("4, 2", "8, 8")),
        "layouts.operand",
        "vector.transpose",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_found_at_its_operation(name: str) -> None:
    text, rule, operation = CASES[name]
    assert (rule, operation) in [one[:2] for one in wrong(text)]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("llvm", [22, 24])
def test_the_proposed_repair_repairs_it(name: str, llvm: int) -> None:
    found, texts = repair_all(CASES[name][0], llvm)
    assert found.is_right, f"{found.findings}\n{texts[-1]}"
    assert len(texts) > 1


def test_a_dpas_names_the_first_row_that_a_subgroup_lacks() -> None:
    found = check(la.read(modules.DPAS_ROWS))
    [mistake] = [one for one in found.mistakes if one.finding.operation == "xegpu.dpas"]
    # Subgroup 1 has columns 32 to 63 of rows 0 to 31 of D; in order [0, 1] it holds rows 32 to 63 of A.
    assert (mistake.operand, mistake.element, mistake.axes, mistake.needed_by) == ("%a", (0, 0), ("sg",), (1,))
    assert mistake.holders == ((0,), (2,))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (modules.subgroups("2, 4", "8, 8"), modules.subgroups("4, 2", "8, 8", ", order = [0, 1]")),
        (modules.subgroups("2, 4", "8, 8", ", order = [0, 1]"), modules.subgroups("4, 2", "8, 8")),
        (modules.subgroups("2, 4", "8, 8", ", order = [0, 1]"), modules.subgroups("4, 2", "8, 8", ", order = [1, 0]")),
    ],
)
def test_transposes_are_right_where_the_order_is_transposed_too(before: str, after: str) -> None:
    assert not wrong(modules.transpose(before, after))


def test_broadcast_from_the_slice_of_its_result_is_right() -> None:
    assert not wrong(modules.broadcast("0"))


def test_a_reduction_whose_result_is_not_a_slice_crashes_23_and_24() -> None:
    text = modules.reduction(modules.lanes("16", "1"))
    assert [one[:2] for one in wrong(text, 24)] == [("compiler.reduction", "xegpu.store_nd")]
    assert wrong(text, 23) == wrong(text, 24)
    assert not wrong(text, 22)
    found, texts = repair_all(text, 24)
    assert found.is_right, texts[-1]


@pytest.mark.parametrize("result", [modules.SLICE, modules.lanes("16", "1")])
@pytest.mark.parametrize("name", modules.SUMS)
def test_what_is_computed_from_a_reduction_must_not_be_taken_as_no_slice_either(name: str, result: str) -> None:
    text = modules.computed_sums(*modules.SUMS[name], result)
    assert [one[:2] for one in wrong(text, 24)] == [("compiler.reduction", "xegpu.store_nd")]
    assert wrong(text, 23) == wrong(text, 24)
    assert not wrong(text, 22)
    [mistake] = check(la.read(text), llvm=24).mistakes
    message = str(mistake.finding)
    assert "LLVM 23 and 24 crash" in message
    assert name == "directly" or "%w is computed from %y, which vector.multi_reduction makes" in message
    [repair] = mistake.repairs
    assert (repair.kind, repair.value, str(repair.source)) == ("convert", "%y", modules.SLICE)
    if name != "loop":  # whose repair stands before an operation of several lines
        found, texts = repair_all(text, 24)
        assert found.is_right, texts[-1]


@pytest.mark.parametrize("name", modules.NO_SUMS)
def test_what_is_converted_or_not_stored_is_right(name: str) -> None:
    assert not wrong(modules.computed_sums(*modules.NO_SUMS[name], modules.SLICE), 24)


def test_a_reduction_that_gives_its_result_to_lanes_without_a_part_of_it() -> None:
    # Lanes 0 to 3 hold row 0 of 4; sums of row r go to lane r, and lane 1 has nothing of row 1.
    text = modules.kernel(
        f"%x = arith.constant {{layout_result_0 = {modules.lanes('4, 4', '1, 1')}}} dense<1.0> : vector<4x4xf32>",
        "%z = arith.constant dense<0.0> : vector<4xf32>",
        f"%y = vector.multi_reduction <add>, %x, %z {{layout_result_0 = {modules.lanes('4', '1')}}} [1] : "
        "vector<4x4xf32> to vector<4xf32>",
    )
    assert wrong(text) == [("layouts.part", "vector.multi_reduction", line_of(text, "%y"))]
    found, texts = repair_all(text)
    assert found.is_right, texts[-1]


def test_same_lanes_in_other_registers_are_a_warning_that_names_the_register() -> None:
    text = modules.kernel(
        f"%x = arith.constant {{layout_result_0 = {modules.lanes('1, 16', '1, 1')}}} dense<1.0> : vector<8x32xf32>",
        f"%y = math.exp %x {{layout_result_0 = {modules.lanes('1, 16', '1, 1', ', order = [0, 1]')}}} : vector<8x32xf32>",
    )
    assert check(la.read(text)).findings == ()
    tiles = text.replace("#xegpu.layout<", "#xegpu.layout<inst_data = [8, 16], ", 1)
    assert check(la.read(tiles)).findings == (), "instruction tiles vanish when values are cut into them"


def test_a_conversion_between_two_names_of_one_map_is_redundant() -> None:
    text = modules.kernel(
        *modules.load("x", "16x16", modules.COLUMNS),
        f"%y = xegpu.convert_layout %x <{{input_layout = {modules.COLUMNS}, target_layout = {modules.lanes('1, 16', '2, 1')}}}>"
        " : vector<16x16xf32>",
        f"%z = xegpu.convert_layout %y <{{input_layout = {modules.lanes('1, 16', '2, 1')}, target_layout = {modules.ROWS}}}>"
        " : vector<16x16xf32>",
    )
    found: Check = check(la.read(text), target="pvc")
    assert found.is_right
    assert [one.is_redundant for one in found.conversions] == [True, False]
    plan = la.convert(modules.COLUMNS, modules.ROWS, (16, 16), target="pvc", machine=la.Machine(lanes=16))
    assert found.cost == plan.cost


def test_a_conversion_that_keeps_llvm_from_crashing_is_not_redundant() -> None:
    rows, lanes = "#xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>", "lane_layout = [16], lane_data = [1]"
    text = f"""
    func.func @f(%x: vector<64x16xf32>, %z: vector<64xf32>, %u: !xegpu.tensor_desc<64xf32, #xegpu.layout<{lanes}>>) {{
      %s = vector.multi_reduction <add>, %x, %z {{layout_operand_0 = {rows},
        layout_result_0 = #xegpu.slice<{rows}, dims = [1]>}} [1] : vector<64x16xf32> to vector<64xf32>
      %e = math.exp %s {{layout_result_0 = #xegpu.slice<{rows}, dims = [1]>}} : vector<64xf32>
      %c = xegpu.convert_layout %e <{{input_layout = #xegpu.slice<{rows}, dims = [1]>,
        target_layout = #xegpu.layout<{lanes}>}}> : vector<64xf32>
      xegpu.store_nd %c, %u[0] : vector<64xf32>, !xegpu.tensor_desc<64xf32, #xegpu.layout<{lanes}>>
      func.return }}"""
    for llvm, needed in ((22, ""), (23, "LLVM 23"), (24, "LLVM 24")):
        [one] = la.check(text, llvm=llvm).conversions
        assert (one.is_redundant, one.needed_by, one.cost) == (not needed, needed, 0)
    # tests/oracle/test_checked_mistakes.py asks the compilers of such modules, with the conversion and without
