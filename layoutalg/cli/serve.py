"""`layoutalg serve`: the explorer, a page on this machine."""

from __future__ import annotations

import signal
import sys
import tempfile
import webbrowser
from contextlib import ExitStack
from html import escape
from pathlib import Path
from typing import NoReturn

import click

from layoutalg.cli.arguments import TEXT, json_option, print_json, read_source
from layoutalg.core.errors import LayoutError

__all__ = ["serve"]

_USUAL = 8729


@click.command(short_help="Open the explorer: a page on this machine for all questions.")
@click.argument("text", type=TEXT, required=False)
@click.argument("shape", required=False)
@click.option(
    "--port", type=click.IntRange(0, 65535), help="The port; 0 for a free one.  [default: 8729, or a free one]"
)
@click.option("--no-open", is_flag=True, help="Open no browser.")
@json_option
def serve(text: str | None, shape: str | None, port: int | None, no_open: bool, as_json: bool) -> None:
    """Serve the explorer on 127.0.0.1 and open it in a browser: paste a text, see who holds what, compare, convert, export.

    It begins with TEXT (or a file, or `-` for standard input) and SHAPE. The address that is printed has a token, and whoever
    has it may ask. Ctrl-C ends the server.
    """
    from layoutalg.core.written import as_shape
    from layoutalg.explorer.server import Explorer
    from layoutalg.module.module import Module
    from layoutalg.module.texts import value_or_module

    state: dict[str, str] = {}
    if text is not None:
        source, name = read_source(text)
        is_file = isinstance(value_or_module(source, name), Module)
        state = {"tab": "file", "file": source} if is_file else {"tab": "layout", "text": source}
    if shape is not None:
        as_shape(shape)
        state["shape"] = shape
    try:
        server = Explorer(_USUAL if port is None else port)
    except LayoutError:
        if port is not None:
            raise
        server = Explorer(0)
    address = server.address_of(state)
    before = signal.signal(signal.SIGTERM, _stop)
    with ExitStack() as opened:
        opened.callback(signal.signal, signal.SIGTERM, before)
        opened.callback(server.server_close)
        try:
            if as_json:
                print_json({"address": address, "port": server.server_port, "token": server.token})
            else:
                print(f"explorer: {address}\nCtrl-C ends it")
            sys.stdout.flush()
            if not no_open:
                _open(address, Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="layoutalg-"))))
            server.serve_forever()
        except KeyboardInterrupt:
            if not as_json:
                print("\nexplorer ended")


def _stop(_signal: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _open(address: str, folder: Path) -> None:
    """Open a file that leads to the address: everybody sees a browser's arguments, and none but its owner reads the file."""
    file = folder / "explorer.html"
    file.write_text(f'<!DOCTYPE html><meta http-equiv="refresh" content="0; url={escape(address)}">', encoding="utf-8")
    webbrowser.open(file.as_uri())
