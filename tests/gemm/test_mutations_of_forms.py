"""Forty changes of the text of every form: each one that changes the meaning is caught, by a refusal or by another result.

A change is drawn from a line of the emitted kernel (`tests.simulate.mutants`): another number, operands exchanged, another
operation or value, a store or a barrier left out. Lines of prefetches are left alone: they change no result, and
`test_mutations` counts what is wrong with them. What survives every run of its form has to have a reason in `SAME`, which
says why it means the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from zlib import crc32

import pytest

from tests.gemm.forms import FORMS, Form
from tests.simulate.mutants import OF_FORMS, mutated

EACH, SHORT = 40, 3
SAME: dict[str, str] = {}
"""What may survive, by what the line was, `->` and what it is; and why it means the same."""


def changes(form: Form, name: str, most: int) -> Iterator[tuple[str, str]]:
    """What is changed, in words or as the line that was and the line that is, and the whole text.

    First come mistakes made in the operations (`mutating`), as far as a form has them, then changes of lines.
    """
    lines = form.text.splitlines()
    for mutant in [] if form.mistakes is None else form.mistakes(form.text, most):
        yield mutant.mistake, mutant.text
    for line, now, text in mutated(form.text, 100 * most, crc32(name.encode()), OF_FORMS):
        was = lines[line - 1].strip()
        if "prefetch" not in was:
            yield f"{was} -> {now}", text


def judged(name: str, most: int) -> tuple[Counter[str], list[str]]:
    """How many changes of a form were caught, and how; and those that survive without a reason. Unread ones do not count."""
    form = FORMS[name]()
    assert form.verdict(form.text) == "right"
    counted: Counter[str] = Counter()
    unexplained: list[str] = []
    for said, text in changes(form, name, most):
        verdict = form.verdict(text)
        if verdict == "unread":
            continue
        if verdict == "right":
            verdict = "means the same"
            if not any(re.search(pattern, said) for pattern in SAME):
                unexplained.append(said)
        counted[verdict] += 1
        if counted.total() == most:
            break
    assert counted.total() == most
    return counted, unexplained


@pytest.mark.parametrize("name", FORMS)
def test_changes_of_meaning_are_caught(name: str) -> None:
    _, unexplained = judged(name, SHORT)
    assert unexplained == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FORMS)
def test_forty_changes_of_each_form(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    counted, unexplained = judged(name, EACH)
    with capsys.disabled():
        print(f"\n{name}: {counted.total()} drawn, {dict(counted)}")
    assert unexplained == []
