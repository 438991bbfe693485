"""The second kernel of decode: it adds the parts of a row, each by the distance of its m from the largest.

    M  = the largest m of all parts; N = M, or 0 where M is -inf
    w  = exp2(c * (m - N))           for each part; 0 for a part without a key
    l  = sum of w * (the part's l), O = sum of w * (the part's O), part after part, each by one fma
    O / l                            or 0 where l is 0: a row that sees no key

A subgroup has 16 columns of a few rows. A part with nothing but masked keys has m = -inf, l = 0 and O = 0, so it adds nothing.
The order of the parts is fixed, so the result has the same bits in every run.

>>> from layoutalg.gemm.attention.decode import plan_decode
>>> combined_rows(4), combined_rows(64), at_once(64)
(8, 1, 32)
>>> combining(plan_decode(4096, 64, parts=64, target="bmg")).count("scf.for")
2
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from layoutalg.conversion.lowering.region_writer import RegionWriter
from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.attention.decode.places import COMBINE, function_text
from layoutalg.gemm.attention.products import MINUS_INFINITY
from layoutalg.gemm.attention.writing import KernelWriter

if TYPE_CHECKING:
    from layoutalg.gemm.attention import Attention
    from layoutalg.gemm.attention.decode.plan import Decode

__all__ = ["at_once", "combined_rows", "combining"]

_LOADED = 32
"""Registers of each of O, m and l that are loaded at once: a lane has one number of each row of each part."""


def at_once(parts: int) -> int:
    """The parts that a step of the loop takes.

    >>> at_once(5), at_once(96)
    (5, 32)
    """
    return min(parts, _LOADED)


def combined_rows(parts: int) -> int:
    """The rows that a subgroup has: so few that the parts of a step are loaded at once.

    >>> [combined_rows(parts) for parts in (2, 5, 16, 17)]
    [8, 4, 2, 1]
    """
    return next(rows for rows in (8, 4, 2, 1) if rows * at_once(parts) <= _LOADED)


def combining(plan: Decode, *, pointers: bool = True) -> str:
    """The text of the kernel that combines the parts."""
    kernel = _Combining(plan, RegionWriter([Value(kind, name=name) for name, kind in plan.parameters]))
    kernel.write()
    return function_text(plan, COMBINE, 1, kernel.writer, pointers=pointers)


class _Combining(KernelWriter):
    def __init__(self, plan: Decode, writer: RegionWriter) -> None:
        super().__init__(cast("Attention", plan), writer)  # what it asks of a plan, both have
        self.decode = plan
        self.high = combined_rows(plan.parts)
        self.factor = self._floats(f"{plan.problem.exponent_scale:.9e}", "factor")

    def _floats(self, text: str, name: str) -> Value:
        return self.constant(f"dense<{text}>", "f32", self.high, name)

    def write(self) -> None:
        plan, problem = self.decode, self.decode.problem
        z = self.cast(self.let("gpu.block_id z", (), "index"), "i32", "group")
        row = self.let("gpu.block_id y", (), "index")
        self.row = self.binary("muli", self.cast(row, "i32"), self.number(self.high), "own_row")
        block = self.let("gpu.block_id x", (), "index")
        self.column = self.binary("muli", block, self.number(16, "index"), "column")
        width, height = plan.workspace_columns, plan.parts * problem.rows
        moved = self.let("arith.extui %s : i32 to i64", (z,), "i64")
        moved = self.binary("muli", moved, self.number(height * width * 4, "i64"))
        base = self.binary("addi", self.arguments["workspace"], moved, "parts_of_group")
        self.kind = f"!xegpu.tensor_desc<{self.high}x16xf32>"
        form = f"xegpu.create_nd_tdesc %s, shape : [{height}, {width}], strides : [{width}, 1] : i64 -> {self.kind}"
        self.of_parts = self.let(form, (base,), self.kind, name="matrix_w")
        zeros, low = self._floats("0.0", "zeros"), self._floats(MINUS_INFINITY, "lowest")
        (most,) = self._loop("largest", [Value("f32", self.high, "most")], [low], self._larger_of)
        some = self.let(f"arith.cmpf ogt, %s, %s : {most.kind}", (most, low), "i1", self.high)
        self.near = self.select(some, most, zeros, "near")
        carried = [Value("f32", self.high, name) for name in ("total", "sum")]
        total, o = self._loop("added", carried, [zeros, zeros], self._added)
        seen = self.let(f"arith.cmpf une, %s, %s : {total.kind}", (total, zeros), "i1", self.high)
        inverse = self.binary("divf", self._floats("1.0", "whole"), total)
        result = self.binary("mulf", o, self.select(seen, inverse, zeros, "inverse"))
        self._store(result, z)
        self.writer.do("gpu.return")

    def _loop(
        self,
        name: str,
        carried: Sequence[Value],
        begin: Sequence[Value],
        body: Callable[[list[Value], Sequence[Value]], list[Value]],
    ) -> list[Value]:
        """Over all parts, so many in a step as are loaded at once."""
        parts, each = self.decode.parts, at_once(self.decode.parts)
        results = [Value(one.element, one.size, one.name) for one in carried]
        first = Value("i32", name=f"{name}_part")
        kinds = ", ".join(one.kind for one in carried)
        marks = ", ".join(["%s = %s"] * len(carried))
        pairs = [value for pair in zip(carried, begin, strict=True) for value in pair]
        operands = (first, self.number(0), self.number(parts), self.number(each), *pairs)
        form = f"scf.for %s = %s to %s step %s iter_args({marks}) -> ({kinds}) : i32 {{"
        with self.writer.region(form, operands, results, (first, *carried)):
            rows = [self._row(first, number) for number in range(each)]
            done = body(rows, carried)
            self.writer.do(f"scf.yield {', '.join(['%s'] * len(done))} : {kinds}", done)
        return results

    def _row(self, first: Value, number: int) -> Value:
        """Where the rows of a part are."""
        part = self.binary("addi", first, self.number(number)) if number else first
        moved = self.binary("muli", part, self.number(self.decode.problem.rows))
        return self.cast(self.binary("addi", moved, self.row), "index", "row_of_part")

    def _loaded(self, row: Value, column: Value | int, name: str) -> Value:
        at = "%s" if isinstance(column, Value) else str(column)
        form = f"xegpu.load_nd %s[%s, {at}] : {self.kind} -> vector<{self.high}xf32>"
        operands = (self.of_parts, row, column) if isinstance(column, Value) else (self.of_parts, row)
        return self.let(form, operands, "f32", self.high, name)

    def _larger_of(self, rows: list[Value], carried: Sequence[Value]) -> list[Value]:
        (most,) = carried
        for one in [self._loaded(row, 16 * self.depths, "m") for row in rows]:
            most = self.larger(one, most)
        return [most]

    def _added(self, rows: list[Value], carried: Sequence[Value]) -> list[Value]:
        total, o = carried
        held = [
            [self._loaded(row, column, name) for name, column in (("m", 16 * self.depths), ("o", self.column))]
            + [self._loaded(row, 16 * (self.depths + 1), "l")]
            for row in rows
        ]
        for m, of_part, sums in held:
            less = self.binary("mulf", self.binary("subf", m, self.near), self.factor)
            weight = self.exp2(less, "w")
            total = self._fma(weight, sums, total)
            o = self._fma(weight, of_part, o)
        return [total, o]

    def _fma(self, left: Value, right: Value, added: Value) -> Value:
        return self.let(f"math.fma %s, %s, %s : {left.kind}", (left, right, added), "f32", self.high)

    def _store(self, result: Value, z: Value) -> None:
        problem, out = self.decode.problem, self.decode.problem.out
        first = self.binary("muli", z, self.number(problem.rows))
        height = self.cast(self.binary("addi", first, self.number(problem.rows)), "index", "rows_end")
        kind = f"!xegpu.tensor_desc<{self.high}x16x{out}>"
        form = f"xegpu.create_nd_tdesc %s, shape : [%s, {problem.d}], strides : [{problem.d}, 1] : i64 -> {kind}"
        matrix = self.let(form, (self.arguments["o"], height), kind, name="matrix_o")
        if out != "f32":
            text = f"arith.truncf %s : {result.kind} to vector<{self.high}x{out}>"
            result = self.let(text, (result,), out, self.high)
        row = self.cast(self.binary("addi", first, self.row), "index")
        self.writer.do(f"xegpu.store_nd %s, %s[%s, %s] : {result.kind}, {kind}", (result, matrix, row, self.column))
