"""The operands, results and attributes of XeGPU's operations, version by version: one table.

>>> from layoutalg.ir.verify.registry import signature_of
>>> signature_of("xegpu.load_nd", 22).results[0].words[:30]
'fixed-length vector of 1-bit s'
>>> signature_of("xegpu.create_tdesc", 24) is None
True

LLVM 23 dropped scattered descriptors and what works on them, and let vectors have up to eight dimensions; LLVM 24 added
`lane_shuffle`. Read off the diagnostics of mlir-opt-22, 23 and 24 for operands of a wrong type.
"""

from __future__ import annotations

from layoutalg.ir.verify.registry import Group, Signature, sign

__all__ = ["MEMBERS"]

_INTEGERS = " or ".join(
    f"{width}-bit {sign} integer"
    for sign, widths in (
        ("signless", (1, 4, 8, 16, 32, 64)),
        ("signed", (1, 8, 16, 32, 64)),
        ("unsigned", (1, 8, 16, 32, 64)),
    )
    for width in widths
)
_SMALL = "f4E2M1FN type or f8E4M3FN type or f8E5M2 type or f8E8M0FNU type"
_FLOATS = "16-bit float or 32-bit float or 64-bit float or bfloat16 type or tf32 type"
_OLD, _NEW = (22,), (23, 24)
_SCALAR = f"{_INTEGERS} or {_FLOATS}"
_SCALAR_NEW = f"{_INTEGERS} or {_SMALL} or {_FLOATS}"
_ADDRESS = "64-bit unsigned integer or 32-bit unsigned integer or 64-bit signless integer or 32-bit signless integer"
_DESCRIPTOR = "TensorDesc describing regions of interested data."
_MATRIX = "MemDesc describing the data in SLM"
_BARRIER = "!xegpu.nbarrier a custom XeGPU type representing a barrier."
_OFFSETS = "fixed-length vector of index values"
_MASK = "fixed-length vector of 1-bit signless integer values"
_SCALE = "f8E8M0FNU type or vector of f8E8M0FNU type values of ranks 1/2/3/4"
_HINTS = (("l1_hint", "hint"), ("l2_hint", "hint"), ("l3_hint", "hint"), ("layout", "layout"))
_LAYOUTS = (("layout_a", "layout"), ("layout_b", "layout"), ("layout_cd", "layout"))
_CHUNK = (("chunk_size", "i64"),)


def _vector(scalar: str, new: bool) -> str:
    return f"vector of {scalar} values of ranks 1/2/3/4/5/6/7/8" if new else f"fixed-length vector of {scalar} values"


def _ranked(scalar: str, ranks: str) -> str:
    return f"fixed-length vector of {scalar} values of ranks {ranks}"


def _shared(scalar: str, dimensions: str) -> str:
    return f"reside in share memory and statically {dimensions}shaped memref of {scalar} values "


