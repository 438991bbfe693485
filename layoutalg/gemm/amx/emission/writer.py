"""One function of an AMX module while it is written: its name, its arguments and their types in memory.

>>> from layoutalg.gemm.amx import plan_amx
>>> function = AmxFunction(plan_amx(64, 64, 64), "gemm_nothing", {"c": "c", "row": "index"}, private=True)
>>> print(function.text())
func.func private @gemm_nothing(%c: memref<64x64xf32>, %row: index) {
  func.return
}
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from layoutalg.amx import TileType
from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.emission.function import FunctionWriter
from layoutalg.gemm.product import mlir_type

if TYPE_CHECKING:
    from layoutalg.gemm.amx.plan import AmxGemm

__all__ = ["ROWS", "AmxFunction", "call", "kinds", "memref", "rows_argument"]

ROWS = "rows"
"""The argument that says how many rows A and C have, where a plan leaves that to the call."""


def rows_argument(plan: AmxGemm) -> dict[str, str]:
    """The argument with its kind, where the plan has it."""
    return {ROWS: "index"} if plan.problem.dynamic_m else {}


def memref(shape: Sequence[int], element: str, pitch: int | None = None) -> str:
    """The type of a buffer; `pitch` is the distance between rows, where they don't lie side by side.

    >>> memref((8, 16), "bf16"), memref((8, 16), "bf16", 20)
    ('memref<8x16xbf16>', 'memref<8x16xbf16, strided<[20, 1]>>')
    """
    sizes = "x".join(map(str, shape))
    strides = "" if pitch in (None, shape[-1]) else f", strided<[{pitch}, 1]>"
    return f"memref<{sizes}x{element}{strides}>"


def kinds(plan: AmxGemm) -> dict[str, str]:
    """The types of everything in memory that functions take, by name.

    >>> from layoutalg.gemm.amx import plan_amx
    >>> plan = plan_amx(64, 32, 64, c="bf16", bias="row", blocking=(2, 2), blocks=(64, 32, 64), pack_a=False)
    >>> {name: kind for name, kind in kinds(plan).items() if name not in ("b", "c")}
    {'a': 'memref<64x64xbf16>', 'packed_b': 'memref<2x32x32xbf16>', 'scratch': 'memref<64x32xf32>', 'bias': 'memref<64xbf16>'}
    """
    problem, tiling = plan.problem, plan.tiling
    found = {
        matrix.name.lower(): memref((matrix.rows, matrix.columns), matrix.element, matrix.pitch)
        for matrix in problem.matrices
    }
    found["packed_b"] = memref(plan.packed_b_shape, plan.element)
    if plan.packed_a_shape is not None:
        found["packed_a"] = memref(plan.packed_a_shape, plan.element)
    if not problem.direct:
        found["scratch"] = memref((tiling.m_block, tiling.n_block), plan.accumulator)
    vectors = problem.vectors
    for name, over, element in vectors:
        found[name] = memref((problem.count(over),), mlir_type(element))
    ordered = ("a", "packed_a", "b", "packed_b", "c", "scratch", *(name for name, _, _ in vectors))
    return {name: found[name] for name in ordered if name in found}


class AmxFunction(FunctionWriter):
    """A function of a plan's module; `arguments` maps names to what they are: "index", or a name of `kinds`."""

    def __init__(self, plan: AmxGemm, name: str, arguments: Mapping[str, str], *, private: bool = False) -> None:
        self.plan = plan
        self.name = name
        self.private = private
        types = kinds(plan)
        self.arguments = {argument: Value(types.get(kind, kind), name=argument) for argument, kind in arguments.items()}
        super().__init__(tuple(self.arguments.values()))

    def tile(self, tile: TileType) -> str:
        """A tile type in the spelling of the plan's LLVM."""
        return tile.text(self.plan.llvm)

    def times(self, place: Value, number: int) -> Value:
        """A place times a number."""
        return place if number == 1 else self.op("muli", place, self.constant(number))

    def over(self, place: Value, number: int) -> Value:
        """A place divided by a number, rounded down."""
        return place if number == 1 else self.op("divui", place, self.constant(number))

    @contextmanager
    def every(
        self, names: Sequence[str], first: Sequence[Value], last: Sequence[Value], steps: Sequence[int]
    ) -> Generator[tuple[Value, ...]]:
        """Independent iterations: from `first` to before `last`, the last place changes fastest.

        >>> from layoutalg.gemm.amx import plan_amx
        >>> function = AmxFunction(plan_amx(64, 64, 64), "f", {"c": "c"})
        >>> with function.every(("row",), (function.constant(0),), (function.constant(64),), (1,)) as (row,):
        ...     function.writer.do("test.use %s : index", (row,))
        >>> print(function.writer.text())
        %c0 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %c1 = arith.constant 1 : index
        scf.parallel (%row) = (%c0) to (%c64) step (%c1) {
          test.use %row : index
          scf.reduce
        }
        """
        places = tuple(Value("index", name=name) for name in names)
        marks = ", ".join(["%s"] * len(places))
        form = f"scf.parallel ({marks}) = ({marks}) to ({marks}) step ({marks}) {{"
        operands = (*places, *first, *last, *(self.constant(step) for step in steps))
        with self.region(form, operands, arguments=places):
            yield places
            self.writer.do("scf.reduce")

    @contextmanager
    def each(self, name: str, first: Value, last: Value, step: int) -> Generator[Value]:
        """Iterations one after the other."""
        place = Value("index", name=name)
        operands = (place, first, last, self.constant(step))
        with self.region("scf.for %s = %s to %s step %s {", operands, arguments=(place,)):
            yield place

    def text(self) -> str:
        """The function as MLIR text."""
        arguments = ", ".join(f"%{name}: {value.kind}" for name, value in self.arguments.items())
        body = self.writer.text("  ")
        lines = [
            f"func.func {'private ' if self.private else ''}@{self.name}({arguments}) {{",
            *([body] if body else []),
            "  func.return",
            "}",
        ]
        return "\n".join(lines)


def call(function: FunctionWriter, name: str, operands: Sequence[Value]) -> None:
    """Call a function without results."""
    marks = ", ".join(["%s"] * len(operands))
    types = ", ".join(value.kind for value in operands)
    function.writer.do(f"func.call @{name}({marks}) : ({types}) -> ()", operands)
