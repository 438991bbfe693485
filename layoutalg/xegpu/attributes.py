"""`#xegpu.layout` and `#xegpu.slice`: the attributes that say who holds what.

>>> attr = LayoutAttr(sg_layout=(2, 4), sg_data=(16, 16), lane_layout=(1, 16), lane_data=(1, 1))
>>> print(attr)
#xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16], lane_layout = [1, 16], lane_data = [1, 1]>
>>> attr.layout((32, 64))
Layout.parse('d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane')

Three questions about an attribute and a shape, three answers that are kept apart: `check` is LLVM's verdict in LLVM's
words, `blocks` the coordinates that LLVM computes, `layout` the exact relation, or the reason why it does not exist.
Values check themselves when made, in LLVM's words; what LLVM takes and then crashes or goes wrong on is refused too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import prod

from layoutalg.core.errors import DistributionError, VerificationError
from layoutalg.core.extents import Extent
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MAX_EXTENT, MAX_NESTING, MOST_BLOCKS_REPORTED
from layoutalg.core.llvm_versions import DEFAULT_LLVM, Rules, rules
from layoutalg.core.messages import number_text, shown
from layoutalg.core.notation import (
    Distributed,
    Machine,
    Notation,
    Note,
    Operand,
    ReportRequest,
    as_machine,
    one_operand,
)
from layoutalg.core.whole_numbers import as_flag, as_ints, one_of
from layoutalg.core.work_items import cover
from layoutalg.xegpu.distribution import Distribution, as_numbers, as_shape, shortened
from layoutalg.xegpu.fragments import FragmentType, lane_fragment, subgroup_fragment
from layoutalg.xegpu.refusals import Refusal, refusal
from layoutalg.xegpu.usual import is_usual

__all__ = ["DistributeLayout", "LayoutAttr", "SliceAttr"]

Ints = tuple[int, ...]


class DistributeLayout(Notation, ABC):
    """What `#xegpu.layout` and `#xegpu.slice` have in common: everything that is asked with a shape.

    >>> isinstance(LayoutAttr(lane_layout=(1, 16)), DistributeLayout)
    True
    """

    __slots__ = ()

    @abstractmethod
    def distribution(self) -> Distribution:
        """The fields with all slices worked in.

        >>> SliceAttr(LayoutAttr(lane_layout=(2, 8)), (0,)).distribution().lane_layout
        (8,)
        """

    @property
    def rank(self) -> int:
        """The rank of the tensors that the attribute distributes.

        >>> SliceAttr(LayoutAttr(lane_layout=(2, 8)), (0,)).rank
        1
        """
        return self.distribution().rank

    def check(self, shape: Sequence[int], llvm: int = DEFAULT_LLVM) -> str | None:
        """The verdict of a version of LLVM on this attribute for a tensor of `shape`: None where it accepts, else its words.

        LLVM 22 is asked about a layout on a `tensor_desc`, and about a slice, which it cannot read there, on
        `convert_layout`. LLVM 23 and 24 are asked on `convert_layout`; where the ranks differ, which crashes them, on a
        `tensor_desc`.

        Raises `LayoutError` for a shape that is not a sequence of whole numbers, and for a version that is not known.

        >>> attr = LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
        >>> attr.check((8, 17))
        "'xegpu.convert_layout' op invalid input layout, data cannot be evenly distributed."
        >>> attr.check((8, 17), llvm=22)
        'cannot distribute [8, 17] using #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>'
        >>> attr.check((8, 1), llvm=22) is None, attr.check((8, 1)) is None
        (False, True)
        >>> LayoutAttr(lane_layout=(1, 16)).check((8, 16))
        'lane_layout and lane_data must be used together'
        """
        version = rules(llvm)
        return self._verdict(as_numbers(shape), version, self._asked_on(version))

    def descriptor_problem(self, shape: Sequence[int], llvm: int = DEFAULT_LLVM) -> str | None:
        """The verdict of a version of LLVM on a `tensor_desc` of `shape` that carries this attribute (see `check`).

        >>> parent = LayoutAttr(lane_layout=(1, 16, 1), lane_data=(1, 1, 1))
        >>> SliceAttr(parent, (2,)).descriptor_problem((8, 17), llvm=24)[:31]
        'cannot distribute [8, 17] using'
        """
        return self._verdict(as_numbers(shape), rules(llvm), "tensor_desc")

    def incomplete(self, llvm: int = DEFAULT_LLVM) -> str | None:
        """What a version of LLVM says of a layout without its data, whatever the shape: None where nothing is missing.

        >>> LayoutAttr(sg_layout=(2, 4)).incomplete(llvm=24)
        'sg_layout and sg_data must be used together'
        """
        level = self.parent_layout().distribution().half if rules(llvm).data_with_layout else None
        return None if level is None else f"{level}_layout and {level}_data must be used together"

    def _asked_on(self, version: Rules) -> str:
        return "convert_layout"

    def _verdict(self, sizes: Ints, version: Rules, asked_on: str) -> str | None:
        missing = self.incomplete(version.llvm)
        if missing is not None:
            return missing
        if self.distribution().accepts(sizes, version):
            return None
        on_descriptor = asked_on == "tensor_desc"
        if len(sizes) != self.rank and (on_descriptor or version.slice_in_descriptor):
            return "expected layout rank to match tensor rank"
        if on_descriptor:
            return f"cannot distribute {list(sizes)} using {self}"
        return "'xegpu.convert_layout' op invalid input layout, data cannot be evenly distributed."

    @abstractmethod
    def parent_layout(self) -> LayoutAttr:
        """The layout inside all slices; a layout itself.

        >>> SliceAttr(LayoutAttr(lane_layout=(2, 8)), (0,)).parent_layout().lane_layout
        (2, 8)
        """

    @abstractmethod
    def around(self, layout: LayoutAttr) -> DistributeLayout:
        """The attribute with another layout inside all slices.

        >>> print(SliceAttr(LayoutAttr(lane_layout=(2, 8)), (0,)).around(LayoutAttr(lane_layout=(1, 16))))
        #xegpu.slice<#xegpu.layout<lane_layout = [1, 16]>, dims = [0]>
        """

    def refusal(self, shape: Sequence[int], llvm: int = DEFAULT_LLVM) -> Refusal | None:
        """Why a version of LLVM refuses the attribute on a tensor of `shape`, and what would fit; None where it takes it.

        Raises as `check` does.

        >>> print(LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)).refusal((8, 8)))
        dimension 1 has 8 columns: 16 lanes of 1 need a multiple of 16, or exactly 1; 8x16 would fit, or lane_layout = [2, 8]
        """
        return refusal(self, shape, llvm)

    def blocks(self, shape: Sequence[int], level: str | None = None) -> dict[int, list[tuple[int, ...]]]:
        """The block origins of each id, exactly as LLVM computes them: `{id: [origin, ...]}` in LLVM's order.

        `level` is "workgroup" (ids are subgroups), "subgroup" (ids are lanes) or "instruction" (one id, 0); unless given,
        the outermost that the attribute has. LLVM's arithmetic does not ask its own verdict (`check`): blocks may overlap
        or overrun the tensor, for pairs that it accepts too.

        Raises `VerificationError` for a shape of another rank, `DistributionError` where LLVM fails for want of a data
        size, `SizeError` over 2^22 blocks.

        >>> LayoutAttr(lane_layout=(2, 8), lane_data=(2, 2)).blocks((8, 16))[1]
        [(0, 2), (4, 2)]
        """
        sizes = as_numbers(shape)
        if len(sizes) != self.rank:
            raise VerificationError(
                f"expected layout rank to match tensor rank (shape {list(sizes)}, layout {shortened(self)})"
            )
        if level is not None:
            level = one_of(level, ("workgroup", "subgroup", "instruction"), "level")
        return self.distribution().blocks(sizes, str(self), level)

    @property
    def needs_shape(self) -> bool:
        """True: the attribute fits many shapes.

        >>> LayoutAttr(lane_layout=(2, 8)).needs_shape
        True
        """
        return True

    def layout(self, shape: Sequence[Extent] | None = None, machine: Machine | None = None) -> Layout:
        """The exact relation between a tensor of `shape` and subgroups (`sg`), lanes and registers.

        Registers count as LLVM's values do: a subgroup's blocks row-major, in each the instruction tiles, in each the
        lane's vector. Without `lane_layout`, registers are those of the whole subgroup. Sizes may be symbols. A pair that LLVM
        refuses (`check`) may still have one clear meaning, which is returned.

        On a `machine` with more lanes or subgroups than the attribute uses, the others hold copies: ids wrap around.

        Raises `DistributionError` where the pair has no such relation: it names the dimension and what would fit.

        >>> LayoutAttr(lane_layout=(2, 8), lane_data=(2, 2)).layout((4, 32))
        Layout.parse('d0 = 2@lane:8 2@reg:4, d1 = 2@reg:2 8@lane 2@reg')
        >>> LayoutAttr(lane_layout=(8, 1)).layout((8, 2), Machine(lanes=16))
        Layout.parse('d0 = 8@lane, d1 = 2@reg | replicas 2@lane:8')
        """
        if shape is None:
            raise DistributionError(f"{self} needs a shape, such as 32x64")
        found = self.distribution().layout(as_shape(shape), self)
        return found if machine is None else cover(found, as_machine(machine), self)

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """The layout on `shape`; without a shape, on the smallest that needs every subgroup and lane once.

        Raises as `layout` does.

        >>> LayoutAttr(sg_layout=(2, 2), inst_data=(8, 16), lane_layout=(1, 16)).operands()[0].layout.shape
        (16, 32)
        """
        found = self.distribution()
        layout = self.layout(found.unit if shape is None else shape, machine)
        return one_operand(self, layout, found.inst_data, sized=True)

    def _notes(self, shape: Sequence[int] | None, machine: Machine | None, asked: ReportRequest) -> tuple[Note, ...]:
        """LLVM's verdict, the type of a fragment, and the blocks of each id (asked for, or where there is no layout)."""
        if shape is None:
            raise DistributionError(f"{self} needs a shape, such as 32x64")
        blocks, llvm = as_flag(asked.blocks, "blocks"), asked.llvm
        verdict = self.check(shape, llvm)
        text = "accepts" if verdict is None else f"refuses: {verdict}"
        found = [Note(f"LLVM {llvm}", text, "llvm", verdict or "accepts", verdict is not None)]
        if verdict is not None and (why := self.refusal(shape, llvm)) is not None:
            found.append(Note("why", str(why), "why", str(why), refused=True))
        level = "lane" if self.distribution().lane_layout is not None else "subgroup"
        try:
            self.layout(shape, machine)
        except DistributionError:
            blocks = blocks or verdict is None
        else:
            found += self.fragment_type(shape, asked.element, level).notes(level)
        if blocks:
            found += self._block_notes(shape)
        return tuple(found)

    def _block_notes(self, shape: Sequence[int]) -> list[Note]:
        origins = self.blocks(shape)
        if sum(map(len, origins.values())) > MOST_BLOCKS_REPORTED:
            raise DistributionError(f"{self} has more than {MOST_BLOCKS_REPORTED} blocks: too many to list")
        data = {str(one): [list(origin) for origin in each] for one, each in origins.items()}
        lines = [
            Note(f"block {one}", " ".join(f"({', '.join(map(str, o))})" for o in each)) for one, each in data.items()
        ]
        return [Note("", "", "blocks", data, instead=True), *lines]

    @property
    def levels(self) -> frozenset[str]:
        """The levels that the attribute says: `sg` with `sg_layout`, `inst` with `inst_data`, `lane` with `lane_layout`.

        >>> sorted(SliceAttr(LayoutAttr(sg_layout=(8, 4), inst_data=(8, 16)), (0,)).levels)
        ['inst', 'sg']
        """
        parent = self.parent_layout()
        said = {"sg": parent.sg_layout, "inst": parent.inst_data, "lane": parent.lane_layout}
        return frozenset(level for level, field in said.items() if field is not None)

    def completed_by(self, other: Distributed) -> Distributed:
        """The attribute with `sg_layout` or `lane_layout` from `other` where it lacks them (slices: of the same dimensions).

        >>> fine = LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
        >>> print(SliceAttr(LayoutAttr(sg_layout=(8, 4)), (0,)).completed_by(SliceAttr(fine, (0,))))
        #xegpu.slice<#xegpu.layout<sg_layout = [8, 4], lane_layout = [1, 16], lane_data = [1, 1]>, dims = [0]>
        """
        if isinstance(self, SliceAttr) and isinstance(other, SliceAttr) and self.dims == other.dims:
            parent = self.parent.completed_by(other.parent)
            return replace(self, parent=parent) if isinstance(parent, LayoutAttr | SliceAttr) else self
        if not isinstance(self, LayoutAttr) or not isinstance(other, LayoutAttr) or self.rank != other.rank:
            return self
        ordered = {one.order for one in (self, other) if one.sg_layout is not None or one.lane_layout is not None}
        usual = tuple(reversed(range(self.rank)))
        if len({usual if order is None else order for order in ordered}) > 1:
            return self  # one order holds for subgroups and lanes
        taken: dict[str, Ints | None] = {}
        if self.sg_layout is None:
            taken |= {"sg_layout": other.sg_layout, "sg_data": other.sg_data}
        if self.lane_layout is None:
            taken |= {"lane_layout": other.lane_layout, "lane_data": other.lane_data}
        if not any(taken.values()):
            return self
        return replace(self, **taken, order=self.order if self.order is not None else other.order)

    def fragment_type(
        self, shape: Sequence[int], element: str, level: str = "lane", array_length: int = 1, block: bool = True
    ) -> FragmentType:
        """The vector type of one subgroup's or one lane's share of a tensor, as LLVM distributes it.

        `level` is "subgroup" or "lane"; `block` says that the value comes from or goes to a 2D block message or dpas (1-D
        at lane level, packed or transposed as the layout says); otherwise each dimension is divided by its own lanes.
        A share in several pieces (rounds, instruction tiles) has `count` such vectors.

        Raises `DistributionError` where the layout cannot tile the shape.

        >>> str(LayoutAttr(lane_layout=(1, 16), lane_data=(2, 1)).fragment_type((16, 16), "f16"))
        'packed vector<16xf16>'
        >>> str(LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)).fragment_type((8, 16), "f32", block=False))
        'vector<8x1xf32>'
        """
        sizes = as_numbers(shape)
        if type(array_length) is not int or not 1 <= array_length <= MAX_EXTENT:
            raise DistributionError(f"array_length {shown(array_length)}: expected a whole number of at least 1")
        level = one_of(level, ("subgroup", "lane"), "level", DistributionError)
        block = as_flag(block, "block")
        if level == "subgroup":
            return subgroup_fragment(self.distribution(), sizes, element, str(self), array_length)
        return lane_fragment(self.distribution(), sizes, element, str(self), array_length, block)


