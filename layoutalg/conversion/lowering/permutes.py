"""Byte permutes as operations: one instruction where a chip has it, shifts and masks where it has not.

A selector of `Permute` has four bits for each byte of the result, the lowest first: 0 to 3 are bytes of the low word, 4 to 7
of the high one. `prmt.b32` takes it as it is (PTX ISA, "prmt"); `v_perm_b32` takes a byte for each, and the high word first
(AMD's instruction set guides, "V_PERM_B32"):

>>> hex(amd_selector(0x5410))
'0x5040100'

What a lane's own selector is, is computed once for each table of selectors: two are one select, and where the selectors are
XORs of one term for each bit of the lane, it is a select and an XOR for each term. On other chips a permute is shifts, masks
and ors. Where lanes differ, and selectors move whole halves of words, each half of the result is selected by itself: for
pvc and bmg that is two instructions, where shifts and a select between two words are five.

>>> from layoutalg.conversion.lowering.writer import Writer
>>> writer = Writer([Value("i32", name="a"), Value("i32", name="b")])
>>> made = permuted(Indices(writer, 1, 32, "sm_80"), *writer.arguments, (0x5410, 0x7632) * 16)
>>> print(writer.text().splitlines()[-1])
%2 = llvm.call_intrinsic "llvm.nvvm.prmt"(%a, %b, %selector) : (i32, i32, i32) -> i32
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from layoutalg.conversion.lowering.indices import Indices, named
from layoutalg.conversion.lowering.number_maps import linear_terms
from layoutalg.conversion.lowering.writer import Value
from layoutalg.conversion.program.steps import WORD

__all__ = ["BYTES", "amd_selector", "joined_bytes", "permuted"]

BYTES = WORD // 8


def amd_selector(selector: int) -> int:
    """A selector as AMD's byte permute takes it: a byte for each byte of the result."""
    return sum((selector >> 4 * j & 7) << 8 * j for j in range(BYTES))


def permuted(indices: Indices, low: Value, high: Value, selectors: Sequence[int]) -> Value:
    """The word that a byte permute makes (see `Permute`): one selector for all lanes, or one for each.

    >>> from layoutalg.conversion.lowering.writer import Writer
    >>> writer = Writer([Value("i32", name="a")])
    >>> made = permuted(Indices(writer, 1, 64, "gfx942"), writer.arguments[0], writer.arguments[0], (0x1032,))
    >>> print(writer.text())
    %c16777986 = arith.constant 16777986 : i32
    %0 = llvm.call_intrinsic "llvm.amdgcn.perm"(%a, %a, %c16777986) : (i32, i32, i32) -> i32
    """
    match indices.vendor:
        case "nvidia":
            return _intrinsic(indices, "llvm.nvvm.prmt", (low, high, _selector(indices, selectors)))
        case "amd":
            chosen = _selector(indices, [amd_selector(one) for one in selectors])
            return _intrinsic(indices, "llvm.amdgcn.perm", (high, low, chosen))
        case _ if len(set(selectors)) > 1 and all(map(_of_halves, selectors)):
            return _halves(indices, low, high, selectors)
        case _:
            return by_lane(indices, selectors, lambda selector: _bytes_of(indices, low, high, selector))


def joined_bytes(indices: Indices, chosen: Sequence[tuple[Value, int]]) -> Value:
    """The word of four bytes, each of some word, the lowest first: one permute fewer than there are words, at least one.

    >>> from layoutalg.conversion.lowering.writer import Writer
    >>> writer = Writer([Value("i32", name="a"), Value("i32", name="b")])
    >>> a, b = writer.arguments
    >>> made = joined_bytes(Indices(writer, 1, 32, "sm_80"), [(a, 0), (a, 1), (b, 0), (b, 1)])
    >>> print(writer.text())
    %c21520 = arith.constant 21520 : i32
    %0 = llvm.call_intrinsic "llvm.nvvm.prmt"(%a, %b, %c21520) : (i32, i32, i32) -> i32
    """
    first, *others = list(dict.fromkeys(word for word, _ in chosen))
    own = [byte if word is first else place for place, (word, byte) in enumerate(chosen)]
    found = first
    for other in others:
        selector = sum(
            (BYTES + byte if word is other else own[place]) << 4 * place for place, (word, byte) in enumerate(chosen)
        )
        found, own = permuted(indices, found, other, (selector,)), list(range(BYTES))
    if not others and own != list(range(BYTES)):
        found = permuted(indices, found, found, (sum(byte << 4 * place for place, byte in enumerate(own)),))
    return found


