builtin.module attributes {gpu.container_module} {
  gpu.module @gemm {
    gpu.func @gemm(%a: i64, %b: i64, %c: i64, %m: i32, %n: i32, %k: i32, %lda: i32, %ldb: i32, %ldc: i32) kernel attributes {intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: 16, 1, 1>} {
      %zero = arith.constant 0 : index
      %k_step = arith.constant 16 : index
      %size_m = arith.index_cast %m : i32 to index
      %size_n = arith.index_cast %n : i32 to index
      %size_k = arith.index_cast %k : i32 to index
      %size_lda = arith.index_cast %lda : i32 to index
      %size_ldb = arith.index_cast %ldb : i32 to index
      %size_ldc = arith.index_cast %ldc : i32 to index
      %one_step = arith.constant 16 : i32
      %at_least_one = arith.maxsi %k, %one_step : i32
      %depth = arith.index_cast %at_least_one : i32 to index
      %tile_row = gpu.block_id y
      %tile_rows = arith.constant 32 : index
      %row0 = arith.muli %tile_row, %tile_rows : index
      %tile_column = gpu.block_id x
      %tile_columns = arith.constant 32 : index
      %column0 = arith.muli %tile_column, %tile_columns : index
      %past8 = arith.constant 8 : index
      %row1 = arith.addi %row0, %past8 : index
      %past16 = arith.constant 16 : index
      %row2 = arith.addi %row0, %past16 : index
      %past24 = arith.constant 24 : index
      %row3 = arith.addi %row0, %past24 : index
      %past16_1 = arith.constant 16 : index
      %column1 = arith.addi %column0, %past16_1 : index
      %matrix_a = xegpu.create_nd_tdesc %a, shape : [%size_m, %size_k], strides : [%size_lda, 1] : i64 -> !xegpu.tensor_desc<8x16xf16>
      %matrix_b = xegpu.create_nd_tdesc %b, shape : [%size_k, %size_n], strides : [%size_ldb, 1] : i64 -> !xegpu.tensor_desc<16x16xf16>
      %matrix_c = xegpu.create_nd_tdesc %c, shape : [%size_m, %size_n], strides : [%size_ldc, 1] : i64 -> !xegpu.tensor_desc<8x16xf32>
      %zeros = arith.constant dense<0.000000e+00> : vector<8xf32>
      %tile0x0, %tile0x1, %tile1x0, %tile1x1, %tile2x0, %tile2x1, %tile3x0, %tile3x1 = scf.for %step = %zero to %depth step %k_step iter_args(%c0x0 = %zeros, %c0x1 = %zeros, %c1x0 = %zeros, %c1x1 = %zeros, %c2x0 = %zeros, %c2x1 = %zeros, %c3x0 = %zeros, %c3x1 = %zeros) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>) {
        %a0 = xegpu.load_nd %matrix_a[%row0, %step] : !xegpu.tensor_desc<8x16xf16> -> vector<8xf16>
        %a1 = xegpu.load_nd %matrix_a[%row1, %step] : !xegpu.tensor_desc<8x16xf16> -> vector<8xf16>
        %a2 = xegpu.load_nd %matrix_a[%row2, %step] : !xegpu.tensor_desc<8x16xf16> -> vector<8xf16>
        %a3 = xegpu.load_nd %matrix_a[%row3, %step] : !xegpu.tensor_desc<8x16xf16> -> vector<8xf16>
        %b0 = xegpu.load_nd %matrix_b[%step, %column0] <{packed}> : !xegpu.tensor_desc<16x16xf16> -> vector<16xf16>
        %b1 = xegpu.load_nd %matrix_b[%step, %column1] <{packed}> : !xegpu.tensor_desc<16x16xf16> -> vector<16xf16>
        %d0x0 = xegpu.dpas %a0, %b0, %c0x0 : vector<8xf16>, vector<16xf16>, vector<8xf32> -> vector<8xf32>
        %d0x1 = xegpu.dpas %a0, %b1, %c0x1 : vector<8xf16>, vector<16xf16>, vector<8xf32> -> vector<8xf32>
        %d1x0 = xegpu.dpas %a1, %b0, %c1x0 : vector<8xf16>, vector<16xf16>, vector<8xf32> -> vector<8xf32>
        %d1x1 = xegpu.dpas %a1, %b1, %c1x1 : vector<8xf16>, vector<16xf16>, vector<8xf32> -> vector<8xf32>
        %d2x0 = xegpu.dpas %a2, %b0, %c2x0 : vector<8xf16>, vector<16xf16>, vector<8xf32> -> vector<8xf32>
        %d2x1 = xegpu.dpas %a2, %b1, %c2x1 : vector<8xf16>, vector<16xf16>, vector<8xf32> -> vector<8xf32>
        %d3x0 = xegpu.dpas %a3, %b0, %c3x0 : vector<8xf16>, vector<16xf16>, vector<8xf32> -> vector<8xf32>
        %d3x1 = xegpu.dpas %a3, %b1, %c3x1 : vector<8xf16>, vector<16xf16>, vector<8xf32> -> vector<8xf32>
        scf.yield %d0x0, %d0x1, %d1x0, %d1x1, %d2x0, %d2x1, %d3x0, %d3x1 : vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>
      }
      xegpu.store_nd %tile0x0, %matrix_c[%row0, %column0] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>
      xegpu.store_nd %tile0x1, %matrix_c[%row0, %column1] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>
      xegpu.store_nd %tile1x0, %matrix_c[%row1, %column0] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>
      xegpu.store_nd %tile1x1, %matrix_c[%row1, %column1] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>
      xegpu.store_nd %tile2x0, %matrix_c[%row2, %column0] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>
      xegpu.store_nd %tile2x1, %matrix_c[%row2, %column1] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>
      xegpu.store_nd %tile3x0, %matrix_c[%row3, %column0] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>
      xegpu.store_nd %tile3x1, %matrix_c[%row3, %column1] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>
      gpu.return
    }
  }
}
