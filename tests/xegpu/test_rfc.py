"""The RFC (docs of the dialect before `lane_layout`): every `sg_map` line and every example with a stated result."""

from __future__ import annotations

import numpy as np
import pytest

import layoutalg as la
from layoutalg.hardware import block_load, dpas, gather, row_fragment
from layoutalg.xegpu import LayoutAttr, SgMapAttr, sg_map_of

# "Rules of sg_map setting on PVC and ARC": operand, type -> the line, the tile, the distributed size written beside it.
PVC = [
    ("a", "bf16", "wi_layout = [1, 16], wi_data = [1, 1]", (8, 16), (8, 1)),
    ("a", "f16", "wi_layout = [1, 16], wi_data = [1, 1]", (8, 16), (8, 1)),
    ("a", "tf32", "wi_layout = [2, 8], wi_data = [1, 1]", (8, 8), (4, 1)),
    ("a", "u8", "wi_layout = [1, 16], wi_data = [1, 2]", (8, 32), (8, 2)),
    ("a", "s8", "wi_layout = [1, 16], wi_data = [1, 2]", (8, 32), (8, 2)),
    ("b", "bf16", "wi_layout = [1, 16], wi_data = [2, 1]", (16, 16), (8, 2)),
    ("b", "f16", "wi_layout = [1, 16], wi_data = [2, 1]", (16, 16), (8, 2)),
    ("b", "tf32", "wi_layout = [1, 16], wi_data = [1, 1]", (8, 16), (8, 1)),
    ("b", "u8", "wi_layout = [1, 16], wi_data = [4, 1]", (32, 16), (8, 4)),
    ("b", "s8", "wi_layout = [1, 16], wi_data = [4, 1]", (32, 16), (8, 4)),
    ("c", "f16", "wi_layout = [1, 16], wi_data = [1, 1]", (8, 16), (8, 1)),  # c_f32
    ("c", "s8", "wi_layout = [1, 16], wi_data = [1, 1]", (8, 16), (8, 1)),  # c_si32
]
ARC = [
    ("a", "bf16", "wi_layout = [1, 8], wi_data = [1, 2]", (8, 16), (8, 2)),
    ("a", "f16", "wi_layout = [1, 8], wi_data = [1, 2]", (8, 16), (8, 2)),
    ("a", "u8", "wi_layout = [1, 8], wi_data = [1, 4]", (8, 32), (8, 4)),
    ("a", "s8", "wi_layout = [1, 8], wi_data = [1, 4]", (8, 32), (8, 4)),
    ("b", "bf16", "wi_layout = [1, 8], wi_data = [2, 1]", (16, 8), (8, 2)),
    ("b", "f16", "wi_layout = [1, 8], wi_data = [2, 1]", (16, 8), (8, 2)),
    ("b", "u8", "wi_layout = [1, 8], wi_data = [4, 1]", (32, 8), (8, 4)),
    ("b", "s8", "wi_layout = [1, 8], wi_data = [4, 1]", (32, 8), (8, 4)),
    ("c", "f16", "wi_layout = [1, 8], wi_data = [1, 1]", (8, 8), (8, 1)),  # c_f32
    ("c", "s8", "wi_layout = [1, 8], wi_data = [1, 1]", (8, 8), (8, 1)),  # c_si32
]


