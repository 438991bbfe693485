"""The file of a sweep: a line of JSON for every row, so that a sweep which was stopped can go on.

The first line says what wrote the file; every other line is the key of a problem and its row:

>>> import tempfile
>>> folder = tempfile.TemporaryDirectory()
>>> path = Path(folder.name) / "rows.jsonl"
>>> row = lost_row({"m": 64, "n": 64, "k": 64}, "an example")
>>> with appending(path) as write:
...     write("a", row)
>>> print(path.read_text()[:78])
{"format": "layoutalg sweep", "version": 1}
{"key": "a", "row": {"m": 64, "n":
>>> rows_in(path) == {"a": row}
True
>>> folder.cleanup()

A line is written whole and at once; of a machine that stops in the middle of one, the torn line is left out when the file is
read, and cut off before more is written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from layoutalg.core.errors import LayoutError
from layoutalg.core.messages import shown
from layoutalg.gemm.plan_row import COLUMNS, Row, lost_row

__all__ = ["appending", "lost_row", "rows_in"]

_BEGINNING = '{"format": "layoutalg sweep", "version": 1}\n'
_LONGEST_LINE = 2**16


def rows_in(path: Path) -> dict[str, Row]:
    """The rows of a file by the keys of their problems; none where there is no file.

    Raises `LayoutError` for a file that no sweep wrote, `OSError` for one that cannot be read.
    """
    found: dict[str, Row] = {}
    for number, line in enumerate(_lines(path), 1):
        if number == 1:
            if line != _BEGINNING.encode():
                raise LayoutError(f"{_name(path)}: not a file of `layoutalg sweep`; expected one, or a new name")
            continue
        try:
            read: Any = json.loads(line)
            key, row = read["key"], read["row"]
            if type(key) is not str or type(row) is not dict or list(cast("Row", row)) != list(COLUMNS):
                raise ValueError
        except (ValueError, TypeError, KeyError, RecursionError):
            raise LayoutError(
                f"{_name(path)}, line {number}: not a row of a sweep; `layoutalg sweep` wrote something else there"
            ) from None
        found[key] = cast("Row", row)
    return found


def _lines(path: Path) -> Generator[bytes]:
    """The whole lines of a file; the last one may be torn."""
    if path.is_dir():
        raise LayoutError(f"{_name(path)}: a directory; expected a file")
    if path.exists() and not path.is_file():
        raise LayoutError(f"{_name(path)}: a device or a pipe; expected a file")
    try:
        with path.open("rb") as stream:
            while line := stream.readline(_LONGEST_LINE):
                if line.endswith(b"\n"):
                    yield line
                elif len(line) == _LONGEST_LINE:
                    raise LayoutError(
                        f"{_name(path)}: a line of over {_LONGEST_LINE} bytes; no sweep writes such a file"
                    )
    except FileNotFoundError:
        return


@contextmanager
def appending(path: Path | None) -> Generator[Callable[[str, Row], None]]:
    """A function that adds a row to the file; without a path it does nothing."""
    if path is None:
        yield lambda key, row: None
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as stream:
        _cut_torn_line(stream.fileno())
        if os.fstat(stream.fileno()).st_size == 0:
            stream.write(_BEGINNING.encode())
            stream.flush()

        def write(key: str, row: Row) -> None:
            stream.write(json.dumps({"key": key, "row": row}).encode() + b"\n")
            stream.flush()

        yield write


def _cut_torn_line(handle: int) -> None:
    size = os.fstat(handle).st_size
    start = max(0, size - _LONGEST_LINE)
    end = os.pread(handle, size - start, start)
    os.ftruncate(handle, start + end.rfind(b"\n") + 1)


def _name(path: Path) -> str:
    return str(path) if str(path).isprintable() else shown(str(path))
