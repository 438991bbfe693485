"""Operations written into a module: what `conversion.lowering` writes as text becomes operations at a place of the module.

The steps of a conversion are written by a `Writer`, one line of text for each operation. An `Insertion` is a writer whose lines
are operations at once. Every form of line (`arith.addi %s, %s : i32`) is read once in a process; after that the operation is
copied with other operands, twenty times as fast as reading it again.

>>> from layoutalg.ir import read_module, write_module
>>> module = read_module("func.func @f(%x: i32) { func.return }")
>>> function = module.body.block.first_op
>>> insertion = Insertion(function.body.block)
>>> x = insertion.taken(function.body.block.args[0])
>>> named = insertion.value("arith.addi %s, %s : i32", (x, x), "i32")
>>> named.name = "twice"
>>> insertion.settle()
>>> print(write_module(module).splitlines()[2].strip())
%twice = arith.addi %x, %x : i32

The law: the operations are those that reading the writer's text would give, in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import lru_cache

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.hints import isa

from layoutalg.conversion.lowering.writer import Value, Writer
from layoutalg.core.errors import LayoutError
from layoutalg.ir import read_module

__all__ = ["Insertion"]

_FORMS = 1 << 13
_CALL = re.compile(r"llvm\.call ((?:\w+ )?@[\w$.-]+)\(.*\)")
"""The call of a function, by name, that gives nothing back: its calling convention and name."""


class Insertion(Writer):
    """A writer whose lines become operations of a block: before one of its operations, or at its beginning.

    At the beginning, what is written later stands after what was written before.
    """

    def __init__(self, block: Block, before: Operation | None = None) -> None:
        super().__init__()
        self._block = block
        self._before = before
        self._last: Operation | None = None
        """At the beginning of a block: what was written last."""
        self._known: dict[Value, SSAValue] = {}

    def taken(self, value: SSAValue) -> Value:
        """A value of the module, as the writer's lines name it."""
        kind = value.type
        if isa(kind, VectorType[Attribute]):
            made = Value(str(kind.get_element_type()), kind.element_count())
        else:
            made = Value(str(kind))
        self._known[made] = value
        return made

    def given(self, value: Value) -> SSAValue:
        """The value of the module that a line made."""
        return self._known[value]

    def lend(self, other: Insertion) -> None:
        """Let lines of another place use the values of this one."""
        other._known = self._known

    def value(self, form: str, operands: Sequence[Value], element: str, size: int | None = None) -> Value:
        """An operation with one result."""
        made = Value(element, size)
        self.values(form, operands, (made,))
        return made

    def values(self, form: str, operands: Sequence[Value], results: Sequence[Value]) -> None:
        """An operation with several results."""
        operation = self._inserted(form, operands)
        self._known.update(zip(results, operation.results, strict=True))

    def do(self, form: str, operands: Sequence[Value] = ()) -> None:
        """An operation without a result."""
        self._inserted(form, operands)

    @contextmanager
    def block(self, form: str, operands: Sequence[Value]) -> Generator[None]:
        """An operation with a region: what is written inside the `with` stands in it."""
        operation = self._inserted(form + "}", operands)
        outside = self._block, self._before, self._last
        self._block = operation.regions[0].blocks[0]
        self._before, self._last = self._block.last_op, None
        yield
        self._block, self._before, self._last = outside

    def settle(self) -> None:
        """Give the values the names that the writer has for them; names are unique when the module is written."""
        for named, value in self._known.items():
            if named.name is not None and value.name_hint is None:
                value.name_hint = named.name

    def _inserted(self, form: str, operands: Sequence[Value]) -> Operation:
        values = [self._known[operand] for operand in operands]
        template = _template(form, tuple([str(value.type) for value in values]))
        block = template.parent_block()
        operation = template.clone(dict(zip(block.args if block else (), values, strict=True)))
        following = self._before
        if following is None:
            following = self._block.first_op if self._last is None else self._last.next_op
            self._last = operation
        if following is None:
            self._block.add_op(operation)
        else:
            operation.location = following.location
            self._block.insert_op_before(operation, following)
        return operation


@lru_cache(maxsize=_FORMS)
def _template(form: str, kinds: tuple[str, ...]) -> Operation:
    """The operation of a form, in a function whose arguments are its operands."""
    arguments = ", ".join([f"%a{number}: {kind}" for number, kind in enumerate(kinds)])
    line = form % tuple([f"%a{number}" for number in range(len(kinds))]) if kinds else form
    call = _CALL.match(line)  # only a function that the module has can be called
    declared = "" if call is None else f"llvm.func {call[1]}({', '.join(kinds)})\n"
    module = read_module(f"{declared}func.func @f({arguments}) {{\n{line}\nfunc.return\n}}")
    made = next((op for op in module.walk() if op.parent_op() not in (None, module)), None)
    if made is None:
        raise LayoutError(f"{line}: expected an operation")
    return made
