"""The examples of the dialects' pages that are whole operations are read, older and looser ones with a note of today's form.

What an example leaves open (the values that it uses) is defined before it by `test.op`. Where an example contradicts itself,
the text here says what was mended.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from xdsl.ir import Operation

from layoutalg.ir import read_module, write_module
from layoutalg.ir.operations.old_spellings import old_spellings

XEGPU = {
    "create_nd_tdesc 1": """
        %0 = memref.alloc() : memref<1024x1024xf32>
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %1 = xegpu.create_nd_tdesc %0[%c0, %c0]: memref<1024x1024xf32> -> TensorDesc<8x16xf32>""",
    "create_nd_tdesc 2": """
        %h, %w = "test.op"() : () -> (index, index)
        %0 = memref.alloc(%h, %w) : memref<?x?xf32>
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %1 = xegpu.create_nd_tdesc %0[%c0, %c0], [%h, %w], [%w, %c1]: memref<?x?xf32> -> TensorDesc<8x16xf32>""",
    "create_nd_tdesc 3": """
        %h, %w = "test.op"() : () -> (index, index)
        %0 = "test.op"() : () -> ui64
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %1 = xegpu.create_nd_tdesc %0[%c0, %c0], [%h, %w], [%w, %c1]: ui64 -> TensorDesc<8x16xf32>""",
    "create_tdesc 1": """
        %a = memref.alloc() : memref<1024xf32>
        %0 = arith.constant dense<[0, 16, 32, 64]> : vector<4xindex>
        %1 = xegpu.create_tdesc %a, %0: memref<1024xf32>, vector<4xindex> -> TensorDesc<4xf32>""",
    "create_tdesc 2": """
        %0 = memref.alloc() : memref<1024xf32>
        %off = arith.constant dense<[0, 16, 32, 64]> : vector<4xindex>
        %1 = xegpu.create_tdesc %0, %off : memref<1024xf32>, vector<4xindex>
              -> TensorDesc<4x8xf32, #xegpu.scattered_tdesc_attr<chunk_size = 8>>""",
    "create_tdesc 3": """
        %0 = memref.alloc() : memref<1024xf32>
        %off = arith.constant dense<[0, 4, 8, 12]> : vector<4xindex>
        %1 = xegpu.create_tdesc %0, %off : memref<1024xf32>, vector<4xindex>
              -> TensorDesc<4x8xf32, #xegpu.scattered_tdesc_attr<chunk_size = 8>>""",
    "load 1": """
        %0, %1 = "test.op"() : () -> (vector<16xi1>,
          !xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<memory_space=global>>)
        %2 = xegpu.load %1, %0 <{l1_hint = #xegpu.cache_hint<cached>,
                                 l2_hint = #xegpu.cache_hint<uncached>,
                                 l3_hint = #xegpu.cache_hint<uncached>}>
              : !xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<memory_space=global>>,
                vector<16xi1> -> vector<16xf32>""",
    "load 2": """
        %0, %1 = "test.op"() : () -> (vector<16xi1>,
          !xegpu.tensor_desc<16x8xf32, #xegpu.scatter_tdesc_attr<memory_space=global, chunk_size=8>>)
        %2 = xegpu.load %1, %0 <{l1_hint = #xegpu.cache_hint<cached>,
                                 l2_hint = #xegpu.cache_hint<uncached>,
                                 l3_hint = #xegpu.cache_hint<uncached>}>
              : !xegpu.tensor_desc<16x8xf32, #xegpu.scatter_tdesc_attr<memory_space=global, chunk_size=8>>,
                vector<16xi1> -> vector<16x8xf32>""",
    # The page gives the types of mask and offsets in the wrong order; LLVM refuses it.
    "load 3": """
        %a = memref.alloc() : memref<1024xf32>
        %offsets = vector.step : vector<16xindex>
        %mask = vector.constant_mask [16]: vector<16xi1>
        %val = xegpu.load %a[%offsets], %mask {l1_hint = #xegpu.cache_hint<cached>,
                               l2_hint = #xegpu.cache_hint<cached>,
                               l3_hint = #xegpu.cache_hint<cached>}
          : memref<1024xf32>, vector<16xindex>, vector<16xi1> -> vector<16xf32>""",
    # The page's result is its own operand, %2.
    "load 4": """
        %0, %1, %3 = "test.op"() : () -> (vector<1xi1>, memref<128xf32>, vector<1xindex>)
        %2 = xegpu.load %1[%3], %0 <{l1_hint = #xegpu.cache_hint<cached>,
                                 l2_hint = #xegpu.cache_hint<uncached>,
                                 l3_hint = #xegpu.cache_hint<uncached>}>
              : memref<128xf32>, vector<1xindex>, vector<1xi1> -> vector<8xf32>""",
    # The page has no result before `xegpu.load_nd`, as MLIR allows.
    "load_nd 1": """
        %1 = "test.op"() : () -> !xegpu.tensor_desc<8x16xf32>
        xegpu.load_nd %1 {transpose = [1, 0],
                          l1_hint = #xegpu.cache_hint<cached>,
                          l2_hint = #xegpu.cache_hint<uncached>,
                          l3_hint = #xegpu.cache_hint<streaming>}
                : !xegpu.tensor_desc<8x16xf32> -> vector<16x8xf32>""",
    # The page closes `{` with `}>`.
    "load_nd 2": """
        %1 = "test.op"() : () -> !xegpu.tensor_desc<8x16xf32>
        xegpu.load_nd %1 {l1_hint = #xegpu.cache_hint<cached>,
                          l2_hint = #xegpu.cache_hint<uncached>}
          : !xegpu.tensor_desc<8x16xf32> -> vector<8xf32>""",
    "prefetch 1": """
        %tdesc = "test.op"() : () -> !xegpu.tensor_desc<16xf16>
        xegpu.prefetch %tdesc {l1_hint = #xegpu.cache_hint<cached>,
                               l2_hint = #xegpu.cache_hint<cached>,
                               l3_hint = #xegpu.cache_hint<cached>}
          : !xegpu.tensor_desc<16xf16>""",
    "prefetch 2": """
        %a = memref.alloc() : memref<1024xf32>
        %0 = arith.constant dense<[0, 16, 32, 64]> : vector<4xindex>
        xegpu.prefetch %a[%0] {l1_hint = #xegpu.cache_hint<cached>,
                               l2_hint = #xegpu.cache_hint<cached>,
                               l3_hint = #xegpu.cache_hint<cached>}
          : memref<1024xf32>, vector<4xindex>""",
    "prefetch 3": """
        %0, %1 = "test.op"() : () -> (memref<256xf32>, vector<1xindex>)
        xegpu.prefetch %0[%1] {l1_hint = #xegpu.cache_hint<cached>,
                               l2_hint = #xegpu.cache_hint<cached>,
                               l3_hint = #xegpu.cache_hint<cached>}
          : memref<256xf32>, vector<1xindex>""",
    "prefetch 4": """
        %0, %1 = "test.op"() : () -> (i64, vector<1xindex>)
        xegpu.prefetch %0[%1] {l1_hint = #xegpu.cache_hint<cached>,
                               l2_hint = #xegpu.cache_hint<cached>,
                               l3_hint = #xegpu.cache_hint<cached>,
                               offset_align_byte = 2}
          : i64, vector<1xindex>""",
    "prefetch_nd": """
        %tdesc = "test.op"() : () -> !xegpu.tensor_desc<8x16xf16>
        xegpu.prefetch_nd %tdesc {l1_hint = #xegpu.cache_hint<cached>,
                                  l2_hint = #xegpu.cache_hint<cached>,
                                  l3_hint = #xegpu.cache_hint<cached>}
          : !xegpu.tensor_desc<8x16xf16>""",
    "store 1": """
        %0, %1, %2 = "test.op"() : () -> (vector<16xf32>,
          !xegpu.tensor_desc<16xf32, #xegpu.scattered_tdesc_attr<>>, vector<16xi1>)
        xegpu.store %0, %1, %2 <{l1_hint = #xegpu.cache_hint<uncached>,
                                 l2_hint = #xegpu.cache_hint<write_back>,
                                 l3_hint = #xegpu.cache_hint<write_through>}>
              : vector<16xf32>, !xegpu.tensor_desc<16xf32, #xegpu.scattered_tdesc_attr<>>, vector<16xi1>""",
    "store 2": """
        %0, %1, %2 = "test.op"() : () -> (vector<16x8xf32>,
          !xegpu.tensor_desc<16x8xf32, #xegpu.scattered_tdesc_attr<chunk_size=8>>, vector<16xi1>)
        xegpu.store %0, %1, %2 <{l1_hint = #xegpu.cache_hint<uncached>,
                                 l2_hint = #xegpu.cache_hint<write_back>,
                                 l3_hint = #xegpu.cache_hint<write_through>}>
          : vector<16x8xf32>, !xegpu.tensor_desc<16x8xf32, #xegpu.scattered_tdesc_attr<chunk_size=8>>, vector<16xi1>""",
    # The page gives the types of a load: three, and a result. LLVM refuses it.
    "store 3": """
        %a = memref.alloc() : memref<1024xf32>
        %val = arith.constant dense<0.0> : vector<16xf32>
        %offsets = vector.step : vector<16xindex>
        %mask = vector.constant_mask [16]: vector<16xi1>
        xegpu.store %val, %a[%offsets], %mask {l1_hint = #xegpu.cache_hint<cached>,
                               l2_hint = #xegpu.cache_hint<cached>,
                               l3_hint = #xegpu.cache_hint<cached>}
          : vector<16xf32>, memref<1024xf32>, vector<16xindex>, vector<16xi1>""",
    "store 4": """
        %0, %1, %2, %3 = "test.op"() : () -> (vector<8xf32>, memref<256xf32>, vector<1xindex>, vector<1xi1>)
        xegpu.store %0, %1[%2], %3 <{l1_hint = #xegpu.cache_hint<uncached>,
                                 l2_hint = #xegpu.cache_hint<write_back>,
                                 l3_hint = #xegpu.cache_hint<write_through>}>
              : vector<8xf32>, memref<256xf32>, vector<1xindex>, vector<1xi1>""",
    "store_nd 1": """
        %2, %3 = "test.op"() : () -> (!xegpu.tensor_desc<8x16xf16>, vector<8x16xf16>)
        xegpu.store_nd %3, %2 {l1_hint = #xegpu.cache_hint<uncached>,
                               l2_hint = #xegpu.cache_hint<write_back>,
                               l3_hint = #xegpu.cache_hint<write_through>}
                               : vector<8x16xf16>, !xegpu.tensor_desc<8x16xf16>""",
    "store_nd 2": """
        %2, %3 = "test.op"() : () -> (!xegpu.tensor_desc<8x16xf16>, vector<8xf16>)
        xegpu.store_nd %3, %2 {l1_hint = #xegpu.cache_hint<uncached>,
                               l2_hint = #xegpu.cache_hint<write_back>,
                               l3_hint = #xegpu.cache_hint<write_through>}
                               : vector<8xf16>, !xegpu.tensor_desc<8x16xf16>""",
    "update_nd_offset": """
        %1 = "test.op"() : () -> !xegpu.tensor_desc<8x16xf32>
        %2 = xegpu.update_nd_offset %1, [0, 16]: !xegpu.tensor_desc<8x16xf32>""",
    "update_offset": """
        %1 = "test.op"() : () -> !xegpu.tensor_desc<4x2xf32, #xegpu.scattered_tdesc_attr<chunk_size=2>>
        %off = arith.constant dense<[32, 32, 32, 32]> : vector<4xindex>
        %2 = xegpu.update_offset %1, %off :
            !xegpu.tensor_desc<4x2xf32, #xegpu.scattered_tdesc_attr<chunk_size=2>>, vector<4xindex>""",
    "range": """
        %cond = "test.op"() : () -> i1
        scf.if %cond {
          // some operations
        } {sg_id_range = #xegpu.range<[2, 4]>}""",
    # The page has the dictionary of the reduction behind `[0]`, where no LLVM reads it.
    "slice": """
        #l = #xegpu.layout<sg_layout = [8, 4], sg_data = [32, 32]>
        #r = #xegpu.slice<#l, dim = [0]>
        %input, %acc = "test.op"() : () -> (vector<256x128xf32>, vector<128xf32>)
        %exp = math.exp %input {layout_result_0 = #l}: vector<256x128xf32>
        %red = vector.multi_reduction <add>, %exp, %acc {layout_result_0 = #r} [0] : vector<256x128xf32> to vector<128xf32>
        %bcast = vector.broadcast %red {layout_result_0 = #l} : vector<128xf32> to vector<256x128xf32>""",
}

