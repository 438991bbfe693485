"""What mkdocs does not do by itself: the notebooks are pages, every warning counts, no page loads from another host.

The notebooks stand beside `docs/`, where a reader of the repository finds them; on the site they are `notebooks/...`. The
explorer that needs no server is added as files (`tools/static_explorer`).

`mkdocs build --strict --quiet` lets warnings through, because what is not logged is not counted. Notebook pages come with
loaders for MathJax and Mermaid, from another host; they are taken out, and a page that still loads something fails the build.

>>> REMOTE.search('<script src="https://example.org/a.js">') is None
False
>>> without_loaders('<p>kept</p><script type="module">import("https://example.org/mermaid.js")</script>')
'<p>kept</p>'
"""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File

from layoutalg.ir.listing import listing

__all__ = [
    "linked",
    "notebooks",
    "on_files",
    "on_page_markdown",
    "on_post_build",
    "on_post_page",
    "on_startup",
    "without_loaders",
]

ROOT = Path(__file__).parent.parent

_SCRIPT = r"(?:(?!</script>).)*"
LOADERS = (
    re.compile(r"<!-- Load mathjax -->.*?<!-- End of mathjax configuration -->", re.DOTALL),
    re.compile(rf'<script type="module">{_SCRIPT}mermaid{_SCRIPT}</script>', re.DOTALL),
)
REMOTE = re.compile(
    r"""<(?:script|img|iframe|source|embed|object)\b[^>]*(?:src|data)\s*=\s*["']?(?:https?:)?//[^>]*>"""
    r"""|<link\b[^>]*href\s*=\s*["']?(?:https?:)?//[^>]*>"""
    r"""|(?:import\s*\(|@import\s+|url\()\s*["']?(?:https?:)?//[^)\s]*"""
)


def without_loaders(html: str) -> str:
    """A notebook's page without what would load MathJax or Mermaid.

    >>> without_loaders("<p>kept</p>")
    '<p>kept</p>'
    """
    for loader in LOADERS:
        html = loader.sub("", html)
    return html


def linked(html: str) -> str:
    """A notebook's page with links to other notebooks' pages, in place of their files.

    >>> linked('<a href="4_amx_tiles.ipynb">')
    '<a href="../4_amx_tiles/">'
    """
    return re.sub(r'href="(\w+)\.ipynb"', r'href="../\1/"', html)


def notebooks() -> list[str]:
    """The notebooks' names on the site.

    >>> notebooks()[0]
    'notebooks/1_reading_an_xegpu_layout.ipynb'
    """
    return sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("notebooks/*.ipynb"))


@event_priority(100)  # before the plugin that looks for notebooks among the files
def on_files(files: Any, config: Any) -> Any:
    """Called by mkdocs with the files of `docs/`."""
    for name in notebooks():
        files.append(File(name, str(ROOT), config.site_dir, config.use_directory_urls))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs with the text of each page: lists that are made of tables, and the changelog.

    >>> on_page_markdown("<!-- changes -->").startswith("The format follows")
    True
    """
    made = {"<!-- operations -->": listing, "<!-- changes -->": _changes}
    for mark, text in made.items():
        if mark in markdown:
            markdown = markdown.replace(mark, text())
    return markdown


def _changes() -> str:
    """The changelog without its title; its links begin in `docs/`, as this page does."""
    return (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n", 1)[1].lstrip().replace("](docs/", "](")


def on_post_build(config: Any, **_: Any) -> None:
    """Called by mkdocs after a build: the explorer that needs no server goes beside its page."""
    folder = Path(config.site_dir) / "explorer" / "page"
    subprocess.run([sys.executable, str(ROOT / "tools" / "static_explorer" / "build.py"), str(folder)], check=True)


def on_startup(**_: Any) -> None:
    """Called by mkdocs before a build: warnings are logged whatever was asked for."""
    logger = logging.getLogger("mkdocs")
    logger.setLevel(min(logger.level, logging.WARNING))


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Called by mkdocs with the HTML of each page.

    Raises `PluginError` for a page that loads a script, a style, a font or an image from another host, and for an API page
    in which an example came out as text.
    """
    html = linked(without_loaders(output)) if page.file.src_uri.endswith(".ipynb") else without_loaders(output)
    if page.file.src_uri.startswith("api/") and "<blockquote" in html:
        raise PluginError(f"{page.file.src_uri}: a quotation; is an example of a docstring no code block?")
    remote = REMOTE.search(html)
    if remote is not None:
        raise PluginError(f"{page.file.src_uri}: loads from another host: {remote[0][:200]}")
    return html
