"""The table of operations: what an operation is, in one row of a text.

Every dialect has a file, `vector.txt` say, which is read when the dialect is first used. (Operations that went from one dialect
to another stand in a file of both, `amx+x86.txt`, with their whole names.) Operations that are alike share a shape; each has a
row with its name, the name of its class where code imports it, and a sentence:

    vector=vector of ANY values -> result=vector of ANY values {permutation=i64s}
        syntax  $vector `,` $permutation attr-dict `:` type($vector) `to` type($result)
        traits  Pure
      transpose  TransposeOp  Dimension i of the result is dimension `permutation[i]` of the source.

A shape is written in LLVM's own terms:

- Lines that are too long go on, eight spaces in.
- `name=words` is an operand or, behind `->`, a result; `name?=` may be absent, `name*=` is any number of them. The words are
  those of LLVM's diagnostics ("operand #0 must be vector of any type values"); what a word in capitals stands for differs
  between versions (`layoutalg.ir.operations.words`).
- `name=region` behind `->` is a region; `name*=region` is any number of them.
- `{name=word}` are the inherent attributes; `name?=` may be absent, `name=word<default>` has a default.
- `name/field` says how Python calls it where that is not LLVM's name in snake case.
- `syntax` is LLVM's `assemblyFormat`. `custom` stands for an operation whose class reads and prints itself.
- `traits` are LLVM's, `AllTypesMatch<lhs, result>` for instance. `ElementwiseMappable`: same coordinates in all values.
- `inherent` lists the attributes that LLVM 24 writes behind the operands, and up to 23 in the dictionary (`inherent,` with
  commas between them, `inherent()` with brackets around each value).
- `in 22` or `in 22 23` gives the operands, results and attributes of those versions, where they differ by more than a word;
  `traits in 22` the traits.
- `[23-]` behind an operation's name: the versions that have it. `[-21]` is an operation of older pages, which is read.

>>> row = rows_of("vector")["vector.transpose"]
>>> row.class_name, [group.name for group in row.shape.operands], row.shape.attributes[0].word
('TransposeOp', ['vector'], 'i64s')
>>> row.says
'Dimension i of the result is dimension `permutation[i]` of the source.'
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["DIALECTS", "VERSIONS", "Attribute", "Row", "Shape", "Value", "names_with", "row_of", "rows_of"]

VERSIONS = (22, 23, 24)
"""The versions of LLVM that the tables know."""

_TABLES = Path(__file__).parent
_TABLE_OF = {dialect: path for path in _TABLES.glob("*.txt") for dialect in path.stem.split("+")}
DIALECTS = tuple(sorted(_TABLE_OF))
"""The dialects that have a table."""

_SNAKE = re.compile(r"(?<=[a-z0-9])([A-Z])")
_ATTRIBUTE = re.compile(r"(?P<name>\w+)(/(?P<field>\w+))?(?P<optional>\?)?=(?P<word>\w+)(<(?P<default>[^>]*)>)?")
_VALUE = re.compile(r"(?P<name>\w+)(/(?P<field>\w+))?(?P<count>[?*])?=(?P<words>.+)")
_ROW = re.compile(r"  (?P<name>[\w.]+)( \[(?P<versions>[\d-]+)\])?( +(?P<cls>[A-Z]\w*Op))?(  +(?P<says>\S.*))?")
_TRAIT = re.compile(r"(\w+)(?:<([^>]*)>)?")


@dataclass(frozen=True, slots=True)
class Value:
    """Operands (or results) that share a name: one, at most one (`?`), or any number (`*`).

    >>> Value("valueToStore", "any type").field
    'value_to_store'
    """

    name: str
    words: str
    count: str = "1"
    called: str = ""

    @property
    def field(self) -> str:
        """The name in Python."""
        return self.called or _SNAKE.sub(r"_\1", self.name).lower()


@dataclass(frozen=True, slots=True)
class Attribute:
    """An inherent attribute: its name, what it must be, and its default.

    >>> Attribute("isExact", "unit", optional=True).required
    False
    """

    name: str
    word: str
    optional: bool = False
    default: str | None = None
    called: str = ""

    @property
    def field(self) -> str:
        """The name in Python."""
        return self.called or _SNAKE.sub(r"_\1", self.name).lower()

    @property
    def required(self) -> bool:
        """Whether the operation is wrong without it."""
        return not self.optional and self.default is None


@dataclass(frozen=True, slots=True)
class Shape:
    """What operations that are alike share.

    >>> Shape((), (), (), "attr-dict", (("Pure", ()),)).has("Pure")
    True
    """

    operands: tuple[Value, ...]
    results: tuple[Value, ...]
    attributes: tuple[Attribute, ...]
    syntax: str = ""
    traits: tuple[tuple[str, tuple[str, ...]], ...] = ()
    inherent: tuple[str, ...] = ()
    inherent_style: str = ""
    other_versions: tuple[tuple[tuple[int, ...], Shape], ...] = ()
    regions: tuple[Value, ...] = ()

    def has(self, trait: str) -> bool:
        """Whether it has a trait.

        >>> Shape((), (), ()).has("Pure")
        False
        """
        return any(name == trait for name, _ in self.traits)

    def signed(self, llvm: int) -> Shape:
        """The operands, results and attributes in a version of LLVM.

        >>> Shape((), (), ()).signed(22) == Shape((), (), ())
        True
        """
        return next((shape for versions, shape in self.other_versions if llvm in versions), self)


@dataclass(frozen=True, slots=True)
class Row:
    """An operation: its name, its shape, the name of its class, the versions of LLVM that have it, and a sentence.

    >>> Row("index.add", Shape((), (), ()), "AddOp", VERSIONS, "The sum.").custom
    False
    """

    name: str
    shape: Shape
    class_name: str
    versions: tuple[int, ...]
    says: str
    exported: bool = True

    @property
    def custom(self) -> bool:
        """Whether a class reads and prints it."""
        return self.shape.syntax == "custom"


@cache
def rows_of(dialect: str) -> Mapping[str, Row]:
    """The rows of a dialect's table by the names of the operations; empty where it has no table.

    >>> rows_of("index")["index.add"].says, len(rows_of("nosuch"))
    ('The sum.', 0)
    """
    if dialect not in DIALECTS:
        return {}
    rows = _read(dialect, _TABLE_OF[dialect].read_text(encoding="utf-8"))
    return {row.name: row for row in rows if row.name.startswith(f"{dialect}.")}


def row_of(name: str) -> Row | None:
    """The row of an operation; None where no table has it.

    >>> row_of("index.sizeof").says
    "The width of the machine's index in bits."
    """
    return rows_of(name.partition(".")[0]).get(name)


def names_with(trait: str, *dialects: str) -> tuple[str, ...]:
    """The operations of some dialects that have a trait.

    >>> names_with("ElementwiseMappable", "arith", "vector")[-1]
    'vector.fma'
    """
    return tuple(name for dialect in dialects for name, row in rows_of(dialect).items() if row.shape.has(trait))


def _read(dialect: str, text: str) -> Iterator[Row]:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    start = 0
    while start < len(lines):
        end = start + 1
        while end < len(lines) and lines[end].startswith(" "):
            end += 1
        yield from _block(dialect, lines[start:end])
        start = end


def _block(dialect: str, lines: Sequence[str]) -> Iterator[Row]:
    """A shape and the operations that have it."""
    told: list[tuple[str, str]] = [("signature", lines[0])]
    names: list[str] = []
    for line in lines[1:]:
        if line.startswith(" " * 8):
            keyword, rest = told[-1]
            told[-1] = keyword, f"{rest} {line.strip()}"
        elif line.startswith(" " * 4):
            keyword, rest = line.strip().split("  ", 1)
            told.append((keyword, rest.strip()))
        else:
            names.append(line)
    shape = _shape(told[0][1], told[1:])
    for line in names:
        found = _ROW.fullmatch(line)
        if found is None or not found["says"]:
            raise ValueError(f"{dialect}.txt: {line!r} is not the row of an operation")
        written, given = found["name"], found["cls"]
        name = written if "+" in _TABLE_OF[dialect].stem else f"{dialect}.{written}"
        yield Row(name, shape, given or _class_name(name.partition(".")[2]), _versions(found["versions"]), found["says"],
                  given is not None)  # fmt: skip


def _class_name(name: str) -> str:
    """`AddOp` for `add`, as LLVM names the classes of operations."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[._]", name)) + "Op"


