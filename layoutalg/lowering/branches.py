"""Branches between blocks: `cf.br`, `cf.cond_br`, `cf.switch`, with fragments as arguments of blocks; `scf.execute_region`.

A loop that was already broken into blocks carries a tile of a subgroup; its lanes carry their vectors:

    cf.br ^bb1(%x : vector<16x16xf32>)      a tile of a subgroup
    cf.br ^bb1(%x0, %x1 : vector<8xf32>, vector<8xf32>)      its lanes

Blocks are written in an order in which whatever is used was made before, and those that nobody reaches are not.

>>> from layoutalg.ir import read_module
>>> module = read_module('''func.func @f(%c: i1) { cf.cond_br %c, ^a, ^b
...   ^b: cf.br ^a
...   ^dead: cf.br ^b
...   ^a: func.return }''')
>>> body = module.body.block.first_op.body
>>> [list(body.blocks).index(block) for block in in_order(body.blocks[0])]
[0, 1, 3]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Block, Operation

from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.errors import LayoutError
from layoutalg.lowering.kernels import refuse
from layoutalg.lowering.regions import passing, pieces_passed, take_pieces, write_yield
from layoutalg.lowering.rules import Kernel, lowers

__all__ = ["in_order", "write_blocks"]


def in_order(first: Block) -> list[Block]:
    """The blocks that are reached from the first one, each before those that it dominates."""
    found: list[Block] = []
    seen = {first}
    path = [(first, iter(_successors(first)))]
    while path:
        block, rest = path[-1]
        following = next((one for one in rest if one not in seen), None)
        if following is None:
            found.append(block)
            path.pop()
            continue
        seen.add(following)
        path.append((following, iter(_successors(following))))
    return found[::-1]


def _successors(block: Block) -> Sequence[Block]:
    # The last one first, so that in the reversed order the first one follows its branch.
    return tuple(block.last_op.successors[::-1]) if block.last_op is not None else ()


def write_blocks(first: Block, kernel: Kernel, end: Callable[[Block], None] | None = None) -> None:
    """Lower a function's body of one or several blocks; the first one's arguments are known. `end` writes what ends a block."""
    blocks = in_order(first)
    for number, block in enumerate(blocks[1:], 1):
        kinds = [passing(_branch_to(block), argument, kernel) for argument in block.args]
        pieces = [kind.made(argument.name_hint) for kind, argument in zip(kinds, block.args, strict=True)]
        kernel.blocks[block] = (f"^bb{number}", kinds)
        for argument, kind, made in zip(block.args, kinds, pieces, strict=True):
            take_pieces(argument, kind, made, kernel)
    kernel.write_block(first)
    if end is not None:
        end(first)
    for block in blocks[1:]:
        pieces = [piece for argument in block.args for piece in _pieces(argument, kernel)]
        arguments = [Value("i64", one.size, one.name) if one.element == "index" else one for one in pieces]
        label = kernel.blocks[block][0]
        names = ", ".join([f"%s: {value.kind}" for value in arguments])
        kernel.writer.values("", (), arguments)
        kernel.writer.do(f"{label}({names}):" if arguments else f"{label}:", arguments)
        for piece, argument in zip(pieces, arguments, strict=True):
            if piece is not argument:
                kernel.writer.values(f"arith.index_cast %s : {argument.kind} to {piece.kind}", (argument,), (piece,))
        with kernel.indices.scope():
            kernel.write_block(block)
            if end is not None:
                end(block)


@lowers("scf.execute_region")
def execute_region(op: Any, kernel: Kernel) -> None:
    """One block stands where the operation stood; several stay in a region, and each end gives the results."""
    numbers = [number for number, result in enumerate(op.results) if kernel.needs(result)]
    kinds = [passing(op, op.results[number], kernel) for number in numbers]
    blocks = op.region.blocks
    if len(blocks) == 1:
        end = blocks[0].last_op
        kernel.write_block(blocks[0])
        for number, kind in zip(numbers, kinds, strict=True):
            take_pieces(op.results[number], kind, pieces_passed(end, number, kind, kernel), kernel)
        return

    def gives(block: Block) -> None:
        if block.last_op is not None and block.last_op.name == "scf.yield":
            write_yield(block.last_op, kinds, kernel, numbers)

    results = [kind.made(op.results[number].name_hint) for number, kind in zip(numbers, kinds, strict=True)]
    after = [piece for pieces in results for piece in pieces]
    types = f" -> ({', '.join([piece.kind for piece in after])})" if after else ""
    own = " no_inline" if op.no_inline is not None else ""
    with kernel.region(f"scf.execute_region{types}{own} {{", (), after):
        write_blocks(blocks[0], kernel, gives)
    for number, kind, pieces in zip(numbers, kinds, results, strict=True):
        take_pieces(op.results[number], kind, pieces, kernel)


def _number(piece: Value, kernel: Kernel) -> Value:
    """An index goes to another block as i64: LLVM 22 to 24 do not convert the types of branches (`type mismatch`)."""
    if piece.element != "index":
        return piece
    kind = Value("i64", piece.size).kind
    return kernel.writer.value(f"arith.index_cast %s : {piece.kind} to {kind}", (piece,), "i64", piece.size)


def _branch_to(block: Block) -> Operation:
    """An operation to say about a block's argument where it stands."""
    around = block.parent_op()
    first = block.first_op
    if first is None and around is None:
        raise LayoutError("a block without operations, outside of a function")
    return first or around  # type: ignore[return-value]


def _pieces(argument: Any, kernel: Kernel) -> Sequence[Value]:
    return kernel.fragment(argument).pieces if kernel.is_spread(argument) else [kernel.scalar(argument)]


@lowers("cf.br", "cf.cond_br", "cf.switch")
def jump(op: Operation, kernel: Kernel) -> None:
    """A branch on numbers, with each block's arguments as the block has them."""
    start = 0 if op.name == "cf.br" else 1
    if start and kernel.is_spread(op.operands[0]):
        refuse(op, "condition", f"branches on a spread value of {op.operands[0].type}")
    operands = [kernel.scalar(op.operands[0])] if start else []
    ways: list[str] = []
    for block in op.successors:
        if block not in kernel.blocks:
            refuse(op, "blocks", "branches to the first block of the kernel")
        label, kinds = kernel.blocks[block]
        values = [
            _number(piece, kernel)
            for at, kind in enumerate(kinds)
            for piece in pieces_passed(op, start + at, kind, kernel)
        ]
        start += len(kinds)
        places = ", ".join(["%s"] * len(values))
        types = ", ".join([value.kind for value in values])
        ways.append(f"{label}({places} : {types})" if values else label)
        operands += values
    if op.name == "cf.br":
        kernel.writer.do(f"cf.br {ways[0]}", operands)
    elif op.name == "cf.cond_br":
        kernel.writer.do(f"cf.cond_br %s, {ways[0]}, {ways[1]}", operands)
    else:
        kernel.writer.do(_switch(op, ways, operands[0]), operands)


def _switch(op: Any, ways: Sequence[str], flag: Value) -> str:
    numbers = [] if op.case_values is None else [int(number) for number in op.case_values.get_values()]
    cases = ", ".join(f"{number}: {way}" for number, way in zip(numbers, ways[1:], strict=True))
    return f"cf.switch %s : {flag.kind}, [default: {ways[0]}{', ' if cases else ''}{cases}]"
