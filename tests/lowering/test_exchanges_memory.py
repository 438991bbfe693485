"""Shared memory of random kernels: no race, no more bytes than the limit, no barrier that could go.

A kernel is a random nest of loops, branches and uses of buffers. A use stores a number for each work-item (another one each
time), waits, and loads that of another subgroup, as a conversion does. The simulator finds a race where a barrier is missing.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg.ir import read_module, write_module
from layoutalg.lowering.shared_memory import SharedMemory

WORDS = 32
BYTES = 4 * WORDS


class Nest:
    """The text of a random kernel; `uses` counts its buffers."""

    def __init__(self, seed: int, branches: bool = True) -> None:
        self.random = random.Random(seed)
        self.kinds = ["use", "use", "for", "barrier", *(["if"] if branches else [])]
        self.uses = 0
        self.loops = 0
        self.lines: list[str] = []

    def write(self, depth: int) -> None:
        """A few statements."""
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.choice(self.kinds if depth else ["use"])
            if kind == "use":
                self.use()
            elif kind == "barrier":
                self.lines.append("gpu.barrier")
            else:
                self.loops += 1
                head = f"scf.for %i{self.loops} = %c0 to %c3 step %c1 {{" if kind == "for" else "scf.if %yes {"
                self.lines.append(head)
                self.write(depth - 1)
                if kind == "if" and self.random.random() < 0.5:
                    self.lines.append("} else {")
                    self.write(depth - 1)
                self.lines.append("}")

    def use(self) -> None:
        """Store, wait, load what another subgroup stored."""
        number, kind = self.uses, f"memref<{WORDS}xi32, 3 : i64>"
        self.uses += 1
        self.lines += [
            f"%b{number} = builtin.unrealized_conversion_cast to {kind} {{subgroups = 1 : i64}}",
            f"%v{number} = memref.load %p[%item] : memref<{WORDS}xi32>",
            f"%d{number} = arith.muli %v{number}, %three : i32",
            f"%s{number} = arith.addi %d{number}, %word : i32",
            f"memref.store %s{number}, %b{number}[%item] : {kind}",
            "gpu.barrier",
            f"%x{number} = memref.load %b{number}[%other] : {kind}",
            f"memref.store %x{number}, %p[%item] : memref<{WORDS}xi32>",
        ]

    def text(self) -> str:
        """The kernel, for two subgroups of 16."""
        body = "\n".join(self.lines)
        return f"""gpu.module @m {{
          gpu.func @k(%p: memref<{WORDS}xi32>, %yes: i1) kernel
              attributes {{known_block_size = array<i32: {WORDS}, 1, 1>, intel_reqd_sub_group_size = 16 : i32}} {{
            %c0 = arith.constant 0 : index
            %c1 = arith.constant 1 : index
            %c3 = arith.constant 3 : index
            %c16 = arith.constant 16 : index
            %lane = gpu.lane_id
            %sg = gpu.subgroup_id : index
            %row = arith.muli %sg, %c16 : index
            %item = arith.addi %row, %lane : index
            %other = arith.xori %item, %c16 : index
            %number = arith.index_cast %item : index to i32
            %one = arith.constant 1 : i32
            %three = arith.constant 3 : i32
            %word = arith.addi %number, %one : i32
            {body}
            gpu.return
          }}
        }}"""


def placed(text: str, limit: int) -> tuple[str, Any]:
    """The kernel with its buffers in place, and what they take."""
    module = read_module(text)
    kernel: Any = next(op for op in module.walk() if op.name == "gpu.func")
    shared = SharedMemory(kernel, limit).finish()
    return write_module(module), shared


def races(text: str, yes: bool) -> bool:
    """Whether the simulator finds a race."""
    array = np.zeros(WORDS, np.int32)
    return any(finding.rule == "run.race" for finding in la.read(text).run([array, int(yes)], (1, 1, 1)).findings)


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("limit", [BYTES, 1 << 16])
def test_random_kernels_have_no_race_within_the_limit(seed: int, limit: int) -> None:
    nest = Nest(seed)
    nest.write(3)
    text, shared = placed(nest.text(), limit)
    assert shared.bytes <= limit
    assert len(shared.starts) == nest.uses
    assert text.count("gpu.barrier") == nest.text().count("gpu.barrier") + shared.barriers
    assert not races(text, yes=True)
    assert not races(text, yes=False)


@pytest.mark.parametrize("seed", range(24, 36))
def test_no_barrier_that_was_put_in_can_go(seed: int) -> None:
    """With one buffer for all, each barrier that was added prevents a race (without branches: some are not taken)."""
    nest = Nest(seed, branches=False)
    nest.write(2)
    own = nest.text()
    text, shared = placed(own, BYTES)
    parts = text.split("gpu.barrier\n")
    needed = 0
    for number in range(1, len(parts)):
        without = "gpu.barrier\n".join(parts[:number]) + "gpu.barrier\n".join(parts[number:])
        needed += races(without, yes=True)
    spare = len(parts) - 1 - needed
    assert spare <= own.count("gpu.barrier") - nest.uses  # the random barriers of the kernel itself may be too many
    assert shared.bytes == BYTES * min(nest.uses, 1)
