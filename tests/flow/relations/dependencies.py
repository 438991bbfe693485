"""Which elements of a result change when one element of an operand does: asked of the simulator, without any relation.

Every workgroup of a launch has a copy of the operands in which another element is changed; workgroup 0 has them unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

import layoutalg as la
from layoutalg.core.table import Table
from layoutalg.flow.relations import Tie, relation_of, shape_of
from layoutalg.ir import read_module

# How an element type is kept in memory, and what makes a value of it: `{v}` is the name, `{t}` the shape with a final x.
_KEPT = {
    "i1": (
        "i8",
        "%zero_{v} = arith.constant dense<0> : vector<{t}i8> %{v} = arith.cmpi ne, %raw_{v}, %zero_{v} : vector<{t}i8>",
    ),
    "index": ("i32", "%{v} = arith.index_cast %raw_{v} : vector<{t}i32> to vector<{t}index>"),
}


@dataclass(frozen=True)
class Value:
    """An operand or a result: its name without %, its shape (none for a scalar), its element type."""

    name: str
    shape: tuple[int, ...]
    element: str

    @property
    def type(self) -> str:
        return f"vector<{'x'.join(map(str, self.shape))}x{self.element}>" if self.shape else self.element

    @property
    def count(self) -> int:
        return prod(self.shape)


def numbers(value: Value, number: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Numbers that all differ, so that any mistake shows; a mask is true in about two of three places."""
    if value.element == "i1":
        return (rng.random(value.shape) < 0.66).astype(np.int8)
    order = rng.permutation(value.count).reshape(value.shape)
    kept = {"index": np.int32, "f16": np.float16, "f32": np.float32, "i32": np.int32, "i8": np.int8, "i16": np.int16}
    kind = kept[value.element]
    return (order * 0.5 + 1 + number / 8 if value.element[0] == "f" else order).astype(kind)


def changed(value: Value, flat: np.ndarray[Any, Any], at: int, rng: np.random.Generator) -> None:
    if value.element == "i1":
        flat[at] = 1 - flat[at]
    elif value.element == "index":
        flat[at] = value.count + 3 + at  # a place that no other element has
    elif value.element[0] == "i":
        flat[at] = ~flat[at]  # every byte changes
    else:
        flat[at] += flat.dtype.type(value.count + 7)


def measured(
    body: str, operands: Sequence[Value], results: Sequence[Value], seed: int = 0, memory: int = 0
) -> dict[tuple[str, str], np.ndarray[Any, Any]]:
    """`[operand's element, result's element]`: whether changing the one changes the other.

    `body` uses the operands by name and makes the results; `%p` is an f32 memory of `memory` different numbers for it to read.
    A mask is tried both ways round.
    """
    found = _measured(body, operands, results, seed, memory, turned=False)
    if any(value.element == "i1" for value in operands):
        other = _measured(body, operands, results, seed, memory, turned=True)
        found = {key: changes | other[key] for key, changes in found.items()}
    return found


