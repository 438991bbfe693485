"""Elements that no operation gives a value are found where they are stored, and only there."""

from __future__ import annotations

import numpy as np
import pytest

from tests.simulate.kernels import found, run

LOAD = (
    "%e = vector.load %a[%c0] : memref<64xf32>, vector<4xf32>\n%p = ub.poison : f32\n%w = ub.poison : vector<4xf32>\n"
)
STORE = "vector.store %s, %c[%c0] : memref<64xf32>, vector<{}xf32>"
SHUFFLED = "%s = vector.shuffle %e, %e [0, 1, 2, -1] : vector<4xf32>, vector<4xf32>\n"
HALF = "%h = vector.extract_strided_slice %s {{offsets = [{}], sizes = [2], strides = [1]}} : vector<4xf32> to vector<2xf32>\n"
STORE_HALF = "vector.store %h, %c[%c0] : memref<64xf32>, vector<2xf32>"

STORED = {
    "a shuffle": SHUFFLED + STORE.format(4),
    "arithmetic": SHUFFLED.replace("%s", "%r") + "%s = arith.addf %r, %e : vector<4xf32>\n" + STORE.format(4),
    "the poisoned half": SHUFFLED + HALF.format(2) + STORE_HALF,
    "a value that is not there": "memref.store %p, %c[%c0] : memref<64xf32>",
    "a vector that is filled in part": "%s = vector.insert %x0, %w[1] : f32 into vector<4xf32>\n" + STORE.format(4),
    "a sum of all": SHUFFLED
    + "%v = vector.reduction <add>, %s : vector<4xf32> into f32\nmemref.store %v, %c[%c0] : memref<64xf32>",
    "through a loop": SHUFFLED.replace("%s", "%r")
    + "%s = scf.for %i = %c0 to %c2 step %c1 iter_args(%v = %r) -> (vector<4xf32>) { scf.yield %v : vector<4xf32> }\n"
    + STORE.format(4),
    "through a branch": "%low = arith.cmpi ult, %t, %c8 : index\n"
    "%s = scf.if %low -> (vector<4xf32>) { scf.yield %w : vector<4xf32> } else { scf.yield %e : vector<4xf32> }\n"
    + STORE.format(4),
    "an atomic operation": "%v = memref.atomic_rmw addf %p, %c[%c0] : (f32, memref<64xf32>) -> f32",
    "a place": "%q = ub.poison : index\nmemref.store %x0, %c[%q] : memref<64xf32>",
}
FINE = {
    "the half with values": SHUFFLED + HALF.format(0) + STORE_HALF,
    "an element with a value": SHUFFLED
    + "%v = vector.extract %s[2] : f32 from vector<4xf32>\nmemref.store %v, %c[%c0] : memref<64xf32>",
    "a vector that is filled": "".join(
        f"%w{n + 1} = vector.insert %x0, %w{n or ''}[{n}] : f32 into vector<4xf32>\n" for n in range(4)
    ).replace("%w0", "%w")
    + STORE.replace("%s", "%w4").format(4),
    "a mask leaves it out": SHUFFLED
    + "%m = arith.constant dense<[true, true, true, false]> : vector<4xi1>\n"
    + "vector.maskedstore %c[%c0], %m, %s : memref<64xf32>, vector<4xi1>, vector<4xf32>",
    "a select leaves it out": SHUFFLED.replace("%s", "%r")
    + "%m = arith.constant dense<[true, true, true, false]> : vector<4xi1>\n"
    + "%s = arith.select %m, %r, %e : vector<4xi1>, vector<4xf32>\n"
    + STORE.format(4),
    "one condition for a vector": SHUFFLED.replace("%s", "%r")
    + "%s = arith.select %yes, %e, %r : vector<4xf32>\n"
    + STORE.format(4),
    "nobody uses it": SHUFFLED,
    "nobody is there": SHUFFLED
    + "%never = arith.cmpi ugt, %t, %c64 : index\nscf.if %never { "
    + STORE.format(4)
    + " }",
}


def rules(body: str) -> list[tuple[str, int]]:
    before = "%x0 = arith.constant 1.0 : f32\n" + LOAD
    values = [np.arange(64, dtype=np.float32), np.zeros(64, np.float32)]
    outcome = run(before + body, "%a: memref<64xf32>, %c: memref<64xf32>", values, items=1, lanes=1)
    return found(outcome)


@pytest.mark.parametrize("body", STORED.values(), ids=STORED)
def test_poison_that_is_stored_is_found_at_the_store(body: str) -> None:
    assert rules(body) == [("run.poison", 8 + body.count("\n"))]


@pytest.mark.parametrize("body", FINE.values(), ids=FINE)
def test_poison_that_is_not_stored_is_no_mistake(body: str) -> None:
    assert not rules(body)


def test_a_message_that_stores_poison_says_how_many_elements() -> None:
    text = """%d = xegpu.create_nd_tdesc %c : memref<8x16xf32> -> !xegpu.tensor_desc<8x16xf32>
%v = xegpu.load_nd %d[%c0, %c0] : !xegpu.tensor_desc<8x16xf32> -> vector<8xf32>
%s = vector.shuffle %v, %v [0, 1, 2, 3, 4, 5, 6, -1] : vector<8xf32>, vector<8xf32>
xegpu.store_nd %s, %d[%c0, %c0] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>"""
    outcome = run(text, "%c: memref<8x16xf32>", [np.zeros((8, 16), np.float32)], items=16)
    assert [finding.message for finding in outcome.findings] == [
        "stores poison: 16 elements that no operation gives a value"
    ]


def test_the_edge_of_a_block_leaves_poison_out() -> None:
    text = """%d = xegpu.create_nd_tdesc %c : memref<7x16xf32> -> !xegpu.tensor_desc<8x16xf32>
%v = xegpu.load_nd %d[%c0, %c0] : !xegpu.tensor_desc<8x16xf32> -> vector<8xf32>
%s = vector.shuffle %v, %v [0, 1, 2, 3, 4, 5, 6, -1] : vector<8xf32>, vector<8xf32>
xegpu.store_nd %s, %d[%c0, %c0] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>"""
    assert not run(text, "%c: memref<7x16xf32>", [np.zeros((7, 16), np.float32)], items=16).findings
