"""Whether the planner's order is that of the listings: five shapes on two chips, each with its best plan and runners-up.

    python benchmarks/gemm_order.py [COUNT]    COUNT plans of each (16 unless said); about a second for each plan

Each plan is compiled. Its predicted time is set beside the time with the number of instructions that its loop really has
(`roofline`), and the table has the rank correlation (Spearman's) of both; then which place the plan has that the listings make
the fastest, and how much slower the planner's first one is. Nothing runs on a GPU.
"""

from __future__ import annotations

import argparse

import numpy as np
from amx_fit import correlation

from layoutalg.gemm.listing import compile_kernel
from layoutalg.gemm.plan import Gemm
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.search import search

SHAPES = ((4096, 4096, 4096), (1024, 4096, 4096), (8, 4096, 4096), (512, 512, 512), (2048, 11008, 4096))


def row(shape: tuple[int, int, int], chip: str, count: int) -> str:
    """A line of the table."""
    problem = Problem.of(*shape, target=chip)
    found = search(problem)
    some = [found.best, *found.runners_up(count - 1)]
    listed: list[float] = []
    for one in some:
        made = compile_kernel(Gemm(problem, one.tiling).emit(), chip, one.tiling.registers)
        listed.append(found.roofline(one.tiling, len(made.program.inner_loop)).seconds)
    predicted = np.array([found.roofline(one.tiling, one.instructions).seconds for one in some])
    seen = np.array(listed)
    place, slower = int(seen.argmin()) + 1, seen[0] / seen.min() - 1
    what = "x".join(map(str, shape))
    return f"| {what} | {chip} | {len(some)} | {correlation(predicted, seen):.2f} | {place} | {slower:.1%} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=16)
    count = parser.parse_args().count
    print("| product, f16 | chip | plans | rank correlation | place of the fastest | the first is slower by |")
    print("|---|---|" + "---:|" * 4)
    for shape in SHAPES:
        for chip in ("bmg", "pvc"):
            print(row(shape, chip, count), flush=True)


if __name__ == "__main__":
    main()
