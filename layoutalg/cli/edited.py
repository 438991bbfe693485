"""`--check` and `--text` of the planning commands: whether a kernel's text still computes what it was planned for.

Two are asked. LLVM, where it is installed, says whether it accepts and lowers the text. The simulator runs the text on small
problems that it serves as well (`gemm.small_problems`), and compares every bit with the stated model. So a text with one number
changed, which LLVM accepts, is found in a second or two, whatever the plan's size. Modules for AMX have their
sizes as constants, and run on the plan's own problem (`cli.amx`).

>>> from layoutalg.cli import main
>>> main(["gemm", "64", "64", "64", "--text", "kernel.mlir"])
2
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from layoutalg.cli.targets import UNLIKE, model_text
from layoutalg.core.errors import LayoutError, PlanError

if TYPE_CHECKING:
    from layoutalg.show.plan_report import PlanRow
    from layoutalg.simulate.machine import Level

__all__ = ["check_alone", "check_options", "checked_rows", "edited_text", "failed", "meaning_rows"]

_NO_SMALL = "no small problem has this text, which has its sizes as constants; --run executes all of it"
_CHECK = (
    "Ask LLVM, if it is installed, whether it lowers the kernel, and run it on small problems of the same text "
    "against the model: seconds. Exits with 1 where one of them says no."
)
_Command = TypeVar("_Command", bound=Callable[..., Any])


class _Planned(Protocol):
    @property
    def problem(self) -> object: ...


_Plan = TypeVar("_Plan", bound=_Planned)


def check_options(command: _Command) -> _Command:
    """The options `--check` and `--text`."""
    text = click.option(
        "--text",
        "edited",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="A kernel that -o wrote and that you changed, in place of the plan's own for --check and --run.",
    )
    check = click.option("--check", is_flag=True, help=_CHECK)
    return check(text(command))


def edited_text(edited: Path) -> tuple[str, Level]:
    """The kernel of a file, and its level.

    Raises `LayoutError` for a file that can't be read as a kernel.
    """
    from layoutalg.core.files import read_file
    from layoutalg.simulate.levels import level_of
    from layoutalg.simulate.texts import read_kernel

    text = read_file(edited)
    try:
        return text, level_of(read_kernel(text))
    except LayoutError as refusal:
        raise LayoutError(f"{edited}: {refusal}") from None


def check_alone(edited: Path | None, asked: bool, **others: object) -> None:
    """Refuse `--text` with what takes the plan's own kernel, and without something to do.

    Raises `PlanError`: says what would do.
    """
    if edited is None:
        return
    for name, given in others.items():
        if given not in (None, False):
            raise PlanError(f"--text with --{name}: that takes the plan's own kernel; --text is for --check and --run")
    if not asked:
        raise PlanError("--text: say what to do with the kernel; --check and --run take it")


def checked_rows(
    text: str,
    level: str,
    target: str,
    llvm: int,
    small: Sequence[_Plan],
    *runs: tuple[str, Callable[[_Plan], PlanRow]],
) -> list[PlanRow]:
    """What LLVM says of a text for a chip, and whether it has the model's bits on `small` problems (see `meaning_rows`)."""
    return [_verdict_row(text, level, target, llvm), *meaning_rows(small, *runs)]


def meaning_rows(
    plans: Sequence[_Plan], *runs: tuple[str, Callable[[_Plan], PlanRow]], without: str = _NO_SMALL
) -> list[PlanRow]:
    """Whether a text has the model's bits on each of these small problems.

    A run is a word about its numbers, and a function that gives the row of a problem. The row says so where a text can't be
    simulated, or does what the hardware would not. Without problems the one row says why there are none (`without`).
    """
    from layoutalg.show.plan_report import row

    if not plans:
        return [row("simulator", f"not asked: {without}")]
    found: list[PlanRow] = []
    for (numbers, run), plan in product(runs, plans):
        try:
            modelled, why = bool(run(plan).values["as_modelled"]), UNLIKE
        except LayoutError as refusal:
            modelled, why = False, str(refusal)
        facts = {"problem": f"{plan.problem}{numbers}", "as_modelled": modelled, "says": model_text(modelled, why)}
        found.append(row("" if found else "simulator", "{problem}: {says}", at="checked[]", **facts))
    return found


def _verdict_row(text: str, level: str, target: str, llvm: int) -> PlanRow:
    """What LLVM says of a kernel."""
    from layoutalg.ir.installed import llvm_verdict
    from layoutalg.show.plan_report import row

    verdict = llvm_verdict(text, level, target, llvm=llvm)
    if verdict is None:
        said = f"not asked: mlir-opt-{llvm} is not installed (make toolchains)"
    elif verdict.accepted:
        said = "accepts the kernel and lowers it to SPIR-V"
    else:
        said = f"refuses: {verdict.diagnostic}"
    refused = verdict is not None and not verdict.accepted
    return row(f"LLVM {llvm}", "{llvm_says}", llvm_says=said, _refused=refused)


def failed(rows: Sequence[PlanRow]) -> bool:
    """Whether LLVM or the simulator said no."""
    return any(one.values.get("as_modelled") is False or one.values.get("_refused", False) for one in rows)
