"""Programs as MLIR: `emit` writes functions and kernels, `operations` their steps, `indices` what each lane computes."""
