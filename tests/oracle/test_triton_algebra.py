"""Triton's LinearLayout and ours, asked the same random questions; what the wheel aborts on, we refuse in words.

Not compared: products whose names come in contrary orders. Triton has no order for them (`llvm_unreachable`), and its wheel
takes any.
"""

from __future__ import annotations

import random
from collections import Counter
from functools import partial
from typing import Any

import pytest

from layoutalg.core import LayoutError
from layoutalg.triton import LinearLayout
from layoutalg.triton.algebra import supremum
from layoutalg.triton.linear import as_bases
from tests.oracle.toolchains import require_module
from tests.oracle.triton_wheel import forked_each

Given = tuple[list[tuple[str, list[list[int]]]], list[str], list[int]]
"""Bases by input, names of outputs, their sizes."""
OPERATIONS = (
    "mul",
    "compose",
    "compose",
    "invert_and_compose",
    "invert_and_compose",
    "invert",
    "pseudoinvert",
    "from_bases",
    "ask",
)


def some(rng: random.Random, names: str) -> list[str]:
    chosen = rng.sample(names, rng.randint(0, len(names)))
    return sorted(chosen) if rng.random() < 0.8 else chosen


def given(rng: random.Random, ins: list[str], outs: list[str]) -> Given:
    sizes = [1 << rng.randint(0, 3) for _ in outs]

    def basis() -> list[int]:
        return [rng.randrange(size) if rng.random() < 0.6 else 0 for size in sizes]

    return [(name, [basis() for _ in range(rng.randint(0, 4))]) for name in ins], outs, sizes


def outer(rng: random.Random, first: Given) -> Given:
    """Something to compose with: inputs for the outputs of the first, mostly of its sizes."""
    _, outs, sizes = given(rng, [], some(rng, "pq"))
    bases = [
        (name, [[rng.randrange(one) for one in sizes] for _ in range(size.bit_length() - 1 + (rng.random() < 0.2))])
        for name, size in zip(first[1], first[2], strict=True)
    ]
    return bases[:: rng.choice((1, -1))], outs, sizes


def target(rng: random.Random, first: Given) -> Given:
    """Something that covers the first, mostly, with copies and now and then an input that it has too."""
    outs = first[1][:: rng.choice((1, -1))]
    size = dict(zip(first[1], first[2], strict=True))
    columns = [[1 << i if o == p else 0 for p in outs] for o in outs for i in range(size[o].bit_length() - 1)]
    columns += [[0] * len(outs)] * rng.randint(0, 2)
    rng.shuffle(columns)
    bases: dict[str, list[list[int]]] = {name: [] for name in some(rng, "rlw") or ["r"]}
    for column in columns:
        bases[rng.choice(list(bases))].append(column)
    own = dict(first[0])
    for name in bases:
        if name in own and rng.random() < 0.3:
            bases[name] = [[dict(zip(first[1], basis, strict=True))[o] for o in outs] for basis in own[name]]
    return list(bases.items()), outs, [size[o] for o in outs]


def question(rng: random.Random) -> tuple[str, Given, Given]:
    operation = rng.choice(OPERATIONS)
    first = given(rng, some(rng, "rlw"), some(rng, "xy"))
    if operation == "compose":
        return operation, first, outer(rng, first)
    if operation == "invert_and_compose":
        return operation, first, target(rng, first)
    return operation, first, given(rng, some(rng, "rlw"), some(rng, "xy"))


def plain(layout: Any) -> list[Any]:
    return [[[name, [list(b) for b in bases]] for name, bases in layout.bases], [list(one) for one in layout.out_dims]]


def answer(kind: Any, operation: str, a: Given, b: Given) -> list[Any]:
    if operation == "from_bases":
        return plain(kind.from_bases(a[0], a[1]))
    first = kind.from_bases(*a, False)
    if operation == "ask":
        return [first.is_surjective(), first.is_injective(), first.is_invertible(), first.get_matrix_view()]
    if operation in ("invert", "pseudoinvert"):
        return plain(getattr(first, operation)())
    second = kind.from_bases(*b, False)
    return plain(first * second if operation == "mul" else getattr(first, operation)(second))


def ordered(a: list[str], b: list[str]) -> bool:
    try:
        supremum(a, b)
    except LayoutError:
        return False
    return True


def comparable(operation: str, a: Given, b: Given) -> bool:
    """Whether Triton has an order for the names of what is asked."""
    ins = [name for name, _ in a[0]], [name for name, _ in b[0]]
    return operation != "mul" or (ordered(*ins) and ordered(a[1], b[1]))


@pytest.mark.slow
def test_the_algebra_is_triton_s() -> None:
    wheel: Any = require_module("triton.tools").LinearLayout
    rng = random.Random()
    seed = rng.getrandbits(32)
    rng.seed(seed)
    seen: Counter[tuple[str, bool]] = Counter()
    asked = [one for one in (question(rng) for _ in range(600)) if comparable(*one)]
    answers = forked_each([partial(answer, wheel, *one) for one in asked])
    for (operation, a, b), theirs in zip(asked, answers, strict=True):
        try:
            ours = answer(LinearLayout, operation, a, b)
        except LayoutError:
            ours = None
        assert ours == theirs, f"seed {seed}: {operation} {a} {b}"
        seen[operation, ours is None] += 1
    assert all(seen[operation, False] > 2 for operation in set(OPERATIONS)), seen


def test_places_are_triton_s() -> None:
    wheel: Any = require_module("triton.tools").LinearLayout
    rng = random.Random(3)
    for _ in range(100):
        one = given(rng, some(rng, "rlw"), some(rng, "xy"))
        theirs, ours = wheel.from_bases(*one, False), LinearLayout.from_bases(*one, False)
        assert ours.table() == str(theirs).strip("\n")
        for _ in range(5):
            place = {name: rng.randrange(-9, 40) for name, _ in one[0]}
            assert ours.apply(place) == theirs.apply(place)


def test_triton_s_own_layouts_are_read() -> None:
    wheel: Any = require_module("triton.tools").LinearLayout
    rng = random.Random(4)
    for _ in range(100):
        one = given(rng, some(rng, "rlw"), some(rng, "xy"))
        assert as_bases(wheel.from_bases(*one, False)) == LinearLayout.from_bases(*one, False)
    layouts: Any = require_module("triton.experimental.gluon.language._layouts")
    linear = layouts.DistributedLinearLayout([[0, 1]], [[1, 0], [2, 0]], [[0, 2]], [], [4, 4])
    assert as_bases(linear) == LinearLayout([[0, 1]], [[1, 0], [2, 0]], [[0, 2]], [], [4, 4])
