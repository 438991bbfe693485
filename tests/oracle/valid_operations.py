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

ARITH = (
    Written("arith.addi", ("vector<4xi32>", "vector<4xi32>",), ("vector<4xi32>",)),
    Written("arith.subi", ("vector<4xi32>", "vector<4xi32>",), ("vector<4xi32>",)),
    Written("arith.muli", ("vector<4xi32>", "vector<4xi32>",), ("vector<4xi32>",)),
    Written("arith.divsi", ("vector<4xi32>", "vector<4xi32>",), ("vector<4xi32>",)),
    Written("arith.divui", ("vector<4xi32>", "vector<4xi32>",), ("vector<4xi32>",)),
    Written("arith.remsi", ("vector<4xi32>", "vector<4xi32>",), ("vector<4xi32>",)),
    Written("arith.remui", ("vector<4xi32>", "vector<4xi32>",), ("vector<4xi32>",)),
    Written("arith.andi", ("vector<4xi32>", "vector<4xi32>",), ("vector<4xi32>",)),
    Written("arith.ori", ("vector<4xi32>", "vector<4xi32>",), ("vector<4xi32>",)),
    Written("arith.xori", ("vector<4xi32>", "vector<4xi32>",), ("vector<4xi32>",)),
    Written("arith.shli", ("vector<4xi32>", "vector<4xi32>",), ("vector<4xi32>",)),
    Written("arith.shrsi", ("vector<4xi32>", "vector<4xi32>",), ("vector<4xi32>",)),
    Written("arith.shrui", ("vector<4xi32>", "vector<4xi32>",), ("vector<4xi32>",)),
    Written("arith.maxsi", ("vector<4xi32>", "vector<4xi32>",), ("vector<4xi32>",)),
    Written("arith.minui", ("vector<4xi32>", "vector<4xi32>",), ("vector<4xi32>",)),
    Written("arith.ceildivsi", ("vector<4xi32>", "vector<4xi32>",), ("vector<4xi32>",)),
    Written("arith.addf", ("vector<4xf32>", "vector<4xf32>",), ("vector<4xf32>",), (("fastmath", "#arith.fastmath<none>"),)),
    Written("arith.mulf", ("vector<4xf32>", "vector<4xf32>",), ("vector<4xf32>",), (("fastmath", "#arith.fastmath<none>"),)),
    Written("arith.divf", ("vector<4xf32>", "vector<4xf32>",), ("vector<4xf32>",), (("fastmath", "#arith.fastmath<none>"),)),
    Written("arith.maximumf", ("vector<4xf32>", "vector<4xf32>",), ("vector<4xf32>",), (("fastmath", "#arith.fastmath<none>"),)),
    Written("arith.minnumf", ("vector<4xf32>", "vector<4xf32>",), ("vector<4xf32>",), (("fastmath", "#arith.fastmath<none>"),)),
    Written("arith.negf", ("f32",), ("f32",), (("fastmath", "#arith.fastmath<none>"),)),
    Written("arith.extf", ("vector<4xf16>",), ("vector<4xf32>",)),
    Written("arith.truncf", ("vector<4xf32>",), ("vector<4xf16>",)),
    Written("arith.extsi", ("vector<4xi8>",), ("vector<4xi32>",)),
    Written("arith.extui", ("vector<4xi8>",), ("vector<4xi32>",)),
    Written("arith.trunci", ("vector<4xi32>",), ("vector<4xi8>",)),
    Written("arith.sitofp", ("vector<4xi32>",), ("vector<4xf32>",)),
    Written("arith.fptosi", ("vector<4xf32>",), ("vector<4xi32>",)),
    Written("arith.bitcast", ("vector<4xi32>",), ("vector<4xf32>",)),
    Written("arith.index_cast", ("vector<4xi32>",), ("vector<4xindex>",)),
    Written("arith.index_castui", ("vector<4xindex>",), ("vector<4xi64>",)),
    Written("arith.cmpi", ("i32", "i32",), ("i1",), (("predicate", "2 : i64"),)),
    Written("arith.cmpf", ("vector<4xf32>", "vector<4xf32>",), ("vector<4xi1>",), (("predicate", "2 : i64"), ("fastmath", "#arith.fastmath<none>"),)),
    Written("arith.select", ("i1", "f32", "f32",), ("f32",)),
    Written("arith.select", ("vector<4xi1>", "vector<4xf32>", "vector<4xf32>",), ("vector<4xf32>",)),
    Written("arith.constant", (), ("f32",), (("value", "1.0 : f32"),)),
    Written("arith.constant", (), ("vector<4xf32>",), (("value", "dense<1.0> : vector<4xf32>"),)),
    Written("arith.constant", (), ("index",), (("value", "1 : index"),)),
    Written("math.exp", ("vector<4xf32>",), ("vector<4xf32>",), (("fastmath", "#arith.fastmath<none>"),)),
    Written("math.sqrt", ("vector<4xf32>",), ("vector<4xf32>",), (("fastmath", "#arith.fastmath<none>"),)),
    Written("math.rsqrt", ("vector<4xf32>",), ("vector<4xf32>",), (("fastmath", "#arith.fastmath<none>"),)),
    Written("math.tanh", ("vector<4xf32>",), ("vector<4xf32>",), (("fastmath", "#arith.fastmath<none>"),)),
    Written("math.absf", ("vector<4xf32>",), ("vector<4xf32>",), (("fastmath", "#arith.fastmath<none>"),)),
    Written("math.fma", ("f32", "f32", "f32",), ("f32",), (("fastmath", "#arith.fastmath<none>"),)),
)  # fmt: skip