def _measured(
    body: str, operands: Sequence[Value], results: Sequence[Value], seed: int, memory: int, turned: bool
) -> dict[tuple[str, str], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    groups = 1 + sum(value.count for value in operands)
    arguments: list[np.ndarray[Any, Any]] = []
    text: list[str] = ["%block = gpu.block_id x", "%c0 = arith.constant 0 : index"]
    signature: list[str] = []
    first = 1
    for number, value in enumerate(operands):
        base = numbers(value, number, rng)
        base = 1 - base if turned and value.element == "i1" else base
        copies = np.repeat(base[None], groups, axis=0)
        flat = copies.reshape(groups, -1)
        for at in range(value.count):
            changed(value, flat[first + at], at, rng)
        first += value.count
        arguments.append(copies)
        kept, make = _KEPT.get(value.element, (value.element, ""))
        sizes = "x".join(map(str, (groups, *value.shape)))
        signature.append(f"%in_{value.name}: memref<{sizes}x{kept}>")
        inner = "x".join(map(str, value.shape)) + "x"
        raw = f"raw_{value.name}" if make else value.name
        zeros = ", %c0" * len(value.shape)
        text.append(
            f"%{raw} = vector.load %in_{value.name}[%block{zeros}] : memref<{sizes}x{kept}>, vector<{inner}{kept}>"
        )
        if make:
            text.append(make.format(v=value.name, t=inner))
    outputs: list[np.ndarray[Any, Any]] = []
    stores: list[str] = []
    for value in results:
        kind = {"f16": np.float16, "f32": np.float32, "i32": np.int32, "i8": np.int8, "i16": np.int16, "i1": np.int8}
        sizes = "x".join(map(str, (groups, *value.shape)))
        outputs.append(np.zeros((groups, *value.shape), kind[value.element]))
        kept = "i8" if value.element == "i1" else value.element
        signature.append(f"%out_{value.name}: memref<{sizes}x{kept}>")
        zeros = ", %c0" * len(value.shape)
        stored = value.name
        if value.element == "i1":
            stored = f"wide_{value.name}"
            stores.append(f"%{stored} = arith.extui %{value.name} : {value.type} to {value.type.replace('i1', 'i8')}")
        what = "vector.store" if value.shape else "memref.store"
        kinds = f"memref<{sizes}x{kept}>" + (f", {value.type.replace('i1', 'i8')}" if value.shape else "")
        stores.append(f"{what} %{stored}, %out_{value.name}[%block{zeros}] : {kinds}")
    if memory:
        signature.append(f"%p: memref<{memory}xf32>")
        arguments_after = [np.arange(memory, dtype=np.float32) * 3 + 11]
    else:
        arguments_after = []
    kernel = (
        f"gpu.module @m {{ gpu.func @k({', '.join(signature)}) kernel attributes {{known_block_size = array<i32: 16, 1, 1>, "
        "intel_reqd_sub_group_size = 16 : i32} {\n" + "\n".join([*text, body, *stores]) + "\ngpu.return } }"
    )
    for array in arguments:
        array.setflags(write=False)
    outcome = la.read(kernel).run([*arguments, *outputs, *arguments_after], (groups, 1, 1), level="subgroup")
    assert not [finding for finding in outcome.findings if finding.severity == "error"], outcome.findings
    found: dict[tuple[str, str], np.ndarray[Any, Any]] = {}
    first = 1
    for value in operands:
        for result, array in zip(results, outputs, strict=True):
            rows = array.reshape(groups, -1)
            found[value.name, result.name] = rows[first : first + value.count] != rows[:1]
        first += value.count
    return found


def enumerated(tie: Tie, operand: tuple[int, ...], result: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """What a tie says: `[operand's element, result's element]`."""
    return matrix(tie.relation, operand, result) & ~_covered(tie, result)[None]


def matrix(relation: la.Layout, operand: tuple[int, ...], result: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """A relation from the result's elements to the operand's, written out."""
    table = Table.of(relation)
    found = np.zeros((prod(operand), prod(result)), bool)
    place = np.zeros((len(table.domain), len(operand)), np.int64)
    for column, axis in enumerate(table.axes):
        place[:, int(axis[1:])] = table.codomain[:, column]
    domain = table.domain if result else np.zeros((len(table.domain), 0), np.int64)
    found[_flat(place, operand), _flat(domain, result)] = True
    return found


def _covered(tie: Tie, result: tuple[int, ...]) -> np.ndarray[Any, Any]:
    found = np.zeros(prod(result), bool)
    if tie.covered is not None:
        table = Table.of(tie.covered)
        place = np.zeros((len(table.domain), len(result)), np.int64)
        for column, axis in enumerate(table.axes):
            place[:, int(axis[1:])] = table.codomain[:, column]
        found[_flat(place, result)] = True
    return found


def _flat(coordinates: np.ndarray[Any, Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    number = np.zeros(len(coordinates), np.int64)
    for column, size in zip(coordinates.T, shape, strict=True):
        assert (column < size).all(), "the relation leaves the tensor"
        number = number * size + column
    return number


def said(body: str, operands: Sequence[Value], results: Sequence[Value]) -> dict[tuple[str, str], np.ndarray[Any, Any]]:
    """What the relations of an operation say; the last operation of the body is asked."""
    made = ", ".join(f"%{value.name}" for value in operands)
    types = ", ".join(value.type for value in operands)
    first = f'{made} = "test.op"() : () -> ({types}) %p = "test.op"() : () -> memref<256xf32>\n'
    if re.search(r"%c0\b", body):
        first += "%c0 = arith.constant 0 : index\n"
    module = read_module(first + body)
    operation: Any = list(module.body.block.ops)[-1]
    values = dict(zip(module.body.block.first_op.results, operands, strict=True))
    names = {result: value.name for result, value in zip(operation.results, results, strict=True)}
    found = {(o.name, r.name): np.zeros((o.count, r.count), bool) for o in operands for r in results}
    relation = relation_of(operation)
    assert relation is not None, f"{operation.name} has no relation"
    for tie in (*relation.ties, *relation.uniform):
        operand = values.get(tie.operand)
        if operand is None or tie.result not in names:
            continue
        shape = shape_of(tie.result) or ()
        found[operand.name, names[tie.result]] |= enumerated(tie, operand.shape, shape)
    return found
