"""Every writing command at places where writing goes wrong, or where something could be lost: see `PLACES`.

A command either writes the whole output or leaves what was there, with exit code 2 or 3, the place and what to do. It never leaves
a temporary, never changes an input, never ends in 70. MLPERF_LONG=1 tries the slower commands at all places, too.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import resource
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from writing_commands import COMMANDS, OLD, Writing, is_whole

from mlperf.cli.main import main

pytestmark = pytest.mark.slow

LONG = os.environ.get("MLPERF_LONG") == "1"
ESCAPE = "\x1b"
BYTE = os.fsdecode(b"\xff\xfe")
WRITTEN, WRONG_USE, BAD_DISK = 0, 2, 3


@dataclass(slots=True)
class Place:
    """A place to write to, made in a folder of its own.

    Attributes
    ----------
    out : str
        What the command is given.
    code : int
        Exit code that belongs there.
    target : Path or None
        Where the output must be found afterwards, or the old content where the command was refused.
    check : callable
        What else must hold afterwards.
    during : context manager
        Entered while the command runs.
    """

    out: str
    code: int = WRITTEN
    target: Path | None = None
    check: Callable[[], object] = lambda: None
    during: Any = field(default_factory=contextlib.nullcontext)


@dataclass(frozen=True, slots=True)
class Ground:
    """Where places are made: an empty folder, the command, its inputs."""

    folder: Path
    writing: Writing
    inputs: Path

    def old(self, name: str = "out") -> Path:
        """A file, or a folder, that is there already."""
        path = self.folder / f"{name}{self.writing.suffix}"
        if self.writing.suffix:
            path.write_bytes(OLD)
        else:
            path.mkdir()
        return path

    def named(self, name: str, code: int = WRITTEN) -> Place:
        """A new output of that name."""
        path = self.folder / f"{name}{self.writing.suffix}"
        return Place(str(path), code, path if code == WRITTEN else None)


def refused(path: Path, code: int = WRONG_USE, **more: Any) -> Place:
    return Place(str(path), code, **more)


def private(ground: Ground) -> Place:
    path = ground.old()
    path.chmod(0o700 if path.is_dir() else 0o600)
    before = path.stat()
    return Place(str(path), target=path, check=lambda: same_mode(before, path))


def same_mode(before: os.stat_result, path: Path) -> None:
    after = path.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


def link_to_old(ground: Ground) -> Place:
    target = ground.old("target")
    link = ground.folder / f"link{ground.writing.suffix}"
    link.symlink_to(target.name)
    return Place(str(link), target=target, check=lambda: must(link.is_symlink()))


def must(holds: bool) -> None:
    assert holds


def link_to_nothing(ground: Ground) -> Place:
    link = ground.folder / f"link{ground.writing.suffix}"
    link.symlink_to("new" + ground.writing.suffix)
    new = ground.folder / f"new{ground.writing.suffix}"
    if ground.writing.suffix:
        return Place(str(link), target=new, check=lambda: must(link.is_symlink()))
    return refused(link, check=lambda: must(link.is_symlink() and not new.exists()))


def circle(ground: Ground) -> Place:
    first, second = (ground.folder / f"{name}{ground.writing.suffix}" for name in ("first", "second"))
    first.symlink_to(second.name)
    second.symlink_to(first.name)
    return refused(first, check=lambda: must(first.is_symlink() and second.is_symlink()))


def of_the_other_kind(ground: Ground) -> Place:
    """A folder where a file is wanted, and the other way round."""
    path = ground.folder / f"other{ground.writing.suffix}"
    if ground.writing.suffix:
        path.mkdir()
        return refused(path, check=lambda: must(path.is_dir() and not list(path.iterdir())))
    path.write_bytes(OLD)
    return refused(path, target=path)


def below_a_file(ground: Ground) -> Place:
    path = ground.folder / "file"
    path.write_bytes(OLD)
    return refused(path / f"out{ground.writing.suffix}", check=lambda: must(path.read_bytes() == OLD))


def below_nothing(ground: Ground) -> Place:
    missing = ground.folder / "no" / "such"
    return refused(missing / f"out{ground.writing.suffix}", check=lambda: must(not missing.parent.exists()))


def full_device(ground: Ground) -> Place:
    device, beside = Path("/dev/full"), Path("/dev/full.columns.csv")
    # Pictures and pages say by their ending what they are.
    code = BAD_DISK if ground.writing.suffix in (".csv", ".json", ".html") else WRONG_USE
    return refused(device, code, check=lambda: must(stat.S_ISCHR(device.stat().st_mode) and not beside.exists()))


def pipe(ground: Ground) -> Place:
    path = ground.folder / f"pipe{ground.writing.suffix}"
    os.mkfifo(path)
    if not ground.writing.suffix:
        return refused(path, check=lambda: must(path.is_fifo()))
    heard: list[bytes] = []
    reader = Thread(target=lambda: heard.append(path.read_bytes()), daemon=True)
    reader.start()

    def check() -> None:
        reader.join(30.0)
        assert path.is_fifo()
        assert is_whole(heard[0], ground.writing.suffix)

    return Place(str(path), check=check)


def faulty(ground: Ground, code: int, during: Any) -> Place:
    path = ground.old()
    return Place(str(path), code, path, during=during)


@contextlib.contextmanager
def failing(number: int, *names: str, below: Path) -> Iterator[None]:
    """Calls of the system that fail for everything that is made or renamed below a folder."""
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.setattr(os, name, failing_call(getattr(os, name), number, below))
        yield


def failing_call(call: Callable[..., Any], number: int, below: Path) -> Callable[..., Any]:
    def replaced(what: Any, *args: Any, **kwargs: Any) -> Any:
        ours = isinstance(what, int) or str(what).startswith(str(below))
        if ours and (call.__name__ != "open" or args[0] & os.O_CREAT):
            raise OSError(number, os.strerror(number), None if isinstance(what, int) else str(what))
        return call(what, *args, **kwargs)

    return replaced


@contextlib.contextmanager
def unwritable(below: Path, *, read_only: bool) -> Iterator[None]:
    """The system says beforehand that nothing below a folder may be written; the superuser may write anywhere otherwise."""
    access, status = os.access, os.statvfs

    def may(path: Any, mode: int, **kwargs: Any) -> bool:
        return not (mode & os.W_OK and str(path).startswith(str(below))) and access(path, mode, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "access", may)
        if read_only:
            patch.setattr(os, "statvfs", lambda path: os.statvfs_result((*status(path)[:8], os.ST_RDONLY, 255)))
        yield


@contextlib.contextmanager
def small_files(n_bytes: int) -> Iterator[None]:
    """No file may become larger: the system's own limit, which fails as a full disk does, in the middle of writing."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def link_to_input(ground: Ground) -> Place:
    link = ground.folder / f"link{ground.writing.suffix}"
    link.symlink_to(ground.inputs / ground.writing.reads)
    return refused(link, check=lambda: must(link.is_symlink()))


