"""Intel's instructions and messages on a machine: their lanes are fixed, further subgroups hold copies."""

from __future__ import annotations

import pytest

import layoutalg as la


@pytest.mark.parametrize("value", [la.dpas("f16", "f16", "f32"), la.block_load(8, 16, 16), la.block_store(8, 16, 32)])
def test_further_subgroups_hold_copies(value: la.core.notation.Distributed) -> None:
    for alone, copied in zip(value.operands(), value.operands(None, la.Machine(subgroups=2)), strict=True):
        for element in ((0, 0), (3, 5)):
            owners = alone.layout.owners(element)
            assert copied.layout.owners(element) == [(sg, *rest) for sg in (0, 1) for _, *rest in owners]


@pytest.mark.parametrize("value", [la.dpas("f16", "f16", "f32"), la.block_load(8, 16, 16), la.block_store(8, 16, 32)])
def test_other_lanes_are_refused(value: la.core.notation.Distributed) -> None:
    with pytest.raises(la.DistributionError, match="is executed by 16 lanes together"):
        value.operands(None, la.Machine(lanes=32))
