"""Values that become several values, followed through loops and branches.

LLVM 22 keeps the place of a block in its descriptor, and a loop carries the descriptor:

    %t = xegpu.create_nd_tdesc %m[%i, 0]
    scf.for ... iter_args(%d = %t) { load_nd %d; %n = update_nd_offset %d, [0, 16]; yield %n }

LLVM 23 and 24 keep it beside: the descriptor says which matrix, and every load says where. So a descriptor becomes its *parts*,
here (%t', %i, 0), and the loop carries those parts that change:

    %t' = xegpu.create_nd_tdesc %m
    scf.for ... iter_args(%c = 0) { load_nd %t'[%i, %c]; %n = addi %c, 16; yield %n }

A part is a value or, while it is known, a number. What a region yields unchanged is not carried.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, IndexType, IntegerAttr, VectorType, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.hints import isa

from layoutalg.ir.dialects import known_dialects
from layoutalg.ir.findings import Finding
from layoutalg.ir.places import place_of

__all__ = ["Carried", "Part", "Parts", "Rewrite", "vector_shape"]

Part: TypeAlias = SSAValue | int
Parts: TypeAlias = tuple[Part, ...]
Rewrite: TypeAlias = Callable[["Carried", Operation], None]

_INDEX = IndexType()
_PARTED = ("xegpu.update_nd_offset", "xegpu.create_tdesc", "xegpu.update_offset")
"""Operations whose results have parts, and that go when nothing takes the results."""


def vector_shape(kind: Attribute) -> tuple[int, ...]:
    """The shape of a vector type; () for a scalar.

    >>> vector_shape(VectorType(_INDEX, [16, 8])), vector_shape(_INDEX)
    ((16, 8), ())
    """
    return kind.get_shape() if isa(kind, VectorType[Attribute]) else ()


class Carried:
    """The parts of values while a module is rewritten from top to bottom, with what could not be said.

    `rewrites` has a function for each operation (by name) that makes or uses such values; `starts` gives the parts of a value
    that comes from outside, as the argument of a function does, or None. The operations of `left` stay as they are.

    >>> carried = Carried({}, lambda value: None, "LLVM 24")
    >>> carried.sum(None, 3, 4), carried.findings
    (7, [])
    """

    def __init__(
        self,
        rewrites: Mapping[str, Rewrite],
        starts: Callable[[SSAValue], Parts | None],
        source: str,
        left: Collection[Operation] = (),
    ) -> None:
        self.rewrites = rewrites
        self.starts = starts
        self.source = source
        self.left = left
        self.parts: dict[SSAValue, Parts] = {}
        self.findings: list[Finding] = []
        self._context = known_dialects()
        self._replaced_ones: list[Operation] = []

    def say(self, op: Operation, rule: str, message: str, *notes: str) -> None:
        """Note what has no counterpart in the version.

        >>> from xdsl.dialects.test import TestOp
        >>> carried = Carried({}, lambda value: None, "LLVM 24")
        >>> carried.say(TestOp(), "migrate.example", "has no counterpart")
        >>> print(carried.findings[0])
        error: 'test.op' op has no counterpart [LLVM 24: migrate.example]
        """
        self.findings.append(Finding(rule, message, op.name, place_of(op), self.source, notes=notes))

    # Making operations: `before` is the operation that they precede.

    def made(
        self,
        before: Operation,
        name: str,
        operands: Sequence[SSAValue | Sequence[SSAValue]],
        types: Sequence[Attribute],
        properties: Mapping[str, Attribute] | None = None,
    ) -> Operation:
        """A new operation before another one, which it takes its place in the text from.

        >>> from layoutalg.ir import read_module
        >>> module = read_module("%c = arith.constant 16 : index")
        >>> carried = Carried({}, lambda value: None, "LLVM 24")
        >>> carried.made(module.body.block.first_op, "gpu.barrier", [], []).name
        'gpu.barrier'
        """
        declared: Any = self._context.get_op(name)
        made: Operation = declared.build(operands=operands, result_types=types, properties=dict(properties or {}))
        made.location = before.location
        block = before.parent_block()
        if block is not None:
            block.insert_op_before(made, before)
        return made

    def value(self, before: Operation, part: Part) -> SSAValue:
        """A part as a value of type index; a number becomes a constant.

        >>> from layoutalg.ir import read_module
        >>> module = read_module("%c = arith.constant 16 : index")
        >>> Carried({}, lambda value: None, "LLVM 24").value(module.body.block.first_op, 3).owner.name
        'arith.constant'
        """
        if isinstance(part, SSAValue):
            return part
        made = self.made(before, "arith.constant", [], [_INDEX], {"value": IntegerAttr(part, _INDEX)}).results[0]
        made.name_hint = f"c{part}" if part >= 0 else None
        return made

    def sum(self, before: Operation | None, left: Part, right: Part) -> Part:
        """Two parts added; numbers are added at once.

        >>> Carried({}, lambda value: None, "LLVM 24").sum(None, 0, 16)
        16
        """
        if isinstance(left, int) and isinstance(right, int):
            return left + right
        if left == 0 or right == 0:
            return right if left == 0 else left
        if before is None:
            raise TypeError("values are added before an operation")
        terms = [self.value(before, left), self.value(before, right)]
        return self.made(before, "arith.addi", terms, [terms[0].type], self.no_overflow_flags()).results[0]

    def product(self, before: Operation, left: Part, right: int) -> Part:
        """A part times a number.

        >>> from xdsl.dialects.test import TestOp
        >>> Carried({}, lambda value: None, "LLVM 24").product(TestOp(), 3, 5)
        15
        """
        if isinstance(left, int) or right == 1:
            return left * right if isinstance(left, int) else left
        terms = [left, self.value(before, right)]
        return self.made(before, "arith.muli", terms, [_INDEX], self.no_overflow_flags()).results[0]

    def no_overflow_flags(self) -> dict[str, Attribute]:
        """The property that integer additions and products have when they say nothing about overflow.

        >>> list(Carried({}, lambda value: None, "LLVM 24").no_overflow_flags())
        ['overflowFlags']
        """
        from layoutalg.ir.dialects.flags import IntegerOverflowAttr

        return {"overflowFlags": IntegerOverflowAttr("none")}

    def numbers(self, before: Operation, count: int) -> SSAValue:
        """The vector 0, 1, ... of so many indices.

        >>> from layoutalg.ir import read_module
        >>> first = read_module("%c = arith.constant 16 : index").body.block.first_op
        >>> print(Carried({}, lambda value: None, "LLVM 24").numbers(first, 3).type)
        vector<3xindex>
        """
        kind = VectorType(_INDEX, [count])
        numbers = DenseIntOrFPElementsAttr.from_list(kind, list(range(count)))
        return self.made(before, "arith.constant", [], [kind], {"value": numbers}).results[0]

    def mixed(self, parts: Sequence[Part]) -> tuple[list[SSAValue], DenseArrayBase]:
        """Parts as LLVM's lists have them: the values, and the numbers with a marker for each value.

        >>> Carried({}, lambda value: None, "LLVM 24").mixed([3, 16])[1].get_values()
        (3, 16)
        """
        marker = -(1 << 63)
        values = [part for part in parts if isinstance(part, SSAValue)]
        return values, DenseArrayBase.from_list(i64, [part if isinstance(part, int) else marker for part in parts])

    # The way through the text.

    def module(self, module: Operation) -> None:
        """Rewrite everything in a module, and remove what nothing uses any more.

        >>> from xdsl.dialects.builtin import ModuleOp
        >>> Carried({}, lambda value: None, "LLVM 24").module(ModuleOp([]))
        """
        for region in module.regions:
            self.region(region)
        for op in self._replaced_ones:
            op.erase(safe_erase=False)
        for op in reversed(list(module.walk())):
            if op.name in _PARTED and not any(result.uses for result in op.results):
                op.detach()
                op.erase()

    def region(self, region: Region) -> None:
        """Rewrite everything in a region.

        >>> Carried({}, lambda value: None, "LLVM 24").region(Region(Block()))
        """
        for block in region.blocks:
            for argument in block.args:
                self._start(argument)
            self._block(block)

    def _start(self, value: SSAValue) -> None:
        if value not in self.parts:
            found = self.starts(value)
            if found is not None:
                self.parts[value] = found

    def _block(self, block: Block) -> None:
        for op in list(block.ops):
            if op in self.left:
                self.say(
                    op, "migrate.malformed", "has other operands, results or attributes than its dialect says; it stays"
                )
            elif op.name in self.rewrites:
                self.rewrites[op.name](self, op)
            elif not _passes_values(op):
                self._other(op)
            elif op.name == "scf.for":
                self._for(op)
            elif op.name == "scf.if":
                self._if(op)
            else:
                self._while(op)

    def _other(self, op: Operation) -> None:
        for result in op.results:
            self._start(result)
        for region in op.regions:
            self.region(region)
        if op.name not in ("scf.yield", "scf.condition"):
            self._escapes(op)

    def _escapes(self, op: Operation) -> None:
        """An operation that nobody rewrites takes a descriptor: it may have it where the place is still the first one."""
        for number, operand in enumerate(op.operands):
            parts = self.parts.get(operand)
            if parts is None:
                continue
            base, *rest = parts
            if isinstance(base, SSAValue) and base.type == operand.type:
                op.operands[number] = base
                if all(part == 0 for part in rest):
                    continue
            name = f"%{operand.name_hint}" if operand.name_hint else f"operand {number}"
            self.say(
                op,
                "migrate.descriptor_passed_on",
                f"takes the descriptor {name} with its offsets; in {self.source} a descriptor has none",
                "pass the offsets beside it, and give them to the loads and stores",
            )

    def _flat(self, before: Operation, values: Sequence[SSAValue]) -> list[SSAValue]:
        return [self.value(before, part) for value in values for part in self.parts.get(value, (value,))]

    def _group(self, values: Sequence[SSAValue], flat: Sequence[Part], like: Sequence[Parts | None]) -> None:
        """Give each value its parts out of the flat list; a value without parts is replaced by its only one."""
        start = 0
        for value, parts in zip(values, like, strict=True):
            count = 1 if parts is None else len(parts)
            own = tuple(flat[start : start + count])
            start += count
            if parts is not None:
                self.parts[value] = own
            elif isinstance(own[0], SSAValue):
                value.replace_all_uses_with(own[0])

    def _moved(self, old: Block, fixed: int, like: Sequence[Parts | None], types: Sequence[Attribute]) -> Block:
        """A block with the operations of another; its arguments from `fixed` on are the flat ones."""
        new = Block(arg_types=[*(argument.type for argument in old.args[:fixed]), *types])
        for before, after in zip(old.args[:fixed], new.args, strict=False):
            after.name_hint = before.name_hint
            before.replace_all_uses_with(after)
        self._group(old.args[fixed:], new.args[fixed:], like)
        for argument, parts in zip(old.args[fixed:], like, strict=True):
            if parts is None:
                continue
            for part in self.parts[argument]:
                if isinstance(part, SSAValue):
                    part.name_hint = argument.name_hint
        for op in list(old.ops):
            op.detach()
            new.add_op(op)
        return new

    def _for(self, op: Operation) -> None:
        inits = list(op.operands[3:])
        like = [self.parts.get(value) for value in inits]
        if all(parts is None for parts in like):
            self._other(op)
            return
        flat = self._flat(op, inits)
        body = self._moved(op.regions[0].block, 1, like, [value.type for value in flat])
        self._block(body)
        ending = body.last_op
        if ending is None:
            return
        yielded = self._flat(ending, ending.operands)
        kept = [i for i, value in enumerate(yielded) if value is not body.args[1 + i]]
        parts: list[Part] = list(flat)
        for i in reversed(range(len(flat))):
            if i not in kept:
                body.args[1 + i].replace_all_uses_with(flat[i])
                body.erase_arg(body.args[1 + i])
        ending.operands = [yielded[i] for i in kept]
        carried = [flat[i] for i in kept]
        new = type(op).create(
            operands=[*op.operands[:3], *carried],
            result_types=[value.type for value in carried],
            properties=op.properties,
            attributes=op.attributes,
            regions=[Region(body)],
        )
        self._replaced(op, new, like, kept, parts)

    def _if(self, op: Operation) -> None:
        for region in op.regions:
            self.region(region)
        endings = [region.block.last_op for region in op.regions if region.blocks]
        if not op.results or len(endings) != 2 or endings[0] is None or endings[1] is None:
            return
        both = [
            (self.parts.get(a), self.parts.get(b))
            for a, b in zip(endings[0].operands, endings[1].operands, strict=True)
        ]
        like = [a for a, _ in both]
        if all(a is None for a in like):
            return
        flat = [self._flat(ending, ending.operands) for ending in endings if ending is not None]
        same = [a is b for a, b in zip(*flat, strict=True)]
        kept = [i for i, one in enumerate(same) if not one]
        for ending, values in zip(endings, flat, strict=True):
            if ending is not None:
                ending.operands = [values[i] for i in kept]
        regions = [op.detach_region(op.regions[0]) for _ in range(2)]
        new = type(op).create(
            operands=[op.operands[0]],
            result_types=[flat[0][i].type for i in kept],
            properties=op.properties,
            attributes=op.attributes,
            regions=regions,
        )
        self._replaced(op, new, like, kept, list(flat[0]))

    def _while(self, op: Operation) -> None:
        like = [self.parts.get(value) for value in op.operands]
        if all(parts is None for parts in like):
            self._other(op)
            return
        inits = self._flat(op, op.operands)
        before = self._moved(op.regions[0].block, 0, like, [value.type for value in inits])
        self._block(before)
        condition = before.last_op
        if condition is None:
            return
        passed = list(condition.operands[1:])
        passed_like = [self.parts.get(value) for value in passed]
        flat = self._flat(condition, passed)
        condition.operands = [condition.operands[0], *flat]
        after = self._moved(op.regions[1].block, 0, passed_like, [value.type for value in flat])
        self._block(after)
        ending = after.last_op
        if ending is not None:
            ending.operands = self._flat(ending, ending.operands)
        new = type(op).create(
            operands=inits,
            result_types=[value.type for value in flat],
            properties=op.properties,
            attributes=op.attributes,
            regions=[Region(before), Region(after)],
        )
        self._replaced(op, new, passed_like, list(range(len(flat))), list(flat))

    def _replaced(
        self, op: Operation, new: Operation, like: Sequence[Parts | None], kept: Sequence[int], parts: list[Part]
    ) -> None:
        """Put the new operation in the old one's place; its results are the parts that are kept."""
        new.location = op.location
        block = op.parent_block()
        if block is None:
            return
        block.insert_op_before(new, op)
        for i, result in zip(kept, new.results, strict=True):
            parts[i] = result
        self._group(op.results, parts, like)
        for old, own in zip(op.results, (self.parts.get(result) for result in op.results), strict=True):
            for part in own or ():
                if isinstance(part, SSAValue) and part.owner is new:
                    part.name_hint = old.name_hint
        op.detach()
        self._replaced_ones.append(op)  # what comes later still asks for the parts of its results


