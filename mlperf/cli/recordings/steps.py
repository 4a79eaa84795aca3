"""``mlperf record steps``: the steps of a recorded run, and where their time goes."""

from __future__ import annotations

from pathlib import Path

import click

from mlperf.cli.framework.options import output_options, plot_option
from mlperf.cli.framework.show import Show

recording_argument = click.argument("recording", metavar="DIR", type=click.Path(path_type=Path))
marker_option = click.option("--marker", metavar="REGEX", help="Names of marks that are a step each.  [default: step]")
level_option = click.option(
    "--level", type=click.IntRange(min=0), help="Level of repetition that is a step, where none are marked."
)


@click.command(epilog="Example: mlperf record steps run --marker 'train_batch'")
@recording_argument
@marker_option
@level_option
@plot_option
@output_options
def steps(recording: Path, marker: str | None, level: int | None, show: Show) -> None:
    """Find the steps of a recorded run without being told how many, and split each into its parts."""
    from mlperf.cli.recordings.given import read_given
    from mlperf.traces.whole_run.steps import find_steps

    show(find_steps(read_given(recording), marker=marker, level=level))
