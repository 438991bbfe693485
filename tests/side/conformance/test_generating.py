"""Generated kernels are valid for every version, say the same thing again, and compute something."""

from __future__ import annotations

import pytest

from layoutalg.core.errors import LayoutError
from layoutalg.module import read
from layoutalg.side.conformance.generating import kernels, made, meaning, operations
from layoutalg.side.conformance.kernel import Level, arrays_for, first_difference

COUNT = 60


@pytest.mark.parametrize("level", ["workgroup", "anchors", "plain"])
def test_kernels_pass_the_verifiers_and_run(level: Level) -> None:
    for kernel in kernels(1, COUNT, level=level):
        for llvm in (22, 24):
            module = read(kernel.spelled_for(llvm))
            wrong = [finding for finding in module.verify(llvm=llvm) if finding.level == "error"]
            assert not [finding for finding in wrong if "LLVM" in finding.source], (kernel.name, wrong)
        arrays = arrays_for(kernel)
        result = meaning(kernel, arrays)
        assert result.shape == kernel.arguments[-1][1]
        assert (arrays[-1] == 77).all(), "meaning works on copies"


def test_a_seed_gives_the_same_kernels_again_whatever_else_is_generated() -> None:
    everything = {kernel.name: kernel for kernel in kernels(3, 2 * len(operations()))}
    alone = list(kernels(3, 2, only="vector.transpose"))
    assert [everything[kernel.name] for kernel in alone] == alone
    assert made("vector.transpose", "rows", "workgroup", 4) != alone[0]


def test_there_are_whole_kernels_of_every_sort() -> None:
    whole = {"attention", "chain", "gather_sum", "gemm", "gemm_chain", "layer_norm", "softmax"}
    assert whole <= set(operations())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"level": "lane"}, "level lane: expected workgroup or anchors or plain"),
        ({"only": "vector.nothing"}, "no kernels are generated for it"),
    ],
)
def test_what_cannot_be_generated_is_refused_in_words(arguments: dict[str, str], words: str) -> None:
    with pytest.raises(LayoutError) as error:
        list(kernels(0, 1, **arguments))  # pyright: ignore[reportArgumentType]
    assert words.replace("lane", "'lane'") in str(error.value)


def test_the_first_difference_is_the_first_in_row_major_order() -> None:
    kernel = made("math.exp", "rows", "plain", 0)
    result = meaning(kernel, arrays_for(kernel))
    other = result.copy()
    other[1, 2] += 1
    other[3, 0] += 1
    assert first_difference(other, result, 0.0) == ((1, 2), 2)
    assert first_difference(result, result, 0.0) is None
    assert first_difference(other, result, 1e-5) is not None


@pytest.mark.parametrize(
    ("operation", "kind", "level", "words"),
    [
        ("vector.broadcast", "mismatch", "workgroup", {"xegpu.load %p1", "vector.multi_reduction"}),
        ("vector.broadcast", "rows", "anchors", {"xegpu.load %p1", "vector.multi_reduction", "vector.step"}),
        ("xegpu.dpas", "none", "plain", {"arith.trunci", "arith.truncf", "dpas"}),
    ],
)
def test_operands_come_from_more_than_one_operation(operation: str, kind: str, level: Level, words: set[str]) -> None:
    texts = [made(operation, kind, level, 0, number).text for number in range(24)]
    assert {word for word in words if any(word in text for text in texts)} == words
    if kind == "mismatch":  # a compiler may choose another layout for numbers that are counted
        assert all("xegpu.load %p1" in text or "multi_reduction" in text for text in texts)
