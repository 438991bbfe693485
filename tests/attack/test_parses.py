"""Any text: `parse` reads it or raises LayoutError, in less than 50 ms and a few megabytes.

What is read prints a text that is read as the same value, has a hash and a repr, and can be pickled.
"""

from __future__ import annotations

import pickle
import random
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.attack import texts
from tests.attack.effort import PARTS, slowness
from tests.attack.isolated import Attack, Complaint, complaint_about, run

_MILLISECONDS = 50
_LONGEST_ERROR = 1000


class Parses(Attack):
    seconds = 1.0  # all of an attempt; the parse alone is measured in `attempt`
    lasting = ("read", "refused")

    def prepare(self, seed: int, first: int, count: int) -> None:
        import layoutalg as la

        self.la = la
        la.parse("d0 = 3*M/(K + 1)@reg 4@lane")  # sympy imports what it needs
        for text in map(texts.valid, (random.Random(f"{seed} warm {i}") for i in range(100))):
            self._parse(text)
        self.asked = 0

    def case(self, rng: random.Random) -> str:
        return texts.text(rng)

    def smaller(self, case: str) -> Iterator[str]:
        return texts.smaller(case)

    def attempt(self, case: str) -> Complaint | None:
        self.asked += 1
        start = time.thread_time()
        try:
            value = self.la.parse(case)
        except self.la.LayoutError as error:
            found = self._wrong_words(str(error), case)
            value = None
        except Exception as error:
            return complaint_about(error)
        else:
            found = None
        took = time.thread_time() - start
        if took > _MILLISECONDS / 1000:
            took = self._repeated(case)
            if took > _MILLISECONDS / 1000 * slowness():
                return Complaint("a slow parse", f"{took * 1000:.0f} ms for {len(case)} characters")
        if found is None and self.asked % 40 == 0:
            found = self._memory(case)
        self.tally["refused" if value is None else "read"] += 1
        return found if found is not None or value is None else self._round_trip(value)

    def _parse(self, text: str) -> Any:
        try:
            return self.la.parse(text)
        except self.la.LayoutError:
            return None

    def _repeated(self, text: str) -> float:
        took: list[float] = []
        for _ in range(4):
            start = time.thread_time()
            self._parse(text)
            took.append(time.thread_time() - start)
        return min(took)

    def _wrong_words(self, words: str, case: str) -> Complaint | None:
        if not words.strip() or "\n" in words or len(words) > _LONGEST_ERROR:
            return Complaint(
                "an error's words", f"{len(words)} characters, {words.count(chr(10))} newlines: {words[:200]!r}"
            )
        return None

    def _memory(self, text: str) -> Complaint | None:
        tracemalloc.start()
        try:
            self._parse(text)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        if peak > 2**20 + 64 * len(text):
            return Complaint("memory of a parse", f"{peak} bytes for {len(text)} characters")
        return None

    def _round_trip(self, value: Any) -> Complaint | None:
        printed = str(value)
        again = self.la.parse(printed)
        if again != value or value != again or hash(again) != hash(value):
            return Complaint("printed and read again", f"{printed!r} is read as {again!r}")
        if not repr(value) or pickle.loads(pickle.dumps(value)) != value:
            return Complaint("pickled", f"{printed!r} changes when it is pickled")
        return None


@pytest.mark.parametrize("part", range(PARTS))
def test_200_000_texts_are_read_or_refused(part: int, tmp_path: Path) -> None:
    run(Parses, part, 200_000, tmp_path)
