"""iree-opt is asked about random attributes: coordinates of nested layouts, texts and verdicts of the iree_gpu dialect."""

from __future__ import annotations

import random
import re
import secrets
from importlib.resources import files
from math import prod

import numpy as np
import pytest

import layoutalg as la
from layoutalg.core import DistributionError, LayoutError, VerificationError
from layoutalg.nested import NestedLayoutAttr
from layoutalg.nested.gpu import INTRINSICS, VIRTUAL_INTRINSICS, MMAFragment, MultiMma, mma, parse_gpu
from tests.oracle.iree import diagnostics, distributed, reprinted

LAYOUTS = 200


def random_nested(rng: random.Random) -> tuple[NestedLayoutAttr, int, int]:
    """A nested layout of rank 1 to 3 with gaps, zero strides and missing subgroups, and sizes of workgroup and subgroup."""
    rank, subgroup = rng.randint(1, 3), rng.choice((16, 32, 64))
    small = (1, 1, 1, 2, 2, 3, 4)

    def digits(limit: int, unit: int) -> tuple[list[int], list[int]]:
        tiles, strides, place = [1] * rank, [0] * rank, unit
        for d in rng.sample(range(rank), rank):
            n = rng.choice((1, 2, 2, 4, 8, 16, 3))
            gap = rng.choice((1, 1, 1, 2, 3))
            if n == 1 or place * gap * n > limit:
                continue
            tiles[d], strides[d] = n, place * gap
            place *= gap * n
            if rng.random() < 0.05:
                strides[d] = 0
        return tiles, strides

    thread_tile, thread_strides = digits(subgroup * 2 if rng.random() < 0.2 else subgroup, 1)
    subgroup_tile, subgroup_strides = digits(8, 1)
    tiles = [[rng.choice(small) for _ in range(rank)] for _ in range(3)]
    attr = NestedLayoutAttr(
        tuple(subgroup_tile),
        tuple(tiles[0]),
        tuple(tiles[1]),
        tuple(thread_tile),
        tuple(tiles[2]),
        tuple(subgroup_strides),
        tuple(thread_strides),
    )
    return attr, subgroup * rng.choice((1, 2, 4)), subgroup


def test_every_coordinate_that_iree_materialises() -> None:
    seed = secrets.randbits(32)
    rng = random.Random(seed)
    cases = [c for c in (random_nested(rng) for _ in range(2 * LAYOUTS)) if prod(c[0].distributed_shape) <= 256][
        :LAYOUTS
    ]
    found = distributed([(str(attr), attr.shape, workgroup, subgroup) for attr, workgroup, subgroup in cases])
    compared = exact = 0
    for (attr, workgroup, subgroup), expected in zip(cases, found, strict=True):
        if expected is None:
            continue
        coordinates = attr.thread_coords(attr.shape, subgroup, workgroup)
        held = np.array([coordinates[tid] for tid in range(workgroup)])
        assert np.array_equal(held, expected), (seed, str(attr), workgroup, subgroup)
        compared += 1
        try:
            layout = attr.layout(attr.shape, subgroup, workgroup)
        except DistributionError:
            continue
        assert np.array_equal(layout.fragment_map().reshape(expected.shape), expected), (seed, str(attr))
        exact += 1
    assert compared > LAYOUTS // 2, (seed, compared)
    assert exact > LAYOUTS // 8, (seed, exact)


# Texts of the iree_gpu dialect

