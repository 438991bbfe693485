"""The rules of LLVM 23 and 24: an anchor keeps the layout that it has, and says lanes beside an instruction's tile.

A block load and a gather make what their user wants. A reduction, a bitcast or an interleaving needs more of its result's
layout than the user may want: then it states its own, and the difference is a conversion's.

>>> from layoutalg.ir import read_module
>>> from layoutalg.side.llvm_passes.propagating import propagated_like
>>> module = read_module('''gpu.module @m { gpu.func @k(%m: memref<64x64xf16>) {
...   %t = xegpu.create_nd_tdesc %m : memref<64x64xf16> -> !xegpu.tensor_desc<16x16xf16>
...   %v = xegpu.load_nd %t[0, 0] <{layout = #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>}>
...     : !xegpu.tensor_desc<16x16xf16> -> vector<16x16xf16>
...   xegpu.store_nd %v, %t[8, 0] : vector<16x16xf16>, !xegpu.tensor_desc<16x16xf16>
...   gpu.return } }''')
>>> lane = propagated_like(module, llvm=24, level="lane")
>>> print(next(op for op in lane.walk() if op.name == "xegpu.convert_layout").target_layout)
#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, VectorType
from xdsl.ir import Operation, SSAValue

from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import MOST_WORK_ITEMS
from layoutalg.side.llvm_passes import anchors, sources
from layoutalg.side.llvm_passes.analysis import Analysis, GaveUp, Rule, bits_of, held, hold, shape_in
from layoutalg.side.llvm_passes.block_sizes import LANES, PREFETCH, STORE, Blocks
from layoutalg.side.llvm_passes.fields import Attribute, dropped, has_level, lanes, numbers_of, sliced, with_data
from layoutalg.side.llvm_passes.reductions import Upright, lacks_lanes, reduced
from layoutalg.xegpu import LayoutAttr

__all__ = ["rules"]


def _block_of(op: Operation) -> Sequence[int] | None:
    """The work-items of a workgroup that the kernel says."""
    parent = op.parent_op()
    while parent is not None and parent.name != "gpu.func":
        parent = parent.parent_op()
    said = getattr(parent, "known_block_size", None)
    if not isinstance(said, DenseArrayBase):
        return None
    if prod(said.get_values()) > MOST_WORK_ITEMS:
        sizes = list(said.get_values())
        raise LayoutError(f"known_block_size = {sizes}: a workgroup has at most {MOST_WORK_ITEMS:,} work-items")
    return said.get_values()


def _count(op: Operation, analysis: Analysis, wanted: Attribute | None = None) -> int | None:
    """The number of subgroups; at the level of workgroups it must be known."""
    found = anchors.count_of(wanted, _block_of(op), binary=analysis.habits.strict)
    if found is None and analysis.level == "workgroup":
        analysis.give_up(op, "Unable to determine the number of subgroups for the operation.", fails=True)
    return found


def _said(op: Operation, name: str, analysis: Analysis) -> Attribute | None:
    """The anchor's own layout, if it says the level."""
    found = held(op, name)
    return found if has_level(found, analysis.level) else None


_NO_LANES = "Failed to identify lane layouts for the specified inst_data."


def _message(op: Any, value: SSAValue, blocks: Blocks, analysis: Analysis, what: str) -> Attribute:
    """The layout of a block store or a prefetch, which it holds from then on."""
    layout, bits = _said(op, "layout", analysis), analysis.bits(value)
    if layout is None:
        count = _count(op, analysis)
        goes_on = not analysis.habits.rigid
        layout = anchors.block_message(shape_in(value), bits, analysis.level, count, blocks, goes_on=goes_on)
        if layout is None and analysis.level == "inst" and not analysis.habits.rigid:
            raise LayoutError(f"{op.name}: LLVM 23 writes inst_data = -1 for a block of {shape_in(value)}")
        if layout is None:
            analysis.give_up(op, f"Failed to determine required layout for {what}.", fails=what == "store_nd")
    elif analysis.level == "inst" and lacks_lanes(layout):
        inst = numbers_of(layout, "inst_data") or ()
        layout = anchors.completed(inst, *anchors.block_lanes(inst, bits, 16))
        if layout is None:
            analysis.give_up(op, _NO_LANES)
    hold(op, "layout", layout)
    return layout


def _store_nd(op: Any, analysis: Analysis) -> None:
    layout = _message(op, op.operands[0], STORE, analysis, "store_nd")
    for operand in op.operands:
        analysis.give(operand, layout)


