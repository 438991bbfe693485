"""Forty changes of the text of every form: each one that changes the meaning is caught, by a refusal or by another result.

A change is drawn from a line of the emitted kernel (`tests.simulate.mutants`): another number, operands exchanged, another
operation or value, a store or a barrier left out. Lines of prefetches are left alone: they change no result, and
`test_mutations` counts what is wrong with them. A change of a line may mean the same for all inputs: `SAME` has reasons, and
what survives every run without one is printed, and is rare. Mistakes that `mutating` makes in kernels for GPUs never do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from zlib import crc32

import pytest

from layoutalg.ir import read_module, write_module
from tests.gemm.forms import FORMS, Form
from tests.simulate.mutants import OF_FORMS, mutated

EACH, SHORT = 40, 3
SAME: dict[str, str] = {
    r"%c33_i64 = arith\.constant 33 .* 32 ": "a hidden zero is the sign of a number that has none, shifted by 32 or 33",
}
"""What may survive of the changes of lines, by the line that was, `->` and the line that is; and why it means the same."""


def changes(form: Form, name: str, most: int) -> Iterator[tuple[str, str]]:
    """What is changed, in words or as the line that was and the line that is, and the whole text.

    First come mistakes made in the operations (`mutating`), as far as a form has them, then changes of lines.
    """
    lines = form.text.splitlines()
    same = write_module(read_module(form.text))  # an accumulator of zeros that is replaced by zeros is no change
    for mutant in [] if form.mistakes is None else form.mistakes(form.text, most):
        if mutant.text != same:
            yield mutant.mistake, mutant.text
    for line, now, text in mutated(form.text, 100 * most, crc32(name.encode()), OF_FORMS):
        was = lines[line - 1].strip()
        if "prefetch" not in was:
            yield f"{was} -> {now}", text


def judged(name: str, most: int) -> tuple[Counter[str], list[str], list[str]]:
    """How many changes of a form were caught, and how; the mistakes and the changes of lines that survive without a reason.

    Changes that cannot be read do not count.
    """
    form = FORMS[name]()
    assert form.verdict(form.text) == "right"
    counted: Counter[str] = Counter()
    survivors: list[str] = []
    for said, text in changes(form, name, most):
        verdict = form.verdict(text)
        if verdict == "unread":
            continue
        if verdict == "right":
            verdict = "means the same"
            if not any(re.search(pattern, said) for pattern in SAME):
                survivors.append(said)
        counted[verdict] += 1
        if counted.total() == most:
            break
    assert counted.total() == most
    # of a module for AMX some mistakes mean the same here: indices that are both 0 are exchanged
    of_lines = [said for said in survivors if " -> " in said or name.startswith("amx")]
    return counted, [said for said in survivors if said not in of_lines], of_lines


@pytest.mark.parametrize("name", FORMS)
def test_changes_of_meaning_are_caught(name: str) -> None:
    _, mistakes, of_lines = judged(name, SHORT)
    assert mistakes == []
    assert len(of_lines) <= 1, of_lines


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FORMS)
def test_forty_changes_of_each_form(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """No mistake survives, and of the changes of lines, which may mean the same, an eighth at most; they are printed."""
    counted, mistakes, of_lines = judged(name, EACH)
    with capsys.disabled():
        print(f"\n{name}: {counted.total()} drawn, {dict(counted)}")
        print("\n".join(f"  survives: {said}" for said in of_lines))
    assert mistakes == []
    assert len(of_lines) <= EACH // 8, of_lines
