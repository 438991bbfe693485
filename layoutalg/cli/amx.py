"""`layoutalg gemm --target amx`: a product for CPUs with AMX: its plan, its module, and what running it says.

>>> from layoutalg.cli import main
>>> main(["gemm", "64", "64", "64", "--target", "amx", "--blocking", "3x3"])
2
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layoutalg.cli.arguments import as_shape, print_json
from layoutalg.cli.targets import Asked, difference_text, differences, model_text, print_results
from layoutalg.core.errors import PlanError, SizeError
from layoutalg.core.progress import progress_bar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from layoutalg.gemm.amx import AmxGemm

__all__ = ["amx_gemm"]

_MOST_EXECUTED = 2**38
"""Operations of a product that is executed: 5197^3."""
_MOST_MODELLED = 2**32
"""Operations of a product whose bits are computed a second time, by the model: 1290^3, a second or two."""


def amx_gemm(sizes: tuple[int, int, int], target: str, asked: Asked, options: dict[str, Any]) -> None:
    """Plan a product for a CPU with AMX, and do with the plan what is asked.

    Raises `PlanError` for what is not planned, and where something that is needed is not installed.
    """
    from layoutalg.core.files import write_file
    from layoutalg.gemm.amx import plan_amx

    prepacked, native, timed, build = (options.pop(name) for name in ("prepacked_b", "native", "timed", "build"))
    options["a"] = "bf16" if options["a"] is None else options["a"]
    for name in ("blocking", "blocks"):
        options[name] = None if options[name] is None else as_shape(options[name])
    plan = plan_amx(*sizes, target=target, **options)
    part = asked.level or "whole"
    _refuse_pairs(asked, part, bool(prepacked), build)
    text = plan.emit(prepacked_b=bool(prepacked), part=part) if asked.wants_text else ""
    if asked.wants_only_text and not (native or timed or build):
        print(text, end="")
        return
    facts: dict[str, Any] = {}
    if asked.run:
        facts["simulated"] = _simulated(plan, text, asked.seed)
    if asked.check:
        facts["llvm_says"] = _llvm_sentence(plan, text)
    if native:
        facts["executed"] = _executed(plan, asked.seed)
    if timed:
        facts["timed"] = _timed(plan)
    made = plan.listing() if asked.listing else None
    if build is not None:
        facts["library"] = str(plan.build(build))
    if asked.output is not None:  # last, so that a run that fails leaves no file
        write_file(asked.output, text)
        facts["output"] = str(asked.output)
    if asked.as_json:
        from layoutalg.show.amx_gemm import amx_facts, listing_facts

        if made is not None:
            facts["listing"] = listing_facts(made)
        module = {"module": text} if asked.level is not None and asked.output is None else {}
        print_json(amx_facts(plan, runners_up=asked.runners_up) | facts | module)
        return
    _print(plan, facts, asked)
    if made is not None:
        print(f"\n{made}")


def _refuse_pairs(asked: Asked, part: str, prepacked: bool, build: Path | None) -> None:
    """Refuse options that cannot be meant together."""
    if part == "parts" and prepacked:
        raise PlanError("--prepacked-b with --emit parts: the parts take packed B always; packing is a part of its own")
    if asked.run and (part == "parts" or prepacked):
        given = "--prepacked-b" if prepacked else "--emit parts"
        raise PlanError(f"--run with {given}: the simulator runs the whole module, which packs B itself")
    if build is not None and asked.output is not None:
        raise PlanError("--build with -o: the first writes a library and its header, the second a module; ask for one")


def _simulated(plan: AmxGemm, text: str, seed: int) -> dict[str, Any]:
    """The module's result on random matrices, against the stated model and against the definition in f64."""
    from layoutalg.gemm.amx.numerics import computed, exact
    from layoutalg.gemm.amx.operands import random_operands
    from layoutalg.gemm.amx.simulating import check_size

    check_size(plan)
    inputs: dict[str, Any] = dict(random_operands(plan.problem, seed))
    with progress_bar("simulated") as progress:
        found = plan.simulate(**inputs, text=text, progress=progress)
    modelled = found.tobytes() == computed(plan.problem, **inputs).tobytes()
    return {"as_modelled": modelled} | _compared(plan, found, exact(plan.problem, **inputs))


