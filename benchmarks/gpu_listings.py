"""Conversions in the machine code of NVIDIA's and AMD's chips: emitted, lowered by LLVM, assembled, and counted.

    python benchmarks/gpu_listings.py sm_80 gfx942        what single steps cost, beside a kernel without them

`lowered` makes LLVM IR of kernels (`--convert-gpu-to-nvvm`, `--convert-gpu-to-rocdl`, LLVM 22 to 24); `listings` their
machine code: for NVIDIA by llc, ptxas and nvdisasm (of Triton's package, or of the PATH), for AMD by llc. No GPU is needed. An
example to check by hand: on sm_80 a select is one SEL, a shuffle one SHFL, a byte permute one PRMT.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from layoutalg.conversion.lowering.emit import emit_kernel
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Permute, Select, Shuffle, Step

Chain = tuple[Program, ...]

NEWTOOLS = Path(os.environ.get("LAYOUTALG_NEWTOOLS") or Path(__file__).parents[1] / ".venv" / "newtools") / "bin"
BATCH = 40
"""Kernels in one module: compilers are slow to start, and a mistake is found sooner in a small one."""
TRIPLES = {"nvidia": "nvptx64-nvidia-cuda", "amd": "amdgcn-amd-amdhsa"}
SEEN = {
    "shuffle": 1, "ds_access": 1, "ds_base": 1, "ds_copied": 0.5, "group_moved": 1, "paired_matrix": 1, "permute": 1,
    "permute_constant": 0.5, "select": 1, "select_sg": 1, "condition": 1, "condition_bits": 2, "condition_table": 3,
    "condition_sg": 1, "half": 0.5, "joined": 1, "byte_loaded": 0, "regrouped": 1, "paired": 0.5,
    "pattern": 1, "pattern_ops": 1, "near_ops": 0, "looked_up": 5, "lane_swap": 1, "address_shift": 1,
    "address_mask": 1, "address_times": 1, "address_chosen": 3, "store": 1, "load": 1, "payload": 1, "masked": 0,
    "masked_run": 0, "masked_long": 4, "masked_once": 0, "address": 1, "barrier": 1, "fence": 0.5, "memory": 1, "apart": 1,
    "piece": 1, "upper": 0.5, "upper_byte": 1, "address_constant": 1, "address_or": 1, "address_flip": 1, "address_add": 0.5,
    "lane_bytes": 1, "selector": 1, "address_reversed": 5, "reversed_map": 3,
}  # fmt: skip
"""What kernels with one kind of step have in their listings for sm_80 and gfx942, by the charge that it is (prices.py)."""
SEEN_OF_AMD = {"masked_run": 3, "masked_long": 0, "low_halves": 1, "pattern_apart": 1}
"""Those that are others on AMD's chips, such as a branch, and two that set and restore who executes."""


_OF_AMD = {"ds_access", "ds_base", "ds_copied", "lane_bytes", "dpp", "lane_swap", "address_constant"}
_OF_NVIDIA = {"store", "load", "piece", "offset", "near", "near_ops", "permute_constant", "masked", "masked_long",
              "address_reversed", "reversed_map", "pattern_ops"}  # fmt: skip
_ELSEWHERE = {"xor_1", "xor_2", "xor_4", "xor_8", "xor_16", "renamed", "waits", "store_word", "load_word",
              "narrow", "permute_shift", "permute_logic", "result", "map_table", "map_mask", "map_shift", "map_join",
              "sum_mask", "sum_shift", "sum_times", "sum_chosen", "sum_join", "sum_flip", "sum_scaled", "scalar",
              "scalar_times", "scalar_chosen", "veiled", "unveiled", "crowded", "stored_byte", "block", "block_memory",
              "offset_computed", "rearranged", "again"}  # fmt: skip
IGNORED = {
    "nvidia": _ELSEWHERE | _OF_AMD | {"paired", "paired_sent", "paired_matrix", "selector"},
    "amd": _ELSEWHERE | _OF_NVIDIA,
}
"""Charges that say nothing about a vendor's chips, or say what others say better."""


