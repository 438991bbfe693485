"""`#ttg.linear` and `#ttg.generic_linear`: encodings that list their bases.

A linear encoding is a permutation: each bit of the tensor belongs to one bit of one input. A generic one may XOR in its warps:

>>> generic = GenericLinear(lane=((0, 1), (1, 0)), warp=((1, 2),))
>>> print(generic)
#ttg.generic_linear<{register = [], lane = [[0, 1], [1, 0]], warp = [[1, 2]], block = []}>
>>> generic.to_linear((2, 4)).apply({"register": 0, "lane": 0, "warp": 1, "block": 0})
{'dim0': 1, 'dim1': 2}

The bases say how large their own tensor is; another one is covered as `LinearLayout.resized` says.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutalg.core.errors import VerificationError
from layoutalg.triton.encodings.encoding import Distributed, as_bases_field, key_text
from layoutalg.triton.given import Bases
from layoutalg.triton.linear import LinearLayout

__all__ = ["GenericLinear", "Linear"]


@dataclass(frozen=True, slots=True)
class Linear(Distributed):
    """`#ttg.linear`: bases of register, lane, warp and block, a permutation once zeros are left out.

    Raises `VerificationError` in Triton's words for an XOR, and for coordinates that nothing reaches.

    >>> Linear(register=((0, 1),), lane=((1, 0), (1, 1)))
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: LinearEncodingAttr requires a permutation matrix layout after removing broadcast
    bases; lane basis 1, [1, 1], moves more than one bit
    """

    register: Bases = ()
    lane: Bases = ()
    warp: Bases = ()
    block: Bases = ()

    def __post_init__(self) -> None:
        for name in ("register", "lane", "warp", "block"):
            object.__setattr__(self, name, as_bases_field(name, getattr(self, name)))
        ranks = {len(basis) for basis in self._every}
        if not ranks or ranks == {0}:
            raise VerificationError("Empty Layout not supported: expected a basis")
        if len(ranks) > 1:
            raise VerificationError(f"bases of {' and '.join(map(str, sorted(ranks)))} coordinates: expected one rank")
        self._check()
        own = self.own
        if not own.is_surjective():
            raise VerificationError(
                "Layout is expected to be surjective, i.e. every `out` coordinate can be reached by some `in` coordinate, "
                f"but was not: nothing reaches {own.unreached()}"
            )

    def _check(self) -> None:
        words = "LinearEncodingAttr requires a permutation matrix layout after removing broadcast bases"
        seen: set[tuple[int, ...]] = set()
        for name in ("register", "lane", "warp", "block"):
            for i, basis in enumerate(getattr(self, name)):
                moved = [value for value in basis if value]
                if len(moved) > 1 or any(value & (value - 1) for value in moved):
                    raise VerificationError(f"{words}; {name} basis {i}, {list(basis)}, moves more than one bit")
                if moved and basis in seen:
                    raise VerificationError(f"{words}; {name} basis {i}, {list(basis)}, is there twice")
                seen.add(basis)

    @property
    def _every(self) -> Bases:
        return (*self.register, *self.lane, *self.warp, *self.block)

    @property
    def rank(self) -> int:
        """The dimensions of the tensor."""
        return len(self._every[0])

    @property
    def own(self) -> LinearLayout:
        """The layout of the tensor that the bases reach.

        >>> Linear(lane=((1,), (2,))).own.shape
        (4,)
        """
        shape = [1 << max(column).bit_length() for column in zip(*self._every, strict=True)]
        return LinearLayout(self.register, self.lane, self.warp, self.block, tuple(shape))

    def _once(self) -> tuple[int, ...]:
        return self.own.shape

    def __str__(self) -> str:
        return f"#ttg.linear<{self._keys()}>"

    def _keys(self) -> str:
        return key_text(
            {
                "register": self.register or "[]",
                "lane": self.lane or "[]",
                "warp": self.warp or "[]",
                "block": self.block or "[]",
            }
        )

    def _linear(self, shape: tuple[int, ...]) -> LinearLayout:
        """The layout for a shape that has been checked."""
        return self.own.resized(shape)


@dataclass(frozen=True, slots=True)
class GenericLinear(Linear):
    """`#ttg.generic_linear`: bases whose warps may XOR; registers, lanes and blocks move one dimension at most.

    >>> GenericLinear(lane=((1, 1),))
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: #ttg.generic_linear: lane basis 0, [1, 1], moves more than one dimension:
    only bases of warps may
    """

    def _check(self) -> None:
        for name in ("register", "lane", "block"):
            for i, basis in enumerate(getattr(self, name)):
                if sum(map(bool, basis)) > 1:
                    raise VerificationError(
                        f"#ttg.generic_linear: {name} basis {i}, {list(basis)}, moves more than one dimension: only bases of "
                        "warps may"
                    )

    def __str__(self) -> str:
        return f"#ttg.generic_linear<{self._keys()}>"
