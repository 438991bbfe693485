"""The explorer as files alone: the page, layoutalg as a zip, and Pyodide, for any server of static files.

    python tools/static_explorer/build.py FOLDER [PYODIDE]

PYODIDE (build/pyodide) is what `make pyodide` fetched. Where it is missing, the page says how to get it. Python 3.14 of Pyodide
compiles the package where `node` is there; else the browser does it, which takes a few seconds.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

__all__ = ["build"]

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
PYODIDE = ROOT / "build" / "pyodide"
NEEDED = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; "
    "style-src 'self'; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'"
)
WITHOUT = ROOT / "docs" / "explorer" / "page" / "index.html"
"""The page that says what is missing."""
_SAME_TIME = (1980, 1, 1, 0, 0, 0)


def build(folder: Path, pyodide: Path = PYODIDE) -> bool:
    """Write the page into a folder; whether Pyodide is there."""
    page = ROOT / "layoutalg" / "explorer" / "page"
    folder.mkdir(parents=True, exist_ok=True)
    if not all((pyodide / name).exists() for name in NEEDED):
        shutil.copyfile(WITHOUT, folder / "index.html")
        return False
    for file in page.iterdir():
        if file.is_file() and file.name not in ("main.js", "transport_fetch.js", "index.html"):
            shutil.copyfile(file, folder / file.name)
    for name in ("main.js", "transport_worker.js", "worker.js"):
        shutil.copyfile(HERE / name, folder / name)
    policy = f'<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    index = (page / "index.html").read_text(encoding="utf-8").replace('<meta charset="utf-8">', policy)
    (folder / "index.html").write_text(index, encoding="utf-8")
    (folder / "pyodide").mkdir(exist_ok=True)
    for name in NEEDED:
        shutil.copyfile(pyodide / name, folder / "pyodide" / name)
    _pack(folder / "layoutalg.zip", pyodide)
    return True


def _pack(target: Path, pyodide: Path) -> None:
    """The package as a zip, compiled where possible; the same bytes every time."""
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / "layoutalg"
        shutil.copytree(ROOT / "layoutalg", copy, ignore=shutil.ignore_patterns("__pycache__", "page", "*.pyc"))
        node = shutil.which("node")
        if node is not None:
            subprocess.run([node, str(HERE / "compile.mjs"), str(pyodide), name], check=True, stdout=subprocess.DEVNULL)
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
            for file in sorted(copy.rglob("*")):
                if file.is_file():
                    entry = zipfile.ZipInfo(file.relative_to(name).as_posix(), _SAME_TIME)
                    entry.compress_type = zipfile.ZIP_DEFLATED
                    packed.writestr(entry, file.read_bytes())


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit("usage: build.py FOLDER [PYODIDE]")
    if not build(Path(sys.argv[1]), *map(Path, sys.argv[2:])):
        print("Pyodide is missing (make pyodide): the page says so", file=sys.stderr)
