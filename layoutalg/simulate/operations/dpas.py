"""XeGPU's matrix product: of fragments at lane level, of whole tensors at subgroup and workgroup level.

At lane level the owner maps of the operands' layouts say which lane and register holds which element. By hand: A is 8x16
in 16 lanes, `d0 = 8@reg, d1 = 16@lane`, so A[r, c] is register r of lane c. Of B and C a lane holds a column.

At the other levels the operands are matrices, and the depth is divided into instructions. The order of the sums is the same, so
a kernel gives the same bits before and after its distribution, where its depth is in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from layoutalg.core.layout import Layout
from layoutalg.hardware import Dpas, dpas
from layoutalg.ir.dialects import scf
from layoutalg.ir.dialects.xegpu import operations as block
from layoutalg.simulate.compiling import Compiling, Step, compiled_by
from layoutalg.simulate.conversions import converted
from layoutalg.simulate.machine import Array, Run, fail
from layoutalg.simulate.products import added_chain, as_factor
from layoutalg.simulate.shared_operands import (
    Sharing,
    Together,
    products_are_exact,
    settled,
    sharing,
    sizes_of,
    sum_of_bytes,
    sum_of_links,
)
from layoutalg.simulate.values.elements import element
from layoutalg.simulate.values.vectors import bitcast

__all__ = ["product_of_fragments"]

_KEPT = 64

_NAMES = {"i8": "s8", "si8": "s8", "ui8": "u8", "i4": "s4", "si4": "s4", "ui4": "u4", "i32": "s32", "si32": "s32"}


@compiled_by(block.DpasOp)
def matrix_product(op: block.DpasOp, compiling: Compiling) -> Step:
    """`xegpu.dpas`."""
    types = (op.lhs.type, op.rhs.type, op.result.type)
    vectors = [kind for kind in types if isa(kind, VectorType[Attribute])]
    names = [_NAMES.get(str(vector.element_type), str(vector.element_type)) for vector in vectors]
    if op.acc is not None and op.acc.type != op.result.type:
        fail(op, f"the accumulator is {op.acc.type} and the result {op.result.type}")
    ranks = {vector.get_num_dims() for vector in vectors}
    if ranks == {1}:
        return product_of_fragments(op, compiling, vectors, names)
    if 1 in ranks:
        fail(op, "a dpas of 1-D and other vectors is not simulated; at lane level all of them are 1-D")
    return _of_matrices(op, compiling, vectors, names)


def product_of_fragments(
    op: Operation,
    compiling: Compiling,
    vectors: list[VectorType[Attribute]],
    names: list[str],
    rule: str = "simulate.refused",
) -> Step:
    """The product of what lanes hold, for the types of A, B and the result and the hardware's names of their elements.

    `rule` is that of the finding where an operand has too few or too many elements.

    >>> from xdsl.dialects.builtin import ModuleOp, f16
    >>> from xdsl.dialects.test import TestOp
    >>> compiling, fragments = Compiling(ModuleOp([]), 16, (16, 1, 1), "subgroup"), [VectorType(f16, [8])] * 3
    >>> product_of_fragments(TestOp(), compiling, fragments, ["f16"] * 3)
    Traceback (most recent call last):
    layoutalg.simulate.machine.SimulationError: test.op: 1-D vectors are fragments of lanes, and this kernel is \
