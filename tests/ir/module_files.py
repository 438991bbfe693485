"""Modules written for the tests, one file per theme: what each is about, and which compilers accept it.

A file of `tests/ir/modules` holds modules with `// -----` between them, as `--split-input-file` cuts them. The first line of
each says its title and its compilers: `// products at subgroup and lane level: 22 23 24`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

MODULES = Path(__file__).parent / "modules"
_HEAD = re.compile(r"\A// (?P<title>.*): (?P<compilers>[\w. -]+)\n")


@dataclass(frozen=True)
class WrittenModule:
    """One module, where it comes from, and the compilers that accept it."""

    file: str
    title: str
    compilers: frozenset[str]
    text: str

    def __str__(self) -> str:
        return f"{self.file}: {self.title}"


def written_modules(pattern: str = "*.mlir") -> list[WrittenModule]:
    """The modules of the files that a pattern names."""
    found: list[WrittenModule] = []
    for path in sorted(MODULES.glob(pattern)):
        for text in path.read_text(encoding="utf-8").split("// -----\n"):
            head = _HEAD.match(text)
            assert head is not None, f"{path.name}: a module without a title: {text[:80]!r}"
            found.append(WrittenModule(path.name, head["title"], frozenset(head["compilers"].split()), text))
    return found
