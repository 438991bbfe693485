"""Which text belongs to which notation, and `parse`: any text that layoutalg reads.

The text says itself what it is: `#xegpu.layout<...>`, `#iree_gpu.mma_layout<...>`, `!amx.tile<...>`, CuTe's `(8,4):(4,1)`, or a
layout's own `d0 = ...`. Definitions of aliases may stand before it, as in MLIR, whatever notation they are of:

>>> value = parse('''
... #l = #xegpu.layout<sg_layout = [8, 4], sg_data = [32, 32]>
... #xegpu.slice<#l, dims = [0]>
... ''')
>>> value.layout((128,))
Layout.parse('d0 = 4@sg 32@reg | replicas 8@sg:4')

A notation is one row here: how its texts begin, what reads them, and what an error lists. One from outside is registered with
one call (see the page "Adding a notation"). What is above the notations takes a `Layout`, a value or its text, and gets a value
from `value_of`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from typing import NoReturn, cast

from layoutalg.core.errors import ConversionError, LayoutError, ParseError
from layoutalg.core.lazy import imported
from layoutalg.core.limits import MOST_ALIASES as _MOST_ALIASES
from layoutalg.core.messages import shown
from layoutalg.core.notation import Distributed, Machine, Notation, as_machine
from layoutalg.core.reader import Reader
from layoutalg.core.whole_numbers import instance_of

__all__ = [
    "NotationText",
    "has_value",
    "machine_of",
    "notation_of",
    "notations",
    "parse",
    "read_value",
    "register_notation",
    "value_of",
]

_DEFINITION = re.compile(r"([#!])([A-Za-z_][A-Za-z0-9_$]*)\s*=")

_NO_LAYOUT = re.compile(
    r"#[A-Za-z_][A-Za-z0-9_$]*[ \t]*=[ \t]*(?:loc\(|#loc|#(?:ttg|triton_gpu)\.shared_memory|#ttng\.tensor_memory(?!\w))[^\n]*"
)
"""The definition of a place in a source, or of one of Triton's memory spaces: types name it, and it has no layout."""


@dataclass(frozen=True, slots=True)
class NotationText:
    """How a notation's texts look: what they begin with, who reads them, and examples for errors.

    `begins` is a regular expression that is tried where a value may begin. `reader` takes a `Reader` that stands there, reads
    one value, and leaves the reader behind it; it is a function, or `"package.module:name"`, imported when first needed.
    `lists` are the beginnings that an error names, such as `#xegpu.layout<`.

    >>> next(iter(notations().values())).lists[0]
    '#xegpu.layout<'
    """

    name: str
    begins: re.Pattern[str]
    reader: Callable[[Reader], Notation] | str
    lists: tuple[str, ...] = ()
    whole: bool = field(default=False)
    """Whether such a text always stands alone: never the value of an alias, never inside another value."""

    def read(self, reader: Reader) -> Notation:
        """Read one value.

        >>> print(notations()["XeGPU"].read(Reader("#xegpu.layout<lane_layout = [16]>")))
        #xegpu.layout<lane_layout = [16]>
        """
        instance_of(reader, Reader, "reader")
        read = _found(self.reader) if isinstance(self.reader, str) else self.reader
        return read(reader)


@lru_cache(maxsize=64)
def _found(place: str) -> Callable[[Reader], Notation]:
    """The function at `"package.module:name"`, imported when it is first asked for."""
    module, _, name = place.partition(":")
    return cast("Callable[[Reader], Notation]", getattr(imported(module), name))