AMX = {
    "tile_load 1": """
        %arg0, %c0 = "test.op"() : () -> (memref<?x?xi8>, index)
        %0 = amx.tile_load %arg0[%c0, %c0] : memref<?x?xi8> into !amx.tile<16x64xi8>""",
    "tile_load 2": """
        %arg0, %c0, %stride = "test.op"() : () -> (memref<?xi8>, index, index)
        %0 = amx.tile_load %arg0[%c0], %stride : memref<?xi8> into !amx.tile<16x64xi8>""",
    "tile_mulf": """
        %a, %b, %c = "test.op"() : () -> (!amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>)
        %0 = amx.tile_mulf %a, %b, %c
          : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>""",
    "tile_muli": """
        %a, %b, %c = "test.op"() : () -> (!amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>)
        %0 = amx.tile_muli %a zext, %b zext, %c
          : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>""",
    "tile_store 1": """
        %arg1, %c0, %0 = "test.op"() : () -> (memref<?x?xi8>, index, !amx.tile<16x64xi8>)
        amx.tile_store %arg1[%c0, %c0], %0 : memref<?x?xi8>, !amx.tile<16x64xi8>""",
    "tile_store 2": """
        %arg1, %c0, %0, %stride = "test.op"() : () -> (memref<?xi8>, index, !amx.tile<16x64xi8>, index)
        amx.tile_store %arg1[%c0], %0, %stride : memref<?xi8>, !amx.tile<16x64xi8>""",
    "tile_zero": """
        %0 = amx.tile_zero : !amx.tile<16x16xbf16>""",
}

