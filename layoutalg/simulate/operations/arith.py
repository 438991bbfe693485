"""The arith dialect: constants, integers, floats, comparisons, selections and casts.

Every operation works on each element for itself, so one function of numpy arrays serves scalars, fragments and whole tensors.
Where LLVM leaves a result open (a shift by the width, a quotient by 0, an overflow against `nsw`, a float too large for the
integer) the launch goes on and has the finding `run.undefined`. `fastmath` changes no result.

>>> from layoutalg.ir import read_module
>>> from layoutalg.simulate.compiling import Compiling, execute
>>> from layoutalg.simulate.machine import Machine, Run
>>> module = read_module("%a = arith.constant 100 : i8 %b = arith.addi %a, %a : i8")
>>> compiling = Compiling(module, lanes=16, block=(16, 1, 1))
>>> body = compiling.body(module.body.block)
>>> run = Run(Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1), None, slots=compiling.slots())
>>> step = body.lines[1].step
>>> step(run, [np.full((1, 1, 1), 100, np.int8)] * 2)
(array([[[-56]]], dtype=int8),)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.ir import Operation

from layoutalg.ir.dialects import arith, index
from layoutalg.simulate.compiling import Compiling, Step, compiled_by, value_shape
from layoutalg.simulate.machine import Array, Run, fail, uniform
from layoutalg.simulate.operations.declared import (
    element_of,
    pointwise,
    property_of,
    undefined,
)
from layoutalg.simulate.values import elementary, floats, integers, vectors
from layoutalg.simulate.values.elements import Element, as_signed, as_unsigned, element, settle

__all__: list[str] = []

Function = Callable[[Array, Array], Array]

_OF_INDEX = {
    "index.add": "arith.addi", "index.sub": "arith.subi", "index.mul": "arith.muli", "index.and": "arith.andi",
    "index.or": "arith.ori", "index.xor": "arith.xori", "index.maxs": "arith.maxsi", "index.mins": "arith.minsi",
    "index.maxu": "arith.maxui", "index.minu": "arith.minui", "index.shl": "arith.shli", "index.shrs": "arith.shrsi",
    "index.shru": "arith.shrui", "index.divs": "arith.divsi", "index.rems": "arith.remsi",
    "index.floordivs": "arith.floordivsi", "index.ceildivs": "arith.ceildivsi", "index.divu": "arith.divui",
    "index.remu": "arith.remui", "index.ceildivu": "arith.ceildivui", "index.casts": "arith.index_cast",
    "index.castu": "arith.index_castui",
}  # fmt: skip
"""Operations of the index dialect, and those of arith that do the same."""


def _name(op: Operation) -> str:
    return _OF_INDEX.get(op.name, op.name)


def _with_index(*names: str) -> tuple[str, ...]:
    """Operations of arith, and those of index that do the same."""
    return (*names, *(one for one, other in _OF_INDEX.items() if other in names))


@compiled_by(arith.ConstantOp)
def constant(op: arith.ConstantOp, compiling: Compiling) -> Step:
    """`arith.constant`: a number, or a dense vector; a splat takes one element of memory."""
    kind, shape = element_of(op.result), value_shape(op.result.type)
    match op.value:
        case IntegerAttr() | FloatAttr():
            numbers: list[Any] = [op.value.value.data]
        case DenseIntOrFPElementsAttr():
            numbers = [next(op.value.iter_values())] if op.value.is_splat() else list(op.value.get_values())
        case _:
            fail(op, "a constant of this form is not simulated")
    if kind.is_float:
        held = floats.round_to(np.array(numbers, np.float64), kind)
    else:
        if any(not kind.smallest <= int(number) < 1 << kind.bits for number in numbers):
            fail(op, f"a number that {kind.name} doesn't have")
        held = settle(np.array([int(number) % 2**64 for number in numbers], np.uint64), kind)
    compiling.is_same_for_all(op)
    compiling.costs(op, 1)
    value = np.broadcast_to(held.reshape(shape if held.size > 1 else (1,) * len(shape)), (1, 1, 1, *shape))
    return lambda run, values: (value,)


def _wrapping(function: Function) -> Callable[[Element], Function]:
    """Sums, products and bitwise operations: the low bits of the result depend on the low bits alone."""

    def make(kind: Element) -> Function:
        if kind.bits == 1:
            return lambda left, right: settle(function(as_signed(left), as_signed(right)), kind)
        return lambda left, right: settle(function(left, right), kind)

    return make


def _signed(function: Function) -> Callable[[Element], Function]:
    return lambda kind: lambda left, right: settle(function(as_signed(left), as_signed(right)), kind)


def _unsigned(function: Function) -> Callable[[Element], Function]:
    return lambda kind: lambda left, right: settle(function(as_unsigned(left, kind), as_unsigned(right, kind)), kind)


_INTEGERS: dict[str, Callable[[Element], Function]] = {
    "arith.addi": _wrapping(np.add),
    "arith.subi": _wrapping(np.subtract),
    "arith.muli": _wrapping(np.multiply),
    "arith.andi": _wrapping(np.bitwise_and),
    "arith.ori": _wrapping(np.bitwise_or),
    "arith.xori": _wrapping(np.bitwise_xor),
    "arith.maxsi": _signed(np.maximum),
    "arith.minsi": _signed(np.minimum),
    "arith.maxui": _unsigned(np.maximum),
    "arith.minui": _unsigned(np.minimum),
}
_FLAGGED = {"arith.addi": "add", "arith.subi": "sub", "arith.muli": "mul"}


@compiled_by(*_with_index(*_INTEGERS))
def integer(op: Operation, compiling: Compiling) -> Step:
    """The operations of two integers that always have a result, unless a flag promises something of it."""
    kind = element_of(op.results[0])
    function = _INTEGERS[_name(op)](kind)
    flags = str(property_of(op, "overflowFlags"))
    signed, unsigned = "nsw" in flags, "nuw" in flags
    if op.name not in _FLAGGED or not (signed or unsigned):
        return pointwise(function)
    name = _FLAGGED[op.name]

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        left, right = values
        result = function(left, right)
        if signed:
            lost = integers.signed_overflow(name, left, right, result, kind)
            undefined(run, op, lost, "the result overflows, and nsw promises that it doesn't")
        if unsigned:
            lost = integers.unsigned_overflow(name, left, right, kind)
            undefined(run, op, lost, "the result overflows without a sign, and nuw promises that it doesn't")
        return (result,)

    return step


@compiled_by(*_with_index("arith.shli", "arith.shrsi", "arith.shrui"))
def shift(op: Operation, compiling: Compiling) -> Step:
    """Shifts; by the width or more there is no defined result (0 here)."""
    kind = element_of(op.results[0])
    left_shift, arithmetic = _name(op) == "arith.shli", _name(op) == "arith.shrsi"
    flags = str(property_of(op, "overflowFlags"))
    exact = "isExact" in op.properties or "exact" in op.properties

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        by = as_unsigned(values[1], kind)
        beyond = by >= np.uint64(kind.bits)
        undefined(
            run, op, beyond, f"a shift of {kind.bits} bits by {{}}, which has no defined result", as_signed(values[1])
        )
        by = np.where(beyond, np.uint64(0), by)
        if arithmetic:
            result = settle(as_signed(values[0]) >> by.astype(np.int64), kind)
        else:
            bits = as_unsigned(values[0], kind)
            result = settle(bits << by if left_shift else bits >> by, kind)
        if exact and not left_shift:
            lost = as_unsigned(values[0], kind) & ((np.uint64(1) << by) - np.uint64(1)) != 0
            undefined(run, op, lost, "bits that are set are shifted out, and exact promises that they aren't")
        if left_shift and "nsw" in flags:
            back = as_signed(result) >> by.astype(np.int64)
            undefined(run, op, back != as_signed(values[0]), "the result overflows, and nsw promises that it doesn't")
        if left_shift and "nuw" in flags:
            back = as_unsigned(result, kind) >> by
            lost = back != as_unsigned(values[0], kind)
            undefined(run, op, lost, "the result overflows without a sign, and nuw promises that it doesn't")
        return (np.where(beyond, kind.dtype.type(0), result),)

    return step


_QUOTIENTS: dict[str, Function] = {
    "arith.divsi": integers.divide_to_zero,
    "arith.remsi": lambda left, right: np.asarray(left - right * integers.divide_to_zero(left, right)),
    "arith.floordivsi": lambda left, right: np.asarray(left // right),
    "arith.ceildivsi": lambda left, right: np.asarray(left // right + (left % right != 0)),
    "arith.divui": lambda left, right: np.asarray(left // right),
    "arith.remui": lambda left, right: np.asarray(left % right),
    "arith.ceildivui": lambda left, right: np.asarray(left // right + (left % right != 0)),
}


@compiled_by(*_with_index(*_QUOTIENTS))
def divide(op: Operation, compiling: Compiling) -> Step:
    """Quotients and remainders; by 0, and the smallest integer by -1, there is no defined result (0 here)."""
    kind, function = element_of(op.results[0]), _QUOTIENTS[_name(op)]
    signed = _name(op).endswith("si")

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        left, right = (as_signed(value) if signed else as_unsigned(value, kind) for value in values)
        zero = right == 0
        undefined(run, op, zero, "division by zero")
        bad = zero
        if signed:
            beyond = (right == -1) & (left == kind.smallest)
            undefined(run, op, beyond, "the smallest integer divided by -1, which has no defined result")
            bad = bad | beyond
        result = function(left, np.where(bad, right.dtype.type(1), right))
        return (settle(np.where(bad, result.dtype.type(0), result), kind),)

    return step


_PAIRS: dict[str, Callable[[Array, Array, Element], tuple[Array, Array]]] = {
    "arith.addui_extended": integers.add_carry,
    "arith.subui_extended": integers.subtract_borrow,
    "arith.mului_extended": integers.multiply_unsigned,
    "arith.mulsi_extended": integers.multiply_signed,
}


@compiled_by(*_PAIRS)
def extended(op: Operation, compiling: Compiling) -> Step:
    """A sum with its carry, a difference with its borrow, a product with its high half."""
    kind, function = element_of(op.results[0]), _PAIRS[op.name]
    return lambda run, values: function(values[0], values[1], kind)


_FLOATS: dict[str, Function] = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
}


@compiled_by(*_FLOATS)
def floating(op: Operation, compiling: Compiling) -> Step:
    """Sums, products and quotients of floats, each rounded once to its type."""
    kind, function = element_of(op.results[0]), _FLOATS[op.name]
    if kind.name == "tf32":
        return pointwise(lambda left, right: floats.round_tf32(floats.quiet(function, left, right)))
    return pointwise(lambda left, right: floats.quiet(function, left, right))


@compiled_by("arith.remf")
def remainder(op: Operation, compiling: Compiling) -> Step:
    """`arith.remf`: the remainder of the quotient toward zero, exact, with the sign of the dividend."""
    kind = element_of(op.results[0])
    return pointwise(lambda left, right: elementary.binary("remf", left, right, kind))


@compiled_by("arith.negf")
def negate(op: Operation, compiling: Compiling) -> Step:
    """`arith.negf`: the sign bit turned, of NaN too."""
    kind = element_of(op.results[0])
    return pointwise(lambda value: elementary.sign_bits(value, kind, lambda bits, sign: bits ^ sign))


@compiled_by("arith.flush_denormals")
def flush_denormals(op: Operation, compiling: Compiling) -> Step:
    """`arith.flush_denormals`: a denormal becomes a zero of its sign."""
    kind = element_of(op.results[0])
    smallest = np.array(cast(Any, ml_dtypes.finfo(kind.dtype)).smallest_normal, kind.dtype)
    normal = smallest.view(kind.unsigned_dtype)

    def flushed(bits: Array, sign: Any) -> Array:
        return np.where((bits & ~sign) < normal, bits & sign, bits)

    return pointwise(lambda value: elementary.sign_bits(value, kind, flushed))


@compiled_by(*(f"arith.{name}f" for name in ("maximum", "minimum", "maximumnum", "minimumnum", "maxnum", "minnum")))
def extreme(op: Operation, compiling: Compiling) -> Step:
    """The larger or smaller of two floats, with the name's rule for NaN."""
    name = op.name.removeprefix("arith.").removesuffix("f")
    return pointwise(lambda left, right: floats.extreme(name, left, right))


