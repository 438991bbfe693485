"""SPIR-V binaries changed: a module without the type bf16, without what spirv-link does not know, with each built-in once.

The names of the codes below are those of the SPIR-V specification.
"""

from __future__ import annotations

import struct

from layoutalg.gemm.hosts.spirv import DECORATE, instructions, text_of

EXTENSION, CAPABILITY, TYPE_INT, TYPE_FLOAT, TYPE_VECTOR, F_CONVERT = 10, 17, 21, 22, 23, 115
CACHE_CONTROLS, CACHE_CONTROL_DECORATIONS = 6441, (6442, 6443)
LAST_OF_TYPES = 39
"""OpTypeForwardPointer; instructions behind it that have a result have its type first."""
NAME, ENTRY_POINT, VARIABLE, LOAD, ACCESS_CHAINS, BUILT_IN = 5, 15, 59, 61, (65, 66, 67, 70), 11
BFLOAT16_TYPE = 5116


def without_cache_controls(binary: bytes) -> bytes:
    """The module without SPV_INTEL_cache_controls, which spirv-link does not know; it changes no result."""
    made = [binary[:20]]
    for code, operands in instructions(binary):
        if code == CAPABILITY and operands[0] == CACHE_CONTROLS:
            continue
        if code == EXTENSION and text_of(operands) == "SPV_INTEL_cache_controls":
            continue
        if code == DECORATE and operands[1] in CACHE_CONTROL_DECORATIONS:
            continue
        made.append(struct.pack(f"<{len(operands) + 1}I", (len(operands) + 1) << 16 | code, *operands))
    return b"".join(made)


def with_builtins_once(binary: bytes) -> bytes:
    """A linked module with one variable for each built-in, where both of its parts had one: a runtime knows them by name."""
    of_kind: dict[int, int] = {}
    types: dict[int, int] = {}
    for code, operands in instructions(binary):
        if code == DECORATE and operands[1] == BUILT_IN:
            of_kind[operands[0]] = operands[2]
        elif code == VARIABLE:
            types[operands[1]] = operands[0]
    first: dict[tuple[int, int], int] = {}
    same = {one: first.setdefault((kind, types[one]), one) for one, kind in of_kind.items()}
    made = [binary[:20]]
    for code, operands in instructions(binary):
        words = list(operands)
        if code in (NAME, DECORATE) and same.get(words[0], words[0]) != words[0]:
            continue
        if code == VARIABLE and same.get(words[1], words[1]) != words[1]:
            continue
        if code in (LOAD, *ACCESS_CHAINS):
            words[2] = same.get(words[2], words[2])
        elif code == ENTRY_POINT:
            end = 3 + len(text_of(operands[2:])) // 4
            words = words[:end] + list(dict.fromkeys(same.get(one, one) for one in words[end:]))
        made.append(struct.pack(f"<{len(words) + 1}I", (len(words) + 1) << 16 | code, *words))
    return b"".join(made)


def without_bf16(binary: bytes) -> bytes:
    """The module with integers of 16 bits in place of bf16, for a runtime that has no SPV_KHR_bfloat16.

    That is the same module only where nothing computes with the type: conversions have been expanded before.
    """
    made, types, values = [binary[:20]], set[int](), set[int]()
    for code, operands in instructions(binary):
        if code == CAPABILITY and operands[0] == BFLOAT16_TYPE:
            continue
        if code == EXTENSION and text_of(operands) == "SPV_KHR_bfloat16":
            continue
        if code == TYPE_FLOAT and len(operands) == 3:  # its encoding is not that of IEEE
            types.add(operands[0])
            code, operands = TYPE_INT, (operands[0], 16, 0)
        elif code == TYPE_VECTOR and operands[1] in types:
            types.add(operands[0])
        elif code > LAST_OF_TYPES and len(operands) > 1 and operands[0] in types:
            values.add(operands[1])
        if code == F_CONVERT:
            concerned = not types.isdisjoint(operands[:1]) or not values.isdisjoint(operands[2:])
            assert not concerned, "a conversion of bf16 that was not expanded"
        made.append(struct.pack(f"<{len(operands) + 1}I", (len(operands) + 1) << 16 | code, *operands))
    return b"".join(made)
