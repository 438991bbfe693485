"""LLVM's rules of XeGPU's scattered operations: masks, offsets, chunks and hints, in the order of its verifiers.

    %v = xegpu.load %p[%offsets], %mask : i64, vector<16xindex>, vector<8xi1> -> vector<16xf32>

is refused with "Mask should match value except the chunk size dim.": every value has its own bit of the mask.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import IntegerAttr, IntegerType

from layoutalg.ir.dialects.xegpu.attributes import TensorDescType
from layoutalg.ir.verify.constraints import in_shared_memory, memory_space
from layoutalg.ir.verify.layouts import undistributed
from layoutalg.ir.verify.registry import rule, same
from layoutalg.ir.verify.shapes import count_of, element_of, is_memref, is_vector, rank_of, shape_of, written
from layoutalg.ir.verify.signatures import Subject
from layoutalg.ir.verify.types import layout_value
from layoutalg.ir.verify.xegpu_block import is_scattered, read_hints, write_hints

__all__ = ["chunk_of"]

_MASK = "Mask should match value except the chunk size dim."
_SAME_AS_MASK = "Value shape must match mask shape."


def chunk_of(descriptor: Any) -> int:
    """How many elements lie at each point of a scattered descriptor.

    >>> from xdsl.dialects.builtin import f16
    >>> chunk_of(TensorDescType.of([8, 16], f16))
    1
    """
    return layout_value(descriptor.encoding).chunk_size if is_scattered(descriptor) else 1


def _memory(subject: Subject) -> Any:
    return subject.type("dest" if subject.name == "xegpu.store" else "source")


same("xegpu.update_offset.type", "type", "TensorDesc, result", "xegpu.update_offset")
same("xegpu.atomic_rmw.shape", "shape", "tensorDesc, value, result", "xegpu.atomic_rmw")
same("xegpu.atomic_rmw.element_type", "element type", "tensorDesc, value, result", "xegpu.atomic_rmw")


@rule("xegpu.create_tdesc", "xegpu.create_tdesc")
def _create(subject: Subject) -> str | None:
    source, descriptor = subject.type("source"), subject.type("tensor_desc")
    if not is_scattered(descriptor):
        return "Expects a scattered TensorDesc."
    found = 0
    if is_memref(source):
        found = 3 if in_shared_memory(source) else memory_space(source)
    wanted = 3 if layout_value(descriptor.encoding).memory_space == "slm" else 0
    if found != wanted:
        return f"Memory space mismatch. Source: {found}, TensorDesc: {wanted}"
    chunk = chunk_of(descriptor)
    expected = (*shape_of(subject.type("offsets")), *((chunk,) if chunk != 1 else ()))
    return None if shape_of(descriptor) == expected else f"Incorrect TensorDesc shape. Expected is {written(expected)}"


@rule("xegpu.update_offset", "xegpu.update_offset")
def _update(subject: Subject) -> str | None:
    descriptor = subject.type("tensor_desc")
    if not is_scattered(descriptor):
        return "Expects a scattered TensorDesc."
    expected = shape_of(descriptor)
    if chunk_of(descriptor) > 1:
        expected = expected[:-1]
    if expected != shape_of(subject.type("offsets")):
        return "Offsets should match TensorDesc except the chunk size dim."
    return None


@rule("xegpu.scatter.source", "xegpu.prefetch", "xegpu.load", "xegpu.store", until=22)
def _source(subject: Subject) -> str | None:
    memory = _memory(subject)
    described = isinstance(memory, TensorDescType)
    if described and not is_scattered(memory):
        return "Expects a scattered TensorDesc."
    if described and subject.values("offsets"):
        return "offsets not allowed."
    if not described and not subject.values("offsets"):
        return "Expects offsets."
    return None


rule("xegpu.cache_hint.read", "xegpu.prefetch", "xegpu.load")(read_hints)
rule("xegpu.cache_hint.write", "xegpu.store")(write_hints)


@rule("xegpu.prefetch.alignment", "xegpu.prefetch")
def _alignment(subject: Subject) -> str | None:
    pointer = isinstance(_memory(subject), IntegerType)
    given = subject.attribute("offset_align_byte") is not None
    if pointer and not given:
        return "offset_align_byte is required with integer source."
    if given and not pointer:
        return "offset_align_byte only allowed with integer source."
    return None


@rule("xegpu.prefetch.layout", "xegpu.prefetch", since=23)
def _prefetch_layout(subject: Subject) -> tuple[str, ...] | None:
    layout, offsets = subject.attribute("layout"), subject.type("offsets")
    if layout is None or not is_vector(offsets):
        return None
    return undistributed("offset shape is not distributable with the layout", layout, shape_of(offsets), subject.llvm)


@rule("xegpu.scatter.descriptor", "xegpu.load", "xegpu.store", until=22)
def _described(subject: Subject) -> str | None:
    descriptor, value = _memory(subject), subject.type("value")
    if not isinstance(descriptor, TensorDescType):
        return None
    if not is_vector(value):
        return "Expecting a vector type result."
    shape, chunk = shape_of(descriptor), chunk_of(descriptor)
    if element_of(value) != descriptor.element_type:
        return "Value should have the same element type as TensorDesc."
    if shape_of(subject.type("mask")) != (shape[:-1] if chunk > 1 else shape):
        return "Mask should match TensorDesc except the chunk size dim."
    if rank_of(value) == 1 and count_of(value) == chunk:
        if descriptor.layout.name == "xegpu.layout":
            return "TensorDesc doesn't need LayoutAttr for SIMT code"
        return None
    if shape == shape_of(value):
        return None
    return (
        f"Value shape {written(shape_of(value))} is neither a valid distribution for SIMT nor consistent with the tensor "
        f"descriptor for SIMD '{descriptor}'"
    )


@rule("xegpu.scatter.element_type", "xegpu.load", "xegpu.store")
def _element(subject: Subject) -> str | None:
    memory = _memory(subject)
    if is_memref(memory) and element_of(subject.type("value")) != memory.element_type:
        return "Value should have the same element type as MemRef."
    return None


@rule("xegpu.scatter.layout", "xegpu.load", "xegpu.store", since=23)
def _layout(subject: Subject) -> tuple[str, ...] | None:
    layout = subject.attribute("layout")
    if layout is None:
        return None
    shape = shape_of(subject.type("value"))
    return undistributed("Value shape is not distributable with the layout", layout, shape, subject.llvm)


@rule("xegpu.scatter.shapes", "xegpu.load", "xegpu.store")
def _shapes(subject: Subject) -> str | None:
    if isinstance(_memory(subject), TensorDescType):
        return None
    value, mask, offsets = subject.type("value"), subject.type("mask"), subject.type("offsets")
    given = subject.attribute("chunk_size")
    chunk = given.value.data if isinstance(given, IntegerAttr) and subject.llvm < 24 else 1
    if subject.llvm > 23 and shape_of(mask) != shape_of(offsets):
        return "Expecting offsets and mask to have the same shape."
    masked, many = is_vector(mask), is_vector(offsets)
    if not is_vector(value):
        if chunk > 1:
            return "Expecting chunk size == 1 for scalar result"
        return "Expecting scalar mask and offsets." if masked or many else None
    if not masked and not many:
        return None if count_of(value) == chunk else f"value elements must match chunk size {chunk}"
    if not masked:
        return "Expecting a vector type mask."
    if chunk > 1:
        if rank_of(value) == 1 and count_of(value) != chunk:
            return f"value elements must match chunk size {chunk}"
    elif count_of(value) != count_of(mask):
        return _MASK if subject.llvm < 24 else _SAME_AS_MASK
    if count_of(mask) == 1:
        return None
    expected = shape_of(value)[:-1] if chunk > 1 else shape_of(value)
    return None if expected == shape_of(mask) else _MASK if subject.llvm < 24 else _SAME_AS_MASK
