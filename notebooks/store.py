"""Execute the notebooks of this directory and store them with what they print: `python notebooks/store.py`.

With `--check` nothing is stored: a notebook that fails, or prints something else than what is stored, is an error that
shows where they differ (images in PNG are left out: they depend on the fonts of the machine).

A stored notebook shows its pictures to a reader who runs nothing, and a review shows what changed in them. Both need a
file that depends on the cells and on the library alone, so a notebook is stored without what varies from run to run: cells
are numbered c01, c02, ..., executions count from 1, what a cell prints is one stream however many writes it was, and the
metadata are the kernel's name and the language. Storing twice gives the same bytes.

Named on the command line, only those notebooks are stored: `python notebooks/store.py notebooks/4_amx_tiles.ipynb`.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

__all__ = ["differences", "execute", "main", "stored_text"]

HERE = Path(__file__).parent
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
SECONDS = 120
"""The longest that one cell may take."""


def execute(notebook: Any) -> Any:
    """Run all cells from top to bottom in a new kernel; the outputs are in the notebook afterwards.

    Raises `nbclient.exceptions.CellExecutionError` with the cell and its traceback for a cell that fails.
    """
    client = NotebookClient(
        notebook,
        timeout=SECONDS,
        kernel_name="python3",
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(HERE)}},
        coalesce_streams=True,
        record_timing=False,
    )
    return client.execute()


def stored_text(notebook: Any) -> str:
    """The file's text: keys in order, cells and executions numbered, one newline at the end.

    >>> cell = nbformat.v4.new_code_cell("1 + 1", id="a1b2c3", metadata={"collapsed": False})
    >>> stored = nbformat.reads(stored_text(nbformat.v4.new_notebook(cells=[cell])), as_version=4)
    >>> stored.cells[0].id, stored.cells[0].metadata, stored.cells[0].execution_count
    ('c01', {}, 1)
    """
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    executions = 0
    for number, cell in enumerate(notebook.cells, 1):
        cell.id, cell.metadata = f"c{number:02}", nbformat.from_dict({})
        if cell.cell_type != "code":
            continue
        executions += 1
        cell.execution_count = executions
        for output in cell.outputs:
            if "metadata" in output:
                output.metadata = nbformat.from_dict({})
            if output.output_type == "execute_result":
                output.execution_count = executions
    nbformat.validate(notebook)
    return nbformat.writes(notebook).rstrip("\n") + "\n"


def differences(stored: str, text: str, name: str) -> list[str]:
    """The lines in which two texts of a notebook differ, each cut to what a terminal shows, images in PNG left out.

    >>> differences('"image/png": "abc",', '"image/png": "def",', "1.ipynb")
    []
    """
    before, after = (re.sub(r'"image/png": "[^"]*"', "", one).splitlines() for one in (stored, text))
    return [
        line[:200] for line in difflib.unified_diff(before, after, f"{name}, stored", f"{name}, now", "", "", 1, "")
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Store the notebooks that are named, or all of this directory; with `--check` compare them."""
    named = list(sys.argv[1:] if arguments is None else arguments)
    check = "--check" in named
    paths = [Path(name) for name in named if name != "--check"] or sorted(HERE.glob("*.ipynb"))
    wrong = 0
    for path in paths:
        notebook = execute(nbformat.read(path, as_version=4))
        text = stored_text(notebook)
        if check:
            found = differences(path.read_text(encoding="utf-8"), text, path.name)
            wrong += bool(found)
            print(f"{path.name}: {'prints something else than what is stored' if found else 'as stored'}")
            print(*found, sep="\n", end="\n" if found else "")
        else:
            path.write_text(text, encoding="utf-8", newline="\n")
            print(f"{path.name}: {len(notebook.cells)} cells, {len(text.encode())} bytes")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
