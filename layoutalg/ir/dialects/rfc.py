"""The operations of XeGPU's RFC, the oldest spelling of the dialect: read as today's, with a note of their form.

    %t = XeGPU.create_nd_tdesc %p, %offsets:2, %shape:2, %strides:2
         : uint64, index, index, index, index, index, index into tensor_desc<8x16xbf16>

becomes

    %t = xegpu.create_nd_tdesc %p[%offsets#0, %offsets#1], shape : [...], strides : [...]
         : ui64 -> !xegpu.tensor_desc<8x16xbf16>

The RFC writes `%offsets:2` for two values, `uint64` and `float` for types, `into`, `to` or `->` before results, and attributes
before or behind the operands. No LLVM reads it. `migrate` writes today's form for a version of LLVM.

>>> from layoutalg.ir import read_module, write_module
>>> before = '%t = "test.op"() : () -> !xegpu.tensor_desc<8x16xbf16> '
>>> text = before + "%v = XeGPU.load_nd %t {L1_hint = uncached} : tensor_desc<8x16xbf16> into vector<8x16xbf16>"
>>> print(write_module(read_module(text)).splitlines()[-2].strip().partition(" = ")[2])
xegpu.load_nd %t <{l1_hint = #xegpu.cache_hint<uncached>}> : !xegpu.tensor_desc<8x16xbf16> -> vector<8x16xbf16>
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
    UnitAttr,
    VectorType,
    bf16,
    f16,
    f32,
    f64,
    i64,
)
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition
from xdsl.parser import ForwardDeclaredValue, Parser, UnresolvedOperand

from layoutalg.ir.dialects.memref.directives import ATOMIC_KINDS
from layoutalg.ir.dialects.xegpu import operations
from layoutalg.ir.dialects.xegpu.attributes import (
    CacheHintAttr,
    CachePolicy,
    FenceScope,
    FenceScopeAttr,
    LayoutAttr,
    MemorySpace,
    MemorySpaceAttr,
    NbarrierType,
    SgMapAttr,
    TdescAttr,
    TensorDescType,
    parse_shaped,
)
from layoutalg.ir.operations.old_spellings import note_old_spelling, note_refused_spelling

__all__ = ["XEGPU_RFC", "XEGPU_RFC_TOO"]

_SHAPE = re.compile(r"\s*((?:(?:\d+|\?)\s*x\s*)*)([A-Za-z]\w*)")
_FLOATS = {
    "float": f32,
    "fp32": f32,
    "fp16": f16,
    "fp64": f64,
    "double": f64,
    "f16": f16,
    "f32": f32,
    "f64": f64,
    "bf16": bf16,
}
_HINTS = {
    "L1": "l1_hint",
    "L2": "l2_hint",
    "L3": "l3_hint",
    "L1_hint": "l1_hint",
    "L2_hint": "l2_hint",
    "L3_hint": "l3_hint",
}


def _word_type(word: str) -> Attribute | None:
    """The type that a word of the RFC says: `uint64`, `fp16`, `i8`, `index`."""
    if word in _FLOATS:
        return _FLOATS[word]
    if word == "index":
        return IndexType()
    if word == "nbarrier":
        return NbarrierType()
    found = re.fullmatch(r"(u?int|s?i|ui)(\d+)(_t)?", word.lower())
    if found is None or not 1 <= int(found[2]) <= 64:
        return None
    return IntegerType(int(found[2]), Signedness.UNSIGNED if found[1].startswith("u") else Signedness.SIGNLESS)


def _shaped(parser: Parser) -> tuple[list[int], Attribute]:
    """Read `8x16xfloat`, with spaces or without."""
    found = _SHAPE.match(parser.lexer.input.content, parser.pos)
    kind = None if found is None else _word_type(found[2])
    if found is None or kind is None:
        parser.raise_error("expected a shape and an element type, such as 8x16xbf16")
    parser._resume_from(found.end())  # pyright: ignore[reportPrivateUsage]
    return [-1 if size.strip() == "?" else int(size) for size in found[1].split("x")[:-1]], kind


def _type(parser: Parser) -> Attribute:
    """Read a type as the RFC writes it: without `!`, with names of C for numbers."""
    word = parser.parse_optional_identifier()
    if word is None:
        return parser.parse_type()
    if word == "tensor_desc":
        shape, element, rest = parse_shaped(parser, lambda: _shaped(parser), _attribute)
        return TensorDescType.new(TensorDescType.parts(parser, shape, element, rest))
    if word.lower() == "vector":
        with parser.in_angle_brackets():
            sizes, element = _shaped(parser)
        return VectorType(element, sizes)
    kind = _word_type(word)
    if kind is not None:
        return kind
    parser._resume_from(parser.pos - len(word))  # pyright: ignore[reportPrivateUsage]
    return parser.parse_type()


def _attribute(parser: Parser) -> Attribute:
    """Read an attribute of a descriptor; `#scattered` needs no definition."""
    if re.compile(r"#scattered\b", re.IGNORECASE).match(parser.lexer.input.content, parser.pos):
        parser._consume_token()  # pyright: ignore[reportPrivateUsage]
        return TdescAttr("scattered = true")
    return parser.parse_attribute()


def _operands(parser: Parser) -> list[UnresolvedOperand]:
    """Read `%p, %offsets:2`; a group stands for its values."""
    found: list[UnresolvedOperand] = []
    while True:
        parser.parse_optional_punctuation(",")
        operand = parser.parse_optional_unresolved_operand()
        if operand is None:
            return found
        group = re.compile(r"\s*:\s*(\d+)").match(parser.lexer.input.content, operand.span.end)
        if group is None:
            found.append(operand)
            continue
        parser._resume_from(group.end())  # pyright: ignore[reportPrivateUsage]
        found += [UnresolvedOperand(operand.span, number) for number in range(int(group[1]))]


def _dictionary(parser: Parser) -> dict[str, Any]:
    """Read `{L1 = cached, transpose = [1, 0], packed}`, or `{#a #b #c}`: the layouts of A, B and C."""
    found: dict[str, Any] = {}
    if parser.parse_optional_punctuation("{") is None:
        return found
    while parser.parse_optional_punctuation("}") is None:
        parser.parse_optional_punctuation(",")
        name = parser.parse_optional_identifier()
        if name is None:
            if parser.parse_optional_punctuation("}") is not None:
                break
            found.setdefault("layouts", []).append(parser.parse_attribute())
            continue
        if parser.parse_optional_punctuation("=") is None:
            found[name] = True
            continue
        numbers = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        if numbers is not None:
            found[name] = numbers
            continue
        word = parser.parse_optional_identifier() or parser.parse_optional_str_literal()
        found[name] = parser.parse_integer() if word is None else word
    return found


_ENDS = ("into", "to")


def _types(parser: Parser) -> tuple[list[Attribute], list[Attribute]]:
    """Read the types of the operands and of the results: `: T, U into V`; the colon may be missing."""
    parser.parse_optional_punctuation(":")
    taken: list[Attribute] = []
    given: list[Attribute] = []
    while True:
        parser.parse_optional_punctuation(",")
        if any(parser.parse_optional_keyword(word) for word in _ENDS) or parser.parse_optional_punctuation("->"):
            given.append(_type(parser))
            return taken, given
        if parser.lexer.input.content[parser.pos : parser.pos + 1] not in ("!", "(") and not _TYPE.match(
            parser.lexer.input.content, parser.pos
        ):
            return taken, given
        taken.append(_type(parser))


_TYPE = re.compile(r"(tensor_desc|[vV]ector|memref)\s*<|(index|nbarrier|u?int\d+|[su]?i\d+|bf16|f\d+|fp\d+|float)\b")


class _Written:
    """What stands in an operation: its operands with their types, attributes, and the types of its results."""

    def __init__(self, parser: Parser, name: str) -> None:
        self.parser, self.name = parser, name
        start = parser.pos
        self.word = parser.parse_optional_str_literal() or ""
        self.said = _dictionary(parser)
        operands = _operands(parser)
        self.said |= _dictionary(parser)
        taken, self.results = _types(parser)
        if name in ("nbarrier_arrive", "nbarrier_wait") and not taken:
            taken.append(NbarrierType())
        if name == "store_scatter":  # the page lists the mask's type before the descriptor's
            taken.sort(key=lambda kind: isinstance(kind, TensorDescType) + 2 * (str(kind).endswith("xi1>")))
        if name == "dpas" and len(taken) == 2 < len(operands) and self.results:
            taken.append(self.results[0])  # some of the page's samples leave out the type of C, which is the result's
        if len(taken) != len(operands):
            parser.raise_error(
                f"XeGPU.{name} has {len(operands)} operands, and {len(taken)} types of operands", start, start
            )
        self.operands = [parser.resolve_operand(one, kind) for one, kind in zip(operands, taken, strict=True)]
        self.written = " ".join(parser.lexer.input.content[start : parser.pos].split())

    def hints(self) -> dict[str, Attribute]:
        """The hints for caches, under today's names."""
        found: dict[str, Attribute] = {}
        for name, value in self.said.items():
            if name in _HINTS:
                found[_HINTS[name]] = CacheHintAttr(CachePolicy(str(value).replace("invaldiate", "invalidate")))
        return found

    def need(self, *counts: int) -> None:
        """Raise unless there are so many operands."""
        if len(self.operands) not in counts:
            wanted = " or ".join(map(str, counts))
            self.parser.raise_error(f"XeGPU.{self.name} has {len(self.operands)} operands; expected {wanted}")


