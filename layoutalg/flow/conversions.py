"""The conversions of a flow: from which layout to which, and the one price that they have.

A conversion may say its target alone. What it converts is then how the flow has its operand, here as the exponential makes it:

>>> from layoutalg.flow.graph import flows_of
>>> from layoutalg.flow.values import solved
>>> from layoutalg.ir import read_module
>>> nest = "subgroup_tile = [1, 1], batch_tile = [1, 1], outer_tile = [1, 1], thread_tile = [16, 4], element_tile = [1, 4]"
>>> rows = f"#iree_vector_ext.nested_layout<{nest}, subgroup_strides = [0, 0], thread_strides = [1, 16]>"
>>> turned = rows.replace("[16, 4]", "[4, 16]").replace("[1, 4]", "[4, 1]").replace("[1, 16]>", "[16, 1]>")
>>> [flow] = flows_of(read_module(f'''func.func @f(%x: vector<16x16xf32>) -> vector<16x16xf32> {{
...   %a = iree_vector_ext.to_layout %x to layout({rows}) : vector<16x16xf32>
...   %e = math.exp %a : vector<16x16xf32>
...   %b = iree_vector_ext.to_layout %e to layout({turned}) : vector<16x16xf32>
...   func.return %b : vector<16x16xf32> }}'''))
>>> machine = Machine(lanes=64)
>>> [one] = conversions_in(flow, machine, solved(flow, machine).stated)
>>> str(one.source) == rows, str(one.result) == turned, one.is_stated
(True, True, False)

The first `to_layout` is no conversion: nothing speaks of its source, so it gives a value its layout, and moves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layoutalg.conversion.price import Price, price
from layoutalg.core.notation import Distributed, Machine
from layoutalg.flow.open_levels import ends_in
from layoutalg.flow.value_candidates import Candidate, stated_candidate
from layoutalg.flow.written_layouts import CONVERTING, WrittenLayout, called

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from layoutalg.flow.graph import Flow, Value

__all__ = ["FlowConversion", "conversions_in"]


@dataclass(frozen=True, slots=True)
class FlowConversion:
    """One conversion: the operation, the value that it makes, and its ends as they are written or as the flow has them.

    `is_stated` says whether the text says the source; `chosen` are both ends with every level that the flow knows.
    """

    user: Operation
    value: Value
    source: Distributed
    result: Distributed
    is_stated: bool
    chosen: tuple[Candidate, Candidate] | None

    @property
    def ends(self) -> tuple[Distributed, Distributed]:
        """What is converted and what it becomes: as stated, and where that leaves levels open, as the flow chose them."""
        stated = (self.source, self.result)
        if self.chosen is None or not any(
            one.levels - said.levels for one, said in zip(self.chosen, stated, strict=True)
        ):
            return stated
        return self.chosen[0].said, self.chosen[1].said

    def price(self, machine: Machine, target: str) -> Price:
        """The price of the ends; of those that are stated, where they have it already or the others have none."""
        shape, element, stated = self.value.shape, self.value.element, (self.source, self.result)
        paid = price(*stated, shape, element, machine, target)
        if self.ends == stated:
            return paid
        whole = price(*self.ends, shape, element, machine, target)
        is_same = (paid.source, paid.result) == (whole.source, whole.result)
        return paid if is_same or whole.slots is None else whole


def conversions_in(flow: Flow, machine: Machine, held: Mapping[int, Candidate]) -> Iterator[FlowConversion]:
    """The conversions of a flow, in the order of the text; `held` are the layouts of its values (`Solved.stated`).

    >>> from layoutalg.flow.graph import flow_of
    >>> from layoutalg.ir import read_module
    >>> list(conversions_in(flow_of(read_module("gpu.barrier")), Machine(lanes=16), {}))
    []
    """
    before = {statement.user: statement for statement in flow.wanted if _reads(statement)}
    for value in flow.values:
        for statement in value.stated:
            names = CONVERTING.get(called(statement.user))
            if names is None or statement.name != names[1] or not statement.user.operands:
                continue
            source, operand = before.get(statement.user), statement.user.operands[0]
            known = held.get(flow.value_of(operand).number) if operand in flow else None
            attribute = None if source is None else source.attribute
            if attribute is None and known is not None and known.how != "wanted":
                attribute = known.attribute or known.layout
            if attribute is None:
                continue
            taken = None if source is None else stated_candidate(source, value.shape, machine)
            ends = ends_in(known, taken, held.get(value.number), machine)
            is_stated = source is not None or statement.name == "type"
            yield FlowConversion(statement.user, value, attribute, statement.attribute, is_stated, ends)


def _reads(statement: WrittenLayout) -> bool:
    return CONVERTING.get(called(statement.user), ("", ""))[0] == statement.name
