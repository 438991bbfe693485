"""The texts of encodings: today's `#ttg.`, `#ttng.` and `#ttig.`, those of older Tritons, aliases, and what Gluon prints.

Keys may come in any order. What changed its name is read as it was meant:

>>> print(parse_encoding("#triton_gpu.shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0], hasLeadingOffset = false}>"))
#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>
>>> print(parse_encoding('''
...     #blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0],
...                              CTAsPerCGA = [2], CTASplitNum = [2], CTAOrder = [0]}>
...     #blocked'''))
#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0], CGALayout = [[1]]}>
>>> print(parse_encoding("gl.BlockedLayout([4], [32], [4], [0])"))
#ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>

Where Triton 3.9 reads such a text otherwise than it was meant, Triton's reading is the answer and `notes` says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from layoutalg.core.errors import VerificationError
from layoutalg.core.limits import MOST_ALIASES
from layoutalg.core.reader import Reader, did_you_mean
from layoutalg.core.whole_numbers import instance_of
from layoutalg.triton.encodings.amd import AmdMfma, AmdWmma
from layoutalg.triton.encodings.blocked import Blocked, Slice
from layoutalg.triton.encodings.dot import DotOperand
from layoutalg.triton.encodings.encoding import Distributed, Encoding, InSharedMemory
from layoutalg.triton.encodings.fields import Fields
from layoutalg.triton.encodings.gluon import looks_like_gluon, parse_gluon
from layoutalg.triton.encodings.intel import Dpas, Subgroup2DBlock
from layoutalg.triton.encodings.linear_bases import GenericLinear, Linear
from layoutalg.triton.encodings.nvidia import NvidiaMma
from layoutalg.triton.encodings.nvmma import NvmmaShared
from layoutalg.triton.encodings.product import Product, cga_from_splits
from layoutalg.triton.encodings.shared import PaddedShared, PartitionedShared, SharedLinear
from layoutalg.triton.encodings.swizzled import RotatingShared, SwizzledShared
from layoutalg.triton.encodings.tensor_memory import TensorMemory, TensorMemoryScales
from layoutalg.triton.given import Bases
from layoutalg.triton.linear import LinearLayout

__all__ = ["parse_encoding", "read_definitions", "read_encoding"]

_NAME = re.compile(r"#[A-Za-z_][A-Za-z0-9_]*\.[A-Za-z_][A-Za-z0-9_]*")
_DEFINITION = re.compile(r"#[A-Za-z_][A-Za-z0-9_$]*(?=[ \t]*=)")
_OTHER_LINE = re.compile(
    r"#[A-Za-z_][A-Za-z0-9_$]*[ \t]*=[ \t]*"
    r"(?:loc\(|#loc|#(?:ttg|triton_gpu)\.shared_memory|#ttng\.tensor_memory(?![A-Za-z0-9_]))[^\n]*"
)
"""A definition that is no encoding: of a place in a source, or of a memory space."""
_OLD = "#triton_gpu."
_SPLITS = ("CTAsPerCGA", "CTASplitNum", "CTAOrder")


def parse_encoding(text: str) -> Encoding:
    """Read an encoding: an attribute, aliases and then one of them or an attribute, or a Gluon layout as Python writes it.

    Raises `ParseError` with line and column; `VerificationError` for what Triton refuses.

    >>> parse_encoding("#ttg.bloked<{}>")
    Traceback (most recent call last):
    layoutalg.core.errors.ParseError: line 1, column 1: expected an encoding of Triton, found '#ttg.bloked'; did you mean
    #ttg.blocked?
    """
    if isinstance(text, str) and looks_like_gluon(text):  # pyright: ignore[reportUnnecessaryIsInstance]
        return parse_gluon(text)
    reader = Reader(text)
    last = read_definitions(reader)
    value = last if last is not None and reader.at_end() else read_encoding(reader)
    reader.finish()
    return value


def read_definitions(reader: Reader) -> Encoding | None:
    """Read lines `#name = #ttg...` into the reader's aliases; returns the last encoding that was defined."""
    last: Encoding | None = None
    while True:
        match = _DEFINITION.match(reader.text, reader.skip())
        if match is None:
            return last
        other = _OTHER_LINE.match(reader.text, match.start())
        if other is not None:
            reader.position = other.end()
            continue
        if len(reader.aliases) == MOST_ALIASES:
            reader.fail(f"at most {MOST_ALIASES} aliases")
        reader.position = match.end()
        reader.expect("=")
        last = read_encoding(reader)
        reader.aliases[match.group()] = last


