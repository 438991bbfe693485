"""What a reader of the explorer sees: on a phone as on a wide screen, at once, and lane by lane."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

import pytest

from layoutalg.notations import parse
from tests.oracle.explorer_cases import CONTRAST, UNNAMED
from tests.oracle.test_explorer_in_chromium import TABS, VIEWS, Explorer, address, chromium, expect, explorer

__all__ = ["address", "chromium", "expect", "explorer"]


HIDDEN_TABS = """() => [...document.querySelectorAll("[role=tab]")].filter((one) => {
  const box = one.getBoundingClientRect();
  return box.left < 0 || box.right > innerWidth || box.height < 24;
}).map((one) => one.textContent)"""
CUT = """() => [...document.querySelectorAll(".explorer *")].filter((one) => {
  const clips = getComputedStyle(one).overflowX !== "visible" && one.checkVisibility();
  const own = "textarea, .unseen, .under, .caret, .card code, input";
  const told = one.closest(".frame.right:has(.goes:not([hidden]))");
  return clips && one.scrollWidth > one.clientWidth + 1 && !one.matches(own) && !told;
}).map((one) => one.outerHTML.slice(0, 120))"""
"""What goes on to the right without a sign that says so."""


@pytest.mark.parametrize("width", [1200, 700, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_tab_can_be_read(width: int, scheme: str, chromium: Any, address: str) -> None:
    context = chromium.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    explorer = Explorer(context, address)
    for tab in TABS:
        explorer.view(tab, **VIEWS[tab])
        assert explorer.page.evaluate(CONTRAST) == [], tab
        assert explorer.page.evaluate(UNNAMED) == [], tab
        assert explorer.page.evaluate("document.documentElement.scrollWidth") <= width, tab
        assert explorer.page.evaluate(HIDDEN_TABS) == [], tab
        assert explorer.page.evaluate(CUT) == [], tab
        for svg in explorer.at(".canvas > svg", tab).all():
            if svg.is_visible() and svg.locator("text").count():
                smallest = svg.evaluate(
                    "svg => Math.min(...[...svg.querySelectorAll('text')].map(t => parseFloat(getComputedStyle(t).fontSize)))"
                    " * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width"
                )
                assert smallest >= 6.95, tab
    explorer.check_quiet()
    context.close()


def test_a_picture_fits_a_phone_and_every_column_can_be_had(chromium: Any, address: str, expect: Any) -> None:
    context = chromium.new_context(viewport={"width": 400, "height": 800})
    explorer = Explorer(context, address)
    text = "MFMA_F32_16x16x16_F16"
    explorer.view("layout", text=text)
    canvas, cells, sign = (explorer.at(one).first for one in (".canvas", ".canvas .cells", ".picture .goes"))
    expect(sign).to_be_hidden()
    assert canvas.bounding_box()["width"] <= 400
    assert canvas.evaluate("one => one.scrollWidth <= one.clientWidth")
    last = cells.locator("rect").count() - 1
    for cell, operand in ((0, parse(text).operands()[0]), (last, parse(text).operands()[2])):
        row, column, _, lane, register = map(int, re.findall(r"\d+", explorer.told(cell)))
        assert (0, lane, register) in operand.layout.owners((row, column))
    explorer.page.get_by_role("radio", name="every column").check()
    expect(cells.locator("rect")).to_have_count(3 * 256)
    expect(sign).to_be_visible()
    before = canvas.evaluate("one => one.scrollLeft")
    sign.locator("button").last.click()
    explorer.page.wait_for_function(
        "before => document.querySelector('#panel-layout .canvas').scrollLeft > before", arg=before
    )
    explorer.check_quiet()
    context.close()


@pytest.mark.parametrize(("shape", "seconds"), [("64x64", 0.3), ("4096x4096", 1)])
def test_the_first_picture_comes_soon_after_a_paste(shape: str, seconds: float, explorer: Explorer) -> None:
    """On a machine that does nothing else within so many seconds; the test allows ten times as many."""
    explorer.view("layout", text="d0 = 4@lane")
    explorer.page.goto(f"{explorer.base}#{urlencode({'tab': 'layout', 'shape': shape})}")
    explorer.page.locator("#explorer:not(.waiting)").wait_for()
    text = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [2, 2], order = [1, 0]}>"
    assert explorer.page.evaluate(PASTED, text) < 10_000 * seconds


PASTED = """text => new Promise((done) => {
  const [box, canvas] = ["textarea", ".canvas"].map((one) => document.querySelector(`#panel-layout ${one}`));
  const began = performance.now();
  new MutationObserver(() => canvas.querySelector("svg") && requestAnimationFrame(() => done(performance.now() - began)))
    .observe(canvas, { childList: true });
  box.value = text;
  box.dispatchEvent(new InputEvent("input", { inputType: "insertFromPaste" }));
})"""
"""Milliseconds from a paste until the picture is drawn."""


def test_the_first_page_says_what_each_tab_answers(explorer: Explorer, expect: Any) -> None:
    leads = explorer.page.locator(".lead").all_text_contents()
    assert len(leads) == len(TABS)
    assert explorer.at(".card").count() == 8
    for tab, lead in zip(TABS[1:], leads[1:], strict=True):
        said = explorer.at(".tour p").nth(TABS.index(tab) - 1)
        expect(said).to_contain_text(lead.partition("?")[0] + "?")
        said.get_by_role("button").click()
        expect(explorer.page.locator(f"#panel-{tab} .lead")).to_be_visible()
        explorer.page.go_back()


def test_an_error_of_a_field_stands_at_the_field(explorer: Explorer, expect: Any) -> None:
    for tab, words, wrong, right in (
        ("gemm", "K", "x", "64"),
        ("compare", "Shape", "9x", "16x16"),
        ("convert", "Element", "f99", "f32"),
    ):
        explorer.view(tab, **VIEWS[tab])
        field, said = explorer.field(words, tab), explorer.at(".field .error:visible", tab)
        field.fill(wrong)
        expect(said).to_have_count(1)
        expect(field).to_have_attribute("aria-describedby", str(said.get_attribute("id")))
        expect(field).to_have_attribute("aria-invalid", "true")
        field.fill(right)
        expect(said).to_have_count(0)


def test_a_conversion_is_walked_lane_by_lane(explorer: Explorer, expect: Any) -> None:
    """By hand: register j of lane i goes to register i of lane j, and where i = j the word stays."""
    explorer.view("convert", **VIEWS["convert"])
    on, told = explorer.page.get_by_label("one lane on"), explorer.at(".moves [aria-live]", "convert")
    ways = "reg 0 to lane 0 reg 2, reg 1 to lane 1 reg 2, reg 3 to lane 3 reg 2, reg 4 to lane 4 reg 2 and 11 more"

    def arrived() -> int:
        places = explorer.at(".stage .word", "convert").evaluate_all(
            "all => all.map(one => Number(one.getAttribute('x')))"
        )
        first = min(
            explorer.at(".stage .slot", "convert").evaluate_all("all => all.map(one => Number(one.getAttribute('x')))")
        )
        return sum(x > first + 16 * 15 for x in places)

    expect(told).to_have_text("Pale: it stays where it is, and stands in the result from the start")
    assert arrived() == 16
    on.focus()
    for lanes in (1, 2, 3):
        explorer.page.keyboard.press("Enter")
        expect(told).to_contain_text(f"Lane {lanes - 1} ({lanes} of 16 that send): ")
        assert arrived() == 16 + 15 * lanes
    expect(told).to_have_text(f"Lane 2 (3 of 16 that send): {ways}")
    explorer.page.get_by_label("one lane back").click()
    expect(told).to_contain_text("Lane 1 ")
    assert arrived() == 16 + 30
    explorer.page.get_by_label("one step on").click()
    assert arrived() == 256
