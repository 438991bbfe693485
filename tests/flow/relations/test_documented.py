"""docs/relations.md and the registry agree both ways, and its examples are what the code gives."""

from __future__ import annotations

import pytest

from layoutalg.flow.relations import related_operations
from tests.flow.relations.documented import PAGE, Row, asked, rows, values

_PAGE = PAGE.read_text(encoding="utf-8")
_ROWS = list(rows(_PAGE))
_OF_TESTS = {"test.op"}


def test_the_tables_have_every_operation_once() -> None:
    named = [name for row in _ROWS for name in row.operations]
    assert sorted(named) == sorted(set(named))
    assert set(named) == set(related_operations()) - _OF_TESTS


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: row.operations[0])
def test_an_example_is_what_the_code_gives(row: Row) -> None:
    assert (row.ties, row.reach, row.demand) == asked(row, values(_PAGE))
