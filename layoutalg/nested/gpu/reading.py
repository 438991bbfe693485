"""Reading `#iree_gpu....`: every attribute of the dialect, in the spellings of IREE 3.2 and of IREE 3.13.

>>> print(parse_gpu("#iree_gpu.virtual_mma_layout<intrinsic = VMFMA_F32_16x16x32_F16>"))
#iree_gpu.virtual_mma_layout<VMFMA_F32_16x16x32_F16>
>>> parse_gpu("#iree_gpu.mma_layout<WMMA_F32_16x16x16_F16>").lhs.shape
(16, 16)
>>> parse_gpu("#iree_gpu.target_chip<sku = \\"x\\">")
Traceback (most recent call last):
layoutalg.core.errors.ParseError: line 1, column 32: expected wgp_count = ..., found the end: struct is missing
required parameter: wgp_count

`read_notation` also reads what IREE does not write: an intrinsic's name alone, and an operand of an MMA kind (`....acc`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from layoutalg.core.notation import Notation
from layoutalg.core.reader import Reader
from layoutalg.core.whole_numbers import instance_of
from layoutalg.nested.attributes import read_nested
from layoutalg.nested.gpu import config, enums, lanes, promotion
from layoutalg.nested.gpu.data_tiled import DataTiledMMAAttr
from layoutalg.nested.gpu.dictionary import Dictionary, is_attribute, read_dictionary, read_value
from layoutalg.nested.gpu.enum_attributes import FLAGS, WORDS, EnumAttr, words_of
from layoutalg.nested.gpu.kinds import MMAAttr, MMAKind, VirtualMMAAttr, mma
from layoutalg.nested.gpu.operand import MMAOperand
from layoutalg.nested.gpu.parameters import (
    Read,
    bits,
    count,
    element_type,
    enum_word,
    flag,
    integer,
    integers,
    intrinsic_name,
    string,
    struct,
    truth,
    typed,
    unsigned,
)
from layoutalg.nested.gpu.scaled import SCALED_INTRINSICS, DataTiledScaledMMAAttr, ScaledMMAAttr
from layoutalg.nested.gpu.schedule import MMAScheduleAttr
from layoutalg.nested.gpu.target import MMAOpsAttr, TargetAttr, TargetChipAttr, TargetWgpAttr

__all__ = ["GpuAttr", "parse_gpu", "read_gpu", "read_notation"]

GpuAttr: TypeAlias = (
    MMAAttr
    | VirtualMMAAttr
    | DataTiledMMAAttr
    | MMAScheduleAttr
    | MMAOpsAttr
    | ScaledMMAAttr
    | DataTiledScaledMMAAttr
    | TargetAttr
    | TargetWgpAttr
    | TargetChipAttr
    | config.LoweringConfigAttr
    | config.PipelineOptionsAttr
    | config.UKernelConfigAttr
    | config.GPUEncodingLayoutAttr
    | config.GPUPaddingResolverAttr
    | config.ConditionalTransposeAttr
    | config.InnerTiledSemanticsAttr
    | lanes.LaneIdAttr
    | lanes.LaneConstantAttr
    | lanes.LaneIncrementAttr
    | lanes.LaneScopeAttr
    | lanes.SubgroupScopeAttr
    | promotion.DerivedThreadConfigAttr
    | promotion.UseGlobalLoadDMAAttr
    | promotion.PromoteWithCacheSwizzleAttr
    | promotion.SwizzleOperandAttr
    | EnumAttr
)
"""Any attribute of the dialect."""

_OPERAND = re.compile(r"\.(lhs|rhs|acc)(?![A-Za-z0-9_$.])", re.IGNORECASE)
_INTRINSIC_ENUMS = ("mma_intrinsic", "virtual_mma_intrinsic")
_ENUMS = (*FLAGS, *_INTRINSIC_ENUMS, *WORDS)


def parse_gpu(text: str) -> GpuAttr:
    """Read one attribute of the dialect.

    Raises `ParseError` with line and column, `VerificationError` for what breaks a rule.

    >>> parse_gpu("#iree_gpu.lane_id<0x10>").dim
    16
    """
    reader = Reader(text)
    value = read_gpu(reader)
    reader.finish()
    return value


def read_gpu(reader: Reader) -> GpuAttr:
    """Read an attribute from `#iree_gpu` on, or a swizzle of `#iree_codegen`; the reader's aliases may stand inside.

    >>> read_gpu(Reader("#iree_gpu<subgroup_ops shuffle>")).value
    1
    """
    instance_of(reader, Reader, "reader")
    start = reader.skip()
    if reader.looking_at("#iree_codegen."):
        return _swizzle(reader)
    reader.expect("#iree_gpu")
    if reader.accept("<"):
        at = reader.skip()
        mnemonic = reader.word("the name of an enum")
        if mnemonic not in _ENUMS or mnemonic.endswith("pipeline"):
            reader.fail(f"one of {', '.join(one for one in _ENUMS if not one.endswith('pipeline'))}", at=at)
        value = _enum(reader, mnemonic)
        reader.expect(">")
        return value
    if not reader.accept("."):
        reader.fail("'#iree_gpu.' and the name of an attribute", at=start)
    at = reader.skip()
    mnemonic = reader.word("the name of an attribute")
    if mnemonic in _ENUMS:
        reader.expect("<")
        value = _enum(reader, mnemonic)
        reader.expect(">")
        return value
    read = _BODIES.get(mnemonic)
    if read is None:
        names = ", ".join((*_BODIES, *_ENUMS))
        reader.fail(f"one of {names}", f"unknown attribute `{mnemonic[:40]}` in dialect `iree_gpu`", at=at)
    return reader.nested(lambda: read(reader))


def read_notation(reader: Reader) -> Notation:
    """Read an attribute, an intrinsic by its name, either with an operand, or an affine map, which attributes may name."""
    if reader.looking_at("affine_map<"):
        value: Notation = read_value(reader)
        return value
    found = read_gpu(reader) if reader.looking_at("#") else mma(intrinsic_name(reader, virtual=None))
    if not isinstance(found, (MMAKind, DataTiledMMAAttr)):
        return found
    operand = _OPERAND.match(reader.text, reader.position)
    if operand is None:
        if reader.text.startswith(".", reader.position):
            reader.fail("'.lhs', '.rhs' or '.acc', an operand of the MMA kind")
        return found
    reader.position = operand.end()
    return MMAOperand(found, operand.group(1))


def _enum(reader: Reader, mnemonic: str) -> EnumAttr:
    if mnemonic in FLAGS:
        return EnumAttr(mnemonic, bits(FLAGS[mnemonic])(reader).spelling)
    if mnemonic in _INTRINSIC_ENUMS:
        return EnumAttr(mnemonic, intrinsic_name(reader, mnemonic.startswith("virtual")))
    return EnumAttr(mnemonic, enum_word(reader, words_of(mnemonic)))


# Attributes inside attributes


def _known_attribute(reader: Reader) -> Any:
    """Read an attribute inside a dictionary: ours or an alias; None for another, which stays text."""
    start = reader.skip()
    found = reader.accept_alias()
    if found is not None:
        if not is_attribute(found):
            reader.fail("an alias of an attribute or a type", "found one of a layout", at=start)
        return found
    reader.accept("#")
    word = reader.accept_word() or ""
    reader.position = start
    # What a later version added, and what other dialects have, stays text.
    mnemonic = word.removeprefix("iree_gpu.")
    if word == "iree_vector_ext.nested_layout":
        reader.expect("#iree_vector_ext.nested_layout")
        return read_nested(reader)
    known = word == "iree_gpu" or (mnemonic != word and (mnemonic in _BODIES or mnemonic in _ENUMS))
    return read_gpu(reader) if known else None


def _inside(reader: Reader, expected: type[Any] | tuple[type[Any], ...], what: str) -> Any:
    """Read a whole attribute, or an alias of one, of an expected kind."""
    at = reader.skip()
    found = _known_attribute(reader) if reader.looking_at("#") else None
    if not isinstance(found, expected):
        reader.fail(what, at=at)
    return found


def _body_or(read_body: Read, kind: type[Any], what: str) -> Read:
    """What reads a body `<...>`, or a whole attribute of that kind."""
    return lambda reader: read_body(reader) if reader.looking_at("<") else _inside(reader, kind, what)


def _list_of(read_one: Read) -> Read:
    """What reads `[<...>, <...>]`."""

    def read(reader: Reader) -> tuple[Any, ...]:
        reader.expect("[")
        found: list[Any] = []
        if not reader.accept("]"):
            found.append(read_one(reader))
            while reader.accept(","):
                found.append(read_one(reader))
            if not reader.accept("]"):
                reader.fail("',' or ']'")
        return tuple(found)

    return read


def _dictionary(reader: Reader) -> Dictionary:
    return read_dictionary(reader, _known_attribute)


def _any_value(reader: Reader) -> Any:
    return read_value(reader, _known_attribute)


def _bracketed(read_one: Read) -> Read:
    """What reads one value in `<...>`."""

    def read(reader: Reader) -> Any:
        reader.expect("<")
        value = read_one(reader)
        reader.expect(">")
        return value

    return read


def _record(kind: Callable[..., Any], parameters: dict[str, Read], required: tuple[str, ...] | None = None) -> Read:
    """What reads an attribute with these parameters in `<name = value, ...>`; unless told, all are required."""
    return lambda reader: kind(**struct(reader, parameters, tuple(parameters) if required is None else required))


def _empty(reader: Reader) -> None:
    """Read nothing, or `<>`."""
    if reader.accept("<"):
        reader.expect(">")


# MMA kinds


def _native(reader: Reader, kind: type[MMAKind] = MMAAttr) -> Any:
    reader.expect("<")
    if kind.virtual and reader.accept("intrinsic"):
        reader.expect("=")
    name = intrinsic_name(reader, kind.virtual)
    transposed = False
    if reader.accept(","):
        reader.one_of(("col_major",))
        reader.expect("=")
        transposed = flag(reader)
    reader.expect(">")
    return kind(name, transposed)


_TILING: dict[str, Read] = {
    **{f"{part}_{d}": count for d in "mnk" for part in ("intrinsics", "subgroups")},
    **{f"operands_interleaving_intrinsics_{d}": integers for d in "mnk"},
}
_SCALED: dict[str, Read] = {
    "intrinsic": lambda reader: enum_word(reader, SCALED_INTRINSICS),
    "lhs_elem_type": element_type,
    "rhs_elem_type": element_type,
    "acc_elem_type": element_type,
}


_scaled = _record(ScaledMMAAttr, {**_SCALED, "col_major": flag}, tuple(_SCALED))


def _kind(reader: Reader) -> Any:
    return _inside(reader, (MMAKind, DataTiledMMAAttr), "an MMA kind, such as #iree_gpu.mma_layout<...>")


_ops = _list_of(_body_or(_native, MMAAttr, "a MMAAttr"))


# Targets

_WGP: dict[str, Read] = {
    "compute": bits(enums.ComputeBitwidths),
    "storage": bits(enums.StorageBitwidths),
    "subgroup": bits(enums.SubgroupOps),
    "subgroup_size_choices": integers,
    "max_workgroup_sizes": integers,
    "max_thread_count_per_workgroup": integer,
    "max_workgroup_memory_bytes": integer,
    "max_workgroup_counts": integers,
}
_OPTIONAL_WGP: dict[str, Read] = {
    "dot": bits(enums.DotProductOps),
    "mma": _ops,
    "scaled_mma": _list_of(_body_or(_scaled, ScaledMMAAttr, "a ScaledMMAAttr")),
    "max_load_instruction_bits": integer,
    "simds_per_wgp": integer,
    "vgpr_space_bits": integer,
    "dma_sizes": integers,
    "workgroup_memory_bank_count": integer,
    "extra": _dictionary,
}
_CHIP: dict[str, Read] = {
    "wgp_count": unsigned,
    "sku": string,
    "memory_bandwidth_tbps": typed,
    "perf_tflops": _dictionary,
    "extra": _dictionary,
}


_wgp = _record(TargetWgpAttr, {**_WGP, **_OPTIONAL_WGP}, tuple(_WGP))
_chip = _record(TargetChipAttr, _CHIP, ("wgp_count",))
_TARGET: dict[str, Read] = {
    "arch": string,
    "features": string,
    "wgp": _body_or(_wgp, TargetWgpAttr, "a workgroup processor, <compute = ...>"),
    "chip": _body_or(_chip, TargetChipAttr, "a chip, <wgp_count = ...>"),
}
_target = _record(TargetAttr, _TARGET, ("arch", "features", "wgp"))


# Configurations


def _strategy(reader: Reader) -> enums.ReorderWorkgroupsStrategy:
    if reader.looking_at("#"):
        word = _inside(reader, EnumAttr, "a strategy, such as <Transpose>").spelling
    else:
        word = _bracketed(lambda r: enum_word(r, words_of("reorder_workgroups_strategy")))(reader)
    return enums.ReorderWorkgroupsStrategy["None_" if word == "None" else word]


_OPTIONS: dict[str, Read] = {
    "prefetch_shared_memory": truth,
    "prefetch_num_stages": count,
    "no_reduce_shared_memory_bank_conflicts": truth,
    "use_igemm_convolution": truth,
    "reorder_workgroups_strategy": _strategy,
}


def _encoding(reader: Reader) -> config.GPUEncodingLayoutAttr:
    target = _body_or(_target, TargetAttr, "a target, <arch = ...>")
    return config.GPUEncodingLayoutAttr(struct(reader, {"targetAttr": target}).get("targetAttr"))


def _resolver(reader: Reader) -> config.GPUEncodingLayoutAttr:
    found = struct(reader, {"configuration": _dictionary}).get("configuration")
    return config.GPUEncodingLayoutAttr(configuration=found, resolver=True)


def _transpose(reader: Reader) -> config.ConditionalTransposeAttr:
    reader.expect("<")
    dies = count(reader)
    reader.expect(",")
    units = count(reader)
    reader.expect(">")
    return config.ConditionalTransposeAttr(dies, units)


# Lanes and promotion


def _increment(reader: Reader) -> lanes.LaneIncrementAttr:
    """Read `<16, step = 2, aligned>`; the two options in any order, each once."""
    reader.expect("<")
    group = count(reader)
    options: dict[str, Any] = {}
    while reader.accept(","):
        at = reader.skip()
        name = reader.one_of(("step", "aligned"))
        if name in options:
            reader.fail("'>'", f"'{name}' specified more than once", at=at)
        if name == "step":
            reader.expect("=")
        options[name] = count(reader) if name == "step" else True
    reader.expect(">")
    return lanes.LaneIncrementAttr(group, **options)


def _swizzle(reader: Reader) -> Any:
    """Read `#iree_codegen.xor_shuffle<...>` or `#iree_codegen.rotate_rows<...>`, or an alias."""
    found = reader.accept_alias()
    if found is not None:
        return found
    at = reader.skip()
    name = reader.word("a swizzle") if reader.accept("#iree_codegen.") else ""
    if name not in ("xor_shuffle", "rotate_rows"):
        reader.fail("a swizzle, #iree_codegen.xor_shuffle<256, 32> or #iree_codegen.rotate_rows<64, 4>", at=at)
    reader.expect("<")
    most = 4 if name == "xor_shuffle" else 2
    widths = [count(reader)]
    while len(widths) < 2 or (len(widths) < most and reader.looking_at(",")):
        reader.expect(",")
        widths.append(count(reader))
    reader.expect(">")
    return (promotion.XORShuffleAttr if name == "xor_shuffle" else promotion.RotateRowsAttr)(*widths)


def _plain(kind: Callable[[], Any]) -> Read:
    """What reads an attribute without parameters."""

    def read(reader: Reader) -> Any:
        _empty(reader)
        return kind()

    return read


_BODIES: dict[str, Read] = {
    "mma_layout": _native,
    "virtual_mma_layout": lambda reader: _native(reader, VirtualMMAAttr),
    "data_tiled_mma_layout": _record(DataTiledMMAAttr, {"intrinsic": intrinsic_name, **_TILING}, ("intrinsic",)),
    "scaled_mma_layout": _scaled,
    "data_tiled_scaled_mma_layout": _record(
        DataTiledScaledMMAAttr, {**_SCALED, **_TILING, "unswizzled_operands": integers}, tuple(_SCALED)
    ),
    "mma_schedule": _record(
        MMAScheduleAttr, {"intrinsic": _kind, "subgroup_m_count": count, "subgroup_n_count": count}
    ),
    "mma_ops": lambda reader: MMAOpsAttr(_bracketed(_ops)(reader)),
    "mma_semantics": _record(config.InnerTiledSemanticsAttr, {"distributed": flag, "opaque": flag}),
    "target": _target,
    "target_wgp": _wgp,
    "target_chip": _chip,
    "lowering_config": lambda reader: config.LoweringConfigAttr(_bracketed(_dictionary)(reader)),
    "pipeline_options": _record(config.PipelineOptionsAttr, _OPTIONS, ()),
    "ukernel_config": _record(config.UKernelConfigAttr, {"name": string, "def_attrs": _dictionary}),
    "gpu_encoding_layout": _encoding,
    "gpu_encoding_resolver": _resolver,
    "gpu_padding_resolver": _record(
        config.GPUPaddingResolverAttr, {"cache_line_bytes": unsigned, "cache_sets": unsigned}, ()
    ),
    "conditional_transpose": _transpose,
    "lane_id": lambda reader: lanes.LaneIdAttr(_bracketed(count)(reader)),
    "lane_constant": lambda reader: lanes.LaneConstantAttr(_bracketed(count)(reader)),
    "lane_increment": _increment,
    "lane_scope": _plain(lanes.LaneScopeAttr),
    "subgroup_scope": _plain(lanes.SubgroupScopeAttr),
    "derived_thread_config": _plain(promotion.DerivedThreadConfigAttr),
    "use_global_load_dma": _plain(promotion.UseGlobalLoadDMAAttr),
    "promote_with_cache_swizzle": lambda reader: promotion.PromoteWithCacheSwizzleAttr(_bracketed(_any_value)(reader)),
    "swizzle_operand": _record(promotion.SwizzleOperandAttr, {"copy_config": _any_value, "swizzle": _swizzle}),
}
