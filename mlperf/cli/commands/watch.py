"""``mlperf watch -- CMD``: forecast a program's performance while it runs."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mlperf.cli.framework.options import output_options, plot_option
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import NEW_FILE, OLD_FILE, NumberRange, Words
from mlperf.core.errors import UsageError

if TYPE_CHECKING:
    from mlperf.datasets.streams.performance import Performance
    from mlperf.forecast.forecasting import MemberState

WORDS = ("auto", "progress", "instructions", "cpu", "io")
EPILOG = """\b
Examples:
  mlperf watch -- ./program 1000
  mlperf watch --record stream.csv --horizon 2 -- python train.py
  mlperf watch --progress-file done.txt --performance progress -- ./program
  mlperf watch --replay stream.csv --plot forecast.svg

A program reports progress by lines on the file descriptor whose number is in MLPERF_PROGRESS_FD, or in the file of
--progress-file: "12" for 12 units finished since the start, "+3" for three more, "+" for one more. Without it, instructions per
second are forecast where the processor counts them, else the processor time that the program gets.

With --json the program's standard output goes to stderr. Its exit code is ours. Ctrl-C ends the program; the record is whole at any
moment.
"""
PLAIN_EVERY_S = 5.0
STDERR = 2
PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


@click.command(epilog=EPILOG, context_settings={"allow_interspersed_args": False})
@click.argument("command", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@click.option("--interval", "interval_s", type=float, default=0.25, metavar="SECONDS", help="Time between samples.")
@click.option("--horizon", "horizon_s", type=float, metavar="SECONDS", help="How far ahead.  [default: 1; replay: as recorded]")
@click.option("--performance", type=Words(WORDS), default="auto", help="Whose rate is forecast.")
@click.option("--progress-file", type=NEW_FILE, help="File in which the program reports progress.")
@click.option("--level", type=NumberRange(0.0, 1.0, min_open=True, max_open=True), default=0.9, help="Coverage of intervals.")
@click.option("--record", type=NEW_FILE, help="CSV to write the stream to, line by line.")
@click.option("--replay", "replayed", type=OLD_FILE, help="Recorded stream in place of a program.")
@plot_option
@output_options
def watch(command: tuple[str, ...], replayed: Path | None, record: Path | None, show: Show, **options: Any) -> int:
    """Run a program, sample its counters, and show a live forecast of its performance with its error so far."""
    if replayed is not None:
        return replay_stream(replayed, command, record, show, **options)
    return watch_program(command, record, show, **options)


def watch_program(command: tuple[str, ...], record: Path | None, show: Show, **options: Any) -> int:
    """Forecast a program while it runs."""
    from mlperf.forecast import WatchRequest
    from mlperf.forecast import watch as run

    horizon_s = max(1.0, options["interval_s"]) if options["horizon_s"] is None else options["horizon_s"]
    request = WatchRequest(command=command, record=record, **(options | {"horizon_s": horizon_s}))
    screen = Screen(show)
    found = run(request, tell=screen.tell, stdout=STDERR if show.settings.as_json else None)
    screen.close()
    for note in found.notes:
        show.note(note)
    if found.recorded:
        show.note(f"{found.n_samples + 1} samples recorded in {found.recorded}")
    show(found)
    return int(found.command_exit_code or 0)


def replay_stream(path: Path, command: tuple[str, ...], record: Path | None, show: Show, **options: Any) -> int:
    """Forecast a recorded stream."""
    from mlperf.forecast import replay
    from mlperf.models.online import ForecasterSettings

    if command or record:
        raise UsageError("got --replay with a command or --record, expected one or the other", hint="A replay runs nothing.")
    performance = None if options["performance"] == "auto" else options["performance"]
    settings = ForecasterSettings(level=options["level"])
    found = replay(path, horizon_s=options["horizon_s"], performance=performance, settings=settings)
    for note in found.notes:
        show.note(note)
    show(found, data_sha256=found.inputs)
    return 0


class Screen:
    """The live line on stderr: rewritten in place on a terminal, now and then otherwise, never with ``-q``."""

    def __init__(self, show: Show) -> None:
        self._live = show.progress_shown
        self._silent = show.settings.verbosity < 0
        self._next_s = time.monotonic() + PLAIN_EVERY_S
        self._open = False

    def tell(self, performance: Performance, standing: MemberState) -> None:
        """Show where the forecast stands."""
        if self._silent or (not self._live and time.monotonic() < self._next_s):
            return
        self._next_s = time.monotonic() + PLAIN_EVERY_S
        text = standing_text(performance, standing)
        # A line that wraps cannot be rewritten.
        fitting = text[: shutil.get_terminal_size().columns - 1]
        click.echo(f"\r\x1b[K{fitting}" if self._live else text, err=True, nl=not self._live)
        self._open = self._live

    def close(self) -> None:
        """End the live line, so that what follows begins on a line of its own."""
        if self._open:
            click.echo("", err=True)


def standing_text(performance: Performance, standing: MemberState) -> str:
    """One line: now, then, error so far compared with persistence."""
    from mlperf.report.text.numbers import percent_text

    ahead = f"{standing.t_s:7.1f} s  {short(standing.performance)} -> {short(standing.forecast)}"
    if standing.lower == standing.lower:
        ahead += f" [{short(standing.lower)}, {short(standing.upper)}]"
    ahead += f" {performance.unit}"
    if not standing.n_scored:
        return ahead
    word = "PERSISTENCE BETTER:" if standing.persistence_is_better else "persistence"
    return f"{ahead}  error {percent_text(standing.mape)}, {word} {percent_text(standing.persistence_mape)}"


def short(rate: float) -> str:
    """A rate with three digits: ``9.27M``."""
    from mlperf.report.text.numbers import number_text

    size, letter = next((pair for pair in PREFIXES if rate >= pair[0]), (1.0, ""))
    return f"{number_text(rate / size, 3)}{letter}"
