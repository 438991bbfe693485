"""`iree_gpu.multi_mma`: matrix intrinsics along outer loops; its rules, and what it computes.

Every operand has outer dimensions, indexed by loops through its map, and inner ones that belong to the intrinsic. At subgroup
scope the inner dimensions hold a whole tile (M x K values of Lhs), at thread scope one lane's registers; which one it is
follows from the number of values. The example of the dialect's page:

>>> op = MultiMma(
...     MMAAttr("MFMA_F32_16x16x16_F16"),
...     ("(i, j, k) -> (i, k)", "(i, j, k) -> (k, j)", "(i, j, k) -> (i, j)"),
...     ("parallel", "parallel", "reduction"),
... )
>>> types = "vector<2x3x4xf16>", "vector<3x5x4xf16>", "vector<2x5x4xf32>"
>>> op.check(*types), op.scope(*types)
(None, 'thread')
>>> op.check("vector<2x3x8xf16>", *types[1:])
"operation parallel semantics can't be inferred as either thread or subgroup"

At subgroup scope, `rhs_permutation = (1, 0)` says that the inner dimensions of Rhs are N x K: inner dimension i is
dimension `permutation[i]` of the canonical tile (M x K, K x N, M x N).

IREE 3.2 has the operation; in 3.13 it is called `iree_codegen.inner_tiled`. The diagnostics are those of 3.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from layoutalg.core.errors import VerificationError
from layoutalg.core.limits import MOST_LOOPS
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import as_ints, instance_of, listed
from layoutalg.nested.gpu.data_tiled import DataTiledMMAAttr
from layoutalg.nested.gpu.enums import IteratorType, MMAFragment
from layoutalg.nested.gpu.intrinsics import fragment_of
from layoutalg.nested.gpu.kinds import MMAAttr, VirtualMMAAttr
from layoutalg.nested.gpu.maps import IndexingMap, MapLike, as_map
from layoutalg.nested.gpu.operand_types import OperandType, operand_type

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MultiMma"]

Ints: TypeAlias = tuple[int, ...]
Scope: TypeAlias = Literal["thread", "subgroup"]
Kind: TypeAlias = MMAAttr | VirtualMMAAttr | DataTiledMMAAttr

_WORDS = {MMAFragment.Lhs: "lhs", MMAFragment.Rhs: "rhs", MMAFragment.Acc: "accumulator"}
_NAMES = {MMAFragment.Lhs: "lhs", MMAFragment.Rhs: "rhs", MMAFragment.Acc: "acc"}


@dataclass(frozen=True, slots=True)
class MultiMma:
    """The attributes of one `iree_gpu.multi_mma`: kind, indexing maps and iterator types, permutations.

    Raises `VerificationError` for maps or permutations that cannot be, in IREE's words where it has any.

    >>> MultiMma(MMAAttr("MFMA_F32_16x16x16_F16"), ("() -> ()", "() -> ()"), ())
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: expected an indexing map for each operand
    """

    kind: Kind
    indexing_maps: tuple[IndexingMap, ...]
    iterator_types: tuple[str, ...]
    lhs_permutation: Ints | None = None
    rhs_permutation: Ints | None = None
    acc_permutation: Ints | None = None

    def __init__(
        self,
        kind: Kind,
        indexing_maps: Sequence[MapLike],
        iterator_types: Sequence[str],
        lhs_permutation: Sequence[int] | None = None,
        rhs_permutation: Sequence[int] | None = None,
        acc_permutation: Sequence[int] | None = None,
    ) -> None:
        if not isinstance(kind, (MMAAttr, VirtualMMAAttr, DataTiledMMAAttr)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise VerificationError(f"kind {shown(kind)}: expected an MMA kind")
        if not isinstance(indexing_maps, (tuple, list)):
            raise VerificationError("expected an indexing map for each operand")
        maps = tuple(_projected(i, one) for i, one in enumerate(indexing_maps))
        iterators = tuple(listed(iterator_types, "iterator types", MOST_LOOPS, VerificationError))
        for one in iterators:
            instance_of(one, str, "iterator type", VerificationError)
        if len(maps) != 3:
            raise VerificationError("expected an indexing map for each operand")
        for i, one in enumerate(maps):
            if one.loops != len(iterators):
                raise VerificationError(f"expected indexing map {i} to have {len(iterators)} number of inputs")
        for name in iterators:
            if name not in IteratorType.__members__:
                raise VerificationError(f"iterator type {name[:40]!r}: expected parallel or reduction")
        _check_loops(maps, iterators)
        permutations: list[Ints | None] = []
        for fragment, given in zip(MMAFragment, (lhs_permutation, rhs_permutation, acc_permutation), strict=True):
            order = None if given is None else as_ints(f"{_NAMES[fragment]}_permutation", given)
            if order is not None and sorted(order) != list(range(len(order))):
                raise VerificationError(f"invalid {_WORDS[fragment]} permutation")
            permutations.append(order)
        values = (kind, maps, iterators, *permutations)
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, name, value)

    def permutation(self, fragment: MMAFragment) -> Ints | None:
        """The permutation of an operand's inner dimensions, or None.

        >>> MultiMma(MMAAttr("MFMA_F32_16x16x16_F16"), ["() -> ()"] * 3, (), rhs_permutation=(1, 0)).permutation(1)
        (1, 0)
        """
        return (self.lhs_permutation, self.rhs_permutation, self.acc_permutation)[fragment_of(fragment)]

    def counts(self, scope: Scope) -> tuple[int, int, int]:
        """How many inner values Lhs, Rhs and Acc have at a scope.

        Raises `DistributionError` at thread scope for an opaque intrinsic.

        >>> MultiMma(MMAAttr("MFMA_F32_16x16x16_F16"), ["() -> ()"] * 3, ()).counts("subgroup")
        (256, 256, 256)
        """
        if not isinstance(scope, str) or scope not in ("thread", "subgroup"):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise VerificationError(f"scope {shown(scope)}: expected 'thread' or 'subgroup'")
        lhs, rhs, acc = (self._count(scope, fragment) for fragment in MMAFragment)
        return lhs, rhs, acc

    def _count(self, scope: Scope, fragment: MMAFragment) -> int:
        return self.kind.registers(fragment) if scope == "thread" else self.kind.tile_elements(fragment)

    def scope(self, lhs: OperandType | str, rhs: OperandType | str, acc: OperandType | str) -> Scope | None:
        """Whether operands of these types are a subgroup's or one thread's; None where they are neither.

        >>> op = MultiMma(MMAAttr("MFMA_F32_16x16x16_F16"), ["() -> ()"] * 3, ())
        >>> op.scope("vector<16x16xf16>", "vector<16x16xf16>", "vector<16x16xf32>")
        'subgroup'
        """
        inner = [
            self._inner(fragment, one)[1] for fragment, one in zip(MMAFragment, _types(lhs, rhs, acc), strict=True)
        ]
        if any(None in sizes for sizes in inner):
            return None
        found = tuple(prod(n for n in sizes if n is not None) for sizes in inner)
        scopes: tuple[Scope, ...] = ("subgroup",) if self.kind.instruction.is_opaque else ("subgroup", "thread")
        return next((scope for scope in scopes if self.counts(scope) == found), None)

    def _inner(
        self, fragment: MMAFragment, type_: OperandType
    ) -> tuple[tuple[int | None, ...], tuple[int | None, ...]]:
        """An operand's outer and inner sizes."""
        outer = len(self.indexing_maps[fragment].dims)
        return type_.shape[:outer], type_.shape[outer:]

    def check(self, lhs: OperandType | str, rhs: OperandType | str, acc: OperandType | str) -> str | None:
        """IREE 3.2's verdict on operands of these types: None, or its diagnostic.

        Two things differ. A permutation has to be as long as the inner dimensions; the words say that IREE accepts others.
        And at thread scope the accumulators of f16 and bf16 WMMA have the 8 registers of the hardware, where IREE 3.2
        counted 16.

        >>> op = MultiMma(MMAAttr("MFMA_F32_16x16x16_F16"), ["() -> ()"] * 3, (), rhs_permutation=(1, 0))
        >>> op.check("vector<4xf16>", "vector<4xf16>", "vector<4xf32>")
        'permutations require subgroup semantics'
        """
        types = _types(lhs, rhs, acc)
        for i, (one, type_) in enumerate(zip(self.indexing_maps, types, strict=True)):
            if len(one.dims) >= len(type_.shape):
                return f"expected indexing map {i} to have fewer than {len(type_.shape)} number of outputs"
            if None in type_.shape[len(one.dims) :]:
                return f"Unexpected dynamic inner dim for operand {i} of type '{type_}'"
        problem = self._check_bounds(types) or self._check_elements(types)
        if problem is not None:
            return problem
        scope = self.scope(*types)
        if scope is None:
            return "operation parallel semantics can't be inferred as either thread or subgroup"
        return self._check_permutations(types, scope)

    def _check_bounds(self, types: Sequence[OperandType]) -> str | None:
        bounds: dict[int, int | None] = {}
        for loop, iterator in enumerate(self.iterator_types):
            fragment = MMAFragment.Lhs if iterator == "reduction" else MMAFragment.Acc
            bounds[loop] = types[fragment].shape[self.indexing_maps[fragment].dims.index(loop)]
        for fragment, type_ in zip(MMAFragment, types, strict=True):
            outer = self._inner(fragment, type_)[0]
            expected = tuple(bounds[loop] for loop in self.indexing_maps[fragment].dims)
            if outer != expected:
                return f"{_WORDS[fragment]} shape does not match iteration bounds"
        return None

    def _check_elements(self, types: Sequence[OperandType]) -> str | None:
        for fragment, type_ in zip(MMAFragment, types, strict=True):
            expected = self.kind.instruction.element_type(fragment)
            if type_.element != expected:
                return (
                    f"{_WORDS[fragment]} element type '{type_.element}' does not match expected element type "
                    f"'{expected}' for intrinsic"
                )
        return None

    def _check_permutations(self, types: Sequence[OperandType], scope: Scope) -> str | None:
        for fragment, type_ in zip(MMAFragment, types, strict=True):
            order = self.permutation(fragment)
            if order is None:
                continue
            if scope == "thread":
                return "permutations require subgroup semantics"
            inner = self._inner(fragment, type_)[1]
            if len(order) != len(inner):
                return (
                    f"{_NAMES[fragment]}_permutation = {list(order)}: expected an order of the {len(inner)} inner "
                    f"dimensions of {type_} (IREE accepts this)"
                )
        return None

    def execute(
        self, lhs: NDArray[Any], rhs: NDArray[Any], acc: NDArray[Any], scope: Scope | None = None
    ) -> NDArray[Any]:
        """Run it on arrays: loops one after another over reductions, fragments through the intrinsic.

        At subgroup scope the arrays have the operands' shapes. At thread scope all lanes are computed at once: a leading
        axis holds the lanes (subgroups first, for a data-tiled kind: `[sg, lane, ...]`). `scope` may be left out where the
        shapes are those of one scope only.

        Raises `VerificationError` with `check`'s diagnostic for arrays that do not fit, and for those that fit twice.

        >>> maps = ("(i, j, k) -> (i, k)", "(i, j, k) -> (k, j)", "(i, j, k) -> (i, j)")
        >>> op = MultiMma(MMAAttr("MFMA_F32_16x16x16_F16"), maps, ("parallel", "parallel", "reduction"))
        >>> a, b = np.ones((2, 3, 16, 16)), np.ones((3, 5, 16, 16))
        >>> op.execute(a, b, np.zeros((2, 5, 16, 16)))[0, 0, 0, 0].tolist()
        48.0
        """
        from layoutalg.nested.gpu.execution import execute

        return execute(self, lhs, rhs, acc, scope)


