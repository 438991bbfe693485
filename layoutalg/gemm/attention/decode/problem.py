"""What is asked of decode: a few new queries of every sequence against the keys that it has so far.

Q is [batch, heads, queries, d] and O too, row-major without gaps. The queries are the newest tokens of their sequence: of a
sequence with `length` keys, query i of n sees the keys 0 to length - n + i, so the last one sees all. The heads of a group
share a head of K and V, and lie side by side in Q: so the rows that share keys are one matrix, which is what a DPAS takes.

By hand, 8 heads of Q on 2 of K and V with 3 queries: a group has 4 heads, 12 rows of Q. They are two blocks of 8 rows, and the
last 4 rows of the second one are padding.

>>> problem = DecodeProblem.of(1000, 64, heads=8, kv_heads=2, queries=3)
>>> problem.group, problem.rows, problem.last_key(0, 1000)
(4, 12, 997)

Contiguous K and V have room for `keys` keys of every sequence, [batch, kv_heads, keys, d] in the order "hnd" and [batch, keys,
kv_heads, d] in "nhd" (the letters are those of FlashInfer). How many of them a sequence has, `lengths` says when the kernel is
launched.

Paged K and V are a pool of `pages` pages with `page` keys each, [pages, kv_heads, page, d] or [pages, page, kv_heads, d]. A
table [batch, ceil(keys / page)] says where the pages of each sequence are, in their order. Key 40 of a sequence in pages of 16
is key 8 of the third page of its row. In both orders the keys of the pool are rows of one matrix:

>>> paged = DecodeProblem.of(1000, 64, heads=8, kv_heads=2, page=16, pages=80)
>>> paged.pages_of_sequence, str(paged.matrices[1])
(63, 'K is 2560x64 f16')
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutalg.core.elements import element_bits
from layoutalg.core.errors import PlanError
from layoutalg.core.messages import shown
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import one_of
from layoutalg.core.whole_numbers import whole_number as whole
from layoutalg.gemm.attention.problem import AttentionProblem, sizes_text
from layoutalg.gemm.attention.steps import rows_of_subgroup
from layoutalg.gemm.matrix_in_memory import Matrix, check_matrix, whole_number
from layoutalg.hardware import Dpas, target_info

__all__ = ["MOST_QUERIES", "ORDERS", "PAGES", "DecodeProblem"]

ORDERS = ("hnd", "nhd")
"""Whether a head's keys are neighbours in memory, or a key's heads."""
PAGES = (16, 32, 64, 128)
"""The keys that a page may have: a message brings 16 of K, so no block of a step is in two pages."""
MOST_QUERIES = 16
_MOST_ENTRIES = 2**31 - 1
"""Entries of the table: a kernel counts them in 32 bits."""
_MOST_SUBGROUPS = 32
"""Subgroups of a workgroup, which share the rows of a group: as many as a core runs at once."""


@dataclass(frozen=True)
class DecodeProblem:
    """A decode to be planned; `DecodeProblem.of` checks it and fills in what is not given.

    >>> print(DecodeProblem.of(4096, 128, heads=32, kv_heads=8, batch=4))
    4 sequences of up to 4096 keys, 1 query each: 32 heads of O[128] f32 = softmax(0.0883883 Q[128] K^T) V f16 (8 of K and V, \
hnd) on pvc
    """

    keys: int
    d: int
    type: str
    out: str
    target: str
    heads: int
    kv_heads: int
    batch: int
    queries: int
    order: str
    scale: float
    page: int = 0
    pages: int = 0

    @classmethod
    def of(
        cls,
        keys: int,
        d: int = 128,
        type: str = "f16",
        out: str = "f32",
        target: str = "pvc",
        *,
        heads: int = 1,
        kv_heads: int | None = None,
        batch: int = 1,
        queries: int = 1,
        order: str = "hnd",
        scale: float | None = None,
        page: int | None = None,
        pages: int | None = None,
    ) -> DecodeProblem:
        """A decode, checked. The scale is 1/sqrt(d) unless given; a pool has room for all sequences unless `pages` is given.

        Raises:
            PlanError: for types, targets and sizes that are not planned; says what would fit.

        >>> DecodeProblem.of(1000, 64, queries=17)
        Traceback (most recent call last):
        layoutalg.core.errors.PlanError: queries = 17: decode is planned for 1 to 16 queries of a sequence; plan_attention \
