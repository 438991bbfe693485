"""Every example of the XeGPU dialect's page: LayoutAttr, SliceAttr, TensorDesc, MemDesc, loads and stores.

The arrangements and types in the assertions are the page's. Where the page is wrong or outdated, the test says so and why.
"""

from __future__ import annotations

import numpy as np
import pytest

import layoutalg as la
from layoutalg.hardware import block_load, gather
from layoutalg.xegpu import FragmentType, LayoutAttr


def arrangement(attr: LayoutAttr, axis: str) -> list[list[int]]:
    """The ids as the page draws them: in the grid of `sg_layout` or `lane_layout`, whoever holds the first block there."""
    counts = attr.sg_layout if axis == "sg" else attr.lane_layout
    bare = LayoutAttr(order=attr.order, **{f"{axis}_layout": counts, f"{axis}_data": (1, 1)})
    return bare.layout(counts).owner_map(axis).tolist()


EIGHT = [[0, 1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11, 12, 13, 14, 15]]
INTERLEAVED = [[0, 2, 4, 6, 8, 10, 12, 14], [1, 3, 5, 7, 9, 11, 13, 15]]


# LayoutAttr


def test_example_1_subgroup_level_layout() -> None:
    attr = la.parse("#xegpu.layout<lane_layout = [2, 8], lane_data = [1, 1]>")
    assert arrangement(attr, "lane") == EIGHT
    assert attr.layout((2, 8)).axes == {"lane": 16}


def test_example_2_subgroup_level_layout_with_order() -> None:
    attr = la.parse("#xegpu.layout<lane_layout = [2, 8], lane_data = [1, 1], order = [0, 1]>")
    assert arrangement(attr, "lane") == INTERLEAVED


def test_example_3_subgroup_level_layout_with_inst_data() -> None:
    """The page: "each work-item is assigned four 2x2 blocks in a round-robin manner".

    The 16 lanes together hold 4x16 elements at a time, so an instruction of 8x16 gives each lane two 2x2 blocks. The
    page's four are those of a tensor of two instructions, 16x16, which it does not state.
    """
    attr = la.parse("#xegpu.layout<inst_data = [8, 16], lane_layout = [2, 8], lane_data = [2, 2]>")
    assert arrangement(attr, "lane") == EIGHT
    one, two = attr.layout((8, 16)), attr.layout((16, 16))
    blocks = [tuple(c) for c in two.coords(lane=0)[:, :].tolist() if c[0] % 2 == 0 and c[1] % 2 == 0]
    assert blocks == [(0, 0), (4, 0), (8, 0), (12, 0)]
    assert len(one.coords(lane=0)) == 2 * 4
    assert len(two.coords(lane=0)) == 4 * 4
    assert [tuple(c) for c in two.coords(lane=9)[:4].tolist()] == [(2, 2), (2, 3), (3, 2), (3, 3)]


def test_example_4_workgroup_level_layout() -> None:
    attr = la.parse("#xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16], lane_layout = [2, 8], lane_data = [1, 1]>")
    assert arrangement(attr, "sg") == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert arrangement(attr, "lane") == EIGHT
    assert attr.fragment_type((32, 64), "f32", level="subgroup") == FragmentType((16, 16), "f32")


def test_example_5_workgroup_level_layout_with_order() -> None:
    attr = la.parse(
        "#xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16], lane_layout = [2, 8], lane_data = [1, 1], order = [0, 1]>"
    )
    assert arrangement(attr, "sg") == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert arrangement(attr, "lane") == INTERLEAVED
    assert attr.layout((32, 64)).owner_map("sg")[::16, ::16].tolist() == [[0, 2, 4, 6], [1, 3, 5, 7]]


def test_example_6_workgroup_level_layout_with_inst_data() -> None:
    """The page: two instructions of an 8x16 block each, in non-contiguous 1x1 units."""
    attr = la.parse(
        "#xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16], inst_data = [8, 16], "
        "lane_layout = [2, 8], lane_data = [1, 1]>"
    )
    assert attr.fragment_type((32, 64), "f32", level="subgroup") == FragmentType((8, 16), "f32", count=2)
    held = attr.layout((32, 64)).coords(sg=0, lane=0)
    assert held[:4].tolist() == [[0, 0], [0, 8], [2, 0], [2, 8]]
    assert (held[:8, 0] < 8).all()
    assert (held[8:, 0] >= 8).all()


