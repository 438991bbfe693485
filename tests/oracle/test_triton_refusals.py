"""Modules that Triton's verifiers refuse, and what we say of them; where Triton takes one, so do we.

The questions are asked of Triton's wheel, one forked child each; our words are its words but where `OTHER_WORDS` says so.
"""

from __future__ import annotations

import re

import pytest

import layoutalg as la
from tests.oracle.toolchains import require_module
from tests.oracle.triton_wheel import refusal

LAYOUTS = """
#b = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [1, 1], order = [1, 0]}>
#c = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [4, 8], warpsPerCTA = [1, 1], order = [0, 1]}>
#one = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
#two = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
#wide = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [2, 1], order = [1, 0]}>
#sl = #ttg.slice<{dim = 1, parent = #b}>
#sl0 = #ttg.slice<{dim = 0, parent = #b}>
#slc = #ttg.slice<{dim = 1, parent = #c}>
#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], instrShape = [16, 8]}>
#da = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>
#db = #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 2}>
#dab = #ttg.dot_op<{opIdx = 0, parent = #b}>
#dbb = #ttg.dot_op<{opIdx = 1, parent = #b}>
#sh = #ttg.swizzled_shared<{vec = 4, perPhase = 1, maxPhase = 4, order = [1, 0]}>
#sh2 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
"""
ARGUMENTS = """%p: !tt.ptr<f32>, %s: f32, %n: i32, %x: tensor<16x32xf32, #b>, %i: tensor<16x32xi32, #b>,
    %q: tensor<16x32x!tt.ptr<f32>, #b>, %m: tensor<16x32xi1, #b>, %r: tensor<64xf32, #one>, %t: tensor<64xi32, #one>,
    %mem: !ttg.memdesc<16x32xf32, #sh, #smem, mutable>, %con: !ttg.memdesc<16x32xf32, #sh, #smem>,
    %a: tensor<16x32xf16, #da>, %w: tensor<32x16xf16, #db>, %acc: tensor<16x16xf32, #mma>, %v: tensor<16xf32, #sl>"""
