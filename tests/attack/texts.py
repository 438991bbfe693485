"""Texts of all notations from grammars, the texts of the oracle tables, and what happens to them on the way here.

`text(rng)` is a text as somebody might paste it: half of the time well formed, else cut, spliced, with swapped words, enlarged
numbers, foreign characters, comments, aliases and nesting.
"""

from __future__ import annotations

import functools
import gzip
import random
import re
import string
from collections.abc import Callable, Iterator

from tests.oracle.tables import DATA

SIZES = (1, 1, 2, 2, 3, 4, 8, 8, 16, 16, 32, 64, 5, 7, 48)
ODD = (0, -1, 2**31 - 1, 2**31, 2**31 + 1, 2**32, 2**63 - 1, 2**63, 10**30, 10**300, 10**5000)
AXES = ("sg", "lane", "reg", "addr", "row", "col", "_", "reg", "lane")
KINDS = (
    "MFMA_F32_16x16x16_F16", "MFMA_F32_32x32x8_F16", "MFMA_I32_16x16x32_I8", "WMMAR3_F32_16x16x16_F16", "MFMA_F64_16x16x4_F64",
    "MFMA_F32_16x16x4_F32", "WMMAR4_F32_16x16x16_F16", "MFMA_F32_16x16x128_F8E4M3FN", "NV_WMMA_F32_16x16x16_F16",
)  # fmt: skip
ELEMENTS = ("f16", "bf16", "f32", "i8", "ui8", "tf32", "f8E4M3FN", "i4", "f64", "index", "i1", "i1024")
FOREIGN = (
    "é",
    "𝕏",
    "🎲",
    "\ud800",
    "\udcff",
    "\0",
    "\x1b",
    "\u2028",
    "\u200b",
    "٣",
    "²",
    "Ⅷ",
    "\ufeff",
    "ſ",
    "\r",
    "\x85",
)
WORDS = (
    *(
        "#xegpu.",
        "!xegpu.",
        "#iree_gpu.",
        "#iree_vector_ext.",
        "!amx.tile",
        "!x86.amx.tile",
        "#ttg.linear",
        "affine_map<",
        "Sw<",
    ),
    *(
        "{",
        "}",
        '"',
        "\\",
        "->",
        "(",
        ")",
        "[",
        "]",
        "<",
        ">",
        ",",
        "=",
        "@",
        "|",
        ":",
        "x",
        "-",
        "*",
        "**",
        "/",
        "+",
        "_",
        " o ",
    ),
    *(
        "layout",
        "slice",
        "lane_layout = [1, 16]",
        "dims = [0]",
        "order = [1, 0]",
        "replicas",
        "offset",
        "origin",
        "d0",
        "M",
        "K/16",
    ),
    *(
        "0",
        "1",
        "-1",
        "0x",
        "0x7fffffff",
        "1e9",
        "01",
        "// note\n",
        "//",
        "/*",
        "\n",
        "\t",
        ": i64",
        "dense<1>",
        "true",
        "unit",
        "#l",
    ),
    *("__import__('os')", "10**9**9", "%s%n", "${x}", "&lt;", "</svg>", "nan", "inf", "None", "self.__class__"),
)
_TOKEN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|\s+|.", re.DOTALL)
_NUMBER = re.compile(r"[0-9]+")


def tokens(text: str) -> list[str]:
    """The words, numbers, blanks and signs of a text."""
    return _TOKEN.findall(text)


def _sizes(rng: random.Random, rank: int) -> str:
    return "[" + ", ".join(str(rng.choice(SIZES)) for _ in range(rank)) + "]"


def _extent(rng: random.Random) -> str:
    if rng.random() < 0.8:
        return str(rng.choice(SIZES))
    return rng.choice(
        ("M", "K/16", "(M + 1)", "2*N", "(K - M)*2", "M**2", "(M + 1)**2*K/(K + 3)", "(M + N)/2", "2147483648")
    )


