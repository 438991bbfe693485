"""Triton's dialects as its compiler prints them: `tt`, `ttg`, `ttng`, `amdg`, `ttig`, `gluon` and what stands beside them.

>>> from layoutalg.ir import read_module
>>> text = '''#b = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [2], order = [0]}>
... tt.func public @double(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}) attributes {noinline = false} {
...   %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #b>
...   %q = tt.splat %p : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>, #b>
...   %r = tt.addptr %q, %i : tensor<64x!tt.ptr<f32>, #b>, tensor<64xi32, #b>
...   %x = tt.load %r : tensor<64x!tt.ptr<f32>, #b>
...   tt.return
... }'''
>>> [operation.name for operation in next(iter(read_module(text).ops)).body.block.ops]
['tt.make_range', 'tt.splat', 'tt.addptr', 'tt.load', 'tt.return']
"""

from layoutalg.ir.dialects.triton.tables import (
    AMDG,
    GLUON,
    NVWS,
    PROTON,
    PROTON_GPU,
    ROCDL,
    TRITON_GEN,
    TT,
    TTG,
    TTI,
    TTIG,
    TTNG,
)

__all__ = ["AMDG", "GLUON", "NVWS", "PROTON", "PROTON_GPU", "ROCDL", "TRITON_GEN", "TT", "TTG", "TTI", "TTIG", "TTNG"]
