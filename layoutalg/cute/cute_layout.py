"""CuTe's layouts: a nested shape and a nested stride of the same form, and the index that a coordinate gets.

CuTe counts the **first** mode fastest, and inside a nested mode the first factor fastest: the reverse of ours. A memory layout
has one mode per dimension; a 4 x 6 tile in two blocks of three columns, each row-major, is

>>> tile = Layout.parse("d0 = 4@addr:3, d1 = 2@addr:12 3@addr")
>>> print(to_cute(tile))
(4,(3,2)):(3,(1,12))
>>> to_cute(tile)(1, 4), tile.owners((1, 4))
(16, [(16,)])

A layout on the machine becomes a thread-value layout, as CuTe writes the operands of its MMA atoms: mode 0 is the thread
(lane factors, then subgroup factors), mode 1 the value (registers), and the index is the element's column-major position in
the tile, `row + rows * column`. Threads that hold the same data have stride 0. The accumulator of SM80's 16x8 MMA:

>>> c = Layout.parse("d0 = 2@reg:2 8@lane:4, d1 = 4@lane 2@reg")
>>> print(to_cute(c))
((4,8),(2,2)):((32,1),(16,8))
>>> from_cute(to_cute(c)) == c
True

The text does not say which tile it means, nor how many threads a subgroup has: `tile` and `subgroup_size` do, and stand
beside it in the value. A swizzled memory layout is `Sw<bits,base,shift> o offset o shape:stride`, where the offset is added
before the swizzle. CuTe itself has no word for a plain offset, for replicas of memory, or for several elements in one place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn, cast

from layoutalg.core.errors import ConversionError, DistributionError, LayoutError, SizeError, VerificationError
from layoutalg.core.extents import Extent
from layoutalg.core.factors import Factor, XorFactor, as_name
from layoutalg.core.layout import MACHINE, Layout
from layoutalg.core.lazy import imported
from layoutalg.core.limits import MAX_ENTRIES, MAX_EXTENT, MAX_START
from layoutalg.core.limits import MOST_CUTE_STRIDE as _MOST_STRIDE
from layoutalg.core.messages import number_text, shown
from layoutalg.core.notation import (
    Machine,
    Notation,
    Note,
    Operand,
    ReportRequest,
    as_machine,
    as_sizes,
    one_operand,
    own_sizes,
)
from layoutalg.core.whole_numbers import found_whole, whole_numbers
from layoutalg.core.work_items import cover
from layoutalg.cute.bases import ScaledBasis, Stride
from layoutalg.cute.in_words import innermost, layout_in_words
from layoutalg.cute.nested_tuples import (
    IntTuple,
    StrideTuple,
    check_form,
    index_of,
    leaves_of,
    mode_of,
    plain_leaves,
    tuple_text,
)  # fmt: skip
from layoutalg.cute.thread_values import from_thread_values, thread_values
from layoutalg.cute.two_readings import Reading, checked_reading, reading_of, suggested_tile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from layoutalg.core.swizzle import Swizzle

__all__ = ["CuteLayout", "from_cute", "to_cute"]


@dataclass(frozen=True, slots=True)
class CuteLayout(Notation):
    """`shape:stride`, and what stands beside it: a swizzle with its offset, or the tile of a thread-value layout.

    A stride may be negative, or a `ScaledBasis` such as `1@0` (then the layout's values are coordinates); such a layout has
    values and an algebra, and no addresses.

    Raises `VerificationError` where shape and stride are not of one form, and for an extent below 1.

    >>> CuteLayout(((4, 8), 2), ((32, 1), 16))(5)
    33
    """

    shape: IntTuple
    stride: StrideTuple
    swizzle: tuple[int, int, int] | None = None
    """Bits, base and shift: how CuTe's Swizzle<bits, base, shift> changes the index."""
    offset: int = 0
    """Added to the index before the swizzle."""
    tile: tuple[int, ...] | None = None
    """The shape of the tile that a thread-value layout indexes, column-major."""
    subgroup_size: int | None = None
    """Threads per subgroup of a thread-value layout; unless given, all threads are one subgroup."""
    reading: str | None = field(default=None, repr=False)
    """How it was said to be read: "tv" (threads and values) or "memory"; unless said, `two_readings` decides."""

    def __post_init__(self) -> None:
        check_form(self.shape, self.stride, 0, 0)
        if self.swizzle is not None:
            bits, base, shift = whole_numbers(self.swizzle, "swizzle", -62, 62, 3)
            object.__setattr__(self, "swizzle", (bits, base, shift))
            if bits < 0 or base < 0 or abs(shift) < bits:
                raise VerificationError(f"Sw<{bits},{base},{shift}>: expected bits >= 0, base >= 0, |shift| >= bits")
            if not all(type(s) is int for _, s in leaves_of(self.shape, self.stride)):
                raise VerificationError(
                    f"Sw<{bits},{base},{shift}> of {tuple_text(self.stride)}: coordinates have no bits"
                )
        if (
            type(self.offset) is not int
            or not 0 <= self.offset <= _MOST_STRIDE
            or (self.offset and self.swizzle is None)
        ):
            raise VerificationError(f"offset {shown(self.offset)}: expected a whole number, and 0 without a swizzle")
        if self.tile is not None:
            object.__setattr__(self, "tile", whole_numbers(self.tile, "tile", 1, MAX_EXTENT))
        if self.subgroup_size is not None:
            whole_numbers((self.subgroup_size,), "subgroup_size", 1, MAX_EXTENT)
        object.__setattr__(self, "reading", checked_reading(self.reading))

    def __repr__(self) -> str:
        beside = [(name, getattr(self, name)) for name in ("swizzle", "offset", "tile", "subgroup_size")]
        said = [f", {name}={value}" for name, value in beside if value not in (None, 0)]
        return f"CuteLayout({self.shape!r}, {self.stride!r}{''.join(said)})"

    def __str__(self) -> str:
        text = f"{tuple_text(self.shape)}:{tuple_text(self.stride)}"
        return text if self.swizzle is None else f"Sw<{','.join(map(str, self.swizzle))}> o {self.offset} o {text}"

    def text(self, style: str = "c++") -> str:
        """The layout as C++, Python or MLIR prints it (`style` "c++", "python" or "mlir"); `str` prints it without types.

        >>> CuteLayout((4, 2), (1, -4)).text(), CuteLayout((4, 2), (1, 4)).text("mlir")
        ('(_4,_2):(_1,_-4)', '!cute.layout<"(4,2):(1,4)">')
        """
        return imported("layoutalg.cute.printing").text(self, style)

    def __call__(self, *coordinate: IntTuple) -> Any:
        """The index of a coordinate: one number that counts column-major, or one per mode (numbers or tuples again).

        Where strides are `ScaledBasis`, the value is a coordinate: a tuple.

        Raises `ConversionError` for a coordinate outside the shape or not of its form.

        >>> layout = CuteLayout((4, (3, 2)), (3, (1, 12)))
        >>> layout(17), layout(1, 4), layout(1, (1, 1))
        (16, 16, 16)
        """
        given = coordinate[0] if len(coordinate) == 1 else coordinate
        found = index_of(given, self.shape, self.stride)
        return found if self.swizzle is None else self._swizzled(self.offset + cast("int", found))

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """The same map as a layout; raises as `from_cute` does.

        Without a tile it is memory, unless `shape` is another than its own or a `machine` is named: then its modes are the
        threads and values of a tile of that shape. `how_read` says which and why, `read_as` decides.

        >>> CuteLayout((16, 8), (8, 1), tile=(8, 16)).operands()[0].layout
        Layout.parse('d0 = 8@reg, d1 = 16@lane')
        """
        named = as_machine(machine).lanes
        found: Layout | None = None
        if self._reading(shape, machine).kind == "tv":
            # Fewer threads than a subgroup has are lanes of one, and `cover` gives the other lanes copies.
            split = named is not None and self.subgroup_size is None and named < self._threads
            tile = as_sizes(shape) if self.tile is None and shape is not None else self.tile
            if tile is None:
                count = "x".join(map(str, suggested_tile(self)))
                raise DistributionError(f"{self} as threads and values needs its tile, such as {count}")
            found = from_cute(self, cast("Sequence[int]", tile), named if split else None)
        else:
            found = self._memory()
        own_sizes(self, found.shape, shape)
        if machine is not None and set(found.axes) & set(MACHINE):
            found = cover(found, as_machine(machine), self)
        told = layout_in_words(self.shape, self.stride, self.swizzle) if found.codomain == ("addr",) else ()
        return one_operand(self, found, innermost(self.shape) if told else None, reading=told)

    def _reading(self, shape: Sequence[int] | None, machine: Machine | None) -> Reading:
        sizes = None if shape is None else as_sizes(shape)
        return reading_of(self, sizes, as_machine(machine).lanes is not None)

    def how_read(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> str:
        """Memory, or threads and values, and why; empty beside a tile.

        >>> CuteLayout((4, (3, 2)), (3, (1, 12))).how_read()
        'memory: mode 0 has 4 elements, and no instruction has as many threads'
        """
        return "" if self.tile is not None else str(self._reading(shape, machine))

    def read_as(self, reading: str) -> CuteLayout:
        """The layout, read as threads and values ("tv") or as memory ("memory").

        >>> CuteLayout((32, 8), (1, 32)).read_as("tv").layout((16, 16))
        Layout.parse('d0 = 16@lane, d1 = 8@reg 2@lane:16')
        """
        if checked_reading(reading) == "memory" and self.tile is not None:
            raise ConversionError(f"read as 'memory': {self} has the tile {list(self.tile)} beside it")
        return replace(self, reading=reading)

    @property
    def needs_shape(self) -> bool:
        """Whether it is threads and values of a tile that was not said.

        >>> CuteLayout((32, 8), (1, 32)).needs_shape, CuteLayout((32, 8), (1, 32), reading="tv").needs_shape
        (False, True)
        """
        return self.reading == "tv" and self.tile is None

    def _memory(self) -> Layout:
        """The layout of memory; raises `DistributionError` for a swizzle that has no factors."""
        try:
            return from_cute(self)
        except ConversionError as error:
            raise DistributionError(str(error)) from None

    def tensor_shape(self) -> tuple[Extent, ...]:
        """The size of the tile, or of each mode.

        >>> CuteLayout((4, (3, 2)), (3, (1, 12))).tensor_shape()
        (4, 6)
        """
        return self.tile or tuple(prod([n for n, _ in leaves_of(*mode)]) for mode in _modes(self))

    def addresses(self, shape: Sequence[int] | None = None) -> NDArray[Any]:
        """The index of each element of memory: an int array with a dimension for each mode, also where no factors say it.

        >>> CuteLayout((2, 6), (6, 1), swizzle=(1, 0, 1)).addresses().tolist()
        [[0, 1, 3, 2, 4, 5], [7, 6, 8, 9, 11, 10]]
        """
        import numpy as np

        if self.tile is not None:
            return super(CuteLayout, self).addresses(shape)
        sizes: Any = self.tensor_shape()
        own_sizes(self, sizes, shape)
        if prod(sizes) > MAX_ENTRIES or self.cosize > MAX_START:
            raise SizeError(
                f"{self}: {number_text(prod(sizes))} indices up to {number_text(self.cosize - 1)}, "
                "over the limit of 2^28, up to 2^62"
            )
        index: Any = np.full((1,) * len(sizes), self.offset, np.int64)
        for d, mode in enumerate(_modes(self)):
            along: Any = np.zeros(1, np.int64)
            for n, s in plain_leaves(*mode, self):
                along = (np.arange(n)[:, None] * s + along).reshape(-1)
            index = index + along.reshape([-1 if i == d else 1 for i in range(len(sizes))])
        return self._swizzled(index)

    def _swizzled(self, index: Any) -> Any:
        """An index after the swizzle; of a whole number or an array."""
        if self.swizzle is None:
            return index
        bits, base, shift = self.swizzle
        high = index >> (base + max(0, shift)) & ((1 << bits) - 1)
        return index ^ high << (base - min(0, shift))

    def _notes(self, shape: Sequence[int] | None, machine: Machine | None, asked: ReportRequest) -> tuple[Note, ...]:
        """How it was read, and the swizzle in words: it explains the layout, and memory that has none."""
        read = self._reading(shape, machine)
        kind = {"as": read.kind, "why": read.why, "open": read.is_open}
        how = () if self.tile is not None else (Note("read as", str(read), "reading", kind),)
        if self.swizzle is None or self.tile is not None:
            return how
        bits, base, shift = self.swizzle
        moved = f"(addr >> {shift}) & {((1 << bits) - 1) << base:#x}"
        if shift < 0:
            moved = f"(addr << {-shift}) & {((1 << bits) - 1) << base - shift:#x}"
        value = {"axis": "addr", "bits": bits, "base": base, "shift": shift}
        return (
            *how,
            Note("swizzle", f"addr ^ ({moved})", "swizzle", value, instead=True),
        )

    @property
    def _threads(self) -> int:
        """How many threads there are, where the first mode counts them."""
        return prod([n for mode in _modes(self)[:1] for n, _ in leaves_of(*mode)])

    @property
    def needs_machine(self) -> bool:
        """Whether no tile is named: beside a layout on a machine, its modes are then threads and values.

        >>> CuteLayout((16, 8), (8, 1)).needs_machine, CuteLayout((16, 8), (8, 1), tile=(8, 16)).needs_machine
        (True, False)
        """
        return self.tile is None and self.reading != "memory"

    @property
    def size(self) -> int:
        """The number of coordinates.

        >>> CuteLayout((4, (3, 2)), (3, (1, 12))).size
        24
        """
        return prod(n for n, _ in leaves_of(self.shape, self.stride))

    @property
    def cosize(self) -> int:
        """One more than the largest index (before the swizzle), where the strides count as positive, as in CuTe.

        Raises `ConversionError` for a layout of coordinates.

        >>> CuteLayout((4, 2), (1, 8)).cosize
        12
        """
        leaves = leaves_of(self.shape, self.stride)
        if not all(isinstance(s, int) for _, s in leaves):
            raise ConversionError(f"cosize of {self}: its values are coordinates, and one number does not bound them")
        return self.offset + 1 + sum((n - 1) * abs(cast("int", s)) for n, s in leaves)


def to_cute(layout: Layout, subgroup_size: int | None = None) -> CuteLayout:
    """CuTe's form of a layout: of memory (perhaps swizzled) per dimension, of one on the machine by threads and values.

    `subgroup_size`, where given, must be the layout's number of lanes.

    Raises `ConversionError` naming the factor that CuTe has no counterpart for.

    >>> print(to_cute(Layout.parse("d0 = 8@reg, d1 = 16@lane")))
    (16,8):(8,1)
    >>> to_cute(Layout.parse("d0 = 4@addr | offset 8@addr"))
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: it starts at an offset of 8 along addr, and a CuTe layout maps 0 to 0 (in d0 =
    4@addr | offset 8@addr)
    """
    if not isinstance(layout, Layout):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConversionError(f"to_cute of a {type(layout).__name__}: expected a Layout")
    form = layout.canonical()
    if form.flips is not None:
        return _swizzled_memory(form, subgroup_size)
    axes: set[str | None] = {f.axis for factors in (*form.dims, form.replicas) for f in factors}
    if form.offsets or any(form.origins):
        start = next((f"{o} along {a}" for a, o in form.offsets.items()), f"{form.origins} in the tensor")
        _refuse(layout, f"it starts at an offset of {start}, and a CuTe layout maps 0 to 0")
    for d, factors in enumerate((*form.dims, form.replicas)):
        for factor in factors:
            if type(factor.extent) is not int or type(factor.stride) is not int:
                where = form.names[d] if d < form.rank else "replicas"
                _refuse(layout, f"{where}: {factor} is symbolic, and a number is needed")
    if axes & set(MACHINE) or not axes:
        return _thread_values(layout, subgroup_size)
    return _memory(layout, subgroup_size)


def _memory(layout: Layout, subgroup_size: int | None = None) -> CuteLayout:
    """The layout of memory, a mode per dimension."""
    form = layout.canonical()
    axes: set[str | None] = {f.axis for factors in (*form.dims, form.replicas) for f in factors}
    if subgroup_size is not None:
        _refuse(layout, f"a subgroup of {shown(subgroup_size)} was asked for, and it is a layout of memory")
    if len(axes - {None}) > 1:
        names = ", ".join(sorted(a for a in axes if a is not None))
        _refuse(layout, f"it moves along {names}, and a CuTe layout has one index")
    if form.replicas:
        _refuse(layout, f"replica {form.replicas[0]}: a CuTe layout gives each coordinate one index")
    modes = [mode_of([(f.extent, f.stride) for f in reversed(factors)]) for factors in form.dims]
    return CuteLayout(tuple([m[0] for m in modes]), tuple([m[1] for m in modes]))


def _swizzled_memory(layout: Layout, subgroup_size: int | None) -> CuteLayout:
    """`Sw<...> o offset o shape:stride` of memory with XOR: the swizzle that undoes it is the one that made it."""
    from layoutalg.core.swizzle import swizzled

    axes = [*layout.axes]
    if len(axes) != 1 or set(axes) & set(MACHINE):
        layout.require_strides("a CuTe layout without a swizzle")
    for swizzle in _swizzles(layout):
        try:
            plain = swizzled(layout, swizzle, axes[0])
        except LayoutError:
            continue
        start = plain.offsets.get(axes[0], 0)
        if plain.flips is None and 0 <= start <= _MOST_STRIDE and not any(plain.origins):
            found = _memory(Layout(plain.dims, plain.replicas, names=plain.names), subgroup_size)
            return CuteLayout(found.shape, found.stride, (swizzle.bits, swizzle.base, swizzle.shift), start)
    raise ConversionError(f"no swizzle of CuTe, Sw<bits,base,shift>, makes it of strides alone (in {layout})")


def _swizzles(layout: Layout) -> Iterator[Swizzle]:
    """The swizzles that may have made a layout: what is XORed together says the shift."""
    from layoutalg.core.swizzle import Swizzle

    pairs = [
        (factor.places[0][1], factor.places[1][1])
        for factors in (*layout.dims, layout.replicas)
        for factor in factors
        if isinstance(factor, XorFactor) and len(factor.places) == 2
    ]
    for _, weight in layout.flips or ():  # a constant bit of the offset flips what it is XORed onto
        start = sum(layout.offsets.values())
        pairs += [(weight, 1 << bit) for bit in range(start.bit_length()) if start >> bit & 1 and 1 << bit > weight]
    shifts: dict[int, list[int]] = {}
    for low, high in pairs:
        if not (low & (low - 1) or high & (high - 1)):
            shifts.setdefault(high.bit_length() - low.bit_length(), []).append(low.bit_length() - 1)
    for shift, lows in shifts.items():
        base, bits = min(lows), max(lows) - min(lows) + 1
        if bits <= shift:
            yield Swizzle(bits, base, shift)


def _thread_values(layout: Layout, subgroup_size: int | None) -> CuteLayout:
    """The thread-value layout of a map onto the machine."""
    factors = thread_values(layout)
    lanes = prod([n for n, _ in factors.lane])
    if subgroup_size is not None and found_whole(subgroup_size) != lanes:
        _refuse(layout, f"it has {number_text(lanes)} lanes, and a subgroup of {shown(subgroup_size)} was asked for")
    threads, values = mode_of([*factors.lane, *factors.sg]), mode_of(factors.reg)
    return CuteLayout((threads[0], values[0]), (threads[1], values[1]), tile=layout.shape, subgroup_size=lanes)


def from_cute(
    cute: CuteLayout,
    tile: Sequence[int] | None = None,
    subgroup_size: int | None = None,
    axis: str = "addr",
) -> Layout:
    """The layout that a CuTe layout is: thread-value where there is a tile (given, or in the value), else memory on `axis`.

    Unless `subgroup_size` is given or in the value, all threads are lanes of one subgroup.

    Raises `VerificationError` for a wrong tile; `ConversionError` where a thread-value layout leaves elements of the
    tile out or gives one to two places, unless by a stride of 0, where its factors have no closed form in the tile, and where
    the bits that a swizzle reads or changes are no digits of the layout.

    >>> print(from_cute(la.parse_cute("((4,8),(2,2)):((32,1),(16,8))"), tile=(16, 8)))
    d0 = 2@reg:2 8@lane:4, d1 = 4@lane 2@reg
    >>> print(from_cute(la.parse_cute("(4,(3,2)):(3,(1,12))")))
    d0 = 4@addr:3, d1 = 2@addr:12 3@addr
    """
    if not isinstance(cute, CuteLayout):  # pyright: ignore[reportUnnecessaryIsInstance]
        objects = imported("layoutalg.cute.objects")
        if not objects.is_cute_object(cute):
            raise ConversionError(f"from_cute of a {type(cute).__name__}: expected a CuteLayout")
        cute = objects.layout_of(cute)
    sizes = cute.tile if tile is None else whole_numbers(tile, "tile", 1, MAX_EXTENT)
    if sizes is not None:
        if cute.swizzle is not None:
            raise ConversionError(f"{cute}: a swizzled thread-value layout has no factors and strides")
        return _from_thread_values(cute, sizes, cute.subgroup_size if subgroup_size is None else subgroup_size)
    if subgroup_size is not None:
        raise ConversionError(f"{cute}: a subgroup_size, and no tile that threads and values would index")
    axis = as_name(axis, "axis")
    modes = _modes(cute)
    dims = [[_memory_factor(n, s, axis, cute) for n, s in reversed(leaves_of(*m))] for m in modes]
    if any(f.axis not in (None, axis) for factors in dims for f in factors):
        return Layout(dims).canonical()
    layout = Layout(dims, offsets={axis: cute.offset}).canonical()
    if cute.swizzle is None or not cute.swizzle[0]:
        return layout
    from layoutalg.core.swizzle import Swizzle, swizzled

    bits, base, shift = cute.swizzle
    if shift < 0:
        raise ConversionError(f"{cute}: a swizzle that moves low bits onto high ones (shift {shift}) is not supported")
    try:
        return swizzled(layout, Swizzle(bits, base, shift), axis) if axis in layout.codomain else layout
    except LayoutError as error:
        raise ConversionError(f"{cute}: {error}") from None


def _memory_factor(extent: int, stride: Stride, axis: str, cute: CuteLayout) -> Factor:
    """One factor of memory, or of a coordinate: its mode k is the axis `mode_k`."""
    if isinstance(stride, int) and stride >= 0:
        return Factor(extent, stride, axis) if stride else Factor(extent)
    if isinstance(stride, ScaledBasis) and stride.value > 0:
        return Factor(extent, stride.value, "_".join(map(str, ("mode", *stride.mode))))
    plain_leaves(extent, stride, cute)
    raise ConversionError(f"{cute}: factor {extent}:{stride} is not of memory")


def _from_thread_values(cute: CuteLayout, tile: tuple[int, ...], subgroup_size: int | None) -> Layout:
    modes = _modes(cute)
    if len(modes) != 2:
        raise ConversionError(f"{cute}: expected two modes, threads and values, got {len(modes)}")
    if subgroup_size is not None:
        whole_numbers((subgroup_size,), "subgroup_size", 1, MAX_EXTENT)
    try:
        threads, values = (plain_leaves(*mode, cute) for mode in modes)
        return from_thread_values(threads, values, tile, subgroup_size)
    except ConversionError as error:
        raise ConversionError(f"{error} (in {cute})") from None


def _modes(cute: CuteLayout) -> list[tuple[IntTuple, StrideTuple]]:
    if not isinstance(cute.shape, tuple) or not isinstance(cute.stride, tuple):
        return [(cute.shape, cute.stride)]
    return list(zip(cute.shape, cute.stride, strict=True))


def _refuse(layout: Layout, problem: str) -> NoReturn:
    raise ConversionError(f"{problem} (in {layout})")
