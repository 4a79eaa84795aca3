"""Places that outputs go to: looked at before work begins, and what the system says against one put into words."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from mlperf.core.errors import DataError, MlperfError, UsageError
from mlperf.core.printable import printable
from mlperf.core.suggest import did_you_mean

_ELSEWHERE = "Name a place that you may write to."
_MORE_ROOM = "Free some space, or name a place on another disk."
_FAULTS: Mapping[int, tuple[type[MlperfError], str, str]] = MappingProxyType(
    {
        errno.ENOSPC: (DataError, "the disk is full", _MORE_ROOM),
        errno.EDQUOT: (DataError, "your share of the disk (quota) is used up", _MORE_ROOM),
        errno.EFBIG: (DataError, "the file would be larger than the system allows", "See ulimit -f, or name another place."),
        errno.EIO: (DataError, "the device failed", "Check the disk, or name a place on another one."),
        errno.EPIPE: (DataError, "its reader is gone", "Start what reads the pipe anew."),
        errno.EROFS: (UsageError, "the file system is read-only", _ELSEWHERE),
        errno.EACCES: (UsageError, "there is no permission to write", _ELSEWHERE),
        errno.EPERM: (UsageError, "the system does not permit it", _ELSEWHERE),
        errno.EBUSY: (UsageError, "the system holds this name", _ELSEWHERE),
        errno.ENXIO: (UsageError, "nothing is behind this device", _ELSEWHERE),
        errno.ENAMETOOLONG: (UsageError, "the name is too long", "Most systems take 255 bytes, and 4095 for the path."),
        errno.ELOOP: (UsageError, "a link in it leads back to itself", "Name another place, or mend the link."),
        errno.ENOTDIR: (UsageError, "a part of it is a file, expected folders", "Name another place."),
        errno.EISDIR: (UsageError, "is a folder, expected a file", "Name a file in it."),
        errno.ENOENT: (UsageError, "there is no such folder", "Make it with mkdir, or correct the path."),
    }
)

FIGURE_TYPES = ("svg", "png", "pdf")
"""Endings of files that figures go to."""


def check_figure_type(path: Path, *others: str) -> str:
    """Form of a figure, as its file's ending says: one of `FIGURE_TYPES` or of ``others``; UsageError for another ending."""
    known, file_type = (*FIGURE_TYPES, *others), path.suffix.lower().lstrip(".")
    if file_type not in known:
        got = f"got ending {path.suffix!r}, expected one of .{', .'.join(known)}"
        raise UsageError(got, place=printable(path), hint="As in plot.svg.")
    return file_type


def take_path(request: object, field: str = "out") -> None:
    """Make a path of a frozen request's field, which may have been given as text."""
    object.__setattr__(request, field, Path(getattr(request, field)))


def is_about_places(error: OSError) -> bool:
    """Whether an error of the system is about a place to write to, not about the program; a missing file is left to others."""
    return error.errno in _FAULTS and error.errno not in (errno.ENOENT, errno.EPIPE)


def place_error(path: str | os.PathLike[str], error: OSError) -> MlperfError:
    """What the system said of a place, as an error with what to do about it; DataError where the disk is at fault."""
    kind, message, hint = _FAULTS.get(error.errno or 0, (UsageError, error.strerror or str(error), _ELSEWHERE))
    return kind(f"cannot be written: {message}", place=printable(path), hint=hint)


def check_file_place(path: Path) -> os.stat_result | None:
    """Accept a path that one file can be written to; its folder must be there.

    Returns
    -------
    os.stat_result or None
        Of what is there already, behind all links; None where it is to be made.

    Raises
    ------
    UsageError
        No such folder (names it, and one that is called alike), a folder, a link to itself, a name too long, no permission, a
        read-only file system.
    """
    found = _status(path)
    if found is None:
        _check_folder_of(path)
    elif stat.S_ISDIR(found.st_mode):
        raise place_error(path, OSError(errno.EISDIR, ""))
    elif not os.access(path, os.W_OK):
        raise place_error(path, OSError(_why_not(path), ""))
    if found is None or stat.S_ISREG(found.st_mode):
        # The new content comes under a name of its own first: it is the folder that must be writable.
        _check_writable(Path(os.path.realpath(path)).parent)
    return found


