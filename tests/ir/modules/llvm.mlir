// foreign functions: 22 23 24
llvm.func @declared(i32, !llvm.ptr) -> f32
llvm.func @variadic(!llvm.ptr, ...) -> i32
llvm.func @nothing(%a: i32) {
  llvm.return
}
llvm.func spir_kernelcc @kernel(%p: !llvm.ptr<1> {llvm.noalias}, %n: i32) attributes {note} {
  %0 = llvm.mlir.constant(1 : i32) : i32
  %1 = llvm.add %n, %0 : i32
  %3 = llvm.mlir.zero : !llvm.ptr
  %2 = llvm.call @declared(%1, %3) : (i32, !llvm.ptr) -> f32
  llvm.return
}
// -----
// memory: 22 23 24
func.func @memory(%p: !llvm.ptr, %g: !llvm.ptr<1>, %i: i64, %x: f32, %v: vector<4xf32>) -> f32 {
  %0 = llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %1 = llvm.getelementptr %p[0, 1, 3] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(i32, array<4 x f32>)>
  %2 = llvm.load %0 : !llvm.ptr -> f32
  %3 = llvm.load %g : !llvm.ptr<1> -> vector<4xf32>
  llvm.store %x, %0 : f32, !llvm.ptr
  llvm.store volatile %v, %g : vector<4xf32>, !llvm.ptr<1>
  %4 = llvm.addrspacecast %p : !llvm.ptr to !llvm.ptr<4>
  %5 = llvm.inttoptr %i : i64 to !llvm.ptr<1>
  %6 = llvm.ptrtoint %g : !llvm.ptr<1> to i64
  %7 = llvm.mlir.constant(8 : i64) : i64
  %8 = llvm.alloca %7 x f32 : (i64) -> !llvm.ptr
  return %2 : f32
}
// -----
// values: 22 23 24
func.func @values(%a: i32, %b: i32, %x: f32, %c: i1, %v: vector<4xf32>, %n: i64) {
  %0 = llvm.mlir.constant(dense<1.0> : vector<4xf32>) : vector<4xf32>
  %1 = llvm.mlir.undef : !llvm.struct<(i32, f32)>
  %2 = llvm.mlir.poison : vector<4xf32>
  %3 = llvm.insertvalue %a, %1[0] : !llvm.struct<(i32, f32)>
  %4 = llvm.extractvalue %3[0] : !llvm.struct<(i32, f32)>
  %5 = llvm.extractelement %v[%a : i32] : vector<4xf32>
  %6 = llvm.insertelement %x, %v[%a : i32] : vector<4xf32>
  %7 = llvm.shufflevector %v, %v [0, 1, 4, 5] : vector<4xf32>
  %8 = llvm.bitcast %v : vector<4xf32> to vector<4xi32>
  %9 = llvm.add %a, %b overflow<nsw> : i32
  %10 = llvm.mul %a, %b : i32
  %11 = llvm.and %a, %b : i32
  %12 = llvm.or %a, %b : i32
  %13 = llvm.xor %a, %b : i32
  %14 = llvm.shl %a, %b : i32
  %15 = llvm.lshr %a, %b : i32
  %16 = llvm.ashr %a, %b : i32
  %17 = llvm.udiv %a, %b : i32
  %18 = llvm.urem %a, %b : i32
  %19 = llvm.icmp "slt" %a, %b : i32
  %20 = llvm.select %c, %a, %b : i1, i32
  %21 = llvm.zext %a : i32 to i64
  %22 = llvm.sext %a : i32 to i64
  %24 = llvm.fadd %x, %x : f32
  %25 = llvm.fmul %x, %x : f32
  %28 = llvm.sitofp %a : i32 to f32
  %29 = llvm.fptosi %x : f32 to i32
  %30 = llvm.fcmp "olt" %x, %x : f32
  %31 = llvm.fneg %x : f32
  %32 = llvm.intr.fma(%x, %x, %x) : (f32, f32, f32) -> f32
  %33 = llvm.intr.maxnum(%x, %x) : (f32, f32) -> f32
  %34 = llvm.intr.exp2(%x) : (f32) -> f32
  %35 = llvm.uitofp %a : i32 to f32
  %36 = llvm.sub %a, %b : i32
  %37 = llvm.intr.umin(%a, %b) : (i32, i32) -> i32
  %39 = llvm.intr.umax(%a, %b) : (i32, i32) -> i32
  %40 = llvm.intr.smin(%a, %b) : (i32, i32) -> i32
  %41 = llvm.intr.smax(%a, %b) {note} : (i32, i32) -> i32
  %42 = llvm.fptoui %x : f32 to i32
  %38 = llvm.freeze %a : i32
  return
}
// -----
// calls: 22 23 24
llvm.func @g(i32, f32) -> i32
llvm.func @h()
func.func @calls(%a: i32, %x: f32, %f: !llvm.ptr) {
  %0 = llvm.call @g(%a, %x) : (i32, f32) -> i32
  llvm.call @h() : () -> ()
  %1 = llvm.call spir_funccc @g(%a, %x) : (i32, f32) -> i32
  %2 = llvm.call %f(%a) : !llvm.ptr, (i32) -> i32
  %3 = llvm.inline_asm has_side_effects "mov $0, $1", "=r,r" %a : (i32) -> i32
  %4 = llvm.inline_asm asm_dialect = att "nop", "" : () -> i32
  %5 = llvm.call_intrinsic "llvm.umin.i32"(%a, %a) : (i32, i32) -> i32
  llvm.fence syncscope("wavefront") acq_rel
  llvm.fence seq_cst
  return
}
// -----
// branches of foreign functions: 22 23 24
llvm.func @f(%c: i1, %a: i32) -> i32 {
  llvm.cond_br %c, ^bb1(%a : i32), ^bb2
^bb1(%b: i32):
  llvm.br ^bb3(%b : i32)
^bb2:
  llvm.br ^bb3(%a : i32)
^bb3(%d: i32):
  llvm.return %d : i32
}
// -----
// atomic operations: 22 23 24
llvm.func @atomic(%p: !llvm.ptr<1>, %v: i32, %x: f32) {
  %0 = llvm.atomicrmw add %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i32
  %1 = llvm.atomicrmw volatile xchg %p, %v seq_cst : !llvm.ptr<1>, i32
  %2 = llvm.atomicrmw fadd %p, %x monotonic {note} : !llvm.ptr<1>, f32
  llvm.return
}
// -----
// an aligned atomic operation among other attributes: 22 23
llvm.func @atomic(%p: !llvm.ptr<1>, %v: i32) {
  %0 = llvm.atomicrmw _or %p, %v release {alignment = 4 : i64, note} : !llvm.ptr<1>, i32
  llvm.return
}
// -----
// an aligned atomic operation of today: 24
llvm.func @atomic(%p: !llvm.ptr<1>, %v: i32) {
  %0 = llvm.atomicrmw _or %p, %v release <alignment = 4> {note} : !llvm.ptr<1>, i32
  %1 = llvm.atomicrmw umax %p, %v acquire <{alignment = 8 : i64}> : !llvm.ptr<1>, i32
  llvm.return
}
