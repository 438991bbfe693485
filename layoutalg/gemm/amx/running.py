"""Run a planned product here: compile its module, load it, call it, and say in which way tiles were multiplied.

A CPU with AMX runs tile instructions, if the kernel permits them; another CPU runs soft tiles, C functions with the same bits.
`how` asks for one of the two, or for LLVM's scalar loops, which run bf16 and bytes. Those are slower still, and differ in the
last bits of floats: they add in the order of k.

>>> from layoutalg.gemm.amx import plan_amx
>>> chosen_how(plan_amx(64, 64, 64, "f16").problem, "scalar")
Traceback (most recent call last):
layoutalg.core.errors.PlanError: how = 'scalar': LLVM has no scalar loops for tdpfp16ps; how = 'soft' runs f16 on any CPU

What a module needs is compiled once in a process, and loaded from a folder that is gone before the call.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from layoutalg.core.errors import PlanError, SizeError
from layoutalg.core.limits import (
    MOST_NATIVE_BYTES,
    MOST_NATIVE_OPERATIONS,
    MOST_SCALAR_OPERATIONS,
    MOST_SOFT_OPERATIONS,
)
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.messages import one_line
from layoutalg.gemm.amx.compiling import WAYS, checked_how, link, llvm_ir, machine_code, usable_version
from layoutalg.gemm.amx.operands import Operands
from layoutalg.gemm.amx.processor import native_refusal
from layoutalg.gemm.amx.rewriting import tile_calls
from layoutalg.hardware.amx_chips import FEATURES

if TYPE_CHECKING:
    from layoutalg.gemm.amx.problem import AmxProblem

__all__ = ["AmxRun", "Loaded", "amx_feature", "check_size", "chosen_how", "loaded", "run_amx", "way_of"]

_MOST = {"amx": MOST_NATIVE_OPERATIONS, "scalar": MOST_SCALAR_OPERATIONS, "soft": MOST_SOFT_OPERATIONS}
_FEATURES = {"tdpbf16ps": FEATURES["bf16"], "tdpfp16ps": FEATURES["f16"]} | {
    f"tdpb{signs}d": FEATURES["s8"] for signs in ("ss", "su", "us", "uu")
}
"""The CPU feature of each tile product, by its intrinsic."""


@dataclass(frozen=True, eq=False)
class AmxRun:
    """A product that was computed here: C, the way ("amx", "scalar" or "soft"), and the seconds that the call took.

    >>> run = AmxRun(np.zeros((2, 3), np.float32), "soft", 0.00125)
    >>> print(run)
    C[2, 3] float32, computed with soft tiles in 1.25 ms
    """

    c: NDArray[Any]
    how: str
    seconds: float
    llvm: int = DEFAULT_LLVM
    note: str = ""

    def __str__(self) -> str:
        size = ", ".join(map(str, self.c.shape))
        note = f" ({self.note})" if self.note else ""
        return f"C[{size}] {self.c.dtype}, computed with {WAYS[self.how]} in {1e3 * self.seconds:.3g} ms{note}"

    def __repr__(self) -> str:
        return f"<AmxRun: {self}>"


class Loaded:
    """A compiled module in this process; `call` runs one of its functions on addresses and whole numbers."""

    def __init__(self, path: str, how: str) -> None:
        import ctypes

        self._how = how
        try:
            self._library = ctypes.CDLL(path)
        except OSError as problem:  # such as a folder for temporary files from which nothing may be executed
            raise PlanError(f"the compiled code cannot be loaded: {one_line(str(problem))}") from None

    def call(self, function: str, arguments: Sequence[int]) -> float:
        """Run a function; addresses and whole numbers are passed alike, as 64 bits. Returns the seconds that it took.

        Raises `PlanError`: the soft tiles met a tile that the manual forbids.
        """
        import ctypes

        called = getattr(self._library, function)
        called.restype = None
        given = [ctypes.c_int64(argument) for argument in arguments]
        start = time.perf_counter()
        called(*given)
        seconds = time.perf_counter() - start
        if self._how == "soft":
            problem = self._library.soft_tiles_problem
            problem.restype = ctypes.c_char_p
            said = problem()
            if said is not None:
                raise PlanError(f"the code uses a tile that the hardware refuses: {said.decode()}")
        return seconds


def amx_feature(problem: AmxProblem) -> str:
    """The CPU feature that a problem's tile products need, as LLVM names it."""
    return FEATURES[problem.a]