VECTOR = (
    Written("vector.broadcast", ("vector<16xf32>",), ("vector<8x16xf32>",)),
    Written("vector.broadcast", ("f32",), ("vector<8x16xf32>",)),
    Written("vector.broadcast", ("vector<8x1xf32>",), ("vector<8x16xf32>",)),
    Written("vector.shape_cast", ("vector<8x16xf32>",), ("vector<128xf32>",)),
    Written("vector.shape_cast", ("vector<8x1xf32>",), ("vector<8xf32>",)),
    Written("vector.transpose", ("vector<8x16xf32>",), ("vector<16x8xf32>",), (("permutation", "array<i64: 1, 0>"),)),
    Written("vector.extract", ("vector<8x16xf32>",), ("vector<16xf32>",), (("static_position", "array<i64: 3>"),)),
    Written("vector.extract", ("vector<8x16xf32>",), ("f32",), (("static_position", "array<i64: 3, 4>"),)),
    Written("vector.insert", ("vector<16xf32>", "vector<8x16xf32>",), ("vector<8x16xf32>",), (("static_position", "array<i64: 3>"),)),
    Written("vector.insert", ("f32", "vector<8x16xf32>",), ("vector<8x16xf32>",), (("static_position", "array<i64: 3, 4>"),)),
    Written("vector.multi_reduction", ("vector<8x16xf32>", "vector<8xf32>",), ("vector<8xf32>",), (("kind", "#vector.kind<add>"), ("reduction_dims", "array<i64: 1>"),)),
    Written("vector.multi_reduction", ("vector<8x16xf32>", "f32",), ("f32",), (("kind", "#vector.kind<maximumf>"), ("reduction_dims", "array<i64: 0, 1>"),)),
    Written("vector.reduction", ("vector<16xf32>",), ("f32",), (("kind", "#vector.kind<add>"),)),
    Written("vector.bitcast", ("vector<8x16xf16>",), ("vector<8x8xi32>",)),
    Written("vector.from_elements", ("f32", "f32", "f32", "f32",), ("vector<4xf32>",)),
    Written("vector.from_elements", ("f32", "f32", "f32", "f32",), ("vector<2x2xf32>",)),
    Written("vector.to_elements", ("vector<2xf32>",), ("f32", "f32",)),
    Written("vector.step", (), ("vector<16xindex>",)),
    Written("vector.extract_strided_slice", ("vector<8x16xf32>",), ("vector<4x16xf32>",), (("offsets", "[4]"), ("sizes", "[4]"), ("strides", "[1]"),), (22, 23)),
    Written("vector.insert_strided_slice", ("vector<4x16xf32>", "vector<8x16xf32>",), ("vector<8x16xf32>",), (("offsets", "[4, 0]"), ("strides", "[1, 1]"),), (22, 23)),
    Written("vector.constant_mask", (), ("vector<8x16xi1>",), (("mask_dim_sizes", "array<i64: 4, 8>"),)),
    Written("vector.create_mask", ("index", "index",), ("vector<8x16xi1>",)),
    Written("vector.interleave", ("vector<8xf32>", "vector<8xf32>",), ("vector<16xf32>",)),
    Written("vector.deinterleave", ("vector<16xf32>",), ("vector<8xf32>", "vector<8xf32>",)),
    Written("vector.fma", ("vector<8xf32>", "vector<8xf32>", "vector<8xf32>",), ("vector<8xf32>",)),
    Written("vector.load", ("memref<8x16xf32>", "index", "index",), ("vector<4xf32>",)),
    Written("vector.store", ("vector<4xf32>", "memref<8x16xf32>", "index", "index",), ()),
)  # fmt: skip

