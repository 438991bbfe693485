"""Where a message reads: the scalar instructions of a kernel followed, so far as they add up to the place in the matrix.

A 2D block message takes its place from a register, the payload. Its 32-bit words are: 0 and 1 the address of the matrix, 2 to 4
its width, height and pitch, 5 the column x, 6 the row y, and 7 the shape of the block: width - 1, height - 1 (from bit 8) and
blocks - 1 (from bit 16). Source: the graphics compiler's vISA documentation, LSC_UNTYPED block2d.

What a word holds is known as a base plus a number: the base stands for everything that depends on arguments and on the
workgroup. Two messages with one base are as far from each other as their numbers say, and that is all that a listing needs.

>>> from layoutalg.gemm.listing.reading import read_assembly
>>> program = read_assembly('''
... (W)     add (1|M0)               r3.6<1>:d     r2.1<0;1,0>:d     32:w
... (W)     mov (1|M0)               r3.5<1>:d     0:w
... (W)     mov (1|M0)               r3.7<1>:ud    0x10F0F:ud
...         send.ugm (1|M0)  r8  r3  null:0 0x0 0x03F80203 // wr:1+0, rd:16; load_block2d.ugm.d16.a64.ca.ca.flat[A+(0x20,0x0)]
... ''')
>>> place, = followed(program.instructions).values()
>>> place.x.constant, place.y.constant, place.y.base, place.shape
(32, 32, ('at', 33), (16, 16, 2))

The instructions are followed in the order of the text, not along jumps: a kernel's places are computed once before its loop.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias, cast

from layoutalg.core.whole_numbers import instance_of
from layoutalg.gemm.listing.reading import Instruction, Operand

__all__ = ["Amount", "MessagePlace", "followed"]

WORDS = 16
"""32-bit words of one register of 64 bytes (chips whose subgroups have 16 lanes)."""
_BYTES = {"b": 1, "ub": 1, "w": 2, "uw": 2, "hf": 2, "bf": 2, "d": 4, "ud": 4, "f": 4, "q": 8, "uq": 8, "df": 8}
_OFFSET = re.compile(r"flat\[A\+\((-?0x[0-9A-Fa-f]+|-?\d+),(-?0x[0-9A-Fa-f]+|-?\d+)\)\]")
_REGION = re.compile(r"<(?:(\d+);\d+,\d+|(\d+))>")
_MOST_NESTED = 40

Base: TypeAlias = tuple[object, ...] | None


@dataclass(frozen=True, slots=True)
class Amount:
    """What a 32-bit word holds: a base (None for zero) plus a number."""

    base: Base
    constant: int = 0


@dataclass(frozen=True, slots=True)
class MessagePlace:
    """Where a 2D block message reads: column, row, and (rows, columns, blocks) of its shape if that is known.

    >>> MessagePlace(Amount(None, 0), Amount(None, 8), (32, 16, 2)).y.constant
    8
    """

    x: Amount
    y: Amount
    shape: tuple[int, int, int] | None


def followed(instructions: Sequence[Instruction]) -> dict[int, MessagePlace]:
    """The place of every 2D block message, by its position among the instructions."""
    instance_of(instructions, (tuple, list), "instructions")
    words = _Words()
    places: dict[int, MessagePlace] = {}
    for position, one in enumerate(instructions):
        if one.mnemonic.startswith("send"):
            if "block2d" in one.message and one.sources and one.sources[0].register is not None:
                places[position] = words.place(one.sources[0].register, one.message)
            words.forget(one.operands[0], one.answer)
        elif one.destination is not None:
            words.write(one)
    return places


class _Words:
    """The 32-bit words of all registers, as far as they are known."""

    def __init__(self) -> None:
        self.known: dict[int, Amount] = {}
        self.fresh = count()

    def read(self, word: int) -> Amount:
        return self.known.get(word) or Amount(("at", word))

    def unknown(self) -> Amount:
        return Amount(("unknown", next(self.fresh)))

    def forget(self, operand: Operand, registers: int) -> None:
        if operand.register is not None:
            for word in range(operand.register * WORDS, (operand.register + registers) * WORDS):
                self.known[word] = self.unknown()

    def place(self, register: int, message: str) -> MessagePlace:
        first = register * WORDS
        x, y, shape = (self.read(first + word) for word in (5, 6, 7))
        offset = _OFFSET.search(message)
        if offset:
            right, down = int(offset[1], 0), int(offset[2], 0)
            x, y = Amount(x.base, x.constant + right), Amount(y.base, y.constant + down)
        known = None
        if shape.base is None:
            bits = shape.constant
            known = ((bits >> 8 & 255) + 1, (bits & 255) + 1, (bits >> 16 & 15) + 1)
        return MessagePlace(x, y, known)

    def write(self, one: Instruction) -> None:
        assert one.destination is not None
        size = _BYTES.get(one.destination.type, 0)
        if one.destination.register is None:
            return
        if one.mnemonic.startswith("dpas"):
            rows = int(one.mnemonic.rpartition("x")[2] or 8)
            self.forget(one.destination, rows * one.lanes * (size or 4) // (4 * WORDS))
            return
        if size < 4 or one.predicate not in ("", "W"):
            first, last = _word(one.destination, size), (one.lanes - 1) * _stride(one.destination) * size // 4
            self.known.update((word, self.unknown()) for word in range(first, first + last + 1))
            return
        # All sources are read before anything is written: `mov (2|M0) r3.2 r3.1` moves two words at once.
        results: list[tuple[int, Amount]] = []
        for lane in range(one.lanes):
            word = _word(one.destination, size) + lane * _stride(one.destination) * size // 4
            amounts = [self.source(source, lane) for source in one.sources]
            results.append((word, self.result(one.mnemonic, amounts)))
            if size == 8:
                high = self.high_half(one, lane)
                results.append((word + 1, high))
        self.known.update(results)

    def high_half(self, one: Instruction, lane: int) -> Amount:
        source = one.sources[0] if one.sources else None
        if one.mnemonic == "mov" and source is not None and _BYTES.get(source.type, 0) == 8:
            if source.register is not None:
                return self.read(_word(source, 8) + 1 + lane * _stride(source) * 2)
            if source.number is not None:
                return Amount(None, source.number >> 32 & 0xFFFFFFFF)
        if one.mnemonic == "mov" and source is not None and source.number is not None:
            return Amount(None, 0 if source.number >= 0 else -1)
        return self.unknown()

    def source(self, operand: Operand, lane: int) -> Amount:
        number = _immediate(operand)
        if number is not None:
            return Amount(None, number)
        size = _BYTES.get(operand.type, 0)
        if operand.register is None or not operand.text.startswith("r") or size == 0:
            return self.unknown()
        if size < 4:
            part = operand.part * size + lane * _stride(operand) * size
            return Amount(("part", operand.type, part % 4, self.read(operand.register * WORDS + part // 4)))
        return self.read(_word(operand, size) + lane * _stride(operand) * size // 4)

    def result(self, mnemonic: str, amounts: list[Amount]) -> Amount:
        """What an operation makes of its operands; equal operations on equal operands give equal bases."""
        first = amounts[0] if amounts else self.unknown()
        second = amounts[1] if len(amounts) > 1 else Amount(None)
        if mnemonic == "mov":
            return first
        if mnemonic == "add":
            if first.base is None or second.base is None:
                return Amount(first.base or second.base, first.constant + second.constant)
            return self.nested("add", first.constant + second.constant, *sorted([first.base, second.base], key=repr))
        if mnemonic == "or" and second.base is None and second.constant >= 0:
            # The compiler writes a + 32 as a | 32 where it knows that the bit is free.
            return Amount(first.base, first.constant + second.constant)
        if mnemonic == "shl" and second.base is None and 0 <= second.constant < 32:
            constant = first.constant << second.constant
            return Amount(None, constant) if first.base is None else self.nested("shl", constant, first.base, second)
        if mnemonic in ("shr", "asr") and second.base is None and 0 <= second.constant < 32:
            below = first.constant % 2**second.constant
            constant = first.constant >> second.constant
            if first.base is None:
                return Amount(None, constant)
            # places are not negative: the compiler takes the one or the other
            return self.nested("shr", constant, Amount(first.base, below), second)
        if mnemonic == "bfn.0xFE":  # a | b | c
            *others, constant = sorted(amounts, key=lambda amount: amount.base is None)
            return self.result("or", [self.result("or", others), constant])
        return self.nested(mnemonic, 0, *amounts)

    def nested(self, *parts: object) -> Amount:
        name, constant, *rest = parts
        base = (name, *rest)
        return Amount(base, int(str(constant))) if _depth(base) < _MOST_NESTED else self.unknown()


def _depth(value: object) -> int:
    if isinstance(value, Amount):
        return _depth(value.base)
    if isinstance(value, tuple):
        return 1 + max(map(_depth, cast("tuple[object, ...]", value)), default=0)
    return 0


def _word(operand: Operand, size: int) -> int:
    return (operand.register or 0) * WORDS + operand.part * size // 4


def _stride(operand: Operand) -> int:
    """Elements from one lane to the next, in a source or a destination."""
    found = _REGION.search(operand.text)
    return int(found[1] or found[2] or 0) if found else 1


def _immediate(operand: Operand) -> int | None:
    """The bits of an immediate as a number; floats by their bits."""
    if operand.type == "f" and operand.register is None:
        digits = operand.text.partition(":")[0]
        try:
            return int(struct.unpack("<i", struct.pack("<f", float(digits)))[0])
        except (ValueError, OverflowError):
            return None
    return operand.number
