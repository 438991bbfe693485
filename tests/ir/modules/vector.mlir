// vectors with their elements in other places: 22 23 24
func.func @moving(%a: vector<8x16xf32>, %s: f32, %v: vector<4xf32>, %w: vector<8xf32>, %i: index, %h: vector<8xf16>, %z: vector<f32>, %p: vector<[4]xf32>) {
  %0 = vector.broadcast %s : f32 to vector<4x4xf32>
  %1 = vector.broadcast %v : vector<4xf32> to vector<8x4xf32>
  %2 = vector.broadcast %s {note} : f32 to vector<f32>
  %3 = vector.bitcast %h : vector<8xf16> to vector<4xi32>
  %4 = vector.shape_cast %a : vector<8x16xf32> to vector<128xf32>
  %5 = vector.shape_cast %z : vector<f32> to vector<1x1xf32>
  %6 = vector.transpose %a, [1, 0] : vector<8x16xf32> to vector<16x8xf32>
  %7 = vector.extract %a[%i, 3] : f32 from vector<8x16xf32>
  %8 = vector.extract %a[2] : vector<16xf32> from vector<8x16xf32>
  %9 = vector.extract %z[] : f32 from vector<f32>
  %10 = vector.insert %s, %a[%i, -1] : f32 into vector<8x16xf32>
  %11 = vector.insert %v, %1[7] {note} : vector<4xf32> into vector<8x4xf32>
  %12 = vector.shuffle %v, %w [0, 1, -1, 11] : vector<4xf32>, vector<8xf32>
  %13 = vector.shuffle %a, %a [0, 9] {note} : vector<8x16xf32>, vector<8x16xf32>
  %14 = vector.interleave %v, %v : vector<4xf32> -> vector<8xf32>
  %15, %16 = vector.deinterleave %w : vector<8xf32> -> vector<4xf32>
  %17:4 = vector.to_elements %v : vector<4xf32>
  %18 = vector.from_elements %17#0, %17#1, %s, %s {note} : vector<2x2xf32>
  %19 = vector.from_elements %s : vector<f32>
  %20 = vector.scalable.insert %v, %p[0] : vector<4xf32> into vector<[4]xf32>
  %21 = vector.scalable.extract %20[0] : vector<4xf32> from vector<[4]xf32>
  %22 = vector.interleave %p, %p : vector<[4]xf32> -> vector<[8]xf32>
  return
}
// -----
// slices with their numbers in braces: 22 23
func.func @slices(%a: vector<8x16xf32>, %b: vector<2x2xf32>) {
  %0 = vector.extract_strided_slice %a {offsets = [0, 1], sizes = [2, 2], strides = [1, 1]} : vector<8x16xf32> to vector<2x2xf32>
  %1 = vector.extract_strided_slice %a {note, offsets = [4], sizes = [2], strides = [1]} : vector<8x16xf32> to vector<2x16xf32>
  %2 = vector.insert_strided_slice %b, %a {offsets = [0, 1], strides = [1, 1]} : vector<2x2xf32> into vector<8x16xf32>
  return
}
// -----
// slices with their numbers beside the operands: 24
func.func @slices(%a: vector<8x16xf32>, %b: vector<2x2xf32>) {
  %0 = vector.extract_strided_slice %a offsets = [0, 1], sizes = [2, 2], strides = [1, 1] : vector<8x16xf32> to vector<2x2xf32>
  %1 = vector.extract_strided_slice %a offsets = [4], sizes = [2], strides = [1] {note} : vector<8x16xf32> to vector<2x16xf32>
  %2 = vector.insert_strided_slice %b, %a offsets = [0, 1], strides = [1, 1] : vector<2x2xf32> into vector<8x16xf32>
  return
}
// -----
// slices in the generic form: 22 23 24
func.func @slices(%a: vector<8x16xf32>, %b: vector<2x2xf32>) {
  %0 = "vector.extract_strided_slice"(%a) <{offsets = [0, 1], sizes = [2, 2], strides = [1, 1]}> : (vector<8x16xf32>) -> vector<2x2xf32>
  %1 = "vector.insert_strided_slice"(%b, %a) {offsets = [0, 1], strides = [1, 1], note} : (vector<2x2xf32>, vector<8x16xf32>) -> vector<8x16xf32>
  return
}
// -----
// reductions: 22 23 24
func.func @reductions(%a: vector<8x16xf32>, %w: vector<8xf32>, %s: f32, %n: vector<8xi32>, %c: i32, %m: vector<8xi1>, %q: vector<8x16xi1>) {
  %0 = vector.reduction <add>, %w : vector<8xf32> into f32
  %1 = vector.reduction <mul>, %w, %s : vector<8xf32> into f32
  %2 = vector.reduction <maxnumf>, %w, %s fastmath<reassoc,nnan> {note} : vector<8xf32> into f32
  %3 = vector.reduction <minui>, %n : vector<8xi32> into i32
  %4 = vector.reduction <xor>, %n, %c : vector<8xi32> into i32
  %5 = vector.reduction <maximumf>, %w : vector<8xf32> into f32
  %6 = vector.multi_reduction <add>, %a, %w [1] : vector<8x16xf32> to vector<8xf32>
  %7 = vector.multi_reduction <minimumf>, %a, %s {note} [0, 1] : vector<8x16xf32> to f32
  %8 = vector.mask %m { vector.reduction <add>, %w : vector<8xf32> into f32 } : vector<8xi1> -> f32
  %10 = vector.mask %m { vector.yield %w : vector<8xf32> } : vector<8xi1> -> vector<8xf32>
  %9 = vector.mask %q { vector.multi_reduction <add>, %a, %w [1] : vector<8x16xf32> to vector<8xf32> } : vector<8x16xi1> -> vector<8xf32>
  return
}
// -----
// products: 22 23 24
#lhs = affine_map<(d0, d1, d2) -> (d0, d2)>
#rhs = affine_map<(d0, d1, d2) -> (d2, d1)>
#acc = affine_map<(d0, d1, d2) -> (d0, d1)>
#product = {indexing_maps = [#lhs, #rhs, #acc], iterator_types = ["parallel", "parallel", "reduction"]}
func.func @products(%a: vector<8x16xf32>, %b: vector<16x4xf32>, %c: vector<8x4xf32>, %v: vector<4xf32>, %w: vector<8xf32>, %s: f32, %m: vector<8x4x16xi1>) {
  %0 = vector.contract {indexing_maps = [#lhs, #rhs, #acc], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %c : vector<8x16xf32>, vector<16x4xf32> into vector<8x4xf32>
  %1 = vector.contract #product %a, %b, %c {note} : vector<8x16xf32>, vector<16x4xf32> into vector<8x4xf32>
  %2 = vector.mask %m { vector.contract {indexing_maps = [#lhs, #rhs, #acc], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<maxnumf>} %a, %b, %c : vector<8x16xf32>, vector<16x4xf32> into vector<8x4xf32> } : vector<8x4x16xi1> -> vector<8x4xf32>
  %3 = vector.outerproduct %w, %v : vector<8xf32>, vector<4xf32>
  %4 = vector.outerproduct %w, %v, %3 {kind = #vector.kind<mul>} : vector<8xf32>, vector<4xf32>
  %5 = vector.outerproduct %w, %s : vector<8xf32>, f32
  %6 = vector.fma %v, %v, %v : vector<4xf32>
  return
}
// -----
// scans in the generic form: 22 23 24
func.func @scans(%a: vector<8x16xf32>, %w: vector<8xf32>) {
  %0:2 = "vector.scan"(%a, %w) <{inclusive = true, kind = #vector.kind<add>, reduction_dim = 1 : i64}> : (vector<8x16xf32>, vector<8xf32>) -> (vector<8x16xf32>, vector<8xf32>)
  return
}
// -----
// masks and numbers: 22 23 24
func.func @masks(%i: index) {
  %0 = vector.create_mask %i, %i : vector<4x8xi1>
  %1 = vector.constant_mask [2, 3] : vector<4x8xi1>
  %2 = vector.constant_mask [4] {note} : vector<[4]xi1>
  %3 = vector.step : vector<16xindex>
  %4 = vector.step : vector<[4]xindex>
  %5 = vector.vscale
  return
}
// -----
// printing: 22 23 24
func.func @printing(%w: vector<8xf32>, %i: index) {
  vector.print %w : vector<8xf32>
  vector.print %i : index punctuation <comma>
  vector.print str "hello"
  vector.print
  vector.print punctuation <open>
  vector.print punctuation <no_punctuation>
  return
}
// -----
// loads and stores: 22 23 24
func.func @memory(%m: memref<?xf32>, %i: index, %v: vector<4xf32>, %w: vector<8xf32>, %x: vector<4xindex>, %k: vector<4xi1>, %a: memref<4x8xf32>, %t: tensor<?xf32>) {
  %0 = vector.load %m[%i] : memref<?xf32>, vector<8xf32>
  vector.store %w, %m[%i] {note} : memref<?xf32>, vector<8xf32>
  %1 = vector.maskedload %m[%i], %k, %v : memref<?xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  vector.maskedstore %m[%i], %k, %v : memref<?xf32>, vector<4xi1>, vector<4xf32>
  %2 = vector.expandload %m[%i], %k, %v : memref<?xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  vector.compressstore %m[%i], %k, %v : memref<?xf32>, vector<4xi1>, vector<4xf32>
  %3 = vector.gather %m[%i] [%x], %k, %v : memref<?xf32>, vector<4xindex>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  vector.scatter %m[%i] [%x], %k, %v : memref<?xf32>, vector<4xindex>, vector<4xi1>, vector<4xf32>
  %4 = vector.scatter %t[%i] [%x], %k, %v : tensor<?xf32>, vector<4xindex>, vector<4xi1>, vector<4xf32> -> tensor<?xf32>
  %5 = vector.type_cast %a : memref<4x8xf32> to memref<vector<4x8xf32>>
  return
}
// -----
// aligned loads and stores: 22 23
func.func @aligned(%m: memref<?xf32>, %i: index, %v: vector<4xf32>, %w: vector<8xf32>, %x: vector<4xindex>, %k: vector<4xi1>) {
  %0 = vector.load %m[%i] {alignment = 8 : i64, note, nontemporal = true} : memref<?xf32>, vector<8xf32>
  vector.store %w, %m[%i] {nontemporal = true} : memref<?xf32>, vector<8xf32>
  %1 = vector.maskedload %m[%i], %k, %v {alignment = 16 : i64} : memref<?xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  vector.maskedstore %m[%i], %k, %v {alignment = 16 : i64} : memref<?xf32>, vector<4xi1>, vector<4xf32>
  %2 = vector.expandload %m[%i], %k, %v {alignment = 16 : i64} : memref<?xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  vector.compressstore %m[%i], %k, %v {alignment = 16 : i64} : memref<?xf32>, vector<4xi1>, vector<4xf32>
  %3 = vector.gather %m[%i] [%x], %k, %v {alignment = 4 : i64} : memref<?xf32>, vector<4xindex>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  vector.scatter %m[%i] [%x], %k, %v {alignment = 4 : i64} : memref<?xf32>, vector<4xindex>, vector<4xi1>, vector<4xf32>
  return
}
// -----
// aligned loads and stores, beside the operands: 24
func.func @aligned(%m: memref<?xf32>, %i: index, %v: vector<4xf32>, %w: vector<8xf32>, %x: vector<4xindex>, %k: vector<4xi1>, %a: vector<8x16xf32>) {
  %0 = vector.load %m[%i] alignment = 8 nontemporal = true {note} : memref<?xf32>, vector<8xf32>
  vector.store %w, %m[%i] nontemporal = true : memref<?xf32>, vector<8xf32>
  %1 = vector.maskedload %m[%i], %k, %v alignment = 16 : memref<?xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  vector.scatter %m[%i] [%x], %k, %v alignment = 4 : memref<?xf32>, vector<4xindex>, vector<4xi1>, vector<4xf32>
  %2:2 = vector.scan <add>, %a, %w reduction_dim = 1, inclusive = true : vector<8x16xf32>, vector<8xf32>
  return
}
// -----
// transfers: 22 23 24
func.func @transfers(%m: memref<?x?xf32>, %t: tensor<?x?xf32>, %i: index, %s: f32, %v: vector<4x8xf32>, %k: vector<4x8xi1>, %k8: vector<8xi1>, %w: vector<8x4xf32>, %u: vector<8xf32>, %z: memref<f32>) {
  %0 = vector.transfer_read %m[%i, %i], %s : memref<?x?xf32>, vector<4x8xf32>
  %1 = vector.transfer_read %t[%i, %i], %s, %k {in_bounds = [true, false]} : tensor<?x?xf32>, vector<4x8xf32>
  %2 = vector.transfer_read %t[%i, %i], %s, %k8 {permutation_map = affine_map<(d0, d1) -> (d1, 0)>} : tensor<?x?xf32>, vector<8x4xf32>
  %3 = vector.transfer_read %m[%i, %i], %s {in_bounds = [true], note} : memref<?x?xf32>, vector<8xf32>
  %4 = vector.transfer_read %z[], %s : memref<f32>, vector<f32>
  vector.transfer_write %v, %m[%i, %i] {in_bounds = [false, false]} : vector<4x8xf32>, memref<?x?xf32>
  %5 = vector.transfer_write %v, %t[%i, %i], %k {note, permutation_map = affine_map<(d0, d1) -> (d0, d1)>} : vector<4x8xf32>, tensor<?x?xf32>
  vector.transfer_write %w, %m[%i, %i] {in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (d1, d0)>} : vector<8x4xf32>, memref<?x?xf32>
  return
}