def vendor_of(chip: str) -> str:
    """Whose chip it is."""
    return "nvidia" if chip.startswith("sm_") else "amd"


def tool(name: str, version: int) -> str:
    """The path of a program of an LLVM version: on the PATH, or among the newer compilers unpacked beside the system."""
    found = shutil.which(f"{name}-{version}") or shutil.which(f"{name}-{version}", path=str(NEWTOOLS))
    if found is None:
        raise FileNotFoundError(f"{name}-{version} is not installed: run `make toolchains`")
    return found


def nvidia_tool(name: str) -> str:
    """The path of ptxas or nvdisasm, in Triton's package or on the PATH."""
    package = importlib.util.find_spec("triton")
    folder = (
        "" if package is None or package.origin is None else str(Path(package.origin).parent / "backends/nvidia/bin")
    )
    found = shutil.which(name, path=folder) or shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"{name} is not installed: it is in the package triton")
    return found


def run(command: Sequence[str], text: str = "") -> str:
    """What a program prints; RuntimeError with its complaint where it fails."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr[:3000]}")
    return done.stdout


def merged(texts: Sequence[str]) -> str:
    """One module of the kernels of several, whose texts are two lines, the kernel, two braces."""
    inside = ["\n".join(text.rstrip().splitlines()[2:-2]) for text in texts]
    return "\n".join(
        ["builtin.module attributes {gpu.container_module} {", "  gpu.module @kernels {", *inside, "  }", "}", ""]
    )


def lowered(texts: Sequence[str], chip: str, version: int = 22) -> str:
    """The LLVM IR of emitted kernels, as MLIR translates it."""
    convert = "convert-gpu-to-nvvm" if vendor_of(chip) == "nvidia" else f"convert-gpu-to-rocdl{{chipset={chip}}}"
    passes = f"convert-scf-to-cf,gpu.module({convert},reconcile-unrealized-casts),convert-cf-to-llvm"
    module = run([tool("mlir-opt", version), f"--pass-pipeline=builtin.module({passes})"], merged(texts))
    inside = "\n".join(module.strip().splitlines()[2:-2])  # without the two modules around it
    return run([tool("mlir-translate", version), "--mlir-to-llvmir"], f"module {{\n{inside}\n}}\n")


def assembly(ir: str, chip: str, version: int = 22) -> str:
    """PTX, or AMD's assembly, of LLVM IR; optimized before where opt is there."""
    target = [f"-mtriple={TRIPLES[vendor_of(chip)]}", f"-mcpu={chip}"]
    if shutil.which(f"opt-{version}"):
        ir = run([f"opt-{version}", "-O3", "-S", *target], ir)
    return run([tool("llc", version), "-O3", *target, *(["-mattr=+ptx78"] if chip.startswith("sm_") else [])], ir)


