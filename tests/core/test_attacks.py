"""What attackers found in the algebra: each input here once gave a raw error, a wrong answer, a hang or gigabytes."""

from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg.core import Layout, LayoutError, ParseError, SizeError, index_function, row_major
from layoutalg.core.elements import element_bits, numpy_type

P = Layout.parse
HUGE = 10**5000
TILE = P("d0 = 4@lane")

WRONG: list[Any] = [
    *(HUGE, -HUGE, None, 1.5, True, "x", "\ud800", "a\nb", b"x", [1], [HUGE], {}, object(), range(10**30)),
    *(np.zeros(3), np.array(["x"]), TILE, float("nan")),
]
CALLS: dict[str, Callable[[Any], Any]] = {
    "compose": lambda v: la.compose(v, TILE),
    "compose with": lambda v: la.compose(TILE, v),
    "compose_exactly": lambda v: la.compose_exactly(v, TILE),
    "distribute": lambda v: la.distribute(v, np.zeros(4)),
    "distribute what": lambda v: la.distribute(TILE, v),
    "collect": lambda v: la.collect(TILE, v),
    "Swizzle": lambda v: la.Swizzle(v, v, v),
    "swizzled": lambda v: la.swizzled(v, la.Swizzle(1, 0, 1)),
    "swizzled by": lambda v: la.swizzled(P("d0 = 4@addr"), v),
    "swizzled on": lambda v: la.swizzled(P("d0 = 4@addr"), la.Swizzle(1, 0, 1), v),
    "Table.of": la.Table.of,
    "Table.owners": lambda v: la.Table.of(TILE).owners(v),
    "Table.owners of one": lambda v: la.Table.of(TILE).owners((v,)),
    "Layout": la.Layout,
    "Layout, extent": lambda v: la.Layout([[(v, 1, "a")]]),
    "Layout, stride": lambda v: la.Layout([[(2, v, "a")]]),
    "Layout, axis": lambda v: la.Layout([[(2, 1, v)]]),
    "Layout, replicas": lambda v: la.Layout([[(2, 1, "a")]], v),
    "Layout, offsets": lambda v: la.Layout([[(2, 1, "a")]], (), v),
    "Layout, names": lambda v: la.Layout([[(2, 1, "a")]], names=v),
    "Layout, origins": lambda v: la.Layout([[(2, 1, "a")]], origins=v),
    "Layout, codomain": lambda v: la.Layout([[(2, 1, "a")]], codomain=v),
    "owners": TILE.owners,
    "owners of one": lambda v: TILE.owners((v,)),
    "coords": lambda v: TILE.coords(lane=v),
    "fragment_map": lambda v: TILE.fragment_map(lane=v),
    "owner_map": TILE.owner_map,
    "permute": TILE.permute,
    "reshape": TILE.reshape,
    "reshape, size": lambda v: TILE.reshape((v,)),
    "slice": TILE.slice,
    "broadcast": lambda v: TILE.broadcast(0, v),
    "broadcast before": lambda v: TILE.broadcast(v, 2),
    "tile": TILE.tile,
    "tile along": lambda v: TILE.tile((2,), v),
    "divide": TILE.divide,
    "restrict": lambda v: TILE.restrict(0, v, 1),
    "restrict dimension": lambda v: TILE.restrict(v, 0, 1),
    "substitute": lambda v: P("d0 = M@lane").substitute(M=v),
    "symbol": la.symbol,
    "expression_text": la.expression_text,
    "layout": TILE.layout,
    "layout on": lambda v: TILE.layout((4,), v),
    "operands": TILE.operands,
    "same": lambda v: la.same(TILE, TILE, v),
    "same, size": lambda v: la.same(TILE, TILE, (v,)),
    "Machine": la.Machine,
    "index_function": index_function,
    "row_major": row_major,
    "row_major, size": lambda v: row_major((v,)),
    "CuteLayout": lambda v: la.CuteLayout(v, v),
    "CuteLayout, offset": lambda v: la.CuteLayout((4,), (1,), offset=v),
    "LinearLayout": lambda v: la.LinearLayout(v, v),
    "element_bits": element_bits,
    "numpy_type": numpy_type,
}