def read_encoding(reader: Reader) -> Encoding:
    """Read one encoding attribute, or an alias that the reader knows, and leave the reader behind it."""
    instance_of(reader, Reader, "reader")
    known = reader.accept_alias()
    if isinstance(known, Encoding):
        return known
    if isinstance(known, LinearLayout):
        return Linear(known.register, known.lane, known.warp, known.block)
    at = reader.skip()
    match = _NAME.match(reader.text, at)
    if match is None:
        alias = re.compile(r"#[A-Za-z_][A-Za-z0-9_$]*").match(reader.text, at)
        found = None if alias is None else f"found {alias.group()[:40]!r}, which no line defines"
        reader.fail("an encoding of Triton, such as '#ttg.blocked<', or an alias with its definition", found)
    name = match.group()
    read = _READERS.get(name) or _READERS.get(_RENAMED.get(name, ""))
    if read is None:
        if name in _PLACEHOLDERS:
            reader.fail("an encoding with a layout", f"found {name}, {_PLACEHOLDERS[name]}", at=at)
        reader.fail("an encoding of Triton", f"found {name[:60]!r}{did_you_mean(name, tuple(_READERS))}", at=at)
    reader.position = match.end()
    reader.expect("<")
    value = reader.nested(lambda: read(reader, name))
    reader.expect(">")
    return value


_RENAMED = {
    "#triton_gpu.blocked": "#ttg.blocked",
    "#triton_gpu.slice": "#ttg.slice",
    "#triton_gpu.linear": "#ttg.linear",
    "#triton_gpu.dot_op": "#ttg.dot_op",
    "#triton_gpu.nvidia_mma": "#ttg.nvidia_mma",
    "#triton_gpu.mma": "#ttg.nvidia_mma",
    "#triton_gpu.amd_mfma": "#ttg.amd_mfma",
    "#triton_gpu.amd_wmma": "#ttg.amd_wmma",
    "#triton_gpu.swizzled_shared": "#ttg.swizzled_shared",
    "#triton_gpu.nvmma_shared": "#ttg.nvmma_shared",
    "#triton_gpu.amd_rotating_shared": "#ttg.amd_rotating_shared",
    "#triton_intel_gpu.dpas": "#ttig.dpas",
    "#triton_nvidia_gpu.tensor_memory_encoding": "#ttng.tensor_memory_encoding",
    "#triton_nvidia_gpu.tensor_memory_scales_encoding": "#ttng.tensor_memory_scales_encoding",
}
_PLACEHOLDERS = {
    "#gluon.auto_encoding": "a placeholder whose layout Gluon decides later",
    "#gluon.coalesced_encoding": "a placeholder whose layout Gluon decides later",
    "#ttig.warp": "which has no linear layout in Triton either",
    "#triton_intel_gpu.warp": "which has no linear layout in Triton either",
}


def _fields(reader: Reader, name: str) -> Fields:
    return Fields.read(reader, name, read_encoding)


def _cga(fields: Fields, rank: int) -> Bases:
    """The CTAs of a cluster, as they are said today or as older Tritons said them."""
    if fields.has("CGALayout"):
        cga: Bases = fields.bases("CGALayout")
        for basis in cga:
            if len(basis) != rank:
                raise VerificationError(f"'CGALayout' entry length does not match rank {rank}")
        return cga
    if not fields.has(_SPLITS[0]):
        fields.asked.add("CGALayout")
        return ()
    cga = cga_from_splits(*[fields.integers(key) for key in _SPLITS])
    if any(len(basis) != rank for basis in cga):
        fields.reader.fail(f"{rank} entries of CTAsPerCGA", at=fields.values[_SPLITS[0]][1])
    return cga


