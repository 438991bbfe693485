"""What a module with layouts costs, read from its text alone: its conversions, and those that are missing.

This is the same cost that `propagate` makes small, counted without knowing how the layouts were chosen. So it is what an own
choice is compared with, and what LLVM's propagation is. Where an operation needs an operand in another layout than the operand
has, and no conversion stands there, the price of the conversion is added: somebody has to pay it, or the result is wrong.

>>> from layoutalg.ir import read_module
>>> module = read_module('''func.func @f(%x: vector<16x16xf32>) {
...   %a = arith.addf %x, %x {layout_result_0 = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>} : vector<16x16xf32>
...   %b = xegpu.convert_layout %a <{input_layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>,
...     target_layout = #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>}> : vector<16x16xf32>
...   %c = arith.addf %b, %a {layout_result_0 = #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>} : vector<16x16xf32>
...   func.return }''')
>>> priced(module, "lane", "pvc", 24)
Priced(work=32, conversions=128, missing=128)
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from layoutalg.flow.graph import Flow, Value, flows_of
from layoutalg.flow.levels import machine_of
from layoutalg.flow.relations import Tie
from layoutalg.propagation.candidates import CONVERSIONS, carried
from layoutalg.propagation.costs import Prices, bits_of, frequency, slots_per_element
from layoutalg.propagation.demand_options import DemandOptions, cost_at
from layoutalg.propagation.named_layout import NamedLayout, agree, as_written, carry_back, carry_on, is_whole
from layoutalg.propagation.rematerialize import Rematerializer

__all__ = ["Priced", "priced"]


@dataclass(frozen=True, slots=True)
class Priced:
    """What the operations cost, the conversions that are there, and those that are not there and needed.

    >>> Priced(32, 172, 0).total
    204
    """

    work: int
    conversions: int
    missing: int

    @property
    def total(self) -> int:
        """All of it, in issue slots of a subgroup for one run.

        >>> Priced(1, 2, 3).total
        6
        """
        return self.work + self.conversions + self.missing


def priced(module: Operation, level: str, target: str, llvm: int) -> Priced:
    """What a module costs with the layouts that are written in it; values without a layout cost nothing.

    >>> from layoutalg.ir import read_module
    >>> priced(read_module("gpu.barrier"), "lane", "pvc", 24).total
    0
    """
    found = [
        _Count(flow, DemandOptions(level, target, llvm, machine_of(flow.function, target))).counted()
        for flow in flows_of(module)
    ]
    return Priced(
        sum(one.work for one in found), sum(one.conversions for one in found), sum(one.missing for one in found)
    )


@dataclass(slots=True)
class _Count:
    flow: Flow
    asked: DemandOptions
    held: list[NamedLayout | None] = field(default_factory=list[NamedLayout | None])
    frequencies: dict[Block, int] = field(default_factory=dict[Block, int])
    wanted: dict[tuple[Operation, int], NamedLayout] = field(default_factory=dict[tuple[Operation, int], NamedLayout])
    missing: dict[tuple[SSAValue, str], int] = field(default_factory=dict[tuple[SSAValue, str], int])
    work: int = 0
    conversions: int = 0

    def counted(self) -> Priced:
        """Everything in the function."""
        prices = Prices(self.asked.machine, self.asked.target)
        again = Rematerializer(self.flow, prices, self.asked)
        self.held = [_stated(value) for value in self.flow.values]
        for statement in self.flow.wanted:
            if statement.number is not None:
                known = as_written(statement.attribute, self.flow.value_of(statement.value).shape)
                if known is not None:
                    self.wanted[statement.user, statement.number] = known
        for value in self.flow.values:
            self._made(value, prices)
        self._demanded()
        for tie in self.flow.ties:
            if tie.operand in self.flow and tie.result in self.flow and tie.user.name not in CONVERSIONS:
                self._tied(tie, prices, again)
        for (user, number), known in self.wanted.items():
            self._need(user.operands[number], known, prices, again)
        return Priced(self.work, self.conversions, sum(self.missing.values()))

    def _times(self, member: SSAValue) -> int:
        owner = member.owner
        return frequency(owner if isinstance(owner, Block) else owner.parent, self.frequencies)

    def _made(self, value: Value, prices: Prices) -> None:
        held, member = self.held[value.number], value.members[0]
        if held is None or isinstance(member.owner, Block):
            return
        maker = member.owner
        if maker.name in CONVERSIONS:
            source = self.wanted.get((maker, 0))
            price = None if source is None else prices.conversion(source, held, bits_of(value.element))
            self.conversions += (price or 0) * self._times(member)
        else:
            self.work += slots_per_element(maker) * prices.registers(held) * self._times(member)

    def _demanded(self) -> None:
        for demand in self.flow.demands:
            if demand.value not in self.flow:
                continue
            held = self.held[self.flow.value_of(demand.value).number]
            if demand.number is not None:
                held = self.wanted.get((demand.user, demand.number), held)
            if held is not None:
                price = cost_at(demand, held, self.asked)
                self.work += price * frequency(demand.user.parent, self.frequencies)

    def _tied(self, tie: Tie, prices: Prices, again: Rematerializer) -> None:
        if (tie.user, tie.number) in self.wanted:
            return
        operand, result = self.flow.value_of(tie.operand), self.flow.value_of(tie.result)
        source, held = self.held[operand.number], self.held[result.number]
        if tie.beside is not None:
            held = self.wanted.get((tie.user, tie.beside), held)
        if source is None or held is None or (operand is result and tie.beside is None):
            return
        if tie.combines and tie.reach == "workgroup":
            self._reduced(tie, source, held, prices)
            return
        if tie.reach == "work-item" and not is_whole(tie.relation, operand.shape):
            made = carry_on(tie.relation, source, held.shape, self.asked.llvm)
            if made is not None and agree(made, held):
                return
        need = carried(tie, held, True, operand.shape, self.asked)
        if need is not None:
            self._need(tie.operand, need, prices, again)
        elif tie.reach == "work-item":
            made = carry_on(tie.relation, source, held.shape, self.asked.llvm)
            if made is not None and not agree(made, held):
                price = prices.conversion(made, held, bits_of(result.element)) or 0
                self.missing[tie.result, f"{tie.number}"] = price * self._times(tie.result)

    def _reduced(self, tie: Tie, source: NamedLayout, held: NamedLayout, prices: Prices) -> None:
        """Reduced where the elements are, or brought together first, whichever costs less."""
        times = self._times(tie.result)
        made = carry_on(tie.relation, source, held.shape, self.asked.llvm)
        bits = bits_of(self.flow.value_of(tie.result).element)
        price = prices.conversion(made, held, bits) if made is not None else None
        ways: list[tuple[int, int]] = []
        if price is not None:
            ways.append((price, prices.reduction(tie.relation, source)))
        direct = carry_back(tie.relation, held, source.shape, self.asked.llvm)
        brought = None if direct is None else prices.conversion(source, direct, bits)
        if direct is not None and brought is not None:
            ways.append((brought, prices.reduction(tie.relation, direct)))
        if ways:
            moved, added = min(ways, key=sum)
            self.work += added * times
            self.missing[tie.result, f"{tie.number}"] = moved * times

    def _need(self, member: SSAValue, need: NamedLayout, prices: Prices, again: Rematerializer) -> None:
        if member not in self.flow:
            return
        value = self.flow.value_of(member)
        held = self.held[value.number]
        if held is None or agree(held, need):
            return
        price, anew = prices.conversion(held, need, bits_of(value.element)), again.price(member, need)
        costs = [cost for cost in (price, anew) if cost is not None]
        self.missing[member, need.key] = min(costs, default=0) * self._times(member)


def _stated(value: Value) -> NamedLayout | None:
    known = (as_written(statement.attribute, value.shape) for statement in value.stated)
    return next((held for held in known if held is not None), None)
