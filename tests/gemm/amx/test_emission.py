"""What stands in the emitted AMX modules: tiles that fit, registers that suffice, every element of C computed once.

The texts of 500 random problems are walked by a reader that shares nothing with the library (`walking.py`).
"""

from __future__ import annotations

import random
import re
from collections import Counter

import numpy as np
import pytest
from ml_dtypes import bfloat16

from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.errors import PlanError
from layoutalg.gemm.amx import AmxGemm, plan_amx
from layoutalg.gemm.amx.emission.exponential import exponential
from layoutalg.gemm.amx.emission.packing import pack_a_function, pack_b_function
from layoutalg.gemm.amx.tiling import BLOCKINGS
from layoutalg.gemm.emission.function import FunctionWriter
from layoutalg.ir import read_module, write_module
from layoutalg.ir.verify import verify_module
from layoutalg.simulate import launch
from tests.gemm.amx.walking import TILE_TYPE, Walk, functions, most_live, most_registers

BYTES = {"f32": 4, "i32": 4, "bf16": 2, "f16": 2, "i8": 1}


def random_plan(seed: int) -> AmxGemm:
    """A problem with random types, sizes, storage, epilogue and tiling."""
    drawn = random.Random(seed)
    a = drawn.choice(("bf16", "f16", "s8", "u8"))
    b = drawn.choice(("s8", "u8")) if a[1:] == "8" else a
    c = drawn.choice(("s32", "f32", "s8", "u8") if a[1:] == "8" else ("f32", "bf16", "f16"))
    m, n = (drawn.choice((1, 5, 13, 16, 17, 32, 33, 48, 60, 64, 100, 130)) for _ in "mn")
    k = drawn.choice((1, 2, 7, 30, 33, 64, 65, 100, 128, 170, 200))
    trans_a, trans_b = drawn.random() < 0.4, drawn.random() < 0.4
    blocking = drawn.choice(BLOCKINGS)
    blocks = None
    if drawn.random() < 0.6:
        down, across = (drawn.choice((1, 2, 3)) for _ in "mn")
        blocks = (16 * blocking.rows * down, 16 * blocking.columns * across, 64 * drawn.choice((1, 2)))
    computes, wide = drawn.random() < 0.6, drawn.random() < 0.5
    whole = c == "s32"
    return plan_amx(
        m, n, k, a, b, c,
        trans_a=trans_a,
        trans_b=trans_b,
        alpha=0.375 if computes and not whole and drawn.random() < 0.5 else 1.0,
        beta=drawn.choice((0, 1, 1 if whole else 0.5)) if computes else 0.0,
        bias=drawn.choice((None, "row", "column")) if computes else None,
        scale=drawn.choice((None, "row", "column")) if computes and not whole else None,
        activation=drawn.choice((None, "relu") if whole else (None, "relu", "gelu", "silu")) if computes else None,
        lda=(m if trans_a else k) + drawn.choice((0, 1, 4)) if wide else None,
        ldb=(k if trans_b else n) + drawn.choice((0, 3)) if wide else None,
        ldc=n + drawn.choice((0, 5)) if wide else None,
        blocking=(blocking.rows, blocking.columns),
        blocks=blocks,
        order=drawn.choice(("rows", "columns")),
        pack_a=True if drawn.random() < 0.3 else None,
        llvm=drawn.choice((22, 23, 24)),
    )  # fmt: skip


@pytest.mark.parametrize("seeds", [range(first, first + 50) for first in range(0, 500, 50)], ids=str)
def test_tiles_fit_and_every_product_is_made_once(seeds: range) -> None:
    for seed in seeds:
        plan = random_plan(seed)
        check(plan, plan.emit(part=("whole", "parts")[seed % 2], prepacked_b=seed % 3 == 0))


def check(plan: AmxGemm, text: str) -> None:
    """The laws of an emitted module."""
    problem, said = plan.problem, str(plan.problem)
    for rows, columns, element in set(TILE_TYPE.findall(text)):
        assert 1 <= int(rows) <= 16, said
        assert 4 <= int(columns) * BYTES[element] <= 64, said
        assert int(columns) * BYTES[element] % 4 == 0, said
    walk = Walk(text, problem.m, problem.n, problem.vnni)
    for name, function in walk.functions.items():
        if not function.has_tiles:
            continue
        assert name.startswith("gemm_tiles_"), said
        counts = Counter(line.name.rpartition(".")[2] for line in function.lines())
        assert not counts["call"], "a call beside tiles"
        assert most_live(function) <= most_registers(function) <= 8, (said, name)
        begun = "tile_load" if "_more" in name else "tile_zero"
        before = [line for line in function.body[-2].body if line.name.endswith(begun)]
        zeros = [line for line in function.lines() if line.name.endswith("tile_zero")]
        carried = {result for line in (before if begun == "tile_zero" else []) for result in line.results}
        assert counts["tile_zero"] == len(zeros) == len(carried), (said, name)
        assert begun == "tile_load" or counts["tile_zero"] == counts["tile_store"], "one zero for each accumulator"
        uses = Counter(operand for line in function.lines() for operand in set(line.operands))
        assert all(uses[zero] == 1 for zero in carried), "a shared zero"
    down, across = plan.cache_blocks
    for i in range(down):
        for j in range(across):
            walk.block(i, j)
    assert (walk.depth_of == problem.k_padded).all(), said
    parts = {(first, last) for _, first, last in walk.parts}
    assert sum(last - first for first, last in parts) == problem.k_padded, said
    assert (walk.stored == len(parts)).all(), said


