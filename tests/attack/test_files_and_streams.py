"""Full disks, closed streams, broken pipes, folders without permission: one line, exit code 2, and the old file as it was.

Each fault is the program in a process of its own, with a limit on the size of files (`RLIMIT_FSIZE`; Python ignores the signal,
so that a write fails as it does on a full disk), a stream that is closed or full, or a folder that cannot be written.
"""

from __future__ import annotations

import ctypes
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.attack.effort import SEED, SHARE
from tests.attack.isolated import environment
from tests.refusals import wrong_refusal

OLD = "what was there before\n"
NAMES = ("old.svg", "old.html", "old.png", "old.pdf", "old.mlir")
LAYOUT = "d0 = 32@reg, d1 = 16@lane"
DRAW = ("draw", LAYOUT, "-o")
_PIPED = ("convert", "d0 = 2@reg 16@lane", "d0 = 16@lane 2@reg")
CONVERT = ("convert", "d0 = 8@reg, d1 = 8@lane", "d0 = 8@lane, d1 = 8@reg", "-o", "old.mlir")
GEMM = ("gemm", "64", "64", "64", "-o", "old.mlir")
_DROP, _PAST_PERMISSIONS = 24, (1, 2)
"""prctl(2): take capabilities from the bounding set; CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH."""
SHOW = (
    "show",
    "#xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16], lane_layout = [1, 16], lane_data = [1, 1]>",
    "32x64",
)


@dataclass(frozen=True)
class Fault:
    """A command, what is broken around it, and the exit codes that are right."""

    arguments: tuple[str, ...]
    codes: tuple[int, ...] = (2,)
    limit: Callable[[], None] | None = None
    stdin: bytes | str = b""
    """Bytes, or the name of a file or folder to read, or "closed"."""
    stdout: str = "pipe"
    """"pipe", "closed", "full", "broken"."""
    stderr: str = "pipe"
    variables: dict[str, str] = field(default_factory=dict[str, str])
    locked: bool = False
    """Whether permissions count, which root passes over otherwise."""


def _small_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))


def _no_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


