"""The lowest versions that the package allows: they are what `make test-lowest` installs, and what fails with them is said."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

import layoutalg as la
from layoutalg.core import fragments
from layoutalg.core.errors import SizeError

HOME = Path(__file__).resolve().parent.parent
TOOL = HOME / "tools" / "lowest_versions.py"


def tool() -> Any:
    spec = importlib.util.spec_from_file_location("lowest_versions", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(not TOOL.exists(), reason="the sdist has no tools")
def test_every_dependency_states_its_lowest_version() -> None:
    text = (HOME / "pyproject.toml").read_text(encoding="utf-8")
    found = tool().lowest_versions(text)
    names = {one.partition("==")[0] for one in found}
    assert {"numpy", "sympy", "networkx", "xdsl", "ml_dtypes", "click", "rich", "matplotlib", "pytest"} <= names
    assert "numpy==2.0" in found


@pytest.mark.parametrize("rank", [33, 64])
def test_a_tensor_of_more_dimensions_than_numpys_arrays_is_refused_in_words(
    rank: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fragments, "_MOST_DIMENSIONS", 32)
    sizes = ["2@lane:4", "2@lane:2", "2@lane", *["1"] * (rank - 3)]
    layout = la.Layout.parse(", ".join(f"d{number} = {size}" for number, size in enumerate(sizes)))
    with pytest.raises(
        SizeError, match=rf"a tensor of {rank} dimensions: numpy [\d.]+ has arrays of at most 32; ask for"
    ):
        layout.owner_map("lane")
    assert layout.coords(lane=3).tolist() == [[0, 1, 1, *[0] * (rank - 3)]]
    assert layout.owners((0, 1, 1, *[0] * (rank - 3))) == [(0, 3, 0)]