def _intrinsic(indices: Indices, name: str, operands: tuple[Value, ...]) -> Value:
    form = f'llvm.call_intrinsic "{name}"(%s, %s, %s) : (i32, i32, i32) -> i32'
    return indices.writer.value(form, operands, "i32")


def _selector(indices: Indices, selectors: Sequence[int]) -> Value:
    """The selector of this lane, as i32: computed once for each table."""
    distinct = set(selectors)
    if len(distinct) == 1:
        return indices.constant(distinct.pop())
    terms = linear_terms(selectors) if len(distinct) > 2 else None

    def make() -> Value:
        if terms is None:
            return by_lane(indices, selectors, indices.constant)
        found = indices.constant(selectors[0])
        for bit, term in enumerate(terms):
            if term:
                mask = sum(1 << lane for lane in range(len(selectors)) if lane >> bit & 1)
                chosen = indices.selected(indices.holds("lane", mask), indices.constant(term), indices.constant(0))
                found = indices.binary("xori", found, chosen)
        return found

    return indices.once(("selector", tuple(selectors)), lambda: named("selector", make()))


def by_lane(indices: Indices, numbers: Sequence[int], made: Callable[[int], Value]) -> Value:
    """What `made` gives for the number of this lane (or for the only number): a select for each further one."""
    masks: dict[int, int] = {}
    for lane, number in enumerate(numbers):
        masks[number] = masks.get(number, 0) | 1 << lane
    first, *others = sorted(masks, key=lambda number: -masks[number].bit_count())
    found = made(first)
    for number in others:
        found = indices.selected(indices.holds("lane", masks[number]), made(number), found)
    return found


def _of_halves(selector: int) -> bool:
    """Whether a selector moves whole halves of words."""
    return all(
        selector >> place & 1 == 0 and (selector >> place & 7) + 1 == selector >> place + 4 & 7 for place in (0, 8)
    )


def _halves(indices: Indices, low: Value, high: Value, selectors: Sequence[int]) -> Value:
    """Halves of two words, each selected by the lane."""
    writer = indices.writer
    given: list[Value] = []
    for word in dict.fromkeys((low, high)):
        one = writer.value("vector.from_elements %s : vector<1xi32>", (word,), "i32", 1)
        two = writer.value("vector.bitcast %s : vector<1xi32> to vector<2xi16>", (one,), "i16", 2)
        given += [
            writer.value(f"vector.extract %s[{half}] : i16 from vector<2xi16>", (two,), "i16") for half in range(2)
        ]
    count = len(given)  # two where both words are the same one
    halves = [
        by_lane(indices, [(selector >> place & 7) // 2 % count for selector in selectors], given.__getitem__)
        for place in (0, 8)
    ]
    made = writer.value("vector.from_elements %s, %s : vector<2xi16>", halves, "i16", 2)
    word = writer.value("vector.bitcast %s : vector<2xi16> to vector<1xi32>", (made,), "i32", 1)
    return writer.value("vector.extract %s[0] : i32 from vector<1xi32>", (word,), "i32")


def _bytes_of(indices: Indices, low: Value, high: Value, selector: int) -> Value:
    """Bytes of two words by shifts and masks."""
    bytes_of: dict[tuple[Value, int], int] = {}  # by word and shift to the left in bytes: the bytes that stay
    for j in range(BYTES):
        byte = selector >> 4 * j & 7
        key = (low if byte < BYTES else high), j - byte % BYTES
        bytes_of[key] = bytes_of.get(key, 0) | 0xFF << 8 * j
    terms: list[Value] = []
    for (word, shift), mask in bytes_of.items():
        moved = word
        if shift:
            moved = indices.binary("shli" if shift > 0 else "shrui", word, indices.constant(8 * abs(shift)))
        left = (0xFFFFFFFF << 8 * shift if shift > 0 else 0xFFFFFFFF >> -8 * shift) & 0xFFFFFFFF
        terms.append(moved if mask == left else indices.binary("andi", moved, indices.constant(mask)))
    found = terms[0]
    for term in terms[1:]:
        found = indices.binary("ori", found, term)
    return found
