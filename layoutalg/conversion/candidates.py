"""The ways to convert one layout to another, and which is best.

Where all factors are powers of two, the two layouts say which bit of the machine becomes which (`strategies.renaming`), and
the exchanges follow (`bit_exchange`, `exchange` where lanes hold copies); what many lanes want may be broadcast (`broadcasts`,
`gathers`). If asked for, moves of Intel's register file are another way (`regions`). Where a subgroup cannot do it alone, only
what crosses goes through shared memory, perhaps between two exchanges (`cross_subgroup`), or everything does
(`through_memory`), which is weighed inside a subgroup too, or some registers do while others are exchanged (`mixed_ways`).
Other factors that stay in registers make blocks of a smaller conversion (`blocks`); what is left of a block goes by tables of
elements in a subgroup (`tables`, `words_by_pair`, `multi_hop`), or, where elements cross subgroups or are too many to schedule,
row by row through memory (`padded`).

>>> source, destination = Layout.parse("d0 = 2@sg 2@reg, d1 = 16@lane"), Layout.parse("d0 = 2@reg 2@sg, d1 = 16@lane")
>>> for one in candidates_of(source, destination, 32, "generic"):
...     print(one.cost, one.name)
323 only what crosses goes through shared memory
448 everything goes through shared memory

Equal maps need nothing, whatever they were written in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from math import prod
from typing import NamedTuple

from layoutalg.conversion.bound import bound_of
from layoutalg.conversion.candidate import Candidate
from layoutalg.conversion.cost import Cost, cost_of, rank
from layoutalg.conversion.layouts import machine_counts
from layoutalg.conversion.levels import crossing
from layoutalg.conversion.mixed_ways import best_in_memory, mixed_way
from layoutalg.conversion.normalize import filled, leaves_empty, normalized, shifted, trimmed, with_starts
from layoutalg.conversion.program.cluster_places import in_cluster
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import (
    WORD,
)
from layoutalg.conversion.strategies.bit_exchange.pattern import pattern_of
from layoutalg.conversion.strategies.blocks import Blocks, split
from layoutalg.conversion.strategies.cross_subgroup import across_name, across_subgroups
from layoutalg.conversion.strategies.exchange import exchange, stays_in_subgroup
from layoutalg.conversion.strategies.gathers import gathered_first
from layoutalg.conversion.strategies.linear import exchange_of_maps
from layoutalg.conversion.strategies.linear_memory import memory_of_maps
from layoutalg.conversion.strategies.padded import through_padded_memory
from layoutalg.conversion.strategies.regions.moves import by_regions
from layoutalg.conversion.strategies.tables import slot_tables
from layoutalg.conversion.ways_by_bits import THROUGH_MEMORY, Memory, exchanges, memory_ways
from layoutalg.conversion.ways_by_table import INSIDE, by_broadcasts, by_passing_on, moves_words, ways_by_table
from layoutalg.conversion.ways_of_copies import ways_of_copies
from layoutalg.core.errors import ConversionError, LayoutError, SizeError
from layoutalg.core.layout import MACHINE, Layout
from layoutalg.core.limits import MOST_SLOTS, MOST_SLOTS_TRIED, MOST_STEPS
from layoutalg.hardware.chips import target_info
from layoutalg.memory.machine_bits import View, view

__all__ = [
    "ROW_BY_ROW",
    "candidates_of",
    "held",
    "repeated_candidates",
    "row_by_row",
    "splits",
]

ROW_BY_ROW = f"{THROUGH_MEMORY}, row by row"
_REGIONS = "moves between register regions, as inline assembly"
_NOTHING = "nothing moves"


class Settings(NamedTuple):
    """What is asked of a conversion besides its layouts, elements and chip.

    `slm_limit` counts for one workgroup, and none of its memory is used at level "subgroup" (see `conversion.levels`).
    With `regions`, moves between register regions are weighed too; `portable` ways need no function of one compiler alone.
    """

    slm_limit: int | None = None
    level: str = "workgroup"
    workgroups: int = 1
    regions: bool = False
    pressure: str = "all"
    portable: bool = False

    def memory_of(self, target: str) -> Memory:
        """The shared memory that a conversion may use on a chip, with the chip's prices."""
        cost = cost_of(target, self.pressure)
        return Memory.of_chip(cost, self.slm_limit, self.level, self.workgroups, self.portable)


UNASKED = Settings()


