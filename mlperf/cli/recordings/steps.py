"""``mlperf record steps``, ``swarms``, ``diff`` and ``scaling``: recorded runs by their steps, where the time of one goes."""

from __future__ import annotations

from pathlib import Path

import click

from mlperf.cli.framework.options import level_option, output_options, plot_option, with_options
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import OLD_FILE, Words

recording_argument = click.argument("recording", metavar="DIR", type=click.Path(path_type=Path))
step_options = with_options(
    click.option("--marker", metavar="REGEX", help="Names of marks that are a step each.  [default: step]"), level_option
)
keywords_option = click.option(
    "--keywords", type=OLD_FILE, help="TOML: rules that name swarms by words, in place of the package's own."
)


@click.command(epilog="Example: mlperf record steps run --marker 'train_batch'")
@recording_argument
@step_options
@plot_option
@output_options
def steps(recording: Path, marker: str | None, level: int | None, show: Show) -> None:
    """Find the steps of a recorded run without being told how many, and split each into its parts."""
    from mlperf.cli.recordings.given import read_given
    from mlperf.traces.whole_run.steps import find_steps

    show(find_steps(read_given(recording), marker=marker, level=level))


@click.command(epilog="Example: mlperf record swarms run --keywords own.toml --plot swarms.svg")
@recording_argument
@keywords_option
@step_options
@plot_option
@output_options
def swarms(recording: Path, keywords: Path | None, marker: str | None, level: int | None, show: Show) -> None:
    """Group functions into swarms by keywords and by when they work, and say which follows which in the steps."""
    from mlperf.cli.recordings.given import read_given
    from mlperf.traces.whole_run.grouped import swarms_of

    show(swarms_of(read_given(recording), keywords=keywords, marker=marker, level=level))


@click.command(epilog="Example: mlperf record diff before after")
@click.argument("first", metavar="A", type=click.Path(path_type=Path))
@click.argument("second", metavar="B", type=click.Path(path_type=Path))
@keywords_option
@step_options
@plot_option
@output_options
def diff(first: Path, second: Path, keywords: Path | None, marker: str | None, level: int | None, show: Show) -> None:
    """Say how much faster or slower recording B is than A, and which parts of a step, swarms and functions it comes from."""
    from mlperf.cli.recordings.given import read_given
    from mlperf.traces.whole_run.difference import run_difference

    show(run_difference(read_given(first), read_given(second), keywords=keywords, marker=marker, level=level))


@click.command(
    epilog="""\b
Examples:
  mlperf record scaling run-1 run-2 run-4 --plot scaling.svg
  mlperf record scaling run-1 run-4 --work fixed

Devices are the accelerators that a run used, else its processes. With growing work each device has a batch of its own; with fixed
work one batch is divided. Intervals hold the differences between steps, not those from run to run: mlperf compare-runs tells these.
"""
)
@click.argument("recordings", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--work", type=Words(("growing", "fixed")), default="growing", show_default=True, help="What a step does on more devices."
)
@step_options
@plot_option
@output_options
def scaling(recordings: tuple[Path, ...], work: str, marker: str | None, level: int | None, show: Show) -> None:
    """Set recordings of one program on more devices side by side: step, throughput, speed-up, efficiency, with intervals."""
    from mlperf.cli.recordings.given import read_given
    from mlperf.traces.whole_run.scaling import scaling as set_side_by_side

    show(set_side_by_side([read_given(path) for path in recordings], work=work, marker=marker, level=level))