WGP = (
    "compute = fp32, storage = b32, subgroup = none, dot = none, mma = [], subgroup_size_choices = [64], "
    "max_workgroup_sizes = [1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, "
    "max_workgroup_counts = [1]"
)
DICTIONARY = (
    '{a = 1, b = "x\\22y", c = true, d = [1, "y", {z}], e = 1.5 : f32, f = unit, g = i32, h = array<i64: 1, 2>, '
    "i = -7 : i8, j = affine_map<(d0) -> (d0 + 1)>, k = [], l = 0.1 : f64, m = vector<2x4xf32>, "
    "n = #iree_gpu.derived_thread_config, o = @symbol, promote_operands = [0, 1]}"
)
TEXTS = [
    *(f"#iree_gpu.mma_layout<{name}>" for name in (*INTRINSICS, "WMMA_F32_16x16x16_F16", "NOT_THERE")),
    *(f"#iree_gpu.virtual_mma_layout<{name}>" for name in VIRTUAL_INTRINSICS),
    *(f"#iree_gpu.virtual_mma_layout<intrinsic = {name}>" for name in VIRTUAL_INTRINSICS),
    "#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16, col_major = true>",
    "#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16, col_major = false>",
    "#iree_gpu.mma_layout<VMFMA_F32_16x16x32_F16>",
    "#iree_gpu.data_tiled_mma_layout<intrinsic = MFMA_F32_16x16x16_F16>",
    "#iree_gpu.data_tiled_mma_layout<subgroups_n = 3, intrinsic = MFMA_F32_16x16x16_F16, intrinsics_m = 1>",
    "#iree_gpu.data_tiled_mma_layout<intrinsic = MFMA_F32_16x16x16_F16, subgroups_k = 2>",
    "#iree_gpu.data_tiled_mma_layout<intrinsic = MFMA_F32_16x16x16_F16, operands_interleaving_intrinsics_k = [0, 1]>",
    "#iree_gpu.data_tiled_mma_layout<intrinsic = MFMA_F32_16x16x16_F16, operands_interleaving_intrinsics_m = []>",
    "#iree_gpu.data_tiled_mma_layout<intrinsic = MFMA_F32_16x16x16_F16, intrinsics_m = 2, intrinsics_m = 2>",
    "#iree_gpu.data_tiled_mma_layout<intrinsics_m = 2>",
    "#iree_gpu.mma_schedule<intrinsic = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, subgroup_m_count = 2, "
    "subgroup_n_count = 2>",
    "#iree_gpu.mma_schedule<intrinsic = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, subgroup_m_count = 2>",
    "#iree_gpu.scaled_mma_layout<intrinsic = MFMA_SCALE_F32_16x16x128_B32, lhs_elem_type = f4E2M1FN, "
    "rhs_elem_type = f4E2M1FN, acc_elem_type = f32>",
    f"#iree_gpu.target_wgp<{WGP}>",
    f"#iree_gpu.target_wgp<{WGP}, simds_per_wgp = 4, extra = {DICTIONARY}>",
    f'#iree_gpu.target<arch = "gfx942", features = "+x", wgp = <{WGP}>, chip = <wgp_count = 304, sku = "mi300x">>',
    f'#iree_gpu.target<arch = "gfx942", wgp = <{WGP}>>',
    "#iree_gpu.target_chip<wgp_count = 304>",
    "#iree_gpu.target_chip<>",
    f"#iree_gpu.lowering_config<{DICTIONARY}>",
    "#iree_gpu.lowering_config<{a = 1, a = 2}>",
    '#iree_gpu.lowering_config<{a = "é", b = "\\C3\\A9", c = "\\00\\\\"}>',
    "#iree_gpu.lowering_config<{a = 255 : i8, b = 18446744073709551615, c = -0.0 : f32, d = [1.0 : f32, 2.0]}>",
    "#iree_gpu.lowering_config<{a = 0x3F800000 : f32, b = 0x7FC00000 : f32, c = 0x4000 : f16, d = 1.5e300 : f32}>",
    "#iree_gpu.lowering_config<{a = 123456789.123, b = 3.4028235e38 : f32, c = 0x7FF0000000000000 : f64, d = 1.5 : tf32}>",
    *(
        f"#iree_gpu.lowering_config<{{a = {value}}}>"
        for value in (
            "256 : i8",
            "128 : si8",
            "-1 : ui8",
            "1e5 : f32",
            "2 : i1",
            "a",
            "-",
            "+1",
            ".5",
            "@",
            "#",
            "<x>",
            "(1)",
        )
    ),
    "#iree_gpu.lowering_config<{}>",
    "#iree_gpu.lowering_config<>",
    "#iree_gpu.pipeline_options<>",
    "#iree_gpu.pipeline_options<prefetch_shared_memory = true, use_igemm_convolution = false>",
    "#iree_gpu.pipeline_options<use_igemm_convolution = true, prefetch_num_stages = 2>",
    "#iree_gpu.pipeline_options<reorder_workgroups_strategy = <Transpose>>",
    "#iree_gpu.pipeline_options<reorder_workgroups_strategy = <Swizzle>>",
    "#iree_gpu.lane_id<3>",
    "#iree_gpu.lane_id<-1>",
    "#iree_gpu.lane_id<0x10>",
    "#iree_gpu.lane_id<99999999999999999999999>",
    "#iree_gpu.derived_thread_config",
    "#iree_gpu.derived_thread_config<>",
    '#iree_gpu.ukernel_config<name = "foo", def_attrs = {a = 1}>',
    "#iree_gpu.gpu_encoding_layout<>",
    "#iree_gpu.gpu_encoding_resolver<>",
    "#iree_gpu.gpu_encoding_resolver<configuration = {a = 1}>",
    "#iree_gpu<mma_intrinsic MFMA_F32_16x16x16_F16>",
    "#iree_gpu<virtual_mma_intrinsic VMFMA_F32_16x16x32_F16>",
    "#iree_gpu<compute_bitwidths int8|fp32>",
    "#iree_gpu<storage_bitwidths b8|b64>",
    "#iree_gpu<subgroup_ops none>",
    "#iree_gpu<dotproduct_ops dp4xi8toi32>",
    "#iree_gpu.reorder_workgroups_strategy<None>",
    "#iree_gpu.reorder_workgroups_strategy<Swizzle>",
    "#iree_gpu.iterator_type<parallel>",
    "#iree_gpu.iterator_type<window>",
    "#iree_gpu.nothing_like_it<1>",
]


