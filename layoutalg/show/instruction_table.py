"""Instructions as a table: a line each, with name, shape, types, chips, threads, and the document that the layouts come from.

>>> from rich.console import Console
>>> from layoutalg.instructions import known_instructions
>>> print_instructions(Console(width=200), known_instructions("gfx90a", "f64"))
  instruction               shape    types            chips                   threads  source
  v_mfma_f64_16x16x4_f64    16x16x4  f64 x f64 + f64  gfx90a, gfx942, gfx950  64       AMD matrix instruction calculator 1.3.2
  v_mfma_f64_4x4x4_4b_f64   4x4x4    f64 x f64 + f64  gfx90a, gfx942, gfx950  64       AMD matrix instruction calculator 1.3.2
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from layoutalg.instructions.instruction import chips_text
from layoutalg.show.tables import print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from layoutalg.instructions.instruction import Instruction

__all__ = ["instruction_facts", "instruction_row", "print_instructions"]


_HEADINGS = ("instruction", "shape", "types", "chips", "threads", "source")


def print_instructions(console: Console, found: Sequence[Instruction]) -> None:
    """Print a table of instructions, with headings."""
    print_table(console, [_HEADINGS, *(tuple(instruction_row(one).values()) for one in found)])


def instruction_row(one: Instruction) -> dict[str, str]:
    """The line of an instruction in a table, by what its columns say.

    >>> from layoutalg.instructions import instruction
    >>> instruction_row(instruction("dpas.f16.f16.f32"))["types"]
    'f16 x f16 + f32'
    """
    return {
        "name": one.name,
        "shape": "x".join(map(str, one.shape or (one.parts[0].layout.shape if one.parts else ()))),
        "types": _types(one),
        "chips": chips_text(one.chips),
        "threads": str(one.threads),
        "source": one.parts[0].source if one.parts else "none: the layouts are refused",
    }


def instruction_facts(one: Instruction) -> dict[str, Any]:
    """What is known of an instruction, for JSON; `sources` by operand, with what confirms them.

    >>> from layoutalg.instructions import instruction
    >>> instruction_facts(instruction("v_mfma_f32_16x16x4_f32"))["sources"]["A"]
    {'source': 'AMD matrix instruction calculator 1.3.2', 'confirmed': ['IREE 3.13', 'Triton 3.9']}
    """
    return {
        "name": one.name,
        "family": one.family,
        "kind": one.kind,
        "vendor": one.vendor,
        "shape": list(one.shape),
        "types": one.types,
        "chips": list(one.chips),
        "threads": one.threads,
        "aliases": list(one.aliases),
        "readings": list(one.readings),
        "sources": {part.role: {"source": part.source, "confirmed": list(part.confirmed)} for part in one.parts},
        "refused": one.refusal or None,
    }


def _types(one: Instruction) -> str:
    types = one.types
    if one.kind == "mma" and {"A", "B", "C"} <= set(types):
        return f"{types['A']} x {types['B']} + {types['C']}"
    return ", ".join(dict.fromkeys(types.values()))
