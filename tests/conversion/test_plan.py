"""Conversions, against brute force: the destination's fragments element by element, the words that lanes must receive.

What each slot holds comes from `fragment_map`, which the compilers' tables check.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import layoutalg as la
from layoutalg.conversion import ConversionPlan, Load, Select, Shuffle, Store, convert
from layoutalg.conversion.program.schedule import matchings
from layoutalg.conversion.strategies.through_memory import through_memory
from layoutalg.memory.machine_bits import view
from tests.random_layouts import bits_pair, mixed_pair

Slots = NDArray[np.int64]
L = la.Layout.parse


def numbers(layout: la.Layout) -> Slots:
    """The number of the element in every slot, `[sg, lane, reg]`."""
    held = layout.fragment_map().astype(np.int64)
    found = np.zeros(held.shape[:-1], np.int64)
    for d, size in enumerate(layout.shape):
        found = found * size + held[..., d]
    return found


def values(count: int, bits: int, seed: int) -> NDArray[Any]:
    return np.random.default_rng(seed).integers(0, 256, (count, bits // 8), np.uint8).view(f"u{bits // 8}")[:, 0]


def must_receive(source: Slots, destination: Slots, bits: int) -> int:
    """The words that some lane must receive: element by element, from the nearest copy, packed by sender.

    Where an element has several copies, those lanes are taken that are asked for most already.
    """
    worst = 0
    for before, after in zip(source, destination, strict=True):
        holders: dict[int, set[int]] = {}
        for lane, row in enumerate(before.tolist()):
            for element in row:
                holders.setdefault(element, set()).add(lane)
        for lane, row in enumerate(after.tolist()):
            needed = [element for element in set(row) if lane not in holders.get(element, set())]
            asked: Counter[int] = Counter()
            while needed:  # the lane that has most of what is left
                offers = Counter(holder for element in needed for holder in holders.get(element, {-1}))
                best = max(offers, key=lambda one: (offers[one], -one))
                taken = [element for element in needed if best in holders.get(element, {-1})]
                asked[best] += len(taken)
                needed = [element for element in needed if element not in taken]
            worst = max(worst, sum(-(-count * bits // 32) for count in asked.values()))
    return worst


def must_send(source: Slots, destination: Slots, bits: int) -> int:
    """The words that some lane must send, where no element has a copy and elements fill words."""
    worst = 0
    for before, after in zip(source, destination, strict=True):
        holder = {element: lane for lane, row in enumerate(before.tolist()) for element in row}
        sent = Counter(holder[e] for lane, row in enumerate(after.tolist()) for e in set(row) if holder[e] != lane)
        worst = max(worst, max(sent.values(), default=0) * bits // 32)
    return worst


def supply(source: Slots, destination: Slots, bits: int) -> int:
    """The words that each lane would send, if those that have something to send shared all that is wanted.

    A shuffle carries one word out of a lane, so this bounds every plan whose lanes keep nothing.
    """
    worst = 0
    for before, after in zip(source, destination, strict=True):
        wanted = set(after.ravel().tolist())
        senders = [lane for lane, row in enumerate(before.tolist()) if wanted.intersection(row)]
        words = -(-len(wanted) * bits // 32)
        worst = max(worst, -(-words // len(senders)))
    return worst


def crosses(source: Slots, destination: Slots) -> bool:
    return any(
        set(after.ravel().tolist()) - set(before.ravel().tolist())
        for before, after in zip(source, destination, strict=True)
    )


def check(a: la.Layout, b: la.Layout, bits: int, seed: int) -> tuple[ConversionPlan, Slots, Slots]:
    plan = convert(a, b, element_bits=bits)
    before, after = numbers(a), numbers(b)
    data = values(int(np.prod(a.shape)), bits, seed)
    done: Counter[type] = Counter()
    assert (plan.apply(data[before], done) == data[after]).all()
    assert done[Shuffle] == plan.shuffles
    assert done[Select] == plan.selects
    assert (plan.slm_bytes > 0) == (done[Store] > 0) == (done[Load] > 0) == (plan.kind == "shared memory")
    assert (plan.kind == "shared memory") == crosses(before, after)
    return plan, before, after


@pytest.mark.parametrize("seed", range(70))
def test_conversions_between_powers_of_two(seed: int) -> None:
    random = Random(seed)
    for _ in range(50):
        a, b = bits_pair(random)
        bits = random.choice([8, 16, 32, 64])
        plan, before, after = check(a, b, bits, seed)
        if plan.kind == "shared memory":
            assert plan.bank_conflicts == 1
            continue
        least = must_receive(before, after, bits)
        replicas = bool(a.canonical().replicas or b.canonical().replicas)
        if replicas:
            assert plan.lower_bound == least
            assert plan.shuffles <= max(least + 1, supply(before, after, bits))
        else:
            assert plan.shuffles == plan.lower_bound == least
        assert plan.shuffles <= triton_rule(a, b, bits) or replicas


def triton_rule(a: la.Layout, b: la.Layout, bits: int) -> int:
    """Triton's: half the registers per exchanged bit, and all of them where lanes are permuted (beyond one bit it gives up)."""
    # Where each bit of an element's coordinates is: the owner of the element that has this bit alone.
    alone = [tuple(1 << i if e == d else 0 for e in range(a.rank)) for d in range(a.rank) for i in range(40)]
    alone = [element for element in alone if all(x < n for x, n in zip(element, a.shape, strict=True))]
    pairs = [(a.owners(element)[0], b.owners(element)[0]) for element in alone]  # (sg, lane, reg)
    exchanged = sum(before[1] > 0 and after[2] > 0 for before, after in pairs)
    permuted = any(before[1] > 0 and after[1] > 0 and before[1] != after[1] for before, after in pairs)
    together = sum(before[2] > 0 and after[2] > 0 for before, after in pairs)
    words = -(-(bits << together) // 32) << exchanged
    return words * exchanged // 2 + words * permuted if exchanged != 1 or permuted else words // 2


@pytest.mark.parametrize("seed", range(30))
def test_conversions_between_mixed_digits(seed: int) -> None:
    random = Random(seed)
    for _ in range(50):
        a, b = mixed_pair(random)
        bits = random.choice([8, 16, 32, 64])
        plan, before, after = check(a, b, bits, seed)
        if plan.kind != "shared memory":
            replicas = bool(a.canonical().replicas or b.canonical().replicas)
            assert must_receive(before, after, bits) <= plan.lower_bound <= plan.shuffles
            if bits >= 32 and not replicas:  # König: as many as one lane sends or receives
                assert plan.shuffles == max(must_receive(before, after, bits), must_send(before, after, bits))


def test_a_transposed_tile_takes_a_word_from_every_other_lane() -> None:
    plan, _, _ = check(L("d0 = 16@reg, d1 = 16@lane"), L("d0 = 16@lane, d1 = 16@reg"), 32, 0)
    assert (plan.shuffles, plan.lower_bound, plan.slm_bytes) == (15, 15, 0)


def test_four_exchanged_bits_of_thirty_two_lanes() -> None:
    plan, _, _ = check(L("d0 = 16@reg, d1 = 2@lane:16 16@lane"), L("d0 = 16@lane, d1 = 2@lane:16 16@reg"), 32, 0)
    assert (plan.shuffles, plan.slm_bytes) == (15, 0)


@pytest.mark.parametrize(
    ("a", "b", "bits", "shuffles"),
    [
        ("d0 = 8@reg, d1 = 16@lane", "d0 = 8@reg, d1 = 2@lane 8@lane:2", 32, 8),  # lanes permuted: every register
        ("d0 = 8@reg, d1 = 16@lane", "d0 = 8@reg, d1 = 2@lane 8@lane:2", 16, 4),  # two elements of 16 bits at once
        ("d0 = 8@reg, d1 = 16@lane", "d0 = 8@reg, d1 = 2@lane 8@lane:2", 8, 2),
        ("d0 = 8@reg, d1 = 16@lane", "d0 = 8@reg, d1 = 2@lane 8@lane:2", 64, 16),
        (
            "d0 = 2@reg:4 4@reg, d1 = 2@lane:8 8@lane",
            "d0 = 2@lane:8 4@reg, d1 = 2@reg:4 8@lane",
            32,
            4,
        ),  # one bit: half
        ("d0 = 4@reg, d1 = 16@lane", "d0 = 4@reg, d1 = 16@lane", 32, 0),
    ],
)
def test_the_number_of_shuffles_by_hand(a: str, b: str, bits: int, shuffles: int) -> None:
    plan, _, _ = check(L(a), L(b), bits, 1)
    assert plan.shuffles == shuffles


def test_equal_maps_need_nothing_whatever_they_are_written_in() -> None:
    plain, vnni = (la.parse(f"#xegpu.layout<lane_layout = [1, 16], lane_data = [{n}, 1]>") for n in (1, 2))
    for a, b, shape in (
        (plain, vnni, (16, 16)),
        (la.to_nested(la.dpas("f16", "f16", "f32").c).layout((8, 16), la.Machine(lanes=16)), plain, (8, 16)),
    ):
        plan = convert(a, b, shape, element_bits=16)
        assert plan.kind == "identity"
        assert plan.programs[0].steps == ()


def test_replicas_are_read_from_the_own_lane_and_the_own_subgroup() -> None:
    everywhere = L("d0 = 4@reg | replicas 2@sg 16@lane")
    for wanted in (
        "d0 = 4@lane | replicas 2@sg 4@lane:4",
        "d0 = 2@sg 2@lane | replicas 8@lane:2",
        "d0 = 4@reg | replicas 2@sg 16@lane",
    ):
        plan, _, _ = check(everywhere, L(wanted), 32, 0)
        assert plan.shuffles == 0


def test_only_what_crosses_goes_through_memory() -> None:
    plan, _, _ = check(L("d0 = 2@sg 4@reg, d1 = 16@lane"), L("d0 = 2@reg:2 2@sg 2@reg, d1 = 16@lane"), 32, 0)
    assert plan.slm_bytes == 2 * 16 * 4 * 4 // 2
    assert (plan.barriers, plan.shuffles) == (1, 0)


@pytest.mark.parametrize(("registers", "bits", "limit"), [(8, 16, 256), (4, 32, 256), (8, 32, 512), (8, 64, 512)])
def test_rounds_take_registers_that_vectors_would_take(registers: int, bits: int, limit: int) -> None:
    a, b = L(f"d0 = 2@sg {registers}@reg, d1 = 16@lane"), L(f"d0 = 2@lane:8 {registers}@reg, d1 = 2@sg 8@lane")
    plan = convert(a, b, element_bits=bits, slm_limit=limit)
    assert 0 < plan.slm_bytes <= limit
    data = values(32 * registers, bits, 3)
    assert (plan.apply(data[numbers(a)]) == data[numbers(b)]).all()


def test_a_limit_that_one_way_keeps_is_enough() -> None:
    plan = convert(L("d0 = 2@sg 2@reg, d1 = 16@lane"), L("d0 = 2@reg 2@sg, d1 = 16@lane"), slm_limit=128)
    assert plan.slm_bytes == 128


@pytest.mark.parametrize("offset", ["4@lane", "1@sg", "-1@lane", "2@reg"])
def test_layouts_that_start_elsewhere_are_refused(offset: str) -> None:
    for pair in ((f"d0 = 4@lane | offset {offset}", "d0 = 4@lane"), ("d0 = 4@lane", f"d0 = 4@lane | offset {offset}")):
        with pytest.raises(la.ConversionError, match="expected layouts that start at 0"):
            convert(*map(L, pair))


@pytest.mark.parametrize(
    ("source", "destination", "most"),
    [
        ("d0 = 15@lane | replicas 15@sg", "d0 = 15@sg | replicas 15@lane", 15),  # one word to all lanes at once
        ("d0 = 12@lane | replicas 3@sg", "d0 = 3@sg 4@lane | replicas 3@lane:4", 6),
        ("d0 = 15@lane", "d0 = 15@reg | replicas 15@lane", 14),
    ],
)
def test_a_word_that_several_lanes_want_is_sent_once(source: str, destination: str, most: int) -> None:
    plan, _, _ = check(L(source), L(destination), 32, 0)
    assert plan.shuffles <= most


def test_a_large_plan_across_subgroups_explains_itself() -> None:
    a, b = L("d0 = 64@sg, d1 = 1024@reg, d2 = 32@lane"), L("d0 = 64@reg:16, d1 = 64@sg 16@reg, d2 = 32@lane")
    plan = convert(a, b, slm_limit=2**24)
    assert f"must receive {plan.lower_bound} words" in str(plan)
    assert plan.lower_bound == 1024 * 63 // 64


def test_fragments_that_are_none_are_said_so() -> None:
    plan = convert(L("d0 = 2@lane 2@lane:2"), L("d0 = 2@lane:2 2@lane"), element_bits=64)
    for bad in (np.zeros((1, 4, 1), object), np.zeros((1, 4, 2)), np.zeros((1, 4, 1), np.int8), None, [[[1]]], "abcd"):
        with pytest.raises(la.ConversionError, match="expected"):
            plan.apply(bad)


@pytest.mark.parametrize("shape", [(8, 16), (8, 32)])
def test_a_round_trip_through_memory_keeps_every_element(shape: tuple[int, int]) -> None:
    """LLVM 22's store_matrix and load_matrix of these keep 23 of 128, and take the wrong columns."""
    layout = la.parse("#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>").layout(shape)
    bits = view(layout)
    assert bits is not None
    held = numbers(layout)
    data = values(shape[0] * shape[1], 32, 0)
    assert (through_memory(bits, bits, 32).run(data[held]) == data[held]).all()


def test_registers_that_repeat_an_element_come_and_go_across_subgroups() -> None:
    for replicas in (" | replicas 2@reg:2 16@lane", " | replicas 16@lane"):
        check(L(f"d0 = 2@sg 2@reg{replicas}"), L("d0 = 2@reg 2@sg | replicas 16@lane"), 32, 0)
        check(L("d0 = 2@sg 2@reg | replicas 16@lane"), L(f"d0 = 2@reg 2@sg{replicas}"), 32, 0)


@pytest.mark.parametrize("seed", range(20))
def test_a_schedule_has_as_many_rounds_as_the_busiest_lane_has_words(seed: int) -> None:
    random = Random(seed)
    lanes = random.randint(1, 12)
    edges = Counter((random.randrange(lanes), random.randrange(lanes)) for _ in range(random.randint(0, 80)))
    found = matchings(lanes, dict(edges))
    ends = [Counter[int](), Counter[int]()]
    for pair, count in edges.items():
        for end, lane in zip(ends, pair, strict=True):
            end[lane] += count
    assert len(found) == max((count for end in ends for count in end.values()), default=0)
    assert Counter(pair for round_ in found for pair in round_) == edges
    for round_ in found:
        for i in (0, 1):
            assert len({pair[i] for pair in round_}) == len(round_)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize(
    ("source", "destination"),
    [
        ("d0 = 3@reg:16 4@reg, d1 = 4@reg:4 2@lane:8 8@lane", "d0 = 3@reg 4@lane, d1 = 4@lane:4 2@reg:3 8@reg:6"),
        ("d0 = 2@sg 5@reg, d1 = 16@lane, d2 = 2@reg:5", "d0 = 2@lane:8 5@reg:2, d1 = 2@sg 8@lane, d2 = 2@reg"),
        ("d0 = 3@sg 5@reg, d1 = 4@reg:5, d2 = 4@reg:20", "d0 = 5@reg:16 3@sg, d1 = 4@reg:4, d2 = 4@reg"),
        ("d0 = 6@reg 12@lane", "d0 = 2@reg:3 3@reg 12@lane"),
        ("d0 = 6@reg 4@lane | replicas 2@reg:6", "d0 = 2@lane 3@reg 4@reg:3 | replicas 2@lane:2"),
    ],
)
def test_blocks_in_registers_are_converted_each(source: str, destination: str, bits: int) -> None:
    for a, b in ((source, destination), (destination, source)):
        plan, _, _ = check(L(a), L(b), bits, 1)
        if plan.slm_bytes > 64:
            less = convert(L(a), L(b), element_bits=bits, slm_limit=plan.slm_bytes // 2)
            data = values(int(np.prod(L(a).shape)), bits, 2)
            assert less.slm_bytes <= plan.slm_bytes // 2
            assert (less.apply(data[numbers(L(a))]) == data[numbers(L(b))]).all()


def test_blocks_use_all_of_a_limit() -> None:
    a, b = L("d0 = 3@reg:2, d1 = 2@sg 2@reg"), L("d0 = 3@reg:2, d1 = 2@reg 2@sg")
    assert [convert(a, b, slm_limit=limit).slm_bytes for limit in (8, 12, 24)] == [8, 8, 24]


def test_blocks_of_more_slots_than_tables_have_explain_themselves() -> None:
    a = L("d0 = 3@reg:4, d1 = 1024@sg, d2 = 256@lane, d3 = 4@reg")
    plan = convert(a, L("d0 = 3@reg:4, d1 = 1024@sg, d2 = 64@lane 4@reg, d3 = 4@lane:64"))
    assert plan.shuffles == plan.lower_bound == 12
    assert "12 shuffles" in str(plan)


def test_copies_in_registers_of_the_source_cost_no_shuffles() -> None:
    wanted = L("d0 = 3@reg:6 3@reg:2 2@reg 2@lane | replicas 3@lane:2")
    for source in (
        "d0 = 3@reg:4 2@reg:2 2@reg 3@lane:2 | replicas 2@lane",
        "d0 = 3@reg:12 2@reg:6 2@reg:3 3@lane:2 | replicas 2@lane 3@reg",
    ):
        plan, _, _ = check(L(source), wanted, 32, 0)
        assert plan.shuffles == plan.lower_bound == 12


def test_what_registers_repeat_goes_through_memory_once() -> None:
    repeated = " | replicas 3@reg:4"
    for a, b in (("d0 = 3@sg 4@reg" + repeated, "d0 = 4@reg 3@sg"), ("d0 = 3@sg 4@reg", "d0 = 4@reg 3@sg" + repeated)):
        plan, _, _ = check(L(a), L(b), 32, 0)
        moved = [step for program in plan.programs for step in program.steps if isinstance(step, (Store, Load))]
        assert sum(len(step.words if isinstance(step, Store) else step.to) for step in moved) == 8


@pytest.mark.parametrize(
    "text", ["d0 = 4@lane | replicas 2@reg", "d0 = 3@lane | replicas 2@reg", "d0 = 5@reg:2, d1 = 3@lane"]
)
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_equal_maps_need_nothing_whatever_they_repeat_or_leave_out(text: str, bits: int) -> None:
    plan = convert(L(text), L(text), element_bits=bits)
    assert (plan.kind, plan.cost, plan.moves) == ("identity", 0, 0)


def test_registers_that_are_left_empty_want_nothing() -> None:
    plan = convert(L("d0 = 4@reg"), L("d0 = 4@reg:2"))
    assert plan.kind == "registers"
    assert plan.apply(np.array([[[1, 2, 3, 4]]], np.int32))[0, 0, ::2].tolist() == [1, 2, 3, 4]


def test_a_way_that_is_too_long_leaves_the_others() -> None:
    plan = convert(L("d0 = 8@sg 16384@reg"), L("d0 = 16384@reg 8@sg"), slm_limit=2**30)
    assert [one.name for one in plan.candidates] == ["everything goes through shared memory"]


def test_subgroups_that_want_different_words_share_shuffles() -> None:
    a, b = L("d0 = 3@reg 2@lane, d1 = 4@lane:2 | replicas 2@sg"), L("d0 = 2@sg 3@reg, d1 = 4@lane | replicas 2@lane:4")
    plan, before, after = check(a, b, 32, 0)
    assert plan.shuffles == plan.lower_bound == must_receive(before, after, 32)


def test_a_limit_that_rows_without_padding_keep_is_enough() -> None:
    a, b = L("d0 = 3@sg 8@reg, d1 = 32@lane"), L("d0 = 8@lane:4 3@sg, d1 = 4@lane 8@reg")
    for limit in (3072, 3436):
        assert convert(a, b, slm_limit=limit).slm_bytes <= limit


@pytest.mark.slow
def test_digits_take_turns_under_a_limit() -> None:
    rng = Random(3)
    turned = refused = 0
    while turned < 60:
        a, b = mixed_pair(rng)
        bits = rng.choice((8, 16, 32, 64))
        whole = convert(a, b, element_bits=bits)
        if whole.kind != "shared memory" or (view(a) is not None and view(b) is not None):
            continue
        limit = max(4, whole.slm_bytes // rng.choice((2, 3, 4)))
        try:
            plan = convert(a, b, element_bits=bits, slm_limit=limit)
        except la.SizeError as error:
            refused += 1
            assert "convert a part of the tensor at a time" in str(error)
            continue
        turned += 1
        assert plan.slm_bytes <= limit < whole.slm_bytes
        assert plan.barriers >= whole.barriers
        data = values(int(np.prod(a.shape)), bits, turned)
        assert (plan.apply(data[numbers(a)])[numbers(b) >= 0] == data[numbers(b)][numbers(b) >= 0]).all()
    assert refused


def test_a_small_limit_takes_several_rounds() -> None:
    a, b = L("d0 = 2@sg 8@reg, d1 = 16@lane"), L("d0 = 2@lane:8 8@reg, d1 = 2@sg 8@lane")
    whole = convert(a, b)
    for limit in (512, 256, 128):  # down to what half a register of each subgroup takes
        parts = convert(a, b, slm_limit=limit)
        assert parts.slm_bytes <= limit < whole.slm_bytes
        rounds = (parts.barriers + 1) // 2  # one barrier in a round, one between two
        assert rounds * parts.slm_bytes == whole.slm_bytes // 2  # what a lane bit and a subgroup bit exchange
        data = values(256, 32, 0)
        assert (parts.apply(data[numbers(a)]) == data[numbers(b)]).all()
    with pytest.raises(la.SizeError, match="exchange needs more than 16"):
        convert(a, b, slm_limit=16)


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (("d0 = 4@lane", "d0 = 8@lane"), {}, "a tensor of 4 and one of 8"),
        (("d0 = 4@lane", "d0 = 2@lane 2@reg"), {}, "4 and 2 lanes"),
        (("d0 = 4@addr", "d0 = 4@lane"), {}, "onto sg, lane and reg"),
        (("d0 = M@lane", "d0 = 4@lane"), {}, "has symbols"),
        (("d0 = 4@lane", "d0 = 4@lane"), {"element_bits": 12}, "expected 8, 16, 32 or 64"),
        (("d0 = 4@lane", "d0 = 4@lane"), {"element_bits": "32"}, "expected 8, 16, 32 or 64"),
        (("d0 = 4@lane", "d0 = 4@lane"), {"target": "i486"}, "expected one of"),
        (("d0 = 4@lane", "d0 = 4@lane"), {"slm_limit": 0}, "at least 4"),
    ],
)
def test_bad_input_is_said_so(arguments: tuple[str, str], options: dict[str, Any], words: str) -> None:
    with pytest.raises(la.LayoutError, match=words):
        convert(L(arguments[0]), L(arguments[1]), **options)


@pytest.mark.parametrize(
    "bad", [None, 5, "d0 = 4@row", object(), la.mma("MFMA_F32_16x16x16_F16"), la.parse("!amx.tile<16x64xi8>")]
)
def test_what_is_no_layout_is_said_so(bad: Any) -> None:
    with pytest.raises(la.LayoutError):
        convert(bad, L("d0 = 4@lane"))


def test_a_plan_that_would_run_away_is_refused() -> None:
    huge = L("d0 = 1048576@reg, d1 = 3@lane"), L("d0 = 3@lane 349525@reg, d1 = 3@reg:349525")
    with pytest.raises(la.LayoutError):
        _ = convert(*huge).programs
    with pytest.raises(la.SizeError, match="words to schedule"):
        convert(L("d0 = 255@reg, d1 = 255@lane"), L("d0 = 255@lane, d1 = 255@reg"))
    for text in ("d0 = 2147483648@reg, d1 = 16@lane", "d0 = 1073741824@reg, d1 = 16@lane"):
        with pytest.raises(la.LayoutError):
            _ = convert(L(text), L(text.replace("@reg, d1 = 16@lane", "@reg, d1 = 2@lane 8@lane:2"))).programs


def test_plans_are_values() -> None:
    import pickle

    plan = convert(L("d0 = 16@reg, d1 = 16@lane"), L("d0 = 16@lane, d1 = 16@reg"))
    again = pickle.loads(pickle.dumps(plan))
    assert again == plan
    assert hash(again) == hash(plan)
    assert "15 shuffles" in str(plan)
