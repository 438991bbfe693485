"""What every part of a kernel's emission writes to: the text, its arguments, constants that are made once, and places.

Constants stand at the beginning, each once; sums of a place and a number are made once too:

>>> from layoutalg.gemm import plan_gemm
>>> kernel = KernelWriter(plan_gemm(64, 64, 64, tile=(16, 32)))
>>> row = kernel.index(kernel.arguments["m"])
>>> kernel.plus(row, 8) is kernel.plus(row, 8), kernel.plus(row, 0) is row
(True, True)
>>> print(kernel.writer.text())
%c8 = arith.constant 8 : index
%size_m = arith.index_cast %m : i32 to index
%0 = arith.addi %size_m, %c8 : index
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from layoutalg.conversion.lowering.region_writer import RegionWriter
from layoutalg.conversion.lowering.writer import Value

if TYPE_CHECKING:
    from layoutalg.gemm.plan import Gemm

__all__ = ["KERNEL", "KernelWriter"]

KERNEL = "gemm"
"""The name of the kernel, and of its gpu.module."""


class KernelWriter:
    """One kernel while it is written. `static` writes the sizes as constants; else they are the kernel's arguments.

    >>> from layoutalg.gemm import plan_gemm
    >>> list(KernelWriter(plan_gemm(64, 64, 64)).arguments)
    ['a', 'b', 'c', 'm', 'n', 'k', 'lda', 'ldb', 'ldc']
    """

    def __init__(self, gemm: Gemm, *, static: bool = False) -> None:
        self.gemm = gemm
        self.static = static
        self.arguments = {name: Value(kind, name=name) for name, kind in gemm.parameters}
        self.writer = RegionWriter(tuple(self.arguments.values()))
        self.functions: dict[str, str] = {}
        """Declarations of functions that the kernel calls: name to text."""
        self.aliases: dict[str, str] = {}
        """Attributes that the text names: `#name = text`."""
        self.marks = ""
        """Attributes of operations on tiles: the layout of the result."""
        self._once: dict[object, Value] = {}
        self._sizes: dict[Value, Value] = {}

    def constant(self, number: float, kind: str = "index", size: int | None = None) -> Value:
        """A number as a value, made once, at the beginning.

        >>> from layoutalg.gemm import plan_gemm
        >>> kernel = KernelWriter(plan_gemm(64, 64, 64))
        >>> kernel.constant(4) is kernel.constant(4), kernel.constant(0.0, "f32", 8).kind
        (True, 'vector<8xf32>')
        """
        key = ("constant", number, kind, size)
        if key not in self._once:
            dense = self.dense(number, Value(kind, size).kind)
            with self.writer.at_entry():
                made = self.writer.value(f"arith.constant {dense}", (), kind, size)
            if size is None and isinstance(number, int):
                made.name = f"c{number}".replace("-", "m") + ("" if kind == "index" else f"_{kind}")
            self._once[key] = made
        return self._once[key]

    def dense(self, number: float, kind: str) -> str:
        """A number as the constant of a type, or as every element of one.

        >>> from layoutalg.gemm import plan_gemm
        >>> KernelWriter(plan_gemm(64, 64, 64)).dense(0.1, "vector<8x16xf32>")
        'dense<1.000000e-01> : vector<8x16xf32>'
        """
        element = kind.removesuffix(">").rpartition("x")[2] if kind.startswith("vector<") else kind
        text = _float(number) if element[0] in "fb" else str(number)
        return f"{f'dense<{text}>' if element != kind else text} : {kind}"

    def once(self, name: str, make: Callable[[], Value], *, named: bool = True) -> Value:
        """A value that parts of a region share, made by the first that asks.

        >>> from layoutalg.gemm import plan_gemm
        >>> kernel = KernelWriter(plan_gemm(64, 64, 64))
        >>> one = lambda: kernel.writer.value("gpu.lane_id", (), "index")
        >>> kernel.once("lane", one) is kernel.once("lane", one)
        True
        """
        key = ("once", name)
        if key not in self._once:
            self._once[key] = self.named(name, make()) if named else make()
        return self._once[key]

    def named(self, name: str, value: Value) -> Value:
        """The value, with a name where it has none."""
        if value.name is None:
            value.name = name
        return value

    def op(self, name: str, left: Value, right: Value) -> Value:
        """An operation of arith on two values of one type.

        >>> from layoutalg.gemm import plan_gemm
        >>> kernel = KernelWriter(plan_gemm(64, 64, 64))
        >>> kernel.op("muli", kernel.constant(3), kernel.constant(4)).kind
        'index'
        """
        return self.writer.value(f"arith.{name} %s, %s : {left.kind}", (left, right), left.element, left.size)

    def plus(self, place: Value, number: int) -> Value:
        """A place and a number; each sum is made once in a region."""
        if number == 0:
            return place
        key = ("plus", place, number)
        if key not in self._once:
            self._once[key] = self.op("addi", place, self.constant(number, place.kind))
        return self._once[key]

    def cast(self, value: Value, kind: str) -> Value:
        """An integer as another type of integers or as an index.

        >>> from layoutalg.gemm import plan_gemm
        >>> kernel = KernelWriter(plan_gemm(64, 64, 64))
        >>> kernel.cast(kernel.constant(3), "i32").kind
        'i32'
        """
        return self.writer.value(f"arith.index_cast %s : {value.kind} to {kind}", (value,), kind)

    def index(self, argument: Value) -> Value:
        """An argument of the kernel as an index, or the number that it will have in a static kernel; made once."""
        if argument not in self._sizes:
            numbers = dict(
                zip([name for name, kind in self.gemm.parameters if kind == "i32"], self.gemm.sizes, strict=True)
            )
            if self.static and argument.name in numbers:
                self._sizes[argument] = self.constant(numbers[argument.name])
            else:
                self._sizes[argument] = self.named(f"size_{argument.name}", self.cast(argument, "index"))
        return self._sizes[argument]

    @contextmanager
    def region(
        self, form: str, operands: Sequence[Value], results: Sequence[Value] = (), arguments: Sequence[Value] = ()
    ) -> Generator[None]:
        """An operation with a region; sums that are made in it stay in it."""
        before = dict(self._once)
        with self.writer.region(form, operands, results, arguments):
            yield
        self._once = before | {key: value for key, value in self._once.items() if key[0] == "constant"}  # pyright: ignore

    def text(self) -> str:
        """The whole module."""
        problem, tiling = self.gemm.problem, self.gemm.tiling
        lanes = problem.dpas.subgroup_size
        parameters = ", ".join(f"%{name}: {kind}" for name, kind in self.gemm.parameters)
        attributes = (
            f"intel_reqd_sub_group_size = {lanes} : i32, known_block_size = array<i32: {lanes * tiling.count}, 1, 1>"
        )
        lines = [
            *(f"#{name} = {attribute}" for name, attribute in self.aliases.items()),
            "builtin.module attributes {gpu.container_module} {",
            f"  gpu.module @{KERNEL} {{",
            *(f"    {declaration}" for declaration in self.functions.values()),
            f"    gpu.func @{KERNEL}({parameters}) kernel attributes {{{attributes}}} {{",
            self.writer.text("      "),
            "      gpu.return",
            "    }",
            "  }",
            "}",
        ]
        return "\n".join(lines) + "\n"


def _float(number: float) -> str:
    """With six digits where they say it, else with the ten that tell any two numbers of f32 apart."""
    short = f"{number:e}"
    return short if float(short) == number else f"{number:.9e}"
