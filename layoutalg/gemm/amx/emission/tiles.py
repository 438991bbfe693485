"""The functions that hold tiles: all register blocks of one shape, for a part of k.

A step of k loads the tiles of the operand that has fewer and keeps them, while those of the other pass through one register:
so a block of rows x columns tiles takes rows * columns + min(rows, columns) + 1 registers. For 2x1 tiles in bf16:

    scf.parallel (%j, %i) = (%j0, %i0) to (%j1, %i1) step (%c16, %c32) {
      %zero = x86.amx.tile_zero : !x86.amx.tile<16x16xf32>
      %zero_1 = x86.amx.tile_zero : !x86.amx.tile<16x16xf32>
      %sum, %sum_1 = scf.for %k = %k0 to %k1 step %c32 iter_args(%before = %zero, %before_1 = %zero_1) -> (..) {
        %tile_b = x86.amx.tile_load ..
        %tile_a = x86.amx.tile_load ..
        %after = x86.amx.tile_mulf %tile_a, %tile_b, %before : ..
        %tile_a_1 = x86.amx.tile_load ..
        %after_1 = x86.amx.tile_mulf %tile_a_1, %tile_b, %before_1 : ..
        scf.yield %after, %after_1 : ..
      }
      x86.amx.tile_store ..
      x86.amx.tile_store ..
    }

With `prefetch_b` steps ahead, each tile of B is asked for so early, a line of 64 bytes at a time: `memref.prefetch`, which is
`prefetcht0`. At the end of a panel its last tile is asked for again: nothing outside of the buffer is.

What LLVM asks for: every accumulator has a `tile_zero` of its own (a shared one is copied through memory), tiles are carried
by `iter_args`, and no function with tiles calls another: tiles are configured once per function, and lost in a call.

>>> from layoutalg.gemm.amx import plan_amx
>>> plan = plan_amx(32, 16, 64, blocking=(2, 1))
>>> made = tile_functions(plan)
>>> list(made), [made["gemm_tiles_32x16"].count(name) for name in ("tile_zero", "tile_load", "tile_mulf", "tile_store")]
(['gemm_tiles_32x16'], [2, 3, 2, 2])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layoutalg.amx import TileProduct, TileType, dialect_of
from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.amx.emission.writer import AmxFunction
from layoutalg.gemm.amx.strips import Strip
from layoutalg.gemm.amx.tiling import TILE

if TYPE_CHECKING:
    from layoutalg.gemm.amx.plan import AmxGemm

__all__ = ["Phase", "phases", "tile_functions", "tile_name"]


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of k, from `first` to `last`, computed `step` at a time for a whole cache block before the next part.

    `more` adds to sums that are in memory; `rest` is the last, smaller step; `depth` the elements of k in a step.

    >>> Phase(0, 64, 64, 32).suffix, Phase(64, 72, 8, 8, more=True, rest=True).suffix
    ('', '_more_rest')
    """

    first: int
    last: int
    step: int
    depth: int
    more: bool = False
    rest: bool = False

    @property
    def suffix(self) -> str:
        """What the names of its functions end with."""
        return f"{'_more' if self.more else ''}{'_rest' if self.rest else ''}"


