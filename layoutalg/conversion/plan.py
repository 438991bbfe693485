"""Conversion plans: from any layout of a tensor to any other, with the fewest moves.

A 16x16 tile of f32 in 16 lanes, a row per register, is to become a column per register. Every lane needs a word from every
other lane, so 15 is the minimum, and the plan has 15:

>>> rows, columns = Layout.parse("d0 = 16@reg, d1 = 16@lane"), Layout.parse("d0 = 16@lane, d1 = 16@reg")
>>> plan = convert(rows, columns, element_bits=32, target="pvc")
>>> plan.kind, plan.shuffles, plan.lower_bound, plan.slm_bytes
('shuffles', 32, 15, 0)
>>> tile = np.arange(256, dtype=np.int32).reshape(16, 16)
>>> bool((plan.apply(tile.T[None]) == tile[None]).all())      # [sg, lane, reg]
True

`conversion.candidates` knows the ways to convert, and takes the cheapest (conversion.cost). A plan is one to three programs
(conversion.program), executed one after another; `apply` executes them, `emit` writes them as MLIR.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any

from numpy.typing import NDArray

from layoutalg.conversion.bound import Bound, bound_of
from layoutalg.conversion.candidates import Candidate, candidates_of, machine_counts, repeated_candidates
from layoutalg.conversion.chosen import chosen_of
from layoutalg.conversion.cost import cost_of
from layoutalg.conversion.levels import check_level
from layoutalg.conversion.plain import leaves_empty, plain
from layoutalg.conversion.program.access_conflicts import program_ways
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Barrier, Permute, Select, Shuffle
from layoutalg.conversion.strategies.blocks import Blocks
from layoutalg.conversion.strategies.symbolic_blocks import SymbolicBlocks, has_symbols, symbolic_blocks
from layoutalg.core.errors import ConversionError, LayoutError
from layoutalg.core.extents import Extent, extent_text, multiply
from layoutalg.core.layout import Layout
from layoutalg.core.messages import shown
from layoutalg.core.notation import Distributed, Machine
from layoutalg.core.whole_numbers import as_flag, instance_of
from layoutalg.hardware.chips import target_info
from layoutalg.memory.asked import distributions, element_size

__all__ = ["ConversionPlan", "SymbolicPlan", "convert"]


@dataclass(frozen=True, slots=True)
class ConversionPlan:
    """How to get from `source` to `destination`, two layouts of one tensor with elements of `element_bits`.

    Raises `ConversionError` as `convert` does.

    >>> plan = convert(Layout.parse("d0 = 2@lane 2@lane:2"), Layout.parse("d0 = 2@lane:2 2@lane"))
    >>> print(str(plan).partition("\\ninstead")[0])
    4 elements of 32 bits over 1 subgroup of 4 lanes, 1 register to 1
    source       d0 = 2@lane 2@lane:2
    destination  d0 = 2@lane:2 2@lane
    moves        d0 bit 0: lane bit 1 becomes lane bit 0
                 d0 bit 1: lane bit 0 becomes lane bit 1
    kind         shuffles: 1 shuffle
    lower bound  optimal, 1 shuffle: some lane needs 1 word from another lane, and gets one word in a shuffle
    cost         32 issue slots on generic, estimated: an exchange in registers and lanes
    """

    source: Layout
    destination: Layout
    element_bits: int
    target: str
    slm_limit: int | None = None
    level: str = "workgroup"
    workgroups: int = 1
    regions: bool = False

    def __post_init__(self) -> None:
        a, b, limit = self.source, self.destination, self.slm_limit
        _of_one_tensor(a, b)
        element_size(self.element_bits)
        cost_of(self.target)
        if limit is not None and (type(limit) is not int or not 0 <= limit <= 2**40):
            raise ConversionError(f"slm_limit={shown(limit)}: expected a number of bytes, from 0 (none) to 2^40")
        counts = [machine_counts(one) for one in (a, b)]
        for axis, word in (("sg", "subgroups"), ("lane", "lanes")):
            before, after = (count[axis] for count in counts)
            if before != after and not any(leaves_empty(one, axis) for one in (a, b)):
                raise ConversionError(
                    f"{before} and {after} {word}: the machine must be the same (source {a}, destination {b})"
                )
        plain(a, b)
        check_level(self.level, self.workgroups, max(count["sg"] for count in counts), self.target)
        if as_flag(self.regions, "regions") and not target_info(self.target).grf_bytes:
            raise ConversionError(
                f"regions=True: {self.target} has no register regions; expected a target of Intel's, such as pvc or bmg"
            )

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The ways that were weighed, the cheapest first.

        >>> source, destination = Layout.parse("d0 = 2@sg 2@reg, d1 = 16@lane"), Layout.parse("d0 = 2@reg 2@sg, d1 = 16@lane")
        >>> [one.name for one in convert(source, destination).candidates]
        ['only what crosses goes through shared memory', 'everything goes through shared memory']
        """
        return candidates_of(
            self.source,
            self.destination,
            self.element_bits,
            self.target,
            self.slm_limit,
            self.level,
            self.workgroups,
            self.regions,
        )

    @property
    def chosen(self) -> Candidate:
        """The way that is taken, the first of `candidates`; most others are not made for it.

        >>> convert(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 4@lane")).chosen.name
        'nothing moves'
        """
        return chosen_of(
            self.source,
            self.destination,
            self.element_bits,
            self.target,
            self.slm_limit,
            self.level,
            self.workgroups,
            self.regions,
        )

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs of the chosen way, one after another.

        >>> convert(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 4@lane")).programs[0].steps
        ()
        """
        return self.chosen.programs

    @property
    def kind(self) -> str:
        """What the plan needs at most: "identity", "registers", "shuffles" or "shared memory".

        >>> convert(Layout.parse("d0 = 2@reg:2 2@reg"), Layout.parse("d0 = 2@reg 2@reg:2")).kind
        'registers'
        """
        return self.chosen.kind

    @property
    def shuffles(self) -> int:
        """Shuffles that each subgroup executes.

        >>> convert(Layout.parse("d0 = 2@lane 2@lane:2"), Layout.parse("d0 = 2@lane:2 2@lane")).shuffles
        1
        """
        return self.chosen.count(Shuffle)

    @property
    def selects(self) -> int:
        """Selects that each subgroup executes.

        >>> convert(Layout.parse("d0 = 2@reg, d1 = 2@lane"), Layout.parse("d0 = 2@lane, d1 = 2@reg")).selects
        3
        """
        return self.chosen.count(Select)

    @property
    def permutes(self) -> int:
        """Byte permutes that each subgroup executes.

        >>> convert(Layout.parse("d0 = 2@reg, d1 = 2@lane"), Layout.parse("d0 = 2@lane, d1 = 2@reg")).permutes
        0
        """
        return self.chosen.count(Permute)

    @property
    def moves(self) -> int:
        """Words per lane that are put together anew from parts, byte permutes among them; where nothing else happens, those
        in another register too.

        >>> convert(Layout.parse("d0 = 2@reg:2 2@reg"), Layout.parse("d0 = 2@reg 2@reg:2")).moves
        2
        """
        return self.chosen.moves + self.permutes

    @property
    def lower_bound(self) -> int:
        """The number of shuffles that no plan is below, with several hops and shared words (see `conversion.bound`).

        Where subgroups must exchange elements, the words that some lane must receive from its subgroup or from another one.

        Raises `SizeError` for more than 2^20 slots that have to be counted one by one.

        >>> convert(Layout.parse("d0 = 8@reg, d1 = 16@lane"), Layout.parse("d0 = 8@reg, d1 = 16@lane")).lower_bound
        0
        """
        return self._bound.shuffles

    @property
    def _bound(self) -> Bound:
        source, destination, _ = plain(self.source, self.destination)
        return bound_of(source, destination, self.element_bits)

    @property
    def bound_reason(self) -> str:
        """The sentence that proves the lower bound: who must send what. Empty where nothing has to be sent.

        >>> convert(Layout.parse("d0 = 8@reg, d1 = 8@lane"), Layout.parse("d0 = 8@lane, d1 = 8@reg")).bound_reason
        'each lane needs 1 word from each of 7 other lanes, and gets one word in a shuffle'
        """
        return self._bound.reason

    @property
    def optimal(self) -> bool:
        """Whether it has no more shuffles than the bound; a plan that moves words otherwise has none to spare.

        >>> convert(Layout.parse("d0 = 8@reg, d1 = 8@lane"), Layout.parse("d0 = 8@lane, d1 = 8@reg"), element_bits=8).optimal
        True
        """
        return self.kind != "shuffles" or self.shuffles <= self.lower_bound

    @property
    def slm_bytes(self) -> int:
        """Shared memory that the plan needs at a time, in bytes, of all its workgroups.

        >>> convert(Layout.parse("d0 = 2@sg 16@lane"), Layout.parse("d0 = 2@lane:8 2@sg 8@lane")).slm_bytes
        128
        """
        return self.chosen.slm_bytes

    @property
    def barriers(self) -> int:
        """Barriers, of the workgroup or inside its subgroups.

        >>> convert(Layout.parse("d0 = 2@sg 16@lane"), Layout.parse("d0 = 2@lane:8 2@sg 8@lane")).barriers
        1
        """
        return self.chosen.count(Barrier)

    @property
    def bank_conflicts(self) -> int:
        """How often the lanes of a subgroup wait for the same of 32 banks at the worst, in its stores and loads; 1: never.

        >>> convert(Layout.parse("d0 = 2@sg 8@reg, d1 = 16@lane"), Layout.parse("d0 = 16@lane, d1 = 2@sg 8@reg")).bank_conflicts
        1
        """
        return max((ways for program in self.programs for ways in program_ways(program)), default=1)

    @property
    def cost(self) -> int:
        """What it costs on the target, in issue slots (see conversion.cost).

        >>> convert(Layout.parse("d0 = 2@lane 2@lane:2"), Layout.parse("d0 = 2@lane:2 2@lane")).cost
        32
        """
        return self.chosen.cost

    def apply(self, fragments: NDArray[Any], done: Counter[type] | None = None) -> NDArray[Any]:
        """Execute the plan on an array `[sg, lane, reg]`, step by step; `done` counts the steps.

        Raises `ConversionError` for an array of another shape, or of elements of another size.

        >>> plan = convert(Layout.parse("d0 = 2@lane 2@lane:2"), Layout.parse("d0 = 2@lane:2 2@lane"), element_bits=64)
        >>> plan.apply(np.arange(4.0).reshape(1, 4, 1)).ravel().tolist()
        [0.0, 2.0, 1.0, 3.0]
        """
        instance_of(done, (Counter, type(None)), "done", ConversionError)
        for program in self.programs:
            fragments = program.run(fragments, done)
        return fragments

    def emit(self, element: str | None = None, *, kernel: bool = False, name: str = "convert") -> str:
        """The plan as MLIR at lane level: a function from a lane's fragment to its fragment, or a whole `kernel`.

        `element` is the type of the elements, an integer of their size unless given. For Intel's targets, and for none in
        particular, the function asks for the subgroup size that was planned for; Intel's GPUs have 8, 16 and 32 lanes. For
        AMD's and NVIDIA's it is what `--convert-gpu-to-rocdl` and `--convert-gpu-to-nvvm` take, and byte permutes are theirs.

        Raises `ConversionError` for a type of another size, for tables of more than 64 subgroups or lanes, and for lanes that
        the target's warps or wavefronts do not have.

        >>> plan = convert(Layout.parse("d0 = 4@reg, d1 = 16@lane"), Layout.parse("d0 = 4@lane, d1 = 4@lane:4 4@reg"))
        >>> plan.emit("f32").count("gpu.shuffle") == plan.shuffles
        True
        """
        from layoutalg.conversion.lowering.emit import emit_function, emit_kernel

        if self.workgroups > 1 and self.slm_bytes:
            raise ConversionError(
                "this plan stores to the shared memory of other workgroups, for which the gpu dialect has no operation "
                "(NVIDIA's are nvvm.mapa and nvvm.cluster.arrive/wait): it is planned and executed here, not emitted"
            )
        write = emit_kernel if as_flag(kernel, "kernel") else emit_function
        return write(self.programs, f"i{self.element_bits}" if element is None else element, name, self.target)

    def substitute(self, **numbers: int) -> ConversionPlan:
        """The plan with numbers for the symbols of its layouts; a plan without symbols is itself.

        >>> plan = convert(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 4@lane"))
        >>> plan.substitute(n=8) is plan
        True
        """
        return self

    def __str__(self) -> str:
        from layoutalg.conversion.explanation import explain

        return explain(self)

    def svg(self) -> str:
        """The conversion as an SVG document: registers and lanes, shuffles, the memory. In a notebook, a plan shows it.

        >>> convert(Layout.parse("d0 = 2@lane 2@lane:2"), Layout.parse("d0 = 2@lane:2 2@lane")).svg()[:4]
        '<svg'
        """
        from layoutalg.conversion.picture import conversion_svg

        return conversion_svg(self)

    def _repr_html_(self) -> str | None:
        from layoutalg.viz.page import image

        try:
            return image(self.svg(), "conversion")
        except LayoutError:
            return None


@dataclass(frozen=True, slots=True)
class SymbolicPlan(ConversionPlan):
    """A plan between layouts whose extents are symbols in registers: that of one block, for any number of blocks.

    What it counts are expressions; `programs`, `candidates` and the picture are those of one block.

    >>> plan = convert("d0 = n@reg, d1 = 4@reg:n, d2 = 4@lane", "d0 = n@reg, d1 = 4@lane, d2 = 4@reg:n")
    >>> plan.count, plan.shuffles, plan.block.shuffles
    (n, 3*n, 3)
    >>> plan.substitute(n=8).shuffles
    24

    Elements of different blocks share no words: a plan that is made for the numbers may have fewer shuffles below 32 bits.
    """

    def __post_init__(self) -> None:
        _of_one_tensor(self.source, self.destination)
        _ = self.block

    @property
    def count(self) -> Extent:
        """How many blocks there are.

        >>> convert("d0 = 2*n@reg, d1 = 4@lane", "d0 = 2*n@reg, d1 = 4@lane").count
        n
        """
        return _symbolic(self.source, self.destination).count

    @property
    def block(self) -> ConversionPlan:
        """The plan of one block.

        >>> str(convert("d0 = 2*n@reg, d1 = 4@lane", "d0 = 2*n@reg, d1 = 4@lane").block.source)
        'd0 = 2@reg, d1 = 4@lane'
        """
        found = _symbolic(self.source, self.destination)
        return ConversionPlan(**self._settings(found.source, found.destination))

    def _settings(self, source: Layout, destination: Layout) -> dict[str, Any]:
        """The arguments of a plan between other layouts."""
        own = {one.name: getattr(self, one.name) for one in fields(ConversionPlan)}
        return own | {"source": source, "destination": destination}

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The ways to convert one block, the cheapest first.

        >>> convert("d0 = n@reg, d1 = 2@lane 2@lane:2", "d0 = n@reg, d1 = 2@lane:2 2@lane").candidates[0].name
        'an exchange in registers and lanes'
        """
        return self.block.candidates

    @property
    def chosen(self) -> Candidate:
        """The way that is taken for one block.

        >>> convert("d0 = n@reg, d1 = 2@lane 2@lane:2", "d0 = n@reg, d1 = 2@lane:2 2@lane").chosen.kind
        'shuffles'
        """
        return self.block.chosen

    @property
    def kind(self) -> str:
        """What a block needs at most; "registers" where only the registers of blocks are numbered otherwise.

        >>> convert("d0 = n@reg, d1 = 4@reg:n", "d0 = n@reg:4, d1 = 4@reg").kind
        'registers'
        """
        kind = self.block.kind
        return "registers" if kind == "identity" and self.source != self.destination else kind

    @property
    def shuffles(self) -> Extent:
        """Shuffles of all blocks.

        >>> convert("d0 = n@reg, d1 = 2@lane 2@lane:2", "d0 = n@reg, d1 = 2@lane:2 2@lane").shuffles
        n
        """
        return multiply(self.count, self.block.shuffles) if self.block.shuffles else 0

    @property
    def selects(self) -> Extent:
        """Selects of all blocks.

        >>> convert("d0 = n@reg, d1 = 2@lane 2@lane:2", "d0 = n@reg, d1 = 2@lane:2 2@lane").selects
        0
        """
        return multiply(self.count, self.block.selects) if self.block.selects else 0

    @property
    def permutes(self) -> Extent:
        """Byte permutes of all blocks.

        >>> convert("d0 = n@reg, d1 = 2@lane 2@lane:2", "d0 = n@reg, d1 = 2@lane:2 2@lane").permutes
        0
        """
        return multiply(self.count, self.block.permutes) if self.block.permutes else 0

    @property
    def moves(self) -> Extent:
        """Register moves of all blocks.

        >>> convert("d0 = n@reg, d1 = 2@lane 2@lane:2", "d0 = n@reg, d1 = 2@lane:2 2@lane").moves
        0
        """
        return multiply(self.count, self.block.moves) if self.block.moves else 0

    @property
    def lower_bound(self) -> Extent:
        """The bound of all blocks, each on its own.

        >>> convert("d0 = n@reg, d1 = 2@lane 2@lane:2", "d0 = n@reg, d1 = 2@lane:2 2@lane").lower_bound
        n
        """
        return multiply(self.count, self.block.lower_bound) if self.block.lower_bound else 0

    @property
    def bound_reason(self) -> str:
        """The sentence that proves the bound of one block.

        >>> convert("d0 = n@reg, d1 = 2@lane 2@lane:2", "d0 = n@reg, d1 = 2@lane:2 2@lane").bound_reason[:27]
        'some lane needs 1 word from'
        """
        return self.block.bound_reason

    @property
    def optimal(self) -> bool:
        """Whether the plan of one block has no more shuffles than its bound.

        >>> convert("d0 = n@reg, d1 = 2@lane 2@lane:2", "d0 = n@reg, d1 = 2@lane:2 2@lane").optimal
        True
        """
        return self.block.optimal

    @property
    def cost(self) -> Extent:
        """What all blocks cost, one after another.

        >>> convert("d0 = n@reg, d1 = 2@lane 2@lane:2", "d0 = n@reg, d1 = 2@lane:2 2@lane").cost
        32*n
        """
        return multiply(self.count, self.block.cost) if self.block.cost else 0

    def apply(self, fragments: NDArray[Any], done: Counter[type] | None = None) -> NDArray[Any]:
        """Raises `ConversionError`: numbers are needed first.

        >>> convert("d0 = n@reg, d1 = 4@lane", "d0 = n@reg, d1 = 4@lane").apply(np.zeros((1, 4, 1), np.int32))
        Traceback (most recent call last):
        layoutalg.core.errors.ConversionError: d0 = n@reg, d1 = 4@lane to d0 = n@reg, d1 = 4@lane: put numbers for its symbols
        with substitute() before applying the plan
        """
        raise self._needs_numbers("applying")

    def emit(self, element: str | None = None, *, kernel: bool = False, name: str = "convert") -> str:
        """Raises `ConversionError`: numbers are needed first.

        >>> convert("d0 = n@reg, d1 = 4@lane", "d0 = n@reg, d1 = 4@lane").emit()
        Traceback (most recent call last):
        layoutalg.core.errors.ConversionError: d0 = n@reg, d1 = 4@lane to d0 = n@reg, d1 = 4@lane: put numbers for its symbols
        with substitute() before emitting the plan
        """
        raise self._needs_numbers("emitting")

    def svg(self) -> str:
        """The conversion of one block as an SVG document.

        >>> convert("d0 = n@reg, d1 = 2@lane 2@lane:2", "d0 = n@reg, d1 = 2@lane:2 2@lane").svg()[:4]
        '<svg'
        """
        return self.block.svg()

    def __str__(self) -> str:
        """The plan of one block, and what all blocks take.

        >>> sides = "d0 = n@reg, d1 = 2@lane 2@lane:2", "d0 = n@reg, d1 = 2@lane:2 2@lane"
        >>> print(convert(*sides, level="subgroup"))
        nx4 elements of 32 bits in n blocks
        source       d0 = n@reg, d1 = 2@lane 2@lane:2
        destination  d0 = n@reg, d1 = 2@lane:2 2@lane
        all blocks   n shuffles; 32*n issue slots on generic
        each block   1x4 elements of 32 bits over 1 subgroup of 4 lanes, 1 register to 1
        moves        d1 bit 0: lane bit 1 becomes lane bit 0
                     d1 bit 1: lane bit 0 becomes lane bit 1
        kind         shuffles: 1 shuffle
        lower bound  optimal, 1 shuffle: some lane needs 1 word from another lane, and gets one word in a shuffle
        cost         32 issue slots on generic, estimated: an exchange in registers and lanes
        """
        shape, count = "x".join(map(extent_text, self.source.shape)), extent_text(self.count)
        counts = {"shuffles": self.shuffles, "selects": self.selects, "byte permutes": self.permutes}
        work = ", ".join(f"{extent_text(number)} {name}" for name, number in counts.items() if number != 0)
        return "\n".join(
            (
                f"{shape} elements of {self.element_bits} bits in {count} blocks",
                f"source       {self.source}",
                f"destination  {self.destination}",
                f"all blocks   {work or self.kind}; {extent_text(self.cost)} issue slots on {self.target}",
                *(
                    f"each block   {line}" if i == 0 else line
                    for i, line in enumerate(str(self.block).splitlines())
                    if not line.startswith(("source", "destination"))
                ),
            )
        )

    def _needs_numbers(self, task: str) -> ConversionError:
        return ConversionError(
            f"{self.source} to {self.destination}: put numbers for its symbols with substitute() before {task} the plan"
        )

    def substitute(self, **numbers: int) -> ConversionPlan:
        """The plan with numbers for its symbols: that of one block for each, without planning again.

        Raises `LayoutError` where a number does not fit, `SizeError` for more registers or steps than a plan may have.

        >>> plan = convert("d0 = n@reg, d1 = 4@reg:n, d2 = 4@lane", "d0 = n@reg, d1 = 4@lane, d2 = 4@reg:n")
        >>> concrete = plan.substitute(n=3)
        >>> data = np.arange(48, dtype=np.int32).reshape(3, 4, 4)
        >>> bool((concrete.apply(la.distribute(concrete.source, data)) == la.distribute(concrete.destination, data)).all())
        True
        """
        source, destination = self.source.substitute(**numbers), self.destination.substitute(**numbers)
        if has_symbols(source) or has_symbols(destination):
            return replace(self, source=source, destination=destination)
        for layout in (source, destination):
            machine_counts(layout)
        limit = cost_of(self.target).slm_bytes if self.slm_limit is None else self.slm_limit
        blocks = _symbolic(self.source, self.destination).blocks(source, destination, numbers)
        chosen = repeated_candidates((self.block.chosen,), blocks, limit * self.workgroups)[0]
        given = self._settings(source, destination)
        return _PlanOfBlocks(**given, first=chosen, block=self.block, blocks=blocks)


@dataclass(frozen=True, slots=True)
class _PlanOfBlocks(ConversionPlan):
    """A plan whose ways are those of one block, repeated."""

    first: Candidate | None = field(default=None, repr=False, compare=False)
    block: ConversionPlan | None = field(default=None, repr=False, compare=False)
    blocks: Blocks | None = field(default=None, repr=False, compare=False)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        limit = cost_of(self.target).slm_bytes if self.slm_limit is None else self.slm_limit
        assert self.block is not None
        return repeated_candidates(self.block.candidates, self.blocks, limit * self.workgroups)

    @property
    def chosen(self) -> Candidate:
        assert self.first is not None
        return self.first


def _of_one_tensor(source: object, destination: object) -> None:
    for layout in (source, destination):
        if not isinstance(layout, Layout):
            raise ConversionError(
                f"a plan from or to {shown(layout)}: expected two layouts; convert takes other values"
            )
    assert isinstance(source, Layout)
    assert isinstance(destination, Layout)
    if source.shape != destination.shape:
        sizes = ["x".join(map(str, one.shape)) or "()" for one in (source, destination)]
        raise ConversionError(f"a tensor of {sizes[0]} and one of {sizes[1]}: expected two layouts of one tensor")


@lru_cache(maxsize=64)
def _symbolic(source: Layout, destination: Layout) -> SymbolicBlocks:
    return symbolic_blocks(source, destination)


def convert(
    source: Distributed | str,
    destination: Distributed | str,
    shape: Sequence[int] | None = None,
    *,
    machine: Machine | None = None,
    element_bits: int = 32,
    target: str | None = None,
    slm_limit: int | None = None,
    level: str = "workgroup",
    workgroups: int = 1,
    regions: bool = False,
) -> ConversionPlan:
    """The plan from one layout of a tensor to another: each a `Layout`, a value of any notation, or its text.

    `shape` is needed where neither says the tensor's. What `machine` leaves open is what the two say themselves, the larger
    number of lanes and of subgroups: one that uses fewer holds copies in the others.
    `slm_limit` is the shared memory that may be used, in bytes (the target's unless given; 0: none). `level` says how far
    elements may go: "subgroup" (registers and shuffles alone), "workgroup" (shared memory and barriers too), or "cluster":
    the subgroups are those of so many `workgroups`, which share their memories (see `conversion.levels`). Extents of registers
    that stay where they are may be symbols: then the plan is a `SymbolicPlan`.
    With `regions`, for Intel's targets, moves between regions of registers are weighed too: a transpose is a few strided moves.
    They are emitted as inline assembly, which `--gpu-lower-to-xevm-pipeline` alone does not take (docs/conversions.md).

    Raises `ConversionError` for layouts of different tensors or on different machines, for elements that are not 8, 16, 32 or
    64 bits, and for `regions` on other chips; `PlanError` for an unknown target; `SizeError` for a plan of more than 2^16
    steps, and where what has to be in shared memory at a time is more than the limit.

    >>> from layoutalg.xegpu import LayoutAttr
    >>> plain, vnni = (LayoutAttr(lane_layout=(1, 16), lane_data=(n, 1)) for n in (1, 2))
    >>> convert(plain, vnni, (16, 16), element_bits=16).kind
    'identity'
    """
    a, b = distributions((source, destination), shape, machine, "converting it", symbols=True)
    symbols = has_symbols(a) or has_symbols(b)
    plan = (SymbolicPlan if symbols else ConversionPlan)(
        a, b, element_bits, cost_of(target).name, slm_limit, level, workgroups, regions
    )
    _ = plan.chosen  # worked out once, and kept: what can't be planned is an error here
    return plan
