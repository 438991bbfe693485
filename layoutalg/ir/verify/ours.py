"""Rules of XeGPU's operations that no version of LLVM checks. They come from the page, the hardware, or a crash.

>>> from layoutalg.ir import read_module
>>> from layoutalg.ir.verify import verify_module
>>> found, = verify_module(read_module("xegpu.alloc_nbarrier -1"))
>>> found.source, found.notes[0]
('layoutalg', 'the number says how many barriers the workgroup reserves')

Each gives the message, then the reason, then what would be accepted. They are asked where LLVM's rules accept the operation.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX

from layoutalg.ir.verify.layouts import distributable
from layoutalg.ir.verify.registry import ours
from layoutalg.ir.verify.shapes import (
    count_of,
    element_of,
    is_memref,
    is_vector,
    numbers,
    rank_of,
    shape_of,
    typed,
    width_of,
    written,
)
from layoutalg.ir.verify.signatures import Subject
from layoutalg.ir.verify.types import layout_value
from layoutalg.ir.verify.xegpu_block import array_length

__all__: list[str] = []

Complaint = tuple[str, ...] | None


@ours("ours.negative_barriers", "xegpu.alloc_nbarrier")
def _negative_barriers(subject: Subject) -> Complaint:
    count: Any = subject.attribute("nbarrier_num")
    if count.value.data >= 0:
        return None
    return (
        f"reserves {count.value.data} named barriers; expected at least 0",
        "the number says how many barriers the workgroup reserves",
    )


@ours("ours.too_many_barriers", "xegpu.alloc_nbarrier")
def _too_many_barriers(subject: Subject) -> Complaint:
    count: Any = subject.attribute("nbarrier_num")
    if count.value.data <= _BARRIERS:
        return None
    return (
        f"reserves {count.value.data} named barriers; expected at most {_BARRIERS}",
        f"the page: up to {_BARRIERS} barriers (range 0-{_BARRIERS - 1}) for each XeCore on PVC",
    )


_BARRIERS = 32


@ours("ours.unknown_sizes", "xegpu.create_nd_tdesc")
def _unknown_sizes(subject: Subject) -> Complaint:
    source = subject.type("source")
    if subject.llvm >= _SIZES_ASKED_FOR or not is_memref(source) or DYNAMIC_INDEX not in source.get_shape():
        return None
    if subject.attribute("const_shape") is not None:
        return None
    return (
        f"source {typed(source)} has no shape information: it has to be explicitly passed",
        "LLVM 22 and 23 crash when they lower it; 24 asks the memref",
        "expected shape and strides behind the source: `%m, shape : [%h, %w], strides : [%w, 1] : ...`",
    )


_SIZES_ASKED_FOR = 24
"""The first LLVM that takes the sizes of a descriptor out of its memref while the kernel runs."""


@ours("ours.packed_transpose", "xegpu.load_nd")
def _packed_transpose(subject: Subject) -> Complaint:
    if subject.attribute("packed") is None or subject.attribute("transpose") is None:
        return None
    return (
        "is both packed and transposed",
        "a 2D block load has a transform (packed) or a transpose, not both: lsc_load_block2d takes one of the two",
        "load transposed 32-bit words: the pairs then lie in one register, as packed would put them",
    )


@ours("ours.transpose_order", "xegpu.load_nd")
def _transpose_order(subject: Subject) -> Complaint:
    order, rank = subject.attribute("transpose"), rank_of(subject.type("tensor_desc"))
    if order is None or sorted(numbers(order)) == list(range(rank)):
        return None
    return (
        f"transpose = {written(numbers(order))} is not a permutation of the {rank} dimensions",
        "LLVM ignores some such lists with a warning, crashes on others",
        f"expected {written(list(reversed(range(rank))))}",
    )


@ours("ours.vnni_factor", "xegpu.load_nd")
def _vnni_factor(subject: Subject) -> Complaint:
    value, bits = subject.type("value"), width_of(element_of(subject.type("tensor_desc")))
    if subject.attribute("packed") is None or rank_of(value) != 3 or not bits:
        return None
    factor = max(1, 32 // bits)
    if shape_of(value)[-1] == factor:
        return None
    return (
        f"packs {shape_of(value)[-1]} elements of {bits} bits; expected {factor}",
        "packed puts 32 bits of one column into a register; DPAS reads B that way",
    )


@ours("ours.vnni_factor", "xegpu.dpas")
def _dpas_factor(subject: Subject) -> Complaint:
    rhs, bits = subject.type("rhs"), width_of(element_of(subject.type("rhs")))
    if rank_of(rhs) != 3 or rank_of(subject.type("lhs")) != 2 or not bits:
        return None
    factor = max(1, 32 // bits)
    if shape_of(rhs)[-1] != factor:
        return (
            f"takes B packed by {shape_of(rhs)[-1]} elements of {bits} bits; expected {factor}",
            "DPAS reads B as 32-bit words, each a piece of one column",
        )
    a, b, c = (shape_of(subject.type(name)) for name in ("lhs", "rhs", "result"))
    sizes = ("K", a[1], b[0] * b[2]), ("M", a[0], c[0]), ("N", b[1], c[-1])
    wrong = next(
        (f"{name} is {one} on one side and {other} on the other" for name, one, other in sizes if one != other), None
    )
    return (
        None if wrong is None else (f"has sizes that do not agree: {wrong}", "LLVM 23 and 24 do not check a packed B")
    )


@ours("ours.descriptor_rank", "xegpu.load_nd", "xegpu.store_nd", "xegpu.prefetch_nd", "xegpu.create_nd_tdesc")
def _descriptor_rank(subject: Subject) -> Complaint:
    rank = rank_of(subject.type("tensor_desc"))
    if rank <= 2:
        return None
    return (
        f"has a block of {rank} dimensions",
        "a message moves 1-D or 2-D blocks: 'TensorDesc ... 1D or 2D' on the page; nothing lowers a block of more",
        "slice the memref, or put the outer dimensions into the base address",
    )


@ours("ours.offsets_rank", "xegpu.load_nd", "xegpu.store_nd", "xegpu.prefetch_nd", "xegpu.update_nd_offset")
def _offsets_rank(subject: Subject) -> Complaint:
    constants, values = numbers(subject.attribute("const_offsets")), subject.values("offsets")
    if constants.count(DYNAMIC_INDEX) != len(values):
        return (
            f"has {constants.count(DYNAMIC_INDEX)} places for offsets, and {len(values)} values",
            "LLVM reads past the end of the values",
        )
    rank = rank_of(subject.type("tensor_desc"))
    if not constants or len(constants) == rank:
        return None
    return (
        f"has {len(constants)} offsets for a block of {rank} dimensions",
        "LLVM 22 checks this for whole tiles only, not for fragments of a lane",
    )


@ours("ours.offsets_rank", "xegpu.load_matrix", "xegpu.store_matrix")
def _matrix_offsets(subject: Subject) -> Complaint:
    constants, rank = numbers(subject.attribute("const_offsets")), rank_of(subject.type("mem_desc"))
    if len(constants) == rank:
        return None
    return f"has {len(constants)} offsets for a matrix of {rank} dimensions", "each dimension needs its own offset"


@ours("ours.atomic_mask", "xegpu.atomic_rmw")
def _atomic_mask(subject: Subject) -> Complaint:
    mask, value = subject.type("mask"), subject.type("value")
    lanes = shape_of(subject.type("tensor_desc"))[0]
    if count_of(mask) in (lanes, count_of(value)):
        return None
    return (
        f"has a mask of {count_of(mask)} bits for {lanes} points",
        "each point has its own bit of the mask; LLVM compares descriptor, value and result, and leaves the mask out",
        f"expected vector<{lanes}xi1>",
    )


_DPAS_ROWS = 8
_SUBGROUPS = (16, 8)


@ours("ours.dpas_fragment", "xegpu.dpas")
def _dpas_fragment(subject: Subject) -> Complaint:
    types = [subject.type(name) for name in ("lhs", "rhs", "result")]
    bits = width_of(element_of(types[0]))
    if any(rank_of(kind) != 1 for kind in types) or bits not in (4, 8, 16, 19, 32):
        return None
    depth, (a, b, c) = 256 // (32 if bits == 19 else bits), map(count_of, types)
    if b == depth and any(a * lanes == c * depth for lanes in _SUBGROUPS) and c <= _DPAS_ROWS:
        return None
    return (
        f"multiplies fragments of {a} and {b} elements into {c}",
        f"one DPAS is {depth} deep for {bits} bits: of 16 lanes each holds M*{depth}/16 of A, {depth} of B and M of C",
        f"expected M of 1 to {_DPAS_ROWS}: {depth // 16 or 1} x M by {depth} gives M elements",
    )


_LAYOUTS = {
    "xegpu.load_nd": (("layout", "tensor_desc"),),
    "xegpu.store_nd": (("layout", "tensor_desc"),),
    "xegpu.prefetch_nd": (("layout", "tensor_desc"),),
    "xegpu.prefetch": (("layout", "offsets"),),
    "xegpu.load": (("layout", "value"),),
    "xegpu.store": (("layout", "value"),),
    "xegpu.load_matrix": (("layout", "res"),),
    "xegpu.store_matrix": (("layout", "data"),),
    "xegpu.dpas": (("layout_a", "lhs"), ("layout_b", "rhs"), ("layout_cd", "result")),
    "xegpu.dpas_mx": (("layout_a", "a"), ("layout_b", "b"), ("layout_cd", "result")),
    "xegpu.convert_layout": (("input_layout", "source"), ("target_layout", "source")),
}


@ours("ours.layout_rank", *_LAYOUTS)
def _layout_rank(subject: Subject) -> Complaint:
    for name, value in _LAYOUTS[subject.name]:
        layout, kind = subject.attribute(name), subject.type(value)
        if layout is not None and kind is not None and layout_value(layout).rank != rank_of(kind):
            made = subject.type("value") if subject.name == "xegpu.load_nd" else None
            if made is not None and layout_value(layout).rank == rank_of(made):
                continue  # several blocks, or packed rows: the value has a dimension more than its block
            return (
                f"{name} = {layout} has rank {layout_value(layout).rank}, the value rank {rank_of(kind)}",
                "LLVM 23 and 24 read past the end of the layout, or crash; LLVM 22 ignores it",
            )
    return None


@ours(
    "ours.layout_fits",
    "xegpu.load_nd",
    "xegpu.store_nd",
    "xegpu.prefetch_nd",
    "xegpu.load_matrix",
    "xegpu.store_matrix",
)
def _layout_fits(subject: Subject) -> Complaint:
    name, value = _LAYOUTS[subject.name][0]
    layout, kind = subject.attribute(name), subject.type(value)
    if layout is None or subject.llvm > 22 or layout_value(layout).rank != rank_of(kind):
        return None
    if distributable(layout, shape_of(kind), 22):
        return None
    return (
        f"cannot distribute {written(shape_of(kind))} using {layout}",
        "LLVM 22 does not look at this layout until it distributes; LLVM 23 and 24 refuse it",
    )


@ours("ours.load_layout", "xegpu.load_nd")
def _load_layout(subject: Subject) -> Complaint:
    descriptor: Any = subject.type("tensor_desc")
    if descriptor.layout.name != "xegpu.layout":
        return None
    mismatch = _mismatch(descriptor, subject.llvm)
    if mismatch is None or "no such message" in mismatch:
        return None
    return (
        mismatch,
        "a 2D block load has one way to spread a tile over the lanes; LLVM ignores other lane layouts on load_nd",
        "load with the message's layout, then convert_layout",
    )


@lru_cache(maxsize=4096)
def _mismatch(descriptor: Any, llvm: int) -> str | None:
    return layout_value(descriptor, llvm).load_mismatch()


@ours("ours.matrix_rank", "xegpu.load_matrix", "xegpu.store_matrix")
def _block_rank(subject: Subject) -> Complaint:
    matrix: Any = subject.type("mem_desc")
    data = subject.type("res" if subject.name == "xegpu.load_matrix" else "data")
    if is_vector(data) and rank_of(data) > rank_of(matrix):
        return (
            f"moves {rank_of(data)} dimensions of a matrix of {rank_of(matrix)}",
            "the block is cut out of the matrix, so it has no more dimensions than that",
        )
    return None


@ours("ours.subgroup_share", "xegpu.store_nd", "xegpu.load_nd")
def _whole_block(subject: Subject) -> Complaint:
    value, descriptor = subject.type("value"), subject.type("tensor_desc")
    total = count_of(descriptor) * array_length(descriptor)
    if rank_of(value) != 1 or count_of(value) == total or rank_of(descriptor) != 2:
        return None
    lanes = total // count_of(value)
    if lanes in (8, 16, 32):
        return None
    return (
        f"gives each lane {count_of(value)} of {total} elements, so {lanes} lanes share the block",
        "a subgroup has 16 lanes (8 on Arc); LLVM asks only that the length divides the block",
        f"expected vector<{total // 16}x{element_of(value)}>",
    )
