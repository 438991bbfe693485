"""What a compiler did with a kernel: right, wrong, refused, crash, left or not simulated.

| verdict | it means |
|---|---|
| right | the distributed kernel computes what the whole tensors mean, at every stage |
| wrong | it computes something else, or does what a kernel must not do: reads outside, races |
| refused | the compiler said no, in words; for layouts that are wrong by meaning that is the right answer |
| crash | the compiler died of a signal, or did not answer in time |
| left | it succeeded, but operations of a level above are still there |
| not simulated | the result has what the simulator does not know |

A kernel goes through the stages of the compiler. The first stage that is not right decides; where the simulator does not
know what comes out of the last one, that is the verdict.

>>> Verdict("wrong", "lane", first=(0, 1), count=105).words
'element (0, 1) and 104 others differ'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from layoutalg.core.errors import LayoutError
from layoutalg.side.conformance.compilers import Answer, Compiler, run_all
from layoutalg.side.conformance.kernel import (
    GeneratedKernel,
    Level,
    arrays_for,
    first_difference,
    meaning,
    runnable,
    spelled,
)
from layoutalg.side.conformance.stages import Stage, stages

if TYPE_CHECKING:
    from layoutalg.ir.findings import Finding

__all__ = ["LEVELS", "VERDICTS", "Kind", "Verdict", "judge", "simulated", "skeleton"]

Kind = Literal["right", "wrong", "refused", "crash", "left", "not simulated"]
VERDICTS: tuple[Kind, ...] = ("right", "wrong", "refused", "crash", "left", "not simulated")
"""In the order in which the matrix has them."""

_LEFT = {
    "subgroup": re.compile(r"\bsg_layout\b"),
    "lane": re.compile(r"gpu\.warp_execute_on_lane_0|xegpu\.convert_layout|\bsg_layout\b"),
    "alone": re.compile(r"gpu\.warp_execute_on_lane_0|xegpu\.convert_layout"),
    "memory": re.compile(r"gpu\.warp_execute_on_lane_0|\bxegpu\.(?!layout|slice)\w+|unrealized_conversion_cast"),
}
"""What must be gone after a stage."""
LEVELS: tuple[Level, ...] = ("workgroup", "anchors", "plain")
_BATCH = 64
_FAILED = ("wrong", "crash")
_LANES = 16


@dataclass(frozen=True, slots=True)
class Verdict:
    """What happened to a kernel, at which stage, and the words, or the first wrong element and how many there are.

    >>> Verdict("right", "memory").words
    ''
    """

    kind: Kind
    stage: str = ""
    said: str = ""
    first: tuple[int, ...] | None = None
    count: int = 0

    @property
    def words(self) -> str:
        """The verdict's reason in a line.

        >>> Verdict("wrong", "lane", first=(2,), count=1).words
        'element (2,) differs'
        """
        if self.first is None:
            return self.said
        others = self.count - 1
        if others == 0:
            return f"element {self.first} differs"
        return f"element {self.first} and {others} other{'s' * (others > 1)} differ{'s' * (others == 0)}"

    @property
    def skeleton(self) -> tuple[str, str, str]:
        """What makes two failures the same: kind, stage, and the diagnostic without its numbers and types.

        >>> Verdict("refused", "lane", "'xegpu.load_nd' op 8x16 does not fit [1, 16]").skeleton
        ('refused', 'lane', "'xegpu.load_nd' op # does not fit [#, #]")
        """
        return self.kind, self.stage, skeleton(self.said)


def skeleton(words: str) -> str:
    """A diagnostic without numbers, types and shapes.

    >>> skeleton("expected vector<8x16xf32> but found 'i32' in %12")
    'expected vector<> but found # in %#'
    """
    words = re.sub(r"<[^<>]*(?:<[^<>]*>[^<>]*)*>", "<>", words)
    words = re.sub(r"'(?:[iuf]\d+|bf16|index)'", "#", words)
    return re.sub(r"\b(?:\d+x)*\d+(?:x[iubf]+\d+)?\b", "#", words)


def judge(
    compiler: Compiler,
    kernels: Sequence[GeneratedKernel],
    *,
    progress: Callable[[float], None] | None = None,
    until: str = "memory",
) -> list[Verdict]:
    """The verdict of every kernel; their names must differ. No stage after `until` is tried.

    Raises `LayoutError` where a kernel cannot be run on whole tensors.

    >>> judge(Compiler("none", "none", "llvm", "24"), [])
    []
    """
    found: list[Verdict] = []
    for start in range(0, len(kernels), _BATCH):
        found += _judged(compiler, kernels[start : start + _BATCH], until)
        if progress is not None:
            progress(len(found) / len(kernels))
    return found


def _judged(compiler: Compiler, kernels: Sequence[GeneratedKernel], until: str) -> list[Verdict]:
    decided: dict[str, Verdict] = {}
    expected = {kernel.name: meaning(kernel, arrays_for(kernel)) for kernel in kernels}

    def asked(stage: Stage, about: Sequence[GeneratedKernel]) -> Iterator[tuple[str, Verdict]]:
        texts = {kernel.name: spelled(kernel.text, compiler.llvm) for kernel in about}
        answers = run_all(compiler, texts, stage.pipeline)
        for kernel in about:
            yield kernel.name, _verdict(kernel, answers[kernel.name], stage, expected[kernel.name])

    for level in LEVELS:
        of_level = [kernel for kernel in kernels if kernel.level == level]
        *before, last = _stages(compiler, level, until)
        # Every stage begins anew: what is right after the last one was right after those before it.
        ends = dict(asked(last, of_level))
        for stage in before:
            alone = stage.name == "alone"
            about = [
                kernel
                for kernel in of_level
                if kernel.name not in decided and (alone or ends[kernel.name].kind != "right")
            ]
            # What could not be simulated here may still be refused later on.
            counts = _FAILED if alone else (*_FAILED, "refused", "left")
            decided |= {name: verdict for name, verdict in asked(stage, about) if verdict.kind in counts}
        decided = {**ends, **decided}
    return [decided[kernel.name] for kernel in kernels]


def _stages(compiler: Compiler, level: Level, until: str) -> list[Stage]:
    every = stages(compiler.llvm, level)
    names = [stage.name for stage in every]
    return list(every[: names.index(until) + 1] if until in names else every)


def _verdict(kernel: GeneratedKernel, answer: Answer, stage: Stage, expected: Any) -> Verdict:
    if answer.crash:
        return Verdict("crash", stage.name, answer.crash)
    if answer.text is None:
        return Verdict("refused", stage.name, answer.refusal)
    left = _LEFT["subgroup" if stage.level == "subgroup" else stage.name].search(answer.text)
    if left is not None:
        return Verdict("left", stage.name, f"{left[0]} is still there")
    return simulated(kernel, answer.text, stage.name, stage.level, expected)


def simulated(kernel: GeneratedKernel, text: str, stage: str, level: Any, expected: Any) -> Verdict:
    """The verdict of a distributed kernel's text, run at a level, beside what is expected."""
    from layoutalg.simulate import launch
    from layoutalg.simulate.machine import SimulationError

    arrays = arrays_for(kernel)
    try:
        outcome = launch(runnable(text), arrays, kernel.grid, level=level)
    except LayoutError as error:
        at_fault = isinstance(error, SimulationError) and error.finding is not None and error.finding.rule[:4] == "run."
        return Verdict("wrong" if at_fault else "not simulated", stage, str(error))
    different = first_difference(arrays[-1], expected, kernel.tolerance)
    if different is not None:
        return Verdict("wrong", stage, first=different[0], count=different[1])
    errors = [finding for finding in outcome.findings if finding.level == "error" and not _in_step(finding)]
    if errors:
        return Verdict("wrong", stage, f"{errors[0].rule}: {errors[0].message}")
    return Verdict("right", stage)


def _in_step(finding: Finding) -> bool:
    """Whether a finding is a race between lanes of one subgroup: they run in step, so it has no effect on Xe."""
    items = [int(item) // _LANES for item in re.findall(r"work-item (\d+)", finding.message)]
    return finding.rule == "run.race" and len(items) == 2 and items[0] == items[1]