_ORDERS: tuple[Function, ...] = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)


@compiled_by(arith.CmpiOp)
def compare_integers(op: arith.CmpiOp, compiling: Compiling) -> Step:
    """`arith.cmpi`: the last four predicates compare without a sign."""
    predicate, kind = int(op.predicate.value.data), element_of(op.lhs)
    if not 0 <= predicate < 10:
        fail(op, f"predicate {predicate}: expected 0 to 9")
    if predicate >= 6:
        order = _ORDERS[predicate - 4]
        return pointwise(lambda left, right: order(as_unsigned(left, kind), as_unsigned(right, kind)))
    order = _ORDERS[predicate]
    if kind.bits == 1:
        return pointwise(lambda left, right: order(as_signed(left), as_signed(right)))
    return pointwise(order)


@compiled_by(index.CmpOp)
def compare_indices(op: index.CmpOp, compiling: Compiling) -> Step:
    """`index.cmp`: the predicates of `arith.cmpi` by name."""
    predicate, kind = list(index.IndexCmpPredicate).index(op.pred.data), element_of(op.lhs)
    if predicate >= 6:
        order = _ORDERS[predicate - 4]
        return pointwise(lambda left, right: order(as_unsigned(left, kind), as_unsigned(right, kind)))
    return pointwise(_ORDERS[predicate])


