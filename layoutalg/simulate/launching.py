"""Launch a kernel on arrays: read its text, compile it once, run it on all workgroups of a grid.

`launch` takes numpy arrays for what the kernel reads and writes, binds them to addresses and gives them back:

>>> text = '''
... gpu.module @k { gpu.func @copy(%src: i64, %dst: i64) kernel attributes
...   {intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: 16, 1, 1>} {
...   %from = xegpu.create_nd_tdesc %src, shape : [8, 16], strides : [16, 1] : i64 -> !xegpu.tensor_desc<8x16xf32>
...   %to = xegpu.create_nd_tdesc %dst, shape : [8, 16], strides : [16, 1] : i64 -> !xegpu.tensor_desc<8x16xf32>
...   %x = xegpu.load_nd %from[0, 0] : !xegpu.tensor_desc<8x16xf32> -> vector<8xf32>
...   xegpu.store_nd %x, %to[2, 0] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>
...   gpu.return } }'''
>>> source, target = np.arange(128, dtype=np.float32).reshape(8, 16), np.zeros((8, 16), dtype=np.float32)
>>> outcome = launch(text, [source, target], (1, 1, 1))
>>> bool((outcome.arguments[1][2:] == source[:6]).all()), outcome.findings
(True, ())
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from layoutalg.core.errors import LayoutError
from layoutalg.core.messages import shown
from layoutalg.core.notebook import NotebookAnswer
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import instance_of, listed, whole_number
from layoutalg.ir.findings import Finding
from layoutalg.ir.places import place_of
from layoutalg.simulate.arguments import bound
from layoutalg.simulate.counting import Counted
from layoutalg.simulate.executed import Executed
from layoutalg.simulate.grids import THREADS, compile_kernel, run_on
from layoutalg.simulate.host import run_host
from layoutalg.simulate.machine import Array, Budget, Level
from layoutalg.simulate.memory import Memory
from layoutalg.simulate.texts import read_kernel

__all__ = ["Outcome", "launch"]

_NAMED = re.compile(
    r"^[ \t]*(%[\w$.-]+(?:[ \t]*:[ \t]*\d+)?(?:[ \t]*,[ \t]*%[\w$.-]+(?:[ \t]*:[ \t]*\d+)?)*)[ \t]*=", re.M
)

MOST_THREADS = 1024


@dataclass(frozen=True, eq=False, repr=False)
class Outcome(NotebookAnswer):
    """What a launch left: the arguments (arrays as the kernel wrote them), findings, traced values, and counts if asked for.

    `trace` has for each name one array for each time that the operation was executed, with the axes workgroup, subgroup, lane
    and those of the type.

    >>> Outcome((), (), {})
    <Outcome: 0 arguments, no findings>
    """

    arguments: tuple[Any, ...]
    findings: tuple[Finding, ...]
    trace: Mapping[str, tuple[Array, ...]]
    executed: Executed | None = None

    def __str__(self) -> str:
        found = counted(len(self.findings), "finding") if self.findings else "no findings"
        kept = [f"{name}: {counted(len(values), 'value')}" for name, values in self.trace.items()]
        first = f"{counted(len(self.arguments), 'argument')}, {found}"
        return "\n".join((first, *map(str, self.findings), *kept))


def launch(
    module: str | ModuleOp,
    arguments: Sequence[Any],
    grid: Sequence[int] = (1, 1, 1),
    *,
    kernel: str | None = None,
    level: Level | None = None,
    target: str = "pvc",
    trace: Sequence[str] | Mapping[SSAValue, str] = (),
    results: Iterable[int] = (),
    entry: str | None = None,
    block: tuple[int, int, int] | None = None,
    subgroup_size: int | None = None,
    budget: Budget | None = None,
    progress: Callable[[float], None] | None = None,
    threads: int = THREADS,
    counted: Counted | None = None,
) -> Outcome:
    """Run a kernel on arrays; without a name, the module's only kernel. With `entry`, the host function of that name.

    A memref takes an array; an argument of type i64 takes an array (its address is passed) or an integer. Arrays are written in
    place. Arguments that share memory are one memory under several names, as on the device: accesses through two names race.
    What the kernel does wrong is a finding of the outcome.

    `block` and `subgroup_size` are the kernel's own unless they are given; `level` is what its operations show. `trace` names
    values (`%x`) to be kept, or maps the values themselves to names. `results` are the numbers of arguments whose contents must
    not be read before they are written. `progress` is told the part that is done. `counted` makes the outcome say what was
    `executed`: "messages", or "lines" for the cache lines too (kernels alone, not with `entry`).

    Raises:
        ParseError: the text can't be read.
        SimulationError: the kernel can't be simulated; names the operation and its line.

    >>> from layoutalg.gemm import plan_gemm
    >>> gemm = plan_gemm(8, 32, 32)
    >>> arrays = [np.ones((8, 32), np.float16), np.ones((32, 32), np.float16), np.zeros((8, 32), np.float32)]
    >>> outcome = launch(gemm.emit("lane"), [*arrays, *gemm.arguments], gemm.grid)
    >>> outcome.arguments[2][7, 31]
    np.float32(32.0)
    """
    instance_of(budget, (Budget, type(None)), "budget")
    instance_of(module, (str, ModuleOp), "module")
    instance_of(kernel, (str, type(None)), "kernel")
    unread = frozenset(whole_number(one, "results with", 0) for one in listed(results, "results"))
    threads = whole_number(threads, "threads =", 1, MOST_THREADS)
    read = read_kernel(module) if isinstance(module, str) else module
    text = module if isinstance(module, str) else ""
    traced = dict(trace) if isinstance(trace, Mapping) else _traced(read, text, trace)
    memory = Memory()
    arguments = listed(arguments, "arguments")
    if entry is not None:
        try:
            found = run_host(read, entry, arguments, memory, level=level, target=target, trace=traced, budget=budget)
        finally:
            memory.give_back()
        return Outcome(tuple(arguments), found.findings, found.trace)
    compiled = compile_kernel(read, kernel, block=block, lanes=subgroup_size, level=level, target=target, trace=traced)
    given = bound(compiled.function, arguments, memory, unread)
    try:
        found = run_on(compiled, given, grid, memory, budget=budget, progress=progress, threads=threads, carry_on=True,
                       counted=counted)  # fmt: skip
    finally:
        memory.give_back()
    return Outcome(tuple(arguments), found.findings, found.trace, found.executed)


def _traced(module: ModuleOp, text: str, names: Sequence[str]) -> dict[SSAValue, str]:
    """The values that have these names; numbers (`%7`) are those of the text that was read."""
    names = listed(names, "trace")
    for name in names:
        instance_of(name, str, "trace:")
    if not names:
        return {}
    wanted = {name if name.startswith("%") else f"%{name}" for name in names}
    lines = {text.count("\n", 0, found.start(1)) + 1: found[1] for found in _NAMED.finditer(text)}
    values: dict[SSAValue, str] = {}
    for operation in module.walk():
        for result in operation.results:
            if f"%{result.name_hint}" in wanted:
                values[result] = f"%{result.name_hint}"
        place = place_of(operation)
        written = lines.get(place.line, "") if place is not None else ""
        number = 0
        for part in written.split(",") if written else ():
            name, _, count = (piece.strip() for piece in part.partition(":"))
            if name in wanted and number < len(operation.results):
                values[operation.results[number]] = name
            number += int(count or 1)
    missing = wanted - set(values.values())
    if missing:
        raise LayoutError(f"trace {shown(sorted(missing)[0])}: no operation has a result of that name")
    return values
