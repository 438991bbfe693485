"""What is asked: O = softmax(scale * Q K^T) V for every head, with sizes, types, mask and chip.

For each head of each batch Q is queries x d, K and V are keys x d, and O is queries x d. They lie one head after the other
(order "bhsd"), or side by side in rows (order "bshd"), and rows may be further apart than they are long (ldq, ldk, ldv, ldo).
`kv_heads` heads of K and V serve the `heads` of Q in turn (grouped queries). A causal mask lets query i
see the keys 0 to i + keys - queries: the last query sees all of them, so that a few new queries can be asked of a long past.
With a window of w, it sees the last w of those: key j where i' - w < j <= i', and i' is i + keys - queries. That is the
`sliding_window` of Hugging Face's transformers; FlashAttention's `window_size=(w - 1, 0)` aligns and counts alike.

>>> problem = AttentionProblem.of(100, 1000, 64, causal=True)
>>> problem.scale, problem.last_key(0), problem.last_key(99)
(0.125, 900, 999)
>>> print(problem)
O[100, 64] f32 = softmax(0.125 Q[100, 64] K[1000, 64]^T, causal) V[1000, 64] f16 on pvc
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from math import e, inf, log2, sqrt

from layoutalg.core.errors import PlanError
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import as_flag, one_of
from layoutalg.core.whole_numbers import whole_number as whole
from layoutalg.gemm.attention.sequences import Starts, checked_starts
from layoutalg.gemm.matrix_in_memory import Matrix, check_matrix, check_pitch, whole_number
from layoutalg.gemm.product import MOST_ALONG_Z
from layoutalg.hardware import Dpas, dpas, target_info
from layoutalg.hardware.chip_names import chip_name
from layoutalg.hardware.chips import target_names

__all__ = ["ORDERS", "OUTPUTS", "TYPES", "AttentionProblem", "as_f32", "sizes_text"]

TYPES = ("f16", "bf16")
"""The types of Q, K and V; P is rounded to the same type."""
OUTPUTS = ("f32", "f16", "bf16")
"""The types of O in memory."""
ORDERS = ("bhsd", "bshd")
"""How the arrays lie in memory: batch, heads, rows, d; or batch, rows, heads, d, where a row has all heads."""

_NARROWEST, _WIDEST, _MULTIPLE = 32, 256, 8
"""Head sizes: a message needs rows of 64 bytes and of a multiple of 16; O of 8 queries by 256 fills half of 256 registers."""


@dataclass(frozen=True)
class AttentionProblem:
    """An attention to be planned; `AttentionProblem.of` checks it and fills in what is not given.

    >>> AttentionProblem.of(1, 1000, 128, "bf16", heads=8, kv_heads=2).kv_heads
    2
    """

    queries: int
    keys: int
    d: int
    type: str
    out: str
    target: str
    heads: int
    kv_heads: int
    batch: int
    causal: bool
    scale: float
    order: str = "bhsd"
    pitches: tuple[int, int, int, int] = (0, 0, 0, 0)
    """Elements from row to row of Q, K, V and O."""
    window: int | None = None
    starts: tuple[Starts, Starts] | None = None
    """Where packed sequences begin, in queries and in keys (see `sequences`)."""

    @classmethod
    def of(
        cls,
        queries: int,
        keys: int,
        d: int = 64,
        type: str = "f16",
        out: str = "f32",
        target: str = "pvc",
        *,
        heads: int = 1,
        kv_heads: int | None = None,
        batch: int = 1,
        causal: bool = False,
        scale: float | None = None,
        order: str = "bhsd",
        ldq: int | None = None,
        ldk: int | None = None,
        ldv: int | None = None,
        ldo: int | None = None,
        window: int | None = None,
        starts_q: Iterable[int] | None = None,
        starts_k: Iterable[int] | None = None,
    ) -> AttentionProblem:
        """An attention, checked. The scale is 1/sqrt(d) unless given.

        Raises:
            PlanError: for types, targets and sizes that are not planned; says what would fit.

        >>> AttentionProblem.of(64, 64, 80).scale == 80**-0.5
        True
        >>> AttentionProblem.of(64, 64, 320)
        Traceback (most recent call last):
        layoutalg.core.errors.PlanError: d = 320: attention is planned for heads of 32 to 256 in steps of 8; more than \
