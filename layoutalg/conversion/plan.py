"""Conversion plans: from any layout of a tensor to any other, with the fewest moves.

A 16x16 tile of f32 in 16 lanes, a row per register, is to become a column per register. Every lane needs a word from every
other lane, so 15 shuffles are the least, and 15 are enough:

>>> from layoutalg.core.layout import Layout
>>> rows, columns = Layout.parse("d0 = 16@reg, d1 = 16@lane"), Layout.parse("d0 = 16@lane, d1 = 16@reg")
>>> plan = convert(rows, columns, element_bits=32, target="pvc")
>>> plan.kind, plan.shuffles, plan.lower_bound, plan.slm_bytes
('shuffles', 15, 15, 0)
>>> import numpy as np
>>> tile = np.arange(256, dtype=np.int32).reshape(16, 16)
>>> bool((plan.apply(tile.T[None]) == tile[None]).all())      # [sg, lane, reg]
True

The way there: where all digits are powers of two, the two layouts say which bit of the machine becomes which
(conversion.bits), and the exchange follows (conversion.exchange). Where a subgroup cannot do it alone, only what crosses goes
through shared memory, perhaps between two exchanges (conversion.crossing), or everything does (conversion.memory). Other digits
that stay in registers make blocks of a smaller conversion (conversion.blocks); what is left goes by tables of elements in a
subgroup (conversion.tables), row by row through memory (conversion.memory_by_digits). A plan is one to three programs
(conversion.program), the cheapest that was found (conversion.cost); `apply` executes it, `emit` writes it as MLIR. Equal maps
need nothing, whatever they were written in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from numpy.typing import NDArray

from layoutalg.conversion.banks import program_ways
from layoutalg.conversion.bits import View, view
from layoutalg.conversion.blocks import split
from layoutalg.conversion.cost import cost_of
from layoutalg.conversion.crossing import across_subgroups
from layoutalg.conversion.exchange import exchange, fewest_shuffles, stays_in_subgroup
from layoutalg.conversion.memory import through_memory
from layoutalg.conversion.memory_by_digits import through_memory_by_digits
from layoutalg.conversion.program import WORD, Barrier, Program, Rotate, Select, Shuffle, Store
from layoutalg.conversion.tables import exchange_by_table, fewest_by_table, slot_tables, stays_by_table
from layoutalg.core.errors import ConversionError, LayoutError, SizeError
from layoutalg.core.layout import MACHINE, Layout
from layoutalg.core.limits import MOST_REGISTERS, MOST_STEPS
from layoutalg.core.notation import Asked, Distributed, Machine, agree, as_sizes
from layoutalg.notations import value_of

__all__ = ["Candidate", "ConversionPlan", "convert"]

BITS = (8, 16, 32, 64)
_NOTHING, _INSIDE, _THROUGH_MEMORY = (
    "nothing moves",
    "an exchange in registers and lanes",
    "everything goes through shared memory",
)
MOST_LANES, MOST_SUBGROUPS = 256, 1024


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to convert: its name, its programs one after another, and what it costs.

    >>> from layoutalg.core.layout import Layout
    >>> convert(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 4@lane")).candidates[0].name
    'nothing moves'
    """

    name: str
    programs: tuple[Program, ...]
    cost: int


