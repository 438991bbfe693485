"""The messages that a writer has come through its compiler, and move what they say: asked of LLVM and Intel's compiler."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import layoutalg as la
from layoutalg.gemm.listing import compile_kernel
from layoutalg.hardware.messages import Message, Way, messages_of
from layoutalg.simulate import launch
from layoutalg.xegpu import LayoutAttr
from tests.oracle.toolchains import require, require_new, run

ELEMENTS = {8: "i8", 16: "f16", 32: "f32"}
_KERNEL = "kernel attributes {known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32}"


def messages(writer: str) -> list[Message]:
    found: dict[Message, None] = {}
    ways: tuple[Way, ...] = ("load", "store")
    for bits in ELEMENTS:
        for way in ways:
            found |= dict.fromkeys(messages_of("pvc", bits, way, writer))
    return list(found)


def described(message: Message) -> tuple[str, str, int]:
    """The descriptor of a message, the element type, and the elements of a lane."""
    element = f"i{message.unit}" if message.kind == "transposed" else ELEMENTS[message.block.bits]
    together = message.unit // message.block.bits
    array = f", #xegpu.block_tdesc_attr<array_length = {message.count} : i64>" if message.count > 1 else ""
    kind = f"!xegpu.tensor_desc<{message.rows}x{message.width // together}x{element}{array}>"
    return kind, element, message.registers // together


def moving(message: Message, number: int) -> str:
    """A load whose registers are stored in slices, as lowered kernels take them; a store of a constant."""
    kind, element, count = described(message)
    vector, at = f"vector<{count}x{element}>", "%p, shape : [256, 256], strides : [256, 1] : i64"
    if message.kind == "store":
        value = "0.0" if element[0] == "f" else "1"
        return (
            f"%t{number} = xegpu.create_nd_tdesc {at} -> {kind} %v{number} = arith.constant dense<{value}> : {vector} "
            f"xegpu.store_nd %v{number}, %t{number}[0, 0] : {vector}, {kind}\n"
        )
    how = {"packed": "<{packed}>", "transposed": "<{transpose = array<i64: 1, 0>}>"}.get(message.kind, "")
    lines = [
        f"%t{number} = xegpu.create_nd_tdesc {at} -> {kind}",
        f"%v{number} = xegpu.load_nd %t{number}[0, 0] {how} : {kind} -> {vector}",
    ]
    size = min(count, 8)
    tile, out = f"!xegpu.tensor_desc<{size}x16x{element}>", f"vector<{size}x{element}>"
    lines.append(f"%u{number} = xegpu.create_nd_tdesc %q, shape : [512, 256], strides : [256, 1] : i64 -> {tile}")
    for start in range(0, count, size):
        name = f"%s{number}_{start}"
        taken = ", ".join(map(str, range(start, start + size)))
        lines.append(f"{name} = vector.shuffle %v{number}, %v{number} [{taken}] : {vector}, {vector}")
        lines.append(f"xegpu.store_nd {name}, %u{number}[{start}, 0] : {out}, {tile}")
    return "\n".join(lines) + "\n"


def kernel(*bodies: str) -> str:
    return f"gpu.module @m {{ gpu.func @k(%p: i64, %q: i64) {_KERNEL} {{\n{''.join(bodies)}gpu.return }} }}\n"


@pytest.mark.parametrize("version", [22, 23, 24])
def test_every_message_that_llvm_writes_becomes_spirv(version: int) -> None:
    compiler = require("mlir-opt-22") if version == 22 else require_new(f"mlir-opt-{version}")
    found = messages("spirv22" if version == 22 else "spirv")
    texts = [kernel(moving(message, 0)) for message in found]
    kind = "bin" if version == 22 else "isa"
    pipeline = f"--gpu-lower-to-xevm-pipeline=xegpu-op-level=lane zebin-chip=pvc binary-format={kind}"
    outcome = run([compiler, "--split-input-file", pipeline], "// -----\n".join(texts))
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout.count("gpu.binary") == len(texts) >= 50


@pytest.mark.parametrize("chip", ["pvc", "bmg"])
@pytest.mark.parametrize("bits", ELEMENTS)
def test_every_message_that_llvm_writes_is_one_message_of_the_machine_code(bits: int, chip: str) -> None:
    """No builtin is left unresolved, and there are as many block messages as were written."""
    require_new("mlir-opt-24")
    require_new("ocloc")
    found = [message for message in messages("spirv") if message.block.bits == bits]
    texts = [moving(message, number) for number, message in enumerate(found)]
    listing = compile_kernel(kernel(*texts), chip, 256, llvm=24)
    assert listing.unresolved == 0
    lines = listing.assembly.splitlines()
    made = tuple(sum(name in line for line in lines) for name in ("load_block2d", "store_block2d"))
    written = tuple(sum(text.count(f"xegpu.{name}") for text in texts) for name in ("load_nd", "store_nd"))
    assert made == written


LANES = {"f16": "[1, 2]", "bf16": "[1, 2]", "i8": "[1, 4]", "f32": "[1, 1]"}
DTYPES: dict[str, Any] = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int8, "f32": np.float32}


def transposed(element: str, columns: int) -> str:
    """A block whose rows are lanes, converted to columns and stored."""
    down = f"#xegpu.layout<lane_layout = [16, 1], lane_data = {LANES[element]}>"
    rows = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
    block, tile = f"vector<16x{columns}x{element}>", f"!xegpu.tensor_desc<16x{columns}x{element}>"
    memory = f"shape : [64, 64], strides : [64, 1] : i64 -> {tile}"
    return f"""gpu.module @m {{ gpu.func @k(%p: i64, %q: i64) {_KERNEL} {{
      %t = xegpu.create_nd_tdesc %p, {memory}
      %x = xegpu.load_nd %t[16, 16] <{{layout = {down}}}> : {tile} -> {block}
      %y = xegpu.convert_layout %x <{{input_layout = {down}, target_layout = {rows}}}> : {block}
      %u = xegpu.create_nd_tdesc %q, {memory}
      xegpu.store_nd %y, %u[0, 0] <{{layout = {rows}}}> : {block}, {tile}
      gpu.return }} }}"""


@pytest.mark.parametrize("element", LANES)
def test_rows_in_lanes_come_by_messages_of_32_bits_and_compute_the_same(element: str) -> None:
    """One message, as it is priced; the machine code has it as one, and the values are those of the source."""
    columns = 32 if element == "i8" else 16
    lowered = la.lower(la.read(transposed(element, columns)))
    assert lowered.findings == ()
    text = str(lowered)
    unit = "f32" if element == "f32" else "i32"
    loads = re.findall(r"load_nd .*", text)
    assert len(loads) == (2 if element == "f32" else 1)
    assert all(f"tensor_desc<16x8x{unit}>" in load and "transpose" in load for load in loads)
    given = np.random.default_rng(0).integers(-99, 99, (64, 64)).astype(DTYPES[element])
    made = np.zeros((64, 64), DTYPES[element])
    assert launch(text, [given, made], (1, 1, 1), level="lane").findings == ()
    assert np.array_equal(made[:16, :columns], given[16:32, 16 : 16 + columns])


@pytest.mark.parametrize("version", [22, 23, 24])
def test_rows_in_lanes_become_spirv(version: int) -> None:
    compiler = require("mlir-opt-22") if version == 22 else require_new(f"mlir-opt-{version}")
    kinds = [element for element in LANES if version > 22 or element != "bf16"]  # 22 has no vectors of bf16 in SPIR-V
    texts = [str(la.lower(la.read(transposed(one, 32 if one == "i8" else 16)), llvm=version)) for one in kinds]
    kind = "bin" if version == 22 else "isa"
    pipeline = f"--gpu-lower-to-xevm-pipeline=xegpu-op-level=lane zebin-chip=pvc binary-format={kind}"
    outcome = run([compiler, "--split-input-file", pipeline], "// -----\n".join(texts))
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout.count("gpu.binary") == len(kinds) == len(texts)


@pytest.mark.parametrize("element", ["f16", "i8"])
def test_rows_in_lanes_become_one_message_of_the_machine_code(element: str) -> None:
    require_new("mlir-opt-24")
    require_new("ocloc")
    text = str(la.lower(la.read(transposed(element, 32 if element == "i8" else 16))))
    listing = compile_kernel(text, "pvc", 128, llvm=24)
    loads = [line for line in listing.assembly.splitlines() if "load_block2d" in line]
    assert (listing.unresolved, len(loads)) == (0, 1)
    assert "load_block2d.ugm.d32t" in loads[0]


_GRIDS = (
    ((1, 16), (1, 1)), ((16, 1), (1, 1)), ((16, 1), (2, 1)), ((16, 1), (1, 2)),
    ((1, 16), (2, 1)), ((2, 8), (1, 1)), ((1, 16), (1, 2)), ((4, 4), (1, 1)),
)  # fmt: skip


@pytest.mark.parametrize("version", [23, 24])
@pytest.mark.parametrize("shape", [(16, 8), (8, 16), (16, 16), (32, 16), (32, 8), (16, 32)])
def test_llvm_takes_a_transposed_block_where_verify_does(shape: tuple[int, int], version: int) -> None:
    compiler = require_new(f"mlir-opt-{version}")
    rows, width = shape
    tile, value = f"!xegpu.tensor_desc<{rows}x{width}xf32>", f"vector<{width}x{rows}xf32>"
    for lanes, data in _GRIDS:
        attribute = LayoutAttr(lane_layout=lanes, lane_data=data)
        if attribute.check((width, rows), version) is not None:
            continue
        text = f"""gpu.module @m {{ gpu.func @k(%p: i64) {{
          %t = xegpu.create_nd_tdesc %p, shape : [64, 64], strides : [64, 1] : i64 -> {tile}
          %x = xegpu.load_nd %t[0, 0] <{{layout = {attribute}, transpose = array<i64: 1, 0>}}> : {tile} -> {value}
          gpu.return }} }}"""
        outcome = run([compiler], text)
        found = {finding.rule for finding in la.read(text).verify(llvm=version)}
        assert (outcome.returncode != 0) == ("xegpu.layout.distributes" in found), f"{attribute}: {outcome.stderr}"
