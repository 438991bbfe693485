"""The example that a picture explains itself by: one lane, outlined, and a cell of it in words.

>>> from layoutalg.core.notation import Operand
>>> from layoutalg.viz.grid import tensor_grid
>>> tile = tensor_grid(Operand("C", Layout.parse("d0 = 4@reg, d1 = 8@lane")))
>>> one = outlined_lane([tile])
>>> one.cells, one.read([tile])
([[1, 9, 17, 25]], '1:3 is register 3 of lane 1')
>>> one.told([tile])
'outlined: what lane 1 holds: registers 0 to 3 are elements (0, 1), (1, 1), (2, 1), (3, 1)'

Of memory it is a column that lanes read at once (`viz.banks`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from layoutalg.core.plurals import counted, spoken
from layoutalg.viz.colouring import WORDS_OF_K, scheme
from layoutalg.viz.grid import Grid
from layoutalg.viz.tooltips import elements_of, holders

__all__ = ["Example", "outlined_lane", "words_that_meet"]

_PAIR = re.compile(r"\d+,\d+")
_TOLD = 4
"""So many elements of the lane are written out."""


@dataclass(frozen=True, slots=True)
class Example:
    """One lane of a subgroup (None: there is one subgroup), and its drawn cells in every grid, row by row.

    A grid of memory has none.
    """

    subgroup: int | None
    lane: int
    cells: list[list[int]]

    def read(self, grids: Sequence[Grid]) -> str:
        """How the label of a cell of the lane is read: of the last one of the first grid, whose numbers differ most."""
        grid, cells = next((grid, cells) for grid, cells in zip(grids, self.cells, strict=True) if cells)
        lanes = [*grid.owner["lane"].cells]
        at = next((cell for cell in reversed(cells) if lanes[cell] == self.lane), None)
        if at is None:
            return ""
        label = grid.labels()[at // grid.shape[1]][at % grid.shape[1]]
        parts = re.split("[/:]", label)
        names = [*grid.label_names] if len(parts) == len(grid.label_names) else ["sg", *grid.label_names]
        words = [
            f"{spoken(name)}{'' if part.isdigit() else 's'} {' and '.join(part.split(',')) if _PAIR.fullmatch(part) else part}"
            for name, part in zip(names, parts, strict=True)
        ]
        return f"{label} is {' of '.join(reversed(words))}" if len(words) > 1 else ""

    def told(self, grids: Sequence[Grid]) -> str:
        """Which elements the lane has in its first registers; of several grids, how many of each."""
        of_group = "" if self.subgroup is None else f" of subgroup {self.subgroup}"
        what = f"outlined: what lane {self.lane}{of_group} holds"
        grid = grids[0]
        if len(grids) > 1:
            parts = [one for one, cells in zip(grids, self.cells, strict=True) if cells and one.role in ("A", "B", "C")]
            held = [(one.layout.axes.get("reg", 1), one.role) for one in parts]
            told = [
                f"{count} of {role}" if i else f"{counted(count, 'element')} of {role}"
                for i, (count, role) in enumerate(held)
            ]
            return f"{what}: {', '.join(told)}"
        elements, lanes = elements_of(grid), [*grid.owner["lane"].cells]
        registers = [*grid.owner["reg"].cells] if "reg" in grid.owner else []
        # Of elements that share a register the lowest.
        lowest = {
            registers[cell]: elements[cell]
            for cell in reversed(self.cells[0])
            if registers and lanes[cell] == self.lane
        }
        held = sorted(lowest.items())
        if not held:
            return what
        places = [f"({', '.join(map(str, element))})" for _, element in held[:_TOLD]]
        first, each = held[0][0], f", the first of {grid.held} each" * (grid.held > 1)
        run = next((n for n, (at, _) in enumerate(held[: len(places)]) if at != first + n), len(places))
        if run > 1:
            more = each + ", and so on" * (grid.span("reg") > run)
            joint = "and" if run == 2 else "to"
            return f"{what}: registers {first} {joint} {first + run - 1} are elements {', '.join(places[:run])}{more}"
        more = each + ", and so on" * (grid.span("reg") > len(places))
        (register, _), *others = held[: len(places)]
        told = [f"register {register} is element {places[0]}"]
        told += [f"register {at} is {place}" for (at, _), place in zip(others, places[1:], strict=True)]
        return f"{what}: {', '.join(told)}{more}"


def outlined_lane(grids: Sequence[Grid]) -> Example | None:
    """Lane 1 if every grid of lanes draws it, else the first lane that all draw; None without such a lane."""
    by_lane = [grid for grid in grids if "lane" in grid.axes]
    if not by_lane or not all(grid.tensor for grid in grids):
        return None
    held = [holders(grid)[1] if "lane" in grid.axes else None for grid in grids]
    first, *others = [set(one) for one in held if one is not None]
    common = sorted(first.intersection(*others))
    if len({lane for *_, lane in common}) < 2:
        return None
    chosen = common[1] if common[1][:-1] == common[0][:-1] else common[0]
    lane = chosen[-1]
    group = chosen[0] if len(chosen) > 1 and any(grid.span("sg") > 1 for grid in by_lane) else None
    return Example(group, lane, [sorted(cells[chosen]) if cells else [] for cells in held])


def words_that_meet(grids: Sequence[Grid]) -> tuple[list[list[int]], str, str]:
    """The drawn cells of a word of A, of the word of B that it is multiplied with, and of their sum in C; what they are; and
    how the last one is read.

    The first word of k that both draw, of the second row of C and its second column.
    """
    of_a, of_b, of_c = grids[:3]
    row, column = (min(1, n - 1) for n in of_c.shape)
    words: list[Sequence[int]] = []
    for grid in (of_a, of_b):
        planes, number, *_ = scheme(grid, WORDS_OF_K)
        words.append([number(at) for at in planes[0].cells])
    across, down, wide = of_a.shape[1], of_b.shape[0], of_b.shape[1]
    in_a = [i for i in range(row * across, (row + 1) * across) if words[0][i] == words[0][row * across]]
    in_b = [i for i in range(column, down * wide, wide) if words[1][i] == words[0][in_a[0]]]
    told = "two words that are multiplied, element by element, and the word of C to which the products are added"
    label = of_c.labels()[row][column]
    read = f"{label} is row {label.split(':')[-2]} from byte {label.split(':')[-1]}"
    return [in_a, in_b, [row * of_c.shape[1] + column]], told, read
