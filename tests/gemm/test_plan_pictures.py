"""Pictures of plans for GPUs, cell by cell: attention against each element's owners, GEMM against its grid."""

from __future__ import annotations

import re
from html import escape
from itertools import product
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import layoutalg as la
from layoutalg.gemm.attention.held import layouts_of
from layoutalg.gemm.counting import counted
from layoutalg.gemm.roofline import roofline
from layoutalg.viz.panels import DARK, MARKED, NARROW, PALE

PLANS: dict[str, Any] = {
    "64": lambda: la.plan_attention(1024, 1024, 64),
    "128, causal": lambda: la.plan_attention(1024, 1024, 128, causal=True),
    "256": lambda: la.plan_attention(512, 512, 256),
    "bf16": lambda: la.plan_attention(64, 64, 32, "bf16"),
    "decode": lambda: la.plan_decode(4096, 128, heads=8, kv_heads=2),
}
BLOCK = re.compile(r"([QKSPVO]): rows (\d+)\.\.(\d+), columns (\d+)\.\.(\d+): registers (\d+) to (\d+) of each lane")


def blocks_of(picture: Any) -> list[Any]:
    """The cells of a walk's frames; those of the flow are boxes and numbers of steps."""
    return [cell for panel in picture.frames() for cell in panel.cells]


@pytest.mark.parametrize("name", PLANS)
def test_a_block_says_the_registers_that_hold_its_elements(name: str) -> None:
    plan = PLANS[name]()
    layouts = layouts_of(
        plan.dpas, rows=plan.row_blocks, keys=plan.keys_per_step // plan.dpas.n, depth=plan.depth_blocks
    )
    seen: set[str] = set()
    for cell in blocks_of(plan.picture()):
        found = BLOCK.fullmatch(cell.sentence)
        assert found is not None, cell.sentence
        top, bottom, left, right, low, high = map(int, found.groups()[1:])
        layout = layouts[found[1]]
        axis = layout.codomain.index("reg")
        held = [
            owner[axis] for at in product(range(top, bottom + 1), range(left, right + 1)) for owner in layout.owners(at)
        ]
        assert (min(held), max(held)) == (low, high)
        assert cell.label == f"r{low}-{high}"
        seen.add(found[1])
    assert seen == set("QKSPVO")


