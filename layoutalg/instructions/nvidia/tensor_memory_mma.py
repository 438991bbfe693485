"""`tcgen05.mma` (SM100): one thread starts a product of m x n x k; C is in tensor memory, B in shared memory, A in either.

Tensor memory has 128 lanes and 512 columns of 32 bits in each SM. Where element (row, column) of the accumulator is:

    one SM,  m = 128     lane row, column column
    one SM,  m = 64      lane row % 16 + 32 (row // 16), column column
    two SMs, m = 256     SM row // 128, lane row % 128, column column
    two SMs, m = 128     SM row // 64, lane row % 64 + 64 (column // (n / 2)), column column % (n / 2)

Row 20 of m = 64, by hand: 20 % 16 + 32 * 1 = 36.

>>> print(_accumulator(64, 32, 1))
d0 = 4@tmem_lane:32 16@tmem_lane, d1 = 32@tmem_column
>>> _accumulator(64, 32, 1).owner_map("tmem_lane")[20, 3]
np.int32(36)

A in tensor memory (TS) is laid out as C is, with its own elements packed: `tmem_column` counts elements of the operand. With
two SMs and m = 128 both halves of the lanes have a copy. What is in shared memory is found by a descriptor (see
`warpgroup_mma`).

k is 256 bits of elements, 32 elements where 4-, 6- and 8-bit types mix. Sources: CUTLASS's
traits and headers; Triton's `#ttng.tensor_memory_encoding` for the accumulators where n is a power of two. PTX ISA 9.2,
9.7.16.2.3 has them as figures.
"""

from __future__ import annotations

import re
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.whole_numbers import instance_of
from layoutalg.instructions.instruction import Instruction, InstructionOperand
from layoutalg.instructions.nvidia.cutlass_types import bits_of, cpp_of, element_of
from layoutalg.instructions.nvidia.sources import HEADERS, TRAITS, TRITON
from layoutalg.instructions.registry import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["rows", "with_parameters"]

_CHIPS = ("sm_100a", "sm_103a")
_SMALL = ("e4m3", "e5m2", "e2m1", "e3m2", "e2m3")


class _Kind(NamedTuple):
    """A kind of `tcgen05.mma`: the word of PTX, A's and C's types, k (0: 256 bits), and the scales' types by vector size."""

    ptx: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    k: int = 0
    scales: tuple[tuple[str, int], ...] = ()


_KINDS = {
    "F16BF16": _Kind("f16", ("f16", "bf16"), ("f32", "f16")),
    "TF32": _Kind("tf32", ("tf32",), ("f32",)),
    "S8": _Kind("i8", ("s8", "u8"), ("s32",)),
    "F8F6F4": _Kind("f8f6f4", _SMALL, ("f32", "f16"), 32),
    "MXF8F6F4": _Kind("mxf8f6f4", _SMALL, ("f32",), 32, (("ue8m0", 32),)),
    "MXF4": _Kind("mxf4nvf4", ("e2m1",), ("f32",), 64, (("ue8m0", 32), ("ue4m3", 16))),
}


