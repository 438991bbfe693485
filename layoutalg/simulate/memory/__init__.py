"""What a kernel's loads and stores work on: buffers at addresses.

>>> Memory().describe(80)
'address 0x50, which is in no buffer'
"""

from layoutalg.simulate.memory.buffers import Memory

__all__ = ["Memory"]
