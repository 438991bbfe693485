"""Defaults whose listing is longer than that of another way, or of Triton's own conversion, and whether the plan says why.

    PYTHONPATH=. python benchmarks/longer_defaults.py                          Triton's conversions, and 40 random ones a chip
    PYTHONPATH=. python benchmarks/longer_defaults.py --triton gfx942 sm_80    Triton's conversions for these chips
    PYTHONPATH=. python benchmarks/longer_defaults.py --random 40 --seed 7 pvc 40 random conversions
    PYTHONPATH=. python benchmarks/longer_defaults.py --triton --rows 6 20     these rows, each way with its listing

Of every conversion each way that the plan has is compiled, and its instructions are counted (`prices.py` says how). A default
may be longer than another way, which keeps shared memory or the ALUs busy for longer: then the plan has a line `shorter` or
`as short`, beside the rate. It is *said* where that line names the way with the shortest listing, *said of another* where
it names another way and the shortest one takes more slots by the same rate. It is *within accuracy* where a line `as good`
names the shortest way, which prices cannot tell from the default. What is left is priced wrong: *not said*.
Triton's listings of its own kernels are those in tests/oracle/data (`triton_conversions.py` counts them).

A line has the default's instructions in the listing and by its price, the fewest of another way, and Triton's:

       6 gfx942   20 (19)   best other   18 (19)   Triton   33   not said   only what crosses goes through shared memory
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import runpy
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import layoutalg as la
from layoutalg.conversion.conversion_plan import ConversionPlan
from layoutalg.conversion.cost import cost_of

HERE = Path(__file__).parent
PRICES: dict[str, Any] = runpy.run_path(str(HERE / "prices.py"))
DATA = HERE.parent / "tests" / "oracle" / "data"
BITS = {"i1": 8, "i8": 8, "f16": 16, "f32": 32, "f64": 64}
CHIPS = {"sm80": "sm_80", "sm90": "sm_90", "gfx942": "gfx942"}
LANES = {"gfx942": 64, "gfx950": 64, "sm_80": 32, "sm_90": 32}
"""The lanes of random conversions; 16 on Intel's chips."""


class Asked(NamedTuple):
    """A conversion: its number, its plan, and the instructions of Triton's own kernel, where they are known."""

    number: int
    plan: ConversionPlan
    triton: float | None


class Found(NamedTuple):
    """What the listings say of it: the instructions of every way, the default's first."""

    asked: Asked
    counts: tuple[float, ...]

    @property
    def shorter(self) -> list[int]:
        """The ways whose listing is shorter than the default's, the shortest first."""
        ways = range(1, len(self.counts))
        return sorted([i for i in ways if self.counts[i] < self.counts[0]], key=self.counts.__getitem__)

    @property
    def why(self) -> str:
        """What the plan says of the shortest way: nothing where it is the default, else one of the words above."""
        if not self.shorter:
            return ""
        plan = self.asked.plan
        said, shortest = said_of(plan, "shorter", "as short"), plan.candidates[self.shorter[0]]
        if said is not None and shortest.cost > plan.cost:
            return "said" if said == shortest.name else "said of another"
        return "within accuracy" if said_of(plan, "as good") == shortest.name else "not said"


def said_of(plan: ConversionPlan, *names: str) -> str | None:
    """The way that a line of the plan's text names."""
    for line in str(plan).splitlines():
        if line[:13].strip() in names:
            return line.partition(": ")[2]
    return None


def triton_rows(chip: str, rows: Sequence[int]) -> Iterator[Asked]:
    """Triton's 150 conversions that are for a chip; these `rows` alone where there are any."""
    with gzip.open(DATA / "triton_conversions.jsonl.gz", "rt", encoding="utf-8") as file:
        table = [json.loads(line) for line in file]
    listed = json.loads((DATA / "triton_listings.json").read_text(encoding="utf-8"))
    for number, (row, count) in enumerate(zip(table, listed, strict=True)):
        if CHIPS[row["target"]] == chip and (not rows or number in rows):
            ends = row["source"], row["destination"]
            bits = BITS[row["elem"]]
            yield Asked(number, la.convert(*ends, tuple(row["shape"]), element_bits=bits, target=chip), count)


