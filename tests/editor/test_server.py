"""The server over its pipes, as an editor talks to it."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lsprotocol.types import METHOD_TO_TYPES

from tests.editor.client import Client
from tests.editor.texts import KERNEL, MODULES, ROWS, TTGIR

URI = "file:///project/kernel.mlir"


@pytest.fixture(scope="module")
def client() -> Client:
    with Client() as one:
        yield one  # type: ignore[misc]


def place(text: str, words: str, units: int = 1) -> tuple[int, int]:
    """Line and character of some words, with so many units for an emoji."""
    offset = text.index(words)
    begin = text.rfind("\n", 0, offset) + 1
    return text.count("\n", 0, offset), sum(units if ord(one) > 0xFFFF else 1 for one in text[begin:offset])


def test_a_hover_an_edit_and_its_diagnostics(client: Client) -> None:
    found = client.diagnostics(client.open(URI, KERNEL))
    assert [one["code"] for one in found] == ["layouts.operand"]
    line, character = place(KERNEL, "arith.addf %r")
    assert found[0]["range"] == {
        "start": {"line": line, "character": character},
        "end": {"line": line, "character": character + len("arith.addf")},
    }
    assert {one["location"]["range"]["start"]["line"] for one in found[0]["relatedInformation"]} == {line - 1}
    shown = client.at("hover", URI, *place(KERNEL, "math.exp"))
    assert "d0 = 16@reg, d1 = 16@lane" in shown["contents"]["value"]
    assert client.diagnostics(client.change(URI, KERNEL.replace("{layout_result_0 = #rows} dense", "dense"))) == []


def test_a_change_is_offered_and_taken(client: Client) -> None:
    client.open(URI, KERNEL)
    line, character = place(KERNEL, "xegpu.convert_layout %c")
    part = {"start": {"line": line, "character": character}, "end": {"line": line, "character": character}}
    asked = {"textDocument": {"uri": URI}, "range": part, "context": {"diagnostics": []}}
    found = client.ask("textDocument/codeAction", **asked)
    removal = next(one for one in found if one["title"].startswith("Remove"))
    edits = client.ask("codeAction/resolve", **removal)["edit"]["changes"][URI]
    assert {(edit["range"]["start"]["line"], edit["newText"]) for edit in edits} == {(line, ""), (line + 1, "%c")}
    client.change(URI, KERNEL + "\n")
    assert "edit" not in client.ask("codeAction/resolve", **removal)  # offered for a text that is gone


def test_hints_and_definitions(client: Client) -> None:
    client.open(URI, KERNEL)
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
    hints = client.ask("textDocument/inlayHint", textDocument={"uri": URI}, range=whole)
    load, _ = place(KERNEL, "%x = xegpu.load_nd")
    assert (load, "16 lanes x 16 registers") in [(one["position"]["line"], one["label"]) for one in hints]
    found = client.at("definition", URI, *place(KERNEL, "#rows}"))
    assert found["range"]["start"] == {"line": 2, "character": 0}


def test_only_the_newest_text_is_told_of(client: Client) -> None:
    client.open(URI, KERNEL)
    client.published.clear()
    versions = [client.change(URI, KERNEL + "\n" * number) for number in range(30)]
    assert client.diagnostics(versions[-1])
    assert len(client.published) < 5


def test_a_closed_file_has_no_diagnostics(client: Client) -> None:
    client.diagnostics(client.open(URI, KERNEL))
    client.published.clear()
    client.tell("textDocument/didClose", textDocument={"uri": URI})
    assert client.at("hover", URI, 0, 0) is None
    assert [one["diagnostics"] for one in client.published] == [[]]


def test_a_change_of_a_file_that_was_never_opened_is_nothing(client: Client) -> None:
    client.change("file:///project/never.mlir", KERNEL)
    assert client.diagnostics(client.open(URI, KERNEL))  # and the server says nothing else


def test_python_is_read_for_hovers_alone(client: Client) -> None:
    source = f'K = """\n{KERNEL}"""\n'
    uri = "file:///project/kernel.py"
    assert client.diagnostics(client.open(uri, source, "python")) == []
    assert "as its operands give it" in client.at("hover", uri, *place(source, "math.exp"))["contents"]["value"]


@pytest.mark.parametrize(("encoding", "units"), [("utf-8", 4), ("utf-16", 2), ("utf-32", 1)])
def test_positions_are_in_the_units_of_the_client(encoding: str, units: int) -> None:
    before = 'func.func @f() {\n  "test.op"() {a = "\N{GRINNING FACE}"} : () -> () '
    text = before + "xegpu.alloc_nbarrier -1\n  return\n}\n"
    with Client(encodings=(encoding,)) as client:
        assert client.capabilities["positionEncoding"] == encoding
        [found] = client.diagnostics(client.open(URI, text))
        assert found["range"]["start"] == dict(
            zip(("line", "character"), place(text, "xegpu.alloc", units), strict=True)
        )


@pytest.mark.parametrize(("encoding", "units"), [("utf-8", 3), ("utf-16", 1)])
def test_a_byte_order_mark_shifts_no_column(encoding: str, units: int) -> None:
    """On the first line, where an editor counts the mark."""
    text = "func.func @f() { xegpu.alloc_nbarrier -1 func.return }\n"
    source = f'K = "{ROWS}"\n'
    layout = source.index("#xegpu")
    with Client(encodings=(encoding,)) as client:
        for mark, shift in (("", 0), ("\ufeff", units)):
            [found] = client.diagnostics(client.open(URI, mark + text))
            assert found["range"]["start"] == {"line": 0, "character": 17 + shift}
            client.open("file:///marked.py", mark + source, "python")
            shown = client.at("hover", "file:///marked.py", 0, layout + shift)
            assert shown["range"]["start"] == {"line": 0, "character": layout + shift}


@pytest.mark.parametrize(
    "position",
    [
        {"line": -1, "character": 0}, {"line": 0, "character": -5}, {"line": 10**12, "character": 0},
        {"line": 1, "character": 10**30}, {"line": "x", "character": 0}, {"line": 0}, {}, None, [1, 2], "0:0",
    ],
)  # fmt: skip
def test_a_malformed_position_is_refused_in_words(position: Any, client: Client) -> None:
    client.open(URI, KERNEL)
    for method, field in (("hover", {"position": position}), ("inlayHint", {"range": {"start": position}})):
        error = client.reply(f"textDocument/{method}", {"textDocument": {"uri": URI}, **field})["error"]
        assert error["code"] == -32602  # InvalidParams of JSON-RPC
        assert error["message"].startswith("layoutalg: ")
        assert "@ $.params." in error["message"]
        assert "\n" not in error["message"]
    assert client.at("hover", URI, *place(KERNEL, "math.exp"))


HOSTILE: list[Any] = [
    None, True, -1, 1e300, "x", [], {}, {"textDocument": None}, {"textDocument": {"uri": URI}}, {"data": {}, "title": 1},
    {"jsonrpc": "2.0", "id": 1, "method": "textDocument/hover"}, {"title": "x"}, {"title": "x", "data": 5},
    {"title": "x", "data": {"uri": [], "version": 1, "number": 0}}, {"title": "x", "data": {"uri": URI}},
    {"title": "x", "data": {"uri": URI, "version": 1, "number": "x"}}, {"capabilities": 7}, {"id": {}}, {"value": []},
    {"textDocument": {"uri": URI}, "range": {"start": {"line": 9, "character": 9}, "end": {"line": 0, "character": 0}}},
    {"textDocument": {"uri": URI, "version": 9}, "contentChanges": [{"text": 5}]}, {"command": "x", "arguments": [{}]},
]  # fmt: skip


def test_no_params_of_any_request_leave_it_without_one_line_of_an_answer() -> None:
    with Client() as client:
        client.open(URI, KERNEL)
        for method in [*sorted(METHOD_TO_TYPES.keys() - {"shutdown", "exit"}), "nonsense"]:
            for params in HOSTILE:
                client.send(method=method, params=params)
                error = client.reply(method, params).get("error", {"code": -32602, "message": ""})
                assert error["code"] in (-32602, -32601), (method, params, error)  # InvalidParams, MethodNotFound
                assert "\n" not in error["message"]
        for data in (None, 5, {"uri": []}, {"uri": URI, "version": 1, "number": "x"}):
            error = client.reply("codeAction/resolve", {"title": "x", "data": data})["error"]
            assert error == {"code": -32602, "message": "layoutalg: not a change that was offered @ $.params.data"}
        client.open(URI, KERNEL)
        assert client.at("hover", URI, *place(KERNEL, "math.exp"))
        assert "Traceback" not in client.logged()


@pytest.mark.parametrize(
    "body", [b"hello", b"\xff\xfe\xfd", b"{", b"[" * 20_000, b'{"jsonrpc": "2.0", "id": 1, '], ids=len
)
def test_what_is_not_json_is_answered_as_json_rpc_says(body: bytes) -> None:
    with Client() as client:
        assert client.process.stdin is not None
        client.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        answer = client.receive()
        assert (answer["id"], answer["error"]["code"]) == (None, -32700)  # ParseError of JSON-RPC 2.0, section 5.1
        client.open(URI, KERNEL)
        assert client.at("hover", URI, *place(KERNEL, "math.exp"))
        assert "Traceback" not in client.logged()
        assert "a message that is not JSON" in client.logged()


def test_texts_that_are_not_mlir_do_not_stop_it(client: Client) -> None:
    for text in ("", "\x00", "{" * 5000, "func.func @f(" * 500, '"' * 999, "\N{GRINNING FACE}" * 999, KERNEL[:900]):
        client.diagnostics(client.open("file:///other.mlir", text))
        client.at("hover", "file:///other.mlir", 0, 3)
    assert client.diagnostics(client.open(URI, KERNEL))


@pytest.mark.slow
def test_damaged_texts_of_every_system_leave_it_as_quick_and_as_small() -> None:
    """Cut, doubled and mistyped at random places, in one server: every one is answered, nothing is kept of closed files."""
    chance = random.Random(9)
    texts = [text[:3000] for text in (KERNEL, *list(MODULES.values())[::9], *list(TTGIR.values())[:1])]
    with Client() as client:
        sizes: list[int] = []
        for _ in range(2):
            for number, text in enumerate(texts):
                uri = f"file:///damaged/{number}.mlir"
                at = chance.randrange(len(text))
                for one in (
                    text,
                    text[:at],
                    text[at:],
                    text[:at] + chance.choice('{}()<>[]"#%@!^') + text[at:],
                    text[:at] * 2,
                ):
                    version = client.open(uri, one) if one is text else client.change(uri, one)
                    client.at("hover", uri, chance.randrange(one.count("\n") + 1), chance.randrange(60))
                    client.diagnostics(version)
                client.published.clear()
                client.tell("textDocument/didClose", textDocument={"uri": uri})
            sizes.append(memory_of(client))
        assert "Traceback" not in client.logged()
        assert sizes[1] < sizes[0] + 100 * 1024, sizes  # kilobytes


def memory_of(client: Client) -> int:
    """The resident memory of the server in kilobytes; 0 where the system does not say."""
    status = Path(f"/proc/{client.process.pid}/status")
    found = re.search(r"VmRSS:\s+(\d+)", status.read_text()) if status.exists() else None
    return 0 if found is None else int(found[1])


def test_options_are_those_of_verify() -> None:
    text = "func.func @f() {\n  %z = amx.tile_zero : !amx.tile<16x16xf32>\n  return\n}\n"
    with Client("--llvm", "22", "--stdio") as client:
        found = client.diagnostics(client.open(URI, text))
        assert not any("LLVM 24" in one["source"] for one in found)


def test_without_the_extra_an_error_says_what_to_install() -> None:
    code = "import sys; sys.modules['pygls'] = None\nfrom layoutalg.cli import main\nsys.exit(main(['lsp']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "layoutalg: lsp needs pygls" in done.stderr
    assert "pip install 'layoutalg[lsp]'" in done.stderr


def test_it_ends_quietly_when_the_editor_leaves() -> None:
    """LSP: the exit code is 0 where `shutdown` came before `exit`."""
    said = [
        {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ]
    sent = b""
    for one in said:
        body = json.dumps({"jsonrpc": "2.0", **one}).encode()
        sent += b"Content-Length: %d\r\n\r\n" % len(body) + body
    ended = subprocess.run([sys.executable, "-m", "layoutalg", "lsp"], input=sent, capture_output=True, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, b"")
