"""VNNI packing: what follows from the layout is what the formula says, for every type, shape and batch."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16

from layoutalg.amx import pack_vnni, unpack_vnni, vnni_layout
from layoutalg.amx.arrays import rearrange
from layoutalg.core import DistributionError, Layout, LayoutError

DTYPES: list[tuple[Any, str, int]] = [
    (np.int8, "i8", 4),
    (np.uint8, "i8", 4),
    (np.float16, "f16", 2),
    (bfloat16, "bf16", 2),
    (np.int32, "i32", 1),
    (np.float32, "f32", 1),
]


def matrix(shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    octets = np.random.default_rng(size).integers(0, 256, size).astype(np.uint8)
    return octets.view(dtype).reshape(shape)


def same_bytes(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


@pytest.mark.parametrize(("dtype", "element", "v"), DTYPES)
def test_packing_is_the_formula(dtype: Any, element: str, v: int) -> None:
    for words in (1, 2, 3, 7, 16, 40):
        for n in (1, 2, 5, 16, 33):
            b = matrix((words * v, n), dtype)
            formula = b.reshape(words, v, n).transpose(0, 2, 1).reshape(words, n * v)
            assert same_bytes(pack_vnni(b), formula)
            assert same_bytes(unpack_vnni(formula), b)


@pytest.mark.parametrize(("dtype", "element", "v"), DTYPES)
def test_packing_is_element_by_element(dtype: Any, element: str, v: int) -> None:
    for k, n in ((v, 1), (2 * v, 3), (3 * v, 16), (5 * v, 2)):
        b = matrix((k, n), dtype)
        packed = pack_vnni(b)
        layout = vnni_layout(k, n, element)
        assert packed.shape == (k // v, n * v)
        for row in range(k):
            for col in range(n):
                place = (row // v, col * v + row % v)
                assert layout.owners((row, col)) == [place]
                assert packed[place].tobytes() == b[row, col].tobytes()


@pytest.mark.parametrize(("dtype", "element", "v"), DTYPES)
def test_batches_are_packed_one_by_one(dtype: Any, element: str, v: int) -> None:
    b = matrix((2, 3, 4 * v, 5), dtype)
    packed = pack_vnni(b)
    assert packed.shape == (2, 3, 4, 5 * v)
    for i in range(2):
        for j in range(3):
            assert same_bytes(packed[i, j], pack_vnni(b[i, j]))
    assert same_bytes(unpack_vnni(packed), b)
    assert pack_vnni(b[:0]).shape == (0, 3, 4, 5 * v)


def test_views_that_are_not_contiguous_are_packed_too() -> None:
    b = matrix((32, 24), np.int8)
    assert same_bytes(pack_vnni(b.T), pack_vnni(b.T.copy()))
    assert same_bytes(pack_vnni(b[::2, ::3]), pack_vnni(b[::2, ::3].copy()))


def test_the_arrays_move_as_any_layout_of_digits_says() -> None:
    """`rearrange` against the relation written out, on random digits in random places."""
    rng = random.Random(7)
    for _ in range(60):
        extents = [rng.choice((1, 2, 3, 4)) for _ in range(rng.randint(2, 5))]
        place = {"x": 1, "y": 1}
        digits: list[tuple[int, int, str]] = []
        for n in extents:
            axis = rng.choice("xy")
            digits.append((n, place[axis], axis))
            place[axis] *= n
        rng.shuffle(digits)
        cut = rng.randint(1, len(digits) - 1)
        layout = Layout([digits[:cut], digits[cut:]], codomain=("x", "y"))
        array = np.arange(int(np.prod(layout.shape))).reshape(layout.shape)
        moved = rearrange(np.stack([array, -array]), layout)
        assert moved.shape == (2, place["x"], place["y"])
        for at in np.ndindex(*array.shape):
            [(x, y)] = layout.owners(at)
            assert (moved[0, x, y], moved[1, x, y]) == (array[at], -array[at])


@pytest.mark.parametrize(
    "text", ["d0 = 2@d0 | offset 1@d0", "d0 = 2@d0 | replicas 2@d0:2", "d0 = 2@d0:2", "d0 = 2@_", "d0 = 3@d0"]
)
def test_what_is_no_rearrangement_is_refused(text: str) -> None:
    with pytest.raises(LayoutError):
        rearrange(np.arange(2), Layout.parse(text))


@pytest.mark.parametrize(("dtype", "k", "padded"), [(np.int8, 63, 64), (np.uint8, 1, 4), (bfloat16, 31, 32)])
def test_k_that_is_no_whole_number_of_words_says_how_to_pad(dtype: Any, k: int, padded: int) -> None:
    with pytest.raises(DistributionError, match=rf"K = {k} .* pad K to {padded} with zeros"):
        pack_vnni(np.zeros((k, 16), dtype))


@pytest.mark.parametrize(
    "value",
    [
        np.zeros((4, 4), np.float64),
        np.zeros((4, 4), np.int16),
        np.zeros(4, np.int8),
        np.zeros((0, 4), np.int8),
        np.zeros((4, 0), np.int8),
        np.int8(0),
        [[1, 2], [3, 4]],
        None,
    ],
)
def test_what_is_no_matrix_of_a_tiles_elements_is_refused(value: object) -> None:
    for ask in (pack_vnni, unpack_vnni):
        with pytest.raises(LayoutError):
            ask(value)  # type: ignore[arg-type]


def test_a_packed_matrix_has_whole_words() -> None:
    with pytest.raises(DistributionError, match="6 columns are not a whole number of words of 4 elements"):
        unpack_vnni(np.zeros((2, 6), np.int8))


def test_packing_of_unknown_sizes_keeps_its_condition() -> None:
    from layoutalg.core import symbol

    layout = vnni_layout(symbol("K"), symbol("N"), "i8")
    assert [str(c) for c in layout.conditions] == ["4 divides K"]
    assert layout.substitute(K=64, N=16) == vnni_layout(64, 16, "i8")


@pytest.mark.parametrize(
    ("k", "n", "element"), [(0, 4, "i8"), (4, -1, "i8"), (4, 4, "i16"), ("4", 4, "i8"), (4, 4, None)]
)
def test_packings_that_are_none_are_refused(k: Any, n: Any, element: Any) -> None:
    with pytest.raises(LayoutError):
        vnni_layout(k, n, element)
