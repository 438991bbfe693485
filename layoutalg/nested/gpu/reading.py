"""Reading `#iree_gpu....`: every attribute of the dialect's page, in the spellings of IREE 3.2 and of IREE 3.13.

>>> print(parse_gpu("#iree_gpu.virtual_mma_layout<intrinsic = VMFMA_F32_16x16x32_F16>"))
#iree_gpu.virtual_mma_layout<VMFMA_F32_16x16x32_F16>
>>> parse_gpu("#iree_gpu.mma_layout<WMMA_F32_16x16x16_F16>").lhs.shape
(16, 16)
>>> parse_gpu("#iree_gpu.target_chip<sku = \\"x\\">")
Traceback (most recent call last):
layoutalg.core.errors.ParseError: line 1, column 32: expected wgp_count = ..., found the end: struct is missing
required parameter: wgp_count
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from layoutalg.core.errors import VerificationError
from layoutalg.core.limits import MAX_EXTENT
from layoutalg.core.notation import Notation
from layoutalg.core.reader import Reader
from layoutalg.nested.attributes import read_nested
from layoutalg.nested.gpu import config, enums
from layoutalg.nested.gpu.data_tiled import DataTiledMMAAttr
from layoutalg.nested.gpu.dictionary import Typed, read_dictionary, read_value
from layoutalg.nested.gpu.intrinsics import INTRINSICS, VIRTUAL_INTRINSICS, intrinsic
from layoutalg.nested.gpu.kinds import MMAAttr, VirtualMMAAttr
from layoutalg.nested.gpu.schedule import MMAScheduleAttr
from layoutalg.nested.gpu.target import MMAOpsAttr, ScaledMMAAttr, TargetAttr, TargetChipAttr, TargetWgpAttr

__all__ = ["GpuAttr", "parse_gpu", "read_gpu", "read_notation"]

GpuAttr: TypeAlias = (
    MMAAttr
    | VirtualMMAAttr
    | DataTiledMMAAttr
    | MMAScheduleAttr
    | MMAOpsAttr
    | ScaledMMAAttr
    | TargetAttr
    | TargetWgpAttr
    | TargetChipAttr
    | config.LoweringConfigAttr
    | config.PipelineOptionsAttr
    | config.LaneIdAttr
    | config.DerivedThreadConfigAttr
    | config.UKernelConfigAttr
    | config.GPUEncodingLayoutAttr
    | config.EnumAttr
)
"""Any attribute of the dialect."""

Aliases: TypeAlias = Mapping[str, Any]
Read: TypeAlias = Callable[[Reader], Any]

_FLAGS = {
    "compute_bitwidths": enums.ComputeBitwidths,
    "storage_bitwidths": enums.StorageBitwidths,
    "subgroup_ops": enums.SubgroupOps,
    "dotproduct_ops": enums.DotProductOps,
}
_WORDS = {
    "mma_intrinsic": INTRINSICS,
    "virtual_mma_intrinsic": VIRTUAL_INTRINSICS,
    "iterator_type": tuple(enums.IteratorType.__members__),
    "reorder_workgroups_strategy": ("None", "Transpose"),
}


def parse_gpu(text: str) -> GpuAttr:
    """Read one attribute of the dialect.

    Raises `ParseError` with line and column, `VerificationError` for what breaks a rule.

    >>> parse_gpu("#iree_gpu.lane_id<0x10>").dim
    16
    """
    reader = Reader(text)
    value = read_gpu(reader, {})
    reader.finish()
    return value


def read_gpu(reader: Reader, aliases: Aliases) -> GpuAttr:
    """Read an attribute from `#iree_gpu` on; `aliases` are the `#name`s that may stand inside.

    >>> read_gpu(Reader("#iree_gpu<subgroup_ops shuffle>"), {}).value
    1
    """
    start = reader.skip()
    reader.expect("#iree_gpu")
    if reader.accept("<"):
        at = reader.skip()
        mnemonic = reader.word("the name of an enum")
        if mnemonic not in _FLAGS and mnemonic not in _WORDS:
            reader.fail(f"one of {', '.join((*_FLAGS, *_WORDS))}", at=at)
        value = _enum(reader, mnemonic)
        reader.expect(">")
        return value
    if not reader.accept("."):
        reader.fail("'#iree_gpu.' and the name of an attribute", at=start)
    at = reader.skip()
    mnemonic = reader.word("the name of an attribute")
    if mnemonic in _FLAGS or mnemonic in _WORDS:
        reader.expect("<")
        value = _enum(reader, mnemonic)
        reader.expect(">")
        return value
    read = _BODIES.get(mnemonic)
    if read is None:
        reader.fail(f"one of {', '.join(_BODIES)}", f"unknown attribute `{mnemonic[:40]}` in dialect `iree_gpu`", at=at)
    return reader.nested(lambda: read(reader, aliases))


def read_notation(reader: Reader) -> Notation:
    """Read an attribute, or an affine map, which attributes may name; aliases are the reader's.

    >>> print(read_notation(Reader("#iree_gpu.lane_id<0>")))
    #iree_gpu.lane_id<0>
    """
    if reader.looking_at("affine_map<"):
        return read_value(reader)
    return read_gpu(reader, reader.aliases)


def _enum(reader: Reader, mnemonic: str) -> config.EnumAttr:
    if mnemonic in _FLAGS:
        return config.EnumAttr(mnemonic, _flags(_FLAGS[mnemonic])(reader).spelling)
    if mnemonic.endswith("mma_intrinsic"):
        return config.EnumAttr(mnemonic, _name(reader, mnemonic.startswith("virtual")))
    at = reader.skip()
    word = reader.word("a value of the enum")
    if word not in _WORDS[mnemonic]:
        reader.fail(" or ".join(_WORDS[mnemonic]), at=at)
    return config.EnumAttr(mnemonic, word)


def _flags(kind: type[Any]) -> Read:
    def read(reader: Reader) -> Any:
        words = [reader.one_of(("none", *kind.spellings()))]
        while reader.accept("|"):
            words.append(reader.one_of(("none", *kind.spellings())))
        return kind.parse("|".join(words))

    return read


def _struct(reader: Reader, parameters: Mapping[str, Read], required: tuple[str, ...] = ()) -> dict[str, Any]:
    """Read `<name = value, ...>` in any order, with IREE's words for a name that is wrong or missing."""
    reader.expect("<")
    found: dict[str, Any] = {}
    if not reader.accept(">"):
        while True:
            at = reader.skip()
            name = reader.word("the name of a parameter")
            if name in found or name not in parameters:
                left = [one for one in parameters if one not in found]
                problem = f"duplicate or unknown struct parameter name: {name[:40]}"
                reader.fail(f"one of {', '.join(left)}" if left else "'>'", problem, at=at)
            reader.expect("=")
            found[name] = parameters[name](reader)
            if reader.accept(">"):
                break
            if not reader.accept(","):
                reader.fail("',' or '>'")
    for name in required:
        if name not in found:
            problem = f"found the end: struct is missing required parameter: {name}"
            reader.fail(f"{name} = ...", problem, at=reader.position - 1)
    return found


