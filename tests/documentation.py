"""How the code in Markdown is run: the README and every page of `docs/` go through here.

A fenced block is one of

- `python`: a doctest session; the blocks of a page are one session, in order, with one namespace;
- `console`: commands `$ layoutalg ...` and what they print, run in an empty directory;
- `mlir`: attributes, types or layouts, one per line or with aliases, which `layoutalg.parse` reads;
- `c`: a program with the header of a built product, which `tests/oracle/test_amx_command_line.py` compiles and runs;
- `yaml`: a workflow or a configuration of pre-commit; `tests/cli/test_verify_files.py` reads it;
- settings of an editor; one of `UNEXECUTED`, letter by letter; `COMPLETION`, which `tests/cli/test_completion.py` runs, or
  `WALK`, which a test with compilers runs.

Everything else is a mistake: `mistakes` finds it, so that a block that nobody runs can't slip in.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import layoutalg as la
from layoutalg.cli import main
from layoutalg.ir import read_module, write_module

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
NOTEBOOKS = ROOT / "notebooks"

UNEXECUTED = {
    ("sh", "git clone <this repository> && cd layoutalg\npip install .\n"),
    ("sh", "make test\nmake toolchains\nmake test-all\n"),
    ("sh", "pip install 'layoutalg[lsp]'\n"),
    ("sh", "make vscode\ncode --install-extension build/layoutalg.vsix\n"),
}
"""The blocks that are not run: they install things."""
SETTINGS = ("lua", "elisp", "toml")
"""The languages of editors' settings, which are not run."""
WALK = (
    "sh",
    """\
sudo apt-get install python3-venv make mlir-22-tools
python3 -m venv fresh
. fresh/bin/activate
pip install . pyopencl intel-opencl-rt intel-cmplr-lib-rt
layoutalg gemm 64 96 128 --llvm 22 --host pyopencl -o launch
make -C launch cpu
""",
)
"""From nothing to a number on a CPU; `tests/oracle/test_hosts.py` runs its last two lines."""

COMPLETION = (
    "sh",
    """\
eval "$(_LAYOUTALG_COMPLETE=bash_source layoutalg)"
eval "$(_LAYOUTALG_COMPLETE=zsh_source layoutalg)"
_LAYOUTALG_COMPLETE=fish_source layoutalg | source
""",
)
"""What makes shells complete; `tests/cli/test_completion.py` runs each line in its shell, where that is there."""

COMMAND = "$ layoutalg "
_FENCE = re.compile(r"( *)(`{3,}|~{3,})([^\n]*)")
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"#{1,6} +(.*?)(?: *\{[^}]*\})? *#*")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, the line of the page (from 1) on which the text begins."""

    language: str
    text: str
    line: int
    indent: int = 0


@dataclass(frozen=True)
class Page:
    """A Markdown file."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def text(self) -> str:
        return self.path.read_text()

    def blocks(self, language: str | None = None) -> list[Block]:
        """The fenced blocks, of one language or all; one that is not closed runs to the end, as in Markdown."""
        found: list[Block] = []
        opening: re.Match[str] | None = None
        start = 0
        lines = self.text.splitlines()
        for number, line in enumerate([*lines, None], 1):
            fence = None if line is None else _FENCE.fullmatch(line)
            if opening is None:
                opening, start = fence, number + 1
            elif line is None or (fence and fence[2].startswith(opening[2]) and not fence[3].strip()):
                body = "".join(f"{one}\n" for one in lines[start - 1 : number - 1])
                found.append(Block(opening[3].strip(), body, start, len(opening[1])))
                opening = None
        return [block for block in found if language in (None, block.language)]

    def prose(self) -> list[str]:
        """The lines of the page, those of fenced blocks (and the fences) empty."""
        lines = self.text.splitlines()
        for block in self.blocks():
            size = block.text.count("\n")
            lines[block.line - 2 : block.line + size] = [""] * len(lines[block.line - 2 : block.line + size])
        return lines

    def links(self) -> list[str]:
        """Where the page's links lead, those to other hosts left out; what stands in backticks is none."""
        prose = re.sub(r"`[^`\n]*`", "", "\n".join(self.prose()))
        return [link for link in _LINK.findall(prose) if "://" not in link]

    def anchors(self) -> set[str]:
        """The anchors of the page's headings, as Markdown's table of contents makes them."""
        anchors: set[str] = set()
        for line in self.prose():
            heading = _HEADING.fullmatch(line)
            if heading:
                plain = unicodedata.normalize("NFKD", heading[1].replace("`", "")).encode("ascii", "ignore").decode()
                slug = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())
                anchors.add(next(s for s in (slug, *(f"{slug}_{i}" for i in range(1, 99))) if s not in anchors))
        return anchors


def pages() -> list[Page]:
    """Every page of the site."""
    return [Page(path) for path in sorted(DOCS.rglob("*.md"))]


# Sessions


