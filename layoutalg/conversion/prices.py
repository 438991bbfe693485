"""Prices from listings: what each charge of a conversion is in machine code, on chips whose compiler was asked.

`benchmarks/prices.py` compiles a family of conversions for a chip, subtracts from each the same kernel without the conversion,
counts the machine instructions that are left, and fits a price to each charge (`conversion.charges`). What it finds is
committed in `hardware/data/prices.json`, with the compiler's version, the date, the number of kernels and how far off the
prices are, and read when it is first needed:

>>> found = prices_of("pvc", 16)
>>> found.instructions["select"], found.chip, found.lanes
(1.1, 'pvc', 16)
>>> prices_of("lnl", 16).chip, prices_of("generic", 32)
('bmg', None)
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from layoutalg.conversion.charges import CHARGES
from layoutalg.core.whole_numbers import whole_number
from layoutalg.hardware.chips import target_info

__all__ = ["Listings", "prices_of"]

DATA = Path(__file__).parents[1] / "hardware" / "data" / "prices.json"
"""The committed table: for each chip its compilers, and for each size of a subgroup the prices and what they were fitted to."""
_ALIKE = {
    "lnl": "bmg",
    "ptl": "bmg",
    "acm": "dg2",
    "acm-g10": "dg2",
    "acm-g11": "dg2",
    "ats-m150": "dg2",
    "gfx90a": "gfx942",
}
"""Chips that have the prices of another one: the same instructions, by their makers' guides."""


@dataclass(frozen=True)
class Listings:
    """The prices of one chip for subgroups of so many lanes, and what they were fitted to.

    `instructions` is how many a charge is in the listing, `prices` that and what is estimated for waiting.
    `within` is the share of conversions, among those that were held out of the fit, whose cost is within 15 % of their listing.
    """

    chip: str
    vendor: str
    lanes: int
    instructions: dict[str, float]
    prices: dict[str, float]
    compiler: str
    date: str
    kernels: int
    within: float


@lru_cache(maxsize=256)
def prices_of(target: str, lanes: int) -> Listings | None:
    """The prices of a chip for subgroups of so many lanes, from the listings of the next larger ones; None where none was read.

    Raises `PlanError` for an unknown chip.
    """
    chip = target_info(target).name
    chip = _ALIKE.get(chip, chip)
    table = _table().get(chip)
    if table is None:
        return None
    count = whole_number(lanes, "lanes =", 1)
    sizes = sorted(map(int, table["lanes"]))
    size = next((size for size in sizes if size >= count), sizes[-1])
    row = table["lanes"][str(size)]
    instructions, waits = ({name: float(row[kind].get(name, 0)) for name in CHARGES} for kind in ("prices", "waits"))
    prices = {name: instructions[name] + waits[name] for name in CHARGES}
    held = row["held_out"]
    return Listings(
        chip,
        target_info(chip).vendor,
        size,
        instructions,
        prices,
        table["compiler"],
        table["date"],
        row["kernels"],
        held["within_15_percent"],
    )


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    return json.loads(DATA.read_text(encoding="utf-8"))
