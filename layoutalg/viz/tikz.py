r"""TikZ: a scene as a LaTeX document of its own, for papers; text from outside is escaped.

>>> text = tikz_document(Layout.parse("d0 = 2@reg").picture(title="50% & more").scene())
>>> print(next(line for line in text.splitlines() if "more" in line))
\node[font=\bfseries\fontsize{9.8}{9.8}\ttfamily,text=t1,anchor=base west] at (12,30) {50\% \& more};

A paper takes it by `\usepackage{standalone}` and `\input`, or as the PDF that pdflatex makes of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from layoutalg.viz.shapes import Line, Scene, Words, drawn_by

__all__ = ["latex", "tikz_document"]

_ESCAPED = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    '"': r"\textquotedbl{}", "`": r"\textasciigrave{}", "'": r"\textquotesingle{}", "-": "-{}", ",": ",{}",
    "?": "?{}", "!": "!{}",
    "\N{MIDLINE HORIZONTAL ELLIPSIS}": r"$\cdots$", "\N{VERTICAL ELLIPSIS}": r"$\vdots$",
    "\N{HORIZONTAL ELLIPSIS}": r"\ldots{}",
    "\N{RIGHTWARDS ARROW}": r"$\rightarrow$", "\N{DOWNWARDS ARROW}": r"$\downarrow$", "\N{MULTIPLICATION SIGN}": r"$\times$",
}  # fmt: skip
"""What LaTeX reads otherwise, and the ligatures of its fonts."""
_GREEK = {
    "\N{GREEK SMALL LETTER ALPHA}": "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi o pi rho "
    "varsigma sigma tau upsilon phi chi psi omega",
    "\N{GREEK CAPITAL LETTER ALPHA}": "A B Gamma Delta E Z H Theta I K Lambda M N Xi O Pi P ? Sigma T Upsilon Phi X Psi Omega",
}
_GREEK_LETTERS = {
    chr(ord(first) + i): name if len(name) == 1 else rf"$\{name}$"
    for first, names in _GREEK.items()
    for i, name in enumerate(names.split())
}
_LETTERS = {chr(code) for code in range(0xA1, 0x180)} - {
    *"\u00ad\u0126\u0127\u0138\u013f\u0140\u0149\u0166\u0167\u017f"
}
"""What is beyond ASCII and in the fonts: the letters of European languages, and signs."""
_WRITTEN = _ESCAPED | _GREEK_LETTERS
_ANCHORS = {"start": "base west", "middle": "base", "end": "base east"}
_POINTS = 0.75
"""Points in a pixel."""


def latex(text: str) -> str:
    r"""Text for LaTeX: nothing in it is a command; a character that its fonts lack becomes a question mark.

    >>> print(latex("50% of A_0 {x}"), latex("Größe \N{GREEK SMALL LETTER LAMDA}"))
    50\% of A\_0 \{x\} Größe $\lambda$
    """
    return "".join(
        _WRITTEN.get(one, one if " " <= one <= "~" or one in _LETTERS else "?") for one in re.sub(r"\s", " ", text)
    )


def tikz_document(scene: Scene) -> str:
    """The scene as a LaTeX document of one TikZ picture: cells, labels, words, lines, and the legend that is shown."""
    shown = next(one for one in scene.legends if one.by == scene.by)
    words = (*scene.words, *shown.words)
    fills = dict.fromkeys([*(cell.fill for cell in scene.cells), *(one.fill for one in shown.swatches)])
    inks = dict.fromkeys(
        [*(cell.ink for cell in scene.cells), *(one.fill for one in words), *(line.fill for line in scene.lines)]
    )
    names = {colour: f"f{number}" for number, colour in enumerate(fills)}
    texts = {colour: f"t{number}" for number, colour in enumerate(inks)}
    return "\n".join(
        [
            r"\documentclass[tikz]{standalone}",
            r"\usepackage[T1]{fontenc}\usepackage{textcomp}",
            "".join(_defined(names)) + "".join(_defined(texts)) + r"\begin{document}",
            r"\begin{tikzpicture}[x=0.75bp,y=-0.75bp,every node/.style={inner sep=0,outer sep=0}]",
            *(
                rf"\filldraw[fill={names[cell.fill]},draw=white,line width=0.5bp] ({_at(cell.x, cell.y)}) "
                rf"rectangle ({_at(cell.x + cell.width, cell.y + cell.height)});"
                for cell in scene.cells
            ),
            *(
                rf"\node[font=\fontsize{{8.2}}{{8.2}}\ttfamily,text={texts[cell.ink]},anchor=base] at "
                rf"({_at(cell.x + cell.width / 2, cell.y + cell.height / 2 + 4)}) {{{latex(cell.label)}}};"
                for cell in scene.cells
                if cell.label
            ),
            *(
                rf"\fill[{names[one.fill]}] ({_at(one.x, one.y)}) rectangle ({_at(one.x + one.size, one.y + one.size)});"
                for one in shown.swatches
            ),
            *_paths(scene.lines, texts),
            *(_words(one, texts[one.fill]) for one in words if one.text),
            r"\end{tikzpicture}",
            r"\end{document}",
            "",
        ]
    )


def _defined(names: dict[str, str]) -> Iterator[str]:
    for colour, name in names.items():
        yield rf"\definecolor{{{name}}}{{HTML}}{{{colour[1:].upper()}}}"


def _words(words: Words, colour: str) -> str:
    size = f"{words.size * _POINTS:.1f}"
    font = (r"\bfseries" if words.bold else "") + rf"\fontsize{{{size}}}{{{size}}}\ttfamily"
    where = f"({_at(words.x, words.y)})"
    return rf"\node[font={font},text={colour},anchor={_ANCHORS[words.anchor]}] at {where} {{{latex(words.text)}}};"


def _paths(lines: Iterable[Line], colours: dict[str, str]) -> Iterator[str]:
    """The lines of one colour and width as one path."""
    for (_, width, fill), group in groupby(sorted(lines, key=drawn_by), key=drawn_by):
        steps = " ".join(f"({_at(one.x, one.y)}) -- ({_at(one.to_x, one.to_y)})" for one in group)
        yield rf"\draw[{colours[fill]},line cap=rect,line width={width * _POINTS:.2f}bp] {steps};"


def _at(x: float, y: float) -> str:
    return f"{x:.1f},{y:.1f}".replace(".0,", ",").removesuffix(".0")
