"""Mnemonics with dots, complete or not: which of the known ones a text means.

A mnemonic is words between dots. A text means a mnemonic that has its words, the first being the same, types in their order:

>>> known = ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16")
>>> matching("ldmatrix.x4.trans", known)
('ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16',)

Some words say nothing new (`sync`, `aligned`): they may be left out. A text that leaves out only such words is preferred to one
that leaves out more, which is why `ldmatrix.x4` is the first of the two, and not both:

>>> matching("ldmatrix.x4", known)
('ldmatrix.sync.aligned.m8n8.x4.shared.b16',)
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from layoutalg.core.whole_numbers import instance_of

__all__ = ["matching"]

_SILENT = frozenset(
    ("sync", "aligned", "row", "col", "shared", "shared::cta", "m8n8", "b16", "b32", "mma_async", "cta_group::1")
)
"""Words that a text may leave out without meaning something else."""

_MODIFIERS = frozenset(("trans", "satfinite", "sp", "sp::ordered_metadata", "pack::16b", "unpack::16b", "block_scale"))
"""Words that a text without them does not mean."""


def matching(text: str, known: Iterable[str]) -> tuple[str, ...]:
    """The mnemonics that a text means.

    >>> matching("mma.m16n8k16", ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "mma.sync.aligned.m16n8k8.row.col.f32"))
    ('mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32',)
    """
    instance_of(text, str, "text")
    words = text.lower().split(".")
    plain: list[str] = []
    short: list[str] = []
    modified: list[str] = []
    for candidate in known:
        left = _left_out(words, candidate.lower().split("."))
        if left is None:
            continue
        if set(left) <= _SILENT:
            plain.append(candidate)
        elif set(left) & _MODIFIERS:
            modified.append(candidate)
        else:
            short.append(candidate)
    return tuple(plain or short or modified)


_TYPE = re.compile(r"(?:[fsub][0-9]+|bf16|tf32|e[0-9]m[0-9]|ue[0-9]m[0-9]|row|col)\Z")


def _left_out(words: list[str], whole: list[str]) -> list[str] | None:
    """The words of `whole` that `words` leaves out; None where it is not a part of it.

    The order of types and of `row` and `col` says which operand has which. Other words stand in different places in different
    documents (`x4.m8n8`, `m8n8.x4`), so only whether they are there counts.
    """
    if not words[0] or words[0] != whole[0]:
        return None
    left: list[str] = []
    ordered = [word for word in words if _TYPE.match(word)]
    others = [word for word in words if not _TYPE.match(word)]
    place = 0
    for word in whole:
        if _TYPE.match(word):
            if place < len(ordered) and ordered[place] == word:
                place += 1
            else:
                left.append(word)
        elif word in others:
            others.remove(word)
        else:
            left.append(word)
    return left if place == len(ordered) and not others else None
