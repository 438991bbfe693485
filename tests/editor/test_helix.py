"""Helix's lines of docs/editors.md: keys that Helix reads, a command that starts, the files that the page says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from layoutalg.cli import main

PAGE = (Path(__file__).parents[2] / "docs" / "editors.md").read_text(encoding="utf-8")

# https://docs.helix-editor.com/languages.html (25.07); Helix ignores a whole file in which it does not know one key.
SERVER_KEYS = {"command", "args", "config", "timeout", "environment", "required-root-patterns"}
LANGUAGE_KEYS = {
    "name", "language-id", "scope", "injection-regex", "file-types", "shebangs", "roots", "auto-format",
    "diagnostic-severity", "comment-tokens", "block-comment-tokens", "indent", "language-servers", "grammar", "formatter",
    "soft-wrap", "text-width", "rulers", "path-completion", "word-completion", "workspace-lsp-roots",
    "persistent-diagnostic-sources", "rainbow-brackets",
}  # fmt: skip


def settings() -> dict[str, Any]:
    found = re.search("```toml\n(.*?)```", PAGE, re.S)
    assert found is not None
    return tomllib.loads(found[1])


def test_every_key_is_one_of_helix() -> None:
    found = settings()
    assert found.keys() == {"language-server", "language"}
    assert all(server.keys() <= SERVER_KEYS for server in found["language-server"].values())
    assert all(language.keys() <= LANGUAGE_KEYS for language in found["language"])


def test_a_language_of_its_own_says_its_name_scope_files_and_servers() -> None:
    """Helix knows no `mlir`: what it does not know needs a scope and the endings of files."""
    [language] = settings()["language"]
    assert language["name"] == "mlir"
    assert language["scope"] == "source.mlir"
    assert set(language["file-types"]) == {"mlir", "ttir", "ttgir"}
    assert set(language["language-servers"]) == settings()["language-server"].keys()


def test_the_server_is_a_command_of_ours() -> None:
    [server] = settings()["language-server"].values()
    assert server["command"] == "layoutalg"
    assert main([*server["args"], "--help"]) == 0
