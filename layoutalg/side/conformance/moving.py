"""Kernels of one operation that moves data: blocks, shared memory, gathers, conversions, products, loops.

>>> from random import Random
>>> from layoutalg.side.conformance.bodies import KernelBody
>>> making = Making(Random(0), KernelBody("workgroup"), "xegpu.convert_layout", "columns")
>>> convert(making)
>>> making.subgroups
8
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from layoutalg.side.conformance.bodies import KernelValue, vector_type
from layoutalg.side.conformance.kinds import BITS, KINDS, Tile
from layoutalg.side.conformance.making import MISMATCH, Making, generates
from layoutalg.xegpu import LayoutAttr

__all__ = ["multiplied"]


@generates("xegpu.load_nd", "xegpu.store_nd", "xegpu.prefetch_nd")
def blocks(making: Making) -> None:
    """A block copied."""
    body = making.body
    element = making.random.choice(("f32", "f16", "i8", "bf16"))
    tile = making.tile(element)
    if making.operation == "xegpu.prefetch_nd":
        name, kind = body.descriptor(element, tile.shape, tile.attribute)
        said = f" <{{layout = {tile.attribute}}}>" if making.plain and body.anchored else ""
        body.add(f"xegpu.prefetch_nd {name}[%c0, %c0]{said} : {kind}")
        body.store(body.load(element, tile.shape, tile.attribute, of=(name, kind)))
        return
    body.store(body.load(element, tile.shape, tile.attribute))


@generates("xegpu.store_matrix", "xegpu.load_matrix")
def matrices(making: Making) -> None:
    """A tile through shared memory: written in the kind's layout and read by rows, or the other way round."""
    body = making.body
    element = making.random.choice(("f32", "f16"))
    tile = making.tile(element)
    rows = _rows_of(making, tile, element)
    first, second = (tile.attribute, rows) if making.operation == "xegpu.store_matrix" else (rows, tile.attribute)
    loaded = body.load(element, tile.shape, first)
    size = prod(tile.shape) * BITS[element] // 8
    shape = "x".join(map(str, tile.shape))
    matrix = f"!xegpu.mem_desc<{shape}x{element}>"
    made = body.new(tile.shape, element, second)

    def said(layout: LayoutAttr) -> str:
        return f" <{{layout = {layout}}}>" if not making.plain or body.anchored else ""

    body.add(
        f"%shared = memref.alloca() : memref<{size}xi8, 3>",
        f"%matrix = xegpu.create_mem_desc %shared : memref<{size}xi8, 3> -> {matrix}",
        f"xegpu.store_matrix {loaded.name}, %matrix[0, 0]{said(first)} : {loaded.type}, {matrix}",
        "gpu.barrier",
        f"{made.name} = xegpu.load_matrix %matrix[0, 0]{said(second)} : {matrix} -> {made.type}",
    )
    body.store(made)


def _rows_of(making: Making, tile: Tile, element: str) -> LayoutAttr:
    """The same subgroups and blocks, with lanes along rows as block loads have them."""
    data = (1, 2) if BITS[element] == 8 else (1, 1)
    inst = None if tile.attribute.inst_data is None else (8, 16)
    return replace(tile.attribute, inst_data=inst, lane_layout=(1, 16), lane_data=data)


@generates("xegpu.convert_layout")
def convert(making: Making) -> None:
    """A tile by rows made one of the kind, or the other way round: other lanes, other subgroups, or both."""
    body = making.body
    if making.plain and making.kind == "columns" and making.random.random() < 0.5:
        _transposed_operand(making)
        return
    element = making.random.choice(("f32", "f16"))
    tile = making.tile(element)
    source = _rows_of(making, tile, element)
    if not making.plain and making.kind in ("rows", "order", "shared", "rounds", "whole"):
        source = _strips(source, tile.shape)
        if making.random.random() < 0.3:
            source = making.other(source)
    target = tile.attribute
    if making.random.random() < 0.5:
        source, target = target, source
    loaded = body.load(element, tile.shape, source)
    made = body.new(tile.shape, element, target)
    body.add(
        f"{made.name} = xegpu.convert_layout {loaded.name} <{{input_layout = {source}, target_layout = {target}}}> : "
        f"{loaded.type}"
    )
    body.store(made)


