"""Writing the body of a kernel one operation at a time: values with their shape, element type and layout.

>>> body = KernelBody("workgroup")
>>> x = body.load("f32", (16, 32), LayoutAttr(sg_layout=(2, 2), sg_data=(8, 16)))
>>> y = body.elementwise("math.exp", x)
>>> body.store(y)
>>> print(body.lines[-1])
xegpu.store_nd %v1, %t1[%c0, %c0] <{layout = #xegpu.layout<sg_layout = [2, 2], sg_data = [8, 16]>}> : \
vector<16x32xf32>, !xegpu.tensor_desc<16x32xf32, #xegpu.layout<sg_layout = [2, 2], sg_data = [8, 16]>>

At workgroup level every operation says the layout of its result; at the plain level only loads and stores may.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from layoutalg.side.conformance.kinds import BITS
from layoutalg.xegpu import LayoutAttr, SliceAttr

__all__ = ["KernelBody", "KernelValue", "Spread", "vector_type"]

_LEAST_ROW = 64
"""Bytes of a row in memory that a block message takes."""
Spread = LayoutAttr | SliceAttr
"""A layout of XeGPU."""


def vector_type(shape: Sequence[int], element: str) -> str:
    """The text of a vector's type."""
    return f"vector<{'x'.join(map(str, (*shape, element)))}>"


@dataclass(frozen=True, slots=True)
class KernelValue:
    """A distributed value: its name, shape, element type, and layout (None where nothing is said).

    >>> KernelValue("%v0", (8, 16), "f32", None).type
    'vector<8x16xf32>'
    """

    name: str
    shape: tuple[int, ...]
    element: str
    layout: Spread | None

    @property
    def type(self) -> str:
        """The text of its type."""
        return vector_type(self.shape, self.element)


