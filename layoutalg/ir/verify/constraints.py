"""What a type must be, in LLVM's own words: the sentence of the diagnostic is the rule.

LLVM generates the sentence "operand #0 must be vector of 1-bit signless integer values, but got ..." from the constraint that
it checks, so one text can serve for both here. `fits` reads the sentence once and keeps what it found:

>>> from xdsl.dialects.builtin import VectorType, f32, i1
>>> fits("vector of 1-bit signless integer values of ranks 1/2", VectorType(i1, [4, 4]))
True
>>> fits("vector of 1-bit signless integer values of ranks 1/2", VectorType(f32, [4]))
False

The grammar: alternatives with `or` between them; an alternative is a scalar (`index`, `16-bit float`), a container (`vector of
SCALARS values`, with ranks or without), or one of XeGPU's types.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from re import compile as pattern
from typing import Any, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    ComplexType,
    FloatTF32Type,
    IndexType,
    IntegerType,
    MemRefType,
    UnrankedMemRefType,
    UnrankedTensorType,
)
from xdsl.ir import Attribute

from layoutalg.ir.verify.shapes import is_memref, is_tensor, is_vector, rank_of, width_of

__all__ = ["fits"]

Predicate = Callable[[Attribute], bool]

_INTEGER = pattern(r"(\d+)-bit (signless|signed|unsigned) integer$")
_ANY_SIGN = pattern(r"(\d+)-bit integer$")
_SIGNS = {"signless": "i", "signed": "si", "unsigned": "ui"}
_CONTAINERS = (
    "fixed-length vector of ",
    "vector of ",
    "non-0-ranked.memref of ",
    "1D memref of ",
    "memref of ",
    "ranked or unranked memref of ",
    "unranked.memref of ",
    "strided memref of ",
    "statically shaped memref of ",
    "Tensor or MemRef of ",
    "reside in share memory and statically 1d shaped memref of ",
    "reside in share memory and statically 2d shaped memref of ",
    "reside in share memory and statically shaped memref of ",
    "1D tensor of ",
    "statically shaped tensor of ",
    "ranked tensor of ",
    "tensor of ",
    "shaped of ",
    "tile of ",
)


@lru_cache(maxsize=65536)
def fits(words: str, kind: Attribute) -> bool:
    """Whether a type is what LLVM's sentence says.

    >>> from xdsl.dialects.builtin import i8
    >>> fits("8-bit signless integer", i8), fits("index or floating-point", i8)
    (True, False)
    """
    return any(one(kind) for one in _compiled(words))


@lru_cache(maxsize=4096)
def _compiled(words: str) -> tuple[Predicate, ...]:
    whole = _SENTENCES.get(words)
    if whole is not None:
        return whole
    if words in _NAMED:
        return (_NAMED[words],)
    alternatives, rest = _alternatives(words, "")
    if rest:
        raise ValueError(f"constraint {words!r}: {rest!r} is left over")
    return alternatives


def _alternatives(words: str, end: str) -> tuple[tuple[Predicate, ...], str]:
    """Read alternatives until `end` (or the end of the text): what they ask, and the text after them."""
    found: list[Predicate] = []
    while True:
        container = next((c for c in _CONTAINERS if words.startswith(c)), None)
        if container is not None:
            elements, words = _alternatives(words[len(container) :], " values")
            ranks: tuple[int, ...] = ()
            for keyword in (" of ranks ", " of rank "):
                if words.startswith(keyword):
                    listed, space, rest = words[len(keyword) :].partition(" ")
                    ranks, words = tuple(map(int, listed.split("/"))), space + rest
            found.append(_container(container, elements, ranks))
        else:
            stops = [at for mark in (" or ", end) if mark and (at := words.find(mark)) >= 0]
            at = min(stops, default=len(words))
            found.append(_scalar(words[:at]))
            words = words[at:]
        words = words if words.startswith(" or ") or end else words.lstrip()
        if words.lstrip().startswith("or "):
            words = words.lstrip()[3:].lstrip()
        else:
            return tuple(found), words[len(end) :] if end else words.strip()


def _container(kind: str, elements: Sequence[Predicate], ranks: Sequence[int]) -> Predicate:
    fixed, anything = kind.startswith("fixed-length"), elements == (_anything,)

    def holds(element: Attribute) -> bool:
        return any(one(element) for one in elements)

    def vector(found: Any) -> bool:
        if not is_vector(found) or not holds(found.element_type):
            return False
        rank = found.get_num_dims()
        if ranks and rank not in ranks:
            return False
        return not fixed or ((rank > 0 or anything) and not any(flag.value.data for flag in found.scalable_dims))

    def memref(found: Any) -> bool:
        if _is_unranked(found):
            return kind.startswith(("ranked or", "unranked")) and "memref" in found.name and holds(found.element_type)
        if kind.startswith("unranked") or not is_memref(found) or not holds(found.element_type):
            return False
        rank, shape = found.get_num_dims(), found.get_shape()
        if (ranks and rank not in ranks) or (kind.startswith("statically") and any(size < 0 for size in shape)):
            return False
        if kind.startswith("reside"):
            wanted = 1 if "1d" in kind else 2 if "2d" in kind else rank
            return rank == wanted and all(size >= 0 for size in shape) and in_shared_memory(found)
        return rank == 1 if kind.startswith("1D") else rank > 0 or not kind.startswith("non-0")

    def tensor(found: Any) -> bool:
        if _is_unranked(found):
            return (
                not kind.startswith(("ranked", "1D", "statically"))
                and "tensor" in found.name
                and holds(found.element_type)
            )
        if not is_tensor(found) or not holds(found.element_type):
            return False
        return (rank_of(found) == 1 or not kind.startswith("1D")) and (
            not kind.startswith("statically") or all(size >= 0 for size in found.get_shape())
        )

    def tile(found: Any) -> bool:
        return found.name.endswith("amx.tile") and rank_of(found) == 2 and holds(found.element_type)

    if kind.startswith("tile"):
        return tile

    def shaped(found: Any) -> bool:
        return (vector(found) and kind.startswith("shaped")) or memref(found) or tensor(found)

    named = {"vector": vector, "memref": memref, "tensor": tensor}
    return next((check for name, check in named.items() if name in kind), shaped)


def _is_unranked(kind: Any) -> bool:
    return isinstance(kind, UnrankedMemRefType | UnrankedTensorType)


def in_shared_memory(kind: MemRefType[Attribute]) -> bool:
    """Whether a memref says that it lies in the workgroup's shared memory.

    >>> from xdsl.dialects.builtin import IntegerAttr, i8, i64
    >>> in_shared_memory(MemRefType(i8, [64])), in_shared_memory(MemRefType(i8, [64], memory_space=IntegerAttr(3, i64)))
    (False, True)
    """
    return memory_space(kind) == 3


_SPACES = {
    "#gpu.address_space<workgroup>": 3,
    "#xegpu<memory_space slm>": 3,
    "#xegpu.memory_space<slm>": 3,
    "#xevm.addr_space<shared>": 3,
    "#gpu.address_space<global>": 1,
    "#gpu.address_space<private>": 5,
}


def memory_space(kind: MemRefType[Attribute]) -> int:
    """The number of a memref's memory space: 3 is shared memory, 0 where nothing is said.

    >>> from xdsl.dialects.builtin import i8
    >>> memory_space(MemRefType(i8, [64]))
    0
    """
    said = str(kind.memory_space)
    number = said.split(" : ")[0]
    return int(number) if number.isdigit() else _SPACES.get(said, 0)


def _scalar(words: str) -> Predicate:
    number = _INTEGER.match(words)
    if number is not None:
        name = f"{_SIGNS[number[2]]}{number[1]}"
        return lambda kind: str(kind) == name
    number = _ANY_SIGN.match(words)
    if number is not None:
        return lambda kind: _integer(kind) and width_of(kind) == int(number[1])
    found = _NAMED.get(words)
    if found is not None:
        return found
    if words.endswith(" type"):
        name = words[: -len(" type")]
        return lambda kind: str(kind) == name
    if words.endswith("-bit float"):
        name = f"f{words.split('-')[0]}"
        return lambda kind: str(kind) == name
    raise ValueError(f"constraint {words!r} is not known")


def _named(name: str) -> Predicate:
    return lambda kind: kind.name == name


def _begins(text: str) -> Predicate:
    """A type that is kept as text."""
    return lambda kind: str(kind).startswith(text)


def _anything(kind: object) -> bool:
    return True


def _integer(kind: object) -> bool:
    return isinstance(kind, IntegerType)


def _signless(kind: Attribute) -> bool:
    return _integer(kind) and str(kind).startswith("i")


def _float(kind: Attribute) -> bool:
    return isinstance(kind, AnyFloat)


def _like(one: Predicate) -> Predicate:
    """A scalar, or a vector or tensor of them (not a memref)."""

    def found(kind: Any) -> bool:
        return one(kind) or ((is_vector(kind) or is_tensor(kind)) and one(kind.element_type))

    return found


def _of_llvm(kind: Any) -> bool:
    """Whether LLVM's own dialect has values of a type."""
    if is_vector(kind):
        return kind.get_num_dims() == 1 and _of_llvm(kind.element_type)
    return _signless(kind) or _real_of_llvm(kind) or kind.name.startswith("llvm.")


