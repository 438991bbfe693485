"""Emitted kernels, simulated: the same bits as the stated model, and what the plan says they execute.

Padding holds NaN or a number that is seen, C too before the launch, and the simulator refuses what is outside of a buffer; so
the same bits also say that nothing outside of the matrices is read and nothing of C is left out.
"""

from collections import Counter
from random import Random

import numpy as np
import pytest

import layoutalg as la
from layoutalg.core.errors import PlanError, SizeError
from layoutalg.gemm.counting import counted
from layoutalg.gemm.numerics import computed
from layoutalg.gemm.run import execute
from layoutalg.simulate.lines import LINE

TYPES = (("f16", "f16"), ("bf16", "bf16"), ("s8", "s8"), ("u8", "u8"), ("s8", "u8"), ("u8", "s8"), ("tf32", "tf32"))
STORED = ({}, {"trans_b": True}, {"trans_a": True})
SHAPES = ((64, 64, 64), (256, 512, 128), (40, 80, 160), (1000, 1000, 1000), (8, 4096, 64), (4096, 8, 512))
BYTES = {"f16": 2, "bf16": 2, "s8": 1, "u8": 1, "tf32": 4}


def addressable(m, n, k, a, trans_a=False, trans_b=False, **rest):
    """The arguments of a plan whose rows have the 64 bytes, and are the multiples of 16 bytes apart, that messages need.

    Sizes grow where rows are too short: that is what the plan's error offers.
    """
    size = BYTES[a]
    least = 64 // size
    n = max(n, 16, 0 if trans_b else least)
    m, k = (max(m, least), k) if trans_a else (m, max(k, least))
    k = max(k, least) if trans_b else k
    up = lambda number: -(-number * size // 16) * 16 // size  # noqa: E731
    pitches = {"lda": up(m if trans_a else k), "ldb": up(k if trans_b else n), "ldc": -(-n // 4) * 4}
    return (m, n, k, a), {"trans_a": trans_a, "trans_b": trans_b, **pitches, **rest}


def values(rng, shape, kind):
    if kind in ("s8", "u8"):
        return rng.integers(-128, 128, shape) if kind == "s8" else rng.integers(0, 256, shape)
    return rng.standard_normal(shape)


def operands(gemm, seed=0):
    """A, B, C and the bias, as far as the problem has them; arrays as they lie in memory."""
    rng, problem = np.random.default_rng(seed), gemm.problem
    batch = (problem.batch,) if problem.batch > 1 else ()
    of_a, of_b, of_c = ((*batch, matrix.rows, matrix.columns) for matrix in gemm.matrices)
    a, b = values(rng, of_a, problem.a), values(rng, of_b, problem.b)
    whole = problem.c == "s32"
    c = (rng.integers(-99, 99, of_c) if whole else rng.standard_normal(of_c)) if problem.beta else None
    count = {"row": problem.m, "column": problem.n}.get(problem.bias or "", 0)
    bias = (rng.integers(-99, 99, count) if whole else rng.standard_normal(count)) if count else None
    return a, b, c, bias


def bits(array):
    return array.view(f"u{array.itemsize}")


def check(gemm, counted=None, level="lane"):
    """Run a plan's kernel; the result has the model's bits. Returns what it executed."""
    arrays = operands(gemm)
    found, executed = execute(gemm, *arrays, counted=counted, level=level)
    assert np.array_equal(bits(found), bits(computed(gemm.problem, *arrays)))
    return executed


def quick(shape, a, b, stored):
    """A few of all: every type in one small ragged shape, and one type in every other shape."""
    return shape == (40, 80, 160) or ((a, b) == ("f16", "f16") and shape != (1000, 1000, 1000) and not stored)


EVERYTHING = [
    pytest.param(shape, a, b, stored, id=f"{'x'.join(map(str, shape))}-{a}-{b}{''.join(f'-{name}' for name in stored)}",
                 marks=[] if quick(shape, a, b, stored) else pytest.mark.exhaustive)
    for shape in SHAPES for a, b in TYPES for stored in STORED
]  # fmt: skip


@pytest.mark.parametrize(("shape", "a", "b", "stored"), EVERYTHING)
def test_kernels_have_the_bits_of_the_model(shape, a, b, stored):
    sizes, options = addressable(*shape, a, **stored)
    gemm = la.plan_gemm(*sizes, b, **options)
    executed = check(gemm, counted="lines" if gemm.tiling.prefetch != "none" else "messages")
    assert executed.dpas == gemm.dpas_total
    if executed.lines is not None:
        lines = executed.lines
        missing = [lines.describe(int(line) * LINE) for line in lines.not_prefetched(1).line]
        if gemm.tiling.transpose == "slm":  # a workgroup loads each line of A once, a step before it is used
            missing = [place for place in missing if "buffer A" not in place]
        assert (len(lines.asked_twice), len(lines.late), missing) == (0, 0, [])


@pytest.mark.parametrize(
    "options",
    [
        {"alpha": 0.3, "beta": 0.7, "bias": "row"},
        {"beta": 1, "bias": "column", "activation": "gelu", "c": "f16"},
        {"activation": "silu", "c": "bf16", "bias": "row"},
        {"a": "f16", "acc": "f16", "beta": -2},
        {"a": "bf16", "acc": "bf16", "activation": "relu"},
        {"a": "s8", "b": "u8", "bias": "row", "beta": 1, "activation": "relu"},
        {"a": "u8", "c": "f32", "alpha": 0.01, "bias": "column"},
        {"batch": 3, "bias": "column", "beta": 1},
    ],
    ids=lambda options: "-".join(f"{name}={value}" for name, value in options.items()),
)
def test_epilogues_and_batches_have_the_bits_of_the_model(options):
    sizes, options = addressable(40, 80, 160, **{"a": "f16", **options})
    check(la.plan_gemm(*sizes, **options))


def random_plan(random):
    """A plan of a random problem with random choices; those that cannot be are drawn again."""
    while True:
        a, b = random.choice(TYPES)
        sizes = (random.randint(1, 160), random.randint(1, 200), random.randint(1, 300))
        stored = random.choice(STORED)
        choices = {"batch": random.choice((1, 1, 1, 2)), "prefetch": random.choice(("none", "shared", "lines"))}
        arguments, options = addressable(*sizes, a, **choices, **stored)
        if random.random() < 0.6:
            options |= {"tile": (random.choice((8, 16, 32)), random.choice((16, 32, 64))),
                        "subgroups": random.choice(((1, 1), (2, 2), (1, 4), (4, 2), (8, 4))),
                        "k_step": random.choice((32, 64)), "registers": 256, "distance": random.choice((1, 2, 3))}  # fmt: skip
        try:
            return la.plan_gemm(*arguments, b, **options)
        except PlanError:
            continue


@pytest.mark.parametrize("seed", [pytest.param(i, marks=[] if i < 12 else pytest.mark.exhaustive) for i in range(200)])
def test_the_plan_counts_what_is_executed(seed):
    gemm = random_plan(Random(seed))
    executed = check(gemm, counted="messages")
    step = counted(gemm.problem, gemm.tiling, gemm.llvm)
    steps, stored = gemm.k_steps * gemm.subgroups_total, gemm.blocks[0] * gemm.blocks[1] * gemm.subgroups_total
    assert executed.dpas == gemm.dpas_total == step.dpas * steps
    loads = executed.total("load")
    if gemm.tiling.transpose == "slm":  # each share of A, and operands from shared memory, are no messages of the plan
        assert loads.messages == step.loads * steps
        return
    assert (loads.messages, loads.bytes) == (step.loads * steps, gemm.bytes_per_step * steps)
    names = Counter(message.load.name for message in gemm.messages)
    reads = {name: found.messages for name, found in executed.by_name.items() if name.startswith("read")}
    assert reads == {name: count * steps for name, count in names.items()}
    # Every step but the first is asked for in advance. In the form of lines, subgroups all of whose lanes would ask for what is
    # outside of the matrices are masked, and send nothing.
    sent, planned = executed.total("prefetch").messages, step.prefetches * (steps - gemm.subgroups_total)
    assert sent <= planned if gemm.tiling.prefetch == "lines" else sent == planned
    rows = gemm.dpas.m if "C" in gemm.problem.edges else 1  # lanes store a row at a time
    assert executed.total("store").messages == stored * rows
    # Of C exactly its elements are written.
    problem = gemm.problem
    assert executed.total("store").inside == problem.m * problem.n * problem.batch * 4
    assert (executed.products == executed.products[0, 0]).all(), "every subgroup executes the same"


def test_what_plans_promise_holds_for_matrices_of_other_shapes_too():
    """One kernel serves every size: what is planned for 512x512x512 multiplies 40x80x160."""
    text = la.plan_gemm(512, 512, 512, tile=(32, 32), subgroups=(2, 2), k_step=32).emit()
    gemm = la.plan_gemm(40, 80, 160, tile=(32, 32), subgroups=(2, 2), k_step=32)
    arrays = operands(gemm)
    assert np.array_equal(execute(gemm, *arrays, text=text)[0], computed(gemm.problem, *arrays))


def test_kernels_that_read_or_write_beside_their_matrices_are_found_out():
    gemm = la.plan_gemm(40, 80, 152, lda=176, ldc=96, tile=(32, 32), subgroups=(1, 1), k_step=32, prefetch="none")
    text = gemm.emit()
    arrays = operands(gemm)
    expected = computed(gemm.problem, *arrays)

    def wider(matrix, columns, pitch):
        """The kernel with a matrix whose rows have no padding."""
        shape = f"shape : [%size_{matrix}, %size_{{}}], strides : [%size_{pitch}"
        assert shape.format(columns) in text
        return text.replace(shape.format(columns), shape.format(pitch))

    # What is right of A's columns meets zeros below B's rows; NaN times zero is NaN.
    assert np.isnan(execute(gemm, *arrays, text=wider("m", "k", "lda"))[0]).any()
    with pytest.raises(la.LayoutError, match="which is padding"):
        execute(gemm, *arrays, text=wider("m", "n", "ldc"))
    assert np.array_equal(execute(gemm, *arrays, text=text)[0], expected)


def test_arrays_that_are_not_what_is_planned_are_refused_in_words():
    gemm = la.plan_gemm(64, 64, 64, "s8", "u8", bias="row", batch=2)
    a, b, bias = np.zeros((2, 64, 64)), np.zeros((2, 64, 64)), np.zeros(64)
    for arrays, said in (
        ((a[0], b, None, bias), "A is planned as 2x64x64, and the array is 64x64"),
        ((a - 129, b, None, bias), "A has the value -129.0, which s8 cannot hold"),
        ((a, b - 1, None, bias), "B has the value -1.0, which u8 cannot hold"),
        ((a + 0.5, b, None, bias), "A has the value 0.5, which s8 cannot hold"),
        ((a, b, None, bias[:5]), "bias is planned as 64, and the array is 5"),
        ((a, b, None, None), "bias: the plan adds one for every row of C"),
        ((a, b, a, bias), "c: beta = 0, so C is not read; leave it out"),
        ((a, b + np.nan, None, bias), "B has the value nan, which u8 cannot hold"),
    ):
        with pytest.raises(PlanError) as problem:
            gemm.simulate(*arrays)
        assert said in str(problem.value)
    with pytest.raises(SizeError, match="2048 x A is 512x512 f16: 1073741824 bytes; at most 134217728 are simulated"):
        la.plan_gemm(512, 512, 512, batch=2048).simulate(a, b)


@pytest.mark.parametrize("level", ["subgroup", "workgroup"])
@pytest.mark.parametrize("options", [{}, {"trans_b": True, "beta": 1}, {"trans_a": True, "bias": "row", "activation": "relu"}],
                         ids=["plain", "trans_b", "trans_a"])  # fmt: skip
def test_kernels_of_every_level_have_the_bits_of_the_model(level, options):
    sizes, options = addressable(40, 80, 160, "f16", tile=(16, 32), subgroups=(2, 2), k_step=32, **options)
    gemm = la.plan_gemm(*sizes, **options)
    assert check(gemm, counted="messages", level=level).dpas == gemm.dpas_total


def test_a_wrong_prefetch_changes_no_result_and_is_said():
    gemm = la.plan_gemm(64, 64, 256, tile=(32, 32), subgroups=(2, 2), k_step=32, registers=256, prefetch="shared")
    text, arrays = gemm.emit(), operands(gemm)
    expected = computed(gemm.problem, *arrays)
    right = next(line for line in text.splitlines() if "xegpu.prefetch_nd" in line)
    place = right[right.index("[") : right.index("]") + 1]
    row, column = place.strip("[]").split(", ")
    wrong = {
        "nothing is asked for": "",
        "the place's row and column are swapped": right.replace(place, f"[{column}, {row}]"),
        "everything is asked for twice": f"{right}\n{right}",
        "rows and columns of another step": right.replace(place, f"[{column}, {column}]"),
    }
    rules = {}
    for name, line in {"as planned": right, **wrong}.items():
        found, executed = execute(gemm, *arrays, text=text.replace(right, line), counted="lines")
        assert np.array_equal(found, expected)
        rules[name] = {finding.rule for finding in executed.lines.findings(1)}
    assert rules.pop("as planned") == set()
    assert rules["nothing is asked for"] == {"prefetch.missing"}
    assert "prefetch.twice" in rules["everything is asked for twice"]
    assert all(rules.values())
