"""The propagation of LLVM 22, 23 and 24, reproduced: on hundreds of kernels we write what the compilers write.

Compared is the whole module: the layouts of every operation in order, the types of descriptors, the conversions and where they
stand. Where a compiler refuses a module or crashes, we raise.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from layoutalg.core.errors import LayoutError
from layoutalg.core.notation import Machine
from layoutalg.flow.levels import layout_at
from layoutalg.flow.relations import needed, relation_of
from layoutalg.ir import read_module, write_module
from layoutalg.side.conformance.generating import kernels
from layoutalg.side.llvm_passes import propagated_like
from layoutalg.side.llvm_passes.analysis import held, shape_in
from layoutalg.side.llvm_passes.writing_anchors import known
from tests.side.llvm_passes.asking import plain, printed_by, propagated_by
from tests.side.llvm_passes.generated import kernel
from tests.side.llvm_passes.lines import kernel as line_kernel
from tests.simulate.levels.kernels import KERNELS

VERSIONS = (22, 23, 24)
KERNELS_EACH = 320
SOME = [64, pytest.param(KERNELS_EACH, marks=pytest.mark.exhaustive)]
"""Every run asks about some kernels, `make exhaustive` about all."""
NOT_DEFINED = "what happens is not defined"
"""What we say where a compiler reads past the end of a list: its answer changes from run to run."""
DEPENDS_ON_ADDRESSES = {(22, 170), (23, 170)}
"""Loops that carry two values, which LLVM 22 and 23 visit in the order of their addresses: they answer now this, now that."""


DIFFERENT = {
    (24, "lane"): {"257"},
    (24, "inst"): {"23", "168", "176", "215", "227", "232", "239", "257", "276", "312"},
}
"""Kernels that LLVM 24 propagates in another way. 257: a conversion that could stand in front of a shape_cast stands behind it.
23: the tile of a bitcast's result that lane_data does not divide. 168: how many elements a sum over columns takes. 176 and the
others: which conversions of the level of instructions move behind which operations is not understood in full."""


def ours(text: str, llvm: int, level: str) -> str | None:
    """The module as we propagate it; None where we refuse, "undefined" where we say that it isn't defined."""
    try:
        return plain(propagated_like(read_module(text), llvm, level, "pvc"))
    except LayoutError as problem:
        return "undefined" if NOT_DEFINED in str(problem) else None


def theirs(text: str | None) -> str | None:
    """What the compiler wrote; None where it refused, or wrote a size below 1 that no compiler reads again."""
    if text is None:
        return None
    try:
        return plain(read_module(text))
    except LayoutError:
        return None


def compared(texts: dict[str, str], llvm: int, level: str) -> tuple[Counter[str], list[str]]:
    """How many modules agree, are refused by both, or are not defined; and the names of the rest."""
    made = {name: ours(text, llvm, level) for name, text in texts.items()}
    counts: Counter[str] = Counter(undefined=sum(text == "undefined" for text in made.values()))
    defined = [name for name, text in made.items() if text != "undefined"]
    # What we refuse may crash the compiler: each of these has a run of its own, so that the others need one together.
    written = [name for name in defined if made[name] is not None]
    answers = dict(zip(written, propagated_by(llvm, level, [texts[name] for name in written]), strict=True))
    answers |= {name: propagated_by(llvm, level, [texts[name]])[0] for name in defined if made[name] is None}
    wrong: list[str] = []
    for name in defined:
        if name in DIFFERENT.get((llvm, level), ()):
            counts["different"] += 1
        elif made[name] == theirs(answers[name]):
            counts["refused" if made[name] is None else "equal"] += 1
        else:
            wrong.append(name)
    return counts, wrong


def valid(texts: dict[str, str], llvm: int) -> dict[str, str]:
    """The modules that the compiler reads."""
    names = list(texts)
    printed = printed_by(llvm, [texts[name] for name in names])
    return {name: texts[name] for name, text in zip(names, printed, strict=True) if text is not None}


def generated(llvm: int, numbers: Sequence[int]) -> dict[str, str]:
    return {str(number): kernel(number, llvm) for number in numbers if (llvm, number) not in DEPENDS_ON_ADDRESSES}


@pytest.mark.parametrize("kernels_each", SOME)
@pytest.mark.parametrize("llvm", VERSIONS)
def test_on_random_kernels_the_layouts_of_lanes_are_the_compilers(llvm: int, kernels_each: int) -> None:
    texts = valid(generated(llvm, range(kernels_each)), llvm)
    counts, wrong = compared(texts, llvm, "lane")
    assert not wrong
    assert counts["equal"] >= 0.6 * kernels_each
    assert sum(counts.values()) >= 0.9 * kernels_each


@pytest.mark.parametrize("kernels_each", SOME)
@pytest.mark.parametrize("llvm", VERSIONS)
def test_on_random_kernels_the_layouts_of_instructions_are_the_compilers(llvm: int, kernels_each: int) -> None:
    texts = valid(generated(llvm, range(kernels_each)), llvm)
    counts, wrong = compared(texts, llvm, "inst")
    assert not wrong
    share = {22: 0.6, 23: 0.2, 24: 0.4}[llvm]  # LLVM 23 refuses more than half of them
    assert counts["equal"] >= share * kernels_each
    assert sum(counts.values()) >= 0.9 * kernels_each