def _transposed_operand(making: Making) -> None:
    """B of a product, loaded a row per lane and converted to what the product takes."""
    body = making.body
    rows, lanes = LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)), LayoutAttr(lane_layout=(16, 1), lane_data=(1, 2))
    packed = LayoutAttr(lane_layout=(1, 16), lane_data=(2, 1))
    a, b = body.load("f16", (8, 16), rows), body.load("f16", (16, 16), lanes)
    made = body.new((16, 16), "f16", packed)
    body.add(
        f"{made.name} = xegpu.convert_layout {b.name} <{{input_layout = {lanes}, target_layout = {packed}}}> : {b.type}"
    )
    zero = body.constant((8, 16), "f32", "0.0", rows)
    body.store(multiplied(making, a, made, zero, None))


def _strips(layout: LayoutAttr, shape: tuple[int, int]) -> LayoutAttr:
    """All subgroups below each other, where the rows are enough; otherwise the layout itself."""
    count = prod(layout.sg_layout or (1,))
    high = shape[0] // count
    least = (layout.inst_data or (1, 1))[0]
    if shape[0] % count or high % least:
        return layout
    return replace(layout, sg_layout=(count, 1), sg_data=(high, shape[1]), order=None)


_SHAPES = {"f16": 16, "bf16": 16, "i8": 32}


def multiplied(
    making: Making,
    a: KernelValue,
    b: KernelValue,
    c: KernelValue,
    layouts: tuple[LayoutAttr, LayoutAttr, LayoutAttr] | None,
) -> KernelValue:
    """A product added to `c`, with the layouts of all three where they are said."""
    made = making.body.new(c.shape, c.element, c.layout)
    said = (
        ""
        if layouts is None or making.body.sparse
        else " {{layout_a = {}, layout_b = {}, layout_cd = {}}}".format(*layouts)
    )
    making.body.add(
        f"{made.name} = xegpu.dpas {a.name}, {b.name}, {c.name}{said} : {a.type}, {b.type}, {c.type} -> {made.type}"
    )
    return made


@generates("xegpu.dpas", kinds=("rows", "order", "whole", "shared", MISMATCH), plain=("none", "rows"))
def dpas(making: Making) -> None:
    """A product. A mismatch: A has its subgroups counted the other way round than C.

    `whole`: without instruction tiles, which propagation must choose. `shared`: one row of subgroups.
    `none`: sometimes A and B are loaded wider and narrowed, so that no block message says how large their tiles are.
    """
    body, random = making.body, making.random
    element = random.choice(("f16", "bf16", "i8"))
    out = "i32" if element == "i8" else "f32"
    depth, pack = _SHAPES[element], 32 // BITS[element]
    lane_a = (1, 2) if element == "i8" else (1, 1)
    lanes = {
        "a": LayoutAttr(lane_layout=(1, 16), lane_data=lane_a),
        "b": LayoutAttr(lane_layout=(1, 16), lane_data=(pack, 1)),
        "c": LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)),
    }
    if making.plain:
        body.anchored = making.kind != "none"
        m = random.choice((8, 16))
        k = depth * random.choice((1, 2))
        layouts, sizes = (lanes["a"], lanes["b"], lanes["c"]), (m, 16, k)
    else:
        grid = (1, 4) if making.kind == "shared" else random.choice(((2, 2), (4, 2), (2, 4)))
        making.subgroups = prod(grid)
        block = (random.choice((8, 16, 32)), random.choice((16, 32)))
        k = depth * random.choice((1, 2))
        order = (0, 1) if making.kind == "order" else None

        def full(lane: str, data: tuple[int, int], inst: tuple[int, int], how: tuple[int, int] | None) -> LayoutAttr:
            return replace(
                lanes[lane],
                sg_layout=grid,
                sg_data=data,
                inst_data=None if making.kind == "whole" else inst,
                order=how,
            )

        other = (0, 1) if making.kind == MISMATCH else order
        a_layout = full("a", (block[0], k), (8, depth), other)
        b_layout = full("b", (k, block[1]), (depth, 16), order)
        layouts = (a_layout, b_layout, full("c", block, (8, 16), order))
        sizes = (grid[0] * block[0], grid[1] * block[1], k)
    m, n, k = sizes
    narrowed = making.kind == "none" and random.random() < 0.5

    def operand(shape: tuple[int, int], layout: LayoutAttr) -> KernelValue:
        if not narrowed:
            return body.load(element, shape, layout)
        wide, narrow = ("i16", "arith.trunci") if element == "i8" else ("f32", "arith.truncf")
        return body.cast(narrow, body.load(wide, shape, layout), element)

    a, b = operand((m, k), layouts[0]), operand((k, n), layouts[1])
    c = body.constant((m, n), out, "0" if out == "i32" else "0.0", layouts[2])
    body.store(multiplied(making, a, b, c, None if making.plain else layouts))


