"""DPAS by name: `dpas.f16`, `dpas.bmg.f16`, `dpas.8x8.bf.bf`, or the OpenCL builtin's name.

`hardware.dpas` has the types, sizes and fragments; here a name becomes one of its instructions. The words behind `dpas` come in
any order but for the types: a chip, `8xM` for M rows (vISA: the systolic depth, always 8, and the repeat count), and one to
three types, of A, B and the accumulator, as MLIR spells them or as vISA does (`hf`, `bf`, `ub`, `f`, `d`). What is left out is
usual: 8 rows, the same type for B, f32 or s32.

>>> from layoutalg.instructions import instruction
>>> dpas = instruction("dpas.bmg.f16")
>>> dpas.name, dpas.shape, [str(part.layout) for part in dpas.parts]
('dpas.f16.f16.f32', (8, 16, 16), ['d0 = 8@reg, d1 = 16@lane', 'd0 = 16@reg, d1 = 16@lane', 'd0 = 8@reg, d1 = 16@lane'])
>>> instruction("dpas.8x4.dg2.hf").name
'dpas.dg2.8x4.f16.f16.f32'
"""

from __future__ import annotations

import re
from functools import partial

from layoutalg.core.errors import LayoutError
from layoutalg.core.messages import shown
from layoutalg.hardware.chips import target_info, target_names
from layoutalg.hardware.dpas import Dpas, dpas, dpas_instructions
from layoutalg.instructions.instruction import Instruction, InstructionOperand
from layoutalg.instructions.registry import Row

__all__ = ["find", "rows"]

_VISA = {"hf": "f16", "bf": "bf16", "f": "f32", "d": "s32", "b": "s8", "ub": "u8", "s4": "s4", "u4": "u4"}
_SOURCE = "cl_intel_subgroup_matrix_multiply_accumulate 1.1.0"
_SOURCE_TF32 = "cl_intel_subgroup_matrix_multiply_accumulate_tf32 1.0.0"
_CONFIRMED = ("SPV_INTEL_subgroup_matrix_multiply_accumulate rev 1", "machine code of Intel's graphics compiler")
_BUILTIN = re.compile(r"intel_sub_group_([a-z0-9]+)_([a-z0-9]+)_matrix_mad_k(\d+)(?:_([a-z0-9]+))?")


def rows() -> tuple[Row, ...]:
    """One row for each choice of types on 16 lanes (pvc, bmg, lnl, ptl), and on 8 (dg2 and its like).

    >>> [row.name for row in rows()][:2]
    ['dpas.f16.f16.f32', 'dpas.f16.f16.f16']
    """
    found: list[Row] = []
    for target in ("pvc", "dg2"):
        for one in dpas_instructions(target):
            aliases = _aliases(one)
            found.append(
                Row(_name(one), "DPAS", "mma", "Intel", _chips(one), partial(_built, one, aliases), "", aliases)
            )
    return tuple(found)


def _chips(one: Dpas) -> tuple[str, ...]:
    return tuple(name for name in target_names(dpas=True) if target_info(name).subgroup_size == one.subgroup_size)


def _name(one: Dpas) -> str:
    rows_said = "" if one.m == 8 else f".8x{one.m}"
    chip = "" if one.subgroup_size == 16 else ".dg2"
    return f"dpas{chip}{rows_said}.{one.a_type}.{one.b_type}.{one.acc_type}"


def _aliases(one: Dpas) -> tuple[str, ...]:
    usual = one.acc_type in ("f32", "s32")
    return (one.builtin,) if usual and one.subgroup_size == 16 else ()


def find(name: str) -> Instruction | None:
    """The instruction that a name with its words in any order means; None for a name that is not of DPAS.

    Raises `LayoutError` for a word that is not understood, and where no type is said; what `hardware.dpas` raises.

    >>> find("dpas.8x8")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: 'dpas.8x8' says no types: expected A's, and B's and C's where they differ, such as
    dpas.8x8.f16 or dpas.8x8.bf16.bf16.f32
    """
    lower = name.lower()
    if (builtin := _BUILTIN.fullmatch(lower)) is not None:
        return _of_builtin(name, builtin)
    head, *words = lower.split(".")
    if head != "dpas":
        return None
    target, m, types = "pvc", 8, list[str]()
    chips = target_names(dpas=True)
    for word in words:
        if word in chips:
            target = word
        elif (sizes := re.fullmatch(r"8x(\d)", word)) is not None:
            m = int(sizes[1])
        elif word in _VISA or re.fullmatch(r"b?f\d+|tf32|[su]?i?\d+", word):
            types.append(_VISA.get(word, word))
        else:
            raise LayoutError(
                f"{shown(name)}: {word!r} is no chip with DPAS ({', '.join(chips)}), no 8xM and no type such as f16"
            )
    if not types:
        raise LayoutError(
            f"{shown(name)} says no types: expected A's, and B's and C's where they differ, such as "
            f"{head}.8x{m}.f16 or {head}.8x{m}.bf16.bf16.f32"
        )
    a, b, acc, *more = [*types, *(["", ""] if len(types) < 3 else [])][:4] if len(types) != 2 else [*types, ""]
    if more:
        raise LayoutError(f"{shown(name)} says {len(types)} types: expected those of A, B and the accumulator")
    one = dpas(a, b or a, acc, target, m)
    return _built(one, _aliases(one))


def _of_builtin(name: str, builtin: re.Match[str]) -> Instruction:
    a, b, k, acc = builtin.groups()
    one = dpas(a, b, acc or "")
    if one.k != int(k):
        raise LayoutError(f"{shown(name)}: k is {one.k} for {a} ({one.builtin})")
    return _built(one, _aliases(one))


def _built(one: Dpas, aliases: tuple[str, ...]) -> Instruction:
    types = (one.a_type, one.b_type, one.acc_type)
    bits = (one.a_bits, one.b_bits, one.c_bits)
    source = _SOURCE_TF32 if one.a_type == "tf32" else _SOURCE
    parts = tuple(
        InstructionOperand(
            role,
            element,
            layout,
            source=source,
            confirmed=_CONFIRMED,
            notes=(("registers", f"elements, in components of {size} bits, the lowest first"),),
        )
        for role, element, layout, size in zip("ABC", types, (one.a, one.b, one.c), bits, strict=True)
    )
    remarks = (("builtin", one.builtin),)
    return Instruction(
        _name(one),
        "DPAS",
        "Intel",
        "mma",
        _chips(one),
        (one.m, one.n, one.k),
        one.subgroup_size,
        parts,
        lanes=one.subgroup_size,
        aliases=aliases,
        remarks=remarks,
    )
