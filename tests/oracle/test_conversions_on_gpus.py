"""Conversions for NVIDIA's and AMD's chips: lowered by LLVM, executed in software by LLVM IR, and counted in machine code.

What a plan's `apply` and the simulator make of a fragment, the emitted kernel must make of it too, by definitions of shuffles,
byte permutes, broadcasts, barriers and shared memory that know nothing of layoutalg (`gpu_software`). In the listing of
ptxas every step is one instruction, and whole conversions are as short as was found possible.
"""

from __future__ import annotations

import random
import runpy
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import layoutalg as la
from layoutalg import Layout
from layoutalg.conversion.lowering.emit import emit_function, emit_kernel
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Address, Barrier, LaneSwap, Load, Permute, Select, Shuffle, Step, Store
from layoutalg.conversion.strategies.memory_forms import through_forms
from layoutalg.core.errors import ConversionError
from layoutalg.memory.machine_bits import view
from layoutalg.simulate.launching import launch
from tests.conversion.brute_force import numbers, values
from tests.conversion.test_lane_swaps import pair as swapped_pair
from tests.conversion.test_xor_conversions import xor_layout
from tests.oracle.gpu_software import run_kernel
from tests.oracle.toolchains import require, require_module, require_new
from tests.random_layouts import bits_pair, mixed_pair

Array = NDArray[Any]
Chain = tuple[Program, ...]
Pair = tuple[str, str]


def _transpose(size: int) -> Pair:
    return f"d0 = {size}@lane, d1 = {size}@reg", f"d0 = {size}@reg, d1 = {size}@lane"


def _tiles(count: int) -> Pair:
    return (
        f"d0 = {count}@lane:16, d1 = 16@lane, d2 = 16@reg",
        f"d0 = {count}@lane:16, d1 = 16@reg, d2 = 16@lane",
    )


_ACCUMULATOR = "d0 = 2@reg:2 8@lane:4, d1 = 2@reg:4 4@lane 2@reg"  # PTX ISA, two of m16n8 beside each other
_OPERAND = "d0 = 2@reg:2 8@lane:4, d1 = 2@reg:4 4@lane 2@reg"  # m16n8k16, A
_ROWS = "d0 = 16@lane:2, d1 = 2@lane 8@reg"
_MFMA_16 = "d0 = 4@lane:16 4@reg, d1 = 16@lane", "d0 = 16@lane, d1 = 4@lane:16 4@reg"
_MFMA_32 = "d0 = 4@reg:4 2@lane:32 4@reg, d1 = 32@lane", "d0 = 32@lane, d1 = 4@reg:4 2@lane:32 4@reg"

BARS: list[tuple[str, Pair, int, int]] = [
    ("sm_80", _transpose(32), 32, 21),
    ("sm_80", _transpose(32), 16, 32),
    ("sm_80", _transpose(32), 8, 34),
    ("sm_80", _tiles(2), 32, 16),
    ("sm_80", _tiles(2), 16, 24),
    ("sm_80", (_ACCUMULATOR, _ROWS), 16, 14),
    ("sm_80", (_ROWS, _OPERAND), 16, 9),
    ("sm_80", ("d0 = 8@reg, d1 = 32@lane", "d0 = 4@reg:2 2@lane:16, d1 = 2@reg 16@lane"), 64, 33),
    ("sm_90", _transpose(32), 16, 36),
    ("sm_90", (_ACCUMULATOR, _ROWS), 16, 14),
    ("gfx942", _MFMA_16, 16, 12),
    ("gfx942", _MFMA_32, 16, 26),
    ("gfx942", _transpose(64), 32, 78),
    ("gfx942", _transpose(64), 16, 78),
    ("gfx942", _tiles(4), 32, 21),
    ("gfx950", _MFMA_16, 16, 10),
    ("gfx950", _MFMA_32, 16, 18),
    ("gfx950", _transpose(64), 16, 34),
]
"""Conversions, and the instructions of the shortest kernels that were found for them by hand, two or three more."""

GPU: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "gpu_listings.py"))
WIDTHS = {"sm_80": 32, "gfx942": 64}
"""The lanes that execute together."""
FORMS = WIDTHS | {"sm_90": 32, "gfx950": 64}
"""The same, of the chips whose accesses to shared memory differ."""
WORKGROUPS = 2
NO_SOURCES: Mapping[Chain, Layout] = {}
ROWS, COLUMNS = "d0 = 32@reg, d1 = 32@lane", "d0 = 32@lane, d1 = 32@reg"


