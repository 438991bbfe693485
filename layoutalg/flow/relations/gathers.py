"""Memory whose elements are addressed one by one: gathers, shared memory, vector loads. Any layout will do, at its price.

Every lane names its own addresses, so offsets and mask are spread as the value is. With a chunk, one offset serves a row:

>>> from layoutalg.ir import read_module
>>> text = '%p, %o, %m = "test.op"() : () -> (i64, vector<16xindex>, vector<16xi1>)'
>>> load = "%x = xegpu.load %p[%o], %m <{chunk_size = 8 : i64}> : i64, vector<16xindex>, vector<16xi1> -> vector<16x8xf32>"
>>> relation = load_scattered(read_module(text + load).body.block.last_op)
>>> for tie in relation.ties:
...     print(tie.number, tie.relation)
1 d0 = 16@d0, d1 = 8@_
2 d0 = 16@d0, d1 = 8@_

Neighbours of a row that one lane has move in one message, up to 32 bytes. So a gather of chunks is cheapest with a row per
lane:

>>> [demand] = relation.demands
>>> for choice in demand.choices("lane", None, "pvc", 22):
...     print(choice.attribute, choice.cost, choice.why)
#xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]> 16 1 message, 8 elements each
#xegpu.layout<lane_layout = [16, 1], lane_data = [1, 8]> 16 1 message, 8 elements each

An atomic operation is done by every lane that has the element, so copies are wrong there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, Literal, NamedTuple

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from layoutalg.conversion import cost_of
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Distributed, Machine
from layoutalg.core.plurals import counted
from layoutalg.flow.levels import levels_of
from layoutalg.flow.relations.demands import OneValue, accepted, bits_of, grids, lanes_of, placed, words
from layoutalg.flow.relations.relation import Choice, Relation, Tie, related, relates, same_shape, shape_of
from layoutalg.xegpu import LayoutAttr

__all__ = ["Access", "AddressedDemand", "chunks_of"]

_CACHED = 1 << 12
_MOST_BYTES = 32
"""What a lane moves in one message at most: 8 words, the longest vector of a message in which every lane has its own address
(vISA's documentation, LSC untyped loads)."""
Kind = Literal["load", "store", "atomic"]
_CHUNKED = ("xegpu.load", "xegpu.store", "xegpu.atomic_rmw")
"""Operations that may move several elements for each offset."""


@relates("xegpu.load")
def load_scattered(op: Any) -> Relation:
    """Offsets and mask are those of the value."""
    result = op.results[0]
    return Relation(tuple(_scattered(op, result, None)), _demand(op, None, "load", result))


@relates("xegpu.store")
def store_scattered(op: Any) -> Relation:
    """Offsets and mask are those of what is stored."""
    return Relation(tuple(_scattered(op, op.operands[0], 0)), _demand(op, 0, "store", op.operands[0]))


@relates("xegpu.atomic_rmw")
def atomic(op: Any) -> Relation:
    """The mask and what comes back are spread as what is combined."""
    result = op.results[0]
    ties = [*_scattered(op, result, None), *same_shape(op, 2, result)]
    return Relation(tuple(ties), (*_demand(op, 2, "atomic", op.operands[2]), *_demand(op, None, "atomic", result)))


def _demand(op: Operation, number: int | None, kind: Kind, value: SSAValue) -> tuple[AddressedDemand, ...]:
    return () if shape_of(value) is None else (AddressedDemand(op, number, kind),)


def _scattered(op: Any, value: SSAValue, beside: int | None) -> Iterator[Tie]:
    """The ties of offsets and mask; offsets in a descriptor are an operand of the operation that made it."""
    shape = shape_of(value)
    if shape is None:
        return
    skipped = (beside, 2 if op.name == "xegpu.atomic_rmw" else None)
    places = [(op, number) for number in range(len(op.operands)) if number not in skipped]
    maker = op.operands[1 if beside == 0 else 0].owner
    if isinstance(maker, Operation) and maker.name == "xegpu.create_tdesc":
        places.append((maker, 1))
    for user, number in places:
        offsets = shape_of(user.operands[number])
        relation = None if offsets is None else chunks_of(offsets, shape)
        if relation is not None:
            yield Tie(user, number, value, relation, beside=beside if user is op else None)


@lru_cache(maxsize=_CACHED)
def chunks_of(offsets: tuple[int, ...], shape: tuple[int, ...]) -> Layout | None:
    """From a value to the offset (or the bit of the mask) of each element; a chunk is a dimension more, the last.

    >>> print(chunks_of((16,), (16, 4)), "|", chunks_of((1,), (8,)), "|", chunks_of((4,), (8,)))
    d0 = 16@d0, d1 = 4@_ | d0 = 8@_ | None
    """
    if shape == offsets:
        dims = [[Factor(size, 1, f"d{dim}")] for dim, size in enumerate(shape)]
    elif shape[:-1] == offsets:
        dims = [*([Factor(size, 1, f"d{dim}")] for dim, size in enumerate(offsets)), [Factor(shape[-1])]]
    elif prod(offsets) == 1:  # a lane's own offset
        dims = [[Factor(size)] for size in shape]
    else:
        return None
    return related(dims, len(offsets))


@relates("xegpu.load_matrix", "vector.load")
def load(op: Any) -> Relation:
    """Each element from its own place."""
    return Relation(demands=_demand(op, None, "load", op.results[0]))


@relates("xegpu.store_matrix", "vector.store")
def store(op: Any) -> Relation:
    """Each element to its own place."""
    return Relation(demands=_demand(op, 0, "store", op.operands[0]))


@relates("vector.maskedload", "vector.gather")
def masked_load(op: Any) -> Relation:
    """Places, mask and what stands for masked elements are spread as the value."""
    result = op.results[0]
    numbers = range(1, len(op.operands))
    ties = tuple(tie for number in numbers for tie in same_shape(op, number, result))
    return Relation(ties, _demand(op, None, "load", result))


@relates("vector.maskedstore", "vector.scatter")
def masked_store(op: Any) -> Relation:
    """Places and mask are spread as what is stored."""
    last = len(op.operands) - 1
    ties = tuple(tie for number in range(1, last) for tie in _beside(op, number, last))
    return Relation(ties, _demand(op, last, "store", op.operands[last]))


def _beside(op: Operation, number: int, stored: int) -> Iterator[Tie]:
    for tie in same_shape(op, number, op.operands[stored]):
        yield Tie(op, number, tie.result, tie.relation, beside=stored)


@relates("vector.expandload")
def expand_load(op: Any) -> Relation:
    """Where an element is in memory depends on the whole mask."""
    result = op.results[0]
    last = len(op.operands) - 1
    ties = (*_whole_mask(op, last - 1, result, None), *same_shape(op, last, result))
    return Relation(ties, _demand(op, None, "load", result))


@relates("vector.compressstore")
def compress_store(op: Any) -> Relation:
    """Where an element goes depends on the whole mask."""
    last = len(op.operands) - 1
    value = op.operands[last]
    return Relation(tuple(_whole_mask(op, last - 1, value, last)), _demand(op, last, "store", value))


def _whole_mask(op: Operation, number: int, value: SSAValue, beside: int | None) -> Iterator[Tie]:
    shape = shape_of(value)
    if shape is not None and shape_of(op.operands[number]) == shape:
        copies = [Factor(size, 1, f"d{dim}") for dim, size in enumerate(shape)]
        relation = related([[Factor(size)] for size in shape], len(shape), copies)
        yield Tie(op, number, value, relation, beside=beside)


@relates("vector.transfer_read")
def transfer_read(op: Any) -> Relation:
    """The mask has the dimensions of memory that are read, in their order there."""
    result = op.results[0]
    return Relation(tuple(_transfer_mask(op, op.mask, result, None)), _demand(op, None, "load", result))


@relates("vector.transfer_write")
def transfer_write(op: Any) -> Relation:
    """The mask has the dimensions of memory that are written, in their order there."""
    value = op.operands[0]
    return Relation(tuple(_transfer_mask(op, op.mask, value, 0)), _demand(op, 0, "store", value))


def _transfer_mask(op: Any, mask: SSAValue | None, value: SSAValue, beside: int | None) -> Iterator[Tie]:
    shape, bits = shape_of(value), None if mask is None else shape_of(mask)
    if mask is None or shape is None or bits is None:
        return
    held: Any = op.permutation_map
    results = held.data.results
    used = sorted({one.position for one in results if isinstance(one, AffineDimExpr)})
    dims = [
        [Factor(size, 1, f"d{used.index(one.position)}")] if isinstance(one, AffineDimExpr) else [Factor(size)]
        for size, one in zip(shape, results, strict=True)
    ]
    yield Tie(op, list(op.operands).index(mask), value, related(dims, len(bits)), beside=beside)


@relates("iree_vector_ext.transfer_gather")
def transfer_gather(op: Any) -> Relation:
    """Index vectors and mask have some of the value's dimensions, as their maps say."""
    result = op.results[0]
    return Relation(tuple(_indexed(op, result, None)), _demand(op, None, "load", result))


@relates("iree_vector_ext.transfer_scatter")
def transfer_scatter(op: Any) -> Relation:
    """Index vectors and mask have some of the dimensions of what is stored, as their maps say."""
    value = op.vector
    number = list(op.operands).index(value)
    return Relation(tuple(_indexed(op, value, number)), _demand(op, number, "store", value))


def _indexed(op: Any, value: SSAValue, beside: int | None) -> Iterator[Tie]:
    """Index vectors and the mask, each with its map; an older form has the maps of the index vectors apart."""
    shape, operands = shape_of(value), list(op.operands)
    current = op.indexing_maps
    older = op.properties.get("indexed_maps")
    held: list[Any] = list(current)[1:] if current is not None else list(older) if older is not None else []
    vectors = [*op.index_vecs, *([op.mask] if op.mask is not None else [])]
    if shape is None:
        return
    for vector, found in zip(vectors, held, strict=False):
        results = found.data.results
        if not all(isinstance(one, AffineDimExpr) for one in results) or shape_of(vector) is None:
            continue
        at = {one.position: f"d{place}" for place, one in enumerate(results)}
        dims = [[Factor(size, 1, at[dim])] if dim in at else [Factor(size)] for dim, size in enumerate(shape)]
        yield Tie(op, operands.index(vector), value, related(dims, len(results)), beside=beside)


@relates(
    "xegpu.create_mem_desc", "xegpu.create_tdesc", "xegpu.mem_desc_subview", "xegpu.prefetch", "xegpu.update_offset",
    "vector.type_cast",
)  # fmt: skip
def no_value(op: Any) -> Relation:
    """Descriptors are not spread; the offsets of one are tied to the values that are loaded and stored with it."""
    return Relation()


@dataclass(frozen=True, slots=True)
class AddressedDemand(OneValue):
    """A value that is loaded, stored or combined element by element: any layout, at a price; no copies of atomics.

    >>> text = '''%t, %m, %v = "test.op"() : () -> (
    ...   !xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<>>, vector<16xi1>, vector<16xf32>)
    ... %r = xegpu.atomic_rmw addf %t, %m, %v : !xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<>>, vector<16xi1>,
    ...   vector<16xf32> -> vector<16xf32>'''
    >>> from layoutalg.ir import read_module
    >>> demand = AddressedDemand(read_module(text).body.block.last_op, 2, "atomic")
    >>> demand.problem(LayoutAttr(lane_layout=(8,)), Machine(lanes=16), "pvc")
    '2 lanes hold copies of each element (2@lane:8), and each combines it with memory'
    """

    kind: Kind

    @property
    def access(self) -> Access:
        """What is accessed, without the operation."""
        shape = self.shape
        chunked = self.user.name in _CHUNKED and any(shape_of(operand) == shape[:-1] for operand in self.user.operands)
        return Access(shape, bits_of(self.element), self.kind, chunked and len(shape) > 1)

    def problem(self, attribute: Distributed, machine: Machine | None, target: str | None) -> str | None:
        """Why the layout does not do: it does not fit the shape, or has copies of an atomic's elements."""
        return _problem(attribute, self.access, machine, target)

    def choices(self, level: str, machine: Machine | None, target: str | None, llvm: int) -> tuple[Choice, ...]:
        """LLVM's usual layouts first (one lane per offset), then those that may be cheaper."""
        return _choices(self.access, level, machine, target, llvm)

    def price(self, attribute: Distributed, machine: Machine | None, target: str | None) -> int:
        """The issue slots of one subgroup's messages."""
        return _price(attribute, self.access, machine, target)


class Access(NamedTuple):
    """A value that is loaded or stored element by element; `chunked` if its last dimension are the elements of one offset."""

    shape: tuple[int, ...]
    bits: int
    kind: Kind
    chunked: bool


@lru_cache(maxsize=_CACHED)
def _problem(attribute: Distributed, what: Access, machine: Machine | None, target: str | None) -> str | None:
    layout = placed(attribute, what.shape, machine, lanes_of(machine, target))
    if isinstance(layout, str):
        return layout
    copies = next((factor for factor in layout.replicas if what.kind == "atomic"), None)
    if copies is None:
        return None
    who = "subgroups" if copies.axis == "sg" else "lanes"
    return f"{copies.extent} {who} hold copies of each element ({copies}), and each combines it with memory"


@lru_cache(maxsize=_CACHED)
def _price(attribute: Distributed, what: Access, machine: Machine | None, target: str | None) -> int:
    layout = placed(attribute, what.shape, machine, lanes_of(machine, target))
    if isinstance(layout, str):
        return 0
    messages, held = _messages(layout, what.bits, "lane" in levels_of(attribute))
    cost = cost_of(target)
    return messages * cost.message + -(-held * what.bits // 32) * cost.word


@lru_cache(maxsize=_CACHED)
def _choices(what: Access, level: str, machine: Machine | None, target: str | None, llvm: int) -> tuple[Choice, ...]:
    found = _candidates(what, level, machine, target)
    return accepted((one for one in found if _problem(one.attribute, what, machine, target) is None), what.shape, llvm)


def _candidates(what: Access, level: str, machine: Machine | None, target: str | None) -> Iterator[Choice]:
    lanes, shape = lanes_of(machine, target), what.shape
    if level == "lane":
        for attribute in _lane_layouts(shape, what.bits, lanes, what.chunked):
            layout = placed(attribute, shape, machine, lanes)
            if isinstance(layout, Layout):
                messages, held = _messages(layout, what.bits, True)
                why = f"{counted(messages, 'message')}, {counted(held // messages, 'element')} each"
                yield Choice(attribute, _price(attribute, what, machine, target), why)
    elif level == "inst":
        tile = _tile(shape, lanes, what.chunked)
        if tile is not None:
            yield Choice(LayoutAttr(inst_data=tile), 0, "as many offsets as lanes")
    elif level == "workgroup":
        unit = _tile(shape, lanes, what.chunked) or tuple(1 for _ in shape)
        for grid in grids(shape, 1 if machine is None else machine.subgroups or 1, unit):
            held = words(grid.sg_data or (), what.bits, lanes)
            yield Choice(grid, held, f"{'x'.join(map(str, grid.sg_layout or ()))} subgroups")


def _lane_layouts(shape: tuple[int, ...], bits: int, lanes: int, chunked: bool) -> Iterator[LayoutAttr]:
    """With a chunk a row per lane, and its elements as data; otherwise a column per lane; then the other way round."""
    rank = len(shape)
    across = (*(1 for _ in shape[1:]), lanes)
    down = (lanes, *(1 for _ in shape[1:]))
    ones = (1,) * rank
    if rank == 1:
        yield LayoutAttr(lane_layout=(lanes,), lane_data=(1,))
        wide = max(_MOST_BYTES * 8 // bits, 1)
        while wide > 1:
            yield LayoutAttr(lane_layout=(lanes,), lane_data=(wide,))
            wide //= 2
        return
    data = max(32 // bits, 1) if bits else 1
    rows = [
        LayoutAttr(lane_layout=down, lane_data=(*ones[1:], data)),
        LayoutAttr(lane_layout=down, lane_data=(*ones[1:], shape[-1])),
        LayoutAttr(lane_layout=down, lane_data=ones),
    ]
    columns = [
        LayoutAttr(lane_layout=across, lane_data=ones),
        LayoutAttr(lane_layout=across, lane_data=(*ones[1:], data)),
    ]
    yield from (*rows, *columns) if chunked else (*columns, *rows)


def _tile(shape: tuple[int, ...], lanes: int, chunked: bool) -> tuple[int, ...] | None:
    if chunked:
        return (*(1 for _ in shape[:-2]), min(lanes, shape[-2]), shape[-1])
    return (*(1 for _ in shape[:-1]), min(lanes, shape[-1])) if shape else None


@lru_cache(maxsize=_CACHED)
def _messages(layout: Layout, bits: int, lanes: bool) -> tuple[int, int]:
    """How many messages a subgroup needs, and how many elements a lane moves in all.

    Neighbours of the last dimension that a lane has in one piece move together, as many as the widest message takes.
    """
    held = prod(int(f.extent) for factors in layout.dims for f in factors if f.axis in ("reg", None))
    if not lanes:
        return 1, held
    together = 1
    for factor in reversed(layout.dims[-1] if layout.rank else ()):
        if factor.axis not in ("reg", None):
            break
        together *= int(factor.extent)
    most = max(_MOST_BYTES * 8 // bits, 1)
    piece = max(size for size in range(1, min(together, most) + 1) if together % size == 0)
    return max(held // piece, 1), held