@pytest.mark.parametrize("dialect", ["iree-3.13", "iree-3.2"])
def test_what_a_version_reads_is_read_and_printed_as_it_prints(dialect: str) -> None:
    found = reprinted(TEXTS, dialect)
    read = 0
    for text, printed in zip(TEXTS, found, strict=True):
        if printed is None:
            continue
        read += 1
        value = parse_gpu(text)
        assert value.text(dialect) == printed, text
        assert la.parse(printed) == value
    assert read > 40


@pytest.mark.parametrize("dialect", ["iree-3.13", "iree-3.2"])
def test_what_is_printed_for_a_version_it_reads(dialect: str) -> None:
    """Also for attributes that were written in the other version's spelling; exceptions are attributes that it lacks."""
    texts: list[str] = []
    for text in TEXTS:
        try:
            texts.append(parse_gpu(text).text(dialect))
        except LayoutError:
            continue
    missing = {
        "iree-3.13": ("mma_schedule", "ukernel_config", "gpu_encoding_layout", "iterator_type"),
        "iree-3.2": ("resolver",),
    }
    for text, printed in zip(texts, reprinted(texts, dialect), strict=True):
        if not any(name in text for name in missing[dialect]):
            assert printed == text


def test_the_texts_that_neither_version_reads_are_refused() -> None:
    new, old = reprinted(TEXTS, "iree-3.13"), reprinted(TEXTS, "iree-3.2")
    refused = [text for text, a, b in zip(TEXTS, new, old, strict=True) if a is None and b is None]
    assert len(refused) > 8
    for text in refused:
        if "intrinsic = VDMFMA" in text:
            continue  # a name of 3.13 in the spelling of 3.2
        with pytest.raises(LayoutError):
            parse_gpu(text)


# The attributes that came after 3.2: 3.13 reads them all, 3.2 none