def _integer(reader: Reader) -> int:
    return reader.integer(-MAX_EXTENT, MAX_EXTENT - 1)


def _unsigned(reader: Reader) -> int:
    return reader.integer(0, 2**32 - 1)


def _count(reader: Reader) -> int:
    return reader.integer(-(2**63), 2**63 - 1)


def _integers(reader: Reader) -> tuple[int, ...]:
    return reader.integers()


def _string(reader: Reader) -> str:
    return reader.string()


def _truth(reader: Reader) -> bool:
    return reader.one_of(("true", "false")) == "true"


def _name(reader: Reader, virtual: bool = False) -> str:
    """Read the name of an intrinsic; one that there is not is an error at its column, with what is near."""
    at = reader.skip()
    name = reader.word("the name of an intrinsic")
    try:
        one = intrinsic(name)
    except VerificationError as error:
        problem, _, expected = str(error).partition(": expected ")
        reader.fail(expected, problem, at=at)
    if one.is_virtual != virtual:
        reader.fail(f"{'a virtual' if virtual else 'a native'} intrinsic", f"found {one.name}", at=at)
    return one.name


def _word(reader: Reader) -> str:
    return reader.word("the name of a scaled intrinsic")


def _type(reader: Reader) -> str:
    return reader.word("an element type")


def _typed(reader: Reader) -> Typed:
    at = reader.skip()
    value = read_value(reader)
    if not isinstance(value, Typed):
        reader.fail("a number with a float type", at=at)
    return value


def _mma(reader: Reader, aliases: Aliases) -> MMAAttr:
    return _mma_body(reader, MMAAttr)


def _mma_body(reader: Reader, kind: type[Any]) -> Any:
    reader.expect("<")
    if kind is VirtualMMAAttr and reader.accept("intrinsic"):
        reader.expect("=")
    name = _name(reader, kind is VirtualMMAAttr)
    transposed = False
    if reader.accept(","):
        reader.one_of(("col_major",))
        reader.expect("=")
        transposed = _truth(reader)
    reader.expect(">")
    return kind(name, transposed)


def _virtual(reader: Reader, aliases: Aliases) -> VirtualMMAAttr:
    return _mma_body(reader, VirtualMMAAttr)


