"""Masks of transfers with a permutation: MLIR orders a mask's dimensions as the memref's, whatever the vector's order is."""

from __future__ import annotations

import numpy as np
import pytest

from tests.simulate.kernels import found, run

SIZES = (3, 4, 5)
MAPS: list[tuple[int | None, ...]] = [(1, 2, 0), (2, 1, 0), (None, 1, 0), (2, 0, 1), (2, 0), (2, None, 0)]
"""The memref's dimension that each dimension of the vector runs along; None: the same along all of it."""


@pytest.mark.parametrize("along", MAPS)
def test_a_masked_read_is_padded_where_the_mask_is_not_set_for_the_place(along: tuple[int | None, ...]) -> None:
    shape = tuple(2 if one is None else SIZES[one] for one in along)
    of_mask = [one for one in range(3) if one in along]
    mask = np.random.default_rng(7).random([SIZES[one] for one in of_mask]) < 0.6
    kind, kind_of_mask = ("x".join(map(str, sizes)) for sizes in (shape, mask.shape))
    form = ", ".join("0" if one is None else f"d{one}" for one in along)
    body = (
        "%z = arith.constant -1.0 : f32\n"
        f"%m = arith.constant dense<{str(mask.tolist()).lower()}> : vector<{kind_of_mask}xi1>\n"
        "%v = vector.transfer_read %a[%c0, %c0, %c0], %z, %m "
        f"{{permutation_map = affine_map<(d0, d1, d2) -> ({form})>}} : memref<3x4x5xf32>, vector<{kind}xf32>\n"
        f"vector.transfer_write %v, %c[{', '.join(['%c0'] * len(shape))}] : vector<{kind}xf32>, memref<{kind}xf32>"
    )
    values, result = np.arange(60, dtype=np.float32).reshape(SIZES), np.zeros(shape, np.float32)
    outcome = run(body, f"%a: memref<3x4x5xf32>, %c: memref<{kind}xf32>", [values, result], items=1, lanes=1)
    assert found(outcome) == []
    for index in np.ndindex(shape):
        place = [0, 0, 0]
        for one, number in zip(along, index, strict=True):
            if one is not None:
                place[one] = number
        wanted = values[tuple(place)] if mask[tuple(place[one] for one in of_mask)] else -1
        assert result[index] == wanted, index
