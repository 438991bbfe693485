"""`layoutalg verify`: what one version of LLVM reports about modules, then findings that LLVM does not have.

Many files are one report: the findings of each, and one closing line. A file that cannot be opened or read does not keep the
others from being looked at; it is named at the end, on standard error.
"""

from __future__ import annotations

import click

from layoutalg.cli.arguments import (
    CHIP,
    MODULE,
    format_option,
    json_option,
    llvm_option,
    module_files,
    read_module_file,
)
from layoutalg.cli.findings import FindingsWriter
from layoutalg.cli.refusals import refuse
from layoutalg.core.errors import LayoutError
from layoutalg.core.plurals import counted

__all__ = ["verify"]


@click.command(short_help="Say what is wrong with modules.")
@click.argument("files", nargs=-1, required=True, type=MODULE)
@llvm_option("The version of LLVM whose verifiers are used.")
@click.option("--target", type=CHIP, metavar="CHIP", help="Also report block messages that this chip does not have.")
@format_option
@json_option
def verify(files: tuple[str, ...], llvm: int, target: str | None, written: str, as_json: bool) -> int:
    """Report what LLVM's verifiers find wrong with the modules in FILES, in their words, then what LLVM does not check.

    Of a folder, all .mlir and .ttgir files below it are looked at; `-` is standard input. Exits with 0 where nothing is wrong,
    with 1 where something is, with 2 where a text cannot be read (operations of unknown dialects are left out).
    """
    from layoutalg.show.findings import summary

    report = FindingsWriter("json" if as_json else written)
    wrong = False
    problems: list[LayoutError] = []
    for name in module_files(files):
        try:
            module = read_module_file(name)
        except LayoutError as error:
            problems.append(error)
            continue
        findings = module.verify(llvm=llvm, target=target)
        report.add(findings, module)
        unread = set(module.findings)
        if any(finding.level == "error" and finding not in unread for finding in findings):
            wrong = True
        elif not module.is_read or any(finding.level == "error" for finding in unread):
            said = f"not read as it stands, so LLVM would stop there ({summary(module.findings)})"
            problems.append(LayoutError(f"{module.file}: {said}"))
    problem = _one(problems)
    report.close({"files": report.files, "llvm": llvm, "target": target}, f" for LLVM {llvm}", problem)
    return int(wrong) if problem is None else refuse(problem)


def _one(problems: list[LayoutError]) -> LayoutError | None:
    """The first problem, with how many files have others."""
    if len(problems) < 2:
        return problems[0] if problems else None
    return LayoutError(f"{problems[0]}; {counted(len(problems) - 1, 'more file')} cannot be read")
