"""The vector operations: elements move inside the vector that a work-item holds."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX

from layoutalg.ir.dialects import vector
from layoutalg.simulate.compiling import Compiling, Step, compiled_by, value_shape
from layoutalg.simulate.machine import Array, Run, fail, uniform

__all__: list[str] = []

_ITEMS = (slice(None),) * 3


@compiled_by(vector.BroadcastOp)
def broadcast(op: vector.BroadcastOp, compiling: Compiling) -> Step:
    """`vector.broadcast`: new leading axes, and axes of 1 stretched."""
    shape = value_shape(op.results[0].type)
    own = value_shape(op.operands[0].type)
    inner = (1,) * (len(shape) - len(own)) + own

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        value = values[0]
        return (np.broadcast_to(value.reshape(*value.shape[:3], *inner), (*value.shape[:3], *shape)),)

    return step


def _position(op: vector.ExtractOp | vector.InsertOp, whole: Any) -> Any:
    """A function from the dynamic positions to the index of the element or slice."""
    numbers = [int(n) for n in op.static_position.get_values()]
    extents = value_shape(whole)

    def index(run: Run, dynamic: list[Any]) -> tuple[Any, ...]:
        remaining = iter(dynamic)
        found = [uniform(op, next(remaining), "the position", run.active) if n == DYNAMIC_INDEX else n for n in numbers]
        for number, extent in zip(found, extents, strict=False):
            if not 0 <= number < extent:
                fail(op, f"position {number} of {whole}: expected 0 to {extent - 1}")
        return (*_ITEMS, *found)

    return index


@compiled_by(vector.ExtractOp)
def extract(op: vector.ExtractOp, compiling: Compiling) -> Step:
    """`vector.extract`: an element or a slice."""
    index = _position(op, op.operands[0].type)
    return lambda run, values: (values[0][index(run, values[1:])],)


@compiled_by(vector.InsertOp)
def insert(op: vector.InsertOp, compiling: Compiling) -> Step:
    """`vector.insert`: a copy of the vector with an element or a slice replaced."""
    index = _position(op, op.operands[1].type)

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        value, into = values[0], values[1]
        items = np.broadcast_shapes(value.shape[:3], into.shape[:3])
        result = np.broadcast_to(into, items + into.shape[3:]).copy()
        result[index(run, values[2:])] = value
        return (result,)

    return step
