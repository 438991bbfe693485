"""What is stored of the notebooks: complete, the same wherever it was stored, and showing without a network.

Executing them, and comparing what they print, is `make notebooks`; here their files are read as JSON, and no kernel is
needed. (`notebooks/store.py` is what writes them.)
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
NAMES = (
    "1_reading_an_xegpu_layout",
    "2_dpas_and_vnni",
    "3_nested_layouts_and_matrix_intrinsics",
    "4_amx_tiles",
    "5_gemm",
    "6_conversions",
    "7_propagation",
    "8_amx_gemm",
)
PICTURES = {"text/html", "image/png"}

pytestmark = pytest.mark.parametrize("name", NAMES)


def stored(name: str) -> dict[str, Any]:
    return json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))


def code_cells(name: str) -> list[dict[str, Any]]:
    return [cell for cell in stored(name)["cells"] if cell["cell_type"] == "code"]


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def texts(name: str) -> Iterator[str]:
    """All sources and all outputs; the bytes of images are left out, which may spell anything."""
    for cell in stored(name)["cells"]:
        yield source(cell)
        for output in cell.get("outputs", ()):
            yield "".join(output.get("text", ()))
            for kind, value in output.get("data", {}).items():
                if not kind.startswith("image/") or kind == "image/svg+xml":
                    yield re.sub(r"base64,[A-Za-z0-9+/=]+", "base64,", "".join(value))


def test_the_file_is_in_the_one_form_that_is_stored(name: str) -> None:
    notebook = stored(name)
    text = json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    assert (NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8") == text
    assert notebook["metadata"] == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    assert [cell["id"] for cell in notebook["cells"]] == [f"c{n:02}" for n in range(1, len(notebook["cells"]) + 1)]
    assert not any(cell["metadata"] for cell in notebook["cells"])


def test_it_was_executed_from_top_to_bottom(name: str) -> None:
    cells = code_cells(name)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))


def test_every_cell_that_prints_or_shows_has_its_output(name: str) -> None:
    for cell in code_cells(name):
        tree = ast.parse(source(cell))
        calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        prints = any(isinstance(call, ast.Name) and call.id == "print" for call in calls)
        last = tree.body[-1]
        shows = isinstance(last, ast.Expr) and not ast.unparse(last).startswith("print(")
        kinds = [output["output_type"] for output in cell["outputs"]]
        assert ("stream" in kinds) == prints, source(cell)
        assert bool({"execute_result", "display_data"} & set(kinds)) == shows, source(cell)


def test_what_is_shown_is_a_picture(name: str) -> None:
    shown = [output["data"] for cell in code_cells(name) for output in cell["outputs"] if "data" in output]
    assert 3 <= len(shown) <= 8
    assert all(PICTURES & set(data) for data in shown)


def test_no_cell_failed_or_warned(name: str) -> None:
    for cell in code_cells(name):
        for output in cell["outputs"]:
            assert output["output_type"] != "error", source(cell)
            assert output.get("name", "stdout") == "stdout", source(cell)
            assert "Warning" not in "".join(output.get("text", ())), source(cell)


def test_every_exercise_has_an_executed_answer(name: str) -> None:
    cells = stored(name)["cells"]
    exercises = next(source(cell) for cell in cells if source(cell).startswith("## Exercises"))
    answers = [
        (source(cell).splitlines()[0], following["cell_type"])
        for cell, following in zip(cells, [*cells[1:], {"cell_type": ""}], strict=True)
        if source(cell).startswith("### Answer")
    ]
    count = len(re.findall(r"^\d+\. ", exercises, re.MULTILINE))
    assert count >= 3
    assert answers == [(f"### Answer {n}", "code") for n in range(1, count + 1)]


def test_it_says_first_what_it_answers(name: str) -> None:
    first = stored(name)["cells"][0]
    assert first["cell_type"] == "markdown"
    assert re.match(r"# [^\n]+\n\n", source(first))
    assert "t the end" in source(first)


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?<![\w.])/(?:home|root|tmp|work|usr|opt|var|mnt|Users)/",  # an absolute path
        r"\b[A-Za-z]:\\\w",
        r"\b0x[0-9a-fA-F]{7,}\b",  # an address in memory
        r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d",  # a time
    ],
)
def test_nothing_tells_where_or_when_it_was_stored(name: str, pattern: str) -> None:
    for text in texts(name):
        assert not re.search(pattern, text), re.search(f".{{0,80}}(?:{pattern}).{{0,80}}", text)


@pytest.mark.parametrize(
    "pattern", [r"(?:src|href)\s*=\s*[\"']?\s*(?:\w+:)?//", r"url\(\s*[\"']?\s*(?:\w+:)?//", "@import"]
)
def test_pictures_load_nothing_from_the_network(name: str, pattern: str) -> None:
    for text in texts(name):
        assert not re.search(pattern, text), re.search(f".{{0,80}}(?:{pattern}).{{0,80}}", text)


def test_it_stays_small(name: str) -> None:
    assert (NOTEBOOKS / f"{name}.ipynb").stat().st_size < 3 * 2**20
