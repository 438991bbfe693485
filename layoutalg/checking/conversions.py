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
from layoutalg.conversion.price import Price, redundant
from layoutalg.conversion.triton_way import TritonPrice, triton_says
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.notation import Distributed, Machine
from layoutalg.flow.compiler_mistakes import conversions_of_reductions
from layoutalg.flow.conversions import conversions_in
from layoutalg.flow.written_layouts import called
from layoutalg.ir.places import Place, place_of
from layoutalg.xegpu import SliceAttr

if TYPE_CHECKING:
    from layoutalg.flow.graph import Flow
    from layoutalg.flow.value_candidates import Candidate
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
    needed_by: str = ""
    """Of one that moves nothing: the version of LLVM that crashes without it."""
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
    flow: Flow, module: Module, machine: Machine, target: str, held: Mapping[int, Candidate], llvm: int = DEFAULT_LLVM
) -> Iterator[CheckedConversion]:
    """The conversions of a function, in the order of the text; `held` are the layouts of its values (`Solved.stated`).

    One that moves nothing is redundant, unless that version of LLVM crashes without it.
    """
    remaking = Remaking(flow, held, target)
    reduced = conversions_of_reductions(flow)
    for one in conversions_in(flow, machine, held):
        shape, ends = one.value.shape, (one.source, one.result)
        nothing = redundant(*ends, shape)
        without = reduced.get(one.user) if nothing and not isinstance(one.result, SliceAttr) else None
        needed = without is not None and llvm in without.versions
        asked = not nothing and called(one.user) == "ttg.convert_layout" and one.user.operands[0] in flow
        yield CheckedConversion(
            place_of(one.user),
            called(one.user),
            next(iter(module.lines.result_names(one.user)), ""),
            shape,
            *ends,
            nothing and not needed,
            one.price(machine, target),
            triton_says(*ends, shape, one.value.element, target),
            f"LLVM {llvm}" if needed else "",
            remaking.of(one.user) if asked else None,
        )
