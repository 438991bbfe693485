"""What a function is called with: arrays, numbers and addresses, as values that every work-item has.

>>> from layoutalg.ir import read_module
>>> text = "gpu.module @k { gpu.func @f(%n: i32, %x: f32) kernel { gpu.return } }"
>>> [function] = read_module(text).body.block.first_op.body.ops
>>> [value.tolist() for value in values_of(function, [7, 0.5])]
[[[[7]]], [[[0.5]]]]
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from math import inf
from operator import index
from typing import Any, TypeGuard

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, IndexType, IntegerType, MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.hints import isa

from layoutalg.core.messages import shown
from layoutalg.simulate.machine import Array, fail
from layoutalg.simulate.memory import Memory
from layoutalg.simulate.memory.views import View, static_view
from layoutalg.simulate.values.elements import element

__all__ = ["bound", "float_of", "values_of"]


def bound(function: Operation, arguments: Sequence[Any], memory: Memory, results: Container[int] = ()) -> list[Any]:
    """The arguments with arrays in memory: as addresses where the function takes integers, as memrefs where it takes those.

    `results` are the numbers of arrays whose contents must not be read before they are written.

    Raises:
        SimulationError: there are more or fewer than the function takes, or an array is not what its memref says.

    >>> from layoutalg.ir import read_module
    >>> text = "gpu.module @k { gpu.func @f(%a: memref<2x?xf32>, %b: i64) kernel { gpu.return } }"
    >>> [function] = read_module(text).body.block.first_op.body.ops
    >>> view, address = bound(function, [np.zeros((2, 8), np.float32), np.zeros(4, np.float32)], Memory())
    >>> view.strides, hex(address)
    ((8, 1), '0x20000000000')
    """
    entry = _entry(function, arguments)
    given: list[Any] = []
    taken = entry.args[: len(arguments)]  # after them come the buffers that the kernel declares
    for number, (value, argument) in enumerate(zip(taken, arguments, strict=True)):
        name = value.name_hint or f"argument {number}"
        if _is_array(argument):
            given.append(_placed(function, value, name, argument, memory, number not in results))
        else:
            given.append(argument)
    return given


def _is_array(value: object) -> TypeGuard[Array]:
    return isinstance(value, np.ndarray)


def _placed(function: Operation, value: SSAValue, name: str, array: Array, memory: Memory, initialised: bool) -> Any:
    kind: Attribute = value.type
    if not isa(kind, MemRefType[Attribute]):
        if not isa(kind, IntegerType) and kind.name not in ("llvm.ptr", "index"):
            fail(function, f"argument {name} is {kind}, which takes no array")
        return memory.bind(name, array, initialised=initialised)
    dtype = element(str(kind.element_type)).dtype
    sizes, strides, offset = static_view(kind)
    fits = array.ndim == len(sizes) and all(
        size in (DYNAMIC_INDEX, extent) for size, extent in zip(sizes, array.shape, strict=True)
    )
    alike = array.dtype.kind == dtype.kind or (dtype.kind, array.dtype.kind) in (("i", "u"), ("i", "b"))
    if not fits or not alike or array.dtype.itemsize != dtype.itemsize:
        shape = "x".join(map(str, array.shape))
        fail(function, f"argument {name} is {kind}, and the array is {shape} of {array.dtype}")
    own = tuple(step // array.itemsize for step in array.strides)
    pairs = zip(strides, own, array.shape, strict=True)
    if offset not in (0, DYNAMIC_INDEX) or any(said not in (DYNAMIC_INDEX, found) for said, found, n in pairs if n > 1):
        fail(function, f"argument {name} is {kind}, and the array has strides {list(own)}")
    address = memory.bind(name, array, initialised=initialised)
    return View.row_major(np.full((1, 1, 1), address, np.int64), array.shape, array.itemsize)


def values_of(function: Operation, arguments: Sequence[Any]) -> list[Any]:
    """The arguments as values: numbers as arrays of one element, of their type.

    Raises:
        SimulationError: there are more or fewer than the function takes, or one is not of its type.

    >>> from layoutalg.ir import read_module
    >>> [function] = read_module("gpu.module @k { gpu.func @f(%n: i8) kernel { gpu.return } }").body.block.first_op.body.ops
    >>> values_of(function, [200])[0].tolist()
    [[[-56]]]
    """
    entry = _entry(function, arguments)
    for value in entry.args[: len(arguments)]:
        kind: Attribute = value.type
        known = isa(kind, IntegerType) and kind.bitwidth
        if not known and not isa(kind, IndexType | AnyFloat | MemRefType[Attribute]) and kind.name != "llvm.ptr":
            fail(function, f"an argument of type {kind} is not simulated; memrefs, numbers and addresses (i64) are")
    return [
        _value(function, number, value.type, argument)
        for number, (value, argument) in enumerate(zip(entry.args, arguments, strict=False))
    ]


def _at_address(function: Operation, number: int, kind: MemRefType[Attribute], argument: Any) -> View:
    """A memref of an address, where the type says all sizes and strides."""
    sizes, strides, offset = static_view(kind)
    if DYNAMIC_INDEX in (*sizes, *strides, offset):
        fail(function, f"argument {number} is {kind}; an array is needed, whose sizes are known")
    try:
        address = index(argument)
    except TypeError:
        fail(function, f"argument {number} is {shown(argument)}; an array or an address is needed for {kind}")
    if not 0 <= address < 1 << 63:
        fail(function, f"argument {number} is {shown(address)}; an address has 63 bits")
    itemsize = element(str(kind.element_type)).dtype.itemsize
    return View(np.full((1, 1, 1), address, np.int64), offset, sizes, strides, itemsize)


def _entry(function: Operation, arguments: Sequence[Any]) -> Block:
    entry = function.regions[0].blocks[0]
    written: Any = function.properties.get("function_type")
    count = len(entry.args) if written is None else len(written.inputs.data)
    if count != len(arguments):
        fail(function, f"it takes {count} arguments, and was given {len(arguments)}")
    return entry


def float_of(number: Any) -> float:
    """A number as a float; one beyond all floats is infinite, as in every type of fewer bits.

    >>> float_of(0.5), float_of(-(10**400))
    (0.5, -inf)
    """
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf


def _value(function: Operation, number: int, kind: Attribute, argument: Any) -> Any:
    if isinstance(argument, View):
        return argument
    if isa(kind, MemRefType[Attribute]):
        return _at_address(function, number, kind, argument)
    held = element("i64" if kind.name == "llvm.ptr" else str(kind))
    if _is_array(argument) and argument.ndim == 3:  # of one number, or of one for each workgroup
        return argument.astype(held.dtype)
    if held.is_float:
        if not isinstance(argument, (int, float, np.floating, np.integer)):
            fail(function, f"argument {number} is {shown(argument)}; a number is needed for {kind}")
        with np.errstate(all="ignore"):
            return np.full((1, 1, 1), float_of(argument), np.float64).astype(held.dtype)
    try:
        whole = index(argument)
    except TypeError:
        fail(function, f"argument {number} is {shown(argument)}; an integer is needed for {kind}")
    if not held.smallest <= whole < 1 << held.bits:
        fail(function, f"argument {number} does not fit into {kind}")
    signed = whole - (1 << held.bits) if whole >= 1 << (held.bits - 1) else whole
    return np.full((1, 1, 1), signed, np.int64).astype(held.dtype)
