"""Conversions through shared memory for any factors: the tensor row by row, with the padding that costs least.

Three subgroups with two elements each that change places with the registers:

>>> source, destination = Layout.parse("d0 = 3@sg 2@reg"), Layout.parse("d0 = 2@reg 3@sg")
>>> found = through_padded_memory(source, destination, 32)
>>> store, barrier, *loads = found.steps
>>> store.words, str(store.address), [(load.to, str(load.address)) for load in loads]
((0, 1), '2*(sg % 3)', [((2,), '(sg % 3)'), ((3,), '3 + (sg % 3)')])

Every element has its place at its own size, so that bytes take as many bytes as there are; a side that holds neighbours in
registers moves several at a time. What registers repeat is moved once.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from layoutalg.conversion.program.builder import Builder
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import VECTOR, WORD, Address
from layoutalg.core.algebra import compose
from layoutalg.core.banks import BANKS
from layoutalg.core.errors import ConversionError, SizeError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import MACHINE, Layout
from layoutalg.memory.conflicts import Banks
from layoutalg.memory.swizzles import best_rows

__all__ = ["through_padded_memory"]


def through_padded_memory(source: Layout, destination: Layout, element_bits: int, limit: int | None = None) -> Program:
    """The program that moves every element through memory, of at most `limit` bytes (None: of any size).

    Raises `ConversionError` for a layout that has no inverse, and for one whose slots hold several elements; `SizeError`
    over the limit.
    """
    for layout in (source, destination):
        slots = layout.inverse()
        if slots.replicas or slots.offsets or any(slots.origins):
            raise ConversionError(f"{layout}: a slot holds several elements, or the numbers do not start at 0")
    cells, parts = max(element_bits // WORD, 1), max(WORD // element_bits, 1)
    registers = _count(source, "reg"), _count(destination, "reg")
    source, destination, together = _in_words(source.canonical(), destination.canonical(), parts)
    item = element_bits * together  # what has an address
    most = None if limit is None else limit * 8 // item
    if most is not None and prod(source.shape) > most:
        need = prod(source.shape) * item // 8
        raise SizeError(
            f"{need} bytes of shared memory at a time, more than the limit of {limit}; convert a part of the tensor at a time"
        )
    memory: Any = best_rows(source, destination, Banks(BANKS, WORD // 8, item), most).memory
    before, after = (_Side.of(memory, layout, cells) for layout in (source, destination))
    inside = parts // together  # items of a word
    pack: list[int] = []
    stores: list[tuple[list[int], _Run]] = []
    for run in before.runs(inside):
        words = [run.cells[i : i + inside] for i in range(0, len(run.cells), inside)]
        first = len(pack) // parts
        for word in words:
            held = [cell * together + part for cell in word for part in range(together)]
            pack += [*held, *[-1] * (parts - len(held))]
        stores.append((list(range(first, first + len(words))), run))
    builder = Builder(_count(source, "sg"), _count(source, "lane"), element_bits, pack)
    sizes = [1 << bit for bit in range(inside.bit_length())]
    stored_at, loaded_at = ({size: side.address(size) for size in sizes} for side in (before, after))
    for words, run in stores:
        size = min(len(run.cells), inside)
        builder.store(words, stored_at[size].based(run.base // size), before.where, size * item // cells)
    builder.barrier()
    loaded: dict[int, int] = {}  # where each part of a word is that was loaded, by the address of its item
    for run in after.runs(inside):
        size = min(len(run.cells), inside)
        found = builder.load(len(run.cells) // size, loaded_at[size].based(run.base // size), size * item // cells)
        places = [word * parts + part * together for word in found for part in range(size)]
        loaded.update(zip(range(run.base, run.base + len(run.cells)), places, strict=True))
    unpack = [loaded[base] + part for base in after.bases for part in range(together)]
    return builder.program(*registers, unpack, slm_bytes=memory.spans().get("addr", 1) * item // 8)


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


class _Run(NamedTuple):
    """Cells that one access moves, from an address on."""

    base: int
    cells: list[int]


class _Side(NamedTuple):
    """Where the cells of one distribution are: items, or the two words of each."""

    bases: list[int]
    """The address of each cell of lane 0 in subgroup 0."""
    factors: tuple[tuple[str, int, int, int], ...]
    """What the factors of lane and subgroup add (see `Address`)."""
    where: tuple[int, ...] | None
    """Of lanes and subgroups that hold the same, those that store: the ones with 0 in the other factors. None for all."""

    @staticmethod
    def of(memory: Layout, layout: Layout, cells: int) -> _Side:
        slots = Layout(layout.dims, layout.replicas, names=memory.names).inverse()
        factors = _factors(compose(memory, slots))
        registers = np.arange(_count(layout, "reg"))
        bases = sum((registers // d % n * stride for d, n, stride in factors["reg"]), np.zeros_like(registers))
        idle = {axis: [factor for factor in factors[axis] if not factor[2]] for axis in ("sg", "lane")}
        where = None
        if idle["sg"] or idle["lane"]:
            mask = sum(1 << lane for lane in range(_count(layout, "lane")) if _is_first(lane, idle["lane"]))
            where = tuple(mask if _is_first(sg, idle["sg"]) else 0 for sg in range(_count(layout, "sg")))
        return _Side(
            (bases[:, None] * cells + np.arange(cells)).reshape(-1).tolist(),
            tuple((axis, d, n, stride * cells) for axis in idle for d, n, stride in factors[axis] if stride),
            where,
        )

    def address(self, size: int) -> Address:
        """Where an access at 0 begins, in places of `size` items."""
        return Address(factors=tuple([(*factor[:3], factor[3] // size) for factor in self.factors]))

    def runs(self, inside: int) -> list[_Run]:
        """The accesses: cells at consecutive, aligned addresses, up to four words of `inside` cells; each address once."""
        wide = VECTOR * inside
        while any(stride % wide for *_, stride in self.factors):
            wide //= 2
        cells = sorted({base: cell for cell, base in reversed(list(enumerate(self.bases)))}.values())
        bases = [self.bases[cell] for cell in cells]
        found: list[_Run] = []
        first = 0
        while first < len(cells):
            start, run = bases[first], wide
            while run > 1 and (start % run or bases[first : first + run] != [*range(start, start + run)]):
                run //= 2
            found.append(_Run(start, cells[first : first + run]))
            first += run
        return found


def _factors(reached: Layout) -> dict[str, list[tuple[int, int, int]]]:
    """For each axis of the machine its factors: divisor, extent, and what a step of it adds (0: nothing)."""
    found: dict[str, list[tuple[int, int, int]]] = {axis: [] for axis in MACHINE}
    for name, factors in zip(reached.names, reached.dims, strict=True):
        divisor = 1
        for extent, stride, axis in reversed(factors):
            found[name].append((divisor, int(extent), 0 if axis is None else int(stride)))
            divisor *= int(extent)
    return found


def _is_first(number: int, idle: Sequence[tuple[int, int, int]]) -> bool:
    return all(number // divisor % extent == 0 for divisor, extent, _ in idle)
