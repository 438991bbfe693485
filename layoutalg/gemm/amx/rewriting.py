"""LLVM IR with tiles, rewritten so that it runs on a CPU without AMX: for LLVM's own scalar loops, or for soft tiles in C.

A tile is a value of the type `x86_amx`. What makes and reads one are calls of intrinsics, and what carries one around a loop
is a phi. Here each becomes a vector of 256 words, a kilobyte:

    %5 = call x86_amx @llvm.x86.tilezero.internal(i16 16, i16 64)
    %7 = phi x86_amx [ %9, %8 ], [ %5, %4 ]

`for_scalar_loops` leaves the intrinsics and puts a bitcast beside each. LLVM's `--enable-x86-scalar-amx` understands only
those: it drops a tile_zero that feeds an operation, and a tile in a phi stays a tile, which no CPU without AMX has.

    %tile.5 = call x86_amx @llvm.x86.tilezero.internal(i16 16, i16 64)
    %5 = bitcast x86_amx %tile.5 to <256 x i32>
    %7 = phi <256 x i32> [ %9, %8 ], [ %5, %4 ]

`for_soft_tiles` calls C functions instead (`soft_tiles.c`), which read and write tiles in memory. A function has one slot for
a result and three for operands, in its entry block, so a loop does not grow the stack.

    call void @soft_tilezero(ptr %slot.result, i16 16, i16 64)
    %5 = load <256 x i32>, ptr %slot.result, align 64

Both refuse an instruction with a tile that they do not know; none is left as it was.

>>> print(for_scalar_loops("  ret x86_amx %5"))
Traceback (most recent call last):
layoutalg.core.errors.PlanError: LLVM IR, line 1: 'ret x86_amx %5': a tile is expected in calls of tile intrinsics and in phi
nodes only, so this cannot be run without AMX
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from layoutalg.core.errors import PlanError
from layoutalg.core.messages import shown

__all__ = ["SCALAR", "SOFT", "TileCall", "for_scalar_loops", "for_soft_tiles", "tile_calls"]

SCALAR = ("tilezero", "tileloadd64", "tilestored64", "tdpbf16ps", "tdpbssd", "tdpbsud", "tdpbusd", "tdpbuud")
"""The intrinsics that LLVM's scalar lowering knows (X86LowerAMXIntrinsics.cpp); tdpfp16ps is not among them."""
SOFT = (*SCALAR, "tdpfp16ps")
"""The intrinsics that `soft_tiles.c` has."""

_TILE, _WORDS = "x86_amx", "<256 x i32>"
_NAME = r"%[-\w.$]+"
_CALL = re.compile(
    rf"  (?:(?P<result>{_NAME}) = )?(?:tail )?call (?P<type>{_TILE}|void) @llvm\.x86\.(?P<intrinsic>\w+)\.internal"
    r"\((?P<arguments>[^()]*)\)(?P<end>(?: #\d+)?)"
)
_PHI = re.compile(
    rf"  (?P<result>{_NAME}) = phi {_TILE} (?P<incoming>\[ {_NAME}, {_NAME} \](?:, \[ {_NAME}, {_NAME} \])*)"
)
_DECLARATION = re.compile(r"declare (?:x86_amx|void) @llvm\.x86\.\w+\.internal\([^()]*\)(?: #\d+)?")
_ANY_TILE = re.compile(rf"\b{_TILE}\b|@llvm\.x86\.(?:tile|tdp|tcmm|tmm|t2rpnt|ttdp|ldtilecfg|sttilecfg)")
_ARGUMENT = re.compile(rf"(?P<type>i16|i64|ptr|{_TILE}) (?P<value>{_NAME}|-?\d+)")
_LABEL = re.compile(r"[-\w.$]+:")


@dataclass(frozen=True, slots=True)
class TileCall:
    """A call of a tile intrinsic: its result ("" for a store), its name without `llvm.x86.`, its arguments with their types.

    >>> [call] = tile_calls("  %5 = call x86_amx @llvm.x86.tilezero.internal(i16 16, i16 64)")
    >>> call.intrinsic, call.result, call.arguments
    ('tilezero', '%5', (('i16', '16'), ('i16', '64')))
    """

    result: str
    intrinsic: str
    arguments: tuple[tuple[str, str], ...]
    end: str = ""

    @property
    def operands(self) -> tuple[str, ...]:
        """The tiles that it reads."""
        return tuple(value for kind, value in self.arguments if kind == _TILE)


def tile_calls(ir: str) -> tuple[TileCall, ...]:
    """The calls of tile intrinsics in LLVM IR, from the first line to the last."""
    return tuple(call for line in ir.splitlines() if (call := _call(line)) is not None)


