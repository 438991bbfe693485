"""A line that was read before is read like the first one: the same operations, places and findings as token by token.

The referee is the reader itself, made to read every line token by token. Texts are the modules of the tests, with each
function twice, and broken ones: a character, a name or a type replaced at random.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator

import pytest
from xdsl.dialects.builtin import ModuleOp

import layoutalg as la
from layoutalg.core.errors import LayoutError
from layoutalg.ir import read_module, write_module
from layoutalg.ir.places import place_of
from layoutalg.ir.reading import parser as reading
from layoutalg.ir.reading.files import read_file_text
from tests.ir.module_files import written_modules

BODY = re.compile(r"(func\.func[^\n]*@)(\w+)([^\n]*\{\n)(.*?)(\n *\}\n)", re.DOTALL)
PARTS = 8
NEVER = re.compile(r"(?!)")


def as_read(text: str) -> list[object]:
    """All that reading gives: operations in generic form with their places, findings, the first error of strict reading."""
    found: list[object] = []
    read = read_file_text(text)
    for part in read.modules:
        found += [(str(place_of(operation)), operation.name) for operation in part.module.walk()]
        found.append(written(lambda part=part: part.module))
    found += [str(finding) for finding in read.findings]
    found.append(written(lambda: read_module(text)))
    return found


def written(read: Callable[[], ModuleOp]) -> str:
    try:
        return write_module(read())
    except LayoutError as problem:
        return str(problem)


def twice(text: str) -> str:
    """Each function a second time, so that its lines come again."""
    return BODY.sub(
        lambda found: "".join(found.groups()) + found[1] + found[2] + "_2" + "".join(found.groups()[2:]), text
    )


def broken(text: str, seed: int) -> str:
    draw = random.Random(seed)
    words = [found.span() for found in re.finditer(r"%?[\w.]+|[^\w\s]|\n", text)]
    for _ in range(draw.randrange(1, 4)):
        (start, end), (first, last) = draw.choice(words), draw.choice(words)
        if end < len(text) and last < len(text):
            text = text[:start] + text[first:last] + text[end:]
    return text


def texts(part: int, seeds: range) -> Iterator[str]:
    for number, module in enumerate(written_modules()):
        if number % PARTS == part:
            text = twice(module.text)
            yield text
            yield from (broken(text, 1000 * number + seed) for seed in seeds)


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 9), marks=pytest.mark.slow)], ids=["one", "many"])
def test_lines_that_come_again_are_read_as_token_by_token(
    part: int, seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list(texts(part, seeds))
    quick = [as_read(text) for text in asked]
    monkeypatch.setattr(reading, "LINE", NEVER)
    for text, found in zip(asked, quick, strict=True):
        assert as_read(text) == found, text


def operations_read_again(text: str) -> int:
    from layoutalg.ir.dialects import known_dialects

    parser = reading.ModuleParser(known_dialects(), text)
    parser.parse_module()
    return len(parser.repeated.origins) - len(parser.repeated.lines)


def test_most_lines_of_an_unrolled_kernel_come_again() -> None:
    text = la.plan_gemm(256, 256, 256, a="f16", b="f16", c="f32", target="pvc").emit("lane")
    assert operations_read_again(text) > 0.5 * sum(1 for _ in read_module(text).walk())


ARGUMENTS = '%a, %b, %c, %d, %x = "test.op"() : () -> (i32, i32, i32, i32, f32)\n'


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("%e = arith.addi %a, %b : i32\n%f = arith.addi %c, %x : i32\n%g = arith.addi %a, %d : i32\n",
         "line 3, column 21: expected MLIR text, but: operand is used with type i32, but has been previously used or "
         "defined with type f32"),
        ("%e = arith.addi %a, %b : i32\n%a = arith.addi %c, %d : i32\n%g = arith.addi %a, %d : i32\n",
         "line 3, column 1: expected MLIR text, but: SSA value %a is already defined"),
        ("%e = arith.addi %a, %b : i32\n%f = arith.addi %c, %y : i32\n%g = arith.addi %a, %d : i32\n",
         "line 5, column 1: expected MLIR text, but: values used but not defined: [%y]"),
    ],
)  # fmt: skip
def test_a_line_whose_values_are_wrong_is_refused_where_it_stands(lines: str, message: str) -> None:
    with pytest.raises(LayoutError) as raised:
        read_module(ARGUMENTS + lines)
    assert message in str(raised.value)


def test_names_in_strings_and_comments_are_no_values() -> None:
    lines = 'gpu.printf "%a %d", %a : i32\ngpu.printf "%b %f", %b : i32\ngpu.printf "%b %f", %c : i32\ngpu.barrier\n'
    _, first, second, third, _ = read_module(ARGUMENTS + lines).body.block.ops
    assert [str(one.properties["format"]) for one in (first, second, third)] == ['"%a %d"', '"%b %f"', '"%b %f"']
    assert [one.operands[0].name_hint for one in (first, second, third)] == ["a", "b", "c"]


def test_values_that_stand_twice_are_taken_in_their_order() -> None:
    pairs = [("%e", "%a", "%a"), ("%f", "%a", "%b"), ("%g", "%b", "%a"), ("%h", "%c", "%c")]
    lines = "".join(f"{made} = arith.subi {lhs}, {rhs} : i32\n" for made, lhs, rhs in pairs)
    *_, e, f, g, h, _ = read_module(ARGUMENTS + lines + "gpu.barrier").body.block.ops
    assert [[value.name_hint for value in one.operands] for one in (e, f, g, h)] == [
        ["a", "a"], ["a", "b"], ["b", "a"], ["c", "c"],
    ]  # fmt: skip


def test_an_operation_that_goes_on_in_the_next_line_is_read_to_its_end() -> None:
    module = read_module("gpu.barrier\ngpu.barrier\ngpu.barrier\n  memfence [#gpu.address_space<global>]\ngpu.barrier")
    assert ["address_spaces" in one.properties for one in module.body.block.ops] == [False, False, True, False]


def test_what_could_be_an_operand_of_the_next_line_is_one() -> None:
    before = "func.func @f(%c: i1) {\nscf.if %c {\nscf.yield\n}\nscf.if %c {\nscf.yield\n"
    text = f"{before}%d = arith.constant 1 : i32\n}}\nreturn\n}}"
    with pytest.raises(LayoutError, match=re.escape("line 7, column 4: expected MLIR text, but: Expected ':'")):
        read_module(text)


def test_an_alias_means_what_it_meant_last() -> None:
    text = "#a = 1 : i32\n%b = arith.constant #a\n#a = 2 : i32\n%c = arith.constant #a\n%d = arith.constant #a\ngpu.barrier"
    (part,) = read_file_text(text).modules
    values = [one.properties.get("value") for one in part.module.walk() if one.name == "arith.constant"]
    assert [str(value) for value in values] == ["1 : i32", "2 : i32", "2 : i32"]


SAME_LINES = """func.func @f(%t: !xegpu.tensor_desc<8x16xf16>, %a: i32) {
  %b = arith.addi %a, %a : i32
  return
}
"""
OLDER = SAME_LINES.replace("@f", "@g").replace(
    "8x16xf16", "8x16xf16, #xegpu.sg_map<wi_layout = [1, 16], wi_data = [1, 1]>"
)


@pytest.mark.parametrize(
    "text",
    [
        OLDER,
        SAME_LINES + OLDER,
        OLDER.replace("return", "my.op to nowhere"),
        SAME_LINES + SAME_LINES.replace("@f", "@h") + OLDER,
    ],
)
def test_an_older_spelling_in_a_signature_is_the_functions(text: str) -> None:
    found = [finding for finding in read_file_text(text).findings if finding.rule == "read.old_spelling"]
    assert [finding.operation for finding in found] == ["func.func"]
