"""What loops carry and branches give differs between work-items as what becomes it, each value for itself."""

from __future__ import annotations

import pytest

from layoutalg.ir import read_module
from layoutalg.lowering.divergence import Divergence

HEAD = """func.func @f(%p: memref<16xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %lane = gpu.lane_id
  %sg = gpu.subgroup_id : index
  %x = vector.load %p[%lane] : memref<16xf32>, vector<1xf32>
"""
WHILE = """  %r, %m = scf.while (%y = %x, %i = {first}) : (vector<1xf32>, index) -> (vector<1xf32>, index) {{
    %on = arith.cmpi slt, %i, %n : index
    scf.condition(%on) %y, %i : vector<1xf32>, index
  }} do {{
  ^bb0(%z: vector<1xf32>, %j: index):
    gpu.barrier
    %next = arith.addi %j, {step} : index
    scf.yield %z, %next : vector<1xf32>, index
  }}
"""
FOR = """  %r, %m = scf.for %k = %c0 to %n step %c1 iter_args(%y = %x, %i = {first}) -> (vector<1xf32>, index) {{
    %on = arith.cmpi eq, %i, %c1 : index
    scf.if %on {{
      gpu.barrier
    }}
    %next = arith.addi %i, {step} : index
    scf.yield %y, %next : vector<1xf32>, index
  }}
"""
IF_GIVES = """  %on = arith.cmpi eq, %n, %c1 : index
  %r, %i = scf.if %on -> (vector<1xf32>, index) {{
    scf.yield %x, {first} : vector<1xf32>, index
  }} else {{
    scf.yield %x, {step} : vector<1xf32>, index
  }}
  scf.for %k = %c0 to %i step %c1 {{
    gpu.barrier
  }}
"""
BLOCKS = """  %r, %i = scf.execute_region -> (vector<1xf32>, index) {{
    %on = arith.cmpi eq, %n, %c1 : index
    cf.cond_br %on, ^bb1({first} : index), ^bb2(%x : vector<1xf32>)
  ^bb1(%a: index):
    scf.yield %x, %a : vector<1xf32>, index
  ^bb2(%b: vector<1xf32>):
    scf.yield %b, {step} : vector<1xf32>, index
  }}
  scf.for %k = %c0 to %i step %c1 {{
    gpu.barrier
  }}
"""
SWITCH = """  %r, %i = scf.index_switch %n -> vector<1xf32>, index
  case 3 {{
    scf.yield %x, {first} : vector<1xf32>, index
  }}
  default {{
    scf.yield %x, {step} : vector<1xf32>, index
  }}
  scf.index_switch %i
  case 1 {{
    gpu.barrier
    scf.yield
  }}
  default {{
    scf.yield
  }}
"""


@pytest.mark.parametrize("lines", [WHILE, FOR, IF_GIVES, BLOCKS, SWITCH])
@pytest.mark.parametrize(
    ("first", "step", "differs"),
    [
        ("%c0", "%c1", "nowhere"),
        ("%c0", "%n", "nowhere"),
        ("%sg", "%c1", "subgroup"),
        ("%c0", "%sg", "subgroup"),
        ("%lane", "%c1", "lane"),
        ("%c0", "%lane", "lane"),
        ("%sg", "%lane", "lane"),
    ],
)
def test_a_number_beside_a_tile_differs_as_what_becomes_it(lines: str, first: str, step: str, differs: str) -> None:
    module = read_module(HEAD + lines.format(first=first, step=step) + "  func.return }")
    barrier = next(op for op in module.walk() if op.name == "gpu.barrier")
    [function] = module.body.block.ops
    assert Divergence(function).at(barrier) == differs


def test_the_way_taken_counts_for_what_a_branch_gives() -> None:
    module = read_module(
        HEAD
        + """  %on = arith.cmpi eq, %lane, %c1 : index
  %i = scf.if %on -> (index) {
    scf.yield %c0 : index
  } else {
    scf.yield %c1 : index
  }
  func.return }"""
    )
    branch = next(op for op in module.walk() if op.name == "scf.if")
    [function] = module.body.block.ops
    assert Divergence(function).of(branch.results[0]) == "lane"
