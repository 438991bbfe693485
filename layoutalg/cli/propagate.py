"""`layoutalg propagate`: complete the layouts of a module, and place the cheapest conversions."""

from __future__ import annotations

from pathlib import Path

import click

from layoutalg.cli.arguments import (
    MODULE,
    file_target_option,
    json_option,
    llvm_option,
    output_option,
    print_json,
    read_whole_module,
    say_assumed_chip,
)

__all__ = ["propagate"]

_LEVELS = ("lane", "inst", "workgroup")
_LIKE = ("llvm22", "llvm23", "llvm24")


@click.command(short_help="Complete the layouts of a module at the least cost.")
@click.argument("file", type=MODULE)
@click.option(
    "--level",
    type=click.Choice(_LEVELS),
    default="lane",
    show_default=True,
    help="What the layouts say: LLVM's layout-kind.",
)
@file_target_option("The chip whose messages and prices count.")
@llvm_option("The version of LLVM that reads the result.")
@click.option("--like", type=click.Choice(_LIKE), help="Take the layouts that this version of LLVM chooses instead.")
@click.option("--explain", is_flag=True, help="Print what was decided for every value, why, and what it costs.")
@output_option("Write the module to a file.")
@json_option
def propagate(
    file: str,
    level: str,
    target: str | None,
    llvm: int,
    like: str | None,
    explain: bool,
    output: Path | None,
    as_json: bool,
) -> int:
    """Complete the layouts of the module in FILE, with the cheapest conversions between them.

    FILE may be `-` for standard input. Layouts that the module states stay. The other values get those that cost the least in
    all, where loads, stores and products take only some. The module is printed, or written to a file; with --explain the
    reasons are printed instead. Exits with 0; with 1 where an operation cannot take a value in any layout; with 2 where the
    text cannot be read.
    """
    from rich.console import Console

    from layoutalg.core.files import write_file
    from layoutalg.module.chip import meant_chip
    from layoutalg.show.findings import findings_facts, print_findings, summary
    from layoutalg.show.propagations import print_propagation, propagation_facts
    from layoutalg.side.llvm_passes import propagate as propagated
    from layoutalg.side.llvm_passes.comparing import compared

    module = read_whole_module(file)
    say_assumed_chip(module, target)
    target = meant_chip(module, target)
    done = propagated(module, level=level, target=target, llvm=llvm, like=like)
    llvm = llvm if done.like is None else done.like
    if output is not None:
        write_file(output, str(done))
    others = (
        [compared(module, level, target, llvm)] if explain and like is None and "#ttg." not in module.source else []
    )
    if as_json:
        written = {"text": str(done)} if output is None else {"output": str(output)}
        asked = {"level": level, "target": target, "llvm": llvm}
        facts = propagation_facts(done, others)
        print_json({"file": module.file, **asked, **written, **facts, "findings": findings_facts(done.findings)})
    else:
        if explain:
            console = Console(markup=False, highlight=False, emoji=False)
            print_propagation(done, f"{level} level, {target}, LLVM {llvm}", console, others)
        elif output is None:
            print(str(done), end="")
        if done.findings:
            errors = Console(stderr=True, markup=False, highlight=False, emoji=False)
            print_findings(done.findings, module, errors)
            errors.print(f"{module.file}: {summary(done.findings)}", soft_wrap=True)
    return int(any(finding.level == "error" for finding in done.findings))
