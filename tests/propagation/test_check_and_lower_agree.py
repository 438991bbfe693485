"""The law of flow: what `check` finds right, `lower` writes without an exchange that nobody wrote; what it finds
broken, `lower` names; what `check` says of a conversion's price is what `lower` writes. Kernels are made at random, and some of
what they state is left out: whole layouts, or the lanes of some or of all."""

from __future__ import annotations

import random
import re
from itertools import islice

import pytest

import layoutalg as la
from layoutalg.side.conformance.generating import kernels

STATEMENT = re.compile(r"layout_result_0 = #xegpu\.(?:layout|slice)<(?:[^<>]|<[^<>]*>)*>,? ?")
COMMUTES = re.compile(
    r"(arith\.(?:addf|mulf|addi|muli|andi|ori|xori|maximumf|minimumf|maxsi|minsi)) (%[\w#]+), (%[\w#]+)(\s)"
)
MOVES = {"layouts.operand", "layouts.part", "layouts.contradiction", "layouts.demand"}


LANES = re.compile(r", (?:inst_data = \[[^\]]*\], )?lane_layout = \[[^\]]*\](?:, lane_data = \[[^\]]*\])?")
CONVERTING = "xegpu.convert_layout"


def moves(text: str) -> bool:
    """Whether check finds something that has to move."""
    return any(finding.rule in MOVES for finding in la.check(la.read(text), llvm=24).findings)


def exchanges(text: str) -> list[str] | None:
    """What lower exchanges though nobody wrote it; None where it refuses the kernel."""
    found = la.lower(la.read(text))
    if found.module is None:
        return None
    return [finding.message for finding in found.findings if finding.rule == "lower.exchange"]


def texts(start: int, count: int) -> list[str]:
    rng, made = random.Random(start), list[str]()
    for kernel in islice(kernels(7, start + count, level="workgroup"), start, start + count):
        left_out = rng.choice((0.3, 0.6, 0.9))
        made.append(STATEMENT.sub(lambda m: "" if rng.random() < left_out else m[0], kernel.text))  # noqa: B023
    return made


BATCHES = [0, *(pytest.param(at, marks=pytest.mark.exhaustive) for at in range(60, 1200, 60))]


@pytest.mark.parametrize("start", BATCHES)
def test_what_check_finds_right_is_lowered_as_it_is_written(start: int) -> None:
    right = broken = 0
    for text in texts(start, 60):
        wrong, added = moves(text), exchanges(text)
        if added is None:
            continue
        assert wrong or not added, f"{added}\n{text}"
        right += not wrong
        broken += wrong and bool(added)
        assert moves(COMMUTES.sub(r"\1 \3, \2\4", text)) == wrong, text
    assert right > 20


def prices(text: str) -> tuple[int | None, int]:
    """What check says that the conversions of a kernel cost (None: not known), and what those cost that lower writes."""
    told = [one.cost for one in la.check(la.read(text), llvm=24).conversions]
    paid = [one.price.slots or 0 for one in la.lower(la.read(text)).exchanges if one.operation == CONVERTING]
    return (None if None in told else sum(one or 0 for one in told)), sum(paid)


def with_open_lanes(text: str, share: float, rng: random.Random) -> str:
    return "\n".join(LANES.sub(lambda m: "" if rng.random() < share else m[0], line) for line in text.splitlines())


@pytest.mark.parametrize("share", [0.3, 1.0])
@pytest.mark.parametrize("start", BATCHES)
def test_what_check_finds_right_is_lowered_as_it_is_written_where_lanes_are_left_open(start: int, share: float) -> None:
    lowered, rng = 0, random.Random(start)
    for kernel in texts(start, 60):
        text = with_open_lanes(kernel, share, rng)
        wrong, added = moves(text), exchanges(text)
        if added is None or wrong:
            continue
        assert not added, f"{added}\n{text}"
        told, paid = prices(text)
        assert told is None or told == paid, text
        lowered += 1
    assert lowered > 5 or share == 1.0
