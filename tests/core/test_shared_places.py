"""Two elements in one place: found where counting through finds them, and nowhere else."""

from __future__ import annotations

import random
from itertools import product

import pytest

from layoutalg.core import Layout
from layoutalg.core.shared_places import shared_place

parse = Layout.parse


def axis(rng: random.Random) -> str | None:
    return rng.choice("ab") if rng.random() < 0.95 else None


def random_overlaps(rng: random.Random) -> Layout:
    """A small layout whose factors often meet."""
    dims = [
        [(rng.randint(1, 4), rng.choice((1, 2, 3, 4, 6, 8)), axis(rng)) for _ in range(rng.randint(0, 2))]
        for _ in range(rng.randint(1, 3))
    ]
    copies = [(rng.randint(1, 3), rng.choice((1, 2, 5, 12)), "a")] if rng.random() < 0.4 else []
    return Layout(dims, copies)


def test_random_layouts_against_counting_through() -> None:
    rng = random.Random(0)
    seen = [0, 0]
    for _ in range(2500):
        layout = random_overlaps(rng)
        held: dict[tuple[int, ...], tuple[int, ...]] = {}
        meets = False
        for element in product(*map(range, layout.shape)):
            for place in layout.owners(element):
                meets = meets or held.setdefault(place, element) != element
        found = shared_place(layout)
        assert (found is not None) == meets, str(layout)
        if found is not None:
            first, second = found.elements
            assert first != second
            assert found.place in layout.owners(first)
            assert found.place in layout.owners(second)
        seen[meets] += 1
    assert min(seen) > 400


@pytest.mark.parametrize(
    ("text", "elements"),
    [
        ("d0 = 4@reg, d1 = 8@lane, d2 = 16@reg", ((0, 0, 1), (1, 0, 0))),
        ("d0 = 2147483648@reg, d1 = 2147483648@reg", ((0, 1), (1, 0))),
        ("d0 = 4@lane | replicas 2@lane:2", ((0,), (2,))),
        ("d0 = 4@_, d1 = 2@addr", ((0, 0), (1, 0))),
        ("d0 = 4@reg, d1 = 8@reg:2 | offset 7@reg", ((0, 1), (2, 0))),
    ],
)
def test_the_first_two_elements_that_meet(text: str, elements: tuple[tuple[int, ...], ...]) -> None:
    found = shared_place(parse(text))
    assert found is not None
    assert found.elements == elements


@pytest.mark.parametrize(
    "text", ["d0 = 4@reg:16, d1 = 8@lane, d2 = 16@reg", "d0 = 2@reg:3, d1 = 2@reg:2", "d0 = M@reg"]
)
def test_layouts_that_keep_their_elements_apart(text: str) -> None:
    assert shared_place(parse(text)) is None
