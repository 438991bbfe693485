"""Modules for AMX with one mistake: another tile, a lost accumulator, a wrong sign, a packing that puts words elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.dialects.builtin import DenseArrayBase, UnitAttr, i64
from xdsl.ir import BlockArgument, Operation, SSAValue

from tests.gemm.mutating import Change, Mutant, exchanging, made, masked, named, setting, skipping, without

__all__ = ["mutants"]


def mutants(text: str, most: int) -> list[Mutant]:
    """At most so many mistakes of this module: the first of each sort, then the last of each, then those between."""
    return made(text, _mistakes, most)


def _mistakes(operations: list[Operation]) -> Iterator[Change]:
    yield from _products(operations)
    yield from _loads_and_stores(operations)
    yield from _loops(operations)
    yield from _packing(operations)
    yield from _calls(operations)
    yield from _epilogue(operations)


def _tiles(operations: list[Operation], name: str) -> list[Operation]:
    return named(operations, f"amx.{name}", f"x86.amx.{name}")


def _products(operations: list[Operation]) -> Iterator[Change]:
    products = [*_tiles(operations, "tile_mulf"), *_tiles(operations, "tile_muli")]
    for which, product in enumerate(products):
        for position, sign in enumerate(("isZextLhs", "isZextRhs")):
            if product.name.endswith("muli"):
                yield f"product {which}: another sign of operand {position}", _other_sign(product, sign)
        yield f"product {which} is missing", skipping(product, 2)
        for position, name in enumerate(("A", "B", "accumulator")):
            for before in products[:which]:
                alike = product.operands[position].type == before.operands[position].type
                if product.parent is before.parent and alike:
                    if product.operands[position] is not before.operands[position]:
                        yield (
                            f"product {which}: {name} of another",
                            setting(product, position, before.operands[position]),
                        )
                    break


def _other_sign(product: Operation, name: str) -> Callable[[], None]:
    def change() -> None:
        if product.properties.pop(name, None) is None:
            product.properties[name] = UnitAttr()

    return change


def _loads_and_stores(operations: list[Operation]) -> Iterator[Change]:
    loads = _tiles(operations, "tile_load")
    for which, load in enumerate(loads):
        for before in loads[:which]:
            same = before.operands[0] is load.operands[0] and before.results[0].type == load.results[0].type
            if same and before.parent is load.parent:
                for position in range(1, len(load.operands)):
                    if load.operands[position] is not before.operands[position]:
                        yield f"load {which}: the place of another", setting(load, position, before.operands[position])
                break
    stores = _tiles(operations, "tile_store")
    for which, store in enumerate(stores):
        yield f"store {which} is missing", without(store)
        yield f"store {which}: swapped indices", exchanging(store, 1, 2)
        for other in stores[:which]:
            if other.parent is store.parent and other.operands[-1].type == store.operands[-1].type:
                yield f"store {which}: the tile of another", setting(store, len(store.operands) - 1, other.operands[-1])
                break


def _loops(operations: list[Operation]) -> Iterator[Change]:
    for which, loop in enumerate(named(operations, "scf.for")):
        if loop.results:
            yield f"loop {which}: no step is made", setting(loop, 0, loop.operands[1])
        body = loop.regions[0].block
        end = body.last_op
        assert end is not None
        for position in range(1, len(end.operands)):
            if end.operands[position].type == end.operands[0].type:
                yield f"loop {which}: accumulators 0 and {position} exchanged", exchanging(end, 0, position)
        for position, held in enumerate(body.args[1:]):
            yield f"loop {which}: accumulator {position} stays as it was", setting(end, position, held)
    for which, loop in enumerate(named(operations, "scf.parallel")):
        count = len(loop.operands) // 3
        yield f"parallel loop {which}: begins at its end", setting(loop, 0, loop.operands[count])


def _packing(operations: list[Operation]) -> Iterator[Change]:
    for which, cut in enumerate(named(operations, "vector.shuffle")):
        mask = cut.properties["mask"]
        assert isinstance(mask, DenseArrayBase)
        numbers = [int(number) for number in mask.get_values()]
        if len(set(numbers)) < len(numbers):  # what fills a row up lies in columns that no tile reads
            continue
        plain = DenseArrayBase.from_list(i64, list(range(len(numbers))))
        turned = DenseArrayBase.from_list(i64, [*numbers[1:], numbers[0]])
        yield f"shuffle {which}: nothing is interleaved", masked(cut, plain)
        yield f"shuffle {which}: one element further", masked(cut, turned)
    for which, pair in enumerate(named(operations, "vector.interleave")):
        yield f"interleave {which}: the halves exchanged", exchanging(pair, 0, 1)
    for which, turn in enumerate(named(operations, "vector.transpose")):
        yield f"transpose {which} is missing", _as_it_is(turn)
    stores = [store for store in named(operations, "vector.store", "memref.store") if len(store.operands) >= 4]
    for which, store in enumerate(stores):
        yield f"vector store {which} is missing", without(store)
        for other in stores[:which]:
            if other.parent is store.parent and other.operands[0].type == store.operands[0].type:
                if other.operands[0] is not store.operands[0]:
                    yield f"vector store {which}: the value of another", setting(store, 0, other.operands[0])
                break


def _as_it_is(turn: Operation) -> Callable[[], None]:
    def change() -> None:
        if turn.operands[0].type == turn.results[0].type:
            skipping(turn, 0)()
        else:
            without(turn)()

    return change


def _calls(operations: list[Operation]) -> Iterator[Change]:
    for which, call in enumerate(named(operations, "func.call")):
        yield f"call {which} is missing", without(call)
        names = [_name(operand) for operand in call.operands]
        for one, other in (("i", "j"), ("row", "col")):
            relative = one != "row" or "scratch" in names  # C itself is addressed by absolute rows and columns
            if one in names and other in names and relative:
                yield (
                    f"call {which}: {one} and {other} exchanged",
                    exchanging(call, names.index(one), names.index(other)),
                )


def _name(value: SSAValue) -> str:
    return value.name_hint or (str(value.index) if isinstance(value, BlockArgument) else "")


def _epilogue(operations: list[Operation]) -> Iterator[Change]:
    for which, fma in enumerate(named(operations, "math.fma")):
        yield f"fma {which}: nothing is multiplied", skipping(fma, 2)
        yield f"fma {which}: nothing is added", skipping(fma, 1)
    sums = [one for one in named(operations, "arith.addf", "arith.mulf") if "vector" in str(one.results[0].type)]
    for which, total in enumerate(sums):
        yield f"{total.name} {which}: one operand alone", skipping(total, 0)
    for which, choice in enumerate(named(operations, "arith.select")):
        if "vector" in str(choice.operands[0].type):
            yield f"choice {which}: the other one", exchanging(choice, 1, 2)
    for which, rounded in enumerate(named(operations, "math.roundeven")):
        yield f"rounding {which} is missing", skipping(rounded, 0)
    for name in ("arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf"):
        for which, bound in enumerate(named(operations, name)):
            yield f"{name} {which} is missing", skipping(bound, 0)
