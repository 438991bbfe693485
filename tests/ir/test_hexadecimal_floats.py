"""The bits of a float in a dense constant, as LLVM writes what has no decimal digits."""

from __future__ import annotations

import numpy as np
import pytest

from layoutalg.core.errors import ParseError
from layoutalg.ir import read_module


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("dense<0xFF800000>", "vector<2xf32>", [-np.inf, -np.inf]),
        ("dense<[0x7F800000, 0x3F800000]>", "vector<2xf32>", [np.inf, 1.0]),
        ("dense<[1.5, 0xBF800000]>", "vector<2xf32>", [1.5, -1.0]),
        ("dense<0x7C00>", "vector<1xf16>", [np.inf]),
        ("dense<0x3F80>", "vector<1xbf16>", [1.0]),
        ("dense<0x3FF0000000000000>", "vector<1xf64>", [1.0]),
        ("dense<0x10>", "vector<1xi32>", [16]),
    ],
)
def test_hexadecimal_digits_are_the_bits_of_a_float(text: str, kind: str, expected: list[float]) -> None:
    constant = read_module(f"%a = arith.constant {text} : {kind}").body.block.first_op
    values = list(constant.properties["value"].get_values())
    assert values == expected


def test_more_bits_than_the_float_has_are_refused() -> None:
    with pytest.raises(ParseError, match="0x1FF800000"):
        read_module("%a = arith.constant dense<0x1FF800000> : vector<2xf32>")
