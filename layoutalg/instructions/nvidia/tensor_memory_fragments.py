"""Where CUTLASS puts an m x n tile of tensor memory: `tmem_frg_1sm<type>(m,n)` and `tmem_frg_2sm`.

The first type is the element's, the second that of its storage (`uint32_t` unless said: an element has a column of 32 bits). m
is of one SM. CuTe's text has the addresses of CUTLASS: a lane is 2^16 words, so 65536 for 32-bit elements and 131072 for 16-bit
ones. Row 20 of a 64-row tile of one SM is in lane 20 % 16 + 32 * 1 = 36.

>>> tile = with_parameters("tmem_frg_1sm<half_t>(64,64)")
>>> print(tile["layout"].layout)
d0 = 4@tmem_lane:32 16@tmem_lane, d1 = 64@tmem_column:2
>>> tile["layout"].traits
'(((16,4),64),1,1):(((131072,4194304),2),0,0)'

`tmem_column` counts elements, so elements that are stored wider have gaps. Source: CUTLASS's headers alone.
"""

from __future__ import annotations

import re
from functools import partial
from itertools import product

from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.whole_numbers import instance_of
from layoutalg.instructions.instruction import Instruction, InstructionOperand
from layoutalg.instructions.nvidia.cutlass_types import bits_of, element_of
from layoutalg.instructions.nvidia.sources import HEADERS
from layoutalg.instructions.registry import Row

__all__ = ["rows", "with_parameters"]

_CHIPS = ("sm_100a", "sm_103a")
_NAME = re.compile(
    r"(?:UMMA::)?tmem_frg_([12])sm<(\w+)(?:,(\w+))?(?:,(?:UMMA::TmemAllocMode::)?(Interleaved|NonInterleaved|Duplicated))?>"
    r"\(([0-9]{1,3}),([0-9]{1,3})\)\Z"
)
_LANE = 2**21
"""Bits of addresses between two lanes."""


def _build(name: str, sms: int, element: str, stored: int, m: int, n: int, duplicated: bool) -> Instruction:
    bits = bits_of(element)
    step, lane = stored // bits, _LANE // bits
    column = Factor(n, step, "tmem_column")
    if duplicated or m == 128:
        m = 128
        dims, text = ((Factor(128, 1, "tmem_lane"),), (column,)), f"((128,{n}),1,1):(({lane},{step}),0,0)"
    elif sms == 1:
        dims = ((Factor(4, 32, "tmem_lane"), Factor(16, 1, "tmem_lane")), (column,))
        text = f"(((16,4),{n}),1,1):((({lane},{32 * lane}),{step}),0,0)"
    else:
        parts = 128 // m
        dims = (
            (Factor(m, 1, "tmem_lane"),),
            (Factor(parts, m, "tmem_lane"), Factor(n // parts, step, "tmem_column")),
        )
        text = f"(({m},({n // parts},{parts})),1,1):(({lane},({step},{m * lane})),0,0)"
    part = InstructionOperand("layout", element, Layout(dims).canonical(), "tensor memory", text, source=HEADERS)
    remarks = (("tile", f"of {'one SM' if sms == 1 else 'each of two SMs'}; an element takes {stored} bits"),)
    return Instruction(name, "tensor memory", "NVIDIA", "layout", _CHIPS, (), 1, (part,), remarks=remarks)


def with_parameters(name: str) -> Instruction | None:
    """The fragment of any type and size that CUTLASS takes; None for other texts.

    >>> print(with_parameters("tmem_frg_2sm<float>(64,256)")["layout"].layout)
    d0 = 64@tmem_lane, d1 = 2@tmem_lane:64 128@tmem_column
    """
    instance_of(name, str, "name")
    match = _NAME.match(name)
    element = None if match is None else element_of(match[2])
    stored = "u32" if match is None or match[3] is None else element_of(match[3])
    if match is None or element is None or stored is None or bits_of(element) < 8:
        return None
    sms, m, n = int(match[1]), int(match[5]), int(match[6])
    allowed = (64, 128) if sms == 1 else (32, 64, 128)
    if m not in allowed or not 4 <= n <= 512 or n % 4 or bits_of(stored) < bits_of(element):
        return None
    duplicated = match[4] == "Duplicated"
    if (duplicated and (sms, m) != (2, 64)) or (match[4] == "NonInterleaved" and sms == 2):
        return None
    return _build(name, sms, element, bits_of(stored), m, n, duplicated)


def rows() -> tuple[Row, ...]:
    """The fragments of usual types and sizes.

    >>> len(rows())
    32
    """
    names = [
        f"tmem_frg_{sms}sm<{types}>({m},{n})"
        for n, (sms, m), types in product(
            (64, 256), ((1, 64), (1, 128), (2, 32), (2, 64), (2, 128)), ("float", "half_t", "half_t,half_t")
        )
    ]
    names += ["tmem_frg_1sm<float,uint32_t,NonInterleaved>(64,64)", "tmem_frg_2sm<half_t,half_t,Duplicated>(64,16)"]
    return tuple(Row(name, "tensor memory", "layout", "NVIDIA", _CHIPS, partial(_required, name)) for name in names)


def _required(name: str) -> Instruction:
    found = with_parameters(name)
    if found is None:
        raise ValueError(name)
    return found
