"""How operations are lowered: one function for each name, and what all of them use.

    @lowers("vector.transpose")
    def transpose(op: Operation, kernel: Kernel) -> None:
        ...

A rule asks for its operands as it needs them, writes, and says what the results are:

- `kernel.needed(op, number, layout)` is operand `number` in a layout: as it is, with its registers renamed, or exchanged;
- `kernel.take(op, fragment, result, relation)` are the operand's registers that a result is made of;
- `kernel.give(result, pieces)` says what a result is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from layoutalg.conversion import convert
from layoutalg.conversion.ends import in_order
from layoutalg.conversion.lowering.writer import Value
from layoutalg.conversion.price import price
from layoutalg.core.errors import CompositionError, LayoutError
from layoutalg.core.layout import Layout
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.notation import Machine
from layoutalg.flow.graph import flow_of
from layoutalg.flow.relations import needed, relation_of, shape_of
from layoutalg.flow.value_candidates import stated_layout
from layoutalg.flow.written_layouts import called, statements_of
from layoutalg.ir.dialects.arith import ConstantOp
from layoutalg.ir.findings import Finding
from layoutalg.ir.places import place_of
from layoutalg.lowering.exchanges import exchange, moved_bits
from layoutalg.lowering.fragments import Fragment, picked, piece_sizes, regrouped
from layoutalg.lowering.kernels import Exchanged, KernelText, Refused, refuse
from layoutalg.lowering.line_template import passed_on
from layoutalg.lowering.liveness import Live
from layoutalg.lowering.operation_modules import SUBJECTS
from layoutalg.lowering.registers import positions, sizes_of
from layoutalg.lowering.repeated import has_all_lanes
from layoutalg.lowering.value_layouts import ValueLayouts

if TYPE_CHECKING:
    from layoutalg.lowering.block_descriptors import BlockDescriptor
    from layoutalg.lowering.regions import Passed

__all__ = ["Kernel", "Rule", "bare_kernel", "lowers", "registers_of"]

Rule = Callable[[Any, "Kernel"], None]
_R = TypeVar("_R", bound=Rule)
_RULES: dict[str, Rule] = {}


def lowers(*names: str, spread: str = "") -> Callable[[_R], _R]:
    """Register the function that lowers operations of these names.

    With `spread`, the function is asked only where the value of that name is spread over lanes; else the operation stays.
    """

    def register(function: _R) -> _R:
        def rule(op: Any, kernel: Kernel) -> None:
            if kernel.is_spread(getattr(op, spread)):
                function(op, kernel)
            else:
                kernel.pass_on(op)

        for name in names:
            _RULES[name] = rule if spread else function
        return function

    return register


@cache
def _load() -> None:
    for subject in SUBJECTS:
        import_module(subject)


def registers_of(layout: Layout) -> int:
    """How many registers of a work-item a layout has."""
    return int(layout.axes.get("reg", 1))


def bare_kernel() -> Kernel:
    """A kernel without a source, to try what writes into one."""
    return Kernel("bare", Machine(lanes=16, subgroups=1), 1, ValueLayouts(flow_of(ModuleOp([]))))


class Kernel(KernelText):
    """A kernel's text, with the layouts of the values of its source.

    >>> from layoutalg.ir import read_module
    >>> from layoutalg.flow.graph import flow_of
    >>> module = read_module("gpu.barrier")
    >>> kernel = Kernel("k", Machine(lanes=16, subgroups=1), 1, ValueLayouts(flow_of(module)))
    >>> kernel.write_block(module.body.block)
    >>> kernel.writer.text()
    'gpu.barrier'
    """

    def __init__(
        self,
        name: str,
        machine: Machine,
        subgroups: int,
        held: ValueLayouts,
        *,
        target: str = "pvc",
        llvm: int = DEFAULT_LLVM,
    ) -> None:
        super().__init__(name, machine, subgroups, target=target, llvm=llvm)
        self.held = held
        self.descriptors: dict[SSAValue, BlockDescriptor] = {}
        """What the descriptors of the source describe."""
        self.making: dict[SSAValue, Layout] = {}
        """Values that are being made once more, in the layout that a use needs."""
        self.blocks: dict[Block, tuple[str, list[Passed]]] = {}
        """The labels of the blocks that are branched to, and how their arguments pass."""
        self.live: Live | None = None
        """What of the source is needed; everything where that is not known."""
        _load()

    def needs(self, value: SSAValue) -> bool:
        """Whether something that is written uses a value of the source."""
        return self.live is None or self.live.is_live(value)

    def is_spread(self, value: SSAValue) -> bool:
        """Whether a value is spread over work-items."""
        return value in self.held.flow

    def layout(self, op: Operation, value: SSAValue) -> Layout:
        """The layout of a value. Raises `Refused` where it has none."""
        if value in self.making:
            return self.making[value]
        found = self.held.of(value)
        if found is None:
            refuse(
                op,
                "layout",
                f"has a value of {value.type} without a layout",
                "state one (layout_result_0), or complete the module with layoutalg propagate",
            )
        return found.layout

    def stated(self, op: Operation, number: int) -> Layout | None:
        """The layout that an operation states for an operand, whole (see `ValueLayouts.taken`); None where it states none."""
        known = self.held.taken.get((op, number))
        if known is not None:
            return known
        value = op.operands[number]
        shape = shape_of(value)
        for statement in statements_of(op):
            if shape is not None and statement.number == number:
                return stated_layout(statement.attribute, shape, self.machine)
        return None

    def sizes(self, value: SSAValue, layout: Layout) -> tuple[int, ...]:
        """The pieces in which a value is held."""
        found = self.held.of(value)
        if found is not None and found.layout == layout:
            return found.sizes
        return piece_sizes(registers_of(layout))

    def number(self, value: SSAValue) -> Value | int:
        """A number of the source: itself, where it is a constant."""
        owner = value.owner
        number: Any = owner.value if isinstance(owner, ConstantOp) else None
        if isinstance(number, IntegerAttr):
            return int(number.value.data)
        return self.scalar(value)

    def give(self, result: SSAValue, layout: Layout, pieces: Sequence[Value]) -> None:
        """Say what a spread result is."""
        for piece in pieces:
            self.named(result, piece)
        self.fragments[result] = Fragment(layout, tuple(pieces))

    def write_block(self, block: Block) -> None:
        """Lower all operations of a block but the last, if that ends it."""
        for operation in block.ops:
            self.write(operation)

    def write(self, operation: Operation) -> None:
        """Lower one operation that is needed; what can't be is a finding, and what depends on it is left out."""
        if self.live is not None and not self.live.needs(operation):
            return
        try:
            self._write(operation)
        except Refused as refused:
            if refused.finding is not None:
                self.findings.append(refused.finding)
            elif not any(finding.level == "error" for finding in self.findings):
                message = "depends on a value that is not known at lane level"
                self.findings.append(Finding("lower.value", message, called(operation), place_of(operation)))
        except LayoutError as problem:
            self.findings.append(Finding("lower.layout", str(problem), operation.name, place_of(operation)))

    def _write(self, operation: Operation) -> None:
        rule = _RULES.get(operation.name)
        if rule is not None:
            rule(operation, self)
            return
        spread = any(self.is_spread(value) for value in (*operation.operands, *operation.results))
        if spread:
            _RULES["elementwise"](operation, self)
        elif operation.regions:
            refuse(operation, "operation", "has a region, and how it is lowered is not known")
        else:
            self.pass_on(operation)

    def pass_on(self, operation: Operation) -> None:
        """Write an operation on numbers, pointers and buffers as it stands."""
        operands = [self.scalar(value) for value in operation.operands]
        form = passed_on(operation, self.llvm)
        results = [Value(str(result.type), name=result.name_hint) for result in operation.results]
        self.writer.values(form.text, [operands[number] for number in form.order], results)
        self.scalars.update(zip(operation.results, results, strict=True))

    def needed(self, op: Operation, number: int, layout: Layout, sizes: Sequence[int] | None = None) -> list[Value]:
        """Operand `number` in a layout, in pieces of these sizes; an exchange that nobody wrote is a finding."""
        fragment = self.fragment(op.operands[number])
        return self.moved(op, fragment, layout, sizes, number=number)

    def moved(
        self,
        op: Operation,
        fragment: Fragment,
        layout: Layout,
        sizes: Sequence[int] | None = None,
        *,
        number: int | None = None,
        why: str = "",
    ) -> list[Value]:
        """A fragment in another layout of the same tensor: as it is, with its registers renamed, or exchanged.

        With `number` it is an operand that is not in the layout in which the operation needs it; `why` says another reason
        for an exchange that nobody wrote.
        """
        if fragment.layout == layout:
            return list(fragment.pieces) if sizes is None else regrouped(self.writer, fragment.pieces, sizes)
        wanted = tuple(sizes) if sizes is not None else piece_sizes(registers_of(layout))
        renamed = positions(fragment.layout, layout)
        if renamed is not None:
            return picked(self.writer, fragment.pieces, renamed, wanted)
        if number is not None:
            value = op.operands[number]
            if self.held.is_free(value):
                return regrouped(self.writer, self.made_again(value, layout), wanted)
            why = f"needs operand {number} in another layout than it has; it is exchanged there"
        return self.exchanged(op, fragment, layout, wanted, why)

    def made_again(self, value: SSAValue, layout: Layout) -> tuple[Value, ...]:
        """A value that work-items make themselves, in another layout: cheaper than any exchange."""
        before = self.fragments[value]
        self.making[value] = layout
        try:
            assert isinstance(value.owner, Operation)
            _RULES[value.owner.name](value.owner, self)
            return self.fragments[value].pieces
        finally:
            del self.making[value]
            self.fragments[value] = before

    def exchanged(
        self, op: Operation, fragment: Fragment, layout: Layout, sizes: Sequence[int], why: str = ""
    ) -> list[Value]:
        """A fragment in another layout, by the planned exchange; a finding says `why`, where the module does not ask for it.

        Where every work-item has what it needs already, and picks it by its numbers, nothing is exchanged, and nothing is said.
        """
        self._refuse_open_lanes(op, fragment.layout, layout)
        # Registers are renamed before and after: what is planned, and paid for, is an exchange between work-items.
        element, before, after = fragment.pieces[0].element, in_order(fragment.layout), in_order(layout)
        plan = convert(before, after, element_bits=moved_bits(element), target=self.target, portable=True)
        paid = price(before, after, None, element, target=self.target)
        stays = plan.kind in ("identity", "registers")
        made = Exchanged(place_of(op), op.name, fragment.layout, layout, plan, paid, written=not why)
        self.exchanges.append(made)
        if why and not stays:
            self.findings.append(
                Finding(
                    "lower.exchange",
                    f"{why} ({plan.kind}, {paid.text})",
                    op.name,
                    made.place,
                    level="warning",
                    notes=(f"from {fragment.layout.canonical()}", f"to   {layout.canonical()}"),
                )
            )
        pieces, renamed = fragment.pieces, positions(fragment.layout, before)
        if before != fragment.layout and renamed is not None:
            pieces = picked(self.writer, pieces, renamed, piece_sizes(registers_of(before)))
        if after == layout:
            return exchange(self, plan, pieces, sizes, op)
        made_in_order = exchange(self, plan, pieces, piece_sizes(registers_of(after)), op)
        renamed = positions(after, layout)
        return picked(self.writer, made_in_order, renamed or (), sizes)

    def _refuse_open_lanes(self, op: Operation, before: Layout, after: Layout) -> None:
        """An exchange with a value of which nobody says who has what would deal lanes out, which nobody has decided."""
        if not (has_all_lanes(before, self.lanes) or has_all_lanes(after, self.lanes)):
            return
        for value in (*op.operands, *op.results):
            if self.held.leaves_lanes(value):
                refuse(
                    op,
                    "lanes",
                    f"moves elements of {value.type} between lanes, and its layout leaves open which lane has what",
                    f"each lane would hold {self.layout(op, value)}",
                    "state lane_layout and lane_data, or let them be decided (--level lane, level='lane')",
                )

    def take(
        self, op: Operation, number: int, result: Layout, relation: Layout, sizes: Sequence[int] | None = None
    ) -> list[Value]:
        """The registers of operand `number` that those of a result in layout `result` are made of, one for one."""
        fragment = self.fragment(op.operands[number])
        wanted = tuple(sizes) if sizes is not None else piece_sizes(registers_of(result))
        found = positions(fragment.layout, result, relation)
        if found is not None:
            return picked(self.writer, fragment.pieces, found, wanted)
        try:
            layout = needed(relation, result)
        except CompositionError as problem:
            refuse(op, "relation", f"operand {number} in {fragment.layout}: {problem}")
        if sizes_of(layout) != sizes_of(fragment.layout) or any(layout.origins):
            refuse(
                op,
                "part",
                f"needs a part of operand {number} that its work-items do not hold",
                f"it has   {fragment.layout}",
                f"it needs {layout}",
            )
        pieces = self.moved(op, fragment, layout, number=number)
        found = positions(layout, result, relation)
        if found is None:
            refuse(op, "relation", f"operand {number} in {layout} does not give {result}")
        return picked(self.writer, pieces, found, wanted)

    def ties(self, op: Operation) -> dict[tuple[int, SSAValue], Layout]:
        """The relations of an operation's operands and results."""
        relation = relation_of(op)
        return {} if relation is None else {(tie.number, tie.result): tie.relation for tie in relation.ties}
