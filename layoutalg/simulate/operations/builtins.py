"""Calls of OpenCL's builtin functions: matrix products, subgroup reductions, native functions, messages of one block.

A kernel calls them by their mangled names (`layoutalg.ir.builtin_names`), and so the name must be the one that the graphics
compiler has. A product's name says the types of A and B, its operands their registers:

    %d = llvm.call spir_funccc @_Z36intel_sub_group_i8_i8_matrix_mad_k32Dv8_sDv8_iS0_(%a, %b, %c)
        : (vector<8xi16>, vector<8xi32>, vector<8xi32>) -> vector<8xi32>

Here a lane's 8 shorts are 16 elements of A of 8 bits, and its 8 integers 32 elements of B. With `i8_s8` in the name, or
`Dv8_i` for A, the compiler would find nothing; the simulation says so, and which name it has.

Sources: cl_intel_subgroup_matrix_multiply_accumulate, cl_intel_subgroup_matrix_multiply_accumulate_tf32, cl_intel_subgroups,
cl_intel_subgroups_short. `native_` functions have no stated precision; here they are those of `values.elementary`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import SymbolRefAttr, VectorType
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from layoutalg.ir.builtin_names import Builtin, demangled
from layoutalg.simulate.branching import compile_function
from layoutalg.simulate.compiling import Compiling, Step, compiled_by, value_shape
from layoutalg.simulate.machine import Array, Run, fail, uniform_in_subgroup
from layoutalg.simulate.memory.views import dtype_of
from layoutalg.simulate.operations.declared import element_of, pointwise
from layoutalg.simulate.operations.dpas import product_of_fragments
from layoutalg.simulate.operations.exchange import reduced_by_lanes
from layoutalg.simulate.values import elementary, floats

__all__: list[str] = []

_PRODUCT = re.compile(r"intel_sub_group_(bf16|f16|tf32|[iu][48])_(bf16|f16|tf32|[iu][48])_matrix_mad_k(8|16|32|64)")
_REDUCTION = re.compile(r"sub_group_reduce_(add|max|min)")
_BLOCK = re.compile(r"intel_sub_group_block_(read|write)(?:_(uc|us|ui|ul))?(2|4|8|16)?")
_LOCAL_BLOCK = re.compile(r"__builtin_IB_simd_block_(read|write)_(1|2|4|8|16)_local(?:_([bhl]))?")
_WORKGROUP, _SUBGROUP = 2, 3
"""SPIR-V's numbers of the scopes Workgroup and Subgroup."""
_ORDERING, _WORKGROUP_MEMORY = 0x1E, 0x100
"""SPIR-V's memory semantics: Acquire, Release, AcquireRelease and SequentiallyConsistent; those of shared memory."""
_WIDTHS = {"char": 8, "short": 16, "int": 32, "long": 64, "half": 16, "float": 32, "double": 64}


@compiled_by("llvm.call")
def call(op: Any, compiling: Compiling) -> Step:
    """`llvm.call` of a builtin, or of a function of the same module."""
    callee: Any = op.properties.get("callee")
    if not isinstance(callee, SymbolRefAttr):
        fail(op, "a call of an address is not simulated; of a function by its name is")
    symbol = callee.string_value()
    local = _LOCAL_BLOCK.fullmatch(symbol)
    if local is not None:
        return _local_block(op, compiling, symbol, local)
    builtin = demangled(symbol)
    if builtin is not None:
        for pattern, compiler in _BUILTINS:
            found = pattern.fullmatch(builtin.name)
            if found is not None:
                _check_operands(op, builtin, symbol)
                return compiler(op, compiling, builtin, found)
    return compile_function(compiling, op, symbol)


def _check_operands(op: Any, builtin: Builtin, symbol: str) -> None:
    """Refuse operands that the mangled name does not say."""
    kinds: list[Attribute] = [operand.type for operand in op.operands]
    if len(kinds) != len(builtin.parameters) or not all(map(_fits, builtin.parameters, kinds)):
        given = ", ".join(map(str, kinds))
        fail(op, f"@{symbol} takes ({', '.join(builtin.parameters)}), and is given ({given})")


def _fits(parameter: str, kind: Attribute) -> bool:
    if parameter.endswith("*"):
        return str(kind) in ("!llvm.ptr<1>", "!llvm.ptr")
    name = parameter.rstrip("0123456789")
    count = parameter[len(name) :]
    if value_shape(kind) != ((int(count),) if count else ()):
        return False
    element = str(getattr(kind, "element_type", kind))
    written = {"half": "f16", "float": "f32", "double": "f64"}.get(name, f"i{_WIDTHS[name.removeprefix('u')]}")
    return written == element


