"""500 random operations of CuTe's algebra, asked of CUTLASS's own C++ in a few programs (`make exhaustive`).

Where C++ and layoutalg give the same text, good. Where they do not, the definition decides, counted through in this file: C++
may be wrong (docs/cute_mistakes.md), or refuse what exists; layoutalg may refuse only what no layout says.
"""

from __future__ import annotations

import random
from itertools import product
from math import prod
from typing import Any

import pytest

from layoutalg import cute
from layoutalg.core import LayoutError
from layoutalg.cute import CuteLayout
from tests.oracle.cutlass_headers import Refusal, atoms, cpp, cpp_layout, evaluate
from tests.oracle.test_cute_mistakes import complement, flat, size, value

Question = tuple[str, tuple[Any, ...]]


def layout(rng: random.Random, most: int = 3, deep: int = 1) -> CuteLayout:
    """A random layout: mostly compact in some order of its modes, at times padded, with strides of 0, or of any numbers."""
    shape = tuple(extent(rng, deep) for _ in range(rng.randint(1, most)))
    leaves = [n for n, _ in flat(shape, shape)]
    how = rng.random()
    order = list(range(len(leaves)))
    if how > 0.4:
        rng.shuffle(order)
    strides, step = [0] * len(leaves), 1
    for k in order:
        strides[k] = step
        step *= leaves[k] * (2 if how > 0.8 and rng.random() < 0.3 else 1)
    if how > 0.9:
        strides[rng.randrange(len(strides))] = rng.choice((0, 1, 3, 5))
    numbers = iter(strides)
    if len(shape) == 1 and isinstance(shape[0], int) and rng.random() < 0.7:
        return CuteLayout(shape[0], next(numbers))
    return CuteLayout(shape, refilled(shape, numbers))


def extent(rng: random.Random, deep: int) -> Any:
    if deep and rng.random() < 0.25:
        return tuple(extent(rng, deep - 1) for _ in range(2))
    return rng.choice((1, 2, 2, 3, 4, 4, 6, 8))


def refilled(shape: Any, numbers: Any) -> Any:
    return next(numbers) if isinstance(shape, int) else tuple(refilled(part, numbers) for part in shape)


def question(rng: random.Random) -> Question:
    """A random operation with its arguments."""
    name = rng.choice(
        ("composition",) * 6 + ("logical_divide", "logical_product", "complement") * 3
        + ("coalesce", "flatten", "filter", "right_inverse", "left_inverse", "nullspace", "upcast", "downcast", "swizzle")
        + ("max_common_layout", "blocked_product", "raked_product", "zipped_divide", "tiled_divide", "flat_divide", "slice")
        + ("crd2idx", "idx2crd", "group", "filter_zeros")
    )  # fmt: skip
    a = layout(rng)
    if name in ("composition", "logical_divide", "logical_product", "max_common_layout"):
        return name, (a, layout(rng, 2, 0))
    if name in ("blocked_product", "raked_product"):
        ranks = rng.randint(1, 2)
        return name, tuple(CuteLayout(*two_modes(rng, ranks)) for _ in range(2))
    if name in ("zipped_divide", "tiled_divide", "flat_divide"):
        sizes = [rng.choice((2, 4, 8, 12)) for _ in range(2)]
        whole = CuteLayout(tuple(sizes), (1, sizes[0]))
        return name, (whole, tuple(CuteLayout(rng.choice([n for n in (1, 2, 4) if not m % n]), 1) for m in sizes))
    if name == "complement":
        return name, (a, rng.choice((1, 12, 24, 48, 64, 96, 128)))
    if name in ("upcast", "downcast"):
        return name, (a, rng.choice((2, 4, 8)))
    if name == "swizzle":
        bits = rng.randint(1, 3)
        swizzle = cute.Swizzle(bits, rng.randint(0, 3), rng.choice((1, -1)) * (bits + rng.randint(0, 2)))
        return "composition", (swizzle, a)
    if name in ("slice", "crd2idx"):
        modes = a.shape if isinstance(a.shape, tuple) else (a.shape,)
        at = tuple(rng.randrange(prod(n for n, _ in flat(mode, mode))) for mode in modes)
        if name == "slice":
            open_mode = rng.randrange(len(at))
            at = tuple(None if k == open_mode else x for k, x in enumerate(at))
        b = CuteLayout(modes, a.stride if isinstance(a.stride, tuple) else (a.stride,))
        return name, (at, b)
    if name == "idx2crd":
        return name, (rng.randrange(a.size), a.shape)
    if name == "left_inverse":
        leaves = flat(a.shape, a.stride)
        if len({value(leaves, i) for i in range(size(leaves))}) < size(leaves):
            name = "right_inverse"  # a left inverse is defined where no two coordinates have one value
    if name == "group":
        b = CuteLayout((2, 3, 4), (rng.choice((1, 12)), 2, 6))
        begin = rng.randint(0, 1)
        return name, (b, begin, rng.randint(begin + 1, 3))
    return name, (a,)


