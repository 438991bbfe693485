"""Arrays of whole numbers that a caller gave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from layoutalg.core.errors import LayoutError, SizeError
from layoutalg.core.number_arrays import count_of, together, whole_array


@pytest.mark.parametrize("given", [[1, 2], (1, 2), range(1, 3), np.array([1, 2], np.uint8)])
def test_lists_ranges_and_arrays_are_read_alike(given: Any) -> None:
    assert whole_array(given, "lane").tolist() == [1, 2]


@pytest.mark.parametrize("given", [[0.5], "12", [[1], [1, 2]], None, [True], [10**30], {"a": 1}])
def test_what_is_no_whole_number_is_refused_with_its_name(given: Any) -> None:
    with pytest.raises(LayoutError, match=r"^lane .*: expected whole numbers or an integer array of them$"):
        whole_array(given, "lane")


@pytest.mark.parametrize("given", [range(2**40), range(2**70), np.broadcast_to(np.int64(1), (2**20, 2**20))])
def test_more_than_fit_are_refused_before_they_are_made(given: Any) -> None:
    with pytest.raises(SizeError, match="more than 16777216 lane"):
        whole_array(given, "lane")


def test_a_broadcast_array_counts_every_place() -> None:
    assert count_of(np.broadcast_to(np.int64(1), (3, 5))) == 15
    assert together({"a": np.zeros((3, 1), np.int64), "b": np.zeros(5, np.int64)}, LayoutError) == (3, 5)
