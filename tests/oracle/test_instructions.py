"""NVIDIA's instructions against what CUTLASS's C++ headers printed, when compiled: every operand that a table gives.

`instructions.json.gz` has 2,798 instructions with 9,541 operands, half of them with their layout. Layouts are CuTe's text,
evaluated here from its definition alone: the index of (thread, value) is the sum of the digits of both, first digit fastest,
times their strides.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from layoutalg.core.layout import Layout
from layoutalg.instructions import instruction
from layoutalg.instructions.registry import rows
from tests.oracle.test_cute import read_tuple

TABLE = json.loads(gzip.decompress((Path(__file__).parent / "data" / "instructions.json.gz").read_bytes()))
OURS = {name: one for name, one in TABLE["instructions"].items() if not one["family"].startswith("AMD")}
FAMILIES = sorted({one["family"] for one in OURS.values()})


def flat(value: Any) -> list[int]:
    return [value] if isinstance(value, int) else [n for part in value for n in flat(part)]


def mode(shape: Any, stride: Any) -> Any:
    """The index of each coordinate of a mode, the first digit fastest."""
    found = np.zeros(1, np.int64)
    for n, s in zip(flat(shape), flat(stride), strict=True):
        found = (np.arange(n)[:, None] * s + found).reshape(-1)
    return found


@cache
def indices(text: str) -> Any:
    """An array [thread, value] of the indices that a text of CuTe says."""
    shape, stride = (read_tuple(part) for part in text.split(":"))
    return mode(shape[0], stride[0])[:, None] + mode(shape[1], stride[1])


@cache
def held(layout: Layout) -> Any:
    """The same array of our layout: each thread's elements, as places in the tile column by column."""
    coordinates = layout.fragment_map()
    places = sum(coordinates[..., d] * int(np.prod(layout.shape[:d], dtype=int)) for d in range(layout.rank))
    return np.asarray(places).reshape(-1, coordinates.shape[2])


@cache
def agrees(ours: Layout | str, theirs: str) -> bool:
    return np.array_equal(indices(ours) if isinstance(ours, str) else held(ours), indices(theirs))


def test_the_table_is_whole() -> None:
    assert len(TABLE["instructions"]) == 2798
    assert sum(len(one["operands"]) for one in TABLE["instructions"].values()) == 9541
    assert len(OURS) == 2613


@pytest.mark.parametrize("family", FAMILIES)
def test_every_operand_is_what_cutlass_s_headers_printed(family: str) -> None:
    compared = 0
    for name, one in OURS.items():
        if one["family"] != family:
            continue
        ours = instruction(name)
        assert list(ours.shape) == (one["shape"] or []), name
        assert ours.threads == (one["threads"] or 1), name
        traits = ours.traits()
        for operand, said in one["operands"].items():
            key = f"{operand}Layout" if f"{operand}Layout" in traits else operand
            assert key in traits, (name, operand)
            if "layout" not in said:
                continue
            theirs = TABLE["layouts"][str(said["layout"])]
            compared += 1
            if "text" in theirs:  # printed without its blanks and underlines
                assert str(traits[key]).replace("_", "") == theirs["text"], (name, operand)
            elif operand == "ValID":
                assert traits[key] == theirs["tv"], name
            else:
                assert agrees(traits[key], theirs["tv"]), (name, operand)
    given = [s for o in OURS.values() if o["family"] == family for s in o["operands"].values() if "layout" in s]
    assert compared == len(given) > 0


def test_the_names_of_the_table_are_canonical_and_listed() -> None:
    listed = rows()
    assert [name for name in OURS if name not in listed] == []
    assert [name for name in OURS if str(instruction(name)) != name] == []


def test_a_typo_of_cutlass_is_on_record() -> None:
    """SM80_16x8x128_S32U1U1S32_TN, A: `((4,8),(32,2)):((512,1),((16,8)))` nests its strides deeper than its shape."""
    for how in ("XORPOPC", "ANDPOPC"):
        name = f"SM80_16x8x128_S32U1U1S32_TN_{how}"
        meant = TABLE["layouts"][str(OURS[name]["operands"]["A"]["layout"])]["tv"]
        assert meant == "((4,8),(32,2)):((512,1),(16,8))"
        assert agrees(instruction(name).traits()["ALayout"], meant)
        assert "typo" in dict(instruction(name)["A"].notes)
