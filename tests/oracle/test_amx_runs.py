"""Planned products, compiled by LLVM and run on this CPU: with AMX where it has it, else with soft tiles and scalar loops."""

from __future__ import annotations

import sys
from itertools import product as combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutalg.core.errors import PlanError
from layoutalg.gemm.amx import AmxGemm, compiling, plan_amx, processor
from layoutalg.gemm.amx.compiling import link, machine_code
from layoutalg.gemm.amx.numerics import computed
from layoutalg.gemm.amx.operands import Buffer, Operands, random_operands
from layoutalg.gemm.amx.processor import cpu_flags
from layoutalg.gemm.amx.running import Loaded, loaded
from tests.oracle.amx_code import in_hardware_order, joined, native, require_llvm
from tests.oracle.toolchains import run

KINDS = (("bf16", "bf16"), ("f16", "f16"), ("s8", "s8"), ("s8", "u8"), ("u8", "s8"), ("u8", "u8"))
STORED: tuple[dict[str, Any], ...] = ({}, {"trans_a": True}, {"trans_b": True})
SMALL = ((16, 16, 64), (64, 96, 128), (100, 60, 200), (13, 10, 33), (1, 1, 1))
LARGE = (512, 512, 512)

Array = NDArray[Any]


def matrices(plan: AmxGemm, given: dict[str, Array]) -> tuple[Array, Array]:
    """A [m, k] and B [k, n], whichever way they are stored."""
    problem = plan.problem
    return given["a"].T if problem.trans_a else given["a"], given["b"].T if problem.trans_b else given["b"]


def check(plan: AmxGemm, given: dict[str, Array], found: Array, how: str) -> None:
    """Against numpy: integers exactly; floats within 1e-5 of float64, relative to the sum of the products' sizes.

    Soft tiles and the CPU's have the bits of the manual's order too.
    """
    a, b = matrices(plan, given)
    what = (str(plan), how)
    if plan.problem.acc == "s32":
        exact = (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32)
        assert np.array_equal(found, exact), what
        return
    wide = [x.astype(np.float64) for x in (a, b)]
    assert (np.abs(found - wide[0] @ wide[1]) <= 1e-5 * (np.abs(wide[0]) @ np.abs(wide[1]))).all(), what
    if how != "scalar" and plan.problem.m <= 128:
        assert found.tobytes() == in_hardware_order(a, b, plan.problem.depth).tobytes(), what


def run_all(plans: dict[str, AmxGemm], how: str, llvm: int) -> None:
    """Compile the plans as one module and check each; plans that this CPU cannot run this way are left out."""
    chosen = {
        name: plan
        for name, plan in plans.items()
        if (how != "amx" or native(plan.problem)) and (how != "scalar" or plan.problem.a != "f16")
    }
    if not chosen:
        return
    library = loaded(joined({name: plan.emit(llvm) for name, plan in chosen.items()}), llvm, how)
    for seed, (name, plan) in enumerate(chosen.items()):
        given = random_operands(plan.problem, seed)
        operands = Operands.of(plan, **given)
        library.call(f"{name}_gemm", [buffer.address for buffer in operands.buffers])
        check(plan, given, operands.result(), how)


def every(sizes: tuple[tuple[int, int, int], ...]) -> dict[str, AmxGemm]:
    """Every type, every way to store, at these sizes."""
    cases = combinations(sizes, KINDS, STORED)
    return {f"p{i}": plan_amx(*size, *kinds, **stored) for i, (size, kinds, stored) in enumerate(cases)}


@pytest.mark.parametrize(("how", "llvm"), [("amx", 24), ("soft", 24), ("scalar", 22)])
def test_every_type_and_storage_at_a_size_in_turn(how: str, llvm: int) -> None:
    require_llvm(llvm)
    cases = enumerate(combinations(KINDS, STORED))
    # Sizes take turns, so that every storage meets odd ones; scalar loops are slow, and take the small ones.
    sizes = SMALL[3:] if how == "scalar" else SMALL
    run_all({f"p{i}": plan_amx(*sizes[i % len(sizes)], *kinds, **stored) for i, (kinds, stored) in cases}, how, llvm)


