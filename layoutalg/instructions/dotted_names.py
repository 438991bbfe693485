"""Mnemonics with dots, complete or not: which of the known ones a text means.

A mnemonic is words between dots. A text means a mnemonic whose words include its own, in their order, the first being the same:

>>> known = ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16")
>>> matching("ldmatrix.x4.trans", known)
('ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16',)

Some words say nothing new (`sync`, `aligned`): they may be left out. A text that leaves out only such words is preferred to one
that leaves out more, which is why `ldmatrix.x4` is the first of the two, and not both:

>>> matching("ldmatrix.x4", known)
('ldmatrix.sync.aligned.m8n8.x4.shared.b16',)
"""

from __future__ import annotations

from collections.abc import Iterable

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


def _left_out(words: list[str], whole: list[str]) -> list[str] | None:
    """The words of `whole` that `words` leaves out; None where it is not a part of it.

    Qualifiers with `::` stand in different places in different documents: only whether they are there counts.
    """
    if not words[0] or words[0] != whole[0]:
        return None
    given = [word for word in words if "::" in word]
    left = [word for word in whole if "::" in word and word not in given]
    if not set(given) <= set(whole):
        return None
    ordered = [word for word in words if "::" not in word]
    place = 0
    for word in whole:
        if "::" in word:
            continue
        if place < len(ordered) and ordered[place] == word:
            place += 1
        else:
            left.append(word)
    return left if place == len(ordered) else None
