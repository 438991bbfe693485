"""The tables beside the oracle tests: what compilers computed, as JSON lines."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"


def lines(name: str) -> list[dict[str, Any]]:
    """All rows of one table."""
    with gzip.open(DATA / name, "rt") as file:
        return [json.loads(line) for line in file]
