"""What each bit of a number does to coordinates: the value behind Triton's linear layouts.

A linear layout has named inputs and named outputs. Each bit of an input has a *basis*, a coordinate per output; an input's
coordinates are the XOR of the bases of its bits that are set. Here the lane's second bit moves x and y together:

>>> swizzled = LinearBases.from_bases([("lane", [[1, 0], [2, 1]]), ("register", [[0, 1]])], ["x", "y"])
>>> swizzled.apply({"lane": 3, "register": 0}), swizzled.apply({"lane": 3, "register": 1})
({'x': 3, 'y': 1}, {'x': 3, 'y': 0})

The law: `apply` of an XOR is the XOR of `apply`s. So a layout is a matrix over GF(2), whose columns are the bases
(`get_matrix_view`), and `core.gf2` answers what can be asked of it. The first output has the lowest rows.

Names and meanings are those of Triton's LinearLayout (`triton.tools`, include/triton/Tools/LinearLayout.h); where Triton's
process aborts, a `ConversionError` says what was given. `LinearLayout` is the class to use: this one holds what it is,
`Reshaped` adds what can be done to its inputs and outputs, `LinearAlgebra` products, inverses and quotients.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self, TypeVar

from layoutalg.core.errors import ConversionError
from layoutalg.core.gf2 import kernel, reduced
from layoutalg.core.limits import MOST_DIMENSIONS
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import as_flag, found_whole, instance_of, listed
from layoutalg.triton.given import (
    Bases,
    Basis,
    Sizes,
    bases_of_input,
    listing,
    name_of,
    names_of,
    pair_of,
    places_of,
    power_of_two,
)

__all__ = ["LinearBases", "trusted"]

_Inputs = tuple[tuple[str, Bases], ...]
_MOST_COLUMNS = 64
"""Bits of all inputs, or of all outputs, together: Triton's own limit (a row of its matrix is a 64-bit word)."""