def _dynamic(count: int) -> DenseArrayBase[Any]:
    return DenseArrayBase.from_list(i64, [DYNAMIC_INDEX] * count)


_LANES, _CHUNKS = (1, 2, 4, 8, 16, 32), (1, 2, 3, 4, 8)


def _create(one: _Written) -> Operation:
    one.need(2)
    kind = one.results[0] if one.results else None
    sizes = kind.get_shape() if isinstance(kind, TensorDescType) else (1,)
    if sizes[0] not in _LANES:
        one.parser.raise_error(f"{sizes[0]} points: the number of work items (SIMD lanes) can be 1, 2, 4, 8, 16, 32")
    if len(sizes) > 1 and sizes[1] not in _CHUNKS:
        one.parser.raise_error(
            f"chunk_size_per_lane = {sizes[1]}: its default value is 1, but can be set to 2, 3, 4, 8"
        )
    return operations.CreateDescOp.build(operands=one.operands, result_types=one.results)


def _create_nd(one: _Written) -> Operation:
    kind: Any = one.results[0]
    if len(kind.get_shape()) == 1 and "boundary_check = false" not in str(kind.encoding):
        one.parser.raise_error("for a 1D tensor description the attribute boundary_check must be false")
    rank, places = len(kind.get_shape()), one.operands[1:]
    one.need(1 + rank, 1 + 3 * rank)
    groups: list[Sequence[SSAValue]] = [places[:rank], places[rank : 2 * rank], places[2 * rank :]]
    names = ("const_offsets", "const_shape", "const_strides")
    properties = {name: _dynamic(len(group)) for name, group in zip(names, groups, strict=True) if group}
    return operations.CreateNdDescOp.build(
        operands=[one.operands[0], *groups], result_types=one.results, properties=properties
    )


