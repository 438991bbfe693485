"""The analysis: what each value is demanded in, and by whom.

An `Analysis` goes backward over a module. Each operation says by its rule what it demands of its operands. What becomes of a
second demand is the version's `meet`: LLVM 22 keeps the first that arrives, 24 takes the one whose user is first in the text.

>>> near, far = Demand(LayoutAttr(lane_layout=(1, 16)), 3), Demand(LayoutAttr(lane_layout=(16, 1)), 7)
>>> first_wins(far, near) is far, nearest_wins(far, near) is near
(True, True)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute as IRAttribute
from xdsl.ir import Operation, SSAValue

from layoutalg.core.errors import LayoutError
from layoutalg.ir.assembly import property_of
from layoutalg.ir.dialects.xegpu import attributes as ir
from layoutalg.ir.dialects.xegpu.attributes import TensorDescType
from layoutalg.side.llvm_passes.fields import Attribute
from layoutalg.side.llvm_passes.solving import Solver
from layoutalg.xegpu import LayoutAttr

__all__ = [
    "Analysis",
    "Demand",
    "GaveUp",
    "Habits",
    "Meet",
    "Rule",
    "bits_of",
    "carries",
    "first_wins",
    "held",
    "hold",
    "nearest_wins",
    "shape_in",
]


@dataclass(frozen=True, slots=True)
class Demand:
    """A layout that a value is demanded in, and the place of its user in the text."""

    attribute: Attribute
    place: int


Meet = Callable[[Demand, Demand], Demand]
"""What becomes of a second demand."""


def first_wins(old: Demand, new: Demand) -> Demand:
    """The demand that was there stays."""
    return old


def nearest_wins(old: Demand, new: Demand) -> Demand:
    """The demand whose user is earlier in the text."""
    return new if new.place < old.place else old


class GaveUp(Exception):
    """An operation has nothing more to demand; the next one is visited."""


class Rule(Protocol):
    """What one operation demands of its operands."""

    def __call__(self, op: Any, analysis: Analysis, /) -> None:
        """Give demands to the operands, and anchors to the operation."""
        ...


@dataclass(frozen=True, slots=True)
class Habits:
    """What differs between versions within the analysis."""

    strict: bool = False
    """Whether a store without a layout, and a number of subgroups that isn't known (or is no power of two), are errors. Then
    subgroups divide a product as they divide its result, too."""
    rigid: bool = False
    """Whether a load has the lanes of its message; otherwise those that its user wants."""
    reuses: bool = False
    """Whether a reduction takes the lanes that its user wants, at the level of instructions too."""
    counts: bool = False
    """Whether a loop with constant bounds is known to run."""
    tf32: int = 19
    """The bits that it takes tf32 for."""


class Analysis:
    """The demands of all values of a module, as one version of LLVM finds them.

    >>> from layoutalg.ir import read_module
    >>> Analysis(read_module("gpu.barrier"), "lane", {}, lambda op, analysis: None, first_wins).level
    'lane'
    """

    def __init__(
        self,
        module: Operation,
        level: str,
        rules: Mapping[str, Rule],
        default: Rule,
        meet: Meet,
        habits: Habits | None = None,
    ) -> None:
        self.habits = Habits() if habits is None else habits
        self.level = level
        self.module = module
        self._rules = rules
        self._default = default
        self._meet = meet
        self._demands: dict[SSAValue, Demand] = {}
        self._places = {operation: place for place, operation in enumerate(module.walk())}
        self._place = 0
        self._solver = Solver(self._visit, self.pass_on, counts=self.habits.counts)

    def run(self) -> None:
        """Visit the operations until no demand changes."""
        self._solver.run(self.module)

    def _visit(self, op: Operation) -> None:
        self._place = self._places[op]
        with suppress(GaveUp):
            self._rules.get(op.name, self._default)(op, self)

    def demanded(self, value: SSAValue) -> Attribute | None:
        """The layout that a value is demanded in, if any."""
        demand = self._demands.get(value)
        return None if demand is None else demand.attribute

    def give(self, value: SSAValue, attribute: Attribute) -> None:
        """Demand a value in a layout, at the operation that is visited."""
        self._add(value, Demand(attribute, self._place))

    def pass_on(self, value: SSAValue, target: SSAValue) -> None:
        """Demand a value as another one is demanded that it becomes."""
        demand = self._demands.get(target)
        if demand is not None:
            self._add(value, demand)

    def bits(self, value: SSAValue) -> int:
        """The bits of an element, as the version counts them: LLVM 24 takes tf32 for 16."""
        found = bits_of(value)
        return self.habits.tf32 if found == 19 else found

    def wanted(self, op: Operation) -> Attribute:
        """The layout that an operation's result is demanded in; without one the operation demands nothing."""
        found = self.demanded(op.results[0])
        if found is None:
            raise GaveUp
        return found

    def give_up(self, op: Operation, words: str, *, fails: bool = False) -> NoReturn:
        """An anchor finds no layout: LLVM warns and goes on; `fails` says that LLVM 24 does not."""
        raise LayoutError(f"{op.name}: {words}") if fails and self.habits.strict else GaveUp

    def _add(self, value: SSAValue, new: Demand) -> None:
        old = self._demands.get(value)
        chosen = new if old is None else self._meet(old, new)
        if old is None or (chosen is not old and chosen.attribute != old.attribute):
            self._demands[value] = chosen
            self._solver.changed(value)


def held(op: Operation, name: str) -> Attribute | None:
    """The layout that an operation has under a name."""
    found = property_of(op, name)
    return found.value if isinstance(found, ir.LayoutAttr | ir.SliceAttr) else None  # pyright: ignore[reportReturnType]


def hold(op: Operation, name: str, attribute: Attribute | None) -> None:
    """Give an operation a layout under a name; None takes it away."""
    definition = getattr(op, "get_irdl_definition", None)
    inherent = definition is not None and name in definition().properties
    place = op.properties if inherent else op.attributes
    if attribute is None:
        place.pop(name, None)
    else:
        place[name] = written(attribute)


def written(attribute: Attribute) -> ir.LayoutAttr | ir.SliceAttr:
    """The layout as an attribute of the module."""
    kind = ir.LayoutAttr if isinstance(attribute, LayoutAttr) else ir.SliceAttr
    return kind(str(attribute).partition("<")[2][:-1])


def carries(kind: IRAttribute) -> bool:
    """Whether values of a type have layouts: vectors and descriptors."""
    return isinstance(kind, VectorType | TensorDescType)


def shape_in(value: SSAValue) -> tuple[int, ...]:
    """The shape of a vector or of a descriptor's block; () for a scalar."""
    kind = value.type
    return tuple(kind.get_shape()) if isinstance(kind, VectorType | TensorDescType) else ()


def bits_of(value: SSAValue) -> int:
    """The bits of an element.

    Raises `LayoutError` for elements that are neither numbers nor indices.
    """
    kind: Any = value.type
    text = str(getattr(kind, "element_type", kind))
    digits = "".join(character for character in text.partition("E")[0] if character.isdigit())
    if text == "tf32":
        return 19
    if text == "index":
        return 64
    if not digits:
        raise LayoutError(f"elements of type {text}: their bits are not known")
    return int(digits)
