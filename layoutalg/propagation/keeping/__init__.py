"""Did a pass keep the meaning: two versions of a kernel on the same data."""

from __future__ import annotations

from layoutalg.propagation.keeping.keeping import Difference, Kept, keeps_meaning
from layoutalg.propagation.keeping.overwritten import Overwritten
from layoutalg.propagation.keeping.passes import Stage, passes_keep_meaning

__all__ = ["Difference", "Kept", "Overwritten", "Stage", "keeps_meaning", "passes_keep_meaning"]
