"""`la.explore` in JupyterLab and in a page that `jupyter nbconvert` writes, in Chromium, without a network.

A notebook is opened and run as its reader does it; what the widget shows is compared with the library's picture and maps.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import layoutalg as la
from layoutalg.viz.picture import picture_of
from tests.oracle.toolchains import opened_chromium, require_module

TEXT = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
CELLS = (
    f"import layoutalg as la\nla.explore('{TEXT}', (8, 16))",
    "la.parse('d0 = 8@reg, d1 = 16@lane')",
    "la.same('d0 = 8@reg, d1 = 16@lane', 'd0 = 8@lane, d1 = 16@reg')",
)
SENTENCES = [cell.sentence for cell in replace(picture_of(la.parse(TEXT), (8, 16)), paged=False).scene().cells]
TOKEN = "of-this-test"
OTHERS = ".jp-OutputArea .layoutalg svg:visible, .jp-OutputArea .layoutalg img:visible"
"""The pictures of the other cells."""
GONE = "Python does not answer: run the cell once more"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the notebook, and Jupyter's own files."""
    require_module("jupyterlab")
    made = tmp_path_factory.mktemp("jupyter")
    v4 = require_module("nbformat.v4")
    about = {
        "kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)"},
        "language_info": {"name": "python"},
    }
    notebook = v4.new_notebook(cells=[v4.new_code_cell(one) for one in CELLS], metadata=about)
    made.joinpath("layouts.ipynb").write_text(v4.writes(notebook), encoding="utf-8")
    return made


def surroundings(folder: Path) -> dict[str, str]:
    """Where Jupyter keeps its settings: nobody's own are read or written."""
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    own = {name: str(folder / "settings" / name.lower()) for name in names}
    lab = {f"JUPYTERLAB_{name}_DIR": str(folder / "settings" / name.lower()) for name in ("SETTINGS", "WORKSPACES")}
    return {**os.environ, **own, **lab, "PYTHONPATH": str(Path(la.__file__).parents[1])}


@pytest.fixture(scope="module")
def lab(folder: Path) -> Iterator[str]:
    """The address of a JupyterLab that has the notebook."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {
        "ServerApp.ip": "127.0.0.1", "ServerApp.port": port, "ServerApp.port_retries": 0, "ServerApp.root_dir": folder,
        "ServerApp.allow_root": True, "IdentityProvider.token": TOKEN,
    }  # fmt: skip
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        *(f"--{name}={value}" for name, value in options.items()),
    ]
    with subprocess.Popen(
        command, env=surroundings(folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        while server.poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
        server.terminate()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    yield from opened_chromium(60_000)


def choose(page: Any, menu: str, entry: str) -> None:
    page.get_by_role("menuitem", name=menu, exact=True).click()
    page.get_by_role("menuitem").filter(has_text=entry).first.click()


def test_the_widget_runs_in_jupyterlab_and_outlives_its_kernel(lab: str, chromium: Any) -> None:
    expect = require_module("playwright.sync_api").expect
    page = chromium.new_page(viewport={"width": 1300, "height": 1000})
    page.set_default_timeout(60_000)
    page.goto(f"{lab}/lab/tree/layouts.ipynb?token={TOKEN}")
    page.get_by_text("| Idle").wait_for()
    choose(page, "Run", "Run All Cells")
    cells, told, wrong, shown = (
        page.locator(f"#panel-layout {one}") for one in (".cells rect", ".told", ".error", ".report td")
    )
    expect(cells).to_have_count(128)
    for cell in (5, 100):
        cells.nth(cell).hover()
        expect(told).to_have_text(SENTENCES[cell])
    expect(page.locator("[data-layoutalg] img")).to_be_hidden()  # the page stands in its place
    expect(page.locator(OTHERS)).to_have_count(2)

    box = page.get_by_label("Any layout")
    box.fill("(8,4):(4,1)")
    expect(shown.first).to_have_text("(8,4):(4,1)")
    choose(page, "Kernel", "Restart Kernel")
    page.locator(".jp-Dialog .jp-mod-accept").click()
    expect(page.get_by_text("| Idle")).to_be_visible()
    expect(cells).to_have_count(32)
    box.fill("(8,8):(8,1)")
    expect(wrong.first).to_have_text(GONE)
    choose(page, "Run", "Run All Cells")
    expect(cells).to_have_count(128)
    expect(page.get_by_text("| Idle")).to_be_visible()  # while cells run, JupyterLab may draw an output anew
    box.fill("(8,8):(8,1)")
    expect(shown.first).to_have_text("(8,8):(8,1)")
    page.close()


def test_a_static_page_shows_the_first_picture_without_a_network(folder: Path, chromium: Any) -> None:
    command = [
        sys.executable,
        "-m",
        "nbconvert",
        "--to",
        "html",
        "--execute",
        "layouts.ipynb",
        "--output",
        "static.html",
    ]
    subprocess.run(command, cwd=folder, env=surroundings(folder), check=True, capture_output=True, timeout=300)
    context = chromium.new_context(offline=True)
    page = context.new_page()
    page.goto((folder / "static.html").as_uri())
    picture = page.locator("[data-layoutalg] img")
    assert picture.is_visible()
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth > 300)")
    assert picture.get_attribute("src").startswith("data:image/svg+xml;base64,")
    assert page.locator(OTHERS).count() == 2
    context.close()
