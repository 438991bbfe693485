"""Whether a pass kept the meaning of a kernel: both versions run on the same data, and what differs is followed back.

>>> before = '''gpu.module @m { gpu.func @k(%p: memref<16x16xf32>, %q: memref<16x16xf32>) kernel
...   attributes {known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32} {
...   %t = xegpu.create_nd_tdesc %p : memref<16x16xf32> -> !xegpu.tensor_desc<16x16xf32>
...   %u = xegpu.create_nd_tdesc %q : memref<16x16xf32> -> !xegpu.tensor_desc<16x16xf32>
...   %x = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<16x16xf32> -> vector<16x16xf32>
...   %y = math.exp %x : vector<16x16xf32>
...   xegpu.store_nd %y, %u[0, 0] : vector<16x16xf32>, !xegpu.tensor_desc<16x16xf32>
...   gpu.return } }'''
>>> keeps_meaning(before, before).is_kept
True
>>> print(keeps_meaning(before, before.replace("math.exp", "math.absf")))
argument 1 (%q), element (0, 0): 1.13398 before, 0.12573 after; 256 of 256 elements differ
'math.exp' op at text:6:8 is the first that differs: it computes 1.13398, which the second version never has

One draw does not show everything: of a maximum only the largest element is seen. So both versions are run on dozens of
draws, made so that each element decides somewhere (`draws` has the kinds), and `Kept.draws` says how many there were:

>>> keeps_meaning(before, before)
<Kept: the same in 65 draws>

Floats may differ by rounding, as they do where a sum has another order: `tolerance` is relative to the largest element.

The operation is found by its values. The data is random, so a number that the first version computes for this element, and that
the second never has, is where they part. Where it has all of them, they went to another place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import AnyFloat

from layoutalg.core.elements import numpy_type
from layoutalg.core.errors import LayoutError
from layoutalg.core.messages import shown
from layoutalg.core.notebook import NotebookAnswer
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import instance_of, listed, whole_number
from layoutalg.equivalence.data import arrays_for, copies, is_array, kernel_of
from layoutalg.equivalence.draws import constants_of, draws, has_integers, how_many, with_integers_of
from layoutalg.equivalence.first_difference import Culprit, culprit_of
from layoutalg.equivalence.overwritten import Overwritten, overwritten
from layoutalg.ir.findings import Finding
from layoutalg.module import Module, read
from layoutalg.simulate import launch, launch_cases

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from layoutalg.ir.dialects.gpu import FuncOp
    from layoutalg.viz.graph import Graph

__all__ = ["Difference", "Kept", "Trial", "keeps_meaning"]

MOST_SEED = 2**64 - 1
"""The largest seed of random arguments."""

_TOLERANCES = {1: 2e-1, 2: 2e-2, 4: 1e-4, 8: 1e-10}
"""By the bytes of an element: sums of another order differ so much, relative to the largest element. What counts is the
narrowest type that the kernel rounds to on the way."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first element of an argument that differs, what it was before and is after, and how many differ.

    >>> print(Difference(2, "%c", (0, 5), 1.5, 2.5, 7, 256))
    argument 2 (%c), element (0, 5): 1.5 before, 2.5 after; 7 of 256 elements differ
    """

    argument: int
    name: str
    element: tuple[int, ...]
    before: float
    after: float
    count: int
    size: int

    def __str__(self) -> str:
        where = f"argument {self.argument}{f' ({self.name})' if self.name else ''}, element {self.element}"
        values = f"{self.before:.6g} before, {self.after:.6g} after"
        return f"{where}: {values}; {self.count:,} of {self.size:,} elements differ"


@dataclass(frozen=True, slots=True, repr=False)
class Kept(NotebookAnswer):
    """What comparing two versions of a kernel found.

    `difference` is the first element that differs, `culprit` the operation that first computes it differently. `overwritten`
    are layouts that the first version states and the second changes. `faults` are what the second one does wrong
    when it runs (a race, an access out of bounds) and the first one does not.

    >>> Kept(None, None, (), ()).is_kept
    True
    """

    difference: Difference | None
    culprit: Culprit | None
    overwritten: tuple[Overwritten, ...]
    faults: tuple[Finding, ...]
    draws: int = 1
    """On how many sets of arguments the two were compared; of those after the first difference none is counted."""
    before: Module | None = field(default=None, repr=False, compare=False)
    """The first version."""
    target: str = field(default="pvc", repr=False, compare=False)

    def picture(self) -> Graph:
        """The first version, with what differs first.

        Raises `LayoutError` for a result without its modules.

        >>> Kept(None, None, (), ()).picture()
        Traceback (most recent call last):
        layoutalg.core.errors.LayoutError: two versions that were compared without their modules have no picture
        """
        if self.before is None:
            raise LayoutError("two versions that were compared without their modules have no picture")
        from layoutalg.flow.picture import Said, flow_graph

        if self.is_kept:
            told = f"both leave the same numbers in every argument, in {counted(self.draws, 'draw')} of their values"
            said = Said("two versions, which compute the same", (told,))
        else:
            culprit = self.culprit
            boxes = {} if culprit is None or culprit.before is None else {culprit.before: culprit.told}
            said = Said("the first of two versions, which differ", boxes=boxes)
        wrong = {(one.place, ""): one for one in self.findings if one.rule == "keeps.meaning"}
        return flow_graph(self.before, self.target, mistakes=wrong, said=said)

    @property
    def is_kept(self) -> bool:
        """Whether the numbers are the same, and nothing new goes wrong.

        >>> Kept(None, None, (), (Finding("run.race", "a race", "xegpu.store", None),)).is_kept
        False
        """
        return self.difference is None and all(finding.level != "error" for finding in self.faults)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All of it as findings; the difference stands at its operation in the first version.

        >>> Kept(None, None, (), ()).findings
        ()
        """
        found: list[Finding] = []
        if self.difference is not None:
            culprit = self.culprit
            found.append(
                Finding(
                    "keeps.meaning",
                    f"does not keep its meaning: {self.difference}",
                    "" if culprit is None else culprit.operation,
                    None if culprit is None else culprit.before,
                    notes=() if culprit is None else (str(culprit),),
                )
            )
        return (*found, *self.faults, *(one.finding for one in self.overwritten))

    def __str__(self) -> str:
        lines = [] if self.difference is None else [str(self.difference)]
        if self.culprit is not None:
            lines.append(str(self.culprit))
        lines.extend(str(finding) for finding in self.faults)
        lines.extend(str(one) for one in self.overwritten)
        return "\n".join(lines) if lines else f"the same in {counted(self.draws, 'draw')}"


