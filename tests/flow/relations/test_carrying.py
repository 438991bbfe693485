"""`needed` and `given` against their definitions, element by element: what a work-item has, and what that is made of."""

from __future__ import annotations

import random
from collections import defaultdict
from math import prod

import numpy as np
import pytest

import layoutalg as la
from layoutalg.core.carrying import held_in_both
from layoutalg.core.errors import CompositionError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.table import Table
from layoutalg.flow.relations import covering, given, identity, needed, part_of, settled
from layoutalg.flow.relations.contractions import contracted
from layoutalg.flow.relations.reductions import reduced
from layoutalg.flow.relations.shapes import broadcast_from, recast, reshaped, transposed
from layoutalg.flow.relations.slices import place_of, slice_of
from tests.checking.programs import layout

Element = tuple[int, ...]
Holdings = dict[tuple[int, int], list[Element]]
DIGITS = (1, 2, 2, 3, 4, 5)


def held(layout: Layout) -> Holdings:
    """The elements of each work-item, in the order of its registers; no register is empty or used twice."""
    table = Table.of(layout)
    found: dict[tuple[int, int], dict[int, list[Element]]] = defaultdict(lambda: defaultdict(list))
    columns = {axis: number for number, axis in enumerate(table.axes)}
    for element, place in zip(table.domain.tolist(), table.codomain.tolist(), strict=True):
        sg, lane, reg = (place[columns[axis]] if axis in columns else 0 for axis in ("sg", "lane", "reg"))
        found[sg, lane][reg].append(tuple(element))
    result: Holdings = {}
    for item, registers in found.items():
        assert sorted(registers) == list(range(len(registers))), f"registers of {item} have gaps in {layout}"
        assert all(len(elements) == 1 for elements in registers.values()), (
            f"a register of {item} is used twice in {layout}"
        )
        result[item] = [registers[number][0] for number in range(len(registers))]
    return result


def pairs(relation: Layout) -> list[tuple[Element, Element]]:
    """(element of the result, element of the operand)."""
    table = Table.of(relation)
    rank = len(relation.codomain)
    place = np.zeros((len(table.domain), rank), np.int64)
    for column, axis in enumerate(table.axes):
        place[:, int(axis[1:])] = table.codomain[:, column]
    return [(tuple(x), tuple(y)) for x, y in zip(table.domain.tolist(), place.tolist(), strict=True)]


def spread_randomly(shape: tuple[int, ...], rng: random.Random) -> Layout:
    """A random layout: every dimension's digits dealt out to subgroups, lanes and registers; perhaps with copies."""
    digits = [(dim, digit) for dim, size in enumerate(shape) for digit in primes(size)]
    axes = [rng.choice(("sg", "lane", "lane", "reg", "reg")) for _ in digits]
    copies = [(2, axis) for axis in ("lane", "sg") if rng.random() < 0.3]
    place = dict.fromkeys(("sg", "lane", "reg"), 1)
    factors: dict[int, Factor] = {}
    everything = list(range(len(digits) + len(copies)))
    for one in rng.sample(everything, len(everything)):
        extent, axis = (digits[one][1], axes[one]) if one < len(digits) else copies[one - len(digits)]
        factors[one] = Factor(extent, place[axis], axis)
        place[axis] *= extent
    dims = [[factors[at] for at, (dim, _) in enumerate(digits) if dim == d] for d in range(len(shape))]
    return Layout(dims, [factors[at] for at in range(len(digits), len(everything))])


def primes(number: int) -> list[int]:
    found, prime = list[int](), 2
    while number > 1:
        while number % prime == 0:
            found.append(prime)
            number //= prime
        prime += 1
    return found


