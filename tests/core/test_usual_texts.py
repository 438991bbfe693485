"""Usual texts are read at once, others word by word: a comment sends a text the second way, and the answer is the same."""

from __future__ import annotations

import random

import pytest

import layoutalg as la
from layoutalg.core.text import read_usual

TEXTS = (
    "d0 = 8@lane:2 2@reg, d1 = 16@reg",
    "d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane | replicas 2@lane:16",
    "d0 = 1, d1 = 8@_ 1@reg",
    "row=8@lane|replicas 2@lane:8",
    "#xegpu.layout<sg_layout = [8, 4], sg_data = [16, 16], lane_layout = [1, 16], lane_data = [1, 1]>",
    "#xegpu.layout<lane_layout=[2,8],\n lane_data=[2,2], order = [0, 1]>",
)
PIECES = (
    " ;_;@;:;,;=;|;1;0;007;0x10;-1;999999999;2147483648;٣;²;\u00a0;\n;];>;[];d1 = 1;1@_;4@reg:0;M;$;.;order = [0, 1]"
)


def answer(text: str) -> str:
    try:
        value = la.parse(text)
    except la.LayoutError as error:
        return f"{type(error).__name__} {error}".partition(": expected")[0].partition(", column")[0]
    parts = (value.dims, value.replicas, value.names) if isinstance(value, la.Layout) else ()
    return f"{value!r} {parts}"


def test_damaged_texts_are_read_the_same_way_at_once_and_word_by_word() -> None:
    rng = random.Random(27)
    usual = 0
    for _ in range(1500):
        text = rng.choice(TEXTS)
        for _ in range(rng.choice((0, 1, 1, 2))):
            start = rng.randrange(len(text))
            text = text[:start] + rng.choice(PIECES.split(";")) + text[start + rng.randrange(3) :]
        at = text.find("<") + 1 or len(text)
        slow = f"{text[:at]}/**/{text[at:]}".replace("/**/", "//\n")
        if "\n" not in text:
            assert answer(text) == answer(slow).replace("line 2", "line 1"), text
        usual += "= [" in text or read_usual(text) is not None
    assert usual > 300


@pytest.mark.parametrize("text", ["d0 = 8@lane, d0 = 2@reg", "d0 = 2147483649@reg", "d0 = 8@lane | replicas 2@_"])
def test_what_breaks_a_rule_is_refused_with_its_column(text: str) -> None:
    with pytest.raises(la.ParseError, match=r"line 1, column"):
        la.parse(text)


@pytest.mark.parametrize("text", ["d0 = ٣@lane", "d0 = 8@lanе", "#xegpu.layout<lane_layout = [1, ١٦]>"])
def test_digits_and_letters_of_other_scripts_are_no_numbers_and_names(text: str) -> None:
    with pytest.raises(la.ParseError):
        la.parse(text)
