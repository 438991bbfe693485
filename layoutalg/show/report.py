"""What there is to say about a layout: the answer of `layoutalg show`, as facts and as text.

>>> from layoutalg.notations import parse
>>> found = describe(parse("#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"), (8, 16), element="f16")
>>> found.facts["fragment_type"], found.facts["index"]
('vector<8xf16>', {'d0': 'reg', 'd1': 'lane'})
>>> found.lines()[2]
('LLVM 22', 'accepts')
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from layoutalg.amx import TileType
from layoutalg.core.errors import DistributionError, LayoutError, SizeError
from layoutalg.core.expressions import expression_text
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Notation
from layoutalg.core.swizzle import Swizzled
from layoutalg.nested import NestedLayoutAttr
from layoutalg.nested.coordinates import uncovered
from layoutalg.show.terminal import owner_grid, render
from layoutalg.xegpu import DistributeLayout, SgMapAttr, TensorDescType

if TYPE_CHECKING:
    from rich.console import Console


__all__ = ["Description", "describe"]

_MOST_LISTED = 4096
_MOST_UNCOVERED = 16
_NESTED = (("vector", "distributed_shape"), ("packed", "packed_shape"))


@dataclass(frozen=True, slots=True)
class Description:
    """A value with a shape: its layout (None where there is none), and everything about it as data for JSON.

    >>> describe(Layout.parse("d0 = 4@lane")).layout
    Layout.parse('d0 = 4@lane')
    """

    layout: Layout | None
    facts: dict[str, Any]
    operands: tuple[tuple[str, Description], ...] = ()
    """For a matrix product: each operand's own description."""

    def lines(self) -> list[tuple[str, str]]:
        """The facts as lines of a name and a text, in reading order.

        >>> describe(Layout.parse("d0 = 8@lane | replicas 2@lane:8")).lines()[-2]
        ('fragment', '1')
        """
        facts = self.facts
        rows = [("input", facts["input"])] if "input" in facts else []
        if "product" in facts:
            return rows + [(name, facts[name]) for name in ("product", "lanes", "note") if name in facts]
        rows.append(("shape", _by(facts["shape"])))
        rows += [(name, facts[key]) for key, name in (("llvm", "LLVM 22"), ("rfc", "RFC")) if key in facts]
        if self.layout is None:
            rows.append(("layout", f"none: {facts['reason']}"))
            rows += [(name, _by(facts[key])) for name, key in _NESTED if key in facts]
            if "uncovered_count" in facts:
                more = " ..." if facts["uncovered_count"] > len(facts["uncovered"]) else ""
                rows.append(("nobody", f"holds {facts['uncovered_count']}: {_points(facts['uncovered'])}{more}"))
            if "holds" in facts:
                rows.append(("holds", _points(facts["holds"])))
            return rows + _block_lines(facts)
        rows += [(name, facts[name]) for name in ("nested", "memory") if name in facts]
        rows.append(("layout", facts["layout"]))
        rows += [(name, _by(facts[key])) for name, key in _NESTED if key in facts]
        rows.append(("axes", ", ".join(f"{axis} {n}" for axis, n in facts["axes"].items()) or "none"))
        rows += [
            ("replicas", f"{f}: each element lives in {f.extent} places of {f.axis}, {f.stride} apart")
            for f in self.layout.canonical().replicas
        ]
        rows += [("needs", str(condition)) for condition in self.layout.conditions]
        if "fragment_shape" in facts:
            rows.append(("fragment", _by(facts["fragment_shape"])))
        if "fragment_type" in facts:
            count = facts["fragment_count"]
            vectors = f"{count} x {facts['fragment_type']}" if count > 1 else facts["fragment_type"]
            rows.append(("type", f"per {facts['fragment_of']}: {vectors}"))
        if "load_mismatch" in facts:
            rows.append(("load_nd", facts["load_mismatch"]))
        rows += [("index", f"{name} = {text}") for name, text in facts.get("index", {}).items()]
        if "index_error" in facts:
            rows.append(("index", facts["index_error"]))
        if "holds" in facts:
            rows.append(("holds", _points(facts["holds"])))
        return rows + _block_lines(facts)

    def print(self, console: Console) -> None:
        """Print the lines, and the grid of owners as wide as the console.

        >>> import io
        >>> from rich.console import Console
        >>> text = io.StringIO()
        >>> describe(Layout.parse("d0 = 4@lane")).print(Console(file=text, width=60))
        >>> text.getvalue().splitlines()[2]
        'layout    d0 = 4@lane'
        """
        before = ""
        for name, text in self.lines():
            console.print(f"{'' if name == before else name:9} {text}", soft_wrap=True)
            before = name
        for name, part in self.operands:
            console.print(f"\n{name}", soft_wrap=True)
            part.print(console)
        if self.layout is None or self.layout.conditions or any(not isinstance(n, int) for n in self.layout.shape):
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
    value: Notation,
    shape: Sequence[int] | None = None,
    element: str = "f32",
    *,
    holder: dict[str, int] | None = None,
    blocks: bool = False,
    subgroup_size: int | None = None,
    workgroup_size: int | None = None,
) -> Description:
    """Gather the facts about an attribute, a type or a layout.

    Attributes need a `shape`; types and layouts have one. `holder` names a work-item (`{"sg": 3, "lane": 5}`) whose
    coordinates are listed, `blocks` asks for LLVM's block origins of each id; `subgroup_size` and `workgroup_size` are the
    threads that a nested layout is for.

    A pair that LLVM accepts and that has no exact layout is described all the same: the reason, and LLVM's blocks; so is
    a nested layout that does not cover its tensor, with the elements that nobody holds. An MMA kind has a description per
    operand (`operands`).

    Raises `DistributionError` for a value that distributes nothing, for a shape that is missing or differs, and where
    LLVM refuses the pair and there is no exact layout either.

    >>> describe(Layout.parse("d0 = 2@reg, d1 = 16@lane"), holder={"lane": 5}).facts["holds"]
    [[0, 5], [1, 5]]
    """
    from layoutalg.show.products import describe_product, is_product

    if blocks and not isinstance(value, DistributeLayout):
        raise DistributionError(f"{value} has no blocks: expected a layout or a slice")
    if is_product(value):
        return describe_product(value, shape, holder or {})
    facts: dict[str, Any] = {"input": str(value)}
    if isinstance(value, NestedLayoutAttr):
        return _describe_nested(value, shape, facts, holder or {}, subgroup_size or 64, workgroup_size)
    try:
        layout = _layout_of(value, shape, element, facts)
    except DistributionError as error:
        if facts.get("llvm") != "accepts" or not isinstance(value, DistributeLayout):
            raise
        facts |= {"layout": None, "reason": str(error), "blocks": _blocks(value, facts["shape"])}
        return Description(None, facts)
    note_layout(
        facts,
        layout,
        holder or {},
        value.byte_layout() if isinstance(value, TileType) and value.itemsize > 1 else layout,
    )
    if blocks and isinstance(value, DistributeLayout):
        facts["blocks"] = _blocks(value, layout.shape)
    return Description(layout, facts)


