"""All instructions by name: one row each, and the search that finds a row by any name people type.

A family is a function that lists rows; a row has the name, what one filters by, and how to build the value. Nothing is built
until it is asked for. The families are listed in `_FAMILIES`, and a new one is a line there:

>>> row = row_of("SM80_16x8x16_F32F16F16F32_TN")
>>> row.family, row.dotted
('mma.sync', 'mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32')

Names are found as they are written, by an alias, or, for names with dots, by some of the words between the dots (see
`dotted_names`). A name that fits several instructions is an error that lists them; an unknown one names the nearest.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple, cast

from layoutalg.core.errors import LayoutError
from layoutalg.core.lazy import imported
from layoutalg.core.messages import shown
from layoutalg.core.reader import Reader
from layoutalg.core.whole_numbers import instance_of
from layoutalg.instructions.dotted_names import matching
from layoutalg.instructions.instruction import Instruction, OperandOf

__all__ = ["Row", "instruction", "looks_like_name", "read_instruction", "row_named", "row_of", "rows"]

_FAMILIES = tuple(
    f"layoutalg.instructions.{module}:rows"
    for module in (
        "nvidia.dot_products",
        "nvidia.quad_pair_mma",
        "nvidia.warp_mma",
        "nvidia.sparse_mma",
        "nvidia.warpgroup_mma",
        "nvidia.tensor_memory_mma",
        "nvidia.block_scaled_mma",
        "nvidia.matrix_copies",
        "nvidia.tensor_memory_copies",
        "nvidia.shared_memory_atoms",
        "nvidia.tensor_memory_fragments",
        "amd.matrix",
        "amd.transposed_loads",
        "intel.dpas_names",
        "intel.block_message_names",
    )
)
"""The functions that list a family's rows, `package.module:name`."""

_PATTERNS = (
    "layoutalg.instructions.nvidia.warpgroup_mma:with_parameters",
    "layoutalg.instructions.nvidia.tensor_memory_mma:with_parameters",
    "layoutalg.instructions.nvidia.shared_memory_atoms:with_parameters",
    "layoutalg.instructions.nvidia.tensor_memory_fragments:with_parameters",
    "layoutalg.instructions.amd.matrix:find",
    "layoutalg.instructions.intel.dpas_names:find",
    "layoutalg.instructions.intel.block_message_names:find",
)
"""Functions that build an instruction from a name with parameters (or give None): what cannot be listed."""

_IREE = re.compile(r"(?:iree/)?(?:NV_MMA_SYNC|MFMA|WMMA|WMMAR[34])_[A-Z0-9]+_\d+x")
"""How names begin that are IREE's: the operands are then as IREE reads them."""

_UNSPECIFIED = re.compile(r"wmma\.(?:load|store|mma)\b", re.IGNORECASE)
"""PTX's older instruction: the distribution of its fragments is unspecified (PTX ISA 9.2, 9.7.14.4.1)."""

_LONGEST_NAME = 400


class Row(NamedTuple):
    """An instruction before it is built.

    `name` is the canonical name, `aliases` are others that mean the same, `dotted` the vendor's mnemonic with all qualifiers.
    `kind` is "mma", "copy" or "layout".

    >>> row_of("SM80_16x8x16_F32F16F16F32_TN").chips[0]
    'sm_80'
    """

    name: str
    family: str
    kind: str
    vendor: str
    chips: tuple[str, ...]
    build: Callable[[], Instruction]
    dotted: str = ""
    aliases: tuple[str, ...] = ()


def _called(where: str) -> Callable[..., object]:
    module, _, name = where.partition(":")
    return getattr(imported(module), name)


@lru_cache(maxsize=1)
def rows() -> dict[str, Row]:
    """Every instruction that can be listed, by its canonical name, in the order of the families.

    >>> rows()["SM80_16x8x16_F32F16F16F32_TN"].dotted
    'mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32'
    """
    found: dict[str, Row] = {}
    for family in _FAMILIES:
        for row in cast("tuple[Row, ...]", _called(family)()):
            found.setdefault(row.name, row)
    return found


@lru_cache(maxsize=1)
def _exact() -> dict[str, Row]:
    """Rows by every name that is one word: canonical ones first, then aliases, mnemonics last."""
    listed = list(rows().values())
    found = {row.name.lower(): row for row in listed}
    for row in listed:
        for alias in row.aliases:
            found.setdefault(alias.lower(), row)
    for row in listed:
        if row.dotted:
            found.setdefault(row.dotted.lower(), row)
    return found


