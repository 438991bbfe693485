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
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, get_args, get_type_hints

import click
from click.core import ParameterSource

from layoutalg.cli.arguments import OneOf, planner_chips, print_json
from layoutalg.core.errors import PlanError
from layoutalg.gemm.options import AmxOptions, GemmOptions

__all__ = [
    "UNLIKE",
    "AmxOption",
    "Asked",
    "GpuOption",
    "Sectioned",
    "amx_targets",
    "checked_options",
    "compared_row",
    "declared_options",
    "emit_names",
    "model_text",
    "planner_options",
    "print_report",
    "target_names",
    "written_rows",
]

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from layoutalg.show.plan_report import PlanReport, PlanRow
    from layoutalg.viz.picture import Picture

UNLIKE = "NOT what the model says"
_Command = TypeVar("_Command", bound=Callable[..., Any])


class _Drawn(Protocol):
    """A plan, which has a picture."""

    def picture(self) -> Picture: ...


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
        command = _planner_option(name, hint, form)(command)
    return command


def declared_options(kind: type, *names: str) -> Callable[[_Command], _Command]:
    """The options that a planner declares (`layoutalg.gemm.options`), or those of these names."""
    hints = get_type_hints(kind, include_extras=True)

    def declared(command: _Command) -> _Command:
        for name in reversed(names or tuple(hints)):
            command = _planner_option(name, hints[name], click.Option)(command)
        return command

    return declared


def _planner_option(name: str, declared: Any, form: type[click.Option]) -> Callable[[_Command], _Command]:
    hint, said = get_args(declared)
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
    """The targets: GPUs with DPAS and 2D block messages, their products, and those of AMX."""
    return (*planner_chips(), *amx_targets())


def amx_targets() -> Sequence[str]:
    """The targets of AMX."""
    from layoutalg.hardware.amx_chips import AMX_TARGETS

    return AMX_TARGETS


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


def compared_row(
    label: str,
    found: NDArray[Any],
    wanted: NDArray[Any],
    modelled: bool | None,
    at: str = "",
    unlike: str = UNLIKE,
) -> PlanRow:
    """Whether a result has the bits of the model (None: not computed), and how far it is from the definition in f64."""
    from layoutalg.show.plan_report import row

    far = "largest difference from numpy {largest_difference:.3g} (largest element {largest_value:.3g})"
    return row(
        label,
        far if modelled is None else f"{model_text(modelled, unlike)}; {far}",
        at=at,
        as_modelled=modelled,
        largest_difference=float(abs(found.astype(wanted.dtype) - wanted).max()),
        largest_value=float(abs(wanted).max()),
    )


def model_text(modelled: bool, unlike: str = UNLIKE) -> str:
    """Whether a result has the bits of the model."""
    return "bit for bit what the model says" if modelled else unlike


def written_rows(name: str, text: str, output: Path | None, level: str | None, plan: _Drawn) -> list[PlanRow]:
    """Write the kernel to a file, and say so; without a file, JSON has the kernel where a level was asked for.

    A file whose ending is that of pictures (.svg, .png, ...) gets the plan's picture, unless a level was asked for. Comes last
    of what is done with a plan, so that a run that fails leaves no file.
    """
    from layoutalg.core.files import write_file
    from layoutalg.show.plan_report import row
    from layoutalg.viz.picture import FORMATS

    if output is None:
        return [row(**{name: text})] if level is not None else []
    if level is None and output.suffix[1:].lower() in FORMATS:
        plan.picture().save(output)
        return [row("picture", "{picture}", picture=str(output))]
    write_file(output, text)
    return [row(name, "{output}", output=str(output))]


def print_report(report: PlanReport, as_json: bool, below: str = "", **layout: Any) -> None:
    """Print a plan as JSON, or as text with a listing below it."""
    if as_json:
        print_json(report.as_json())
        return
    report.print(**layout)
    if below:
        print(below)
