"""What a command says: its result on stdout, everything else on stderr."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mlperf.core.printable import printable_lines

if TYPE_CHECKING:
    from rich.console import Console

    from mlperf.core.shown import Shown


@dataclass(slots=True)
class Settings:
    """How one run of the command line talks: verbosity, JSON, unit of time, plot file.

    Parameters
    ----------
    verbosity : int
        -1 quiet, 0 normal, 1 verbose (details and tracebacks).
    as_json : bool
        The result is one JSON document.
    time_unit : str
        Unit of the tables' times, ``"auto"`` by default; JSON stays in seconds.
    plot_path : Path or None
        Where the result's figure goes.
    """

    verbosity: int = 0
    as_json: bool = False
    time_unit: str = "auto"
    plot_path: Path | None = None


@dataclass(frozen=True, slots=True)
class Show:
    """Shows one result, as tables for people or as one JSON document.

    Parameters
    ----------
    command : str
        Name for the record: ``"predict"``, ``"data check"``.
    settings : Settings
        Verbosity, form, unit of time, place of the figure.
    """

    command: str
    settings: Settings

    def __call__(self, result: Shown, *, data_sha256: Mapping[str, str] | None = None, seed: int | None = None) -> None:
        """Print ``result`` and draw its figure where one was asked for.

        Parameters
        ----------
        result : Shown
            What the public function returned.
        data_sha256 : mapping, optional
            What was read: name to SHA-256, for the provenance.
        seed : int, optional
            Seed of the run, for the provenance.
        """
        if self.settings.plot_path is not None:
            self.draw(result, self.settings.plot_path)
        if self.settings.as_json:
            from mlperf.core.provenance import provenance
            from mlperf.report.text.schema import record, record_text
            from mlperf.report.text.views import result_answer

            made = provenance(data_sha256=data_sha256, seed=seed)
            click.echo(record_text(record(self.command, made, result, result_answer(result))), nl=False)
            return
        from mlperf.report.text.views import result_text

        everything = self.settings.verbosity > 0
        click.echo(result_text(result, self.settings.time_unit, people_console(), everything=everything), nl=False)

    def draw(self, result: Shown, path: Path) -> None:
        """Write the result's figure to ``path``."""
        from mlperf.report.figures.figures import save_figure
        from mlperf.report.text.views import result_figure

        save_figure(result_figure(result), path)
        self.note(f"figure written to {path}")

    def note(self, text: str) -> None:
        """Note something that is not the result; silent with ``-q``."""
        if self.settings.verbosity >= 0:
            click.echo(printable_lines(text), err=True)

    def detail(self, text: str) -> None:
        """Note something that only ``-v`` asks for."""
        if self.settings.verbosity > 0:
            click.echo(printable_lines(text), err=True)

    @property
    def progress_shown(self) -> bool:
        """Whether a progress bar belongs on stderr: a terminal that was not asked to be quiet."""
        return self.settings.verbosity >= 0 and sys.stderr.isatty()


def people_console() -> Console:
    """The console of stdout: the terminal's width, or as wide as needed where stdout is a file or a pipe."""
    from rich.console import Console

    from mlperf.report.text.views import WIDE

    return Console() if sys.stdout.isatty() else Console(width=WIDE)