@pytest.mark.parametrize(
    ("target", "operand", "element", "line", "tile", "distributed"),
    [("pvc", *row) for row in PVC] + [("dg2", *row) for row in ARC],
)
def test_the_rules_for_pvc_and_arc_come_out_of_the_operand_fragments(
    target: str, operand: str, element: str, line: str, tile: tuple[int, int], distributed: tuple[int, int]
) -> None:
    mma = dpas(element, element, target=target)
    fragment, bits = {"a": (mma.a, mma.a_bits), "b": (mma.b, mma.b_bits), "c": (mma.c, mma.c_bits)}[operand]
    assert fragment.shape == tile
    element_bits = mma.c_bits if operand == "c" else 32 // mma.packed
    found = sg_map_of(fragment, packed=bits // element_bits)
    assert found == la.parse(f"xegpu.sg_map<{line}>")
    assert found.fragment_shape(tile) == distributed
    assert found.layout(tile) == fragment


@pytest.mark.parametrize(
    ("lanes", "operand", "line", "tile"),
    [
        (8, "a_tf32", "wi_layout = [1, 8], wi_data = [1, 1]", (8, 8)),
        (8, "b_tf32", "wi_layout = [1, 8], wi_data = [1, 1]", (8, 8)),
    ],
)
def test_tf32_on_arc_follows_the_same_rule(lanes: int, operand: str, line: str, tile: tuple[int, int]) -> None:
    """The RFC lists tf32 for ARC, but the chips have no such DPAS; the rows follow from the rule all operands obey."""
    with pytest.raises(la.VerificationError, match="no such instruction"):
        dpas("tf32", "tf32", target="dg2")
    fragment = row_fragment(*tile, lanes)
    assert sg_map_of(fragment, packed=1) == la.parse(f"#xegpu.sg_map<{line}>")
    assert sg_map_of(fragment, packed=1).fragment_shape(tile) == (8, 1)


def test_transposed_operands() -> None:
    pvc = sg_map_of(block_load(16, 8, 32, transpose=True).layout, packed=1)
    assert pvc == la.parse("#xegpu.sg_map<wi_layout = [16, 1], wi_data = [1, 1]>")
    assert pvc.fragment_shape((16, 8)) == (8, 1)
    arc = sg_map_of(row_fragment(8, 8, 8).permute((1, 0)), packed=1)
    assert arc == la.parse("#xegpu.sg_map<wi_layout = [8, 1], wi_data = [1, 1]>")
    assert arc.fragment_shape((8, 8)) == (8, 1)


@pytest.mark.parametrize("lanes", [16, 8])
def test_regular_loads_prepared_for_dpas(lanes: int) -> None:
    """A gather gives each lane its own element, or with `chunk_size_per_lane` its own chunk."""
    assert la.parse(f"#xegpu.sg_map<wi_layout = [1, {lanes}], wi_data = [1, 1]>").layout((lanes,)) == gather(lanes)
    assert la.parse(f"#xegpu.sg_map<wi_layout = [{lanes}, 1], wi_data = [1, 1]>").layout((lanes, 4)) == gather(lanes, 4)


def test_sizes_of_the_section_on_wi_data() -> None:
    sg_map = la.parse("xegpu.sg_map<wi_layout = [1, 16], wi_data = [1, 1]>")
    desc = la.parse(
        "tensor_desc<8x16xbf16, #sg_map_a>".replace("tensor_desc", "xegpu.tensor_desc").replace(
            "#sg_map_a", "#xegpu.sg_map<wi_layout = [1, 16], wi_data = [1, 1]>"
        )
    )
    wi_data_size = sg_map.wi_data[0] * sg_map.wi_data[1]
    assert wi_data_size == 1
    assert sg_map.wi_layout[0] * sg_map.wi_layout[1] * wi_data_size == 16
    assert desc.shape[0] * desc.shape[1] == 128
    assert sg_map.fragment_shape(desc.shape) == (8, 1)


def test_size_rule_names_the_dimension() -> None:
    sg_map = SgMapAttr((2, 8), (1, 2))
    assert sg_map.check((8, 16)) is None
    assert sg_map.check((7, 16)) == "dimension 0 of [7, 16]: 7 is not divisible by wi_layout[0] * wi_data[0] = 2"
    with pytest.raises(la.DistributionError, match=r"24 is not divisible by wi_layout\[1\]"):
        sg_map.fragment_shape((8, 24))


# (alias text, tensor_desc, stated vector of one work item, how the load is done)
LOADS = [
    ("wi_layout = [1, 16], wi_data = [1, 1]", "8x16xbf16", (8, 1), "plain"),  # vector<8x1xbf16>
    ("wi_layout = [1, 16], wi_data = [2, 1]", "16x16xbf16", (8, 2), "packed"),  # vector<8x2xbf16>
    ("wi_layout = [16, 1], wi_data = [1, 1]", "16x8xf32", (8, 1), "transposed"),  # vector<8x1xf32>
]


@pytest.mark.parametrize(("sg_map", "tile", "stated", "how"), LOADS)
def test_loads_with_a_stated_vector(sg_map: str, tile: str, stated: tuple[int, int], how: str) -> None:
    text = f"#m = #xegpu.sg_map<{sg_map}>\n!xegpu.tensor_desc<{tile}, #m>"
    desc = la.parse(text)
    attr = la.parse(f"#xegpu.sg_map<{sg_map}>")
    assert attr.fragment_shape(desc.shape) == stated
    fragment = desc.fragment_type()
    assert np.prod(fragment.shape) == np.prod(stated)
    assert (fragment.packed, fragment.transposed) == (how == "packed", how == "transposed")


def test_gather_examples() -> None:
    one = la.parse("""
      #sg_map_t = #xegpu.sg_map<wi_layout = [1, 16], wi_data = [1, 1]>
      #scatter_attr = !xegpu.tdesc_attr< memory_scope=slm, scattered=true>
      !xegpu.tensor_desc<16xfp32, #scatter_attr, #sg_map_t>
    """)
    assert str(one.fragment_type()) == "vector<1xf32>"
    assert one.encoding.memory_space == "slm"
    # "each WI loads 4 fp32": the stated vector<4x1xfp32> is transposed; today's type is the flat vector<4xf32>.
    chunk = la.parse("""
      #sg_map_t = #xegpu.sg_map<wi_layout = [16, 1], wi_data = [1, 1]>
      #scatter_attr = !xegpu.tdesc_attr< memory_scope=slm, scattered=true, chunk_size_per_lane=4>
      !xegpu.tensor_desc<16x4xfp32, #scatter_attr, #sg_map_t>
    """)
    assert str(chunk.fragment_type()) == "vector<4xf32>"
    assert chunk.layout() == gather(16, 4)


@pytest.mark.parametrize(
    ("old", "today"),
    [
        ("xegpu.tensor_desc<8x16xbf16>", "!xegpu.tensor_desc<8x16xbf16>"),
        ("XeGPU.tensor_desc<8x16xbf16, memory_scope=global>", "!xegpu.tensor_desc<8x16xbf16>"),
        (
            "!xegpu.tensor_desc<8x16xbf16, array_length=2>",
            "!xegpu.tensor_desc<8x16xbf16, #xegpu.block_tdesc_attr<array_length = 2 : i64>>",
        ),
        ("!xegpu.tensor_desc<16 x uint8, #scattered>", "!xegpu.tensor_desc<16xui8, #xegpu.scatter_tdesc_attr<>>"),
        ("!xegpu.tensor_desc<16xbf16, #Scattered>", "!xegpu.tensor_desc<16xbf16, #xegpu.scatter_tdesc_attr<>>"),
        (
            "!xegpu.tensor_desc<16 x bf16, #scattered, memory_scope=slm, chunk_size_per_lane=1>",
            "!xegpu.tensor_desc<16xbf16, #xegpu.scatter_tdesc_attr<memory_space = slm>>",
        ),
        (
            "!xegpu.tdesc_attr< memory_scope=slm, boundary_check=false>",
            "#xegpu.block_tdesc_attr<memory_space = slm, boundary_check = false>",
        ),
        (
            "!xegpu.tdesc_attr< memory_scope=slm, scattered=true, chunk_size_per_lane=8>",
            "#xegpu.scatter_tdesc_attr<memory_space = slm, chunk_size = 8 : i64>",
        ),
        ("xegpu.tensor_desc<8x16xfloat>", "!xegpu.tensor_desc<8x16xf32>"),
    ],
)
def test_the_rfcs_spellings_are_read_and_printed_in_todays(old: str, today: str) -> None:
    assert str(la.parse(old)) == today
    assert la.parse(today) == la.parse(old)


def test_array_length_covers_an_array_of_blocks() -> None:
    """The RFC: the subtensor being created in the example below covers 8x32xbf16."""
    load = block_load(8, 16, 16, count=2)
    assert load.layout.shape == (8, 32)
    desc = la.TensorDescType(
        (8, 16),
        "bf16",
        la.parse("#xegpu.block_tdesc_attr<array_length = 2>"),
        LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)),
    )
    assert desc.layout() == load.layout
    assert str(desc.fragment_type()) == "vector<16xbf16>"


