"""Triton's linear layouts: where each bit of a register, lane, warp and block number moves an element's coordinates.

A linear layout has one basis per bit: a tuple over the tensor's dimensions. The element at a place is the XOR of the bases
of the bits that are set. This one has a register bit that moves along the rows and two lane bits along the columns:

>>> tile = LinearLayout(register=((1, 0),), lane=((0, 1), (0, 2)), shape=(2, 4))
>>> tile(register=1, lane=3)
(1, 3)
>>> print(tile)
#ttg.linear<{register = [[1, 0]], lane = [[0, 1], [0, 2]], warp = [], block = []}>

`LinearLayout.from_bases` takes any names of inputs and outputs. What a text means, and how it covers a larger or a smaller
tensor than its own, was asked of Triton 3.9 (tests/oracle/test_triton.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from layoutalg.core.errors import ConversionError, VerificationError
from layoutalg.core.extents import Extent
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MAX_EXTENT, MOST_DIMENSIONS
from layoutalg.core.limits import MOST_LINEAR_BITS as _MOST_BITS
from layoutalg.core.messages import shown
from layoutalg.core.notation import Machine, Notation, Operand, as_machine, one_operand
from layoutalg.core.reader import Reader
from layoutalg.core.whole_numbers import whole_numbers
from layoutalg.core.work_items import cover
from layoutalg.triton.algebra import LinearAlgebra
from layoutalg.triton.bases import trusted
from layoutalg.triton.given import Bases, Basis
from layoutalg.triton.held_elements import AXES, layout_of

__all__ = ["LinearLayout", "as_bases", "bases_text", "parse_linear_layout"]


class LinearLayout(LinearAlgebra, Notation):
    """A linear layout: named inputs with a basis for each bit, least significant first, over named outputs (see `bases`).

    Called with `register`, `lane`, `warp`, `block` and the tensor's `shape` (powers of two) it is a *distributed* layout, whose
    outputs are dim0, dim1, ..; `LinearLayout.from_bases` takes any other names. The algebra is Triton's: `*`, `compose`,
    `invert_and_compose`, `divide_left`, `sublayout`, `reshape_outs` and so on.

    Raises `VerificationError` for a shape that is not a power of two, a basis of another rank or outside the shape.

    >>> LinearLayout(register=((0, 1),), lane=((1, 0), (2, 0)), shape=(4, 2))(register=1, lane=3)
    (3, 1)
    >>> LinearLayout.from_bases([("offset", [[0, 1], [1, 1]])], ["dim0", "dim1"]).apply({"offset": 3})
    {'dim0': 1, 'dim1': 0}
    """

    __slots__ = ()

    def __init__(
        self,
        register: Sequence[Sequence[int]] = (),
        lane: Sequence[Sequence[int]] = (),
        warp: Sequence[Sequence[int]] = (),
        block: Sequence[Sequence[int]] = (),
        shape: Sequence[int] = (),
    ) -> None:
        sizes = whole_numbers(shape, "shape", 1, MAX_EXTENT)
        for d, size in enumerate(sizes):
            if size & (size - 1):
                raise VerificationError(f"linear layout: dimension {d} has size {size}, which is not a power of two")
        inputs: list[tuple[str, Bases]] = []
        for name, given in zip(AXES, (register, lane, warp, block), strict=True):
            listed: Any = given
            if not isinstance(listed, (tuple, list)) or len(cast("tuple[Any]", listed)) > _MOST_BITS:
                raise VerificationError(f"linear layout: {name}: expected a list of at most {_MOST_BITS} bases")
            bases = cast("Sequence[object]", listed)
            checked = tuple([whole_numbers(basis, f"a basis of {name}", 0, MAX_EXTENT) for basis in bases])
            for i, basis in enumerate(checked):
                if len(basis) != len(sizes) or any(b >= n for b, n in zip(basis, sizes, strict=True)):
                    raise VerificationError(
                        f"linear layout: {name} basis {i}, {list(basis)}: expected coordinates inside {list(sizes)}"
                    )
            inputs.append((name, checked))
        made = trusted(type(self), inputs, [(f"dim{d}", size) for d, size in enumerate(sizes)])
        for slot in ("_bases", "_outs", "_columns"):
            object.__setattr__(self, slot, getattr(made, slot))

    @property
    def register(self) -> Bases:
        """The bases of the register's number; none for a layout without registers.

        >>> LinearLayout(register=((1,), (2,)), shape=(4,)).register
        ((1,), (2,))
        """
        return dict(self.bases).get("register", ())

    @property
    def lane(self) -> Bases:
        """The bases of the lane's number.

        >>> LinearLayout(lane=((1,), (2,)), shape=(4,)).lane
        ((1,), (2,))
        """
        return dict(self.bases).get("lane", ())

    @property
    def warp(self) -> Bases:
        """The bases of the warp's number.

        >>> LinearLayout(lane=((1,), (2,)), shape=(4,)).warp
        ()
        """
        return dict(self.bases).get("warp", ())

    @property
    def block(self) -> Bases:
        """The bases of the number of the CTA in its cluster.

        >>> LinearLayout(block=((1,),), shape=(2,)).block
        ((1,),)
        """
        return dict(self.bases).get("block", ())

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the outputs: the tensor's shape.

        >>> LinearLayout(lane=((1,), (2,)), shape=(4,)).shape
        (4,)
        """
        return tuple([size for _, size in self.out_dims])

    @property
    def is_distributed(self) -> bool:
        """Whether the inputs are register, lane, warp and block, and the outputs dim0, dim1, ..: a tensor in registers.

        >>> LinearLayout(lane=((1,),), shape=(2,)).is_distributed, LinearLayout.identity_1d(2, "offset", "dim0").is_distributed
        (True, False)
        """
        return self.get_in_dim_names() == tuple(AXES) and self._of_tensor()

    def _of_tensor(self) -> bool:
        return self.get_out_dim_names() == tuple([f"dim{d}" for d in range(len(self.out_dims))])

    def __repr__(self) -> str:
        if not self.is_distributed:
            return super().__repr__()
        return f"LinearLayout({', '.join(f'{name}={bases}' for name, bases in self.bases)}, shape={self.shape})"

    def __str__(self) -> str:
        parts = [f"{name} = {bases_text(bases)}" for name, bases in self.bases]
        if self.is_distributed:
            return f"#ttg.linear<{{{', '.join(parts)}}}>"
        if self.get_in_dim_names() == ("offset", "block") and self._of_tensor():
            return f"#ttg.shared_linear<{{{', '.join(parts if self.block else parts[:1])}}}, alignment = 16>"
        return self.table()

    def __call__(self, register: int = 0, lane: int = 0, warp: int = 0, block: int = 0) -> Basis:
        """The element at one place: the XOR of the bases of all bits that are set.

        Raises `ConversionError` for a place that has more bits than there are bases.

        >>> LinearLayout(lane=((1,), (2,), (0,)), shape=(4,))(lane=7)
        (3,)
        """
        found = [0] * len(self.shape)
        for name, place in zip(AXES, (register, lane, warp, block), strict=True):
            bases: Bases = getattr(self, name)
            if type(place) is not int or place < 0 or place >> len(bases):
                raise ConversionError(f"{name} {shown(place)}: expected a number from 0 to {2 ** len(bases) - 1}")
            for bit, basis in enumerate(bases):
                if place >> bit & 1:
                    found = [x ^ b for x, b in zip(found, basis, strict=True)]
        return tuple(found)

    def layout(self, shape: Sequence[Extent] | None = None, machine: Machine | None = None) -> Layout:
        """The same map as a `Layout` (see `from_linear_layout`), resized to `shape`, on a `machine`.

        >>> LinearLayout(lane=((1,), (2,)), shape=(4,)).layout((8,))
        Layout.parse('d0 = 2@reg 4@lane')
        """
        found = layout_of(self if shape is None else self.resized(cast("Sequence[int]", shape)))
        return found if machine is None else cover(found, as_machine(machine), self)

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """The same map as a layout on `shape`, to draw; raises as `from_linear_layout` does.

        >>> LinearLayout(lane=((1,), (2,)), shape=(4,)).operands()[0].layout
        Layout.parse('d0 = 4@lane')
        """
        return one_operand(self, self.layout(shape, machine), sized=True)

    def resized(self, shape: Sequence[int]) -> LinearLayout:
        """The layout that Triton gives a tensor of another size: repeated over registers, or cut off.

        Dimensions grow by register bits, in the order in which registers first move them (then last dimension first). Bits
        that lead outside a smaller tensor become zero, and leave the registers.

        >>> LinearLayout(register=((0, 1),), lane=((1, 0),), shape=(2, 2)).resized((4, 4)).register
        ((0, 1), (0, 2), (2, 0))
        """
        sizes = whole_numbers(shape, "shape", 1, MAX_EXTENT)
        if len(sizes) != len(self.shape):
            raise ConversionError(f"shape {list(sizes)}: expected {len(self.shape)} dimensions")
        if sizes == self.shape:
            return self
        for d, size in enumerate(sizes):
            if size & (size - 1):
                raise ConversionError(f"linear layout: dimension {d} has size {size}, which is not a power of two")
        rank = len(sizes)
        moved = [d for basis in self.register for d in range(rank) if basis[d]]
        added: list[Basis] = []
        for d in dict.fromkeys((*moved, *range(rank - 1, -1, -1))):
            bit = self.shape[d]
            while bit < sizes[d]:
                added.append(tuple([bit if e == d else 0 for e in range(rank)]))
                bit *= 2
        cut = {name: [_inside(basis, sizes) for basis in getattr(self, name)] for name in AXES}
        kept = [new for new, old in zip(cut["register"], self.register, strict=True) if new == old or any(new)]
        return LinearLayout((*kept, *added), tuple(cut["lane"]), tuple(cut["warp"]), tuple(cut["block"]), sizes)

    def arguments(self) -> tuple[list[tuple[str, list[list[int]]]], list[str], list[int], bool]:
        """What Triton's own `LinearLayout.from_bases(*arguments)` takes: bases, names and sizes of the dimensions.

        >>> LinearLayout(lane=((1,),), shape=(2,)).arguments()[0]
        [('register', []), ('lane', [[1]]), ('warp', []), ('block', [])]
        """
        bases = [(name, [list(basis) for basis in one]) for name, one in self.bases]
        return bases, list(self.get_out_dim_names()), list(self.shape), False


