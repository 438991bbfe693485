"""Conversions by register regions: strided moves of Intel's register file, in place of shuffles and selects.

`shapes` lists what one `mov` does to the bits of a register's address, `search` finds the cheapest sequence of them from one
arrangement of bits to another, and `moves` writes the sequence down as a program.
"""

__all__: list[str] = []