@dataclass(frozen=True, slots=True)
class ConversionPlan:
    """How to get from `source` to `destination`, two layouts of one tensor with elements of `element_bits`.

    >>> from layoutalg.core.layout import Layout
    >>> plan = convert(Layout.parse("d0 = 4@reg, d1 = 4@lane"), Layout.parse("d0 = 4@lane, d1 = 4@reg"))
    >>> print(plan)
    4x4 elements of 32 bits over 1 subgroup of 4 lanes, 4 registers to 4
    source       d0 = 4@reg, d1 = 4@lane
    destination  d0 = 4@lane, d1 = 4@reg
    moves        d0 bits 0-1: register bits 0-1 become lane bits 0-1
                 d1 bits 0-1: lane bits 0-1 become register bits 0-1
    kind         shuffles: 3 shuffles, 15 selects, 0 register moves
    least        3 shuffles: some lane must receive 3 words
    cost         21 issue slots on generic, estimated: an exchange in registers and lanes
    """

    source: Layout
    destination: Layout
    element_bits: int
    target: str
    slm_limit: int | None = None

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The ways that were weighed, the cheapest first.

        >>> from layoutalg.core.layout import Layout
        >>> source, destination = Layout.parse("d0 = 2@sg 2@reg, d1 = 16@lane"), Layout.parse("d0 = 2@reg 2@sg, d1 = 16@lane")
        >>> [one.name for one in convert(source, destination).candidates]
        ['only what crosses goes through shared memory', 'everything goes through shared memory']
        """
        return _candidates(self.source, self.destination, self.element_bits, self.target, self.slm_limit)

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs of the chosen way, one after another.

        >>> from layoutalg.core.layout import Layout
        >>> convert(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 4@lane")).programs[0].steps
        ()
        """
        return self.candidates[0].programs

    @property
    def kind(self) -> str:
        """What the plan needs at most: "identity", "registers", "shuffles" or "shared memory".

        >>> from layoutalg.core.layout import Layout
        >>> convert(Layout.parse("d0 = 2@reg:2 2@reg"), Layout.parse("d0 = 2@reg 2@reg:2")).kind
        'registers'
        """
        if any(program.count(Store) for program in self.programs):
            return "shared memory"
        if self.shuffles:
            return "shuffles"
        return "registers" if self.moves or self.selects else "identity"

    @property
    def shuffles(self) -> int:
        """Shuffles that each subgroup executes.

        >>> from layoutalg.core.layout import Layout
        >>> convert(Layout.parse("d0 = 2@lane 2@lane:2"), Layout.parse("d0 = 2@lane:2 2@lane")).shuffles
        1
        """
        return sum(program.count(Shuffle) for program in self.programs)

    @property
    def selects(self) -> int:
        """Selects that each subgroup executes.

        >>> from layoutalg.core.layout import Layout
        >>> convert(Layout.parse("d0 = 2@reg, d1 = 2@lane"), Layout.parse("d0 = 2@lane, d1 = 2@reg")).selects
        3
        """
        return sum(program.count(Select) for program in self.programs)

    @property
    def moves(self) -> int:
        """Words per lane that are put together anew from parts; where nothing else happens, those in another register too.

        >>> from layoutalg.core.layout import Layout
        >>> convert(Layout.parse("d0 = 2@reg:2 2@reg"), Layout.parse("d0 = 2@reg 2@reg:2")).moves
        2
        """
        return sum(program.moves + program.count(Rotate) for program in self.programs)

    @property
    def lower_bound(self) -> int:
        """The largest number of words that one lane must receive from others, in its subgroup or from another one.

        Counted by sender: what one lane gets from another fills whole words, and the nearest replica counts. No plan in which
        every element goes directly, in one shuffle, has fewer. (Elements below 32 bits could share words with others on the
        way, over several hops; such plans are not made.)

        Raises `SizeError` for more than 2^20 slots that have to be counted one by one.

        >>> from layoutalg.core.layout import Layout
        >>> convert(Layout.parse("d0 = 8@reg, d1 = 16@lane"), Layout.parse("d0 = 8@reg, d1 = 16@lane")).lower_bound
        0
        """
        return _lower_bound(self.source, self.destination, self.element_bits)

    @property
    def slm_bytes(self) -> int:
        """Shared memory that the plan needs at a time, in bytes.

        >>> from layoutalg.core.layout import Layout
        >>> convert(Layout.parse("d0 = 2@sg 16@lane"), Layout.parse("d0 = 2@lane:8 2@sg 8@lane")).slm_bytes
        128
        """
        return max(program.slm_words for program in self.programs) * WORD // 8

    @property
    def barriers(self) -> int:
        """Barriers of the workgroup.

        >>> from layoutalg.core.layout import Layout
        >>> convert(Layout.parse("d0 = 2@sg 16@lane"), Layout.parse("d0 = 2@lane:8 2@sg 8@lane")).barriers
        1
        """
        return sum(program.count(Barrier) for program in self.programs)

    @property
    def bank_conflicts(self) -> int:
        """How often the lanes of a subgroup wait for the same of 32 banks at the worst, in its stores and loads; 1: never.

        >>> from layoutalg.core.layout import Layout
        >>> convert(Layout.parse("d0 = 2@sg 8@reg, d1 = 16@lane"), Layout.parse("d0 = 16@lane, d1 = 2@sg 8@reg")).bank_conflicts
        1
        """
        return max((ways for program in self.programs for ways in program_ways(program)), default=1)

    @property
    def cost(self) -> int:
        """What it costs on the target, in issue slots (see conversion.cost).

        >>> from layoutalg.core.layout import Layout
        >>> convert(Layout.parse("d0 = 2@lane 2@lane:2"), Layout.parse("d0 = 2@lane:2 2@lane"), target="pvc").cost
        3
        """
        return self.candidates[0].cost

    def apply(self, fragments: NDArray[Any], done: Counter[type] | None = None) -> NDArray[Any]:
        """Execute the plan on an array `[sg, lane, reg]`, step by step; `done` counts the steps.

        Raises `ConversionError` for an array of another shape, or of elements of another size.

        >>> from layoutalg.core.layout import Layout
        >>> import numpy as np
        >>> plan = convert(Layout.parse("d0 = 2@lane 2@lane:2"), Layout.parse("d0 = 2@lane:2 2@lane"), element_bits=64)
        >>> plan.apply(np.arange(4.0).reshape(1, 4, 1)).ravel().tolist()
        [0.0, 2.0, 1.0, 3.0]
        """
        for program in self.programs:
            fragments = program.run(fragments, done)
        return fragments

    def emit(self, element: str | None = None, *, kernel: bool = False, name: str = "convert") -> str:
        """The plan as MLIR at lane level: a function from a lane's fragment to its fragment, or a whole `kernel`.

        `element` is the type of the elements, an integer of their size unless given. The function asks for the subgroup
        size that was planned for; Intel's GPUs have 8, 16 and 32 lanes.

        Raises `ConversionError` for a type of another size, and for tables of more than 64 subgroups or lanes.

        >>> from layoutalg.core.layout import Layout
        >>> plan = convert(Layout.parse("d0 = 4@reg, d1 = 16@lane"), Layout.parse("d0 = 4@lane, d1 = 4@lane:4 4@reg"))
        >>> plan.emit("f32").count("gpu.shuffle") == plan.shuffles
        True
        """
        from layoutalg.conversion.emit import emit_function, emit_kernel

        write = emit_kernel if kernel else emit_function
        return write(self.programs, f"i{self.element_bits}" if element is None else element, name)

    def __str__(self) -> str:
        from layoutalg.conversion.explain import explain

        return explain(self)

    def svg(self) -> str:
        """The exchange as an SVG document: arrows between lanes, step by step. In a notebook, a plan shows it.

        >>> from layoutalg.core.layout import Layout
        >>> convert(Layout.parse("d0 = 2@lane 2@lane:2"), Layout.parse("d0 = 2@lane:2 2@lane")).svg()[:4]
        '<svg'
        """
        from layoutalg.viz.arrows import arrows_svg

        return arrows_svg(self)

    def _repr_html_(self) -> str | None:
        from layoutalg.viz.page import image

        try:
            return image(self.svg(), "conversion")
        except LayoutError:
            return None


