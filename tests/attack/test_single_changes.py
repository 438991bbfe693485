"""Every single change of a recorded call: each argument, and each entry of a list in one, has each hostile value once.

The random attack of `test_public_calls` finds one small mistake in a seed or none. What it looks through is finite where one
thing changes, so here it is listed: of each public name, the calls whose arguments differ in number, names and types. Beside
the values stand the arguments themselves: each last one and each two with names are left out, one more is given.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.attack.effort import PARTS
from tests.attack.hostile_values import VALUES
from tests.attack.isolated import Sweep, run
from tests.attack.recorded_calls import Call
from tests.attack.test_public_calls import Case, PublicCalls, places


class SingleChanges(Sweep, PublicCalls):
    most = 600_000
    lasting = ("refused", "returned")

    def _aims_at(self, name: str) -> bool:
        """The names of the package and of its rooms."""
        return True

    def listed(self) -> Iterator[Case]:
        for target, calls in enumerate(self.targets):
            seen: set[Any] = set()
            for number, call in enumerate(calls):
                shape = (len(call.positional), *call.named)
                if shape not in seen:
                    seen.add(shape)
                    yield from _without(Case(target, number, ()), call)
                for place in places(call):
                    kind = (place, _kind(call, place))
                    if kind not in seen:
                        seen.add(kind)
                        for value in VALUES:
                            yield Case(target, number, ((place, value),))


def _without(case: Case, call: Call) -> Iterator[Case]:
    """The call with one argument more, with some less from the end, and without some that have names."""
    for count in (1, *(-n for n in range(1, len(call.positional) + 1 - call.kept))):
        yield case._replace(count=count)
    for many in (1, 2):
        for names in itertools.combinations(call.named, many):
            yield case._replace(without=names)


def _kind(call: Call, place: tuple[Any, ...]) -> type:
    head, *way = place
    value: Any = call.positional[head] if isinstance(head, int) else call.named[head]
    for step in way:
        value = value[step]
    return type(value)


@pytest.mark.parametrize("part", range(PARTS))
def test_every_argument_has_every_value(part: int, tmp_path: Path) -> None:
    tally = run(SingleChanges, part, 60_000, tmp_path)
    assert tally["targets"] > 400
