"""Where in memory the elements of a tensor lie, in elements: layouts and swizzles as one table of addresses.

A 2 x 4 tile stored by columns:

>>> addresses_of("d0 = 2@addr, d1 = 4@addr:2", Layout.parse("d0 = 2@reg, d1 = 4@lane"), 4).tolist()
[0, 2, 4, 6, 1, 3, 5, 7]

`Addresses` is the contract: what `best_swizzle` finds keeps it. A value of any notation that maps a tensor onto one axis, such
as a CuTe layout or an XeGPU `mem_desc`, is asked for its operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.errors import ConversionError, DistributionError, LayoutError, ParseError, SizeError
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MOST_ADDRESSES
from layoutalg.core.messages import shown
from layoutalg.core.notation import Distributed
from layoutalg.core.number_arrays import count_of, together, whole_array
from layoutalg.notations import value_of

__all__ = ["Addresses", "Memory", "Numbers", "addresses_of", "coordinates", "memory_text"]


Numbers: TypeAlias = NDArray[np.int64]
"""Whole numbers: elements, addresses, words."""


class Addresses:
    """Addresses of the elements of one tensor that come with more than a layout, as `BestSwizzle` does."""

    __slots__ = ()

    def table(self) -> Numbers:
        """The address of every element, in elements: an array of the tensor's shape.

        >>> la.best_swizzle(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 4@reg")).table().tolist()
        [0, 1, 2, 3]
        """
        raise NotImplementedError


Memory: TypeAlias = Distributed | Addresses | str
"""A layout onto one axis such as `addr` (perhaps swizzled, in any notation), its text, or what `best_swizzle` found."""


def addresses_of(memory: Memory | None, tensor: Layout, element_bytes: int) -> Numbers:
    """The address of every element of the layout's tensor, in elements, in row-major order; `memory` None is row-major.

    Raises `ConversionError` for memory of another shape, with several addresses for an element or below 0; `SizeError` for
    addresses over 2^62 bytes.
    """
    shape = tensor.shape
    if memory is None:
        return np.arange(prod(shape), dtype=np.int64)
    if isinstance(memory, Addresses):
        found, text = memory.table(), memory_text(memory)
        _same_tensor(found.shape, tensor, text)
    else:
        found, text = _operand_table(memory, tensor)
    table = np.asarray(found, np.int64).reshape(-1)
    if int(table.min()) < 0:
        raise ConversionError(f"an address of {table.min()}: memory counts from 0 (in {text})")
    if int(table.max()) >= 2**62 // element_bytes:
        raise SizeError(f"an address of {table.max()} elements: over the limit of 2^62 bytes (in {text})")
    return table


def _operand_table(memory: Distributed | str, tensor: Layout) -> tuple[Any, str]:
    """The addresses that a value of some notation says, and what messages call it."""
    try:
        value = value_of(memory)
        shape = tensor.shape if value.needs_shape else None
        try:
            operands = value.operands(shape)
        except DistributionError:  # it may have addresses all the same
            found = value.addresses(shape)
            _same_tensor(found.shape, tensor, str(value))
            return found, str(value)
    except LayoutError as error:
        if isinstance(error, ParseError) and error.position:
            raise  # the text of a notation, and where it is wrong
        wanted = "expected a Layout such as Layout.parse('d0 = 16@addr:32, d1 = 32@addr')"
        raise ConversionError(
            f"memory={shown(memory)}: {wanted}, a value of a notation or its text, or what best_swizzle gives ({error})"
        ) from None
    if len(operands) != 1:
        raise ConversionError(f"memory={shown(memory)} has {len(operands)} layouts: expected one")
    layout, text = operands[0].layout, operands[0].name
    if any(type(n) is not int for factors in (*layout.dims, layout.replicas) for one in factors for n in one[:2]):
        raise ConversionError(f"{text} has symbols; put numbers for them with substitute() before counting accesses")
    _same_tensor(layout.shape, tensor, text)
    return layout.addresses(), text


def _same_tensor(shape: Sequence[Any], tensor: Layout, text: str) -> None:
    if tuple(shape) != tensor.shape:
        raise ConversionError(
            f"memory for a tensor of shape {list(shape)}, a distribution of shape {list(tensor.shape)}: expected one "
            f"tensor ({text}; {tensor})"
        )


def coordinates(coords: Sequence[Any], names: Sequence[str], shape: Sequence[int]) -> list[Numbers]:
    """One array of coordinates per dimension, after a check.

    Raises `LayoutError` for another number of dimensions, for what is not a whole number, for elements outside the tensor, and
    for arrays whose shapes do not go together.
    """
    given_array = isinstance(coords, np.ndarray) and coords.ndim > 0
    listed = isinstance(coords, Sequence) and count_of(coords) <= len(shape)  # pyright: ignore[reportUnnecessaryIsInstance]
    if not (given_array or listed):
        raise LayoutError(f"coordinates {shown(coords)}: expected {len(shape)} of them, one array per dimension")
    if len(coords) != len(shape):
        raise LayoutError(
            f"{len(coords)} coordinates: expected {len(shape)}, of a tensor of shape {shown(list(shape))}"
        )
    found: list[Numbers] = []
    for given, name, size in zip(coords, names, shape, strict=True):
        values = whole_array(given, f"coordinates along {name}")
        if values.size and (values.min() < 0 or values.max() >= size):
            raise LayoutError(f"{name} from {values.min()} to {values.max()}: outside a size of {size}")
        found.append(values)
    count = prod(together(dict(zip(names, found, strict=True)), LayoutError))
    if count > MOST_ADDRESSES:
        raise SizeError(f"the addresses of {count} elements: at most {MOST_ADDRESSES} at a time; ask for a part")
    return found


def memory_text(memory: Memory | None) -> str:
    """How messages call a memory.

    >>> memory_text(None), memory_text("d0 = 4@addr")
    ('row-major memory', 'd0 = 4@addr')
    """
    if memory is None:
        return "row-major memory"
    return f"a {type(memory).__name__}" if isinstance(memory, Addresses) else f"{memory}"
