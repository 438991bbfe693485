"""Conversions that need nothing of each other store together, wait at one barrier, and load together.

Two operands of a product are brought into other layouts through shared memory. In turn that is

    store x   barrier   load x   store y   barrier   load y        2 barriers

The stores of y do not depend on what is loaded of x. So they, and what computes their values, move before the first barrier:

    store x   store y   barrier   load x   load y                  1 barrier, the bytes of both

>>> body = '''%x = builtin.unrealized_conversion_cast to memref<64xi32, 3 : i64> {subgroups = 1 : i64}
... memref.store %a, %x[%i] : memref<64xi32, 3 : i64>
... gpu.barrier
... %b = memref.load %x[%j] : memref<64xi32, 3 : i64>
... %y = builtin.unrealized_conversion_cast to memref<64xi32, 3 : i64> {subgroups = 1 : i64}
... memref.store %c, %y[%i] : memref<64xi32, 3 : i64>
... gpu.barrier
... %d = memref.load %y[%j] : memref<64xi32, 3 : i64>'''
>>> print(together(body, 512))
%x = builtin.unrealized_conversion_cast to memref<64xi32, 3 : i64> {subgroups = 1 : i64}
memref.store %a, %x[%i] : memref<64xi32, 3 : i64>
%y = builtin.unrealized_conversion_cast to memref<64xi32, 3 : i64> {subgroups = 1 : i64}
memref.store %c, %y[%i] : memref<64xi32, 3 : i64>
gpu.barrier
%b = memref.load %x[%j] : memref<64xi32, 3 : i64>
%d = memref.load %y[%j] : memref<64xi32, 3 : i64>
>>> together(body, 511) == body
True

Only the barrier of a conversion goes: the one behind a store to its buffer, perhaps with values computed in between (mixed ways
shuffle there, while memory works). A barrier of the kernel's own stays, and nothing moves across it. What moves is free of
effects, or a store to the conversion's own buffer, or a load from memory that nothing between may write.

A conversion within one subgroup waits for its subgroup alone. Its barrier goes where one of the workgroup or of the subgroup
stands, never one of the workgroup where one of the subgroup does.

The law: each work-item executes the same operations but for the barriers, each with the same operands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from layoutalg.lowering.barrier_lines import BarrierLines
from layoutalg.lowering.shared_memory import LOOKS, PLACEHOLDER, buffer_bytes

__all__ = ["together"]

_NAME = re.compile(r"%[\w$.-]+")
_OPERATION = re.compile(r'(?:%[^=]* = )?"?([a-z_]+\.[\w.]+)"?')
_BARRIER = "gpu.barrier"
_STORES = frozenset({"memref.store", "vector.store"})
_LOADS = frozenset(
    {
        "memref.load",
        "vector.load",
        "vector.transfer_read",
        "xegpu.load",
        "xegpu.load_nd",
        "xegpu.prefetch",
        "xegpu.prefetch_nd",
    }
)
_PURE_DIALECTS = ("arith.", "math.", "index.")
_PURE = frozenset(
    {
        "builtin.unrealized_conversion_cast",
        "gpu.lane_id",
        "gpu.shuffle",
        "gpu.subgroup_id",
        "memref.view",
        "vector.bitcast",
        "vector.broadcast",
        "vector.deinterleave",
        "vector.extract",
        "vector.extract_strided_slice",
        "vector.from_elements",
        "vector.insert",
        "vector.insert_strided_slice",
        "vector.interleave",
        "vector.shape_cast",
        "vector.shuffle",
        "vector.to_elements",
        "xegpu.create_nd_tdesc",
    }
)


@dataclass(slots=True)
class _Line:
    """An operation on a line: its name, the values that it makes, those that it takes, and the buffer it works on."""

    text: str
    name: str
    makes: tuple[str, ...]
    takes: tuple[str, ...]
    buffer: str = ""
    scope: str = ""
    """Of a barrier: who waits, "workgroup" or "subgroup"."""

    @property
    def is_pure(self) -> bool:
        return self.name in _PURE or self.name.startswith(_PURE_DIALECTS)


@dataclass(slots=True)
class _Buffers:
    """The buffers that the text has asked for so far: their bytes, and which buffer a value is or looks at."""

    sizes: dict[str, int] = field(default_factory=dict[str, int])
    looks: dict[str, str] = field(default_factory=dict[str, str])

    def read(self, text: str) -> _Line:
        """A line of the text. A line is one operation; those with regions never come here."""
        found = _OPERATION.match(text.strip())
        head, equals, tail = text.partition(" = ")
        makes = _NAME.findall(head) if equals and head.lstrip().startswith("%") else []
        takes = _NAME.findall(tail if makes else text)
        line = _Line(text, "" if found is None else found[1], tuple(makes), tuple(takes))
        line.buffer = next((self.looks[name] for name in takes if name in self.looks), "")
        made = PLACEHOLDER.fullmatch(text)
        if made is not None:
            name, _, *numbers = made.groups()[1:]
            places, bits, subgroups = map(int, numbers)
            self.looks[name] = name
            self.sizes[name] = buffer_bytes(places, bits) * subgroups
        elif line.buffer:
            self.looks.update(dict.fromkeys(makes if line.name in LOOKS else (), line.buffer))
        return line


def together(body: str, limit: int) -> str:
    """A kernel's text with fewer barriers, where the buffers of what stores together take at most `limit` bytes.

    Buffers are placeholders still (see `shared_memory`). The text stays as it is where nothing can move.
    """
    lines = body.splitlines()
    barriers = BarrierLines(lines)
    if barriers.counts()[1] < 2:
        return body
    buffers, written = _Buffers(), list[str]()
    for straight in _straight(lines):
        read = [buffers.read(line) for line in straight]
        for line in read:
            line.scope = barriers.scope(line.text)
        written += _merged(read, buffers, limit)
    return "\n".join(written)


def _straight(lines: Sequence[str]) -> Iterator[Sequence[str]]:
    """The text in parts without a branch, loop or label in the middle: each begins with one, or the text does."""
    start = 0
    for number, line in enumerate(lines):
        stripped = line.strip()
        if stripped.endswith("{") or stripped.startswith(("}", "^")):
            yield lines[start:number]
            yield lines[number : number + 1]
            start = number + 1
    yield lines[start:]


def _merged(lines: list[_Line], buffers: _Buffers, limit: int) -> list[str]:
    """The lines of one part, after each barrier the stores of later ones moved before it."""
    written: list[_Line] = []
    gate: int | None = None
    """Where the last barrier stands, if it is one of a conversion."""
    bytes_ = 0
    for line in lines:
        if line.name != _BARRIER and not line.scope:
            written.append(line)
            continue
        own = _stored_last(written) if line.scope else ""
        moved = None
        # A barrier of the workgroup is one of each subgroup too, not the other way round.
        waits = gate is not None and written[gate].scope in ("workgroup", line.scope)
        if own and gate is not None and waits and bytes_ + buffers.sizes[own] <= limit:
            moved = _moving(written[gate + 1 :], own)
        if moved is not None and gate is not None:
            after = written[gate + 1 :]
            up = [one for number, one in enumerate(after) if number in moved]
            rest = [one for number, one in enumerate(after) if number not in moved]
            written[gate:] = [*up, written[gate], *rest]
            gate += len(up)
            bytes_ += buffers.sizes[own]
            continue
        gate, bytes_ = (len(written), buffers.sizes[own]) if own else (None, 0)
        written.append(line)
    return [line.text for line in written]


def _stored_last(lines: Sequence[_Line]) -> str:
    """The buffer of the store behind which only values were computed; empty where something else comes last."""
    last = next((line for line in reversed(lines) if not line.is_pure), None)
    return last.buffer if last is not None and last.name in _STORES else ""


def _moving(lines: Sequence[_Line], own: str) -> set[int] | None:
    """Which lines after a barrier have to move before it so that all stores to a buffer do; None where they cannot."""
    makers = {name: number for number, line in enumerate(lines) for name in line.makes}
    if own not in makers:
        return None  # used before: others may still load from it
    waiting = [number for number, line in enumerate(lines) if line.buffer == own or own in line.makes]
    moved: set[int] = set()
    while waiting:
        number = waiting.pop()
        if number not in moved:
            moved.add(number)
            waiting += [makers[name] for name in lines[number].takes if name in makers]
    loads = False
    for number in moved:
        line = lines[number]
        if line.buffer not in ("", own):
            return None  # what another conversion loads
        if line.name in _LOADS:
            if line.buffer:
                return None
            loads = True
        elif not line.is_pure and not (line.name in _STORES and line.buffer == own):
            return None
    for number, line in enumerate(lines) if loads else ():
        if number not in moved and not line.is_pure and line.name not in _LOADS and not line.buffer:
            return None  # may write what is loaded
    return moved
