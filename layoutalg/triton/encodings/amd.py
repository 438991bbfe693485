"""`#ttg.amd_mfma` (CDNA) and `#ttg.amd_wmma` (RDNA): accumulators of AMD's matrix instructions, and their operands.

Of mfma_32x32x8 a lane holds 4 consecutive rows of a column; transposed, 4 consecutive columns of a row:

>>> mfma = AmdMfma(3, (1, 1), (32, 32, 8), False)
>>> mfma.to_linear((32, 32)).register
((1, 0), (2, 0), (8, 0), (16, 0))
>>> AmdMfma(3, (1, 1), (32, 32, 8), True).to_linear((32, 32)).register
((0, 1), (0, 2), (0, 8), (0, 16))

`cta_warp` and `cta_register` of wmma are bases in units of its tile: how warps and registers repeat it, XOR included.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutalg.core.errors import VerificationError
from layoutalg.core.whole_numbers import as_flag
from layoutalg.triton.encodings.encoding import Tiled, as_bases_field, as_sizes_field, key_text
from layoutalg.triton.encodings.product import Product, Tiling, check_cga
from layoutalg.triton.given import Bases
from layoutalg.triton.linear import bases_text

__all__ = ["AmdMfma", "AmdWmma"]

_WMMA_SHAPES: dict[int, tuple[tuple[int, ...], ...]] = {
    1: ((16, 16, 16),),
    2: ((16, 16, 16), (16, 16, 32)),
    3: ((16, 16, 4), (16, 16, 32), (16, 16, 64), (16, 16, 128), (32, 16, 64), (32, 16, 128)),
}
"""The instructions of each version, as Triton 3.9 takes them."""
_WMMA_WIDTHS = {
    1: ((8, 16), "ttg.dot_op kWidth parameter must be 8/16 for WMMA v1 (including packed cases for `scaled_dot`)"),
    2: ((4, 8, 16), "ttg.dot_op kWidth parameter must be 4/8/16 for WMMA v2 (including packed cases for `scaled_dot`)"),
}


@dataclass(frozen=True, slots=True)
class AmdMfma(Tiled):
    """`#ttg.amd_mfma`: versions 1 to 4 are gfx908, gfx90a, gfx942 and gfx950; warps have 64 lanes.

    `instr_shape` is (m, n, k), or (m, n) of a text of an older Triton. `tiles_per_warp` counts tiles that a warp holds side by
    side; `element_bits` is 64 for f64.

    Raises `VerificationError` for an (m, n) that is not 32x32, 16x16, 64x4 or 4x64.

    >>> AmdMfma(3, (2, 2), (32, 16, 8), True)
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: invalid (mDim, nDim) combination: (32, 16)
    """

    version: int
    warps_per_cta: tuple[int, ...]
    instr_shape: tuple[int, ...]
    is_transposed: bool
    cga: Bases = ()
    tiles_per_warp: tuple[int, ...] = ()
    element_bits: int = 32

    def __post_init__(self) -> None:
        version = self._whole("version", "version =", -(2**31), 2**31 - 1)
        if not 1 <= version <= 4:
            raise VerificationError(f"MFMA version must be in the [1, 4] range; found {version}")
        object.__setattr__(self, "warps_per_cta", as_sizes_field("warpsPerCTA", self.warps_per_cta))
        object.__setattr__(self, "instr_shape", as_sizes_field("instrShape", self.instr_shape, 0))
        object.__setattr__(self, "is_transposed", as_flag(self.is_transposed, "isTransposed", VerificationError))
        object.__setattr__(self, "cga", as_bases_field("CGALayout", self.cga))
        tiles = as_sizes_field("tilesPerWarp", self.tiles_per_warp)
        object.__setattr__(self, "tiles_per_warp", () if set(tiles) <= {1} else tiles)
        if self.rank < 2:
            raise VerificationError(f"warpsPerCTA = {list(self.warps_per_cta)}: expected at least 2 dimensions")
        check_cga(self.cga, self.rank)
        if len(self.instr_shape) not in (2, 3):
            raise VerificationError(
                f"instrShape = {list(self.instr_shape)}: instr_shape must follow the (M, N, K) format"
            )
        m, n = self.instr_shape[:2]
        if (m, n) not in ((32, 32), (16, 16), (64, 4), (4, 64)):
            raise VerificationError(f"invalid (mDim, nDim) combination: ({m}, {n})")
        if (m, n) == (64, 4) and not self.is_transposed:
            raise VerificationError("64x4 mfma must be transposed: found isTransposed = false")
        if self.tiles_per_warp and len(self.tiles_per_warp) < self.rank:
            raise VerificationError(
                f"tilesPerWarp = {list(self.tiles_per_warp)}: expected {self.rank} entries, one per dimension"
            )
        bits = self._whole("element_bits", "elementBitWidth =", 1, 2**20)
        if bits not in (32, 64):
            raise VerificationError(f"elementBitWidth must be 32 or 64; found {bits}")

    @property
    def rank(self) -> int:
        """The dimensions of the tensor."""
        return len(self.warps_per_cta)

    @property
    def _tiles(self) -> tuple[int, ...]:
        return self.tiles_per_warp or (1,) * self.rank

    def __str__(self) -> str:
        keys: dict[str, object] = {"version": self.version}
        if len(self.instr_shape) == 2:  # today's Triton has no text for it
            keys = {"versionMajor": self.version, "versionMinor": 0}
        keys |= {
            "warpsPerCTA": self.warps_per_cta,
            "instrShape": self.instr_shape,
            "isTransposed": self.is_transposed,
            "CGALayout": self.cga or None,
            "tilesPerWarp": self.tiles_per_warp or None,
            "elementBitWidth": self.element_bits if self.element_bits != 32 else None,
        }
        return f"#ttg.amd_mfma<{key_text(keys)}>"

    def _tiling(self, shape: tuple[int, ...]) -> Tiling:
        """The pieces, for a shape that has been checked."""
        last = self.rank - 1
        rows, columns = last - 1, last
        m, n = self.instr_shape[:2]
        run = 1 if self.element_bits == 64 else 4
        fast, slow, lead = (columns, rows, m) if self.is_transposed else (rows, columns, n)
        tile = Product(self.rank).put(run, "register", fast).put(lead, "lane", slow).put(64 // lead, "lane", fast)
        tile.put(max(1, m * n // (64 * run)), "register", fast)
        warps, tiles = self.warps_per_cta, self._tiles
        tile.put(tiles[columns], "register", columns).put(warps[columns], "warp", columns)
        # Triton fills the whole row of the tensor before it goes on to rows.
        tile.put(max(1, shape[columns] // (n * warps[columns] * tiles[columns])), "register", columns)
        tile.put(tiles[rows], "register", rows).put(warps[rows], "warp", rows)
        for d in range(rows - 1, -1, -1):
            tile.put(warps[d], "warp", d)
        return Tiling(tile, range(last, -1, -1), self.cga)

    def _check_dot(self, index: int, width: int) -> None:
        """Refuse what Triton refuses of `#ttg.dot_op` with this parent."""
        if not width:
            raise VerificationError("ttg.dot_op kWidth parameter is mandatory for MFMA parent")

    def _dot_operand(self, index: int, width: int, shape: tuple[int, ...]) -> Tiling:
        """The pieces of operand A (0) or B (1) of a `tt.dot` with this result."""
        rank = self.rank
        k, free = rank - 1 - index, rank - 2 + index
        outer, other = self.instr_shape[index], self.instr_shape[1 - index]
        # 64x4 and 4x64: the operand with 64 rows takes 16 steps along K at once.
        steps = 16 if (outer, other) == (64, 4) else 1
        tile = Product(rank).put(width, "register", k).put(outer, "lane", free).put(max(1, 64 // outer), "lane", k)
        tile.put(steps, "register", k)
        tile.put(max(1, shape[k] // (max(1, 64 // outer) * width * steps)), "register", k)
        tile.put(self._tiles[free], "register", free)
        for d in range(rank - 1, -1, -1):
            tile.put(self.warps_per_cta[d], "warp", d)
        return Tiling(tile, [k, free, *range(rank - 3, -1, -1)], self.cga)

    @property
    def notes(self) -> tuple[str, ...]:
        """What Triton loses or scrambles in such an attribute."""
        if len(self.instr_shape) == 2:
            return (*self.remarks, "instrShape has no K, as in older Tritons: Triton 3.9 has no text for this layout")
        return self.remarks


@dataclass(frozen=True, slots=True)
class AmdWmma(Tiled):
    """`#ttg.amd_wmma`: versions 1 to 3 are RDNA3, RDNA4 and gfx1250; warps have 32 lanes.

    `cta_register` and `cta_warp` are the bases of `ctaLayout`, in tiles of the instruction; `dims` is the rank.

    Raises `VerificationError` in Triton's words.

    >>> AmdWmma(4, False, ((0, 1),))
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: WMMA version must be in the [1, 3] range; found 4
    """

    version: int
    is_transposed: bool
    cta_warp: Bases
    cta_register: Bases = ()
    cga: Bases = ()
    instr_shape: tuple[int, ...] = (16, 16, 16)
    dims: int = 2

    def __post_init__(self) -> None:
        version = self._whole("version", "version =", -(2**31), 2**31 - 1)
        if not 1 <= version <= 3:
            raise VerificationError(f"WMMA version must be in the [1, 3] range; found {version}")
        dims = self._whole("dims", "rank =", 2, 16)
        object.__setattr__(self, "is_transposed", as_flag(self.is_transposed, "isTranspose", VerificationError))
        for name in ("cta_warp", "cta_register", "cga"):
            object.__setattr__(self, name, as_bases_field(name, getattr(self, name)))
        object.__setattr__(self, "instr_shape", as_sizes_field("instrShape", self.instr_shape))
        check_cga(self.cga, self.rank)
        for basis in (*self.cta_warp, *self.cta_register):
            if len(basis) != dims:
                raise VerificationError(
                    f"Serialized rank and rank deduced from LL need to match: ctaLayout has the basis {list(basis)} and the "
                    f"rank is {dims} (add `rank = {len(basis)}`; Triton 3.9 prints texts without it, and does not read them)"
                )
        if self.instr_shape not in _WMMA_SHAPES[version]:
            found = " or ".join(str(list(one)) for one in _WMMA_SHAPES[version])
            raise VerificationError(
                f"invalid WMMA v{version} instruction shape; found {list(self.instr_shape)}, expected {found}"
            )

    @property
    def rank(self) -> int:
        """The dimensions of the tensor."""
        return self.dims

    def __str__(self) -> str:
        parts = [("register", self.cta_register), ("warp", self.cta_warp)]
        layout = ", ".join(f"{name} = {bases_text(bases)}" for name, bases in parts if bases)
        keys: dict[str, object] = {
            "version": self.version,
            "isTranspose": self.is_transposed,
            "ctaLayout": f"{{{layout}}}",
            "CGALayout": self.cga or None,
            "instrShape": self.instr_shape if self.instr_shape != (16, 16, 16) else None,
        }
        return f"#ttg.amd_wmma<{key_text(keys)}>"

    @property
    def notes(self) -> tuple[str, ...]:
        """What Triton loses or scrambles in such an attribute."""
        if self.rank > 2:
            return (
                *self.remarks,
                f"Triton 3.9 prints this without `rank = {self.rank}`, and does not read such a text",
            )
        return self.remarks

    def _repeat(self, tile: Product, unit: list[int], without: int | None = None) -> None:
        """Add ctaLayout's bases in units of the tile; the dimension `without` is zeroed, and registers that move nothing go."""
        for name, bases in (("register", self.cta_register), ("warp", self.cta_warp)):
            for basis in bases:
                moved = tuple([0 if d == without else b * u for d, (b, u) in enumerate(zip(basis, unit, strict=True))])
                if any(moved) or name == "warp" or without is None:
                    tile.add(name, moved)

    def _tiling(self, shape: tuple[int, ...]) -> Tiling:
        """The pieces, for a shape that has been checked."""
        rank = self.rank
        across, down = (rank - 2, rank - 1) if self.is_transposed else (rank - 1, rank - 2)
        tile = Product(rank)
        if self.version == 1:
            tile.skip(8, "register", down, 2).put(16, "lane", across).skip(2, "lane", down, 1)
        else:
            tile.put(8, "register", down)
            tile.put(16, "lane", across).put(2, "lane", down)
            if self.instr_shape[0] == 32:
                tile.put(2, "register", down)
        self._repeat(tile, list(tile.sizes))
        return Tiling(tile, range(rank - 1, -1, -1), self.cga)

    def _check_dot(self, index: int, width: int) -> None:
        """Refuse what Triton refuses of `#ttg.dot_op` with this parent."""
        widths, words = _WMMA_WIDTHS.get(self.version, ((), ""))
        if self.version == 3 and not width:
            raise VerificationError("ttg.dot_op kWidth parameter is mandatory for WMMA v3 ")
        if widths and width not in widths:
            raise VerificationError(words)

    def _dot_operand(self, index: int, width: int, shape: tuple[int, ...]) -> Tiling:
        """The pieces of operand A (0) or B (1) of a `tt.dot` with this result."""
        rank = self.rank
        k, free = rank - 1 - index, rank - 2 + index
        m, n, depth = self.instr_shape
        outer = (m, n)[1 - index if self.is_transposed and m != n else index]
        tile = Product(rank).put(width, "register", k).put(16, "lane", free)
        tile.put(2, "lane", None if self.version == 1 else k)
        tile.put(max(1, depth // (2 * width)), "register", k).put(outer // 16, "register", free)
        self._repeat(tile, [outer if d == free else 1 for d in range(rank)], without=k)
        cga = tuple([tuple([0 if d == k else b for d, b in enumerate(basis)]) for basis in self.cga])
        return Tiling(tile, [k, free, *range(rank - 3, -1, -1)], cga)
