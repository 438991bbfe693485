"""The protocol around the answers: `layoutalg lsp` on standard input and output.

It runs beside MLIR's own server and offers what that lacks. All answers come from functions of a text and a place in it
(`hover`, `actions`, `hints`); here they are asked, and offsets become the client's positions.

>>> answers = Answers(Asked())
>>> answers.open("file:///k.mlir", "mlir", 1, "#a = #xegpu.layout<lane_layout = [16]>")
>>> shown = answers.hover("file:///k.mlir", types.Position(0, 8))
>>> shown.contents.value.partition("\\n")[0]
'**`#xegpu.layout<lane_layout = [16]>`**'

Diagnostics are worked out in a thread of their own, so that no hover waits for them, a moment after the last key. Those of a
text that has changed meanwhile are dropped, and so is a change that was offered for it. What fails in one answer is written
to standard error, and the next is answered.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import unquote

from cattrs import transform_error
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams, JsonRpcParseError
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.json_rpc import JsonRPCNotification, JsonRPCRequestMessage

from layoutalg.core.errors import LayoutError
from layoutalg.editor.actions import Action, actions
from layoutalg.editor.documents import Asked, Document, Mark
from layoutalg.editor.hints import definition, hints
from layoutalg.editor.hover import hover, hover_python
from layoutalg.editor.positions import Encoding, Positions
from layoutalg.ir.findings import OURS
from layoutalg.show.findings import version_facts

__all__ = ["Answers", "serve", "server"]

_PATIENCE = 0.08
"""Seconds after a change before the text is checked."""
_PYTHON = "python"
_MOST_STRINGS = 16
"""Strings of Python sources that are kept read."""
_UNREAD = ValueError, RecursionError
"""What Python says of a text that is not JSON."""
_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")


@dataclass
class _Open:
    """A file as the editor has it now."""

    language: str
    version: int
    document: Document
    positions: Positions
    offered: list[Action] = field(default_factory=list[Action])


class Answers:
    """The open files, and the answers about them in the types of the protocol.

    >>> Answers(Asked()).hover("file:///not-open.mlir", types.Position(0, 0))
    """

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.encoding: Encoding = "utf-16"
        self.files: dict[str, _Open] = {}
        self.string = lru_cache(maxsize=_MOST_STRINGS)(self._string)

    def open(self, uri: str, language: str, version: int, text: str) -> None:
        """Take a file that was opened."""
        self._keep(uri, language, version, text, Document("", self.asked))

    def change(self, uri: str, version: int, text: str) -> None:
        """Take a new version of its text."""
        before = self.files.get(uri)
        if before is not None:
            self._keep(uri, before.language, version, text, before.document)

    def _keep(self, uri: str, language: str, version: int, text: str, before: Document) -> None:
        if language == "" and uri.endswith((".py", ".pyi")):
            language = _PYTHON
        document = Document("", self.asked)
        if language != _PYTHON:
            try:
                document = before.edited(_unmarked(text))
            except LayoutError as refusal:  # too large: nothing is said of it
                _log.warning("%s: %s", uri, refusal)
                text = ""
        self.files[uri] = _Open(language, version, document, Positions(text, self.encoding))

    def _string(self, text: str) -> Document:
        return Document(text, self.asked)

    def close(self, uri: str) -> None:
        """Forget a file."""
        self.files.pop(uri, None)

    def is_current(self, uri: str, version: int) -> bool:
        """Whether a file is open, with this version of its text."""
        there = self.files.get(uri)
        return there is not None and there.version == version

    def hover(self, uri: str, position: types.Position) -> types.Hover | None:
        """What is shown at a position."""
        there = self.files.get(uri)
        if there is None:
            return None
        offset = there.positions.offset(position.line, position.character)
        if there.language == _PYTHON:
            found = hover_python(_unmarked(there.positions.text), offset, self.string)
        else:
            found = hover(there.document, offset)
        if found is None:
            return None
        said = types.MarkupContent(types.MarkupKind.Markdown, found.markdown)
        return types.Hover(said, self._range(there, found.start, found.end))

    def definition(self, uri: str, position: types.Position) -> types.Location | None:
        """Where the alias at a position is defined."""
        there = self.files.get(uri)
        if there is None:
            return None
        found = definition(there.document, there.positions.offset(position.line, position.character))
        return None if found is None else types.Location(uri, self._range(there, *found))

    def hints(self, uri: str, part: types.Range) -> list[types.InlayHint]:
        """What stands behind the lines of a part of a file."""
        there = self.files.get(uri)
        if there is None:
            return []
        found = hints(there.document, *self._offsets(there, part))
        return [types.InlayHint(self._position(there, hint.offset), hint.label, padding_left=True) for hint in found]

    def diagnostics(self, uri: str, version: int) -> list[types.Diagnostic] | None:
        """What is wrong with a version of a file; None as soon as there is another."""
        there = self.files.get(uri)
        if there is None:
            return None
        found = there.document.marks(lambda: self.is_current(uri, version))
        return [self._diagnostic(uri, there, mark) for mark in found] if self.is_current(uri, version) else None

    def actions(self, uri: str, part: types.Range) -> list[types.CodeAction]:
        """The changes that are offered for a part of a file; `resolve` gives their edits."""
        there = self.files.get(uri)
        if there is None:
            return []
        there.offered = actions(there.document, *self._offsets(there, part))
        return [
            types.CodeAction(
                action.title,
                types.CodeActionKind(action.kind),
                diagnostics=None if action.mark is None else [self._diagnostic(uri, there, action.mark)],
                data={"uri": uri, "version": there.version, "number": number},
            )
            for number, action in enumerate(there.offered)
        ]

    def resolve(self, action: types.CodeAction) -> types.CodeAction:
        """A change with its edits; without, where the text has changed since it was offered, or it cannot be made.

        Raises `LayoutError` where its `data` is not what `actions` gave.
        """
        uri, version, number = _offer(action)
        there = self.files.get(uri)
        if there is None or there.version != version or not 0 <= number < len(there.offered):
            return action
        try:
            edits = there.offered[number].edits(there.document)
        except LayoutError as refusal:
            action.disabled = types.CodeActionDisabled(str(refusal))
            return action
        changes = [types.TextEdit(self._range(there, edit.start, edit.end), edit.text) for edit in edits]
        action.edit = types.WorkspaceEdit(changes={uri: changes})
        return action

    def _diagnostic(self, uri: str, there: _Open, mark: Mark) -> types.Diagnostic:
        finding = mark.finding
        severity = types.DiagnosticSeverity.Error if finding.level == "error" else types.DiagnosticSeverity.Warning
        related = [
            types.DiagnosticRelatedInformation(types.Location(uri, self._range(there, start, end)), said)
            for start, end, said in mark.related
        ]
        source = "layoutalg" if finding.source == OURS else f"layoutalg, {finding.source}"
        return types.Diagnostic(
            self._range(there, mark.start, mark.end),
            mark.message,
            severity,
            finding.rule,
            source=source,
            related_information=related or None,
        )

    def _position(self, there: _Open, offset: int) -> types.Position:
        return types.Position(*there.positions.at(offset))

    def _range(self, there: _Open, start: int, end: int) -> types.Range:
        return types.Range(self._position(there, start), self._position(there, end))

    def _offsets(self, there: _Open, part: types.Range) -> tuple[int, int]:
        start, end = (there.positions.offset(one.line, one.character) for one in (part.start, part.end))
        return start, end


def _unmarked(text: str) -> str:
    """A text whose byte order mark is a space: readers drop the mark, and editors count it."""
    return f" {text[1:]}" if text.startswith("\ufeff") else text


def _offer(action: types.CodeAction) -> tuple[str, int, int]:
    """What a change was offered for: a file, its version, and the change's number there."""
    match action.data:
        case {"uri": str(uri), "version": int(version), "number": int(number)}:
            return uri, version, number
        case _:
            raise LayoutError("not a change that was offered @ $.params.data")


