"""Prices from listings: compile a family of conversions, count their instructions, and fit what each step costs.

    python benchmarks/prices.py                   fit every chip whose compiler is here; write the table of the package
    python benchmarks/prices.py pvc bmg           these chips only
    python benchmarks/prices.py --only block bmg  fit the price of one charge, with the others as committed
    python benchmarks/prices.py --judge           fit nothing: judge the committed prices, and write that into their rows
    python benchmarks/prices.py --check           fit nothing: set the committed prices beside the listings
    python benchmarks/prices.py --check --old     the same for pvc with Debian's compiler

Each conversion is a kernel that loads a fragment, converts it and stores it. The same kernel without the conversion, with the
same loads and stores, is subtracted; what is left is machine instructions. An instruction that a chip executes in two parts
counts twice (`slots`). An example to check by hand: a 16x16 tile of 32 bits in 16 lanes takes, on pvc, 128 selects, 96 moves
for the bits of 15 XOR distances (2, 4, 4 and 2 for lane bits 0 to 3, each 8 times) and 4 comparisons, 228 instructions.

Prices are a least-squares fit, none negative, of relative errors, drawn a little to what single steps were seen to cost
(`SEEN` of `intel_listings` and `gpu_listings`), so that a charge that is rare in the family keeps a sensible price. They are
rounded to twentieths. What is fitted is a family of random conversions with their candidates, another one whose lanes or
subgroups hold copies, and the defaults of more conversions, which count four times: the bar, 15 % or one instruction, is set
for defaults. Prices choose defaults, so those that judge the new ones are planned with them, by another process, from a seed of
their own; the named `CONVERSIONS` are held out too. No listing shows that lanes wait: what they are charged for that
(`Compiler.waits`) is added after.

Every row is fitted so, and says it. All of them, from the repository's root:

    python benchmarks/prices.py pvc bmg dg2 sm_80 sm_90 gfx942 gfx950
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import layoutalg as la
from layoutalg.conversion.charges import CHARGES, charges_of
from layoutalg.conversion.cost import cost_of
from layoutalg.conversion.prices import DATA, prices_of
from layoutalg.conversion.program.program import Program

Chain = tuple[Program, ...]
Conversion = tuple[str, int, str, str]

FITTED, HELD_OUT = 400, 150
"""How many random conversions are fitted, and how many held out."""
MIXED, NARROW = (8, 16, 32, 32, 64), (8, 8, 16)
"""The bits of elements that conversions are drawn from: of all sizes, and below a word, with the ways that only those have."""
MOST = {8: 6, 16: 5, 32: 5, 64: 3}
"""The bits of the registers' numbers, at most."""
DRAWN = 0.2
"""How much prices are drawn to what was seen."""
DEFAULTS, WEIGHT = 400, 4.0
"""How many defaults are fitted besides, and what their errors count: most of the fit, since the bar is set for defaults."""
SHORT = 7
"""The instructions up to which errors count alike: one is 15 % of 7, and the bar allows one whatever the listing."""
PROCEDURE = (
    "benchmarks/prices.py: fitted to families 1, 3, 8 and four times to defaults 4, judged by defaults 2 of the prices"
)
"""What each row says of itself: the seeds of its random conversions."""
COPIES = 150
"""How many are fitted of conversions that have copies in some lanes or subgroups: they store by some lanes only."""
INTEL: dict[str, Any] = runpy.run_path(str(Path(__file__).with_name("intel_listings.py")))
intel_listings, slots = INTEL["intel_listings"], INTEL["slots"]
CONVERSIONS: tuple[Conversion, ...] = (
    *(
        ("transpose 8x8, twice", bits, "d0 = 8@reg, d1 = 2@lane:8 8@lane", "d0 = 8@lane, d1 = 2@lane:8 8@reg")
        for bits in (32, 16, 8)
    ),
    *(
        ("transpose 16x16", bits, "d0 = 16@reg, d1 = 16@lane", "d0 = 16@lane, d1 = 16@reg")
        for bits in (32, 16, 8)
    ),
    *(
        ("transpose 32x16", bits, "d0 = 32@reg, d1 = 16@lane", "d0 = 2@reg:16 16@lane, d1 = 16@reg")
        for bits in (32, 16, 8)
    ),
    ("DPAS C to A", 8, "d0 = 8@reg, d1 = 2@reg:8 16@lane", "d0 = 8@reg:2, d1 = 16@lane 2@reg"),
    ("DPAS A to B", 8, "d0 = 16@reg:2, d1 = 16@lane 2@reg", "d0 = 16@lane, d1 = 32@reg"),
    ("VNNI in registers", 16, "d0 = 16@reg, d1 = 2@reg:16 16@lane", "d0 = 8@reg:4 2@reg, d1 = 2@reg:2 16@lane"),
    ("VNNI in registers", 8, "d0 = 32@reg, d1 = 2@reg:32 16@lane", "d0 = 8@reg:8 4@reg, d1 = 2@reg:4 16@lane"),
    ("all-gather of 16", 32, "d0 = 16@lane", "d0 = 16@reg | replicas 16@lane"),
    ("lanes rotated", 32, "d0 = 2@lane 8@lane:2, d1 = 4@reg", "d0 = 2@lane:8 8@lane, d1 = 4@reg"),
    ("lanes rotated", 64, "d0 = 2@lane 8@lane:2, d1 = 4@reg", "d0 = 2@lane:8 8@lane, d1 = 4@reg"),
    ("lanes in bit-reversed order", 32, "d0 = 16@lane, d1 = 8@reg", "d0 = 2@lane 2@lane:2 2@lane:4 2@lane:8, d1 = 8@reg"),
    ("one bit", 32, "d0 = 8@reg, d1 = 16@lane", "d0 = 2@lane:8 4@reg:2, d1 = 8@lane 2@reg"),
    ("one bit, the others permuted", 32, "d0 = 8@reg, d1 = 16@lane", "d0 = 2@lane 4@reg:2, d1 = 2@reg 8@lane:2"),
    ("two bits", 32, "d0 = 8@reg, d1 = 16@lane", "d0 = 4@lane 2@reg:4, d1 = 4@reg 4@lane:4"),
    ("two bits, the others permuted", 32, "d0 = 8@reg, d1 = 16@lane", "d0 = 4@lane:4 2@reg:4, d1 = 4@lane 4@reg"),
    ("two bits", 16, "d0 = 8@reg, d1 = 16@lane", "d0 = 4@lane 2@reg:4, d1 = 4@reg 4@lane:4"),
    ("8x16, three bits", 64, "d0 = 8@reg, d1 = 16@lane", "d0 = 8@lane, d1 = 8@reg 2@lane:8"),
    ("rows across 2 subgroups", 32, "d0 = 2@sg 8@reg, d1 = 16@lane", "d0 = 8@reg 2@sg, d1 = 16@lane"),
    ("rows across 2 subgroups", 16, "d0 = 2@sg 8@reg, d1 = 16@lane", "d0 = 8@reg 2@sg, d1 = 16@lane"),
    ("columns across 4 subgroups", 32, "d0 = 4@sg 8@reg, d1 = 16@lane", "d0 = 8@reg 4@lane, d1 = 4@sg 4@lane:4"),
)  # fmt: skip
"""The conversions whose cost is to be within 15 % of the listing; none of them is fitted."""


