"""The table of docs/gemm_types.md: what the page says is what the compilers make, form by form."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from tests.oracle.toolchains import require_new

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "gemm_types.py"))
PAGE = SCRIPT["table_of_page"]()


def test_the_page_has_every_form() -> None:
    assert list(PAGE) == [(form, chip) for form in SCRIPT["FORMS"] for chip in SCRIPT["CHIPS"]]


@pytest.mark.parametrize(("form", "chip"), PAGE)
def test_a_cell_is_what_the_compilers_make(form: str, chip: str) -> None:
    require_new("mlir-opt-24")
    require_new("ocloc")
    assert SCRIPT["cell"](form, chip) == PAGE[form, chip]


@pytest.mark.parametrize(("form", "chip"), PAGE)
def test_the_prediction_is_within_15_percent(form: str, chip: str) -> None:
    listed, _, predicted = PAGE[form, chip].partition(" ")
    assert abs(float(predicted.strip("()")) - float(listed)) <= 0.15 * float(listed)
