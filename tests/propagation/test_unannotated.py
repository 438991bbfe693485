"""Kernels of a workgroup without layouts: one call brings them to lanes, and they compute what they mean."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import layoutalg as la
from layoutalg.cli import main
from layoutalg.flow.written_layouts import statements_of
from layoutalg.lanes import decided
from layoutalg.propagation.refinement import is_coarse
from layoutalg.simulate.levels import level_of
from tests.propagation.unannotated import UNANNOTATED, Kernel

LOWERED = tuple(UNANNOTATED)
ROADS = (("lane",), ("inst", "lane"), ("workgroup", "lane"), ("workgroup", "inst", "lane"))


def computes(kernel: Kernel, module: la.Module) -> None:
    """The module writes what the kernel's definition says, and nothing is wrong while it runs."""
    operands = kernel.operands()
    expected = kernel.expected(operands)
    outcome = module.run([*operands, *kernel.numbers], (1, 1, 1))
    assert outcome.findings == ()
    largest = np.abs(expected).max()
    assert np.abs(operands[-1].astype(np.float64) - expected).max() <= kernel.tolerance * largest


def errors(findings: tuple[la.Finding, ...]) -> list[str]:
    return [str(finding) for finding in findings if finding.level == "error"]


@pytest.mark.parametrize("name", UNANNOTATED)
def test_the_kernels_say_no_layout_and_verify(name: str) -> None:
    module = la.read(UNANNOTATED[name].text)
    assert module.verify(llvm=24) == ()
    assert module.layouts == ()


@pytest.mark.slow
@pytest.mark.parametrize("target", ["pvc", "bmg"])
@pytest.mark.parametrize("name", LOWERED)
def test_one_call_brings_a_kernel_to_lanes_and_it_computes_what_it_means(name: str, target: str) -> None:
    kernel = UNANNOTATED[name]
    lowered = la.lower(kernel.text, level="lane", target=target)
    assert errors(lowered.findings) == []
    assert lowered.module is not None
    assert all(level_of(part.module) == "lane" for part in lowered.module.parts)
    computes(kernel, lowered.module)


@pytest.mark.slow
@pytest.mark.parametrize("name", LOWERED)
def test_what_is_decided_is_right_by_meaning_and_for_the_compiler(name: str) -> None:
    done = decided(UNANNOTATED[name].text)
    assert done.is_optimal
    assert done.coarser is not None
    assert done.coarser.is_optimal
    assert errors(la.check(done.module, llvm=24).findings) == []
    # Every statement has lanes now, and the subgroups of the level above.
    stated = [one for part in done.module.parts for op in part.module.walk() for one in statements_of(op)]
    assert stated
    assert not any(is_coarse(one.attribute) for one in stated)


@pytest.mark.slow
@pytest.mark.parametrize("road", ROADS, ids=" ".join)
@pytest.mark.parametrize(
    "name", ["gemm_bias_gelu", "row_sums", "softmax", "layer_norm", "gemm_transposed", "attention"]
)
def test_every_road_of_levels_ends_in_what_check_calls_right_and_lower_takes(name: str, road: tuple[str, ...]) -> None:
    kernel = UNANNOTATED[name]
    module = la.read(kernel.text)
    for level in road:
        done = la.propagate(module, level=level)
        assert errors(done.findings) == []
        module = la.read(str(done))
    assert errors(la.check(module, llvm=24).findings) == []
    lowered = la.lower(module)
    assert errors(lowered.findings) == []
    assert lowered.module is not None
    computes(kernel, lowered.module)


