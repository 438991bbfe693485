"""`layoutalg gemm --target amx`: a product for CPUs with AMX: its plan, its module, and what running it says.

>>> from layoutalg.cli import main
>>> main(["gemm", "64", "64", "64", "--target", "amx", "--blocking", "3x3"])
2
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from layoutalg.cli.arguments import as_shape, print_json
from layoutalg.cli.targets import Asked

if TYPE_CHECKING:
    from layoutalg.gemm.amx import AmxGemm

__all__ = ["amx_gemm"]


def amx_gemm(sizes: tuple[int, int, int], target: str, asked: Asked, options: dict[str, Any]) -> None:
    """Plan a product for a CPU with AMX, and do with the plan what is asked.

    Raises `PlanError` for what is not planned, and where something that is needed is not installed.

    >>> options = dict.fromkeys(("a", "blocking", "blocks", "prepacked_b", "native", "timed", "build"))
    >>> amx_gemm((64, 64, 0), "amx", Asked(), options)
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: k = 0: a size is an integer from 1 to 16777216
    """
    from layoutalg.core.files import write_file
    from layoutalg.gemm.amx import plan_amx

    prepacked, native, timed, build = (options.pop(name) for name in ("prepacked_b", "native", "timed", "build"))
    options["a"] = "bf16" if options["a"] is None else options["a"]
    for name in ("blocking", "blocks"):
        options[name] = None if options[name] is None else as_shape(options[name])
    plan = plan_amx(*sizes, target=target, **options)
    text = plan.emit(prepacked_b=prepacked, part=asked.level or "whole") if asked.wants_text else ""
    if asked.wants_only_text and not (native or timed or build):
        print(text, end="")
        return
    facts: dict[str, Any] = {}
    if asked.output is not None:  # last, so that a run that fails leaves no file
        write_file(asked.output, text)
        facts["output"] = str(asked.output)
    if asked.as_json:
        from layoutalg.show.amx_gemm import amx_facts

        module = {"module": text} if asked.level is not None and asked.output is None else {}
        print_json(amx_facts(plan, runners_up=asked.runners_up) | facts | module)
        return
    _print(plan, facts, asked)


def _print(plan: AmxGemm, facts: dict[str, Any], asked: Asked) -> None:
    from rich.console import Console

    from layoutalg.show.amx_gemm import print_amx_plan

    console = Console(markup=False, highlight=False, emoji=False)
    print_amx_plan(plan, console, runners_up=asked.runners_up, explain=asked.explain)
    rows: list[tuple[str, str]] = []
    if "output" in facts:
        rows.append(("module", facts["output"]))
    if rows:
        print()
    for name, value in rows:
        print(f"  {name:12}  {value}")
