"""The command line: what it prints, as text and as JSON; one line and exit code 2 for bad input."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

import layoutalg as la
from layoutalg.cli import main
from tests.cli.printed import Capture, answer, out
from tests.refusals import wrong_json_refusal, wrong_refusal

PAGE = "#xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16], lane_layout = [1, 16], lane_data = [1, 1]>"


def test_show_prints_axes_fragment_type_index_and_grid(capsys: Capture) -> None:
    text = out(capsys, "show", PAGE, "32x64", "--lane", "5", "--sg", "3")
    lines = text.splitlines()
    for line in (
        "axes      sg 8, lane 16, reg 16",
        "fragment  16x1",
        "type      per lane: vector<16xf32>",
        "index     d0 = reg + 16*(sg // 4)",
        "          d1 = lane + 16*(sg % 4)",
    ):
        assert line in lines
    assert "holds     " + " ".join(f"({row}, 53)" for row in range(16)) in lines
    assert [line.split() for line in lines[-2:]] == [
        ["0-15", "0:0-15", "1:0-15", "2:0-15", "3:0-15"],
        ["16-31", "4:0-15", "5:0-15", "6:0-15", "7:0-15"],
    ]


def test_show_json_has_all_of_it(capsys: Capture) -> None:
    found = answer(capsys, "show", PAGE, "32x64", "--lane", "5", "--sg", "3", "--element", "f16", "--blocks")
    assert found["axes"] == {"sg": 8, "lane": 16, "reg": 16}
    assert found["fragment_shape"] == [16, 1]
    assert found["fragment_type"] == "vector<16xf16>"
    assert found["index"] == {"d0": "reg + 16*(sg // 4)", "d1": "lane + 16*(sg % 4)"}
    assert found["holds"] == [[row, 53] for row in range(16)]
    assert found["llvm"] == "accepts"
    assert found["blocks"]["5"] == [[16, 16]]
    assert found["layout"] == "d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane"


@pytest.mark.parametrize(
    ("arguments", "layout"),
    [
        (("d0 = M/16@reg 16@lane",), "d0 = M/16@reg 16@lane"),
        (("!xegpu.mem_desc<8x8xf16>",), "d0 = 8@addr:8, d1 = 8@addr"),
        (("!xegpu.tensor_desc<8x16xf16, #xegpu.layout<lane_layout = [1, 16]>>",), "d0 = 8@reg, d1 = 16@lane"),
        (("xegpu.sg_map<wi_layout = [1, 16], wi_data = [2, 1]>", "16x16"), "d0 = 16@reg, d1 = 16@lane"),
        (("#xegpu.layout<sg_layout = [2, 2], sg_data = [4, 4]>", "8,8"), "d0 = 2@sg:2 4@reg:4, d1 = 2@sg 4@reg"),
        (("#xegpu.slice<#xegpu.layout<lane_layout = [16]>, dims = [0]>", ""), None),
    ],
)
def test_everything_that_distributes_can_be_shown(
    arguments: tuple[str, ...], layout: str | None, capsys: Capture
) -> None:
    if layout is None:
        assert main(["show", *arguments]) == 2
        return
    assert answer(capsys, "show", *arguments)["layout"] == layout
    out(capsys, "show", *arguments)


NESTED = (
    "#iree_vector_ext.nested_layout<subgroup_tile = [2, 1], batch_tile = [2, 4], outer_tile = [1, 1], "
    "thread_tile = [16, 4], element_tile = [1, 4], subgroup_strides = [1, 0], thread_strides = [1, 16]>"
)


def test_nested_layouts_are_shown_for_a_subgroup_size(capsys: Capture) -> None:
    found = answer(capsys, "show", NESTED, "64x64", "--subgroup-size", "64", "--sg", "1", "--lane", "17")
    assert found["layout"] == "d0 = 2@sg 2@reg:16 16@lane, d1 = 4@reg:4 4@lane:16 4@reg"
    assert found["distributed_shape"] == [2, 4, 1, 1, 1, 4]
    assert found["holds"][:5] == [[33, 4], [33, 5], [33, 6], [33, 7], [33, 20]]
    lines = out(capsys, "show", NESTED, "--workgroup-size", "256").splitlines()
    assert "packed    2x1x2x4x1x1x16x4x1x4" in lines
    assert "replicas  2@sg:2: each element lives in 2 places of sg, 2 apart" in lines
    assert main(["show", NESTED, "32x64"]) == 2
    assert "Dimension expected by layout: 64 actual: 32" in capsys.readouterr().err


def test_text_may_come_from_standard_input(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "sys.stdin", io.StringIO("#l = #xegpu.layout<lane_layout = [16]>\n#xegpu.slice<#l, dims = []>\n")
    )
    assert answer(capsys, "show", "-", "32")["layout"] == "d0 = 16@lane 2@reg"


def test_markup_in_user_text_is_not_interpreted(capsys: Capture) -> None:
    assert "axes      bold 2" in out(capsys, "show", "d0 = 2@bold")
    assert "[1, 16]" in out(capsys, "show", "#xegpu.layout<lane_layout = [1, 16]>", "8x16")


def test_large_and_odd_layouts_fit_on_a_screen(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    layout = "#xegpu.layout<sg_layout = [2, 2], sg_data = [16, 64], lane_layout = [1, 16], lane_data = [1, 1]>"
    for arguments in (
        (layout, "256x256"),
        ("d0 = 3@reg 7@lane, d1 = 5@sg, d2 = 2@reg:3",),
        ("()",),
        ("d0 = 4096@lane:3",),
    ):
        lines = out(capsys, "show", *arguments).splitlines()
        grid = lines[next(i for i, line in enumerate(lines) if line.startswith("owners")) :]
        assert len(grid) < 60
        assert all(len(line) <= 80 for line in grid)


@pytest.mark.parametrize(
    "arguments",
    [
        ("bogus",),
        ("show",),
        ("show", ""),
        ("show", "#xegpu.layout<lane_layout = [1, 16"),
        ("show", "#xegpu.layout<lane_layout = [1, 16]>"),
        ("show", "#xegpu.layout<lane_layout = [1, 16]>", "8y16"),
        ("show", "#xegpu.layout<lane_layout = [1, 16]>", "8x17"),
        ("show", "#xegpu.layout<lane_layout = [1, 16]>", "8x16x1"),
        ("show", "#xegpu.layout<lane_layout = [1, 16]>", "0x16"),
        ("show", "#xegpu.layout<lane_layout = [1, 16]>", "99999999999999x16"),
        ("show", "#xegpu.layout<lane_layout = [1, 16]>", "8x16", "--lane", "16"),
        ("show", "#xegpu.layout<lane_layout = [1, 16]>", "8x16", "--lane", "x"),
        ("show", "#xegpu.layout<lane_layout = [1, 16]>", "8x16", "--element", "g16"),
        ("show", "#xegpu.layout<lane_layout = [1, 16]>", "16777216x16777216", "--lane", "0"),
        ("show", "#xegpu.cache_hint<cached>"),
        ("show", "d0 = 8@lane", "16"),
        ("show", "d0 = 8@lane", "--blocks"),
        ("gemm", "0", "1", "1"),
        ("gemm", "x", "1", "1"),
        ("gemm", "64", "64", "50", "--prefetch", "shared"),
        ("gemm", "64", "64", "64", "--a", "f64"),
        ("gemm", "64", "64", "64", "--target", "h100"),
        ("gemm", "64", "64", "64", "--tile", "7x7"),
        ("gemm", "64", "64", "64", "--emit", "thread"),
        ("gemm", "64", "64", "64", "-o", "/dev/null/kernel.mlir"),
    ],
)
def test_bad_input_is_answered_in_words_with_exit_code_2(arguments: tuple[str, ...], capsys: Capture) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert wrong_refusal(captured.err) is None
    assert main([*arguments, "--json"]) == 2
    assert wrong_json_refusal(capsys.readouterr().out) is None


def test_help_and_version(capsys: Capture) -> None:
    assert "Usage:" in out(capsys, "--help")
    assert "subgroup (warp) holds" in out(capsys, "show", "--help")
    assert la.__version__ in out(capsys, "--version")


def test_gemm_writes_runs_and_reports(capsys: Capture, tmp_path: Path) -> None:
    kernel = tmp_path / "build" / "gemm.mlir"
    found = answer(capsys, "gemm", "40", "80", "48", "--run", "-o", str(kernel))
    assert found["largest_difference"] < 1e-4 < found["largest_value"]
    assert kernel.read_text().count("xegpu.dpas") % found["dpas_per_step"] == 0
    assert found["fragments"]["B"]["vector"] == "vector<16xf16>"
    text = out(capsys, "gemm", "40", "80", "48", "--a", "bf16", "--run", "--check")
    assert "largest difference from numpy" in text
    assert "A[40, 48] bf16" in text


@pytest.mark.parametrize(
    "options",
    [
        "--trans-a --trans-b",
        "--a u8 --b s8 --trans-b",
        "--a bf16 --c bf16 --alpha 0.5 --beta 2 --bias row --batch 2",
        "--bias column --activation gelu",
        "--activation silu --emit workgroup",
        "--a tf32 --trans-a",
        "--a s8 --beta 1 --activation relu --static",
    ],
)
def test_gemm_runs_what_was_asked_for(options: str, capsys: Capture) -> None:
    found = answer(capsys, "gemm", "40", "80", "96", "--run", *options.split())
    assert found["as_modelled"]
    assert found["largest_difference"] <= found["largest_value"] * (0.01 if "bf16" in options else 1e-3)


def test_gemm_prints_the_kernel_alone_where_a_level_is_asked_for(capsys: Capture) -> None:
    kernel = out(capsys, "gemm", "64", "64", "64", "--emit", "lane")
    assert kernel == la.plan_gemm(64, 64, 64).emit("lane")
    assert answer(capsys, "gemm", "64", "64", "64", "--emit", "lane")["kernel"] == kernel
    assert "kernel" not in answer(capsys, "gemm", "64", "64", "64")


def test_gemm_prints_the_plan_of_every_option(capsys: Capture) -> None:
    options = ["--a", "bf16", "--target", "bmg", "--batch", "3", "--alpha", "0.5", "--beta", "2", "--bias", "column"]
    options += ["--activation", "relu", "--tile", "16x32", "--subgroups", "2x4", "--k-step", "32", "--registers", "256"]
    text = out(capsys, "gemm", "256", "512", "128", *options, "--prefetch", "none", "--explain", "--runners-up", "2")
    assert "3 x C[256, 512] f32 = relu(0.5 A[256, 128] bf16 * B[128, 512] bf16 + 2 C + bias[column]) on bmg" in text
    assert "workgroup 32x128, subgroup 16x32, instruction 8x16x16; a step is 32 of k" in text
    assert "2x4 in a workgroup (128 work-items), grid 4x8x3, 4 steps" in text
    facts = answer(capsys, "gemm", "256", "512", "128", *options)
    assert (facts["grid"], facts["problem"]["bias"], facts["tile"]) == ([4, 8, 3], "column", [16, 32, 32])


def test_a_pair_without_a_layout_shows_llvms_blocks_and_the_reason(capsys: Capture) -> None:
    pair = ("#xegpu.layout<sg_layout = [2, 2], sg_data = [16, 16]>", "8x8", "--llvm", "22")
    lines = out(capsys, "show", *pair).splitlines()
    assert "LLVM 22   accepts" in lines
    assert any(
        line.startswith("layout    none: dimension 0 of the tensor has size 8: sg_data[0] = 16 is larger")
        for line in lines
    )
    assert "block 3   (0, 0)" in lines
    found = answer(capsys, "show", *pair)
    assert found["layout"] is None
    assert "larger" in found["reason"]
    assert found["blocks"]["0"] == [[0, 0]]


def test_origins_and_digits_without_an_axis_show(capsys: Capture) -> None:
    text = out(capsys, "show", "d0 = 16@reg, d1 = 16@lane | origin 5@d0 -7@d1")
    assert "-7..8" in text
    assert "5-20" in text or "  5  " in text
    assert "any of 4 values, 1 apart" in out(capsys, "show", "d0 = 4@_, d1 = 2@lane")


def test_a_long_row_is_drawn_quickly(capsys: Capture) -> None:
    assert "of 1048576 columns" in out(capsys, "show", "d0 = 1048576@lane:3")


def test_show_draws_the_three_operands_of_an_mma_kind(capsys: Capture) -> None:
    lines = out(capsys, "show", "#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>", "--lane", "17").splitlines()
    assert lines[1:3] == ["product   16x16x16, f16 x f16 + f32", "lanes     64"]
    assert [line for line in lines if line.endswith(("xf16", "xf32"))] == [
        "Lhs  MxK  16x16xf16",
        "Rhs  KxN  16x16xf16",
        "Acc  MxN  16x16xf32",
    ]
    assert [line for line in lines if line.startswith("holds")] == [
        "holds     (1, 4) (1, 5) (1, 6) (1, 7)",
        "holds     (4, 1) (5, 1) (6, 1) (7, 1)",
        "holds     (4, 1) (5, 1) (6, 1) (7, 1)",
    ]
    assert [line.split() for line in lines[-4:]] == [
        ["0-3", "0-15"],
        ["4-7", "16-31"],
        ["8-11", "32-47"],
        ["12-15", "48-63"],
    ]


def test_show_json_of_an_mma_kind_has_each_operand(capsys: Capture) -> None:
    found = answer(capsys, "show", "#iree_gpu.virtual_mma_layout<intrinsic = VMFMA_F32_16x16x32_F16>")
    assert found["sizes"] == {"m": 16, "n": 16, "k": 32}
    assert found["note"] == "2 x MFMA_F32_16x16x16_F16 on shares of the registers"
    assert {name: operand["shape"] for name, operand in found["operands"].items()} == {
        "Lhs": [16, 32],
        "Rhs": [32, 16],
        "Acc": [16, 16],
    }


def test_show_of_a_schedule_has_the_nested_layouts_of_the_operands(capsys: Capture) -> None:
    text = (
        "#iree_gpu.mma_schedule<intrinsic = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, subgroup_m_count = 2, "
        "subgroup_n_count = 2>"
    )
    found = answer(capsys, "show", text, "64x64x32")
    assert "batch_tile = [2, 2]" in found["operands"]["Lhs"]["nested"]
    assert found["operands"]["Acc"]["axes"] == {"sg": 4, "lane": 64, "reg": 16}
    assert main(["show", text]) == 2
    assert "needs the sizes m, n, k, such as 32x32x16" in capsys.readouterr().err


def test_an_opaque_intrinsic_says_so(capsys: Capture) -> None:
    lines = out(capsys, "show", "#iree_gpu.mma_layout<NV_WMMA_F32_16x16x16_F16>").splitlines()
    assert lines[1:] == [
        "product   16x16x16, f16 x f16 + f32",
        "lanes     32",
        "note      opaque: no layout of its fragments is published",
    ]


def test_options_that_mean_nothing_for_a_value_are_refused(capsys: Capture) -> None:
    assert main(["show", "#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>", "--blocks"]) == 2
    assert "has no blocks" in capsys.readouterr().err


def test_show_of_an_amx_tile_counts_rows_and_bytes(capsys: Capture) -> None:
    found = answer(capsys, "show", "!amx.tile<16x32xbf16>")
    assert found["layout"] == "d0 = 16@row, d1 = 32@col:2"
    assert found["index"] == {"d0": "row", "d1": "col // 2", "byte": "col % 2"}
    assert main(["show", "!amx.tile<17x64xi8>"]) == 2
    assert "bad row height: 17" in capsys.readouterr().err


def test_show_of_a_nested_layout_that_covers_half_says_what_nobody_holds(capsys: Capture) -> None:
    text = (
        "#iree_vector_ext.nested_layout<subgroup_tile = [1], batch_tile = [1], outer_tile = [1], thread_tile = [4], "
        "element_tile = [2], subgroup_strides = [0], thread_strides = [0]>"
    )
    lines = out(capsys, "show", text, "--lane", "3").splitlines()
    assert "nobody    holds 6: (2) (3) (4) (5) (6) (7)" in lines
    assert "holds     (0) (1)" in lines
    found = answer(capsys, "show", text)
    assert (found["layout"], found["distributed_shape"], found["packed_shape"]) == (None, [1, 1, 2], [1, 1, 1, 4, 2])


@pytest.mark.parametrize(
    "text", ["#ttg.linear<{register = [[1]], lane = [[2], [4]], warp = [], block = []}>", "(4,2):(2,1)"]
)
def test_show_reads_triton_and_cute(text: str, capsys: Capture) -> None:
    assert answer(capsys, "show", text)["layout"]


TILE, COLUMNS = "d0 = 16@reg, d1 = 16@lane", "d0 = 16@lane, d1 = 16@reg"


def test_convert_says_what_triton_does_between_two_of_its_encodings(capsys: Capture) -> None:
    wide, tall = "gl.BlockedLayout([1, 4], [4, 8], [1, 1], [1, 0])", "gl.BlockedLayout([4, 1], [1, 32], [1, 1], [1, 0])"
    text = out(capsys, "convert", wide, tall, "4x32", "--target", "sm_80")
    assert "triton       shared memory: 512 bytes, 1 store of 128 bits, 1 ldmatrix of 128 bits" in text
    found = json.loads(out(capsys, "convert", wide, tall, "4x32", "--target", "sm_80", "--json"))["triton"]
    assert (found["kind"], found["shared_bytes"], found["shuffles"]) == ("shared memory", 512, 0)
    assert "triton" not in out(capsys, "convert", wide, tall, "4x32", "--target", "generic")
    assert "triton" not in out(capsys, "convert", TILE, COLUMNS, "--target", "gfx942", "--subgroup-size", "16")


def test_convert_prints_plan_and_code(capsys: Capture, tmp_path: Path) -> None:
    text = out(capsys, "convert", TILE, COLUMNS, "--target", "pvc")
    assert "issue slots on pvc, from listings: an exchange in registers and lanes" in text
    assert "gpu.shuffle" not in text
    assert out(capsys, "convert", TILE, COLUMNS, "--target", "generic", "--emit").count("gpu.shuffle") == 15
    target = tmp_path / "deep" / "convert.mlir"
    found = json.loads(out(capsys, "convert", TILE, COLUMNS, "--target", "generic", "--json", "-o", str(target)))
    assert (found["kind"], found["shuffles"], found["lower_bound"], found["slm_bytes"]) == ("shuffles", 15, 15, 0)
    assert target.read_text().count("gpu.shuffle") == 15
    drawn = tmp_path / "exchange.svg"
    text = out(capsys, "convert", TILE, COLUMNS, "--target", "generic", "--level", "subgroup", "--picture", str(drawn))
    assert text.endswith(f"written to {drawn}\n")
    assert "lane l reads lane l XOR t" in drawn.read_text()
    blocks = [tile.replace("d0", "d2 = n@reg:16, d0") for tile in (TILE, COLUMNS)]
    assert json.loads(out(capsys, "convert", *blocks, "--target", "generic", "--json"))["shuffles"] == "15*n"
    priced = json.loads(out(capsys, "convert", *blocks, "--target", "sm_80", "--json"))
    assert priced["pressures"]["all"] == priced["cost"]
    text = out(capsys, "convert", TILE, COLUMNS, "--target", "bmg", "--pressure", "alone")
    assert "; all subgroups convert at once" in text.splitlines()[-1]
    attributes = [f"#xegpu.layout<lane_layout = [1, 16], lane_data = [{n}, 1]>" for n in (1, 2)]
    assert "identity" in out(capsys, "convert", *attributes, "16x16", "--element", "f16")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((TILE, "d0 = 4@lane"), "a tensor of 16x16 and one of 4"),
        ((TILE, "bogus"), "expected"),
        ((TILE, COLUMNS, "8x8"), "8x8"),
        ((TILE, COLUMNS, "--element", "f12"), "f12"),
        ((TILE, COLUMNS, "--target", "i486"), "expected one of"),
        ((TILE, "!xegpu.nbarrier"), "expected a layout"),
        ((TILE, COLUMNS, "--slm-limit", "-1"), "from 0"),
        ((TILE, COLUMNS, "--picture", "x.gif"), "ends in .svg, .png"),
        (("d0 = 2@sg 2@reg", "d0 = 2@reg 2@sg", "--level", "subgroup"), "d0 // 2: 2@sg becomes 2@reg"),
        (("d0 = M@lane", "d0 = M@lane"), "symbols"),
    ],
)
def test_convert_refuses_in_words(arguments: tuple[str, ...], words: str, capsys: Capture) -> None:
    assert main(["convert", *arguments]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert wrong_refusal(said) is None


SMALL_NESTED = (
    "#iree_vector_ext.nested_layout<subgroup_tile = [2, 1], batch_tile = [1, 1], outer_tile = [1, 1], "
    "thread_tile = [4, 8], element_tile = [1, 2], subgroup_strides = [1, 0], thread_strides = [8, 1]>"
)


def test_convert_reads_standard_input_and_counts_threads(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "d0 = 2@sg 4@lane:8, d1 = 2@reg 8@lane"
    monkeypatch.setattr("sys.stdin", io.StringIO(SMALL_NESTED))
    found = json.loads(out(capsys, "convert", "-", rows, "--subgroup-size", "32", "--target", "generic", "--json"))
    assert (found["kind"], found["slm_bytes"]) == ("shuffles", 0)
    # Two more subgroups that hold nothing of their own repeat the others.
    more = json.loads(
        out(
            capsys,
            "convert",
            SMALL_NESTED,
            rows + " | replicas 2@sg:2",
            "--subgroup-size",
            "32",
            "--workgroup-size",
            "128",
            "--target",
            "generic",
            "--json",
        )
    )
    assert (more["shuffles"], more["slm_bytes"]) == (found["shuffles"], 0)
    assert main(["convert", SMALL_NESTED, rows, "--subgroup-size", "32", "--workgroup-size", "128"]) == 2
    assert "4 and 2 subgroups" in capsys.readouterr().err


def test_the_picture_of_an_exchange_is_an_image_of_its_own() -> None:
    plan = la.convert(la.Layout.parse(TILE), la.Layout.parse(COLUMNS))
    picture = plan.picture()
    arrows = [line for line in picture.scene().lines if line.width == 1.2]
    assert len(arrows) == 3 * 16  # of the first of the shuffles that are alike, with their heads; frames are wider
    shown = plan._repr_html_()
    assert shown is not None
    assert len(shown) < 300_000  # so like steps are one
    assert shown.count("<figure") == len(picture.steps(small=True)) < len(picture.steps(one_by_one=True)) == 18
    assert shown.count('<img alt="') >= shown.count("<figure")