def _projected(i: int, given: MapLike) -> IndexingMap:
    try:
        return as_map(given)
    except VerificationError:
        raise VerificationError(f"expected indexing map {i} to be a projected permutation of its inputs") from None


def _types(*given: OperandType | str) -> tuple[OperandType, OperandType, OperandType]:
    for one in given:
        if not isinstance(one, (OperandType, str)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise VerificationError(f"operand type {shown(one)}: expected a text such as vector<4xf16>")
    lhs, rhs, acc = (operand_type(one) if isinstance(one, str) else one for one in given)
    return lhs, rhs, acc


def _check_loops(maps: Sequence[IndexingMap], iterators: Sequence[str]) -> None:
    """What IREE takes for granted: a parallel loop indexes the accumulator, a reduction Lhs and not the accumulator."""
    for loop, iterator in enumerate(iterators):
        in_acc, in_lhs = loop in maps[2].dims, loop in maps[0].dims
        if iterator == "parallel" and not in_acc:
            raise VerificationError(
                f"parallel loop {loop} is not in the accumulator's indexing map (IREE accepts this)"
            )
        if iterator == "reduction" and (in_acc or not in_lhs):
            raise VerificationError(
                f"reduction loop {loop}: expected it in the indexing map of lhs, and not in the accumulator's "
                "(IREE accepts this)"
            )
