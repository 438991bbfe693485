"""Moves between flat registers as vISA, the virtual assembly of Intel's graphics compiler, inside an `llvm.inline_asm`.

A word of 16 lanes is a register of 64 bytes, an operand `i32`; four words are an operand `vector<4xi32>`, four registers, one
after another. `$0(1,8)` is element 8 of row 1 of operand 0; results come first. So the odd lanes of two words:

>>> from layoutalg.conversion.program.regions import Move
>>> odd = Move(4, 16, Place(1, 0), 1, Place(0, 4), (2, 1, 0))
>>> text = assembly(Regions((4,), (0, 1, 2, 3), 64, (), (odd,)), 16)
>>> print(text.body)
{
mov (M1_NM, 16) $0(0,0)<1> $1(0,1)<2;1,0>
}
>>> text.constraints, text.results, text.operands
('=rw,rw', (1,), (4,))

Intel's compiler takes it as it stands. LLVM's SPIR-V backend takes scalars and vectors of 128 bits, and several results
from version 23 on, with `-spirv-ext=+SPV_INTEL_inline_assembly`.
"""

from __future__ import annotations

from typing import NamedTuple

from layoutalg.conversion.program.regions import Place, Regions
from layoutalg.core.errors import ConversionError

__all__ = ["Assembly", "assembly"]

_TOGETHER = 4
_TYPES = {1: "ub", 2: "uw", 4: "ud"}


class Assembly(NamedTuple):
    """The text of an inline assembly: its body, its constraints, and the words of each result and of each operand."""

    body: str
    constraints: str
    results: tuple[int, ...]
    operands: tuple[int, ...]


def assembly(step: Regions, lanes: int) -> Assembly:
    """A step of region moves for so many lanes.

    Raises `ConversionError` for a region that begins in one operand and ends in another, and for elements that are not 1, 2
    or 4 bytes.

    >>> from layoutalg.conversion.program.regions import Move
    >>> far = Move(4, 16, Place(1, 0), 1, Place(0, 0), (2, 1, 0))
    >>> assembly(Regions((2,), (0, 1), 64, (), (far,)), 16)
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: a move reads bytes 0 to 120 of words: expected registers of one operand, of 64 bytes
    """
    results, operands = _sizes(len(step.to)), _sizes(len(step.words))
    last, word = len(step.temporaries) + 1, 4 * lanes
    declared: dict[str, str] = {}
    for i, size in enumerate(step.temporaries):
        declared[f"between{i}"] = f".decl between{i} v_type=G type=ud num_elts={size // 4} align=GRF"

    def variable(place: Place, farthest: int, element: int, verb: str) -> str:
        """The name of the variable in which a byte is, seen as elements of a size, and the element's row and column."""
        array, byte = place
        if 0 < array < last:
            name, size, start = f"between{array - 1}", step.temporaries[array - 1], 0
        else:
            groups = results if array else operands
            size = groups[0] * word
            number = byte // size
            name, start = f"${number + (0 if array else len(results))}", number * size
        if farthest >= start + size:
            raise ConversionError(
                f"a move {verb} bytes {byte} to {farthest} of words: expected registers of one operand, of {size} bytes"
            )
        if element != 4:
            alias = name.replace("$", "operand") + f"_{_TYPES[element]}"
            of = f"num_elts={size // element} align=GRF alias=<{name},0>"
            declared.setdefault(alias, f".decl {alias} v_type=G type={_TYPES[element]} {of}")
            name = alias
        row, inside = divmod(byte - start, step.register)
        return f"{name}({row},{inside // element})"

    lines: list[str] = []
    for move in step.moves:
        if move.element not in _TYPES:
            raise ConversionError(f"a move of elements of {move.element} bytes: expected 1, 2 or 4")
        to = variable(move.to, int(move.bytes_written.max()), move.element, "writes")
        source = variable(move.source, int(move.bytes_read.max()), move.element, "reads")
        apart, width, inside = move.region
        lines.append(f"mov (M1_NM, {move.length}) {to}<{move.stride}> {source}<{apart};{width},{inside}>")
    constraints = ",".join([*["=rw"] * len(results), *["rw"] * len(operands)])
    return Assembly("\n".join(["{", *declared.values(), *lines, "}"]), constraints, results, operands)


def _sizes(words: int) -> tuple[int, ...]:
    """The words of each operand: four, or one where they are fewer."""
    size = 1 if words % _TOGETHER else _TOGETHER
    return (size,) * (words // size)
