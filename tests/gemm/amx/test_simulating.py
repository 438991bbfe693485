"""The emitted module in the simulator equals the stated order of the sums, bit for bit, and mistakes in it are caught."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16
from numpy.typing import NDArray

from layoutalg.core.errors import LayoutError, ParseError, PlanError, SizeError, VerificationError
from layoutalg.gemm.amx import AmxGemm, plan_amx
from layoutalg.gemm.amx.numerics import computed
from layoutalg.gemm.amx.operands import random_operands
from layoutalg.simulate import SimulationError, launch
from tests.gemm.amx.mutating import mutants

Array = NDArray[Any]

TYPES = (("bf16", "bf16"), ("f16", "f16"), ("s8", "s8"), ("s8", "u8"), ("u8", "s8"), ("u8", "u8"))
SIZES = ((16, 16, 64), (64, 96, 128), (100, 60, 200), (13, 10, 33), (1, 1, 1), (512, 512, 512))
STORED: tuple[dict[str, Any], ...] = ({}, {"trans_a": True}, {"trans_b": True})
ALWAYS = {
    *((types, (13, 10, 33), which) for which, types in zip((0, 1, 2, 0, 1, 2), TYPES, strict=True)),
    (("bf16", "bf16"), (1, 1, 1), 1),
    (("s8", "s8"), (1, 1, 1), 2),
    (("f16", "f16"), (100, 60, 200), 0),
    (("u8", "s8"), (64, 96, 128), 0),
    (("s8", "u8"), (16, 16, 64), 2),
    (("bf16", "bf16"), (512, 512, 512), 0),
}
"""What every run tries: each type, size and orientation, not all of them together."""


def products() -> list[Any]:
    """Types, sizes and orientations; those that take long together are for `make exhaustive`."""
    return [
        pytest.param(
            types, size, stored, marks=() if (types, size, which) in ALWAYS else pytest.mark.exhaustive,
            id=f"{'x'.join(map(str, size))} {'x'.join(types)} {next(iter(stored), 'plain')}",
        )
        for size in SIZES
        for types in TYPES
        for which, stored in enumerate(STORED)
    ]  # fmt: skip


def inputs(plan: AmxGemm, seed: int) -> dict[str, Any]:
    """Random arguments; scales that leave most sums of bytes inside of their type."""
    given: dict[str, Any] = dict(random_operands(plan.problem, seed))
    if "scale" in given and plan.problem.c in ("s8", "u8"):
        given["scale"] = given["scale"] / np.float32(64)
    return given


def same_bits(one: Array, other: Array) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


@pytest.mark.parametrize(("types", "size", "stored"), products())
def test_the_module_computes_the_stated_sums(
    types: tuple[str, str], size: tuple[int, int, int], stored: dict[str, Any]
) -> None:
    plan = plan_amx(*size, *types, **stored)
    given = inputs(plan, 15)
    assert same_bits(plan.simulate(**given), computed(plan.problem, **given))


CUTS: tuple[dict[str, Any], ...] = (
    {"blocking": (1, 1), "blocks": (32, 48, 64)},
    {"blocking": (2, 2), "blocks": (32, 64, 64), "order": "rows"},
    {"blocking": (1, 4), "blocks": (48, 64, 96), "pack_a": True},
    {"blocking": (3, 1), "blocks": (96, 32, 160)},
)


@pytest.mark.parametrize("cut", CUTS)
def test_blocks_change_no_bit(cut: dict[str, Any]) -> None:
    """Leading dimensions and the spelling of the dialect do not either."""
    plan = plan_amx(75, 70, 132, lda=136, ldb=72, ldc=81, llvm=22, **cut)
    given = inputs(plan, 1)
    assert same_bits(plan.simulate(**given), computed(plan.problem, **given))


@pytest.mark.parametrize(("types", "k"), [(("bf16", "bf16"), 160), (("bf16", "bf16"), 169), (("u8", "s8"), 330)])
def test_the_last_block_of_k_may_be_smaller(types: tuple[str, str], k: int) -> None:
    """In the loop over blocks of k, where the step does not divide what it covers; and a rest behind it."""
    plan = plan_amx(20, 18, k, *types, blocking=(2, 2), blocks=(32, 32, 2 * (32 if types[0] == "bf16" else 64)))
    given = inputs(plan, 8)
    assert same_bits(plan.simulate(**given), computed(plan.problem, **given))


def test_subnormal_infinite_and_undefined_numbers_go_through() -> None:
    plan = plan_amx(20, 18, 70)
    random = np.random.default_rng(2)
    a, b = (random.integers(0, 2**16, shape).astype(np.uint16).view(bfloat16) for shape in ((20, 70), (70, 18)))
    a[:10] = (random.standard_normal((10, 70)) * 2.0**-64).astype(bfloat16)
    b[:, :9] = (random.standard_normal((70, 9)) * 2.0**-62).astype(bfloat16)
    found, expected = plan.simulate(a, b), computed(plan.problem, a, b)
    assert ((found == expected) | (np.isnan(found) & np.isnan(expected))).all()
    assert np.isnan(expected).any()
    assert np.isfinite(expected).any()


def random_problem(random: Random) -> tuple[tuple[int, int, int], dict[str, Any]]:
    """Sizes and everything else that `plan_amx` takes."""
    m, n, k = (random.choice((random.randint(1, 40), random.randint(1, 140))) for _ in range(3))
    a, b = random.choice(TYPES)
    floats = a in ("bf16", "f16")
    chosen: dict[str, Any] = {
        "a": a,
        "b": b,
        "c": random.choice(("f32", "bf16", "f16") if floats else ("s32", "f32", "s8", "u8")),
    }
    chosen |= {name: random.random() < 0.3 for name in ("trans_a", "trans_b")}
    if random.random() < 0.6:
        chosen |= {"beta": random.choice((0.0, 1.0)), "activation": random.choice((None, "relu"))}
        chosen["bias"] = random.choice((None, "row", "column"))
        if chosen["c"] != "s32":
            chosen |= {"alpha": random.choice((1.0, 0.3, -2.0)), "scale": random.choice((None, "row", "column"))}
            chosen |= {
                "beta": random.choice((0.0, 1.0, 0.7)),
                "activation": random.choice((None, "relu", "silu", "gelu")),
            }
    columns = {"lda": m if chosen["trans_a"] else k, "ldb": k if chosen["trans_b"] else n, "ldc": n}
    chosen |= {name: size + random.choice((0, random.randint(1, 9))) for name, size in columns.items()}
    if random.random() < 0.7:
        rows, across = random.choice(((1, 1), (2, 2), (1, 2), (2, 1), (1, 3), (3, 1), (1, 4), (4, 1), (1, 6)))
        depth = (32 if floats else 64) * random.randint(1, 3)
        chosen["blocking"] = (rows, across)
        chosen["blocks"] = (16 * rows * random.randint(1, 3), 16 * across * random.randint(1, 3), depth)
    chosen |= {"order": random.choice((None, "rows", "columns")), "llvm": random.choice((22, 24))}
    chosen["batch"] = random.choice((1, 1, 1, 2, 3))
    chosen["dynamic_m"] = chosen["batch"] == 1 and not chosen["trans_a"] and random.random() < 0.5
    return (m, n, k), chosen


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in range(1, 20))])
def test_random_problems_compute_the_stated_sums(seed: int) -> None:
    random = Random(seed)
    for _ in range(4 if seed == 0 else 20):
        size, chosen = random_problem(random)
        plan = plan_amx(*size, **chosen)
        if plan.problem.dynamic_m:  # the code of a plan for m rows, against the sums of fewer
            fixed = plan_amx(random.randint(1, size[0]), *size[1:], **chosen | {"dynamic_m": False, "blocks": None})
        else:
            fixed = plan
        given = inputs(fixed, seed)
        assert same_bits(plan.simulate(**given), computed(fixed.problem, **given)), (size, chosen, fixed.problem.m)


WORKERS: tuple[dict[str, Any], ...] = (
    {"blocks": (32, 32, 64)},
    {"blocks": (32, 64, 64), "c": "bf16", "bias": "column", "trans_a": True},
    {"a": "s8", "b": "u8", "c": "s8", "scale": "row", "beta": 1.0, "blocks": (64, 32, 64)},
)


def by_workers(plan: AmxGemm, *, own_scratch: bool = True) -> str:
    """The module with a `@gemm` that runs all cache blocks at once, as worker threads would."""
    text = plan.emit(part="parts")
    heads = dict(re.findall(r"func\.func @(\w+)\((.*)\) \{", text))
    typed = {name: dict(re.findall(r"(%\w+): ([^%]+?)(?:, |$)", types)) for name, types in heads.items()}
    block, inner = typed["gemm_block"], {"%a", "%packed_a", "%packed_b", "%scratch", "%i", "%j"}
    arguments = {"%a": typed.get("gemm_pack_a", block)["%a"], "%b": typed["gemm_pack_b"]["%b"]}
    arguments |= {name: kind for name, kind in block.items() if name not in inner}
    (rows, columns), problem = plan.cache_blocks, plan.problem
    panels = {"a": -(-problem.m // 16), "b": -(-problem.n // 16)}
    lines = [f"%c{n} = arith.constant {n} : index" for n in sorted({0, 1, rows, columns, *panels.values()})]
    for operand, count in panels.items():
        if f"gemm_pack_{operand}" in typed:
            whole, packed = arguments[f"%{operand}"], block[f"%packed_{operand}"]
            lines.append(f"%packed_{operand} = memref.alloc() : {packed}")
            lines.append(
                f"func.call @gemm_pack_{operand}(%{operand}, %packed_{operand}, %c0, %c{count}) : "
                f"({whole}, {packed}, index, index) -> ()"
            )
    loop = f"scf.parallel (%i, %j) = (%c0, %c0) to (%c{rows}, %c{columns}) step (%c1, %c1) {{"
    scratch = [f"%scratch = memref.alloc() : {block['%scratch']}"] if "%scratch" in block else []
    lines += [loop, *scratch] if own_scratch else [*scratch, loop]
    lines.append(f"func.call @gemm_block({', '.join(block)}) : ({', '.join(block.values())}) -> ()")
    head = ", ".join(f"{name}: {kind}" for name, kind in arguments.items())
    body = "\n".join(lines)
    return f"{text[: text.rindex('}')]}func.func @gemm({head}) {{\n{body}\n}}\nreturn\n}}\n}}"


@pytest.mark.parametrize("choices", WORKERS)
def test_cache_blocks_are_independent(choices: dict[str, Any]) -> None:
    """No two blocks touch an element of C; with one scratch for all of them they race, and that is found."""
    plan = plan_amx(75, 70, 136, **choices)
    given = inputs(plan, 5)
    assert same_bits(plan.simulate(**given, text=by_workers(plan)), computed(plan.problem, **given))
    if not plan.problem.direct:
        with pytest.raises(SimulationError, match=r"in the same scf\.parallel|two iterations"):
            plan.simulate(**given, text=by_workers(plan, own_scratch=False))


# Mistakes

KINDS: dict[str, dict[str, Any]] = {
    "bf16 in blocks of k": {"size": (48, 64, 152), "blocking": (1, 2), "blocks": (16, 32, 64)},
    "scaled to bytes": {
        "size": (20, 80, 128), "types": ("u8", "s8"), "c": "s8", "scale": "column", "bias": "row", "blocks": (32, 64, 128),
    },
    "an epilogue": {
        "size": (48, 72, 64), "c": "bf16", "alpha": 0.5, "beta": 2.0, "bias": "column", "activation": "relu",
        "blocks": (32, 32, 64),
    },
    "s8 by u8, A packed": {"size": (40, 72, 150), "types": ("s8", "u8"), "blocking": (1, 2), "blocks": (16, 64, 128)},
    "A transposed": {"size": (48, 40, 100), "trans_a": True, "blocking": (2, 1), "blocks": (32, 16, 64)},
    "scales of both": {
        "size": (72, 88, 200), "types": ("s8", "s8"), "c": "bf16", "scale": "both", "blocking": (1, 2), "blocks": (32, 64, 128),
    },
    "bytes beside bf16": {
        "size": (72, 88, 100), "types": ("bf16", "s8"), "scale": "column", "blocking": (1, 2), "blocks": (32, 64, 64),
    },
    "B transposed": {"size": (36, 80, 136), "types": ("u8", "s8"), "trans_b": True, "blocks": (32, 32, 128)},
}  # fmt: skip
ALWAYS_MUTATED = ("bf16 in blocks of k", "scaled to bytes")
LEAST = 15


def plan_of(kind: str) -> AmxGemm:
    choices = dict(KINDS[kind])
    return plan_amx(*choices.pop("size"), *choices.pop("types", ()), **choices)


def is_caught(plan: AmxGemm, text: str, given: dict[str, Any], expected: Array) -> bool:
    """Whether a changed module is refused or computes something else."""
    try:
        return not same_bits(plan.simulate(**given, text=text), expected)
    except (ParseError, VerificationError):
        raise
    except LayoutError:
        return True


def uncaught(kind: str, most: int) -> list[str]:
    plan = plan_of(kind)
    given, text = inputs(plan, 3), plan.emit()
    expected = computed(plan.problem, **given)
    assert not is_caught(plan, text, given, expected)
    tried = mutants(text, most)
    assert len(tried) >= LEAST
    return [mutant.mistake for mutant in tried if not is_caught(plan, mutant.text, given, expected)]


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=() if kind in ALWAYS_MUTATED else pytest.mark.exhaustive) for kind in KINDS],
)
def test_mistakes_are_caught(kind: str) -> None:
    assert uncaught(kind, LEAST) == []


def test_a_tile_one_row_short_is_caught() -> None:
    """Of A and C: the module is valid, and the last row of every tile is left out."""
    plan = plan_amx(32, 32, 64)
    given, text = inputs(plan, 3), plan.emit()
    short = re.sub(r"tile<16x(16xf32|32xbf16)>", r"tile<15x\1>", text)
    for line in [line for line in short.splitlines() if "tile_load %b[" in line or "tile_load %packed_b[" in line]:
        short = short.replace(line, line.replace("tile<15x32xbf16>", "tile<16x32xbf16>"))
    short = re.sub(
        r"(tile_mulf .* : )(\S+), \S+, (\S+)$", r"\1\2, !x86.amx.tile<16x32xbf16>, \3", short, flags=re.MULTILINE
    )
    with pytest.raises(SimulationError, match="elements of C are not written, the first one at \\[15, 0\\]"):
        plan.simulate(**given, text=short)


@pytest.mark.parametrize("types", [("s8", "u8"), ("u8", "s8")])
def test_a_swapped_sign_combination_is_caught(types: tuple[str, str]) -> None:
    plan = plan_amx(16, 16, 64, *types)
    text, swapped = plan.emit(), r"tile_muli \1 zext, \2," if types[0] == "s8" else r"tile_muli \1, \2 zext,"
    wrong = re.sub(r"tile_muli (\S+?)(?: zext)?, (\S+?)(?: zext)?,", swapped, text)
    assert wrong != text
    given = inputs(plan, 6)
    assert is_caught(plan, wrong, given, computed(plan.problem, **given))


@pytest.mark.parametrize("how", ["packed", "unpacked", "by 4", "by 1"])
def test_only_b_packed_by_2_gives_the_product(how: str) -> None:
    """`--prepacked-b` takes B in panels of 16 columns; rows of words in any other order give another product."""
    plan = plan_amx(32, 32, 64)
    given = inputs(plan, 4)
    b = given["b"]

    def words(panel: Array) -> Array:
        if how == "unpacked":
            return panel
        if how == "by 1":
            return np.ascontiguousarray(panel.T)
        v = 2 if how == "packed" else 4
        return panel.reshape(64 // v, v, 16).swapaxes(1, 2)

    packed = np.stack([words(b[:, first : first + 16]).reshape(32, 32) for first in (0, 16)])
    c = np.zeros((32, 32), np.float32)
    outcome = launch(plan.emit(prepacked_b=True), [given["a"], packed, c], entry="gemm")
    assert outcome.findings == ()
    assert same_bits(c, computed(plan.problem, **given)) == (how == "packed")


# Refusals


def test_what_does_not_fit_the_plan_is_refused_in_words() -> None:
    plan = plan_amx(16, 16, 32)
    a, b = np.ones((16, 32)), np.ones((32, 16))
    with pytest.raises(PlanError, match="A is planned as 16x32, and the array is 16x31"):
        plan.simulate(a[:, 1:], b)
    with pytest.raises(PlanError, match="bias: the plan has none"):
        plan.simulate(a, b, bias=np.ones(16))
    with pytest.raises(LayoutError, match="expected a function named gemm"):
        plan.simulate(a, b, text="func.func @other() { return }")
    with pytest.raises(LayoutError, match="it takes 0 arguments, and was given 3"):
        plan.simulate(a, b, text="func.func @gemm() { return }")
    with pytest.raises(LayoutError, match="text"):
        plan.simulate(a, b, text=7)  # pyright: ignore[reportArgumentType]
    with pytest.raises(SizeError, match="tile products; at most"):
        plan_amx(65536, 65536, 65536).simulate(a, b)


def test_a_module_that_leaves_c_alone_is_refused() -> None:
    plan = plan_amx(4, 4, 8)
    text = "func.func @gemm(%a: memref<4x8xbf16>, %b: memref<8x4xbf16>, %c: memref<4x4xf32>) { return }"
    with pytest.raises(SimulationError, match=r"16 elements of C are not written, the first one at \[0, 0\]"):
        plan.simulate(np.ones((4, 8)), np.ones((8, 4)), text=text)
