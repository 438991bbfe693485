"""Values that are computed from indices (affine maps), and values that are not there (poison)."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Operation

from layoutalg.simulate.compiling import Compiling, Step, compiled_by, value_shape
from layoutalg.simulate.machine import Array, Run, fail
from layoutalg.simulate.operations.declared import element_of, property_of
from layoutalg.simulate.values.elements import as_signed

__all__: list[str] = []


@compiled_by("affine.apply", "affine.min", "affine.max")
def apply(op: Operation, compiling: Compiling) -> Step:
    """The results of an affine map; `mod` and `floordiv` are those of whole numbers that round down."""
    written: Any = property_of(op, "map")
    if not isinstance(written, AffineMapAttr):
        fail(op, "an affine map is needed")
    known = written.data
    if len(op.operands) != known.num_dims + known.num_symbols:
        fail(op, f"{len(op.operands)} operands for {known.num_dims} dimensions and {known.num_symbols} symbols")
    joined = {"affine.min": np.minimum, "affine.max": np.maximum}.get(op.name)
    if joined is None and len(known.results) != 1:
        fail(op, f"a map of {len(known.results)} results; one is needed")

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        numbers: list[Any] = [as_signed(value) for value in values]
        dims, symbols = numbers[: known.num_dims], numbers[known.num_dims :]
        with np.errstate(divide="raise"):
            results = [np.asarray(expression.eval(dims, symbols)) for expression in known.results]
        whole = results[0] if joined is None else reduce(joined, results)
        return (whole.astype(np.int64).reshape(whole.shape or (1, 1, 1)),)

    return step


@compiled_by("ub.poison", "llvm.mlir.poison")
def poison(op: Operation, compiling: Compiling) -> Step:
    """A value that must not be used: NaN in floats and 0xa5 in every byte of integers, so that using it shows."""
    kind, shape = element_of(op.results[0]), value_shape(op.results[0].type)
    compiling.is_same_for_all(op)
    if kind.is_float:
        one = np.array(np.nan).astype(kind.dtype)
    else:
        one = np.full(kind.dtype.itemsize, 0xA5, np.uint8).view(kind.unsigned_dtype).astype(kind.dtype)[0]
    made = np.broadcast_to(one, (1, 1, 1, *shape))
    return lambda run, values: (made,)