@compiled_by(index.ConstantOp, index.BoolConstantOp, index.SizeOfOp)
def index_constant(op: Any, compiling: Compiling) -> Step:
    """A number, a truth value, or the bits of an index: 64."""
    kind = element_of(op.results[0])
    number = 64 if isinstance(op, index.SizeOfOp) else int(op.value.value.data)
    if not kind.smallest <= number < 1 << kind.bits:
        fail(op, f"a number that {kind.name} doesn't have")
    compiling.is_same_for_all(op)
    compiling.costs(op, 1)
    value = settle(np.array([number % 2**64], np.uint64), kind).reshape(1, 1, 1)
    return lambda run, values: (value,)


@compiled_by(arith.CmpfOp)
def compare_floats(op: arith.CmpfOp, compiling: Compiling) -> Step:
    """`arith.cmpf` with its sixteen predicates."""
    predicate = int(op.predicate.value.data)
    if not 0 <= predicate < len(floats.COMPARISONS):
        fail(op, f"predicate {predicate}: expected 0 to {len(floats.COMPARISONS) - 1}")
    name = floats.COMPARISONS[predicate]
    return pointwise(lambda left, right: floats.compare(name, left, right))


@compiled_by(arith.SelectOp)
def select(op: arith.SelectOp, compiling: Compiling) -> Step:
    """`arith.select`: with a vector of conditions element by element; a descriptor or a buffer is selected whole."""
    axes = len(value_shape(op.results[0].type))

    def step(run: Run, values: list[Any]) -> tuple[Any]:
        condition: Array = values[0]
        chosen: Any = values[1]
        if not isinstance(chosen, np.ndarray):
            return (values[1 if uniform(op, condition, "the condition", run.active) else 2],)
        condition = condition.reshape(condition.shape + (1,) * (axes + 3 - condition.ndim))
        return (np.where(condition, np.asarray(values[1]), np.asarray(values[2])),)

    return step


