"""NVIDIA's instructions: one module per family, each the formulas of its operands."""
