"""Elementary functions, with LLVM's syntax.

    %0 = math.exp2 %x fastmath<fast> : vector<8xf32>

>>> from layoutalg.ir import read_module, write_module
>>> text = "%x = arith.constant 1.0 : f32 %y = math.exp2 %x fastmath<afn> : f32"
>>> print(write_module(read_module(text)).splitlines()[2].strip())
%y = math.exp2 %x fastmath<afn> : f32
"""

from __future__ import annotations

from xdsl.ir import Dialect

from layoutalg.ir.dialects.math.operations import OPERATIONS

__all__ = ["MATH"]

MATH = Dialect("math", list(OPERATIONS))
"""The dialect."""