def _cga_of_matrices(fields: Fields, name: str, rank: int) -> tuple[Bases, tuple[str, ...]]:
    """The same for mma, mfma and wmma, whose old keys Triton 3.9 ignores; and what is to be said of ignored keys."""
    if fields.has("CGALayout") or name.startswith(_OLD) or not fields.has(_SPLITS[0]):
        cga = _cga(fields, rank)
        lost = ""
    else:
        meant = cga_from_splits(*[fields.integers(key) for key in _SPLITS])
        cga = ()
        lost = "" if not meant else "Triton 3.9 ignores CTAsPerCGA, CTASplitNum and CTAOrder here: one CTA holds all"
    ignored = [f"Triton ignores the unknown key {key!r}" for key in fields.unknown()]
    return cga, tuple([lost] * bool(lost) + ignored)


def _blocked(reader: Reader, name: str) -> Encoding:
    fields = _fields(reader, name)
    parts = [fields.integers(key, ()) for key in ("sizePerThread", "threadsPerWarp", "warpsPerCTA", "order")]
    cga = _cga(fields, len(parts[-1]))
    fields.refuse_unknown()
    sizes, threads, warps, order = parts
    return Blocked(sizes, threads, warps, order, cga)


def _slice(reader: Reader, name: str) -> Encoding:
    fields = _fields(reader, name)
    dim, parent = fields.integer("dim"), fields.attribute("parent", Distributed)
    fields.refuse_unknown()
    return Slice(dim, parent)


def _linear(reader: Reader, name: str) -> Encoding:
    fields = _fields(reader, name)
    bases: list[Bases] = []
    for key in ("register", "lane", "warp", "block"):
        if not fields.has(key):
            fields.asked |= {"register", "lane", "warp", "block"}
            fields.refuse_unknown()
            reader.fail(f"'{key}' in {name}", f"Expected basis of '{key}' not found", at=fields.start)
        bases.append(fields.bases(key))
    fields.refuse_unknown()
    return (GenericLinear if name.endswith("generic_linear") else Linear)(*bases)


def _dot(reader: Reader, name: str) -> Encoding:
    fields = _fields(reader, name)
    index, parent = fields.integer("opIdx"), fields.attribute("parent", Distributed)
    width = fields.integer("kWidth", 0)
    fields.refuse_unknown()
    return DotOperand(index, parent, width)


def _nvidia(reader: Reader, name: str) -> Encoding:
    fields = _fields(reader, name)
    major, minor = fields.integer("versionMajor", 0), fields.integer("versionMinor", 0)
    warps = fields.integers("warpsPerCTA")
    if not fields.has("instrShape") and major not in (2, 3):
        NvidiaMma(major, minor, warps, ())
    shape = fields.integers("instrShape")
    cga, remarks = _cga_of_matrices(fields, name, len(warps))
    return NvidiaMma(major, minor, warps, shape, cga, remarks=remarks)


def _mfma(reader: Reader, name: str) -> Encoding:
    fields = _fields(reader, name)
    old = not fields.has("version") and fields.has("versionMajor")
    version = fields.integer("versionMajor" if old else "version")
    if old:
        fields.integer("versionMinor", 0)
    warps, shape = fields.integers("warpsPerCTA"), fields.integers("instrShape")
    transposed = fields.flag("isTransposed")
    tiles, bits = fields.integers("tilesPerWarp", ()), fields.integer("elementBitWidth", 32)
    if not old and len(shape) == 2:
        place = fields.values["instrShape"][1]
        reader.fail("the m, n and k of an instruction", "instr_shape must follow the (M, N, K) format", at=place)
    cga, remarks = _cga_of_matrices(fields, name, len(warps))
    if old:
        remarks = ("Triton 3.9 reads versionMajor as no version, and refuses this; older ones meant it so", *remarks)
    return AmdMfma(version, warps, shape, transposed, cga, tiles, bits, remarks=remarks)


