"""What the host does with the device's memory: allocate, copy, fill, free, wait.

    %t = gpu.memcpy async [%s] %to, %from : memref<8xf32>, memref<8xf32>

>>> from layoutalg.ir import read_module
>>> module = read_module("%m, %t = gpu.alloc async () : memref<8xf32> gpu.wait [%t]")
>>> [len(operation.operands) for operation in module.ops]
[0, 1]
"""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, UnitAttr, i32
from xdsl.dialects.gpu import AsyncTokenType
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    opt_result_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryAllocEffect, MemoryFreeEffect, MemoryReadEffect, MemoryWriteEffect

from layoutalg.ir.dialects.gpu.directives import AsyncDependencies

__all__ = [
    "AllocOp",
    "DeallocOp",
    "HostRegisterOp",
    "HostUnregisterOp",
    "MemcpyOp",
    "MemsetOp",
    "SetDefaultDeviceOp",
    "WaitOp",
]

_ASYNC = "custom<AsyncDependencies>(type($async_token), $async_dependencies)"


@irdl_op_definition
class AllocOp(IRDLOperation):
    """A new buffer of the device, or one that the host sees too."""

    name = "gpu.alloc"

    async_dependencies = var_operand_def(AsyncTokenType())
    dynamic_sizes = var_operand_def(IndexType())
    symbol_operands = var_operand_def(IndexType())
    host_shared = opt_prop_def(UnitAttr, prop_name="hostShared")
    memref = result_def()
    async_token = opt_result_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryAllocEffect())
    custom_directives = (AsyncDependencies,)

    assembly_format = (
        _ASYNC + " (`host_shared` $hostShared^)? ` ` `(` $dynamic_sizes `)` (`` `[` $symbol_operands^ `]`)? attr-dict "
        "`:` type($memref)"
    )


@irdl_op_definition
class DeallocOp(IRDLOperation):
    """The end of a buffer of the device."""

    name = "gpu.dealloc"

    async_dependencies = var_operand_def(AsyncTokenType())
    memref = operand_def()
    async_token = opt_result_def()

    traits = traits_def(MemoryFreeEffect())
    custom_directives = (AsyncDependencies,)

    assembly_format = _ASYNC + " $memref attr-dict `:` type($memref)"


@irdl_op_definition
class MemcpyOp(IRDLOperation):
    """Copy a buffer into another one."""

    name = "gpu.memcpy"

    async_dependencies = var_operand_def(AsyncTokenType())
    dst = operand_def()
    src = operand_def()
    async_token = opt_result_def()

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    custom_directives = (AsyncDependencies,)

    assembly_format = _ASYNC + " $dst `,` $src `:` type($dst) `,` type($src) attr-dict"


@irdl_op_definition
class MemsetOp(IRDLOperation):
    """Fill a buffer with a value."""

    name = "gpu.memset"

    async_dependencies = var_operand_def(AsyncTokenType())
    dst = operand_def()
    value = operand_def()
    async_token = opt_result_def()

    traits = traits_def(MemoryWriteEffect())
    custom_directives = (AsyncDependencies,)

    assembly_format = _ASYNC + " $dst `,` $value `:` type($dst) `,` type($value) attr-dict"


@irdl_op_definition
class WaitOp(IRDLOperation):
    """Wait for tokens, or make one token of several."""

    name = "gpu.wait"

    async_dependencies = var_operand_def(AsyncTokenType())
    async_token = opt_result_def()

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    custom_directives = (AsyncDependencies,)

    assembly_format = _ASYNC + " attr-dict"


@irdl_op_definition
class HostRegisterOp(IRDLOperation):
    """Let the device see a buffer of the host."""

    name = "gpu.host_register"

    value = operand_def()

    assembly_format = "$value attr-dict `:` type($value)"


@irdl_op_definition
class HostUnregisterOp(IRDLOperation):
    """Let the device see a buffer of the host no longer."""

    name = "gpu.host_unregister"

    value = operand_def()

    assembly_format = "$value attr-dict `:` type($value)"


@irdl_op_definition
class SetDefaultDeviceOp(IRDLOperation):
    """Choose the device that what follows runs on."""

    name = "gpu.set_default_device"

    dev_index = operand_def(i32)

    traits = traits_def(MemoryWriteEffect())

    assembly_format = "attr-dict $dev_index"
