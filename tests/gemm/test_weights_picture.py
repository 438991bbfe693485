"""The picture of a plan with quantised weights: every cell against how the host packs, and against the kernel's text."""

from __future__ import annotations

import re
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import layoutalg as la
from layoutalg.cli import main
from layoutalg.gemm.packed import plan_packed
from layoutalg.gemm.weights import Float8Weights, QuantisedWeights
from layoutalg.viz.panels import DARK, NARROW, PALE

PLANS: dict[str, Any] = {
    "u4": lambda: la.plan_weights(8, 512, 1024, target="bmg"),
    "u4 with zero points": lambda: la.plan_weights(8, 256, 1024, zeros=True, group=256, tile=(8, 64)),
    "u4 in small groups": lambda: la.plan_weights(32, 64, 256, group=32, tile=(32, 32)),
    "u8": lambda: la.plan_weights(1, 256, 512, b="u8", group=64, target="bmg"),
    "bf16 and u4": lambda: la.plan_weights(1, 64, 256, "bf16", "u4", batch=3),
    "bf16 and u8": lambda: la.plan_weights(16, 128, 512, "bf16", "u8", zeros=True),
    "f8E4M3FN": lambda: la.plan_weights(1, 1024, 4096, b="f8E4M3FN"),
    "f8E5M2 and bf16": lambda: la.plan_weights(20, 72, 256, "bf16", "f8E5M2", bias="column"),
}
WORD = re.compile(r"W row (\d+), column (\d+): bits (\d+)\.\.(\d+) of the word in register (\d+), lane (\d+)")


@cache
def planned(name: str) -> Any:
    return PLANS[name]()


