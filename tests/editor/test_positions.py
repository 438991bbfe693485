"""Positions in the units of an encoding, compared with counting character by character as the protocol's page says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from layoutalg.editor.positions import Encoding, Positions

SIZES = {
    "utf-8": lambda sign: len(sign.encode()),
    "utf-16": lambda sign: 1 + (ord(sign) > 0xFFFF),
    "utf-32": lambda sign: 1,
}
TEXTS = st.text(st.sampled_from("a %\t\r\n\x0b\u2028\N{LATIN SMALL LETTER E WITH ACUTE}\N{GRINNING FACE}"), max_size=40)
ENCODINGS = st.sampled_from(["utf-8", "utf-16", "utf-32"])


def counted(text: str, offset: int, encoding: Encoding) -> tuple[int, int]:
    """Line and character, by walking through the text."""
    line = character = 0
    for number, sign in enumerate(text[:offset]):
        if sign == "\n" or (sign == "\r" and text[number + 1 : number + 2] != "\n"):
            line, character = line + 1, 0
        else:
            character += SIZES[encoding](sign)
    return line, character


@given(TEXTS, ENCODINGS, st.data())
def test_offsets_are_counted_as_the_protocol_counts(text: str, encoding: Encoding, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    places = Positions(text, encoding)
    assert places.at(offset) == counted(text, offset, encoding)
    if text[offset - 1 : offset + 1] != "\r\n":
        assert places.offset(*places.at(offset)) == offset


@given(TEXTS, ENCODINGS, st.integers(-2, 60), st.integers(-2, 60))
def test_every_position_is_somewhere_in_the_text(text: str, encoding: Encoding, line: int, character: int) -> None:
    assert 0 <= Positions(text, encoding).offset(line, character) <= len(text)


def test_a_position_behind_the_end_of_a_line_is_its_end() -> None:
    assert Positions("ab\r\ncd").offset(0, 99) == 2
    assert Positions("\N{GRINNING FACE}x\n").offset(0, 1) in (0, 1)  # in the middle of a pair
    assert Positions("").offset(3, 3) == 0