def random_rows(chip: str, count: int, seed: int) -> Iterator[Asked]:
    """Random conversions, drawn as those that judge the prices."""
    rng, number = random.Random(seed), 0
    while number < count:
        bits = rng.choice(PRICES["MIXED"])
        lanes, most = LANES.get(chip, 16), PRICES["MOST"][bits]
        pair = PRICES["random_pair"](rng, lanes, most, rng.choice([0, 0, 0, 1, 2]))
        plan = la.convert(*pair, element_bits=bits, target=chip)
        if plan.kind != "identity":
            yield Asked(number, plan, None)
            number += 1


def counted(chip: str, asked: Sequence[Asked]) -> list[Found]:
    """The listings of all ways."""
    chains = list({one.programs: None for row in asked for one in row.plan.candidates})
    counts = dict(zip(chains, PRICES["compilers"]()[chip].count(chains), strict=True))
    return [Found(row, tuple([counts[one.programs] for one in row.plan.candidates])) for row in asked]


def price(plan: ConversionPlan, way: int) -> str:
    """The instructions of a way by its price."""
    parts = cost_of(plan.target).parts(plan.candidates[way].programs)
    return "-" if parts is None else f"{parts.issued:.0f}"


def show(chip: str, found: Sequence[Found], *, every: bool) -> None:
    """Print what is longer, and how often."""
    verdicts: Counter[str] = Counter()
    for one in found:
        plan, best = one.asked.plan, next(iter(one.shorter), None)
        longer = one.asked.triton is not None and one.counts[0] > one.asked.triton
        verdicts[one.why or "shortest"] += 1
        verdicts["longer than Triton's"] += longer
        if best is not None or longer or every:
            other = "" if best is None else f"{one.counts[best]:g} ({price(plan, best)})"
            triton = "" if one.asked.triton is None else f"Triton {one.asked.triton:5g}{'*' if longer else ' '}"
            print(
                f"{one.asked.number:4} {chip:7} {one.counts[0]:5g} ({price(plan, 0)})   best other {other:12} {triton}"
                f"  {one.why:15} {plan.chosen.name}"
            )
        if every:
            for i, way in enumerate(plan.candidates):
                print(f"       {one.counts[i]:5g} ({price(plan, i)}), {way.cost} slots: {way.name}")
    print(
        f"{chip}, {len(found)} conversions: {', '.join([f'{count} {name}' for name, count in verdicts.items() if count])}"
    )


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("chips", nargs="*")
    parser.add_argument("--triton", action="store_true", help="Triton's conversions alone")
    parser.add_argument("--rows", type=int, nargs="+", default=[], help="these rows, with every way")
    parser.add_argument("--random", type=int, metavar="COUNT", help="so many random conversions alone")
    parser.add_argument("--seed", type=int, default=31)
    asked = parser.parse_args(arguments)
    here = PRICES["compilers"]()
    for chip in asked.chips or [one for one in ("sm_80", "sm_90", "gfx942", "bmg", "pvc") if one in here]:
        if chip not in here:
            sys.exit(f"no compiler for {chip} is here; there are those for {', '.join(here) or 'no chip'}")
        if chip in CHIPS.values() and asked.random is None:
            show(chip, counted(chip, list(triton_rows(chip, asked.rows))), every=bool(asked.rows))
        if not asked.triton:
            drawn = random_rows(chip, asked.random or 40, asked.seed)
            rows = [one for one in drawn if not asked.rows or one.number in asked.rows]
            show(chip, counted(chip, rows), every=bool(asked.rows))


if __name__ == "__main__":
    main(sys.argv[1:])
