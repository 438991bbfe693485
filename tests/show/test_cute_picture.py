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
from layoutalg.viz.panels import NARROW, PALE, Panel
from layoutalg.viz.shapes import Cell
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


def outlined(panel: Panel) -> list[Cell]:
    """The cells inside a rim: left of them an odd number of its upright edges."""
    edges = [one for one in panel.lines if one.over and one.width == 2.2 and one.x == one.to_x]

    def edges_left_of(cell: Cell) -> int:
        middle = cell.y + cell.height / 2
        return sum(one.x < cell.x + cell.width / 2 and one.y < middle < one.to_y for one in edges)

    return [cell for cell in panel.cells if edges_left_of(cell) % 2]


@pytest.mark.parametrize(
    ("expression", "told", "values"),
    [
        ("((2,4),(2,3)):((1,8),(2,16))", r"\(\(1,1\),\(1,2\)\) -> 1\*1 \+ 1\*8 \+ 1\*2 \+ 2\*16 = 43", [{43}]),
        ("(4,8):(8,1)", r"\(1,2\) -> 1\*8 \+ 2\*1 = 10", [{10}]),
        # By hand: rows 2 and 3 of columns 0 to 2 of the 8x6 columns; a block of rows 0, 2, 4, 6 and columns 0 and 4.
        ("zipped_divide((8,6):(1,8), (2,3))", "one tile: column 1 of R", [{2, 3, 10, 11, 18, 19}] * 2),
        ("logical_divide((8,8):(1,8), (4:2,2:4))", "one tile: rests 0 in R", [{0, 2, 4, 6, 32, 34, 36, 38}] * 2),
        ("logical_divide(16:1, 4:2)", "one tile: column 1 of R", [{1, 3, 5, 7}, set(), {1, 3, 5, 7}]),
        (
            "composition((6,2):(8,2), (4,3):(3,1))",
            r"B at \(1,1\) is 4, A at index 4 is 32, so R at .* is 32",
            [{32}, {4}, {32}],
        ),
        ("logical_product((2,2):(1,2), 6:1)", r"A's values \+ 4", [set(), {1}, {4, 5, 6, 7}]),
        ("blocked_product((2,2):(1,2), (2,3):(3,1))", r"A's values \+ 12", [set(), {3}, {12, 13, 14, 15}]),
        ("complement((2,2):(1,6), 24)", "2 of R, and the copy of A that it moves", [set(), {2}, {2, 3, 8, 9}]),
        ("right_inverse((4,8):(8,1))", r"A at \(0,1\), its index 4, is 1, so R at 1 is 4", [{1}, {4}]),
        ("coalesce((2,(1,6)):(1,(6,2)))", "R at 2 -> 2.1 = 2, and where A has 2", [{2}, {2}]),
        (
            "composition(Swizzle<2,0,3>, (4,8):(8,1))",
            r"A at \(1,1\) has offset 9, and the swizzle makes it 8",
            [set(), {9}, {8}],
        ),
    ],
)
def test_what_is_outlined_is_what_is_said(expression: str, told: str, values: list[set[int]]) -> None:
    picture = describe_expression(expression).picture()
    assert re.search("outlined: .*" + told, " ".join(picture.subtitle().split("\n")))
    panels = picture.panels()
    found = [{int(cell.label) for cell in outlined(panel)} for panel in panels]
    assert found == values


def test_lines_beside_cells_say_what_a_step_adds() -> None:
    """From the cell at one end of a line to the cell at its other end, values differ by the number beside the line."""
    for expression in ("((2,4),(2,3)):((1,8),(2,16))", "zipped_divide((8,6):(1,8), (2,3))", "(4,3):(5,-1)"):
        for panel in describe_expression(expression).picture().panels():
            at = {(round(c.x + c.width / 2, 1), round(c.y + c.height / 2, 1)): int(c.label) for c in panel.cells}
            xs, ys = sorted({x for x, _ in at}), sorted({y for _, y in at})
            steps = {float(one.text): (one.x, one.y) for one in panel.words if re.fullmatch(r"[+-]\d+", one.text)}
            long = [one for one in panel.lines if not one.over and one.width == 1.2]
            long = [one for one in long if abs(one.to_x - one.x) + abs(one.to_y - one.y) > 7]
            assert len(long) == len(steps) > 1
            for line in long:
                across = line.y == line.to_y
                first, last = (
                    ((round(x, 1), ys[0]) if across else (xs[0], round(y, 1)))
                    for x, y in ((line.x, line.y), (line.to_x, line.to_y))
                )
                ends = (line.to_x + 5, line.y + 4) if across else (line.x - 5, (line.y + line.to_y) / 2 + 4)
                nearest = min(steps, key=lambda step: abs(steps[step][0] - ends[0]) + abs(steps[step][1] - ends[1]))
                assert at[last] - at[first] == nearest


@pytest.mark.parametrize("swizzle", ["Swizzle<3,2,3>", "Swizzle<2,0,3>", "Swizzle<1,4,3>"])
def test_the_bits_of_a_swizzle(swizzle: str) -> None:
    """By CuTe's definition: yyy are B bits from M + S on, zzz B bits from M on; yyy is XORed into zzz."""
    b, m, s = map(int, re.findall(r"\d+", swizzle))
    panel = describe_expression(f"composition({swizzle}, (32,64):(64,1))").picture().panels()[0]
    across = len({cell.x for cell in panel.cells})
    rows = [[cell.label for cell in panel.cells[i : i + across]][::-1] for i in range(0, 4 * across, across)]
    letters, offset, xored, result = rows
    assert [i for i, one in enumerate(letters) if one == "y"] == [*range(m + s, m + s + b)]
    assert [i for i, one in enumerate(letters) if one == "z"] == [*range(m, m + b)]
    assert xored[m : m + b] == offset[m + s : m + s + b]
    for i in range(across):
        assert int(result[i]) == int(offset[i]) ^ int(xored[i] or 0)
    assert f"bits {m + s}-{m + s + b - 1} (yyy) XOR into bits {m}-{m + b - 1} (zzz)" in panel.title or b == 1
