"""What operations take and make, as options with a price: messages, products, and the layouts that they accept.

A product on pvc takes columns of B in lanes, and makes no other demand on it:

>>> from layoutalg.ir import read_module
>>> from layoutalg.flow.graph import flow_of
>>> flow = flow_of(read_module('''%a, %b = "test.op"() : () -> (vector<8x16xf16>, vector<16x16xf16>)
... %d = xegpu.dpas %a, %b : vector<8x16xf16>, vector<16x16xf16> -> vector<8x16xf32>'''))
>>> asked = DemandOptions("lane", "pvc", 24, Machine(lanes=16))
>>> from layoutalg.propagation.named_layout import as_written
>>> rows = as_written(LayoutAttr(lane_layout=(16, 1), lane_data=(1, 1)), (16, 16))
>>> [one.held.map for one in options_of(flow.demands[1], (16, 16), asked)], problem_of(flow.demands[1], rows, asked) is None
(['lane: d0 = 16@reg, d1 = 16@lane'], False)

A layout that compilers are known to move wrongly has a price that nobody pays where there is another one (`avoiding`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

from xdsl.ir import Operation

from layoutalg.core.notation import Machine
from layoutalg.flow.relations import Choice, Demand
from layoutalg.flow.relations.blocks import BlockDemand
from layoutalg.ir.dialects.xegpu.attributes import TensorDescType
from layoutalg.propagation.avoiding import right_layouts
from layoutalg.propagation.costs import Prices, bits_of
from layoutalg.propagation.named_layout import NamedLayout, if_accepted, on_descriptor
from layoutalg.propagation.refinement import refine
from layoutalg.xegpu import LayoutAttr, SliceAttr

__all__ = [
    "DemandOptions",
    "Option",
    "cost_at",
    "ignored",
    "messages_of",
    "options_of",
    "problem_of",
    "refinements",
    "refused_of_block",
    "written_at",
]


@dataclass(frozen=True, slots=True)
class DemandOptions:
    """What is propagated: the level (`lane`, `inst`, `workgroup`), for which chip, in which version of LLVM's syntax."""

    level: str
    target: str
    llvm: int
    machine: Machine
    kept: dict[Any, Any] = field(default_factory=dict[Any, Any], compare=False, repr=False)
    """Answers that were found before: many operations of a module ask the same."""


@dataclass(frozen=True, slots=True)
class Option:
    """A layout that a value may have, why, and what its maker asks for it (the price of the message that delivers it)."""

    held: NamedLayout
    why: str
    cost: int = 0
    rank: tuple[int, int, bool] = (0, 0, False)
    """Where it came from: what is written, made, taken, usual; the place among those; and whether it is what a use needs."""


def options_of(demand: Demand, shape: tuple[int, ...], asked: DemandOptions) -> list[Option]:
    """The layouts that an operation takes or makes, each map once."""
    at = ("options", _kind_of(demand), shape, asked.level)
    if at not in asked.kept:
        asked.kept[at] = _options(demand, shape, asked)
    return asked.kept[at]


def refinements(demand: Demand, coarse: NamedLayout, asked: DemandOptions) -> list[Option]:
    """The layouts that an operation takes of those that refine one of subgroups."""
    found: dict[str, Option] = {}
    for option in options_of(demand, coarse.shape, asked):
        finer = refine(coarse, option.held, asked.llvm)
        known = None if finer is None else written_at(demand.user, finer, asked.llvm)
        if known is None or ignored(demand, known) or problem_of(demand, known, asked) is not None:
            continue
        for other in right_layouts(demand, known, asked):
            found.setdefault(other.key, Option(other, "compilers move it rightly", cost_at(demand, other, asked)))
        why = messages_of(demand, known, asked) or option.why
        found.setdefault(known.key, Option(known, why, cost_at(demand, known, asked)))
    return list(found.values())


def messages_of(demand: Demand, known: NamedLayout, asked: DemandOptions) -> str | None:
    """In words, the messages that move the value for one subgroup; None where no message does."""
    return demand.messages(known.attribute, asked.machine, asked.target) if isinstance(demand, BlockDemand) else None


def problem_of(demand: Demand, known: NamedLayout, asked: DemandOptions) -> str | None:
    """Why an operation does not take or make a layout; None where it does."""
    at = ("problem", _kind_of(demand), known.attribute)
    if at not in asked.kept:
        problem = demand.problem(known.attribute, asked.machine, asked.target)
        asked.kept[at] = problem or refused_of_block(demand.user, known, asked.llvm)
    return asked.kept[at]


def written_at(operation: Operation, known: NamedLayout, llvm: int) -> NamedLayout | None:
    """A layout as an operation can say it: what it says of a block stands on the block's descriptor too.

    None where a version of LLVM has no attribute for that, or refuses it.
    """
    if refused_of_block(operation, known, llvm) is not None:
        return None
    with_descriptor = any(isinstance(operand.type, TensorDescType) for operand in operation.operands)
    return on_descriptor(known, llvm) if with_descriptor else known


