// integers: 22 23 24
func.func @integers(%a: i32, %b: i32, %v: vector<8xi16>, %w: vector<8xi16>, %i: index, %c: i1) -> i32 {
  %0 = arith.addi %a, %b : i32
  %1 = arith.addi %a, %b overflow<nsw> : i32
  %2 = arith.addi %a, %b overflow<nsw, nuw> : i32
  %3 = arith.subi %v, %w overflow<nuw> : vector<8xi16>
  %4 = arith.muli %i, %i overflow<nsw> : index
  %5 = arith.divsi %a, %b : i32
  %6 = arith.divui %a, %b : i32
  %7 = arith.ceildivsi %a, %b : i32
  %8 = arith.ceildivui %i, %i : index
  %9 = arith.floordivsi %a, %b : i32
  %10 = arith.remsi %a, %b : i32
  %11 = arith.remui %v, %w : vector<8xi16>
  %12 = arith.andi %a, %b : i32
  %13 = arith.ori %a, %b : i32
  %14 = arith.xori %v, %w : vector<8xi16>
  %15 = arith.shli %a, %b overflow<nsw> : i32
  %16 = arith.shrui %a, %b : i32
  %17 = arith.shrsi %a, %b : i32
  %18 = arith.maxsi %a, %b : i32
  %19 = arith.maxui %a, %b : i32
  %20 = arith.minsi %a, %b {tag = "smallest"} : i32
  %21 = arith.minui %v, %w : vector<8xi16>
  %sum, %overflow = arith.addui_extended %a, %b : i32, i1
  %vsum, %voverflow = arith.addui_extended %v, %w : vector<8xi16>, vector<8xi1>
  %low, %high = arith.mulsi_extended %a, %b : i32
  %ulow, %uhigh = arith.mului_extended %v, %w : vector<8xi16>
  return %0 : i32
}
// -----
// exact divisions and shifts: 22 23 24
func.func @exact(%a: i32, %b: i32) {
  %0 = arith.divsi %a, %b exact : i32
  %1 = arith.shrui %a, %b exact : i32
  return
}
// -----
// floats: 22 23 24
func.func @floats(%a: f32, %b: f32, %v: vector<8xf16>, %w: vector<8xbf16>, %t: tensor<4x?xf64>) {
  %0 = arith.addf %a, %b : f32
  %1 = arith.subf %v, %v fastmath<fast> : vector<8xf16>
  %2 = arith.mulf %w, %w fastmath<nnan,ninf> : vector<8xbf16>
  %3 = arith.divf %a, %b fastmath<arcp,contract,afn> : f32
  %4 = arith.remf %a, %b : f32
  %5 = arith.negf %v fastmath<nsz> : vector<8xf16>
  %6 = arith.maximumf %a, %b : f32
  %7 = arith.minimumf %v, %v : vector<8xf16>
  %8 = arith.maxnumf %a, %b fastmath<reassoc> : f32
  %9 = arith.minnumf %a, %b : f32
  %10 = arith.addf %t, %t : tensor<4x?xf64>
  %11 = arith.negf %a {tag} : f32
  return
}
// -----
// the larger and the smaller number of IEEE 754-2019: 24
func.func @numbers(%a: f32, %b: f32, %v: vector<8xf16>) {
  %0 = arith.maximumnumf %a, %b : f32
  %1 = arith.minimumnumf %v, %v fastmath<nsz> : vector<8xf16>
  return
}
// -----
// denormals as zeros: 23 24
func.func @flush(%a: f32, %v: vector<8xf16>) {
  %0 = arith.flush_denormals %a : f32
  %1 = arith.flush_denormals %v fastmath<nnan> {note} : vector<8xf16>
  return
}
// -----
// rounding of sums: 23 24
func.func @rounding(%a: f32, %b: f32) {
  %0 = arith.addf %a, %b to_nearest_even : f32
  return
}
// -----
// comparisons and selections: 22 23 24
func.func @comparisons(%a: i32, %b: i32, %x: f32, %y: f32, %v: vector<8xf16>, %n: vector<8xi32>, %c: i1, %m: vector<8xi1>) {
  %0 = arith.cmpi eq, %a, %b : i32
  %1 = arith.cmpi ult, %n, %n : vector<8xi32>
  %2 = arith.cmpi sge, %a, %b : i32
  %3 = arith.cmpf olt, %x, %y : f32
  %4 = arith.cmpf uno, %v, %v : vector<8xf16>
  %5 = arith.cmpf oeq, %x, %y fastmath<nnan> : f32
  %6 = arith.select %c, %a, %b : i32
  %7 = arith.select %m, %v, %v : vector<8xi1>, vector<8xf16>
  %8 = arith.select %c, %v, %v : vector<8xf16>
  return
}
// -----
// conversions: 22 23 24
func.func @conversions(%a: i32, %x: f32, %d: f64, %h: f16, %i: index, %v: vector<8xf32>, %n: vector<8xi8>, %u: i8, %iv: vector<4xi32>) {
  %0 = arith.extsi %u : i8 to i32
  %1 = arith.extui %n : vector<8xi8> to vector<8xi32>
  %2 = arith.trunci %a : i32 to i8
  %3 = arith.trunci %a overflow<nsw> : i32 to i16
  %4 = arith.extf %h : f16 to f32
  %5 = arith.extf %h fastmath<contract> : f16 to f32
  %6 = arith.truncf %x : f32 to f16
  %7 = arith.truncf %v : vector<8xf32> to vector<8xbf16>
  %8 = arith.truncf %x to_nearest_even : f32 to bf16
  %9 = arith.truncf %x toward_zero : f32 to f16
  %10 = arith.sitofp %a : i32 to f32
  %11 = arith.uitofp %n : vector<8xi8> to vector<8xf32>
  %12 = arith.fptosi %x : f32 to i32
  %13 = arith.fptoui %v : vector<8xf32> to vector<8xi16>
  %14 = arith.index_cast %i : index to i64
  %15 = arith.index_castui %a : i32 to index
  %16 = arith.bitcast %x : f32 to i32
  %17 = arith.bitcast %v : vector<8xf32> to vector<8xi32>
  %18 = arith.index_cast %iv : vector<4xi32> to vector<4xindex>
  return
}
// -----
// small floats: 22 23 24
func.func @small(%x: vector<8xf32>, %s: vector<8xf8E8M0FNU>, %f: vector<8xf4E2M1FN>) {
  %0 = arith.truncf %x : vector<8xf32> to vector<8xf8E5M2>
  %1 = arith.truncf %x : vector<8xf32> to vector<8xf8E4M3FN>
  %2 = arith.extf %0 : vector<8xf8E5M2> to vector<8xf16>
  %3 = arith.scaling_extf %f, %s : vector<8xf4E2M1FN>, vector<8xf8E8M0FNU> to vector<8xf32>
  %4 = arith.scaling_truncf %x, %s : vector<8xf32>, vector<8xf8E8M0FNU> to vector<8xf4E2M1FN>
  %5 = arith.scaling_truncf %x, %s to_nearest_even fastmath<nnan> : vector<8xf32>, vector<8xf8E8M0FNU> to vector<8xf4E2M1FN>
  return
}
// -----
// flags of conversions: 23 24
func.func @flags(%a: i32, %u: i8) {
  %0 = arith.uitofp %a nneg : i32 to f32
  %1 = arith.extui %u nneg : i8 to i32
  return
}
// -----
// converted floats: 23 24
func.func @convert(%x: f16) -> bf16 {
  %0 = arith.convertf %x : f16 to bf16
  %1 = arith.convertf %x to_nearest_even : f16 to bf16
  return %0 : bf16
}
// -----
// constants: 22 23 24
func.func @constants() -> i32 {
  %0 = arith.constant 1 : i32
  %1 = arith.constant -1 : i8
  %2 = arith.constant true
  %3 = arith.constant false
  %4 = arith.constant 42 : index
  %5 = arith.constant 1.5 : f32
  %6 = arith.constant -0.0 : f16
  %7 = arith.constant 1.000000e+10 : bf16
  %8 = arith.constant 0x7F800000 : f32
  %9 = arith.constant 0x7FC0 : bf16
  %10 = arith.constant 0xFC00 : f16
  %11 = arith.constant 0x7FF8000000000000 : f64
  %12 = arith.constant 0.1 : f64
  %13 = arith.constant 3.14159274 : f32
  %14 = arith.constant 1.0 : f8E5M2
  %15 = arith.constant 0.5 : f8E4M3FN
  %16 = arith.constant 1.0 : tf32
  %17 = arith.constant 18446744073709551615 : i64
  %18 = arith.constant 255 : i8
  %19 = arith.constant 2.0 : f8E8M0FNU
  %20 = arith.constant 1.5 : f4E2M1FN
  return %0 : i32
}
// -----
// dense constants: 22 23 24
func.func @dense() {
  %0 = arith.constant dense<0.0> : vector<8x16xf32>
  %1 = arith.constant dense<[1, 2, 3, 4]> : vector<4xi32>
  %2 = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : vector<2x2xf16>
  %3 = arith.constant dense<true> : vector<16xi1>
  %4 = arith.constant dense<[true, false, true, true]> : vector<4xi1>
  %5 = arith.constant dense<1.0> : vector<16xbf16>
  %6 = arith.constant dense<0xFF800000> : vector<8xf32>
  %7 = arith.constant dense<0> : vector<4xindex>
  %8 = arith.constant dense<[0, 8, 16, 24]> : vector<4xindex>
  %9 = arith.constant dense<5> : tensor<4x4xi8>
  %10 = arith.constant dense<-1> : vector<4xi64>
  %11 = arith.constant dense<1.5> : vector<4xf8E5M2>
  %12 = arith.constant dense<[0.1, -2.5]> : vector<2xf64>
  %13 = arith.constant dense<1.0> : vector<f32>
  %14 = arith.constant dense<2.0> : vector<[4]xf32>
  %15 = arith.constant dense<[0x7C00, 0xFC00]> : vector<2xf16>
  %16 = arith.constant dense<"0x0000803F00000040"> : vector<2xf32>
  %17 = arith.constant dense<[0.1, 0x7FC0]> : vector<2xbf16>
  %18 = arith.constant dense<> : tensor<0x4xf32>
  %19 = arith.constant dense<1> : vector<8xi4>
  %20 = arith.constant dense<1.0> : vector<8xtf32>
  return
}
