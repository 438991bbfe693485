"""Changes that are offered, taken: the file is then right, or moves as little as it could."""

from __future__ import annotations

import pytest

import layoutalg as la
from layoutalg.editor.actions import Action, actions, applied
from layoutalg.editor.documents import Document
from tests.checking.test_mistakes import CASES
from tests.editor.texts import COLUMNS, KERNEL, MODULES, ROWS


def offered(text: str, words: str) -> list[Action]:
    at = text.index(words)
    return actions(Document(text), at, at)


def taken(text: str, action: Action) -> str:
    return applied(text, action.edits(Document(text)))


def errors(text: str) -> list[str]:
    return [str(one) for one in la.check(text).findings if one.level == "error"]


@pytest.mark.parametrize("name", CASES)
def test_taking_repairs_makes_a_kernel_right(name: str) -> None:
    text = CASES[name][0]
    for _ in range(8):
        document = Document(text)
        marks = [mark for mark in document.marks() if mark.finding.rule.startswith(("layouts.", "compiler."))]
        if not marks:
            break
        repairs = [one for one in actions(document, marks[0].start, marks[0].end) if one.mark is not None]
        assert repairs, marks[0].message
        text = taken(text, repairs[0])
    assert not errors(text)


def test_every_repair_that_is_offered_repairs() -> None:
    found = offered(KERNEL, "arith.addf %r")
    assert {one.title.split()[0] for one in found if one.mark} == {"Make", "Convert"}
    for action in found:
        if action.mark is not None:
            assert errors(KERNEL)
            assert not errors(taken(KERNEL, action))


def test_a_conversion_stands_before_the_operation_that_needs_it() -> None:
    text = f"""\
func.func @f(%x: vector<16x16xf32>) {{
  %u = math.exp %x {{layout_result_0 = {COLUMNS}}} : vector<16x16xf32>
  %z = arith.addf %u, %u {{layout_result_0 = {ROWS}}} : vector<16x16xf32>
  func.return
}}
"""
    mistake, *_ = la.check(text).mistakes
    convert = next(one for one in offered(text, "arith.addf %u") if one.title.startswith("Convert"))
    after = taken(text, convert)
    assert f"{mistake.operand}_as_1 = xegpu.convert_layout {mistake.operand} <{{" in after
    assert "arith.addf %u_as_1, %u_as_1" in after
    assert not errors(after)


def test_a_conversion_that_moves_nothing_goes() -> None:
    [removal] = [one for one in offered(KERNEL, "xegpu.convert_layout %c") if one.title.startswith("Remove")]
    after = taken(KERNEL, removal)
    assert after == KERNEL.replace(KERNEL[KERNEL.index("  %d = ") : KERNEL.index("  %e = ")], "").replace(
        "arith.addf %d, %d", "arith.addf %c, %c"
    )
    assert len(la.check(after).conversions) == len(la.check(KERNEL).conversions) - 1
    assert not [one for one in offered(KERNEL, "xegpu.convert_layout %y") if one.title.startswith("Remove")]


def test_a_conversion_between_two_types_stays() -> None:
    first, second = (
        f"#ttg.linear<{{register = [[1]{more}], lane = [[2], [4], [8], [16], [32]], warp = [], block = []}}>"
        for more in ("", ", [0]")
    )
    text = f"""module attributes {{"ttg.num-warps" = 1 : i32, "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func @f(%x: tensor<64xf32, {first}>) {{
    %y = ttg.convert_layout %x : tensor<64xf32, {first}> -> tensor<64xf32, {second}>
    tt.return
  }}
}}"""
    assert not [one for one in offered(text, "ttg.convert") if one.title.startswith("Remove")]


def test_layouts_are_completed() -> None:
    text = """\
gpu.module @m {
  // kept
  gpu.func @f(%p: memref<64x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %t = xegpu.create_nd_tdesc %p : memref<64x64xf32> -> !xegpu.tensor_desc<16x16xf32>
    %x = xegpu.load_nd %t[%c0, %c0] : !xegpu.tensor_desc<16x16xf32> -> vector<16x16xf32>
    xegpu.store_nd %x, %t[%c0, %c0] : vector<16x16xf32>, !xegpu.tensor_desc<16x16xf32>
    gpu.return
  }
}
"""
    text = text.replace(
        "%c0] : vector", "%c0] <{layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>}> : vector"
    )
    complete = next(one for one in offered(text, "xegpu.load_nd") if one.title.startswith("Complete"))
    after = taken(text, complete)
    assert "// kept\n  gpu.func @f" in after
    assert str(la.read(after)) == str(la.propagate(text))


def test_an_old_spelling_is_migrated() -> None:
    text = """\
func.func @f() -> !amx.tile<16x16xf32> {
  %z = amx.tile_zero : !amx.tile<16x16xf32>
  return %z : !amx.tile<16x16xf32>
}
func.func @g() {
  return
}
"""
    migrate = next(one for one in offered(text, "amx.tile_zero") if one.title.startswith("Migrate"))
    after = taken(text, migrate)
    assert "%z = x86.amx.tile_zero : !x86.amx.tile<16x16xf32>" in after
    assert after.endswith("func.func @g() {\n  return\n}\n")
    assert not la.read(after).verify(llvm=24)


def test_edits_of_whole_functions_leave_a_readable_file() -> None:
    for text in (MODULES["amx.mlir"], MODULES["xegpu_blocks.mlir"]):
        document = Document(text)
        before = [one.message for one in la.read(text).findings]
        for piece in document.pieces:
            for action in actions(document, piece.own[0][0], piece.own[0][0]) if piece.names else ():
                try:
                    edits = action.edits(document)
                except la.LayoutError:
                    continue
                after = la.read(applied(text, edits)).findings
                assert [one for one in after if one.message not in before and one.level == "error"] == []


def test_a_removed_line_takes_its_line_end_with_it() -> None:
    """Of files from Windows too: the other lines stay as they are, byte for byte."""
    layout = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
    lines = [
        "func.func @f(%x: vector<16x16xf32>) -> vector<16x16xf32> {",
        f"  %y = xegpu.convert_layout %x <{{input_layout = {layout}, target_layout = {layout}}}> : vector<16x16xf32>",
        "  return %y : vector<16x16xf32>",
        "}",
    ]
    for end in ("\n", "\r\n"):
        text = end.join(lines)
        document, at = Document(text), text.index("xegpu.convert")
        after = applied(text, actions(document, at, at)[0].edits(document))
        assert after == end.join([lines[0], lines[2].replace("%y", "%x"), lines[3]])
