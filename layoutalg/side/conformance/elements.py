"""Kernels of one operation on elements: arithmetic, comparisons, casts, constants.

>>> from random import Random
>>> from layoutalg.side.conformance.bodies import KernelBody
>>> making = Making(Random(0), KernelBody("plain"), "math.exp", "none")
>>> elementwise(making)
>>> making.body.lines[3]
'%v1 = math.exp %v0 : vector<8x16xf32>'
"""

from __future__ import annotations

from layoutalg.side.conformance.kinds import KINDS
from layoutalg.side.conformance.making import MISMATCH, Making, generates

__all__: list[str] = []

_FLOAT_1 = (
    "arith.negf", "math.exp", "math.sqrt", "math.absf", "math.tanh", "math.exp2", "math.log", "math.rsqrt", "math.erf",
    "math.sin", "math.cos", "math.floor", "math.ceil",
)  # fmt: skip
_FLOAT_2 = (
    "arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.remf", "arith.maximumf", "arith.minimumf", "arith.maxnumf",
    "arith.minnumf",
)  # fmt: skip
_INTEGER_2 = (
    "arith.addi", "arith.subi", "arith.muli", "arith.andi", "arith.ori", "arith.xori", "arith.maxsi", "arith.maxui",
    "arith.minsi", "arith.minui",
)  # fmt: skip
_INTEGER_SHIFTS = ("arith.shli", "arith.shrsi", "arith.shrui")
_INTEGER_DIVIDES = (
    "arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.ceildivsi", "arith.ceildivui", "arith.floordivsi",
)  # fmt: skip
_CASTS = {
    "arith.extf": ("f16", "f32"),
    "arith.truncf": ("f32", "f16"),
    "arith.extsi": ("i16", "i32"),
    "arith.extui": ("i16", "i32"),
    "arith.trunci": ("i32", "i16"),
    "arith.sitofp": ("i32", "f32"),
    "arith.uitofp": ("i32", "f32"),
    "arith.fptosi": ("f32", "i32"),
    "arith.fptoui": ("f32", "i32"),
    "arith.bitcast": ("f32", "i32"),
}
_EVERY = (*KINDS, MISMATCH)


@generates(
    *_FLOAT_1,
    *_FLOAT_2,
    *_INTEGER_2,
    *_INTEGER_SHIFTS,
    *_INTEGER_DIVIDES,
    "vector.fma",
    kinds=_EVERY,
    family="elementwise",
)
def elementwise(making: Making) -> None:
    """Load the operands, compute, store. A mismatch: the second operand comes in another layout."""
    name, body = making.operation, making.body
    if name in (*_FLOAT_1, *_FLOAT_2, "vector.fma"):
        element = making.random.choice(("f32", "f32", "f16", "bf16") if name.startswith("arith.") else ("f32",))
    else:
        element = making.random.choice(("i32", "i16"))
    tile = making.square(element) if making.kind == MISMATCH else making.tile(element)
    count = 1 if name in _FLOAT_1 else 3 if name == "vector.fma" else 2
    operands = [
        body.load(
            element,
            tile.shape,
            making.other(tile.attribute) if making.kind == MISMATCH and number == count - 1 else tile.attribute,
        )
        for number in range(count)
    ]
    if name in (*_INTEGER_SHIFTS, *_INTEGER_DIVIDES):  # shifted by 0 to 7, divided by 1 to 7
        seven = body.constant(tile.shape, element, "7", tile.attribute)
        small = body.elementwise("arith.andi", operands[1], seven)
        one = body.constant(tile.shape, element, "1", tile.attribute)
        operands[1] = small if name in _INTEGER_SHIFTS else body.elementwise("arith.maxui", small, one)
    result = body.elementwise(name, *operands, layout=tile.attribute)
    body.store(result, tile.attribute)


@generates(*_CASTS, family="casts of elements")
def convert_elements(making: Making) -> None:
    """Elements of another type."""
    source, target = _CASTS[making.operation]
    narrow = source if source in ("i16", "f16") else target
    tile = making.tile(narrow if making.kind != "columns" else "f32")
    loaded = making.body.load(source, tile.shape, tile.attribute)
    if making.operation in ("arith.fptoui", "arith.uitofp"):
        loaded = making.body.elementwise("math.absf" if source == "f32" else "math.absi", loaded)
    making.body.store(making.body.cast(making.operation, loaded, target))


@generates("arith.index_cast", "arith.index_castui", family="arith.index_cast")
def widths(making: Making) -> None:
    """Integers of the machine's width as integers of another."""
    layout, length = making.line()
    count = making.numbers(length, layout, "index")
    making.scatter(making.body.cast(making.operation, count, "i32"))


@generates("arith.cmpf", "arith.cmpi", family="comparisons")
def compare(making: Making) -> None:
    """A comparison, widened to integers."""
    floats = making.operation == "arith.cmpf"
    element = "f32" if floats else "i32"
    tile = making.tile(element)
    body = making.body
    left, right = (body.load(element, tile.shape, tile.attribute) for _ in range(2))
    how = making.random.choice(("olt", "ogt", "oeq", "une") if floats else ("slt", "sgt", "eq", "ult"))
    bit = body.new(tile.shape, "i1", tile.attribute)
    body.add(
        f"{bit.name} = {making.operation} {how}, {left.name}, {right.name}{body.attribute(bit.layout)} : {left.type}"
    )
    body.store(body.cast("arith.extui", bit, "i32"))


@generates("arith.select")
def select(making: Making) -> None:
    """The smaller one of two, by comparing and selecting."""
    tile = making.tile("f32")
    body = making.body
    left, right = (body.load("f32", tile.shape, tile.attribute) for _ in range(2))
    bit, chosen = body.new(tile.shape, "i1", tile.attribute), body.new(tile.shape, "f32", tile.attribute)
    at = body.attribute(tile.attribute)
    body.add(
        f"{bit.name} = arith.cmpf olt, {left.name}, {right.name}{at} : {left.type}",
        f"{chosen.name} = arith.select {bit.name}, {left.name}, {right.name}{at} : {bit.type}, {left.type}",
    )
    body.store(chosen)


@generates("arith.constant")
def constant(making: Making) -> None:
    """A line of numbers that differ, written out."""
    layout, length = making.line()
    body = making.body
    value = body.new((length,), "i32", layout)
    numbers = [making.random.randint(-9, 9) for _ in range(length)]
    body.add(f"{value.name} = arith.constant{body.attribute(layout)} dense<{numbers}> : {value.type}")
    making.scatter(value)