_ROWS = (
    NotationText(
        "XeGPU",
        re.compile(r"[#!]?(?:xegpu|XeGPU)[.<]|(?:layout|slice)[ \t]*<"),
        "layoutalg.xegpu.reading:read_notation",
        ("#xegpu.layout<", "#xegpu.slice<", "!xegpu.tensor_desc<", "!xegpu.mem_desc<", "#xegpu.sg_map<"),
    ),
    NotationText(
        "IREE nested layout",
        re.compile(r"#iree_vector_ext\.|nested_layout[ \t]*<"),
        "layoutalg.nested.attributes:read_notation",
        ("#iree_vector_ext.nested_layout<",),
    ),
    NotationText(
        "IREE GPU",
        re.compile(
            r"#iree_gpu[.<]|#iree_codegen\.(?:xor_shuffle|rotate_rows)<|affine_map<"
            r"|(?:V?D?MFMA|WMMA|WMMAR[34]|NV_WMMA|NV_MMA_SYNC)_(?!\w*[ \t]*=)"
        ),
        "layoutalg.nested.gpu.reading:read_notation",
        ("#iree_gpu.mma_layout<", "#iree_gpu.data_tiled_mma_layout<", "MFMA_F32_16x16x16_F16"),
    ),
    NotationText(
        "AMX",
        re.compile(
            r"!(?:x86\.)?amx\.|(?:x86\.)?amx\.tile_mul[fi]\s|(?i:(?:_{0,2}tile_|t)dp(?:(?:bf|fp)16ps|b[su]{2}d)\b)"
        ),
        "layoutalg.amx.reading:read_notation",
        ("!amx.tile<", "!x86.amx.tile<"),
    ),
    NotationText(
        "Triton",
        re.compile(r"#(?:ttg|triton_gpu)\.linear[ \t]*<"),
        "layoutalg.triton.linear:read_linear_layout",
        ("#ttg.linear<",),
    ),
    NotationText(
        "Triton encoding",
        re.compile(
            r"#(?:ttg|ttng|ttig|triton_gpu|triton_nvidia_gpu|triton_intel_gpu)\.|tensor<[^#]{0,200},\s*#"
            r"|!?(?:(?:ttg|triton_gpu|tt)\.)?memdesc<"
        ),
        "layoutalg.triton.encodings.types:read_notation",
        ("#ttg.blocked<", "#ttg.swizzled_shared<", "tensor<64x64xf16, #ttg.linear<", "gl.BlockedLayout("),
    ),
    NotationText(
        "CuTe",
        re.compile(
            r"!cute\.|(?:Sw|S|Swizzle)[ \t]*<|SW_[0-9]|Swizzle[ \t]*\("
            r"|(?:[A-Za-z_][A-Za-z0-9_]*\.){0,4}(?:Composed)?Layout[ \t]*\(|(?:cute::)?Layout[ \t]*<"
            r"|\([ \t]*\(?[ \t]*(?:[(_0-9?]|-[0-9]|Swizzle)|\([ \t]*\)[ \t]*:|_?[0-9]+[ \t]*:"
        ),
        "layoutalg.cute.reading:read_cute",
        ("(8,4):(4,1)", "Sw<3,3,3> o 0 o (8,64):(64,1)", '!cute.layout<"(8,4):(4,1)">', "Layout((8, 4),(4, 1))"),
    ),
    NotationText(
        "Gluon",
        re.compile(r"(?:[A-Za-z_][A-Za-z0-9_.]*\.)?[A-Z][A-Za-z]*Layout[ \t]*\("),
        "layoutalg.triton.encodings.gluon:read_gluon",
    ),
    NotationText(
        "instruction",
        re.compile(
            r"(?!\w+[ \t]*=)(?:(?:cute::)?SM[0-9]+[_:]|mma\.|(?:wgmma|tcgen05|(?:ld|st|mov)matrix|dp[24]a|cp\.async)\b"
            r"|(?:(?:UMMA|GMMA)::)?(?:Layout_(?:MN|K)_|tmem_frg_[12]sm<)|UniversalCopy<|(?:ld|st)\.global\."
            r"|v_(?:mfma|smfmac|wmma|swmmac)_|(?:s?mfma|smfmac|wmma|swmmac)[._]\w|(?:ds|global)_(?:read|load)_"
            r"|(?:__builtin_amdgcn_|llvm\.amdgcn\.|rocdl\.)(?:s?mfma|smfmac|wmma|swmmac|ds|global)"
            r"|(?:mfma|smfmac|wmma|swmmac|dpas|mma|wgmma)[ \t]+[\w.]"
            r"|(?:gfx\w{3,8}|[cr]dna\d|mi\d{3}x?a?)/|dpas\.|intel_sub_group_\w+_matrix_mad_|(?:intel_sub_group_2d_block_)?(?:read|write)"
            r"_(?:trans\w{3,5}_)?\d{1,2}b_|xevm\.block(?:load|store)2d|__spirv_Subgroup2DBlock|(?:load|store)_block2d)",
            re.IGNORECASE,
        ),
        "layoutalg.instructions.registry:read_instruction",
        ("SM80_16x8x16_F32F16F16F32_TN", "mma.sync.aligned.", "v_mfma_f32_16x16x16_f16", "dpas.f16.f16.f32"),
    ),
    NotationText(
        "layout",
        re.compile(r"[A-Za-z_][A-Za-z0-9_]*[ \t]*=|\(\)"),
        "layoutalg.core.layout:read_layout",
        ("d0 = 16@lane",),
        whole=True,
    ),
)
_known: dict[str, NotationText] = {row.name: row for row in _ROWS}


