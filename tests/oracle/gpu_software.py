"""NVIDIA's and AMD's shuffles, permutes, broadcasts, barriers and shared memory in software: executes LLVM IR of kernels.

What `mlir-translate` makes of an emitted kernel is read line by line, and every line executed for all work-items of a
workgroup at once. Nothing of layoutalg is used. What an instruction does is written from its definition:

- `shfl.sync`, `prmt`: PTX ISA, "Data Movement and Conversion Instructions".
- `ldmatrix`, `stmatrix`: PTX ISA, "Warp Level Matrix Load Instruction: ldmatrix" and "Warp Level Matrix Store Instruction".
- `mapa`, `barrier.cluster`, `%cluster_ctarank`: PTX ISA; the workgroups of a cluster are executed as one, in step.
- `ds_read_b64_tr_b16`: AMD's CDNA 4 instruction set guide, 11.4; the map as in ROCm/rocm-systems PR 10175.
- `v_permlane16_swap_b32`, `v_permlane32_swap_b32`: CDNA 4 instruction set guide.
- DPP, `ds_bpermute_b32`, `ds_swizzle_b32`, `v_perm_b32`, `v_readlane_b32`, `v_mbcnt`: AMD's CDNA 3 instruction set guide.

A value is an array `[work-item]`, a vector `[work-item, element]`, integers without a sign. Kernels have no loops: blocks are
executed in the order of the text, each for the work-items that jump to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

SOURCE, DESTINATION = 1 << 20, 1 << 40
"""The addresses of a kernel's two arrays in global memory."""

_RANK = 1 << 32
"""How far apart the memories of a cluster's workgroups are, in pointers that reach all of them (address space 7)."""
_FUNCTION = re.compile(r"^define \w+ void @(\w+)\(i64 (%\w+), i64 (%\w+)\).*?\{\n(.*?)^\}", re.M | re.S)
_SHARED = re.compile(r"^@(\w+) = .*addrspace\(3\) global \[(\d+) x i(\d+)\]", re.M)
_TYPE = re.compile(r"(?:<(\d+) x )?(i\d+|ptr)")
_CONSTANT_PLACE = re.compile(r"getelementptr (?:\w+ )*\((?:\[\d+ x )?i(\d+)\]?, ptr addrspace\(3\) @\w+, i\d+ (\d+)\)")
_ATTRIBUTES = re.compile(r"(?:noundef|signext|zeroext|range\([^)]*\)) ")