def _passes_values(op: Operation) -> bool:
    """Whether a loop or a branch passes on as many values as it has; where it does not, the verifier says so.

    >>> from layoutalg.ir import read_module
    >>> text = "func.func @f(%c: i1, %d: i32) { %x = scf.if %c -> (i32) { scf.yield %d : i32 } else { scf.yield } return }"
    >>> [branch] = [op for op in read_module(text).walk() if op.name == "scf.if"]
    >>> _passes_values(branch)
    False
    """
    if op.name not in ("scf.for", "scf.if", "scf.while") or any(len(region.blocks) > 1 for region in op.regions):
        return False
    blocks = [region.blocks[0] for region in op.regions if region.blocks]
    taken = [len(block.args) for block in blocks]
    given = [len(block.last_op.operands) if block.last_op is not None else -1 for block in blocks]
    ends = [block.last_op.name if block.last_op is not None else "" for block in blocks]
    count, before = len(op.results), len(op.operands)
    if op.name == "scf.for":
        return ends == ["scf.yield"] and taken == [before - 2] and given == [before - 3] == [count]
    if op.name == "scf.if":
        whole = not count and all(end in ("scf.yield", "") for end in ends)
        return whole or (ends == ["scf.yield"] * 2 and given == [count] * 2)
    return ends == ["scf.condition", "scf.yield"] and taken == [before, count] and given == [count + 1, before]
