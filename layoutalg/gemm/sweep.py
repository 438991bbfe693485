"""Thousands of products planned at once, on as many workers as there are, resumable, with nothing lost.

>>> rows = sweep([(4096, 4096, 4096), (8, 4096, 64), {"m": 64, "n": 64, "k": 50, "lda": 40}])
>>> [(row["m"], row["tile"], row["limit"]) for row in rows[:2]]
[(4096, '32x64x64', 'issue'), (8, '8x32x64', 'memory')]
>>> rows[2]["error"][51:]
'row has 50 elements, so the leading dimension is 50 at least'

A row has numbers and texts only, so `pandas.DataFrame(rows)` makes a table of them. `executor` is any executor of
`concurrent.futures`: a `ProcessPoolExecutor`, or the one of a Dask cluster (`Client(...).get_executor()`).

With `file`, every row is written there as soon as it is known, a line of JSON each. A sweep that was stopped goes on where it
was: problems whose rows are in the file are not planned again. By hand: the file begins with a line that says what wrote it,
so after a sweep of three problems it has four lines; where the last one is torn, because the machine stopped in the middle of
it, the next sweep leaves it out and plans that problem again.

The law: rows come in the order of the problems, one for each, whatever executor there is and in whatever order workers finish.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from contextlib import nullcontext
from functools import partial

from layoutalg.core.errors import PlanError
from layoutalg.core.files import as_path
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.messages import shown
from layoutalg.core.notebook import MOST_ROWS, table
from layoutalg.core.progress import progress_bar
from layoutalg.gemm.executor import Lost, done_by
from layoutalg.gemm.plan_row import Arguments, Row, arguments_of, key_of, lost_row, row_of
from layoutalg.gemm.sweep_file import appending, rows_in
from layoutalg.gemm.versions import checked_version

__all__ = ["MOST_PROBLEMS", "sweep"]

_SHOWN = (
    "m",
    "n",
    "k",
    "a",
    "b",
    "c",
    "target",
    "tile",
    "subgroups",
    "registers",
    "prefetch",
    "split_k",
    "microseconds",
    "tflops",
    "part_of_peak",
    "limit",
    "error",
)
"""The columns that a notebook shows."""

MOST_PROBLEMS = 10**6
"""The most problems of one sweep: their rows are all in memory at its end."""


class Swept(list[Row]):
    """The rows of a sweep; a notebook shows what differs most in a table, `pandas.DataFrame(rows)` all of it.

    >>> sweep([(64, 64, 64)])._repr_html_().count("<tr>")
    2
    """

    def _repr_html_(self) -> str:
        used = [name for name in _SHOWN if any(row.get(name) not in (None, "") for row in self[:MOST_ROWS])]
        return table(used, [[_said(row.get(name)) for name in used] for row in self[:MOST_ROWS]], len(self))


def _said(value: object) -> object:
    return "" if value is None else f"{value:.3g}" if isinstance(value, float) else value


def sweep(
    problems: Iterable[object],
    executor: Executor | None = None,
    *,
    file: str | os.PathLike[str] | None = None,
    llvm: int = DEFAULT_LLVM,
    progress: Callable[[float], None] | None = None,
) -> list[Row]:
    """Plan many products; returns a row for each, in their order.

    A problem is sizes (m, n, k), a `Problem`, or a mapping of arguments of `plan_gemm`. A problem that cannot be planned has a
    row whose `error` says why; so has one whose workers died again and again. `progress` is told the part that is done, from 0
    to 1; without it a bar appears on a terminal after two seconds.

    Raises:
        PlanError: for what is not a problem, more than a million of them, an executor without `submit`, and other versions.
        LayoutError: for a file that no sweep wrote.
        OSError: for a file that cannot be read or written.

    >>> sweep([{"m": 64, "n": 64, "k": 64, "a": "s8", "target": "bmg"}])[0]["acc"]
    's32'
    """
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise PlanError(f"executor {shown(executor)}: expected an executor of concurrent.futures, with submit")
    if progress is not None and not callable(progress):
        raise PlanError(f"progress {shown(progress)}: expected a function that takes a number")
    path = None if file is None else as_path(file, "file", PlanError)
    version = checked_version(llvm)
    arguments = _all(problems)
    keys = [key_of(one, version) for one in arguments]
    known = {} if path is None else rows_in(path)
    wanted = {key: one for key, one in zip(keys, arguments, strict=True) if key not in known}
    order = list(wanted)
    bar = progress_bar("products planned") if progress is None else nullcontext(progress)
    total, done = len(keys), len(keys) - len(order)
    lost: dict[str, Row] = {}
    with bar as told, appending(path) as write:
        for number, row in done_by(executor, partial(row_of, llvm=version), wanted.values()):
            key = order[number]
            if isinstance(row, Lost):  # not written: a sweep that goes on tries it again
                lost[key] = lost_row(wanted[key], row)
            else:
                known[key] = row
                write(key, row)
            done += 1
            told(min(1.0, done / total))
    return Swept([dict(known.get(key) or lost[key]) for key in keys])


def _all(problems: Iterable[object]) -> list[Arguments]:
    try:
        given = None if type(problems) in (str, bytes, dict) else iter(problems)
    except TypeError:
        given = None
    if given is None:
        raise PlanError(f"problems of type {type(problems).__name__}: expected a list of problems")
    found: list[Arguments] = []
    for one in given:
        if len(found) == MOST_PROBLEMS:
            raise PlanError(f"more than {MOST_PROBLEMS} problems: plan them in parts")
        found.append(arguments_of(one))
    return found
