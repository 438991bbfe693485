// Compile the Python files of a folder with Pyodide's own Python: node compile.mjs PYODIDE FOLDER. Each x.py becomes x.pyc, which
// a browser loads in a third of the time.

import { pathToFileURL } from "node:url";
import { resolve } from "node:path";

const [pyodide, folder] = process.argv.slice(2).map((path) => resolve(path));
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`).href);
const python = await loadPyodide({ indexURL: `${pyodide}/` });
python.FS.mkdir("/package");
python.FS.mount(python.FS.filesystems.NODEFS, { root: folder }, "/package");
python.runPython(`
import compileall, pathlib, py_compile
compileall.compile_dir("/package", quiet=1, legacy=True, optimize=2, stripdir="/package", invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
for source in pathlib.Path("/package").rglob("*.py"):
    if source.with_suffix(".pyc").exists():
        source.unlink()
`);
