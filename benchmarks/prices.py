"""Prices from listings: compile a family of conversions, count their instructions, and fit what each step costs.

    python benchmarks/prices.py                   fit every chip whose compiler is here; write the table of the package
    python benchmarks/prices.py pvc bmg           these chips only
    python benchmarks/prices.py --only block bmg  fit the price of one charge, with the others as committed
    python benchmarks/prices.py --check           fit nothing: set the committed prices beside the listings
    python benchmarks/prices.py --check --old     the same for pvc with Debian's compiler

Each conversion is a kernel that loads a fragment, converts it and stores it. The same kernel without the conversion, with the
same loads and stores, is subtracted; what is left is machine instructions. An instruction that a chip executes in two parts
counts twice (`slots`). An example to check by hand: a 16x16 tile of 32 bits in 16 lanes takes, on pvc, 128 selects, 96 moves
for the bits of 15 XOR distances (2, 4, 4 and 2 for lane bits 0 to 3, each 8 times) and 4 comparisons, 228 instructions.

Prices are a least-squares fit, none negative, of relative errors, drawn a little to what single steps were seen to cost
(`SEEN`; for NVIDIA's and AMD's chips, that of `gpu_listings`), so that a charge that is rare in the family keeps a sensible
price. They are rounded to twentieths. What is fitted is a family of random conversions with their candidates; other random
ones, and the named `CONVERSIONS`, are held out. No listing shows that lanes wait: what they are charged for that
(`Compiler.waits`) is added after.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

import layoutalg as la
from layoutalg.conversion.charges import CHARGES, charges_of
from layoutalg.conversion.cost import cost_of
from layoutalg.conversion.lowering.emit import emit_kernel
from layoutalg.conversion.prices import DATA, prices_of
from layoutalg.conversion.program.program import Program

Chain = tuple[Program, ...]
Conversion = tuple[str, int, str, str]

FITTED, HELD_OUT = 400, 150
"""How many random conversions are fitted, and how many held out."""
MIXED, NARROW = (8, 16, 32, 32, 64), (8, 8, 16)
"""The bits of elements that conversions are drawn from: of all sizes, and below a word, with the ways that only those have."""
BATCH = 40
"""Kernels in one module: compilers are slow to start."""
SEEN: dict[str, float] = {
    "broadcast": 1, "xor_1": 2, "xor_2": 4, "xor_4": 4, "xor_8": 2, "indexed": 3, "pattern": 1, "pattern_terms": 1,
    "select": 1, "select_sg": 1, "condition": 1, "condition_table": 2, "condition_sg": 5, "permute_shift": 1,
    "permute_logic": 1, "permute_select": 1, "permute_constant": 1, "half": 1, "byte": 3, "result": 1, "renamed": 1,
    "store": 1, "load": 1, "payload": 1, "narrow": 1, "masked": 4, "address": 1, "address_terms": 1, "address_sg": 1,
    "offset": 1, "barrier": 9, "fence": 4, "memory": 1, "region": 1, "permute_half": 1,
}  # fmt: skip
"""What kernels with one kind of step have in their listings for pvc and bmg, 16 lanes."""

CONVERSIONS: tuple[Conversion, ...] = (
    *(
        ("transpose 8x8, twice", bits, "d0 = 8@reg, d1 = 2@lane:8 8@lane", "d0 = 8@lane, d1 = 2@lane:8 8@reg")
        for bits in (32, 16, 8)
    ),
    *(
        ("transpose 16x16", bits, "d0 = 16@reg, d1 = 16@lane", "d0 = 16@lane, d1 = 16@reg")
        for bits in (32, 16, 8)
    ),
    *(
        ("transpose 32x16", bits, "d0 = 32@reg, d1 = 16@lane", "d0 = 2@reg:16 16@lane, d1 = 16@reg")
        for bits in (32, 16, 8)
    ),
    ("DPAS C to A", 8, "d0 = 8@reg, d1 = 2@reg:8 16@lane", "d0 = 8@reg:2, d1 = 16@lane 2@reg"),
    ("DPAS A to B", 8, "d0 = 16@reg:2, d1 = 16@lane 2@reg", "d0 = 16@lane, d1 = 32@reg"),
    ("VNNI in registers", 16, "d0 = 16@reg, d1 = 2@reg:16 16@lane", "d0 = 8@reg:4 2@reg, d1 = 2@reg:2 16@lane"),
    ("VNNI in registers", 8, "d0 = 32@reg, d1 = 2@reg:32 16@lane", "d0 = 8@reg:8 4@reg, d1 = 2@reg:4 16@lane"),
    ("all-gather of 16", 32, "d0 = 16@lane", "d0 = 16@reg | replicas 16@lane"),
    ("lanes rotated", 32, "d0 = 2@lane 8@lane:2, d1 = 4@reg", "d0 = 2@lane:8 8@lane, d1 = 4@reg"),
    ("lanes rotated", 64, "d0 = 2@lane 8@lane:2, d1 = 4@reg", "d0 = 2@lane:8 8@lane, d1 = 4@reg"),
    ("lanes in bit-reversed order", 32, "d0 = 16@lane, d1 = 8@reg", "d0 = 2@lane 2@lane:2 2@lane:4 2@lane:8, d1 = 8@reg"),
    ("one bit", 32, "d0 = 8@reg, d1 = 16@lane", "d0 = 2@lane:8 4@reg:2, d1 = 8@lane 2@reg"),
    ("one bit, the others permuted", 32, "d0 = 8@reg, d1 = 16@lane", "d0 = 2@lane 4@reg:2, d1 = 2@reg 8@lane:2"),
    ("two bits", 32, "d0 = 8@reg, d1 = 16@lane", "d0 = 4@lane 2@reg:4, d1 = 4@reg 4@lane:4"),
    ("two bits, the others permuted", 32, "d0 = 8@reg, d1 = 16@lane", "d0 = 4@lane:4 2@reg:4, d1 = 4@lane 4@reg"),
    ("two bits", 16, "d0 = 8@reg, d1 = 16@lane", "d0 = 4@lane 2@reg:4, d1 = 4@reg 4@lane:4"),
    ("8x16, three bits", 64, "d0 = 8@reg, d1 = 16@lane", "d0 = 8@lane, d1 = 8@reg 2@lane:8"),
    ("rows across 2 subgroups", 32, "d0 = 2@sg 8@reg, d1 = 16@lane", "d0 = 8@reg 2@sg, d1 = 16@lane"),
    ("rows across 2 subgroups", 16, "d0 = 2@sg 8@reg, d1 = 16@lane", "d0 = 8@reg 2@sg, d1 = 16@lane"),
    ("columns across 4 subgroups", 32, "d0 = 4@sg 8@reg, d1 = 16@lane", "d0 = 8@reg 4@lane, d1 = 4@sg 4@lane:4"),
)  # fmt: skip
"""The conversions whose cost is to be within 15 % of the listing; none of them is fitted."""


@dataclass(frozen=True)
class Compiler:
    """How the machine instructions of kernels are counted for a chip: one number for each chain of programs.

    `lanes` are the sizes of subgroups that it has, `seen` what single steps were seen to cost. `waits` is estimated, since no
    listing shows it: the slots for which a step keeps a unit that the ALUs share, besides its own.
    """

    version: str
    lanes: tuple[int, ...]
    count: Callable[[Sequence[Chain]], list[float]]
    seen: dict[str, float]
    waits: dict[str, float]
    narrow: int = 0
    """How many conversions of elements below a word are fitted besides: where parts of words have accesses of their own."""
    chosen: int = 0
    """How many defaults are fitted besides."""
    ignored: frozenset[str] = frozenset()
    """Charges that are not fitted."""
    drawn: float = 0.2
    """How much prices are drawn to `seen`."""
    once: tuple[str, ...] = ()
    """Steps that subgroups of 32 lanes do not take twice; the others are seen to cost twice as much, if there are any."""

    def usual(self, lanes: int) -> dict[str, float]:
        """What single steps were seen to cost in subgroups of so many lanes."""
        twice = 2 if self.once and lanes == 32 else 1
        found = {name: price * (1 if name in self.once else twice) for name, price in self.seen.items()}
        return {name: price for name, price in found.items() if name not in self.ignored}


# --- Intel


def _run(command: Sequence[str], folder: Path, **environment: str) -> str:
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


def merged(chains: Sequence[Chain]) -> str:
    """One module of the kernels k0, k1, ... of several conversions."""
    texts = [
        emit_kernel(chain, f"i{chain[0].element_bits}", f"k{i}", llvm=22).rstrip().splitlines()
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


def intel_listings(chains: Sequence[Chain], device: str, ocloc: str) -> list[list[str]]:
    """The lines of each kernel's listing."""
    found: list[list[str]] = []
    options = "xegpu-op-level=lane zebin-chip=pvc binary-format=bin"
    for start in range(0, len(chains), BATCH):
        batch = chains[start : start + BATCH]
        with TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "k.mlir").write_text(merged(batch))
            _run(["mlir-opt-22", "k.mlir", f"--gpu-lower-to-xevm-pipeline={options}", "-o", "lowered.mlir"], folder)
            binary = spirv((folder / "lowered.mlir").read_text())
            (folder / "k.spv").write_bytes(sized(binary, batch))
            _run([ocloc, "compile", "-file", "k.spv", "-spirv_input", "-device", device, "-out_dir", "bin"], folder)
            library = Path("/usr/lib/x86_64-linux-gnu/libiga64.so.1")  # Debian's disassembler opens it by another name
            if library.exists():
                (folder / "libiga64.so").symlink_to(library)
            binary = next((folder / "bin").glob("*.bin"))
            search = {} if "newtools" in ocloc else {"LD_LIBRARY_PATH": str(folder)}
            _run([ocloc, "disasm", "-file", str(binary), "-dump", "dis", "-device", device], folder, **search)
            for i in range(len(batch)):
                file = next(
                    path for path in (f".text.k{i}.asm", f"k{i}_KernelHeap.asm") if (folder / "dis" / path).exists()
                )
                found.append((folder / "dis" / file).read_text().splitlines())
    return found


