"""`#ttig.dpas`: the accumulator of Intel's DPAS, and its operands, as Intel's backend for Triton has them; and its 2D blocks.

A DPAS of `repeatCount` rows, `executionSize` columns and a depth of `systolicDepth * opsPerChan`, repeated `repCluster` times
within a warp. Of an 8x16 accumulator a warp of 16 lanes has a column in each lane:

>>> dpas = Dpas(8, 8, 16, 2, 16, (1, 1), (1, 1))
>>> print(dpas.to_linear((8, 16)))
#ttg.linear<{register = [[1, 0], [2, 0], [4, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8]], warp = [], block = []}>
>>> print(dpas)
#ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16,
warpsPerCTA = [1, 1], repCluster = [1, 1], A = [8, 16], B = [16, 16], C = [8, 16]}>

The formulas are those of DPASToLinearLayout and subgroup2DBlockToLinearLayout in intel-xpu-backend-for-triton,
and agree with its unit tests.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutalg.core.errors import VerificationError
from layoutalg.triton.encodings.encoding import Tiled, as_bases_field, as_sizes_field, key_text
from layoutalg.triton.encodings.product import Product, Tiling, check_cga
from layoutalg.triton.given import Bases

__all__ = ["Dpas", "Subgroup2DBlock"]


@dataclass(frozen=True, slots=True)
class Dpas(Tiled):
    """`#ttig.dpas`; one CTA always.

    Raises `VerificationError` for sizes that are not powers of two or do not fit a warp.

    >>> Dpas(8, 8, 16, 3, 16, (1, 1), (1, 1))
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: Every element in opsPerChan must be a power of two.; found [3]
    """

    repeat_count: int
    systolic_depth: int
    execution_size: int
    ops_per_chan: int
    threads_per_warp: int
    warps_per_cta: tuple[int, ...]
    rep_cluster: tuple[int, ...]
    fp4_k_pack: int | None = None

    def __post_init__(self) -> None:
        for name, field in (
            ("repeatCount", "repeat_count"),
            ("systolicDepth", "systolic_depth"),
            ("executionSize", "execution_size"),
            ("opsPerChan", "ops_per_chan"),
            ("threadsPerWarp", "threads_per_warp"),
        ):
            as_sizes_field(name, [self._whole(field, f"{name} =", 0, 1024)])
        object.__setattr__(self, "warps_per_cta", as_sizes_field("warpsPerCTA", self.warps_per_cta))
        object.__setattr__(self, "rep_cluster", as_sizes_field("repCluster", self.rep_cluster))
        if not 2 <= len(self.warps_per_cta) == len(self.rep_cluster) <= 3:
            raise VerificationError(
                f"warpsPerCTA = {list(self.warps_per_cta)}, repCluster = {list(self.rep_cluster)}: expected 2 or 3 entries "
                "in both"
            )
        lanes, channels = self.threads_per_warp, self.execution_size
        # More lanes than rows of the instruction: the others have the next rows, as Intel's formula says.
        if lanes < channels:
            raise VerificationError(f"threadsPerWarp = {lanes}: expected at least executionSize = {channels}")
        if self.fp4_k_pack is not None:
            as_sizes_field("fp4KPack", [self._whole("fp4_k_pack", "fp4KPack =", 0, 1024)])

    @property
    def rank(self) -> int:
        """The dimensions of the tensor."""
        return len(self.warps_per_cta)

    def __str__(self) -> str:
        rows, depth = self.repeat_count, self.systolic_depth * self.ops_per_chan
        down, across = self.rep_cluster[-2:]
        ones = self.rep_cluster[:-2]
        keys: dict[str, object] = {
            "repeatCount": self.repeat_count,
            "systolicDepth": self.systolic_depth,
            "executionSize": self.execution_size,
            "opsPerChan": self.ops_per_chan,
            "fp4KPack": self.fp4_k_pack,
            "threadsPerWarp": self.threads_per_warp,
            "warpsPerCTA": self.warps_per_cta,
            "repCluster": self.rep_cluster,
            "A": (*ones, rows * down, depth),
            "B": (*ones, depth, self.execution_size * across),
            "C": (*ones, rows * down, self.execution_size * across),
        }
        return f"#ttig.dpas<{key_text(keys)}>"

    def _warps(self, tile: Product, without: int | None) -> Product:
        for d in range(self.rank - 1, -1, -1):
            tile.put(self.warps_per_cta[d], "warp", None if d == without else d)
        return tile

    def _tiling(self, shape: tuple[int, ...]) -> Tiling:
        """The pieces, for a shape that has been checked."""
        rows, columns = self.rank - 2, self.rank - 1
        high = self.threads_per_warp // self.execution_size
        tile = Product(self.rank).put(self.execution_size, "lane", columns).put(high, "lane", rows)
        tile.put(self.repeat_count // high, "register", rows)
        tile.put(self.rep_cluster[columns], "register", columns).put(self.rep_cluster[rows], "register", rows)
        return Tiling(self._warps(tile, None), range(self.rank - 1, -1, -1))

    def _check_dot(self, index: int, width: int) -> None:
        """Refuse what Triton refuses of `#ttg.dot_op` with this parent."""
        wanted = self.ops_per_chan if index else max(1, self.ops_per_chan // 2)
        if width != wanted:
            raise VerificationError(
                f"ttg.dot_op kWidth parameter must be {wanted} for opIdx {index} of a DPAS of opsPerChan {self.ops_per_chan}"
            )

    def _dot_operand(self, index: int, width: int, shape: tuple[int, ...]) -> Tiling:
        """The pieces of operand A (0) or B (1) of a `tt.dot` with this result."""
        rank = self.rank
        k, free = rank - 1 - index, rank - 2 + index
        lanes, channels, ops = self.threads_per_warp, self.execution_size, self.ops_per_chan
        tile = Product(rank)
        if index:
            tile.put(ops, "register", k).put(channels, "lane", free).put(lanes // channels, "lane", k)
            tile.put(max(1, self.systolic_depth * channels // lanes), "register", k)
        else:
            packed = 2 if ops == 4 else 1
            across = self.systolic_depth * ops // packed
            tile.put(packed, "register", k).put(min(across, lanes), "lane", k).put(
                max(1, across // lanes), "register", k
            )
            down = max(1, lanes // across)
            tile.put(down, "lane", free).put(max(1, self.repeat_count // down), "register", free)
        tile.put(self.rep_cluster[free], "register", free)
        order = [k, free, *range(rank - 3, -1, -1)]
        return Tiling(self._warps(tile, k), order)


@dataclass(frozen=True, slots=True)
class Subgroup2DBlock(Tiled):
    """`#ttig.subgroup_2d_block`: what 2D block loads deliver; `order` begins with the dimension that warps share.

    Raises `VerificationError` in Triton's words.

    >>> print(Subgroup2DBlock((2, 1), (8, 16), 2, (1, 0), 2, 16).to_linear((16, 32)))
    #ttg.linear<{register = [[1, 0], [2, 0], [4, 0], [0, 16]], lane = [[0, 1], [0, 2], [0, 4], [0, 8]], warp = [[8, 0]],
    block = []}>
    """

    warps_per_cta: tuple[int, ...]
    instr_shape: tuple[int, ...]
    num_blocks: int
    order: tuple[int, ...]
    k_width: int
    threads_per_warp: int = 16
    cga: Bases = ()

    def __post_init__(self) -> None:
        for name, field in (("warpsPerCTA", "warps_per_cta"), ("instrShape", "instr_shape"), ("order", "order")):
            sizes = as_sizes_field(name, getattr(self, field), 0 if field == "order" else 1)
            object.__setattr__(self, field, sizes)
            if len(sizes) != 2:
                raise VerificationError(f"{name} must be rank 2 but was {len(sizes)}")
        if sorted(self.order) != [0, 1]:
            raise VerificationError(f"order must be a permutation of 0..1, but was {list(self.order)}")
        as_sizes_field("numBlocks", [self._whole("num_blocks", "numBlocks =", 0, 1024)])
        if self._whole("k_width", "kWidth =", 0, 1024) not in (1, 2, 4):
            raise VerificationError(f"kWidth must be 1, 2 or 4, but was: {self.k_width}")
        if self._whole("threads_per_warp", "threadsPerWarp =", 0, 1024) != 16:
            raise VerificationError(f"threadsPerWarp must be 16, but was: {self.threads_per_warp}")
        object.__setattr__(self, "cga", as_bases_field("CGALayout", self.cga))
        check_cga(self.cga, 2)

    @property
    def rank(self) -> int:
        """The dimensions of the tensor."""
        return 2

    def __str__(self) -> str:
        keys: dict[str, object] = {
            "warpsPerCTA": self.warps_per_cta,
            "CGALayout": self.cga or None,
            "instrShape": self.instr_shape,
            "numBlocks": self.num_blocks,
            "order": self.order,
            "kWidth": self.k_width,
            "threadsPerWarp": self.threads_per_warp,
        }
        return f"#ttig.subgroup_2d_block<{key_text(keys)}>"

    def _tiling(self, shape: tuple[int, ...]) -> Tiling:
        """The pieces, for a shape that has been checked."""
        (height, width), lanes, shared = self.instr_shape, self.threads_per_warp, self.order[0]
        across, down = min(width, lanes), max(1, lanes // width)
        tile = Product(2).put(max(1, width // lanes), "register", 1).put(across, "lane", 1).put(down, "lane", 0)
        tile.put(max(1, height // down), "register", 0).put(self.num_blocks, "register", 1)
        for dim in (1, 0):
            tile.put(self.warps_per_cta[dim], "warp", None if dim == shared else dim)
        return Tiling(tile, (0, 1), self.cga)