@pytest.mark.exhaustive
@pytest.mark.parametrize("llvm", [22, 23, 24])
@pytest.mark.parametrize("how", ["amx", "soft", "scalar"])
def test_every_type_and_storage_at_every_size(how: str, llvm: int) -> None:
    require_llvm(llvm)
    run_all(every(SMALL), how, llvm)


@pytest.mark.exhaustive
@pytest.mark.parametrize("how", ["amx", "soft"])
def test_every_type_and_storage_at_512(how: str) -> None:
    require_llvm(24)
    run_all(every((LARGE,)), how, 24)


def test_a_run_says_how_and_how_long_and_scalar_loops_agree_to_1e_5() -> None:
    require_llvm(24)
    plan = plan_amx(40, 48, 64)
    given = random_operands(plan.problem, 1)
    for how in ("soft", "scalar", *(["amx"] if native(plan.problem) else [])):
        run = plan.run(**given, how=how)
        assert run.how == how
        assert 0 < run.seconds < 10
        check(plan, given, run.c, how)
    chosen = plan.run(**given)
    assert chosen.how == ("amx" if native(plan.problem) else "soft")
    assert ("AMX instructions" in repr(chosen)) == native(plan.problem)


EPILOGUES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("bf16", {"c": "bf16", "alpha": 0.5, "beta": -0.75, "bias": "row", "activation": "relu", "ldc": 50}),
    ("f16", {"c": "f16", "scale": "column", "bias": "column", "trans_b": True}),
    ("s8", {"b": "u8", "c": "s8", "scale": "column", "bias": "row", "activation": "relu"}),
    ("u8", {"c": "u8", "scale": "row", "alpha": 2.0, "lda": 70}),
    ("s8", {"c": "s32", "beta": 1, "bias": "column", "trans_a": True}),
    ("s8", {"c": "bf16", "scale": "both", "bias": "column", "activation": "silu"}),
    ("bf16", {"b": "s8", "scale": "column", "prefetch_b": 1}),
    ("f16", {"b": "u8", "c": "f16", "scale": "row", "trans_b": True}),
)


@pytest.mark.parametrize("how", [pytest.param("amx", marks=pytest.mark.exhaustive), "soft"])
def test_the_epilogue_has_the_bits_of_the_model(how: str) -> None:
    require_llvm(24)
    plans = {f"p{i}": plan_amx(37, 43, 66, a, **given) for i, (a, given) in enumerate(EPILOGUES)}
    plans = {name: plan for name, plan in plans.items() if how == "soft" or native(plan.problem)}
    if not plans:
        return
    library = loaded(joined({name: plan.emit(24) for name, plan in plans.items()}), 24, how)
    for name, plan in plans.items():
        given = random_operands(plan.problem, 3)
        operands = Operands.of(plan, **given)
        library.call(f"{name}_gemm", [buffer.address for buffer in operands.buffers])
        found, expected = operands.result(), computed(plan.problem, **given)
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes(), str(plan)


def test_denormal_numbers_and_cancelling_sums_are_the_same_bits_in_soft_tiles_and_on_the_cpu() -> None:
    require_llvm(24)
    plan = plan_amx(16, 16, 64)
    rng = np.random.default_rng(5)
    given = random_operands(plan.problem, 1)
    for name in ("a", "b"):
        exponents = rng.choice([-126, -70, -63, -10, 0, 20], given[name].shape)
        given[name] = (given[name].astype(np.float64) * 2.0**exponents).astype(given[name].dtype)
    # Large products hide small ones: here all of a sum are around 2^-126, and there one factor is subnormal.
    given["a"][:4], given["b"][:, :8] = (
        (rng.standard_normal(shape) * 2.0**-64).astype(given["a"].dtype) for shape in ((4, 64), (64, 8))
    )
    given["a"][4:8] = 2.0**-130
    given["b"][:, 8:12] = 2.0**100
    flushed = in_hardware_order(given["a"], given["b"], 32)
    assert (flushed[4:8, 8:12] == 0).all()
    assert 0 < (flushed[:4, :8] == 0).sum() < 32
    soft = plan.run(**given, how="soft").c
    assert soft.tobytes() == in_hardware_order(given["a"], given["b"], 32).tobytes()
    if native(plan.problem):
        assert plan.run(**given, how="amx").c.tobytes() == soft.tobytes()


