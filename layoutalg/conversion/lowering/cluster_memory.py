"""Shared memory of a cluster in a function's text: a workgroup's own has a pointer, that of others takes `mapa`.

`conversion.program.cluster_places` says which workgroup has a byte. Its own bytes a workgroup moves as ever. For another's it
makes a pointer into address space 7 (PTX: `shared::cluster`), from its own pointer and the other's number:

>>> from layoutalg.conversion.lowering.writer import Writer
>>> from layoutalg.conversion.program.steps import Barrier
>>> lanes = (1, 2, 4, 8, 16)
>>> store, load = (Address(base, xor=True, lane=lanes, sg=(32,)) for base in (32, 0))
>>> swap = Program(2, 32, 32, 1, 1, (0,), (Store((0,), store), Barrier(), Load((1,), load)), (1,), 256)
>>> writer = Writer([shared := Value("!llvm.ptr<3>", name="slm")])
>>> memory = ClusterPointers(Indices(writer, 2, 32, "sm_90", workgroups=2), shared, swap)
>>> [there] = memory.places(store, 1, 32, vectors=True)
>>> for line in writer.text().splitlines()[-5:]:
...     print(line)
%address = arith.xori %subgroup, %c1 : i32
%there = llvm.call_intrinsic "llvm.nvvm.mapa.shared.cluster"(%slm, %address) : (!llvm.ptr<3>, i32) -> !llvm.ptr<7>
%c2 = arith.constant 2 : i32
%address_1 = arith.shli %lane, %c2 : i32
%places = llvm.getelementptr %there[%address_1] : (!llvm.ptr<7>, i32) -> !llvm.ptr<7>, i8

LLVM 22, 23 and 24 read these intrinsics alike; the operations `nvvm.mapa` and `nvvm.cluster.arrive` each has in its own form
(24: "inherent attribute 'aligned' cannot be parsed"). PTX 7.8 has all of it, which is what llc takes for sm_90; a barrier that
does not order memory (`.relaxed`) needs PTX 8.0.
"""

from __future__ import annotations

from layoutalg.conversion.lowering.indices import Indices, named
from layoutalg.conversion.lowering.shared_memory import SHARED, WIDEST, Place, Pointers, alignment_of
from layoutalg.conversion.lowering.writer import Value
from layoutalg.conversion.program import cluster_places
from layoutalg.conversion.program.cluster_places import place_of, placed
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Address, Load, Store

__all__ = ["ClusterPointers"]

_OWN, _ANY = f"!llvm.ptr<{SHARED}>", "!llvm.ptr<7>"


class ClusterPointers(Pointers):
    """The pointer of the own workgroup, those of others, and constant distances from them: for one program.

    Raises `ConversionError` for a program whose matrices would be in the memory of another workgroup.
    """

    def __init__(self, indices: Indices, shared: Value, program: Program) -> None:
        super().__init__(indices, shared)
        found = placed(program, indices.workgroups)
        self.digits = found.digits
        self.known: dict[tuple[Address, int, int], cluster_places.Place] = {}
        for step in program.steps:
            if isinstance(step, (Store, Load)):
                key, place = (step.address, len(step[0]), step.bits), place_of(step, program, found, indices.workgroups)
                if key in self.known and self.known[key].own != place.own:
                    place = place._replace(own=False, workgroup=None, at=None)  # one by one is right for both
                self.known[key] = place

    def places(self, address: Address, count: int, bits: int, *, vectors: bool) -> list[Place]:
        """The vectors in which consecutive words are moved, as wide as their alignment is."""
        known, size_of = self.known[address, count, bits], bits // 8
        whole = address.scaled(size_of) if known.at is None else known.at
        found: list[Place] = []
        start = 0
        while start < count:
            aligned = min(alignment_of(whole, start * size_of, 1), WIDEST)
            if known.at is None:
                for below, _, _ in self.digits:
                    aligned = min(aligned, below & -below)
            size = 1 << min(max(aligned // size_of, 1), count - start).bit_length() - 1 if vectors else 1
            if known.at is None:
                at = self._divided(known, whole, start * size_of)
            else:
                moving, base = self._moving(known.at)
                at = self._beyond_in(self._there(known, moving), base + start * size_of)
            found.append(Place(at, start, size, aligned))
            start += size
        return found

    def _split(self, address: Address, bits: int) -> tuple[Value, int]:
        """The pointer to where a row of a matrix begins, in the own memory, and the bytes beyond it."""
        known = next(place for (at, _, width), place in self.known.items() if (at, width) == (address, bits))
        if known.at is None:
            return self._divided(known, address.scaled(bits // 8), 0), 0
        moving, base = self._moving(known.at)
        return self._there(known, moving), base

    def _moving(self, at: Address) -> tuple[Address, int]:
        """What depends on the lane or the subgroup, and a constant that can be added to it."""
        reached = 0
        for term in (*at.lane, *at.sg):
            reached |= term
        apart = not at.xor or not at.base & reached
        return (at.based(0), at.base) if apart else (at, 0)

    def _there(self, known: cluster_places.Place, moving: Address) -> Value:
        """A pointer to a place, in the own memory or another's."""

        def make() -> Value:
            start = self.shared if known.own else self._workgroup(known.workgroup)
            if moving == Address(xor=moving.xor):
                return start
            return self._at(start, self.indices.address(moving))

        return self.indices.once(("in cluster", known.workgroup, known.own, moving), make)

    def _workgroup(self, number: Address | None) -> Value:
        """The beginning of the memory of a workgroup."""
        assert number is not None
        return self.indices.once(("of workgroup", number), lambda: self._mapped(self.indices.address(number)))

    def _mapped(self, number: Value) -> Value:
        form = f'llvm.call_intrinsic "llvm.nvvm.mapa.shared.cluster"(%s, %s) : ({_OWN}, i32) -> {_ANY}'
        return named("there", self.writer.value(form, (self.shared, number), _ANY))

    def _at(self, start: Value, distance: Value) -> Value:
        form = f"llvm.getelementptr %s[%s] : ({start.kind}, i32) -> {start.kind}, i8"
        return named("places", self.writer.value(form, (start, distance), start.kind))

    def _beyond_in(self, pointer: Value, distance: int) -> Value:
        if not distance:
            return pointer
        form = f"llvm.getelementptr %s[{distance}] : ({pointer.kind}) -> {pointer.kind}, i8"
        return self.writer.value(form, (pointer,), pointer.kind)

    def _divided(self, known: cluster_places.Place, whole: Address, start: int) -> Value:
        """The pointer to a byte whose workgroup and place are divided out (see `cluster_places.divided`)."""

        def make() -> Value:
            indices, left = self.indices, self.indices.address(whole)
            if start:
                left = indices.binary("addi", left, indices.constant(start))
            workgroup: Value | None = None
            for below, extent, weight in self.digits:
                unit, count = indices.constant(below), indices.constant(extent)
                above = indices.binary("divui", left, unit)
                digit = indices.binary("remui", above, count)
                rest = indices.binary("muli", indices.binary("divui", above, count), unit)
                left = indices.binary("addi", rest, indices.binary("remui", left, unit))
                if weight > 1:
                    digit = indices.binary("muli", digit, indices.constant(weight))
                workgroup = digit if workgroup is None else indices.binary("addi", workgroup, digit)
            own = known.own or workgroup is None
            return self._at(self.shared if own or workgroup is None else self._mapped(workgroup), left)

        return self.indices.once(("divided", known.own, whole, start), make)