at subgroup level
    """
    if compiling.level != "lane":
        fail(op, f"1-D vectors are fragments of lanes, and this kernel is at {compiling.level} level")
    lanes = compiling.lanes
    held = [_held_as(op, vector, name) for vector, name in zip(vectors, names, strict=True)]
    lengths = [count for count, _ in held]
    rows = lengths[2]
    unit = dpas(names[0], names[1], names[2], target=compiling.target, m=rows)
    if lanes != unit.subgroup_size:
        fail(op, f"a subgroup of {lanes} lanes; dpas on {compiling.target} needs {unit.subgroup_size}")
    for what, layout, length in zip("ABC", (unit.a, unit.b, unit.c), lengths, strict=True):
        if layout.axes.get("reg", 1) != length:
            shape = "x".join(map(str, layout.shape))
            fail(op, f"{what} has {length} elements per lane; its {shape} block over {lanes} lanes has "
                     f"{layout.axes.get('reg', 1)}", rule)  # fmt: skip
    compiling.costs(op, unit.m * unit.n * unit.k // unit.subgroup_size)
    views = [view for _, view in held]
    of_a, of_b = _operand(unit.a, (1, 0), unit.a_type, views[0]), _operand(unit.b, (0, 1), unit.b_type, views[1])
    of_c = _operand(unit.c, (1, 0), "f32" if unit.acc_type != "s32" else "s32", views[2])
    places = unit.c.fragment_map()[0]
    plain = _is_plain(unit.c, (1, 0))
    finished = _finished(unit.acc_type)
    given = element(str(vectors[2].element_type)).dtype
    together = _together(unit, views)
    goes_on = given.itemsize == 4 and views[2] is None and not compiling.trace and _goes_on(op)

    def step(run: Run, values: list[Any]) -> tuple[Any]:
        if run.counter is not None:
            run.counter.products(run.active, 1)
        shapes = (value.batch if isinstance(value, Together) else value.shape[:2] for value in values)
        batch = np.broadcast_shapes(*shapes)
        of_many = together(run, values, batch) if plain else None
        if of_many is not None:
            if goes_on:
                return (of_many,)
            done = finished(of_many.settled())
            return (done if done.dtype == given else np.ascontiguousarray(done).view(given),)
        values = [settled(value) for value in values]
        left, right = of_a(run, values[0], batch), of_b(run, values[1], batch)
        start = of_c(run, values[2], batch) if len(values) > 2 else None
        total = added_chain(left[:, None], right[:, :, None], start, unit.packed, run.scratch)
        if total.shape[-1] != batch[0] * batch[1]:
            total = np.broadcast_to(total, (*total.shape[:-1], batch[0] * batch[1]))
        # [n, m, subgroups] to [workgroup, subgroup, lane, register]
        matrix = finished(total).reshape(*total.shape[:2], *batch).transpose(2, 3, 0, 1)
        matrix = matrix if plain else matrix[..., places[..., 1], places[..., 0]]
        return (matrix if matrix.dtype == given else np.ascontiguousarray(matrix).view(given),)

    return step


def _goes_on(op: Operation) -> bool:
    """Whether the result is the accumulator of one more product and nothing else, in the same body or its next iteration."""
    user = _only_use(op, op.results[0])
    if isinstance(user, block.DpasOp):
        return True
    loop = op.parent_op()
    if not isinstance(user, scf.YieldOp) or not isinstance(loop, scf.ForOp):
        return False
    held = loop.body.block.args[1 + list(user.operands).index(op.results[0])]
    return isinstance(_only_use(op, held), block.DpasOp)


def _only_use(op: Operation, value: SSAValue) -> Operation | None:
    """The only user of a value, beside this operation: a product with the value as its accumulator, or the block's end."""
    uses = list(value.uses)
    if len(uses) != 1 or uses[0].operation.parent is not op.parent:
        return None
    user = uses[0].operation
    return None if isinstance(user, block.DpasOp) and user.acc is not value else user


_LEAST = 2048
"""Elements of a matrix product for which numpy's routine is worth its call."""
_MISSES = 8
"""After so many products without shared operands, those of a group of workgroups are asked no more."""


