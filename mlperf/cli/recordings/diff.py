"""``mlperf record diff``: what changed between two recorded runs."""

from __future__ import annotations

from pathlib import Path

import click

from mlperf.cli.framework.options import output_options, plot_option
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import OLD_FILE
from mlperf.cli.recordings.steps import level_option, marker_option


@click.command(epilog="Example: mlperf record diff before after")
@click.argument("first", metavar="A", type=click.Path(path_type=Path))
@click.argument("second", metavar="B", type=click.Path(path_type=Path))
@click.option("--keywords", type=OLD_FILE, help="TOML: rules that name swarms by words, in place of the package's own.")
@marker_option
@level_option
@plot_option
@output_options
def diff(first: Path, second: Path, keywords: Path | None, marker: str | None, level: int | None, show: Show) -> None:
    """Say how much faster or slower recording B is than A, and which parts of a step, swarms and functions it comes from."""
    from mlperf.cli.recordings.given import read_given
    from mlperf.traces.whole_run.difference import run_difference

    show(run_difference(read_given(first), read_given(second), keywords=keywords, marker=marker, level=level))
