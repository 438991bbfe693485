"""CuTe's `Swizzle` as a value: XOR of some bits of an index onto others, towards the low ones or the high ones.

`Sw<bits,base,shift>` takes the `bits` bits from bit `base + shift` on and XORs them onto those from bit `base` on. A negative
shift goes the other way: it reads at `base` and changes at `base - shift`. Bit 3 of 8 is XORed onto bit 0, and back:

>>> swizzle = Swizzle(1, 0, 3)
>>> swizzle(8), swizzle(9), Swizzle(1, 0, -3)(1)
(9, 8, 9)

Law: a swizzle is its own inverse. `core.swizzle` has the swizzles of memory (positive shifts), as factors with XOR.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from layoutalg.core.errors import ConversionError, VerificationError
from layoutalg.core.whole_numbers import whole_number, whole_numbers
from layoutalg.cute.cute_layout import CuteLayout

__all__ = ["Swizzle", "applied", "get_nonswizzle_portion", "get_swizzle_portion", "make_swizzle"]


@dataclass(frozen=True, slots=True)
class Swizzle:
    """`x ^ ((x & yyy) >> shift)`, where `yyy` has `bits` bits from `base + max(0, shift)` on; CuTe's Swizzle<bits,base,shift>.

    Raises `VerificationError` unless bits and base are at least 0 and |shift| is at least bits.

    >>> str(Swizzle(3, 4, 3)), Swizzle(0, 4, 3)(77)
    ('Sw<3,4,3>', 77)
    """

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        whole_numbers((self.bits, self.base, self.shift), "swizzle", -62, 62, 3)
        if (
            self.bits < 0
            or self.base < 0
            or abs(self.shift) < self.bits
            or self.base + abs(self.shift) + self.bits > 62
        ):
            raise VerificationError(f"{self}: expected bits >= 0, base >= 0, |shift| >= bits, all within 62 bits")

    def __str__(self) -> str:
        return f"Sw<{self.bits},{self.base},{self.shift}>"

    def __call__(self, index: int) -> int:
        """The swizzled index.

        >>> [Swizzle(2, 0, 2)(x) for x in (4, 8, 15)]
        [5, 10, 12]
        """
        return applied(self, whole_number(index, "index", -(2**62), 2**62, ConversionError))

    @property
    def reads(self) -> int:
        """The mask of the bits that it reads (`yyy`).

        >>> bin(Swizzle(2, 1, 3).reads)
        '0b110000'
        """
        return ((1 << self.bits) - 1) << (self.base + max(0, self.shift))

    @property
    def changes(self) -> int:
        """The mask of the bits that it changes (`zzz`).

        >>> bin(Swizzle(2, 1, 3).changes)
        '0b110'
        """
        return ((1 << self.bits) - 1) << (self.base - min(0, self.shift))


def applied(swizzle: Swizzle, index: Any) -> Any:
    """The swizzled index of a number or of an array of them, unchecked; None stays.

    >>> applied(Swizzle(1, 0, 1), np.arange(4)).tolist()
    [0, 1, 3, 2]
    """
    if index is None:
        return None
    moved = index & swizzle.reads
    return index ^ (moved >> swizzle.shift if swizzle.shift >= 0 else moved << -swizzle.shift)


def make_swizzle(reads: int, changes: int) -> Swizzle | None:
    """The swizzle that reads and changes the bits of two masks; None where no swizzle does.

    >>> str(make_swizzle(0b11000000, 0b00000110)), make_swizzle(0b1010, 0b1)
    ('Sw<2,1,5>', None)
    """
    if reads <= 0 or changes <= 0:
        return Swizzle(0, 0, 0) if reads == changes == 0 else None
    low, high = (reads & -reads).bit_length() - 1, (changes & -changes).bit_length() - 1
    bits, base, shift = reads.bit_count(), min(low, high), low - high
    if abs(shift) < bits or base + abs(shift) + bits > 62:
        return None
    found = Swizzle(bits, base, shift)
    return found if (found.reads, found.changes) == (reads, changes) else None


def get_swizzle_portion(layout: CuteLayout) -> Swizzle:
    """The swizzle of a layout; of a layout without one, CuTe's identity `Sw<0,4,3>`.

    >>> str(get_swizzle_portion(CuteLayout((8, 64), (64, 1), swizzle=(3, 3, 3)))), str(get_swizzle_portion(CuteLayout(8, 1)))
    ('Sw<3,3,3>', 'Sw<0,4,3>')
    """
    if not isinstance(layout, CuteLayout):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConversionError(f"get_swizzle_portion of a {type(layout).__name__}: expected a CuteLayout")
    return Swizzle(*layout.swizzle) if layout.swizzle is not None else Swizzle(0, 4, 3)


def get_nonswizzle_portion(layout: CuteLayout) -> CuteLayout:
    """A layout without its swizzle and the offset inside it.

    >>> print(get_nonswizzle_portion(CuteLayout((8, 64), (64, 1), swizzle=(3, 3, 3))))
    (8,64):(64,1)
    """
    if not isinstance(layout, CuteLayout):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConversionError(f"get_nonswizzle_portion of a {type(layout).__name__}: expected a CuteLayout")
    return CuteLayout(layout.shape, layout.stride)
