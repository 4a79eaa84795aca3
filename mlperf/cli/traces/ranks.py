"""``mlperf trace ranks``, ``steps``, ``diff``, ``table`` and ``job``: training runs as their profilers saw them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mlperf.cli.framework.options import level_option, output_options, plot_option, with_options
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import NEW_TABLE, OLD_FILE

if TYPE_CHECKING:
    from mlperf.traces.events.table import EventTable
    from mlperf.traces.timeline.windows import Windows

files_argument = click.argument("files", metavar="FILES...", nargs=-1, required=True, type=click.Path(path_type=Path))
rank_option = click.option(
    "--rank", "rank_numbers", type=click.IntRange(min=0), multiple=True, help="Rank of each of the FILES, in order."
)
marker_option = click.option("--marker", metavar="REGEX", help="Names of marks that are a step each.  [default: ProfilerStep#n]")


step_options = with_options(
    marker_option,
    level_option,
    click.option("--whole", is_flag=True, help="Take each recording as one step."),
)
"""Options that say what a step is."""


def read_ranks(files: tuple[Path, ...], rank_numbers: tuple[int, ...]) -> EventTable:
    """One trace of any format, or the profiler's files of several ranks."""
    from mlperf.traces.readers.chrome.job import read_job

    return read_job(files, rank_numbers or None)


@click.command(
    epilog="""\b
Examples:
  mlperf trace ranks rank_*.json.gz
  mlperf trace ranks traces/ --assume faster-network=4 --assume "balanced + faster-network=2"
  mlperf trace ranks traces/ --assume without-kernel=gemm
"""
)
@files_argument
@rank_option
@marker_option
@click.option(
    "--assume",
    multiple=True,
    metavar="CHANGE",
    help="faster-network=F, balanced, on-time=RANK, without-kernel=REGEX; 'A + B' for both at once. May be repeated.",
)
@plot_option
@output_options
def ranks(
    files: tuple[Path, ...],
    rank_numbers: tuple[int, ...],
    marker: str | None,
    assume: tuple[str, ...],
    show: Show,
) -> None:
    """Find the straggler among training ranks, and what its removal, balance or a faster network would bring.

    FILES are the ranks of one job as PyTorch's profiler wrote them, or their folder, or one trace that holds them all. Clocks that
    cannot be right are put on one; mlperf trace import --align does so with any.
    """
    from mlperf.traces.clocks.alignment import align_impossible
    from mlperf.traces.ranks.profiled.analysis import analyse_ranks

    show(analyse_ranks(align_impossible(read_ranks(files, rank_numbers)), assume, marker))


@click.command(epilog="Example: mlperf trace steps rank_0.json.gz --marker 'train_step#(\\d+)'")
@files_argument
@rank_option
@step_options
@plot_option
@output_options
def steps(
    files: tuple[Path, ...], rank_numbers: tuple[int, ...], marker: str | None, level: int | None, whole: bool, show: Show
) -> None:
    """Split every step into computation, communication, copies and the processor's own time; the parts add up to the step."""
    from mlperf.traces.timeline.decomposition import decompose
    from mlperf.traces.timeline.steps import steps_of_ranks

    table = read_ranks(files, rank_numbers)
    windows, notes = steps_of_ranks(table, marker=marker, level=level, whole=whole)
    show(decompose(table.replace(notes=(*table.notes, *notes)), windows))


@click.command(epilog="Example: mlperf trace diff before.json.gz after.json.gz")
@click.argument("first", metavar="A", type=click.Path(path_type=Path))
@click.argument("second", metavar="B", type=click.Path(path_type=Path))
@output_options
def diff(first: Path, second: Path, show: Show) -> None:
    """List what is new, gone, more, fewer, slower or faster in trace B than in trace A, the most different first."""
    from mlperf.traces.readers.registry import read_trace
    from mlperf.traces.timeline.difference import difference

    show(difference(read_trace(first, drop_unmatched=True), read_trace(second, drop_unmatched=True)))


@click.command(epilog="Example: mlperf trace table runs/*.json.gz --mapping components.toml --keys runs.csv -o times.csv")
@files_argument
@click.option("--mapping", "mapping_path", type=OLD_FILE, required=True, help="TOML: which events are which component.")
@click.option("--keys", "keys_path", type=OLD_FILE, help="CSV with a column run (a file's name) and what tells runs apart.")
@step_options
@click.option("-o", "--output", type=NEW_TABLE, help="CSV file to write, for mlperf train.")
@output_options
def table(
    files: tuple[Path, ...],
    mapping_path: Path,
    keys_path: Path | None,
    marker: str | None,
    level: int | None,
    whole: bool,
    output: Path | None,
    show: Show,
) -> None:
    """Make a measurement table: one row for each of FILES (a file or folder is a run), one column for each component's time."""
    from mlperf.traces.readers.registry import read_trace
    from mlperf.traces.timeline.steps import steps_of_ranks
    from mlperf.traces.to_table import read_keys, read_mapping, run_name, to_table

    mapping = read_mapping(mapping_path)
    runs: dict[str, tuple[EventTable, list[Windows]]] = {}
    for path in files:
        trace = read_trace(path, drop_unmatched=True)
        windows, notes = steps_of_ranks(trace, marker=marker, level=level, whole=whole)
        runs[run_name(path, runs)] = (trace.replace(notes=(*trace.notes, *notes)), windows)
    show(to_table(runs, mapping, read_keys(keys_path) if keys_path else None, output))


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
