"""The explorer in a notebook: `la.explore(x)` shows the same page, and its questions come to this Python as messages.

>>> from layoutalg.explorer.widget import state_of
>>> state_of("d0 = 8@reg, d1 = 16@lane")
{'tab': 'layout', 'text': 'd0 = 8@reg, d1 = 16@lane'}
>>> state_of(la.dpas("f16", "f16", "f32").c, (8, 16))
{'tab': 'layout', 'text': 'd0 = 8@reg, d1 = 16@lane', 'shape': '8x16'}

The page's files go along with the widget (`page/widget.js` loads them), so nothing is fetched from anywhere. Above the widget
stands the first picture, which the page hides. A file of `jupyter nbconvert --to html`, which has no widget without a network,
shows that picture.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from layoutalg.core.errors import LayoutError
from layoutalg.core.notation import as_sizes
from layoutalg.explorer.answers import answer
from layoutalg.explorer.server import page_files

if TYPE_CHECKING:
    from anywidget import AnyWidget

    from layoutalg.core.notation import Distributed
    from layoutalg.module import Module

__all__ = ["explore", "state_of"]


def explore(value: Distributed | Module | str = "", shape: Sequence[int] | None = None) -> AnyWidget:
    """The explorer as a widget, beginning with a value of any notation, a module, or a text, for a tensor of `shape`.

    In JupyterLab, VS Code and other notebooks that show ipywidgets (`pip install layoutalg[widget]`).

    Raises `LayoutError` where anywidget is not installed.

    >>> explore("d0 = 8@reg, d1 = 16@lane").state  # doctest: +SKIP
    {'tab': 'layout', 'text': 'd0 = 8@reg, d1 = 16@lane'}
    """
    try:
        kind = _widget()
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] not in ("anywidget", "traitlets", "ipywidgets"):
            raise
        raise LayoutError("the explorer in a notebook needs anywidget: pip install 'layoutalg[widget]'") from None
    state = state_of(value, shape)
    asked = {"kind": "layout", **{name: state[name] for name in ("text", "shape") if name in state}}
    first = [asked] if state["tab"] == "layout" and state.get("text", "").strip() else []
    known = [[one, answer(one)] for one in ({"kind": "choices"}, *first)]
    return kind(state=state, known=known, picture=_picture(value, known[-1][1]))


def state_of(value: Distributed | Module | str, shape: Sequence[int] | None = None) -> dict[str, str]:
    """What the page shows first, as `page/state.js` names it."""
    from layoutalg.module.module import Module

    if isinstance(value, Module):
        return {"tab": "file", "file": str(value)}
    sizes = "" if shape is None else "x".join(map(str, as_sizes(shape)))
    return {"tab": "layout", "text": str(value)} | ({"shape": sizes} if sizes else {})


def _picture(value: Distributed | Module | str, answered: dict[str, Any]) -> str:
    """What shows without the page, as HTML: the picture of the first answer, or the module; empty where there is neither."""
    from layoutalg.module.module import Module
    from layoutalg.viz.page import image
    from layoutalg.viz.svg import still

    if isinstance(value, Module):
        return value._repr_html_()  # pyright: ignore[reportPrivateUsage]
    return image(still(answered["svg"]), answered["title"]) if answered.get("svg") else ""


@cache
def _widget() -> type[AnyWidget]:
    """The class of the widget; anywidget is imported when it is first needed."""
    import traitlets
    from anywidget import AnyWidget
    from IPython.display import HTML, display  # pyright: ignore[reportUnknownVariableType]

    class Explorer(AnyWidget):
        """The page, its first state, and what is answered already: that a saved notebook shows too."""

        _esm = _script()
        state: Any = traitlets.Dict().tag(sync=True)
        known: Any = traitlets.Any().tag(sync=True)
        mark: Any = traitlets.Unicode().tag(sync=True)

        def __init__(self, picture: str, **given: Any) -> None:
            super().__init__(mark=secrets.token_hex(8), **given)
            self.picture = picture
            page: Any = self
            page.on_msg(self._asked)

        def _ipython_display_(self) -> None:
            page: Any = self
            display(HTML(f'<div data-layoutalg="{self.mark}">{self.picture}</div>'))
            display(page._repr_mimebundle_()[0], raw=True)

        def _asked(self, page: Any, message: dict[str, Any], _buffers: object) -> None:
            page.send({"to": message.get("from"), "answer": answer(message.get("question", {}))})

    return Explorer


def _script() -> str:
    """The page's files and what starts them, as one module."""
    texts = {path.removeprefix("/"): content.decode() for path, (_, content) in page_files().items()}
    needed = {name: text for name, text in texts.items() if name.endswith((".js", ".css"))}
    start = needed.pop("widget.js")
    return f"const FILES = {json.dumps(needed)};\n{start}"
