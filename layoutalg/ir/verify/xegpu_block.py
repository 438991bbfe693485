"""LLVM's rules of XeGPU's block operations: descriptors, block loads, stores and prefetches, in the order of its verifiers.

    %t = xegpu.create_nd_tdesc %p, shape: [%m, %n], strides: [%n, 1] : i64 -> !xegpu.tensor_desc<8x16xf16>
    %v = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<8x16xf16> -> vector<8x15xf16>

is refused with "Result shape [8, 15] is not consistent with tensor descriptor".

A value that is 1-D and shorter than the block is the fragment of one lane ("SIMT"): its length must divide the block's, and the
descriptor has no layout. Any other value must have the shape of the block.
"""

from __future__ import annotations

from typing import Any

from layoutalg.ir.dialects.xegpu.attributes import BlockTensorDescAttr, NoneAttr, ScatterTensorDescAttr
from layoutalg.ir.verify.constraints import in_shared_memory, memory_space
from layoutalg.ir.verify.layouts import undistributed
from layoutalg.ir.verify.registry import rule, same
from layoutalg.ir.verify.shapes import count_of, is_memref, list_length, numbers, rank_of, shape_of, written
from layoutalg.ir.verify.signatures import Subject
from layoutalg.ir.verify.types import layout_value

__all__ = ["array_length", "is_scattered", "read_hints", "write_hints"]

_SCATTERED = "Expects a non-scattered TensorDesc."
_ND = ("xegpu.load_nd", "xegpu.store_nd", "xegpu.prefetch_nd")
_RANKS = "Mismatched ranks between offsets and tensor descriptor"


def is_scattered(descriptor: Any) -> bool:
    """Whether a descriptor is one of scattered points.

    >>> from xdsl.dialects.builtin import f16
    >>> from layoutalg.ir.dialects.xegpu.attributes import TensorDescType
    >>> is_scattered(TensorDescType.of([8, 16], f16))
    False
    """
    return isinstance(descriptor.encoding, ScatterTensorDescAttr)


def array_length(descriptor: Any) -> int:
    """How many blocks lie side by side.

    >>> from xdsl.dialects.builtin import f16
    >>> from layoutalg.ir.dialects.xegpu.attributes import TensorDescType
    >>> array_length(TensorDescType.of([8, 16], f16))
    1
    """
    encoding = descriptor.encoding
    return layout_value(encoding).array_length if isinstance(encoding, BlockTensorDescAttr) else 1


def _in_slm(descriptor: Any) -> bool:
    encoding = descriptor.encoding
    return not isinstance(encoding, NoneAttr) and layout_value(encoding).memory_space == "slm"


def _hint_problem(subject: Subject, policies: tuple[str, ...]) -> str | None:
    for level in ("l1_hint", "l2_hint", "l3_hint"):
        hint: Any = subject.attribute(level)
        if hint is not None and hint.data.value not in policies:
            return f"invalid {level}: {hint}"
    return None


same("xegpu.nd.element_type", "element type", "value, TensorDesc", "xegpu.load_nd", "xegpu.store_nd")
same("xegpu.update_nd_offset.type", "type", "TensorDesc, result", "xegpu.update_nd_offset")


@rule("xegpu.create_nd_tdesc.offsets", "xegpu.create_nd_tdesc", since=23)
def _no_offsets(subject: Subject) -> tuple[str, ...] | None:
    if not subject.values("offsets") and not numbers(subject.attribute("const_offsets")):
        return None
    return (
        f"takes no offsets in LLVM {subject.llvm}",
        "write them on load_nd, store_nd and prefetch_nd; `migrate` does that",
    )


@rule("xegpu.create_nd_tdesc.memory_space", "xegpu.create_nd_tdesc")
def _memory_space(subject: Subject) -> str | None:
    source, descriptor = subject.type("source"), subject.type("tensor_desc")
    found = 0
    if is_memref(source):
        found = 3 if in_shared_memory(source) else memory_space(source)
    wanted = 3 if _in_slm(descriptor) else 0
    return None if found == wanted else f"Memory space mismatch. Source: {found}, TensorDesc: {wanted}"