def note_layout(facts: dict[str, Any], layout: Layout, holder: dict[str, int], slots: Layout) -> None:
    """Note what there is to say about a layout in `facts`; the axes and the index expressions are those of `slots`.

    >>> facts = {}
    >>> tile = Layout.parse("d0 = 2@reg, d1 = 4@lane")
    >>> note_layout(facts, tile, {"lane": 3}, tile)
    >>> facts["axes"], facts["holds"]
    ({'lane': 4, 'reg': 2}, [[0, 3], [1, 3]])
    """
    facts["layout"] = str(layout)
    facts["axes"] = {axis: _plain(n) for axis, n in slots.axes.items()}
    facts["replicas"] = [str(f) for f in layout.canonical().replicas]
    if "reg" in layout.codomain:
        facts["fragment_shape"] = [_plain(n) for n in layout.fragment_shape]
    try:
        facts["index"] = _index_texts(slots)
    except LayoutError as error:
        facts["index_error"] = str(error)
    if holder:
        held = layout.coords(**holder).reshape(-1, layout.rank)
        if len(held) > _MOST_LISTED:
            raise DistributionError(
                f"{holder} hold {len(held)} elements: too many to list; ask for one lane of a subgroup"
            )
        facts["holds"] = held.tolist()


def _index_texts(layout: Layout) -> dict[str, str]:
    """The index expression of each dimension; a digit that no axis tells apart is any of its values."""
    slots = layout.inverse()
    texts = {name: expression_text(e) for name, e in slots.axis_exprs().items()}
    for factor in slots.canonical().replicas:
        name = str(factor.axis)
        texts[name] = f"{texts[name]} + any of {factor.extent} values, {factor.stride} apart"
    return texts