def notations() -> dict[str, NotationText]:
    """The notations that are read, by name, in the order in which they are tried.

    >>> list(notations())[:4]
    ['XeGPU', 'IREE nested layout', 'IREE GPU', 'AMX']
    """
    return dict(_known)


def register_notation(notation: NotationText) -> None:
    """Make `parse`, and with it everything that takes texts, read another notation.

    Raises `LayoutError` for a name that is taken by something else; the same notation may be registered again.

    >>> register_notation(notations()["AMX"])
    """
    if not isinstance(notation, NotationText):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LayoutError(f"register_notation of a {type(notation).__name__}: expected a NotationText")
    if _known.setdefault(notation.name, notation) != notation:
        raise LayoutError(f"a notation {notation.name!r} is registered already")


def parse(text: str) -> Notation:
    """Read an attribute, a type or a layout, of any notation.

    Returns a frozen value: `str` prints its canonical text, and `parse(str(value)) == value` for what was parsed. A text
    that ends with the definition of an alias is the value of that alias.

    Raises `ParseError` with line and column; `VerificationError` where the text breaks a rule of its dialect.

    >>> print(parse("#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"))
    #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>
    >>> parse("#xegpu.layout<lane_layout = [1, 16>")
    Traceback (most recent call last):
    layoutalg.core.errors.ParseError: line 1, column 35: expected ',' or ']', found '>'
    """
    reader = Reader(text)
    value: Notation | None = None
    while not reader.at_end():
        definition = _DEFINITION.match(reader.text, reader.position)
        if definition is None:
            value = read_value(reader, alone=not reader.aliases)
            reader.finish()
            return value
        if (space := _NO_LAYOUT.match(reader.text, reader.position)) is not None:
            reader.position = space.end()
            continue
        if len(reader.aliases) == _MOST_ALIASES:
            reader.fail(f"at most {_MOST_ALIASES} aliases", "found one more")
        reader.position = definition.end()
        value = reader.aliases[definition.group(1) + definition.group(2)] = read_value(reader)
    if value is None:
        reader.fail("an attribute, a type or a layout, such as #xegpu.layout<lane_layout = [1, 16]> or d0 = 16@lane")
    return value


def read_value(reader: Reader, alone: bool = False) -> Notation:
    """Read one value of whatever notation it is, or an alias; `alone` where it is all that the text has.

    >>> print(read_value(Reader("!amx.tile<16x64xi8> more")))
    !x86.amx.tile<16x64xi8>
    """
    found = reader.accept_alias()
    if found is not None:
        return found
    start = reader.skip()
    for notation in _known.values():
        if (alone or not notation.whole) and notation.begins.match(reader.text, start):
            return notation.read(reader)
    return _refuse(reader, start)


def notation_of(value: Distributed) -> str:
    """The name of the notation that a value's own text is of.

    >>> notation_of(parse("(8,4):(4,1)")), notation_of(parse("mma.m16n8k16.f16.f16.f32"))
    ('CuTe', 'instruction')
    """
    text = str(value)
    return next((name for name, notation in _known.items() if notation.begins.match(text)), "")


_SHAPED = re.compile(r"(vector|tensor|memref)<(?:([0-9]{1,9}(?:x[0-9]{1,9}){0,8})x)?")
_BEGINNING = re.compile(r"[#!]?[^\s<>(){}\[\],:=]{1,80}<?")
_ALIAS = re.compile(r"([#!])[A-Za-z_][A-Za-z0-9_$]{0,60}(?=[\s,>]|$)")
_DIAGNOSTIC = re.compile(r"(?:[^\n]{0,200}?: ?)?(?:error|warning|remark): |'[a-z_]{1,30}\.\w{1,60}' op ")
_ANY_LAYOUT = re.compile(r"#[a-z_]{1,40}\.\w{1,40}<|(?:nested_)?layout<|slice<")


