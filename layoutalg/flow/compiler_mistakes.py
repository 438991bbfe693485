"""Layouts that are right and that compilers get wrong: what was measured of LLVM 22, 23 and 24.

`xegpu.load_matrix` and `xegpu.store_matrix` move each lane's elements as one vector of neighbours in shared memory, from its
first element on. A lane that has a column, or several pieces of a row, gets and gives other elements:

>>> columns = LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
>>> print(moves_others(columns, (8, 16), MemDescType((32, 32), "f32")))
lane 0 moves 8 neighbours in memory from (0, 0) on, and its element (1, 0) is not among them
>>> moves_others(LayoutAttr(lane_layout=(8, 2), lane_data=(1, 8)), (8, 16), MemDescType((32, 32), "f32"))

Where an operation takes the result of a `vector.multi_reduction`, or what is computed from it element by element, and says a
layout of it that is not a slice, LLVM 23 and 24 crash when they distribute to lanes (`reduction_mistakes`). A
`xegpu.convert_layout` in between mends it. `tests/oracle/test_checked_mistakes.py` runs the compilers.

`check` reports these, `propagate` writes layouts that avoid them (`propagation.avoiding`), and `lower` does not need the passes
that have them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, cast

from layoutalg.core.errors import LayoutError
from layoutalg.core.notation import Distributed
from layoutalg.flow.edges import edges_of
from layoutalg.flow.levels import levels_of
from layoutalg.xegpu import LayoutAttr, MemDescType, SliceAttr
from layoutalg.xegpu.reading import parse_attribute

if TYPE_CHECKING:
    from xdsl.ir import Operation, SSAValue, Use

    from layoutalg.flow.graph import Flow
    from layoutalg.flow.written_layouts import WrittenLayout

__all__ = [
    "CompilerMistake",
    "Followers",
    "ReductionMistake",
    "compiler_mistake",
    "conversions_of_reductions",
    "followers_of",
    "moves_others",
    "neighbouring",
    "reached_from",
    "reduction_mistakes",
    "right_for_matrix",
    "wants_slices",
]

Followers = dict[tuple["Operation", int], list["SSAValue"]]

_ELEMENTWISE = ("arith.", "math.", "vector.bitcast", "vector.fma")
"""What takes its operands in the layout of its result, in the compilers' propagation."""
_CACHED = 1 << 12
_MOST_ELEMENTS = 1 << 20


@dataclass(frozen=True, slots=True)
class CompilerMistake:
    """What compilers do with an operation in this layout: the rule, the versions, and in words.

    >>> CompilerMistake("compiler.matrix", (22, 23, 24), "lane 0 moves others").by
    'LLVM 22, 23 and 24'
    """

    rule: str
    versions: tuple[int, ...]
    message: str

    @property
    def by(self) -> str:
        """The versions in words."""
        *most, last = map(str, self.versions)
        return f"LLVM {', '.join(most)} and {last}" if most else f"LLVM {last}"


def compiler_mistake(user: Operation, value: SSAValue, attribute: Distributed) -> CompilerMistake | None:
    """What is known to go wrong where an operation makes or takes a value in a layout."""
    kind: Any = value.type
    if user.name in ("xegpu.load_matrix", "xegpu.store_matrix"):
        if "subgroup_block_io" in user.properties or not hasattr(kind, "get_shape"):
            return None
        problem = moves_others(attribute, tuple(kind.get_shape()), _memory_of(user))
        return None if problem is None else CompilerMistake("compiler.matrix", (22, 23, 24), problem)
    return None


_WANT_SLICES = {"vector.multi_reduction": (23, 24)}
"""Operations whose result must be taken as a slice, or these versions crash: they look for its parent."""


def wants_slices(operation: Operation, llvm: int) -> bool:
    """Whether that version of LLVM crashes where the result of an operation is taken in a layout that is not a slice.

    The layout comes from an anchor (a store), through elementwise operations too.
    """
    return llvm in _WANT_SLICES.get(operation.name, ())


def followers_of(flow: Flow) -> Followers:
    """For every use of a value, what is computed there element by element, as operation and operand number.

    What a loop or a branch yields, and what a loop starts with, goes on as its result. A conversion is followed by nothing.
    """
    followers: Followers = {}
    for edge in edges_of(flow):
        tie = edge.tie
        if edge.equal and tie.user.name.startswith(_ELEMENTWISE):
            followers.setdefault((tie.user, tie.number), []).append(tie.result)
    for operation in [one for function in flow.functions for one in function.walk()]:
        parent = operation.parent_op()
        if operation.name == "scf.for":
            followers |= {(operation, 3 + at): [result] for at, result in enumerate(operation.results)}
        elif operation.name == "scf.yield" and parent is not None and parent.name in ("scf.for", "scf.if"):
            followers |= {(operation, at): [result] for at, result in enumerate(parent.results)}
    return followers


def reached_from(use: Use, followers: Followers) -> Iterator[Use]:
    """A use, and the uses of what is computed there element by element."""
    waiting, seen = [use], {use}
    while waiting:
        one = waiting.pop()
        yield one
        for result in followers.get((one.operation, one.index), ()):
            more = [each for each in result.uses if each not in seen]
            seen.update(more)
            waiting.extend(more)


@dataclass(frozen=True, slots=True)
class ReductionMistake:
    """A statement, the reduction whose result (or what is computed from it) is taken there, and the first user on the way."""

    statement: WrittenLayout
    reduction: Operation
    user: Operation
    mistake: CompilerMistake


