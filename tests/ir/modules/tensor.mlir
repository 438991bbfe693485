// tensors: 22 23 24
func.func @tensors(%t: tensor<8x16xf32>, %d: tensor<?xf32>, %i: index, %x: f32, %s: tensor<2xindex>) {
  %0 = tensor.empty(%i) : tensor<?x16xf32>
  %1 = tensor.empty() : tensor<8x16xf32>
  %2 = tensor.dim %d, %i : tensor<?xf32>
  %3 = tensor.cast %d : tensor<?xf32> to tensor<8xf32>
  %4 = tensor.extract %t[%i, %i] : tensor<8x16xf32>
  %5 = tensor.insert %x into %t[%i, %i] : tensor<8x16xf32>
  %6 = tensor.extract_slice %t[%i, 0] [4, 16] [1, 1] : tensor<8x16xf32> to tensor<4x16xf32>
  %7 = tensor.insert_slice %6 into %t[0, %i] [4, 16] [1, 1] : tensor<4x16xf32> into tensor<8x16xf32>
  %8 = tensor.collapse_shape %t [[0, 1]] : tensor<8x16xf32> into tensor<128xf32>
  %9 = tensor.expand_shape %8 [[0, 1]] output_shape [8, 16] : tensor<128xf32> into tensor<8x16xf32>
  %10 = tensor.from_elements %x, %x : tensor<2xf32>
  %11 = tensor.splat %x : tensor<4xf32>
  %12 = tensor.reshape %d(%s) : (tensor<?xf32>, tensor<2xindex>) -> tensor<?x?xf32>
  %13 = tensor.concat dim(0) %t, %t : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %14 = tensor.generate %i {
  ^bb0(%j: index):
    tensor.yield %x : f32
  } : tensor<?xf32>
  %15 = tensor.pad %d low[1] high[%i] {
  ^bb0(%j: index):
    tensor.yield %x : f32
  } : tensor<?xf32> to tensor<?xf32>
  return
}
// -----
// tensors and buffers: 22 23 24
func.func @buffers(%t: tensor<8x16xf32>, %m: memref<8x16xf32>, %i: index) {
  %0 = bufferization.to_tensor %m restrict writable : memref<8x16xf32> to tensor<8x16xf32>
  %1 = bufferization.to_buffer %t : tensor<8x16xf32> to memref<8x16xf32>
  %2 = bufferization.alloc_tensor(%i) : tensor<?xf32>
  bufferization.materialize_in_destination %t in writable %m : (tensor<8x16xf32>, memref<8x16xf32>) -> ()
  %3 = bufferization.clone %m : memref<8x16xf32> to memref<8x16xf32>
  return
}
// -----
// loops of linear algebra: 22 23 24
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @linalg(%a: memref<8x16xf32>, %b: memref<16x8xf32>, %c: memref<8x8xf32>, %x: f32, %t: tensor<8x16xf32>, %u: tensor<16x8xf32>, %v: tensor<8x8xf32>) -> tensor<8x8xf32> {
  linalg.fill ins(%x : f32) outs(%c : memref<8x8xf32>)
  linalg.matmul ins(%a, %b : memref<8x16xf32>, memref<16x8xf32>) outs(%c : memref<8x8xf32>)
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : memref<8x16xf32>) outs(%a : memref<8x16xf32>) {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  }
  %0 = linalg.fill ins(%x : f32) outs(%v : tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = linalg.matmul ins(%t, %u : tensor<8x16xf32>, tensor<16x8xf32>) outs(%0 : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
// -----
// borders, and loops over maps: 22 23 24
func.func @f(%t: tensor<4xf32>, %x: f32, %n: index) {
  %p = tensor.pad %t low[1] high[%n] {
  ^bb0(%i: index):
    tensor.yield %x : f32
  } : tensor<4xf32> to tensor<?xf32>
  %q = tensor.pad %t nofold low[1] high[2] {
  ^bb0(%i: index):
    tensor.yield %x : f32
  } : tensor<4xf32> to tensor<7xf32>
  affine.for %i = 0 to %n step 2 {
    affine.if affine_set<(d0) : (d0 - 1 >= 0)>(%i) {
    }
  }
  affine.for %i = max affine_map<(d0) -> (d0, 4)>(%n) to min affine_map<(d0)[s0] -> (d0, s0)>(%n)[%n] {
  }
  %r = affine.for %i = 0 to 4 iter_args(%a = %x) -> (f32) {
    affine.yield %a : f32
  }
  return
}
