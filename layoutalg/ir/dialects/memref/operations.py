"""The operations of `memref.txt` as classes."""

from __future__ import annotations

from xdsl.dialects.utils import DynamicIndexList

from layoutalg.ir.dialects.memref.directives import AtomicKind, PermutationMap, PrefetchFlags
from layoutalg.ir.dialects.type_directives import ElementOf
from layoutalg.ir.operations.classes import define

__all__ = ["OPERATIONS"]

OPERATIONS = define(
    __name__, "memref", directives=(AtomicKind, DynamicIndexList, ElementOf, PermutationMap, PrefetchFlags)
)
"""The classes, in the order of the table."""
