"""`layoutalg verify`: what one version of LLVM reports about a module, then findings that LLVM does not have."""

from __future__ import annotations

import click

from layoutalg.cli.arguments import CHIP, format_option, json_option, llvm_option, read_module_file
from layoutalg.cli.findings import write_findings
from layoutalg.core.errors import LayoutError

__all__ = ["verify"]


@click.command(short_help="Say what is wrong with a module.")
@click.argument("file")
@llvm_option("The version of LLVM whose verifiers are used.")
@click.option("--target", type=CHIP, metavar="CHIP", help="Also report block messages that this chip does not have.")
@format_option
@json_option
def verify(file: str, llvm: int, target: str | None, written: str, as_json: bool) -> int:
    """Report what LLVM's verifiers find wrong with the module in FILE, in their words, then what LLVM does not check.

    FILE may be `-` for standard input. Exits with 0 where nothing is wrong, with 1 where something is, with 2 where the text
    cannot be read (operations of unknown dialects are left out).
    """
    from layoutalg.show.findings import summary

    module = read_module_file(file)
    findings = module.verify(llvm=llvm, target=target)
    write_findings(
        findings, module, "json" if as_json else written, {"llvm": llvm, "target": target}, f" for LLVM {llvm}"
    )
    unread = set(module.findings)
    if any(finding.level == "error" and finding not in unread for finding in findings):
        return 1
    if module.is_read and all(finding.level != "error" for finding in unread):
        return 0
    raise LayoutError(f"{module.file}: not read as it stands, so LLVM would stop there ({summary(module.findings)})")
