"""Damaged files through every entry: each command and each Python call that takes a module answers or refuses it, soon.

A module of the other tests loses lines, words move, numbers change (`real_files`); what is left goes through one entry:
reading, verifying, printing, migrating, checking, propagating, lowering, running, comparing, or a command. An entry answers,
or raises LayoutError on one line; what it prints can be read again; it writes at most some hundred times what it was given.
A value that is used before its definition is found by `verify`, in every version.
"""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.attack import real_files
from tests.attack.effort import PARTS
from tests.attack.isolated import Attack, Complaint, complaint_about, run
from tests.refusals import wrong_json_refusal, wrong_refusal

_MOST_WRITTEN = 8_000_000
"""Characters that an entry may print or write about a file of some kilobytes."""
_LONGEST_REFUSAL = 3000
CHIPS = ("pvc", "bmg", "dg2", "spr")
VERSIONS = (22, 23, 24)
LEVELS = ("lane", "inst", "workgroup")


def _read(la: Any, text: str, rng: random.Random) -> Any:
    module = la.read(text)
    sizes = [len(module.layouts), len(module.conversions), len(module.aliases), len(module.findings)]
    shown = [str(use.layout()) for use in module.layouts[:50] if use.shape is not None] if rng.random() < 0.5 else []
    again = pickle.loads(pickle.dumps(module))
    assert again == module, "a module is another one after pickling"
    return sizes, shown, module.is_read, [str(finding) for finding in module.findings]


def _printed(la: Any, text: str, rng: random.Random) -> Any:
    """What is printed is read again, and printed alike."""
    llvm = rng.choice(VERSIONS)
    module = la.read(text)
    printed = module.text(llvm=llvm)
    if not module.findings and printed.strip() and not module.verify(llvm=llvm):
        again = la.read(printed)
        assert not again.findings, f"printed for LLVM {llvm}, and not read again: {again.findings[0]}"
        assert again.text(llvm=llvm) == printed, f"printed for LLVM {llvm}, and printed otherwise when it is read again"
    return printed


def _verify(la: Any, text: str, rng: random.Random) -> Any:
    return [str(one) for one in la.read(text).verify(llvm=rng.choice(VERSIONS), target=rng.choice((None, *CHIPS)))]


def _used_before(la: Any, text: str, rng: random.Random) -> Any:
    whole = rng.choice(real_files.corpus())
    moved = real_files.used_before(rng, whole)
    llvm = rng.choice(VERSIONS)
    if moved is None or la.read(whole).verify(llvm=llvm):
        return None
    found = la.read(moved).verify(llvm=llvm)
    assert found, f"a value is used before it is defined, and LLVM {llvm} has nothing to say: {moved}"
    return [str(one) for one in found]


def _run(la: Any, text: str, rng: random.Random) -> Any:
    from layoutalg.equivalence.data import arrays_for, kernel_of

    module = la.read(text)
    try:
        arguments = arrays_for(kernel_of(next(part.module for part in module.parts)))
    except (la.LayoutError, StopIteration):
        arguments = [rng.choice((4, 0.5, -1))] * rng.randrange(4)
    outcome = module.run(arguments, rng.choice(((1,), (2, 1, 1), (1, 3))), target=rng.choice(CHIPS[:3]))
    return [str(one) for one in outcome.findings], repr(outcome)[:100]


def _kept(la: Any, text: str, rng: random.Random) -> Any:
    """A kernel means what it means itself."""
    kept = la.keeps_meaning(text, text)
    assert kept.difference is None, f"a kernel does not keep its own meaning: {kept.difference}"
    return str(kept)


def _lower(la: Any, text: str, rng: random.Random) -> Any:
    lowered = la.lower(la.read(text), target=rng.choice(CHIPS[:3]), llvm=rng.choice(VERSIONS))
    return str(lowered.module), [str(one) for one in lowered.findings]