def refused_of_block(operation: Operation, known: NamedLayout, llvm: int) -> str | None:
    """Why LLVM refuses a layout of a transposing load that the hardware has: it fits the value, and not the block in memory.

    LLVM 23 and 24 verify `layout` against the shape of the descriptor, as if nothing were transposed, and LLVM 22 distributes
    it so. A block of 16x8 that is loaded as 8x16, with a column in each of 16 lanes, is one message; no text says so.

    >>> from layoutalg.ir import read_module
    >>> load, _ = [op for op in read_module('''%p = arith.constant 0 : i64
    ... %t = xegpu.create_nd_tdesc %p, shape : [16, 8], strides : [8, 1] : i64 -> !xegpu.tensor_desc<16x8xf32>
    ... %x = xegpu.load_nd %t[0, 0] <{transpose = array<i64: 1, 0>}> : !xegpu.tensor_desc<16x8xf32> -> vector<8x16xf32>
    ... %y = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<16x8xf32> -> vector<16x8xf32>''').walk() if op.name == "xegpu.load_nd"]
    >>> from layoutalg.propagation.named_layout import as_written
    >>> columns = as_written(LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)), (8, 16))
    >>> print(refused_of_block(load, columns, 24))
    LLVM 24 distributes the block of 16x8 before it is transposed; #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]> does
    not fit it
    """
    if operation.name != "xegpu.load_nd" or not isinstance(known.attribute, LayoutAttr | SliceAttr):
        return None
    load: Any = operation
    if getattr(load, "transpose", None) is None or not isinstance(load.descriptor.type, TensorDescType):
        return None
    block = tuple(load.descriptor.type.get_shape())
    if len(block) != len(known.shape) or known.attribute.check(block, llvm) is None:
        return None
    shape = "x".join(map(str, block))
    return f"LLVM {llvm} distributes the block of {shape} before it is transposed; {known.attribute} does not fit it"


def ignored(demand: Demand, known: NamedLayout) -> bool:
    """Whether every version of LLVM moves the block as if another layout were written.

    Blocks of 8x8 elements exist, so lanes in two rows of 8 can be loaded. LLVM 22, 23 and 24 accept `lane_layout = [2, 8]` and
    load rows of 16.
    """
    if demand.user.name not in ("xegpu.load_nd", "xegpu.store_nd") or not isinstance(known.attribute, LayoutAttr):
        return False
    lanes = known.attribute.lane_layout
    return lanes is not None and sum(count != 1 for count in lanes) > 1


def _kind_of(demand: Demand) -> tuple[Any, ...]:
    """What a demand's answers depend on: the operation's name, types and properties, and which value it is about."""
    user: Any = demand.user
    about = tuple(getattr(demand, one.name) for one in fields(demand) if one.name != "user")  # pyright: ignore[reportArgumentType]
    properties = tuple((name, one) for name, one in user.properties.items() if not name.startswith("layout"))
    types = tuple(value.type for value in (*user.operands, *user.results))
    return (type(demand), user.name, about, properties, types)


def _options(demand: Demand, shape: tuple[int, ...], asked: DemandOptions) -> list[Option]:
    choices: tuple[Choice, ...] = tuple(demand.choices(asked.level, asked.machine, asked.target, asked.llvm))
    options: dict[str, Option] = {}
    for choice in choices:
        accepted = if_accepted(choice.attribute, shape, asked.llvm)
        known = None if accepted is None else written_at(demand.user, accepted, asked.llvm)
        if known is None or ignored(demand, known):
            continue
        for other in right_layouts(demand, known, asked):
            cost = demand.price(other.attribute, asked.machine, asked.target)
            options.setdefault(other.key, Option(other, "compilers move it rightly", cost))
        options.setdefault(known.key, Option(known, choice.why, choice.cost))
    return list(options.values())


def cost_at(demand: Demand, known: NamedLayout, asked: DemandOptions) -> int:
    """What an operation costs with a layout: that of its choice, or its price where the layout is not one of its choices."""
    at = ("cost", _kind_of(demand), known.key, known.attribute)
    if at not in asked.kept:
        asked.kept[at] = _cost_at(demand, known, asked)
    return asked.kept[at]


def _cost_at(demand: Demand, known: NamedLayout, asked: DemandOptions) -> int:
    for option in options_of(demand, known.shape, asked):
        if option.held.key == known.key:
            return option.cost
    if known.tile is not None and "sg" not in known.levels:
        tiles = options_of(demand, known.shape, replace(asked, level="inst"))
        cost = next((option.cost for option in tiles if option.held.tile == known.tile), None)
        if cost is not None:
            return cost
    if known.levels == ("sg",):
        # The words that each lane then has: what grids of subgroups cost.
        count = Prices(asked.machine, asked.target).registers(known)
        return -(-count * bits_of(str(getattr(demand.value.type, "element_type", demand.value.type))) // 32)
    return demand.price(known.attribute, asked.machine, asked.target)
