"""The options of `layoutalg gemm` by target: some are for all, some for GPUs alone, some for CPUs with AMX alone.

The help lists them apart, and one that the target does not know is refused:

>>> from layoutalg.cli import main
>>> main(["gemm", "64", "64", "64", "--target", "spr", "--registers", "256"])
2
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints

import click
from click.core import ParameterSource

from layoutalg.cli.arguments import OneOf
from layoutalg.core.errors import PlanError
from layoutalg.gemm.options import AmxOptions, GemmOptions, Option

__all__ = [
    "AmxOption",
    "Asked",
    "GpuOption",
    "Sectioned",
    "amx_targets",
    "checked_options",
    "difference_text",
    "differences",
    "emit_names",
    "model_text",
    "planner_options",
    "print_results",
    "target_names",
]

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Command = TypeVar("_Command", bound=Callable[..., Any])


class GpuOption(click.Option):
    """An option of plans for GPUs alone."""

    section = "Options for GPUs"


class AmxOption(click.Option):
    """An option of plans for CPUs with AMX alone."""

    section = "Options for CPUs with AMX (targets amx, spr, gnr)"


class Sectioned(click.Command):
    """A command whose help lists the options of all targets, then those of GPUs, then those of CPUs.

    >>> command = Sectioned("gemm", params=[AmxOption(["--order"]), click.Option(["--lda"]), GpuOption(["--tile"])])
    >>> [line for line in command.get_help(click.Context(command)).splitlines() if line.endswith(":")]
    ['Options:', 'Options for GPUs:', 'Options for CPUs with AMX (targets amx, spr, gnr):']
    """

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": [], GpuOption.section: [], AmxOption.section: []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                sections[getattr(parameter, "section", "Options")].append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def planner_options(command: _Command) -> _Command:
    """The options of `plan_gemm` and of `plan_amx`: those that both have are for all targets."""
    gpu, amx = (get_type_hints(kind, include_extras=True) for kind in (GemmOptions, AmxOptions))
    for name, hint in reversed((gpu | amx).items()):
        form = GpuOption if name not in amx else AmxOption if name not in gpu else click.Option
        kind, said = get_args(hint)
        command = _planner_option(name, kind, said, form)(command)
    return command


def _planner_option(name: str, hint: Any, said: Option, form: type[click.Option]) -> Callable[[_Command], _Command]:
    kinds, spelled = set(get_args(hint) or (hint,)), name.replace("_", "-")
    facts: dict[str, Any] = {"cls": form, "help": said.help}
    if kinds == {bool}:
        return click.option(f"--{spelled}", is_flag=True, **facts)
    if bool in kinds:
        return click.option(f"--{spelled}/--no-{spelled}", default=None, **facts)
    facts["type"] = OneOf(lambda: said.names) if said.names else next(iter(kinds & {int, float}), str)
    return click.option(f"--{spelled}", default=said.default, show_default=said.default is not None, **facts)


@dataclass(frozen=True)
class Asked:
    """What is to be done with a plan."""

    level: str | None = None
    output: Path | None = None
    run: bool = False
    seed: int = 0
    check: bool = False
    listing: bool = False
    explain: bool = False
    runners_up: int = 5
    as_json: bool = False

    @property
    def wants_text(self) -> bool:
        """Whether the kernel is needed as text."""
        return self.level is not None or self.output is not None or self.run or self.check

    @property
    def wants_only_text(self) -> bool:
        """Whether the kernel is all that is printed."""
        others = (self.output, self.run, self.check, self.listing, self.explain, self.as_json)
        return self.level is not None and not any(others)


def target_names() -> Sequence[str]:
    """The targets: GPUs with DPAS, and those of AMX."""
    from layoutalg.hardware.chips import target_names as gpus

    return (*gpus(dpas=True), *amx_targets())


def amx_targets() -> Sequence[str]:
    """The targets of AMX."""
    from layoutalg.gemm.amx.problem import TARGETS

    return TARGETS


def emit_names() -> Sequence[str]:
    """What `--emit` takes, for GPUs and for AMX."""
    from layoutalg.gemm.amx.plan import PARTS
    from layoutalg.gemm.plan import LEVELS

    return (*LEVELS, *PARTS)


def checked_options(
    context: click.Context, target: str, level: str | None, options: Mapping[str, Any]
) -> dict[str, Any]:
    """The options that the target knows.

    Raises `PlanError` where another one was given on the command line, and for a level of the other targets.

    >>> command = click.Command("gemm", params=[AmxOption(["--order"]), click.Option(["--lda"])])
    >>> with command.make_context("gemm", ["--order", "rows"]) as context:
    ...     checked_options(context, "pvc", None, {"order": "rows", "lda": 64})
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: --order: target pvc has no such option; it is for CPUs with AMX (amx, spr, gnr)
    """
    from layoutalg.gemm.amx.plan import PARTS
    from layoutalg.gemm.plan import LEVELS

    is_amx = target in amx_targets()
    others, whose = (GpuOption, "GPUs") if is_amx else (AmxOption, "CPUs with AMX (amx, spr, gnr)")
    foreign = [one for one in context.command.params if isinstance(one, others)]
    for option in foreign:
        if option.name and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE:
            raise PlanError(f"{option.opts[0]}: target {target} has no such option; it is for {whose}")
    mine = PARTS if is_amx else LEVELS
    if level is not None and level not in mine:
        raise PlanError(f"--emit {level}: target {target} has {', '.join(mine)}; {level} is for {whose}")
    names = {option.name for option in foreign}
    return {name: value for name, value in options.items() if name not in names}


def differences(found: NDArray[Any], wanted: NDArray[Any]) -> dict[str, float]:
    """How far a result is from the definition in f64."""
    far = abs(found.astype(wanted.dtype) - wanted).max()
    return {"largest_difference": float(far), "largest_value": float(abs(wanted).max())}


def difference_text(facts: Mapping[str, Any]) -> str:
    """The same in words."""
    return f"largest difference from numpy {facts['largest_difference']:.3g} (largest element {facts['largest_value']:.3g})"


def model_text(facts: Mapping[str, Any]) -> str:
    """Whether a result has the bits of the model."""
    return "bit for bit what the model says" if facts["as_modelled"] else "NOT what the model says"


def print_results(rows: Sequence[tuple[str, str]]) -> None:
    """Print what was done with a plan, below it."""
    if rows:
        print()
    for name, value in rows:
        print(f"  {name:12}  {value}")
