"""Random programs: the simulator computes what Python does, and finds poison exactly where it is stored.

Loops without an iteration, parallel loops that are empty, trees of calls and functions of many blocks are among them
(`programs`). The same text verifies in every version, and is the same program when it is printed and read again.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.attack.effort import PARTS
from tests.attack.isolated import Attack, Complaint, run
from tests.attack.programs import POISON, WIDTH, Made, program

_BEFORE = 77
"""What the arrays hold before."""


class Case(NamedTuple):
    seed: int
    way: str


class Programs(Attack):
    seconds = 3.0
    lasting = ("kernel", "host", "nothing runs", "poison", "again")

    def prepare(self, seed: int, first: int, count: int) -> None:
        import layoutalg as la
        from layoutalg.simulate import launch

        self.la, self.launch = la, launch
        for number in range(3):
            self.attempt(Case(number, "run"))

    def case(self, rng: random.Random) -> Case:
        return Case(rng.randrange(2**40), rng.choice(("run", "run", "run", "again", "verify")))

    def smaller(self, case: Case) -> Iterator[Case]:
        return iter(())

    def shown(self, case: Case) -> str:
        return f"{case.way}: {program(random.Random(case.seed)).text}"

    def attempt(self, case: Case) -> Complaint | None:
        made = program(random.Random(case.seed))
        text = made.text
        if case.way == "verify":
            found = [(llvm, one) for llvm in (22, 23, 24) for one in self.la.read(text).verify(llvm=llvm)]
            return Complaint("verify", f"a valid program: {found[0]}") if found else None
        if case.way == "again":
            text = self.la.read(text).text(llvm=random.Random(case.seed).choice((22, 23, 24)))
            self.tally["again"] += 1
        number, vector = np.full(32, _BEFORE, np.int32), np.full(32 * WIDTH, _BEFORE, np.int32)
        where: dict[str, Any] = {"entry": "k"} if made.is_host else {}
        outcome = self.launch(text, [number, vector], **where)
        self.tally["host" if made.is_host else "kernel"] += 1
        self.tally["nothing runs"] += made.items == 0
        return self._compared(made, [one.rule for one in outcome.findings], number, vector)

    def _compared(self, made: Made, rules: list[str], number: Any, vector: Any) -> Complaint | None:
        wanted, wanted_vector = [_BEFORE] * 32, [_BEFORE] * 32 * WIDTH
        for t in range(made.items):
            one, elements = made.stored(t)
            wanted[t], wanted_vector[t * WIDTH : (t + 1) * WIDTH] = one, elements  # type: ignore[call-overload]
        poisoned = POISON in wanted_vector
        self.tally["poison"] += poisoned
        if rules != ["run.poison"] * poisoned:
            return Complaint(f"findings {rules}", f"found {rules}, and poison is {'' if poisoned else 'not '}stored")
        if number.tolist() != wanted:
            return Complaint("a wrong number", f"{number.tolist()} where Python says {wanted}")
        pairs = zip(vector.tolist(), wanted_vector, strict=True)
        if any(other is not POISON and one != other for one, other in pairs):
            return Complaint("a wrong vector", f"{vector.tolist()} where Python says {wanted_vector}")
        return None


@pytest.mark.parametrize("part", range(PARTS))
def test_20_000_programs_compute_what_python_does(part: int, tmp_path: Path) -> None:
    run(Programs, part, 20_000, tmp_path)
