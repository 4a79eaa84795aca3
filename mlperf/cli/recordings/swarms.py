"""``mlperf record swarms``: groups of functions of a recorded run, and which follows which."""

from __future__ import annotations

from pathlib import Path

import click

from mlperf.cli.framework.options import output_options, plot_option
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import OLD_FILE
from mlperf.cli.recordings.steps import level_option, marker_option, recording_argument


@click.command(epilog="Example: mlperf record swarms run --keywords own.toml --plot swarms.svg")
@recording_argument
@click.option("--keywords", type=OLD_FILE, help="TOML: rules that name swarms by words, in place of the package's own.")
@marker_option
@level_option
@plot_option
@output_options
def swarms(recording: Path, keywords: Path | None, marker: str | None, level: int | None, show: Show) -> None:
    """Group functions into swarms by keywords and by when they work, and say which follows which in the steps."""
    from mlperf.cli.recordings.given import read_given
    from mlperf.traces.whole_run.grouped import swarms_of

    show(swarms_of(read_given(recording), keywords=keywords, marker=marker, level=level))