# SliceAttr


def test_slice_example() -> None:
    """The page writes `dim = [0]`, which LLVM 22 does not parse (it expects `dims`): both are read."""
    text = """
      #l = #xegpu.layout<sg_layout = [8, 4], sg_data = [32, 32]>
      #r = #xegpu.slice<#l, dim = [0]>
    """
    attr = la.parse(text)
    assert str(attr) == "#xegpu.slice<#xegpu.layout<sg_layout = [8, 4], sg_data = [32, 32]>, dims = [0]>"
    # "4 vectors of type vector<32xf32>, each assigned to a group of subgroups"
    assert str(attr.fragment_type((128,), "f32", level="subgroup")) == "vector<32xf32>"
    layout = attr.layout((128,))
    groups = [sorted(sg for sg, _, _ in layout.owners((32 * i,))) for i in range(4)]
    # "Each group consists of 8 subgroups from the same column of sg_layout"
    columns = np.arange(32).reshape(8, 4)
    assert groups == [columns[:, i].tolist() for i in range(4)]
    # %exp and %bcast have the parent on 256x128, and %bcast is the slice spread over 256 rows.
    parent = la.parse("#xegpu.layout<sg_layout = [8, 4], sg_data = [32, 32]>").layout((256, 128))
    assert parent.slice(0) == layout


# TensorDescType (`xegpu.` without `!` as the page writes it)


@pytest.mark.parametrize(
    ("page", "printed"),
    [
        ("xegpu.tensor_desc<8x16xi32>", "!xegpu.tensor_desc<8x16xi32>"),
        ("xegpu.tensor_desc<8x16xf32>", "!xegpu.tensor_desc<8x16xf32>"),
        (
            "xegpu.tensor_desc<32xf32, #xegpu.layout<lane_layout = [16], lane_data = [2]>>",
            "!xegpu.tensor_desc<32xf32, #xegpu.layout<lane_layout = [16], lane_data = [2]>>",
        ),
        (
            "xegpu.tensor_desc<8x16xf32, #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>>",
            "!xegpu.tensor_desc<8x16xf32, #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>>",
        ),
        (
            "xegpu.tensor_desc<32x64xf32, #xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16]>>",
            "!xegpu.tensor_desc<32x64xf32, #xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16]>>",
        ),
        # The page's scattered_tdesc_attr is LLVM's scatter_tdesc_attr.
        (
            "!xegpu.tensor_desc<4x8xf32, #xegpu.scattered_tdesc_attr<chunk_size = 8>>",
            "!xegpu.tensor_desc<4x8xf32, #xegpu.scatter_tdesc_attr<chunk_size = 8 : i64>>",
        ),
        (
            "!xegpu.tensor_desc<16x8xf32, #xegpu.scatter_tdesc_attr<memory_space=global, chunk_size=8>>",
            "!xegpu.tensor_desc<16x8xf32, #xegpu.scatter_tdesc_attr<chunk_size = 8 : i64>>",
        ),
        (
            "!xegpu.tensor_desc<16xf32, #xegpu.scattered_tdesc_attr<>>",
            "!xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<>>",
        ),
        (
            "!xegpu.tensor_desc<4x2xf32, #xegpu.scattered_tdesc_attr<chunk_size=2>>",
            "!xegpu.tensor_desc<4x2xf32, #xegpu.scatter_tdesc_attr<chunk_size = 2 : i64>>",
        ),
    ],
)
def test_tensor_desc_examples_are_read(page: str, printed: str) -> None:
    assert str(la.parse(page)) == printed
    assert la.parse(printed) == la.parse(page)