def _together(
    unit: Dpas, views: list[Callable[[Array], Array] | None]
) -> Callable[[Run, list[Any], tuple[int, ...]], Together | None]:
    """A function that makes the product of all subgroups at once, where they share operands; None where they don't."""
    sides = (("row", unit.a, unit.a_type), ("column", unit.b, unit.b_type))
    owners = {role: (layout.owner_map("lane"), layout.owner_map("reg")) for role, layout, _ in sides}
    plain = {role: _is_plain(layout, (1, 0)) for role, layout, _ in sides}
    integers = unit.acc_type == "s32"
    dtype = np.int32 if integers else np.float32

    def every(run: Run, value: Array, number: int, batch: tuple[int, ...]) -> Array:
        """An operand of every subgroup [workgroup, subgroup, lane, register]; it may lie in memory once for several."""
        view = views[number]
        spread = run.machine.spread(value if view is None else view(value))
        return spread if spread.shape[:2] == batch else np.broadcast_to(spread, (*batch, *spread.shape[2:]))

    def matrix(run: Run, value: Array, number: int, batch: tuple[int, ...], known: Sharing) -> Array:
        """The different ones below each other, or side by side; empty where they don't share what they should."""
        role, _, kind = sides[number]

        def made() -> Array:
            operands = every(run, value, number, batch)
            if not known.holds(_words(operands), role):
                return np.empty((0, 0, 0), np.float32)
            parts = known.parts(operands, role)
            turned = parts.swapaxes(2, 3) if plain[role] else parts[(slice(None), slice(None), *owners[role])]
            # [apart, k, part, m or n]: the routine takes two neighbours in k fastest where each is contiguous
            deep = turned.transpose(0, 3, 1, 2) if role == "row" else turned.swapaxes(1, 2)
            numbers = as_factor(deep, kind).astype(np.float32, copy=False)
            numbers = numbers.reshape(*numbers.shape[:2], -1)
            return numbers.swapaxes(1, 2) if role == "row" else numbers

        return converted(run, value, ("together", role, kind, batch, known), made)

    def exact(run: Run, left: Array, right: Array) -> bool:
        sizes = [converted(run, one, "sizes", lambda one=one: np.array(sizes_of(one))) for one in (left, right)]
        return products_are_exact((sizes[0][0], sizes[0][1]), (sizes[1][0], sizes[1][1]))

    def totals(run: Run, values: list[Any], batch: tuple[int, ...], known: Sharing) -> Array | None:
        """The accumulators as matrices; None where one is -0."""
        if len(values) > 2 and isinstance(values[2], Together):
            if values[2].sharing is known and values[2].batch == batch:
                return values[2].matrices
            values[2] = values[2].settled()
        apart, rows, columns = known.counts
        total = np.empty((apart, rows * unit.m, columns * unit.n), dtype)
        if len(values) == 2:
            total.fill(0)
            return total
        value = run.machine.spread(values[2] if views[2] is None else views[2](values[2]))
        whole = np.broadcast_to(value, (*batch, *value.shape[2:])).swapaxes(2, 3)
        known.together(whole.reshape(-1, unit.m, unit.n), total)
        return total if integers or not (total.view(np.int32) == _NEGATIVE_ZERO).any() else None

    def together(run: Run, values: list[Any], batch: tuple[int, ...]) -> Together | None:
        misses, known = run.scratch.get("sharing", (0, None))
        if misses >= _MISSES or prod(batch) * unit.m * unit.n < _LEAST:
            return None
        for again in (False, True):
            if again or known is None or prod(known.sizes) != prod(batch):
                left, right = (_words(every(run, values[number], number, batch)) for number in (0, 1))
                known = sharing(left, right)
            _, rows, columns = known.counts
            if rows * unit.m * columns * unit.n >= _LEAST:
                left, right = (matrix(run, values[number], number, batch, known) for number in (0, 1))
                if left.size and right.size:
                    break
        else:
            run.scratch["sharing"] = misses + 1, None
            return None
        run.scratch["sharing"] = 0, known
        if not integers and not exact(run, left, right):
            return None
        total = totals(run, values, batch, known)
        if total is None:
            return None
        one = run.scratch.get("one")
        if one is None or one.shape != total.shape[1:]:
            one = run.scratch["one"] = np.empty(total.shape[1:], np.float32)
        if integers:
            sum_of_bytes(left, right, total, one)
        else:
            sum_of_links(left, right, total, unit.packed, one)
        return Together(total, known, batch, unit.m, unit.n)

    return together


_NEGATIVE_ZERO = np.iinfo(np.int32).min


def _words(operands: Array) -> Array:
    """Operands [workgroup, subgroup, ..] as words of their bits, as long as how they lie in memory allows."""
    bits = operands.view(f"u{operands.itemsize}")
    if bits.strides[2] == bits.itemsize:
        bits = bits.swapaxes(2, 3)
    return bits.view(np.uint64) if bits.strides[3] == bits.itemsize and bits.shape[3] * bits.itemsize % 8 == 0 else bits


_HELD = {"s8": "i8", "u8": "i8", "s4": "i4", "u4": "i4", "s32": "i32", "tf32": "f32"}


def _held_as(op: Operation, vector: VectorType[Attribute], name: str) -> tuple[int, Callable[[Array], Array] | None]:
    """How many elements of the hardware's type a lane's vector is, and how it becomes those (None: it is them already).

    Registers have no types: 8 integers of 32 bits are 16 elements of f16.
    """
    source, target = element(str(vector.element_type)), element(_HELD.get(name, name))
    if vector.element_count() * source.bits % target.bits:
        fail(op, f"{vector} is not a whole number of elements of {name}")
    count = vector.element_count() * source.bits // target.bits
    if source == target or source.name in (f"s{target.name}", f"u{target.name}", name):
        return count, None
    return count, lambda value: bitcast(value, source, target)


@lru_cache(_KEPT)
def _places(layout: Layout, order: tuple[int, int]) -> tuple[Array, Array]:
    """The lane and the register of each element, with the dimensions of the matrix in that order. A kernel has few layouts."""
    lane, reg = (np.transpose(layout.owner_map(axis), order) for axis in ("lane", "reg"))
    return lane, reg


