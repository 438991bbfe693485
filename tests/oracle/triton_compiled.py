"""What Triton's compiler emits for one conversion: a kernel that loads a tensor, converts its layout and stores it.

Nothing here needs a GPU: the wheel compiles for sm_80, sm_90 and gfx942 anywhere. `emitted(..)` asks in a forked child.
"""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.oracle.toolchains import require_module
from tests.oracle.triton_wheel import forked

_ACCESS = re.compile(r"(?:<(\d+) x (\w+)>|(\w+))")
_BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64, "i1": 8}
TARGETS = {"sm80": "sm_80", "sm90": "sm_90", "gfx942": "gfx942"}


def kernel(
    source: str, result: str, shape: Sequence[int], element: str, target: str, warps: int, shared: str = ""
) -> str:
    """The kernel in Triton's IR: every element has its row-major number as its address, before and after.

    With `shared` the tensor is stored to such memory and loaded from it, instead of converted.
    """
    sizes = "x".join(map(str, shape))
    lines: list[str] = []
    kept = "i8" if element == "i1" else element

    def pointers(name: str, layout: str) -> str:
        total = f"%{name}"
        lines.append(f"{total} = arith.constant dense<0> : tensor<{sizes}xi32, {layout}>")
        stride = 1
        for d in reversed(range(len(shape))):
            others = [e for e in range(len(shape)) if e != d]
            layouts = [layout]
            for e in reversed(others):
                layouts.append(f"#ttg.slice<{{dim = {e}, parent = {layouts[-1]}}}>")
            value, held = f"%{name}_{d}_0", [shape[d]]
            line = (
                f"tt.make_range {{end = {shape[d]} : i32, start = 0 : i32}}"
                if shape[d] > 1
                else "arith.constant dense<0>"
            )
            lines.append(f"{value} = {line} : tensor<{shape[d]}xi32, {layouts[-1]}>")
            for number, e in enumerate(others, 1):
                wider = [*held[:e], 1, *held[e:]]
                below, above = layouts[len(others) - number + 1], layouts[len(others) - number]
                types = [
                    f"tensor<{'x'.join(map(str, one))}xi32, {where}>" for one, where in ((held, below), (wider, above))
                ]
                lines.append(
                    f"%{name}_{d}_{number} = tt.expand_dims {value} {{axis = {e} : i32}} : {' -> '.join(types)}"
                )
                value, held = f"%{name}_{d}_{number}", wider
            whole = f"tensor<{sizes}xi32, {layout}>"
            if held != list(shape):
                lines.append(
                    f"{value}b = tt.broadcast {value} : tensor<{'x'.join(map(str, held))}xi32, {layout}> -> {whole}"
                )
                value += "b"
            lines.append(f"%{name}_{d}c = arith.constant dense<{stride}> : {whole}")
            lines.append(f"%{name}_{d}m = arith.muli {value}, %{name}_{d}c : {whole}")
            lines.append(f"%{name}_{d}s = arith.addi {total}, %{name}_{d}m : {whole}")
            total, stride = f"%{name}_{d}s", stride * shape[d]
        pointer = f"tensor<{sizes}x!tt.ptr<{kept}>, {layout}>"
        lines.append(f"%{name}p = tt.splat %{name}_at : !tt.ptr<{kept}> -> {pointer}")
        lines.append(f"%{name}q = tt.addptr %{name}p, {total} : {pointer}, tensor<{sizes}xi32, {layout}>")
        return f"%{name}q"

    def tensor(kind: str, layout: str) -> str:
        return f"tensor<{sizes}x{kind}, {layout}>"

    lines.append(f"%given = tt.load {pointers('a', source)} : {tensor(f'!tt.ptr<{kept}>', source)}")
    given, found = "%given", "%found"
    if element == "i1":
        lines.append(f"%zero = arith.constant dense<0> : {tensor(kept, source)}")
        lines.append(f"%flag = arith.cmpi ne, %given, %zero : {tensor(kept, source)}")
        given = "%flag"
    if shared:
        held = f"!ttg.memdesc<{sizes}x{element}, {shared}, #ttg.shared_memory>"
        lines.append(f"%memory = ttg.local_alloc {given} : ({tensor(element, source)}) -> {held}")
        lines.append(f"%found = ttg.local_load %memory : {held} -> {tensor(element, result)}")
    else:
        lines.append(f"%found = ttg.convert_layout {given} : {tensor(element, source)} -> {tensor(element, result)}")
    if element == "i1":
        lines.append(f"%byte = arith.extui %found : {tensor(element, result)} to {tensor(kept, result)}")
        found = "%byte"
    where = pointers("b", result)
    lines.append(f"tt.store {where}, {found} : {tensor(f'!tt.ptr<{kept}>', result)}")
    chip, lanes = ("hip:gfx942", 64) if target == "gfx942" else (f"cuda:{target[2:]}", 32)
    arguments = ", ".join([f"%{name}_at: !tt.ptr<{kept}> {{tt.divisibility = 16 : i32}}" for name in "ab"])
    body = "\n    ".join([*lines, "tt.return"])
    return (
        f'module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = {warps} : i32, ttg.target = "{chip}", '
        f'"ttg.threads-per-warp" = {lanes} : i32}} {{\n  tt.func public @k({arguments}) attributes {{noinline = false}} {{\n'
        f"    {body}\n  }}\n}}\n"
    )


def emitted(
    source: str, result: str, shape: Sequence[int], element: str, target: str, warps: int, shared: str = ""
) -> dict[str, Any] | None:
    """What stands in the code of one conversion; None where Triton dies.

    `stores` and `loads` are the bits of each access of a lane to shared memory (those that LLVM has left of the loads),
    `matrices` the names of matrix instructions, `exchanged` says that AMD's lanes use no shuffle but data-parallel moves.
    """
    require_module("triton")

    def question() -> dict[str, Any]:
        warnings.simplefilter("ignore")
        triton, of_target = require_module("triton"), require_module("triton.backends.compiler").GPUTarget
        chip = of_target("hip", target, 64) if target == "gfx942" else of_target("cuda", int(target[2:]), 32)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "kernel.ttgir"
            file.write_text(kernel(source, result, shape, element, target, warps, shared))
            triton.knobs.cache.dir = folder
            made: Any = triton.compile(str(file), target=chip)
        text: str = made.asm["llir"]
        code = [line for line in text.splitlines() if not line.startswith("declare")]

        def calls(*names: str) -> list[str]:
            return [name for line in code for name in names if re.search(rf"call .*@llvm\.{name}|asm .*{name}", line)]

        def accesses(verb: str) -> list[int]:
            found = [
                _ACCESS.search(line.split(f"{verb} ", 1)[1])
                for line in code
                if f"{verb} " in line and "addrspace(3)" in line
            ]
            return [_size(one.group(2) or one.group(3)) * int(one.group(1) or 1) for one in found if one]

        return {
            "bytes": made.metadata.shared,
            "shuffles": len(calls(r"nvvm\.shfl", r"amdgcn\.ds\.bpermute")),
            "exchanged": len(calls(r"amdgcn\.update\.dpp", r"amdgcn\.mov\.dpp")),
            "stores": accesses("store"),
            "loads": accesses("load"),
            "matrices": list(calls("nvvm.ldmatrix", "nvvm.stmatrix")),
            "barriers": len(calls(r"nvvm\.barrier", r"amdgcn\.s\.barrier")),
            "of_warps": len(calls(r"nvvm\.bar\.warp\.sync")),
        }

    return forked(question, 120)


def _size(kind: str) -> int:
    return _BITS.get(kind) or int(kind[1:])
