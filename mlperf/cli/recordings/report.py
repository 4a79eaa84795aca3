"""``mlperf record report``: one page with everything in a recorded run, and the same as files."""

from __future__ import annotations

from pathlib import Path

import click

from mlperf.cli.framework.options import output_options
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import FOLDER, NEW_FILE, NEW_PAGE
from mlperf.cli.recordings.links import links_option
from mlperf.cli.recordings.steps import recording_argument, step_options


@click.command(
    epilog="""\b
Examples:
  mlperf record report run -o run.html
  mlperf record report run --tables tables --flames stacks --chrome run.json.gz

The page needs no network and no server: timeline with zoom and search, breakdown of the step, hints, matrix, flame graph. It
stays under 10 MB: of many events it keeps what each zoom can show, and the step of median length whole. Tables are CSV and JSON;
a file of folded stacks holds one swarm and phase, weights in nanoseconds; the trace opens in Perfetto and chrome://tracing.
"""
)
@recording_argument
@click.option("-o", "--out", type=NEW_PAGE, help="HTML page.  [default: DIR.html where nothing else is asked for]")
@click.option("--tables", type=FOLDER, help="Folder for all tables as CSV and JSON.")
@click.option("--flames", type=FOLDER, help="Folder for folded stacks, one file a swarm and phase.")
@click.option("--chrome", type=NEW_FILE, help="Trace for Perfetto (.json or .json.gz).")
@links_option
@step_options
@output_options
def report(
    recording: Path,
    out: Path | None,
    tables: Path | None,
    flames: Path | None,
    chrome: Path | None,
    links_file: Path | None,
    marker: str | None,
    level: int | None,
    show: Show,
) -> None:
    """Write one self-contained page with everything in a recorded run; its tables, stacks and trace as files where asked for."""
    from mlperf.cli.recordings.given import read_given
    from mlperf.report.recordings.page.report import ReportPlaces, write_report
    from mlperf.traces.links.topology import read_links

    if not (out or tables or flames or chrome):
        out = Path(f"{recording.resolve().name}.html")
    places = ReportPlaces(out, tables, flames, chrome)
    links = None if links_file is None else read_links(links_file)
    show(write_report(read_given(recording), places, marker=marker, level=level, links=links))
