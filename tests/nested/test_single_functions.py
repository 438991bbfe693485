"""Functions that serve the room `nested` alone, one by one."""

from __future__ import annotations

import numpy as np

import layoutalg as la
from layoutalg.core.reader import Reader
from layoutalg.nested.attributes import read_nested
from layoutalg.nested.gpu.data_tiled import DataTiledMMAAttr
from layoutalg.nested.gpu.enums import SubgroupOps
from layoutalg.nested.gpu.intrinsics import fragment_of
from layoutalg.nested.gpu.kinds import mma
from layoutalg.nested.gpu.maps import as_map
from layoutalg.nested.gpu.parameters import bits, enum_word, typed
from layoutalg.nested.gpu.product import titled
from layoutalg.nested.gpu.products import multiply, multiply_tiles
from layoutalg.nested.gpu.reading import read_notation


def test_the_body_of_a_nested_layout_is_read() -> None:
    body = "<subgroup_tile = [1], batch_tile = [1], outer_tile = [1], thread_tile = [4], element_tile = [2], "
    assert read_nested(Reader(body + "subgroup_strides = [0], thread_strides = [1]>")).shape == (8,)


def test_an_operand_is_named_in_small_letters_too() -> None:
    assert repr(fragment_of("acc")) == "<MMAFragment.Acc: 2>"


def test_a_map_is_given_as_loops_and_dimensions_or_as_text() -> None:
    assert as_map((3, (0, 2))) == as_map("(i, j, k) -> (i, k)")


def test_a_set_of_bits_is_read() -> None:
    assert bits(SubgroupOps)(Reader("shuffle|arithmetic")).value == 3


def test_a_word_may_be_quoted() -> None:
    assert enum_word(Reader('"Transpose"'), ("None", "Transpose")) == "Transpose"


def test_a_number_keeps_its_type() -> None:
    assert typed(Reader("5.3 : f32")).type == "f32"


def test_an_operand_is_titled_with_its_shapes() -> None:
    [_, b, _] = titled(la.mma("MFMA_F32_16x16x16_F16").operands())
    assert b.notes[:1] == (("title", "Rhs  KxN  16x16xf16"),)


def test_one_instruction_multiplies() -> None:
    one = np.ones((32, 16))
    assert (multiply(mma("WMMA_F32_16x16x16_F16"), one, one, np.zeros((32, 8), np.float32)) == 16.0).all()


def test_each_subgroup_multiplies_its_tile() -> None:
    kind = DataTiledMMAAttr("WMMAR4_F32_16x16x16_F16", subgroups_n=2)
    ones = np.ones((2, 32, 8))
    assert (multiply_tiles(kind, ones, ones, np.zeros((2, 32, 8))) == 16.0).all()


def test_an_intrinsic_and_an_operand_are_read() -> None:
    assert str(read_notation(Reader("MFMA_F32_16x16x16_F16"))) == "#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>"
    assert str(read_notation(Reader("#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>.acc"))) == "MFMA_F32_16x16x16_F16.acc"


def test_a_report_lists_the_elements_that_nobody_holds() -> None:
    alone = la.NestedLayoutAttr((1,), (1,), (1,), (4,), (2,), (0,), (0,))
    assert alone.report()[-1].text == "holds 6: (2) (3) (4) (5) (6) (7)"
