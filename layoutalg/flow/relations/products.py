"""Matrix products of a subgroup: dpas multiplies tiles of A and B that lie in its lanes as the hardware wants them.

One row of D needs that row of A and all of B's column: along K the subgroup adds up, wherever in it the elements are.

>>> from layoutalg.ir import read_module
>>> text = '%a, %b = "test.op"() : () -> (vector<8x16xf16>, vector<16x16xf16>)'
>>> product = "%d = xegpu.dpas %a, %b : vector<8x16xf16>, vector<16x16xf16> -> vector<8x16xf32>"
>>> relation = dpas_relation(read_module(text + product).body.block.last_op)
>>> for tie in relation.ties:
...     print(tie.number, "|", tie.relation, "|", tie.reach)
0 | d0 = 8@d0, d1 = 16@_ | replicas 16@d1 | subgroup
1 | d0 = 8@_, d1 = 16@d1 | replicas 16@d0 | subgroup

The demand on A, B and D is the instruction's: its sizes at the level of instructions, its fragments at that of lanes.

>>> [[str(choice.attribute) for choice in demand.choices("inst", None, "pvc", 24)] for demand in relation.demands]
[['#xegpu.layout<inst_data = [8, 16]>'], ['#xegpu.layout<inst_data = [16, 16]>'], ['#xegpu.layout<inst_data = [8, 16]>']]
>>> from layoutalg.xegpu import LayoutAttr
>>> relation.demands[0].problem(LayoutAttr(lane_layout=(8, 2), lane_data=(1, 1)), None, "pvc")
'dpas takes A in another way: dimension 0 of an 8x16 tile is 8@lane:2, expected 8@reg'
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from xdsl.ir import SSAValue

from layoutalg.core.errors import LayoutError, PlanError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Distributed, Machine
from layoutalg.flow.levels import DEFAULT_TARGET, levels_of
from layoutalg.flow.relations.demands import (
    OneValue,
    accepted,
    bits_of,
    grids,
    instruction_tile,
    lanes_of,
    placed,
    words,
)
from layoutalg.flow.relations.relation import Choice, Relation, Tie, relates, same_shape, shape_of
from layoutalg.flow.relations.units import misfit
from layoutalg.hardware import Dpas, dpas, target_info
from layoutalg.xegpu import LayoutAttr

__all__ = ["DpasDemand", "Product", "product_relations"]

_CACHED = 1 << 12
_ROLES = {"A": (0, 2), "B": (2, 1), "C": (0, 1)}
"""Which of m, n and k are an operand's rows and columns."""


@relates("xegpu.dpas")
def dpas_relation(op: Any) -> Relation:
    """Rows of D are rows of A, columns of D are columns of B; K is added up within the subgroup."""
    return _product(op, acc=2 if op.acc is not None else None)


@relates("xegpu.dpas_mx")
def dpas_mx(op: Any) -> Relation:
    """As a dpas; every scale belongs to some neighbours along K."""
    number = 2 if op.acc is not None else None
    relation = _product(op, acc=number)
    scales = 2 if number is None else 3
    ties = list(relation.ties)
    for name in ("scale_a", "scale_b"):
        scale = getattr(op, name)
        if scale is not None:
            ties += _scale_tie(op, scales, name == "scale_a")
            scales += 1
    return Relation(tuple(ties), relation.demands)


def _product(op: Any, acc: int | None) -> Relation:
    of_a, shape = shape_of(op.operands[0]), shape_of(op.results[0])
    if of_a is None or shape is None or len(of_a) != 2 or len(shape) != 2:
        return Relation()  # fragments of lanes: what they hold is the instruction's business
    left, right = product_relations(shape[0], shape[1], of_a[1], _together(op.operands[1]))
    ties = [
        Tie(op, number, op.results[0], relation, reach="subgroup", combines=True)
        for number, relation in enumerate((left, right))
    ]
    demands = [DpasDemand(op, 0, "A"), DpasDemand(op, 1, "B"), DpasDemand(op, None, "C")]
    if acc is not None:
        ties += same_shape(op, acc, op.results[0])
    return Relation(tuple(ties), tuple(demands))


def _together(b: SSAValue) -> int:
    """How many rows of B are packed together: `vector<8x16x2xf16>` has 16 rows, in pairs."""
    shape = shape_of(b) or ()
    return shape[2] if len(shape) == 3 else 1


