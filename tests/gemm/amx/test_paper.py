"""The roofs on paper: each is its level's bytes and clocks, counted by hand here; wrong arguments are refused."""

import pytest

from layoutalg.core.errors import PlanError
from layoutalg.gemm.amx.paper import AmxPaper, amx_paper
from layoutalg.gemm.amx.problem import AmxProblem
from layoutalg.gemm.amx.tiling import AmxTiling, Blocking

PROBLEM = AmxProblem.of(4096, 4096, 4096, target="gnr")
TILING = AmxTiling(Blocking(2, 2), 256, 1024, 1024, "columns", True)


def test_the_roofs_of_one_core_are_those_of_a_calculation_by_hand() -> None:
    roofs = {roof.level: roof for roof in amx_paper(PROBLEM, TILING).roofs}
    operations, tiles = 2 * 4096**3, 256 * 256 * 128
    # a step of 2x2 tiles: 4 loads of 1 KiB and 4 products, so as many loads as products
    assert roofs["L1"].bytes_given == tiles * 1024
    # C is 64 MiB; k is cut into 4: it is stored 4 times and loaded 3 times
    assert roofs["L2"].bytes_given == tiles * 1024 + 7 * 4096 * 4096 * 4
    assert roofs["memory"].bytes_given == 2 * 4096 * 4096 * 2 + 4096 * 4096 * 4
    hertz = 3.9e9
    assert roofs["tile unit"].operations_per_second == pytest.approx(operations / (tiles * 16 / hertz))
    assert roofs["L1"].operations_per_second == pytest.approx(operations / (tiles * 8 / hertz))
    assert roofs["L2"].operations_per_second == pytest.approx(operations / ((tiles + 7 * 65536) * 22 / hertz))


def test_the_bound_is_the_lowest_roof() -> None:
    for sizes in ((4096, 4096, 4096), (64, 4096, 4096), (4096, 64, 4096), (512, 512, 512)):
        for cores in (1, 16, 128):
            paper = amx_paper(AmxProblem.of(*sizes, target="gnr"), cores=cores)
            lowest = min(paper.roofs, key=lambda roof: roof.operations_per_second)
            assert paper.bound == lowest.level
            assert paper.roofline.flops / paper.roofline.seconds <= lowest.operations_per_second * (1 + 1e-9)
            assert str(paper).count("the lowest roof") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("4096",), "problem '4096'"),
        ((PROBLEM, (2, 2)), "tiling (2, 2)"),
        ((PROBLEM, None, 129), "cores = 129: expected a whole number from 1 to 128"),
        ((PROBLEM, TILING, 0), "cores = 0"),
    ],
)
def test_arguments_of_other_types_are_refused(arguments: tuple[object, ...], words: str) -> None:
    with pytest.raises(PlanError) as raised:
        amx_paper(*arguments)  # pyright: ignore[reportArgumentType]
    assert words in str(raised.value)
    with pytest.raises(PlanError):
        AmxPaper("2x2", None)  # pyright: ignore[reportArgumentType]
