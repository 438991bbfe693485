"""What a device says of a product's candidates: times that are measured, kept in a file, and asked by later plans.

The model ranks thousands of tilings without a device. Where a machine has the chip, the first few are built, launched, checked
against a reference and timed; the file keeps every time with its problem and tiling. A plan that is given the file takes the
fastest tiling that was measured for the same problem, version of LLVM and choices, and else what the model says. A file is of
one device, whose name and driver it keeps: times of another one are not added. A GPU that is known to have another target than
the plan is not measured (`hardware.device_target`).

A device is a function from a plan to a `Timing`. `this_machine` is the one for real use: it runs the host program of the plan
(`plan.host("pyopencl")`) in a process of its own. Here is one for which
two columns of subgroups are faster than two rows:

>>> from layoutalg.gemm import plan_gemm
>>> from layoutalg.gemm.problem import Problem
>>> problem = Problem.of(64, 64, 64, target="bmg")
>>> def stand_in(plan: Gemm) -> Timing:
...     return Timing(2e-6 if plan.tiling.subgroups == (1, 2) else 3e-6, "stand-in")
>>> rows = measured_by(stand_in, top_plans(problem, 5))
>>> file = Path(tempfile.mkdtemp()) / "times.json"
>>> write_measured(file, rows)
>>> best = fastest(read_measured(file), problem)
>>> best.seconds, best.tiling.subgroups, best.device
(2e-06, (1, 2), 'stand-in')
>>> plan_gemm(64, 64, 64, target="bmg", measured=file).tiling == best.tiling
True
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from typing import Any, cast

from layoutalg.core.errors import LayoutError, PlanError
from layoutalg.core.files import as_path, read_file, write_file
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.messages import one_line, shortened, shown
from layoutalg.core.whole_numbers import whole_number
from layoutalg.gemm.choices import Choices
from layoutalg.gemm.plan import Gemm
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.search import search
from layoutalg.gemm.tiling import Tile, Tiling
from layoutalg.hardware import XeChip
from layoutalg.hardware.xe_products import device_target

__all__ = [
    "Measured",
    "Timing",
    "fastest",
    "measured_by",
    "measured_targets",
    "read_measured",
    "this_machine",
    "top_plans",
    "write_measured",
]

Device = Callable[[Gemm], "Timing"]

_MOST_MEASURED = 64
_SECONDS = 120
"""How long a host program may take, with the device's compiler."""
_LONGEST = 1e9
_VERSION = 1
_FIELDS = ("subgroups", "registers", "prefetch", "distance", "split_k", "transpose", "reduction", "stream_k")
_TIME = re.compile(r"^([0-9]+\.[0-9]+) ms a launch, mean of [0-9]+$", re.MULTILINE)
_GPU = """
import sys
try:
    import pyopencl as cl
except ImportError:
    sys.exit("pyopencl is not installed")
found = [one for platform in cl.get_platforms() for one in platform.get_devices() if one.type & cl.device_type.GPU]
sys.exit("no GPU with OpenCL found") if not found else print(found[0].name, found[0].driver_version, sep="\\n")
"""


@dataclass(frozen=True)
class Timing:
    """What a device says of a kernel whose result it has checked: seconds of a launch, its own name, its driver's version."""

    seconds: float
    device: str
    driver: str = ""


@dataclass(frozen=True)
class Measured:
    """A row of the file: the seconds of a launch with one tiling; `problem` has the fields of a `Problem` as JSON."""

    problem: str
    llvm: int
    tiling: Tiling
    seconds: float
    device: str
    driver: str = ""


def top_plans(
    problem: Problem,
    count: int = 8,
    choices: Choices | None = None,
    *,
    llvm: int = DEFAULT_LLVM,
    chip: XeChip | None = None,
) -> tuple[Gemm, ...]:
    """The plans that the model ranks first, as many as there are; `choices` are those of a caller.

    Raises `PlanError` for a count that is not from 1 to 64.

    >>> len(top_plans(Problem.of(64, 64, 64), 3))
    3
    """
    count = whole_number(count, "measure", 1, _MOST_MEASURED, error=PlanError)
    found = search(problem, choices or Choices(), llvm, chip)
    return tuple(Gemm(problem, found[place].tiling, llvm, chip) for place in range(min(count, len(found))))