SCALED = (
    "intrinsic = MFMA_SCALE_F32_16x16x128_B32, lhs_elem_type = f4E2M1FN, rhs_elem_type = f4E2M1FN, acc_elem_type = f32"
)
SWIZZLES = (
    *(
        "xor_shuffle<256, 32>",
        "xor_shuffle<256, 32, 512>",
        "xor_shuffle<256, 32, 256, 1>",
        "xor_shuffle<256, 32, 256, 3>",
    ),
    *(
        "xor_shuffle<96, 32>",
        "xor_shuffle<256, 32, 64>",
        "xor_shuffle<256, 32, 512, 16>",
        "xor_shuffle<256, 32, 512, 9>",
    ),
    *("xor_shuffle<255, 32>", "xor_shuffle<-256, 32>", "xor_shuffle<256, -32>", "xor_shuffle<-256, -32>"),
    *(
        "xor_shuffle<256>",
        "xor_shuffle<256, 32,>",
        "xor_shuffle<256, 32, row_stride = 512>",
        "xor_shuffle<8, 8, 8, 1, 1>",
    ),
    *("rotate_rows<64, 4>", "rotate_rows<64, 5>", "rotate_rows<0, 4>", "rotate_rows<64, 4, 1>", "rotate_rows<64, -4>"),
)
CONFIGS = (
    *(
        "#iree_gpu.derived_thread_config",
        "#iree_gpu.use_global_load_dma",
        "#iree_gpu.lowering_config<{thread = [1, 2]}>",
    ),
    *(
        "3",
        '"x"',
        "{a = 1}",
        "[1, 2]",
        "f32",
        "vector<2xf32>",
        "@foo",
        "affine_map<(d0) -> (d0)>",
        "true",
        "1.5",
        "1.5 : f32",
    ),
    *(
        "unit",
        "array<i64: 1>",
        "dense<1> : tensor<2xi32>",
        "#iree_gpu.lane_scope",
        "(i32) -> f32",
        "@a::@b",
        "memref<?xf32>",
    ),
    *("affine_set<(d0) : (d0 - 1 == 0)>", "strided<[1, ?], offset: ?>", "complex<f32>", "none", "index"),
    *("", "#", "affine_map<(d0) -> (d0)", "f32 f32", "(i32) ->"),
)
PROMOTED = (
    *("promotion_types = 3", "promotion_types = []", "promotion_types = unit, promote_operands = 3"),
    "promote_operands = 0, promotion_types = [#iree_gpu.derived_thread_config]",
    "promote_operands = array<i64: 1>, promotion_types = [#iree_gpu.derived_thread_config]",
    *("promote_operands = [], promotion_types = []", "promote_operands = [0], promotion_types = []"),
    *('promote_operands = ["x"], promotion_types = []', "promote_operands = [1, 1], promotion_types = [3, 3]"),
    *(
        f"promote_operands = [{operand}], promotion_types = [{kind}]"
        for operand in ("0", "-1", "0 : i32", "0 : si8", "0 : index", "true", '"x"', "1.0", "[1]", "0, 1", "")
        for kind in ("#iree_gpu.derived_thread_config",)
    ),
    *(
        f"promote_operands = [0], promotion_types = [{kind}]"
        for kind in (
            "#iree_gpu.use_global_load_dma",
            "#iree_gpu.promote_with_cache_swizzle<#iree_gpu.derived_thread_config>",
            "#iree_gpu.swizzle_operand<copy_config = unit, swizzle = #iree_codegen.xor_shuffle<256, 32>>",
            *("#iree_gpu.lowering_config<{}>", "#iree_gpu.lane_id<0>", "#iree_gpu.lane_scope", "f32", "3"),
            "#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>",
        )
    ),
)
LATER = [
    *(f"#iree_gpu.data_tiled_scaled_mma_layout<{SCALED}{more}>" for more in (
        "",
        ", intrinsics_m = 2, intrinsics_k = 4, operands_interleaving_intrinsics_k = [2, 3], unswizzled_operands = [0, 1]",
        ", subgroups_m = 2, subgroups_n = 3, subgroups_k = 4, intrinsics_n = 5, operands_interleaving_intrinsics_m = [2]",
        ", operands_interleaving_intrinsics_n = [], unswizzled_operands = []",
        ", col_major = true",
        ", intrinsics_m = 2, intrinsics_m = 2",
    )),
    f"#iree_gpu.data_tiled_scaled_mma_layout<{SCALED.rpartition(',')[0]}>",
    f"#iree_gpu.data_tiled_scaled_mma_layout<{SCALED.replace('SCALE', 'NONE')}>",
    f"#iree_gpu.data_tiled_scaled_mma_layout<{SCALED.replace('f4E2M1FN', 'i8')}>",
    f"#iree_gpu.scaled_mma_layout<{SCALED}, col_major = 1>",
    *(f"#iree_gpu.lane_increment<{inner}>" for inner in (
        *("16", "16, aligned", "16, step = 2", "16, aligned, step = 2", "16, step = 2, aligned", "16, step = 1"),
        *("0", "-4, step = -2"),
        *("16, step = 0", "-0", "9223372036854775807", "9223372036854775808", "16, step = 2, step = 2", "16, aligned, aligned"),
        *("16,", "", "16, other", "16 aligned", "16, step 2"),
    )),
    *(f"#iree_gpu.lane_constant<{inner}>" for inner in ("16", "0", "-16", "0x10", "", "a")),
    *(f"#iree_gpu.{name}{end}" for name in ("lane_scope", "subgroup_scope", "use_global_load_dma") for end in ("", "<>")),
    *(f"#iree_gpu.pipeline<{name}>" for name in (
        *("Default", "BaseLowering", "Distribute", "Vectorize", "VectorDistribute", "WinogradVectorize", "TileAndFuse"),
        *("None", "BaseVectorize", "vectordistribute", "", '"TileAndFuse"', '"Tile And"'),
    )),
    *(f"#iree_gpu.spirv_pipeline<{name}>" for name in (
        *("BaseLowering", "BaseDistribute", "BaseVectorize", "SubgroupReduce", "MatmulPromoteVectorize"),
        *("CooperativeMatrixVectorize", "WinogradVectorize", "None", "TileAndFuse", "VectorDistribute"),
    )),
    *("#iree_gpu.pipeline", "#iree_gpu<pipeline TileAndFuse>"),
    *(f"#iree_gpu.mma_semantics<{inner}>" for inner in (
        *("distributed = true, opaque = false", "opaque = true, distributed = false", "distributed = 1, opaque = 0"),
        *("distributed = true", "", "distributed = 2, opaque = false", "distributed = -1, opaque = false"),
    )),
    *(f"#iree_gpu.conditional_transpose<{inner}>" for inner in (
        *("8, 38", "0, 38", "8, 0", "-8, 1", "8", "8, 1, 2", "8 38", "9223372036854775808, 1"),
    )),
    *(f"#iree_gpu.gpu_padding_resolver{inner}" for inner in (
        *("<>", "", "<cache_line_bytes = 128>", "<cache_sets = 4, cache_line_bytes = 128>", "<cache_line_bytes = 0>"),
        *("<cache_line_bytes = -1>", "<cache_line_bytes = 4294967295>", "<cache_line_bytes = 4294967296>"),
    )),
    *(f"#iree_gpu.swizzle_operand<copy_config = unit, swizzle = #iree_codegen.{one}>" for one in SWIZZLES),
    *(f"#iree_gpu.swizzle_operand<copy_config = {one}, swizzle = #iree_codegen.xor_shuffle<256, 32>>" for one in CONFIGS),
    "#iree_gpu.swizzle_operand<swizzle = #iree_codegen.xor_shuffle<256, 32>, copy_config = #iree_gpu.use_global_load_dma>",
    *("#iree_gpu.swizzle_operand<copy_config = unit>", "#iree_gpu.swizzle_operand<copy_config = unit, swizzle = 3>"),
    "#iree_gpu.swizzle_operand<copy_config = unit, swizzle = #iree_gpu.lane_id<0>>",
    *(f"#iree_gpu.promote_with_cache_swizzle<{one}>" for one in CONFIGS),
    "#iree_gpu.promote_with_cache_swizzle",
]  # fmt: skip