@compiled_by(*_with_index("arith.extsi", "arith.index_cast", "arith.trunci", "arith.extui", "arith.index_castui"))
def widen(op: Operation, compiling: Compiling) -> Step:
    """Integers of another width: with copies of the sign, with zeros, or the low bits."""
    source, kind = element_of(op.operands[0]), element_of(op.results[0])
    if _name(op) in ("arith.extui", "arith.index_castui"):
        return pointwise(lambda value: settle(as_unsigned(value, source), kind))
    flags = str(property_of(op, "overflowFlags"))

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        result = settle(as_signed(values[0]), kind)
        if "nsw" in flags:
            undefined(run, op, as_signed(result) != as_signed(values[0]), "bits of the number are lost, against nsw")
        if "nuw" in flags:
            lost = as_unsigned(result, kind) != as_unsigned(values[0], source)
            undefined(run, op, lost, "bits of the number are lost, against nuw")
        return (result,)

    return step


@compiled_by("arith.extf", "arith.truncf", "arith.convertf", "xegpu.truncf")
def resize(op: Operation, compiling: Compiling) -> Step:
    """Floats of another width, rounded once; `roundingmode` says how, to the nearest with ties to even without it."""
    kind = element_of(op.results[0])
    written = str(property_of(op, "roundingmode"))
    mode = next((name for name in floats.ROUNDINGS if name in written), floats.ROUNDINGS[0])
    return pointwise(lambda value: floats.round_toward(value, kind, mode))


@compiled_by("arith.sitofp", "arith.uitofp")
def float_of_integer(op: Operation, compiling: Compiling) -> Step:
    """An integer as a float, rounded once."""
    source, kind, signed = element_of(op.operands[0]), element_of(op.results[0]), op.name == "arith.sitofp"
    return pointwise(lambda value: floats.from_integer(value, source, kind, signed))


@compiled_by("arith.fptosi", "arith.fptoui")
def integer_of_float(op: Operation, compiling: Compiling) -> Step:
    """A float without what is after the point; NaN and what doesn't fit have no defined result (0 here)."""
    kind, signed = element_of(op.results[0]), op.name == "arith.fptosi"

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        result, bad = floats.to_integer(values[0], kind, signed)
        undefined(run, op, bad, f"a float that {kind.name} can't hold has no defined result")
        return (result,)

    return step


@compiled_by("arith.bitcast")
def bitcast(op: Operation, compiling: Compiling) -> Step:
    """The same bits in another type of the same width."""
    source, kind = element_of(op.operands[0]), element_of(op.results[0])
    return pointwise(lambda value: vectors.bitcast(value, source, kind))


@compiled_by("arith.scaling_extf", "arith.scaling_truncf")
def scaled(op: Operation, compiling: Compiling) -> Step:
    """A float times (or, narrowed, divided by) a power of two in f8E8M0FNU."""
    kind, narrows = element_of(op.results[0]), op.name == "arith.scaling_truncf"
    wide = element_of(op.operands[0]) if narrows else kind
    scale = element_of(op.operands[1])
    power = element("f8E8M0FNU")

    def compute(value: Array, by: Array) -> Array:
        if scale.bits != 8:
            by = floats.round_to(by, power)
        factor = floats.round_to(by, wide)
        if narrows:
            return floats.round_to(floats.quiet(np.divide, value, factor), kind)
        return floats.quiet(np.multiply, floats.round_to(value, wide), factor)

    return pointwise(compute)
