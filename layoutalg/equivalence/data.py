"""Arrays to try a kernel on, from its text: what it says of the sizes of what it reads and writes.

>>> from layoutalg.ir import read_module
>>> kernel = kernel_of(read_module('''gpu.module @m { gpu.func @k(%p: memref<8x16xf32>, %q: i64) kernel {
...   %t = xegpu.create_nd_tdesc %q, shape : [64, 32], strides : [32, 1] : i64 -> !xegpu.tensor_desc<8x16xf16>
...   gpu.return } }'''))
>>> [(array.shape, array.dtype.name) for array in arrays_for(kernel)]
[((8, 16), 'float32'), ((64, 32), 'float16')]

Floats are normally distributed, so that equal numbers come from equal elements; integers are small.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import AnyFloat, IntegerType, MemRefType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from layoutalg.core.elements import numpy_type
from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import MOST_ARGUMENT_BYTES
from layoutalg.core.messages import shown
from layoutalg.ir.assembly import static_numbers
from layoutalg.ir.dialects import gpu
from layoutalg.ir.dialects.xegpu.attributes import TensorDescType

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["arrays_for", "copies", "is_array", "kernel_of", "parameters"]


def copies(arguments: Sequence[Any]) -> list[Any]:
    """The same arguments with arrays of their own, because a kernel writes in place."""
    return [np.array(one) if is_array(one) else one for one in arguments]


def is_array(value: object) -> TypeGuard[NDArray[Any]]:
    """Whether an argument is an array."""
    return isinstance(value, np.ndarray)


def kernel_of(module: Operation, name: str | None = None) -> gpu.FuncOp:
    """The kernel of a module: the one of this name, or the only one.

    Raises `LayoutError` where there is none, or several without a name.
    """
    found = [op for op in module.walk() if isinstance(op, gpu.FuncOp) and op.kernel is not None]
    named = [op for op in found if name is None or op.sym_name.data == name]
    if len(named) == 1:
        return named[0]
    if not named:
        wanted = "a gpu.func with 'kernel'" if name is None else f"one named {shown(name)}"
        raise LayoutError(f"no kernel ({wanted}) in the module")
    raise LayoutError(f"{len(named)} kernels: {', '.join(shown(op.sym_name.data) for op in named[:8])}; name one")


def parameters(kernel: gpu.FuncOp) -> Sequence[SSAValue]:
    """What a kernel is given; the memory that it declares for itself comes after that."""
    return kernel.regions[0].blocks[0].args[: len(kernel.function_type.inputs.data)]


def arrays_for(kernel: gpu.FuncOp, seed: int = 0) -> list[Any]:
    """An array or a number for every argument: of the memref's type, or of the descriptors that are made from an address.

    Raises `LayoutError` for an argument whose size the text does not say.

    >>> from layoutalg.ir import read_module
    >>> arrays_for(kernel_of(read_module("gpu.module @m { gpu.func @k(%n: index) kernel { gpu.return } }")))
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: argument 0 (%n: index): the text does not say its value; give the arguments (--arg)
    """
    rng = np.random.default_rng(seed)
    return [_argument(value, number, rng) for number, value in enumerate(parameters(kernel))]


def _argument(value: SSAValue, number: int, rng: np.random.Generator) -> Any:
    kind: Attribute = value.type
    if isinstance(kind, AnyFloat):
        return float(rng.standard_normal())
    found = _size_of(value)
    if found is None:
        name = f"%{value.name_hint}" if value.name_hint else "unnamed"
        what = "size" if isa(kind, MemRefType[Attribute]) or _is_address(kind) else "value"
        raise LayoutError(
            f"argument {number} ({name}: {kind}): the text does not say its {what}; give the arguments (--arg)"
        )
    shape, element = found
    dtype = numpy_type(element)
    if prod(shape) * dtype.itemsize > MOST_ARGUMENT_BYTES:
        raise LayoutError(f"argument {number}: an array of {'x'.join(map(str, shape))}x{element} is too large to try")
    return _random(shape, dtype, rng)


def _is_address(kind: Attribute) -> bool:
    return isa(kind, IntegerType) and kind.bitwidth == 64


def _random(shape: Sequence[int], dtype: np.dtype[Any], rng: np.random.Generator) -> NDArray[Any]:
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        return rng.integers(0 if dtype.kind == "u" else -9, 10, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def _size_of(value: SSAValue) -> tuple[tuple[int, ...], str] | None:
    """The shape and the elements of what an argument points at; None where the text does not say them."""
    kind: Attribute = value.type
    if isa(kind, MemRefType[Attribute]):
        shape = tuple(kind.get_shape())
        return (shape, str(kind.element_type)) if all(extent >= 0 for extent in shape) else None
    if not _is_address(kind):
        return None
    sizes = [found for use in value.uses if (found := _described(use.operation)) is not None]
    return max(sizes, key=lambda one: prod(one[0]), default=None)


def _described(operation: Any) -> tuple[tuple[int, ...], str] | None:
    """What a descriptor of an address says: the rows as far apart as its stride, so that their padding is there too."""
    if operation.name != "xegpu.create_nd_tdesc" or not isinstance(operation.descriptor.type, TensorDescType):
        return None
    shape, strides = static_numbers(operation.const_shape), static_numbers(operation.const_strides)
    known = bool(shape) and len(shape) == len(strides) and min(*shape, *strides, 1) > 0
    if not known or strides[-1] != 1:
        return None
    inner = [strides[dim - 1] // strides[dim] for dim in range(1, len(shape))]
    return (shape[0], *inner), str(operation.descriptor.type.element_type)