def test_the_attributes_since_3_2_are_read_printed_and_refused_as_iree_does() -> None:
    """All of 3.13; iree-opt crashes on an xor_shuffle of width 0, so that is not asked."""
    read = 0
    for text, printed in zip(LATER, reprinted(LATER), strict=True):
        if printed is None:
            with pytest.raises(LayoutError):
                parse_gpu(text)
            continue
        read += 1
        value = parse_gpu(text)
        assert value.text() == printed, text
        assert la.parse(printed) == value
    assert read > 90
    assert len(LATER) - read > 50


def test_3_2_reads_none_of_them_and_none_is_printed_for_it() -> None:
    assert reprinted(LATER, "iree-3.2") == [None] * len(LATER)
    for text in LATER:
        try:
            value = parse_gpu(text)
        except LayoutError:
            continue
        with pytest.raises(VerificationError, match=r"IREE 3\.2 has no"):
            value.text("iree-3.2")


@pytest.mark.parametrize("more", ["intrinsics_m = 0", "subgroups_k = -3", "unswizzled_operands = [5]"])
def test_what_iree_accepts_of_a_scaled_tiling_and_is_refused_here(more: str) -> None:
    text = f"#iree_gpu.data_tiled_scaled_mma_layout<{SCALED}, {more}>"
    assert reprinted([text]) == [text]
    with pytest.raises(VerificationError, match="IREE accepts this"):
        parse_gpu(text)


