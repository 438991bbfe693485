"""Element types of MLIR as numpy types.

>>> numpy_type("f16"), numpy_type("i8"), numpy_type("bf16").itemsize, numpy_type("f8E5M2FNUZ").name
(dtype('float16'), dtype('int8'), 2, 'float8_e5m2fnuz')
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from layoutalg.core.errors import LayoutError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["numpy_type"]

_NUMPY = {
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "i1": "bool",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "ui8": "uint8",
    "ui16": "uint16",
    "ui32": "uint32",
    "ui64": "uint64",
    "index": "int64",
}
_SMALL = {"bf16": "bfloat16"} | {
    f"f8{kind}": f"float8_{kind.lower()}"
    for kind in ("E5M2", "E4M3FN", "E5M2FNUZ", "E4M3FNUZ", "E4M3B11FNUZ", "E4M3", "E3M4", "E8M0FNU")
}


def numpy_type(element: str) -> np.dtype[Any]:
    """The numpy type that holds elements of an MLIR type; the small floats are those of ml_dtypes.

    Raises `LayoutError` for a type that numpy has no elements of.

    >>> numpy_type("tf32")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: numpy has no elements of type 'tf32'
    """
    import numpy as np

    if element in _NUMPY:
        return np.dtype(_NUMPY[element])
    if element in _SMALL:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, _SMALL[element]))
    raise LayoutError(f"numpy has no elements of type {element!r}")
