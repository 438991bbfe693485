"""Functions that serve the room `xegpu` alone, one by one."""

from __future__ import annotations

import layoutalg as la
from layoutalg.core.reader import Reader
from layoutalg.xegpu.integers import read_integers
from layoutalg.xegpu.reading import read_notation


def test_integers_without_a_type_are_i64() -> None:
    assert read_integers(Reader("[32, 1 : i32]")) == ((32, 1), ("i64", "i32"))


def test_what_follows_a_type_is_left() -> None:
    assert str(read_notation(Reader("!xegpu.tensor_desc<16xf16> and more"))) == "!xegpu.tensor_desc<16xf16>"


def test_a_report_has_a_verdict_and_the_type_of_a_fragment() -> None:
    rows = la.LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
    assert [note.text for note in rows.report((8, 16))][:2] == ["accepts", "per lane: vector<8xf32>"]
    assert la.TensorDescType((8, 16), "f16", layout=rows).report()[0].text == "per lane: vector<8xf16>"
    assert la.SgMapAttr((1, 16), (1, 1)).report((8, 16))[0].text == "accepts"
