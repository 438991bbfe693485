"""Did a pass keep the meaning: two versions of a kernel on the same data."""

from __future__ import annotations

from layoutalg.equivalence.compare import Difference, Kept, keeps_meaning
from layoutalg.equivalence.overwritten import Overwritten
from layoutalg.equivalence.passes import Stage, passes_keep_meaning

__all__ = ["Difference", "Kept", "Overwritten", "Stage", "keeps_meaning", "passes_keep_meaning"]
