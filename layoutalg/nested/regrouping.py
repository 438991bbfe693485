"""From a `Layout` to the five tiles and two lists of strides that mean it.

A nested layout cuts a dimension into subgroup x batch x outer x thread x element tiles, so its factors, major to minor, must
read `subgroups@sg batches@reg outer@reg threads elements@reg` (any of them missing), and registers must count all batch
tiles first (row-major), then all outer tiles, then the elements. Threads are factors of the flat thread id: on lanes, on
subgroups, or from lanes on into subgroups, as here, where 128 threads are two subgroups of 64:

>>> row = Layout.parse("d0 = 4@reg:4 2@sg 64@lane 4@reg")
>>> tiles = regroup(row)
>>> tiles.batch_tile, tiles.thread_tile, tiles.element_tile, tiles.thread_strides
((4,), (128,), (4,), (1,))

Replicas are what no tile uses.
"""

from __future__ import annotations

from itertools import zip_longest
from math import prod
from typing import NoReturn

from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.work_items import MachineFactor, level_steps, machine_factors, refuse
from layoutalg.nested.tiles import NestedTiles

__all__ = ["regroup"]

_NONE: tuple[int, int, int] = (1, 0, 0)


def regroup(layout: Layout) -> NestedTiles:
    """The tiles and strides whose exact layout, for as many lanes and subgroups, is this layout.

    Raises `ConversionError` naming the dimension and the factor that nested layouts have no counterpart for.

    >>> regroup(Layout.parse("d0 = 4@reg, d1 = 16@lane | replicas 4@lane:16")).thread_strides
    (0, 1)
    """
    return _Regrouping(layout).tiles()


class _Regrouping:
    """The factors of a layout dealt out to the five levels of a nested layout."""

    def __init__(self, layout: Layout) -> None:
        self.source = layout
        self.form = layout.canonical()
        rank = self.form.rank
        factors = machine_factors(layout, "a nested layout")
        self.size = prod([extent for _, extent, _, _ in factors["lane"]])
        # Per dimension (extent, stride, place): of subgroups in subgroups, of threads in the flat thread id.
        self.subgroups, self.threads = [_NONE] * rank, [_NONE] * rank
        for d in range(rank):
            self._take_threads(d)
        self.batch, self.outer, self.element = [1] * rank, [1] * rank, [1] * rank
        self._group_registers(factors["reg"][::-1])
        self._verify()

    # Reading the layout

    def _take_threads(self, d: int) -> None:
        """The subgroup tile and the thread tile of one dimension: at most two runs of factors of the flat thread id.

        A subgroup factor is the subgroup tile if nothing stands before it, else the thread tile; a subgroup factor just
        outside the lane factor that it continues is one thread factor, where the subgroup tile is taken.
        """
        runs: list[tuple[int, int, int, bool]] = []  # extent, stride in the thread id, place, whether registers precede
        place, registers = 1, False
        for factor in reversed(self.form.dims[d]):
            extent, stride, axis = factor
            if axis == "reg":
                registers = True
            else:
                step = stride if axis == "lane" else stride * self.size
                runs.append((extent, step, place, registers))
                registers = False
            place *= extent
        outermost = bool(runs) and self.form.dims[d][0].axis == "sg"
        if outermost:
            extent, step, place, _ = runs.pop()
            self.subgroups[d] = (extent, step // self.size, place)
        if len(runs) == 2:
            (low, step, place, _), (high, above, _, between) = runs
            if not between and above == low * step:
                runs = [(low * high, step, place, False)]
        if len(runs) > 1:
            self._refuse(d, f"{self._shown(runs[0])} is a second thread factor, and a nested layout has one of each")
        if runs:
            extent, step, place, _ = runs[0]
            self.threads[d] = (extent, step, place)

    def _shown(self, run: tuple[int, int, int, bool]) -> Factor:
        extent, step = run[:2]
        return Factor(extent, step, "lane") if step < self.size else Factor(extent, step // self.size, "sg")

    # Registers: batch tiles first, then outer tiles, then elements

    def _group_registers(self, reg: list[MachineFactor]) -> None:
        """Cut the register factors, major to minor, into batch tiles, outer tiles and elements.

        Each group lists dimensions in rising order. What counts outside a thread factor is not an element, what counts inside
        one is nothing else. As much as can be is elements, then batches.
        """
        count = len(reg)
        start, inside = 0, count
        for i, (_, _, place, d) in enumerate(reg):
            extent, _, thread = self.threads[d]
            if extent > 1:
                if place > thread:
                    start = i + 1
                elif i < inside:
                    inside = i
        rising = count
        while rising > 1 and reg[rising - 2][3] < reg[rising - 1][3]:
            rising -= 1
        elements = max(start, rising - 1)
        if elements > inside:
            self._refuse_register(
                reg[inside], "counts inside the threads, and the registers from it on are not row-major elements"
            )
        batches = min(1, elements)
        while batches < elements and reg[batches - 1][3] < reg[batches][3]:
            batches += 1
        for i in range(batches + 1, elements):
            if reg[i - 1][3] >= reg[i][3]:
                self._refuse_register(
                    reg[i],
                    "starts a fourth run of row-major registers, and there are batches, outer tiles and elements",
                )
        for i, (_, extent, _, d) in enumerate(reg):
            level = self.batch if i < batches else self.outer if i < elements else self.element
            level[d] = extent

    def _verify(self) -> None:
        """Multiply the levels out again: they must give the layout's own factors."""
        inner, middle, outer = level_steps(self.element, self.outer, self.batch)
        size = self.size
        for d, factors in enumerate(self.form.dims):
            extent, step, _ = self.threads[d]
            within = 1 if step >= size else min(extent, size // step) if step else 1
            levels = (
                (self.subgroups[d][0], self.subgroups[d][1], "sg"),
                (self.batch[d], outer[d], "reg"),
                (self.outer[d], middle[d], "reg"),
                (extent // within, max(1, step // size), "sg"),
                (within, step, "lane"),
                (self.element[d], inner[d], "reg"),
            )
            found = [factor for factor in levels if factor[0] != 1]
            if tuple(found) != factors:
                factor = next(f for f, level in zip_longest(factors, found) if f != level)
                self._refuse(
                    d, f"{factor or factors[-1]} has no place among subgroup, batch, outer, thread and element tiles"
                )

    def tiles(self) -> NestedTiles:
        return NestedTiles(
            tuple([n for n, _, _ in self.subgroups]),
            tuple(self.batch),
            tuple(self.outer),
            tuple([n for n, _, _ in self.threads]),
            tuple(self.element),
            tuple([s for _, s, _ in self.subgroups]),
            tuple([s for _, s, _ in self.threads]),
        )

    # Refusing

    def _refuse_register(self, factor: MachineFactor, problem: str) -> NoReturn:
        self._refuse(factor[3], f"{Factor(factor[1], factor[0], 'reg')} {problem}")

    def _refuse(self, dim: int | None, problem: str) -> NoReturn:
        refuse(self.source, dim, problem)
