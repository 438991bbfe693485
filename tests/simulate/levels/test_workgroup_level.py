"""The kernels at workgroup level compute what numpy computes by definition."""

from __future__ import annotations

import pytest

from tests.simulate.levels.comparing import check
from tests.simulate.levels.kernels import KERNELS


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_at_workgroup_level_computes_its_definition(name: str) -> None:
    check(KERNELS[name], KERNELS[name].text, "workgroup")


def test_there_are_thirty_kernels() -> None:
    assert len(KERNELS) >= 30
