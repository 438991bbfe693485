"""What a program is charged depends on the program alone, and not on the seed of Python's hashes."""

from __future__ import annotations

import os
import subprocess
import sys

_ASKED = """
import layoutalg as la
plan = la.convert("d0 = 4@lane:16 4@reg, d1 = 16@lane", "d0 = 16@lane, d1 = 4@lane:16 4@reg", target="gfx942")
print([(one.name, one.cost) for one in plan.candidates])
"""


def test_the_price_does_not_depend_on_the_seed_of_hashes() -> None:
    """Seeds 0 and 1 ordered two ways of this conversion differently while addresses were kept in a set."""
    said = {
        subprocess.run(
            [sys.executable, "-c", _ASKED],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(said) == 1
