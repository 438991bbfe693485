"""What a kernel of IREE is wrapped into, and what the host gives to it: numbers, buffers, its workgroup's number.

    %id = hal.interface.workgroup.id[0] : index
    %m = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<16x32xf16>

>>> from layoutalg.ir import read_module, write_module
>>> print(write_module(read_module("%n = hal.interface.workgroup.id[1] upper_bound 64 : index")).splitlines()[1].strip())
%n = hal.interface.workgroup.id[1] upper_bound 64 : index

The law: `write_module(read_module(text))` is a fixed point.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from layoutalg.ir.dialects.iree_directives import Flags, HostRegion, Layout, Target, Visibility
from layoutalg.ir.operations.classes import define

__all__ = ["HAL", "OPERATIONS"]

OPERATIONS = define(__name__, "hal", directives=(Flags, HostRegion, Layout, Target, Visibility))
"""The classes, in the order of the table."""

HAL = Dialect("hal", list(OPERATIONS))
"""The dialect."""