@dataclass
class KernelBody:
    """Lines of a kernel and its arguments: each `load` and `store` adds one, and only the last one is written."""

    level: str
    lines: list[str] = field(default_factory=lambda: ["%c0 = arith.constant 0 : index"])
    arguments: list[tuple[str, tuple[int, ...]]] = field(default_factory=list[tuple[str, tuple[int, ...]]])
    count: int = 0
    anchored: bool = True
    """Whether loads and stores say their layout at the plain level."""
    sparse: bool = False
    """Whether only loads and stores say their layout at workgroup level."""

    def add(self, *lines: str) -> None:
        """Add lines."""
        self.lines.extend(lines)

    def new(self, shape: Sequence[int], element: str, layout: Spread | None) -> KernelValue:
        """A value with a fresh name."""
        value = KernelValue(f"%v{self.count}", tuple(shape), element, layout)
        self.count += 1
        return value

    def attribute(self, layout: Spread | None, name: str = "layout_result_0") -> str:
        """The dictionary that says a result's layout; empty at the plain level."""
        return "" if layout is None or self.level == "plain" or self.sparse else f" {{{name} = {layout}}}"

    def argument(self, element: str, shape: Sequence[int]) -> int:
        """A further argument; its number."""
        self.arguments.append((element, tuple(shape)))
        return len(self.arguments) - 1

    def descriptor(
        self, element: str, shape: Sequence[int], layout: Spread | None, matrix: Sequence[int] | None = None
    ) -> tuple[str, str]:
        """A descriptor of a whole new argument (or of a tile of a larger `matrix`): its name and type.

        Block messages want rows of at least 64 bytes, so an argument may be wider than its tile.
        """
        whole = tuple(shape if matrix is None else matrix)
        least = _LEAST_ROW * 8 // BITS[element]
        if len(whole) == 2 and whole[1] < least:
            whole = (whole[0], least)
        number = self.argument(element, whole)
        said = "" if layout is None or self.level == "plain" else f", {layout}"
        kind = f"!xegpu.tensor_desc<{'x'.join(map(str, (*shape, element)))}{said}>"
        strides = [prod(whole[dim + 1 :]) for dim in range(len(whole))]
        self.add(
            f"%t{number} = xegpu.create_nd_tdesc %p{number}, shape : {list(whole)}, strides : {strides} : i64 -> {kind}"
        )
        return f"%t{number}", kind

    def _anchor(self, layout: Spread | None) -> str:
        said = layout is not None and (self.level != "plain" or self.anchored)
        return f" <{{layout = {layout}}}>" if said else ""

    def load(
        self,
        element: str,
        shape: Sequence[int],
        layout: Spread | None,
        *,
        at: str = "",
        of: tuple[str, str] | None = None,
    ) -> KernelValue:
        """Load a new argument whole, or a tile `at` a place of the descriptor `of`."""
        name, kind = of or self.descriptor(element, shape, layout)
        value = self.new(shape, element, layout)
        where = at or ", ".join(["%c0"] * len(value.shape))
        self.add(f"{value.name} = xegpu.load_nd {name}[{where}]{self._anchor(layout)} : {kind} -> {value.type}")
        return value

    def store(self, value: KernelValue, layout: Spread | None = None) -> None:
        """Store a value into a new argument, in its own layout unless one is given."""
        said = layout or value.layout
        name, kind = self.descriptor(value.element, value.shape, said)
        where = ", ".join(["%c0"] * len(value.shape))
        self.add(f"xegpu.store_nd {value.name}, {name}[{where}]{self._anchor(said)} : {value.type}, {kind}")

    def constant(self, shape: Sequence[int], element: str, text: str, layout: Spread | None) -> KernelValue:
        """A constant that is the same everywhere."""
        value = self.new(shape, element, layout)
        self.add(f"{value.name} = arith.constant{self.attribute(layout)} dense<{text}> : {value.type}")
        return value

    def elementwise(self, operation: str, *operands: KernelValue, layout: Spread | None = None) -> KernelValue:
        """An operation whose operands and result have one type."""
        first = operands[0]
        value = self.new(first.shape, first.element, layout or first.layout)
        names = ", ".join(operand.name for operand in operands)
        self.add(f"{value.name} = {operation} {names}{self.attribute(value.layout)} : {first.type}")
        return value

    def cast(
        self,
        operation: str,
        value: KernelValue,
        element: str,
        *,
        shape: Sequence[int] = (),
        layout: Spread | None = None,
    ) -> KernelValue:
        """An operation written `a : type to type`."""
        made = self.new(shape or value.shape, element, layout or value.layout)
        self.add(f"{made.name} = {operation} {value.name}{self.attribute(made.layout)} : {value.type} to {made.type}")
        return made

    def reduce(
        self, value: KernelValue, dims: Sequence[int], how: str, start: str, layout: Spread | None
    ) -> KernelValue:
        """`vector.multi_reduction` over dimensions, with a constant to begin with."""
        shape = [extent for dim, extent in enumerate(value.shape) if dim not in dims]
        if not shape:
            first = f"%s{self.count}"
            self.add(f"{first} = arith.constant {start} : {value.element}")
            made = self.new((), value.element, None)
            kind = value.element
        else:
            made_from = self.constant(shape, value.element, start, layout)
            first, kind = made_from.name, made_from.type
            made = self.new(shape, value.element, layout)
        over = ", ".join(map(str, dims))
        self.add(
            f"{made.name} = vector.multi_reduction <{how}>, {value.name}, {first}{self.attribute(layout)} "
            f"[{over}] : {value.type} to {kind}"
        )
        return made

    def module(self, name: str, subgroups: int = 1) -> str:
        """The text of the module.

        >>> print(KernelBody("plain").module("nothing"))
        gpu.module @nothing {
        gpu.func @nothing() kernel attributes {known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32} {
        %c0 = arith.constant 0 : index
        gpu.return
        }
        }
        <BLANKLINE>
        """
        names = ", ".join(f"%p{number}: i64" for number in range(len(self.arguments)))
        head = f"known_block_size = array<i32: {16 * subgroups}, 1, 1>, intel_reqd_sub_group_size = 16 : i32"
        lines = "\n".join(self.lines)
        function = f"gpu.func @{name}({names}) kernel attributes {{{head}}} {{\n{lines}\ngpu.return\n}}"
        return f"gpu.module @{name} {{\n{function}\n}}\n"
