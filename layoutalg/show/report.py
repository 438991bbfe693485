"""What a value means for a tensor: the answer of `layoutalg show`, as text and as data.

Every notation is described by the contract alone: its operands give layouts, and `report` adds what only the notation knows,
such as a compiler's verdict.

>>> found = describe("#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>", (8, 16), element="f16")
>>> found.facts["fragment_type"], found.facts["index"]
('vector<8xf16>', {'d0': 'reg', 'd1': 'lane'})
>>> found.lines()[2]
('LLVM 24', 'accepts')

A matrix product has a description per operand:

>>> found = describe("#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>")
>>> found.facts["product"], [name for name, _ in found.operands]
('16x16x16, f16 x f16 + f32', ['Lhs  MxK  16x16xf16', 'Rhs  KxN  16x16xf16', 'Acc  MxN  16x16xf32'])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from layoutalg.core.errors import ConversionError, DistributionError, LayoutError
from layoutalg.core.factors import XorFactor
from layoutalg.core.index_terms import index_texts
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MOST_PRINTED
from layoutalg.core.limits import MOST_REPORTED as _MOST_LISTED
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.notation import Distributed, Machine, Note, Operand, as_machine, as_sizes
from layoutalg.core.notebook import NotebookAnswer
from layoutalg.core.shared_places import shared_place
from layoutalg.core.whole_numbers import as_flag, as_whole, instance_of, listed
from layoutalg.notations import value_of
from layoutalg.show.holders import as_holder, held_by, holder_text, points_text
from layoutalg.show.terminal import owner_grid, render

if TYPE_CHECKING:
    from rich.console import Console

    from layoutalg.viz.picture import Picture


__all__ = ["Description", "describe", "smallest_shape"]

Row = tuple[str, str]


@dataclass(frozen=True, slots=True, repr=False)
class Description(NotebookAnswer):
    """A value with a shape: its layout (None where it has none), what to print, and everything as data for JSON.

    `refused` says that a compiler refuses the value for this shape.

    >>> describe("d0 = 4@lane").layout
    Layout.parse('d0 = 4@lane')
    """

    layout: Layout | None
    facts: dict[str, Any]
    rows: tuple[Row, ...]
    operands: tuple[tuple[str, Description], ...] = ()
    """For a matrix product: each operand's own description."""
    refused: bool = False

    def __str__(self) -> str:
        told = [f"{name:12} {text}".rstrip() for name, text in self.lines()]
        return "\n".join([*told, *(f"\n{name}\n{part}" for name, part in self.operands)])

    def picture(self) -> Picture:
        """The picture of its layout.

        Raises `LayoutError` where it has none.

        >>> describe("d0 = 4@lane").picture().title
        'd0 = 4@lane'
        """
        if self.layout is None:
            raise LayoutError(f"{self.facts.get('input', 'a value')}: without a layout there is no picture")
        return self.layout.picture()

    def lines(self) -> list[Row]:
        """The facts as lines of a name and a text, in reading order.

        >>> describe("d0 = 8@lane | replicas 2@lane:8").lines()[-2]
        ('fragment', '1')
        """
        return list(self.rows)

    def print(self, console: Console) -> None:
        """Print the lines, and the grid of owners as wide as the console.

        >>> import io
        >>> from rich.console import Console
        >>> text = io.StringIO()
        >>> describe("d0 = 4@lane").print(Console(file=text, width=60))
        >>> text.getvalue().splitlines()[2]
        'layout    d0 = 4@lane'
        """
        from rich.console import Console

        instance_of(console, Console, "console")
        before = ""
        for name, text in self.lines():
            console.print(f"{'' if name == before else name:9} {text}", soft_wrap=True)
            before = name
        for name, part in self.operands:
            console.print(f"\n{name}", soft_wrap=True)
            part.print(console)
        if self.layout is None or _has_symbols(self.layout):
            return
        try:
            grid = owner_grid(self.layout, width=console.width)
        except LayoutError as error:
            console.print(f"{'owners':10}{error}", soft_wrap=True)
            return
        console.print(f"{'owners':10}{grid.caption}", soft_wrap=True)
        if grid.signs:
            console.print(f"{'':10}{grid.signs}", soft_wrap=True)
        console.print(render(grid))


