"""The language server on a file of 10,000 lines: seconds until an answer arrives, as an editor's user waits.

    python benchmarks/editor.py       print the table

The file is 48 kernels of a GEMM at lane level, and one at subgroup level whose values have layouts. The server runs in its
own process; times are of requests over its pipes, the middle of several. The bars: a hover after the first reading
in 0.1 s, the diagnostics of an edited line in 0.3 s.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from modules import kernels

from tests.editor.client import Client

URI = "file:///kernels.mlir"
TIMES = 9


def text_of(lines: int) -> str:
    """A file of about so many lines: most of it lane code, at the end a function with layouts."""
    import layoutalg as la

    plan = la.plan_gemm(256, 256, 256, a="f16", b="f16", c="f32", target="pvc")
    held = plan.emit("subgroup").replace("@gemm(", "@held(").splitlines()
    first = next(number for number, line in enumerate(held) if "gpu.func" in line)
    last = next(number for number, line in enumerate(held) if "gpu.return" in line) + 2
    lanes = kernels(lines - len(held))[0].splitlines()
    aliases = [line for line in held if line.startswith("#")]
    return "\n".join([*aliases, *lanes[:-2], *held[first:last], *lanes[-2:], ""])


def seconds(action: Callable[[], object], times: int = TIMES) -> float:
    """The middle of several runs."""
    found: list[float] = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def main() -> None:
    text = text_of(10_000)
    lines = text.split("\n")
    load = max(number for number, line in enumerate(lines) if "xegpu.load_nd" in line)
    with Client() as client:
        start = time.perf_counter()
        first = client.diagnostics(client.open(URI, text))
        print(f"{len(lines):,} lines, {len(first)} findings")
        print(f"open to diagnostics    {time.perf_counter() - start:.2f} s")
        column = lines[load].index("xegpu.load_nd") + 2
        start = time.perf_counter()
        shown = client.at("hover", URI, load, column)
        print(
            f"first hover            {time.perf_counter() - start:.3f} s, {len(shown['contents']['value'])} characters"
        )
        print(f"hover                  {seconds(lambda: client.at('hover', URI, load, column)):.3f} s")

        edits = iter(range(1000))

        def edited(line: int) -> str:
            changed = [*lines]
            changed.insert(line + 1, f"    %edit{next(edits)} = arith.constant 1.0 : f32")
            return "\n".join(changed)

        for name, line in (("a kernel in the middle", len(lines) // 2), ("the one with layouts", load)):
            found = seconds(lambda line=line: client.diagnostics(client.change(URI, edited(line))))
            print(f"edit to diagnostics    {found:.3f} s, {name}")
            start = time.perf_counter()
            client.change(URI, edited(line))
            client.at("hover", URI, load + 1, column)
            print(f"edit, then hover       {time.perf_counter() - start:.3f} s")


if __name__ == "__main__":
    main()