def phases(plan: AmxGemm) -> tuple[Phase, ...]:
    """The parts of k, one after the other.

    >>> from layoutalg.gemm.amx import plan_amx
    >>> for phase in phases(plan_amx(64, 64, 200, blocking=(2, 2), blocks=(64, 64, 64))):
    ...     print(phase)
    Phase(first=0, last=64, step=64, depth=32, more=False, rest=False)
    Phase(first=64, last=192, step=64, depth=32, more=True, rest=False)
    Phase(first=192, last=200, step=8, depth=8, more=True, rest=True)
    """
    depth, whole, rest = plan.problem.depth, plan.k_whole, plan.k_rest
    step = max(depth, plan.tiling.k_block // depth * depth)
    found: list[Phase] = []
    if whole:
        found.append(Phase(0, min(step, whole), step, depth))
    if whole > step:
        found.append(Phase(step, whole, step, depth, more=True))
    if rest:
        found.append(Phase(whole, whole + rest, rest, rest, more=bool(found), rest=True))
    return tuple(found)


def tile_name(row: Strip, column: Strip, phase: Phase) -> str:
    """The name of the function of a pair of strips.

    >>> tile_name(Strip(0, 3, (16, 16)), Strip(32, 1, (12,)), Phase(0, 64, 64, 32))
    'gemm_tiles_32x12'
    """
    return f"gemm_tiles_{row.size}x{column.size}{phase.suffix}"


def tile_functions(plan: AmxGemm) -> dict[str, str]:
    """The text of every function with tiles, by name."""
    rows, columns = plan.strips
    return {
        tile_name(row, column, phase): _written(plan, row, column, phase)
        for phase in phases(plan)
        for row in rows
        for column in columns
    }


def _written(plan: AmxGemm, row: Strip, column: Strip, phase: Phase) -> str:
    direct, name = plan.problem.direct, tile_name(row, column, phase)
    places = dict.fromkeys(("i0", "i1", "j0", "j1", "k0", "k1", "row", "col"), "index")
    taken = {"a": "packed_a" if plan.tiling.pack_a else "a", "b": "packed_b", "out": "c" if direct else "scratch"}
    function = AmxFunction(plan, name, taken | places, private=True)
    block = _Block(function, row.heights, column.heights, phase)
    given = function.arguments
    order = (("i", row), ("j", column)) if plan.tiling.order == "rows" else (("j", column), ("i", row))
    with function.every(
        [axis for axis, _ in order],
        [given[f"{axis}0"] for axis, _ in order],
        [given[f"{axis}1"] for axis, _ in order],
        [strip.size for _, strip in order],
    ) as made:
        found = dict(zip((axis for axis, _ in order), made, strict=True))
        block.write(found["i"], found["j"])
    return function.text()


class _Block:
    """The operations of one register block."""

    def __init__(self, function: AmxFunction, heights: Sequence[int], widths: Sequence[int], phase: Phase) -> None:
        self.function, self.heights, self.widths, self.phase = function, heights, widths, phase
        self.dialect = dialect_of(function.plan.llvm)

    def write(self, i: Value, j: Value) -> None:
        """The block whose first row and column of C are i and j."""
        function, given = self.function, self.function.arguments
        pairs = [(r, c) for r in range(len(self.heights)) for c in range(len(self.widths))]
        products = {(r, c): self._product(r, c) for r, c in pairs}
        if function.plan.problem.direct:
            down, across = i, j
        else:
            down, across = function.op("subi", i, given["row"]), function.op("subi", j, given["col"])
        places = {(r, c): (function.plus(down, TILE * r), function.plus(across, TILE * c)) for r, c in pairs}
        kinds = {pair: function.tile(products[pair].acc_type) for pair in pairs}
        sums = {
            pair: self._load(given["out"], places[pair], products[pair].acc_type, "before")
            if self.phase.more
            else self._named(f"{self.dialect}.tile_zero : {kinds[pair]}", (), kinds[pair], "zero")
            for pair in pairs
        }
        panels = (function.over(i, TILE) if function.plan.tiling.pack_a else i, function.over(j, TILE))
        rest = self.phase.rest
        after = self._step(panels, given["k0"], products, sums) if rest else self._loop(panels, products, sums)
        for pair in pairs:
            form = f"{self.dialect}.tile_store %s[%s, %s], %s : {given['out'].kind}, {kinds[pair]}"
            function.writer.do(form, (given["out"], *places[pair], after[pair]))

    def _loop(
        self,
        panels: tuple[Value, Value],
        products: dict[tuple[int, int], TileProduct],
        sums: dict[tuple[int, int], Value],
    ) -> dict[tuple[int, int], Value]:
        function, given, pairs = self.function, self.function.arguments, list(sums)
        carried = {pair: Value(sums[pair].kind, name="before") for pair in pairs}
        results = {pair: Value(sums[pair].kind, name="sum") for pair in pairs}
        types = ", ".join(sums[pair].kind for pair in pairs)
        place = Value("index", name="k")
        form = f"scf.for %s = %s to %s step %s iter_args({', '.join(['%s = %s'] * len(pairs))}) -> ({types}) {{"
        bounds = (place, given["k0"], given["k1"], function.constant(self.phase.depth))
        operands = (*bounds, *(value for pair in pairs for value in (carried[pair], sums[pair])))
        with function.region(form, operands, tuple(results.values()), (place, *carried.values())):
            after = self._step(panels, place, products, carried)
            function.writer.do(f"scf.yield {', '.join(['%s'] * len(pairs))} : {types}", [after[pair] for pair in pairs])
        return results

    def _step(
        self,
        panels: tuple[Value, Value],
        k: Value,
        products: dict[tuple[int, int], TileProduct],
        sums: dict[tuple[int, int], Value],
    ) -> dict[tuple[int, int], Value]:
        """One step of k: the operand with fewer tiles is loaded first and kept."""
        function, problem = self.function, self.function.plan.problem
        word, packed = function.over(k, problem.vnni), function.plan.tiling.pack_a
        zero = function.constant(0)
        ahead = self._ahead(word)
        after: dict[tuple[int, int], Value] = {}

        def of_a(r: int) -> Value:
            tile = products[r, 0].lhs_type
            where = (function.plus(panels[0], TILE * r), k)
            if packed:
                step = function.once("step", lambda: function.over(k, problem.depth))
                where = (function.plus(panels[0], r), step, zero, zero)
            return self._load(function.arguments["a"], where, tile, "tile_a")

        def of_b(c: int) -> Value:
            where = (function.plus(panels[1], c), word, zero)
            if ahead is not None:
                self._ask(where[0], ahead)
            return self._load(function.arguments["b"], where, products[0, c].rhs_type, "tile_b")

        def multiply(r: int, c: int, left: Value, right: Value) -> None:
            product, total = products[r, c], sums[r, c]
            marks = [" zext" if unsigned else "" for unsigned in (product.lhs_zext, product.rhs_zext)]
            operation = product.op.removeprefix("amx.")
            form = (
                f"{self.dialect}.{operation} %s{marks[0]}, %s{marks[1]}, %s : {left.kind}, {right.kind}, {total.kind}"
            )
            after[r, c] = self._named(form, (left, right, total), total.kind, "after")

        if len(self.heights) <= len(self.widths):
            held = [of_a(r) for r in range(len(self.heights))]
            for c in range(len(self.widths)):
                passing = of_b(c)
                for r, left in enumerate(held):
                    multiply(r, c, left, passing)
        else:
            held = [of_b(c) for c in range(len(self.widths))]
            for r in range(len(self.heights)):
                passing = of_a(r)
                for c, right in enumerate(held):
                    multiply(r, c, passing, right)
        return after

    def _ahead(self, word: Value) -> Value | None:
        """The word of k where the tiles of B begin that are asked for in this step: at the end the last whole ones again."""
        function, steps = self.function, self.function.plan.tiling.prefetch_b
        last = function.plan.packed_b_shape[1] - TILE
        if not steps or self.phase.rest or last < TILE * steps:
            return None
        return function.named("ahead", function.op("minui", function.plus(word, TILE * steps), function.constant(last)))

    def _ask(self, panel: Value, ahead: Value) -> None:
        """Ask for a tile of B."""
        function, source = self.function, self.function.arguments["b"]
        form = f"memref.prefetch %s[%s, %s, %s], read, locality<3>, data : {source.kind}"
        for row in range(TILE):
            function.writer.do(form, (source, panel, function.plus(ahead, row), function.constant(0)))

    def _product(self, r: int, c: int) -> TileProduct:
        return self.function.plan.tile_product(self.heights[r], self.widths[c], self.phase.depth)

    def _load(self, base: Value, place: Sequence[Value], tile: TileType, name: str) -> Value:
        kind = self.function.tile(tile)
        form = f"{self.dialect}.tile_load %s[{', '.join(['%s'] * len(place))}] : {base.kind} into {kind}"
        return self._named(form, (base, *place), kind, name)

    def _named(self, form: str, operands: Sequence[Value], kind: str, name: str) -> Value:
        return self.function.named(name, self.function.writer.value(form, operands, kind))
