"""Costs are what compilers write: machine instructions of a conversion's kernel, without those of the same loads and stores.

Intel's current compiler takes SPIR-V of LLVM 22 for pvc and bmg. The conversions that are named in the benchmark, and the
random ones here, are none of those that the prices were fitted to.
"""

from __future__ import annotations

import random
import re
import runpy
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg.conversion import cost_of
from layoutalg.conversion.cost import rank
from tests.oracle.toolchains import require, require_module, require_new

BENCHMARK: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "prices.py"))
CONVERSIONS: tuple[tuple[str, int, str, str], ...] = BENCHMARK["CONVERSIONS"]
EVERY_DAY = 6
"""Every so many of the named conversions are compiled every day."""


def compiled(device: str, chains: list[Any]) -> list[float]:
    """The instructions of each conversion on a chip, by Intel's current compiler."""
    require("mlir-opt-22")
    require_new("ocloc")
    return BENCHMARK["compilers"]()[device].count(chains)


def listed(device: str, chain: Any) -> float:
    """The instructions that a conversion has by its prices; without the cycles of shared memory, which no listing shows."""
    parts = cost_of(device).parts(chain)
    assert parts is not None
    return parts.issued


def off(costs: list[float], counts: list[float]) -> list[float]:
    return [abs(cost - count) / max(count, 5) for cost, count in zip(costs, counts, strict=True)]


def named(device: str, conversions: tuple[tuple[str, int, str, str], ...]) -> dict[str, float]:
    """How far off the cost of each is."""
    plans = [la.convert(*pair, element_bits=bits, target=device) for _, bits, *pair in conversions]
    names = [f"{name}, {bits} bits" for name, bits, *_ in conversions]
    counts = compiled(device, [plan.programs for plan in plans])
    return dict(zip(names, off([listed(device, plan.programs) for plan in plans], counts), strict=True))


def test_some_costs_are_near_the_listing() -> None:
    """The aim is 15 %: ways through shared memory are up to a quarter off, since IGC joins their addresses as it likes."""
    found = named("bmg", CONVERSIONS[::EVERY_DAY])
    assert max(found.values()) <= 0.25, found
    assert np.median(list(found.values())) <= 0.15, found


@pytest.mark.exhaustive
@pytest.mark.parametrize("device", ["pvc", "bmg"])
def test_three_of_four_named_costs_are_within_15_percent_of_the_listing(device: str) -> None:
    found = named(device, CONVERSIONS)
    assert len(found) == 26
    assert np.mean([share <= 0.15 for share in found.values()]) >= 0.75, found


@pytest.mark.exhaustive
@pytest.mark.parametrize("device", ["pvc", "bmg"])
def test_three_of_four_random_costs_are_within_15_percent_of_the_listing(device: str) -> None:
    chains = BENCHMARK["family"](3, 150, device, 16)
    costs = [listed(device, chain) for chain in chains]
    shares = off(costs, compiled(device, chains))
    assert np.mean(np.array(shares) <= 0.15) >= 0.75


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("chip", "lanes"), [("pvc", 16), ("pvc", 32), ("bmg", 16), ("bmg", 32), ("sm_80", 32), ("gfx942", 64)]
)
def test_most_defaults_are_within_15_percent_or_one_instruction_of_the_listing(chip: str, lanes: int) -> None:
    """Nine of ten; what is missed most are kernels of 20 instructions, 4 off."""
    require("mlir-opt-22")
    if chip == "sm_80":
        require_module("triton")
        require("llc-22")
    elif chip == "gfx942":
        require("llc-22")
    else:
        require_new("ocloc")
    chains = BENCHMARK["defaults"](6, 100, chip, lanes)
    parts = [cost_of(chip).parts(chain) for chain in chains]
    costs = np.array([round(one.issued) for one in parts if one is not None])
    counts = np.array(BENCHMARK["compilers"]()[chip].count(chains))
    assert BENCHMARK["judged"](costs, counts)["or_one_instruction"] >= 0.9


@pytest.mark.exhaustive
@pytest.mark.parametrize("device", ["pvc", "bmg"])
def test_candidates_are_in_the_order_of_their_listings(device: str) -> None:
    """Of two that differ by more than the prices are off, and pass as many words through memory, the cheaper one is shorter."""
    pairs: list[tuple[Any, Any]] = []
    for _, bits, *pair in CONVERSIONS:
        some = la.convert(*pair, element_bits=bits, target=device).candidates
        inside = [one for one in some if not any(program.slm_bytes for program in one.programs)]
        pairs += [(one, other) for one, other in pairwise(inside) if other.cost > 1.3 * one.cost]
    counts = compiled(device, [one.programs for pair in pairs for one in pair])
    assert all(first <= second for first, second in zip(counts[::2], counts[1::2], strict=True))


