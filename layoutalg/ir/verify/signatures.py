"""What LLVM's definition of an operation asks of its operands, results and attributes, and an operation as rules see it.

A `Signature` names the operands, results and attributes of an operation, with what they must be (`constraints`). It comes from
the operation's row in the tables. A `Subject` is an operation whose values go by these names.

>>> signature = Signature("xegpu.nbarrier_wait", (Group("nbarrier", "index"),))
>>> from xdsl.dialects.test import TestOp
>>> from xdsl.dialects.builtin import f32
>>> operation = TestOp(operands=TestOp(result_types=[f32]).results)
>>> print(signature.problem(Subject(operation, "xegpu.nbarrier_wait", 22, signature)))
operand #0 must be index, but got 'f32'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from re import compile as compile_pattern
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, UnregisteredOp
from xdsl.ir import Attribute, Operation

from layoutalg.hardware import TargetInfo
from layoutalg.ir.assembly import property_of
from layoutalg.ir.operations.rows import Value, row_of
from layoutalg.ir.operations.words import said
from layoutalg.ir.verify.constraints import fits
from layoutalg.ir.verify.shapes import typed

__all__ = ["Group", "Signature", "Subject", "name_of", "signature_of", "symbols_of"]


def name_of(operation: Operation) -> str:
    """The name of an operation, also of one that no dialect here declares.

    >>> from xdsl.dialects.test import TestOp
    >>> name_of(TestOp())
    'test.op'
    """
    return operation.op_name.data if isinstance(operation, UnregisteredOp) else operation.name


@dataclass(frozen=True, slots=True)
class Group:
    """Operands (or results) that share a name: one, at most one (`?`), or any number (`*`).

    >>> Group("offsets", "index", "*").least
    0
    """

    name: str
    words: str = "any type"
    count: str = "1"

    @property
    def least(self) -> int:
        """How many there are at least.

        >>> Group("value").least
        1
        """
        return 1 if self.count == "1" else 0


@dataclass(frozen=True, slots=True)
class Signature:
    """What LLVM's definition of an operation requires of its operands, results and attributes.

    `attributes` are pairs of a name and what it must be (a name of `ATTRIBUTES`); a name that ends in `!` is required.
    `segments`: the property operandSegmentSizes says how many operands each group has. `plain`: no properties at all.

    >>> Signature("xegpu.fence", attributes=(("memory_kind!", "any"),)).attributes[0][0]
    'memory_kind!'
    """

    name: str
    operands: tuple[Group, ...] = ()
    results: tuple[Group, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    segments: bool = False

    def sizes(self, subject: Subject, groups: Sequence[Group], total: int) -> list[int]:
        """How many values each group has; those without a fixed number share what the others leave.

        >>> from xdsl.dialects.test import TestOp
        >>> signature = Signature("x", (Group("a"), Group("b", count="*")))
        >>> signature.sizes(Subject(TestOp(), "x", 22, signature), signature.operands, 3)
        [1, 2]
        """
        if self.segments and groups is self.operands:
            given = subject.operation.properties.get("operandSegmentSizes")
            if isinstance(given, DenseArrayBase):
                sizes = [int(n) for n in given.get_values()]
                # LLVM 23 dropped the offsets of create_nd_tdesc: its generic form has one number fewer.
                return [sizes[0], 0, *sizes[1:]] if len(sizes) == len(groups) - 1 else sizes
            if len(groups) == total:
                return [1] * total
        given = subject.operation.properties.get("resultSegmentSizes") if groups is self.results else None
        if isinstance(given, DenseArrayBase):
            sizes = [int(n) for n in given.get_values()]
            if len(sizes) == len(groups):
                return sizes
        several = sum(group.count != "1" for group in groups)
        left = (total - (len(groups) - several)) // max(several, 1)
        return [1 if group.count == "1" else left for group in groups]

    def problem(self, subject: Subject) -> str | None:
        """The first thing that is wrong with the numbers and types of operands, results and attributes.

        >>> from xdsl.dialects.test import TestOp
        >>> signature = Signature("x", results=(Group("r"),))
        >>> signature.problem(Subject(TestOp(), "x", 22, signature))
        'requires one result'
        """
        operation = subject.operation
        return (
            _results_problem(len(operation.results), self.results)
            or self._operands_problem(subject, len(operation.operands))
            or self._attributes_problem(subject)
            or _types_problem("operand", self, subject, self.operands, operation.operand_types)
            or _types_problem("result", self, subject, self.results, operation.result_types)
        )

    def _operands_problem(self, subject: Subject, total: int) -> str | None:
        least = sum(group.least for group in self.operands)
        fixed = all(group.count == "1" for group in self.operands)
        if not fixed and total < least:
            return f"expected {least} or more operands, but found {total}"
        if fixed and total != least:
            return _COUNTS.get(least, f"expected {least} operands, but found {total}")
        if self.segments:
            sizes = self.sizes(subject, self.operands, total)
            if len(sizes) == len(self.operands) and sum(sizes) != total:
                return (
                    f"operand count ({total}) does not match with the total size ({sum(sizes)}) specified in "
                    "attribute 'operandSegmentSizes'"
                )
        return None

    def _attributes_problem(self, subject: Subject) -> str | None:
        for name, kind in self.attributes:
            bare = name.rstrip("!")
            found = subject.attribute(bare)
            if found is None:
                if name.endswith("!"):
                    return f"requires attribute '{bare}'"
            elif kind in ATTRIBUTES and not ATTRIBUTES[kind](found):
                return f"Invalid attribute `{bare}` in property conversion: {found}"
        return None


_COUNTS = {0: "requires zero operands", 1: "requires a single operand"}


def _results_problem(count: int, results: Sequence[Group]) -> str | None:
    if any(group.count != "1" for group in results) or count == len(results):
        return None
    if len(results) > 1:
        return f"expected {len(results)} results"
    return "requires one result" if results else "requires zero results"


def _types_problem(
    what: str, signature: Signature, subject: Subject, groups: Sequence[Group], types: Sequence[Attribute]
) -> str | None:
    position = 0
    for group, size in zip(groups, signature.sizes(subject, groups, len(types)), strict=False):
        if group.count == "?" and size > 1:
            return f"{what} group starting at #{position} requires 0 or 1 element, but found {size}"
        for kind in types[position : position + size]:
            if not fits(group.words, kind):
                variadic = "variadic of " if group.count == "*" else ""
                return f"{what} #{position} must be {variadic}{group.words}, but got {typed(kind)}"
            position += 1
    return None


def _is_array(bits: int) -> Callable[[Attribute], bool]:
    return lambda found: str(found).startswith(f"array<i{bits}")


def _named(*names: str) -> Callable[[Attribute], bool]:
    return lambda found: found.name in names


def _integer_of(kind: str) -> Callable[[Attribute], bool]:
    return lambda found: found.name == "integer" and str(getattr(found, "type", "")) == kind


_CMPI, _CMPF = compile_pattern(r"\d : i64"), compile_pattern(r"(1[0-5]|\d) : i64")
_KIND = compile_pattern(r"(1[0-5]|\d) : i64")

ATTRIBUTES: dict[str, Callable[[Attribute], bool]] = {
    "any": lambda found: True,
    "unit": _named("unit"),
    "string": _named("string"),
    "i64": _integer_of("i64"),
    "array": _is_array(64),
    "i64s": _is_array(64),
    "array32": _is_array(32),
    "hint": _named("xegpu.cache_hint"),
    "layout": _named("xegpu.layout", "xegpu.slice"),
    "memory_space": _named("xegpu.memory_space"),
    "fence_scope": _named("xegpu.fence_scope"),
    "shuffle_mode": lambda found: "lane_shuffle_mode" in str(found),
    "atomic_kind": lambda found: _KIND.fullmatch(str(found)) is not None,
    "cmpi": lambda found: _CMPI.fullmatch(str(found)) is not None,
    "cmpf": lambda found: _CMPF.fullmatch(str(found)) is not None,
    "integer": _named("integer"),
    "list": _named("array"),
    "affine_map": _named("affine_map"),
    "kind": _named("vector.kind"),
    "fastmath": _named("arith.fastmath", "llvm.fastmath"),
    "overflow": _named("arith.overflow", "llvm.overflow"),
    "punctuation": _named("vector.punctuation"),
}
"""What an attribute must be, by a short name."""


def symbols_of(module: Operation) -> dict[str, Operation]:
    """The operations of a module that have a name, the first of each name.

    >>> from xdsl.dialects.builtin import ModuleOp
    >>> symbols_of(ModuleOp([]))
    {}
    """
    found: dict[str, Operation] = {}
    for region in module.regions:
        for block in region.blocks:
            for operation in block.ops:
                named: Any = property_of(operation, "sym_name")
                if named is not None:
                    found.setdefault(named.data, operation)
    return found


class Subject:
    """An operation as its rules see it: types by the names of its signature, attributes by theirs.

    Operations are seen this way, and not through the fields of their classes, because a wrong one may have too few operands,
    and because an operation that no dialect here declares has rules too.

    >>> from xdsl.dialects.test import TestOp
    >>> Subject(TestOp(), "test.op", 22, None).attribute("packed") is None
    True
    """

    __slots__ = ("_groups", "llvm", "name", "operation", "signature", "symbols", "target")

    def __init__(
        self,
        operation: Operation,
        name: str,
        llvm: int,
        signature: Signature | None,
        target: TargetInfo | None = None,
        symbols: dict[Operation, dict[str, Operation]] | None = None,
    ) -> None:
        self.operation = operation
        self.name = name
        self.llvm = llvm
        self.signature = signature
        self.target = target
        self.symbols: dict[Operation, dict[str, Operation]] = {} if symbols is None else symbols
        self._groups: dict[str, tuple[Any, ...]] | None = None

    def attribute(self, name: str) -> Attribute | None:
        """A property, wherever it was written; None without it.

        >>> from xdsl.dialects.builtin import UnitAttr
        >>> from xdsl.dialects.test import TestOp
        >>> Subject(TestOp(attributes={"packed": UnitAttr()}), "test.op", 22, None).attribute("packed")
        UnitAttr()
        """
        return property_of(self.operation, name)

    def values(self, name: str) -> tuple[Any, ...]:
        """The values of a group of operands or results.

        >>> from xdsl.dialects.builtin import f32
        >>> from xdsl.dialects.test import TestOp
        >>> signature = Signature("x", results=(Group("r"),))
        >>> len(Subject(TestOp(result_types=[f32]), "x", 22, signature).values("r"))
        1
        """
        if self._groups is None:
            self._groups = {}
            signature, operation = self.signature, self.operation
            if signature is not None:
                for groups, values in (
                    (signature.operands, operation.operands),
                    (signature.results, operation.results),
                ):
                    position = 0
                    for group, size in zip(groups, signature.sizes(self, groups, len(values)), strict=False):
                        self._groups[group.name] = tuple(values[position : position + size])
                        position += size
        return self._groups.get(name, ())

    def find(self, symbol: str) -> Operation | None:
        """The operation that a symbol names, in the nearest module around; None without one.

        >>> from xdsl.dialects.test import TestOp
        >>> Subject(TestOp(), "test.op", 22, None).find("f") is None
        True
        """
        around = self.operation.parent_op()
        while around is not None:
            if name_of(around) in ("builtin.module", "gpu.module"):
                known = self.symbols.get(around)
                if known is None:
                    known = self.symbols[around] = symbols_of(around)
                if symbol in known:
                    return known[symbol]
            around = around.parent_op()
        return None

    def type(self, name: str) -> Any:
        """The type of the first value of a group; None where it has no values.

        >>> from xdsl.dialects.builtin import f32
        >>> from xdsl.dialects.test import TestOp
        >>> signature = Signature("x", results=(Group("r"),))
        >>> Subject(TestOp(result_types=[f32]), "x", 22, signature).type("r")
        Float32Type()
        """
        found = self.values(name)
        return found[0].type if found else None


@lru_cache(maxsize=4096)
def signature_of(name: str, llvm: int) -> Signature | None:
    """The signature of an operation in a version of LLVM, from its row in the table; None where none is known.

    >>> signature_of("vector.step", 24).results[0].words
    'vector of index or signless integer of at least 8 bits values of ranks 1'
    >>> signature_of("nosuch.op", 22) is None
    True
    """
    row = row_of(name)
    if row is None or llvm not in row.versions:
        return None
    shape = row.shape.signed(llvm)
    attributes = tuple((f"{one.name}{'!' * one.required}", one.word) for one in shape.attributes)
    segments = shape.has("AttrSizedOperandSegments")
    return Signature(name, _groups(shape.operands, llvm), _groups(shape.results, llvm), attributes, segments)


def _groups(values: Sequence[Value], llvm: int) -> tuple[Group, ...]:
    return tuple(Group(one.name, said(one.words, llvm), one.count) for one in values)
