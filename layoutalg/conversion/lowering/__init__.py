"""Programs as MLIR: `emit` writes functions and kernels, `operations` their steps, `indices` what each lane computes.

`permutes` writes byte permutes and `visa` moves between register regions, as each chip has them; `writer` and `region_writer`
hold the text.
"""

__all__: list[str] = []
