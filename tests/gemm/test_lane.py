"""Kernels at lane level: their form, what they ask for ahead, and their results to the last bit."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import pytest

from layoutalg.core.errors import PlanError
from layoutalg.gemm import Gemm, plan_gemm
from layoutalg.gemm.run import execute
from layoutalg.gemm.sharing import shared_blocks, shared_rounds, slices
from layoutalg.ir import read_module, write_module
from tests.gemm.test_gemm import operands, pairwise

BIG: dict[str, Any] = {"tile": (32, 64), "k_step": 64, "subgroups": (8, 4), "registers": 256, "prefetch": "shared"}

# size, tile, subgroups, step, distance: whole and ragged, one subgroup and many, blocks that no subgroup has
SHAPES = [
    ((64, 64, 128), (32, 32), (2, 2), 32, 1),
    ((64, 96, 160), (16, 32), (2, 3), 32, 2),
    ((40, 80, 160), (16, 16), (1, 3), 32, 3),
    ((40, 64, 160), (16, 32), (1, 1), 64, 7),
    ((72, 200, 136), (32, 32), (2, 3), 32, 1),
    ((100, 104, 100), (16, 16), (2, 2), 64, 1),
    ((8, 32, 32), (8, 32), (1, 1), 32, 1),
]


def loops(text: str) -> list[str]:
    """The bodies of the loops, in order."""
    return re.findall(r"scf\.for [^\n]*\n(.*?)\n      }", text, re.DOTALL)


def planned(shape: tuple[Any, ...], form: str, chip: str, **more: Any) -> Gemm:
    (m, n, k), tile, subgroups, k_step, distance = shape
    return plan_gemm(
        m, n, k, tile=tile, subgroups=subgroups, k_step=k_step, registers=256, prefetch=form, distance=distance,
        target=chip, **{"lda": -(-k // 8) * 8, **more},
    )  # fmt: skip


@pytest.mark.parametrize(("form", "chip"), [("none", "bmg"), ("shared", "bmg"), ("shared", "pvc"), ("shared", "lnl")])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_results_are_right_to_the_last_bit(shape: tuple[Any, ...], form: str, chip: str) -> None:
    gemm = planned(shape, form, chip)
    a, b = operands(*shape[0], "f16")
    assert np.array_equal(gemm.simulate(a, b), pairwise(a, b))


@pytest.mark.parametrize("chip", ["bmg", "pvc"])
@pytest.mark.parametrize("form", ["shared", "lines"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_what_the_loop_loads_is_asked_for_once_and_in_time(shape: tuple[Any, ...], form: str, chip: str) -> None:
    """Rows are whole lines apart here; beside lines that nobody has, a workgroup asks for nothing that it doesn't load."""
    m, n, k = shape[0]
    gemm = planned(shape, form, chip, lda=-(-k // 32) * 32, ldb=-(-n // 32) * 32)
    a, b = operands(m, n, k, "f16")
    result, executed = execute(gemm, a, b, counted="lines")
    assert np.array_equal(result, pairwise(a, b))
    assert executed is not None
    assert executed.lines is not None
    found = {finding.rule for finding in executed.lines.findings(1)}
    assert found <= {"prefetch.outside"}, found
    if form == "shared":
        messages = sum(shares.messages for shares in shared_rounds(gemm.problem, gemm.tiling))
        assert executed.total("prefetch").messages == messages * gemm.subgroups_total * (gemm.k_steps - 1)


@pytest.mark.parametrize("chip", ["bmg", "pvc"])
@pytest.mark.parametrize(("rows", "columns"), list(product((1, 2, 3, 8), (1, 2, 3, 4))))
def test_the_blocks_of_all_subgroups_are_the_slices_each_line_once(rows: int, columns: int, chip: str) -> None:
    gemm = plan_gemm(
        512,
        512,
        512,
        tile=(32, 32),
        subgroups=(rows, columns),
        k_step=64,
        registers=256,
        prefetch="shared",
        target=chip,
    )
    problem, tiling = gemm.problem, gemm.tiling
    of_a, of_b = slices(problem, tiling)
    assert (of_a.rows, of_a.lines, of_b.rows, of_b.lines) == (32 * rows, 64 * 2 // 64, 64, columns * 32 * 2 // 64)
    shares = shared_blocks(problem, tiling)
    fewest = -(-(of_a.rows * of_a.lines + of_b.rows * of_b.lines) // (32 * rows * columns))
    assert shares.messages == fewest  # a message brings 32 lines at most
    assert shares.total <= shares.rounds * rows * columns
    for part, count in zip((of_a, of_b), shares.counts, strict=True):
        across = part.lines // shares.lines
        lines = [
            (block // across * shares.rows + row, block % across * shares.lines + line)
            for block, row, line in product(range(count), range(shares.rows), range(shares.lines))
        ]
        assert sorted(lines) == list(product(range(part.rows), range(part.lines)))


@pytest.mark.parametrize("chip", ["bmg", "pvc"])
@pytest.mark.parametrize(
    ("tile", "grid"), [((8, 64), (1, 8)), ((8, 16), (1, 4)), ((16, 32), (1, 1)), ((24, 32), (1, 2))]
)
def test_of_few_rows_blocks_of_a_and_b_are_chosen_apart(
    tile: tuple[int, int], grid: tuple[int, int], chip: str
) -> None:
    gemm = plan_gemm(
        tile[0], 512, 256, tile=tile, subgroups=grid, k_step=64, registers=128, prefetch="shared", target=chip
    )
    problem, tiling = gemm.problem, gemm.tiling
    parts, rounds = slices(problem, tiling), shared_rounds(problem, tiling)
    for place, part in enumerate(parts):
        lines = [
            (block // (part.lines // shares.lines) * shares.rows + row,
             block % (part.lines // shares.lines) * shares.lines + line)
            for shares in rounds
            for block, row, line in product(range(shares.counts[place]), range(shares.rows), range(shares.lines))
        ]  # fmt: skip
        assert sorted(lines) == list(product(range(part.rows), range(part.lines)))
    together = shared_blocks(problem, tiling).messages
    messages = sum(shares.messages for shares in rounds)
    assert messages < together if len(rounds) == 2 else messages == together
    a, b = operands(tile[0], 512, 256, "f16")
    result, executed = execute(gemm, a, b, counted="lines")
    assert np.array_equal(result, pairwise(a, b))
    assert executed is not None
    assert executed.lines is not None
    assert {finding.rule for finding in executed.lines.findings(1)} <= {"prefetch.outside"}
    assert executed.total("prefetch").messages == messages * gemm.subgroups_total * (gemm.k_steps - 1)


def test_messages_of_each_32_of_k_stand_just_before_their_products() -> None:
    for chip in ("bmg", "pvc"):
        main, rest = loops(plan_gemm(4096, 4096, 4096, target=chip, **BIG).emit())
        for body, asked in ((main, 1), (rest, 0)):
            order = "".join(
                letter
                for line in body.splitlines()
                for what, letter in (
                    ("load_nd", "l"),
                    ("prefetch_nd", "p"),
                    ("dpas", "d"),
                    ("index_cast %counter", "c"),
                )
                if what in line
            )
            assert order == "p" * asked + "c" + ("lll" + "d" * 32) * 2


def test_chips_without_immediate_offsets_have_a_descriptor_for_each_32_of_k() -> None:
    count = {
        chip: plan_gemm(4096, 4096, 4096, target=chip, **BIG).emit().count("create_nd_tdesc")
        for chip in ("bmg", "lnl", "pvc")
    }
    assert count == {"bmg": 4, "lnl": 4, "pvc": 6}  # A, B, what is asked for ahead, C


def test_the_same_kernel_is_written_for_bmg_and_lnl() -> None:
    assert plan_gemm(512, 512, 512, target="bmg", **BIG).emit() == plan_gemm(512, 512, 512, target="lnl", **BIG).emit()


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("form", ["none", "shared", "lines"])
def test_reading_and_writing_changes_nothing(form: str, static: bool) -> None:
    for chip, distance in (("bmg", 1), ("pvc", 3)):
        gemm = plan_gemm(4096, 4096, 4096, target=chip, **{**BIG, "prefetch": form, "distance": distance})
        text = gemm.emit(static=static)
        assert write_module(read_module(text)) == text


def test_a_static_kernel_has_the_planned_loop_and_the_same_result() -> None:
    gemm = planned(SHAPES[1], "shared", "pvc")
    text = gemm.emit(static=True)
    assert [body.count("xegpu.dpas") for body in loops(text)][-2:] == [gemm.dpas_per_step] * 2
    a, b = operands(*SHAPES[1][0], "f16")
    assert np.array_equal(gemm.simulate(a, b, text=text), pairwise(a, b))


@pytest.mark.parametrize(("element", "acc"), [("f16", "f16"), ("bf16", "bf16"), ("bf16", "f32")])
def test_other_accumulators_have_the_same_loop(element: str, acc: str) -> None:
    gemm = plan_gemm(4096, 4096, 4096, element, target="bmg", acc=acc, **BIG)
    assert gemm.emit().count(f"-> vector<8x{acc}>\n") == 2 * gemm.dpas_per_step


@pytest.mark.parametrize(
    ("prefetch", "more", "words"),
    [
        ("shared", {"k_step": 16}, "whole cache lines"),
        ("lines", {"k_step": 32, "ldb": 72}, "whole number of cache lines of 64 bytes.*ldb = 96"),
    ],
)
def test_prefetches_of_parts_of_lines_are_refused(prefetch: str, more: dict[str, int], words: str) -> None:
    with pytest.raises(PlanError, match=words):
        plan_gemm(64, 64, 64, tile=(16, 16), subgroups=(2, 2), prefetch=prefetch, **more).emit()
