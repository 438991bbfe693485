"""Barriers that order shared memory, as each chip and version of LLVM has them.

Lanes of a warp or wavefront execute together: a barrier among them only keeps LLVM from moving loads before stores. For Intel's
GPUs one inside a subgroup is a call that becomes OpControlBarrier; one of the workgroup names its memory where LLVM can say so.

>>> from layoutalg.conversion.lowering.writer import Writer
>>> for target in ("sm_80", "bmg"):
...     write_barrier(indices := Indices(Writer([]), 2, 32, target, 24), "workgroup", calls=False)
...     print(indices.writer.text().strip())
gpu.barrier
gpu.barrier memfence [#gpu.address_space<workgroup>]
"""

from __future__ import annotations

from collections.abc import Sequence

from layoutalg.conversion.lowering.indices import Indices

__all__ = ["CONTROL_BARRIER", "SHARED_BARRIER", "called_scope", "write_barrier"]

CONTROL_BARRIER = "_Z22__spirv_ControlBarrieriii"
"""OpControlBarrier by its name in SPIR-V's friendly LLVM IR: `gpu.barrier` is one of the workgroup, whatever its scope says."""
SHARED_BARRIER = "gpu.barrier memfence [#gpu.address_space<workgroup>]"
"""A barrier of the workgroup that orders shared memory alone, where LLVM can say so."""
_SCOPES = {2: "workgroup", 3: "subgroup"}
"""SPIR-V's scopes."""
_WORKGROUP_MEMORY, _ACQUIRE_RELEASE, _SEQUENTIALLY_CONSISTENT = 0x100, 0x8, 0x10
"""SPIR-V's memory semantics: which memory is ordered, and how."""
_SHARED_IN_ORDER = _ACQUIRE_RELEASE | _WORKGROUP_MEMORY
"""Whoever waits sees what the others stored to shared memory."""


def write_barrier(indices: Indices, scope: str, *, calls: bool) -> None:
    """Write the barrier of a "subgroup", "workgroup" or "cluster"; `calls`: a function may be called.

    What the module then has to declare is put down in `indices.functions`.
    """
    writer = indices.writer
    match (scope, indices.vendor):
        case ("cluster", "nvidia"):
            for half in ("arrive", "wait"):  # release, and acquire
                writer.do(f'llvm.call_intrinsic "llvm.nvvm.barrier.cluster.{half}.aligned"() : () -> ()')
        case ("subgroup", "nvidia"):
            everyone = indices.constant(0xFFFFFFFF)
            writer.do('llvm.call_intrinsic "llvm.nvvm.bar.warp.sync"(%s) : (i32) -> ()', (everyone,))
        case ("subgroup", "amd"):
            writer.do('llvm.fence syncscope("wavefront") acq_rel')
        case (_, "intel") if calls and (scope == "subgroup" or not indices.barriers_of_spaces):
            [number] = [indices.constant(number) for number, name in _SCOPES.items() if name == scope]
            order = indices.constant(_SHARED_IN_ORDER)
            indices.functions[CONTROL_BARRIER] = (
                f"llvm.func spir_funccc @{CONTROL_BARRIER}(i32, i32, i32) attributes {{convergent}}"
            )
            form = f"llvm.call spir_funccc @{CONTROL_BARRIER}(%s, %s, %s) {{convergent}} : (i32, i32, i32) -> ()"
            writer.do(form, (number, number, order))
        case (_, "intel") if indices.barriers_of_spaces:
            writer.do(SHARED_BARRIER)
        case _:
            writer.do("gpu.barrier")


def called_scope(operands: Sequence[int | None]) -> str:
    """Who waits at a call of OpControlBarrier and sees what the others stored to shared memory: "workgroup", "subgroup", or "".

    The operands are the scope of those who wait, that of the memory, and the memory semantics; None for one that is not known.

    >>> called_scope([3, 3, 0x108]), called_scope([2, 2, 0x210]), called_scope([2, None, 0x108])
    ('subgroup', '', '')
    """
    waits, seen, order = operands
    if waits is None or seen != waits or order is None or not order & _WORKGROUP_MEMORY:
        return ""
    return _SCOPES.get(waits, "") if order & (_ACQUIRE_RELEASE | _SEQUENTIALLY_CONSISTENT) else ""
