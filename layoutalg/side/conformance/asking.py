"""`la.conformance`: kernels are generated, a compiler distributes them, and what comes out is run beside what it should mean.

>>> found_names = families_of(["elementwise"])
>>> "math.exp" in found_names
True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from layoutalg.core.errors import LayoutError
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import instance_of, listed, whole_number
from layoutalg.side.conformance.compilers import found
from layoutalg.side.conformance.generating import kernels
from layoutalg.side.conformance.iree import asked, judge_threads
from layoutalg.side.conformance.kernel import GeneratedKernel, Level
from layoutalg.side.conformance.making import generators
from layoutalg.side.conformance.results import Case, Conformance, mistakes_of
from layoutalg.side.conformance.verdicts import LEVELS, Verdict, judge

__all__ = ["conformance", "families_of", "verdict_of"]

_MOST = 1 << 20
_JUDGING = 0.6
"""The part of the time that judging takes, where mistakes are reduced after it."""


def conformance(
    compiler: str,
    *,
    seeds: int = 200,
    seed: int = 0,
    only: str | Sequence[str] = (),
    kinds: Sequence[str] = (),
    levels: Sequence[Level] = LEVELS,
    reduce: bool = True,
    progress: Callable[[float], None] | None = None,
) -> Conformance:
    """Ask a compiler about `seeds` kernels of each level, beginning with number `seed` of the generator.

    `compiler` is the name of an `mlir-opt` (of LLVM 22, 23 or 24) or an `iree-opt`, or its path. `only` are operations or
    families of them, `kinds` kinds of layouts; all where nothing is given. With `reduce`, each mistake is
    cut down to a small module. `progress` is told the part that is done.

    Raises `LayoutError` where the compiler is not there, and for operations and levels that nothing is generated for.

    >>> import layoutalg as la
    >>> la.conformance("no-such-opt")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: 'no-such-opt': no such program; give a name on the PATH (mlir-opt-24, iree-opt) or a path
    """
    instance_of(compiler, str, "compiler")
    count, first = whole_number(seeds, "seeds =", 1, _MOST), whole_number(seed, "seed =", 0, _MOST)
    names = (only,) if isinstance(only, str) else tuple(listed(only, "only"))
    chosen_kinds = tuple(listed(kinds, "kinds"))
    program = found(compiler)
    if program.family == "iree":
        return asked(program, count, first, names, kinds=chosen_kinds, reduce=reduce, progress=progress)
    given = [
        kernel
        for level in listed(levels, "levels")
        for kernel in kernels(first, count, level=level, only=families_of(names), kinds=chosen_kinds)
    ]
    part = _JUDGING if reduce else 1.0
    cases = tuple(
        Case(kernel, verdict)
        for level in LEVELS
        for chosen in [[kernel for kernel in given if kernel.level == level]]
        for kernel, verdict in zip(
            chosen, judge(program, chosen, progress=_scaled(progress, chosen, given, part)), strict=True
        )
    )
    return Conformance(program, cases, mistakes_of(program, cases, reduce=reduce, progress=progress, done=part))


def verdict_of(kernel: GeneratedKernel, compiler: str) -> Verdict:
    """What a compiler does with one kernel. What it cannot read, it refuses.

    Raises `LayoutError` where the compiler is not there.

    >>> verdict_of(GeneratedKernel("k", "", ()), "nothing")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: 'nothing': no such program; give a name on the PATH (mlir-opt-24, iree-opt) or a path
    """
    program = found(compiler)
    [verdict] = judge_threads(program, [kernel]) if program.family == "iree" else judge(program, [kernel])
    return verdict


def families_of(names: Sequence[str]) -> tuple[str, ...]:
    """Operations by name, and families (`elementwise`) as all of their operations."""
    families = {generator.family for generator in generators().values()}
    found_names: list[str] = []
    for name in names:
        instance_of(name, str, "only")
        members = [one.operation for one in generators().values() if name in (one.family, one.operation)]
        if not members:
            there = ", ".join(sorted(families))
            raise LayoutError(f"{shown(name)}: no kernels are generated for it; the rows of the matrix are {there}")
        found_names += members
    return tuple(found_names)


def _scaled(
    progress: Callable[[float], None] | None, chosen: Sequence[object], given: Sequence[object], part: float
) -> Callable[[float], None] | None:
    """Progress of a level, as a part of the whole."""
    if progress is None or not given:
        return None
    before = 0.0 if chosen and chosen[0] is given[0] else 1 - len(chosen) / len(given)
    share = len(chosen) / len(given)
    return lambda done: progress(part * (before + share * done))
