"""Blackwell's tensor memory: `#ttng.tensor_memory_encoding` of accumulators, `#ttng.tensor_memory_scales_encoding` of scales.

Tensor memory has 128 rows and columns of 32 bits. A block of 128 rows has a row in each; one of 64 rows leaves every second
group of 16 rows to the next block:

>>> TensorMemory(64, 32).to_linear((64, 64)).bases_of("row")
((1, 0), (2, 0), (4, 0), (8, 0), (0, 32), (16, 0), (32, 0))
>>> print(TensorMemory(128, 64, 2))
#ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 2>
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from layoutalg.core.errors import DistributionError, VerificationError
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import as_flag, whole_number
from layoutalg.triton.encodings.encoding import Encoding, Inputs, as_bases_field, as_sizes_field
from layoutalg.triton.encodings.product import Product, check_cga, of_cluster, per_cta
from layoutalg.triton.given import Bases
from layoutalg.triton.linear import LinearLayout, bases_text

__all__ = ["TensorMemory", "TensorMemoryScales"]


@dataclass(frozen=True, slots=True)
class TensorMemory(Encoding):
    """`#ttng.tensor_memory_encoding`: blocks of 64 or 128 rows by `block_n` columns, `col_stride` cells apart.

    Raises `VerificationError` in Triton's words.

    >>> TensorMemory(128, 64, 3)
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: colStride must be 1, 2, or 4 but got but got 3
    """

    block_m: int
    block_n: int
    col_stride: int = 1
    cga: Bases = ()
    two_ctas: bool = False
    fp4_padded: bool = False

    kind: ClassVar[Inputs] = "tensor memory"

    def __post_init__(self) -> None:
        if self._whole("block_m", "blockM =", 0, 2**20) not in (64, 128):
            raise VerificationError(f"blockM must be 64 or 128 but got {self.block_m}")
        as_sizes_field("blockN", [self._whole("block_n", "blockN =", 0, 2**20)])
        if self._whole("col_stride", "colStride =", 0, 2**20) not in (1, 2, 4):
            raise VerificationError(f"colStride must be 1, 2, or 4 but got but got {self.col_stride}")
        object.__setattr__(self, "cga", as_bases_field("CGALayout", self.cga))
        object.__setattr__(self, "two_ctas", as_flag(self.two_ctas, "twoCTAs", VerificationError))
        object.__setattr__(self, "fp4_padded", as_flag(self.fp4_padded, "fp4Padded", VerificationError))
        if self.fp4_padded and self.col_stride != 1:
            raise VerificationError(f"fp4Padded tensor memory layout requires colStride 1 but got {self.col_stride}")
        if self.two_ctas and self.cga[:1] != ((1, 0),):
            raise VerificationError("twoCTAs layout requires the first CGALayout block basis to be [1, 0]")
        check_cga(self.cga, 2)

    @property
    def rank(self) -> int:
        """The dimensions of the tensor."""
        return 2

    def __str__(self) -> str:
        cga = f", CGALayout = {bases_text(self.cga)}" if self.cga else ""
        flags = ", twoCTAs = true" * self.two_ctas + ", fp4Padded = true" * self.fp4_padded
        return (
            f"#ttng.tensor_memory_encoding<blockM = {self.block_m}, blockN = {self.block_n}, "
            f"colStride = {self.col_stride}{cga}{flags}>"
        )

    def _once(self) -> tuple[int, ...]:
        return of_cluster(self.cga, (self.block_m, self.block_n))

    def check_element(self, bits: int) -> None:
        """Refuse elements that are too wide for their cells, in Triton's words."""
        if whole_number(bits, "bits =", 1, 2**20) * self.col_stride > 32:
            raise VerificationError(
                f"bitwidth * colStride must be less than or equal to 32. Got {bits} and {self.col_stride}"
            )

    def _linear(self, shape: tuple[int, ...]) -> LinearLayout:
        """The layout for a shape that has been checked."""
        inside, _ = per_cta(self.cga, shape)
        n = min(self.block_n, inside[1])
        ctas = [size // part for size, part in zip(shape, inside, strict=True)]
        wanted = (self.block_m * ctas[0], min(self.block_n, shape[1]) * ctas[1])
        if shape[0] < wanted[0] or shape[1] < wanted[1]:
            got = ", ".join(map(str, shape))
            raise DistributionError(f"the tensor shape must be at least {wanted[0]}x{wanted[1]}. Got {got}")
        cells = Product(2, ("row", "col")).put(self.col_stride, "col")
        if self.fp4_padded:
            cells.put(2, "col")
        if self.block_m == 128:
            cells.put(128, "row", 0).put(n, "col", 1)
        elif self.two_ctas:
            cells.put(64, "row", 0).put(n, "col", 1)
            cells.bases["row"].append(cells.bases["col"].pop())
        else:
            cells.put(16, "row", 0).put(n, "col", 1)
            if inside[0] > 64:
                cells.bases["row"].append((64, 0))
            elif inside[1] > n:
                cells.bases["row"].append((0, n))
                cells.sizes[1] *= 2
            else:
                cells.put(2, "row")
            cells.put(4, "row", 0)
            if inside[0] > 64:
                cells.sizes[0] *= 2
        for d in (0, 1):
            cells.put(max(1, inside[d] // cells.sizes[d]), "col", d)
        return cells.fit((), self.cga, shape)


@dataclass(frozen=True, slots=True)
class TensorMemoryScales(Encoding):
    """`#ttng.tensor_memory_scales_encoding`: 32 rows held by each of four warps, four columns of scales to a cell.

    `order` is None, or "kThenMn" where repetitions along the columns come first.

    >>> TensorMemoryScales().to_linear((64, 4)).bases_of("col")
    ((0, 1), (0, 2), (32, 0))
    """

    cga: Bases = ()
    order: str | None = None

    kind: ClassVar[Inputs] = "tensor memory"

    def __post_init__(self) -> None:
        object.__setattr__(self, "cga", as_bases_field("CGALayout", self.cga))
        check_cga(self.cga, 2)
        if self.order is not None and not (isinstance(self.order, str) and self.order == "kThenMn"):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise VerificationError(f"blockRepOrder = {shown(self.order)}: expected mnThenK or kThenMn")

    @property
    def rank(self) -> int:
        """The dimensions of the tensor."""
        return 2

    def __str__(self) -> str:
        parts = [f"CGALayout = {bases_text(self.cga)}"] if self.cga else []
        if self.order is not None:
            parts.append(f"blockRepOrder = {self.order}")
        return f"#ttng.tensor_memory_scales_encoding<{', '.join(parts)}>"

    def check_element(self, bits: int) -> None:
        """Refuse elements that are no scales, in Triton's words."""
        if whole_number(bits, "bits =", 1, 2**20) != 8:
            raise VerificationError(f"bitwidth must be 8; found {bits}")

    def _linear(self, shape: tuple[int, ...]) -> LinearLayout:
        """The layout for a shape that has been checked."""
        inside, _ = per_cta(self.cga, shape)
        cells = Product(2, ("row", "col")).put(32, "row", 0).put(4, "row").put(4, "col", 1).put(2, "col", 0)
        if inside[0] > 64:
            cells.put(2, "col", 0)
        for d in (1, 0) if self.order else (0, 1):
            cells.put(max(1, inside[d] // cells.sizes[d]), "col", d)
        return cells.fit((), self.cga, shape)
