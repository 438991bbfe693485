"""Conversions through shared local memory where digits are no bits: the tensor row by row, with the padding that costs least.

Three subgroups with two elements each that change places with the registers:

>>> source, destination = Layout.parse("d0 = 3@sg 2@reg"), Layout.parse("d0 = 2@reg 3@sg")
>>> found = through_memory_by_digits(source, destination, 32)
>>> for step in found.steps:
...     print(step)
Store(words=(0, 1), address=Address(base=0, xor=False, lane=(), sg=(), digits=(('sg', 1, 3, 2),)), where=None)
Barrier()
Load(to=(2,), address=Address(base=0, xor=False, lane=(), sg=(), digits=(('sg', 1, 3, 1),)))
Load(to=(3,), address=Address(base=3, xor=False, lane=(), sg=(), digits=(('sg', 1, 3, 1),)))

Elements below 32 bits share a word where both sides hold them in neighbouring registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from layoutalg.conversion.program import WORD, Address, Barrier, Load, Program, Step, Store
from layoutalg.conversion.swizzles import best_swizzle
from layoutalg.core.algebra import compose
from layoutalg.core.digits import Factor
from layoutalg.core.errors import ConversionError
from layoutalg.core.layout import MACHINE, Layout

__all__ = ["through_memory_by_digits"]


def through_memory_by_digits(source: Layout, destination: Layout, element_bits: int) -> Program:
    """The program that moves every element through memory.

    Raises `ConversionError` for a layout that has no inverse, and for one whose slots hold several elements.

    >>> pair = Layout.parse("d0 = 3@sg 2@lane, d1 = 2@reg"), Layout.parse("d0 = 2@lane 3@sg, d1 = 2@reg")
    >>> through_memory_by_digits(*pair, 16).slm_words, through_memory_by_digits(*pair, 32).slm_words
    (6, 12)
    """
    for layout in (source, destination):
        slots = layout.inverse()
        if slots.replicas or slots.offsets or any(slots.origins):
            raise ConversionError(f"{layout}: a slot holds several elements, or the numbers do not start at 0")
    cells = 2 if element_bits > WORD else 1
    parts = max(WORD // element_bits, 1)
    registers = [_count(layout, "reg") for layout in (source, destination)]
    source, destination, together = _in_words(source.canonical(), destination.canonical(), parts)
    memory = best_swizzle(source, destination, element_bits=WORD * cells).memory
    assert isinstance(memory, Layout)  # sizes that are no powers of two are put row by row
    before, after = (_Side.of(memory, layout, cells) for layout in (source, destination))
    made = len(before.bases)
    steps: list[Step] = []
    for first, run in before.runs():
        steps.append(Store(tuple(range(first, first + run)), before.address(first), before.where))
    steps.append(Barrier())
    for first, run in after.runs():
        steps.append(Load(tuple(range(made + first, made + first + run)), after.address(first)))
    pack = [word * together + part if part < together else -1 for word in range(made) for part in range(parts)]
    unpack = [(made + word) * parts + part for word in range(len(after.bases)) for part in range(together)]
    return Program(
        _count(source, "sg"),
        _count(source, "lane"),
        element_bits,
        registers[0],
        registers[1],
        tuple(pack),
        tuple(steps),
        tuple(unpack),
        memory.spans().get("addr", 1) * cells,
    )


def _count(layout: Layout, axis: str) -> int:
    return int(layout.axes.get(axis, 1))


def _in_words(source: Layout, destination: Layout, parts: int) -> tuple[Layout, Layout, int]:
    """Both layouts of words that hold several elements, where both have them in neighbouring registers; and how many."""
    for d in range(source.rank):
        size = parts
        while size > 1:
            found = [_words(layout, d, size) for layout in (source, destination)]
            if found[0] is not None and found[1] is not None:
                return found[0], found[1], size
            size //= 2
    return source, destination, 1


def _words(layout: Layout, d: int, size: int) -> Layout | None:
    """The layout of words of `size` elements along dimension d, if those are neighbouring registers, from a multiple on."""
    if not layout.dims[d] or layout.dims[d][-1][1:] != (1, "reg") or layout.dims[d][-1].extent % size:
        return None
    dims: list[list[Factor]] = []
    for e, factors in enumerate(layout.dims):
        dims.append([])
        for i, factor in enumerate(factors):
            if e == d and i == len(factors) - 1:
                dims[-1].append(Factor(factor.extent // size, 1, "reg"))
            elif factor.axis == "reg" and factor.stride % size:
                return None
            else:
                dims[-1].append(factor._replace(stride=factor.stride // size) if factor.axis == "reg" else factor)
    if any(factor.axis == "reg" for factor in layout.replicas):
        return None
    return Layout(dims, layout.replicas, names=layout.names)


class _Side(NamedTuple):
    """Where the cells of one distribution are, in words."""

    bases: list[int]
    """The address of each cell of lane 0 in subgroup 0."""
    digits: tuple[tuple[str, int, int, int], ...]
    """What digits of lane and subgroup add (see `Address`)."""
    where: tuple[int, ...] | None
    """Of lanes and subgroups that hold the same, those that store: the ones whose other digits are 0. None for all."""

    @staticmethod
    def of(memory: Layout, layout: Layout, cells: int) -> _Side:
        reached = compose(memory, Layout(layout.dims, layout.replicas, names=memory.names).inverse())
        axes = dict(zip(reached.names, reached.dims, strict=True))
        moves: dict[str, list[tuple[int, int, int]]] = {axis: [] for axis in MACHINE}
        free: dict[str, list[tuple[int, int]]] = {axis: [] for axis in MACHINE}
        counts: dict[str, int] = dict.fromkeys(MACHINE, 1)
        for name, factors in axes.items():
            divisor = 1
            for extent, stride, axis in reversed(factors):
                if axis is None:
                    free[name].append((divisor, int(extent)))
                else:
                    moves[name].append((divisor, int(extent), int(stride) * cells))
                divisor *= int(extent)
            counts[name] = divisor
        bases = [
            sum(register // divisor % extent * stride for divisor, extent, stride in moves["reg"]) + cell
            for register in range(counts["reg"])
            for cell in range(cells)
        ]
        where = None
        if free["sg"] or free["lane"]:
            mask = sum(1 << lane for lane in range(counts["lane"]) if _is_first(lane, free["lane"]))
            where = tuple(mask if _is_first(sg, free["sg"]) else 0 for sg in range(counts["sg"]))
        return _Side(bases, tuple((axis, *move) for axis in ("sg", "lane") for move in moves[axis]), where)

    def address(self, cell: int) -> Address:
        return Address(self.bases[cell], digits=self.digits)

    def runs(self) -> list[tuple[int, int]]:
        """The accesses: their first cell, and how many cells from there on lie at consecutive, aligned addresses."""
        strides = [stride for _, _, _, stride in self.digits]
        found: list[tuple[int, int]] = []
        first = 0
        while first < len(self.bases):
            start = self.bases[first]
            run = 4
            while run > 1 and (
                self.bases[first : first + run] != list(range(start, start + run))
                or any(n % run for n in (start, *strides))
            ):
                run //= 2
            found.append((first, run))
            first += run
        return found


def _is_first(number: int, free: Sequence[tuple[int, int]]) -> bool:
    return all(number // divisor % extent == 0 for divisor, extent in free)