@lru_cache(maxsize=_CACHED)
def product_relations(m: int, n: int, k: int, together: int = 1) -> tuple[Layout, Layout]:
    """From the elements of D (m x n) to those of A (m x k) and of B (k x n) that they are made of.

    With `together` rows of B packed, B has the dimensions k / together, n and together.

    >>> for relation in product_relations(2, 3, 4):
    ...     print(relation)
    d0 = 2@d0, d1 = 3@_ | replicas 4@d1
    d0 = 2@_, d1 = 3@d1 | replicas 4@d0
    >>> print(product_relations(2, 3, 4, together=2)[1])
    d0 = 2@_, d1 = 3@d1 | replicas 2@d0 2@d2
    """
    left = Layout([[Factor(m, 1, "d0")], [Factor(n)]], [Factor(k, 1, "d1")])
    along = [Factor(k // together, 1, "d0"), Factor(together, 1, "d2")] if together > 1 else [Factor(k, 1, "d0")]
    right = Layout([[Factor(m)], [Factor(n, 1, "d1")]], along)
    return left, right


def _scale_tie(op: Any, number: int, of_a: bool) -> tuple[Tie, ...]:
    shape, scale = shape_of(op.results[0]), shape_of(op.operands[number])
    if shape is None or scale is None or len(scale) != 2:
        return ()
    left, right = product_relations(shape[0], shape[1], scale[1] if of_a else scale[0])
    return (Tie(op, number, op.results[0], left if of_a else right, reach="subgroup", combines=True),)


@dataclass(frozen=True, slots=True)
class DpasDemand(OneValue):
    """A, B or C (and D) of a matrix product: whole instructions, in their fragments.

    >>> from layoutalg.ir import read_module
    >>> text = '%a, %b = "test.op"() : () -> (vector<8x32xi8>, vector<32x16xi8>)'
    >>> product = "%d = xegpu.dpas %a, %b : vector<8x32xi8>, vector<32x16xi8> -> vector<8x16xi32>"
    >>> demand = DpasDemand(read_module(text + product).body.block.last_op, 1, "B")
    >>> for choice in demand.choices("lane", None, "pvc", 24):
    ...     print(choice.attribute, "|", choice.why)
    #xegpu.layout<lane_layout = [1, 16], lane_data = [4, 1]> | B of intel_sub_group_i8_i8_matrix_mad_k32
    """

    role: Literal["A", "B", "C"]

    @property
    def product(self) -> Product:
        """What is multiplied, without the operation."""
        values = [OneValue(self.user, number) for number in (0, 1, None)]
        (m, k), (_, n), _ = ((*value.shape, 1)[:2] for value in values)
        together = _together(self.user.operands[1]) if self.role == "B" else 1
        return Product(self.role, (m, n, k), values[0].element, values[1].element, values[2].element, together)

    def problem(self, attribute: Distributed, machine: Machine | None, target: str | None) -> str | None:
        """Why dpas does not take this layout; None where it does."""
        return _problem(attribute, self.product, machine, target)

    def choices(self, level: str, machine: Machine | None, target: str | None, llvm: int) -> tuple[Choice, ...]:
        """The operand's fragment, the instruction's tile, or the grids of subgroups."""
        return _choices(self.product, level, machine, target, llvm)

    def price(self, attribute: Distributed, machine: Machine | None, target: str | None) -> int:
        """Nothing beyond the product itself."""
        return 0


class Product(NamedTuple):
    """An operand of a matrix product: which, the sizes m, n and k of the product, and the element types of A, B and D.

    `together` rows of B are packed into a third dimension.

    >>> Product("A", (8, 16, 32), "i8", "i8", "i32").shape
    (8, 32)
    """

    role: Literal["A", "B", "C"]
    sizes: tuple[int, int, int]
    a: str
    b: str
    d: str
    together: int = 1

    @property
    def shape(self) -> tuple[int, ...]:
        """The operand's shape."""
        down, across = _ROLES[self.role]
        return self.packed((self.sizes[down], self.sizes[across]))

    def packed(self, rows_and_columns: tuple[int, ...]) -> tuple[int, ...]:
        """Sizes of rows and columns as the operand has them."""
        rows, columns = rows_and_columns
        return (rows, columns) if self.together == 1 else (rows // self.together, columns, self.together)

    def in_rows(self, layout: Layout) -> Layout:
        """The layout of the operand's rows and columns."""
        if self.together == 1 or layout.rank != 3:
            return layout
        rows, columns, together = layout.dims
        return Layout([[*rows, *together], columns], layout.replicas, layout.offsets)

    def instruction(self, machine: Machine | None, target: str | None) -> Dpas | str:
        """The instruction, with the most rows that divide the product; or why the chip has none."""
        lanes = None if machine is None else machine.lanes
        rows = max(rows for rows in range(1, 9) if self.sizes[0] % rows == 0)
        return _instruction(self.a, self.b, self.d, rows, target or ("dg2" if lanes == 8 else DEFAULT_TARGET))


@lru_cache(maxsize=_CACHED)
def _choices(what: Product, level: str, machine: Machine | None, target: str | None, llvm: int) -> tuple[Choice, ...]:
    unit = what.instruction(machine, target)
    if isinstance(unit, str):
        return ()
    found = _candidates(what, level, unit, 1 if machine is None else machine.subgroups or 1)
    return accepted((one for one in found if _problem(one.attribute, what, machine, target) is None), what.shape, llvm)


def _candidates(what: Product, level: str, unit: Dpas, subgroups: int) -> Iterator[Choice]:
    rows, columns = _tile(unit, what.role)
    if level == "lane":
        yield Choice(_packed(_fragment(unit, what.role), what), 0, f"{what.role} of {unit.builtin}")
    elif level == "inst":
        yield Choice(
            LayoutAttr(inst_data=what.packed((rows, columns))), 0, f"{what.role} of {unit.builtin} is {rows}x{columns}"
        )
    elif level == "workgroup":
        m, n, k = what.sizes
        bits = {"A": what.a, "B": what.b, "C": what.d}[what.role]
        for grid in grids((m, n), subgroups, (unit.m, unit.n)):
            (down, across), (part_m, part_n) = grid.sg_layout or (1, 1), grid.sg_data or (m, n)
            block = what.packed(tuple((part_m, part_n, k)[at] for at in _ROLES[what.role]))
            held = words(block, bits_of(bits), unit.subgroup_size)
            text = f"{down}x{across} subgroups, each {part_m}x{part_n} of D"
            over = grid.sg_layout if what.together == 1 else (*(grid.sg_layout or (1, 1)), 1)
            yield Choice(LayoutAttr(sg_layout=over, sg_data=block), held, text)


@lru_cache(maxsize=_CACHED)
def _instruction(a: str, b: str, d: str, m: int, target: str) -> Dpas | str:
    try:
        target_info(target, dpas=True)
        return dpas(a, b, d, target=target, m=m)
    except (PlanError, LayoutError) as problem:
        return str(problem)


def _tile(unit: Dpas, role: str) -> tuple[int, int]:
    sizes = (unit.m, unit.n, unit.k)
    down, across = _ROLES[role]
    return sizes[down], sizes[across]


def _layout(unit: Dpas, role: str) -> Layout:
    return {"A": unit.a, "B": unit.b, "C": unit.c}[role]


def _fragment(unit: Dpas, role: str) -> LayoutAttr:
    """The operand's fragment as LLVM writes it: neighbours that share a component are one lane's data."""
    lanes = unit.subgroup_size
    data = {"A": (1, max(unit.a_bits // (32 // unit.packed), 1)), "B": (unit.packed, 1), "C": (1, 1)}[role]
    if role == "A" and unit.k < lanes:
        return LayoutAttr(lane_layout=(lanes // unit.k, unit.k), lane_data=(1, 1))  # rows side by side
    return LayoutAttr(lane_layout=(1, lanes), lane_data=data)


def _packed(fragment: LayoutAttr, what: Product) -> LayoutAttr:
    """A fragment of rows and columns as one of packed rows: those that share a component are one lane's data."""
    if what.together == 1:
        return fragment
    over, data = fragment.lane_layout or (1, 1), fragment.lane_data or (1, 1)
    return LayoutAttr(lane_layout=(*over, 1), lane_data=(max(data[0] // what.together, 1), data[1], what.together))


@lru_cache(maxsize=_CACHED)
def _problem(attribute: Distributed, what: Product, machine: Machine | None, target: str | None) -> str | None:
    unit, role = what.instruction(machine, target), what.role
    if isinstance(unit, str):
        return unit
    lanes_there = lanes_of(machine, unit.target.name)
    if lanes_there != unit.subgroup_size:
        return f"a subgroup has {lanes_there} lanes; dpas on {unit.target} needs {unit.subgroup_size}"
    layout = placed(attribute, what.shape, machine, unit.subgroup_size)
    if isinstance(layout, str):
        return layout
    layout = what.in_rows(layout)
    levels, tile = levels_of(attribute), instruction_tile(attribute)
    if tile is not None and what.together > 1 and len(tile) == 3:
        tile = (tile[0] * tile[2], tile[1])
    rows, columns = _tile(unit, role)
    if tile is not None:
        few = range(1, 9) if _ROLES[role][0] == 0 else range(rows, rows + 1)
        if len(tile) != 2 or tile[0] not in few or tile[1] != columns:
            expected = f"1 to 8 rows of {columns}" if len(few) > 1 else f"{rows}x{columns}"
            return f"inst_data is {'x'.join(map(str, tile))}; {role} of {unit.builtin} is {expected}"
    lanes = "lane" in levels
    problem = misfit(layout, _layout(unit, role), lanes)
    if problem is None:
        return None
    # An instruction multiplies any number of rows up to 8.
    for fewer in range(unit.m - 1, 0, -1) if _ROLES[role][0] == 0 else ():
        other = _instruction(unit.a_type, unit.b_type, unit.acc_type, fewer, unit.target.name)
        if isinstance(other, Dpas) and misfit(layout, _layout(other, role), lanes) is None:
            return None
    return f"dpas takes {role} in another way: {problem}"
