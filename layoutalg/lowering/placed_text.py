"""Shared memory of a kernel that is text: buffers get their places, and barriers are put in, without reading all of it.

What decides where a buffer lies and where a barrier is missing are the accesses to buffers, the barriers that there are, and
the loops and branches around them. So a text of these alone is read, an outline, and what `shared_memory` does to it is done to
the whole. Of two conversions, one after the other, the outline of each is a placeholder, a store, a barrier and a load:

>>> body = '''%x = builtin.unrealized_conversion_cast to memref<64xi32, 3 : i64> {subgroups = 1 : i64}
... memref.store %a, %x[%i] : memref<64xi32, 3 : i64>
... gpu.barrier
... %b = memref.load %x[%j] : memref<64xi32, 3 : i64>
... gpu.return'''
>>> found = placed(body, "%slm", 65536)
>>> found.bytes, found.barriers
(256, 0)
>>> print(found.body.splitlines()[1])
%x = memref.view %slm[%x_start][] : memref<256xi8, 3 : i64> to memref<64xi32, 3 : i64>
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from xdsl.ir import Operation

from layoutalg.core.errors import SizeError
from layoutalg.ir import read_module
from layoutalg.ir.dialects.gpu import FuncOp
from layoutalg.ir.places import line_of
from layoutalg.lowering.barrier_lines import BarrierLines
from layoutalg.lowering.shared_memory import PLACEHOLDER, SharedMemory, buffer_bytes
from layoutalg.lowering.together import together

__all__ = ["Placed", "placed"]

_ACCESS = re.compile(r"(?:memref|vector)\.(load|store) (?:%[\w$.-]+, )?(%[\w$.-]+)\[")
_LOOK = re.compile(r"(%[\w$.-]+) = memref\.view (%[\w$.-]+)\[.*\]\[\] : (memref<[^>]*>) to (memref<[^>]*>)")
"""Another width of a buffer of bytes."""
_BARRIER = "gpu.barrier"
_BARRIERS = {"workgroup": _BARRIER, "subgroup": f"{_BARRIER} scope <subgroup>"}
"""In an outline: all wait, or each subgroup for itself."""
_LABEL = re.compile(r"\^bb[0-9]+(?:\(.*\))?:")
_HEAD = [
    "gpu.module @outline {",
    "gpu.func @outline() kernel {",
    "%z = arith.constant 0 : index",
    "%t = arith.constant true",
]


@dataclass(frozen=True, slots=True)
class Placed:
    """The body with views in the place of placeholders and the barriers that were missing; the bytes that it takes."""

    body: str
    bytes: int
    barriers: int


def placed(body: str, shared: str, limit: int, *, subgroups: int = 1, barrier: str = _BARRIER) -> Placed:
    """Give the buffers of a kernel's text their places in the argument named `shared`.

    Conversions store together where that saves barriers (see `together`). A workgroup has so many `subgroups`: of one, who
    waits for it waits for all. `barrier` is how one of the workgroup is written.

    Raises `SizeError` where they take more than `limit` bytes.
    """
    merged = together(body, limit)
    if merged == body:
        return _placed(body, shared, limit, subgroups, barrier)
    try:
        found = _placed(merged, shared, limit, subgroups, barrier)
    except SizeError:  # other buffers are in use at the same time
        return _placed(body, shared, limit, subgroups, barrier)
    apart = _placed(body, shared, limit, subgroups, barrier)
    fewer = BarrierLines(found.body.splitlines()).counts() < BarrierLines(apart.body.splitlines()).counts()
    return found if fewer else apart


def _placed(body: str, shared: str, limit: int, subgroups: int, barrier: str) -> Placed:
    """The buffers in their places, with the operations in their order."""
    lines = body.splitlines()
    outline, numbers = _outline(lines)
    if len(outline) == len(_HEAD):
        return Placed(body, 0, 0)
    module = read_module("\n".join([*outline, "}", "}"]))
    function = next(op for op in module.walk() if isinstance(op, FuncOp))
    made = SharedMemory(function, limit, subgroups).finish()
    before = _inserted(function, outline, numbers)
    starts = iter(made.starts)
    written: list[str] = []
    for number, line in enumerate(lines):
        indent = line[: len(line) - len(line.lstrip())]
        written += [f"{indent}{barrier}"] * before.count(number)
        found = PLACEHOLDER.fullmatch(line)
        written += [line] if found is None else _view(found, shared, next(starts), made.bytes)
    return Placed("\n".join(written), made.bytes, made.barriers)


def _outline(lines: list[str]) -> tuple[list[str], list[int]]:
    """What decides about shared memory, and which line of the text each of its lines is."""
    kinds = {found[2]: found[3] for line in lines if (found := PLACEHOLDER.fullmatch(line)) is not None}
    if kinds:
        looks = [found for line in lines if (found := _LOOK.fullmatch(line.strip())) is not None]
        kinds |= {found[1]: found[4] for found in looks if found[2] in kinds}
    outline, numbers = list(_HEAD), [-1] * len(_HEAD)
    if not kinds:
        return outline, numbers
    blocks = 0
    barriers = BarrierLines(lines)
    for number, line in enumerate(lines):
        stripped = line.strip()
        if _LABEL.fullmatch(stripped):
            # Blocks may come in any order, and again: branches in a loop, of which each may be taken or not.
            added = [f"scf.for %k{number} = %z to %z step %z {{"] if not blocks else ["}"]
            added.append("scf.if %t {")
            blocks += 1
        else:
            scope = barriers.scope(line)
            text = _BARRIERS[scope] if scope else _outlined(stripped, kinds, number)
            added = [text] if text and not (blocks and text == "gpu.return") else []
        outline += added
        numbers += [number] * len(added)
    if blocks:
        outline += ["}", "}", "gpu.return"]
        numbers += [len(lines) - 1] * 3
    return outline, numbers


def _outlined(line: str, kinds: dict[str, str], number: int) -> str:
    """A line of the outline, empty for one that does not matter."""
    if line in ("}", "} else {", "} do {", "gpu.return") or " = builtin.unrealized_conversion_cast to memref" in line:
        return line
    if line.endswith("{"):
        kind = next((name for name in ("scf.for", "scf.if", "scf.while") if name in line), "scf.if")
        return {
            "scf.for": f"scf.for %k{number} = %z to %z step %z {{",
            "scf.if": "scf.if %t {",
            "scf.while": "scf.while : () -> () {",
        }[kind]
    if line.startswith("scf.condition("):
        return "scf.condition(%t)"
    look = _LOOK.fullmatch(line)
    if look is not None and look[2] in kinds:
        return f"{look[1]} = memref.view {look[2]}[%z][] : {look[3]} to {look[4]}"
    found = _ACCESS.search(line)
    if found is None or found[2] not in kinds:
        return ""
    if found[1] == "load":
        return f"%l{number} = memref.load {found[2]}[%z] : {kinds[found[2]]}"
    return f'"memory.store"({found[2]}) : ({kinds[found[2]]}) -> ()'


def _inserted(function: FuncOp, outline: list[str], numbers: list[int]) -> list[int]:
    """The lines of the text before which a barrier was put in."""
    operations: list[Operation] = list(function.walk())
    found: list[int] = []
    for operation, following in pairwise(operations):
        if operation.name != "gpu.barrier":
            continue
        line = line_of(operation)
        if not line or not outline[line - 1].startswith(_BARRIER):
            found.append(numbers[line_of(following) - 1])
    return found


def _view(found: re.Match[str], shared: str, start: int, size: int) -> list[str]:
    """The lines that make a buffer: its part of the bytes, or the part of this subgroup."""
    indent, name, kind, count, bits, subgroups = found.groups()
    place = f"{name}_start"
    lines = [f"{indent}{place} = arith.constant {start} : index"]
    each = buffer_bytes(int(count), int(bits))
    if int(subgroups) > 1:
        lines += [
            f"{indent}{name}_sg = gpu.subgroup_id : index",
            f"{indent}{name}_each = arith.constant {each} : index",
            f"{indent}{name}_own = arith.muli {name}_sg, {name}_each : index",
            f"{indent}{name}_place = arith.addi {place}, {name}_own : index",
        ]
        place = f"{name}_place"
    bytes_ = f"memref<{size}xi8, 3 : i64>"
    return [*lines, f"{indent}{name} = memref.view {shared}[{place}][] : {bytes_} to {kind}"]
