"""Emitted conversions run in the simulator and do what their programs say; nothing they do to memory is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutalg.conversion.lowering.emit import emit_kernel
from layoutalg.simulate.launching import launch
from tests.oracle.test_conversions_run import CASES, Case


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_conversion_does_what_its_program_says(case: Case) -> None:
    job = case.job()
    source: NDArray[np.generic] = np.ascontiguousarray(job.fragments)
    source.flags.writeable = False
    target = np.zeros(job.shape, source.dtype)
    outcome = launch(emit_kernel(job.programs, job.element, job.name), [source, target], (len(source), 1, 1))
    assert outcome.findings == ()
    for given, found in zip(source, target, strict=True):
        assert np.array_equal(found, case.run(given))
        if case.expected is not None:
            assert np.array_equal(found, case.expected(given))
