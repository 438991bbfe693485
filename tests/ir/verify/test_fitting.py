"""Beside a compiler's message stand the numbers that it leaves out, and what would fit; what is said to fit does."""

from __future__ import annotations

import re

import pytest

import layoutalg as la
from layoutalg.ir import Finding

DESCRIPTOR = "!xegpu.tensor_desc<8x16xf16>"
WG, SG = (
    "#xegpu.layout<sg_layout = [1, 1], sg_data = [8, 8]>",
    "#xegpu.layout<lane_layout = [1, 8], lane_data = [1, 1]>",
)
XEGPU = f"""func.func @f(%t: {DESCRIPTOR}, %v: vector<8x8xf16>, %w: vector<24xf16>, %m: memref<8x16xf32>) {{
  BODY
  func.return
}}"""
ENCODINGS = """#b = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#c = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}>
#a0 = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>
#a1 = #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 4}>
"""
TRITON = (
    ENCODINGS
    + """module attributes {"ttg.num-warps" = WARPS : i32, "ttg.threads-per-warp" = LANES : i32} {
  tt.func @f(%x: tensor<64x32xf16, #b>, %p: tensor<64x32x!tt.ptr<f16>, #b>, %f: tensor<64x32xf32, #b>,
             %i: tensor<64x32xi32, #c>, %a: tensor<64x32xf16, #a0>, %b: tensor<32x64xf16, #a1>,
             %d: tensor<64x64xf32, #mma>) {
    BODY
    tt.return } }"""
)


def finding(text: str, llvm: int = 24) -> Finding:
    """The one finding of a compiler in a text."""
    [found] = [one for one in la.read(text).verify(llvm=llvm) if one.source != "layoutalg"]
    return found


def triton(body: str, lanes: int = 32, warps: int = 4) -> str:
    return TRITON.replace("BODY", body).replace("LANES", str(lanes)).replace("WARPS", str(warps))


# Each note by hand, from the sizes in the text; where it names what would fit, the second text has it, and is taken.
XEGPU_CASES = [
    (f"%x = xegpu.load_nd %t[0, 0] : {DESCRIPTOR} -> vector<8x8xf16>", "8x16xf16 would fit", ("8x8xf16", "8x16xf16")),
    (f"xegpu.store_nd %w, %t[0, 0] : vector<24xf16>, {DESCRIPTOR}", "24 does not divide it; 32 would fit", None),
    (f"%x = xegpu.load_nd %t[0] : {DESCRIPTOR} -> vector<8x16xf16>", "1 offset for 2 dimensions; 2 would fit",
     ("[0]", "[0, 0]")),
    (f"%x = xegpu.load_nd %t[0, 0] : {DESCRIPTOR} -> vector<8x16xf32>", "tensor_desc is 8x16xf16, value is 8x16xf32", None),
    ("%x = xegpu.create_nd_tdesc %m : memref<8x16xf32> -> !xegpu.tensor_desc<8x16xf16>", "f32 in both would fit",
     ("desc<8x16xf16>\n", "desc<8x16xf32>\n")),
    (f"%x = xegpu.load_nd %t[0, 0] <{{l1_hint = #xegpu.cache_hint<write_back>}}> : {DESCRIPTOR} -> vector<8x16xf16>",
     "cached, uncached, streaming, read_invalidate would fit", ("write_back", "streaming")),
    (f"%x = xegpu.convert_layout %v <{{input_layout = {WG}, target_layout = {SG}}}> : vector<8x8xf16>",
     "input_layout has sg_layout (a workgroup's layout), target_layout has none (a subgroup's)", None),
    ("%y = xegpu.dpas %v, %v, %v : vector<8x8xf16>, vector<8x8xf16>, vector<8x8xf16> -> vector<8x8xf32>",
     "8x8xf32 would fit as the accumulator", None),
    ("%y = xegpu.convert_layout %v <{target_layout = #xegpu.layout<lane_layout = [1, 8]>}> : vector<8x8xf16>",
     "lane_data = [1, 1] would fit", ("[1, 8]>", "[1, 8], lane_data = [1, 1]>")),
]  # fmt: skip


@pytest.mark.parametrize(("body", "note", "mended"), XEGPU_CASES)
def test_xegpu(body: str, note: str, mended: tuple[str, str] | None) -> None:
    text = XEGPU.replace("BODY", body)
    assert note in "; ".join(finding(text).notes)
    if mended is not None:
        assert la.read(text.replace(*mended)).verify() == ()


