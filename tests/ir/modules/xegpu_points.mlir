// scattered descriptors: 22
func.func @f(%m: memref<1024xf32>, %p: ui64, %o: vector<16xindex>) {
  %0 = xegpu.create_tdesc %m, %o : memref<1024xf32>, vector<16xindex>
    -> !xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<>>
  %1 = xegpu.create_tdesc %p, %o {mine} : ui64, vector<16xindex>
    -> !xegpu.tensor_desc<16x8xf32, #xegpu.scatter_tdesc_attr<chunk_size = 8>>
  %2 = xegpu.update_offset %0, %o : !xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<>>, vector<16xindex>
  %3 = xegpu.update_offset %1, %o {mine}
    : !xegpu.tensor_desc<16x8xf32, #xegpu.scatter_tdesc_attr<chunk_size = 8>>, vector<16xindex>
  return
}
// -----
// scattered descriptors in shared memory, with a layout: 22
func.func @f(%m: memref<1024xf32, 3>, %o: vector<16xindex>) {
  %0 = xegpu.create_tdesc %m, %o : memref<1024xf32, 3>, vector<16xindex>
    -> !xegpu.tensor_desc<16x4xf32, #xegpu.scatter_tdesc_attr<memory_space = slm, chunk_size = 4>,
         #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 4]>>
  return
}
// -----
// loads, stores and prefetches through a scattered descriptor: 22
func.func @f(%t: !xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<>>,
    %u: !xegpu.tensor_desc<16x8xf32, #xegpu.scatter_tdesc_attr<chunk_size = 8>>, %k: vector<16xi1>) {
  %0 = xegpu.load %t, %k : !xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<>>, vector<16xi1> -> vector<16xf32>
  %1 = xegpu.load %u, %k <{l1_hint = #xegpu.cache_hint<cached>}> {mine}
    : !xegpu.tensor_desc<16x8xf32, #xegpu.scatter_tdesc_attr<chunk_size = 8>>, vector<16xi1> -> vector<16x8xf32>
  xegpu.store %0, %t, %k : vector<16xf32>, !xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<>>, vector<16xi1>
  xegpu.store %1, %u, %k <{l2_hint = #xegpu.cache_hint<write_back>}>
    : vector<16x8xf32>, !xegpu.tensor_desc<16x8xf32, #xegpu.scatter_tdesc_attr<chunk_size = 8>>, vector<16xi1>
  xegpu.prefetch %t : !xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<>>
  xegpu.prefetch %t <{l3_hint = #xegpu.cache_hint<cached>}> : !xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<>>
  return
}
// -----
// gathers from an address and from a memref: 22 23 24
func.func @f(%p: i64, %q: ui32, %m: memref<64xf32>, %o: vector<16xindex>, %k: vector<16xi1>) {
  %0 = xegpu.load %p[%o], %k : i64, vector<16xindex>, vector<16xi1> -> vector<16xf32>
  %1 = xegpu.load %q[%o], %k <{l1_hint = #xegpu.cache_hint<cached>}> {mine}
    : ui32, vector<16xindex>, vector<16xi1> -> vector<16xf32>
  %2 = xegpu.load %m[%o], %k <{layout = #xegpu.layout<lane_layout = [16], lane_data = [1]>}>
    : memref<64xf32>, vector<16xindex>, vector<16xi1> -> vector<16xf32>
  return
}
// -----
// gathers of one lane: 22 23 24
func.func @f(%p: i64, %o: vector<1xindex>, %k: vector<1xi1>) {
  %0 = xegpu.load %p[%o], %k : i64, vector<1xindex>, vector<1xi1> -> vector<1xf32>
  xegpu.store %0, %p[%o], %k : vector<1xf32>, i64, vector<1xindex>, vector<1xi1>
  return
}
// -----
// gathers of scalars: 22 23 24
func.func @f(%p: i64, %o: index, %k: i1) {
  %0 = xegpu.load %p[%o], %k : i64, index, i1 -> f32
  xegpu.store %0, %p[%o], %k : f32, i64, index, i1
  xegpu.prefetch %p[%o] <{offset_align_byte = 4}> : i64, index
  return
}
// -----
// gathers of chunks: 22 23
func.func @f(%p: i64, %o: vector<1xindex>, %k: vector<1xi1>, %s: vector<16xindex>, %l: vector<16xi1>) {
  %0 = xegpu.load %p[%o], %k <{chunk_size = 8 : i64}> : i64, vector<1xindex>, vector<1xi1> -> vector<8xf32>
  %1 = xegpu.load %p[%s], %l <{chunk_size = 4 : i64}> : i64, vector<16xindex>, vector<16xi1> -> vector<16x4xf32>
  xegpu.store %0, %p[%o], %k <{chunk_size = 8 : i64}> : vector<8xf32>, i64, vector<1xindex>, vector<1xi1>
  return
}
// -----
// gathers with attributes in plain braces: 22 23
func.func @f(%m: memref<1024xf32>, %o: vector<16xindex>, %k: vector<16xi1>) {
  %0 = xegpu.load %m[%o], %k {l1_hint = #xegpu.cache_hint<cached>, l2_hint = #xegpu.cache_hint<cached>, mine}
    : memref<1024xf32>, vector<16xindex>, vector<16xi1> -> vector<16xf32>
  xegpu.store %0, %m[%o], %k {l1_hint = #xegpu.cache_hint<uncached>}
    : vector<16xf32>, memref<1024xf32>, vector<16xindex>, vector<16xi1>
  xegpu.prefetch %m[%o] {l1_hint = #xegpu.cache_hint<cached>} : memref<1024xf32>, vector<16xindex>
  return
}
// -----
// gathers of neighbouring lanes: 22 23 24
func.func @f(%p: i64, %o: vector<16xindex>, %k: vector<16xi1>) {
  %0 = xegpu.load %p[%o], %k <{contiguity = 4 : i64}> : i64, vector<16xindex>, vector<16xi1> -> vector<16xf32>
  xegpu.store %0, %p[%o], %k <{contiguity = 4 : i64}> : vector<16xf32>, i64, vector<16xindex>, vector<16xi1>
  return
}
// -----
// gathers of two dimensions: 22 23 24
func.func @f(%p: i64, %o: vector<16x4xindex>, %k: vector<16x4xi1>) {
  %0 = xegpu.load %p[%o], %k : i64, vector<16x4xindex>, vector<16x4xi1> -> vector<16x4xf32>
  xegpu.store %0, %p[%o], %k : vector<16x4xf32>, i64, vector<16x4xindex>, vector<16x4xi1>
  return
}
// -----
// scatters to an address and to a memref: 22 23 24
func.func @f(%v: vector<16xf32>, %p: i64, %m: memref<64xf32>, %o: vector<16xindex>, %k: vector<16xi1>) {
  xegpu.store %v, %p[%o], %k : vector<16xf32>, i64, vector<16xindex>, vector<16xi1>
  xegpu.store %v, %m[%o], %k <{l1_hint = #xegpu.cache_hint<uncached>,
    layout = #xegpu.layout<lane_layout = [16], lane_data = [1]>}> {mine}
    : vector<16xf32>, memref<64xf32>, vector<16xindex>, vector<16xi1>
  return
}
// -----
// prefetches of points: 22 23 24
func.func @f(%p: i64, %m: memref<64xf32>, %o: vector<16xindex>) {
  xegpu.prefetch %p[%o] <{offset_align_byte = 4 : i64}> : i64, vector<16xindex>
  xegpu.prefetch %m[%o] <{l1_hint = #xegpu.cache_hint<cached>, layout = #xegpu.layout<inst_data = [16]>}> {mine}
    : memref<64xf32>, vector<16xindex>
  xegpu.prefetch %m[%o] : memref<64xf32>, vector<16xindex>
  return
}
// -----
// atomics through a scattered descriptor: 22
func.func @f(%t: !xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<>>, %k: vector<16xi1>, %v: vector<16xf32>) {
  %0 = xegpu.atomic_rmw addf %t, %k, %v
    : !xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<>>, vector<16xi1>, vector<16xf32> -> vector<16xf32>
  return
}
// -----
// every kind of atomic: 22 23 24
func.func @f(%t: !xegpu.tensor_desc<16xf32>, %u: !xegpu.tensor_desc<16xi32>, %k: vector<16xi1>, %v: vector<16xf32>,
    %w: vector<16xi32>) {
  %0 = xegpu.atomic_rmw addf %t, %k, %v : !xegpu.tensor_desc<16xf32>, vector<16xi1>, vector<16xf32> -> vector<16xf32>
  %1 = xegpu.atomic_rmw addi %u, %k, %w : !xegpu.tensor_desc<16xi32>, vector<16xi1>, vector<16xi32> -> vector<16xi32>
  %2 = xegpu.atomic_rmw andi %u, %k, %w : !xegpu.tensor_desc<16xi32>, vector<16xi1>, vector<16xi32> -> vector<16xi32>
  %3 = xegpu.atomic_rmw assign %u, %k, %w : !xegpu.tensor_desc<16xi32>, vector<16xi1>, vector<16xi32> -> vector<16xi32>
  %4 = xegpu.atomic_rmw maximumf %t, %k, %v : !xegpu.tensor_desc<16xf32>, vector<16xi1>, vector<16xf32> -> vector<16xf32>
  %5 = xegpu.atomic_rmw maxnumf %t, %k, %v : !xegpu.tensor_desc<16xf32>, vector<16xi1>, vector<16xf32> -> vector<16xf32>
  %6 = xegpu.atomic_rmw maxs %u, %k, %w : !xegpu.tensor_desc<16xi32>, vector<16xi1>, vector<16xi32> -> vector<16xi32>
  %7 = xegpu.atomic_rmw maxu %u, %k, %w : !xegpu.tensor_desc<16xi32>, vector<16xi1>, vector<16xi32> -> vector<16xi32>
  %8 = xegpu.atomic_rmw minimumf %t, %k, %v : !xegpu.tensor_desc<16xf32>, vector<16xi1>, vector<16xf32> -> vector<16xf32>
  %9 = xegpu.atomic_rmw minnumf %t, %k, %v : !xegpu.tensor_desc<16xf32>, vector<16xi1>, vector<16xf32> -> vector<16xf32>
  %10 = xegpu.atomic_rmw mins %u, %k, %w : !xegpu.tensor_desc<16xi32>, vector<16xi1>, vector<16xi32> -> vector<16xi32>
  %11 = xegpu.atomic_rmw minu %u, %k, %w : !xegpu.tensor_desc<16xi32>, vector<16xi1>, vector<16xi32> -> vector<16xi32>
  %12 = xegpu.atomic_rmw mulf %t, %k, %v : !xegpu.tensor_desc<16xf32>, vector<16xi1>, vector<16xf32> -> vector<16xf32>
  %13 = xegpu.atomic_rmw muli %u, %k, %w : !xegpu.tensor_desc<16xi32>, vector<16xi1>, vector<16xi32> -> vector<16xi32>
  %14 = xegpu.atomic_rmw ori %u, %k, %w : !xegpu.tensor_desc<16xi32>, vector<16xi1>, vector<16xi32> -> vector<16xi32>
  %15 = xegpu.atomic_rmw xori %u, %k, %w {mine} : !xegpu.tensor_desc<16xi32>, vector<16xi1>, vector<16xi32> -> vector<16xi32>
  return
}
// -----
// an atomic with a layout in plain braces: 22 23
func.func @f(%t: !xegpu.tensor_desc<16xf32>, %k: vector<16xi1>, %v: vector<16xf32>) {
  %0 = xegpu.atomic_rmw addf %t, %k, %v {layout = #xegpu.layout<lane_layout = [16], lane_data = [1]>, mine}
    : !xegpu.tensor_desc<16xf32>, vector<16xi1>, vector<16xf32> -> vector<16xf32>
  return
}
// -----
// an atomic with a layout in its own brackets: 24
func.func @f(%t: !xegpu.tensor_desc<16xf32>, %k: vector<16xi1>, %v: vector<16xf32>) {
  %0 = xegpu.atomic_rmw addf %t, %k, %v <{layout = #xegpu.layout<lane_layout = [16], lane_data = [1]>}> {mine}
    : !xegpu.tensor_desc<16xf32>, vector<16xi1>, vector<16xf32> -> vector<16xf32>
  return
}
// -----
// points in generic form: 22 23 24
"func.func"() <{function_type = (i64, vector<16xindex>, vector<16xi1>) -> (), sym_name = "f"}> ({
^bb0(%p: i64, %o: vector<16xindex>, %k: vector<16xi1>):
  %0 = "xegpu.load"(%p, %o, %k) <{l1_hint = #xegpu.cache_hint<cached>}> {mine}
    : (i64, vector<16xindex>, vector<16xi1>) -> vector<16xf32>
  "xegpu.store"(%0, %p, %o, %k) : (vector<16xf32>, i64, vector<16xindex>, vector<16xi1>) -> ()
  "xegpu.prefetch"(%p, %o) <{offset_align_byte = 8 : i64}> : (i64, vector<16xindex>) -> ()
  "func.return"() : () -> ()
}) : () -> ()
