"""The explorer in a notebook: the page begins with the value, and its questions are answered by this Python.

In Chromium the widget's module runs as a notebook runs it, with a model that has a notebook's three methods.
"""

from __future__ import annotations

import builtins
import http.server
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import layoutalg as la
from layoutalg.explorer.widget import state_of
from tests.oracle.toolchains import require, require_module

TEXT = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
MODULE = "func.func @f() {\n  func.return\n}\n"
PAGE = b"""<!DOCTYPE html><meta charset="utf-8"><link rel="icon" href="data:,"><div id="cell"></div><script type="module">
import widget from "./widget.js";
const given = await window.given();
let heard = () => {};
window.tell = (message) => heard(message);
widget.render({ el: document.getElementById("cell"), model: {
  get: (name) => given[name], on: (_, listener) => { heard = listener; }, send: (message) => window.asked(message) } });
</script>"""


def test_a_value_a_text_and_a_module_open_where_they_belong() -> None:
    assert state_of(la.parse(TEXT), (8, 16)) == {"tab": "layout", "text": TEXT, "shape": "8x16"}
    assert state_of("(8,4):(4,1)") == {"tab": "layout", "text": "(8,4):(4,1)"}
    assert state_of(la.read(MODULE)) == {"tab": "file", "file": str(la.read(MODULE))}
    with pytest.raises(la.LayoutError, match="expected sizes"):
        state_of(TEXT, "8x16")  # pyright: ignore[reportArgumentType]


def test_without_anywidget_an_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from layoutalg.explorer import widget

    widget._widget.cache_clear()
    found = builtins.__import__

    def absent(name: str, *rest: Any) -> Any:
        if name in ("anywidget", "traitlets"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return found(name, *rest)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(la.LayoutError, match=r"pip install 'layoutalg\[widget\]'"):
        la.explore(TEXT)


def test_a_question_is_answered_to_who_asked() -> None:
    require_module("anywidget")
    widget: Any = la.explore(TEXT, (8, 16))
    sent: list[Any] = []
    widget.send = sent.append
    widget._asked(widget, {"from": "7", "question": {"kind": "owner", "text": TEXT, "shape": "8x16", "at": [2, 5]}}, [])
    widget._asked(widget, {"from": "8", "question": {"kind": "nonsense"}}, [])
    assert sent[0] == {"to": "7", "answer": {"owners": [{"sg": 0, "lane": 5, "reg": 2}]}}
    assert sent[1]["answer"]["error"]["field"] == "kind"


@pytest.fixture
def served() -> Iterator[tuple[str, Any]]:
    require_module("anywidget")
    widget: Any = la.explore(TEXT, (8, 16))
    files = {"/": ("text/html", PAGE), "/widget.js": ("text/javascript", widget._esm.encode())}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, body = files[self.path]
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", widget
        server.shutdown()


@pytest.mark.parametrize("alive", [True, False])
def test_the_page_runs_in_a_cell_and_a_saved_one_shows_the_first_picture(alive: bool, served: tuple[str, Any]) -> None:
    program, playwright = require("chromium"), require_module("playwright.sync_api")
    address, widget = served
    questions: list[str] = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))

        def asked(message: Any) -> None:
            questions.append(message["question"]["kind"])
            if alive:
                answers: list[Any] = []
                widget.send = answers.append
                widget._asked(widget, message, [])
                page.evaluate("message => window.tell(message)", answers[0])

        page.expose_function("given", lambda: {"state": widget.state, "known": widget.known})
        page.expose_function("asked", asked)
        page.goto(address)
        cells = page.locator(".explorer .canvas .cells rect")
        playwright.expect(cells).to_have_count(128, timeout=60_000)
        assert questions == []
        if alive:
            page.get_by_label("Any layout").fill("(8,4):(4,1)")
            playwright.expect(page.locator(".explorer .report td").first).to_have_text("(8,4):(4,1)", timeout=60_000)
        assert complaints == []
        browser.close()
