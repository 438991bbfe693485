"""NVIDIA's instructions against CUTLASS's headers, compiled in this run: every layout in the traits of their atoms.

A few of each family in every run, all of them in `make exhaustive`. The wheel nvidia-cutlass may be older than the names that
we know; those it does not have are left out, and counted.
"""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from layoutalg.instructions import instruction
from layoutalg.instructions.registry import Row, rows
from tests.oracle.cutlass_headers import Refusal, atoms
from tests.oracle.test_instructions import held, indices

IN_TRAITS = [
    row
    for row in rows().values()
    if row.vendor == "NVIDIA" and row.kind != "layout" and not row.name.startswith("mma.sp.")
]
MISPRINTED = "((_4,_8),(_32,_2)):((_512,_1),((_16,_8)))"
"""A of SM80_16x8x128_S32U1U1S32_TN_XORPOPC and its AND sister: strides nested deeper than the shape."""

MISTAKES = {
    (f"SM80_16x8x32_S32{a}{b}S32_TN{ending}", "BLayout")
    for a, b, ending in product(("S4", "U4"), ("S4", "U4"), ("", "_SATURATE"))
}
"""Where the headers of CUTLASS 4.2 differ from PTX, and from today's CUTLASS. tensor-layouts has them from there."""


def few(count: int) -> list[Row]:
    """Some of every family, by chance but the same in each run."""
    rng = random.Random(26)
    families = sorted({row.family for row in IN_TRAITS})
    found: list[Row] = []
    for name in families:
        these = [row for row in IN_TRAITS if row.family == name]
        found += rng.sample(these, min(count, len(these)))
    return found


def compare(asked: list[Row]) -> tuple[int, int, set[tuple[str, str]]]:
    """The layouts that were compared, the atoms that the headers do not have, and what differs."""
    printed = atoms([row.name for row in asked])
    compared, absent, wrong = 0, 0, set[tuple[str, str]]()
    for row in asked:
        theirs = printed.get(row.name)
        if theirs is None or isinstance(theirs, Refusal):
            absent += 1
            continue
        ours = instruction(row.name)
        traits = ours.traits()
        for field, text in theirs.items():
            plain = text.replace("_", "")
            if field == "Shape_MNK":
                assert tuple(map(int, plain.strip("()").split(","))) == ours.shape, row.name
                continue
            if field == "ThrID":
                assert (ours.thread_id or f"{ours.threads}:1") == plain, row.name
                continue
            if text == MISPRINTED:
                plain = "((4,8),(32,2)):((512,1),(16,8))"
            mine = traits[field]
            found = indices(mine) if isinstance(mine, str) else held(mine)
            if not np.array_equal(found, indices(plain)):
                wrong.add((row.name, field))
            compared += 1
    return compared, absent, wrong


def test_some_of_every_family_are_what_the_headers_say() -> None:
    asked = few(4)
    compared, absent, wrong = compare(asked)
    assert wrong <= MISTAKES
    assert compared > 2 * (len(asked) - absent)
    assert len(asked) - absent > 40


@pytest.mark.exhaustive
@pytest.mark.slow
def test_all_are_what_the_headers_say() -> None:
    compared, absent, wrong = compare(IN_TRAITS)
    assert wrong <= MISTAKES
    assert compared > 8500
    assert absent < 200
