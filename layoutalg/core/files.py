"""Files: written whole or not at all, read only when they are text of a size that is read.

What goes into a file is written beside it and renamed when it is complete, so that a full disk or a kill leaves an existing
file intact. Links are followed, and permissions stay. Reading refuses directories, devices, bytes that are not text, and
pipes that nobody writes to, in words:

>>> write_file("build/note.txt", "8x16")
>>> read_file("build/note.txt")
'8x16'
>>> read_file("build")
Traceback (most recent call last):
layoutalg.core.errors.LayoutError: build: a directory; expected a file
"""

from __future__ import annotations

import os
import select
import stat
import tempfile
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable
from contextlib import suppress
from errno import EACCES, EISDIR, ENOTDIR, EPERM, EROFS
from pathlib import Path

from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import LONGEST_SILENCE, MAX_TEXT
from layoutalg.core.messages import shown

__all__ = ["as_path", "read_file", "text_of", "write_file", "write_files"]

_LONGEST_PART = 255
"""Bytes of the name of a file or of a folder."""


def read_file(path: str | Path) -> str:
    """The text of a file: UTF-8, line ends as `\\n`, without a byte order mark; at most 16 MiB.

    A pipe is read to its end, as long as somebody writes to it.

    Raises `LayoutError` for what is not such a file, and where it cannot be opened.
    """
    name = str(path)
    try:
        # Without O_NONBLOCK opening a pipe waits for somebody who writes to it.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not the name of a file"
        raise LayoutError(f"{_name(name)}: {reason[0].lower()}{reason[1:]}") from None
    try:
        data = _read(handle, _name(name))
    except OSError as error:
        raise LayoutError(f"{_name(name)}: {error.strerror or 'it cannot be read'}") from None
    finally:
        os.close(handle)
    return text_of(data, _name(name))


def text_of(data: bytes, name: str) -> str:
    """The text that the bytes of a file called `name` are.

    Raises `LayoutError` for no bytes, for too many, and for what is not text in UTF-8.

    >>> text_of(b"\\xef\\xbb\\xbfgpu.barrier\\r\\n", "k.mlir")
    'gpu.barrier\\n'
    >>> text_of(bytes([0xff, 0xfe, 0x41, 0]), "k.mlir")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: k.mlir: UTF-16; expected UTF-8
    """
    if len(data) > MAX_TEXT:
        raise LayoutError(f"{name}: over {MAX_TEXT} bytes (16 MiB); no larger file is read")
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise LayoutError(f"{name}: UTF-16; expected UTF-8")
    data = data.removeprefix(BOM_UTF8)
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise LayoutError(f"{name}: a zero byte in line {line}; expected text")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise LayoutError(f"{name}: byte {error.start} (line {line}) is not UTF-8") from None
    if not text.strip():
        raise LayoutError(f"{name}: empty")
    return text.replace("\r\n", "\n")


def _name(name: str) -> str:
    return name if name.isprintable() else shown(name)


def _read(handle: int, name: str) -> bytes:
    kind = os.fstat(handle).st_mode
    if stat.S_ISDIR(kind):
        raise LayoutError(f"{name}: a directory; expected a file")
    piped = stat.S_ISFIFO(kind)
    if not piped and not stat.S_ISREG(kind):
        raise LayoutError(f"{name}: a device or a socket; expected a file")
    found = bytearray()
    while len(found) <= MAX_TEXT:
        try:
            part = os.read(handle, MAX_TEXT + 1 - len(found))
        except BlockingIOError:
            waiting = select.poll()
            waiting.register(handle, select.POLLIN)
            if not waiting.poll(LONGEST_SILENCE * 1000):
                raise LayoutError(f"{name}: a pipe to which nothing came for {LONGEST_SILENCE} s") from None
            continue
        if not part:
            break
        found += part
    if piped and not found:
        raise LayoutError(f"{name}: a pipe that nobody writes to")
    return bytes(found)


def as_path(path: str | os.PathLike[str], what: str, error: type[LayoutError] = LayoutError) -> Path:
    """The name of a file that a caller gave; `what` begins the message.

    Raises `error` for what is not a name, and for one that no file can have.

    >>> as_path("build/note.txt", "picture").name
    'note.txt'
    >>> as_path("build/\\0", "picture")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: picture 'build/\\x00': expected the name of a file
    """
    try:
        found = Path(path)
        longest = max((len(os.fsencode(part)) for part in found.parts), default=0)
    except (TypeError, ValueError):  # ValueError: half of a character (a surrogate)
        longest = _LONGEST_PART + 1
        found = Path()
    if longest > _LONGEST_PART or "\0" in str(found):
        raise error(f"{what} {shown(path)}: expected the name of a file")
    return found