@lru_cache(maxsize=1)
def _dotted() -> dict[str, Row]:
    """Rows by their mnemonic: of several with one mnemonic, the first."""
    found: dict[str, Row] = {}
    for row in rows().values():
        if row.dotted:
            found.setdefault(row.dotted, row)
    return found


def row_of(name: str) -> Row:
    """The row of an instruction, by any of its names.

    Raises `LayoutError` for a name of several instructions (the message lists them) and for an unknown one (nearest names).

    >>> row_of("mma.m16n8k16.f32.f16.f16.f32").name
    'SM80_16x8x16_F32F16F16F32_TN'
    """
    wanted = _plain(name)
    found = _exact().get(wanted.lower())
    if found is not None:
        return found
    fitting = matching(wanted, _dotted())
    if len(fitting) == 1:
        return _dotted()[fitting[0]]
    if fitting:
        raise LayoutError(_several(name, tuple([_dotted()[one] for one in fitting]), by_dotted=True))
    if _UNSPECIFIED.match(wanted):
        raise LayoutError(f"{shown(name)}: PTX leaves open who holds what of wmma's fragments; mma.sync has layouts")
    near = cast("tuple[str, ...]", _called("layoutalg.instructions.suggestions:nearest")(wanted))
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    raise LayoutError(f"no instruction {shown(name)} is known{hint}")


def _several(name: str, found: tuple[Row, ...], *, by_dotted: bool = False) -> str:
    """That a name fits several instructions, and which, with their chips."""
    listed = cast("str", _called("layoutalg.instructions.suggestions:listed")(found, by_dotted=by_dotted))
    return f"{shown(name)} fits {len(found)} instructions: say which: {listed}"


def row_named(name: str) -> Row | None:
    """The row that has exactly this name, canonical or other; None where there is none.

    >>> row_named("SM80"), row_named("dp4a").name
    (None, 'SM61_DP4A')
    """
    return _exact().get(_plain(name).lower())


def _plain(name: str) -> str:
    """A name as it is listed: without C++'s leading namespace and white space."""
    instance_of(name, str, "name")
    if len(name) > _LONGEST_NAME:
        raise LayoutError(f"a name of {len(name)} characters: expected an instruction's, of at most {_LONGEST_NAME}")
    return re.sub(r"\s+|\b(?:cute|cutlass)::", "", name)


def instruction(name: str, reading: str = "") -> Instruction:
    """The instruction of a name: CUTLASS's, IREE's, or the mnemonic of PTX or of the ISA, with or without its qualifiers.

    `reading` says whose reading of the operands is wanted where sources disagree; `NAME@IREE` says the same.

    Raises `LayoutError` for a name that is unknown (with the nearest), or that several instructions share (with their list).

    >>> instruction("mma.m16n8k16.f32.f16.f16.f32").name
    'SM80_16x8x16_F32F16F16F32_TN'
    >>> instruction("NV_MMA_SYNC_F32_16x8x16_F16").reading
    'IREE'
    """
    wanted = _plain(name)
    base, _, whose = wanted.partition("@")
    if (found := _parametrised(base)) is None:
        found = row_of(base).build()
    if not whose:
        whose = _reading_of(base, found)
    instance_of(reading, str, "reading")
    return replace(found.read_by(reading or whose), called=wanted)


def _reading_of(name: str, found: Instruction) -> str:
    """Whose reading a name means: IREE's names IREE's, a mnemonic the vendor's, where CUTLASS's atom does more than that."""
    if _IREE.match(name) and "IREE" in dict(found.others):
        return "IREE"
    return "PTX" if "PTX" in found.readings and not name.startswith("SM") else ""


def _parametrised(name: str) -> Instruction | None:
    if name.lower() in _exact():
        return None
    for where in _PATTERNS:
        found = cast("Instruction | None", _called(where)(name))
        if found is not None:
            return found
    return None


