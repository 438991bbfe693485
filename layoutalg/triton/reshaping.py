"""Inputs and outputs of a linear layout, put in another order, joined, cut and left out: Triton's verbs for it.

None of these changes which bit becomes what; they only rename, regroup or drop bits. The bits of several inputs
are counted in order, those of the first one lowest:

>>> layout = Reshaped.from_bases([("register", [[1, 0]]), ("lane", [[0, 1], [0, 2]])], ["x", "y"])
>>> layout.flatten_ins().bases
(('register', ((1, 0), (0, 1), (0, 2))),)
>>> layout.flatten_outs().bases
(('register', ((1,),)), ('lane', ((2,), (4,))))

The law: flattening commutes with `apply`, and `reshape_ins` and `reshape_outs` undo it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Self

from layoutalg.core.errors import ConversionError
from layoutalg.core.limits import MOST_DIMENSIONS
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import instance_of, listed
from layoutalg.triton.bases import LinearBases, trusted
from layoutalg.triton.given import Bases, Sizes, name_of, names_of, pair_of, power_of_two

__all__ = ["Reshaped"]


class Reshaped(LinearBases):
    """A linear layout whose inputs and outputs can be rearranged.

    >>> Reshaped.identity_1d(4, "lane", "x").resize_in_dim("lane", 2).bases
    (('lane', ((1,),)),)
    """

    __slots__ = ()

    def transpose_ins(self, names: Sequence[str]) -> Self:
        """The same layout with its inputs in another order.

        Raises `ConversionError` unless `names` are the inputs.

        >>> layout = Reshaped.from_bases([("i", [[1]]), ("j", [[2]])], ["o"])
        >>> layout.transpose_ins(["j", "i"]).get_in_dim_names()
        ('j', 'i')
        """
        order = _same(names, self.get_in_dim_names(), "inputs")
        return trusted(type(self), [self._bases[i] for i in order], self._outs)

    def transpose_outs(self, names: Sequence[str]) -> Self:
        """The same layout with its outputs in another order.

        Raises `ConversionError` unless `names` are the outputs.

        >>> layout = Reshaped.from_bases([("i", [[1, 0], [0, 1]])], ["x", "y"])
        >>> layout.transpose_outs(["y", "x"]).bases
        (('i', ((0, 1), (1, 0))),)
        """
        return self._keep(_same(names, self.get_out_dim_names(), "outputs"))

    def _keep(self, outs: Sequence[int]) -> Self:
        """Some of the outputs, in the order given."""
        bases = [(name, tuple([tuple([basis[d] for d in outs]) for basis in one])) for name, one in self._bases]
        return trusted(type(self), bases, [self._outs[d] for d in outs])

    def reshape_ins(self, sizes: Iterable[tuple[str, int]]) -> Self:
        """The bits of all inputs, in order, dealt out to inputs of other names and sizes.

        Raises `ConversionError` unless the sizes are powers of two with the same product.

        >>> Reshaped.identity_1d(8, "i", "o").reshape_ins([("j", 2), ("k", 4)]).bases
        (('j', ((1,),)), ('k', ((2,), (4,))))
        """
        wanted = _sizes(sizes, self.in_bits, "inputs")
        flat = [basis for _, bases in self._bases for basis in bases]
        found: list[tuple[str, Bases]] = []
        start = 0
        for name, size in wanted:
            end = start + size.bit_length() - 1
            found.append((name, tuple(flat[start:end])))
            start = end
        return trusted(type(self), found, self._outs)

    def reshape_outs(self, sizes: Iterable[tuple[str, int]]) -> Self:
        """The bits of all outputs, in order, dealt out to outputs of other names and sizes.

        Raises `ConversionError` unless the sizes are powers of two with the same product.

        >>> Reshaped.identity_1d(8, "i", "o").reshape_outs([("x", 2), ("y", 4)]).bases
        (('i', ((1, 0), (0, 1), (0, 2))),)
        """
        wanted = _sizes(sizes, self.out_bits, "outputs")

        def split(column: int) -> tuple[int, ...]:
            values: list[int] = []
            for _, size in wanted:
                values.append(column & (size - 1))
                column >>= size.bit_length() - 1
            return tuple(values)

        columns = iter(self.columns())
        return trusted(
            type(self), [(name, tuple([split(next(columns)) for _ in bases])) for name, bases in self._bases], wanted
        )

    def flatten_ins(self) -> Self:
        """All inputs as one, under the name of the first.

        >>> Reshaped.from_bases([("i", [[1]]), ("j", [[2]])], ["o"]).flatten_ins().bases
        (('i', ((1,), (2,))),)
        """
        return self.reshape_ins([(self._bases[0][0], 1 << self.in_bits)]) if self._bases else self

    def flatten_outs(self) -> Self:
        """All outputs as one, under the name of the first.

        >>> Reshaped.from_bases([("i", [[1, 1], [0, 1]])], ["x", "y"]).flatten_outs().bases
        (('i', ((3,), (2,))),)
        """
        return self.reshape_outs([(self._outs[0][0], 1 << self.out_bits)]) if self._outs else self

    def unsqueeze_in(self, name: str) -> Self:
        """With one more input, of size 1, behind the others.

        >>> Reshaped.identity_1d(2, "i", "o").unsqueeze_in("block").in_dims
        (('i', 2), ('block', 1))
        """
        return self.reshape_ins([*self.in_dims, (name_of(name, "input"), 1)])

    def unsqueeze_out(self, name: str) -> Self:
        """With one more output, of size 1, behind the others.

        >>> Reshaped.identity_1d(2, "i", "o").unsqueeze_out("z").out_dims
        (('o', 2), ('z', 1))
        """
        return self.reshape_outs([*self._outs, (name_of(name, "output"), 1)])

    def squeeze_in(self, name: str) -> Self:
        """Without an input of size 1.

        >>> Reshaped.identity_1d(2, "i", "o").squeeze_in("i")
        Traceback (most recent call last):
        layoutalg.core.errors.ConversionError: input 'i' has size 2: expected size 1
        """
        if self.get_in_dim_size(name) != 1:
            raise ConversionError(f"input {name!r} has size {self.get_in_dim_size(name)}: expected size 1")
        return self.reshape_ins([one for one in self.in_dims if one[0] != name])

    def squeeze_out(self, name: str) -> Self:
        """Without an output of size 1.

        >>> Reshaped.zeros_1d(2, "i", "o").squeeze_out("o").out_dims
        ()
        """
        if self.get_out_dim_size(name) != 1:
            raise ConversionError(f"output {name!r} has size {self.get_out_dim_size(name)}: expected size 1")
        return self.reshape_outs([one for one in self._outs if one[0] != name])

    def sublayout(self, ins: Sequence[str] | str, outs: Sequence[str] | str) -> Self:
        """Some inputs and some outputs, in the order that the layout has them; it need not be surjective.

        Raises `ConversionError` for names that it does not have.

        >>> layout = Reshaped.from_bases([("i", [[1, 1]]), ("j", [[0, 1]])], ["x", "y"])
        >>> layout.sublayout("i", ["y"]).bases
        (('i', ((1,),)),)
        """
        kept = _some(ins, self.get_in_dim_names(), "input")
        chosen = _some(outs, self.get_out_dim_names(), "output")
        rows = self._keep([d for d, (name, _) in enumerate(self._outs) if name in chosen])
        return trusted(type(self), [one for one in rows.bases if one[0] in kept], rows.out_dims)

    def sublayout_is_zero(self, ins: Sequence[str] | str, outs: Sequence[str] | str) -> bool:
        """Whether some inputs move none of some outputs.

        >>> layout = Reshaped.from_bases([("i", [[0, 1]]), ("j", [[1, 1]])], ["x", "y"])
        >>> layout.sublayout_is_zero(["i"], ["x"]), layout.sublayout_is_zero(["j"], ["x"])
        (True, False)
        """
        return not any(self.sublayout(ins, outs).columns())

    def resize_in_dim(self, name: str, size: int) -> Self:
        """With the lowest bits of an input only.

        Raises `ConversionError` for a larger size.

        >>> Reshaped.identity_1d(4, "i", "o").resize_in_dim("i", 8)
        Traceback (most recent call last):
        layoutalg.core.errors.ConversionError: input 'i' of size 4 cannot grow to 8: expected a smaller size
        """
        old, new = self.get_in_dim_size(name), power_of_two(size, f"size of input {name!r}")
        if new > old:
            raise ConversionError(f"input {name!r} of size {old} cannot grow to {new}: expected a smaller size")
        bits = new.bit_length() - 1
        return trusted(type(self), [(n, one[:bits] if n == name else one) for n, one in self._bases], self._outs)

    def resize_out_dim(self, name: str, size: int) -> Self:
        """With an output cut to a smaller size: what leads beyond it becomes 0 there.

        Raises `ConversionError` for a larger size.

        >>> Reshaped.from_bases([("i", [[1], [3], [4]])], ["o"]).resize_out_dim("o", 2).bases
        (('i', ((1,), (0,), (0,))),)
        """
        old, new = self.get_out_dim_size(name), power_of_two(size, f"size of output {name!r}")
        if new > old:
            raise ConversionError(f"output {name!r} of size {old} cannot grow to {new}: expected a smaller size")
        at = self.get_out_dim_names().index(name)
        bases = [
            (n, tuple([(*b[:at], b[at] if b[at] < new else 0, *b[at + 1 :]) for b in one])) for n, one in self._bases
        ]
        return trusted(type(self), bases, [(n, new if n == name else had) for n, had in self._outs])

    def remove_zero_bases_along_dim(self, name: str) -> Self:
        """Without the bases of one input that move nothing.

        >>> Reshaped.from_bases([("i", [[0], [1], [0]])], ["o"]).remove_zero_bases_along_dim("i").bases
        (('i', ((1,),)),)
        """
        self.bases_of(name)
        return trusted(
            type(self),
            [(n, tuple([b for b in one if any(b)]) if n == name else one) for n, one in self._bases],
            self._outs,
        )

    def concat_ins(self, other: LinearBases) -> Self:
        """The inputs of both, over the same outputs.

        Raises `ConversionError` unless the outputs are the same and no input has the name of another.

        >>> Reshaped.identity_1d(2, "i", "o").concat_ins(Reshaped.zeros_1d(2, "j", "o", 2)).bases
        (('i', ((1,),)), ('j', ((0,),)))
        """
        instance_of(other, LinearBases, "a layout", ConversionError)
        if self._outs != other.out_dims:
            raise ConversionError(f"concat_ins: outputs {self._outs} and {other.out_dims} differ: expected the same")
        _apart(self.get_in_dim_names(), other.get_in_dim_names(), "concat_ins", "inputs")
        return trusted(type(self), [*self._bases, *other.bases], self._outs)

    def concat_outs(self, other: LinearBases) -> Self:
        """The outputs of both, of the same inputs.

        Raises `ConversionError` unless the inputs are the same and no output has the name of another.

        >>> Reshaped.identity_1d(2, "i", "x").concat_outs(Reshaped.identity_1d(2, "i", "y")).bases
        (('i', ((1, 1),)),)
        """
        instance_of(other, LinearBases, "a layout", ConversionError)
        if self.in_dims != other.in_dims:
            raise ConversionError(f"concat_outs: inputs {self.in_dims} and {other.in_dims} differ: expected the same")
        _apart(self.get_out_dim_names(), other.get_out_dim_names(), "concat_outs", "outputs")
        joined = [
            (name, tuple([(*a, *b) for a, b in zip(one, more, strict=True)]))
            for (name, one), (_, more) in zip(self._bases, other.bases, strict=True)
        ]
        return trusted(type(self), joined, [*self._outs, *other.out_dims])

    def renamed(self, ins: dict[str, str] | None = None, outs: dict[str, str] | None = None) -> Self:
        """The same layout under other names.

        Raises `ConversionError` for what is no name, and where two would have the same.

        >>> Reshaped.identity_1d(2, "i", "o").renamed({"i": "lane"}).get_in_dim_names()
        ('lane',)
        """
        first: Mapping[str, str] = {} if ins is None else ins
        second: Mapping[str, str] = {} if outs is None else outs
        for names in (first, second):
            instance_of(names, dict, "new names", ConversionError)
        inputs = names_of([first.get(name, name) for name in self.get_in_dim_names()], "input")
        outputs = names_of([second.get(name, name) for name in self.get_out_dim_names()], "output")
        return trusted(
            type(self),
            zip(inputs, [bases for _, bases in self._bases], strict=True),
            zip(outputs, [size for _, size in self._outs], strict=True),
        )


def _same(names: Sequence[str], own: Sequence[str], what: str) -> list[int]:
    given = [name_of(name, what) for name in listed(names, what, MOST_DIMENSIONS, ConversionError)]
    if sorted(given) != sorted(own):
        raise ConversionError(f"{what} {shown(given)}: expected all of {', '.join(own) or '(none)'}, in any order")
    return [own.index(name) for name in given]


def _some(names: Sequence[str] | str, own: Sequence[str], what: str) -> set[str]:
    several = [names] if isinstance(names, str) else listed(names, f"{what}s", MOST_DIMENSIONS, ConversionError)
    chosen = {name_of(name, what) for name in several}
    for name in chosen:
        if name not in own:
            raise ConversionError(f"no {what} {shown(name)}: expected some of {', '.join(own) or '(none)'}")
    return chosen


def _sizes(sizes: Iterable[tuple[str, int]], bits: int, what: str) -> Sizes:
    pairs = [pair_of(one) for one in listed(sizes, what, MOST_DIMENSIONS, ConversionError)]
    wanted = tuple([(name_of(name, what), power_of_two(size, f"size of {shown(name)}")) for name, size in pairs])
    _apart((), [name for name, _ in wanted], "reshape", what)
    if sum(size.bit_length() - 1 for _, size in wanted) != bits:
        text = "x".join(str(size) for _, size in wanted) or "1"
        raise ConversionError(f"{what} of {text}: expected {1 << bits} values in all")
    return wanted


def _apart(first: Sequence[str], second: Sequence[str], asking: str, what: str) -> None:
    names = [*first, *second]
    for name in names:
        if names.count(name) > 1:
            raise ConversionError(f"{asking}: {shown(name)} would name two {what}: expected different names")
