"""Products, inverses and quotients of linear layouts, under Triton's names.

`A * B` counts A's bits first: B's bits of an input follow A's, and B's outputs start where A's end. `compose` is one map after
the other, `invert_and_compose` the place in one layout of what another one holds:

>>> registers = LinearAlgebra.from_bases([("register", [[1]]), ("lane", [[2], [4]])], ["x"])
>>> shared = LinearAlgebra.from_bases([("offset", [[4], [1], [2]])], ["x"])
>>> where = registers.invert_and_compose(shared)
>>> where.bases, where.compose(shared) == registers
((('register', ((2,),)), ('lane', ((4,), (1,)))), True)

The laws: `(A * B).divide_left(A) == B`; `A.invert_and_compose(B).compose(B) == A`, with the smallest such place wherever there
is a choice, except that an input with equal bases in both layouts, which no other input meets, stays as it is (asked of
Triton 3.9).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from layoutalg.core.errors import ConversionError
from layoutalg.core.gf2 import image, preimages
from layoutalg.core.limits import MOST_DIMENSIONS
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import instance_of, listed
from layoutalg.triton.bases import LinearBases, trusted
from layoutalg.triton.given import Bases, Basis, name_of
from layoutalg.triton.reshaping import Reshaped

__all__ = ["LinearAlgebra", "supremum"]


class LinearAlgebra(Reshaped):
    """A linear layout with its algebra.

    >>> LinearAlgebra.identity_1d(4, "i", "o") * LinearAlgebra.zeros_1d(2, "i", "o")
    LinearAlgebra.from_bases([('i', [[1], [2], [0]])], ['o'])
    """

    __slots__ = ()

    def __mul__(self, other: LinearBases) -> Self:
        """The direct sum: `other`'s bits follow those of the same input, its coordinates start where these end.

        Raises `ConversionError` where the two have names in contrary order.

        >>> (LinearAlgebra.zeros_1d(2, "i", "o") * LinearAlgebra.identity_1d(4, "i", "o")).bases
        (('i', ((0,), (1,), (2,))),)
        """
        if not isinstance(other, LinearBases):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        ins = supremum(self.get_in_dim_names(), other.get_in_dim_names())
        outs = supremum(self.get_out_dim_names(), other.get_out_dim_names())
        first, second = dict(self.bases), dict(other.bases)
        low, high = dict(self.out_dims), dict(other.out_dims)
        mine, theirs = self.get_out_dim_names(), other.get_out_dim_names()
        at = [mine.index(name) if name in low else None for name in outs]
        to = [theirs.index(name) if name in high else None for name in outs]
        found: list[tuple[str, Bases]] = []
        for name in ins:
            bases: list[Basis] = [tuple([0 if d is None else basis[d] for d in at]) for basis in first.get(name, ())]
            bases += [
                tuple([0 if d is None else basis[d] * low.get(out, 1) for d, out in zip(to, outs, strict=True)])
                for basis in second.get(name, ())
            ]
            found.append((name, tuple(bases)))
        made = trusted(type(self), found, [(name, low.get(name, 1) * high.get(name, 1)) for name in outs])
        made._check_size()
        return made

    def compose(self, outer: LinearBases) -> Self:
        """`outer` after this one: x becomes `outer(self(x))`.

        Raises `ConversionError` unless this one's outputs are `outer`'s inputs, none larger than there.

        >>> a = LinearAlgebra.from_bases([("i", [[2], [1]])], ["m"])
        >>> a.compose(LinearAlgebra.from_bases([("m", [[1], [3]])], ["o"])).bases
        (('i', ((3,), (1,))),)
        """
        instance_of(outer, LinearBases, "compose with", ConversionError)
        own, theirs = self.get_out_dim_names(), outer.get_in_dim_names()
        if sorted(own) != sorted(theirs):
            raise ConversionError(
                f"compose: outputs {', '.join(own) or '(none)'} are not the inputs {', '.join(theirs) or '(none)'} "
                "of the outer layout: expected the same names"
            )
        for name, size in self.out_dims:
            if size > outer.get_in_dim_size(name):
                raise ConversionError(
                    f"compose: output {name!r} has size {size}, and the outer layout takes {outer.get_in_dim_size(name)}"
                )
        # The outer columns, in the order and with the sizes of these outputs.
        outer = _as_reshaped(outer).transpose_ins(own)
        columns: list[int] = []
        start = 0
        every = outer.columns()
        for name, size in self.out_dims:
            columns += every[start : start + size.bit_length() - 1]
            start += len(outer.bases_of(name))
        return self._through([image(columns, column) for column in self.columns()], self.bases, outer)

    def _through(self, columns: Sequence[int], ins: Sequence[tuple[str, Bases]], outs: LinearBases) -> Self:
        """A layout of columns: the inputs of one layout, the outputs of another."""
        bits = outs.out_bits
        names = [(name, 1 << len(bases)) for name, bases in ins]
        flat = trusted(type(self), [("all", tuple([(column,) for column in columns]))], [("all", 1 << bits)])
        return flat.reshape_ins(names).reshape_outs(outs.out_dims)

    def invert_and_compose(self, outer: LinearBases) -> Self:
        """C with `self(x) = outer(C(x))`: the place in `outer` that holds what place x of this layout holds.

        An input that both have with equal bases, and whose bits of the outputs no other input moves, stays as it is; of all
        other places C is the smallest.

        Raises `ConversionError` unless the outputs are the same ones, `outer`'s at least as large, and `outer` reaches
        what this layout does.

        >>> a, b = LinearAlgebra.identity_1d(4, "i", "o"), LinearAlgebra.from_bases([("j", [[0], [2], [1]])], ["o"])
        >>> a.invert_and_compose(b).bases
        (('i', ((4,), (2,))),)
        """
        instance_of(outer, LinearBases, "invert_and_compose with", ConversionError)
        own, theirs = self.get_out_dim_names(), outer.get_out_dim_names()
        if sorted(own) != sorted(theirs):
            raise ConversionError(
                f"invert_and_compose: outputs {', '.join(own) or '(none)'} and {', '.join(theirs) or '(none)'} differ: "
                "expected the same names"
            )
        for name, size in self.out_dims:
            if size > outer.get_out_dim_size(name):
                raise ConversionError(
                    f"invert_and_compose: output {name!r} has size {size}, and {outer.get_out_dim_size(name)} in the other: "
                    "it must cover this one"
                )
        target = _as_reshaped(outer).transpose_outs(own)
        source = trusted(type(self), self.bases, target.out_dims)
        kept = _unchanged(source, target)
        columns: list[int] = []
        for (name, place), found in zip(_places(source), preimages(target.columns(), source.columns()), strict=True):
            if name in kept:
                found = 1 << (kept[name] + place)
            if found is None:
                raise ConversionError(
                    f"invert_and_compose: the other layout does not reach {name} basis {place}, "
                    f"{list(source.bases_of(name)[place])}: it must cover this one"
                )
            columns.append(found)
        places = trusted(type(self), (), target.in_dims)
        return self._through(columns, self.bases, places)

    def invert(self) -> Self:
        """The inverse of a bijection.

        Raises `ConversionError` for what is not one.

        >>> LinearAlgebra.from_bases([("i", [[2], [3]])], ["o"]).invert().bases
        (('o', ((3,), (1,))),)
        >>> LinearAlgebra.zeros_1d(4, "i", "o").invert()
        Traceback (most recent call last):
        layoutalg.core.errors.ConversionError: invert: 2 bits of inputs, 0 of outputs: expected a bijection (pseudoinvert takes
        any layout that reaches everything)
        """
        if not self.is_invertible():
            raise ConversionError(
                f"invert: {self.in_bits} bits of inputs, {self.out_bits} of outputs: expected a bijection "
                "(pseudoinvert takes any layout that reaches everything)"
            )
        return self.pseudoinvert()

    def pseudoinvert(self) -> Self:
        """For each coordinate the smallest place that has it.

        Raises `ConversionError` for a layout that does not reach everything.

        >>> LinearAlgebra.from_bases([("i", [[1], [1], [2]])], ["o"]).pseudoinvert().bases
        (('o', ((1,), (4,))),)
        """
        identity = self.empty()
        for name, size in self.out_dims:
            identity = identity * self.identity_1d(size, name, name)
        return identity.invert_and_compose(self)

    def divide_left(self, divisor: LinearBases) -> Self | None:
        """C with `self == divisor * C`, over all inputs and outputs of this layout; None where there is none.

        >>> a, b = LinearAlgebra.identity_1d(4, "i", "o"), LinearAlgebra.zeros_1d(2, "i", "o")
        >>> (a * b).divide_left(a) == b, (a * b).divide_left(b)
        (True, None)
        """
        return self._divided(divisor, left=True)

    def divide_right(self, divisor: LinearBases) -> Self | None:
        """C with `self == C * divisor`, over all inputs and outputs of this layout; None where there is none.

        >>> a, b = LinearAlgebra.identity_1d(4, "i", "o"), LinearAlgebra.zeros_1d(2, "i", "o")
        >>> (a * b).divide_right(b) == a, (a * b).divide_right(a)
        (True, None)
        """
        return self._divided(divisor, left=False)

    def _divided(self, divisor: LinearBases, *, left: bool) -> Self | None:
        instance_of(divisor, LinearBases, "divide by", ConversionError)
        counts, sizes = dict(divisor.bases), dict(divisor.out_dims)
        if not all(map(self.has_in_dim, counts)) or not all(map(self.has_out_dim, sizes)):
            return None
        if any(len(bases) < len(counts.get(name, ())) for name, bases in self.bases):
            return None
        outs = [(name, size // sizes.get(name, 1)) for name, size in self.out_dims]
        if any(size == 0 for _, size in outs):
            return None
        found: list[tuple[str, Bases]] = []
        for name, bases in self.bases:
            n = len(counts.get(name, ()))
            rest = bases[n:] if left else bases[: len(bases) - n]
            shift = [sizes.get(out, 1) if left else 1 for out, _ in self.out_dims]
            found.append((name, tuple([tuple([b // s for b, s in zip(one, shift, strict=True)]) for one in rest])))
        if any(b >= size for _, rest in found for one in rest for b, (_, size) in zip(one, outs, strict=True)):
            return None
        candidate = trusted(type(self), found, outs)
        first, second = (divisor, candidate) if left else (candidate, divisor)
        try:
            product = trusted(type(self), first.bases, first.out_dims) * second
        except ConversionError:  # names in contrary order
            return None
        return candidate if product == self else None

    def is_trivial_over(self, names: Sequence[str]) -> bool:
        """Whether these inputs are the outputs of the same names, and have nothing to do with any others.

        >>> layout = LinearAlgebra.identity_1d(4, "warp", "warp") * LinearAlgebra.zeros_1d(2, "lane", "lane")
        >>> layout.is_trivial_over(["warp"]), layout.is_trivial_over(["lane"])
        (True, False)
        """
        wanted = [name_of(name, "dimension") for name in listed(names, "dimensions", MOST_DIMENSIONS, ConversionError)]
        ins, outs = self.get_in_dim_names(), self.get_out_dim_names()
        if not all(
            name in ins and name in outs and self.get_in_dim_size(name) == self.get_out_dim_size(name)
            for name in wanted
        ):
            return False
        # In the order of the outputs: an identity must not depend on how the inputs are listed.
        square = self.sublayout(wanted, wanted)
        square = square.transpose_ins(square.get_out_dim_names())
        if any(column != 1 << i for i, column in enumerate(square.columns())):
            return False
        return self.sublayout_is_zero([one for one in ins if one not in wanted], wanted) and self.sublayout_is_zero(
            wanted, [one for one in outs if one not in wanted]
        )

    def quotient(self, names: Sequence[str]) -> Self | None:
        """The layout without inputs and outputs over which it is trivial; None where it is not trivial.

        >>> layout = LinearAlgebra.identity_1d(4, "warp", "warp") * LinearAlgebra.zeros_1d(2, "lane", "lane")
        >>> layout.quotient(["warp"]).bases, layout.quotient(["lane"])
        ((('lane', ((0,),)),), None)
        """
        if not self.is_trivial_over(names):
            return None
        ins = [one for one in self.get_in_dim_names() if one not in names]
        return self.sublayout(ins, [one for one in self.get_out_dim_names() if one not in names])


def _places(layout: LinearBases) -> list[tuple[str, int]]:
    return [(name, place) for name, bases in layout.bases for place in range(len(bases))]


def _unchanged(source: LinearBases, target: LinearBases) -> dict[str, int]:
    """The inputs that stay as they are, and where they start in `target`.

    Both layouts have them with equal bases, and no other input moves a bit of the outputs that they move.
    """

    def moved(layout: LinearBases, wanted: str, *, others: bool) -> int:
        found = 0
        for (name, _), column in zip(_places(layout), layout.columns(), strict=True):
            if (name != wanted) is others:
                found |= column
        return found

    kept: dict[str, int] = {}
    for i, (name, bases) in enumerate(target.bases):
        if source.has_in_dim(name) and source.bases_of(name) == bases:
            rest = moved(source, name, others=True) | moved(target, name, others=True)
            if not moved(target, name, others=False) & rest:
                kept[name] = sum(len(one) for _, one in target.bases[:i])
    return kept


def _as_reshaped(layout: LinearBases) -> Reshaped:
    return layout if isinstance(layout, Reshaped) else trusted(Reshaped, layout.bases, layout.out_dims)


def supremum(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """The names of two lists as one list that keeps the order of both; where they leave it open, the first list leads.

    Raises `ConversionError` where there is none.

    >>> supremum(("a", "b"), ("a", "c")), supremum(("a", "b"), ("b", "c")), supremum(("b",), ("a", "b"))
    (('a', 'b', 'c'), ('a', 'b', 'c'), ('a', 'b'))
    >>> supremum(("a", "b"), ("b", "a"))
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: a, b and b, a: expected common names in the same order
    """
    x, y = list(first), list(second)
    found: list[str] = []
    while x or y:
        if x and x[0] not in y:
            found.append(x.pop(0))
        elif y and (y[0] not in x or y[0] == x[0]):
            name = y.pop(0)
            found.append(name)
            if x and x[0] == name:
                x.pop(0)
        else:
            names = (", ".join(map(str, one)) for one in (first, second))
            raise ConversionError(f"{shown(' and '.join(names))[1:-1]}: expected common names in the same order")
    return tuple(found)
