"""General registers that one subgroup needs at the same time in a step of the loop, and whether they fit without spilling.

C stays in registers for the whole loop. Of A and B only what is on its way to a DPAS is there: the messages of a step are
written just before the first DPAS that takes something of them, and their registers are free after the last. By hand, for a
tile of 32x64, 64 deep, in f16 with registers of 64 bytes: C has 32*64*4 bytes, 128 registers; A comes in messages of 32x32, 32
registers, one after the other; B in messages of 32x32, two at a time, 64 registers. On pvc each of the 6 messages has a payload
of one register, and the place of a prefetch takes one.

>>> from layoutalg.gemm.tiling import Tile
>>> needed = registers(Problem.of(512, 512, 512), Tiling(Tile(32, 64, 64), (8, 4), 256, "shared"))
>>> needed
Registers(a=32, b=64, c=128, streamed=32, addresses=6, available=256, prefetch='shared', asked=1, most_written=512)
>>> needed.used, needed.fits
(231, True)

The graphics compiler may do with less: where A and B come in equally deep messages, it moves the loads of B apart, so that one
message of B (`streamed`) is there at a time. It does so in most kernels and not in all; `fits` asks for room that no listing
exceeded, in one of three ways: operands as they are written and payloads fit; or operands as written fit closely, and with one
message of B at a time the payloads do too; or with one message of B at a time much is left. A prefetch of lines holds the
addresses of 16 lanes, as many times as a subgroup asks in a step (more in small workgroups), and must fit in the first way.

What was measured (spilled bytes of ze_info; ocloc 26.27.039122, LLVM 24, 2026-11-22; tile m x n x k):

| registers | tile, prefetch | C + A + B | C + A + one message of B | bmg, pvc |
|---|---|---|---|---|
| 256 | 32x64x64, any | 224 | 192 | fits |
| 256 | 64x48x64 and 48x64x64, A and B 16 deep, shared | 248 | 240, 232 | fits |
| 256 | 64x64x64 with f16 accumulators, shared | 256 | 224 | fits |
| 256 | 24x96x64, any | 264 | 200 | fits |
| 256 | 40x64x64, shared | 264 | 232 | spills 3072, 3968 |
| 256 | 24x128x64, none | 344 | 248 | fits, spills 128 |
| 256 | 32x96x64, none | 320 | 256 | spills 1024 |
| 256 | 64x48x64, lines | 248 | 240 | spills 256, 1152 |
| 256 | 56x64x64 and 64x64x64 (f32), any | 284 and more | 268, 352 | spills always |
| 256 | 40x64x64 of tf32, any | 244 | 244 | spills 8384 and more on bmg |
| 256 | 16x128x32 of tf32, any, and 16x64x32 of a gated pair | 272 | 160 | spills 1536 to 4096 |
| 256 | 8x64x32 and 16x48x32 of gated pairs of tf32, shared | 200, 208 | 88, 128 | fits |
| 256 | 48x48x128 of s8, lines, one subgroup in a workgroup | 192 | 184 | spills 1728 on pvc |
| 128 | 40x32x64 of tf32, shared | 116 | 108 | spills 2624 on bmg |
| 128 | 48x48x64 with f16 accumulators, shared | 120 | 112 | spills 448 on pvc |
| 128 | 32x32x64, A 16 and B 32 deep, shared | 112 | 112 | fits |
| 128 | 16x64x64, any | 144 | 112 | fits |
| 128 | 24x64x64, 16 deep, none | 140 | 124 | spills 704, 1664 |
| 128 | 64x16x64, none | 144 | 144 | spills 1536 |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from layoutalg.core.elements import element_bits
from layoutalg.core.errors import PlanError
from layoutalg.core.llvm_versions import DEFAULT_LLVM, rules
from layoutalg.core.notebook import NotebookAnswer
from layoutalg.core.whole_numbers import instance_of, whole_number
from layoutalg.gemm.messages import Message, messages
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.product import mlir_type
from layoutalg.gemm.roles import in_loop
from layoutalg.gemm.sharing import lines_of_lanes
from layoutalg.gemm.tiling import Tiling
from layoutalg.gemm.turning import ROW_BYTES, share_bytes, turns
from layoutalg.hardware import target_info, xe_chip

if TYPE_CHECKING:
    from layoutalg.gemm.register_picture import RegisterPicture

__all__ = ["Registers", "payloads", "registers"]

_SCALARS = 3
"""Registers for sizes, the counter, and what else the compiler keeps."""
_MUCH = {128: 8, 256: 23}
"""Registers that must be left beside payloads where the compiler has to move the loads of B apart."""
_MOST_ADDRESSES = {128: 21, 256: 32}
"""With 24 payloads on pvc a tf32 loop of 24x32x64 spills 3648 bytes of 128 registers, though 117 would do; with 40 payloads a
loop of 56x48x256 in s8 spills 448 bytes of 256."""
_MOST_TF32 = {128: 112, 256: 240}
"""Of C and operands as they are written, where the compiler has no loads of B to move apart: 56x48x32 has 244 and spills."""
_TURNING = 6
"""Registers for the places of a lane's reads and stores in shared memory and for the message that loads its share."""
_LANES_ASK = 10
"""Registers of one prefetch of lines: addresses of 16 lanes, 64 bits each, how far they move, and copies of both."""
_MOST_TF32_LINES = 200
"""Tf32 with a prefetch of lines: 64x32x32 on bmg has 224 registers of C and operands, and spills 320 bytes."""


