"""Writing what the analysis found into the operations: on results, in the types of descriptors, on the arguments of regions.

LLVM 22 writes what is demanded, over what the user wrote; where a loop's value is demanded in two layouts it fails.

>>> from xdsl.dialects.builtin import f32
>>> from layoutalg.xegpu import LayoutAttr
>>> print(described(TensorDescType.of([8, 16], f32), LayoutAttr(lane_layout=(1, 16))))
!xegpu.tensor_desc<8x16xf32, #xegpu.layout<lane_layout = [1, 16]>>
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from xdsl.dialects.builtin import FunctionType, NoneAttr, VectorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from layoutalg.core.errors import LayoutError
from layoutalg.ir.dialects.xegpu.attributes import TensorDescType
from layoutalg.side.llvm_passes.analysis import Analysis, carries, held, hold, written
from layoutalg.side.llvm_passes.fields import Attribute
from layoutalg.side.llvm_passes.solving import forwarded, is_branch

__all__ = ["ANCHORS", "FAILED", "Find", "blocks_inside_first", "described", "over_anchors", "retyped", "state_function"]

FAILED = "Failed to update operation with the layout."
ANCHORS = {
    "xegpu.convert_layout": "target_layout",
    "xegpu.dpas": "layout_cd",
    "xegpu.dpas_mx": "layout_cd",
    "xegpu.load": "layout",
    "xegpu.load_matrix": "layout",
    "xegpu.load_nd": "layout",
    "xegpu.prefetch": "layout",
    "xegpu.prefetch_nd": "layout",
    "xegpu.store": "layout",
    "xegpu.store_matrix": "layout",
    "xegpu.store_nd": "layout",
    "xegpu.atomic_rmw": "layout",
}
"""The operations that hold layouts of their own, and where the layout of the result (or of what is stored) is."""

Find = Callable[[SSAValue], "Attribute | None"]


def described(kind: TensorDescType, layout: Attribute | None) -> TensorDescType:
    """The type of a descriptor with this layout; None for no layout."""
    return TensorDescType(
        kind.shape, kind.element_type, kind.encoding, NoneAttr() if layout is None else written(layout)
    )


def retyped(value: SSAValue, layout: Attribute | None) -> None:
    """Write a layout into the type of a descriptor.

    >>> retyped.__name__
    'retyped'
    """
    kind = value.type
    if isinstance(kind, TensorDescType):
        Rewriter.replace_value_with_new_type(value, described(kind, layout))


def blocks_inside_first(operation: Operation) -> Iterator[Block]:
    """The blocks of an operation, those of inner regions before the block that they are in."""
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield from blocks_inside_first(inner)
            yield block


def state_result(op: Operation, number: int, layout: Attribute | None) -> None:
    """Write a layout of a result: over an anchor's own, but beside a `layout_result_N` that is there."""
    if op.name in ANCHORS:
        hold(op, ANCHORS[op.name], layout)
    elif layout is not None and held(op, f"layout_result_{number}") is None:
        hold(op, f"layout_result_{number}", layout)


def state_function(function: Any, find: Find, refuse: Callable[[Operation], LayoutError]) -> None:
    """The layouts of a function's arguments, which must all have one.

    >>> state_function.__name__
    'state_function'
    """
    block = next((block for region in function.regions for block in region.blocks), None)
    if block is None:
        return
    for argument in block.args:
        if carries(argument.type):
            layout = find(argument)
            if layout is None:
                raise refuse(function)
            retyped(argument, layout)
    kind = function.properties.get("function_type")
    if isinstance(kind, FunctionType):
        function.properties["function_type"] = FunctionType.from_lists(
            [one.type for one in block.args], kind.outputs.data
        )


def over_anchors(analysis: Analysis) -> None:
    """Write every demand, whatever was written before; what ends a region must agree with where its operands go.

    Raises `LayoutError` where it doesn't.

    >>> over_anchors.__name__
    'over_anchors'
    """
    for block in tuple(blocks_inside_first(analysis.module)):
        for op in reversed(tuple(block.ops)):
            parent = op.parent_op()
            if op.name in ("scf.yield", "scf.condition") and is_branch(parent):
                _agree(op, analysis)
            elif op.name in ("func.func", "gpu.func"):
                state_function(op, analysis.demanded, _refused)
            elif not is_branch(op):
                _state_results(op, analysis)


def _state_results(op: Operation, analysis: Analysis) -> None:
    for number, result in enumerate(op.results):
        if not carries(result.type):
            continue
        layout = analysis.demanded(result)
        if layout is None and any(True for _ in result.uses):
            continue
        if isinstance(result.type, TensorDescType):
            retyped(result, layout)
        else:
            state_result(op, number, layout)


def _agree(end: Operation, analysis: Analysis) -> None:
    for number, target in forwarded(end):
        if not carries(target.type):
            continue
        layout, there = analysis.demanded(end.operands[number]), analysis.demanded(target)
        if layout is None or (there is not None and there != layout):
            raise _refused(end)
        if isinstance(target.type, TensorDescType):
            retyped(target, layout)
        elif isinstance(target.type, VectorType) and isinstance(target.owner, Operation):
            state_result(target.owner, target.owner.results.index(target), layout)


def _refused(op: Operation) -> LayoutError:
    return LayoutError(f"{op.name}: {FAILED}")
