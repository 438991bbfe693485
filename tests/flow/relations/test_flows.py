"""Whole programs: what an output depends on, through all ties together, is what the simulator computes."""

from __future__ import annotations

import time
from math import prod
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg.flow.graph import Flow, flow_of
from layoutalg.flow.relations import relation_of
from layoutalg.ir import read_module
from tests.flow.relations.dependencies import Value, enumerated, measured

A = Value("a", (4, 6), "f32")
B = Value("b", (4, 6), "f32")


def through(flow: Flow, start: Any, end: Any) -> np.ndarray[Any, Any]:
    """`[element of start, element of end]`: whether ties lead from the one to the other, along any way."""
    shapes = [value.shape for value in flow.values]
    steps = [
        (flow.value_of(tie.operand).number, flow.value_of(tie.result).number, tie)
        for tie in flow.ties
        if tie.operand in flow and tie.result in flow
    ]
    matrices = [(source, made, enumerated(tie, shapes[source], shapes[made])) for source, made, tie in steps]
    first = flow.value_of(start).number
    reached = [np.zeros((prod(shapes[first]), prod(shape)), bool) for shape in shapes]
    reached[first] |= np.eye(prod(shapes[first]), dtype=bool)
    changed = True
    while changed:
        changed = False
        for source, made, step in matrices:
            more = (reached[source].astype(np.uint8) @ step.astype(np.uint8)) > 0
            if (more & ~reached[made]).any():
                reached[made] |= more
                changed = True
    return reached[flow.value_of(end).number]


