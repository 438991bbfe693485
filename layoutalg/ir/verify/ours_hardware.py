"""Rules of the target chip: block messages that it does not have, and what its messages require of memory.

They are checked where a target is given; `layoutalg.hardware` has the tables and their sources.

>>> from layoutalg.ir import read_module
>>> from layoutalg.ir.verify import verify_module
>>> module = read_module('''
... func.func @f(%p: i64) {
...   %t = xegpu.create_nd_tdesc %p, shape: [64, 50], strides: [50, 1] : i64 -> !xegpu.tensor_desc<8x16xf16>
...   return
... }''')
>>> [finding.message for finding in verify_module(module, target="pvc")]
['describes rows 100 bytes apart; pvc takes a pitch that is a multiple of 16 bytes']
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX

from layoutalg.core.errors import VerificationError
from layoutalg.hardware import TargetInfo, block_load, block_store
from layoutalg.ir.verify.registry import ours
from layoutalg.ir.verify.shapes import count_of, element_of, is_memref, numbers, rank_of, shape_of, width_of
from layoutalg.ir.verify.signatures import Subject, name_of
from layoutalg.ir.verify.types import layout_value
from layoutalg.ir.verify.xegpu_block import array_length

__all__: list[str] = []

Complaint = tuple[str, ...] | None

_ND = ("xegpu.load_nd", "xegpu.store_nd", "xegpu.prefetch_nd")
_SOURCE = "cl_intel_subgroup_2d_block_io asks this of every 2D block message"


@ours("ours.surface", "xegpu.create_nd_tdesc")
def _surface(subject: Subject) -> Complaint:
    target, descriptor = subject.target, subject.type("tensor_desc")
    if target is None or target.surface is None or rank_of(descriptor) != 2 or descriptor.encoding.name != "none":
        return None
    limits, bits = target.surface, width_of(element_of(descriptor))
    shape, strides = _extents(subject)
    if len(shape) < 2 or len(strides) < 2 or not bits:
        return None
    base = _constant(subject.values("source")[0])
    width, pitch = _bytes(shape[-1], bits), _bytes(strides[-2], bits)
    if strides[-1] not in (1, DYNAMIC_INDEX):
        return f"describes elements {strides[-1]} apart; a row of a 2D block is contiguous", _SOURCE
    if base is not None and base % limits.base_alignment:
        return f"begins at address {base}; {target} takes a base that is a multiple of {limits.base_alignment}", _SOURCE
    if width is not None and not limits.width_least <= width <= limits.width_most:
        least, most = limits.width_least, limits.width_most
        return f"describes rows of {width} bytes; {target} takes a width from {least} to {most} bytes", _SOURCE
    if width is not None and width % limits.width_multiple:
        return f"describes rows of {width} bytes; {target} takes a multiple of {limits.width_multiple} bytes", _SOURCE
    if pitch is not None and pitch % limits.pitch_multiple:
        multiple = limits.pitch_multiple
        return (
            f"describes rows {pitch} bytes apart; {target} takes a pitch that is a multiple of {multiple} bytes",
            _SOURCE,
        )
    if width is not None and pitch is not None and pitch < width:
        return f"describes rows of {width} bytes, {pitch} bytes apart: they overlap", _SOURCE
    return None


def _extents(subject: Subject) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides of the memory behind a descriptor: written ones, or those of a contiguous memref."""
    shape, strides = (numbers(subject.attribute(f"const_{name}")) for name in ("shape", "strides"))
    source = subject.type("source")
    if shape or not is_memref(source) or str(source.layout) != "none":
        return shape, strides
    sizes, found = shape_of(source), [1]
    for size in reversed(sizes[1:]):
        known = size >= 0 and found[0] != DYNAMIC_INDEX
        found.insert(0, found[0] * size if known else DYNAMIC_INDEX)
    return tuple(size if size >= 0 else DYNAMIC_INDEX for size in sizes), tuple(found)


def _bytes(elements: int, bits: int) -> int | None:
    return None if elements == DYNAMIC_INDEX else elements * bits // 8


def _constant(value: Any) -> int | None:
    """The number that a value is, where a constant defines it."""
    owner = value.owner
    if getattr(owner, "name", "") != "arith.constant" or name_of(owner) != "arith.constant":
        return None
    found = owner.properties.get("value")
    return None if found is None or found.name != "integer" else found.value.data


@ours("ours.x_alignment", *_ND)
def _alignment(subject: Subject) -> Complaint:
    target, descriptor = subject.target, subject.type("tensor_desc")
    offsets, bits = numbers(subject.attribute("const_offsets")), width_of(element_of(descriptor))
    if target is None or target.surface is None or rank_of(descriptor) != 2 or len(offsets) != 2 or not bits:
        return None
    multiple = target.surface.x_multiple(bits)
    if offsets[1] == DYNAMIC_INDEX or offsets[1] % multiple == 0:
        return None
    return f"begins at column {offsets[1]}; {target} takes a multiple of {multiple} elements of {bits} bits", _SOURCE


@ours("ours.block_size", *_ND)
def _block_size(subject: Subject) -> Complaint:
    target, descriptor = subject.target, subject.type("tensor_desc")
    if target is None or rank_of(descriptor) != 2 or not _is_one_message(subject):
        return None
    if target.surface is None:
        return (
            f"is a 2D block message, which {target} does not have",
            "the tables of chips: 2D block messages came with Xe-HPC and Xe2",
            "use gathers (xegpu.load) or 1-D blocks there",
        )
    rows, width = _block(descriptor)
    kind = "store" if subject.name == "xegpu.store_nd" else "load"
    packed, transposed = (subject.attribute(name) is not None for name in ("packed", "transpose"))
    bits = width_of(element_of(descriptor))
    problem = _no_message(target, kind, rows, width, bits, array_length(descriptor), packed, transposed)
    return None if problem is None else (problem, f"the messages of {target}")


def _is_one_message(subject: Subject) -> bool:
    """Whether the operation is one message already: a lane's fragment, or a layout that says what an instruction moves."""
    descriptor: Any = subject.type("tensor_desc")
    value = subject.type("value")
    if value is not None and rank_of(value) == 1 and count_of(value) < count_of(descriptor) * array_length(descriptor):
        return True
    return descriptor.layout.name == "xegpu.layout" and _fields(descriptor).inst_data is not None


def _fields(descriptor: Any) -> Any:
    return layout_value(descriptor.layout).distribution()


def _block(descriptor: Any) -> tuple[int, int]:
    """Rows and columns of one message."""
    inst = None if descriptor.layout.name != "xegpu.layout" else _fields(descriptor).inst_data
    rows, width = shape_of(descriptor) if inst is None else inst
    return rows, width


@lru_cache(maxsize=4096)
def _no_message(
    chip: TargetInfo, kind: str, rows: int, width: int, bits: int, count: int, packed: bool, transposed: bool
) -> str | None:
    """Why the chip has no such message; None where there is one."""
    bits = 32 if bits == 19 else bits
    try:
        if kind == "store":
            block_store(rows, width, bits, target=chip.name)
        else:
            unit = max(bits, 32) if transposed else None
            block_load(rows, width, bits, count, packed, transposed, unit, target=chip.name)
    except VerificationError as problem:
        return str(problem)
    return None