takes any number
        """
        # eight queries and 64 keys fit every head size, so this refuses what attention refuses of the rest
        base = AttentionProblem.of(
            8, 64, d, type, out, target, heads=heads, kv_heads=kv_heads, batch=batch, scale=scale
        )
        count = whole_number("queries", queries)
        if count > MOST_QUERIES:
            raise PlanError(
                f"queries = {count}: decode is planned for 1 to {MOST_QUERIES} queries of a sequence; plan_attention takes "
                "any number"
            )
        room = whole_number("keys", keys)
        each = 0 if page is None else whole(page, "page =", 1, None, PlanError)
        if page is not None and each not in PAGES:
            raise PlanError(f"page = {shown(page)}: decode is planned for pages of {', '.join(map(str, PAGES))} keys")
        if pages is not None and page is None:
            raise PlanError(f"pages = {shown(pages)}: a pool of pages needs page, the keys of each")
        if each:
            pages = base.batch * -(-room // each) if pages is None else whole_number("pages", pages)
        made = cls(
            room,
            base.d,
            base.type,
            base.out,
            base.target,
            base.heads,
            base.kv_heads,
            base.batch,
            count,
            one_of(order, ORDERS, "order", PlanError),
            base.scale,
            each,
            pages or 0,
        )
        most = _MOST_SUBGROUPS * rows_of_subgroup(made.d)
        if made.rows > most:
            raise PlanError(
                f"{made.group} heads of a group with {shown(count)} queries: {made.rows} rows share keys, and a workgroup has "
                f"{most} rows at most for d = {made.d}"
            )
        for matrix in made.matrices:
            check_matrix(matrix)
        entries = made.batch * made.pages_of_sequence
        if entries > _MOST_ENTRIES:
            raise PlanError(
                f"table: {made.batch} sequences of {made.pages_of_sequence} pages are {entries} entries; kernels count up to "
                f"{_MOST_ENTRIES} of them"
            )
        made._check_heads()
        return made

    @property
    def group(self) -> int:
        """Heads of Q that share a head of K and V.

        >>> DecodeProblem.of(64, 64, heads=8, kv_heads=2).group
        4
        """
        return self.heads // self.kv_heads

    @property
    def rows(self) -> int:
        """Rows of Q that share keys: the queries of all heads of a group, head by head.

        >>> DecodeProblem.of(64, 64, heads=8, kv_heads=2, queries=2).rows
        8
        """
        return self.group * self.queries

    @property
    def groups(self) -> int:
        """Groups of all sequences: heads of K and V.

        >>> DecodeProblem.of(64, 64, heads=8, kv_heads=2, batch=3).groups
        6
        """
        return self.batch * self.kv_heads

    @property
    def dpas(self) -> Dpas:
        """The matrix instruction of both products, with 8 rows.

        >>> DecodeProblem.of(64, 64, type="bf16").dpas.builtin
        'intel_sub_group_bf16_bf16_matrix_mad_k16'
        """
        return self._attention.dpas

    @property
    def exponent_scale(self) -> float:
        """What a score is multiplied by before 2 is raised to it: scale * log2(e), rounded to f32.

        >>> DecodeProblem.of(64, 64).exponent_scale
        0.1803368777036667
        """
        return self._attention.exponent_scale

    @property
    def pitch(self) -> int:
        """Elements from a key to the next one of its head.

        >>> DecodeProblem.of(64, 64, kv_heads=4, heads=4, order="nhd").pitch
        256
        """
        return self.d if self.order == "hnd" else self.d * self.kv_heads

    @property
    def matrices(self) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        """Q and O of all sequences, K and V of one head or of a pool, as they lie in memory.

        >>> [str(matrix) for matrix in DecodeProblem.of(100, 64, heads=8, kv_heads=2).matrices]
        ['Q is 8x64 f16', 'K is 100x64 f16', 'V is 100x64 f16', 'O is 8x64 f32']
        """
        d, rows, keys = self.d, self.batch * self.heads * self.queries, self.keys
        if self.page:
            keys = self.pages * self.page * (self.kv_heads if self.order == "hnd" else 1)
        return (
            Matrix("Q", rows, d, d, self.type),
            Matrix("K", keys, d, self.pitch, self.type),
            Matrix("V", keys, d, self.pitch, self.type),
            Matrix("O", rows, d, d, self.out),
        )

    @property
    def pages_of_sequence(self) -> int:
        """Entries of the table for each sequence; 0 without pages.

        >>> DecodeProblem.of(100, 64, page=32).pages_of_sequence
        4
        """
        return -(-self.keys // self.page) if self.page else 0

    @property
    def bytes(self) -> int:
        """The least that memory has to move where all sequences are full: Q, K, V, O and the table once.

        >>> DecodeProblem.of(1024, 128, heads=8, kv_heads=2).bytes == 2 * 2 * 1024 * 128 * 2 + 8 * 128 * (2 + 4)
        True
        """
        of_rows = self.batch * self.heads * self.queries * self.d * (2 + element_bits(self.out) // 8)
        return of_rows + 2 * self.groups * self.keys * self.d * 2 + 4 * self.batch * self.pages_of_sequence

    def last_key(self, query: int, length: int) -> int:
        """The last key that a query sees in a sequence of so many keys; below 0 where it sees none.

        Raises `PlanError` for what is not the number of a query, or a length.

        >>> [DecodeProblem.of(64, 64, queries=3).last_key(query, 2) for query in range(3)]
        [-1, 0, 1]
        """
        query = whole(query, "query =", 0, self.queries - 1, PlanError)
        return whole(length, "length =", 0, self.keys, PlanError) - self.queries + query

    @property
    def title(self) -> str:
        """What, how large, and on which chip, in a line.

        >>> DecodeProblem.of(4096, 128, heads=8, kv_heads=2, batch=4).title
        'decode on pvc: 1 query, up to 4096 keys, d = 128, f16, 8 heads, batch 4'
        """
        many = "1 query" if self.queries == 1 else f"{self.queries} queries"
        sizes = sizes_text(self.d, self.type, self.heads, self.batch)
        return f"decode on {self.target}: {', '.join([many, f'up to {self.keys} keys', *sizes])}"

    def __str__(self) -> str:
        sequences = "a sequence" if self.batch == 1 else f"{self.batch} sequences"
        many = "1 query" if self.queries == 1 else f"{self.queries} queries"
        each = "" if self.batch == 1 else " each"
        paged = f", {counted(self.pages, 'page')} of {self.page} keys" if self.page else ""
        shared = f"{self.kv_heads} of K and V, {self.order}{paged}"
        return (
            f"{sequences} of up to {self.keys} keys, {many}{each}: {self.heads} heads of O[{self.d}] {self.out} = "
            f"softmax({self.scale:.6g} Q[{self.d}] K^T) V {self.type} ({shared}) on {self.target}"
        )

    @property
    def _attention(self) -> AttentionProblem:
        return AttentionProblem.of(8, 64, self.d, self.type, self.out, self.target, scale=self.scale)

    def _check_heads(self) -> None:
        """Every head of K and V begins at a multiple of 64 bytes, as the first one does."""
        limits = target_info(self.target).surface
        assert limits is not None
        if self.page and (self.order == "hnd" or self.kv_heads == 1):
            return  # one matrix, which begins where the pool does
        size = 2 * self.d * (self.keys if self.order == "hnd" else 1)
        if self.groups > 1 and size % limits.base_alignment:
            fit = -(-self.d // 32) * 32
            or_else = (
                f"and so would keys = {-(-self.keys // 4) * 4}" if self.order == "hnd" else "and so would order 'hnd'"
            )
            raise PlanError(
                f"K in the order {self.order!r}: a head begins {size} bytes behind the one before, and a 2D block message "
                f"needs a multiple of {limits.base_alignment}; heads of d = {fit} would fit, {or_else}"
            )