def _wmma(reader: Reader, name: str) -> Encoding:
    fields = _fields(reader, name)
    version, transposed = fields.integer("version"), fields.flag("isTranspose", False)
    shape = fields.integers("instrShape", (16, 16, 16))
    old: tuple[str, ...] = ()
    if fields.has("ctaLayout") or not fields.has("warpsPerCTA"):
        inner: Fields = fields.inner("ctaLayout")
        registers, warps = inner.bases("register", ()), inner.bases("warp", ())
        inner.refuse_unknown()
        rank = fields.integer("rank", 2)
        if not inner.has("warp"):
            old = ("Triton 3.9 prints a ctaLayout without warps like this, and does not read it",)
    else:
        counts = fields.integers("warpsPerCTA")
        rank, registers = len(counts), ()
        dealt = Product(rank)
        for d in range(rank - 1, -1, -1):
            dealt.put(counts[d], "warp", d)
        warps = tuple(dealt.bases["warp"])
        old = ("warpsPerCTA is ctaLayout's warps since Triton 3.5: 3.9 fails on it without a message",)
    cga, remarks = _cga_of_matrices(fields, name, rank)
    return AmdWmma(version, transposed, warps, registers, cga, shape, rank, remarks=(*old, *remarks))


def _dpas(reader: Reader, name: str) -> Encoding:
    fields = _fields(reader, name)
    keys = ("repeatCount", "systolicDepth", "executionSize", "opsPerChan")
    numbers = [fields.integer(key) for key in keys]
    pack, lanes = fields.integer("fp4KPack", None), fields.integer("threadsPerWarp")
    warps = fields.integers("warpsPerCTA")
    cluster = fields.integers("repCluster")
    for comment in "ABC":  # printed for readers, ignored by Triton
        fields.integers(comment, ())
    fields.refuse_unknown()
    rows, depth, channels, ops = numbers
    return Dpas(rows, depth, channels, ops, lanes, warps, cluster, pack)


def _block(reader: Reader, name: str) -> Encoding:
    fields = _fields(reader, name)
    warps, shape, order = (fields.integers(key) for key in ("warpsPerCTA", "instrShape", "order"))
    blocks, width, lanes = (fields.integer(key) for key in ("numBlocks", "kWidth", "threadsPerWarp"))
    cga = _cga(fields, len(warps))
    fields.refuse_unknown()
    return Subgroup2DBlock(warps, shape, blocks, order, width, lanes, cga)


def _swizzled(reader: Reader, name: str) -> Encoding:
    fields = _fields(reader, name)
    if fields.flag("hasLeadingOffset", False):
        reader.fail(
            "hasLeadingOffset = false",
            "hasLeadingOffset = true is #ttg.nvmma_shared today, whose element width this text does not say",
            at=fields.values["hasLeadingOffset"][1],
        )
    vec, per_phase, max_phase = [fields.integer(key, 0) for key in ("vec", "perPhase", "maxPhase")]
    order = fields.integers("order")
    cga = _cga(fields, len(order))
    fields.refuse_unknown()
    return (RotatingShared if name.endswith("rotating_shared") else SwizzledShared)(
        vec, per_phase, max_phase, order, cga
    )


def _nvmma(reader: Reader, name: str) -> Encoding:
    fields = _fields(reader, name)
    wide, transposed = fields.integer("swizzlingByteWidth", 0), fields.flag("transposed", False)
    bits, padded = fields.integer("elementBitWidth", 0), fields.flag("fp4Padded", False)
    rank = fields.integer("rank", None)
    given = fields.values.get("CGALayout", ((), 0))[0] or fields.values.get("CTAsPerCGA", ((), 0))[0]
    if rank is None:
        first = given[0] if isinstance(given, tuple) and given else None  # pyright: ignore[reportUnknownVariableType]
        size = first if isinstance(first, tuple) else given  # pyright: ignore[reportUnknownVariableType]
        rank = len(size) if isinstance(size, tuple) and size else 2  # pyright: ignore[reportUnknownArgumentType]
    cga = _cga(fields, rank)
    fields.refuse_unknown()
    return NvmmaShared(wide, transposed, bits, padded, cga, rank)


