"""Conversions of one kernel that store together and wait once: what they compute, and that nobody races."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg.lowering.placed_text import placed
from layoutalg.lowering.together import together

WORDS = 32
BYTES = 4 * WORDS
KIND = f"memref<{WORDS}xi32, 3 : i64>"


class Line:
    """A random kernel without branches, and what it computes, item by item.

    `%v<n>` are numbers of each work-item. A use exchanges one with the other subgroup; others add two, or go through memory.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.values = [np.arange(WORDS, dtype=np.int64)]
        self.memory = np.zeros(WORDS, np.int64)
        self.lines: list[str] = []
        self.uses = 0
        for _ in range(self.random.randint(4, 12)):
            self.random.choice([self.use, self.use, self.use, self.add, self.load, self.store, self.barrier])()

    def made(self, value: Any) -> str:
        self.values.append(value)
        return f"%v{len(self.values) - 1}"

    def any(self) -> int:
        return self.random.randrange(len(self.values))

    def use(self) -> None:
        source, number = self.any(), self.uses
        self.uses += 1
        self.lines += [
            f"%b{number} = builtin.unrealized_conversion_cast to {KIND} {{subgroups = 1 : i64}}",
            f"%s{number} = arith.addi %v{source}, %one : i32",
            f"memref.store %s{number}, %b{number}[%item] : {KIND}",
            *[f"%t{number} = arith.addi %v{source}, %s{number} : i32"] * (number % 2),  # as mixed ways shuffle here
            "gpu.barrier",
        ]
        self.lines.append(
            f"{self.made(self.values[source][np.arange(WORDS) ^ 16] + 1)} = memref.load %b{number}[%other] : {KIND}"
        )

    def add(self) -> None:
        one, two = self.any(), self.any()
        name = self.made(self.values[one] + self.values[two])
        self.lines.append(f"{name} = arith.addi %v{one}, %v{two} : i32")

    def load(self) -> None:
        self.lines.append(f"{self.made(self.memory)} = memref.load %p[%item] : memref<{WORDS}xi32>")

    def store(self) -> None:
        one = self.any()
        self.memory = self.values[one]
        self.lines.append(f"memref.store %v{one}, %p[%item] : memref<{WORDS}xi32>")

    def barrier(self) -> None:
        self.lines.append("gpu.barrier")

    def body(self) -> str:
        ends = [
            f"memref.store %v{number}, %q[%c{number}, %item] : memref<{len(self.values)}x{WORDS}xi32>"
            for number in range(len(self.values))
        ]
        return "\n".join([*self.lines, *ends, "gpu.return"])

    def run(self, body: str, size: int) -> tuple[Any, set[str]]:
        """What the kernel with this body leaves in memory, and the rules of what the simulator finds."""
        count = len(self.values)
        numbers = "\n".join(f"%c{number} = arith.constant {number} : index" for number in range(count))
        shared = f"workgroup(%slm : memref<{size}xi8, 3 : i64>)" if size else ""
        text = f"""gpu.module @m {{
          gpu.func @k(%p: memref<{WORDS}xi32>, %q: memref<{count}x{WORDS}xi32>) {shared} kernel
              attributes {{known_block_size = array<i32: {WORDS}, 1, 1>, intel_reqd_sub_group_size = 16 : i32}} {{
            {numbers}
            %sixteen = arith.constant 16 : index
            %one = arith.constant 1 : i32
            %lane = gpu.lane_id
            %sg = gpu.subgroup_id : index
            %row = arith.muli %sg, %sixteen : index
            %item = arith.addi %row, %lane : index
            %other = arith.xori %item, %sixteen : index
            %v0 = arith.index_cast %item : index to i32
            {body}
          }}
        }}"""
        given, out = np.zeros(WORDS, np.int32), np.zeros((count, WORDS), np.int32)
        done = la.read(text).run([given, out], (1, 1, 1))
        return out, {finding.rule for finding in done.findings}


@pytest.mark.parametrize("limit", [BYTES, 2 * BYTES, 1 << 16])
@pytest.mark.parametrize("seed", range(16))
def test_a_random_kernel_computes_the_same_without_a_race(seed: int, limit: int) -> None:
    line = Line(seed)
    found = placed(line.body(), "%slm", limit)
    assert found.bytes <= limit
    result, findings = line.run(found.body, found.bytes)
    assert not findings
    assert np.array_equal(result, np.array(line.values))


def test_independent_conversions_wait_once_as_far_as_memory_goes() -> None:
    line = Line(0)
    line.lines, line.values, line.uses = [], line.values[:1], 0
    line.random.randrange = lambda *_: 0  # type: ignore[method-assign, assignment]
    for _ in range(4):
        line.use()
    barriers = {}
    for buffers in (1, 2, 3, 4):
        found = placed(line.body(), "%slm", buffers * BYTES)
        result, findings = line.run(found.body, found.bytes)
        assert not findings
        assert np.array_equal(result, np.array(line.values))
        barriers[buffers] = found.body.count("gpu.barrier")
    # One buffer: 4 uses, 3 barriers before it is stored to again. Two: pairs, and one barrier between them.
    assert barriers == {1: 7, 2: 3, 3: 3, 4: 1}


def test_a_conversion_of_what_another_made_waits_for_it() -> None:
    line = Line(0)
    line.lines, line.values, line.uses = [], line.values[:1], 0
    line.random.randrange = lambda count, *_: count - 1  # type: ignore[method-assign, assignment]
    line.use()
    line.use()
    assert together(line.body(), 1 << 16) == line.body()


@pytest.mark.parametrize("between", ["gpu.barrier", "memref.store %v1, %p[%item] : memref<32xi32>"])
def test_what_the_kernel_does_between_is_kept_in_order(between: str) -> None:
    """A load does not move before a store, and nothing moves before a barrier of the kernel's own."""
    line = Line(0)
    line.lines, line.values, line.uses = [], line.values[:1], 0
    line.random.randrange = lambda count, *_: count - 1  # type: ignore[method-assign, assignment]
    line.use()
    place = len(line.lines)
    line.lines.append(between)
    line.load()
    line.use()
    assert together(line.body(), 1 << 16) == line.body()
    del line.lines[place]
    assert together(line.body(), 1 << 16).count("gpu.barrier") == 1
