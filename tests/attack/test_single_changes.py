"""Every single change of a recorded call: each argument, and each entry of a list in one, has each hostile value once.

The random attack of `test_public_calls` finds one small mistake in a seed or none; what it looks through is finite where one
thing changes, so it is looked through once, completely. The changes have numbers, and a run takes every so many of them from
a start that its seed says: a short run a few, `make attack` a part, `make exhaustive` all of them.

>>> step_of(250_000, 250_000), step_of(250_000, 2_500)
(1, 100)
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attack.effort import PARTS, SEED, SHARE
from tests.attack.hostile_values import VALUES
from tests.attack.isolated import run
from tests.attack.recorded_calls import Call
from tests.attack.test_public_calls import Case, Place, PublicCalls, places

_COUNTED = 250_000
"""The changes there are, about; a run that may try as many tries all."""


def step_of(changes: int, tried: int) -> int:
    """Every which of the changes is tried, where `tried` of them may be."""
    return max(1, -(-changes // max(1, tried)))