def _propagate(la: Any, text: str, rng: random.Random) -> Any:
    done = la.propagate(text, level=rng.choice(LEVELS), target=rng.choice(CHIPS[:3]), llvm=rng.choice(VERSIONS))
    return str(done), [str(one) for one in done.findings]


def _check(la: Any, text: str, rng: random.Random) -> Any:
    found = la.check(text, target=rng.choice(CHIPS[:3]), llvm=rng.choice(VERSIONS))
    return str(found), found.is_right, [str(one) for one in found.findings]


def _migrate(la: Any, text: str, rng: random.Random) -> Any:
    done = la.read(text).migrate(llvm=rng.choice((23, 24)))
    return str(done), [str(one) for one in done.findings]


def _parse(la: Any, text: str, rng: random.Random) -> Any:
    return str(la.parse(text))


Entry = Callable[[Any, str, random.Random], object]
CALLS: dict[str, Entry] = {
    "read": _read, "printed": _printed, "verify": _verify, "used before": _used_before, "run": _run, "kept": _kept,
    "lower": _lower, "propagate": _propagate, "check": _check, "migrate": _migrate, "parse": _parse,
}  # fmt: skip
COMMANDS: dict[str, tuple[str, ...]] = {
    "verify": ("--llvm 22", "--target bmg", "--format sarif", "--json"),
    "check": ("--llvm 22", "--target dg2", "--format sarif", "--json", "--before FILE --after FILE"),
    "show": ("--json", "--op %x", "--lane 3", "--at 0,0", "--strict", "--blocks"),
    "propagate": ("--level inst", "--level workgroup", "--like llvm22", "--like llvm24", "--explain", "--json", "-o out.mlir"),
    "lower": ("--level lane", "--explain", "--target bmg", "--llvm 22", "--json", "-o out.mlir"),
    "migrate": ("--llvm 23", "--json", "-o out.mlir"),
    "run": ("--arg C:8x16xf32", "--arg 16", "--arg C:32x32xf32", "--level workgroup", "--trace %x", "--json", "-o C.npy"),
    "sweep": ("--a i8", "--json", "-o rows.jsonl"),
    "draw": ("--full", "--json"),
    "banks": ("--json",), "same": ("--json",), "convert": ("--json", "--emit"),
}  # fmt: skip
NEEDED = {"migrate": ["--llvm", "24"], "run": ["--grid", "1"], "draw": ["-o", "out.svg"]}
TWICE = ("banks", "same", "convert")


class Case(NamedTuple):
    entry: str
    text: str
    seed: int
    arguments: tuple[str, ...] = ()


