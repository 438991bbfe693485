"""Random programs of several operations, some of whose values state a layout, and who can hold what in them, by counting.

The referee knows sets of (work-item, element) and the index arithmetic of each operation, and no algebra. A value with a layout
is held as that says. Any other is held by whoever can make it: work-items that hold all that an element is made of, for a sum
those that hold a part. A program is right when every layout that is stated can be made so; of the other values, every element
can be made by somebody, and something by every work-item.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import product
from math import prod

import layoutalg as la
from tests.checking.interpreter import Element, Held, Item, held_by_items

MACHINE = la.Machine(lanes=4, subgroups=2)
ITEMS: list[Item] = list(product(range(2), range(4)))
Sources = Callable[[int, Element], Iterable[Element]]


@dataclass(frozen=True)
class Step:
    """One value: its text (with `{0}`, `{1}` for operands and `{L}` for the layout), shape, operands, and what it is made of.

    `made_of(operand, element)` are the elements of an operand that an element is made of; `combines`: parts are added up.
    """

    text: str
    shape: tuple[int, ...]
    operands: tuple[int, ...]
    made_of: Sources
    layout: la.LayoutAttr | None = None
    combines: bool = False
    commutes: bool = False


Program = tuple[Step, ...]


def _type(shape: tuple[int, ...]) -> str:
    return f"vector<{'x'.join(map(str, shape))}xf32>"


def layout(rng: random.Random, shape: tuple[int, ...], levels: str) -> la.LayoutAttr:
    """A layout at these levels ("sg", "lane" or both) that fits the shape."""
    rank = len(shape)

    def grid(total: int) -> tuple[int, ...]:
        found = [1] * rank
        while prod(found) < total:
            found[rng.randrange(rank)] *= 2
        return tuple(found)

    while True:
        fields: dict[str, tuple[int, ...]] = {}
        if "sg" in levels:
            fields["sg_layout"] = grid(rng.choice((1, 2, 2)))
            fields["sg_data"] = tuple(max(n // c, 1) for n, c in zip(shape, fields["sg_layout"], strict=True))
        if "lane" in levels:
            fields["lane_layout"] = grid(rng.choice((1, 2, 4, 4)))
            fields["lane_data"] = tuple(rng.choice((1, 1, 2)) for _ in shape)
        if rng.random() < 0.3:
            fields["order"] = tuple(rng.sample(range(rank), rank))
        found = la.LayoutAttr(**fields)
        try:
            if found.layout(shape, MACHINE).shape == shape and found.check(shape, 24) is None:
                return found
        except la.LayoutError:
            continue


def program(rng: random.Random) -> Program:
    """A few sources, then operations on any of the values so far; about half of the values state a layout."""
    levels = rng.choice((("sg",), ("lane",), ("sg", "lane")))
    steps: list[Step] = []
    for _ in range(rng.choice((1, 2))):
        shape = rng.choice(((4, 4), (4, 8), (8,)))
        if rng.random() < 0.5:
            text = f"arith.constant {{L}} dense<1.0> : {_type(shape)}"
        else:
            zeros = ", ".join(["%c0"] * len(shape))
            text = f"vector.load %m{len(shape)}[{zeros}] {{L}} : memref<{'x'.join(['64'] * len(shape))}xf32>, {_type(shape)}"
        steps.append(Step(text, shape, (), lambda operand, element: ()))
    for _ in range(rng.randrange(2, 7)):
        steps.append(_operation(rng, steps))
    stated = rng.choice((0.4, 0.7, 1.0))
    pool: dict[tuple[int, ...], list[la.LayoutAttr]] = {}
    for number, step in enumerate(steps):
        if rng.random() < stated:
            known = pool.setdefault(step.shape, [])
            # Layouts that were used before make programs that are right frequent.
            one = rng.choice(known) if known and rng.random() < 0.6 else layout(rng, step.shape, "".join(levels))
            known.append(one)
            steps[number] = replace(step, layout=one)
    return tuple(steps)


def _operation(rng: random.Random, steps: list[Step]) -> Step:
    first = rng.randrange(len(steps))
    shape = steps[first].shape
    alike = [number for number, step in enumerate(steps) if step.shape == shape]
    kinds = ["exp", "add", "add"]
    kinds += ["transpose", "sum"] if len(shape) == 2 else ["broadcast"]
    kind = rng.choice(kinds)
    if kind == "exp":
        return Step(f"math.exp {{0}} {{L}} : {_type(shape)}", shape, (first,), lambda operand, element: [element])
    if kind == "add":
        pair = (first, rng.choice(alike))
        text = f"arith.addf {{0}}, {{1}} {{L}} : {_type(shape)}"
        return Step(text, shape, pair, lambda operand, element: [element], commutes=True)
    if kind == "transpose":
        text = f"vector.transpose {{0}}, [1, 0] {{L}} : {_type(shape)} to {_type(shape[::-1])}"
        return Step(text, shape[::-1], (first,), lambda operand, element: [element[::-1]])
    if kind == "broadcast":
        made = (rng.choice((2, 4)), *shape)
        text = f"vector.broadcast {{0}} {{L}} : {_type(shape)} to {_type(made)}"
        return Step(text, made, (first,), lambda operand, element: [element[1:]])
    dim = rng.randrange(2)
    kept = (shape[1 - dim],)
    text = f"vector.multi_reduction <add>, {{0}}, %z{kept[0]} {{L}} [{dim}] : {_type(shape)} to {_type(kept)}"

    def row(operand: int, element: Element) -> list[Element]:
        return [(one, element[0]) if dim == 0 else (element[0], one) for one in range(shape[dim])]

    return Step(text, kept, (first,), row, combines=True)


def text_of(steps: Program, order: Iterable[int] | None = None) -> str:
    """The program as MLIR, its lines in this order."""
    lines = [
        "func.func @f(%m1: memref<64xf32>, %m2: memref<64x64xf32>) attributes {intel_reqd_sub_group_size = 4 : i32,",
        " known_block_size = array<i32: 8, 1, 1>} {",
        "%c0 = arith.constant 0 : index",
        *[f"%z{n} = arith.constant dense<0.0> : vector<{n}xf32>" for n in (2, 4, 8)],
    ]
    for number in range(len(steps)) if order is None else order:
        step = steps[number]
        said = "" if step.layout is None else f"{{layout_result_0 = {step.layout}}}"
        line = step.text.replace("{L}", said)
        for place, operand in enumerate(step.operands):
            line = line.replace(f"{{{place}}}", f"%v{operand}")
        lines.append(f"%v{number} = {line}")
    return "\n".join([*lines, "func.return", "}"])


def is_right(steps: Program) -> bool:
    """The referee's verdict."""
    held: list[Held] = []
    right = True
    for step in steps:
        made = _makeable(step, held)
        if step.layout is None:
            # Layouts give every work-item as many elements, and each element to somebody.
            right = right and all(made.values()) and len(set().union(*made.values())) == prod(step.shape)
            held.append(made)
            continue
        stated = held_by_items(step.layout, step.shape, MACHINE)
        stated = {item: stated.get(item, set()) for item in ITEMS}
        right = right and all(stated[item] <= made[item] for item in ITEMS)
        held.append(stated)
    return right


def _makeable(step: Step, held: list[Held]) -> Held:
    """Who can make what: everybody everything of a source, and of an operation whoever holds what it takes."""
    elements = list(product(*map(range, step.shape)))
    every = all if not step.combines else any
    return {
        item: {
            element
            for element in elements
            if all(
                every(source in held[operand][item] for source in step.made_of(place, element))
                for place, operand in enumerate(step.operands)
            )
        }
        for item in ITEMS
    }


def swapped(steps: Program) -> Program:
    """The program with the operands of every operation that commutes exchanged."""
    return tuple(replace(step, operands=step.operands[::-1]) if step.commutes else step for step in steps)


def shuffled(rng: random.Random, steps: Program) -> list[int]:
    """Another order of the lines in which every value stands before its uses."""
    left, order = set(range(len(steps))), list[int]()
    while left:
        ready = sorted(n for n in left if not left.intersection(steps[n].operands))
        order.append(rng.choice(ready))
        left.discard(order[-1])
    return order


def without_each(steps: Program) -> Iterable[Program]:
    """The program without one of its layouts, for each of them."""
    for number, step in enumerate(steps):
        if step.layout is not None:
            yield (*steps[:number], replace(step, layout=None), *steps[number + 1 :])
