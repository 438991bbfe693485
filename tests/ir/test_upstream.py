"""The dialects around those of the pages: a module for every operation, spellings, and what is read though LLVM refuses it."""

from __future__ import annotations

import re

import pytest
from xdsl.irdl import IRDLOperation
from xdsl.traits import IsTerminator, MemoryEffectKind, get_effects

from layoutalg.core.errors import LayoutError, ParseError
from layoutalg.ir import read_module, write_module
from layoutalg.ir.dialects import affine, arith, cf, func, gpu, index, llvm, math, memref, scf, tensor, vector, xevm
from tests.ir.module_files import WrittenModule, written_modules

FILES = ("arith", "control", "gpu", "llvm", "math", "memref", "tensor", "vector", "xevm")
WRITTEN = [module for module in written_modules() if module.file.removesuffix(".mlir") in FILES]
WHOLE = [
    arith.ARITH,
    cf.CF,
    func.FUNC,
    gpu.GPU,
    index.INDEX,
    math.MATH,
    memref.MEMREF,
    scf.SCF,
    vector.VECTOR,
    xevm.XEVM,
]
PARTS = [vars(module)[name].name for module in (affine, llvm, tensor) for name in module.__all__ if name.endswith("Op")]
GONE = {"vector.splat", "vector.extractelement", "vector.insertelement", "gpu.set_default_device"}
"""What LLVM 22 has no longer, and what its own test dialects alone lower."""


def values(*types: str) -> str:
    """An operation that gives %a, %b, ... of these types."""
    names = ", ".join(f"%{'abcdefgh'[n]}" for n in range(len(types)))
    return f'{names} = "test.op"() : () -> ({", ".join(types)})\n'


def test_every_operation_is_in_a_module_that_compilers_were_asked_about() -> None:
    texts = "\n".join(write_module(read_module(module.text)) for module in WRITTEN)
    written = {name.strip('"') for name in re.findall(r'"?\b[a-z_]\w*(?:\.\w+)+', texts)}
    names = {op.name for dialect in WHOLE for op in dialect.operations if issubclass(op, IRDLOperation)}
    assert (names | set(PARTS)) - written == GONE


@pytest.mark.parametrize("module", WRITTEN, ids=str)
def test_what_is_written_reads_back_as_the_same(module: WrittenModule) -> None:
    for llvm_version in (22, 23, 24):
        once = write_module(read_module(module.text), llvm=llvm_version)
        assert write_module(read_module(once), llvm=llvm_version) == once


def test_operations_that_llvm_no_longer_has_are_read() -> None:
    text = values("f32", "i32", "vector<4xf32>") + (
        "%0 = vector.splat %a : vector<4xf32>\n"
        "%1 = vector.insertelement %a, %c[%b : i32] : vector<4xf32>\n"
        "%2 = vector.extractelement %c[%b : i32] : vector<4xf32>\n"
        'gpu.printf "%f" %a : f32\n'
        "gpu.set_default_device %b\n"
    )
    kinds = [str(result.type) for operation in list(read_module(text).ops)[1:] for result in operation.results]
    assert kinds == ["vector<4xf32>", "vector<4xf32>", "f32"]


