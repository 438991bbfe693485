"""Calls of functions on spread values: their bodies stand in the place of the calls before anything is lowered.

What layout an argument has is decided at each call. So a function that is called twice may become two texts:

>>> from layoutalg.ir import read_module
>>> module = read_module('''gpu.module @m {
...   func.func private @twice(%x: vector<8x16xf32>) -> vector<8x16xf32> {
...     %y = arith.addf %x, %x : vector<8x16xf32>
...     func.return %y : vector<8x16xf32> }
...   gpu.func @k(%a: vector<8x16xf32>) kernel {
...     %b = func.call @twice(%a) : (vector<8x16xf32>) -> vector<8x16xf32>
...     gpu.return } }''')
>>> inline_calls(module)
()
>>> [op.name for op in module.walk()][2:]
['gpu.func', 'arith.addf', 'gpu.return']

A function that calls itself, has several blocks, or is not there is a finding; so is a module that would become too large,
which is counted from the calls before anything is written. Functions on numbers stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import TensorType, VectorType
from xdsl.ir import Operation, SSAValue
from xdsl.traits import SymbolTable

from layoutalg.ir import Finding, place_of
from layoutalg.ir.dialects.func import CallOp, FuncOp
from layoutalg.ir.dialects.gpu import FuncOp as GpuFuncOp

__all__ = ["inline_calls", "spread_calls"]

_MOST_OPERATIONS = 1 << 16
"""More operations than these are not put in the place of calls."""


def spread_calls(module: Operation) -> list[CallOp]:
    """The calls in kernels that pass vectors or tensors."""
    return [call for kernel in module.walk() if isinstance(kernel, GpuFuncOp) for call in _spread_in(kernel)]


def inline_calls(module: Operation) -> tuple[Finding, ...]:
    """Put the bodies of functions on spread values in the place of their calls, and drop what is not called any more.

    The module is changed in place; findings say what could not be put in.
    """
    open_calls = spread_calls(module)
    callees, findings = _planned(open_calls)
    if findings:
        return tuple(findings)
    inlined: set[Operation] = set(callees.values())
    while open_calls:
        call = open_calls.pop()
        open_calls += _put_in(call, callees)
    _drop(module, inlined)
    return ()


def _planned(calls: Sequence[CallOp]) -> tuple[dict[Operation, FuncOp], list[Finding]]:
    """What each call calls, in functions that are called too, and why calls cannot be replaced: nothing is written for it."""
    callees: dict[Operation, FuncOp] = {}
    findings: list[Finding] = []
    sizes: dict[Operation, int] = {}
    """How many operations stand in the place of a call of a function, with those of its own calls; 0 while that is open."""
    for first in calls:
        path: list[tuple[CallOp, Iterator[CallOp]]] = [(first, iter((first,)))]
        while path:
            around, rest = path[-1]
            call = next(rest, None)
            if call is None:
                path.pop()
                if path:
                    sizes[callees[around]] = _size(callees[around], callees, sizes)
                continue
            callee, problem = _callee(call)
            if callee is not None and sizes.get(callee) == 0:
                callee, problem = None, "calls a function that calls itself, on spread values: write it as a loop"
            if callee is None:
                findings.append(Finding("lower.call", problem, call.name, place_of(call)))
                continue
            callees[call] = callee
            if callee not in sizes:
                sizes[callee] = 0
                path.append((call, iter(_spread_in(callee))))
    if not findings and sum(sizes[callees[call]] for call in calls) > _MOST_OPERATIONS:
        largest = max(calls, key=lambda call: sizes[callees[call]])
        message = f"puts more than {_MOST_OPERATIONS} operations in the place of calls"
        findings.append(Finding("lower.call", message, largest.name, place_of(largest)))
    return callees, findings


def _spread_in(function: Operation) -> list[CallOp]:
    return [call for call in function.walk() if isinstance(call, CallOp) and _passes_vectors(call)]


def _size(function: FuncOp, callees: dict[Operation, FuncOp], sizes: dict[Operation, int]) -> int:
    """The operations of a function, and those of what it calls; no more than one beyond the most that are put in."""
    own = sum(1 for _ in function.walk())
    inner = (sizes[callees[call]] for call in _spread_in(function) if call in callees)
    return min(own + sum(inner), _MOST_OPERATIONS + 1)


def _passes_vectors(call: Operation) -> bool:
    return any(isinstance(value.type, VectorType | TensorType) for value in (*call.operands, *call.results))


def _callee(call: CallOp) -> tuple[FuncOp | None, str]:
    """The function that is called, or why its body cannot be put in."""
    name = call.callee.root_reference.data
    around = call.parent_op()
    while around is not None:
        found = SymbolTable.lookup_symbol(around, name) if around.has_trait(SymbolTable) else None
        if isinstance(found, FuncOp):
            blocks = len(found.body.blocks)
            if blocks == 1:
                return found, ""
            reason = "is not in this module" if not blocks else "has branches between blocks"
            return None, f"calls @{name} on spread values, which {reason}"
        around = around.parent_op()
    return None, f"calls @{name} on spread values, which is not in this module"


def _put_in(call: CallOp, callees: dict[Operation, FuncOp]) -> list[CallOp]:
    """The body of a function before its call, and its results in the place of the call's; gives the calls that came with it."""
    body = callees[call].body.blocks[0]
    known: dict[SSAValue, SSAValue] = dict(zip(body.args, call.operands, strict=True))
    block = call.parent_block()
    made: list[CallOp] = []
    for operation in body.ops:
        if operation is body.last_op:
            break
        copy = operation.clone(known)
        for old, new in zip(operation.walk(), copy.walk(), strict=True):
            new.location = old.location
            if isinstance(new, CallOp) and old in callees:  # what a name means is decided where it stands
                callees[new] = callees[old]
                made.append(new)
        if block is not None:
            block.insert_op_before(copy, call)
    end = body.last_op
    for result, value in zip(call.results, () if end is None else end.operands, strict=True):
        result.replace_all_uses_with(known.get(value, value))
    call.detach()
    call.erase()
    return made


def _drop(module: Operation, inlined: set[Operation]) -> None:
    """Take functions out whose calls are gone: those that are left were called by nobody but kernels."""
    called = {
        operation.callee.root_reference.data
        for operation in module.walk()
        if isinstance(operation, CallOp) and not _within(operation, inlined)
    }
    for function in inlined:
        if isinstance(function, FuncOp) and function.sym_name.data not in called:
            function.detach()
            function.erase()


def _within(operation: Operation, functions: set[Operation]) -> bool:
    around = operation.parent_op()
    while around is not None:
        if around in functions:
            return True
        around = around.parent_op()
    return False
