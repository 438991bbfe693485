"""The explorer without a server, in a real browser: files alone, Python in a worker, nothing from elsewhere.

Every answer must be the one that `layoutalg.explorer.answer` gives here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from time import perf_counter
from typing import Any
from urllib.parse import urlencode

import pytest

from layoutalg.explorer import answer
from layoutalg.notations import parse
from layoutalg.show.report import describe
from tests.oracle.test_explorer_in_chromium import COLUMNS, MODULE, ROWS, TEXTS, Explorer, chromium, expect, shape_of
from tests.oracle.toolchains import absent, require_module

__all__ = ["chromium", "expect"]

site: Any = pytest.importorskip("tools.static_explorer.build", reason="the sdist has no tools")

FIRST_PICTURE = 6
"""Seconds until the first picture, on a machine that does nothing else; the test allows ten times as many."""
SWIZZLED = "Sw<2,0,2> o 5 o (4,4):(4,1)"
QUESTIONS: tuple[dict[str, object], ...] = (
    {"kind": "same", "first": ROWS, "second": COLUMNS, "shape": "16x16"},
    {"kind": "same", "first": "Sw<2,3,3> o 0 o (8,32):(32,1)", "second": "(8,32):(32,1)"},
    {"kind": "owner", "text": COLUMNS, "shape": "8x16", "at": [3, 5]},
    {"kind": "holds", "text": COLUMNS, "shape": "8x16", "place": {"lane": 5}},
    {"kind": "algebra", "expression": "logical_divide((8,8):(1,8), 4:2)"},
    {"kind": "instructions", "query": "gfx942 mma f16"},
    {"kind": "export", "of": {"kind": "layout", "text": "d0 = 4@lane"}, "format": "svg"},
    {"kind": "layout", "text": "(8,"},
    {"kind": "layout", "text": "d0 = 8@reg", "shape": "9x"},
    {"kind": "layout", "text": "d0 = 8@lane", "direction": "hardware", "colour": "lane"},
    {"kind": "nothing"},
)
WITHOUT: tuple[tuple[dict[str, object], str], ...] = (
    ({"kind": "convert", "first": ROWS, "second": COLUMNS, "shape": "16x16"}, "numpy"),
    ({"kind": "banks", "memory": "(8,4):(4,1)", "layout": "d0 = 8@lane, d1 = 4@reg"}, "numpy"),
    ({"kind": "file", "text": MODULE}, "xdsl"),
    ({"kind": "layout", "text": SWIZZLED}, "numpy"),
)
ASK = "async question => (await import('./transport_worker.js')).ask(question)"


def rounded(found: Any) -> Any:
    """An answer with its pixels rounded: Python 3.12 and later sum floats more exactly than 3.11."""
    if isinstance(found, dict):
        return {name: rounded(one) for name, one in found.items()}
    if isinstance(found, list):
        return [rounded(one) for one in found]
    return round(found, 6) if isinstance(found, float) else found


class Quiet(SimpleHTTPRequestHandler):
    """A server of static files that says nothing."""

    def log_message(self, format: str, *args: Any) -> None:
        del format, args


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    require_module("playwright.sync_api")
    if not all((site.PYODIDE / name).exists() for name in site.NEEDED):
        absent("pyodide")
    folder = tmp_path_factory.mktemp("site")
    assert site.build(folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def explorer(chromium: Any, address: str) -> Iterator[Explorer]:
    context = chromium.new_context(viewport={"width": 1400, "height": 900})
    found = Explorer(context, address)
    yield found
    found.check_quiet()
    context.close()


def test_the_first_picture_comes_soon(chromium: Any, address: str) -> None:
    context = chromium.new_context()
    page = context.new_page()
    started = perf_counter()
    page.goto(f"{address}#{urlencode({'tab': 'layout', 'text': COLUMNS, 'shape': '8x16'})}")
    page.locator("#panel-layout .canvas .cells rect").first.wait_for(state="attached", timeout=120_000)
    assert perf_counter() - started < 10 * FIRST_PICTURE
    context.close()


def test_texts_of_every_system_are_answered_as_python_answers(explorer: Explorer, expect: Any) -> None:
    box, size = explorer.text("Any layout"), explorer.field("Shape")
    assert len(TEXTS) >= 40
    for text, shape in TEXTS:
        box.fill(text)
        if shape != size.input_value():
            size.fill(shape)
        rows = describe(parse(text), shape_of(text, shape)).lines()
        expect(explorer.at(".report > .rows td")).to_have_text([words for _, words in rows])
        question = {"kind": "layout", "text": text} | ({"shape": shape} if shape else {})
        assert rounded(explorer.page.evaluate(ASK, question)) == rounded(answer(question)), text


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["kind"])
def test_other_questions_are_answered_as_python_answers(question: dict[str, object], explorer: Explorer) -> None:
    found, expected = explorer.page.evaluate(ASK, question), answer(question)
    assert rounded(found) == rounded(expected)


@pytest.mark.parametrize(
    ("question", "package"), WITHOUT, ids=lambda value: value if isinstance(value, str) else value["kind"]
)
def test_what_needs_more_says_so(question: dict[str, object], package: str, explorer: Explorer) -> None:
    found = explorer.page.evaluate(ASK, question)
    told = found["error"]["message"] if "error" in found else found["no_picture"]
    assert told == f"this needs {package}: run `layoutalg serve`"
    assert "error" not in answer(question)


def test_hostile_questions_are_answered_and_the_next_one_too(explorer: Explorer) -> None:
    for text in (
        "(" * 200_000,
        "#" + "x" * 900_000,
        "d0 = 99999999999999999999@lane",
        "\x00\ud800",
        "<script>alert(1)</script>",
    ):
        assert "error" in explorer.page.evaluate(ASK, {"kind": "layout", "text": text})
    assert explorer.page.evaluate(ASK, QUESTIONS[2]) == answer(QUESTIONS[2])


def test_without_pyodide_the_page_says_what_is_missing(tmp_path: Path) -> None:
    assert not site.build(tmp_path / "page", tmp_path / "nothing")
    assert "without Pyodide" in (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
