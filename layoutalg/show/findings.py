"""Findings on their way out: for people at a terminal, as JSON, as SARIF, as annotations of GitHub.

At a terminal a finding looks as a compiler's does: place and words, the line of the source, a caret, the notes. What LLVM
says is in its own words; what only layoutalg says is marked with its rule.

>>> from layoutalg.ir.places import Place
>>> from rich.console import Console
>>> module = la.read("func.func @f() {\\n  xegpu.alloc_nbarrier -1\\n  func.return\\n}")
>>> place, notes = Place("text", 2, 3), ("expected 0 or more",)
>>> ours = la.Finding("xegpu.nbarrier", "reserves -1", "xegpu.alloc_nbarrier", place, notes=notes)
>>> print_findings([ours], module, Console(width=80))
text:2:3: error: 'xegpu.alloc_nbarrier' op reserves -1 [layoutalg: xegpu.nbarrier]
  xegpu.alloc_nbarrier -1
  ^
  note: expected 0 or more

Every command that finds something wrong with a module prints it here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from layoutalg.core.messages import excerpt, printable
from layoutalg.core.plurals import counted

if TYPE_CHECKING:
    from rich.console import Console

    from layoutalg.ir.findings import Finding
    from layoutalg.module import Module

__all__ = ["findings_facts", "github_lines", "print_findings", "sarif", "summary", "version_facts", "words"]

_COLOURS = {"error": "bold red", "warning": "bold magenta"}
_STDIN = "stdin"
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def words(finding: Finding) -> str:
    """What a finding says, without its place: ours with the rule."""
    from layoutalg.ir.findings import OURS

    subject = ""
    if finding.operation == "layoutalg.unread":
        subject = "text that cannot be read "
    elif finding.operation:
        subject = f"'{finding.operation}' op " if "." in finding.operation else f"{finding.operation} "
    mark = f" [{finding.source}: {finding.rule}]" if finding.source == OURS else ""
    return f"{subject}{' '.join(finding.message.split())}{mark}"


def print_findings(findings: Iterable[Finding], module: Module, console: Console) -> None:
    """Print findings with the lines of the source that they are about."""
    from rich.text import Text

    for finding in findings:
        where = module.file if finding.place is None else str(finding.place)
        line = Text(f"{where}: ", style="bold")
        line.append(f"{finding.level}: ", style=_COLOURS[finding.level])
        line.append(printable(words(finding)))
        console.print(line, soft_wrap=True)
        if finding.place is not None and finding.place.file == module.file:
            source, caret = excerpt(module.lines.line(finding.place.line), finding.place.column, console.width)
            if source:
                console.print(Text(source), soft_wrap=True)
                console.print(Text(caret, style="bold green"), soft_wrap=True)
        for note in finding.notes:
            console.print(Text(f"  note: {printable(' '.join(note.split()))}", style="cyan"), soft_wrap=True)


def summary(findings: Sequence[Finding]) -> str:
    """How many findings there are, of what kind and by whom.

    >>> summary([la.Finding("a.b", "no", "a", None), la.Finding("a.c", "no", "a", None, source="LLVM 24", level="warning")])
    '1 error, 1 warning (1 from LLVM 24, 1 from layoutalg)'
    """
    from layoutalg.ir.findings import OURS

    levels = Counter(finding.level for finding in findings)
    sources = Counter(finding.source for finding in findings)
    parts = [counted(levels[level], level) for level in ("error", "warning") if levels[level]]
    by = ", ".join(
        f"{count} from {source}" for source, count in sorted(sources.items(), key=lambda one: one[0] == OURS)
    )
    return f"{', '.join(parts)} ({by})" if parts else "no findings"


def findings_facts(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Findings as data, for JSON."""
    return [
        {
            "rule": finding.rule,
            "level": finding.level,
            "source": finding.source,
            "operation": finding.operation,
            "message": finding.message,
            "file": None if finding.place is None else finding.place.file,
            "line": None if finding.place is None else finding.place.line,
            "column": None if finding.place is None else finding.place.column,
            "notes": list(finding.notes),
        }
        for finding in findings
    ]


def sarif(findings: Sequence[tuple[Finding, str]], problems: Sequence[str] = ()) -> dict[str, Any]:
    """Findings, each with its file, as one run of a SARIF 2.1.0 log, as code scanners take it.

    `problems` are what kept files from being looked at.
    """
    rules = list(dict.fromkeys((finding.rule, finding.source) for finding, _ in findings))
    notifications = [{"level": "error", "message": {"text": problem}} for problem in problems]
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "layoutalg",
                        **version_facts(),
                        "rules": [
                            {"id": rule, "shortDescription": {"text": f"{rule}, a rule of {source}"}}
                            for rule, source in rules
                        ],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [{"executionSuccessful": not problems, "toolExecutionNotifications": notifications}],
                "results": [
                    {
                        "ruleId": finding.rule,
                        "ruleIndex": rules.index((finding.rule, finding.source)),
                        "level": finding.level,
                        "message": {"text": "\n".join([words(finding), *finding.notes])},
                        "locations": [_location(finding, file)],
                    }
                    for finding, file in findings
                ],
            }
        ],
    }


def version_facts() -> dict[str, str]:
    """The version, of an installed layoutalg."""
    try:
        return {"version": version("layoutalg")}
    except PackageNotFoundError:
        return {}


def _location(finding: Finding, file: str) -> dict[str, Any]:
    name = file if finding.place is None else finding.place.file
    path = Path(_STDIN if name == "-" else name)
    uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
    line, column = (1, 1) if finding.place is None else (finding.place.line, finding.place.column)
    region = {"startLine": max(line, 1), "startColumn": max(column, 1)}
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}


def github_lines(findings: Iterable[Finding], file: str) -> list[str]:
    """Findings as workflow commands that GitHub turns into annotations; what would end a command is escaped.

    >>> print(github_lines([la.Finding("a.b", "50%,\\nno", "a.op", None, source="LLVM 22")], "a,b.mlir")[0])
    ::error file=a%2Cb.mlir,line=1,col=1,title=LLVM 22%3A a.b::'a.op' op 50%25, no
    """
    lines: list[str] = []
    for finding in findings:
        name, line, column = (file, 1, 1)
        if finding.place is not None:
            name, line, column = finding.place.file, finding.place.line, finding.place.column
        properties = {"file": name, "line": line, "col": column, "title": f"{finding.source}: {finding.rule}"}
        written = ",".join(f"{key}={_escaped(str(value), property=True)}" for key, value in properties.items())
        lines.append(f"::{finding.level} {written}::{_escaped(chr(10).join([words(finding), *finding.notes]))}")
    return lines


def _escaped(text: str, *, property: bool = False) -> str:
    for sign in "%\r\n:," if property else "%\r\n":
        text = text.replace(sign, f"%{ord(sign):02X}")
    return text