def _sizes(subject: Subject, name: str) -> int | None:
    """How many sizes (or strides) there are: written ones, or the memref's."""
    constants = subject.attribute(f"const_{name}")
    values = subject.values(name)
    source = subject.type("source")
    if not values and constants is None and is_memref(source):
        return source.get_num_dims()
    return list_length(None if constants is None else numbers(constants), values)


@rule("xegpu.create_nd_tdesc.memref_sizes", "xegpu.create_nd_tdesc", since=24)
def _inferred(subject: Subject) -> str | None:
    given = any(subject.attribute(f"const_{name}") is not None or subject.values(name) for name in ("shape", "strides"))
    if is_memref(subject.type("source")) and given:
        return "shape and strides should not be specified for a memref source; they are inferred from the memref."
    return None


@rule("xegpu.create_nd_tdesc.pointer_sizes", "xegpu.create_nd_tdesc")
def _pointer_sizes(subject: Subject) -> str | None:
    if is_memref(subject.type("source")):
        return None
    if not _sizes(subject, "shape") or not _sizes(subject, "strides"):
        return "expecting strides and shape to be present for integer source."
    return None


_SAME_RANK = {
    22: "Expecting the rank of shape, strides, offsets, and source (if source is a memref) should match with each other.",
    23: "Expecting the rank of shape, strides, and source (if source is a memref) should match with each other.",
    24: "Expecting the rank of shape and strides to match.",
}


@rule("xegpu.create_nd_tdesc.ranks", "xegpu.create_nd_tdesc")
def _ranks(subject: Subject) -> str | None:
    rank, strides = _sizes(subject, "shape"), _sizes(subject, "strides")
    constants = subject.attribute("const_offsets")
    offsets = list_length(None if constants is None else numbers(constants), subject.values("offsets"))
    if rank != strides or (offsets and offsets != rank and subject.llvm == 22):
        return _SAME_RANK[subject.llvm]
    listed = "shape, strides, offsets" if subject.llvm == 22 else "shape, strides"
    if rank is not None and rank_of(subject.type("tensor_desc")) > rank:
        return f"Expecting the TensorDesc rank is not greater than the ranks of {listed} or the memref source."
    return None


@rule("xegpu.create_nd_tdesc.element_type", "xegpu.create_nd_tdesc")
def _same_element(subject: Subject) -> str | None:
    source = subject.type("source")
    if is_memref(source) and source.element_type != subject.type("tensor_desc").element_type:
        return "TensorDesc should have the same element type with the source if it is a memref."
    return None


@rule("xegpu.tensor_desc.scattered", "xegpu.create_nd_tdesc", "xegpu.prefetch_nd", "xegpu.load_nd", "xegpu.store_nd")
def _not_scattered(subject: Subject) -> str | None:
    return _SCATTERED if is_scattered(subject.type("tensor_desc")) else None


@rule("xegpu.tensor_desc.rank", "xegpu.load_nd", "xegpu.store_nd", until=22)
def _flat(subject: Subject) -> str | None:
    return "Expects a 1D or 2D TensorDesc." if rank_of(subject.type("tensor_desc")) > 2 else None


@rule("xegpu.cache_hint.read", "xegpu.prefetch_nd", "xegpu.load_nd")
def read_hints(subject: Subject) -> str | None:
    """The first cache hint that a read cannot have, in LLVM's words."""
    return _hint_problem(subject, ("cached", "uncached", "streaming", "read_invalidate"))


@rule("xegpu.cache_hint.write", "xegpu.store_nd")
def write_hints(subject: Subject) -> str | None:
    """The first cache hint that a write cannot have, in LLVM's words."""
    return _hint_problem(subject, ("cached", "uncached", "write_back", "write_through"))


