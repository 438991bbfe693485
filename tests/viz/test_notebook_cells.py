# pyright: reportPrivateUsage=false
"""A notebook cell has a bounded size, whatever ends it: what is large is drawn smaller, and says where the whole is."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import layoutalg as la
from layoutalg import Layout
from layoutalg.core.limits import MOST_CELL_LETTERS, MOST_NOTEBOOK_LETTERS
from layoutalg.core.notebook import NotebookAnswer
from layoutalg.viz.graph import Box, Detail, Edge, Graph

BLOCKED = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>"
ROOM = MOST_CELL_LETTERS + MOST_NOTEBOOK_LETTERS + 1000
"""The drawing, the text, and what stands around them."""


class Answer(NotebookAnswer):
    """An answer of many letters that HTML writes as five or six."""

    def __str__(self) -> str:
        return "\"<&>'" * 100_000


def chain(count: int, drawn: int) -> Graph:
    """Boxes one below the other, with a picture of so many letters on every line."""
    boxes = tuple(Box(f"%{i}", f"op.number_{i}", "16x16xf32, layout A", "#4477aa", "told " * 20) for i in range(count))
    lines = tuple(
        Edge(i, i + 1, f"%{i}", "right" if i % 9 else "moves", Detail(("words",), (("is held", f"{i:0{drawn}}"),)))
        for i in range(count - 1)
    )
    return Graph(boxes, lines, "a kernel")


def shuffled(seed: int) -> Any:
    """A conversion of 1,024 elements in 16 lanes: bits of the tensor in a random order."""
    bits = ["@lane"] * 4 + ["@reg"] * 6
    ends = [[f"2{axis}" for axis in random.Random(seed + i).sample(bits, 10)] for i in range(2)]
    return la.convert(*(Layout.parse(f"d0 = {weighed(one)}") for one in ends))


def weighed(digits: list[str]) -> str:
    """Digits of one axis with the weights 1, 2, 4, ..., the last one least."""
    return " ".join(f"{one}:{2 ** digits[i + 1 :].count(one)}" for i, one in enumerate(digits))


KINDS: dict[str, Callable[[], Any]] = {
    "a tile": lambda: Layout.parse("d0 = 8@reg, d1 = 8@lane"),
    "a large tile": lambda: la.parse(BLOCKED).layout((4096, 4096)),
    "all of a tile": lambda: Layout.parse("d0 = 64@reg, d1 = 128@lane").picture(full=True),
    "mfma": lambda: la.mma("MFMA_F32_32x32x16_F16"),
    "wmma": lambda: la.mma("WMMA_F32_16x16x16_F16"),
    "amx": lambda: la.TileProduct(16, 16, 64, "i8", "i8"),
    "amx tile": lambda: la.TileType(16, 64, "i8"),
    "xor": lambda: la.swizzled(Layout.parse("d0 = 64@addr:64, d1 = 64@addr"), la.Swizzle(3, 3, 3)),
    "cute": lambda: la.parse_cute("((4,8),(16,32)):((512,1),(64,2048))"),
    "a plan of a GEMM": lambda: la.plan_gemm(4096, 4096, 4096),
    "a plan for AMX": lambda: la.plan_amx(1000, 1000, 1000, a="i8", b="i8", c="i32"),
    "attention": lambda: la.plan_attention(256, 1000, 64),
    "a long text": Answer,
    "a graph of pictures": lambda: chain(40, 20_000),
    "a graph of large pictures": lambda: chain(40, 400_000),
    "a large graph": lambda: chain(600, 10),
    "the largest graph": lambda: chain(2000, 10),
    **{f"conversion {seed}": lambda seed=seed: shuffled(seed) for seed in range(3)},
}

SMALLER = {
    "all of a tile",
    "the largest graph",
    "a graph of pictures",
    "a graph of large pictures",
    "conversion 0",
}
WHOLE = {"a tile", "attention", "a plan of a GEMM", "a long text"}


@pytest.mark.parametrize("kind", KINDS)
def test_what_ends_a_cell_is_bounded_and_says_where_the_whole_is(kind: str) -> None:
    shown = KINDS[kind]()._repr_html_()
    assert len(shown) <= ROOM
    assert kind not in SMALLER or "all of it: picture()." in shown
    assert kind not in WHOLE or "all of it:" not in shown
