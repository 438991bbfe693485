"""Code is written by 16 threads at once as it is by one: the same text, and no error."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import layoutalg as la
from layoutalg.ir import read_module, write_module

THREADS = 16


def writers() -> list[Callable[[], str]]:
    """What writes code: conversions in registers, by tables and through memory, a product, and a module that is read again."""
    plans = [
        la.convert(*pair, element_bits=bits)
        for pair in (
            ("d0 = 16@reg, d1 = 16@lane", "d0 = 16@lane, d1 = 16@reg"),
            ("d0 = 3@reg, d1 = 15@lane", "d0 = 3@lane, d1 = 5@lane:3 3@reg"),
            (
                "d0 = 2@sg 4@reg, d1 = 16@lane | replicas 2@sg:2",
                "d0 = 2@reg:2 2@sg 2@reg, d1 = 16@lane | replicas 2@sg:2",
            ),
        )
        for bits in (16, 32)
    ]
    gemm = la.plan_gemm(64, 64, 64)
    text = gemm.emit("lane")
    found: list[Callable[[], str]] = [
        lambda plan=plan, k=k: plan.emit(kernel=k) for plan in plans for k in (False, True)
    ]
    return [*found, lambda: gemm.emit("lane"), lambda: write_module(read_module(text))]


def test_threads_write_what_one_writes() -> None:
    jobs = writers()
    alone = [job() for job in jobs]
    start = Barrier(THREADS)

    def work(first: int) -> list[str]:
        start.wait()
        order = [(first + i) % len(jobs) for i in range(len(jobs))]
        texts = {i: jobs[i]() for i in order}
        return [texts[i] for i in range(len(jobs))]

    with ThreadPoolExecutor(THREADS) as pool:
        for texts in pool.map(work, range(THREADS)):
            assert texts == alone
    assert [job() for job in jobs] == alone, "nothing is left behind"


COLD = """
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
sys.setswitchinterval(1e-6)
import layoutalg as la
start = Barrier(16)
def work(_):
    start.wait()
    return la.convert("d0 = 4@reg, d1 = 4@lane", "d0 = 4@lane, d1 = 4@reg").emit(kernel=True)
with ThreadPoolExecutor(16) as pool:
    print(len(set(pool.map(work, range(16)))))
"""


def test_threads_write_the_same_from_a_cold_start() -> None:
    found = subprocess.run([sys.executable, "-c", COLD], capture_output=True, text=True, timeout=120, check=False)
    assert (found.stdout.strip(), found.stderr) == ("1", "")
