"""Files are written whole or not at all: full disks, kills, links, permissions, and what is not a regular file."""

from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from layoutalg.cli import main
from layoutalg.core.files import write_file, write_files


def limited(script: str, folder: Path, blocks: int = 8) -> subprocess.CompletedProcess[str]:
    """Run a script whose files may have at most 1024 * `blocks` bytes, as on a full disk."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024 * blocks, 1024 * blocks))

    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", "")},
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("ending", ["svg", "html", "pdf", "png"])
def test_a_full_disk_leaves_the_old_picture(ending: str, tmp_path: Path) -> None:
    old = tmp_path / f"picture.{ending}"
    old.write_text("old", encoding="utf-8")
    script = f"""
        import sys
        from layoutalg.cli import main
        sys.exit(main(["draw", "d0 = 64@reg, d1 = 64@lane", "--full", "-o", "picture.{ending}"]))
    """
    done = limited(script, tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"layoutalg: picture.{ending}: ")
    assert done.stderr.count("\n") == 1
    assert old.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [old]


def test_a_full_disk_leaves_the_old_kernel(tmp_path: Path) -> None:
    old = tmp_path / "gemm.mlir"
    old.write_text("old", encoding="utf-8")
    script = """
        import sys
        from layoutalg.cli import main
        sys.exit(main(["gemm", "512", "512", "512", "-o", "gemm.mlir"]))
    """
    done = limited(script, tmp_path, 1)
    assert done.returncode == 2
    assert done.stderr.startswith("layoutalg: gemm.mlir: ")
    assert [*tmp_path.iterdir()] == [old]
    assert old.read_text(encoding="utf-8") == "old"


def test_a_kill_between_writing_and_renaming_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "a.svg"
    target.write_text("old", encoding="utf-8")

    def killed(self: Path, other: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        write_file(target, "new")
    assert target.read_text(encoding="utf-8") == "old"
    assert [*tmp_path.iterdir()] == [target]


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    target, link = tmp_path / "a.svg", tmp_path / "b.svg"
    target.write_text("old", encoding="utf-8")
    target.chmod(0o640)
    link.symlink_to(target.name)
    write_file(link, "new")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        write_file(tmp_path / "deep" / "a.svg", b"new")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "deep" / "a.svg").stat().st_mode) == 0o640


def test_a_broken_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "b.svg").symlink_to("a.svg")
    write_file(tmp_path / "b.svg", "new")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == "new"


def test_a_device_is_written_in_place() -> None:
    write_file("/dev/null", "gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        write_file(tmp_path, "new")
    assert tmp_path.is_dir()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_is_read_only_is_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "a.svg"
    target.write_text("old", encoding="utf-8")
    target.chmod(0o444)
    with pytest.raises(PermissionError):
        write_file(target, "new")


@pytest.mark.parametrize(
    "names", ["-o g --picture g/x.svg", "-o x.svg --picture x.svg", "-o new/a.mlir --picture /proc/none/x.svg"]
)
def test_two_files_are_written_or_none(names: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["convert", "d0 = 4@reg, d1 = 4@lane", "d0 = 4@lane, d1 = 4@reg", *names.split()]) == 2
    assert not list(tmp_path.iterdir())


def test_a_second_file_that_cannot_be_put_in_place_leaves_both_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, three = (tmp_path / name for name in ("a.txt", "b.txt", "new.txt"))
    one.write_text("old a")
    two.write_text("old b")
    replaced = Path.replace

    def failing(self: Path, target: Path) -> Path:
        if Path(target).name == "b.txt":
            raise PermissionError(1, "Operation not permitted")
        return replaced(self, target)

    monkeypatch.setattr(Path, "replace", failing)
    with pytest.raises(PermissionError, match=r"b\.txt"):
        write_files((one, "new a"), (three, "new"), (two, "new b"))
    assert (one.read_text(), two.read_text()) == ("old a", "old b")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt"]
    write_files(("/dev/null", "x"), ("/dev/null", "y"))
