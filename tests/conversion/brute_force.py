"""What conversions must do, element by element: the words that lanes must receive and send, and the check of a plan.

What each slot holds comes from `fragment_map`, which the compilers' tables check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import layoutalg as la
from layoutalg.conversion import ConversionPlan, Load, Select, Shuffle, Store, convert
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.strategies.rerouting import Schedule

Slots = NDArray[np.int64]
L = la.Layout.parse


def numbers(layout: la.Layout) -> Slots:
    """The number of the element in every slot, `[sg, lane, reg]`."""
    held = layout.fragment_map().astype(np.int64)
    found = np.zeros(held.shape[:-1], np.int64)
    for d, size in enumerate(layout.shape):
        found = found * size + held[..., d]
    return found


def values(count: int, bits: int, seed: int) -> NDArray[Any]:
    return np.random.default_rng(seed).integers(0, 256, (count, bits // 8), np.uint8).view(f"u{bits // 8}")[:, 0]


def must_receive(source: Slots, destination: Slots, bits: int) -> int:
    """The words that some lane must receive: element by element, from the nearest copy, packed by sender.

    Where an element has several copies, those lanes are taken that are asked for most already.
    """
    worst = 0
    for before, after in zip(source, destination, strict=True):
        holders: dict[int, set[int]] = {}
        for lane, row in enumerate(before.tolist()):
            for element in row:
                holders.setdefault(element, set()).add(lane)
        for lane, row in enumerate(after.tolist()):
            needed = [element for element in set(row) if lane not in holders.get(element, set())]
            asked: Counter[int] = Counter()
            while needed:  # the lane that has most of what is left
                offers = Counter(holder for element in needed for holder in holders.get(element, {-1}))
                best = max(offers, key=lambda one: (offers[one], -one))
                taken = [element for element in needed if best in holders.get(element, {-1})]
                asked[best] += len(taken)
                needed = [element for element in needed if element not in taken]
            worst = max(worst, sum(-(-count * bits // 32) for count in asked.values()))
    return worst


def must_send(source: Slots, destination: Slots, bits: int) -> int:
    """The words that some lane must send, where no element has a copy and elements fill words."""
    worst = 0
    for before, after in zip(source, destination, strict=True):
        holder = {element: lane for lane, row in enumerate(before.tolist()) for element in row}
        sent = Counter(holder[e] for lane, row in enumerate(after.tolist()) for e in set(row) if holder[e] != lane)
        worst = max(worst, max(sent.values(), default=0) * bits // 32)
    return worst


def hops(source: Slots, destination: Slots, bits: int) -> int:
    """The shuffles that must be, counted lane by lane, where no element has a copy: words as full as they can be.

    With s shuffles a lane hears s others; what these have for it needs one hop, everything else two. All of that must have
    room in the words of all lanes, and what comes must come from lanes that s shuffles reach.
    """
    worst = 0
    room, cells = max(32 // bits, 1), max(bits // 32, 1)
    for before, after in zip(source, destination, strict=True):
        holder = {element: lane for lane, row in enumerate(before.tolist()) for element in row}
        heard = [
            sorted(Counter(holder[e] for e in set(row) if holder[e] != lane).values(), reverse=True)
            for lane, row in enumerate(after.tolist())
        ]
        shuffles = 0
        while any(sum(one) * cells > shuffles * room or len(one) >= 1 << shuffles for one in heard) or (
            bits < 32 and len(after) * shuffles * room < sum(2 * sum(one) - sum(one[:shuffles]) for one in heard)
        ):
            shuffles += 1
        worst = max(worst, shuffles)
    return worst


def supply(source: Slots, destination: Slots, bits: int) -> int:
    """The words that each lane would send, if those that have something to send shared all that is wanted.

    A shuffle carries one word out of a lane, so this bounds every plan whose lanes keep nothing.
    """
    worst = 0
    for before, after in zip(source, destination, strict=True):
        wanted = set(after.ravel().tolist())
        senders = [lane for lane, row in enumerate(before.tolist()) if wanted.intersection(row)]
        words = -(-len(wanted) * bits // 32)
        worst = max(worst, -(-words // len(senders)))
    return worst


def crosses(source: Slots, destination: Slots) -> bool:
    return any(
        set(after.ravel().tolist()) - set(before.ravel().tolist())
        for before, after in zip(source, destination, strict=True)
    )


def carry_out(schedule: Schedule, held: Sequence[set[int]], missing: Sequence[set[int]], room: int) -> None:
    """Every lane must show what it knows, no more than there is room for, and know at the end what it missed."""
    knows = [set(has) for has in held]
    for heard, shown in zip(schedule.heard, schedule.shown, strict=True):
        assert all(len(word) <= room and word <= own for word, own in zip(shown, knows, strict=True))
        knows = [own | shown[other] for own, other in zip(knows, heard, strict=True)]
    assert all(lacks <= own for lacks, own in zip(missing, knows, strict=True))


def check_arrival(program: Program, a: la.Layout, b: la.Layout, bits: int, seed: int) -> None:
    """Run a program on random numbers: every element that is in `a` arrives where `b` has it."""
    data = values(int(np.prod(a.shape)), bits, seed)
    assert np.array_equal(program.run(data[numbers(a)]), data[numbers(b)])


def check(a: la.Layout, b: la.Layout, bits: int, seed: int) -> tuple[ConversionPlan, Slots, Slots]:
    plan = convert(a, b, element_bits=bits)
    before, after = numbers(a), numbers(b)
    data = values(int(np.prod(a.shape)), bits, seed)
    done: Counter[type] = Counter()
    assert np.array_equal(plan.apply(data[before], done), data[after])
    assert done[Shuffle] == plan.shuffles
    assert done[Select] == plan.selects
    assert (plan.slm_bytes > 0) == (done[Store] > 0) == (done[Load] > 0) == (plan.kind == "shared memory")
    assert (plan.kind == "shared memory") == crosses(before, after)
    return plan, before, after


def fewest_planned(plan: ConversionPlan) -> int:
    """The shuffles of the way without memory that has the fewest: the cheapest may have more, and fewer selects."""
    ways = [one.programs for one in plan.candidates if not one.slm_bytes]
    return min((sum(program.count(Shuffle) for program in programs) for programs in ways), default=0)


def triton_rule(a: la.Layout, b: la.Layout, bits: int) -> int:
    """Triton's: half the registers per exchanged bit, and all of them where lanes are permuted (beyond one bit it gives up)."""
    # Where each bit of an element's coordinates is: the owner of the element that has this bit alone.
    alone = [tuple(1 << i if e == d else 0 for e in range(a.rank)) for d in range(a.rank) for i in range(40)]
    alone = [element for element in alone if all(x < n for x, n in zip(element, a.shape, strict=True))]
    pairs = [(a.owners(element)[0], b.owners(element)[0]) for element in alone]  # (sg, lane, reg)
    exchanged = sum(before[1] > 0 and after[2] > 0 for before, after in pairs)
    permuted = any(before[1] > 0 and after[1] > 0 and before[1] != after[1] for before, after in pairs)
    together = sum(before[2] > 0 and after[2] > 0 for before, after in pairs)
    words = -(-(bits << together) // 32) << exchanged
    return words * exchanged // 2 + words * permuted if exchanged != 1 or permuted else words // 2
