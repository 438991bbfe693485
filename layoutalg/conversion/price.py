"""The price of a conversion: one number for one question, with what was assumed beside it.

>>> rows, columns = (la.parse(f"#xegpu.layout<lane_layout = {lanes}, lane_data = [1, 1]>") for lanes in ("[1, 16]", "[16, 1]"))
>>> found = price(rows, columns, (16, 16), "f32", target="pvc")
>>> found.slots, found.lanes
(128, 16)
>>> print(found)
128 issue slots on pvc; 16 lanes in a subgroup; a lane holds 16x1 before and 1x16 after

Everything asks here: `show`, `convert`, `check`, `propagate` and `lower`. What stands in a loop is paid as often as the loop
runs; who counts that multiplies this price.

A price is in issue slots of one subgroup, of one chip, for the whole of the chip's shared memory. It is that of the cheapest
plan (`layoutalg.convert`) between the two ends (`conversion.ends`), by these rules:

- Lanes that neither layout says are dealt along the last dimension of each subgroup's block, and the price says so. Without a
  number of lanes, said by a layout or by a machine, there is no price. XeGPU's layouts may use fewer lanes than the chip's
  subgroups have: the others hold copies.
- What one of the two leaves open is as the other one says it.
- The order of registers has no price: code that is lowered names registers anew. So instruction tiles (`inst_data`) alone cost
  nothing, and a conversion between layouts in which the same work-items hold the same elements is `redundant`.
- Subgroups in which both have a copy of everything count for nothing: each pays for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from layoutalg.conversion.conversion_plan import ConversionPlan
from layoutalg.conversion.cost import cost_of
from layoutalg.conversion.ends import LANES_MISSING, Ends, ends_of, ends_on_chip, in_order
from layoutalg.core.elements import element_bits, moved_bits
from layoutalg.core.errors import ConversionError, DistributionError, LayoutError
from layoutalg.core.layout import Layout
from layoutalg.core.messages import shown
from layoutalg.core.notation import Distributed, Machine, as_machine, as_sizes
from layoutalg.core.notebook import NotebookAnswer
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import listed
from layoutalg.hardware.chips import target_info
from layoutalg.notations import has_value, value_of

if TYPE_CHECKING:
    from layoutalg.conversion.drawing.ways import PricePicture

__all__ = ["DEFAULT_CHIP", "Price", "price", "redundant"]

DEFAULT_CHIP = "pvc"
"""The chip of a price where nobody says one."""

_CACHED = 1 << 15
_NOT_A_CHIP = "generic"


@dataclass(frozen=True, slots=True, repr=False)
class Price(NotebookAnswer):
    """What a conversion costs on a chip, in issue slots of one subgroup, or why that is not known; and what was assumed.

    `source` and `result` are the layouts that are priced, with their lanes and with registers in the order of the elements.

    >>> print(Price(None, "pvc", "it is not a layout"))
    no price on pvc: it is not a layout
    """

    slots: int | None
    chip: str
    problem: str = ""
    assumptions: tuple[str, ...] = ()
    source: Layout | None = None
    result: Layout | None = None
    lanes: int | None = None
    element_bits: int | None = None

    @property
    def text(self) -> str:
        """The price alone, in words.

        >>> Price(46, "pvc", assumptions=("16 lanes in a subgroup",)).text
        '46 issue slots on pvc'
        """
        if self.slots is None:
            return f"no price on {self.chip}: {self.problem}"
        return f"{counted(self.slots, 'issue slot')} on {self.chip}"

    def __str__(self) -> str:
        return "; ".join((self.text, *self.assumptions))

    def picture(self) -> PricePicture:
        """The price as a bar of its parts.

        Raises `ConversionError` for a conversion without a price, or that costs nothing.

        >>> price("d0 = 16@reg, d1 = 16@lane", "d0 = 16@lane, d1 = 16@reg").picture().title
        'd0 = 16@reg, d1 = 16@lane to d0 = 16@lane, d1 = 16@reg'
        """
        if not self.slots:
            raise ConversionError(f"{self.text}: there is nothing to draw")
        from layoutalg.conversion.drawing.ways import price_picture

        return price_picture(self.plan)

    @property
    def plan(self) -> ConversionPlan:
        """The plan that was priced: between `source` and `result`.

        Raises `ConversionError` for a conversion without a price.

        >>> price("d0 = 16@reg, d1 = 16@lane", "d0 = 16@lane, d1 = 16@reg").plan.barriers
        1
        """
        if self.slots is None or self.source is None or self.result is None or self.element_bits is None:
            raise ConversionError(f"no plan: {self.problem or 'a price without layouts'}")
        return ConversionPlan(self.source, self.result, self.element_bits, self.chip, portable=True)

    @property
    def facts(self) -> dict[str, Any]:
        """The price as data, for JSON: the same shape wherever a price is printed.

        >>> Price(46, "pvc", assumptions=("16 lanes in a subgroup",), lanes=16).facts["assumptions"]
        ['16 lanes in a subgroup']
        """
        return {
            "slots": self.slots,
            "unit": "issue slots of a subgroup",
            "chip": self.chip,
            "origin": None if self.slots is None else cost_of(self.chip).origin,
            "lanes": self.lanes,
            "element_bits": self.element_bits,
            "source": None if self.source is None else str(self.source),
            "result": None if self.result is None else str(self.result),
            "assumptions": list(self.assumptions),
            "problem": self.problem or None,
        }


def price(
    source: Distributed | str,
    destination: Distributed | str,
    shape: Sequence[int] | None = None,
    element: str = "f32",
    machine: Machine | int | None = None,
    target: str = DEFAULT_CHIP,
) -> Price:
    """What it costs to convert a tensor from one layout to another (each a `Layout`, a value of any notation, or its text).

    `shape` is needed where neither says the tensor's. `machine` is what the layouts leave open: the lanes of a subgroup (a
    number is these), and the subgroups. A price always names its chip, `target`.

    A conversion that cannot be priced gives a `Price` without slots, which says why: layouts that do not fit, symbols, too many
    elements, lanes that nobody says. Raises `PlanError` for an unknown chip and `LayoutError` for arguments of other types.

    >>> tiles = "#xegpu.layout<sg_layout = [2, 2], sg_data = [16, 16]>"
    >>> strips = "#xegpu.layout<sg_layout = [4, 1], sg_data = [8, 32]>"
    >>> price(tiles, strips, (32, 32), machine=Machine(lanes=16)).slots
    64
    >>> print(price(tiles, strips, (32, 32)))
    no price on pvc: neither layout says the lanes of a subgroup; say them: machine=Machine(lanes=16), or --subgroup-size 16
    on the command line
    """
    on = as_machine(machine)
    if not isinstance(target, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LayoutError(f"target {shown(target)}: expected a chip, such as 'pvc'")
    if not isinstance(element, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LayoutError(f"element {shown(element)}: expected an element type, such as 'f32'")
    name = target_info(target).name
    values = [value_of(one) if has_value(one) else one for one in (source, destination)]
    for one in values:
        if not isinstance(one, Distributed):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise LayoutError(f"price of {shown(one)}: expected a Layout, a value of a notation, or its text")
    try:
        given = None if shape is None else tuple(listed(shape, "shape"))
        hash(given)
    except (TypeError, LayoutError):
        raise LayoutError(f"shape {shown(shape)}: expected sizes, such as (32, 64)") from None
    try:
        sizes = None if given is None else as_sizes(given)
    except LayoutError as error:  # 16.0 is equal to 16 where prices are kept, and is no size
        return Price(None, name, str(error))
    return _price(values[0], values[1], sizes, element, on, name)


@lru_cache(maxsize=_CACHED)
def _price(
    source: Distributed, result: Distributed, shape: tuple[int, ...] | None, element: str, machine: Machine, chip: str
) -> Price:
    if chip == _NOT_A_CHIP:
        return Price(
            None,
            chip,
            "generic is not a chip: its issue slots only rank the ways; a price is one of a chip, such as pvc or bmg",
        )
    usual = target_info(chip).subgroup_size
    try:
        bits = moved_bits(element)
        ends = _on_chip(source, result, shape, machine, usual)
        before, after = _without_common_copies(in_order(ends.source), in_order(ends.result))
        if before == after:
            slots = 0
        elif ends.lanes is None:
            return Price(None, chip, LANES_MISSING, ends.notes)
        else:
            slots = _slots(before, after, bits, chip)
    except LayoutError as error:
        return Price(None, chip, str(error))
    assumptions = list(ends.notes)
    if ends.lanes is not None:
        assumptions.insert(0, f"{counted(ends.lanes, 'lane')} in a subgroup")
        if slots:
            held = [_fragment(one) for one in (before, after)]
            each = f"{held[0]} before and {held[1]} after" if held[0] != held[1] else f"{held[0]} before and after"
            assumptions.append(f"a lane holds {each}")
    if element == "index" or element_bits(element) != bits:
        assumptions.append(f"{element} is moved in {bits} bits")
    return Price(slots, chip, "", tuple(assumptions), before, after, ends.lanes, bits)


def _fragment(layout: Layout) -> str:
    """What a lane holds: the shape of its vector, or with XOR, where registers have no shape, how many there are."""
    if layout.flips is not None:
        return str(layout.axes.get("reg", 1))
    return "x".join(map(str, layout.fragment_shape)) or "1"


@lru_cache(maxsize=_CACHED)
def _slots(source: Layout, result: Layout, bits: int, chip: str) -> int:
    return ConversionPlan(source, result, bits, chip, portable=True).cost


def _on_chip(
    source: Distributed, result: Distributed, shape: tuple[int, ...] | None, machine: Machine, lanes: int
) -> Ends:
    """The ends on a chip; where the layouts do not fit the machine's subgroups, with those that they say."""
    try:
        return ends_on_chip(source, result, shape, machine, lanes)
    except DistributionError:
        if machine.subgroups is None:
            raise
        return ends_on_chip(source, result, shape, Machine(machine.lanes), lanes)


