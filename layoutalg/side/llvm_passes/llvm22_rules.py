"""The rules of LLVM 22: what each operation demands of its operands.

An anchor (a dpas, a store, a prefetch, a gather) demands its own layout, unless it has one of the level. Everything else passes
on what is demanded of its result. At the level of instructions a layout has a tile alone, at the others lanes alone.

>>> from layoutalg.ir import read_module
>>> from layoutalg.side.llvm_passes.propagating import propagated_like
>>> module = read_module('''gpu.module @m { gpu.func @k(%m: memref<64x64xf16>) {
...   %t = xegpu.create_nd_tdesc %m : memref<64x64xf16> -> !xegpu.tensor_desc<8x16xf16>
...   %v = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<8x16xf16> -> vector<8x16xf16>
...   %w = arith.addf %v, %v : vector<8x16xf16>
...   xegpu.store_nd %w, %t[8, 0] : vector<8x16xf16>, !xegpu.tensor_desc<8x16xf16>
...   gpu.return } }''')
>>> lane = propagated_like(module, llvm=22, level="lane")
>>> print(next(op for op in lane.walk() if op.name == "arith.addf").attributes["layout_result_0"])
#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue

from layoutalg.core.errors import LayoutError
from layoutalg.ir.dialects.xegpu.attributes import TensorDescType
from layoutalg.side.llvm_passes.analysis import Analysis, GaveUp, Rule, bits_of, carries, held, hold, shape_in
from layoutalg.side.llvm_passes.block_sizes import (
    LANES,
    PREFETCH,
    ROWS,
    STORE,
    Blocks,
    largest_divisor,
    tile,
    whole_bytes,
)
from layoutalg.side.llvm_passes.fields import Attribute, fits, has_level, lanes, numbers_of, sliced, tiles
from layoutalg.xegpu import LayoutAttr

__all__ = ["RULES", "UNDEFINED", "elementwise"]

UNDEFINED = "what happens is not defined"
_PACKED = 16
_PACKED_B = 32
_SCATTERED = 32


def elementwise(op: Any, analysis: Analysis) -> None:
    """Every vector and descriptor among the operands is demanded as the result is.

    >>> elementwise.__name__
    'elementwise'
    """
    for result in op.results:
        for operand in op.operands:
            if carries(operand.type):
                analysis.pass_on(operand, result)


def _crash(op: Any, why: str) -> LayoutError:
    return LayoutError(f"{op.name}: LLVM 22 crashes: {why}")


def _block_lanes(shape: Sequence[int], bits: int, packed: int) -> LayoutAttr:
    if len(shape) == 1:
        return lanes((LANES,), (1,))
    return lanes((1, LANES), (1, packed // bits if bits < packed else 1))


def _message(op: Any, value: SSAValue, blocks: Blocks, analysis: Analysis) -> Attribute:
    """The layout of a block store or a prefetch."""
    bits, shape = whole_bytes(bits_of(value)), shape_in(value)
    if (bits, "") not in blocks:
        raise _crash(op, f"it has no block of {bits}-bit elements")
    if analysis.level != "inst":
        return _block_lanes(shape, bits_of(value), _PACKED)
    found = tile(shape, blocks, bits)
    if found is None:
        raise LayoutError(
            f"{op.name}: No suitable instruction multiple found for the given shape. ({'x'.join(map(str, shape))}, "
            f"blocks of {blocks[bits, '']}; LLVM 22 writes inst_data = -1)"
        )
    return tiles(found)


def _store_nd(op: Any, analysis: Analysis) -> None:
    layout = held(op, "layout")
    if layout is None or not has_level(layout, analysis.level):
        layout = _message(op, op.operands[0], STORE, analysis)
        hold(op, "layout", layout)
    for operand in op.operands:
        analysis.give(operand, layout)


def _prefetch_nd(op: Any, analysis: Analysis) -> None:
    layout = held(op, "layout")
    if layout is None or not has_level(layout, analysis.level):
        layout = _message(op, op.operands[0], PREFETCH, analysis)
        hold(op, "layout", layout)
    analysis.give(op.operands[0], layout)


def _load_nd(op: Any, analysis: Analysis) -> None:
    layout = held(op, "layout")
    if layout is None or not has_level(layout, analysis.level):
        layout = analysis.wanted(op)
        if op.transpose is not None:
            layout = _turned(layout, op.transpose.get_values())
        hold(op, "layout", layout)
    analysis.give(op.operands[0], layout)


def _dpas(op: Any, analysis: Analysis) -> None:
    names = ("layout_a", "layout_b", "layout_cd")[: max(2, len(op.operands))]
    accumulator = held(op, "layout_cd")
    if accumulator is not None and has_level(accumulator, analysis.level):
        layouts = [held(op, name) for name in names]
    else:
        layouts = list(_product(op, analysis))
        for name, layout in zip(names, layouts, strict=True):
            hold(op, name, layout)
    for operand, layout in zip(op.operands, layouts, strict=True):
        if layout is not None:
            analysis.give(operand, layout)


def _product(op: Any, analysis: Analysis) -> list[Attribute]:
    shapes, bits = [shape_in(value) for value in op.operands], [bits_of(value) for value in op.operands]
    rows, columns = largest_divisor(shapes[0][0], ROWS), largest_divisor(shapes[1][-1], (LANES,))
    if analysis.level != "inst":
        packed_b = _PACKED_B // bits[1] if bits[1] < _PACKED_B else 1
        found: list[Attribute] = [_block_lanes(shapes[0], bits[0], _PACKED), lanes((1, LANES), (packed_b, 1))]
        return [
            *found,
            *(_block_lanes(shape, each, _PACKED_B) for shape, each in zip(shapes[2:], bits[2:], strict=True)),
        ]
    if rows is None or columns is None:
        raise LayoutError(
            f"{op.name}: No suitable instruction multiple found for the given shape. (N = {shapes[1][-1]}, expected a "
            f"multiple of {LANES}; LLVM 22 writes inst_data = -1)"
        )
    whole: list[Attribute] = [tiles((rows, LANES)), tiles((LANES, columns)), tiles((rows, columns))]
    return whole[: len(shapes)]


def _reduction(op: Any, analysis: Analysis) -> None:
    if analysis.demanded(op.results[0]) is None or len(shape_in(op.results[0])) != 1:
        return
    analysis.give(op.operands[0], lanes((1, LANES), (1, 1)))
    analysis.pass_on(op.operands[1], op.results[0])


def _broadcast(op: Any, analysis: Analysis) -> None:
    layout = analysis.demanded(op.results[0])
    source, shape = shape_in(op.operands[0]), shape_in(op.results[0])
    if layout is None or not isinstance(op.operands[0].type, VectorType):
        return
    lead = len(shape) - len(source)
    if lead == 0:
        analysis.give(op.operands[0], layout)
        return
    repeated = [dim + lead for dim, size in enumerate(source) if size == 1 and shape[dim + lead] != 1]
    analysis.give(op.operands[0], sliced(layout, (*range(lead), *repeated)))


def _shape_cast(op: Any, analysis: Analysis) -> None:
    layout = analysis.demanded(op.results[0])
    source, shape = shape_in(op.operands[0]), shape_in(op.results[0])
    if layout is None or len(source) != 1 or len(shape) != 2:
        return
    if not isinstance(layout, LayoutAttr):
        raise _crash(op, f"its result is demanded in a slice, {layout}")
    analysis.give(op.operands[0], sliced(layout, (0 if shape[0] == 1 else 1,)))


def _turned(layout: Attribute, permutation: Sequence[int]) -> Attribute:
    """The fields of one level in another order: subgroups before instructions before lanes. The rest is forgotten."""

    def turn(values: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if values is not None and len(values) < len(permutation):
            raise LayoutError(
                f"dimensions {list(permutation)} of {layout}: {UNDEFINED}: LLVM 22 reads more than it has"
            )
        return None if values is None else tuple(values[dim] for dim in permutation)

    subgroups, shares = numbers_of(layout, "sg_layout"), numbers_of(layout, "sg_data")
    inst = numbers_of(layout, "inst_data")
    if shares is not None:
        return LayoutAttr(sg_layout=turn(subgroups), sg_data=turn(shares), order=turn(layout.parent_layout().order))
    if inst is not None:
        return tiles(turn(inst) or ())
    return LayoutAttr(
        lane_layout=turn(numbers_of(layout, "lane_layout")), lane_data=turn(numbers_of(layout, "lane_data"))
    )


def _transpose(op: Any, analysis: Analysis) -> None:
    analysis.give(op.operands[0], _turned(analysis.wanted(op), op.permutation.get_values()))


def _bitcast(op: Any, analysis: Analysis) -> None:
    layout = analysis.wanted(op)
    before, after = bits_of(op.operands[0]), bits_of(op.results[0])
    if before == after:
        analysis.pass_on(op.operands[0], op.results[0])
        return
    spread, data = numbers_of(layout, "lane_layout"), numbers_of(layout, "lane_data")
    if spread is None or data is None:
        raise LayoutError(f"{op.name}: {UNDEFINED}: LLVM 22 reads lane_data that {layout} does not have")
    if not fits(shape_in(op.results[0]), spread, data):
        return
    if data[-1] * after < before or any(size != 1 for size in data[:-1]):
        return
    last = data[-1] * after // before
    analysis.give(op.operands[0], lanes(spread, (*data[:-1], last)))


def _scattered(op: Any, payload: SSAValue, analysis: Analysis) -> tuple[Attribute, Attribute]:
    """The layouts of a gather's or scatter's value, and of its mask and offsets."""
    layout = held(op, "layout")
    if layout is not None and has_level(layout, analysis.level):
        return layout, layout
    if not isinstance(payload.type, VectorType):
        raise GaveUp
    if analysis.level == "inst":
        layout = tiles(_points(op))
    else:
        shape, bits = shape_in(payload), bits_of(payload)
        packed = _SCATTERED // bits if bits < _SCATTERED else 1
        layout = lanes((LANES,), (1,)) if len(shape) == 1 else lanes((LANES, 1), (1, packed))
    hold(op, "layout", layout)
    return layout, lanes((LANES,), (1,))


def _points(op: Any) -> tuple[int, ...]:
    chunk = 0 if op.chunk_size is None else op.chunk_size.value.data
    if chunk > 1:
        return (LANES, chunk)
    memory = next((operand.type for operand in op.operands if isinstance(operand.type, TensorDescType)), None)
    if memory is not None and len(memory.get_shape()) > 1:
        raise LayoutError(f"{op.name}: LLVM 22 writes inst_data = [{LANES}, 0] for a descriptor with chunks")
    return (LANES,)


def _load(op: Any, analysis: Analysis) -> None:
    found = _scattered(op, op.results[0], analysis)
    for operand, layout in zip(op.operands, (found[0], found[1], found[1]), strict=False):
        if operand is not op.operands[0] or isinstance(operand.type, TensorDescType):
            analysis.give(operand, layout)


def _store(op: Any, analysis: Analysis) -> None:
    found = _scattered(op, op.operands[0], analysis)
    analysis.give(op.operands[0], found[0])
    if isinstance(op.operands[1].type, TensorDescType):
        analysis.give(op.operands[1], found[0])
    for operand in op.operands[2:]:
        analysis.give(operand, found[1])


def _create_tdesc(op: Any, analysis: Analysis) -> None:
    if analysis.demanded(op.results[0]) is not None:
        analysis.give(op.operands[1], lanes((LANES,), (1,)))


def _update_nd_offset(op: Any, analysis: Analysis) -> None:
    analysis.pass_on(op.operands[0], op.results[0])


RULES: dict[str, Rule] = {
    "vector.bitcast": _bitcast,
    "vector.broadcast": _broadcast,
    "vector.multi_reduction": _reduction,
    "vector.shape_cast": _shape_cast,
    "vector.transpose": _transpose,
    "xegpu.create_tdesc": _create_tdesc,
    "xegpu.dpas": _dpas,
    "xegpu.load": _load,
    "xegpu.load_nd": _load_nd,
    "xegpu.prefetch_nd": _prefetch_nd,
    "xegpu.store": _store,
    "xegpu.store_nd": _store_nd,
    "xegpu.update_nd_offset": _update_nd_offset,
}
