"""Parts of tensors and reshapes, which the simulator does not run, against numpy's own slices."""

from __future__ import annotations

import random
from math import prod

import numpy as np
import pytest

from layoutalg.flow.relations import relation_of
from layoutalg.ir import read_module
from tests.flow.relations.dependencies import enumerated


def said(text: str, operands: list[tuple[int, ...]], result: tuple[int, ...]) -> list[np.ndarray]:  # type: ignore[type-arg]
    """What the last operation's ties say, for each operand: `[operand's element, result's element]`."""
    operation = list(read_module(text).body.block.ops)[-1]
    relation = relation_of(operation)
    assert relation is not None
    found = [np.zeros((prod(shape), prod(result)), bool) for shape in operands]
    for tie in relation.ties:
        found[tie.number] |= enumerated(tie, operands[tie.number], result)
    return found


def written(numbers: np.ndarray, operands: list[tuple[int, ...]]) -> list[np.ndarray]:  # type: ignore[type-arg]
    """An array of numbers, each that of an element of the operands one after the other (-1: of none), as such matrices."""
    found, start = [], 0
    for shape in operands:
        matrix = numbers.reshape(1, -1) == np.arange(start, start + prod(shape))[:, None]
        found.append(matrix)
        start += prod(shape)
    return found


def same(found: list[np.ndarray], expected: list[np.ndarray]) -> bool:  # type: ignore[type-arg]
    return all((one == other).all() for one, other in zip(found, expected, strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_slices_of_tensors_are_numpys(seed: int) -> None:
    rng = random.Random(seed)
    shape = tuple(rng.choice((4, 6, 9)) for _ in range(3))
    steps = [rng.choice((1, 1, 2)) for _ in shape]
    sizes = [rng.randint(1, size // step) for size, step in zip(shape, steps, strict=True)]
    starts = [rng.randint(0, size - (n - 1) * step - 1) for size, n, step in zip(shape, sizes, steps, strict=True)]
    kept = [dim for dim, size in enumerate(sizes) if size != 1 or rng.random() < 0.5] or [0]
    result = tuple(sizes[dim] for dim in kept)
    whole, part = ("x".join(map(str, one)) for one in (shape, result))
    text = f'%t = "test.op"() : () -> tensor<{whole}xf32> '
    text += f"%r = tensor.extract_slice %t{starts} {sizes} {steps} : tensor<{whole}xf32> to tensor<{part}xf32>"
    numbers = np.arange(prod(shape)).reshape(shape)
    taken = numbers[tuple(slice(a, a + n * s, s) for a, n, s in zip(starts, sizes, steps, strict=True))].reshape(result)
    assert same(said(text, [shape], result), written(taken, [shape]))


@pytest.mark.parametrize("seed", range(20))
def test_inserts_pads_and_joins_are_numpys(seed: int) -> None:
    rng = random.Random(seed)
    shape = tuple(rng.choice((4, 6, 9)) for _ in range(2))
    sizes = tuple(rng.randint(1, size) for size in shape)
    starts = [rng.randint(0, size - n) for size, n in zip(shape, sizes, strict=True)]
    inside = tuple(slice(a, a + n) for a, n in zip(starts, sizes, strict=True))
    whole, part = ("x".join(map(str, one)) for one in (shape, sizes))
    first = f'%t, %s, %x = "test.op"() : () -> (tensor<{whole}xf32>, tensor<{part}xf32>, f32) '

    expected = np.arange(prod(shape)).reshape(shape) + prod(sizes)
    expected[inside] = np.arange(prod(sizes)).reshape(sizes)
    insert = f"%r = tensor.insert_slice %s into %t{starts} {list(sizes)} [1, 1] : tensor<{part}xf32> into tensor<{whole}xf32>"
    assert same(said(first + insert, [sizes, shape], shape), written(expected, [sizes, shape]))

    expected = np.full(shape, -1)
    expected[inside] = np.arange(prod(sizes)).reshape(sizes)
    high = [size - n - a for size, n, a in zip(shape, sizes, starts, strict=True)]
    body = "{ ^bb0(%i: index, %j: index): tensor.yield %x : f32 }"
    pad = f"%r = tensor.pad %s low{starts} high{high} {body} : tensor<{part}xf32> to tensor<{whole}xf32>"
    assert same(said(first + pad, [sizes], shape), written(expected, [sizes]))

    other = (sizes[0], shape[1])
    long = (shape[0] + sizes[0], shape[1])
    second = f'%t, %u = "test.op"() : () -> (tensor<{whole}xf32>, tensor<{other[0]}x{other[1]}xf32>) '
    types = f"tensor<{whole}xf32>, tensor<{other[0]}x{other[1]}xf32>"
    join = f"%r = tensor.concat dim(0) %t, %u : ({types}) -> tensor<{long[0]}x{long[1]}xf32>"
    expected = np.arange(prod(long)).reshape(long)
    assert same(said(second + join, [shape, other], long), written(expected, [shape, other]))


def test_reshapes_of_tensors_are_row_major() -> None:
    first = '%t = "test.op"() : () -> tensor<4x6xf32> '
    for text, result in (
        ("%r = tensor.collapse_shape %t [[0, 1]] : tensor<4x6xf32> into tensor<24xf32>", (24,)),
        (
            "%r = tensor.expand_shape %t [[0, 1], [2]] output_shape [2, 2, 6] : tensor<4x6xf32> into tensor<2x2x6xf32>",
            (2, 2, 6),
        ),
    ):
        assert same(said(first + text, [(4, 6)], result), written(np.arange(24), [(4, 6)]))


def test_a_reshape_without_a_closed_form_is_not_known() -> None:
    text = '%t = "test.op"() : () -> vector<6x4xf32> %r = vector.shape_cast %t : vector<6x4xf32> to vector<4x6xf32>'
    assert relation_of(list(read_module(text).body.block.ops)[-1]) is None
