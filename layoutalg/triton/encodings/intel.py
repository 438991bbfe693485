"""`#ttig.dpas`: the accumulator of Intel's DPAS, and its operands, as Intel's backend for Triton has them.

A DPAS of `repeatCount` rows, `executionSize` columns and a depth of `systolicDepth * opsPerChan`, repeated `repCluster` times
within a warp. Of an 8x16 accumulator a warp of 16 lanes has a column in each lane:

>>> dpas = Dpas(8, 8, 16, 2, 16, (1, 1), (1, 1))
>>> print(dpas.to_linear((8, 16)))
#ttg.linear<{register = [[1, 0], [2, 0], [4, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8]], warp = [], block = []}>
>>> print(dpas)
#ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16,
warpsPerCTA = [1, 1], repCluster = [1, 1], A = [8, 16], B = [16, 16], C = [8, 16]}>

The formulas are those of DPASToLinearLayout in intel-xpu-backend-for-triton, and agree with its unit tests.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutalg.core.errors import VerificationError
from layoutalg.triton.encodings.encoding import Distributed, as_sizes_field, key_text
from layoutalg.triton.encodings.product import Product
from layoutalg.triton.linear import LinearLayout

__all__ = ["Dpas"]


@dataclass(frozen=True, slots=True)
class Dpas(Distributed):
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

    def _linear(self, shape: tuple[int, ...]) -> LinearLayout:
        """The layout for a shape that has been checked."""
        rows, columns = self.rank - 2, self.rank - 1
        high = self.threads_per_warp // self.execution_size
        tile = Product(self.rank).put(self.execution_size, "lane", columns).put(high, "lane", rows)
        tile.put(self.repeat_count // high, "register", rows)
        tile.put(self.rep_cluster[columns], "register", columns).put(self.rep_cluster[rows], "register", rows)
        return self._warps(tile, None).fit(range(self.rank - 1, -1, -1), (), shape)

    def _check_dot(self, index: int, width: int) -> None:
        """Refuse what Triton refuses of `#ttg.dot_op` with this parent."""
        wanted = self.ops_per_chan if index else max(1, self.ops_per_chan // 2)
        if width != wanted:
            raise VerificationError(
                f"ttg.dot_op kWidth parameter must be {wanted} for opIdx {index} of a DPAS of opsPerChan {self.ops_per_chan}"
            )

    def _dot_operand(self, index: int, width: int, shape: tuple[int, ...]) -> LinearLayout:
        """The layout of operand A (0) or B (1) of a `tt.dot` with this result."""
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
        return self._warps(tile, k).fit(order, (), shape)
