"""Rounds against a plain search of everything that can be reached."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from layoutalg.flow.rounds import Rounds


class _Steps(Rounds[int]):
    """Every edge adds a number; numbers are counted modulo 12, and 5 is taken nowhere."""

    most = 12

    def __init__(self, count: int, edges: list[tuple[int, int, int]]) -> None:
        super().__init__(count)
        self.edges = edges

    def key(self, one: int) -> int:
        return one

    def order(self, one: int) -> int:
        return one

    def admitted(self, number: int, one: int) -> int | None:
        return None if one % 12 == 5 else one % 12

    def passed_on(self, number: int, fresh: list[int]) -> Iterator[tuple[int, list[int]]]:
        for source, target, step in self.edges:
            if source == number:
                yield target, [one + step for one in fresh]


def reached(count: int, edges: list[tuple[int, int, int]], starts: list[tuple[int, int]]) -> list[set[int]]:
    found: set[tuple[int, int]] = set()
    waiting = list(starts)
    while waiting:
        number, one = waiting.pop()
        one %= 12
        if one != 5 and (number, one) not in found:
            found.add((number, one))
            waiting += [(target, one + step) for source, target, step in edges if source == number]
    return [{one for number, one in found if number == value} for value in range(count)]


def network(seed: int) -> tuple[int, list[tuple[int, int, int]], list[tuple[int, int]]]:
    rng = random.Random(seed)
    count = rng.randint(1, 8)
    edges = [(rng.randrange(count), rng.randrange(count), rng.randrange(12)) for _ in range(rng.randint(0, 12))]
    return count, edges, [(rng.randrange(count), rng.randrange(24)) for _ in range(3)]


@pytest.mark.parametrize("seed", range(50))
def test_rounds_reach_what_can_be_reached(seed: int) -> None:
    count, edges, starts = network(seed)
    search = _Steps(count, edges)
    for number, one in starts:
        search.offer(number, one)
    search.settle()
    assert [set(found) for found in search.of] == reached(count, edges, starts)
    assert search.dropped == 0


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("seed", range(20))
def test_what_is_taken_does_not_depend_on_the_order_of_edges_and_offers(seed: int, most: int) -> None:
    count, edges, starts = network(seed)
    outcomes: set[str] = set()
    for _ in range(3):
        random.Random(seed).shuffle(edges)
        search = _Steps(count, edges)
        search.most = most
        for number, one in starts[:: (-1) ** most]:
            search.offer(number, one)
        search.settle()
        assert all(len(found) <= most for found in search.of)
        outcomes.add(str([list(found) for found in search.of]))
        starts = starts[::-1]
    assert len(outcomes) == 1


def test_of_one_key_the_first_by_order_is_taken() -> None:
    class Words(Rounds[str]):
        most = 3

        def key(self, one: str) -> int:
            return len(one)

        def order(self, one: str) -> str:
            return one

        def passed_on(self, number: int, fresh: list[str]) -> Iterator[tuple[int, list[str]]]:
            return iter(())

    search = Words(1)
    search.offer(0, "bb", "c", "aa", "dddd", "eee", "fffff")
    search.settle()
    assert list(search.of[0].values()) == ["aa", "c", "dddd"]
    assert search.dropped == 2
