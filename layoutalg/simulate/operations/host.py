"""What code of the host does: memory of the device, copies, launches. Everything happens at once and in order.

Operations of other dialects (scf, arith, memref.load, func.call) mean on the host what they mean in a kernel.
"""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    MemRefType,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

from layoutalg.core.limits import MOST_GEMM_BYTES
from layoutalg.simulate.compiling import Compiling, Step, compiled_by
from layoutalg.simulate.host import Device
from layoutalg.simulate.machine import Array, Run, fail, uniform
from layoutalg.simulate.memory.views import View
from layoutalg.simulate.operations.declared import property_of, whole_numbers
from layoutalg.simulate.values.elements import element

__all__: list[str] = []


def _segments(op: Operation, count: int) -> list[tuple[int, int]]:
    """Where each group of operands begins and ends."""
    sizes = whole_numbers(op, "operandSegmentSizes")
    ends = np.cumsum([0, *sizes]).tolist()
    found = list(pairwise(ends))
    if len(found) < count:
        fail(op, f"{len(found)} groups of operands; {count} are needed")
    return found


def _memref(op: Operation, kind: Attribute) -> MemRefType[Attribute]:
    if not isa(kind, MemRefType[Attribute]):
        fail(op, f"{kind} is not simulated; a memref is")
    return kind


def _tokens(op: Operation, found: list[Any]) -> list[Any]:
    """The results, and None for an asynchronous token behind them."""
    return [*found, *[None] * (len(op.results) - len(found))]


def _reserve(run: Run, op: Operation, name: str, array: Array, initialised: bool) -> View:
    memory = run.memory.buffers
    used = sum(buffer.bytes.size for buffer in memory.buffers) + array.nbytes
    if used > MOST_GEMM_BYTES:
        fail(op, f"{used} bytes of memory; at most {MOST_GEMM_BYTES} are simulated")
    address = memory.bind(name, array, initialised=initialised)
    run.shared.setdefault("reserved", set()).add(address)
    return View.row_major(np.full((1, 1, 1), address, np.int64), array.shape, array.itemsize)


@compiled_by("gpu.alloc", "memref.alloc", "memref.alloca", host=True)
def allocate(op: Operation, compiling: Compiling) -> Step:
    """Memory that is not written yet."""
    kind = _memref(op, op.results[0].type)
    dtype = element(str(kind.element_type)).dtype
    position = 1 if op.name == "gpu.alloc" else 0
    first = _segments(op, position + 1)[position][0] if op.operands else 0
    name = op.results[0].name_hint or "memory"

    def step(run: Run, values: list[Any]) -> list[Any]:
        given = iter(values[first:])
        sizes = [uniform(op, next(given), "a size") if size == DYNAMIC_INDEX else size for size in kind.get_shape()]
        if min(sizes, default=1) < 0 or prod(sizes) * dtype.itemsize > MOST_GEMM_BYTES:
            fail(op, f"{'x'.join(map(str, sizes))} elements; at most {MOST_GEMM_BYTES} bytes are simulated")
        if run.machine.items != (1, 1, 1):  # iterations that run together: each has memory of its own
            address = run.memory.allocate(run, op, op, prod(sizes) * dtype.itemsize, name)
            return [View.row_major(np.full((1, 1, 1), address, np.int64), sizes, dtype.itemsize)]
        made = np.full(prod(sizes) * dtype.itemsize, 0xA5, np.uint8).view(dtype).reshape(sizes)
        return _tokens(op, [_reserve(run, op, name, made, False)])

    return step


@compiled_by("memref.get_global", host=True)
def get_global(op: Operation, compiling: Compiling) -> Step:
    """The memory of a `memref.global`, which is there once."""
    kind = _memref(op, op.results[0].type)
    reference = property_of(op, "name")
    symbol = reference.string_value() if isinstance(reference, SymbolRefAttr) else ""
    declared = next(
        (
            other
            for other in compiling.module.walk()
            if other.name == "memref.global" and getattr(property_of(other, "sym_name"), "data", None) == symbol
        ),
        None,
    )
    if declared is None:
        fail(op, f"there is no memref.global @{symbol}")
    dtype, initial = element(str(kind.element_type)).dtype, property_of(declared, "initial_value")
    shape = kind.get_shape()

    def step(run: Run, values: list[Any]) -> list[Any]:
        key = ("global", declared)
        if key not in run.shared:
            if isinstance(initial, DenseIntOrFPElementsAttr):
                numbers = np.array(initial.get_values()).astype(dtype)
                made = np.broadcast_to(numbers, prod(shape)).reshape(shape).copy()
            else:
                made = np.full(prod(shape) * dtype.itemsize, 0xA5, np.uint8).view(dtype).reshape(shape)
            known = isinstance(initial, DenseIntOrFPElementsAttr)
            run.shared[key] = _reserve(run, op, symbol, made, known)
        return [run.shared[key]]

    return step


