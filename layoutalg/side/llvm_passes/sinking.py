"""Conversions that make instructions' tiles smaller move behind elementwise operations (LLVM 24): fewer are left.

>>> from layoutalg.ir import read_module
>>> tall = "#xegpu.layout<inst_data = [16, 16], lane_layout = [1, 16], lane_data = [1, 1]>"
>>> low = tall.replace("[16, 16]", "[8, 16]")
>>> module = read_module(f'''func.func @f(%p: memref<16x16xf32>, %i: index) {{
...   %x = vector.load %p[%i, %i] {{layout_result_0 = {tall}}} : memref<16x16xf32>, vector<16x16xf32>
...   %y = xegpu.convert_layout %x <{{input_layout = {tall}, target_layout = {low}}}> : vector<16x16xf32>
...   %z = math.exp %y {{layout_result_0 = {low}}} : vector<16x16xf32>
...   func.return }}''')
>>> sink(module)
>>> [op.name for op in module.walk()][2:-1]
['vector.load', 'math.exp', 'xegpu.convert_layout']
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from layoutalg.ir.dialects.xegpu.operations import ConvertLayoutOp
from layoutalg.side.llvm_passes.analysis import held, hold
from layoutalg.side.llvm_passes.conflicts import can_be_made_again, conversion, copied, inside_first
from layoutalg.side.llvm_passes.fields import Attribute, numbers_of
from layoutalg.side.llvm_passes.sources import is_elementwise

__all__ = ["sink"]


def sink(module: Operation) -> None:
    """Move conversions behind elementwise operations, where all operands are converted alike or made of numbers."""
    for op in inside_first(module):
        found = _alike(op) if is_elementwise(op) and isinstance(op.results[0].type, VectorType) else None
        if found is not None and _cuts(*found):
            _sink(op, *found)


def _alike(op: Operation) -> tuple[Attribute, Attribute] | None:
    """The two layouts of the conversions of all operands; None where they differ, or an operand is something else."""
    pairs: list[tuple[Attribute | None, Attribute | None]] = []
    for operand in op.operands:
        if not isinstance(operand.type, VectorType):
            continue
        maker = operand.owner
        if isinstance(maker, ConvertLayoutOp):
            pairs.append((held(maker, "input_layout"), held(maker, "target_layout")))
        elif not (isinstance(maker, Operation) and can_be_made_again(maker)):
            return None
    if not pairs or any(pair != pairs[0] for pair in pairs):
        return None
    source, target = pairs[0]
    return None if source is None or target is None else (source, target)


def _cuts(source: Attribute, target: Attribute) -> bool:
    """Whether a conversion makes tiles smaller."""
    before, after = numbers_of(source, "inst_data"), numbers_of(target, "inst_data")
    return before is not None and after is not None and prod(before) > prod(after)


def _sink(op: Operation, source: Attribute, target: Attribute) -> None:
    conversions: dict[Operation, None] = {}
    copies: dict[Operation, Operation] = {}
    for number, operand in enumerate(tuple(op.operands)):
        maker = operand.owner
        if not isinstance(operand.type, VectorType) or not isinstance(maker, Operation):
            continue
        if isinstance(maker, ConvertLayoutOp):
            conversions[maker] = None
            op.operands[number] = maker.operands[0]
        else:
            op.operands[number] = _copy(maker, copies, source)
    hold(op, "layout_result_0", source)
    result = op.results[0]
    behind = conversion(result, source, target)
    Rewriter.insert_op(behind, InsertPoint.after(op))
    result.replace_uses_with_if(behind.results[0], lambda use: use.operation is not behind)
    for maker in conversions:
        if not any(True for _ in maker.results[0].uses):
            maker.detach()
            maker.erase()


def _copy(maker: Operation, copies: dict[Operation, Operation], layout: Attribute) -> SSAValue:
    value = copied(maker, copies)
    hold(copies[maker], "layout_result_0", layout)
    return value