class Modules(Attack):
    seconds = 4.0
    lasting = (
        *CALLS,
        *(f"{name} 2" for name in COMMANDS),
        "verify 1",
        "check 0",
        "lower 1",
        "propagate 0",
        "migrate 0",
    )
    prepared = False

    def prepare(self, seed: int, first: int, count: int) -> None:
        import layoutalg as la
        from layoutalg.cli import main

        self.la, self.main = la, main
        real_files.corpus()
        kernel = next(one for one in real_files.corpus() if "gpu.func" in one and "kernel" in one)
        for name in (*CALLS, *COMMANDS):  # it imports what it needs; the attack itself complains
            with contextlib.suppress(Exception):
                self._answer(Case(name, kernel, 0, tuple(self._arguments(name, random.Random(0)))))

    def _arguments(self, name: str, rng: random.Random) -> list[str]:
        """Of a command: its options; the file is `k.mlir`, or standard input."""
        if name not in COMMANDS or (name in CALLS and rng.random() < 0.5):
            return []
        options = [*NEEDED.get(name, [])]
        for some in COMMANDS[name]:
            if rng.random() < 0.3:
                options += some.replace("FILE", "k.mlir").split(" ")
        texts = ["-" if rng.random() < 0.2 else "k.mlir"]
        if name in TWICE:
            texts.insert(rng.randrange(2), "d0 = 8@reg, d1 = 16@lane")
        if "--before" in options:
            texts = []
        return [name, *texts, *options]

    def case(self, rng: random.Random) -> Case:
        name = rng.choice((*CALLS, *COMMANDS))
        return Case(name, real_files.file(rng), rng.randrange(2**32), tuple(self._arguments(name, rng)))

    def smaller(self, case: Case) -> Iterator[Case]:
        for text in real_files.smaller(case.text):
            if text.strip():
                yield case._replace(text=text)
        for i in range(1, len(case.arguments)):
            yield case._replace(arguments=case.arguments[:i] + case.arguments[i + 1 :])

    def shown(self, case: Case) -> str:
        said = " ".join(case.arguments) if case.arguments else f"{case.entry} with seed {case.seed}"
        return f"{said} of {case.text!r}"

    def _answer(self, case: Case) -> object:
        if not case.arguments:
            return CALLS[case.entry](self.la, case.text, random.Random(case.seed))
        return self._command(case)

    def _command(self, case: Case) -> str:
        """What a command says; AssertionError for a wrong exit code or wrong words."""
        Path("k.mlir").write_bytes(case.text.encode("utf-8", "surrogatepass"))
        streams = sys.stdin, sys.stdout, sys.stderr
        out, err = io.BytesIO(), io.BytesIO()
        sys.stdin = io.TextIOWrapper(io.BytesIO(case.text.encode("utf-8", "surrogatepass")), "utf-8")
        sys.stdout = io.TextIOWrapper(out, "utf-8", write_through=True)
        sys.stderr = io.TextIOWrapper(err, "utf-8", "backslashreplace", write_through=True)
        kept = sys.stdout, sys.stderr
        try:
            code: object = self.main(list(case.arguments))
        finally:
            sys.stdin, sys.stdout, sys.stderr = streams
        for stream in kept:
            stream.flush()
        said, errors = out.getvalue().decode(), err.getvalue().decode()
        written = sum(path.stat().st_size for path in Path().iterdir() if path.is_file() and path.name != "k.mlir")
        for path in Path().iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        self.tally[f"{case.arguments[0]} {code}"] += 1
        assert type(code) is int and code in (0, 1, 2, 3), f"exit code {code!r}"  # noqa: PT018
        assert "Traceback" not in said + errors, f"a traceback: {errors[-500:]}"
        if code == 2:
            wrong = wrong_refusal(errors) or ("--json" in case.arguments and wrong_json_refusal(said))
            assert not wrong, f"a refusal: {wrong}: {errors[:300]!r}"
            assert not written, f"a refusal ({errors[:200]!r}) that writes {written} bytes"
        elif "--json" in case.arguments or "sarif" in case.arguments:
            json.loads(said if "-o" not in case.arguments or said else "0")
        assert len(said) + len(errors) + written <= _MOST_WRITTEN, f"{len(said)} + {len(errors)} + {written} bytes"
        return said

    def attempt(self, case: Case) -> Complaint | None:
        if not case.arguments:
            self.tally[case.entry] += 1
        try:
            found = self._answer(case)
        except self.la.LayoutError as error:
            words = str(error)
            if words.strip() and "\n" not in words and len(words) <= _LONGEST_REFUSAL:
                return None
            return Complaint(f"words of {case.entry}", f"{len(words)} characters: {words[:300]!r}")
        except AssertionError as error:
            said = str(error)
            return Complaint(f"{case.entry}: {said.split(':')[0][:60]}", said[:700]) if said else complaint_about(error)
        size = len(repr(found))
        return Complaint(f"size of {case.entry}", f"{size} characters") if size > _MOST_WRITTEN else None


@pytest.mark.parametrize("part", range(PARTS))
def test_30_000_damaged_modules_are_answered_or_refused(part: int, tmp_path: Path) -> None:
    run(Modules, part, 30_000, tmp_path)
