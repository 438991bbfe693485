"""What stores to shared memory cost further: counted by hand in the compilers' listings."""

from __future__ import annotations

import pytest

from layoutalg.conversion.address_charges import address_operations
from layoutalg.conversion.charges import charges_of
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Address, Load, Select, Store

_IN_COLUMNS = ((0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11), (12, 13, 14, 15))


@pytest.mark.parametrize(
    ("given", "stores", "moves"),
    [  # `mov` before the stores, as IGC 2.40 writes them for bmg
        (4, [(0, 2, 1, 3)], 6),
        (8, [(0, 2, 4, 6, 1, 3, 5, 7)], 14),
        (8, [(0, 4, 1, 5, 2, 6, 3, 7)], 14),
        (8, [(0, 2, 4, 6), (1, 3, 5, 7)], 8),
        (16, [(0, 8, 1, 9, 4, 12, 5, 13), (2, 10, 3, 11, 6, 14, 7, 15)], 28),
        (16, [(0, 2, 8, 10, 1, 3, 9, 11), (4, 6, 12, 14, 5, 7, 13, 15)], 30),
        (16, [(0, 4, 1, 5), (2, 6, 3, 7), (8, 12, 9, 13), (10, 14, 11, 15)], 16),
        (16, _IN_COLUMNS, 0),
        (32, [tuple(range(first, 32, 4)) for first in range(4)], 32),
    ],
)
def test_words_of_stores_as_long_as_what_was_given_are_copied_twice(
    given: int, stores: list[tuple[int, ...]], moves: int
) -> None:
    steps = tuple([Store(words, Address(place * len(words))) for place, words in enumerate(stores)])
    pack = tuple(range(given))
    found = charges_of([Program(1, 16, 32, given, given, pack, (*steps, Load((given,), Address())), pack, 4096)])
    assert found["payload"] + found["again"] == moves


@pytest.mark.parametrize(("order", "moves"), [((0, 2, 1, 3), 6), ((0, 1, 2, 3), 0)])
def test_words_of_a_load_that_is_all_of_the_result_are_copied_twice(order: tuple[int, ...], moves: int) -> None:
    steps = (Store((0, 1, 2, 3), Address()), Load((4, 5, 6, 7), Address()))
    rest = tuple([4 + place for place in order])
    found = charges_of([Program(1, 16, 32, 4, 4, (0, 1, 2, 3), steps, rest, 4096)])
    assert found["rearranged"] + found["again"] == moves


def test_words_that_are_put_together_are_written_where_a_store_wants_them() -> None:
    # sm_80: 16 PRMT before the two STS.128, and no MOV
    pack = tuple([2 * word + half for half in (0, 1) for word in range(8)])
    steps = (Store((0, 1, 2, 3), Address()), Store((4, 5, 6, 7), Address(4)), Load((8,), Address()))
    program = Program(1, 32, 16, 16, 16, pack, steps, (16, 17) * 8, 4096)
    assert charges_of([program])["payload"] == 0


@pytest.mark.parametrize(("count", "branches"), [(1, 0), (4, 0), (8, 1), (32, 1)])
def test_a_few_masked_stores_are_predicated(count: int, branches: int) -> None:
    # sm_80 and sm_90: `@!P0 STS` for a few stores, BSSY, BRA and BSYNC round many
    steps = tuple([Store((0,), Address(place), where=(0xFFFF,)) for place in range(count)])
    program = Program(1, 32, 32, 1, 1, (0,), (*steps, Load((1,), Address())), (1,), 4096)
    found = charges_of([program])
    assert (found["masked_run"], found["masked_long"], found["masked_once"], found["condition"]) == (1, branches, 1, 1)


def test_the_conditions_of_masked_stores_are_shared_with_selects() -> None:
    half = 0xFFFF0000
    steps = (Select(2, 0, 1, "lane", half), Store((2,), Address(), where=(half, 0)), Load((3,), Address()))
    found = charges_of([Program(2, 32, 32, 2, 1, (0, 1), steps, (3,), 4096)])
    assert (found["condition"], found["condition_sg"], found["masked_once"]) == (1, 1, 1)


