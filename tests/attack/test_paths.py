"""Files whose names look like something else: what a command says of `@k.mlir` or `-k.mlir` is what it says of `plain.mlir`.

Each command is run in process on a file with an ordinary name, and on the same file under another name: one that begins with
`@` or `-`, that is an option, a layout, an argument of a run or a value's name, or that has blanks, quotes and wildcards.
A name that begins with `-` stands behind `--` or behind `./`; behind an option it stands as it is. The exit code,
the words (with the name replaced) and the files that are written must be the same.
"""

from __future__ import annotations

import io
import json
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tests.attack.effort import PARTS
from tests.attack.isolated import Attack, Complaint, run

STEMS = (
    "@k", "-k", "@", "--json", "-o", "--", "@@k", "-@k", "@-k", "k@v", "~", "$HOME", "*", "[a]", "a b", "k;v", "k'v", "(k)",
    "%0", "#l", "!t", "C=D", "a=b=c", "k:1", "C:8x16xf32", "512", "0.5", "-1", "8x16", "d0 = 4@lane", "gpu.barrier", "k\\v",
    "é", "k.mlir", "<k>", "k&v", "{k}", "%s", "NUL", ".k", "k,v", "--help", "@file",
)  # fmt: skip
PLAIN = "plain"
"""The stem of the ordinary names."""
_KERNEL = """gpu.module @m { gpu.func @k(%a: memref<8x16xf32>, %c: memref<8x16xf32>) kernel
  attributes {intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: 16, 1, 1>} {
  %t = xegpu.create_nd_tdesc %a : memref<8x16xf32> -> !xegpu.tensor_desc<8x16xf32>
  %u = xegpu.create_nd_tdesc %c : memref<8x16xf32> -> !xegpu.tensor_desc<8x16xf32>
  %x = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<8x16xf32> -> vector<8x16xf32>
  xegpu.store_nd %x, %u[0, 0] : vector<8x16xf32>, !xegpu.tensor_desc<8x16xf32>
  gpu.return } }
"""
_WRONG = "module {\n  my.op to nowhere\n  xegpu.alloc_nbarrier -1\n}\n"
INPUTS = {".mlir": _KERNEL, ".wrong.mlir": _WRONG, ".txt": "64 64 64\n"}
LAYOUT, OTHER = "d0 = 4@reg, d1 = 4@lane", "d0 = 4@lane, d1 = 4@reg"
COMMANDS = (
    ("verify", "FILE.mlir"), ("verify", "FILE.wrong.mlir"), ("verify", "FILE.mlir", "--json"),
    ("verify", "FILE.wrong.mlir", "--format", "sarif"), ("verify", "FILE.wrong.mlir", "--format", "github"),
    ("verify", "FILE.missing.mlir"), ("check", "FILE.mlir"), ("check", "FILE.wrong.mlir", "--json"),
    ("check", "--before", "FILE.mlir", "--after", "FILE.mlir"),
    ("check", "--before", "FILE.mlir", "--after", "FILE.wrong.mlir"),
    ("show", "FILE.mlir"), ("show", "FILE.wrong.mlir"), ("propagate", "FILE.mlir"),
    ("propagate", "FILE.mlir", "-o", "FILE.out"),
    ("lower", "FILE.mlir", "--level", "lane"), ("lower", "FILE.mlir", "--level", "lane", "-o", "FILE.out"),
    ("lower", "FILE.wrong.mlir"), ("migrate", "FILE.mlir", "--llvm", "24", "-o", "FILE.out"),
    ("migrate", "FILE.mlir", "--llvm", "23"),
    ("run", "FILE.mlir", "--grid", "1", "--arg", "FILE.npy", "--arg", "C:8x16xf32", "-o", "C=FILE.out.npy"),
    ("run", "FILE.mlir", "--grid", "1", "--arg", "FILE.npy:f32", "--arg", "C:8x16xf32", "--json"),
    ("run", "FILE.mlir", "--grid", "1", "--arg", "FILE.missing.npy", "--arg", "C:8x16xf32"),
    ("sweep", "FILE.txt"), ("sweep", "FILE.txt", "-o", "FILE.out.jsonl"), ("sweep", "FILE.missing.txt"),
    ("draw", LAYOUT, "-o", "FILE.svg"), ("draw", LAYOUT, "-o", "FILE.html"), ("draw", LAYOUT, "-o", "FILE.gif"),
    ("convert", LAYOUT, OTHER, "-o", "FILE.out"), ("convert", LAYOUT, OTHER, "--picture", "FILE.svg"),
    ("convert", LAYOUT, OTHER, "-o", "FILE.out", "--picture", "FILE.svg", "--json"),
    ("gemm", "64", "64", "64", "-o", "FILE.out"), ("gemm", "64", "64", "64", "--target", "amx", "-o", "FILE.out"),
    ("attention", "64", "64", "32", "-o", "FILE.out"), ("weights", "8", "64", "128", "-o", "FILE.out"),
)  # fmt: skip
"""FILE stands for a name without its ending."""


class Case(NamedTuple):
    command: tuple[str, ...]
    stem: str
    behind: bool
    """Whether a file that begins with `-` stands behind `--`, and not behind `./`."""


