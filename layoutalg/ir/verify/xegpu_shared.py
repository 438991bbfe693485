"""LLVM's rules of XeGPU's matrices in shared memory: `create_mem_desc`, `load_matrix`, `store_matrix`.

    %d = xegpu.create_mem_desc %slm : memref<256xi8, 3> -> !xegpu.mem_desc<16x16xf16>

is refused with "failed to verify that all of {source, mem_desc} have same size in bits": 16x16 f16 need 512 bytes.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import NoneAttr

from layoutalg.ir.verify.layouts import undistributed
from layoutalg.ir.verify.registry import rule, same
from layoutalg.ir.verify.shapes import count_of, element_of, is_vector, rank_of, shape_of, width_of
from layoutalg.ir.verify.signatures import Subject
from layoutalg.ir.verify.types import layout_value

__all__: list[str] = []

_MATRIX = ("xegpu.load_matrix", "xegpu.store_matrix")

same("xegpu.load_matrix.element_type", "element type", "mem_desc, res", "xegpu.load_matrix")
same("xegpu.store_matrix.element_type", "element type", "mem_desc, data", "xegpu.store_matrix")


def _data(subject: Subject) -> Any:
    return subject.type("res" if subject.name == "xegpu.load_matrix" else "data")


@rule("xegpu.create_mem_desc.size", "xegpu.create_mem_desc")
def _size(subject: Subject) -> str | None:
    sizes = [count_of(kind) * width_of(element_of(kind)) for kind in (subject.type("source"), subject.type("mem_desc"))]
    return None if sizes[0] == sizes[1] else "failed to verify that all of {source, mem_desc} have same size in bits"


@rule("xegpu.matrix.block_io", *_MATRIX)
def _block_io(subject: Subject) -> str | None:
    if subject.attribute("subgroup_block_io") is None or is_vector(_data(subject)):
        return None
    return "subgroup_block_io are only allowed when result is a VectorType."


@rule("xegpu.matrix.lanes", *_MATRIX)
def _lanes(subject: Subject) -> str | None:
    layout = subject.attribute("layout")
    if subject.attribute("subgroup_block_io") is None or layout is None:
        return None
    fields = layout_value(layout).distribution()
    if not is_vector(_data(subject)) or fields.lane_data is None or fields.lane_layout is None:
        return None
    if any(n != 1 for n in fields.lane_data[:-1]):
        return "With subgroup_block_io, accessed data must be contiguous and coalesced."
    matrix: Any = subject.type("mem_desc")
    memory = None if isinstance(matrix.mem_layout, NoneAttr) else layout_value(matrix.mem_layout)
    block = () if memory is None or memory.block is None else memory.block
    strides = _strides(shape_of(matrix)) if memory is None or memory.stride is None else memory.stride
    for d, lanes in enumerate(fields.lane_layout):
        if d >= len(block) or lanes != block[d]:
            return "With subgroup_block_io, the block shape must match the lane layout."
        if lanes != 1 and strides[d] != 1:
            return "With subgroup_block_io, the distributed dimensions must be contiguous."
    return None


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    found = [1]
    for size in reversed(shape[1:]):
        found.insert(0, found[0] * size)
    return tuple(found)


@rule("xegpu.matrix.layout", *_MATRIX, since=23)
def _distributes(subject: Subject) -> tuple[str, ...] | None:
    layout, data = subject.attribute("layout"), _data(subject)
    if layout is None or not is_vector(data):
        return None
    return undistributed("Value shape is not distributable with the layout", layout, shape_of(data), subject.llvm)


@rule("xegpu.matrix.rank", *_MATRIX, until=22)
def _rank(subject: Subject) -> str | None:
    if is_vector(_data(subject)) and rank_of(subject.type("mem_desc")) != 2:
        return "mem_desc must be 2D."
    return None


@rule("xegpu.matrix.rows", *_MATRIX, until=22)
def _row_major(subject: Subject) -> str | None:
    matrix: Any = subject.type("mem_desc")
    if subject.attribute("subgroup_block_io") is None or len(shape_of(_data(subject))) != 1:
        return None
    memory = None if isinstance(matrix.mem_layout, NoneAttr) else layout_value(matrix.mem_layout)
    strides = _strides(shape_of(matrix)) if memory is None or memory.stride is None else memory.stride
    return "mem_desc should be row major when subgroup_block_io is set." if strides[0] == 1 else None


@rule("xegpu.matrix.shape", *_MATRIX)
def _shape(subject: Subject) -> str | None:
    data, matrix = shape_of(_data(subject)), shape_of(subject.type("mem_desc"))
    if len(data) != len(matrix) or not is_vector(_data(subject)):
        return None
    if any(one > whole for one, whole in zip(data, matrix, strict=True)):
        return "data shape must not exceed mem_desc shape."
    return None