def words_of(problem: Any, values: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """The words that a host gives the kernel for values [k, n]."""
    scales = np.ones((values.shape[0] // problem.group, values.shape[1]), np.float32)
    if problem.floats:
        return Float8Weights(values, scales, problem.b).words
    return QuantisedWeights(values, scales, None, problem.bits).words


@pytest.mark.parametrize("name", PLANS)
def test_the_bits_of_a_word_are_those_that_the_host_writes_for_the_weight(name: str) -> None:
    """One weight of ones among zeros: the word that is not zero, its bits, and the lane and register that load it."""
    plan = planned(name)
    problem, tile = plan.problem, plan.tiling.tile
    frame = plan.picture().frames()[0]
    k, n = tile.k, tile.n
    of_step = problem.step * problem.bits // 32
    seen: set[tuple[int, int]] = set()
    for cell in frame.cells:
        row, column, low, high, reg, lane = map(int, WORD.fullmatch(cell.sentence).groups())  # pyright: ignore[reportOptionalMemberAccess]
        values = np.zeros((max(k, problem.group), n), np.uint8)
        values[row, column] = (1 << problem.bits) - 1
        words = words_of(problem, values)
        ((at, across),) = np.argwhere(words)
        assert int(words[at, across]) == sum(1 << bit for bit in range(low, high + 1))
        # a block message puts its row r into register r, and column c into lane c; blocks of 16 columns follow one another
        assert (reg, lane) == (across // 16 * of_step + at, across % 16)
        assert cell.label == f"{row},{column}"
        seen.add((row, column))
    assert {(0, 0), (1, 0), (k - 1, n - 1)} <= seen


def evaluated(told: str, word: int) -> int:
    """What an operation makes of a word, by the form that it is written in."""
    whole = (1 << 32) - 1

    def operand(text: str) -> int:
        found = re.fullmatch(r"w|\(w (<<|>>) (\d+)\)|\(\(w << (\d+)\) >> (\d+)\)", text)
        assert found is not None, text
        if found[3]:
            return (word << int(found[3]) & whole) >> int(found[4])
        if not found[1]:
            return word
        return word << int(found[2]) & whole if found[1] == "<<" else word >> int(found[2])

    if made := re.fullmatch(r"y = (.*) & (0x\w+) \| (.*) & (0x\w+); y \| \(y \+ (0x\w+)\) & (0x\w+)", told):
        first, second = made[1], made[3]
        y = operand(first) & int(made[2], 16) | operand(second) & int(made[4], 16)
        return y | (y + int(made[5], 16)) & int(made[6], 16)
    made = re.fullmatch(r"(.*?) & (0x\w+)(?: \| (0x\w+))?", told)
    assert made is not None, told
    return operand(made[1]) & int(made[2], 16) | int(made[3] or "0", 16)


@pytest.mark.parametrize("name", PLANS)
def test_an_operation_makes_the_numbers_that_stand_in_its_cells(name: str) -> None:
    plan = planned(name)
    problem, rng = plan.problem, np.random.default_rng(0)
    each = 32 // problem.bits
    frame = plan.picture().frames()[1]
    kind = np.float16 if problem.floats or problem.product.a == "f16" else ml_dtypes.bfloat16
    forms = {
        "q / 256": lambda q: q / 256,
        "q": lambda q: q,
        "2048 + 16 (q // 16)": lambda q: 2048 + 16 * (q // 16),
        "128 + q % 16": lambda q: 128 + q % 16,
        **{f"{bias} + q": lambda q, bias=bias: bias + q for bias in (64, 128, 1024)},
    }
    seen: set[int] = set()
    for _ in range(20):
        values = rng.integers(0, 1 << problem.bits, (problem.group, 1)).astype(np.uint8)
        if problem.floats:
            values &= 0x77  # no NaN and no infinities
        word = int(words_of(problem, values)[0, 0])
        numbers = values[:each, 0].astype(np.float64)
        if problem.floats:
            held = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2}[problem.b]
            numbers = values[:each, 0].view(held).astype(np.float64)
        for cell in frame.cells:
            found = re.fullmatch(r"k (\d+) of the word: bits (\d+)\.\.\d+ of (.*): ([^:]*)", cell.sentence)
            assert found is not None, cell.sentence
            half = evaluated(found[3], word) >> int(found[2]) & 0xFFFF
            assert np.uint16(half).view(kind) == forms[found[4]](numbers[int(found[1])]), cell.sentence
            assert cell.label == f"k {found[1]}: {found[4]}"
            seen.add(int(found[1]))
    assert seen == set(range(each))
    kernel = plan.emit()
    for number in re.findall(r"0x(\w{8})", " ".join(cell.sentence for cell in frame.cells)):
        assert f"arith.constant {int.from_bytes(bytes.fromhex(number), signed=True)} : i32" in kernel


@pytest.mark.parametrize("name", [name for name in PLANS if "f8" not in name])
def test_a_row_of_scales_is_that_of_the_weights_that_change_with_it(name: str) -> None:
    plan = planned(name)
    problem, frame = plan.problem, plan.picture().frames()[3]
    k, n = problem.product.k, problem.product.n
    drawn = 0
    for cell in frame.cells:
        found = re.fullmatch(
            r".*, row (\d+), columns (\d+)\.\.(\d+): of W rows (\d+)\.\.(\d+), columns (\d+)\.\.(\d+)", cell.sentence
        )
        assert found is not None, cell.sentence
        g, left, right, top, bottom, first, last = map(int, found.groups())
        scales = np.zeros((k // problem.group, n), np.float32)
        scales[g, left : right + 1] = 1
        found = QuantisedWeights(np.zeros((k, n), np.uint8), scales, None, problem.bits).dequantised
        rows, columns = np.nonzero(found)
        assert (rows.min(), rows.max(), columns.min(), columns.max()) == (top, bottom, first, last)
        assert cell.label == f"row {g}"
        assert (cell.fill == DARK) == (g == 0 and left < plan.tiling.tile.n)
        assert cell.fill in (DARK, PALE)
        drawn += 1
    assert drawn


@pytest.mark.parametrize("name", PLANS)
def test_the_flow_counts_what_the_kernel_has_and_has_the_layouts_on_its_arrows(name: str) -> None:
    plan = planned(name)
    picture: Any = plan.picture()
    flow = picture.panels()[2]
    told = " ".join(words.text for words in flow.words)
    loop = plan.emit().rpartition("scf.for %counter")[2].partition("scf.yield")[0]
    dpas = [int(one) for one in re.search(r"(\d+)(?: \+ (\d+))? dpas of", told).groups("0")]  # pyright: ignore[reportOptionalMemberAccess]
    assert sum(dpas) == loop.count("xegpu.dpas")
    loads = [int(one) for one in re.findall(r"(\d+) loads?\b", told)]
    assert sum(loads) == loop.count("xegpu.load_nd")
    facts = dict(picture.facts())
    assert f"{loop.count('xegpu.load_nd')} loads" in facts["a step costs"]
    assert f"{plan.prefetches_per_step} prefetch" in facts["a step costs"] or not plan.prefetches_per_step
    assert loop.count("xegpu.prefetch_nd") == plan.prefetches_per_step
    assert all(str(part.layout) in told for part in picture.parts)
    assert {cell.label for cell in flow.cells if cell.label} == {one.title[0] for one in picture.frames()}


@pytest.mark.parametrize("name", PLANS)
def test_it_can_be_read_on_a_phone(name: str) -> None:
    picture: Any = planned(name).picture(title="<script> & \0")
    scene = picture.scene()
    assert scene.width <= NARROW
    for words in scene.words:
        wide = 0.602 * words.size * len(words.text)
        left = words.x - {"start": 0, "middle": wide / 2, "end": wide}[words.anchor]
        assert 0 <= left <= left + wide <= scene.width + 1, words.text
    assert "<script>" not in picture.svg() + picture.html()


def test_a_plan_and_weights_end_a_cell_of_a_notebook() -> None:
    for plan in (planned("u4"), plan_packed(100, 64, 64)):
        assert "<img" in plan._repr_html_()
        assert "who computes C" in plan._repr_html_().replace("\xa0", " ")
    for weights in (la.quantise(np.ones((64, 16)), group=32), la.quantise(np.ones((64, 16)), group=32, zeros=True)):
        assert len(repr(weights)) < 120
        assert "32 neighbours along k" in weights._repr_html_()
    assert "q s" in Float8Weights(np.zeros((32, 1), np.uint8), np.ones((1, 1)))._repr_html_()


def test_workgroups_of_packed_operands_share_padded_c() -> None:
    plan = plan_packed(100, 72, 64, tile=(16, 16), subgroups=(2, 2))
    rows = [
        (int(found[1]), int(found[2]))
        for cell in plan.picture().scene().cells
        if (found := re.match(r"workgroup (\d+),(\d+) ", cell.sentence))
    ]
    assert set(rows) == set(product(range(plan.grid[1]), range(plan.grid[0])))


@pytest.mark.parametrize(
    "command",
    [("weights", "8", "64", "256"), ("gemm", "64", "64", "64"), ("gemm", "64", "64", "64", "--target", "amx")],
)
def test_a_file_with_the_ending_of_a_picture_gets_the_picture_unless_a_level_is_asked_for(
    command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plan.SVG"
    assert main([*command, "-o", str(file)]) == 0
    assert file.read_text().startswith("<svg")
    assert re.search(rf"picture +{re.escape(str(file))}", capsys.readouterr().out)
    assert main([*command, "-o", str(file), "--emit", "whole" if "amx" in command else "lane"]) == 0
    assert "func" in file.read_text()
    assert "<svg" not in file.read_text()
