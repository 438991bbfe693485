"""Functions that serve the room `lowering` alone, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, f16, i64
from xdsl.dialects.test import TestOp as AnyOp

import layoutalg as la
from layoutalg.conversion import convert
from layoutalg.conversion.lowering.writer import Value, Writer
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Machine
from layoutalg.hardware.messages import messages_of
from layoutalg.ir import read_module
from layoutalg.ir.dialects.xegpu.attributes import TensorDescType
from layoutalg.lowering.assembling import over
from layoutalg.lowering.block_descriptors import (
    BlockDescriptor,
    address,
    can_move,
    descriptor_of,
    mixed,
    of_memref,
    places,
    space_of,
    takes_messages,
)
from layoutalg.lowering.blocks import hints
from layoutalg.lowering.branches import write_blocks
from layoutalg.lowering.exchanges import Exchanges, exchange, way_to
from layoutalg.lowering.fragments import regrouped
from layoutalg.lowering.in_place import converted_shape, exchanged
from layoutalg.lowering.kernels import KernelText
from layoutalg.lowering.liveness import is_free
from layoutalg.lowering.matrix_instruction import as_components
from layoutalg.lowering.memory_blocks import without_count
from layoutalg.lowering.reductions import combined_as
from layoutalg.lowering.regions import Passed, passing, pieces_passed, take_pieces, write_yield
from layoutalg.lowering.rules import _RULES, bare_kernel, lowers
from layoutalg.lowering.shared_memory import declared_bytes, is_barrier
from layoutalg.lowering.value_layouts import tile_registers
from layoutalg.xegpu import LayoutAttr, SliceAttr


def test_a_register_for_all_stays_as_it_is() -> None:
    one = Value("f32")
    assert over(bare_kernel(), None, one, np.ones((1, 16), np.bool_)) is one


def test_without_offsets_the_address_is_the_base() -> None:
    base = Value("i64")
    assert address(AnyOp(), bare_kernel(), BlockDescriptor(base, [64, 64], [64, 1], [0, 0], "f16", True, "")) is base


def test_a_number_stands_where_the_list_has_a_mark() -> None:
    assert mixed(DenseArrayBase.from_list(i64, [8, DYNAMIC_INDEX]), [16]) == [8, 16]


def test_sizes_and_strides_are_those_of_the_memref() -> None:
    text = '%m = "t.o"() : () -> memref<8x16xf32> %t = xegpu.create_nd_tdesc %m : memref<8x16xf32> '
    [_, create] = read_module(text + "-> !xegpu.tensor_desc<8x16xf32>").body.block.ops
    assert of_memref(create, Value("index"), bare_kernel()) == ([8, 16], [16, 1])


def test_global_memory_is_not_written() -> None:
    assert space_of(TensorDescType.of([8, 16], f16)) == ""


def test_a_descriptor_has_the_block_that_it_was_given() -> None:
    kernel, module = bare_kernel(), read_module('%t = "t.o"() : () -> !xegpu.tensor_desc<8x16xf32>')
    value = module.body.block.first_op.results[0]
    kernel.descriptors[value] = BlockDescriptor(Value("i64"), [8, 16], [16, 1], [0, 0], "f32", True, "")
    assert descriptor_of(value, kernel).shape == [8, 16]


def test_a_packed_message_says_so() -> None:
    assert hints(AnyOp(), "packed") == " <{packed}>"


def test_blocks_are_written_with_labels() -> None:
    [function] = read_module("func.func @f() { cf.br ^end ^end: gpu.barrier func.return }").body.block.ops
    kernel = bare_kernel()
    write_blocks(function.body.blocks[0], kernel)
    assert [line.strip() for line in kernel.writer.text().splitlines()][:3] == ["cf.br ^bb1", "^bb1:", "gpu.barrier"]


def test_nobody_goes_another_way_in_a_straight_line() -> None:
    assert way_to(read_module("gpu.barrier").body.block.first_op) == "nowhere"


def test_eight_registers_in_two_vectors() -> None:
    assert [value.kind for value in regrouped(Writer(), [Value("f32", 8)], (4, 4))] == [
        "vector<4xf32>",
        "vector<4xf32>",
    ]


def test_a_tile_of_8x16_has_8_registers_of_each_lane() -> None:
    attribute = LayoutAttr(inst_data=(8, 16), lane_layout=(1, 16), lane_data=(1, 1))
    assert tile_registers(attribute, Layout.parse("d0 = 16@reg, d1 = 16@lane")) == 8


def test_an_exchanged_fragment_keeps_its_type() -> None:
    function = read_module("func.func @f(%x: vector<2x1xi32>) { func.return }").body.block.first_op
    plan = la.convert("d0 = 2@reg, d1 = 16@lane", "d0 = 2@lane, d1 = 8@lane:2 2@reg")
    [x] = function.body.block.args
    assert str(exchanged(Exchanges(function), plan, x, x.type, function.body.block.last_op).type) == "vector<2x1xi32>"


def test_loads_and_sums_are_free_and_stores_are_not() -> None:
    assert is_free("arith.addf")
    assert is_free("xegpu.load_nd")
    assert not is_free("xegpu.store_nd")
    assert not is_free("vector.store")


def test_bytes_are_taken_in_pairs() -> None:
    assert as_components(Writer(), Value("i8", 16), 16).kind == "vector<8xi16>"


def test_a_descriptor_of_two_blocks_without_the_count() -> None:
    kind = "!xegpu.tensor_desc<8x16xf16, #xegpu.block_tdesc_attr<array_length = 2 : i64>>"
    pair = read_module(f'%t = "test.op"() : () -> {kind}').body.block.first_op.results[0].type
    assert str(without_count(pair)) == "!xegpu.tensor_desc<8x16xf16>"


def test_floats_are_added_with_addf() -> None:
    assert combined_as(None, "add", "f32") == "addf"


def test_a_number_passes_as_it_is() -> None:
    operation = read_module("%n = arith.constant 3 : index").body.block.first_op
    assert (
        repr(passing(operation, operation.results[0], bare_kernel())) == "Passed(layout=None, sizes=(), kind='index')"
    )


def test_a_scalar_passes_in_one_piece() -> None:
    kernel, made = bare_kernel(), Value("index")
    last = read_module("%n = arith.constant 3 : index %m = arith.addi %n, %n : index").body.block.last_op
    kernel.scalars[last.operands[0]] = made
    assert pieces_passed(last, 0, Passed(None, (), "index"), kernel) == [made]


def test_what_came_in_pieces_is_known_in_the_region() -> None:
    kernel, made = bare_kernel(), Value("index")
    number = read_module("%n = arith.constant 3 : index").body.block.first_op.results[0]
    take_pieces(number, Passed(None, (), "index"), [made], kernel)
    assert kernel.scalars[number] is made


def test_nothing_is_yielded_of_nothing() -> None:
    kernel = bare_kernel()
    write_yield(read_module("gpu.barrier").body.block.first_op, (), kernel)
    assert kernel.writer.text() == "scf.yield"


def test_a_rule_is_found_by_the_name_of_its_operation() -> None:
    @lowers("test.nothing")
    def nothing(op, kernel):
        pass

    assert _RULES.pop("test.nothing") is nothing


def test_a_kernel_declares_the_bytes_of_its_buffers() -> None:
    text = "gpu.module @m { gpu.func @k() workgroup(%s : memref<32xf32, 3>) kernel { gpu.return } }"
    assert declared_bytes(next(op for op in read_module(text).walk() if op.name == "gpu.func")) == 128


def test_a_barrier_of_the_workgroup_is_one() -> None:
    assert is_barrier(read_module("gpu.barrier").body.block.first_op)


@pytest.mark.parametrize(
    ("spaces", "orders"), [("workgroup", True), ("global", False), ("private", False)], ids=lambda value: str(value)
)
def test_a_barrier_that_names_what_it_orders_is_one_for_shared_memory(spaces: str, orders: bool) -> None:
    assert is_barrier(read_module(f"gpu.barrier memfence [#gpu.address_space<{spaces}>]").body.block.first_op) == orders


def test_a_message_does_not_begin_inside_a_word() -> None:
    # Column 1 of f16 is in the middle of a word.
    text = '%t = "test.op"() : () -> !xegpu.tensor_desc<8x16xf16> xegpu.prefetch_nd %t[0, 1] : !xegpu.tensor_desc<8x16xf16>'
    [_, prefetch] = read_module(text).body.block.ops
    surface = BlockDescriptor(Value("i64"), [64, 64], [64, 1], [0, 0], "f16", True, "")
    assert not can_move(surface, bare_kernel(), prefetch, messages_of("pvc", 16, "load")[0])


def test_messages_begin_where_the_pieces_do() -> None:
    text = (
        '%t = "t.o"() : () -> !xegpu.tensor_desc<8x16xf32> xegpu.prefetch_nd %t[8, 16] : !xegpu.tensor_desc<8x16xf32>'
    )
    [_, prefetch] = read_module(text).body.block.ops
    surface = BlockDescriptor(Value("i64"), [64, 64], [64, 1], [0, 0], "f32", True, "")
    layout = Layout.parse("d0 = 16@reg, d1 = 16@lane")
    assert places(prefetch, bare_kernel(), surface, layout, [(0, 0), (8, 0)]) == [[8, 16], [16, 16]]


def test_rows_of_32_bytes_are_too_short_for_messages() -> None:
    # A row of 16 f16 is 32 bytes; the messages want 64.
    assert not takes_messages(
        BlockDescriptor(Value("i64"), [8, 16], [16, 1], [0, 0], "f16", True, ""), bare_kernel(), 16
    )


def test_two_lanes_exchange_two_registers() -> None:
    kernel = KernelText("k", Machine(lanes=2, subgroups=1), subgroups=1)
    plan = convert(Layout.parse("d0 = 2@reg, d1 = 2@lane"), Layout.parse("d0 = 2@lane, d1 = 2@reg"))
    [made] = exchange(kernel, plan, [Value("f32", 2)], (2,))
    assert made.kind == "vector<2xf32>"


def test_a_fragment_of_16_lanes_is_a_tensor_of_16_columns() -> None:
    assert converted_shape((16, 1), LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))) == (16, 16)
    assert converted_shape((8,), SliceAttr(LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)), dims=(1,))) == (8,)
