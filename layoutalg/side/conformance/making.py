"""How a generated kernel is put together: what is drawn, what is written, and which operations have generators.

    @generates("vector.transpose", kinds=("rows", "order", MISMATCH))
    def transpose(making: Making) -> None:
        ...

>>> making = Making(Random(0), KernelBody("workgroup"), "vector.step", "rows")
>>> making.tile("f32").attribute.lane_layout, making.subgroups
((1, 16), 8)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from random import Random
from typing import TypeVar

from layoutalg.side.conformance.bodies import KernelBody, KernelValue, Spread
from layoutalg.side.conformance.kinds import BITS, KINDS, PLAIN_KINDS, Tile, drawn
from layoutalg.xegpu import LayoutAttr, SliceAttr

__all__ = ["MISMATCH", "Generator", "Making", "generates", "generators"]

MISMATCH = "mismatch"
"""A kind of its own: layouts that the operation cannot have by meaning. A compiler must refuse or convert."""


@dataclass
class Making:
    """One kernel being made."""

    random: Random
    body: KernelBody
    operation: str
    kind: str
    subgroups: int = 1
    tolerance: float = 0.0
    reals: bool = False

    @property
    def plain(self) -> bool:
        """Whether the kernel is one subgroup's, with at most anchors."""
        return self.body.level == "plain"

    def tile(self, element: str, kind: str = "") -> Tile:
        """A layout of the kind (or of another one), and its shape; the kernel has as many subgroups."""
        chosen = kind or self.kind
        chosen = "rows" if chosen in (MISMATCH, "none") or chosen not in (*KINDS, *PLAIN_KINDS) else chosen
        tile = drawn(self.random, chosen, element, lanes_only=self.plain)
        if not self.plain:
            self.subgroups = tile.subgroups
        self.body.anchored = self.kind != "none"
        return tile

    def line(self, element: str = "f32") -> tuple[LayoutAttr, int]:
        """A layout of one dimension, and the length that it fits."""
        each = {"units": 32, "pairs": 32}.get(self.kind, 16)
        data = 2 if self.kind == "pairs" else 1
        if self.plain:
            self.body.anchored = self.kind != "none"
            return LayoutAttr(lane_layout=(16,), lane_data=(data,)), each * self.random.choice((1, 1, 2))
        count, times = self.random.choice((2, 4, 8)), self.random.choice((1, 2))
        self.subgroups = count
        block = each * times
        length = block * count * (2 if self.kind == "rounds" else 1)
        if self.kind == "shared":
            length = block
        return (
            LayoutAttr(
                sg_layout=(count,),
                sg_data=(block,),
                inst_data=None if self.kind == "whole" else (each,),
                lane_layout=(16,),
                lane_data=(data,),
            ),
            length,
        )

    def other(self, layout: LayoutAttr) -> LayoutAttr:
        """The layout with its subgroups counted the other way round: by meaning another one."""
        return replace(layout, order=None if layout.order else (0, 1))

    def square(self, element: str = "f32") -> Tile:
        """Four subgroups in a square, each with a square of its own."""
        wide = 2 if BITS[element] == 8 else 1
        side = self.random.choice((16, 32)) * wide
        if self.plain:
            return Tile(LayoutAttr(lane_layout=(1, 16), lane_data=(1, wide)), (16, 16))
        self.subgroups = 4
        layout = LayoutAttr(
            sg_layout=(2, 2),
            sg_data=(side, side),
            inst_data=(8, 16 * wide),
            lane_layout=(1, 16),
            lane_data=(1, wide),
        )
        return Tile(layout, (2 * side, 2 * side))

    def numbers(self, length: int, layout: Spread, element: str = "i32") -> KernelValue:
        """0, 1, 2, ... as integers (or as `index`)."""
        body = self.body
        count = body.new((length,), "index", layout)
        body.add(f"{count.name} = vector.step{body.attribute(layout)} : {count.type}")
        return count if element == "index" else body.cast("arith.index_cast", count, element)

    def gathered(self, length: int, layout: Spread, element: str) -> KernelValue:
        """A line of a new argument, loaded element by element, in order."""
        body = self.body
        number = body.argument(element, (length,))
        at = self.numbers(length, layout, "index")
        mask = body.constant((length,), "i1", "true", layout)
        made = body.new((length,), element, layout)
        anchor = f" <{{layout = {layout}}}>" if not self.plain or body.anchored else ""
        body.add(
            f"{made.name} = xegpu.load %p{number}[{at.name}], {mask.name}{anchor} : i64, {at.type}, {mask.type} -> {made.type}"
        )
        return made

    def scatter(self, value: KernelValue, layout: Spread | None = None) -> None:
        """Store a line of elements one by one, in order, where it is said in a layout of its own."""
        body, said = self.body, layout or value.layout
        assert said is not None
        number = body.argument(value.element, value.shape)
        at = self.numbers(value.shape[0], said, "index")
        mask = body.constant(value.shape, "i1", "true", said)
        anchor = f" <{{layout = {said}}}>" if not self.plain or body.anchored else ""
        body.add(
            f"xegpu.store {value.name}, %p{number}[{at.name}], {mask.name}{anchor} : {value.type}, i64, {at.type}, {mask.type}"
        )

    def sliced(self, layout: LayoutAttr, *dims: int) -> SliceAttr:
        """A slice of a layout."""
        return SliceAttr(layout, dims)


@dataclass(frozen=True)
class Generator:
    """What makes kernels of one operation, and the kinds of layouts that it has at each level.

    >>> Generator("math.exp", print, ("rows",), ()).kinds("plain")
    ()
    """

    operation: str
    make: Callable[[Making], None]
    workgroup: tuple[str, ...]
    plain: tuple[str, ...]
    family: str = ""
    """What the matrix calls operations that are generated alike; the operation itself where it is the only one."""

    def kinds(self, level: str) -> tuple[str, ...]:
        """The kinds at a level."""
        if level == "anchors":
            return tuple(kind for kind in self.workgroup if kind != MISMATCH)
        return self.plain if level == "plain" else self.workgroup


_Maker = TypeVar("_Maker", bound=Callable[[Making], None])
_GENERATORS: dict[str, Generator] = {}
_SUBJECTS = ("elements", "shaping", "moving", "whole")


def generates(
    *names: str, kinds: tuple[str, ...] = KINDS, plain: tuple[str, ...] = PLAIN_KINDS, family: str = ""
) -> Callable[[_Maker], _Maker]:
    """Register what makes kernels for operations of these names, with the kinds of layouts at workgroup and plain level."""

    def register(maker: _Maker) -> _Maker:
        for name in names:
            _GENERATORS[name] = Generator(name, maker, kinds, plain, family or name)
        return maker

    return register


@cache
def _load() -> None:
    for subject in _SUBJECTS:
        import_module(f"layoutalg.side.conformance.{subject}")


def generators() -> dict[str, Generator]:
    """Every operation that kernels are generated for, and names such as `softmax` for whole kernels."""
    _load()
    return dict(_GENERATORS)