def _factor(rng: random.Random, axes: tuple[str, ...] = AXES) -> str:
    stride = rng.choice(("", "", f":{rng.choice((0, 1, 2, 4, 8, 16, 24, 64, 1024))}", ":K", ":2147483648*4"))
    axis = rng.choice(axes)
    return f"{_extent(rng)}@{axis}" + ("" if axis == "_" else stride)


def layout(rng: random.Random) -> str:
    dims = [f"d{d} = " + " ".join(_factor(rng) for _ in range(rng.randint(1, 4))) for d in range(rng.randint(1, 3))]
    text = ", ".join(dims)
    if rng.random() < 0.4:
        text += " | replicas " + " ".join(_factor(rng, ("sg", "lane", "reg")) for _ in range(rng.randint(1, 3)))
    if rng.random() < 0.2:
        text += f" | offset {rng.choice((1, 64, -3))}@{rng.choice(('addr', 'lane', 'reg'))}"
    if rng.random() < 0.1:
        text += f" | origin {rng.choice((1, 8, -3))}@d0"
    return text


def xegpu_layout(rng: random.Random) -> str:
    rank = rng.randint(1, 3)
    fields = ("sg_layout", "sg_data", "inst_data", "lane_layout", "lane_data")
    parts = [f"{name} = {_sizes(rng, rank)}" for name in fields if rng.random() < 0.6] or ["lane_layout = [1, 16]"]
    if rng.random() < 0.3:
        parts.append(f"order = [{', '.join(map(str, rng.sample(range(rank), rank)))}]")
    return f"#xegpu.layout<{', '.join(parts)}>"


def xegpu_slice(rng: random.Random) -> str:
    inner = xegpu_layout(rng) if rng.random() < 0.7 else xegpu_slice(rng)
    return f"#xegpu.slice<{inner}, dims = {rng.choice(('[0]', '[1]', '[0, 1]', '[]', '[2]'))}>"


def xegpu_type(rng: random.Random) -> str:
    shape = "x".join(str(rng.choice(SIZES)) for _ in range(rng.randint(1, 3)))
    extra = rng.choice(
        (
            "",
            f", {xegpu_layout(rng)}",
            ", #xegpu.block_tdesc_attr<array_length = 2 : i64>",
            ", #xegpu.scatter_tdesc_attr<chunk_size = 8>",
        )
    )
    if rng.random() < 0.3:
        return f"!xegpu.mem_desc<{shape}x{rng.choice(ELEMENTS)}, #xegpu.mem_layout<stride = [1, 128], block = [8, 8]>>"
    return f"!xegpu.tensor_desc<{shape}x{rng.choice(ELEMENTS)}{extra}>"


def nested(rng: random.Random) -> str:
    rank = rng.randint(1, 3)
    names = (
        "subgroup_tile",
        "batch_tile",
        "outer_tile",
        "thread_tile",
        "element_tile",
        "subgroup_strides",
        "thread_strides",
    )
    parts = [f"{name} = {_sizes(rng, rank)}" for name in names]
    return f"#iree_vector_ext.nested_layout<{', '.join(parts)}>"


def iree_gpu(rng: random.Random) -> str:
    kind = rng.choice(KINDS)
    return rng.choice(
        (
            f"#iree_gpu.mma_layout<{kind}>",
            f"#iree_gpu.mma_layout<{kind}, col_major = true>",
            f"#iree_gpu.virtual_mma_layout<V{kind}>",
            f"#iree_gpu.data_tiled_mma_layout<intrinsic = {kind}, intrinsics_m = {rng.choice(SIZES)}, subgroups_n = 2>",
            f"#iree_gpu.mma_schedule<intrinsic = #iree_gpu.mma_layout<{kind}>, subgroup_m_count = 2, subgroup_n_count = 1>",
            f"#iree_gpu.lowering_config<{{workgroup = {_sizes(rng, 3)}, k = #iree_gpu.lane_id<0>, "
            f"mma = #iree_gpu.mma_layout<{kind}>}}>",
            f'#iree_gpu.lowering_config<{{a = "x{rng.choice(FOREIGN)}", b = [1.5 : f32, unit, "\\22\\C3\\A9"]}}>',
            "affine_map<(d0, d1)[s0] -> (d1, d0 floordiv 2 + s0)>",
            "#iree_gpu.pipeline_options<prefetch_num_stages = 2, reorder_workgroups_strategy = <Transpose>>",
        )
    )