def sass(ptx: str, chip: str) -> str:
    """What nvdisasm shows of assembled PTX."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "k.ptx").write_text(ptx)
        run([nvidia_tool("ptxas"), f"-arch={chip}", "-O3", str(folder / "k.ptx"), "-o", str(folder / "k.cubin")])
        return run([nvidia_tool("nvdisasm"), "-c", str(folder / "k.cubin")])


def listings(texts: Sequence[str], chip: str, version: int = 22) -> dict[str, list[str]]:
    """The instructions of each kernel, by its name; without padding."""
    code = assembly(lowered(texts, chip, version), chip, version)
    if vendor_of(chip) == "nvidia":
        parts = re.split(r"^\s*\.section\s+\.text\.(\w+),.*$", sass(code, chip), flags=re.M)
        line = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ )?([A-Z].*?)\s*;")
        after_end = 1  # a branch to itself stands behind the last EXIT
    else:
        parts = re.split(r"^(\w+):\s*(?:; @\w+)?$", code, flags=re.M)
        line, after_end = re.compile(r"^\t([a-z]+_\S.*?)\s*(?:;.*)?$", re.M), 0
    found: dict[str, list[str]] = {}
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        instructions = [one for one in line.findall(body) if not one.startswith(("NOP", "s_code_end"))]
        if instructions:
            found[name] = instructions[: len(instructions) - after_end]
    return found


def operation(instruction: str) -> str:
    """The name of an instruction, without its modifiers: SHFL of SHFL.BFLY, v_cndmask_b32 of v_cndmask_b32_e64."""
    name = instruction.split()[0]
    return re.sub(r"_(e32|e64|dpp|sdwa)$", "", name) if name[0].islower() else name.partition(".")[0]


def counted(chains: Sequence[Chain], chip: str, version: int = 22) -> list[Counter[str]]:
    """How often each operation is in the listing of each kernel."""
    found: list[Counter[str]] = []
    for start in range(0, len(chains), BATCH):
        batch = chains[start : start + BATCH]
        texts = [emit_kernel(chain, f"i{chain[0].element_bits}", f"k{i}", chip) for i, chain in enumerate(batch)]
        code = listings(texts, chip, version)
        found += [Counter(map(operation, code[f"k{i}"])) for i in range(len(batch))]
    return found


def counts(chains: Sequence[Chain], chip: str, version: int = 22) -> list[float]:
    """The instructions of each kernel, but for waiting, and the accesses that load its fragment and store the result.

    A compiler loads no register that nobody needs, and then the others one by one: a conversion that takes one of two copies
    would seem to have 3 instructions more, or 50 fewer, than what is loaded and stored anyway.
    """
    left_out = ("s_waitcnt", "s_nop", "LDG", "STG", "global_load", "global_store")
    return [
        float(sum(n for name, n in one.items() if not name.startswith(left_out)))
        for one in counted(chains, chip, version)
    ]


def _single(lanes: int, kind: str, words: int = 8) -> tuple[Chain, Chain]:
    """A kernel with a step for each of its words, and the same kernel without them."""
    wave = range(lanes)
    shuffles = {
        **{f"shuffle xor {1 << bit}": tuple(lane ^ 1 << bit for lane in wave) for bit in range(lanes.bit_length() - 1)},
        "shuffle xor 15": tuple(lane ^ 15 for lane in wave),
        "shuffle rotated": tuple((lane + 1) % lanes for lane in wave),
        "broadcast": (5,) * lanes,
    }
    selectors = {"permute": (0x5410,), "permute by lane": tuple((0x5410, 0x7632)[lane & 1] for lane in wave)}
    steps: list[Step] = []
    for word in range(words):
        to, other = words + word, (word + 1) % words
        if kind in shuffles:
            steps.append(Shuffle(to, word, shuffles[kind]))
        elif kind in selectors:
            steps.append(Permute(to, word, other, selectors[kind]))
        else:
            steps.append(Select(to, word, other, "lane", sum(1 << lane for lane in wave if lane & 1)))
    pack = tuple(range(words))
    copy = Program(1, lanes, 32, words, words, pack, (), pack)
    return (Program(1, lanes, 32, words, words, pack, tuple(steps), tuple(range(words, 2 * words))),), (copy,)


KINDS = ("select", "permute", "permute by lane", *(f"shuffle xor {1 << bit}" for bit in range(6)), "shuffle xor 15",
         "shuffle rotated", "broadcast")  # fmt: skip


def main(chips: Sequence[str]) -> None:
    """Print what eight steps of each kind add to a kernel."""
    for chip in chips:
        lanes = 32 if vendor_of(chip) == "nvidia" or chip.startswith("gfx1") else 64
        kinds = [kind for kind in KINDS if kind != f"shuffle xor {lanes}"]
        pairs = [_single(lanes, kind) for kind in kinds]
        found = counted([chain for pair in pairs for chain in pair], chip)
        for kind, with_steps, without in zip(kinds, found[::2], found[1::2], strict=True):
            added = {name: with_steps[name] - without[name] for name in sorted(with_steps | without)}
            print(f"{chip} 8 x {kind}:", ", ".join(f"{n:+d} {name}" for name, n in added.items() if n))


if __name__ == "__main__":
    main(sys.argv[1:] or ["sm_80", "gfx942"])
