"""Bits of registers that change places with the parts of words, by byte permutes.

Words of two halves, registers 0 and 1, 2 and 3; wanted are words of the registers 0 and 2, 1 and 3:

>>> builder = Builder(1, 32, 16, pack=[0, 1, 2, 3])
>>> found = with_parts(builder, {0: 0, 2: 1}, have=[0], want=[1], bits=16)
>>> found, [hex(step.selectors[0]) for step in builder.program(4, 4, [found[0] * 2] * 2 + [found[1] * 2] * 2).steps]
({0: 2, 1: 3}, ['0x5410', '0x7632'])

A permute makes a word of the bytes of two, so that one for each word brings one bit into the words, and orders them besides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from layoutalg.conversion.program.builder import Builder
from layoutalg.conversion.program.steps import WORD

__all__ = ["merged", "with_parts"]

_BYTES = WORD // 8


def with_parts(
    builder: Builder, words: Mapping[int, int], have: Sequence[int], want: Sequence[int], bits: int
) -> dict[int, int]:
    """The words whose parts are told apart by the register bits `want`, low part first, of words where `have` does it.

    Words are found by the registers' numbers without those bits.
    """
    found, parts = dict(words), list(have)
    while parts != list(want):
        missing = [bit for bit in want if bit not in parts]
        if not missing:
            found = {
                key: builder.permute(word, word, (_selector(parts, want, bits, {}),)) for key, word in found.items()
            }
            break
        coming, leaving = missing[0], next(bit for bit in parts if bit not in want)
        made = [coming if bit == leaving else bit for bit in parts] if len(missing) > 1 else list(want)
        paired: dict[int, int] = {}
        for key, low in found.items():
            if not key >> coming & 1:
                for side in range(2):
                    selector = _selector(parts, made, bits, {leaving: side}, coming)
                    paired[key | side << leaving] = builder.permute(low, found[key | 1 << coming], (selector,))
        found, parts = paired, made
    return found


def _selector(have: Sequence[int], want: Sequence[int], bits: int, known: Mapping[int, int], other: int = -1) -> int:
    """The bytes of a word with the parts `want`, of one or two words (told apart by the bit `other`) with the parts `have`."""
    size, selector = bits // 8, 0
    for byte in range(_BYTES):
        value = {bit: byte // size >> i & 1 for i, bit in enumerate(want)} | dict(known)
        part = sum(value[bit] << i for i, bit in enumerate(have))
        selector |= (_BYTES * value.get(other, 0) + part * size + byte % size) << 4 * byte
    return selector


def merged(
    builder: Builder, words: Mapping[int, int], half: int, coming: int, order: Sequence[int], lane_bit: int
) -> dict[int, int]:
    """Words of four bytes: of each half of two words the byte that a bit of the lane's number says.

    The halves are told apart by the register bit `half`, the two words by `coming`; `order` has both, low part first.
    """
    selectors: list[int] = []
    for chosen in range(2):
        selector = 0
        for byte in range(_BYTES):
            value = {bit: byte >> i & 1 for i, bit in enumerate(order)}
            selector |= (_BYTES * value[coming] + 2 * value[half] + chosen) << 4 * byte
        selectors.append(selector)
    by_lane = tuple([selectors[lane >> lane_bit & 1] for lane in range(builder.lanes)])
    return {
        key: builder.permute(low, words[key | 1 << coming], by_lane)
        for key, low in words.items()
        if not key >> coming & 1
    }