def convert(
    source: Distributed | str,
    destination: Distributed | str,
    shape: Sequence[int] | None = None,
    *,
    machine: Machine | None = None,
    element_bits: int = 32,
    target: str | None = None,
    slm_limit: int | None = None,
) -> ConversionPlan:
    """The plan from one layout of a tensor to another: each a `Layout`, a value of any notation, or its text.

    `shape` is needed where neither says the tensor's. What `machine` leaves open is what the two say themselves, the larger
    number of lanes and of subgroups: one that uses fewer holds copies in the others.
    `slm_limit` is the shared memory that may be used, in bytes (the target's unless given).

    Raises `ConversionError` for layouts of different tensors or on different machines, and for elements that are not 8,
    16, 32 or 64 bits; `PlanError` for a target that is not known; `SizeError` for a plan of more than 2^16 steps, and where
    what has to be in shared memory at a time is more than the limit.

    >>> from layoutalg.xegpu import LayoutAttr
    >>> plain, vnni = (LayoutAttr(lane_layout=(1, 16), lane_data=(n, 1)) for n in (1, 2))
    >>> convert(plain, vnni, (16, 16), element_bits=16).kind
    'identity'
    """
    pair = value_of(source), value_of(destination)
    asked = agree(pair, None if shape is None else as_sizes(shape), machine)
    a, b = (_layout(one) for one in asked)
    if type(element_bits) is not int or element_bits not in BITS:
        raise ConversionError(f"element_bits = {_shown(element_bits)}: expected 8, 16, 32 or 64")
    if slm_limit is not None and (type(slm_limit) is not int or not 4 <= slm_limit <= 2**40):
        raise ConversionError(
            f"slm_limit = {_shown(slm_limit)}: expected a number of bytes, at least 4 and at most 2^40"
        )
    if a.shape != b.shape:
        sizes = ["x".join(map(str, one.shape)) for one in (a, b)]
        wanted = "two layouts of one tensor"
        raise ConversionError(f"a tensor of {sizes[0]} and one of {sizes[1]}: expected {wanted}")
    counts = [_counts(one) for one in (a, b)]
    for axis, word in (("sg", "subgroups"), ("lane", "lanes")):
        before, after = (count[axis] for count in counts)
        if before != after:
            raise ConversionError(
                f"{before} and {after} {word}: the machine must be the same (source {a}, destination {b})"
            )
    plan = ConversionPlan(a, b, element_bits, cost_of(target).name, slm_limit)
    _ = plan.candidates  # worked out once, and kept: what can't be planned is an error here
    return plan