def describe(
    value: Distributed | str,
    shape: Sequence[int] | None = None,
    machine: Machine | None = None,
    *,
    element: str = "f32",
    holder: dict[str, int] | None = None,
    at: Sequence[int] | None = None,
    blocks: bool = False,
    llvm: int = DEFAULT_LLVM,
) -> Description:
    """Describe a value of any notation, or its text, for a tensor of `shape` on a `machine`.

    `holder` names a work-item (`{"sg": 3, "lane": 5}`) whose coordinates are listed, `at` an element whose owners are;
    `blocks` asks for the block origins of each id, `llvm` for another version's verdict, where the notation has them.

    A value that its own report explains is described even without an exact layout: a pair that LLVM accepts by its blocks,
    a nested layout by the elements that nobody holds.

    Raises `DistributionError` for a value that distributes nothing, for a shape that is missing or differs, and where there
    is neither a layout nor such a report; `LayoutError` for a work-item or an element that does not exist.

    >>> describe("d0 = 2@reg, d1 = 16@lane", holder={"lane": 5}).facts["holds"]
    [[0, 5], [1, 5]]
    >>> describe("d0 = 2@reg, d1 = 16@lane", at=(1, 5)).facts["owners"]
    [{'sg': 0, 'lane': 5, 'reg': 1}]
    """
    found = value_of(value)
    blocks = as_flag(blocks, "blocks")
    holder = as_holder(holder)
    at = None if at is None else [as_whole(number, "element") for number in listed(at, "element")]
    sizes: Any = None if shape is None else as_sizes(shape)
    on = as_machine(machine)
    if sizes is None and found.needs_shape:
        fits = smallest_shape(found, on)
        wanted = "a shape" if len(found.operands(None, on)) == 1 else "the sizes m, n, k"
        raise DistributionError(f"{found} needs {wanted}, such as {_by(fits)}")
    notes = found.report(sizes, on, element=element, llvm=llvm, blocks=blocks)
    if blocks and not any(note.key == "blocks" for note in notes):
        raise DistributionError(f"{found} has no blocks: expected a layout or a slice of XeGPU")
    refused = any(note.refused for note in notes)
    facts: dict[str, Any] = {"input": str(found)}
    rows: list[Row] = [("input", str(found))]
    try:
        operands = found.operands(sizes, on)
    except DistributionError as error:
        if not any(note.instead for note in notes):
            why = next((note.text for note in notes if note.refused and note.label == "why"), "")
            raise DistributionError(f"{why} (layout {found})" if why else str(error)) from None
        return _without_layout(found, sizes, on, notes, holder, str(error), facts, rows, refused)
    if len(operands) == 1:
        layout = _note_operand(operands[0], notes, holder, at, facts, rows)
        return Description(layout, facts, tuple(rows), refused=refused)
    if at is not None:
        raise ConversionError(
            f"element {tuple(at)}: {found.heading()} has {len(operands)} operands; expected one layout"
        )
    _add(notes, facts, rows)
    parts: list[tuple[str, Description]] = []
    asked = [operand for operand in operands if not holder.keys().isdisjoint(operand.layout.codomain)] or operands
    for operand in operands:  # a place in tensor memory is no work-item's: the registers beside it are
        part: dict[str, Any] = {}
        lines: list[Row] = []
        layout = _note_operand(operand, (), holder if operand in asked else {}, None, part, lines)
        parts.append((dict(operand.notes).get("title", operand.name), Description(layout, part, tuple(lines))))
    facts["operands"] = {name.split()[0]: part.facts for name, part in parts}
    return Description(None, facts, tuple(rows), tuple(parts), refused)


def smallest_shape(value: Distributed, machine: Machine | None = None) -> tuple[Any, ...]:
    """The smallest shape that the operands of one whole unit fit; of a matrix product m, n, k.

    >>> smallest_shape(la.parse("#xegpu.layout<lane_layout = [1, 16], lane_data = [2, 1]>"))
    (2, 16)
    """
    shapes = [operand.layout.shape for operand in value.operands(None, machine)]
    return shapes[0] if len(shapes) == 1 else (*shapes[2], shapes[0][1])


