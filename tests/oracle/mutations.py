# ruff: noqa: E501
"""Valid operations, and what becomes of them when one thing is changed: a type, a rank, a size, a hint, an attribute, a count.

An operation is written in generic form on arguments of a function, so that no syntax stands between a wrong operation and the
verifier; `create_nd_tdesc`, whose generic form differs between versions, in its own. Nothing here knows what is right: compilers
say that.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

ELEMENTS = ("f16", "f32", "bf16", "tf32", "f64", "i8", "i32", "i1", "i4", "index", "si8", "ui16", "f8E5M2", "i7")
SIZES = (1, 2, 3, 4, 7, 8, 15, 16, 17, 32, 64)
LAYOUTS = (
    "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>",
    "#xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>",
    "#xegpu.layout<lane_layout = [1, 16], lane_data = [2, 1]>",
    "#xegpu.layout<lane_layout = [16], lane_data = [1]>",
    "#xegpu.layout<lane_layout = [4, 8], lane_data = [1, 1]>",
    "#xegpu.layout<sg_layout = [2, 2], sg_data = [4, 8], lane_layout = [1, 8], lane_data = [1, 1]>",
    "#xegpu.layout<inst_data = [8, 16]>",
    "#xegpu.slice<#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>, dims = [0]>",
    "#xegpu.layout<lane_layout = [1, 16]>",
)
HINTS = tuple(
    f"#xegpu.cache_hint<{word}>"
    for word in ("cached", "uncached", "streaming", "read_invalidate", "write_back", "write_through")
)
ENCODINGS = (
    "#xegpu.block_tdesc_attr<array_length = 2 : i64>",
    "#xegpu.block_tdesc_attr<boundary_check = false>",
    "#xegpu.block_tdesc_attr<memory_space = slm>",
    "#xegpu.scatter_tdesc_attr<>",
    "#xegpu.scatter_tdesc_attr<chunk_size = 8 : i64>",
)
OTHERS = ("index", "i64", "i32", "f16", "vector<16xf16>", "vector<8x16xf16>", "memref<512xf16>", "!xegpu.nbarrier")
_SHAPED = re.compile(
    r"(?P<kind>vector|memref|tensor|!xegpu\.tensor_desc|!xegpu\.mem_desc|!(?:x86\.)?amx\.tile)<(?P<sizes>(?:\d+x)*)(?P<element>\w+)(?P<rest>.*)>$"
)


@dataclass(frozen=True)
class Written:
    """One operation: its name, the types of operands and results, its properties, and the versions that accept it."""

    name: str
    operands: tuple[str, ...]
    results: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    versions: tuple[int, ...] = (22, 23, 24)
    regions: str = ""

    def module(self) -> str:
        """The operation in a function, its operands the arguments."""
        arguments = ", ".join(f"%a{i}: {kind}" for i, kind in enumerate(self.operands))
        used = ", ".join(f"%a{i}" for i in range(len(self.operands)))
        result = f"%r:{len(self.results)} = " if self.results else ""
        properties = ", ".join(f"{name} = {value}" for name, value in self.properties)
        if self.name == "xegpu.create_nd_tdesc":
            given = dict(self.properties)
            lists = f"{given.get('offsets', '')}"
            if "shape" in given:
                lists += f", shape : {given['shape']}, strides : {given.get('strides', '[]')}"
            line = f"{result}{self.name} %a0{lists} : {self.operands[0]} -> {self.results[0]}"
        else:
            shown = f" <{{{properties}}}>" if properties else ""
            types = f"({', '.join(self.operands)}) -> ({', '.join(self.results)})"
            line = f'{result}"{self.name}"({used}){shown}{self.regions} : {types}'
        return f"func.func @f({arguments}) {{\n{line}\nreturn\n}}\n"


def mutated(written: Written, rng: random.Random) -> Written:
    """The operation with one thing changed, sometimes two."""
    found = _one(written, rng)
    return _one(found, rng) if rng.random() < 0.3 else found


def _one(written: Written, rng: random.Random) -> Written:
    types = [*written.operands, *written.results]
    choice = rng.random()
    if types and choice < 0.45:
        position = rng.randrange(len(types))
        types[position] = other_type(types[position], rng)
        return _with_types(written, types)
    if types and choice < 0.6:  # the same change wherever the type stands
        old = rng.choice(types)
        new = other_type(old, rng)
        return _with_types(written, [new if kind == old else kind for kind in types])
    if written.properties and choice < 0.85:
        return _other_property(written, rng)
    if choice < 0.92:
        return _more_properties(written, rng)
    if written.name == "xegpu.create_nd_tdesc" or any(name == "operandSegmentSizes" for name, _ in written.properties):
        return written
    if written.operands and rng.random() < 0.5:
        return replace(written, operands=written.operands[:-1])
    return replace(written, operands=(*written.operands, rng.choice(OTHERS)))


def _with_types(written: Written, types: Sequence[str]) -> Written:
    count = len(written.operands)
    return replace(written, operands=tuple(types[:count]), results=tuple(types[count:]))


def other_type(kind: str, rng: random.Random) -> str:
    """Another type, near to the given one."""
    found = _SHAPED.match(kind)
    if found is None or rng.random() < 0.08:
        return rng.choice((*OTHERS, *ELEMENTS))
    name, element, rest = found["kind"], found["element"], found["rest"]
    sizes = [int(n) for n in found["sizes"].split("x") if n]
    choice = rng.random()
    if choice < 0.45 and sizes:
        position = rng.randrange(len(sizes))
        sizes[position] = rng.choice((*SIZES, sizes[position] * 2, max(1, sizes[position] // 2)))
    elif choice < 0.55 and sizes:
        sizes.pop(rng.randrange(len(sizes)))
    elif choice < 0.65:
        sizes.insert(rng.randrange(len(sizes) + 1), rng.choice((1, 2, 4)))
    elif choice < 0.85 or "xegpu" not in name:
        element = rng.choice(ELEMENTS)
    elif name.endswith("tensor_desc"):
        parts = [part for part in (rng.choice((None, *ENCODINGS)), rng.choice((None, *LAYOUTS))) if part]
        rest = "".join(f", {part}" for part in parts)
    else:
        rest = rng.choice(("", ", #xegpu.mem_layout<block = [8, 16]>", ", #xegpu.mem_layout<stride = [1, 16]>",
                           ", #xegpu.mem_layout<stride = [32, 1], block = [16, 16]>"))  # fmt: skip
    if not sizes and name not in ("memref", "vector", "tensor"):
        sizes = [16]
    return f"{name}<{''.join(f'{n}x' for n in sizes)}{element}{rest}>"


def _other_property(written: Written, rng: random.Random) -> Written:
    properties = list(written.properties)
    position = rng.randrange(len(properties))
    name, value = properties[position]
    if name == "operandSegmentSizes":
        return written
    if rng.random() < 0.2:
        del properties[position]
        return replace(written, properties=tuple(properties))
    if "cache_hint" in value:
        value = rng.choice(HINTS)
    elif "xegpu.layout" in value or "xegpu.slice" in value:
        value = rng.choice(LAYOUTS)
    elif "array<" in value:
        kind, _, listed = value[len("array<") : -1].partition(":")
        entries = [entry.strip() for entry in listed.split(",") if entry.strip()]
        value = f"array<{kind}: {', '.join(_other_list(entries, rng))}>" if entries else value
    elif value.startswith("["):
        listed = (entry.strip() for entry in re.split(r",(?![^(<]*[)>])", value[1:-1]))
        value = f"[{', '.join(_other_list([entry for entry in listed if entry], rng))}]"
    elif re.fullmatch(r"-?\d+ : i\d+|-?\d+ : index", value):
        kind = value.split(":")[1]
        value = f"{rng.choice((0, 1, 2, 3, 4, 8, 16, -1, 5))} :{kind}"
    properties[position] = name, value
    return replace(written, properties=tuple(properties))


def _other_list(entries: list[str], rng: random.Random) -> list[str]:
    choice = rng.random()
    if choice < 0.3 and len(entries) > 1:
        entries.pop(rng.randrange(len(entries)))
    elif choice < 0.5:
        entries.insert(rng.randrange(len(entries) + 1), rng.choice(("0", "1", "2")))
    elif choice < 0.6:
        rng.shuffle(entries)
    else:
        entries[rng.randrange(len(entries))] = rng.choice(("0", "1", "2", "3", "8", "16", "32"))
    return entries


def _more_properties(written: Written, rng: random.Random) -> Written:
    optional = OPTIONAL.get(written.name)
    if not optional:
        return written
    name = rng.choice(optional)
    properties = dict(written.properties)
    if "hint" in name:
        properties[name] = rng.choice(HINTS)
    elif "layout" in name:
        properties[name] = rng.choice(LAYOUTS)
    else:
        properties[name] = {"packed": "unit", "subgroup_block_io": "unit", "transpose": rng.choice(("array<i64: 1, 0>", "array<i64: 0, 1>")),
                            "chunk_size": f"{rng.choice((1, 2, 4, 8, 16))} : i64", "offset_align_byte": "4 : i64"}[name]  # fmt: skip
    return replace(written, properties=tuple(properties.items()))


_H = ("l1_hint", "l2_hint", "l3_hint", "layout")
OPTIONAL = {
    "xegpu.load_nd": ("packed", "transpose", *_H),
    "xegpu.store_nd": _H,
    "xegpu.prefetch_nd": _H,
    "xegpu.load": ("chunk_size", *_H),
    "xegpu.store": ("chunk_size", *_H),
    "xegpu.prefetch": ("offset_align_byte", *_H),
    "xegpu.dpas": ("layout_a", "layout_b", "layout_cd"),
    "xegpu.dpas_mx": ("layout_a", "layout_b", "layout_cd", "layout_a_scale", "layout_b_scale"),
    "xegpu.load_matrix": ("layout", "subgroup_block_io"),
    "xegpu.store_matrix": ("layout", "subgroup_block_io"),
    "xegpu.atomic_rmw": ("layout",),
}
