"""A plan's kernel as MLIR text, at three levels: `lane` in the measured form, `subgroup` and `workgroup` for LLVM's passes."""

__all__: list[str] = []