@pytest.mark.parametrize("kernels_each", SOME)
def test_at_the_level_of_workgroups_llvm_22_writes_lanes(kernels_each: int) -> None:
    texts = valid(generated(22, range(kernels_each)), 22)
    counts, wrong = compared(texts, 22, "workgroup")
    assert not wrong
    assert counts["equal"] >= 0.75 * kernels_each


@pytest.mark.parametrize("level", ["lane", "inst", "workgroup"])
@pytest.mark.parametrize("llvm", VERSIONS)
def test_on_the_kernels_of_workgroups_too(llvm: int, level: str) -> None:
    texts = valid({name: each.spelled_for(llvm) for name, each in KERNELS.items()}, llvm)
    counts, wrong = compared(texts, llvm, level)
    assert not wrong
    assert counts["equal"] >= 10


# Lines, broadcasts and casts, for workgroups of 1 to 16 subgroups.

LINES_EACH = 160
SOME_LINES = [32, pytest.param(LINES_EACH, marks=pytest.mark.exhaustive)]
LINES_DIFFERENT = {
    (24, "inst"): {"5", "12", "133"},
}
"""5 and 133: a tile of bytes that is smaller than the lanes of its message, instead of which LLVM loads a transformed one. 12:
a load for a user without lanes along the row, which LLVM gives up."""


@pytest.mark.parametrize("count", SOME_LINES)
@pytest.mark.parametrize("level", ["lane", "inst", "workgroup"])
@pytest.mark.parametrize("llvm", VERSIONS)
def test_on_lines_broadcasts_and_casts_too(llvm: int, level: str, count: int) -> None:
    different = LINES_DIFFERENT.get((llvm, level), set[str]())
    texts = {str(number): line_kernel(number) for number in range(count) if str(number) not in different}
    if llvm > 22:
        texts = {name: write_module(read_module(text), llvm=llvm) for name, text in texts.items()}
    counts, wrong = compared(valid(texts, llvm), llvm, level)
    assert not wrong
    assert counts["equal"] >= 0.15 * count


# The page: where a compiler's layouts are not what the operation relates.

PAGE = Path(__file__).parents[2] / "docs" / "like_llvm.md"
LANES = Machine(lanes=16)


def module_of_page(name: str) -> str:
    blocks = re.findall(r"```mlir\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    [found] = [block for block in blocks if f"gpu.module @{name} " in block]
    return found


def test_every_module_of_the_page_is_tried() -> None:
    assert set(re.findall(r"gpu\.module @(\w+)", PAGE.read_text(encoding="utf-8"))) == {"order", "sums", "copied"}


@pytest.mark.parametrize(
    ("name", "llvm", "operation"),
    [("order", 22, "vector.transpose"), ("sums", 22, "vector.multi_reduction"), ("copied", 23, "vector.broadcast")],
)
def test_the_layouts_of_an_operation_are_not_what_it_relates(name: str, llvm: int, operation: str) -> None:
    text = module_of_page(name)
    [found] = propagated_by(llvm, "lane", [text])
    assert found is not None
    propagated = read_module(found)
    assert plain(propagated) == ours(text, llvm, "lane")
    disagreements = 0
    for op in read_module(found).walk():
        if op.name != operation:
            continue
        relation = relation_of(op)
        result, operand = held(op, "layout_result_0"), known(op.operands[0])
        assert relation is not None
        assert result is not None
        assert operand is not None
        tie = relation.ties[0]
        needs = needed(tie.relation, layout_at(result, shape_in(op.results[0]), LANES))
        disagreements += needs != layout_at(operand, shape_in(op.operands[0]), LANES)
    assert disagreements == 1


# The kernels that conformance generates: every operation, in every kind of layout.

OTHERWISE = {23: {"chain_anchors_whole_2"}, 24: {"vector_broadcast_rows_0"}}
"""A chain whose loop LLVM 23 visits in another order; a gather of a line that is broadcast: instructions of 1, ours have 8."""


@pytest.mark.parametrize("kernels_each", SOME)
@pytest.mark.parametrize("level", ["lane", "inst"])
@pytest.mark.parametrize("llvm", VERSIONS)
def test_on_the_kernels_of_conformance_too(llvm: int, level: str, kernels_each: int) -> None:
    made = (*kernels(0, kernels_each // 2, level="anchors"), *kernels(0, kernels_each // 2, level="plain"))
    texts = {each.name: each.spelled_for(llvm) for each in made if each.name not in OTHERWISE.get(llvm, ())}
    counts, wrong = compared(valid(texts, llvm), llvm, level)
    assert not wrong
    assert counts["equal"] >= 0.75 * kernels_each
    assert sum(counts.values()) >= 0.9 * kernels_each
