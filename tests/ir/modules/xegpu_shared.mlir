// matrices in shared memory: 22 23 24
func.func @f(%s: memref<4096xi8, 3>, %t: memref<4096xi8, #gpu.address_space<workgroup>>) {
  %0 = xegpu.create_mem_desc %s : memref<4096xi8, 3> -> !xegpu.mem_desc<32x64xf16>
  %1 = xegpu.create_mem_desc %s {mine} : memref<4096xi8, 3>
    -> !xegpu.mem_desc<32x64xf16, #xegpu.mem_layout<stride = [1, 32]>>
  %2 = xegpu.create_mem_desc %t : memref<4096xi8, #gpu.address_space<workgroup>>
    -> !xegpu.mem_desc<32x64xf16, #xegpu.mem_layout<block = [16, 16], stride = [1, 32]>>
  return
}
// -----
// loads from a matrix: 22 23 24
func.func @f(%m: !xegpu.mem_desc<32x64xf16>, %i: index) {
  %0 = xegpu.load_matrix %m[0, 0] : !xegpu.mem_desc<32x64xf16> -> vector<8x16xf16>
  %1 = xegpu.load_matrix %m[%i, 16] {mine} : !xegpu.mem_desc<32x64xf16>, index -> vector<8x16xf16>
  %2 = xegpu.load_matrix %m[%i, %i] <{layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>}>
    : !xegpu.mem_desc<32x64xf16>, index, index -> vector<8x16xf16>
  %3 = xegpu.load_matrix %m[0, 0] : !xegpu.mem_desc<32x64xf16> -> f16
  return
}
// -----
// stores to a matrix: 22 23 24
func.func @f(%v: vector<8x16xf16>, %x: f16, %m: !xegpu.mem_desc<32x64xf16>, %i: index) {
  xegpu.store_matrix %v, %m[0, 0] : vector<8x16xf16>, !xegpu.mem_desc<32x64xf16>
  xegpu.store_matrix %v, %m[%i, 16] {mine} : vector<8x16xf16>, !xegpu.mem_desc<32x64xf16>, index
  xegpu.store_matrix %v, %m[0, %i] <{layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>}>
    : vector<8x16xf16>, !xegpu.mem_desc<32x64xf16>, index
  xegpu.store_matrix %x, %m[8, 0] : f16, !xegpu.mem_desc<32x64xf16>
  return
}
// -----
// blocks of a matrix: 22 23 24
func.func @f(%m: !xegpu.mem_desc<32x32xf16, #xegpu.mem_layout<block = [16, 16]>>) {
  %0 = xegpu.load_matrix %m[0, 0] <{subgroup_block_io}>
    : !xegpu.mem_desc<32x32xf16, #xegpu.mem_layout<block = [16, 16]>> -> vector<8xf16>
  xegpu.store_matrix %0, %m[16, 0] <{subgroup_block_io}>
    : vector<8xf16>, !xegpu.mem_desc<32x32xf16, #xegpu.mem_layout<block = [16, 16]>>
  return
}
// -----
// fences: 22 23 24
func.func @f() {
  xegpu.fence memory_kind = global, fence_scope = workgroup
  xegpu.fence memory_kind = slm, fence_scope = gpu
  xegpu.fence memory_kind=global, fence_scope=gpu {mine}
  return
}
// -----
// a fence in generic form: 22 23
"xegpu.fence"() <{fence_scope = #xegpu<fence_scope gpu>, memory_kind = #xegpu<memory_space slm>}> : () -> ()
// -----
// a fence in the generic form of today: 24
"xegpu.fence"() <{fence_scope = #xegpu.fence_scope<gpu>, memory_kind = #xegpu.memory_space<slm>}> : () -> ()
// -----
// named barriers: 22 23 24
func.func @f(%i: i8, %n: i8) {
  xegpu.alloc_nbarrier 8
  xegpu.alloc_nbarrier 16 {mine}
  %0 = xegpu.init_nbarrier %i, %n : i8, i8 -> !xegpu.nbarrier
  %1 = xegpu.init_nbarrier %i, %n {mine} : i8, i8 -> !xegpu.nbarrier
  xegpu.nbarrier_arrive %0 : !xegpu.nbarrier
  xegpu.nbarrier_arrive %1 {mine} : !xegpu.nbarrier
  xegpu.nbarrier_wait %0 : !xegpu.nbarrier
  xegpu.nbarrier_wait %1 {mine} : !xegpu.nbarrier
  return
}
// -----
// shared memory in generic form: 22 23 24
"func.func"() <{function_type = (memref<1024xi8, 3>, index) -> (), sym_name = "f"}> ({
^bb0(%s: memref<1024xi8, 3>, %i: index):
  %0 = "xegpu.create_mem_desc"(%s) : (memref<1024xi8, 3>) -> !xegpu.mem_desc<16x32xf16>
  %1 = "xegpu.load_matrix"(%0, %i) <{const_offsets = array<i64: -9223372036854775808, 0>}>
    : (!xegpu.mem_desc<16x32xf16>, index) -> vector<8x16xf16>
  "xegpu.store_matrix"(%1, %0) <{const_offsets = array<i64: 0, 16>}> {mine}
    : (vector<8x16xf16>, !xegpu.mem_desc<16x32xf16>) -> ()
  "xegpu.alloc_nbarrier"() <{nbarrier_num = 4 : i64}> : () -> ()
  "func.return"() : () -> ()
}) : () -> ()
