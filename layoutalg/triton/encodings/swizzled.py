"""`#ttg.swizzled_shared` and `#ttg.amd_rotating_shared`: rows whose columns are XORed, so that lanes meet different banks.

Element (row, column) of a tensor with order [1, 0] lies at offset `row * columns + (column ^ vec * phase)`, where the phase is
`(row / perPhase) % maxPhase`; a rotating encoding XORs the next digit of the row in too:

>>> shared = SwizzledShared(2, 1, 4, (1, 0))
>>> shared.to_linear((4, 8)).bases_of("offset")
((0, 1), (0, 2), (0, 4), (1, 2), (2, 4))
>>> RotatingShared(1, 1, 2, (1, 0)).to_linear((4, 2)).bases_of("offset")
((0, 1), (1, 1), (2, 1))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from layoutalg.core.errors import VerificationError
from layoutalg.triton.encodings.encoding import InSharedMemory, as_bases_field, as_sizes_field, check_order, key_text
from layoutalg.triton.encodings.product import Product, check_cga, of_cluster, per_cta
from layoutalg.triton.given import Bases
from layoutalg.triton.linear import LinearLayout

__all__ = ["RotatingShared", "SwizzledShared"]


@dataclass(frozen=True, slots=True)
class SwizzledShared(InSharedMemory):
    """`#ttg.swizzled_shared`; `vec` counts elements. A `vec` that is not a power of two is taken, as Triton does.

    Raises `VerificationError` for phases that Triton divides by zero on, or whose remainders are no XOR.

    >>> SwizzledShared(1, 0, 2, (1, 0))
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: perPhase = 0: expected a power of two (Triton divides by zero)
    """

    vec: int
    per_phase: int
    max_phase: int
    order: tuple[int, ...]
    cga: Bases = ()

    mnemonic: ClassVar[str] = "#ttg.swizzled_shared"

    def __post_init__(self) -> None:
        self._whole("vec", "vec =", 0, 2**20)
        for name, field in (("perPhase", "per_phase"), ("maxPhase", "max_phase")):
            size = self._whole(field, f"{name} =", 0, 2**20)
            if size < 1:
                raise VerificationError(f"{name} = {size}: expected a power of two (Triton divides by zero)")
            as_sizes_field(name, [size])
        object.__setattr__(self, "order", as_sizes_field("order", self.order, 0))
        object.__setattr__(self, "cga", as_bases_field("CGALayout", self.cga))
        check_order(self.order)
        if not self.order:
            raise VerificationError("order = []: expected at least one dimension")
        check_cga(self.cga, self.rank)

    @property
    def rank(self) -> int:
        """The dimensions of the tensor."""
        return len(self.order)

    def __str__(self) -> str:
        keys: dict[str, object] = {
            "vec": self.vec,
            "perPhase": self.per_phase,
            "maxPhase": self.max_phase,
            "order": self.order,
            "CGALayout": self.cga or None,
        }
        return f"{self.mnemonic}<{key_text(keys)}>"

    def _phase(self, row: int) -> int:
        """What is XORed onto the columns of a row, in units of `vec`.

        >>> [SwizzledShared(1, 2, 4, (1, 0))._phase(row) for row in range(8)]
        [0, 0, 1, 1, 2, 2, 3, 3]
        """
        return row // self.per_phase % self.max_phase

    def _once(self) -> tuple[int, ...]:
        """Rows of every phase, as wide as the phases reach."""
        sizes = [1] * self.rank
        column, *rest = self.order
        sizes[column] = 1 << max(self.vec * self.max_phase - 1, 0).bit_length()
        for row in rest[:1]:
            sizes[row] = self._rows
        return of_cluster(self.cga, sizes)

    @property
    def _rows(self) -> int:
        """After how many rows the phases repeat."""
        return self.per_phase * self.max_phase

    def _linear(self, shape: tuple[int, ...]) -> LinearLayout:
        """The layout for a shape that has been checked."""
        inside, _ = per_cta(self.cga, shape)
        column, *rest = self.order
        memory = Product(self.rank, ("offset",)).put(inside[column], "offset", column)
        for row in rest[:1]:
            for i in range(inside[row].bit_length() - 1):
                moved = [0] * self.rank
                moved[row] = 1 << i
                moved[column] = self.vec * self._phase(1 << i) % inside[column]
                memory.add("offset", tuple(moved))
        return memory.grow(rest[1:], inside).fit(self.order, self.cga, shape)


@dataclass(frozen=True, slots=True)
class RotatingShared(SwizzledShared):
    """`#ttg.amd_rotating_shared`: as swizzled, with the next digit of the row XORed onto the phase.

    >>> [RotatingShared(1, 1, 2, (1, 0))._phase(row) for row in range(4)]
    [0, 1, 1, 0]
    """

    mnemonic: ClassVar[str] = "#ttg.amd_rotating_shared"

    def _phase(self, row: int) -> int:
        """What is XORed onto the columns of a row, in units of `vec`."""
        return row // self.per_phase % self.max_phase ^ row // self.max_phase // self.per_phase % self.max_phase

    @property
    def _rows(self) -> int:
        """After how many rows the phases repeat."""
        return self.per_phase * self.max_phase**2