def reduction_mistakes(flow: Flow) -> Iterator[ReductionMistake]:
    """What goes wrong where operations say how they take what a reduction makes, directly or through elementwise operations."""
    plain = {
        (statement.user, statement.value): statement
        for statement in flow.wanted
        if isinstance(statement.attribute, LayoutAttr) and "lane" in levels_of(statement.attribute)
    }
    reductions = [
        one
        for function in flow.functions
        for one in function.walk()
        if one.name in _WANT_SLICES and "layout_result_0" in one.attributes
    ]
    followers = followers_of(flow) if plain and reductions else {}
    for reduction in reductions if plain else ():
        told: set[Operation] = set()
        for first in reduction.results[0].uses:
            for use in reached_from(first, followers):
                statement = plain.get((use.operation, use.operation.operands[use.index]))
                is_anchor = use is first or use.operation.name.startswith("xegpu.")
                if statement is not None and is_anchor and use.operation not in told:
                    told.add(use.operation)
                    words = f"{statement.attribute} is not a slice, and they look for its parent"
                    mistake = CompilerMistake("compiler.reduction", _WANT_SLICES[reduction.name], words)
                    yield ReductionMistake(statement, reduction, first.operation, mistake)


def conversions_of_reductions(flow: Flow) -> dict[Operation, CompilerMistake]:
    """The conversions of what a reduction makes, and how LLVM would crash without one whose result is not a slice."""
    found: dict[Operation, CompilerMistake] = {}
    reductions = [one for function in flow.functions for one in function.walk() if one.name in _WANT_SLICES]
    followers = followers_of(flow) if reductions else {}
    for reduction in reductions:
        words = "what a reduction makes is taken in a layout that is not a slice"
        mistake = CompilerMistake("compiler.reduction", _WANT_SLICES[reduction.name], words)
        for first in reduction.results[0].uses:
            users = (use.operation for use in reached_from(first, followers))
            found |= {user: mistake for user in users if user.name == "xegpu.convert_layout"}
    return found


def right_for_matrix(user: Operation, attribute: Distributed | None, shape: tuple[int, ...]) -> Iterator[LayoutAttr]:
    """The layouts in which compilers move a value through shared memory rightly (see `neighbouring`)."""
    memory = _memory_of(user)
    return iter(()) if attribute is None or memory is None else neighbouring(attribute, shape, memory)


def _memory_of(user: Operation) -> MemDescType | None:
    kinds = (operand.type for operand in user.operands)
    return next((_memory(str(kind)) for kind in kinds if kind.name == "xegpu.mem_desc"), None)


@lru_cache(maxsize=_CACHED)
def _memory(text: str) -> MemDescType | None:
    try:
        found = parse_attribute(text)
    except LayoutError:
        return None
    return found if isinstance(found, MemDescType) else None


@lru_cache(maxsize=_CACHED)
def moves_others(attribute: Distributed, shape: tuple[int, ...], memory: MemDescType | None) -> str | None:
    """The first element of a lane that is not where one vector of neighbours has it; None where all are.

    `shape` is the value's; what counts is the part of it that one message moves: a subgroup's block, or an instruction's tile.

    >>> several = LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
    >>> print(moves_others(several, (1, 32), MemDescType((32, 32), "f32")))
    lane 0 moves 2 neighbours in memory from (0, 0) on, and its element (0, 16) is not among them
    """
    import numpy as np

    from layoutalg.core.fragments import places

    if memory is None or not isinstance(attribute, LayoutAttr | SliceAttr) or "lane" not in levels_of(attribute):
        return None
    given = attribute.distribution()
    tile = given.inst_data or given.sg_data or shape
    try:
        layout = replace(given, sg_layout=None, sg_data=None, inst_data=None).layout(tile, attribute)
        if prod(map(int, layout.shape)) > _MOST_ELEMENTS or len(memory.shape) < len(tile):
            return None
        held = layout.fragment_map()[0]
        ahead = len(memory.shape) - len(tile)
        coordinates = [np.zeros(held.shape[:-1], np.int64)] * ahead + [held[..., d] for d in range(held.shape[-1])]
        address = cast("Any", places(memory.layout(), coordinates)["addr"])
    except LayoutError:
        return None
    apart = address - address[:, :1] - np.arange(int(address.shape[1]))
    wrong: list[list[int]] = np.argwhere(apart).tolist()
    if not wrong:
        return None
    lane, register = wrong[0]
    first, other = (tuple(map(int, held[lane, at])) for at in (0, register))
    count = address.shape[1]
    return f"lane {lane} moves {count} neighbours in memory from {first} on, and its element {other} is not among them"


def neighbouring(attribute: Distributed, shape: tuple[int, ...], memory: MemDescType | None) -> Iterator[LayoutAttr]:
    """Lane layouts of the same subgroups and tiles in which every lane has neighbours: the fewest lanes along a row first.

    >>> columns = LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
    >>> print(*neighbouring(columns, (8, 16), MemDescType((32, 32), "f32")))
    #xegpu.layout<lane_layout = [8, 2], lane_data = [1, 8]>
    """
    if not isinstance(attribute, LayoutAttr) or attribute.lane_layout is None or len(attribute.lane_layout) != 2:
        return
    lanes = prod(attribute.lane_layout)
    tile = attribute.inst_data or attribute.sg_data or shape
    for across in range(1, lanes + 1):
        down = lanes // across
        if lanes % across or tile[0] % down or tile[1] % across:
            continue
        one = replace(attribute, lane_layout=(down, across), lane_data=(tile[0] // down, tile[1] // across), order=None)
        if moves_others(one, shape, memory) is None:
            yield one