@dataclass(frozen=True, slots=True)
class LayoutAttr(DistributeLayout):
    """`#xegpu.layout<sg_layout, sg_data, inst_data, lane_layout, lane_data, order>`: all optional, in elements.

    Raises `VerificationError` in LLVM's words, and for what LLVM 22 accepts and then crashes on: a size below 1, an empty
    list, an order that is not a permutation.

    >>> LayoutAttr(sg_data=(16, 16))
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: expected at least one of sg_layout, inst_data or lane_layout
    """

    sg_layout: Ints | None = None
    sg_data: Ints | None = None
    inst_data: Ints | None = None
    lane_layout: Ints | None = None
    lane_data: Ints | None = None
    order: Ints | None = None

    def __post_init__(self) -> None:
        if is_usual(self.sg_layout, self.sg_data, self.inst_data, self.lane_layout, self.lane_data, self.order):
            return
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                object.__setattr__(self, field.name, as_ints(field.name, value))
        self._verify_ranks()
        self._verify_sizes()

    def _verify_ranks(self) -> None:
        """LLVM's rules, in its order and its words (mlir-opt-22)."""
        sg, inst, lane, order = self.sg_layout, self.inst_data, self.lane_layout, self.order
        if sg is None and inst is None and lane is None:
            raise VerificationError("expected at least one of sg_layout, inst_data or lane_layout")
        if sg is not None and inst is not None and len(sg) != len(inst):
            raise VerificationError("expected sg_layout and inst_data to have the same rank")
        if sg is not None and lane is not None and len(sg) != len(lane):
            raise VerificationError("expected sg_layout and lane_layout to have the same rank")
        if inst is not None and lane is not None and len(inst) != len(lane):
            raise VerificationError(
                "expected inst_data and lane_layout to have the same rank, "
                f"got inst_data {len(inst)}, lane_layout {len(lane)}"
            )
        if self.sg_data is not None:
            if sg is None:
                raise VerificationError("expected sg_layout being used with sg_data")
            if len(self.sg_data) != len(sg):
                raise VerificationError("expected sg_data and sg_layout to have the same rank")
        if self.lane_data is not None:
            if lane is None:
                raise VerificationError("expected lane_layout being used with lane_data")
            if len(self.lane_data) != len(lane):
                raise VerificationError("expected lane_data and lane_layout to have the same rank")
        if order is not None:
            if sg is None and lane is None:
                raise VerificationError("expected sg_layout/lane_layout being used with order")
            if sg is not None and len(order) != len(sg):
                raise VerificationError("expected order and sg_layout to have the same rank")
            if lane is not None and len(order) != len(lane):
                raise VerificationError("expected order and lane_layout to have the same rank")

    def _verify_sizes(self) -> None:
        """What LLVM 22 lets through and then crashes or miscompiles on."""
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None or field.name == "order":
                continue
            if not value:
                raise VerificationError(f"{field.name} = []: expected one size per dimension (LLVM 22 accepts this)")
            for size in value:
                if not 1 <= size <= MAX_EXTENT:
                    raise VerificationError(
                        f"{field.name} = {_numbers(value)}: expected sizes of at least 1, got {_numbers([size])[1:-1]} "
                        "(LLVM 22 accepts this)"
                        if size < 1
                        else f"{field.name} = {_numbers(value)}: expected sizes of at most {MAX_EXTENT}"
                    )
            if field.name.endswith("layout") and prod(value) > MAX_EXTENT:
                raise VerificationError(f"{field.name} = {_numbers(value)}: more than 2^31 ids")
        if self.order is not None and sorted(self.order) != list(range(len(self.order))):
            raise VerificationError(
                f"order = {_numbers(self.order)}: expected a permutation of {list(range(len(self.order)))} "
                "(LLVM 22 accepts this, and crashes or goes wrong later)"
            )

    def __str__(self) -> str:
        parts = ((f.name, getattr(self, f.name)) for f in fields(self))
        return f"#xegpu.layout<{', '.join(f'{name} = {list(value)}' for name, value in parts if value is not None)}>"

    def distribution(self) -> Distribution:
        """The fields as they stand.

        >>> LayoutAttr(lane_layout=(1, 16)).distribution().rank
        2
        """
        rank = next(len(f) for f in (self.sg_layout, self.inst_data, self.lane_layout) if f is not None)
        return Distribution(
            rank, self.sg_layout, self.sg_data, self.inst_data, self.lane_layout, self.lane_data, self.order
        )

    def parent_layout(self) -> LayoutAttr:
        """The attribute itself.

        >>> print(LayoutAttr(lane_layout=(1, 16)).parent_layout())
        #xegpu.layout<lane_layout = [1, 16]>
        """
        return self

    def around(self, layout: LayoutAttr) -> LayoutAttr:
        """The other layout: there are no slices.

        >>> print(LayoutAttr(lane_layout=(2, 8)).around(LayoutAttr(lane_layout=(1, 16))))
        #xegpu.layout<lane_layout = [1, 16]>
        """
        return layout

    def _asked_on(self, version: Rules) -> str:
        return version.layouts_asked_on


