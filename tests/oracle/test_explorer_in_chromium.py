"""The explorer in a real browser: what is pasted is shown as Python has it; controls, links, exports, the keyboard alone.

The page is served by `layoutalg serve`; what it shows is compared with the library's own report, picture and maps, which other
tests compare with compilers. Nothing may be asked of another host, and the console stays quiet.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

import layoutalg as la
from layoutalg.conversion.report import describe_conversion
from layoutalg.core.notation import Machine
from layoutalg.instructions.selection import known_instructions
from layoutalg.memory.report import describe_banks
from layoutalg.notations import parse
from layoutalg.show.cute_algebra import describe_expression
from layoutalg.show.report import describe, smallest_shape
from layoutalg.viz.picture import picture_of
from tests.oracle.explorer_cases import TEXTS
from tests.oracle.toolchains import opened_chromium, require_module

ROWS = "#xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>"
COLUMNS = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
TABS = ("layout", "compare", "convert", "gemm", "algebra", "banks", "instructions", "file")
MODULE = f"""#rows = {ROWS}
#columns = {COLUMNS}
func.func @f(%x: vector<16x16xf32>) {{
  %r = xegpu.convert_layout %x <{{input_layout = #columns, target_layout = #rows}}> : vector<16x16xf32>
  %e = math.exp %r {{layout_result_0 = #columns}} : vector<16x16xf32>
  func.return
}}"""
VIEWS: dict[str, dict[str, str]] = {
    "layout": {"text": COLUMNS, "shape": "8x16"},
    "compare": {"text": ROWS, "second": COLUMNS, "shape": "16x16"},
    "convert": {"text": ROWS, "second": COLUMNS, "shape": "16x16"},
    "gemm": {"m": "64", "n": "64", "k": "64", "chip": "bmg"},
    "algebra": {"expression": "logical_divide((8,8):(1,8), 4:2)"},
    "banks": {"memory": "row-major", "access": "d0 = 32@lane, d1 = 32@reg"},
    "instructions": {"query": "gfx942 f64"},
    "file": {"file": MODULE},
}
SHOWN = {
    "layout": ".canvas .cells rect",
    "compare": ".verdict:not(:empty)",
    "convert": ".candidates tbody tr",
    "gemm": ".canvas svg",
    "algebra": ".result code",
    "banks": ".verdict:not(:empty)",
    "instructions": "tbody tr",
    "file": ".findings li",
}
"""What stands on a tab when its answer is there."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    yield from opened_chromium(60_000)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address that `layoutalg serve` prints, with its token."""
    command = [sys.executable, "-m", "layoutalg", "serve", "--no-open", "--json", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield json.loads(server.stdout.readline())["address"]
        server.terminate()


class Explorer:
    """A page of the explorer, and everything that it complained about or asked for."""

    def __init__(self, context: Any, address: str) -> None:
        self.address = address
        self.complaints: list[str] = []
        self.requests: list[str] = []
        context.route("**/*", self._asked)
        self.page = context.new_page()
        self.page.set_default_timeout(60_000)
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(address)

    def _asked(self, route: Any) -> None:
        self.requests.append(route.request.url)
        route.continue_()

    @property
    def base(self) -> str:
        return self.address.partition("#")[0]

    def at(self, selector: str, tab: str = "layout") -> Any:
        return self.page.locator(f"#panel-{tab} {selector}")

    def text(self, words: str, tab: str = "layout") -> Any:
        return self.at("textarea", tab).and_(self.page.get_by_label(words))

    def field(self, words: str, tab: str = "layout") -> Any:
        return self.at("input", tab).and_(self.page.get_by_label(words, exact=True))

    def view(self, tab: str, **state: str) -> None:
        """Follow a link, from an empty page, and wait until its answer is there."""
        shown, late = self.at(SHOWN[tab], tab).first, self.page.get_by_text("no answer within")
        for _ in range(5):  # the server gives a question 10 seconds, which a busy machine may exceed
            self.page.goto("about:blank")
            self.page.goto(f"{self.base}#{urlencode({'tab': tab, **state})}")
            shown.or_(late).first.wait_for(state="attached")
            if shown.count():
                return
        raise AssertionError(f"{tab}: {late.first.text_content()}")

    def told(self, cell: int) -> str:
        self.at(".canvas .cells rect").nth(cell).dispatch_event("pointermove")
        return self.at(".picture .told").text_content()

    def same(self) -> list[int]:
        """The cells that are outlined."""
        return self.at(".canvas .cells rect").evaluate_all(
            "all => all.flatMap((one, i) => one.classList.contains('same') ? [i] : [])"
        )

    def state(self) -> str:
        return self.page.url.partition("#")[2]

    def check_quiet(self) -> None:
        assert self.complaints == []
        assert all(url.startswith((self.base, "blob:", "data:")) for url in self.requests), self.requests


@pytest.fixture
def explorer(chromium: Any, address: str) -> Iterator[Explorer]:
    context = chromium.new_context(viewport={"width": 1400, "height": 900}, accept_downloads=True)
    found = Explorer(context, address)
    yield found
    found.check_quiet()
    context.close()


@pytest.fixture
def expect() -> Any:
    return require_module("playwright.sync_api").expect


def shape_of(text: str, shape: str) -> Any:
    """The shape that is shown: as asked, or the smallest."""
    value = parse(text)
    if shape:
        return tuple(map(int, shape.split("x")))
    return smallest_shape(value) if value.needs_shape else None


def test_sixty_texts_are_shown_as_python_has_them(explorer: Explorer, expect: Any) -> None:
    box, size = explorer.text("Any layout"), explorer.field("Shape")
    assert len(TEXTS) == 60
    for text, shape in TEXTS:
        box.fill(text)
        if shape != size.input_value():
            size.fill(shape)
        value, sizes = parse(text), shape_of(text, shape)
        rows = describe(value, sizes).lines()
        expect(explorer.at(".report > .rows td")).to_have_text([words for _, words in rows])
        names = ["" if i and rows[i - 1][0] == name else name for i, (name, _) in enumerate(rows)]
        assert explorer.at(".report > .rows th").all_text_contents() == names, text
        cells = replace(picture_of(value, sizes), paged=False, example=False).scene().cells
        expect(explorer.at(".canvas .cells rect")).to_have_count(len(cells))
        for i in {0, len(cells) // 2, len(cells) - 1}:
            assert explorer.told(i) == cells[i].sentence, text


def test_the_lane_under_the_pointer_is_outlined_and_a_pinned_one_is_listed(explorer: Explorer) -> None:
    layout = parse(COLUMNS).layout((8, 16))
    explorer.view("layout", text=COLUMNS, shape="8x16")
    assert explorer.told(5) == replace(picture_of(layout), paged=False, example=False).scene().cells[5].sentence
    held = [16 * row + column for row, column in layout.coords(lane=5).tolist()]
    assert explorer.same() == held
    explorer.at(".canvas .cells rect").nth(5).dispatch_event("click")
    listed = explorer.at(".held li").all_text_contents()
    assert [re.match(r"element \((\d+), (\d+)\)", one).groups() for one in listed] == [  # pyright: ignore[reportOptionalMemberAccess]
        (str(cell // 16), str(cell % 16)) for cell in held
    ]
    explorer.told(9)
    assert explorer.same() == held


def test_every_control_changes_what_is_shown(explorer: Explorer, expect: Any) -> None:
    page = explorer.page
    explorer.view("layout", text=COLUMNS, shape="8x16")
    value = parse(COLUMNS)

    def fills() -> list[str]:
        return explorer.at(".canvas .cells rect").evaluate_all("all => all.map(one => one.getAttribute('fill'))")

    for direction, words in (("hardware", "registers by lanes"), ("tensor", "elements")):
        page.get_by_role("radio", name=words).check()
        for colour in ("lane", "register", "tile", "subgroup"):
            page.get_by_role("radio", name=colour, exact=True).check()
            cells = (
                replace(picture_of(value, (8, 16), colour=colour, direction=direction), paged=False, example=False)
                .scene()
                .cells
            )
            expect(explorer.at(".canvas .cells rect").last).to_have_attribute("fill", cells[-1].fill)
            expect(explorer.at(f".canvas .legend[data-by={colour}]:not([display])")).to_have_count(1)
            assert fills() == [cell.fill for cell in cells]
    for version in ("22", "23", "24"):
        page.get_by_role("radio", name=version, exact=True).check()
        expect(explorer.at(".report th", "layout").filter(has_text=f"LLVM {version}")).to_have_count(1)
    page.get_by_label("d0", exact=True).fill("16")
    expect(explorer.at(".report td").nth(1)).to_have_text("16x16")
    page.get_by_label("d1, slider").fill("32")
    expect(explorer.at(".report td").nth(1)).to_have_text("16x32")
    explorer.field("Shape").fill("8x16")
    expect(explorer.at(".report td").nth(1)).to_have_text("8x16")
    page.get_by_label("lane, slider").fill("3")
    held = value.layout((8, 16)).coords(lane=3).tolist()
    expect(explorer.at(".found code")).to_have_text(" ".join(f"({row}, {column})" for row, column in held))
    assert explorer.same() == [16 * row + column for row, column in held]
    page.get_by_label("Owners of element").fill("2, 7")
    ((_, lane, register),) = value.layout((8, 16)).owners((2, 7))
    expect(explorer.at(".found p").last).to_contain_text(f"lane {lane}, reg {register}")
    assert explorer.same() == sorted({16 * row + column for row, column in [*held, (2, 7)]})
    page.get_by_role("button", name="clear").click()
    expect(explorer.at(".found p")).to_have_count(0)
    assert explorer.same() == []
    other = explorer.at(".texts code").all_text_contents()
    read = [la.parse(one).read_as("tv") if one[0] == "(" else la.parse(one) for one in other]
    assert all(one.layout((8, 16), Machine(lanes=16)) == value.layout((8, 16)) for one in read)
    page.get_by_role("button", name="explore the IREE text").click()
    expect(explorer.at(".report td").first).to_have_text(other[2])


def test_the_field_of_the_lane_says_which_lane_is_outlined(explorer: Explorer, expect: Any) -> None:
    text = "mma.m16n8k16.f32.f16.f16.f32"
    lane = explorer.at(".places input[type=number]")
    explorer.view("layout", text=text)
    expect(lane).to_have_value("0")
    assert explorer.same() == []
    expect(explorer.at(".canvas .words")).not_to_contain_text("outlined")
    explorer.page.evaluate(f"location.hash = {urlencode({'tab': 'layout', 'text': text, 'place': 'lane=3'})!r}")
    expect(lane).to_have_value("3")
    expect(explorer.at(".found p")).to_contain_text("lane 3 holds")
    a = parse(text).operands()[0].layout
    held = sorted(16 * row + column for row, column in a.coords(lane=3).tolist())
    assert explorer.same() == held
    explorer.told(0)
    explorer.at(".canvas").dispatch_event("pointerleave")
    assert explorer.same() == held
    explorer.page.go_back()
    expect(lane).to_have_value("0")
    assert explorer.same() == []


DRAWN: dict[str, Callable[[], Any]] = {
    "compare": lambda: la.same(ROWS, COLUMNS, (16, 16)),
    "convert": lambda: la.convert(ROWS, COLUMNS, (16, 16), element_bits=32, target="pvc"),
    "gemm": lambda: la.plan_gemm(64, 64, 64, target="bmg"),
    "algebra": lambda: describe_expression(VIEWS["algebra"]["expression"]),
    "banks": lambda: describe_banks(parse(VIEWS["banks"]["access"]), "row-major", element="f32"),
}


@pytest.mark.parametrize("tab", DRAWN)
def test_the_picture_of_each_tab_is_saved(tab: str, explorer: Explorer, tmp_path: Path) -> None:
    explorer.view(tab, **VIEWS[tab])
    with explorer.page.expect_download() as download:
        explorer.at("[data-format=svg]", tab).click()
    download.value.save_as(tmp_path / "saved.svg")
    assert (tmp_path / "saved.svg").read_text(encoding="utf-8") == DRAWN[tab]().picture().svg()


def test_nothing_can_be_saved_before_there_is_a_picture(chromium: Any, address: str) -> None:
    context = chromium.new_context()
    context.route("**/ask", lambda route: None)  # no answer ever comes
    page = context.new_page()
    for tab, state in VIEWS.items():
        page.goto("about:blank")
        page.goto(f"{address.partition('#')[0]}#{urlencode({'tab': tab, **state})}")
        page.locator(f"#tab-{tab}[aria-selected=true]").wait_for()
        assert page.get_by_text("Save", exact=True).locator("visible=true").count() == 0
    context.close()


def test_an_error_stands_under_its_box_with_a_caret(explorer: Explorer, expect: Any) -> None:
    text = "#xegpu.layout<lane_layout = [1, 16], lane_date = [1, 1]>"
    explorer.text("Any layout").fill(text)
    with pytest.raises(la.ParseError) as refused:
        parse(text)
    expect(explorer.at(".text .error > span").first).to_have_text(str(refused.value))
    expect(explorer.at(".under mark")).to_have_text("l")
    assert explorer.at(".under").text_content() == text
    shown, caret = explorer.at(".caret").text_content().split("\n")
    assert shown[caret.index("^") :].startswith("lane_date")
    expect(explorer.text("Any layout")).to_have_attribute("aria-invalid", "true")
    explorer.text("Any layout").fill(COLUMNS)
    expect(explorer.at(".text .error")).to_be_hidden()


@pytest.mark.parametrize("tab", TABS)
def test_a_link_opens_the_same_view_in_another_page(tab: str, explorer: Explorer, chromium: Any) -> None:
    explorer.view(tab, **VIEWS[tab])
    assert "token" not in explorer.page.url
    other = explorer.page.context.new_page()
    other.goto(explorer.page.url)
    panel = f"#panel-{tab}"
    for page in (explorer.page, other):
        page.locator(f"{panel} {SHOWN[tab]}").first.wait_for(state="attached")
        page.locator("#explorer:not(.waiting)").wait_for()
    first, second = (page.locator(panel).inner_text() for page in (explorer.page, other))
    assert first == second
    assert other.locator("[role=tab][aria-selected=true]").get_attribute("id") == f"tab-{tab}"


def test_back_and_forward_go_through_what_was_opened(explorer: Explorer, expect: Any) -> None:
    page = explorer.page
    explorer.view("layout", text=COLUMNS, shape="8x16")
    page.get_by_role("tab", name="Algebra").click()
    page.get_by_role("button", name="complement").click()
    expect(explorer.at(".result code", "algebra")).to_have_text("(3,2):(2,12)")
    page.go_back()
    page.go_back()
    expect(page.get_by_role("tab", name="Layout")).to_have_attribute("aria-selected", "true")
    expect(explorer.text("Any layout")).to_have_value(COLUMNS)
    page.go_forward()
    page.go_forward()
    expect(explorer.text("An expression", "algebra")).to_have_value("complement((2,2):(1,6), 24)")


def test_two_tabs_of_a_browser_are_apart(explorer: Explorer, expect: Any) -> None:
    explorer.view("layout", text=COLUMNS, shape="8x16")
    other = explorer.page.context.new_page()
    other.goto(f"{explorer.base}#{urlencode({'tab': 'layout', 'text': '(8,4):(4,1)'})}")
    expect(other.locator("#panel-layout .report td").first).to_have_text("(8,4):(4,1)")
    expect(explorer.text("Any layout")).to_have_value(COLUMNS)
    explorer.page.reload()
    expect(explorer.at(".report td").first).to_have_text(str(parse(COLUMNS)))


def test_pictures_are_saved(explorer: Explorer, tmp_path: Path) -> None:
    explorer.view("layout", text=COLUMNS, shape="8x16")
    begins = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF", "html": b"<!DOCTYPE html>", "text": b"input: "}
    assert {button.get_attribute("data-format") for button in explorer.at("[data-format]").all()} >= set(begins)
    for button in explorer.at("[data-format]").all():
        form = button.get_attribute("data-format")
        with explorer.page.expect_download() as download:
            button.click()
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        assert path.read_bytes().startswith(begins.get(form, b"")), form
        if form == "svg":
            assert path.read_text(encoding="utf-8") == picture_of(parse(COLUMNS), (8, 16)).svg()


def test_the_keyboard_alone_is_enough(explorer: Explorer, expect: Any) -> None:
    page = explorer.page
    seen: list[str] = []

    def to(selector: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            seen.append(page.evaluate("document.activeElement.outerHTML.slice(0, 60)"))
            if page.evaluate(f"document.activeElement.matches({json.dumps(selector)})"):
                return
        raise AssertionError(f"no way to {selector}: {seen}")

    to("#tab-layout")
    to("#panel-layout textarea")
    page.keyboard.type("d0 = 8@reg, d1 = 16@lane")
    expect(explorer.at(".canvas .cells rect")).to_have_count(128)
    to("#panel-layout .canvas")
    cells = replace(parse("d0 = 8@reg, d1 = 16@lane").picture(), paged=False, example=False).scene().cells
    told = explorer.at(".picture .told")
    for key, cell in (
        ("ArrowRight", 0),
        ("ArrowRight", 1),
        ("ArrowDown", 17),
        ("ArrowLeft", 16),
        ("ArrowUp", 0),
        ("End", 127),
    ):
        page.keyboard.press(key)
        expect(told).to_have_text(cells[cell].sentence)
    page.keyboard.press("Enter")
    assert explorer.same() == list(range(15, 128, 16))
    expect(explorer.at(".held li")).to_have_count(8)
    page.keyboard.press("Escape")
    expect(explorer.at(".held li")).to_have_count(0)
    to("#panel-layout [data-format=svg]")  # the picture lets go of the focus
    page.get_by_role("tab", name="Layout").focus()
    for name in TABS[1:]:
        page.keyboard.press("ArrowRight")
        expect(page.locator(f"#tab-{name}")).to_be_focused()
        expect(page.locator(f"#panel-{name}")).to_be_visible()


MISSED = """tab => {
  const kinds = `:is(button, input, textarea, select, summary, [tabindex="0"])`;
  const all = document.querySelectorAll(`header button, #panel-${tab} ${kinds}`);
  const seen = (one) => one.checkVisibility({ visibilityProperty: true });
  const wanted = [...all].filter((one) => one.tabIndex >= 0 && !one.disabled && seen(one));
  const groups = new Set(window.reached.map((one) => one.type === "radio" && one.name));
  return wanted.filter((one) => !window.reached.includes(one) && !(one.type === "radio" && groups.has(one.name)))
    .map((one) => one.outerHTML.slice(0, 120));
}"""
"""The controls of a tab that Tab did not reach; arrow keys reach the others of a group of radio buttons."""
FOCUSED = """() => {
  const one = document.activeElement;
  if (window.reached.includes(one)) return null;
  window.reached.push(one);
  const style = (part) => getComputedStyle(part);
  const shown = (part) => part && (style(part).outlineStyle !== "none" || style(part).boxShadow !== "none");
  return [one.outerHTML.slice(0, 120), one === document.body || shown(one) || shown(one.nextElementSibling)];
}"""


@pytest.mark.parametrize("tab", TABS)
def test_tab_reaches_every_control_and_shows_where_it_is(tab: str, explorer: Explorer) -> None:
    explorer.view(tab, **VIEWS[tab])
    explorer.page.locator("#explorer:not(.waiting)").wait_for()
    explorer.page.evaluate("window.reached = []")
    again = 0
    while again < 3:  # once around, and past the page's ends
        explorer.page.keyboard.press("Tab")
        found = explorer.page.evaluate(FOCUSED)
        again += found is None
        assert found is None or found[1], found[0]
    assert explorer.page.evaluate(MISSED, tab) == []


def test_what_happens_is_said_to_screen_readers(explorer: Explorer, expect: Any) -> None:
    """Where the keyboard alone changes something, a live region has the words."""
    live = "[role=status], [role=alert], [aria-live]"
    explorer.page.keyboard.press("Tab")  # the tabs
    explorer.page.keyboard.press("End")
    expect(explorer.page.locator("#tab-file")).to_be_focused()
    explorer.view("layout", text=COLUMNS, shape="8x16")
    explorer.at(".canvas").focus()
    explorer.page.keyboard.press("ArrowRight")
    explorer.page.keyboard.press("ArrowRight")
    expect(explorer.at(live).filter(has_text="element (0, 1): ")).to_have_count(1)
    explorer.page.keyboard.press("Enter")
    expect(explorer.at(live).filter(has_text="Pinned: 8 cells")).to_have_count(1)
    explorer.page.keyboard.press("Escape")
    expect(explorer.at(live).filter(has_text="Pinned")).to_have_count(0)
    explorer.at("textarea").focus()
    explorer.page.keyboard.type("?")
    expect(explorer.at(live).filter(has_text="line 1, column")).to_have_count(1)


def test_compare_says_where_two_layouts_differ(explorer: Explorer, expect: Any) -> None:
    explorer.view("compare", **VIEWS["compare"])
    found = la.same(ROWS, COLUMNS, (16, 16))
    expect(explorer.at(".verdict", "compare")).to_have_text(found.explanation)
    explorer.text("Second", "compare").fill(ROWS)
    expect(explorer.at(".verdict.good", "compare")).to_have_text(la.same(ROWS, ROWS, (16, 16)).explanation)


def test_a_conversion_has_its_ways_and_ends_with_every_word_in_its_place(explorer: Explorer, expect: Any) -> None:
    explorer.view("convert", **VIEWS["convert"])
    plan = la.convert(ROWS, COLUMNS, (16, 16), element_bits=32, target="pvc")
    names = explorer.at(".candidates tbody th", "convert").all_text_contents()
    assert {one.removesuffix("chosen") for one in names} == {one.name for one in plan.candidates}
    assert [one.removesuffix("chosen") for one in names if one.endswith("chosen")] == [plan.chosen.name]
    explorer.page.get_by_label("place in the conversion").fill("100")

    # Colours say from which lane a word comes: of element (i, j), lane i holds it before, and lane j in register i after.
    words = explorer.at(".stage .word", "convert").evaluate_all(
        "all => all.map(one => [one.getAttribute('x'), one.getAttribute('y'), one.getAttribute('fill')])"
    )
    first = explorer.at(".stage .origin", "convert").evaluate_all("all => all.map(one => one.getAttribute('fill'))")
    hues = list(dict.fromkeys(first))
    assert len(words) == 256
    columns, rows = (sorted({float(one[at]) for one in words}) for at in (0, 1))
    placed = {(columns.index(float(x)), rows.index(float(y))): hues.index(fill) for x, y, fill in words}
    assert placed == {(lane, register): register for lane in range(16) for register in range(16)}
    explorer.page.get_by_role("button", name="one step back").click()
    explorer.page.get_by_role("button", name="Play").click()
    expect(explorer.page.get_by_role("button", name="Pause")).to_be_visible()
    explorer.page.get_by_role("button", name="Pause").click()
    explorer.field("Chip", "convert").fill("gfx942")
    other = describe_conversion(parse(ROWS), parse(COLUMNS), (16, 16), Machine(), target="gfx942").plan
    expect(explorer.at(".candidates tbody tr.chosen th", "convert")).to_have_text(f"{other.chosen.name}chosen")


def test_the_steps_of_a_conversion_are_turned_by_the_keyboard(explorer: Explorer, expect: Any) -> None:
    explorer.view("convert", **VIEWS["convert"])
    views = la.convert(ROWS, COLUMNS, (16, 16), element_bits=32, target="pvc").picture().views()
    picker = explorer.at("select", "convert").and_(explorer.page.get_by_label("step of the picture"))
    before, after = (
        explorer.at("button", "convert").and_(explorer.page.get_by_label(f"the step {one}"))
        for one in ("before", "after")
    )

    def shown(number: int) -> None:
        name, svg = views[number]
        expect(picker.locator("option:checked")).to_have_text(f"{number + 1} of {len(views)}: {name}")
        expect(explorer.at(".steps-drawn .canvas", "convert")).to_have_attribute(
            "aria-label", f"picture of the conversion: {name}"
        )
        expect(explorer.at(".steps-drawn .canvas rect", "convert")).to_have_count(svg.count("<rect"))
        assert (before.is_disabled(), after.is_disabled()) == (number == 0, number == len(views) - 1)

    shown(0)
    picker.focus()
    explorer.page.keyboard.press("ArrowDown")
    shown(1)
    explorer.page.keyboard.press("Tab")
    expect(after).to_be_focused()
    for number in range(2, len(views)):
        explorer.page.keyboard.press("Enter")
        shown(number)
    expect(picker).to_be_focused()  # the button pressed last is disabled
    explorer.page.keyboard.press("Shift+Tab")
    explorer.page.keyboard.press("Space")
    shown(len(views) - 2)


def test_the_algebra_shows_inputs_result_and_steps(explorer: Explorer, expect: Any) -> None:
    explorer.view("algebra", **VIEWS["algebra"])
    expect(explorer.at(".result code", "algebra")).to_have_text("(4,(2,8)):(2,(1,8))")  # by CuTe's documentation
    assert explorer.at(".inputs code", "algebra").all_text_contents() == ["(8,8):(1,8)", "4:2"]
    operations = explorer.at("[data-operation]", "algebra")
    for i in range(operations.count()):
        operations.nth(i).click()
        name = operations.nth(i).get_attribute("data-operation")
        expect(explorer.at(".steps li", "algebra").first).to_contain_text("composition" if name == "swizzle" else name)
        expect(explorer.at(".text .error", "algebra")).to_be_hidden()


def test_banks_instructions_and_files_are_what_the_library_says(explorer: Explorer, expect: Any) -> None:
    explorer.view("banks", **VIEWS["banks"])
    ways = la.bank_conflicts("d0 = 32@lane, d1 = 32@reg").ways
    expect(explorer.at(".verdict", "banks")).to_have_text(f"{ways} lanes meet in one bank")
    explorer.page.get_by_role("button", name="the same, swizzled").click()
    expect(explorer.at(".verdict", "banks")).to_have_text("no bank conflicts")
    explorer.view("instructions", **VIEWS["instructions"])
    names = [one.name for one in known_instructions("gfx942", "f64")]
    assert explorer.at("tbody th", "instructions").all_text_contents() == names
    explorer.page.get_by_role("button", name=names[0], exact=True).click()
    expect(explorer.at(".report td").first).to_have_text(str(parse(names[0])))
    explorer.view("file", **VIEWS["file"])
    checked = la.check(MODULE)
    assert explorer.at(".findings li", "file").count() == len(checked.findings)
    expect(explorer.at(".verdict", "file")).to_have_text(f"The layouts are {checked.verdict}.")
    explorer.page.get_by_role("button", name=ROWS).first.click()
    expect(explorer.at(".report td").first).to_have_text(ROWS)
    explorer.text("Any layout").fill(MODULE)  # a module in the box of layouts
    expect(explorer.page.get_by_role("tab", name="File")).to_have_attribute("aria-selected", "true")
    expect(explorer.text("A module", "file")).to_have_value(MODULE)


def test_texts_with_markup_show_as_texts(explorer: Explorer, expect: Any) -> None:
    hostile = "<script>window.hit = 1</script><img src=x onerror='window.hit = 2'>"
    explorer.text("Any layout").fill(hostile)
    expect(explorer.at(".text .error")).to_be_visible()
    explorer.page.get_by_role("tab", name="Instructions").click()
    explorer.page.get_by_label("Search").fill(hostile)
    expect(explorer.at(".count", "instructions")).to_contain_text("<")
    assert explorer.page.evaluate("window.hit") is None


def test_the_shape_of_the_text_before_goes_where_it_does_not_fit(explorer: Explorer, expect: Any) -> None:
    explorer.view("layout", text=COLUMNS, shape="8x16")
    explorer.text("Any layout").fill("MFMA_F32_16x16x16_F16")
    expect(explorer.at(".report > .rows td").first).to_have_text("#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>")
    expect(explorer.field("Shape")).to_have_value("")
    explorer.field("Shape").fill("7x16")
    expect(explorer.at(".field .error:visible")).to_contain_text("7x16")
    expect(explorer.field("Shape")).to_have_attribute("aria-invalid", "true")
