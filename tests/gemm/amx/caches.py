"""The emitted loops, walked one by one: what is loaded, and what a cache of so many bytes would have to fetch for it.

This repeats the order of `emission/` in plain Python, and a cache that drops what was used longest ago (LRU). It shares no line
with the costs that it checks.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from layoutalg.gemm.amx.plan import AmxGemm

LINE = 64
TILE = 16


@dataclass
class Cache:
    """Lines of 64 bytes; the one that was used longest ago goes first."""

    size: int
    lines: OrderedDict[tuple[str, int], None] = field(default_factory=OrderedDict)
    fetched: dict[str, int] = field(default_factory=dict)

    def use(self, matrix: str, line: int) -> bool:
        """Use a line; whether it had to be fetched."""
        key = (matrix, line)
        missing = key not in self.lines
        if missing:
            self.fetched[matrix] = self.fetched.get(matrix, 0) + LINE
        self.lines[key] = None
        self.lines.move_to_end(key)
        if len(self.lines) * LINE > self.size:
            self.lines.popitem(last=False)
        return missing


@dataclass(frozen=True)
class Access:
    """A tile that is loaded or stored: its matrix, its first byte, the bytes from row to row, rows, bytes of a row."""

    matrix: str
    start: int
    pitch: int
    rows: int
    row_bytes: int
    store: bool = False

    def lines(self) -> Iterator[int]:
        for row in range(self.rows):
            first = self.start + row * self.pitch
            yield from range(first // LINE, (first + self.row_bytes - 1) // LINE + 1)


def blocks_of(size: int, block: int, tiles: int, joined: bool) -> list[list[list[int]]]:
    """For each cache block, its register blocks, each a list of where its tiles begin (and, behind the last, where it ends).

    Where a smaller tile may not be `joined` to whole ones (it would need a ninth register), it is a block of its own.
    """
    edges = [*range(0, size, TILE), size]
    found: list[list[list[int]]] = [[] for _ in range(-(-size // block))]
    index = 0
    while index < len(edges) - 1:
        last = min(index + tiles, len(edges) - 1)
        short = last == len(edges) - 1 and size % TILE
        if short and not joined and last - index > 1:
            last -= 1
        found[edges[index] // block].append(edges[index : last + 1])
        index = last
    return found


def walk_loops(plan: AmxGemm, *, columns_joined: bool = True) -> Iterator[Access]:
    """Every tile that `@gemm` loads and stores, in its order (packing and the epilogue left out)."""
    problem, tiling = plan.problem, plan.tiling
    size, depth = problem.element_bytes, problem.depth
    down = blocks_of(problem.m, tiling.m_block, tiling.blocking.rows, True)
    across = blocks_of(problem.n, tiling.n_block, tiling.blocking.columns, columns_joined)
    whole = problem.k_padded // depth * depth
    phases = [(k, min(k + tiling.k_block, whole)) for k in range(0, whole, tiling.k_block)]
    phases += [(whole, problem.k_padded)] if problem.k_padded > whole else []
    outer_rows = tiling.order == "rows"
    order = [(i, j) for i in range(len(down)) for j in range(len(across))]
    if not outer_rows:
        order.sort(key=lambda place: (place[1], place[0]))
    for block_i, block_j in order:
        for k0, k1 in phases:
            pairs = [(i, j) for i in down[block_i] for j in across[block_j]]
            if not outer_rows:
                pairs = [(i, j) for j in across[block_j] for i in down[block_i]]
            for rows, columns in pairs:
                yield from _register_block(plan, rows, columns, k0, k1, size, depth)


def _register_block(
    plan: AmxGemm, rows: list[int], columns: list[int], k0: int, k1: int, size: int, depth: int
) -> Iterator[Access]:
    problem = plan.problem
    tiles_c = [
        Access("C", row * problem.ldc * 4 + column * 4, problem.ldc * 4, below - row, (right - column) * 4)
        for row, below in pairwise(rows)
        for column, right in pairwise(columns)
    ]
    if k0:
        yield from tiles_c
    steps, words = -(-problem.k_padded // depth), problem.k_padded // problem.vnni
    for k in range(k0, k1, depth):
        deep = min(depth, k1 - k)
        for row, below in pairwise(rows):
            if plan.tiling.pack_a:
                yield Access("A", (row // TILE * steps + k // depth) * 1024, 64, below - row, deep * size)
            else:
                yield Access("A", (row * problem.lda + k) * size, problem.lda * size, below - row, deep * size)
        for column, right in pairwise(columns):
            start = (column // TILE * words + k // problem.vnni) * 64
            yield Access("B", start, 64, deep // problem.vnni, (right - column) * 4)
    for tile in tiles_c:
        yield Access(tile.matrix, tile.start, tile.pitch, tile.rows, tile.row_bytes, store=True)