def _load_nd(one: _Written) -> Operation:
    one.need(1)
    properties: dict[str, Attribute] = dict(one.hints())
    if one.said.get("packed"):
        properties["packed"] = UnitAttr()
    if "transpose" in one.said:
        properties["transpose"] = DenseArrayBase.from_list(i64, one.said["transpose"])
    if "transpose_bit_width" in one.said:
        note_old_spelling(one.parser, "`transpose_bit_width`", "none; a transpose of elements of 32 bits says it")
    return operations.LoadNdOp.build(operands=[one.operands[0], []], result_types=one.results, properties=properties)


def _dpas(one: _Written) -> Operation:
    one.need(2, 3)
    layouts = [attribute.today(2) for attribute in one.said.get("layouts", ()) if isinstance(attribute, SgMapAttr)]
    names = ("layout_a", "layout_b", "layout_cd")
    properties = {name: layout for name, layout in zip(names, layouts, strict=False) if isinstance(layout, LayoutAttr)}
    acc = one.operands[2:]
    return operations.DpasOp.build(operands=[*one.operands[:2], acc], result_types=one.results, properties=properties)


def _load_gather(one: _Written) -> Operation:
    one.need(2)
    if "transpose" in one.said:
        note_old_spelling(one.parser, "`transpose` of a gather", "none; the lanes come first in the value")
    descriptor, mask = one.operands
    return operations.LoadOp.build(operands=[descriptor, [], mask], result_types=one.results, properties=one.hints())


def _store_scatter(one: _Written) -> Operation:
    one.need(3)
    value, descriptor, mask = one.operands
    return operations.StoreOp.build(operands=[value, descriptor, [], mask], properties=one.hints())


