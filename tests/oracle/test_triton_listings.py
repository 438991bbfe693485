"""Our conversions in listings are as short as Triton 3.9's: rows of its 150 conversions, recounted.

`data/triton_listings.json` has the instructions of Triton's own kernel for each row, beyond its copies, as
`benchmarks/triton_conversions.py` counted them; that one recounts all rows, and Triton's side too.
"""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import layoutalg as la
from tests.oracle.tables import DATA, lines
from tests.oracle.toolchains import require, require_module

BENCHMARK: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "triton_conversions.py"))
TRITON: list[float] = json.loads((DATA / "triton_listings.json").read_text(encoding="utf-8"))
ROWS = {"gfx942": (6, 27, 30, 44, 50, 57, 60, 74, 79, 149), "sm_80": (4, 8, 85, 105, 115)}
"""Rows that were longer once: copies that all store, pairs of loads, elements of 64 bits, addresses that go on in subgroups."""


@pytest.mark.parametrize("target", ROWS)
def test_conversions_are_at_most_as_long_as_triton_s(target: str) -> None:
    require("mlir-opt-22")
    require("llc-22")
    if target == "sm_80":
        require_module("triton")  # its assembler
    rows = lines("triton_conversions.jsonl.gz")
    assert len(TRITON) == len(rows)
    kernels: list[Any] = []
    for row in (rows[number] for number in ROWS[target]):
        bits = BENCHMARK["BITS"][row["elem"]]
        plan = la.convert(row["source"], row["destination"], tuple(row["shape"]), element_bits=bits, target=target)
        kernels += [plan.programs, *BENCHMARK["copies"](plan.programs, bits)]
    counts = BENCHMARK["GPU"]["counted"](kernels, target)
    for place, number in enumerate(ROWS[target]):
        ours = BENCHMARK["beyond"](*counts[3 * place : 3 * place + 3])
        assert sum(ours.values()) <= TRITON[number], number


@pytest.mark.parametrize("number", [24, 97, 113, 129, 131])
def test_a_plan_that_is_longer_says_which_rate_makes_it_take_that_way(number: int) -> None:
    """The shorter way, and the cycles of shared memory that it takes beyond the chosen one's, by a rate with its source."""
    row = lines("triton_conversions.jsonl.gz")[number]
    ends, target = (row["source"], row["destination"]), BENCHMARK["TARGETS"][row["target"]]
    bits = BENCHMARK["BITS"][row["elem"]]
    plan = la.convert(*ends, tuple(row["shape"]), element_bits=bits, target=target)
    said = dict(line.split(maxsplit=1) for line in str(plan).splitlines() if line[:7] in ("rate   ", "shorter"))
    shorter = re.fullmatch(r"(\d+) instructions, but (\d+) slots of shared memory: (.+)", said["shorter"])
    assert shorter is not None
    assert "bytes of shared memory a clock" in said["rate"]
    assert int(shorter[2]) > plan.cost
    assert shorter[3] in [one.name for one in plan.candidates[1:]]