def test_tensor_desc_in_shared_memory_is_1d() -> None:
    """The page's 8x16 tensor_desc with memory_space = slm (and the outdated name tdesc_attr) is refused by LLVM 22."""
    with pytest.raises(la.VerificationError, match="SLM is only supported for 1D block tensor"):
        la.parse("xegpu.tensor_desc<8x16xf32, #xegpu.tdesc_attr<memory_space = slm>>")
    assert la.parse("xegpu.tensor_desc<16xf32, #xegpu.tdesc_attr<memory_space = slm>>").encoding.memory_space == "slm"


def test_1d_tensor_desc_each_lane_accesses_two_continuous_elements() -> None:
    desc = la.parse("xegpu.tensor_desc<32xf32, #xegpu.layout<lane_layout = [16], lane_data = [2]>>")
    assert desc.layout().coords(lane=5).ravel().tolist() == [10, 11]


def test_1d_tensor_desc_each_lane_accesses_two_elements_with_stride_16() -> None:
    desc = la.parse("xegpu.tensor_desc<32xf32, #xegpu.layout<lane_layout = [16], lane_data = [1]>>")
    assert desc.layout().coords(lane=5).ravel().tolist() == [5, 21]


def test_workgroup_level_tensor_desc() -> None:
    desc = la.parse(
        "xegpu.tensor_desc<32x64xf32, "
        "#xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16], lane_layout = [1, 16], lane_data = [1, 1]>>"
    )
    assert desc.layout() == la.Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane")
    assert str(desc.fragment_type("subgroup")) == "vector<16x16xf32>"
    assert str(desc.fragment_type()) == "vector<16xf32>"


def test_array_length_of_the_block_descriptor() -> None:
    """The page: a TensorDesc of 8x16 with array_length = 2 loads a block of 8x32."""
    desc = la.parse(
        "!xegpu.tensor_desc<8x16xf16, #xegpu.block_tdesc_attr<array_length = 2>, "
        "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>>"
    )
    assert desc.layout().shape == (8, 32)
    assert desc.layout() == block_load(8, 16, 16, count=2).layout
    assert str(desc.fragment_type()) == "vector<16xf16>"


def test_range_is_half_open() -> None:
    """The page: the scf.if op is executed for subgroups 2 and 3 only."""
    assert list(la.parse("#xegpu.range<[2, 4]>").ids()) == [2, 3]


# MemDescType


def test_column_major_mem_desc() -> None:
    desc = la.parse("!xegpu.mem_desc<128x128xf16, #xegpu.mem_layout<stride = [1, 128]>>")
    addresses = desc.layout().owner_map("addr")
    assert np.array_equal(addresses, np.arange(128 * 128).reshape(128, 128).T)


