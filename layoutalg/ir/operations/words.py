"""The words of the tables: LLVM's, for types and attributes, and what the reader makes of them.

The words of a type are those of LLVM's diagnostics; `layoutalg.ir.verify.constraints` reads them. A word in capitals stands for
words that differ between versions, or for a long list of types:

>>> said("vector of ANY values", 22), said("vector of ANY values", 24)
('vector of any type values', 'vector of any non-token type values')

The reader needs little of them. A type that the syntax leaves out has to follow from the words, as `index` does.
"""

from __future__ import annotations

import re
from functools import lru_cache

from layoutalg.ir.operations.rows import VERSIONS

__all__ = ["said"]

_INTEGERS = " or ".join(
    f"{width}-bit {sign} integer"
    for sign, widths in (
        ("signless", (1, 4, 8, 16, 32, 64)),
        ("signed", (1, 8, 16, 32, 64)),
        ("unsigned", (1, 8, 16, 32, 64)),
    )
    for width in widths
)
_SMALL_FLOATS = "f4E2M1FN type or f8E4M3FN type or f8E5M2 type or f8E8M0FNU type"
_FLOATS = "16-bit float or 32-bit float or 64-bit float or bfloat16 type or tf32 type"
_TILED = (
    "32-bit float or 16-bit float or bfloat16 type or 32-bit signless integer or 8-bit signless integer",
    "16-bit float or bfloat16 type",
)
_TINY = "f8E4M3FN type or f8E5M2 type"
_WHOLE = "8-bit signless integer or 16-bit signless integer or 32-bit signless integer or 64-bit signless integer"
_XEGPU = (f"{_INTEGERS} or {_FLOATS}", f"{_INTEGERS} or {_SMALL_FLOATS} or {_FLOATS}")

