"""Arguments that are no bases, names, sizes or fields: refused in words, never kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from layoutalg.core.errors import LayoutError
from layoutalg.triton import LinearLayout, parse_linear_layout
from layoutalg.triton.encodings import AmdMfma, Blocked, Dpas, Slice, TensorMemoryScales

PAIR: Any = LinearLayout.identity_1d(4, "i", "x") * LinearLayout.identity_1d(2, "j", "y")
PARENT = Blocked((1, 1), (8, 4), (2, 2), (1, 0))
ANY: Any = object()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: PAIR.renamed({"i": 7}), "input 7: expected a name"),
        (lambda: PAIR.renamed({"i": "j"}), "expected each name once"),
        (lambda: PAIR.renamed(None, {"x": ""}), "output '': expected a name"),
        (lambda: PAIR.resize_in_dim("i", np.array([4, 4])), "size of input 'i'"),
        (lambda: PAIR.apply({"i": range(2**40), "j": 0}), "more than 16777216 i"),
        (lambda: PAIR.apply({"i": np.zeros(3, int), "j": np.zeros(2, int)}), "expected arrays that numpy broadcasts"),
        (lambda: LinearLayout.from_bases([("i", [[1]])], ["x"], None, ANY), "require_surjective"),
        (lambda: AmdMfma(3, (2, 2), (32, 32, 8), True, element_bits=ANY), "elementBitWidth"),
        (lambda: Dpas(8, 8, 16, 2, 16, (1, 4), (1, 2), ANY), "fp4KPack"),
        (lambda: TensorMemoryScales((), np.array([1, 2])), "blockRepOrder"),  # pyright: ignore[reportArgumentType]
        (lambda: parse_linear_layout("#ttg.linear<{register = [[" + "0, " * 99 + "0]]}>"), "at most 64 integers"),
    ],
)
def test_what_is_wrong_is_said(call: Callable[[], object], words: str) -> None:
    with pytest.raises(LayoutError) as found:
        call()
    assert words in str(found.value)


def test_a_field_given_as_a_number_of_numpy_is_kept_as_an_int() -> None:
    one = Slice(np.int64(1), PARENT)  # pyright: ignore[reportArgumentType]
    assert type(one.dim) is int
    assert one == Slice(1, PARENT)
