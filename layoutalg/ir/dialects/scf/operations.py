"""The operations of `scf.txt` that have no regions, as classes."""

from __future__ import annotations

from layoutalg.ir.operations.classes import define

__all__ = ["OPERATIONS"]

OPERATIONS = define(__name__, "scf")
"""The classes, in the order of the table."""
