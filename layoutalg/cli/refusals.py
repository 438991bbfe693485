"""How a command says that it cannot answer: a line on standard error, the text with a caret where the place is known.

>>> error = la.LayoutError("k.mlir: line 1, column 4: ...", place=TextPlace("%0 ?", 1, 4, "k.mlir"))
>>> print("\\n".join(refusal_lines(error, 80)))
layoutalg: k.mlir: line 1, column 4: ...
%0 ?
   ^
>>> error_facts(error)["error"]["column"]
4

The first line stands alone for people who search logs; under `--json` standard output has the same as one object, so that
a program that reads it always finds JSON there.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

from layoutalg.core.errors import TextPlace
from layoutalg.core.messages import excerpt, shortened

__all__ = ["asks_for_json", "error_facts", "refusal_lines", "refuse"]


def asks_for_json(arguments: Sequence[str]) -> bool:
    """Whether a command line asks for JSON, even one that is otherwise wrong.

    >>> asks_for_json(["verify", "--format", "json"]), asks_for_json(["show", "--", "--json"])
    (True, False)
    """
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options or "--format=json" in options or ("--format", "json") in pairwise(options)


def error_facts(error: Exception | str) -> dict[str, Any]:
    """An error as JSON: its kind, its words, and where in the text it is (None where that is not known)."""
    place = _place(error)
    facts: dict[str, Any] = {
        "kind": "Error" if isinstance(error, str) else type(error).__name__,
        "message": _words(error),
    }
    return {"error": facts | {name: getattr(place, name, None) for name in ("file", "line", "column")}}


def refusal_lines(error: Exception | str, width: int) -> list[str]:
    """The line of an error; where its place in a text is known, also the line of the text, and the caret below it."""
    said, place = f"layoutalg: {_words(error)}", _place(error)
    if place is None:
        return [said]
    lines = place.text.split("\n", place.line)
    source, caret = excerpt(lines[min(place.line, len(lines)) - 1], place.column, width)
    return [said, source, caret] if source else [said]


def refuse(error: Exception | str, *, as_json: bool = False) -> int:
    """Print why a command has no answer; with `as_json` also as JSON. Returns exit code 2."""
    lines = refusal_lines(error, shutil.get_terminal_size().columns)
    with suppress(OSError, ValueError):
        if as_json and sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison]
            print(json.dumps(error_facts(error)), flush=True)
    with suppress(OSError, ValueError):
        if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison] (closed: print would take standard output)
            print("\n".join(lines), file=sys.stderr)
    return 2


def _place(error: Exception | str) -> TextPlace | None:
    return getattr(error, "place", None)


def _words(error: Exception | str) -> str:
    from click import ClickException

    said = error.format_message() if isinstance(error, ClickException) else str(error)
    return shortened(" ".join(said.split()))
