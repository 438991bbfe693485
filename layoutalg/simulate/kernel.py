"""Run the text of a kernel on memory that the caller has laid out: `run_kernel(text, arguments, grid, memory)`.

>>> import numpy as np
>>> text = '''
... gpu.module @k { gpu.func @copy(%src: i64, %dst: i64) kernel attributes
...   {intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: 16, 1, 1>} {
...   %from = xegpu.create_nd_tdesc %src, shape : [8, 16], strides : [16, 1] : i64 -> !xegpu.tensor_desc<8x16xf32>
...   %to = xegpu.create_nd_tdesc %dst, shape : [8, 16], strides : [16, 1] : i64 -> !xegpu.tensor_desc<8x16xf32>
...   %x = xegpu.load_nd %from[0, 0] : !xegpu.tensor_desc<8x16xf32> -> vector<8xf32>
...   xegpu.store_nd %x, %to[2, 0] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>
...   gpu.return } }'''
>>> source, target = np.arange(128, dtype=np.float32).reshape(8, 16), np.zeros((8, 16), dtype=np.float32)
>>> memory = Memory()
>>> run_kernel(text, [memory.bind("source", source), memory.bind("target", target)], (1, 1, 1), memory)
>>> bool((target[2:] == source[:6]).all())
True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from layoutalg.core.limits import MOST_WORK
from layoutalg.core.whole_numbers import instance_of, listed, whole_number
from layoutalg.hardware import target_info
from layoutalg.simulate.counting import Counted
from layoutalg.simulate.executed import Executed
from layoutalg.simulate.grids import CompiledKernel, compile_kernel, run_on
from layoutalg.simulate.machine import MAX_OPERATIONS, Budget
from layoutalg.simulate.memory import Memory
from layoutalg.simulate.texts import read_kernel

__all__ = ["run_kernel"]

_KEPT = 2
"""Kernels that are kept compiled: a launch of two kernels takes two."""


def run_kernel(
    text: str,
    arguments: Sequence[int],
    grid: tuple[int, int, int],
    memory: Memory,
    *,
    kernel: str | None = None,
    target: str = "pvc",
    progress: Callable[[float], None] | None = None,
    work: int = MOST_WORK,
    counted: Counted | None = None,
    workgroups: Sequence[int] | None = None,
) -> Executed | None:
    """Launch a kernel on `grid` workgroups; arguments are integers (addresses that `memory` gave, sizes).

    Without a name, the text's only kernel is launched. `progress` is told the part that is done. `work` is what
    the launch may cost, in units of about half a nanosecond. With `counted` ("messages", or "lines" for the cache lines too)
    the result says what was executed. With `workgroups` only those of these numbers run: x + X (y + Y z) in a grid X x Y x Z.

    Raises:
        ParseError: the text can't be read.
        LayoutError: a workgroup that the grid does not have.
        SimulationError: the kernel can't be simulated, or does what the hardware would not; names the operation and
            its line.

    >>> import numpy as np
    >>> from layoutalg.gemm import plan_gemm
    >>> gemm, memory = plan_gemm(8, 32, 32), Memory()
    >>> c = np.zeros((8, 32), np.float32)
    >>> ones = [np.ones(shape, np.float16) for shape in ((8, 32), (32, 32))]
    >>> addresses = [memory.bind(name, array) for name, array in zip("ABC", (*ones, c))]
    >>> run_kernel(gemm.emit("lane"), [*addresses, *gemm.arguments], gemm.grid, memory)
    >>> c[7, 31]
    np.float32(32.0)
    """
    instance_of(memory, Memory, "memory")
    instance_of(kernel, (str, type(None)), "kernel")
    arguments = listed(arguments, "arguments")
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        read_kernel(text)  # says what is expected
    compiled = _compiled(text, kernel, target_info(target).name)
    work = whole_number(work, "work", 0)
    operations = max(MAX_OPERATIONS, work // (MOST_WORK // MAX_OPERATIONS)) if work > MOST_WORK else MAX_OPERATIONS
    spent = Budget(operations, work)
    ran = run_on(
        compiled,
        arguments,
        grid,
        memory,
        budget=spent,
        progress=progress,
        counted=counted,
        workgroups=workgroups,
    )
    return ran.executed


@lru_cache(_KEPT)
def _compiled(text: str, kernel: str | None, target: str) -> CompiledKernel:
    """Most of a small launch is to read its text and to compile it, and the same text is often run on other arrays."""
    return compile_kernel(read_kernel(text), kernel, target=target)
