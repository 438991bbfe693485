"""Runs emitted conversions as real work-items, on Intel's OpenCL runtime for CPUs, many in one process.

A process costs a second and a kernel a tenth of one, so the kernels of a batch are merged into one module, lowered by LLVM
at once, and launched one after another. Fragments go in and out as bytes, `[workgroup, subgroup, lane, register]`.
(The runtime obeys the sub-group size only where it optimizes: with `-cl-opt-disable`, built ten times faster, kernels crash.)

    python -m tests.oracle.conversion_cpu DIRECTORY      reads kernel.spv, jobs.json, *.in.npy, caller.cl if there is one;
                                                         or builtins.cl; writes *.out.npy
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.conversion.lowering.emit import emit_function, emit_kernel
from layoutalg.conversion.program.program import Program
from tests.oracle.kernel_cpu import LIBRARIES
from tests.oracle.toolchains import require, require_module
from tests.oracle.xe_toolchain import DISASSEMBLER, Listing, run_tool, spirv_of

Array = NDArray[Any]

ALIGNMENT = 64
FIRST = Program(1, 16, 32, 1, 1, (0,), (), (0,))
"""A kernel to begin every module with: the runtime gives the first one 16 lanes, whatever it asks for."""
C_TYPES = {"i8": "char", "bf16": "short", "f16": "half", "f32": "float", "i32": "int", "i64": "long", "f64": "double"}


@dataclass(frozen=True)
class Job:
    """One kernel to run: its programs one after another, the name of its element type, and its fragments."""

    name: str
    programs: tuple[Program, ...]
    element: str
    fragments: Array
    """`[workgroup, subgroup, lane, register]`, elements of the program's size."""
    target: str = "generic"
    """The chip that the kernel is emitted for."""

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Of what the kernel makes."""
        last = self.programs[-1]
        return len(self.fragments), last.subgroups, last.lanes, last.registers


def run_on_cpu(programs: Program | Sequence[Program], fragments: Array, element: str, directory: Path) -> Array:
    """What one emitted kernel makes of fragments `[subgroup, lane, register]`."""
    chain = (programs,) if isinstance(programs, Program) else tuple(programs)
    return run_batch([Job("convert", chain, element, fragments[None])], directory)["convert"][0]


def run_batch(jobs: Sequence[Job], directory: Path) -> dict[str, Array]:
    """What the emitted kernels make of their fragments, by name; every array as `[workgroup, subgroup, lane, register]`."""
    lower_batch(jobs, directory)
    return launch_batch(jobs, directory)


def merged(texts: Sequence[str]) -> str:
    """One module that holds the kernels of several, whose texts are two lines, the kernel, two braces."""
    inside = [text.rstrip().splitlines()[2:-2] for text in texts]
    declared = dict.fromkeys([line for lines in inside for line in lines if line.startswith("    llvm.func ")])
    kept = [line for lines in inside for line in lines if line not in declared]
    return "\n".join([*texts[0].splitlines()[:2], *declared, *kept, "  }", "}"]) + "\n"


def lower_batch(jobs: Sequence[Job], directory: Path) -> Path:
    """The SPIR-V of all kernels, which spirv-val accepts."""
    texts = [_text(job.programs, job.element, job.name, job.target) for job in jobs]
    if any("__builtin_IB_simd_block" in text for text in texts):
        (directory / "builtins.cl").write_text(block_messages())
    return spirv_of(merged([_text(FIRST, "i32", "leading"), *texts]), directory)


_text = cache(partial(emit_kernel, llvm=22))


def block_messages() -> str:
    """The block messages of Intel's graphics compiler, as cl_intel_subgroup_local_block_io says what they do.

    Value i of a lane is number `lane + i * lanes` from the address on.
    """
    lines, inline = ["#pragma OPENCL EXTENSION cl_intel_subgroups : enable"], "__attribute__((always_inline))"
    for kind, ending, most in (("uchar", "_b", 16), ("ushort", "_h", 16), ("uint", "", 8)):
        for count in (1 << i for i in range(most.bit_length())):
            vector = f"{kind}{count}" if count > 1 else kind
            places = [f"p[get_sub_group_local_id() + {i} * get_sub_group_size()]" for i in range(count)]
            values = [f"v.s{i:x}" if count > 1 else "v" for i in range(count)]
            stores = " ".join(f"{place} = {value};" for place, value in zip(places, values, strict=True))
            ending_of = f"_{count}_local{ending}"
            read = f"{vector} __builtin_IB_simd_block_read{ending_of}(local {kind} *p)"
            write = f"void __builtin_IB_simd_block_write{ending_of}(local {kind} *p, {vector} v)"
            lines += [
                f"{inline} {read} {{ return ({vector})({', '.join(places)}); }}",
                f"{inline} {write} {{ {stores} }}",
            ]
    return "\n".join(lines) + "\n"


def run_functions(jobs: Sequence[Job], directory: Path) -> dict[str, Array]:
    """The same by the emitted functions, called from kernels in OpenCL C; fragments are one vector each."""
    texts = [emit_function(job.programs, job.element, job.name, llvm=22) for job in jobs]
    spirv_of(merged(texts), directory)
    (directory / "caller.cl").write_text(
        "\n".join(["#pragma OPENCL EXTENSION cl_khr_fp16 : enable", *map(_caller, jobs)])
    )
    return launch_batch(jobs, directory)


def _caller(job: Job) -> str:
    first, last, scalar = job.programs[0], job.programs[-1], C_TYPES[job.element]
    source, target = f"{scalar}{first.source_registers}", f"{scalar}{last.registers}"
    return (
        f"{target} {job.name}({source});\n"
        f"__attribute__((intel_reqd_sub_group_size({first.lanes}))) kernel void call_{job.name}(ulong from, ulong to) {{\n"
        f"  int i = get_global_id(0);\n"
        f"  ((global {target} *)to)[i] = {job.name}(((global {source} *)from)[i]);\n}}"
    )


def launch_batch(jobs: Sequence[Job], directory: Path) -> dict[str, Array]:
    """Run the kernels of kernel.spv, in a process of their own."""
    require_module("pyopencl")
    library = LIBRARIES / "libintelocl.so"
    if not library.exists():
        require(str(library))
    (directory / "icd").mkdir(exist_ok=True)
    (directory / "icd" / "intel.icd").write_text(f"{library}\n")
    launches: list[dict[str, Any]] = []
    for job in jobs:
        np.save(directory / f"{job.name}.in.npy", np.ascontiguousarray(job.fragments).view(np.uint8).reshape(-1))
        workgroups, subgroups, lanes, registers = job.shape
        size = workgroups * subgroups * lanes * registers * job.fragments.itemsize
        launches.append({"name": job.name, "workgroups": workgroups, "items": subgroups * lanes, "size": size})
    (directory / "jobs.json").write_text(json.dumps(launches))
    environment = {"OCL_ICD_VENDORS": str(directory / "icd"), "LD_LIBRARY_PATH": str(LIBRARIES)}
    root = Path(__file__).parents[2]
    run_tool([sys.executable, "-m", "tests.oracle.conversion_cpu", str(directory)], root, **environment)
    results: dict[str, Array] = {}
    for job in jobs:
        results[job.name] = np.load(directory / f"{job.name}.out.npy").view(job.fragments.dtype).reshape(job.shape)
    return results


def spirv_functions(binary: Path, directory: Path) -> dict[str, str]:
    """The text of each kernel in a SPIR-V binary, by its name."""
    text = run_tool([require("spirv-dis"), str(binary)], directory)
    names = dict(re.findall(r'OpName (%\S+) "([^"]*)"', text))
    parts = re.findall(r"(%\S+) = OpFunction .*?OpFunctionEnd", text, re.DOTALL)
    bodies = re.findall(r"%\S+ = OpFunction .*?OpFunctionEnd", text, re.DOTALL)
    return {names.get(identity, identity): body for identity, body in zip(parts, bodies, strict=True)}


def listings_of(binary: Path, directory: Path, device: str) -> dict[str, Listing]:
    """The machine code of each kernel in a SPIR-V binary, which needs no builtins beyond SPIR-V's own."""
    ocloc, options = require("ocloc"), ["-device", device]
    log = run_tool([ocloc, "compile", "-file", str(binary), "-spirv_input", *options, "-out_dir", "bin"], directory)
    (directory / "so").mkdir(exist_ok=True)
    if not (directory / "so" / "libiga64.so").exists():
        (directory / "so" / "libiga64.so").symlink_to(DISASSEMBLER)
    (directory / "dis").mkdir(exist_ok=True)
    compiled = str(next((directory / "bin").glob("*.bin")))
    disassemble = [ocloc, "disasm", "-file", compiled, "-dump", "dis", *options]
    run_tool(disassemble, directory, LD_LIBRARY_PATH=str(directory / "so"))
    ending = "_KernelHeap.asm"
    found = (directory / "dis").glob(f"*{ending}")
    return {path.name.removesuffix(ending): Listing(path.read_text(), log) for path in found}