_MEANT = re.compile(
    r"(?:(?:pvc|bmg|lnl|ptl|xe\d?|sm_?\d+\w?|gfx\w{3,8})[./])?"
    r"(?:(?:cute::)?(?:SM[0-9]+[_:]|wgmma\b|mma\.|tcgen05\b|(?:ld|st|mov)matrix\b|dp[24]a\b|cp\.async\b|dpas\b"
    r"|(?:v_)?(?:mfma|smfmac|wmma|swmmac)[_.]|(?:__builtin_amdgcn_|llvm\.amdgcn\.|intel_sub_group_|__spirv_Subgroup2DBlock))"
    r"|(?:gfx\w{3,8}|[cr]dna\d)/)\S*",
    re.IGNORECASE,
)
_ROLE = re.compile(r"\.([A-Z]|SFA|SFB|source|destination|layout)\Z")
"""The role of an operand as the last word: letters are capitals (vISA has types `b`, `d` and `f`)."""
_OTHER_ROLE = re.compile(r"\.([abce]|sf[ab]|lhs|rhs|acc)\Z", re.IGNORECASE)
"""The same in small letters, or in IREE's words, where the whole is not the name of an instruction."""
_ROLES = {"LHS": "A", "RHS": "B", "ACC": "C"}
_WORDS = re.compile(r"[A-Za-z][\w.]*(?:[ \t]+[\w.]+)+(?=\s*\Z)")
"""Words about an instruction, which all fit it: `mfma 32x32x8 f16`."""
_TEXT = re.compile(r"[A-Za-z_][A-Za-z0-9_:./]*(?:<[^<>\n]{0,300}>)?(?:\([0-9, ]*\))?(?:@\w+)?(?:\.[A-Za-z]+)?")


def looks_like_name(text: str) -> bool:
    """Whether a text can only be meant as the name of an instruction: one word that begins as the names do, or with a chip.

    >>> looks_like_name("mma.m16n8k16"), looks_like_name("ldmatirx.x4"), looks_like_name("gpu.barrier")
    (True, True, False)
    >>> looks_like_name("bmg.dpas.f16")
    True
    """
    word = text.strip()
    if len(word) > _LONGEST_NAME:
        return False
    return _MEANT.fullmatch(word) is not None or bool(_called("layoutalg.instructions.suggestions:respelled")(word))


def read_instruction(reader: Reader) -> Instruction | OperandOf:
    """Read an instruction's name, or that of one operand (`.C`), and leave the reader behind it.

    >>> print(read_instruction(Reader("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")))
    SM80_16x8x16_F32F16F16F32_TN
    >>> print(read_instruction(Reader("SM80_16x8x16_F32F16F16F32_TN.acc")))
    SM80_16x8x16_F32F16F16F32_TN.C
    >>> print(read_instruction(Reader("mfma 32x32x8 f16")))
    v_mfma_f32_32x32x8_f16
    """
    start = reader.skip()
    words = _WORDS.match(reader.text, start)
    match = words or _TEXT.match(reader.text, start)
    if match is None:
        reader.fail("the name of an instruction, such as SM80_16x8x16_F32F16F16F32_TN")
    try:
        value = _value_named(match.group()) if words is None else _meant_by(words.group())
    except LayoutError as error:
        reader.fail("the name of an instruction", str(error), at=start)
    reader.position = match.end()
    return value


def _meant_by(text: str) -> Instruction:
    """The one instruction that all these words fit, a family, a shape, types, a chip (`instructions.selection`).

    Where they fit one mnemonic in waves of 32 and of 64, those of 32, as the mnemonic alone.

    Raises `LayoutError` where they fit several, with their names and chips, or none.
    """
    selected = cast(
        "Callable[[tuple[str, ...]], tuple[Row, ...]]", _called("layoutalg.instructions.selection:selected")
    )
    found = selected(tuple(text.split()))
    if found and len({one.name.removesuffix("/w64").removesuffix("/w32") for one in found}) == 1:
        return replace(found[0].build(), called=text)
    if found:
        raise LayoutError(_several(text, found))
    family = text.split()[0]
    raise LayoutError(
        f"no instruction fits all of {shown(text)}; `layoutalg list {family}` has those of the first word"
    )


def _value_named(text: str) -> Instruction | OperandOf:
    role = _ROLE.search(text)
    if role is not None:
        return instruction(text[: role.start()]).operand(role[1])
    try:
        return instruction(text)
    except LayoutError:
        role = _OTHER_ROLE.search(text)
        if role is None:
            raise
        letters = role[1].upper()
        return instruction(text[: role.start()]).operand(_ROLES.get(letters, letters))
