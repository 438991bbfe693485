"""Whatever is asked, the answer is JSON: an answer, or an error of one line that names a field."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from layoutalg.explorer.answers import KINDS, answer
from layoutalg.explorer.worker import answered
from layoutalg.explorer.workers import Workers
from tests.explorer.test_answers import COLUMNS, KERNEL, ROWS, TEXTS

FIELDS = (
    "text", "first", "second", "shape", "colour", "direction", "fits", "llvm", "title", "at", "place", "operand", "element",
    "target", "pressure", "expression", "memory", "layout", "query", "of", "format", "lanes", "subgroups", "as", "vector",
    "banks", "width", "m", "n", "k", "a", "b", "c",
)  # fmt: skip
GOOD = st.sampled_from(
    [
        *(text for text, _, _ in TEXTS), ROWS, COLUMNS, KERNEL, "row-major", "ldmatrix.x4", "mma.m16n8k16.f32.f16.f16.f32",
        "logical_divide((8,8):(1,8), 4:2)", "16x16", "lane", "hardware", "phone", "f16", "pvc", "svg", "text", "tv", "memory",
        "A",
    ]
)  # fmt: skip
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(1, 4096),
    st.integers(-(10**40), 10**40),
    st.floats(),
    st.text(max_size=60),
    GOOD,
)
VALUES = st.recursive(
    LEAVES,
    lambda some: st.lists(some, max_size=5) | st.dictionaries(st.text(max_size=8), some, max_size=4),
    max_leaves=12,
)


@st.composite
def cut(draw: st.DrawFn) -> str:
    """A good text without some of its end, and with a character that was not there."""
    text = draw(GOOD)
    at = draw(st.integers(0, len(text)))
    return (
        text[:at]
        + draw(st.sampled_from(["", "\x00", "\ud800", "<", '"', "é", "0" * 400, "((((" * 50]))
        + text[at + 1 :]
    )


QUESTIONS = st.builds(
    lambda kind, fields: {"kind": kind} | fields,
    st.sampled_from([*KINDS]),
    st.dictionaries(st.sampled_from(FIELDS), VALUES | cut(), max_size=7),
)


def checked(found: Any) -> None:
    assert isinstance(found, dict)
    json.dumps(found)
    if "error" in found:
        message = found["error"]["message"]
        assert message
        assert len(message) <= 2000
        assert "\n" not in message
        assert "fault of layoutalg" not in message
        assert found["error"]["field"]


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(QUESTIONS)
@example({"kind": "export", "of": {"kind": "export", "of": {}}, "format": "text"})
@example({"kind": "layout", "text": "\ud800"})
@example({"kind": "layout", "text": ROWS, "title": "\ud800<script>"})
def test_an_answer_is_json_whatever_is_asked(question: dict[str, Any]) -> None:
    checked(answer(question))


@pytest.mark.exhaustive
def test_10_000_questions_are_answered_in_time_by_processes_that_end() -> None:
    pool = Workers(2, seconds=60)
    first = {one.process.pid for one in pool.all}

    @settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(QUESTIONS)
    def asked(question: dict[str, Any]) -> None:
        found = json.loads(pool.ask(json.dumps(question).encode()))
        checked(found)
        assert "no answer within" not in str(found.get("error"))

    asked()
    assert {one.process.pid for one in pool.all} == first  # none had to be replaced
    pool.close()
    assert all(one.process.poll() is not None for one in pool.all)


@settings(max_examples=100, deadline=None)
@given(VALUES)
def test_a_question_may_be_any_json(question: Any) -> None:
    checked(answer(question))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b'{"kind": NaN}', "NaN is not a number"),
        (b"[" * 100_000, "nested too deep"),
        (b'{"kind": "layout", "text": ' + b"[" * 100_000, "nested too deep"),
        (b"9" * 5000, "not JSON"),
        (b'{"kind": "layout", "text": "' + b"(" * 10_000 + b'"}', "line 1"),
        (b"null", "a question is a JSON object"),
        ('{"kind": "layout", "text": "é"}'.encode("latin-1"), "not JSON"),
    ],
)
def test_a_body_that_is_no_question_is_refused_in_words(body: bytes, words: str) -> None:
    found = answered(body)
    checked(found)
    assert words in found["error"]["message"]


def test_what_comes_from_outside_is_escaped_in_a_picture() -> None:
    svg = answer({"kind": "layout", "text": "d0 = 4@lane", "title": '<script>"&'})["svg"]
    assert "<script>" not in svg
    assert "&lt;script&gt;" in svg


@pytest.mark.parametrize(
    "question",
    [
        {"kind": "layout", "text": "d0 = 1073741824@reg, d1 = 1073741824@lane"},
        {"kind": "holds", "text": "d0 = 1073741824@reg, d1 = 1073741824@lane", "place": {"lane": 0}},
        {"kind": "convert", "first": "d0 = 1073741824@reg, d1 = 16@lane", "second": "d0 = 16@lane 67108864@reg, d1 = 16@reg"},
        {"kind": "banks", "memory": "row-major", "layout": "d0 = 1073741824@reg, d1 = 1073741824@lane"},
        {"kind": "algebra", "expression": "logical_product((1073741824,1073741824):(1,1073741824), 1073741824:1)"},
        {"kind": "layout", "text": ROWS, "shape": [2147483648, 2147483648]},
    ],
)  # fmt: skip
def test_what_is_too_large_is_folded_or_refused_at_once(question: dict[str, Any]) -> None:
    checked(answer(question))
