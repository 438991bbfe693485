"""`check` against an interpreter that counts: the same verdict on random modules, and a first element that is truly missing."""

from __future__ import annotations

import random
from math import prod

import pytest

import layoutalg as la
from layoutalg.checking import check
from layoutalg.core.errors import LayoutError
from tests.checking.interpreter import Element, Held, Item, Operation, held_by_items, lacks

Spread = la.LayoutAttr | la.SliceAttr
MACHINE = la.Machine(lanes=8, subgroups=4)


def same(element: Element) -> list[Element]:
    return [element]


def operation(rng: random.Random) -> Operation:
    """One of the kinds of ties: equal coordinates, permuted, repeated, cut, and combined."""
    shape = tuple(rng.choice((4, 8, 16)) for _ in range(2))
    rows, columns = shape
    kind = rng.choice(
        (
            "math.exp",
            "transpose",
            "broadcast",
            "extract",
            "reduction",
            "transpose3",
            "insert",
            "into",
            "interleave",
            "cast",
        )
    )
    text = "x".join(map(str, shape))
    if kind == "math.exp":
        return Operation(f"math.exp %x {{L}} : vector<{text}xf32>", shape, shape, same)
    if kind == "transpose":
        swapped = (columns, rows)
        line = f"vector.transpose %x, [1, 0] {{L}} : vector<{text}xf32> to vector<{columns}x{rows}xf32>"
        return Operation(line, shape, swapped, lambda e: [(e[1], e[0])])
    if kind == "transpose3":
        before, order = (4, *shape), rng.sample(range(3), 3)
        after = tuple(before[dim] for dim in order)
        types = ["x".join(map(str, one)) for one in (before, after)]
        line = f"vector.transpose %x, {order} {{L}} : vector<{types[0]}xf32> to vector<{types[1]}xf32>"

        def source(element: Element) -> list[Element]:
            found = [0, 0, 0]
            for place, dim in zip(element, order, strict=True):
                found[dim] = place
            return [tuple(found)]

        return Operation(line, before, after, source)
    if kind == "broadcast":
        line = f"vector.broadcast %x {{L}} : vector<{columns}xf32> to vector<{text}xf32>"
        return Operation(line, (columns,), shape, lambda e: [(e[1],)])
    if kind == "extract":
        row, half = rng.randrange(0, rows, 2), columns // 2
        line = (
            f"vector.extract_strided_slice %x {{L, offsets = [{row}, {half}], sizes = [2, {half}], strides = [1, 1]}} : "
            f"vector<{text}xf32> to vector<2x{half}xf32>"
        ).replace("{L, ", "{L_, ")
        return Operation(line, shape, (2, half), lambda e: [(e[0] + row, e[1] + half)])
    if kind in ("insert", "into"):
        row, half = rng.randrange(0, rows, 2), columns // 2
        at, moved = f"offsets = [{row}, {half}], strides = [1, 1]", (2, half)
        values = "%x, %w" if kind == "insert" else "%w, %x"
        types = f"vector<2x{half}xf32> into vector<{text}xf32>"
        line = f"vector.insert_strided_slice {values} {{L_, {at}}} : {types}"

        def of_part(e: Element) -> list[Element]:
            inside = row <= e[0] < row + 2 and e[1] >= half
            return [(e[0] - row, e[1] - half)] if inside else []

        if kind == "insert":
            return Operation(line, moved, shape, of_part, other=f"vector<{text}xf32>")
        return Operation(line, shape, shape, lambda e: [] if of_part(e) else [e], other=f"vector<2x{half}xf32>")
    if kind == "interleave":
        wide, odd = (rows, 2 * columns), rng.randrange(2)
        values = "%w, %x" if odd else "%x, %w"
        line = f"vector.interleave {values} {{L}} : vector<{text}xf32> -> vector<{rows}x{2 * columns}xf32>"

        def of_half(e: Element) -> list[Element]:
            return [(e[0], e[1] // 2)] if e[1] % 2 == odd else []

        return Operation(line, shape, wide, of_half, other=f"vector<{text}xf32>")
    if kind == "cast":
        flat = (rows * columns,)
        line = f"vector.shape_cast %x {{L}} : vector<{text}xf32> to vector<{rows * columns}xf32>"
        return Operation(line, shape, flat, lambda e: [divmod(e[0], columns)])
    dim = rng.randrange(2)
    kept = shape[1 - dim]
    line = f"vector.multi_reduction <add>, %x, %z {{L}} [{dim}] : vector<{text}xf32> to vector<{kept}xf32>"
    every = range(shape[dim])
    return Operation(
        line, shape, (kept,), lambda e: [(one, e[0]) if dim == 0 else (e[0], one) for one in every], combines=True
    )


def attribute(rng: random.Random, shape: tuple[int, ...]) -> Spread:
    """A layout that has a meaning for the shape: any fields, sometimes a slice of one of more dimensions."""
    while True:
        sizes = list(shape)
        cut = rng.randrange(len(sizes) + 1) if rng.random() < 0.4 else None
        if cut is not None:
            sizes.insert(cut, rng.choice((2, 4)))
        rank = len(sizes)

        def grid(total: int, rank: int = rank) -> tuple[int, ...]:
            found = [1] * rank
            while prod(found) < total:
                found[rng.randrange(rank)] *= 2
            return tuple(found)

        fields: dict[str, tuple[int, ...]] = {}
        levels = rng.choice(("sg", "lane", "both", "both"))
        if levels != "lane":
            fields["sg_layout"] = grid(4)
            fields["sg_data"] = tuple(
                max(size // (count * rng.choice((1, 1, 2))), 1)
                for size, count in zip(sizes, fields["sg_layout"], strict=True)
            )
        if levels != "sg":
            fields["lane_layout"] = grid(rng.choice((4, 8, 8)))
            fields["lane_data"] = tuple(rng.choice((1, 1, 2)) for _ in sizes)
        if rng.random() < 0.5:
            fields["order"] = tuple(rng.sample(range(rank), rank))
        try:
            found: Spread = la.LayoutAttr(**fields)
            if cut is not None:
                found = la.SliceAttr(found, (cut,))
            if found.layout(shape, MACHINE).shape == shape:
                return found
        except LayoutError:
            continue


def module(one: Operation, operand: object, result: object) -> str:
    given = "x".join(map(str, one.operand))
    kept = "x".join(map(str, one.result))
    line = one.text.replace("{L_, ", f"{{layout_result_0 = {result}, ").replace(
        "{L}", f"{{layout_result_0 = {result}}}"
    )
    return (
        "func.func @f() attributes {intel_reqd_sub_group_size = 8 : i32} {\n"
        f"%x = arith.constant {{layout_result_0 = {operand}}} dense<1.0> : vector<{given}xf32>\n"
        f"%z = arith.constant dense<0.0> : vector<{kept}xf32>\n%w = arith.constant dense<0.0> : {one.other}\n"
        f"%y = {line}\nfunc.return\n}}"
    )


@pytest.mark.parametrize("seed", range(60))
def test_check_says_what_counting_says(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(10):
        one = operation(rng)
        # Half the time the operand has what the result needs by design, so that both verdicts are frequent.
        operand = attribute(rng, one.operand)
        result = operand if one.operand == one.result and rng.random() < 0.3 else attribute(rng, one.result)
        text = module(one, operand, result)
        found = [
            m for m in check(la.read(text), llvm=22).mistakes if m.finding.rule in ("layouts.operand", "layouts.part")
        ]
        levels = [
            {"sg": a.parent_layout().sg_layout is not None, "lane": a.parent_layout().lane_layout is not None}
            for a in (operand, result)
        ]
        common = [axis for axis in ("sg", "lane") if levels[0][axis] and levels[1][axis]]
        missing: set[tuple[Element, Item]] = set()
        if common:
            missing = lacks(one, *_on(common, one, operand, result))
        assert bool(found) == bool(missing), f"seed {seed}\n{text}\n{found}\n{sorted(missing)[:3]}"
        if found:
            [mistake] = found
            assert mistake.axes
            first = min(element for element, _ in missing)
            places = {
                tuple(item[["sg", "lane"].index(axis)] for axis in mistake.axes) for e, item in missing if e == first
            }
            assert mistake.element == first, text
            assert mistake.needed_by in places, text


def _on(common: list[str], one: Operation, operand: Spread, result: Spread) -> tuple[Held, Held]:
    """What items hold, where what is not compared counts as one place."""

    def together(layout: Spread, shape: tuple[int, ...]) -> Held:
        found: Held = {}
        for (sg, lane), elements in held_by_items(layout, shape, MACHINE).items():
            key = (sg if "sg" in common else 0, lane if "lane" in common else 0)
            found.setdefault(key, set()).update(elements)
        return found

    return together(operand, one.operand), together(result, one.result)


def test_both_verdicts_are_frequent() -> None:
    right = 0
    for seed in range(60):
        rng = random.Random(seed)
        one = operation(rng)
        operand, result = attribute(rng, one.operand), attribute(rng, one.result)
        right += check(la.read(module(one, operand, result))).is_right
    assert 5 <= right <= 55


def test_the_interpreter_counts_a_case_by_hand() -> None:
    # 4 elements over 2 lanes, against 4 over 2 lanes in pairs: lane 0 holds 0 and 2, and needs 0 and 1.
    one = Operation("", (4,), (4,), same)
    machine = la.Machine(lanes=2)
    held = held_by_items(la.LayoutAttr(lane_layout=(2,), lane_data=(1,)), (4,), machine)
    needed = held_by_items(la.LayoutAttr(lane_layout=(2,), lane_data=(2,)), (4,), machine)
    assert held == {(0, 0): {(0,), (2,)}, (0, 1): {(1,), (3,)}}
    assert lacks(one, held, needed) == {((1,), (0, 0)), ((2,), (0, 1))}