def _prefetch_nd(op: Any, analysis: Analysis) -> None:
    analysis.give(op.operands[0], _message(op, op.operands[0], PREFETCH, analysis, "prefetch_nd"))


def _load_nd(op: Any, analysis: Analysis) -> None:
    wanted = analysis.wanted(op)
    layout, bits = _said(op, "layout", analysis), analysis.bits(op.results[0])
    if layout is None:
        _count(op, analysis, wanted)
        rigid = analysis.habits.rigid
        layout = anchors.block_load(shape_in(op.results[0]), bits, analysis.level, wanted, rigid=rigid)
        if layout is None:
            analysis.give_up(op, "Failed to determine required layout for load_nd.")
    elif analysis.level == "inst" and numbers_of(wanted, "lane_layout") and lacks_lanes(layout):
        inst = numbers_of(layout, "inst_data") or ()
        counts = tuple(max(LANES, each) if each > 1 else 1 for each in numbers_of(wanted, "lane_layout") or ())
        data = numbers_of(wanted, "lane_data")
        if data is not None:
            layout = anchors.completed(inst, counts, data, wanted.parent_layout().order)
            if layout is None:
                analysis.give_up(op, _NO_LANES)
    hold(op, "layout", layout)
    analysis.give(op.operands[0], layout)


def _dpas(op: Any, analysis: Analysis) -> None:
    names = ("layout_a", "layout_b", "layout_cd")
    values = (op.operands[0], op.operands[1], op.results[0])
    shapes, bits = [shape_in(value) for value in values], [analysis.bits(value) for value in values]
    layouts: Sequence[Attribute | None] | None = [held(op, name) for name in names]
    if not has_level(layouts[2], analysis.level):
        wanted = analysis.wanted(op)
        count = _count(op, analysis, wanted)
        if analysis.level != "lane" and bits_of(op.operands[0]) == 19:
            raise LayoutError(f"{op.name}: {anchors.UNDEFINED}: LLVM has no depth for tf32")
        if min(map(len, shapes)) < 2:
            raise LayoutError(f"{op.name}: {anchors.UNDEFINED}: LLVM reads the rows of vectors that have none")
        layouts = anchors.product(shapes, bits, analysis.level, count, wanted, by_result=analysis.habits.strict)
        if layouts is None:
            analysis.give_up(op, "Failed to determine required layouts for DPAS operands.")
    elif analysis.level == "inst":
        layouts = _completed_product(layouts, shapes, bits)
        if layouts is None:
            analysis.give_up(op, _NO_LANES)
    for name, layout in zip(names, layouts, strict=True):
        hold(op, name, layout)
    for operand, layout in zip(op.operands, layouts, strict=False):
        if layout is not None:
            analysis.give(operand, layout)


def _completed_product(
    layouts: Sequence[Attribute | None], shapes: Sequence[Sequence[int]], bits: Sequence[int]
) -> list[Attribute] | None:
    spread = (
        anchors.block_lanes(shapes[0], bits[0], 16),
        anchors.block_lanes(shapes[1], bits[1], 32, transformed=True),
        anchors.block_lanes(shapes[2], bits[2], bits[2]),
    )
    found: list[Attribute] = []
    for layout, (counts, data) in zip(layouts, spread, strict=True):
        inst = None if layout is None else numbers_of(layout, "inst_data")
        if layout is None or inst is None:
            raise LayoutError("xegpu.dpas: LLVM crashes: some of its layouts say no inst_data")
        each = anchors.completed(inst, counts, data, layout.parent_layout().order)
        if each is None:
            return None
        found.append(each)
    return found


def _chunk(op: Any) -> int:
    return 1 if op.chunk_size is None else int(op.chunk_size.value.data)


def _of_mask(layout: Attribute, chunk: int) -> Attribute:
    return dropped(layout, (layout.rank - 1,)) if chunk > 1 else layout