def test_packed_load_splits_rows_by_the_vnni_factor() -> None:
    """`tensor_desc<16x16xbf16> into vector<8x16x2xbf16>`: [row / 2, column, row % 2], lanes along the columns."""
    load = block_load(16, 16, 16, transform=True)
    held = load.layout.fragment_map()[0]
    for lane in range(16):
        for pair in range(8):
            for low in range(2):
                assert tuple(held[lane, 2 * pair + low]) == (2 * pair + low, lane)


def test_transpose_of_a_32_bit_tile() -> None:
    """`tensor_desc<16x8xf32> into vector<8x16xf32>` with transpose = [1, 0]."""
    load = block_load(16, 8, 32, transpose=True)
    transposed = load.layout.permute((1, 0))
    assert transposed.shape == (8, 16)
    assert transposed == row_fragment(8, 16, 16)


def test_transpose_bit_width() -> None:
    """`tensor_desc<16x16xf16> into vector<8x32xf16>`: pairs of f16 are transposed as 32-bit units.

    The RFC's second example is inconsistent: the text speaks of tile<32x16xbf16> treated as <32x8xi32> giving
    vector<8x64xbf16>, the code of tensor_desc<16x16xfp16> into vector<8x32xfp16> and a shape_cast of vector<8x64xfp16>.
    Both tiles are tested; each gives [columns / 2, 2 * rows] with pairs kept together.
    """
    for rows in (16, 32):
        load = block_load(rows, 16, 16, transpose=True, transpose_bits=32)
        held = load.layout.fragment_map()[0]
        assert held.shape == (16, rows, 2)
        # The unit (r, c) of the i32 tile is (c, r) of the transposed one, whose rows of 16 or 32 units go to 16 lanes.
        each = rows // 16
        for r in range(rows):
            for c in range(8):
                for low in range(2):
                    lane, register = r // each, (c * each + r % each) * 2 + low
                    assert load.layout.owners((r, 2 * c + low)) == [(0, lane, register)]
    # On B^T it is VNNI packing at the same time: the fragment is that of a dpas B operand.
    assert block_load(16, 16, 16, transpose=True, transpose_bits=32).layout.permute((1, 0)) == dpas("f16", "f16").b


