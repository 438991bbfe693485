"""Rules that no LLVM has: each refuses a module that LLVM accepts, and the reason is shown to be true.

That LLVM accepts the modules is asked in `tests/oracle/test_verdicts_of_structures.py`.
"""

from __future__ import annotations

import pytest

from layoutalg.core.errors import VerificationError
from layoutalg.hardware import block_load, dpas, target_info
from layoutalg.ir.findings import OURS as OUR_NAME
from layoutalg.ir.verify import ours, ours_hardware, verify_module
from layoutalg.ir.verify.registry import OUR_RULES
from tests.ir.verify.modules import OURS, Example, module_of


@pytest.mark.parametrize("example", OURS, ids=lambda example: example.rule)
def test_what_llvm_accepts_is_refused_in_our_name(example: Example) -> None:
    for llvm in example.versions:
        findings = verify_module(module_of(example.text), llvm=llvm, target=example.target)
        assert {finding.source for finding in findings} == {OUR_NAME}
        assert example.rule in {finding.rule for finding in findings}
        assert all(finding.notes and finding.place is not None for finding in findings)


def test_every_rule_of_ours_has_an_example() -> None:
    assert ours.__doc__
    assert ours_hardware.__doc__
    named = {rule.name for rules in OUR_RULES.values() for rule in rules if rule.name.startswith("ours.")}
    assert named == {example.rule for example in OURS}


def test_rules_of_the_chip_are_asked_with_a_target_alone() -> None:
    for example in OURS:
        if example.target is not None:
            assert not verify_module(module_of(example.text))


def test_no_message_is_packed_and_transposed() -> None:
    with pytest.raises(VerificationError, match="cannot be combined"):
        block_load(16, 16, 16, transform=True, transpose=True)


@pytest.mark.parametrize("bits", [8, 16])
def test_dpas_reads_b_in_words_of_32_bits(bits: int) -> None:
    """Of the hardware's table: a lane has K elements of B, 32/bits of them in each register."""
    kind = {8: "s8", 16: "f16"}[bits]
    b = next(operand for operand in dpas(kind, kind, target="pvc").operands() if operand.name.startswith("B"))
    depth = 256 // bits
    held = b.layout.coords(lane=3)
    assert len(held) == depth
    assert {column for _, column in held.tolist()} == {3}
    assert held[: 32 // bits, 0].tolist() == list(range(32 // bits))


@pytest.mark.parametrize(("a", "b", "c"), [(8, 16, 8), (1, 16, 1), (4, 16, 4)])
def test_fragments_of_a_real_dpas_are_accepted(a: int, b: int, c: int) -> None:
    text = f"""func.func @f(%a: vector<{a}xf16>, %b: vector<{b}xf16>) {{
      %c = xegpu.dpas %a, %b : vector<{a}xf16>, vector<{b}xf16> -> vector<{c}xf32>
      return
    }}"""
    assert not verify_module(module_of(text))
    sizes = {operand.name[0]: operand.layout.shape for operand in dpas("f16", "f16", target="pvc", m=c).operands()}
    assert [rows * columns // 16 for rows, columns in (sizes["A"], sizes["B"], sizes["C"])] == [a, b, c]


def test_a_lane_layout_that_the_message_does_not_deliver() -> None:
    delivered = block_load(8, 16, 16).layout
    (example,) = (one for one in OURS if one.rule == "ours.load_layout")
    (finding,) = verify_module(module_of(example.text))
    assert finding.message == (
        "element (0, 8): the layout says lane 0, register 1; a 2D block load delivers lane 8, register 0"
    )
    assert delivered.owners((0, 8)) == [(0, 8, 0)]


def test_surface_limits_are_the_hardware_tables() -> None:
    limits = target_info("pvc").surface
    assert limits is not None
    for columns in range(32, 80, 2):
        text = f"""func.func @f(%p: i64) {{
          %t = xegpu.create_nd_tdesc %p, shape : [64, {columns}], strides : [{columns}, 1] : i64 -> !xegpu.tensor_desc<8x16xf16>
          return
        }}"""
        fits = 2 * columns % limits.width_multiple == 0 and 2 * columns % limits.pitch_multiple == 0
        fits = fits and 2 * columns >= limits.width_least
        assert (not verify_module(module_of(text), target="pvc")) == fits, columns
