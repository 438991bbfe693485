"""Where the memory of a program lies in a cluster: which workgroup's shared memory has each byte, and where in it.

A program counts the bytes that its subgroups share from 0 on, whoever they are. In a cluster each workgroup has some of them. A
digit of the byte's number says whose they are; what is left is the place there:

    byte 1300, a digit of extent 2 above 512 bytes:   1300 = 1*1024 + 0*512 + 276   workgroup 0, byte 1*512 + 276 = 788

>>> divided(np.array([1300, 1812]), ((512, 2, 1),))[0].tolist(), divided(np.array([1300, 1812]), ((512, 2, 1),))[1].tolist()
([0, 1], [788, 788])

The digit is chosen so that every workgroup loads from its own memory, if there is one ("stores": stores reach the others), else
so that every workgroup stores to its own ("loads"); else both may reach others ("both"). A load waits for its answer, for the
whole way there and back: 180 cycles on H800, and 29 in its own workgroup's memory (arXiv 2402.13499). A store is sent, and the
barrier of the cluster, which comes anyway, waits for all of them. So we assume that stores are better. Accesses to the memory
of other workgroups should be of 32 bytes side by side (NVIDIA Hopper Tuning Guide, "Distributed Shared Memory"), loads as well
as stores.

By hand, two workgroups of one warp, whose lanes swap a word: each stores into the 128 bytes that the other one loads from.

>>> lanes = (1, 2, 4, 8, 16)
>>> store, load = (Address(base, xor=True, lane=lanes, sg=(32,)) for base in (32, 0))
>>> swap = Program(2, 32, 32, 1, 1, (0,), (Store((0,), store), Barrier(), Load((1,), load)), (1,), 256)
>>> placed = placement(swap, 2)
>>> placed.digits, placed.bytes, placed.reaching
(((128, 2, 1),), 128, 'stores')
>>> [(str(place.workgroup), str(place.at)) for place in (place_of(swap.steps[i], swap, placed, 2) for i in (0, 2))]
[('1 ^ sg[0]', '4*lane[0] ^ 8*lane[1] ^ 16*lane[2] ^ 32*lane[3] ^ 64*lane[4]'), \
('None', '4*lane[0] ^ 8*lane[1] ^ 16*lane[2] ^ 32*lane[3] ^ 64*lane[4]')]

The law: each byte has one place, in one workgroup; so a program does what it did, if all wait for all where its workgroups did.
Two rules of the CUDA C++ Programming Guide ("Distributed Shared Memory") take barriers of the cluster more: nobody reaches a
workgroup that may not have started (before stores that reach), nor one that may have ended (behind loads that reach).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from layoutalg.conversion.program.matrices import matrix_bytes
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Address, Barrier, Load, Store, lane_bits
from layoutalg.core.errors import ConversionError

__all__ = [
    "MATRICES_STAY",
    "Place",
    "Placement",
    "cluster_bytes",
    "divided",
    "in_cluster",
    "place_of",
    "placed",
    "placement",
    "reached_bytes",
]

Digits = tuple[tuple[int, int, int], ...]
"""For each digit of the bytes' numbers that says the workgroup: the bytes below it, its extent, and what it counts for."""

MATRICES_STAY = (
    "ldmatrix and stmatrix reach the shared memory of their own workgroup alone, and this program needs another's"
)
_REACHING = ("", "stores", "loads", "both")
"""What may reach other workgroups, the best first."""
_LINE = 64
"""The bytes to which a workgroup's part is rounded up where nothing divides the memory."""


class Placement(NamedTuple):
    """How a program's memory lies in a cluster: `bytes` of each workgroup, and what reaches the memory of others.

    `reaching` is "stores", "loads", "both" or "" (nothing does).
    """

    digits: Digits
    bytes: int
    reaching: str


class Place(NamedTuple):
    """Where an access begins: in the `own` workgroup's memory, or in that of the workgroup of a number; and the bytes there.

    Either is None where no sum or XOR of factors has it, so that it has to be divided out.
    """

    own: bool
    workgroup: Address | None
    at: Address | None


