"""Pictures of CuTe's algebra, cell by cell, against values worked out from shapes and strides alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree

import pytest

import layoutalg as la
from layoutalg.show.cute_algebra import describe_expression
from layoutalg.viz.colours import hue_of, shade
from layoutalg.viz.panels import NARROW, PALE
from tests.cli.printed import Capture, answer

EXPRESSIONS = [
    "logical_divide((8,8):(1,8), 4:2)",
    "zipped_divide((8,6):(1,8), (2,3))",
    "logical_product((2,2):(2,1), (3,2):(2,1))",
    "composition((6,2):(8,2), (4,3):(3,1))",
    "complement((4,2):(1,8), 32)",
    "coalesce((2,(1,6)):(1,(6,2)))",
    "((2,2),(3,2)):((1,12),(4,2))",
    "logical_divide(16:1, 4:2)",
    "blocked_product((2,2):(2,1), (2,2):(1,2))",
    "zipped_divide((24,24):(1,24), (8,8))",
    "7:3",
    "(4,4):(0,1)",
]
SENTENCE = re.compile(r"(?:([ABR]) = )?(\S+) at (\S+): (\S+?)(?:, (.*))?")


def flat(value: Any) -> list[int]:
    return [one for part in cast("Any", value) for one in flat(part)] if isinstance(value, tuple) else [value]


def value_at(text: str, index: int) -> int:
    """The value of a layout at an index that counts column-major, from its text."""
    shape, stride = (flat(read_tuple(part)) for part in text.split(":"))
    found = 0
    for n, s in zip(shape, stride, strict=True):
        index, digit = divmod(index, n)
        found += digit * s
    return found


def read_tuple(text: str) -> Any:
    """A nested tuple of numbers, read by hand."""
    stack: list[list[Any]] = [[]]
    for token in re.findall(r"\d+|[()]", text):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = tuple(stack.pop())
            stack[-1].append(done)
        else:
            stack[-1].append(int(token))
    return stack[0][0]


def index_of(at: Any, shape: Any) -> int:
    """The column-major number of a coordinate."""
    found, step = 0, 1
    for x, n in zip(flat(at), flat(shape), strict=True):
        found, step = found + x * step, step * n
    return found


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_every_cell_is_the_layouts_value_and_one_value_has_one_colour(expression: str) -> None:
    picture = describe_expression(expression).picture()
    result = str(picture.result)
    colours: dict[int, set[str]] = {}
    seen: dict[str, int] = {}
    count = 1
    for n in flat(read_tuple(result.split(":")[0])):
        count *= n
    values = [value_at(result, index) for index in range(count)]
    for cell in [one for one in picture.scene().cells if not one.sentence.startswith("index ")]:
        found = SENTENCE.fullmatch(cell.sentence)
        assert found is not None, cell.sentence
        name, text = found[1] or "R", found[2]
        value = value_at(text, index_of(read_tuple(found[3]), read_tuple(text.split(":")[0])))
        assert cell.label == found[4] == str(value)
        seen[name] = seen.get(name, 0) + 1
        if name in "AR" and values.count(value) == 1:
            colours.setdefault(value, set()).add(cell.fill)
        if name == "A":
            assert (cell.fill == PALE) == (value not in values and not expression.startswith("complement"))
    assert all(len(fills) == 1 for fills in colours.values())
    assert seen["R"] == count or any("columns drawn" in words.text for words in picture.scene().words)
    assert picture.scene().width <= NARROW + 12
    ElementTree.fromstring(picture.svg())


def test_a_tile_of_b_has_the_colour_of_the_elements_that_it_takes() -> None:
    cells = describe_expression("logical_divide(16:1, 4:2)").picture().scene().cells
    of = {name: {cell.label: cell.fill for cell in cells if cell.sentence.startswith(name)} for name in "ABR"}
    for label, fill in of["B"].items():
        assert of["A"][label] == fill == of["R"][label]


def test_copies_of_a_product_have_the_colours_of_b() -> None:
    """By values: copy c of a block of 4 that has no gaps has the values 4c to 4c + 3, however the result is arranged."""
    for expression in ("blocked_product((2,2):(1,2), (3,4):(1,3))", "raked_product((2,2):(1,2), (3,4):(1,3))"):
        cells = describe_expression(expression).picture().scene().cells
        of = {name: {int(one.label): one.fill for one in cells if one.sentence.startswith(name)} for name in "ABR"}
        for value, fill in of["R"].items():
            copy = value // 4
            assert f"of copy {copy}" in {one.sentence.split(", ")[-1] for one in cells if one.label == str(value)}
            assert fill == shade(hue_of(copy), 0.15 + 0.6 * (value % 4) / 3)
        assert {*of["R"]} == {*range(48)}
        assert {value: of["R"][value] for value in of["A"]} == of["A"]
        assert [fill for _, fill in sorted(of["B"].items())] == [of["R"][4 * copy] for copy in range(12)]
    cells = describe_expression("logical_product(4:1, 3:1)").picture().scene().cells
    of_b = [cell.fill for cell in cells if cell.sentence.startswith("B")]
    of_r = [cell for cell in cells if cell.sentence.startswith("R")]
    for copy in range(3):
        assert of_b[copy] == next(
            cell.fill for cell in of_r if cell.sentence.startswith(f"R = (4,3):(1,4) at (0,{copy})")
        )


def test_what_is_no_layout_or_too_large_has_no_picture() -> None:
    for expression in ("size(4)", "zipped_divide((4096,4096):(1,4096), (8,8))"):
        with pytest.raises(la.LayoutError):
            describe_expression(expression).picture().scene()


def test_the_command_line_draws_it(tmp_path: Path, capsys: Capture) -> None:
    target = tmp_path / "divide.svg"
    assert answer(capsys, "cute", EXPRESSIONS[0], "-o", str(target))["output"] == str(target)
    assert target.read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.parametrize(
    "expression", ["complement((2,2):(1,6), 24)", "complement((4,2):(1,8), 64)", "complement((2,4):(2,16), 1000)"]
)
def test_a_complement_shows_which_copy_has_each_index(expression: str) -> None:
    picture = describe_expression(expression).picture()
    a, r = ([int(cell.label) for cell in panel.cells] for panel in picture.panels()[:2])
    fills = {int(cell.label): cell.fill for cell in picture.panels()[1].cells}
    for cell in picture.panels()[1].cells:
        assert cell.sentence.endswith(f", which moves copy {sorted(r).index(int(cell.label))}")
    cells = picture.panels()[2].cells
    assert [int(cell.label) for cell in cells] == [*range(min(max(a) + max(r) + 1, 96))]
    for cell in cells:
        found = re.fullmatch(r"index (\d+): (\d+) of A \+ (\d+) of R", cell.sentence)
        assert found is not None
        index, one, by = map(int, found.groups())
        assert (index, one + by) == (int(cell.label), index)
        assert one in a
        assert by in r or by > max(r)
        assert fills.get(by, cell.fill) == cell.fill
