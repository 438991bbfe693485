"""The lowest version of each dependency that pyproject.toml allows, for pip: `make test-lowest` installs and tests them.

$ python tools/lowest_versions.py
numpy==2.0 sympy==1.12.1 networkx==3.2 xdsl==0.74.* ml_dtypes==0.5 click==8.1 rich==13 matplotlib==3.9 pytest==8 ...
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def lowest(requirement: str) -> str:
    """The requirement with its lowest version alone.

    >>> lowest("numpy>=2.0"), lowest("xdsl==0.74.*"), lowest("layoutalg[viz]")
    ('numpy==2.0', 'xdsl==0.74.*', '')
    """
    found = re.match(r"([\w-]+)(?:>=|==)([\w.*]+)", requirement)
    return "" if found is None else f"{found[1]}=={found[2]}"


def lowest_versions(text: str) -> list[str]:
    """The lowest versions of what the package, its pictures and its tests need."""
    project = tomllib.loads(text)["project"]
    extras = project["optional-dependencies"]
    return [
        one for one in map(lowest, [*project["dependencies"], *extras["viz"], *extras["lsp"], *extras["test"]]) if one
    ]


if __name__ == "__main__":
    print(*lowest_versions(PROJECT.read_text(encoding="utf-8")))
