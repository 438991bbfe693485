"""The plan of a conversion between two layouts: what it takes, why that is the least, and the plan executed, written and drawn.

Two rows of two elements in two lanes, to be two columns: each lane keeps one element and gives one away.

>>> plan = la.convert("d0 = 2@reg, d1 = 2@lane", "d0 = 2@lane, d1 = 2@reg", level="subgroup")
>>> plan.shuffles, plan.lower_bound, plan.optimal
(1, 1, True)
>>> plan.apply(np.array([[[1, 2], [3, 4]]], np.int32)).tolist()      # [sg, lane, reg]
[[[1, 3], [2, 4]]]

`ConversionPlan` is a value: two layouts and what was asked for. What it says is worked out from these when it is first needed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from layoutalg.conversion.bound import Bound, bound_of
from layoutalg.conversion.candidate import Candidate, Candidates
from layoutalg.conversion.candidates import Settings, candidates_of
from layoutalg.conversion.cheapest import cheapest_of
from layoutalg.conversion.cost import PRESSURES, cost_of
from layoutalg.conversion.layouts import check_tensor, machine_counts
from layoutalg.conversion.levels import check_level
from layoutalg.conversion.normalize import leaves_empty, normalized
from layoutalg.conversion.program.access_conflicts import program_ways
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Barrier, Permute, Select, Shuffle
from layoutalg.core.errors import ConversionError, LayoutError
from layoutalg.core.layout import Layout
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import as_flag, instance_of
from layoutalg.hardware.chips import target_info
from layoutalg.memory.asked import element_size

if TYPE_CHECKING:
    from layoutalg.conversion.picture import ConversionPicture

__all__ = ["ConversionPlan"]


@dataclass(frozen=True, slots=True)
class ConversionPlan:
    """How to get from `source` to `destination`, two layouts of one tensor with elements of `element_bits`.

    Raises `ConversionError` as `convert` does.

    >>> plan = la.convert(Layout.parse("d0 = 2@lane 2@lane:2"), Layout.parse("d0 = 2@lane:2 2@lane"))
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
    pressure: str = "all"
    portable: bool = False
    unpriced: str = field(default="", repr=False)
    """Why there is no cost, where the layouts do not say how many lanes there are."""

    def __post_init__(self) -> None:
        a, b, limit = self.source, self.destination, self.slm_limit
        check_tensor(a, b)
        element_size(self.element_bits)
        instance_of(self.unpriced, str, "unpriced")
        cost_of(self.target, self.pressure)
        if limit is not None and (type(limit) is not int or not 0 <= limit <= 2**40):
            raise ConversionError(f"slm_limit={shown(limit)}: expected a number of bytes, from 0 (none) to 2^40")
        counts = [machine_counts(one) for one in (a, b)]
        for axis, word in (("sg", "subgroups"), ("lane", "lanes")):
            before, after = (count[axis] for count in counts)
            if before != after and not any(leaves_empty(one, axis) for one in (a, b)):
                raise ConversionError(
                    f"{before} and {after} {word}: the machine must be the same (source {a}, destination {b})"
                )
        normalized(a, b)
        check_level(self.level, self.workgroups, max(count["sg"] for count in counts), self.target)
        object.__setattr__(self, "regions", as_flag(self.regions, "regions"))
        object.__setattr__(self, "portable", as_flag(self.portable, "portable"))
        if self.regions and not target_info(self.target).grf_bytes:
            raise ConversionError(
                f"regions=True: {self.target} has no register regions; expected a target of Intel's, such as pvc or bmg"
            )

    @property
    def _asked(self) -> tuple[Layout, Layout, int, str, Settings]:
        """What `candidates_of` is asked."""
        settings = Settings(self.slm_limit, self.level, self.workgroups, self.regions, self.pressure, self.portable)
        return self.source, self.destination, self.element_bits, self.target, settings

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The ways that were weighed, the cheapest first.

        >>> source, destination = Layout.parse("d0 = 2@sg 2@reg, d1 = 16@lane"), Layout.parse("d0 = 2@reg 2@sg, d1 = 16@lane")
        >>> [one.name for one in la.convert(source, destination).candidates]
        ['only what crosses goes through shared memory', 'everything goes through shared memory']
        """
        return Candidates(candidates_of(*self._asked))

    @property
    def chosen(self) -> Candidate:
        """The way that is taken, the first of `candidates`; most others are not made for it.

        >>> la.convert(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 4@lane")).chosen.name
        'nothing moves'
        """
        return cheapest_of(*self._asked)

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs of the chosen way, one after another.

        >>> la.convert(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 4@lane")).programs[0].steps
        ()
        """
        return self.chosen.programs

    @property
    def kind(self) -> str:
        """What the plan needs at most: "identity", "registers", "shuffles" or "shared memory".

        >>> la.convert(Layout.parse("d0 = 2@reg:2 2@reg"), Layout.parse("d0 = 2@reg 2@reg:2")).kind
        'registers'
        """
        return self.chosen.kind

    @property
    def shuffles(self) -> int:
        """Shuffles that each subgroup executes.

        >>> la.convert(Layout.parse("d0 = 2@lane 2@lane:2"), Layout.parse("d0 = 2@lane:2 2@lane")).shuffles
        1
        """
        return self.chosen.count(Shuffle)

    @property
    def selects(self) -> int:
        """Selects that each subgroup executes.

        >>> la.convert(Layout.parse("d0 = 2@reg, d1 = 2@lane"), Layout.parse("d0 = 2@lane, d1 = 2@reg")).selects
        3
        """
        return self.chosen.count(Select)

    @property
    def permutes(self) -> int:
        """Byte permutes that each subgroup executes.

        >>> la.convert(Layout.parse("d0 = 2@reg, d1 = 2@lane"), Layout.parse("d0 = 2@lane, d1 = 2@reg")).permutes
        0
        """
        return self.chosen.count(Permute)

    @property
    def moves(self) -> int:
        """Words per lane that are put together anew from parts, byte permutes among them; where nothing else happens, those
        in another register too.

        >>> la.convert(Layout.parse("d0 = 2@reg:2 2@reg"), Layout.parse("d0 = 2@reg 2@reg:2")).moves
        2
        """
        return self.chosen.moves + self.permutes

    @property
    def lower_bound(self) -> int:
        """The number of shuffles that no plan is below, with several hops and shared words (see `conversion.bound`).

        Where subgroups must exchange elements, the words that some lane must receive from its subgroup or from another one.

        Raises `SizeError` for more than 2^20 slots that have to be counted one by one.

        >>> la.convert(Layout.parse("d0 = 8@reg, d1 = 16@lane"), Layout.parse("d0 = 8@reg, d1 = 16@lane")).lower_bound
        0
        """
        return self._bound.shuffles

    @property
    def _bound(self) -> Bound:
        source, destination, _ = normalized(self.source, self.destination)
        return bound_of(source, destination, self.element_bits)

    @property
    def bound_reason(self) -> str:
        """The sentence that proves the lower bound: who must send what. Empty where nothing has to be sent.

        >>> la.convert(Layout.parse("d0 = 8@reg, d1 = 8@lane"), Layout.parse("d0 = 8@lane, d1 = 8@reg")).bound_reason
        'each lane needs 1 word from each of 7 other lanes, and gets one word in a shuffle'
        """
        return self._bound.reason

    @property
    def optimal(self) -> bool:
        """Whether it has no more shuffles than the bound; a plan that moves words otherwise has none to spare.

        >>> la.convert(Layout.parse("d0 = 8@reg, d1 = 8@lane"), Layout.parse("d0 = 8@lane, d1 = 8@reg"), element_bits=8).optimal
        True
        """
        return self.kind != "shuffles" or self.shuffles <= self.lower_bound

    @property
    def pressures(self) -> dict[str, int]:
        """What the chosen way costs in each regime (see `conversion.cost`), in issue slots; empty where no rate is known.

        >>> la.convert("d0 = 16@reg, d1 = 16@lane", "d0 = 16@lane, d1 = 16@reg", target="bmg").pressures["all"]
        128
        """
        both = {one: cost_of(self.target, one).parts(self.programs, self.workgroups) for one in PRESSURES}
        return {one: parts.slots for one, parts in both.items() if parts is not None} if not self.unpriced else {}

    @property
    def slm_bytes(self) -> int:
        """Shared memory that the plan needs at a time, in bytes, of all its workgroups.

        >>> la.convert(Layout.parse("d0 = 2@sg 16@lane"), Layout.parse("d0 = 2@lane:8 2@sg 8@lane")).slm_bytes
        128
        """
        return self.chosen.slm_bytes

    @property
    def barriers(self) -> int:
        """Barriers, of the workgroup or inside its subgroups.

        >>> la.convert(Layout.parse("d0 = 2@sg 16@lane"), Layout.parse("d0 = 2@lane:8 2@sg 8@lane")).barriers
        1
        """
        return self.chosen.count(Barrier)

    @property
    def bank_conflicts(self) -> int:
        """How often the lanes of a subgroup wait for the same of 32 banks at the worst, in its stores and loads; 1: never.

        >>> la.convert("d0 = 2@sg 8@reg, d1 = 16@lane", "d0 = 16@lane, d1 = 2@sg 8@reg").bank_conflicts
        1
        """
        return max((ways for program in self.programs for ways in program_ways(program)), default=1)

    @property
    def cost(self) -> int:
        """What it costs on the target, in issue slots (see conversion.cost).

        Raises `ConversionError` for a plan of whole subgroups, whose lanes nobody said.

        >>> la.convert(Layout.parse("d0 = 2@lane 2@lane:2"), Layout.parse("d0 = 2@lane:2 2@lane")).cost
        32
        """
        if self.unpriced:
            raise ConversionError(self.unpriced)
        return self.chosen.cost

    def apply(self, fragments: NDArray[Any], done: Counter[type] | None = None) -> NDArray[Any]:
        """Execute the plan on an array `[sg, lane, reg]`, step by step; `done` counts the steps.

        Raises `ConversionError` for an array of another shape, or of elements of another size.

        >>> plan = la.convert(Layout.parse("d0 = 2@lane 2@lane:2"), Layout.parse("d0 = 2@lane:2 2@lane"), element_bits=64)
        >>> plan.apply(np.arange(4.0).reshape(1, 4, 1)).ravel().tolist()
        [0.0, 2.0, 1.0, 3.0]
        """
        instance_of(done, (Counter, type(None)), "done", ConversionError)
        for program in self.programs:
            fragments = program.run(fragments, done)
        return fragments

    def emit(
        self, element: str | None = None, *, kernel: bool = False, name: str = "convert", llvm: int = DEFAULT_LLVM
    ) -> str:
        """The plan as MLIR at lane level: a function from a lane's fragment to its fragment, or a whole `kernel`.

        `element` is the type of the elements, an integer of their size unless given. For Intel's targets, and for none in
        particular, the function asks for the subgroup size that was planned for; Intel's GPUs have 8, 16 and 32 lanes. For
        AMD's and NVIDIA's it is what `--convert-gpu-to-rocdl` and `--convert-gpu-to-nvvm` take, and byte permutes are theirs.
        `llvm` is the version of LLVM that reads it. A plan for a cluster is emitted for NVIDIA's chips that have clusters: each
        of its workgroups executes the function, and a kernel says how many are one cluster.

        Raises `ConversionError` for a type of another size, for a cluster on a GPU in general, for tables of more than 64
        subgroups or lanes, and for lanes that the target's warps or wavefronts do not have; `LayoutError` for a version that is
        not known.

        >>> plan = la.convert(Layout.parse("d0 = 4@reg, d1 = 16@lane"), Layout.parse("d0 = 4@lane, d1 = 4@lane:4 4@reg"))
        >>> plan.emit("f32").count("gpu.shuffle") == plan.shuffles
        True
        """
        from layoutalg.conversion.lowering.emit import emit_function, emit_kernel

        kind = f"i{self.element_bits}" if element is None else element
        write = emit_kernel if as_flag(kernel, "kernel") else emit_function
        return write(self.programs, kind, name, self.target, llvm, self.workgroups)

    def substitute(self, **numbers: int) -> ConversionPlan:
        """The plan with numbers for the symbols of its layouts; a plan without symbols is itself.

        >>> plan = la.convert(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 4@lane"))
        >>> plan.substitute(n=8) is plan
        True
        """
        return self

    def __str__(self) -> str:
        from layoutalg.conversion.explanation import explain

        return explain(self)

    def picture(self, *, title: str | None = None) -> ConversionPicture:
        """The picture: registers and lanes before and after, the steps with their prices, the memory.

        `svg`, `html` (a step at a time), `save` and the rest are those of any picture (see viz.picture).

        >>> la.convert(Layout.parse("d0 = 2@lane 2@lane:2"), Layout.parse("d0 = 2@lane:2 2@lane")).picture().title
        'd0 = 2@lane 2@lane:2 to d0 = 2@lane:2 2@lane'
        """
        from layoutalg.conversion.picture import conversion_picture

        return conversion_picture(self, title)

    def svg(self) -> str:
        """The picture as an SVG document.

        >>> la.convert(Layout.parse("d0 = 2@lane 2@lane:2"), Layout.parse("d0 = 2@lane:2 2@lane")).svg()[:4]
        '<svg'
        """
        return self.picture().svg()

    def _repr_html_(self) -> str | None:
        try:
            return self.picture()._repr_html_()  # pyright: ignore[reportPrivateUsage]
        except LayoutError:
            return None