class LinearBases:
    """Named inputs with a list of bases each, over named outputs with sizes; immutable, hashable, compared by all of these.

    >>> LinearBases.identity_1d(4, "lane", "x") == LinearBases.from_bases([("lane", [[1], [2]])], ["x"])
    True
    """

    __slots__ = ("_bases", "_columns", "_outs")

    _bases: _Inputs
    _outs: Sizes
    _columns: tuple[int, ...] | None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed: {name} is fixed")

    @classmethod
    def from_bases(
        cls,
        bases: object,
        out_dim_names: object,
        out_dim_sizes: object = None,
        require_surjective: bool = True,
    ) -> Self:
        """The layout of `[(input, [basis, ..]), ..]`; without sizes each output is as large as its bases reach.

        Raises `ConversionError` for bases of another rank, negative or beyond a size, sizes that are not powers of two, and,
        unless `require_surjective` is False, for coordinates that no input reaches.

        >>> LinearBases.from_bases([("i", [[1], [4]])], ["o"])
        Traceback (most recent call last):
        layoutalg.core.errors.ConversionError: nothing reaches o = 2: a surjective layout needs a basis for each of the 3 bits
        of its outputs (give sizes and require_surjective=False to allow this)
        """
        names, surjective = names_of(out_dim_names, "output"), as_flag(require_surjective, "require_surjective")
        given = [pair_of(one) for one in listed(bases, "bases", MOST_DIMENSIONS, ConversionError)]
        ins = names_of([name for name, _ in given], "input")
        read = tuple([(name, bases_of_input(name, one, len(names))) for name, (_, one) in zip(ins, given, strict=True)])
        every = [basis for _, one in read for basis in one]
        if out_dim_sizes is None:
            if not surjective:
                raise ConversionError("from_bases: sizes of the outputs are needed with require_surjective=False")
            sizes = [1 << max([basis[d] for basis in every], default=0).bit_length() for d in range(len(names))]
        else:
            sizes = [*listed(out_dim_sizes, "out_dim_sizes", MOST_DIMENSIONS, ConversionError)]
            if len(sizes) != len(names):
                raise ConversionError(f"{len(sizes)} sizes for {len(names)} outputs: expected one for each")
            sizes = [power_of_two(size, f"size of output {name!r}") for name, size in zip(names, sizes, strict=True)]
        for name, one in read:
            for i, basis in enumerate(one):
                for out, value, size in zip(names, basis, sizes, strict=True):
                    if value >= size:
                        raise ConversionError(
                            f"{name} basis {i}, {list(basis)}: expected {out} below its size {size}, found {value}"
                        )
        made = trusted(cls, read, zip(names, sizes, strict=True))
        made._check_size()
        if surjective and not made.is_surjective():
            raise ConversionError(
                f"nothing reaches {made.unreached()}: a surjective layout needs a basis for each of the "
                f"{made.out_bits} bits of its outputs (give sizes and require_surjective=False to allow this)"
            )
        return made

    @classmethod
    def empty(cls) -> Self:
        """The layout without inputs and outputs, the unit of `*`.

        >>> LinearBases.empty().is_surjective()
        True
        """
        return trusted(cls, (), ())

    @classmethod
    def identity_1d(cls, size: int, in_dim: str, out_dim: str) -> Self:
        """One input that is one output: basis i is 2^i. Of size 0, the empty layout.

        >>> LinearBases.identity_1d(4, "i", "o").bases
        (('i', ((1,), (2,))),)
        """
        return cls.strided_1d(size, 1, in_dim, out_dim)

    @classmethod
    def strided_1d(cls, size: int, stride: int, in_dim: str, out_dim: str) -> Self:
        """One input times a stride, a power of two: basis i is stride * 2^i.

        >>> LinearBases.strided_1d(4, 2, "i", "o").bases
        (('i', ((2,), (4,))),)
        >>> LinearBases.strided_1d(4, 3, "i", "o")
        Traceback (most recent call last):
        layoutalg.core.errors.ConversionError: stride 3: expected a power of two
        """
        if found_whole(size) == 0:
            return cls.empty()
        step, bits = power_of_two(stride, "stride"), power_of_two(size, "size").bit_length() - 1
        names = names_of((in_dim,), "input"), names_of((out_dim,), "output")
        reach = power_of_two(step << bits, "size times stride") if bits else step
        made = trusted(cls, [(names[0][0], tuple([(step << i,) for i in range(bits)]))], [(names[1][0], reach)])
        made._check_size()
        return made

    @classmethod
    def zeros_1d(cls, size: int, in_dim: str, out_dim: str, out_dim_size: int = 1) -> Self:
        """One input that moves nothing, over one output.

        >>> LinearBases.zeros_1d(4, "i", "o").bases, LinearBases.zeros_1d(4, "i", "o", 8).is_surjective()
        ((('i', ((0,), (0,))),), False)
        """
        if found_whole(size) == 0:
            return cls.empty()
        bits = power_of_two(size, "size").bit_length() - 1
        names = names_of((in_dim,), "input"), names_of((out_dim,), "output")
        made = trusted(
            cls, [(names[0][0], ((0,),) * bits)], [(names[1][0], power_of_two(out_dim_size, "out_dim_size"))]
        )
        made._check_size()
        return made

    # What it is

    @property
    def bases(self) -> tuple[tuple[str, Bases], ...]:
        """The inputs in order, each with its bases, least significant bit first.

        >>> LinearBases.identity_1d(4, "i", "o").bases
        (('i', ((1,), (2,))),)
        """
        return self._bases

    @property
    def out_dims(self) -> Sizes:
        """The outputs in order, each with its size.

        >>> LinearBases.identity_1d(4, "i", "o").out_dims
        (('o', 4),)
        """
        return self._outs

    @property
    def in_dims(self) -> Sizes:
        """The inputs in order, each with its size.

        >>> LinearBases.identity_1d(4, "i", "o").in_dims
        (('i', 4),)
        """
        return tuple([(name, 1 << len(bases)) for name, bases in self._bases])

    def get_in_dim_names(self) -> tuple[str, ...]:
        """The names of the inputs, in order.

        >>> LinearBases.identity_1d(4, "i", "o").get_in_dim_names()
        ('i',)
        """
        return tuple([name for name, _ in self._bases])

    def get_out_dim_names(self) -> tuple[str, ...]:
        """The names of the outputs, in order.

        >>> LinearBases.identity_1d(4, "i", "o").get_out_dim_names()
        ('o',)
        """
        return tuple([name for name, _ in self._outs])

    def has_in_dim(self, name: str) -> bool:
        """Whether there is an input of that name.

        >>> LinearBases.identity_1d(4, "i", "o").has_in_dim("o")
        False
        """
        return name_of(name, "input") in self.get_in_dim_names()

    def has_out_dim(self, name: str) -> bool:
        """Whether there is an output of that name.

        >>> LinearBases.identity_1d(4, "i", "o").has_out_dim("o")
        True
        """
        return name_of(name, "output") in self.get_out_dim_names()

    def bases_of(self, name: str) -> Bases:
        """The bases of one input.

        Raises `ConversionError` for a name that it does not have.

        >>> LinearBases.identity_1d(4, "i", "o").bases_of("lane")
        Traceback (most recent call last):
        layoutalg.core.errors.ConversionError: no input 'lane': expected one of i
        """
        wanted = name_of(name, "input")
        for one, bases in self._bases:
            if one == wanted:
                return bases
        raise ConversionError(f"no input {shown(name)}: expected one of {listing(self.get_in_dim_names())}")

    def get_in_dim_size(self, name: str) -> int:
        """How many values an input has: 2 to the number of its bases.

        >>> LinearBases.zeros_1d(4, "i", "o").get_in_dim_size("i")
        4
        """
        return 1 << len(self.bases_of(name))

    def get_out_dim_size(self, name: str) -> int:
        """How many values an output has.

        Raises `ConversionError` for a name that it does not have.

        >>> LinearBases.zeros_1d(4, "i", "o").get_out_dim_size("o")
        1
        """
        wanted = name_of(name, "output")
        for one, size in self._outs:
            if one == wanted:
                return size
        raise ConversionError(f"no output {shown(name)}: expected one of {listing(self.get_out_dim_names())}")

    @property
    def in_bits(self) -> int:
        """The bits of all inputs together.

        >>> LinearBases.identity_1d(4, "i", "o").in_bits
        2
        """
        return sum(len(bases) for _, bases in self._bases)

    @property
    def out_bits(self) -> int:
        """The bits of all outputs together.

        >>> LinearBases.identity_1d(4, "i", "o").out_bits
        2
        """
        return sum(size.bit_length() - 1 for _, size in self._outs)

    # As a matrix over GF(2)

    def columns(self) -> tuple[int, ...]:
        """The matrix as `core.gf2` takes it: what each bit of the inputs becomes, all outputs in one whole number.

        >>> LinearBases.from_bases([("i", [[1, 1], [0, 2]])], ["x", "y"], [2, 4], False).columns()
        (3, 4)
        """
        found = self._columns
        if found is None:
            found = tuple([self._joined(basis) for _, bases in self._bases for basis in bases])
            object.__setattr__(self, "_columns", found)
        return found

    def _joined(self, basis: Basis) -> int:
        shift = found = 0
        for value, (_, size) in zip(basis, self._outs, strict=True):
            found |= value << shift
            shift += size.bit_length() - 1
        return found

    def get_matrix_view(self) -> list[list[int]]:
        """The matrix: a row per bit of the outputs, a column per bit of the inputs.

        >>> LinearBases.strided_1d(4, 2, "i", "o").get_matrix_view()
        [[0, 0], [1, 0], [0, 1]]
        """
        return [[column >> row & 1 for column in self.columns()] for row in range(self.out_bits)]

    @property
    def matrix_rank(self) -> int:
        """How many bits of the outputs the inputs reach independently.

        >>> LinearBases.from_bases([("i", [[3], [3]])], ["o"], [4], False).matrix_rank
        1
        """
        return len(reduced(self.columns()))

    def is_surjective(self) -> bool:
        """Whether every coordinate is reached.

        >>> LinearBases.zeros_1d(4, "i", "o").is_surjective(), LinearBases.strided_1d(4, 2, "i", "o").is_surjective()
        (True, False)
        """
        return self.matrix_rank == self.out_bits

    def is_injective(self) -> bool:
        """Whether different inputs have different coordinates: no copies.

        >>> LinearBases.zeros_1d(4, "i", "o").is_injective(), LinearBases.strided_1d(4, 2, "i", "o").is_injective()
        (False, True)
        """
        return self.matrix_rank == self.in_bits

    def is_invertible(self) -> bool:
        """Whether it is a bijection: surjective, with as many bits in as out.

        >>> LinearBases.identity_1d(4, "i", "o").is_invertible()
        True
        """
        return self.in_bits == self.out_bits == self.matrix_rank

    def get_free_variable_masks(self) -> dict[str, int]:
        """Of each input the bits that lower ones can stand for, as a mask: flipping one of them reaches nothing new.

        >>> LinearBases.from_bases([("i", [[1], [0], [1], [2]])], ["o"]).get_free_variable_masks()
        {'i': 6}
        """
        # The leading bit of a vector of the kernel is a column that the columns below it make.
        free = {vector.bit_length() - 1 for vector in kernel(self.columns())}
        masks: dict[str, int] = {}
        column = 0
        for name, bases in self._bases:
            masks[name] = sum(1 << i for i in range(len(bases)) if column + i in free)
            column += len(bases)
        return masks

    def get_num_consecutive_in_out(self) -> int:
        """How many consecutive values of the first input are consecutive values of the first output, from any aligned start.

        >>> LinearBases.from_bases([("i", [[1], [2], [8], [4]])], ["o"]).get_num_consecutive_in_out()
        4
        """
        if not self._bases or not self._outs:
            return 1
        first = self._bases[0][1]
        run = 0
        while run < len(first) and first[run][0] == 1 << run and not any(first[run][1:]):
            run += 1
        for name, bases in self._bases:
            for basis in bases[run:] if name == self._bases[0][0] else bases:
                while basis[0] & ((1 << run) - 1):
                    run -= 1
        return 1 << run

    def apply(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The coordinates of one place, or of arrays of places: the XOR of the bases of all bits that are set.

        Bits beyond an input's size are cut off, as in Triton. Arrays broadcast against one another.

        Raises `ConversionError` unless each input has a value, for what is not a whole number and for shapes that do not
        broadcast; `SizeError` for more than 2^24 places at once.

        >>> LinearBases.identity_1d(4, "i", "o").apply({"i": np.arange(6)})["o"].tolist()
        [0, 1, 2, 3, 0, 1]
        """
        if not isinstance(inputs, Mapping) or set(inputs) != set(self.get_in_dim_names()):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConversionError(f"apply to {shown(inputs)}: expected values for {listing(self.get_in_dim_names())}")
        found: list[Any] = [0] * len(self._outs)
        places = places_of(inputs)
        for name, bases in self._bases:
            place = places[name]
            for bit, basis in enumerate(bases):
                given = place >> bit & 1
                found = [value ^ given * step if step else value for value, step in zip(found, basis, strict=True)]
            if not isinstance(place, int):
                found = [value ^ place * 0 for value in found]
        return dict(zip(self.get_out_dim_names(), found, strict=True))

    def unreached(self) -> str:
        """A coordinate of one bit that no input reaches, for an error.

        >>> LinearBases.strided_1d(2, 2, "i", "o").unreached()
        'o = 1'
        """
        space = reduced(self.columns())
        bit = 0
        for name, size in self._outs:
            step = 1
            while step < size:
                if all(vector.bit_length() - 1 != bit for vector in space):
                    return f"{name} = {step}"
                step, bit = step * 2, bit + 1
        return "nothing"

    def _check_size(self) -> None:
        """Refuse more bits than Triton's matrices have."""
        if max(self.in_bits, self.out_bits) > _MOST_COLUMNS:
            raise ConversionError(
                f"a layout of {self.in_bits} bits of inputs and {self.out_bits} of outputs: "
                f"expected at most {_MOST_COLUMNS} of each"
            )

    # As a value

    def equal_ignoring_out_dim_sizes(self, other: LinearBases) -> bool:
        """Whether two layouts have the same inputs, bases and names of outputs; their outputs may have other sizes.

        >>> a, b = LinearBases.zeros_1d(2, "i", "o"), LinearBases.zeros_1d(2, "i", "o", 8)
        >>> a == b, a.equal_ignoring_out_dim_sizes(b)
        (False, True)
        """
        instance_of(other, LinearBases, "a layout", ConversionError)
        return self._bases == other._bases and self.get_out_dim_names() == other.get_out_dim_names()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LinearBases):
            return NotImplemented
        return self._bases == other._bases and self._outs == other._outs

    def __hash__(self) -> int:
        return hash((self._bases, self._outs))

    def __reduce__(self) -> tuple[object, ...]:
        return trusted, (type(self), self._bases, self._outs)

    def __repr__(self) -> str:
        bases = [(name, [list(basis) for basis in one]) for name, one in self._bases]
        names, sizes = [name for name, _ in self._outs], [size for _, size in self._outs]
        rest = "" if self.is_surjective() and self._shrunk() == self._outs else f", {sizes}, False"
        return f"{type(self).__name__}.from_bases({bases}, {names}{rest})"

    def _shrunk(self) -> Sizes:
        """The outputs with the sizes that the bases reach."""
        every = [basis for _, bases in self._bases for basis in bases]
        return tuple(
            [
                (name, 1 << max([basis[d] for basis in every], default=0).bit_length())
                for d, (name, _) in enumerate(self._outs)
            ]
        )

    def table(self) -> str:
        """What each bit becomes, a line per bit, as Triton prints it.

        >>> print(LinearBases.identity_1d(4, "lane", "x").table())
         - lane=1 -> (1)
           lane=2 -> (2)
        where out dims are: [x (size 4)]
        """
        sizes = ", ".join(f"{name} (size {size})" for name, size in self._outs)
        if not self._bases:
            return f"(empty layout with out-dims [{sizes}])" if sizes else "(empty layout)"
        lines: list[str] = []
        for name, bases in self._bases:
            rows = [f"{name}={1 << i} -> ({', '.join(map(str, basis))})" for i, basis in enumerate(bases)]
            lines.append(" - " + "\n   ".join(rows or [f"{name} is a size 1 dimension"]))
        return "\n".join([*lines, f"where out dims are: [{sizes}]"])


def trusted(kind: type[_Linear], bases: Iterable[tuple[str, Bases]], outs: Iterable[tuple[str, int]]) -> _Linear:
    """A layout of a class from parts that are known to be sound.

    >>> trusted(LinearBases, [("i", ((1,),))], [("o", 2)]) == LinearBases.identity_1d(2, "i", "o")
    True
    """
    made = object.__new__(kind)
    object.__setattr__(made, "_bases", tuple(bases))
    object.__setattr__(made, "_outs", tuple(outs))
    object.__setattr__(made, "_columns", None)
    return made


_Linear = TypeVar("_Linear", bound=LinearBases)
