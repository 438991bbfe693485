"""`la.lower`: a module as its work-items execute it; with `level="lane"` the layouts that it lacks are decided first.

A workgroup of four subgroups doubles a block of 64x32, and nobody has said who holds what. Four subgroups take 16 rows each, of
which every lane has two columns:

>>> text = '''gpu.module @m { gpu.func @k(%p: i64) kernel attributes {known_block_size = array<i32: 64, 1, 1>,
...     intel_reqd_sub_group_size = 16 : i32} {
...   %t = xegpu.create_nd_tdesc %p, shape : [64, 32], strides : [32, 1] : i64 -> !xegpu.tensor_desc<64x32xf32>
...   %x = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<64x32xf32> -> vector<64x32xf32>
...   %y = arith.addf %x, %x : vector<64x32xf32>
...   xegpu.store_nd %y, %t[0, 0] : vector<64x32xf32>, !xegpu.tensor_desc<64x32xf32>
...   gpu.return } }'''
>>> lowered = lower(text, level="lane")
>>> [line.strip() for line in str(lowered).splitlines() if "arith.addf" in line]
['%y = arith.addf %x, %x : vector<16xf32>', '%y_1 = arith.addf %x_1, %x_1 : vector<16xf32>']

Two levels are decided, one after the other: which subgroup has which block, and which lane of it has which element. What the
module states of either stays. `decided` is that step alone, `lower` without a level rewrites what is stated.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from layoutalg.core.llvm_versions import DEFAULT_LLVM, rules
from layoutalg.core.whole_numbers import one_of
from layoutalg.flow.levels import DEFAULT_TARGET
from layoutalg.hardware import target_info
from layoutalg.ir.places import place_of
from layoutalg.lowering import lower as rewritten
from layoutalg.module.chip import meant_chip
from layoutalg.propagation.propagating import as_module, completed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from layoutalg.ir.findings import Finding
    from layoutalg.ir.places import Place
    from layoutalg.lowering import Lowered
    from layoutalg.module.module import Module
    from layoutalg.propagation import Propagated

__all__ = ["decided", "lower", "lowered_from"]


def lower(
    module: Module | str, *, level: str | None = None, target: str | None = None, llvm: int = DEFAULT_LLVM
) -> Lowered:
    """The module with its kernels as each work-item executes them; kernels that are at lane level stay as they are.

    Without a `level`, layouts that the module states are lowered, and what follows from them. With `level="lane"`, layouts that
    it does not state are decided first (`la.propagate` at workgroup level, then at that of lanes), so a kernel may come without
    any. A module that does not verify is not lowered: the findings say what is wrong. `target` is the chip (what the module
    says, as Triton's do, or pvc).

    Raises `LayoutError` for a level, a target or a version of LLVM that is not known.

    >>> print(lower("gpu.barrier", level="lane").module)
    builtin.module {
      gpu.barrier
    }
    <BLANKLINE>
    >>> lower("gpu.barrier", level="inst")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: level 'inst': expected 'lane'
    """
    file = as_module(module)
    chip = meant_chip(file, target)
    if level is None:
        return rewritten(file, target=chip, llvm=llvm)
    one_of(level, ("lane",), "level")
    return lowered_from(decided(file, target=chip, llvm=llvm), target=chip, llvm=llvm)


def decided(module: Module | str, *, target: str = DEFAULT_TARGET, llvm: int = DEFAULT_LLVM) -> Propagated:
    """The module with a layout for every value: subgroups first (`coarser` has what was decided there), then lanes.

    A kernel is dealt out to the subgroups of its workgroup where it has several, states no lanes, and does not ask which
    subgroup it is; where it does, each subgroup has its own block already.

    >>> decided("gpu.barrier").cost
    0
    """
    file = as_module(module)
    target_info(target)
    version = rules(llvm).llvm
    return completed([part.module for part in file.parts], file, "lane", target, version, spread=True)


def lowered_from(done: Propagated, *, target: str = DEFAULT_TARGET, llvm: int = DEFAULT_LLVM) -> Lowered:
    """What was decided, lowered; findings and exchanges name the places of the text that it was decided for.

    >>> lowered_from(decided("gpu.barrier")).exchanges
    ()
    """
    lowered = rewritten(done.module, target=target, llvm=llvm)
    there = _places(done)
    again = [replace(one, place=there.get(one.place, one.place)) for one in lowered.findings]
    findings = tuple(dict.fromkeys((*done.findings, *again)))  # what reading says, it says of both texts
    exchanges = tuple(replace(one, place=there.get(one.place, one.place)) for one in lowered.exchanges)
    is_whole = not any(_is_error(finding) for finding in findings)
    return replace(lowered, module=lowered.module if is_whole else None, exchanges=exchanges, findings=findings)


def _is_error(finding: Finding) -> bool:
    return finding.level == "error"


def _places(done: Propagated) -> Mapping[Place | None, Place | None]:
    """Where the operations of the completed text stand in the text that was given; those that were added, at what is before.

    None where that is not known.
    """
    found: dict[Place | None, Place | None] = {}
    for part, places in zip(done.module.parts, done.places, strict=True):
        last: Place | None = None
        operations = list(part.module.walk())
        if len(operations) != len(places):  # text that was not read is divided otherwise where it is read again
            found |= {place_of(operation): None for operation in operations}
            continue
        for operation, place in zip(operations, places, strict=True):
            last = place or last
            found[place_of(operation)] = last
    return found
