"""Kernels made at random: one operation between loads and stores, or whole kernels, in every kind of layout.

>>> for kernel in kernels(0, 1, level="workgroup", only="vector.transpose"):
...     print(kernel.name, kernel.layout_kind, kernel.arguments[-1])
vector_transpose_rows_0 rows ('f32', (32, 32))

A seed, an operation and a number give the same kernel always, whatever else is generated. Kernel number n of an operation has
the n-th kind of layout, and what has more than one form draws it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from random import Random

from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import MAX_EXTENT
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import as_whole, instance_of, listed, whole_number
from layoutalg.side.conformance.bodies import KernelBody
from layoutalg.side.conformance.kernel import GeneratedKernel, Level, meaning
from layoutalg.side.conformance.making import MISMATCH, Generator, Making, generators

__all__ = ["GeneratedKernel", "kernels", "made", "meaning", "operations"]

_LEVELS = ("workgroup", "anchors", "plain")
_ORDER = (
    "rows",
    MISMATCH,
    "none",
    "units",
    "line",
    "whole",
    "columns",
    "order",
    "grid",
    "shared",
    "pairs",
    "rounds",
    "packed",
)
_FIRST = {kind: place for place, kind in enumerate(_ORDER)}


def operations() -> tuple[str, ...]:
    """The names of everything that is generated.

    >>> "vector.transpose" in operations(), "softmax" in operations()
    (True, True)
    """
    return tuple(sorted(generators()))


def made(operation: str, kind: str, level: Level, seed: int, number: int = 0) -> GeneratedKernel:
    """One kernel: the same for the same arguments.

    >>> made("math.exp", "rows", "plain", 0) == made("math.exp", "rows", "plain", 0)
    True
    """
    generator = _generator(operation)
    random = Random(f"{operation}/{kind}/{level}/{seed}/{number}")
    making = Making(
        random, KernelBody("plain" if level == "plain" else "workgroup", sparse=level == "anchors"), operation, kind
    )
    generator.make(making)
    mark = "anchors_" if level == "anchors" else ""
    name = f"{operation.replace('.', '_')}_{mark}{kind}_{number}"
    return GeneratedKernel(
        name,
        making.body.module(name, making.subgroups),
        tuple(making.body.arguments),
        tolerance=making.tolerance,
        operation=operation,
        layout_kind=kind,
        level=level,
        seed=seed,
        subgroups=making.subgroups,
    )


def kernels(
    seed: int, count: int, *, level: Level = "workgroup", only: str | Sequence[str] = (), kinds: Sequence[str] = ()
) -> Iterator[GeneratedKernel]:
    """`count` kernels at a level: each family of operations in turn (or each of `only`), with its kinds of layouts in turn.

    The kinds that find most come first. Of a family such as `elementwise`, another operation is taken each time.

    Raises `LayoutError` for an operation that has no generator, and for another level.

    >>> [kernel.operation for kernel in kernels(0, 3, only=["gemm", "softmax"])]
    ['gemm', 'softmax', 'gemm']
    """
    if not isinstance(level, str) or level not in _LEVELS:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LayoutError(f"level {shown(level)}: expected {' or '.join(_LEVELS)}")
    seed, count = as_whole(seed, "seed ="), whole_number(count, "count =", 0, MAX_EXTENT)
    asked = (only,) if isinstance(only, str) else listed(only, "only")
    names: Iterable[str] = asked or operations()
    families: dict[str, list[Generator]] = {}
    kinds = listed(kinds, "kinds")
    for name in (*names, *kinds):
        instance_of(name, str, "operation or kind")
    unknown = set(kinds) - set(_ORDER)
    if unknown:
        raise LayoutError(f"kind {shown(min(unknown))}: expected one of {', '.join(_ORDER)}")
    for generator in map(_generator, names):
        if any(not kinds or kind in kinds for kind in generator.kinds(level)):
            families.setdefault(generator.operation if asked else generator.family, []).append(generator)
    if not families:
        return
    for number in range(count):
        turn, at = divmod(number, len(families))
        members = list(families.values())[at]
        generator = members[(seed + turn) % len(members)]
        possible = [kind for kind in generator.kinds(level) if not kinds or kind in kinds]
        possible.sort(key=_FIRST.__getitem__)
        yield made(generator.operation, possible[turn % len(possible)], level, seed, turn)


def _generator(operation: str) -> Generator:
    found = generators().get(operation)
    if found is None:
        raise LayoutError(
            f"operation {shown(operation)}: no kernels are generated for it; there are {', '.join(operations())}"
        )
    return found
