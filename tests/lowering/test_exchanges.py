"""Conversions in the middle of kernels: what the simulator computes, who waits for whom, what is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.ir import Operation

import layoutalg as la
from layoutalg.core.errors import ConversionError, SizeError
from layoutalg.ir import read_module, write_module
from layoutalg.lowering.exchanges import Exchanges
from layoutalg.lowering.in_place import lower_fragments
from layoutalg.lowering.shared_memory import SharedMemory
from tests.lowering.conversion_modules import MODULES, lanes, of_subgroups

Array = NDArray[Any]

DTYPES: dict[str, Any] = {
    "f16": np.float16, "bf16": np.uint16, "f32": np.float32, "i8": np.int8, "i16": np.int16, "i32": np.int32,
    "i64": np.int64, "f64": np.float64, "index": np.int64,
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_a_lowered_kernel_computes_what_its_tensors_mean(name: str) -> None:
    module = MODULES[name]
    llvm = 22 if name == "across_shared_rows" else 24  # subgroups that share rows: LLVM 23 and 24 refuse the layout
    lowered = la.lower(la.read(module.module), llvm=llvm).module
    assert lowered is not None
    arrays = module.operands()
    assert lowered.run(arrays, (1, 1, 1)).findings == ()
    assert np.array_equal(arrays[-1], module.expected())


def on_fragments(element: str, shape: tuple[int, int], source: str, target: str, registers: int) -> str:
    """A kernel at lane level that loads raw fragments, converts them, and stores them: arrays of `[lane, register]`."""
    rows = shape[0] // la.parse(source).lane_layout[0]  # type: ignore[attr-defined]
    fragment = f"vector<{rows}x{registers // rows}x{element}>"
    flat = f"vector<{registers}x{element}>"
    memory = f"memref<16x{registers}x{element}>"
    return f"""gpu.module @m {{
      gpu.func @k(%p: {memory}, %q: {memory}) kernel
          attributes {{known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32}} {{
        %c0 = arith.constant 0 : index
        %lane = gpu.lane_id
        %v = vector.load %p[%lane, %c0] : {memory}, {flat}
        %x = vector.shape_cast %v : {flat} to {fragment}
        %y = xegpu.convert_layout %x <{{input_layout = {source}, target_layout = {target}}}> : {fragment}
        %w = vector.shape_cast %y : {fragment} to {flat}
        vector.store %w, %q[%lane, %c0] : {memory}, {flat}
        gpu.return
      }}
    }}"""


def held(layout: str, tile: Array) -> Array:
    """What each lane holds of a tile under `lane_layout` and `lane_data`, by the page of the dialect: `[lane, register]`.

    Lane l is at (l // columns, l % columns); it holds unit (row, column) of every tile of lanes, row-major over all its units.
    """
    attribute: Any = la.parse(layout)
    (high, wide), (down, along) = attribute.lane_layout, attribute.lane_data
    found = []
    for lane in range(16):
        at = (lane % high, lane // high) if attribute.order == (0, 1) else (lane // wide, lane % wide)
        rows = [r for r in range(tile.shape[0]) if r // down % high == at[0]]
        columns = [c for c in range(tile.shape[1]) if c // along % wide == at[1]]
        found.append([tile[r, c] for r in rows for c in columns])
    return np.array(found)


LAYOUTS = {
    "columns": lanes([16, 1]),
    "grid": lanes([4, 4]),
    "order": lanes([4, 4], order=[0, 1]),
    "wide": lanes([2, 8], [1, 2]),
    "squares": lanes([8, 2], [2, 2]),
    "pairs": lanes([1, 16], [2, 1]),
}


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("name", ["columns", "wide"])
def test_fragments_of_every_element_type_are_converted_in_place(name: str, element: str) -> None:
    check_fragments(element, lanes([1, 16]), LAYOUTS[name])


@pytest.mark.parametrize("source", LAYOUTS)
@pytest.mark.parametrize("target", LAYOUTS)
def test_fragments_are_converted_between_any_two_layouts(source: str, target: str) -> None:
    check_fragments("f32", LAYOUTS[source], LAYOUTS[target])


def test_la_lower_converts_the_fragments_of_kernels_at_lane_level() -> None:
    """The kernel is not taken for one at subgroup level; what is read stays as it is."""
    module = la.read(on_fragments("f32", (16, 16), lanes([1, 16]), lanes([16, 1]), 16))
    lowered_module = la.lower(module).module
    assert lowered_module is not None
    assert "convert_layout" not in lowered_module.source
    assert "xegpu.convert_layout" in str(module)
    tile = np.arange(256, dtype=np.float32).reshape(16, 16)
    made = np.zeros((16, 16), np.float32)
    assert lowered_module.run([np.ascontiguousarray(tile.T), made], (1, 1, 1)).findings == ()
    assert np.array_equal(made, tile)


def check_fragments(element: str, source: str, target: str) -> None:
    module = read_module(on_fragments(element, (16, 16), source, target, 16))
    assert lower_fragments(module) == ()
    text = write_module(module)
    assert "convert_layout" not in text
    tile = np.arange(256).reshape(16, 16).astype(DTYPES[element])
    given = held(source, tile)
    if element == "bf16":
        from ml_dtypes import bfloat16

        given, tile = given.view(bfloat16), tile.view(bfloat16)
    made = np.zeros_like(given)
    assert la.read(text).run([given, made], (1, 1, 1)).findings == ()
    assert np.array_equal(made.view(np.uint8), held(target, tile).view(np.uint8))


def test_a_lane_shuffle_is_an_exchange_too() -> None:
    """Pack and unpack of the dialect's page: element j of lane i is number 16 j + i before, 4 i + j after."""
    text = """gpu.module @m {
      gpu.func @k(%p: memref<16x4xf16>, %q: memref<16x4xf16>) kernel
          attributes {known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32} {
        %c0 = arith.constant 0 : index
        %lane = gpu.lane_id
        %v = vector.load %p[%lane, %c0] : memref<16x4xf16>, vector<4xf16>
        %x = xegpu.lane_shuffle %v pack : vector<4xf16>
        vector.store %x, %q[%lane, %c0] : memref<16x4xf16>, vector<4xf16>
        gpu.return
      }
    }"""
    numbers = np.arange(64).astype(np.float16)
    for mode, before, after in (
        ("pack", numbers.reshape(4, 16).T, numbers.reshape(16, 4)),
        ("unpack", numbers.reshape(16, 4), numbers.reshape(4, 16).T),
    ):
        module = read_module(text.replace(" pack ", f" {mode} "))
        assert lower_fragments(module) == ()
        lowered = write_module(module)
        assert "lane_shuffle" not in lowered
        given, made = np.ascontiguousarray(before), np.zeros((16, 4), np.float16)
        la.read(lowered).run([given, made], (1, 1, 1))
        assert np.array_equal(made, after)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "%y = xegpu.convert_layout %z <{input_layout = A, target_layout = C}> : vector<16xf32>",
            "does not say the shape",
        ),
        (
            "%y = xegpu.convert_layout %x <{input_layout = A, target_layout = B}> : vector<16x1xf32>",
            "has no lane_layout",
        ),
    ],
)
def test_what_cannot_be_converted_is_a_finding_with_its_line(line: str, message: str) -> None:
    for name, layout in (("A", lanes([1, 16])), ("B", "#xegpu.layout<inst_data = [8, 16]>"), ("C", lanes([16, 1]))):
        line = line.replace(f"= {name}", f"= {layout}")
    text = f"func.func @f(%x: vector<16x1xf32>, %z: vector<16xf32>) {{\n%l = gpu.lane_id\n{line}\nfunc.return }}"
    [finding] = lower_fragments(read_module(text))
    assert finding.place is not None
    assert finding.place.line == 3
    assert message in finding.message


