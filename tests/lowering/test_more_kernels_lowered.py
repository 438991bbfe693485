"""Operations beyond the kernels of the levels, lowered and run as work-items, compute their definition."""

from __future__ import annotations

import pytest

from layoutalg.lowering import lower
from layoutalg.module import Module
from tests.lowering.more_kernels import MORE, REFUSED
from tests.simulate.levels.comparing import computed, matches


@pytest.mark.parametrize("name", MORE)
def test_a_lowered_kernel_computes_its_definition(name: str) -> None:
    kernel = MORE[name]
    lowered = lower(Module(kernel.text))
    assert [str(finding) for finding in lowered.findings if finding.level == "error"] == []
    result, rules = computed(kernel, str(lowered), "lane")
    assert not rules
    assert matches(kernel, result)


def test_a_part_that_other_lanes_hold_is_refused_at_the_operation() -> None:
    lowered = lower(Module(REFUSED.text))
    assert lowered.module is None
    [finding] = lowered.findings
    assert (finding.rule, finding.operation) == ("lower.part", "vector.insert_strided_slice")