def _real_of_llvm(kind: Attribute) -> bool:
    return str(kind) in ("bf16", "f16", "f32", "f64", "f80", "f128")


def _pointer(*spaces: int) -> Predicate:
    def found(kind: Any) -> bool:
        return kind.name == "llvm.ptr" and (not spaces or str(kind) in [f"!llvm.ptr<{space}>" for space in spaces])

    return found


def _vector_of_llvm(one: Predicate) -> Predicate:
    return lambda kind: is_vector(kind) and _of_llvm(kind) and one(cast(Any, kind).element_type)


def _memory_of_triton(kind: Attribute) -> bool:
    """A descriptor of memory, under its older names too."""
    return kind.name == "ttg.memdesc" or str(kind).startswith(("!tt.memdesc<", "!triton_gpu.memdesc<"))


_NAMED: dict[str, Predicate] = {
    "floating point LLVM type": _real_of_llvm,
    "LLVM dialect-compatible type": _of_llvm,
    "LLVM dialect-compatible vector type": _vector_of_llvm(_of_llvm),
    "LLVM dialect-compatible fixed-length vector type": lambda kind: (
        is_vector(kind) and _of_llvm(kind) and not any(flag.value.data for flag in cast(Any, kind).scalable_dims)
    ),
    "LLVM dialect-compatible vector of signless integer": _vector_of_llvm(_signless),
    "LLVM dialect-compatible vector of floating point LLVM type": _vector_of_llvm(_real_of_llvm),
    "LLVM dialect-compatible vector of LLVM pointer type": _vector_of_llvm(_pointer()),
    "LLVM pointer type": _pointer(),
    "LLVM pointer in address space 1": _pointer(1),
    "LLVM pointer in address space 4": _pointer(4),
    "non-0-ranked or unranked tensor": lambda kind: (
        (is_tensor(kind) and rank_of(kind) > 0) or kind.name == "unranked_tensor"
    ),
    "any type": _anything,
    "any non-token type": _anything,
    "non-zero-bitwidth type": lambda kind: True,
    "Integer": _signless,
    "async token type": _named("gpu.async.token"),
    "named barrier type": _named("gpu.named_barrier"),
    "Float": _float,
    "signless integer of at least 8 bits": lambda kind: _signless(kind) and width_of(kind) >= 8,
    "signless-integer": lambda kind: _signless(kind) or isinstance(kind, IndexType),
    "signless-integer or float": lambda kind: _signless(kind) or _float(kind),
    "signless-integer-or-float-like": _like(lambda kind: _signless(kind) or _float(kind)),
    "non-zero-bitwidth-signless-integer-or-float-like": _like(lambda kind: _signless(kind) or _float(kind)),
    "non-zero-bitwidth signless integer": lambda kind: _signless(kind) or isinstance(kind, IndexType),
    "float": _float,
    "signless-non-zero-bitwidth-integer-like": _like(lambda kind: _signless(kind) or isinstance(kind, IndexType)),
    "index": lambda kind: isinstance(kind, IndexType),
    "integer": _integer,
    "signless integer": _signless,
    "floating-point": _float,
    "bfloat16 type": lambda kind: isinstance(kind, BFloat16Type),
    "tf32 type": lambda kind: isinstance(kind, FloatTF32Type),
    "complex-type": lambda kind: isinstance(kind, ComplexType),
    "dispatch.tensor": _begins("!iree_tensor_ext.dispatch.tensor<"),
    "A shaped reference to a buffer.": _begins("!pcf.sref<"),
    "Triton async token type": _begins("!ttg.async.token"),
    "ptr": _named("tt.ptr"),
    "Pointer type (`::mlir::triton::PointerType`) in Triton IR type system": _named("tt.ptr"),
    "Tensor descriptor type (`::mlir::triton::TensorDescType`) in Triton IR type system": _named("tt.tensordesc"),
    "tensor descriptor type": _begins("!tt"),
    "memory descriptor type (`::mlir::triton::gpu::MemDescType`) in Triton IR type system": _memory_of_triton,
    "TensorOrMemDesc instance": lambda kind: is_tensor(kind) or _memory_of_triton(kind),
    "Pseudo null-pointer type. Lowers to a null pointer.": _begins("!iree_codegen.null_pointer"),
    "complex type": lambda kind: isinstance(kind, ComplexType),
    "signless-integer-like": _like(lambda kind: _signless(kind) or isinstance(kind, IndexType)),
    "signless-integer-or-index-like": _like(lambda kind: _signless(kind) or isinstance(kind, IndexType)),
    "signless-fixed-width-integer-like": _like(_signless),
    "floating-point-like": _like(_float),
    "bool-like": _like(lambda kind: str(kind) == "i1"),
    "signless integer or index": lambda kind: _signless(kind) or isinstance(kind, IndexType),
    "TensorDesc describing regions of interested data.": _named("xegpu.tensor_desc"),
    "MemDesc describing the data in SLM": _named("xegpu.mem_desc"),
    "!xegpu.nbarrier a custom XeGPU type representing a barrier.": _named("xegpu.nbarrier"),
}


def _vector_with_a_rank(kind: Any) -> bool:
    return is_vector(kind) and kind.get_num_dims() > 0


def _indices(kind: Any) -> bool:
    return (is_tensor(kind) or is_vector(kind) or is_memref(kind)) and str(kind.element_type) in ("i32", "index")


_SENTENCES: dict[str, tuple[Predicate, ...]] = {
    "ranked tensor or memref of any type": (is_tensor, is_memref),
    "ranked tensor, vector, or memref of any type": (is_tensor, is_vector, is_memref),
    "ranked tensor or vector of any non-token type values": (is_tensor, _vector_with_a_rank),
    "ranked tensor or vector or memref of 32-bit signless integer or index values": (_indices,),
}
"""IREE's sentences that are not put together as LLVM's are."""