@lru_cache(maxsize=64)
def candidates_of(
    source: Layout,
    destination: Layout,
    element_bits: int,
    target: str,
    settings: Settings = UNASKED,
) -> tuple[Candidate, ...]:
    """All ways, the best first (`cost.rank`)."""
    memory = settings.memory_of(target)
    known = held(source, destination, element_bits, target, settings)
    best = dict(known)
    ours, theirs, starts = normalized(source, destination)
    a, b = view(ours), view(theirs)
    if a is not None and b is not None and not any(starts) and settings.workgroups == 1:
        moves = any(
            program.slm_bytes or moves_words((program,)) for one, _ in known.values() for program in one.programs
        )
        for name, one in (_of_copies(a, b, element_bits, memory) if moves else {}).items():
            if name not in best or one[1] < best[name][1]:  # it is then behind those of its price that are known
                best.pop(name, None)
                best[name] = one
        lowest = min([order for _, order in best.values()])
        others = [one.programs for one, _ in known.values()]
        mixed = mixed_way(a, b, element_bits, memory, lowest[0], best_in_memory(element_bits, memory), others)
        if mixed is not None:
            best[mixed.name] = Candidate(mixed.name, (mixed.program,), mixed.price[0]), rank(*mixed.price)
    candidates = [one for one, _ in sorted(best.values(), key=lambda found: found[1])]
    if not any(program.steps or program.moves for program in candidates[0].programs):
        candidates[0] = Candidate(_NOTHING, candidates[0].programs, 0)
    return tuple(candidates)


