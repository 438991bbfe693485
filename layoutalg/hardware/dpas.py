"""DPAS: the matrix instruction `D = A * B + C`, its types and shapes per chip, and every operand's fragment.

A is M x K, B is K x N, C and D are M x N; N is the number of lanes, K eight times what fits into 32 bits. The operands are
what the 2D block messages deliver: A row by row, B packed (VNNI), C row by row.

>>> mma = dpas("f16", "f16", "f32", target="pvc")
>>> mma.m, mma.n, mma.k
(8, 16, 16)
>>> print(mma.a); print(mma.b); print(mma.c)
d0 = 8@reg, d1 = 16@lane
d0 = 16@reg, d1 = 16@lane
d0 = 8@reg, d1 = 16@lane

Registers count elements. They sit in components of `a_bits`, `b_bits` bits, the lowest register in the lowest bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from layoutalg.core.errors import VerificationError
from layoutalg.core.layout import Layout
from layoutalg.core.matrix_products import product_lines
from layoutalg.core.messages import printable, shown
from layoutalg.core.notation import Distributed, Machine, Operand, own_sizes, product_operands
from layoutalg.core.work_items import cover_all, machine_for
from layoutalg.hardware.block_messages import row_fragment
from layoutalg.hardware.chips import TargetInfo, target_info

__all__ = ["Dpas", "dpas", "dpas_instructions"]

_BITS = {"tf32": 32, "f16": 16, "bf16": 16, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "f32": 32, "s32": 32}
_NAMES = {"i8": "s8", "si8": "s8", "ui8": "u8", "i4": "s4", "si4": "s4", "ui4": "u4", "i32": "s32", "si32": "s32"}
_DEPTH = 8
_INTEGERS = [(f"{a}{bits}", f"{b}{bits}", "s32") for bits in (8, 4) for a in "su" for b in "su"]

# (A, B, accumulator). Sources: cl_intel_subgroup_matrix_multiply_accumulate 1.1.0 and _tf32 1.0.0.
_TYPES = {
    16: [
        ("f16", "f16", "f32"),
        ("f16", "f16", "f16"),
        ("bf16", "bf16", "f32"),
        ("bf16", "bf16", "bf16"),
        *_INTEGERS,
        ("tf32", "tf32", "f32"),
    ],
    8: [("f16", "f16", "f32"), ("bf16", "bf16", "f32"), *_INTEGERS],
}


@dataclass(frozen=True, slots=True, repr=False)
class Dpas(Distributed):
    """One instruction: types, sizes and fragments.

    `m` rows (the repeat count, 1 to 8), `k` the depth in elements. `a`, `b`, `c` are layouts from each operand's
    coordinates to lanes and registers; `a_bits` and `b_bits` the size of the component that a lane holds them in.

    >>> dpas("s8", "u8", "s32", target="dg2")
    <Dpas: intel_sub_group_i8_u8_matrix_mad_k32, 8x32x8 on dg2>
    """

    target: TargetInfo
    a_type: str
    b_type: str
    acc_type: str
    m: int
    a: Layout
    b: Layout
    c: Layout

    def __repr__(self) -> str:
        return f"<Dpas: {self.builtin}, {self.m}x{self.k}x{self.n} on {self.target.name}>"

    def heading(self) -> str:
        """The name of its OpenCL builtin.

        >>> dpas("f16", "f16", "f32").heading()
        'intel_sub_group_f16_f16_matrix_mad_k16'
        """
        return self.builtin

    def subheading(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[str, ...]:
        """Its equation and its lanes, and the chip.

        >>> dpas("s8", "s8", "s32").subheading()[2]
        'on pvc'
        """
        lanes = f"by the {self.subgroup_size} lanes of a subgroup"
        sizes = (self.m, self.n, self.k)
        return (*product_lines(self.operands(shape, machine), sizes, lanes), f"on {self.target.name}")

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """A, B and C, to draw around the product.

        Raises `DistributionError` for a shape (the instruction has sizes of its own) and for a machine with other lanes; other
        subgroups hold copies.

        >>> [str(part.layout) for part in dpas("f16", "f16", "f32").operands()]
        ['d0 = 8@reg, d1 = 16@lane', 'd0 = 16@reg, d1 = 16@lane', 'd0 = 8@reg, d1 = 16@lane']
        """
        own_sizes(self.builtin, (self.m, self.n, self.k), shape)
        on = machine_for(machine, self.subgroup_size, self.builtin)
        layouts = cover_all((self.a, self.b, self.c), on, self.builtin)
        return product_operands(layouts, (self.a_type, self.b_type, self.acc_type), (self.m, self.n, self.k))

    @property
    def subgroup_size(self) -> int:
        """The lanes that execute the instruction together.

        >>> dpas("f16", "f16", "f32", target="dg2").subgroup_size
        8
        """
        return self.target.subgroup_size

    @property
    def n(self) -> int:
        """The columns of B and C: one per lane.

        >>> dpas("f16", "f16", "f32").n
        16
        """
        return self.target.subgroup_size

    @property
    def k(self) -> int:
        """The columns of A and rows of B.

        >>> [dpas(t, t, "s32").k for t in ("s8", "s4")]
        [32, 64]
        """
        return _DEPTH * self.packed

    @property
    def packed(self) -> int:
        """The elements that make up 32 bits: what one of the 8 steps of the instruction multiplies (VNNI factor).

        >>> dpas("bf16", "bf16", "f32").packed
        2
        """
        return 32 // _BITS[self.a_type]

    @property
    def a_bits(self) -> int:
        """The size of A's components: 16 bits on 16 lanes (32 for tf32), 32 bits on 8 lanes.

        >>> dpas("f16", "f16", "f32").a_bits, dpas("f16", "f16", "f32", target="dg2").a_bits
        (16, 32)
        """
        return 32 if self.subgroup_size == 8 else max(16, _BITS[self.a_type])

    @property
    def b_bits(self) -> int:
        """The size of B's components.

        >>> dpas("s4", "s4", "s32").b_bits
        32
        """
        return 32

    @property
    def c_bits(self) -> int:
        """The size of an accumulator.

        >>> dpas("f16", "f16", "f16").c_bits
        16
        """
        return _BITS[self.acc_type]

    @property
    def builtin(self) -> str:
        """The OpenCL name.

        >>> dpas("tf32", "tf32", "f32").builtin
        'intel_sub_group_tf32_tf32_matrix_mad_k8'
        """
        a, b = (t.replace("s", "i") if t[0] == "s" else t for t in (self.a_type, self.b_type))
        return f"intel_sub_group_{a}_{b}_matrix_mad_k{self.k}"


def dpas(a: str, b: str, acc: str = "", target: str = "pvc", m: int = 8) -> Dpas:
    """The instruction for element types `a`, `b` and accumulator `acc` with `m` rows.

    `acc` may be left out: f32 for floats, s32 for integers. `i8` is read as `s8`.

    Raises `VerificationError` where the chip has no such instruction (the message lists those it has); `PlanError` for an
    unknown chip, or one without DPAS.

    >>> dpas("i8", "i8").acc_type
    's32'
    >>> dpas("tf32", "tf32", target="dg2")
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: dpas tf32 x tf32 -> f32 on dg2: no such instruction;
    there are f16 x f16 -> f32, bf16 x bf16 -> f32, s8 x s8 -> s32, s8 x u8 -> s32, u8 x s8 -> s32, u8 x u8 -> s32,
    s4 x s4 -> s32, s4 x u4 -> s32, u4 x s4 -> s32, u4 x u4 -> s32
    """
    chip = target_info(target, dpas=True)
    for operand, value in (("a", a), ("b", b), ("acc", acc)):
        if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise VerificationError(f"dpas with {operand} = {shown(value)}: expected an element type, such as 'f16'")
    a, b = _NAMES.get(a, a), _NAMES.get(b, b)
    acc = _NAMES.get(acc, acc) or ("s32" if a[:1] in ("s", "u") else "f32")
    types = _TYPES.get(chip.subgroup_size, [])
    if (a, b, acc) not in types:
        there = ", ".join(f"{x} x {y} -> {z}" for x, y, z in types)
        raise VerificationError(
            f"dpas {printable(f'{a} x {b} -> {acc}')} on {chip}: no such instruction; there are {there}"
        )
    if type(m) is not int or not 1 <= m <= 8:
        raise VerificationError(f"dpas with m = {shown(m)}: expected 1 to 8 rows")
    return _made(chip, a, b, acc, m)


@lru_cache(maxsize=1024)
def _made(chip: TargetInfo, a: str, b: str, acc: str, m: int) -> Dpas:
    lanes = chip.subgroup_size
    k = _DEPTH * 32 // _BITS[a]
    return Dpas(
        chip,
        a,
        b,
        acc,
        m,
        row_fragment(m, k, lanes),
        row_fragment(k, lanes, lanes),
        row_fragment(m, lanes, lanes),
    )


def dpas_instructions(target: str = "pvc") -> tuple[Dpas, ...]:
    """All instructions of a chip, with 8 rows.

    >>> len(dpas_instructions("pvc")), len(dpas_instructions("dg2"))
    (13, 10)
    """
    return tuple(dpas(*types, target=target) for types in _TYPES.get(target_info(target, dpas=True).subgroup_size, []))
