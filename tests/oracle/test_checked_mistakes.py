"""What `check` says of modules that compilers write, and of what they do with modules that it finds wrong.

`propagated` runs a version's own propagation on the kernels of tests/simulate/levels, level by level. What it writes is right
by meaning, but for what TRULY_WRONG has.
"""

from __future__ import annotations

import re
from functools import cache

import pytest

import layoutalg as la
from layoutalg.checking import check
from tests.checking import modules
from tests.checking.repairing import repair_all
from tests.oracle.distribution import SEPARATOR, program
from tests.oracle.toolchains import run
from tests.propagation.test_avoiding import LEVELS, ON_DESCRIPTORS
from tests.propagation.unannotated import UNANNOTATED
from tests.simulate.levels.kernels import KERNELS

_TO_SUBGROUPS = "xegpu-propagate-layout{layout-kind=subgroup},xegpu-wg-to-sg-distribute,cse,lower-affine,cse"
STAGES = {
    "workgroup": "xegpu-propagate-layout{layout-kind=subgroup}",
    "inst": f"{_TO_SUBGROUPS},xegpu-propagate-layout{{layout-kind=inst}}",
    "lane": f"{_TO_SUBGROUPS},xegpu-propagate-layout{{layout-kind=inst}},xegpu-blocking,cse,"
    "xegpu-propagate-layout{layout-kind=lane}",
}
SHARED = {"through_shared_memory", "through_shared_memory_to_strips"}
TRULY_WRONG = {
    ("lane", "attention"): {("layouts.operand", "vector.extract_strided_slice")},
    **{(stage, name): {("compiler.matrix", "xegpu.load_matrix"), ("compiler.matrix", "xegpu.store_matrix")}
       for stage in STAGES for name in SHARED},
}  # fmt: skip
"""Columns of shared memory are moved as rows (mistake 1). In attention, column 3 of a tile is cut out, which lane 3 has, and
its layout says lane 0: the pass that distributes it then stops ("failed to legalize 'vector.insert_strided_slice'")."""


def pipeline(passes: str) -> str:
    return f"--pass-pipeline=builtin.module(cse,xevm-attach-target{{chip=pvc}},lower-affine,gpu.module({passes}))"


def without_temporary_layouts(text: str) -> str:
    """The kernel with the layouts of its loads, stores and dpas alone: the rest is for the propagation to say."""
    layout = r"#xegpu\.(?:layout<[^>]*>|slice<#xegpu\.layout<[^>]*>, dims = \[[\d, ]*\]>)"
    return re.sub(rf" \{{layout_result_0 = {layout}\}}", "", text)


@cache
def propagated(version: int, stage: str, stripped: bool) -> dict[str, str]:
    texts = [kernel.spelled_for(version) for kernel in KERNELS.values()]
    texts = [without_temporary_layouts(text) if stripped else text for text in texts]
    done = run([program(version), "--split-input-file", pipeline(STAGES[stage])], SEPARATOR.join(texts), timeout=300)
    named = ((re.search(r"gpu\.func @(\w+)", part), part) for part in re.split(r"(?m)^// -----$", done.stdout))
    return {name[1]: part for name, part in named if name is not None}


@pytest.mark.parametrize("stripped", [False, True])
@pytest.mark.parametrize("stage", STAGES)
def test_what_llvm_24_propagates_is_right_but_for_what_is_truly_wrong(stage: str, stripped: bool) -> None:
    found = propagated(24, stage, stripped)
    assert len(found) >= 30
    for name, text in found.items():
        errors = {
            (finding.rule, finding.operation)
            for finding in check(la.read(text), llvm=24).findings
            if finding.level == "error"
        }
        assert errors == TRULY_WRONG.get((stage, name), set()), name