def _load(op: Any, analysis: Analysis) -> None:
    wanted = analysis.wanted(op)
    layout, chunk = _said(op, "layout", analysis), _chunk(op)
    if layout is None:
        layout = anchors.generic_load(shape_in(op.results[0]), analysis.level, wanted)
        hold(op, "layout", layout)
    elif analysis.level == "inst" and numbers_of(wanted, "lane_layout") and lacks_lanes(layout):
        inst = numbers_of(layout, "inst_data") or ()
        counts, data = numbers_of(wanted, "lane_layout"), numbers_of(wanted, "lane_data")
        found = anchors.completed(inst, counts, data) if counts and data else None
        layout = found or anchors.completed(inst, *anchors.scattered_lanes(inst, 16))
        if layout is None:
            analysis.give_up(op, _NO_LANES)
        hold(op, "layout", layout)
    for operand in op.operands[1:]:
        analysis.give(operand, _of_mask(layout, chunk))


def _scattered(op: Any, chunk: int, analysis: Analysis, what: str) -> Attribute:
    layout = _said(op, "layout", analysis)
    if layout is None:
        if not isinstance(op.operands[0].type, VectorType):
            raise GaveUp
        count = _count(op, analysis)
        layout = anchors.scattered(shape_in(op.operands[0]), analysis.level, chunk, count)
        if layout is None:
            analysis.give_up(op, f"Failed to determine required layout for {what}.", fails=True)
    elif analysis.level == "inst" and lacks_lanes(layout):
        inst = numbers_of(layout, "inst_data") or ()
        layout = anchors.completed(inst, *anchors.scattered_lanes(inst, 16))
        if layout is None:
            analysis.give_up(op, _NO_LANES)
    hold(op, "layout", layout)
    return layout


def _store(op: Any, analysis: Analysis) -> None:
    chunk = _chunk(op)
    layout = _scattered(op, chunk, analysis, "store scatter")
    analysis.give(op.operands[0], layout)
    for operand in op.operands[2:]:
        analysis.give(operand, _of_mask(layout, chunk))


def _store_matrix(op: Any, analysis: Analysis) -> None:
    analysis.give(op.operands[0], _scattered(op, 1, analysis, "store matrix"))


def _load_matrix(op: Any, analysis: Analysis) -> None:
    wanted = analysis.wanted(op)
    if _said(op, "layout", analysis) is not None:
        return
    if analysis.level == "inst" and analysis.habits.rigid and not lacks_lanes(wanted):
        wanted = lanes(numbers_of(wanted, "lane_layout") or (), numbers_of(wanted, "lane_data") or ())
    hold(op, "layout", anchors.generic_load(shape_in(op.results[0]), analysis.level, wanted))


def _convert(op: Any, analysis: Analysis) -> None:
    target, source = held(op, "target_layout"), held(op, "input_layout")
    wanted = analysis.demanded(op.results[0])
    if analysis.level == "inst" and isinstance(target, LayoutAttr):
        if isinstance(wanted, LayoutAttr) and target.lane_layout is None:
            target = _with_lanes(target, wanted)
            hold(op, "target_layout", target)
        if isinstance(source, LayoutAttr) and source.lane_layout is None:
            source = _with_lanes(source, target)
            hold(op, "input_layout", source)
    if source is not None:
        analysis.give(op.operands[0], source)


def _with_lanes(layout: LayoutAttr, of: LayoutAttr) -> LayoutAttr:
    return LayoutAttr(layout.sg_layout, layout.sg_data, layout.inst_data, of.lane_layout, of.lane_data, of.order)


def _state(op: Operation, layout: Attribute) -> None:
    """The layout that an operation needs of its result; the first that is stated stays."""
    if held(op, "layout_result_0") is None:
        hold(op, "layout_result_0", layout)


def _reduction(op: Any, analysis: Analysis, upright: Upright) -> None:
    wanted = analysis.demanded(op.results[0])
    if wanted is None and isinstance(op.results[0].type, VectorType):
        return
    count = _count(op, analysis, wanted)
    dims = tuple(op.reduction_dims.get_values())
    reuses = analysis.habits.reuses
    source = reduced(shape_in(op.operands[0]), dims, wanted, count, analysis.level, upright, reuses=reuses)
    _state(op, sliced(source, dims))
    analysis.give(op.operands[0], source)
    analysis.give(op.operands[1], sliced(source, dims))


def _reduction_to_scalar(op: Any, analysis: Analysis) -> None:
    shape = shape_in(op.operands[0])
    if analysis.level != "lane":
        raise LayoutError(f"vector.reduction: LLVM crashes at the level {analysis.level}")
    source = lanes((min(LANES, shape[0]),), (1,))
    _state(op, sliced(source, (0,)))
    analysis.give(op.operands[0], source)
    for operand in op.operands[1:]:
        analysis.give(operand, sliced(source, (0,)))