def test_transform_and_transpose_do_not_combine() -> None:
    with pytest.raises(la.VerificationError, match="cannot be combined"):
        block_load(16, 16, 16, transform=True, transpose=True)


def test_use_case_2d_load_is_one_dpas() -> None:
    """vector_a 8x1xbf16, vector_b 8x2xbf16 into vector_c 8x1xfloat: the operands of one instruction."""
    mma = dpas("bf16", "bf16", "f32")
    for text, tile, operand in (
        ("wi_layout = [1, 16], wi_data = [1, 1]", (8, 16), mma.a),
        ("wi_layout = [1, 16], wi_data = [2, 1]", (16, 16), mma.b),
        ("wi_layout = [1, 16], wi_data = [1, 1]", (8, 16), mma.c),
    ):
        assert la.parse(f"xegpu.sg_map<{text}>").layout(tile) == operand


def test_use_case_regular_load_transposes_through_a_gather() -> None:
    """16x4 in chunks of 4 per lane, stored as 64 consecutive elements: register r of lane l goes to 16 r + l."""
    loaded = la.parse("xegpu.sg_map<wi_layout = [16, 1], wi_data = [1, 1]>").layout((16, 4))
    stored = la.parse("xegpu.sg_map<wi_layout = [1, 16], wi_data = [1, 1]>").layout((64,))
    assert loaded.permute((1, 0)).reshape((64,)) == stored


def test_sg_map_of_a_1d_tensor() -> None:
    assert SgMapAttr((1, 16), (1, 2)).layout((32,)) == la.Layout.parse("d0 = 16@lane 2@reg")
    with pytest.raises(la.VerificationError, match="rank 1"):
        SgMapAttr((1, 16), (2, 1)).to_layout(1)
