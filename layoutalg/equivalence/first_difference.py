"""Which operation first computes a different number: the values of both versions, followed back from one wrong element.

The data is random, so a number tells where it comes from. From the store of the wrong element the first version is followed
back along its ties, and every number on the way is looked for among all that the second version ever computes. The first
operation (in the order of the text) whose number is missing there is where the two part.

Where none is missing, nothing was computed wrongly, but something went to another place. Then the numbers are looked for among
those of the work-item that writes the wrong element. Others may have computed them for it, so the last that it has decides: the
operation after that is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from layoutalg.core.errors import LayoutError
from layoutalg.equivalence.data import copies, kernel_of
from layoutalg.flow.graph import flow_of
from layoutalg.flow.relations import Tie, shape_of
from layoutalg.ir.places import Place, place_of
from layoutalg.simulate import launch

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

__all__ = ["Culprit", "culprit_of"]

_MOST_TRACED = 1 << 24
"""Elements of all values of a kernel on the grid: more are not traced."""
_MOST_FOLLOWED = 1 << 12
_MOST_SOURCES = 256
_CLOSE = {1: 1e-1, 2: 4e-3, 4: 1e-5, 8: 1e-12}
"""By the bytes of an element, relative: what a sum of another order may differ."""

Index = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Culprit:
    """The operation of the first version at which the two part, and its counterpart in the second.

    `value` is the number that it computes for the wrong element. With `moved` all numbers are there, in other places.

    >>> print(Culprit("math.exp", Place("a.mlir", 6, 8), Place("b.mlir", 9, 10), 1.25))
    'math.exp' op at a.mlir:6:8 (b.mlir:9:10) is the first that differs: it computes 1.25, which the second version never has
    >>> print(Culprit("xegpu.store_nd", Place("a.mlir", 7, 3), None, 1.25, moved=True))
    'xegpu.store_nd' op at a.mlir:7:3: both versions compute all numbers, but here 1.25 goes to, or comes from, another place
    """

    operation: str
    before: Place | None
    after: Place | None
    value: float
    moved: bool = False

    def __str__(self) -> str:
        counterpart = "" if self.after is None else f" ({self.after})"
        where = f"'{self.operation}' op at {self.before}{counterpart}"
        if self.moved:
            return f"{where}: both versions compute all numbers, but here {self.told}"
        return f"{where} is the first that differs: it {self.told}"

    @property
    def told(self) -> str:
        """What it does, without its name.

        >>> Culprit("math.exp", None, None, 1.25).told
        'computes 1.25, which the second version never has'
        """
        number = f"{self.value:.6g}"
        if self.moved:
            return f"{number} goes to, or comes from, another place"
        return f"computes {number}, which the second version never has"


def culprit_of(
    before: ModuleOp,
    after: ModuleOp,
    arguments: Sequence[Any],
    grid: Sequence[int],
    kernel: str | None,
    target: str,
    wrong: tuple[float, float],
) -> Culprit | None:
    """Where one element parts that is `wrong` (its number before, and after); None where that can't be told.

    That is so for kernels with more than 2^24 elements of values, and for numbers that no store of the first version has.
    """
    traces = [_traced(module, arguments, grid, kernel, target) for module in (before, after)]
    old, new = traces
    if old is None or new is None:
        return None
    known = _sorted_numbers(new.values())
    function = kernel_of(before, kernel)
    order = {operation: number for number, operation in enumerate(function.walk())}
    visited = sorted(_followed(function, old, wrong[0]), key=lambda one: order.get(one.operation, 0))
    missing = [one for one in visited if not _is_among(known, one)]
    if missing:
        return _culprit(missing[0], function, kernel_of(after, kernel), moved=False)
    found = _never_there(kernel_of(after, kernel), new, visited, wrong[1])
    return None if found is None else _culprit(found, function, kernel_of(after, kernel), moved=True)


def _never_there(
    after: Operation, trace: Mapping[SSAValue, Sequence[NDArray[Any]]], visited: Sequence[_Visited], number: float
) -> _Visited | None:
    """The first visited operation from which on the work-item that writes the wrong number lacks all the right ones."""
    start = _first_where(_stored(after), trace, number)
    if start is None:
        return visited[-1] if visited else None
    item = start[1]
    own = _sorted_numbers([array[_within(item, array.shape)] for array in times] for times in trace.values())
    never: _Visited | None = None
    for one in reversed(visited):
        if _is_among(own, one):
            break
        never = one
    return never or (visited[-1] if visited else None)


def _stored(function: Operation) -> list[SSAValue]:
    """What is stored, the last store first."""
    stores = [op for op in function.walk() if "store" in op.name or "write" in op.name]
    return [value for store in reversed(stores) for value in store.operands]


@dataclass(frozen=True, slots=True)
class _Visited:
    operation: Operation
    number: float
    close: float


def _culprit(found: _Visited, before: Operation, after: Operation, *, moved: bool) -> Culprit:
    """With the operation of `after` that has the same name, and the same number among those of this name (or the first)."""
    named = [[op for op in function.walk() if op.name == found.operation.name] for function in (before, after)]
    at = named[0].index(found.operation) if found.operation in named[0] else 0
    same_count = len(named[0]) == len(named[1])
    counterpart = (named[1][at] if same_count else named[1][0]) if named[1] else None
    return Culprit(
        found.operation.name,
        place_of(found.operation),
        None if counterpart is None else place_of(counterpart),
        found.number,
        moved,
    )


def _traced(
    module: ModuleOp, arguments: Sequence[Any], grid: Sequence[int], kernel: str | None, target: str
) -> Mapping[SSAValue, Sequence[NDArray[Any]]] | None:
    """Every number that the kernel computes, by value: one array [workgroup, subgroup, lane, ...] each time."""
    function = kernel_of(module, kernel)
    values = [
        value
        for operation in function.walk()
        for value in operation.results
        if isinstance(_element(value), AnyFloat | IntegerType | IndexType)
    ]
    if prod(grid) * sum(prod(shape_of(value) or (1,)) for value in values) > _MOST_TRACED:
        return None
    names: dict[SSAValue, str] = {value: f"%{number}" for number, value in enumerate(values)}
    given = copies(arguments)
    try:
        outcome = launch(module, given, grid, kernel=kernel, target=target, trace=names)
    except LayoutError:
        return None
    return {value: outcome.trace.get(name, ()) for value, name in names.items()}


def _element(value: SSAValue) -> Attribute:
    kind: Any = value.type
    return getattr(kind, "element_type", kind) if shape_of(value) is not None else kind


def _followed(function: Operation, trace: Mapping[SSAValue, Sequence[NDArray[Any]]], number: float) -> list[_Visited]:
    """What the wrong element is made of: the numbers on the way back from the store that writes it."""
    flow = flow_of(function)
    ties: dict[SSAValue, list[Tie]] = {}
    for tie in flow.ties:
        ties.setdefault(tie.result, []).append(tie)
    visited: list[_Visited] = []
    waiting: list[tuple[SSAValue, Index, Index]] = []
    start = _first_where(_stored(function), trace, number)
    if start is not None:
        waiting.append(start)
        close = max(_CLOSE[array.dtype.itemsize] for array in trace[start[0]])
        visited.extend(_Visited(use.operation, number, close) for use in start[0].uses if not use.operation.results)
    seen: set[tuple[int, Index]] = set()
    while waiting and len(seen) < _MOST_FOLLOWED:
        value, item, at = waiting.pop()
        if (id(value), at) in seen:
            continue
        seen.add((id(value), at))
        owner = value.owner
        for array in trace.get(value, ()):
            held = array[_within((*item, *at), array.shape)]
            if not isinstance(owner, Block):
                visited.append(_Visited(owner, float(held), _CLOSE[array.dtype.itemsize]))
        alike = flow.value_of(value).members if value in flow else [value]
        waiting.extend((member, item, at) for member in alike if member is not value)
        for tie in ties.get(value, ()):
            waiting.extend((tie.operand, item, source) for source in _sources(tie, at))
    return visited


def _first_where(
    values: Sequence[SSAValue], trace: Mapping[SSAValue, Sequence[NDArray[Any]]], number: float
) -> tuple[SSAValue, Index, Index] | None:
    """Where the first value that has a number has it: the work-item and the element."""
    for value in values:
        for array in trace.get(value, ()):
            found = np.argwhere(array.astype(np.float64) == number)
            if len(found):
                index = tuple(found[0].tolist())
                return value, index[:3], index[3:]
    return None


def _within(index: Index, shape: Index) -> Index:
    """An axis of one is the same for all."""
    return tuple(n if n < size else 0 for n, size in zip(index, shape, strict=False))


def _sources(tie: Tie, at: Index) -> list[Index]:
    """The elements of the operand that one element of the result is made of."""
    relation = tie.relation
    axes = relation.codomain
    rank = len(shape_of(tie.operand) or ())
    try:
        found = relation.owners(at)[:_MOST_SOURCES]
    except LayoutError:
        return []  # an element that the relation does not speak of
    named = [dict(zip(axes, one, strict=True)) for one in found]
    return [tuple(one.get(f"d{dim}", 0) for dim in range(rank)) for one in named]


def _sorted_numbers(values: Any) -> NDArray[np.float64]:
    parts = [array.astype(np.float64).reshape(-1) for times in values for array in times]
    return np.unique(np.concatenate(parts)) if parts else np.empty(0)


def _is_among(known: NDArray[np.float64], one: _Visited) -> bool:
    """Whether a number is there, up to rounding; what is not finite can't be told apart."""
    number = one.number
    if not isfinite(number) or number == 0:
        return True
    reach = abs(number) * one.close
    at = int(np.searchsorted(known, number - reach))
    return at < len(known) and bool(known[at] <= number + reach)
