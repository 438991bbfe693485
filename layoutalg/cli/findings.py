"""How commands that find something wrong with a module print it: in the format that was asked for.

>>> write_findings([], la.read("gpu.barrier"), "text", {})
text: no findings
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from layoutalg.cli.arguments import print_json

if TYPE_CHECKING:
    from layoutalg.ir.findings import Finding
    from layoutalg.module import Module

__all__ = ["write_findings"]


def write_findings(
    findings: Sequence[Finding], module: Module, written: str, facts: dict[str, Any], closing: str = ""
) -> None:
    """Print findings as `text`, `json` (with `facts`), `sarif` or `github`; `closing` ends the text's summary."""
    from rich.console import Console

    from layoutalg.show.findings import findings_facts, github_lines, print_findings, sarif, summary

    if written == "json":
        print_json({"file": module.file, **facts, "findings": findings_facts(findings)})
    elif written == "sarif":
        print_json(sarif(findings, module.file))
    elif written == "github":
        for line in github_lines(findings, module.file):
            print(line)
    else:
        console = Console(markup=False, highlight=False, emoji=False)
        print_findings(findings, module, console)
        console.print(f"{module.file}: {summary(findings)}{closing}", soft_wrap=True)
