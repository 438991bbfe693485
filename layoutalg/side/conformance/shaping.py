"""Kernels of one operation that changes a shape: broadcasts, transposes, casts, slices, reductions.

>>> from random import Random
>>> from layoutalg.side.conformance.bodies import KernelBody
>>> making = Making(Random(0), KernelBody("workgroup"), "vector.transpose", "rows")
>>> transpose(making)
>>> print(making.body.lines[3].partition(" {")[0])
%v1 = vector.transpose %v0, [1, 0]
"""

from __future__ import annotations

from dataclasses import replace

from layoutalg.side.conformance.bodies import KernelValue
from layoutalg.side.conformance.kinds import KINDS, turned
from layoutalg.side.conformance.making import MISMATCH, Making, generates
from layoutalg.xegpu import LayoutAttr, SliceAttr

__all__: list[str] = []

_EVERY = (*KINDS, MISMATCH)
_STARTS = {"add": "0.0", "maxnumf": "0xFF800000", "minnumf": "0x7F800000", "mul": "1.0"}


@generates("vector.transpose", kinds=_EVERY)
def transpose(making: Making) -> None:
    """A transpose whose result keeps every element in its subgroup. A mismatch: with both in the default order."""
    body = making.body
    element = making.random.choice(("f32", "f32", "f16"))
    tile = making.square(element) if making.kind == MISMATCH else making.tile(element)
    source = body.load(element, tile.shape, tile.attribute)
    target = turned(tile.attribute)
    if making.kind in ("rows", "rounds", "shared", MISMATCH):  # lanes as stores want them
        target = replace(
            target,
            inst_data=tile.attribute.inst_data,
            lane_layout=tile.attribute.lane_layout,
            lane_data=tile.attribute.lane_data,
        )
        rows, columns = tile.attribute.inst_data or tile.attribute.lane_layout or (1, 1)
        blocks = target.sg_data or tile.shape[::-1]
        if blocks[0] % rows or blocks[1] % columns:
            target = turned(tile.attribute)
    if making.kind == MISMATCH:
        target = replace(target, order=None)
    made = body.new(tile.shape[::-1], element, target)
    body.add(
        f"{made.name} = vector.transpose {source.name}, [1, 0]{body.attribute(target)} : {source.type} to {made.type}"
    )
    body.store(made)


def _line(making: Making, of: KernelValue, dim: int, layout: SliceAttr) -> KernelValue:
    """Numbers along a dimension of a tile, in the layout of a slice: counted, gathered, or reduced from the tile.

    Compilers may choose the layout of what is counted, so for a mismatch it is one of the others. A reduction runs over the
    dimension that the slice drops: with a slice of the other line, the tile must be a square.
    """
    body, length = making.body, of.shape[dim]
    sources = ("gathered", "reduced") if making.kind == MISMATCH else ("counted", "gathered", "reduced")
    match making.random.choice(sources):
        case "gathered":
            return making.gathered(length, layout, of.element)
        case "reduced":
            return body.reduce(of, layout.dims, "add", "0", layout)
        case _:
            return making.numbers(length, layout)


@generates("vector.broadcast", kinds=_EVERY)
def broadcast(making: Making) -> None:
    """A number, a row or a column, to all of a tile. A mismatch: a row given as a slice that is a column.

    The row or column is counted, gathered, or what a reduction of the tile leaves: the last two are fixed in their layout.
    """
    body = making.body
    tile = making.square("i32") if making.kind == MISMATCH else making.tile("i32")
    how = making.random.choice(("number", "row", "column")) if making.kind != MISMATCH else "row"
    loaded = body.load("i32", tile.shape, tile.attribute)
    made = body.new(tile.shape, "i32", tile.attribute)
    if how == "number":
        body.add("%three = arith.constant 3 : i32")
        body.add(f"{made.name} = vector.broadcast %three{body.attribute(made.layout)} : i32 to {made.type}")
    elif how == "row":
        layout = making.sliced(tile.attribute, 1 if making.kind == MISMATCH else 0)
        row = _line(making, loaded, 1, layout)
        body.add(f"{made.name} = vector.broadcast {row.name}{body.attribute(made.layout)} : {row.type} to {made.type}")
    else:
        column = _line(making, loaded, 0, making.sliced(tile.attribute, 1))
        high = body.cast("vector.shape_cast", column, "i32", shape=(tile.shape[0], 1), layout=tile.attribute)
        body.add(
            f"{made.name} = vector.broadcast {high.name}{body.attribute(made.layout)} : {high.type} to {made.type}"
        )
    body.store(body.elementwise("arith.addi", loaded, made))