def two_modes(rng: random.Random, ranks: int) -> tuple[Any, Any]:
    shape = tuple(rng.choice((1, 2, 3, 4)) for _ in range(ranks))
    stride = (1, shape[0]) if rng.random() < 0.5 or ranks == 1 else (shape[1], 1)
    return shape, stride[:ranks]


def asked(one: Question) -> str:
    """The question as a C++ expression."""
    name, given = one
    written = [argument(part) for part in given]
    if name == "upcast" or name == "downcast":
        return f"{name}<{given[1]}>({written[0]})"
    if name == "group":
        return f"group<{given[1]},{given[2]}>({written[0]})"
    if name == "crd2idx":
        return f"crd2idx({written[0]}, {cpp(given[1].shape)}, {cpp(given[1].stride)})"
    return f"{name}({', '.join(written)})"


def argument(part: Any) -> str:
    if isinstance(part, CuteLayout):
        return cpp_layout(part.shape, part.stride)
    if isinstance(part, cute.Swizzle):
        return f"Swizzle<{part.bits},{part.base},{part.shift}>{{}}"
    if isinstance(part, tuple) and any(isinstance(one, CuteLayout) for one in part):
        return f"make_tile({', '.join(map(argument, part))})"
    return cpp(part)


def ours(one: Question) -> str | LayoutError:
    name, given = one
    try:
        return cute.text(getattr(cute, name)(*given), "c++")
    except LayoutError as error:
        return error


def values(text: str, name: str) -> list[int]:
    """The values of a layout's text, one after another; of `upcast`, each once."""
    leaves = flat(*(read(part) for part in text.replace("_", "").split(":")))
    found = [value(leaves, i) for i in range(size(leaves))]
    return sorted(set(found)) if name == "upcast" else found


def read(text: str) -> Any:
    return cute.evaluate(text).value


