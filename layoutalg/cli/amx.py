"""`layoutalg gemm --target amx`: a product for CPUs with AMX: its plan, its module, and what running it says.

>>> from layoutalg.cli import main
>>> main(["gemm", "64", "64", "64", "--target", "amx", "--blocking", "3x3"])
2
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layoutalg.cli.edited import check_alone, edited_text, failed, meaning_rows
from layoutalg.cli.targets import UNLIKE, Asked, compared_row, print_report, written_rows
from layoutalg.core.errors import PlanError, SizeError
from layoutalg.core.limits import MOST_CHECKED_PRODUCTS, MOST_DPAS
from layoutalg.core.progress import progress_bar
from layoutalg.core.written import as_shape

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from layoutalg.gemm.amx import AmxGemm
    from layoutalg.gemm.amx.problem import AmxProblem
    from layoutalg.show.plan_report import PlanRow

__all__ = ["amx_gemm"]

_MOST_EXECUTED = 2**38
"""Operations of a product that is executed: 5197^3."""
_MOST_MODELLED = 2**32
"""Operations of a product whose bits are computed a second time, by the model: 1290^3, a second or two."""


def amx_gemm(sizes: tuple[int, int, int], target: str, asked: Asked, options: dict[str, Any]) -> int:
    """Plan a product for a CPU with AMX, and do with the plan what is asked: 1 where `--check` says no, else 0.

    Raises `PlanError` for what is not planned, and where something that is needed is not installed.
    """
    from layoutalg.gemm.amx import plan_amx
    from layoutalg.show.amx_gemm import amx_report, listing_facts
    from layoutalg.show.plan_report import row

    prepacked, native, timed, build, edited = (
        options.pop(name) for name in ("prepacked_b", "native", "timed", "build", "edited")
    )
    others = {"emit": asked.level, "output": asked.output, "listing": asked.listing, "build": build}
    others |= {"native": native, "time": timed, "prepacked-b": prepacked}
    check_alone(edited, asked.run or asked.check, **others)
    options["a"] = "bf16" if options["a"] is None else options["a"]
    for name in ("blocking", "blocks"):
        options[name] = None if options[name] is None else as_shape(options[name])
    plan = plan_amx(*sizes, target=target, **options)
    part = asked.level or "whole"
    _refuse_pairs(asked, part, bool(prepacked), build)
    if edited is not None:
        text = edited_text(edited)[0]
    else:
        text = plan.emit(prepacked_b=bool(prepacked), part=part) if asked.wants_text else ""
    if asked.wants_only_text and not (native or timed or build):
        print(text, end="")
        return 0
    results: list[PlanRow] = []
    if asked.run:
        results.append(_simulated(plan, plan.problem, text, asked.seed))
    if asked.check:
        results.append(_verdict_row(plan, text))
        results += _meaning_rows(plan, text, asked, whole=part == "whole" and not prepacked)
    if native:
        results += _executed(plan, asked.seed)
    if timed:
        results += _timed(plan)
    made = plan.listing() if asked.listing else None
    if made is not None:
        results.append(row(listing=listing_facts(made)))
    if build is not None:
        results.append(row("library", "{library}", library=str(plan.build(build))))
    results[:0] = written_rows("module", text, asked.output, asked.level, plan)
    report = amx_report(plan, results, runners_up=asked.runners_up, explain=asked.explain)
    print_report(report, asked.as_json, "" if made is None else f"\n{made}")
    return int(asked.check and failed(results))


def _refuse_pairs(asked: Asked, part: str, prepacked: bool, build: Path | None) -> None:
    """Refuse options that cannot be meant together."""
    if part == "parts" and prepacked:
        raise PlanError("--prepacked-b with --emit parts: the parts take packed B always; packing is a part of its own")
    if asked.run and (part == "parts" or prepacked):
        given = "--prepacked-b" if prepacked else "--emit parts"
        raise PlanError(f"--run with {given}: the simulator runs the whole module, which packs B itself")
    if build is not None and asked.output is not None:
        raise PlanError("--build with -o: the first writes a library and its header, the second a module; ask for one")


def _meaning_rows(plan: AmxGemm, text: str, asked: Asked, *, whole: bool) -> list[PlanRow]:
    """Whether the text has the model's bits: on the plan's own problem, or on the part of it that the text serves alone."""
    from layoutalg.gemm.small_problems import small_amx

    if asked.run:  # which said so, of all of it
        return []
    if not whole:
        return meaning_rows((), without="it runs the whole module, which packs B itself")

    def run(one: AmxGemm) -> PlanRow:
        return _simulated(plan if plan.problem.dynamic_m else one, one.problem, text, asked.seed)

    large = f"more than {MOST_CHECKED_PRODUCTS} tile products, or rows far apart; --run executes up to {MOST_DPAS}"
    return meaning_rows(small_amx(plan), ("", run), without=large)


def _simulated(plan: AmxGemm, problem: AmxProblem, text: str, seed: int) -> PlanRow:
    """The module's result on random matrices, against the stated model and against the definition in f64.

    `problem` is the plan's; where the code takes the number of rows, it may have fewer.
    """
    from layoutalg.gemm.amx.numerics import computed
    from layoutalg.gemm.amx.operands import random_operands
    from layoutalg.gemm.amx.simulating import check_size

    check_size(replace(plan, problem=problem))
    inputs: dict[str, Any] = dict(random_operands(problem, seed))
    with progress_bar("simulated") as progress:
        found = plan.simulate(**inputs, text=text, progress=progress)
    modelled = found.tobytes() == computed(problem, **inputs).tobytes()
    return compared_row("simulated", found, _defined(problem, found.dtype, inputs), modelled, at="simulated")


def _executed(plan: AmxGemm, seed: int) -> list[PlanRow]:
    """The compiled module's result on random matrices, the way in which it was computed, and the seconds."""
    from layoutalg.core.limits import MOST_GEMM_BYTES
    from layoutalg.gemm.amx.numerics import computed
    from layoutalg.gemm.amx.operands import random_operands
    from layoutalg.show.plan_report import row

    problem = plan.problem
    for matrix in problem.matrices:
        if problem.batch * matrix.rows * matrix.pitch_bytes > MOST_GEMM_BYTES:
            raise SizeError(f"{matrix}: matrices of at most {MOST_GEMM_BYTES} bytes are executed with --native")
    if problem.flops > _MOST_EXECUTED:
        raise SizeError(f"{problem.flops} operations: at most {_MOST_EXECUTED} are executed with --native")
    inputs: dict[str, Any] = dict(random_operands(problem, seed))
    run = plan.run(**inputs)
    modelled = None
    if problem.flops <= _MOST_MODELLED:
        modelled = run.c.tobytes() == computed(problem, **inputs).tobytes()
    wanted = _defined(problem, run.c.dtype, inputs)
    unlike = "sums in the order of k, so other bits than AMX gives" if run.how == "scalar" else UNLIKE
    compared = compared_row("", run.c, wanted, modelled, at="executed", unlike=unlike)
    return [row("executed", "{says}", at="executed", how=run.how, says=str(run), seconds=run.seconds), compared]


