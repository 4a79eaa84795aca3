"""``mlperf trace job``: what slows a job with data and pipeline parallelism."""

from __future__ import annotations

from pathlib import Path

import click

from mlperf.cli.framework.options import output_options, plot_option
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import OLD_FILE


@click.command(
    epilog="""\b
Examples:
  mlperf trace job operations.csv.gz
  mlperf trace job operations.csv --data-parallel 2 --pipeline 4
  mlperf trace job operations.csv --assume "time(stage=3)=typical" --assume "time(operation=forward-compute)=x0.9"
"""
)
@click.argument("path", metavar="TABLE", type=OLD_FILE)
@click.option("--data-parallel", type=click.IntRange(min=1), help="Data-parallel degree.  [default: the table's]")
@click.option("--pipeline", type=click.IntRange(min=1), help="Pipeline stages.  [default: the table's]")
@click.option(
    "--assume", "assume", multiple=True, help="What if: time(KEY=VALUES, ...)=typical, 0 or xFACTOR; gap(...)=0 or xFACTOR."
)
@plot_option
@output_options
def job(path: Path, data_parallel: int | None, pipeline: int | None, assume: tuple[str, ...], show: Show) -> None:
    """Find who slows a training job down, and what its removal brings, from a TABLE of operations."""
    from mlperf.traces.ranks.jobs import analyse_job
    from mlperf.traces.readers.operations import read_operations

    table = read_operations(path)
    result = analyse_job(table, data_parallel=data_parallel, pipeline=pipeline, assume=assume)
    show(result, data_sha256={path.name: table.sha256})
