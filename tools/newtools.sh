#!/bin/sh
# The compilers that Debian's stable suite does not have yet: LLVM 23 and 24 (mlir-opt, mlir-translate, llc) and Intel's
# current graphics compiler (ocloc) and driver (Level Zero), beside what is installed.
#
#     tools/newtools.sh FOLDER        then FOLDER/bin has mlir-opt-23, mlir-opt-24, llc-23, ..., ocloc
#
# Nothing is installed: apt downloads the packages of the suites sid and experimental, with lists and a status of its own,
# from the mirror that this machine already uses; they are unpacked into FOLDER and started with their own dynamic loader.
# About 290 MB of downloads and 1.1 GB on disk; a minute. What is there already stays.
#
# Exit status 0: all there. 3: FOLDER/missing names what the suites no longer have (llvm23, llvm24, igc, ze), a line each; the
# rest works. Suites move on, so this is expected to happen. 1: not a Debian machine, or its mirror cannot be reached.
set -eu
folder=$(mkdir -p "${1:?usage: tools/newtools.sh FOLDER}" && cd "$1" && pwd)
key=/usr/share/keyrings/debian-archive-keyring.gpg
fail() { echo "newtools: $*" >&2; exit 1; }
command -v apt-get >/dev/null && [ -e "$key" ] || fail "this machine is not Debian"
[ "$(uname -m)" = x86_64 ] || fail "packages are taken for x86_64, this is $(uname -m)"
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep '/debian/$' | head -n 1) || true
[ -n "$mirror" ] || fail "apt knows no mirror of Debian"

mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial" "$folder/bin"
: >"$folder/apt/status"
: >"$folder/missing"
for suite in sid experimental; do echo "deb [signed-by=$key] $mirror $suite main"; done >"$folder/apt/new.list"
apt() {
  apt-get -q -oDir::State::Lists="$folder/apt/lists" -oDir::State::status="$folder/apt/status" \
    -oDir::Etc::sourcelist="$folder/apt/new.list" -oDir::Etc::sourceparts=/dev/null -oDir::Cache="$folder/apt/cache" \
    -oDebug::NoLocking=true -oAPT::Install-Recommends=false -oAPT::Sandbox::User=root "$@"
}

unpack() { # name, suite, packages...
  name=$1 suite=$2
  shift 2
  [ -e "$folder/$name/done" ] && return
  [ -e "$folder/apt/updated" ] || { apt update >/dev/null || fail "apt cannot read $mirror"; : >"$folder/apt/updated"; }
  log=$folder/apt/$name.log
  if ! apt -s -t "$suite" install "$@" >"$log" 2>&1; then
    echo "$name" >>"$folder/missing" # not in the suite, or not installable there at the moment
    return
  fi
  apt -y --download-only -t "$suite" install "$@" >"$log" 2>&1 || fail "the download of $name failed, see $log"
  for package in "$folder"/apt/cache/archives/*.deb; do dpkg -x "$package" "$folder/$name"; done
  touch "$folder/$name/done"
  rm -f "$folder"/apt/cache/archives/*.deb
}

start() { # command, name, program below it, a further folder of libraries below it
  root=$folder/$2
  [ -x "$root/$3" ] || return 0
  libraries=$root/usr/lib/x86_64-linux-gnu${4:+:$root/$4}
  printf '#!/bin/sh\nexec "%s" --library-path "%s" "%s" "$@"\n' "$root/usr/lib64/ld-linux-x86-64.so.2" "$libraries" \
    "$root/$3" >"$folder/bin/$1"
  chmod +x "$folder/bin/$1"
}

rm -f "$folder/apt/updated"
unpack llvm23 sid mlir-23-tools llvm-23
unpack llvm24 experimental mlir-24-tools llvm-24
unpack igc sid intel-opencl-icd intel-ocloc libigc2 libigdfcl2 libigc2-tools
unpack ze sid libze-intel-gpu1 libze1
for version in 23 24; do
  for tool in mlir-opt mlir-translate llc; do
    start "$tool-$version" "llvm$version" "usr/lib/llvm-$version/bin/$tool" "usr/lib/llvm-$version/lib"
  done
done
for program in "$folder"/igc/usr/bin/ocloc*; do start ocloc igc "usr/bin/${program##*/}"; done
[ -s "$folder/missing" ] || exit 0
echo "newtools: no longer in Debian's suites: $(tr '\n' ' ' <"$folder/missing")" >&2
exit 3
