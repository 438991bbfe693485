"""LLVM's pointers, loads, stores and atomic operations beside the other dialects: an address is a number of 64 bits."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, SymbolRefAttr
from xdsl.dialects.llvm import LLVMArrayType
from xdsl.ir import Attribute, Operation

from layoutalg.ir.assembly import property_of, static_numbers
from layoutalg.ir.dialects.llvm import COMBINATIONS, AtomicRmwOp
from layoutalg.simulate.compiling import Compiling, Step, compiled_by, value_shape
from layoutalg.simulate.machine import Array, Run, fail
from layoutalg.simulate.memory.races import Order
from layoutalg.simulate.memory.views import dtype_of, kept_as
from layoutalg.simulate.numerics import signed_bits, wrap
from layoutalg.simulate.operations.memref import declaration_of

__all__: list[str] = []

_DYNAMIC = -(1 << 31)
"""The number in `rawConstantIndices` that stands for an operand."""


def _bytes(op: Operation, kind: Attribute) -> int:
    if isinstance(kind, LLVMArrayType):
        return kind.size.data * _bytes(op, kind.type)
    shape = value_shape(kind)
    return dtype_of(kind).itemsize * prod(shape)


@compiled_by("llvm.inttoptr", "llvm.ptrtoint", "llvm.addrspacecast")
def pointer(op: Operation, compiling: Compiling) -> Step:
    """A pointer is a number; to shared memory one of 32 bits may be made, which counts from where that memory begins."""
    source, kind = op.operands[0].type, op.results[0].type
    bits = signed_bits(kind)
    if str(source) == "i32" and str(kind) == "!llvm.ptr<3>":
        return lambda run, values: (np.asarray(values[0], np.int64) + run.memory.beginning_of_shared(run, op),)
    return lambda run, values: (wrap(values[0], bits) if bits < 64 else values[0],)


@compiled_by("llvm.mlir.addressof")
def addressof(op: Operation, compiling: Compiling) -> Step:
    """`llvm.mlir.addressof`: the address of a global in shared local memory."""
    name = property_of(op, "global_name")
    symbol = name.string_value() if isinstance(name, SymbolRefAttr) else ""
    declared = declaration_of(op, symbol)
    kind = None if declared is None else property_of(declared, "global_type")
    if declared is None or kind is None:
        fail(op, f"there is no llvm.mlir.global @{symbol}")
    if str(op.results[0].type) != "!llvm.ptr<3>":
        fail(op, f"@{symbol} is not shared local memory (address space 3)")
    size = _bytes(op, kind)
    return lambda run, values: (np.full((1, 1, 1), run.memory.share(run, op, declared, size, symbol), np.int64),)


@compiled_by("llvm.getelementptr")
def getelementptr(op: Any, compiling: Compiling) -> Step:
    """`llvm.getelementptr`: indices into elements of a type, and into arrays of them."""
    kind: Any = property_of(op, "elem_type")
    numbers: Any = property_of(op, "rawConstantIndices")
    if kind is None or not isinstance(numbers, DenseArrayBase):
        fail(op, "elem_type and rawConstantIndices are needed")
    known: list[int] = list(static_numbers(numbers))  # pyright: ignore[reportUnknownArgumentType]
    sizes: list[int] = []
    for _ in known:
        sizes.append(_bytes(op, kind))
        kind = kind.type if isinstance(kind, LLVMArrayType) else kind
    if len(known) > 1 and not isinstance(op.properties.get("elem_type"), LLVMArrayType):
        fail(op, "an index into this type is not simulated; into arrays and elements is")

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        total, given = values[0], iter(values[1:])
        for number, size in zip(known, sizes, strict=True):
            total = total + (next(given) if number == _DYNAMIC else number) * size
        return (np.asarray(total),)

    return step


def _neighbours(kind: Attribute) -> tuple[np.dtype[Any], Callable[[Array], Array]]:
    """The type of an element, and where the elements of such a value are, from the address of the first one."""
    dtype, shape = dtype_of(kind), value_shape(kind)
    steps = np.arange(prod(shape)).reshape(shape) * dtype.itemsize
    return dtype, lambda first: first.reshape(*first.shape, *(1,) * len(shape)) + steps


@compiled_by("llvm.load")
def load(op: Any, compiling: Compiling) -> Step:
    """`llvm.load`: an element, or a vector of neighbours."""
    dtype, addresses = _neighbours(op.results[0].type)
    return lambda run, values: (run.memory.read(run, op, addresses(values[0]), None, dtype),)


@compiled_by("llvm.store")
def store(op: Any, compiling: Compiling) -> Step:
    """`llvm.store`: an element, or a vector of neighbours."""
    dtype, addresses = _neighbours(op.operands[0].type)

    def step(run: Run, values: list[Any]) -> tuple[()]:
        run.memory.write(run, op, addresses(values[1]), None, kept_as(values[0], dtype))
        return ()

    return step


_KINDS = {
    "xchg": "assign", "add": "addi", "_and": "andi", "_or": "ori", "_xor": "xori", "max": "maxs", "min": "mins",
    "umax": "maxu", "umin": "minu", "fadd": "addf", "fmax": "maxnumf", "fmin": "minnumf",
}  # fmt: skip
"""LLVM's atomic operations by the names of arith's."""
_ORDERS = {2: (False, False), 4: (True, False), 5: (False, True), 6: (True, True), 7: (True, True)}
"""Whether an ordering, by its number, acquires and releases."""
_DEVICE = ("", "device", "all_svm_devices")
"""Scopes (SPIR-V's names) that reach every workgroup of a launch; without one it is the whole system."""


@compiled_by(AtomicRmwOp)
def atomicrmw(op: AtomicRmwOp, compiling: Compiling) -> Step:
    """`llvm.atomicrmw`: read, combine, write; gives what was there. At the scope of the device it orders workgroups."""
    number = op.bin_op.value.data
    word = COMBINATIONS[number] if 0 <= number < len(COMBINATIONS) else str(number)
    if word not in _KINDS:
        fail(op, f"{word} is not simulated; {', '.join(_KINDS)} are")
    if value_shape(op.val.type):
        fail(op, f"a vector, {op.val.type}, is not simulated; a number is")
    if op.ordering.value.data not in _ORDERS:
        fail(op, "an ordering is needed: monotonic, acquire, release, acq_rel or seq_cst")
    kind, dtype = _KINDS[word], dtype_of(op.val.type)
    scope = "" if op.syncscope is None else op.syncscope.data
    acquire, release = _ORDERS[op.ordering.value.data]
    reaches = scope in _DEVICE
    order = Order(acquire=acquire and reaches, release=release and reaches)

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        return (run.memory.atomic(run, op, values[0], None, kept_as(values[1], dtype), kind, order),)

    return step
