"""One matrix instruction, in the words that LLVM 22, 23 and 24 and the graphics compiler turn into DPAS.

XeGPU has a matrix product of its own for 16-bit floats. Of the other types LLVM 22, 23 and 24 make nothing that runs: for tf32
`xegpu.dpas` fails to legalize, and `xevm.mma` works. For 8-bit integers `xevm.mma` names a function that the graphics compiler
does not have (`s8_s8`; its own is `i8_i8`): the build is green, and the machine code has a call into nowhere. So that function
is called by its own name, which says the types of A and B:

>>> instruction("f16"), instruction("tf32"), instruction("u8")
('xegpu.dpas', 'xevm.mma', 'llvm.call')
>>> from layoutalg.conversion.lowering.writer import Writer
>>> from layoutalg.hardware import dpas
>>> functions = {}
>>> made = multiplied(Writer(), dpas("u8", "s8", "s32"), Value("i8", 16), Value("i8", 32), Value("i32", 8), functions)
>>> made.kind, list(functions)
('vector<8xi32>', ['_Z36intel_sub_group_u8_i8_matrix_mad_k32Dv8_tDv8_iS0_'])
"""

from __future__ import annotations

from layoutalg.conversion.lowering.writer import Value, Writer
from layoutalg.core.elements import element_bits
from layoutalg.hardware import Dpas
from layoutalg.ir.builtin_names import mangled

__all__ = ["as_components", "instruction", "multiplied"]

_INSTRUCTIONS = {"f16": "xegpu.dpas", "bf16": "xegpu.dpas", "tf32": "xevm.mma", "s8": "llvm.call", "u8": "llvm.call"}
"""What becomes DPAS in the machine code, by the type of A; tried with LLVM 22.1.8, 23.1.4 and 24, the same in all of them."""
_ATTRIBUTES = "{convergent, no_unwind, will_return}"
_MMA_SHAPE = "shape = <m = {m}, n = {n}, k = {k}>, types = <d = {acc}, a = {a}, b = {b}, c = {acc}>"


def instruction(a: str) -> str:
    """The operation that stands for the matrix instruction whose A has this type."""
    return _INSTRUCTIONS[a]


def multiplied(
    writer: Writer, unit: Dpas, a: Value, b: Value, c: Value | None, functions: dict[str, str] | None = None
) -> Value:
    """C + A B of one instruction; C may be left out where XeGPU has the product. Declarations go into `functions`."""
    name = instruction(unit.a_type)
    if name == "xegpu.dpas":
        operands = (a, b) if c is None else (a, b, c)
        element, size = (unit.acc_type, unit.m) if c is None else (c.element, c.size)
        result = Value(element, size).kind
        form = f"xegpu.dpas {', '.join(['%s'] * len(operands))} : {', '.join(one.kind for one in operands)} -> {result}"
        return writer.value(form, operands, element, size)
    assert c is not None, "LLVM lowers no other product without an accumulator"
    a, b = as_components(writer, a, unit.a_bits), as_components(writer, b, unit.b_bits)
    if name == "xevm.mma":
        kinds = f"({a.kind}, {b.kind}, {c.kind}) -> {c.kind}"
        types = _MMA_SHAPE.format(m=unit.m, n=unit.n, k=unit.k, acc=unit.acc_type, a=unit.a_type, b=unit.b_type)
        return writer.value(f"xevm.mma %s, %s, %s {{{types}}} : {kinds}", (a, b, c), c.element, c.size)
    a, c = _alone(writer, a), _alone(writer, c)
    kinds = f"({a.kind}, {b.kind}, {c.kind}) -> {c.kind}"
    symbol = _symbol(unit)
    if functions is not None:
        functions[symbol] = f"llvm.func spir_funccc @{symbol}{kinds} attributes {_ATTRIBUTES}"
    form = f"llvm.call spir_funccc @{symbol}(%s, %s, %s) {_ATTRIBUTES} : {kinds}"
    return writer.value(form, (a, b, c), c.element, c.size)


def as_components(writer: Writer, value: Value, bits: int) -> Value:
    """A lane's elements as integers of the size in which the instruction takes them; the lowest element in the lowest bits."""
    own = element_bits(value.element)
    if value.element == f"i{bits}" or value.size is None:
        return value
    size = value.size * own // bits
    form = f"vector.bitcast %s : {value.kind} to vector<{size}xi{bits}>"
    return writer.value(form, (value,), f"i{bits}", size)


def _alone(writer: Writer, value: Value) -> Value:
    """One row is a number for the graphics compiler, not a vector of one."""
    if value.size != 1:
        return value
    return writer.value(f"vector.extract %s[0] : {value.element} from {value.kind}", (value,), value.element)


def _symbol(unit: Dpas) -> str:
    """The graphics compiler's function for integers: A in components of 16 bits, B in those of 32, signed or not."""
    of_a, of_b = ("u" if name[0] == "u" else "" for name in (unit.a_type, unit.b_type))
    rows = "" if unit.m == 1 else str(unit.m)
    return mangled(unit.builtin, (f"{of_a}short{rows}", f"{of_b}int8", f"int{rows}"))
