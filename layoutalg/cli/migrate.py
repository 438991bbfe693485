"""`layoutalg migrate`: a module in the syntax and with the operations of another version of LLVM."""

from __future__ import annotations

from pathlib import Path

import click

from layoutalg.cli.arguments import MODULE, OneOf, json_option, llvm_option, output_option, print_json, read_module_file

__all__ = ["migrate"]


def _versions() -> tuple[int, ...]:
    from layoutalg.core.llvm_versions import llvm_versions, rules

    return tuple(version for version in llvm_versions() if not rules(version).scattered)


@click.command(short_help="Write a module for another version of LLVM.")
@click.argument("file", type=MODULE)
@llvm_option("The version of LLVM that is to read it.", OneOf(_versions))
@output_option("Write the module to a file.")
@json_option
def migrate(file: str, llvm: int, output: Path | None, as_json: bool) -> int:
    """Write the module in FILE in the syntax and with the operations of LLVM 23 or 24.

    FILE may be `-` for standard input. What has no counterpart is reported on standard error with its line,
    and the exit code is then 1; the rest is still migrated.
    """
    from rich.console import Console

    from layoutalg.core.files import write_file
    from layoutalg.show.findings import findings_facts, print_findings, summary

    module = read_module_file(file)
    migrated = module.migrate(llvm=llvm)
    text = str(migrated)
    if output is not None:
        write_file(output, text)
    if as_json:
        written = {"text": text} if output is None else {"output": str(output)}
        print_json({"file": module.file, "llvm": llvm, **written, "findings": findings_facts(migrated.findings)})
    else:
        if output is None:
            print(text, end="")
        if migrated.findings:
            console = Console(stderr=True, markup=False, highlight=False, emoji=False)
            print_findings(migrated.findings, module, console)
            console.print(f"{module.file}: {summary(migrated.findings)} for LLVM {llvm}", soft_wrap=True)
    return int(any(finding.level == "error" for finding in migrated.findings))