DIVERGENT = """gpu.module @m {
  gpu.func @k(%n: i32) kernel attributes {known_block_size = array<i32: 32, 1, 1>, intel_reqd_sub_group_size = 16 : i32} {
    %c0 = arith.constant 0 : index
    %c0_i32 = arith.constant 0 : i32
    %lane = gpu.lane_id
    %sg = gpu.subgroup_id : index
    %x = arith.constant dense<1> : vector<8xi32>
    %some = arith.cmpi eq, WHO : TYPE
    scf.if %some { gpu.barrier }
    gpu.return } }"""


@pytest.mark.parametrize(
    ("who", "kind", "crossing", "message"),
    [
        ("%n, %c0_i32", "i32", True, None),
        ("%sg, %c0", "index", False, None),
        ("%sg, %c0", "index", True, "subgroups take different ways here"),
        ("%lane, %c0", "index", False, "lanes take different ways here"),
    ],
)
def test_a_conversion_where_not_all_come_is_refused(who: str, kind: str, crossing: bool, message: str | None) -> None:
    module = read_module(DIVERGENT.replace("WHO", who).replace("TYPE", kind))
    kernel = next(op for op in module.walk() if op.name == "gpu.func")
    place = next(op for op in module.walk() if op.name == "gpu.barrier")
    [x] = next(op for op in module.walk() if op.name == "arith.constant" and "dense" in str(op)).results
    crossed = ("d0 = 2@sg 16@lane, d1 = 8@reg", "d0 = 2@lane:8 2@sg 8@lane, d1 = 8@reg")
    inside = ("d0 = 16@lane, d1 = 8@reg", "d0 = 8@reg 2@lane:8, d1 = 8@lane")
    plan = la.convert(*(crossed if crossing else inside), target="pvc", portable=True)
    if message is None:
        assert len(Exchanges(kernel).exchange(plan, [x], place)) == 1
    else:
        with pytest.raises(ConversionError, match=message):
            Exchanges(kernel).exchange(plan, [x], place)


