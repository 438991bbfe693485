"""The names that doctests may use without importing them: `la`, `Layout`, `Factor`, `np`."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import layoutalg


@pytest.fixture(autouse=True)
def _names(doctest_namespace: dict[str, Any]) -> None:  # pyright: ignore[reportUnusedFunction]
    doctest_namespace.update(la=layoutalg, Layout=layoutalg.Layout, Factor=layoutalg.Factor, np=numpy)
