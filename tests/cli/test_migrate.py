"""`layoutalg migrate`: the text for another version of LLVM, where it goes, and what is said of the rest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from layoutalg.cli import main
from layoutalg.module import read

Capture = pytest.CaptureFixture[str]

# LLVM 22 reads the first; 23 and 24 want the offsets at the load (facts of their changelogs, asked in tests/oracle).
OLD = """\
func.func @f(%m: memref<64x64xf16>, %i: index) -> vector<8x16xf16> {
  %t = xegpu.create_nd_tdesc %m[%i, 0] : memref<64x64xf16> -> !xegpu.tensor_desc<8x16xf16>
  %x = xegpu.load_nd %t : !xegpu.tensor_desc<8x16xf16> -> vector<8x16xf16>
  func.return %x : vector<8x16xf16>
}
"""
POINTS = """\
func.func @f(%d: !xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<>>) {
  func.return
}
"""


def test_the_text_is_printed(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(OLD)
    assert main(["migrate", str(path), "--llvm", "24"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "%x = xegpu.load_nd %t[%i, 0] :" in captured.out
    assert captured.out == str(read(path).migrate(llvm=24))


def test_the_text_is_written_to_a_file(tmp_path: Path, capsys: Capture) -> None:
    assert main(["migrate", OLD, "--llvm", "23", "-o", str(tmp_path / "new.mlir")]) == 0
    assert capsys.readouterr().out == ""
    assert "xegpu.load_nd %t[%i, 0] :" in (tmp_path / "new.mlir").read_text()


def test_what_has_no_counterpart_is_said_on_standard_error(capsys: Capture) -> None:
    assert main(["migrate", POINTS, "--llvm", "24"]) == 1
    captured = capsys.readouterr()
    assert captured.out.startswith("builtin.module {")
    assert "text:1:1: error: 'func.func' op " in captured.err
    assert captured.err.splitlines()[-1].startswith("text: 1 error")


def test_json(capsys: Capture) -> None:
    assert main(["migrate", POINTS, "--llvm", "24", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["to"], found["findings"][0]["line"]) == (24, 1)
    assert found["text"].startswith("builtin.module {")


@pytest.mark.parametrize("to", ["22", "25", "x"])
def test_versions_that_are_not_migrated_to(to: str, capsys: Capture) -> None:
    assert main(["migrate", OLD, "--llvm", to]) == 2
    assert "expected one of 23, 24" in capsys.readouterr().err


def test_several_modules_stay_several() -> None:
    migrated = read(f"{OLD}// -----\n{OLD}").migrate(llvm=24)
    assert str(migrated).count("// -----\n") == 1
    assert len(migrated.module.parts) == 2
