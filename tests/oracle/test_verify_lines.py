"""What `layoutalg verify` prints of a module is what mlir-opt prints: file, line, column, the words, the source, the caret."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from layoutalg.cli import main
from tests.ir.verify.test_fitting import XEGPU, XEGPU_CASES
from tests.oracle.llvm_xegpu import mlir_opt

WRONG = {
    "a product of other sizes": """\
func.func @f(%a: vector<8x16xf16>, %b: vector<32x16xf16>) -> vector<8x16xf32> {
  %c = xegpu.dpas %a, %b : vector<8x16xf16>, vector<32x16xf16> -> vector<8x16xf32>
  return %c : vector<8x16xf32>
}
""",
    "a fragment of another shape": """\
gpu.module @k {
  gpu.func @f(%m: memref<64x64xf16>) {
      %t = xegpu.create_nd_tdesc %m : memref<64x64xf16> -> !xegpu.tensor_desc<16x16xf16>

    %0   =   xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<16x16xf16> -> vector<8x16xf16>
    gpu.return
  }
}
""",
    "an operation without results": """\
func.func @f(%m: memref<64x64xf16>, %v: vector<8x16xf16>) {
  %t = xegpu.create_nd_tdesc %m : memref<64x64xf16> -> !xegpu.tensor_desc<16x16xf16>
\txegpu.store_nd %v, %t[0, 0] : vector<8x16xf16>, !xegpu.tensor_desc<16x16xf16>
  return
}
""",
    "an operation in generic form": """\
func.func @f(%a: vector<8x16xf16>, %b: vector<32x16xf16>) {
  %c = "xegpu.dpas"(%a, %b) : (vector<8x16xf16>, vector<32x16xf16>) -> vector<8x16xf32>
  return
}
""",
}


@pytest.mark.parametrize("llvm", [22, 23, 24])
@pytest.mark.parametrize("name", WRONG)
def test_the_first_lines_are_those_of_mlir_opt(
    name: str, llvm: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("k.mlir").write_text(WRONG[name])
    command = [mlir_opt(llvm), "--mlir-print-op-on-diagnostic=false", "k.mlir", "-o", "/dev/null"]
    asked = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert asked.returncode == 1
    expected = asked.stderr.splitlines()[:3]
    assert main(["verify", "k.mlir", "--llvm", str(llvm)]) == 1
    found = capsys.readouterr().out.splitlines()[:3]
    # Versions differ in whether types stand in quotes; whether ours do is what the tests of verdicts ask.
    plain = [re.sub("'(!xegpu[^']*)'", r"\1", line) for line in expected]
    assert [re.sub("'(!xegpu[^']*)'", r"\1", line) for line in found] == plain


@pytest.mark.parametrize(("body", "note", "mended"), XEGPU_CASES)
def test_what_a_note_says_fits_is_taken(body: str, note: str, mended: tuple[str, str] | None) -> None:
    text = XEGPU.replace("BODY", body).replace("func.return", "return")
    for one, code in ((text, 1), (text if mended is None else text.replace(*mended), 0 if mended else 1)):
        asked = subprocess.run([mlir_opt(24), "-o", "/dev/null"], input=one, capture_output=True, text=True, timeout=60)
        assert asked.returncode == code, (note, asked.stderr)