256 do not fit 256 registers
        """
        type = one_of(type, TYPES, "type", PlanError)
        out = one_of(out, OUTPUTS, "out", PlanError)
        target = chip_name(target)
        if target_info(target, dpas=True).surface is None:
            able = [name for name in target_names(dpas=True) if target_info(name).surface]
            raise PlanError(
                f"target {target!r} has no 2D block messages, which attention is planned with: expected {', '.join(able)}"
            )
        heads, batch = whole_number("heads", heads, MOST_ALONG_Z), whole_number("batch", batch, MOST_ALONG_Z)
        if heads * batch > MOST_ALONG_Z:
            raise PlanError(f"{batch} batches of {heads} heads: a grid has at most {MOST_ALONG_Z} heads in all")
        kv_heads = heads if kv_heads is None else whole_number("kv_heads", kv_heads, MOST_ALONG_Z)
        if heads % kv_heads:
            fit = ", ".join(str(count) for count in range(1, min(heads, 64) + 1) if heads % count == 0)
            raise PlanError(
                f"{heads} heads of Q do not share {kv_heads} of K and V evenly; kv_heads of {fit} would fit"
            )
        d = _head_size(d)
        order = one_of(order, ORDERS, "order", PlanError)
        columns = [d if order == "bhsd" else count * d for count in (heads, kv_heads, kv_heads, heads)]
        given = zip(("ldq", "ldk", "ldv", "ldo"), (ldq, ldk, ldv, ldo), columns, strict=True)
        pitch_q, pitch_k, pitch_v, pitch_o = (
            usual if number is None else whole_number(name, number) for name, number, usual in given
        )
        made = cls(
            whole_number("queries", queries),
            whole_number("keys", keys),
            d,
            type,
            out,
            target,
            heads,
            kv_heads,
            batch,
            as_flag(causal, "causal", PlanError),
            1 / sqrt(d) if scale is None else _scale(scale),
            order,
            (pitch_q, pitch_k, pitch_v, pitch_o),
            None if window is None else whole_number("window", window),
        )
        if made.window is not None and not made.causal:
            raise PlanError(f"window = {made.window}: a window is planned with a causal mask; causal = True would fit")
        if starts_q is not None or starts_k is not None:
            made = made._packed(starts_q, starts_k)
        for matrix in made.matrices:
            check_pitch(matrix)
            check_matrix(replace(matrix, columns=d))
        made._check_heads()
        return made

    def _packed(self, starts_q: object, starts_k: object) -> AttentionProblem:
        if self.order != "bshd" or self.batch > 1:
            raise PlanError(
                "packed sequences have one batch in the order 'bshd', because a row of a sequence has all heads"
            )
        starts = checked_starts("starts_q", starts_q, self.queries), checked_starts("starts_k", starts_k, self.keys)
        of_q, of_k = (len(one) - 1 for one in starts)
        if of_q != of_k:
            raise PlanError(f"starts_q has {of_q} sequences, and starts_k has {of_k}")
        if of_q * self.heads > MOST_ALONG_Z:
            raise PlanError(f"{of_q} sequences of {self.heads} heads: a grid has at most {MOST_ALONG_Z} heads in all")
        for matrix in self.matrices:
            if matrix.pitch_bytes % 64:
                fit = -(-matrix.pitch_bytes // 64) * 64 // matrix.element_bytes
                raise PlanError(
                    f"{matrix}: its rows are {matrix.pitch_bytes} bytes apart, and a sequence begins at any row, so not at a "
                    f"multiple of 64 bytes, as a 2D block message needs; ld{matrix.name.lower()} = {fit} would fit"
                )
        return replace(self, starts=starts)

    @property
    def named_starts(self) -> dict[str, Starts]:
        """Where packed sequences begin, by the names of the kernel's arguments; empty where none are packed.

        >>> AttentionProblem.of(9, 7, 64, order="bshd", starts_q=(0, 2, 9), starts_k=(0, 4, 7)).named_starts
        {'starts_q': (0, 2, 9), 'starts_k': (0, 4, 7)}
        """
        return {} if self.starts is None else {"starts_q": self.starts[0], "starts_k": self.starts[1]}

    @property
    def sequences(self) -> tuple[AttentionProblem, ...]:
        """The problems of packed sequences, each alone; the problem itself where nothing is packed.

        >>> problem = AttentionProblem.of(9, 7, 64, order="bshd", starts_q=(0, 2, 9), starts_k=(0, 4, 7))
        >>> [(one.queries, one.keys) for one in problem.sequences]
        [(2, 4), (7, 3)]
        """
        if self.starts is None:
            return (self,)
        of_q, of_k = ([end - begin for begin, end in pairwise(one)] for one in self.starts)
        return tuple(replace(self, queries=q, keys=k, starts=None) for q, k in zip(of_q, of_k, strict=True))

    @property
    def dpas(self) -> Dpas:
        """The matrix instruction of both products, with 8 rows.

        >>> AttentionProblem.of(64, 64, 64, "bf16").dpas.builtin
        'intel_sub_group_bf16_bf16_matrix_mad_k16'
        """
        return dpas(self.type, self.type, "f32", target=self.target, m=8)

    @property
    def matrices(self) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        """Q, K, V and O as they lie in memory: of one head, or of all heads side by side in the order "bshd".

        >>> [str(matrix) for matrix in AttentionProblem.of(40, 100, 64).matrices]
        ['Q is 40x64 f16', 'K is 100x64 f16', 'V is 100x64 f16', 'O is 40x64 f32']
        >>> str(AttentionProblem.of(40, 100, 64, heads=8, kv_heads=2, order="bshd").matrices[1])
        'K is 100x128 f16'
        """
        own, other = (self.d * (1 if self.order == "bhsd" else count) for count in (self.heads, self.kv_heads))
        q, k, v, o = self.pitches
        return (
            Matrix("Q", self.queries, own, q, self.type),
            Matrix("K", self.keys, other, k, self.type),
            Matrix("V", self.keys, other, v, self.type),
            Matrix("O", self.queries, own, o, self.out),
        )

    def count_of(self, name: str) -> int:
        """How many of those matrices there are of one name: for each head of each batch, or for each batch.

        Raises `PlanError` for another name than Q, K, V and O.

        >>> problem = AttentionProblem.of(40, 100, 64, heads=8, kv_heads=2, batch=3)
        >>> problem.count_of("Q"), problem.count_of("K")
        (24, 6)
        """
        heads = self.kv_heads if one_of(name, tuple("QKVO"), "matrix", PlanError) in "KV" else self.heads
        return self.batch * heads if self.order == "bhsd" else self.batch

    @property
    def strides(self) -> tuple[int, int, int, int]:
        """Elements from one of those matrices to the next.

        >>> AttentionProblem.of(40, 100, 64, heads=8).strides
        (2560, 6400, 6400, 2560)
        """
        q, k, v, o = (matrix.rows * matrix.pitch for matrix in self.matrices)
        return q, k, v, o

    @property
    def without_gaps(self) -> bool:
        """Whether every head is a matrix without gaps, the next one behind it.

        >>> AttentionProblem.of(40, 100, 64, ldk=128).without_gaps
        False
        """
        return self.order == "bhsd" and set(self.pitches) == {self.d}

    @property
    def shift(self) -> int:
        """How many keys more than queries there are.

        >>> AttentionProblem.of(40, 100, 64).shift
        60
        """
        return self.keys - self.queries

    def last_key(self, query: int) -> int:
        """The last key that a query sees; below 0 where it sees none.

        Raises `PlanError` for what is not the number of a query.

        >>> problem = AttentionProblem.of(4, 2, 64, causal=True)
        >>> [problem.last_key(query) for query in range(4)]
        [-2, -1, 0, 1]
        """
        query = whole(query, "query =", 0, 2**33, PlanError)
        return min(self.keys - 1, query + self.shift) if self.causal else self.keys - 1

    def first_key(self, query: int) -> int:
        """The first key that a query sees by its window, 0 without one.

        Raises `PlanError` for what is not the number of a query.

        >>> problem = AttentionProblem.of(4, 6, 64, causal=True, window=3)
        >>> [(problem.first_key(query), problem.last_key(query)) for query in range(4)]
        [(0, 2), (1, 3), (2, 4), (3, 5)]
        """
        query = whole(query, "query =", 0, 2**33, PlanError)
        return 0 if self.window is None else max(0, query + self.shift + 1 - self.window)

    @property
    def exponent_scale(self) -> float:
        """What a score is multiplied by before 2 is raised to it: scale * log2(e), rounded to f32.

        >>> AttentionProblem.of(64, 64, 64).exponent_scale
        0.1803368777036667
        """
        return as_f32(self.scale * log2(e))

    @property
    def title(self) -> str:
        """What, how large, and on which chip, in a line.

        >>> AttentionProblem.of(1024, 512, causal=True).title
        'attention on pvc: 1024 queries, 512 keys, d = 64, f16, causal'
        """
        told = [f"{self.queries} queries, {self.keys} keys", *sizes_text(self.d, self.type, self.heads, self.batch)]
        told += ["packed sequences"] * (self.starts is not None) + ["causal"] * self.causal
        told += [] if self.window is None else [f"window of {self.window}"]
        return f"attention on {self.target}: {', '.join(told)}"

    def __str__(self) -> str:
        many = "" if self.heads * self.batch == 1 else f"{self.batch} x {self.heads} heads of "
        if self.starts is not None:
            many = f"{self.heads} heads of {len(self.starts[0]) - 1} sequences, all together "
        shared = "" if self.heads == self.kv_heads else f" ({self.kv_heads} of K and V)"
        mask = ", causal" if self.causal else ""
        mask += "" if self.window is None else f", window {self.window}"
        side = "" if self.order == "bhsd" else ", heads side by side"
        return (
            f"{many}O[{self.queries}, {self.d}] {self.out} = softmax({self.scale:.6g} Q[{self.queries}, {self.d}] "
            f"K[{self.keys}, {self.d}]^T{mask}) V[{self.keys}, {self.d}] {self.type}{shared}{side} on {self.target}"
        )

    def _check_heads(self) -> None:
        """Every head begins at a multiple of 64 bytes, as the first one does."""
        aligned = target_info(self.target).surface
        assert aligned is not None
        for matrix in self.matrices:
            size = matrix.rows * matrix.pitch_bytes
            columns = self.d * matrix.element_bytes
            if matrix.columns > self.d and columns % aligned.base_alignment:
                fit = -(-self.d // 32) * 32
                raise PlanError(
                    f"{matrix}: a head of {columns} bytes in a row, so the next one does not begin at a multiple of "
                    f"{aligned.base_alignment} bytes, as a 2D block message needs; heads of d = {fit} would fit"
                )
            if self.count_of(matrix.name) > 1 and size % aligned.base_alignment:
                fit = -(-self.d // 32) * 32
                what = "head" if self.order == "bhsd" else "batch"
                raise PlanError(
                    f"{matrix}: a {what} of {size} bytes, so the next one does not begin at a multiple of "
                    f"{aligned.base_alignment} bytes, as a 2D block message needs; heads of d = {fit} would fit, and so "
                    f"would {-(-matrix.rows // 4) * 4} rows"
                )


def _head_size(d: object) -> int:
    number = whole_number("d", d)
    if number % _MULTIPLE or not _NARROWEST <= number <= _WIDEST:
        why = {
            number < _NARROWEST: f"a 2D block message needs rows of 64 bytes; zeros up to {_NARROWEST} change nothing",
            number > _WIDEST: f"more than {_WIDEST} do not fit 256 registers",
        }.get(True, f"a 2D block message needs rows of a multiple of 16 bytes; zeros up to {-(-number // 8) * 8} fit")
        raise PlanError(
            f"d = {number}: attention is planned for heads of {_NARROWEST} to {_WIDEST} in steps of {_MULTIPLE}; {why}"
        )
    return number


def as_f32(value: float) -> float:
    """A number rounded to f32.

    >>> as_f32(0.1)
    0.10000000149011612
    """
    return struct.unpack("f", struct.pack("f", value))[0]


def _scale(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < inf:
        raise PlanError(
            f"scale = {shown(value)}: expected a finite number above 0 (the largest score stays the largest)"
        )
    if not 2**-100 <= value <= 2**100:
        raise PlanError(f"scale = {shown(value)}: expected 2^-100 to 2^100, so that scaled scores stay within f32")
    return float(value)


def sizes_text(d: int, type: str, heads: int, batch: int) -> list[str]:
    """Sizes that attention and decode have, in words.

    >>> sizes_text(64, "f16", 8, 1)
    ['d = 64', 'f16', '8 heads']
    """
    return [f"d = {d}", type, *[f"{heads} heads"] * (heads > 1), *[f"batch {batch}"] * (batch > 1)]
