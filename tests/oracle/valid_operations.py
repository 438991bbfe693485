# ruff: noqa: E501
"""Operations that compilers accept, a few for each operation of each dialect: what `mutations` starts from."""

from __future__ import annotations

from tests.oracle.mutations import LAYOUTS, Written

_T = "!xegpu.tensor_desc<8x16xf16>"
_B = "!xegpu.tensor_desc<16x16xf16>"
_ONE = "!xegpu.tensor_desc<32xf32>"
_S = "!xegpu.tensor_desc<16xf16, #xegpu.scatter_tdesc_attr<>>"
_C = "!xegpu.tensor_desc<16x8xf16, #xegpu.scatter_tdesc_attr<chunk_size = 8 : i64>>"
_L = f"!xegpu.tensor_desc<8x16xf16, {LAYOUTS[0]}>"
_M = "!xegpu.mem_desc<16x32xf16>"
_K = "!xegpu.mem_desc<32x32xf16, #xegpu.mem_layout<block = [16, 16]>>"
_AT = (("const_offsets", "array<i64: 0, 16>"),)
_AT_0 = (("const_offsets", "array<i64: 0>"),)
_READ = ("l1_hint", "#xegpu.cache_hint<cached>")
_WRITE = ("l2_hint", "#xegpu.cache_hint<write_back>")
_SIZES = (("shape", "[64, 64]"), ("strides", "[64, 1]"))

