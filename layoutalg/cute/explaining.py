"""Operations that explain themselves: the definition, the steps with their layouts, and the result.

>>> print(explain("composition", "(6,2):(8,2)", "(4,3):(3,1)"))
composition: R(c) = A(B(c)) for every coordinate c of B, and R has B's shape
  the factors of A, merged; the last one runs on: (6,2):(8,2)
  leaf 4:3 takes 2 of 6:8, 3 apart; 2 of 2:2: (2,2):(24,2)
  leaf 3:1 takes 3 of 6:8: 3:8
  = ((2,2),3):((24,2),8)

The steps are told by the operation itself while it works; nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any, NamedTuple

from layoutalg.core.errors import ConversionError
from layoutalg.core.messages import number_text
from layoutalg.core.notebook import NotebookAnswer
from layoutalg.core.whole_numbers import one_of
from layoutalg.cute import casting, coordinates, inverses, modes, tiling
from layoutalg.cute.composing import composed, composition
from layoutalg.cute.modes import as_cute
from layoutalg.cute.nested_tuples import tuple_text
from layoutalg.cute.steps import Say, Step
from layoutalg.cute.swizzles import get_nonswizzle_portion, get_swizzle_portion

__all__ = ["OPERATIONS", "Explanation", "Operation", "explain"]


class Operation(NamedTuple):
    """An operation by its name: what it means in one line, its function, and what computes it while it tells the steps.

    An operation of one step has None there.

    >>> OPERATIONS["complement"].definition
    'R is increasing, and no two L(i) + R(j) are equal: they are every index up to the given one, where strides divide'
    """

    definition: str
    function: Callable[..., Any]
    tells: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True)
class Explanation(NotebookAnswer):
    """What an operation did: its name, its arguments, its definition in one line, its steps and its result.

    >>> explain("coalesce", "(2,(1,6)):(1,(6,2))").result
    CuteLayout(12, 1)
    """

    operation: str
    arguments: tuple[Any, ...]
    definition: str
    steps: tuple[Step, ...]
    result: Any

    def __str__(self) -> str:
        lines = [
            f"{self.operation}: {self.definition}",
            *[f"  {step}" for step in self.steps],
            f"  = {_text(self.result)}",
        ]
        return "\n".join(lines)


def _text(value: Any) -> str:
    if isinstance(value, tuple) and any(not isinstance(one, (int, tuple)) for one in value):  # pyright: ignore[reportUnknownVariableType]
        return ", ".join(map(_text, value))  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, int):
        return number_text(value)
    return tuple_text(value) if isinstance(value, tuple) else str(value)  # pyright: ignore[reportUnknownArgumentType]


def _complement(say: Say, layout: Any, cosize_hi: Any = None) -> Any:
    given = as_cute(layout, "complement")
    return inverses.complement_of(given, inverses.complement_target(given, cosize_hi), say)


def _tiled(function: Callable[..., Any], kind: str) -> Callable[..., Any]:
    def run(say: Say, layout: Any, tiler: Any) -> Any:
        return function(kind, layout, tiler, say)

    return run


def _common(say: Say, a: Any, b: Any) -> Any:
    return inverses.max_common_of(as_cute(a, "max_common_layout"), as_cute(b, "max_common_layout"), say)


def _common_vector(say: Say, a: Any, b: Any) -> int:
    return _common(say, a, b).size


def _inverse(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def run(say: Say, layout: Any) -> Any:
        return function(as_cute(layout, name), say)

    return run


_DIVIDE = "A o (B, complement(B, size(A))), by a tuple in each mode: "
_PRODUCT = "(A, complement(A, size(A) * cosize(B)) o B), by a tuple in each mode: "
OPERATIONS: dict[str, Operation] = {
    "size": Operation("the number of coordinates", modes.size),
    "cosize": Operation("one more than the largest index, where strides count as positive", modes.cosize),
    "rank": Operation("the number of modes", modes.rank),
    "depth": Operation("how deep the modes nest", modes.depth),
    "get": Operation("one mode", modes.get),
    "coalesce": Operation("R is flat with the fewest factors, and R(i) = L(i) for every i < size(L)", modes.coalesce),
    "flatten": Operation("the factors without their nesting", modes.flatten),
    "group": Operation("modes begin to end - 1 as one mode", modes.group),
    "filter": Operation("without factors of stride 0 and of extent 1, coalesced", modes.filter),
    "filter_zeros": Operation("extent 1 where the stride is 0", modes.filter_zeros),
    "composition": Operation("R(c) = A(B(c)) for every coordinate c of B, and R has B's shape", composition, composed),
    "complement": Operation(
        "R is increasing, and no two L(i) + R(j) are equal: they are every index up to the given one, where strides divide",
        inverses.complement,
        _complement,
    ),
    "logical_divide": Operation(_DIVIDE + "((tile), (rest))", tiling.logical_divide, _tiled(tiling.divided, "logical")),
    "zipped_divide": Operation(_DIVIDE + "((tiles), (rests))", tiling.zipped_divide, _tiled(tiling.divided, "zipped")),
    "tiled_divide": Operation(_DIVIDE + "((tiles), rest, ...)", tiling.tiled_divide, _tiled(tiling.divided, "tiled")),
    "flat_divide": Operation(_DIVIDE + "(tile, ..., rest, ...)", tiling.flat_divide, _tiled(tiling.divided, "flat")),
    "logical_product": Operation(
        _PRODUCT + "(block, copies)", tiling.logical_product, _tiled(tiling.multiplied, "logical")
    ),
    "zipped_product": Operation(
        _PRODUCT + "((blocks), (copies))", tiling.zipped_product, _tiled(tiling.multiplied, "zipped")
    ),
    "tiled_product": Operation(
        _PRODUCT + "((blocks), copies, ...)", tiling.tiled_product, _tiled(tiling.multiplied, "tiled")
    ),
    "flat_product": Operation(
        _PRODUCT + "(block, ..., copies, ...)", tiling.flat_product, _tiled(tiling.multiplied, "flat")
    ),
    "blocked_product": Operation(
        "the logical product: mode k is (block k, copies k)",
        tiling.blocked_product,
        _tiled(tiling.woven, "blocked_product"),
    ),
    "raked_product": Operation(
        "the logical product: mode k is (copies k, block k)",
        tiling.raked_product,
        _tiled(tiling.woven, "raked_product"),
    ),
    "tile_to_shape": Operation("the block, repeated until the shape is full", tiling.tile_to_shape),
    "right_inverse": Operation(
        "L(R(i)) = i for every i < size(R)",
        inverses.right_inverse,
        _inverse(inverses.right_inverse_of, "right_inverse"),
    ),
    "left_inverse": Operation(
        "R(L(i)) = i for every i < size(L); where several i have one value, L(R(L(i))) = L(i)",
        inverses.left_inverse,
        _inverse(inverses.left_inverse_of, "left_inverse"),
    ),
    "pseudo_inverse": Operation(
        "L(R(L(i))) = L(i) for every i", inverses.pseudo_inverse, _inverse(inverses.left_inverse_of, "pseudo_inverse")
    ),
    "max_common_layout": Operation(
        "A(R(i)) = B(R(i)) = i for the most contiguous i", inverses.max_common_layout, _common
    ),
    "max_common_vector": Operation(
        "how many elements max_common_layout has", inverses.max_common_vector, _common_vector
    ),
    "nullspace": Operation("L(R(i)) = L(0), where strides are 0", inverses.nullspace),
    "upcast": Operation("the elements n times as wide that L touches", casting.upcast),
    "downcast": Operation("all elements n times as narrow inside those of L", casting.downcast),
    "recast": Operation(
        "upcast by new bits / old bits; where that is a fraction, up by the numerator, then down", casting.recast
    ),
    "crd2idx": Operation("the sum of digits times strides", coordinates.crd2idx),
    "idx2crd": Operation("the digits of an index, first mode fastest", coordinates.idx2crd),
    "crd2crd": Operation("the coordinate of the same index in another shape", coordinates.crd2crd),
    "slice": Operation("the modes that the coordinate leaves open", coordinates.slice),
    "slice_and_offset": Operation("the open modes, and the index of the others", coordinates.slice_and_offset),
    "dice": Operation("the modes that the coordinate does not leave open", coordinates.dice),
    "make_layout": Operation("a shape with its strides; compact, column-major unless given", modes.make_layout),
    "make_ordered_layout": Operation("compact; the smallest number is contiguous", modes.make_ordered_layout),
    "make_identity_layout": Operation("every coordinate maps to itself", modes.make_identity_layout),
    "get_swizzle_portion": Operation("the swizzle of a layout", get_swizzle_portion),
    "get_nonswizzle_portion": Operation("the layout without its swizzle", get_nonswizzle_portion),
}
"""Every operation of CuTe's algebra, by its name."""


def explain(operation: str, *arguments: Any) -> Explanation:
    """Run an operation, and say its definition, its steps and its result.

    The arguments are those of the function of this name in `layoutalg.cute`.

    Raises `ConversionError` for an unknown operation or a wrong number of arguments, and what the operation raises.

    >>> explanation = explain("logical_divide", "(8,8):(1,8)", "4:2")
    >>> explanation.definition
    'A o (B, complement(B, size(A))), by a tuple in each mode: ((tile), (rest))'
    >>> print(explanation.result)
    (4,(2,8)):(2,(1,8))
    """
    name = one_of(operation, tuple(OPERATIONS), "operation", ConversionError)
    found: list[Step] = []

    def say(words: str, value: Any) -> None:
        found.append(Step(words, value))

    done = OPERATIONS[name]
    try:
        signature(done.function).bind(*arguments)
    except TypeError as error:
        raise ConversionError(f"{name} of {len(arguments)} arguments: {error}") from None
    result = done.tells(say, *arguments) if done.tells else done.function(*arguments)
    return Explanation(name, arguments, done.definition, tuple(found), result)