def _accumulator(m: int, n: int, sms: int) -> Layout:
    """Where C is, m x n, over one SM or two.

    >>> print(_accumulator(128, 64, 2))
    d0 = 2@sm 64@tmem_lane, d1 = 2@tmem_lane:64 32@tmem_column
    """
    if sms == 2:
        if m == 256:
            return _tile((Factor(2, 1, "sm"), Factor(128, 1, "tmem_lane")), (Factor(n, 1, "tmem_column"),))
        half = (Factor(2, 64, "tmem_lane"), Factor(n // 2, 1, "tmem_column"))
        return _tile((Factor(2, 1, "sm"), Factor(64, 1, "tmem_lane")), half)
    return _tile(_lanes(m), (Factor(n, 1, "tmem_column"),))


def _lanes(m: int) -> tuple[Factor, ...]:
    """The rows of one SM: 64 are four times 16, one in each quarter of the lanes."""
    return (Factor(4, 32, "tmem_lane"), Factor(16, 1, "tmem_lane")) if m == 64 else (Factor(128, 1, "tmem_lane"),)


def _tile(rows_of: tuple[Factor, ...], columns: tuple[Factor, ...], copies: tuple[Factor, ...] = ()) -> Layout:
    return Layout([rows_of, columns], copies).canonical()


def _seen(rows_of: int, columns: int, sms: int) -> Layout:
    """CUTLASS's map: each of the threads (SMs) refers to its whole part, down its columns."""
    part = rows_of // sms
    sm = (Factor(2, 1, "lane"),) if sms == 2 else ()
    return Layout([(*sm, Factor(part, 1, "reg")), (Factor(columns, part, "reg"),)])


def _described(rows_of: int, columns: int, sms: int) -> Layout:
    part = rows_of // sms
    sm = (Factor(2, 1, "sm"),) if sms == 2 else ()
    return Layout([(*sm, Factor(part, 1, "element")), (Factor(columns, part, "element"),)])


class _Asked(NamedTuple):
    """One instruction of a kind."""

    kind: str
    where: str
    sms: int
    types: tuple[str, str, str]
    m: int
    n: int
    scale: str = ""
    vector: int = 0

    def name(self) -> str:
        """As CUTLASS writes it, with the arguments that say something."""
        given = [cpp_of(one) for one in (*self.types, *((self.scale,) if self.scale else ()))]
        given += [str(self.m), str(self.n), *([str(self.vector)] if self.kind == "MXF4" else [])]
        return f"SM100_MMA_{self.kind}_{'2x1SM_' if self.sms == 2 else ''}{self.where}<{','.join(given)}>"

    def dotted(self) -> str:
        """The mnemonic of PTX; sizes and types are in a descriptor."""
        kind = _KINDS[self.kind]
        scaled = f".block_scale.scale_vec::{kind.k // self.vector}X" if self.scale else ""
        return f"tcgen05.mma.cta_group::{self.sms}.kind::{kind.ptx}{scaled}"


def _build(asked: _Asked, name: str = "") -> Instruction:
    kind = _KINDS[asked.kind]
    k = kind.k or 256 // bits_of(asked.types[0])
    m, n, sms = asked.m, asked.n, asked.sms
    place = ("in memory", "by a descriptor, in a canonical layout, such as Layout_K_SW128_Atom")

    def shared(role: str, element: str, size: int) -> InstructionOperand:
        tile = _described(size, k, sms)
        layout = tile.permute((1, 0)) if role == "B" else tile
        return InstructionOperand(
            role, element, layout, "shared memory", _seen(size, k, sms), source=TRAITS, notes=(place,)
        )

    a = shared("A", asked.types[0], m)
    if asked.where == "TS":
        a = InstructionOperand(
            "A", asked.types[0], _a_in_tensor_memory(m, k, sms), "tensor memory", _seen(m, k, sms), source=TRAITS
        )
    c = InstructionOperand(
        "C",
        asked.types[2],
        _accumulator(m, n, sms),
        "tensor memory",
        _seen(m, n, sms),
        source=HEADERS,
        confirmed=() if n & (n - 1) else (TRITON,),
    )
    remarks: list[tuple[str, str]] = [
        ("A", f"from {'tensor' if asked.where == 'TS' else 'shared'} memory"),
        ("sizes", "m, n and types are in the instruction's descriptor: other ones as <A,B,C,m,n> of the same name"),
    ]
    if asked.scale:
        remarks.append(("scales", f"{asked.vector} neighbouring elements of k share one of {asked.scale}"))
    return Instruction(
        name or asked.name(),
        "tcgen05.mma",
        "NVIDIA",
        "mma",
        _CHIPS,
        (m, n, k),
        sms,
        (a, shared("B", asked.types[1], n), c),
        sms,
        aliases=(asked.dotted(),),
        thread_id="2:1" if sms == 2 else "1:0",
        remarks=tuple(remarks),
    )


def _a_in_tensor_memory(m: int, k: int, sms: int) -> Layout:
    columns = (Factor(k, 1, "tmem_column"),)
    if sms == 1:
        return _tile(_lanes(m), columns)
    part = m // 2
    copies = (Factor(2, 64, "tmem_lane"),) if part == 64 else ()
    return _tile((Factor(2, 1, "sm"), Factor(part, 1, "tmem_lane")), columns, copies)


def _typical() -> Iterator[_Asked]:
    """The sizes and types that are listed; `with_parameters` takes the others."""
    plain = (
        ("F16BF16", ("f16", "f16", "f32")),
        ("F16BF16", ("f16", "f16", "f16")),
        ("F16BF16", ("bf16", "bf16", "f32")),
        ("TF32", ("tf32", "tf32", "f32")),
        ("S8", ("s8", "s8", "s32")),
        ("F8F6F4", ("e4m3", "e4m3", "f32")),
    )
    scaled = (("MXF8F6F4", "e4m3", "ue8m0", 32), ("MXF4", "e2m1", "ue8m0", 32), ("MXF4", "e2m1", "ue4m3", 16))
    sizes = [(1, m, n) for m, n in product((128, 64), (256, 128, 64))]
    sizes += [(2, m, n) for m, n in product((256, 128), (256, 128, 64))]
    for sms, m, n in sizes:
        for (kind, types), where in product(plain, ("SS", "TS")):
            yield _Asked(kind, where, sms, types, m, n)
        for kind, element, scale, vector in scaled if m >= 128 else ():
            yield _Asked(kind, "SS", sms, (element, element, "f32"), m, n, scale, vector)


def rows() -> tuple[Row, ...]:
    """The instructions of typical sizes and types.

    >>> rows()[0].name
    'SM100_MMA_F16BF16_SS<half_t,half_t,float,128,256>'
    """
    return tuple(
        Row(asked.name(), "tcgen05.mma", "mma", "NVIDIA", _CHIPS, partial(_build, asked), asked.dotted())
        for asked in _typical()
    )


_NAME = re.compile(r"SM100_MMA_(\w+?)_(2x1SM_)?(SS|TS)<([^<>]*)>\Z")
_MORE = re.compile(r"(?:cute::)?(?:UMMA::)?(?:Major::(?:K|MN)|ScaleIn::(?:One|Neg)|Saturate::(?:True|False))\Z")


def with_parameters(name: str) -> Instruction | None:
    """An instruction with any types and sizes that its kind has; None for other texts, and where they do not fit.

    >>> with_parameters("SM100_MMA_F16BF16_SS<bfloat16_t,bfloat16_t,float,128,96>").shape
    (128, 96, 16)
    """
    instance_of(name, str, "name")
    match = _NAME.match(name)
    kind = None if match is None else _KINDS.get(match[1])
    if match is None or kind is None:
        return None
    given = match[4].split(",")
    types = [element_of(one) for one in given[:3]]
    rest = [one for one in given[3:] if not _MORE.match(one)]
    scale = ""
    if kind.scales:
        scale = (element_of(rest[0]) if rest else None) or ""
        rest = rest[1:]
    sizes = [int(one) for one in rest if re.fullmatch(r"[0-9]{1,4}", one)]
    vectors = [vector for element, vector in kind.scales if element == scale]
    if len(sizes) != len(rest) or len(sizes) < 2 or (kind.scales and not vectors):
        return None
    sms = 2 if match[2] else 1
    fits = (
        all(one in kind.inputs for one in types[:2])
        and types[2] in kind.outputs
        and sizes[0] in ((64, 128) if sms == 1 else (128, 256))
        and sizes[1] % (8 if sizes[0] == 64 else 16) == 0
        and 8 <= sizes[1] <= 256
        and (match[3] == "SS" or not kind.scales)
        and sizes[2:] in ([], vectors[:1])
    )
    if not fits:
        return None
    a, b, c = (str(one) for one in types)
    return _build(_Asked(match[1], match[3], sms, (a, b, c), sizes[0], sizes[1], scale, *vectors[:1]), name)
