"""LLVM's rules of XeGPU's operations on values: dpas, dpas_mx, convert_layout, truncf, in the order of its verifiers.

    %c = xegpu.dpas %a, %b : vector<8x16xf16>, vector<32x16xf16> -> vector<8x16xf32>

is refused with "K-dimension mismatch.", and from LLVM 23 on with both depths.
"""

from __future__ import annotations

from collections.abc import Sequence

from layoutalg.ir.verify.layouts import level, undistributed
from layoutalg.ir.verify.registry import rule, same
from layoutalg.ir.verify.shapes import count_of, element_of, is_vector, rank_of, shape_of, width_of
from layoutalg.ir.verify.signatures import Subject
from layoutalg.ir.verify.types import layout_value

__all__: list[str] = []


same("xegpu.dpas.element_type", "element type", "lhs, rhs", "xegpu.dpas")
same("xegpu.lane_shuffle.type", "type", "source, result", "xegpu.lane_shuffle")
same("xegpu.truncf.rank", "rank", "source, result", "xegpu.truncf")
same("xegpu.truncf.shape", "shape", "source, result", "xegpu.truncf")
same("xegpu.convert_layout.type", "type", "source, result", "xegpu.convert_layout")


@rule("xegpu.dpas.layouts", "xegpu.dpas", "xegpu.dpas_mx", since=23)
def _layouts(subject: Subject) -> tuple[str, ...] | None:
    a, b = ("lhs", "rhs") if subject.name == "xegpu.dpas" else ("a", "b")
    for name, what, value in (("layout_cd", "Result", "result"), ("layout_a", "A", a), ("layout_b", "B", b)):
        layout = subject.attribute(name)
        if layout is None:
            continue
        said = f"{what} shape is not distributable with the layout"
        found = undistributed(said, layout, shape_of(subject.type(value)), subject.llvm)
        if found is not None:
            return found
    return None


@rule("xegpu.dpas.accumulator", "xegpu.dpas", "xegpu.dpas_mx")
def _accumulator(subject: Subject) -> str | None:
    acc = subject.type("acc")
    if acc is None or acc == subject.type("result"):
        return None
    if subject.llvm == 22:
        return "Expecting the acc type to be the same as result."
    return "Accumulator type must match result type."


@rule("xegpu.dpas.sizes", "xegpu.dpas", until=22)
def _sizes_22(subject: Subject) -> str | None:
    types = subject.type("lhs"), subject.type("rhs"), subject.type("result")
    ranks = [rank_of(kind) for kind in types]
    if ranks == [1, 1, 1]:
        bits = width_of(element_of(types[1]))
        if bits and 32 // bits and count_of(types[1]) % (32 // bits):
            return "Expecting B operand to be a multiple of 32 bits."
        return None
    if ranks[0] != 2 or ranks[1] not in (2, 3) or ranks[2] != 2:
        return "expecting lhs and result to be a 2D vector, and rhs to be either 2D or 3D (packed) vector."
    a, b, c = map(shape_of, types)
    for differ, name in ((_depth(b) != a[1], "K"), (a[0] != c[0], "M"), (b[1] != c[1], "N")):
        if differ:
            return f"{name}-dimension mismatch."
    return None


def _depth(b: Sequence[int]) -> int:
    return b[0] * b[2] if len(b) == 3 else b[0]


@rule("xegpu.dpas.sizes", "xegpu.dpas", "xegpu.dpas_mx", since=23)
def _sizes(subject: Subject) -> str | None:
    names = ("lhs", "rhs") if subject.name == "xegpu.dpas" else ("a", "b")
    types = subject.type(names[0]), subject.type(names[1]), subject.type("result")
    ranks = [rank_of(kind) for kind in types]
    if ranks == [1, 1, 1]:
        return None
    for rank, what in zip(ranks, ("A operand", "B operand", "Result"), strict=True):
        if rank < 2:
            return f"{what} must be at least a 2D vector."
    if ranks[1] == ranks[0] + 1:
        return None  # a packed B: LLVM looks no further, and a rule of ours does
    if len(set(ranks)) > 1:
        return "Rank mismatch among A, B, and result."
    a, b, c = map(shape_of, types)
    for d in range(ranks[0] - 2):
        for other, what in ((b, "B"), (c, "result")):
            if a[d] != other[d]:
                return f"Batch dimension mismatch at dim {d}: A has {a[d]} but {what} has {other[d]}."
    if b[-2] != a[-1]:
        return f"K-dimension mismatch: A has K={a[-1]} but B has K={b[-2]}."
    if a[-2] != c[-2]:
        return f"M-dimension mismatch: A has M={a[-2]} but result has M={c[-2]}."
    if b[-1] != c[-1]:
        return f"N-dimension mismatch: B has N={b[-1]} but result has N={c[-1]}."
    return None


@rule("xegpu.dpas_mx.scales", "xegpu.dpas_mx", since=23)
def _scales(subject: Subject) -> str | tuple[str, ...] | None:
    for scale, what, dimension in (("scale_a", "A", -2), ("scale_b", "B", -1)):
        kind, operand = subject.type(scale), shape_of(subject.type(what.lower()))
        shape = shape_of(kind)
        if not is_vector(kind) or len(shape) < 2 or len(operand) < 2:
            continue
        layout = subject.attribute(f"layout_{what.lower()}_scale")
        if layout is not None:
            said = f"Scale{what} shape is not distributable with the layout"
            found = undistributed(said, layout, shape, subject.llvm)
            if found is not None:
                return found
        if shape[dimension] != operand[dimension]:
            name = "MN"[dimension + 2]
            return (
                f"Scale {what} {name} dimension [{shape[dimension]}] must match {what} {name} dimension "
                f"[{operand[dimension]}]."
            )
    a, b = subject.type("scale_a"), subject.type("scale_b")
    if rank_of(a) > 1 and rank_of(b) > 1 and shape_of(a)[-1] != shape_of(b)[-2]:
        return f"Scale K dimension mismatch: scale_a has K={shape_of(a)[-1]} but scale_b has K={shape_of(b)[-2]}."
    return None


@rule("xegpu.convert_layout", "xegpu.convert_layout")
def _convert(subject: Subject) -> str | tuple[str, ...] | None:
    target = subject.attribute("target_layout")
    given = (
        subject.attribute("input_layout") or target
    )  # LLVM 24 lets it be left out, and asks as if it were the target's
    if given is None or target is None:
        return None
    if level(given) != level(target):
        return "expected input layout and target layout be WgLayout or SgLayout at the same time."
    kind = subject.type("source")
    if not is_vector(kind):
        return None
    for layout, what in ((given, "input"), (target, "target")):
        if subject.llvm > 22 and layout_value(layout).rank != rank_of(kind):
            return None  # LLVM reads past the end of one of them: a rule of ours refuses it
        said = f"invalid {what} layout, data cannot be evenly distributed."
        found = undistributed(said, layout, shape_of(kind), subject.llvm)
        if found is not None:
            return found
    return None


@rule("xegpu.lane_shuffle.length", "xegpu.lane_shuffle")
def _shuffled(subject: Subject) -> str | None:
    return "requires a source vector with at least 2 elements." if count_of(subject.type("source")) < 2 else None


@rule("xegpu.truncf", "xegpu.truncf")
def _narrower(subject: Subject) -> str | None:
    wide, narrow = (width_of(element_of(subject.type(name))) for name in ("source", "result"))
    return "input type must be wider than result type." if wide <= narrow else None
