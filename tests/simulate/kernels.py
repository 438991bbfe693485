"""Kernels for tests of memory, in few words."""

from __future__ import annotations

from typing import Any

from layoutalg.simulate.launching import Outcome, launch

SLM = 'memref.global "private" @slm : memref<64xi32, 3> {alignment = 64 : i64}'


def kernel(body: str, arguments: str, *, items: int = 32, lanes: int = 16, before: str = SLM) -> str:
    """A kernel `k`; its body begins on line 4, after %t (work-item), %x (it as i32), %g (workgroup), %yes, %slm."""
    known = f"intel_reqd_sub_group_size = {lanes} : i32, known_block_size = array<i32: {items}, 1, 1>"
    begin = (
        "%t = gpu.thread_id x %g = gpu.block_id x %x = arith.index_cast %t : index to i32 %yes = arith.constant true"
    )
    for number in (0, 1, 2, 3, 4, 8, 16, 32, 64):
        begin += f" %c{number} = arith.constant {number} : index %i{number} = arith.constant {number} : i32"
    shared = "%slm = memref.get_global @slm : memref<64xi32, 3>" if before == SLM else ""
    return f"""gpu.module @m {{ {before}
gpu.func @k({arguments}) kernel attributes {{{known}}} {{ {begin}
{shared}
{body}
gpu.return }} }}"""


def run(body: str, arguments: str, values: list[Any], grid: int = 1, **options: Any) -> Outcome:
    """What a kernel of this body does to these arrays."""
    level = options.pop("level", None)
    return launch(kernel(body, arguments, **options), values, (grid, 1, 1), level=level)


def found(outcome: Outcome) -> list[tuple[str, int]]:
    """The rules and lines of what is wrong."""
    return [(finding.rule, finding.place.line if finding.place else 0) for finding in outcome.findings]
