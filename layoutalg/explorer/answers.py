"""Answers: one function from a question to an answer, both as JSON has them. It keeps nothing, and never fails for bad input.

>>> answer({"kind": "same", "first": "d0 = 4@lane", "second": "#xegpu.layout<lane_layout = [4], lane_data = [1]>"})["same"]
True
>>> answer({"kind": "layout", "text": "(8,"})["error"]["column"]
4

Nothing is worked out here: each kind asks the room that knows. An answer of more than 8 MiB is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pkgutil import resolve_name
from typing import Any

from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import LONGEST_ANSWER
from layoutalg.explorer.questions import FieldError, Question, needs

__all__ = ["KINDS", "answer", "failure"]

KINDS = {
    "layout": "layouts:layout",
    "owner": "layouts:owner",
    "holds": "layouts:holds",
    "same": "layouts:same",
    "convert": "conversions:convert",
    "banks": "conversions:banks",
    "gemm": "plans:gemm",
    "algebra": "listings:algebra",
    "instructions": "listings:instructions",
    "file": "listings:file",
    "export": "exports:export",
    "choices": "listings:choices",
}
"""The kinds of questions, and the function that answers each."""


def answer(question: Mapping[str, object]) -> dict[str, Any]:
    """The answer to a question; for a bad one `{"error": {"message", "field", ...}}`.

    >>> answer({"kind": "holds", "text": "d0 = 2@reg 2@lane", "place": {"lane": 1}})
    {'elements': [[1], [3]]}
    """
    try:
        if not isinstance(question, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise LayoutError('a question is a JSON object, such as {"kind": "layout", "text": "d0 = 4@lane"}')
        asked = Question(question)
        kind: Callable[[Question], dict[str, Any]] = resolve_name(
            f"layoutalg.explorer.{KINDS[asked.choice('kind', tuple(KINDS))]}"
        )
        found = kind(asked)
        if len(json.dumps(found)) > LONGEST_ANSWER:
            raise LayoutError(f"the answer is over {LONGEST_ANSWER:,} bytes: ask for less, such as a smaller shape")
    except FieldError as problem:
        return {"error": problem.facts}
    except LayoutError as problem:
        return failure(str(problem))
    except ModuleNotFoundError as problem:
        return failure(needs(problem))
    return found


def failure(message: str) -> dict[str, Any]:
    """An answer that says why there is none."""
    return {"error": {"message": message, "field": "kind"}}
