"""SPIR-V binaries read as words: which names a module imports.

A binary is five words, and then instructions: the first word of one has its number of words in the upper half and its code in
the lower. A module that calls a function and does not define it decorates it as an import (code 71, decoration 41, its name as
bytes, then 1). Codes are those of the SPIR-V specification.

>>> words = struct.pack("<8I", SPIRV_MAGIC, 0x10400, 0, 8, 0, 5 << 16 | 71, 7, 41)
>>> imports_of(words + b"exp\\0" + struct.pack("<I", 1))
['exp']
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from layoutalg.core.errors import PlanError
from layoutalg.core.messages import shown

__all__ = ["imports_of"]

SPIRV_MAGIC = 0x07230203
_HEADER = 5
"""Words before the first instruction."""
DECORATE, LINKAGE_ATTRIBUTES, _IMPORT = 71, 41, 1


def instructions(binary: bytes) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The code and the operands of each instruction."""
    whole = type(binary) is bytes and len(binary) >= 4 * _HEADER and not len(binary) % 4
    if not whole or binary[:4] != struct.pack("<I", SPIRV_MAGIC):
        said = f"{len(binary)} bytes {shown(binary[:8])}" if type(binary) is bytes else shown(binary)
        raise PlanError(f"SPIR-V: expected five words of 32 bits or more, the first {SPIRV_MAGIC:#010x}, not {said}")
    words, at = struct.unpack(f"<{len(binary) // 4}I", binary), _HEADER
    while at < len(words):
        count = words[at] >> 16
        if not count or at + count > len(words):
            raise PlanError(f"SPIR-V: the instruction at word {at} has {count} words, and {len(words) - at} are left")
        yield words[at] & 0xFFFF, words[at + 1 : at + count]
        at += count


def imports_of(binary: bytes) -> list[str]:
    """The names that a module calls or reads and does not define, as they are mangled.

    Raises `PlanError` where `binary` isn't SPIR-V.

    >>> imports_of("kernel")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: SPIR-V: expected five words of 32 bits or more, the first 0x07230203, not 'kernel'
    """
    return [
        text_of(operands[2:-1])
        for code, operands in instructions(binary)
        if code == DECORATE and len(operands) > 3 and operands[1] == LINKAGE_ATTRIBUTES and operands[-1] == _IMPORT
    ]


def text_of(words: tuple[int, ...]) -> str:
    """Words that are a text with a zero behind it."""
    return struct.pack(f"<{len(words)}I", *words).split(b"\0")[0].decode(errors="replace")
