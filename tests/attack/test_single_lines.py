"""Every single change of a module: each line of each module is lost, doubled, or the last one; each word is lost once.

A changed module goes through the entries of `test_modules`: all of them for a line, the next one in turn for a word.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.attack import real_files
from tests.attack.effort import PARTS
from tests.attack.isolated import Sweep, run
from tests.attack.test_modules import CALLS, Case, Modules

ENTRIES = tuple(name for name in CALLS if name not in ("used before", "kept"))
"""The others choose a module themselves, or run it many times."""


class Change(NamedTuple):
    entry: str
    module: int
    way: str
    at: int


class SingleLines(Sweep, Modules):
    most = 400_000
    lasting = ENTRIES

    def listed(self) -> Iterator[Change]:
        """Changes, not texts: those of a text that is written out have hundreds of megabytes."""
        turn = itertools.cycle(ENTRIES)
        for module, text in enumerate(real_files.corpus()):
            for at in range(text.count("\n") + 1):
                yield from (Change(entry, module, way, at) for way in WAYS for entry in ENTRIES)
            for at, word in enumerate(real_files.words(text)):
                if not word.isspace():
                    yield Change(next(turn), module, "a word is lost", at)

    def numbered(self, seed: int, number: int) -> Case | None:
        change: Change | None = super().numbered(seed, number)
        return None if change is None else Case(change.entry, _changed(change), change.at)


WAYS = ("a line is lost", "a line is doubled", "the text ends")


def _changed(change: Change) -> str:
    text, at = real_files.corpus()[change.module], change.at
    if change.way == "a word is lost":
        found = real_files.words(text)
        return "".join(found[:at] + found[at + 1 :])
    lines = text.split("\n")
    after = {"a line is lost": lines[at + 1 :], "a line is doubled": [lines[at], *lines[at:]], "the text ends": []}
    return "\n".join(lines[:at] + after[change.way])


@pytest.mark.parametrize("part", range(PARTS))
def test_every_line_and_word_is_lost_once(part: int, tmp_path: Path) -> None:
    run(SingleLines, part, 6_000, tmp_path)
