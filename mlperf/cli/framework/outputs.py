"""Files and folders that a command writes: refused before it works where they cannot be written, or are what it reads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from mlperf.core.errors import UsageError
from mlperf.core.places import check_figure_type, check_file_place, check_folder_place, check_not_input
from mlperf.core.printable import printable

STDIN = 0
CONFIG = "configuration file"
"""Under which a run keeps the path of its configuration file."""


class OutputFile(click.Path):
    """A file to write: its folder must be there, and writable.

    Parameters
    ----------
    form : str
        What is written whatever the name says: ``"an HTML page"``.
    endings : tuple of str
        Endings of such a file; another one promises what is not written, and is refused. Devices and names without one are not.
    """

    def __init__(self, form: str = "", endings: tuple[str, ...] = ()) -> None:
        super().__init__(dir_okay=False, path_type=Path)
        self.form, self.endings = form, endings

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:  # noqa: ARG002
        """Return the path; UsageError where no file can be written there, or one of another kind is asked for."""
        path = Path(os.fsdecode(value))
        if self.endings and path.suffix and not path.name.lower().endswith(self.endings):
            what = f"got ending {printable(path.suffix)!r}, and {self.form} is written: expected {' or '.join(self.endings)}"
            raise UsageError(what, place=printable(path), hint=f"As in {printable(path.stem)}{self.endings[0]}.")
        check_file_place(path)
        return path


class OutputFolder(click.Path):
    """A folder to write into: it is there, or the one above it is."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path; UsageError where there can be no such folder."""
        if not value:
            self.fail("got an empty name, expected a folder; the one where you are is called '.'", param, ctx)
        path = Path(os.fsdecode(value))
        check_folder_place(path)
        return path


def check_outputs(ctx: click.Context, plot_path: Path | None = None) -> None:
    """Refuse outputs that are among the inputs of the same line, or that are one file.

    Parameters
    ----------
    ctx : click Context
        Of the command, its values read.
    plot_path : Path or None
        Where its figure goes.

    Raises
    ------
    UsageError
        Names both; or the figure's ending is that of no figure.
    """
    written, read = [plot_path] if plot_path is not None else [], []
    for param in ctx.command.params:
        values = list(_each(ctx.params.get(str(param.name))))
        if isinstance(param.type, OutputFile):
            written += values
        elif not isinstance(param.type, OutputFolder):
            read += values
    read += [ctx.meta[CONFIG]] if CONFIG in ctx.meta else []
    for place, path in enumerate(written):
        check_not_input(path, (each for value in read for each in _read_files(Path(value), path)))
        _check_not_stdin(path)
        if any(path.absolute() == other.absolute() for other in written[:place]):
            raise UsageError("is to be written twice, expected a file for each output", place=printable(path))
    if plot_path is not None:
        # The work behind a figure may take hours, and a program that ran cannot be asked again.
        check_figure_type(plot_path)


def _each(value: Any) -> Iterator[Any]:
    """Paths and words of an option's value."""
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _each(each)
    elif isinstance(value, (str, Path)) and str(value):
        yield value


def _read_files(given: Path, output: Path) -> Iterator[Path]:
    """The file that was named; of a campaign's folder its tables and specifications, where the output lies in it."""
    yield given
    folder = output.absolute().parent
    top = given.absolute()
    inside = {top: (".csv", ".csv.gz", "host.json"), top / "cnns": (".toml",), top / "asgd": (".csv",)}
    if output.name.endswith(inside.get(folder, ())) and given.is_dir():
        yield output


def _check_not_stdin(path: Path) -> None:
    """Refuse to replace the file that the shell gives as standard input."""
    try:
        is_input = path.is_file() and os.path.samestat(path.stat(), os.fstat(STDIN))
    except OSError:
        return
    if is_input:
        raise UsageError("is the standard input, expected another file to write", place=printable(path), hint="Name a new file.")
