"""Plans between layouts whose extents are symbols: one block is planned, and counts for all blocks.

>>> plan = la.convert("d0 = n@reg, d1 = 4@reg:n, d2 = 4@lane", "d0 = n@reg, d1 = 4@lane, d2 = 4@reg:n", level="subgroup")
>>> str(plan.block.source), plan.count, plan.shuffles
('d0 = 1, d1 = 4@reg, d2 = 4@lane', n, 3*n)

`strategies.symbolic_blocks` finds the block. With numbers for its symbols (`substitute`) the block's programs are repeated, and
nothing is planned again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from layoutalg.conversion.candidate import Candidate
from layoutalg.conversion.candidates import repeated_candidates
from layoutalg.conversion.conversion_plan import ConversionPlan
from layoutalg.conversion.cost import cost_of
from layoutalg.conversion.layouts import check_tensor, machine_counts
from layoutalg.conversion.strategies.blocks import Blocks
from layoutalg.conversion.strategies.symbolic_blocks import SymbolicBlocks, has_symbols, symbolic_blocks
from layoutalg.core.errors import ConversionError
from layoutalg.core.extents import Extent, extent_text, multiply
from layoutalg.core.layout import Layout
from layoutalg.core.llvm_versions import DEFAULT_LLVM

if TYPE_CHECKING:
    from layoutalg.conversion.picture import ConversionPicture

__all__ = ["SymbolicPlan"]


@dataclass(frozen=True, slots=True)
class SymbolicPlan(ConversionPlan):
    """A plan between layouts whose extents are symbols in registers: that of one block, for any number of blocks.

    What it counts are expressions; `programs`, `candidates` and the picture are those of one block.

    >>> plan = la.convert("d0 = n@reg, d1 = 4@reg:n, d2 = 4@lane", "d0 = n@reg, d1 = 4@lane, d2 = 4@reg:n")
    >>> plan.count, plan.shuffles, plan.block.shuffles
    (n, 3*n, 3)
    >>> plan.substitute(n=8).shuffles
    24

    Elements of different blocks share no words: a plan that is made for the numbers may have fewer shuffles below 32 bits.
    """

    def __post_init__(self) -> None:
        check_tensor(self.source, self.destination)
        _ = self.block

    @property
    def count(self) -> Extent:
        """How many blocks there are.

        >>> la.convert("d0 = 2*n@reg, d1 = 4@lane", "d0 = 2*n@reg, d1 = 4@lane").count
        n
        """
        return _symbolic(self.source, self.destination).count

    @property
    def block(self) -> ConversionPlan:
        """The plan of one block.

        >>> str(la.convert("d0 = 2*n@reg, d1 = 4@lane", "d0 = 2*n@reg, d1 = 4@lane").block.source)
        'd0 = 2@reg, d1 = 4@lane'
        """
        found = _symbolic(self.source, self.destination)
        return ConversionPlan(**self._settings(found.source, found.destination))

    def _of_all(self, number: int) -> Extent:
        """What a block has so many of, of all blocks."""
        return multiply(self.count, number) if number else 0

    def _settings(self, source: Layout, destination: Layout) -> dict[str, Any]:
        """The arguments of a plan between other layouts."""
        own = {one.name: getattr(self, one.name) for one in fields(ConversionPlan)}
        return own | {"source": source, "destination": destination}

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The ways to convert one block, the cheapest first.

        >>> la.convert("d0 = n@reg, d1 = 2@lane 2@lane:2", "d0 = n@reg, d1 = 2@lane:2 2@lane").candidates[0].name
        'an exchange in registers and lanes'
        """
        return self.block.candidates

    @property
    def chosen(self) -> Candidate:
        """The way that is taken for one block.

        >>> la.convert("d0 = n@reg, d1 = 2@lane 2@lane:2", "d0 = n@reg, d1 = 2@lane:2 2@lane").chosen.kind
        'shuffles'
        """
        return self.block.chosen

    @property
    def kind(self) -> str:
        """What a block needs at most; "registers" where only the registers of blocks are numbered otherwise.

        >>> la.convert("d0 = n@reg, d1 = 4@reg:n", "d0 = n@reg:4, d1 = 4@reg").kind
        'registers'
        """
        kind = self.block.kind
        return "registers" if kind == "identity" and self.source != self.destination else kind

    @property
    def pressures(self) -> dict[str, Extent]:  # type: ignore[override]
        """What all blocks cost in each regime.

        >>> la.convert("d0 = n@reg, d1 = 2@lane 2@lane:2", "d0 = n@reg, d1 = 2@lane:2 2@lane", target="sm_80").pressures["all"]
        8*n
        """
        return {one: self._of_all(slots) for one, slots in self.block.pressures.items()}

    @property
    def shuffles(self) -> Extent:
        """Shuffles of all blocks.

        >>> la.convert("d0 = n@reg, d1 = 2@lane 2@lane:2", "d0 = n@reg, d1 = 2@lane:2 2@lane").shuffles
        n
        """
        return self._of_all(self.block.shuffles)

    @property
    def selects(self) -> Extent:
        """Selects of all blocks.

        >>> la.convert("d0 = n@reg, d1 = 2@lane 2@lane:2", "d0 = n@reg, d1 = 2@lane:2 2@lane").selects
        0
        """
        return self._of_all(self.block.selects)

    @property
    def permutes(self) -> Extent:
        """Byte permutes of all blocks.

        >>> la.convert("d0 = n@reg, d1 = 2@lane 2@lane:2", "d0 = n@reg, d1 = 2@lane:2 2@lane").permutes
        0
        """
        return self._of_all(self.block.permutes)

    @property
    def moves(self) -> Extent:
        """Register moves of all blocks.

        >>> la.convert("d0 = n@reg, d1 = 2@lane 2@lane:2", "d0 = n@reg, d1 = 2@lane:2 2@lane").moves
        0
        """
        return self._of_all(self.block.moves)

    @property
    def lower_bound(self) -> Extent:
        """The bound of all blocks, each on its own.

        >>> la.convert("d0 = n@reg, d1 = 2@lane 2@lane:2", "d0 = n@reg, d1 = 2@lane:2 2@lane").lower_bound
        n
        """
        return self._of_all(self.block.lower_bound)

    @property
    def bound_reason(self) -> str:
        """The sentence that proves the bound of one block.

        >>> la.convert("d0 = n@reg, d1 = 2@lane 2@lane:2", "d0 = n@reg, d1 = 2@lane:2 2@lane").bound_reason[:27]
        'some lane needs 1 word from'
        """
        return self.block.bound_reason

    @property
    def optimal(self) -> bool:
        """Whether the plan of one block has no more shuffles than its bound.

        >>> la.convert("d0 = n@reg, d1 = 2@lane 2@lane:2", "d0 = n@reg, d1 = 2@lane:2 2@lane").optimal
        True
        """
        return self.block.optimal

    @property
    def cost(self) -> Extent:
        """What all blocks cost, one after another.

        >>> la.convert("d0 = n@reg, d1 = 2@lane 2@lane:2", "d0 = n@reg, d1 = 2@lane:2 2@lane").cost
        32*n
        """
        return self._of_all(self.block.cost)

    def apply(self, fragments: NDArray[Any], done: Counter[type] | None = None) -> NDArray[Any]:
        """Raises `ConversionError`: numbers are needed first.

        >>> la.convert("d0 = n@reg, d1 = 4@lane", "d0 = n@reg, d1 = 4@lane").apply(np.zeros((1, 4, 1), np.int32))
        Traceback (most recent call last):
        layoutalg.core.errors.ConversionError: d0 = n@reg, d1 = 4@lane to d0 = n@reg, d1 = 4@lane: put numbers for its symbols
        with substitute() before applying the plan
        """
        raise self._needs_numbers("applying")

    def emit(
        self, element: str | None = None, *, kernel: bool = False, name: str = "convert", llvm: int = DEFAULT_LLVM
    ) -> str:
        """Raises `ConversionError`: numbers are needed first.

        >>> la.convert("d0 = n@reg, d1 = 4@lane", "d0 = n@reg, d1 = 4@lane").emit()
        Traceback (most recent call last):
        layoutalg.core.errors.ConversionError: d0 = n@reg, d1 = 4@lane to d0 = n@reg, d1 = 4@lane: put numbers for its symbols
        with substitute() before emitting the plan
        """
        raise self._needs_numbers("emitting")

    def picture(self, *, title: str | None = None) -> ConversionPicture:
        """The picture of the conversion of one block.

        >>> la.convert("d0 = n@reg, d1 = 2@lane 2@lane:2", "d0 = n@reg, d1 = 2@lane:2 2@lane").picture().svg()[:4]
        '<svg'
        """
        return self.block.picture(title=title)

    def __str__(self) -> str:
        """The plan of one block, and what all blocks take.

        >>> sides = "d0 = n@reg, d1 = 2@lane 2@lane:2", "d0 = n@reg, d1 = 2@lane:2 2@lane"
        >>> print(la.convert(*sides, level="subgroup"))
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

        >>> plan = la.convert("d0 = n@reg, d1 = 4@reg:n, d2 = 4@lane", "d0 = n@reg, d1 = 4@lane, d2 = 4@reg:n")
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


@lru_cache(maxsize=64)
def _symbolic(source: Layout, destination: Layout) -> SymbolicBlocks:
    return symbolic_blocks(source, destination)
