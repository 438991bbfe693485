"""Functions that serve the room `core` alone, one by one."""

from __future__ import annotations

from layoutalg.core.factors import Factor, as_name, size_of
from layoutalg.core.held import coords
from layoutalg.core.layout import Layout
from layoutalg.core.lazy import imported
from layoutalg.core.moves import owners
from layoutalg.core.notation import single_operand
from layoutalg.core.reader import Reader
from layoutalg.core.text import layout_text, read_parts
from layoutalg.core.views import substitute


def test_a_name_is_itself() -> None:
    assert as_name("lane", "axis") == "lane"


def test_sizes_are_multiplied() -> None:
    assert size_of([Factor(2, 4, "sg"), Factor(16, 1, "reg")]) == 32


def test_the_coordinates_of_one_lane() -> None:
    assert coords(Layout.parse("d0 = 2@reg, d1 = 4@lane"), {"lane": 3}).tolist() == [[0, 3], [1, 3]]


def test_every_owner_of_an_element() -> None:
    assert owners(Layout.parse("d0 = 4@reg, d1 = 2@lane | replicas 2@sg"), (3, 1)) == [(0, 1, 3), (1, 1, 3)]


def test_a_module_is_imported_after_its_packages() -> None:
    assert imported("layoutalg.core.layout").__name__ == "layoutalg.core.layout"


def test_a_layout_is_its_one_operand() -> None:
    assert single_operand(Layout.parse("d0 = 4@lane"), None, None).name == "d0 = 4@lane"


def test_a_layout_is_printed_with_spaces() -> None:
    assert layout_text(read_parts(Reader("d0 = 8@lane|replicas 2@lane:8"))) == "d0 = 8@lane | replicas 2@lane:8"


def test_a_number_in_place_of_a_symbol() -> None:
    assert str(substitute(Layout.parse("d0 = M/16@reg 16@lane"), {"M": 64})) == "d0 = 4@reg 16@lane"
