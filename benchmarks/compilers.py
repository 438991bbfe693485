"""What a compiler takes for a text, and tables that set it beside layoutalg in one run."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

SIZES = (2_500, 5_000, 10_000, 20_000)


def compiler_seconds(command: Sequence[str], text: str) -> float:
    """Seconds of CPU that a command takes for a text, its start included: the least of three."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.mlir"
        file.write_text(text, encoding="utf-8")
        times: list[float] = []
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([*command, str(file), "-o", "/dev/null"], check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def size_table(
    script: str,
    sizes: Sequence[int],
    columns: dict[str, str],
    text_of: Callable[[int], str],
    compiler: str,
    command: Sequence[str] | None,
) -> str:
    """A Markdown table: for each size what `script SIZE` measures in a process of its own, and what the compiler takes.

    `columns` are the seconds that the script prints, by name, with their headings; `each` are the microseconds of an operation.
    """
    lines = [
        " | ".join(["| operations", *columns.values(), "each", "peak memory", f"{compiler} |"]),
        "|" + "---:|" * (len(columns) + 4),
    ]
    for size in sizes:
        done = subprocess.run([sys.executable, script, str(size)], capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        cells = [
            f"{found['operations']:,}",
            *[f"{found[name]:.2f} s" for name in columns],
            f"{found['each']:.0f} µs",
            f"{found['megabytes']:.0f} MB",
            "" if command is None else f"{compiler_seconds(command, text_of(size)):.2f} s",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
