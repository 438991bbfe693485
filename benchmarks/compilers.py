"""What a compiler takes for a text, for the benchmarks that set it beside layoutalg in one run."""

from __future__ import annotations

import resource
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path


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
