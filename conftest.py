"""The names that the doctests of every module may use without importing them."""

from __future__ import annotations

import numpy as np
import pytest

import layoutalg


@pytest.fixture(autouse=True)
def _names(doctest_namespace: dict[str, object]) -> None:  # pyright: ignore[reportUnusedFunction]
    doctest_namespace.update(la=layoutalg, Layout=layoutalg.Layout, Factor=layoutalg.Factor, np=np)