@compiled_by("gpu.dealloc", "memref.dealloc", host=True)
def release(op: Operation, compiling: Compiling) -> Step:
    """Memory goes: who reads or writes it afterwards is out of bounds. That of an iteration goes with the iteration."""
    memory_at = next((n for n, operand in enumerate(op.operands) if isa(operand.type, MemRefType[Attribute])), None)
    if memory_at is None:
        fail(op, "a memref is needed")

    def step(run: Run, values: list[Any]) -> list[Any]:
        address = int(np.asarray(values[memory_at].base).reshape(-1)[0])
        if run.machine.items != (1, 1, 1):
            freeing = run.machine.count if run.active is None else int(np.count_nonzero(run.active))
            if freeing > 1 and address in run.shared.get("reserved", ()):
                run.report(op, "run.undefined", f"{freeing} iterations free {run.memory.describe(address)}")
        else:
            # What the caller brought stays: it is not for this function to free.
            if address in run.shared.get("reserved", ()) and not run.memory.buffers.release(address):
                run.report(op, "run.undefined", f"there is nothing to free at {run.memory.describe(address)}")
        return _tokens(op, [])

    return step


@compiled_by(
    "gpu.wait", "gpu.host_register", "gpu.host_unregister", "gpu.set_default_device", "memref.global", host=True
)
def nothing(op: Operation, compiling: Compiling) -> Step:
    """Everything has happened already."""
    return lambda run, values: _tokens(op, [])


@compiled_by("gpu.memcpy", host=True)
def copy(op: Operation, compiling: Compiling) -> Step:
    """`gpu.memcpy` of all elements."""
    dtype = element(str(_memref(op, op.operands[-2].type).element_type)).dtype

    def step(run: Run, values: list[Any]) -> list[Any]:
        target, source = _places(op, values[-2]), _places(op, values[-1])
        if target.shape != source.shape:
            fail(op, f"{source.size} elements to {target.size}", "run.undefined")
        run.memory.write(run, op, target, None, run.memory.read(run, op, source, None, dtype))
        return _tokens(op, [])

    return step


@compiled_by("gpu.memset", host=True)
def fill(op: Operation, compiling: Compiling) -> Step:
    """`gpu.memset` with one value."""
    dtype = element(str(_memref(op, op.operands[-2].type).element_type)).dtype

    def step(run: Run, values: list[Any]) -> list[Any]:
        places = _places(op, values[-2])
        value: Array = values[-1]
        run.memory.write(run, op, places, None, np.broadcast_to(value.reshape(-1)[0].astype(dtype), places.shape))
        return _tokens(op, [])

    return step


def _places(op: Operation, view: View) -> Array:
    """The addresses of all elements of a memref, in row-major order: [1, 1, 1, elements]."""
    sizes = [uniform(op, np.asarray(size), "a size") for size in view.sizes]
    strides = [uniform(op, np.asarray(stride), "a stride") for stride in view.strides]
    if prod(sizes) * 8 > MOST_GEMM_BYTES:
        fail(op, f"{prod(sizes)} elements are too many to be copied")
    places = np.zeros((), np.int64)
    for size, stride in zip(sizes, strides, strict=True):
        places = places[..., None] + np.arange(size) * stride
    offset = int(np.asarray(view.base).reshape(-1)[0]) + uniform(op, np.asarray(view.offset), "the offset") * view.size
    return (offset + places.reshape(-1) * view.size).reshape(1, 1, 1, -1)


@compiled_by("gpu.launch_func", host=True)
def launch(op: Operation, compiling: Compiling) -> Step:
    """`gpu.launch_func`: the kernel runs on the whole grid."""
    kernel = property_of(op, "kernel")
    if not isinstance(kernel, SymbolRefAttr):
        fail(op, "which kernel?")
    name = "::".join((kernel.root_reference.data, *(nested.data for nested in kernel.nested_references.data)))
    groups = _segments(op, 12)
    (start, end), cluster = groups[11], groups[7]
    if cluster[0] != cluster[1]:
        fail(op, "clusters of workgroups are not simulated")

    def step(run: Run, values: list[Any]) -> list[Any]:
        device: Device = run.shared["device"]
        sizes = [uniform(op, values[groups[part][0]], "a size") for part in range(1, 7)]
        device.launch(run, name, (sizes[0], sizes[1], sizes[2]), (sizes[3], sizes[4], sizes[5]), values[start:end])
        return _tokens(op, [])

    return step


@compiled_by("gpu.module", "gpu.binary", host=True)
def module(op: Operation, compiling: Compiling) -> Step:
    """Kernels run where they are launched."""
    return lambda run, values: ()
