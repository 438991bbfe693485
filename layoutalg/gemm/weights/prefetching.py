"""Prefetches of a product with quantised weights: what the subgroups of a workgroup ask for, some steps ahead.

Every step needs A, words, scales and zero points of its groups. Subgroups below each other multiply the same weights, and those
beside each other the same rows of A; so a subgroup asks for its share of each with 2D messages, which are 64 bytes wide.

By hand, tiles of 8x32 in u4 with groups of 128 and 1x4 subgroups: the 4 blocks of 64 bytes of a step of A are one for each
subgroup. Each has its own words, two blocks of 16 rows, and two lines of scales.

>>> from layoutalg.gemm.weights import plan_weights
>>> plan = plan_weights(8, 4096, 4096, tile=(8, 32), subgroups=(1, 4), split_k=1, prefetch="shared", distance=2)
>>> [(share.name, share.rows, share.rounds) for share in shares(plan)]
[('a', 8, 1), ('b', 16, 2), ('group_scales', 1, 2)]
>>> plan.prefetches_per_step
5

With 4x1 subgroups one asks for all of A, words come in pieces, and two of four have a line of scales:

>>> plan = plan_weights(64, 4096, 4096, tile=(8, 32), subgroups=(4, 1), split_k=1, prefetch="shared")
>>> [(share.name, share.rows, share.pieces, share.rounds) for share in shares(plan)]
[('a', 8, 1, 4), ('b', 8, 2, 1), ('group_scales', 1, 1, 1)]

Where a step is behind the last one of its workgroup, and where a subgroup has no share, the place is outside of the matrix, and
nothing is asked for. The law: what is prefetched in a step is what the workgroup loads in that step, each line once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.emission.operands import HINTS
from layoutalg.gemm.emission.places import another

if TYPE_CHECKING:
    from layoutalg.gemm.emission.kernel import KernelWriter
    from layoutalg.gemm.emission.places import Places
    from layoutalg.gemm.weights.plan import WeightsGemm

__all__ = ["Ahead", "Share", "shares"]

_LINE = 16
"""Elements of 32 bits in the 64 bytes that a message is wide."""
_TALLEST = 32
"""Rows of a message."""
_OTHER = 2
"""Loads take the address itself, and another value of it (`emission`); prefetches take a third one."""


@dataclass(frozen=True)
class Share:
    """What subgroups ask for of one matrix: blocks of `rows` rows, 64 bytes wide, given out by turns in so many `rounds`.

    A step of a subgroup's tile has `blocks` of them beside each other, and `pieces` of those below each other.
    """

    name: str
    rows: int
    blocks: int
    pieces: int
    sharing: int
    """Subgroups that share them."""

    @property
    def count(self) -> int:
        """All blocks."""
        return self.blocks * self.pieces

    @property
    def rounds(self) -> int:
        """Messages of a subgroup."""
        return -(-self.count // self.sharing)


def shares(plan: WeightsGemm) -> tuple[Share, ...]:
    """What is shared of each matrix; () without prefetch."""
    problem, (tile, (down, across)) = plan.problem, (plan.tiling.tile, plan.tiling.subgroups)
    if plan.tiling.prefetch == "none":
        return ()
    wide, high = tile.n // _LINE, problem.step * problem.bits // 32
    pieces = -(-high // _TALLEST)
    while wide * pieces < down and pieces < high:
        pieces *= 2
    return (
        Share("a", tile.m, problem.step * 2 // (4 * _LINE), 1, across),
        Share("b", high // pieces, wide, pieces, down),
        *(Share(name, 1, wide, 1, down) for name in problem.of_groups),
    )


class Ahead:
    """The prefetches of a kernel, and where they ask."""

    def __init__(self, kernel: KernelWriter, plan: WeightsGemm, places: Places, bases: Mapping[str, Value]) -> None:
        self.kernel, self.plan = kernel, plan
        m, n, k = (kernel.index(kernel.arguments[name]) for name in ("m", "n", "k"))
        each = kernel.constant(32 // plan.problem.bits)
        words = kernel.named("rows_of_words", kernel.op("divui", k, each))
        groups = kernel.named("groups", kernel.op("divui", k, kernel.constant(plan.problem.group)))
        lda = kernel.index(kernel.arguments["lda"])
        self._messages: list[tuple[str, str, Value, Value, Value]] = []
        for share in shares(plan):
            if share.name == "a":
                half = kernel.gemm.element_of("A")
                kind = f"{share.rows}x{_LINE}x{half}, #xegpu.block_tdesc_attr<array_length = 2 : i64>"
                sizes, wide, corner = (m, k, lda), 2 * _LINE, (places.row, kernel.constant(0))
            else:
                of_words = share.name == "b"
                kind = f"{share.rows}x{_LINE}x{'i32' if of_words else 'f32'}"
                sizes, wide = (words if of_words else groups, n, n), _LINE
                corner = (kernel.constant(0), places.column)
            kind = f"!xegpu.tensor_desc<{kind}>"
            form = f"xegpu.create_nd_tdesc %s, shape : [%s, %s], strides : [%s, 1] : i64 -> {kind}"
            base = another(kernel, bases[share.name], _OTHER)
            described = kernel.named(f"prefetch_{share.name}", kernel.writer.value(form, (base, *sizes), kind))
            for number in range(share.rounds):
                row, column = self._place(places, share, number, corner, wide, sizes[0])
                self._messages.append((share.name, kind, described, row, column))

    def _place(
        self, places: Places, share: Share, number: int, corner: tuple[Value, Value], wide: int, height: Value
    ) -> tuple[Value, Value]:
        """Where a subgroup's block of a round is in the step at 0; behind the last row where it has none."""
        kernel = self.kernel
        row, column = corner
        first = number * share.sharing
        if share.sharing == 1 or places.subgroup is None:
            piece, block = divmod(first, share.blocks)
            return kernel.plus(row, piece * share.rows), kernel.plus(column, block * wide)
        across = kernel.constant(self.plan.tiling.subgroups[1])
        own = kernel.op("remui" if share.name == "a" else "divui", places.subgroup, across)
        at = kernel.plus(own, first)
        blocks = kernel.constant(share.blocks)
        if share.pieces > 1:
            below = kernel.op("muli", kernel.op("divui", at, blocks), kernel.constant(share.rows))
            row = kernel.op("addi", row, below)
        beside = kernel.op("muli", kernel.op("remui", at, blocks), kernel.constant(wide))
        column = kernel.op("addi", column, beside)
        if first + share.sharing > share.count:
            busy = kernel.writer.value("arith.cmpi ult, %s, %s : index", (at, kernel.constant(share.count)), "i1")
            row = kernel.writer.value("arith.select %s, %s, %s : index", (busy, row, height), "index")
        return kernel.named("prefetch_row", row), kernel.named("prefetch_column", column)

    def _row(self, k: Value, size: int) -> Value:
        """The row of a matrix that has one for so many k; behind the last one where a step before `k` has the same."""
        kernel, step = self.kernel, self.plan.problem.step
        row = kernel.op("divui", k, kernel.constant(size, "i32"))
        if size > step:
            begins = kernel.op("muli", row, kernel.constant(size, "i32"))
            new = kernel.writer.value("arith.cmpi eq, %s, %s : i32", (begins, k), "i1")
            row = kernel.writer.value("arith.select %s, %s, %s : i32", (new, row, kernel.arguments["k"]), "i32")
        return kernel.cast(row, "index")

    def ask(self, k: Value) -> None:
        """Ask for the step at `k` (i32)."""
        kernel, problem = self.kernel, self.plan.problem
        sizes = {"b": 32 // problem.bits} | dict.fromkeys(problem.of_groups, problem.group)
        step = kernel.named("step_ahead", kernel.cast(k, "index"))
        found = {"a": step}
        for name, size in sizes.items():
            key = "step_of_words_ahead" if name == "b" else "group_ahead"
            found[name] = kernel.once(key, lambda size=size: self._row(k, size))
        for name, kind, described, row, column in self._messages:
            if name == "a":
                place = row, kernel.op("addi", column, found[name])
            else:
                place = kernel.op("addi", row, found[name]), column
            form = f"xegpu.prefetch_nd %s[%s, %s] <{{{HINTS}}}> : {kind}"
            kernel.writer.do(form, (described, *place))

    def begin(self, first: Value, end: Value) -> None:
        """Ask for the steps behind the first that the loop does not ask for."""
        kernel, step, distance = self.kernel, self.plan.problem.step, self.plan.tiling.distance
        if distance == 1:
            return
        behind = kernel.op("minsi", end, kernel.plus(first, step * distance))
        counter = Value("i32", name="counter")
        operands = (counter, kernel.plus(first, step), behind, kernel.constant(step, "i32"))
        with kernel.region("scf.for %s = %s to %s step %s : i32 {", operands, (), (counter,)):
            self.ask(counter)

    def in_step(self, counter: Value, end: Value) -> None:
        """Ask for the step that the loop's step at `counter` asks for; nothing behind `end`."""
        kernel, tiling = self.kernel, self.plan.tiling
        k = kernel.plus(counter, self.plan.problem.step * tiling.distance)
        if tiling.split_k > 1:  # behind k as a whole messages are outside of the matrices
            inside = kernel.writer.value("arith.cmpi slt, %s, %s : i32", (k, end), "i1")
            k = kernel.writer.value("arith.select %s, %s, %s : i32", (inside, k, kernel.arguments["k"]), "i32")
        self.ask(k)
