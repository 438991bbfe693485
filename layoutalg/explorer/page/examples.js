// One text for each system, to begin with; each is a part of the state.

export const LAYOUTS = [
  ["XeGPU", { text: "#xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16], lane_layout = [1, 16], lane_data = [1, 1]>", shape: "32x64" }],
  ["IREE", { text: "#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [2, 1], outer_tile = [1, 1], thread_tile = [16, 4], element_tile = [1, 4], subgroup_strides = [0, 0], thread_strides = [1, 16]>" }],
  ["Triton", { text: "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [2, 2], order = [1, 0]}>", shape: "32x32" }],
  ["CuTe", { text: "Sw<2,3,3> o 0 o (8,32):(32,1)" }],
  ["AMX", { text: "!amx.tile<16x32xbf16>" }],
  ["MFMA", { text: "MFMA_F32_16x16x16_F16" }],
  ["WMMA", { text: "#iree_gpu.mma_layout<WMMAR3_F32_16x16x16_F16>" }],
  ["factors", { text: "d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane" }],
];

export const PAIRS = [
  ["XeGPU and factors", { text: "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>", second: "d0 = 8@reg, d1 = 16@lane", shape: "8x16" }],
  ["rows and columns", { text: "#xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>", second: "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>", shape: "16x16" }],
];

export const CONVERSIONS = [
  ["rows to columns", { text: "#xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>", second: "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>", shape: "16x16", element: "f32", target: "pvc" }],
  ["shuffles", { text: "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>", second: "#xegpu.layout<lane_layout = [2, 8], lane_data = [1, 1]>", shape: "8x16", element: "f32", target: "pvc" }],
  ["a bit at a time", { text: "d0 = 4@lane:16 4@reg, d1 = 16@lane", second: "d0 = 16@lane, d1 = 4@lane:16 4@reg", shape: "16x16", element: "f16", target: "sm_80" }],
];

export const OPERATIONS = [
  ["composition", "composition((4,8):(8,1), 8:2)"], ["coalesce", "coalesce((2,(1,6)):(1,(6,2)))"], ["complement", "complement((2,2):(1,6), 24)"],
  ["logical_divide", "logical_divide((8,8):(1,8), 4:2)"], ["zipped_divide", "zipped_divide((8,8):(8,1), (4:1,2:1))"],
  ["tiled_divide", "tiled_divide((8,8):(8,1), (4:1,2:1))"], ["logical_product", "logical_product((2,2):(4,1), 6:1)"],
  ["blocked_product", "blocked_product((2,5):(5,1), (3,4):(1,3))"], ["raked_product", "raked_product((2,5):(5,1), (3,4):(1,3))"],
  ["right_inverse", "right_inverse((4,8):(8,1))"], ["left_inverse", "left_inverse((4,8):(8,1))"], ["swizzle", "composition(Sw<2,3,3>, (8,32):(32,1))"],
];

export const ACCESSES = [
  ["a column, row-major", { memory: "row-major", access: "d0 = 32@lane, d1 = 32@reg", element: "f32", shape: "" }],
  ["the same, swizzled", { memory: "Sw<5,0,5> o 0 o (32,32):(32,1)", access: "d0 = 32@lane, d1 = 32@reg", element: "f32", shape: "" }],
  ["ldmatrix", { memory: "Sw<3,3,3> o 0 o (16,64):(64,1)", access: "ldmatrix.x4.trans", element: "f16", shape: "" }],
];

export const PRODUCTS = [
  ["4096 cubed", { m: "4096", n: "4096", k: "4096", a: "", b: "", c: "", chip: "pvc" }],
  ["one row, 8-bit", { m: "1", n: "4096", k: "4096", a: "s8", b: "", c: "", chip: "bmg" }],
  ["AMX", { m: "256", n: "256", k: "256", a: "", b: "", c: "", chip: "spr" }],
];

export const QUERIES = ["gfx942 f16", "pvc bf16", "hopper wgmma", "ldmatrix", "WMMA", "gfx950 MFMA"];

export const FILE = `#rows = #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>
#columns = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>
func.func @f(%x: vector<16x16xf32>) {
  %r = xegpu.convert_layout %x <{input_layout = #columns, target_layout = #rows}> : vector<16x16xf32>
  %e = math.exp %r {layout_result_0 = #columns} : vector<16x16xf32>
  func.return
}
`;

export const ELEMENTS = ["f32", "f16", "bf16", "tf32", "f64", "f8E4M3FN", "i8", "i32"];