def _versions(written: str | None) -> tuple[int, ...]:
    """The versions that `22`, `22-23`, `23-` or `-21` (none that is known) names; all where nothing is written."""
    if written is None:
        return VERSIONS
    first, dash, last = written.partition("-")
    since, until = int(first or 0), int(last) if last else VERSIONS[-1] if dash else int(first)
    return tuple(version for version in VERSIONS if since <= version <= until)


def _shape(signature: str, told: Sequence[tuple[str, str]]) -> Shape:
    operands, made, attributes = _signature(signature)
    results = tuple(value for value in made if value.words != "region")
    regions = tuple(value for value in made if value.words == "region")
    syntax, style = "", ""
    traits: tuple[tuple[str, tuple[str, ...]], ...] = ()
    inherent: tuple[str, ...] = ()
    others: list[tuple[tuple[int, ...], Shape]] = []
    for keyword, rest in told:
        if keyword == "syntax":
            syntax = rest
        elif keyword == "traits":
            traits = _traits(rest)
        elif keyword.startswith("traits in "):
            others.append((_listed(keyword), Shape(operands, results, attributes, traits=_traits(rest))))
        elif keyword.startswith("inherent"):
            inherent, style = tuple(rest.split()), keyword.removeprefix("inherent")
        elif keyword.startswith("in "):
            others.append((_listed(keyword), Shape(*_signature(rest), traits=traits)))
        else:
            raise ValueError(f"{keyword!r} is not a property of operations: {rest}")
    return Shape(operands, results, attributes, syntax, traits, inherent, style, tuple(others), regions)