@pytest.mark.parametrize("name", ["gemm_bias_gelu", "softmax", "layer_norm", "causal_mask", "flash_attention"])
def test_subgroups_are_decided_without_planning_every_word(name: str) -> None:
    """Conversions are priced with lanes, so that few words are planned: under a second, in two million calls at most."""
    la.propagate(UNANNOTATED["gather"].text, level="workgroup")  # loads what it needs
    calls = 0

    def counted(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(counted)
    try:
        la.propagate(UNANNOTATED[name].text, level="workgroup")
    finally:
        sys.setprofile(None)
    assert calls < 2_000_000


def test_two_steps_and_one_decide_the_same() -> None:
    text = UNANNOTATED["gemm_bias_gelu"].text
    above = la.propagate(text, level="workgroup")
    assert str(la.propagate(la.read(str(above)), level="lane")) == str(decided(text))


def test_the_lanes_keep_the_subgroups_that_a_user_states() -> None:
    tile = "#xegpu.layout<sg_layout = [1, 4], sg_data = [64, 32]>"
    text = UNANNOTATED["row_sums"].text.replace("tensor_desc<64x128xf32>", f"tensor_desc<64x128xf32, {tile}>")
    done = la.propagate(text, level="lane")
    assert errors(done.findings) == []
    load = next(one for one in done.decisions if one.operation == "xegpu.load_nd")
    assert str(load.attribute).startswith("#xegpu.layout<sg_layout = [1, 4], sg_data = [64, 32], lane_layout = ")
    lowered = la.lower(done.module)
    assert lowered.module is not None
    computes(UNANNOTATED["row_sums"], lowered.module)


def test_a_conversion_of_subgroups_is_made_where_it_is_needed_with_lanes() -> None:
    """The user converts rows to columns of subgroups; the lanes are open on both sides."""
    rows, columns = (
        f"#xegpu.layout<sg_layout = {grid}, sg_data = {data}>"
        for grid, data in (("[4, 1]", "[16, 128]"), ("[1, 4]", "[64, 32]"))
    )
    kind = "vector<64x128xf32>"
    lines = f"""%w = xegpu.convert_layout %x <{{input_layout = {rows}, target_layout = {columns}}}> : {kind}
    %y = math.exp %w {{layout_result_0 = {columns}}} : {kind}
    %s_start = arith"""
    text = UNANNOTATED["row_sums"].text.replace("%s_start = arith", lines, 1).replace("%x, %s_start", "%y, %s_start")
    done = la.propagate(text, level="lane")
    assert errors(done.findings) == []
    converted = done.conversions[0]
    assert "sg_layout = [4, 1]" in str(converted.source)
    assert "sg_layout = [1, 4]" in str(converted.result)
    assert "lane_layout" in str(converted.source)
    assert errors(la.check(done.module).findings) == []
    lowered = la.lower(done.module)
    assert lowered.module is not None
    operands = UNANNOTATED["row_sums"].operands()
    assert lowered.module.run(operands, (1, 1, 1)).findings == ()
    assert np.allclose(operands[1], np.exp(operands[0].astype(np.float64)).sum(1), rtol=1e-4)


def test_findings_name_the_places_of_the_text_that_was_given() -> None:
    text = (
        UNANNOTATED["softmax"]
        .text.replace("math.exp %shifted", "math.exp %shifted")
        .replace("%y = arith.divf %power, %sum", '%y = "other.thing"(%power, %sum)')
    )
    text = text.replace(
        "%sum) : vector<64x64xf32>", "%sum) : (vector<64x64xf32>, vector<64x64xf32>) -> vector<64x64xf32>"
    )
    lowered = la.lower(text, level="lane")
    assert lowered.module is None
    line = next(number for number, one in enumerate(text.splitlines(), 1) if "other.thing" in one)
    assert {finding.place.line for finding in lowered.findings if finding.place is not None} == {line}


def test_the_command_explains_both_levels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.mlir"
    text = UNANNOTATED["row_sums"].text
    assert main(["lower", text, "--level", "lane", "--target", "bmg", "--explain", "-o", str(out)]) == 0
    said = capsys.readouterr().out
    assert said.index("workgroup level, bmg") < said.index("cost 257") < said.index("lane level, bmg")
    assert "lane_layout=[16,1]" in said
    assert out.read_text() == str(la.lower(text, level="lane", target="bmg"))


def test_explaining_needs_a_level(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lower", "gpu.barrier", "--explain"]) == 2
    assert "--level lane" in capsys.readouterr().err
