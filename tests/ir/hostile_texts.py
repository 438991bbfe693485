"""Texts made to take memory or time: each a function of how many characters it should have, about."""

from __future__ import annotations

from collections.abc import Callable

Text = Callable[[int], str]


def _repeated(unit: str, before: str = "", after: str = "") -> Text:
    return lambda size: before + unit * (size // len(unit)) + after


def _counted(unit: str, before: str = "", after: str = "", joint: str = "") -> Text:
    """Units with a number each."""
    return lambda size: (
        before + joint.join(unit.replace("#", str(i)) for i in range(size // (len(unit) + 5 + len(joint)))) + after
    )


def _nested(opening: str, inside: str, closing: str, before: str = "", after: str = "") -> Text:
    def text(size: int) -> str:
        depth = min(100_000, size // (len(opening) + len(closing)))
        return before + opening * depth + inside + closing * depth + after

    return text


def _doubling_aliases(size: int) -> str:
    lines = ["#a0 = [1]", *(f"#a{i} = [#a{i - 1}, #a{i - 1}]" for i in range(1, 60))]
    return "\n".join(lines) + '\n"a.b"() {x = #a59} : () -> ()'


def _in_constant(kind: str) -> Text:
    return lambda size: f"%c = arith.constant dense<1> : {kind}"


HOSTILE: dict[str, Text] = {
    "types in types": _nested("tuple<", "i1", ">", "func.func private @f(", ")"),
    "parentheses": _nested("(", "", "", "%a = arith.constant "),
    "square brackets": _nested("[", "", "]", "%a = arith.constant "),
    "lists of numbers in lists": _nested("[", "1", "]", "%a = arith.constant dense<", "> : vector<1xi32>"),
    "dictionaries": _nested("{a=", "1", "}", '"a.b"() ', " : () -> ()"),
    "affine expressions": _nested("(", "d0", ")", "#map = affine_map<(d0) -> (", ")>\nmodule {}"),
    "regions": _nested("scf.if %c {\n", "", "}\n"),
    "regions in generic form": _nested('"a.b"() ({\n', "", "}) : () -> ()\n"),
    "regions of unknown operations": _nested("my.op {\n %a = arith.constant 1 : i32\n", "", "}\n"),
    "regions without an end": _nested("my.op {\n", "", ""),
    "locations": _nested("(", "", "", "gpu.barrier loc("),
    "operations on one line": _repeated("%a = arith.constant 1 : i32 "),
    "operations of nothing": _repeated('"a.b"():()->()\n'),
    "operations of unknown dialects": _repeated("a.b\n"),
    "values of unknown operations": _repeated("%a:1024 = x.y\n"),
    "blocks": _counted('^b#:\n"a.b"():()->()\n', '"a.b"() ({\n', "}) : () -> ()"),
    "blocks of one name": _repeated("^b:\n", '"a.b"() ({\n', "}) : () -> ()"),
    "blocks that nobody defines": _counted('"a.b"()[^b#]:()->()\n', '"a.b"() ({\n', "}) : () -> ()"),
    "values that nobody defines": _counted("%a# = arith.addi %b#, %c# : i32\n", "func.func @f() {\n", "}"),
    "values defined later": lambda size: (
        "func.func @f() {\n"
        + "".join(f"%a{i} = arith.addi %a{i + 1}, %a{i + 1} : i32\n" for i in range(size // 40))
        + "}"
    ),
    "one value defined again and again": _repeated("%a = arith.constant 1 : i32\n", "func.func @f() {\n", "}"),
    "many operands": _repeated("%x, ", "my.op "),
    "many operands of a known operation": _repeated("%a, ", "%v = vector.from_elements ", "%a : vector<4xi32>"),
    "many conditions": _counted("%v# = arith.constant 1 : i1\nscf.if %v# {\n}\n"),
    "words": _repeated("x "),
    "lines of words": _repeated("x\n"),
    "at signs": _repeated("@"),
    "percent signs": _repeated("%"),
    "names of values": _repeated("%a,  "),
    "results of nothing": _repeated("%a = "),
    "operations in a line of words": _repeated("x %a = a.b "),
    "layouts in a line": _repeated("#xegpu.layout<lane_layout=[16]> ", "log "),
    "layouts without an end": _repeated("#xegpu.layout<lane_layout=[16] ", "log "),
    "layouts in lines": _repeated("#xegpu.layout<lane_layout=[16]> \n"),
    "comments": _repeated("//\n"),
    "spaces": _repeated(" "),
    "line ends": _repeated("\n"),
    "quotes": _repeated('"'),
    "a string without an end": _repeated("a", '"a.b"() {x = "'),
    "backslashes": _repeated("\\", '"'),
    "opening braces": _repeated("{"),
    "closing braces": _repeated("}\n"),
    "brackets of two kinds": lambda size: "my.op " + "(" * (size // 2) + "]" * (size // 2),
    "aliases": _counted("#a# = #\n"),
    "aliases of aliases": _doubling_aliases,
    "uses of a long alias": _repeated(
        '"a.b"() {x = [#a0,#a0,#a0,#a0]} : () -> ()\n', "#a0 = [" + ",".join(["1"] * 30000) + "]\n"
    ),
    "a list": _counted("#", '"a.b"() {x = [', "]} : () -> ()", ","),
    "a dense array": _counted("#", '"a.b"() {x = array<i64: ', ">} : () -> ()", ","),
    "a dense list": _repeated("1,", '"a.b"() {x = dense<[', "1]> : vector<8xi32>} : () -> ()"),
    "attributes": _counted("a#", '"a.b"() {', "} : () -> ()", ","),
    "a hexadecimal constant": _repeated("0100000z", '%c = arith.constant dense<"0x', '"> : vector<8xi32>'),
    "a long affine expression": _repeated("d0+", "#map = affine_map<(d0) -> (", "d0)>\nmodule {}"),
    "affine dimensions": _counted("d#", "#map = affine_map<(", ") -> (d0)>\nmodule {}", ","),
    "a large vector behind a space": _in_constant("vector< 99999999xi32>"),
    "a large vector behind a line end": _in_constant("vector<\n99999999xi32>"),
    "a large scalable vector": _in_constant("vector<[99999999]xi32>"),
    "a large tensor": _in_constant("tensor<99999999x99999999xi32>"),
    "dimensions": _repeated("9x", "%c = arith.constant dense<1> : vector<", "i32>"),
    "many large constants": _counted("%c# = arith.constant dense<#> : vector<1048576xi32>\n"),
    "many constants": _counted("%c# = arith.constant dense<#> : vector<65536xi32>\n"),
    "a long number": _repeated("9", "%c = arith.constant ", " : i32"),
    "a long hexadecimal number": _repeated("9", "%c = arith.constant 0x", " : i32"),
    "a long fraction": _repeated("9", "%c = arith.constant 1.", " : f32"),
    "a wide integer": _repeated("9", "%c = arith.constant 1 : i"),
    "very many results": _repeated("9", "%c:", " = a.b"),
    "cuts": _repeated("// -----\n"),
    "cuts with modules": _repeated("// -----\nmodule{}\n"),
    "dumps": _repeated("// -----// IR Dump After CSE (cse) //----- //\nfunc.func private @f()\n"),
    "metadata": _repeated("{-#"),
    "all characters": _repeated("".join(map(chr, range(256)))),
    "null characters": _repeated("\0"),
    "lone surrogates": _repeated("\ud800"),
}


def peak_megabytes() -> int:
    """The most memory that this program has had, in megabytes.

    Linux counts what the process that started it had as its own in `ru_maxrss`; the high-water mark of its memory does not.
    """
    import re
    import resource
    from pathlib import Path

    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        if found is not None:
            return int(found[1]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    """Read every text of a size in both ways, and print what each took: a line of JSON for each."""
    import json
    import resource
    import sys
    import time

    from layoutalg.core.errors import LayoutError
    from layoutalg.ir import read_file_text, read_module

    size = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))
    for name in sys.argv[2:] or HOSTILE:
        text = HOSTILE[name](size)[: 16 * 2**20]
        for way in (read_module, read_file_text):
            start = time.process_time()
            try:
                way(text)
                said = ""
            except LayoutError as refused:
                said = str(refused)
            except BaseException as raw:
                said = f"RAW {type(raw).__name__}: {raw}"
            seconds = time.process_time() - start
            print(json.dumps([name, way.__name__, seconds, peak_megabytes(), said[:300]]), flush=True)


if __name__ == "__main__":
    main()