@dataclass(frozen=True)
class _Malformed:
    """A message that is not one of the protocol, such as a request for a line of -1, and what is wrong with it."""

    number: int | str | None
    words: str


class _Protocol(LanguageServerProtocol):
    """The protocol with one line for a malformed message: the reply to a request, in the log where none is awaited.

    pygls shows both to the user, with a traceback in the log, and answers neither.
    """

    def structure_message(self, data: dict[str, Any]) -> Any:
        if "jsonrpc" not in data:
            return super().structure_message(data)
        number, method = data.get("id"), data.get("method")
        if not isinstance(number, int | str | None):
            return _Malformed(None, "the id is neither a number nor a text")
        if not isinstance(method, str):
            return _Malformed(number, "no method: the server asks nothing that needs a reply")
        other = JsonRPCNotification if number is None else JsonRPCRequestMessage
        kind = self.get_message_type(method) or other
        if (number is None) == hasattr(kind, "id"):
            return _Malformed(number, f"{method} {'has an' if number is None else 'is a notification: it has no'} id")
        try:
            message = self._converter.structure({"params": None} | data, kind)
            if isinstance(message, types.CodeActionResolveRequest):
                _offer(message.params)
            elif isinstance(message, types.ExecuteCommandRequest):
                raise LayoutError("there are no commands")
            elif isinstance(message, types.DidChangeTextDocumentNotification):
                self._changed(message.params.text_document.uri)
        except LayoutError as problem:
            return _Malformed(number, str(problem))
        except Exception as problem:
            return _Malformed(number, "; ".join(transform_error(problem)))
        return message

    def _changed(self, uri: str) -> None:
        """Refuse a change of a file that is not open, which pygls would show to the user as an error of the server."""
        if self._workspace is None or unquote(uri) not in self._workspace.text_documents:
            raise LayoutError(f"{uri} is not open: its change is left out")

    def handle_message(self, message: Any) -> None:
        if not isinstance(message, _Malformed):
            try:
                super().handle_message(message)
            except (AttributeError, TypeError) as problem:  # not a message; the number of a request to cancel is none
                _log.warning("%s", problem)
        elif message.number is None:
            _log.warning("%s", message.words)
        else:
            refusal = JsonRpcInvalidParams(f"layoutalg: {message.words}").to_response_error()
            self._send_response(message.number, error=refusal)


