#!/bin/sh
# Pyodide, Python for browsers, from the npm registry: tools/static_explorer/pyodide.sh FOLDER (14 MB; what is there stays).
set -eu
version=314.0.7
folder=${1:?usage: pyodide.sh FOLDER}
[ -e "$folder/$version" ] && exit 0
command -v npm >/dev/null || { echo "pyodide.sh: npm is not installed, and the explorer of the site needs it" >&2; exit 3; }
rm -rf "$folder" && mkdir -p "$folder"
archive=$(cd "$folder" && npm pack --silent "pyodide@$version")
tar -xzf "$folder/$archive" -C "$folder" --strip-components=1
rm "$folder/$archive"
: >"$folder/$version"
