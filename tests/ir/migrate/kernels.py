"""Kernels in LLVM 22's language, which 23 and 24 do not read. Each copies or adds what its name says, so that both can be run.

A kernel takes A and C, two matrices of 64x64 f32 (or what its line says), and runs on two workgroups of one subgroup.
"""

from __future__ import annotations

HEAD = "attributes {intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: 16, 1, 1>}"
TILE = "!xegpu.tensor_desc<8x16xf32>"
POINTS = "!xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<>>"


def kernel(body: str, arguments: str = "%a: i64, %c: i64") -> str:
    return f"""
gpu.module @kernels {{
  gpu.func @k({arguments}) kernel {HEAD} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %g = gpu.block_id x
    %row = arith.muli %g, %c16 : index
{body}
    gpu.return
  }}
}}
"""


def descriptor(name: str, source: str, offsets: str = "", kind: str = TILE) -> str:
    return (
        f"    {name} = xegpu.create_nd_tdesc {source}{offsets}, shape : [64, 64], strides : [64, 1] : i64 -> {kind}\n"
    )


KERNELS = {
    "offsets_in_the_descriptor": kernel(
        descriptor("%s", "%a", "[%row, 16]")
        + descriptor("%d", "%c", "[%row, 32]")
        + f"""    %x = xegpu.load_nd %s : {TILE} -> vector<8xf32>
    xegpu.store_nd %x, %d : vector<8xf32>, {TILE}"""
    ),
    "offsets_in_both": kernel(
        descriptor("%s", "%a", "[%row, 16]")
        + descriptor("%d", "%c", "[0, 32]")
        + f"""    %x = xegpu.load_nd %s[0, 16] : {TILE} -> vector<8xf32>
    xegpu.store_nd %x, %d[%row, 0] : vector<8xf32>, {TILE}"""
    ),
    "moved_in_a_loop": kernel(
        descriptor("%s", "%a", "[%row, 0]")
        + descriptor("%d", "%c", "[%row, 0]")
        + f"""    %l:2 = scf.for %i = %c0 to %c64 step %c16 iter_args(%from = %s, %to = %d) -> ({TILE}, {TILE}) {{
      %x = xegpu.load_nd %from : {TILE} -> vector<8xf32>
      xegpu.store_nd %x, %to : vector<8xf32>, {TILE}
      %n = xegpu.update_nd_offset %from, [0, 16] : {TILE}
      %m = xegpu.update_nd_offset %to, [%c0, 16] : {TILE}
      scf.yield %n, %m : {TILE}, {TILE}
    }}
    %y = xegpu.load_nd %l#0[8, -16] : {TILE} -> vector<8xf32>
    xegpu.store_nd %y, %l#1[8, -16] : vector<8xf32>, {TILE}"""
    ),
    "moved_in_two_loops_with_a_sum": kernel(
        descriptor("%s", "%a", "[%row, 0]")
        + descriptor("%d", "%c", "[%row, 0]")
        + f"""    %zero = arith.constant dense<0.0> : vector<8xf32>
    %l:2 = scf.for %i = %c0 to %c16 step %c8 iter_args(%from = %s, %sum = %zero) -> ({TILE}, vector<8xf32>) {{
      %in:2 = scf.for %j = %c0 to %c64 step %c16 iter_args(%t = %from, %part = %sum) -> ({TILE}, vector<8xf32>) {{
        %x = xegpu.load_nd %t : {TILE} -> vector<8xf32>
        %new = arith.addf %part, %x : vector<8xf32>
        %n = xegpu.update_nd_offset %t, [0, 16] : {TILE}
        scf.yield %n, %new : {TILE}, vector<8xf32>
      }}
      %back = xegpu.update_nd_offset %in#0, [8, -64] : {TILE}
      scf.yield %back, %in#1 : {TILE}, vector<8xf32>
    }}
    xegpu.store_nd %l#1, %d : vector<8xf32>, {TILE}"""
    ),
    "two_buffers_that_change_places": kernel(
        descriptor("%s", "%a", "[%row, 0]")
        + descriptor("%d", "%c", "[%row, 0]")
        + f"""    %l:2 = scf.for %i = %c0 to %c2 step %c1 iter_args(%from = %s, %to = %d) -> ({TILE}, {TILE}) {{
      %x = xegpu.load_nd %from : {TILE} -> vector<8xf32>
      %y = arith.addf %x, %x : vector<8xf32>
      xegpu.store_nd %y, %to : vector<8xf32>, {TILE}
      scf.yield %to, %from : {TILE}, {TILE}
    }}"""
    ),
    "chosen_by_a_branch": kernel(
        descriptor("%s", "%a", "[%row, 0]")
        + descriptor("%d", "%c", "[%row, 0]")
        + f"""    %first = arith.cmpi eq, %g, %c0 : index
    %t = scf.if %first -> ({TILE}) {{
      %near = xegpu.update_nd_offset %s, [0, 16] : {TILE}
      scf.yield %near : {TILE}
    }} else {{
      %far = xegpu.update_nd_offset %s, [8, %c16] : {TILE}
      scf.yield %far : {TILE}
    }}
    %x = xegpu.load_nd %t : {TILE} -> vector<8xf32>
    xegpu.store_nd %x, %d : vector<8xf32>, {TILE}"""
    ),
    "until_a_condition": kernel(
        descriptor("%s", "%a", "[%row, 0]")
        + descriptor("%d", "%c", "[%row, 0]")
        + f"""    %l:2 = scf.while (%t = %s, %i = %c0) : ({TILE}, index) -> ({TILE}, index) {{
      %more = arith.cmpi slt, %i, %c2 : index
      scf.condition(%more) %t, %i : {TILE}, index
    }} do {{
    ^bb0(%t: {TILE}, %i: index):
      %n = xegpu.update_nd_offset %t, [0, 16] : {TILE}
      %next = arith.addi %i, %c1 : index
      scf.yield %n, %next : {TILE}, index
    }}
    %x = xegpu.load_nd %l#0 : {TILE} -> vector<8xf32>
    xegpu.store_nd %x, %d : vector<8xf32>, {TILE}"""
    ),
    "prefetched": kernel(
        descriptor("%s", "%a", "[%row, 16]")
        + descriptor("%d", "%c", "[%row, 16]")
        + f"""    xegpu.prefetch_nd %s <{{l1_hint = #xegpu.cache_hint<cached>}}> : {TILE}
    %x = xegpu.load_nd %s : {TILE} -> vector<8xf32>
    xegpu.store_nd %x, %d : vector<8xf32>, {TILE}"""
    ),
    "three_dimensions_behind_an_address": kernel(
        f"""    %s = xegpu.create_nd_tdesc %a[%g, 8, 16], shape : [2, 32, 64], strides : [2048, 64, 1] : i64 -> {TILE}
    %d = xegpu.create_nd_tdesc %c[%g, 0, 0], shape : [2, 32, 64], strides : [2048, 64, 1] : i64 -> {TILE}
    %x = xegpu.load_nd %s : {TILE} -> vector<8xf32>
    xegpu.store_nd %x, %d : vector<8xf32>, {TILE}"""
    ),
    "a_memref_of_three_dimensions": kernel(
        f"""    %s = xegpu.create_nd_tdesc %a[%g, 8, 16] : memref<2x32x64xf32> -> {TILE}
    %d = xegpu.create_nd_tdesc %c[%g, 0, 0] : memref<2x32x64xf32> -> {TILE}
    %x = xegpu.load_nd %s : {TILE} -> vector<8xf32>
    xegpu.store_nd %x, %d : vector<8xf32>, {TILE}""",
        "%a: memref<2x32x64xf32>, %c: memref<2x32x64xf32>",
    ),
    "a_memref_seen_with_another_shape": kernel(
        f"""    %s = xegpu.create_nd_tdesc %a[%row, 16], shape : [64, 64], strides : [64, 1] : memref<?x?xf32> -> {TILE}
    %d = xegpu.create_nd_tdesc %c[%row, 0], shape : [%c64, 64], strides : [64, %c1] : memref<?x?xf32> -> {TILE}
    %x = xegpu.load_nd %s : {TILE} -> vector<8xf32>
    xegpu.store_nd %x, %d : vector<8xf32>, {TILE}""",
        "%a: memref<?x?xf32>, %c: memref<?x?xf32>",
    ),
    "points_in_a_loop": kernel(
        f"""    %numbers = vector.step : vector<16xindex>
    %rows = vector.broadcast %row : index to vector<16xindex>
    %o = arith.addi %rows, %numbers : vector<16xindex>
    %step = arith.constant dense<64> : vector<16xindex>
    %all = arith.constant dense<true> : vector<16xi1>
    %s = xegpu.create_tdesc %a, %o : i64, vector<16xindex> -> {POINTS}
    %d = xegpu.create_tdesc %c, %o : i64, vector<16xindex> -> {POINTS}
    %l = scf.for %i = %c0 to %c8 step %c1 iter_args(%t = %s) -> ({POINTS}) {{
      xegpu.prefetch %t : {POINTS}
      %n = xegpu.update_offset %t, %step : {POINTS}, vector<16xindex>
      scf.yield %n : {POINTS}
    }}
    %x = xegpu.load %l, %all : {POINTS}, vector<16xi1> -> vector<16xf32>
    xegpu.store %x, %d, %all : vector<16xf32>, {POINTS}, vector<16xi1>"""
    ),
    "chunks_of_eight": kernel(
        """    %lane = gpu.lane_id
    %sum = arith.addi %row, %lane : index
    %first = arith.muli %sum, %c8 : index
    %half = arith.cmpi ult, %lane, %c8 : index
    %o = vector.broadcast %first : index to vector<1xindex>
    %m = vector.broadcast %half : i1 to vector<1xi1>
    %x = xegpu.load %a[%o], %m <{chunk_size = 8 : i64}> : i64, vector<1xindex>, vector<1xi1> -> vector<8xf32>
    xegpu.store %x, %c[%o], %m <{chunk_size = 8 : i64}> : vector<8xf32>, i64, vector<1xindex>, vector<1xi1>"""
    ),
}

