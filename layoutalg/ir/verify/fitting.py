"""Why a compiler refuses an operation, in numbers, and what would fit: the note beside its message.

    'xegpu.load_nd' op Result shape [8, 8] is not consistent with tensor descriptor ...
    note: 8x16xf16 would fit

A message often says that sizes or types differ, and leaves which to the reader. Where it has no numbers, the note names each
operand and result with its shape and elements; where one change mends it, that is named too. The message stays the compiler's.

>>> from layoutalg.ir import read_module
>>> from layoutalg.ir.verify import verify_module
>>> text = "%x = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<8x16xf16> -> vector<8x8xf16>"
>>> [found] = verify_module(read_module('%t = "test.op"() : () -> !xegpu.tensor_desc<8x16xf16>' + text))
>>> found.notes
('8x16xf16 would fit',)
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd, prod
from typing import Any

from xdsl.ir import Attribute

from layoutalg.core.errors import LayoutError
from layoutalg.core.messages import shortened
from layoutalg.ir.dialects.xegpu.attributes import LayoutAttr, SliceAttr
from layoutalg.ir.verify.shapes import element_of, numbers, rank_of, shape_of
from layoutalg.ir.verify.signatures import Subject
from layoutalg.ir.verify.types import inside, layout_value
from layoutalg.triton.encodings import Blocked, DotOperand, parse_encoding

__all__ = ["fitting", "fitting_attribute"]

_MOST_TRIED = 4096
"""So many sizes are tried at most."""
_MOST_NAMED = 6
"""So many operands and results are named."""


def fitting(subject: Subject, rule: str, message: str) -> tuple[str, ...]:
    """The note beside a compiler's message, or none: numbers that it leaves out, and what would fit.

    >>> from xdsl.dialects.test import TestOp
    >>> fitting(Subject(TestOp(), "test.op", 24, None), "test.rule", "is wrong")
    ()
    """
    fits = _FITS.get(rule)
    said = "" if fits is None else fits(subject)
    told = "" if said and (rule in _OF_LAYOUTS or any(char.isdigit() for char in message)) else _named(subject)
    note = "; ".join(part for part in (told, said) if part)
    return (note,) if note else ()


def _named(subject: Subject) -> str:
    """Each operand and result by its name, with its shape and elements."""
    signature = subject.signature
    groups = () if signature is None else (*signature.operands, *signature.results)
    found = [f"{group.name} is {_brief(kind)}" for group in groups if (kind := subject.type(group.name)) is not None]
    if signature is None or len(found) < 2:
        operation = subject.operation
        ends = (("operand", operation.operand_types), ("result", operation.result_types))
        found = [f"{end} #{at} is {_brief(kind)}" for end, kinds in ends for at, kind in enumerate(kinds)]
    return ", ".join(found[:_MOST_NAMED]) if len(found) > 1 else ""


def _brief(kind: Attribute) -> str:
    return f"{_sizes(shape_of(kind))}x{element_of(kind)}" if hasattr(kind, "get_shape") else shortened(str(kind), 80)


def _sizes(shape: tuple[int, ...]) -> str:
    return "x".join("?" if size < 0 else str(size) for size in shape)


# XeGPU


def fitting_attribute(attribute: Attribute, message: str) -> tuple[str, ...]:
    """The note beside a compiler's message about an attribute: the field that is missing, what writes another version's.

    >>> from layoutalg.ir.dialects.xegpu.attributes import LayoutAttr
    >>> fitting_attribute(LayoutAttr("lane_layout = [1, 16]"), "lane_layout and lane_data must be used together")
    ('lane_data = [1, 1] would fit',)
    """
    if "`scatter_tdesc_attr`" in message:
        return ("`layoutalg migrate` writes the loads and stores with offsets, as this version has them",)
    if "must be used together" not in message:
        return ()
    if not isinstance(attribute, (LayoutAttr, SliceAttr)):
        return next((found for one in inside(attribute) if (found := fitting_attribute(one, message))), ())
    parent = layout_value(attribute).parent_layout()
    for level in ("sg", "lane"):
        ids, data = (getattr(parent, f"{level}_{field}") for field in ("layout", "data"))
        if (ids is None) != (data is None):
            name = f"{level}_{'layout' if ids is None else 'data'}"
            return (f"{name} = {[1] * len(ids or data)} would fit",)
    return ()


def _block(subject: Subject) -> str:
    descriptor = subject.type("tensor_desc")
    shape = list(shape_of(descriptor))
    order = numbers(subject.attribute("transpose"))
    if sorted(order) == [*range(len(shape))]:
        shape = [shape[dim] for dim in order]
    array = getattr(descriptor.encoding, "array_length", None)
    if array is not None or subject.attribute("packed") is not None:
        return ""
    return f"{_sizes(tuple(shape))}x{element_of(descriptor)} would fit"


def _share(subject: Subject) -> str:
    descriptor, value = subject.type("tensor_desc"), subject.type("value")
    whole, part = prod(shape_of(descriptor)), prod(shape_of(value))
    near = next((n for n in range(part, min(whole, part + _MOST_TRIED) + 1) if whole % n == 0), whole)
    return (
        f"a lane's vector has a whole part of the block's {whole} elements: {part} does not divide it; {near} would fit"
    )


def _offsets(subject: Subject) -> str:
    given, rank = len(numbers(subject.attribute("const_offsets"))), rank_of(subject.type("tensor_desc"))
    return f"{given} offset{'s' * (given != 1)} for {rank} dimension{'s' * (rank != 1)}; {rank} would fit"


def _pointed_to(subject: Subject) -> str:
    return f"{element_of(subject.type('source'))} in both would fit"


def _cached(*policies: str) -> Callable[[Subject], str]:
    return lambda _: f"{', '.join(policies)} would fit"


def _levels(subject: Subject) -> str:
    given = "sg_layout" in str(subject.attribute("input_layout"))
    one, other = ("input_layout", "target_layout") if given else ("target_layout", "input_layout")
    return f"{one} has sg_layout (a workgroup's layout), {other} has none (a subgroup's)"


def _accumulated(subject: Subject) -> str:
    return f"{_brief(subject.type('result'))} would fit as the accumulator"


# Triton


def _counted(subject: Subject) -> str:
    """The nearest blocked layout with as many threads and warps as the module says."""
    said = _said(subject)
    for kind in (*subject.operation.operand_types, *subject.operation.result_types):
        try:
            encoding = parse_encoding(str(getattr(kind, "encoding", "")))
        except LayoutError:
            continue
        if not isinstance(encoding, Blocked) or encoding.cga:
            continue
        lanes = _scaled(encoding.threads_per_warp, encoding.order, said.get("ttg.threads-per-warp"))
        warps = _scaled(encoding.warps_per_cta, encoding.order, said.get("ttg.num-warps"))
        if lanes is None or warps is None or (lanes, warps) == (encoding.threads_per_warp, encoding.warps_per_cta):
            continue
        changed = [
            f"{name} = {list(after)}"
            for name, before, after in (
                ("threadsPerWarp", encoding.threads_per_warp, lanes),
                ("warpsPerCTA", encoding.warps_per_cta, warps),
            )
            if before != after
        ]
        return f"{', '.join(changed)} would fit"
    return ""


def _said(subject: Subject) -> dict[str, int]:
    found: dict[str, int] = {}
    around = subject.operation.parent_op()
    while around is not None:
        for name in ("ttg.threads-per-warp", "ttg.num-warps"):
            number: Any = getattr(getattr(around.attributes.get(name), "value", None), "data", None)
            if isinstance(number, int):
                found.setdefault(name, number)
        around = around.parent_op()
    return found


def _scaled(counts: tuple[int, ...], order: tuple[int, ...], wanted: int | None) -> tuple[int, ...] | None:
    """Counts that multiply to `wanted`, changed in the slowest dimensions first; None where they cannot be.

    >>> _scaled((4, 8), (1, 0), 64), _scaled((4, 8), (1, 0), 4)
    ((8, 8), (1, 4))
    """
    found, now = list(counts), prod(counts)
    if wanted is None or wanted == now:
        return counts
    if wanted < 1:
        return None
    if wanted % now == 0:
        found[order[-1]] *= wanted // now
        return tuple(found)
    for dim in reversed(order):
        shared = gcd(found[dim], now // wanted) if now % wanted == 0 else 1
        found[dim] //= shared
        now //= shared
    return tuple(found) if now == wanted else None


def _permuted(subject: Subject) -> str:
    shape, order = shape_of(subject.type("src")), numbers(subject.attribute("order"))
    if sorted(order) != [*range(len(shape))]:
        return f"rank {len(shape)}: order is a permutation of {list(range(len(shape)))}, and has {list(order)}"
    return f"{_sizes(tuple(shape[dim] for dim in order))} would fit"


def _reshaped(subject: Subject) -> str:
    before, after = shape_of(subject.type("src")), shape_of(subject.type("result"))
    return f"{_sizes(before)} has {prod(before)} elements, {_sizes(after)} has {prod(after)}"


def _multiplied(subject: Subject) -> str:
    kinds = [subject.type(name) for name in "abc"]
    a, b, c = map(shape_of, kinds)
    if len(a) == len(b) == len(c) and len(a) > 1:
        if a[-1] != b[-2]:
            return f"K is {a[-1]} in a, {b[-2]} in b"
        if (a[-2], b[-1]) != c[-2:]:
            return f"{_sizes((*c[:-2], a[-2], b[-1]))} would fit as c"
    try:
        one, other = (parse_encoding(str(getattr(kind, "encoding", ""))) for kind in kinds[:2])
    except LayoutError:
        return ""
    if isinstance(one, DotOperand) and isinstance(other, DotOperand):
        if (one.op_idx, other.op_idx) != (0, 1):
            return f"opIdx is {one.op_idx} in a, {other.op_idx} in b; 0 and 1 would fit"
        if one.k_width != other.k_width:
            return f"kWidth is {one.k_width} in a, {other.k_width} in b; {min(one.k_width, other.k_width)} in both would fit"
        return f"c has {getattr(kinds[2], 'encoding', 'no layout')}; a's and b's parent {one.parent} would fit"
    return "a wants #ttg.dot_op<{opIdx = 0, parent = ...}>, b the same with opIdx = 1"


def _range(subject: Subject) -> str:
    start, end = (getattr(getattr(subject.attribute(one), "value", None), "data", None) for one in ("start", "end"))
    return f"start is {start}, end is {end}"


def _indexed(subject: Subject) -> str:
    rest = shape_of(subject.type("src"))[1:]
    return f"{_sizes(rest)} would fit" if rest else ""


def _encoded(subject: Subject) -> str:
    """The layouts that differ, each once with the operand or result that has it first."""
    operation, found = subject.operation, dict[str, str]()
    for end, kinds in (("operand", operation.operand_types), ("result", operation.result_types)):
        for at, kind in enumerate(kinds):
            if (encoding := str(getattr(kind, "encoding", ""))).startswith("#"):
                found.setdefault(encoding, f"{end} #{at}")
    if len(found) < 2:
        return ""
    return (
        "; ".join(f"{where} has {encoding}" for encoding, where in found.items())
        + "; ttg.convert_layout makes them one"
    )


# IREE


def _bounded(subject: Subject) -> str:
    return "; ".join(
        f"map {number} is {one}" for number, one in enumerate(getattr(subject.attribute("indexing_maps"), "data", ()))
    )


def _nested(subject: Subject) -> str:
    stated: Any = subject.attribute("layout")
    return stated.value.fitting(shape_of(subject.operation.operand_types[0]))


_FITS: dict[str, Callable[[Subject], str]] = {
    "xegpu.load_nd.shape": _block,
    "xegpu.store_nd.shape": _block,
    "xegpu.fragment": _share,
    "xegpu.offsets.count": _offsets,
    "xegpu.update_nd_offset": _offsets,
    "xegpu.create_nd_tdesc.element_type": _pointed_to,
    "xegpu.cache_hint.read": _cached("cached", "uncached", "streaming", "read_invalidate"),
    "xegpu.cache_hint.write": _cached("cached", "uncached", "write_back", "write_through"),
    "xegpu.convert_layout": _levels,
    "xegpu.dpas.accumulator": _accumulated,
    "triton.layout": _counted,
    "triton.trans": _permuted,
    "triton.reshape": _reshaped,
    "triton.dot": _multiplied,
    "triton.range": _range,
    "triton.elementwise": _encoded,
    "triton.same_encoding": _encoded,
    "triton.gather": _encoded,
    "triton.memory_view": _indexed,
    "iree.bounds": _bounded,
    "iree.maps": _bounded,
    "iree.to_layout.shape": _nested,
}
"""What would fit, by the rule that refused."""
_OF_LAYOUTS = ("xegpu.convert_layout", "triton.same_encoding")
"""Rules about layouts alone: shapes and elements say nothing."""
