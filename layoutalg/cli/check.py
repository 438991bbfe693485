"""`layoutalg check`: whether the layouts of a module are right by meaning, what is wrong, and what would repair it."""

from __future__ import annotations

import click

from layoutalg.cli.arguments import (
    MODULE,
    file_target_option,
    format_option,
    json_option,
    llvm_option,
    read_whole_module,
    say_assumed_chip,
)
from layoutalg.cli.check_pass import Compared, compare_files, compare_passes
from layoutalg.cli.findings import write_findings
from layoutalg.core.errors import LayoutError

__all__ = ["check"]


@click.command(short_help="Check the layouts of a module by meaning.")
@click.argument("file", type=MODULE, required=False)
@click.option("--before", type=MODULE, metavar="FILE", help="Compare: the kernel before a pass.")
@click.option("--after", type=MODULE, metavar="FILE", help="Compare: the kernel after it.")
@click.option("--passes", metavar="PIPELINE", help="Compare FILE after each pass of mlir-opt with the one before.")
@click.option("--compiler", metavar="PROGRAM", help="The mlir-opt that runs the passes (mlir-opt-24 for --llvm 24).")
@click.option("--grid", default="1", show_default=True, help="Compare: workgroups along x, y and z, such as 8x16.")
@click.option(
    "--arg", "given", multiple=True, metavar="ARG", help="Compare: an argument, as for run (default: random)."
)
@click.option("--kernel", help="Compare: the kernel, where there are several.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Compare: the seed of random arguments."
)
@click.option("--tolerance", type=float, help="Compare: by how much floats may differ, relative to the largest.")
@llvm_option("The version of LLVM whose rules the layouts must follow.")
@file_target_option("The chip that counts.")
@format_option
@json_option
def check(
    file: str | None,
    before: str | None,
    after: str | None,
    passes: str | None,
    compiler: str | None,
    grid: str,
    given: tuple[str, ...],
    kernel: str | None,
    seed: int,
    tolerance: float | None,
    llvm: int,
    target: str | None,
    written: str,
    as_json: bool,
) -> int:
    """Check the layouts of the module in FILE: whether every work-item holds the operands of what it computes.

    FILE may be `-` for standard input. Each finding names the first element that is missing, who holds it, and what would
    repair it. Exits with 0 where the layouts are right, with 1 where they are not, with 2 where the text cannot be read, and
    with 3 where nothing is wrong and something could not be looked at.

    With --before and --after, or with FILE and --passes, two versions of a kernel are run on the same data instead. The first
    element that differs is printed, with the operation that first computes it differently.
    """
    compared = Compared(grid, given, kernel, seed, tolerance, target or "pvc", "json" if as_json else written)
    if before is not None or after is not None:
        if before is None or after is None or file is not None or passes is not None:
            raise LayoutError("--before and --after go together, without FILE and --passes")
        return compare_files(before, after, compared)
    if file is None:
        raise LayoutError("expected FILE, or --before and --after")
    if passes is not None:
        return compare_passes(file, passes, compiler or f"mlir-opt-{llvm}", compared)
    return _check_layouts(file, llvm, target, written, as_json)


def _check_layouts(file: str, llvm: int, target: str | None, written: str, as_json: bool) -> int:
    from layoutalg.checking import check as checked
    from layoutalg.show.checks import check_facts, print_conversions

    module = read_whole_module(file)
    say_assumed_chip(module, target)
    found = checked(module, target=target, llvm=llvm)
    if as_json:
        written = "json"
    if written == "text":
        print_conversions(found)
    write_findings(
        found.findings,
        module,
        written,
        check_facts(found),
        f"; {found.counts}{': unknown' if found.verdict == 'unknown' else ''}",
    )
    return {"right": 0, "wrong": 1, "unknown": 3}[found.verdict]