def hard_link_to_input(ground: Ground) -> Place:
    link = ground.folder / f"link{ground.writing.suffix}"
    link.hardlink_to(ground.inputs / ground.writing.reads)
    return refused(link)


@contextlib.contextmanager
def stdout_to(open_stream: Callable[[], Any]) -> Iterator[None]:
    before, sys.stdout = sys.stdout, open_stream()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.close()
        sys.stdout = before


def pipe_without_reader() -> Any:
    reading, writing = os.pipe()
    os.close(reading)
    return os.fdopen(writing, "w", encoding="utf-8")


def longest_name(ground: Ground) -> Place:
    """As long as a name can be; files whose names are longer stand beside some outputs, and then nothing is written."""
    place = ground.named("n" * (255 - len(ground.writing.suffix)))
    if not ground.writing.has_dictionary:
        return place
    return refused(Path(place.out), check=lambda: must(not any(ground.folder.iterdir())))


def full_device_as_stdout() -> Any:
    return Path("/dev/full").open("w", encoding="utf-8")


def deaf(ground: Ground, open_stream: Callable[[], Any]) -> Place:
    path = ground.old()
    return Place(str(path), -1, path, during=stdout_to(open_stream))


PLACES: dict[str, Callable[[Ground], Place]] = {
    "new": lambda ground: ground.named("new"),
    "private": private,
    "link to what is there": link_to_old,
    "link to nothing": link_to_nothing,
    "links in a circle": circle,
    "of the other kind": of_the_other_kind,
    "below a file": below_a_file,
    "below nothing": below_nothing,
    "the device that is full": full_device,
    "pipe": pipe,
    "255 bytes": longest_name,
    "300 bytes": lambda ground: ground.named("n" * 300, WRONG_USE),
    "5,000 bytes": lambda ground: ground.named("/".join(["n" * 99] * 50), WRONG_USE),
    "no UTF-8": lambda ground: ground.named(f"n{BYTE}"),
    "lines": lambda ground: ground.named("first\nsecond\rthird"),
    "markup": lambda ground: ground.named("<script>alert('1')\"&amp;[red]$x^{"),
    "escape codes": lambda ground: ground.named(f"{ESCAPE}[31mred{ESCAPE}]0;title\x07"),
    "dash": lambda ground: ground.named("-rf"),
    "zero byte": lambda ground: ground.named("a\0b", WRONG_USE),
    "no name": lambda ground: Place("", WRONG_USE) if ground.writing.suffix else ground.named("some"),
    "no permission": lambda ground: faulty(ground, WRONG_USE, unwritable(ground.folder, read_only=False)),
    "read-only": lambda ground: faulty(ground, WRONG_USE, unwritable(ground.folder, read_only=True)),
    "read-only, said late": lambda ground: faulty(ground, WRONG_USE, failing(errno.EROFS, "open", "mkdir", below=ground.folder)),
    "forbidden, said late": lambda ground: faulty(ground, WRONG_USE, failing(errno.EACCES, "open", "mkdir", below=ground.folder)),
    "full at once": lambda ground: faulty(ground, BAD_DISK, failing(errno.ENOSPC, "open", "mkdir", below=ground.folder)),
    "full in the middle": lambda ground: faulty(ground, BAD_DISK, small_files(16)),
    "quota used up at the end": lambda ground: faulty(ground, BAD_DISK, failing(errno.EDQUOT, "fsync", below=ground.folder)),
    "held by the system": lambda ground: faulty(ground, WRONG_USE, failing(errno.EBUSY, "replace", below=ground.folder)),
    "failing disk": lambda ground: faulty(ground, BAD_DISK, failing(errno.EIO, "replace", below=ground.folder)),
    "the input": lambda ground: refused(ground.inputs / ground.writing.reads),
    "link to the input": link_to_input,
    "hard link to the input": hard_link_to_input,
    "nobody reads stdout": lambda ground: deaf(ground, pipe_without_reader),
    "stdout on a full disk": lambda ground: deaf(ground, full_device_as_stdout),
    "no stdout": lambda ground: deaf(ground, lambda: None),
}
INPUTS = ("the input", "link to the input", "hard link to the input")
AT_THE_END = ("quota used up at the end", "held by the system", "failing disk")
AT_ONCE = ("links in a circle", "of the other kind", "below a file", "below nothing", "300 bytes", "5,000 bytes", "zero byte")
FOR_SLOW = (*AT_ONCE, "no permission", "read-only", *INPUTS, "private", "pipe", "escape codes", "full in the middle")
"""Places for slow commands in the short form: those where they are refused at once, and some where they run to their end."""


