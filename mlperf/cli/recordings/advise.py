"""``mlperf record advise``: what to change in a recorded run, and what it will bring."""

from __future__ import annotations

from pathlib import Path

import click

from mlperf.cli.framework.options import output_options
from mlperf.cli.framework.show import Show
from mlperf.cli.recordings.links import links_option
from mlperf.cli.recordings.steps import recording_argument, step_options


@click.command(
    epilog="""\b
Examples:
  mlperf record advise run
  mlperf record advise run --marker 'train_batch' --json

Every hint says what was seen, what to do, and how much shorter a step would be, with a 95 % interval. "inconclusive" is an answer;
a hint that follows from another one stands behind it.
"""
)
@recording_argument
@step_options
@links_option
@output_options
def advise(recording: Path, marker: str | None, level: int | None, links_file: Path | None, show: Show) -> None:
    """Say what holds the steps of a recorded run back, and what a change would bring."""
    from mlperf.cli.recordings.given import read_given
    from mlperf.planning.advice.advise import advise as give_advice
    from mlperf.planning.advice.findings import INPUT
    from mlperf.traces.links.topology import read_links
    from mlperf.traces.whole_run.steps import find_steps

    given = read_given(recording)
    own = recording / "nvidia-smi" / "topology.txt"
    file = links_file or (own if own.is_file() else None)
    links = None if file is None else read_links(file)
    found = give_advice(given, find_steps(given, marker=marker, level=level), links=links)
    show(found)
    if (found.hints["cause"] == INPUT).any():
        show.note(f"mlperf record workers {recording} says what other numbers of workers or cores would bring")