def test_blocked_mem_desc() -> None:
    """The page: elements of a block are contiguous in memory, blocks are in row-major order."""
    desc = la.parse("!xegpu.mem_desc<128x128xf16, #xegpu.mem_layout<block = [8, 8]>>")
    addresses = desc.layout().owner_map("addr")
    for i in range(0, 128, 8):
        for j in range(0, 128, 8):
            block = addresses[i : i + 8, j : j + 8].ravel()
            assert np.array_equal(block, 64 * (i // 8 * 16 + j // 8) + np.arange(64))


def test_column_major_mem_desc_with_blocked_layout() -> None:
    desc = la.parse("!xegpu.mem_desc<128x128xf16, #xegpu.mem_layout<stride = [1, 128], block = [8, 8]>>")
    row_major = la.parse("!xegpu.mem_desc<128x128xf16, #xegpu.mem_layout<block = [8, 8]>>")
    assert desc.layout() == row_major.layout().permute((1, 0))


def test_mem_desc_is_row_major_by_default() -> None:
    assert np.array_equal(la.parse("!xegpu.mem_desc<32x64xf16>").layout().owner_map("addr").ravel(), np.arange(2048))


# Loads and stores: the vector types that the page states


def test_load_nd_example_1_transposed() -> None:
    """`!xegpu.tensor_desc<8x16xf32> -> vector<16x8xf32>` with transpose = [1, 0].

    The shape is right, the block is not: the hardware transposes 32-bit blocks 8 wide and 16 or 32 high, so an 8x16 block
    cannot be loaded transposed in one message; 16x8 can.
    """
    with pytest.raises(la.VerificationError, match="no such message"):
        block_load(8, 16, 32, transpose=True)
    assert block_load(16, 8, 32, transpose=True).layout.permute((1, 0)).shape == (8, 16)


def test_load_nd_and_store_nd_in_simt_mode() -> None:
    """`!xegpu.tensor_desc<8x16xf32> -> vector<8xf32>`, and vector<8xf16> stored to tensor_desc<8x16xf16>."""
    lanes = LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
    for element in ("f32", "f16"):
        assert str(la.TensorDescType((8, 16), element, None, lanes).fragment_type()) == f"vector<8x{element}>"


@pytest.mark.parametrize(
    ("element", "rows", "lane_data", "stated"),
    [("f16", 16, (2, 1), "packed vector<16xf16>"), ("i8", 32, (4, 1), "packed vector<32xi8>")],
)
def test_load_nd_packed(element: str, rows: int, lane_data: tuple[int, int], stated: str) -> None:
    """The page: 2 or 4 elements of the first dimension go into a new innermost dimension."""
    attr = LayoutAttr(lane_layout=(1, 16), lane_data=lane_data)
    assert str(attr.fragment_type((rows, 16), element)) == stated
    held = attr.layout((rows, 16)).fragment_map()[0]
    # As [row / v, column, row % v]: each lane's registers are its column's rows in order.
    assert np.array_equal(held[:, :, 0], np.broadcast_to(np.arange(rows), (16, rows)))


def test_dpas_shapes() -> None:
    """The page: m = 8, n = 16, k = 8 * 32 / bit width; B as a 3D vector<8x16x2xf16>."""
    for element, bits in (("f16", 16), ("bf16", 16), ("s8", 8), ("s4", 4), ("tf32", 32)):
        mma = la.dpas(element, element)
        assert (mma.m, mma.n, mma.k) == (8, 16, 8 * 32 // bits)
        assert mma.b.reshape((mma.k // mma.packed, mma.packed, 16)).shape == (8, 32 // bits, 16)


def test_gather_with_chunks() -> None:
    """create_tdesc example 2 (subgroup size 4): "a[0:7], a[16:23], a[32:39], a[64:71]"; load example 2; SIMT vector<8xf32>."""
    loaded = gather(4, 8)
    offsets = np.array([0, 16, 32, 64])
    held = loaded.fragment_map()[0]
    addresses = offsets[held[..., 0]] + held[..., 1]
    assert addresses.tolist() == [list(range(o, o + 8)) for o in offsets]
    lanes = LayoutAttr(lane_layout=(16, 1), lane_data=(1, 1))
    desc = la.parse(f"!xegpu.tensor_desc<16x8xf32, #xegpu.scatter_tdesc_attr<chunk_size=8>, {lanes}>")
    assert str(desc.fragment_type()) == "vector<8xf32>"
    assert desc.layout() == gather(16, 8)


@pytest.mark.parametrize(
    "text",
    [
        *(f"#xegpu.cache_hint<{policy}>" for policy in ("cached", "uncached", "streaming", "read_invalidate")),
        *(f"#xegpu.cache_hint<{policy}>" for policy in ("write_back", "write_through")),
        *(f"#xegpu.memory_space<{space}>" for space in ("global", "slm")),
        *(f"#xegpu.fence_scope<{scope}>" for scope in ("workgroup", "gpu")),
        "!xegpu.nbarrier",
    ],
)
def test_enums_of_the_page_are_read(text: str) -> None:
    """The page writes them as LLVM 24 does, for which they are printed; LLVM 22 takes some in a spelling of its own."""
    value = la.parse(text)
    assert la.parse(str(value)) == value
    if text.startswith("#"):
        name, _, word = text.removeprefix("#xegpu.").removesuffix(">").partition("<")
        assert value.text(llvm=22) == (text if name == "cache_hint" else f"#xegpu<{name} {word}>")
        assert value.text(llvm=24) == text
    assert str(value) == text