def test_a_block_of_keys_has_one_colour_wherever_it_is_and_what_has_no_keys_has_none() -> None:
    picture = la.plan_attention(1024, 1024, 64).picture()
    colours: dict[int, set[str]] = {}
    for cell in blocks_of(picture):
        name, top, _, left, *_ = BLOCK.fullmatch(cell.sentence).groups()  # pyright: ignore[reportOptionalMemberAccess]
        if name in "QO":
            assert cell.fill == PALE
        else:
            colours.setdefault(int(top if name in "KV" else left) // 16, set()).add(cell.fill)
    assert len({fill for fills in colours.values() for fill in fills}) == len(colours) == 4
    assert all(len(fills) == 1 for fills in colours.values())
    hues = [colours[i].pop() for i in range(4)]
    products = picture.frames()[::2]
    assert [[one.fill for one in panel.swatches] for panel in products] == [[*hues, PALE]] * 2
    assert [one.fill for one in picture.frames()[1].swatches] == hues


@pytest.mark.parametrize("name", PLANS)
def test_a_flow_can_be_read_on_a_phone(name: str) -> None:
    picture = PLANS[name]().picture(title="<script> & \0")
    scene = picture.scene()
    assert scene.width <= NARROW + 12
    assert min(words.size for words in scene.words) * 400 / scene.width >= 7
    assert all(words.x >= 0 and 0.6 * words.size * len(words.text) <= scene.width for words in scene.words)
    ElementTree.fromstring(picture.svg())
    assert "<script>" not in picture.svg() + picture.html()


@pytest.mark.parametrize("name", PLANS)
def test_a_step_of_attention_has_a_title_of_one_line_and_says_what_it_loads(name: str) -> None:
    plan = PLANS[name]()
    picture: Any = plan.picture()
    facts = dict(picture.facts())
    size = (plan.rows + 2 * plan.keys_per_step) * plan.problem.d * 2
    assert facts["a step"].startswith(f"{plan.keys_per_step} keys, {size / 1024:g} KiB")
    assert f"dpas {plan.step.dpas}" in facts["a step costs"]
    assert picture.scene().words[0].text == picture.title


@pytest.mark.parametrize("name", PLANS)
def test_the_arrows_of_a_step_of_attention_have_the_layouts_in_which_operands_arrive(name: str) -> None:
    plan = PLANS[name]()
    layouts = layouts_of(
        plan.dpas, rows=plan.row_blocks, keys=plan.keys_per_step // plan.dpas.n, depth=plan.depth_blocks
    )
    flow, *_ = plan.picture().panels()
    told = " ".join(words.text for words in flow.words)
    assert all(str(layout) in told for layout in layouts.values())
    each = plan.row_blocks * plan.keys_per_step // plan.dpas.n * plan.depth_blocks
    assert told.count(f"{each} dpas") == 2
    assert f"sums of rows: {plan.step.dpas - 2 * each} dpas" in told
    steps = {int(cell.label) for cell in flow.cells if cell.label}
    assert steps == {int(step.title[0]) for step in plan.picture().frames()} == {1, 2, 3}


def test_workgroups_and_blocks_are_named_by_row_and_column_and_say_their_x_and_y() -> None:
    plan = la.plan_gemm(2048, 1024, 512)
    x, y, _ = plan.grid
    tile = plan.tiling.workgroup_tile
    drawn = 0
    for cell in plan.picture().scene().cells:
        found = re.match(
            r"workgroup (\d+),(\d+) \(x = (\d+), y = (\d+)\): rows (\d+)\.\..*, columns (\d+)\.\.", cell.sentence
        )
        if found is None:
            continue
        row, column, at_x, at_y, top, left = map(int, found.groups())
        assert cell.label == f"wg {row},{column}"
        assert (row, column) == (at_y, at_x) == (top // tile.m, left // tile.n)
        assert row < y and column < x  # noqa: PT018
        drawn += 1
    assert drawn


def test_each_panel_of_a_plan_says_what_its_colours_mean() -> None:
    picture: Any = la.plan_gemm(2048, 1024, 512).picture()
    grid, inside, _ = picture.panels()
    _, loads, products, _ = picture.frames()
    for panel in (grid, inside, products):
        assert {one.fill for one in panel.swatches} == {cell.fill for cell in panel.cells} == {MARKED, DARK, PALE}
    named = {(cell.label, cell.fill) for cell in loads.cells if cell.label != "stays"}
    assert len(named) == len({label for label, _ in named}) == len({fill for _, fill in named}) > 2
    first = [cell for cell in grid.cells if cell.fill == MARKED]
    assert len(first) == 2
    assert all("step 0" in cell.sentence for cell in first)
    (legend,) = picture.scene().legends
    assert len(legend.swatches) == sum(len(panel.swatches) for panel in (*picture.panels(), *picture.frames()))


def test_a_table_says_who_computes_what_and_what_a_step_costs() -> None:
    plan = la.plan_gemm(2048, 1024, 512)
    picture: Any = plan.picture()
    facts = dict(picture.facts())
    text = plan.emit("lane")
    loop = re.findall(r"scf\.for %counter.*?scf\.yield", text, re.DOTALL)[-1]
    found = {int(one) for one in re.findall(r"(\d+) loads", facts["a step costs"])}
    assert found == {loop.count("xegpu.load_nd")}
    x, y, _ = plan.grid
    assert facts["who computes C"].startswith(f"{y}x{x} workgroups")
    assert x * plan.tiling.workgroup_tile.n == 1024
    told = [words.text for words in picture.scene().words]
    assert {*facts} <= {*told}
    assert all(f"{name}</th>".replace(" ", "\xa0") in picture.html() for name in facts)


GEMMS: dict[str, Any] = {
    "square": lambda: la.plan_gemm(4096, 4096, 4096),
    "one tile": lambda: la.plan_gemm(64, 64, 64),
    "few rows": lambda: la.plan_gemm(8, 4096, 4096),
    "ragged": lambda: la.plan_gemm(100, 60, 200),
    "odd": lambda: la.plan_gemm(33, 17, 9),
    "huge": lambda: la.plan_gemm(2**20, 2**20, 4096),
    "transposed A": lambda: la.plan_gemm(4096, 4096, 4096, trans_a=True),
    "both transposed": lambda: la.plan_gemm(512, 512, 512, trans_a=True, trans_b=True),
    "roles": lambda: la.plan_gemm(64, 96, 64, trans_a=True, trans_b=True, transpose="roles"),
    "parts of k": lambda: la.plan_gemm(64, 64, 65536),
    "stream-K": lambda: la.plan_gemm(1000, 1000, 4096, stream_k=20),
    "gated": lambda: la.plan_gemm(512, 512, 512, gated="silu"),
    "groups": lambda: la.plan_gemm(512, 512, 512, groups=4),
    "bytes": lambda: la.plan_gemm(512, 512, 512, "s8"),
    "tf32": lambda: la.plan_gemm(512, 512, 512, "tf32"),
    "epilogue": lambda: la.plan_gemm(256, 256, 256, batch=4, bias="column", activation="relu", c="f16", alpha=0.5),
}


@pytest.mark.parametrize("name", GEMMS)
def test_what_limits_a_plan_has_the_part_of_the_time_that_the_roofline_has(name: str) -> None:
    plan = GEMMS[name]()
    step = counted(plan.problem, plan.tiling, plan.llvm)
    line = roofline(plan.problem, plan.tiling, step.total)
    told = dict(plan.picture().facts())["what limits it"]
    assert told.startswith(f"{line.limit}: ")
    assert line.limit_seconds[line.limit] == max(line.limit_seconds.values())
    part = line.limit_seconds[line.limit] / line.seconds
    stated = re.search(r"for ([\d.]+) % of the time|all the time", told)
    assert stated is not None
    assert float(stated[1] or 100) / 100 == pytest.approx(part, abs=0.021)
    waits = line.part_seconds["waiting"] / line.seconds
    if line.limit in ("issue", "matrix"):
        assert f"{step.dpas} dpas and {step.total - step.dpas} others" in told
        assert ("no step waits" in told) == (waits < 0.02)
    assert ("waits for data: " in told) == (waits >= 0.02)


TILE = re.compile(r"([ABC]): rows (\d+)\.\.(\d+), columns (\d+)\.\.(\d+): registers (\d+) to (\d+) of each lane")


@pytest.mark.parametrize("name", GEMMS)
def test_a_block_of_a_product_says_the_registers_that_hold_its_elements(name: str) -> None:
    plan = GEMMS[name]()
    layouts = {str(part.role): part.layout for part in plan.operands()}
    seen: set[str] = set()
    for cell in blocks_of(plan.picture()):
        found = TILE.fullmatch(cell.sentence)
        if found is None:
            continue
        top, bottom, left, right, low, high = map(int, found.groups()[1:])
        layout = layouts[found[1]]
        axis = layout.codomain.index("reg")
        corners = [*product(range(top, bottom + 1), range(left, right + 1))]
        held = {owner[axis] for at in corners for owner in layout.owners(at)}
        assert held == set(range(low, high + 1))
        assert cell.label == f"r{low}-{high}"
        seen.add(found[1])
    assert seen == set("ABC")


@pytest.mark.parametrize("name", [name for name in GEMMS if name not in ("roles", "both transposed")])
def test_a_block_that_is_loaded_says_the_message_of_the_kernel_that_brings_it(name: str) -> None:
    """The kernel has as many loads, of the sizes that the messages' names say."""
    plan = GEMMS[name]()
    brought = {
        (int(found[1]), found[2])
        for cell in blocks_of(plan.picture())
        if (found := re.match(r"message (\d+), (\w+): ", cell.sentence))
    }
    assert {number for number, _ in brought} <= set(range(len(plan.messages)))
    if not plan.problem.gated:
        assert {number for number, _ in brought} == set(range(len(plan.messages)))
    loops = re.findall(r"scf\.for %counter.*?scf\.yield", plan.emit("lane"), re.DOTALL)
    sizes = {
        tuple(map(int, found)) for found in re.findall(r"_(\d+)r(\d+)x\d+c", " ".join(name for _, name in brought))
    }
    if loops and plan.tiling.transpose != "slm" and not plan.problem.edges:
        loaded = re.findall(r"xegpu\.load_nd .*?tensor_desc<(\d+)x(\d+)x", loops[-1])
        assert len(loaded) == len(plan.messages)
        assert {rows for rows, _ in sizes} == {int(rows) for rows, _ in loaded}


@pytest.mark.parametrize("sizes", [(2, 4), (4, 4), (1, 2)])
def test_a_subgroup_prefetches_the_block_that_the_picture_says(sizes: tuple[int, int]) -> None:
    """The kernel runs, and what it asks for first is read from its values."""
    plan = la.plan_gemm(256, 256, 128, tile=(32, 32), k_step=32, subgroups=sizes, registers=256, prefetch="shared")
    drawn = {
        (int(found[4]), found[1]): (int(found[2]), int(found[3]))
        for cell in blocks_of(plan.picture())
        if (
            found := re.match(
                r"([AB]) in memory: rows (\d+).*columns (\d+).*prefetch 0 of subgroup (\d+)$", cell.sentence
            )
        )
    }
    a, b, c = np.zeros((256, 128), np.float16), np.zeros((128, 256), np.float16), np.zeros((256, 256), np.float32)
    names = ["%asks_for_a", "%prefetch_row", "%prefetch_column"]
    outcome = la.read(plan.emit("lane")).run([a, b, c, *plan.arguments], (1, 1, 1), trace=names)
    of_a, row, column = (outcome.trace[name][0][0, :, 0] for name in names)
    asked = {(who, "A" if of_a[who] else "B"): (int(row[who]), int(column[who])) for who in range(plan.tiling.count)}
    assert drawn
    assert drawn == {key: asked[key] for key in drawn}


@pytest.mark.parametrize("name", GEMMS)
def test_a_subgroup_has_the_part_of_the_workgroup_that_the_layout_of_its_kernel_says(name: str) -> None:
    plan = GEMMS[name]()
    whole = plan.tiling.workgroup_tile
    owner = plan.layouts.workgroup["C"].layout((whole.m, whole.n)).owner_map("sg")
    drawn = 0
    for cell in plan.picture().panels()[1].cells:
        found = re.match(r"subgroup (\d+): rows (\d+)\.\.(\d+), columns (\d+)\.\.(\d+) of", cell.sentence)
        if found is None:
            continue
        number, top, bottom, left, right = map(int, found.groups())
        assert cell.label == f"sg {number}"
        assert (owner[top : bottom + 1, left : right + 1] == number).all()
        assert (owner == number).sum() == (bottom + 1 - top) * (right + 1 - left)
        drawn += 1
    assert drawn


@pytest.mark.parametrize("name", ["square", "few rows", "gated", "groups", "odd", "epilogue"])
def test_the_end_of_a_step_says_as_many_stores_as_the_kernel_has(name: str) -> None:
    plan = GEMMS[name]()
    stores = plan.emit("lane").count("xegpu.store_nd")
    *_, last = plan.picture().frames()
    told = "stored by lanes, element by element" if name == "odd" else f"{stores} store{'s' * (stores != 1)}"
    assert last.title.endswith(told)


@pytest.mark.parametrize("name", GEMMS)
def test_the_flow_of_a_step_counts_the_products_of_the_kernel_and_has_the_layouts_on_its_arrows(name: str) -> None:
    plan = GEMMS[name]()
    picture = plan.picture()
    told = " ".join(words.text for words in picture.panels()[2].words)
    assert f"{plan.dpas_per_step} dpas of" in told
    assert all(str(part.layout) in told for part in plan.operands())
    assert all(str(fragment.layout) in told for fragment in plan.fragments)
    numbers = {cell.label for cell in picture.panels()[2].cells if cell.label}
    assert numbers == {step.title[0] for step in picture.frames()}


@pytest.mark.parametrize("name", GEMMS)
def test_a_plan_can_be_read_on_a_phone(name: str) -> None:
    scene = GEMMS[name]().picture().scene()
    assert scene.width <= NARROW
    assert min(words.size for words in scene.words) * 400 / scene.width >= 7
    for words in scene.words:
        wide = 0.602 * words.size * len(words.text)
        left = words.x - {"start": 0, "middle": wide / 2, "end": wide}[words.anchor]
        assert 0 <= left <= left + wide <= scene.width + 1, words.text


def test_on_a_page_each_step_is_opened_by_itself_without_a_script() -> None:
    for plan in (la.plan_gemm(256, 256, 256), la.plan_attention(64, 64, 64)):
        picture: Any = plan.picture(title="a < b")
        for text in (picture.html(), picture._repr_html_()):
            assert "<script" not in text
            assert text.count("<details name=") == len(picture.frames())
            assert text.count(" open") == 1
            assert all(f">{escape(step.title)}</summary>" in text for step in picture.frames())


def heading(panel: Any, cell: Any) -> tuple[str, str]:
    """What stands beside the row of a cell, and over its column, nearest."""
    beside = [
        (words.x, words.text)
        for words in panel.words
        if words.anchor == "end" and abs(words.y - cell.y - 14) < 0.01 and words.x <= cell.x
    ]
    over = [
        (words.y, words.text)
        for words in panel.words
        if words.anchor == "middle"
        and abs(words.x - cell.x - cell.width / 2) < 0.01
        and words.y <= cell.y
        and words.text not in "\N{VERTICAL ELLIPSIS}\N{MIDLINE HORIZONTAL ELLIPSIS}"
    ]
    return max(beside)[1], max(over)[1]


@pytest.mark.parametrize("name", [name for name in GEMMS if name != "groups"])
def test_beside_and_over_every_block_stand_its_rows_and_its_columns(name: str) -> None:
    picture = GEMMS[name]().picture()
    seen = 0
    for panel in (*picture.panels()[:2], *picture.frames()):
        for cell in panel.cells:
            found = re.search(r"rows (\d+\.\.\d+), columns (\d+\.\.\d+)", cell.sentence)
            if found is None or cell.sentence.startswith(("A: ", "B: ")):
                continue
            for said, stated in zip(heading(panel, cell), found.groups(), strict=True):
                assert stated == said or (said.endswith("..") and stated.startswith(said))
            seen += 1
    assert seen > 3


@pytest.mark.parametrize("name", [name for name in GEMMS if name != "groups"])
def test_what_a_workgroup_needs_in_a_step_is_named_by_its_step(name: str) -> None:
    plan = GEMMS[name]()
    whole = plan.tiling.workgroup_tile
    drawn = 0
    for cell in plan.picture().panels()[0].cells:
        found = re.match(
            r"A: rows (\d+)\.\.\d+ for step (\d+), k (\d+)\.\.|B: k (\d+)\.\.\d+ of step (\d+), columns", cell.sentence
        )
        if found is None:
            assert cell.sentence.startswith(("workgroup", "tile"))
            continue
        step, k = (found[2], found[3]) if found[1] else (found[5], found[4])
        assert int(step) * whole.k == int(k) < plan.k
        drawn += 1
    assert drawn


@pytest.mark.parametrize("name", GEMMS)
def test_subgroups_that_share_a_part_of_a_or_b_are_those_of_its_row_or_column(name: str) -> None:
    plan = GEMMS[name]()
    rows, columns = plan.tiling.subgroups
    cells = plan.picture().panels()[1].cells
    numbers = [int(cell.label[3:]) for cell in cells if cell.label.startswith("sg ")]
    shared = [re.search(r"of ([AB]), for subgroups? (.*)", cell.sentence) for cell in cells]
    told = {"A": [], "B": []}
    for found in filter(None, shared):
        told[found[1]].append([int(one) for one in re.findall(r"\d+", found[2])])
    if len(numbers) == rows * columns:  # nothing is left out
        for i, mine in enumerate(told["A"]):
            assert set(mine) <= set(numbers[i * columns : (i + 1) * columns])
        for j, mine in enumerate(told["B"]):
            assert set(mine) <= set(numbers[j::columns])
    assert told["A"]
    assert told["B"]