@generates("vector.shape_cast", kinds=("rows", "order", "rounds", "shared", "whole", MISMATCH))
def shape_cast(making: Making) -> None:
    """A dimension of size 1 is added, or the same elements stand in another shape (a mismatch by nature)."""
    body = making.body
    if making.kind == MISMATCH:
        tile = making.square("f32")
        loaded = body.load("f32", tile.shape, tile.attribute)
        rows, columns = tile.shape
        made = body.cast("vector.shape_cast", loaded, "f32", shape=(rows // 2, columns * 2))
        if not making.plain:
            block = tile.attribute.sg_data or (1, 1)
            made = replace(made, layout=replace(tile.attribute, sg_data=(block[0] // 2, block[1] * 2)))
            body.lines[-1] = body.lines[-1].replace(str(tile.attribute), str(made.layout))
        body.store(made)
        return
    tile = making.tile("i32")
    layout = making.sliced(tile.attribute, 0)
    row = making.numbers(tile.shape[1], layout)
    wide = body.cast("vector.shape_cast", row, "i32", shape=(1, tile.shape[1]), layout=tile.attribute)
    made = body.new(tile.shape, "i32", tile.attribute)
    body.add(f"{made.name} = vector.broadcast {wide.name}{body.attribute(made.layout)} : {wide.type} to {made.type}")
    body.store(made)


def _back(making: Making, value: KernelValue, like: KernelValue, dim: int) -> KernelValue:
    """A reduced value, spread again over the dimension that went."""
    body = making.body
    shape = tuple(1 if at == dim else extent for at, extent in enumerate(like.shape))
    high = body.cast("vector.shape_cast", value, value.element, shape=shape, layout=like.layout)
    made = body.new(like.shape, value.element, like.layout)
    body.add(f"{made.name} = vector.broadcast {high.name}{body.attribute(made.layout)} : {high.type} to {made.type}")
    return made


@generates("vector.multi_reduction", kinds=(*_EVERY, "line"), plain=("none", "rows", "columns", "line"))
def multi_reduction(making: Making) -> None:
    """Rows, columns or all of a tile reduced and spread again. `line`: the result is a line with a plain layout.

    A mismatch: the result is said to be the other slice.
    """
    body = making.body
    tile = making.square("f32") if making.kind == MISMATCH else making.tile("f32")
    how = making.random.choice(sorted(_STARTS)[:3])
    dim = making.random.choice((0, 1))
    loaded = body.load("f32", tile.shape, tile.attribute)
    if making.kind not in ("line", MISMATCH) and not body.sparse and making.random.random() < 0.2:
        total = body.reduce(loaded, (0, 1), how, _STARTS[how], None)
        made = body.new(tile.shape, "f32", tile.attribute)
        body.add(f"{made.name} = vector.broadcast {total.name}{body.attribute(made.layout)} : f32 to {made.type}")
        body.store(made)
        return
    layout = making.sliced(tile.attribute, dim if making.kind != MISMATCH else 1 - dim)
    reduced = body.reduce(loaded, (dim,), how, _STARTS[how], layout)
    if making.kind == "line" or (body.sparse and making.random.random() < 0.5):
        line, _ = making.line()
        length = reduced.shape[0]
        if not making.plain:
            count = tile.subgroups
            each = length // count if length % (16 * count) == 0 else length
            line = replace(line, sg_layout=(count,), sg_data=(each,), inst_data=(16,) if each % 16 == 0 else None)
            making.subgroups = count
        if length % 16 == 0:
            making.scatter(reduced, line)
            return
    body.store(_back(making, reduced, loaded, dim))


@generates("vector.reduction", kinds=("rows", "pairs", "units", "shared"), plain=("none", "rows", "units"))
def reduction(making: Making) -> None:
    """A line to one number, which goes everywhere."""
    body = making.body
    layout, length = making.line()
    line = making.numbers(length, layout)
    body.add(f"%total = vector.reduction <add>, {line.name} : {line.type} into i32")
    made = body.new((length,), "i32", layout)
    body.add(f"{made.name} = vector.broadcast %total{body.attribute(layout)} : i32 to {made.type}")
    making.scatter(made)


@generates("vector.extract_strided_slice", "vector.insert_strided_slice", kinds=("rows", "order", "whole"))
def slices(making: Making) -> None:
    """The lower half of the rows: taken out, or put over the upper half."""
    body = making.body
    tile = making.tile("f32")
    if making.plain:
        tile = tile.with_shape(tile.shape[0] * 2, tile.shape[1])
    elif tile.attribute.sg_layout is not None and tile.attribute.sg_data is not None:
        grid, block = tile.attribute.sg_layout, tile.attribute.sg_data
        layout = replace(tile.attribute, sg_layout=(1, grid[1]), sg_data=block)
        making.subgroups = grid[1]
        tile = replace(tile, attribute=layout).with_shape(2 * block[0], tile.shape[1])
    rows, columns = tile.shape
    source = body.load("f32", tile.shape, tile.attribute)
    said = "" if making.plain or body.sparse else f", layout_result_0 = {tile.attribute}"
    half = body.new((rows // 2, columns), "f32", tile.attribute)
    body.add(
        f"{half.name} = vector.extract_strided_slice {source.name} {{offsets = [{rows // 2}, 0], "
        f"sizes = [{rows // 2}, {columns}], strides = [1, 1]{said}}} : {source.type} to {half.type}"
    )
    if making.operation == "vector.extract_strided_slice":
        body.store(half)
        return
    whole = body.new(tile.shape, "f32", tile.attribute)
    body.add(
        f"{whole.name} = vector.insert_strided_slice {half.name}, {source.name} {{offsets = [0, 0], strides = [1, 1]{said}}} : "
        f"{half.type} into {source.type}"
    )
    body.store(whole)


def _twice_as_wide(layout: LayoutAttr) -> LayoutAttr:
    """The layout of a tile with twice as many columns, each piece twice as wide."""

    def doubled(field: tuple[int, ...] | None) -> tuple[int, ...] | None:
        return None if field is None else (*field[:-1], field[-1] * 2)

    return replace(
        layout,
        sg_data=doubled(layout.sg_data),
        inst_data=doubled(layout.inst_data),
        lane_data=doubled(layout.lane_data),
    )


@generates("vector.bitcast", kinds=("rows", "pairs", "order", "whole"), plain=("none", "rows", "pairs"))
def bitcast(making: Making) -> None:
    """Numbers of 32 bits as pairs of 16, added to themselves."""
    body = making.body
    tile = making.tile("i32")
    source = body.load("i32", tile.shape, tile.attribute)
    layout = tile.attribute

    pairs = _twice_as_wide(layout)
    shape = (tile.shape[0], tile.shape[1] * 2)
    halves = body.cast("vector.bitcast", source, "i16", shape=shape, layout=pairs)
    twice = body.elementwise("arith.addi", halves, halves)
    body.store(body.cast("vector.bitcast", twice, "i32", shape=tile.shape, layout=layout))


@generates("vector.interleave", "vector.deinterleave", kinds=("rows", "pairs", "whole"), plain=("none", "rows"))
def interleave(making: Making) -> None:
    """Two tiles with their columns in turn, or one tile taken apart that way."""
    body = making.body
    tile = making.tile("i16")
    layout = tile.attribute

    twice = _twice_as_wide(layout)
    wide = (tile.shape[0], tile.shape[1] * 2)
    if making.operation == "vector.interleave":
        left, right = (body.load("i16", tile.shape, layout) for _ in range(2))
        made = body.new(wide, "i16", twice)
        body.add(
            f"{made.name} = vector.interleave {left.name}, {right.name}{body.attribute(twice)} : {left.type} -> {made.type}"
        )
        body.store(made)
        return
    source = body.load("i16", wide, twice)
    even, odd = body.new(tile.shape, "i16", layout), body.new(tile.shape, "i16", layout)
    said = "" if making.plain or body.sparse else f" {{layout_result_0 = {layout}, layout_result_1 = {layout}}}"
    body.add(f"{even.name}, {odd.name} = vector.deinterleave {source.name}{said} : {source.type} -> {even.type}")
    body.store(body.elementwise("arith.subi", even, odd))


@generates("vector.step")
def step(making: Making) -> None:
    """Numbers counted along a line."""
    layout, length = making.line()
    making.scatter(making.numbers(length, layout))


@generates("vector.create_mask", "vector.constant_mask", kinds=("rows", "pairs", "units", "rounds"))
def masks(making: Making) -> None:
    """The first elements of a line, chosen by a mask."""
    body = making.body
    layout, length = making.line()
    part = making.random.randint(1, length - 1)
    mask = body.new((length,), "i1", layout)
    if making.operation == "vector.create_mask":
        body.add(f"%part = arith.constant {part} : index")
        body.add(f"{mask.name} = vector.create_mask %part{body.attribute(layout)} : {mask.type}")
    else:
        body.add(f"{mask.name} = vector.constant_mask [{part}]{body.attribute(layout)} : {mask.type}")
    making.scatter(body.cast("arith.extui", mask, "i32"))