def for_scalar_loops(ir: str) -> str:
    """The IR for `llc -O0 --enable-x86-scalar-amx`: tiles are vectors of 256 words, each beside a bitcast.

    Raises `PlanError`: an instruction with a tile that isn't known, or a product that LLVM has no scalar loops for.

    >>> print(for_scalar_loops("  %5 = call x86_amx @llvm.x86.tilezero.internal(i16 16, i16 64)"), end="")
      %tile.5 = call x86_amx @llvm.x86.tilezero.internal(i16 16, i16 64)
      %5 = bitcast x86_amx %tile.5 to <256 x i32>
    """
    found: list[str] = []
    for number, line in enumerate(ir.splitlines(), 1):
        call = _call(line)
        if call is None:
            found.append(line if _DECLARATION.fullmatch(line) else _carried(line, number))
            continue
        _known(call, SCALAR, number, "LLVM has no scalar loops for it; soft tiles have")
        names = {value: f"%operand.{number}.{i}" for i, value in enumerate(dict.fromkeys(call.operands))}
        found += [f"  {name} = bitcast {_WORDS} {value} to {_TILE}" for value, name in names.items()]
        arguments = ", ".join(f"{kind} {names[value] if kind == _TILE else value}" for kind, value in call.arguments)
        called = f"@llvm.x86.{call.intrinsic}.internal({arguments}){call.end}"
        if call.result:
            tile = f"%tile.{call.result[1:]}"
            found += [f"  {tile} = call {_TILE} {called}", f"  {call.result} = bitcast {_TILE} {tile} to {_WORDS}"]
        else:
            found.append(f"  call void {called}")
    return _text(found)


def for_soft_tiles(ir: str) -> str:
    """The IR for `soft_tiles.c`: tiles are vectors of 256 words, and C functions read and write them in memory.

    Raises `PlanError`: an instruction with a tile that isn't known, or a product that `soft_tiles.c` has not.

    >>> zero = "  %5 = call x86_amx @llvm.x86.tilezero.internal(i16 16, i16 64)"
    >>> store = "  call void @llvm.x86.tilestored64.internal(i16 16, i16 64, ptr %0, i64 64, x86_amx %5)"
    >>> print(for_soft_tiles(f"define void @f(ptr %0) {{{chr(10)}{zero}{chr(10)}{store}{chr(10)}  ret void{chr(10)}}}"))
    define void @f(ptr %0) {
      %slot.result = alloca <256 x i32>, align 64
      %slot.0 = alloca <256 x i32>, align 64
      call void @soft_tilezero(ptr %slot.result, i16 16, i16 64)
      %5 = load <256 x i32>, ptr %slot.result, align 64
      store <256 x i32> %5, ptr %slot.0, align 64
      call void @soft_tilestored64(i16 16, i16 64, ptr %0, i64 64, ptr %slot.0)
      ret void
    }
    declare void @soft_tilezero(ptr, i16, i16)
    declare void @soft_tilestored64(i16, i16, ptr, i64, ptr)
    """
    found: list[str] = []
    signatures: dict[str, tuple[str, ...]] = {}
    entry, slots = 0, dict[str, None]()

    def close() -> None:
        found[entry:entry] = [f"  {slot} = alloca {_WORDS}, align 64" for slot in slots]
        slots.clear()

    for number, line in enumerate(ir.splitlines(), 1):
        call = _call(line)
        if call is None:
            if line == "}":
                close()
            if _DECLARATION.fullmatch(line):
                continue
            found.append(_carried(line, number))
            if line.startswith("define "):
                entry = len(found)
            elif len(found) == entry + 1 and _LABEL.match(line):
                entry += 1
            continue
        _known(call, SOFT, number, "soft_tiles.c has no such function")
        arguments: list[tuple[str, str]] = []
        if call.result:
            slots["%slot.result"] = None
            arguments.append(("ptr", "%slot.result"))
        for kind, value in call.arguments:
            if kind != _TILE:
                arguments.append((kind, value))
                continue
            slot = f"%slot.{sum(name.startswith('%slot.') for _, name in arguments[bool(call.result) :])}"
            slots[slot] = None
            found.append(f"  store {_WORDS} {value}, ptr {slot}, align 64")
            arguments.append(("ptr", slot))
        signatures[call.intrinsic] = tuple(kind for kind, _ in arguments)
        given = ", ".join(f"{kind} {value}" for kind, value in arguments)
        found.append(f"  call void @soft_{call.intrinsic}({given})")
        if call.result:
            found.append(f"  {call.result} = load {_WORDS}, ptr %slot.result, align 64")
    found += [f"declare void @soft_{name}({', '.join(kinds)})" for name, kinds in signatures.items()]
    return _text(found)


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _call(line: str) -> TileCall | None:
    """The call of a tile intrinsic that a line is; None for any other line, and for one that is not wholly understood."""
    found = _CALL.fullmatch(line)
    if found is None or (found["type"] == _TILE) != (found["result"] is not None):
        return None
    arguments: list[tuple[str, str]] = []
    for text in found["arguments"].split(", "):
        argument = _ARGUMENT.fullmatch(text)
        if argument is None or (argument["type"] in (_TILE, "ptr") and argument["value"][0] != "%"):
            return None
        arguments.append((argument["type"], argument["value"]))
    return TileCall(found["result"] or "", found["intrinsic"], tuple(arguments), found["end"])


def _known(call: TileCall, intrinsics: tuple[str, ...], number: int, otherwise: str) -> None:
    if call.intrinsic not in intrinsics:
        raise PlanError(f"LLVM IR, line {number}: the tile intrinsic {call.intrinsic}: {otherwise}")


def _carried(line: str, number: int) -> str:
    """A line that calls no tile intrinsic: a phi of tiles becomes one of vectors, other uses of a tile are refused."""
    phi = _PHI.fullmatch(line)
    if phi is not None:
        return f"  {phi['result']} = phi {_WORDS} {phi['incoming']}"
    if _ANY_TILE.search(line):
        raise PlanError(
            f"LLVM IR, line {number}: {shown(line.strip())}: a tile is expected in calls of tile intrinsics and in phi nodes "
            "only, so this cannot be run without AMX"
        )
    return line
