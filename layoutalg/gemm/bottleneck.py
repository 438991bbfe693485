"""What limits a plan, in words: what alone takes longest, for how much of the predicted time, and what else takes time.

>>> for part in what_limits("issue", 5.55e-6, 7.33e-6, (64, 107), {"ends": 1.78e-6, "waiting": 0}).split("; "):
...     print(part)
issue: engines issue instructions for 76 % of the time
a step of a subgroup has 64 dpas and 43 others
after the first, no step waits for data
first loads and stores: 24 %
>>> what_limits("memory", 19.6e-6, 19.6e-6, (64, 107))
'memory: it moves bytes all the time'
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from layoutalg.core.limits import MAX_EXTENT
from layoutalg.core.units import percent_text
from layoutalg.core.whole_numbers import whole_numbers

__all__ = ["Step", "what_limits"]

Step: TypeAlias = tuple[int, int] | None
"""The dpas of a step of a subgroup, and all its instructions; None where they are not known."""

_BUSY = {
    "matrix": "matrix engines multiply",
    "tile unit": "the tile unit multiplies",
    "issue": "engines issue instructions",
    "instructions": "engines issue instructions",
    "waiting": "waits and instructions of a subgroup follow one another",
    "L1": "it gives bytes to registers",
    "L2": "it gives bytes to L1",
    "L3": "it gives bytes to the caches above",
    "memory": "it moves bytes",
}
_OF_INSTRUCTIONS = ("matrix", "issue", "instructions")
_REST = {
    "waiting": "waits for data",
    "ends": "first loads and stores",
    "start": "the wait for the first data",
    "combining": "the second kernel",
    "reduction": "adding the parts of k",
    "caches": "waits for caches",
    "C": "loads and stores of C",
    "calls": "calls",
    "packing": "packing",
    "epilogue": "the epilogue",
}
"""The parts of a predicted time that no limit has."""
_LEAST = 0.02
"""The part of the time below which nothing is said of it."""


def what_limits(
    name: str, alone: float, whole: float, step: Step = None, parts: Mapping[str, float] | None = None
) -> str:
    """What limits a plan of `whole` seconds: `name` alone takes `alone`; `step` has the dpas and all instructions of one.

    `parts` are seconds that the whole is made of. Raises `VerificationError` for a step that isn't two whole numbers.

    >>> what_limits("L3", 8e-6, 9e-6)
    'L3: it gives bytes to the caches above for 89 % of the time'
    """
    alone, whole = float(alone), float(whole)  # a symbol would read a text
    long = "all the time" if alone >= (1 - _LEAST) * whole else f"for {percent_text(alone / whole)} of the time"
    told = [f"{name}: {_BUSY[name]} {long}"]
    told += ["others are too few to fill its waits"] * (name == "waiting")
    if step is not None:
        dpas, instructions = whole_numbers(step, "step", 0, MAX_EXTENT, 2)
        told += [f"a step of a subgroup has {dpas} dpas and {instructions - dpas} others"] * (name in _OF_INSTRUCTIONS)
    if name in _OF_INSTRUCTIONS and parts is not None and parts.get("waiting", whole) < _LEAST * whole:
        told.append("after the first, no step waits for data")
    found = {} if parts is None else {words: parts.get(part, 0.0) / whole for part, words in _REST.items()}
    rest = sorted(((part, words) for words, part in found.items() if part >= _LEAST), reverse=True)
    told += [", ".join(f"{words}: {percent_text(part)}" for part, words in rest)] * bool(rest)
    return "; ".join(told)