_TRAIT = """
        #contraction_accesses = [
         affine_map<(i, j, k) -> (i, k)>,
         affine_map<(i, j, k) -> (k, j)>,
         affine_map<(i, j, k) -> (i, j)>
        ]
        #contraction_trait = {
          indexing_maps = #contraction_accesses,
          iterator_types = ["parallel", "parallel", "reduction"],
          kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>
        }"""

IREE = {
    "multi_mma of vectors": f"""{_TRAIT}
        %0, %1, %2 = "test.op"() : () -> (vector<2x3x4xf16>, vector<3x5x4xf16>, vector<2x5x4xf32>)
        %3 = iree_gpu.multi_mma %0, %1, %2 #contraction_trait
          : vector<2x3x4xf16>, vector<3x5x4xf16> into vector<2x5x4xf32>""",
    "multi_mma of tensors": f"""{_TRAIT}
        %4, %5, %6 = "test.op"() : () -> (tensor<?x?x4xf16>, tensor<?x?x4xf16>, tensor<?x?x4xf32>)
        %7 = iree_gpu.multi_mma %4, %5, %6 #contraction_trait
          : tensor<?x?x4xf16>, tensor<?x?x4xf16> into tensor<?x?x4xf32>""",
    "multi_mma of one intrinsic": """
        #contraction_accesses = [
         affine_map<() -> ()>,
         affine_map<() -> ()>,
         affine_map<() -> ()>
        ]
        #contraction_trait = {
          indexing_maps = #contraction_accesses,
          iterator_types = [],
          kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>
        }
        %0, %1, %2 = "test.op"() : () -> (vector<4xf16>, vector<4xf16>, vector<4xf32>)
        %3 = iree_gpu.multi_mma %0, %1, %2 #contraction_trait
          : vector<4xf16>, vector<4xf16> into vector<4xf32>""",
    # The page's dictionary lacks nothing; `rhs_permutation = [1, 0]` is `array<i64: 1, 0>` to IREE.
    "multi_mma with a permutation": f"""{_TRAIT[:-1].rstrip()},
          rhs_permutation = [1, 0]
        }}
        %4, %5, %6 = "test.op"() : () -> (tensor<?x?x16x16xf16>, tensor<?x?x16x16xf16>, tensor<?x?x16x16xf32>)
        %7 = iree_gpu.multi_mma %4, %5, %6 #contraction_trait
          : tensor<?x?x16x16xf16>, tensor<?x?x16x16xf16> into tensor<?x?x16x16xf32>""",
    # The operations of the page's region, which are another dialect's and partly `...`, are one `test.op`.
    "barrier_region": """
        %alloc = "test.op"() : () -> tensor<4x128xf32>
        %barrier = iree_gpu.barrier_region %alloc {
        ^bb0(%shared: tensor<4x128xf32>):
          %slice = "test.op"(%shared) : (tensor<4x128xf32>) -> tensor<4x16xf32>
          iree_gpu.yield %slice : tensor<4x16xf32>
        } : tensor<4x128xf32> -> tensor<4x16xf32>""",
}

