"""Writing files: the whole new content, or the old file as it was.

What goes into a file is written beside it and renamed when it is complete, so that a full disk or a kill leaves an existing
file intact. Links are followed, and permissions stay.

>>> write_file("build/note.txt", "8x16")
>>> Path("build/note.txt").read_text(encoding="utf-8")
'8x16'
"""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from errno import EACCES, EISDIR, EPERM, EROFS
from pathlib import Path

__all__ = ["write_file"]


def write_file(path: str | Path, content: str | bytes) -> None:
    """Write text (as UTF-8) or bytes to a file, whose directory is made.

    Raises `OSError` with the file's name; an existing file is then what it was.

    >>> write_file("build/note.txt/inside", "8x16")
    Traceback (most recent call last):
    NotADirectoryError: [Errno 20] Not a directory: 'build/note.txt/inside'
    """
    data = content if isinstance(content, bytes) else content.encode()
    try:
        _write(Path(path), data)
    except FileExistsError as error:
        raise NotADirectoryError(20, "Not a directory", str(path)) from error
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise


def _write(path: Path, data: bytes) -> None:
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and stat.S_ISDIR(mode):
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
    if mode is not None and not stat.S_ISREG(mode):  # a device or a pipe: nothing can be renamed onto it
        target.write_bytes(data)
        return
    if mode is not None and not os.access(target, os.W_OK):
        raise PermissionError(EACCES, os.strerror(EACCES))
    try:
        handle, beside = tempfile.mkstemp(prefix=".layoutalg-", dir=target.parent)
    except OSError as error:
        if mode is None or error.errno not in (EACCES, EPERM, EROFS):
            raise
        target.write_bytes(data)  # a file of ours in a directory that is not
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(beside).chmod(stat.S_IMODE(mode) if mode is not None else 0o666 & ~_umask())
        Path(beside).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(beside).unlink()
        raise


def _umask() -> int:
    """The process's mask for new files, read without setting it where the system says it."""
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
        return int(next(line for line in lines if line.startswith("Umask:")).split()[1], 8)
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