def divided(numbers: NDArray[np.int64], digits: Digits) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The workgroup of each byte, and where in its memory it is."""
    workgroup, left = np.zeros_like(numbers), numbers
    for below, extent, weight in digits:
        workgroup = workgroup + left // below % extent * weight
        left = left // (below * extent) * below + left % below
    return workgroup, left


def _bytes_of(step: Store | Load, subgroups: int, lanes: int) -> NDArray[np.int64]:
    """The bytes that an access moves: `[sg, lane, word, byte]`."""
    starts, count = step.address.of(np.arange(subgroups), np.arange(lanes)) * (step.bits // 8), len(step[0])
    if step.matrix:
        return matrix_bytes(step.matrix, starts, count, step.bits)
    return starts[..., None, None] + np.arange(count * step.bits // 8).reshape(count, -1)


class _Access(NamedTuple):
    step: Store | Load
    bytes: NDArray[np.int64]
    active: NDArray[np.bool_] | None

    def is_own(self, digits: Digits, per: int) -> bool:
        """Whether every workgroup stays in its own memory."""
        workgroups, _ = divided(self.bytes, digits)
        alike = workgroups == (np.arange(len(self.bytes)) // per).reshape(-1, 1, 1, 1)
        return bool((alike if self.active is None else alike[self.active]).all())


def _accesses(program: Program) -> list[_Access]:
    found: list[_Access] = []
    for step in program.steps:
        if isinstance(step, (Store, Load)):
            where = step.where if isinstance(step, Store) else None
            active = None if where is None else np.stack([lane_bits(mask, program.lanes) for mask in where])
            found.append(_Access(step, _bytes_of(step, program.subgroups, program.lanes), active))
    return found


def _primes(number: int) -> Iterator[int]:
    prime = 2
    while number > 1:
        while number % prime:
            prime += 1
        yield prime
        number //= prime


def _digits_of(step: Store | Load, workgroups: int, per: int) -> Digits | None:
    """The digits that tell the workgroups apart where an access begins; None where there are none."""
    found: list[tuple[int, int, int]] = []
    weight = 1
    for prime in _primes(workgroups):
        sg = np.array([0, per * weight])
        first, second = step.address.based(0).of(sg, np.zeros(1, np.int64))[:, 0].tolist()
        below = (second - first) * (step.bits // 8)
        if below <= 0:
            return None
        found.append((below, prime, weight))
        weight *= prime
    return _joined(sorted(found, reverse=True))


def _joined(digits: Sequence[tuple[int, int, int]]) -> Digits:
    """Digits, neighbours that count on as one."""
    found: list[tuple[int, int, int]] = []
    for below, extent, weight in digits:
        if found and found[-1][0] == below * extent and found[-1][2] == weight * extent:
            found[-1] = below, extent * found[-1][1], weight
        else:
            found.append((below, extent, weight))
    return tuple(found)


@lru_cache(maxsize=256)
def placement(program: Program, workgroups: int) -> Placement | None:
    """How a program's memory lies in a cluster of so many workgroups; None where matrices would have to reach others.

    `ldmatrix` and `stmatrix` are accesses to the own workgroup's memory (PTX ISA: `.shared{::cta}`).

    Raises `ConversionError` for workgroups that do not divide the subgroups.

    >>> placement(Program(3, 32, 32, 1, 1, (0,), (), (0,), 128), 2)
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: workgroups=2 do not divide 3 subgroups
    """
    if program.subgroups % workgroups:
        raise ConversionError(f"workgroups={workgroups} do not divide {program.subgroups} subgroups")
    per, found = program.subgroups // workgroups, _accesses(program)
    sides = [[one for one in found if type(one.step) is kind] for kind in (Store, Load)]
    whole = -(-program.slm_bytes // (workgroups * _LINE)) * _LINE
    widest = max((one.step.bits // 8 for one in found), default=1)
    tried: dict[Digits, None] = {}
    for one in (*sides[1], *sides[0]):
        digits = _digits_of(one.step, workgroups, per)
        if digits is not None and all(below % widest == 0 for below, _, _ in digits):
            tried[digits] = None
    tried[((whole, workgroups, 1),)] = None
    best: tuple[tuple[int, int], Placement] | None = None
    for digits in tried:
        far = [not all(one.is_own(digits, per) for one in side) for side in sides]
        if any(reach and one.step.matrix for reach, side in zip(far, sides, strict=True) for one in side):
            continue
        number = _REACHING.index(("both" if far[1] else "stores") if far[0] else "loads" if far[1] else "")
        last = max((int(divided(one.bytes, digits)[1].max()) for one in found), default=-1)
        made = Placement(digits, -(-(last + 1) // _LINE) * _LINE, _REACHING[number])
        if best is None or number <= best[0][0]:
            apart = sum(place_of(one.step, program, made, workgroups).at is None for one in found)
            if best is None or (number, apart) < best[0]:
                best = (number, apart), made
    return None if best is None else best[1]


def placed(program: Program, workgroups: int) -> Placement:
    """The same for a program that has to have a place.

    Raises `ConversionError` for one that has none.
    """
    found = placement(program, workgroups)
    if found is None:
        raise ConversionError(MATRICES_STAY)
    return found


def cluster_bytes(programs: Sequence[Program], workgroups: int) -> int:
    """The bytes of shared memory that each workgroup of a cluster needs, for programs one after another.

    Raises `ConversionError` for programs that cannot be placed in a cluster.

    >>> cluster_bytes([Program(2, 32, 32, 1, 1, (0,), (Store((0,), Address(sg=(32,), xor=True)),), (0,), 256)], 2)
    64
    """
    return max((placed(program, workgroups).bytes for program in programs if program.slm_bytes), default=0)


def reached_bytes(program: Program, workgroups: int) -> int:
    """The bytes that a subgroup exchanges with the memory of other workgroups, where it is most.

    >>> lanes = (1, 2, 4, 8, 16)
    >>> store, load = (Address(base, xor=True, lane=lanes, sg=(32,)) for base in (32, 0))
    >>> swap = Program(2, 32, 32, 1, 1, (0,), (Store((0,), store), Barrier(), Load((1,), load)), (1,), 256)
    >>> reached_bytes(swap, 2)
    128
    """
    found = placement(program, workgroups) if program.slm_bytes else None
    if found is None or not found.reaching:
        return 0
    own = (np.arange(program.subgroups) // (program.subgroups // workgroups)).reshape(-1, 1, 1, 1)
    total = np.zeros(program.subgroups, np.int64)
    for one in _accesses(program):
        far = divided(one.bytes, found.digits)[0] != own
        if one.active is not None:
            far &= one.active[..., None, None]
        total += far.sum((1, 2, 3))
    return int(total.max())


def place_of(step: Store | Load, program: Program, found: Placement, workgroups: int) -> Place:
    """Where an access begins, as addresses in bytes.

    >>> step = Load((0,), Address(factors=(("sg", 1, 4, 32), ("lane", 1, 32, 1))))
    >>> program = Program(4, 32, 32, 1, 1, (0,), (step,), (0,), 512)
    >>> place = place_of(step, program, Placement(((256, 2, 1),), 256, ""), 2)
    >>> print(place.own, place.at)
    True 128*(sg % 2) + 4*(lane % 32)
    """
    sg, lane = np.arange(program.subgroups), np.arange(program.lanes)
    own = found.reaching in ("", "loads" if isinstance(step, Store) else "stores")
    own = own or _Access(step, _bytes_of(step, program.subgroups, program.lanes), None).is_own(
        found.digits, program.subgroups // workgroups
    )
    starts, size = step.address.of(sg, lane) * (step.bits // 8), 1 if step.matrix else len(step[0]) * step.bits // 8
    true_workgroup, true_at = divided(starts[..., None] + np.arange(size), found.digits)
    workgroup, at = _addresses(step.address.scaled(step.bits // 8), found.digits)
    if at is not None and not (true_at == at.of(sg, lane)[..., None] + np.arange(size)).all():
        at = None
    if workgroup is not None and not (true_workgroup == workgroup.of(sg, lane)[..., None]).all():
        workgroup = None
    return Place(own, None if own or at is None else workgroup, at if own or workgroup is not None else None)


def _addresses(address: Address, digits: Digits) -> tuple[Address | None, Address | None]:
    """The number of the workgroup and the place in its memory, of an address in bytes, where factor by factor has them."""
    if address.xor:
        if any(below & (below - 1) or extent & (extent - 1) for below, extent, _ in digits):
            return None, None
        terms = [np.array([address.base]), np.array(address.lane, np.int64), np.array(address.sg, np.int64)]
        (one, *ones), (other, *others) = zip(*[divided(term, digits) for term in terms], strict=True)
        made = [
            Address(int(base[0]), xor=True, lane=tuple(lane.tolist()), sg=tuple(sg.tolist()))
            for base, (lane, sg) in ((one, ones), (other, others))
        ]
        return made[0], made[1]
    (of_base, rest), factors = divided(np.array([address.base]), digits), list(address.factors)
    workgroup: list[tuple[str, int, int, int]] = []
    for below, extent, weight in digits:
        left: list[tuple[str, int, int, int]] = []
        for factor in [piece for one in factors for piece in _cut(one, (below, below * extent))]:
            axis, divisor, count, stride = factor
            if stride % (below * extent) == 0:
                left.append((axis, divisor, count, stride // extent))
            elif stride % below == 0:
                workgroup.append((axis, divisor, count, stride // below * weight))
            else:
                left.append(factor)
        factors = left
    return (
        Address(int(of_base[0]), factors=tuple(workgroup), plus=address.plus),
        Address(int(rest[0]), factors=tuple(factors), plus=address.plus),
    )


def _cut(factor: tuple[str, int, int, int], at: Sequence[int]) -> Iterator[tuple[str, int, int, int]]:
    """A factor in pieces, so that none goes on beyond one of these numbers where it can be cut there."""
    axis, divisor, extent, stride = factor
    for number in at:
        if stride < number < stride * extent and number % stride == 0 and extent % (number // stride) == 0:
            below = number // stride
            yield axis, divisor, below, stride
            yield from _cut((axis, divisor * below, extent // below, stride * below), at)
            return
    yield factor


def in_cluster(programs: Sequence[Program], workgroups: int, most: int | None = None) -> tuple[Program, ...] | None:
    """Programs with the barriers that a cluster of so many workgroups needs; None where one cannot be placed in it.

    `most` are the bytes that each workgroup has. What stays in the workgroups keeps its own barriers; otherwise all of its
    barriers are the cluster's.

    >>> store, load = Store((0,), Address(sg=(32,), lane=(1, 2, 4, 8, 16), xor=True)), Load((1,), Address(sg=(32,), xor=True))
    >>> swap = Program(2, 32, 32, 1, 1, (0,), (store, Barrier(), load), (1,), 256)
    >>> [step.scope for one in in_cluster([swap], 2) for step in one.steps if isinstance(step, Barrier)]
    ['workgroup']
    >>> load = Load((1,), Address(32, sg=(32,), xor=True))
    >>> [step.scope for one in in_cluster([replace(swap, steps=(store, Barrier(), load))], 2) for step in one.steps
    ...  if isinstance(step, Barrier)]
    ['cluster', 'cluster']
    """
    found: list[Program] = []
    met = False
    for program in programs:
        if not program.slm_bytes:
            found.append(program)
            continue
        placed = placement(program, workgroups)
        if placed is None or (most is not None and placed.bytes > most):
            return None
        steps = _without_outer(program.steps)
        if placed.reaching:
            steps = tuple([Barrier("cluster") if step == Barrier() else step for step in steps])
            before = (Barrier("cluster"),) if placed.reaching != "loads" and not met else ()
            behind = (Barrier("cluster"),) if placed.reaching != "stores" else ()
            steps = (*before, *steps, *behind)
            met = placed.reaching != "stores"
        else:
            met = False
        found.append(replace(program, steps=steps))
    return tuple(found)


def _without_outer(steps: Sequence[Any]) -> tuple[Any, ...]:
    """Steps without barriers before the first access and behind the last one."""
    moving = [number for number, step in enumerate(steps) if isinstance(step, (Store, Load))]
    return tuple(
        [
            step
            for number, step in enumerate(steps)
            if not isinstance(step, Barrier) or (moving and moving[0] < number < moving[-1])
        ]
    )
