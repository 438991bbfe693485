"""A conversion that is said to be avoidable: the same module, remade in the other layout, is taken by Triton's verifier."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import layoutalg as la
from layoutalg.checking import CheckedConversion
from tests.oracle.toolchains import require_module
from tests.oracle.triton_wheel import refusal

FILES = sorted((Path(__file__).parent / "data" / "ttgir").glob("*.ttgir"))
KEPT = {
    ("attention_64x32x64_w4_gfx942", "tt.reduce"),  # what it reduces goes into a product
}
"""The conversions that nothing avoids, with what keeps them."""

NAMED_OTHERWISE = {"bmm_4x16x16x16_w1_sm80"}
"""Where a value lies as is needed already, under the name of another layout (4x16x1 in blocked and in mma)."""


def remade(text: str, conversion: CheckedConversion) -> str:
    """The text with a copy of each line that is made otherwise, in the other layout, on values that are copies themselves."""
    assert conversion.place is not None
    assert conversion.remade is not None
    lines = text.splitlines()
    line = lines[conversion.place.line - 1]
    kind = r"tensor<[\dx]+\w+, (.*)>"
    found = re.search(rf"(%[\w#]+) = ttg.convert_layout (%[\w#]+)[^:]*: {kind} -> {kind} loc", line)
    assert found, line
    result, operand, before, after = found.groups()
    old, new = (before, after) if conversion.remade.side == "result" else (after, before)
    copied: dict[str, str] = {result: operand} if conversion.remade.side == "source" else {}
    for number in conversion.remade.lines:
        given = re.match(r"\s*(%[\w#]+) = ", lines[number - 1])
        if given:
            copied[given[1]] = given[1].replace("%", "%copy_")
    written: list[str] = []
    for number, one in enumerate(lines, 1):
        written.append(one)
        if number in conversion.remade.lines:
            copy = re.sub(r"%[\w#]+", lambda name: copied.get(name[0], name[0]), one)
            written.append(re.sub(rf"{re.escape(old)}(?!\w)", new, copy))
    return "\n".join(written)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_avoidable_can_be_made_otherwise(path: Path) -> None:
    require_module("triton")
    text = path.read_text()
    assert refusal(text) == ""
    for one in la.check(path).conversions:
        if one.is_redundant:
            continue
        assert one.remade is not None
        if not one.remade.possible:
            assert (path.stem, one.remade.keeper) in KEPT
            continue
        lines = text.splitlines()
        if any("tt.trans" in lines[number - 1] for number in one.remade.lines):
            continue  # an operand of another rank order: its layout has another name
        again = remade(text, one)
        assert "%copy_" in again
        told = refusal(again)
        if path.stem in NAMED_OTHERWISE:
            assert told is not None
            assert "expects different type than prior uses: 'tensor<4x16x1x" in told
            continue
        assert told == ""
        assert la.check(again).verdict == "right"