def test_a_walk_catches_what_is_wrong() -> None:
    """A dropped product, a dropped store, a shared zero, a tile one row short, a step too many and a wrong word of B."""
    plan = plan_amx(64, 64, 128, blocking=(2, 2), blocks=(64, 64, 64), pack_a=False)
    text = plan.emit()
    check(plan, text)
    lines = text.splitlines()
    product = next(line for line in lines if "tile_mulf" in line)
    made, total = re.findall(r"%\w+", product)[0], re.findall(r"%\w+", product)[-1]
    store = next(line for line in lines if "tile_store" in line)
    wrong = {
        "product": text.replace(product + "\n", "", 1).replace(f"yield {made},", f"yield {total},", 1),
        "store": text.replace(store + "\n", "", 1),
        "zero": text.replace("%before_1 = %zero_1,", "%before_1 = %zero,", 1),
        "row": re.sub(r"tile<16x(16xf32|32xbf16>\n)", r"tile<15x\1", text),
        "step": text.replace("scf.for %k = %k0 to %k1 step %c32", "scf.for %k = %k0 to %k1 step %c16", 1),
        "word": re.sub(r"(arith\.divui %k, )%c2", r"\1%c16", text, count=1),
    }  # fmt: skip
    for name, other in wrong.items():
        assert other != text, name
        with pytest.raises(AssertionError):
            check(plan, other)


def test_counting_registers_by_hand() -> None:
    """2x2 tiles: 4 sums, 2 tiles held, 1 that passes; where those that pass have two shapes, they take a register each."""
    text = plan_amx(32, 32, 64, blocking=(2, 2)).emit()
    function = functions(text)["gemm_tiles_32x32"]
    assert (most_live(function), most_registers(function)) == (7, 7)
    function = functions(plan_amx(28, 28, 64, blocking=(2, 2)).emit())["gemm_tiles_28x28"]
    assert (most_live(function), most_registers(function)) == (7, 8)


@pytest.mark.parametrize("llvm", [22, 24])
@pytest.mark.parametrize(
    "options",
    [
        {"a": "bf16"},
        {"a": "s8", "b": "u8", "c": "u8", "scale": "column", "bias": "row", "activation": "relu"},
        {"a": "f16", "c": "bf16", "trans_a": True, "beta": 0.5, "activation": "gelu"},
        {"a": "u8", "trans_b": True, "bias": "column", "c": "s32", "blocks": (64, 32, 64), "blocking": (2, 1)},
    ],
    ids=str,
)
def test_our_own_reader_takes_the_module(options: dict[str, object], llvm: int) -> None:
    text = plan_amx(37, 20, 39, llvm=llvm, **options).emit()  # pyright: ignore[reportArgumentType]
    module = read_module(text)
    assert verify_module(module, llvm=llvm) == ()
    written = write_module(module, llvm=llvm)
    assert write_module(read_module(written), llvm=llvm) == written
    # Numbers that f32 rounds are written with more digits than xDSL's printer writes.
    assert re.sub(r"dense<[\w.+-]+>", "", written) == re.sub(r"dense<[\w.+-]+>", "", text)


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(0, 500, 20))
def test_our_own_reader_takes_500_modules(first: int) -> None:
    for seed in range(first, first + 20):
        plan = random_plan(seed)
        assert verify_module(read_module(plan.emit()), llvm=plan.llvm) == (), str(plan.problem)