@dataclass(frozen=True, slots=True)
class SliceAttr(DistributeLayout):
    """`#xegpu.slice<parent, dims = [..]>`: the parent's layout of a tensor that lacks dimensions `dims`.

    The subgroups and lanes that differ only in a dropped dimension hold the same data. `dims` of a nested slice count
    what its parent left.

    Raises `VerificationError` in LLVM's words.

    >>> parent = LayoutAttr(sg_layout=(8, 4), sg_data=(32, 32))
    >>> SliceAttr(parent, (0,)).layout((128,))
    Layout.parse('d0 = 4@sg 32@reg | replicas 8@sg:4')
    >>> SliceAttr(parent, (2,))
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: invalid dim (2) in slice attribute.
    """

    parent: LayoutAttr | SliceAttr
    dims: Ints

    def __post_init__(self) -> None:
        if not isinstance(self.parent, (LayoutAttr, SliceAttr)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise VerificationError(f"slice of {shown(self.parent)}: expected #xegpu.layout or #xegpu.slice")
        object.__setattr__(self, "dims", as_ints("dims", self.dims))
        depth, parent = 1, self.parent
        while isinstance(parent, SliceAttr):
            depth, parent = depth + 1, parent.parent
        if depth > MAX_NESTING:
            raise VerificationError(f"a slice nested {depth} deep: at most {MAX_NESTING}")
        rank = self.parent.rank
        for i, dim in enumerate(self.dims):
            if not 0 <= dim < rank:
                raise VerificationError(f"invalid dim ({_numbers([dim])[1:-1]}) in slice attribute.")
            if dim in self.dims[:i]:
                raise VerificationError(f"repeated dim ({dim}) in slice attribute.")

    def __str__(self) -> str:
        return f"#xegpu.slice<{self.parent}, dims = {list(self.dims)}>"

    def parent_layout(self) -> LayoutAttr:
        """The layout inside all slices.

        >>> SliceAttr(SliceAttr(LayoutAttr(lane_layout=(2, 8)), (0,)), (0,)).parent_layout().lane_layout
        (2, 8)
        """
        return self.parent.parent_layout()

    def around(self, layout: LayoutAttr) -> SliceAttr:
        """The slice of another layout.

        >>> print(SliceAttr(LayoutAttr(lane_layout=(2, 8)), (1,)).around(LayoutAttr(lane_layout=(4, 4))))
        #xegpu.slice<#xegpu.layout<lane_layout = [4, 4]>, dims = [1]>
        """
        return replace(self, parent=self.parent.around(layout))

    def distribution(self) -> Distribution:
        """The parent's fields without the dropped dimensions, ids still taken apart over all of them.

        >>> SliceAttr(LayoutAttr(lane_layout=(2, 8)), (1,)).distribution().level("subgroup").strides
        (8, 1)
        """
        return self.parent.distribution().drop(self.dims)


def _numbers(values: Sequence[int]) -> str:
    """A list for a message; Python refuses to print numbers of thousands of digits."""
    return f"[{', '.join(number_text(value) for value in values)}]"