def fits(layout: Layout, width: int) -> bool:
    """Whether a kernel of whole warps or wavefronts has the lanes and subgroups of a layout."""
    lanes, subgroups = (layout.axes.get(axis, 1) for axis in ("lane", "sg"))
    return width % lanes == 0 and lanes * subgroups % width == 0


def chains(chip: str, seed: int, count: int) -> dict[Chain, Layout]:
    """The plans of random pairs, for kernels that the chip has lanes for, and their sources; of powers of two, and others."""
    rng, found = random.Random(seed), dict[Chain, Layout]()
    while len(found) < count:
        source, target = bits_pair(rng, 3) if rng.random() < 0.8 else mixed_pair(rng)
        if fits(source, WIDTHS[chip]):
            bits = rng.choice([8, 16, 32, 64])
            found[la.convert(source, target, element_bits=bits, target=chip).programs] = source
    return found


def steps_of_all_kinds(chip: str, seed: int) -> Chain:
    """A program of random steps, on words of random bits."""
    rng, lanes = random.Random(seed), WIDTHS[chip] >> seed % 3
    subgroups = 4 * WIDTHS[chip] // lanes
    steps: list[Step] = []
    for word in range(8, 72):
        one, other = rng.randrange(word), rng.randrange(word)
        mask = rng.choice([rng.getrandbits(lanes), sum(1 << lane for lane in range(lanes) if lane >> 1 & 1)])
        pattern = rng.choice([
            tuple(lane ^ rng.randrange(lanes) for lane in range(lanes)),
            tuple(lane ^ distance % lanes for distance in [rng.choice([1, 2, 3, 5, 7, 8, 15])] for lane in range(lanes)),
            tuple(lane & ~3 | (lane * lane + turn) & 3 for turn in [rng.randrange(4)] for lane in range(lanes)),
            tuple(lane & -16 | (lane - turn) % min(lanes, 16) for turn in [rng.randrange(16)] for lane in range(lanes)),
            tuple((lane + 3) % lanes for lane in range(lanes)),
            (rng.randrange(lanes),) * lanes,
        ])  # fmt: skip
        selectors = [rng.getrandbits(16) & 0x7777 for _ in range(4)]
        by_lane = tuple(selectors[lane & 3] for lane in range(lanes))
        linear = tuple(0x5410 ^ (lane & 1) * 0x2222 ^ (lane >> 1 & 1) * 0x4444 for lane in range(lanes))
        choices: list[Step] = [
            Select(word, one, other, "lane", mask),
            Select(word, one, other, "sg", rng.getrandbits(subgroups)),
            Shuffle(word, one, pattern),
            Permute(word, one, other, rng.choice([(selectors[0],), by_lane, linear])),
        ]
        steps.append(rng.choice(choices))
    return (Program(subgroups, lanes, 32, 8, 72, tuple(range(8)), tuple(steps), tuple(range(72))),)


def applied(chain: Chain, fragments: Array) -> Array:
    for program in chain:
        fragments = program.run(fragments)
    return fragments


def fragments_of(chain: Chain, seed: int, source: Layout | None = None) -> Array:
    """Random bits, `[workgroup, subgroup, lane, register]`; the same ones wherever the source has the same element."""
    first = chain[0]
    shape = WORKGROUPS, first.subgroups, first.lanes, first.source_registers
    if source is not None:
        each = [values(int(np.prod(source.shape)), first.element_bits, seed + i) for i in range(WORKGROUPS)]
        return np.stack([one[numbers(source)] for one in each])
    return np.random.default_rng(seed).integers(0, 2**first.element_bits, shape, f"u{first.element_bits // 8}")


def text_of(chain: Chain, chip: str, name: str) -> str:
    return emit_kernel(chain, f"i{chain[0].element_bits}", name, chip)


