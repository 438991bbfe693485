"""The interactive picture in a real browser: what the pointer is told, what the buttons do, and that nothing is loaded.

Owners are compared with `fragment_map`, which the compilers' tables check.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.image import imread

import layoutalg as la
from layoutalg.core.notation import Distributed
from layoutalg.memory import bank_picture
from layoutalg.show.cute_algebra import describe_expression
from layoutalg.viz.colours import DARK_PALE, PALE
from layoutalg.viz.picture import Picture
from tests.oracle.toolchains import opened_chromium

PAGE = "#xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16], lane_layout = [1, 16], lane_data = [1, 1]>"
SHARED = f"#xegpu.slice<{PAGE.replace('[2, 4]', '[2, 2]')}, dims = [0]>"
LAYOUTS = {
    "xegpu": la.parse(PAGE).layout((32, 64)),
    "slice": la.parse(SHARED).layout((32,)),
    "dpas": la.dpas("f16", "f16", "f32").b,
    "mfma": la.mma("MFMA_F32_16x16x16_F16").acc,
    "wmma": la.mma("WMMA_F32_16x16x16_F16").lhs,
    "nested": la.to_nested(la.mma("MFMA_F32_16x16x16_F16").rhs).layout((16, 16)),
    "triton": la.to_linear_layout(la.dpas("f16", "f16", "f32").c).layout(),
}


class Browser:
    """One page, and everything that it complained about or asked for."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def open(self, text: str, path: Path) -> None:
        path.write_text(text, encoding="utf-8")
        self.complaints.clear()
        self.requests.clear()
        self.page.goto(path.as_uri())

    def hover(self, cell: int) -> str:
        self.page.locator(f".view:not([hidden]) rect[data-cell='{cell}']").hover(force=True)
        return self.page.locator(".info").inner_text()

    def same(self) -> list[int]:
        """The cells that are marked."""
        return self.page.eval_on_selector_all(
            ".view:not([hidden]) rect[data-same]", "all => all.map(one => Number(one.dataset.cell))"
        )

    def fills(self) -> list[str]:
        return self.page.eval_on_selector_all(
            ".view:not([hidden]) .cells rect", "all => all.map(one => one.getAttribute('fill'))"
        )

    def check_quiet(self) -> None:
        assert self.complaints == []
        assert all(url.startswith(("file:", "data:")) for url in self.requests), self.requests
        assert len([url for url in self.requests if url.startswith("file:")]) == 1


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    yield from opened_chromium()


@pytest.fixture
def browser(chromium: Any) -> Iterator[Browser]:
    page = chromium.new_page(viewport={"width": 1400, "height": 1000})
    yield Browser(page)
    page.close()


def said_numbers(text: str) -> tuple[tuple[int, ...], dict[str, int]]:
    """The element and the owner that a sentence names."""
    found = re.match(r"element \(([\d, ]*)\): (.*?)(;|$)", text)
    assert found is not None, text
    element = tuple(int(n) for n in found[1].split(", ") if n)
    return element, {name: int(value) for name, value in (part.split(" ") for part in found[2].split(", "))}


def test_the_hardware_view_marks_what_a_lane_has_and_no_replica_of_it(browser: Browser, tmp_path: Path) -> None:
    layout = la.Layout.parse("d0 = 4@reg 2@lane:4 | replicas 4@lane")
    picture = replace(layout.picture(direction="hardware"), paged=False)
    browser.open(picture.html(), tmp_path / "picture.html")
    lanes = [*picture.scene().frames[0].grid.owner["lane"].cells]
    for cell in (0, 4, 13, 31):
        text = browser.hover(cell)
        assert f"lane {lanes[cell]}," in text
        assert browser.same() == [i for i, lane in enumerate(lanes) if lane == lanes[cell]]
    browser.check_quiet()


def check_moved_script(browser: Browser, folder: Path, first: str, second: str, part: str, count: int) -> None:
    """Put the second picture's script behind both; only the second has the parts that its script adds."""
    script = re.search(r"<script.*</script>", second, re.DOTALL)
    assert script is not None
    bare = [re.sub(r"<script.*</script>", "", one, flags=re.DOTALL) for one in (first, second)]
    body = f"<section>{bare[0]}</section><section>{bare[1]}</section>{script[0]}"
    browser.open(f"<!DOCTYPE html><meta charset=utf-8><body>{body}</body>", folder / "moved.html")
    sections = browser.page.locator("section")
    assert sections.nth(0).locator("img:visible").count() == 1
    assert sections.nth(1).locator(part).count() == count
    browser.check_quiet()


