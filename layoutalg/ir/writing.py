"""MLIR text out: `write_module`, in the syntax of a version of LLVM.

Most operations are written the same way for LLVM 22, 23 and 24. Where they are not, the operation's syntax asks the
printer which version it writes for (`ModulePrinter.llvm`).

>>> from layoutalg.ir import read_module
>>> print(write_module(read_module("%c = arith.constant 16 : index")), end="")
builtin.module {
  %c = arith.constant 16 : index
}

The law: `write_module(read_module(text))` is a fixed point; writing what was written changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from io import StringIO
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, i1
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.printer import Printer

from layoutalg.core.errors import LayoutError
from layoutalg.core.llvm_versions import DEFAULT_LLVM, rules
from layoutalg.ir.dialects.unread import UnreadOp
from layoutalg.ir.versions import printed_for
from layoutalg.ir.well_formed import MALFORMED, is_well_formed

__all__ = ["ModulePrinter", "printed_for", "write_module"]


_ENUMS = ("xegpu.fence_scope", "xegpu.memory_space")
_LISTED = 100
"""Constants of more elements are written as strings of digits."""
_MARK = re.compile(r'"(?:[^"\\]|\\.)*"|%[\w$.-]+(?:#\d+)?|\{\.\.\.\}')
"""What is replaced in the text of an unread operation: a value's name, or the place of a region; strings are passed over."""


class ModulePrinter(Printer):
    """xDSL's printer, which knows the version of LLVM that will read the text.

    What could not be read is written as it stood, with the names that its values have here.

    >>> ModulePrinter(llvm=24).llvm
    24
    """

    def __init__(
        self, stream: StringIO | None = None, llvm: int = DEFAULT_LLVM, generic: Collection[Operation] = ()
    ) -> None:
        super().__init__(stream=stream)
        self.llvm = llvm
        self.generic = generic

    def print_ssa_value(self, value: SSAValue) -> str:
        """Write the name of a value; no other value that is visible has it, whatever the values are called in the text.

        xDSL calls the second `%a` `%a_1`, and does not ask whether another value is called `%a_1` already.

        >>> from layoutalg.ir import read_module
        >>> text = "%a = arith.constant 1 : i32 %a_1_0 = arith.addi %a, %a : i32 %a_0 = arith.addi %a_1_0, %a : i32"
        >>> print(write_module(read_module(text)).partition("\\n")[2], end="")
          %a = arith.constant 1 : i32
          %a_1 = arith.addi %a, %a : i32
          %a_2 = arith.addi %a_1, %a : i32
        }
        """
        if value in self._ssa_values:
            return super().print_ssa_value(value)
        hint = _NUMBERS.sub("", value.name_hint or "")
        if hint:
            number = self.ssa_names.get(hint, 0)
            name = f"{hint}_{number}" if number else hint
            while number and name in self.ssa_names:
                number += 1
                name = f"{hint}_{number}"
            self.ssa_names[hint] = number + 1
            if number:
                self.ssa_names[name] = 1
            self._ssa_values[value] = name
        return super().print_ssa_value(value)

    def print_attribute(self, attribute: Attribute) -> None:
        """Write an attribute; the enums of XeGPU are `#xegpu<memory_space slm>` until 23, `#xegpu.memory_space<slm>` in 24."""
        written: Any = attribute
        if attribute.name == DenseIntOrFPElementsAttr.name and written.get_element_type() == i1:
            self._print_truths(written)
            return
        in_angles = attribute.name in _ENUMS and rules(self.llvm).words_in_angles
        if not in_angles or not isinstance(attribute, EnumAttribute):
            super().print_attribute(written)
            return
        self.print_string(f"#{attribute.name}")
        with self.in_angle_brackets():
            attribute.print_parameter(self)

    def _print_truths(self, attribute: DenseIntOrFPElementsAttr[Any]) -> None:
        """A long list of truth values is a string of bits until LLVM 22, and of bytes from 23 on."""
        if len(attribute) <= _LISTED or attribute.is_splat():
            super().print_attribute(attribute)
            return
        truths = np.frombuffer(attribute.data.data, np.uint8) != 0
        data = truths.astype(np.uint8) if rules(self.llvm).truths_as_bytes else np.packbits(truths, bitorder="little")
        self.print_string(f'dense<"0x{data.tobytes().hex().upper()}"> : ')
        self.print_attribute(attribute.type)

    def print_op(self, op: Operation) -> None:
        """Write an operation; those of `generic` in generic form."""
        if isinstance(op, UnreadOp):
            self._print_results(op)
            self._print_unread(op)
        elif op in self.generic:
            outer, self.print_generic_format = self.print_generic_format, True
            super().print_op(op)
            self.print_generic_format = outer
        else:
            super().print_op(op)

    def print_region(
        self,
        region: Region,
        print_entry_block_args: bool = True,
        print_empty_block: bool = True,
        print_block_terminators: bool = True,
    ) -> None:
        """Write a region; arguments that the operation has written are not written again over an empty block."""
        entry = region.blocks.first
        written = entry is not None and bool(entry.args) and not print_entry_block_args
        super().print_region(region, print_entry_block_args, print_empty_block and not written, print_block_terminators)

    def _print_unread(self, op: UnreadOp) -> None:
        written = [] if op.names is None else [name.data for name in op.names]
        entry = [argument for body in op.bodies if body.blocks for argument in body.blocks[0].args]
        values: dict[str, SSAValue] = {f"%{argument.name_hint}": argument for argument in entry}
        values.update(zip(written, op.inputs, strict=False))
        bodies = iter(op.bodies)
        text, start = _obeyed_by_no_terminal(op.text.data), 0
        for found in _MARK.finditer(text):
            mark = found.group()
            if mark not in values and mark != "{...}":
                continue
            self.print_string(text[start : found.start()])
            start = found.end()
            body = None if mark in values else next(bodies, None)
            if mark in values:
                self.print_ssa_value(values[mark])
            elif body is not None:
                self.print_region(body, print_entry_block_args=not entry or f"%{entry[0].name_hint}" not in text)
            else:
                self.print_string(mark)
        self.print_string(text[start:])


