"""What questions about memory refuse, with the reason, and their smallest and largest tensors."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest

from layoutalg.core import Layout, LayoutError, SizeError
from layoutalg.memory import BestSwizzle, bank_conflicts, best_swizzle, coalescing
from tests.memory.simulation import (
    COLUMNS,
    ROW_MAJOR,
    ROWS,
    Cost,
    as_cost,
)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bank_conflicts("rows of lanes"), "expected a text of a notation"),
        (lambda: bank_conflicts(None), "None: expected a Layout"),  # type: ignore[arg-type]
        (lambda: bank_conflicts(ROWS, banks=0), "banks=0: expected a whole number from 1"),
        (lambda: bank_conflicts(ROWS, banks=True), "banks=True"),
        (lambda: bank_conflicts(ROWS, width=3), "width=3: expected the bytes of a bank"),
        (lambda: bank_conflicts(ROWS, element_bits=12), "element_bits=12: expected 8, 16, 32 or 64"),
        (lambda: bank_conflicts(ROWS, element_bits="f32"), "element_bits='f32'"),  # type: ignore[arg-type]
        (
            lambda: bank_conflicts(ROWS, banks=1, width=4, element_bits=64),
            "1 banks of 4 bytes cannot serve one element of 64 bits",
        ),
        (lambda: bank_conflicts(ROWS, vector=3), "vector=3: expected a power of two from 1 to 4"),
        (lambda: bank_conflicts(ROWS, vector=8), "vector=8"),
        (lambda: bank_conflicts(ROWS, memory="rows"), "memory='rows': expected a Layout"),  # type: ignore[arg-type]
        (lambda: bank_conflicts(ROWS, memory=Layout.parse("d0 = 512@addr")), r"shape \[512\].* shape \[16, 32\]"),
        (
            lambda: bank_conflicts(ROWS, memory=Layout.parse("d0 = 16@row, d1 = 32@col")),
            "expected one axis of addresses",
        ),
        (
            lambda: bank_conflicts(ROWS, memory=Layout.parse("d0 = 16@addr:32, d1 = 32@addr | replicas 2@addr:512")),
            "replicas",
        ),
        (lambda: bank_conflicts(ROW_MAJOR), "expected a distribution over sg, lane and reg"),
        (lambda: bank_conflicts(Layout.parse("d0 = M@reg, d1 = 4@lane")), "has symbols"),
        (lambda: bank_conflicts(Layout.parse("d0 = 4@_, d1 = 4@lane")), "one slot holds"),
        (lambda: coalescing(ROWS, element_bits=32, line=48), "line=48: expected the bytes of a cache line"),
        (lambda: coalescing(ROWS, element_bits=32, line="64"), "line='64'"),  # type: ignore[arg-type]
        (lambda: coalescing(3, element_bits=32), "3: expected a Layout"),  # type: ignore[arg-type]
        (lambda: best_swizzle(ROWS, Layout.parse("d0 = 16@lane")), "expected one tensor"),
        (lambda: best_swizzle(ROWS, "x"), "expected a text of a notation that is read: .* found 'x'"),
        (lambda: best_swizzle(ROWS, 5), "5: expected a Layout"),  # type: ignore[arg-type]
        (lambda: best_swizzle(ROWS, ROWS, element_bits=4), "element_bits=4"),
        (lambda: best_swizzle(ROWS, ROWS).address([1]), "1 coordinates: expected 2"),
        (lambda: best_swizzle(ROWS, ROWS).address([[0, 1, 2], [0, 1]]), r"shapes \[3\] along d0, \[2\] along d1"),
        (lambda: best_swizzle(ROWS, ROWS).address([16, 0]), "d0 from 16 to 16: outside a size of 16"),
        (lambda: best_swizzle(ROWS, ROWS).address([0.5, 0]), "expected whole numbers"),
        (lambda: best_swizzle(ROWS, ROWS).address(5), "coordinates 5: expected 2 of them"),  # type: ignore[arg-type]
        (lambda: best_swizzle(ROWS, ROWS).address([[[0], [1, 2]], 0]), "expected whole numbers"),
    ],
)
def test_what_cannot_be_answered_says_why(call: Callable[[], object], message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        call()


def test_a_tensor_of_one_element_is_one_access() -> None:
    for layout in (Layout([]), Layout.parse("d0 = 1"), Layout.parse("d0 = 1, d1 = 1")):
        found = bank_conflicts(layout)
        assert as_cost(found) == Cost(1, 1, 1, 1, 1)
        best = best_swizzle(layout, layout)
        assert (best.matrix, best.size, best.address([0] * layout.rank).tolist()) == ((), 1, 0)
        assert coalescing(layout, element_bits=8).used == 1


def test_sizes_are_bounded() -> None:
    with pytest.raises(SizeError, match=r"over the limit of 2\^24"):
        bank_conflicts(Layout.parse("d0 = 1048576@reg, d1 = 32@lane"))
    with pytest.raises(SizeError, match=r"over the limit of 2\^24"):
        best_swizzle(Layout.parse("d0 = 4@lane | offset 1073741824@lane"), Layout.parse("d0 = 4@lane"))
    with pytest.raises(SizeError, match=r"over the limit of 2\^62 bytes"):
        bank_conflicts(Layout.parse("d0 = 4@lane"), memory=Layout([[(4, 2**60, "addr")]]))


def test_answers_are_values() -> None:
    best = best_swizzle(ROWS, COLUMNS)
    for found in (best, best.write, coalescing(ROWS, element_bits=32)):
        assert pickle.loads(pickle.dumps(found)) == found
        assert hash(found) == hash(pickle.loads(pickle.dumps(found)))
    assert isinstance(best, BestSwizzle)
    with pytest.raises(AttributeError):
        best.vector = 2  # type: ignore[misc]
