
gpu.module @shifted {
  gpu.func @shifted(%p: i64, %q: i64) kernel attributes {known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32} {
    %c0 = arith.constant 0 : index
    %t = xegpu.create_nd_tdesc %p, shape : [16, 16], strides : [16, 1] : i64 -> !xegpu.tensor_desc<16x16xf32>
    %x = xegpu.load_nd %t[%c0, %c0] : !xegpu.tensor_desc<16x16xf32> -> vector<16x16xf32>
    %low = arith.constant dense<0xFF800000> : vector<16xf32>
    %most = vector.multi_reduction <maximumf>, %x, %low [1] : vector<16x16xf32> to vector<16xf32>
    %column = vector.shape_cast %most : vector<16xf32> to vector<16x1xf32>
    %rows = vector.broadcast %column : vector<16x1xf32> to vector<16x16xf32>
    %d = arith.subf %x, %rows : vector<16x16xf32>
    %u = xegpu.create_nd_tdesc %q, shape : [16, 16], strides : [16, 1] : i64 -> !xegpu.tensor_desc<16x16xf32>
    xegpu.store_nd %d, %u[%c0, %c0] : vector<16x16xf32>, !xegpu.tensor_desc<16x16xf32>
    gpu.return
  }
}
