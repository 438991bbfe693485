"""A bar for what takes longer than two seconds: on a terminal, on standard error, gone when the work is done.

>>> with progress_bar("workgroups") as progress:
...     progress(0.75)
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Timer

__all__ = ["progress_bar"]

_PATIENCE = 2.0
"""Seconds before a bar appears."""


@contextmanager
def progress_bar(what: str) -> Generator[Callable[[float], None]]:
    """A function that is told the part that is done, from 0 to 1; it shows a bar with an estimate after two seconds."""
    if sys.stderr is None or not sys.stderr.isatty():  # pyright: ignore[reportUnnecessaryComparison]
        yield lambda part: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("after"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False),
    )
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=None)

    later = Timer(_PATIENCE, bar.start)
    later.daemon = True
    later.start()
    try:
        yield lambda part: bar.update(task, completed=part, total=1.0)
    finally:
        later.cancel()
        later.join()
        if bar.live.is_started:
            bar.stop()