FAULTS: dict[str, Fault] = {
    **{f"a full disk, {name}": Fault((*DRAW, name), limit=_small_files) for name in NAMES[:4]},
    **{f"an empty disk, {name}": Fault((*DRAW, name), limit=_no_files) for name in NAMES[:4]},
    "a full disk, conversion": Fault(CONVERT, limit=_small_files),
    "a full disk, gemm": Fault(GEMM, limit=_small_files),
    "an empty disk, conversion": Fault((*CONVERT, "--json"), limit=_no_files),
    "an empty disk, gemm": Fault((*GEMM, "--json"), limit=_no_files),
    "a refusal after the plan": Fault(("gemm", "65536", "65536", "65536", "--run", "-o", "old.mlir")),
    "a refusal of the size": Fault(("gemm", "7", "7", "7", "-o", "old.mlir")),
    "a refusal of the picture": Fault((*DRAW, "old.svg", "--colour", "nothing")),
    "an ending that is not read": Fault((*DRAW, "old.mlir")),
    "a folder in the place of a file": Fault((*DRAW, "folder.svg")),
    "a file in the place of a folder": Fault((*DRAW, "old.svg/new.svg")),
    "a folder that cannot be made": Fault((*DRAW, "/proc/none/new.svg")),
    "a name that is too long": Fault((*DRAW, "x" * 300 + ".svg")),
    "a name that is not UTF-8": Fault((*DRAW, "\udcff.svg"), codes=(0, 2)),
    "a kernel whose name is not UTF-8": Fault((*GEMM[:-1], "\udcff.mlir"), codes=(0, 2)),
    "a folder without permission, picture": Fault((*DRAW, "locked/new.svg"), locked=True),
    "a folder without permission, kernel": Fault((*GEMM[:-1], "locked/new.mlir"), locked=True),
    "a file without permission": Fault((*DRAW, "locked/old.svg"), locked=True),
    "standard output full, show": Fault(SHOW, stdout="full"),
    "standard output full, json": Fault((*SHOW, "--json"), stdout="full"),
    "standard output full, gemm": Fault(GEMM[:-2], stdout="full"),
    "standard output full, help": Fault(("--help",), stdout="full", codes=(0, 2)),
    "standard output closed, show": Fault(SHOW, stdout="closed", codes=(0, 2)),
    "standard output closed, gemm": Fault(GEMM[:-2], stdout="closed", codes=(0, 2)),
    "standard output closed, draw": Fault((*DRAW, "old.svg"), stdout="closed", codes=(0, 2)),
    "standard error closed, show": Fault(("show", "nonsense"), stderr="closed"),
    "standard error full": Fault(("show", "nonsense"), stderr="full"),
    "all streams closed": Fault(SHOW, stdin="closed", stdout="closed", stderr="closed", codes=(0, 2)),
    "all streams closed and a refusal": Fault(("show", "-"), stdin="closed", stdout="closed", stderr="closed"),
    "a broken pipe, show": Fault(SHOW, stdout="broken", codes=(0,)),
    "a broken pipe, gemm": Fault(GEMM[:-2], stdout="broken", codes=(0,)),
    "a broken pipe, json": Fault((*_PIPED, "--emit", "--json"), stdout="broken", codes=(0,)),
    "a broken pipe, list": Fault(("list", "gfx942"), stdout="broken", codes=(0,)),
    "a broken pipe for errors": Fault(("show", "nonsense"), stderr="broken"),
    "standard input closed": Fault(("show", "-"), stdin="closed"),
    "standard input empty": Fault(("show", "-")),
    "standard input not UTF-8": Fault(("show", "-"), stdin=b"\xe9"),
    "standard input UTF-16": Fault(("show", "-"), stdin="d0 = 4@lane".encode("utf-16")),
    "standard input NULs": Fault(("show", "-"), stdin=b"\0" * 1000),
    "standard input 20 MB": Fault(("show", "-"), stdin=b" " * 20_000_000),
    "standard input endless": Fault(("show", "-"), stdin="/dev/zero"),
    "an argument that is not UTF-8": Fault(("show", "\udce9")),
    "a locale of ASCII": Fault(SHOW, variables={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, codes=(0,)),
    "a terminal of ASCII": Fault(SHOW, variables={"PYTHONIOENCODING": "ascii"}, codes=(0, 2)),
    "an unknown terminal": Fault(SHOW, variables={"TERM": "none", "COLUMNS": "0"}, codes=(0,)),
    "one column": Fault(SHOW, variables={"COLUMNS": "1"}, codes=(0,)),
    "columns that are not a number": Fault(SHOW, variables={"COLUMNS": "x"}, codes=(0,)),
    "an unknown backend of matplotlib": Fault((*DRAW, "old.png"), variables={"MPLBACKEND": "bogus"}, codes=(0, 2)),
}  # fmt: skip
SOME = sorted(FAULTS) if SHARE >= 0.1 else random.Random(SEED).sample(sorted(FAULTS), 8)


def _folder(path: Path) -> None:
    for name in NAMES:
        (path / name).write_text(OLD)
        (path / name).chmod(0o644)
    (path / "folder.svg").mkdir()
    (path / "locked").mkdir()
    (path / "locked" / "old.svg").write_text(OLD)
    (path / "locked" / "old.svg").chmod(0o444)
    (path / "locked").chmod(0o555)
    path.chmod(0o755)


def _state(path: Path) -> dict[str, bytes]:
    return {str(one.relative_to(path)): b"" if one.is_dir() else one.read_bytes() for one in sorted(path.rglob("*"))}


def _changed(before: dict[str, bytes], folder: Path) -> list[str]:
    return sorted({name for name, _ in before.items() ^ _state(folder).items()})


def _stream(kind: str) -> Any:
    if kind == "full":
        return os.open("/dev/full", os.O_WRONLY)
    if kind == "broken":
        reads, writes = os.pipe()
        os.close(reads)
        return writes
    return subprocess.PIPE


def _run(fault: Fault, folder: Path) -> tuple[int, str, str]:
    libc = ctypes.CDLL(None)
    closed = [n for n, how in ((0, fault.stdin), (1, fault.stdout), (2, fault.stderr)) if how == "closed"]

    def prepare() -> None:
        if fault.limit is not None:
            fault.limit()
        resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))
        if fault.locked and os.geteuid() == 0:
            for capability in _PAST_PERMISSIONS:
                libc.prctl(_DROP, capability, 0, 0, 0)
        for number in closed:
            os.close(number)

    named = isinstance(fault.stdin, str) and fault.stdin != "closed"
    stdin = os.open(folder / fault.stdin, os.O_RDONLY) if named else subprocess.PIPE  # type: ignore[operator]
    streams = [_stream(fault.stdout), _stream(fault.stderr)]
    process = subprocess.Popen(
        [sys.executable, "-m", "layoutalg", *fault.arguments],
        cwd=folder, env=environment() | fault.variables, preexec_fn=prepare, stdin=stdin, stdout=streams[0], stderr=streams[1],
    )  # fmt: skip
    for one in (stdin, *streams):
        if one >= 0:
            os.close(one)
    try:
        out, err = process.communicate(
            fault.stdin if isinstance(fault.stdin, bytes) and not named else None, timeout=120
        )
    finally:
        process.kill()
    return process.returncode, (out or b"").decode("utf-8", "replace"), (err or b"").decode("utf-8", "replace")


@pytest.mark.parametrize("name", SOME)
def test_a_fault_is_one_line_and_leaves_files_as_they_were(name: str) -> None:
    fault = FAULTS[name]
    with tempfile.TemporaryDirectory() as folder:  # pytest's own is closed to other users
        _try(fault, Path(folder))


def _try(fault: Fault, folder: Path) -> None:
    _folder(folder)
    before = _state(folder)
    code, out, err = _run(fault, folder)
    (folder / "locked").chmod(0o755)
    said = f"exit code {code}, {err[-800:]!r} on standard error"
    assert "Traceback" not in err + out, said
    assert "Exception ignored" not in err, said
    assert code in fault.codes, said
    if code == 2 and fault.stderr == "pipe":
        assert wrong_refusal(err) is None, said
    changed = _changed(before, folder)
    assert code == 0 or not changed, f"{said}; these files changed: {changed}"


def test_a_picture_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    program = (
        "import layoutalg as la, resource\n"
        f"picture = la.Layout.parse({LAYOUT!r}).picture()\n"
        "picture.figure()\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))\n"
        "for name in ('old.svg', 'old.html', 'old.png', 'old.pdf'):\n"
        "    try:\n"
        "        picture.save(name)\n"
        "    except OSError:\n"
        "        continue\n"
        "    raise SystemExit(f'{name} was saved')\n"
    )
    _folder(tmp_path)
    before = _state(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment(), check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert _changed(before, tmp_path) == []


def test_an_interrupt_ends_the_program_and_leaves_the_old_file(tmp_path: Path) -> None:
    _folder(tmp_path)
    before = _state(tmp_path)
    command = [sys.executable, "-m", "layoutalg", "gemm", "1024", "1024", "1024", "--run", "-o", "old.mlir"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert b"Traceback" not in err
    # 0: it had ended before. -2: an import was interrupted, whose `exec` makes Python end by the signal after our refusal.
    assert process.returncode in (0, 2, 130, -signal.SIGINT)
    assert process.returncode == 0 or _changed(before, tmp_path) == []