MEMREF = (
    Written("memref.load", ("memref<8x16xf32>", "index", "index",), ("f32",)),
    Written("memref.store", ("f32", "memref<8x16xf32>", "index", "index",), ()),
    Written("memref.alloc", (), ("memref<8x16xf32>",), (("operandSegmentSizes", "array<i32: 0, 0>"),)),
    Written("memref.alloc", ("index",), ("memref<?x16xf32>",), (("operandSegmentSizes", "array<i32: 1, 0>"),)),
    Written("memref.alloca", (), ("memref<8x16xf32, 3>",), (("operandSegmentSizes", "array<i32: 0, 0>"),)),
    Written("memref.dealloc", ("memref<8xf32>",), ()),
    Written("memref.dim", ("memref<?x16xf32>", "index",), ("index",)),
    Written("memref.view", ("memref<2048xi8>", "index",), ("memref<16x32xf32>",)),
    Written("memref.cast", ("memref<8x16xf32>",), ("memref<?x16xf32>",)),
    Written("memref.memory_space_cast", ("memref<8xf32>",), ("memref<8xf32, 3>",)),
    Written("memref.extract_aligned_pointer_as_index", ("memref<8xf32>",), ("index",)),
    Written("memref.reinterpret_cast", ("memref<128xf32>",), ("memref<8x16xf32>",), (("operandSegmentSizes", "array<i32: 1, 0, 0, 0>"), ("static_offsets", "array<i64: 0>"), ("static_sizes", "array<i64: 8, 16>"), ("static_strides", "array<i64: 16, 1>"),)),
    Written("memref.subview", ("memref<64x64xf32>",), ("memref<8x16xf32, strided<[64, 1], offset: 520>>",), (("operandSegmentSizes", "array<i32: 1, 0, 0, 0>"), ("static_offsets", "array<i64: 8, 8>"), ("static_sizes", "array<i64: 8, 16>"), ("static_strides", "array<i64: 1, 1>"),)),
)  # fmt: skip

