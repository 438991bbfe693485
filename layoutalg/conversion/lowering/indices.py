"""What the code of a conversion computes from the numbers of lane and subgroup: conditions, other lanes, addresses.

An address is a sum or an XOR of what each number moves it by; which masks, shifts and products that takes says `number_maps`.
What has no such form is looked up in constants. The law: each value is computed once for each function, and is the one
that `Program.run` uses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from layoutalg.conversion.lowering.number_maps import (
    are_powers,
    fixed_bits,
    in_a_table,
    linear_terms,
    maps_of_items,
    of_items,
    reverses,
    rounded_down,
    shifts,
    unmirrored,
    unmirrored_factors,
)
from layoutalg.conversion.lowering.writer import Value, Writer
from layoutalg.conversion.program.steps import Address
from layoutalg.core.errors import ConversionError
from layoutalg.core.limits import MOST_LOOKED_UP as MAX_NUMBERS
from layoutalg.core.llvm_versions import DEFAULT_LLVM, rules
from layoutalg.core.whole_numbers import instance_of
from layoutalg.hardware.chips import target_info

__all__ = ["FIXED_WIDTH", "Indices", "named"]

FIXED_WIDTH = ("nvidia", "amd")
"""Vendors whose chips have one subgroup size, which a kernel does not ask for: a warp, a wavefront."""

_Make: TypeAlias = Callable[[], Value]


def named(name: str, value: Value) -> Value:
    """The value, with the name that it gets in the text."""
    instance_of(value, Value, "value")
    value.name = name
    return value


class Indices:
    """The values of one function that depend on nothing but the numbers of lane and subgroup, each computed once.

    >>> indices = Indices(Writer(), 2, 16)
    >>> even = indices.holds("lane", 0b0101010101010101)
    >>> indices.holds("lane", 0b0101010101010101) is even
    True
    >>> print(indices.writer.text().splitlines()[-1])
    %lane_in_0x5555 = arith.cmpi eq, %1, %c0 : i32
    """

    def __init__(
        self,
        writer: Writer,
        subgroups: int,
        lanes: int,
        chip: str = "generic",
        llvm: int = DEFAULT_LLVM,
        workgroups: int = 1,
    ) -> None:
        self.writer = writer
        self.workgroups = workgroups
        """The workgroups of a cluster, whose subgroups are counted one after another."""
        self.counts = {"sg": subgroups, "lane": lanes}
        self.vendor = target_info(chip).vendor
        self.width = target_info(chip).subgroup_size if self.vendor in FIXED_WIDTH else lanes
        """The lanes that execute together: `lanes`, or several subgroups' where the chip's number is fixed."""
        self.wide = target_info(chip).grf_bytes != 32
        """Whether one instruction shifts 64 bits: dg2's compiler makes it twelve more."""
        self.strict = rules(llvm).strict_properties
        """Whether the reader wants alignments without braces."""
        self.barriers_of_spaces = rules(llvm).barriers_of_spaces
        """Whether a barrier can say that it orders shared memory alone."""
        self.functions: dict[str, str] = {}
        """Functions that are called, by name: the module has to declare each."""
        self._made: dict[object, Value] = {}

    def once(self, key: object, make: Callable[[], Value]) -> Value:
        """A value that is made the first time that it is asked for."""
        return self._once(key, make)

    def _once(self, key: object, make: _Make) -> Value:
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def constant(self, number: int, kind: str = "i32") -> Value:
        """A constant; an integer's bits are written as the signed number that they are."""
        if kind != "index" and number >> (int(kind[1:]) - 1):
            number -= 1 << int(kind[1:])
        name = f"c{number}" if number >= 0 else "mask"
        return self._once(
            (number, kind), lambda: named(name, self.writer.value(f"arith.constant {number} : {kind}", (), kind))
        )

    def binary(self, operation: str, left: Value, right: Value) -> Value:
        """An operation of arith on two values of one type."""
        return self.writer.value(f"arith.{operation} %s, %s : {left.kind}", (left, right), left.element, left.size)

    def _folded(self, operation: str, parts: Sequence[Value]) -> Value:
        """All of them joined by an operation."""
        found = parts[0]
        for part in parts[1:]:
            found = self.binary(operation, found, part)
        return found

    def as_index(self, value: Value) -> Value:
        """An i32 as an index."""
        return self.writer.value("arith.index_cast %s : i32 to index", (value,), "index")

    def _as_i32(self, value: Value) -> Value:
        return self.writer.value("arith.index_cast %s : index to i32", (value,), "i32")

    def _compared(self, predicate: str, left: Value, right: Value) -> Value:
        return self.writer.value(f"arith.cmpi {predicate}, %s, %s : {left.kind}", (left, right), "i1")

    def number(self, axis: str) -> Value:
        """The number of this lane or subgroup, or of the work-item in its workgroup, as i32."""

        def make() -> Value:
            if axis == "lane":
                found = self._executing()
                return found if self.width == self.counts["lane"] else self._masked(found, self.counts["lane"] - 1)
            if axis == "thread" and self.workgroups > 1:
                first = self._multiplied(self.number("workgroup"), self._items())
                return self.binary("addi", first, self._thread())
            if axis == "thread":
                return self._thread()
            if axis == "workgroup":  # its number in the cluster
                form = 'llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.cluster.ctarank"() : () -> i32'
                return self.writer.value(form, (), "i32")
            if self.vendor in FIXED_WIDTH:
                return self._divided(self.number("thread"), self.counts["lane"])
            return self._as_i32(self.writer.value("gpu.subgroup_id : index", (), "index"))

        return self._once(axis, lambda: named("subgroup" if axis == "sg" else axis, make()))

    def _thread(self) -> Value:
        """The number of this work-item in its workgroup."""
        return self._once("own thread", lambda: self._as_i32(self.writer.value("gpu.thread_id x", (), "index")))

    def _items(self) -> int:
        """The work-items of a workgroup."""
        return self.counts["sg"] // self.workgroups * self.counts["lane"]

    def _count(self, axis: str) -> int:
        return self.counts["sg"] * self.counts["lane"] if axis == "thread" else self.counts[axis]

    def _executing(self) -> Value:
        """The number of this lane among those that execute together."""
        return self._once("executing", lambda: self._as_i32(self.writer.value("gpu.lane_id", (), "index")))

    def among_executing(self, lane: Value) -> Value:
        """The number among the lanes that execute together, of a lane of this subgroup."""
        if self.width == self.counts["lane"]:
            return lane
        first = self._once("first", lambda: self._masked(self._executing(), self.width - self.counts["lane"]))
        return self._once(("among", lane), lambda: self.binary("ori", first, lane))

    def _veiled(self, axis: str) -> Value:
        """The same value, hidden from LLVM.

        LLVM 22 turns `(l & 1) << 2 | (l & 4) >> 2` into a reversal of bits, and then its SPIR-V backend stops: "Unable to
        meet SPIR-V requirements for this target", because OpenCL has no OpBitReverse. It does not see
        through an `or` of two sources, here with bit 16 and above of the subgroup's number, which are zero.
        """

        def make() -> Value:
            zero = self._once("zero", lambda: named("zero", self._shifted(self.number("sg"), -16)))
            return named(f"same_{axis}", self.binary("ori", self.number(axis), zero))

        return self._once(("veiled", axis), make)

    def work_item(self) -> Value:
        """The number of this work-item among those of all workgroups along x, as i32."""

        def make() -> Value:
            workgroup = self._as_i32(self.writer.value("gpu.block_id x", (), "index"))
            if self.workgroups > 1:
                first = self._multiplied(workgroup, self._items())
                return named("item", self.binary("addi", first, self._thread()))
            row = self.binary("addi", self._multiplied(workgroup, self.counts["sg"]), self.number("sg"))
            return named("item", self.binary("addi", self._multiplied(row, self.counts["lane"]), self.number("lane")))

        return self._once("item", make)

    def holds(self, axis: str, mask: int) -> Value:
        """Whether the bit of this lane (or subgroup) is set in the mask."""
        return self._once((axis, mask), lambda: named(f"{axis}_in_{mask:#x}", self._condition(axis, mask)))

    def _condition(self, axis: str, mask: int) -> Value:
        count = self.counts[axis]
        everyone = (1 << count) - 1
        mask &= everyone
        if mask in (0, everyone):
            return self.writer.value(f"arith.constant {str(mask != 0).lower()}", (), "i1")
        number = self.number(axis)
        for bit in range((count - 1).bit_length()):
            pattern = sum(1 << i for i in range(count) if i >> bit & 1)
            if mask in (pattern, everyone ^ pattern):
                value = (
                    number if count <= 2 else self._once((axis, "bit", bit), lambda b=bit: self._masked(number, 1 << b))
                )
                return self._compared("ne" if mask == pattern else "eq", value, self.constant(0))
        if mask & (mask - 1) == 0:
            return self._compared("eq", number, self.constant(mask.bit_length() - 1))
        if mask & (mask + 1) == 0:
            return self._compared("ult", number, self.constant(mask.bit_length()))
        bits = fixed_bits(mask, count) if self.vendor in FIXED_WIDTH else None
        if bits is not None:
            care, wanted = bits
            return self._compared("eq", self._masked(number, care), self.constant(wanted))
        found = self._looked_up(axis, mask, 1)
        return self._compared("ne", found, self.constant(0))

    def active(self, where: tuple[int, ...]) -> Value | None:
        """Whether this lane's bit is set in the mask of its subgroup; None where it is in every one."""
        lanes = (1 << self.counts["lane"]) - 1
        masks = [mask & lanes for mask in where]
        if all(mask == lanes for mask in masks):
            return None

        def make() -> Value:
            parts: list[Value] = []
            for mask in dict.fromkeys(masks):
                owners = sum(1 << i for i, one in enumerate(masks) if one == mask)
                conditions = [
                    self.holds(axis, bits)
                    for axis, bits in (("sg", owners), ("lane", mask))
                    if bits != (1 << self.counts[axis]) - 1
                ]
                if mask:
                    parts.append(self._folded("andi", conditions))
            return named("active", self._folded("ori", parts or [self.holds("lane", 0)]))

        return self._once(("active", tuple(masks)), make)

    def selected(self, chosen: Value, on: Value, off: Value) -> Value:
        """One of two values, by a condition."""
        return self.writer.value(f"arith.select %s, %s, %s : {on.kind}", (chosen, on, off), on.element, on.size)

    def other(self, lanes: tuple[int, ...]) -> tuple[str, Value]:
        """Whose value a lane receives, where lane l receives that of `lanes[l]`: by distance, or by number."""
        distances = {lane ^ i for i, lane in enumerate(lanes)}
        if len(distances) == 1:
            return "xor", self.constant(distances.pop())
        return "idx", self._number_of(lanes)

    def other_by_subgroup(self, lanes: tuple[int, ...], others: tuple[tuple[int, tuple[int, ...]], ...]) -> Value:
        """The number of the lane whose value a lane receives, where some subgroups (as masks) have lanes of their own."""

        def make() -> Value:
            found = self._number_of(lanes)
            for mask, pattern in others:
                found = self.selected(self.holds("sg", mask), self._number_of(pattern), found)
            return named("other", found)

        return self._once(("others", lanes, others), make)

    def _number_of(self, lanes: tuple[int, ...]) -> Value:
        return self._once(("other", lanes), lambda: named("other", self._other(lanes)))

    def _other(self, lanes: tuple[int, ...]) -> Value:
        count = len(lanes)
        if len(set(lanes)) == 1:
            return self.constant(lanes[0])
        terms = linear_terms(lanes)
        if terms is not None and self.vendor == "intel" and in_a_table(terms, count):
            moving = self._once(("table", terms), lambda: self._entry(tuple([lane ^ lanes[0] for lane in lanes])))
            return self.binary("xori", moving, self.constant(lanes[0])) if lanes[0] else moving
        if terms is not None:
            return self._joined((("lane", terms),), lanes[0])
        rotated = (lanes[0] + i for i in range(count))
        if count & (count - 1) == 0 and all(a % count == b for a, b in zip(rotated, lanes, strict=True)):
            return self._masked(self.binary("addi", self.number("lane"), self.constant(lanes[0])), count - 1)
        if count <= 16:
            return self._entry(lanes)
        bits = [sum((lane >> bit & 1) << i for i, lane in enumerate(lanes)) for bit in range(max(lanes).bit_length())]
        parts = [self._shifted(self._looked_up("lane", mask, 1), bit) for bit, mask in enumerate(bits)]
        return self._folded("ori", parts)

    def _entry(self, lanes: tuple[int, ...]) -> Value:
        """A number below 16 for each of up to 16 lanes, from one constant, or two where shifts of 64 bits are slow."""
        words = [sum(lane << 4 * i for i, lane in enumerate(lanes[at : at + 8])) for at in (0, 8)]
        if len(lanes) <= 8 or self.wide:
            return self._looked_up("lane", words[0] | words[1] << 32, 4)
        word = self.selected(self.holds("lane", 0xFF00), *[self.constant(one) for one in reversed(words)])
        return self._masked(self.binary("shrui", word, self._shifted(self._masked(self.number("lane"), 7), 2)), 15)

    def _looked_up(self, axis: str, table: int, width: int) -> Value:
        """Entry `number` of a constant of entries `width` bits wide."""
        count = self.counts[axis]
        if count * width > MAX_NUMBERS:
            raise ConversionError(f"a set out of {count} {axis} numbers; sets out of up to {MAX_NUMBERS} are emitted")
        number = self._shifted(self.number(axis), width.bit_length() - 1)
        kind = "i32" if count * width <= 32 else "i64"
        if kind == "i64":
            number = self.writer.value("arith.extui %s : i32 to i64", (number,), "i64")
        entry = self.binary("shrui", self.constant(table, kind), number)
        if kind == "i64":
            entry = self.writer.value("arith.trunci %s : i64 to i32", (entry,), "i32")
        return self._masked(entry, (1 << width) - 1)

    def address(self, address: Address) -> Value:
        """An address in words, as i32."""
        return self._once(address, lambda: named("address", self._address(address)))

    def _address(self, address: Address) -> Value:
        if address.xor:
            return self._joined((("lane", address.lane), ("sg", address.sg)), address.base)
        moving = self._once((address.factors, address.plus), lambda: self._factors(address.factors, dict(address.plus)))
        return self.binary("addi", moving, self.constant(address.base)) if address.base else moving

    def _factors(self, factors: tuple[tuple[str, int, int, int], ...], plus: dict[str, int]) -> Value:
        """The sum of factors of numbers, with what is added to each axis's, each times its stride."""
        if self.vendor in FIXED_WIDTH and not plus:
            factors = unmirrored_factors(of_items(factors, self.counts["lane"]))
        single = [factor for factor in factors if factor[2] == 2]
        parts: list[Value] = []
        of_lanes = [factor[1:] for factor in factors if factor[0] == "lane"]
        rounded = None if self.vendor in FIXED_WIDTH or plus else rounded_down(of_lanes, self.counts["lane"])
        if rounded is not None:
            product = self.binary("muli", self.number("lane"), self.constant(rounded[0]))
            parts.append(
                self.binary(
                    "andi", product, self.constant((1 << (self.counts["lane"] * rounded[0]).bit_length()) - rounded[1])
                )
            )
            factors = tuple([factor for factor in factors if factor[0] != "lane"])
        for axis, divisor, extent, stride in factors:
            more = plus.get(axis, 0)
            count = self._count(axis) + more
            if extent == 1 or stride == 0 or divisor >= count:
                continue
            masked = -(-count // divisor) > extent
            if (
                self.vendor in FIXED_WIDTH
                and masked
                and divisor > 1
                and stride % divisor == 0
                and are_powers(divisor, extent)
            ):
                part = self._masked(
                    self._beyond(self.number(axis), more), (extent - 1) * divisor
                )  # where it is, without a shift
                parts.append(self._multiplied(part, stride // divisor))
                continue
            moved = [(d.bit_length(), s.bit_length()) for other, d, _, s in single if other == axis]
            number = self._veiled(axis) if reverses(moved) else self.number(axis)
            value = self._divided(self._beyond(number, more), divisor)
            if masked:
                value = self._remainder(value, extent)
            parts.append(self._multiplied(value, stride))
        return self._folded("addi", parts) if parts else self.constant(0)

    def _beyond(self, number: Value, more: int) -> Value:
        """The number that comes so many after this one."""
        if not more:
            return number
        return self._once(("beyond", number, more), lambda: self.binary("addi", number, self.constant(more)))

    def _joined(self, maps: tuple[tuple[str, tuple[int, ...]], ...], base: int) -> Value:
        """The XOR of a constant and of linear maps of numbers; a sum where they share no bit, which messages bring along."""
        moving = self._once(maps, lambda: self._linear(maps))
        apart = not any(term & base for _, terms in maps for term in terms)
        return self.binary("addi" if apart else "xori", moving, self.constant(base)) if base else moving

    def _linear(self, maps: tuple[tuple[str, tuple[int, ...]], ...]) -> Value:
        parts: list[Value] = []
        if self.vendor in FIXED_WIDTH:
            maps = maps_of_items(maps, self.counts["lane"])
        for axis, terms in maps:
            bits = (self._count(axis) - 1).bit_length()
            groups = shifts(terms[:bits])
            moved = [
                (mask.bit_length(), mask.bit_length() + shift)
                for shift, mask in groups.items()
                if mask & (mask - 1) == 0
            ]
            number = self._veiled(axis) if reverses(moved) else self.number(axis)
            for shift, mask in unmirrored(groups):
                part = number if mask == (1 << bits) - 1 else self._some_bits(axis, number, mask)
                parts.append(self._shifted(part, shift))
        return self._folded("xori", parts) if parts else self.constant(0)

    def _some_bits(self, axis: str, number: Value, mask: int) -> Value:
        """Some bits of a number; a lane's are those of the work-item's, which AMD's compiler shares with the subgroup's.

        Code of one subgroup asks for the lane alone, so it is right in workgroups of any shape.
        """
        shared = axis == "lane" and self.vendor == "amd" and self.counts["sg"] > 1
        of_items = shared and number is self.number("lane")
        return self._masked(self.number("thread") if of_items else number, mask)

    def _masked(self, number: Value, mask: int) -> Value:
        return self.binary("andi", number, self.constant(mask))

    def _shifted(self, number: Value, shift: int) -> Value:
        if shift == 0:
            return number
        return self.binary("shli" if shift > 0 else "shrui", number, self.constant(abs(shift)))

    def _multiplied(self, number: Value, factor: int) -> Value:
        if factor > 0 and factor & (factor - 1) == 0:
            return self._shifted(number, factor.bit_length() - 1)
        return self.binary("muli", number, self.constant(factor))

    def _divided(self, number: Value, divisor: int) -> Value:
        if divisor & (divisor - 1) == 0:
            return self._shifted(number, 1 - divisor.bit_length())
        return self.binary("divui", number, self.constant(divisor))

    def _remainder(self, number: Value, extent: int) -> Value:
        if extent & (extent - 1) == 0:
            return self._masked(number, extent - 1)
        return self.binary("remui", number, self.constant(extent))
