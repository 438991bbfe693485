"""In the editor: hovers, diagnostics, changes and hints for MLIR, and for the layouts in Python's strings.

`documents` cuts a text into pieces and keeps what is known of each; `hover`, `actions` and `hints` answer about a place in a
text, by offsets; `server` speaks the protocol.

>>> from layoutalg.editor.documents import Document
>>> from layoutalg.editor.hover import hover
>>> hover(Document("%t = amx.tile_zero : !amx.tile<16x16xf32>"), 22).markdown.partition("\\n")[0]
'**`!amx.tile<16x16xf32>`** for `16x16`'
"""

__all__: list[str] = []