LEVELS = {
    "layouts_without_data": """
gpu.module @kernels {
  gpu.func @k(%a: memref<64x64xf32>, %c: memref<64x64xf32>) kernel {
    %s = xegpu.create_nd_tdesc %a[0, 0] : memref<64x64xf32> -> !xegpu.tensor_desc<64x64xf32, #xegpu.layout<sg_layout = [2, 4]>>
    %d = xegpu.create_nd_tdesc %c : memref<64x64xf32> -> !xegpu.tensor_desc<64x64xf32, #xegpu.layout<sg_layout = [4, 2]>>
    %x = xegpu.load_nd %s : !xegpu.tensor_desc<64x64xf32, #xegpu.layout<sg_layout = [2, 4]>> -> vector<64x64xf32>
    %y = xegpu.convert_layout %x <{input_layout = #xegpu.layout<sg_layout = [2, 4]>,
        target_layout = #xegpu.layout<sg_layout = [4, 2]>}> : vector<64x64xf32>
    xegpu.store_nd %y, %d[0, 0] : vector<64x64xf32>, !xegpu.tensor_desc<64x64xf32, #xegpu.layout<sg_layout = [4, 2]>>
    gpu.return
  }
}
""",
    "points_of_a_subgroup_in_chunks": """
gpu.module @kernels {
  gpu.func @k(%a: memref<1024xf32>, %c: memref<1024xf32>) kernel {
    %c8 = arith.constant dense<8> : vector<16xindex>
    %n = vector.step : vector<16xindex>
    %o = arith.muli %n, %c8 : vector<16xindex>
    %all = arith.constant dense<true> : vector<16xi1>
    %s = xegpu.create_tdesc %a, %o : memref<1024xf32>, vector<16xindex>
        -> !xegpu.tensor_desc<16x8xf32, #xegpu.scatter_tdesc_attr<chunk_size = 8>>
    %x = xegpu.load %s, %all : !xegpu.tensor_desc<16x8xf32, #xegpu.scatter_tdesc_attr<chunk_size = 8>>, vector<16xi1>
        -> vector<16x8xf32>
    xegpu.store %x, %c[%o], %all <{chunk_size = 8}> : vector<16x8xf32>, memref<1024xf32>, vector<16xindex>, vector<16xi1>
    gpu.return
  }
}
""",
}
"""Kernels at subgroup and workgroup level."""