@pytest.mark.parametrize("name", CALLS)
def test_wrong_arguments_are_refused_in_one_short_line_at_once(name: str) -> None:
    for value in WRONG:
        start = time.perf_counter()
        try:
            CALLS[name](value)
        except LayoutError as error:
            message = str(error)
            assert message.isprintable(), ascii(message)
            assert len(message) < 500
        assert time.perf_counter() - start < 1, (name, type(value))


def test_a_factor_of_extent_1_needs_no_axis() -> None:
    assert P("d0 = 4@lane 1@foo").owners((0,)) == [(0, 0, 0)]
    assert P("d0 = 1@sg 2@row").owners((1,)) == [(1,)]
    assert P("d0 = 1@sg 2@row").owner_map("row").tolist() == [0, 1]
    assert P("d0 = 1@sg 2@row").coords().tolist() == [[0], [1]]
    assert la.distribute(P("d0 = 1@sg 2@row"), np.array([3, 4])).tolist() == [3, 4]


@pytest.fixture
def a_little_memory() -> Iterator[None]:
    """What runs meanwhile may allocate 64 MiB, and take two seconds."""
    tracemalloc.start()
    start = time.perf_counter()
    yield
    spent, most = time.perf_counter() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (spent < 2, most < 64 * 2**20) == (True, True), (spent, most)


@pytest.mark.usefixtures("a_little_memory")
def test_sizes_are_refused_before_they_are_allocated() -> None:
    far = P("d0 = 2@lane | replicas 2147483648@lane:2")
    assert far.coords(lane=5).tolist() == [[1]]
    big = P("d0 = 65536@reg, d1 = 65536@lane")
    refused: list[Callable[[], Any]] = [
        lambda: far.fragment_map(lane=range(10**9)),
        lambda: far.fragment_map(lane=range(10**30)),
        lambda: far.fragment_map(),
        lambda: P("() | replicas 2147483648@sg:7").fragment_map(),
        lambda: P("d0 = 2@sg:2147483648 | replicas 2147483648@sg").fragment_map(lane=0),
        lambda: P("d0 = 4194304@lane:3 | replicas 3@lane:2").fragment_map(),
        lambda: P("d0 = 4000@lane:8000, d1 = 4000@lane:2").fragment_map(),
        big.fragment_map,
        lambda: big.owner_map("lane"),
        lambda: la.Table.of(big),
        lambda: la.compose_exactly(P("d0 = 4194304@lane 3@reg"), P("d0 = 4000000@d0")),
        lambda: la.distribute(P("d0 = 1 | replicas 2147483648@lane"), np.zeros(1)),
        lambda: la.Layout([[(1, 1, "reg")]] * 100).owner_map("reg"),
    ]
    for call in refused:
        with pytest.raises(SizeError):
            call()
    with pytest.raises(LayoutError, match="at most"):
        la.LayoutAttr(sg_data=range(10**9))  # pyright: ignore[reportArgumentType]


def test_numbers_that_python_does_not_print_are_shown_by_their_length() -> None:
    with pytest.raises(LayoutError, match="a number of 5001 digits"):
        la.Machine(lanes=HUGE)
    with pytest.raises(LayoutError, match="elements: expected at most"):
        P("d0 = " + "2147483648@_ " * 500)