def as_bases(value: object) -> LinearLayout:
    """The linear layout that an object of Triton's own is: `triton.tools.LinearLayout`, or what Gluon's builder answers.

    Objects are recognised by their fields; triton is not imported. Ours are returned as they are.

    Raises `ConversionError` for anything else, and for fields that make no layout.

    >>> from types import SimpleNamespace
    >>> as_bases(SimpleNamespace(bases=[("lane", [[1], [2]])], out_dims=[("dim0", 4)]))
    LinearLayout.from_bases([('lane', [[1], [2]])], ['dim0'])
    >>> as_bases("d0 = 4@lane")
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: 'd0 = 4@lane' of type str: expected a LinearLayout, of layoutalg or of triton.tools
    """
    if isinstance(value, LinearLayout):
        return value
    given: Any = value
    if hasattr(given, "bases") and hasattr(given, "out_dims"):
        outs = cast("list[tuple[str, int]]", list(given.out_dims))
        return LinearLayout.from_bases(given.bases, [name for name, _ in outs], [size for _, size in outs], False)
    fields = ("reg_bases", "lane_bases", "warp_bases", "block_bases")
    if all(hasattr(given, name) for name in (*fields, "shape")):
        register, lane, warp, block = [list(getattr(given, name)) for name in fields]
        return LinearLayout(register, lane, warp, block, tuple(given.shape))
    if hasattr(given, "offset_bases") and hasattr(given, "block_bases"):
        every = [*given.offset_bases, *given.block_bases]
        names = [f"dim{d}" for d in range(len(every[0]))] if every else []
        return LinearLayout.from_bases([("offset", given.offset_bases), ("block", given.block_bases)], names)
    raise ConversionError(
        f"{shown(given)} of type {type(given).__name__}: expected a LinearLayout, of layoutalg or of triton.tools"
    )


