// tiles from memory: 22
func.func @f(%m: memref<?x?xi8>, %v: memref<?xi8>, %i: index, %s: index) {
  %0 = amx.tile_load %m[%i, %i] : memref<?x?xi8> into !amx.tile<16x64xi8>
  %1 = amx.tile_load %v[%i], %s : memref<?xi8> into !amx.tile<16x64xi8>
  %2 = amx.tile_load %m[%i, %i], %s {mine} : memref<?x?xi8> into !amx.tile<16x64xi8>
  return
}
// -----
// tiles from memory, under the name of 23: 23 24
func.func @f(%m: memref<?x?xi8>, %v: memref<?xi8>, %i: index, %s: index) {
  %0 = x86.amx.tile_load %m[%i, %i] : memref<?x?xi8> into !x86.amx.tile<16x64xi8>
  %1 = x86.amx.tile_load %v[%i], %s : memref<?xi8> into !x86.amx.tile<16x64xi8>
  %2 = x86.amx.tile_load %m[%i, %i], %s {mine} : memref<?x?xi8> into !x86.amx.tile<16x64xi8>
  return
}
// -----
// tiles to memory: 22
func.func @f(%m: memref<?x?xf32>, %v: memref<?xf32>, %i: index, %s: index, %t: !amx.tile<16x16xf32>) {
  amx.tile_store %m[%i, %i], %t : memref<?x?xf32>, !amx.tile<16x16xf32>
  amx.tile_store %v[%i], %t, %s : memref<?xf32>, !amx.tile<16x16xf32>
  amx.tile_store %v[%i], %t, %s {mine} : memref<?xf32>, !amx.tile<16x16xf32>
  return
}
// -----
// tiles to memory, under the name of 23: 23 24
func.func @f(%m: memref<?x?xf32>, %v: memref<?xf32>, %i: index, %s: index, %t: !x86.amx.tile<16x16xf32>) {
  x86.amx.tile_store %m[%i, %i], %t : memref<?x?xf32>, !x86.amx.tile<16x16xf32>
  x86.amx.tile_store %v[%i], %t, %s {mine} : memref<?xf32>, !x86.amx.tile<16x16xf32>
  return
}
// -----
// products of tiles: 22
func.func @f(%a: !amx.tile<16x32xbf16>, %b: !amx.tile<16x32xbf16>, %c: !amx.tile<16x16xf32>, %h: !amx.tile<16x32xf16>,
    %i: !amx.tile<16x64xi8>, %n: !amx.tile<16x16xi32>) {
  %0 = amx.tile_mulf %a, %b, %c : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
  %1 = amx.tile_mulf %h, %h, %c {mine} : !amx.tile<16x32xf16>, !amx.tile<16x32xf16>, !amx.tile<16x16xf32>
  %2 = amx.tile_muli %i, %i, %n : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
  %3 = amx.tile_muli %i zext, %i, %n : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
  %4 = amx.tile_muli %i, %i zext, %n : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
  %5 = amx.tile_muli %i zext, %i zext, %n {mine} : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
  return
}
// -----
// products of tiles, under the name of 23: 23 24
func.func @f(%a: !x86.amx.tile<16x32xbf16>, %c: !x86.amx.tile<16x16xf32>, %i: !x86.amx.tile<16x64xi8>,
    %n: !x86.amx.tile<16x16xi32>) {
  %0 = x86.amx.tile_mulf %a, %a, %c : !x86.amx.tile<16x32xbf16>, !x86.amx.tile<16x32xbf16>, !x86.amx.tile<16x16xf32>
  %1 = x86.amx.tile_muli %i zext, %i, %n
    : !x86.amx.tile<16x64xi8>, !x86.amx.tile<16x64xi8>, !x86.amx.tile<16x16xi32>
  %2 = x86.amx.tile_muli %i zext, %i zext, %n {mine}
    : !x86.amx.tile<16x64xi8>, !x86.amx.tile<16x64xi8>, !x86.amx.tile<16x16xi32>
  return
}
// -----
// tiles of zeros, of every element: 22
func.func @f() {
  %0 = amx.tile_zero : !amx.tile<16x16xf32>
  %1 = amx.tile_zero : !amx.tile<16x32xbf16>
  %2 = amx.tile_zero : !amx.tile<16x32xf16>
  %3 = amx.tile_zero : !amx.tile<16x16xi32>
  %4 = amx.tile_zero {mine} : !amx.tile<16x64xi8>
  return
}
// -----
// tiles of zeros, under the name of 23: 23 24
func.func @f() {
  %0 = x86.amx.tile_zero : !x86.amx.tile<16x16xf32>
  %1 = x86.amx.tile_zero {mine} : !x86.amx.tile<16x64xi8>
  return
}
// -----
// tiles in generic form: 22
"func.func"() <{function_type = (memref<?x?xi8>, index, !amx.tile<16x16xi32>) -> (), sym_name = "f"}> ({
^bb0(%m: memref<?x?xi8>, %i: index, %n: !amx.tile<16x16xi32>):
  %0 = "amx.tile_load"(%m, %i, %i) <{operandSegmentSizes = array<i32: 1, 2, 0>}>
    : (memref<?x?xi8>, index, index) -> !amx.tile<16x64xi8>
  %1 = "amx.tile_muli"(%0, %0, %n) <{isZextRhs}>
    : (!amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>) -> !amx.tile<16x16xi32>
  "amx.tile_store"(%m, %i, %i, %0, %i) <{operandSegmentSizes = array<i32: 1, 2, 1, 1>}>
    : (memref<?x?xi8>, index, index, !amx.tile<16x64xi8>, index) -> ()
  "func.return"() : () -> ()
}) : () -> ()
