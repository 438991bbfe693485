"""The conversions of a module: between which layouts, at what price, and which move nothing.

>>> module = la.read('''func.func @f(%x: vector<16x16xf32>) {
...   %y = xegpu.convert_layout %x <{input_layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>,
...     target_layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [2, 1]>}> : vector<16x16xf32>
...   func.return }''')
>>> from layoutalg.flow.graph import flows_of
>>> [flow] = flows_of(module.parts[0].module)
>>> [conversion] = conversions_of(flow, module, Machine(lanes=16), "pvc", {})
>>> conversion.is_redundant, conversion.cost
(True, 0)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layoutalg.checking.remaking import Remade, Remaking
from layoutalg.conversion.price import Price, price, redundant
from layoutalg.conversion.triton_way import TritonPrice, triton_says
from layoutalg.core.notation import Distributed, Machine
from layoutalg.flow.open_levels import ends_in
from layoutalg.flow.value_candidates import Candidate, stated_candidate
from layoutalg.flow.written_layouts import CONVERTING, WrittenLayout, called
from layoutalg.ir.places import Place, place_of

if TYPE_CHECKING:
    from layoutalg.flow.graph import Flow, Value
    from layoutalg.module import Module

__all__ = ["CheckedConversion", "conversions_of"]


@dataclass(frozen=True, slots=True)
class CheckedConversion:
    """An operation that moves a value from one layout to another, and what that costs (`layoutalg.price`).

    >>> rows = la.parse("#xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>")
    >>> free = la.price(rows, rows, (16, 16))
    >>> CheckedConversion(None, "xegpu.convert_layout", "%y", (16, 16), rows, rows, True, free).cost
    0
    """

    place: Place | None
    operation: str
    name: str
    shape: tuple[int, ...]
    source: Distributed
    result: Distributed
    is_redundant: bool
    price: Price
    triton: TritonPrice | None = None
    """What Triton emits for it and what that costs, of its own conversions on chips that it compiles for."""
    remade: Remade | None = None
    """Of Triton's conversions that move something: whether what is converted could be made in the other layout instead."""

    @property
    def cost(self) -> int | None:
        """Issue slots of a subgroup; None without a price, and `problem` says why.

        >>> rows = Layout.parse("d0 = 4@lane")
        >>> CheckedConversion(None, "xegpu.convert_layout", "%y", (4,), rows, rows, True, la.price(rows, rows)).cost
        0
        """
        return self.price.slots

    @property
    def problem(self) -> str:
        """Why there is no price; empty where there is one.

        >>> rows = Layout.parse("d0 = 4@lane")
        >>> CheckedConversion(None, "xegpu.convert_layout", "%y", (4,), rows, rows, True, la.price(rows, rows)).problem
        ''
        """
        return self.price.problem


def conversions_of(
    flow: Flow, module: Module, machine: Machine, target: str, held: Mapping[int, Candidate]
) -> Iterator[CheckedConversion]:
    """The conversions of a function, in the order of the text; `held` are the layouts of its values (`Solved.stated`).

    One whose source nothing speaks of gives a value its layout, and moves nothing.
    """
    remaking = Remaking(flow, held, target)
    before = {statement.user: statement for statement in flow.wanted if _reads(statement)}
    for value in flow.values:
        for statement in value.stated:
            names = CONVERTING.get(called(statement.user))
            if names is None or statement.name != names[1] or not statement.user.operands:
                continue
            source = before.get(statement.user)
            attribute = None if source is None else source.attribute
            operand = statement.user.operands[0]
            if attribute is None and operand in flow:
                known = held.get(flow.value_of(operand).number)
                if known is not None and known.how != "wanted":
                    attribute = known.attribute or known.layout
            if attribute is None:
                continue
            name = next(iter(module.lines.result_names(statement.user)), "")
            known = held.get(flow.value_of(operand).number) if operand in flow else None
            taken = None if source is None else stated_candidate(source, value.shape, machine)
            ends = ends_in(known, taken, held.get(value.number), machine)
            stated = attribute, statement.attribute
            nothing = redundant(*stated, value.shape)
            asked = not nothing and statement.name == "type" and operand in flow
            yield CheckedConversion(
                place_of(statement.user),
                called(statement.user),
                name,
                value.shape,
                attribute,
                statement.attribute,
                nothing,
                _paid(stated, ends, value, machine, target),
                triton_says(*stated, value.shape, value.element, target),
                remaking.of(statement.user) if asked else None,
            )


def _paid(
    stated: tuple[Distributed, Distributed],
    ends: tuple[Candidate, Candidate] | None,
    value: Value,
    machine: Machine,
    target: str,
) -> Price:
    """The price of the ends that are stated; where they leave levels open, of those that the flow chose for them."""
    paid = price(*stated, value.shape, value.element, machine, target)
    if ends is None or not any(one.levels - said.levels for one, said in zip(ends, stated, strict=True)):
        return paid
    chosen = price(ends[0].said, ends[1].said, value.shape, value.element, machine, target)
    is_same = (paid.source, paid.result) == (chosen.source, chosen.result)
    return paid if is_same or chosen.slots is None else chosen


def _reads(statement: WrittenLayout) -> bool:
    return CONVERTING.get(called(statement.user), ("", ""))[0] == statement.name
