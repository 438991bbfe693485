"""Draw the README's pictures: what `layoutalg draw` writes, and what `layoutalg show` prints in a terminal.

Run by `make picture`. The text is what the command prints; nothing is drawn by hand.
"""

from __future__ import annotations

import os
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI

from layoutalg.cli import main as layoutalg
from layoutalg.compare import same
from layoutalg.gemm import plan_gemm
from layoutalg.gemm.amx import plan_amx
from layoutalg.gemm.attention import plan_attention
from layoutalg.gemm.weights import plan_weights
from layoutalg.memory import bank_picture, best_swizzle
from layoutalg.propagation import propagate
from layoutalg.show import describe
from layoutalg.show.cute_algebra import describe_expression

TEXT = "#xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16], lane_layout = [1, 16], lane_data = [1, 1]>"
DOCS = Path(__file__).parent
DRAWN = {
    "tile.svg": [TEXT, "32x64"],
    "mfma.svg": ["#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>"],
    "swizzle.svg": ["Sw<3,2,3> o 0 o (8,32):(32,1)"],
}
"""Arguments of `layoutalg draw`."""
ROWS, COLUMNS = "d0 = 32@reg, d1 = 32@lane", "d0 = 32@lane, d1 = 32@reg"
CONVERTED = {
    "conversion.svg": ["d0 = 8@reg, d1 = 8@lane", "d0 = 8@lane, d1 = 8@reg", "--element", "f16", "--target", "generic"],
    "memory.svg": [
        "d0 = 2@sg 8@lane, d1 = 2@sg:2 4@reg",
        "d0 = 2@sg:2 2@lane:4 4@reg, d1 = 2@sg 4@lane",
        "--target",
        "generic",
    ],
}
"""Arguments of `layoutalg convert`."""

KERNEL = """
#rows = #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>
func.func @exp_of_rows(%p: memref<64x64xf32>) {
  %t = xegpu.create_nd_tdesc %p : memref<64x64xf32> -> !xegpu.tensor_desc<16x16xf32>
  %x = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<16x16xf32> -> vector<16x16xf32>
  %e = math.exp %x {layout_result_0 = #rows} : vector<16x16xf32>
  xegpu.store_nd %e, %t[0, 0] : vector<16x16xf32>, !xegpu.tensor_desc<16x16xf32>
  func.return
}"""
"""The kernel of docs/pictures.md whose layouts are drawn."""

# Rich's own frame without the web font that it would load.
FRAME = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: monospace; font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def main() -> None:
    """Write the pictures of docs/, as its pages show them."""
    for name, arguments in DRAWN.items():
        layoutalg(["draw", *arguments, "-o", str(DOCS / name)])
    for name, arguments in CONVERTED.items():
        layoutalg(["convert", *arguments, "--picture", str(DOCS / name)])
    plan = plan_amx(512, 512, 512, blocking=(2, 2), blocks=(256, 256, 512), order="columns", pack_a=False)
    plan.picture().save(DOCS / "amx_plan.svg")
    plan.tile_pictures()["B"].save(DOCS / "amx_tile.svg")
    for picture, name in (
        (
            same("d0 = 8@reg, d1 = 8@lane", "d0 = 8@lane, d1 = 8@reg").picture(title="rows and columns"),
            "difference.svg",
        ),
        (bank_picture(COLUMNS, memory=best_swizzle(ROWS, COLUMNS), title="columns of 32x32 elements"), "banks.svg"),
        (describe_expression("zipped_divide((8,6):(1,8), (2,3))").picture(), "algebra.svg"),
        (plan_gemm(1024, 1024, 1024).picture(), "gemm.svg"),
        (plan_attention(1024, 1024, 64).picture(), "attention.svg"),
        (plan_weights(8, 4096, 4096, target="bmg").picture(), "weights.svg"),
    ):
        picture.save(DOCS / name)
    (DOCS / "propagated.svg").write_text(propagate(KERNEL).picture().svg() + "\n", encoding="utf-8")
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=124, file=nowhere, markup=False, highlight=False, force_terminal=True)
        console.print(f"$ layoutalg show '{TEXT}' 32x64", soft_wrap=True)
        describe(TEXT, (32, 64)).print(console)
        svg = console.export_svg(title="layoutalg", theme=MONOKAI, code_format=FRAME, unique_id="layoutalg")
    (DOCS / "show.svg").write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
