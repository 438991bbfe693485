"""Inline assembly in vISA, Intel's virtual assembly: declarations of registers and moves between their regions.

    {
    .decl half v_type=G type=uw num_elts=32 align=GRF alias=<$1,0>
    mov (M1_NM, 16) $0(0,0)<2> half(0,1)<2;1,0>
    }

What is done is what the vISA manual says of `.decl` and `mov`. A variable is bytes; `name(row,column)` begins at a register and
an element in it; a region `<V;W,H>` has rows of W elements that are H apart, which begin V apart. An operand is the value of
all lanes, component by component: lane l of component c of a vector of words is word 16 * c + l, for 16 lanes. `M1_NM` means
that all lanes move, active or not. Other instructions are refused.

>>> text = ".decl a v_type=G type=uw num_elts=32 align=GRF\\nmov (M1_NM, 16) a(0,1)<2> $1(1,0)<2;1,0>"
>>> moves, variables = parsed(text)
>>> variables["a"].size, moves[0].element, moves[0].source, moves[0].region
(64, 2, ('$1', 1, 0), (2, 1, 0))
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from xdsl.dialects.llvm import ExtractValueOp, InlineAsmOp, LLVMStructType
from xdsl.ir import Attribute

from layoutalg.hardware.chips import target_info
from layoutalg.simulate.compiling import Compiling, Step, compiled_by, value_shape
from layoutalg.simulate.machine import Array, Run, fail
from layoutalg.simulate.memory.views import dtype_of

__all__ = ["Moved", "Variable", "parsed"]

_SIZES = {"b": 1, "ub": 1, "w": 2, "uw": 2, "d": 4, "ud": 4}
_DECLARATION = re.compile(
    r"\.decl (\w+) v_type=G type=(\w+) num_elts=(\d+) align=GRF(?: alias=<([$]?\w+), ?0>)?", re.ASCII
)
_PLACE = r"([$]?\w+)\((\d+),(\d+)\)"
_MOVE = re.compile(rf"mov \(M1_NM, (\d+)\) {_PLACE}<(\d+)> {_PLACE}<(\d+);(\d+),(\d+)>", re.ASCII)


class Variable(NamedTuple):
    """A declared variable: elements of `element` bytes, `size` bytes in all; `of` is the one that it is another name of.

    >>> Variable(2, 64, None).of is None
    True
    """

    element: int
    size: int
    of: str | None


class Moved(NamedTuple):
    """One `mov`: `length` elements of so many bytes, to a place (variable, row, column) and from one.

    >>> Moved(4, 16, ("$0", 0, 0), 1, ("$1", 0, 0), (1, 1, 0)).length
    16
    """

    element: int
    length: int
    to: tuple[str, int, int]
    stride: int
    source: tuple[str, int, int]
    region: tuple[int, int, int]


def parsed(text: str) -> tuple[list[Moved], dict[str, Variable]]:
    """The moves of an assembly, and the variables that it declares.

    Raises `ValueError` for a line that is neither, in words.

    >>> parsed("add (M1, 16) $0(0,0)<1> $1(0,0)<1;1,0> 1:d")
    Traceback (most recent call last):
    ValueError: 'add (M1, 16) $0(0,0)<1> $1(0,0)<1;1,0> 1:d' is not simulated; declarations and moves of registers are
    """
    moves: list[Moved] = []
    variables: dict[str, Variable] = {}
    for line in filter(None, map(str.strip, text.split("\n"))):
        if line in "{}":
            continue
        if (found := _DECLARATION.fullmatch(line)) is not None and found[2] in _SIZES:
            element = _SIZES[found[2]]
            variables[found[1]] = Variable(element, element * int(found[3]), found[4])
        elif (found := _MOVE.fullmatch(line)) is not None:
            length, to, row, column, stride, source, *rest = found.groups()
            numbers = [int(one) for one in rest]
            element = variables[to].element if to in variables else 4
            moves.append(
                Moved(
                    element,
                    int(length),
                    (to, int(row), int(column)),
                    int(stride),
                    (source, numbers[0], numbers[1]),
                    (numbers[2], numbers[3], numbers[4]),
                )
            )
        else:
            raise ValueError(f"{line!r} is not simulated; declarations and moves of registers are")
    return moves, variables


@compiled_by(InlineAsmOp)
def inline_assembly(op: Any, compiling: Compiling) -> Step:
    """`llvm.inline_asm`, for Intel's chips, on words and vectors of words."""
    if compiling.level != "lane":
        fail(op, f"this kernel is at {compiling.level} level, where a value is not spread over lanes")
    try:
        moves, variables = parsed(op.asm_string.data)
    except ValueError as error:
        fail(op, str(error))
    results = _kinds(op.res.type) if op.res is not None else []
    kinds = [*results, *(value.type for value in op.operands)]
    expected = ",".join(["=rw"] * len(results) + ["rw"] * len(op.operands))
    if op.constraints.data != expected:
        fail(op, f"the constraints {op.constraints.data!r}: expected {expected!r}, a register each")
    for kind in kinds:
        if dtype_of(kind).itemsize != 4:
            fail(op, f"an operand of type {kind} is not simulated; words of 32 bits and vectors of them are")
    lanes = compiling.lanes

    def step(run: Run, values: list[Any]) -> tuple[Any, ...]:
        register = target_info(run.machine.target).grf_bytes
        if not register:
            fail(op, f"{run.machine.target} has no register regions")
        flat = [_flat(run, value, value_shape(kind)) for value, kind in zip(values, kinds[len(results) :], strict=True)]
        outer = np.broadcast_shapes(*[one.shape[:2] for one in flat]) if flat else (1, 1)
        files: dict[str, Array] = {}
        for number, kind in enumerate(kinds):
            size = 4 * lanes * int(np.prod(value_shape(kind), dtype=np.int64))
            given = number - len(results)
            files[f"${number}"] = (
                np.broadcast_to(flat[given], (*outer, size)).copy()
                if given >= 0
                else np.zeros((*outer, size), np.uint8)
            )
        for name, (_, size, of) in variables.items():
            if of is None:
                files[name] = np.zeros((*outer, size), np.uint8)
            elif of in files:
                files[name] = files[of]
            else:
                fail(op, f"{name} is another name of {of}, which is not declared")
        for move in moves:
            _move(op, move, files, register, variables)
        made = [
            _unflat(files[f"${number}"], lanes, value_shape(kind), dtype_of(kind))
            for number, kind in enumerate(results)
        ]
        return (tuple(made),) if isinstance(op.res.type, LLVMStructType) else tuple(made)

    return step


