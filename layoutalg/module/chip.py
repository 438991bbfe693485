"""Which chip is meant: the one that is asked for, or what the module says, or the one default.

>>> from layoutalg.module import read
>>> ampere = read('module attributes {ttg.target = "cuda:80"} {}')
>>> meant_chip(ampere, None), meant_chip(ampere, "bmg"), meant_chip(read("gpu.barrier"), None)
('sm_80', 'bmg', 'pvc')
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.conversion.price import DEFAULT_CHIP

if TYPE_CHECKING:
    from layoutalg.module.module import Module

__all__ = ["assumed_chip", "meant_chip"]


def meant_chip(module: Module, target: str | None) -> str:
    """The chip for a `target` that may be left out, the same in show, check, propagate and lower."""
    return (module.chip or DEFAULT_CHIP) if target is None else target


def assumed_chip(module: Module, target: str | None) -> str:
    """Why a module of Triton with conversions is priced for the default chip, in words; empty where a chip is known.

    >>> from layoutalg.module import read
    >>> text = "#a = #ttg.linear<{register = [], lane = [], warp = [], block = []}>\\n"
    >>> assumed_chip(read(text + "%y = ttg.convert_layout %x : tensor<1xf32, #a> -> tensor<1xf32, #a>"), None)
    'priced for pvc: the module names no chip that is known (ttg.target); --target names one'
    """
    if target is not None or module.chip is not None or "ttg.convert_layout" not in module.source:
        return ""
    return f"priced for {DEFAULT_CHIP}: the module names no chip that is known (ttg.target); --target names one"
