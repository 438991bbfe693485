// layouts of workgroups, instructions and lanes: 22 23 24
func.func private @f() attributes {
  a = #xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16]>,
  b = #xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16], inst_data = [8, 16]>,
  c = #xegpu.layout<inst_data = [8, 16]>,
  d = #xegpu.layout<lane_layout = [2, 8], lane_data = [1, 1]>,
  e = #xegpu.layout<lane_layout = [2, 8], lane_data = [1, 1], order = [0, 1]>,
  f = #xegpu.layout<inst_data = [8, 16], lane_layout = [2, 8], lane_data = [2, 2]>,
  g = #xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16], inst_data = [8, 16], lane_layout = [2, 8],
        lane_data = [1, 1], order = [0, 1]>,
  h = #xegpu.layout<lane_layout = [16], lane_data = [2]>,
  i = #xegpu.layout<lane_data = [1, 1, 1], lane_layout = [1, 1, 16]>}
// -----
// layouts that name counts without sizes: 22
func.func private @f() attributes {a = #xegpu.layout<sg_layout = [2, 4]>, b = #xegpu.layout<lane_layout = [1, 16]>}
// -----
// slices of layouts: 22 23 24
#rows = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>
func.func private @f() attributes {
  a = #xegpu.slice<#rows, dims = [0]>,
  b = #xegpu.slice<#xegpu.layout<sg_layout = [8, 4], sg_data = [32, 32]>, dims = [1]>,
  c = #xegpu.slice<#xegpu.slice<#xegpu.layout<sg_layout = [2, 4, 4], sg_data = [4, 32, 32]>, dims = [0]>, dims = [1]>,
  d = #xegpu.slice<#xegpu.layout<sg_layout = [2, 4, 4], sg_data = [4, 32, 32]>, dims = [0, 2]>}
// -----
// ranges of subgroups: 22 23 24
func.func @f(%c: i1) {
  scf.if %c {
    xegpu.fence memory_kind = slm, fence_scope = workgroup
  } {sg_id_range = #xegpu.range<[2, 4]>}
  return
}
// -----
// layouts of results and operands: 22 23 24
func.func @f(%a: vector<256x128xf32>, %b: vector<256x128xf32>) {
  %0 = arith.addf %a, %b {layout_result_0 = #xegpu.layout<sg_layout = [8, 4], sg_data = [32, 32]>} : vector<256x128xf32>
  %1 = arith.mulf %0, %b {layout_operand_0 = #xegpu.layout<sg_layout = [8, 4], sg_data = [32, 32]>,
    layout_operand_1 = #xegpu.layout<sg_layout = [8, 4], sg_data = [32, 32]>} : vector<256x128xf32>
  return
}
// -----
// every cache hint: 22 23 24
func.func private @f() attributes {a = #xegpu.cache_hint<cached>, b = #xegpu.cache_hint<uncached>,
  c = #xegpu.cache_hint<streaming>, d = #xegpu.cache_hint<read_invalidate>, e = #xegpu.cache_hint<write_back>,
  f = #xegpu.cache_hint<write_through>}
// -----
// words of enums as LLVM 22 writes them: 22 23
func.func private @f() attributes {a = #xegpu<fence_scope workgroup>, b = #xegpu<fence_scope gpu>,
  c = #xegpu<memory_space global>, d = #xegpu<memory_space slm>}
// -----
// words of enums as LLVM 24 writes them: 24
func.func private @f() attributes {a = #xegpu.fence_scope<workgroup>, b = #xegpu.fence_scope<gpu>,
  c = #xegpu.memory_space<global>, d = #xegpu.memory_space<slm>, e = #xegpu.lane_shuffle_mode<pack>,
  f = #xegpu.lane_shuffle_mode<unpack>}
// -----
// descriptors with layouts: 22 23 24
#wide = #xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16], lane_layout = [1, 16], lane_data = [1, 1]>
func.func private @f(!xegpu.tensor_desc<32x64xf32, #wide>,
  !xegpu.tensor_desc<32xf32, #xegpu.layout<lane_layout = [16], lane_data = [1]>>,
  !xegpu.tensor_desc<32x64xf32, #xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16]>>)
// -----
// matrices with layouts: 22 23 24
func.func private @f(!xegpu.mem_desc<128x128xf16>, !xegpu.mem_desc<128x128xf16, #xegpu.mem_layout<stride = [1, 128]>>,
  !xegpu.mem_desc<128x128xf16, #xegpu.mem_layout<block = [8, 8]>>,
  !xegpu.mem_desc<128x128xf16, #xegpu.mem_layout<stride = [1, 128], block = [8, 8]>>, !xegpu.nbarrier)
// -----
// attributes and types with the dialect's name outside: 22 23 24
func.func private @f(!xegpu<tensor_desc<8x16xf16>>, !xegpu<nbarrier>) attributes {
  a = #xegpu<layout<lane_layout = [1, 16], lane_data = [1, 1]>>, b = #xegpu<cache_hint<cached>>}