@lru_cache(_KEPT)
def _is_plain(layout: Layout, order: tuple[int, int]) -> bool:
    """Whether lane is one coordinate and register the other: the fragments are the matrix, seen in that order."""
    lane, reg = _places(layout, order)
    first, second = np.indices(np.shape(lane))
    return bool(np.array_equal(lane, first) and np.array_equal(reg, second))


def _operand(
    layout: Layout, order: tuple[int, int], kind: str, elements: Callable[[Array], Array] | None
) -> Callable[[Run, Array, tuple[int, ...]], Array]:
    """A function that makes of fragments [workgroup, subgroup, lane, register] numbers [dim, dim, workgroup * subgroup].

    The dimensions of the matrix come in `order`. `elements` makes of a lane's vector the elements that the product takes.
    """
    lane, reg = _places(layout, order)
    own = "swapped" if order == (0, 1) and _is_plain(layout, (1, 0)) else "plain" if _is_plain(layout, order) else ""

    def numbers(run: Run, value: Array, batch: tuple[int, ...]) -> Array:
        if kind in ("f32", "s32"):  # an accumulator, which no other product takes
            return made(run, value, batch)
        return converted(run, value, (kind, order, batch), lambda: made(run, value, batch))

    def made(run: Run, value: Array, batch: tuple[int, ...]) -> Array:
        spread = run.machine.spread(value if elements is None else elements(value))
        if spread.shape[:2] not in ((1, 1), batch):
            spread = np.broadcast_to(spread, (*batch, *spread.shape[2:]))
        view = spread.transpose(2, 3, 0, 1)
        view = view if own == "plain" else view.swapaxes(0, 1) if own else view[lane, reg]
        if kind in ("f32", "s32"):
            found = np.ascontiguousarray(view, np.float32 if kind == "f32" else np.int32)
        else:
            found = as_factor(view, kind)
        return found.reshape(*found.shape[:2], -1)

    return numbers


def _finished(name: str) -> Callable[[Array], Array]:
    """Sums as the accumulator's type has them."""
    dtype = element(_HELD.get(name, name)).dtype
    if dtype.itemsize == 4:
        return lambda total: total

    def rounded(total: Array) -> Array:
        with np.errstate(all="ignore"):
            return total.astype(dtype)

    return rounded


def _of_matrices(
    op: block.DpasOp, compiling: Compiling, vectors: list[VectorType[Attribute]], names: list[str]
) -> Step:
    """A and B may be packed: [m, k/p, p] and [k/p, n, p]."""
    if compiling.level == "lane":
        fail(op, "a dpas of other than 1-D vectors is not simulated at lane level; there they are 1-D")
    shapes = [vector.get_shape() for vector in vectors]
    m, k = shapes[0][0], int(np.prod(shapes[0][1:]))
    depth = shapes[1][0] * (shapes[1][2] if len(shapes[1]) == 3 else 1)
    n = shapes[1][1]
    if len(shapes[2]) != 2 or (m, n) != tuple(shapes[2]) or k != depth or max(map(len, shapes)) > 3:
        sizes = " and ".join(str(vector) for vector in vectors[:2])
        fail(op, f"the product of {sizes} is not {vectors[2]}")
    unit: Dpas = dpas(names[0], names[1], names[2], target=compiling.target)
    compiling.costs(op, m * n * k)
    finished = _finished(unit.acc_type)
    dtype = np.int32 if unit.acc_type == "s32" else np.float32
    each = unit.k if unit.acc_type in ("f16", "bf16") else k

    def factor(run: Run, value: Array, kind: str, first: bool) -> Array:
        """[depth, workgroup, subgroup, 1, m, 1] or [depth, .., 1, n]."""
        matrix: Array
        if first:
            matrix = np.moveaxis(value.reshape(*value.shape[:3], m, k), -1, 0)
            return as_factor(matrix, kind)[..., None]
        if value.ndim == 6:
            value = np.moveaxis(value, -1, -2).reshape(*value.shape[:3], k, n)
        return as_factor(np.moveaxis(value, -2, 0), kind)[..., None, :]

    instructions = -(-m // unit.m) * -(-n // unit.n) * -(-k // unit.k)

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        if run.counter is not None:
            run.counter.products(run.active, instructions)
        left, right = factor(run, values[0], unit.a_type, True), factor(run, values[1], unit.b_type, False)
        total: Array | None = values[2] if len(values) > 2 else None
        for low in range(0, k, each):
            start = None if total is None else np.asarray(total).astype(dtype)
            total = finished(
                added_chain(left[low : low + each], right[low : low + each], start, unit.packed, run.scratch)
            )
        assert total is not None
        return (total,)

    return step
