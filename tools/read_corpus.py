"""How much of a folder of MLIR files layoutalg reads, beside the installed mlir-opts: a table, and what is not read and why.

    python tools/read_corpus.py FOLDER [FOLDER ...] [--limit 40] [--unread FILE]

Files are cut at `// -----`. A module counts as read where `read_file_text` keeps no operation as text and reports no error.
mlir-opt-22 is looked for on the PATH, 23 and 24 also where `make toolchains` unpacks them. `--unread` writes the names of the
operations that were not read, with how often, into a file.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from layoutalg.ir import Finding, read_file_text

ROOT = Path(__file__).parent.parent
CUT = re.compile(r"^// -----[ \t]*\r?\n", re.MULTILINE)
REFUSED = re.compile(r"^(?:within split at [^\n]*?:(\d+) offset )?[^\n]*?:(\d+):(\d+): error:", re.MULTILINE)


@dataclass
class Piece:
    """One module of a file: where it begins, and who accepts it."""

    file: Path
    line: int
    text: str
    accepted: set[str]
    findings: list[Finding]


def pieces(folder: Path) -> Iterator[Piece]:
    """The modules of all files in a folder that hold more than comments."""
    for file in sorted(folder.rglob("*.mlir")):
        text = file.read_text(encoding="utf-8", errors="replace")
        start = 0
        for end in [*(found.end() for found in CUT.finditer(text)), len(text) + 1]:
            part = text[start:end]
            if re.sub(r"//[^\n]*", "", part).strip():
                yield Piece(file, text.count("\n", 0, start) + 1, CUT.sub("\n", part), set(), [])
            start = end


def compilers() -> dict[str, str]:
    """The installed mlir-opts, by version."""
    found: dict[str, str] = {}
    for version in ("22", "23", "24"):
        name = f"mlir-opt-{version}"
        path = shutil.which(name) or shutil.which(name, path=str(ROOT / ".venv" / "newtools" / "bin"))
        if path is not None:
            found[version] = path
    return found


def ask(program: str, version: str, parts: list[Piece]) -> None:
    """Note on each piece whether a compiler accepts it: one call for all, and one for each piece behind a crash."""
    joined = "// -----\n".join(part.text if part.text.endswith("\n") else part.text + "\n" for part in parts)
    done = subprocess.run(
        [program, "--split-input-file", "-o", "/dev/null", "-"],
        input=joined,
        capture_output=True,
        text=True,
        timeout=300,
    )
    starts: dict[int, Piece] = {}
    line = 1
    for part in parts:
        starts[line] = part
        line += part.text.count("\n") + (not part.text.endswith("\n")) + 1
    if done.returncode not in (0, 1):
        for part in parts:
            if len(parts) > 1:
                ask(program, version, [part])
        return
    refused: set[int] = set()
    for found in REFUSED.finditer(done.stderr):
        at = int(found[1]) if found[1] else int(found[2])
        refused.add(max(start for start in starts if start <= at))
    for start, part in starts.items():
        if start not in refused:
            part.accepted.add(version)


def main() -> int:
    """Read the folders and print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folders", nargs="+", type=Path)
    options.add_argument("--limit", type=int, default=40, help="lines of what is not read")
    options.add_argument("--unread", type=Path)
    given = options.parse_args()
    programs = compilers()
    table: list[tuple[str, ...]] = []
    reasons: Counter[str] = Counter()
    names: Counter[str] = Counter()
    first: dict[str, Piece] = {}
    for folder in given.folders:
        parts = list(pieces(folder))
        for piece in parts:
            reading = read_file_text(piece.text, file=str(piece.file))
            piece.findings = [
                finding for finding in reading.findings if finding.level == "error" or finding.rule == "read.operation"
            ]
        for version, program in programs.items():
            by_file: dict[Path, list[Piece]] = {}
            for piece in parts:
                by_file.setdefault(piece.file, []).append(piece)
            for some in by_file.values():
                ask(program, version, some)
        row = [str(folder), str(len(parts))]
        for version in programs:
            accepted = [piece for piece in parts if version in piece.accepted]
            read = sum(not piece.findings for piece in accepted)
            share = f" ({100 * read / len(accepted):.0f}%)" if accepted else ""
            row.append(f"{read} of {len(accepted)}{share}")
        table.append(tuple(row))
        for piece in parts:
            if piece.accepted:
                for finding in piece.findings:
                    names[finding.operation] += 1
                for reason in {f"{finding.operation}: {finding.message}" for finding in piece.findings}:
                    reasons[reason] += 1
                    first.setdefault(reason, piece)
    head = ("folder", "modules", *(f"read, of those LLVM {version} accepts" for version in programs))
    widths = [max(len(row[column]) for row in (head, *table)) for column in range(len(head))]
    for row in (head, *table):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    if reasons:
        print("\nNot read, of what a compiler accepts: modules, reason, first place")
    for reason, count in reasons.most_common(given.limit):
        finding = next(one for one in first[reason].findings if reason == f"{one.operation}: {one.message}")
        line = first[reason].line + (finding.place.line if finding.place else 1) - 1
        print(f"{count:5}  {reason}  [{first[reason].file.name}:{line}]")
    if given.unread is not None:
        given.unread.write_text("".join(f"{count:5} {name}\n" for name, count in names.most_common()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
