"""Samples of the tests, in one process for each processor: each reads, imports and runs its share of the files.

    python -m tests.shares quick [folders and options of pytest]
    python -m tests.shares all [folders and options of pytest]

`quick` takes two minutes: a little of every family, without those that ask compilers or take long. `all` takes half a second of
every family, at least one case, and of a file's long tests without cases as many as fit into it, by turns. (`--sample SECONDS`
for more or less.) The closing lines say how many of how many tests ran.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

ASKED = {
    "quick": ("--sample=0.05", "-m", "not slow", "--ignore=tests/oracle"),
    "all": ("--sample=0.5",),
}
REST = {
    "quick": "`make test-all` runs nearly all, and those that ask compilers; `make exhaustive` runs all.",
    "all": "`make exhaustive` runs all.",
}


def main(which: str, arguments: list[str]) -> int:
    """Run the sample, and return the first exit status that is bad; what the first process says is seen at once."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with TemporaryDirectory() as folder:
        processes: list[subprocess.Popen[bytes]] = []
        for own in range(count):
            asked = [
                "-q",
                "--ignore=tests/attack",
                *ASKED[which],
                f"--share={own}/{count}",
                f"--counts={folder}/{own}.json",
                *arguments,
            ]
            with Path(folder, f"{own}.txt").open("wb") as said:
                processes.append(
                    subprocess.Popen(
                        [sys.executable, "-m", "pytest", *asked],
                        stdout=said if own else None,
                        stderr=subprocess.STDOUT if own else None,
                    )
                )
        statuses = [process.wait() for process in processes]
        for own in range(1, count):
            sys.stdout.write(Path(folder, f"{own}.txt").read_text(encoding="utf-8", errors="replace"))
        counted: Counter[str] = Counter()
        for file in Path(folder).glob("*.json"):
            counted.update(json.loads(file.read_text(encoding="utf-8")))
    left_out = counted.pop("deselected", 0)
    said = ", ".join(f"{number} {what}" for what, number in counted.items())
    total = counted.total()
    print(
        f"{total:,} of {total + left_out:,} tests ran, of every family those whose turn it is: {said}.\n{REST[which]}"
    )
    no_tests = 5  # of a share: there are more processes than files
    return next((abs(status) for status in statuses if status not in (0, no_tests)), 0)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in ASKED:
        sys.exit(f"expected one of {', '.join(ASKED)} (see the docstring of tests/shares.py)")
    sys.exit(main(sys.argv[1], sys.argv[2:]))
