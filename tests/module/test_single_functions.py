"""Functions that serve the room `module` alone, one by one."""

from __future__ import annotations

from layoutalg.module.conversions import conversions_of


def test_a_text_without_conversions_has_none() -> None:
    assert list(conversions_of(())) == []