def _obeyed_by_no_terminal(text: str) -> str:
    """A text without control characters: escaped as MLIR escapes them in strings, a space where they stand in none.

    >>> print(_obeyed_by_no_terminal('my.op "\\x1b[31m" // \\x1b[31m'))
    my.op "\\1B[31m" //  [31m
    """
    if _CONTROL.search(text) is None:
        return text
    escaped = _STRING.sub(lambda found: _CONTROL.sub(_hexadecimal, found.group()), text)
    return _CONTROL.sub(" ", escaped)


def _hexadecimal(found: re.Match[str]) -> str:
    return "".join(f"\\{byte:02X}" for byte in found.group().encode())


_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NUMBERS = re.compile(r"(_\d+)+$")
"""What xDSL takes from the end of a name when it reads it, once: `%a_1_0` would be written as `%a_1`, and read as `%a`."""


def write_module(module: Operation, *, llvm: int = DEFAULT_LLVM) -> str:
    """The text of a module (or of any operation) in the syntax of a version of LLVM, ending in a newline.

    Operations that are not as their dialect declares are written in the generic form.

    This translates nothing: an operation that the version does not have is written all the same (`migrate` is for that).

    >>> from layoutalg.ir import read_module
    >>> print(write_module(read_module("gpu.module @k { gpu.func @f(%p: i64) kernel { gpu.return } }")), end="")
    builtin.module {
      gpu.module @k {
        gpu.func @f(%p: i64) kernel {
          gpu.return
        }
      }
    }
    """
    version = rules(llvm).llvm
    try:
        return _written(module, version)
    except MALFORMED as problem:  # what is not as its dialect declares has no syntax of its own
        generic = {op for op in module.walk() if not is_well_formed(op)}
        if not generic:
            raise _cannot(problem) from problem
    try:
        return _written(module, version, generic)
    except MALFORMED as problem:
        raise _cannot(problem) from None


def _cannot(problem: BaseException) -> LayoutError:
    return LayoutError(f"the module cannot be written: {problem or type(problem).__name__}")


def _written(module: Operation, llvm: int, generic: Collection[Operation] = ()) -> str:
    stream = StringIO()
    ModulePrinter(stream, llvm, generic).print_op(module)
    return stream.getvalue() + "\n"