@dataclass(frozen=True)
class Compiler:
    """How the machine instructions of kernels are counted for a chip: one number for each chain of programs.

    `lanes` are the sizes of subgroups that it has, `seen` what single steps were seen to cost. `waits` is estimated, since no
    listing shows it: the slots for which a step keeps a unit that the ALUs share, besides its own.
    """

    version: str
    lanes: tuple[int, ...]
    count: Callable[[Sequence[Chain]], list[float]]
    seen: dict[str, float]
    waits: dict[str, float]
    narrow: int = 0
    """How many conversions of elements below a word are fitted besides: where parts of words have accesses of their own."""
    ignored: frozenset[str] = frozenset()
    """Charges that are not fitted."""
    seen_of_32: dict[str, float] | None = None
    """What single steps were seen to cost in subgroups of 32 lanes, where those take the others twice."""

    def usual(self, lanes: int) -> dict[str, float]:
        """What single steps were seen to cost in subgroups of so many lanes."""
        found = self.seen
        if self.seen_of_32 is not None and lanes == 32:
            found = {name: price * 2 for name, price in found.items()} | self.seen_of_32
        return {name: price for name, price in found.items() if name not in self.ignored}


# --- the compilers


def identity(subgroups: int, lanes: int, bits: int, registers: int) -> Chain:
    """The kernel without a conversion: what is loaded is stored."""
    cells, parts = registers * max(bits // 32, 1), max(32 // bits, 1)
    pack = (*range(cells), *[-1] * (-cells % parts))
    return (Program(subgroups, lanes, bits, registers, registers, pack, (), tuple(range(cells))),)


def beyond_the_copy(count: Callable[[Sequence[Chain]], list[float]], chains: Sequence[Chain]) -> list[float]:
    """The instructions of each chain, without those of the same loads and stores."""
    copies: dict[Chain, int] = {}
    pairs: list[tuple[Chain, Chain]] = []
    for chain in chains:
        first, last = chain[0], chain[-1]
        shape = first.subgroups, first.lanes, first.element_bits
        pairs.append((identity(*shape, first.source_registers), identity(*shape, last.registers)))
        for copy in pairs[-1]:
            copies.setdefault(copy, len(copies))
    counts = count([*chains, *copies])
    of_copies = counts[len(chains) :]
    return [
        counts[i] - (of_copies[copies[before]] + of_copies[copies[after]]) / 2
        for i, (before, after) in enumerate(pairs)
    ]


def _intel(device: str, ocloc: str, version: str, lanes: tuple[int, ...] = (16, 32)) -> Compiler:
    def count(chains: Sequence[Chain]) -> list[float]:
        return [float(slots(lines)) for lines in intel_listings(chains, device, ocloc)]

    # Debian's compiler copies the words that regions take and make (tests/oracle/test_register_regions.py).
    seen = INTEL["SEEN"] | ({"region_word": 0.5} if device == "dg2" else {})
    return Compiler(
        version, lanes, partial(beyond_the_copy, count), seen, {"waits": 1}, 200, INTEL["IGNORED"], INTEL["SEEN_OF_32"]
    )


def _others(newtools: Path) -> dict[str, Compiler]:
    """NVIDIA's and AMD's chips, whose listings `gpu_listings` makes."""
    gpu: dict[str, Any] = runpy.run_path(str(Path(__file__).with_name("gpu_listings.py")))
    found: dict[str, Compiler] = {}
    try:
        ptxas = gpu["nvidia_tool"]("ptxas")
    except FileNotFoundError:
        ptxas = None
    for (
        chip,
        lanes,
        program,
        version,
        waits,
    ) in (  # a shuffle passes 32 lanes a clock, for 4 schedulers or 4 ALUs of 16 lanes
        ("sm_80", 32, ptxas, "LLVM 22, ptxas", {"waits": 4.0, "shuffle": 1.0}),
        ("sm_90", 32, ptxas, "LLVM 22, ptxas", {"waits": 4.0, "shuffle": 1.0}),
        ("gfx942", 64, shutil.which("llc-22"), "LLVM 22", {"waits": 2.0, "shuffle": 1.0}),
        ("gfx950", 64, shutil.which("llc-22"), "LLVM 22", {"waits": 2.0, "shuffle": 1.0}),
    ):
        if program is not None and shutil.which("llc-22") is not None:
            count = partial(beyond_the_copy, partial(gpu["counts"], chip=chip))
            if "ptxas" in version:
                release = re.search(r"release ([\d.]+)", INTEL["run"]([program, "--version"], newtools.parent))
                version = f"{version} {release[1] if release else ''}".rstrip()
            found[chip] = Compiler(
                version,
                (lanes,),
                count,
                gpu["SEEN"] | (gpu["SEEN_OF_AMD"] if chip.startswith("gfx") else {}),
                waits,
                150,
                frozenset(gpu["IGNORED"][gpu["vendor_of"](chip)]),
            )
    return found


def compilers(*, old: bool = False) -> dict[str, Compiler]:
    """The chips whose compiler is here. `old`: pvc by Debian 12's compiler instead of the current one."""
    found: dict[str, Compiler] = {}
    if shutil.which("mlir-opt-22") is None:
        return found
    here = shutil.which("ocloc")
    if here is not None:
        debian = "Debian 12's IGC 1.0.12504"
        if old:
            return {"pvc": _intel("pvc", here, debian)}
        found["dg2"] = _intel("dg2", here, debian, (8, 16))
    newtools = Path(os.environ.get("LAYOUTALG_NEWTOOLS") or Path(__file__).parents[1] / ".venv" / "newtools")
    current = newtools / "bin" / "ocloc"
    if current.exists():
        library = next(newtools.glob("igc/usr/lib/*/libigc.so.2.*"), None)
        version = library.name.removeprefix("libigc.so.").partition("+")[0] if library else "current"
        for device in ("pvc", "bmg"):
            found[device] = _intel(device, str(current), f"IGC {version}, LLVM 22's SPIR-V")
    return found | _others(newtools)


# --- what is compiled


def random_pair(rng: random.Random, lanes: int, registers: int, subgroups: int) -> tuple[str, str]:
    """Two layouts of one tensor with a bit of the machine for each digit, some or all of them permuted."""
    widths = {"lane": (lanes - 1).bit_length(), "reg": rng.randint(0, registers), "sg": subgroups}
    source = [(axis, 1 << bit) for axis, width in widths.items() for bit in range(width)]
    rng.shuffle(source)
    result = list(source)
    changed = rng.sample(range(len(source)), min(rng.choice([2, 3, 4, 5, len(source)]), len(source)))
    values = [result[i] for i in changed]
    rng.shuffle(values)
    for i, value in zip(changed, values, strict=True):
        result[i] = value
    one, other = ("d0 = " + " ".join(f"2@{axis}:{stride}" for axis, stride in places) for places in (source, result))
    return one, other


def with_copies(rng: random.Random, pair: tuple[str, str]) -> tuple[str, str]:
    """The pair with one or two bits of lanes or subgroups that hold copies, at one end or both: an end has fewer registers."""
    source, destination = (text.partition("= ")[2].split() for text in pair)
    free = [i for i in range(len(source)) if "@reg" not in source[i] or "@reg" not in destination[i]]
    copied = rng.sample(free, min(rng.choice([1, 2]), len(free)))
    ends: list[str] = []
    for places in (source, destination):
        kept = [place for i, place in enumerate(places) if i not in copied]
        registers = sorted([int(place[6:]) for place in kept if "@reg" in place])
        copies = [places[i] for i in copied if "@reg" not in places[i]]
        text = " ".join([f"2@reg:{1 << registers.index(int(one[6:]))}" if "@reg" in one else one for one in kept])
        ends.append(f"d0 = {text or '1'}{' | replicas ' * bool(copies)}{' '.join(copies)}")
    return ends[0], ends[1]


def family(
    seed: int, count: int, target: str, lanes: int, each: int = 2, sizes: Sequence[int] = MIXED, *, copies: bool = False
) -> list[Chain]:
    """The plans of random conversions, their next candidates, and one of the others; `each` and one of a conversion at most."""
    rng = random.Random(seed)
    found: list[Chain] = []
    while len(found) < count:
        bits = rng.choice(sizes)
        pair = random_pair(rng, lanes, MOST[bits], rng.choice([0, 0, 0, 1, 2]))
        pair = with_copies(rng, pair) if copies else pair
        plan = la.convert(*pair, element_bits=bits, target=target)
        if plan.kind != "identity":
            ways = [one.programs for one in plan.candidates]
            found += [*ways[:each], *rng.sample(ways[each:], min(1, len(ways[each:])))]
    return found[:count]


def defaults(seed: int, count: int, target: str, lanes: int) -> list[Chain]:
    """The plans of random conversions, as `layoutalg.convert` gives them by default."""
    rng = random.Random(seed)
    found: list[Chain] = []
    while len(found) < count:
        bits = rng.choice(MIXED)
        pair = random_pair(rng, lanes, MOST[bits], rng.choice([0, 0, 0, 1, 2]))
        plan = la.convert(*pair, element_bits=bits, target=target)
        if plan.kind != "identity":
            found.append(plan.programs)
    return found


# --- the fit


def table_of(chains: Sequence[Chain]) -> NDArray[np.float64]:
    """What each chain is charged for: `[chain, charge]`."""
    counted = [charges_of(chain) for chain in chains]
    return np.array([[one[name] for name in CHARGES] for one in counted], float)


def fit(
    charges: NDArray[np.float64],
    instructions: NDArray[np.float64],
    weights: NDArray[np.float64],
    usual: dict[str, float],
) -> NDArray[np.float64]:
    """The price of each charge: least squares of relative errors, none negative, drawn to what was seen; in twentieths."""
    weights = weights / np.maximum(instructions, SHORT)
    seen = np.array([usual.get(name, 0) for name in CHARGES], float)
    left = charges * weights[:, None]
    squares = left.T @ left + DRAWN * np.eye(len(CHARGES))
    wanted = left.T @ (instructions * weights) + DRAWN * seen
    prices = seen.copy()
    for _ in range(1000):  # one coordinate after another, none below 0
        for j in range(len(prices)):
            prices[j] = max(0.0, prices[j] + (wanted[j] - squares[j] @ prices) / squares[j, j])
    return np.round(prices * 20) / 20


def errors(predicted: NDArray[np.float64], instructions: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far off each cost is, as a share of the listing."""
    return (predicted - instructions) / np.maximum(instructions, 5)


def judged(predicted: NDArray[np.float64], instructions: NDArray[np.float64]) -> dict[str, float]:
    """How good costs are, in three numbers."""
    off = np.abs(errors(predicted, instructions))
    near = (off <= 0.15) | (np.abs(predicted - instructions) <= 1)
    return {
        "mean_error": round(float(off.mean()), 3),
        "worst_error": round(float(off.max()), 3),
        "within_15_percent": round(float((off <= 0.15).mean()), 3),
        "or_one_instruction": round(float(near.mean()), 3),
    }


def fitted(compiler: Compiler, target: str, lanes: int) -> dict[str, object]:
    """The row of the table for a chip and a size of subgroups."""
    chains = family(1, FITTED, target, lanes) + family(3, compiler.narrow, target, lanes, 5, NARROW)
    chains += family(8, COPIES, target, lanes, 4, copies=True)
    weights = np.array([1.0] * len(chains) + [WEIGHT] * DEFAULTS)
    chains += defaults(4, DEFAULTS, target, lanes)
    counts = np.array(compiler.count(chains))
    known = table_of(chains)
    known[:, [CHARGES.index(name) for name in compiler.ignored]] = 0
    usual = compiler.usual(lanes)
    prices = fit(known, counts, weights, usual)
    found = {
        name: float(price)
        for name, price, seen in zip(CHARGES, prices, known.any(axis=0), strict=True)
        if name != "waits" and (seen or usual.get(name))
    }
    vector = np.array([found.get(name, 0) for name in CHARGES])
    return {
        "kernels": len(chains),
        "fitted": judged(known @ vector, counts),
        "waits": compiler.waits,
        "prices": {name: price for name, price in found.items() if price},
    }


def held_out(compiler: Compiler, target: str, lanes: int) -> dict[str, float]:
    """How good the committed prices are for the defaults that they choose."""
    chains = defaults(2, HELD_OUT, target, lanes)
    found = prices_of(target, lanes)
    assert found is not None
    vector = np.array([found.instructions[name] for name in CHARGES])
    return judged(np.round(table_of(chains) @ vector), np.array(compiler.count(chains)))


def fitted_alone(compiler: Compiler, target: str, lanes: int, name: str) -> float:
    """The price of one charge beside the committed ones: least squares over random conversions that have it."""
    chains = [chain for chain in family(5, FITTED, target, lanes, 4) if charges_of(chain)[name]]
    if not chains:
        return 0.0
    found = prices_of(target, lanes)
    assert found is not None
    counts, charges = np.array(compiler.count(chains)), table_of(chains)
    vector = np.array([0 if one == name else found.instructions[one] for one in CHARGES])
    own, weights = charges[:, CHARGES.index(name)], 1 / np.maximum(counts, SHORT) ** 2
    price = max(0.0, float((weights * own * (counts - charges @ vector)).sum() / (weights * own**2).sum()))
    price = round(price * 20) / 20
    for text, value in (("before", found.instructions[name]), ("after", price)):
        print(target, lanes, name, len(chains), text, judged(np.round(charges @ vector + own * value), counts))
    return price


def named(target: str) -> tuple[list[str], list[Chain], list[int]]:
    """The named conversions on a chip, their programs, and the instructions that their prices say."""
    plans = [
        la.convert(source, destination, element_bits=bits, target=target)
        for _, bits, source, destination in CONVERSIONS
    ]
    names = [f"{name}, {bits} bits" for name, bits, *_ in CONVERSIONS]
    costs = [cost_of(target).priced(plan.programs)[1] for plan in plans]
    return names, [plan.programs for plan in plans], costs


def check(compiler: Compiler, target: str, lanes: int) -> None:
    """Print the named conversions and the held-out ones beside their listings."""
    print(f"{target}, {lanes} lanes, {compiler.version}")
    if lanes == 16:
        names, chains, costs = named(target)
        counts = np.array(compiler.count(chains))
        for name, cost, count, off in zip(names, costs, counts, errors(np.array(costs), counts), strict=True):
            print(f"  {name:42} cost {cost:5}   listing {count:7.1f}   {off:+.0%}")
        print("  named   ", judged(np.array(costs, float), counts))
    if prices_of(target, lanes) is not None:
        print("  held out", held_out(compiler, target, lanes))


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("chips", nargs="*")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--old", action="store_true")
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--only", choices=CHARGES, metavar="CHARGE")
    asked = parser.parse_args(arguments)
    here = compilers(old=asked.old)
    chips = asked.chips or list(here)
    table = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {}
    for chip in chips:
        if chip not in here:
            sys.exit(f"no compiler for {chip} is here; there are those for {', '.join(here) or 'no chip'}")
        compiler = here[chip]
        if asked.judge:
            for lanes in compiler.lanes:
                table[chip]["lanes"][str(lanes)]["held_out"] = found = held_out(compiler, chip, lanes)
                print(chip, lanes, found)
            DATA.write_text(json.dumps(dict(sorted(table.items())), indent=1) + "\n", encoding="utf-8")
            continue
        if asked.only:
            for lanes in compiler.lanes:
                price = fitted_alone(compiler, chip, lanes, asked.only)
                if price:
                    table[chip]["lanes"][str(lanes)]["prices"][asked.only] = price
            DATA.write_text(json.dumps(dict(sorted(table.items())), indent=1) + "\n", encoding="utf-8")
            continue
        if not (asked.check or asked.old):
            rows = {str(lanes): fitted(compiler, chip, lanes) for lanes in compiler.lanes}
            about = {"compiler": compiler.version, "date": datetime.now(UTC).date().isoformat(), "procedure": PROCEDURE}
            for lanes, row in rows.items():  # until they are judged
                row["held_out"] = table.get(chip, {}).get("lanes", {}).get(lanes, {}).get("held_out", row["fitted"])
            table[chip] = {**about, "lanes": rows}
            DATA.write_text(json.dumps(dict(sorted(table.items())), indent=1) + "\n", encoding="utf-8")
            for lanes, row in rows.items():
                print(chip, lanes, row)
            continue
        for lanes in compiler.lanes:
            check(compiler, chip, lanes)
    if not (asked.check or asked.old or asked.only or asked.judge):
        subprocess.run(
            [sys.executable, __file__, "--judge", *chips], check=True
        )  # a process that has read the new prices


if __name__ == "__main__":
    main(sys.argv[1:])