def _executed(plan: AmxGemm, seed: int) -> dict[str, Any]:
    """The compiled module's result on random matrices, the way in which it was computed, and the seconds."""
    from layoutalg.core.limits import MOST_GEMM_BYTES
    from layoutalg.gemm.amx.numerics import computed, exact
    from layoutalg.gemm.amx.operands import random_operands

    problem = plan.problem
    for matrix in problem.matrices:
        if matrix.rows * matrix.pitch_bytes > MOST_GEMM_BYTES:
            raise SizeError(f"{matrix}: matrices of at most {MOST_GEMM_BYTES} bytes are executed with --native")
    if problem.flops > _MOST_EXECUTED:
        raise SizeError(f"{problem.flops} operations: at most {_MOST_EXECUTED} are executed with --native")
    inputs: dict[str, Any] = dict(random_operands(problem, seed))
    run = plan.run(**inputs)
    modelled = None
    if problem.flops <= _MOST_MODELLED:
        modelled = run.c.tobytes() == computed(problem, **inputs).tobytes()
    facts = {"how": run.how, "says": str(run), "seconds": run.seconds, "as_modelled": modelled}
    return facts | _compared(plan, run.c, exact(problem, **inputs))


def _timed(plan: AmxGemm) -> dict[str, Any]:
    """What was measured, and the text that says it."""
    timing = plan.time()
    return asdict(timing) | {"peak": timing.peak, "part_of_peak": timing.part_of_peak, "says": str(timing)}


def _compared(plan: AmxGemm, found: NDArray[Any], wanted: NDArray[Any]) -> dict[str, float]:
    import numpy as np

    if plan.problem.c in ("s8", "u8"):
        limits = np.iinfo(found.dtype)
        wanted = np.clip(np.rint(wanted), limits.min, limits.max)
    return differences(found, wanted)


def _llvm_sentence(plan: AmxGemm, text: str) -> str:
    from layoutalg.gemm.amx.compiling import assembly, llvm_ir, programs

    try:
        programs(plan.llvm)
    except PlanError as missing:
        return f"not asked: {missing}"
    try:
        assembly(llvm_ir(text, plan.llvm), plan.llvm)
    except PlanError as refusal:
        return f"refuses: {refusal}"
    return "accepts the module and compiles it to AMX instructions"


def _print(plan: AmxGemm, facts: dict[str, Any], asked: Asked) -> None:
    from rich.console import Console

    from layoutalg.show.amx_gemm import print_amx_plan

    console = Console(markup=False, highlight=False, emoji=False)
    print_amx_plan(plan, console, runners_up=asked.runners_up, explain=asked.explain)
    rows: list[tuple[str, str]] = []
    if "output" in facts:
        rows.append(("module", facts["output"]))
    if "simulated" in facts:
        rows.append(("simulated", _comparison(facts["simulated"])))
    if "llvm_says" in facts:
        rows.append((f"LLVM {plan.llvm}", facts["llvm_says"]))
    if "executed" in facts:
        rows += [("executed", facts["executed"]["says"]), ("", _comparison(facts["executed"]))]
    if "timed" in facts:
        lines = facts["timed"]["says"].splitlines()[1:]  # the first is the problem
        rows += zip(("timed", *[""] * (len(lines) - 1)), lines, strict=True)
    if "library" in facts:
        rows.append(("library", facts["library"]))
    print_results(rows)


def _comparison(facts: dict[str, Any]) -> str:
    far = difference_text(facts)
    if facts["as_modelled"] is None:
        return far
    if facts.get("how") == "scalar" and not facts["as_modelled"]:
        return f"sums in the order of k, so other bits than AMX gives; {far}"
    return f"{model_text(facts)}; {far}"