def _listed(keyword: str) -> tuple[int, ...]:
    """The versions of `in 22 23`."""
    return tuple(int(word) for word in keyword.split() if word.isdigit())


def _traits(written: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found = _TRAIT.findall(written)
    return tuple((name, tuple(filter(None, re.split(r",\s*", given)))) for name, given in found)


def _signature(text: str) -> tuple[tuple[Value, ...], tuple[Value, ...], tuple[Attribute, ...]]:
    """Read `lhs=INT, rhs=INT -> result=INT {isExact?=unit}`."""
    values, brace, attributes = text.partition("{")
    inputs, arrow, outputs = values.partition("->")
    if not arrow:
        raise ValueError(f"{text!r} has no `->` between operands and results")
    listed = _split(attributes.rpartition("}")[0]) if brace else []
    return _values(inputs), _values(outputs), tuple(map(_attribute, listed))


def _split(text: str) -> list[str]:
    return [part for part in (one.strip() for one in text.split(", ")) if part]


def _values(text: str) -> tuple[Value, ...]:
    found: list[Value] = []
    for one in _split(text):
        match = _VALUE.fullmatch(one)
        if match is None:
            raise ValueError(f"{one!r} is not an operand or a result: name=words is expected")
        found.append(Value(match["name"], match["words"], match["count"] or "1", match["field"] or ""))
    return tuple(found)


def _attribute(text: str) -> Attribute:
    match = _ATTRIBUTE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not an attribute: name=word is expected")
    return Attribute(
        match["name"], match["word"], match["optional"] is not None, match["default"], match["field"] or ""
    )
