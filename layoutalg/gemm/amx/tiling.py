"""How a product is cut for AMX: blocks of C in registers, blocks in the caches, the order of the loops.

A register block is `rows` x `columns` tiles of 16x16 of C, which stay in tile registers over a whole block of k. A cache block
is `m_block` x `n_block` of C; the loop over k is cut every `k_block`, so that what is read again is still in a cache. Within a
cache block the register blocks go down the rows of a column first (order `columns`: the panel of B stays in L1) or along a row
(`rows`: the rows of A do).

A step of a register block loads `rows` tiles of A and `columns` of B for `rows * columns` products. By hand: 2x2 tiles take 4
loads for 4 products, 1x4 take 5.

>>> [Blocking(*size).loads_per_product for size in ((2, 2), (1, 4), (3, 1))]
[1.0, 1.25, 1.3333333333333333]
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutalg.amx import REGISTERS, ROWS
from layoutalg.core.errors import PlanError
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import as_flag, instance_of, one_of
from layoutalg.core.whole_numbers import whole_number as whole
from layoutalg.gemm.matrix_in_memory import whole_number
from layoutalg.gemm.options import ORDERS

__all__ = ["BLOCKINGS", "TILE", "AmxTiling", "Blocking", "checked_prefetch"]

_FURTHEST = 64
"""Steps ahead that a prefetch may ask: 64 tiles of a panel are 64 KiB, more than L1 has."""

TILE = ROWS
"""Rows of a tile, and columns of a tile of accumulators, which have 4 bytes each."""


@dataclass(frozen=True, order=True)
class Blocking:
    """The tiles of C that a register block has: `rows` x `columns`.

    The operand with fewer tiles is held while the tiles of the other pass through one register.

    >>> Blocking(2, 2).registers, Blocking(1, 6).registers
    (7, 8)
    >>> Blocking(2, 3)
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: a blocking of 2x3 tiles takes 9 of 8 tile registers: 6 of C, 2 to hold, 1 to stream
    """

    rows: int
    columns: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", whole_number("rows of a blocking", self.rows, REGISTERS))
        object.__setattr__(self, "columns", whole_number("columns of a blocking", self.columns, REGISTERS))
        if self.registers > REGISTERS:
            raise PlanError(
                f"a blocking of {self} tiles takes {self.registers} of {REGISTERS} tile registers: "
                f"{self.products_per_step} of C, {min(self.rows, self.columns)} to hold, 1 to stream"
            )

    @property
    def products_per_step(self) -> int:
        """Tile products of one step of k.

        >>> Blocking(2, 2).products_per_step
        4
        """
        return self.rows * self.columns

    @property
    def loads_per_step(self) -> int:
        """Tile loads of one step of k.

        >>> Blocking(1, 6).loads_per_step
        7
        """
        return self.rows + self.columns

    @property
    def loads_per_product(self) -> float:
        """Tile loads for each product.

        >>> Blocking(1, 4).loads_per_product
        1.25
        """
        return self.loads_per_step / self.products_per_step

    @property
    def registers(self) -> int:
        """Tile registers that whole tiles take: the accumulators, the tiles that are held, and the one that passes.

        >>> Blocking(3, 1).registers
        5
        """
        return self.products_per_step + min(self.rows, self.columns) + 1

    def __str__(self) -> str:
        return f"{self.rows}x{self.columns}"


BLOCKINGS = tuple(
    Blocking(rows, columns)
    for rows in range(1, REGISTERS)
    for columns in range(1, REGISTERS)
    if rows * columns + min(rows, columns) < REGISTERS
)
"""All blockings that fit into the registers."""


@dataclass(frozen=True)
class AmxTiling:
    """All choices of a plan. Sizes in elements: of C for `m_block` and `n_block`, of k for `k_block`.

    >>> print(AmxTiling(Blocking(2, 2), 128, 256, 512))
    2x2 tiles, blocks of 128x256, 512 of k, columns first, A as it lies
    """

    blocking: Blocking
    m_block: int
    n_block: int
    k_block: int
    order: str = "columns"
    pack_a: bool = False
    prefetch_b: int = 0
    """How many steps of k ahead tiles of B are asked for; 0 asks for none."""

    def __post_init__(self) -> None:
        instance_of(self.blocking, Blocking, "blocking", PlanError)
        for name, unit in (("m_block", TILE * self.blocking.rows), ("n_block", TILE * self.blocking.columns)):
            size = whole_number(name, getattr(self, name))
            if size % unit:
                raise PlanError(
                    f"{name} = {size}: expected a multiple of {unit}, a register block of {self.blocking} tiles"
                )
            object.__setattr__(self, name, size)
        object.__setattr__(self, "k_block", whole_number("k_block", self.k_block))
        one_of(self.order, ORDERS, "order", PlanError)
        object.__setattr__(self, "pack_a", as_flag(self.pack_a, "pack_a", PlanError))
        object.__setattr__(self, "prefetch_b", checked_prefetch(self.prefetch_b))

    def __str__(self) -> str:
        packed = "packed" if self.pack_a else "as it lies"
        ahead = f", B asked for {counted(self.prefetch_b, 'step')} ahead" if self.prefetch_b else ""
        return (
            f"{self.blocking} tiles, blocks of {self.m_block}x{self.n_block}, {self.k_block} of k, {self.order} first, "
            f"A {packed}{ahead}"
        )


def checked_prefetch(steps: object) -> int:
    """How many steps ahead a tile is asked for.

    >>> checked_prefetch(65)
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: prefetch_b = 65: expected a whole number from 0 to 64
    """
    return whole(steps, "prefetch_b =", 0, _FURTHEST, PlanError)