def _broadcast(op: Any, analysis: Analysis) -> None:
    if isinstance(op.operands[0].type, VectorType):
        wanted = analysis.wanted(op)
        analysis.give(op.operands[0], sources.broadcast(wanted, shape_in(op.results[0]), shape_in(op.operands[0])))


def _shape_cast(op: Any, analysis: Analysis) -> None:
    wanted = analysis.wanted(op)
    source = sources.shape_cast(wanted, shape_in(op.results[0]), shape_in(op.operands[0]))
    if source is None:
        analysis.give_up(op, "Failed to infer source layout for shape_cast; unsupported shape-cast pattern.")
    analysis.give(op.operands[0], source)


def _transpose(op: Any, analysis: Analysis) -> None:
    analysis.give(op.operands[0], sources.transpose(analysis.wanted(op), op.permutation.get_values()))


def _grown(wanted: Attribute, ratio: int, bound: int, level: str) -> Attribute:
    """The result's layout with an innermost share that `ratio` divides; it is doubled until it does."""
    dim = wanted.rank - 1
    field = {"workgroup": "sg_data", "inst": "inst_data", "lane": "lane_data"}[level]
    values = numbers_of(wanted, field)
    if values is None:
        raise LayoutError(
            f"a bitcast or an interleaving that is demanded in {wanted}: LLVM reads {field}, which isn't there"
        )
    unit = ratio
    if level == "inst":
        counts = numbers_of(wanted, "lane_layout")
        unit *= LANES if counts is None else counts[dim]
    share = values[dim]
    while share <= bound and share % unit:
        share *= 2
    return with_data(wanted, dim, **{field: share})


def _bitcast(op: Any, analysis: Analysis) -> None:
    wanted = analysis.wanted(op)
    before, after = analysis.bits(op.operands[0]), analysis.bits(op.results[0])
    if before > after:
        wanted = _grown(wanted, before // after, shape_in(op.results[0])[-1], analysis.level)
    _state(op, wanted)
    analysis.give(op.operands[0], sources.bitcast(wanted, after, before))


def _interleave(op: Any, analysis: Analysis) -> None:
    wanted = analysis.wanted(op)
    wanted = _grown(wanted, 2, shape_in(op.results[0])[-1], analysis.level)
    _state(op, wanted)
    for number, operand in enumerate(op.operands):
        source = sources.source_of(op, number, wanted)
        if source is not None:
            analysis.give(operand, source)


def _deinterleave(op: Any, analysis: Analysis) -> None:
    source = sources.source_of(op, 0, analysis.wanted(op))
    if source is not None:
        analysis.give(op.operands[0], source)


def _insert(op: Any, analysis: Analysis) -> None:
    wanted = analysis.wanted(op)
    if analysis.level == "lane":
        counts, data = numbers_of(wanted, "lane_layout") or (), numbers_of(wanted, "lane_data") or ()
        for dim, size in enumerate(shape_in(op.operands[0])):
            wanted = with_data(wanted, dim, lane_data=min(size // counts[dim], data[dim]))
    _state(op, wanted)
    source = sources.source_of(op, 0, wanted)
    if source is not None:
        analysis.give(op.operands[0], source)
    analysis.give(op.operands[1], wanted)


def rules(upright: Upright) -> dict[str, Rule]:
    """The rules of a version, which differ in how they put lanes on the rows of what is reduced."""

    def reduction(op: Any, analysis: Analysis) -> None:
        _reduction(op, analysis, upright)

    return {**_RULES, "vector.multi_reduction": reduction}


_RULES: dict[str, Rule] = {
    "vector.bitcast": _bitcast,
    "vector.broadcast": _broadcast,
    "vector.deinterleave": _deinterleave,
    "vector.insert_strided_slice": _insert,
    "vector.interleave": _interleave,
    "vector.reduction": _reduction_to_scalar,
    "vector.shape_cast": _shape_cast,
    "vector.transpose": _transpose,
    "xegpu.convert_layout": _convert,
    "xegpu.dpas": _dpas,
    "xegpu.load": _load,
    "xegpu.load_matrix": _load_matrix,
    "xegpu.load_nd": _load_nd,
    "xegpu.prefetch_nd": _prefetch_nd,
    "xegpu.store": _store,
    "xegpu.store_matrix": _store_matrix,
    "xegpu.store_nd": _store_nd,
}
