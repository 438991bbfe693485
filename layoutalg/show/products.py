"""What there is to say about a matrix product: MMA kinds and schedules, an operand at a time.

>>> from layoutalg.nested.gpu import mma
>>> found = describe_product(mma("MFMA_F32_16x16x16_F16"), None, {})
>>> found.facts["product"], [name for name, _ in found.operands]
('16x16x16, f16 x f16 + f32', ['Lhs  MxK  16x16xf16', 'Rhs  KxN  16x16xf16', 'Acc  MxN  16x16xf32'])
>>> found.operands[0][1].layout
Layout.parse('d0 = 16@lane, d1 = 4@lane:16 4@reg')
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

from layoutalg.core.errors import DistributionError
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Machine, own_sizes
from layoutalg.nested.gpu import DataTiledMMAAttr, MMAAttr, MMAFragment, MMAScheduleAttr, VirtualMMAAttr
from layoutalg.show.report import Description, note_layout

__all__ = ["describe_product", "is_product"]

_LETTERS = {MMAFragment.Lhs: "MxK", MMAFragment.Rhs: "KxN", MMAFragment.Acc: "MxN"}
Product = MMAAttr | VirtualMMAAttr | DataTiledMMAAttr | MMAScheduleAttr


def is_product(value: object) -> TypeGuard[Product]:
    """Whether a value has operands instead of one layout.

    >>> is_product(MMAAttr("MFMA_F32_16x16x16_F16"))
    True
    """
    return isinstance(value, (MMAAttr, VirtualMMAAttr, DataTiledMMAAttr, MMAScheduleAttr))


def describe_product(value: Product, shape: Sequence[int] | None, holder: dict[str, int]) -> Description:
    """Gather the facts about a product's operands; a schedule needs the sizes m, n, k as `shape`.

    Of an opaque intrinsic there are sizes and types. Raises `DistributionError` for sizes where there are none to choose.

    >>> describe_product(MMAAttr("MFMA_F32_16x16x16_F16"), (32, 32), {})
    Traceback (most recent call last):
    layoutalg.core.errors.DistributionError: shape 32x32: #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16> has sizes of its own,
    16x16x16
    """
    kind = value.intrinsic if isinstance(value, MMAScheduleAttr) else value
    native = kind.native if isinstance(kind, DataTiledMMAAttr) else kind
    one = native.intrinsic
    own = kind.shape if isinstance(kind, DataTiledMMAAttr) else (one.m, one.n, one.k)
    if isinstance(value, MMAScheduleAttr):
        if shape is None or len(shape) != 3:
            raise DistributionError(f"{value} needs the sizes m, n, k, such as {'x'.join(map(str, own))}")
        own = tuple(shape)
    else:
        own_sizes(value, own, shape)
    blocks = f"{one.blocks} blocks of " if one.blocks else ""
    facts: dict[str, Any] = {
        "input": str(value),
        "sizes": dict(zip("mnk", own, strict=True)),
        "types": [one.a_type, one.b_type, one.c_type],
        "subgroup_size": one.subgroup_size,
        "product": f"{blocks}{'x'.join(map(str, own))}, {one.a_type} x {one.b_type} + {one.c_type}",
        "lanes": str(one.subgroup_size),
    }
    if isinstance(kind, VirtualMMAAttr) and not one.is_opaque:
        run, count = kind.native
        facts["note"] = (
            f"{count} x {run.name} on shares of the registers" if count > 1 else f"{run.name}, k in another order"
        )
    if one.is_opaque:
        facts["note"] = "opaque: no layout of its fragments is published"
        return Description(None, facts)
    parts: list[tuple[str, Description]] = []
    for fragment, (layout, extra) in zip(MMAFragment, _operands(value, own), strict=True):
        found: dict[str, Any] = {"shape": list(layout.shape), **extra}
        note_layout(found, layout, holder, layout)
        letters = "NxK" if fragment is MMAFragment.Rhs and isinstance(value, DataTiledMMAAttr) else _LETTERS[fragment]
        title = f"{fragment.name}  {letters}  {'x'.join(map(str, layout.shape))}x{one.element_type(fragment)}"
        parts.append((title, Description(layout, found)))
    facts["operands"] = {f.name: part.facts for f, (_, part) in zip(MMAFragment, parts, strict=True)}
    return Description(None, facts, tuple(parts))


def _operands(value: Product, sizes: tuple[int, ...]) -> list[tuple[Layout, dict[str, Any]]]:
    """Each operand's layout, and what else there is to note about it."""
    if isinstance(value, MMAScheduleAttr):
        machine = Machine(value.intrinsic.subgroup_size, value.subgroup_m_count * value.subgroup_n_count)
        nested = value.nested_operands(sizes[0], sizes[1], sizes[2])
        return [(one.layout(one.shape, machine), {"nested": str(one)}) for one in nested]
    if isinstance(value, DataTiledMMAAttr):
        return [(value.operand_layout(f), {"memory": str(value.swizzle(f).memory)}) for f in MMAFragment]
    return [(value.operand_layout(f), {}) for f in MMAFragment]
