"""Does the model of AMX order tilings as they are measured? Rank correlations before and after fitting its parts.

    taskset -c 1 python benchmarks/amx_fit.py measure times.json     compile and time the tilings of some products, in turns
    python benchmarks/amx_fit.py fit times.json [others.json ..]    correlations, and the factor of each part of the time

For each product tilings are drawn from all that fit, evenly over their predicted times up to four times the least. Each
runs in turns with the others, so that what else the machine does hits all of them; the least time of each counts, of the
clock or of the thread, which stands still while others have the core. Several files of the same tilings are taken together,
the least time of each. The time of a tiling is a sum of parts (`AmxTimes.parts`); `fit` finds a factor for each part, none
negative, that makes the squares of the relative errors least. The table has the rank correlation (Spearman's) of what is
predicted for arrays as `malloc` places them, for arrays at multiples of 64 bytes, as these are (`aligned`), and with factors
that were fitted to the other products alone; then how many times slower the first of each is than the fastest of all.

It needs a CPU with AMX. So that page faults of the packed buffers don't count: MALLOC_TRIM_THRESHOLD_=4294967296
MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TOP_PAD_=268435456.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.gemm.amx.costs import AmxForms, amx_times
from layoutalg.gemm.amx.operands import Operands, random_operands
from layoutalg.gemm.amx.plan import AmxGemm
from layoutalg.gemm.amx.problem import AmxProblem
from layoutalg.gemm.amx.running import chosen_how, loaded
from layoutalg.gemm.amx.search import search_amx

PRODUCTS: tuple[tuple[Any, ...], ...] = (
    (256, 256, 256),
    (512, 512, 512),
    (1024, 1024, 1024),
    (100, 60, 200),
    (2048, 64, 2048),
    (16, 2048, 2048),
    (64, 1024, 4096),
    (384, 768, 1024, "s8"),
)
TILINGS, ROUNDS, SECONDS = 24, 40, 0.02
GHZ = 3.6


def problem_of(product: tuple[Any, ...], *, aligned: bool = False) -> AmxProblem:
    return AmxProblem.of(*product, target="gnr", aligned=aligned)


def drawn(problem: AmxProblem) -> list[int]:
    """Ranks: the first, and others at random, as many of each part of the range of predicted times."""
    found, random = search_amx(problem), np.random.default_rng(0)
    clocks = found.times.clocks[found.order]
    parts = np.floor((TILINGS - 1) * np.log(clocks / clocks.min()) / np.log(4)).astype(int)
    ranks = [int(random.choice(np.flatnonzero(parts == part))) for part in range(TILINGS - 1) if (parts == part).any()]
    return sorted({0, *ranks})


def measure(path: Path) -> None:
    """Time the tilings of all products; the file is written after each of them."""
    made: list[dict[str, Any]] = []
    for product in PRODUCTS:
        problem = problem_of(product)
        if chosen_how(problem) != "amx":
            raise SystemExit("this CPU has no AMX, or its kernel does not permit it")
        found = search_amx(problem)
        plans = [AmxGemm(problem, found[rank].tiling) for rank in drawn(problem)]
        operands = Operands.of(plans[0], **random_operands(problem, 0))
        libraries = [loaded(plan.emit(24), 24, "amx") for plan in plans]
        least = [float("inf")] * len(plans)
        for _ in range(ROUNDS):
            for place, library in enumerate(libraries):
                until, calls = time.perf_counter() + SECONDS, 0
                while calls < 2 or time.perf_counter() < until:
                    start = time.thread_time()
                    waited = library.call("gemm", operands.arguments)
                    least[place] = min(least[place], waited, time.thread_time() - start)
                    calls += 1
        made.append({"product": product, "ranks": drawn(problem), "seconds": least})
        path.write_text(json.dumps(made))
        print(product, len(plans), f"{min(least) * 1e6:.4g} us", flush=True)


def correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Spearman's: of the ranks."""
    ranks = [np.argsort(np.argsort(values)).astype(float) for values in (one, other)]
    return float(np.corrcoef(*ranks)[0, 1])


def factors(parts: NDArray[np.float64], seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """The factor of each part, in seconds for a clock: least squares of relative errors, none negative (active sets)."""
    scaled = parts / seconds[:, None]
    among = list(range(parts.shape[1]))
    while True:
        solved, *_ = np.linalg.lstsq(scaled[:, among], np.ones(len(seconds)))
        if (solved >= 0).all():
            break
        among.pop(int(np.argmin(solved)))
    found = np.zeros(parts.shape[1])
    found[among] = solved
    return found


def fit(*paths: Path) -> None:
    """Print the correlation of each product before and after, and the factors of all products together."""
    table: list[tuple[tuple[Any, ...], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]] = []
    names: list[str] = []
    for runs in zip(*(json.loads(path.read_text()) for path in paths), strict=True):
        one = runs[0]
        if any(other["ranks"] != one["ranks"] for other in runs):
            raise SystemExit("the files have other tilings")
        product = tuple(one["product"])
        found = search_amx(problem_of(product))
        forms = AmxForms.of([found[rank].tiling for rank in one["ranks"]])
        times = [amx_times(problem_of(product, aligned=aligned), forms) for aligned in (False, True)]
        names = list(times[1].parts)
        parts = np.stack([np.broadcast_to(part, forms.rows.shape) for part in times[1].parts.values()], axis=1)
        table.append((product, times[0].clocks, parts, np.min([other["seconds"] for other in runs], axis=0)))
    print("| product | tilings | as from malloc | aligned | fitted | first, as from malloc | aligned | fitted |")
    print("|---" * 8 + "|")
    every: list[list[float]] = []
    for product, unaligned, parts, seconds in table:
        others = [row for row in table if row[0] != product]
        weights = factors(np.concatenate([row[2] for row in others]), np.concatenate([row[3] for row in others]))
        predictions = (unaligned, parts.sum(1), parts @ weights)
        found = [correlation(one, seconds) for one in predictions]
        found += [float(seconds[np.argmin(one)] / seconds.min()) for one in predictions]
        every.append(found)
        size = "x".join(map(str, product[:3])) + " ".join(["", *product[3:]])
        print(f"| {size} | {len(seconds)} | " + " | ".join(f"{one:.2f}" for one in found) + " |")
    print("| mean | | " + " | ".join(f"{one:.2f}" for one in np.mean(every, axis=0)) + " |")
    weights = factors(np.concatenate([row[2] for row in table]), np.concatenate([row[3] for row in table]))
    for name, factor in zip(names, weights * GHZ * 1e9, strict=True):
        print(f"{name:14} {factor:.2f}  (1: what the model says at {GHZ} GHz)")


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("measure", "fit"):
        raise SystemExit(__doc__)
    if sys.argv[1] == "measure":
        measure(Path(sys.argv[2]))
    else:
        fit(*map(Path, sys.argv[2:]))
