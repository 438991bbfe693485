// a block of a memref with offsets: 22
func.func @f(%m: memref<64x64xf16>, %i: index) {
  %0 = xegpu.create_nd_tdesc %m[0, 0] : memref<64x64xf16> -> !xegpu.tensor_desc<8x16xf16>
  %1 = xegpu.create_nd_tdesc %m[%i, 16] : memref<64x64xf16> -> !xegpu.tensor_desc<8x16xf16>
  %2 = xegpu.create_nd_tdesc %m[%i, %i] {mine = "x"} : memref<64x64xf16> -> !xegpu.tensor_desc<8x16xf16>
  return
}
// -----
// a block of a memref: 22 23 24
func.func @f(%m: memref<64x64xf16>, %v: memref<64xf32>) {
  %0 = xegpu.create_nd_tdesc %m : memref<64x64xf16> -> !xegpu.tensor_desc<8x16xf16>
  %1 = xegpu.create_nd_tdesc %m {mine = 1 : i32} : memref<64x64xf16> -> !xegpu.tensor_desc<8x16xf16>
  %2 = xegpu.create_nd_tdesc %v : memref<64xf32> -> !xegpu.tensor_desc<16xf32>
  return
}
// -----
// a block behind an address with offsets: 22
func.func @f(%p: i64, %h: index, %w: index) {
  %0 = xegpu.create_nd_tdesc %p[%h, 0], shape : [%h, %w], strides : [%w, 1] : i64 -> !xegpu.tensor_desc<8x16xf16>
  %1 = xegpu.create_nd_tdesc %p[0, 0], shape:[64, 64], strides:[64, 1] {mine} : i64 -> !xegpu.tensor_desc<8x16xf16>
  return
}
// -----
// a block behind an address: 22 23 24
func.func @f(%p: i64, %q: ui64, %h: index, %w: index, %c1: index) {
  %0 = xegpu.create_nd_tdesc %p, shape : [%h, %w], strides : [%w, %c1] : i64 -> !xegpu.tensor_desc<8x16xf16>
  %1 = xegpu.create_nd_tdesc %q, shape : [64, %w], strides : [%w, 1] : ui64 -> !xegpu.tensor_desc<8x16xf16>
  %2 = xegpu.create_nd_tdesc %p, shape : [32, 64], strides : [64, 1] {mine} : i64 -> !xegpu.tensor_desc<8x16xf16>
  return
}
// -----
// a memref with shape and strides of its own: 22 23
func.func @f(%m: memref<?x?xf16>, %h: index, %w: index) {
  %0 = xegpu.create_nd_tdesc %m, shape : [%h, %w], strides : [%w, 1] : memref<?x?xf16> -> !xegpu.tensor_desc<8x16xf16>
  return
}
// -----
// descriptors of every kind of element: 22 23 24
func.func private @f(!xegpu.tensor_desc<8x16xf16>, !xegpu.tensor_desc<8x16xbf16>, !xegpu.tensor_desc<8x16xf32>,
  !xegpu.tensor_desc<8x8xtf32>, !xegpu.tensor_desc<8x16xf64>, !xegpu.tensor_desc<8x32xi8>, !xegpu.tensor_desc<8x32xui8>,
  !xegpu.tensor_desc<8x32xsi8>, !xegpu.tensor_desc<8x16xi32>, !xegpu.tensor_desc<32xi64>)
