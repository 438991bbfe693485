"""How CUTLASS spells element types: in C++ (`half_t`) and in the names of atoms (`F16`).

>>> element_of("half_t"), element_of("float_e4m3_t"), cpp_of("bf16"), capitals("b1")
('f16', 'e4m3', 'bfloat16_t', 'U1')
"""

from __future__ import annotations

from layoutalg.core.whole_numbers import instance_of, one_of

__all__ = ["bits_of", "capitals", "cpp_of", "element_of"]

_CPP = {
    "half_t": "f16",
    "bfloat16_t": "bf16",
    "tfloat32_t": "tf32",
    "float": "f32",
    "double": "f64",
    "int8_t": "s8",
    "uint8_t": "u8",
    "int16_t": "s16",
    "uint16_t": "u16",
    "int32_t": "s32",
    "uint32_t": "u32",
    "uint64_t": "u64",
    "uint128_t": "u128",
    "float_e4m3_t": "e4m3",
    "float_e5m2_t": "e5m2",
    "float_e2m1_t": "e2m1",
    "float_e3m2_t": "e3m2",
    "float_e2m3_t": "e2m3",
    "float_ue8m0_t": "ue8m0",
    "float_ue4m3_t": "ue4m3",
}
_SIZES = (
    (128, "u128"),
    (64, "f64 u64"),
    (32, "f32 tf32 s32 u32 b32"),
    (16, "f16 bf16 s16 u16 b16"),
    (8, "s8 u8 e4m3 e5m2 ue8m0 ue4m3 b8"),
    (6, "e3m2 e2m3"),
    (4, "e2m1 s4 u4"),
    (1, "b1"),
)
_BITS = {element: bits for bits, elements in _SIZES for element in elements.split()}
_CAPITALS = {"c64": "C64", "gc64": "GC64", "b1": "U1"}
_SPELLED = {element: cpp for cpp, element in _CPP.items()}


def element_of(cpp: str) -> str | None:
    """The element type of a C++ name; None where it is not one of CUTLASS's.

    >>> element_of("cutlass::half_t"), element_of("Half")
    ('f16', None)
    """
    instance_of(cpp, str, "type")
    return _CPP.get(cpp.removeprefix("cutlass::").removeprefix("cute::"))


def cpp_of(element: str) -> str:
    """The C++ name of an element type.

    >>> cpp_of("e2m1")
    'float_e2m1_t'
    """
    one_of(element, tuple(_SPELLED), "element type")
    return _SPELLED[element]


def capitals(element: str) -> str:
    """An element type in the name of an atom.

    >>> capitals("tf32")
    'TF32'
    """
    instance_of(element, str, "element type")
    return _CAPITALS.get(element, element.upper())


def bits_of(element: str) -> int:
    """The bits of an element.

    >>> bits_of("e2m1"), bits_of("u128")
    (4, 128)
    """
    one_of(element, tuple(_BITS), "element type")
    return _BITS[element]