def _shown(value: object) -> str:
    return "(a huge number)" if type(value) is int and abs(value) > 2**64 else repr(value)[:40]


def _counts(layout: Layout) -> dict[str, int]:
    """The subgroups, lanes and registers of a layout, which must be one that can be converted."""
    if set(layout.codomain).difference(MACHINE):
        raise ConversionError(f"{layout}: expected a layout onto sg, lane and reg")
    for axis, start in layout.offsets.items():
        raise ConversionError(f"{layout}: starts at {start} of {axis}; expected layouts that start at 0")
    axes: Any = layout.axes
    counts = {axis: axes.get(axis, 1) for axis in MACHINE}
    for axis, what, most in (
        ("sg", "subgroups", MOST_SUBGROUPS),
        ("lane", "lanes in a subgroup", MOST_LANES),
        ("reg", "registers in a lane", MOST_REGISTERS),
    ):
        if counts[axis] > most:
            raise SizeError(f"{counts[axis]} {what}: at most {most} are converted (layout {layout})")
    return counts


def _layout(asked: Asked) -> Layout:
    operand = asked.operand
    if operand is None:
        operand = asked.value.operands(asked.shape, asked.machine)[0]  # raises, and says why there is no layout
    layout = operand.layout
    if not isinstance(layout, Layout):
        raise ConversionError(f"{asked.value}: expected a layout onto sg, lane and reg")
    if any(type(n) is not int for factors in (*layout.dims, layout.replicas) for one in factors for n in one[:2]):
        raise ConversionError(f"{layout} has symbols; put numbers for them with substitute() before converting it")
    return layout


@lru_cache(maxsize=64)
def _candidates(
    source: Layout, destination: Layout, element_bits: int, target: str, slm_limit: int | None
) -> tuple[Candidate, ...]:
    """Every way that there is, the cheapest first."""
    cost = cost_of(target)
    limit = cost.slm_bytes if slm_limit is None else slm_limit
    found = _ways(source, destination, element_bits, limit)
    lengths = [sum(len(program.steps) for program in programs) for _, programs in found]
    if min(lengths) > MOST_STEPS:
        raise SizeError(f"{min(lengths)} steps: at most {MOST_STEPS}; convert a smaller part of the tensor at a time")
    best: dict[str, Candidate] = {}
    for (name, programs), length in zip(found, lengths, strict=True):
        if length > MOST_STEPS:
            continue
        one = Candidate(name, programs, sum(map(cost.of, programs)))
        best[name] = min(best.get(name, one), one, key=lambda one: one.cost)
    candidates = sorted(best.values(), key=lambda one: one.cost)
    if not any(program.steps or program.moves for program in candidates[0].programs):
        candidates[0] = Candidate(_NOTHING, candidates[0].programs, 0)
    return tuple(candidates)


