"""Kernels with one mistake: an operand of another tile, swapped offsets, a wrong piece of a wide load, a lost accumulator.

A mistake is made in the operations, not in the text, so every mutant is a valid kernel, whatever the emitter's spelling is.
Each has a sentence that says what is wrong. Mistakes of prefetches, which change no result, are made apart. The hidden zeros
(`k >> 31`), which are in the kernels for the compiler's sake, are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i64
from xdsl.ir import Operation, SSAValue

from layoutalg.ir import read_module, write_module

Change = tuple[str, Callable[[], None]]


@dataclass(frozen=True)
class Mutant:
    """A kernel with one mistake, and what it is."""

    mistake: str
    text: str


def mutants(text: str, most: int = 22) -> list[Mutant]:
    """At most so many mistakes of this kernel: the first of each sort, then the last of each, then those between."""
    return made(text, _mistakes, most)


def prefetches(text: str, most: int = 4) -> list[Mutant]:
    """What can go wrong with a prefetch without changing a result: it is missing, or asks for other lines."""
    return made(text, _of_prefetches, most)


def made(text: str, kind: Callable[[list[Operation]], Iterator[Change]], most: int) -> list[Mutant]:
    module: ModuleOp = read_module(text)
    sorts: dict[str, list[int]] = {}
    for number, (mistake, _) in enumerate(kind(list(module.walk()))):
        sorts.setdefault(re.sub(r"\d+", "", mistake), []).append(number)
    turns = [[numbers[0], *reversed(numbers[1:])] for numbers in sorts.values()]
    order = [number for turn in zip_longest(*turns) for number in turn if number is not None]
    found: dict[str, str] = {}
    for number in order:
        if len(found) == most:
            break
        copy = module.clone()
        mistake, change = list(kind(list(copy.walk())))[number]
        change()
        found.setdefault(write_module(copy), mistake)  # two sentences may say the same
    return [Mutant(mistake, changed) for changed, mistake in found.items()]


def _mistakes(operations: list[Operation]) -> Iterator[Change]:
    yield from _loads_and_stores(operations)
    yield from _stores_of_lanes(operations)
    yield from _shared_memory(operations)
    yield from _descriptors(operations)
    yield from _pieces(operations)
    yield from _products(operations)
    yield from _loops(operations)
    yield from _places(operations)
    yield from _epilogue(operations)


def named(operations: list[Operation], *names: str) -> list[Operation]:
    return [operation for operation in operations if operation.name in names]


def setting(operation: Operation, position: int, value: SSAValue) -> Callable[[], None]:
    def change() -> None:
        operation.operands[position] = value

    return change


def exchanging(operation: Operation, one: int, other: int) -> Callable[[], None]:
    def change() -> None:
        first, second = operation.operands[one], operation.operands[other]
        operation.operands[one], operation.operands[other] = second, first

    return change


def _loads_and_stores(operations: list[Operation]) -> Iterator[Change]:
    for which, load in enumerate(named(operations, "xegpu.load_nd")):
        if load.operands[-1] is not load.operands[-2]:
            yield f"load {which}: swapped offsets", exchanging(load, -1, -2)
        if "packed" in load.properties and "xi8" in str(load.operands[0].type):
            yield f"load {which}: not packed", _unpacked(load)
        if "transpose" in load.properties:
            yield f"load {which}: the place of the other half", setting(load, -1, load.operands[-2])
    stores = named(operations, "xegpu.store_nd")
    for which, store in enumerate(stores):
        yield f"store {which}: swapped offsets", exchanging(store, -1, -2)
        yield f"store {which} is missing", without(store)
        for other in stores[:which]:
            if store.operands[0].type == other.operands[0].type:
                yield f"store {which}: the tile of another", setting(store, 0, other.operands[0])
                break
    loads = named(operations, "xegpu.load_nd")
    for which, (load, before) in enumerate(zip(loads[1:], loads, strict=False)):
        if load.parent is before.parent and load.operands[0].type == before.operands[0].type:
            for position in (-1, -2):
                if load.operands[position] is not before.operands[position]:
                    yield (
                        f"load {which + 1}: the place of the one before",
                        setting(load, position, before.operands[position]),
                    )


def _stores_of_lanes(operations: list[Operation]) -> Iterator[Change]:
    stores = named(operations, "llvm.store")
    for which, store in enumerate(stores):
        yield f"lane store {which} is missing", without(store)
        for other in stores[:which]:
            if store.parent is other.parent:
                yield f"lane store {which}: what another stores", setting(store, 0, other.operands[0])
                yield f"lane store {which}: where another stores", setting(store, 1, other.operands[1])
                break
    for which, branch in enumerate(named(operations, "scf.if")):
        condition = branch.operands[0].owner
        if isinstance(condition, Operation) and condition.name == "arith.andi" and which % 3 == 0:
            yield f"branch {which}: columns behind C", setting(branch, 0, condition.operands[0])
            yield f"branch {which}: rows below C", setting(branch, 0, condition.operands[1])
    for which, load in enumerate(named(operations, "llvm.load")):
        for other in named(operations, "llvm.load")[:which]:
            if load.parent is other.parent and load.operands[0] is not other.operands[0]:
                yield f"lane load {which}: where another loads", setting(load, 0, other.operands[0])
                break


def _shared_memory(operations: list[Operation]) -> Iterator[Change]:
    for which, barrier in enumerate(named(operations, "gpu.barrier")):
        yield f"barrier {which} is missing", without(barrier)
    for which, place in enumerate(named(operations, "llvm.getelementptr")):
        yield f"place {which} in shared memory: not moved on", skipping(place, 0)
    for which, negation in enumerate(named(operations, "arith.subi")):
        yield f"difference {which}: what is taken away", skipping(negation, 1)
    reads = [one for one in named(operations, "llvm.call") if "simd_block" in str(one.properties.get("callee"))]
    for which, (read, before) in enumerate(zip(reads[1:], reads, strict=False)):
        if read.parent is before.parent:
            yield f"read {which + 1}: where the one before reads", setting(read, 0, before.operands[0])


def _unpacked(load: Operation) -> Callable[[], None]:
    def change() -> None:
        del load.properties["packed"]

    return change


def _descriptors(operations: list[Operation]) -> Iterator[Change]:
    made = [one for one in named(operations, "xegpu.create_nd_tdesc") if not _prefetches_only(one)]
    bases = [one.operands[0] for one in made]
    for which, one in enumerate(made):
        *_, rows, columns, pitch = one.operands
        yield f"descriptor {which}: rows and columns swapped", exchanging(one, -2, -3)
        if _is_constant(rows):  # one row, of a bias: it has no pitch
            continue
        if pitch is not columns:
            yield f"descriptor {which}: a pitch without the padding", setting(one, -1, columns)
        if pitch is not rows:
            yield f"descriptor {which}: the number of rows as pitch", setting(one, -1, rows)
        other = next((base for base in bases[:which] if _origin(base) is not _origin(one.operands[0])), None)
        if other is not None:
            yield f"descriptor {which}: another matrix", setting(one, 0, other)


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and value.owner.name == "arith.constant"


def _origin(base: SSAValue) -> SSAValue:
    """The pointer that an address begins with: one with a hidden zero added is the same."""
    while isinstance(base.owner, Operation) and base.owner.name == "arith.addi":
        base = base.owner.operands[0]
    return base


def _prefetches_only(descriptor: Operation) -> bool:
    return all(use.operation.name == "xegpu.prefetch_nd" for use in descriptor.results[0].uses)


def _pieces(operations: list[Operation]) -> Iterator[Change]:
    cuts = named(operations, "vector.shuffle")
    for which, (cut, before) in enumerate(zip(cuts[1:], cuts, strict=False)):
        if cut.operands[0] is before.operands[0] and cut.properties["mask"] != before.properties["mask"]:
            yield f"piece {which + 1}: that of the one before", masked(cut, before.properties["mask"])
    for which, cut in enumerate(cuts[:3]):
        mask = cut.properties["mask"]
        assert isinstance(mask, DenseArrayBase)
        numbers = [int(number) for number in mask.get_values()]
        turned = DenseArrayBase.from_list(i64, [*numbers[1:], numbers[0]])
        yield f"piece {which}: one register further", masked(cut, turned)


def masked(cut: Operation, mask: object) -> Callable[[], None]:
    def change() -> None:
        assert isinstance(mask, DenseArrayBase)
        cut.properties["mask"] = mask

    return change


def _is_product(operation: Operation) -> bool:
    if operation.name in ("xegpu.dpas", "xevm.mma"):
        return True
    return operation.name == "llvm.call" and "matrix_mad" in str(operation.properties.get("callee"))


def _products(operations: list[Operation]) -> Iterator[Change]:
    products = [operation for operation in operations if _is_product(operation)]
    zeros = next(one for one in named(operations, "scf.for") if len(one.operands) > 3).operands[3]
    for which, product in enumerate(products):
        yield f"product {which}: the accumulator is lost", setting(product, 2, zeros)
        for position, name in enumerate(("A", "B", "accumulator")):
            for before in products[:which]:
                same = (
                    product.parent is before.parent
                    and product.operands[position].type == before.operands[position].type
                )
                if same and not _equal(product.operands[position], before.operands[position]):
                    yield f"product {which}: {name} of another", setting(product, position, before.operands[position])
                    break
        yield f"product {which} is missing", skipping(product, 2)


def _equal(one: SSAValue, other: SSAValue) -> bool:
    """Whether both are one value, or bit casts of one."""
    left, right = one.owner, other.owner
    if isinstance(left, Operation) and isinstance(right, Operation) and left.name == right.name == "vector.bitcast":
        return left.operands[0] is right.operands[0]
    return one is other


def skipping(operation: Operation, position: int) -> Callable[[], None]:
    """The operation gives one of its operands."""

    def change() -> None:
        operation.results[0].replace_all_uses_with(operation.operands[position])
        without(operation)()

    return change


def without(operation: Operation) -> Callable[[], None]:
    def change() -> None:
        operation.detach()
        operation.erase()

    return change


def _loops(operations: list[Operation]) -> Iterator[Change]:
    for which, loop in enumerate(named(operations, "scf.for")):
        yield f"loop {which}: the last steps are missing", setting(loop, 1, loop.operands[2])
        yield f"loop {which}: begins late", setting(loop, 0, loop.operands[2])
    for which, end in enumerate(named(operations, "scf.yield")):
        for position in range(1, len(end.operands)):
            if end.operands[position].type == end.operands[0].type:
                yield f"loop {which}: accumulators {position} and 0 exchanged", exchanging(end, 0, position)


def _places(operations: list[Operation]) -> Iterator[Change]:
    blocks = named(operations, "gpu.block_id")
    for block in blocks if len({str(one.properties["dimension"]) for one in blocks}) > 1 else ():
        yield "a place in the grid along another dimension", _turned(block, blocks)
    for which, operation in enumerate(named(operations, "arith.muli")):
        if any(
            isinstance(value.owner, Operation) and value.owner.name == "gpu.block_id" for value in operation.operands
        ):
            yield f"product {which} of places: not multiplied", skipping(operation, 0)
        for position in range(2):
            hint = operation.operands[position].name_hint or ""
            if hint.startswith("stride_"):
                yield f"{hint} is dropped", skipping(operation, 1 - position)


def _turned(block: Operation, all_of_them: list[Operation]) -> Callable[[], None]:
    def change() -> None:
        others = [
            one.properties["dimension"]
            for one in all_of_them
            if one.properties["dimension"] != block.properties["dimension"]
        ]
        block.properties["dimension"] = others[0]

    return change


def _epilogue(operations: list[Operation]) -> Iterator[Change]:
    for which, fma in enumerate(named(operations, "math.fma")):
        yield f"fma {which}: what is added and what is multiplied exchanged", exchanging(fma, 1, 2)
        yield f"fma {which}: nothing is multiplied", skipping(fma, 2)
        yield f"fma {which}: nothing is added", skipping(fma, 1)
    for which, product in enumerate(named(operations, "arith.mulf")):
        yield f"product {which}: nothing is multiplied", skipping(product, 0)
    for which, choice in enumerate(named(operations, "arith.select")):
        if "vector" in str(choice.operands[0].type):
            yield f"choice {which}: the other one", exchanging(choice, 1, 2)
            yield f"choice {which}: always the second", skipping(choice, 2)
    for which, shuffle in enumerate(named(operations, "gpu.shuffle")):
        if which % 3 == 0:
            yield f"bias {which}: that of the lane's own row", skipping(shuffle, 0)
    for operation in named(operations, "xegpu.load"):
        place = operation.operands[1].owner
        rows = [one.operands[-2] for one in named(operations, "xegpu.store_nd")]
        columns = [one.operands[-1] for one in named(operations, "xegpu.store_nd")]
        if isinstance(place, Operation) and place.name == "arith.addi":
            for position, value in enumerate(place.operands):
                for mine, others in ((rows, columns), (columns, rows)):
                    if any(value is one for one in mine):
                        yield "a bias on the wrong axis", setting(place, position, others[0])


def _of_prefetches(operations: list[Operation]) -> Iterator[Change]:
    for which, prefetch in enumerate(named(operations, "xegpu.prefetch_nd")):
        yield f"prefetch {which} is missing", without(prefetch)
        yield f"prefetch {which}: swapped offsets", exchanging(prefetch, -1, -2)
    made = [one for one in named(operations, "xegpu.create_nd_tdesc") if _prefetches_only(one)]
    for one in made:
        yield "a prefetch of other rows", exchanging(one, -2, -3)