def keeps_meaning(
    before: Module | str,
    after: Module | str,
    *,
    arguments: Sequence[Any] | None = None,
    grid: Sequence[int] = (1, 1, 1),
    kernel: str | None = None,
    seed: int = 0,
    tolerance: float | None = None,
    target: str = "pvc",
) -> Kept:
    """Run two versions of a kernel on the same data and compare what they leave in every argument.

    `arguments` are arrays and numbers, as `Module.run` takes them; they are copied, and are the only ones tried. Without them
    there are up to 65 draws of the sizes that the text says (fewer of large arrays), the same ones for the same `seed`. Each
    version is run at the level that its text shows.

    Raises `LayoutError` where a version can't be run, and where the sizes of the arguments are not known.

    >>> keeps_meaning("gpu.barrier", "gpu.barrier")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: before: no kernel (a gpu.func with 'kernel') in the module
    """
    first = _given(before, "before")
    trial = Trial(first, arguments, grid, kernel, seed, target, tolerance)
    second = _parsed(_given(after, "after"), "after")
    _kernel(second, kernel, "after")
    return replace(trial.compare(trial.module, second), before=first, target=target)


class Trial:
    """The data that versions of one kernel are run on, and how.

    >>> text = '''gpu.module @m { gpu.func @k() kernel attributes {known_block_size = array<i32: 16, 1, 1>,
    ...   intel_reqd_sub_group_size = 16 : i32} { gpu.return } }'''
    >>> trial = Trial(read(text), None, (1, 1, 1), None, 0, "pvc")
    >>> trial.compare(trial.module, trial.module).is_kept
    True
    """

    def __init__(
        self,
        module: Module,
        arguments: Sequence[Any] | None,
        grid: Sequence[int],
        kernel: str | None,
        seed: int,
        target: str,
        tolerance: float | None = None,
    ) -> None:
        instance_of(kernel, (str, type(None)), "kernel")
        _check_tolerance(tolerance)
        self.module = _parsed(module, "before")
        function = _kernel(self.module, kernel, "before")
        self.names = [value.name_hint or "" for value in function.regions[0].blocks[0].args]
        self.seed = whole_number(seed, "seed", 0, MOST_SEED)
        self.given = arguments is not None
        self.arguments = arrays_for(function, self.seed) if arguments is None else list(listed(arguments, "arguments"))
        self.constants = constants_of(function)
        self.narrowest = _narrowest(function)
        self.batches: list[list[list[Any]]] | None = [] if self.given else None
        """More draws, in batches that are run at once; None until the first version has been run on them."""
        self.ran: dict[ModuleOp, _Ran] = {}
        self.grid = tuple(listed(grid, "grid"))
        self.kernel, self.target, self.tolerance = kernel, target, tolerance

    def compare(self, before: ModuleOp, after: ModuleOp) -> Kept:
        """Run two versions on copies of the data. Raises `LayoutError` where one can't be run."""
        first, second = (self._first(module) for module in (before, after))
        difference, made = self._difference(first.arguments, second.arguments), 1
        arguments = self.arguments
        if difference is None:
            for cases, old, new in self._more(before, after):
                differences = [self._difference(a, b) for a, b in zip(old, new, strict=True)]
                at = next((at for at, found in enumerate(differences) if found is not None), None)
                made += len(cases) if at is None else at + 1
                if at is not None:
                    difference, arguments = differences[at], cases[at]
                    break
        culprit = None
        if difference is not None:
            wrong = (difference.before, difference.after)
            culprit = culprit_of(before, after, arguments, self.grid, self.kernel, self.target, wrong)
        known = {(finding.rule, finding.message) for finding in first.findings}
        fresh = tuple(finding for finding in second.findings if (finding.rule, finding.message) not in known)
        self.ran = {after: second}  # the next pass is compared with it
        return Kept(difference, culprit, overwritten(before, after), fresh, made)

    def _difference(self, before: Sequence[Any], after: Sequence[Any]) -> Difference | None:
        return _first_difference(before, after, self.names, self.tolerance, self.narrowest)

    def _first(self, module: ModuleOp) -> _Ran:
        """What a version makes of the first draw, which is run alone: what it does wrong there is told."""
        if module not in self.ran:
            data = copies(self.arguments)
            found = launch(module, data, self.grid, kernel=self.kernel, target=self.target)
            self.ran[module] = _Ran(data, found.findings, {})
        return self.ran[module]

    def _more(self, before: ModuleOp, after: ModuleOp) -> Iterator[tuple[list[list[Any]], Results, Results]]:
        """The other draws, with what both versions make of them."""
        if self.batches is None:
            self.batches = list(self._chosen(before))
        for number, cases in enumerate(self.batches):
            yield cases, self._results(before, number, cases), self._results(after, number, cases)

    def _chosen(self, module: ModuleOp) -> Iterator[list[list[Any]]]:
        """Draws on which the first version does nothing wrong: integers may be indices, and lead out of bounds."""
        count = how_many(self.arguments)
        cases = draws(self.arguments, count, self.seed, self.constants)
        if has_integers(self.arguments):
            cases = cases[: -(-2 * count // 3)]
            if self._goes_wrong(module, 0, cases):
                cases = with_integers_of(self.arguments, cases)
            yield cases
            cases = draws(self.arguments, -(-count // 4), self.seed, self.constants, wide=True)
            if not self._goes_wrong(module, 1, cases):
                yield cases
        else:
            yield cases

    def _goes_wrong(self, module: ModuleOp, number: int, cases: list[list[Any]]) -> bool:
        """Whether a version does something wrong on draws; where it doesn't, what it made of them is remembered."""
        try:
            found = launch_cases(module, cases, self.grid, kernel=self.kernel, target=self.target)
        except LayoutError:
            return True
        if any(finding.level == "error" for finding in found.findings):
            return True
        self._first(module).results[number] = found.arguments
        return False

    def _results(self, module: ModuleOp, number: int, cases: list[list[Any]]) -> Results:
        ran = self._first(module)
        if number not in ran.results:
            try:
                done = launch_cases(module, cases, self.grid, kernel=self.kernel, target=self.target)
                ran.results[number] = done.arguments
            except LayoutError:  # such as a branch that not all cases take: one after another
                apart = [copies(case) for case in cases]
                for data in apart:
                    launch(module, data, self.grid, kernel=self.kernel, target=self.target)
                ran.results[number] = apart
        return ran.results[number]


Results = Sequence[Sequence[Any]]
"""The arguments after a run, for each draw."""


@dataclass(frozen=True, slots=True)
class _Ran:
    """What a version made of the first draw, and of the batches of others by their numbers."""

    arguments: list[Any]
    findings: tuple[Finding, ...]
    results: dict[int, Results]


def _check_tolerance(tolerance: object) -> None:
    """Refuse a tolerance that is not a number of at least 0; None is the one of the element type.

    >>> _check_tolerance("much")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: tolerance 'much': expected a number of at least 0
    """
    if tolerance is None:
        return
    if type(tolerance) not in (int, float) or not 0 <= tolerance < float("inf"):  # type: ignore[operator]
        raise LayoutError(f"tolerance {shown(tolerance)}: expected a number of at least 0")


def _given(module: Module | str, which: str) -> Module:
    instance_of(module, (Module, str), which)
    return read(module) if isinstance(module, str) else module


def _parsed(module: Module, which: str) -> ModuleOp:
    wrong = [finding for finding in module.findings if finding.level == "error"]
    if wrong:
        raise LayoutError(f"{which}: {wrong[0]}")
    parts = module.parts
    if not parts:
        raise LayoutError(f"{which}: no module in {module.file}")
    if len(parts) > 1:
        raise LayoutError(f"{which}: {len(parts)} modules in {module.file}; expected one")
    return next(part.module for part in parts)


def _kernel(module: ModuleOp, name: str | None, which: str) -> FuncOp:
    try:
        return kernel_of(module, name)
    except LayoutError as problem:
        raise LayoutError(f"{which}: {problem}") from None


def _first_difference(
    before: Sequence[Any], after: Sequence[Any], names: Sequence[str], tolerance: float | None, narrowest: int
) -> Difference | None:
    for number, (one, other) in enumerate(zip(before, after, strict=True)):
        if not is_array(one) or not is_array(other):
            continue
        differs = _differing(one, other, tolerance, narrowest)
        count = int(differs.sum())
        if count:
            at = tuple(np.argwhere(differs)[0].tolist())
            name = f"%{names[number]}" if names[number] else ""
            return Difference(number, name, at, float(one[at]), float(other[at]), count, differs.size)
    return None


def _narrowest(function: Operation) -> int:
    """The bytes of the narrowest floats that a kernel computes, and so rounds to; 8 where it computes none.

    >>> from layoutalg.ir import read_module
    >>> _narrowest(read_module("%a = arith.constant 1.0 : f32 %b = arith.truncf %a : f32 to bf16"))
    2
    """
    found = [
        numpy_type(str(element)).itemsize
        for operation in function.walk()
        if operation.name.startswith(("arith.", "math.", "vector.")) and operation.name not in _EXACT
        for result in operation.results
        if isinstance(element := getattr(result.type, "element_type", result.type), AnyFloat)
    ]
    return min(found, default=8)


_EXACT = frozenset(
    {
        "arith.bitcast", "arith.constant", "arith.extf", "arith.maximumf", "arith.maxnumf", "arith.minimumf",
        "arith.minnumf", "arith.negf", "arith.select", "math.absf", "math.copysign", "vector.bitcast",
        "vector.broadcast", "vector.extract", "vector.extract_strided_slice", "vector.from_elements",
        "vector.insert", "vector.insert_strided_slice", "vector.load", "vector.shape_cast", "vector.shuffle",
        "vector.transfer_read", "vector.transpose",
    }
)  # fmt: skip
"""Operations that give numbers that were there before, or that lose nothing."""


def _differing(one: NDArray[Any], other: NDArray[Any], tolerance: float | None, narrowest: int) -> NDArray[np.bool_]:
    """Where two arrays differ by more than rounding; NaN equals NaN."""
    if one.dtype.kind in "biu":
        return one != other
    a, b = one.astype(np.float64), other.astype(np.float64)
    allowed = _TOLERANCES[min(one.dtype.itemsize, narrowest)] if tolerance is None else tolerance
    finite = np.abs(a[np.isfinite(a)])
    scale = float(finite.max()) if finite.size else 1.0
    with np.errstate(invalid="ignore"):
        return ~((a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= allowed * scale))