def test_bad_arrays_are_refused_before_anything_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def compile_nothing(*_: object, **__: object) -> bytes:
        raise AssertionError("a compiler was started")

    monkeypatch.setattr(compiling.subprocess, "run", compile_nothing)
    plan = plan_amx(19, 21, 64, "u8")
    a, b = np.ones((19, 64)), np.ones((64, 21))
    refused: tuple[tuple[dict[str, Any], str], ...] = (
        ({"a": a.T}, "A is planned as 19x64, and the array is 64x19"),
        ({"a": a - 2}, "A has the value -1.0, which u8 cannot hold"),
        ({"b": b.astype(str)}, "B is an array of <U32; numbers are needed"),
        ({"c": np.ones((19, 21))}, "c: beta = 0, so C is not read; leave it out"),
        ({"bias": np.ones(19)}, "bias: the plan has none; plan with bias='row' or bias='column'"),
        ({"how": "gpu"}, "how 'gpu': expected 'amx', 'scalar' or 'soft'"),
    )
    for given, message in refused:
        with pytest.raises(PlanError, match="^" + message.replace("[", r"\[")):
            plan.run(**({"a": a, "b": b} | given))


def test_without_compilers_or_amx_a_run_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    from layoutalg.gemm.amx import running

    plan = plan_amx(17, 16, 64)
    ones: dict[str, Any] = {"a": np.ones((17, 64)), "b": np.ones((64, 16))}
    monkeypatch.setattr(compiling, "program_path", lambda _name: None)
    with pytest.raises(PlanError, match=r"none of the three is installed; `make toolchains` installs them"):
        plan.run(**ones)
    monkeypatch.setattr(processor, "cpu_flags", lambda: cpu_flags() - {"amx_tile"})
    with pytest.raises(PlanError, match=r"how = 'amx': this CPU has no amx-tile.*; scalar or soft runs here"):
        plan.run(**ones, how="amx")
    assert running.chosen_how(plan.problem) == "soft"
    assert running.chosen_how(plan_amx(64, 64, 64, "f16").problem) == "soft"
    assert running.chosen_how(plan_amx(1024, 1024, 1024).problem) == "soft"