def run_sessions(page: Page) -> tuple[int, str]:
    """Run the page's Python sessions, as one; how many examples there were, and a report of what failed."""
    kept = [""] * len(page.text.splitlines())
    for block in page.blocks("python"):
        for i, line in enumerate(block.text.splitlines(), block.line - 1):
            kept[i] = line
    test = doctest.DocTestParser().get_doctest("\n".join(kept) + "\n", {}, page.name, page.name, 0)
    report: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    return runner.run(test, out=report.append).attempted, "".join(report)


@dataclass(frozen=True)
class Command:
    """A command line after `$ layoutalg`, and what is shown below it."""

    arguments: str
    shown: str


def commands(block: Block) -> list[Command]:
    """The commands of a console block."""
    parts = re.split(rf"^{re.escape(COMMAND)}", block.text, flags=re.MULTILINE)
    return [Command(*(part.split("\n", 1) if "\n" in part else (part, ""))) for part in parts[1:]]


def run_command(command: Command) -> str:
    """What the command prints; the exit code is 2, and the one line on standard error, where an error is shown."""
    out, err = io.StringIO(), io.StringIO()
    arguments = shlex.split(command.arguments)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    refused = command.shown.startswith("layoutalg: ")
    assert code == (2 if refused else 0), err.getvalue()
    assert not (out if refused else err).getvalue()
    # Help names the program that was started, which is not `layoutalg` here.
    return re.sub(rf"\AUsage: .*? (?={arguments[0]} )", "Usage: layoutalg ", (err if refused else out).getvalue())


def words(text: str) -> list[list[str]]:
    """The words of each line; empty lines and rules of a table do not count."""
    lines = (line.split() for line in text.splitlines())
    return [line for line in lines if line and not set("".join(line)) <= {"─"}]


def read_mlir(block: Block) -> Iterator[object]:
    """Read a block's attributes and types, or its module; each is what it prints."""
    if "gpu.module" in block.text or "func.func" in block.text:
        module = read_module(block.text)
        written = write_module(module)
        assert write_module(read_module(written)) == written
        yield module
        return
    lines = [line for line in block.text.splitlines() if line.strip()]
    aliased = any(re.match(r"\s*[#!]\w+\s*=", line) for line in lines)
    for text in [block.text] if aliased else lines:
        value = la.parse(text)
        assert la.parse(str(value)) == value
        yield value


# What must not be there


def mistakes(page: Page) -> list[str]:
    """Every block of the page that nothing runs, with its line: empty for a page that is in order."""
    found: list[str] = []
    for block in page.blocks():
        problem = _problem(block)
        if problem:
            found.append(f"{page.name}:{block.line}: {problem}")
    for number, line in enumerate(page.prose(), 1):
        if line.startswith(("    ", "\t")) and not (page.path.parent.name == "api" and _is_option(page, number)):
            found.append(f"{page.name}:{number}: an indented line would be a code block; use a fence")
        plain = re.sub(r"`[^`]*`", "", line)
        if re.search(r"<(pre|code|script)\b", plain):
            found.append(f"{page.name}:{number}: code in HTML; use a fence")
        if re.search(r"[\w)]\*[\w(]", plain):
            found.append(f"{page.name}:{number}: a product outside backticks, where two of them are emphasis")
    return found


def _problem(block: Block) -> str | None:
    if block.indent:
        return "an indented fence; begin it in the first column"
    if not block.text.strip():
        return "an empty block"
    if block.language == "python":
        if "+SKIP" in block.text:
            return "an example that is skipped"
        paragraphs = re.split(r"\n\s*\n", block.text.strip("\n"))
        if not all(paragraph.startswith(">>> ") for paragraph in paragraphs):
            return "a line that is not run: a session and each part of it after a blank line begins with >>>"
    elif block.language == "console":
        if not block.text.startswith(COMMAND):
            return f"a console block begins with {COMMAND!r}"
        if re.search(rf"^\$(?!{re.escape(COMMAND[1:])})", block.text, re.MULTILINE):
            return f"a command that is not run: each is {COMMAND!r}..."
    elif block.language == "c":
        if '#include "gemm.h"' not in block.text:
            return "a program in C that nothing compiles: it includes gemm.h"
    elif block.language == "yaml":
        if "layoutalg" not in block.text:
            return "a configuration that nothing reads: it uses the hook or the action"
    elif block.language not in ("mlir", *SETTINGS) and (block.language, block.text) not in {
        *UNEXECUTED,
        COMPLETION,
        WALK,
    }:
        return f"a block {block.language!r} that nothing runs"
    return None


def _is_option(page: Page, number: int) -> bool:
    """Whether the line belongs to the options of a `:::` directive, which mkdocstrings reads."""
    lines = page.text.splitlines()[: number - 1]
    while lines and lines[-1].startswith("    "):
        lines.pop()
    return bool(lines) and lines[-1].startswith("::: ")