def _without_common_copies(source: Layout, result: Layout) -> tuple[Layout, Layout]:
    """Both without the outermost copies in subgroups that both have: each of them converts its own."""
    while True:
        sides = [_outermost(one) for one in (source, result)]
        if sides[0] is None or sides[1] is None or sides[0][0] != sides[1][0]:
            return source, result
        source, result = sides[0][1], sides[1][1]


def _outermost(layout: Layout) -> tuple[int, Layout] | None:
    """The copies in the outermost digit of the subgroups, and the layout without them."""
    if layout.offsets or layout.flips is not None:
        return None
    for number, (extent, stride, axis) in enumerate(layout.replicas):
        if axis == "sg" and type(extent) is int and type(stride) is int and extent * stride == layout.axes["sg"]:
            rest = [one for other, one in enumerate(layout.replicas) if other != number]
            return extent, Layout(layout.dims, rest, names=layout.names, origins=layout.origins)
    return None


@lru_cache(maxsize=_CACHED)
def redundant(source: Distributed, result: Distributed, shape: tuple[int, ...] | None = None) -> bool:
    """Whether a conversion does nothing: both say the same levels, and the same work-items hold the same elements.

    The order of registers does not count, so neither do instruction tiles. Layouts that do not fit are not redundant.

    >>> from layoutalg.xegpu import LayoutAttr
    >>> tall, flat = (LayoutAttr(inst_data=tile, lane_layout=(1, 16), lane_data=(1, 1)) for tile in ((16, 16), (8, 16)))
    >>> redundant(tall, flat, (32, 32)), redundant(tall, LayoutAttr(lane_layout=(16, 1), lane_data=(1, 1)), (32, 32))
    (True, False)
    """
    if source.levels - {"inst"} != result.levels - {"inst"}:
        return False
    try:
        ends = ends_of(source, result, shape)
    except LayoutError:
        return False
    return in_order(ends.source) == in_order(ends.result)