def test_what_iree_passes_over_in_an_attribute_without_parameters_is_refused_here() -> None:
    assert reprinted(["#iree_gpu.lane_scope<1>"]) == ["#iree_gpu.lane_scope"]
    with pytest.raises(LayoutError):
        parse_gpu("#iree_gpu.lane_scope<1>")


@pytest.mark.parametrize("widths", ["0, 32", "32, 0"])
def test_a_swizzle_of_width_zero_on_which_iree_crashes_is_refused(widths: str) -> None:
    with pytest.raises(VerificationError, match="crashes"):
        parse_gpu(f"#iree_gpu.swizzle_operand<copy_config = unit, swizzle = #iree_codegen.xor_shuffle<{widths}>>")


def test_what_iree_says_of_a_lowering_config() -> None:
    """It looks at promoted operands alone: tile sizes, bases and kinds may be anything."""
    anything = (
        *(
            "mma_kind = 3",
            "mma_kind = #iree_gpu.lane_id<0>",
            "workgroup = 3",
            'workgroup = ["x"]',
            "workgroup = [-1, 0]",
        ),
        *("thread = [1 : i32]", "thread = {a = 1}", "subgroup_basis = [[1, 2], [0, 1, 2]]", "subgroup_basis = 3"),
        *(
            "lane_basis = [[1, 2], [5, 5]]",
            "promote_operands = 3",
            'promote_operands = ["x"]',
            "promote_operands = [0, 0]",
        ),
    )
    texts = [f"#iree_gpu.lowering_config<{{{entries}}}>" for entries in (*anything, *PROMOTED)]
    verdicts = diagnostics([f"module attributes {{t.a = {text}}} {{}}" for text in texts])
    assert verdicts[: len(anything)] == [None] * len(anything)
    for text, expected in zip(texts, verdicts, strict=True):
        try:
            parse_gpu(text)
            said = None
        except VerificationError as error:
            said = str(error).partition(" (in ")[0]
        assert said == expected, text
    refused = [one for one in verdicts if one is not None]
    assert len(set(refused)) == 5
    assert len(refused) > 12


def floats(text: str) -> str:
    """A text with its floats in one form: IREE prints 95.7 once as 95.6999969 and once as 9.570000e+01."""
    return re.sub(r"\d+\.\d+(e[-+]\d+)?", lambda match: f"{np.float32(match[0]):.9g}", text)


