"""Functions that serve the room `xegpu` alone, one by one."""

from __future__ import annotations

from layoutalg.core.reader import Reader
from layoutalg.xegpu.integers import read_integers
from layoutalg.xegpu.reading import read_notation


def test_integers_without_a_type_are_i64() -> None:
    assert read_integers(Reader("[32, 1 : i32]")) == ((32, 1), ("i64", "i32"))


def test_what_follows_a_type_is_left() -> None:
    assert str(read_notation(Reader("!xegpu.tensor_desc<16xf16> and more"))) == "!xegpu.tensor_desc<16xf16>"
