"""How operations of Triton write their types and words.

Most write one type and let others follow from it: of `tt.load %p, %m : tensor<64x!tt.ptr<f16>>` the mask has the shape and the
layout of the pointers, with elements of one bit, and the result has what they point to.

>>> from layoutalg.ir import read_module
>>> load = list(read_module('%p, %m = "test.op"() : () -> (tensor<64x!tt.ptr<f16>>, tensor<64xi1>) '
...     '%x = tt.load %p, %m evictionPolicy = evict_last : tensor<64x!tt.ptr<f16>>').ops)[1]
>>> print(load.results[0].type, load.properties["evict"])
tensor<64xf16> 3 : i32
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import DenseArrayBase, IntAttr, IntegerAttr, TensorType, i1, i32
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    OptionalOperandVariable,
    ParsingState,
    PrintingState,
    TypeDirective,
    VariadicOperandVariable,
    irdl_custom_directive,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from layoutalg.ir.dialects.iree_directives import parse_named, print_spaced
from layoutalg.ir.dialects.triton.handing import Bracketed, Handed, Started
from layoutalg.ir.dialects.triton.types import AsyncTokenType, PointerType

__all__ = ["DIRECTIVES", "EVICTION", "MODIFIERS"]


_SHARED = 3
"""The address space of shared memory."""


def _with(kind: Attribute, element: Attribute) -> Attribute:
    """A tensor of the same shape and layout with other elements; of a scalar, the element."""
    return TensorType(element, kind.get_shape(), kind.encoding) if isinstance(kind, TensorType) else element


def _element(kind: Attribute) -> Attribute:
    held: Any = kind
    return cast("Attribute", held.element_type) if isinstance(kind, TensorType) else kind


def _same(kind: Attribute) -> Attribute:
    return kind


def _pointee(kind: Attribute) -> Attribute | None:
    pointer = _element(kind)
    return _with(kind, pointer.pointee) if isinstance(pointer, PointerType) else None


def _pointer(kind: Attribute) -> Attribute:
    return PointerType.to(_element(kind))


def _shared_pointer(kind: Attribute) -> Attribute:
    return PointerType(_element(kind), IntAttr(_SHARED))


def _truth(kind: Attribute) -> Attribute:
    return _with(kind, i1)


def _number(kind: Attribute) -> Attribute:
    return _with(kind, i32)


class _Following(CustomDirective):
    """One type that is written, and those that follow from it: of operands that are there, and of results."""

    FOLLOW: ClassVar[Mapping[str, Callable[[Attribute], Attribute | None]]]
    shown: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read one type."""
        start = parser.pos
        kind = parser.parse_type()
        self.shown.set(state, (kind,))
        for name, follow in self.FOLLOW.items():
            inner = getattr(self, name).inner
            count = len(state.operands[inner.index] or ()) if isinstance(inner, OptionalOperandVariable) else 1
            found = follow(kind)
            if found is None:
                parser.raise_error(f"expected a pointer or a tensor of pointers, found {kind}", start, parser.pos)
            inner.set_types(state, (found,) * count)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the type."""
        state.print_whitespace(printer)
        printer.print_attribute(self.shown.get(op)[0])


class _Arrow(_Following):
    """The same behind the type of the pointer, as Triton 3.9 writes it: `!tt.ptr<f32> -> tensor<64xf32>`."""

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the tensor's type, and the pointer's before it if it is there."""
        ahead = parser.lexer.input.content[parser.pos : parser.pos + len("!tt.ptr<")]
        if ahead == "!tt.ptr<":
            parser.parse_type()
            parser.parse_punctuation("->")
        super().parse(parser, state)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write both types."""
        state.print_whitespace(printer)
        printer.print_attribute(_pointer(self.shown.get(op)[0]))
        printer.print_string(" -> ")
        printer.print_attribute(self.shown.get(op)[0])


def _following(
    name: str, kind: type[_Following] = _Following, **follow: Callable[[Attribute], Attribute | None]
) -> type[CustomDirective]:
    fields = {"shown": TypeDirective} | dict.fromkeys(follow, TypeDirective)
    body = {"FOLLOW": follow, "__annotations__": fields, "__module__": __name__, "__doc__": kind.__doc__}
    return irdl_custom_directive(type(name, (kind,), body))


class _Short(CustomDirective):
    """A type whose name is left out: `<64x32xf16, #shared, #smem, mutable>`."""

    NAME: ClassVar[str]
    WHOLE: ClassVar[bool]
    """Whether the name is written all the same."""
    shown: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the type with its name or without."""
        kinds = [self._one(parser)]
        while isinstance(self.shown.inner, VariadicOperandVariable) and parser.parse_optional_punctuation(","):
            kinds.append(self._one(parser))
        self.shown.set(state, kinds)

    def _one(self, parser: Parser) -> Attribute:
        bare = parser.lexer.input.content[parser.pos : parser.pos + 1] == "<"
        return parse_named(parser, self.NAME, is_type=True) if bare else parser.parse_type()

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the types without their names."""
        for place, kind in enumerate(self.shown.get(op)):
            printer.print_string(", " if place else "")
            if not place:
                state.print_whitespace(printer)
            printer.print_string(str(kind) if self.WHOLE else str(kind).removeprefix(f"!{self.NAME}"))

    def is_present(self, op: IRDLOperation) -> bool:
        """Whether there is one."""
        return bool(self.shown.get(op))

    def is_anchorable(self) -> bool:
        """Whether a group of the syntax may depend on it."""
        return True


def _short(name: str, called: str, *, whole: bool = False) -> type[CustomDirective]:
    body = {
        "NAME": called,
        "WHOLE": whole,
        "__annotations__": {"shown": TypeDirective},
        "__module__": __name__,
        "__doc__": _Short.__doc__,
    }
    return irdl_custom_directive(type(name, (_Short,), body))


def _numbered(parser: Parser, words: Mapping[str, int]) -> IntegerAttr[Any]:
    start = parser.pos
    word = parser.parse_identifier()
    if word not in words:
        parser.raise_error(f"expected {', '.join(words)}, found {word}", start, parser.pos)
    return IntegerAttr(words[word], i32)


def _called(attribute: Any, words: Mapping[str, int]) -> str:
    number = attribute.value.data
    return next((word for word, meant in words.items() if meant == number), str(number))


class _Word(CustomDirective):
    """A word for a number."""

    WORDS: ClassVar[Mapping[str, int]]
    number: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the word."""
        self.number.set(state, _numbered(parser, self.WORDS))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the word."""
        print_spaced(printer, state, _called(self.number.get(op), self.WORDS))
        state.should_emit_space, state.last_was_punctuation = True, False

    def is_present(self, op: IRDLOperation) -> bool:
        """Whether there is one."""
        return self.number.get(op) is not None

    def is_anchorable(self) -> bool:
        """Whether a group of the syntax may depend on it."""
        return True


def _word(name: str, words: Mapping[str, int]) -> type[CustomDirective]:
    body = {
        "WORDS": words,
        "__annotations__": {"number": AttributeVariable},
        "__module__": __name__,
        "__doc__": _Word.__doc__,
    }
    return irdl_custom_directive(type(name, (_Word,), body))


def _from(first: int, words: str) -> dict[str, int]:
    return {word: first + number for number, word in enumerate(words.split())}


MODIFIERS = _from(1, "none ca cg wb cs wt cv")
"""The words of `cacheModifier`."""
EVICTION = _from(1, "evict_normal evict_first evict_last")
"""The words of `evictionPolicy`."""


@irdl_custom_directive
class Hints(CustomDirective):
    """`cacheModifier = ca evictionPolicy = evict_last`: either, both, or nothing."""

    cache: AttributeVariable
    evict: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the hints that are there, in any order."""
        while True:
            if parser.parse_optional_keyword("cacheModifier") is not None:
                parser.parse_punctuation("=")
                self.cache.set(state, _numbered(parser, MODIFIERS))
            elif parser.parse_optional_keyword("evictionPolicy") is not None:
                parser.parse_punctuation("=")
                self.evict.set(state, _numbered(parser, EVICTION))
            else:
                return

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the hints that are there."""
        for name, field, words in (("cacheModifier", self.cache, MODIFIERS), ("evictionPolicy", self.evict, EVICTION)):
            held: Any = field.get(op)
            if held is not None and held.value.data != 1:
                print_spaced(printer, state, f"{name} = {_called(held, words)}")
                state.should_emit_space, state.last_was_punctuation = True, False


@irdl_custom_directive
class CacheHint(CustomDirective):
    """`cacheModifier = ca`, or nothing."""

    cache: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the hint."""
        if parser.parse_optional_keyword("cacheModifier") is not None:
            parser.parse_punctuation("=")
            self.cache.set(state, _numbered(parser, MODIFIERS))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the hint."""
        held: Any = self.cache.get(op)
        if held is not None and held.value.data != 1:
            print_spaced(printer, state, f"cacheModifier = {_called(held, MODIFIERS)}")
            state.should_emit_space, state.last_was_punctuation = True, False


_SPACES = {"none": 0, "local": 1, "global_read": 2, "global_write": 4, "tensor_read": 8, "tensor_write": 16, "all": 31}


@irdl_custom_directive
class Spaces(CustomDirective):
    """`local|global_read`: the memories that a barrier is about."""

    spaces: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the words."""
        found = _numbered(parser, _SPACES).value.data
        while parser.parse_optional_punctuation("|") is not None:
            found |= _numbered(parser, _SPACES).value.data
        self.spaces.set(state, IntegerAttr(found, i32))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the words."""
        held: Any = self.spaces.get(op)
        number: int = held.value.data
        words = [word for word, bit in _SPACES.items() if bit and bit != 31 and number & bit]
        print_spaced(printer, state, "all" if number == 31 else "|".join(words) or "none")
        state.should_emit_space, state.last_was_punctuation = True, False


@irdl_custom_directive
class Offsets(CustomDirective):
    """`0, 16`: whole numbers."""

    offsets: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the numbers."""
        found = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: parser.parse_integer())
        self.offsets.set(state, DenseArrayBase.from_list(i32, found))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the numbers."""
        held: Any = self.offsets.get(op)
        print_spaced(printer, state, ", ".join(map(str, held.get_values())))
        state.should_emit_space, state.last_was_punctuation = True, False


@irdl_custom_directive
class Token(CustomDirective):
    """`[%token]` or `[]`: what the operation waits for; with brackets it gives a token too."""

    waits: OptionalOperandVariable
    given: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the brackets if they are there."""
        found: UnresolvedOperand | None = None
        there = parser.parse_optional_punctuation("[") is not None
        if there:
            found = parser.parse_optional_unresolved_operand()
            parser.parse_punctuation("]")
        self.waits.set(state, found)
        self.waits.set_types(state, () if found is None else (AsyncTokenType(),))
        self.given.inner.set_types(state, (AsyncTokenType(),) if there else ())

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the brackets where the operation gives a token."""
        waits, given = self.waits.get(op), self.given.get(op)
        if waits is not None or given:
            printer.print_string("[")
            if waits is not None:
                printer.print_ssa_value(waits)
            printer.print_string("]")
        state.should_emit_space, state.last_was_punctuation = True, False


@irdl_custom_directive
class Barriers(CustomDirective):
    """`, %barrier[%predicate], ...`: what is told when an operation is done, and whether it is."""

    barriers: VariadicOperandVariable
    predicates: VariadicOperandVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the pairs."""
        barriers: list[UnresolvedOperand] = []
        predicates: list[UnresolvedOperand] = []
        while parser.parse_optional_punctuation(",") is not None:
            barriers.append(parser.parse_unresolved_operand())
            with parser.in_square_brackets():
                predicates.append(parser.parse_unresolved_operand())
        self.barriers.set(state, barriers)
        self.predicates.set(state, predicates)
        self.predicates.set_types(state, (i1,) * len(predicates))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the pairs."""
        for barrier, predicate in zip(self.barriers.get(op), self.predicates.get(op), strict=True):
            printer.print_string(", ")
            printer.print_ssa_value(barrier)
            printer.print_string("[")
            printer.print_ssa_value(predicate)
            printer.print_string("]")
        state.should_emit_space, state.last_was_punctuation = True, False


class _Signature(CustomDirective):
    """`(f16, i32) -> f16`: the types of all operands, those that are absent left out, and of the results."""

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the types, and give each operand its own."""
        start = parser.pos
        kind = parser.parse_function_type()
        counts = [len(operands or ()) for operands in state.operands]
        if sum(counts) != len(kind.inputs.data):
            parser.raise_error(f"{sum(counts)} operands and {len(kind.inputs.data)} types", start, parser.pos)
        left = iter(kind.inputs.data)
        state.operand_types[:] = [[next(left) for _ in range(count)] for count in counts]
        if state.result_types:
            state.result_types[0] = kind.outputs.data

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the types."""
        state.print_whitespace(printer)
        printer.print_function_type(op.operand_types, op.result_types)


def _signature(name: str, count: int) -> type[CustomDirective]:
    fields = {f"type{number}": TypeDirective for number in range(count)}
    body = {"__annotations__": fields, "__module__": __name__, "__doc__": _Signature.__doc__}
    return irdl_custom_directive(type(name, (_Signature,), body))


@irdl_custom_directive
class Scheduled(CustomDirective):
    """`none` or `valu|salu`: what may cross a barrier of the scheduler; up to LLVM 23 a number."""

    mask: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read the words or the number."""
        found = parser.parse_optional_integer()
        if found is None:
            found = _numbered(parser, _SCHEDULED).value.data
            while parser.parse_optional_punctuation("|") is not None:
                found |= _numbered(parser, _SCHEDULED).value.data
        self.mask.set(state, IntegerAttr(found, i32))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the words."""
        held: Any = self.mask.get(op)
        number: int = held.value.data
        words = [word for word, bit in _SCHEDULED.items() if bit and number & bit == bit]
        print_spaced(printer, state, "|".join(words) or "none")
        state.should_emit_space, state.last_was_punctuation = True, False


_SCHEDULED = {"none": 0, "non_mem_non_sideeffect": 1, "valu": 2, "salu": 4, "mfma_wmma": 8, "all_vmem": 16} | {
    "vmem_read": 32, "vmem_write": 64, "all_ds": 128, "ds_read": 256, "ds_write": 512, "trans": 1024,
}  # fmt: skip

DIRECTIVES: Sequence[type[CustomDirective]] = (
    Barriers, Bracketed, CacheHint, Handed, Hints, Offsets, Scheduled, Spaces, Started, Token,
    _signature("SixTypes", 6),
    _signature("FourTypes", 4),
    _short("Buffer", "ttg.memdesc"),
    _short("Pointer", "tt.ptr"),
    _short("Address", "tt.ptr", whole=True),
    _short("Descriptor", "tt.tensordesc"),
    _short("Aref", "nvws.aref"),
    _short("Segment", "proton_gpu.segment"),
    _word("Axis", _from(0, "x y z")),
    _word("Atomic", _from(1, "and or xor add fadd max min umax umin exch")),
    _word("Reduction", _from(1, "add min max inc dec and or xor")),
    _word("Packed", _from(0, "add sub mul fma min max")),
    _word("Semantics", _from(1, "relaxed acquire release acq_rel")),
    _word("Scope", _from(1, "gpu cta sys")),
    _word("Precision", _from(0, "tf32 tf32x3 ieee bf16x3 bf16x6")),
    _word("Rounding", _from(0, "rtz rtne")),
    _word("NaN", {"none": 0, "all": 65535}),
    _word("Small", _from(0, "e4m3 e5m2 e2m3 e3m2 e2m1 bf16 fp16")),
    _word("LoadControl", _from(0, "Default L1UC_L3UC L1UC_L3C L1C_L3UC L1C_L3C L1S_L3UC L1S_L3C L1IAR_L3C")),
    _word(
        "StoreControl",
        _from(0, "Default L1UC_L3UC L1UC_L3WB L1WT_L3UC L1WT_L3WB L1S_L3UC L1S_L3WB L1WB_L3WB L1WT_L3WT L1S_L3S"),
    ),
    _word("Fence", _from(0, "None Local Global LocalAndGlobal")),
    _word("Kind", _from(0, "unused u8 u4 u2 i8 i4 i2 bf8 hf8") | _from(10, "tf32 bf16 f16 e2m1")),
    _word("Space", _from(0, "shared_mem tensor_mem")),
    _word("Order", _from(0, "row_major column_major")),
    _following("Loaded", mask=_truth, other=_pointee, result=_pointee),
    _following("Stored", value=_pointee, mask=_truth),
    _following("Copied", mask=_truth, other=_pointee),
    _following("Masked", mask=_truth),
    _following("Unmade", result=_element),
    _following("Lifted", _Arrow, pointer=_pointer, offsets=_number, mask=_truth, other=_same),
    _following("Sunk", _Arrow, pointer=_pointer, offsets=_number, mask=_truth),
    _following("Changed", _Arrow, value=_same, pointer=_pointer, offsets=_number, mask=_truth),
    _following("Swapped", _Arrow, compared=_same, value=_same, pointer=_pointer, offsets=_number),
    _following("Turned", buffer=_shared_pointer, result=_same),
)  # fmt: skip
"""What the syntax of the tables names."""
