"""`layoutalg lower`: a module at workgroup or subgroup level, as its work-items execute it."""

from __future__ import annotations

from functools import partial
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
)

__all__ = ["lower"]


@click.command(short_help="Lower a module to lane level.")
@click.argument("file", type=MODULE)
@file_target_option("The chip it is for.")
@llvm_option("The version of LLVM that reads it.")
@click.option(
    "--level",
    type=click.Choice(("lane",)),
    help="Decide first which layouts the module lacks: of subgroups, then of lanes.",
)
@click.option(
    "--explain", is_flag=True, help="With --level: print what was decided for every value, why, and its cost."
)
@output_option("Write the module to a file.")
@json_option
def lower(
    file: str, target: str | None, llvm: int, level: str | None, explain: bool, output: Path | None, as_json: bool
) -> int:
    """Write the module in FILE at lane level: what each work-item loads, computes, exchanges and stores.

    FILE may be `-` for standard input. With --level lane the module may lack layouts, or have none: what `propagate` chooses is
    lowered, of subgroups first and then of lanes. Conversions between layouts become shuffles and accesses to shared memory.
    They are listed with their price when the module goes to a file. What cannot be lowered is reported on standard error with
    its line; nothing is written then, and the exit code is 1.
    """
    from rich.console import Console

    from layoutalg.core.files import write_file
    from layoutalg.lanes import decided, lowered_from
    from layoutalg.lowering import lower as lower_module
    from layoutalg.module.chip import meant_chip
    from layoutalg.show.findings import findings_facts, print_findings, summary
    from layoutalg.show.propagations import print_propagation, propagation_facts

    if explain and level is None:
        raise click.UsageError("--explain: says what --level lane decides; without it nothing is decided")
    module = read_whole_module(file)
    target = meant_chip(module, target)
    done = None if level is None else decided(module, target=target, llvm=llvm)
    how = partial(lower_module, module) if done is None else partial(lowered_from, done)
    lowered = how(target=target, llvm=llvm)
    text = str(lowered)
    if output is not None and lowered.module is not None:
        write_file(output, text)
    if as_json:
        written = {"text": text} if output is None else {"output": str(output)}
        exchanges = [
            {
                "line": one.place.line if one.place is not None else None,
                "operation": one.operation,
                "from": str(one.source.canonical()),
                "to": str(one.result.canonical()),
                "kind": one.plan.kind,
                "price": one.price.facts,
                "written": one.written,
            }
            for one in lowered.exchanges
        ]
        facts = {"file": module.file, "target": target, "llvm": llvm, **(written if lowered.module is not None else {})}
        if done is not None:
            facts |= {"level": level, "decided": propagation_facts(done)}
        print_json({**facts, "exchanges": exchanges, "findings": findings_facts(lowered.findings)})
    else:
        if explain and done is not None:
            console = Console(markup=False, highlight=False, emoji=False)
            print_propagation(done, f"lane level, {target}, LLVM {llvm}", console)
            print(end="\n" if lowered.exchanges else "")
        if output is None and not explain:
            print(text, end="")
        elif lowered.module is not None:
            for one in lowered.exchanges:
                print(one)
        if lowered.findings:
            console = Console(stderr=True, markup=False, highlight=False, emoji=False)
            print_findings(lowered.findings, module, console)
            console.print(f"{module.file}: {summary(lowered.findings)}", soft_wrap=True)
            if level is None and any(finding.rule == "lower.layout" for finding in lowered.findings):
                console.print("--level lane decides the layouts that are missing", soft_wrap=True)
    return int(lowered.module is None)