XEGPU = (
    Written("xegpu.create_nd_tdesc", ("memref<64x64xf16>",), (_T,)),
    Written("xegpu.create_nd_tdesc", ("memref<64x64xf16>",), (_T,), (("offsets", "[0, 0]"),), (22,)),
    Written("xegpu.create_nd_tdesc", ("i64",), (_T,), _SIZES),
    Written("xegpu.create_nd_tdesc", ("ui64",), (_L,), _SIZES),
    Written("xegpu.create_nd_tdesc", ("i64",), (_T,), (("offsets", "[0, 0]"), *_SIZES), (22,)),
    Written("xegpu.create_nd_tdesc", ("memref<64x64xf16>",), (_T,), _SIZES, (22, 23)),
    Written("xegpu.create_nd_tdesc", ("memref<1024xf32, 3>",), ("!xegpu.tensor_desc<32xf32, #xegpu.block_tdesc_attr<memory_space = slm>>",)),
    Written("xegpu.load_nd", (_T,), ("vector<8x16xf16>",), _AT),
    Written("xegpu.load_nd", (_T,), ("vector<8xf16>",), (*_AT, _READ)),
    Written("xegpu.load_nd", (_B,), ("vector<8x16x2xf16>",), (*_AT, ("packed", "unit"))),
    Written("xegpu.load_nd", (_T,), ("vector<16x8xf16>",), (*_AT, ("transpose", "array<i64: 1, 0>"))),
    Written("xegpu.load_nd", (_ONE,), ("vector<32xf32>",), _AT_0),
    Written("xegpu.load_nd", (_ONE,), ("vector<2xf32>",), _AT_0),
    Written("xegpu.load_nd", ("!xegpu.tensor_desc<16x16xf16, #xegpu.block_tdesc_attr<array_length = 2 : i64>>",), ("vector<2x16x16xf16>",), _AT),
    Written("xegpu.load_nd", (_L,), ("vector<8x16xf16>",), (*_AT, ("layout", LAYOUTS[0]))),
    Written("xegpu.load_nd", (_T, "index", "index"), ("vector<8x16xf16>",), (("const_offsets", "array<i64: -9223372036854775808, -9223372036854775808>"),)),
    Written("xegpu.store_nd", ("vector<8x16xf16>", _T), (), (*_AT, _WRITE)),
    Written("xegpu.store_nd", ("vector<8xf16>", _T), (), _AT),
    Written("xegpu.store_nd", ("vector<32xf32>", _ONE), (), _AT_0),
    Written("xegpu.prefetch_nd", (_T,), (), (*_AT, _READ)),
    Written("xegpu.prefetch_nd", (_L,), (), (*_AT, ("layout", LAYOUTS[0]))),
    Written("xegpu.update_nd_offset", (_T,), (_T,), _AT, (22,)),
    Written("xegpu.create_tdesc", ("i64", "vector<16xindex>"), (_S,), (), (22,)),
    Written("xegpu.create_tdesc", ("memref<512xf16>", "vector<16xindex>"), (_C,), (), (22,)),
    Written("xegpu.update_offset", (_S, "vector<16xindex>"), (_S,), (), (22,)),
    Written("xegpu.load", (_S, "vector<16xi1>"), ("vector<16xf16>",), (("operandSegmentSizes", "array<i32: 1, 0, 1>"),), (22,)),
    Written("xegpu.load", (_C, "vector<16xi1>"), ("vector<16x8xf16>",), (), (22,)),
    Written("xegpu.load", ("i64", "vector<16xindex>", "vector<16xi1>"), ("vector<16xf16>",), (_READ,)),
    Written("xegpu.load", ("memref<512xf16>", "vector<16xindex>", "vector<16xi1>"), ("vector<16xf16>",), ()),
    Written("xegpu.load", ("i64", "vector<16xindex>", "vector<16xi1>"), ("vector<16x8xf16>",), (("chunk_size", "8 : i64"),), (22, 23)),
    Written("xegpu.load", ("i64", "vector<1xindex>", "vector<1xi1>"), ("vector<8xf16>",), (("chunk_size", "8 : i64"),), (22, 23)),
    Written("xegpu.load", ("i64", "index", "i1"), ("f16",), ()),
    Written("xegpu.load", ("i64", "index", "i1"), ("vector<8xf16>",), (("chunk_size", "8 : i64"),), (22, 23)),
    Written("xegpu.load", ("i64", "vector<4x16xindex>", "vector<4x16xi1>"), ("vector<4x16xf16>",), ()),
    Written("xegpu.store", ("vector<16xf16>", "i64", "vector<16xindex>", "vector<16xi1>"), (), (_WRITE,)),
    Written("xegpu.store", ("vector<16xf16>", _S, "vector<16xi1>"), (), (), (22,)),
    Written("xegpu.store", ("vector<8xf16>", "memref<512xf16>", "vector<1xindex>", "vector<1xi1>"), (), (("chunk_size", "8 : i64"),), (22, 23)),
    Written("xegpu.store", ("f16", "i64", "index", "i1"), (), ()),
    Written("xegpu.prefetch", (_S,), (), (), (22,)),
    Written("xegpu.prefetch", ("i64", "vector<16xindex>"), (), (("offset_align_byte", "4 : i64"), _READ)),
    Written("xegpu.prefetch", ("memref<512xf16>", "vector<16xindex>"), (), (_READ,)),
    Written("xegpu.atomic_rmw", (_S, "vector<16xi1>", "vector<16xf16>"), ("vector<16xf16>",), (("kind", "0 : i64"),), (22,)),
    Written("xegpu.dpas", ("vector<8x16xf16>", "vector<16x16xf16>"), ("vector<8x16xf32>",)),
    Written("xegpu.dpas", ("vector<8x16xf16>", "vector<8x16x2xf16>", "vector<8x16xf32>"), ("vector<8x16xf32>",)),
    Written("xegpu.dpas", ("vector<8xf16>", "vector<16xf16>", "vector<8xf32>"), ("vector<8xf32>",)),
    Written("xegpu.dpas", ("vector<8x32xi8>", "vector<32x16xi8>", "vector<8x16xi32>"), ("vector<8x16xi32>",), (("layout_a", LAYOUTS[0]),)),
    Written("xegpu.dpas_mx", ("vector<8x64xf8E5M2>", "vector<64x16xf8E5M2>", "vector<8x16xf32>", "vector<8x2xf8E8M0FNU>", "vector<2x16xf8E8M0FNU>"), ("vector<8x16xf32>",), (("operandSegmentSizes", "array<i32: 1, 1, 1, 1, 1>"),), (23, 24)),
    Written("xegpu.dpas_mx", ("vector<8x64xf8E5M2>", "vector<64x16xf8E5M2>"), ("vector<8x16xf32>",), (("operandSegmentSizes", "array<i32: 1, 1, 0, 0, 0>"),), (23, 24)),
    Written("xegpu.convert_layout", ("vector<8x16xf16>",), ("vector<8x16xf16>",), (("input_layout", LAYOUTS[0]), ("target_layout", LAYOUTS[0]))),
    Written("xegpu.convert_layout", ("vector<16x16xf16>",), ("vector<16x16xf16>",), (("input_layout", LAYOUTS[0]), ("target_layout", LAYOUTS[1]))),
    Written("xegpu.truncf", ("vector<16xf16>",), ("vector<16xf8E5M2>",), (), (23, 24)),
    Written("xegpu.lane_shuffle", ("vector<16xf16>",), ("vector<16xf16>",), (("mode", "#xegpu.lane_shuffle_mode<pack>"),), (24,)),
    Written("xegpu.create_mem_desc", ("memref<1024xi8, 3>",), (_M,)),
    Written("xegpu.create_mem_desc", ("memref<16x32xf16, 3>",), (_M,)),
    Written("xegpu.load_matrix", (_M,), ("vector<8x16xf16>",), _AT),
    Written("xegpu.load_matrix", (_M,), ("vector<8x16xf16>",), (*_AT, ("layout", LAYOUTS[0]))),
    Written("xegpu.load_matrix", (_M,), ("vector<8xf16>",), _AT),
    Written("xegpu.load_matrix", (_M,), ("f16",), _AT),
    Written("xegpu.load_matrix", (_K,), ("vector<8xf16>",), (*_AT, ("subgroup_block_io", "unit"))),
    Written("xegpu.store_matrix", ("vector<8x16xf16>", _M), (), _AT),
    Written("xegpu.store_matrix", ("f16", _M), (), _AT),
    Written("xegpu.alloc_nbarrier", (), (), (("nbarrier_num", "2 : i64"),)),
    Written("xegpu.init_nbarrier", ("i8", "i8"), ("!xegpu.nbarrier",)),
    Written("xegpu.nbarrier_arrive", ("!xegpu.nbarrier",)),
    Written("xegpu.nbarrier_wait", ("!xegpu.nbarrier",)),
)  # fmt: skip