PROGRAMS = {
    "for": """%n0 = arith.constant 0 : index %n1 = arith.constant 1 : index %n2 = arith.constant 3 : index
        %r = scf.for %i = %n0 to %n2 step %n1 iter_args(%q = %a) -> (vector<4x6xf32>) {
          %row = vector.extract %q[0] : vector<6xf32> from vector<4x6xf32>
          %whole = vector.broadcast %row : vector<6xf32> to vector<4x6xf32>
          %sum = arith.addf %whole, %b : vector<4x6xf32>
          %next = arith.addf %sum, %q : vector<4x6xf32>
          scf.yield %next : vector<4x6xf32> }""",
    "exchange": """%n0 = arith.constant 0 : index %n1 = arith.constant 1 : index %n2 = arith.constant 2 : index
        %q:2 = scf.for %i = %n0 to %n2 step %n1 iter_args(%x = %a, %y = %b) -> (vector<4x6xf32>, vector<4x6xf32>) {
          %sum = arith.addf %x, %y : vector<4x6xf32>
          scf.yield %y, %sum : vector<4x6xf32>, vector<4x6xf32> }
        %r = arith.negf %q#0 : vector<4x6xf32>""",
    "while": """%n0 = arith.constant 0 : i32 %n1 = arith.constant 1 : i32 %n2 = arith.constant 3 : i32
        %q, %j = scf.while (%x = %a, %i = %n0) : (vector<4x6xf32>, i32) -> (vector<4x6xf32>, i32) {
          %go = arith.cmpi slt, %i, %n2 : i32
          %sum = arith.addf %x, %b : vector<4x6xf32>
          scf.condition(%go) %sum, %i : vector<4x6xf32>, i32
        } do { ^bb0(%y: vector<4x6xf32>, %k: i32):
          %next = arith.addi %k, %n1 : i32
          scf.yield %y, %next : vector<4x6xf32>, i32 }
        %r = arith.negf %q : vector<4x6xf32>""",
    "if": """%go = arith.constant true
        %q = scf.if %go -> (vector<4x6xf32>) { scf.yield %a : vector<4x6xf32> } else { scf.yield %a : vector<4x6xf32> }
        %r = arith.addf %q, %b : vector<4x6xf32>""",
    "switch": """%n0 = arith.constant 0 : index
        %q = scf.index_switch %n0 -> vector<4x6xf32> case 0 { scf.yield %a : vector<4x6xf32> }
          default { scf.yield %a : vector<4x6xf32> }
        %r = arith.addf %q, %b : vector<4x6xf32>""",
    "region": """%q = scf.execute_region -> vector<4x6xf32> {
          %t = vector.transpose %a, [1, 0] : vector<4x6xf32> to vector<6x4xf32>
          %u = vector.shape_cast %t : vector<6x4xf32> to vector<2x3x4xf32>
          %w = vector.shape_cast %u : vector<2x3x4xf32> to vector<6x4xf32>
          %v = vector.transpose %w, [1, 0] : vector<6x4xf32> to vector<4x6xf32>
          scf.yield %v : vector<4x6xf32> }
        %r = arith.addf %q, %b : vector<4x6xf32>""",
    "softmax": """%zero = arith.constant dense<0.0> : vector<4xf32>
        %e = arith.addf %a, %b : vector<4x6xf32>
        %s = vector.multi_reduction <add>, %e, %zero [1] : vector<4x6xf32> to vector<4xf32>
        %c = vector.shape_cast %s : vector<4xf32> to vector<4x1xf32>
        %w = vector.broadcast %c : vector<4x1xf32> to vector<4x6xf32>
        %r = arith.divf %e, %w : vector<4x6xf32>""",
    "halves": """%t = vector.extract_strided_slice %a {offsets = [0, 0], sizes = [2, 6], strides = [1, 1]}
          : vector<4x6xf32> to vector<2x6xf32>
        %u = vector.extract_strided_slice %b {offsets = [2, 0], sizes = [2, 6], strides = [1, 1]}
          : vector<4x6xf32> to vector<2x6xf32>
        %v = vector.insert_strided_slice %u, %a {offsets = [0, 0], strides = [1, 1]} : vector<2x6xf32> into vector<4x6xf32>
        %r = vector.insert_strided_slice %t, %v {offsets = [2, 0], strides = [1, 1]} : vector<2x6xf32> into vector<4x6xf32>""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_ties_lead_where_changes_go(name: str) -> None:
    body = PROGRAMS[name]
    result = Value("r", (4, 6), "f32")
    changes = measured(body, [A, B], [result])
    module = read_module(f'%a, %b = "test.op"() : () -> ({A.type}, {B.type})\n{body}')
    flow = flow_of(module)
    assert flow.unknown == (module.body.block.first_op,)
    start = module.body.block.first_op
    made = list(module.body.block.ops)[-1].results[0]
    for value, operand in zip(start.results, (A, B), strict=True):
        assert np.array_equal(through(flow, value, made), changes[operand.name, "r"])


def test_blocks_and_calls_pass_values_on() -> None:
    module = read_module("""
        func.func @g(%x: vector<8xf32>) -> vector<8xf32> { func.return %x : vector<8xf32> }
        func.func @f(%y: vector<8xf32>, %c: i1) -> vector<8xf32> {
          cf.cond_br %c, ^one(%y : vector<8xf32>), ^two
        ^one(%p: vector<8xf32>):
          %q = func.call @g(%p) : (vector<8xf32>) -> vector<8xf32>
          cf.br ^two
        ^two:
          func.return %y : vector<8xf32> }""")
    called, caller = list(module.body.block.ops)
    blocks = list(caller.regions[0].blocks)
    jump = blocks[0].last_op
    assert jump is not None
    relation = relation_of(jump)
    assert relation is not None
    assert [(tie.number, tie.result) for tie in relation.ties] == [(1, blocks[1].args[0])]
    call = blocks[1].first_op
    assert call is not None
    across = relation_of(call)
    assert across is not None
    assert across.ties == ()
    assert [tie.result for tie in across.calls] == [called.regions[0].blocks[0].args[0], call.results[0]]


@pytest.mark.parametrize("chunk", [0, 4])
def test_a_store_puts_an_element_where_its_own_offset_and_mask_say(chunk: int) -> None:
    """Elements are stored in one workgroup after the other; memory shows which cells an offset and a mask bit decide about."""
    shape = (16, chunk) if chunk else (16,)
    each = chunk or 1
    inner = "x".join(map(str, shape))
    hint = f" <{{chunk_size = {chunk} : i64}}>" if chunk else ""
    zeros = ", %c0" * len(shape)
    groups = 1 + 16 + 16
    kernel = f"""gpu.module @m {{ gpu.func @k(%all: memref<{groups * 512}xf32>, %iv: memref<{inner}xf32>,
        %io: memref<{groups}x16xi32>, %im: memref<{groups}x16xi8>)
        kernel attributes {{known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32}} {{
      %w = gpu.block_id x %c0 = arith.constant 0 : index
      %v = vector.load %iv[{zeros[2:]}] : memref<{inner}xf32>, vector<{inner}xf32>
      %ro = vector.load %io[%w, %c0] : memref<{groups}x16xi32>, vector<16xi32>
      %rm = vector.load %im[%w, %c0] : memref<{groups}x16xi8>, vector<16xi8>
      %o = arith.index_cast %ro : vector<16xi32> to vector<16xindex>
      %zero = arith.constant dense<0> : vector<16xi8>
      %m = arith.cmpi ne, %rm, %zero : vector<16xi8>
      xegpu.store %v, %all[%o], %m{hint} : vector<{inner}xf32>, memref<{groups * 512}xf32>, vector<16xindex>, vector<16xi1>
      gpu.return }} }}"""
    rng = np.random.default_rng(chunk)
    value = (np.arange(16 * each, dtype=np.float32) + 1).reshape(shape)
    places = rng.permutation(16).astype(np.int32) * each
    offsets = np.tile(places, (groups, 1)) + (np.arange(groups, dtype=np.int32) * 512)[:, None]
    mask = np.ones((groups, 16), np.int8)
    for number in range(16):
        offsets[1 + number, number] += 256
        mask[17 + number, number] = 0
    memory = np.zeros(groups * 512, np.float32)
    outcome = la.read(kernel).run([memory, value, offsets, mask], (groups, 1, 1), level="subgroup")
    assert not [one for one in outcome.findings if one.severity == "error"], outcome.findings
    rows = memory.reshape(groups, 512)
    cells = (places[:, None] + np.arange(each)).reshape(-1)  # of the value's elements, in row-major order
    changed = rows[1:, cells] != rows[:1, cells]
    source = (
        f'%v, %p, %o, %m = "test.op"() : () -> (vector<{inner}xf32>, memref<256xf32>, vector<16xindex>, vector<16xi1>)'
    )
    store = f"xegpu.store %v, %p[%o], %m{hint} : vector<{inner}xf32>, memref<256xf32>, vector<16xindex>, vector<16xi1>"
    relation = relation_of(list(read_module(f"{source}\n{store}").body.block.ops)[-1])
    assert relation is not None
    for tie, part in zip(relation.ties, (changed[:16], changed[16:]), strict=True):
        assert (tie.beside, tie.number) in ((0, 2), (0, 3))
        assert np.array_equal(enumerated(tie, (16,), shape), part)


def test_ten_thousand_operations_are_asked_in_a_second() -> None:
    lines = [
        "%a{i} = math.exp %x : vector<16x16xf32>",
        "%b{i} = vector.transpose %a{i}, [1, 0] : vector<16x16xf32> to vector<16x16xf32>",
        "%c{i} = vector.multi_reduction <add>, %b{i}, %z [1] : vector<16x16xf32> to vector<16xf32>",
        "%d{i} = vector.broadcast %c{i} : vector<16xf32> to vector<16x16xf32>",
        "%l{i} = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<8x16xf16> -> vector<8x16xf16>",
    ]
    first = '%x, %z, %t = "test.op"() : () -> (vector<16x16xf32>, vector<16xf32>, !xegpu.tensor_desc<8x16xf16>)\n'
    module = read_module(first + "\n".join(line.format(i=i) for i in range(400) for line in lines))
    operations = list(module.body.block.ops)
    start = time.perf_counter()
    for _ in range(5):
        for operation in operations:
            relation_of(operation)
    assert time.perf_counter() - start < 1
