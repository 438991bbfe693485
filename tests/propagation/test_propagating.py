"""What `la.propagate` keeps, removes, makes again and writes; what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import layoutalg as la
from layoutalg.cli.program import main
from tests.oracle.toolchains import require, require_new, run
from tests.refusals import wrong_refusal

ROWS = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
COLUMNS = "#xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>"
VNNI = "#xegpu.layout<lane_layout = [1, 16], lane_data = [2, 1]>"
SIZES = "known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32"

GEMM = f"""
gpu.module @m [#xevm.target<chip = "pvc">] {{
gpu.func @k(%p: memref<64x64xf16>, %q: memref<64x64xf16>, %r: memref<64x64xf32>) kernel attributes {{{SIZES}}} {{
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %z = arith.constant dense<0.0> : vector<8x16xf32>
  %ta = xegpu.create_nd_tdesc %p : memref<64x64xf16> -> !xegpu.tensor_desc<8x16xf16>
  %tb = xegpu.create_nd_tdesc %q : memref<64x64xf16> -> !xegpu.tensor_desc<16x16xf16>
  %tc = xegpu.create_nd_tdesc %r : memref<64x64xf32> -> !xegpu.tensor_desc<8x16xf32>
  %c = scf.for %k = %c0 to %c64 step %c16 iter_args(%acc = %z) -> (vector<8x16xf32>) {{
    %a = xegpu.load_nd %ta[%c0, %k] : !xegpu.tensor_desc<8x16xf16> -> vector<8x16xf16>
    %b = xegpu.load_nd %tb[%k, %c0] : !xegpu.tensor_desc<16x16xf16> -> vector<16x16xf16>
    %aa = arith.addf %a, %a : vector<8x16xf16>
    %d = xegpu.dpas %aa, %b, %acc : vector<8x16xf16>, vector<16x16xf16>, vector<8x16xf32> -> vector<8x16xf32>
    scf.yield %d : vector<8x16xf32>
  }}
  %e = math.exp %c : vector<8x16xf32>
  xegpu.store_nd %e, %tc[%c0, %c0] : vector<8x16xf32>, !xegpu.tensor_desc<8x16xf32>
  gpu.return
}}
}}
"""


def function(*lines: str) -> str:
    body = "\n".join(lines)
    return f"func.func @f(%x: vector<16x16xf32>, %p: memref<64x64xf32>, %n: index) {{\n{body}\nfunc.return\n}}"


def converted(left: str, right: str, name: str = "x", to: str = "y") -> str:
    return (
        f"%{to} = xegpu.convert_layout %{name} <{{input_layout = {left}, target_layout = {right}}}> : vector<16x16xf32>"
    )


@pytest.mark.parametrize("llvm", [22, 23, 24])
def test_a_product_gets_the_layouts_that_mlir_opt_gives_it(llvm: int) -> None:
    program = require("mlir-opt-22") if llvm == 22 else require_new(f"mlir-opt-{llvm}")
    done = run([program, "--xegpu-propagate-layout=layout-kind=lane"], GEMM)
    assert done.returncode == 0
    ours = run([program], str(la.propagate(GEMM, level="lane", llvm=llvm)))
    assert ours.returncode == 0
    assert ours.stdout == done.stdout


@pytest.mark.parametrize("level", ["lane", "inst", "workgroup"])
@pytest.mark.parametrize("llvm", [22, 23, 24])
def test_what_was_propagated_stays_as_it_is(level: str, llvm: int) -> None:
    once = la.propagate(GEMM, level=level, llvm=llvm)
    twice = la.propagate(once.module, level=level, llvm=llvm)
    assert twice.module.source == once.module.source
    assert twice.cost == once.cost


def test_what_is_written_stays_and_is_converted() -> None:
    text = function(
        f"%a = arith.addf %x, %x {{layout_result_0 = {ROWS}}} : vector<16x16xf32>",
        f"%b = arith.addf %a, %a {{layout_result_0 = {COLUMNS}}} : vector<16x16xf32>",
    )
    done = la.propagate(text)
    assert [str(decision.attribute) for decision in done.decisions[1:]] == [ROWS, COLUMNS]
    assert [(one.name, str(one.source), str(one.result)) for one in done.conversions] == [("%a", ROWS, COLUMNS)]
    assert done.conversions[0].cost == la.convert(la.parse(ROWS), la.parse(COLUMNS), (16, 16), target="pvc").cost


def test_a_conversion_between_two_names_of_one_map_goes() -> None:
    done = la.propagate(function(converted(ROWS, VNNI), "%b = math.exp %y : vector<16x16xf32>"))
    assert "convert_layout" not in str(done)
    assert [one.name for one in done.removed] == ["%y"]


def test_two_conversions_that_cancel_go() -> None:
    there, back = converted(ROWS, COLUMNS), converted(COLUMNS, ROWS, "y", "z")
    done = la.propagate(function(there, back, "%b = math.exp %z : vector<16x16xf32>"))
    assert "convert_layout" not in str(done)
    assert len(done.removed) == 2


def test_a_conversion_that_somebody_else_uses_stays() -> None:
    there, back = converted(ROWS, COLUMNS), converted(COLUMNS, ROWS, "y", "z")
    use = "%b = arith.addf %z, %z : vector<16x16xf32>\n%c = math.exp %y : vector<16x16xf32>"
    done = la.propagate(function(there, back, use))
    assert str(done).count("xegpu.convert_layout") == 1
    assert [one.name for one in done.removed] == ["%z"]


def test_a_constant_is_made_again_instead_of_converted() -> None:
    text = function(
        "%one = arith.constant dense<1.0> : vector<16x16xf32>",
        f"%a = arith.addf %x, %one {{layout_result_0 = {ROWS}}} : vector<16x16xf32>",
        f"%b = arith.addf %a, %one {{layout_result_0 = {COLUMNS}}} : vector<16x16xf32>",
    )
    done = la.propagate(text)
    assert sorted(one.kind for one in done.conversions) == ["convert", "made again"]
    assert str(done).count("dense<1.000000e+00>") == 2


def test_a_conversion_in_a_loop_is_paid_each_time_and_so_stands_before_it() -> None:
    text = function(
        "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index",
        f"%a = arith.addf %x, %x {{layout_result_0 = {ROWS}}} : vector<16x16xf32>",
        "scf.for %i = %c0 to %n step %c1 {",
        f"%b = arith.addf %a, %a {{layout_result_0 = {COLUMNS}}} : vector<16x16xf32>\n}}",
    )
    done = la.propagate(text)
    assert done.conversions[0].times == 1
    lines = str(done).splitlines()
    assert lines.index(next(line for line in lines if "convert_layout" in line)) < lines.index(
        next(line for line in lines if "scf.for" in line)
    )


def test_what_a_loop_carries_has_one_layout() -> None:
    done = la.propagate(GEMM)
    [carried] = [decision for decision in done.decisions if decision.operation == "scf.for"]
    assert str(carried.attribute) == ROWS


def test_a_descriptor_of_two_layouts_is_made_twice() -> None:
    kind = "!xegpu.tensor_desc<16x16xf32>"
    load = "%{} = xegpu.load_nd %t[0, 0] <{{layout = {}}}> : " + f"{kind} -> vector<16x16xf32>"
    text = function(
        f"%t = xegpu.create_nd_tdesc %p : memref<64x64xf32> -> {kind}",
        load.format("a", ROWS),
        load.format("b", COLUMNS),
    )
    done = la.propagate(text)
    assert str(done).count("xegpu.create_nd_tdesc") == 2
    assert done.module.verify(llvm=24) == ()


def test_operations_without_a_relation_are_named() -> None:
    done = la.propagate('%a = "my.op"() : () -> vector<16xf32>')
    assert [(finding.rule, finding.level) for finding in done.findings] == [("propagate.unknown", "warning")]


def test_an_operation_that_takes_no_layout_is_named_with_the_reason() -> None:
    done = la.propagate(
        function(
            "%t = xegpu.create_nd_tdesc %p : memref<64x64xf32> -> !xegpu.tensor_desc<16x8xf32>",
            "%c = arith.constant dense<1.0> : vector<16x8xf32>",
            "xegpu.store_nd %c, %t[0, 0] : vector<16x8xf32>, !xegpu.tensor_desc<16x8xf32>",
        )
    )
    [finding] = done.findings
    assert finding.rule == "propagate.demand"
    assert finding.operation == "xegpu.store_nd"
    assert finding.place is not None
    assert "not a multiple of 16" in finding.message


def test_a_layout_that_does_not_fit_is_named_and_stays() -> None:
    text = f"%c = arith.constant {{layout_result_0 = {ROWS}}} dense<1.0> : vector<8x17xf32>"
    done = la.propagate(text)
    assert [finding.rule for finding in done.findings] == ["propagate.statement"]
    assert ROWS in str(done)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"level": "register"}, "level 'register': expected one of lane, inst, workgroup"),
        ({"level": 3}, "level 3"),
        ({"target": "i486"}, "i486"),
        ({"llvm": 21}, "21"),
        ({"llvm": "24"}, "24"),
        ({"like": "llvm21"}, "like 'llvm21': expected 'llvm22', 'llvm23' or 'llvm24'"),
    ],
)
def test_what_is_not_known_is_refused_in_words(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(la.LayoutError, match=re.escape(words)):
        la.propagate(GEMM, **arguments)


@pytest.mark.parametrize("module", [None, 3, b"gpu.barrier", ["gpu.barrier"]])
def test_what_is_no_module_is_refused_in_words(module: Any) -> None:
    with pytest.raises(la.LayoutError, match="expected a Module or a str"):
        la.propagate(module)


def test_like_llvm_gives_the_layouts_of_llvm_with_their_cost() -> None:
    done = la.propagate(GEMM, like="llvm22")
    assert done.cost >= la.propagate(GEMM, llvm=22).cost
    assert "layout_cd" in str(done)


# The command line


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "kernel.mlir"
    path.write_text(GEMM)
    return path


def test_the_command_writes_the_module(kernel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.mlir"
    assert main(["propagate", str(kernel), "--llvm", "23", "-o", str(out)]) == 0
    assert out.read_text() == str(la.propagate(GEMM, llvm=23))
    assert capsys.readouterr().out == ""


def test_the_command_prints_the_module_or_explains(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["propagate", str(kernel)]) == 0
    assert capsys.readouterr().out == str(la.propagate(GEMM))
    assert main(["propagate", str(kernel), "--explain", "--llvm", "22"]) == 0
    printed = capsys.readouterr().out
    assert "the minimum" in printed
    assert "LLVM 22's own propagation:" in printed
    assert "builtin.module" not in printed


def test_the_command_prints_json(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["propagate", str(kernel), "--json", "--level", "workgroup", "--explain"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["optimal"] is True
    assert facts["level"] == "workgroup"
    assert len(facts["values"]) == len(la.propagate(GEMM, level="workgroup").decisions)
    assert facts["likewise"][0]["llvm"] == 24


@pytest.mark.parametrize(
    "arguments", [["--level", "register"], ["--target", "i486"], ["--llvm", "21"], ["--like", "gcc"], ["--what"]]
)
def test_the_command_refuses_what_it_does_not_know(
    kernel: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["propagate", str(kernel), *arguments]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("text", ["", "Dear reader,\nhello"])
def test_the_command_refuses_what_is_no_module(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "letter.mlir"
    path.write_text(text)
    assert main(["propagate", str(path)]) == 2
    assert wrong_refusal(capsys.readouterr().err) is None


def test_layouts_of_llvm_are_explained_with_lines_of_the_source_and_are_not_called_the_minimum(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = tmp_path / "gemm.mlir"
    kernel.write_text(f"// one line more than LLVM writes\n{GEMM}")
    assert main(["propagate", str(kernel), "--like", "llvm22", "--explain"]) == 0
    theirs = capsys.readouterr().out.splitlines()
    assert theirs[0].endswith("lane level, pvc, LLVM 22")
    assert theirs[-1].endswith("; with the layouts of LLVM 22")
    assert main(["propagate", str(kernel), "--explain"]) == 0
    ours = capsys.readouterr().out.splitlines()
    lines = [[line.split()[:2] for line in text if " %" in line and "," not in line] for text in (theirs, ours)]
    assert lines[0] == lines[1]


def test_values_without_layouts_that_go_together_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a conversion has no plan, the error says at which value."""

    def no_plan(*_: object) -> None:
        return None

    monkeypatch.setattr("layoutalg.propagation.costs._conversion", no_plan)
    done = la.propagate(f"""func.func @f(%x: vector<16x16xf32>) {{
        %y = arith.negf %x {{layout_result_0 = {ROWS}}} : vector<16x16xf32>
        %z = arith.negf %y {{layout_result_0 = {COLUMNS}}} : vector<16x16xf32>
        func.return }}""")
    [finding] = [one for one in done.findings if one.rule == "propagate.impossible"]
    assert finding.place is not None
    assert (finding.place.line, finding.operation) in ((2, "arith.negf"), (3, "arith.negf"))
    assert finding.message.startswith(("no layout of %y goes", "no layout of %z goes"))


