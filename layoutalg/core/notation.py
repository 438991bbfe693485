"""The contract between notations and everything above them: a value gives named operands for a shape and a machine.

An attribute has one operand, a matrix product three: A, B and C. What is above the notations (comparison, conversions,
questions about memory, pictures, reports, the command line) asks for operands, and knows no notation:

>>> tile = Layout.parse("d0 = 8@reg, d1 = 16@lane")
>>> [(one.name, str(one.layout)) for one in tile.operands()]
[('d0 = 8@reg, d1 = 16@lane', 'd0 = 8@reg, d1 = 16@lane')]

A `Machine` says what a notation leaves open: how many lanes a subgroup has, and how many subgroups there are. Work-items
that a notation does not use hold copies (`core.work_items.cover`), so that no work-item is a gap.

`Distributed` is the contract. `Notation`, what `parse` returns, adds `layout(shape, machine)` for values with one operand. To
write a new notation, subclass it and give `operands`. `core.agreement` finds the shape and machine that several values share.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack, cast

from layoutalg.core.errors import ConversionError, DistributionError, LayoutError
from layoutalg.core.extents import as_extent
from layoutalg.core.limits import MAX_EXTENT, MOST_DIMENSIONS
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.messages import shown
from layoutalg.core.notebook import Rows
from layoutalg.core.whole_numbers import whole_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from layoutalg.core.extents import Extent
    from layoutalg.core.layout import Layout
    from layoutalg.viz.picture import Picture

__all__ = [
    "Distributed",
    "Machine",
    "Notation",
    "Note",
    "Operand",
    "PictureOptions",
    "ReportRequest",
    "as_machine",
    "as_sizes",
    "one_operand",
    "own_sizes",
    "product_operands",
    "single_operand",
    "sole_layout",
]


@dataclass(frozen=True, slots=True)
class Machine:
    """The hardware that a layout is for: `lanes` in each subgroup, and `subgroups`; None where left open.

    `threads` is their number in all, where it is not a whole number of subgroups or where the lanes are left open.

    Raises `LayoutError` for a number that is not a whole number from 1 to 2^31.

    >>> Machine(lanes=16, subgroups=8)
    Machine(lanes=16, subgroups=8, threads=None)
    >>> Machine(lanes=0)
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: lanes = 0: expected a whole number from 1 to 2147483648
    """

    lanes: int | None = None
    subgroups: int | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        for name, given in (("lanes", self.lanes), ("subgroups", self.subgroups), ("threads", self.threads)):
            if given is not None:
                object.__setattr__(self, name, whole_number(given, f"{name} =", 1, MAX_EXTENT))

    def __or__(self, other: Machine) -> Machine:
        """This machine, with what it leaves open taken from `other`.

        >>> (Machine(lanes=16) | Machine(lanes=32, subgroups=4)).subgroups, (Machine(threads=64) | Machine(lanes=16)).subgroups
        (4, 4)
        """
        other = as_machine(other)
        lanes = other.lanes if self.lanes is None else self.lanes
        subgroups = other.subgroups if self.subgroups is None else self.subgroups
        if self.threads is not None and self.subgroups is None and lanes is not None:
            subgroups = -(-self.threads // lanes)
        return Machine(lanes, subgroups, self.threads)


_OPEN = Machine()


def as_machine(machine: object) -> Machine:
    """A machine that a caller gave; a whole number is the lanes of a subgroup, None leaves everything open.

    Raises `LayoutError` for anything else.

    >>> as_machine(None).lanes, as_machine(16).lanes
    (None, 16)
    >>> as_machine("pvc")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: machine 'pvc': expected a Machine, such as Machine(lanes=16, subgroups=8)
    """
    if machine is None:
        return _OPEN
    if type(machine) is int:
        return Machine(lanes=machine)
    if not isinstance(machine, Machine):
        raise LayoutError(f"machine {shown(machine)}: expected a Machine, such as Machine(lanes=16, subgroups=8)")
    return machine


class Operand(NamedTuple):
    """One layout of a value: its name, the instruction tile in elements (None: not known), and its place in a product.

    `role` is "A", "B" (K x N) or "C" in a matrix product. `slots` is a finer layout with an inverse, where the layout itself
    has gaps (an AMX tile's bytes). `notes` are pairs of a label and a text that reports print with the operand. `bits` are
    those of a step along the last axis, where that is memory or the bytes of a tile (None: not known). `reading` are sentences
    that a picture says of its rows and columns.

    >>> Operand("C", Layout.parse("d0 = 8@reg, d1 = 16@lane"), role="C").tile
    """

    name: str
    layout: Layout
    tile: tuple[int, ...] | None = None
    role: str | None = None
    slots: Layout | None = None
    notes: tuple[tuple[str, str], ...] = ()
    bits: int | None = None
    reading: tuple[str, ...] = ()


class Note(NamedTuple):
    """One thing that a notation says of itself in a report: a label and a text to print, a key and a value for JSON.

    An empty label is not printed, an empty key is not in JSON. `refused` is a compiler's verdict (None: not a verdict);
    `instead` says that a report makes sense with this note and without a layout.

    >>> Note("LLVM 22", "accepts", "llvm", "accepts", refused=False).label
    'LLVM 22'
    """

    label: str
    text: str
    key: str = ""
    value: object = None
    refused: bool | None = None
    instead: bool = False

    def _row(self) -> dict[str, object]:
        return {"about": self.label, "says": self.text} if self.label else {}


class PictureOptions(TypedDict, total=False):
    """The options of pictures; `Distributed.picture` says what they mean.

    >>> PictureOptions(title="C of a DPAS")["title"]
    'C of a DPAS'
    """

    machine: Machine | None
    title: str | None
    colour: str | None
    direction: str
    full: bool


class ReportRequest(NamedTuple):
    """What a report is asked for beside a shape and a machine: see `Distributed.report`."""

    element: str
    llvm: int
    blocks: bool


class Distributed:
    """A value that spreads tensors over hardware: it gives operands, has pictures, and shows one in a notebook.

    >>> isinstance(Layout.parse("d0 = 4@lane"), Distributed)
    True
    """

    __slots__ = ()

    @property
    def needs_shape(self) -> bool:
        """Whether the notation fits many shapes, and does not say the tensor's; `operands()` is then for one whole unit.

        >>> from layoutalg.xegpu import LayoutAttr
        >>> LayoutAttr(lane_layout=(2, 8)).needs_shape
        True
        """
        return False

    def tensor_shape(self) -> tuple[Extent, ...]:
        """The tensor's shape, of a value that says it.

        >>> from layoutalg.xegpu import TensorDescType, LayoutAttr
        >>> TensorDescType((8, 16), "f16", layout=LayoutAttr(lane_layout=(1, 16))).tensor_shape()
        (8, 16)
        """
        return single_operand(self, None, None).layout.shape

    @property
    def needs_machine(self) -> bool:
        """Whether the notation leaves the number of lanes open; without a machine it takes its usual one.

        >>> from layoutalg.xegpu import LayoutAttr
        >>> LayoutAttr(lane_layout=(2, 8)).needs_machine
        False
        """
        return False

    @property
    def levels(self) -> frozenset[str]:
        """The levels that the value says: who of the subgroups (`sg`) and of the lanes (`lane`) holds what, and `inst`.

        `inst` is an order of registers, by the tiles of instructions.

        >>> from layoutalg.xegpu import LayoutAttr
        >>> sorted(Layout.parse("d0 = 4@reg").levels), sorted(LayoutAttr(sg_layout=(2, 2), inst_data=(8, 16)).levels)
        (['lane', 'sg'], ['inst', 'sg'])
        """
        return frozenset(("sg", "lane"))

    def completed_by(self, other: Distributed) -> Distributed:
        """This value, with the levels that it leaves open as `other` says them; unchanged where the two do not go together.

        >>> from layoutalg.xegpu import LayoutAttr
        >>> coarse, fine = LayoutAttr(sg_layout=(2, 1), sg_data=(16, 16)), LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
        >>> print(coarse.completed_by(fine))
        #xegpu.layout<sg_layout = [2, 1], sg_data = [16, 16], lane_layout = [1, 16], lane_data = [1, 1]>
        """
        return self

    def how_read(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> str:
        """Which of two readings a text was given for this shape and machine, and why; empty where it has one.

        >>> la.parse("(32,8):(1,32)").how_read((16, 16))
        'threads and values: its modes are 32x8, and the tensor is 16x16'
        """
        return ""

    def read_as(self, reading: str) -> Distributed:
        """The value, read as threads and values ("tv") or as memory ("memory"), where its text may be either.

        Raises `ConversionError` for a value with one reading, and for another word.

        >>> la.parse("(32,8):(1,32)").read_as("tv").layout((16, 16))
        Layout.parse('d0 = 16@lane, d1 = 8@reg 2@lane:16')
        """
        raise ConversionError(f"read as {shown(reading)}: {self} has one reading; those of CuTe may have two")

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """The layouts of the value, for a tensor of `shape` on a `machine`; of one whole unit unless a shape is given.

        Raises `DistributionError` where the value has no layout.

        >>> from layoutalg.xegpu import LayoutAttr
        >>> LayoutAttr(lane_layout=(2, 8), lane_data=(2, 2)).operands()[0].layout
        Layout.parse('d0 = 2@lane:8 2@reg:2, d1 = 8@lane 2@reg')
        """
        raise DistributionError(f"{self} distributes nothing: expected a layout, or a value that has one")

    def coordinates(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> NDArray[Any]:
        """The coordinates that each work-item holds: an int array `[sg, lane, reg, rank]` (see `Layout.fragment_map`).

        A notation that gives coordinates where it has no exact layout says them here.

        >>> from layoutalg.xegpu import LayoutAttr
        >>> LayoutAttr(lane_layout=(2,), lane_data=(1,)).coordinates((2,)).tolist()
        [[[[0]], [[1]]]]
        """
        return single_operand(self, shape, machine).layout.fragment_map()

    def addresses(self, shape: Sequence[int] | None = None) -> NDArray[Any]:
        """Where in memory each element is: an int array of the tensor's shape.

        A notation that gives addresses where it has no exact layout says them here.

        >>> Layout.parse("d0 = 2@addr, d1 = 2@addr:2").addresses().tolist()
        [[0, 2], [1, 3]]
        """
        layout = single_operand(self, shape, None).layout
        axes = [*layout.axes]
        if len(axes) > 1:
            raise ConversionError(f"memory on the axes {', '.join(axes)}: expected one axis of addresses (in {layout})")
        if any(f.extent != 1 for f in layout.replicas):
            raise ConversionError(f"replicas in memory: expected one address for each element (in {layout})")
        return layout.owner_map((*axes, *layout.codomain)[0])

    def report(
        self,
        shape: Sequence[int] | None = None,
        machine: Machine | None = None,
        *,
        element: str = "f32",
        llvm: int = DEFAULT_LLVM,
        blocks: bool = False,
    ) -> tuple[Note, ...]:
        """What the notation says of itself beyond its layout, for a report: a compiler's verdict, the type of a fragment.

        `element` is the element type; `llvm` the version whose verdict is asked, `blocks` whether to list the blocks of each
        id, both where the notation has such a thing.

        Raises `DistributionError` where a shape is needed.

        >>> la.Layout.parse("d0 = 4@lane").report()
        ()
        >>> la.parse("#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>").report((8, 16))[0].text
        'accepts'
        """
        return Rows(self._notes(shape, machine, ReportRequest(element, llvm, blocks)))

    def _notes(self, shape: Sequence[int] | None, machine: Machine | None, asked: ReportRequest) -> tuple[Note, ...]:
        """What `report` says of a notation of this package."""
        return ()

    def heading(self) -> str:
        """What to call it above a picture of several operands.

        >>> la.dpas("f16", "f16", "f32").heading()
        'intel_sub_group_f16_f16_matrix_mad_k16'
        """
        return str(self)

    def subheading(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[str, ...]:
        """What stands under the heading of a picture of several operands: of a product its equation, and who executes it.

        >>> la.dpas("f16", "f16", "f32").subheading()[1]
        'M = 8, N = 16, K = 16 (summed over); by the 16 lanes of a subgroup'
        """
        return ()

    def picture(self, shape: Sequence[int] | None = None, **options: Unpack[PictureOptions]) -> Picture:
        """The picture of who holds what, to show in a notebook, to save, or to take apart.

        `shape` is the tensor's (one whole unit of the value unless given), `machine` what the notation leaves open.
        `direction` is "tensor" (a cell per element, with its owner) or "hardware" (a cell per register of each lane, with
        its element). `colour` is "subgroup" (one hue per subgroup, a shade per lane), "lane", "register" or "tile"; for
        layouts onto other axes, one of them. Large tensors are folded unless `full`.

        Raises `DistributionError` where there is no layout, `LayoutError` for symbols and for an unknown colour or
        direction, `SizeError` for a full picture of more than 2^24 cells.

        >>> Layout.parse("d0 = 8@reg, d1 = 16@lane").picture().save("build/c.svg")
        >>> Layout.parse("d0 = M@reg").picture()
        Traceback (most recent call last):
        layoutalg.core.errors.LayoutError: d0 = M@reg has symbols; put numbers for them with substitute() before drawing it
        """
        from layoutalg.viz.picture import picture_of

        return picture_of(self, shape, **options)

    def draw(self, shape: Sequence[int] | None = None, **options: Unpack[PictureOptions]) -> Figure:
        """The picture as a matplotlib figure, for a paper (`pip install layoutalg[viz]`); the arguments of `picture`.

        >>> Layout.parse("d0 = 8@reg, d1 = 16@lane").draw().get_size_inches().round(1).tolist()
        [6.4, 3.4]
        """
        return self.picture(shape, **options).figure()

    def _repr_html_(self) -> str | None:
        """What a notebook shows; None (the text, then) for a value without a picture."""
        try:
            return self.picture()._repr_html_()  # pyright: ignore[reportPrivateUsage]
        except LayoutError:
            return None


class Notation(Distributed):
    """What a text of any notation becomes; `str` prints its canonical text, and `parse(str(value)) == value`.

    >>> isinstance(la.parse("#xegpu.layout<lane_layout = [1, 16]>"), Notation)
    True
    """

    __slots__ = ()

    def layout(self, shape: Sequence[Extent] | None = None, machine: Machine | None = None) -> Layout:
        """The exact relation from a tensor of `shape` to the hardware, on a `machine`.

        Raises `DistributionError` where the value has no layout; `ConversionError` for a value with several operands.

        >>> la.parse("#xegpu.layout<lane_layout = [1, 16]>").layout((8, 32))
        Layout.parse('d0 = 8@reg:2, d1 = 16@lane 2@reg')
        """
        if shape is None and self.needs_shape:
            raise DistributionError(f"{self} needs a shape, such as 32x64")
        return single_operand(self, cast("Sequence[int] | None", shape), machine).layout


def single_operand(value: Distributed, shape: Sequence[int] | None, machine: Machine | None) -> Operand:
    """The one operand of a value, for a tensor of `shape` on a `machine`.

    Raises what `operands` raises, and `ConversionError` for a value with several.
    """
    try:
        found = value.operands(shape, machine)
    except DistributionError as refused:
        if shape is None:
            raise
        try:
            found = value.operands(None, machine)
        except DistributionError:
            raise refused from None
        if len(found) == 1:
            raise
    if len(found) != 1:
        names = [one.role or one.name.partition(" ")[0] for one in found]
        one = f"expected one of them (of an instruction, NAME.{names[-1]})"
        raise ConversionError(f"{value.heading()} has {len(found)} layouts ({', '.join(names)}): {one}")
    return found[0]


def sole_layout(value: object, shape: Sequence[Any] | None, machine: Machine | None, asking: str) -> Layout:
    """The layout of a value with one operand, for a function that turns it into another notation (`asking` in errors).

    Raises `ConversionError` for what is not such a value, and where a shape is missing.

    >>> sole_layout("d0 = 4@lane", None, None, "to_xegpu")
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: to_xegpu of a str: expected a Layout or a value of a notation
    """
    if not isinstance(value, Distributed):
        raise ConversionError(f"{asking} of a {type(value).__name__}: expected a Layout or a value of a notation")
    if shape is None and value.needs_shape:
        raise ConversionError(f"{value} needs a shape, such as 32x64")
    return single_operand(value, shape, as_machine(machine)).layout


def one_operand(
    name: Any, layout: Any, tile: tuple[int, ...] | None = None, *, sized: bool = False, reading: tuple[str, ...] = ()
) -> tuple[Operand, ...]:
    """The operands of a value that has one layout; `sized` if its name is to say the tensor's shape too.

    >>> [one_operand("it", Layout.parse(text), sized=True)[0].name for text in ("d0 = 4@lane", "d0 = 4@reg, d1 = 8@lane")]
    ['it, 4 elements', 'it, 4x8']
    """
    shape = "x".join(map(str, layout.shape)) + " elements" * (layout.rank == 1)
    named = f"{name}, {shape}" if sized and layout.rank else str(name)
    return (Operand(named, layout, tile, reading=reading),)


def product_operands(
    layouts: Sequence[Layout], elements: Sequence[str], sizes: Sequence[int], unit: Sequence[int] | None = None
) -> tuple[Operand, ...]:
    """The operands of a matrix product of m x n x k: A (M x K), B (K x N), C (M x N); `unit` is one instruction's m, n, k.

    >>> tile = Layout.parse("d0 = 4@reg, d1 = 4@lane")
    >>> [one.name for one in product_operands((tile, tile, tile), ("f16", "f16", "f32"), (4, 4, 4))]
    ['A  4x4xf16', 'B  4x4xf16', 'C  4x4xf32']
    """
    m, n, k = sizes if unit is None else unit
    tiles = ((m, k), (k, n), (m, n))
    return tuple(
        Operand(f"{role}  {'x'.join(map(str, layout.shape))}x{element}", layout, tile, role)
        if layout.rank == 2
        else Operand(f"{role}  {'x'.join(map(str, layout.shape))}x{element}", layout)
        for role, layout, element, tile in zip("ABC", layouts, elements, tiles, strict=True)
    )


def own_sizes(value: object, sizes: Sequence[Extent], shape: Sequence[Extent] | None) -> None:
    """Refuse a shape other than the value's own (for a product: its m, n, k).

    >>> own_sizes("a product", (8, 16, 16), (32, 32))
    Traceback (most recent call last):
    layoutalg.core.errors.DistributionError: shape 32x32: a product has sizes of its own, 8x16x16
    """
    if shape is not None and as_sizes(shape) != tuple(sizes):
        theirs, own = ("x".join(map(shown, one)) for one in (shape, sizes))
        raise DistributionError(f"shape {theirs}: {value} has sizes of its own, {own}")


def as_sizes(shape: object) -> tuple[Extent, ...]:
    """A shape as a tuple.

    Raises `LayoutError` for what is not a sequence of sizes.

    >>> as_sizes("8x16")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: shape '8x16': expected sizes, such as (32, 64)
    """
    if isinstance(shape, str) or not isinstance(shape, Iterable):
        raise LayoutError(f"shape {shown(shape)}: expected sizes, such as (32, 64)")
    try:
        sizes = tuple(islice(cast("Iterable[Extent]", shape), MOST_DIMENSIONS + 1))
    except TypeError:  # an array without dimensions
        raise LayoutError("a shape without sizes: expected sizes, such as (32, 64)") from None
    if len(sizes) > MOST_DIMENSIONS:
        raise LayoutError(f"a shape of more than {MOST_DIMENSIONS} sizes: expected sizes, such as (32, 64)")
    return tuple([size if type(size) is int else as_extent(size, "size", low=0) for size in sizes])
