"""Whether a conversion could be avoided: could all before it be made in its result's layout, or all after it go on as it was?

Triton's compiler does the first where it costs little (its pass `remove-layout-conversions`). A load can be made in any layout,
and only gets slower; a constant costs nothing; a product is made in the layout of its instruction, and a store can follow it.

>>> module = la.read('''
... #rows = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [1, 1], order = [1, 0]}>
... #columns = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [4, 8], warpsPerCTA = [1, 1], order = [0, 1]}>
... tt.func @f(%p: !tt.ptr<f32>, %q: tensor<16x16x!tt.ptr<f32>, #columns>) {
...   %t = tt.splat %p : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>, #rows>
...   %x = tt.load %t : tensor<16x16x!tt.ptr<f32>, #rows>
...   %z = ttg.convert_layout %x : tensor<16x16xf32, #rows> -> tensor<16x16xf32, #columns>
...   tt.store %q, %z : tensor<16x16x!tt.ptr<f32>, #columns>
...   tt.return }''')
>>> print(la.check(module, target="sm_80").conversions[0].remade)
avoidable in the result's layout: tt.load (line 6) is 2 of 128 bits, 4 lines each, and becomes 8 of 32 bits, 4 lines each

The walk goes back along the relations, from results to what they need of operands, until work-items have it already; and on
from operands to results, until a store.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from xdsl.ir import Block, OpResult, SSAValue

from layoutalg.compare.missing import missing
from layoutalg.core.elements import element_bits
from layoutalg.core.errors import LayoutError, SizeError
from layoutalg.core.layout import Layout
from layoutalg.core.plurals import counted
from layoutalg.flow.edges import projected
from layoutalg.flow.relations import given, needed
from layoutalg.flow.relations.regions import CALLS
from layoutalg.ir.places import Place, place_of
from layoutalg.memory.triton_access import global_access, global_memory, shared_access
from layoutalg.triton import to_linear_layout
from layoutalg.triton.encodings import Encoding
from layoutalg.triton.encodings.types import parse_typed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xdsl.ir import Operation

    from layoutalg.flow.graph import Flow, Value
    from layoutalg.flow.relations import Tie
    from layoutalg.flow.values import Candidate

__all__ = ["Remade", "RemadeAccess", "Remaking"]

_LOCAL = "ttg.local_load"
_LOADS = ("tt.load", "amdg.buffer_load", _LOCAL)
_STORES = ("tt.store", "amdg.buffer_store")
_STAY = frozenset((
    "tt.atomic_cas", "tt.atomic_rmw", "amdg.buffer_atomic_cas", "amdg.buffer_atomic_rmw", "amdg.in_thread_transpose", "tt.dot",
    "tt.dot_scaled", "ttng.warp_group_dot", "tt.return", *CALLS,
))  # fmt: skip
"""What may run once alone, makes its result in the layout of an instruction, or leaves the function."""
_REGIONS = ("scf.", "cf.")
_MOST_STEPS = 1 << 14
_AXES = ("sg", "lane")


@dataclass(frozen=True, slots=True)
class RemadeAccess:
    """A load or a store that would be made in another layout: what it is, and what it would be; empty where not counted.

    `again` says that somebody else needs the load as it is, so it would be loaded twice.

    >>> print(RemadeAccess(None, "tt.load", "1 of 64 bits", "2 of 32 bits", True))
    tt.load is 1 of 64 bits, and becomes 2 of 32 bits, beside the one that others need
    """

    place: Place | None
    operation: str
    before: str = ""
    after: str = ""
    again: bool = False

    def __str__(self) -> str:
        told = f" is {self.before}, and becomes {self.after}" if self.before else " moves"
        return f"{self.operation}{_at(self.place)}{told}{', beside the one that others need' * self.again}"


@dataclass(frozen=True, slots=True)
class Remade:
    """Whether a conversion could be avoided: the loads and stores that change, or the operation that keeps it (`keeper`).

    `side` is the layout in which everything would be: that of the conversion's "result", or of its "source".

    >>> print(Remade(keeper="tt.dot"))
    needed: tt.dot fixes the layout
    >>> print(Remade())
    avoidable in the result's layout
    """

    accesses: tuple[RemadeAccess, ...] = ()
    side: Literal["result", "source"] = "result"
    keeper: str = ""
    place: Place | None = None
    lines: tuple[int, ...] = ()
    """The lines of all operations that are made otherwise."""

    @property
    def possible(self) -> bool:
        """Whether nothing keeps the conversion.

        >>> Remade().possible
        True
        """
        return not self.keeper

    @property
    def facts(self) -> dict[str, Any]:
        """As data, for JSON.

        >>> Remade(keeper="tt.dot").facts
        {'possible': False, 'kept_by': 'tt.dot', 'line': None}
        """
        if self.keeper:
            return {"possible": False, "kept_by": self.keeper, "line": _line(self.place)}
        fields = ("operation", "before", "after", "again")
        made = [{"line": _line(one.place)} | {name: getattr(one, name) for name in fields} for one in self.accesses]
        return {"possible": True, "layout": self.side, "accesses": made, "lines": list(self.lines)}

    def __str__(self) -> str:
        if self.keeper:
            return f"needed: {self.keeper}{_at(self.place)} fixes the layout"
        told = "; ".join(map(str, self.accesses))
        return f"avoidable in the {self.side}'s layout{': ' * bool(told)}{told}"


def _line(place: Place | None) -> int | None:
    return None if place is None else place.line


def _at(place: Place | None) -> str:
    return "" if place is None else f" (line {place.line})"


class _Kept(Exception):
    """An operation that keeps its layout."""


class Remaking:
    """What could be made otherwise in one function.

    >>> from layoutalg.flow.graph import flow_of
    >>> flow = flow_of(la.read("gpu.barrier").parts[0].module)
    >>> Remaking(flow, {}, "sm_80").into
    {}
    """

    def __init__(self, flow: Flow, held: Mapping[int, Candidate], target: str) -> None:
        self.flow, self.held, self.target = flow, held, target
        self.left = _MOST_STEPS
        self.into: dict[int, list[Tie]] = {}
        self.used: dict[Operation, list[Tie]] = {}
        for tie in flow.ties:
            if tie.operand in flow and tie.result in flow:
                self.used.setdefault(tie.user, []).append(tie)
                if tie.beside is None:
                    self.into.setdefault(flow.value_of(tie.result).number, []).append(tie)

    def of(self, conversion: Operation) -> Remade | None:
        """Whether a conversion could be avoided; None where it takes too long to tell, or has no closed form."""
        before, after = (self.flow.value_of(one) for one in (conversion.operands[0], conversion.results[0]))
        source, result = self.held.get(before.number), self.held.get(after.number)
        if source is None or result is None:
            return None
        try:
            walk = _Walk(self, conversion)
            try:
                walk.back(before, result.layout)
                return Remade(tuple(walk.accesses()), lines=walk.lines)
            except _Kept as kept:
                keeper: Operation = kept.args[0]
            walk = _Walk(self, conversion)
            try:
                walk.on(after, source.layout)
                return Remade(tuple(walk.accesses()), "source", lines=walk.lines)
            except _Kept:
                return Remade((), "result", keeper.name, place_of(keeper))
        except LayoutError:
            return None


class _Walk:
    """What has to be made otherwise for one conversion to go: the values with their new layouts, and the stores."""

    def __init__(self, around: Remaking, conversion: Operation) -> None:
        self.around, self.flow = around, around.flow
        self.made: dict[int, Layout] = {}
        self.conversion, self.users = conversion, {conversion}
        self.stores: list[tuple[Operation, int]] = []

    def _make(self, value: Value, layout: Layout) -> None:
        self.around.left -= 1
        if self.around.left < 0:
            raise SizeError(f"over {_MOST_STEPS} values")
        self.made[value.number] = layout

    def back(self, value: Value, layout: Layout) -> None:
        """All that has to be made otherwise for a value in this layout; raises `_Kept` where something cannot be."""
        waiting = [(value, layout)]
        while waiting:
            value, wanted = waiting.pop()
            held = self.around.held.get(value.number)
            has = held is not None and missing(projected(wanted, _AXES), projected(held.layout, _AXES)) is None
            if value.number in self.made or has:
                continue
            self._make(value, wanted)
            ties = self.around.into.get(value.number, [])
            for maker in map(_maker, value.members):
                if not maker.name.startswith(_REGIONS) and maker.name != _LOCAL and value.makes is None:
                    _check(maker, [tie for tie in ties if tie.user is maker])
            waiting += [(self.flow.value_of(tie.operand), needed(tie.relation, wanted)) for tie in ties]

    def on(self, value: Value, layout: Layout) -> None:
        """All that has to be made otherwise after a value in this layout, up to the stores."""
        waiting = [(value, layout)]
        while waiting:
            value, held = waiting.pop()
            if value.number in self.made:
                continue
            self._make(value, held)
            for use in (use for member in value.members for use in member.uses):
                user = use.operation
                ties = [tie for tie in self.around.used.get(user, ()) if tie.number == use.index]
                self.users.add(user)
                if user.name in _STORES:
                    self.stores.append((user, value.number))
                    for operand in user.operands:
                        if operand in self.flow and operand not in value.members:
                            self.back(self.flow.value_of(operand), held)
                    continue
                if user.name.startswith(_REGIONS):
                    raise _Kept(user)
                _check(user, ties)
                for tie in ties:
                    result, spread = self.flow.value_of(tie.result), given(tie.relation, held)
                    for other in self.around.into.get(result.number, ()):
                        if other.operand not in value.members:
                            self.back(self.flow.value_of(other.operand), needed(other.relation, spread))
                    waiting.append((result, spread))

    def accesses(self) -> Iterator[RemadeAccess]:
        """The loads and stores that change."""
        again = self._needed_still()
        for number in sorted(self.made):
            for member in self.flow.values[number].members:
                maker = _maker(member)
                if isinstance(member, OpResult) and maker.name in _LOADS:
                    told = self._told(maker, number)
                    yield RemadeAccess(place_of(maker), maker.name, *told, number in again)
        for store, number in self.stores:
            yield RemadeAccess(place_of(store), store.name, *self._told(store, number))

    @property
    def lines(self) -> tuple[int, ...]:
        """The lines of the operations that are made otherwise, the stores with them."""
        makers = {_maker(member) for number in self.made for member in self.flow.values[number].members}
        places = [place_of(one) for one in {*makers, *(store for store, _ in self.stores)} - {self.conversion}]
        return tuple(sorted({place.line for place in places if place is not None}))

    def _told(self, access: Operation, number: int) -> tuple[str, str]:
        value, held, layout = self.flow.values[number], self.around.held.get(number), self.made[number]
        if held is None or not isinstance(held.attribute, Encoding):
            return "", ""
        try:
            if access.name != _LOCAL:
                bits = 64 if value.element.startswith("!tt.ptr") else element_bits(value.element)
                return _global(held.attribute, layout, value.shape, bits)
            memory = parse_typed(str(access.operands[0].type)).encoding
            return _shared(held.attribute, layout, memory, value.shape, value.element, self.around.target)
        except LayoutError:
            return "", ""

    def _needed_still(self) -> set[int]:
        """The values among these that others need as they are, and what those are made of."""
        found = {number for number in self.made if not all(map(self._is_inside, self._uses(number)))}
        waiting = list(found)
        while waiting:
            for tie in self.around.into.get(waiting.pop(), ()):
                before = self.flow.value_of(tie.operand).number
                if before in self.made and before not in found:
                    found.add(before)
                    waiting.append(before)
        return found

    def _uses(self, number: int) -> Iterator[Operation]:
        return (use.operation for member in self.flow.values[number].members for use in member.uses)

    def _is_inside(self, user: Operation) -> bool:
        """Whether an operation goes, or makes nothing but what is made otherwise."""
        ends = [self.flow.value_of(tie.result).number for tie in self.around.used.get(user, ())]
        return user in self.users or (bool(ends) and all(number in self.made for number in ends))


def _maker(member: SSAValue) -> Operation:
    owner = member.owner
    found = owner.parent_op() if isinstance(owner, Block) else owner
    assert found is not None
    return found


def _check(operation: Operation, ties: list[Tie]) -> None:
    """Raises `_Kept` for an operation whose operands and results cannot be spread otherwise."""
    held: Any = operation
    said: Mapping[str, Any] = held.properties
    volatile, pure = said.get("isVolatile"), said.get("pure")
    effects = (volatile is not None and bool(volatile.value.data)) or (pure is not None and not pure.value.data)
    moves = not ties or any(tie.reach != "work-item" or tie.combines for tie in ties)
    if operation.name in _STAY or "efficient_layout" in said or effects or moves:
        raise _Kept(operation)


@lru_cache(maxsize=1024)
def _global(held: Encoding, layout: Layout, shape: tuple[int, ...], bits: int) -> tuple[str, str]:
    memory = global_memory(held, shape)
    found = [global_access(one, shape, bits, memory) for one in (held, layout)]
    told = [f"{one.instructions} of {one.bits} bits, {counted(one.lines, 'line')} each" for one in found]
    return told[0], told[1]


@lru_cache(maxsize=1024)
def _shared(
    held: Encoding, layout: Layout, memory: Encoding, shape: tuple[int, ...], element: str, target: str
) -> tuple[str, str]:
    found = [shared_access(one, memory, shape, element, target) for one in (held, to_linear_layout(layout))]
    return found[0].text, found[1].text