def _timed(plan: AmxGemm) -> list[PlanRow]:
    """What was measured, and the text that says it."""
    from layoutalg.show.plan_report import columns, row

    timing = plan.time()
    lines = str(timing).splitlines()[1:]  # the first is the problem
    facts = asdict(timing) | {"peak": timing.peak, "part_of_peak": timing.part_of_peak, "says": str(timing)}
    return [*(columns("" if place else "timed", line) for place, line in enumerate(lines)), row(timed=facts)]


def _defined(problem: AmxProblem, dtype: np.dtype[Any], inputs: dict[str, Any]) -> NDArray[Any]:
    """The result by definition, within the limits of C's type."""
    import numpy as np

    from layoutalg.gemm.amx.numerics import exact

    wanted = exact(problem, **inputs)
    if problem.c not in ("s8", "u8"):
        return wanted
    limits = np.iinfo(dtype)
    return np.clip(np.rint(wanted), limits.min, limits.max)


def _verdict_row(plan: AmxGemm, text: str) -> PlanRow:
    """What LLVM says of a module."""
    from layoutalg.gemm.amx.compiling import assembly, llvm_ir, programs
    from layoutalg.show.plan_report import row

    refused = False
    try:
        programs(plan.llvm)
    except PlanError as missing:
        said = f"not asked: {missing}"
    else:
        try:
            compiled = assembly(llvm_ir(text, plan.llvm), plan.llvm)
        except PlanError as refusal:
            refused, said = True, f"refuses: {refusal}"
        else:
            to = "AMX instructions" if "\ttdp" in compiled else "code without a product of AMX"
            said = f"accepts the module and compiles it to {to}"
    return row(f"LLVM {plan.llvm}", "{llvm_says}", llvm_says=said, _refused=refused)