@pytest.mark.parametrize(
    ("lane", "bits", "moved"),
    [  # gfx942: s_movk_i32 s0, 0x70 and v_and_or_b32 v0, v0, s0, v1; v_and_or_b32 v2, v2, 54, v4
        ((8, 16, 32, 1, 2, 4), 16, 1),
        ((2, 4, 0, 16, 32, 8), 8, 0),
    ],
)
def test_large_constants_are_moved_before_they_are_joined_with(lane: tuple[int, ...], bits: int, moved: int) -> None:
    assert address_operations([(Address(xor=True, lane=lane), bits)], 64)["address_constant"] == moved


def test_products_shift_what_they_multiply() -> None:
    # gfx942, 8 * (9 * (lane // 8)): v_lshrrev_b32, v_mul_u32_u24 by 72
    found = address_operations([(Address(factors=(("lane", 8, 8, 18),)), 32)], 64)
    assert (found["address_mask"], found["address_times"], found["address_shift"]) == (1, 1, 0)


def test_bits_that_a_product_takes_are_cut_out_once() -> None:
    # gfx942, 72 * (lane // 8) and 72 * (lane % 8) + 2 * (lane // 8): v_lshrrev_b32, v_mul_u32_u24; v_and_b32, v_mul_u32_u24,
    # v_lshl_add_u32
    store = Address(factors=(("lane", 8, 8, 72),))
    load = Address(factors=(("lane", 1, 8, 72), ("lane", 8, 8, 2)))
    found = address_operations([(store, 8), (load, 8)], 64)
    assert found == {"address_mask": 2, "address_times": 2, "address_add": 1}


@pytest.mark.parametrize(
    ("stored", "loaded", "reversals"),
    [  # `bfrev` in listings of IGC 2.40 for bmg: the terms of lane and subgroup, by which it stores and loads
        (((1, 2, 4, 8), (16, 32)), ((1, 2, 4, 8), (32, 16)), 1),
        (((4, 8, 16, 32), (256, 128)), ((4, 8, 16, 32), (64, 128)), 1),
        (((16, 8, 4, 2), (256,)), ((16, 32, 64, 128), (256,)), 1),
        (((1, 4, 8, 16), (64, 32)), ((2, 4, 8, 16), (64, 32)), 0),
        (((2, 64, 4, 8), (32, 16)), ((2, 4, 8, 16), (32, 64)), 0),
        (((8, 4, 2, 1),), ((1, 2, 4, 8),), 0),
    ],
)
def test_bits_that_change_places_in_a_xor_are_reversed_where_they_are_joined_first(
    stored: tuple[tuple[int, ...], ...], loaded: tuple[tuple[int, ...], ...], reversals: int
) -> None:
    steps = (Store((0,), Address(0, True, *stored)), Load((1,), Address(0, True, *loaded)))
    subgroups = 1 << sum(map(len, stored[1:]))
    program = Program(subgroups, 16, 32, 1, 1, (0,), steps, (1,), 4096)
    assert charges_of([program], vendor="intel")["mirrored"] == reversals


@pytest.mark.parametrize(
    ("factors", "base", "bits", "computed"),
    [  # stores with and without `flat[A+..]` in the same listings
        ([("lane", 1, 2, 2), ("lane", 2, 8, 1), ("lane", 4, 4, 6)], 4, 8, 0),
        ([("lane", 1, 2, 2), ("lane", 2, 2, 36), ("lane", 4, 4, 8)], 4, 32, 0),
        ([("lane", 1, 8, 4), ("lane", 8, 2, 2)], 32, 32, 0),
        ([("lane", 1, 4, 8), ("lane", 4, 2, 128), ("lane", 8, 2, 64)], 32, 32, 1),
        ([("lane", 1, 2, 16), ("lane", 2, 2, 2), ("lane", 4, 2, 8), ("lane", 8, 2, 1)], 4, 32, 1),
    ],
)
def test_offsets_are_computed_where_an_address_is_joined_by_or(
    factors: list[tuple[str, int, int, int]], base: int, bits: int, computed: int
) -> None:
    steps = tuple([Store((0,), Address(at, factors=tuple(factors)), bits=bits) for at in (0, base)])
    given = tuple(range(32 // bits))
    program = Program(1, 16, bits, len(given), len(given), given, (*steps, Load((1,), Address())), given, 4096)
    assert charges_of([program], vendor="intel")["offset_computed"] == computed