@pytest.mark.parametrize(
    ("lacking", "element"), [("amx_tile", "bf16"), ("amx_bf16", "bf16"), ("amx_int8", "u8"), ("amx_fp16", "f16")]
)
def test_a_module_is_not_loaded_where_its_instructions_would_end_the_process(
    lacking: str, element: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any module, not a plan's alone; the kernel's permission is asked for before the first instruction."""
    require_llvm(24)
    every_feature = {"amx_tile", "amx_bf16", "amx_int8", "amx_fp16", *processor.BASE}
    monkeypatch.setattr(processor, "cpu_flags", lambda: frozenset(every_feature - {lacking}))
    monkeypatch.setattr(processor, "permitted", lambda: True)
    feature = lacking.replace("_", "-")
    with pytest.raises(
        PlanError, match=rf"^how = 'amx': this CPU has no .*{feature}.*; how = 'soft' runs tiles on any"
    ):
        loaded(plan_amx(16, 16, 32, element).emit(), 24, "amx")


def test_a_module_asks_for_the_permission_to_use_tiles(tmp_path: Path) -> None:
    """In a process of its own, which has not asked yet."""
    require_llvm(24)
    plan = plan_amx(16, 16, 64)
    if not native(plan.problem):
        return
    program = tmp_path / "ask.py"
    program.write_text("""from layoutalg.gemm.amx import plan_amx
from layoutalg.gemm.amx.operands import Operands, random_operands
from layoutalg.gemm.amx.running import loaded
plan = plan_amx(16, 16, 64)
operands = Operands.of(plan, **random_operands(plan.problem, 0))
loaded(plan.emit(), 24, "amx").call("gemm", [buffer.address for buffer in operands.buffers])
print(operands.result().shape)
""")
    done = run([sys.executable, str(program)])
    assert (done.returncode, done.stdout) == (0, "(16, 16)\n"), done.stderr


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("x86_amx @llvm.x86.tilezero.internal(i16 17, i16 64)", "a tile has 1 to 16 rows"),
        ("x86_amx @llvm.x86.tileloadd64.internal(i16 16, i16 65, ptr %0, i64 64)", "a row of a tile has 1 to 64 bytes"),
        (
            "x86_amx @llvm.x86.tdpbssd.internal(i16 16, i16 64, i16 62, x86_amx %2, x86_amx %2, x86_amx %2)",
            "the rows of the tiles of a product are whole words of 4 bytes",
        ),
        (
            "x86_amx @llvm.x86.tdpbssd.internal(i16 16, i16 64, i16 68, x86_amx %2, x86_amx %2, x86_amx %2)",
            "a row of a tile has 1 to 64 bytes",
        ),
    ],
)
def test_soft_tiles_refuse_what_the_hardware_refuses(call: str, message: str, tmp_path: Path) -> None:
    """Such tiles do not pass LLVM's dialect, so the IR is written by hand."""
    require_llvm(24)
    ir = f"""define void @f(ptr %0) {{
  %2 = call x86_amx @llvm.x86.tilezero.internal(i16 16, i16 64)
  %3 = call {call}
  ret void
}}
"""
    library = str(tmp_path / "bad.so")
    link(library, machine_code(ir, 24, "soft"), "soft")
    with pytest.raises(PlanError, match=f"^the code uses a tile that the hardware refuses: {message}$"):
        Loaded(library, "soft").call("f", [Buffer.of(np.zeros(2048, np.uint8)).address])


def test_a_cpu_with_nothing_but_x86_64_gets_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without fma and f16c, LLVM and the C compiler call functions for them."""
    require_llvm(24)
    compiling._soft_tiles.cache_clear()  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(compiling, "vector_features", lambda: ())
    for a, how in (("bf16", "scalar"), ("f16", "soft")):
        plan = plan_amx(18, 35, 70, a, c="f16", bias="row")
        given = random_operands(plan.problem, 2)
        found, expected = plan.run(**given, how=how).c, computed(plan.problem, **given)
        if how == "soft":
            assert found.tobytes() == expected.tobytes()
        else:  # another order of the sums: the last bit of f16 may differ
            assert np.allclose(found.astype(np.float64), expected.astype(np.float64), rtol=2**-10, atol=1e-4)
    compiling._soft_tiles.cache_clear()  # pyright: ignore[reportPrivateUsage]


def test_another_version_of_llvm_compiles_where_the_plans_is_missing_and_the_run_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    require_llvm(22)
    found = compiling.program_path
    monkeypatch.setattr(compiling, "program_path", lambda name: None if name.endswith(("-23", "-24")) else found(name))
    run = plan_amx(16, 18, 64, "s8").run(np.ones((16, 64)), np.full((64, 18), 3), how="soft")
    assert (run.c == 192).all()
    assert run.llvm == 22
    assert "LLVM 22 compiled it: LLVM 24 is not installed" in str(run)
    with pytest.raises(PlanError, match=r"^mlir-opt-24, mlir-translate-24, llc-24: not installed; `make toolchains`"):
        compiling.llvm_ir("module {}", 24)
