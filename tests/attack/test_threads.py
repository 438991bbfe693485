"""Threads get the answers that one thread gets: 2 to 16 of them, in a warm process and from cold starts.

A cold start is a new process in which the threads begin before anything of the library is imported, with a switch between
threads after every microsecond: modules, caches and sympy's tables are filled by several at once.
"""

from __future__ import annotations

import functools
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.attack.concurrent_work import WORK, answer, together
from tests.attack.effort import PARTS, SEED, share
from tests.attack.isolated import environment


@functools.cache
def _serial() -> dict[str, str]:
    return {name: answer(name) for name in WORK}


def _different(answers: list[tuple[str, str]]) -> list[str]:
    """A line for each answer that is not the serial one, shortened, without repetitions."""
    wrong = {
        f"{name}: {said[:300]!r}, alone {_serial().get(name, '')[:300]!r}"
        for name, said in answers
        if said != _serial().get(name)
    }
    return sorted(wrong)


@pytest.mark.parametrize("name", WORK)
def test_each_piece_of_work_has_an_answer_that_does_not_change(name: str) -> None:
    assert "Error: " not in answer(name) or name == "refusal"
    assert answer(name) == _serial()[name]


@pytest.mark.parametrize("count", [2, 4, 8, 16])
def test_threads_get_the_answers_of_one(count: int) -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for number in range(share(24)):
            wrong = _different(together(count, random.Random(f"{SEED} {count} {number}"), len(WORK)))
            assert not wrong, (
                f"seed {SEED}, {count} threads, round {number}: {len(wrong)} answers differ\n" + "\n".join(wrong)
            )
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.parametrize("part", range(PARTS))
def test_200_cold_starts_get_the_answers_of_one(part: int, tmp_path: Path) -> None:
    wrong: list[str] = []
    starts = max(1, share(200, least=2) // PARTS)
    for number in range(part * starts, (part + 1) * starts):
        seed, count = random.Random(f"{SEED} {number}").randrange(2**31), (16, 2, 4, 8)[number % 4]
        command = [sys.executable, "-m", "tests.attack.concurrent_work", str(seed), str(count)]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=500,
            stdin=subprocess.DEVNULL,
        )
        again = f"python -m tests.attack.concurrent_work {seed} {count}"
        if done.returncode:
            wrong.append(f"{again}: {done.stderr.strip()[-400:]}")
            continue
        wrong += [f"{again}: {one}" for one in _different([(name, said) for name, said in json.loads(done.stdout)])]
    assert not wrong, f"seed {SEED}, {starts} starts:\n" + "\n".join(wrong[:12])
