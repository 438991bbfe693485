"""What people paste first, in their own tool's words, is read, or the refusal says what to ask instead."""

from __future__ import annotations

import pytest

import layoutalg as la
from layoutalg.cli import main
from layoutalg.core.errors import LayoutError, ParseError
from layoutalg.cute.expressions import evaluate
from layoutalg.instructions.suggestions import said_of

Capture = pytest.CaptureFixture[str]

PLAIN = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
NESTED = (
    "nested_layout<subgroup_tile = [2], batch_tile = [1], outer_tile = [4], thread_tile = [2], element_tile = [4], "
    "subgroup_strides = [1], thread_strides = [32]>"
)


def printed(capsys: Capture, *arguments: str) -> str:
    main(list(arguments))
    found = capsys.readouterr()
    return found.out + found.err


@pytest.mark.parametrize(
    ("short", "whole"),
    [
        (NESTED, f"#iree_vector_ext.{NESTED}"),
        (PLAIN.replace("#xegpu.", ""), PLAIN),
        (f"slice<layout{PLAIN.removeprefix('#xegpu.layout')}, dims = [0]>", f"#xegpu.slice<{PLAIN}, dims = [0]>"),
    ],
)
def test_layouts_are_read_as_messages_write_them(short: str, whole: str) -> None:
    """IREE and LLVM print an attribute without its dialect inside a message."""
    assert la.parse(short) == la.parse(whole)


@pytest.mark.parametrize("shape", ["vector<8x16xf16>", "tensor<8x16xf16>", "8x16xf16"])
def test_a_typed_shape_says_the_type_of_the_elements_too(shape: str, capsys: Capture) -> None:
    assert "vector<8xf16>" in printed(capsys, "show", PLAIN, shape)
    assert "vector<8xi8>" in printed(capsys, "show", PLAIN, shape, "--element", "i8")
    assert "f16" not in printed(capsys, "same", PLAIN, PLAIN, shape)


@pytest.mark.parametrize("shape", ["vector<8x?xf16>", "vector<8x16x!tt.ptr<f16>>", "x", "vector<>"])
def test_what_is_no_shape_is_still_none(shape: str, capsys: Capture) -> None:
    assert "expected a shape, such as 32x64" in printed(capsys, "show", PLAIN, shape)


@pytest.mark.parametrize(
    "message",
    [
        "error: Vector shape: [4] does not match the layout",
        "<stdin>:7:8: error: 'xegpu.dpas' op N-dimension mismatch",
        "'ttg.convert_layout' op requires the same shape for all operands and results",
    ],
)
def test_a_compilers_message_is_told_from_a_layout(message: str) -> None:
    with pytest.raises(ParseError, match="found a compiler's message: `layoutalg verify FILE` says why"):
        la.parse(message)


def test_the_layout_in_a_message_is_named() -> None:
    with pytest.raises(ParseError) as raised:
        la.parse(f"error: Vector shape: [64] does not match the layout ({NESTED}) at dim 0")
    assert f"`layoutalg show` of the layout in it and its shape: #iree_vector_ext.{NESTED}" in str(raised.value)


@pytest.mark.parametrize("name", ["#blocked", "#mma", "!desc"])
def test_an_alias_alone_asks_for_its_line(name: str) -> None:
    with pytest.raises(ParseError, match=f"no line defines the alias {name}: put its line before it"):
        la.parse(f"{name} 16x16")


def test_the_names_that_iree_gave_up_lead_to_todays() -> None:
    """MFMA_F16_16x16x16_F32 until 2024: operands first, accumulator last (iree-org/iree 17263)."""
    with pytest.raises(LayoutError, match="expected one of MFMA_F32_16x16x16_F16, "):
        la.mma("MFMA_F16_16x16x16_F32")


def test_the_beginning_of_a_mnemonic_lists_its_instructions_with_chips() -> None:
    assert said_of("v_wmma").startswith(
        "v_wmma begins the names of 63 instructions: v_wmma_f32_16x16x16_f16 (gfx11, gfx120), "
    )


