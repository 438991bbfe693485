"""Linear algebra over GF(2) against all vectors of small spaces."""

from __future__ import annotations

from functools import reduce
from itertools import combinations
from operator import xor
from random import Random

from layoutalg.core import gf2


def _span(vectors: list[int]) -> set[int]:
    return {reduce(xor, some, 0) for n in range(len(vectors) + 1) for some in combinations(vectors, n)}


def test_a_reduced_basis_spans_the_same_and_is_the_only_one() -> None:
    random = Random(1)
    seen: dict[frozenset[int], list[int]] = {}
    for _ in range(400):
        vectors = [random.randrange(16) for _ in range(random.randrange(5))]
        basis = gf2.reduced(vectors)
        space = frozenset(_span(vectors))
        assert _span(basis) == space
        assert seen.setdefault(space, basis) == basis
        for vector in range(16):
            assert gf2.modulo(vector, basis) == min(vector ^ one for one in space)


def test_maps_are_solved_inverted_and_have_their_kernel() -> None:
    random = Random(2)
    for _ in range(400):
        columns = [random.randrange(16) for _ in range(random.randrange(1, 6))]
        inputs = range(1 << len(columns))
        images = [gf2.image(columns, x) for x in inputs]
        assert _span(gf2.kernel(columns)) == {x for x in inputs if not images[x]}
        wanted = range(16)
        least = [next((x for x in inputs if images[x] == y), None) for y in wanted]
        assert [gf2.solve(columns, y) for y in wanted] == least
        assert gf2.preimages(columns, wanted) == least
        square = [c & ((1 << len(columns)) - 1) for c in columns]
        back = gf2.inverse(square)
        onto = len({gf2.image(square, x) for x in inputs}) == len(inputs)
        assert (back is not None) == onto
        if back is not None:
            assert all(gf2.image(back, gf2.image(square, x)) == x for x in inputs)