def _ways(source: Layout, destination: Layout, element_bits: int, limit: int) -> list[tuple[str, tuple[Program, ...]]]:
    """The programs of every way that there is, with its name."""
    ours, theirs = source.canonical(), destination.canonical()
    if ours.dims == theirs.dims and ours.replicas == theirs.replicas:
        return [(_NOTHING, (_identity(source, element_bits),))]
    a, b = view(source), view(destination)
    if a is not None and b is not None:
        return _ways_by_bits(a, b, element_bits, limit)
    refused: LayoutError | None = None
    try:
        found = _ways_of_blocks(source, destination, element_bits, limit)
    except LayoutError as error:
        found, refused = [], error
    if found and element_bits >= WORD and not any(program.slm_words for program in found[0][1]):
        return found  # words are words: the whole has nothing that its blocks have not
    try:
        before, after = slot_tables(source, destination)
        if stays_by_table(before, after):
            found.append((f"{_INSIDE}, scheduled from tables", (exchange_by_table(before, after, element_bits),)))
        else:
            program = through_memory_by_digits(source, destination, element_bits, limit)
            found.append((f"{_THROUGH_MEMORY}, row by row", (program,)))
    except LayoutError as error:
        if not found:
            raise refused or error from None  # a block needs less than the whole: what it lacks is what is wanted
    return found


def _ways_by_bits(a: View, b: View, element_bits: int, limit: int) -> list[tuple[str, tuple[Program, ...]]]:
    if stays_in_subgroup(a, b):
        return [(_INSIDE, (exchange(a, b, element_bits),))]
    found = [(_crossing_name(way), way) for way in across_subgroups(a, b, element_bits, limit)]
    try:
        found.append((_THROUGH_MEMORY, (through_memory(a, b, element_bits, limit),)))
    except SizeError:
        if not found:
            raise
    return found


def _ways_of_blocks(
    source: Layout, destination: Layout, element_bits: int, limit: int
) -> list[tuple[str, tuple[Program, ...]]]:
    """The ways to convert one block of what registers have on both sides, for all blocks (see conversion.blocks)."""
    for odd in (True, False):  # bits where there are bits, then the smallest block
        blocks = split(source, destination, odd=odd)
        if blocks is None or (odd and (view(blocks.source) is None or view(blocks.destination) is None)):
            continue
        try:
            return [
                (
                    _INSIDE if name == _NOTHING else f"{name}, for each of {blocks.count} blocks",
                    blocks.programs(programs, limit),
                )
                for name, programs in _ways(blocks.source, blocks.destination, element_bits, limit)
            ]
        except LayoutError:
            if not odd:
                raise
    return []


def _identity(layout: Layout, element_bits: int) -> Program:
    """The program that leaves all registers as they are."""
    counts = _counts(layout)
    cells, parts = counts["reg"] * max(element_bits // WORD, 1), max(WORD // element_bits, 1)
    pack = (*range(cells), *[-1] * (-cells % parts))
    registers = counts["reg"]
    return Program(counts["sg"], counts["lane"], element_bits, registers, registers, pack, (), tuple(range(cells)))


def _crossing_name(programs: Sequence[Program]) -> str:
    crossing = next(i for i, program in enumerate(programs) if program.slm_words)
    exchanges = [word for word, there in (("after", crossing > 0), ("before", crossing < len(programs) - 1)) if there]
    return "only what crosses goes through shared memory" + (
        ", between two exchanges" if len(exchanges) == 2 else f", {exchanges[0]} an exchange" if exchanges else ""
    )


@lru_cache(maxsize=256)
def _lower_bound(source: Layout, destination: Layout, element_bits: int) -> int:
    a, b = view(source), view(destination)
    if a is not None and b is not None:
        return fewest_shuffles(a, b, element_bits)
    blocks = split(source, destination, odd=False) if element_bits >= WORD else None
    if blocks is not None:  # words are words: every block has as many
        return blocks.count * _lower_bound(blocks.source, blocks.destination, element_bits)
    return fewest_by_table(*slot_tables(source, destination), element_bits)
