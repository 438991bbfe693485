"""A module for another version of LLVM: what changed in the language is said in that version's words.

    LLVM 22                                                     LLVM 23 and 24
    create_nd_tdesc %m[%i, 0]; load_nd %t                       create_nd_tdesc %m; load_nd %t[%i, 0]
    update_nd_offset %t, [0, 16]                                the offset plus 16, carried through loops
    create_tdesc %p, %o; load %t, %mask                         load %p[%o], %mask
    a chunk of 8 elements for each offset                       24: 8 offsets
    amx.tile_load                                               x86.amx.tile_load

What has no counterpart is a finding with its line; the rest is migrated all the same.

>>> from layoutalg.ir import read_module, write_module
>>> found = migrate_module(read_module(
...     "func.func @f(%m: memref<64x64xf16>, %i: index) -> vector<8x16xf16> {"
...     "  %t = xegpu.create_nd_tdesc %m[%i, 0] : memref<64x64xf16> -> !xegpu.tensor_desc<8x16xf16>"
...     "  %x = xegpu.load_nd %t : !xegpu.tensor_desc<8x16xf16> -> vector<8x16xf16>"
...     "  func.return %x : vector<8x16xf16> }"), to=24)
>>> print("\\n".join(write_module(found.module, llvm=24).splitlines()[2:4]))
    %t = xegpu.create_nd_tdesc %m : memref<64x64xf16> -> !xegpu.tensor_desc<8x16xf16>
    %x = xegpu.load_nd %t[%i, 0] : !xegpu.tensor_desc<8x16xf16> -> vector<8x16xf16>

The law: both modules do the same, and migrating what was migrated changes nothing.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from layoutalg.core.errors import LayoutError
from layoutalg.core.llvm_versions import rules
from layoutalg.ir.findings import Finding
from layoutalg.ir.migrate.amx import rename_amx
from layoutalg.ir.migrate.blocks import BLOCK_REWRITES, block_start, keeps_places
from layoutalg.ir.migrate.carried import Carried
from layoutalg.ir.migrate.layouts import complete_layouts
from layoutalg.ir.migrate.scattered import SCATTERED_REWRITES, is_scattered
from layoutalg.ir.well_formed import MALFORMED, is_well_formed

__all__ = ["Migration", "migrate_module"]


@dataclass(frozen=True, slots=True)
class Migration:
    """A migrated module, and what in it has no counterpart in the version.

    >>> Migration(ModuleOp([]), ()).findings
    ()
    """

    module: ModuleOp
    findings: tuple[Finding, ...]


def migrate_module(module: ModuleOp, *, to: int) -> Migration:
    """The module as LLVM `to` (23 or 24) wants it; the one that is given stays as it is.

    Raises:
        LayoutError: the version is not known, or older than 23.

    >>> migrate_module(ModuleOp([]), to=22)
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: to LLVM 22: modules are migrated to LLVM 23 or 24
    """
    row = rules(to)
    if row.scattered:
        raise LayoutError(f"to LLVM {to}: modules are migrated to LLVM 23 or 24")
    try:
        return _migrated(module, to)
    except MALFORMED:
        wrong = {number for number, op in enumerate(module.walk()) if not is_well_formed(op)}
        if not wrong:
            raise
        return _migrated(module, to, wrong)


def _migrated(module: ModuleOp, to: int, wrong: Container[int] = ()) -> Migration:
    """A migrated copy, in which the operations of these numbers (of the walk) stay as they are."""
    row = rules(to)
    made = module.clone()
    for before, after in zip(module.walk(), made.walk(), strict=True):
        after.location = before.location
    blocks = any(keeps_places(op) for op in made.walk())
    carried = Carried(
        {**(BLOCK_REWRITES if blocks else {}), **SCATTERED_REWRITES},
        block_start if blocks else lambda value: None,
        f"LLVM {to}",
        {op for number, op in enumerate(made.walk()) if number in wrong},
    )
    carried.module(made)
    rename_amx(made)
    _remaining_points(made, carried)
    if row.data_with_layout:
        for op in made.walk():
            if op not in carried.left:
                complete_layouts(op)
    return Migration(made, tuple(carried.findings))


def _remaining_points(module: ModuleOp, carried: Carried) -> None:
    """Name the scattered descriptors that stay, because they come from outside."""
    for op in module.walk():
        if op.name in ("xegpu.create_tdesc", "xegpu.update_offset"):
            continue  # its points are known; who takes them could not, and said so
        values = [*op.results, *(value for region in op.regions for block in region.blocks for value in block.args)]
        for value in values:
            if is_scattered(value.type):
                name = f"%{value.name_hint}" if value.name_hint else "a value"
                carried.say(
                    op,
                    "migrate.scattered_descriptor",
                    f"{name} is a scattered descriptor, which {carried.source} does not have; its points are not known here",
                    "pass the pointer and the offsets instead",
                )
