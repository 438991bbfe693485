// barriers on values: iree-3.2 iree
func.func @f(%v: vector<4x4xf16>, %t: tensor<4x16xf32>) {
  %0 = iree_gpu.value_barrier %v : vector<4x4xf16>
  %1:2 = iree_gpu.value_barrier %v, %0 {mine} : vector<4x4xf16>, vector<4x4xf16>
  %2 = iree_gpu.value_barrier %t : tensor<4x16xf32>
  return
}
// -----
// barriers around regions: iree-3.2 iree
func.func @f(%t: tensor<4x16xf32>) {
  %0 = iree_gpu.barrier_region ins(%t : tensor<4x16xf32>) {
  ^bb0(%s: tensor<4x16xf32>):
    iree_gpu.yield %s : tensor<4x16xf32>
  } : tensor<4x16xf32>
  %1:2 = iree_gpu.barrier_region ins(%t, %0 : tensor<4x16xf32>, tensor<4x16xf32>) {
  ^bb0(%s: tensor<4x16xf32>, %u: tensor<4x16xf32>):
    iree_gpu.yield {mine} %s, %u : tensor<4x16xf32>, tensor<4x16xf32>
  } {mine} : tensor<4x16xf32>, tensor<4x16xf32>
  return
}
// -----
// fragments of a matrix intrinsic: iree-3.2
func.func @f(%a: vector<2x3x4xf16>, %b: vector<3x5x4xf16>, %c: vector<2x5x4xf32>) {
  %0 = iree_gpu.multi_mma %a, %b, %c {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
    affine_map<(i, j, k) -> (i, j)>], iterator_types = [#iree_gpu.iterator_type<parallel>,
    #iree_gpu.iterator_type<parallel>, #iree_gpu.iterator_type<reduction>],
    kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, mine}
    : vector<2x3x4xf16>, vector<3x5x4xf16> into vector<2x5x4xf32>
  return
}
// -----
// whole tiles of a matrix intrinsic, permuted: iree-3.2
func.func @f(%a: tensor<?x?x16x16xf16>, %b: tensor<?x?x16x16xf16>, %c: tensor<?x?x16x16xf32>) {
  %0 = iree_gpu.multi_mma %a, %b, %c {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
    affine_map<(i, j, k) -> (i, j)>], iterator_types = [#iree_gpu.iterator_type<parallel>,
    #iree_gpu.iterator_type<parallel>, #iree_gpu.iterator_type<reduction>],
    kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, lhs_permutation = array<i64: 0, 1>,
    rhs_permutation = array<i64: 1, 0>, acc_permutation = array<i64: 0, 1>}
    : tensor<?x?x16x16xf16>, tensor<?x?x16x16xf16> into tensor<?x?x16x16xf32>
  return
}
// -----
// fragments of a matrix intrinsic, in today's operation: iree
func.func @f(%a: vector<2x3x4xf16>, %b: vector<3x5x4xf16>, %c: vector<2x5x4xf32>) {
  %0 = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <{indexing_maps = [affine_map<(i, j, k) -> (i, k)>,
    affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = [#linalg.iterator_type<parallel>,
    #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>,
    semantics = #iree_gpu.mma_semantics<distributed = true, opaque = false>}> {mine}
    : vector<2x3x4xf16>, vector<3x5x4xf16> into vector<2x5x4xf32>
  return
}
// -----
// fragments of a matrix intrinsic, in the brackets of today's printer: iree
func.func @f(%a: vector<4xf16>, %b: vector<4xf16>, %c: vector<4xf32>) {
  %0 = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>,
    affine_map<() -> ()>], iterator_types = [], kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>,
    semantics = #iree_gpu.mma_semantics<distributed = true, opaque = false>> : vector<4xf16>, vector<4xf16> into vector<4xf32>
  return
}
// -----
// layouts of values: iree-3.2 iree
#l = #iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [1, 1], outer_tile = [1, 1], thread_tile = [4, 8],
  element_tile = [4, 1], subgroup_strides = [0, 0], thread_strides = [8, 1]>
func.func @f(%v: vector<16x8xf16>, %t: tensor<16x8xf16>) {
  %0 = iree_vector_ext.to_layout %v to layout(#l) : vector<16x8xf16>
  %1 = iree_vector_ext.to_layout %t to layout(#l) {mine} : tensor<16x8xf16>
  %2 = iree_vector_ext.to_layout %v to layout(#l) {mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>}
    : vector<16x8xf16>
  return
}
// -----
// a layout through shared memory, in plain braces: iree-3.2
#l = #iree_vector_ext.nested_layout<subgroup_tile = [1], batch_tile = [1], outer_tile = [1], thread_tile = [64],
  element_tile = [1], subgroup_strides = [0], thread_strides = [1]>
func.func @f(%v: vector<64xf16>) {
  %0 = iree_vector_ext.to_layout %v to layout(#l) {shared_memory_conversion, mine} : vector<64xf16>
  return
}
// -----
// a layout through shared memory: iree
#l = #iree_vector_ext.nested_layout<subgroup_tile = [1], batch_tile = [1], outer_tile = [1], thread_tile = [64],
  element_tile = [1], subgroup_strides = [0], thread_strides = [1]>
func.func @f(%v: vector<64xf16>) {
  %0 = iree_vector_ext.to_layout %v to layout(#l) <{shared_memory_conversion}> {mine} : vector<64xf16>
  %1 = iree_vector_ext.to_layout %v to layout(#l) <shared_memory_conversion = unit> : vector<64xf16>
  return
}
// -----
// distributed vectors: iree-3.2 iree
func.func @f(%v: vector<4x4x4xf16>, %w: vector<64x64xf32>) {
  %0 = iree_vector_ext.to_simd %v : vector<4x4x4xf16> -> vector<64x64xf16>
  %1 = iree_vector_ext.to_simt %w {mine} : vector<64x64xf32> -> vector<4x4x4xf32>
  return
}
// -----
// gathers through index vectors: iree
func.func @f(%m: memref<4096x64xf16>, %i: vector<4xindex>, %c: index, %p: f16, %k: vector<4x64xi1>) {
  %0 = iree_vector_ext.transfer_gather %m[%c, %c] [%i : vector<4xindex>], %p <{indexing_maps = [
    affine_map<(d0, d1)[s0] -> (s0, d1)>, affine_map<(d0, d1)[s0] -> (d0)>]}> : memref<4096x64xf16>, vector<4x64xf16>
  %1 = iree_vector_ext.transfer_gather %m[%c, %c] [%i : vector<4xindex>], %p, %k <{indexing_maps = [
    affine_map<(d0, d1)[s0] -> (s0, d1)>, affine_map<(d0, d1)[s0] -> (d0)>, affine_map<(d0, d1)[s0] -> (d0, d1)>]}>
    : memref<4096x64xf16>, vector<4x64xf16>, vector<4x64xi1>
  %2 = iree_vector_ext.transfer_gather %m[%c, %c], %p <{indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>]}>
    : memref<4096x64xf16>, vector<4x64xf16>
  return
}
// -----
// gathers through two index vectors: iree
func.func @f(%m: tensor<4096x64xf16>, %i: vector<4xindex>, %j: vector<8xindex>, %c: index, %p: f16) {
  %0 = iree_vector_ext.transfer_gather %m[%c, %c] [%i, %j : vector<4xindex>, vector<8xindex>], %p <{indexing_maps = [
    affine_map<(d0, d1)[s0, s1] -> (s0, s1)>, affine_map<(d0, d1)[s0, s1] -> (d0)>,
    affine_map<(d0, d1)[s0, s1] -> (d1)>]}> : tensor<4096x64xf16>, vector<4x8xf16>
  return
}
// -----
// scatters through index vectors: iree
func.func @f(%m: memref<4096x64xf16>, %t: tensor<4096x64xf16>, %v: vector<4x64xf16>, %i: vector<4xindex>, %c: index,
    %k: vector<4x64xi1>) {
  iree_vector_ext.transfer_scatter %v into %m[%c, %c] [%i : vector<4xindex>] <{indexing_maps = [
    affine_map<(d0, d1)[s0] -> (s0, d1)>, affine_map<(d0, d1)[s0] -> (d0)>]}> : vector<4x64xf16>, memref<4096x64xf16>
  %0 = iree_vector_ext.transfer_scatter %v into %t[%c, %c] [%i : vector<4xindex>], %k <{indexing_maps = [
    affine_map<(d0, d1)[s0] -> (s0, d1)>, affine_map<(d0, d1)[s0] -> (d0)>, affine_map<(d0, d1)[s0] -> (d0, d1)>]}>
    : vector<4x64xf16>, tensor<4096x64xf16>, vector<4x64xi1> -> tensor<4096x64xf16>
  return
}
// -----
// attributes of the GPU dialect: iree-3.2 iree
func.func private @f() attributes {a = #iree_gpu.mma_layout<MFMA_F32_32x32x8_F16>, c = #iree_gpu.lane_id<0>, d = #iree_gpu.derived_thread_config,
  e = #iree_gpu.lowering_config<{workgroup = [64, 64], mma = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>}>,
  f = #iree_gpu.data_tiled_mma_layout<intrinsic = MFMA_F32_16x16x4_F32, intrinsics_m = 2>,
  g = #iree_gpu<subgroup_ops shuffle>}
// -----
// attributes of the GPU dialect that are new: iree
func.func private @f() attributes {a = #iree_gpu.virtual_mma_layout<VMFMA_F32_16x16x32_F16>,
  b = #iree_gpu.use_global_load_dma}
// -----
// tensors and buffers: iree
func.func @f(%m: memref<16x32xf16>) {
  %0 = iree_codegen.load_from_buffer %m : memref<16x32xf16> -> tensor<16x32xf16>
  %1 = iree_codegen.load_from_buffer %m {mine} : memref<16x32xf16> -> tensor<16x32xf16>
  %2 = iree_codegen.fusion_barrier %0 : tensor<16x32xf16>
  iree_codegen.store_to_buffer %2, %m : tensor<16x32xf16> into memref<16x32xf16>
  iree_codegen.store_to_buffer %1, %m {mine} : tensor<16x32xf16> into memref<16x32xf16>
  return
}
// -----
// sorts, scans and best values of tensors: iree
func.func @f(%t: tensor<8x4xf32>, %i: tensor<8x4xi32>, %v: tensor<4xf32>, %w: tensor<4xi32>, %one: index) {
  %0:2 = iree_linalg_ext.sort dimension(0) outs(%t, %i : tensor<8x4xf32>, tensor<8x4xi32>) {
  ^bb0(%a: f32, %b: f32, %c: i32, %d: i32):
    %less = arith.cmpf olt, %a, %b : f32
    iree_linalg_ext.yield %less : i1
  } -> tensor<8x4xf32>, tensor<8x4xi32>
  %1:2 = iree_linalg_ext.scan {mine} dimension(0) inclusive(true) ins(%t : tensor<8x4xf32>)
      outs(%t, %v : tensor<8x4xf32>, tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    iree_linalg_ext.yield %sum : f32
  } -> tensor<8x4xf32>, tensor<4xf32>
  %2:2 = iree_linalg_ext.arg_compare dimension(0) ins(%t : tensor<8x4xf32>) outs(%v, %w : tensor<4xf32>, tensor<4xi32>)
      index_base(%one : index) {
  ^bb0(%a: f32, %b: f32):
    %more = arith.cmpf ogt, %a, %b : f32
    iree_linalg_ext.yield %more : i1
  } -> tensor<4xf32>, tensor<4xi32>
  %3:2 = iree_linalg_ext.topk dimension(0) ins(%t, %i : tensor<8x4xf32>, tensor<8x4xi32>)
      outs(%t, %i : tensor<8x4xf32>, tensor<8x4xi32>) {
  ^bb0(%a: f32, %b: f32):
    %more = arith.cmpf ogt, %a, %b : f32
    iree_linalg_ext.yield %more : i1
  } -> tensor<8x4xf32>, tensor<8x4xi32>
  return
}
// -----
// the largest values, in order: iree
func.func @f(%t: tensor<8x4xf32>, %v: tensor<2x4xf32>, %w: tensor<2x4xi32>) {
  %0:2 = iree_linalg_ext.topk_v2 dimension(0) is_sorted ins(%t : tensor<8x4xf32>)
      outs(%v, %w : tensor<2x4xf32>, tensor<2x4xi32>) {
  ^bb0(%a: f32, %b: f32):
    %more = arith.cmpf ogt, %a, %b : f32
    iree_linalg_ext.yield %more : i1
  } -> tensor<2x4xf32>, tensor<2x4xi32>
  return
}
// -----
// attention on tensors: iree
func.func @f(%q: tensor<20x64xf16>, %k: tensor<40x64xf16>, %v: tensor<40x32xf16>, %o: tensor<20x32xf16>, %m: tensor<20xf32>,
             %p: tensor<20x32xf32>, %x: tensor<20x40xi1>, %scale: f16) {
  %0 = iree_linalg_ext.attention <{indexing_maps = [affine_map<(m, n, k1, k2) -> (m, k1)>,
      affine_map<(m, n, k1, k2) -> (k2, k1)>, affine_map<(m, n, k1, k2) -> (k2, n)>, affine_map<(m, n, k1, k2) -> ()>,
      affine_map<(m, n, k1, k2) -> (m, n)>], decomposition_config = {use_exp2 = true}}> {mine}
      ins(%q, %k, %v, %scale : tensor<20x64xf16>, tensor<40x64xf16>, tensor<40x32xf16>, f16) outs(%o : tensor<20x32xf16>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<20x32xf16>
  %1:3 = iree_linalg_ext.online_attention <{indexing_maps = [affine_map<(m, n, k1, k2) -> (m, k1)>,
      affine_map<(m, n, k1, k2) -> (k2, k1)>, affine_map<(m, n, k1, k2) -> (k2, n)>, affine_map<(m, n, k1, k2) -> ()>,
      affine_map<(m, n, k1, k2) -> (m, k2)>, affine_map<(m, n, k1, k2) -> (m, n)>, affine_map<(m, n, k1, k2) -> (m)>,
      affine_map<(m, n, k1, k2) -> (m)>]}>
      ins(%q, %k, %v, %scale, %x : tensor<20x64xf16>, tensor<40x64xf16>, tensor<40x32xf16>, f16, tensor<20x40xi1>)
      outs(%p, %m, %m : tensor<20x32xf32>, tensor<20xf32>, tensor<20xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<20x32xf32>, tensor<20xf32>, tensor<20xf32>
  return
}
// -----
// slices at indices, and elements at computed places: iree
func.func @f(%s: tensor<8x4xf32>, %i: tensor<2xi32>, %t: tensor<2x4xf32>, %x: tensor<2xi1>) {
  %yes = arith.constant true
  %zero = arith.constant 0.0 : f32
  %0 = iree_linalg_ext.gather {mine} dimension_map = [0] ins(%s, %i : tensor<8x4xf32>, tensor<2xi32>)
      outs(%t : tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = iree_linalg_ext.scatter dimension_map = [0] unique_indices(false) ins(%t, %i : tensor<2x4xf32>, tensor<2xi32>)
      outs(%s : tensor<8x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    iree_linalg_ext.yield %a : f32
  } -> tensor<8x4xf32>
  %2 = iree_linalg_ext.map_store %t into %s {
  ^bb0(%a: index, %b: index):
    iree_linalg_ext.yield %a, %b, %yes : index, index, i1
  } : tensor<2x4xf32> into tensor<8x4xf32> -> tensor<8x4xf32>
  %3 = iree_linalg_ext.map_load %s into %t {
  ^bb0(%a: index, %b: index):
    iree_linalg_ext.yield %a, %b, %zero : index, index, f32
  } : tensor<8x4xf32> into tensor<2x4xf32> -> tensor<2x4xf32>
  return
}
// -----
// transforms for convolutions, and of Fourier: iree
func.func @f(%a: tensor<1x10x10x16xf32>, %b: tensor<8x8x1x2x2x16xf32>, %c: tensor<3x3x16x8xf32>, %d: tensor<8x8x16x8xf32>,
             %e: tensor<1x12x12x16xf32>, %x: tensor<16xf32>, %s: index, %m: tensor<1x8x8x144xf32>, %img: tensor<1x10x10x16xf32>) {
  %0 = iree_linalg_ext.winograd.input_transform output_tile_size(6) kernel_size(3) image_dimensions([1, 2])
      ins(%a : tensor<1x10x10x16xf32>) outs(%b : tensor<8x8x1x2x2x16xf32>) -> tensor<8x8x1x2x2x16xf32>
  %1 = iree_linalg_ext.winograd.filter_transform output_tile_size(6) kernel_size(3) kernel_dimensions([0, 1])
      ins(%c : tensor<3x3x16x8xf32>) outs(%d : tensor<8x8x16x8xf32>) -> tensor<8x8x16x8xf32>
  %2 = iree_linalg_ext.winograd.output_transform output_tile_size(6) kernel_size(3) image_dimensions([1, 2])
      ins(%b : tensor<8x8x1x2x2x16xf32>) outs(%e : tensor<1x12x12x16xf32>) -> tensor<1x12x12x16xf32>
  %3:2 = iree_linalg_ext.fft ins(%s : index) outs(%x, %x : tensor<16xf32>, tensor<16xf32>) : tensor<16xf32>, tensor<16xf32>
  %4 = iree_linalg_ext.im2col strides = [1, 1] dilations = [1, 1] kernel_size = [3, 3] offsets = [0, 0, 0, 0]
      output_sizes = [[1], [8], [8], [3, 3, 16]] batch_pos = [0] m_pos = [1, 2] k_pos = [3] input_k_perm = [0, 1, 2]
      output_perm = [0, 1, 2, 3] ins(%img : tensor<1x10x10x16xf32>) outs(%m : tensor<1x8x8x144xf32>) -> tensor<1x8x8x144xf32>
  return
}
// -----
// what a region computes of tiles: iree-3.2 iree
func.func @f(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>) {
  %0 = iree_linalg_ext.custom_op {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = [#iree_linalg_ext.iterator_type<parallel>, #iree_linalg_ext.iterator_type<parallel>]}
      attributes {mine} ins(%a : tensor<8x4xf32>) outs(%b : tensor<8x4xf32>) {
  ^bb0(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>):
    %i = iree_linalg_ext.index 0 : index
    iree_linalg_ext.yield %x : tensor<?x?xf32>
  } -> tensor<8x4xf32>
  return
}
// -----
// copies into shared memory: iree
func.func @f(%a: memref<8x64xf32, #amdgpu.address_space<fat_raw_buffer>>, %b: memref<8x64xf32, #gpu.address_space<workgroup>>,
             %lane: index, %i: index, %rows: vector<4xindex>) {
  iree_gpu.coalesced_gather_dma %a into %b lane(%lane) in_bounds [true, true] : memref<8x64xf32,
      #amdgpu.address_space<fat_raw_buffer>>, memref<8x64xf32, #gpu.address_space<workgroup>>, index
  iree_gpu.async_dma %a[%i, %i] to %b[%i, %i], vector<8x64xf32> in_bounds [true, true]
      permutation_map affine_map<(d0, d1) -> (d0, d1)>
      : memref<8x64xf32, #amdgpu.address_space<fat_raw_buffer>>, memref<8x64xf32, #gpu.address_space<workgroup>>
  iree_gpu.global_subgroup_barrier
  return
}
// -----
// scans over lanes, and casts of buffers: iree
func.func @f(%x: f32, %zero: f32, %t: tensor<2xf32>, %stride: index) {
  %0, %1 = iree_gpu.subgroup_scan inclusive(%x) cluster(size = 4, stride = 2) {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    iree_gpu.yield %sum : f32
  } : f32
  %2, %3 = iree_gpu.subgroup_scan(%x, identity = %zero : f32) {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    iree_gpu.yield %sum : f32
  } {mine} : f32
  %4 = iree_gpu.buffer_resource_cast %t cacheSwizzleStride(%stride) : tensor<2xf32>
  %5 = iree_gpu.buffer_resource_cast %t : tensor<2xf32>
  return
}
// -----
// hints of code generation: iree
func.func @f(%i: index, %m: memref<256xf32>, %t: memref<4x8xf32, strided<[8, 1], offset: ?>>, %a: tensor<4xf32>) {
  %0 = iree_codegen.index_hint %i(#iree_gpu.lane_constant<16>) : index
  %1 = iree_codegen.swizzle_hint %m[#iree_codegen.xor_shuffle<128, 8>] : memref<256xf32>
  %2, %3, %4:2, %5:2 = iree_codegen.extract_strided_metadata %t : memref<4x8xf32, strided<[8, 1], offset: ?>>
      -> memref<f32>, index, index, index, index, index
  %6 = iree_codegen.null_pointer
  %7:2 = iree_codegen.query_tile_sizes tensor<8x8xf32> -> index, index
  iree_codegen.workgroup_count_hint(%i, 1, 4)
  %8 = iree_codegen.ukernel.generic {mine} "mine" ins(%a : tensor<4xf32>) outs(%a : tensor<4xf32>) (%i, %i : index, index)
      fn_def_attrs {pure} strided_dims([[0], [0]]) -> tensor<4xf32>
  return
}
// -----
// how a kernel is launched: iree
func.func @f() {
  return
}
iree_codegen.dispatch_config @f workgroup_size = [64, 1, 1] subgroup_size = 64 workgroup_local_memory = 128 {
^bb0(%a: index):
  iree_codegen.yield %a, %a, %a : index, index, index
}
// -----
// what must hold of knobs: iree
func.func @f(%m: index) {
  iree_codegen.smt.constraints target = <set = 0>, pipeline = #iree_gpu.pipeline<VectorDistribute>,
      knobs = {wg = #iree_codegen.smt.int_knob<"wg">} dims(%m) {
  ^bb0(%d: !smt.int):
    %wg = iree_codegen.smt.knob "wg" : !smt.int
    %size = iree_codegen.smt.lookup %wg [0, 1] -> [16, 32] : !smt.int
    %right = builtin.unrealized_conversion_cast %d : !smt.int to !smt.bool
    iree_codegen.smt.assert %right, "size ({}) is d", %size : !smt.bool, !smt.int
  }
  return
}
// -----
// best values of vectors: iree
func.func @f(%v: vector<4x8xf32>, %i: vector<4x8xi32>, %a: vector<4xf32>, %b: vector<4xi32>, %base: index) {
  %0:2 = iree_vector_ext.arg_compare dimension(1) ins(%v : vector<4x8xf32>) inits(%a, %b : vector<4xf32>, vector<4xi32>)
      index_base(%base : index) {
  ^bb0(%x: f32, %y: f32):
    %more = arith.cmpf ogt, %x, %y : f32
    iree_vector_ext.yield %more : i1
  } -> vector<4xf32>, vector<4xi32>
  %1:2 = iree_vector_ext.arg_compare dimension(1) ins(%v, %i : vector<4x8xf32>, vector<4x8xi32>)
      inits(%a, %b : vector<4xf32>, vector<4xi32>) {
  ^bb0(%x: f32, %y: f32):
    %more = arith.cmpf ogt, %x, %y : f32
    iree_vector_ext.yield %more : i1
  } -> vector<4xf32>, vector<4xi32>
  return
}
// -----
// tensors with a layout in memory, and with another element type: iree
#encoding = #iree_encoding.testing<>
func.func @f(%t: tensor<?x8xf32>, %d: index, %b: tensor<?x16xi8>) {
  %0 = iree_encoding.set_encoding %t encoding_dims{%d, %d} : tensor<?x8xf32> -> tensor<?x8xf32, #encoding>
  %1 = iree_encoding.unset_encoding %0 encoding_dims{%d} : tensor<?x8xf32, #encoding> -> tensor<?x8xf32>{%d}
  %2 = iree_encoding.set_encoding %t : tensor<?x8xf32> -> tensor<?x8xf32, #encoding>
  %3 = iree_tensor_ext.bitcast %b : tensor<?x16xi8>{%d} -> tensor<?x32xf4E2M1FN>{%d}
  %4 = iree_tensor_ext.compute_barrier.start %t : tensor<?x8xf32>{%d} -> tensor<?x8xf32>
  %5 = iree_tensor_ext.compute_barrier.end %t : tensor<?x8xf32>{%d} -> tensor<?x8xf32>
  return
}
// -----
// workers of a scope: iree
util.func private @f(%d: index, %init: tensor<4xf32>, %v: tensor<1xf32>) {
  pcf.generic sync true scope(#iree_gpu.subgroup_scope) initialize {
    %a = pcf.alloc(%d) : !pcf.sref<?x8xi32, #iree_gpu.subgroup_scope>
    pcf.yield %a : !pcf.sref<?x8xi32, #iree_gpu.subgroup_scope>
  } -> (%r: !pcf.sref<?x8xi32, #iree_gpu.subgroup_scope>) execute[%id: index, %n: index] {
    %s = pcf.read_slice %r[%id, 0] [1, 8] [1, 1] : !pcf.sref<?x8xi32, #iree_gpu.subgroup_scope> to vector<1x8xi32>
    %m = pcf.get_memref %r[%id, 0] [1, 8] [1, 1] : !pcf.sref<?x8xi32, #iree_gpu.subgroup_scope>
      to memref<1x8xi32, strided<[?, ?], offset: ?>>
    pcf.return
  }
  %0:2 = pcf.loop scope(#iree_gpu.lane_scope) count(%d) execute(%ref = %init, %new)[%i: index]
      : (!pcf.sref<4xf32, sync(#iree_gpu.lane_scope)>, !pcf.sref<?xf32, sync(#iree_gpu.lane_scope)>)
     -> (tensor<4xf32>, tensor<?xf32>{%d}) {
    pcf.write_slice %v into %ref[%i] [1] [1] : tensor<1xf32> into !pcf.sref<4xf32, sync(#iree_gpu.lane_scope)>
    pcf.return
  }
  util.return
}
// -----
// values that the compiler knows more of, or nothing: iree
func.func @f(%a: index, %b: i32, %v: vector<4xf32>) {
  %0:2 = util.assume.int %a<umin = 16, umax = 4080, udiv = 16>, %b[<udiv = 8>, <udiv = 32>] : index, i32
  %1 = util.assume.int %a<udiv = 4> : index {mine}
  %2:2 = util.optimization_barrier {mine} %a, %v : index, vector<4xf32>
  return
}
// -----
// kernels for a target: iree
#layout = #hal.pipeline.layout<constants = 1, bindings = [#hal.pipeline.binding<storage_buffer>]>
hal.executable private @kernel {
  hal.executable.variant public @rocm target(<"rocm", "rocm-hsaco-fb">) {
    hal.executable.condition(%device: !hal.device) -> i1 {
      %yes = arith.constant true
      hal.return %yes : i1
    } attributes {mine}
    hal.executable.constant.block(%device: !hal.device) -> (i32, i32) as ("k", "l") attributes {mine} {
      %one = arith.constant 1 : i32
      hal.return %one, %one : i32, i32
    }
    hal.executable.constant.block() -> i32 as "m" {
      %two = arith.constant 2 : i32
      hal.return %two : i32
    }
    hal.executable.constant.block(%device: !hal.device) as () {
      hal.return
    }
    hal.executable.export public @f ordinal(0) layout(#layout) count(%device: !hal.device, %w: index) -> (index, index, index) {
      %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice(%w)
      %p, %q, %r = iree_tensor_ext.dispatch.workgroup_count_split_reduction_modifier workgroups(%x, %y, %z) workload(%w)
      hal.return %p, %q, %r : index, index, index
    } attributes {mine}
    hal.executable.export private @g layout(#layout) condition(%device: !hal.device) -> i1 {
      %yes = arith.constant true
      hal.return %yes : i1
    } fallback(@f)
    builtin.module {
      func.func @f() {
        %k = hal.executable.constant.load "k" : i32
        return
      }
    }
  }
}
hal.executable.source public @source {
  hal.executable.export public @f ordinal(0) layout(#layout)
}
// -----
// workers that end early: iree
pcf.generic scope(#iree_gpu.lane_scope) execute[%i: index, %n: index] {
  %last = arith.cmpi eq, %i, %n : index
  pcf.br.cond_return %last ^bb1(%i : index) {mine}
^bb1(%a: index):
  %first = arith.cmpi eq, %a, %n : index
  pcf.br.cond_return %first ^bb2
^bb2:
  pcf.return
}
