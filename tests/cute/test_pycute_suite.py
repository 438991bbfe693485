"""The calls of pycute's own test suite (NVIDIA's cutlass, test/python/pycute), by our names, held to the definitions.

The arguments are theirs; where a stride is left out it is the compact, column-major one. What must hold is enumerated.
"""

from __future__ import annotations

from typing import Any

import pytest

from layoutalg import cute
from layoutalg.cute import CuteLayout
from tests.cute import definitions

COALESCE = [
    (1, 0), (1, 1), ((2, 4),), ((2, 4, 6),), ((2, 4, 6), (1, 6, 2)), ((2, 1, 6), (1, 7, 2)), ((2, 1, 6), (4, 7, 8)),
    ((2, (4, 6)),), ((2, 4), (4, 1)), ((2, 4, 6), (24, 6, 1)), ((2, 1, 3), (2, 4, 4)), (((2, 2), (2, 2)), ((1, 4), (8, 32))),
]  # fmt: skip
COMPLEMENT = [
    (1, 0), (1, 1), (4, 0), ((2, 4), (1, 2)), ((2, 3), (1, 2)), ((2, 4), (1, 4)), ((2, 4, 8), (8, 1, 64)),
    (((2, 2), (2, 2)), ((1, 4), (8, 32))), ((2, (3, 4)), (3, (1, 6))), ((4, 6), (1, 6)), ((4, 10), (1, 10)),
]  # fmt: skip
TWELVE = (((2, 2, 2), (2, 2, 2)), ((1, 16, 4), (8, 2, 32)))
COMPOSITION = [
    ((1, 0), (1, 0)), ((1, 0), (1, 1)), ((1, 1), (1, 0)), ((1, 1), (1, 1)), ((4,), (4,)), ((4, 2), (4,)), ((4,), (4, 2)),
    ((4, 0), (4,)), ((4,), (4, 0)), ((1, 0), (4,)), ((4,), (1, 0)), ((4,), (2,)), ((4, 2), (2,)), ((4,), (2, 2)),
    ((4, 2), (2, 2)), ((12,), ((4, 3),)), ((12, 2), ((4, 3),)), ((12,), ((4, 3), (3, 1))), ((12, 2), ((4, 3), (3, 1))),
    ((12,), ((2, 3), (2, 4))), (((4, 3),), ((4, 3),)), (((4, 3),), (12,)), (((4, 3),), (6, 2)), (((4, 3),), ((6, 2), (2, 1))),
    (((4, 3), (3, 1)), ((4, 3),)), (((4, 3), (3, 1)), (12,)), (((4, 3), (3, 1)), (6, 2)), (((4, 3), (3, 1)), ((6, 2), (2, 1))),
    (((8, 8),), TWELVE), (((8, 8), (8, 1)), TWELVE), (TWELVE, (8, 4)), (((4, 2), (1, 16)), ((4, 2), (2, 1))),
    (((2, 2), (2, 1)), ((2, 2), (2, 1))), (((4, 8, 2),), ((2, 2, 2), (2, 8, 1))),
    (((4, 8, 2), (2, 8, 1)), ((2, 2, 2), (1, 8, 2))), (((4, 8, 2), (2, 8, 1)), ((4, 2, 2), (2, 8, 1))),
    (((4, 6, 8), (1, 4, 7)), (6, 1)), (((4, 6, 8, 10), (2, 3, 5, 7)), (6, 12)),
]  # fmt: skip
LEFT = [
    (1, 0), ((1, 1), (0, 0)), (1, 1), (4, 1), (4, 2), ((8, 4), (1, 8)), ((8, 4), (4, 1)), ((2, 4, 6), (1, 2, 8)),
    ((2, 4, 6), (4, 1, 8)), ((4, 2), (1, 16)),
]  # fmt: skip
RIGHT = [*LEFT, ((3, 7), (0, 0)), (4, 0), ((2, 4), (0, 2))]


def layout(parts: tuple[Any, ...]) -> CuteLayout:
    return cute.make_layout(*parts)