@pytest.mark.parametrize(
    "text",
    [
        "// c\n" * 200_000 + "d0 = 4@lane",
        "//" + "c" * 10**6 + "\nd0 = 4@lane",
        '"' + "a" * 10**6 + '"',
        '"' + "\\22" * 300_000 + '"',
        "d0 = 4@lane" + " | replicas 2@lane:4" * 50_000,
        "d0 = 4@lane | replicas" + " 2@lane:4" * 100_000,
        "d0 = " + "(M + 1)@reg " * 80_000,
        "d0 = " + "".join(f"(M{i} + 1)*(K + {i})@reg " for i in range(1, 40_000)),
        "d0 = " + "(" * 10**6,
        "d0 = 4@lane | offset " + "".join(f"{i}@a{i} " for i in range(1, 80_000)),
        ", ".join(f"d{i} = 4@lane" for i in range(80_000)),
        "#xegpu.slice<#xegpu.layout<lane_layout = [1, 16]>, dims = [" + "0, " * 300_000 + "0]>",
    ],
    ids=lambda text: ascii(text[:24]),
)
def test_a_megabyte_of_text_takes_a_second_and_a_few_bytes_per_character(text: str) -> None:
    la.parse("#xegpu.layout<lane_layout = [1, 16]>"), P("d0 = M/16@reg")  # what is imported does not count
    start = time.perf_counter()
    for read in (P, la.parse):
        try:
            read(text)
        except LayoutError as error:
            assert len(str(error)) < 2000
    assert time.perf_counter() - start < 3
    tracemalloc.start()
    with suppress(LayoutError):
        la.parse(text[:200_000])
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 16 * 2**20


def test_a_message_is_a_screen_of_text_at_the_most() -> None:
    assert len(str(LayoutError("x" * 39_000))) == 2000
    with pytest.raises(ParseError) as caught:
        P("a" * 5000 + " = 4@lane")
    assert len(str(caught.value)) < 200


def test_symbols_are_named_where_numbers_are_needed() -> None:
    for call in (
        lambda: index_function(P("d0 = 8@reg:K")),
        lambda: P("d0 = 4@addr 1@reg:N | replicas 4@lane").owners((0,)),
        lambda: la.distribute(P("d0 = 4@reg:K"), np.zeros(4)),
        lambda: la.Table.of(P("d0 = M@reg")),
    ):
        with pytest.raises(LayoutError, match="has symbols"):
            call()


def test_a_tensor_of_64_dimensions_is_distributed() -> None:
    one = P(", ".join(f"d{i} = 1" for i in range(64)))
    assert la.distribute(one, np.ones((1,) * 64)).tolist() == [[[1.0]]]
    many = P(", ".join(f"d{i} = 2@reg:{2**i}" if i < 8 else f"d{i} = 1" for i in range(60)))
    tensor = np.arange(256).reshape((2,) * 8 + (1,) * 52)
    assert np.array_equal(la.collect(many, la.distribute(many, tensor)), tensor)


def test_same_refuses_a_shape_that_is_not_the_layouts() -> None:
    with pytest.raises(LayoutError, match="shape 99"):
        la.same(TILE, TILE, (99,))


COLD = """
import sys, threading
sys.setswitchinterval(1e-6)
from layoutalg.core.layout import Layout
import layoutalg as la
gate, found = threading.Barrier(16), set()
def run(i):
    gate.wait()
    try:
        if i % 4 == 0:
            texts = map(la.expression_text, Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane").index_exprs().values())
            found.add(" ".join(texts))
        elif i % 4 == 1:
            found.add(str(la.same(Layout.parse("d0 = 4@lane"), "d0 = 4@lane")))
        else:
            found.add(str(Layout.parse("d0 = M/16@reg 16@lane").substitute(M=48)))
    except BaseException as error:
        found.add(repr(error))
threads = [threading.Thread(target=run, args=(i,)) for i in range(16)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(sorted(found))
"""


def test_sixteen_threads_that_start_cold_agree() -> None:
    right = ["d0 = 3@reg 16@lane", "reg + 16*(sg // 4) lane + 16*(sg % 4)", "the same map"]
    for _ in range(6):
        done = subprocess.run([sys.executable, "-c", COLD], capture_output=True, text=True, timeout=60, check=False)
        assert done.stdout.strip() == str(right), done.stdout + done.stderr
