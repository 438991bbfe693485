"""What an operation says about the layouts of its operands and results: ties between them, and demands on them.

A `Tie` says which elements of an operand one element of a result is made of. How far the operation itself moves elements is
its `reach`: an addition works within each work-item, a `dpas` within a subgroup, a reduction within the workgroup.

A `Demand` says that an operation takes or makes a value in some layouts only: what a message delivers, what a matrix
instruction multiplies.

The registry maps the name of an operation to the function that says its relation:

    @relates("vector.transpose")
    def transpose(op: TransposeOp) -> Relation:
        ...

>>> from layoutalg.ir import read_module
>>> text = "func.func @f(%a: vector<8x16xf32>) { %b = arith.addf %a, %a : vector<8x16xf32> func.return }"
>>> addition = next(op for op in read_module(text).walk() if op.name == "arith.addf")
>>> [(tie.number, str(tie.relation), tie.reach) for tie in relation_of(addition).ties]
[(0, 'd0 = 8@d0, d1 = 16@d1', 'work-item'), (1, 'd0 = 8@d0, d1 = 16@d1', 'work-item')]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, Literal, Protocol, TypeVar, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, TensorType, VectorType
from xdsl.ir import Operation, SSAValue

from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MOST_DIMENSIONS
from layoutalg.core.notation import Distributed, Machine
from layoutalg.core.whole_numbers import instance_of, listed, whole_number
from layoutalg.flow.relations.operation_modules import SUBJECTS
from layoutalg.ir.well_formed import is_well_formed

__all__ = [
    "Choice",
    "Demand",
    "Makes",
    "Reach",
    "Relation",
    "Tie",
    "identity",
    "numbers_of",
    "related",
    "related_operations",
    "relates",
    "relation_of",
    "same_shape",
    "shape_of",
]

Reach = Literal["work-item", "subgroup", "workgroup"]
"""How far an operation moves elements by itself."""


Makes = Literal["equal", "counted", "listed"]
"""A value that work-items make themselves: all elements are equal, so any layout is free (a splat); an element follows from its
position (a step, a mask); or the elements are listed, and each work-item needs its own (a constant that is not a splat)."""


@dataclass(frozen=True, slots=True)
class Tie:
    """An operand and a result (or an argument of a region) that are made of the same elements.

    `relation` has the dimensions of the result, and the operand's as axes `d0`, `d1`, ... (see `carrying`). Where it has
    replicas, one element of the result is made of several. A work-item that has an element of the result needs all of them,
    unless the operation `combines`: then each work-item may have a part, and those that have one get the result (`given`).

    The parts, or the elements that are needed, may be as far away as the operation's `reach`. Within a reach of "subgroup" it
    does not matter which lane has an element, within "workgroup" it does not matter which subgroup.

    >>> tie = relation_of(_example("%b = vector.transpose %a, [1, 0] : vector<8x16xf32> to vector<16x8xf32>")).ties[0]
    >>> tie.number, str(tie.relation), tie.reach, tie.combines
    (0, 'd0 = 16@d1, d1 = 8@d0', 'work-item', False)
    """

    user: Operation
    number: int
    """Which operand of `user`."""
    result: SSAValue
    relation: Layout
    reach: Reach = "work-item"
    combines: bool = False
    beside: int | None = None
    """Of an operation without a result: which operand of `user` stands for it in `result` (what a store stores)."""
    covered: Layout | None = None
    """From the elements of another operand to those of the result that are made of them instead: the part of an insert."""

    @property
    def operand(self) -> SSAValue:
        """The value that is used.

        >>> tie = relation_of(_example("%b = math.exp %a : vector<8x16xf32>")).ties[0]
        >>> tie.operand is tie.user.operands[0]
        True
        """
        return self.user.operands[self.number]


@dataclass(frozen=True, slots=True)
class Choice:
    """A layout that an operation takes or makes, what that costs (issue slots of a subgroup), and why.

    >>> Choice(Layout.parse("d0 = 16@lane"), 9, "one load").cost
    9
    """

    attribute: Distributed
    cost: int
    why: str


class Demand(Protocol):
    """A value that an operation takes (operand `number`) or makes (`number` is None) in some layouts only.

    >>> product = "%d = xegpu.dpas %a, %b : vector<8x16xf32>, vector<16x16xf32> -> vector<8x16xf32>"
    >>> [(demand.number, demand.value.type.get_shape()) for demand in relation_of(_example(product)).demands]
    [(0, (8, 16)), (1, (16, 16)), (None, (8, 16))]
    """

    @property
    def user(self) -> Operation:
        """The operation that demands."""
        ...

    @property
    def number(self) -> int | None:
        """Which operand; None for a result."""
        ...

    @property
    def value(self) -> SSAValue:
        """The operand or the result itself."""
        ...

    def problem(self, attribute: Distributed, machine: Machine | None, target: str | None) -> str | None:
        """Why the operation does not take or make this layout on the target; None where it does."""
        ...

    def choices(self, level: str, machine: Machine | None, target: str | None, llvm: int) -> Sequence[Choice]:
        """The layouts that it takes or makes at a level ("workgroup", "inst", "lane"), the usual one first."""
        ...

    def price(self, attribute: Distributed, machine: Machine | None, target: str | None) -> int:
        """What the operation costs with this layout, in issue slots of a subgroup: as `Choice.cost`, of any layout."""
        ...


@dataclass(frozen=True, slots=True)
class Relation:
    """Everything that one operation says: ties, demands, and values that have one layout whatever it is.

    >>> relation = relation_of(_example("%b = vector.extract %a[3, 5] : f32 from vector<8x16xf32>"))
    >>> relation.ties, [str(tie.relation) for tie in relation.uniform]
    ((), ['() | offset 3@d0 5@d1'])
    """

    ties: tuple[Tie, ...] = ()
    demands: tuple[Demand, ...] = ()
    one: tuple[tuple[SSAValue, ...], ...] = ()
    """Such as the carried value of a loop: the argument of its region and its result."""
    uniform: tuple[Tie, ...] = ()
    """Ties to scalars that every work-item has then (an element taken out, a sum of everything)."""
    makes: Makes | None = None
    """How a result comes about that is made of no operand."""
    calls: tuple[Tie, ...] = ()
    """Ties to values of another function: the arguments of one that is called."""


_Relates = TypeVar("_Relates", bound=Callable[..., Relation | None])
_RELATIONS: dict[str, Callable[[Any], Relation | None]] = {}


def relates(*names: str) -> Callable[[_Relates], _Relates]:
    """Register the function that says the relation of operations of these names.

    >>> @relates("test.op")
    ... def nothing(op):
    ...     return Relation()
    >>> from xdsl.dialects.test import TestOp
    >>> relation_of(TestOp())
    Relation(ties=(), demands=(), one=(), uniform=(), makes=None, calls=())
    """

    def register(function: _Relates) -> _Relates:
        for name in names:
            _RELATIONS[name] = function
        return function

    return register


def related_operations() -> tuple[str, ...]:
    """The names of all operations whose relation is known, sorted.

    >>> "vector.transpose" in related_operations()
    True
    """
    _load()
    return tuple(sorted(_RELATIONS))


def relation_of(operation: Operation) -> Relation | None:
    """The relation of an operation; None where it is not known, or is not a layout (a reshape of 4x6 to 6x4).

    None too for an operation without the operands or attributes that its dialect asks for.

    >>> from xdsl.dialects.test import TestPureOp
    >>> relation_of(TestPureOp())
    """
    instance_of(operation, Operation, "operation")
    _load()
    found = _RELATIONS.get(operation.name)
    if found is None:
        return None
    try:
        return found(operation)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        if is_well_formed(operation):
            raise
        return None


def shape_of(value: SSAValue) -> tuple[int, ...] | None:
    """The shape of a vector or a tensor with known sizes; None for what is spread over no work-items.

    >>> shape_of(_example("%b = math.exp %a : vector<8x16xf32>").results[0])
    (8, 16)
    """
    instance_of(value, SSAValue, "value")
    kind = value.type
    if not isinstance(kind, VectorType | TensorType):
        return None
    shape = tuple(kind.get_shape())
    return shape if shape and all(extent > 0 for extent in shape) else None


def related(
    dims: Iterable[Sequence[Factor]],
    rank: int,
    replicas: Iterable[Factor] = (),
    offsets: Iterable[tuple[str, int]] = (),
    origins: Sequence[int] | None = None,
) -> Layout:
    """A relation to the elements of an operand of this rank, of which every dimension counts, those of size 1 too.

    >>> column = related([[Factor(16, 1, "d0")]], 2)
    >>> print(column, "|", column.codomain)
    d0 = 16@d0 | ('d0', 'd1')
    """
    names = [f"d{dim}" for dim in range(whole_number(rank, "rank", 0, MOST_DIMENSIONS))]
    return Layout(dims, replicas, offsets, origins=origins, codomain=names)


def identity(shape: tuple[int, ...]) -> Layout:
    """The relation of equal coordinates.

    >>> print(identity((8, 16)))
    d0 = 8@d0, d1 = 16@d1
    """
    sizes = shape if type(shape) is tuple else tuple(listed(shape, "shape"))
    for size in sizes:
        instance_of(size, int, "size")
    return _identity(sizes)


@lru_cache(maxsize=1 << 12)
def _identity(shape: tuple[int, ...]) -> Layout:
    return related([[Factor(extent, 1, f"d{dim}")] for dim, extent in enumerate(shape)], len(shape))


def same_shape(user: Operation, number: int, result: SSAValue, reach: Reach = "work-item") -> tuple[Tie, ...]:
    """The tie of an operand and a result of the same shape, element by element; none where they are scalars.

    >>> negation = _example("%b = arith.negf %a : vector<8x16xf32>")
    >>> len(same_shape(negation, 0, negation.results[0]))
    1
    """
    instance_of(user, Operation, "user")
    number = whole_number(number, "operand", 0, len(user.operands) - 1)
    shape = shape_of(result)
    if shape is None or shape_of(user.operands[number]) != shape:
        return ()
    return (Tie(user, number, result, identity(shape), reach),)


def numbers_of(held: object) -> tuple[int, ...] | None:
    """The whole numbers of a list among an operation's properties, in whichever of MLIR's forms; None for something else."""
    if isinstance(held, DenseArrayBase):
        return tuple(int(number) for number in held.get_values())
    if isinstance(held, ArrayAttr):
        listed: list[Any] = list(cast("Any", held))
        entries: list[Any] = [getattr(getattr(entry, "value", entry), "data", None) for entry in listed]
        return tuple(entries) if all(isinstance(entry, int) for entry in entries) else None
    return None


def _example(text: str) -> Operation:  # pyright: ignore[reportUnusedFunction]
    """One operation on two values of 8x16 and 16x16 elements, for examples."""
    from layoutalg.ir import read_module

    values = '%a, %b0 = "test.op"() : () -> (vector<8x16xf32>, vector<16x16xf32>) '
    return list(read_module(values + text.replace(", %b :", ", %b0 :")).walk())[-1]


@cache
def _load() -> None:
    for subject in SUBJECTS:
        import_module(subject)
