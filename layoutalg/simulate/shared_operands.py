"""Products of subgroups that share operands, as one matrix product for all of them.

In a tiled product the subgroups of a row of the workgroup have the same part of A, those of a column the same part of B. So the
products of many subgroups are one: the different parts of A below each other, times the different parts of B side by side.
numpy has a routine for that, which takes a link of DPAS's chain at a time (`layoutalg.simulate.products`) in a quarter of the
time that element by element takes.

By hand, four subgroups in 2x2, numbered along the rows, of one element each:

    A = 1 1 2 2,  B = 10 20 10 20        the number of a subgroup has two digits: A differs along the first, B along the second
    (1, 2) times (10, 20)                is 10 20 / 20 40, the products of all four

>>> left, right = np.uint16([[[1], [1], [2], [2]]]), np.uint16([[[10], [20], [10], [20]]])
>>> found = sharing(left, right)
>>> found
Sharing(sizes=(2, 2), roles=('row', 'column'))
>>> found.parts(left, "row").ravel().tolist(), found.parts(right, "column").ravel().tolist()
([1, 2], [10, 20])

What is shared is read from the operands' bits, not believed. The results have the bits of `added_chain`, because where it isn't
sure it isn't done: a link of two products in f32 is rounded once, in whatever order the routine adds, if both are exact
(`products_are_exact`); it may lose the sign of a zero, which shows where a -0 is added to alone. The integers
of one DPAS are exact in f32: their products are below 2^16, at most 64 of them are added.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isfinite, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Sharing",
    "Together",
    "products_are_exact",
    "settled",
    "sharing",
    "sizes_of",
    "sum_of_bytes",
    "sum_of_links",
]

Array = NDArray[Any]

_PIECE = 1 << 16
"""Elements of the accumulators that are worked on at a time: they and two temporaries stay in a core's cache."""


@dataclass(frozen=True)
class Sharing:
    """The number of a subgroup in digits of these sizes, slowest first, and which operand differs along each of them.

    A "row" is a digit along which A alone differs, a "column" one along which B alone does, "apart" one along which both do.

    >>> Sharing((2, 8, 4), ("apart", "row", "column")).counts
    (2, 8, 4)
    """

    sizes: tuple[int, ...]
    roles: tuple[str, ...]

    @cached_property
    def counts(self) -> tuple[int, int, int]:
        """Products that share nothing, parts of A in each, parts of B in each."""
        apart, rows, columns = (
            prod(size for size, role in zip(self.sizes, self.roles, strict=True) if role == wanted)
            for wanted in ("apart", "row", "column")
        )
        return apart, rows, columns

    def axes(self, role: str) -> tuple[int, ...]:
        """The numbers of the digits that have this role."""
        return tuple(axis for axis, found in enumerate(self.roles) if found == role)

    def holds(self, words: Array, role: str) -> bool:
        """Whether operands [workgroup, subgroup, ..] (A for "row", B for "column") are the same where they have to be.

        Neighbours are compared, then every second one with the next one that is left: long strides, which numpy likes.
        """
        left = words.reshape(*self.sizes, *words.shape[2:])
        for axis in reversed(self.axes("column" if role == "row" else "row")):
            while (size := left.shape[axis]) > 1:
                if left.strides[axis] == 0:  # one operand, seen several times
                    left = left[_at(axis, slice(0, 1))]
                    break
                step = 2 if size % 2 == 0 else size
                first = left[_at(axis, slice(0, None, step))]
                for other in range(1, step):
                    if not np.array_equal(first, left[_at(axis, slice(other, None, step))]):
                        return False
                left = first
        return True

    def parts(self, operands: Array, role: str) -> Array:
        """The different ones of operands [workgroup, subgroup, ..]: [apart, part, ..]."""
        rest = operands.shape[2:]
        whole = operands.reshape(*self.sizes, *rest)[self._first(role)]
        order = *self.axes("apart"), *self.axes(role), *self.axes("column" if role == "row" else "row")
        apart, rows, columns = self.counts
        turned = whole.transpose(*order, *range(len(order), whole.ndim))
        return turned.reshape(apart, rows if role == "row" else columns, *rest)

    def _first(self, role: str) -> tuple[slice, ...]:
        other = "column" if role == "row" else "row"
        return tuple(slice(0, 1) if found == other else slice(None) for found in self.roles)

    def together(self, accumulators: Array, out: Array) -> None:
        """Write accumulators [subgroup, m, n] as matrices [apart, row * m, column * n]."""
        _, m, n = accumulators.shape
        whole = accumulators.reshape(*self.sizes, m, n).transpose(self._order)
        out.reshape(whole.shape)[...] = whole

    def apart(self, matrices: Array, m: int, n: int) -> Array:
        """A copy of matrices as `together` makes them, as accumulators [subgroup, m, n]."""
        sizes = *self.sizes, m, n
        whole = matrices.reshape([sizes[axis] for axis in self._order])
        return whole.transpose(np.argsort(self._order)).copy(order="C").reshape(-1, m, n)

    @cached_property
    def _order(self) -> tuple[int, ...]:
        """The axes of the digits, m and n as the matrices have them."""
        count = len(self.sizes)
        return *self.axes("apart"), *self.axes("row"), count, *self.axes("column"), count + 1


