"""`layoutalg lower`: a module at workgroup or subgroup level, as its work-items execute it."""

from __future__ import annotations

from pathlib import Path

import click

from layoutalg.cli.arguments import CHIP, LLVM_VERSION, json_option, output_option, print_json, read_whole_module

__all__ = ["lower"]


@click.command(short_help="Lower a module to lane level.")
@click.argument("file")
@click.option("--target", type=CHIP, metavar="CHIP", default="pvc", show_default=True, help="The chip it is for.")
@click.option("--llvm", type=LLVM_VERSION, default="24", show_default=True, help="The version of LLVM that reads it.")
@output_option("Write the module to a file.")
@json_option
def lower(file: str, target: str, llvm: int, output: Path | None, as_json: bool) -> int:
    """Write the module in FILE at lane level: what each work-item loads, computes, exchanges and stores.

    FILE may be `-` for standard input. Conversions between layouts become shuffles and accesses to shared memory. They are
    listed with their price when the module goes to a file. What cannot be lowered is reported on standard error with its line;
    nothing is written then, and the exit code is 1.
    """
    from rich.console import Console

    from layoutalg.core.files import write_file
    from layoutalg.propagation.lowering import lower as lower_module
    from layoutalg.show.findings import findings_facts, print_findings, summary

    module = read_whole_module(file)
    lowered = lower_module(module, target=target, llvm=llvm)
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
        print_json({**facts, "exchanges": exchanges, "findings": findings_facts(lowered.findings)})
    else:
        if output is None:
            print(text, end="")
        elif lowered.module is not None:
            for one in lowered.exchanges:
                print(one)
        if lowered.findings:
            console = Console(stderr=True, markup=False, highlight=False, emoji=False)
            print_findings(lowered.findings, module, console)
            console.print(f"{module.file}: {summary(lowered.findings)}", soft_wrap=True)
    return int(lowered.module is None)