def agree(
    chip: str, found: Sequence[Chain], version: int, simulated: int = 0, sources: Mapping[Chain, Layout] = NO_SOURCES
) -> None:
    """The kernels do in software (the first ones in the simulator too) what their programs say.

    What all that hold an element store must be the same: then `sources` has the layout that says who holds what.
    """
    texts = [text_of(chain, chip, f"k{i}") for i, chain in enumerate(found)]
    ir = GPU["lowered"](texts, chip, version)
    for i, chain in enumerate(found):
        given, last = fragments_of(chain, i, sources.get(chain)), chain[-1]
        expected = np.stack([applied(chain, one) for one in given])
        items = last.subgroups * last.lanes
        assert np.array_equal(run_kernel(ir, f"k{i}", given, expected.shape, items, FORMS[chip]), expected), chain
        if i < simulated:
            made = np.zeros_like(expected)
            outcome = launch(texts[i], [np.ascontiguousarray(given), made], (WORKGROUPS, 1, 1), target=chip)
            assert outcome.findings == ()
            assert np.array_equal(made, expected), chain


@pytest.mark.parametrize("chip", WIDTHS)
def test_kernels_do_in_software_what_their_programs_say(chip: str) -> None:
    require("mlir-opt-22")
    planned = chains(chip, 1, 60)
    agree(chip, [*(steps_of_all_kinds(chip, seed) for seed in range(12)), *planned], 22, simulated=20, sources=planned)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("version", [22, 23, 24])
@pytest.mark.parametrize("chip", WIDTHS)
def test_ten_thousand_kernels_do_in_software_what_their_programs_say(chip: str, version: int, seed: int) -> None:
    (require if version == 22 else require_new)(f"mlir-opt-{version}")
    planned = chains(chip, 10 * version + seed, 350)
    found = [*(steps_of_all_kinds(chip, 100 * seed + i) for i in range(50)), *planned]
    agree(chip, found, version, simulated=100 if version == 22 else 0, sources=planned)


def chains_with_xor(chip: str, seed: int, count: int) -> list[Chain]:
    """The plans of random pairs with XOR, and their way through memory where they have one."""
    rng, found = random.Random(f"xor {chip} {seed}"), list[Chain]()
    while len(found) < count:
        axes = {"sg": rng.choice([0, 0, 1]), "lane": WIDTHS[chip].bit_length() - 1, "reg": rng.randint(0, 3)}
        copies = rng.choice([0, 0, 1])
        source, target = (xor_layout(rng, sum(axes.values()) - copies, axes, copies) for _ in range(2))
        ways = la.convert(source, target, element_bits=rng.choice([8, 16, 32, 64]), target=chip).candidates
        found += [way.programs for way in (ways[0], *[one for one in ways[1:] if one.kind == "shared memory"][:1])]
    return found[:count]


@pytest.mark.parametrize("chip", WIDTHS)
def test_kernels_of_layouts_with_xor_do_what_their_programs_say(chip: str) -> None:
    require("mlir-opt-22")
    found = chains_with_xor(chip, 0, 30)
    agree(chip, found, 22, simulated=4)
    if chip == "sm_80":
        require_module("triton")
    texts = [text_of(chain, chip, f"k{i}") for i, chain in enumerate(found[:10])]
    assert len(GPU["listings"](texts, chip)) == 10


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("chip", WIDTHS)
def test_a_thousand_kernels_of_layouts_with_xor(chip: str, seed: int) -> None:
    require("mlir-opt-22")
    found = chains_with_xor(chip, 1 + seed, 100)
    agree(chip, found, 22)
    texts = [text_of(chain, chip, f"k{i}") for i, chain in enumerate(found)]
    assert len(GPU["listings"](texts, chip)) == 100


def test_functions_and_memory_lower_in_all_versions() -> None:
    """The newer ones want alignments elsewhere; a function is lowered as a kernel is."""
    plans = [
        la.convert(*pair, element_bits=bits, target="gfx942")
        for bits, pair in (
            (16, ("d0 = 16@reg, d1 = 64@lane", "d0 = 16@lane, d1 = 4@lane:16 16@reg")),
            (32, ("d0 = 2@sg 8@reg, d1 = 64@lane", "d0 = 8@reg 2@sg, d1 = 64@lane")),
        )
    ]
    for version in (22, 23, 24):
        (require if version == 22 else require_new)(f"mlir-opt-{version}")
        texts = [
            emit_function(plan.programs, f"i{plan.element_bits}", f"f{i}", "gfx942") for i, plan in enumerate(plans)
        ]
        ir = GPU["lowered"]([*texts, plans[1].emit(kernel=True, name="kernel")], "gfx942", version)
        assert ir.count("define ") == 3


