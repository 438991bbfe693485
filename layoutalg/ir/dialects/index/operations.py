"""The operations of `index.txt` as classes."""

from __future__ import annotations

from layoutalg.ir.dialects.index.attributes import IndexCmpPredicateAttr
from layoutalg.ir.operations.classes import define

__all__ = ["OPERATIONS"]

OPERATIONS = define(__name__, "index", attributes={"predicate": IndexCmpPredicateAttr})
"""The classes, in the order of the table."""
