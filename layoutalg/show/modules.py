"""What the layouts of a whole module mean: the answer of `layoutalg show FILE`, as text and as data.

>>> module = la.read('''func.func @f(%x: vector<16x16xf32>) {
...   %y = xegpu.convert_layout %x <{input_layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>,
...     target_layout = #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>}> : vector<16x16xf32>
...   func.return }''')
>>> found = describe_module(module)
>>> [row.meaning for row in found.rows]
['16 lanes, 16x1 each', '16 lanes, 1x16 each']
>>> found.conversions[0].words
'element (0, 1) is in lane 1, register 0 in the first and in lane 0, register 1 in the second'
>>> print(found.conversions[0].cost)
0 shuffles, 1,504 bytes of shared memory, 1 barrier, 128 issue slots on pvc; 16 lanes in a subgroup; a lane holds 16x1
before and 1x16 after

Many operations have the same layout of the same shape: each such pair is described once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from math import prod
from typing import TYPE_CHECKING, Any

from layoutalg.core.errors import LayoutError
from layoutalg.core.layout import MACHINE, Layout
from layoutalg.core.limits import LONGEST_ATTRIBUTE, MOST_PRINTED
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.messages import printable, shortened
from layoutalg.core.notation import Machine, as_machine
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import as_whole, instance_of, listed
from layoutalg.hardware import target_info
from layoutalg.show.accesses import AccessRow, accesses_of
from layoutalg.show.conversion_rows import ConversionRow, conversion_rows
from layoutalg.show.findings import words
from layoutalg.show.fragments import fragment_places, whole_of
from layoutalg.show.holders import as_holder, box_text, held_by, holder_text, places_text, points_text

if TYPE_CHECKING:
    from rich.console import Console

    from layoutalg.module import LayoutUse, Module

__all__ = ["ConversionRow", "LayoutRow", "ModuleDescription", "describe_module", "place_facts"]


@dataclass(frozen=True, slots=True)
class LayoutRow:
    """One layout of a module: what it means in a phrase, whether LLVM refuses it, and the answer to what was asked."""

    use: LayoutUse
    meaning: str
    refused: bool = False
    answer: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def tensor(self) -> str:
        """Shape and element type, as types are written."""
        shape = "?" if self.use.shape is None else "x".join(map(str, self.use.shape))
        return "x".join(part for part in (shape, self.use.element) if part)

    @property
    def text(self) -> str:
        """The layout's text, shortened.

        >>> from layoutalg.module import LayoutUse
        >>> LayoutRow(LayoutUse(None, "", "", "", None, None, None, "#xegpu.layout<lane_layout = [1, 16]>"), "").text
        'layout<lane_layout=[1,16]>'
        """
        dense = re.sub(r"(\d), (?=[-\d])", r"\1,", self.use.text.removeprefix("#xegpu.").replace(" = ", "="))
        return printable(shortened(dense, LONGEST_ATTRIBUTE))


@dataclass(frozen=True, slots=True)
class ModuleDescription:
    """The layouts and conversions of a module, with what could not be read.

    >>> describe_module(la.read("gpu.barrier")).facts["layouts"]
    []
    """

    module: Module
    rows: tuple[LayoutRow, ...]
    conversions: tuple[ConversionRow, ...]
    question: str = ""
    unanswered: str = ""
    """What is said where no layout answers the question."""
    accesses: tuple[AccessRow, ...] = ()
    """The loads and stores of a Triton module."""

    @property
    def refused(self) -> bool:
        """Whether LLVM refuses one of the layouts.

        >>> describe_module(la.read("gpu.barrier")).refused
        False
        """
        return any(row.refused for row in self.rows)

    @property
    def facts(self) -> dict[str, Any]:
        """Everything as data, for JSON.

        >>> list(describe_module(la.read("gpu.barrier")).facts)
        ['file', 'layouts', 'conversions', 'findings']
        """
        return {
            "file": self.module.file,
            "layouts": [place_facts(row.use) | dict(row.facts) for row in self.rows],
            "conversions": [place_facts(row.conversion.source) | dict(row.facts) for row in self.conversions],
            **({"accesses": [_access_facts(row) for row in self.accesses]} if self.accesses else {}),
            "findings": [str(finding) for finding in self.module.findings],
        }

    def print(self, console: Console) -> None:
        """Print a table as wide as the console.

        >>> import io
        >>> from rich.console import Console
        >>> text = io.StringIO()
        >>> describe_module(la.read("gpu.barrier")).print(Console(file=text, width=80))
        >>> text.getvalue()
        'text: 0 layouts\\n'
        """
        from rich.console import Console as RichConsole

        instance_of(console, RichConsole, "console")
        from rich.padding import Padding
        from rich.text import Text

        console.print(f"{self.module.file}: {self._summary()}", soft_wrap=True)
        rows = [row for row in self.rows if row.answer] if self.question else self.rows
        labels = _labels(self.rows, self.module.aliases)
        shown = {row.use.text: row.text for row in rows}
        for text, short in shown.items():
            console.print(Padding(Text(f"{labels[text]} = {short}", style="dim"), (0, 0, 0, 4), expand=False))
        if self.question:
            console.print(f"\n{self.question}" if rows else f"{self.question}: {self.unanswered}", soft_wrap=True)
        elif rows:
            console.print()
        _print_rows(rows, labels, [(part.line, part.title) for part in self.module.parts if part.title], console)
        if self.conversions and not self.question:
            console.print("\nconversions")
        for row in () if self.question else self.conversions:
            _print_conversion(row, labels, console)
        if self.accesses and not self.question:
            console.print("\nloads and stores")
            for access in self.accesses:
                console.print(
                    f"{access.line or '':>6}  {access.operation}  {access.tensor}  {access.words}", soft_wrap=True
                )
        if self.module.findings and not self.question:
            console.print("\nnot read as it stands")
            for finding in self.module.findings[:MOST_PRINTED]:
                where = f"{finding.place.line:>6}" if finding.place is not None else " " * 6
                console.print(f"{where}  {printable(shortened(words(finding)))}", soft_wrap=True)
            if len(self.module.findings) > MOST_PRINTED:
                console.print(f"        and {len(self.module.findings) - MOST_PRINTED:,} more (see `layoutalg verify`)")

    def _summary(self) -> str:
        parts = [counted(len(self.rows), "layout")]
        if len(self.module.parts) > 1:
            parts.insert(0, counted(len(self.module.parts), "module"))
        if self.conversions:
            parts.append(counted(len(self.conversions), "conversion"))
        refused = sum(row.refused for row in self.rows)
        if refused:
            parts.append(f"{refused} refused")
        if self.module.findings:
            parts.append(counted(len(self.module.findings), "remark") + " on the text")
        return ", ".join(parts)


def describe_module(
    module: Module,
    machine: Machine | None = None,
    *,
    llvm: int = DEFAULT_LLVM,
    at: Sequence[int] | None = None,
    holder: Mapping[str, int] | None = None,
    target: str | None = None,
) -> ModuleDescription:
    """Describe the layouts of a module, each for the shape of its value.

    `at` asks each layout whose shape has that element who holds it, `holder` (`{"sg": 3, "lane": 5}`) what a work-item holds.
    `llvm` is the version whose verdict is given, `target` the chip for prices (what the module says, or pvc).

    >>> text = "%p = arith.constant 0 : i64 %t = xegpu.create_nd_tdesc %p, shape: [8,16], strides: [16,1] : i64 -> "
    >>> text += "!xegpu.tensor_desc<8x16xf16, #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>>"
    >>> describe_module(la.read(text), at=(3, 5)).rows[0].answer
    'lane 5, register 3'
    >>> describe_module(la.read(text), holder={"lane": 5}).rows[0].answer
    'd0 0-7; d1 5'
    """
    from layoutalg.module import Module as ReadModule
    from layoutalg.module.chip import meant_chip

    instance_of(module, ReadModule, "module")
    holder = as_holder(holder)
    at = None if at is None else [as_whole(number, "element") for number in listed(at, "element")]
    on = as_machine(machine)
    chip = target_info(meant_chip(module, target)).name
    known: dict[tuple[Any, ...], LayoutRow] = {}
    fragments = fragment_places(module)
    rows: list[LayoutRow] = []
    for use in module.layouts:
        whole = whole_of(use, fragments)
        key = (use.text, use.shape, use.element, whole)
        row = known.get(key)
        if row is None:
            row = known[key] = _row(use if whole is None else replace(use, shape=whole), on, llvm, at, holder)
            if whole is not None:
                tensor = "x".join(map(str, whole))
                row = known[key] = replace(row, meaning=f"left by a pass: of {tensor}, {row.meaning}")
        rows.append(LayoutRow(use, row.meaning, row.refused, row.answer, row.facts))
    question = unanswered = ""
    if at is not None:
        question = f"who holds {points_text([at])}"
        shapes = ["x".join(map(str, row.use.shape)) for row in rows if row.use.shape is not None]
        unanswered = f"no layout has this element; their shapes are {_listed(shapes)}"
    elif holder:
        axes: list[Mapping[str, int]] = [row.facts.get("axes", {}) for row in rows]
        first = "lane" in holder and "sg" not in holder and any(sizes.get("sg", 1) > 1 for sizes in axes)
        question = f"what {holder_text({'sg': 0, **holder} if first else holder)} holds"
        sizes = [f"{one.get('sg', 1)} sg x {counted(one.get('lane', 1), 'lane')}" for one in axes if one]
        unanswered = f"no layout has this work-item; they have {_listed(sizes)}"
    return ModuleDescription(
        module,
        tuple(rows),
        tuple(conversion_rows(module, on, chip)),
        question,
        unanswered,
        tuple(accesses_of(module, chip)),
    )


def _listed(texts: Iterable[str]) -> str:
    return shortened(", ".join(dict.fromkeys(texts)), LONGEST_ATTRIBUTE) or "not known"


def _row(
    use: LayoutUse,
    machine: Machine,
    llvm: int,
    at: Sequence[int] | None,
    holder: Mapping[str, int] | None,
) -> LayoutRow:
    facts: dict[str, Any] = {}
    refused, verdict = _verdict(use, machine, llvm, facts)
    try:
        layout = use.layout(machine)
    except LayoutError as error:
        facts["reason"] = str(error)
        return LayoutRow(use, verdict or shortened(str(error), LONGEST_ATTRIBUTE), refused, "", facts)
    facts["layout"] = str(layout)
    facts["axes"] = dict(layout.axes)
    meaning = _meaning(layout)
    if verdict:
        meaning = f"{verdict}; {meaning}"
    answer = ""
    if at is not None:
        answer = _owners(layout, at, facts)
    elif holder:
        answer = _held(layout, holder, facts)
    return LayoutRow(use, meaning, refused, answer, facts)


def _verdict(use: LayoutUse, machine: Machine, llvm: int, facts: dict[str, Any]) -> tuple[bool, str]:
    """Whether a compiler refuses the layout for this shape, its words and why."""
    if use.attribute is None or (use.shape is None and use.attribute.needs_shape):
        return False, ""
    try:
        notes = use.attribute.report(use.sizes, machine, element=use.element or "f32", llvm=llvm)
    except LayoutError:
        return False, ""  # what is wrong with it is said where its layout is asked for
    verdicts = [note for note in notes if note.refused is not None]
    facts |= {note.key: note.value for note in verdicts}
    refusing = [note for note in verdicts if note.refused]
    if not refusing:
        return False, ""
    first, *why = refusing
    return True, " ".join([f"{first.label} {first.text}", *(f"({note.text})" for note in why)])


def _meaning(layout: Layout) -> str:
    """Who holds what, in a phrase."""
    axes: dict[str, Any] = layout.axes
    parts: list[str] = []
    machine = [f"{axes['sg']} sg"] if axes.get("sg", 1) != 1 else []
    machine += [counted(axes["lane"], "lane")] if axes.get("lane", 1) != 1 else []
    others = [axis for axis in axes if axis not in MACHINE]
    if others == ["addr"]:
        parts.append(f"memory of {axes['addr']} elements: {layout}")
    elif others:
        parts.append(", ".join(f"{axis} {axes[axis]}" for axis in others))
    else:
        parts.append(" x ".join(machine) or "one work-item")
        parts.append(f"{'x'.join(map(str, layout.fragment_shape)) or '1'} each")
    copies = prod(factor.extent for factor in layout.canonical().replicas)  # type: ignore[misc]
    if copies != 1:
        parts.append(f"{copies} copies")
    return ", ".join(parts)


def _owners(layout: Layout, at: Sequence[int], facts: dict[str, Any]) -> str:
    inside = len(at) == layout.rank and all(
        type(size) is int and 0 <= x < size for x, size in zip(at, layout.shape, strict=True)
    )
    if not inside:
        return ""
    try:
        owners = layout.owners(tuple(at))
    except LayoutError as error:
        return str(error)
    listed = [dict(zip(layout.codomain, owner, strict=True)) for owner in owners[:MOST_PRINTED]]
    facts["owners"] = listed
    there = [{axis: n for axis, n in one.items() if layout.axes.get(axis, 1) != 1 or axis == "reg"} for one in listed]
    return places_text(there) + (f" and {len(owners) - MOST_PRINTED:,} more" if len(owners) > MOST_PRINTED else "")


def _held(layout: Layout, holder: Mapping[str, int], facts: dict[str, Any]) -> str:
    try:
        held = held_by(layout, {axis: n for axis, n in holder.items() if axis in layout.axes})
    except LayoutError:
        return ""
    facts["holds"] = held.elements
    if held.more:
        facts["holds_more"] = held.more
    if held.more:
        return points_text(held.elements[:8]) + f" and {len(held.elements) + held.more - 8:,} more"
    return box_text(layout.names, held.elements)


def _access_facts(row: AccessRow) -> dict[str, Any]:
    return {"line": row.line, "operation": row.operation, "tensor": row.tensor, "text": row.words} | dict(row.facts)


def place_facts(use: LayoutUse) -> dict[str, Any]:
    """Where a layout stands and what it is about, for JSON."""
    return {
        "line": use.place.line if use.place is not None else None,
        "column": use.place.column if use.place is not None else None,
        "operation": use.operation,
        "name": use.name,
        "operand": use.operand,
        "shape": None if use.shape is None else list(use.shape),
        "element": use.element,
        "text": use.text,
    } | ({"problem": use.problem} if use.problem else {})


def _heading(use: LayoutUse) -> str:
    line = "" if use.place is None else str(use.place.line)
    return f"{line:>6}  {_operation(use)}"


def _operation(use: LayoutUse) -> str:
    return " = ".join(filter(None, (use.name, use.operation))) or "text that is not read"


def _labels(rows: Sequence[LayoutRow], aliases: Mapping[str, str]) -> dict[str, str]:
    """What each layout is called in the table: the alias that the module has for it, or a number."""
    texts = dict.fromkeys(row.use.text for row in rows)
    return {text: aliases.get(text, f"#{number}") for number, text in enumerate(texts, 1)}


def _print_rows(
    rows: Sequence[LayoutRow], labels: Mapping[str, str], titles: list[tuple[int, str]], console: Console
) -> None:
    """A line per layout: operation, operand, tensor, the layout's label, who holds what; narrow: below the operation."""
    from rich.table import Table
    from rich.text import Text

    def widest(texts: Iterable[str], most: int) -> int:
        return min(max(map(len, texts), default=0), most)

    widths = [
        widest((_operation(row.use) for row in rows), 36),
        widest((row.use.operand for row in rows), 24),
        widest((row.tensor for row in rows), 20),
        widest(labels.values(), 28),
        widest((row.answer or row.meaning for row in rows), 44),
    ]
    wide = 8 + sum(widths) + 2 * len(widths) <= console.width
    for _, group in groupby(rows, key=lambda row: (row.use.place, row.use.operation, row.use.name)):
        members = list(group)
        use = members[0].use
        while titles and use.place is not None and use.place.line >= titles[0][0]:
            console.print(Text(printable(titles.pop(0)[1]), style="bold cyan"), soft_wrap=True)
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(width=6, justify="right")
        for width in (widths if wide else widths[1:])[:-1]:
            table.add_column(width=width, overflow="fold")
        table.add_column(overflow="fold")
        if not wide:
            console.print(Text(_heading(use), style="bold"), soft_wrap=True)
        for row in members:
            first = row is members[0]
            cells = [row.use.operand, row.tensor, labels[row.use.text]]
            if wide:
                line = "" if use.place is None or not first else str(use.place.line)
                cells = [line, _operation(use) if first else "", *cells]
            else:
                cells = ["", *cells]
            style = "red" if row.refused else ""
            table.add_row(*map(Text, cells), Text(row.answer or row.meaning, style=style))
        console.print(table)


def _print_conversion(row: ConversionRow, labels: Mapping[str, str], console: Console) -> None:
    from rich.padding import Padding
    from rich.text import Text

    one = row.conversion
    pair = " to ".join(labels.get(use.text, use.text) for use in (one.source, one.target))
    pair += "" if row.facts.get("stated", True) else " (the source follows from its operand)"
    console.print(
        Text(f"{_heading(one.source)}  {LayoutRow(one.source, '').tensor}, {pair}", style="bold"), soft_wrap=True
    )
    for line in filter(None, (row.words, row.cost, row.triton)):
        console.print(Padding(Text(line), (0, 0, 0, 8), expand=False))
