"""What a kernel's loads and stores work on: buffers at addresses, and the checks of every access.

`Memory` holds the arrays that a launch is given; `launched.LaunchMemory` adds shared and private memory, and finds races,
uninitialised reads, and accesses out of bounds.

>>> Memory().describe(80)
'address 0x50, which is in no buffer'
"""

from layoutalg.simulate.memory.buffers import Memory

__all__ = ["Memory"]
