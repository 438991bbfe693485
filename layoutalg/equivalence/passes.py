"""A pipeline of mlir-opt, pass by pass: which one does not keep the meaning.

mlir-opt prints the module after every pass (`--mlir-print-ir-after-all`); each is compared with the one before. Where a module
can't be run (from LLVM's dialect on, or what a pass left half done), the stage says why, and the next that can be run is
compared with the last that could. Where mlir-opt stops, the passes before are compared, and the last stage has its words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from layoutalg.core.errors import LayoutError
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.messages import shown
from layoutalg.core.notebook import Rows
from layoutalg.core.whole_numbers import instance_of
from layoutalg.equivalence.compare import Kept, Trial
from layoutalg.ir.installed import program_path, run_program
from layoutalg.module import Module, read

if TYPE_CHECKING:
    from layoutalg.ir.reading import Part

__all__ = ["Stage", "passes_keep_meaning"]

_DIAGNOSTIC = re.compile(r"^<[^\n>]*>:\d+:\d+: [^\n]*\n(?:[^\n]*\n[ \t]*\^\n)?", re.MULTILINE)
"""A diagnostic with the line of the source and the caret below it."""
_BANNER = re.compile(r"IR Dump After ([^\n]*?)(?: \([\w-]+\))?(?: \('.*)?$")


@dataclass(frozen=True, slots=True)
class Stage:
    """One pass: its name, what comparing found (None: the module after it can't be run), and why it can't.

    >>> Stage("CSE", Kept(None, None, (), ())).is_kept
    True
    """

    name: str
    kept: Kept | None
    problem: str = ""

    @property
    def is_kept(self) -> bool:
        """Whether the meaning is kept, as far as it was compared.

        >>> Stage("ConvertToLLVM", None, "llvm.func is not simulated").is_kept
        True
        """
        return self.kept is None or self.kept.is_kept

    def _row(self) -> dict[str, object]:
        return {"pass": self.name, "meaning": "not run" if self.kept is None else self.kept, "why": self.problem}

    def __str__(self) -> str:
        if self.kept is None:
            return f"{self.name}: not run ({self.problem})"
        return f"{self.name}: {self.kept}"


def passes_keep_meaning(
    module: Module | str,
    passes: str,
    *,
    compiler: str = f"mlir-opt-{DEFAULT_LLVM}",
    arguments: Sequence[Any] | None = None,
    grid: Sequence[int] = (1, 1, 1),
    kernel: str | None = None,
    seed: int = 0,
    tolerance: float | None = None,
    target: str = "pvc",
    progress: Callable[[float], None] | None = None,
) -> tuple[Stage, ...]:
    """Run a pipeline of mlir-opt and compare the module after each pass with the one before.

    `passes` is what mlir-opt takes after `--pass-pipeline=`, with or without `builtin.module(...)` around it; `compiler` is the
    name of a program, or its path. The rest is as for `keeps_meaning`.

    Raises `LayoutError` where the compiler is not installed, or refuses the module or the pipeline at once, in its words.

    >>> kernel = "gpu.module @m { gpu.func @k() kernel { gpu.return } }"
    >>> passes_keep_meaning(kernel, "cse", compiler="no-such-mlir-opt")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: 'no-such-mlir-opt': no such program; expected mlir-opt, or its path
    """
    instance_of(module, (Module, str), "module")
    for value, name in ((passes, "passes"), (compiler, "compiler")):
        instance_of(value, str, name)
    first = read(module) if isinstance(module, str) else module
    if not passes.strip():
        raise LayoutError("passes: expected a pipeline, such as cse,canonicalize")
    trial = Trial(first, arguments, grid, kernel, seed, target, tolerance)
    dump, refused = _dump(first.source, passes, compiler)
    parts = Module(dump, "dump").parts if dump.strip() else ()
    if refused and not parts:
        raise LayoutError(refused)
    stages: list[Stage] = []
    last = trial.module
    for number, part in enumerate(parts):
        if refused and (" Failed" in part.title or number == len(parts) - 1):
            stages.append(Stage(_name(part), None, refused))
            break
        stage = _stage(trial, last, part)
        stages.append(stage)
        if stage.kept is not None:
            last = part.module
        if progress is not None:
            progress((number + 1) / len(parts))
    return Rows(stages)


def _stage(trial: Trial, last: Any, part: Part) -> Stage:
    name = _name(part)
    try:
        return Stage(name, trial.compare(last, part.module))
    except LayoutError as error:
        return Stage(name, None, str(error))


def _name(part: Part) -> str:
    found = _BANNER.search(part.title)
    name = found[1] if found is not None else part.title
    return name.partition(": ")[0]


def _dump(text: str, passes: str, compiler: str) -> tuple[str, str]:
    """The modules after each pass, and why mlir-opt stopped (or "")."""
    program = program_path(compiler)
    if program is None:
        raise LayoutError(f"{shown(compiler)}: no such program; expected mlir-opt, or its path")
    pipeline = passes if passes.lstrip().startswith("builtin.module") else f"builtin.module({passes})"
    flags = ("--mlir-print-ir-after-all", "--mlir-print-ir-module-scope", "--mlir-disable-threading")
    done = run_program(compiler, [program, f"--pass-pipeline={pipeline}", *flags, "-o", "/dev/null"], text)
    if done.returncode == 0:
        return done.stderr, ""
    words = re.search(r"error: ([^\n]*?)(?:: %[^\n]*)?$", done.stderr, re.MULTILINE)
    problem = f"{compiler}: {words[1] if words else f'ended with code {done.returncode}'}"
    return _DIAGNOSTIC.sub("", done.stderr), problem
