"""Pictures as files: the question `export`, in every format that `Picture.save` writes, and reports as text.

>>> found = export(Question({"of": {"kind": "layout", "text": "d0 = 4@lane"}, "format": "text"}))
>>> found["name"], found["type"], base64.b64decode(found["base64"])[:21]
('layout.txt', 'text/plain', b'input: d0 = 4@lane\\nsh')
"""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from layoutalg.core.errors import LayoutError
from layoutalg.explorer.conversions import banks, banks_asked, conversion_asked, convert
from layoutalg.explorer.layouts import compared, layout, picture_asked, same, shape_of
from layoutalg.explorer.listings import algebra
from layoutalg.explorer.plans import gemm, gemm_text, planned
from layoutalg.explorer.questions import Question, about

if TYPE_CHECKING:
    from layoutalg.viz.picture import Picture

__all__ = ["export"]

_REPORTS: dict[str, Callable[[Question], dict[str, Any]]] = {
    "layout": layout,
    "same": same,
    "convert": convert,
    "gemm": gemm,
    "algebra": algebra,
    "banks": banks,
}
_TEXT = "text"
_SUFFIXES = {"tikz": "tex", "markdown": "md"}
"""What the page calls a format, and the ending of its files, where the two differ."""


def export(asked: Question) -> dict[str, Any]:
    """A file of what another question is answered with: its name, its type and its content in base64."""
    from layoutalg.viz.picture import FORMATS

    with about("of"):
        if not isinstance(asked.get("of"), Mapping):
            raise LayoutError("of: expected a question, such as one of kind 'layout'")
        of = Question(cast("Mapping[str, object]", asked.get("of")))
    kind = of.choice("kind", tuple(_REPORTS))
    endings = {name: name for name in FORMATS} | {name: end for name, end in _SUFFIXES.items() if end in FORMATS}
    chosen = asked.choice("format", (*endings, _TEXT))
    if chosen == _TEXT:
        text = gemm_text(of) if kind == "gemm" else _lines(_REPORTS[kind](of))
        return _file(f"{kind}.txt", "text/plain", text.encode())
    with about("format"):
        name = f"{kind}.{endings[chosen]}"
        kind_of_file = mimetypes.guess_type(name)[0] or "application/octet-stream"
        return _file(name, kind_of_file, _picture(kind, of).encoded(endings[chosen]))


def _file(name: str, kind: str, content: bytes) -> dict[str, Any]:
    return {"name": name, "type": kind, "base64": base64.b64encode(content).decode()}


def _lines(answer: Mapping[str, Any]) -> str:
    """A report as lines."""
    rows = [f"{label}: {text}" if label else text for label, text in answer.get("report", ())]
    found = [*rows, *answer.get("steps", ())] if "result" in answer else rows
    return "\n".join([*found, *([answer["sentence"]] if "sentence" in answer else [])]) + "\n"


def _picture(kind: str, of: Question) -> Picture:
    from layoutalg.show.cute_algebra import describe_expression

    if kind == "layout":
        value, machine = of.value("text"), of.machine()
        return picture_asked(of, value, shape_of(of, value, machine), machine)
    if kind == "algebra":
        return describe_expression(of.text("expression")).picture()
    if kind == "same":
        return compared(of).picture()
    if kind == "gemm":
        return planned(of).picture()
    if kind == "banks":
        return banks_asked(of).picture()
    return conversion_asked(of).plan.picture()