@dataclass
class Workgroup:
    """One workgroup while it runs, or `cluster` at once: number, memory, values, and which work-items execute."""

    number: int
    width: int
    memory: dict[int, Array]
    """Bytes, by the address at which they begin; shared memory lies at 0."""
    shared: Array
    active: Array
    values: dict[str, Array] = field(default_factory=dict[str, Array])
    cluster: int = 1

    @property
    def items(self) -> int:
        return len(self.active)

    @property
    def rank(self) -> Array:
        """The number of each work-item's workgroup in the cluster."""
        return np.arange(self.items) // (self.items // self.cluster)

    @property
    def own(self) -> Array:
        """Where the shared memory of each work-item's workgroup begins."""
        return self.rank * (len(self.shared) // self.cluster)

    @property
    def lane(self) -> Array:
        return np.arange(self.items) % self.width

    def of_lane(self, value: Array, lane: Array) -> Array:
        """The value of another lane of the warp or wavefront; all of them must execute it."""
        assert self.active.all(), "a shuffle that not all lanes execute"
        return value[np.arange(self.items) - self.lane + lane]

    def bytes_at(self, space: int, addresses: Array) -> tuple[Array, Array]:
        """The array in which addresses lie (of the active work-items), and where in it."""
        if space in (3, 7):
            size, at = len(self.shared) // self.cluster, addresses.astype(np.int64)
            rank, at = (self.rank[self.active][:, None], at) if space == 3 else np.divmod(at, _RANK)
            assert ((at >= 0) & (at < size)).all(), "an address outside the workgroup's shared memory"
            found, at = self.shared, rank * size + at
        else:
            start = SOURCE if int(addresses.min()) < DESTINATION else DESTINATION
            found, at = self.memory[start], addresses.astype(np.int64) - start
        assert ((at >= 0) & (at < len(found))).all(), "an address outside the array"
        return found, at


def run_kernel(
    ir: str, name: str, fragments: Array, made: tuple[int, ...], items: int, width: int, cluster: int = 1
) -> Array:
    """What a kernel makes of fragments `[workgroup, subgroup, lane, register]`: an array of the shape `made`.

    With clusters of several workgroups they are `[cluster, subgroup, lane, register]`, and items those of a cluster.
    """
    _, source, destination, body = next(one for one in _functions(ir) if one[0] == name)
    sizes = [int(count) * int(bits) // 8 for shared, count, bits in _SHARED.findall(ir) if shared == f"{name}_slm"]
    given = np.ascontiguousarray(fragments).view(np.uint8).reshape(-1)
    result = np.full(int(np.prod(made)) * fragments.itemsize, 0xA5, np.uint8)
    for number in range(made[0]):
        group = Workgroup(
            number,
            width,
            {SOURCE: given, DESTINATION: result},
            np.full(sum(sizes) * cluster, 0xA5, np.uint8),
            np.ones(items, bool),
            cluster=cluster,
        )
        for argument, address in ((source, SOURCE), (destination, DESTINATION)):
            group.values[argument] = np.full(items, address, np.uint64)
        _run(body.splitlines(), group)
    return result.view(fragments.dtype).reshape(made)


@lru_cache(maxsize=1)
def _functions(ir: str) -> list[tuple[str, str, str, str]]:
    return _FUNCTION.findall(ir)


def _run(lines: Sequence[str], group: Workgroup) -> None:
    arriving: dict[str, Array] = {}
    for line in lines:
        text = line.partition(";")[0].strip()
        if not text or text == "ret void" or text.startswith("fence"):
            continue
        if re.fullmatch(r"\d+:", text):
            group.active = arriving.pop("%" + text[:-1])
        elif text.startswith("br i1"):
            condition, yes, no = re.findall(r"%\w+", text)
            chosen = group.values[condition] != 0
            for label, there in ((yes, chosen), (no, ~chosen)):
                arriving[label] = arriving.get(label, False) | (group.active & there)
        elif text.startswith("br label"):
            label = text.rpartition(" ")[2]
            arriving[label] = arriving.get(label, False) | group.active
        else:
            to, made, rest = text.partition(" = ")
            value = _execute(rest if made else text, group)
            if made:
                assert value is not None
                group.values[to] = value


def _execute(text: str, group: Workgroup) -> Array | None:
    text = _CONSTANT_PLACE.sub(lambda found: f"@shared+{int(found[1]) // 8 * int(found[2])}", text)
    word, _, rest = text.partition(" ")
    if word == "call":
        return _call(rest, group)
    if word in _BINARY:
        kind, left, right = _parsed(rest)
        return _settled(_BINARY[word](_value(left, kind, group), _value(right, kind, group)), kind)
    if word in ("zext", "sext", "trunc", "inttoptr", "bitcast"):
        operand, _, result = rest.replace("nneg ", "").partition(" to ")
        kind, name = operand.rsplit(" ", 1)
        return _cast(word, _value(name, kind, group), kind, result)
    return _OTHERS[word](rest, group)


def _parsed(rest: str) -> tuple[str, str, str]:
    """The type and the two operands of a line like `nsw i32 %1, 5`."""
    kind, _, operands = re.sub(r"^((nuw|nsw|exact|disjoint) )*", "", rest).partition(" ")
    left, right = operands.split(", ")
    return kind, left, right


def _bits(kind: str) -> int:
    element = _TYPE.search(kind)
    assert element is not None, kind
    return 64 if element[2] == "ptr" else int(element[2][1:])


def _dtype(bits: int) -> np.dtype[Any]:
    return np.dtype(f"u{max(bits, 8) // 8}")


def _settled(value: Array, kind: str) -> Array:
    bits = _bits(kind)
    return (value & 1 if bits == 1 else value).astype(_dtype(bits))


def _value(name: str, kind: str, group: Workgroup) -> Array:
    """The value of an operand: a name, a constant, or an address of shared memory."""
    if name.startswith("%"):
        return group.values[name]
    shape = _TYPE.search(kind)
    assert shape is not None
    count = int(shape[1]) if shape[1] else 0
    if name.startswith("@"):
        number = int(name.partition("+")[2] or 0)  # shared memory begins at 0
    elif name in ("poison", "undef", "zeroinitializer"):
        number = 0
    elif name.startswith("<"):
        numbers = [int(one) for one in re.findall(r"i\d+ (-?\d+)", name)]
        return np.broadcast_to(np.array(numbers).astype(_dtype(_bits(kind))), (group.items, len(numbers)))
    else:
        found = re.fullmatch(r"(?:splat \(i\d+ )?(-?\d+|true|false)\)?", name)
        assert found is not None, name
        number = int(found[1] == "true") if found[1].isalpha() else int(found[1])
    element = np.int64(number).astype(_dtype(_bits(kind)))
    return np.full((group.items, count) if count else group.items, element)


def _cast(word: str, value: Array, kind: str, result: str) -> Array:
    if word == "bitcast":
        vector = _TYPE.search(result)
        assert vector is not None
        bytes_of = np.ascontiguousarray(value).reshape(len(value), -1).view(np.uint8)
        made = bytes_of.view(_dtype(_bits(result)))
        return made if vector[1] else made[:, 0]
    if word == "sext":
        bits = _bits(kind)
        return (-value.astype(np.int64) if bits == 1 else value.view(f"i{bits // 8}").astype(np.int64)).astype(
            _dtype(_bits(result))
        )
    return _settled(value, result)


_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shl": np.left_shift,
    "lshr": np.right_shift,
    "udiv": np.floor_divide,
    "urem": np.remainder,
}


def _icmp(rest: str, group: Workgroup) -> Array:
    predicate, _, operands = rest.partition(" ")
    kind, left, right = _parsed(operands)
    a, b = _value(left, kind, group), _value(right, kind, group)
    if predicate[0] == "s":
        a, b = (one.view(f"i{_bits(kind) // 8}") for one in (a, b))
    compare = {
        "eq": np.equal,
        "ne": np.not_equal,
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
    }
    return compare[predicate[-2:]](a, b).astype(np.uint8)


def _select(rest: str, group: Workgroup) -> Array:
    condition, on, off = re.split(r", (?=i|<|ptr)", rest)
    chosen = _value(condition.split(" ")[1], "i1", group) != 0
    values = [_value(name, kind, group) for kind, _, name in (one.rpartition(" ") for one in (on, off))]
    return np.where(chosen, *values)


def _getelementptr(rest: str, group: Workgroup) -> Array:
    element, pointer, index = re.sub(r"^((inbounds|nuw|nusw) )*", "", rest).split(", ")
    kind, name = index.split(" ")
    vector = _TYPE.search(element)
    assert vector is not None
    assert not element.startswith("[")
    size = _bits(element) // 8 * int(vector[1] or 1)
    number = _value(name, kind, group)
    distance = number.view(f"i{_bits(kind) // 8}").astype(np.int64) * size
    return (_value(pointer.rpartition(" ")[2], "ptr", group).astype(np.int64) + distance).astype(np.uint64)


def _places(kind: str, pointer: str, group: Workgroup) -> tuple[Array, Array, int]:
    """The bytes that each work-item accesses: the array, where in it, and how many."""
    space = re.search(r"addrspace\((\d)\)", pointer)
    vector = _TYPE.search(kind)
    assert space is not None
    assert vector is not None
    size = _bits(kind) // 8 * int(vector[1] or 1)
    address = _value(pointer.rpartition(" ")[2], "ptr", group)[group.active]
    steps = address.astype(np.uint64)[:, None] + np.arange(size, dtype=np.uint64)
    return *group.bytes_at(int(space[1]), steps), size


def _load(rest: str, group: Workgroup) -> Array:
    kind, pointer = rest.split(", ")[:2]
    memory, at, size = _places(kind, pointer, group)
    found = np.zeros((group.items, size), np.uint8)
    found[group.active] = memory[at]
    made = found.view(_dtype(_bits(kind)))
    return made if kind.startswith("<") else made[:, 0]


def _store(rest: str, group: Workgroup) -> None:
    operand, pointer = rest.split(", ptr")[:2]
    kind, name = operand.rsplit(" ", 1)
    memory, at, size = _places(kind, "ptr" + pointer.split(", align")[0], group)
    value = np.ascontiguousarray(_value(name, kind, group))
    memory[at] = value.reshape(group.items, -1).view(np.uint8).reshape(group.items, size)[group.active]


def _extract(rest: str, group: Workgroup) -> Array:
    vector, index = rest.rsplit(", ", 1)
    kind, name = vector.rsplit(" ", 1)
    return _value(name, kind, group)[:, int(index.split(" ")[1])]


def _extract_value(rest: str, group: Workgroup) -> Array:
    struct, index = rest.rsplit(", ", 1)
    return _value(struct.rpartition(" ")[2], "i32", group)[:, int(index)]


def _insert(rest: str, group: Workgroup) -> Array:
    vector, element, index = re.split(r", (?=i\d+ )", rest)
    kind, name = re.split(r" (?=%|poison|undef|zeroinitializer|<i|splat)", vector, maxsplit=1)
    made = np.array(_value(name, kind, group))
    scalar, _, one = element.rpartition(" ")
    made[:, int(index.split(" ")[1])] = _value(one, scalar, group)
    return made


_OTHERS: dict[str, Callable[[str, Workgroup], Array | None]] = {
    "icmp": _icmp,
    "select": _select,
    "getelementptr": _getelementptr,
    "load": _load,
    "store": _store,
    "extractelement": _extract,
    "extractvalue": _extract_value,
    "insertelement": _insert,
}


def _call(rest: str, group: Workgroup) -> Array | None:
    found = re.search(r"@(llvm\.[\w.]+)\((.*)\)", rest)
    assert found is not None, rest
    if (
        matrix := re.fullmatch(r"llvm\.nvvm\.(ld|st)matrix\.sync\.aligned\.m8n8\.x(\d)(\.trans)?\.b16.*", found[1])
    ) is not None:
        return _matrices(matrix[1] == "ld", int(matrix[2]), matrix[3] is not None, found[2], group)
    if found[1].startswith("llvm.amdgcn.ds.read.tr16.b64"):
        return _transposed_among_16(found[2], group)
    if (rows := re.fullmatch(r"llvm\.amdgcn\.permlane(16|32)\.swap", found[1])) is not None:
        return _swapped_rows(int(rows[1]), found[2], group)
    if found[1] == "llvm.nvvm.mapa.shared.cluster":
        pointer, _, rank = found[2].partition(", ")
        ranks = _value(rank.rpartition(" ")[2], "i32", group).astype(np.int64)
        assert (ranks < group.cluster).all(), "a workgroup that the cluster does not have"
        own = _value(_ATTRIBUTES.sub("", pointer).rpartition(" ")[2], "ptr", group)
        return own + ranks.astype(np.uint64) * np.uint64(_RANK)
    name, listed = found[1], _ATTRIBUTES.sub("", found[2])
    operands = [_value(one.split(" ")[1], one.split(" ")[0], group) for one in listed.split(", ")] if listed else []
    if "barrier" in name or name == "llvm.nvvm.bar.warp.sync":
        assert group.active.all(), "a barrier that not all work-items reach"
        return None
    return _settled(_INTRINSICS[name.removeprefix("llvm.")](group, *operands), "i32")


def _pointed(text: str, group: Workgroup) -> Array:
    """The bytes of shared memory that an operand points to, in the own workgroup."""
    return group.own + _value(_ATTRIBUTES.sub("", text).rpartition(" ")[2], "ptr", group).astype(np.int64)


def _matrices(load: bool, count: int, transposed: bool, listed: str, group: Workgroup) -> Array | None:
    """`ldmatrix` and `stmatrix`: thread 8i + r of a warp points to row r of matrix i, 8 halves.

    Thread t has in word i the halves 2 (t % 4) and 2 (t % 4) + 1 of row t / 4; transposed, of column t / 4.
    """
    assert group.active.all(), "a matrix that not all lanes move"
    pointer, *rest = listed.split(", ")
    starts = _pointed(pointer, group)
    words = None if load else np.stack([_value(one.split(" ")[1], "i32", group) for one in rest], -1)
    halves = np.zeros((group.items, count, 2), np.uint16) if words is None else words.astype("<u4").view("<u2")
    halves = halves.reshape(group.items, count, 2)
    for item in range(group.items):
        warp, thread = item - item % 32, item % 32
        for i in range(count):
            for half in range(2):
                row, column = thread // 4, 2 * (thread % 4) + half
                if transposed:
                    row, column = column, row
                start = int(starts[warp + 8 * i + row])
                assert start % 16 == 0, "a row that is not aligned"
                at = start + 2 * column
                if words is None:
                    halves[item, i, half] = group.shared[at : at + 2].view("<u2")[0]
                else:
                    group.shared[at : at + 2] = halves[item, i, half : half + 1].view(np.uint8)
    if words is not None:
        return None
    made = halves.view("<u4")[..., 0]
    return made[:, 0] if count == 1 else made


def _transposed_among_16(listed: str, group: Workgroup) -> Array:
    """`ds_read_b64_tr_b16`: half n of lane l is half l & 3 of the 8 bytes of lane (l & ~15 | l >> 2 & 3) + 4n."""
    assert group.active.all(), "a transposed load that not all lanes execute"
    starts = _pointed(listed, group)
    assert (starts % 8 == 0).all(), "8 bytes that are not aligned"
    made = np.zeros((group.items, 4), np.uint16)
    for item in range(group.items):
        for n in range(4):
            at = int(starts[(item & ~15 | item >> 2 & 3) + 4 * n]) + 2 * (item & 3)
            made[item, n] = group.shared[at : at + 2].view("<u2")[0]
    return made


def _swapped_rows(size: int, listed: str, group: Workgroup) -> Array:
    """`v_permlane16_swap_b32` and `v_permlane32_swap_b32`: row by row, odd ones of the first for even ones of the second."""
    assert group.active.all(), "rows that not all lanes swap"
    first, second = (np.array(_value(one.split(" ")[1], "i32", group)) for one in listed.split(", ")[:2])
    for row in range(0, group.items, 2 * size):
        even, odd = slice(row, row + size), slice(row + size, row + 2 * size)
        first[odd], second[even] = second[even].copy(), first[odd].copy()
    return np.stack([first, second], -1)


def _dpp(group: Workgroup, old: Array, value: Array, control: Array, rows: Array, banks: Array, bound: Array) -> Array:
    """`v_mov_b32_dpp`: quad_perm, row_ror, row_mirror, row_half_mirror, row_newbcast."""
    assert int(rows[0]) == int(banks[0]) == 15
    number, found = int(control[0]), np.zeros(group.items, np.int64)
    for lane in range(group.width):
        if number < 256:
            source = lane - lane % 4 + (number >> lane % 4 * 2) % 4
        elif 0x120 < number < 0x130:
            source = lane - lane % 16 + (lane % 16 - (number - 0x120)) % 16
        elif number >= 0x150:
            source = lane - lane % 16 + number - 0x150
        else:
            size = {0x140: 16, 0x141: 8}[number]
            source = lane - lane % size + (size - 1 - lane % size)
        found[lane :: group.width] = source
    return group.of_lane(value, found)


def _shfl(group: Workgroup, members: Array, value: Array, b: Array, c: Array, *, butterfly: bool) -> Array:
    """`shfl.sync.bfly` and `.idx` of PTX."""
    lane = group.lane
    assert (members >> lane.astype(np.uint32) & 1).all(), "a lane that executes shfl.sync and is not in its mask"
    bval, cval, segment = b & 31, c & 31, c >> np.uint32(8) & 31
    last = (lane & segment) | (cval & ~segment & 31)
    first = lane & segment
    source = lane ^ bval if butterfly else first | (bval & ~segment & 31)
    return group.of_lane(value, np.where(source <= last, source, lane).astype(np.int64))


def _bytes_of(first: Array, second: Array) -> Array:
    """The bytes of two words, those of the first one first: `[work-item, 8]`."""
    return np.stack([first, second], -1).astype("<u4").view(np.uint8)


def _prmt(group: Workgroup, a: Array, b: Array, selector: Array) -> Array:
    found = np.zeros(group.items, np.uint32)
    for byte in range(4):
        nibble = selector >> np.uint32(4 * byte) & 15
        chosen = _bytes_of(a, b)[np.arange(group.items), (nibble & 7).astype(np.int64)].astype(np.uint32)
        chosen = np.where(nibble & 8, (chosen >> 7) * 255, chosen)
        found |= chosen.astype(np.uint32) << np.uint32(8 * byte)
    return found


def _perm(group: Workgroup, s0: Array, s1: Array, selector: Array) -> Array:
    found = np.zeros(group.items, np.uint32)
    for byte in range(4):
        which = (selector >> np.uint32(8 * byte) & 255).astype(np.int64)
        data = _bytes_of(s1, s0)
        assert (which < 8).all(), "selectors of constants and signs are not emitted"
        found |= data[np.arange(group.items), which].astype(np.uint32) << np.uint32(8 * byte)
    return found


def _swizzle(group: Workgroup, value: Array, pattern: Array) -> Array:
    offset = int(pattern[0])
    assert not offset >> 15, "the quad mode"
    within = group.lane & 31
    source = ((within & offset & 31) | (offset >> 5 & 31)) ^ (offset >> 10 & 31)
    return group.of_lane(value, group.lane - within + source)


def _mbcnt(group: Workgroup, mask: Array, base: Array, *, high: bool) -> Array:
    below = np.clip(group.lane - 32 * high, 0, 32).astype(np.uint64)
    bits = mask.astype(np.uint64) & ((np.uint64(1) << below) - np.uint64(1))
    return np.bitwise_count(bits) + base


def _readlane(group: Workgroup, value: Array, lane: Array) -> Array:
    assert (lane == lane[0]).all(), "a lane that is not the same for all"
    return group.of_lane(value, lane.astype(np.int64))


def _own(group: Workgroup, numbers: Array) -> Array:
    return np.broadcast_to(numbers, group.items)


_INTRINSICS: dict[str, Callable[..., Array]] = {
    "nvvm.read.ptx.sreg.ctaid.x": lambda group: group.number * group.cluster + group.rank,
    "nvvm.read.ptx.sreg.tid.x": lambda group: np.arange(group.items) % (group.items // group.cluster),
    "nvvm.read.ptx.sreg.cluster.ctarank": lambda group: group.rank,
    "nvvm.read.ptx.sreg.laneid": lambda group: group.lane,
    "nvvm.shfl.sync.bfly.i32": lambda *operands: _shfl(*operands, butterfly=True),
    "nvvm.shfl.sync.idx.i32": lambda *operands: _shfl(*operands, butterfly=False),
    "nvvm.prmt": _prmt,
    "amdgcn.workgroup.id.x": lambda group: _own(group, np.array(group.number)),
    "amdgcn.workitem.id.x": lambda group: np.arange(group.items),
    "amdgcn.mbcnt.lo": lambda *operands: _mbcnt(*operands, high=False),
    "amdgcn.mbcnt.hi": lambda *operands: _mbcnt(*operands, high=True),
    "amdgcn.ds.bpermute": lambda group, at, value: group.of_lane(value, (at >> np.uint32(2)).astype(np.int64) & 63),
    "amdgcn.ds.swizzle": _swizzle,
    "amdgcn.readlane": _readlane,
    "amdgcn.readlane.i32": _readlane,
    "amdgcn.perm": _perm,
    "amdgcn.update.dpp.i32": _dpp,
}
