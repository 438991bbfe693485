"""Whole kernels: chains of elementwise operations, products in loops, softmax, attention.

>>> from random import Random
>>> from layoutalg.side.conformance.bodies import KernelBody
>>> making = Making(Random(0), KernelBody("plain"), "softmax", "none")
>>> softmax(making)
>>> sum("multi_reduction" in line for line in making.body.lines)
2
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from layoutalg.side.conformance.bodies import KernelValue
from layoutalg.side.conformance.making import Making, generates
from layoutalg.side.conformance.moving import multiplied
from layoutalg.xegpu import LayoutAttr

__all__: list[str] = []

_KINDS = ("rows", "order", "shared", "whole")
_PLAIN = ("none", "rows")


@generates("chain", kinds=("rows", "order", "units", "rounds", "shared", "whole"), plain=("none", "rows", "units"))
def chain(making: Making) -> None:
    """Three to eight elementwise operations on up to three tiles."""
    body, random = making.body, making.random
    tile = making.tile("f32")
    values = [body.load("f32", tile.shape, tile.attribute) for _ in range(random.choice((1, 2, 3)))]
    for _ in range(random.randint(3, 8)):
        name = random.choice(("arith.addf", "arith.subf", "arith.mulf", "arith.maximumf", "arith.negf", "math.absf"))
        operands = [random.choice(values[-3:]) for _ in range(1 if name in ("arith.negf", "math.absf") else 2)]
        values.append(body.elementwise(name, *operands))
    body.store(values[-1])


def _rows(making: Making) -> tuple[LayoutAttr, tuple[int, int]]:
    """Subgroups below each other, each with whole rows; with `shared`, also copies beside each other."""
    random = making.random
    lanes = LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
    if making.plain:
        making.body.anchored = making.kind != "none"
        return lanes, (random.choice((8, 16)), random.choice((16, 32)))
    count = random.choice((2, 4))
    across = 2 if making.kind in ("shared", "order") else 1
    making.subgroups = count * across
    high, wide = random.choice((8, 16)), random.choice((16, 32))
    layout = replace(
        lanes,
        sg_layout=(count, across),
        sg_data=(high, wide),
        inst_data=None if making.kind == "whole" else (8, 16),
        order=(0, 1) if making.kind == "order" else None,
    )
    return layout, (count * high, wide)


def _row_wise(making: Making, value: KernelValue, how: str, start: str) -> KernelValue:
    """Rows reduced, and spread over the row again."""
    body = making.body
    layout = value.layout
    sliced = making.sliced(layout, 1) if isinstance(layout, LayoutAttr) else None
    reduced = body.reduce(value, (1,), how, start, sliced)
    high = body.cast("vector.shape_cast", reduced, value.element, shape=(value.shape[0], 1), layout=layout)
    made = body.new(value.shape, value.element, layout)
    body.add(f"{made.name} = vector.broadcast {high.name}{body.attribute(layout)} : {high.type} to {made.type}")
    return made


def _softmax_of(making: Making, value: KernelValue) -> KernelValue:
    body = making.body
    most = _row_wise(making, value, "maxnumf", "0xFF800000")
    raised = body.elementwise("math.exp", body.elementwise("arith.subf", value, most))
    return body.elementwise("arith.divf", raised, _row_wise(making, raised, "add", "0.0"))


@generates("softmax", kinds=_KINDS, plain=_PLAIN)
def softmax(making: Making) -> None:
    """exp(x - max) / sum, row by row."""
    layout, shape = _rows(making)
    making.tolerance = 1e-5
    making.body.store(_softmax_of(making, making.body.load("f32", shape, layout)))


@generates("layer_norm", kinds=_KINDS, plain=_PLAIN)
def normalised(making: Making) -> None:
    """Rows with their mean taken away and divided by their deviation."""
    body = making.body
    layout, shape = _rows(making)
    making.tolerance = 1e-5
    value = body.load("f32", shape, layout)
    part = body.constant(shape, "f32", repr(1 / shape[1]), layout)
    mean = body.elementwise("arith.mulf", _row_wise(making, value, "add", "0.0"), part)
    centred = body.elementwise("arith.subf", value, mean)
    square = body.elementwise("arith.mulf", centred, centred)
    spread = body.elementwise("arith.mulf", _row_wise(making, square, "add", "0.0"), part)
    little = body.constant(shape, "f32", "1.0e-5", layout)
    body.store(
        body.elementwise(
            "arith.divf", centred, body.elementwise("math.sqrt", body.elementwise("arith.addf", spread, little))
        )
    )


def _product_layouts(
    making: Making, grid: tuple[int, int], block: tuple[int, int], depth: int
) -> tuple[LayoutAttr, LayoutAttr, LayoutAttr]:
    """Layouts of A, B and C for f16, at the level of the kernel."""
    lanes = [LayoutAttr(lane_layout=(1, 16), lane_data=data) for data in ((1, 1), (2, 1), (1, 1))]
    if making.plain:
        return lanes[0], lanes[1], lanes[2]
    order = (0, 1) if making.kind == "order" else None
    sizes = ((block[0], depth), (depth, block[1]), block)
    tiles = ((8, 16), (16, 16), (8, 16))
    a, b, c = (
        replace(
            lane,
            sg_layout=grid,
            sg_data=data,
            inst_data=None if making.kind == "whole" else tile,
            order=order,
        )
        for lane, data, tile in zip(lanes, sizes, tiles, strict=True)
    )
    return a, b, c


@generates("gemm", kinds=_KINDS, plain=_PLAIN)
def gemm(making: Making) -> None:
    """A product in a loop over k, then perhaps something with C."""
    body, random = making.body, making.random
    if making.plain:
        body.anchored = making.kind != "none"
        grid, block = (1, 1), (random.choice((8, 16)), 16)
    else:
        grid = (1, 4) if making.kind == "shared" else random.choice(((2, 2), (2, 4)))
        making.subgroups = prod(grid)
        block = (random.choice((8, 16)), random.choice((16, 32)))
    depth, steps = random.choice((16, 32)), random.choice((1, 2, 3))
    m, n, k = grid[0] * block[0], grid[1] * block[1], depth * steps
    layouts = _product_layouts(making, grid, block, depth)
    element = random.choice(("f16", "bf16"))
    a_of = body.descriptor(element, (m, depth), layouts[0], (m, k))
    b_of = body.descriptor(element, (depth, n), layouts[1], (k, n))
    zero = body.constant((m, n), "f32", "0.0", layouts[2])
    total = body.new((m, n), "f32", layouts[2])
    body.add(
        f"%end = arith.constant {k} : index",
        f"%by = arith.constant {depth} : index",
        f"{total.name} = scf.for %k = %c0 to %end step %by iter_args(%sum = {zero.name}) -> ({total.type}) {{",
    )
    a = body.load(element, (m, depth), layouts[0], at="%c0, %k", of=a_of)
    b = body.load(element, (depth, n), layouts[1], at="%k, %c0", of=b_of)
    partial = replace(total, name="%sum")
    made = multiplied(making, a, b, partial, None if making.plain else layouts)
    body.add(f"scf.yield {made.name} : {made.type}", "}")
    after = random.choice(("nothing", "relu", "scale", "narrow"))
    result = total
    if after == "relu":
        result = body.elementwise("arith.maximumf", total, body.constant((m, n), "f32", "0.0", layouts[2]))
    elif after == "scale":
        result = body.elementwise("arith.mulf", total, body.constant((m, n), "f32", "0.5", layouts[2]))
    elif after == "narrow":
        result = body.cast("arith.truncf", total, "f16")
    body.store(result)


def _two_products(
    making: Making, tolerance: float, *, taller: bool
) -> tuple[tuple[KernelValue, KernelValue, KernelValue], KernelValue, tuple[LayoutAttr, LayoutAttr, LayoutAttr]]:
    """Operands of two products, m x n and twice n x n, zeros to add them to, and the layouts of A, B and C."""
    body, random = making.body, making.random
    making.tolerance = tolerance
    grid = (1, 1)
    if making.plain:
        body.anchored = making.kind != "none"
        m = random.choice((8, 16))
    else:
        grid = (random.choice((2, 4)), 1)
        making.subgroups = grid[0]
        m = grid[0] * (random.choice((8, 16)) if taller else 8)
    n = random.choice((16, 32))
    layouts = _product_layouts(making, grid, (m // grid[0], n), n)
    first = body.load("f16", (m, n), layouts[0])
    others = body.load("f16", (n, n), layouts[1]), body.load("f16", (n, n), layouts[1])
    return (first, *others), body.constant((m, n), "f32", "0.0", layouts[2]), layouts


@generates("gemm_chain", kinds=_KINDS[:2], plain=_PLAIN)
def gemm_chain(making: Making) -> None:
    """(A B) C: the result of one product is A of the next."""
    body = making.body
    (a, b, d), zero, layouts = _two_products(making, 4e-3 if making.kind == "order" else 2e-3, taller=True)
    said = None if making.plain else layouts
    first = body.cast("arith.truncf", multiplied(making, a, b, zero, said), "f16", layout=layouts[0])
    body.store(multiplied(making, first, d, zero, said))


@generates("attention", kinds=("rows", "whole"), plain=_PLAIN)
def attention(making: Making) -> None:
    """softmax(Q K) V, with K given as its transpose."""
    body = making.body
    (q, k, v), zero, layouts = _two_products(making, 4e-3, taller=False)
    said = None if making.plain else layouts
    weights = _softmax_of(making, multiplied(making, q, k, zero, said))
    narrow = body.cast("arith.truncf", weights, "f16", layout=layouts[0])
    body.store(multiplied(making, narrow, v, zero, said))


@generates("gather_sum", kinds=("rows", "units", "whole"), plain=("none", "rows"))
def gather_sum(making: Making) -> None:
    """Neighbours picked one by one, and added."""
    body = making.body
    layout, length = making.line("f32")
    at = making.numbers(length, layout, "index")
    mask = body.constant((length,), "i1", "true", layout)
    number = body.argument("f32", (length,))
    anchor = f" <{{layout = {layout}}}>" if not making.plain or body.anchored else ""
    parts: list[KernelValue] = []
    for by in (1, making.random.choice((2, 4, 8))):
        moved = body.elementwise("arith.xori", at, body.constant((length,), "index", str(by), layout))
        part = body.new((length,), "f32", layout)
        body.add(
            f"{part.name} = xegpu.load %p{number}[{moved.name}], {mask.name}{anchor} : "
            f"i64, {moved.type}, {mask.type} -> {part.type}"
        )
        parts.append(part)
    making.scatter(body.elementwise("arith.addf", *parts))