def identity(subgroups: int, lanes: int, bits: int, registers: int) -> Chain:
    """The kernel without a conversion: what is loaded is stored."""
    cells, parts = registers * max(bits // 32, 1), max(32 // bits, 1)
    pack = (*range(cells), *[-1] * (-cells % parts))
    return (Program(subgroups, lanes, bits, registers, registers, pack, (), tuple(range(cells))),)


def beyond_the_copy(count: Callable[[Sequence[Chain]], list[float]], chains: Sequence[Chain]) -> list[float]:
    """The instructions of each chain, without those of the same loads and stores."""
    copies: dict[Chain, int] = {}
    pairs: list[tuple[Chain, Chain]] = []
    for chain in chains:
        first, last = chain[0], chain[-1]
        shape = first.subgroups, first.lanes, first.element_bits
        pairs.append((identity(*shape, first.source_registers), identity(*shape, last.registers)))
        for copy in pairs[-1]:
            copies.setdefault(copy, len(copies))
    counts = count([*chains, *copies])
    of_copies = counts[len(chains) :]
    return [
        counts[i] - (of_copies[copies[before]] + of_copies[copies[after]]) / 2
        for i, (before, after) in enumerate(pairs)
    ]


def _intel(device: str, ocloc: str, version: str, lanes: tuple[int, ...] = (16, 32)) -> Compiler:
    def count(chains: Sequence[Chain]) -> list[float]:
        return [float(slots(lines)) for lines in intel_listings(chains, device, ocloc)]

    # Debian's compiler copies the words that regions take and make (tests/oracle/test_register_regions.py).
    seen = SEEN | ({"region_word": 0.5} if device == "dg2" else {})
    once = ("barrier", "fence", "memory", "store", "load", "condition_sg")
    return Compiler(
        version,
        lanes,
        lambda chains: beyond_the_copy(count, chains),
        seen,
        {"waits": 1},
        narrow=200,
        chosen=200,
        drawn=0.02,
        once=once,
    )


def _others(newtools: Path) -> dict[str, Compiler]:
    """NVIDIA's and AMD's chips, whose listings `gpu_listings` makes."""
    gpu: dict[str, Any] = runpy.run_path(str(Path(__file__).with_name("gpu_listings.py")))
    found: dict[str, Compiler] = {}
    try:
        ptxas = gpu["nvidia_tool"]("ptxas")
    except FileNotFoundError:
        ptxas = None
    for (
        chip,
        lanes,
        program,
        version,
        waits,
    ) in (  # a shuffle passes 32 lanes a clock, for 4 schedulers or 4 ALUs of 16 lanes
        ("sm_80", 32, ptxas, "LLVM 22, ptxas", {"waits": 4.0, "shuffle": 1.0}),
        ("sm_90", 32, ptxas, "LLVM 22, ptxas", {"waits": 4.0, "shuffle": 1.0}),
        ("gfx942", 64, shutil.which("llc-22"), "LLVM 22", {"waits": 2.0, "shuffle": 1.0}),
        ("gfx950", 64, shutil.which("llc-22"), "LLVM 22", {"waits": 2.0, "shuffle": 1.0}),
    ):
        if program is not None and shutil.which("llc-22") is not None:
            count = partial(beyond_the_copy, partial(gpu["counts"], chip=chip))
            if "ptxas" in version:
                release = re.search(r"release ([\d.]+)", _run([program, "--version"], newtools.parent))
                version = f"{version} {release[1] if release else ''}".rstrip()
            found[chip] = Compiler(
                version,
                (lanes,),
                count,
                gpu["SEEN"],
                waits,
                150,
                250,
                frozenset(gpu["IGNORED"][gpu["vendor_of"](chip)]),
            )
    return found


def compilers(*, old: bool = False) -> dict[str, Compiler]:
    """The chips whose compiler is here. `old`: pvc by Debian 12's compiler instead of the current one."""
    found: dict[str, Compiler] = {}
    if shutil.which("mlir-opt-22") is None:
        return found
    here = shutil.which("ocloc")
    if here is not None:
        debian = "Debian 12's IGC 1.0.12504"
        if old:
            return {"pvc": _intel("pvc", here, debian)}
        found["dg2"] = _intel("dg2", here, debian, (8, 16))
    newtools = Path(os.environ.get("LAYOUTALG_NEWTOOLS") or Path(__file__).parents[1] / ".venv" / "newtools")
    current = newtools / "bin" / "ocloc"
    if current.exists():
        library = next(newtools.glob("igc/usr/lib/*/libigc.so.2.*"), None)
        version = library.name.removeprefix("libigc.so.").partition("+")[0] if library else "current"
        for device in ("pvc", "bmg"):
            found[device] = _intel(device, str(current), f"IGC {version}, LLVM 22's SPIR-V")
    return found | _others(newtools)


# --- what is compiled


def random_pair(rng: random.Random, lanes: int, registers: int, subgroups: int) -> tuple[str, str]:
    """Two layouts of one tensor with a bit of the machine for each digit, some or all of them permuted."""
    widths = {"lane": (lanes - 1).bit_length(), "reg": rng.randint(0, registers), "sg": subgroups}
    source = [(axis, 1 << bit) for axis, width in widths.items() for bit in range(width)]
    rng.shuffle(source)
    result = list(source)
    changed = rng.sample(range(len(source)), min(rng.choice([2, 3, 4, 5, len(source)]), len(source)))
    values = [result[i] for i in changed]
    rng.shuffle(values)
    for i, value in zip(changed, values, strict=True):
        result[i] = value
    one, other = ("d0 = " + " ".join(f"2@{axis}:{stride}" for axis, stride in places) for places in (source, result))
    return one, other


def family(seed: int, count: int, target: str, lanes: int, each: int = 2, sizes: Sequence[int] = MIXED) -> list[Chain]:
    """The plans of random conversions, their next candidates, and one of the others; `each` and one of a conversion at most."""
    rng = random.Random(seed)
    found: list[Chain] = []
    while len(found) < count:
        bits = rng.choice(sizes)
        most = {8: 6, 16: 5, 32: 5, 64: 3}[bits]
        pair = random_pair(rng, lanes, most, rng.choice([0, 0, 0, 1, 2]))
        plan = la.convert(*pair, element_bits=bits, target=target)
        if plan.kind != "identity":
            ways = [one.programs for one in plan.candidates]
            found += [*ways[:each], *rng.sample(ways[each:], min(1, len(ways[each:])))]
    return found[:count]


# --- the fit


def table_of(chains: Sequence[Chain]) -> NDArray[np.float64]:
    """What each chain is charged for: `[chain, charge]`."""
    counted = [charges_of(chain) for chain in chains]
    return np.array([[one[name] for name in CHARGES] for one in counted], float)


def fit(
    charges: NDArray[np.float64], instructions: NDArray[np.float64], usual: dict[str, float], drawn: float
) -> NDArray[np.float64]:
    """The price of each charge: least squares of relative errors, none negative, drawn to what was seen; in twentieths."""
    weights = 1 / np.maximum(instructions, 15)
    seen = np.array([usual.get(name, 0) for name in CHARGES], float)
    left = charges * weights[:, None]
    squares = left.T @ left + drawn * np.eye(len(CHARGES))
    wanted = left.T @ (instructions * weights) + drawn * seen
    prices = seen.copy()
    for _ in range(1000):  # one coordinate after another, none below 0
        for j in range(len(prices)):
            prices[j] = max(0.0, prices[j] + (wanted[j] - squares[j] @ prices) / squares[j, j])
    return np.round(prices * 20) / 20


def errors(predicted: NDArray[np.float64], instructions: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far off each cost is, as a share of the listing."""
    return (predicted - instructions) / np.maximum(instructions, 5)


def judged(predicted: NDArray[np.float64], instructions: NDArray[np.float64]) -> dict[str, float]:
    """How good costs are, in three numbers."""
    off = np.abs(errors(predicted, instructions))
    near = (off <= 0.15) | (np.abs(predicted - instructions) <= 1)
    return {
        "mean_error": round(float(off.mean()), 3),
        "worst_error": round(float(off.max()), 3),
        "within_15_percent": round(float((off <= 0.15).mean()), 3),
        "or_one_instruction": round(float(near.mean()), 3),
    }


def fitted(compiler: Compiler, target: str, lanes: int) -> dict[str, object]:
    """The row of the table for a chip and a size of subgroups."""
    chains = [family(seed, count, target, lanes) for seed, count in ((1, FITTED), (2, HELD_OUT))]
    chains[0] += family(3, compiler.narrow, target, lanes, 5, NARROW)
    chains[0] += family(4, compiler.chosen, target, lanes, 1)
    count = len(chains[0])
    counts = np.array(compiler.count([*chains[0], *chains[1]]))
    known, held = (table_of(one) for one in chains)
    for one in (known, held):
        one[:, [CHARGES.index(name) for name in compiler.ignored]] = 0
    usual = compiler.usual(lanes)
    prices = fit(known, counts[:count], usual, compiler.drawn)
    found = {
        name: float(price)
        for name, price, seen in zip(CHARGES, prices, known.any(axis=0), strict=True)
        if name != "waits" and (seen or usual.get(name))
    }
    vector = np.array([found.get(name, 0) for name in CHARGES])
    return {
        "kernels": count,
        "fitted": judged(known @ vector, counts[:count]),
        "held_out": judged(held @ vector, counts[count:]),
        "waits": compiler.waits,
        "prices": {name: price for name, price in found.items() if price},
    }


def fitted_alone(compiler: Compiler, target: str, lanes: int, name: str) -> float:
    """The price of one charge beside the committed ones: least squares over random conversions that have it."""
    chains = [chain for chain in family(5, FITTED, target, lanes, 4) if charges_of(chain)[name]]
    if not chains:
        return 0.0
    found = prices_of(target, lanes)
    assert found is not None
    counts, charges = np.array(compiler.count(chains)), table_of(chains)
    vector = np.array([0 if one == name else found.instructions[one] for one in CHARGES])
    own, weights = charges[:, CHARGES.index(name)], 1 / np.maximum(counts, 15) ** 2
    price = max(0.0, float((weights * own * (counts - charges @ vector)).sum() / (weights * own**2).sum()))
    price = round(price * 20) / 20
    for text, value in (("before", found.instructions[name]), ("after", price)):
        print(target, lanes, name, len(chains), text, judged(np.round(charges @ vector + own * value), counts))
    return price


def named(target: str) -> tuple[list[str], list[Chain], list[int]]:
    """The named conversions on a chip, their programs, and the instructions that their prices say."""
    plans = [
        la.convert(source, destination, element_bits=bits, target=target)
        for _, bits, source, destination in CONVERSIONS
    ]
    names = [f"{name}, {bits} bits" for name, bits, *_ in CONVERSIONS]
    costs = [cost_of(target).priced(plan.programs)[1] for plan in plans]
    return names, [plan.programs for plan in plans], costs


def check(compiler: Compiler, target: str, lanes: int) -> None:
    """Print the named conversions and the held-out ones beside their listings."""
    print(f"{target}, {lanes} lanes, {compiler.version}")
    if lanes == 16:
        names, chains, costs = named(target)
        counts = np.array(compiler.count(chains))
        for name, cost, count, off in zip(names, costs, counts, errors(np.array(costs), counts), strict=True):
            print(f"  {name:42} cost {cost:5}   listing {count:7.1f}   {off:+.0%}")
        print("  named   ", judged(np.array(costs, float), counts))
    chains = family(2, HELD_OUT, target, lanes)
    found = prices_of(target, lanes)
    if found is None:
        return
    vector = np.array([found.instructions[name] for name in CHARGES])
    print("  held out", judged(np.round(table_of(chains) @ vector), np.array(compiler.count(chains))))


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("chips", nargs="*")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--old", action="store_true")
    parser.add_argument("--only", choices=CHARGES, metavar="CHARGE")
    asked = parser.parse_args(arguments)
    here = compilers(old=asked.old)
    chips = asked.chips or list(here)
    table = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {}
    for chip in chips:
        if chip not in here:
            sys.exit(f"no compiler for {chip} is here; there are those for {', '.join(here) or 'no chip'}")
        compiler = here[chip]
        if asked.only:
            for lanes in compiler.lanes:
                price = fitted_alone(compiler, chip, lanes, asked.only)
                if price:
                    table[chip]["lanes"][str(lanes)]["prices"][asked.only] = price
            DATA.write_text(json.dumps(dict(sorted(table.items())), indent=1) + "\n", encoding="utf-8")
            continue
        if not (asked.check or asked.old):
            rows = {str(lanes): fitted(compiler, chip, lanes) for lanes in compiler.lanes}
            table[chip] = {"compiler": compiler.version, "date": datetime.now(UTC).date().isoformat(), "lanes": rows}
            DATA.write_text(json.dumps(dict(sorted(table.items())), indent=1) + "\n", encoding="utf-8")
            for lanes, row in rows.items():
                print(chip, lanes, row)
            continue
        for lanes in compiler.lanes:
            check(compiler, chip, lanes)


if __name__ == "__main__":
    main(sys.argv[1:])
