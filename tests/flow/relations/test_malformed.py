"""Operations that are not what their dialect says have no relation, and raise nothing."""

from __future__ import annotations

import random
import re

import pytest

import layoutalg as la
from layoutalg.core.notation import Machine
from layoutalg.flow.relations import relation_of
from layoutalg.ir import read_module
from layoutalg.xegpu import LayoutAttr
from tests.flow.relations.documented import PAGE, rows, values

_PAGE = PAGE.read_text(encoding="utf-8")
_ROWS = list(rows(_PAGE))
_NUMBER = re.compile(r"(?<![%\w#])\d+(?=[x,\]\)>: ])|(?<=x)\d+(?=x)")


@pytest.mark.parametrize("seed", range(6))
def test_examples_with_other_numbers_raise_nothing(seed: int) -> None:
    """Sizes, positions and orders are replaced; what is still text of MLIR is asked everything."""
    rng = random.Random(seed)
    machine, columns = Machine(lanes=16, subgroups=8), LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
    for row in _ROWS:
        text = row.example
        for _ in range(rng.randint(1, 2)):
            found = list(_NUMBER.finditer(text))
            if found:
                number = rng.choice(found)
                text = text[: number.start()] + rng.choice("01235678") + text[number.end() :]
        try:
            module = read_module(values(_PAGE) + text)
        except la.LayoutError:
            continue
        for operation in module.walk():
            relation = relation_of(operation)
            for demand in relation.demands if relation is not None else ():
                demand.problem(columns, machine, "pvc")
                demand.price(columns, machine, "pvc")
                for level in ("lane", "inst", "workgroup"):
                    demand.choices(level, machine, "pvc", 24)


@pytest.mark.parametrize(
    "text",
    [
        '%a = "test.op"() : () -> vector<8xf32> %b = "vector.transpose"(%a) : (vector<8xf32>) -> vector<8xf32>',
        '%a = "test.op"() : () -> vector<8xf32> %b = vector.transpose %a, [3] : vector<8xf32> to vector<8xf32>',
        '%a = "test.op"() : () -> vector<8xf32> %b = vector.multi_reduction <add>, %a, %a [4] : vector<8xf32> to vector<8xf32>',
        '%a = "test.op"() : () -> vector<8xf32> %b = vector.shape_cast %a : vector<8xf32> to vector<9xf32>',
    ],
)
def test_what_is_not_well_formed_is_checked_without_a_traceback(text: str) -> None:
    assert str(la.check(la.read(text)))


_VECTOR = '%a = "test.op"() : () -> vector<16x16xf32>'
_HEAD = "gpu.func @k(%p: i64) kernel attributes {{known_block_size = array<i32: 16, 1, 1>}}"
_KERNEL = f"gpu.module @m {{{{ {_HEAD} {{{{ {{}} gpu.return }}}} }}}}"


@pytest.mark.parametrize(
    "body",
    [
        '%a = "vector.transpose"() : () -> vector<8x16xf32>',
        f'{_VECTOR} "xegpu.store_nd"(%a) : (vector<16x16xf32>) -> ()',
        f"{_VECTOR} %b = vector.transpose %a, [7, 0] : vector<16x16xf32> to vector<16x16xf32>",
        "%t = xegpu.create_nd_tdesc %p, shape : [16, 16], strides : [16, 1] : i64 -> vector<16x16xf32>",
        '%c = arith.constant 0 : index "scf.for"(%c, %c, %c) ({ ^b(%i: index): }) : (index, index, index) -> ()',
        f'{_VECTOR} %c = arith.constant 0 : index %b = "scf.for"(%c, %c, %c, %a) ({{ ^b(%i: index, %x: vector<16x16xf32>): '
        '"scf.yield"() : () -> () }) : (index, index, index, vector<16x16xf32>) -> vector<16x16xf32>',
        f'{_VECTOR} %b = "vector.interleave"(%a) : (vector<16x16xf32>) -> vector<16x32xf32>',
        f'{_VECTOR} %b = "xegpu.convert_layout"(%a) : (vector<16x16xf32>) -> vector<16x16xf32>',
        '"vector.shuffle"() : () -> ()',
        '"vector.contract"() : () -> ()',
        '"xegpu.fence"() : () -> ()',
        '"scf.while"() : () -> ()',
        "%a = arith.addf %b, %a : vector<16x16xf32> %b = arith.addf %a, %b : vector<16x16xf32>",
    ],
)
def test_what_is_not_well_formed_is_refused_in_words_by_all(body: str) -> None:
    module = la.read(_KERNEL.format(body))
    assert str(la.check(module))
    assert all(str(finding) for finding in la.lower(module).findings)
    for level in ("lane", "inst", "workgroup"):
        for like in (None, "llvm22", "llvm23", "llvm24"):
            try:
                done = la.propagate(module, level=level, like=like)
            except la.LayoutError as error:
                assert "\n" not in str(error)
            else:
                assert all(str(finding) for finding in la.lower(done.module).findings)
