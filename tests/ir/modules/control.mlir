// loops: 22 23 24
func.func @loops(%flag: i1, %lb: index, %ub: index, %st: index, %x: f32, %n: i32, %m: memref<?xf32>) -> f32 {
  scf.for %i = %lb to %ub step %st {
    memref.store %x, %m[%i] : memref<?xf32>
  }
  %0 = scf.for %i = %lb to %ub step %st iter_args(%acc = %x) -> (f32) {
    %s = arith.addf %acc, %x : f32
    scf.yield %s : f32
  }
  %4 = scf.for %i = %lb to %ub step %st iter_args(%acc = %x) -> f32 {
    scf.yield %acc : f32
  }
  %5 = scf.if %flag -> f32 {
    scf.yield %x : f32
  } else {
    scf.yield %x : f32
  }
  %1:2 = scf.for %i = %n to %n step %n iter_args(%a = %x, %b = %n) -> (f32, i32) : i32 {
    scf.yield %a, %b : f32, i32
  } {unrolled}
  %2:2 = scf.while (%a = %x, %b = %n) : (f32, i32) -> (f32, i32) {
    %c = arith.cmpi slt, %b, %n : i32
    scf.condition(%c) %a, %b : f32, i32
  } do {
  ^bb0(%a: f32, %b: i32):
    scf.yield %a, %b : f32, i32
  }
  scf.while : () -> () {
    %c = arith.constant false
    scf.condition(%c)
  } do {
    scf.yield
  } attributes {note = 1 : i64}
  scf.parallel (%i, %j) = (%lb, %lb) to (%ub, %ub) step (%st, %st) {
    scf.reduce
  }
  %3 = scf.parallel (%i) = (%lb) to (%ub) step (%st) init (%x) -> f32 {
    scf.reduce(%x : f32) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      scf.reduce.return %s : f32
    }
  }
  return %0 : f32
}
// -----
// unsigned loops: 22 23 24
func.func @unsigned(%n: i32) {
  scf.for unsigned %i = %n to %n step %n : i32 {
  }
  return
}
// -----
// branches: 22 23 24
func.func @branches(%c: i1, %x: f32, %i: index) -> f32 {
  scf.if %c {
    gpu.barrier
  }
  scf.if %c {
    gpu.barrier
  } else {
    gpu.barrier
  } {note}
  %0 = scf.if %c -> (f32) {
    scf.yield %x : f32
  } else {
    scf.yield %x : f32
  }
  %1:2 = scf.if %c -> (f32, index) {
    scf.yield %x, %i : f32, index
  } else {
    scf.yield %x, %i : f32, index
  }
  scf.index_switch %i
  case 0 {
    scf.yield
  }
  default {
    scf.yield
  }
  %2 = scf.index_switch %i -> f32
  case 2 {
    scf.yield %x : f32
  }
  case -5 {
    scf.yield %0 : f32
  }
  default {
    scf.yield %x : f32
  }
  %3 = scf.execute_region -> f32 {
    scf.yield %x : f32
  }
  scf.execute_region {
    scf.yield
  }
  return %0 : f32
}
// -----
// region that stays: 22 23 24
func.func @stays(%x: f32) {
  %0 = scf.execute_region -> f32 no_inline {
    scf.yield %x : f32
  }
  return
}
// -----
// every element at once: 22 23 24
func.func @forall(%m: memref<8x16xf32>, %x: f32, %n: index, %t: tensor<8x16xf32>) -> tensor<8x16xf32> {
  scf.forall (%i, %j) in (8, 16) {
    memref.store %x, %m[%i, %j] : memref<8x16xf32>
  }
  scf.forall (%i) in (%n) {
    memref.store %x, %m[%i, %i] : memref<8x16xf32>
  } {mapping = [#gpu.block<x>]}
  scf.forall (%i) = (0) to (%n) step (4) {
    memref.store %x, %m[%i, %i] : memref<8x16xf32>
  } {mapping = [#gpu.thread<x>]}
  %0 = scf.forall (%i, %j) in (8, 4) shared_outs(%o = %t) -> (tensor<8x16xf32>) {
    %s = tensor.extract_slice %o[%i, 0] [1, 16] [1, 1] : tensor<8x16xf32> to tensor<1x16xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%i, 0] [1, 16] [1, 1] : tensor<1x16xf32> into tensor<8x16xf32>
    }
  }
  return %0 : tensor<8x16xf32>
}
// -----
// blocks: 22 23 24
func.func @blocks(%c: i1, %x: f32, %n: i32) -> f32 {
  cf.assert %c, "this must hold"
  cf.cond_br %c, ^bb1(%x : f32), ^bb2
^bb1(%a: f32):
  cf.br ^bb3(%a : f32)
^bb2:
  cf.switch %n : i32, [
    default: ^bb3(%x : f32),
    42: ^bb1(%x : f32),
    43: ^bb4
  ]
^bb3(%b: f32):
  return %b : f32
^bb4:
  cf.br ^bb5
^bb5:
  cf.cond_br %c weights([10, 90]), ^bb4, ^bb3(%x : f32)
}
// -----
// values that nothing defines: 22 23 24
func.func @poison() -> vector<8xf32> {
  %0 = ub.poison : vector<8xf32>
  %1 = ub.poison : i32
  return %0 : vector<8xf32>
}
// -----
// code that is not reached: 22 23 24
func.func @unreachable() {
  ub.unreachable
}
// -----
// functions: 22 23 24
func.func private @declared(f32, memref<*xf32>) -> (f32, i32) attributes {llvm.emit_c_interface}
func.func private @unnamed(memref<*xf16> {llvm.noalias}, i32)
func.func nested @nested(%x: f32 {llvm.name = "x"}, %i: index) -> (f32 {llvm.name = "r"}) {
  return %x : f32
}
func.func public @caller(%x: f32, %m: memref<*xf32>) -> f32 attributes {note = "caller"} {
  %0:2 = call @declared(%x, %m) : (f32, memref<*xf32>) -> (f32, i32)
  %2 = arith.constant 0 : index
  %1 = func.call @nested(%x, %2) : (f32, index) -> f32
  %f = constant @nested : (f32, index) -> f32
  %3 = call_indirect %f(%x, %2) : (f32, index) -> f32
  func.return %1 : f32
}
// -----
// functions in a module: 22 23 24
module @outer attributes {gpu.container_module} {
  module {
    func.func @inner() {
      func.return
    }
  }
  func.func @two() -> (i32, i32) {
    %0 = arith.constant 1 : i32
    return %0, %0 : i32, i32
  }
  %0 = builtin.unrealized_conversion_cast to f32
  %1 = builtin.unrealized_conversion_cast %0 : f32 to i32
  %2:2 = builtin.unrealized_conversion_cast %0, %1 : f32, i32 to f32, f32 {note}
}
// -----
// affine: 22 23 24
#map = affine_map<(d0)[s0] -> (d0 * 8 + s0)>
#set = affine_set<(d0) : (d0 - 4 >= 0)>
func.func @affine(%i: index, %n: index, %m: memref<64x64xf32>, %x: f32) -> f32 {
  %0 = affine.apply #map(%i)[%n]
  %1 = affine.apply affine_map<(d0, d1) -> (d0 floordiv 4 + d1 mod 8)>(%i, %n)
  %2 = affine.min affine_map<(d0) -> (d0, 64)>(%i)
  %3 = affine.max affine_map<(d0)[s0] -> (d0, s0 ceildiv 2)>(%i)[%n]
  affine.for %j = 0 to 64 {
    %v = affine.load %m[%j, 0] : memref<64x64xf32>
    affine.store %v, %m[%j, 1] : memref<64x64xf32>
  }
  %4 = affine.for %j = 0 to 64 step 4 iter_args(%a = %x) -> (f32) {
    affine.yield %a : f32
  }
  affine.for %j = #map(%i)[%n] to min affine_map<(d0) -> (d0, 64)>(%n) {
  }
  affine.if #set(%i) {
    gpu.barrier
  } else {
    gpu.barrier
  }
  %5 = affine.load %m[%i + 1, %n * 2 + 3] : memref<64x64xf32>
  %6:2 = affine.delinearize_index %i into (4, 8) : index, index
  %7 = affine.linearize_index [%i, %n] by (4, 8) : index
  %8 = affine.vector_load %m[%i, 0] : memref<64x64xf32>, vector<8xf32>
  affine.vector_store %8, %m[%i, 0] : memref<64x64xf32>, vector<8xf32>
  return %4 : f32
}
// -----
// the index dialect: 22 23 24
func.func @index(%a: index, %b: index, %n: i32) -> index {
  %0 = index.constant 42
  %1 = index.add %a, %b
  %2 = index.sub %a, %b
  %3 = index.mul %a, %b
  %4 = index.divs %a, %b
  %5 = index.divu %a, %b
  %6 = index.ceildivs %a, %b
  %7 = index.ceildivu %a, %b
  %8 = index.floordivs %a, %b
  %9 = index.rems %a, %b
  %10 = index.remu %a, %b
  %11 = index.maxs %a, %b
  %12 = index.maxu %a, %b
  %13 = index.mins %a, %b
  %14 = index.minu %a, %b
  %15 = index.shl %a, %b
  %16 = index.shrs %a, %b
  %17 = index.shru %a, %b
  %18 = index.and %a, %b
  %19 = index.or %a, %b
  %20 = index.xor %a, %b
  %21 = index.casts %a : index to i32
  %22 = index.castu %n : i32 to index
  %23 = index.cmp slt(%a, %b)
  %24 = index.sizeof
  %25 = index.bool.constant true
  return %1 : index
}
