"""Temporary files and folders that a killed process cannot leave for ever: the next process removes what nobody holds any more.

Whoever makes one holds a lock on it (`flock`), which the system drops when the process ends, however it ends. A temporary that can
be locked is nobody's. Where there are no such locks (Windows), nothing is swept.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mlperf.core.places import place_error

LOCKS = os.name == "posix"
if LOCKS:
    import fcntl

_PART = re.compile(r"\.mlperf-[0-9a-f]{12}\.part")
_SCRATCH = re.compile(r"mlperf-scratch-[0-9a-f]{12}")
_swept: set[Path] = set()


def claim_part(folder: Path, mode: int) -> tuple[int, Path]:
    """Make a temporary file that is locked, with a short name: the file that it becomes may have the longest one there can be.

    Parameters
    ----------
    folder : Path
        Of the file that it becomes. What killed processes left there is removed when this process first writes to it.
    mode : int
        Permissions; the process's mask is applied.

    Returns
    -------
    tuple of int and Path
        The open file, and its name.

    Raises
    ------
    OSError
        It cannot be made.
    """
    sweep(folder)
    while True:
        path = folder / f".mlperf-{secrets.token_hex(6)}.part"
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        if _hold(handle, path):
            return handle, path
        os.close(handle)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for intermediate files; it goes when the block ends, or, after a kill, when the next one is made.

    Raises
    ------
    UsageError, DataError
        No folder can be made where the system keeps temporary files.
    """
    try:
        path, handle = _claim_scratch(Path(tempfile.gettempdir()))
    except OSError as error:
        raise place_error("the folder of temporary files (TMPDIR)", error) from error
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def sweep(folder: Path) -> None:
    """Remove what killed processes left in a folder, once in the life of this process."""
    if folder in _swept or not LOCKS:
        return
    _swept.add(folder)
    with suppress(OSError), os.scandir(folder) as entries:
        for path in [Path(entry.path) for entry in entries if _PART.fullmatch(entry.name) or _SCRATCH.fullmatch(entry.name)]:
            with suppress(OSError):
                _remove_if_nobodys(path)


def _claim_scratch(root: Path) -> tuple[Path, int | None]:
    sweep(root)
    while True:
        path = root / f"mlperf-scratch-{secrets.token_hex(6)}"
        path.mkdir(mode=0o700)
        if not LOCKS:
            return path, None
        # Until it is locked, another process may take it for a dead one's.
        with suppress(FileNotFoundError):
            handle = os.open(path, os.O_RDONLY)
            if _hold(handle, path):
                return path, handle
            os.close(handle)


def _remove_if_nobodys(path: Path) -> None:
    """Remove a temporary of this user that no living process holds."""
    status = path.lstat()
    is_folder = stat.S_ISDIR(status.st_mode)
    if status.st_uid != os.geteuid() or not (is_folder or stat.S_ISREG(status.st_mode)):
        return
    # Network file systems lock only what is open for writing.
    handle = os.open(path, (os.O_RDONLY if is_folder else os.O_RDWR) | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if is_folder:
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
    finally:
        os.close(handle)


def _hold(handle: int, path: Path) -> bool:
    """Lock what was just made; False where another process took it for a dead one's before that."""
    if not LOCKS:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # A file system without locks: nobody can take it for a dead one's either.
        return True
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except FileNotFoundError:
        return False
