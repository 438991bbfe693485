"""What can be decided without search: a network is made smaller, and the cheapest values of the smaller one are enough.

- A value beside which a neighbour has no possible value goes.
- A value goes if another one of its variable is never dearer, whatever the neighbours take (it is dominated).
- A variable with one value left is its costs, added to those of its neighbours.
- A variable with at most two neighbours is eliminated: what it costs at best becomes a table over these two.

Here variable 0 would take its value 0, but costs of 9 beside either value of variable 1 speak against it. Then all is decided:

>>> network = Network([np.array([0.0, 5.0]), np.array([2.0, 3.0])], [{}, {}])
>>> network.add(0, 1, np.array([[9.0, 9.0], [0.0, 1.0]]))
>>> smaller = reduced(network, [0, 1])
>>> smaller.variables, smaller.constant, smaller.complete({})
([], 7.0, {1: 0, 0: 1})
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from layoutalg.flow.solver.elimination import combined
from layoutalg.flow.solver.network import Network

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ReducedNetwork", "reduced"]

_MOST_ENTRIES = 1 << 16
_MOST_COMPARED = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class _Decided:
    """A variable that went, the neighbours that it had then and their values, and its own value for each choice of those."""

    variable: int
    scope: tuple[int, ...]
    had: tuple[NDArray[np.intp], ...]
    best: NDArray[np.intp]


@dataclass(slots=True, eq=False)
class ReducedNetwork:
    """A smaller network with a constant, and how values of the larger one follow from those of the smaller one.

    >>> reduced(Network([np.array([3.0, 4.0])], [{}]), [0]).constant
    3.0
    """

    network: Network
    variables: list[int]
    """Those that are left, in the same order and by the same numbers."""
    kept: dict[int, NDArray[np.intp]]
    """Of each variable the values that are left, by their numbers in the larger network."""
    constant: float = 0.0
    emptied: int | None = None
    """A variable that has no possible value."""
    decided: list[_Decided] = field(default_factory=list["_Decided"])

    def complete(self, values: dict[int, int]) -> dict[int, int]:
        """Values of the larger network, from those of the variables that are left."""
        full = {one: int(self.kept[one][value]) for one, value in values.items()}
        for gone in reversed(self.decided):
            places = (int(had.searchsorted(full[other])) for other, had in zip(gone.scope, gone.had, strict=True))
            full[gone.variable] = int(gone.best[tuple(places)])
        return full


def reduced(network: Network, variables: Iterable[int], *, thorough: bool = True) -> ReducedNetwork:
    """The network of these variables alone, made smaller until nothing more follows.

    Only what is impossible, and variables with one value, go where it isn't to be thorough.
    """
    names = list(variables)
    inside = set(names)
    empty: list[NDArray[np.float64]] = [np.zeros(0)] * len(network.unary)
    own = Network(empty, [{} for _ in network.unary])
    for one in names:
        own.unary[one] = network.unary[one].copy()
        for other, table in network.neighbours[one].items():
            if other > one and other in inside:
                own.add(one, other, table)
    found = ReducedNetwork(own, names, {one: np.arange(len(network.unary[one])) for one in names})
    waiting, queued = deque(names), set(names)
    gone: set[int] = set()
    while waiting and found.emptied is None:
        one = waiting.popleft()
        queued.discard(one)
        if one in gone:
            continue
        around = list(own.neighbours[one])
        changed = _drop_impossible(found, one) or (thorough and _drop_dominated(found, one))
        if found.emptied is None and (len(own.unary[one]) == 1 or (thorough and _is_small(own, one))):
            gone.add(one)
            _eliminate(found, one)
            changed = True
        if changed:
            waiting += [other for other in around if other not in queued]
            queued.update(around)
    found.variables = [one for one in names if one not in gone]
    return found


def _is_small(network: Network, one: int) -> bool:
    """Whether a variable has at most two neighbours, and eliminating it takes a small table."""
    around = network.neighbours[one]
    sizes = (len(network.unary[other]) for other in (one, *around))
    return len(around) <= 2 and prod(sizes) <= _MOST_ENTRIES


def _drop_impossible(found: ReducedNetwork, one: int) -> bool:
    """Drop the values that are impossible, or beside which a neighbour has none; say whether there were any."""
    own = found.network
    stays = np.isfinite(own.unary[one])
    for table in own.neighbours[one].values():
        stays = stays & np.isfinite(table).any(axis=1)
    if stays.all():
        return False
    if stays.any():
        _keep(found, one, stays)
    else:
        found.emptied = one
    return True


def _drop_dominated(found: ReducedNetwork, one: int) -> bool:
    """Drop the values instead of which another one is never dearer; say whether there were any."""
    unary, around = found.network.unary[one], found.network.neighbours[one]
    size = len(unary)
    if size == 1 or any(size * table.size > _MOST_COMPARED for table in around.values()):
        return False
    dearer = unary[None, :] - unary[:, None]
    """[value, other value]: how much dearer the other one is at most."""
    for table in around.values():
        with np.errstate(invalid="ignore"):
            extra = table[None, :, :] - table[:, None, :]
        dearer = dearer + np.where(np.isinf(table)[:, None, :], -np.inf, extra).max(axis=2)
    earlier = np.tri(size, k=-1, dtype=bool)
    dominated = (dearer < 0) | ((dearer == 0) & ((dearer.T > 0) | earlier))
    np.fill_diagonal(dominated, False)
    stays = ~dominated.any(axis=1)
    if stays.all():
        return False
    _keep(found, one, stays)
    return True


def _keep(found: ReducedNetwork, one: int, stays: NDArray[np.bool_]) -> None:
    own = found.network
    own.unary[one] = own.unary[one][stays]
    found.kept[one] = found.kept[one][stays]
    for other, table in list(own.neighbours[one].items()):
        own.neighbours[one][other] = table[stays]
        own.neighbours[other][one] = own.neighbours[one][other].T


def _eliminate(found: ReducedNetwork, one: int) -> None:
    """Eliminate a variable with at most two neighbours, or with one value."""
    own = found.network
    around = own.neighbours[one]
    unary = own.unary[one]
    own.neighbours[one] = {}
    for other in around:
        del own.neighbours[other][one]
    if len(unary) == 1:
        found.constant += float(unary[0])
        for other, table in around.items():
            own.unary[other] = own.unary[other] + table[0]
        found.decided.append(_Decided(one, (), (), found.kept[one][0]))
        return
    factors = [((one,), unary), *(((one, other), table) for other, table in around.items())]
    scope, table = combined(factors, one, {name: at for at, name in enumerate((one, *around))})
    best = table.min(axis=0)
    had = tuple(found.kept[other] for other in scope[1:])
    found.decided.append(_Decided(one, scope[1:], had, found.kept[one][table.argmin(axis=0)]))
    match scope[1:]:
        case ():
            found.constant += float(best)
        case (other,):
            own.unary[other] = own.unary[other] + best
        case (first, second):
            own.add(first, second, best)
        case _:
            raise AssertionError(scope)
