"""`propagate` on functions that get tensor descriptors: MLIR of one piece, with the types that LLVM's own pass writes.

A descriptor's type stands at the argument, in the function's type and at each use. Where others name the function, or a
branch brings the descriptor, it stays.
"""

from __future__ import annotations

import re

import pytest

import layoutalg as la
from tests.oracle.toolchains import require, require_new, run

BODY = """  %x = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<8x16xf32> -> vector<8x16xf32>
  %y = math.exp %x : vector<8x16xf32>
  %u = xegpu.create_nd_tdesc %q : memref<64x64xf32> -> !xegpu.tensor_desc<8x16xf32>
  xegpu.store_nd %y, %u[0, 0] : vector<8x16xf32>, !xegpu.tensor_desc<8x16xf32>
"""
ARGUMENTS = "(%t: !xegpu.tensor_desc<8x16xf32>, %q: memref<64x64xf32>)"
FUNCTION = f"func.func @f{ARGUMENTS} {{\n{BODY}  func.return\n}}\n"
KERNEL = f"gpu.module @m {{\ngpu.func @f{ARGUMENTS} kernel {{\n{BODY}  gpu.return\n}}\n}}\n"
CALLED = f"""{FUNCTION}func.func @caller(%p: memref<64x64xf32>) {{
  %t = xegpu.create_nd_tdesc %p : memref<64x64xf32> -> !xegpu.tensor_desc<8x16xf32>
  %x = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<8x16xf32> -> vector<8x16xf32>
  func.call @f(%t, %p) : (!xegpu.tensor_desc<8x16xf32>, memref<64x64xf32>) -> ()
  func.return
}}
"""
RETURNED = """func.func @f(%p: memref<64x64xf32>) -> !xegpu.tensor_desc<8x16xf32> {
  %t = xegpu.create_nd_tdesc %p : memref<64x64xf32> -> !xegpu.tensor_desc<8x16xf32>
  %x = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<8x16xf32> -> vector<8x16xf32>
  func.return %t : !xegpu.tensor_desc<8x16xf32>
}
"""
BRANCHES = f"""func.func @f(%p: memref<64x64xf32>, %q: memref<64x64xf32>) {{
  %d = xegpu.create_nd_tdesc %p : memref<64x64xf32> -> !xegpu.tensor_desc<8x16xf32>
  cf.br ^bb1(%d : !xegpu.tensor_desc<8x16xf32>)
^bb1(%t: !xegpu.tensor_desc<8x16xf32>):
{BODY}  func.return
}}
"""


@pytest.mark.parametrize("llvm", [22, 23, 24])
@pytest.mark.parametrize("text", [FUNCTION, KERNEL, CALLED, RETURNED, BRANCHES])
def test_what_is_written_is_read_by_llvm(text: str, llvm: int) -> None:
    program = require("mlir-opt-22") if llvm == 22 else require_new(f"mlir-opt-{llvm}")
    done = run([program], str(la.propagate(la.read(text), llvm=llvm).module))
    assert done.returncode == 0, done.stderr


def test_the_argument_gets_the_type_that_llvm_gives_it() -> None:
    program = require_new("mlir-opt-24")
    passes = ["--xevm-attach-target=module=.* chip=pvc", "--xegpu-propagate-layout=layout-kind=lane"]
    theirs = run([program, *passes], KERNEL)
    assert theirs.returncode == 0, theirs.stderr
    ours = str(la.propagate(la.read(KERNEL), llvm=24).module)
    first = r"gpu\.func @f\(%\w+: (!xegpu\.tensor_desc<.*?>>)"
    assert re.findall(first, ours) == re.findall(first, theirs.stdout) != []
