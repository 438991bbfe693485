"""Arguments of a kernel from the command line, and results back into files.

    A.npy              an array from a file (an input: the kernel must not write it, unless it is saved)
    A.npy:bf16         the same with elements that numpy has no letter for, saved as whole numbers of their size
    C:512x512xf32      an array for results; what is in it before the kernel writes it means nothing
    512, -3, 0.5       numbers

>>> argument = as_argument("C:2x3xf32")
>>> argument.name, argument.value.shape, argument.value.dtype.name, argument.is_output
('C', (2, 3), 'float32', True)
>>> as_argument("512").value
512

Files of numpy's format are read without pickles, and their size is checked before anything is allocated.
"""

from __future__ import annotations

import io
import math
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layoutalg.core.elements import numpy_type
from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import LONGEST_INTEGER, MOST_ARGUMENT_BYTES
from layoutalg.core.messages import shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Argument", "array_summary", "as_argument", "element_name", "saved_bytes"]

_OUTPUT = re.compile(r"([A-Za-z_]\w*):((?:[0-9]{1,18}x)*)([a-z]\w*)")
_FILE = re.compile(r"(.+\.npy)(?::([A-Za-z]\w*))?")
_INTEGER = re.compile(r"-?(?:0x[0-9A-Fa-f]+|[0-9]+)")
_EXPECTED = "expected a number, an array's file such as A.npy (or A.npy:bf16), or a result such as C:512x512xf32"
_FIRST = 6


@dataclass(frozen=True, eq=False)
class Argument:
    """An argument of a kernel: a number or an array, and what it is called."""

    name: str
    value: Any
    is_output: bool = False


def as_argument(text: str) -> Argument:
    """What one `--arg` says.

    Raises `LayoutError` for text that is not one of the four, for a file that is not an array's, and for arrays over 1 GiB.

    >>> as_argument("C:512x512xf33")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: C:512x512xf33: numpy has no elements of type 'f33'
    """
    if _INTEGER.fullmatch(text) and len(text) <= LONGEST_INTEGER:
        return Argument(text, int(text, 0 if "x" in text else 10))
    output = _OUTPUT.fullmatch(text)
    if output is not None:
        return Argument(output[1], _new_array(text, output[2], output[3]), True)
    file = _FILE.fullmatch(text)
    if file is not None:
        return Argument(Path(file[1]).stem, _read_array(file[1], file[2]))
    try:
        number = float(text)
    except ValueError:
        raise LayoutError(f"--arg {shown(text)}: {_EXPECTED}") from None
    return Argument(text, number)


def _type(text: str, element: str) -> np.dtype[Any]:
    try:
        return numpy_type(element)
    except LayoutError as error:
        raise LayoutError(f"{text}: {error}") from None


def _new_array(text: str, sizes: str, element: str) -> NDArray[Any]:
    import numpy as np

    dtype = _type(text, element)
    shape = tuple(int(size) for size in sizes.split("x")[:-1])
    _check_size(text, math.prod(shape) * dtype.itemsize)
    return np.zeros(shape, dtype)


def _check_size(text: str, size: int) -> None:
    if size > MOST_ARGUMENT_BYTES:
        raise LayoutError(f"{text}: {size:,} bytes; arrays of at most {MOST_ARGUMENT_BYTES:,} are simulated")


def _read_array(name: str, element: str | None) -> NDArray[Any]:
    """An array of a file in numpy's format, of its own for the simulator: contiguous, in this machine's byte order."""
    from numpy.lib.format import open_memmap

    try:
        state = os.stat(name)
        if not stat.S_ISREG(state.st_mode):
            raise LayoutError(
                f"{name}: {'a directory' if stat.S_ISDIR(state.st_mode) else 'not a file'}; expected an array"
            )
        _check_size(name, state.st_size)
        # Mapped, so that a header that promises more than the file has costs nothing.
        mapped: NDArray[Any] = open_memmap(name, mode="r")
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        raise LayoutError(f"{name}: {reason[0].lower()}{reason[1:]}") from None
    except (EOFError, SyntaxError, TypeError, ValueError, OverflowError, MemoryError):
        raise LayoutError(f"{name}: not an array in numpy's format (np.save), or a damaged one") from None
    array = _own_copy(mapped)
    if element is not None:
        dtype = _type(f"{name}:{element}", element)
        if array.dtype.itemsize != dtype.itemsize:
            raise LayoutError(
                f"{name}: elements of {array.dtype.itemsize} bytes ({array.dtype}); {element} has {dtype.itemsize}"
            )
        array = array.view(dtype)
    if array.dtype.kind not in "biuf" and element is None:
        raise LayoutError(f"{name}: elements of type {array.dtype}; name theirs, such as {name}:bf16")
    return array


def _own_copy(mapped: NDArray[Any]) -> NDArray[Any]:
    import numpy as np

    return np.array(mapped, dtype=mapped.dtype.newbyteorder("="), order="C")


def saved_bytes(array: NDArray[Any]) -> bytes:
    """An array as a file in numpy's format; element types that numpy lacks are saved as integers of their size."""
    import numpy as np

    if array.dtype.kind not in "biuf" or np.dtype(array.dtype.str) != array.dtype:
        array = array.view(f"u{array.dtype.itemsize}")
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


_NAMES = {"float": "f", "int": "i", "uint": "ui"}


def element_name(dtype: np.dtype[Any]) -> str:
    """What MLIR calls the elements of an array.

    >>> import ml_dtypes
    >>> element_name(np.dtype(np.float16)), element_name(np.dtype(ml_dtypes.bfloat16))
    ('f16', 'bf16')
    """
    name = dtype.name
    if name == "bfloat16":
        return "bf16"
    if name.startswith("float8_"):
        return "f8" + name.removeprefix("float8_").upper()
    letters = name.rstrip("0123456789")
    return _NAMES.get(letters, letters) + name[len(letters) :] if name != "bool" else "i1"


def array_summary(array: NDArray[Any]) -> dict[str, Any]:
    """Shape, element type, smallest, largest and mean value, and the first elements of an array; NaN are counted apart.

    >>> array_summary(np.array([[1.0, 3.0], [float("nan"), 2.0]]))
    {'shape': [2, 2], 'element': 'f64', 'min': 1.0, 'max': 3.0, 'mean': 2.0, 'nan': 1, 'first': [1.0, 3.0, nan, 2.0]}
    """
    import numpy as np

    facts: dict[str, Any] = {"shape": list(array.shape), "element": element_name(array.dtype)}
    flat = array.reshape(-1)
    missing = 0
    if array.dtype.kind not in "biu":
        wide = flat.astype(np.float64)
        nan = np.isnan(wide)
        missing = int(nan.sum())
        flat = wide[~nan]
    if flat.size:
        kind = float if array.dtype.kind not in "biu" else int
        facts |= {"min": kind(flat.min()), "max": kind(flat.max()), "mean": float(flat.mean(dtype=np.float64))}
    if missing:
        facts["nan"] = missing
    first = array.reshape(-1)[:_FIRST]
    return facts | {"first": first.tolist() if array.dtype.kind in "biu" else first.astype(np.float64).tolist()}
