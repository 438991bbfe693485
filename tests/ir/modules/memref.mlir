// buffers: 22 23 24
func.func @buffers(%n: index, %m: memref<?xf32>) {
  %0 = memref.alloc() : memref<4x8xf32>
  %1 = memref.alloc(%n) : memref<?xf32, 3>
  %2 = memref.alloc(%n)[%n] : memref<?xf32, affine_map<(d0)[s0] -> (d0 + s0)>>
  %3 = memref.alloca(%n) {note} : memref<?xf32>
  %4 = memref.realloc %m(%n) : memref<?xf32> to memref<?xf32>
  %5 = memref.realloc %m : memref<?xf32> to memref<16xf32>
  memref.dealloc %0 : memref<4x8xf32>
  %6 = memref.alloca_scope -> (f32) {
    %s = memref.alloca() : memref<f32>
    %x = memref.load %s[] : memref<f32>
    memref.alloca_scope.return %x : f32
  }
  memref.alloca_scope {
    %s = memref.alloca() : memref<f32>
  }
  return
}
// -----
// aligned buffers and elements: 22 23
memref.global "private" constant @a : memref<4xf32> = dense<1.000000e+00> {alignment = 64 : i64, note}
func.func @aligned(%n: index, %x: f32, %p: memref<?xf32>) {
  %0 = memref.alloc(%n) {alignment = 64 : i64, note} : memref<?xf32>
  %1 = memref.alloca() {alignment = 16 : i64} : memref<4xf32>
  %2 = memref.realloc %p(%n) {alignment = 8 : i64} : memref<?xf32> to memref<?xf32>
  %3 = memref.load %0[%n] {alignment = 4 : i64, nontemporal = true} : memref<?xf32>
  memref.store %x, %0[%n] {nontemporal = true} : memref<?xf32>
  return
}
// -----
// aligned buffers and elements, beside the operands: 24
memref.global "private" constant @a : memref<4xf32> = dense<1.000000e+00> alignment = 64 {note}
func.func @aligned(%n: index, %x: f32) {
  %0 = memref.alloc(%n) alignment = 64 {note} : memref<?xf32>
  %1 = memref.alloca() alignment = 16 : memref<4xf32>
  %3 = memref.load %0[%n] alignment(4) nontemporal(true) : memref<?xf32>
  memref.store %x, %0[%n] nontemporal(true) : memref<?xf32>
  return
}
// -----
// aligned buffers and elements in the generic form: 22 23 24
func.func @aligned(%n: index, %x: f32, %p: memref<?xf32>) {
  %0 = "memref.alloc"(%n) <{alignment = 64 : i64, operandSegmentSizes = array<i32: 1, 0>}> : (index) -> memref<?xf32>
  %1 = "memref.load"(%0, %n) <{alignment = 4 : i64, nontemporal = true}> : (memref<?xf32>, index) -> f32
  "memref.store"(%x, %0, %n) {alignment = 4 : i64} : (f32, memref<?xf32>, index) -> ()
  return
}
// -----
// elements: 22 23 24
func.func @elements(%m: memref<?x8xf32>, %i: index, %x: f32, %n: memref<4xi32, #gpu.address_space<workgroup>>, %k: i32) {
  %0 = memref.load %m[%i, %i] : memref<?x8xf32>
  memref.store %x, %m[%i, %i] {note} : memref<?x8xf32>
  memref.prefetch %m[%i, %i], read, locality<3>, data : memref<?x8xf32>
  memref.prefetch %m[%i, %i], write, locality<0>, instr : memref<?x8xf32>
  %1 = memref.atomic_rmw addi %k, %n[%i] : (i32, memref<4xi32, #gpu.address_space<workgroup>>) -> i32
  %2 = memref.generic_atomic_rmw %m[%i, %i] : memref<?x8xf32> {
  ^bb0(%old: f32):
    %s = arith.addf %old, %x : f32
    memref.atomic_yield %s : f32
  }
  %3 = memref.dim %m, %i : memref<?x8xf32>
  %4 = memref.rank %m : memref<?x8xf32>
  return
}
// -----
// atomic updates: 22 23 24
func.func @atomics(%m: memref<?xf32>, %n: memref<?xi32>, %v: f32, %w: i32, %i: index) {
  %0 = memref.atomic_rmw addf %v, %m[%i] : (f32, memref<?xf32>) -> f32
  %1 = memref.atomic_rmw addi %w, %n[%i] : (i32, memref<?xi32>) -> i32
  %2 = memref.atomic_rmw assign %v, %m[%i] : (f32, memref<?xf32>) -> f32
  %3 = memref.atomic_rmw maximumf %v, %m[%i] : (f32, memref<?xf32>) -> f32
  %4 = memref.atomic_rmw maxs %w, %n[%i] : (i32, memref<?xi32>) -> i32
  %5 = memref.atomic_rmw maxu %w, %n[%i] : (i32, memref<?xi32>) -> i32
  %6 = memref.atomic_rmw minimumf %v, %m[%i] : (f32, memref<?xf32>) -> f32
  %7 = memref.atomic_rmw mins %w, %n[%i] : (i32, memref<?xi32>) -> i32
  %8 = memref.atomic_rmw minu %w, %n[%i] : (i32, memref<?xi32>) -> i32
  %9 = memref.atomic_rmw mulf %v, %m[%i] : (f32, memref<?xf32>) -> f32
  %10 = memref.atomic_rmw muli %w, %n[%i] : (i32, memref<?xi32>) -> i32
  %11 = memref.atomic_rmw ori %w, %n[%i] : (i32, memref<?xi32>) -> i32
  %12 = memref.atomic_rmw andi %w, %n[%i] {note} : (i32, memref<?xi32>) -> i32
  %13 = memref.atomic_rmw maxnumf %v, %m[%i] : (f32, memref<?xf32>) -> f32
  %14 = memref.atomic_rmw minnumf %v, %m[%i] : (f32, memref<?xf32>) -> f32
  %15 = memref.atomic_rmw xori %w, %n[%i] : (i32, memref<?xi32>) -> i32
  return
}
// -----
// buffers of the module: 22 23 24
memref.global "private" constant @a : memref<4xf32> = dense<[1.0, 2.0, 0x7F800000, -0.0]>
memref.global @b : memref<4xf32> = uninitialized {note}
memref.global "public" @c : memref<4xf32, 3>
memref.global "private" @d : memref<i32> = dense<3>
memref.global "private" constant @e : memref<2x2xbf16> = dense<[[1.0, 2.0], [3.0, 4.0]]>
memref.global "nested" @f : memref<16xi8> = dense<0>
memref.global "private" constant @g : memref<2xf32> = dense<"0x0000803F00000040">
func.func @use() {
  %0 = memref.get_global @a : memref<4xf32>
  %1 = memref.get_global @c : memref<4xf32, 3>
  return
}
// -----
// views: 22 23 24
func.func @views(%m: memref<4x8xf32>, %d: memref<?xf32>, %b: memref<256xi8>, %i: index, %u: memref<*xf32>, %s: memref<2xindex>) {
  %0 = memref.cast %m : memref<4x8xf32> to memref<?x8xf32>
  %1 = memref.cast %m : memref<4x8xf32> to memref<*xf32>
  %2 = memref.memory_space_cast %m : memref<4x8xf32> to memref<4x8xf32, 1>
  %3 = memref.subview %m[%i, 0] [2, %i] [1, 1] : memref<4x8xf32> to memref<2x?xf32, strided<[8, 1], offset: ?>>
  %4 = memref.subview %m[1, 0] [1, 8] [1, 1] {note} : memref<4x8xf32> to memref<8xf32, strided<[1], offset: 8>>
  %5 = memref.subview %d[%i] [4] [%i] : memref<?xf32> to memref<4xf32, strided<[?], offset: ?>>
  %6 = memref.reinterpret_cast %d to offset: [%i], sizes: [4], strides: [1] : memref<?xf32> to memref<4xf32, strided<[1], offset: ?>>
  %7 = memref.reinterpret_cast %u to offset: [0], sizes: [2, %i], strides: [%i, 1] : memref<*xf32> to memref<2x?xf32, strided<[?, 1]>>
  %8 = memref.view %b[%i][] : memref<256xi8> to memref<4x8xf32>
  %9 = memref.view %b[%i][%i, %i] : memref<256xi8> to memref<?x?xf16>
  %10 = memref.reshape %d(%s) : (memref<?xf32>, memref<2xindex>) -> memref<?x?xf32>
  %11 = memref.collapse_shape %m [[0, 1]] : memref<4x8xf32> into memref<32xf32>
  %12 = memref.expand_shape %d [[0, 1]] output_shape [%i, 4] : memref<?xf32> into memref<?x4xf32>
  %13 = memref.transpose %m (d0, d1) -> (d1, d0) : memref<4x8xf32> to memref<8x4xf32, strided<[1, 8]>>
  %14 = memref.assume_alignment %d, 64 : memref<?xf32>
  %15:2 = memref.distinct_objects %m, %d : memref<4x8xf32>, memref<?xf32>
  %16, %17, %18:2, %19:2 = memref.extract_strided_metadata %m : memref<4x8xf32> -> memref<f32>, index, index, index, index, index
  %20 = memref.extract_aligned_pointer_as_index %m : memref<4x8xf32> -> index
  memref.copy %m, %m {note} : memref<4x8xf32> to memref<4x8xf32>
  %21 = memref.expand_shape %m [[0, 1], [2]] output_shape [2, 2, 8] : memref<4x8xf32> into memref<2x2x8xf32>
  return
}