@compiled_by(ExtractValueOp)
def extractvalue(op: Any, compiling: Compiling) -> Step:
    """`llvm.extractvalue`: one of the results of an inline assembly."""
    [position] = op.position.iter_values()
    return lambda run, values: (values[0][position],)


def _kinds(kind: Attribute) -> list[Attribute]:
    return list(kind.types.data) if isinstance(kind, LLVMStructType) else [kind]


def _flat(run: Run, value: Any, shape: tuple[int, ...]) -> Array:
    """The bytes of a value in registers, [workgroup, subgroup, byte]: component by component, lane by lane."""
    whole = run.machine.spread(np.asarray(value))
    words = np.moveaxis(whole, 2, -1) if shape else whole
    return np.ascontiguousarray(words).astype("<u4", copy=False).view(np.uint8).reshape(*whole.shape[:2], -1)


def _unflat(flat: Array, lanes: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    words = np.ascontiguousarray(flat).view("<u4").view(dtype).reshape(*flat.shape[:2], *shape, lanes)
    return np.moveaxis(words, -1, 2) if shape else words


def _move(op: Any, move: Moved, files: dict[str, Array], register: int, variables: dict[str, Variable]) -> None:
    """One move; what is outside of a variable is refused."""
    apart, width, inside = move.region
    numbers = np.arange(move.length)
    read = numbers // width * apart + numbers % width * inside
    places: list[Array] = []
    for (name, row, column), steps in ((move.to, numbers * move.stride), (move.source, read)):
        if name not in files:
            fail(op, f"{name} is not declared")
        element = variables[name].element if name in variables else 4
        if element != move.element:
            fail(op, f"a move from elements of {element} bytes to {move.element} is not simulated")
        found = (row * register + (column + steps[:, None]) * element + np.arange(element)).reshape(-1)
        if found.max(initial=0) >= files[name].shape[-1]:
            fail(op, f"a move of {name} ends at byte {found.max()}, of {files[name].shape[-1]}")
        places.append(found)
    files[move.to[0]][..., places[0]] = files[move.source[0]][..., places[1]]
