"""What a planner says of a plan, stated once: rows from which both the printed report and the JSON object come.

A row states facts under JSON's keys, and shows them by a template. The template sees the row's own facts, then the whole
object; what begins with `_` is for the template alone. A row without a template is for JSON alone.

>>> report = PlanReport("a plan", [[
...     row("tiles", "{tile:x}, {k_steps:#step}", tile=[16, 32], k_steps=2),
...     row("registers", "{used} of {available} ({_held})", at="registers", used=7, available=8, _held="C in tmm0"),
...     row("time", "{seconds:seconds} for {tile[0]} rows", seconds=2.5e-4),
... ]])
>>> report.as_json()
{'tile': [16, 32], 'k_steps': 2, 'registers': {'used': 7, 'available': 8}, 'seconds': 0.00025}
>>> from rich.console import Console
>>> report.print(Console(width=60))
a plan
<BLANKLINE>
  tiles         16x32, 2 steps
  registers     7 of 8 (C in tmm0)
  time          250 us for 16 rows
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import TYPE_CHECKING, Any

from layoutalg.core.plurals import counted
from layoutalg.core.units import bytes_text, percent_text, seconds_text
from layoutalg.show.tables import print_line, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from layoutalg.gemm import Gemm
    from layoutalg.gemm.amx import AmxGemm
    from layoutalg.gemm.amx.costs import AmxRoofline
    from layoutalg.gemm.launch import Launch
    from layoutalg.gemm.roofline import Roofline

__all__ = ["PlanReport", "PlanRow", "columns", "explained_table", "launch_rows", "row", "runners_up_table"]

_UNITS = {"seconds": seconds_text, "bytes": bytes_text, "percent": percent_text, "number": str}
_ASKED_FOR = "predicted to be the best; the plan was asked for otherwise"


@dataclass(frozen=True)
class PlanRow:
    """Templates of the cells; the path of the object that has the facts; the facts, and what the templates see besides."""

    cells: tuple[str, ...]
    at: str
    values: Mapping[str, Any]

    @property
    def facts(self) -> dict[str, Any]:
        """What JSON has of the values."""
        return {name: value for name, value in self.values.items() if not name.startswith("_")}


def row(*cells: str, at: str = "", **values: Any) -> PlanRow:
    """A row: templates of its cells, and its facts; `at` is their path in JSON: `a.b`, or `a[]` to append to a list.

    A template's fields are those of `str.format`, with more ways to show a value: `x` for sizes (16x32), `#step` for a number
    of steps, and a unit (`seconds`, `bytes`, `percent`), which a mapping has behind each name; `number` is the bare one.

    >>> row("loads", "{loads:number}", loads={"A": 2, "B": 4}).facts
    {'loads': {'A': 2, 'B': 4}}
    """
    return PlanRow(cells, at, values)


def columns(*cells: str) -> PlanRow:
    """A row of texts as they are, such as a table's heading."""
    return row(*(f"{{_cells[{place}]}}" for place in range(len(cells))), _cells=cells)


@dataclass(frozen=True)
class PlanReport:
    """A heading, which JSON does not have, and tables."""

    heading: str
    tables: Sequence[Sequence[PlanRow]]

    def as_json(self) -> dict[str, Any]:
        """The facts of all rows, in one object."""
        made: dict[str, Any] = {}
        for one in (one for table in self.tables for one in table):
            _object_at(made, one.at).update(one.facts)
        return made

    def shown(self) -> list[list[tuple[str, ...]]]:
        """The tables as they are printed: the cells of each row; without tables and rows that are for JSON alone.

        >>> PlanReport("", [[row("tiles", "{tile:x}", tile=[16, 32]), row(steps=2)], []]).shown()
        [[('tiles', '16x32')]]
        """
        facts = self.as_json()
        tables = ([_shown(one, facts) for one in table if one.cells] for table in self.tables)
        return [table for table in tables if table]

    def print(self, console: Console | None = None, *, label: int = 12, margin: str = "  ") -> None:
        """Print the heading and the tables; the first column is at least `label` wide and has a margin on both sides."""
        if console is None:
            from rich.console import Console

            console = Console(markup=False, highlight=False, emoji=False)
        if self.heading:
            print_line(console, self.heading)
        for place, table in enumerate(self.shown()):
            if place or self.heading:
                print_line(console)
            print_table(console, table, label=label, margin=margin)


class _Template(Formatter):
    """`str.format` with units."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "x":
            return "x".join(map(str, value))
        if format_spec.startswith("#"):
            return counted(value, format_spec[1:])
        if (text := _UNITS.get(format_spec)) is None:
            return super().format_field(value, format_spec)
        if isinstance(value, Mapping):
            return ", ".join(f"{name} {text(one)}" for name, one in value.items())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        return text(value)


def _shown(one: PlanRow, facts: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(_Template().vformat(cell, (), {**facts, **one.values}) for cell in one.cells)


def _object_at(made: dict[str, Any], path: str) -> dict[str, Any]:
    """The object at a path, made where there is none."""
    for step in path.split(".") if path else ():
        name = step.removesuffix("[]")
        if name == step:
            made = made.setdefault(name, {})
        else:
            made[name] = [*made.get(name, ()), {}]  # a list of its own: the first is a row's
            made = made[name][-1]
    return made


def launch_rows(launch: Launch) -> Sequence[PlanRow]:
    """The arguments in their order, with what lies behind each pointer.

    >>> rows = launch_rows(la.plan_gemm(64, 64, 64).launch)
    >>> PlanReport("", [rows]).as_json()["launch"]["kernel"]
    'gemm'
    """
    numbers = ", ".join(f"{one.name} {one.value} ({one.kind})" for one in launch.arguments if one.memory is None)
    flags = ", ".join(dict.fromkeys(flag for _, flag in launch.flags if flag)) or "no flag"
    return [
        row(
            "launch",
            "{launch[kernel]}: {launch[global_size]:x} work-items, {launch[workgroup]:x} in a workgroup; for SPIR-V: {_flags}",
            launch=launch.as_json(),
            _flags=flags,
        ),
        *(columns("  then", f"{one}, with the same arguments") for one in launch.then),
        *(columns(one.name, f"pointer: {one.memory}") for one in launch.arguments if one.memory is not None),
        columns("numbers", numbers),
    ]


def explained_table(line: Roofline | AmxRoofline, computed: Sequence[str], *between: PlanRow) -> Sequence[PlanRow]:
    """What `--explain` adds: what the time is made of (parts above 0.05 %), other rows, how C is computed."""
    parts = {name: seconds for name, seconds in line.part_seconds.items() if seconds > line.seconds * 5e-4}
    how = [columns("" if place else "C", text) for place, text in enumerate(computed)]
    return [row("the time", "{_parts:seconds}", _parts=parts), *between, *how]


def runners_up_table(plan: Gemm | AmxGemm, count: int) -> Sequence[PlanRow]:
    """The best tilings that the plan does not have, at most `count`, and why not."""
    found = plan.candidates
    others = [found[0], *found.runners_up(count + 1)] if count else []
    others = [one for one in others if one.tiling != plan.tiling][:count]
    return [
        columns("others", "tiling", "why not") if count else row(),
        row(runners_up=[]),
        *(
            row(
                "{_number}",
                "{tiling}",
                "{reason}",
                at="runners_up[]",
                tiling=str(one.tiling),
                clocks=one.clocks,
                reason=one.reason or _ASKED_FOR,
                _number=number,
            )
            for number, one in enumerate(others, 1)
        ),
    ]