class Paths(Attack):
    seconds = 4.0
    lasting = ("0", "1", "2", "written")

    def prepare(self, seed: int, first: int, count: int) -> None:
        from layoutalg.cli import main

        self.main = main
        self.array = io.BytesIO()
        np.save(self.array, np.arange(128, dtype=np.float32).reshape(8, 16))
        self.plain: dict[tuple[str, ...], tuple[object, str, str, dict[str, bytes]]] = {}
        for command in COMMANDS:
            self._usual(command)

    def case(self, rng: random.Random) -> Case:
        command, stem = rng.choice(COMMANDS), rng.choice(STEMS)
        if " = " in stem and "FILE.missing.mlir" in command:
            stem = "d0=4@lane"  # with blanks it may be a line of a log that ends in a file's name
        return Case(command, stem, rng.random() < 0.5)

    def shown(self, case: Case) -> str:
        return f"main({self._arguments(case)!r})"

    def smaller(self, case: Case) -> Iterator[Case]:
        return iter(())

    @staticmethod
    def _arguments(case: Case) -> list[str]:
        """The command line; names that begin with `-` are behind `--`, or begin with `./`."""
        words = [word.replace("FILE", case.stem) for word in case.command]
        if not case.stem.startswith("-"):
            return words
        bare = [i for i, word in enumerate(case.command) if word.startswith("FILE") and i == 1]
        if not bare:
            return words
        if not case.behind:
            return [words[0], f"./{words[1]}", *words[2:]]
        return [words[0], *words[2:], "--", words[1]]

    def _usual(self, command: tuple[str, ...]) -> tuple[object, str, str, dict[str, bytes]]:
        if command not in self.plain:
            self.plain[command] = self._said(Case(command, PLAIN, False))
        return self.plain[command]

    def _said(self, case: Case) -> tuple[object, str, str, dict[str, bytes]]:
        """The exit code, both outputs, and the files that were written, with the name replaced by FILE."""
        for path in Path().iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for ending, text in INPUTS.items():
            Path(case.stem + ending).write_text(text, encoding="utf-8")
        Path(case.stem + ".npy").write_bytes(self.array.getvalue())
        before = {path.name for path in Path().iterdir()}
        streams = sys.stdin, sys.stdout, sys.stderr
        out, err = io.BytesIO(), io.BytesIO()
        sys.stdin = io.TextIOWrapper(io.BytesIO(b""), "utf-8")
        sys.stdout = io.TextIOWrapper(out, "utf-8", write_through=True)
        sys.stderr = io.TextIOWrapper(err, "utf-8", "backslashreplace", write_through=True)
        kept = sys.stdout, sys.stderr
        try:
            code: object = self.main(self._arguments(case))
            for stream in kept:
                stream.flush()
        finally:
            sys.stdin, sys.stdout, sys.stderr = streams
        written = {
            path.name.replace(case.stem, "FILE", 1): b"" if path.is_dir() else path.read_bytes()
            for path in Path().iterdir()
            if path.name not in before
        }
        return code, _renamed(out.getvalue().decode(), case), _renamed(err.getvalue().decode(), case), written

    def attempt(self, case: Case) -> Complaint | None:
        code, out, err, written = self._said(case)
        usual, usual_out, usual_err, usual_written = self._usual(case.command)
        self.tally[str(code)] += 1
        self.tally["written"] += bool(written)
        if code != usual:
            return Complaint(
                f"exit code of {case.command[0]}", f"exit code {code!r}, {usual!r} for {PLAIN}: {err[:300]!r}"
            )
        if {name: _renamed(data.decode("latin-1"), case) for name, data in written.items()} != {
            name: _renamed(data.decode("latin-1"), Case(case.command, PLAIN, False))
            for name, data in usual_written.items()
        }:
            return Complaint(
                f"files of {case.command[0]}", f"{sorted(written)} are written, {sorted(usual_written)} for {PLAIN}"
            )
        if out != usual_out or err != usual_err:
            return Complaint(
                f"words of {case.command[0]}",
                f"{(out + err)[:600]!r}, and {(usual_out + usual_err)[:600]!r} for {PLAIN}",
            )
        return None


def _renamed(text: str, case: Case) -> str:
    """The words with the names of files replaced, in all the ways in which they may be written, and blanks that align them."""
    from urllib.parse import quote

    for ending in (".wrong.mlir", ".mlir", ".missing.mlir", ".missing.txt", ".missing.npy", ".txt", ".npy", ".out.npy",
                   ".out.jsonl", ".out", ".svg", ".html", ".gif", ""):  # fmt: skip
        name = case.stem + ending
        if not ending:
            continue
        escaped = name.replace("%", "%25")
        for one in (f"./{name}", repr(name)[1:-1], quote(name), escaped.replace(":", "%3A").replace(",", "%2C"), escaped, name,
                    name.replace("\\", "\\\\"), json.dumps(name)[1:-1], ascii(name)[1:-1]):  # fmt: skip
            text = text.replace(one, f"FILE{ending}")
    return " ".join(text.replace('"', "'").split())


@pytest.mark.parametrize("part", range(PARTS))
def test_4_000_names_of_files_are_names_of_files(part: int, tmp_path: Path) -> None:
    run(Paths, part, 4_000, tmp_path)