@rule("xegpu.store_nd.array_length", "xegpu.store_nd")
def _no_array(subject: Subject) -> str | None:
    return "array length is not supported by store_nd." if array_length(subject.type("tensor_desc")) > 1 else None


def _is_fragment(subject: Subject) -> bool:
    """Whether the value is what one lane holds: 1-D, and shorter than the block."""
    value, descriptor = subject.type("value"), subject.type("tensor_desc")
    return rank_of(value) == 1 and count_of(value) < count_of(descriptor) * array_length(descriptor)


@rule("xegpu.fragment", "xegpu.load_nd", "xegpu.store_nd")
def _fragment(subject: Subject) -> str | None:
    if not _is_fragment(subject):
        return None
    value, descriptor = subject.type("value"), subject.type("tensor_desc")
    if not isinstance(descriptor.layout, NoneAttr):
        return "TensorDesc doesn't need LayoutAttr for SIMT code"
    if count_of(descriptor) * array_length(descriptor) % count_of(value):
        what = "Result" if subject.name == "xegpu.load_nd" else "Value"
        return (
            f"{what} shape {written(shape_of(value))} is not a valid distribution for tensor descriptor '{descriptor}'"
        )
    return None


@rule("xegpu.load_nd.shape", "xegpu.load_nd")
def _loaded_shape(subject: Subject) -> str | None:
    if _is_fragment(subject):
        return None
    value, descriptor = subject.type("value"), subject.type("tensor_desc")
    expected = list(shape_of(descriptor))
    order = subject.attribute("transpose")
    if order is not None and all(0 <= d < len(expected) for d in numbers(order)):
        expected = [expected[d] for d in numbers(order)[: len(expected)]]
    if subject.attribute("packed") is not None and rank_of(descriptor) == 2:
        factor = shape_of(value)[-1]
        expected = [expected[0] // factor, *expected[1:], factor]
    count = array_length(descriptor)
    accepted = [[count, *expected]] if count > 1 else [expected]
    if count > 1 and subject.llvm > 22:
        accepted.append([count * expected[0], *expected[1:]])
    if list(shape_of(value)) not in accepted:
        return f"Result shape {written(shape_of(value))} is not consistent with tensor descriptor '{descriptor}'"
    return None


@rule("xegpu.store_nd.shape", "xegpu.store_nd")
def _stored_shape(subject: Subject) -> str | None:
    value, descriptor = subject.type("value"), subject.type("tensor_desc")
    if _is_fragment(subject) or shape_of(value) == shape_of(descriptor):
        return None
    return f"Value shape {written(shape_of(value))} is not consistent with tensor descriptor '{descriptor}'"


@rule("xegpu.offsets.count", *_ND)
def _offsets(subject: Subject) -> str | None:
    if subject.name != "xegpu.prefetch_nd" and _is_fragment(subject):
        return None
    rank = rank_of(subject.type("tensor_desc"))
    constants = subject.attribute("const_offsets")
    length = len(numbers(constants))
    return _RANKS if length != rank and (length or subject.llvm > 22) else None


@rule("xegpu.layout.distributes", *_ND, since=23)
def _anchor(subject: Subject) -> tuple[str, ...] | None:
    if subject.name != "xegpu.prefetch_nd" and _is_fragment(subject):
        return None
    layout = subject.attribute("layout")
    if layout is None:
        return None
    shape = shape_of(subject.type("tensor_desc"))
    return undistributed("TensorDesc shape is not distributable with the layout", layout, shape, subject.llvm)


@rule("xegpu.update_nd_offset", "xegpu.update_nd_offset")
def _moved(subject: Subject) -> str | None:
    descriptor = subject.type("tensor_desc")
    if is_scattered(descriptor):
        return _SCATTERED
    length = len(numbers(subject.attribute("const_offsets")))
    return None if length == rank_of(descriptor) else "Invalid number of offsets."