EXAMPLES = {**XEGPU, **AMX, **IREE}


def operations(text: str) -> Iterator[Operation]:
    return read_module(text).walk()


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_read_and_printed_as_something_that_is_read_again(name: str) -> None:
    printed = write_module(read_module(EXAMPLES[name]))
    assert write_module(read_module(printed)) == printed
    assert not [note for op in operations(printed) for note in old_spellings(op)]


@pytest.mark.parametrize(
    ("name", "today"),
    [
        ("create_nd_tdesc 1", "!xegpu.tensor_desc<8x16xf32>"),
        ("create_nd_tdesc 2", "shape : [...], strides : [...]"),
        ("create_tdesc 2", "#xegpu.scatter_tdesc_attr<chunk_size = 8 : i64>"),
        ("load_nd 1", "transpose = array<i64: 1, 0>"),
        ("slice", "dims"),
        ("multi_mma with a permutation", "rhs_permutation = array<i64: 1, 0>"),
        ("barrier_region", "barrier_region ins(%a : type)"),
    ],
)
def test_an_older_spelling_is_noted_with_todays_form(name: str, today: str) -> None:
    notes = [note for op in operations(EXAMPLES[name]) for note in old_spellings(op)]
    assert any(f"today: `{today}" in note for note in notes), notes


def test_what_is_spelled_as_today_is_not_noted() -> None:
    looser = {"create", "store 1", "store 2", "update_offset", "load_nd 1", "slice", "multi_mma with", "barrier_region"}
    for name, text in EXAMPLES.items():
        if not name.startswith(tuple(looser)):
            assert not [note for op in operations(text) for note in old_spellings(op)], name