@lru_cache(maxsize=64)
def held(
    source: Layout,
    destination: Layout,
    element_bits: int,
    target: str,
    settings: Settings = UNASKED,
) -> Mapping[str, tuple[Candidate, tuple[int, float]]]:
    """The ways for two layouts as they are, by name, with the rank of each: none is mixed, and copies are not told apart.

    >>> one, all_ = Layout.parse("d0 = 2@lane"), Layout.parse("d0 = 2@reg | replicas 2@lane")
    >>> next(iter(held(one, all_, 32, "generic")))
    'an exchange in registers and lanes'
    """
    memory, workgroups = settings.memory_of(target), settings.workgroups
    source, destination, starts = normalized(source, destination)
    found = _ways_within(source, destination, element_bits, memory, settings.level)
    if settings.regions and found[0][0] != _NOTHING:
        found += _ways_by_regions(source, destination, element_bits, target)
    if any(starts):
        found = [(INSIDE if name == _NOTHING else name, with_starts(programs, starts)) for name, programs in found]
    if workgroups > 1:
        placed = [(name, in_cluster(programs, workgroups, memory.most // workgroups)) for name, programs in found]
        found = [(name, programs) for name, programs in placed if programs is not None]
        if not found:
            raise SizeError(
                f"more than {memory.most // workgroups} bytes of shared memory in a workgroup of the cluster"
            )
    lengths = [sum(len(program.steps) for program in programs) for _, programs in found]
    if min(lengths) > MOST_STEPS:
        raise SizeError(f"{min(lengths)} steps: at most {MOST_STEPS}; convert a smaller part of the tensor at a time")
    return _priced(found, memory.cost, workgroups)


def _of_copies(a: View, b: View, element_bits: int, memory: Memory) -> dict[str, tuple[Candidate, tuple[int, float]]]:
    """The ways of copies that are told apart, all that can be made."""
    found: list[tuple[str, tuple[Program, ...]]] = []
    for one in ways_of_copies(a, b, element_bits, memory):
        with suppress(SizeError):
            found.append((one.name, one.make()))
    fitting = [(name, way) for name, way in found if all(program.slm_bytes <= memory.most for program in way)]
    return _priced(fitting, memory.cost, 1)


def _priced(
    found: Sequence[tuple[str, tuple[Program, ...]]], cost: Cost, workgroups: int
) -> dict[str, tuple[Candidate, tuple[int, float]]]:
    """The best of each name, with its rank."""
    best: dict[str, tuple[Candidate, tuple[int, float]]] = {}
    for name, programs in found:
        if sum([len(program.steps) for program in programs]) > MOST_STEPS:
            continue
        price = cost.priced(programs, workgroups)
        if name not in best or rank(*price) < best[name][1]:
            best[name] = Candidate(name, programs, price[0]), rank(*price)
    return best


def repeated_candidates(candidates: Sequence[Candidate], blocks: Blocks | None, limit: int) -> tuple[Candidate, ...]:
    """The ways to convert one block, for all blocks, in the same order; None stands for one block.

    Raises `SizeError` where the only way has too many steps.
    """
    if blocks is None:
        return tuple(candidates)
    found: list[Candidate] = []
    for one in candidates:
        steps = blocks.count * sum(len(program.steps) for program in one.programs)
        if steps > MOST_STEPS:
            if len(candidates) == 1:
                raise SizeError(f"{steps} steps: at most {MOST_STEPS}; convert a smaller part of the tensor at a time")
            continue
        programs = blocks.programs(one.programs, limit)
        idle = not any(program.steps or program.moves for program in programs)
        name = (
            one.name if idle else f"{INSIDE if one.name == _NOTHING else one.name}, for each of {blocks.count} blocks"
        )
        found.append(Candidate(name, programs, blocks.count * one.cost))
    return tuple(found)


def _ways_within(
    source: Layout, destination: Layout, element_bits: int, memory: Memory, level: str
) -> list[tuple[str, tuple[Program, ...]]]:
    """The ways that a level and a limit of shared memory leave."""
    if memory.most:
        return _ways(source, destination, element_bits, memory)
    found: list[tuple[str, tuple[Program, ...]]] = []
    refused: LayoutError | None = None
    try:
        found = _ways(source, destination, element_bits, memory)
    except LayoutError as error:
        refused = error
    found = [(name, programs) for name, programs in found if not any(program.slm_bytes for program in programs)]
    if found:
        return found
    moves = crossing(source, destination)
    if moves is None:
        raise refused or ConversionError(f"{source} to {destination}: needs shared memory")
    lacks = "level 'subgroup' has neither shared memory nor barriers; use level 'workgroup'"
    if level != "subgroup":
        lacks = "slm_limit=0 leaves no shared memory; expected at least 4 bytes, or None for what the target has"
    raise ConversionError(f"{moves}, so elements go to other subgroups, and {lacks}") from None


def _ways_by_regions(
    source: Layout, destination: Layout, element_bits: int, target: str
) -> list[tuple[str, tuple[Program, ...]]]:
    """The way by moves of Intel's register file, for powers of two that stay in their subgroup."""
    a, b = view(source), view(destination)
    if a is None or b is None or not stays_in_subgroup(a, b):
        return []
    program = by_regions(a, b, element_bits, target_info(target).grf_bytes)
    return [] if program is None else [(_REGIONS, (program,))]


def _ways(
    source: Layout, destination: Layout, element_bits: int, memory: Memory
) -> list[tuple[str, tuple[Program, ...]]]:
    """The programs of all ways, each with its name."""
    ours, theirs = source.canonical(), destination.canonical()
    if (
        ours.flips == theirs.flips
        and ours.dims == theirs.dims
        and ours.replicas == theirs.replicas
        and ours.offsets == theirs.offsets
    ):
        return [(_NOTHING, (_identity(source, element_bits),))]
    a, b = view(source), view(destination)
    if a is not None and b is not None:
        found = _ways_by_bits(a, b, element_bits, memory)
        slots = prod(
            max(one) for one in zip(*(machine_counts(one).values() for one in (source, destination)), strict=True)
        )
        if not stays_in_subgroup(a, b):
            return found
        if slots <= MOST_SLOTS and any(one.axis == "lane" for one in theirs.replicas):
            found += by_broadcasts(slot_tables(source, destination), element_bits)
            for number, way in enumerate(gathered_first(a, b, element_bits)):
                found.append((f"{INSIDE}, gathered into words first{', by broadcasts' * number}", way))
        if element_bits < WORD and slots <= MOST_SLOTS_TRIED and pattern_of(a, b, element_bits) is None:
            least = bound_of(source, destination, element_bits).shuffles
            found += by_passing_on(slot_tables(source, destination), element_bits, least, found)
        return found
    if source.flips is not None or destination.flips is not None:
        return _ways_of_maps(source, destination, element_bits, memory)
    refused: LayoutError | None = None
    try:
        found = _ways_of_blocks(source, destination, element_bits, memory)
    except LayoutError as error:
        found, refused = [], error
    if found and element_bits >= WORD and not any(program.slm_bytes for _, way in found for program in way):
        return found  # words are words: the whole has nothing that its blocks have not
    inside: list[tuple[str, tuple[Program, ...]]] = []
    try:
        inside = ways_by_table(source, destination, element_bits)
    except SizeError as error:  # more than can be scheduled
        refused = refused or error
    found += inside
    if not inside or moves_words(inside[0][1]):
        try:
            program = row_by_row(source, destination, element_bits, memory.of(source, element_bits))
            found.append((ROW_BY_ROW, (program,)))
        except LayoutError as error:
            if not found:
                raise refused or error from None  # a block needs less than the whole: what it lacks is what is wanted
    return found


def _ways_of_maps(
    source: Layout, destination: Layout, element_bits: int, memory: Memory
) -> list[tuple[str, tuple[Program, ...]]]:
    """The ways for layouts with XOR: as a linear map, slot by slot, through memory."""
    found: list[tuple[str, tuple[Program, ...]]] = []
    program = exchange_of_maps(source, destination, element_bits)
    if program is not None and len(program.steps) <= MOST_STEPS:
        found.append((f"{INSIDE}, as a linear map", (program,)))
    refused: LayoutError | None = None
    try:
        found += ways_by_table(source, destination, element_bits)
    except SizeError as error:
        refused = error
    if not found or moves_words(found[0][1]):
        try:
            program = memory_of_maps(source, destination, element_bits, memory.most)
            found.append((THROUGH_MEMORY, (program,)))
        except LayoutError as error:
            if not found:
                raise refused or error from None
    return found


def row_by_row(source: Layout, destination: Layout, element_bits: int, limit: int) -> Program:
    """The program through padded memory; what a layout leaves empty is as if it held copies, which are not stored.

    Both are planned as if they began at 0.
    """
    counts = [machine_counts(one) for one in (source, destination)]
    most = {axis: max(one[axis] for one in counts) for axis in ("sg", "lane")}
    sides = (source, destination)
    if counts[0] == counts[1] and not any(leaves_empty(one, axis) for one in sides for axis in MACHINE):
        return through_padded_memory(source, destination, element_bits, limit)
    whole = [filled(one, most | {"reg": own["reg"]}) for one, own in zip(sides, counts, strict=True)]
    larger = {axis: max(machine_counts(one)[axis] for one in whole) for axis in most}
    whole = [filled(one, larger) for one in whole]
    program = shifted(through_padded_memory(whole[0], whole[1], element_bits, limit), source, destination)
    return trimmed(program, most["sg"], most["lane"], (counts[0]["reg"], counts[1]["reg"]))


def _ways_by_bits(a: View, b: View, element_bits: int, memory: Memory) -> list[tuple[str, tuple[Program, ...]]]:
    found: list[tuple[str, tuple[Program, ...]]]
    if stays_in_subgroup(a, b):
        pattern = pattern_of(a, b, element_bits)
        if pattern is not None:
            found = [(one.name, one.make()) for one in exchanges(a, b, element_bits, pattern, memory)]
        else:
            program = exchange(a, b, element_bits)
            found = [(INSIDE, (program,))] if len(program.steps) <= MOST_STEPS else []
        if found and not moves_words(found[0][1]):
            return found
    else:
        limit = memory.by_bits(a, b, element_bits)
        found = [(across_name(way), way) for way in across_subgroups(a, b, element_bits, limit)]
    try:
        for group in memory_ways(a, b, element_bits, memory):
            alike: list[tuple[Program, ...]] = []
            for one in group:
                way = one.make()
                if way not in alike and all(program.slm_bytes <= memory.most for program in way):
                    found.append((one.name, way))
                    alike.append(way)
    except SizeError:
        if not found:
            raise
    return found


def splits(source: Layout, destination: Layout) -> Iterator[tuple[bool, Blocks]]:
    """How a conversion falls into blocks: into bits where there are bits (True), then into the smallest ones (False).

    >>> list(splits(Layout.parse("d0 = 3@reg, d1 = 3@lane"), Layout.parse("d0 = 3@lane, d1 = 3@reg")))
    []
    """
    for odd in (True, False):
        blocks = split(source, destination, odd=odd)
        if blocks is not None and not (odd and (view(blocks.source) is None or view(blocks.destination) is None)):
            yield odd, blocks


def _ways_of_blocks(
    source: Layout, destination: Layout, element_bits: int, memory: Memory
) -> list[tuple[str, tuple[Program, ...]]]:
    """The ways to convert one block of what registers have on both sides, for all blocks (see `strategies.blocks`)."""
    for odd, blocks in splits(source, destination):
        try:
            return [
                (
                    INSIDE if name == _NOTHING else f"{name}, for each of {blocks.count} blocks",
                    blocks.programs(programs, memory.of(source, element_bits)),
                )
                for name, programs in _ways(blocks.source, blocks.destination, element_bits, memory)
            ]
        except LayoutError:
            if not odd:
                raise
    return []


def _identity(layout: Layout, element_bits: int) -> Program:
    """The program that leaves all registers as they are."""
    counts = machine_counts(layout)
    cells, parts = counts["reg"] * max(element_bits // WORD, 1), max(WORD // element_bits, 1)
    pack = (*range(cells), *[-1] * (-cells % parts))
    registers = counts["reg"]
    return Program(counts["sg"], counts["lane"], element_bits, registers, registers, pack, (), tuple(range(cells)))
