"""One matrix instruction, in the words that the version of LLVM can lower.

XeGPU has a matrix product of its own for 16-bit floats. Of the other types LLVM 22, 23 and 24 make nothing that runs: for tf32
`xegpu.dpas` fails to legalize, and `xevm.mma` works. For 8-bit integers `xevm.mma` names a function that the graphics compiler
does not have (`s8_s8`; its own is `i8_i8`): the build is green, and the machine code has a call into nowhere. So that function
is called by its own name, which says the types of A and B:

>>> instruction("f16"), instruction("tf32"), instruction("u8")
('xegpu.dpas', 'xevm.mma', 'llvm.call')
>>> from layoutalg.gemm import plan_gemm
>>> kernel = KernelWriter(plan_gemm(64, 64, 64, "u8", "s8"))
>>> a, b, c = (kernel.constant(0, kind, size) for kind, size in (("i8", 16), ("i8", 32), ("i32", 8)))
>>> multiply(kernel, a, b, c).kind
'vector<8xi32>'
>>> list(kernel.functions)
['_Z36intel_sub_group_u8_i8_matrix_mad_k32Dv8_tDv8_iS0_']
"""

from __future__ import annotations

from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.elements import element_bits
from layoutalg.gemm.emission.kernel import KernelWriter
from layoutalg.hardware import Dpas

__all__ = ["instruction", "multiply"]

_INSTRUCTIONS = {"f16": "xegpu.dpas", "bf16": "xegpu.dpas", "tf32": "xevm.mma", "s8": "llvm.call", "u8": "llvm.call"}
"""What becomes DPAS in the machine code, by the type of A; tried with LLVM 22.1.8, 23.1.4 and 24, the same in all of them."""
_ATTRIBUTES = "{convergent, no_unwind, will_return}"
_MMA_SHAPE = "shape = <m = {m}, n = {n}, k = {k}>, types = <d = {acc}, a = {a}, b = {b}, c = {acc}>"


def instruction(a: str) -> str:
    """The operation that stands for the matrix instruction whose A has this type.

    >>> instruction("bf16")
    'xegpu.dpas'
    """
    return _INSTRUCTIONS[a]


def multiply(kernel: KernelWriter, a: Value, b: Value, c: Value) -> Value:
    """C + A B of one instruction.

    >>> from layoutalg.gemm import plan_gemm
    >>> kernel = KernelWriter(plan_gemm(64, 64, 64))
    >>> a, b, c = (kernel.constant(0.0, kind, size) for kind, size in (("f16", 8), ("f16", 16), ("f32", 8)))
    >>> total = multiply(kernel, a, b, c)
    >>> print(kernel.writer.text().splitlines()[-1])
    %3 = xegpu.dpas %0, %1, %2 : vector<8xf16>, vector<16xf16>, vector<8xf32> -> vector<8xf32>
    """
    unit = kernel.gemm.dpas
    name = instruction(unit.a_type)
    if name == "xegpu.dpas":
        form = f"xegpu.dpas %s, %s, %s : {a.kind}, {b.kind}, {c.kind} -> {c.kind}"
        return kernel.writer.value(form, (a, b, c), c.element, c.size)
    a, b = as_components(kernel, a, unit.a_bits), as_components(kernel, b, unit.b_bits)
    kinds = f"({a.kind}, {b.kind}, {c.kind}) -> {c.kind}"
    if name == "xevm.mma":
        types = _MMA_SHAPE.format(m=unit.m, n=unit.n, k=unit.k, acc=unit.acc_type, a=unit.a_type, b=unit.b_type)
        return kernel.writer.value(f"xevm.mma %s, %s, %s {{{types}}} : {kinds}", (a, b, c), c.element, c.size)
    symbol = _symbol(unit)
    kernel.functions[symbol] = f"llvm.func spir_funccc @{symbol}{kinds} attributes {_ATTRIBUTES}"
    form = f"llvm.call spir_funccc @{symbol}(%s, %s, %s) {_ATTRIBUTES} : {kinds}"
    return kernel.writer.value(form, (a, b, c), c.element, c.size)


def as_components(kernel: KernelWriter, value: Value, bits: int) -> Value:
    """A lane's elements as integers of the size in which the instruction takes them; the lowest element in the lowest bits.

    >>> from layoutalg.gemm import plan_gemm
    >>> kernel = KernelWriter(plan_gemm(64, 64, 64))
    >>> as_components(kernel, kernel.constant(0, "i8", 16), 16).kind
    'vector<8xi16>'
    """
    own = element_bits(value.element)
    if value.element == f"i{bits}" or value.size is None:
        return value
    size = value.size * own // bits
    form = f"vector.bitcast %s : {value.kind} to vector<{size}xi{bits}>"
    return kernel.writer.value(form, (value,), f"i{bits}", size)


def _symbol(unit: Dpas) -> str:
    """The graphics compiler's function for integers: A in components of 16 bits, B in those of 32, signed or not."""
    from layoutalg.ir.builtin_names import mangled  # loads xDSL

    of_a, of_b = ("u" if name[0] == "u" else "" for name in (unit.a_type, unit.b_type))
    return mangled(unit.builtin, (f"{of_a}short{unit.m}", f"{of_b}int8", f"int{unit.m}"))
