"""What the lanes of a subgroup, or the work-items of a workgroup, do together: shuffles, rotations, reductions.

A lane that isn't active gives nothing: reading from one is the finding `run.undefined`, and so is a reduction that some of its
work-items don't reach. Reductions add neighbours first, then pairs of pairs (lane xor 1, 2, 4, ...), as LLVM's
lowering to shuffles does; over the workgroup the subgroups' results are combined in the same way.

>>> from layoutalg.simulate.values.elements import element
>>> reductions.tree("add", np.arange(8).reshape(1, 1, 8), 2, 8, 1, element("i32")).ravel().tolist()
[28, 28, 28, 28, 28, 28, 28, 28]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import Operation

from layoutalg.ir.dialects import gpu
from layoutalg.simulate.compiling import Compiling, Step, compiled_by, execute, value_shape
from layoutalg.simulate.machine import Array, Run, fail, uniform
from layoutalg.simulate.operations.declared import element_of, property_of, undefined, word
from layoutalg.simulate.values import exchange, reductions
from layoutalg.simulate.values.elements import as_signed

__all__ = ["reduced_by_lanes"]

_KINDS = {
    "add": "add", "mul": "mul", "minui": "minui", "minsi": "minsi", "minnumf": "minnumf", "maxui": "maxui",
    "maxsi": "maxsi", "maxnumf": "maxnumf", "and": "and", "or": "or", "xor": "xor", "minimumf": "minimumf",
    "maximumf": "maximumf",
}  # fmt: skip


def _lanes_only(op: Operation, compiling: Compiling) -> None:
    if compiling.level != "lane":
        fail(op, f"this kernel is at {compiling.level} level, where a value is not spread over lanes")


def _give(run: Run, op: Operation, source: Array) -> None:
    """Complain about lanes that read from one that isn't active."""
    if run.active is None:
        return
    active = np.broadcast_to(run.active, (*run.active.shape[:2], run.machine.lanes))
    given = exchange.take_lanes(active, source)
    undefined(run, op, ~given, "lane {} isn't active, so what it gives is not defined", source)


@compiled_by(gpu.ShuffleOp)
def shuffle(op: gpu.ShuffleOp, compiling: Compiling) -> Step:
    """The value of the lane that the mode names; where there is no such lane, the own value and `false`."""
    _lanes_only(op, compiling)
    lanes, mode = compiling.lanes, op.mode.data.value

    def step(run: Run, values: list[Any]) -> tuple[Array, Array]:
        width = uniform(op, values[2], "the width", run.active)
        _check_segment(op, width, lanes)
        result, valid, source = exchange.shuffle(
            run.machine.spread(values[0]), as_signed(values[1]), mode, width, lanes
        )
        _give(run, op, source)
        return result, valid

    return step


def _check_segment(op: Operation, width: int, lanes: int) -> None:
    if width < 1 or width > lanes or width & (width - 1):
        fail(op, f"a width of {width}: expected a power of two up to the {lanes} lanes of a subgroup")