def test_what_is_converted_is_converted_again_from_where_it_came() -> None:
    """%b has the map of %x again; %c is nearer to %x than to %a."""
    pairs = "#xegpu.layout<lane_layout = [8, 2], lane_data = [1, 1]>"
    lines = (
        f"%y = arith.negf %x {{layout_result_0 = {ROWS}}} : vector<16x16xf32>",
        converted(ROWS, pairs, "y", "a"),
        f"%b = arith.negf %a {{layout_result_0 = {ROWS}}} : vector<16x16xf32>",
        f"%c = arith.negf %a {{layout_result_0 = {pairs}}} : vector<16x16xf32>",
    )
    done = la.propagate(function(*lines), level="lane")
    assert str(done).count("xegpu.convert_layout") == 1
    assert not done.conversions
    assert la.check(done.module, llvm=24).is_right


def test_a_load_is_not_moved_in_a_layout_that_compilers_ignore() -> None:
    whole = "#xegpu.slice<#xegpu.layout<lane_layout = [1, 1, 16], lane_data = [1, 1, 1]>, dims = [2]>"
    text = f"""func.func @f(%p: memref<2x8xf32>) {{
        %t = xegpu.create_nd_tdesc %p : memref<2x8xf32> -> !xegpu.tensor_desc<2x8xf32>
        %x = xegpu.load_nd %t[0, 0] <{{layout = {whole}}}> : !xegpu.tensor_desc<2x8xf32> -> vector<2x8xf32>
        func.return }}"""
    done = la.propagate(text, level="lane")
    assert [finding.rule for finding in done.findings if finding.level == "error"] == ["propagate.demand"]
    assert "lane_layout = [2, 8]" not in str(done)
    assert str(la.propagate(done.module, level="lane")) == str(done)


@pytest.mark.parametrize("use", ["name = @f", "names = [1 : i32, @f]", "names = {a = [@f]}", "name = @m::@f"])
def test_the_arguments_of_a_function_that_others_name_keep_their_types(use: str) -> None:
    """Whoever names a function, in a list too, calls it with the types that it has."""
    load = "xegpu.load_nd %t[0, 0] <{layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>}>"
    text = f"""module {{ func.func @f(%t: !xegpu.tensor_desc<16x16xf32>) {{
  %x = {load} : !xegpu.tensor_desc<16x16xf32> -> vector<16x16xf32>
  func.return }}
  USE }}"""
    named, alone = (
        str(la.propagate(text.replace("USE", one)).module) for one in (f'"test.use"() {{{use}}} : () -> ()', "")
    )
    assert "@f(%t: !xegpu.tensor_desc<16x16xf32>)" in named
    assert "@f(%t: !xegpu.tensor_desc<16x16xf32>)" not in alone