def measured_by(
    device: Device, plans: Sequence[Gemm], progress: Callable[[float], None] | None = None
) -> tuple[Measured, ...]:
    """The times of plans on a device; `progress` is told the part that is done.

    Raises `PlanError` where the device refuses a kernel or finds its result wrong, and for a time that is not above 0.
    """
    rows: list[Measured] = []
    for number, plan in enumerate(plans, 1):
        found = device(plan)
        if not 0 < found.seconds < inf:
            raise PlanError(f"{plan.tiling}: {found.device} says {found.seconds} s; expected more than 0")
        rows.append(
            Measured(_key(plan.problem), plan.llvm, plan.tiling, float(found.seconds), found.device, found.driver)
        )
        if progress is not None:
            progress(number / len(plans))
    return tuple(rows)


def fastest(
    rows: Iterable[Measured], problem: Problem, choices: Choices | None = None, *, llvm: int = DEFAULT_LLVM
) -> Measured | None:
    """The fastest row for this problem and version of LLVM whose tiling has what the caller chose; None without one.

    Raises `PlanError` where the rows for it are of several devices, or of a GPU that has another target.
    """
    key, wanted = _key(problem), choices or Choices()
    found = [row for row in rows if (row.problem, row.llvm) == (key, llvm) and _allows(wanted, row.tiling)]
    devices = list(dict.fromkeys(row.device for row in found))
    if len(devices) > 1:
        raise PlanError(f"times of {' and '.join(map(shown, devices))} for one problem; keep a file for each device")
    for device in devices:
        _check_target(device, problem.target)
    return min(found, key=lambda row: row.seconds, default=None)


def measured_targets(rows: Iterable[Measured]) -> tuple[str, ...]:
    """The targets whose problems were measured, each once.

    >>> measured_targets(measured_by(lambda plan: Timing(1e-6, "stand-in"), top_plans(Problem.of(64, 64, 64), 2)))
    ('pvc',)
    """
    return tuple(dict.fromkeys(str(json.loads(row.problem).get("target")) for row in rows))


def _check_target(device: str, target: str) -> None:
    """Refuse a GPU that is known to run the kernels of another target."""
    own = device_target(device)
    if own not in (None, target):
        raise PlanError(
            f"{device} runs kernels for {own}, and the plan is for {target}; target {own!r} is planned for it"
        )


def _allows(choices: Choices, tiling: Tiling) -> bool:
    tile = tiling.tile
    has = asdict(tiling) | {"tile": (tile.m, tile.n), "k_step": tile.k}
    return all(given is None or has[name] == given for name, given in vars(choices).items())


def _key(problem: Problem) -> str:
    return json.dumps(asdict(problem), sort_keys=True)


def write_measured(path: str | os.PathLike[str], rows: Iterable[Measured]) -> None:
    """Add rows to a file, which may not exist; a row of the same problem and tiling is replaced.

    Raises `LayoutError` for a file that is something else or has times of another device, and where it cannot be written.
    """
    file = as_path(path, "measured =", PlanError)
    every = (*(read_measured(file) if file.exists() else ()), *rows)
    devices = list(dict.fromkeys(row.device for row in every))
    if len(devices) > 1:
        raise PlanError(f"{file}: times of {' and '.join(map(shown, devices))}; keep a file for each device")
    kept = {_place(row): row for row in every}
    written = [
        {
            "problem": json.loads(row.problem),
            "llvm": row.llvm,
            "tile": [row.tiling.tile.m, row.tiling.tile.n, row.tiling.tile.k],
            **{name: getattr(row.tiling, name) for name in _FIELDS},
            "seconds": row.seconds,
            "device": row.device,
            "driver": row.driver,
        }
        for row in kept.values()
    ]
    lines = ",\n".join(json.dumps(one) for one in written)
    try:
        write_file(file, f'{{"layoutalg_measured": {_VERSION}, "rows": [\n{lines}\n]}}\n')
    except OSError as problem:
        raise PlanError(one_line(f"{file}: {problem.strerror or problem}")) from None


