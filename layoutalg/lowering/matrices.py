"""Matrices in shared local memory: every register is loaded and stored at its own place.

A column of 8x16 f32 that a lane holds (`lane_layout = [1, 16]`) lies a row apart in memory. LLVM makes one access to eight
neighbours of it; here it is eight accesses, each at (row, lane).
"""

from __future__ import annotations

from typing import Any

from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.layout import Layout
from layoutalg.lowering.block_descriptors import listed, mixed
from layoutalg.lowering.fragments import picked
from layoutalg.lowering.rules import Kernel, lowers, registers_of

__all__: list[str] = []


@lowers("memref.alloca", "memref.alloc")
def buffer(op: Any, kernel: Kernel) -> None:
    """A buffer in shared memory becomes a global of the module: on the stack LLVM 22 makes it invalid SPIR-V."""
    kind: Any = op.results[0].type
    if str(kind).endswith((", 3>", "3 : i64>", "3 : i32>", "<workgroup>>")) and not op.operands:
        kernel.scalars[op.results[0]] = kernel.buffer(str(kind), op.results[0].name_hint)
    else:
        kernel.pass_on(op)


def _places(op: Any, layout: Layout, kernel: Kernel) -> list[list[Value | int]]:
    """Where each register is in the matrix."""
    offsets = mixed(op.const_offsets, [kernel.number(value) for value in op.offsets])
    lead = len(offsets) - len(layout.dims)
    return [
        [
            *offsets[:lead],
            *(kernel.indices.plus(offset, one) for offset, one in zip(offsets[lead:], place, strict=True)),
        ]
        for place in kernel.places(layout)
    ]


def _kinds(place: list[Value | int]) -> str:
    return "".join([", index" for one in place if isinstance(one, Value)])


@lowers("xegpu.load_matrix", spread="value")
def load(op: Any, kernel: Kernel) -> None:
    """One load for each register."""
    layout = kernel.layout(op, op.value)
    matrix = kernel.scalar(op.mem_desc)
    element = str(op.value.type.element_type)
    values = [
        kernel.writer.value(
            f"xegpu.load_matrix %s{listed(place)} : {matrix.kind}{_kinds(place)} -> {element}",
            [matrix, *(one for one in place if isinstance(one, Value))],
            element,
        )
        for place in _places(op, layout, kernel)
    ]
    kernel.give(op.value, layout, picked(kernel.writer, values, range(len(values)), kernel.sizes(op.value, layout)))


@lowers("xegpu.store_matrix", spread="value")
def store(op: Any, kernel: Kernel) -> None:
    """One store for each register; of work-items that hold copies, the first one stores."""
    layout = kernel.stated(op, 0) or kernel.fragment(op.value).layout
    matrix = kernel.scalar(op.mem_desc)
    values = kernel.needed(op, 0, layout, (1,) * registers_of(layout))
    with kernel.only(kernel.first_copy(layout)):
        for value, place in zip(values, _places(op, layout, kernel), strict=True):
            form = f"xegpu.store_matrix %s, %s{listed(place)} : {value.kind}, {matrix.kind}{_kinds(place)}"
            kernel.writer.do(form, [value, matrix, *(one for one in place if isinstance(one, Value))])
