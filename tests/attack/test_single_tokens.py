"""Every single change of a text: each token of a text of each grammar is lost, doubled, or replaced by each hostile word.

The random attack of `test_parses` makes several changes at once; here a text is right but for one token, so that what reads it
gets far. It ends before each token too.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attack import texts
from tests.attack.effort import PARTS
from tests.attack.isolated import Sweep, run
from tests.attack.test_parses import Parses

TEXTS = tuple(dict.fromkeys(texts.valid(random.Random(f"a right text {i}")) for i in range(100)))
_LONGEST = 300
_WORDS = tuple(dict.fromkeys((*texts.WORDS, *texts.FOREIGN, *map(str, texts.ODD[:-1]), "9" * 5000)))


class SingleTokens(Sweep, Parses):
    most = 500_000

    def listed(self) -> Iterator[str]:
        for text in TEXTS:
            if len(text) > _LONGEST:
                continue
            tokens = texts.tokens(text)
            for at, token in enumerate(tokens):
                before, after = "".join(tokens[:at]), "".join(tokens[at + 1 :])
                yield before
                yield before + after
                yield before + token * 2 + after
                if not token.isspace():
                    yield from (before + word + after for word in _WORDS)


@pytest.mark.parametrize("part", range(PARTS))
def test_every_token_becomes_every_word(part: int, tmp_path: Path) -> None:
    run(SingleTokens, part, 60_000, tmp_path)