@dataclass(frozen=True, eq=False)
class Together:
    """Accumulators of subgroups as matrices [apart, row * m, column * n], for as long as products follow products.

    The next product adds to them in place, so one operation alone may have them. None of them is -0, and none becomes it:
    a sum is -0 only if both parts are.

    >>> known = Sharing((2, 2), ("row", "column"))
    >>> Together(np.arange(4.0).reshape(1, 2, 2), known, (1, 4), 1, 1).settled().ravel().tolist()
    [0.0, 1.0, 2.0, 3.0]
    """

    matrices: Array
    sharing: Sharing
    batch: tuple[int, ...]
    m: int
    n: int

    def settled(self) -> Array:
        """A copy as a value of work-items [workgroup, subgroup, lane, register]: lanes have columns, registers rows."""
        apart = self.sharing.apart(self.matrices, self.m, self.n)
        return apart.reshape(*self.batch, self.m, self.n).swapaxes(2, 3)


def settled(value: Any) -> Any:
    """A value of work-items, also where it is accumulators that lie together.

    >>> settled(7)
    7
    """
    return value.settled() if isinstance(value, Together) else value


def _at(axis: int, where: slice) -> tuple[slice, ...]:
    return *(slice(None),) * axis, where


def sharing(left: Array, right: Array) -> Sharing:
    """What operands [workgroup, subgroup, ..] of A and of B, as words of their bits, share.

    No digit has subgroups of several workgroups, so that an operand that workgroups share may lie in memory once.

    >>> sharing(np.array([[[1], [2], [3]]]), np.array([[[1], [2], [3]]]))
    Sharing(sizes=(3,), roles=('apart',))
    """
    sizes: list[int] = []
    roles: list[str] = []
    workgroups, subgroups = left.shape[:2]
    before, count = 1, workgroups * subgroups
    for prime in (*_primes(workgroups), *_primes(subgroups)):
        shape = before, prime, count // before // prime
        of_a, of_b = (_differs(words.reshape(*shape, -1)) for words in (left, right))
        first = before == workgroups
        before *= prime
        role = "apart" if of_a and of_b else "column" if of_b else "row"
        if roles and roles[-1] == role and not first:
            sizes[-1] *= prime
        else:
            sizes, roles = [*sizes, prime], [*roles, role]
    return Sharing(tuple(sizes), tuple(roles))


def _differs(words: Array) -> bool:
    return bool((words[:, 1:] != words[:, :1]).any())


def _primes(number: int) -> list[int]:
    """The prime factors of a number, largest last."""
    found: list[int] = []
    prime = 2
    while prime * prime <= number:
        while number % prime == 0:
            found.append(prime)
            number //= prime
        prime += 1
    return [*found, number] if number > 1 else found


def sizes_of(values: Array) -> tuple[float, float]:
    """The smallest size that is not 0, and the largest one; NaN where there is a NaN.

    >>> sizes_of(np.float32([-3, 0, 1.5])), sizes_of(np.float32([0]))
    ((1.5, 3.0), (1.0, 0.0))
    """
    sizes = np.abs(values)
    largest = float(sizes.max(initial=0))
    return float(sizes.min(initial=largest or 1.0, where=sizes > 0)), largest


def products_are_exact(left: tuple[float, float], right: tuple[float, float]) -> bool:
    """Whether every product is exact in f32, and far from overflow: then a link of two is rounded once, in any order.

    Two numbers of at most 12 significant bits have a product of 24. It must be normal where it is not 0. Given are the
    `sizes_of` both.

    >>> products_are_exact((1.5, 3.0), (2**-3, 2**10)), products_are_exact((2**-70, 1.0), (2**-70, 1.0))
    (True, False)
    """
    (smallest, largest), (least, most) = left, right
    return isfinite(largest) and isfinite(most) and largest * most < 2.0**126 and smallest * least >= 2.0**-126


def sum_of_links(left: Array, right: Array, total: Array, packed: int, one: Array) -> None:
    """Add left [.., m, k] times right [.., k, n] to total [.., m, n], in links of `packed` products.

    The bits are those of `added_chain` where products are exact and no total is -0. `one` is room for a matrix [m, n].

    >>> total = np.ones((1, 2, 2), np.float32)
    >>> sum_of_links(np.ones((1, 2, 16), np.float32), np.ones((1, 16, 2), np.float32), total, 2, np.empty((2, 2), np.float32))
    >>> total[0].tolist()
    [[17.0, 17.0], [17.0, 17.0]]
    """
    step = max(1, _PIECE // total.shape[2])
    with np.errstate(all="ignore"):
        for number, a in enumerate(left):
            b = right[number]
            for first in range(0, a.shape[0], step):
                part, rows = total[number, first : first + step], a[first : first + step]
                link = one[: len(part)]
                for k in range(0, a.shape[1], packed):
                    np.matmul(rows[:, k : k + packed], b[k : k + packed], out=link)
                    np.add(part, link, out=part)


def sum_of_bytes(left: Array, right: Array, total: Array, one: Array) -> None:
    """The same of integers of 8 bits or fewer, given in f32, with totals in int32: exact modulo 2^32.

    >>> total = np.ones((1, 1, 1), np.int32)
    >>> sum_of_bytes(np.full((1, 1, 32), 255.0), np.full((1, 32, 1), 255.0), total, np.empty((1, 1), np.float32))
    >>> total.item() == 32 * 255**2 + 1
    True
    """
    for number, a in enumerate(left):
        total[number] += np.matmul(a, right[number], out=one[: len(a)]).astype(np.int32)
