"""Writing what the analysis of LLVM 23 and 24 found: what an anchor states of itself goes before what is demanded of it.

Loops and branches state the layouts of what goes in (`layout_operand_3`) and comes out (`layout_result_0`).

>>> from xdsl.dialects.test import TestOp
>>> stated(TestOp(), 0)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import VectorType
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from layoutalg.core.errors import LayoutError
from layoutalg.ir.dialects.xegpu import attributes as ir
from layoutalg.ir.dialects.xegpu.attributes import TensorDescType
from layoutalg.side.llvm_passes.analysis import Analysis, carries, held, hold
from layoutalg.side.llvm_passes.fields import Attribute
from layoutalg.side.llvm_passes.solving import forwarded, is_branch
from layoutalg.side.llvm_passes.write_llvm22 import ANCHORS, FAILED, blocks_inside_first, retyped, state_function

__all__ = ["Fill", "beside_anchors", "cleaned", "known", "stated"]

Fill = Callable[[Operation, "list[Attribute | None]"], "Attribute | None"]
"""The layout of a result that nobody demands, from the layouts of the operands."""


def cleaned(module: Operation) -> None:
    """Take away the layouts that are not an anchor's own: they are temporary."""
    for op in module.walk():
        for name in [name for name, each in op.attributes.items() if isinstance(each, ir.LayoutAttr | ir.SliceAttr)]:
            del op.attributes[name]


def stated(op: Operation, number: int) -> Attribute | None:
    """The layout that an operation states of its result, if any."""
    if op.name in ANCHORS:
        return held(op, ANCHORS[op.name])
    return held(op, f"layout_result_{number}")


def known(value: SSAValue) -> Attribute | None:
    """The layout of a value as the module says it: where it is made, at the loop that carries it, in a descriptor's type."""
    if isinstance(value, OpResult):
        if value.op.name in ANCHORS:
            return stated(value.op, value.index)
        found = stated(value.op, value.index)
        if found is not None:
            return found
    elif isinstance(value, BlockArgument):
        loop = value.owner.parent_op()
        if loop is not None and loop.name in ("scf.for", "scf.while"):
            for number, target in forwarded(loop):
                if target is value:
                    return held(loop, f"layout_operand_{number}")
    kind = value.type
    if isinstance(kind, TensorDescType) and isinstance(kind.layout, ir.LayoutAttr | ir.SliceAttr):
        return kind.layout.value  # pyright: ignore[reportReturnType]
    return None


def _demanded(value: SSAValue, analysis: Analysis) -> Attribute | None:
    """What a value's own operation states, or what is demanded of it."""
    if isinstance(value, OpResult):
        found = stated(value.op, value.index)
        if found is not None:
            return found
    return analysis.demanded(value)


def _once(op: Operation, name: str, layout: Attribute | None) -> None:
    if layout is not None and held(op, name) is None:
        hold(op, name, layout)


def _described(value: SSAValue, layout: Attribute | None) -> None:
    """Write a layout into a descriptor's type where there is none."""
    if isinstance(value.type, TensorDescType) and known(value) is None:
        retyped(value, layout)


def beside_anchors(analysis: Analysis, fill: Fill) -> None:
    """Write the layouts of results, of descriptors, and of what loops and branches carry.

    >>> beside_anchors.__name__
    'beside_anchors'
    """

    def refuse(op: Operation) -> LayoutError:
        return LayoutError(f"{op.name}: {FAILED}")

    for block in tuple(blocks_inside_first(analysis.module)):
        for op in tuple(block.ops):
            parent = op.parent_op()
            if op.name in ("scf.yield", "scf.condition") and is_branch(parent):
                _state_ends(op, analysis, refuse)
            elif is_branch(op):
                _state_beginnings(op, analysis)
            elif op.name in ("func.func", "gpu.func"):
                state_function(op, lambda value: _demanded(value, analysis), refuse)
            else:
                _state_results(op, analysis, fill)


def _state_ends(end: Operation, analysis: Analysis, refuse: Callable[[Operation], LayoutError]) -> None:
    """What a region gives: the result has its layout."""
    for number, target in forwarded(end):
        if not isinstance(target, OpResult) or not carries(target.type):
            continue
        layout = _demanded(end.operands[number], analysis)
        if layout is None:
            raise refuse(end)
        _once(target.op, f"layout_result_{target.index}", layout)
        _described(target, layout)


def _state_beginnings(op: Operation, analysis: Analysis) -> None:
    """What goes into a region: the operand is wanted as the argument is."""
    for number, target in forwarded(op):
        if isinstance(target, BlockArgument):
            layout = analysis.demanded(target)
            if layout is not None:
                _described(target, layout)
                for other, operand in enumerate(op.operands):
                    if operand is op.operands[number]:
                        _once(op, f"layout_operand_{other}", layout)


def _state_results(op: Any, analysis: Analysis, fill: Fill) -> None:
    for number, result in enumerate(op.results):
        if not carries(result.type):
            continue
        layout = _demanded(result, analysis)
        if layout is None:
            layouts = [known(operand) for operand in op.operands]
            if any(each is not None for each in layouts):
                layout = fill(op, layouts)
        if isinstance(result.type, TensorDescType):
            retyped(result, layout)
        elif op.name in ANCHORS:
            if isinstance(result.type, VectorType):
                hold(op, ANCHORS[op.name], layout)
        else:
            _once(op, f"layout_result_{number}", layout)
