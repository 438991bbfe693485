"""1,750 operations of CuTe's algebra with what CUTLASS's C++ headers, the DSL, pycute and tensor-layouts said of them.

`data/cute_operations.jsonl.gz` has for each operation the text that C++ printed (`expect`), who refused, who was wrong, and
what enumeration says. Agreement is in text. Where there is none, enumeration decides, and how often is counted here.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from layoutalg import cute
from layoutalg.core import LayoutError
from layoutalg.cute import CuteLayout
from layoutalg.cute.nested_tuples import tuple_text
from tests.cute import definitions

DATA = Path(__file__).with_name("data") / "cute_operations.jsonl.gz"
NAMES = {"composition_tile": "composition", "coalesce_profile": "coalesce"} | {
    f"logical_{kind}_tile": f"logical_{kind}" for kind in ("divide", "product")
}


@cache
def rows() -> list[dict[str, Any]]:
    with gzip.open(DATA, "rt") as lines:
        return [json.loads(line) for line in lines]


def deep(value: Any) -> Any:
    return tuple(map(deep, value)) if isinstance(value, list) else value


def argument(given: dict[str, Any]) -> Any:
    ((kind, value),) = given.items()
    if kind == "layout":
        return cute.parse_cute(value)
    if kind == "tile":
        return tuple(None if one in (None, "_") else cute.parse_cute(one) for one in value)
    return cute.Swizzle(*value) if kind == "swizzle" else deep(value)


def arguments(row: dict[str, Any]) -> list[Any]:
    """The arguments in the order of the functions here: C++ has some of them as template parameters, in front."""
    given = [argument(one) for one in row["args"]]
    if row["op"] in ("upcast", "downcast", "recast"):
        return [given[-1], *given[:-1]]
    return given


def run(row: dict[str, Any]) -> Any:
    name = NAMES.get(row["op"], row["op"])
    return getattr(cute, "composition" if name == "swizzle" else name)(*arguments(row))


def text(value: Any) -> str:
    if isinstance(value, tuple) and any(isinstance(one, CuteLayout) for one in value):
        return f"({','.join(map(str, value))})"
    return str(value) if isinstance(value, CuteLayout) else tuple_text(value)


def same_text(found: str, expected: Any) -> bool:
    return found.replace(" ", "") == str(expected).replace(" ", "")


def told(row: dict[str, Any]) -> str | None:
    """What we say; None where we refuse."""
    try:
        return text(run(row))
    except LayoutError:
        return None


OPERATIONS = sorted({row["op"] for row in rows()})


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_of_the_table_has_the_text_that_cute_prints(operation: str) -> None:
    for row in rows():
        if row["op"] != operation or row["expect"] is None or not as_printed(row):
            continue
        found = told(row)
        assert found is not None, row
        assert same_text(found, row["expect"]), (row, found)


def as_printed(row: dict[str, Any]) -> bool:
    """Whether what was printed is what the operation means, as far as enumeration knows: casts are the ones that are not."""
    if row["op"] not in ("upcast", "downcast", "recast"):
        return True
    layout, *numbers = arguments(row)
    result = cute.parse_cute(row["expect"])
    if row["op"] == "upcast":
        return definitions.is_upcast(layout, numbers[0], result)
    if row["op"] == "downcast":
        return definitions.is_downcast(layout, numbers[0], result)
    old, new = numbers
    return {x * new + k for x in definitions.values(result) for k in range(new)} >= {
        x * old + k for x in definitions.values(layout) for k in range(old)
    } and (new < old or definitions.is_upcast(layout, new // old, result))


def test_where_casts_were_printed_wrong_they_are_right_or_refused_here() -> None:
    wrong = [row for row in rows() if not as_printed(row)]
    assert {row["from"] for row in wrong} == {"cpp", "dsl"}
    refused = right = 0
    for row in wrong:
        try:
            result = run(row)
        except LayoutError:
            assert row["from"] == "dsl", row
            assert "cpp" in row["refuse"], row
            refused += 1
            continue
        assert row["op"] == "downcast"
        assert definitions.is_downcast(*arguments(row), result), row
        right += 1
    assert (refused, right) == (8, 3)


def test_what_nobody_answers_is_refused_or_right_by_its_definition() -> None:
    answered = []
    for row in rows():
        if row["expect"] is not None:
            continue
        found = told(row)
        given = arguments(row)
        if found is not None:
            answered.append(row["id"])
            assert row["op"] == "logical_product", row
            assert definitions.is_product(*given, run(row)), row
        elif row["op"] == "composition":
            assert not definitions.exists(row["truth"], given[1].shape), row
    # (8):(2) by (2):(3): the complement (2,2):(1,16) has 0 and 17 at 0 and 3, and two values are always a mode.
    assert len(answered) <= 1


def test_the_values_of_compositions_are_those_that_were_enumerated() -> None:
    checked = 0
    for row in rows():
        if row["op"] != "composition" or "truth" not in row or row["expect"] is None:
            continue
        assert definitions.values(run(row)) == row["truth"]
        checked += 1
    assert checked


def test_explanations_end_with_what_the_operation_gives() -> None:
    for row in rows():
        name = NAMES.get(row["op"], row["op"])
        name = "composition" if name == "swizzle" else name
        try:
            expected = run(row)
        except LayoutError as error:
            with pytest.raises(type(error)):
                cute.explain(name, *arguments(row))
            continue
        explanation = cute.explain(name, *arguments(row))
        assert explanation.result == expected
        assert str(explanation).splitlines()[0] == f"{name}: {explanation.definition}"
        assert str(explanation).splitlines()[-1].startswith("  = ")
