"""DPAS and 2D block messages by name are those of `layoutalg.hardware`."""

from __future__ import annotations

import pytest

import layoutalg as la
from layoutalg.core.errors import LayoutError
from layoutalg.hardware import block_load, block_store, dpas
from layoutalg.hardware.dpas import dpas_instructions
from layoutalg.instructions import known_instructions

PREFIX = "intel_sub_group_2d_block_"


@pytest.mark.parametrize("target", ["pvc", "bmg", "dg2"])
def test_every_dpas_of_a_chip_is_found_by_its_types(target: str) -> None:
    for one in dpas_instructions(target):
        found = la.instruction(f"dpas.{target}.{one.a_type}.{one.b_type}.{one.acc_type}")
        assert [part.layout for part in found.parts] == [one.a, one.b, one.c]
        assert (found.shape, found.threads) == ((one.m, one.n, one.k), one.subgroup_size)
        assert target in found.chips
    assert len(known_instructions("DPAS", target)) == len(dpas_instructions(target))


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("dpas.f16", "dpas.f16.f16.f32"),
        ("dpas.bmg.f16", "dpas.f16.f16.f32"),
        ("dpas.pvc.tf32", "dpas.tf32.tf32.f32"),
        ("dpas.8x8.bf.bf.f", "dpas.bf16.bf16.f32"),
        ("dpas.8x4.hf", "dpas.8x4.f16.f16.f32"),
        ("dpas.u8.s8", "dpas.u8.s8.s32"),
        ("dpas.dg2.bf16", "dpas.dg2.bf16.bf16.f32"),
        ("intel_sub_group_f16_f16_matrix_mad_k16", "dpas.f16.f16.f32"),
        ("intel_sub_group_i8_u8_matrix_mad_k32", "dpas.s8.u8.s32"),
        ("read_16b_8r16x1c", f"{PREFIX}read_16b_8r16x1c"),
        (f"{PREFIX}write_32b_8r16x1c", f"{PREFIX}write_32b_8r16x1c"),
        ("xevm.blockload2d<elem_size_in_bits=16, tile_width=16, tile_height=8>", f"{PREFIX}read_16b_8r16x1c"),
        ("xevm.blockload2d<16, 16, 16, 1, false, true>", f"{PREFIX}read_transform_16b_16r16x1c"),
        ("xevm.blockstore2d<elem_size_in_bits=32, tile_width=16, tile_height=8>", f"{PREFIX}write_32b_8r16x1c"),
        ("__spirv_Subgroup2DBlockLoadTransposeINTEL<4, 8, 16, 1>", f"{PREFIX}read_transpose_32b_16r8x1c"),
        ("__spirv_Subgroup2DBlockStoreINTEL<2, 16, 8, 1>", f"{PREFIX}write_16b_8r16x1c"),
    ],
)
def test_a_name_is_found_as_people_type_it(typed: str, name: str) -> None:
    assert la.instruction(typed).name == name
    assert la.parse(typed) == la.instruction(typed)


def test_block_messages_have_the_layouts_of_their_sizes() -> None:
    packed = la.instruction(f"{PREFIX}read_transform_16b_32r16x2c")
    assert packed["destination"].layout == block_load(32, 16, 16, 2, transform=True).layout
    assert la.instruction(f"{PREFIX}write_16b_8r16x1c")["source"].layout == block_store(8, 16, 16).layout
    assert (
        la.instruction(f"{PREFIX}read_transpose_32b_16r8x1c").layout() == block_load(16, 8, 32, transpose=True).layout
    )


def test_every_listed_message_holds_each_element_once() -> None:
    for one in known_instructions("2D block"):
        [part] = one.parts
        held = part.layout.fragment_map()[0]
        assert held.shape[0] * held.shape[1] == len({*map(tuple, held.reshape(-1, 2).tolist())})


def test_dpas_with_an_accumulator_says_which_fragment_it_is() -> None:
    assert la.instruction("dpas.f16")["A"].layout == dpas("f16", "f16").a


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("dpas.8x8", "says no types"),
        ("dpas.f64", "no such instruction; there are f16 x f16"),
        ("dpas.gfx942.f16", "no chip with DPAS"),
        ("dpas.8x9.f16", "expected 1 to 8 rows"),
        ("dpas.f16.f16.f32.f32", "expected those of A, B and the accumulator"),
        ("intel_sub_group_f16_f16_matrix_mad_k32", "k is 16 for f16"),
        ("xevm.blockload2d", "has no sizes in its name"),
        ("read_16b_9r16x1c", "no such message; of 16 bits there are 16 wide"),
        ("xevm.blockload2d<elem_size_in_bits=99999999999, tile_width=1, tile_height=1>", "has no sizes"),
        ("__spirv_Subgroup2DBlockLoadINTEL<2, 16, 8, 2, 1, 1, 1>", "cannot be combined|no such message|sizes"),
    ],
)
def test_what_is_not_there_is_refused_in_words(name: str, words: str) -> None:
    with pytest.raises(LayoutError, match=words):
        la.instruction(name)