def parse_linear_layout(text: str, shape: Sequence[int] | None = None) -> LinearLayout:
    """Read `#ttg.linear<{register = [[0, 1]], lane = [...], warp = [...], block = [...]}>` (or `#triton_gpu.linear`).

    Without `shape`, each dimension reaches as far as its bases do, as Triton has it; a text without any basis needs one.

    Raises `ParseError` with line and column.

    >>> parse_linear_layout("#ttg.linear<{register = [], lane = [[1], [2]], warp = [], block = []}>").shape
    (4,)
    """
    reader = Reader(text)
    value = read_linear_layout(reader, shape)
    reader.finish()
    return value


def read_linear_layout(reader: Reader, shape: Sequence[int] | None = None) -> LinearLayout:
    """Read one such attribute and leave the reader behind it."""
    start = reader.skip()
    if not (reader.accept("#ttg.linear") or reader.accept("#triton_gpu.linear")):
        reader.fail("'#ttg.linear'")
    reader.expect("<")
    reader.expect("{")
    found: dict[str, Bases] = {}
    while not reader.accept("}"):
        if found:
            reader.expect(",")
        at = reader.skip()
        name = reader.one_of(tuple(AXES))
        if name in found:
            reader.fail("each name once", f"found {name!r} again", at=at)
        reader.expect("=")
        found[name] = _read_bases(reader)
    reader.expect(">")
    every = [basis for bases in found.values() for basis in bases]
    if len({len(basis) for basis in every}) > 1:
        reader.fail("bases of one rank", "found several", at=start)
    if shape is None and not every:
        reader.fail("a basis, or the tensor's shape beside the text", "found no basis", at=start)
    sizes = None if shape is None else whole_numbers(shape, "shape", 1, MAX_EXTENT)
    reach = tuple(1 << max(column).bit_length() for column in zip(*every, strict=True))
    if sizes is None:
        return LinearLayout(**found, shape=reach)
    return LinearLayout(**found, shape=reach if every else (1,) * len(sizes)).resized(sizes)


def _read_bases(reader: Reader) -> Bases:
    reader.expect("[")
    bases: list[Basis] = []
    while not reader.accept("]"):
        if bases:
            reader.expect(",")
        if len(bases) == _MOST_BITS:
            reader.fail(f"at most {_MOST_BITS} bases")
        bases.append(reader.integers(0, MAX_EXTENT // 2, MOST_DIMENSIONS))
    return tuple(bases)


def _inside(basis: Basis, sizes: Sequence[int]) -> Basis:
    """A basis without what leads outside a smaller tensor."""
    return tuple([b if b < n else 0 for b, n in zip(basis, sizes, strict=True)])


def bases_text(bases: Bases) -> str:
    """Bases as Triton prints them.

    >>> bases_text(((0, 1), (2, 0)))
    '[[0, 1], [2, 0]]'
    """
    return f"[{', '.join(str(list(basis)) for basis in bases)}]"
