"""How commands that find something wrong with modules print it: in the format that was asked for.

>>> write_findings([], la.read("gpu.barrier"), "text", {})
text: no findings
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from layoutalg.cli.arguments import print_json
from layoutalg.cli.refusals import error_facts
from layoutalg.core.plurals import counted

if TYPE_CHECKING:
    from layoutalg.core.errors import LayoutError
    from layoutalg.ir.findings import Finding
    from layoutalg.module import Module

__all__ = ["FindingsWriter", "write_findings"]


class FindingsWriter:
    """Prints the findings of one module after the other as `text`, `json`, `sarif` or `github`, and what closes them.

    >>> writer = FindingsWriter("text")
    >>> for _ in range(2):
    ...     writer.add([], la.read("gpu.barrier"))
    >>> writer.close({})
    2 files: no findings
    """

    def __init__(self, written: str) -> None:
        self.written = written
        self.files: list[str] = []
        self.found: list[tuple[Finding, str]] = []

    def add(self, findings: Sequence[Finding], module: Module) -> None:
        """The findings of a module; people and GitHub see them at once."""
        from layoutalg.show.findings import github_lines, print_findings

        self.files.append(module.file)
        self.found += [(finding, module.file) for finding in findings]
        if self.written == "text":
            print_findings(findings, module, _console())
        elif self.written == "github":
            for line in github_lines(findings, module.file):
                print(line)

    def close(self, facts: dict[str, Any], closing: str = "", problem: LayoutError | None = None) -> None:
        """What comes last: JSON with `facts`, a log of SARIF (both with the `problem`), or the line that `closing` ends."""
        from layoutalg.show.findings import findings_facts, sarif, summary

        findings = [finding for finding, _ in self.found]
        if self.written == "json":
            failed = {} if problem is None else error_facts(problem)
            print_json({**facts, "findings": findings_facts(findings), **failed})
        elif self.written == "sarif":
            print_json(sarif(self.found, () if problem is None else (str(problem),)))
        elif self.written == "text" and self.files:
            of = self.files[0] if len(self.files) == 1 else counted(len(self.files), "file")
            _console().print(f"{of}: {summary(findings)}{closing}", soft_wrap=True)


def write_findings(
    findings: Sequence[Finding], module: Module, written: str, facts: dict[str, Any], closing: str = ""
) -> None:
    """Print the findings of one module as `text`, `json` (with `facts`), `sarif` or `github`; `closing` ends the summary."""
    writer = FindingsWriter(written)
    writer.add(findings, module)
    writer.close({"file": module.file, **facts}, closing)


def _console() -> Any:
    from rich.console import Console

    return Console(markup=False, highlight=False, emoji=False)
