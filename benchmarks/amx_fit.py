"""Does the model of AMX order tilings as they are measured? Rank correlations before and after fitting its parts.

    taskset -c 1 python benchmarks/amx_fit.py measure times.json     compile and time the tilings of some products, in turns
    python benchmarks/amx_fit.py fit times.json [others.json ..]    correlations, and the factor of each part of the time

For each product tilings are drawn from all that fit, evenly over their predicted times up to four times the least. Each
runs in turns with the others, so that what else the machine does hits all of them; the least time of each counts, of the
clock or of the thread, which stands still while others have the core. Several files of the same tilings are taken together,
the least time of each. The time of a tiling is a sum of parts (`AmxTimes.parts`); `fit` finds a factor for each part, none
negative, that makes the squares of the relative errors least. A product's correlation after fitting is found with factors
fitted to the others alone.

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

from layoutalg.gemm.amx.costs import amx_times
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


def problem_of(product: tuple[Any, ...]) -> AmxProblem:
    return AmxProblem.of(*product, target="gnr")


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
    """Print the correlation of each product before and after fitting, and the factors of all products together."""
    table: list[tuple[tuple[Any, ...], NDArray[np.float64], NDArray[np.float64]]] = []
    names: list[str] = []
    for runs in zip(*(json.loads(path.read_text()) for path in paths), strict=True):
        one = runs[0]
        if any(other["ranks"] != one["ranks"] for other in runs):
            raise SystemExit("the files have other tilings")
        found = search_amx(problem := problem_of(tuple(one["product"])))
        rows = found.order[one["ranks"]]
        times = amx_times(problem, found.forms)
        names = list(times.parts)
        columns = [np.broadcast_to(part, found.forms.rows.shape)[rows] for part in times.parts.values()]
        table.append((one["product"], np.stack(columns, axis=1), np.min([other["seconds"] for other in runs], axis=0)))
    print("| product | tilings | before | after | first of the model | after fitting |\n|---|---|---|---|---|---|")
    before, after = [], []
    for product, parts, seconds in table:
        others = [(p, s) for name, p, s in table if name != product]
        fitted = parts @ factors(np.concatenate([p for p, _ in others]), np.concatenate([s for _, s in others]))
        before.append(correlation(parts.sum(1), seconds))
        after.append(correlation(fitted, seconds))
        losses = [seconds[np.argmin(values)] / seconds.min() for values in (parts.sum(1), fitted)]
        size = "x".join(map(str, product[:3])) + " ".join(["", *product[3:]])
        print(f"| {size} | {len(seconds)} | {before[-1]:.2f} | {after[-1]:.2f} | {losses[0]:.2f} | {losses[1]:.2f} |")
    print(f"mean before {np.mean(before):.3f}, after {np.mean(after):.3f} (each product by the others' factors)")
    every = factors(np.concatenate([p for _, p, _ in table]), np.concatenate([s for *_, s in table]))
    for name, factor in zip(names, every * 3.6e9, strict=True):
        print(f"{name:14} {factor:.2f}  (1: what the model says at 3.6 GHz)")


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("measure", "fit"):
        raise SystemExit(__doc__)
    if sys.argv[1] == "measure":
        measure(Path(sys.argv[2]))
    else:
        fit(*map(Path, sys.argv[2:]))
