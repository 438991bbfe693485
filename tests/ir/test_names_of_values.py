"""Whatever the values of a text are called, no two that are visible together are written with one name."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

import layoutalg as la
from layoutalg.ir import read_module, write_module
from tests.oracle.toolchains import require, run
from tests.sampling import examples

FOUND = """func.func @f(%x: vector<2x32xf16>) -> vector<32xf16> {
  %a_val = vector.shape_cast %x : vector<2x32xf16> to vector<2x32xf16>
  %a_val_0 = vector.extract %a_val[0] : vector<32xf16> from vector<2x32xf16>
  %a_val_1 = vector.extract %a_val[1] : vector<32xf16> from vector<2x32xf16>
  %a_val_0_0 = arith.addf %a_val_0, %a_val_0 : vector<32xf16>
  %a_val_1_0 = arith.addf %a_val_1, %a_val_1 : vector<32xf16>
  return %a_val_1_0 : vector<32xf16>
}
"""
NAMES = st.text("ab_01", min_size=1, max_size=6).map(lambda name: f"v{name}")


def chain(names: list[str]) -> str:
    """Each value is the one before it plus the first one."""
    lines = [f"%{names[0]} = arith.constant 1 : i32"]
    lines += [f"%{name} = arith.addi %{before}, %{names[0]} : i32" for before, name in pairwise(names)]
    return "func.func @f() {\n" + "\n".join(lines) + "\nreturn }"


def shape_of(text: str) -> list[tuple[int, ...]]:
    """For each operation of a chain, which earlier ones it uses."""
    made: dict[str, int] = {}
    found: list[tuple[int, ...]] = []
    for number, (name, rest) in enumerate(re.findall(r"^\s*(%\S+) = (.*)$", text, re.MULTILINE)):
        found.append(tuple(made[used] for used in re.findall(r"%[\w$.-]+", rest)))
        assert name not in made
        made[name] = number
    return found


def test_the_module_that_was_found_is_written_as_mlir_opt_reads_it() -> None:
    written = la.read(FOUND).text(22)
    done = run([require("mlir-opt-22"), "--mlir-print-op-generic"], written)
    assert done.returncode == 0, done.stderr
    assert done.stdout == run([require("mlir-opt-22"), "--mlir-print-op-generic"], FOUND).stdout


def test_names_of_the_text_that_end_in_numbers_do_not_meet() -> None:
    assert len(set(re.findall(r"(%\S+) =", str(la.read(FOUND))))) == 5


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(NAMES, min_size=2, max_size=9, unique=True))
def test_every_chain_of_values_is_the_same_chain_when_it_is_written(names: list[str]) -> None:
    text = write_module(read_module(chain(names)))
    assert shape_of(text) == shape_of(chain(names))
    assert write_module(read_module(text)) == text


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(NAMES, min_size=2, max_size=6, unique=True))
def test_names_inside_of_a_region_differ_from_those_around_it(names: list[str]) -> None:
    inner = "\n".join(f"%{name}_0 = arith.constant 2 : i32" for name in names)
    first = f"%{names[0]} = arith.constant 1 : i32"
    text = f"func.func @f(%c: i1, %{names[0]}_1: i32) {{\n{first}\nscf.if %c {{\n{inner}\n}}\nreturn }}"
    if len({f"{name}_0" for name in names} | {names[0], f"{names[0]}_1"}) < len(names) + 2:
        return
    defined = re.findall(r"(%\S+) =|(%[\w]+):", write_module(read_module(text)))
    flat = [one or other for one, other in defined]
    assert len(flat) == len(set(flat)) == len(names) + 3