def test_a_script_that_a_viewer_moved_finds_its_own_picture(browser: Browser, tmp_path: Path) -> None:
    first, second = LAYOUTS["dpas"]._repr_html_(), LAYOUTS["mfma"]._repr_html_()
    assert first is not None
    assert second is not None
    check_moved_script(browser, tmp_path, first, second, "button", 6)


def test_a_page_that_was_saved_while_open_works_again(browser: Browser, tmp_path: Path) -> None:
    browser.open(LAYOUTS["dpas"].picture().html(), tmp_path / "picture.html")
    browser.page.locator("button[data-colour=lane]").click()
    browser.hover(3)
    saved = browser.page.content()
    browser.open(saved, tmp_path / "saved.html")
    assert browser.page.locator("button").count() == 6
    assert browser.hover(5).startswith("element (")
    browser.check_quiet()


@pytest.mark.parametrize("name", LAYOUTS)
def test_hovering_tells_the_owner_and_marks_what_the_lane_holds(name: str, browser: Browser, tmp_path: Path) -> None:
    layout = LAYOUTS[name]
    picture = replace(layout.picture(), paged=False)
    browser.open(picture.html(), tmp_path / "picture.html")
    *blocks, grid = [frame.grid for frame in picture.scene().frames]
    first = sum(one.shape[0] * one.shape[1] for one in blocks)  # cells that are blocks of subgroups
    for cell in range(first):
        assert re.fullmatch(rf"elements \(.*\) to \(.*\): subgroup {cell}", browser.hover(cell))
        assert browser.same() == [cell]
    count = grid.shape[0] * grid.shape[1]
    held = layout.fragment_map()
    elements: dict[tuple[int, ...], int] = {}
    sample = sorted({0, 1, count // 3, count // 2, count - 1, *range(0, count, max(count // 9, 1))})
    for cell in range(count):
        coordinates = [[*plane.cells][cell] for plane in grid.element.values()]
        elements[tuple(int(c) for c in coordinates)] = cell
    for cell in sample:
        text = browser.hover(first + cell)
        element, owner = said_numbers(text)
        assert tuple(held[owner["subgroup"], owner["lane"], owner["register"]]) == element
        assert elements[element] == cell
        mine = {tuple(c) for c in held[owner["subgroup"], owner["lane"]].tolist()}
        assert set(browser.same()) == {first + elements[e] for e in mine if e in elements}
        owners = layout.owners(element)
        if len(owners) > 1:
            assert "also in " in text
            told: set[tuple[int, int]] = set()
            for other in text.split("also in ")[1].split(", "):
                sg, lane = (re.search(rf"{word} (\d+)", other) for word in ("subgroup", "lane"))
                told.add((int(sg[1]) if sg else owner["subgroup"], int(lane[1]) if lane else owner["lane"]))
            assert told | {(owner["subgroup"], owner["lane"])} == {(sg, lane) for sg, lane, _ in owners}
    browser.check_quiet()


def test_the_buttons_switch_colouring_and_direction(browser: Browser, tmp_path: Path) -> None:
    layout = LAYOUTS["xegpu"]
    picture = replace(layout.picture(), paged=False)
    browser.open(picture.html(), tmp_path / "picture.html")
    page = browser.page
    assert page.locator("button[data-colour]").all_inner_texts() == ["subgroup", "lane", "register", "tile"]
    for direction in ("tensor", "hardware", "tensor"):
        page.locator(f"button[data-direction={direction}]").click()
        assert page.locator(".view:not([hidden])").get_attribute("data-direction") == direction
        seen: set[tuple[str, ...]] = set()
        for by in ("lane", "register", "tile", "subgroup"):
            page.locator(f"button[data-colour={by}]").click()
            assert page.locator("button[data-colour][aria-pressed=true]").all_inner_texts() == [by]
            fills = browser.fills()
            assert fills == [cell.fill for cell in picture.scene(direction, by).cells]
            seen.add(tuple(fills))
            assert page.locator(".view:not([hidden]) .legend:not([display])").get_attribute("data-by") == by
            inks = page.eval_on_selector_all(
                ".view:not([hidden]) .labels text", "all => all.map(one => one.getAttribute('fill') || '#000000')"
            )
            assert inks == [cell.ink for cell in picture.scene(direction, by).cells]
        assert len(seen) == 4
    browser.check_quiet()


def test_the_hardware_view_says_what_each_register_holds(browser: Browser, tmp_path: Path) -> None:
    layout = LAYOUTS["mfma"]
    picture = replace(layout.picture(), paged=False)
    browser.open(picture.html(), tmp_path / "picture.html")
    browser.page.locator("button[data-direction=hardware]").click()
    held = layout.fragment_map()
    grid = picture.scene("hardware").frames[0].grid
    for cell in range(0, grid.shape[0] * grid.shape[1], 7):
        element, owner = said_numbers(browser.hover(cell))
        assert owner["lane"] == [*grid.owner["lane"].cells][cell]
        assert owner["register"] == [*grid.owner["reg"].cells][cell]
        assert tuple(held[0, owner["lane"], owner["register"]]) == element
    browser.check_quiet()


def test_a_product_marks_the_lane_in_all_three_operands(browser: Browser, tmp_path: Path) -> None:
    product = la.mma("MFMA_F32_16x16x16_F16")
    browser.open(product.picture().html(), tmp_path / "picture.html")
    sizes = [256, 256, 256]
    _, owner = said_numbers(browser.hover(sizes[0] + 5))
    same = browser.same()
    for operand, layout in enumerate((product.lhs, product.rhs, product.acc)):
        lanes = layout.owner_map("lane").reshape(-1)
        mine = [cell - sum(sizes[:operand]) for cell in same if 0 <= cell - sum(sizes[:operand]) < 256]
        assert mine == [i for i, lane in enumerate(lanes) if lane == owner["lane"]]
    browser.check_quiet()


def test_a_click_keeps_the_lane_until_the_next(browser: Browser, tmp_path: Path) -> None:
    browser.open(LAYOUTS["dpas"].picture().html(), tmp_path / "picture.html")
    browser.page.locator(".view:not([hidden]) rect[data-cell='5']").click(force=True)
    kept = browser.page.locator(".info").inner_text()
    assert browser.hover(40) == kept
    browser.page.locator(".view:not([hidden]) rect[data-cell='5']").click(force=True)
    assert browser.hover(40) != kept
    browser.check_quiet()


@pytest.mark.parametrize("form", ["page", "notebook"])
def test_a_name_with_a_script_in_it_shows_as_text(form: str, browser: Browser, tmp_path: Path) -> None:
    name = "<script>window.hit = 1</script><img src=x onerror='window.hit = 2'> \"' & </svg>"
    picture = LAYOUTS["dpas"].picture(title=name)
    text = picture.html() if form == "page" else f"<!DOCTYPE html><meta charset=utf-8>{picture._repr_html_()}"
    browser.open(text, tmp_path / "picture.html")
    assert browser.page.evaluate("window.hit") is None
    shown = " ".join(browser.page.locator(".view:not([hidden]) .words text").all_text_contents())
    assert "<script>window.hit = 1</script><img src=x" in shown
    browser.hover(3)
    browser.check_quiet()


CONTRAST = """svg => {
  const light = (text) => {
    const [r, g, b] = text.match(/\\d+/g).map(Number).map((c) => c / 255)
      .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const fill = (one) => getComputedStyle(one).fill;
  const cells = Array.from(svg.querySelectorAll("rect:not(.paper)")).reverse();
  const box = (one) => one.getBoundingClientRect();
  return Array.from(svg.querySelectorAll("text")).filter((one) => box(one).width > 0).map((text) => {
    const at = box(text), x = at.x + at.width / 2, y = at.y + at.height / 2;
    const under = cells.find((one) => { const b = box(one); return b.x < x && x < b.right && b.y < y && y < b.bottom; });
    const [a, b] = [light(fill(text)), light(fill(under || svg.querySelector(".paper")))];
    return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), text.textContent];
  });
}"""


PICTURES: dict[str, Callable[[], Picture]] = {
    "xegpu": LAYOUTS["xegpu"].picture,
    "slice": LAYOUTS["slice"].picture,
    "registers": lambda: LAYOUTS["mfma"].picture(direction="hardware"),
    "mfma product": lambda: la.mma("MFMA_F32_16x16x16_F16").picture(),
    "amx product": lambda: la.TileProduct(16, 16, 64, "i8", "i8").picture(),
    "swizzled": lambda: la.parse("Sw<3,2,3> o 0 o (8,32):(32,1)").picture(),
    "difference": lambda: la.same("d0 = 8@reg, d1 = 8@lane", "d0 = 8@lane, d1 = 8@reg").picture(),
    "banks": lambda: bank_picture("d0 = 8@reg, d1 = 32@lane", memory=la.Layout.parse("d0 = 8@addr, d1 = 32@addr:8")),
    "algebra": lambda: describe_expression("zipped_divide((8,6):(1,8), (2,3))").picture(),
    "gemm": lambda: la.plan_gemm(256, 256, 64).picture(),
    "gemm with prefetches": lambda: la.plan_gemm(1024, 1024, 1024).picture(),
    "gemm of another chip": lambda: la.plan_gemm(512, 512, 512, "s8", target="bmg").picture(),
    "decode": lambda: la.plan_decode(4096, 128, heads=8, kv_heads=2).picture(),
    "amx gemm": lambda: la.plan_amx(64, 64, 128).picture(),
    "amx tile": lambda: la.plan_amx(64, 64, 128).tile_pictures()["B"],
    "attention": lambda: la.plan_attention(256, 256, 64).picture(),
}
"""One picture of each kind that is made of cells."""


def contrasts(chromium: Any, path: Path, colours: str) -> tuple[list[tuple[float, str]], list[str]]:
    """Of a drawing on a light or dark page: the contrast of every text, and the colours of its cells."""
    page = chromium.new_page(color_scheme=colours)
    page.goto(path.as_uri())
    found = page.locator("svg").evaluate(CONTRAST)
    paper = page.locator(".paper").evaluate("one => getComputedStyle(one).fill")
    fills = page.eval_on_selector_all(".cells rect", "all => all.map(one => getComputedStyle(one).fill)")
    page.close()
    assert (paper == "rgb(255, 255, 255)") == (colours == "light")
    return found, fills


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("name", PICTURES)
def test_every_text_can_be_read_on_light_and_dark_pages(name: str, colours: str, chromium: Any, tmp_path: Path) -> None:
    picture, path = PICTURES[name](), tmp_path / "picture.svg"
    picture.save(path)
    found, fills = contrasts(chromium, path, colours)
    assert len(found) > 20
    assert min(found)[0] >= 4.5, min(found)
    meant = [DARK_PALE if colours == "dark" and cell.fill == PALE else cell.fill for cell in picture.scene().cells]
    assert fills == [f"rgb({', '.join(map(str, bytes.fromhex(fill[1:])))})" for fill in meant], "cells mean the same"


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("kind", ["shuffles", "shared memory", "graph", "propagated"])
def test_a_conversion_and_a_graph_can_be_read_too(kind: str, colours: str, chromium: Any, tmp_path: Path) -> None:
    path = tmp_path / "picture.svg"
    if kind in ("graph", "propagated"):
        found = la.check(FLOW) if kind == "graph" else la.propagate(FLOW)
        path.write_text(found.picture().svg(), encoding="utf-8")
    else:
        ends = {
            "shuffles": ("d0 = 8@reg, d1 = 8@lane", "d0 = 8@lane, d1 = 8@reg"),
            "shared memory": ("d0 = 2@sg 8@lane, d1 = 4@reg", "d0 = 4@reg 4@lane, d1 = 2@sg 2@lane:4"),
        }
        path.write_text(la.convert(*ends[kind]).svg(), encoding="utf-8")
    found, _ = contrasts(chromium, path, colours)
    assert len(found) >= 8
    assert min(found)[0] >= 4.5, min(found)


def notebook_page(*values: Distributed) -> str:
    shown = "".join(f"<section>{value._repr_html_()}</section>" for value in values)
    return f"<!DOCTYPE html><html><head><meta charset=utf-8><title>outputs</title></head><body>{shown}</body></html>"


def test_every_output_of_a_notebook_works_by_itself(browser: Browser, tmp_path: Path) -> None:
    browser.open(notebook_page(LAYOUTS["dpas"], LAYOUTS["mfma"], LAYOUTS["dpas"]), tmp_path / "notebook.html")
    sections = browser.page.locator("section")
    for i in range(3):
        section = sections.nth(i)
        assert section.locator("img").count() == 0
        section.locator(".view:not([hidden]) rect[data-cell='7']").hover(force=True)
        assert section.locator(".info").inner_text().startswith("element (")
        section.locator("button[data-colour=lane]").click()
    pressed = browser.page.locator("button[data-colour][aria-pressed=true]").all_inner_texts()
    assert pressed == ["lane", "lane", "lane"]
    browser.check_quiet()


def test_without_scripts_the_plain_picture_is_there(chromium: Any, tmp_path: Path) -> None:
    path = tmp_path / "notebook.html"
    path.write_text(notebook_page(LAYOUTS["xegpu"]), encoding="utf-8")
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    image = page.locator("img:visible")
    assert image.count() == 1
    box = image.bounding_box()
    wanted = LAYOUTS["xegpu"].picture().scene()
    assert (round(box["width"]), round(box["height"])) == (round(wanted.width), round(wanted.height))
    pixels = imread(io.BytesIO(page.screenshot(clip={**box})))
    drawn = {tuple(one) for one in (pixels[::3, ::3, :3] * 255).round().astype(int).reshape(-1, 3).tolist()}
    for cell in wanted.cells:
        assert tuple(bytes.fromhex(cell.fill[1:])) in drawn
    context.close()


@pytest.mark.parametrize("form", ["page", "notebook"])
def test_the_steps_of_a_plan_open_one_at_a_time_without_a_script(form: str, chromium: Any, tmp_path: Path) -> None:
    picture: Any = la.plan_gemm(1024, 1024, 1024).picture()
    path = tmp_path / "plan.html"
    path.write_text(picture.html() if form == "page" else picture._repr_html_(), encoding="utf-8")
    context = chromium.new_context(java_script_enabled=False, viewport={"width": 400, "height": 800})
    page = context.new_page()
    page.goto(path.as_uri())
    frames = page.locator("details")
    drawn = frames.locator("svg" if form == "page" else "img")
    assert frames.count() == len(picture.frames()) == 4
    for number in (0, 1, 2, 3, 0):
        if number or not drawn.nth(0).is_visible():
            frames.nth(number).locator("summary").click()
        assert [drawn.nth(one).is_visible() for one in range(4)] == [one == number for one in range(4)]
        assert drawn.nth(number).bounding_box()["width"] <= 400
    context.close()


FLOW = """#rows = #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>
#columns = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>
func.func @f(%x: vector<16x16xf32>) {
  %r = xegpu.convert_layout %x <{input_layout = #columns, target_layout = #rows}> : vector<16x16xf32>
  %e = math.exp %r {layout_result_0 = #columns} : vector<16x16xf32>
  func.return
}"""


def test_a_click_on_a_line_shows_both_tiles_and_the_exchange(browser: Browser, tmp_path: Path) -> None:
    browser.open(la.check(FLOW).picture().page(), tmp_path / "flow.html")
    panel = browser.page.locator(".panel")
    assert panel.locator("figure").count() == 0
    browser.page.locator("[data-line='1'] path").first.dispatch_event("click")
    assert "lane 1 needs element (0, 1) of %r, which is in lane 0" in panel.inner_text()
    captions = panel.locator("figcaption").all_inner_texts()
    assert captions == ["%r is held so", "math.exp needs it so", "the exchange"]
    assert panel.locator("img:visible").count() == 3
    browser.page.locator("[data-line='0']").focus()
    browser.page.keyboard.press("Enter")
    assert "used by xegpu.convert_layout (line 4)" in panel.inner_text()
    browser.check_quiet()


def test_a_moved_script_finds_its_own_graph(browser: Browser, tmp_path: Path) -> None:
    first, second = (la.check(text).picture().fragment() for text in (FLOW, FLOW.replace("exp", "absf")))
    check_moved_script(browser, tmp_path, first, second, "[data-line]", 2)


@pytest.mark.parametrize("notebook", [False, True])
def test_a_conversion_is_stepped_through_and_loads_nothing(browser: Browser, tmp_path: Path, notebook: bool) -> None:
    picture = la.convert(
        "d0 = 2@sg 8@lane, d1 = 2@sg:2 4@reg", "d0 = 2@sg:2 2@lane:4 4@reg, d1 = 2@sg 4@lane"
    ).picture()
    names = ["what it does", "store", "barrier", "load"]
    browser.open(picture._repr_html_() if notebook else picture.html(), tmp_path / "conversion.html")
    page, shown = browser.page, browser.page.locator(".step:not([hidden])")
    for number, name in enumerate(names, 1):
        assert shown.count() == 1
        assert page.get_by_role("status").inner_text() == f"{number} of 4: {name}"
        assert ("byte 0, bank 0: 0,0" in shown.inner_html()) == (name in ("store", "load"))
        if number < len(names):
            page.get_by_label("one step on").click()
    assert page.get_by_label("one step on").is_disabled()
    page.get_by_role("button", name="all").click()
    assert shown.count() == 4
    assert browser.complaints == []
    assert [one for one in browser.requests if not one.startswith(("file:", "data:"))] == []
