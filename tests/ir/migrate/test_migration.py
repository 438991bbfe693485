"""Migration: both modules compute the same, migrating twice changes nothing, and what has no counterpart is named."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import MemRefType

from layoutalg.core.errors import LayoutError
from layoutalg.ir import read_module, write_module
from layoutalg.ir.migrate import migrate_module
from layoutalg.simulate import launch
from tests.ir.migrate.kernels import KERNELS, LEVELS, WITHOUT_COUNTERPART

ALL = {**KERNELS, **LEVELS}


def computed(text: str) -> np.ndarray:
    """What a kernel leaves in its second matrix."""
    kernel = next(op for op in read_module(text).walk() if op.name == "gpu.func")
    kinds = [argument.type for argument in kernel.regions[0].blocks[0].args]
    shapes = [
        kind.get_shape() if isinstance(kind, MemRefType) and min(kind.get_shape()) > 0 else (64, 64) for kind in kinds
    ]
    a = np.random.default_rng(3).standard_normal(shapes[0], np.float32)
    c = np.full(shapes[1], -1, np.float32)
    outcome = launch(text, [a, c], (2, 1, 1))
    assert outcome.findings == ()
    assert (c != -1).any()
    return c


@pytest.mark.parametrize("llvm", [23, 24])
@pytest.mark.parametrize("name", ALL)
def test_the_migrated_kernel_computes_the_same(name: str, llvm: int) -> None:
    made = migrate_module(read_module(ALL[name]), to=llvm)
    assert (computed(write_module(made.module, llvm=llvm)) == computed(ALL[name])).all()


@pytest.mark.parametrize("llvm", [23, 24])
@pytest.mark.parametrize("name", ALL)
def test_migrating_twice_changes_nothing(name: str, llvm: int) -> None:
    once = migrate_module(read_module(ALL[name]), to=llvm).module
    twice = migrate_module(read_module(write_module(once, llvm=llvm)), to=llvm).module
    assert write_module(once, llvm=llvm) == write_module(twice, llvm=llvm)


def test_the_module_that_is_given_stays_as_it_is() -> None:
    module = read_module(KERNELS["moved_in_a_loop"])
    before = write_module(module)
    migrate_module(module, to=24)
    assert write_module(module) == before


@pytest.mark.parametrize("name", WITHOUT_COUNTERPART)
def test_what_has_no_counterpart_is_named_with_its_line(name: str) -> None:
    operation, text = WITHOUT_COUNTERPART[name]
    [finding] = migrate_module(read_module(text, file="k.mlir"), to=24).findings
    assert finding.operation == operation
    assert finding.place is not None
    assert operation.rpartition(".")[2] in text.splitlines()[finding.place.line - 1]


@pytest.mark.parametrize("version", [21, 22, 25, "24", None, True])
def test_other_versions_are_refused(version: object) -> None:
    with pytest.raises(LayoutError, match="LLVM"):
        migrate_module(read_module("builtin.module {}"), to=version)  # type: ignore[arg-type]