@dataclass(frozen=True)
class Registers(NotebookAnswer):
    """Registers that one subgroup needs at the same time, against those that it has.

    `a` and `b` are the operands that are there together, `streamed` the largest message of B where B may come one message at a
    time (else as many as `b`), `addresses` the payloads of the messages, `asked` the prefetches of a step; more
    registers of C and operands than `most_written` spill where the compiler does not move loads of B apart.

    >>> print(Registers(a=16, b=16, c=64, streamed=16, addresses=6, available=128))
    102 of 128 registers: A 16, B 16, C 64, addresses 6
    """

    a: int
    b: int
    c: int
    streamed: int
    addresses: int
    available: int
    prefetch: str = "none"
    asked: int = 1
    most_written: int = 512

    def picture(self) -> RegisterPicture:
        """What the registers are for, as a bar.

        >>> Registers(16, 16, 64, 16, 6, 128).picture().title
        'the registers of a subgroup'
        """
        from layoutalg.gemm.register_picture import RegisterPicture

        return RegisterPicture((), "the registers of a subgroup", needed=self)

    def __str__(self) -> str:
        ahead = f", prefetches {self.ahead}" if self.ahead else ""
        parts = f"A {self.a}, B {self.b}, C {self.c}, addresses {self.addresses}{ahead}"
        return f"{self.used} of {self.available} registers: {parts}{'' if self.fits else '; they spill'}"

    @property
    def used(self) -> int:
        """All of them together, as the kernel is written.

        >>> Registers(16, 16, 64, 16, 6, 128).used
        102
        """
        return self.a + self.b + self.c + self.addresses + self.ahead

    @property
    def ahead(self) -> int:
        """What prefetches keep: the place of the last one, or the addresses of all lines.

        >>> Registers(16, 16, 64, 16, 6, 128, "lines", asked=2).ahead
        20
        """
        return {"none": 0, "shared": 1, "lines": _LANES_ASK * self.asked}[self.prefetch]

    @property
    def most_asked(self) -> int:
        """The prefetches of lines that there is room for.

        >>> Registers(16, 16, 64, 16, 6, 128, "lines").most_asked
        2
        """
        return (self.available - _SCALARS - (self.used - self.ahead)) // _LANES_ASK

    @property
    def least(self) -> int:
        """What the operands and C need with one message of B at a time.

        >>> Registers(16, 64, 64, 32, 6, 128).least
        112
        """
        return self.a + self.streamed + self.c

    @property
    def fits(self) -> bool:
        """Whether nothing spills.

        >>> Registers(32, 32, 64, 32, 6, 128).fits, Registers(16, 32, 64, 32, 6, 128).fits
        (False, True)
        """
        written, addresses = self.a + self.b + self.c, self.addresses + self.ahead
        payloads = addresses if self.prefetch != "lines" else self.addresses
        if payloads > _MOST_ADDRESSES[self.available]:
            return False
        apart = self.least < written and self.prefetch != "lines"
        if written > self.most_written and (not apart or written > self.available):  # tf32
            return False
        if written + addresses <= self.available - _SCALARS:
            return True
        if self.prefetch == "lines":
            return False
        if written <= self.available - 8 and self.least <= self.available - 16:
            return self.least + addresses <= self.available + (1 if self.available == 256 else -5)
        return self.least <= self.available - 16 and self.least + addresses <= self.available - _MUCH[self.available]