_WORDS: dict[str, str | tuple[str, ...]] = {
    "ANY": ("any type", "any non-token type"),
    "NONZERO": ("any type", "non-zero-bitwidth type"),
    "INT": ("signless-integer-like", "signless-non-zero-bitwidth-integer-like"),
    "FIXED": "signless-fixed-width-integer-like",
    "FLOAT": "floating-point-like",
    "BOOL": "bool-like",
    "INDEX_OR_INT": (
        "signless-integer-like or memref of signless-integer",
        "signless-non-zero-bitwidth-integer-like or memref of signless-integer",
    ),
    "BITS": (
        "signless-integer-or-float-like or memref of signless-integer or float",
        "non-zero-bitwidth-signless-integer-or-float-like or memref of non-zero-bitwidth signless integer or float",
    ),
    "REALS": "vector of floating-point values",
    "BOUND": "signless integer or index",
    "UNRANKED": (
        "ranked or unranked memref of any type values",
        "ranked or unranked memref of any non-token type values",
    ),
    "STRIDED": ("strided memref of any type values", "strided memref of any non-token type values"),
    "LANE": "Integer or Float or fixed-length vector of Integer or Float values of ranks 1",
    "STEPS": (
        "vector of index values of ranks 1",
        "vector of index or signless integer of at least 8 bits values of ranks 1",
    ),
    "EXPANDED_MASK": (
        *("fixed-length vector of 1-bit signless integer values",) * 2,
        "vector of 1-bit signless integer values",
    ),
    "INDEXES": ("index", "index or vector of index"),
    "RANKED": "ranked tensor of ANY values",
    "RESHAPED": ("tensor of ANY values", "ranked tensor of ANY values"),
    "TENSOR": "tensor of ANY values",
    # AMX's
    "BYTE_TILE": "tile of 8-bit signless integer values",
    "REAL_TILE": (f"tile of {_TILED[1]} values", f"tile of {_TILED[1]} or {_TINY} values"),
    "TILE": (f"tile of {_TILED[0]} values", f"tile of {_TILED[0]} or {_TINY} values"),
    # LLVM's own dialect and XeVM's
    "INTEGERS": "signless integer or LLVM dialect-compatible vector of signless integer",
    "NEIGHBOURS": f"{_WHOLE} or fixed-length vector of {_WHOLE} values of ranks 1",
    "POINTERS": "LLVM pointer type or LLVM dialect-compatible vector of LLVM pointer type",
    "REALS_OF_LLVM": "floating point LLVM type or LLVM dialect-compatible vector of floating point LLVM type",
    "ATOMIC_VALUES": "floating point LLVM type or LLVM pointer type or signless integer or LLVM dialect-compatible "
    "fixed-length vector type",
    "REGISTERS": (
        "fixed-length vector of 8-bit integer or 16-bit integer or 32-bit integer or 32-bit float or tf32 type or "
        "16-bit float or bfloat16 type values of ranks 1"
    ),
    "HALF": "16-bit float or bfloat16 type",
    "SCALE_BYTES": "fixed-length vector of 8-bit signless integer values of ranks 1 or 8-bit signless integer",
    "SMALL_INTEGERS": "8-bit signless integer or 4-bit signless integer",
    # XeGPU's
    "ADDRESS": (
        "64-bit unsigned integer or 32-bit unsigned integer or 64-bit signless integer or 32-bit signless integer"
    ),
    "BLOCK": ("fixed-length vector of SCALAR values", "vector of SCALAR values of ranks 1/2/3/4/5/6/7/8"),
    "BLOCK_SOURCE": "non-0-ranked.memref of SCALAR values or ADDRESS",
    "CONVERTED": (
        "vector of SCALAR values of ranks 1/2/3/4/5/6",
        f"vector of {_XEGPU[1]} or index values of ranks 1/2/3/4/5/6/7/8 or SCALAR",
    ),
    "FACTOR": (
        "fixed-length vector of SCALAR values of ranks 1/2/3",
        "fixed-length vector of SCALAR values of ranks 1/2/3/4",
    ),
    "LINE": "fixed-length vector of SCALAR values of ranks 1",
    "MASK": "fixed-length vector of 1-bit signless integer values",
    "MEM_DESC": "MemDesc describing the data in SLM",
    "NBARRIER": "!xegpu.nbarrier a custom XeGPU type representing a barrier.",
    "OFFSETS": "fixed-length vector of index values",
    "POINTS": ("TENSOR_DESC or 1D memref of SCALAR values or ADDRESS", "1D memref of SCALAR values or ADDRESS"),
    "PRODUCT": (
        "fixed-length vector of SCALAR values of ranks 1/2",
        "fixed-length vector of SCALAR values of ranks 1/2/3/4",
    ),
    "SCALAR": _XEGPU,
    "SCALE": "f8E8M0FNU type or vector of f8E8M0FNU type values of ranks 1/2/3/4",
    "SCALED": "fixed-length vector of SCALAR values of ranks 1/2/3/4",
    "SHARED": (
        *(
            "reside in share memory and statically 1d shaped memref of SCALAR values  or "
            "reside in share memory and statically 2d shaped memref of SCALAR values ",
        )
        * 2,
        "reside in share memory and statically shaped memref of SCALAR values ",
    ),
    "SMALL": f"fixed-length vector of {_SMALL_FLOATS} or {_FLOATS} values",
    # Triton's
    "MEMDESC": "memory descriptor type (`::mlir::triton::gpu::MemDescType`) in Triton IR type system",
    "TT_BOOL": "1-bit signless integer or ranked tensor of 1-bit signless integer values",
    "TT_DESC": "Tensor descriptor type (`::mlir::triton::TensorDescType`) in Triton IR type system",
    "TT_FLOAT": "floating-point or ranked tensor of floating-point values",
    "TT_INT": "integer or ranked tensor of integer values",
    "TT_NUMBERS": "ranked tensor of floating-point or integer values",
    "TT_POINTER": "Pointer type (`::mlir::triton::PointerType`) in Triton IR type system",
    "TT_PTR": "ptr or ranked tensor of ptr values",
    "TT_SMALL": "ranked tensor of floating-point or 8-bit signless integer values",
    "TT_TENSOR": "ranked tensor of floating-point or integer or ptr values",
    "TT_VALUE": "TT_FLOAT or TT_INT or TT_PTR",
    # IREE's, which are the same whatever the version of LLVM
    "BUFFER": "ranked tensor or memref of any type",
    "INDICES": "index or vector of index values",
    "OUTSIDE": "dispatch.tensor",
    "PRIMITIVE": "index or signless integer or floating-point or complex-type",
    "IREE_TENSOR": "ranked tensor of any non-token type values",
    "RANKED_OR_VECTOR": "ranked tensor or vector of any non-token type values",
    "SHAPED": "shaped of any non-token type values",
    "SHARED_REF": "A shaped reference to a buffer.",
    "STRIDED_BUFFER": "strided memref of any non-token type values",
    "PIECE": "ranked tensor, vector, or memref of any type",
    "TRUTHS": "vector of 1-bit signless integer values",
    "VECTOR": "vector of any non-token type values",
    "TENSOR_DESC": "TensorDesc describing regions of interested data.",
}
"""What a word in capitals stands for: always, in LLVM 22 and from LLVM 23 on, or in each version."""

_CAPITALS = re.compile(r"\b[A-Z][A-Z0-9_]{2,}\b")


@lru_cache(maxsize=4096)
def said(words: str, llvm: int) -> str:
    """The words of a type in a version of LLVM.

    >>> said("STEPS", 22)
    'vector of index values of ranks 1'
    """
    found = _CAPITALS.sub(lambda match: _meaning(match[0], llvm), words)
    return found if found == words else said(found, llvm)


def _meaning(word: str, llvm: int) -> str:
    found = _WORDS.get(word, word)
    return found if isinstance(found, str) else found[min(VERSIONS.index(llvm), len(found) - 1)]