def write_file(path: str | Path, content: str | bytes) -> None:
    """Write text (as UTF-8) or bytes to a file, whose directory is made.

    Raises `OSError` with the file's name; an existing file is then what it was.
    """
    write_files((path, content))


def write_files(*files: tuple[str | Path, str | bytes]) -> None:
    """Write several files, or none of them where one cannot be written (but for devices and files written in place).

    Raises `OSError` with the name of the file that cannot be written, and `LayoutError` where two are one file.

    >>> write_files(("build/a.txt", "8x16"), ("build/../build/a.txt", "16x8"))
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: build/../build/a.txt: the same file as build/a.txt; give each its own
    """
    prepared: list[_PendingFile] = []
    try:
        for path, content in files:
            prepared.append(_PendingFile(path))
            _reporting(prepared[-1], prepared[-1].prepare, content if isinstance(content, bytes) else content.encode())
            for other in prepared[:-1]:
                if other.target == prepared[-1].target and prepared[-1].beside is not None:
                    raise LayoutError(f"{path}: the same file as {other.path}; give each its own")
        for one in sorted(prepared, key=lambda one: one.beside is not None):  # what is not renamed cannot be undone
            if len(prepared) > 1:
                one.keep_old()
            _reporting(one, one.finish)
        for one in prepared:
            one.forget_old()
    except BaseException:
        for one in reversed(prepared):
            one.undo()
        raise


def _reporting(one: _PendingFile, step: Callable[..., None], *arguments: bytes) -> None:
    """Take a step; what goes wrong names the file as the caller did."""
    try:
        step(*arguments)
    except FileExistsError as error:
        raise NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR), str(one.path)) from error
    except OSError as error:
        error.filename, error.filename2 = str(one.path), None
        raise


class _PendingFile:
    """A file whose content is complete beside it."""

    def __init__(self, path: str | Path) -> None:
        self.path = path
        self.target = Path(os.path.realpath(path))
        self.beside: Path | None = None
        self.data = b""
        self.made: list[Path] = []
        self.old: Path | None = None
        self.finished = False

    def prepare(self, data: bytes) -> None:
        """Make its directory, and write what it is to hold beside it."""
        target, self.data = self.target, data
        self.made = [folder for folder in target.parents if not folder.exists()]
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            mode = target.stat().st_mode
        except FileNotFoundError:
            mode = None
        if mode is not None and stat.S_ISDIR(mode):
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        if mode is not None and not stat.S_ISREG(mode):  # a device or a pipe: nothing can be renamed onto it
            return
        if mode is not None and not os.access(target, os.W_OK):
            raise PermissionError(EACCES, os.strerror(EACCES))
        try:
            handle, beside = tempfile.mkstemp(prefix=".layoutalg-", dir=target.parent)
        except OSError as error:
            if mode is None or error.errno not in (EACCES, EPERM, EROFS):
                raise
            return  # a file of ours in a directory that is not
        self.beside = Path(beside)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        self.beside.chmod(stat.S_IMODE(mode) if mode is not None else 0o666 & ~_umask())

    def finish(self) -> None:
        """Put the content in its place."""
        if self.beside is None:
            self.target.write_bytes(self.data)
            return
        self.beside.replace(self.target)
        self.finished = True

    def keep_old(self) -> None:
        """Give the file that is there a second name, where the file system can, until all files are written."""
        if self.beside is not None and self.target.exists():
            with suppress(OSError):
                old = self.beside.with_name(f"{self.beside.name}-old")
                os.link(self.target, old)
                self.old = old

    def forget_old(self) -> None:
        """Take the second name away."""
        if self.old is not None:
            with suppress(OSError):
                self.old.unlink()

    def undo(self) -> None:
        """Remove what was made for it, and put back what was there."""
        with suppress(OSError):
            if self.finished and self.old is not None:
                self.old.replace(self.target)
            elif self.finished:
                self.target.unlink()
            elif self.beside is not None:
                self.beside.unlink()
        self.forget_old()
        for folder in self.made:
            with suppress(OSError):
                folder.rmdir()


def _umask() -> int:
    """The process's mask for new files, read without setting it where the system says it."""
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
        return int(next(line for line in lines if line.startswith("Umask:")).split()[1], 8)
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