@generates("xegpu.load", "xegpu.store", kinds=("rows", "units", "pairs", "rounds", "shared", "whole", MISMATCH))
def gather(making: Making) -> None:
    """Elements picked one by one: in pairs the other way round. A mismatch: the mask in another layout."""
    body = making.body
    element = making.random.choice(("f32", "i32", "f16"))
    layout, length = making.line(element)
    number = body.argument(element, (length,))
    at = making.numbers(length, layout, "index")
    one = body.constant((length,), "index", str(making.random.choice((1, 3, length - 1))), layout)
    moved = body.elementwise("arith.xori", at, one)
    said = layout
    if (
        making.kind == MISMATCH and layout.sg_data is not None
    ):  # the lanes have pairs where the offsets have single ones
        said = replace(layout, inst_data=(layout.sg_data[0],), lane_data=(layout.sg_data[0] // 16,))
        if said.lane_data == (1,):
            said = replace(layout, sg_data=(16,), sg_layout=(length // 16,))
            making.subgroups = length // 16
    mask = body.constant((length,), "i1", "true", layout)
    loaded = body.new((length,), element, said)
    anchor = f" <{{layout = {said}}}>" if not making.plain or body.anchored else ""
    first, second = (moved, at) if making.operation == "xegpu.load" else (at, moved)
    body.add(
        f"{loaded.name} = xegpu.load %p{number}[{first.name}], {mask.name}{anchor} : "
        f"i64, {first.type}, {mask.type} -> {loaded.type}"
    )
    target = body.argument(element, (length,))
    anchor = f" <{{layout = {layout}}}>" if not making.plain or body.anchored else ""
    body.add(
        f"xegpu.store {loaded.name}, %p{target}[{second.name}], {mask.name}{anchor} : "
        f"{loaded.type}, i64, {second.type}, {mask.type}"
    )


@generates("scf.for", "scf.if", "scf.while", kinds=(*KINDS[:2], "units", "shared", "whole", MISMATCH))
def loops(making: Making) -> None:
    """A sum that a loop carries, or a branch that all take. A mismatch: what comes in has another layout."""
    body = making.body
    tile = making.square("f32") if making.kind == MISMATCH else making.tile("f32")
    first_layout = making.other(tile.attribute) if making.kind == MISMATCH else tile.attribute
    if making.plain:
        first_layout = tile.attribute
    first = body.load("f32", tile.shape, first_layout)
    kind = vector_type(tile.shape, "f32")
    if making.operation == "scf.if":
        made = body.new(tile.shape, "f32", tile.attribute)
        at = body.attribute(tile.attribute)
        body.add(
            "%block = gpu.block_id x",
            "%first = arith.cmpi eq, %block, %c0 : index",
            f"{made.name} = scf.if %first -> ({kind}) {{",
            f"  %then = arith.addf {first.name}, {first.name}{at} : {kind}",
            f"  scf.yield %then : {kind}",
            "} else {",
            f"  %else = arith.negf {first.name}{at} : {kind}",
            f"  scf.yield %else : {kind}",
            "}",
        )
        body.store(made)
        return
    steps = making.random.choice((2, 3))
    wide = (tile.shape[0], tile.shape[1] * steps)
    name, descriptor = body.descriptor("f32", tile.shape, tile.attribute, wide)
    made = body.new(tile.shape, "f32", tile.attribute)
    at = body.attribute(tile.attribute)
    body.add(f"%end = arith.constant {wide[1]} : index", f"%by = arith.constant {tile.shape[1]} : index")
    said = f" <{{layout = {tile.attribute}}}>" if making.plain and body.anchored else ""
    inner = (
        f"  %part = xegpu.load_nd {name}[%c0, %k]{said} : {descriptor} -> {kind}",
        f"  %next = arith.addf %sum, %part{at} : {kind}",
    )
    if making.operation == "scf.for":
        body.add(
            f"{made.name} = scf.for %k = %c0 to %end step %by iter_args(%sum = {first.name}) -> ({kind}) {{",
            *inner,
            f"  scf.yield %next : {kind}",
            "}",
        )
    else:
        body.add(
            f"%last, {made.name} = scf.while (%at = %c0, %held = {first.name}) : (index, {kind}) -> (index, {kind}) {{",
            "  %more = arith.cmpi slt, %at, %end : index",
            f"  scf.condition(%more) %at, %held : index, {kind}",
            "} do {",
            f"^bb0(%k: index, %sum: {kind}):",
            *inner,
            "  %then = arith.addi %k, %by : index",
            f"  scf.yield %then, %next : index, {kind}",
            "}",
        )
    body.store(made)
