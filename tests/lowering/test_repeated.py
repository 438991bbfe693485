"""No lane repeats another's work without a warning."""

from __future__ import annotations

import pytest

import layoutalg as la
from tests.propagation.unannotated import UNANNOTATED


def warnings(lowered: la.Lowered) -> list[str]:
    return [finding.message for finding in lowered.findings if finding.rule == "lower.repeated"]


def test_lanes_that_layouts_leave_open_are_not_dealt_out_silently() -> None:
    """Subgroups alone are stated: each lane would load and store the whole block of its subgroup."""
    stated = la.propagate(UNANNOTATED["row_sums"].text, level="workgroup").module
    lowered = la.lower(stated)
    assert warnings(lowered) == [
        "moves 64x128 elements of which each of 16 lanes holds all: lanes repeat one another's work"
    ]
    assert lowered.module is None
    errors = [finding for finding in lowered.findings if finding.level == "error"]
    assert {finding.rule for finding in errors} == {"lower.lanes"}
    assert errors[0].message.endswith("and its layout leaves open which lane has what")
    assert "level='lane'" in errors[0].notes[-1]
    decided = la.lower(stated, level="lane")
    assert decided.module is not None
    assert warnings(decided) == []


def test_subgroups_that_all_do_the_same_are_warned_of() -> None:
    lowered = la.lower(la.propagate(UNANNOTATED["row_sums"].text, level="lane").module)
    assert warnings(lowered) == ["has 4 subgroups, and no layout deals the work out to them: each does all of it"]


@pytest.mark.parametrize("name", ["row_sums", "gather", "gemm_dynamic", "argmax"])
def test_what_is_decided_first_repeats_nothing(name: str) -> None:
    assert warnings(la.lower(UNANNOTATED[name].text, level="lane")) == []


def test_subgroups_of_a_kernel_that_asks_which_one_it_is_are_not_warned_of() -> None:
    text = UNANNOTATED["row_sums"].text.replace("%c0 = ", "%id = gpu.subgroup_id : index\n%c0 = ", 1)
    lowered = la.lower(la.propagate(text, level="lane").module)
    assert warnings(lowered) == []