def random_relation(rng: random.Random) -> tuple[Layout, tuple[int, ...]]:
    """A relation of one of our operations, and the shape of its operand; no slices."""
    shape = tuple(rng.choice((1, 2, 3, 4, 6, 8)) for _ in range(rng.randint(1, 3)))
    match rng.randrange(6):
        case 0:
            return transposed(shape, tuple(rng.sample(range(len(shape)), len(shape)))), shape
        case 1:
            source = tuple(1 if rng.random() < 0.4 else size for size in shape)
            return broadcast_from(source, (rng.choice((2, 3)), *shape)), source
        case 2:
            found = reshaped(shape, (prod(shape),)) if rng.random() < 0.5 else reshaped((prod(shape),), shape)
            assert found is not None
            return found, shape if found.rank == 1 else (prod(shape),)
        case 3:
            dims = rng.sample(range(len(shape)), rng.randint(0, len(shape)))
            return reduced(shape, tuple(dims)), shape
        case 4:
            wide = (*shape[:-1], shape[-1] * 4)
            one, other = (shape, wide) if rng.random() < 0.5 else (wide, shape)
            found = recast(one, other)
            assert found is not None
            return found, one
        case _:
            m, n, k = (rng.choice((1, 2, 3, 4)) for _ in range(3))
            return contracted(((0, 2),), (0, 1), (m, n, k))[0], (m, k)


@pytest.mark.parametrize("seed", range(200))
def test_a_work_item_needs_exactly_what_its_elements_are_made_of(seed: int) -> None:
    rng = random.Random(seed)
    relation, operand = random_relation(rng)
    shape = tuple(int(size) for size in relation.shape)
    result = spread_randomly(shape, rng)
    made = defaultdict(set)
    for element, part in pairs(relation):
        made[element].add(part)
    expected = {
        item: {part for element in elements for part in made[element]} for item, elements in held(result).items()
    }
    try:
        found = needed(relation, result)
    except CompositionError:
        assert any(len(set(primes(size))) > 1 for size in shape), f"no closed form for {relation} and {result}"
        return
    assert found.shape == operand
    assert {item: set(elements) for item, elements in held(found).items()} == expected


@pytest.mark.parametrize("seed", range(200))
def test_a_result_is_where_any_of_its_elements_is(seed: int) -> None:
    rng = random.Random(1000 + seed)
    relation, operand = random_relation(rng)
    layout = spread_randomly(operand, rng)
    users = defaultdict(set)
    for element, part in pairs(relation):
        users[part].add(element)
    expected = {item: {element for part in parts for element in users[part]} for item, parts in held(layout).items()}
    try:
        found = given(relation, layout)
    except CompositionError:
        assert any(len(set(primes(size))) > 1 for size in operand), f"no closed form for {relation} and {layout}"
        return
    assert {item: set(elements) for item, elements in held(found).items()} == expected


@pytest.mark.parametrize("seed", range(100))
def test_what_is_needed_for_what_is_given_was_there(seed: int) -> None:
    """Where every element of the result is made of one element, and every one of the operand is used."""
    rng = random.Random(2000 + seed)
    shape = tuple(rng.choice(DIGITS) for _ in range(3))
    relation = transposed(shape, tuple(rng.sample(range(3), 3)))
    layout = spread_randomly(shape, rng)
    assert needed(relation, given(relation, layout)) == settled(layout)
    assert {item: set(elements) for item, elements in held(settled(layout)).items()} == {
        item: set(elements) for item, elements in held(layout).items()
    }


@pytest.mark.parametrize("seed", range(100))
def test_registers_keep_their_order(seed: int) -> None:
    """Through the identity, nothing changes; without copies and through a slice, elements keep their order in a work-item."""
    rng = random.Random(3000 + seed)
    shape = tuple(rng.choice((2, 3, 4, 6)) for _ in range(2))
    layout = spread_randomly(shape, rng)
    assert held(needed(identity(shape), layout)) == held(layout)
    kept = [row for row in range(shape[0]) if row % 2] if shape[0] % 2 == 0 else list(range(shape[0]))
    step = 2 if shape[0] % 2 == 0 else 1
    relation = slice_of((len(kept), shape[1]), (step - 1, 0), (step, 1))
    try:
        found = held(given(relation, layout))
    except CompositionError:
        return
    for item, elements in found.items():
        originals = [(kept[row], column) for row, column in elements]
        assert originals == [element for element in held(layout)[item] if element[0] in kept]