def check_folder_place(path: Path) -> None:
    """Accept a path that is a writable folder, or can become one inside a folder that is there.

    Raises
    ------
    UsageError
        As `check_file_place`; or there is a file.
    """
    found = _status(path)
    if found is None:
        if path.is_symlink():
            raise UsageError("is a link to nothing, expected a folder", place=printable(path), hint="Name another folder.")
        _check_folder_of(path)
        _check_writable(Path(os.path.realpath(path)).parent)
        return
    if not stat.S_ISDIR(found.st_mode):
        raise UsageError("is a file, expected a folder", place=printable(path), hint="Name another folder.")
    _check_writable(path)


def check_file_places(path: Path, *beside: Path) -> tuple[Path, ...]:
    """Accept the places of a file and of those that stand beside it, before any of them is written.

    Returns
    -------
    tuple of Path
        All of them; the first alone where it is a device or a pipe, which nothing stands beside.

    Raises
    ------
    UsageError
        As `check_file_place`.
    """
    found = check_file_place(path)
    if found is not None and not stat.S_ISREG(found.st_mode):
        return (path,)
    for each in beside:
        check_file_place(each)
    return (path, *beside)


def make_folder(path: Path | str, *, above: bool = False) -> Path:
    """Make the last folder of a path where it is not there yet, but none above it: those a mistyped path would ask for.

    Parameters
    ----------
    path : path
        The folder.
    above : bool
        Make those above it, too; for paths that are not typed by people.

    Raises
    ------
    UsageError, DataError
        It cannot be made: see `check_folder_place`; the disk is full.
    """
    path = Path(path)
    if not above:
        check_folder_place(path)
    try:
        path.mkdir(exist_ok=True, parents=above)
    except OSError as error:
        raise place_error(path, error) from error
    return path


def check_not_input(path: Path, inputs: Iterable[Path | str]) -> None:
    """Refuse an output that is one of the files that are read, by whatever name.

    Raises
    ------
    UsageError
        Names both.
    """
    found = _status(path)
    if found is None or not stat.S_ISREG(found.st_mode):
        return
    for given in inputs:
        read = _status_or_none(given)
        if read is not None and os.path.samestat(found, read):
            raise UsageError(
                f"got {printable(given)}, which is read, expected another file to write",
                place=printable(path),
                hint="Name a new file.",
            )


def _status(path: Path) -> os.stat_result | None:
    """What is at the end of all links; None where nothing is."""
    if "\0" in str(path):
        raise UsageError("the name holds a zero byte, which no system takes", place=printable(path), hint="Correct the name.")
    try:
        return path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise place_error(path, error) from error


def _status_or_none(path: Path | str) -> os.stat_result | None:
    try:
        return Path(path).stat()
    except (OSError, ValueError):
        return None


def _check_folder_of(path: Path) -> None:
    """Refuse a path whose folder is not there."""
    folder = Path(os.path.realpath(path)).parent
    if folder.is_dir():
        return
    missing = folder
    while not missing.parent.exists():
        missing = missing.parent
    hint = f"Make it with mkdir{' -p' if missing != folder else ''}, or correct the path."
    try:
        near = did_you_mean(missing.name, (each.name for each in missing.parent.iterdir() if each.is_dir()))
    except OSError:
        near = ""
    hint += f" {printable(near)}" if near.startswith("Did") else ""
    raise UsageError(f"cannot be written: there is no folder {printable(missing)}", place=printable(path), hint=hint)


def _check_writable(folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise place_error(folder, OSError(_why_not(folder), ""))


def _why_not(path: Path) -> int:
    """Why the system says that one may not write: the file system, or permissions."""
    try:
        return errno.EROFS if os.statvfs(path).f_flag & os.ST_RDONLY else errno.EACCES
    except (OSError, AttributeError):
        return errno.EACCES
