"""Files that Triton's compiler wrote: read, verified, printed as it reads them, and checked by meaning."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import layoutalg as la
from layoutalg.ir import write_module
from tests.oracle.toolchains import require_module
from tests.oracle.triton_wheel import forked

FILES = sorted((Path(__file__).parent / "data" / "ttgir").glob("*.ttgir"))
WANTED = json.loads((Path(__file__).parent / "data" / "ttgir" / "conversions.json").read_text())
KINDS = {"registers": ("none", "registers"), "shuffles": ("shuffles",), "shared": ("shared memory",)}


def read_by_triton(path: str) -> str:
    """The module as Triton prints it without its locations."""
    from triton._C.libtriton import amd, ir, nvidia

    context = ir.context()
    for dialects in (ir, nvidia, amd):
        dialects.load_dialects(context)
    return ir.parse_mlir_module(path, context).str_nodebug()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
class TestFile:
    def test_it_is_read_and_accepted(self, path: Path) -> None:
        module = la.read(path)
        assert not module.findings
        assert not module.verify()

    def test_triton_reads_what_is_printed(self, path: Path, tmp_path: Path) -> None:
        require_module("triton")
        printed = tmp_path / path.name
        printed.write_text(write_module(la.read(path).parts[0].module))
        wanted = forked(lambda: read_by_triton(str(path)))
        assert wanted is not None
        assert forked(lambda: read_by_triton(str(printed))) == wanted

    def test_its_layouts_are_right(self, path: Path) -> None:
        assert la.check(path).verdict == "right"

    def test_its_conversions_are_lowered_as_triton_does(self, path: Path) -> None:
        wanted = WANTED[path.stem]
        found = la.check(path).conversions
        assert [one.place.line for one in found if one.place] == [one["line"] for one in wanted]
        for one, triton in zip(found, wanted, strict=True):
            assert one.triton is not None
            assert one.triton.slots is not None
            assert one.cost is not None
            assert one.triton.conversion.kind in KINDS[triton["how"]]
            assert one.shape == tuple(triton["shape"])

    def test_every_value_with_an_encoding_has_its_layout(self, path: Path) -> None:
        shown = la.read(path).layouts
        assert {use.text for use in shown if use.attribute is None and "shared_memory" not in use.text} == set()


def test_there_are_files() -> None:
    assert len(FILES) == 20


def test_a_dot_whose_operand_does_not_fit_is_wrong() -> None:
    text = """
    #mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>
    #other = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}>
    #a = #ttg.dot_op<{opIdx = 0, parent = #PARENT, kWidth = 2}>
    #b = #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 2}>
    module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:80", "ttg.threads-per-warp" = 32 : i32} {
      tt.func @f(%a: tensor<64x32xf16, #a>, %b: tensor<32x64xf16, #b>, %c: tensor<64x64xf32, #mma>) {
        %d = tt.dot %a, %b, %c : tensor<64x32xf16, #a> * tensor<32x64xf16, #b> -> tensor<64x64xf32, #mma>
        tt.return
      }
    }
    """
    assert la.check(text.replace("#PARENT", "#mma")).verdict == "right"
    found = la.check(text.replace("#PARENT", "#other"))
    assert found.verdict == "wrong"
    assert [one.finding.operation for one in found.mistakes] == ["tt.dot"]


def test_a_store_of_another_layout_is_wrong() -> None:
    text = """
    #a = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
    #b = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
    tt.func @f(%p: tensor<64x!tt.ptr<f32>, #a>, %x: tensor<64xf32, #V>) {
      "tt.store"(%p, %x) : (tensor<64x!tt.ptr<f32>, #a>, tensor<64xf32, #V>) -> ()
      tt.return
    }
    """
    assert la.check(text.replace("#V", "#a")).verdict == "right"
    assert la.check(text.replace("#V", "#b")).verdict == "wrong"
