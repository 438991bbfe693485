"""Operations that iree-opt accepts, a few for each operation of `iree_gpu` and of what stands beside it: for `mutations`."""

from __future__ import annotations

from tests.oracle.mutations import Written

_MAPS = (
    "indexing_maps",
    "[affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]",
)
_LOOPS = (
    "iterator_types",
    "[#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>]",
)
_KIND = ("kind", "#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>")
_THREADS = ("semantics", "#iree_gpu.mma_semantics<distributed = true, opaque = false>")
_TILES = ("semantics", "#iree_gpu.mma_semantics<distributed = false, opaque = false>")
_SEGMENTS = ("operandSegmentSizes", "array<i32: 2, 1>")
_SUM = "({\n^bb0(%x: f32, %y: f32):\n%z = arith.addf %x, %y : f32\niree_gpu.yield %z : f32\n})"
_SAME = "({\n^bb0(%x: tensor<4x8xf32>):\niree_gpu.yield %x : tensor<4x8xf32>\n})"
_LAYOUT = (
    "layout",
    "#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [1, 1], outer_tile = [1, 1], thread_tile = [8, 8], "
    "element_tile = [2, 2], subgroup_strides = [0, 0], thread_strides = [8, 1]>",
)
_FLAT = ("operandSegmentSizes", "array<i32: 1, 2, 1, 2>")
_GATHER = (
    ("indexing_maps", "[affine_map<(d0, d1)[s0] -> (s0, d1)>, affine_map<(d0, d1)[s0] -> (d0)>]"),
    ("operandSegmentSizes", "array<i32: 1, 2, 1, 1, 0>"),
)

IREE = (
    Written("iree_gpu.value_barrier", ("vector<4x4xf16>",), ("vector<4x4xf16>",)),
    Written("iree_gpu.value_barrier", ("tensor<4x8xf32>", "tensor<4xf16>"), ("tensor<4x8xf32>", "tensor<4xf16>")),
    Written("iree_gpu.barrier_region", ("tensor<4x8xf32>",), ("tensor<4x8xf32>",), regions=_SAME),
    Written("iree_gpu.buffer_resource_cast", ("tensor<2x4xf32>",), ("tensor<2x4xf32>",)),
    Written("iree_gpu.buffer_resource_cast", ("tensor<2x4xf32>", "index"), ("tensor<2x4xf32>",)),
    Written("iree_gpu.coalesced_gather_dma", ("memref<8x64xf32>", "memref<8x64xf32>", "index")),
    Written(
        "iree_gpu.coalesced_gather_dma",
        ("memref<8x64xf32>", "memref<8x64xf32>", "index"),
        (),
        (("in_bounds", "[true, false]"),),
    ),
    Written("iree_gpu.coalesced_gather_dma", ("memref<32x64xf32>", "vector<8xindex>", "memref<8x64xf32>", "index")),
    Written(
        "iree_gpu.coalesced_gather_dma",
        ("tensor<32x64xf32>", "tensor<8xi32>", "tensor<8x64xf32>", "index"),
        ("tensor<8x64xf32>",),
    ),
    Written(
        "iree_gpu.async_dma",
        ("memref<8x64xf32>", "index", "index", "memref<8x64xf32>", "index", "index"),
        (),
        (("transfer_type", "vector<4x64xf32>"), _FLAT),
    ),
    Written(
        "iree_gpu.async_dma",
        ("memref<8x64xf32>", "vector<4xindex>", "index", "memref<8x64xf32>", "index", "index"),
        (),
        (("transfer_type", "vector<4x64xf32>"), ("in_bounds", "[true, true]"), _FLAT),
    ),
    Written(
        "iree_gpu.async_dma",
        ("tensor<8x64xf32>", "index", "index", "tensor<8x64xf32>", "index", "index"),
        ("tensor<8x64xf32>",),
        (("transfer_type", "vector<8x16xf32>"), _FLAT),
    ),
    Written(
        "iree_gpu.async_dma",
        ("memref<8x64xf32>", "index", "index", "memref<64xf32>", "index"),
        (),
        (
            ("transfer_type", "vector<64xf32>"),
            ("permutation_map", "affine_map<(d0, d1) -> (d1)>"),
            ("operandSegmentSizes", "array<i32: 1, 2, 1, 1>"),
        ),
    ),
    Written(
        "iree_gpu.async_dma",
        ("memref<64x8xf32>", "index", "index", "memref<8x64xf32>", "index", "index"),
        (),
        (("transfer_type", "vector<8x64xf32>"), ("permutation_map", "affine_map<(d0, d1) -> (d1, d0)>"), _FLAT),
    ),
    Written("iree_gpu.global_subgroup_barrier", ()),
    Written("iree_gpu.subgroup_scan", ("f32",), ("f32", "f32"), (("inclusive", "unit"),), regions=_SUM),
    Written(
        "iree_gpu.subgroup_scan",
        ("f32", "f32"),
        ("f32", "f32"),
        (("cluster_size", "4 : i32"), ("cluster_stride", "2 : i32")),
        regions=_SUM,
    ),
    Written(
        "iree_codegen.inner_tiled",
        ("vector<2x3x4xf16>", "vector<3x5x4xf16>", "vector<2x5x4xf32>"),
        ("vector<2x5x4xf32>",),
        (_MAPS, _LOOPS, _KIND, _THREADS, _SEGMENTS),
    ),
    Written(
        "iree_codegen.inner_tiled",
        ("tensor<2x3x16x16xf16>", "tensor<3x5x16x16xf16>", "tensor<2x5x16x16xf32>"),
        ("tensor<2x5x16x16xf32>",),
        (_MAPS, _LOOPS, _KIND, _TILES, _SEGMENTS),
    ),
    Written(
        "iree_codegen.swizzle_hint",
        ("memref<256xf32>",),
        ("memref<256xf32>",),
        (("swizzle", "#iree_codegen.xor_shuffle<128, 8>"),),
    ),
    Written("iree_codegen.fusion_barrier", ("tensor<4x8xf16>",), ("tensor<4x8xf16>",)),
    Written("iree_codegen.index_hint", ("index",), ("index",), (("hint", "#iree_gpu.lane_constant<16>"),)),
    Written("iree_codegen.load_from_buffer", ("memref<16x32xf16>",), ("tensor<16x32xf16>",)),
    Written("iree_codegen.store_to_buffer", ("tensor<16x32xf16>", "memref<16x32xf16>")),
    Written("iree_vector_ext.to_layout", ("vector<16x16xf32>",), ("vector<16x16xf32>",), (_LAYOUT,)),
    Written("iree_vector_ext.to_simd", ("vector<4x2xf16>",), ("vector<16x8xf16>",)),
    Written("iree_vector_ext.to_simt", ("vector<16x8xf16>",), ("vector<4x2xf16>",)),
    Written(
        "iree_vector_ext.transfer_scatter",
        ("tensor<4096x64xf16>", "vector<4x64xf16>", "index", "index", "vector<4xindex>"),
        ("tensor<4096x64xf16>",),
        (_GATHER[0], ("operandSegmentSizes", "array<i32: 1, 1, 2, 1, 0>")),
    ),
    Written(
        "iree_vector_ext.transfer_gather",
        ("memref<4096x64xf16>", "index", "index", "vector<4xindex>", "f16"),
        ("vector<4x64xf16>",),
        _GATHER,
    ),
)