def barriers(text: str) -> int:
    return len(BARRIER.findall(text))


BARRIER = re.compile(r"(?:gpu\.barrier|llvm\.call spir_funccc @_Z22__spirv_ControlBarrieriii\().*\n")
"""A line of a barrier, of the workgroup or of a subgroup."""


def lowered(name: str) -> str:
    made = la.lower(la.read(MODULES[name].module)).module
    assert made is not None
    return made.source


@pytest.mark.parametrize(
    "name",
    [
        "across_rows",
        "across_in_turn",
        "loop_across",
        "across_and_inside",
        "across_order",
        "inside_turned",
        "inside_in_turn",
    ],
)
def test_no_barrier_is_missing_and_none_is_too_many(name: str) -> None:
    """Without any one of them the simulator finds a race; with all of them none."""
    text, module = lowered(name), MODULES[name]
    assert la.read(text).run(module.operands(), (1, 1, 1)).findings == ()
    found = list(BARRIER.finditer(text))
    assert found
    for barrier in found:
        if name == "inside_in_turn" and barrier[0].startswith("gpu.barrier"):
            continue  # programs that keep each subgroup to its part of one buffer: whether to the same part is not known
        without = text[: barrier.start()] + text[barrier.end() :]
        rules = {finding.rule for finding in la.read(without).run(module.operands(), (1, 1, 1)).findings}
        assert "run.race" in rules


def conversions_in_a_row(count: int, loop: bool = False) -> str:
    """A kernel that converts across subgroups there and back, so often."""
    here, there = of_subgroups([2, 2], [16, 32]), of_subgroups([4, 1], [8, 64])
    lines: list[str] = []
    value = "a" if loop else "x"
    for number in range(count):
        source, target = (here, there) if number % 2 == 0 else (there, here)
        layouts = f"<{{input_layout = {source}, target_layout = {target}}}>"
        lines.append(f"%v{number} = xegpu.convert_layout %{value} {layouts} : vector<32x64xf32>")
        value = f"v{number}"
    body = "\n".join(lines)
    if loop:
        body = (
            "%c1 = arith.constant 1 : index\n%c4 = arith.constant 4 : index\n"
            f"%r = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> (vector<32x64xf32>) {{\n{body}\n"
            f"scf.yield %{value} : vector<32x64xf32> }}"
        )
        value = "r"
    kind = f"!xegpu.tensor_desc<32x64xf32, {here}>"
    return f"""gpu.module @m {{
      gpu.func @k(%p: i64, %q: i64) kernel
          attributes {{known_block_size = array<i32: 64, 1, 1>, intel_reqd_sub_group_size = 16 : i32}} {{
        %c0 = arith.constant 0 : index
        %t = xegpu.create_nd_tdesc %p, shape : [32, 64], strides : [64, 1] : i64 -> {kind}
        %u = xegpu.create_nd_tdesc %q, shape : [32, 64], strides : [64, 1] : i64 -> {kind}
        %x = xegpu.load_nd %t[%c0, %c0] <{{layout = {here}}}> : {kind} -> vector<32x64xf32>
        {body}
        xegpu.store_nd %{value}, %u[%c0, %c0] <{{layout = {here}}}> : vector<32x64xf32>, {kind}
        gpu.return
      }}
    }}"""