def _shared_linear(reader: Reader, name: str) -> Encoding:
    fields = _fields(reader, name)
    offset, block = fields.bases("offset"), fields.bases("block", ())
    fields.refuse_unknown()
    reader.expect(",")
    reader.expect("alignment")
    reader.expect("=")
    aligned = reader.integer()
    if reader.accept(":"):
        reader.word("a type, such as i32")
    return SharedLinear(offset, block, aligned)


def _padded(reader: Reader, name: str) -> Encoding:
    reader.expect("[")
    pads: list[tuple[int, int]] = []
    while not reader.accept("]"):
        if pads:
            reader.expect(",")
        interval = reader.integer(0, 2**30)
        reader.expect(":")
        reader.expect("+")
        pads.append((interval, reader.integer(0, 2**30)))
    fields = _fields(reader, name)
    if fields.has("order"):
        order, shape = fields.integers("order"), fields.integers("shape", ())
        fields.refuse_unknown()
        return PaddedShared.in_order(tuple(pads), order, shape)
    offset, block = fields.bases("offset"), fields.bases("block")
    fields.refuse_unknown()
    return PaddedShared(tuple(pads), offset, block)


def _partitioned(reader: Reader, name: str) -> Encoding:
    fields = _fields(reader, name)
    count, groups, dim = [fields.integer(key, 0) for key in ("numPartitions", "numGroups", "partitionDim")]
    piece = fields.attribute("partitionLayout", InSharedMemory)
    fields.refuse_unknown()
    return PartitionedShared(count, groups, dim, piece)


def _bare(reader: Reader, name: str) -> Fields:
    """Keys without braces, up to `>`, which stays."""
    fields = Fields(reader, name, reader.skip())
    fields.rest(read_encoding, ">")
    reader.position -= 1
    return fields


def _tensor_memory(reader: Reader, name: str) -> Encoding:
    fields = _bare(reader, name)
    stride = fields.integer("colStride", 1)
    numbers = fields.integer("blockM"), fields.integer("blockN")
    cga, two = fields.bases("CGALayout", ()), fields.flag("twoCTAs", False)
    padded = fields.flag("fp4Padded", False)
    fields.refuse_unknown()
    return TensorMemory(*numbers, stride, cga, two, padded)


def _scales(reader: Reader, name: str) -> Encoding:
    fields = _bare(reader, name)
    cga = fields.bases("CGALayout", ())
    order = fields.values.get("blockRepOrder", (None, 0))[0]
    fields.asked.add("blockRepOrder")
    fields.refuse_unknown()
    return TensorMemoryScales(cga, None if order is None or order == "mnThenK" else str(order))


_READERS: dict[str, Callable[[Reader, str], Encoding]] = {
    "#ttg.blocked": _blocked,
    "#ttg.slice": _slice,
    "#ttg.linear": _linear,
    "#ttg.generic_linear": _linear,
    "#ttg.dot_op": _dot,
    "#ttg.nvidia_mma": _nvidia,
    "#ttg.amd_mfma": _mfma,
    "#ttg.amd_wmma": _wmma,
    "#ttig.dpas": _dpas,
    "#ttig.subgroup_2d_block": _block,
    "#ttg.swizzled_shared": _swizzled,
    "#ttg.shared": _swizzled,
    "#triton_gpu.shared": _swizzled,
    "#ttg.amd_rotating_shared": _swizzled,
    "#ttg.nvmma_shared": _nvmma,
    "#ttg.shared_linear": _shared_linear,
    "#ttg.padded_shared": _padded,
    "#ttg.partitioned_shared": _partitioned,
    "#ttng.tensor_memory_encoding": _tensor_memory,
    "#ttng.tensor_memory_scales_encoding": _scales,
}