class _Server(LanguageServer):
    """A server that answers what is not JSON as JSON-RPC says, with an error that has no number, and logs a line of it.

    pygls shows the user an error of the server, and logs where its reader stands.
    """

    def report_server_error(self, error: Exception, source: Any) -> None:
        if isinstance(error, _UNREAD):
            refusal = {"code": JsonRpcParseError.CODE, "message": f"layoutalg: {error}"}
            self.protocol._send_data({"jsonrpc": "2.0", "id": None, "error": refusal})  # pyright: ignore[reportPrivateUsage]
        else:
            super().report_server_error(error, source)


def _told_in_a_line(record: logging.LogRecord) -> bool:
    """What pygls logs of a message that is not JSON, without the traceback."""
    problem = record.exc_info[1] if record.exc_info else None
    if isinstance(problem, _UNREAD):
        record.msg, record.args, record.exc_info = "a message that is not JSON: %s", (problem,), None
    return True


def server(answers: Answers) -> LanguageServer:
    """A server that is not started yet.

    >>> server(Answers(Asked())).name
    'layoutalg'
    """
    # Whole texts: pygls splits lines at more characters than the protocol does, which would misplace edits.
    ours = _Server(
        "layoutalg", version_facts().get("version", ""), types.TextDocumentSyncKind.Full, protocol_cls=_Protocol
    )
    checking = ThreadPoolExecutor(1, "checking")
    answering = ThreadPoolExecutor(1, "answering")
    tasks: dict[str, asyncio.Task[None]] = {}

    def check_later(uri: str, seconds: float) -> None:
        before = tasks.pop(uri, None)
        if before is not None:
            before.cancel()
        tasks[uri] = asyncio.get_running_loop().create_task(check(uri, seconds))

    async def check(uri: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        number = answers.files[uri].version
        found = await asyncio.get_running_loop().run_in_executor(checking, _survived, answers.diagnostics, uri, number)
        if found is not None and answers.is_current(uri, number):
            ours.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, number))

    async def answer(asked: Callable[..., Any], *about: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(answering, _survived, asked, *about)

    @ours.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        there = params.text_document
        answers.encoding = types.PositionEncodingKind(ours.workspace.position_encoding).value
        answers.open(there.uri, there.language_id, there.version, there.text)
        check_later(there.uri, 0)

    @ours.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        answers.change(uri, params.text_document.version, ours.workspace.get_text_document(uri).source)
        check_later(uri, _PATIENCE)

    @ours.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        answers.close(uri)
        task = tasks.pop(uri, None)
        if task is not None:
            task.cancel()
        ours.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    @ours.feature(types.TEXT_DOCUMENT_HOVER)
    async def hovered(params: types.HoverParams) -> types.Hover | None:
        return await answer(answers.hover, params.text_document.uri, params.position)

    @ours.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def defined(params: types.DefinitionParams) -> types.Location | None:
        return await answer(answers.definition, params.text_document.uri, params.position)

    @ours.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def hinted(params: types.InlayHintParams) -> list[types.InlayHint] | None:
        return await answer(answers.hints, params.text_document.uri, params.range)

    kinds = [types.CodeActionKind.QuickFix, types.CodeActionKind.RefactorRewrite]

    @ours.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(kinds, resolve_provider=True))
    async def offered(params: types.CodeActionParams) -> list[types.CodeAction] | None:
        return await answer(answers.actions, params.text_document.uri, params.range)

    @ours.feature(types.CODE_ACTION_RESOLVE)
    async def resolved(action: types.CodeAction) -> types.CodeAction:
        return await answer(answers.resolve, action) or action

    _ = (opened, changed, closed, hovered, defined, hinted, offered, resolved)
    return ours


def _survived(asked: Callable[..., _Answer], *about: Any) -> _Answer | None:
    """An answer, or None: what goes wrong in one does not stop the server."""
    try:
        return asked(*about)
    except Exception:
        _log.exception("no answer")
        return None


def serve(asked: Asked) -> None:
    """Answer on standard input and output until the client leaves; all else that is printed goes to standard error.

    Raises `LayoutError` where one of them is closed.
    """
    if sys.stdin is None or sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise LayoutError("lsp: standard input or output is closed")
    answers = Answers(asked)
    logging.getLogger("pygls.server").addFilter(_told_in_a_line)
    out, sys.stdout = sys.stdout, sys.stderr
    try:
        server(answers).start_io(sys.stdin.buffer, out.buffer)
    finally:
        sys.stdout = out
        answers.files.clear()  # what is being checked stops at the next piece
