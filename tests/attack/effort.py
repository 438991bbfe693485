"""How much the attacks do, from which seed, and what a second means on this machine.

28 minutes on two cores do everything: 200,000 texts, 60,000 command lines, 30,000 calls, 30,000 damaged files, 20,000 programs,
20,000 sets of arrays, 200 cold starts, 140,000 of the changes that sweeps list. Ten minutes (`make attack`) do a good third.
Unset, as in `make test`, each attack does a small share, always the same one.

    LAYOUTALG_ATTACK_MINUTES=10 LAYOUTALG_ATTACK_SEED=7 python -m pytest -n auto tests/attack

The seed is fresh in a long run unless `LAYOUTALG_ATTACK_SEED` names one; a failure prints it.
"""

from __future__ import annotations

import os
import secrets
import time
import zlib

_MINUTES = os.environ.get("LAYOUTALG_ATTACK_MINUTES")
SHARE = float(_MINUTES) / 28 if _MINUTES else 0.005
"""The share of the full attack that this run does."""
PARTS = max(2, min(os.cpu_count() or 2, 8)) if SHARE >= 0.1 else 1
"""Into how many tests an attack is split, so that processors share it; a short run's are not, for each part has its costs:
some run all examples first."""
WHOLE = bool(os.environ.get("LAYOUTALG_EXHAUSTIVE"))
"""Whether what is finite (`isolated.Sweep`) is tried completely, as `make exhaustive` does."""
_FRESH = zlib.crc32(
    os.environ.get("PYTEST_XDIST_TESTRUNUID", secrets.token_hex()).encode()
)  # the same in all processes of a run
SEED = int(os.environ.get("LAYOUTALG_ATTACK_SEED") or (_FRESH if _MINUTES else 11))

_LOOP_SECONDS = 0.0042
"""What the loop of `slowness` takes on the machine on which the limits were chosen: a core of a Xeon of 2023."""


def share(full: int, least: int = 1) -> int:
    """How many of `full` cases this run tries, in all parts together."""
    return max(least, round(full * SHARE))


def slowness() -> float:
    """How many times slower than the reference this machine is right now; at least 1."""
    return max(1.0, min(_loop() for _ in range(5)) / _LOOP_SECONDS)


def _loop() -> float:
    start = time.thread_time()
    seen: dict[str, int] = {}
    for i in range(20_000):
        word = str(i % 97)
        seen[word] = seen.get(word, 0) + i
    return time.thread_time() - start
