"""mlir-opt's pipelines pass by pass: right kernels stay the same, and a known mistake is found at its pass and operation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import layoutalg as la
from layoutalg.equivalence import passes_keep_meaning
from tests.oracle.distribution import VERSIONS, pipeline, program
from tests.simulate.levels.kernels import KERNELS

MISTAKES = Path(__file__).parents[2] / "docs" / "compiler_mistakes.md"


@pytest.mark.parametrize("version", [23, 24])
def test_every_pass_down_to_lanes_keeps_softmax(version: int) -> None:
    kernel = KERNELS["softmax"]
    stages = passes_keep_meaning(
        kernel.spelled_for(version), pipeline(version, "lane"), compiler=program(version), grid=kernel.grid
    )
    assert len(stages) > 15
    assert all(stage.kept is not None and stage.is_kept for stage in stages)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_rows_of_another_subgroup_are_found_at_the_pass_that_distributes(version: int) -> None:
    found = re.search(r"```mlir\n(#a = .*?)```", MISTAKES.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    text = found[1] if version < 24 else re.sub(r"\{(layout_a = [^}]*)\}", r"<{\1}>", found[1])
    stages = passes_keep_meaning(text, pipeline(version, "subgroup"), compiler=program(version))
    wrong = [stage for stage in stages if not stage.is_kept]
    assert [stage.name for stage in wrong] == ["XeGPUWgToSgDistribute"]
    assert wrong[0].kept is not None
    assert wrong[0].kept.culprit is not None
    assert wrong[0].kept.culprit.operation in ("xegpu.dpas", "xegpu.load_nd")


def test_where_the_compiler_stops_the_last_stage_has_its_words() -> None:
    stages = passes_keep_meaning(KERNELS["transpose"].text, pipeline(22, "subgroup"), compiler=program(22))
    assert stages[-1].kept is None
    assert "failed to legalize operation 'vector.transpose'" in stages[-1].problem
    assert all(stage.is_kept for stage in stages)


def test_a_pipeline_that_does_not_exist_is_refused_in_the_compilers_words() -> None:
    with pytest.raises(la.LayoutError, match="mlir-opt"):
        passes_keep_meaning(KERNELS["transpose"].text, "no-such-pass", compiler=program(22))