def _atomic(one: _Written) -> Operation:
    one.need(3)
    value, descriptor, mask = one.operands
    if one.word not in ATOMIC_KINDS:
        one.parser.raise_error(f"expected one of {', '.join(ATOMIC_KINDS)} in quotes")
    kind = IntegerAttr(ATOMIC_KINDS.index(one.word), 64)
    return operations.AtomicRmwOp.build(
        operands=[descriptor, mask, value], result_types=one.results, properties={"kind": kind}
    )


def _alloc(one: _Written) -> Operation:
    one.need(1)
    known: Any = (
        None if isinstance(one.operands[0], ForwardDeclaredValue) else getattr(one.operands[0].owner, "value", None)
    )
    if not isinstance(known, IntegerAttr):
        one.parser.raise_error(
            "XeGPU.alloc_nbarrier takes a value; today: `xegpu.alloc_nbarrier 8`, a number (up to 32 barriers)"
        )
    return operations.AllocNbarrierOp.build(properties={"nbarrier_num": IntegerAttr(known.value.data, 64)})


def _fence(one: _Written) -> Operation:
    memory = {"global": MemorySpace.Global, "shared": MemorySpace.Slm, "slm": MemorySpace.Slm}
    kind, scope = one.said.get("memory_kind", "global"), one.said.get("scope", "workgroup")
    if kind not in memory or scope not in ("workgroup", "gpu"):
        one.parser.raise_error('expected scope = "workgroup" or "gpu", and memory_kind = "global" or "shared"')
    properties = {"memory_kind": MemorySpaceAttr(memory[kind]), "fence_scope": FenceScopeAttr(FenceScope(scope))}
    return operations.FenceOp.build(properties=properties)


def _update_nd(one: _Written) -> Operation:
    count = len(one.operands) - 1
    properties = {"const_offsets": _dynamic(count)}
    return operations.UpdateNdOffsetOp.build(
        operands=[one.operands[0], one.operands[1:]], result_types=one.results, properties=properties
    )


_MADE: dict[str, Callable[[_Written], Operation]] = {
    "alloc_nbarrier": _alloc,
    "atomic_rmw": _atomic,
    "create_nd_tdesc": _create_nd,
    "create_tdesc": _create,
    "dpas": _dpas,
    "fence": _fence,
    "init_nbarrier": lambda one: operations.InitNbarrierOp.build(operands=one.operands, result_types=one.results),
    "load_gather": _load_gather,
    "load_nd": _load_nd,
    "nbarrier_arrive": lambda one: operations.NbarrierArriveOp.build(operands=one.operands),
    "nbarrier_wait": lambda one: operations.NbarrierWaitOp.build(operands=one.operands),
    "prefetch": lambda one: operations.PrefetchOp.build(operands=[one.operands[0], []], properties=one.hints()),
    "prefetch_nd": lambda one: operations.PrefetchNdOp.build(operands=[one.operands[0], []], properties=one.hints()),
    "store_nd": lambda one: operations.StoreNdOp.build(operands=[*one.operands, []], properties=one.hints()),
    "store_scatter": _store_scatter,
    "update_nd_offset": _update_nd,
    "update_offset": lambda one: operations.UpdateOffsetOp.build(operands=one.operands, result_types=one.results),
    "update_offsets": lambda one: operations.UpdateOffsetOp.build(operands=one.operands, result_types=one.results),
}
"""Today's operation for each of the RFC's."""


def _operation(dialect: str, mnemonic: str) -> type[IRDLOperation]:
    name = f"{dialect}.{mnemonic}"

    def parse(cls: type[IRDLOperation], parser: Parser) -> Any:
        one = _Written(parser, mnemonic)
        made = _MADE[mnemonic](one)
        note_old_spelling(parser, f"`{name}`", f"`{made.name}`")
        note_refused_spelling(parser, (22, 23, 24), f"Dialect `{dialect}' not found for custom op '{name}'")
        return made

    fields = {"name": name, "parse": classmethod(parse), "__doc__": f"`{name}` of the RFC.", "__module__": __name__}
    return irdl_op_definition(type(f"{dialect}_{mnemonic}", (IRDLOperation,), fields))


XEGPU_RFC = Dialect("XeGPU", [_operation("XeGPU", mnemonic) for mnemonic in _MADE], [])
"""The RFC's operations."""
XEGPU_RFC_TOO = Dialect("XeGpu", [_operation("XeGpu", mnemonic) for mnemonic in _MADE], [])
"""The same as some of its samples spell the dialect."""