@pytest.mark.parametrize("chip", WIDTHS)
def test_lanes_of_a_subgroup_wait_for_one_another_without_an_instruction(chip: str) -> None:
    """Memory inside a subgroup: loads must not be moved before stores, and nothing else is needed."""
    width = WIDTHS[chip]
    pair = f"d0 = 16@reg, d1 = {width}@lane", f"d0 = 16@lane, d1 = {width // 16}@lane:16 16@reg"
    ways = [way.programs for way in la.convert(*pair, element_bits=16, target=chip).candidates]
    chain = next(way for way in ways if any(isinstance(step, Barrier) for program in way for step in program.steps))
    require("mlir-opt-22")
    agree(chip, [chain], 22, simulated=1)
    text = text_of(chain, chip, "k")
    barriers = [line for line in text.splitlines() if "bar.warp.sync" in line or "llvm.fence" in line]
    assert len(barriers) == sum(program.count(Barrier) for program in chain)
    given = fragments_of(chain, 0)[:1]
    raced = launch("\n".join(text.split("\n" + barriers[0])), [given, np.zeros_like(given)], target=chip)
    assert {finding.rule for finding in raced.findings} == {"run.race"}
    if chip == "gfx942":
        assert not any("barrier" in line for line in GPU["listings"]([text], chip)["k"])


def chains_of_forms(chip: str, seed: int, count: int) -> dict[Chain, Layout]:
    """Random pairs of powers of two by every form of access to shared memory that fits them, and their sources."""
    rng, found = random.Random(f"forms {chip} {seed}"), dict[Chain, Layout]()
    while len(found) < count:
        source, target = bits_pair(rng, 5)
        a, b = view(source), view(target)
        if a is not None and b is not None and source.axes.get("lane", 1) == FORMS[chip]:
            bits = rng.choice([8, 16, 16, 32, 64])
            copies = len(found) % 2 == 1  # some are stored by all that hold the same
            found |= {(program,): source for _, program in through_forms(a, b, bits, chip, everyone=copies)}
    return dict(islice(found.items(), count))


def chains_of_bars(chip: str) -> list[Chain]:
    """The named conversions below, by every form."""
    views = [(*map(view, map(Layout.parse, pair)), bits) for named, pair, bits, _ in BARS if named == chip]
    return [(program,) for a, b, bits in views if a and b for _, program in through_forms(a, b, bits, chip)]


@pytest.mark.parametrize("version", [22, 23, 24])
@pytest.mark.parametrize("chip", FORMS)
def test_every_form_of_access_does_what_its_program_says(chip: str, version: int) -> None:
    """`ldmatrix`, `stmatrix`, transposed loads, narrow stores: by definitions that know nothing of this package."""
    (require if version == 22 else require_new)(f"mlir-opt-{version}")
    of_forms = chains_of_forms(chip, version, 16)
    found = [*chains_of_bars(chip), *of_forms]
    assert {"rows", "columns", "halves", ""} >= {step.matrix for chain in found for step in accesses(chain)}
    agree(chip, found, version, simulated=len(found) if version == 22 else 0, sources=of_forms)


@pytest.mark.parametrize(
    ("chip", "bits", "name"),
    [
        ("sm_90", 8, "stores and loads of 8x8 matrices"),
        ("sm_90", 32, "stores and loads of 8x8 matrices"),
        ("sm_80", 8, "2-byte stores and 4-byte loads"),
        ("gfx942", 8, "2-byte stores and 4-byte loads"),
    ],
)
def test_forms_of_few_conversions_do_what_their_programs_say(chip: str, bits: int, name: str) -> None:
    """Matrices on both sides, stored by lanes that hold copies; halves of words that hold two bytes."""
    require("mlir-opt-22")
    lanes = FORMS[chip]
    pair = f"d0 = {lanes}@lane 4@reg", f"d0 = {lanes // 2}@lane 2@reg:2 2@lane:{lanes // 2} 2@reg"
    if "matrices" in name:
        pair = (
            "d0 = 32@reg:2, d1 = 16@lane 2@reg | replicas 2@lane:16",
            "d0 = 2@reg:16 2@reg:2 8@lane:4, d1 = 4@reg:4 4@lane 2@reg",
        )
    source, target = map(Layout.parse, pair)
    a, b = view(source), view(target)
    assert a is not None
    assert b is not None
    program = dict(through_forms(a, b, bits, chip, everyone="matrices" in name))[name]
    agree(chip, [(program,)], 22, simulated=1, sources={(program,): source})


