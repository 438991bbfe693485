"""OpenCL's builtin functions by the names that compilers give them: the Itanium mangling of a name and its parameters.

A kernel calls a builtin by its mangled name, and the graphics compiler finds it by that name alone:

>>> mangled("intel_sub_group_i8_i8_matrix_mad_k32", ["short8", "int8", "int8"])
'_Z36intel_sub_group_i8_i8_matrix_mad_k32Dv8_sDv8_iS0_'

`Dv8_s` is a vector of 8 shorts. A vector that came before is named by its number among those: `S_` is the first one, `S0_` the
second. `demangled` is the way back.

>>> demangled("_Z36intel_sub_group_i8_i8_matrix_mad_k32Dv8_sDv8_iS0_").parameters
('short8', 'int8', 'int8')

Source: the Itanium C++ ABI, chapter 5.1 (mangling), and the names that clang gives OpenCL C's types.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from layoutalg.core.errors import LayoutError
from layoutalg.core.messages import shown

__all__ = ["Builtin", "demangled", "mangled"]

_CODES = {"char": "c", "uchar": "h", "short": "s", "ushort": "t", "int": "i", "uint": "j", "long": "l", "ulong": "m",
          "half": "Dh", "float": "f", "double": "d"}  # fmt: skip
_TYPES = {code: name for name, code in _CODES.items()}
_TYPE = re.compile(r"(global )?(const )?([a-z]+?)([0-9]*)(\*)?")
_PIECE = re.compile(r"(PU3AS1)?(K)?(?:Dv([0-9]{1,2})_)?(Dh|[chstijlmfd])|S([0-9A-Z]?)_")


@dataclass(frozen=True)
class Builtin:
    """A function of OpenCL C: its name and the types of its parameters, as OpenCL C writes them.

    >>> Builtin("native_exp2", ("float8",)).symbol
    '_Z11native_exp2Dv8_f'
    """

    name: str
    parameters: tuple[str, ...]

    @property
    def symbol(self) -> str:
        """The mangled name.

        >>> Builtin("sub_group_reduce_max", ("float",)).symbol
        '_Z20sub_group_reduce_maxf'
        """
        return mangled(self.name, self.parameters)


def mangled(name: str, parameters: Sequence[str]) -> str:
    """The name of a function with these parameters: numbers, vectors (`float8`) and pointers (`global const uint*`).

    Raises `LayoutError` for a type that is not of these.

    >>> mangled("intel_sub_group_block_read8", ["global const uint*"])
    '_Z27intel_sub_group_block_read8PU3AS1Kj'
    """
    written = [_code(parameter) for parameter in parameters]
    seen: list[str] = []
    text = f"_Z{len(name)}{name}"
    for code in written or ["v"]:
        if code in seen:
            text += _number(seen.index(code))
            continue
        text += code
        if code.startswith(("Dv", "P")):
            seen.append(code)
    return text


def _code(parameter: str) -> str:
    found = _TYPE.fullmatch(parameter)
    if found is None or found[3] not in _CODES or (found[1] is None) != (found[5] is None):
        raise LayoutError(
            f"parameter {shown(parameter)}: expected a type of OpenCL C such as float, short8 or global uint*"
        )
    pointer, const, name, count, _ = found.groups()
    vector = f"Dv{count}_" if count else ""
    return ("PU3AS1" if pointer else "") + ("K" if const else "") + vector + _CODES[name]


def _number(place: int) -> str:
    return "S_" if place == 0 else f"S{place - 1}_"


def demangled(symbol: str) -> Builtin | None:
    """The function that a mangled name names; None for names of other things.

    >>> demangled("_Z4fmaxDv8_fS_")
    Builtin(name='fmax', parameters=('float8', 'float8'))
    >>> demangled("main") is None
    True
    """
    head = re.match(r"_Z([1-9][0-9]{0,3})", symbol)
    if head is None:
        return None
    end = head.end() + int(head[1])
    name, rest = symbol[head.end() : end], symbol[end:]
    if len(name) < int(head[1]):
        return None
    parameters: list[str] = []
    seen: list[str] = []
    at = 0
    while at < len(rest) and rest != "v":
        piece = _PIECE.match(rest, at)
        if piece is None:
            return None
        at = piece.end()
        pointer, const, count, code, back = piece.groups()
        if code is None:
            place = 0 if not back else int(back, 36) + 1
            if place >= len(seen):
                return None
            parameters.append(seen[place])
            continue
        kind = f"{'global ' if pointer else ''}{'const ' if const else ''}{_TYPES[code]}{count or ''}{'*' if pointer else ''}"
        parameters.append(kind)
        if pointer or count:
            seen.append(kind)
    return Builtin(name, tuple(parameters))
