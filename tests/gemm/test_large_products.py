"""Products of sizes up to some thousands: drawn workgroups have the bits of the stated arithmetic, and write nothing else."""

from __future__ import annotations

import pytest

from layoutalg.gemm.sampling import drawn, run_sample
from tests.gemm.random_operands import operands
from tests.gemm.random_products import large_product

WORKGROUPS = 3


def check(seed: int) -> None:
    product = large_product(seed)
    gemm = product.plan()
    found = run_sample(gemm, drawn(gemm, WORKGROUPS, seed), *operands(gemm))
    assert found.as_modelled, product
    assert found.untouched, product


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_large_products_have_the_bits_of_the_model(seed: int) -> None:
    check(seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(2, 60))
def test_dozens_of_large_products_have_the_bits_of_the_model(seed: int) -> None:
    check(seed)
