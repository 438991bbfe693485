"""Barriers in the text of a kernel: who waits at a line, all of the workgroup or each subgroup for itself.

A conversion within one subgroup waits for the subgroup alone, which on Intel's chips is a call of OpControlBarrier whose first
operand is a constant; one between subgroups waits for all. The scope of a call is looked up where its constants are made:

>>> lines = BarrierLines(f'''%c3 = arith.constant 3 : i32
... %c264 = arith.constant 264 : i32
... llvm.call spir_funccc @{CONTROL_BARRIER}(%c3, %c3, %c264) {{convergent}} : (i32, i32, i32) -> ()
... gpu.barrier
... gpu.barrier memfence [#gpu.address_space<global>]'''.splitlines())
>>> [lines.scope(line) for line in lines.lines]
['', '', 'subgroup', 'workgroup', '']

A barrier that does not order shared memory is none here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from layoutalg.conversion.lowering.barriers import CONTROL_BARRIER, SHARED_BARRIER, called_scope

__all__ = ["BarrierLines"]

_CALL = re.compile(rf"llvm\.call (?:spir_funccc )?@{CONTROL_BARRIER}\((%[\w$.-]+), (%[\w$.-]+), (%[\w$.-]+)\)")
_CONSTANT = re.compile(r"\s*(%[\w$.-]+) = arith\.constant (\d+) : i32")


class BarrierLines:
    """The barriers among the lines of a kernel's body."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines

    def scope(self, line: str) -> str:
        """Who waits at a line: "workgroup", "subgroup", or nobody, which is empty.

        >>> BarrierLines([]).scope("  gpu.barrier")
        'workgroup'
        """
        stripped = line.strip()
        if stripped in ("gpu.barrier", SHARED_BARRIER):
            return "workgroup"
        found = _CALL.match(stripped) if CONTROL_BARRIER in stripped else None
        return "" if found is None else called_scope([self._constants.get(name) for name in found.groups()])

    @cached_property
    def _constants(self) -> dict[str, int]:
        return {found[1]: int(found[2]) for line in self.lines if (found := _CONSTANT.fullmatch(line)) is not None}

    def counts(self) -> tuple[int, int]:
        """How many are of the workgroup, and how many there are in all.

        >>> BarrierLines(["gpu.barrier"]).counts()
        (1, 1)
        """
        scopes = [scope for line in self.lines if (scope := self.scope(line))]
        return scopes.count("workgroup"), len(scopes)