@pytest.mark.parametrize("version", [22, 23, 24])
def test_swaps_of_lanes_do_what_their_programs_say(version: int) -> None:
    (require if version == 22 else require_new)(f"mlir-opt-{version}")
    rng, found = random.Random(version), list[Chain]()
    while len(found) < 12:
        plan = la.convert(*swapped_pair(rng), element_bits=rng.choice([8, 16, 32, 64]), target="gfx950")
        found += [way.programs for way in plan.candidates if way.count(LaneSwap)]
    agree("gfx950", found, version, simulated=6 if version == 22 else 0)


def test_two_bits_of_four_registers_are_four_instructions_on_gfx950() -> None:
    require("mlir-opt-22")
    plan = la.convert("d0 = 4@reg, d1 = 64@lane", "d0 = 4@lane:16, d1 = 4@reg 16@lane", target="gfx950")
    whole, copy = GPU["counted"]([plan.programs, copy_of(32, 4, 64)], "gfx950")
    assert whole - copy - Counter({"s_nop": 9}) == Counter({"v_permlane16_swap_b32": 2, "v_permlane32_swap_b32": 2})


def test_neighbours_exchange_words_without_shared_memory() -> None:
    """XOR by 1, 2, 3, 7, 8 and 15 is one `v_mov_b32` by DPP each."""
    require("mlir-opt-22")
    distances = (1, 2, 3, 7, 8, 15)
    steps = tuple([Shuffle(6 + i, i, tuple(lane ^ far for lane in range(64))) for i, far in enumerate(distances)])
    chain = (Program(1, 64, 32, 6, 6, tuple(range(6)), steps, tuple(range(6, 12))),)
    agree("gfx942", [chain], 22, simulated=1)
    lines = GPU["listings"]([text_of(chain, "gfx942", "k")], "gfx942")["k"]
    assert sum("row_mask" in line for line in lines) == len(distances)
    assert not any(line.startswith("ds_") for line in lines)


def test_pairs_of_bytes_that_are_loaded_are_a_permute_a_word_on_nvidia() -> None:
    """One joins them; ptxas may clear the upper half of a load by another one (7 were written byte by byte)."""
    require("mlir-opt-22")
    require_module("triton")
    store = Store((0,), Address(0, factors=(("lane", 1, 32, 1),)))
    loads = [Load((to,), Address(at, factors=(("lane", 1, 32, 2),)), 16) for to, at in ((1, 0), (2, 1))]
    chain = (Program(1, 32, 8, 4, 4, (0, 1, 2, 3), (store, Barrier("subgroup"), *loads), (4, 5, 8, 9), 128),)
    swapped = (replace(chain[0], unpack=(9, 4, 8, 5)),)
    agree("sm_80", [chain, swapped], 22, simulated=2)
    assert max([one["PRMT"] for one in counted((chain, swapped))]) <= 2


@pytest.mark.parametrize(
    ("chip", "maps"),
    [
        ("sm_80", {"", "rows", "columns"}),
        ("sm_90", {"", "rows", "columns"}),
        ("gfx950", {"", "halves"}),
        ("gfx942", {""}),
    ],
)
def test_the_forms_of_each_chip_are_among_those_that_are_executed(chip: str, maps: set[str]) -> None:
    assert {step.matrix for chain in chains_of_bars(chip) for step in accesses(chain)} == maps
    stored = {step.matrix for chain in chains_of_bars(chip) for step in accesses(chain) if isinstance(step, Store)}
    assert stored == (maps if chip == "sm_90" else {""})


def accesses(chain: Chain) -> list[Store | Load]:
    """The stores and loads of programs."""
    return [step for program in chain for step in program.steps if isinstance(step, (Store, Load))]


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("chip", FORMS)
def test_two_thousand_programs_of_forms(chip: str, seed: int) -> None:
    require("mlir-opt-22")
    found = chains_of_forms(chip, 100 + seed, 50)
    agree(chip, list(found), 22, simulated=10, sources=found)