_DATA_TILED: dict[str, Read] = {
    "intrinsic": _name,
    **{f"{part}_{d}": _count for d in "mnk" for part in ("intrinsics", "subgroups")},
    **{f"operands_interleaving_intrinsics_{d}": _integers for d in "mnk"},
}


def _data_tiled(reader: Reader, aliases: Aliases) -> DataTiledMMAAttr:
    return DataTiledMMAAttr(**_struct(reader, _DATA_TILED, ("intrinsic",)))


def _known_attribute(aliases: Aliases) -> Read:
    """A reader of attributes inside dictionaries: ours, an alias, or None to leave the text alone."""

    def read(reader: Reader) -> Any:
        start = reader.skip()
        reader.accept("#")
        word = reader.accept_word() or ""
        if f"#{word}" in aliases:
            return aliases[f"#{word}"]
        reader.position = start
        # What a later version added, and what other dialects have, stays text.
        mnemonic = word.removeprefix("iree_gpu.")
        if word == "iree_vector_ext.nested_layout":
            reader.expect("#iree_vector_ext.nested_layout")
            return read_nested(reader)
        known = word == "iree_gpu" or (mnemonic != word and (mnemonic in _BODIES or mnemonic in (*_FLAGS, *_WORDS)))
        return read_gpu(reader, aliases) if known else None

    return read


def _inside(reader: Reader, aliases: Aliases, expected: type[Any] | tuple[type[Any], ...], what: str) -> Any:
    """A whole attribute or an alias of one, of an expected kind."""
    at = reader.skip()
    found = _known_attribute(aliases)(reader) if reader.looking_at("#") else None
    if not isinstance(found, expected):
        reader.fail(what, at=at)
    return found


def _schedule(reader: Reader, aliases: Aliases) -> MMAScheduleAttr:
    kinds = (MMAAttr, VirtualMMAAttr, DataTiledMMAAttr)
    parameters: dict[str, Read] = {
        "intrinsic": lambda r: _inside(r, aliases, kinds, "an MMA kind, such as #iree_gpu.mma_layout<...>"),
        "subgroup_m_count": _count,
        "subgroup_n_count": _count,
    }
    return MMAScheduleAttr(**_struct(reader, parameters, tuple(parameters)))


def _list_of(read_body: Read, kind: type[Any], aliases: Aliases) -> Read:
    """A reader of `[<...>, <...>]`, whole attributes or aliases."""

    def read(reader: Reader) -> tuple[Any, ...]:
        reader.expect("[")
        found: list[Any] = []
        if not reader.accept("]"):
            while True:
                one = (
                    read_body(reader)
                    if reader.looking_at("<")
                    else _inside(reader, aliases, kind, f"a {kind.__name__}")
                )
                found.append(one)
                if reader.accept("]"):
                    break
                if not reader.accept(","):
                    reader.fail("',' or ']'")
        return tuple(found)

    return read


def _ops(aliases: Aliases) -> Read:
    return _list_of(lambda r: _mma_body(r, MMAAttr), MMAAttr, aliases)


def _mma_ops(reader: Reader, aliases: Aliases) -> MMAOpsAttr:
    reader.expect("<")
    value = _ops(aliases)(reader)
    reader.expect(">")
    return MMAOpsAttr(value)


_SCALED: dict[str, Read] = {
    "intrinsic": _word,
    "lhs_elem_type": _type,
    "rhs_elem_type": _type,
    "acc_elem_type": _type,
    "col_major": _truth,
}


def _scaled(reader: Reader, aliases: Aliases) -> ScaledMMAAttr:
    return ScaledMMAAttr(**_struct(reader, _SCALED, tuple(_SCALED)[:4]))


def _dictionary(aliases: Aliases) -> Read:
    return lambda reader: read_dictionary(reader, _known_attribute(aliases))


def _wgp(reader: Reader, aliases: Aliases) -> TargetWgpAttr:
    parameters: dict[str, Read] = {
        "compute": _flags(enums.ComputeBitwidths),
        "storage": _flags(enums.StorageBitwidths),
        "subgroup": _flags(enums.SubgroupOps),
        "dot": _flags(enums.DotProductOps),
        "mma": _ops(aliases),
        "scaled_mma": _list_of(lambda r: _scaled(r, aliases), ScaledMMAAttr, aliases),
        "subgroup_size_choices": _integers,
        "max_workgroup_sizes": _integers,
        "max_thread_count_per_workgroup": _integer,
        "max_workgroup_memory_bytes": _integer,
        "max_workgroup_counts": _integers,
        "max_load_instruction_bits": _integer,
        "simds_per_wgp": _integer,
        "vgpr_space_bits": _integer,
        "dma_sizes": _integers,
        "workgroup_memory_bank_count": _integer,
        "extra": _dictionary(aliases),
    }
    optional = {"dot", "mma", "scaled_mma", *tuple(parameters)[-6:]}
    return TargetWgpAttr(**_struct(reader, parameters, tuple(p for p in parameters if p not in optional)))