def _product(op: Any, compiling: Compiling, builtin: Builtin, found: re.Match[str]) -> Step:
    """A DPAS. The types of the operands follow from the name's, so that the mangled name is one of a few."""
    vectors = [_as_vector(kind) for kind in (op.operands[0].type, op.operands[1].type, op.results[0].type)]
    if len(op.operands) != 3 or op.operands[2].type != op.results[0].type:
        fail(op, f"{builtin.name} takes A, B and an accumulator of the result's type, {op.results[0].type}")
    kinds = [found[1], found[2]]
    bits = [32 if kind == "tf32" else 16 if kind.endswith("16") else int(kind[1:]) for kind in kinds]
    if bits[0] != bits[1] or int(found[3]) != 256 // bits[0]:
        fail(op, f"the graphics compiler has no {builtin.name}: of {bits[0]} bits it multiplies k{256 // bits[0]}")
    expected = Builtin(builtin.name, _parameters(kinds, builtin, compiling.lanes))
    if builtin != expected:
        fail(op, f"the graphics compiler has {expected.symbol}, not {builtin.symbol}")
    result = str(element_of(op.results[0]).name)
    total = {"i32": "s32", "i16": "bf16"}.get(result, result)
    names = [*(kind.replace("i", "s") for kind in kinds), total]
    return product_of_fragments(op, compiling, vectors, names, rule="run.undefined")


def _as_vector(kind: Attribute) -> VectorType[Attribute]:
    return kind if isa(kind, VectorType[Attribute]) else VectorType(kind, [1])


