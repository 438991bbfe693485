"""Instructions of our conversions beside Triton's own, in listings: those of tests/oracle/data/triton_conversions.

    PYTHONPATH=. python benchmarks/triton_conversions.py         all of them; prints those that are longer than Triton's
    PYTHONPATH=. python benchmarks/triton_conversions.py 0 17    these rows alone, with the operations that make the difference

Either side is a kernel that loads, converts and stores. What is left is its listing less half of the kernels that only copy the
source and the result. The two frames load and store otherwise (Triton computes an address for each element), so differences of
two or three instructions say nothing. Waiting (`s_waitcnt`, `s_nop`) is not counted. Needs mlir-opt-22 and Triton's wheel.
"""

from __future__ import annotations

import gzip
import json
import re
import runpy
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import layoutalg as la
from layoutalg.conversion.program.program import Program
from tests.oracle.toolchains import require_module
from tests.oracle.triton_compiled import TARGETS, kernel
from tests.oracle.triton_wheel import forked

GPU: dict[str, Any] = runpy.run_path(str(Path(__file__).parent / "gpu_listings.py"))
DATA = Path(__file__).parents[1] / "tests" / "oracle" / "data" / "triton_conversions.jsonl.gz"
BITS = {"i1": 8, "i8": 8, "f16": 16, "f32": 32, "f64": 64}
WAITING = ("s_waitcnt", "s_nop")

Row = Mapping[str, Any]


@cache
def _hashed() -> None:
    """Have Triton hash its library, 500 MB, here and once: else every forked child does it again."""
    require_module("triton.runtime.cache").triton_key()


def of_triton(row: Row, source: str, result: str) -> Counter[str] | None:
    """The operations in the listing of Triton's kernel; None where it does not compile."""

    def question() -> list[str]:
        warnings.simplefilter("ignore")
        triton, target_of = require_module("triton"), require_module("triton.backends.compiler").GPUTarget
        target: str = row["target"]
        amd = target == "gfx942"
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "kernel.ttgir"
            file.write_text(kernel(source, result, row["shape"], row["elem"], target, row["num_warps"]))
            triton.knobs.cache.dir = folder
            made = triton.compile(
                str(file), target=target_of("hip", target, 64) if amd else target_of("cuda", int(target[2:]), 32)
            )
        if amd:
            found = re.findall(r"^\t([a-z]+_\S.*?)\s*(?:;.*)?$", made.asm["amdgcn"], flags=re.M)
            return [GPU["operation"](one) for one in found if not one.startswith("s_code_end")]
        ptx = re.sub(r"\.version \d+\.\d+", ".version 8.8", made.asm["ptx"])  # what the wheel's own ptxas takes
        code = GPU["sass"](ptx, "sm_90a" if target == "sm90" else TARGETS[target])
        found = re.findall(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ )?([A-Z].*?)\s*;", code)
        return [GPU["operation"](one) for one in found if not one.startswith("NOP")][:-1]

    _hashed()
    answer = forked(question, 120)
    return None if answer is None else Counter(answer)


def copies(chain: Sequence[Program], bits: int) -> list[tuple[Program, ...]]:
    """Kernels that load and store what the conversion takes, and what it makes."""
    found: list[tuple[Program, ...]] = []
    for count, one in ((chain[0].source_registers, chain[0]), (chain[-1].registers, chain[-1])):
        cells = count * max(bits // 32, 1)
        pack = (*range(cells), *[-1] * (-cells % max(32 // bits, 1)))
        found.append((Program(one.subgroups, one.lanes, bits, count, count, pack, (), tuple(range(cells))),))
    return found


def beyond(whole: Counter[str], *parts: Counter[str]) -> dict[str, float]:
    """The operations of a kernel beyond the mean of two others."""
    names = {*whole, *parts[0], *parts[1]}.difference(WAITING)
    found = {name: whole[name] - sum([one[name] for one in parts]) / 2 for name in sorted(names)}
    return {name: count for name, count in found.items() if count}


def main(chosen: Sequence[int]) -> None:
    """Print the comparison."""
    with gzip.open(DATA, "rt", encoding="utf-8") as file:
        rows: list[Row] = [json.loads(line) for line in file]
    plans: dict[str, list[tuple[int, Any]]] = {}
    for number, row in enumerate(rows):
        if not chosen or number in chosen:
            target, bits = TARGETS[row["target"]], BITS[row["elem"]]
            ends = row["source"], row["destination"]
            plans.setdefault(target, []).append(
                (number, la.convert(*ends, tuple(row["shape"]), element_bits=bits, target=target))
            )
    verdicts: Counter[str] = Counter()
    for target, some in plans.items():
        kernels = [one for _, plan in some for one in (plan.programs, *copies(plan.programs, plan.element_bits))]
        counts: list[Counter[str]] = GPU["counted"](kernels, target)
        for place, (number, plan) in enumerate(some):
            row = rows[number]
            pairs = ((row["source"], row["destination"]), (row["source"],) * 2, (row["destination"],) * 2)
            listed = [of_triton(row, *pair) for pair in pairs]
            known = [one for one in listed if one is not None]
            if len(known) < len(pairs):
                verdicts["not compiled by Triton"] += 1
                continue
            ours, theirs = beyond(*counts[3 * place : 3 * place + 3]), beyond(*known)
            both = sum(ours.values()), sum(theirs.values())
            verdict = "shorter" if both[0] < both[1] else "as long" if both[0] == both[1] else "longer"
            verdicts[verdict] += 1
            if verdict == "longer" or chosen:
                sizes = "x".join(map(str, row["shape"]))
                print(
                    f"{number:4} {target} {row['elem']} {sizes}: {both[0]:g}, Triton {both[1]:g}; {plan.candidates[0].name}"
                )
            if chosen:
                print(f"     ours   {ours}\n     Triton {theirs}")
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())))


if __name__ == "__main__":
    main([int(one) for one in sys.argv[1:]])
