"""The kernel that is written: its text, the numbers of lane and subgroup, and what each value of the source is in it.

A value that is spread over work-items is a `Fragment` there; everything else (numbers, pointers, buffers) is one value. What
depends on the numbers of lane and subgroup alone is written once, at the beginning:

>>> kernel = KernelText("k", Machine(lanes=16, subgroups=1), subgroups=4)
>>> with kernel.region("test.region {", ()):
...     kernel.writer.do("test.use %s : i32", (kernel.indices.number("lane"),))
>>> print(kernel.writer.text())
%0 = gpu.lane_id
%lane = arith.index_cast %0 : index to i32
test.region {
  test.use %lane : i32
}
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from xdsl.ir import Operation, SSAValue

from layoutalg.conversion.lowering.indices import Indices, named
from layoutalg.conversion.lowering.region_writer import RegionWriter
from layoutalg.conversion.lowering.shared_memory import ALIGNMENT
from layoutalg.conversion.lowering.writer import Value
from layoutalg.conversion.price import Price
from layoutalg.conversion.program.steps import Address
from layoutalg.core.errors import LayoutError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.notation import Machine
from layoutalg.flow.written_layouts import called
from layoutalg.ir.findings import Finding
from layoutalg.ir.places import Place, place_of
from layoutalg.lowering.called_functions import written_for
from layoutalg.lowering.fragments import Fragment
from layoutalg.lowering.line_template import LineTemplate
from layoutalg.lowering.registers import Term, coordinates, terms

if TYPE_CHECKING:
    from layoutalg.conversion import ConversionPlan

__all__ = ["Exchanged", "KernelText", "LaneIndices", "Refused", "refuse"]


class Refused(LayoutError):
    """An operation that is not lowered, with the finding that says why; None where the reason was said before."""

    def __init__(self, finding: Finding | None) -> None:
        super().__init__("" if finding is None else str(finding))
        self.finding = finding


def refuse(operation: Operation, rule: str, message: str, *notes: str) -> NoReturn:
    """Stop lowering an operation."""
    raise Refused(Finding(f"lower.{rule}", message, called(operation), place_of(operation), notes=notes))


@dataclass(frozen=True, slots=True)
class Exchanged:
    """A conversion that was written: where, from which layout to which, how, and whether the module asked for it.

    >>> rows, columns = Layout.parse("d0 = 4@reg, d1 = 4@lane"), Layout.parse("d0 = 4@lane, d1 = 4@reg")
    >>> from layoutalg.conversion.price import price
    >>> found = price(rows, columns)
    >>> print(Exchanged(None, "xegpu.convert_layout", rows, columns, found.plan, found))
    xegpu.convert_layout: d0 = 4@reg, d1 = 4@lane to d0 = 4@lane, d1 = 4@reg: shared memory, 20 issue slots on pvc; 4 lanes in a
    subgroup; a lane holds 4x1 before and 1x4 after
    """

    place: Place | None
    operation: str
    source: Layout
    result: Layout
    plan: ConversionPlan
    price: Price
    """What it costs, and what was assumed (`layoutalg.price`)."""
    written: bool = True
    """False where nobody wrote it: the operation needs its operand in another layout than it has."""

    def __str__(self) -> str:
        where = "" if self.place is None else f"{self.place}: "
        ends = f"{self.source.canonical()} to {self.result.canonical()}"
        return f"{where}{self.operation}: {ends}: {self.plan.kind}, {self.price}"


class LaneIndices(Indices):
    """Numbers of lanes and subgroups, in a text with regions.

    >>> indices = LaneIndices(RegionWriter(), 4, 16)
    >>> indices.along((("sg", 2, 2, 16),)) is indices.along((("sg", 2, 2, 16),))
    True
    """

    writer: RegionWriter

    def __init__(
        self, writer: RegionWriter, subgroups: int, lanes: int, llvm: int = DEFAULT_LLVM, chip: str = "generic"
    ) -> None:
        super().__init__(writer, subgroups, lanes, chip, llvm)
        self._here: dict[object, Value] = {}
        self._early: set[Value] = set()
        self._first = 0
        self._of_ranges: dict[int, dict[object, Value]] = {}

    @contextmanager
    def scope(self) -> Generator[None]:
        """What is made inside, of values that are made there, is not used after it."""
        before = dict(self._here)
        yield
        self._here = before

    @contextmanager
    def counted_from(self, first: int) -> Generator[None]:
        """Inside, the subgroups are counted from this one on: those of `sg_id_range = #xegpu.range<[first, ...]>`."""
        made, before, start = self._made, self._here, self._first
        # Constants and the number of the lane are the same in every range; what follows from the subgroup's number is not.
        self._made, self._here, self._first = self._of_ranges.setdefault(first, {}), {}, first
        yield
        self._made, self._here, self._first = made, before, start

    def number(self, axis: str) -> Value:
        """The number of this lane or subgroup, as i32; of a subgroup in a range, counted from its first."""
        if axis != "sg" or not self._first:
            return super().number(axis)

        def make() -> Value:
            number = self._as_i32(self.writer.value("gpu.subgroup_id : index", (), "index"))
            return named("subgroup", self.binary("subi", number, self.constant(self._first)))

        return self._once(("sg", self._first), make)

    def _once(self, key: object, make: Callable[[], Value]) -> Value:
        """What depends on the numbers of lane and subgroup alone stands at the beginning."""
        if key not in self._made:
            with self.writer.at_entry():
                self._made[key] = make()
            self._early.add(self._made[key])
        return self._made[key]

    def once_of(self, key: object, parts: Sequence[Value], make: Callable[[], Value]) -> Value:
        """What `make` writes of some values: at the beginning where they are, otherwise once in each region."""
        if self._early.issuperset(parts):
            return self._once(key, make)
        if key not in self._here:
            self._here[key] = make()
        return self._here[key]

    def early(self, key: object, form: str, kind: str, size: int | None = None) -> Value:
        """A value without operands, written once at the beginning: of a type, or a vector of `size` elements."""
        return self._once(key, lambda: self.writer.value(form, (), kind, size))

    def along(self, parts: Sequence[Term]) -> Value:
        """The sum of terms, as an index."""
        key = tuple(parts)
        return self._once(("along", key), lambda: self.as_index(self.address(Address(0, factors=key))))

    def plus(self, left: Value | int, right: Value | int) -> Value | int:
        """The sum of two indices, each once; numbers are added here."""
        if isinstance(left, int):
            left, right = right, left
        if isinstance(left, int):
            return left + (right if isinstance(right, int) else 0)
        if isinstance(right, int):
            if right == 0:
                return left
            right = self.constant(right, "index")
        a, b = left, right
        return self.once_of(("plus", a, b), (a, b), lambda: self.binary("addi", a, b))

    def times(self, left: Value | int, right: Value | int) -> Value | int:
        """The product of two indices, each once."""
        if isinstance(left, int):
            left, right = right, left
        if isinstance(left, int):
            return left * (right if isinstance(right, int) else 1)
        if isinstance(right, int):
            if right in (0, 1):
                return left if right else 0
            right = self.constant(right, "index")
        a, b = left, right
        return self.once_of(("times", a, b), (a, b), lambda: self.binary("muli", a, b))

    def index(self, number: Value | int) -> Value:
        """A number as a value."""
        return self.constant(number, "index") if isinstance(number, int) else number


class KernelText:
    """One kernel at lane level while it is written.

    `machine` is what layouts are spread over: the workgroup, or one subgroup where the source is at subgroup level;
    `subgroups` how many the workgroup has.
    """

    def __init__(
        self, name: str, machine: Machine, subgroups: int, *, target: str = "pvc", llvm: int = DEFAULT_LLVM
    ) -> None:
        self.name = name
        self.machine = machine
        self.target = target
        self.llvm = llvm
        self.writer = RegionWriter()
        self.chip = written_for(target)
        self.indices = LaneIndices(self.writer, subgroups, machine.lanes or 1, llvm, self.chip)
        self.subgroups = subgroups
        self.is_counted = True
        """Whether it is known how many subgroups a workgroup has: what they share in memory needs it."""
        self.lanes = machine.lanes or 1
        self.scalars: dict[SSAValue, Value] = {}
        self.fragments: dict[SSAValue, Fragment] = {}
        self.templates: dict[object, LineTemplate] = {}
        """The texts of operations that are written several times."""
        self.globals: list[str] = []
        """Operations of the module around the kernel: its shared memory, functions of large conversions."""
        self.functions: dict[object, str] = {}
        """The names of the functions of large conversions."""
        self.builtins = self.indices.functions
        """Functions of the graphics compiler that are called, by name: the module declares each once."""
        self.shares = False
        """Whether placeholders of shared memory stand in the text (see `shared_memory`)."""
        self.exchanges: list[Exchanged] = []
        self.findings: list[Finding] = []

    @contextmanager
    def region(
        self, form: str, operands: Sequence[Value], results: Sequence[Value] = (), arguments: Sequence[Value] = ()
    ) -> Generator[None]:
        """An operation with a region; what is made in it stays in it."""
        with self.writer.region(form, operands, results, arguments), self.indices.scope():
            yield

    def buffer(self, kind: str, name: str | None = None) -> Value:
        """A buffer in shared local memory, of a memref type: a global of the module, which all of the workgroup share."""
        symbol = f"{self.name}_shared{len(self.globals)}"
        self.globals.append(
            f'"memref.global"() <{{sym_name = "{symbol}", type = {kind}, initial_value, '
            f'sym_visibility = "private", alignment = {ALIGNMENT} : i64}}> : () -> ()'
        )
        made = self.writer.value(f"memref.get_global @{symbol} : {kind}", (), kind)
        made.name = name
        return made

    def compared(self, predicate: str, left: Value, right: Value) -> Value:
        """Whether two integers compare, each pair once."""
        form = f"arith.cmpi {predicate}, %s, %s : {left.kind}"
        make = partial(self.writer.value, form, (left, right), "i1")
        return self.indices.once_of((predicate, left, right), (left, right), make)

    def both(self, left: Value, right: Value) -> Value:
        """Whether two conditions hold, each pair once."""
        return self.indices.once_of(
            ("and", left, right), (left, right), lambda: self.indices.binary("andi", left, right)
        )

    def places(self, layout: Layout) -> list[list[Value | int]]:
        """The coordinates of each register's element, in this work-item.

        >>> kernel = KernelText("k", Machine(lanes=16, subgroups=1), subgroups=4)
        >>> [[row, _], [next_row, _]] = kernel.places(Layout.parse("d0 = 2@reg, d1 = 16@lane"))
        >>> row, next_row
        (0, 1)
        """
        moving = [
            self.indices.along((*own["sg"], *own["lane"])) if own["sg"] or own["lane"] else 0 for own in terms(layout)
        ]
        return [
            [self.indices.plus(start, int(more)) for start, more in zip(moving, place, strict=True)]
            for place in coordinates(layout)[0, 0].tolist()
        ]

    def first_copy(self, layout: Layout) -> Value | None:
        """Whether this work-item is the first of those that hold the same; None where no two do."""
        found: Value | None = None
        for axis, count in (("sg", self.machine.subgroups or 1), ("lane", self.lanes)):
            first = {factor for factor in layout.replicas if factor.axis == axis and factor.extent != 1}
            if not first:
                continue
            numbers = range(count)
            copies = [any(n // int(f.stride) % int(f.extent) for f in first) for n in numbers]
            mask = sum(1 << n for n in numbers if not copies[n])
            here = self.indices.holds(axis, mask)
            found = here if found is None else self.both(found, here)
        return found

    def everyone(self) -> list[Factor]:
        """All lanes of all subgroups, as copies."""
        return [Factor(self.machine.subgroups or 1, 1, "sg"), Factor(self.lanes, 1, "lane")]

    @contextmanager
    def only(self, where: Value | None) -> Generator[None]:
        """What is written inside the `with` is executed by some work-items only; by all for None."""
        if where is None:
            yield
            return
        with self.region("scf.if %s {", (where,)):
            yield

    def scalar(self, value: SSAValue) -> Value:
        """What a value that is not spread is here. Raises `Refused` where its operation was refused."""
        found = self.scalars.get(value)
        if found is None:
            raise Refused(None)
        return found

    def fragment(self, value: SSAValue) -> Fragment:
        """What a spread value is here. Raises `Refused` where its operation was refused."""
        found = self.fragments.get(value)
        if found is None:
            raise Refused(None)
        return found

    def named(self, source: SSAValue, value: Value) -> Value:
        """The value, with the name that the source has for it."""
        if source.name_hint and value.name is None:
            named(source.name_hint, value)
        return value
