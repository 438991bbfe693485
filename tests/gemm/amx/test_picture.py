"""Pictures of plans for AMX: what is drawn is what the layouts, the packing and the emitted module say."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import layoutalg as la
from layoutalg.gemm.amx import Blocking
from layoutalg.gemm.amx.tiling import BLOCKINGS
from layoutalg.gemm.amx.walking import walk
from layoutalg.viz.shapes import Cell, Words

PROBLEMS: dict[str, dict[str, Any]] = {
    "512 bf16": {"m": 512, "n": 512, "k": 512, "blocking": (2, 2), "blocks": (256, 256, 512)},
    "edges": {"m": 100, "n": 60, "k": 200, "blocking": (2, 2), "blocks": (64, 32, 64)},
    "bytes, transposed": {"m": 100, "n": 60, "k": 201, "a": "s8", "b": "u8", "trans_a": True, "trans_b": True},
    "small": {"m": 13, "n": 10, "k": 33, "a": "u8"},
    "one": {"m": 1, "n": 1, "k": 1},
    "wide": {"m": 64, "n": 96, "k": 64, "a": "f16", "blocking": (1, 6)},
    "rows first": {"m": 4096, "n": 4096, "k": 4096, "blocking": (1, 4), "blocks": (256, 512, 1024), "order": "rows"},
}
SENTENCE = re.compile(r"([ABC])\((\d+), (\d+)\): tmm(\d), row (\d+), bytes? (\d+)")


def plan_of(name: str) -> Any:
    return la.plan_amx(**PROBLEMS[name])


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("operand", ["A", "B", "C"])
def test_a_cell_of_a_register_is_the_element_that_the_instruction_takes_there(name: str, operand: str) -> None:
    plan = plan_of(name)
    height, width = (strips[0].heights[0] for strips in plan.strips)
    product = plan.tile_product(height, width, min(plan.problem.depth, plan.problem.k_padded))
    layout = {"A": product.lhs, "B": product.rhs, "C": product.acc}[operand]
    seen = 0
    for cell in plan.tile_pictures()[operand].scene().cells:
        found = SENTENCE.fullmatch(re.sub(r" to \d+$", "", cell.sentence))
        if found is not None:
            row, column, _, at, byte = map(int, found.groups()[1:])
            assert found[1] == operand
            assert cell.label == f"{row},{column}"
            assert [place[1:] for place in layout.owners((row, column))] == [(at, byte)]
            seen += 1
    assert seen


def test_words_of_two_or_four_elements_are_never_drawn_apart() -> None:
    for name, v in (("512 bf16", 2), ("bytes, transposed", 4), ("rows first", 2)):
        plan = plan_of(name)
        for operand, k_at in (("A", 1), ("B", 0)):
            cells = plan.tile_pictures()[operand].scene().cells
            memory = [cell for cell in cells if "memory" in cell.sentence]
            for part in (memory, [cell for cell in cells if cell not in memory]):
                drawn = {int(cell.label.split(",")[k_at]) for cell in part}
                assert drawn == {word * v + i for word in {k // v for k in drawn} for i in range(v)}
                assert len(drawn) < plan.problem.depth


def test_what_is_multiplied_has_one_colour_in_a_and_b() -> None:
    plan = plan_of("512 bf16")
    colours = {
        operand: {int(cell.label.split(",")[k_at]): cell.fill for cell in plan.tile_pictures()[operand].scene().cells}
        for operand, k_at in (("A", 1), ("B", 0))
    }
    assert colours["A"].keys() == colours["B"].keys()
    assert colours["A"] == colours["B"]
    assert len({colours["A"][k] for k in range(8)}) == 8


def test_the_padding_of_k_is_drawn_as_zeros() -> None:
    plan = la.plan_amx(16, 16, 3, "s8")
    labels = [cell.label for cell in plan.tile_pictures()["B"].scene().cells if cell.sentence.startswith("beyond k")]
    assert labels == ["0"] * 3  # one byte of each of the words 0, 1 and 15


@pytest.mark.parametrize("blocking", BLOCKINGS, ids=str)
def test_a_step_loads_and_multiplies_in_the_order_of_the_emitted_module(blocking: Blocking) -> None:
    shape = (16 * blocking.rows, 16 * blocking.columns, 64)
    text = la.plan_amx(*shape, blocking=(blocking.rows, blocking.columns)).emit()
    loop = text[text.index("scf.for") : text.index("scf.yield")]
    sums = re.findall(r"(%before\w*) = ", loop)
    emitted: list[str] = []
    names: dict[str, str] = {}
    for line in loop.splitlines():
        if found := re.match(r"\s*(%tile_([ab])\w*) = x86.amx.tile_load", line):
            kind = found[2].upper()
            names[found[1]] = f"{kind}{sum(one.startswith(kind) for one in names.values())}"
            emitted.append(f"load {names[found[1]]}")
        elif found := re.match(r"\s*%\w+ = x86.amx.tile_mulf (%\w+), (%\w+), (%\w+)", line):
            row, column = divmod(sums.index(found[3]), blocking.columns)
            emitted.append(f"C{row}{column} += {names[found[1]]} * {names[found[2]]}")
    assert [str(step).split(" into")[0] for step in walk(blocking).steps] == emitted


@pytest.mark.parametrize("blocking", BLOCKINGS, ids=str)
def test_a_walk_reads_what_a_register_holds(blocking: Blocking) -> None:
    steps = walk(blocking)
    holds = {number: name for name, number in steps.registers.items() if name.startswith("C")}
    multiplied: set[str] = set()
    for step in steps.steps:
        if step.factors is None:
            assert not holds.get(step.register, "").startswith("C")
            holds[step.register] = step.tile
        else:
            assert all(holds[steps.registers[factor]] == factor for factor in step.factors)
            assert holds[step.register] == step.tile == f"C{step.factors[0][1:]}{step.factors[1][1:]}"
            multiplied.add(step.tile)
    assert len(multiplied) == blocking.products_per_step
    assert sum(step.is_load for step in steps.steps) == blocking.loads_per_step
    assert len(set(steps.registers.values())) == blocking.registers <= 8


@pytest.mark.parametrize("order", ["columns", "rows"])
def test_register_blocks_are_numbered_in_the_order_of_the_loops(order: str) -> None:
    plan = la.plan_amx(80, 72, 64, blocking=(2, 2), blocks=(96, 96, 64), order=order)
    rows, columns = (range(len(strips)) for strips in plan.strips)
    wanted: list[tuple[int, int]] = []
    for strip in (plan.strips[0][i] for i in rows):  # as the module calls its functions: pairs of strips
        for other in (plan.strips[1][j] for j in columns):
            down = [strip.first + n * strip.size for n in range(strip.count)]
            across = [other.first + n * other.size for n in range(other.count)]
            wanted += (
                [(i, j) for j in across for i in down] if order == "columns" else [(i, j) for i in down for j in across]
            )
    found: dict[int, tuple[int, int]] = {}
    for cell in plan.picture().scene().cells:
        if match := re.match(r"register block (\d+): rows (\d+)\.\..* columns (\d+)\.\.", cell.sentence):
            assert cell.label == match[1]
            found[int(match[1])] = (int(match[2]), int(match[3]))
    assert [found[number] for number in range(len(found))] == wanted


def test_operands_say_in_which_register_row_and_byte_an_element_is() -> None:
    plan = plan_of("edges")
    a, b, c = (part.layout for part in plan.operands())
    steps = walk(plan.tiling.blocking)
    product = plan.product
    for element in np.ndindex(32, 32):
        row, column = divmod(element[0], 16)
        (place,) = product.lhs.owners((column, element[1]))
        assert a.owners(element) == [(steps.registers[f"A{row}"], *place[1:])]
        (place,) = product.rhs.owners((element[0], element[1] % 16))
        assert b.owners(element) == [(steps.registers[f"B{element[1] // 16}"], *place[1:])]
        (place,) = product.acc.owners((element[0] % 16, element[1] % 16))
        assert c.owners(element) == [(steps.registers[f"C{row}{element[1] // 16}"], *place[1:])]


@pytest.mark.parametrize("name", PROBLEMS)
def test_pictures_are_xml_and_nothing_overlaps_or_leaves_the_picture(name: str) -> None:
    plan = plan_of(name)
    for picture in (plan.picture(title="<script> & \0"), *plan.tile_pictures().values()):
        ElementTree.fromstring(picture.svg())
        assert "<script>" not in picture.svg() + picture.html()
        scene = picture.scene()
        boxes = [
            *map(_box_of_words, scene.words),
            *((one.x, one.y, one.x + one.width, one.y + one.height) for one in scene.cells),
        ]
        for left, top, right, bottom in boxes:
            assert left >= 0
            assert top >= 0
            assert right <= scene.width + 1
            assert bottom <= scene.height
        named = [one for one in scene.words if one.text.strip("⋯⋮.")]
        texts = [_box_of_words(one) for one in named]
        for i, one in enumerate(texts):
            cells = () if named[i].over else map(_box_of_cell, scene.cells)
            for other in (*texts[:i], *cells):
                assert not _overlap(one, other), (named[i].text, one, other)
        for cell in scene.cells:
            assert 6.7 * len(cell.label) <= cell.width


def _box_of_words(words: Words) -> tuple[float, float, float, float]:
    """The box of a text: 0.6 of its size for each character, as in the fonts that the pictures name."""
    width = 0.6 * words.size * len(words.text)
    left = words.x - {"start": 0.0, "middle": width / 2, "end": width}[words.anchor]
    return left, words.y - 0.7 * words.size, left + width, words.y


def _box_of_cell(cell: Cell) -> tuple[float, float, float, float]:
    return cell.x, cell.y, cell.x + cell.width, cell.y + cell.height


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] - 0.5 and other[0] < one[2] - 0.5 and one[1] < other[3] - 0.5 and other[1] < one[3] - 0.5


@pytest.mark.parametrize("blocking", [(2, 2), (1, 6), (6, 1), (1, 1)])
def test_a_plan_fits_on_a_page(blocking: tuple[int, int]) -> None:
    for sizes in ((512, 512, 512), (4096, 4096, 4096), (13, 10, 33)):
        scene = la.plan_amx(*sizes, blocking=blocking).picture().scene()
        assert scene.width <= 1000
        assert all(cell.x + cell.width <= scene.width and cell.y + cell.height <= scene.height for cell in scene.cells)
        assert all(one.x >= 0 and one.y <= scene.height for one in scene.words)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_table_counts_the_blocks_that_are_drawn_and_each_panel_names_its_colours(name: str) -> None:
    plan = plan_of(name)
    picture = plan.picture()
    _, caches, *_, step = picture.panels()
    blocks = {cell.sentence for cell in caches.cells if cell.sentence.startswith("cache block")}
    rows, columns = plan.cache_blocks
    facts = dict(picture.facts())
    assert facts["C in caches"].startswith(f"{rows * columns} block")
    assert len(blocks) == rows * columns or rows > 7 or columns > 7
    assert {cell.fill for cell in step.cells} <= {one.fill for one in step.swatches}
    assert {cell.fill for cell in caches.cells} <= {one.fill for one in caches.swatches}


@pytest.mark.parametrize(
    ("operand", "types", "word", "told"),
    [
        ("A", ("bf16",), {"1,2", "1,3"}, "(1, 2) and (1, 3)"),
        ("B", ("bf16",), {"2,1", "3,1"}, "(2, 1) and (3, 1)"),
        ("C", ("bf16",), {"1,1"}, "(1, 1)"),
        ("A", ("s8",), {"1,4", "1,5", "1,6", "1,7"}, "(1, 4) to (1, 7)"),
        ("B", ("s8",), {"4,1", "5,1", "6,1", "7,1"}, "(4, 1) to (7, 1)"),
    ],
)
def test_the_elements_of_one_word_are_outlined_in_memory_and_in_the_register(
    operand: str, types: tuple[str, ...], word: set[str], told: str
) -> None:
    """By hand: the second word of row 1 of A, and of B the word of the same k in row 1 of its register, column 1."""
    scene = la.plan_amx(64, 64, 128, *types).tile_pictures()[operand].scene()
    cased = [line for line in scene.lines if line.width == 4.4]
    around = 2 * len(word) + 2
    sides = [cased[:around], cased[around:]]
    assert len(cased) == 2 * around
    for one in sides:
        left, top = min(line.x for line in one), min(line.y for line in one)
        right, bottom = max(line.to_x for line in one), max(line.to_y for line in one)
        assert {c.label for c in scene.cells if left <= c.x < right and top <= c.y < bottom} == word
    assert f"outlined: {told}: bytes 4..7 of row 1" in [one.text for one in scene.words]


LOOPS: dict[str, Any] = {
    "columns first": lambda: la.plan_amx(112, 72, 1024, blocking=(2, 2), blocks=(96, 96, 512), order="columns"),
    "rows first": lambda: la.plan_amx(112, 72, 1024, blocking=(2, 2), blocks=(96, 96, 512), order="rows"),
    "a scratch": lambda: la.plan_amx(64, 64, 1024, blocking=(2, 2), blocks=(32, 64, 512), beta=1.0, pack_a=True),
    "one block": lambda: la.plan_amx(16, 16, 64, blocking=(1, 1)),
}


@pytest.mark.parametrize("name", LOOPS)
def test_the_loops_are_those_of_the_module(name: str) -> None:
    """Their order, how often they go round, and what is inside, counted in the text."""
    plan = LOOPS[name]()
    text = plan.emit()
    told = [cell.sentence for cell in plan.picture().panels()[0].cells]
    block = text.partition("func.func @gemm_block")[2].partition("return")[0]
    parts = {tuple(found) for found in re.findall(r"%c(\d+), %c(\d+), %row", block)}
    first = re.search(r"func.func private @gemm_tiles_.*?\n  }", text, re.DOTALL)
    assert first is not None
    inner = re.search(r"scf.for %k = .*? step %c(\d+) iter_args.*?scf.yield", first[0], re.DOTALL)
    assert inner is not None
    loads, products = (inner[0].count(f"x86.amx.{what}") for what in ("tile_load", "tile_mul"))
    assert any(line == f"then: {first[0].count('tile_store')} tile store{'s' * (products > 1)}" for line in told)
    assert any(f": {loads} tile load" in line and f", {products} product" in line for line in told)
    assert any(f", {inner[1]} of k each" in line for line in told)
    low, high = min(parts, key=lambda pair: int(pair[0]))
    count = -(-(int(high) - int(low)) // int(inner[1]))
    assert any(f"for each of {count} step" in line for line in told)
    assert len(parts) == max([int(line.split()[3]) for line in told if "parts of k" in line], default=1)
    whole = text.rpartition("func.func @gemm(")[2]
    assert [line.split(":")[0] for line in told if line.startswith("pack")] == [
        f"pack {found.upper()}" for found in re.findall(r"call @gemm_pack_(\w)", whole)
    ]
    sides = [int(found) for found in re.findall(r"scf.for %[ij] = %c0 to %c(\d+) ", whole)]
    assert np.prod(sides) == max([int(line.split()[3]) for line in told if "cache blocks" in line], default=1)
    down = "scf.parallel (%j, %i)" in first[0]
    assert down == ("scf.for %j" in whole.partition("scf.for %i")[0])
    assert all(("down a column" in line) == down for line in told if " first: " in line)
    assert any("scratch" in line for line in told) == ("@gemm_finish" in text)
