"""Intel's matrix instruction (DPAS) and 2D block messages, by the names people type."""

__all__: list[str] = []