@pytest.mark.parametrize("seed", range(100))
def test_the_part_of_a_slice_and_the_slice_of_a_part_agree(seed: int) -> None:
    """A slice's relation gives the part, from 0 on; the relation of its place gives it back where it was."""
    rng = random.Random(4000 + seed)
    shape = tuple(rng.choice((2, 4, 6, 8)) for _ in range(2))
    sizes = tuple(rng.choice([n for n in range(1, size + 1) if size % n == 0]) for size in shape)
    offsets = tuple(rng.randrange(size // part) * part for size, part in zip(shape, sizes, strict=True))
    layout = spread_randomly(shape, rng)
    out, (back, covered) = slice_of(sizes, offsets), place_of(sizes, offsets, shape)
    assert covered == out
    try:
        part = given(out, layout)
    except CompositionError:
        return
    assert given(back, part) == part_of(layout, given(back, part))
    assert needed(back, layout) == part
    whole = needed(covering(out, shape), part)
    assert whole.shape == shape
    assert part_of(whole, needed(out, part)) == needed(out, part)


def test_every_other_element_needs_its_neighbours_too_or_has_no_closed_form() -> None:
    odd = slice_of((8,), (1,), (2,))
    lanes = Layout.parse("d0 = 8@lane")
    with pytest.raises(
        CompositionError, match="the elements that are needed are not a block of the operand: axis 'd0' has a gap"
    ):
        needed(odd, lanes)
    assert needed(covering(odd, (16,)), lanes) == Layout.parse("d0 = 8@lane 2@reg")


def test_dimensions_of_size_one_are_not_lost() -> None:
    assert needed(broadcast_from((1, 16), (8, 16)), Layout.parse("d0 = 8@reg, d1 = 16@lane")).shape == (1, 16)
    assert needed(broadcast_from((8, 1), (8, 16)), Layout.parse("d0 = 8@reg, d1 = 16@lane")) == Layout.parse(
        "d0 = 8@reg, d1 = 1 | replicas 16@lane"
    )


def test_sizes_may_be_symbols() -> None:
    relation = Layout.parse("d0 = M@d1, d1 = 16@d0")
    result = Layout.parse("d0 = M@reg, d1 = 16@lane")
    assert str(needed(relation, result)) == "d0 = 16@lane, d1 = M@reg"
    total = Layout.parse("d0 = M@d0 | replicas 16@d1")
    assert str(given(total, Layout.parse("d0 = M@reg:4, d1 = 4@lane 4@reg"))) == "d0 = M@reg | replicas 4@lane"
    assert str(needed(total, Layout.parse("d0 = M@reg"))) == "d0 = M@reg:16, d1 = 16@reg"


def test_what_does_not_fit_is_refused_in_words() -> None:
    row = Layout.parse("d0 = 8@reg")
    with pytest.raises(CompositionError, match="the result has 1 dimensions, the relation 2"):
        needed(identity((8, 16)), row)
    with pytest.raises(la.LayoutError, match="expected a Layout"):
        needed("d0 = 8@d0", row)  # type: ignore[arg-type]
    with pytest.raises(la.LayoutError, match="expected a Layout"):
        given(row, None)  # type: ignore[arg-type]
    wide = recast((16,), (8,))
    assert wide is not None
    with pytest.raises(CompositionError, match="made of 2 that are in different work-items"):
        given(wide, Layout.parse("d0 = 16@lane"), combines=False)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_held_in_both_is_what_each_work_item_holds_in_both(seed: int) -> None:
    rng = random.Random(seed)
    machine = la.Machine(lanes=4, subgroups=2)
    pair = [layout(rng, (4, 8), "sglane").layout((4, 8), machine) for _ in range(2)]
    held = [[{tuple(e) for e in one} for one in each.fragment_map().reshape(8, -1, 2).tolist()] for each in pair]
    both = [one & other for one, other in zip(*held, strict=True)]
    try:
        found = held_in_both(*pair)
    except CompositionError:
        return
    mapped = found.fragment_map()
    assert [{tuple(e) for e in one} for one in mapped.reshape(8, -1, 2).tolist()] == both
    assert mapped[0, 0].shape[0] == len(both[0])
