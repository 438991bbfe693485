"""Our conversions in listings are as short as Triton 3.9's: rows of its 150 conversions, recounted.

`data/triton_listings.json` has the instructions of Triton's own kernel for each row, beyond its copies, as
`benchmarks/triton_conversions.py` counted them; that one recounts all rows, and Triton's side too.
"""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import layoutalg as la
from tests.oracle.tables import DATA, lines
from tests.oracle.toolchains import require

BENCHMARK: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "triton_conversions.py"))
TRITON: list[float] = json.loads((DATA / "triton_listings.json").read_text(encoding="utf-8"))
COPIES = (57, 60, 79)
"""Rows on gfx942 whose elements of 64 bits get copies by shuffles."""


def test_copies_of_64_bits_are_at_most_as_long_as_triton_s_on_gfx942() -> None:
    require("mlir-opt-22")
    require("llc-22")
    rows = lines("triton_conversions.jsonl.gz")
    assert len(TRITON) == len(rows)
    for number in COPIES:
        row = rows[number]
        plan = la.convert(row["source"], row["destination"], tuple(row["shape"]), element_bits=64, target=row["target"])
        kernels = [plan.programs, *BENCHMARK["copies"](plan.programs, 64)]
        ours = BENCHMARK["beyond"](*BENCHMARK["GPU"]["counted"](kernels, row["target"]))
        assert sum(ours.values()) <= TRITON[number], number
