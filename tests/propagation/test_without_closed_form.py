"""Shuffles in any order, and other operations whose relation has no closed form with a layout: propagated, right, and run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import layoutalg as la

Array = Any


def kernel(body: str, ins: list[tuple[int, ...]], out: tuple[int, ...], subgroups: int = 1) -> str:
    """A kernel that loads %x0 and %x1, and stores %y."""
    lines = [
        f"gpu.module @m {{ gpu.func @k({', '.join(f'%p{i}: i64' for i in range(len(ins) + 1))}) kernel attributes "
        f"{{known_block_size = array<i32: {16 * subgroups}, 1, 1>, intel_reqd_sub_group_size = 16 : i32}} {{"
    ]
    for number, shape in enumerate([*ins, out]):
        strides = [int(np.prod(shape[dim + 1 :])) for dim in range(len(shape))]
        block = f"!xegpu.tensor_desc<{'x'.join(map(str, shape))}xf32>"
        vector, zeros = block.replace("!xegpu.tensor_desc", "vector"), ", ".join("0" for _ in shape)
        sizes = f"shape : {list(shape)}, strides : {strides}"
        lines.append(f"%t{number} = xegpu.create_nd_tdesc %p{number}, {sizes} : i64 -> {block}")
        if number < len(ins):
            lines.append(f"%x{number} = xegpu.load_nd %t{number}[{zeros}] : {block} -> {vector}")
        else:
            lines += [body, f"xegpu.store_nd %y, %t{number}[{zeros}] : {vector}, {block}"]
    return "\n".join([*lines, "gpu.return } }"])


def shuffle(mask: list[int], first: str, second: str = "") -> str:
    second, names = second or first, ("%x0, %x1" if second else "%x0, %x0")
    return f"%y = vector.shuffle {names} {mask} : vector<{first}xf32>, vector<{second}xf32>"


def of_both(mask: list[int]) -> Callable[..., Array]:
    return lambda *arrays: np.concatenate(arrays)[mask]


FIFTHS = [5 * place % 32 for place in range(32)]
SUMS = """%a = vector.shuffle %x0, %x0 [7, 5, 3, 1] : vector<8x16xf32>, vector<8x16xf32>
%z = arith.constant dense<0.0> : vector<16xf32>
%y = vector.multi_reduction <add>, %a, %z [0] : vector<4x16xf32> to vector<16xf32>"""
TRANSPOSED = """%a = vector.transpose %x0, [1, 0] : vector<16x16xf32> to vector<16x16xf32>
%y = vector.shuffle %a, %a [15, 14, 13, 12, 11, 10, 9, 8] : vector<16x16xf32>, vector<16x16xf32>"""
CASES: dict[str, tuple[str, list[tuple[int, ...]], tuple[int, ...], Callable[..., Array]]] = {
    "descending": (shuffle([3, 2, 1, 0], "4x16"), [(4, 16)], (4, 16), of_both([3, 2, 1, 0])),
    "of both": (shuffle([0, 5, 3, 1], "4x16", "4x16"), [(4, 16)] * 2, (4, 16), of_both([0, 5, 3, 1])),
    "repeated": (shuffle([0, 0, 3, 3, 2, 2], "4x16"), [(4, 16)], (6, 16), of_both([0, 0, 3, 3, 2, 2])),
    "across lanes": (shuffle(FIFTHS, "32"), [(32,)], (32,), of_both(FIFTHS)),
    "of a transpose": (TRANSPOSED, [(16, 16)], (8, 16), lambda x: x.T[:7:-1]),
    "added up": (SUMS, [(8, 16)], (16,), lambda x: x[[7, 5, 3, 1]].sum(0)),
}


@pytest.mark.parametrize("level", ["lane", "inst"])
@pytest.mark.parametrize("name", CASES)
def test_rows_in_any_order_are_propagated_and_run(name: str, level: str) -> None:
    body, ins, out, meaning = CASES[name]
    done = la.propagate(kernel(body, ins, out), level=level)
    assert done.findings == ()
    assert la.check(done.module, llvm=24).is_right
    lowered = la.lower(done.module, level="lane")  # tiles of instructions leave lanes open
    assert lowered.module is not None
    arrays = [np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + 1000 * at for at, shape in enumerate(ins)]
    result = np.zeros(out, np.float32)
    assert lowered.module.run([*arrays, result], (1, 1, 1)).findings == ()
    assert np.array_equal(result, meaning(*arrays))


def test_rows_in_descending_order_stay_where_they_are() -> None:
    body, ins, out, _ = CASES["descending"]
    done = la.propagate(kernel(body, ins, out))
    assert done.conversions == ()
    assert done.is_optimal


def test_elements_in_other_lanes_are_converted_before() -> None:
    body, ins, out, _ = CASES["across lanes"]
    [conversion] = la.propagate(kernel(body, ins, out)).conversions
    assert conversion.users == ("vector.shuffle",)


def test_subgroups_share_rows_in_descending_order() -> None:
    text = kernel(shuffle([3, 2, 1, 0], "4x64"), [(4, 64)], (4, 64), subgroups=4)
    lowered = la.lower(text, level="lane")
    assert lowered.findings == ()
    assert lowered.module is not None
    source, result = np.arange(256, dtype=np.float32).reshape(4, 64), np.zeros((4, 64), np.float32)
    assert lowered.module.run([source, result], (1, 1, 1)).findings == ()
    assert np.array_equal(result, source[::-1])
