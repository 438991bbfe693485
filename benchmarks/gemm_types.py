"""Instructions of a product's loop per DPAS, for each type and storage: the table of docs/gemm_types.md.

    python benchmarks/gemm_types.py            compile every form for every chip, and print the table (2 minutes)
    python benchmarks/gemm_types.py --write    write it into the page

Each cell is the loop of the default plan of 4096 x 4096 x 4096, waits, jumps and prefetches included, as ocloc disassembles it,
and in brackets what the plan predicts. A kernel that spills or calls what does not exist stops the script: the page says that
none does.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from layoutalg.gemm import plan_gemm
from layoutalg.gemm.listing import compiler_version

PAGE = Path(__file__).parents[1] / "docs" / "gemm_types.md"
CHIPS = ("bmg", "pvc")
FORMS: dict[str, dict[str, Any]] = {
    "f16": {"a": "f16"},
    "bf16": {"a": "bf16"},
    "f16, accumulators of f16": {"a": "f16", "acc": "f16"},
    "tf32": {"a": "tf32"},
    "s8": {"a": "s8"},
    "f16, B transposed": {"a": "f16", "trans_b": True},
    "tf32, B transposed": {"a": "tf32", "trans_b": True},
    "u8 x s8, B transposed": {"a": "u8", "b": "s8", "trans_b": True},
    "f16, A transposed": {"a": "f16", "trans_a": True},
    "tf32, A transposed": {"a": "tf32", "trans_a": True},
    "s8, A transposed": {"a": "s8", "trans_a": True},
    "f16, both transposed": {"a": "f16", "trans_a": True, "trans_b": True},
}
"""The forms of the table, by the name of their row: what `plan_gemm` is given beside the sizes and the chip."""
_HEAD = "| | " + " | ".join(CHIPS) + " |\n|---|" + "---:|" * len(CHIPS)


def cell(form: str, chip: str) -> str:
    """Instructions per DPAS that are listed, and in brackets those that are predicted."""
    listing = plan_gemm(4096, 4096, 4096, target=chip, **FORMS[form]).listing()
    if not listing.compiled.fits or listing.compiled.unresolved:
        raise SystemExit(f"{form} on {chip}: the kernel spills, or calls what does not exist")
    return f"{listing.loop.counts.per_dpas:.2f} ({listing.predicted.per_dpas:.2f})"


def table() -> str:
    """All rows, compiled here."""
    rows = ["| " + " | ".join([form, *(cell(form, chip) for chip in CHIPS)]) + " |" for form in FORMS]
    return "\n".join([_HEAD, *rows])


def table_of_page() -> dict[tuple[str, str], str]:
    """What the page says, by form and chip."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(_HEAD + "\n")
    if not rest:
        raise SystemExit(
            f"{PAGE.name} has no table that begins with {_HEAD.splitlines()[0]!r} ({len(before)} characters read)"
        )
    found: dict[tuple[str, str], str] = {}
    for line in rest.split("\n\n")[0].splitlines():
        form, *cells = (part.strip() for part in line.strip("|").split("|"))
        found |= {(form, chip): one for chip, one in zip(CHIPS, cells, strict=True)}
    return found


def main() -> None:
    """Print the table, or write it into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the table into docs/gemm_types.md")
    given = parser.parse_args()
    made = table()
    print(f"LLVM 24, ocloc {compiler_version() or 'not installed'}\n\n{made}")
    if given.write:
        text = PAGE.read_text(encoding="utf-8")
        before, _, rest = text.partition(_HEAD + "\n")
        after = rest.partition("\n\n")[2]
        PAGE.write_text(f"{before}{made}\n\n{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
