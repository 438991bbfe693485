"""Hovers, hints and definitions: facts that can be counted by hand."""

from __future__ import annotations

import pytest

from layoutalg.editor.documents import Document
from layoutalg.editor.hints import definition, hints
from layoutalg.editor.hover import Hover, code, hover, hover_python, plain
from tests.editor.texts import COLUMNS, KERNEL, ROWS


def at(text: str, words: str, behind: int = 1) -> Hover | None:
    """The hover on a part of a text."""
    return hover(Document(text), text.index(words) + behind)


def shown(text: str, words: str, behind: int = 1) -> str:
    found = at(text, words, behind)
    assert found is not None
    return found.markdown


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        ("#columns = ", ("16x16", "d0 = 16@reg, d1 = 16@lane", "per lane: vector<16xf32>", "LLVM 22, 23, 24: accept")),
        (COLUMNS, ("16x16", "lane 16, reg 16")),
        ("#columns}", ("`16x16xf32`", "d0 = 16@reg, d1 = 16@lane")),
        ("#rows}", ("`16x16xf32`", "d0 = 16@lane, d1 = 16@reg")),
        ("!xegpu.tensor_desc", ("16x16", "d0 = 16@reg, d1 = 16@lane")),
        ("math.exp", ("result, as its operands give it", "d0 = 16@reg, d1 = 16@lane")),
        ("%y <{", ("`%y`", "d0 = 16@reg, d1 = 16@lane")),
        ("%c = ", ("`%c`", "d0 = 16@lane, d1 = 16@reg")),
        ("xegpu.convert_layout %y", ("element (0, 1) is in lane 1, register 0 in the first", "issue slots on pvc")),
        ("arith.addf %d", ("`arith.addf`", "d0 = 16@lane, d1 = 16@reg")),
    ],
)
def test_a_hover_says_who_holds_what(words: str, facts: tuple[str, ...]) -> None:
    text = shown(KERNEL, words)
    assert all(fact in text for fact in facts), text


def test_a_hover_has_the_owners() -> None:
    assert "0-15  0-15" in shown(KERNEL, "#columns}")
    assert "lanes count down the rows" in shown(KERNEL, "#rows}")


def test_a_hover_is_about_the_words_under_the_pointer() -> None:
    for words in ("#columns}", "!xegpu.tensor_desc<16x16xf32, #columns>", "math.exp", "%y"):
        found = at(KERNEL, words)
        assert found is not None
        assert KERNEL[found.start : found.end] == words.rstrip("}")


def test_versions_that_refuse_say_why() -> None:
    # 8 rows cannot be dealt out to 16 lanes.
    text = f"""func.func @f(%t: !xegpu.tensor_desc<8x16xf32>) {{
  %x = xegpu.load_nd %t[0, 0] <{{layout = {ROWS}}}> : !xegpu.tensor_desc<8x16xf32> -> vector<8x16xf32>
  return
}}"""
    assert "refuse" in shown(text, "#xegpu.layout")
    assert "refuse" in shown(text, "xegpu.load_nd")


def test_triton_and_nested_layouts_are_shown() -> None:
    encoding = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>"
    text = f"""#blocked = {encoding}
module attributes {{"ttg.num-warps" = 4 : i32, ttg.target = "cuda:80", "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func @f(%x: tensor<32x16xf32, #blocked>) {{
    %y = arith.addf %x, %x : tensor<32x16xf32, #blocked>
    tt.return
  }}
}}"""
    assert "32x16" in shown(text, "#blocked>)")
    assert "32x16" in shown(text, "%y = ")


@pytest.mark.parametrize(
    ("source", "words", "fact"),
    [
        ("a = la.parse('#xegpu.layout<lane_layout = [16]>').layout((16,))", "#xegpu", "needs a shape"),
        ('x = f("d0 = 4@lane")  # "d1"', "d0", "d0 = 4@lane"),
        (f'K = """\n{KERNEL}"""\n', "math.exp", "as its operands give it"),
        (f"K = '''\n{KERNEL}", "#rows}", "`16x16xf32`"),
        ("x = 'MFMA_F32_16x16x16_F16'", "MFMA", "16x16x16"),
    ],
)
def test_strings_of_python_are_read(source: str, words: str, fact: str) -> None:
    found = hover_python(source, source.index(words) + 1, Document)
    assert found is not None
    assert fact in found.markdown


def test_other_strings_and_code_of_python_say_nothing() -> None:
    source = "x = 'hello, world'  # 'd0 = 4@lane'\ny = d0 == 4"
    assert all(hover_python(source, offset, Document) is None for offset in range(len(source) + 1))


def test_what_a_text_says_is_never_markdown() -> None:
    assert code("`x`") == "`` `x` ``"
    assert plain("<script>") == "`<script>`"
    assert plain("# [a](b)").startswith("`")
    # The operand's name, in MLIR any string, is what a title says.
    text = f'"my.op"() {{"<script>**" = {COLUMNS}}} : () -> ()'
    assert "`<script>**`" in shown(text, "my.op")


def test_hints_count_what_a_layout_spreads_over() -> None:
    labels = {KERNEL.count("\n", 0, hint.offset): hint.label for hint in hints(Document(KERNEL), 0, len(KERNEL))}
    load = KERNEL.split("\n").index(next(line for line in KERNEL.split("\n") if "%x = xegpu.load_nd" in line))
    assert labels[load] == "16 lanes x 16 registers"
    assert all(KERNEL[hint.offset] == "\n" for hint in hints(Document(KERNEL), 0, len(KERNEL)))
    part = hints(Document(KERNEL), KERNEL.index("%x = "), KERNEL.index("%y = "))
    assert [hint.label for hint in part] == ["16 lanes x 16 registers"]


def test_an_alias_is_defined_where_it_is() -> None:
    document = Document(KERNEL)
    assert definition(document, KERNEL.index("#rows}")) == (KERNEL.index("#rows"), KERNEL.index("#rows") + 5)
    assert definition(document, KERNEL.index("math.exp")) is None
    parts = "#a = 1\n// -----\n#a = 2\nmy.op #a"
    assert definition(Document(parts), len(parts) - 1) == (parts.rindex("#a = "), parts.rindex("#a = ") + 2)