@pytest.mark.parametrize(
    "line",
    [
        "%0 = arith.addf %a, %a : i32",
        "%0 = arith.select %a, %a, %a : i32, i32",
        "%0 = vector.transpose %b, [1, 0, 2] : vector<4xf32> to vector<9xi8>",
        "%0 = vector.extract %b[7, 7] : f16 from vector<4xf32>",
        "%0 = vector.broadcast %b : vector<4xf32> to vector<3xi8>",
        "%0 = memref.load %c[%d, %d] : memref<4xf32>",
        "%0 = memref.subview %c[0] [9] [1] : memref<4xf32> to memref<2xi8>",
        "%0 = math.exp %a : i32",
        "%0, %1 = gpu.shuffle xor %d, %a, %a : index",
        "%0 = arith.truncf %a : i32 to f64",
        "scf.for %i = %d to %d step %d { }",
        "%0 = vector.shape_cast %b : vector<4xf32> to vector<5xf32>",
        "%0 = vector.extract_strided_slice %b {offsets = [9], sizes = [9], strides = [9]} : vector<4xf32> to vector<1xi8>",
    ],
)
def test_operations_that_llvm_refuses_for_their_types_are_read(line: str) -> None:
    """So that the verifier can say what is wrong in LLVM's words."""
    text = values("i32", "vector<4xf32>", "memref<4xf32>", "index") + line
    assert len(list(read_module(text).ops)) == 2


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("%0 = arith.cmpi less, %a, %a : i32", "slt"),
        ("%0 = memref.atomic_rmw addq %b, %c[%d] : (f32, memref<4xf32>) -> f32", "addf"),
        ("%0 = vector.from_elements %b : f32", "vector"),
        ("%0 = memref.load %a[%d] : i32", "expected a vector, memref or tensor type"),
        ("gpu.launch_func @k blocks in (%d, %d) threads in (%d, %d, %d)", "three sizes"),
        ("%0 = vector.transfer_read %c[%d], %b : memref<4xf32>, vector<2x2xf32>", "permutation_map"),
        ("%0 = arith.constant dense<0x1FFFFFFFF> : vector<4xf32>", "more bits"),
        ("%0 = arith.constant [1, 2]", "number"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_would_be(text: str, word: str) -> None:
    with pytest.raises((ParseError, LayoutError), match=re.escape(word)):
        read_module(values("i32", "f32", "memref<4xf32>", "index") + text)


@pytest.mark.parametrize(
    ("literal", "written"),
    [
        ("dense<0xFF800000> : vector<8xf32>", "dense<0xff800000> : vector<8xf32>"),
        ("dense<[0.0, 0x7C00]> : vector<2xf16>", "dense<[0.000000e+00, 0x7c00]> : vector<2xf16>"),
        ("dense<0x3F80> : vector<4xbf16>", "dense<1.000000e+00> : vector<4xbf16>"),
        ("dense<255> : vector<4xi8>", "dense<-1> : vector<4xi8>"),
        ("dense<0x10> : vector<4xi32>", "dense<16> : vector<4xi32>"),
    ],
)
def test_numbers_that_are_written_by_their_bits(literal: str, written: str) -> None:
    text = write_module(read_module(f"%c = arith.constant {literal}"))
    assert f"arith.constant {written}\n" in text


def test_effects_are_those_of_llvm() -> None:
    text = values("index", "memref<4xf32>", "vector<4xf32>") + (
        "%0 = vector.load %b[%a] : memref<4xf32>, vector<4xf32>\n"
        "vector.store %c, %b[%a] : memref<4xf32>, vector<4xf32>\n"
        "%1 = memref.cast %b : memref<4xf32> to memref<?xf32>\n"
        "%2 = gpu.alloc () : memref<4xf32>\n"
        "gpu.dealloc %2 : memref<4xf32>\n"
        "%3 = arith.addi %a, %a : index\n"
    )
    kinds = [{effect.kind for effect in get_effects(operation) or ()} for operation in list(read_module(text).ops)[1:]]
    read, write = MemoryEffectKind.READ, MemoryEffectKind.WRITE
    assert kinds == [{read}, {write}, set(), {MemoryEffectKind.ALLOC}, {MemoryEffectKind.FREE}, set()]


def test_terminators_end_blocks() -> None:
    ends = {op.name for dialect in WHOLE for op in dialect.operations if op.has_trait(IsTerminator)}
    assert ends == {
        "cf.br",
        "cf.cond_br",
        "cf.switch",
        "func.return",
        "gpu.return",
        "gpu.terminator",
        "gpu.yield",
        "memref.alloca_scope.return",
        "memref.atomic_yield",
        "scf.condition",
        "scf.forall.in_parallel",
        "scf.reduce",
        "scf.reduce.return",
        "scf.yield",
        "vector.yield",
    }
