"""Conversions in the machine code of Intel's chips: emitted, lowered by MLIR to SPIR-V, compiled by ocloc, and disassembled.

No GPU is needed. An example to check by hand: on pvc a select of 16 lanes is one `sel`, one of 32 lanes counts twice, since the
chip executes it in two parts.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from layoutalg.conversion.lowering.emit import emit_kernel
from layoutalg.conversion.program.program import Program

Chain = tuple[Program, ...]

BATCH = 40
"""Kernels in one module: compilers are slow to start."""
SEEN: dict[str, float] = {
    "broadcast": 1, "xor_1": 2, "xor_2": 4, "xor_4": 4, "xor_8": 2, "indexed": 3, "looked_up": 7, "map_table": 7,
    "map_mask": 1, "map_shift": 1, "map_join": 1, "byte_sent": 2, "bytes_sent": 20, "half_sent": 2, "select": 1, "select_sg": 1,
    "condition": 1, "condition_bits": 2, "condition_table": 2, "condition_sg": 5, "permute_shift": 1, "permute_logic": 1,
    "permute_select": 1, "permute_constant": 1, "half": 1, "byte": 3, "result": 1, "renamed": 1, "store": 1, "load": 1,
    "payload": 1, "stored_byte": 1, "narrow": 1, "masked": 4, "sum_mask": 1, "sum_shift": 1, "sum_times": 1,
    "sum_chosen": 2, "sum_join": 1, "sum_flip": 1, "sum_scaled": 1, "scalar": 1, "scalar_times": 1, "scalar_chosen": 3,
    "veiled": 2, "unveiled": 2, "offset": 1, "offset_computed": 1, "rearranged": 1, "again": 1,
    "barrier": 4, "memory_of_several": 2, "region": 1, "permute_half": 1
}  # fmt: skip
"""What kernels with one kind of step have in their listings for pvc and bmg, 16 lanes."""

SEEN_OF_32 = {
    "barrier": 4, "memory_of_several": 2, "condition_sg": 5, "scalar": 1, "scalar_times": 1, "scalar_chosen": 3, "xor_1": 2,
    "xor_2": 4, "paired": 2, "paired_sent": 4
}  # fmt: skip
"""Those that subgroups of 32 lanes do not take twice."""
IGNORED = frozenset(
    ("dpp", "lane_swap", "ds_access", "ds_base", "ds_copied", "lane_bytes", "pattern", "near", "near_ops",
     "pattern_ops", "reversed_map",
     "address", "address_shift", "address_mask", "address_constant", "address_times", "address_chosen", "address_add",
     "address_or", "address_flip", "address_reversed", "group_moved", "regrouped",
     "paired_matrix", "masked_run", "masked_long", "masked_once", "selector", "piece", "store_word", "load_word")
)  # fmt: skip
"""Charges that say nothing about Intel's chips, or say what others say better."""


def run(command: Sequence[str], folder: Path, **environment: str) -> str:
    """What a program prints; RuntimeError with its complaint where it fails."""
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout + done.stderr


def slots(listing: Iterable[str]) -> int:
    """The instructions of a listing of Intel's disassembler, those of 32 lanes twice; the padding at its end not."""
    lines = [line for line in listing if re.match(r"\(|\s{4,}[a-z]", line) and not re.match(r"\s+illegal\b", line)]
    return sum(2 if "(32|M0)" in line else 1 for line in lines)


def spirv(text: str) -> bytes:
    """The binary in the gpu.binary of a lowered module."""
    found = re.search(r'\b(?:bin|assembly) = "((?:[^"\\]|\\.)*)"', text, re.DOTALL)
    if found is None:
        raise RuntimeError("no gpu.binary in the lowered module")
    plain = {"\\\\": b"\\", '\\"': b'"', "\\n": b"\n", "\\t": b"\t"}
    parts = re.findall(r"\\[0-9A-Fa-f]{2}|\\.|[^\\]+", found[1], re.DOTALL)
    return b"".join(
        plain.get(part) or (bytes.fromhex(part[1:]) if part.startswith("\\") else part.encode()) for part in parts
    )


def sized(binary: bytes, chains: Sequence[Chain]) -> bytes:
    """The SPIR-V of `merged`, in which each kernel k0, k1, ... has the subgroups of its conversion.

    LLVM 22 writes SubgroupSize 16 for some kernels whose function says 32, copies among them. Their listings would be those of
    16 lanes.
    """
    words, at = np.frombuffer(binary, "<u4").copy(), 5  # after the header
    lanes: dict[int, int] = {}
    while at < len(words):
        length, code = divmod(int(words[at]), 1 << 16)
        if code == 15 and words[at + 1] == 6:  # OpEntryPoint Kernel: its function and its name
            name = words[at + 3 : at + length].tobytes().partition(b"\0")[0].decode()
            lanes[int(words[at + 2])] = chains[int(name[1:])][0].lanes
        if code == 16 and words[at + 2] == 35:  # OpExecutionMode SubgroupSize
            words[at + 3] = lanes[int(words[at + 1])]
        at += length
    return words.tobytes()


def merged(chains: Sequence[Chain], device: str, llvm: int) -> str:
    """One module of the kernels k0, k1, ... of several conversions, as they are emitted for a chip."""
    texts = [
        emit_kernel(chain, f"i{chain[0].element_bits}", f"k{i}", device, llvm).rstrip().splitlines()
        for i, chain in enumerate(chains)
    ]
    declared = dict.fromkeys([line for lines in texts for line in lines if line.startswith("    llvm.func ")])
    inside = ["\n".join([line for line in lines[2:-2] if line not in declared]) for lines in texts]
    return "\n".join(
        [
            "builtin.module attributes {gpu.container_module} {",
            "  gpu.module @kernels {",
            *declared,
            *inside,
            "  }",
            "}",
            "",
        ]
    )


def intel_listings(
    chains: Sequence[Chain], device: str, ocloc: str, mlir: str = "mlir-opt-22", llvm: int = 22
) -> list[list[str]]:
    """The lines of each kernel's listing, by way of the `mlir-opt` of a version."""
    found: list[list[str]] = []
    options = f"xegpu-op-level=lane zebin-chip=pvc binary-format={'bin' if llvm == 22 else 'isa'}"
    for start in range(0, len(chains), BATCH):
        batch = chains[start : start + BATCH]
        with TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "k.mlir").write_text(merged(batch, device, llvm))
            run([mlir, "k.mlir", f"--gpu-lower-to-xevm-pipeline={options}", "-o", "lowered.mlir"], folder)
            binary = spirv((folder / "lowered.mlir").read_text())
            (folder / "k.spv").write_bytes(sized(binary, batch))
            run([ocloc, "compile", "-file", "k.spv", "-spirv_input", "-device", device, "-out_dir", "bin"], folder)
            library = Path("/usr/lib/x86_64-linux-gnu/libiga64.so.1")  # Debian's disassembler opens it by another name
            if library.exists():
                (folder / "libiga64.so").symlink_to(library)
            binary = next((folder / "bin").glob("*.bin"))
            search = {} if "newtools" in ocloc else {"LD_LIBRARY_PATH": str(folder)}
            run([ocloc, "disasm", "-file", str(binary), "-dump", "dis", "-device", device], folder, **search)
            for i in range(len(batch)):
                file = next(
                    path for path in (f".text.k{i}.asm", f"k{i}_KernelHeap.asm") if (folder / "dis" / path).exists()
                )
                found.append((folder / "dis" / file).read_text().splitlines())
    return found
