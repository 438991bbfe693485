"""`--host` and `--build` of `layoutalg gemm` and `layoutalg attention`: a folder that launches the kernel, and its binary.

>>> from layoutalg.cli import main
>>> main(["gemm", "64", "64", "64", "--host", "sycl"])
2
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from layoutalg.cli.arguments import OneOf
from layoutalg.core.errors import PlanError

if TYPE_CHECKING:
    from layoutalg.gemm import Gemm
    from layoutalg.gemm.attention import Attention
    from layoutalg.show.plan_report import PlanRow

__all__ = ["check_host", "host_option", "launched_rows"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


def host_option(form: type[click.Option]) -> Callable[[_Command], _Command]:
    """The option `--host`."""
    routes = OneOf.at("layoutalg.gemm.hosts.routes:ROUTES")
    said = "Write a folder (-o) with the kernel, a host program for it, a Makefile and a README."
    return click.option("--host", type=routes, cls=form, help=said)


def check_host(output: Path | None, level: str | None) -> None:
    """Refuse a host without a folder, and one for another level than lanes."""
    if output is None:
        raise PlanError("--host: needs -o FOLDER, where the kernel, the program, a Makefile and a README go")
    if level not in (None, "lane"):
        raise PlanError(f"--host: launches the kernel at level 'lane'; --emit {level} is for LLVM's own pipeline")


def launched_rows(plan: Gemm | Attention, build: Path | None, host: str | None, output: Path | None) -> list[PlanRow]:
    """Write what was asked for, and say so."""
    from layoutalg.show.plan_report import row

    rows: list[PlanRow] = []
    if host is not None and output is not None:
        from layoutalg.gemm.hosts.folder import write_folder

        files, missing = write_folder(plan, host, output)
        rows.append(
            row("host", "{output}: {_names}", output=str(output), host=host, files=list(files), _names=", ".join(files))
        )
        if missing:
            rows.append(row("", "{missing}", missing=missing))
    if build is not None:
        made = plan.build(build)
        rows.append(row("built", "{built}", built=str(made)))
    return rows
