"""Memrefs: what they are (sizes, strides, windows), where they come from, and loads and stores of single elements.

A `memref.global` or `memref.alloc` in address space 3 is shared local memory of each workgroup, `memref.alloca` private
memory of each work-item. Neither holds anything until it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, DenseIntOrFPElementsAttr, MemRefType, SymbolRefAttr
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

from layoutalg.core.limits import MOST_PRIVATE_BYTES
from layoutalg.ir.assembly import property_of, static_numbers
from layoutalg.simulate.compiling import Compiling, Step, compiled_by
from layoutalg.simulate.machine import Array, Run, fail, uniform
from layoutalg.simulate.memory.atomics import KINDS
from layoutalg.simulate.memory.views import View, dtype_of, kept_as, memory_space, static_view

__all__ = ["check_window", "declaration_of", "memref_type"]

_NOWHERE = np.zeros((1, 1, 1), np.int64)


def memref_type(op: Operation, kind: Attribute) -> MemRefType[Attribute]:
    """The type, if it is a memref.

    >>> from xdsl.dialects.builtin import f32
    >>> from xdsl.dialects.test import TestOp
    >>> print(memref_type(TestOp(), MemRefType(f32, [4])))
    memref<4xf32>
    """
    if not isa(kind, MemRefType[Attribute]):
        fail(op, f"{kind} is not simulated; a memref is")
    return kind


def check_window(run: Run, op: Operation, inside: Array, view: View, indices: Sequence[Array]) -> Array | None:
    """Report the first index that is outside a memref; the mask of those inside, None where all are.

    >>> from xdsl.dialects.test import TestOp
    >>> from layoutalg.simulate.machine import Machine
    >>> run = Run(Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1), None)
    >>> view, five = View.row_major(np.full((1, 1, 1), 64), (4,)), np.full((1, 1, 1), 5)
    >>> check_window(run, TestOp(), view.inside([five]), view, [five]), run.findings[0].message
    (array([[[False]]]), 'element [5] of a memref of 4 elements')
    """
    if inside.all():
        return None
    wrong = run.where(~inside) if inside.ndim >= 3 else ~inside
    if wrong.any():
        at = tuple(int(n) for n in np.argwhere(wrong)[0])
        found = [int(np.broadcast_to(index, wrong.shape)[at]) for index in indices]
        sizes = [int(np.broadcast_to(size, wrong.shape)[at]) for size in view.sizes]
        run.report(
            op, "run.out_of_bounds", f"element {found} of a memref of {'x'.join(map(str, sizes)) or 'one'} elements"
        )
    return inside


def _listed(op: Operation, numbers: Attribute | None) -> tuple[int, Callable[[list[Any]], list[Any]]]:
    """A list with known numbers and values between them: how many values, and a function that puts them in."""
    known = tuple(static_numbers(numbers)) if isa(numbers, DenseArrayBase) else ()

    def filled(values: list[Any]) -> list[Any]:
        given = iter(values)
        return [next(given) if number == DYNAMIC_INDEX else number for number in known]

    return sum(number == DYNAMIC_INDEX for number in known), filled


# Where memrefs come from


_GLOBALS = ("memref.global", "llvm.mlir.global")


@compiled_by(*_GLOBALS)
def declare_global(op: Operation, compiling: Compiling) -> Step:
    """Nothing happens where a global is declared."""
    return lambda run, values: ()


@compiled_by("memref.get_global")
def get_global(op: Operation, compiling: Compiling) -> Step:
    """`memref.get_global`: shared local memory of the workgroup, or constants."""
    name = property_of(op, "name")
    symbol = name.string_value() if isinstance(name, SymbolRefAttr) else ""
    kind = memref_type(op, op.results[0].type)
    declared = declaration_of(op, symbol)
    if declared is None:
        fail(op, f"there is no memref.global @{symbol}")
    size, sizes = _bytes(op, kind), kind.get_shape()
    space, element = memory_space(kind), dtype_of(kind.element_type).itemsize
    initial = property_of(declared, "initial_value")
    constants: Array | None = None
    if isinstance(initial, DenseIntOrFPElementsAttr):
        dtype = dtype_of(kind.element_type)
        numbers = np.array(initial.get_values(), np.float64 if dtype.kind in "fV" else np.int64).astype(dtype)
        constants = np.broadcast_to(numbers, prod(sizes)).reshape(-1)
    elif space != "shared":
        fail(op, f"@{symbol} is not shared local memory (address space 3) and has no initial value")

    def step(run: Run, values: list[Any]) -> tuple[View]:
        if constants is not None and space != "shared":
            address = run.memory.constant(declared, constants, symbol)
        else:
            address = run.memory.share(run, op, declared, size, symbol, constants)
        return (View.row_major(_NOWHERE + address, sizes, element),)

    return step


def declaration_of(op: Operation, name: str) -> Operation | None:
    """The declaration of a global, from the operation outwards."""
    around = op.parent_op()
    while around is not None:
        for region in around.regions:
            for block in region.blocks:
                for candidate in block.ops:
                    if candidate.name in _GLOBALS and str(property_of(candidate, "sym_name")) == f'"{name}"':
                        return candidate
        around = around.parent_op()
    return None


def _bytes(op: Operation, kind: MemRefType[Attribute]) -> int:
    sizes = kind.get_shape()
    if DYNAMIC_INDEX in sizes:
        fail(op, f"{kind}: memory of a size that is not known is not simulated")
    size = prod(sizes) * dtype_of(kind.element_type).itemsize
    if size > MOST_PRIVATE_BYTES:
        fail(op, f"{kind} takes {size} bytes; at most {MOST_PRIVATE_BYTES} are simulated")
    return size


@compiled_by("memref.alloc", "memref.alloca")
def allocate(op: Operation, compiling: Compiling) -> Step:
    """`memref.alloc` and `memref.alloca`: shared memory in address space 3, private memory otherwise."""
    kind = memref_type(op, op.results[0].type)
    if op.operands:
        fail(op, "memory of a size that is not known is not simulated")
    size, sizes, element = _bytes(op, kind), kind.get_shape(), dtype_of(kind.element_type).itemsize
    shared = memory_space(kind) == "shared"
    name = op.results[0].name_hint or "alloca"

    def step(run: Run, values: list[Any]) -> tuple[View]:
        give = run.memory.share if shared else run.memory.allocate
        return (View.row_major(_NOWHERE + give(run, op, op, size, name), sizes, element),)

    return step


@compiled_by("gpu.dynamic_shared_memory")
def dynamic_shared_memory(op: Operation, compiling: Compiling) -> Step:
    """`gpu.dynamic_shared_memory`: all the shared memory that the chip gives a workgroup, less what is allocated."""
    return lambda run, values: (View.row_major(_NOWHERE + (at := run.memory.share_rest(run, op))[0], (at[1],), 1),)


@compiled_by("memref.dealloc", "gpu.dealloc", "memref.assume_alignment")
def release(op: Operation, compiling: Compiling) -> Step:
    """Memory is kept until the launch ends; `memref.assume_alignment` promises something."""
    return lambda run, values: tuple(values[: len(op.results)])


@compiled_by("memref.prefetch")
def prefetch(op: Operation, compiling: Compiling) -> Step:
    """`memref.prefetch`: nothing moves. An index outside is harmless where the operation becomes an instruction of a CPU."""
    memref_type(op, op.operands[0].type)
    return lambda run, values: ()


# What becomes of them


@compiled_by("memref.cast", "memref.memory_space_cast")
def cast(op: Operation, compiling: Compiling) -> Step:
    """`memref.cast`: the same memory, another type; sizes and strides that the new type says must be right."""
    sizes, strides, offset = static_view(memref_type(op, op.results[0].type))

    def step(run: Run, values: list[Any]) -> tuple[View]:
        view: View = values[0]
        for what, said, found in (("size", sizes, view.sizes), ("stride", strides, view.strides)):
            for number, value in zip(said, found, strict=True):
                if number != DYNAMIC_INDEX and not np.all(np.asarray(value) == number):
                    fail(op, f"a {what} of {int(np.asarray(value).reshape(-1)[0])} becomes {number}", "run.undefined")
        if offset != DYNAMIC_INDEX and not np.all(np.asarray(view.offset) == offset):
            fail(op, f"an offset of {int(np.asarray(view.offset).reshape(-1)[0])} becomes {offset}", "run.undefined")
        return (view,)

    return step


def _window(op: Operation) -> Callable[[list[Any]], Iterator[list[Any]]]:
    """A function from the operands to the offsets, sizes and strides, those that are attributes filled in."""
    counts, parts = zip(
        *(_listed(op, property_of(op, name)) for name in ("static_offsets", "static_sizes", "static_strides")),
        strict=True,
    )
    ends = np.cumsum([1, *counts]).tolist()
    return lambda values: (fill(values[start:end]) for fill, start, end in zip(parts, ends, ends[1:], strict=False))


@compiled_by("memref.subview")
def subview(op: Operation, compiling: Compiling) -> Step:
    """`memref.subview`: a window; dimensions of extent 1 that the type does not have are dropped."""
    window = _window(op)
    kind = memref_type(op, op.results[0].type)
    known = static_numbers(_sizes_of(op))
    kept = _kept_dimensions(op, known, kind.get_shape())

    def step(run: Run, values: list[Any]) -> tuple[View]:
        view: View = values[0]
        offsets, sizes, steps = window(values)
        last = [offset + (size - 1) * by for offset, size, by in zip(offsets, sizes, steps, strict=True)]
        first = [np.asarray(offset) for offset in offsets]
        inside = np.asarray(view.inside(first) & view.inside([np.asarray(end) for end in last]))
        check_window(run, op, np.broadcast_to(inside, np.broadcast_shapes(inside.shape, (1, 1, 1))), view, last)
        strides = tuple(stride * by for stride, by in zip(view.strides, steps, strict=True))
        made = replace(
            view,
            offset=view.linear(first),
            sizes=tuple(sizes[d] for d in kept),
            strides=tuple(strides[d] for d in kept),
        )
        return (made,)

    return step


def _sizes_of(op: Operation) -> DenseArrayBase[Any]:
    sizes = property_of(op, "static_sizes")
    if not isa(sizes, DenseArrayBase):
        fail(op, "static_sizes is missing")
    return sizes


def _kept_dimensions(op: Operation, sizes: Sequence[int], shape: Sequence[int]) -> list[int]:
    kept: list[int] = []
    for dimension, size in enumerate(sizes):
        missing = len(shape) - len(kept)
        if missing and size == shape[len(kept)] and (size != 1 or len(sizes) - dimension >= missing):
            kept.append(dimension)
    if len(kept) != len(shape):
        fail(op, f"sizes {list(sizes)} do not reduce to {list(shape)}")
    return kept


@compiled_by("memref.reinterpret_cast")
def reinterpret_cast(op: Operation, compiling: Compiling) -> Step:
    """`memref.reinterpret_cast`: another offset, other sizes and strides from the same base."""
    window = _window(op)

    def step(run: Run, values: list[Any]) -> tuple[View]:
        view: View = values[0]
        offsets, sizes, strides = window(values)
        return (replace(view, offset=offsets[0] if offsets else 0, sizes=tuple(sizes), strides=tuple(strides)),)

    return step


@compiled_by("memref.view")
def view_bytes(op: Operation, compiling: Compiling) -> Step:
    """`memref.view`: bytes from a place on, as elements."""
    kind = memref_type(op, op.results[0].type)
    size, shape = dtype_of(kind.element_type).itemsize, kind.get_shape()

    def step(run: Run, values: list[Any]) -> tuple[View]:
        source, shift, given = values[0], values[1], iter(values[2:])
        sizes = [next(given) if extent == DYNAMIC_INDEX else extent for extent in shape]
        end: Any = shift + prod(sizes) * size - 1
        check_window(run, op, source.inside([shift]) & source.inside([end]), source, [end])
        return (View.row_major(source.base + source.linear([shift]) * source.size, sizes, size),)

    return step


@compiled_by("memref.collapse_shape", "memref.expand_shape")
def reshape(op: Operation, compiling: Compiling) -> Step:
    """Other dimensions for the same elements, which lie next to each other."""
    kind = memref_type(op, op.results[0].type)
    sizes = kind.get_shape()
    if DYNAMIC_INDEX in sizes:
        fail(op, "sizes that are not known are not simulated here")

    def step(run: Run, values: list[Any]) -> tuple[View]:
        view: View = values[0]
        plain = View.row_major(view.base, view.sizes).strides
        if any(not np.all(np.asarray(a == b)) for a, b in zip(view.strides, plain, strict=True)):
            fail(op, "this is simulated for elements that lie next to each other")
        made = View.row_major(view.base, sizes, view.size)
        return (replace(made, offset=view.offset),)

    return step


@compiled_by("memref.extract_strided_metadata")
def metadata(op: Operation, compiling: Compiling) -> Step:
    """`memref.extract_strided_metadata`: the base as a memref of no dimension, and the numbers."""

    def step(run: Run, values: list[Any]) -> list[Any]:
        view: View = values[0]
        base = replace(view, offset=0, sizes=(), strides=())
        return [base, *(np.asarray(n) + _NOWHERE for n in (view.offset, *view.sizes, *view.strides))]

    return step


@compiled_by("memref.extract_aligned_pointer_as_index")
def pointer(op: Operation, compiling: Compiling) -> Step:
    """`memref.extract_aligned_pointer_as_index`: the address of the base, without the offset."""
    return lambda run, values: (values[0].base,)


@compiled_by("memref.dim")
def dim(op: Operation, compiling: Compiling) -> Step:
    """`memref.dim`: one of the sizes."""

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        number = uniform(op, values[1], "the dimension", run.active)
        if not 0 <= number < len(values[0].sizes):
            fail(op, f"dimension {number} of {len(values[0].sizes)}", "run.undefined")
        return (np.asarray(values[0].sizes[number]) + _NOWHERE,)

    return step


@compiled_by("memref.rank")
def rank(op: Operation, compiling: Compiling) -> Step:
    """`memref.rank`: how many dimensions."""
    return lambda run, values: (_NOWHERE + len(values[0].sizes),)


# Accesses


@compiled_by("memref.load")
def load(op: Operation, compiling: Compiling) -> Step:
    """`memref.load`: one element."""
    dtype = dtype_of(memref_type(op, op.operands[0].type).element_type)

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        view, indices = values[0], values[1:]
        places, inside = view.elements(indices)
        mask = check_window(run, op, inside, view, indices)
        return (run.memory.read(run, op, places, mask, dtype),)

    return step


@compiled_by("memref.store")
def store(op: Operation, compiling: Compiling) -> Step:
    """`memref.store`: one element."""
    dtype = dtype_of(memref_type(op, op.operands[1].type).element_type)

    def step(run: Run, values: list[Any]) -> tuple[()]:
        value, view, indices = values[0], values[1], values[2:]
        places, inside = view.elements(indices)
        mask = check_window(run, op, inside, view, indices)
        run.memory.write(run, op, places, mask, kept_as(value, dtype))
        return ()

    return step


@compiled_by("memref.atomic_rmw")
def atomic(op: Operation, compiling: Compiling) -> Step:
    """`memref.atomic_rmw`: read, combine, write; gives what was there."""
    dtype = dtype_of(memref_type(op, op.operands[1].type).element_type)
    kind = kind_of(op)

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        value, view, indices = values[0], values[1], values[2:]
        places, inside = view.elements(indices)
        mask = check_window(run, op, inside, view, indices)
        return (run.memory.atomic(run, op, places, mask, kept_as(value, dtype), kind),)

    return step


def kind_of(op: Operation) -> str:
    """The name of an atomic operation's kind.

    >>> from xdsl.dialects.builtin import IntegerAttr
    >>> from xdsl.dialects.test import TestOp
    >>> kind_of(TestOp(properties={"kind": IntegerAttr(6, 64)}))
    'maxs'
    """
    number: Any = property_of(op, "kind")
    value = number.value.data if hasattr(number, "value") else -1
    if not 0 <= value < len(KINDS):
        fail(op, f"kind = {number}: expected 0 to {len(KINDS) - 1}")
    return tuple(KINDS)[value]


@compiled_by("memref.copy")
def copy(op: Operation, compiling: Compiling) -> Step:
    """`memref.copy`: all elements, by every work-item that executes it."""
    kind = memref_type(op, op.operands[0].type)
    dtype = dtype_of(kind.element_type)

    def step(run: Run, values: list[Any]) -> tuple[()]:
        source, target = values
        sizes = [uniform(op, np.asarray(size) + _NOWHERE, "a size", run.active) for size in source.sizes]
        if prod(sizes) * prod(run.machine.items) > MOST_PRIVATE_BYTES:
            fail(op, f"a copy of {prod(sizes)} elements by every work-item is not simulated")
        grid = np.indices(sizes).reshape(len(sizes), 1, 1, 1, *sizes)
        read, from_inside = source.spread(len(sizes)).elements(list(grid))
        write, to_inside = target.spread(len(sizes)).elements(list(grid))
        check_window(run, op, to_inside, target.spread(len(sizes)), list(grid))
        held = run.memory.read(run, op, read, from_inside, dtype)
        run.memory.write(run, op, write, to_inside, held)
        return ()

    return step
