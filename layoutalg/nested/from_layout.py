"""From a `Layout` back to `#iree_vector_ext.nested_layout`: the five tiles and two lists of strides that mean it.

A nested layout cuts a dimension into subgroup x batch x outer x thread x element tiles, so its digits, major to minor, must
read `subgroups@sg batches@reg outer@reg threads elements@reg` (any of them missing), and registers must count all batch
tiles first (row-major), then all outer tiles, then the elements. Threads are digits of the flat thread id: on lanes, on
subgroups, or from lanes on into subgroups, as here, where 128 threads are two subgroups of 64:

>>> from layoutalg.core.layout import Layout
>>> row = Layout.parse("d0 = 4@reg:4 2@sg 64@lane 4@reg")
>>> attr = to_nested(row)
>>> attr.batch_tile, attr.thread_tile, attr.element_tile, attr.thread_strides
((4,), (128,), (4,), (1,))
>>> attr.layout((2048,), subgroup_size=64, workgroup_size=128) == row
True

The attribute does not say how large a subgroup or a workgroup is: `layout` has to be asked with the sizes that the layout
has, its number of lanes, and of lanes times subgroups. Replicas are then what no tile of the attribute uses.

The law: `to_nested(attr.layout(shape, size, threads))` means the same as `attr` for that size of the subgroup, for every
attribute that has a layout.
"""

from __future__ import annotations

from itertools import zip_longest
from math import prod
from typing import NoReturn

from layoutalg.core.errors import ConversionError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.work_items import MachineFactor, level_steps, machine_factors, refuse
from layoutalg.nested.attributes import NestedLayoutAttr

__all__ = ["to_nested"]

_NONE: tuple[int, int, int] = (1, 0, 0)


def to_nested(layout: Layout, subgroup_size: int | None = None) -> NestedLayoutAttr:
    """The nested layout whose `layout(layout.shape, lanes, lanes * subgroups)` is this layout.

    `subgroup_size`, where given, must be the layout's number of lanes: a smaller layout would be repeated over the rest.
    Names of dimensions are not kept: the attribute has none.

    Raises `ConversionError` naming the dimension and the digit that nested layouts have no counterpart for.

    >>> print(to_nested(Layout.parse("d0 = 4@reg, d1 = 16@lane | replicas 4@lane:16")).thread_strides)
    (0, 1)
    >>> to_nested(Layout.parse("d0 = 2@lane:8 4@reg 8@lane"))
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: dimension d0: 8@lane is a second thread digit, and a nested layout has one of
    each (in d0 = 2@lane:8 4@reg 8@lane)
    """
    return _Regrouping(layout, subgroup_size).attribute()


class _Regrouping:
    """The digits of a layout dealt out to the five levels of a nested layout."""

    def __init__(self, layout: Layout, subgroup_size: int | None) -> None:
        if not isinstance(layout, Layout):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConversionError(f"to_nested of a {type(layout).__name__}: expected a Layout")
        self.source = layout
        self.form = layout.canonical()
        rank = self.form.rank
        digits = machine_factors(layout, "a nested layout")
        self.size = subgroup = prod([extent for _, extent, _, _ in digits["lane"]])
        if subgroup_size is not None and subgroup_size != subgroup:
            self._refuse(
                None,
                f"it has {subgroup} lanes and a subgroup has {subgroup_size!r}: idle lanes would hold copies, and it has "
                "none",
            )
        # Per dimension (extent, stride, place): of subgroups in subgroups, of threads in the flat thread id.
        self.subgroups, self.threads = [_NONE] * rank, [_NONE] * rank
        for d in range(rank):
            self._take_threads(d)
        self.batch, self.outer, self.element = [1] * rank, [1] * rank, [1] * rank
        self._group_registers(digits["reg"][::-1])
        self._verify()

    # Reading the layout

    def _take_threads(self, d: int) -> None:
        """The subgroup tile and the thread tile of one dimension: at most two runs of digits of the flat thread id.

        A subgroup digit is the subgroup tile if nothing stands before it, else the thread tile; a subgroup digit just
        outside the lane digit that it continues is one thread digit, where the subgroup tile is taken.
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
            self._refuse(d, f"{self._shown(runs[0])} is a second thread digit, and a nested layout has one of each")
        if runs:
            extent, step, place, _ = runs[0]
            self.threads[d] = (extent, step, place)

    def _shown(self, run: tuple[int, int, int, bool]) -> Factor:
        extent, step = run[:2]
        return Factor(extent, step, "lane") if step < self.size else Factor(extent, step // self.size, "sg")

    # Registers: batch tiles first, then outer tiles, then elements

    def _group_registers(self, reg: list[MachineFactor]) -> None:
        """Cut the register digits, major to minor, into batch tiles, outer tiles and elements.

        Each group lists dimensions in rising order. What counts outside a thread digit is no element, what counts inside
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
                reg[inside], "counts inside the threads, and the registers from it on are no row-major elements"
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
        """Multiply the levels out again: they must give the layout's own digits."""
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
            found = [digit for digit in levels if digit[0] != 1]
            if tuple(found) != factors:
                digit = next(f for f, level in zip_longest(factors, found) if f != level)
                self._refuse(
                    d, f"{digit or factors[-1]} has no place among subgroup, batch, outer, thread and element tiles"
                )

    def attribute(self) -> NestedLayoutAttr:
        return NestedLayoutAttr(
            tuple([n for n, _, _ in self.subgroups]),
            tuple(self.batch),
            tuple(self.outer),
            tuple([n for n, _, _ in self.threads]),
            tuple(self.element),
            tuple([s for _, s, _ in self.subgroups]),
            tuple([s for _, s, _ in self.threads]),
        )

    # Refusing

    def _refuse_register(self, digit: MachineFactor, problem: str) -> NoReturn:
        self._refuse(digit[3], f"{Factor(digit[1], digit[0], 'reg')} {problem}")

    def _refuse(self, dim: int | None, problem: str) -> NoReturn:
        refuse(self.source, dim, problem)