# Machine code.


@cache
def counted(kernels: tuple[Chain, ...]) -> list[Counter[str]]:
    """The operations in the listings of kernels for sm_80."""
    require_module("triton")
    require("mlir-opt-22")
    found: list[Counter[str]] = GPU["counted"](kernels, "sm_80")
    return found


def copy_of(bits: int, registers: int, lanes: int = 32) -> Chain:
    """A kernel that loads and stores, and converts nothing."""
    cells = tuple(range(registers * max(bits // 32, 1)))
    return (Program(1, lanes, bits, registers, registers, cells, (), cells),)


@pytest.mark.parametrize("chip", ["sm_80", "gfx942", "gfx950"])
def test_the_default_is_as_short_as_the_shortest_known(chip: str) -> None:
    """Instructions beyond the mean of kernels that copy the source's registers, and the destination's."""
    require("llc-22")
    if chip == "sm_80":
        require_module("triton")
    bars = [one for one in BARS if one[0] == chip]
    plans = [la.convert(*pair, element_bits=bits, target=chip) for _, pair, bits, _ in bars]
    kernels = [
        chain
        for plan in plans
        for chain in (
            plan.programs,
            *(
                copy_of(plan.element_bits, count, plan.programs[0].lanes)
                for count in (plan.programs[0].source_registers, plan.programs[-1].registers)
            ),
        )
    ]
    counts: list[float] = GPU["counts"](kernels, chip)
    found = [counts[3 * i] - sum(counts[3 * i + 1 : 3 * i + 3]) / 2 for i in range(len(bars))]
    for (_, pair, bits, most), instructions, plan in zip(bars, found, plans, strict=True):
        assert instructions <= most, (pair, bits, plan.candidates[0].name)


def test_every_step_is_one_instruction_of_nvidias() -> None:
    ways = la.convert(ROWS, COLUMNS, element_bits=16, target="sm_80").candidates
    kernels = tuple(way.programs for way in ways if not any(program.slm_bytes for program in way.programs))
    for chain, counts in zip(kernels, counted(kernels), strict=True):
        [program] = chain
        assert counts["SHFL"] == program.count(Shuffle)
        assert counts["PRMT"] == program.count(Permute) + program.moves
        # A selector that depends on the lane is one select more for each table of them.
        assert 0 <= counts["SEL"] - program.count(Select) <= 64


@pytest.mark.parametrize(
    ("source", "target", "bits", "most", "least"),
    [
        (ROWS, COLUMNS, 16, 190, 180),
        ("d0 = 16@lane | replicas 2@lane:16", "d0 = 16@reg | replicas 32@lane", 32, 20, 20),
    ],
)
def test_listings_on_sm_80_are_short(source: str, target: str, bits: int, most: int, least: int) -> None:
    """Instructions beside the same loads and stores without the conversion: of the plan, and of the shortest exchange."""
    plan = la.convert(source, target, element_bits=bits, target="sm_80")
    exchanges = [way.programs for way in plan.candidates if not any(program.slm_bytes for program in way.programs)]
    first, last = plan.programs[0], plan.programs[-1]
    copies = copy_of(bits, first.source_registers), copy_of(bits, last.registers)
    counts = [sum(one.values()) for one in counted((*copies, plan.programs, *exchanges))]
    copied = max(counts[:2])
    assert counts[2] - copied <= most
    assert min(counts[3:]) - copied <= least


@pytest.mark.parametrize(
    ("source", "target", "chip", "words"),
    [
        ("d0 = 64@lane", "d0 = 64@lane", "sm_80", "subgroups of 64 lanes on sm_80: expected 32"),
        ("d0 = 6@lane", "d0 = 6@lane", "gfx942", "subgroups of 6 lanes on gfx942: expected 64"),
        (
            "d0 = 16@lane",
            "d0 = 16@lane",
            "sm_80",
            "a workgroup of 16 work-items on sm_80: expected a multiple of the 32",
        ),
    ],
)
def test_lanes_that_a_chip_does_not_have_are_refused(source: str, target: str, chip: str, words: str) -> None:
    with pytest.raises(ConversionError, match=words):
        la.convert(source, target, target=chip).emit(kernel=True)