@pytest.mark.parametrize(("word", "near"), [("f8", "fp8, bf8"), ("fp16", "f16, bf16"), ("gfx943", "gfx942")])
def test_a_filter_that_is_nearly_one_is_completed(word: str, near: str, capsys: Capture) -> None:
    assert f"filter '{word}' (did you mean {near}?)" in printed(capsys, "list", word)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("cute.make_layout((2, 3), stride=(4, 1))", "(2,3):(4,1)"),
        ("cute.complement(cute.make_layout(4, stride=2), cotarget=8)", "2:1"),  # NVIDIA/cutlass 3058, by hand
        # NVIDIA/cutlass 2634: CuTe DSL's own object, whose value at (0, 1) it prints as 32
        ("cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, cute.make_layout((32, 8), stride=(1, 32)))",
         "Sw<3,4,3> o 0 o (32,8):(1,32)"),
        ("composition(Swizzle<1,4,3>{}, Layout<Shape<_64,_16>,Stride<_16,_1>>{})", "Sw<1,4,3> o 0 o (64,16):(16,1)"),
    ],
)  # fmt: skip
def test_cute_dsl_and_cpp_are_read_as_their_sources_write_them(expression: str, value: str) -> None:
    assert str(evaluate(expression).value) == value


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (
            "make_layout(stride=(4, 1), shape=(2, 3))",
            "expected make_layout(shape, stride), found 'stride' as argument 1",
        ),
        ("size(layout=4:1)", "expected arguments of size without names, found 'layout' as argument 1"),
        ("make_swizzle(3, 4)", "expected make_swizzle(bits, base, shift), found 2 arguments"),
        ("make_swizzle(3, 4, 99999999999)", "expected make_swizzle(bits, base, shift), found others"),
        ("make_composed_layout(1, 2, 3)", "found a number"),
        ("print_latex((8,8):(8,1))", "draws it, as .tex (print_latex) or .svg"),
    ],
)
def test_what_is_not_read_of_them_says_what_is(expression: str, words: str) -> None:
    with pytest.raises(ParseError) as raised:
        evaluate(expression)
    assert words in str(raised.value)


def test_one_number_is_told_to_stand_in_a_tuple() -> None:
    layout = la.parse("#ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>")
    with pytest.raises(LayoutError, match=r"in a list or a tuple: \(1024,\)"):
        layout.layout(1024)  # pyright: ignore[reportArgumentType, reportAttributeAccessIssue, reportUnknownMemberType]


def test_many_owners_in_a_row_are_a_range() -> None:
    """Brute force: 64 threads of stride 32 share one element of a tile of 2."""
    other = NESTED.replace("outer_tile = [4], thread_tile = [2]", "outer_tile = [1], thread_tile = [4]")
    other = other.replace("subgroup_tile = [2]", "subgroup_tile = [4]").replace("[32]", "[16]")
    assert "in subgroup 0, lanes 0 to 15, register 0 in the second" in str(la.same(NESTED, other))


def test_a_layout_that_nothing_fits_is_refused_with_what_would(capsys: Capture) -> None:
    """mlir-opt refuses the pair too (tests/oracle/test_live_llvm.py asks many); 8 rows of an instruction have no 16."""
    text = "#xegpu.layout<inst_data = [8, 16], lane_layout = [1, 16], lane_data = [16, 1]>"
    said = printed(capsys, "show", text, "16x16")
    assert "lane_data[0] = 16 does not divide it; lane_data = [8, 1] would fit" in said
    assert "type" in printed(capsys, "show", text.replace("[16, 1]", "[8, 1]"), "16x16")


def test_a_lane_is_asked_of_the_operands_that_have_lanes(capsys: Capture) -> None:
    """PTX: lane l of a warp gets row l of tensor memory, its 8 columns in 8 registers."""
    said = printed(capsys, "show", "tcgen05.ld.sync.aligned.32x32b.x8.b32", "--lane", "5")
    assert "holds     (5, 0) (5, 1) (5, 2) (5, 3) (5, 4) (5, 5) (5, 6) (5, 7)" in said
    assert "lane = 5" not in said
    assert "this layout has lane, reg" in printed(
        capsys, "show", "tcgen05.ld.sync.aligned.32x32b.x8.b32", "--warp", "5"
    )
