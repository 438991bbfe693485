"""Pages of others, open in the same browser, and `layoutalg serve`: they neither read it, nor ask it, nor show it."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.oracle.test_explorer_in_chromium import address, chromium, expect

__all__ = ["address", "chromium", "expect"]

TRIED = """async (base) => {
  const body = JSON.stringify({ kind: "choices" });
  const json = { method: "POST", body, headers: { "Content-Type": "application/json", "X-Layoutalg-Token": "guessed" } };
  const tries = {
    read: () => fetch(base),
    "read unseen": () => fetch(base, { mode: "no-cors" }),
    ask: () => fetch(`${base}ask`, json),
    "ask as a form": () => fetch(`${base}ask`, { method: "POST", body, mode: "no-cors" }),
    run: () => import(`${base}main.js`),
  };
  const got = [];
  for (const [name, one] of Object.entries(tries)) await one().then(() => got.push(name), () => {});
  return got;
}"""


class _Empty(BaseHTTPRequestHandler):
    """A page without anything on it."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!DOCTYPE html><title>another page</title>")

    def log_message(self, format: str, *args: Any) -> None:
        del format, args


@pytest.fixture
def other() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Empty) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_another_page_gets_nothing_from_the_explorer(other: str, chromium: Any, address: str, expect: Any) -> None:
    context = chromium.new_context()
    mine, page = context.new_page(), context.new_page()
    mine.goto(address)
    page.goto(other)
    assert page.evaluate(TRIED, address.partition("#")[0]) == []
    page.evaluate(
        "base => document.body.append(Object.assign(document.createElement('iframe'), { src: base }))", address
    )
    page.wait_for_timeout(500)
    assert page.frames[-1].locator("#explorer").count() == 0
    assert page.evaluate("Object.keys(localStorage)") == []
    expect(mine.locator("#panel-layout .card svg").first).to_be_visible()  # and the explorer's own page is answered
    context.close()
