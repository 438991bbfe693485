"""What a refusal of the command line looks like, for every test that meets one.

One line that begins with `layoutalg: `; where the place in a text is known, the line of the text and a caret below it.
"""

from __future__ import annotations

import json
import re
from typing import Any

_LONGEST = 3000


def wrong_refusal(err: str) -> str | None:
    """What is wrong with the standard error of a command that exited with 2; None where it is as it should be.

    >>> wrong_refusal("layoutalg: line 1, column 2: expected ...\\n(?\\n ^\\n")
    >>> wrong_refusal("layoutalg: no\\nand more\\n")
    'a second line that is no text with a caret'
    """
    if not err.startswith("layoutalg: ") or not err.endswith("\n"):
        return "no line of words"
    if len(err) > _LONGEST:
        return f"{len(err)} characters"
    if "Traceback" in err:
        return "a traceback"
    _, *below = err.removesuffix("\n").split("\n")
    if below and not (len(below) == 2 and re.fullmatch(r" *\^", below[1]) and len(below[1]) <= len(below[0]) + 1):
        return "a second line that is no text with a caret"
    return None


def wrong_json_refusal(out: str) -> str | None:
    """What is wrong with the standard output of a command with `--json` that exited with 2."""
    try:
        found: Any = json.loads(out)
    except ValueError as error:
        return f"standard output is not one JSON value ({error}): {out[:200]!r}"
    try:
        return None if found["error"]["message"] else "an error without a message"
    except (TypeError, KeyError):
        return f"no error with a message in {out[:200]!r}"