def truth(one: Question) -> list[int] | None:
    """The values that the definition asks for, one after another; None for an operation that is not counted through."""
    name, given = one
    if name not in ("composition", "logical_divide", "coalesce", "upcast") or isinstance(given[0], cute.Swizzle):
        return None
    a = flat(given[0].shape, given[0].stride)
    if name == "upcast":  # the wide elements that the narrow ones are in, each once
        return sorted({value(a, i) // given[1] for i in range(size(a))})
    if name == "coalesce":
        return [value(a, i) for i in range(size(a))]
    b = flat(given[1].shape, given[1].stride)
    tile = [value(b, i) for i in range(size(b))]
    if name == "composition":
        return [value(a, i) for i in tile]
    if len(set(tile)) < len(tile):
        return None
    return [value(a, start + one) for start in complement(tile, size(a)) for one in tile]


@pytest.mark.exhaustive
def test_500_random_operations_give_what_cutlass_gives() -> None:
    rng = random.Random(26)
    questions = list(dict.fromkeys(question(rng) for _ in range(700)))[:500]
    assert len(questions) == 500
    answers = [
        answer for k in range(0, 500, 125) for answer in evaluate([asked(one) for one in questions[k : k + 125]])
    ]
    same = both_refuse = wrong = found_more = 0
    problems: list[str] = []
    for one, theirs in zip(questions, answers, strict=True):
        mine = ours(one)
        if mine == theirs:
            same += 1
        elif isinstance(mine, LayoutError) and isinstance(theirs, Refusal):
            both_refuse += 1
        else:
            right = truth(one)
            if right is None:
                problems.append(f"{one[0]}{[str(part) for part in one[1]]}: {mine} here, {theirs} in C++")
            elif isinstance(mine, str) and values(mine, one[0]) != right:
                problems.append(f"{one[0]}{[str(part) for part in one[1]]}: {mine} here is wrong; {theirs} in C++")
            elif isinstance(theirs, str) and values(theirs, one[0]) != right:
                wrong += 1
            elif isinstance(mine, str):
                found_more += 1
            else:
                problems.append(f"{one[0]}{[str(part) for part in one[1]]}: {mine}; {theirs} in C++ is right")
    assert not problems, "\n".join(problems)
    assert same > 350, (same, both_refuse, wrong, found_more)


@pytest.mark.slow
def test_shared_memory_atoms_are_those_of_the_headers() -> None:
    kinds = {"half_t": 16, "float": 32, "uint8_t": 8}
    names = [
        f"Layout_{major}_{name}_Atom<{kind}>"
        for major, name, kind in product(("K", "MN"), ("INTER", "SW32", "SW64", "SW128"), kinds)
    ]
    printed = evaluate(
        [f"GMMA::{name}{{}}" for name in names], "#include <cute/tensor.hpp>\n#include <cute/atom/mma_atom.hpp>"
    )
    for name, text in zip(names, printed, strict=True):
        assert isinstance(text, str)
        assert "smem_ptr" in text
        theirs, mine = cute.parse_cute(text), cute.evaluate(name).value
        assert (theirs.swizzle or (0, 0, 0))[0] == (mine.swizzle or (0, 0, 0))[0]
        assert [theirs(i) for i in range(theirs.size)] == [mine(i) for i in range(mine.size)]
        assert (theirs.shape, theirs.stride) == (mine.shape, mine.stride)


@pytest.mark.slow
def test_what_cutlass_prints_is_read_and_printed_as_it_prints_it() -> None:
    swizzled = cpp_layout((16, 2), (1, 16)), cpp_layout((8, 64), (64, 1))
    expressions = [
        cpp_layout((4, (2, 3)), (6, (3, 1))),
        cpp_layout((4,), (1,)),
        cpp_layout(4, -1),
        "make_identity_layout(make_shape(_4{}, make_shape(_5{}, _2{})))",
        f"composition(Swizzle<2,3,-2>{{}}, {swizzled[0]})",
        f"composition(Swizzle<3,4,3>{{}}, Int<64>{{}}, {swizzled[1]})",
    ]
    for text in evaluate(expressions):
        assert isinstance(text, str)
        assert cute.text(cute.parse_cute(text), "c++") == text


@pytest.mark.slow
def test_what_stands_in_source_is_read_as_cutlass_reads_it() -> None:
    written = [
        "Layout<Shape<Shape<_4,_8>,Shape<_2,_2>>,Stride<Stride<_32,_1>,Stride<_16,_8>>>{}",
        "Layout<Shape<_8,Int<6>>>{}",
        "make_layout(make_shape(Int<4>{}, _2{}), make_stride(_1{}, Int<-4>{}))",
        "zipped_divide(make_layout(make_shape(_8{}, Int<6>{})), make_tile(Layout<_2,_1>{}, Layout<_3>{}))",
        "coalesce(Layout<Shape<_2,Shape<_1,Int<6>>>,Stride<_1,Stride<_6,_2>>>{})",
    ]
    for source, printed in zip(written, evaluate(written), strict=True):
        assert cute.text(cute.evaluate(source).value) == printed


@pytest.mark.slow
def test_an_atom_by_name_has_the_layouts_of_its_traits() -> None:
    [found] = atoms(["SM70_8x8x4_F32F16F16F32_TN"]).values()
    assert not isinstance(found, Refusal)
    assert found["ThrID"] == "(_4,_2):(_1,_16)"
    assert cute.parse_cute(found["CLayout"]).size == 64
