"""Conversions where a value is made in one layout and used in another (LLVM 23 and 24).

A constant is made again instead of converted; a conversion that is there already takes the other layout in.

>>> from layoutalg.ir import read_module
>>> module = read_module('''func.func @f(%p: memref<16x16xf32>, %i: index) {
...   %x = vector.load %p[%i, %i] {layout_result_0 = #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>}
...     : memref<16x16xf32>, vector<16x16xf32>
...   %y = math.exp %x {layout_result_0 = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>} : vector<16x16xf32>
...   func.return }''')
>>> resolve(module, ends=False, copies=False)
>>> [op.name for op in module.walk()][2:-1]
['vector.load', 'xegpu.convert_layout', 'math.exp']
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Block, Operation, OpResult, SSAValue, Use
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from layoutalg.core.errors import LayoutError
from layoutalg.ir.dialects.xegpu.attributes import TensorDescType
from layoutalg.ir.dialects.xegpu.operations import ConvertLayoutOp
from layoutalg.side.llvm_passes.analysis import held, hold, written
from layoutalg.side.llvm_passes.fields import Attribute, dropped
from layoutalg.side.llvm_passes.solving import forwarded, is_branch, runs_once
from layoutalg.side.llvm_passes.sources import is_elementwise, source_of
from layoutalg.side.llvm_passes.write_llvm22 import ANCHORS, described
from layoutalg.side.llvm_passes.writing_anchors import known, stated

__all__ = ["can_be_made_again", "conversion", "copied", "inside_first", "make_again", "resolve", "wanted_by"]

_ENDS = ("scf.yield", "scf.condition")
_REDUCTIONS = ("vector.multi_reduction", "vector.reduction")


def resolve(module: Operation, *, ends: bool, copies: bool) -> None:
    """Convert and describe again until every use has its layout.

    `ends` says that what goes out of regions counts, `copies` that constants are made again at once instead of converted.
    """
    for op in inside_first(module):
        for result in op.results:
            scalar = not isinstance(result.type, VectorType | TensorDescType)
            unused = not any(True for _ in result.uses)
            if (scalar and op.name in _REDUCTIONS) or (
                ends and isinstance(result.type, VectorType) and unused and is_branch(op)
            ):
                _anchor(result)
        for number, operand in enumerate(tuple(op.operands)):
            if isinstance(operand.type, TensorDescType) and op.name in ANCHORS:
                _describe_again(op, number)
            elif isinstance(operand.type, VectorType):
                _convert(op, number, ends=ends, copies=copies)


def inside_first(operation: Operation) -> list[Operation]:
    """Operations as LLVM walks them: what is inside before what it is in."""
    found: list[Operation] = []
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.ops:
                found += inside_first(inner)
    return [*found, operation]


def _anchor(result: OpResult) -> None:
    """A conversion to the same layout, which keeps the layout of what nobody else keeps."""
    layout = known(result)
    if layout is None:
        return
    made = conversion(result, layout, layout)
    Rewriter.insert_op(made, InsertPoint.after(result.op))
    result.replace_uses_with_if(made.results[0], lambda use: use.operation is not made)


def conversion(value: SSAValue, source: Attribute, target: Attribute) -> Operation:
    """A conversion of a value, which is nowhere yet.

    >>> conversion.__name__
    'conversion'
    """
    return ConvertLayoutOp.build(
        operands=[value],
        properties={"input_layout": written(source), "target_layout": written(target)},
        result_types=[value.type],
    )


def wanted_by(op: Any, number: int) -> Attribute | None:
    """The layout in which an operation uses an operand, as the module states it."""
    if op.name in ("xegpu.dpas", "xegpu.dpas_mx"):
        names = ("layout_a", "layout_b", "layout_cd")
        return held(op, names[number]) if number < len(names) else None
    if op.name == "xegpu.convert_layout":
        return held(op, "input_layout")
    if op.name in ANCHORS:
        layout = held(op, "layout")
        chunk = getattr(op, "chunk_size", None)
        first = 2 if op.name == "xegpu.store" else 1
        if layout is not None and number >= first and chunk is not None and chunk.value.data > 1:
            return dropped(layout, (layout.rank - 1,))
        return layout
    if not op.results:
        return None
    layout = stated(op, 0)
    return None if layout is None else source_of(op, number, layout)


def _convert(op: Operation, number: int, *, ends: bool, copies: bool) -> None:
    value = op.operands[number]
    source = known(value)
    if source is None:
        return
    if is_branch(op) or op.name in _ENDS:
        if not ends:
            return
        target = _wanted_beyond(op, number)
        parent = op.parent_op()
        once = op.name == "scf.yield" and parent is not None and parent.name == "scf.for" and runs_once(parent)
        if target is None and op.name != "scf.yield":
            return
        if target is None or once:  # LLVM 24 finds no user of what a loop gives that runs once.
            raise LayoutError(f"{op.name}: No consumer layout found for vector operand.")
    else:
        target = wanted_by(op, number)
        if target is None:
            raise LayoutError(f"{op.name}: No consumer layout found for vector operand.")
    if source == target:
        return
    maker = value.owner
    if isinstance(op, ConvertLayoutOp):
        hold(op, "input_layout", source)
        return
    if isinstance(maker, ConvertLayoutOp) and _used_once(value):
        hold(maker, "target_layout", target)
        return
    if copies and isinstance(maker, Operation) and len(maker.results) == 1 and _is_made_of_nothing(maker):
        copy = maker.clone()
        Rewriter.insert_op(copy, InsertPoint.after(maker))
        copy.attributes.pop("layout_result_0", None)
        hold(copy, "layout_result_0", target)
        op.operands[number] = copy.results[0]
        return
    made = conversion(value, source, target)
    place = InsertPoint.at_start(maker) if isinstance(maker, Block) else InsertPoint.after(maker)
    Rewriter.insert_op(made, place)
    op.operands[number] = made.results[0]


def make_again(module: Operation) -> None:
    """What is made of constants alone is made again where it is converted; the copies state no layouts (LLVM 24)."""
    for op in inside_first(module):
        maker = op.operands[0].owner if isinstance(op, ConvertLayoutOp) else None
        if isinstance(maker, Operation) and can_be_made_again(maker):
            op.results[0].replace_all_uses_with(copied(maker, {}))
            op.detach()
            op.erase()


_MADE_OF_NUMBERS = ("arith.constant", "vector.step", "vector.create_mask", "vector.constant_mask", "vector.broadcast")


def can_be_made_again(op: Operation) -> bool:
    """Whether an operation makes its result of numbers alone, or element by element of such results."""
    return _makers(op, _vectors, lambda one: _is_made_of_numbers(one) or is_elementwise(one)) is not None


def _vectors(op: Operation) -> list[SSAValue]:
    return [operand for operand in op.operands if isinstance(operand.type, VectorType)]


def _is_made_of_numbers(op: Operation) -> bool:
    return op.name in _MADE_OF_NUMBERS and not _vectors(op)


def _makers(
    op: Operation, parts: Callable[[Operation], Iterable[SSAValue]], is_fine: Callable[[Operation], bool]
) -> list[Operation] | None:
    """An operation and all that its parts are made of, parts first; None where one is not fine, or is made of itself."""
    order: dict[Operation, None] = {}
    pending: set[Operation] = set()
    waiting: list[tuple[Operation, bool]] = [(op, False)]
    while waiting:
        one, done = waiting.pop()
        if done:
            order[one] = None
            pending.discard(one)
        elif one in pending or not is_fine(one):
            return None
        elif one not in order:
            pending.add(one)
            waiting.append((one, True))
            for part in reversed(list(parts(one))):
                if not isinstance(part.owner, Operation):
                    return None
                waiting.append((part.owner, False))
    return list(order)


def copied(op: Operation, copies: dict[Operation, Operation]) -> SSAValue:
    """A copy of an operation and of the vectors that it is made of, without layouts; `copies` are those made so far.

    >>> copied.__name__
    'copied'
    """
    for one in _makers(op, _vectors, lambda _: True) or ():
        if one in copies:
            continue
        copies[one] = copy = one.clone()
        copy.operands = [
            copies[operand.owner].results[0]
            if isinstance(operand.type, VectorType) and isinstance(operand.owner, Operation)
            else operand
            for operand in one.operands
        ]
        copy.attributes.pop("layout_result_0", None)
        Rewriter.insert_op(copy, InsertPoint.after(one))
    return copies[op].results[0]


def _wanted_beyond(op: Operation, number: int) -> Attribute | None:
    """The layout in which what an operand becomes is known."""
    for other, target in forwarded(op):
        if other == number:
            return known(target)
    return None


def _used_once(value: SSAValue) -> bool:
    uses: list[Use] = list(value.uses)
    return len(uses) == 1


def _is_made_of_nothing(op: Operation) -> bool:
    """Whether an operation can be copied: it has no effects, and all that it is made of can be copied too."""

    def is_fine(one: Operation) -> bool:
        return not one.regions and (is_side_effect_free(one) or one.name == "arith.constant")

    return _makers(op, lambda one: one.operands, is_fine) is not None


def _describe_again(op: Operation, number: int) -> None:
    """A descriptor of its own for an anchor that needs it in another layout."""
    value = op.operands[number]
    has, wants = known(value), held(op, "layout")
    if has is None or wants is None or has == wants:
        return
    maker = _maker_of(value)
    if maker is None:
        raise LayoutError(f"{op.name}: LLVM finds no create_nd_tdesc of its descriptor, to make another in {wants}")
    copy = maker.clone()
    result, kind = copy.results[0], value.type
    if isinstance(kind, TensorDescType):
        Rewriter.replace_value_with_new_type(result, described(kind, wants))
    Rewriter.insert_op(copy, InsertPoint.after(maker))
    for other, operand in enumerate(op.operands):
        if operand is value:
            op.operands[other] = copy.results[0]


def _maker_of(value: SSAValue) -> Operation | None:
    owner = value.owner
    if isinstance(owner, Operation):
        return owner if owner.name == "xegpu.create_nd_tdesc" else None
    loop = owner.parent_op()
    if loop is not None and loop.name in ("scf.for", "scf.while"):
        for number, target in forwarded(loop):
            if target is value:
                return _maker_of(loop.operands[number])
    return None