TRITON_CASES = [
    ("%y = ttg.convert_layout %x : tensor<64x32xf16, #b> -> tensor<32x64xf16, #b>",
     "src is 64x32xf16, result is 32x64xf16", None),
    ("%y = tt.trans %x {order = array<i32: 1, 0>} : tensor<64x32xf16, #b> -> tensor<64x32xf16>", "32x64 would fit",
     ("tensor<64x32xf16>", "tensor<32x64xf16>")),
    ("%y = tt.trans %x {order = array<i32: 0, 0>} : tensor<64x32xf16, #b> -> tensor<64x32xf16>",
     "order is a permutation of [0, 1], and has [0, 0]", ("0, 0>", "0, 1>")),
    ("%y = tt.reshape %x : tensor<64x32xf16, #b> -> tensor<64x16xf16>", "64x32 has 2048 elements, 64x16 has 1024", None),
    ("%y = tt.dot %a, %b, %d : tensor<64x32xf16, #a0> * tensor<32x64xf16, #a1> -> tensor<64x64xf32, #mma>",
     "kWidth is 2 in a, 4 in b; 2 in both would fit", ("kWidth = 4", "kWidth = 2")),
    ("%y = tt.make_range {start = 4 : i32, end = 4 : i32} : tensor<64xi32>", "start is 4, end is 4", None),
    ('%y = "tt.addptr"(%p, %i) : (tensor<64x32x!tt.ptr<f16>, #b>, tensor<64x32xi32, #c>) -> tensor<64x32x!tt.ptr<f16>, #b>',
     "threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>; ttg.convert_layout makes them one",
     ("xi32, #c>", "xi32, #b>")),
]  # fmt: skip


@pytest.mark.parametrize(("body", "note", "mended"), TRITON_CASES)
def test_triton(body: str, note: str, mended: tuple[str, str] | None) -> None:
    text = triton(body)
    assert note in "; ".join(finding(text).notes)
    if mended is not None:
        assert la.read(text.replace(*mended)).verify() == ()


@pytest.mark.parametrize(("lanes", "warps"), [(64, 4), (16, 4), (32, 8), (32, 1), (64, 2), (4, 1)])
def test_the_nearest_blocked_layout_has_as_many_threads_as_the_module(lanes: int, warps: int) -> None:
    text = triton("%y = tt.load %p : tensor<64x32x!tt.ptr<f16>, #b>", lanes, warps).replace(
        "%i: tensor<64x32xi32, #c>, ", ""
    )
    text = re.sub(r"%a: .*?#mma>\) \{", "%e: i32) {", text, flags=re.DOTALL)
    [note] = finding(text).notes
    for name, numbers in re.findall(r"(\w+) = (\[[0-9, ]+\])", note):
        text = re.sub(rf"(#b = .*){name} = \[[0-9, ]+\]", rf"\1{name} = {numbers}", text)
    assert note.endswith(" would fit")
    assert la.read(text).verify() == ()


NESTED = (
    "#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [1, 1], outer_tile = [1, 1], thread_tile = [16, 4], "
    "element_tile = [1, 4], subgroup_strides = [0, 0], thread_strides = [1, 16]>"
)


@pytest.mark.parametrize(
    ("shape", "note"),
    [
        ((32, 48), "batch_tile = [2, 3] would fit"),
        ((8, 16), "dimension 0 has 8 elements: tiles of 16 (16 threads of 1) need a multiple of 16; 16x16 would fit"),
        ((16, 24), "dimension 1 has 24 elements: tiles of 16 (4 threads of 4) need a multiple of 16; 16x16 would fit"),
    ],
)
def test_a_nested_layout_names_the_batches_that_fit(shape: tuple[int, int], note: str) -> None:
    kind = f"vector<{shape[0]}x{shape[1]}xf16>"
    text = f"func.func @f(%v: {kind}) {{ %y = iree_vector_ext.to_layout %v to layout({NESTED}) : {kind} func.return }}"
    assert finding(text).notes == (note,)
    with pytest.raises(la.LayoutError, match=re.escape(note)):
        la.parse(NESTED).layout(shape)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    if note.startswith("batch"):
        assert la.read(text.replace("batch_tile = [1, 1]", note.removesuffix(" would fit"))).verify() == ()


def test_a_message_with_numbers_of_its_own_is_left_alone() -> None:
    text = XEGPU.replace("BODY", "%y = xegpu.truncf %m : memref<8x16xf32> -> vector<8x16xf16>")
    assert finding(text).notes == ()
