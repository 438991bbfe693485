"""Who holds what, by counting: dicts from work-items to coordinates, made of `fragment_map` alone.

The definition, without any algebra of layouts: for each work-item and each element of the result that it holds, the operand's
elements that it is made of (by the operation's own index arithmetic, written here once more) must be among those that the
work-item holds. A sum has parts in many work-items; those that get the result must have one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

Element = tuple[int, ...]
Item = tuple[int, int]
Held = dict[Item, set[Element]]


def held_by_items(attribute: Any, shape: tuple[int, ...], machine: Any) -> Held:
    """What every (subgroup, lane) holds."""
    mapped = attribute.layout(shape, machine).fragment_map()
    subgroups, lanes = mapped.shape[:2]
    return {
        (sg, lane): {tuple(element) for element in mapped[sg, lane].tolist()}
        for sg, lane in product(range(subgroups), range(lanes))
    }


@dataclass(frozen=True)
class Operation:
    """An operation: its text, the shapes of operand and result, and which elements one of the result is made of."""

    text: str
    operand: tuple[int, ...]
    result: tuple[int, ...]
    made_of: Callable[[Element], Iterable[Element]]
    combines: bool = False
    other: str = "vector<1xf32>"
    """The type of a second operand, of which nothing is said."""


def lacks(operation: Operation, operand: Held, result: Held) -> set[tuple[Element, Item]]:
    """Every (element, work-item) that is needed and not held; of a sum, elements of the result without a part."""
    found: set[tuple[Element, Item]] = set()
    for item, elements in result.items():
        for element in elements:
            sources = list(operation.made_of(element))
            if operation.combines:
                if not any(source in operand[item] for source in sources):
                    found.add((element, item))
            else:
                found.update((source, item) for source in sources if source not in operand[item])
    return found