def way_of(problem: AmxProblem, how: object) -> str:
    """The way that is asked for, if the problem's types have it; whether this CPU has it doesn't matter.

    Raises `PlanError`: there is no such way; or it is `scalar`, and the types are f16.

    >>> from layoutalg.gemm.amx import AmxProblem
    >>> way_of(AmxProblem.of(16, 16, 64, "s8"), "scalar")
    'scalar'
    """
    way = checked_how(how)
    if way == "scalar" and problem.a == "f16":
        raise PlanError("how = 'scalar': LLVM has no scalar loops for tdpfp16ps; how = 'soft' runs f16 on any CPU")
    return way


def chosen_how(problem: AmxProblem, how: str | None = None) -> str:
    """The way to run a problem here: the one that is asked for, or the best one that this machine has.

    Raises `PlanError` if this machine cannot run it that way; the message says why, and which way works.
    """
    refusal = native_refusal(amx_feature(problem))
    if how is None:
        return "soft" if refusal else "amx"
    way = way_of(problem, how)
    if way == "amx" and refusal is not None:
        raise PlanError(f"how = 'amx': {refusal}; {'soft' if problem.a == 'f16' else 'scalar or soft'} runs here")
    return way


def check_size(problem: AmxProblem, how: str | None) -> None:
    """Refuse matrices that are too large to be copied, and work that would take minutes.

    Raises `SizeError`: names the size and the limit.

    >>> from layoutalg.gemm.amx import AmxProblem
    >>> check_size(AmxProblem.of(4096, 4096, 4096), "scalar")
    Traceback (most recent call last):
    layoutalg.core.errors.SizeError: 137438953472 operations; at most 4294967296 are run with LLVM's scalar loops
    """
    size = problem.batch * sum(matrix.rows * matrix.pitch_bytes for matrix in problem.matrices)
    if size > MOST_NATIVE_BYTES:
        raise SizeError(f"A, B and C of {size} bytes; at most {MOST_NATIVE_BYTES} are run")
    way = chosen_how(problem, how)
    if problem.flops > _MOST[way]:
        raise SizeError(f"{problem.flops} operations; at most {_MOST[way]} are run with {WAYS[way]}")


@lru_cache(maxsize=64)
def loaded(text: str, llvm: int, how: str) -> Loaded:
    """A module of MLIR, compiled and loaded; the same text is compiled once in a process.

    Raises `PlanError`: a compiler is missing or refuses something; or this machine runs no such tile instructions.

    >>> loaded("module {}", 24, "native")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: how 'native': expected 'amx', 'scalar' or 'soft'
    """
    way = checked_how(how)
    ir = llvm_ir(text, llvm)
    if way == "amx":  # the module need not be a plan's: its own instructions say what the CPU must have
        used = {call.intrinsic for call in tile_calls(ir)}
        for feature in ("amx-tile", *sorted({feature for name, feature in _FEATURES.items() if name in used})):
            if (refusal := native_refusal(feature)) is not None:
                raise PlanError(f"how = 'amx': {refusal}; how = 'soft' runs tiles on any CPU")
    code = machine_code(ir, llvm, way)
    with TemporaryDirectory() as folder:
        path = str(Path(folder, "product.so"))
        link(path, code, way)
        return Loaded(path, way)  # Linux keeps a library that is loaded when its file goes


def run_amx(operands: Operands, how: str | None = None) -> AmxRun:
    """Compile the plan's module and execute it on arrays that are laid out.

    Raises `PlanError` if LLVM or a C compiler is not installed, or if this machine cannot run it that way.
    """
    plan = operands.plan
    way = chosen_how(plan.problem, how)
    version, note = usable_version(plan.llvm)
    code = loaded(plan.emit(version), version, way)
    seconds = sum(code.call("gemm", one.arguments) for one in operands.each)
    return AmxRun(operands.result(), way, seconds, version, note)