def _blocks(value: DistributeLayout, shape: Sequence[int]) -> dict[str, list[list[int]]]:
    found = value.blocks(shape)
    if sum(map(len, found.values())) > _MOST_LISTED:
        raise DistributionError(f"{value} has more than {_MOST_LISTED} blocks: too many to list")
    return {str(one): [list(origin) for origin in origins] for one, origins in found.items()}


def _block_lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    return [(f"block {one}", _points(origins)) for one, origins in facts.get("blocks", {}).items()]


def _describe_nested(
    value: NestedLayoutAttr,
    shape: Sequence[int] | None,
    facts: dict[str, Any],
    holder: dict[str, int],
    subgroup_size: int,
    workgroup_size: int | None,
) -> Description:
    """A nested layout; where its threads do not cover the tensor, IREE's raw coordinates."""
    sizes = value.shape if shape is None else tuple(shape)
    facts |= {
        "shape": list(sizes),
        "distributed_shape": list(value.distributed_shape),
        "packed_shape": list(value.packed_shape),
    }
    try:
        layout = value.layout(sizes, subgroup_size=subgroup_size, workgroup_size=workgroup_size)
    except DistributionError as error:
        threads = value.threads(subgroup_size, workgroup_size)
        facts |= {"layout": None, "reason": str(error)}
        with suppress(SizeError):  # too many to look at one by one
            count, first = uncovered(value, threads, subgroup_size, _MOST_UNCOVERED)
            facts |= {"uncovered_count": count, "uncovered": first.tolist()}
        if holder:
            sg, lane = holder.get("sg", 0), holder.get("lane", 0)
            if not 0 <= lane < subgroup_size or not 0 <= sg * subgroup_size + lane < threads:
                raise DistributionError(
                    f"sg={sg}, lane={lane}: there are {threads} threads in subgroups of {subgroup_size}"
                ) from None
            held = value.coords_of(sg * subgroup_size + lane, subgroup_size)
            if len(held) > _MOST_LISTED:
                raise DistributionError(f"a thread holds {len(held)} elements: too many to list") from None
            facts["holds"] = [list(c) for c in held]
        return Description(None, facts)
    note_layout(facts, layout, holder, layout)
    return Description(layout, facts)


def _layout_of(value: Notation, shape: Sequence[int] | None, element: str, facts: dict[str, Any]) -> Layout:
    """The layout of a value; notes the shape, the verdict and the fragment's type in `facts`."""
    if not isinstance(value, (DistributeLayout, SgMapAttr)):
        (part,) = value.operands(shape)
        layout = part.layout
        if isinstance(layout, Swizzled):
            raise DistributionError(f"{value} is swizzled: its digits are {layout.layout}, then the XOR")
        facts["shape"] = [_plain(n) for n in layout.shape]
        if isinstance(value, TileType):
            facts["llvm"] = "accepts"  # what LLVM refuses has raised its words
        if isinstance(value, TensorDescType) and value.attr is not None:
            level = "lane" if value.attr.distribution().lane_layout is not None else "subgroup"
            _note_fragment(facts, value.fragment_type(level), level)
            mismatch = value.load_mismatch()
            if mismatch is not None:
                facts["load_mismatch"] = mismatch
        return layout
    if shape is None:
        raise DistributionError(f"{value} needs a shape, such as 32x64")
    sizes = tuple(shape)
    facts["shape"] = list(sizes)
    facts["llvm" if isinstance(value, DistributeLayout) else "rfc"] = value.check(sizes) or "accepts"
    layout = value.layout(sizes)
    if isinstance(value, DistributeLayout):
        level = "lane" if value.distribution().lane_layout is not None else "subgroup"
        _note_fragment(facts, value.fragment_type(sizes, element, level), level)
    return layout


def _note_fragment(facts: dict[str, Any], fragment: Any, level: str) -> None:
    facts |= {"fragment_type": str(fragment), "fragment_count": fragment.count, "fragment_of": level}


def _plain(value: Any) -> Any:
    return value if isinstance(value, int) else str(value)


def _by(sizes: Sequence[Any]) -> str:
    return "x".join(map(str, sizes)) or "()"


def _points(points: Sequence[Sequence[int]]) -> str:
    return " ".join("(" + ", ".join(map(str, point)) + ")" for point in points)
