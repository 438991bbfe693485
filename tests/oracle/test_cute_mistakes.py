"""The lines of docs/cute_mistakes.md, asked again: a test fails when its library has become right.

What is true is counted through from the definition, in this file alone: a layout is a list of (extent, stride), and its last
factor runs on past the end.
"""

from __future__ import annotations

import re
import warnings
from itertools import count
from math import prod
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.cutlass_headers import Refusal, atom_templates, atoms, cpp_layout, evaluate
from tests.oracle.toolchains import require_module

PAGE = Path(__file__).parents[2] / "docs" / "cute_mistakes.md"
_ROW = re.compile(r"^\| (C\+\+|pycute|tensor-layouts) \| `(\w+)\((.*)\)` \| `(.*)` \| (.*) \|$", re.MULTILINE)
ROWS = _ROW.findall(PAGE.read_text(encoding="utf-8"))
Leaves = list[tuple[int, int]]


def nested(text: str) -> Any:
    """A nested tuple of numbers: `(4,(2,3))`; `(4)` is a tuple of one."""
    stack: list[list[Any]] = [[]]
    for token in re.findall(r"[()]|-?\d+", text):
        if token == "(":
            stack.append([])
        elif token == ")":
            last = tuple(stack.pop())
            stack[-1].append(last)
        else:
            stack[-1].append(int(token))
    return stack[0][0]


def pair(text: str) -> tuple[Any, Any]:
    shape, stride = text.replace("_", "").split(":")
    return nested(shape), nested(stride)


def flat(shape: Any, stride: Any) -> Leaves:
    if isinstance(shape, int):
        return [(shape, stride)]
    return [leaf for n, s in zip(shape, stride, strict=True) for leaf in flat(n, s)]


def swizzle(text: str) -> tuple[int, int, int]:
    """The numbers of `Sw<1,0,-1>`."""
    bits, base, shift = map(int, text.removeprefix("Sw<").removesuffix(">").split(","))
    return bits, base, shift


def swizzled(numbers: tuple[int, int, int], x: int) -> int:
    """Bit after bit: those from base + shift on flip those from base on; a negative shift goes the other way."""
    bits, base, shift = numbers
    for k in range(base, base + bits):
        read, changed = (k + shift, k) if shift >= 0 else (k, k - shift)
        x ^= (x >> read & 1) << changed
    return x


def size(leaves: Leaves) -> int:
    return prod(n for n, _ in leaves)


def value(leaves: Leaves, i: int) -> int:
    """L(i), the first factor fastest, and the last one running on."""
    total = 0
    for n, s in leaves[:-1]:
        i, digit = divmod(i, n)
        total += digit * s
    return total + i * leaves[-1][1]


