"""Signatures of the dialects around XeGPU, written as a table and read into `Signature`s.

    arith.select   condition=BOOL, true_value=ANY, false_value=ANY -> result=ANY

A word in capitals stands for LLVM's words, which differ between versions: `ANY` is "any type" in LLVM 22, "any non-token type"
from 23 on. `name?=` is an operand that may be absent, `name*=` any number of them; `!segments` after the results says that
operandSegmentSizes has their numbers. After `with` stand attributes, `permutation!=array` for one that must be there.

>>> from layoutalg.ir.verify.registry import signature_of
>>> declare("test.pick  condition=BOOL, values*=index -> result=ANY")
>>> signature_of("test.pick", 24).results
(Group(name='result', words='any non-token type', count='1'),)
"""

from __future__ import annotations

import re

from layoutalg.ir.verify.registry import Group, Signature, sign

__all__ = ["declare"]

_WORDS = {
    "ANY": ("any type", "any non-token type"),
    "NONZERO": ("any type", "non-zero-bitwidth type"),
    "INT": ("signless-integer-like", "signless-non-zero-bitwidth-integer-like"),
    "FIXED": ("signless-fixed-width-integer-like",) * 2,
    "FLOAT": ("floating-point-like",) * 2,
    "BOOL": ("bool-like",) * 2,
    "INDEX_OR_INT": (
        "signless-integer-like or memref of signless-integer",
        "signless-non-zero-bitwidth-integer-like or memref of signless-integer",
    ),
    "BITS": (
        "signless-integer-or-float-like or memref of signless-integer or float",
        "non-zero-bitwidth-signless-integer-or-float-like or memref of non-zero-bitwidth signless integer or float",
    ),
    "REALS": ("vector of floating-point values",) * 2,
    "BOUND": ("signless integer or index",) * 2,
    "UNRANKED": (
        "ranked or unranked memref of any type values",
        "ranked or unranked memref of any non-token type values",
    ),
    "STRIDED": ("strided memref of any type values", "strided memref of any non-token type values"),
    "LANE": ("Integer or Float or fixed-length vector of Integer or Float values of ranks 1",) * 2,
    "STEPS": (
        "vector of index values of ranks 1",
        "vector of index or signless integer of at least 8 bits values of ranks 1",
    ),
}
_CAPITALS = re.compile(r"\b[A-Z_]{3,}\b")
_VERSIONS = ((22,), (23, 24))


def declare(table: str) -> None:
    """Read a table, an operation per line, and tell the registry.

    >>> declare("test.nothing ->")
    """
    for line in table.strip().splitlines():
        name, _, rest = line.strip().partition(" ")
        inputs, _, outputs = rest.partition("->")
        outputs, _, given = outputs.partition(" with ")
        outputs, marked, _ = outputs.partition("!segments")
        attributes = tuple((name, kind) for name, _, kind in (part.rpartition("=") for part in given.split()))
        for number, versions in enumerate(_VERSIONS):
            sign(Signature(name, _groups(inputs, number), _groups(outputs, number), attributes, bool(marked), versions))


def _groups(listed: str, number: int) -> tuple[Group, ...]:
    found: list[Group] = []
    for one in filter(None, (part.strip() for part in listed.split(","))):
        name, _, words = one.partition("=")
        count = name[-1] if name[-1] in "?*" else "1"
        words = _CAPITALS.sub(lambda word: _WORDS[word[0]][number], words)
        found.append(Group(name.rstrip("?*"), words, count))
    return tuple(found)
