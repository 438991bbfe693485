"""Levels that a layout leaves open, as the other end of a conversion says them, or another value of the same operation.

A layout may say which subgroup has which block, and leave open which lane of it has which element. Where a conversion leads
from such a layout to one that says lanes, or back, both ends have the same lanes, as in the price of a conversion:

>>> from layoutalg.ir import read_module
>>> from layoutalg.flow.graph import flows_of
>>> from layoutalg.flow.values import solved
>>> text = '''func.func @f(%x: vector<64x32xf32>) {
...   %y = xegpu.convert_layout %x <{
...     input_layout = #xegpu.layout<sg_layout = [4, 1], sg_data = [16, 32], lane_layout = [1, 16], lane_data = [1, 1]>,
...     target_layout = #xegpu.layout<sg_layout = [4, 1], sg_data = [16, 32]>}> : vector<64x32xf32>
...   func.return }'''
>>> [flow] = flows_of(read_module(text))
>>> for number, one in solved(flow, Machine(lanes=16, subgroups=4)).of.items():
...     print(number, *sorted(one.levels), one.layout)
0 lane sg d0 = 4@sg 16@reg:2, d1 = 2@reg 16@lane
1 lane sg d0 = 4@sg 16@reg:2, d1 = 2@reg 16@lane

What the two ends are is asked of `conversion.ends`: `completed` puts the levels of one layout into the other, and where they do
not fit, `ends_of` deals the lanes of a conversion's end to each block. A level that nobody around a value says stays open.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from xdsl.ir import Operation

from layoutalg.conversion.ends import completed, ends_of
from layoutalg.core.errors import LayoutError
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Distributed, Machine
from layoutalg.flow.edges import Edge, projected
from layoutalg.flow.levels import PartlySaid, layout_at, levels_of
from layoutalg.flow.value_candidates import Candidate, ValueCandidates, stated_candidate
from layoutalg.flow.written_layouts import CONVERTING, WrittenLayout, called

__all__ = ["OpenLevels", "as_taken", "ends_in", "operand_statements", "with_levels_of"]

_BOTH = frozenset(("sg", "lane"))
_CACHED = 1 << 14


@dataclass(frozen=True, slots=True)
class OpenLevels:
    """The values of a flow whose layouts leave a level open, and the edges along which they may get it.

    >>> from layoutalg.ir import read_module
    >>> from layoutalg.flow.graph import flow_of
    >>> OpenLevels.of(ValueCandidates(flow_of(read_module("gpu.barrier")), Machine(lanes=16))).offers()
    {}
    """

    search: ValueCandidates
    edges: tuple[Edge, ...]

    @classmethod
    def of(cls, search: ValueCandidates) -> OpenLevels:
        """The edges along which both ends are one tensor, conversions too."""
        return cls(search, tuple([edge for edge in search.edges if edge.equal and _keeps(edge)]))

    def offers(self) -> dict[int, list[Candidate]]:
        """For each value that leaves a level open, its layouts completed from its neighbours."""
        of, wanted = self.search.of, self.search.wanted
        spoken = frozenset[str]().union(*(one.levels for found in of for one in found.values()))
        spoken = spoken.union(*(one.levels for found in wanted.values() for one in found))
        lacking = [[one for one in found.values() if not one.levels >= spoken] for found in of]
        offers: dict[int, list[Candidate]] = {}
        for number, own in enumerate(lacking):
            for one in own:  # of its own layouts, some may say more
                self._offer(offers, number, one, of[number].values(), one.how)
        for edge in self.edges if any(lacking) else ():
            taken = [one for one in wanted.get(edge.operand, ()) if _is_of(one, edge)]
            before, after = list(of[edge.operand].values()), list(of[edge.result].values())
            deal = called(edge.tie.user) in CONVERTING
            for number, beside in ((edge.operand, after), (edge.result, taken + before)):
                if lacking[number] and len(lacking[number]) == len(of[number]):
                    for one in lacking[number]:
                        how = "wanted" if number == edge.operand else "carried"
                        self._offer(offers, number, one, beside, how, deal=deal)
        return {number: made for number, made in offers.items() if made}

    def _offer(
        self,
        offers: dict[int, list[Candidate]],
        number: int,
        own: Candidate,
        beside: Iterable[Candidate],
        how: Literal["stated", "carried", "wanted"],
        *,
        deal: bool = False,
    ) -> None:
        """Offer a value its layout with the levels that each of these has."""
        for other in beside:
            one = with_levels_of(own, other, self.search.machine, deal=deal)
            if one is not own:
                whole = Candidate(one.layout, one.levels, one.attribute, how, other.statement)
                offers.setdefault(number, []).append(whole)


def _keeps(edge: Edge) -> bool:
    return edge.tie.reach == "work-item" or called(edge.tie.user) in CONVERTING


def _is_of(want: Candidate, edge: Edge) -> bool:
    statement = want.statement
    return statement is not None and statement.user is edge.tie.user and statement.number == edge.tie.number


def with_levels_of(own: Candidate, other: Candidate, machine: Machine, *, deal: bool = True) -> Candidate:
    """A layout, completed with the levels that it leaves open and another layout of the same tensor has.

    First the attributes are put together, then the layouts of each level. Where neither fits, `deal` deals the lanes to each
    subgroup's block, as in the price of a conversion: right at a conversion, and a guess anywhere else.

    >>> blocks = Candidate(Layout.parse("d0 = 4@sg 2@reg | replicas 16@lane"), frozenset({"sg"}), None, "stated", None)
    >>> lanes = Candidate(Layout.parse("d0 = 4@reg 2@lane | replicas 8@lane:2 4@sg"), frozenset({"lane"}), None, "stated", None)
    >>> print(with_levels_of(blocks, lanes, Machine(lanes=16, subgroups=4)).layout)
    d0 = 4@sg 2@lane | replicas 8@lane:2
    """
    if not other.levels - own.levels or own.layout.shape != other.layout.shape:
        return own
    shape = tuple(int(size) for size in own.layout.shape)
    found = _filled(_said(own), _said(other), shape, machine, deal)
    if found is None:
        return own
    layout, levels, attribute = found
    kept = tuple([axis for axis in ("sg", "lane") if axis in own.levels])
    if kept and projected(layout, kept) != projected(own.layout, kept):
        return own
    return Candidate(layout, levels, attribute, own.how, own.statement)


def _said(one: Candidate) -> Distributed:
    return one.attribute if one.attribute is not None else PartlySaid.of(one.layout, one.levels)


@lru_cache(maxsize=_CACHED)
def _filled(
    own: Distributed, other: Distributed, shape: tuple[int, ...], machine: Machine, deal: bool
) -> tuple[Layout, frozenset[str], Distributed | None] | None:
    try:
        whole: Distributed = completed(own, other, shape, machine)[0][0]
        if whole == own:
            parts = [PartlySaid.of(layout_at(one, shape, machine), one.levels & _BOTH) for one in (own, other)]
            whole = completed(parts[0], parts[1], shape, machine)[0][0]
            if whole == parts[0]:
                if not deal or "lane" in own.levels or "lane" not in other.levels:
                    return None
                return ends_of(own, other, shape, machine).source, (own.levels | {"lane"}) & _BOTH, None
        attribute = None if isinstance(whole, PartlySaid) else whole
        return layout_at(whole, shape, machine), whole.levels & _BOTH, attribute
    except LayoutError:
        return None


def ends_in(
    held: Candidate | None, taken: Candidate | None, made: Candidate | None, machine: Machine
) -> tuple[Candidate, Candidate] | None:
    """The two ends of a conversion: the layout that it converts, and the one that it makes.

    `held` and `made` are the layouts that are chosen for the operand and the result, `taken` is what the conversion says of its
    operand. If the operand is held with more levels than the conversion says, and they agree, the held layout is converted.
    None without a layout.
    """
    taken = taken or held
    if taken is None or made is None:
        return None
    if held is not None and held.levels >= taken.levels and _agree(held, taken):
        taken = held
    for other in (made, held):
        taken = taken if other is None else with_levels_of(taken, other, machine)
    return taken, with_levels_of(made, taken, machine)


def as_taken(held: Candidate | None, statement: WrittenLayout, shape: tuple[int, ...], machine: Machine) -> Distributed:
    """The layout that an operation states for an operand, completed from how the operand is held."""
    taken = stated_candidate(statement, shape, machine)
    if taken is None or held is None or not held.levels - taken.levels:
        return statement.attribute
    ends = ends_in(held, taken, held, machine)
    return statement.attribute if ends is None else ends[0].said


def operand_statements(statements: Iterable[WrittenLayout]) -> dict[tuple[Operation, int | None], WrittenLayout]:
    """What is said of each operand: by the statement with most levels, and by the operation before its descriptor."""
    found: dict[tuple[Operation, int | None], WrittenLayout] = {}
    for one in statements:
        other = found.get((one.user, one.number))
        if other is None or len(levels_of(one.attribute) & _BOTH) > len(levels_of(other.attribute) & _BOTH):
            found[one.user, one.number] = one
    return found


def _agree(one: Candidate, other: Candidate) -> bool:
    axes = tuple([axis for axis in ("sg", "lane") if axis in other.levels])
    return not axes or projected(one.layout, axes) == projected(other.layout, axes)
