"""Does the search for AMX choose well? Times its first tilings and others on this CPU; the table of docs/amx_costs.md.

For each product the first three tilings and the best ones of other blockings and parts of k, sixteen in all, are compiled with
LLVM 24 and run in turns, six rounds; the least time of each counts. It needs a CPU with AMX. So that page faults of the packed
buffers don't count: MALLOC_TRIM_THRESHOLD_=4294967296 MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TOP_PAD_=268435456.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from layoutalg.gemm.amx.operands import Operands
from layoutalg.gemm.amx.plan import AmxGemm
from layoutalg.gemm.amx.problem import AmxProblem
from layoutalg.gemm.amx.running import Loaded, chosen_how, loaded
from layoutalg.gemm.amx.search import AmxFound, search_amx

SIZES = ((256, 256, 256), (512, 512, 512), (1024, 1024, 1024), (100, 60, 200), (4096, 64, 4096), (2048, 2048, 2048))
TILINGS, ROUNDS, SECONDS = 16, 6, 0.08
GHZ = 3.6  # with tile products, on the machine that the costs were measured on


def chosen(found: AmxFound) -> Iterator[int]:
    """The first three tilings by rank, then the best of each other blocking, part of k and form of A."""
    yield from range(3)
    seen: set[tuple[object, ...]] = set()
    count = 3
    for rank, row in enumerate(found.ranking.tolist()):
        tiling = found.forms.tiling(row)
        kind = (tiling.blocking, tiling.k_block, tiling.pack_a)
        if kind not in seen and rank > 2 and count < TILINGS:
            count += 1
            yield rank
        seen.add(kind)


def least(library: Loaded, addresses: list[int]) -> float:
    """The seconds of the fastest call."""
    start, best, calls = time.perf_counter(), float("inf"), 0
    while calls < 2 or time.perf_counter() - start < SECONDS:
        best = min(best, library.call("gemm", addresses))
        calls += 1
    return best


def main() -> None:
    print(
        "| product | first, predicted | first, measured | slowest | first | best of three |\n|---|---|---|---|---|---|"
    )
    for m, n, k in SIZES:
        problem = AmxProblem.of(m, n, k, target="gnr")
        if chosen_how(problem) != "amx":
            raise SystemExit("this CPU has no AMX, or its kernel does not permit it")
        found = search_amx(problem)
        ranks = list(chosen(found))
        plans = [AmxGemm(problem, found[rank].tiling) for rank in ranks]
        random = np.random.default_rng(0)
        operands = Operands.of(
            plans[0], random.standard_normal((m, k)), random.standard_normal((k, n)), None, None, None
        )
        addresses = [buffer.address for buffer in operands.buffers]
        libraries = [loaded(plan.emit(24), 24, "amx") for plan in plans]
        rounds = [[least(library, addresses) for library in libraries] for _ in range(ROUNDS)]
        times = np.min(rounds, axis=0)
        print(
            f"| {m}x{n}x{k} | {found[0].clocks / GHZ / 1e3:.4g} us | {times[0] * 1e6:.4g} us | "
            f"{times.max() / times.min():.2f} | {times[0] / times.min():.2f} | {times[:3].min() / times.min():.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