MODULE = """module attributes {"ttg.num-warps" = 1 : i32, "ttg.num-ctas" = 1 : i32, ttg.target = "cuda:80",
    "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @f(ARGUMENTS) {
    BODY
    tt.return
  }
}
"""
GIVEN = re.compile(r"(%\w+): (.*?);; ")
"""An argument of a question's own, before its operation."""
QUESTIONS = {
    "convert_shape": ("%y = ttg.convert_layout %x : tensor<16x32xf32, #b> -> tensor<32x16xf32, #c>"),
    "convert_element": ("%y = ttg.convert_layout %x : tensor<16x32xf32, #b> -> tensor<16x32xf16, #c>"),
    "convert_no_encoding": ("%y = ttg.convert_layout %x : tensor<16x32xf32, #b> -> tensor<16x32xf32>"),
    "convert_warps": ("%y = ttg.convert_layout %x : tensor<16x32xf32, #b> -> tensor<16x32xf32, #wide>"),
    "convert_rank": ("%y = ttg.convert_layout %x : tensor<16x32xf32, #b> -> tensor<16x32xf32, #one>"),
    "load_number": (
        '%y = "tt.load"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0>, cache = 1 : i32, evict = 1 : i32, '
        "isVolatile = false}> : (tensor<16x32xf32, #b>) -> tensor<16x32xf32, #b>"
    ),
    "load_other_result": (
        '%y = "tt.load"(%q) <{operandSegmentSizes = array<i32: 1, 0, 0>, cache = 1 : i32, evict = 1 : i32, '
        "isVolatile = false}> : (tensor<16x32x!tt.ptr<f32>, #b>) -> tensor<16x32xf16, #b>"
    ),
    "load_mask_shape": (
        '%y = "tt.load"(%q, %r) <{operandSegmentSizes = array<i32: 1, 1, 0>, cache = 1 : i32, evict = 1 : '
        "i32, isVolatile = false}> : (tensor<16x32x!tt.ptr<f32>, #b>, tensor<64xf32, #one>) -> "
        "tensor<16x32xf32, #b>"
    ),
    "load_mask_layout": (
        '%mm: tensor<16x32xi1, #c>;; %y = "tt.load"(%q, %mm) <{operandSegmentSizes = array<i32: 1, 1, 0>, '
        "cache = 1 : i32, evict = 1 : i32, isVolatile = false}> : (tensor<16x32x!tt.ptr<f32>, #b>, "
        "tensor<16x32xi1, #c>) -> tensor<16x32xf32, #b>"
    ),
    "store_element": (
        '"tt.store"(%q, %i) <{cache = 1 : i32, evict = 1 : i32}> : (tensor<16x32x!tt.ptr<f32>, #b>, '
        "tensor<16x32xi32, #b>) -> ()"
    ),
    "store_shape": (
        '"tt.store"(%q, %r) <{cache = 1 : i32, evict = 1 : i32}> : (tensor<16x32x!tt.ptr<f32>, #b>, '
        "tensor<64xf32, #one>) -> ()"
    ),
    "addptr_float": (
        '%y = "tt.addptr"(%q, %x) : (tensor<16x32x!tt.ptr<f32>, #b>, tensor<16x32xf32, #b>) -> '
        "tensor<16x32x!tt.ptr<f32>, #b>"
    ),
    "addptr_shape": (
        '%y = "tt.addptr"(%q, %t) : (tensor<16x32x!tt.ptr<f32>, #b>, tensor<64xi32, #one>) -> '
        "tensor<16x32x!tt.ptr<f32>, #b>"
    ),
    "addptr_number": (
        '%y = "tt.addptr"(%i, %i) : (tensor<16x32xi32, #b>, tensor<16x32xi32, #b>) -> tensor<16x32xi32, #b>'
    ),
    "trans_order": ("%y = tt.trans %x {order = array<i32: 0, 0>} : tensor<16x32xf32, #b> -> tensor<32x16xf32, #c>"),
    "trans_rank": ("%y = tt.trans %x {order = array<i32: 0>} : tensor<16x32xf32, #b> -> tensor<32x16xf32, #c>"),
    "trans_shape": ("%y = tt.trans %x {order = array<i32: 1, 0>} : tensor<16x32xf32, #b> -> tensor<16x32xf32, #c>"),
    "trans_layout": ("%y = tt.trans %x {order = array<i32: 1, 0>} : tensor<16x32xf32, #b> -> tensor<32x16xf32, #b>"),
    "reshape_size": ("%y = tt.reshape %x : tensor<16x32xf32, #b> -> tensor<16x16xf32, #b>"),
    "reshape_layout": ("%y = tt.reshape %x : tensor<16x32xf32, #b> -> tensor<512xf32, #one>"),
    "reshape_element": ("%y = tt.reshape %x : tensor<16x32xf32, #b> -> tensor<512xf16, #one>"),
    "expand_parent": ("%y = tt.expand_dims %v {axis = 1 : i32} : tensor<16xf32, #sl> -> tensor<16x1xf32, #c>"),
    "expand_axis": ("%y = tt.expand_dims %v {axis = 0 : i32} : tensor<16xf32, #sl> -> tensor<1x16xf32, #b>"),
    "expand_shape": ("%y = tt.expand_dims %v {axis = 1 : i32} : tensor<16xf32, #sl> -> tensor<16x2xf32, #b>"),
    "expand_not_slice": ("%y = tt.expand_dims %r {axis = 1 : i32} : tensor<64xf32, #one> -> tensor<64x1xf32, #b>"),
    "broadcast_shape": (
        "%e = tt.expand_dims %v {axis = 1 : i32} : tensor<16xf32, #sl> -> tensor<16x1xf32, #b> %y = "
        "tt.broadcast %e : tensor<16x1xf32, #b> -> tensor<32x32xf32, #b>"
    ),
    "broadcast_layout": (
        "%e = tt.expand_dims %v {axis = 1 : i32} : tensor<16xf32, #sl> -> tensor<16x1xf32, #b> %y = "
        "tt.broadcast %e : tensor<16x1xf32, #b> -> tensor<16x32xf32, #c>"
    ),
    "broadcast_rank": ("%y = tt.broadcast %v : tensor<16xf32, #sl> -> tensor<16x32xf32, #b>"),
    "broadcast_element": (
        "%e = tt.expand_dims %v {axis = 1 : i32} : tensor<16xf32, #sl> -> tensor<16x1xf32, #b> %y = "
        "tt.broadcast %e : tensor<16x1xf32, #b> -> tensor<16x32xf16, #b>"
    ),
    "splat_element": ("%y = tt.splat %s : f32 -> tensor<16x32xf16, #b>"),
    "splat_tensor": ("%y = tt.splat %r : tensor<64xf32, #one> -> tensor<16x32xf32, #b>"),
    "range_backwards": ("%y = tt.make_range {end = 0 : i32, start = 64 : i32} : tensor<64xi32, #one>"),
    "range_length": ("%y = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<64xi32, #one>"),
    "range_float": ("%y = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xf32, #one>"),
    "range_2d": ("%y = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<16x32xi32, #b>"),
    "dot_inner": (
        "%y = tt.dot %a, %a, %acc : tensor<16x32xf16, #da> * tensor<16x32xf16, #da> -> tensor<16x16xf32, #mma>"
    ),
    "dot_shape": (
        "%k: tensor<16x16xf16, #db>;; %y = tt.dot %a, %k, %acc : tensor<16x32xf16, #da> * tensor<16x16xf16, "
        "#db> -> tensor<16x16xf32, #mma>"
    ),
    "dot_result_shape": (
        "%k: tensor<32x32xf32, #mma>;; %y = tt.dot %a, %w, %k : tensor<16x32xf16, #da> * tensor<32x16xf16, "
        "#db> -> tensor<32x32xf32, #mma>"
    ),
    "dot_elements": (
        "%k: tensor<32x16xf32, #db>;; %y = tt.dot %a, %k, %acc : tensor<16x32xf16, #da> * tensor<32x16xf32, "
        "#db> -> tensor<16x16xf32, #mma>"
    ),
    "dot_index": (
        "%k: tensor<32x16xf16, #da>;; %y = tt.dot %a, %k, %acc : tensor<16x32xf16, #da> * tensor<32x16xf16, "
        "#da> -> tensor<16x16xf32, #mma>"
    ),
    "dot_parent": (
        "%k: tensor<32x16xf16, #dbb>;; %y = tt.dot %a, %k, %acc : tensor<16x32xf16, #da> * tensor<32x16xf16, "
        "#dbb> -> tensor<16x16xf32, #mma>"
    ),
    "dot_no_dot_op": (
        "%k: tensor<16x32xf16, #mma>;; %y = tt.dot %k, %w, %acc : tensor<16x32xf16, #mma> * tensor<32x16xf16,"
        " #db> -> tensor<16x16xf32, #mma>"
    ),
    "dot_no_encoding": (
        "%k: tensor<16x32xf16>;; %y = tt.dot %k, %w, %acc : tensor<16x32xf16> * tensor<32x16xf16, #db> -> "
        "tensor<16x16xf32, #mma>"
    ),
    "reduce_layout": (
        '%y = "tt.reduce"(%x) <{axis = 1 : i32}> ({ ^bb0(%u: f32, %o: f32): tt.reduce.return %u : f32 }) : '
        "(tensor<16x32xf32, #b>) -> tensor<16xf32, #slc>"
    ),
    "reduce_axis": (
        '%y = "tt.reduce"(%x) <{axis = 2 : i32}> ({ ^bb0(%u: f32, %o: f32): tt.reduce.return %u : f32 }) : '
        "(tensor<16x32xf32, #b>) -> tensor<16xf32, #sl>"
    ),
    "reduce_shape": (
        '%y = "tt.reduce"(%x) <{axis = 1 : i32}> ({ ^bb0(%u: f32, %o: f32): tt.reduce.return %u : f32 }) : '
        "(tensor<16x32xf32, #b>) -> tensor<32xf32, #sl>"
    ),
    "reduce_element": (
        '%y = "tt.reduce"(%x) <{axis = 1 : i32}> ({ ^bb0(%u: f32, %o: f32): tt.reduce.return %u : f32 }) : '
        "(tensor<16x32xf32, #b>) -> tensor<16xi32, #sl>"
    ),
    "scan_layout": (
        '%y = "tt.scan"(%x) <{axis = 1 : i32, reverse = false}> ({ ^bb0(%u: f32, %o: f32): tt.scan.return %u '
        ": f32 }) : (tensor<16x32xf32, #b>) -> tensor<16x32xf32, #c>"
    ),
    "scan_axis": (
        '%y = "tt.scan"(%x) <{axis = 4 : i32, reverse = false}> ({ ^bb0(%u: f32, %o: f32): tt.scan.return %u '
        ": f32 }) : (tensor<16x32xf32, #b>) -> tensor<16x32xf32, #b>"
    ),
    "join_shape": ('%y = "tt.join"(%r, %r) : (tensor<64xf32, #one>, tensor<64xf32, #one>) -> tensor<64x4xf32, #b>'),
    "join_layout": ('%y = "tt.join"(%r, %r) : (tensor<64xf32, #one>, tensor<64xf32, #one>) -> tensor<64x2xf32, #b>'),
    "split_last": ('%y, %z = "tt.split"(%x) : (tensor<16x32xf32, #b>) -> (tensor<16xf32, #sl>, tensor<16xf32, #sl>)'),
    "elementwise_layout": (
        '%k: tensor<16x32xf32, #c>;; %y = "tt.clampf"(%x, %k, %x) <{propagateNan = 0 : i32}> : '
        "(tensor<16x32xf32, #b>, tensor<16x32xf32, #c>, tensor<16x32xf32, #b>) -> tensor<16x32xf32, #b>"
    ),
    "arith_layout": (
        '%k: tensor<16x32xf32, #c>;; %y = "arith.addf"(%x, %k) <{fastmath = #arith.fastmath<none>}> : '
        "(tensor<16x32xf32, #b>, tensor<16x32xf32, #c>) -> tensor<16x32xf32, #b>"
    ),
    "fp_to_fp_shape": ("%y = tt.fp_to_fp %x : tensor<16x32xf32, #b> -> tensor<64xf16, #one>"),
    "fp_to_fp_rounding": ("%y = tt.fp_to_fp %x : tensor<16x32xf32, #b> -> tensor<16x32xf8E5M2, #b>"),
    "fp_to_fp_int": ("%y = tt.fp_to_fp %i : tensor<16x32xi32, #b> -> tensor<16x32xf16, #b>"),
    "bitcast_width": ("%y = tt.bitcast %x : tensor<16x32xf32, #b> -> tensor<16x32xi16, #b>"),
    "alloc_constant": ("%y = ttg.local_alloc : () -> !ttg.memdesc<16x32xf32, #sh, #smem>"),
    "alloc_shape": ("%y = ttg.local_alloc %x : (tensor<16x32xf32, #b>) -> !ttg.memdesc<32x32xf32, #sh, #smem>"),
    "alloc_element": ("%y = ttg.local_alloc %x : (tensor<16x32xf32, #b>) -> !ttg.memdesc<16x32xf16, #sh, #smem>"),
    "local_load_shape": (
        "%y = ttg.local_load %mem : !ttg.memdesc<16x32xf32, #sh, #smem, mutable> -> tensor<32x32xf32, #b>"
    ),
    "local_load_element": (
        "%y = ttg.local_load %mem : !ttg.memdesc<16x32xf32, #sh, #smem, mutable> -> tensor<16x32xf16, #b>"
    ),
    "local_store_constant": ("ttg.local_store %x, %con : tensor<16x32xf32, #b> -> !ttg.memdesc<16x32xf32, #sh, #smem>"),
    "local_store_shape": (
        "%k: tensor<32x32xf32, #b>;; ttg.local_store %k, %mem : tensor<32x32xf32, #b> -> "
        "!ttg.memdesc<16x32xf32, #sh, #smem, mutable>"
    ),
    "memdesc_index_shape": (
        "%y = ttg.memdesc_index %mem[%n] : !ttg.memdesc<16x32xf32, #sh, #smem, mutable> -> "
        "!ttg.memdesc<16x32xf32, #sh, #smem, mutable>"
    ),
    "memdesc_trans_shape": (
        "%y = ttg.memdesc_trans %mem {order = array<i32: 1, 0>} : !ttg.memdesc<16x32xf32, #sh, #smem, "
        "mutable> -> !ttg.memdesc<16x32xf32, #sh, #smem, mutable>"
    ),
    "memdesc_subslice_off": (
        "%y = ttg.memdesc_subslice %mem[0, 8] : !ttg.memdesc<16x32xf32, #sh, #smem, mutable> -> "
        "!ttg.memdesc<16x32xf32, #sh2, #smem, mutable>"
    ),
    "atomic_rmw_kind": (
        '%y = "tt.atomic_rmw"(%q, %i) <{operandSegmentSizes = array<i32: 1, 1, 0>, atomic_rmw_op = 4 : i32, '
        "sem = 1 : i32, scope = 1 : i32}> : (tensor<16x32x!tt.ptr<f32>, #b>, tensor<16x32xi32, #b>) -> "
        "tensor<16x32xf32, #b>"
    ),
    "atomic_cas": (
        '%y = "tt.atomic_cas"(%q, %x, %i) <{sem = 1 : i32, scope = 1 : i32}> : (tensor<16x32x!tt.ptr<f32>, '
        "#b>, tensor<16x32xf32, #b>, tensor<16x32xi32, #b>) -> tensor<16x32xf32, #b>"
    ),
    "gather_rank": (
        "%y = tt.gather %x[%t] {axis = 0 : i32} : (tensor<16x32xf32, #b>, tensor<64xi32, #one>) -> tensor<64xf32, #one>"
    ),
    "gather_axis": (
        "%y = tt.gather %x[%i] {axis = 2 : i32} : (tensor<16x32xf32, #b>, tensor<16x32xi32, #b>) -> "
        "tensor<16x32xf32, #b>"
    ),
    "gather_result": (
        "%y = tt.gather %x[%i] {axis = 1 : i32} : (tensor<16x32xf32, #b>, tensor<16x32xi32, #b>) -> "
        "tensor<16x32xf16, #b>"
    ),
    "histogram_float": ("%y = tt.histogram %r : tensor<64xf32, #one> -> tensor<32xi32, #one>"),
    "histogram_2d": ("%y = tt.histogram %i : tensor<16x32xi32, #b> -> tensor<32xi32, #one>"),
    "cat": ('%y = "tt.cat"(%r, %r) : (tensor<64xf32, #one>, tensor<64xf32, #one>) -> tensor<64xf32, #one>'),
    "ptr_to_int": ("%y = tt.ptr_to_int %x : tensor<16x32xf32, #b> -> tensor<16x32xi64, #b>"),
    "int_to_ptr": ("%y = tt.int_to_ptr %x : tensor<16x32xf32, #b> -> tensor<16x32x!tt.ptr<f32>, #b>"),
    "shape_not_power": (
        "%k: tensor<24xf32, #one>;; %y = ttg.convert_layout %k : tensor<24xf32, #one> -> tensor<24xf32, #two>"
    ),
    "assert_float": ('tt.assert %x, "no" : tensor<16x32xf32, #b>'),
    "mulhiui": ("%y = tt.mulhiui %x, %x : tensor<16x32xf32, #b>"),
    "sqrt_int": ("%y = tt.precise_sqrt %i : tensor<16x32xi32, #b>"),
    "map_return": ('"tt.reduce.return"(%s) : (f32) -> ()'),
    "int_min": ("%y = tt.clampf %i, %i, %i, propagateNan = none : tensor<16x32xi32, #b>"),
    "dot_two_parents": (
        "%j: tensor<16x32xf16, #dab>;; %k: tensor<32x16xf16, #dbb>;; %y = tt.dot %j, %k, %acc : "
        "tensor<16x32xf16, #dab> * tensor<32x16xf16, #dbb> -> tensor<16x16xf32, #mma>"
    ),
    "dot_without_layouts": (
        "%j: tensor<16x32xf16>;; %k: tensor<32x16xf16>;; %y = tt.dot %j, %k, %acc : tensor<16x32xf16> * "
        "tensor<32x16xf16> -> tensor<16x16xf32, #mma>"
    ),
    "dot_c_no_encoding": (
        "%k: tensor<16x16xf32>;; %y = tt.dot %a, %w, %k : tensor<16x32xf16, #da> * tensor<32x16xf16, #db> -> "
        "tensor<16x16xf32>"
    ),
    "dot_blocked": (
        "%j: tensor<16x32xf16, #b>;; %k: tensor<32x16xf16, #b>;; %l: tensor<16x16xf32, #b>;; %y = tt.dot %j, "
        "%k, %l : tensor<16x32xf16, #b> * tensor<32x16xf16, #b> -> tensor<16x16xf32, #b>"
    ),
    "dot_rank": (
        "%k: tensor<32xf16, #one>;; %y = tt.dot %k, %k, %k : tensor<32xf16, #one> * tensor<32xf16, #one> -> "
        "tensor<32xf16, #one>"
    ),
    "dot_ranks": (
        "%k: tensor<2x32x16xf16>;; %y = tt.dot %a, %k, %acc : tensor<16x32xf16, #da> * tensor<2x32x16xf16> ->"
        " tensor<16x16xf32, #mma>"
    ),
    "gather_layout": (
        "%y = tt.gather %x[%i] {axis = 1 : i32} : (tensor<16x32xf32, #b>, tensor<16x32xi32, #b>) -> "
        "tensor<16x32xf32, #c>"
    ),
    "gather_rows": (
        "%k: tensor<32x32xi32, #b>;; %y = tt.gather %x[%k] {axis = 1 : i32} : (tensor<16x32xf32, #b>, "
        "tensor<32x32xi32, #b>) -> tensor<32x32xf32, #b>"
    ),
    "gather_shape": (
        "%y = tt.gather %x[%i] {axis = 1 : i32} : (tensor<16x32xf32, #b>, tensor<16x32xi32, #b>) -> "
        "tensor<16x16xf32, #b>"
    ),
    "bitcast_pointer": ("%y = tt.bitcast %q : tensor<16x32x!tt.ptr<f32>, #b> -> tensor<16x32xi64, #b>"),
    "unsplat": ('%y = "tt.unsplat"(%x) : (tensor<16x32xf32, #b>) -> f32'),
    "memory_order": (
        "%y = ttg.memdesc_trans %mem {order = array<i32: 1, 1>} : !ttg.memdesc<16x32xf32, #sh, #smem, "
        "mutable> -> !ttg.memdesc<16x32xf32, #sh, #smem, mutable>"
    ),
    "subslice_element": (
        "%y = ttg.memdesc_subslice %mem[0, 8] : !ttg.memdesc<16x32xf32, #sh, #smem, mutable> -> "
        "!ttg.memdesc<16x16xf16, #sh, #smem, mutable, 16x32>"
    ),
    "load_other": (
        '%y = "tt.load"(%q, %m, %i) <{operandSegmentSizes = array<i32: 1, 1, 1>, cache = 1 : i32, evict = 1 :'
        " i32, isVolatile = false}> : (tensor<16x32x!tt.ptr<f32>, #b>, tensor<16x32xi1, #b>, "
        "tensor<16x32xi32, #b>) -> tensor<16x32xf32, #b>"
    ),
    "load_scalar_mask": (
        '%y = "tt.load"(%p, %m) <{operandSegmentSizes = array<i32: 1, 1, 0>, cache = 1 : i32, evict = 1 : '
        "i32, isVolatile = false}> : (!tt.ptr<f32>, tensor<16x32xi1, #b>) -> f32"
    ),
    "store_mask": (
        '%k: tensor<64xi1, #one>;; "tt.store"(%q, %x, %k) <{cache = 1 : i32, evict = 1 : i32}> : '
        "(tensor<16x32x!tt.ptr<f32>, #b>, tensor<16x32xf32, #b>, tensor<64xi1, #one>) -> ()"
    ),
    "convert_right": ("%y = ttg.convert_layout %x : tensor<16x32xf32, #b> -> tensor<16x32xf32, #c>"),
    "dot_right": (
        "%y = tt.dot %a, %w, %acc : tensor<16x32xf16, #da> * tensor<32x16xf16, #db> -> tensor<16x16xf32, #mma>"
    ),
    "load_right": ("%y = tt.load %q, %m : tensor<16x32x!tt.ptr<f32>, #b>"),
}
TAKEN = {"convert_no_encoding", "histogram_2d", "dot_without_layouts", "convert_right", "dot_right", "load_right"}
"""What Triton takes."""
OTHER_WORDS = {
    *("convert_warps", "convert_rank", "shape_not_power"),  # which operand or result, and why in full
    *("reshape_layout", "broadcast_layout", "join_layout"),  # said by `check`, with the element and its holder
    *("elementwise_layout", "arith_layout"),  # the trait that LLVM has of these operations
    *("memdesc_trans_shape", "histogram_float"),
}
"""What we say in other words."""


def module(question: str) -> str:
    given = "".join(f", {name}: {kind}" for name, kind in GIVEN.findall(question))
    return LAYOUTS + MODULE.replace("ARGUMENTS", ARGUMENTS + given).replace("BODY", GIVEN.sub("", question))


@pytest.mark.parametrize("name", QUESTIONS)
def test_both_refuse_or_both_take_it(name: str) -> None:
    require_module("triton")
    text = module(QUESTIONS[name])
    theirs = refusal(text)
    checked = la.check(text)
    assert theirs is not None
    assert (theirs == "") == (name in TAKEN)
    assert checked.verdict == ("right" if name in TAKEN else "wrong")
    if name not in TAKEN and name not in OTHER_WORDS:
        said = re.sub(r"^(custom op )?'[a-z]+\.[a-z_.]+' op ", "", theirs).strip()
        assert said in [one.message for one in la.read(text).verify()]


def test_there_are_questions() -> None:
    assert len(QUESTIONS) - len(TAKEN) >= 90
