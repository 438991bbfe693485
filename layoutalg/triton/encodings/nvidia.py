"""`#ttg.nvidia_mma`: the accumulators of Ampere's mma.sync (version 2) and Hopper's wgmma (version 3), and their operands.

Both are made of one tile: `width` registers and 4 lanes along a row, 8 lanes down, then 8 rows and the other columns in
registers. The accumulator of m16n8 is such a tile with 2 registers along a row, and A of m16n8k16 is one with kWidth = 2
along K:

>>> mma = NvidiaMma(2, 0, (1, 1), (16, 8))
>>> print(mma.to_linear((16, 8)))
#ttg.linear<{register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []}>
>>> from layoutalg.triton.encodings import DotOperand
>>> DotOperand(0, mma, 2).to_linear((16, 16)).register
((0, 1), (8, 0), (0, 8))

Version 5 (Blackwell) has its accumulators in tensor memory, and version 1 (Volta) is gone: both are refused, as Triton does.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutalg.core.errors import DistributionError, VerificationError
from layoutalg.triton.encodings.encoding import Tiled, as_bases_field, as_sizes_field, key_text
from layoutalg.triton.encodings.product import Product, Tiling, check_cga
from layoutalg.triton.given import Bases

__all__ = ["NvidiaMma"]


@dataclass(frozen=True, slots=True)
class NvidiaMma(Tiled):
    """`#ttg.nvidia_mma`; `instr_shape` is [16, 8] for version 2 (rank 3: [1, 16, 8]; fp64: [8, 8]), [16, n, k] for version 3.

    Raises `VerificationError` for other versions and for shapes of instructions that do not exist.

    >>> NvidiaMma(5, 0, (4, 2), (16, 8))
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: versionMajor must be 2 (Ampere) or 3 (Hopper), got 5
    """

    version_major: int
    version_minor: int
    warps_per_cta: tuple[int, ...]
    instr_shape: tuple[int, ...]
    cga: Bases = ()

    def __post_init__(self) -> None:
        major = self._whole("version_major", "versionMajor =", 0, 100)
        self._whole("version_minor", "versionMinor =", 0, 100)
        if major == 1:
            raise VerificationError("Volta (versionMajor = 1) is deprecated and no longer supported")
        if major not in (2, 3):
            raise VerificationError(f"versionMajor must be 2 (Ampere) or 3 (Hopper), got {major}")
        object.__setattr__(self, "warps_per_cta", as_sizes_field("warpsPerCTA", self.warps_per_cta))
        object.__setattr__(self, "instr_shape", as_sizes_field("instrShape", self.instr_shape, 0))
        object.__setattr__(self, "cga", as_bases_field("CGALayout", self.cga))
        if self.rank < 2:
            raise VerificationError(f"warpsPerCTA = {list(self.warps_per_cta)}: expected at least 2 dimensions")
        check_cga(self.cga, self.rank)
        # Version 2 names the batch too, [1, 16, 8]; version 3 names K, [16, n, k].
        entries = self.rank if major == 2 else 3
        wanted = "[16, 8] or [8, 8], with a 1 for each batch dimension" if major == 2 else "[16, n, k]"
        shape = self.instr_shape
        if len(shape) != entries or any(n < 1 for n in shape) or any(n & (n - 1) for n in self._tile):
            raise VerificationError(f"instrShape = {list(shape)}: expected {wanted}, m and n powers of two")
        m, n = self._tile
        if n < 8 or m not in ((8, 16) if major == 2 else (16,)):
            raise VerificationError(f"instrShape = {list(shape)}: expected {wanted}, n at least 8")

    @property
    def _tile(self) -> tuple[int, int]:
        """m and n of the instruction."""
        m, n = self.instr_shape[-2:] if self.version_major == 2 else self.instr_shape[:2]
        return m, n

    @property
    def rank(self) -> int:
        """The dimensions of the tensor."""
        return len(self.warps_per_cta)

    def __str__(self) -> str:
        keys: dict[str, object] = {
            "versionMajor": self.version_major,
            "versionMinor": self.version_minor,
            "warpsPerCTA": self.warps_per_cta,
            "CGALayout": self.cga or None,
            "instrShape": self.instr_shape,
        }
        return f"#ttg.nvidia_mma<{key_text(keys)}>"

    @property
    def _warp_order(self) -> tuple[int, ...]:
        """Warps count along the last dimension first; Hopper's along the rows."""
        order = tuple(range(self.rank))
        return order if self.version_major == 3 else order[::-1]

    def _tiling(self, shape: tuple[int, ...]) -> Tiling:
        """The pieces, for a shape that has been checked."""
        if self.version_major == 3 and self.rank != 2:
            raise DistributionError(
                f"{self} of rank {self.rank}: a result of Hopper's mma has 2 dimensions (an operand may have 3)"
            )
        m, n = self._tile
        tile = _tile(Product(self.rank), m, n, 2, self.rank - 1, self.rank - 2)
        for d in self._warp_order:
            tile.put(self.warps_per_cta[d], "warp", d)
        return Tiling(tile, range(self.rank - 1, -1, -1), self.cga)

    def _check_dot(self, index: int, width: int) -> None:
        """Refuse what Triton refuses of `#ttg.dot_op` with this parent."""
        if not width:
            raise VerificationError("ttg.dot_op kWidth parameter is mandatory for Ampere or Hopper MMA parent")
        if self.version_major == 3 and index:
            raise VerificationError(
                "ttg.dot_op opIdx parameter must be 0 for Hopper MMA parent, since Hopper WGMMA only "
                "allows operand A in registers"
            )

    def _dot_operand(self, index: int, width: int, shape: tuple[int, ...]) -> Tiling:
        """The pieces of operand A (0) or B (1) of a `tt.dot` with this result."""
        rank = self.rank
        k, free = rank - 1 - index, rank - 2 + index
        m = self.instr_shape[rank - 2]  # Triton's oddity: n, for three dimensions of Hopper
        tile = _tile(Product(rank), 8 if index else m, width * (4 if m == 8 else 8), width, k, free)
        for d in self._warp_order:
            tile.put(self.warps_per_cta[d], "warp", None if d == k else d)
        cga = tuple([tuple([0 if d == k else b for d, b in enumerate(basis)]) for basis in self.cga])
        return Tiling(tile, [k, free, *range(rank - 3, -1, -1)], cga)


def _tile(product: Product, rows: int, columns: int, width: int, inner: int, outer: int) -> Product:
    product.put(width, "register", inner).put(4, "lane", inner).put(8, "lane", outer)
    return product.put(rows // 8, "register", outer).put(max(1, columns // (4 * width)), "register", inner)
