"""Gluon's layouts: objects of `triton.experimental.gluon.language`, and the Python that prints or makes them.

Objects are recognised by the name of their class, texts by the names of their constructors; neither needs triton. No text is
evaluated: calls of layouts with lists and numbers are read, and nothing else.

>>> print(parse_gluon("gl.SliceLayout(0, gl.BlockedLayout([1, 1], [1, 32], [4, 1], order=[1, 0]))"))
#ttg.slice<{dim = 0,
parent = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>}>
>>> parse_gluon("gl.BlockedLayout([1], [32], [4], [0])").to_linear((128,)).warp
((32,), (64,))
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

from layoutalg.core.errors import ConversionError, VerificationError
from layoutalg.core.limits import MAX_NESTING, MOST_GIVEN
from layoutalg.core.messages import shown
from layoutalg.core.reader import Reader, did_you_mean
from layoutalg.triton.encodings.amd import AmdMfma, AmdWmma
from layoutalg.triton.encodings.blocked import Blocked, Slice
from layoutalg.triton.encodings.dot import DotOperand
from layoutalg.triton.encodings.encoding import Encoding, as_bases_field
from layoutalg.triton.encodings.linear_bases import GenericLinear, Linear
from layoutalg.triton.encodings.nvidia import NvidiaMma
from layoutalg.triton.encodings.nvmma import NvmmaShared
from layoutalg.triton.encodings.shared import PaddedShared, PartitionedShared, SharedLinear
from layoutalg.triton.encodings.swizzled import SwizzledShared
from layoutalg.triton.encodings.tensor_memory import TensorMemory, TensorMemoryScales
from layoutalg.triton.linear import LinearLayout, as_bases

__all__ = ["as_encoding", "is_gluon", "looks_like_gluon", "of_triton", "parse_gluon", "read_gluon"]

_TEXT = re.compile(r"\s*+(?:[A-Za-z_][A-Za-z0-9_]*+\.)*+_?(?:[A-Za-z]+)Layout\s*+\(")
_KEYWORD = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)[ \t\r\n]*=(?!=)")
_LONGEST = 2**16
Made = Callable[..., Encoding]


def _tuples(value: Any) -> Any:
    """Lists as tuples, in two levels."""
    if not isinstance(value, (list, tuple)):
        return value
    items = cast("list[Any]", value)
    return tuple([tuple(cast("list[Any]", one)) if isinstance(one, list) else one for one in items])


def _blocked(sizes: Any, threads: Any, warps: Any, order: Any, cga: Any = ()) -> Encoding:
    return Blocked(_tuples(sizes), _tuples(threads), _tuples(warps), _tuples(order), _tuples(cga))


def _nvidia(version: Any, warps: Any, instr: Any, cga: Any = ()) -> Encoding:
    if len(version) != 2:
        raise VerificationError(f"version = {shown(version)}: expected [major, minor]")
    return NvidiaMma(version[0], version[1], _tuples(warps), _tuples(instr), _tuples(cga))


def _swizzled(vec: Any, per_phase: Any, max_phase: Any, order: Any, cga: Any = ()) -> Encoding:
    return SwizzledShared(vec, per_phase, max_phase, _tuples(order), _tuples(cga))


def _shared_linear(offset: Any, block: Any = (), alignment: Any = 16) -> Encoding:
    return SharedLinear(_tuples(offset), _tuples(block), alignment)


def _scales(cga: Any = ()) -> Encoding:
    return TensorMemoryScales(_tuples(cga))


def _linear(register: Any, lane: Any, warp: Any, block: Any, shape: Any = None) -> Encoding:
    bases = [as_bases_field("bases", _tuples(one)) for one in (register, lane, warp, block)]
    every = [basis for one in bases for basis in one]
    moved = [tuple(basis) for basis in every if any(basis)]
    single = all(sum(map(bool, b)) == 1 and not max(b) & (max(b) - 1) for b in moved)
    return (Linear if single and len(set(moved)) == len(moved) else GenericLinear)(*bases)


def _mfma(
    version: Any, instr: Any, transposed: Any, warps: Any, bits: Any = None, tiles: Any = None, cga: Any = ()
) -> Encoding:
    if len(instr) != 3:
        raise VerificationError(f"instr_shape = {shown(list(instr))}: instr_shape must follow the (M, N, K) format")
    return AmdMfma(version, _tuples(warps), _tuples(instr), transposed, _tuples(cga), _tuples(tiles or ()), bits or 32)


def _wmma(
    version: Any, transposed: Any, warp: Any, register: Any = None, instr: Any = None, cga: Any = (), rank: Any = None
) -> Encoding:
    every = [*warp, *(register or ()), *cga]
    dims = rank if rank is not None else len(every[0]) if every else 2
    return AmdWmma(
        version, transposed, _tuples(warp), _tuples(register or ()), _tuples(cga), _tuples(instr or (16, 16, 16)), dims
    )


def _nvmma(
    wide: Any, bits: Any, rank: Any = 2, transposed: Any = False, padded: Any = False, cga: Any = ()
) -> Encoding:
    return NvmmaShared(wide, transposed, bits, padded, _tuples(cga), rank)


def _padded(pairs: Any, offset: Any, cga: Any, shape: Any) -> Encoding:
    """Gluon counts its CTAs in tiles, the attribute in elements."""
    bases = as_bases_field("offset_bases", _tuples(offset))
    inside = [max([1 << basis[d].bit_length() for basis in bases], default=1) for d in range(len(shape))]
    inside = [max(1, n) for n in inside]
    blocks = tuple([tuple([b * n for b, n in zip(basis, inside, strict=False)]) for basis in _tuples(cga)])
    return PaddedShared(_tuples(pairs), bases, blocks)


def _tensor_memory(block: Any, stride: Any, cga: Any = (), two: Any = False, padded: Any = False) -> Encoding:
    if len(block) != 2:
        raise VerificationError(f"block = {shown(block)}: expected (blockM, blockN)")
    return TensorMemory(block[0], block[1], stride, _tuples(cga), two, padded)


_LAYOUTS: dict[str, tuple[tuple[str, ...], int, Made]] = {
    "BlockedLayout": (
        ("size_per_thread", "threads_per_warp", "warps_per_cta", "order", "cga_layout"),
        4,
        _blocked,
    ),
    "SliceLayout": (("dim", "parent"), 2, Slice),
    "DistributedLinearLayout": (("reg_bases", "lane_bases", "warp_bases", "block_bases", "shape"), 5, _linear),
    "DotOperandLayout": (("operand_index", "parent", "k_width"), 3, DotOperand),
    "NVMMADistributedLayout": (
        ("version", "warps_per_cta", "instr_shape", "cga_layout"),
        3,
        _nvidia,
    ),
    "AMDMFMALayout": (
        ("version", "instr_shape", "transposed", "warps_per_cta", "element_bitwidth", "tiles_per_warp", "cga_layout"),
        4,
        _mfma,
    ),
    "AMDWMMALayout": (
        ("version", "transposed", "warp_bases", "reg_bases", "instr_shape", "cga_layout", "rank"),
        3,
        _wmma,
    ),
    "SwizzledSharedLayout": (
        ("vec", "per_phase", "max_phase", "order", "cga_layout"),
        4,
        _swizzled,
    ),
    "SharedLinearLayout": (
        ("offset_bases", "block_bases", "alignment"),
        1,
        _shared_linear,
    ),
    "PaddedSharedLayout": (("interval_padding_pairs", "offset_bases", "cga_layout", "shape"), 4, _padded),
    "NVMMASharedLayout": (
        ("swizzle_byte_width", "element_bitwidth", "rank", "transposed", "fp4_padded", "cga_layout"),
        2,
        _nvmma,
    ),
    "PartitionedSharedLayout": (
        ("num_partitions", "num_groups", "partition_dim", "partition_layout"),
        4,
        PartitionedShared,
    ),
    "TensorMemoryLayout": (("block", "col_stride", "cga_layout", "two_ctas", "fp4_padded"), 2, _tensor_memory),
    "TensorMemoryScalesLayout": (("cga_layout",), 0, _scales),
}
_DECIDED_LATER = ("AutoLayout", "CoalescedLayout")


def is_gluon(value: object) -> bool:
    """Whether a value is an object of one of Gluon's classes of layouts.

    >>> is_gluon("BlockedLayout")
    False
    """
    return type(value).__name__ in _LAYOUTS


def as_encoding(value: object) -> Encoding:
    """The encoding of a Gluon layout: an object of Triton's, recognised by the name of its class, or an encoding itself.

    Raises `ConversionError` for anything else.

    >>> as_encoding(7)
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: 7 of type int: expected a layout of Gluon, such as BlockedLayout
    """
    return _as_encoding(value, MAX_NESTING)


def _as_encoding(value: Any, depth: int) -> Encoding:
    if isinstance(value, Encoding):
        return value
    name = type(value).__name__
    if name in _DECIDED_LATER:
        raise ConversionError(f"{name} is a placeholder whose layout Gluon decides later: expected a layout")
    if name not in _LAYOUTS or not depth:
        raise ConversionError(f"{shown(value)} of type {name}: expected a layout of Gluon, such as BlockedLayout")
    names, needed, made = _LAYOUTS[name]
    given: list[Any] = []
    for i, one in enumerate(names):
        if not hasattr(value, one):
            if i < needed:
                raise ConversionError(f"{shown(value)} has no {one}: expected a {name} of Gluon")
            break
        part = getattr(value, one)
        if one in ("parent", "partition_layout"):
            part = _as_encoding(part, depth - 1)
        given.append(getattr(part, "value", part) if type(part).__name__ == "constexpr" else part)
    return made(*given)


def of_triton(value: object) -> Encoding | LinearLayout:
    """What an object of Triton's says: a layout of Gluon, or `triton.tools.LinearLayout`.

    Raises `ConversionError` for anything else.

    >>> of_triton(7)
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: 7 of type int: expected a LinearLayout, of layoutalg or of triton.tools
    """
    return as_encoding(value) if is_gluon(value) else as_bases(value)


def looks_like_gluon(text: str) -> bool:
    """Whether a text begins like a constructor of Gluon's: `gl.BlockedLayout(`.

    >>> looks_like_gluon("gl.BlockedLayout([1]"), looks_like_gluon("#ttg.blocked<")
    (True, False)
    """
    return _TEXT.match(text[:_LONGEST]) is not None


def parse_gluon(text: str) -> Encoding:
    """Read a layout of Gluon as Python writes it.

    Raises `ParseError` with line and column.

    >>> parse_gluon("gl.BlokedLayout([1], [32], [4], [0])")
    Traceback (most recent call last):
    layoutalg.core.errors.ParseError: line 1, column 1: expected a layout of Gluon, found 'BlokedLayout'; did you mean
    BlockedLayout?
    """
    reader = Reader(text)
    value = read_gluon(reader)
    reader.finish()
    return value


def read_gluon(reader: Reader) -> Encoding:
    """Read a call of a layout of Gluon, and leave the reader behind it."""
    start = reader.skip()
    name = reader.word("a layout of Gluon, such as BlockedLayout(..)").rpartition(".")[2]
    if name in _DECIDED_LATER:
        reader.fail("a layout", f"found {name}, a placeholder whose layout Gluon decides later", at=start)
    if name not in _LAYOUTS:
        reader.fail("a layout of Gluon", f"found {name[:40]!r}{did_you_mean(name, tuple(_LAYOUTS))}", at=start)
    names, needed, made = _LAYOUTS[name]
    reader.expect("(")
    found: dict[str, Any] = {}
    keyed = False
    while not reader.accept(")"):
        if found:
            reader.expect(",")
            if reader.accept(")"):
                break
        at = reader.skip()
        key = _KEYWORD.match(reader.text, at)
        keyed = keyed or key is not None
        if key is not None:
            one = key.group(1)
            reader.position = key.end()
        elif keyed:
            reader.fail("a keyword, as before")
        else:
            one = names[len(found)] if len(found) < len(names) else ""
        if one not in names or one in found:
            problem = f"found {one[:40]!r}{did_you_mean(one, names)}" if one else "found one more argument"
            reader.fail(f"each of {', '.join(names)} at most once", problem, at=at)
        within = one in ("parent", "partition_layout")
        found[one] = reader.nested(lambda: read_gluon(reader) if within else _literal(reader))  # noqa: B023
    for one in names[:needed]:
        if one not in found:
            reader.fail(f"{one} of {name}", "which is missing", at=start)
    given = [found.get(one, _DEFAULTS.get(one, ())) for one in names]
    last = max([i for i, one in enumerate(names) if one in found], default=-1)
    try:
        return made(*given[: max(last + 1, needed)])
    except (TypeError, AttributeError, IndexError):
        reader.fail(f"lists and numbers as {name} takes them", at=start)


def _literal(reader: Reader) -> Any:
    """A number, True, False, None, or a list of such."""
    number = reader.accept_integer()
    if number is not None:
        return number
    for opening, closing in ("[]", "()"):
        if reader.accept(opening):
            items: list[Any] = []
            while not reader.accept(closing):
                if items:
                    reader.expect(",")
                    if reader.accept(closing):
                        break
                if len(items) == MOST_GIVEN:
                    reader.fail(f"at most {MOST_GIVEN} entries")
                items.append(reader.nested(lambda: _literal(reader)))
            return items
    start = reader.skip()
    if reader.accept("*"):
        reader.fail("arguments written out", "found '*': what it unpacks is not read", at=start)
    return {"True": True, "False": False, "None": None}[reader.one_of(("True", "False", "None"))]


_DEFAULTS: dict[str, Any] = {
    "rank": 2,
    "transposed": False,
    "fp4_padded": False,
    "two_ctas": False,
    "alignment": 16,
    "element_bitwidth": None,
    "tiles_per_warp": None,
    "reg_bases": None,
    "instr_shape": None,
}