@compiled_by("xegpu.lane_shuffle")
def lane_shuffle(op: Operation, compiling: Compiling) -> Step:
    """A tensor that is dealt out to the lanes one by one is dealt out in runs (`pack`), or back (`unpack`).

    S lanes hold N elements each. Before `pack`, element j of lane i is number j*S + i of the tensor; after it, number
    i*N + j. (LLVM 24 does not lower it yet.)
    """
    _lanes_only(op, compiling)
    lanes, packs = compiling.lanes, word(op, "mode", ("pack", "unpack")) == "pack"
    (count,) = value_shape(op.results[0].type)
    lane, element = np.indices((lanes, count))
    number = lane * count + element if packs else element * lanes + lane
    givers = (number % lanes, number // lanes) if packs else (number // count, number % count)

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        _together(run, op, (2,))
        return (run.machine.spread(values[0])[:, :, givers[0], givers[1]],)

    return step


@compiled_by("gpu.rotate")
def rotate(op: Operation, compiling: Compiling) -> Step:
    """The value of the lane `offset` further in its segment of `width` lanes, round and round."""
    _lanes_only(op, compiling)
    lanes = compiling.lanes
    known = [_integer(op, name) for name in ("offset", "width")]

    def step(run: Run, values: list[Any]) -> tuple[Array, Array]:
        given = iter(values[1:])
        numbers = [
            number if number is not None else uniform(op, next(given), what, run.active)
            for number, what in zip(known, ("the offset", "the width"), strict=True)
        ]
        offset, width = numbers
        _check_segment(op, width, lanes)
        if not 0 <= offset < width:
            fail(op, f"an offset of {offset}: expected 0 to {width - 1}")
        result, source = exchange.rotate(run.machine.spread(values[0]), offset, width, lanes)
        _give(run, op, source)
        return result, np.ones((1, 1, 1), bool)

    return step


def _integer(op: Operation, name: str) -> int | None:
    found: Any = property_of(op, name)
    value = getattr(found, "value", None)
    data = getattr(value, "data", value)
    return data if isinstance(data, int) else None


@compiled_by("gpu.subgroup_broadcast")
def broadcast(op: Operation, compiling: Compiling) -> Step:
    """The value of one lane for all: the first active one, or the one that is named."""
    _lanes_only(op, compiling)
    first = "first" in str(property_of(op, "broadcast_type"))
    lanes = compiling.lanes

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        value = run.machine.spread(values[0])
        if first:
            active = np.ones((1, 1, lanes), bool) if run.active is None else run.active
            active = np.broadcast_to(active, (*active.shape[:2], lanes))
            source = np.argmax(active, axis=2)[..., None]
        else:
            source = as_signed(values[1])
            beyond = (source < 0) | (source >= lanes)
            undefined(run, op, np.asarray(beyond), f"lane {{}} of {lanes} is not there", source)
            source = np.where(beyond, 0, source)
        _give(run, op, np.broadcast_to(source, (*source.shape[:2], lanes)))
        return (exchange.take_lanes(value, source),)

    return step


def _together(run: Run, op: Operation, axes: tuple[int, ...]) -> None:
    """Complain where some of those that reduce together don't get here, while others do."""
    if run.active is None:
        return
    machine = run.machine
    active = np.broadcast_to(run.active, (run.active.shape[0], machine.subgroups, machine.lanes))
    some, every = active.any(axis=axes, keepdims=True), active.all(axis=axes, keepdims=True)
    undefined(run, op, some & ~every & active, "some of the work-items that reduce together don't get here")


@compiled_by("gpu.subgroup_reduce")
def subgroup_reduce(op: Operation, compiling: Compiling) -> Step:
    """The values of a subgroup's lanes, or of clusters of them, combined; every lane of a cluster has the result."""
    _lanes_only(op, compiling)
    lanes = compiling.lanes
    name = _KINDS[word(op, "op", tuple(_KINDS))]
    size, stride = _integer(op, "cluster_size") or lanes, _integer(op, "cluster_stride") or 1
    for what, number in (("clusters", size), ("a stride", stride)):
        if number < 1 or number & (number - 1):
            fail(op, f"{what} of {number}: expected a power of two")
    if size * stride > lanes:
        fail(op, f"clusters of {size} lanes, {stride} apart, in a subgroup of {lanes}")

    return reduced_by_lanes(op, compiling, name, size, stride)


def reduced_by_lanes(op: Operation, compiling: Compiling, name: str, size: int = 0, stride: int = 1) -> Step:
    """The step that combines what the lanes of a cluster have (of the subgroup, without a size), by a name of `reductions`.

    >>> from xdsl.dialects.builtin import ModuleOp, i32
    >>> from xdsl.dialects.test import TestOp
    >>> from layoutalg.simulate.machine import Machine
    >>> step = reduced_by_lanes(TestOp(result_types=[i32]), Compiling(ModuleOp([]), 4, (4, 1, 1)), "add")
    >>> step(Run(Machine("pvc", (1, 1, 1), (4, 1, 1), 4, 0, 1), None), [np.arange(4).reshape(1, 1, 4)])[0].ravel().tolist()
    [6, 6, 6, 6]
    """
    _lanes_only(op, compiling)
    kind, count = element_of(op.results[0]), size or compiling.lanes

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        _together(run, op, (2,))
        return (reductions.tree(name, run.machine.spread(values[0]), 2, count, stride, kind),)

    return step


@compiled_by("gpu.all_reduce")
def all_reduce(op: Operation, compiling: Compiling) -> Step:
    """The values of all work-items of a workgroup combined, by an operation's name or by a region of two arguments."""
    _lanes_only(op, compiling)
    lanes, subgroups, kind = compiling.lanes, compiling.subgroups, element_of(op.results[0])
    region = op.regions[0] if op.regions and op.regions[0].blocks else None
    body = compiling.body(region.block) if region is not None else None
    name = "" if body is not None else _KINDS[word(op, "op", tuple(_KINDS))]

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        def joined(left: Array, right: Array) -> Array:
            if body is None:
                return reductions.combine(name, left, right, kind)
            return np.asarray(execute(run, body, [left, right])[0])

        _together(run, op, (1, 2))
        value = values[0]
        value = np.broadcast_to(value, (value.shape[0], subgroups, lanes, *value.shape[3:]))
        return (_fold(_fold(value, 2, joined), 1, joined),)

    return step


def _fold(value: Array, axis: int, joined: Callable[[Array, Array], Array]) -> Array:
    """All entries of an axis as one: neighbours first; an entry without a neighbour stays."""
    while value.shape[axis] > 1:
        count = value.shape[axis]
        even, odd = (np.take(value, range(start, count - count % 2, 2), axis=axis) for start in (0, 1))
        paired = joined(even, odd)
        rest = np.take(value, range(count - count % 2, count), axis=axis)
        value = np.concatenate([paired, rest], axis=axis) if count % 2 else paired
    return value
