"""Changes of layout: at subgroup and workgroup level a value is the whole tensor, so it stays as it is.

At lane level the fragments would have to move between lanes; layoutalg plans such conversions (`layoutalg.convert`), and their
code runs here. What is left of `xegpu.convert_layout` at lane level is refused, unless both layouts are the same.
"""

from __future__ import annotations

from xdsl.ir import Operation

from layoutalg.simulate.compiling import Compiling, Step, compiled_by
from layoutalg.simulate.machine import fail
from layoutalg.simulate.operations.declared import property_of

__all__: list[str] = []


@compiled_by("xegpu.convert_layout")
def convert_layout(op: Operation, compiling: Compiling) -> Step:
    """The same tensor, held by others."""
    source, target = (property_of(op, name) for name in ("input_layout", "target_layout"))
    if compiling.level == "lane" and source != target:
        fail(op, "at lane level elements would move between lanes; write the shuffles that layoutalg.convert plans")
    return lambda run, values: (values[0],)