def test_what_the_functions_are_called_and_take() -> None:
    plan = plan_amx(100, 60, 200, "s8", c="s8", trans_a=True, bias="column", scale="row", blocking=(2, 2))
    found = functions(plan.emit())
    assert [name for name, function in found.items() if not function.private] == [
        "gemm_pack_a", "gemm_pack_b", "gemm_block", "gemm",
    ]  # fmt: skip
    assert list(found["gemm"].arguments) == ["%a", "%b", "%c", "%bias", "%scale"]
    assert list(found["gemm_block"].arguments) == [
        "%packed_a", "%packed_b", "%c", "%scratch", "%bias", "%scale", "%i", "%j",
    ]  # fmt: skip
    assert found["gemm"].arguments["%b"] == "memref<200x60xi8>"
    prepacked = functions(plan.emit(prepacked_b=True))
    assert prepacked["gemm"].arguments["%b"] == "memref<4x50x64xi8>"
    assert "gemm" not in functions(plan.emit(part="parts"))


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(
    ("kind", "rows", "columns"), [("bf16", 35, 20), ("u8", 67, 32), ("s8", 130, 7), ("f16", 64, 16)]
)
def test_packing_puts_elements_where_the_tiles_expect_them(
    kind: str, rows: int, columns: int, transposed: bool
) -> None:
    """B of rows x columns, and A of columns x rows, against the two formulas of the packed buffers; the rest is zeros."""
    plan = plan_amx(columns, columns, rows, kind, trans_a=transposed, trans_b=transposed, pack_a=True)
    v, depth = plan.problem.vnni, plan.problem.depth
    matrix = np.random.default_rng(rows).integers(1, 255, (rows, columns)).astype(np.uint8 if v == 4 else np.uint16)
    k, n = np.indices(matrix.shape)
    of_b = np.zeros(plan.packed_b_shape, matrix.dtype)
    of_b[n // 16, k // v, n % 16 * v + k % v] = matrix
    assert plan.packed_a_shape is not None
    of_a = np.zeros(plan.packed_a_shape, matrix.dtype)
    of_a[n // 16, k // depth, n % 16, k % depth] = matrix
    held = np.int8 if v == 4 else {"bf16": bfloat16, "f16": np.float16}[kind]
    for text, name, wanted, stored in (
        (pack_b_function(plan), "gemm_pack_b", of_b, matrix.T if transposed else matrix),
        (pack_a_function(plan), "gemm_pack_a", of_a, matrix if transposed else matrix.T),
    ):
        packed = np.full(wanted.shape, 0x5A, matrix.dtype).view(held)
        given = np.ascontiguousarray(stored).view(held)
        outcome = launch(f"builtin.module {{\n{text}\n}}", [given, packed, 0, wanted.shape[0]], entry=name)
        assert not outcome.findings
        assert np.array_equal(packed.view(matrix.dtype), wanted)


def test_exp_is_off_by_less_than_a_unit_of_the_last_place() -> None:
    """Against f64, over all of its range; infinite where f32 ends, NaN for NaN."""
    count = 1 << 14
    function = FunctionWriter(
        (buffer := Value(f"memref<{count}xf32>", name="buffer"), place := Value("index", name="i"))
    )
    loaded = Value("f32", 16, "x")
    form = f"vector.load %s[%s] : {buffer.kind}, {loaded.kind}"
    function.writer.values(form, (buffer, place), (loaded,))
    made = exponential(function, loaded)
    function.writer.do(f"vector.store %s, %s[%s] : {buffer.kind}, {loaded.kind}", (made, buffer, place))
    text = f"""func.func @f(%buffer: {buffer.kind}) {{
      %first = arith.constant 0 : index
      %last = arith.constant {count} : index
      %by = arith.constant 16 : index
      scf.parallel (%i) = (%first) to (%last) step (%by) {{
{function.writer.text("        ")}
        scf.reduce
      }}
      return
    }}"""
    x = np.linspace(-86, 89.5, count, dtype=np.float32)
    x[:3] = np.nan, 0, 1
    found = x.copy()
    assert not launch(text, [found], entry="f").findings
    with np.errstate(over="ignore"):
        want = np.exp(x.astype(np.float64))
        nearest = want.astype(np.float32)
    assert np.array_equal(np.isinf(found), np.isinf(nearest))
    assert np.isnan(found[0])
    assert found[1] == 1
    finite = np.isfinite(nearest)
    off = np.abs(found[finite] - want[finite]) / np.spacing(nearest[finite]).astype(np.float64)
    assert off.max() < 1


def test_other_parts_and_versions_are_refused_in_words() -> None:
    plan = plan_amx(64, 64, 64)
    with pytest.raises(PlanError, match="part"):
        plan.emit(part="half")
    with pytest.raises(PlanError, match="llvm = 21"):
        plan.emit(21)
    with pytest.raises(PlanError, match="prepacked_b"):
        plan.emit(prepacked_b="yes")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("order", "outer", "inner"), [("columns", "j", "i"), ("rows", "i", "j")])
@pytest.mark.parametrize("c", ["f32", "bf16"])
def test_blocks_go_down_a_column_first_or_along_a_row(order: str, outer: str, inner: str, c: str) -> None:
    """Register blocks and cache blocks alike; i counts rows. No sum depends on it, so no result shows it."""
    plan = plan_amx(70, 90, 80, c=c, blocking=(2, 1), blocks=(32, 48, 32), order=order)
    found = functions(plan.emit())
    for name, function in found.items():
        if name.startswith("gemm_tiles"):
            [loop] = [line for line in function.body if line.name == "scf.parallel"]
            assert loop.text.startswith(f"scf.parallel (%{outer}, %{inner}) = (%{outer}0, %{inner}0)"), name
    [loop] = [line for line in found["gemm"].body if line.name == "scf.for"]
    assert loop.text.startswith(f"scf.for %{outer} =")
    assert loop.body[0].text.startswith(f"scf.for %{inner} =")