@pytest.mark.parametrize(
    ("count", "loop", "buffers"), [(1, False, 1), (2, False, 2), (6, False, 2), (2, True, 2), (4, True, 2)]
)
def test_buffers_are_shared_and_each_conversion_keeps_one_barrier(count: int, loop: bool, buffers: int) -> None:
    """One buffer is written while others still read the other: two are enough, and no barrier is added."""
    text = conversions_in_a_row(count, loop)
    if count % 2:
        here, there = of_subgroups([2, 2], [16, 32]), of_subgroups([4, 1], [8, 64])
        of_store = f"%v{count - 1}, %u[%c0, %c0] <{{layout = "
        text = text.replace(f"{of_store}{here}", f"{of_store}{there}")
    made = la.lower(la.read(text)).module
    assert made is not None
    ends = of_subgroups([2, 2], [16, 32]), of_subgroups([4, 1], [8, 64])
    one, back = (la.price(*pair, (32, 64), target="pvc").plan for pair in (ends, ends[::-1]))
    assert barriers(made.source) == sum((one, back)[number % 2].barriers for number in range(count))
    assert f" : memref<{buffers * one.slm_bytes}xi8, 3 : i64>) kernel" in made.source
    x = np.arange(2048, dtype=np.float32).reshape(32, 64)
    out = np.zeros_like(x)
    assert made.run([x, out], (1, 1, 1)).findings == ()
    assert np.array_equal(x, out)


def test_where_memory_is_short_all_take_the_same_bytes_with_more_barriers() -> None:
    module = read_module(with_placeholders())
    kernel: Any = next(op for op in module.walk() if op.name == "gpu.func")
    assert SharedMemory(kernel, 1024).finish().barriers == 2
    module = read_module(with_placeholders())
    kernel = next(op for op in module.walk() if op.name == "gpu.func")
    shared = SharedMemory(kernel, 4096).finish()
    assert (shared.bytes, shared.starts, shared.barriers) == (2048, (0, 1024, 0), 0)


def test_more_shared_memory_than_there_is_is_an_error() -> None:
    module = read_module(with_placeholders(size=65536))
    kernel: Any = next(op for op in module.walk() if op.name == "gpu.func")
    with pytest.raises(SizeError, match="262144 bytes of shared memory are needed at a time; 131072 are free"):
        SharedMemory(kernel, 131072).finish()


def with_placeholders(size: int = 256) -> str:
    """A kernel that stores to and loads from three buffers, one after another."""
    lines = ["%c0 = arith.constant 0 : index", "%one = arith.constant 1 : i32", "%lane = gpu.lane_id"]
    for number in range(3):
        kind = f"memref<{size}xi32, 3 : i64>"
        lines += [
            f"%b{number} = builtin.unrealized_conversion_cast to {kind} {{subgroups = 1 : i64}}",
            f"memref.store %one, %b{number}[%lane] : {kind}",
            "gpu.barrier",
            f"%x{number} = memref.load %b{number}[%c0] : {kind}",
        ]
    body = "\n".join(lines)
    return f"gpu.module @m {{ gpu.func @k() kernel {{ {body}\ngpu.return }} }}"


