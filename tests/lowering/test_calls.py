"""What is put in the place of calls is counted before it is written."""

from __future__ import annotations

import numpy as np
import pytest

import layoutalg as la
from layoutalg.ir import read_module
from layoutalg.lowering.calls import inline_calls

LANES = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
TILE = f"!xegpu.tensor_desc<8x16xf32, {LANES}>"
V = "vector<8x16xf32>"


def doubling(depth: int, last: str) -> str:
    """Functions of which each calls the one before it twice; the first one is `last`."""
    functions = [f"func.func private @f0(%v: {V}) -> {V} {{ {last} }}"]
    for number in range(1, depth + 1):
        call = f"func.call @f{number - 1}"
        functions.append(
            f"func.func private @f{number}(%v: {V}) -> {V} {{ %a = {call}(%v) : ({V}) -> {V} "
            f"%b = {call}(%a) : ({V}) -> {V} func.return %b : {V} }}"
        )
    return f"""gpu.module @m {{ {" ".join(functions)}
      gpu.func @k(%p: i64, %q: i64) kernel attributes {{known_block_size = array<i32: 16, 1, 1>,
        intel_reqd_sub_group_size = 16 : i32}} {{
      %t = xegpu.create_nd_tdesc %p, shape : [8, 16], strides : [16, 1] : i64 -> {TILE}
      %u = xegpu.create_nd_tdesc %q, shape : [8, 16], strides : [16, 1] : i64 -> {TILE}
      %x = xegpu.load_nd %t[0, 0] : {TILE} -> {V}
      %y = func.call @f{depth}(%x) : ({V}) -> {V}
      xegpu.store_nd %y, %u[0, 0] : {V}, {TILE}
      gpu.return }} }}"""


ADDS = f"%a = arith.addf %v, %v : {V} func.return %a : {V}"


@pytest.mark.parametrize("depth", [17, 40, 300])
def test_too_many_operations_are_refused_before_they_are_written(depth: int) -> None:
    module = read_module(doubling(depth, ADDS))
    before = sum(1 for _ in module.walk())
    [finding] = inline_calls(module)
    assert finding.message == "puts more than 65536 operations in the place of calls"
    assert sum(1 for _ in module.walk()) == before


def test_functions_that_call_one_another_in_a_circle_are_refused_once() -> None:
    module = read_module(doubling(30, f"%a = func.call @f30(%v) : ({V}) -> {V} func.return %a : {V}"))
    [finding] = inline_calls(module)
    assert finding.message.startswith("calls a function that calls itself")


def test_calls_of_calls_compute_what_they_compute() -> None:
    lowered = la.lower(la.read(doubling(3, ADDS)))
    assert lowered.module is not None, lowered.findings
    x, y = np.random.default_rng(0).random((8, 16), np.float32), np.zeros((8, 16), np.float32)
    assert lowered.module.run([x, y], (1, 1, 1)).findings == ()
    np.testing.assert_array_equal(y, x * 2**8)
