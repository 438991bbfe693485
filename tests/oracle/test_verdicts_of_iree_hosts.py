"""`verify` says what iree-opt says of what the host computes for a kernel: conditions, constants, counts of workgroups."""

from __future__ import annotations

import re
from itertools import product

import pytest

from layoutalg.ir import read_file_text
from layoutalg.ir.findings import OURS
from layoutalg.ir.verify import verify_module
from tests.oracle.iree import iree_opt
from tests.oracle.toolchains import run

_VALUES = {"i1": "arith.constant true", "i32": "arith.constant 1 : i32", "index": "arith.constant 1 : index"}
_VALUES["f32"] = "arith.constant 1.0 : f32"
_LAYOUT = "layout(#hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>]>)"


def in_variant(body: str) -> str:
    return f'hal.executable @e {{ hal.executable.variant @v target(<"rocm", "rocm-hsaco-fb">) {{\n{body}\n}} }}'


def region(kinds: list[str]) -> str:
    """A region that gives a value of each type to the host."""
    made = [f"%v{number} = {_VALUES[kind]}" for number, kind in enumerate(kinds)]
    names = ", ".join(f"%v{number}" for number in range(len(kinds)))
    given = f" {names} : {', '.join(kinds)}" if kinds else ""
    return "{\n" + "\n".join([*made, f"hal.return{given}"]) + "\n}"


def conditions() -> list[str]:
    arguments = ("%d: !hal.device", "", "%d: index", "%d: !hal.device, %e: index")
    found = [
        f"hal.executable.condition({given}) -> {kind} {region([kind])}"
        for given, kind in product(arguments, ("i1", "i32"))
    ]
    return [
        *found,
        *(f"hal.executable.condition({arguments[0]}) -> i1 {region(some)}" for some in ([], ["i32"], ["i1", "i1"])),
    ]


def constants() -> list[str]:
    arguments = ("%d: !hal.device", "", "%d: index", "%d: !hal.device, %e: index")
    signatures = (
        'i32 as "a"',
        '(i32) as "a"',
        '(i32) as ("a")',
        '(i32, i32) as ("a")',
        '(i32, i32) as ("a", "b")',
        "() as ()",
    )
    results: tuple[list[str], ...] = (["i32"], ["i32"], ["i32"], ["i32", "i32"], ["i32", "i32"], [])
    found = [
        f"hal.executable.constant.block({given}) -> {signature} {region(some)}"
        for given, (signature, some) in product(arguments, zip(signatures, results, strict=True))
    ]
    others: tuple[list[str], ...] = (["f32"], [], ["i32", "i32"])
    found += [f'hal.executable.constant.block() -> i32 as "a" {region(some)}' for some in others]
    return [
        *found,
        f'hal.executable.constant.block() -> f32 as "a" {region(["f32"])}',
        "hal.executable.constant.block() -> i32 {}",
    ]


def exports() -> list[str]:
    signatures = ("(index, index, index)", "(index, index)", "index", "(index, index, i32)")
    export = f"hal.executable.export @f ordinal(0) {_LAYOUT}"
    counts = [f"{export} count(%d: !hal.device) -> {some} {region(['index'] * 3)}" for some in signatures]
    conditions = [
        f"{export} condition(%d: !hal.device) -> {some} {region(['i1'])} fallback(@f)" for some in ("i1", "(i1)", "i32")
    ]
    return counts + conditions


def returns() -> list[str]:
    generic = "pcf.generic scope(#iree_gpu.lane_scope) execute[%i: index, %n: index] {\n"
    test = "%c = arith.cmpi eq, %i, %n : index\n"
    return [
        f"{generic}{test}pcf.br.cond_return %c ^bb1(%i : index)\n^bb1(%a: index):\npcf.return\n}}",
        f"{generic}{test}pcf.br.cond_return %c ^bb1\n^bb1:\npcf.return\n}}",
        f'{generic}"pcf.br.cond_return"(%i)[^bb1] : (index) -> ()\n^bb1:\npcf.return\n}}',
        "func.func @f(%c: i1) {\npcf.br.cond_return %c ^bb1\n^bb1:\nreturn\n}",
        f'hal.executable.constant.block() -> i32 as "a" {region(["i32"])}',
    ]


CASES = [*map(in_variant, [*conditions(), *constants(), *exports()]), *returns()]


def first_error(text: str) -> str | None:
    """iree-opt's first error, without the operation's name."""
    found = run([iree_opt()], text)
    lines = [line.partition(" error: ")[2] for line in found.stderr.splitlines() if " error: " in line]
    assert bool(lines) == bool(found.returncode)
    return re.sub(r"^(custom op '[\w.]+'|'[\w.]+' op) ", "", lines[0]) if lines else None


@pytest.mark.parametrize("text", CASES)
def test_what_the_host_computes_is_judged_as_by_iree(text: str) -> None:
    said = first_error(text)
    [part] = (reading := read_file_text(text)).modules
    refused = [finding.message.removeprefix("cannot be read: ") for finding in reading.findings]
    found = [*refused, *(finding.message for finding in verify_module(part.module) if finding.source != OURS)]
    if said in ("expected string", "expected 'as'"):  # where the parsers' own words differ
        assert refused
        assert "expected" in refused[0]
    else:
        assert found[:1] == ([] if said is None else [said])
