"""Arrays of every kind as arguments of a run: what numpy says that they hold is what the kernel reads and leaves, or they are
refused and stay as they were.

In the other byte order, in rows or columns, as every second element, backwards, read-only, masked, of another type, in memory
that is not aligned, from a file, as a field of records; and with the same memory under two names, at the same place, beside
it, or overlapping it. The kernels add two arrays, element by element or block by block; numpy is the referee.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.attack.effort import PARTS
from tests.attack.isolated import Attack, Complaint, run

SHAPE = (8, 16)
_SIZE = SHAPE[0] * SHAPE[1]
TYPES = {"f32": "f4", "f16": "f2", "f64": "f8", "i32": "i4", "i64": "i8", "i16": "i2", "i8": "i1"}
Array = Any
Maker = Callable[[Array, Path], Array]
"""An array that holds these numbers, as somebody may have it."""


def _unaligned(values: Array, _folder: Path) -> Array:
    found = np.frombuffer(bytearray(b"x" + values.tobytes()), values.dtype, offset=1)
    return found.reshape(values.shape)


def _field(values: Array, _folder: Path) -> Array:
    records = np.zeros(values.shape, [("before", "i1"), ("value", values.dtype), ("behind", "i2")])
    records["value"] = values
    return records["value"]


def _of_file(values: Array, folder: Path) -> Array:
    found = np.memmap(folder / f"{np.random.default_rng().integers(2**60)}.bin", values.dtype, "w+", shape=values.shape)
    found[...] = values
    return found


def _frozen(values: Array, _folder: Path) -> Array:
    values.setflags(write=False)
    return values


def _every_second(values: Array, _folder: Path) -> Array:
    found = np.zeros((values.shape[0], 2 * values.shape[1]), values.dtype)[:, ::2]
    found[...] = values
    return found


def _padded(values: Array, _folder: Path) -> Array:
    found = np.zeros((values.shape[0], values.shape[1] + 3), values.dtype)[:, 2:-1]
    found[...] = values
    return found


def _backwards(values: Array, _folder: Path) -> Array:
    return np.ascontiguousarray(values[::-1])[::-1]


class _Own(np.ndarray[Any, Any]):
    """A subclass, as libraries of units or of labels have."""

    def __getitem__(self, index: Any) -> Any:
        raise RuntimeError("nobody asks an array of its own for elements")


def _matrix(values: Array, _folder: Path) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.matrix(values)


MAKERS: dict[str, Maker] = {
    "plain": lambda values, _: values,
    "swapped": lambda values, _: values.astype(values.dtype.newbyteorder()),
    "swapped backwards": lambda values, folder: _backwards(values.astype(values.dtype.newbyteorder()), folder),
    "swapped second": lambda values, folder: _every_second(values.astype(values.dtype.newbyteorder()), folder),
    "swapped frozen": lambda values, folder: _frozen(values.astype(values.dtype.newbyteorder()), folder),
    "columns": lambda values, _: np.asfortranarray(values),
    "every second": _every_second,
    "padded": _padded,
    "backwards": _backwards,
    "flat": lambda values, _: values.reshape(-1),
    "of three dimensions": lambda values, _: values.reshape(2, 4, 16),
    "one more": lambda values, _: np.append(values, values[:1], axis=0),
    "one less": lambda values, _: values[:-1].copy(),
    "empty": lambda values, _: values[:0].copy(),
    "one row": lambda values, _: np.broadcast_to(values[:1], values.shape),
    "no dimensions": lambda values, _: values[0, 0].reshape(()),
    "a number": lambda values, _: values[0, 0],
    "unaligned": _unaligned,
    "a field": _field,
    "of a file": _of_file,
    "frozen": _frozen,
    "masked": lambda values, _: np.ma.masked_array(values, values == values[0, 0]),
    "masked nowhere": lambda values, _: np.ma.masked_array(values),
    "a matrix": _matrix,
    "swapped own": lambda values, _: values.astype(values.dtype.newbyteorder()).view(_Own),
    "own": lambda values, _: values.view(_Own),
    "records": lambda values, _: values.view(np.recarray),
    "twice as wide": lambda values, _: values.astype("f8" if values.dtype.kind == "f" else "i8"),
    "unsigned": lambda values, _: values.astype(values.dtype.str.replace("i", "u")),
    "the other kind": lambda values, _: values.astype("i4" if values.dtype.kind == "f" else "f4"),
    "complex": lambda values, _: values.astype(complex),
    "truths": lambda values, _: values.astype(bool),
    "objects": lambda values, _: values.astype(object),
    "texts": lambda values, _: values.astype(str),
    "times": lambda values, _: values.astype("i8").astype("M8[s]"),
    "a list": lambda values, _: values.tolist(),
    "bytes": lambda values, _: values.tobytes(),
    "a bytearray": lambda values, _: bytearray(values.tobytes()),
    "a memoryview": lambda values, _: memoryview(values),
    "none": lambda values, _: None,
    "a text": lambda values, _: "A.npy",
}
TAKEN = ("plain", "swapped")
"""What every kernel must take."""
NEVER_WRITTEN = ("frozen", "swapped frozen", "one row", "a number")
_HEAD = "kernel attributes {intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: %, 1, 1>}"


def _kernel(arguments: str, items: int, body: str) -> str:
    head = _HEAD.replace("%", str(items))
    return f"gpu.module @m {{ gpu.func @k({arguments}) {head} {{\n%t = gpu.thread_id x\n{body}\ngpu.return }} }}"


def by_elements(kind: str) -> str:
    """Each work-item adds one element."""
    of = f"memref<8x16x{kind}>"
    add = "arith.addf" if kind.startswith("f") else "arith.addi"
    return _kernel(
        f"%a: {of}, %b: {of}, %c: {of}",
        _SIZE,
        "%n = arith.constant 16 : index\n%i = arith.divui %t, %n : index\n%j = arith.remui %t, %n : index\n"
        f"%x = memref.load %a[%i, %j] : {of}\n%y = memref.load %b[%i, %j] : {of}\n"
        f"%z = {add} %x, %y : {kind}\nmemref.store %z, %c[%i, %j] : {of}",
    )


def by_blocks(kind: str, pointers: bool) -> str:
    """A subgroup adds the whole block."""
    of = "i64" if pointers else f"memref<8x16x{kind}>"
    said = ", shape : [8, 16], strides : [16, 1] : i64" if pointers else f" : {of}"
    tile, vector = f"!xegpu.tensor_desc<8x16x{kind}>", f"vector<8x16x{kind}>"
    add = "arith.addf" if kind.startswith("f") else "arith.addi"
    return _kernel(
        f"%a: {of}, %b: {of}, %c: {of}",
        16,
        "\n".join(f"%d{one} = xegpu.create_nd_tdesc %{one}{said} -> {tile}" for one in "abc")
        + "".join(f"\n%{v} = xegpu.load_nd %d{one}[0, 0] : {tile} -> {vector}" for v, one in ("xa", "yb"))
        + f"\n%z = {add} %x, %y : {vector}\nxegpu.store_nd %z, %dc[0, 0] : {vector}, {tile}",
    )


class Case(NamedTuple):
    kernel: str
    kind: str
    makers: tuple[str, str, str]
    alias: str
    shift: int
    seed: int


ALIASES = ("c is a frozen", "a is b", "all one", "c is a", "c overlaps a", "c beside a", "c inside a's row")


class Arrays(Attack):
    seconds = 2.0
    lasting = ("refused", "compared", "raced", "wrote an input", *ALIASES, *(f"{name} taken" for name in TAKEN))

    def prepare(self, seed: int, first: int, count: int) -> None:
        import layoutalg as la

        self.la, self.folder = la, Path()
        for kernel in ("elements", "blocks", "pointers"):
            self.attempt(Case(kernel, "f32", ("plain", "plain", "plain"), "", 0, 0))

    def case(self, rng: random.Random) -> Case:
        names = list(MAKERS)
        usual = rng.random() < 0.4
        makers = tuple(rng.choice(names if not usual or rng.random() < 0.3 else TAKEN) for _ in range(3))
        alias = rng.choice(ALIASES) if rng.random() < 0.4 else ""
        return Case(
            rng.choice(("elements", "blocks", "pointers")), rng.choice(list(TYPES)), makers,  # type: ignore[arg-type]
            alias, rng.randint(1, 40), rng.randrange(2**32),
        )  # fmt: skip

    def smaller(self, case: Case) -> Iterator[Case]:
        if case.alias:
            yield case._replace(alias="")
        for i in range(3):
            if case.makers[i] != "plain":
                yield case._replace(makers=(*case.makers[:i], "plain", *case.makers[i + 1 :]))  # type: ignore[arg-type]

    def _arrays(self, case: Case) -> list[Array]:
        rng = np.random.default_rng(case.seed)
        plain = [rng.permutation(np.arange(_SIZE) - 60).reshape(SHAPE).astype(TYPES[case.kind]) for _ in range(3)]
        made = [MAKERS[name](values, self.folder) for name, values in zip(case.makers, plain, strict=True)]
        if case.alias in ("c overlaps a", "c beside a"):
            apart = case.shift if case.alias == "c overlaps a" else _SIZE
            whole = np.zeros(_SIZE + apart, TYPES[case.kind])
            if case.makers[0].startswith("swapped"):
                whole = whole.astype(whole.dtype.newbyteorder())
            whole[:] = rng.permutation(_SIZE + apart) - 60
            first, second = whole[:_SIZE].reshape(SHAPE), whole[apart : apart + _SIZE].reshape(SHAPE)
            made[0], made[2] = (first, second) if case.shift % 2 else (second, first)
        elif case.alias == "c inside a's row":
            whole = np.zeros((SHAPE[0], 2 * SHAPE[1]), TYPES[case.kind])
            made[0], made[2] = whole[:, : SHAPE[1]], whole[:, SHAPE[1] :]
            made[0][...] = plain[0]
        elif case.alias == "c is a frozen":
            if isinstance(made[0], np.ndarray):
                made[2] = made[0]
                made[0] = made[0].view()
                made[0].flags.writeable = False
        elif case.alias:
            given, taken = {"c is a": (0, (2,)), "a is b": (1, (0,)), "all one": (0, (1, 2))}[case.alias]
            for one in taken:
                made[one] = made[given]
        return made

    def attempt(self, case: Case) -> Complaint | None:
        for path in self.folder.glob("*.bin"):
            path.unlink()
        arrays = self._arrays(case)
        before = [_bytes(one) for one in arrays]
        text = by_elements(case.kind) if case.kernel == "elements" else by_blocks(case.kind, case.kernel == "pointers")
        expected = self._sum(arrays, TYPES[case.kind])
        usual = not case.alias and set(case.makers) <= set(TAKEN)
        self.tally[case.alias] += 1
        try:
            outcome = self.la.read(text).run(arrays, (1, 1, 1))
        except self.la.LayoutError as error:
            self.tally["refused"] += 1
            if usual and not (case.kernel != "elements" and case.kind in ("f64", "i64")):
                return Complaint("refused", f"{case.makers} are refused: {error}")
            if [_bytes(one) for one in arrays] != before:
                return Complaint("written and refused", f"arrays changed, and are refused: {error}")
            return None if "\n" not in str(error) else Complaint("words", str(error))
        rules = {one.rule for one in outcome.findings if one.level == "error"}
        if rules:
            return self._wrong_findings(case, rules)
        if case.alias == "c overlaps a" and case.kernel == "elements":
            return Complaint("no race", "the result overlaps an operand, and nothing is found")
        if not isinstance(arrays[2], np.ndarray) or not arrays[2].flags.writeable:
            return Complaint("written", f"{case.makers[2]} was written, and is not an array that may be")
        for name in case.makers:
            self.tally[f"{name} taken"] += 1
        self.tally["compared"] += 1
        if case.kernel == "pointers" and any(self._kind(one) != TYPES[case.kind] for one in arrays):
            return None  # behind a pointer bytes are bytes
        if expected is None:
            return Complaint("taken", f"{case.makers} are taken, and numpy does not add them")
        found = _numbers(arrays[2])[:_SIZE].astype(TYPES[case.kind])
        if not np.array_equal(found, expected):
            return Complaint("a wrong sum", f"{found[:8]} where numpy says {expected[:8]}")
        return None

    def _wrong_findings(self, case: Case, rules: set[str]) -> Complaint | None:
        if "run.race" in rules and case.alias in ("c overlaps a", "all one", "c is a", "c is a frozen"):
            self.tally["raced"] += 1
            # Each element is read and written by the same work-item, or by one message: no race of one place.
            return None if case.alias == "c overlaps a" else Complaint("a race of nobody", f"{case.alias}: {rules}")
        if set(case.makers) & {*NEVER_WRITTEN, "one more", "one less", "empty", "no dimensions"}:
            self.tally["wrote an input"] += 1
            return None
        shapes = {"twice as wide", "truths", "unsigned", "the other kind", "complex"}
        if case.kernel == "pointers" and set(case.makers) & shapes:
            return None  # bytes are bytes: too few of them are an access out of bounds
        return Complaint(f"findings {sorted(rules)}", f"{sorted(rules)}")

    @staticmethod
    def _kind(one: Any) -> str:
        return one.dtype.str[1:] if isinstance(one, np.ndarray) else ""

    @staticmethod
    def _sum(arrays: list[Array], kind: str) -> Array | None:
        """What numpy says, in the type of the kernel; None where it has no sum of numbers."""
        if not all(isinstance(one, np.ndarray) and one.dtype.kind in "fiub" and one.size >= _SIZE for one in arrays):
            return None
        a, b, _ = (_numbers(one)[:_SIZE].astype(kind) for one in arrays)
        return a + b


def _numbers(array: Array) -> Array:
    """All elements in a row; a truth is the number that its byte is."""
    plain = np.asarray(array.view(np.ndarray)).reshape(-1)
    return plain.view(np.int8) if plain.dtype.kind == "b" else plain


def _bytes(value: Any) -> bytes:
    if isinstance(value, np.ma.MaskedArray):
        return value.data.tobytes() + np.asarray(value.mask).tobytes()
    return value.view(np.ndarray).tobytes() if isinstance(value, np.ndarray) else repr(value).encode()


@pytest.mark.parametrize("part", range(PARTS))
def test_20_000_runs_read_and_write_what_numpy_says(part: int, tmp_path: Path) -> None:
    run(Arrays, part, 20_000, tmp_path)