def test_a_loop_with_one_buffer_waits_before_it_is_written_again() -> None:
    text = with_placeholders()
    head, body = text.split("%b0", 1)
    first, rest = body.split("%b1", 1)
    del rest
    loop = (
        f"{head}%c1 = arith.constant 1 : index %c4 = arith.constant 4 : index "
        f"scf.for %i = %c0 to %c4 step %c1 {{ %b0{first} }} gpu.return }} }}"
    )
    module = read_module(loop)
    SharedMemory(next(op for op in module.walk() if op.name == "gpu.func"), 131072).finish()
    names = [op.name for op in module.walk() if op.name in ("gpu.barrier", "memref.store", "memref.load", "scf.for")]
    assert names == ["scf.for", "gpu.barrier", "memref.store", "gpu.barrier", "memref.load"]


def test_a_barrier_of_the_kernel_itself_counts() -> None:
    text = with_placeholders().replace("%b1 =", "gpu.barrier\n%b1 =")
    kernel: Any = next(op for op in read_module(text).walk() if op.name == "gpu.func")
    shared = SharedMemory(kernel, 1 << 16).finish()
    assert shared.barriers == 0
    assert shared.starts[0] == shared.starts[1]


def test_each_subgroup_has_bytes_of_its_own_where_each_converts_for_itself() -> None:
    """64 bytes for each of four; a plan within one subgroup goes through memory where that is cheaper than shuffles."""
    text = with_placeholders().replace("subgroups = 1", "subgroups = 4")
    module = read_module(text)
    kernel: Any = next(op for op in module.walk() if op.name == "gpu.func")
    assert SharedMemory(kernel, 1 << 16).finish().bytes == 8192
    assert "arith.muli" in write_module(module)


def test_indices_are_computed_once_for_all_conversions_of_a_kernel() -> None:
    module = read_module(on_fragments("f32", (4, 16), lanes([1, 16]), lanes([2, 8]), 4))  # by shuffles
    twice = on_fragments("f32", (4, 16), lanes([1, 16]), lanes([2, 8]), 4)
    line = next(one for one in twice.splitlines() if "convert_layout" in one)
    second = line.replace("%y =", "%z =")
    doubled = read_module(twice.replace(line, f"{line}\n{second}"))
    assert lower_fragments(module) == lower_fragments(doubled) == ()

    def count(root: Operation, name: str) -> int:
        return sum(op.name == name for op in root.walk())

    assert count(doubled, "gpu.shuffle") == 2 * count(module, "gpu.shuffle")
    assert count(doubled, "arith.cmpi") == count(module, "arith.cmpi") > 0
    assert count(doubled, "arith.andi") == count(module, "arith.andi")


@pytest.mark.parametrize("declared", ["an argument", "a global"])
def test_shared_memory_of_the_kernel_itself_counts(declared: str) -> None:
    """pvc has 131,072 bytes for a workgroup: with 2,048 for the exchange, 129,024 are left for the kernel."""
    text = str(MODULES["across_rows"].module)
    assert la.lower(la.read(text)).module is not None
    for size, fits in ((129_024, True), (129_025, False)):
        kind = f"memref<{size}xi8, 3>"
        if declared == "an argument":
            own = text.replace(") kernel", f") workgroup(%all : {kind}) kernel", 1)
        else:
            own = text.replace(
                "gpu.module @kernels {", f'gpu.module @kernels {{\nmemref.global "private" @all : {kind}', 1
            )
            own = re.sub(r"(gpu.func[^\n]*\{)\n", rf"\1\n%all = memref.get_global @all : {kind}\n", own, count=1)
        made = la.lower(la.read(own))
        assert (made.module is not None) == fits
        assert fits or [finding.rule for finding in made.findings] == ["lower.shared_memory"]


@pytest.mark.parametrize("space", ["private", "global"])
def test_buffers_in_other_memory_take_no_shared_memory(space: str) -> None:
    kind = f"memref<131072xi8, #gpu.address_space<{space}>>"
    text = str(MODULES["across_rows"].module).replace(
        "gpu.module @kernels {", f'gpu.module @kernels {{\nmemref.global "private" @all : {kind}', 1
    )
    text = re.sub(r"(gpu.func[^\n]*\{)\n", rf"\1\n%all = memref.get_global @all : {kind}\n", text, count=1)
    assert la.lower(la.read(text)).module is not None