def _note_operand(
    operand: Operand,
    notes: Sequence[Note],
    holder: dict[str, int],
    at: Sequence[int] | None,
    facts: dict[str, Any],
    rows: list[Row],
) -> Layout:
    """Describe one layout in `facts` and `rows`: verdicts first, what else the notation says behind the fragment."""
    layout = operand.layout
    facts["shape"] = [_plain(n) for n in layout.shape]
    rows.append(("shape", _by(layout.shape)))
    _add([note for note in notes if note.refused is not None], facts, rows)
    for label, text in operand.notes:
        if label != "title":
            facts[label] = text
            rows.append((label, text))
    facts["layout"] = str(layout)
    rows.append(("layout", str(layout)))
    rest = [note for note in notes if note.refused is None]
    lists = [note for note in rest if note.key == "blocks" or note.label.startswith("block ")]
    views = [note for note in rest if note.instead and note not in lists]
    _add(views, facts, rows)
    slots = _slots(operand, layout)
    facts["axes"] = {axis: _plain(n) for axis, n in slots.axes.items()}
    rows.append(("axes", ", ".join(f"{axis} {n}" for axis, n in facts["axes"].items()) or "none"))
    facts["replicas"] = [str(f) for f in layout.canonical().replicas]
    rows += [
        ("replicas", f"{f}: each element lives in two places, which differ there")
        if isinstance(f, XorFactor)
        else ("replicas", f"{f}: each element lives in {f.extent} places of {f.axis}, {f.stride} apart")
        for f in layout.canonical().replicas
    ]
    rows += [("needs", str(condition)) for condition in layout.conditions]
    shared = shared_place(layout)
    if shared is not None:
        facts["shared_place"] = {
            "elements": [*map(list, shared.elements)],
            "place": None if shared.place is None else dict(zip(shared.axes, shared.place, strict=True)),
        }
        rows.append(("warning", f"two elements in one place: {shared}"))
    if "reg" in layout.codomain and layout.flips is None:
        facts["fragment_shape"] = [_plain(n) for n in layout.fragment_shape]
        rows.append(("fragment", _by(facts["fragment_shape"])))
    _add([note for note in rest if note not in lists and note not in views], facts, rows)
    _note_index(slots, facts, rows)
    if holder:
        _note_held(layout, holder, facts, rows)
    if at is not None:
        owners = _note_owners(layout, at, facts, rows)
        if not holder:
            _note_held_beside(layout, owners, facts, rows)
    _add(lists, facts, rows)
    return layout


def _add(notes: Sequence[Note], facts: dict[str, Any], rows: list[Row]) -> None:
    facts |= {note.key: note.value for note in notes if note.key}
    rows += [(note.label, note.text) for note in notes if note.label]


def _slots(operand: Operand, layout: Layout) -> Layout:
    """The layout itself, or the finer one that has an inverse."""
    if operand.slots is None:
        return layout
    try:
        layout.inverse()
    except LayoutError:
        return operand.slots
    return layout


def _note_index(slots: Layout, facts: dict[str, Any], rows: list[Row]) -> None:
    try:
        facts["index"] = _index_texts(slots)
    except LayoutError as error:
        facts["index_error"] = str(error)
        rows.append(("index", str(error)))
    else:
        rows += [("index", f"{name} = {text}") for name, text in facts["index"].items()]


def _index_texts(layout: Layout) -> dict[str, str]:
    """The index expression of each dimension; a factor that no axis tells apart is any of its values."""
    slots = layout.inverse()
    texts = index_texts(slots)
    if texts is None:
        from layoutalg.core.expressions import expression_text

        texts = {name: expression_text(e) for name, e in slots.axis_exprs().items()}
    for factor in slots.canonical().replicas:
        if isinstance(factor, XorFactor):
            for name, weight in factor.places:
                texts[name] = f"({texts[name]}) ^ any of 0, {weight} (at all of {factor.places} or none)"
            continue
        name = str(factor.axis)
        texts[name] = f"{texts[name]} + any of {factor.extent} values, {factor.stride} apart"
    return texts


