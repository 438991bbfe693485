"""The dialects that modules are made of, in the form xDSL's own have: one module or package per dialect.

A dialect is loaded when a text first names it. Class and field names are LLVM's: the operation `xegpu.load_nd` is `LoadNdOp`,
its operands, results and properties have the names of the dialect's page, in snake case where Python needs it.

>>> context = known_dialects()
>>> context.get_op("xegpu.load_nd").__name__
'LoadNdOp'
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from xdsl.context import Context
from xdsl.ir import Dialect

__all__ = ["DIALECTS", "known_dialects"]

DIALECTS = {
    "XeGPU": "layoutalg.ir.dialects.rfc:XEGPU_RFC",
    "XeGpu": "layoutalg.ir.dialects.rfc:XEGPU_RFC_TOO",
    "affine": "layoutalg.ir.dialects.affine:AFFINE",
    "amdg": "layoutalg.ir.dialects.triton:AMDG",
    "amx": "layoutalg.ir.dialects.amx:AMX",
    "arith": "layoutalg.ir.dialects.arith:ARITH",
    "bufferization": "xdsl.dialects.bufferization:Bufferization",
    "builtin": "xdsl.dialects.builtin:Builtin",
    "cf": "layoutalg.ir.dialects.cf:CF",
    "func": "layoutalg.ir.dialects.func:FUNC",
    "gluon": "layoutalg.ir.dialects.triton:GLUON",
    "gpu": "layoutalg.ir.dialects.gpu:GPU",
    "hal": "layoutalg.ir.dialects.hal:HAL",
    "index": "layoutalg.ir.dialects.index:INDEX",
    "iree_codegen": "layoutalg.ir.dialects.iree_codegen:IREE_CODEGEN",
    "iree_encoding": "layoutalg.ir.dialects.iree_encoding:IREE_ENCODING",
    "iree_gpu": "layoutalg.ir.dialects.iree_gpu:IREE_GPU",
    "iree_linalg_ext": "layoutalg.ir.dialects.iree_linalg_ext:IREE_LINALG_EXT",
    "iree_tensor_ext": "layoutalg.ir.dialects.iree_tensor_ext:IREE_TENSOR_EXT",
    "iree_vector_ext": "layoutalg.ir.dialects.iree_vector_ext:IREE_VECTOR_EXT",
    "layoutalg": "layoutalg.ir.dialects.unread:LAYOUTALG",
    "linalg": "layoutalg.ir.dialects.linalg:LINALG",
    "llvm": "layoutalg.ir.dialects.llvm:LLVM",
    "math": "layoutalg.ir.dialects.math:MATH",
    "memref": "layoutalg.ir.dialects.memref:MEMREF",
    "nvws": "layoutalg.ir.dialects.triton:NVWS",
    "pcf": "layoutalg.ir.dialects.pcf:PCF",
    "proton": "layoutalg.ir.dialects.triton:PROTON",
    "proton_gpu": "layoutalg.ir.dialects.triton:PROTON_GPU",
    "rocdl": "layoutalg.ir.dialects.triton:ROCDL",
    "scf": "layoutalg.ir.dialects.scf:SCF",
    "tensor": "layoutalg.ir.dialects.tensor:TENSOR",
    "triton_gen": "layoutalg.ir.dialects.triton:TRITON_GEN",
    "tt": "layoutalg.ir.dialects.triton:TT",
    "ttg": "layoutalg.ir.dialects.triton:TTG",
    "tti": "layoutalg.ir.dialects.triton:TTI",
    "ttig": "layoutalg.ir.dialects.triton:TTIG",
    "ttng": "layoutalg.ir.dialects.triton:TTNG",
    "ub": "xdsl.dialects.ub:UB",
    "util": "layoutalg.ir.dialects.util:UTIL",
    "vector": "layoutalg.ir.dialects.vector:VECTOR",
    "x86": "layoutalg.ir.dialects.amx:X86",
    "xegpu": "layoutalg.ir.dialects.xegpu:XEGPU",
    "xevm": "layoutalg.ir.dialects.xevm:XEVM",
}
"""Where each dialect is declared: module and name."""


def known_dialects() -> Context:
    """A new context in which every dialect above is known, and unknown operations are read in generic form.

    >>> known_dialects().get_optional_op("nosuch.op").name
    'builtin.unregistered'
    """
    context = Context(allow_unregistered=True)
    for name, home in DIALECTS.items():
        context.register_dialect(name, _loader(home))
    context.load_registered_dialect("builtin")
    return context


def _loader(home: str) -> Callable[[], Dialect]:
    module, name = home.split(":")

    def load() -> Dialect:
        dialect: Dialect = getattr(import_module(module), name)
        return dialect

    return load
