"""What layouts cost, in issue slots of one subgroup: work that is done more than once, conversions, reductions, loops.

An operation on an 8x16 tile of 16 lanes is 8 instructions where every lane has a column, and 128 where every lane has all:

>>> from layoutalg.propagation.named_layout import if_accepted
>>> from layoutalg.xegpu import LayoutAttr, SliceAttr
>>> columns = if_accepted(LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)), (8, 16))
>>> everything = if_accepted(SliceAttr(LayoutAttr(lane_layout=(1, 1, 16), lane_data=(1, 1, 1)), (2,)), (8, 16))
>>> prices = Prices(Machine(lanes=16), "pvc")
>>> prices.registers(columns), prices.registers(everything)
(8, 128)

A conversion costs what `layoutalg.price` says, and nothing between two names of one map:

>>> rows = if_accepted(LayoutAttr(lane_layout=(16, 1), lane_data=(1, 1)), (16, 16))
>>> columns = if_accepted(LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)), (16, 16))
>>> pairs = if_accepted(LayoutAttr(lane_layout=(1, 16), lane_data=(2, 1)), (16, 16))
>>> prices.conversion(columns, rows, 32), prices.conversion(columns, pairs, 32)
(128, 0)

What stands in a loop is paid as often as the loop runs: its trip count where that is constant, 16 where it isn't.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from layoutalg.conversion.price import price
from layoutalg.core.elements import moved_bits
from layoutalg.core.errors import LayoutError
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Machine
from layoutalg.flow.relations.reductions import reduction
from layoutalg.propagation.named_layout import NamedLayout, agree

__all__ = ["UNKNOWN_TRIPS", "Prices", "bits_of", "frequency", "is_splat", "slots_per_element"]

UNKNOWN_TRIPS = 16
_CACHED = 1 << 16
_MOST = 1 << 20
_FREE = frozenset(
    ("vector.broadcast", "vector.shape_cast", "vector.transpose", "vector.bitcast", "vector.extract_strided_slice",
     "vector.insert_strided_slice", "arith.bitcast", "vector.splat")
)  # fmt: skip
"""Operations that name registers anew; where they move elements, it is a conversion that does."""
_COMPUTED = ("arith.", "math.", "vector.")


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices on one machine."""

    machine: Machine
    target: str

    @property
    def lanes(self) -> int:
        """The lanes of a subgroup."""
        return self.machine.lanes or 16

    def registers(self, held: NamedLayout) -> int:
        """How many elements a lane works on; where a layout says nothing of lanes, they share what the subgroup has."""
        return _registers(held, self.lanes)

    def conversion(self, source: NamedLayout, result: NamedLayout, bits: int) -> int | None:
        """The cost of a conversion at the levels that both layouts describe; None if it cannot be planned."""
        return _conversion(source, result, bits, self.machine, self.target)

    def reduction(self, relation: Layout, operand: NamedLayout) -> int:
        """What an operation costs that makes one element of many: within lanes, across lanes, across subgroups.

        >>> from layoutalg.propagation.named_layout import if_accepted
        >>> from layoutalg.xegpu import LayoutAttr
        >>> total = Layout.parse("d0 = 16@d0 | replicas 16@d1")
        >>> rows = if_accepted(LayoutAttr(lane_layout=(16, 1), lane_data=(1, 1)), (16, 16))
        >>> columns = if_accepted(LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)), (16, 16))
        >>> Prices(Machine(lanes=16), "pvc").reduction(total, rows), Prices(Machine(lanes=16), "pvc").reduction(total, columns)
        (15, 256)
        """
        return _reduction(relation, operand, self.lanes, self.target)


@lru_cache(maxsize=_CACHED)
def _registers(held: NamedLayout, lanes: int) -> int:
    count = prod(
        int(factor.extent) for factors in held.layout.dims for factor in factors if factor.axis in ("reg", None)
    )
    return count if "lane" in held.levels else -(-count // lanes)


@lru_cache(maxsize=_CACHED)
def _conversion(source: NamedLayout, result: NamedLayout, bits: int, machine: Machine, target: str) -> int | None:
    if agree(source, result):
        return 0
    return price(source.attribute, result.attribute, source.shape, f"i{bits}", machine, target).slots


@lru_cache(maxsize=_CACHED)
def _reduction(relation: Layout, operand: NamedLayout, lanes: int, target: str) -> int:
    dims = sorted({int(factor.axis[1:]) for factor in relation.replicas if factor.axis is not None})
    found = reduction(operand.layout, dims, target=target)
    # Where nothing is said of lanes, they share what a subgroup has.
    return found.cost if "lane" in operand.levels else -(-found.cost // lanes)


def bits_of(element: str) -> int:
    """The bits that one element takes in a register: an index 64, a truth value 8.

    >>> bits_of("f16"), bits_of("index"), bits_of("i1"), bits_of("f8E4M3FN")
    (16, 64, 8, 8)
    """
    try:
        return moved_bits(element)
    except LayoutError:  # a complex number, a tuple: no conversion moves it
        return 32


def slots_per_element(operation: Operation) -> int:
    """The issue slots of an operation for each element that a lane has; 0 for what only names registers anew."""
    name = operation.name
    if name in _FREE or not name.startswith(_COMPUTED) or is_splat(operation):
        return 0
    return 4 if name.startswith("math.") or name in ("arith.divf", "arith.remf", "arith.divsi", "arith.divui") else 1


def is_splat(operation: Operation) -> bool:
    """Whether an operation is a constant with one value everywhere, which instructions have as an immediate operand."""
    if operation.name != "arith.constant":
        return False
    value = operation.properties.get("value")
    return isinstance(value, DenseIntOrFPElementsAttr) and value.is_splat()


def frequency(block: Block | None, known: dict[Block, int]) -> int:
    """How often a block runs for each run of its function; `known` keeps what was found."""
    path: list[Block] = []
    while block is not None and block not in known:
        path.append(block)
        block = block.parent_block()
    times = 1 if block is None else known[block]
    for inner in reversed(path):
        owner = inner.parent_op()
        times = min(times * (1 if owner is None else _trips(owner)), _MOST)
        known[inner] = times
    return times


def _trips(owner: Operation) -> int:
    if owner.name == "scf.while":
        return UNKNOWN_TRIPS
    if owner.name != "scf.for":
        return 1
    bounds = [_constant(value) for value in owner.operands[:3]]
    low, high, step = bounds
    if low is None or high is None or step is None or step <= 0:
        return UNKNOWN_TRIPS
    return max(-(-(high - low) // step), 1)


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, Operation) and owner.name == "arith.constant":
        found = owner.properties.get("value")
        if isinstance(found, IntegerAttr):
            return found.value.data
    return None