def test_all_calls_of_its_layouts_are_here() -> None:
    assert len(COALESCE) + len(COMPLEMENT) + len(COMPOSITION) + len(LEFT) + len(RIGHT) == 84


@pytest.mark.parametrize("parts", COALESCE, ids=str)
def test_coalesce(parts: tuple[Any, ...]) -> None:
    assert definitions.is_coalesced(layout(parts), cute.coalesce(layout(parts)))


@pytest.mark.parametrize("parts", COMPLEMENT, ids=str)
def test_complement_reaches_nothing_that_the_layout_reaches(parts: tuple[Any, ...]) -> None:
    given = layout(parts)
    for found in (cute.complement(given), cute.complement(given, 1)):
        assert set(definitions.values(given)) & set(definitions.values(found)) == {0}
        assert definitions.is_complement(given, 1, found)
    if definitions.left_out(given, 500) is not None:
        assert definitions.is_complement(given, 500, cute.complement(given, 500))


@pytest.mark.parametrize(("outer", "inner"), COMPOSITION, ids=str)
def test_composition(outer: tuple[Any, ...], inner: tuple[Any, ...]) -> None:
    a, b = layout(outer), layout(inner)
    assert definitions.is_composition(a, b, cute.composition(a, b))


@pytest.mark.parametrize("parts", LEFT, ids=str)
def test_left_inverse(parts: tuple[Any, ...]) -> None:
    given, inverse = layout(parts), cute.left_inverse(layout(parts))
    assert [definitions.value(inverse, x) for x in definitions.values(given)] == list(range(given.size))


@pytest.mark.parametrize("parts", RIGHT, ids=str)
def test_right_inverse(parts: tuple[Any, ...]) -> None:
    given, inverse = layout(parts), cute.right_inverse(layout(parts))
    assert [definitions.value(given, x) for x in definitions.values(inverse)] == list(range(inverse.size))


# Its 16 checks of tuples, by what they are here: products are sizes, inner products indices, prefix products compact strides,
# and shape_div, which has no name here, says how many tiles are left. Its 4 checks of Python's types say nothing of layouts.
@pytest.mark.parametrize(("shape", "product"), [(2, 2), ((3, 2), 6), (((2, 3), 4), 24)])
def test_products_are_sizes(shape: Any, product: int) -> None:
    assert cute.size(shape) == product


@pytest.mark.parametrize(("one", "other", "product"), [(2, 3, 6), ((1, 2), (3, 2), 7), (((2, 3), 4), ((2, 1), 2), 15)])
def test_inner_products_are_indices(one: Any, other: Any, product: int) -> None:
    """A coordinate in a shape that is large enough, with the other tuple as strides."""
    assert cute.crd2idx(one, raised(one), other) == product


def raised(value: Any) -> Any:
    return tuple(map(raised, value)) if isinstance(value, tuple) else value + 1


@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        (2, 1),
        ((3, 2), (1, 3)),
        ((3, 2, 4), (1, 3, 6)),
        (((2, 3), 4), ((1, 2), 6)),
        (((2, 3), (2, 1, 2), (5, 2, 1)), ((1, 2), (6, 12, 12), (24, 120, 240))),
    ],
)
def test_prefix_products_are_compact_strides(shape: Any, strides: Any) -> None:
    assert cute.parse_cute(str(shape)).stride == strides


@pytest.mark.parametrize(
    ("shape", "divisor", "rest"),
    [
        ((3, 4), 6, (1, 2)),
        ((3, 4), 12, (1, 1)),
        ((3, 4), 36, (1, 1)),
        (((3, 4), 6), 36, ((1, 1), 2)),
        ((6, (3, 4)), 36, (1, (1, 2))),
    ],
)
def test_what_a_division_leaves_of_a_shape(shape: Any, divisor: int, rest: Any) -> None:
    """`shape_div`: after the first `divisor` elements are taken away, so many are left of each extent."""
    left = definitions.size(rest)
    assert left == max(1, definitions.size(shape) // divisor)
    whole = cute.make_layout(shape)
    if definitions.size(shape) % divisor == 0:
        tiles = cute.logical_divide(whole, divisor)
        assert cute.size(cute.get(tiles, 1)) == left