CONTROL = (
    Written("gpu.block_id", (), ("index",), (("dimension", "#gpu<dim x>"),), (22, 23)),
    Written("gpu.thread_id", (), ("index",), (("dimension", "#gpu<dim x>"),), (22, 23)),
    Written("gpu.block_dim", (), ("index",), (("dimension", "#gpu<dim x>"),), (22, 23)),
    Written("gpu.grid_dim", (), ("index",), (("dimension", "#gpu<dim x>"),), (22, 23)),
    Written("gpu.global_id", (), ("index",), (("dimension", "#gpu<dim x>"),), (22, 23)),
    Written("gpu.lane_id", (), ("index",)),
    Written("gpu.subgroup_id", (), ("index",)),
    Written("gpu.num_subgroups", (), ("index",)),
    Written("gpu.subgroup_size", (), ("index",)),
    Written("gpu.barrier", (), ()),
    Written("gpu.shuffle", ("f32", "i32", "i32",), ("f32", "i1",), (("mode", "#gpu<shuffle_mode xor>"),), (22, 23)),
    Written("gpu.subgroup_reduce", ("f32",), ("f32",), (("op", "#gpu<all_reduce_op add>"),), (22, 23)),
    Written("scf.for", ("index", "index", "index", "f32",), ("f32",), (), (22, 23, 24), ' ({^bb0(%i: index, %x: f32): "scf.yield"(%x) : (f32) -> ()})'),
    Written("scf.for", ("i32", "i32", "i32",), (), (), (22, 23, 24), ' ({^bb0(%i: i32): "scf.yield"() : () -> ()})'),
    Written("scf.if", ("i1",), ("f32",), (), (22, 23, 24), ' ({%z = "arith.constant"() <{value = 1.0 : f32}> : () -> f32 "scf.yield"(%z) : (f32) -> ()}, {%z = "arith.constant"() <{value = 1.0 : f32}> : () -> f32 "scf.yield"(%z) : (f32) -> ()})'),
    Written("scf.while", ("f32",), ("f32",), (), (22, 23, 24), ' ({^bb0(%x: f32): %c = "arith.constant"() <{value = true}> : () -> i1 "scf.condition"(%c, %x) : (i1, f32) -> ()}, {^bb0(%x: f32): "scf.yield"(%x) : (f32) -> ()})'),
)  # fmt: skip


def _amx(dialect: str, versions: tuple[int, ...]) -> tuple[Written, ...]:
    def tile(text: str) -> str:
        return f"!{dialect}.tile<{text}>"

    real, whole, bf16, i8 = tile("16x16xf32"), tile("16x16xi32"), tile("16x32xbf16"), tile("16x64xi8")
    load = (("operandSegmentSizes", "array<i32: 1, 2, 0>"),)
    store = (("operandSegmentSizes", "array<i32: 1, 2, 1, 0>"),)
    index = ("index", "index")
    return (
        Written(f"{dialect}.tile_zero", (), (real,), (), versions),
        Written(f"{dialect}.tile_zero", (), (i8,), (), versions),
        Written(f"{dialect}.tile_load", ("memref<64x64xf32>", *index), (real,), load, versions),
        Written(f"{dialect}.tile_load", ("memref<64x64xbf16>", *index), (bf16,), load, versions),
        Written(f"{dialect}.tile_store", ("memref<64x64xi32>", *index, whole), (), store, versions),
        Written(f"{dialect}.tile_mulf", (bf16, bf16, real), (real,), (), versions),
        Written(
            f"{dialect}.tile_mulf",
            (tile("8x16xf16"), tile("8x32xf16"), tile("8x16xf32")),
            (tile("8x16xf32"),),
            (),
            versions,
        ),
        Written(f"{dialect}.tile_muli", (i8, i8, whole), (whole,), (), versions),
        Written(f"{dialect}.tile_muli", (tile("16x32xi8"), tile("8x64xi8"), whole), (whole,), (), versions),
    )


AMX = (*_amx("amx", (22,)), *_amx("x86.amx", (23, 24)))

_HALF = (("src_etype", "#xevm<src_etype src_etype = f16>"), ("dst_etype", "#xevm<dst_etype dst_etype = bf8>"))
_FOURTH = (_HALF[0], ("dst_etype", "#xevm<dst_etype dst_etype = e2m1>"))
_MX = (
    ("shape", "#xevm.mma_shape<m = 8, n = 16, k = 32>"),
    ("types", "#xevm.mma_types<d = f32, a = bf8, b = bf8, c = f32>"),
)
_TILES = ("vector<8xi16>", "vector<8xi32>", "vector<2xi8>", "vector<2xi8>")
XEVM = (
    Written("xevm.truncf", ("vector<16xf16>",), ("vector<16xi8>",), _HALF, (23, 24)),
    Written("xevm.truncf", ("vector<16xbf16>",), ("vector<8xi8>",), _FOURTH, (23, 24)),
    Written("xevm.truncf", ("f16",), ("i8",), _HALF, (23, 24)),
    Written("xevm.mma_mx", (*_TILES, "vector<8xf32>"), ("vector<8xf32>",), _MX, (23, 24)),
    Written("xevm.mma_mx", _TILES, ("vector<8xf32>",), _MX, (23, 24)),
)
"""Small floats and products with scales."""