def arguments(text: str) -> list[str]:
    """The arguments of a call, at commas that stand in no parentheses."""
    parts, depth = [""], 0
    for letter in text:
        depth += {"(": 1, "<": 1, ")": -1, ">": -1}.get(letter, 0)
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def truth(operation: str, given: list[str]) -> list[int]:
    """The values of the right answer; of a product, how many copies there are."""
    a = flat(*pair(given[0]))
    if operation == "upcast":  # the wide elements that hold a narrow one
        return sorted({value(a, i) // int(given[1]) for i in range(size(a))})
    if operation == "downcast":  # all narrow elements inside the wide ones
        n = int(given[1])
        return sorted({value(a, i) * n + k for i in range(size(a)) for k in range(n)})
    if operation == "coalesce":
        return [value(a, i) for i in range(size(a))]
    if given[1].startswith("Sw<"):
        assert operation == "composition"
        return [value(a, swizzled(swizzle(given[1]), i)) for i in range(size(a))]
    b = flat(*pair(given[1]))
    if operation == "composition":
        return [value(a, value(b, i)) for i in range(size(b))]
    if operation == "logical_divide":
        tile = [value(b, i) for i in range(size(b))]
        return [value(a, start + one) for start in complement(tile, size(a)) for one in tile]
    assert operation == "logical_product"
    return [size(b)]


def complement(tile: list[int], whole: int) -> list[int]:
    """The starts at which copies of a tile cover 0, 1, 2 .. up to `whole`: each the least that is not covered."""
    covered: set[int] = set()
    starts: list[int] = []
    while len(covered) < whole:
        start = next(i for i in count() if i not in covered)
        starts.append(start)
        covered |= {start + one for one in tile}
    return starts


def answer_of(who: str, operation: str, given: list[str]) -> str:
    """What a library says, as `shape:stride` without blanks."""
    if who == "C++" and operation in ("upcast", "downcast"):
        [said] = evaluate([f"{operation}<{given[1]}>({cpp_layout(*pair(given[0]))})"], ALGEBRA)
        return said.replace("_", "") if isinstance(said, str) else f"refused: {said.words}"
    if who == "C++":
        written = [f"{one.replace('Sw', 'Swizzle')}{{}}" if one[0] == "S" else cpp_layout(*pair(one)) for one in given]
        [said] = evaluate([f"{operation}({', '.join(written)})"], ALGEBRA)
        return said.replace("_", "") if isinstance(said, str) else f"refused: {said.words}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library: Any = require_module(who.replace("-", "_"))
    layouts = [library.Layout(*pair(one)) if ":" in one else nested(one) for one in given]
    name = "compose" if who == "tensor-layouts" and operation == "composition" else operation
    try:
        found = getattr(library, name)(*layouts)
    except (AssertionError, ValueError) as error:
        return f"refused: {error}"
    return f"{found.shape}:{found.stride}".replace(" ", "").replace(",)", ")")


ALGEBRA = """#include <cute/layout.hpp>
#include <cute/layout_composed.hpp>
#include <cute/swizzle_layout.hpp>"""


def test_the_page_has_a_line_of_each_library() -> None:
    assert {row[0] for row in ROWS} == {"C++", "pycute", "tensor-layouts"}
    assert len(ROWS) >= 13


@pytest.mark.slow
@pytest.mark.parametrize(("who", "operation", "given", "answer", "said"), ROWS, ids=lambda one: str(one)[:40])
def test_the_answer_is_still_wrong(who: str, operation: str, given: str, answer: str, said: str) -> None:
    parts = arguments(given)
    found = answer_of(who, operation, parts)
    assert found == answer, f"{who} says {found} now: say so on the page"
    outer, _, inner = answer.rpartition(" o 0 o ")
    right, leaves = truth(operation, parts), flat(*pair(inner))
    if operation == "logical_product":
        copies = size(flat(*(one[1] for one in pair(answer))))
        assert said == f"{right[0]} copies, and the answer has {copies}"
        assert copies != right[0]
        return
    theirs = [value(leaves, i) for i in range(size(leaves))]
    theirs = [swizzled(swizzle(outer), x) for x in theirs] if outer else theirs
    if operation in ("upcast", "downcast"):
        assert said == f"{len(right)} places, and the answer has {len(set(theirs))}"
        assert sorted(set(theirs)) != right
        return
    at = next(i for i, true in enumerate(right) if i >= len(theirs) or theirs[i] != true)
    wrong = (
        f"not {theirs[at]}" if at < len(theirs) else f"and the answer has {len(theirs)} value{'s' * (len(theirs) > 1)}"
    )
    assert said == f"at {at}: {right[at]}, {wrong}"


def covered(layout: str) -> set[int]:
    """All indices of a layout."""
    found = {0}
    for n, s in flat(*pair(layout)):
        found = {start + i * s for start in found for i in range(n if s else 1)}
    return found


S4 = [f"SM80_16x8x32_S32{a}4{b}4S32_TN{end}" for a in "SU" for b in "SU" for end in ("", "_SATURATE")]
U1 = [f"SM80_16x8x128_S32U1U1S32_TN_{how}" for how in ("XORPOPC", "ANDPOPC")]


@pytest.mark.slow
def test_the_atoms_on_the_page_are_still_wrong() -> None:
    found = atoms([*S4, *U1])
    for name in S4:
        fields = found[name]
        assert not isinstance(fields, Refusal)
        assert fields["BLayout"].replace("_", "") == "((4,8),(8)):((32,1),(8))"
        assert len(covered(fields["BLayout"])) == 160
    for name in U1:
        fields = found[name]
        assert not isinstance(fields, Refusal)
        assert fields["ALayout"].replace("_", "") == "((4,8),(32,2)):((512,1),((16,8)))"


def test_tensor_layouts_has_the_same_b() -> None:
    atom = require_module("tensor_layouts.atoms_nv").SM80_16x8x32_S32S4S4S32_TN
    assert str(atom.b_layout).replace(" ", "") == "((4,8),8):((32,1),8)"


@pytest.mark.exhaustive
def test_every_other_mma_atom_of_the_headers_covers_its_tiles() -> None:
    names = [name for name, one in atom_templates().items() if one.kind == "MMA"]
    found = {name: fields for name, fields in atoms(names).items() if not isinstance(fields, Refusal)}
    assert len(found) > 2000
    wrong: dict[str, str] = {}
    for name, fields in found.items():
        m, n, k = nested(fields["Shape_MNK"].replace("_", ""))
        for operand, tile in (("A", m * k), ("B", n * k), ("C", m * n)):
            layout = fields[f"{operand}Layout"]
            try:
                missing = covered(layout) != set(range(tile))
            except (TypeError, ValueError):  # shape and stride are not of one form
                missing = True
            if missing:
                wrong[f"{name}.{operand}"] = layout
    assert set(wrong) == {f"{name}.B" for name in S4} | {f"{name}.A" for name in U1}