def test_llvm_24_stops_where_attention_is_wrong() -> None:
    passes = f"{STAGES['lane']},xegpu-sg-to-lane-distribute"
    done = run([program(24), pipeline(passes)], KERNELS["attention"].spelled_for(24))
    assert "failed to legalize operation 'vector.insert_strided_slice'" in done.stderr


def test_llvm_22_contradicts_itself_where_the_user_says_another_layout() -> None:
    """The load says [16, 1]; the propagation overwrites it, and the descriptor still says it: mistake 3."""
    text = modules.kernel(
        "%t = xegpu.create_nd_tdesc %p : memref<64x64xf32> -> !xegpu.tensor_desc<16x16xf32>",
        "%u = xegpu.create_nd_tdesc %q : memref<64x64xf32> -> !xegpu.tensor_desc<16x16xf32>",
        f"%x = xegpu.load_nd %t[%c0, %c0] <{{layout = {modules.ROWS}}}> : !xegpu.tensor_desc<16x16xf32> -> vector<16x16xf32>",
        f"%y = xegpu.convert_layout %x <{{input_layout = {modules.ROWS}, target_layout = {modules.COLUMNS}}}> "
        ": vector<16x16xf32>",
        "xegpu.store_nd %y, %u[%c0, %c0] : vector<16x16xf32>, !xegpu.tensor_desc<16x16xf32>",
    )
    assert check(la.read(text)).is_right
    done = run([program(22), pipeline("xegpu-propagate-layout{layout-kind=lane}")], text)
    errors = [(finding.rule, finding.operation) for finding in check(la.read(done.stdout)).findings]
    assert ("layouts.contradiction", "xegpu.load_nd") in errors
    assert ("layouts.operand", "xegpu.convert_layout") in errors


def test_llvm_22_gives_an_i8_product_half_an_instruction_and_24_does_not() -> None:
    text = re.sub(r" <\{layout = [^}]*\}>| \{layout_a[^}]*\}", "", modules.HALF_DEPTH)
    assert check(la.read(text)).findings == ()
    for version in (22, 24):
        done = run([program(version), pipeline("xegpu-propagate-layout{layout-kind=inst}")], text)
        rules = {(finding.rule, finding.operation) for finding in check(la.read(done.stdout), llvm=version).findings}
        assert (("layouts.demand", "xegpu.dpas") in rules) == (version == 22), version


@pytest.mark.parametrize("version", [23, 24])
def test_a_reduction_whose_result_is_taken_as_no_slice_crashes_and_the_repair_does_not(version: int) -> None:
    text = modules.reduction(modules.lanes("16", "1"))
    done = run([program(version), pipeline("xegpu-sg-to-lane-distribute")], text)
    assert done.returncode != 0
    assert "getParent" in done.stderr
    assert "compiler.reduction" in [finding.rule for finding in check(la.read(text), llvm=version).findings]
    found, texts = repair_all(text, version)
    assert found.is_right
    assert "getParent" not in run([program(version), pipeline("xegpu-sg-to-lane-distribute")], texts[-1]).stderr


@pytest.mark.parametrize("version", [22, 23, 24])
@pytest.mark.parametrize("result", [modules.SLICE, modules.lanes("16", "1")], ids=["slice", "plain"])
@pytest.mark.parametrize("name", [*modules.SUMS, *modules.NO_SUMS])
def test_what_is_computed_from_a_reduction_crashes_where_check_says_so(name: str, result: str, version: int) -> None:
    text = modules.computed_sums(*{**modules.SUMS, **modules.NO_SUMS}[name], result)
    passes = pipeline("xegpu-subgroup-distribute" if version == 22 else "xegpu-sg-to-lane-distribute")
    crashes = "getParent" in run([program(version), passes], text).stderr
    assert crashes == (version != 22 and name in modules.SUMS)
    assert crashes == ("compiler.reduction" in [one.rule for one in check(la.read(text), llvm=version).findings])
    if crashes and name != "loop":  # whose repair stands before an operation of several lines
        assert "getParent" not in run([program(version), passes], repair_all(text, version)[1][-1]).stderr


