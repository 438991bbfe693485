"""Compilers as programs: which one a name means, and many modules through one pipeline without a crash taking the others along.

>>> found("nothing")
Traceback (most recent call last):
layoutalg.core.errors.LayoutError: 'nothing': no such program; give a name on the PATH (mlir-opt-24, iree-opt) or a path

Modules go in together, separated by `// -----`. Where the program dies of a signal or does not answer in time, the batch is
halved until the module that does it stands alone.
"""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from layoutalg.core.errors import LayoutError
from layoutalg.core.messages import shown
from layoutalg.ir.installed import program_path

__all__ = ["NO_ANSWER", "Answer", "Compiler", "found", "run_all"]

SEPARATOR = "\n// -----\n"
NO_ANSWER = "no answer within"
"""How the words of a compiler that had to be stopped begin."""
_SECONDS = 10.0
"""For one module; a batch has more for each."""
_EACH = 0.1
_ERROR = re.compile(r"^(?:<stdin>|within split at <stdin>:(\d+) offset ?):(\d+):\d+: error: (.*)$", re.MULTILINE)
_NAME = re.compile(r"\b(?:gpu|func)\.func (?:private )?@([\w.$-]+)")


@dataclass(frozen=True, slots=True)
class Compiler:
    """A program that optimises MLIR: of LLVM, or of IREE."""

    name: str
    path: str
    family: Literal["llvm", "iree"]
    version: str

    @property
    def llvm(self) -> int:
        """The version whose syntax it reads: LLVM's own; what IREE reads is spelled as for 24."""
        return int(self.version) if self.family == "llvm" else 24


@dataclass(frozen=True, slots=True)
class Answer:
    """What a compiler made of a module: its text, or the words of a refusal, or how it died."""

    text: str | None = None
    refusal: str = ""
    crash: str = ""


def found(name: str) -> Compiler:
    """The compiler of a name on the PATH (or beside this Python, where `make toolchains` unpacks them), or of a path.

    Raises `LayoutError` where there is no such program, or where it says it is neither LLVM's nor IREE's.

    >>> found("sh")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: 'sh': --version says neither LLVM nor IREE; expected an mlir-opt or an iree-opt
    """
    path = program_path(name)
    if path is None:
        raise LayoutError(f"{shown(name)}: no such program; give a name on the PATH (mlir-opt-24, iree-opt) or a path")
    return _identified(name, path)


@lru_cache(maxsize=64)
def _identified(name: str, path: str) -> Compiler:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError) as error:
        raise LayoutError(f"{shown(name)}: cannot be run with --version: {error}") from None
    said = done.stdout + done.stderr
    iree = re.search(r"IREE[^\n]*?(\d+\.\d+)", said + (_beside(path) if "iree" in Path(path).name else ""))
    llvm = re.search(r"LLVM version (\d+)", said)
    if iree is not None:
        return Compiler(Path(path).name, path, "iree", iree[1])
    if llvm is None:
        raise LayoutError(f"{shown(name)}: --version says neither LLVM nor IREE; expected an mlir-opt or an iree-opt")
    from layoutalg.core.llvm_versions import llvm_versions

    known = llvm_versions()
    if int(llvm[1]) not in known:
        there = ", ".join(map(str, known))
        raise LayoutError(f"{shown(name)}: LLVM {llvm[1]}; pipelines are known for {there}")
    return Compiler(Path(path).name, path, "llvm", llvm[1])


def _beside(path: str) -> str:
    """What the iree-compile beside an iree-opt says: iree-opt itself gives LLVM's version alone."""
    for name in (Path(path), Path(path).resolve()):
        program = name.with_name("iree-compile")
        if program.exists():
            done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=_SECONDS, check=False)
            return done.stdout
    return "IREE 0.0"


def run_all(
    compiler: Compiler,
    texts: Mapping[str, str],
    pipeline: str,
    *,
    options: Sequence[str] = (),
    seconds: float = _SECONDS,
) -> dict[str, Answer]:
    """Every module through a pipeline; each has one function, whose name is its key."""
    if not texts:
        return {}
    command = [compiler.path, "--split-input-file", f"--pass-pipeline={pipeline}", *options]
    names = list(texts)
    code, output, words = _run(
        command, SEPARATOR.join(texts[name] for name in names), seconds + _EACH * (len(names) - 1)
    )
    if code in (0, 1):
        made = _by_name(output)
        errors = _errors(words, [texts[name] for name in names])
        answers: dict[str, Answer] = {}
        for number, name in enumerate(names):
            if number in errors:
                answers[name] = Answer(refusal=errors[number])
            elif name in made:
                answers[name] = Answer(text=made[name])
            elif len(names) == 1:
                answers[name] = Answer(refusal=words.strip().partition("\n")[0][:300] or "it printed nothing")
            else:
                answers |= run_all(compiler, {name: texts[name]}, pipeline, options=options, seconds=seconds)
        return answers
    if len(names) == 1:
        return {names[0]: Answer(crash=_died(code, words))}
    middle = len(names) // 2
    return {
        name: answer
        for half in (names[:middle], names[middle:])
        for name, answer in run_all(
            compiler, {name: texts[name] for name in half}, pipeline, options=options, seconds=seconds
        ).items()
    }


def _run(command: Sequence[str], text: str, seconds: float) -> tuple[int, str, str]:
    """Exit code (below 0: a signal; 1000: out of time), output, messages."""
    try:
        done = subprocess.run(
            command, input=text.encode(), capture_output=True, timeout=seconds, check=False, start_new_session=True
        )
    except subprocess.TimeoutExpired:
        return 1000, "", f"{NO_ANSWER} {seconds:.0f} s"
    except OSError as error:
        raise LayoutError(f"{command[0]}: cannot be run: {error}") from None
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def _died(code: int, words: str) -> str:
    """How a program died, and where: the signal, and the first function of the compiler's own in its stack."""
    if code == 1000:
        return words
    number = -code if code < 0 else code - 128
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"exit code {code}"
    said = re.search(r"(?m)^(?:LLVM ERROR: .*|.*Assertion .* failed.*)$", words)
    if said is not None:
        return f"{name}: {said[0][:200]}"
    frames = re.findall(r"(?m)^ *#?\d+ .*?\b((?:mlir|llvm)::[\w:~]+)", words)
    where = [frame for frame in frames if not frame.startswith(("llvm::sys::", "llvm::PrettyStack"))]
    return f"{name} in {where[0]}" if where else name


def _by_name(text: str) -> dict[str, str]:
    parts = re.split(r"(?m)^// -----$", text)
    named = ((_NAME.search(part), part) for part in parts)
    return {name[1]: part for name, part in named if name is not None}


def _errors(words: str, texts: Sequence[str]) -> dict[int, str]:
    """The first error of each module, by its number."""
    starts: list[int] = []
    line = 1
    for text in texts:
        starts.append(line)
        line += (text + SEPARATOR).count("\n")
    errors: dict[int, str] = {}
    for one in _ERROR.finditer(words):
        at = int(one[2]) + (int(one[1]) - 1 if one[1] else 0)
        number = max((i for i, start in enumerate(starts) if start <= at), default=0)
        errors.setdefault(number, one[3])
    return errors
