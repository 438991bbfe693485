"""Long texts: reading takes time in proportion to their length, and a few bytes of memory per character.

Each repetition of each grammar (a list, a string, a comment, a number, a name, nesting, aliases) is written 10 kB and 100 kB
long. Ten times the length may take ten times the time, and some more for the machine's sake; a text that is refused is
refused as quickly. An error stays a line that a person can read.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.attack.effort import PARTS, SHARE
from tests.attack.isolated import Attack, Complaint, run

_SHORT, _LONG = 10_000, 100_000
_MOST_RATIO = 25.0
"""Linear is 10; caches and the collector make it 12 to 16 at times; quadratic is 100."""
_MOST_BYTES = 32
"""Peak bytes per character: a dictionary of short entries takes about 20."""
_BLOCK = "array_length = 2 : i64, boundary_check = false"


def _list(before: str, item: str, after: str, joint: str = ", ") -> Callable[[int], str]:
    return lambda size: before + joint.join([item] * (size // (len(item) + len(joint)) + 1)) + after


def _counted(before: str, item: str, after: str, joint: str = ", ") -> Callable[[int], str]:
    """Items with a number each, so that no two are alike."""
    return lambda size: (
        before + joint.join(item.replace("#", str(i)) for i in range(size // (len(item) + len(joint) + 3) + 1)) + after
    )


def _run(before: str, unit: str, after: str) -> Callable[[int], str]:
    return lambda size: before + unit * (size // len(unit)) + after


NESTED = "subgroup_tile = [1], batch_tile = [1], outer_tile = [1], thread_tile = [{}]"
ALIAS = "#a# = #xegpu.layout<lane_layout = [1, 16]>"
TILED = "#iree_gpu.data_tiled_mma_layout<intrinsic = MFMA_F32_16x16x4_F32, operands_interleaving_intrinsics_k = ["
CONFIG = "#iree_gpu.lowering_config<{"
SCHEDULE = "#iree_gpu.mma_schedule<intrinsic = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, subgroup_m_count = "
LONG: dict[str, Callable[[int], str]] = {
    "layout: factors": _list("d0 = ", "2@reg", "", " "),
    "layout: unit factors": _list("d0 = ", "1@reg", "", " "),
    "layout: factors without axis": _list("d0 = ", "2@_", "", " "),
    "layout: dimensions": _counted("", "d# = 2@reg", ""),
    "layout: the same dimension": _list("", "d0 = 2@reg", ""),
    "layout: replicas": _list("d0 = 4@reg | replicas ", "2@lane:4", "", " "),
    "layout: unit replicas": _list("d0 = 4@reg | replicas ", "1@lane", "", " "),
    "layout: axes": _counted("d0 = ", "2@a#", "", " "),
    "layout: offsets": _counted("d0 = 2@reg | offset ", "4@a#", "", " "),
    "layout: origins": _list("d0 = 2@reg | origin ", "4@d0", "", " "),
    "layout: clauses": _list("d0 = 2@reg | ", "replicas 2@lane", "", " | "),
    "layout: a sum": _list("d0 = (", "M", ")@reg", " + "),
    "layout: a sum of names": _counted("d0 = (", "M#", ")@reg", " + "),
    "layout: a product": _list("d0 = ", "M", "@reg", "*"),
    "layout: a product of names": _counted("d0 = ", "M#", "@reg", "*"),
    "layout: powers": _run("d0 = M", "**2", "@reg"),
    "layout: quotients": _run("d0 = M", "/2", "@reg"),
    "layout: symbolic factors": _counted("d0 = ", "M#@reg", "", " "),
    "layout: symbolic strides": _counted("d0 = ", "2@reg:M#", "", " "),
    "layout: sums of one symbol": _list("d0 = ", "(M + 1)@reg", "", " "),
    "layout: a long name": _run("d0 = 4@", "x", ""),
    "layout: a long dimension": _run("", "d", " = 4@reg"),
    "layout: a long symbol": _run("d0 = ", "M", "@reg"),
    "layout: a long number": _run("d0 = ", "9", "@reg"),
    "layout: zeros before a number": _run("d0 = ", "0", "4@reg"),
    "layout: parentheses": _run("d0 = ", "(", "M"),
    "layout: signs": _run("d0 = ", "-", "M@reg"),
    "xegpu: a list": _list("#xegpu.layout<lane_layout = [", "1", "]>"),
    "xegpu: an order": _counted("#xegpu.layout<lane_layout = [1], order = [", "#", "]>"),
    "xegpu: a number": _run("#xegpu.layout<lane_layout = [", "1", "]>"),
    "xegpu: zeros": _run("#xegpu.layout<lane_layout = [", "0", "1]>"),
    "xegpu: parameters": _list("#xegpu.layout<", "lane_layout = [1]", ">"),
    "xegpu: a long parameter": _run("#xegpu.layout<", "a", " = [1]>"),
    "xegpu: a long name": _run("#xegpu.", "a", "<>"),
    "xegpu: dims": _counted("#xegpu.slice<#xegpu.layout<lane_layout = [1, 16]>, dims = [", "#", "]>"),
    "xegpu: dims all 0": _list("#xegpu.slice<#xegpu.layout<lane_layout = [1, 16]>, dims = [", "0", "]>"),
    "xegpu: slices": _run("", "#xegpu.slice<", ""),
    "xegpu: a shape": _run("!xegpu.tensor_desc<", "1x", "f16>"),
    "xegpu: an element type": _run("!xegpu.tensor_desc<8x16xi", "1", ">"),
    "xegpu: block attributes": _list("!xegpu.tensor_desc<8x16xf16, ", f"#xegpu.block_tdesc_attr<{_BLOCK}>", ">"),
    "xegpu: a mem_layout": _list("!xegpu.mem_desc<8x16xf16, #xegpu.mem_layout<stride = [", "1", "]>>"),
    "xegpu: a range": _list("#xegpu.range<[", "2 : i64", "]>"),
    "nested: a list": _list("#iree_vector_ext.nested_layout<subgroup_tile = [", "1", "]>"),
    "nested: a whole layout": lambda size: f"#iree_vector_ext.nested_layout<{NESTED.format(', '.join(['1'] * (size // 3)))}>",
    "iree_gpu: a dictionary": _counted(CONFIG, "a# = 1 : i32", "}>"),
    "iree_gpu: units": _counted(CONFIG, "a#", "}>"),
    "iree_gpu: one key": _list(CONFIG, "a = 1", "}>"),
    "iree_gpu: a list": _list(CONFIG + "workgroup = [", "1", "]}>"),
    "iree_gpu: a list of strings": _list(CONFIG + "a = [", '"x"', "]}>"),
    "iree_gpu: a string": _run(CONFIG + 'a = "', "x", '"}>'),
    "iree_gpu: escapes": _run(CONFIG + 'a = "', "\\22", '"}>'),
    "iree_gpu: a string without an end": _run(CONFIG + 'a = "', "x", ""),
    "iree_gpu: a number": _run(CONFIG + "a = ", "9", "}>"),
    "iree_gpu: a float": _run(CONFIG + "a = 1.", "9", " : f32}>"),
    "iree_gpu: nested lists": _run(CONFIG + "a = ", "[", ""),
    "iree_gpu: nested dictionaries": _run(CONFIG, "a = {", ""),
    "iree_gpu: a vector type": _run(CONFIG + "a = vector<", "4x", "f32>}>"),
    "iree_gpu: an unknown attribute": _run(CONFIG + "a = #x.y<", "z, ", ">}>"),
    "iree_gpu: an intrinsic": _run("#iree_gpu.mma_layout<", "M", ">"),
    "iree_gpu: interleaved": _counted(TILED, "#", "]>"),
    "iree_gpu: a count": _run(SCHEDULE, "1", ", subgroup_n_count = 1>"),
    "iree_gpu: flags": _list("#iree_gpu<compute_bitwidths ", "fp32", ">", "|"),
    "affine_map: dimensions": _counted("affine_map<(", "d#", ") -> (d0)>"),
    "affine_map: results": _list("affine_map<(d0) -> (", "d0", ")>"),
    "affine_map: a sum": _list("affine_map<(d0) -> (", "d0", ")>", " + "),
    "affine_map: parentheses": _run("affine_map<(d0) -> (", "(", "d0"),
    "amx: a shape": _run("!amx.tile<", "1x", "i8>"),
    "amx: a number": _run("!amx.tile<", "1", "xi8>"),
    "triton: bases": _list("#ttg.linear<{register = [", "[0, 1]", "], lane = [], warp = [], block = []}>"),
    "triton: zero bases": _list("#ttg.linear<{register = [", "[0, 0]", "], lane = [], warp = [], block = []}>"),
    "triton: a base": _list("#ttg.linear<{register = [[", "0", "]], lane = [], warp = [], block = []}>"),
    "triton: inputs": _counted("#ttg.linear<{", "in# = []", "}>"),
    "cute: modes": lambda size: f"({','.join(['2'] * (size // 4))}):({','.join(['1'] * (size // 4))})",
    "cute: unit modes": lambda size: f"({','.join(['1'] * (size // 4))}):({','.join(['0'] * (size // 4))})",
    "cute: nested": _run("", "(", "1"),
    "cute: a number": _run("(8,", "4", "):(1,8)"),
    "cute: a swizzle": _run("Sw<3,3,", "3", "> o 0 o (8,64):(64,1)"),
    "anything: a comment": _run("d0 = 4@reg //", "x", "\n"),
    "anything: comments": _run("d0 = 4@reg", " // x\n", ""),
    "anything: comments before": _run("", "//\n", "d0 = 4@reg"),
    "anything: slashes": _run("d0 = 4@reg //", "/", ""),
    "anything: blanks": _run("d0 =", " ", "4@reg"),
    "anything: new lines": _run("", "\n", "d0 = 4@reg"),
    "anything: new lines and an error": _run("", "\n", "?"),
    "anything: blanks and new lines": _run("d0 =", " \n", "4@reg"),
    "anything: NULs": _run("d0 = 4@reg", "\0", ""),
    "anything: emoji": _run("", "🎲", ""),
    "anything: a sigil and a name": _run("#", "a", ""),
    "anything: sigils": _run("", "#", ""),
    "anything: dots": _run("#xegpu", ".", ""),
    "aliases": _counted("", ALIAS, "\n#a0", "\n"),
    "aliases and an unknown one": _counted("", ALIAS, "\n#xegpu.slice<#b, dims = [0]>", "\n"),
    "aliases of each other": lambda size: "\n".join(
        ["#a0 = #xegpu.layout<lane_layout = [1, 16]>", *(f"#a{i + 1} = #a{i}" for i in range(size // 14))]
    ),
    "an alias with a long name": _run("#", "a", " = #xegpu.layout<lane_layout = [1, 16]>\n#b"),
}  # fmt: skip


def test_every_long_text_has_its_length() -> None:
    assert all(_SHORT * 0.6 < len(make(_SHORT)) < _SHORT * 1.7 for make in LONG.values())


class LongTexts(Attack):
    seconds = 5.0
    lasting = ("tried",)

    def prepare(self, seed: int, first: int, count: int) -> None:
        import layoutalg as la

        self.la = la
        for make in LONG.values():
            self._read(make(30))

    def case(self, rng: random.Random) -> str:
        raise NotImplementedError

    def _read(self, text: str) -> str:
        try:
            self.la.parse(text)
        except self.la.LayoutError as error:
            return str(error)
        return ""

    def _time(self, text: str) -> float:
        import gc
        import time

        took: list[float] = []
        gc.disable()
        try:
            for _ in range(3):
                start = time.thread_time()
                self._read(text)
                took.append(time.thread_time() - start)
                if took[-1] > 1:
                    break
        finally:
            gc.enable()
        return min(took)

    def attempt(self, case: str) -> Complaint | None:
        import tracemalloc

        self.tally["tried"] += 1
        make = LONG[case]
        long = make(_LONG)
        words = self._read(long)
        if len(words) > 1000:
            return Complaint(f"words, {case}", f"an error of {len(words)} characters: {words[:200]!r}")
        # A floor of half a millisecond: below it there is nothing to compare.
        for _ in range(3):
            short, took = max(self._time(make(_SHORT)), 0.0005), self._time(long)
            if took <= _MOST_RATIO * short:
                break
        else:
            return Complaint(f"time, {case}", f"{short * 1000:.1f} ms for 10 kB, {took * 1000:.0f} ms for 100 kB")
        if took > 1:
            return Complaint(f"slow, {case}", f"{took:.2f} s for 100 kB")
        tracemalloc.start()
        try:
            self._read(long)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        if peak > _MOST_BYTES * len(long) + 2**18:
            return Complaint(f"memory, {case}", f"{peak / len(long):.0f} bytes per character")
        return None


class EveryLongText(LongTexts):
    """Case `number` is the text of that number."""

    def prepare(self, seed: int, first: int, count: int) -> None:
        super().prepare(seed, first, count)
        names = list(LONG)
        random.Random(seed).shuffle(names)
        self.names: Iterator[str] = itertools.islice(itertools.cycle(names), first, None)

    def case(self, rng: random.Random) -> str:
        return next(self.names)


_COUNT = len(LONG) if SHARE >= 0.1 else 8


@pytest.mark.parametrize("part", range(PARTS))
def test_long_texts_take_linear_time_and_little_memory(part: int, tmp_path: Path) -> None:
    """All of them in a long run, a dozen of them in a short one."""
    run(EveryLongText, part, round(_COUNT / SHARE) + PARTS, tmp_path)