BRANCH = """%if = arith.constant true
%w = scf.if %if -> (vector<16xf32>) { scf.yield %s : vector<16xf32> } else { scf.yield %s_start : vector<16xf32> }"""


@pytest.mark.parametrize("version", [23, 24])
@pytest.mark.parametrize("between", ["", "%w = arith.addf %s, %s : vector<16xf32>", BRANCH], ids=["", "sum", "branch"])
def test_what_propagation_writes_of_a_reduction_does_not_crash(version: int, between: str) -> None:
    """A store of the sums takes them in a layout that is not a slice: directly, after an elementwise operation or a branch."""
    text = re.sub(r"64x128", "16x32", UNANNOTATED["row_sums"].text).replace("vector<64xf32>", "vector<16xf32>")
    text = text.replace("tensor_desc<64xf32>", "tensor_desc<16xf32>").replace("array<i32: 64", "array<i32: 16")
    if between:
        text = text.replace("xegpu.store_nd %s", f"{between}\nxegpu.store_nd %w")
    done = run([program(version), pipeline("xegpu-sg-to-lane-distribute")], str(la.propagate(text, llvm=version)))
    assert done.returncode == 0, done.stderr[:2000]
    assert "vector<1xf32>" in done.stdout


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ON_DESCRIPTORS)
def test_llvm_22_reads_the_descriptors_that_are_propagated_for_it(name: str, level: str) -> None:
    done = run([program(22)], str(la.propagate(ON_DESCRIPTORS[name], level=level, llvm=22)))
    assert done.returncode == 0, done.stderr[:2000]


MOVED = [
    ("8x16", "1, 16", "1, 1"), ("8x16", "8, 2", "1, 8"), ("8x32", "1, 16", "1, 2"), ("1x16", "1, 16", "1, 1"),
    ("1x32", "1, 16", "1, 2"), ("1x32", "1, 16", "1, 1"), ("16x16", "16, 1", "1, 1"), ("16x16", "16, 1", "1, 16"),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "layout", "data"), MOVED)
@pytest.mark.parametrize("version", [23, 24])
def test_a_matrix_is_moved_as_one_vector_of_neighbours_from_the_first_element_on(
    version: int, shape: str, layout: str, data: str
) -> None:
    """What the compiler moves, read off its output: the addresses of one vector, from the lane's first element on."""
    spread = modules.lanes(layout, data)
    text = modules.kernel(
        "%m = xegpu.create_mem_desc %s : memref<4096xi8, 3> -> !xegpu.mem_desc<32x32xf32>",
        f"%x = xegpu.load_matrix %m[%c0, %c0] <{{layout = {spread}}}> : "
        f"!xegpu.mem_desc<32x32xf32>, index, index -> vector<{shape}xf32>",
        f"xegpu.store_matrix %x, %m[%c0, %c0] <{{layout = {spread}}}> : "
        f"vector<{shape}xf32>, !xegpu.mem_desc<32x32xf32>, index, index",
    )
    done = run([program(version), pipeline("xegpu-sg-to-lane-distribute,canonicalize,cse,convert-xegpu-to-xevm")], text)
    assert done.returncode == 0, done.stderr
    loads = re.findall(r"llvm\.load .* -> (?:vector<(\d+)xf32>|f32)", done.stdout)
    assert len(loads) == 1, "one message"
    moved = int(loads[0] or 1)
    rows, columns = map(int, shape.split("x"))
    assert moved == rows * columns // 16
    attribute = la.parse(spread)
    held = attribute.layout((rows, columns)).fragment_map()[0]
    addresses = held[..., 0] * 32 + held[..., 1]
    wrong = any(list(lane - lane[0]) != list(range(moved)) for lane in addresses)
    rules = [finding.rule for finding in check(la.read(text), llvm=version).findings]
    assert ("compiler.matrix" in rules) == wrong