def _both() -> list[Signature]:
    """What LLVM 22 has, and 23 and 24 with other types."""
    found: list[Signature] = []
    for versions, scalar in ((_OLD, _SCALAR), (_NEW, _SCALAR_NEW)):
        new = versions is _NEW
        value = _vector(scalar, new)
        either = f"{value} or {scalar}"
        place = (("const_offsets!" if new else "const_offsets", "array"), *_HINTS)
        tdesc, offsets = Group("tensor_desc", _DESCRIPTOR), Group("offsets", "index", "*")
        sizes = (("const_shape", "array"), ("const_strides", "array"))
        lists = (Group("shape", "index", "*"), Group("strides", "index", "*"))
        source = Group("source", f"non-0-ranked.memref of {scalar} values or {_ADDRESS}")
        points = f"1D memref of {scalar} values or {_ADDRESS}"
        points = points if new else f"{_DESCRIPTOR} or {points}"
        some = "1" if new else "?"
        index, mask = (
            Group("offsets", f"{_OFFSETS} or index", some),
            Group("mask", f"{_MASK} or 1-bit signless integer"),
        )
        ranks = "1/2/3/4" if new else "1/2/3"
        out = _ranked(scalar, "1/2/3/4" if new else "1/2")
        convert = (
            f"vector of {_INTEGERS} or {_SMALL} or {_FLOATS} or index values of ranks 1/2/3/4/5/6/7/8 or {scalar}"
            if new
            else f"vector of {scalar} values of ranks 1/2/3/4/5/6"
        )
        matrix = (("const_offsets!", "array"), ("layout", "layout"), ("subgroup_block_io", "unit"))
        found += [
            Signature(
                "xegpu.create_nd_tdesc",
                (source, offsets, *lists),
                (tdesc,),
                (("const_offsets", "any" if new else "array"), *sizes),
                True,
                versions,
            ),
            Signature(
                "xegpu.load_nd",
                (tdesc, offsets),
                (Group("value", value),),
                (*place, ("packed", "unit"), ("transpose", "array")),
                False,
                versions,
            ),
            Signature("xegpu.store_nd", (Group("value", value), tdesc, offsets), (), place, False, versions),
            Signature("xegpu.prefetch_nd", (tdesc, offsets), (), place, False, versions),
            Signature(
                "xegpu.dpas",
                (Group("lhs", _ranked(scalar, ranks)), Group("rhs", _ranked(scalar, ranks)), Group("acc", out, "?")),
                (Group("result", out),),
                _LAYOUTS,
                False,
                versions,
            ),
            Signature(
                "xegpu.load",
                (Group("source", points), index, mask),
                (Group("value", either),),
                _HINTS,
                False,
                (24,) if new else (),
            ),
            Signature(
                "xegpu.load",
                (Group("source", points), index, mask),
                (Group("value", either),),
                _CHUNK + _HINTS,
                False,
                (23,) if new else versions,
            ),
            Signature(
                "xegpu.store",
                (Group("value", either), Group("dest", points), index, mask),
                (),
                _HINTS,
                False,
                (24,) if new else (),
            ),
            Signature(
                "xegpu.store",
                (Group("value", either), Group("dest", points), index, mask),
                (),
                _CHUNK + _HINTS,
                False,
                (23,) if new else versions,
            ),
            Signature(
                "xegpu.prefetch",
                (Group("source", points), index),
                (),
                (("offset_align_byte", "i64"), *_HINTS),
                False,
                versions,
            ),
            Signature(
                "xegpu.atomic_rmw",
                (tdesc, Group("mask", _MASK), Group("value", f"fixed-length vector of {scalar} values")),
                (Group("result", f"fixed-length vector of {scalar} values"),),
                (("kind!", "atomic_kind"), ("layout", "layout")),
                False,
                versions,
            ),
            Signature(
                "xegpu.convert_layout",
                (Group("source", convert),),
                (Group("result", convert),),
                (("input_layout!", "layout"), ("target_layout!", "layout")),
                False,
                (23,) if new else versions,
            ),
            Signature(
                "xegpu.convert_layout",
                (Group("source", convert),),
                (Group("result", convert),),
                (("input_layout", "layout"), ("target_layout!", "layout")),
                False,
                (24,) if new else (),
            ),
            Signature(
                "xegpu.create_mem_desc",
                (Group("source", f"{_shared(scalar, '1d ')} or {_shared(scalar, '2d ')}"),),
                (Group("mem_desc", _MATRIX),),
                (),
                False,
                (23,) if new else versions,
            ),
            Signature(
                "xegpu.create_mem_desc",
                (Group("source", _shared(scalar, "")),),
                (Group("mem_desc", _MATRIX),),
                (),
                False,
                (24,) if new else (),
            ),
            Signature(
                "xegpu.load_matrix",
                (Group("mem_desc", _MATRIX), offsets),
                (Group("res", either),),
                matrix,
                False,
                versions,
            ),
            Signature(
                "xegpu.store_matrix",
                (Group("data", either), Group("mem_desc", _MATRIX), offsets),
                (),
                matrix,
                False,
                versions,
            ),
        ]
    return found  # fmt: skip


_small = Group("source", f"fixed-length vector of {_SMALL} or {_FLOATS} values")
_mx = Group("a", _ranked(_SCALAR_NEW, "1/2/3/4"))
_line = _ranked(_SCALAR_NEW, "1")
_tdesc = Group("tensor_desc", _DESCRIPTOR)
_ONE_VERSION = (
    Signature("xegpu.update_nd_offset", (_tdesc, Group("offsets", "index", "*")), (Group("result", _DESCRIPTOR),),
              (("const_offsets!", "array"),), False, _OLD),
    Signature("xegpu.create_tdesc", (Group("source", f"1D memref of {_SCALAR} values or {_ADDRESS}"),
              Group("offsets", _OFFSETS)),
              (_tdesc,), (), False, _OLD),
    Signature("xegpu.update_offset", (_tdesc, Group("offsets", _OFFSETS)), (Group("result", _DESCRIPTOR),), (), False, _OLD),
    Signature("xegpu.fence", attributes=(("memory_kind!", "memory_space"), ("fence_scope!", "fence_scope"))),
    Signature("xegpu.alloc_nbarrier", attributes=(("nbarrier_num!", "i64"),)),
    Signature("xegpu.init_nbarrier", (Group("nbarrier_id", "8-bit signless integer"),
              Group("participant_thread_num", "8-bit signless integer")), (Group("result", _BARRIER),)),
    Signature("xegpu.nbarrier_arrive", (Group("nbarrier", _BARRIER),)),
    Signature("xegpu.nbarrier_wait", (Group("nbarrier", _BARRIER),)),
    Signature("xegpu.truncf", (_small,), (Group("result", _small.words),), (), False, _NEW),
    Signature("xegpu.dpas_mx", (_mx, Group("b", _mx.words), Group("acc", _mx.words, "?"), Group("scale_a", _SCALE, "?"),
              Group("scale_b", _SCALE, "?")), (Group("result", _mx.words),),
              (*_LAYOUTS, ("layout_a_scale", "layout"), ("layout_b_scale", "layout")), True, _NEW),
    Signature("xegpu.lane_shuffle", (Group("source", _line),), (Group("result", _line),),
              (("mode!", "shuffle_mode"),), False, (24,)),
)  # fmt: skip

sign(*_both(), *_ONE_VERSION)

MEMBERS = frozenset(one.name for one in (*_both(), *_ONE_VERSION))
"""The names of XeGPU's operations, in any version."""