AMX = """
func.func @k(%a: memref<64x64xbf16>, %b: memref<32x128xbf16>, %c: memref<64x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = amx.tile_zero : !amx.tile<16x16xf32>
  %sum = scf.for %k = %c0 to %c64 step %c32 iter_args(%acc = %zero) -> (!amx.tile<16x16xf32>) {
    %x = amx.tile_load %a[%c0, %k] : memref<64x64xbf16> into !amx.tile<16x32xbf16>
    %y = amx.tile_load %b[%c0, %k], %c64 : memref<32x128xbf16> into !amx.tile<16x32xbf16>
    %z = amx.tile_mulf %x, %y, %acc : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
    scf.yield %z : !amx.tile<16x16xf32>
  }
  amx.tile_store %c[%c0, %c0], %sum : memref<64x64xf32>, !amx.tile<16x16xf32>
  return
}
func.func private @other(!amx.tile<16x16xf32>) -> !amx.tile<16x16xf32>
"""

WITHOUT_COUNTERPART = {
    "atomic": (
        "xegpu.atomic_rmw",
        """
func.func @k(%a: i64, %o: vector<16xindex>, %m: vector<16xi1>, %x: vector<16xf32>) {
  %t = xegpu.create_tdesc %a, %o : i64, vector<16xindex> -> !xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<>>
  %y = xegpu.atomic_rmw addf %t, %m, %x : !xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<>>, vector<16xi1>,
      vector<16xf32> -> vector<16xf32>
  return
}
""",
    ),
    "points_from_outside": (
        "func.func",
        """
func.func @k(%t: !xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<>>, %m: vector<16xi1>) -> vector<16xf32> {
  %x = xegpu.load %t, %m : !xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<>>, vector<16xi1> -> vector<16xf32>
  return %x : vector<16xf32>
}
""",
    ),
    "passed_on": (
        "func.call",
        """
func.func private @use(!xegpu.tensor_desc<8x16xf32>)
func.func @k(%a: memref<64x64xf32>, %i: index) {
  %t = xegpu.create_nd_tdesc %a[%i, 0] : memref<64x64xf32> -> !xegpu.tensor_desc<8x16xf32>
  func.call @use(%t) : (!xegpu.tensor_desc<8x16xf32>) -> ()
  return
}
""",
    ),
}
"""What LLVM 23 and 24 cannot say: the operation that the finding names, and the module."""