def test_every_known_target_is_printed_as_the_compiler_printed_it() -> None:
    lines = files("layoutalg.nested.gpu").joinpath("targets.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 69
    for line in lines:
        dialect, api, name, text = line.split(" ", 3)
        assert floats(la.known_target(name, api, dialect).text(dialect)) == floats(text)
    sample = [line.split(" ", 3)[3] for line in lines if line.startswith("iree-3.13")]
    assert [floats(text or "") for text in reprinted(sample)] == [floats(text) for text in sample]


# multi_mma

MULTI = """
func.func @f(%l: {0}, %r: {1}, %a: {2}) -> {2} {{
  %0 = iree_gpu.multi_mma %l, %r, %a {{indexing_maps = [{maps}], iterator_types = [{iterators}], kind = {kind}{permutations}}}
    : {0}, {1} into {2}
  return %0 : {2}
}}
"""


def random_multi(rng: random.Random) -> tuple[MultiMma, list[str]]:
    kind = rng.choice(
        (
            mma("MFMA_F32_16x16x16_F16"),
            mma("VMFMA_F32_16x16x32_F16"),
            mma("WMMA_I32_16x16x16_I8"),
            la.parse("#iree_gpu.data_tiled_mma_layout<intrinsic = MFMA_F32_32x32x8_F16, intrinsics_n = 2>"),
        )
    )
    maps = rng.choice(
        (
            ((0, 2), (2, 1), (0, 1)),
            ((2, 0), (1, 2), (1, 0)),
            ((0, 2), (2,), (0,)),
            ((2,), (2, 1), (1,)),
        )
    )
    loops = sorted({loop for dims in maps for loop in dims})
    iterators = ["reduction" if loop == 2 else "parallel" for loop in loops]
    native = getattr(kind, "native", kind)
    native = native[0] if isinstance(native, tuple) else native
    sizes = [rng.randint(1, 4) for _ in range(3)]
    scope = rng.choice(("thread", "subgroup"))
    types, permutations = [], []
    op = MultiMma(kind, [(len(loops), tuple(loops.index(d) for d in dims)) for dims in maps], iterators)
    for fragment, dims in zip(MMAFragment, maps, strict=True):
        outer = [sizes[d] + (rng.random() < 0.07) for d in dims]
        count = op.counts(scope if rng.random() < 0.93 else "thread")[fragment]
        inner = [count] if rng.random() < 0.4 else [count // 4, 4]
        if rng.random() < 0.05:
            inner[-1] += 1
        one = kind.native if hasattr(kind, "swizzle") else kind
        element = one.intrinsic.element_type(fragment) if rng.random() < 0.95 else "f64"
        order = None if rng.random() < 0.8 else rng.sample(range(len(inner)), len(inner))
        permutations.append(order)
        if rng.random() < 0.05:
            outer, inner = outer[:1], []
        container, sizes_ = rng.choice((("vector", [*outer, *inner]), ("tensor", [*outer, *inner])))
        if container == "tensor" and rng.random() < 0.1 and sizes_:
            sizes_[rng.randrange(len(sizes_))] = None
        types.append(f"{container}<{''.join(f'{n or chr(63)}x' for n in sizes_)}{element}>")
    return MultiMma(op.kind, op.indexing_maps, iterators, *permutations), types


def test_verdicts_on_multi_mma() -> None:
    seed = secrets.randbits(32)
    rng = random.Random(seed)
    cases = [random_multi(rng) for _ in range(400)]
    functions = []
    for op, types in cases:
        permutations = "".join(
            f", {name}_permutation = array<i64: {', '.join(map(str, order))}>"
            for name, order in zip(("lhs", "rhs", "acc"), (op.permutation(f) for f in MMAFragment), strict=True)
            if order is not None
        )
        functions.append(
            MULTI.format(
                *types,
                maps=", ".join(map(str, op.indexing_maps)),
                iterators=", ".join(f"#iree_gpu.iterator_type<{one}>" for one in op.iterator_types),
                kind=op.kind.text("iree-3.2"),
                permutations=permutations,
            )
        )
    found = diagnostics(functions, "iree-3.2")
    accepted = 0
    for (op, types), expected in zip(cases, found, strict=True):
        verdict = op.check(*types)
        said = None if expected is None else expected.removeprefix("'iree_gpu.multi_mma' op ")
        assert verdict == said, (seed, str(op.kind), [str(m) for m in op.indexing_maps], types)
        accepted += verdict is None
    assert 80 < accepted < 350, (seed, accepted)


def test_what_iree_refuses_of_the_attributes() -> None:
    kind = mma("MFMA_F32_16x16x16_F16")
    for maps, iterators, permutation, words in (
        (["() -> ()"] * 2, [], None, "expected an indexing map for each operand"),
        (["(i) -> (i)"] * 3, [], None, "expected indexing map 0 to have 0 number of inputs"),
        (
            [(2, (1, 1)), (2, (0, 1)), (2, (0, 1))],
            ["parallel"] * 2,
            None,
            "indexing map 0 to be a projected permutation",
        ),
        (["() -> ()"] * 3, [], (1, 1), "invalid rhs permutation"),
    ):
        with pytest.raises(VerificationError, match=words):
            MultiMma(kind, maps, iterators, rhs_permutation=permutation)
