"""Does it help AMX to ask for tiles of B some steps ahead? The table of docs/amx_costs.md; B is packed before, as weights are.

Every form is compiled with LLVM 24 and runs in turns with the others for a dozen seconds; the least time of each counts, of the
clock or of the thread. It needs a CPU with AMX. Pin it to a core: `taskset -c 1 python benchmarks/amx_prefetch.py`.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from layoutalg.gemm.amx.operands import Buffer, Operands, memory_type
from layoutalg.gemm.amx.plan import plan_amx
from layoutalg.gemm.amx.problem import AmxProblem
from layoutalg.gemm.amx.running import chosen_how, loaded

SIZES = (
    "512x512x512",
    "1024x1024x1024",
    "16x1024x512",
    "16x4096x4096",
    "128x4096x4096",
    "16x8192x8192",
    "64x8192x8192",
)
AHEAD = (0, 1, 2, 4, 8, 16)
SECONDS, CALLS = 15.0, 3


def main() -> None:
    if chosen_how(AmxProblem.of(64, 64, 64)) != "amx":
        raise SystemExit("this CPU has no AMX, or its kernel does not permit it")
    print(
        "| product | none | " + " | ".join(f"{ahead}" for ahead in AHEAD[1:]) + " |\n" + "|---" * (len(AHEAD) + 1) + "|"
    )
    for size in sys.argv[1:] or SIZES:
        m, n, k = map(int, size.split("x"))
        plans = [plan_amx(m, n, k, target="gnr", prefetch_b=ahead) for ahead in AHEAD]
        random = np.random.default_rng(0)
        operands = Operands.of(plans[0], random.standard_normal((m, k)), random.standard_normal((k, n)))
        packed = Buffer.of(np.zeros(plans[0].packed_b_shape, memory_type("bf16")))
        libraries = [loaded(plan.emit(24, prepacked_b=True), 24, "amx") for plan in plans]
        given = list(operands.arguments)
        libraries[0].call("gemm_pack_b", (given[1], packed.address, 0, plans[0].packed_b_shape[0]))
        given[1] = packed.address
        least, until = [float("inf")] * len(AHEAD), time.perf_counter() + SECONDS
        while time.perf_counter() < until:
            for place, library in enumerate(libraries):
                for _ in range(CALLS):
                    start = time.thread_time()
                    waited = library.call("gemm", given)
                    least[place] = min(least[place], waited, time.thread_time() - start)
        faster = " | ".join(f"{least[0] / one:.2f}" for one in least[1:])
        print(f"| {size} | {least[0] * 1e6:.4g} us | {faster} |", flush=True)


if __name__ == "__main__":
    main()