def amx(rng: random.Random) -> str:
    return f"!{rng.choice(('', 'x86.'))}amx.tile<{rng.choice(SIZES)}x{rng.choice(SIZES)}x{rng.choice(ELEMENTS)}>"


def triton(rng: random.Random) -> str:
    count = iter((f"[{1 << b}, 0]" if rng.random() < 0.5 else f"[0, {1 << b}]") for b in range(40))
    parts = [
        f"{name} = [{', '.join(next(count) for _ in range(rng.randint(0, 3)))}]"
        for name in ("register", "lane", "warp", "block")
    ]
    return f"#ttg.linear<{{{', '.join(parts)}}}>"


def _tree(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.4:
        return rng.choice(("", "_")) + str(rng.choice(SIZES))
    return "(" + ",".join(_tree(rng, depth - 1) for _ in range(rng.randint(1, 3))) + ")"


def cute(rng: random.Random) -> str:
    shape = _tree(rng, 3)
    steps = rng.choice(((0, 1, 2, 4, 8, 16, 64),) * 3 + ((-1, 1, -8, 2), ("1@0", "2@1", "1@0@1")))
    strides = _NUMBER.sub(lambda _: str(rng.choice(steps)), shape).replace("_", "")
    bits, base, shift = rng.randint(0, 4), rng.randint(0, 4), rng.randint(-6, 6)
    swizzle = rng.choice((f"Sw<{bits},{base},{shift}>", f"S<{bits},{base},{shift}>", f"SW_{bits}_{base}_{shift}"))
    offset = rng.choice(("0", "_0", "64", "smem_ptr[16b](unset)"))
    layout = f"{shape}:{strides}"
    forms = (layout,) * 3 + (
        f"{swizzle} o {offset} o {layout}", f"Layout({shape},{strides})", f'!cute.layout<"{layout}">',
        f'!cute.composed_layout<"{swizzle} o {offset} o {layout}">', f"{layout} o {layout}",
        f"ComposedLayout(Swizzle({bits},{base},{shift}),{offset},Layout({shape},{strides}))",
    )  # fmt: skip
    return rng.choice(forms)


def small_forms(rng: random.Random) -> str:
    return rng.choice(
        (
            "#xegpu.range<[2 : i64, 4 : i64]>", "#xegpu.cache_hint<cached>",
            "xegpu.sg_map<wi_layout = [1, 16], wi_data = [2, 1]>",
            "#xegpu.memory_space<slm>", "#xegpu<memory_space slm>", "#xegpu.fence_scope<gpu>",
            "#iree_gpu<compute_bitwidths fp32|fp16>",
            "!xegpu.tensor_desc<16x8 x uint8, #scattered, memory_scope=slm, chunk_size_per_lane=8>",
            "MFMA_F32_16x16x16_F16", "()",
            "()->()", "()=", "d0 = 1",
            "#xegpu.block_tdesc_attr<memory_space = slm, array_length = 2 : i64, boundary_check = false>",
            '#iree_gpu.target<arch = "gfx942", features = "", wgp = <compute = fp32|int8, storage = b32, subgroup = none, '
            'dot = none, '
            "mma = [<MFMA_F32_16x16x16_F16>], subgroup_size_choices = [64], max_workgroup_sizes = [1024], "
            "max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [7], "
            'extra = {a = 1 : i32, b = "x"}>, chip = <wgp_count = 304>>',
        )
    )  # fmt: skip


GRAMMARS: tuple[Callable[[random.Random], str], ...] = (
    layout, xegpu_layout, xegpu_slice, xegpu_type, nested, iree_gpu, amx, triton, cute, small_forms, layout,
)  # fmt: skip


@functools.cache
def corpus() -> tuple[str, ...]:
    """The attributes in the tables beside the oracle tests."""
    found: set[str] = set()
    for name in ("xegpu_verdicts", "data_tiled", "mma_nested", "nested_derived"):
        with gzip.open(DATA / f"{name}.jsonl.gz", "rt") as file:
            found |= set(re.findall(r'"(#[^"\\]{10,})"', file.read()))
    return tuple(sorted(found))


def valid(rng: random.Random) -> str:
    """A text from a grammar or from the tables; aliased, commented and spread over lines now and then."""
    text = rng.choice(corpus()) if rng.random() < 0.15 else rng.choice(GRAMMARS)(rng)
    chance = rng.random()
    if chance < 0.04 and text.startswith("#"):
        return f"#l = {text}\n#xegpu.slice<#l, dims = [0]>"
    if chance < 0.06:
        return f"#map = {text}\n#iree_gpu.lowering_config<{{a = #map, b = [#map]}}>"
    if chance < 0.1 and text.startswith(("#", "!")):
        return f"{text[0]}name = {text} // note\n{text[0]}name"
    if chance < 0.15:
        return text.replace(" ", rng.choice(("\n", " // note\n", "\t ")))
    return text


def mutated(rng: random.Random, text: str, most: int = 5) -> str:
    for _ in range(rng.randint(1, most)):
        text = rng.choice(_MUTATIONS)(rng, text)
    return text[:5000]


def _cut(rng: random.Random, text: str) -> str:
    at, to = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
    return text[:at] + rng.choice(("", text[to:]))


def _repeat(rng: random.Random, text: str) -> str:
    at, to = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
    return text[:at] + text[at:to] * rng.choice((2, 3, 30)) + text[to:]


def _splice(rng: random.Random, text: str) -> str:
    other = valid(rng)
    return text[: rng.randint(0, len(text))] + other[rng.randint(0, len(other)) :]


def _insert(rng: random.Random, text: str) -> str:
    at = rng.randint(0, len(text))
    return (
        text[:at] + rng.choice((*WORDS, rng.choice(FOREIGN), "".join(rng.choices(string.printable, k=3)))) + text[at:]
    )


def _swap(rng: random.Random, text: str) -> str:
    tokens = _TOKEN.findall(text)
    if len(tokens) > 1:
        i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        tokens[i], tokens[j] = tokens[j], tokens[i]
    return "".join(tokens)


def _number(rng: random.Random, text: str) -> str:
    found = list(_NUMBER.finditer(text))
    if not found:
        return text
    at = rng.choice(found)
    number = "9" * 5000 if (odd := rng.choice(ODD)) > 10**4000 else str(odd)
    return text[: at.start()] + number + text[at.end() :]


def _nest(rng: random.Random, text: str) -> str:
    opening, closing = rng.choice(
        (("(", ")"), ("[", "]"), ("<", ">"), ("{", "}"), ("#xegpu.slice<", ", dims = [0]>"), ("-", ""))
    )
    depth = rng.choice((1, 3, 63, 64, 65, 200))
    at, to = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
    return text[:at] + opening * depth + text[at:to] + closing * depth + text[to:]


def _alias(rng: random.Random, text: str) -> str:
    name = rng.choice(("#a", "!a", "#map", "#xegpu", "#l"))
    return f"{name} = {valid(rng)}\n" + (text if rng.random() < 0.5 else _NUMBER.sub(name, text, count=1))


_MUTATIONS = (_cut, _cut, _repeat, _splice, _insert, _insert, _swap, _swap, _number, _number, _nest, _alias)


def text(rng: random.Random) -> str:
    """A text as somebody might paste it."""
    chance = rng.random()
    if chance < 0.3:
        return valid(rng)
    if chance < 0.95:
        return mutated(rng, valid(rng))
    return "".join(rng.choices(WORDS, k=rng.randint(0, 30)))


def smaller(text: str) -> Iterator[str]:
    """The text with a piece left out, the largest pieces first, and with its numbers shortened."""
    size = len(text) // 2
    while size:
        for at in range(0, len(text), size):
            yield text[:at] + text[at + size :]
        size //= 2
    for found in _NUMBER.finditer(text):
        if len(found.group()) > 1:
            yield text[: found.start()] + "2" + text[found.end() :]
