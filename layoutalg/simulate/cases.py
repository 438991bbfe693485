"""Run one kernel on several sets of arguments at once: they lie side by side along the axis of workgroups.

Numpy does the same operation for all of them, so dozens of small cases take about as long as two.

>>> text = '''gpu.module @m { gpu.func @k(%p: memref<16xf32>, %q: memref<16xf32>) kernel attributes
...   {intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: 16, 1, 1>} {
...   %i = gpu.lane_id
...   %x = memref.load %p[%i] : memref<16xf32>
...   %y = arith.addf %x, %x : f32
...   memref.store %y, %q[%i] : memref<16xf32>
...   gpu.return } }'''
>>> from layoutalg.ir import read_module
>>> cases = [[np.full(16, n, np.float32), np.zeros(16, np.float32)] for n in (1, 2, 3)]
>>> found = launch_cases(read_module(text), cases)
>>> [float(written[5]) for _, written in found.arguments], found.findings
([2.0, 4.0, 6.0], ())
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeGuard

import numpy as np
from xdsl.dialects.builtin import AnyFloat, ModuleOp

from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import MOST_CASE_WORKGROUPS
from layoutalg.core.messages import shown
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import instance_of, listed
from layoutalg.ir.findings import Finding
from layoutalg.simulate.arguments import bound, float_of
from layoutalg.simulate.grids import compile_kernel, grid_of, run_on
from layoutalg.simulate.machine import Array
from layoutalg.simulate.memory import Memory
from layoutalg.simulate.memory.views import View

__all__ = ["Cases", "launch_cases"]

_APART = 256
"""Bytes of zeros behind each array: what reads a little too far reads no other case."""
_ALIGNED = 64
"""Arrays begin at multiples of so many bytes, as block messages want it."""


@dataclass(frozen=True, eq=False)
class Cases:
    """The arguments of every case as the kernel left them, and what it did wrong in any of them.

    >>> Cases((), ()).findings
    ()
    """

    arguments: tuple[tuple[Any, ...], ...]
    findings: tuple[Finding, ...]


def launch_cases(
    module: ModuleOp,
    cases: Sequence[Sequence[Any]],
    grid: Sequence[int] = (1, 1, 1),
    *,
    kernel: str | None = None,
    target: str = "pvc",
) -> Cases:
    """Run a kernel on every case (arrays and numbers, as `launch` takes them); the arrays given are not changed.

    Numbers other than floats must be the same in all cases, and arrays of one argument alike. An access far behind an array may
    reach another case: launch a case alone to find out about it.

    Raises `LayoutError` where the kernel can't be run.

    >>> from layoutalg.ir import read_module
    >>> launch_cases(read_module("gpu.module @m { gpu.func @k() kernel { gpu.return } }"), [])
    Cases(arguments=(), findings=())
    """
    instance_of(module, ModuleOp, "module")
    instance_of(kernel, (str, type(None)), "kernel")
    cases = [listed(case, f"arguments of case {number}") for number, case in enumerate(listed(cases, "cases"))]
    if not cases:
        return Cases((), ())
    compiled = compile_kernel(module, kernel, target=target)
    grid = grid_of(grid)
    groups = prod(grid)
    if groups * len(cases) > MOST_CASE_WORKGROUPS:
        raise LayoutError(
            f"{groups} workgroups in {counted(len(cases), 'case')}: expected at most {MOST_CASE_WORKGROUPS} workgroups in all"
        )
    alone = bound(compiled.function, cases[0], Memory())  # checks that they are what the kernel takes
    for number, case in enumerate(cases):
        _check_alike(number, case, cases[0], compiled.function.body.blocks[0].args)
    memory = Memory()
    given: list[Any] = []
    results: list[list[Any]] = [list(case) for case in cases]
    for number, first in enumerate(cases[0]):
        column = [case[number] for case in cases]
        value = compiled.function.body.blocks[0].args[number]
        if not _is_array(first):
            each = np.array([float_of(one) for one in column]) if isinstance(value.type, AnyFloat) else None
            given.append(first if each is None else np.repeat(each, groups).reshape(-1, 1, 1))
            continue
        pitch = -(-(first.nbytes + _APART) // _ALIGNED) * _ALIGNED
        raw = np.zeros((len(cases), pitch), np.uint8)
        for case, array in enumerate(column):
            own = raw[case, : first.nbytes].view(first.dtype).reshape(first.shape)
            own[...] = array
            results[case][number] = own
        address = memory.bind(value.name_hint or f"argument {number}", raw)
        addresses = address + np.repeat(np.arange(len(cases), dtype=np.int64) * pitch, groups).reshape(-1, 1, 1)
        is_memref = isinstance(alone[number], View)
        given.append(View.row_major(addresses, first.shape, first.itemsize) if is_memref else addresses)
    found = run_on(compiled, given, grid, memory, carry_on=True, repeats=len(cases))
    return Cases(tuple(tuple(case) for case in results), found.findings)


def _check_alike(number: int, case: Sequence[Any], first: Sequence[Any], arguments: Sequence[Any]) -> None:
    """Refuse a case whose arguments cannot lie beside those of the first one."""
    if len(case) != len(first):
        raise LayoutError(f"case {number} has {len(case)} arguments, and case 0 has {len(first)}")
    for place, (one, other) in enumerate(zip(case, first, strict=True)):
        what = f"argument {place} of case {number}"
        if _is_array(other):
            if not _is_array(one) or (one.shape, one.dtype) != (other.shape, other.dtype):
                raise LayoutError(
                    f"{what} is {shown(one)}: expected an array of {other.shape} {other.dtype}, as case 0 has"
                )
        elif isinstance(arguments[place].type, AnyFloat):
            if not isinstance(one, (int, float, np.integer, np.floating)):
                raise LayoutError(f"{what} is {shown(one)}: expected a number")
        elif type(one) is not type(other) or bool(one != other):
            raise LayoutError(
                f"{what} is {shown(one)}: expected {shown(other)}, as case 0 has; floats alone may differ"
            )


def _is_array(value: object) -> TypeGuard[Array]:
    return isinstance(value, np.ndarray)
