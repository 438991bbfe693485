// what the pipeline makes of lanes: 22 23 24
func.func @f(%a0: !llvm.ptr<1>, %a1: i32, %a2: vector<8xi16>, %a3: vector<8xf16>, %a4: vector<16xf16>, %a5: vector<8xf32>, %a6: !llvm.ptr<3>) {
  %0 = xevm.blockload2d %a0, %a1, %a1, %a1, %a1, %a1 <{cache_control = #xevm.load_cache_control<L1uc_L2uc_L3uc>, elem_size_in_bits = 16 : i32, pack_register = false, tile_height = 8 : i32, tile_width = 16 : i32, transpose = false, v_blocks = 1 : i32}> : (!llvm.ptr<1>, i32, i32, i32, i32, i32) -> vector<8xi16>
  xevm.blockstore2d %a0, %a1, %a1, %a1, %a1, %a1, %a2 <{elem_size_in_bits = 16 : i32, tile_height = 8 : i32, tile_width = 16 : i32}> : (!llvm.ptr<1>, i32, i32, i32, i32, i32, vector<8xi16>)
  xevm.blockprefetch2d %a0, %a1, %a1, %a1, %a1, %a1 <{elem_size_in_bits = 16 : i32, tile_height = 8 : i32, tile_width = 16 : i32, v_blocks = 1 : i32}> : (!llvm.ptr<1>, i32, i32, i32, i32, i32)
  %1 = xevm.mma %a3, %a4, %a5 {shape = <m = 8, n = 16, k = 16>, types = <d = f32, a = f16, b = f16, c = f32>} : (vector<8xf16>, vector<16xf16>, vector<8xf32>) -> vector<8xf32>
  xevm.memfence <{addrspace = #xevm.addr_space<global>, scope = #xevm.mem_scope<workgroup>}>
  xevm.prefetch %a0 <{cache_control = #xevm.load_cache_control<L1uc_L2uc_L3uc>}> : (!llvm.ptr<1>)
  %2 = xevm.blockload %a6  : (!llvm.ptr<3>) -> vector<8xi16>
  xevm.blockstore %a6, %a2  : (!llvm.ptr<3>, vector<8xi16>)
  %3 = xevm.local_id.x : i32
  %4 = xevm.group_id.y : i32
  %5 = xevm.lane_id : i32
  %6 = xevm.subgroup_id : i32
  %7 = xevm.subgroup_size : i32
  %8 = xevm.local_size.x : i32
  %9 = xevm.group_count.x : i32
  %10 = xevm.local_id.y : i32
  %11 = xevm.local_id.z : i32
  %12 = xevm.local_size.y : i32
  %13 = xevm.local_size.z : i32
  %14 = xevm.group_id.x : i32
  %15 = xevm.group_id.z : i32
  %16 = xevm.group_count.y : i32
  %17 = xevm.group_count.z : i32
  return
}
// -----
// small floats, and products with scales: 23 24
func.func @f(%a: vector<16xf16>, %w: vector<16xbf16>, %s: vector<2xi8>, %c: vector<8xf32>, %x: f16) {
  %0 = xevm.truncf %a {src_etype = f16, dst_etype = bf8} {mine} : (vector<16xf16>) -> vector<16xi8>
  %1 = xevm.truncf %w {src_etype = bf16, dst_etype = e2m1} : (vector<16xbf16>) -> vector<8xi8>
  %2 = xevm.truncf %x {src_etype = f16, dst_etype = f8} : (f16) -> i8
  %3 = xevm.mma_mx %a, %a, %s, %s, %c {shape = <m = 8, n = 16, k = 32>, types = <d = f32, a = f16, b = f16, c = f32>}
    : (vector<16xf16>, vector<16xf16>, vector<2xi8>, vector<2xi8>, vector<8xf32>) -> vector<8xf32>
  %4 = xevm.mma_mx %a, %a, %s, %s {shape = <m = 8, n = 16, k = 64>, types = <d = f32, a = e2m1, b = e2m1>} {mine}
    : (vector<16xf16>, vector<16xf16>, vector<2xi8>, vector<2xi8>) -> vector<8xf32>
  return
}