def aligned(size: int) -> Array:
    """Bytes of 0xA5 that begin at a multiple of ALIGNMENT."""
    raw = np.full(size + ALIGNMENT, 0xA5, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size]


def main(directory: Path) -> None:
    """Compile once, launch every kernel, and write what it made."""
    import pyopencl

    context = pyopencl.Context(pyopencl.get_platforms()[0].get_devices()[:1])
    queue = pyopencl.CommandQueue(context)
    program = pyopencl.Program(context, (directory / "kernel.spv").read_bytes())
    caller, prefix = directory / "caller.cl", ""
    if caller.exists():
        calling, prefix = pyopencl.Program(context, caller.read_text()), "call_"
        program.compile("")
        calling.compile("-cl-std=CL1.2")
        program = pyopencl.link_program(context, [program, calling])
    elif (directory / "builtins.cl").exists():
        builtins = pyopencl.Program(context, (directory / "builtins.cl").read_text())
        program.compile("")
        builtins.compile("-cl-std=CL1.2")
        program = pyopencl.link_program(context, [program, builtins])
    else:
        program.build()
    for job in json.loads((directory / "jobs.json").read_text()):
        given = np.load(directory / f"{job['name']}.in.npy")
        source, destination = aligned(given.size), aligned(job["size"])
        source[:] = given
        addresses = [np.int64(array.ctypes.data) for array in (source, destination)]
        kernel = pyopencl.Kernel(program, prefix + job["name"])
        kernel(queue, (job["workgroups"] * job["items"],), (job["items"],), *addresses)
        queue.finish()
        np.save(directory / f"{job['name']}.out.npy", destination)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