def cases() -> Iterator[Any]:
    for command, writing in COMMANDS.items():
        for place in PLACES:
            if (place in INPUTS and not writing.reads) or (writing.is_live and place in AT_THE_END):
                continue
            if writing.is_slow and place not in FOR_SLOW and not LONG:
                continue
            yield pytest.param(command, place, marks=[pytest.mark.slow] if writing.is_slow else [], id=f"{command}-{place}")


def digests(folder: Path) -> dict[Path, str]:
    return {path: sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


def run(words: list[str]) -> tuple[int, str]:
    """Exit code and stderr."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), pytest.raises(SystemExit) as caught:
        main(words)
    return int(caught.value.code or 0), said.getvalue()


@pytest.mark.parametrize(("command", "name"), list(cases()))
def test_a_writing_command_at_a_hostile_place(
    command: str, name: str, written_inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch, folder = tmp_path / "scratch", tmp_path / "ground"
    scratch.mkdir()
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    monkeypatch.setattr(sys, "argv", ["mlperf"])
    monkeypatch.chdir(folder)
    writing = COMMANDS[command]
    place = PLACES[name](Ground(folder, writing, written_inputs))
    before = digests(written_inputs)
    with contextlib.redirect_stdout(io.StringIO()), place.during:
        code, said = run(writing.line(written_inputs, place.out))
    beside = written_inputs / "beside.csv"
    for path in (beside, beside.with_suffix(".columns.csv")):
        path.unlink(missing_ok=True)
    check_end(place, code, said, writing)
    assert digests(written_inputs) == before
    left = [path for path in (*folder.rglob("*"), *scratch.iterdir()) if path.name.startswith((".mlperf", "mlperf-"))]
    assert not left
    place.check()


def check_end(place: Place, code: int, said: str, writing: Writing) -> None:
    """The exit code that belongs to the place, a message that names it, the output whole or the old content."""
    assert code == place.code or (place.code == -1 and code in (0, 3, 141)), said
    assert ESCAPE not in said
    if place.code not in (WRITTEN, -1):
        assert "hint:" in said
        assert "Traceback" not in said
    written = code == WRITTEN
    # A stdout that takes nothing may stop a command before it writes, or after.
    if place.target is None or (not written and (writing.is_live or place.code == -1)):
        return
    if place.target.is_dir():
        files = [path for path in place.target.rglob("*") if path.is_file()]
        assert bool(files) or not written
        return
    content = place.target.read_bytes()
    assert is_whole(content, writing.suffix) if written else content == OLD
