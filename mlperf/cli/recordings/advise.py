"""``mlperf record advise`` and ``workers``: what to change in a recorded run, and what it will bring."""

from __future__ import annotations

from pathlib import Path

import click

from mlperf.cli.framework.options import output_options, plot_option
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import Counts, NumberRange
from mlperf.cli.recordings.links import links_option
from mlperf.cli.recordings.steps import recording_argument, step_options
from mlperf.core.errors import UsageError


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


@click.command(
    epilog="""\b
Examples:
  mlperf record workers run
  mlperf record workers run --workers 1,2,4,8 --cores 4,8 --batch 256 --devices 8 --plot workers.svg
  mlperf record workers run --synthetic run-synthetic

A worker's batch is what the interpreter's stacks show of it: a recording of few workers, which steps wait for, tells it best. Where
workers and training share full cores, a recording of the same program on synthetic input tells what a step takes by itself.
"""
)
@recording_argument
@click.option("--workers", type=Counts(), default=(), help="Workers of each rank.  [default: until no step waits]")
@click.option("--cores", type=Counts(), default=(), help="Cores of the machine.  [default: as recorded]")
@click.option("--batch", "batch_size", type=click.IntRange(min=1), help="Samples of a step, for samples a second.")
@click.option("--devices", "n_devices", type=click.IntRange(min=1), help="Devices that wait.  [default: one a rank]")
@click.option("--storage", type=NumberRange(min=0.0, min_open=True), help="Bytes a second that storage gives; needs --batch-bytes.")
@click.option("--batch-bytes", type=NumberRange(min=0.0), help="Bytes read for a rank's batch.")
@click.option("--ahead", type=click.IntRange(min=1), help="Batches that may be ready.  [default: one a worker]")
@click.option("--synthetic", metavar="DIR", type=click.Path(path_type=Path), help="Recording of the program on synthetic input.")
@step_options
@plot_option
@output_options
def workers(
    recording: Path,
    workers: tuple[int, ...],
    cores: tuple[int, ...],
    batch_size: int | None,
    n_devices: int | None,
    storage: float | None,
    batch_bytes: float | None,
    ahead: int | None,
    synthetic: Path | None,
    marker: str | None,
    level: int | None,
    show: Show,
) -> None:
    """Say how long a step takes with other loader workers or cores, what waiting costs, and how many workers keep up."""
    from mlperf.cli.recordings.given import read_given
    from mlperf.planning.advice.workers import Storage, plan_workers
    from mlperf.traces.whole_run.steps import find_steps

    if (storage is None) != (batch_bytes is None):
        raise UsageError("got one of --storage and --batch-bytes, expected both or none", place="mlperf record workers")
    given, other = read_given(recording), None if synthetic is None else read_given(synthetic)
    show(
        plan_workers(
            given,
            find_steps(given, marker=marker, level=level),
            n_workers=workers,
            n_cores=cores,
            n_devices=n_devices,
            batch_size=batch_size,
            ahead=ahead,
            storage=None if storage is None or batch_bytes is None else Storage(batch_bytes, storage),
            synthetic=None if other is None else (other, find_steps(other, marker=marker, level=level)),
        )
    )