def _refuse(reader: Reader, start: int) -> NoReturn:
    """Say which notations are read, and the nearest."""
    if (alias := _ALIAS.match(reader.text, start)) is not None:
        name = alias.group()
        spelling = "ttg.blocked<...>" if alias[1] == "#" else "ttg.memdesc<...>"
        line = f"{name} = {alias[1]}{spelling}"
        problem = f"no line defines the alias {name}: put its line before it, {line}, or give the whole file"
        raise ParseError(reader.text, start, "an attribute, a type or a layout", problem)
    if _DIAGNOSTIC.match(reader.text, start):
        raise ParseError(reader.text, start, "a layout, or operations of MLIR", _of_diagnostic(reader.text, start))
    match = _BEGINNING.match(reader.text, start)
    beginning = match.group() if match is not None else reader.text[start : start + 1]
    spelled = [text for notation in _known.values() for text in notation.lists]
    names = [*reader.aliases, *spelled]
    near = get_close_matches(beginning, names, 1, 0.6) or get_close_matches(beginning.lstrip("#!"), names, 1, 0.6)
    if not near and "." in beginning:
        dialect = beginning.partition(".")[0].lstrip("#!")
        near = [text for text in spelled if text.lstrip("#!").startswith(f"{dialect}.")][:1]
    examples = ", ".join([notation.lists[0] for notation in _known.values() if notation.lists])
    hint = f" (did you mean {near[0]}?)" if near else ""
    shaped = _SHAPED.match(reader.text, start)
    if shaped is not None:
        hint = f" (a {shaped[1]} type says no more than a shape: give a layout, and the shape {shaped[2] or '8x16'})"
    if not near and shaped is None:
        said = cast("str", imported("layoutalg.instructions.suggestions").said_of(reader.text[start:]))
        if said:
            raise ParseError(reader.text, start, "one instruction or a layout", said)
    raise ParseError(reader.text, start, f"a text of a notation that is read: {examples}{hint}")


def _of_diagnostic(text: str, start: int) -> str:
    """What to ask where a compiler's message was pasted: of the layout in it, where there is one, else of the file."""
    problem = "found a compiler's message: `layoutalg verify FILE` says why, of the operations"
    found = _ANY_LAYOUT.search(text, start)
    if found is None:
        return problem
    reader = Reader(text)
    reader.position = found.start()
    try:
        return f"{problem}, and `layoutalg show` of the layout in it and its shape: {read_value(reader)}"
    except LayoutError:
        return problem


_OBJECTS = {
    "triton": "layoutalg.triton.encodings.gluon:of_triton",
    "pycute": "layoutalg.cute.objects:layout_of",
    "tensor_layouts": "layoutalg.cute.objects:layout_of",
}
"""What reads the objects of other packages, by the package that their class is of; the package itself is not imported."""


def _home(value: object) -> str | None:
    packages = [kind.__module__.partition(".")[0] for kind in type(value).__mro__]
    return next((_OBJECTS[one] for one in packages if one in _OBJECTS), None)


def has_value(value: object) -> bool:
    """Whether `value_of` takes it: a value of a notation, a text, or an object of a package whose objects are read.

    >>> has_value("d0 = 4@lane"), has_value(7)
    (True, False)
    """
    return isinstance(value, (Distributed, str)) or _home(value) is not None


def value_of(value: object) -> Distributed:
    """A value that has operands: itself, what its text means, or what an object of Triton's, pycute's or
    tensor-layouts' says.

    Raises `ConversionError` for anything else, and what `parse` raises.

    >>> value_of("d0 = 4@lane")
    Layout.parse('d0 = 4@lane')
    """
    if isinstance(value, str):
        return parse(value)
    home = _home(value)
    if home is not None:
        module, _, name = home.partition(":")
        return getattr(imported(module), name)(value)
    if not isinstance(value, Distributed):
        kind = value.__name__ if isinstance(value, type) else type(value).__name__
        raise ConversionError(f"a {kind}: expected a Layout, a value of a notation, or its text")
    return value


def machine_of(machine: Machine | None, subgroup_size: int | None = None, workgroup_size: int | None = None) -> Machine:
    """The machine, as given or from the threads per subgroup and per workgroup.

    Raises `ConversionError` for sizes that are not whole numbers of at least 1.

    >>> machine_of(None, subgroup_size=16, workgroup_size=64).subgroups
    4
    """
    on = as_machine(machine)
    for name, given in (("subgroup_size", subgroup_size), ("workgroup_size", workgroup_size)):
        if given is not None and (type(given) is not int or not 1 <= given <= 2**31):
            raise ConversionError(f"{name} = {shown(given)}: expected a whole number of at least 1")
    lanes = subgroup_size if subgroup_size is not None else on.lanes
    subgroups = on.subgroups
    if workgroup_size is not None:
        subgroups = None if lanes is None else -(-workgroup_size // lanes)
    return Machine(lanes, subgroups, on.threads if workgroup_size is None else workgroup_size)
