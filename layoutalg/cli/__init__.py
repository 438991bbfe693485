"""`layoutalg`: the command line. One thin module per command; every command but `lsp` has `--json`.

    layoutalg show '#xegpu.layout<lane_layout = [2, 8], lane_data = [1, 1]>' 8x16 --lane 9
    layoutalg same 'd0 = 2@reg 4@lane' 'd0 = 4@lane 2@reg'
    layoutalg gemm 512 512 512 --run -o build/gemm.mlir

Bad input is answered on standard error (`layoutalg.cli.refusals`) with exit code 2; an interrupt with 130.
"""

from layoutalg.cli.program import cli, main

__all__ = ["cli", "main"]
