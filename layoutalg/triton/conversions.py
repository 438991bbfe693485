"""How Triton itself converts a tensor from one layout to another: `ttg.convert_layout`, as its compiler lowers it.

Two lanes of two registers hold the rows of a matrix, and its columns are wanted. The bit of the register and the bit of the
lane change places: Triton shuffles. With two such pairs of bits it goes through memory:

>>> rows = LinearLayout(register=((0, 1),), lane=((1, 0),), shape=(2, 2))
>>> columns = LinearLayout(register=((1, 0),), lane=((0, 1),), shape=(2, 2))
>>> print(how_triton_converts(rows, columns))
shuffles: 1 of 32 bits (lane bit 0 becomes register bit 0, register bit 0 becomes lane bit 0)
>>> blocked = "#ttg.blocked<{sizePerThread = [%s], threadsPerWarp = [%s], warpsPerCTA = [1, 1], order = [1, 0]}>"
>>> print(how_triton_converts(blocked % ("1, 4", "4, 8"), blocked % ("4, 1", "1, 32"), (4, 32), "f32", "sm_80"))
shared memory: 512 bytes, 1 store of 128 bits, 1 ldmatrix of 128 bits, 1 barrier of the warp (2 bits change places between
registers and lanes, and Triton shuffles for one at most)

The rules, as Triton 3.9 has them. C says where each place of the result finds its element: `result.invert_and_compose(source)`,
without registers that hold copies. Inputs over which C is the identity, and mixes with nothing, are left out: the block, then
the warp, then the lane.

- Nothing left: no instruction, and none where only registers are renamed.
- Registers and lanes left: C is a permutation of registers, one of lanes, and k exchanges of a register bit with a lane bit.
  Shuffles where k < 2; else shared memory.
- Warps or CTAs left: shared memory. But where all warps of the source hold the same and warps of the result differ only in
  the lanes that they read, each reads its own: shuffles, if k < 2.

A conversion through shared memory is dealt to the memory's banks by `swizzling`. tests/oracle asks Triton's compiler for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from layoutalg.core.elements import element_bits
from layoutalg.core.errors import ConversionError
from layoutalg.core.gf2 import preimages
from layoutalg.core.layout import Layout
from layoutalg.core.messages import shown
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import instance_of, whole_number
from layoutalg.triton.encodings import Encoding, GenericLinear, parse_encoding
from layoutalg.triton.exchanges import Exchanges
from layoutalg.triton.layouts import to_linear_layout
from layoutalg.triton.linear import LinearLayout
from layoutalg.triton.swizzling import Columns, Hardware, Swizzle

__all__ = ["Accesses", "End", "TritonConversion", "how_triton_converts", "linear_ends"]

End = Encoding | LinearLayout | Layout | str
"""A layout of a tensor in registers: an encoding, its text, a linear layout, or a layout onto reg, lane and sg."""
Kind = Literal["none", "registers", "shuffles", "shared memory"]
_INPUTS = ("register", "lane", "warp", "block")


class Accesses(NamedTuple):
    """The stores or loads of one lane: how many instructions, of how many bits each, and which.

    `waits` is what Triton counts as conflicts of banks: the rounds that an instruction waits beyond its first.

    >>> print(Accesses(2, 128, "ldmatrix", 0))
    2 x 128 bits (ldmatrix)
    """

    instructions: int
    bits: int
    instruction: str = "shared"
    waits: int = 0

    def __str__(self) -> str:
        named = "" if self.instruction == "shared" else f" ({self.instruction})"
        return f"{self.instructions} x {self.bits} bits{named}"

    def words(self, verb: str) -> str:
        """In a sentence.

        >>> Accesses(1, 64, waits=3).words("load")
        '1 load of 64 bits (4 rounds each)'
        >>> Accesses(8, 128, "ldmatrix.trans").words("load")
        '8 ldmatrix.trans of 128 bits'
        """
        told = (
            counted(self.instructions, verb)
            if self.instruction == "shared"
            else f"{self.instructions} {self.instruction}"
        )
        waits = f" ({self.waits + 1} rounds each)" if self.waits else ""
        return f"{told} of {self.bits} bits{waits}"


@dataclass(frozen=True, slots=True)
class TritonConversion:
    """What Triton emits for a conversion on a target.

    `moves` are the bits that change places, from the source to the result. `shuffles` counts words of 32 bits that a lane sends
    to another, `shared_bytes` is the memory that Triton allocates for the CTA; `swizzle`, `stores`, `loads` and `barriers`
    are of a conversion through memory, and the barriers are of the `synchronised`: the warp, the CTA or the cluster.

    >>> rows = LinearLayout(register=((0, 1),), lane=((1, 0),), shape=(2, 2))
    >>> how_triton_converts(rows, rows, (2, 2), "f16", "sm_90").kind
    'none'
    """

    kind: Kind
    target: str
    element_bits: int
    moves: tuple[tuple[str, str], ...] = ()
    reason: str = ""
    shuffles: int = 0
    shared_bytes: int = 0
    swizzle: Swizzle | None = None
    stores: Accesses | None = None
    loads: Accesses | None = None
    barriers: int = 0
    synchronised: str = ""
    exchanges: Exchanges | None = None

    @property
    def repetitions(self) -> int:
        """How often it stores and loads a part of the tensor, in the same memory.

        >>> rows = LinearLayout(register=((0, 1),), lane=((1, 0),), shape=(2, 2))
        >>> how_triton_converts(rows, rows, (2, 2)).repetitions
        0
        """
        return 1 << len(self.swizzle.reps) if self.swizzle is not None else 0

    def __str__(self) -> str:
        return f"{self.text} ({self.reason})" if self.reason else self.text

    @property
    def text(self) -> str:
        """What it emits, in words.

        >>> rows, columns = (LinearLayout(lane=lanes, shape=(2, 2)) for lanes in (((0, 1), (1, 0)), ((1, 0), (0, 1))))
        >>> how_triton_converts(rows, columns, (2, 2)).text
        'shuffles: 1 of 32 bits'
        """
        if self.kind == "none":
            return "no instruction"
        if self.kind == "registers":
            return "no instruction: registers are renamed"
        if self.kind == "shuffles":
            return f"shuffles: {self.shuffles} of 32 bits"
        if self.stores is None or self.loads is None:
            raise ConversionError("a conversion through memory without stores and loads")
        parts = [counted(self.shared_bytes, "byte"), self.stores.words("store"), self.loads.words("load")]
        parts.append(f"{counted(self.barriers, 'barrier')} of the {self.synchronised}")
        if self.repetitions > 1:
            parts.append(f"in {self.repetitions} parts")
        return f"shared memory: {', '.join(parts)}"

    @property
    def facts(self) -> dict[str, Any]:
        """As data, for JSON.

        >>> rows = LinearLayout(register=((0, 1),), lane=((1, 0),), shape=(2, 2))
        >>> how_triton_converts(rows, rows).facts["shared_bytes"]
        0
        """
        found: dict[str, Any] = {
            "kind": self.kind,
            "target": self.target,
            "element_bits": self.element_bits,
            "moves": [list(pair) for pair in self.moves],
            "reason": self.reason,
            "shuffles": self.shuffles,
            "shared_bytes": self.shared_bytes,
            "barriers": self.barriers,
        }
        if self.swizzle is not None and self.stores is not None and self.loads is not None:
            found |= {
                "stores": self.stores._asdict(),
                "loads": self.loads._asdict(),
                "repetitions": self.repetitions,
                "swizzle": {
                    name: list(getattr(self.swizzle, name)) for name in ("vector", "bank", "segment", "reps", "block")
                },
            }
        return found


def how_triton_converts(
    source: End, result: End, shape: Sequence[int] | None = None, element: str | int = "f32", target: str = "sm_80"
) -> TritonConversion:
    """How Triton converts a tensor of `shape` from one layout to another on an NVIDIA or AMD chip.

    `element` is a type ("f16", "i1", "!tt.ptr<f32>") or its bits. Linear layouts and layouts have shapes of their own.

    Raises `ConversionError` for layouts that do not fit, or that Triton refuses, and for a target that it has no code for.

    >>> text = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>"
    >>> operand = f"#ttg.dot_op<{{opIdx = 0, parent = {text}, kWidth = 2}}>"
    >>> found = how_triton_converts(text, operand, (32, 32), "f16", "sm_90")
    >>> found.kind, found.shared_bytes, str(found.stores), str(found.loads)
    ('shared memory', 2048, '1 x 128 bits', '2 x 128 bits')
    """
    bits, (chip, hardware) = bits_of(element), Hardware.of(target)
    before, after = linear_ends(source, result, shape)
    whole = after.invert_and_compose(before)
    rest = _stripped(whole)
    names = rest.get_in_dim_names()
    moves = _moves(rest)
    if not names or names == ("register",):
        return TritonConversion("registers" if names else "none", chip, bits, moves, _renamed(moves))
    if any(
        _is_generic(one) or (not isinstance(one, (Encoding, str)) and _xor(linear))
        for one, linear in ((source, before), (result, after))
    ):
        raise ConversionError("Triton converts layouts with XOR between registers of one thread only")
    own = Exchanges.of(before, after, bits) if _within_warps(before, rest) else None
    if own is not None and own.exchanged < 2:
        return TritonConversion("shuffles", chip, bits, moves, _renamed(moves), own.shuffles, exchanges=own)
    why = (
        f"{counted(own.exchanged, 'bit')} change places between registers and lanes, and Triton shuffles for one at most"
        if own is not None
        else f"elements are dealt to {'CTAs' if 'block' in names else 'warps'} anew"
    )
    return _through_memory(before, after, whole, hardware, TritonConversion("shared memory", chip, bits, moves, why))


def linear_ends(source: End, result: End, shape: Sequence[int] | None = None) -> tuple[LinearLayout, LinearLayout]:
    """Both ends of a conversion as linear layouts of one tensor, without registers that hold copies.

    Raises `ConversionError` for ends of other shapes, lanes, warps or CTAs, and for layouts that leave elements out.

    >>> linear_ends(LinearLayout(lane=((1,),), shape=(2,)), LinearLayout(warp=((1,),), shape=(2,)))
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: 2 lanes before and 1 after: expected as many
    """
    before, after = (_linear(one, shape).remove_zero_bases_along_dim("register") for one in (source, result))
    if before.shape != after.shape:
        raise ConversionError(f"shapes {list(before.shape)} and {list(after.shape)}: expected the same")
    for name in _INPUTS[1:]:
        if before.get_in_dim_size(name) != after.get_in_dim_size(name):
            raise ConversionError(
                f"{before.get_in_dim_size(name)} {name}s before and {after.get_in_dim_size(name)} after: expected as many"
            )
    if not before.is_surjective() or not after.is_surjective():
        raise ConversionError("elements that belong to nobody: expected layouts that hold the whole tensor")
    return before, after


def bits_of(element: object) -> int:
    """The bits of an element as Triton keeps it: at least 8, and 64 for a pointer.

    >>> bits_of("i1"), bits_of("bf16"), bits_of("!tt.ptr<f32>"), bits_of(32)
    (8, 16, 64, 32)
    """
    if isinstance(element, str):
        bits = 64 if element.startswith("!tt.ptr<") and element.endswith(">") else element_bits(element)
    else:
        bits = whole_number(element, "element bits", 1, 128, ConversionError)
    if bits & (bits - 1):
        raise ConversionError(f"element {shown(element)}: {bits} bits, expected a power of two")
    return max(bits, 8)


def _linear(end: object, shape: Sequence[int] | None) -> LinearLayout:
    """The linear layout of an end of the conversion."""
    instance_of(end, (Encoding, LinearLayout, Layout, str), "conversion of", ConversionError)
    if isinstance(end, str):
        end = parse_encoding(end)
    if isinstance(end, Encoding):
        if shape is None:
            raise ConversionError(f"{end} needs a shape, such as 64x64")
        found = end.to_linear(shape)
    else:
        found = to_linear_layout(end) if isinstance(end, Layout) else end
        found = found if shape is None or not isinstance(found, LinearLayout) else found.resized(shape)
    if not isinstance(found, LinearLayout) or not found.is_distributed:
        raise ConversionError(f"{end}: expected a layout of registers, lanes and warps")
    return found


def _stripped(whole: LinearLayout) -> LinearLayout:
    """Without the inputs, from the block on, over which nothing moves."""
    for name in reversed(_INPUTS):
        rest = whole.quotient([name])
        if rest is None:
            break
        whole = rest
    return whole


def _is_generic(end: End) -> bool:
    return isinstance(parse_encoding(end) if isinstance(end, str) else end, GenericLinear)


def _xor(layout: LinearLayout) -> bool:
    """Whether a basis moves several bits, or two move the same."""
    moved = [column for column in layout.columns() if column]
    return len(set(moved)) < len(moved) or any(column & (column - 1) for column in moved)


def _within_warps(before: LinearLayout, rest: LinearLayout) -> bool:
    """Whether each warp has all that it needs: its own, or what all warps of the source hold, and in its own registers."""
    names = rest.get_in_dim_names()
    if names == ("register", "lane"):
        return True
    if names != ("register", "lane", "warp"):
        return False
    bases = dict(rest.bases)
    if any(warp for name in names[:2] for _, _, warp in bases[name]):
        return False
    own = enumerate(zip(bases["warp"], before.warp, strict=True))
    return all(not moved[0] and moved[2] == (1 << i if any(held) else 0) for i, (moved, held) in own)


def _bit(name: str, number: int) -> str:
    return f"{name} bit {number}"


def _moves(rest: LinearLayout) -> tuple[tuple[str, str], ...]:
    """Which bits of the source's place become which of the result's, where they differ."""
    found: list[tuple[str, str]] = []
    names = rest.get_out_dim_names()
    for name, bases in rest.bases:
        for number, basis in enumerate(bases):
            read = [
                _bit(axis, i)
                for axis, value in zip(names, basis, strict=True)
                for i in range(value.bit_length())
                if value >> i & 1
            ]
            if read and read != [_bit(name, number)]:
                found.append((" ^ ".join(read), _bit(name, number)))
    return tuple(found)


def _renamed(moves: tuple[tuple[str, str], ...]) -> str:
    return ", ".join([f"{old} becomes {new}" for old, new in moves])


def _through_memory(
    before: LinearLayout, after: LinearLayout, whole: LinearLayout, hardware: Hardware, found: TritonConversion
) -> TritonConversion:
    """The conversion with its swizzle, accesses and barriers."""
    sides = [_side(one) for one in (before, after)]
    crossing = not whole.is_trivial_over(["block"])
    bits = found.element_bits
    swizzle = Swizzle.of(sides[0], sides[1], bits, hardware, crossing=crossing)
    places = [*swizzle.offset, *swizzle.reps, *[column for column in swizzle.block if column]]
    stores, loads = (
        _accesses(side, places, swizzle, bits, instruction, waits)
        for side, instruction, waits in zip(sides, (swizzle.store, swizzle.load), swizzle.waits, strict=True)
    )
    leaves = _leaves_cta(whole, before)
    copied = any(one.get_free_variable_masks()["warp"] for one in (before, after))
    in_warps = not leaves and not copied and whole.is_trivial_over(["warp"])
    return replace(
        found,
        shared_bytes=bits << len(swizzle.offset) >> 3,
        swizzle=swizzle,
        stores=stores,
        loads=loads,
        barriers=(2 << len(swizzle.reps)) - 1,
        synchronised="warp" if in_warps else "cluster" if leaves else "CTA",
    )


def _leaves_cta(whole: LinearLayout, before: LinearLayout) -> bool:
    """Whether an element comes from another CTA, though its own has none."""
    own = [i for i, basis in enumerate(before.block) if any(basis)]
    at = whole.get_out_dim_names().index("block")
    for name, bases in whole.bases:
        for number, basis in enumerate(bases):
            expected = 1 << number if name == "block" and number in own else 0
            if sum([basis[at] & 1 << i for i in own]) != expected:
                return True
    return False


def _side(layout: LinearLayout) -> Columns:
    columns = iter(layout.columns())
    return Columns(*[tuple([next(columns) for _ in bases]) for _, bases in layout.bases])


def _accesses(
    side: Columns, places: Sequence[int], swizzle: Swizzle, bits: int, instruction: str, waits: int
) -> Accesses:
    """The instructions of a lane that hold the side's registers in memory."""
    offsets = [[one or 0 for one in preimages(places, part)] for part in side]
    size = len(swizzle.offset)
    repeated = [1 << size + i for i in range(len(swizzle.reps))]
    registers = [offset for offset in offsets[0] if offset not in repeated]
    count = 1 << len(registers) + len(repeated)
    if instruction == "shared":
        wide = widest(registers, [*offsets[1], *offsets[2], *offsets[3]], bits)
    else:
        wide = min(128 // bits, 1 << len(registers))
    return Accesses(count // wide, wide * bits, instruction, waits)


def widest(registers: Sequence[int], others: Sequence[int], bits: int) -> int:
    """The elements of an access of at most 128 bits: at aligned, consecutive offsets in every lane.

    >>> widest((2, 1, 8), (4, 16), 32), widest((1, 2), (6, 4), 32)
    (4, 2)
    """
    size = max(128 // bits, 1)
    while size > 1:
        units = [1 << i for i in range(size.bit_length() - 1)]
        rest = [offset for offset in registers if offset not in units]
        if all(unit in registers for unit in units) and not any(offset & (size - 1) for offset in (*rest, *others)):
            break
        size //= 2
    return size