@pytest.mark.parametrize("target", ["pvc", "bmg", "sm_80", "gfx942", None])
def test_no_candidate_is_cheaper_than_the_plan(target: str | None) -> None:
    rng = random.Random(str(target))
    for _ in range(20):
        pair = BENCHMARK["random_pair"](rng, rng.choice([4, 16, 32]), 4, rng.choice([0, 1]))
        plan = la.convert(*pair, element_bits=rng.choice([8, 16, 32, 64]), target=target)
        best, *others = [rank(*cost_of(target).priced(one.programs)) for one in plan.candidates]
        assert all(best <= other for other in others)
        assert plan.programs == plan.candidates[0].programs
        assert all(type(one.cost) is int and one.cost >= 0 for one in plan.candidates)


@pytest.mark.parametrize(("target", "lanes"), [("bmg", 16), ("sm_80", 32), ("gfx942", 64)])
def test_a_plan_that_takes_a_longer_way_says_the_rate(target: str, lanes: int) -> None:
    """Wherever another way has fewer instructions, or as few: that way, what it keeps busy, and who published the rate."""
    rng, longer = random.Random(lanes), 0
    while longer < 10:
        pair = BENCHMARK["random_pair"](rng, lanes, 4, rng.choice([0, 1]))
        plan = la.convert(*pair, element_bits=rng.choice([8, 16, 32, 64]), target=target)
        ways = {one.name: cost_of(target).parts(one.programs) for one in plan.candidates}
        fewest = min(round(parts.issued) for parts in ways.values() if parts is not None)
        rows = [(line[:13].strip(), line[13:]) for line in str(plan).splitlines()]
        said = {name: text for name, text in rows if name in ("rate", "shorter", "as short")}
        taken = ways[plan.chosen.name]
        assert taken is not None
        assert ("shorter" in said) == (fewest < round(taken.issued))
        accuracy = max(0.15 * taken.issued, 1)
        near = [one for one in ways.values() if one and one.issued - taken.issued <= accuracy < one.slots - plan.cost]
        near = [one for one in near if one.slots > round(one.issued)]
        assert ("as short" in said) == ("shorter" not in said and bool(near))
        for name in {"shorter", "as short"}.intersection(said):
            unit = "(?:shared memory|the ALUs, 2 an instruction)"
            shorter = re.fullmatch(rf"(\d+) instructions?, but (\d+) slots of {unit}: (.+)", said[name])
            assert shorter is not None, said
            other = ways[shorter[3]]
            assert other is not None
            least = fewest if name == "shorter" else min(round(one.issued) for one in near)
            assert (int(shorter[1]), int(shorter[2])) == (least, other.slots)
            assert other.slots > plan.cost
            assert re.fullmatch(r"128 bytes of shared memory a clock, .+ \(.+\)", said["rate"])
            longer += name == "shorter"


@pytest.mark.parametrize(("target", "lanes"), [("bmg", 16), ("sm_80", 32), ("gfx942", 64)])
def test_a_plan_says_which_way_prices_cannot_tell_from_it(target: str, lanes: int) -> None:
    """Within 5 % or one instruction and slots, of ten instructions and more; the best such way, once."""
    rng, said = random.Random(lanes), 0
    while said < 6:
        pair = BENCHMARK["random_pair"](rng, lanes, 4, rng.choice([0, 1]))
        plan = la.convert(*pair, element_bits=rng.choice([8, 16, 32, 64]), target=target)
        ways = {one.name: cost_of(target).parts(one.programs) for one in plan.candidates}
        taken, text = ways[plan.chosen.name], str(plan)
        assert taken is not None
        near = max(0.05 * taken.issued, 1)
        others = [
            name
            for name, one in ways.items()
            if one and 0.03 < abs(one.issued - taken.issued) <= near and one.slots <= plan.cost + near
        ]
        named = re.findall("^(?:shorter|as short|fewer slots) .*?: (.+)$", text, re.MULTILINE)
        others = [name for name in others if name not in named] if round(taken.issued) >= 10 else []
        lines = re.findall(
            r"^as good +(\d+) instructions?, (\d+) slots?, too near to tell .*?: (.+)$", text, re.MULTILINE
        )
        if plan.slm_bytes or any(one and one.cycles for one in ways.values()):
            assert [name for *_, name in lines] == others[:1]
        for instructions, slots, name in lines:
            way = ways[name]
            assert way is not None
            assert (int(instructions), int(slots)) == (round(way.issued), way.slots)
            said += 1
