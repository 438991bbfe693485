"""Which chip is meant: the one that is asked for, or what the module says, or the one default.

>>> from layoutalg.module import read
>>> volta = read('module attributes {ttg.target = "cuda:70"} {}')
>>> meant_chip(volta, None), meant_chip(volta, "bmg"), meant_chip(read("gpu.barrier"), None)
('sm_70', 'bmg', 'pvc')
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.conversion.price import DEFAULT_CHIP

if TYPE_CHECKING:
    from layoutalg.module.module import Module

__all__ = ["meant_chip"]


def meant_chip(module: Module, target: str | None) -> str:
    """The chip for a `target` that may be left out, the same in show, check, propagate and lower."""
    return (module.chip or DEFAULT_CHIP) if target is None else target
