"""`layoutalg lower`: the text at lane level, where it goes, and what is said of what can't be lowered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from layoutalg.cli import main
from layoutalg.lowering import lower
from layoutalg.module import read
from tests.refusals import wrong_refusal
from tests.simulate.levels.kernels import KERNELS

Capture = pytest.CaptureFixture[str]
CONVERSION = KERNELS["convert_layout"].text
REFUSED = (
    KERNELS["add_f32"]
    .text.replace("arith.addf %v0, %v1", '"other.thing"(%v0, %v1)')
    .replace(": vector<32x64xf32>\n%t2", ": (vector<32x64xf32>, vector<32x64xf32>) -> vector<32x64xf32>\n%t2")
)


def test_the_text_is_printed(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(CONVERSION)
    assert main(["lower", str(path)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "xegpu.convert_layout" not in captured.out
    assert captured.out == str(lower(read(path)))


def test_conversions_are_listed_with_their_price_when_the_text_goes_to_a_file(tmp_path: Path, capsys: Capture) -> None:
    assert main(["lower", CONVERSION, "-o", str(tmp_path / "new.mlir")]) == 0
    line = capsys.readouterr().out
    assert line.startswith("text:7:6: xegpu.convert_layout: d0 = 2@sg:2")
    assert " issue slots on pvc; 16 lanes in a subgroup; a lane holds " in line
    assert "xegpu.load_nd" in (tmp_path / "new.mlir").read_text()


def test_what_cannot_be_lowered_is_said_on_standard_error_and_nothing_is_written(
    tmp_path: Path, capsys: Capture
) -> None:
    assert main(["lower", REFUSED, "-o", str(tmp_path / "new.mlir")]) == 1
    captured = capsys.readouterr()
    assert "'other.thing' op works on spread values" in captured.err
    assert not (tmp_path / "new.mlir").exists()


def test_json(capsys: Capture) -> None:
    assert main(["lower", CONVERSION, "--target", "bmg", "--llvm", "22", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["target"], found["llvm"], found["findings"]) == ("bmg", 22, [])
    [exchange] = found["exchanges"]
    assert (exchange["operation"], exchange["kind"], exchange["written"]) == (
        "xegpu.convert_layout",
        "shared memory",
        True,
    )


@pytest.mark.parametrize("option", [["--llvm", "21"], ["--target", "x"]])
def test_versions_and_targets_that_are_not_known(option: list[str], capsys: Capture) -> None:
    assert main(["lower", CONVERSION, *option]) == 2
    assert "expected one of" in capsys.readouterr().err


def test_a_text_that_is_not_mlir_is_refused(capsys: Capture) -> None:
    for command in ("check", "propagate", "lower"):
        assert main([command, "builtin.module { ? }"]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("layoutalg: text:1:18: cannot be read: expected an operation, found '?'\n")
        assert wrong_refusal(err) is None


_XEGPU = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
_BLOCKED = "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>"


@pytest.mark.parametrize(
    "function",
    [
        f"func.func @f() {{ %c = arith.constant {{layout_result_0 = {_XEGPU}}} dense<1.0> : vector<8x16xf32> func.return }}",
        f"tt.func @f() {{ %r = tt.make_range {{end = 32 : i32, start = 0 : i32}} : tensor<32xi32, {_BLOCKED}> tt.return }}",
    ],
)
def test_a_function_that_is_not_a_kernel_stays_with_a_warning(function: str, capsys: Capture) -> None:
    assert main(["lower", function]) == 0
    assert "only a gpu.func is lowered" in capsys.readouterr().err