def registers(problem: Problem, tiling: Tiling, llvm: int = DEFAULT_LLVM) -> Registers:
    """The registers of a step, against those that a thread has; where A and B change roles, `a` is of the loop's A."""
    instance_of(problem, Problem, "problem", PlanError)
    instance_of(tiling, Tiling, "tiling", PlanError)
    return _registers(*in_loop(problem, tiling), whole_number(llvm, "llvm =", 22, 99, PlanError))


@lru_cache(maxsize=4096)
def _registers(problem: Problem, tiling: Tiling, llvm: int) -> Registers:
    size = target_info(problem.target).grf_bytes
    tile = tiling.tile
    accumulators = -(-tile.m * tile.n * element_bits(mlir_type(problem.acc)) // 8 // size)
    loads = [_Load(one, size) for one in messages(problem, tiling, llvm)]
    depths = range(tile.k // problem.dpas.k)
    held = [{operand: _held(loads, operand, depth) for operand in "AB"} for depth in depths]
    most = max(held, key=lambda one: one["A"] + one["B"])
    if turns(tiling):  # two operands along k of each row block, and the share of the next step
        most["A"] = (tile.m * 2 * ROW_BYTES + share_bytes(problem, tiling)) // size
    elif problem.trans_a:  # what the messages bring, and the rows that are put together from it
        most["A"] *= 2
    together = {(one.first, one.last) for one in loads}
    alone = all(not (first < other <= last) for first, last in together for other, _ in together)
    largest = max(one.registers for one in loads if one.operand == "B")
    narrow = problem.dpas.k == 8  # of tf32 in 128 registers the compiler does not move loads of B apart
    streamed = largest if alone and not (narrow and tiling.registers == 128) else most["B"]
    lines = tiling.prefetch == "lines"
    most_written = tiling.registers * 2
    if narrow:
        most_written = min(_MOST_TF32[tiling.registers], _MOST_TF32_LINES if lines else most_written)
    asked = messages(problem, tiling, llvm)
    # With one payload per shape, a loop of 32x64x64 with 40 messages and a shared prefetch does not spill (IGC 1.0.12504).
    shapes = {(one.operand, one.load) for one in asked}
    addresses = payloads(problem, asked) if rules(llvm).payload_per_message else len(shapes)
    addresses += _TURNING if turns(tiling) else 0
    return Registers(
        most["A"],
        most["B"],
        accumulators,
        streamed,
        addresses,
        tiling.registers,
        prefetch=tiling.prefetch,
        asked=lines_of_lanes(problem, tiling).rounds if lines else 1,
        most_written=most_written,
    )


def payloads(problem: Problem, loads: Sequence[Message]) -> int:
    """The payloads of a step's messages: with immediate offsets one for every shape of message, without them one for each.

    >>> from layoutalg.gemm.tiling import Tile
    >>> problems = Problem.of(64, 64, 64, target="bmg"), Problem.of(64, 64, 64, target="pvc")
    >>> tiling = Tiling(Tile(32, 64, 64), registers=256)
    >>> [payloads(problem, messages(problem, tiling)) for problem in problems]
    [2, 6]
    """
    offsets = xe_chip(problem.target).immediate_offsets
    if not offsets:
        return len(loads)
    kinds = {(one.operand, one.load) for one in loads}
    return len(kinds) + (sum(operand == "B" for operand, _ in kinds) if problem.halves else 0)  # each half has its own


class _Load:
    """A message: how many registers it brings, and from which depth to which they are needed."""

    def __init__(self, message: Message, size: int) -> None:
        self.operand = message.operand
        self.registers = -(-message.bytes // size)
        depths = [piece.depth for piece in message.pieces]
        self.first, self.last = min(depths), max(depths)


def _held(loads: list[_Load], operand: str, depth: int) -> int:
    return sum(one.registers for one in loads if one.operand == operand and one.first <= depth <= one.last)
