"""How fast a planned product is on this CPU: one core's operations per second beside its tile unit's peak and beside numpy.

The peak is what the chip's manual says of a clock (1024 operations of 16-bit floats, 2048 of bytes) times the core's clock. No
table knows that of a virtual machine, so it is measured, right behind the products, by a chain of multiplications whose latency
is known.

Each figure is the best of many calls, since what else runs here only makes calls longer. `with packing` is the whole
product; `B packed before` takes B as it was packed once. numpy multiplies float32, and what a user of the type would write:
convert A and B to float32, then multiply. It may use all cores, the plan's code uses one.

>>> timing = AmxTiming("C[512, 512] f32 = ..", 2**28, 2.5e-4, 2e-4, 1.8e-3, 2e-3, "bf16", 1024.0, 3.5e9)
>>> print(timing)
C[512, 512] f32 = ..
with packing                    1.07 TOP/s  30 %
B packed before                 1.34 TOP/s  37 %
numpy, float32                  0.15 TOP/s   4 %
numpy, bf16 through float32     0.13 TOP/s   4 %
of the peak of one core, 3.58 TOP/s: 1024 operations a clock at 3.50 GHz, measured behind the products
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from layoutalg.core.errors import PlanError, SizeError
from layoutalg.core.limits import MOST_GEMM_BYTES, MOST_TIMED_OPERATIONS
from layoutalg.core.messages import shown
from layoutalg.gemm.amx.compiling import link, machine_code, usable_version
from layoutalg.gemm.amx.operands import Buffer, Operands, memory_type, random_operands
from layoutalg.gemm.amx.processor import native_refusal
from layoutalg.gemm.amx.running import Loaded, amx_feature, loaded
from layoutalg.hardware.amx_chips import amx_chip

if TYPE_CHECKING:
    from layoutalg.gemm.amx.plan import AmxGemm

__all__ = ["AmxTiming", "best_seconds", "measured_clock", "time_amx", "timed"]

_LONGEST = 600.0
_PASSES, _CLOCKS_PER_PASS = 20_000, 60  # a third of a millisecond: shorter than what another process would take away
_CLOCK = r"""
__attribute__((visibility("default"))) void passes(long count)
{
    long number = 3;
    __asm__ volatile(".p2align 6\n1:\n\t.rept 20\n\timulq %1, %1\n\t.endr\n\tdecq %0\n\tjnz 1b"
                     : "+r"(count), "+r"(number) : : "cc");
}
"""
"""A pass is 20 multiplications, each of the result before: 3 clocks each on every Intel core since Nehalem (Agner Fog,
"Instruction tables", IMUL r64,r64); what counts the passes runs beside them."""


@dataclass(frozen=True, slots=True)
class AmxTiming:
    """What was measured: seconds of a product in each way, and the peak by the chip's figures and the measured clock.

    >>> AmxTiming("", 2**28, 2.5e-4, 2e-4, 1.8e-3, 2e-3, "bf16", 1024.0, 3.5e9).part_of_peak
    0.29959314285714284
    """

    product: str
    operations: int
    seconds: float
    seconds_prepacked: float
    seconds_numpy: float
    seconds_numpy_converted: float
    element: str
    operations_per_clock: float
    clock: float
    note: str = ""

    @property
    def peak(self) -> float:
        """Operations per second of a core whose tile unit never waits.

        >>> AmxTiming("", 2**28, 1e-3, 1e-3, 1e-3, 1e-3, "bf16", 1024.0, 3e9).peak
        3072000000000.0
        """
        return self.operations_per_clock * self.clock

    @property
    def part_of_peak(self) -> float:
        """What the product with packing reaches of it.

        >>> AmxTiming("", 1024, 1.0, 1.0, 1.0, 1.0, "bf16", 1024.0, 1.0).part_of_peak
        1.0
        """
        return self.operations / self.seconds / self.peak

    def __str__(self) -> str:
        rows = (
            ("with packing", self.seconds),
            ("B packed before", self.seconds_prepacked),
            ("numpy, float32", self.seconds_numpy),
            (f"numpy, {self.element} through float32", self.seconds_numpy_converted),
        )
        lines = [self.product]
        for name, seconds in rows:
            rate = self.operations / seconds
            lines.append(f"{name:28}{rate / 1e12:8.2f} TOP/s {100 * rate / self.peak:3.0f} %")
        lines.append(
            f"of the peak of one core, {self.peak / 1e12:.2f} TOP/s: {self.operations_per_clock:.0f} operations a clock at "
            f"{self.clock / 1e9:.2f} GHz, measured behind the products"
        )
        return "\n".join([*lines, *([self.note] if self.note else [])])


def time_amx(plan: AmxGemm, seconds: float = 1.0) -> AmxTiming:
    """Measure the plan's product on random numbers for about so many seconds in all.

    Raises:
        PlanError: this CPU has no AMX for the plan's types, or LLVM isn't installed.
        SizeError: the matrices or the work are too large to be measured.

    >>> from layoutalg.gemm.amx import plan_amx
    >>> time_amx(plan_amx(64, 64, 64), seconds=-1)
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: seconds = -1: expected a number above 0, at most 600
    """
    number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)  # pyright: ignore[reportUnnecessaryIsInstance]
    if not number or not 0 < seconds <= _LONGEST:
        raise PlanError(f"seconds = {shown(seconds)}: expected a number above 0, at most {_LONGEST:.0f}")
    problem = plan.problem
    refusal = native_refusal(amx_feature(problem))
    if refusal is not None:
        raise PlanError(f"time: {refusal}; plan.run computes the product without AMX, and its time would say nothing")
    size = problem.batch * sum(matrix.rows * matrix.pitch_bytes for matrix in problem.matrices)
    if size > MOST_GEMM_BYTES:
        raise SizeError(f"A, B and C of {size} bytes; at most {MOST_GEMM_BYTES} are measured")
    if problem.flops > MOST_TIMED_OPERATIONS:
        raise SizeError(f"{problem.flops} operations; at most {MOST_TIMED_OPERATIONS} are measured")
    version, note = usable_version(plan.llvm)
    operands = Operands.of(plan, **random_operands(problem, 0))
    whole = loaded(plan.emit(version), version, "amx")
    multiplied = loaded(plan.emit(version, prepacked_b=True), version, "amx")
    packed = Buffer.of(np.zeros((problem.batch, *plan.packed_b_shape), memory_type(problem.a)))
    arguments = [one.arguments for one in operands.each]
    prepacked = [list(given) for given in arguments]
    for given, panels in zip(prepacked, packed.array, strict=True):
        whole.call("gemm_pack_b", (given[1], panels.ctypes.data, 0, plan.packed_b_shape[0]))
        given[1] = panels.ctypes.data
    share = seconds / 4
    # numpy's threads may spin for a while after a product, so numpy comes last.
    in_whole = best_seconds(lambda: sum(whole.call("gemm", given) for given in arguments), share)
    in_prepacked = best_seconds(lambda: sum(multiplied.call("gemm", given) for given in prepacked), share)
    clock = measured_clock(version)
    left, right = (
        buffer.array[..., : matrix.columns]
        for buffer, matrix in zip((operands.a, operands.b), problem.matrices[:2], strict=True)
    )
    left, right = (left.mT if problem.trans_a else left), (right.mT if problem.trans_b else right)
    wide = [left.astype(np.float32), right.astype(np.float32)]
    in_numpy = best_seconds(timed(lambda: wide[0] @ wide[1]), share)
    converted = best_seconds(timed(lambda: left.astype(np.float32) @ right.astype(np.float32)), share)
    per_clock = amx_chip(problem.chip).operations(problem.a)
    return AmxTiming(
        product=str(problem),
        operations=problem.flops,
        seconds=in_whole,
        seconds_prepacked=in_prepacked,
        seconds_numpy=in_numpy,
        seconds_numpy_converted=converted,
        element=problem.a,
        operations_per_clock=per_clock,
        clock=clock,
        note=note,
    )


def best_seconds(call: Callable[[], float], seconds: float) -> float:
    """The shortest of the times that a call returns, over about so many seconds, of two calls at least.

    >>> times = iter([3.0, 2.0, 4.0])
    >>> best_seconds(lambda: next(times), 0.0)
    2.0
    """
    found = [call(), call()]
    until = time.perf_counter() + seconds - sum(found)
    while time.perf_counter() < until:
        found.append(call())
    return min(found)


def measured_clock(llvm: int) -> float:
    """The clock of the core that this runs on, in Hz, by a chain of multiplications of 3 clocks each.

    Raises `PlanError`: LLVM or a C compiler isn't installed.
    """
    library = _clock_library(llvm)
    return _PASSES * _CLOCKS_PER_PASS / best_seconds(lambda: library.call("passes", (_PASSES,)), 0.05)


@lru_cache(maxsize=1)
def _clock_library(llvm: int) -> Loaded:
    with TemporaryDirectory() as folder:
        path = str(Path(folder, "clock.so"))
        link(path, machine_code("", llvm), "amx", {"clock.c": _CLOCK})
        return Loaded(path, "amx")


def timed(call: Callable[[], object]) -> Callable[[], float]:
    """A function that calls and gives the seconds that the call took.

    >>> timed(lambda: None)() < 60
    True
    """

    def seconds() -> float:
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    return seconds
