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
