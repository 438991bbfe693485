"""`layoutalg lsp`: a language server on standard input and output."""

from __future__ import annotations

import click

from layoutalg.cli.arguments import CHIP, llvm_option
from layoutalg.core.errors import LayoutError

__all__ = ["lsp"]


@click.command(short_help="Answer an editor: hovers, diagnostics, changes.")
@llvm_option("The version of LLVM whose verifiers give the diagnostics.")
@click.option("--target", type=CHIP, metavar="CHIP", help="The chip that counts.  [default: what a file says, or pvc]")
@click.option("--stdio", is_flag=True, help="Accepted for editors that add it: the default, and the only way.")
def lsp(llvm: int, target: str | None, stdio: bool) -> None:
    """Answer an editor in its language server protocol, on standard input and output.

    Needs `pip install layoutalg[lsp]`. It shows who holds what on hover, what `verify` and `check` find, repairs, and how
    many lanes and registers a layout has. Definitions of values and completion are for MLIR's own server, beside it.
    """
    try:
        from layoutalg.editor.server import serve
    except ModuleNotFoundError as missing:
        package = str(missing.name).partition(".")[0]
        if package not in ("pygls", "lsprotocol"):
            raise
        raise LayoutError(f"lsp needs {package}: pip install 'layoutalg[lsp]'") from None
    from layoutalg.editor.documents import Asked

    serve(Asked(llvm, target))