def _chip(reader: Reader, aliases: Aliases) -> TargetChipAttr:
    parameters: dict[str, Read] = {
        "wgp_count": _unsigned,
        "sku": _string,
        "memory_bandwidth_tbps": _typed,
        "perf_tflops": _dictionary(aliases),
        "extra": _dictionary(aliases),
    }
    return TargetChipAttr(**_struct(reader, parameters, ("wgp_count",)))


def _target(reader: Reader, aliases: Aliases) -> TargetAttr:
    def part(read: Callable[[Reader, Aliases], Any], kind: type[Any], what: str) -> Read:
        return lambda r: read(r, aliases) if r.looking_at("<") else _inside(r, aliases, kind, what)

    parameters: dict[str, Read] = {
        "arch": _string,
        "features": _string,
        "wgp": part(_wgp, TargetWgpAttr, "a workgroup processor, <compute = ...>"),
        "chip": part(_chip, TargetChipAttr, "a chip, <wgp_count = ...>"),
    }
    return TargetAttr(**_struct(reader, parameters, ("arch", "features", "wgp")))


def _lowering_config(reader: Reader, aliases: Aliases) -> config.LoweringConfigAttr:
    reader.expect("<")
    value = _dictionary(aliases)(reader)
    reader.expect(">")
    return config.LoweringConfigAttr(value)


def _strategy(reader: Reader, aliases: Aliases) -> enums.ReorderWorkgroupsStrategy:
    if reader.looking_at("#"):
        word = _inside(reader, aliases, config.EnumAttr, "a strategy, such as <Transpose>").spelling
    else:
        reader.expect("<")
        word = reader.one_of(_WORDS["reorder_workgroups_strategy"])
        reader.expect(">")
    return enums.ReorderWorkgroupsStrategy["None_" if word == "None" else word]


def _pipeline_options(reader: Reader, aliases: Aliases) -> config.PipelineOptionsAttr:
    parameters: dict[str, Read] = {
        "prefetch_shared_memory": _truth,
        "prefetch_num_stages": _count,
        "no_reduce_shared_memory_bank_conflicts": _truth,
        "use_igemm_convolution": _truth,
        "reorder_workgroups_strategy": lambda r: _strategy(r, aliases),
    }
    return config.PipelineOptionsAttr(**_struct(reader, parameters))


def _lane_id(reader: Reader, aliases: Aliases) -> config.LaneIdAttr:
    reader.expect("<")
    value = _count(reader)
    reader.expect(">")
    return config.LaneIdAttr(value)


def _derived(reader: Reader, aliases: Aliases) -> config.DerivedThreadConfigAttr:
    if reader.accept("<"):
        reader.expect(">")
    return config.DerivedThreadConfigAttr()


def _ukernel(reader: Reader, aliases: Aliases) -> config.UKernelConfigAttr:
    parameters: dict[str, Read] = {"name": _string, "def_attrs": _dictionary(aliases)}
    return config.UKernelConfigAttr(**_struct(reader, parameters, tuple(parameters)))


def _encoding(reader: Reader, aliases: Aliases) -> config.GPUEncodingLayoutAttr:
    def target(r: Reader) -> TargetAttr:
        return _target(r, aliases) if r.looking_at("<") else _inside(r, aliases, TargetAttr, "a target, <arch = ...>")

    return config.GPUEncodingLayoutAttr(_struct(reader, {"targetAttr": target}).get("targetAttr"))


def _resolver(reader: Reader, aliases: Aliases) -> config.GPUEncodingLayoutAttr:
    found = _struct(reader, {"configuration": _dictionary(aliases)}).get("configuration")
    return config.GPUEncodingLayoutAttr(configuration=found, resolver=True)


_BODIES: dict[str, Callable[[Reader, Aliases], Any]] = {
    "mma_layout": _mma,
    "virtual_mma_layout": _virtual,
    "data_tiled_mma_layout": _data_tiled,
    "scaled_mma_layout": _scaled,
    "mma_schedule": _schedule,
    "mma_ops": _mma_ops,
    "target": _target,
    "target_wgp": _wgp,
    "target_chip": _chip,
    "lowering_config": _lowering_config,
    "pipeline_options": _pipeline_options,
    "lane_id": _lane_id,
    "derived_thread_config": _derived,
    "ukernel_config": _ukernel,
    "gpu_encoding_layout": _encoding,
    "gpu_encoding_resolver": _resolver,
}
