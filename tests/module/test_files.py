"""`la.read`: which string is a file and which is text; what is refused, in words, and without waiting."""

from __future__ import annotations

import os
import pickle
import threading
from pathlib import Path

import pytest

from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import MAX_TEXT
from layoutalg.module import Module, read

TEXT = "gpu.barrier\n%c = arith.constant 16 : index\n"


def refusal(path: str | os.PathLike[str]) -> str:
    with pytest.raises(LayoutError) as caught:
        read(path)
    return str(caught.value)


def test_a_path_and_a_string_name_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "k.mlir").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    for one in ("k.mlir", Path("k.mlir")):
        assert read(one) == Module(TEXT, "k.mlir")
    assert len(list(read(str(tmp_path / "k.mlir")).parts[0].module.ops)) == 2


@pytest.mark.parametrize("text", [TEXT, "gpu.barrier", "%c = arith.constant 16 : index", '"foo.bar"() : () -> ()'])
def test_text_is_text(text: str) -> None:
    assert read(text).file == "text"
    assert read(text).source == text


@pytest.mark.parametrize("name", ["k.mlir", "no/such/kernel", "kernel", "kernel.txt", "no such.mlir"])
def test_what_looks_like_a_file_and_is_not_there_is_said_to_be_missing(name: str) -> None:
    assert refusal(name) == f"{name}: no such file or directory"


def test_a_file_without_an_extension_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gpu.barrier").write_text(TEXT)
    assert read("gpu.barrier").source == TEXT


def test_line_ends_and_byte_order_marks_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "k.mlir"
    path.write_bytes(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())
    assert read(path).source == TEXT


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b" \n\t\n", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b"gpu.barrier\n\xff\n", "byte 12 (line 2) is not UTF-8"),
        (b"gpu.barrier\n\0", "a zero byte in line 2; expected text"),
        ("gpu.barrier".encode("utf-16"), "UTF-16; expected UTF-8"),
        (b"\x7fELF\0\0", "a zero byte in line 1; expected text"),
        (b" " * (MAX_TEXT + 1), f"over {MAX_TEXT} bytes (16 MiB); no larger file is read"),
    ],
)
def test_bytes_that_are_not_a_module_are_refused(data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "k.mlir"
    path.write_bytes(data)
    assert refusal(path) == f"{path}: {words}"


def test_a_directory_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path) == f"{tmp_path}: a directory; expected a file"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(TEXT)
    path.chmod(0)
    assert refusal(path) == f"{path}: permission denied"


def test_a_refusal_of_the_system_is_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(TEXT)

    def refuse(*arguments: object) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("layoutalg.core.files.os.open", refuse)
    assert refusal(path) == f"{path}: permission denied"


def test_a_pipe_that_nobody_writes_to_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    found: list[str] = []
    waiting = threading.Thread(target=lambda: found.append(refusal(path)), daemon=True)
    waiting.start()
    waiting.join(10)
    assert found == [f"{path}: a pipe that nobody writes to"]


def test_a_pipe_is_read_to_its_end() -> None:
    reading, writing = os.pipe()
    long = TEXT * 20_000  # more than a pipe holds

    def write() -> None:
        with os.fdopen(writing, "w") as file:
            file.write(long)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert read(f"/dev/fd/{reading}").source == long
    finally:
        thread.join()
        os.close(reading)


def test_a_pipe_on_which_nothing_comes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("layoutalg.core.files.LONGEST_SILENCE", 0)
    reading, writing = os.pipe()
    try:
        assert refusal(f"/dev/fd/{reading}") == f"/dev/fd/{reading}: a pipe to which nothing came for 0 s"
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null"])
def test_a_device_is_refused(path: str) -> None:
    assert refusal(path) == f"{path}: a device or a socket; expected a file"


@pytest.mark.parametrize("value", [None, 3, b"gpu.barrier", ["gpu.barrier"]])
def test_what_is_neither_a_path_nor_text_is_refused(value: object) -> None:
    assert "expected MLIR text or the path of a file" in refusal(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", " ", "\n", "gpu.barrier\n\ud800", "a\0b\n"])
def test_texts_that_are_not_text_are_refused(text: str) -> None:
    assert refusal(text)


def test_modules_are_values() -> None:
    one, two = read(TEXT), read(TEXT)
    assert one.parts
    assert one == two
    assert hash(one) == hash(two)
    assert one != Module(TEXT, "other.mlir")
    again = pickle.loads(pickle.dumps(one))
    assert again == one
    assert len(pickle.dumps(one)) < len(TEXT) + 200
    assert str(again) == str(one)
    with pytest.raises(AttributeError):
        one.source = "x"  # type: ignore[misc]
