"""``mlperf record scaling``: recordings of one program on more and more devices."""

from __future__ import annotations

from pathlib import Path

import click

from mlperf.cli.framework.options import output_options, plot_option
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import Words
from mlperf.cli.recordings.steps import level_option, marker_option


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
@marker_option
@level_option
@plot_option
@output_options
def scaling(recordings: tuple[Path, ...], work: str, marker: str | None, level: int | None, show: Show) -> None:
    """Set recordings of one program on more devices side by side: step, throughput, speed-up, efficiency, with intervals."""
    from mlperf.cli.recordings.given import read_given
    from mlperf.traces.whole_run.scaling import scaling as set_side_by_side

    show(set_side_by_side([read_given(path) for path in recordings], work=work, marker=marker, level=level))