def _place(row: Measured) -> tuple[object, ...]:
    return row.problem, row.llvm, row.tiling, row.device


def read_measured(path: str | os.PathLike[str]) -> tuple[Measured, ...]:
    """The rows of a file.

    Raises `LayoutError` for a file that cannot be read or is something else; names the row.
    """
    file = as_path(path, "measured =", PlanError)
    text = read_file(file)
    try:
        held: Any = json.loads(text)
        rows = held["rows"] if held["layoutalg_measured"] == _VERSION else None
    except (ValueError, TypeError, KeyError, RecursionError):
        rows = None
    if not isinstance(rows, list):
        raise PlanError(f"{file}: expected times that layoutalg measured (version {_VERSION}), in JSON")
    return tuple(_row(file, number, one) for number, one in enumerate(cast("list[Any]", rows), 1))


def _row(file: Path, number: int, given: Any) -> Measured:
    try:
        tile = Tile(*given["tile"])
        # files from before 2026-11-27 have none of these
        added = {"reduction": given.get("reduction", "kernel"), "stream_k": given.get("stream_k", 0)}
        tiling = Tiling(tile, **{name: given[name] for name in _FIELDS if name not in added}, **added)
        problem, seconds, device = given["problem"], given["seconds"], given["device"]
        driver = given.get("driver", "")
        llvm = whole_number(given["llvm"], "llvm", 1)
    except LayoutError as error:
        raise PlanError(f"{file}: row {number}: {error}") from None
    except (TypeError, KeyError, AttributeError):
        raise PlanError(f"{file}: row {number}: a field is missing, or of another kind") from None
    timed = isinstance(seconds, (int, float)) and not isinstance(seconds, bool) and 0 < seconds < _LONGEST
    named = all(isinstance(name, str) and name.isprintable() for name in (device, driver))
    if not (isinstance(problem, dict) and named and timed):
        raise PlanError(f"{file}: row {number}: expected a problem, seconds above 0 and the names of device and driver")
    return Measured(json.dumps(problem, sort_keys=True), llvm, tiling, float(seconds), device, driver)


def this_machine(plan: Gemm) -> Timing:
    """Build, launch, check and time a plan on this machine's GPU, by its host program in Python.

    Raises `PlanError` without pyopencl, without a GPU, for a GPU of another target, where a compiler refuses the kernel, and
    where its result is wrong.
    """
    with tempfile.TemporaryDirectory() as folder:
        name, *versions = _output([sys.executable, "-c", _GPU], folder, "--measure").splitlines() or [""]
        _check_target(name, plan.target)
        plan.build(Path(folder) / "gemm.spv")
        host = Path(folder) / "host.py"
        host.write_text(plan.host("pyopencl"), encoding="utf-8")
        said = _output([sys.executable, str(host), "gemm.spv"], folder, str(plan.tiling))
    timed = _TIME.search(said)
    if timed is None or "all right" not in said:
        raise PlanError(f"{plan.tiling}: {name} says {shown(shortened(one_line(said)))}")
    return Timing(float(timed[1]) / 1e3, name, " ".join(versions))


def _output(command: list[str], folder: str, what: str) -> str:
    """What a program prints; raises `PlanError` with its last words where it fails or takes too long."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=_SECONDS, check=False, text=True)
    except subprocess.TimeoutExpired:
        raise PlanError(f"{what}: no answer in {_SECONDS} s") from None
    if done.returncode:
        words = (done.stderr.strip() or done.stdout.strip() or f"exit {done.returncode}").splitlines()
        raise PlanError(f"{what}: {shortened(one_line(words[-1]))}")
    return done.stdout.strip()
