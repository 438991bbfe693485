"""What the code of a conversion computes from the numbers of lane and subgroup: conditions, other lanes, addresses.

Lane 5 of 16 (0b0101) with the bits of its number swapped end for end is lane 10. No table is needed for that: a map that
XORs one term for every bit of the number that is set, here 8, 4, 2, 1 for the bits 0 to 3, is made of masks and shifts.

    (l & 1) << 3  ^  (l & 2) << 1  ^  (l & 4) >> 1  ^  (l & 8) >> 3

>>> linear_terms((0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15))
(8, 4, 2, 1)
>>> shifts((8, 4, 2, 1))
{3: 1, 1: 2, -1: 4, -3: 8}

What has no such form is looked up in constants. The law: each value is computed once for each function, and is the one
that `Program.run` uses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, i1, i32, i64
from xdsl.ir import SSAValue

from layoutalg.conversion.program.program import Address
from layoutalg.core.errors import ConversionError
from layoutalg.core.limits import MOST_LOOKED_UP as MAX_NUMBERS
from layoutalg.ir.dialects import gpu

__all__ = ["Indices", "linear_terms", "named", "reverses", "shifts"]


_Make: TypeAlias = Callable[[], SSAValue]


def named(name: str, value: SSAValue) -> SSAValue:
    """The value, with the name that it gets in the text.

    >>> named("lane", arith.ConstantOp(IntegerAttr(3, i32)).result).name_hint
    'lane'
    """
    value.name_hint = name
    return value


def _folded(
    operation: type[arith.AddiOp | arith.AndIOp | arith.OrIOp | arith.XOrIOp], parts: Sequence[SSAValue]
) -> SSAValue:
    """All of them joined by an operation."""
    found = parts[0]
    for part in parts[1:]:
        found = operation(found, part).result
    return found


def linear_terms(numbers: Sequence[int]) -> tuple[int, ...] | None:
    """The term for each bit of i, where `numbers[i] ^ numbers[0]` is the XOR of the terms of the bits of i; else None.

    >>> linear_terms((1, 0, 3, 2)), linear_terms((0, 1, 2, 0))
    ((1, 2), None)
    """
    count = len(numbers)
    if count & (count - 1):
        return None
    terms = tuple(numbers[1 << bit] ^ numbers[0] for bit in range(count.bit_length() - 1))
    expected = [numbers[0]]
    for term in terms:
        expected += [number ^ term for number in expected]
    return terms if expected == list(numbers) else None


def shifts(terms: Sequence[int]) -> dict[int, int]:
    """The masks of a linear map: `{shift: mask}` stands for `(number & mask) << shift`, all of them XORed.

    >>> shifts((2, 3))
    {1: 1, 0: 2, -1: 2}
    """
    masks: dict[int, int] = {}
    for bit, term in enumerate(terms):
        for place in range(term.bit_length() - 1, -1, -1):
            if term >> place & 1:
                masks[place - bit] = masks.get(place - bit, 0) | 1 << bit
    return masks


def reverses(moved: Sequence[tuple[int, int]]) -> bool:
    """Whether some bits, that are moved each by itself from a place to another, are moved in the reverse order.

    >>> reverses([(0, 2), (2, 0)]), reverses([(0, 1), (1, 2)])
    (True, False)
    """
    sums = [source + target for source, target in moved]
    return len(set(sums)) < len(sums)


class Indices:
    """The values of one function that depend on nothing but the numbers of lane and subgroup, each computed once.

    It writes operations into the function's own block (see `ir.building`).

    >>> from layoutalg.ir.building import written_into
    >>> from xdsl.ir import Block
    >>> with written_into(block := Block()):
    ...     indices = Indices(2, 16)
    ...     even = indices.holds("lane", 0b0101010101010101)
    ...     indices.holds("lane", 0b0101010101010101) is even
    True
    >>> print(block.last_op)
    %lane_in_0x5555 = arith.cmpi eq, %0, %c0 : i32
    """

    def __init__(self, subgroups: int, lanes: int) -> None:
        self.counts = {"sg": subgroups, "lane": lanes}
        self._made: dict[object, SSAValue] = {}

    def _once(self, key: object, make: _Make) -> SSAValue:
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def constant(self, number: int, kind: IntegerType | IndexType = i32) -> SSAValue:
        """A constant; an integer's bits are written as the signed number that they are."""
        if isinstance(kind, IntegerType) and number >> (kind.width.data - 1):
            number -= 1 << kind.width.data
        name = f"c{number}" if number >= 0 else "mask"
        return self._once((number, kind), lambda: named(name, arith.ConstantOp(IntegerAttr(number, kind)).result))

    def number(self, axis: str) -> SSAValue:
        """The number of this lane or subgroup, as i32."""

        def make() -> SSAValue:
            operation = gpu.LaneIdOp if axis == "lane" else gpu.SubgroupIdOp
            found = operation.build(result_types=[IndexType()]).result
            return named("lane" if axis == "lane" else "subgroup", arith.IndexCastOp(found, i32).result)

        return self._once(axis, make)

    def _veiled(self, axis: str) -> SSAValue:
        """The same value, hidden from LLVM.

        LLVM 22 turns `(l & 1) << 2 | (l & 4) >> 2` into a reversal of bits, and then its SPIR-V backend stops: "Unable to
        meet SPIR-V requirements for this target", because OpenCL has no OpBitReverse. It does not see
        through an `or` of two sources, here with bit 16 and above of the subgroup's number, which are zero.
        """

        def make() -> SSAValue:
            zero = self._once("zero", lambda: named("zero", self._shifted(self.number("sg"), -16)))
            return named(f"same_{axis}", arith.OrIOp(self.number(axis), zero).result)

        return self._once(("veiled", axis), make)

    def work_item(self) -> SSAValue:
        """The number of this work-item among those of all workgroups along x, as i32."""

        def make() -> SSAValue:
            workgroup = arith.IndexCastOp(gpu.BlockIdOp.along(gpu.DimensionEnum.X).result, i32).result
            row = arith.AddiOp(self._multiplied(workgroup, self.counts["sg"]), self.number("sg")).result
            return named("item", arith.AddiOp(self._multiplied(row, self.counts["lane"]), self.number("lane")).result)

        return self._once("item", make)

    def holds(self, axis: str, mask: int) -> SSAValue:
        """Whether the bit of this lane (or subgroup) is set in the mask."""
        return self._once((axis, mask), lambda: named(f"{axis}_in_{mask:#x}", self._condition(axis, mask)))

    def _condition(self, axis: str, mask: int) -> SSAValue:
        count = self.counts[axis]
        everyone = (1 << count) - 1
        mask &= everyone
        if mask in (0, everyone):
            return arith.ConstantOp(IntegerAttr(int(mask != 0), i1)).result
        number = self.number(axis)
        for bit in range((count - 1).bit_length()):
            pattern = sum(1 << i for i in range(count) if i >> bit & 1)
            if mask in (pattern, everyone ^ pattern):
                value = (
                    number if count <= 2 else self._once((axis, "bit", bit), lambda b=bit: self._masked(number, 1 << b))
                )
                return arith.CmpiOp(value, self.constant(0), "ne" if mask == pattern else "eq").result
        if mask & (mask - 1) == 0:
            return arith.CmpiOp(number, self.constant(mask.bit_length() - 1), "eq").result
        if mask & (mask + 1) == 0:
            return arith.CmpiOp(number, self.constant(mask.bit_length()), "ult").result
        found = self._looked_up(axis, mask, 1)
        return arith.CmpiOp(found, self.constant(0), "ne").result

    def active(self, where: tuple[int, ...]) -> SSAValue | None:
        """Whether this lane's bit is set in the mask of its subgroup; None where it is in every one."""
        lanes = (1 << self.counts["lane"]) - 1
        masks = [mask & lanes for mask in where]
        if all(mask == lanes for mask in masks):
            return None

        def make() -> SSAValue:
            parts: list[SSAValue] = []
            for mask in dict.fromkeys(masks):
                owners = sum(1 << i for i, one in enumerate(masks) if one == mask)
                conditions = [
                    self.holds(axis, bits)
                    for axis, bits in (("sg", owners), ("lane", mask))
                    if bits != (1 << self.counts[axis]) - 1
                ]
                if mask:
                    parts.append(_folded(arith.AndIOp, conditions))
            return named("active", _folded(arith.OrIOp, parts or [self.holds("lane", 0)]))

        return self._once(("active", tuple(masks)), make)

    def other(self, lanes: tuple[int, ...]) -> tuple[gpu.ShuffleMode, SSAValue]:
        """Whose value a lane receives, where lane l receives that of `lanes[l]`: by distance, or by number."""
        distances = {lane ^ i for i, lane in enumerate(lanes)}
        if len(distances) == 1:
            return gpu.ShuffleMode.Xor, self.constant(distances.pop())
        return gpu.ShuffleMode.Idx, self._number_of(lanes)

    def other_by_subgroup(self, lanes: tuple[int, ...], others: tuple[tuple[int, tuple[int, ...]], ...]) -> SSAValue:
        """The number of the lane whose value a lane receives, where some subgroups (as masks) have lanes of their own."""

        def make() -> SSAValue:
            found = self._number_of(lanes)
            for mask, pattern in others:
                found = arith.SelectOp(self.holds("sg", mask), self._number_of(pattern), found).result
            return named("other", found)

        return self._once(("others", lanes, others), make)

    def _number_of(self, lanes: tuple[int, ...]) -> SSAValue:
        return self._once(("other", lanes), lambda: named("other", self._other(lanes)))

    def _other(self, lanes: tuple[int, ...]) -> SSAValue:
        count = len(lanes)
        if len(set(lanes)) == 1:
            return self.constant(lanes[0])
        terms = linear_terms(lanes)
        if terms is not None:
            return self._joined((("lane", terms),), lanes[0])
        rotated = (lanes[0] + i for i in range(count))
        if count & (count - 1) == 0 and all(a % count == b for a, b in zip(rotated, lanes, strict=True)):
            return self._masked(arith.AddiOp(self.number("lane"), self.constant(lanes[0])).result, count - 1)
        if count <= 16:  # four bits for each lane in one constant
            return self._looked_up("lane", sum(lane << 4 * i for i, lane in enumerate(lanes)), 4)
        bits = [sum((lane >> bit & 1) << i for i, lane in enumerate(lanes)) for bit in range(max(lanes).bit_length())]
        parts = [self._shifted(self._looked_up("lane", mask, 1), bit) for bit, mask in enumerate(bits)]
        return _folded(arith.OrIOp, parts)

    def _looked_up(self, axis: str, table: int, width: int) -> SSAValue:
        """Entry `number` of a constant of entries `width` bits wide."""
        count = self.counts[axis]
        if count * width > MAX_NUMBERS:
            raise ConversionError(f"a set out of {count} {axis} numbers; sets out of up to {MAX_NUMBERS} are emitted")
        number = self._shifted(self.number(axis), width.bit_length() - 1)
        kind = i32 if count * width <= 32 else i64
        if kind == i64:
            number = arith.ExtUIOp(number, i64).result
        entry = arith.ShRUIOp(self.constant(table, kind), number).result
        if kind == i64:
            entry = arith.TruncIOp(entry, i32).result
        return self._masked(entry, (1 << width) - 1)

    def address(self, address: Address) -> SSAValue:
        """An address in words, as i32."""
        return self._once(address, lambda: named("address", self._address(address)))

    def _address(self, address: Address) -> SSAValue:
        if address.xor:
            return self._joined((("lane", address.lane), ("sg", address.sg)), address.base)
        moving = self._once(address.factors, lambda: self._factors(address.factors))
        return arith.AddiOp(moving, self.constant(address.base)).result if address.base else moving

    def _factors(self, factors: tuple[tuple[str, int, int, int], ...]) -> SSAValue:
        """The sum of factors of numbers, each times its stride."""
        single = [factor for factor in factors if factor[2] == 2]
        parts: list[SSAValue] = []
        for axis, divisor, extent, stride in factors:
            count = self.counts[axis]
            if extent == 1 or stride == 0 or divisor >= count:
                continue
            moved = [(d.bit_length(), s.bit_length()) for other, d, _, s in single if other == axis]
            value = self._divided(self._veiled(axis) if reverses(moved) else self.number(axis), divisor)
            if -(-count // divisor) > extent:
                value = self._remainder(value, extent)
            parts.append(self._multiplied(value, stride))
        return _folded(arith.AddiOp, parts) if parts else self.constant(0)

    def _joined(self, maps: tuple[tuple[str, tuple[int, ...]], ...], base: int) -> SSAValue:
        """The XOR of a constant and of linear maps of numbers."""
        moving = self._once(maps, lambda: self._linear(maps))
        return arith.XOrIOp(moving, self.constant(base)).result if base else moving

    def _linear(self, maps: tuple[tuple[str, tuple[int, ...]], ...]) -> SSAValue:
        parts: list[SSAValue] = []
        for axis, terms in maps:
            bits = (self.counts[axis] - 1).bit_length()
            groups = shifts(terms[:bits])
            moved = [
                (mask.bit_length(), mask.bit_length() + shift)
                for shift, mask in groups.items()
                if mask & (mask - 1) == 0
            ]
            number = self._veiled(axis) if reverses(moved) else self.number(axis)
            for shift, mask in groups.items():
                part = number if mask == (1 << bits) - 1 else self._masked(number, mask)
                parts.append(self._shifted(part, shift))
        return _folded(arith.XOrIOp, parts) if parts else self.constant(0)

    def _masked(self, number: SSAValue, mask: int) -> SSAValue:
        return arith.AndIOp(number, self.constant(mask)).result

    def _shifted(self, number: SSAValue, shift: int) -> SSAValue:
        if shift == 0:
            return number
        operation = arith.ShLIOp if shift > 0 else arith.ShRUIOp
        return operation(number, self.constant(abs(shift))).result

    def _multiplied(self, number: SSAValue, factor: int) -> SSAValue:
        if factor > 0 and factor & (factor - 1) == 0:
            return self._shifted(number, factor.bit_length() - 1)
        return arith.MuliOp(number, self.constant(factor)).result

    def _divided(self, number: SSAValue, divisor: int) -> SSAValue:
        if divisor & (divisor - 1) == 0:
            return self._shifted(number, 1 - divisor.bit_length())
        return arith.DivUIOp(number, self.constant(divisor)).result

    def _remainder(self, number: SSAValue, extent: int) -> SSAValue:
        if extent & (extent - 1) == 0:
            return self._masked(number, extent - 1)
        return arith.RemUIOp(number, self.constant(extent)).result
