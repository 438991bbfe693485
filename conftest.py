"""The names that doctests use without importing them: `la`, `Layout`, `Factor` and `np`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import layoutalg


@pytest.fixture(autouse=True)
def _names(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace.update(la=layoutalg, Layout=layoutalg.Layout, Factor=layoutalg.Factor, np=np)


pytest_plugins = ("tests.sampling",)
