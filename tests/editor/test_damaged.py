"""Texts as they are while somebody types: nothing raises, whatever is missing, and every answer is about the text."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from layoutalg.core.errors import LayoutError
from layoutalg.editor.actions import actions
from layoutalg.editor.documents import Document
from layoutalg.editor.hints import definition, hints
from layoutalg.editor.hover import hover, hover_python
from tests.editor.texts import KERNEL, MODULES, TTGIR

SIGNS = [
    "\N{GRINNING FACE}",
    "\N{LATIN SMALL LETTER E WITH ACUTE}",
    "\t",
    "\r\n",
    "\r",
    "\x00",
    "\u2028",
    *'{}()<>[]"#%@!^',
    "//",
    "// -----\n",
    "#a",
    "%x = ",
    "@first",
]


def asked(text: str, offsets: list[int], document: Document | None = None) -> Document:
    """Ask everything about a text."""
    document = Document(text) if document is None else document.edited(text)
    for mark in document.marks():
        assert 0 <= mark.start <= mark.end <= len(text)
    for hint in hints(document, 0, len(text)):
        assert 0 <= hint.offset <= len(text)
    for offset in offsets:
        shown = hover(document, offset)
        assert shown is None or 0 <= shown.start <= offset <= shown.end <= len(text)
        place = definition(document, offset)
        assert place is None or text[slice(*place)].startswith(("#", "!"))
        for action in actions(document, offset, offset):
            try:
                assert all(0 <= edit.start <= edit.end <= len(text) for edit in action.edits(document))
            except LayoutError:
                continue
    return document


def damaged(text: str, chance: random.Random) -> Iterator[str]:
    start = chance.randrange(len(text))
    yield text[:start]
    yield text[start:]
    yield text[:start] + text[start + chance.randrange(200) :]
    yield text[:start] + chance.choice(SIGNS) + text[start:]
    yield text[:start] + chance.choice(SIGNS) + text[start + 1 :]


@pytest.mark.parametrize("start", range(0, 2000, 200))
def test_every_prefix_of_a_file(start: int) -> None:
    document: Document | None = None
    for end in range(start, min(start + 200, len(KERNEL)), 4):
        document = asked(KERNEL[:end], [end], document)


@pytest.mark.parametrize("seed", range(12))
def test_random_damage(seed: int) -> None:
    chance = random.Random(seed)
    text = chance.choice([KERNEL, *MODULES.values(), *TTGIR.values()])[:5000]
    for one in damaged(text, chance):
        asked(one, [chance.randrange(len(one) + 1) for _ in range(4)])


@pytest.mark.parametrize(
    "text",
    [
        KERNEL.replace("\n", "\r\n"),
        KERNEL.replace("  ", "\t"),
        KERNEL.replace("exp", "\N{GRINNING FACE}"),
        "",
        "\n",
        "\ufeff" + KERNEL,
    ],
)
def test_other_line_ends_tabs_and_signs(text: str) -> None:
    asked(text, list(range(0, len(text) + 1, 97)))


def test_lines_that_end_otherwise_have_the_same_findings() -> None:
    rules = [mark.finding.rule for mark in Document(KERNEL).marks()]
    assert [mark.finding.rule for mark in Document(KERNEL.replace("\n", "\r\n")).marks()] == rules


@pytest.mark.parametrize("seed", range(4))
def test_damaged_python(seed: int) -> None:
    chance = random.Random(seed)
    source = f'import layoutalg as la\nK = """\n{KERNEL}"""\nx = la.parse("d0 = 4@lane")\n'
    for one in damaged(source, chance):
        for _ in range(4):
            offset = chance.randrange(len(one) + 1)
            shown = hover_python(one, offset, Document)
            assert shown is None or 0 <= shown.start <= offset <= shown.end <= len(one)
