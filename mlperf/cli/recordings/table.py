"""``mlperf record table``: recorded runs as a measurement table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mlperf.cli.framework.options import output_options
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import NEW_TABLE, OLD_FILE
from mlperf.cli.recordings.steps import step_options

if TYPE_CHECKING:
    from mlperf.traces.readers.system.traceml import TraceMLSummary
    from mlperf.traces.whole_run.recording import Recording
    from mlperf.traces.whole_run.steps import RunSteps

SUMMARY = "final_summary"
"""TraceML calls all its summaries so; their folders tell them apart."""


@click.command(
    epilog="""\b
Examples:
  mlperf record table runs/* --keys runs.csv -o steps.csv
  mlperf train steps.csv --target step_s -o model.json

runs.csv has a column run (a folder's name) and columns that tell the runs apart, for example network, batch and workers.
"""
)
@click.argument("recordings", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--keys", "keys_path", type=OLD_FILE, help="CSV with a column run and what tells the runs apart.")
@step_options
@click.option("-o", "--output", type=NEW_TABLE, help="CSV file to write, for mlperf train.")
@output_options
def table(
    recordings: tuple[Path, ...], keys_path: Path | None, marker: str | None, level: int | None, output: Path | None, show: Show
) -> None:
    """Make a measurement table: one row for each recording, a column for each phase of a step and for what the run used.

    DIR may also be a final summary of TraceML (JSON).
    """
    from mlperf.cli.recordings.given import read_given
    from mlperf.traces.readers.system.traceml import is_traceml, read_traceml
    from mlperf.traces.run_table import run_table
    from mlperf.traces.to_table import read_keys, run_name
    from mlperf.traces.whole_run.steps import find_steps

    runs: dict[str, tuple[Recording, RunSteps]] = {}
    summaries: dict[str, TraceMLSummary] = {}
    for path in recordings:
        if is_traceml(path):
            summaries[run_name(path.parent if path.stem == SUMMARY else path, {*runs, *summaries})] = read_traceml(path)
            continue
        recording = read_given(path)
        runs[run_name(path, {*runs, *summaries})] = (recording, find_steps(recording, marker=marker, level=level))
    show(run_table(runs, read_keys(keys_path) if keys_path else None, output, summaries))
