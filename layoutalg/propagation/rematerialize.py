"""Values that are cheaper to make again than to convert: constants, steps, splats of a number, and what is computed of them.

Every work-item can make a constant in any layout; a sum of two constants too. What that costs is the work of the operations,
with as many elements as a lane then has. Nothing that reads memory is made again.

>>> from layoutalg.ir import read_module
>>> from layoutalg.core.notation import Machine
>>> from layoutalg.flow.graph import flows_of
>>> from layoutalg.propagation.named_layout import if_accepted
>>> from layoutalg.xegpu import LayoutAttr
>>> text = '''%one = arith.constant dense<1> : vector<64xi32>
... %i = vector.step : vector<64xindex>
... %n = arith.index_cast %i : vector<64xindex> to vector<64xi32>
... %m = arith.addi %n, %one : vector<64xi32>'''
>>> [flow] = flows_of(read_module(text))
>>> asked = DemandOptions("lane", "pvc", 24, Machine(lanes=16))
>>> again = Rematerializer(flow, Prices(asked.machine, "pvc"), asked)
>>> again.price(flow.values[-1].members[0], if_accepted(LayoutAttr(lane_layout=(16,), lane_data=(1,)), (64,)))
13
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from layoutalg.flow.graph import Flow
from layoutalg.flow.relations import Tie
from layoutalg.propagation.candidates import carried
from layoutalg.propagation.costs import Prices, slots_per_element
from layoutalg.propagation.demand_options import DemandOptions
from layoutalg.propagation.named_layout import NamedLayout

__all__ = ["Rematerializer"]

_DEEPEST = 8
_ROOTS = frozenset(
    ("arith.constant", "vector.step", "vector.broadcast", "vector.splat", "vector.create_mask", "vector.constant_mask")
)
_PURE = ("arith.", "math.", "vector.")
_NOT_PURE = (
    "vector.load",
    "vector.store",
    "vector.gather",
    "vector.scatter",
    "vector.transfer",
    "vector.masked",
    "vector.print",
)


@dataclass(slots=True, eq=False)
class Rematerializer:
    """What it costs to make the values of a flow a second time."""

    flow: Flow
    prices: Prices
    asked: DemandOptions
    _ties: dict[SSAValue, list[Tie]] = field(default_factory=dict[SSAValue, list[Tie]])
    _known: dict[tuple[SSAValue, str], int | None] = field(default_factory=dict[tuple[SSAValue, str], int | None])

    _depths: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])

    def __post_init__(self) -> None:
        for tie in self.flow.ties:
            if tie.operand in self.flow and tie.beside is None:
                self._ties.setdefault(tie.result, []).append(tie)

    def price(self, member: SSAValue, held: NamedLayout, depth: int = 0) -> int | None:
        """The issue slots, each time; None for a value that cannot be made again in this layout."""
        if not self.possible(member):
            return None
        at = (member, held.key)
        if at not in self._known:
            self._known[at] = self._price(member, held, depth)
        return self._known[at]

    def possible(self, member: SSAValue) -> bool:
        """Whether a value is made of constants alone, in few steps."""
        if member not in self._depths:
            waiting = [(member, False)]
            while waiting:
                one, are_parts_known = waiting.pop()
                if are_parts_known:
                    self._depths[one] = self._depth(one)
                elif one not in self._depths:
                    self._depths[one] = _DEEPEST  # what comes round to itself is not
                    waiting.append((one, True))
                    waiting.extend((part, False) for part in self._parts(one) or ())
        return self._depths[member] < _DEEPEST

    def _depth(self, member: SSAValue) -> int:
        """The steps in which a value is made, when those of its parts are known; the most where it is not made again."""
        parts, maker = self._parts(member), member.owner
        if parts is None or not isinstance(maker, Operation):
            return _DEEPEST
        if not parts:
            return 0 if maker.name in _ROOTS else _DEEPEST
        return min(_DEEPEST, 1 + max(self._depths[part] for part in parts))

    def _parts(self, member: SSAValue) -> list[SSAValue] | None:
        """The spread operands of a value's maker; None where that is not made again."""
        maker = member.owner
        if not isinstance(maker, Operation) or len(maker.results) != 1 or maker.regions:
            return None
        if not maker.name.startswith(_PURE) or maker.name.startswith(_NOT_PURE):
            return None
        return [operand for operand in maker.operands if operand in self.flow]

    def operands(self, member: SSAValue, held: NamedLayout) -> dict[int, NamedLayout] | None:
        """What the operands of its maker must be like; None where it is not made again, nothing for a constant."""
        parts, maker = self._parts(member), member.owner
        if parts is None or not isinstance(maker, Operation):
            return None
        if not parts:
            return {} if maker.name in _ROOTS else None
        ties = self._ties.get(member, [])
        spread = [number for number, operand in enumerate(maker.operands) if operand in self.flow]
        if sorted(tie.number for tie in ties) != spread or any(
            tie.reach != "work-item" or tie.combines for tie in ties
        ):
            return None
        needs: dict[int, NamedLayout] = {}
        for tie in ties:
            shape = self.flow.value_of(tie.operand).shape
            found = carried(tie, held, True, shape, self.asked)
            if found is None:
                return None
            needs[tie.number] = found
        return needs

    def _price(self, member: SSAValue, held: NamedLayout, depth: int) -> int | None:
        maker = member.owner
        needs = self.operands(member, held) if depth < _DEEPEST else None
        if needs is None or not isinstance(maker, Operation):
            return None
        total = slots_per_element(maker) * self.prices.registers(held)
        for number, need in needs.items():
            part = self.price(maker.operands[number], need, depth + 1)
            if part is None:
                return None
            total += part
        return max(total, 1)  # a second one is never better than one that serves all