// -----
// descriptors with encodings of blocks: 22 23 24
func.func private @f(
  !xegpu.tensor_desc<16x16xf16, #xegpu.block_tdesc_attr<array_length = 2 : i64>>,
  !xegpu.tensor_desc<16x16xf16, #xegpu.block_tdesc_attr<boundary_check = false>>,
  !xegpu.tensor_desc<32xf16, #xegpu.block_tdesc_attr<memory_space = slm>>,
  !xegpu.tensor_desc<16x16xf16, #xegpu.block_tdesc_attr<memory_space = global, array_length = 2, boundary_check = true>>,
  !xegpu.tensor_desc<16x16xf16, #xegpu.block_tdesc_attr<array_length = 2 : i64>,
    #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>>)
// -----
// moving a descriptor: 22
func.func @f(%t: !xegpu.tensor_desc<8x16xf32>, %i: index) {
  %0 = xegpu.update_nd_offset %t, [0, 16] : !xegpu.tensor_desc<8x16xf32>
  %1 = xegpu.update_nd_offset %0, [%i, -16] {mine} : !xegpu.tensor_desc<8x16xf32>
  %2 = xegpu.update_nd_offset %1, [%i, %i]: !xegpu.tensor_desc<8x16xf32>
  return
}
// -----
// a block load without offsets: 22
func.func @f(%t: !xegpu.tensor_desc<8x16xf16>) {
  %0 = xegpu.load_nd %t : !xegpu.tensor_desc<8x16xf16> -> vector<8x16xf16>
  xegpu.store_nd %0, %t : vector<8x16xf16>, !xegpu.tensor_desc<8x16xf16>
  xegpu.prefetch_nd %t : !xegpu.tensor_desc<8x16xf16>
  return
}
// -----
// block loads with offsets: 22 23 24
func.func @f(%t: !xegpu.tensor_desc<8x16xf16>, %u: !xegpu.tensor_desc<16xf32>, %i: index) {
  %0 = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<8x16xf16> -> vector<8x16xf16>
  %1 = xegpu.load_nd %t[%i, -8] {mine} : !xegpu.tensor_desc<8x16xf16> -> vector<8x16xf16>
  %2 = xegpu.load_nd %t[%i, %i] : !xegpu.tensor_desc<8x16xf16> -> vector<8xf16>
  %3 = xegpu.load_nd %u[%i] : !xegpu.tensor_desc<16xf32> -> vector<16xf32>
  return
}
// -----
// a block load that packs: 22 23 24
func.func @f(%t: !xegpu.tensor_desc<16x16xf16>) {
  %0 = xegpu.load_nd %t[0, 0] <{packed}> : !xegpu.tensor_desc<16x16xf16> -> vector<8x16x2xf16>
  %1 = xegpu.load_nd %t[0, 0] <{packed}> {mine} : !xegpu.tensor_desc<16x16xf16> -> vector<16xf16>
  return
}
// -----
// a block load that transposes: 22 23 24
func.func @f(%t: !xegpu.tensor_desc<16x8xf32>) {
  %0 = xegpu.load_nd %t[0, 0] <{transpose = array<i64: 1, 0>}> : !xegpu.tensor_desc<16x8xf32> -> vector<8x16xf32>
  return
}
// -----
// hints and layout of a block load: 22 23 24
func.func @f(%t: !xegpu.tensor_desc<8x16xf16>) {
  %0 = xegpu.load_nd %t[0, 0] <{l1_hint = #xegpu.cache_hint<cached>, l2_hint = #xegpu.cache_hint<uncached>,
    l3_hint = #xegpu.cache_hint<streaming>}> : !xegpu.tensor_desc<8x16xf16> -> vector<8x16xf16>
  %1 = xegpu.load_nd %t[0, 0] <{l1_hint = #xegpu.cache_hint<read_invalidate>,
    layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>}>
    : !xegpu.tensor_desc<8x16xf16> -> vector<8x16xf16>
  return
}
// -----
// inherent attributes in plain braces: 22 23
func.func @f(%t: !xegpu.tensor_desc<16x16xf16>) {
  %0 = xegpu.load_nd %t[0, 0] {packed, l1_hint = #xegpu.cache_hint<cached>, mine = 1 : i32}
    : !xegpu.tensor_desc<16x16xf16> -> vector<8x16x2xf16>
  %1 = xegpu.load_nd %t[0, 0] <{packed}> {l2_hint = #xegpu.cache_hint<cached>}
    : !xegpu.tensor_desc<16x16xf16> -> vector<8x16x2xf16>
  xegpu.prefetch_nd %t[0, 0] {l1_hint = #xegpu.cache_hint<cached>} : !xegpu.tensor_desc<16x16xf16>
  return
}
// -----
// block stores with offsets: 22 23 24
func.func @f(%v: vector<8x16xf16>, %w: vector<8xf16>, %t: !xegpu.tensor_desc<8x16xf16>, %i: index) {
  xegpu.store_nd %v, %t[0, 0] : vector<8x16xf16>, !xegpu.tensor_desc<8x16xf16>
  xegpu.store_nd %w, %t[%i, 16] <{l1_hint = #xegpu.cache_hint<write_back>, l2_hint = #xegpu.cache_hint<write_through>,
    l3_hint = #xegpu.cache_hint<uncached>}> {mine} : vector<8xf16>, !xegpu.tensor_desc<8x16xf16>
  xegpu.store_nd %v, %t[%i, %i] <{layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>}>
    : vector<8x16xf16>, !xegpu.tensor_desc<8x16xf16>
  return
}
// -----
// block prefetches with offsets: 22 23 24
func.func @f(%t: !xegpu.tensor_desc<8x16xf16>, %i: index) {
  xegpu.prefetch_nd %t[0, 0] : !xegpu.tensor_desc<8x16xf16>
  xegpu.prefetch_nd %t[%i, 16] <{l1_hint = #xegpu.cache_hint<cached>}> {mine} : !xegpu.tensor_desc<8x16xf16>
  xegpu.prefetch_nd %t[%i, %i] <{layout = #xegpu.layout<inst_data = [8, 16]>}> : !xegpu.tensor_desc<8x16xf16>
  return
}
// -----
// products at subgroup and lane level: 22 23 24
func.func @f(%a: vector<8x16xf16>, %b: vector<16x16xf16>, %p: vector<8x16x2xf16>, %c: vector<8x16xf32>,
    %x: vector<8xf16>, %y: vector<16xf16>, %z: vector<8xf32>) {
  %0 = xegpu.dpas %a, %b : vector<8x16xf16>, vector<16x16xf16> -> vector<8x16xf32>
  %1 = xegpu.dpas %a, %b, %c : vector<8x16xf16>, vector<16x16xf16>, vector<8x16xf32> -> vector<8x16xf32>
  %2 = xegpu.dpas %a, %p, %c {mine} : vector<8x16xf16>, vector<8x16x2xf16>, vector<8x16xf32> -> vector<8x16xf32>
  %3 = xegpu.dpas %x, %y, %z : vector<8xf16>, vector<16xf16>, vector<8xf32> -> vector<8xf32>
  return
}
// -----
// products with layouts in plain braces: 22 23
func.func @f(%a: vector<8x16xf16>, %b: vector<16x16xf16>, %c: vector<8x16xf32>) {
  %0 = xegpu.dpas %a, %b, %c {layout_a = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>,
    layout_b = #xegpu.layout<lane_layout = [1, 16], lane_data = [2, 1]>, mine,
    layout_cd = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>}
    : vector<8x16xf16>, vector<16x16xf16>, vector<8x16xf32> -> vector<8x16xf32>
  return
}
// -----
// products with layouts in their own brackets: 24
func.func @f(%a: vector<8x16xf16>, %b: vector<16x16xf16>, %c: vector<8x16xf32>) {
  %0 = xegpu.dpas %a, %b, %c <{layout_a = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>,
    layout_b = #xegpu.layout<lane_layout = [1, 16], lane_data = [2, 1]>,
    layout_cd = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>}> {mine}
    : vector<8x16xf16>, vector<16x16xf16>, vector<8x16xf32> -> vector<8x16xf32>
  return
}
// -----
// products of other elements: 22 23 24
func.func @f(%a: vector<8x16xbf16>, %b: vector<16x16xbf16>, %c: vector<8x16xbf16>, %t: vector<8x8xtf32>,
    %u: vector<8x16xtf32>, %i: vector<8x32xi8>, %j: vector<32x16xi8>, %k: vector<8x16xi32>) {
  %0 = xegpu.dpas %a, %b, %c : vector<8x16xbf16>, vector<16x16xbf16>, vector<8x16xbf16> -> vector<8x16xbf16>
  %1 = xegpu.dpas %t, %u : vector<8x8xtf32>, vector<8x16xtf32> -> vector<8x16xf32>
  %2 = xegpu.dpas %i, %j, %k : vector<8x32xi8>, vector<32x16xi8>, vector<8x16xi32> -> vector<8x16xi32>
  return
}
// -----
// products of microscaled numbers: 23 24
func.func @f(%a: vector<8x32xf8E5M2>, %b: vector<32x16xf8E5M2>, %c: vector<8x16xf32>, %s: vector<8x1xf8E8M0FNU>,
    %t: vector<1x16xf8E8M0FNU>) {
  %0 = xegpu.dpas_mx %a, %b, %c scale_a = %s scale_b = %t : (vector<8x32xf8E5M2>, vector<32x16xf8E5M2>,
    vector<8x16xf32>, vector<8x1xf8E8M0FNU>, vector<1x16xf8E8M0FNU>) -> vector<8x16xf32>
  %1 = xegpu.dpas_mx %a, %b scale_a = %s scale_b = %t {mine} : (vector<8x32xf8E5M2>, vector<32x16xf8E5M2>,
    vector<8x1xf8E8M0FNU>, vector<1x16xf8E8M0FNU>) -> vector<8x16xf32>
  %2 = xegpu.dpas_mx %a, %b scale_b = %t
    : (vector<8x32xf8E5M2>, vector<32x16xf8E5M2>, vector<1x16xf8E8M0FNU>) -> vector<8x16xf32>
  %3 = xegpu.dpas_mx %a, %b, %c : (vector<8x32xf8E5M2>, vector<32x16xf8E5M2>, vector<8x16xf32>) -> vector<8x16xf32>
  return
}
// -----
// products of microscaled numbers with layouts in plain braces: 23
func.func @f(%a: vector<8x32xf8E5M2>, %b: vector<32x16xf8E5M2>, %s: vector<8x1xf8E8M0FNU>, %t: vector<1x16xf8E8M0FNU>) {
  %0 = xegpu.dpas_mx %a, %b scale_a = %s scale_b = %t {layout_a = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 2]>,
    layout_b = #xegpu.layout<lane_layout = [1, 16], lane_data = [4, 1]>, mine,
    layout_a_scale = #xegpu.layout<lane_layout = [8, 1], lane_data = [1, 1]>,
    layout_b_scale = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>,
    layout_cd = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>} : (vector<8x32xf8E5M2>, vector<32x16xf8E5M2>,
    vector<8x1xf8E8M0FNU>, vector<1x16xf8E8M0FNU>) -> vector<8x16xf32>
  return
}
// -----
// products of microscaled numbers with layouts in their own brackets: 24
func.func @f(%a: vector<8x32xf8E5M2>, %b: vector<32x16xf8E5M2>, %s: vector<8x1xf8E8M0FNU>, %t: vector<1x16xf8E8M0FNU>) {
  %0 = xegpu.dpas_mx %a, %b scale_a = %s scale_b = %t <{layout_a = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 2]>,
    layout_b_scale = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>}> {mine} : (vector<8x32xf8E5M2>,
    vector<32x16xf8E5M2>, vector<8x1xf8E8M0FNU>, vector<1x16xf8E8M0FNU>) -> vector<8x16xf32>
  return
}
// -----
// rounding to narrower elements: 23 24
func.func @f(%a: vector<8x32xf16>, %b: vector<16xbf16>) {
  %0 = xegpu.truncf %a : vector<8x32xf16> -> vector<8x32xf8E5M2>
  %1 = xegpu.truncf %b {mine} : vector<16xbf16> -> vector<16xf4E2M1FN>
  return
}
// -----
// elements that move between lanes: 24
func.func @f(%a: vector<8xf16>) {
  %0 = xegpu.lane_shuffle %a pack : vector<8xf16>
  %1 = xegpu.lane_shuffle %0 unpack {mine} : vector<8xf16>
  return
}
// -----
// conversions between layouts: 22 23 24
func.func @f(%a: vector<16x16xf16>, %s: vector<16xf32>) {
  %0 = xegpu.convert_layout %a <{input_layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>,
    target_layout = #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>}> : vector<16x16xf16>
  %1 = xegpu.convert_layout %s <{input_layout = #xegpu.layout<lane_layout = [16], lane_data = [1]>,
    target_layout = #xegpu.slice<#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>, dims = [0]>}> {mine}
    : vector<16xf32>
  return
}
// -----
// blocks in generic form: 22
"func.func"() <{function_type = (i64, index) -> (), sym_name = "f"}> ({
^bb0(%p: i64, %i: index):
  %0 = "xegpu.create_nd_tdesc"(%p, %i, %i, %i) <{const_offsets = array<i64: -9223372036854775808, 0>,
    const_shape = array<i64: -9223372036854775808, 64>, const_strides = array<i64: -9223372036854775808, 1>,
    operandSegmentSizes = array<i32: 1, 1, 1, 1>}> : (i64, index, index, index) -> !xegpu.tensor_desc<8x16xf16>
  %1 = "xegpu.load_nd"(%0) : (!xegpu.tensor_desc<8x16xf16>) -> vector<8x16xf16>
  %2 = "xegpu.load_nd"(%0, %i) <{const_offsets = array<i64: -9223372036854775808, 8>}> {mine}
    : (!xegpu.tensor_desc<8x16xf16>, index) -> vector<8x16xf16>
  %3 = "xegpu.update_nd_offset"(%0) <{const_offsets = array<i64: 0, 8>}>
    : (!xegpu.tensor_desc<8x16xf16>) -> !xegpu.tensor_desc<8x16xf16>
  "xegpu.store_nd"(%1, %0) : (vector<8x16xf16>, !xegpu.tensor_desc<8x16xf16>) -> ()
  "func.return"() : () -> ()
}) : () -> ()
// -----
// blocks in generic form without offsets of the descriptor: 23 24
"func.func"() <{function_type = (i64, index) -> (), sym_name = "f"}> ({
^bb0(%p: i64, %i: index):
  %0 = "xegpu.create_nd_tdesc"(%p, %i, %i) <{const_shape = array<i64: -9223372036854775808, 64>,
    const_strides = array<i64: -9223372036854775808, 1>, operandSegmentSizes = array<i32: 1, 1, 1>}>
    : (i64, index, index) -> !xegpu.tensor_desc<8x16xf16>
  %1 = "xegpu.load_nd"(%0, %i) <{const_offsets = array<i64: -9223372036854775808, 8>, packed}>
    : (!xegpu.tensor_desc<8x16xf16>, index) -> vector<4x16x2xf16>
  "func.return"() : () -> ()
}) : () -> ()