def _parameters(kinds: list[str], builtin: Builtin, lanes: int) -> tuple[str, ...]:
    """The parameters with which the builtin is declared, for the rows that its accumulator has."""
    accumulator = builtin.parameters[2]
    rows = accumulator.lstrip("abcdefghijklmnopqrstuvwxyz")
    of_a, of_b = ("u" if kind[0] == "u" else "" for kind in kinds)
    if kinds[0] == "tf32":
        half = str(int(rows or 1) // 2)
        first, second = f"float{'' if half == '1' else half}", "float8"
    else:
        first, second = f"{of_a}{'int' if lanes == 8 else 'short'}{rows}", f"{of_b}int8"
    return first, second, accumulator


def _reduction(op: Any, compiling: Compiling, builtin: Builtin, found: re.Match[str]) -> Step:
    """The values of a subgroup's lanes, combined; neighbours first (OpenCL leaves the order open)."""
    signed = "u" if builtin.parameters[0].startswith("u") else "s"
    kind = "numf" if element_of(op.results[0]).is_float else f"{signed}i"
    return reduced_by_lanes(op, compiling, found[1] if found[1] == "add" else found[1] + kind)


_NAMED: dict[str, Callable[[Array], Array]] = {"recip": lambda x: 1.0 / x, "fabs": np.abs, "rint": np.rint}


def _function(op: Any, compiling: Compiling, builtin: Builtin, found: re.Match[str]) -> Step:
    """A function of one float, computed in f64 and rounded once."""
    name, kind = found[1], element_of(op.results[0])
    own = _NAMED.get(name)
    if own is None:
        return pointwise(lambda value: elementary.unary(name, value, kind))

    def compute(value: Array) -> Array:
        with np.errstate(all="ignore"):
            return floats.round_to(np.asarray(own(value.astype(np.float64))), kind)

    return pointwise(compute)


def _extreme(op: Any, compiling: Compiling, builtin: Builtin, found: re.Match[str]) -> Step:
    """`fmax` and `fmin`: of a number and NaN the number."""
    name = found[1] + "num"
    return pointwise(lambda left, right: floats.extreme(name, left, right))


def _fused(op: Any, compiling: Compiling, builtin: Builtin, found: re.Match[str]) -> Step:
    """`fma`; `mad` may round the product too, and does not here."""
    kind = element_of(op.results[0])
    return pointwise(lambda a, b, c: floats.fused(a, b, c, kind))


def _block(op: Any, compiling: Compiling, builtin: Builtin, found: re.Match[str]) -> Step:
    """`intel_sub_group_block_read8` and its kin: lane i has the elements i, i + lanes, i + 2 * lanes ... from an address on."""
    bits = {"uc": 8, "us": 16, "ul": 64}.get(found[2], 32)
    writes = found[1] == "write"
    return _block_message(op, compiling, builtin.name, writes, int(found[3] or 1), bits, 16 if writes else 4)


def _local_block(op: Any, compiling: Compiling, symbol: str, found: re.Match[str]) -> Step:
    """The same in shared local memory, by the graphics compiler's own names, at multiples of 16 bytes.

    (cl_intel_subgroup_local_block_io says the alignment; the names are libigc's.)
    """
    writes = found[1] == "write"
    if len(op.operands) != 1 + writes or len(op.results) != 1 - writes or str(op.operands[0].type) != "!llvm.ptr<3>":
        given = ", ".join([str(operand.type) for operand in op.operands])
        fail(op, f"@{symbol} takes a pointer !llvm.ptr<3>{' and a value' * writes}, and is given ({given})")
    bits = {"b": 8, "h": 16, "l": 64}.get(found[3], 32)
    return _block_message(op, compiling, symbol, writes, int(found[2]), bits, 16)


def _block_message(op: Any, compiling: Compiling, name: str, writes: bool, count: int, bits: int, least: int) -> Step:
    """A block message of so many elements of `bits` for each lane, at an address that is a multiple of `least` bytes."""
    if compiling.level != "lane":
        fail(op, f"this kernel is at {compiling.level} level, where a value is not spread over lanes")
    kind: Attribute = op.operands[1].type if writes else op.results[0].type
    dtype, shape = dtype_of(kind), value_shape(kind)
    if dtype.itemsize * 8 != bits or shape not in ((count,), () if count == 1 else (count,)):
        fail(op, f"{name} moves {count} x {bits} bits for each lane, not {kind}")
    lanes = compiling.lanes
    steps = (np.arange(count)[None] * lanes + np.arange(lanes)[:, None]) * dtype.itemsize

    def addresses(run: Run, base: Array) -> Array:
        first = uniform_in_subgroup(op, base, "the address")
        if (first % least).any():
            fail(op, f"the address {int(first.reshape(-1)[0]):#x} is not a multiple of {least} bytes", "run.misaligned")
        return np.asarray(first[..., None] + steps)

    def read(run: Run, values: list[Any]) -> tuple[Array]:
        at = addresses(run, values[0])
        if run.counter is not None:
            run.counter.elements(op, run.active, "load", at, None, dtype.itemsize)
        found = run.memory.read(run, op, at, None, dtype, together=True)
        return (found.reshape(*found.shape[:3], *shape),)

    def write(run: Run, values: list[Any]) -> tuple[()]:
        everyone = (*run.machine.items, count)
        at, value = addresses(run, values[0]), values[1]
        if run.counter is not None:
            run.counter.elements(op, run.active, "store", at, None, dtype.itemsize)
        stored = np.broadcast_to(value.reshape(*value.shape[:3], -1), everyone)
        run.memory.write(run, op, np.broadcast_to(at, everyone), None, stored.astype(dtype, copy=False), together=True)
        return ()

    return write if writes else read


def _barrier(op: Any, compiling: Compiling, builtin: Builtin, found: re.Match[str]) -> Step:
    """`__spirv_ControlBarrier` of a subgroup or a workgroup that orders shared memory: all wait for one another."""
    constants = [getattr(getattr(operand.owner, "value", None), "value", None) for operand in op.operands]
    scopes, orders = [getattr(constant, "data", None) for constant in constants[:2]], constants[2:]
    if scopes not in ([_SUBGROUP] * 2, [_WORKGROUP] * 2):
        fail(op, f"{builtin.name} is simulated for scope {_SUBGROUP}, the subgroup, and {_WORKGROUP}, the workgroup")
    order = [getattr(constant, "data", None) for constant in orders]
    if not all(isinstance(one, int) and one & _ORDERING and one & _WORKGROUP_MEMORY for one in order):
        fail(
            op,
            f"{builtin.name} is simulated where it orders shared memory, such as by AcquireRelease | WorkgroupMemory, "
            f"{0x108:#x}",
        )

    def step(run: Run, values: list[Any]) -> tuple[()]:
        if scopes[0] == _SUBGROUP:
            run.memory.meet_in_subgroups(run, op)
        else:
            run.memory.barrier(run, op)
        return ()

    return step


_Compiler = Callable[[Any, Compiling, Builtin, re.Match[str]], Step]
_FUNCTIONS = "exp2|exp|log2|log|sin|cos|tan|sqrt|rsqrt"
_BUILTINS: tuple[tuple[re.Pattern[str], _Compiler], ...] = (
    (_PRODUCT, _product),
    (_REDUCTION, _reduction),
    (re.compile(rf"(?:native_|half_)({_FUNCTIONS}|log10|recip)"), _function),
    (
        re.compile(rf"({_FUNCTIONS}|log10|log1p|expm1|tanh|erf|erfc|fabs|floor|ceil|trunc|rint|cbrt|sinh|cosh)"),
        _function,
    ),
    (re.compile("f(max|min)"), _extreme),
    (re.compile("(fma|mad)"), _fused),
    (_BLOCK, _block),
    (re.compile("__spirv_ControlBarrier"), _barrier),
)