def _note_held(layout: Layout, holder: dict[str, int], facts: dict[str, Any], rows: list[Row]) -> None:
    found = held_by(layout, holder)
    axes: dict[str, Any] = layout.axes
    if "sg" not in holder and axes.get("sg", 1) != 1:
        rows.append(("holder", f"{holder_text(found.holder)} (--sg names another of {axes['sg']} subgroups)"))
    facts["holds"] = found.elements
    if found.more:
        facts["holds_more"] = found.more
    rows.append(("holds", str(found)))


def _note_owners(layout: Layout, at: Sequence[int], facts: dict[str, Any], rows: list[Row]) -> list[dict[str, int]]:
    owners = layout.owners(tuple(at))
    listed = [dict(zip(layout.codomain, owner, strict=True)) for owner in owners[:MOST_PRINTED]]
    facts["at"], facts["owners"] = list(at), listed
    more = len(owners) - len(listed)
    rows += [(f"at {points_text([at])}", holder_text(owner)) for owner in listed]
    if more:
        facts["owners_more"] = more
        rows.append((f"at {points_text([at])}", f"and {more:,} more"))
    return listed


def _note_held_beside(layout: Layout, owners: list[dict[str, int]], facts: dict[str, Any], rows: list[Row]) -> None:
    """What the first owner of an element holds in all, where a work-item is one of several and has registers."""
    axes: dict[str, Any] = layout.axes
    holder = {axis: n for axis, n in owners[0].items() if axis in ("sg", "lane") and axis in axes} if owners else {}
    if "reg" not in axes or all(axes[axis] == 1 for axis in holder):
        return
    try:
        found = held_by(layout, holder)
    except LayoutError:  # too many to list, of which nobody asked
        return
    facts["holder"], facts["holds"] = holder, found.elements
    if found.more:
        facts["holds_more"] = found.more
    named = {axis: n for axis, n in holder.items() if axes[axis] != 1}
    rows.append(("holds", f"{holder_text(named)}: {found}"))


def _without_layout(
    value: Distributed,
    shape: Sequence[int] | None,
    machine: Machine,
    notes: Sequence[Note],
    holder: dict[str, int],
    reason: str,
    facts: dict[str, Any],
    rows: list[Row],
    refused: bool,
) -> Description:
    """A value that its report explains though it has no exact layout."""
    product = any(note.label == "product" for note in notes)
    if not product:
        sizes: Sequence[Any] = value.tensor_shape() if shape is None else shape
        facts["shape"] = list(sizes)
        rows.append(("shape", _by(sizes)))
        _add([note for note in notes if note.refused is not None], facts, rows)
        facts |= {"layout": None, "reason": reason}
        rows.append(("layout", f"none: {reason}"))
        _add([note for note in notes if note.refused is None], facts, rows)
    else:
        _add(notes, facts, rows)
    if holder and not product:
        held = _coordinates_of(lambda: value.coordinates(shape, machine), holder, reason)
        facts["holds"] = held
        rows.append(("holds", points_text(held)))
    return Description(None, facts, tuple(rows), refused=refused)


def _coordinates_of(coordinates: Callable[[], Any], holder: dict[str, int], reason: str) -> list[list[int]]:
    """What one work-item holds, from the coordinates that a notation gives where it has no layout."""
    try:
        found = coordinates()
    except DistributionError:
        raise DistributionError(f"{holder_text(holder)}: {reason}") from None
    sg, lane = holder.get("sg", 0), holder.get("lane", 0)
    subgroups, lanes = found.shape[:2]
    if not 0 <= sg < subgroups or not 0 <= lane < lanes:
        raise DistributionError(f"sg={sg}, lane={lane}: there are {subgroups} subgroups of {lanes} lanes")
    held = found[sg, lane]
    if len(held) > _MOST_LISTED:
        raise DistributionError(f"a thread holds {len(held)} elements: too many to list")
    return held.tolist()


def _has_symbols(layout: Layout) -> bool:
    return bool(layout.conditions) or any(not isinstance(n, int) for n in layout.shape)


def _plain(value: Any) -> Any:
    return value if isinstance(value, int) else str(value)


def _by(sizes: Sequence[Any]) -> str:
    return "x".join(map(str, sizes)) or "()"
