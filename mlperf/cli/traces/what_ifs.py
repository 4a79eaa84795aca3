"""``mlperf trace replay``, ``whatif``, ``domino``, ``balance``, ``bounds``, ``tolerance``, ``efficiency``, ``timeline``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mlperf.cli.framework.options import output_options, plot_option, with_options
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import NEW_FILE, NEW_PAGE, NumberRange, Words
from mlperf.cli.traces.files import drop_option, format_option, trace_argument

if TYPE_CHECKING:
    from mlperf.traces.replay.run import Replay
    from mlperf.traces.whatif.edits import Edit

region_option = click.option("--region", help="Parallel region.  [default: PRGN, or the only one, or the whole run]")
assume_option = click.option(
    "--assume",
    "assumptions",
    multiple=True,
    metavar="CHANGE",
    help="A change, such as 'wait(3:17)=0', 'balance(step=2)', 'compute(site=solve.c)*0.5', 'latency=5us'; may be repeated.",
)
drawing_option = click.option(
    "--plot", "plot_path", metavar="FILE", type=NEW_FILE, help="Draw the run, and the changed one, into FILE (.svg, .png, .pdf)."
)
write_option = click.option(
    "--write-trace", type=NEW_FILE, help="Write the run as it would be: .alog, .npz, .csv, .goal, .json (Chrome), .zip (Perfetto)."
)


run_options = with_options(
    trace_argument,
    format_option,
    drop_option,
    click.option("--network", metavar="NAME|FILE", help="Preset, or file of mlperf collect loggps.  [default: as observed]"),
    click.option("--latency", "latency_us", type=NumberRange(min=0.0), help="L in microseconds, for presets that need it."),
    click.option("--eager-times", type=Words(("measured", "model")), default="measured", help="Times of eager messages."),
)
"""Options that say which trace is replayed how."""


def replayed(
    trace: Path,
    file_format: str | None,
    drop_unmatched: bool,
    network: str | None,
    latency_us: float | None,
    eager_times: Any,
) -> Replay:
    """The replay of the unmodified trace."""
    from mlperf.traces.readers.registry import read_trace
    from mlperf.traces.whatif.load import load_run

    given = {} if latency_us is None else {"latency_s": latency_us * 1e-6}
    return load_run(read_trace(trace, file_format, drop_unmatched=drop_unmatched), network, eager_times, **given)


def edits_of(run: Replay, assumptions: tuple[str, ...]) -> list[Edit]:
    """The changes that a user has written."""
    from mlperf.traces.whatif.grammar import read_edit

    return [read_edit(text, run.timing) for text in assumptions]


def draw(run: Replay, edits: Sequence[Edit], path: Path | None, show: Show) -> None:
    """Draw the run, changed and not, with its domino path, where that was asked for."""
    if path is not None:
        from mlperf.report.traces.run_timelines import write_timeline_figure
        from mlperf.traces.whatif.timeline import run_timeline

        write_timeline_figure(run_timeline(run, edits), path)
        show.note(f"figure written to {path}")


def write_changed(run: Replay, edits: Sequence[Edit], path: Path | None, show: Show) -> None:
    """Write the run as it would be, where that was asked for."""
    if path is not None:
        from mlperf.traces.replay import as_table
        from mlperf.traces.whatif.combine import edited
        from mlperf.traces.writers.registry import export_trace

        export_trace(as_table(edited(run, edits)), path)
        show.note(f"run written to {path}")


@click.command(
    epilog="""\b
Examples:
  mlperf trace replay run.alog
  mlperf trace replay run.alog --network network.toml --assume network=ethernet.toml --write-trace after.alog
"""
)
@run_options
@assume_option
@write_option
@output_options
def replay(assumptions: tuple[str, ...], write_trace: Path | None, show: Show, **options: Any) -> None:
    """Replay TRACE as it was recorded, which shows whether it can be believed; or changed, and write that run."""
    from mlperf.traces.whatif.assumed import assume
    from mlperf.traces.whatif.load import validation_of

    run = replayed(**options)
    edits = edits_of(run, assumptions)
    write_changed(run, edits, write_trace, show)
    show(assume(run, edits) if edits else validation_of(run))


@click.command(
    epilog="""\b
Examples:
  mlperf trace whatif run.alog
  mlperf trace whatif run.alog --assume 'wait(3:17)=0' --assume 'balance(step=2)'
  mlperf trace whatif run.alog --network network.toml --assume latency=50us
"""
)
@run_options
@assume_option
@click.option("--top", type=click.IntRange(min=1), default=20, help="Changes to list.")
@write_option
@drawing_option
@output_options
def whatif(
    assumptions: tuple[str, ...], top: int, write_trace: Path | None, plot_path: Path | None, show: Show, **options: Any
) -> None:
    """Predict the run after one change or several; without --assume, try every single change and rank them."""
    from mlperf.traces.whatif.assumed import assume
    from mlperf.traces.whatif.ranking import rank_changes

    run = replayed(**options)
    edits = edits_of(run, assumptions)
    draw(run, edits, plot_path, show)
    write_changed(run, edits, write_trace, show)
    show(assume(run, edits) if edits else rank_changes(run, top))


@click.command(epilog="Example: mlperf trace domino run.alog --plot dominoes.svg")
@run_options
@click.option("--paths", "max_paths", type=click.IntRange(min=1, max=1000), default=4, help="Equally good paths to list.")
@drawing_option
@output_options
def domino(max_paths: int, plot_path: Path | None, show: Show, **options: Any) -> None:
    """Follow domino paths: waits whose removal lets others fall. Pushing the first shortens the run most."""
    from mlperf.traces.whatif.dominoes import find_dominoes

    run = replayed(**options)
    draw(run, [], plot_path, show)
    show(find_dominoes(run, max_paths))


@click.command(epilog="Example: mlperf trace balance run.alog --region PRGN")
@run_options
@region_option
@output_options
def balance(region: str | None, show: Show, **options: Any) -> None:
    """Rank the steps of a parallel region by what the run gains if all ranks compute, and send, alike much in one."""
    from mlperf.traces.whatif.balance import rank_steps

    show(rank_steps(replayed(**options), region))


@click.command(epilog="Example: mlperf trace bounds run.alog --region PRGN")
@run_options
@region_option
@output_options
def bounds(region: str | None, show: Show, **options: Any) -> None:
    """Bound the run if a region had no waits (A1), equal computation (A2), equal volume (A3): sums, without a replay."""
    from mlperf.traces.whatif.bounds import bounds as bound_run

    show(bound_run(replayed(**options), region))


@click.command(epilog="Example: mlperf trace tolerance run.alog --network network.toml --share 0.01")
@run_options
@click.option("--share", type=NumberRange(min=1e-6, max=100.0), default=0.01, help="Growth of the run that is tolerated.")
@click.option("--shared-link", type=NumberRange(min=0.0, min_open=True), help="Bytes per second of a link that messages share.")
@output_options
def tolerance(share: float, shared_link: float | None, show: Show, **options: Any) -> None:
    """Say how many L, o and G are on the critical path, and how much each may grow; or what sharing links would cost."""
    from mlperf.traces.whatif.contention import shared_link as share_link
    from mlperf.traces.whatif.tolerance import tolerance as tolerate

    run = replayed(**options)
    show(tolerate(run, share) if shared_link is None else share_link(run, shared_link))


@click.command(epilog="Example: mlperf trace efficiency run.alog")
@run_options
@output_options
def efficiency(show: Show, **options: Any) -> None:
    """Split the run's parallel efficiency into load balance, serialisation and transfer."""
    from mlperf.traces.whatif.efficiency import efficiency as split

    show(split(replayed(**options)))


@click.command(epilog="Example: mlperf trace timeline run.alog --assume 'balance(step=2)' -o run.html")
@run_options
@assume_option
@click.option("-o", "--output", type=NEW_PAGE, help="Page to write (.html); it opens without a network.")
@plot_option
@output_options
def timeline(assumptions: tuple[str, ...], output: Path | None, show: Show, **options: Any) -> None:
    """Draw every rank's waits and messages before and after changes, with the domino path; --plot FILE for the drawing alone."""
    from mlperf.traces.whatif.timeline import run_timeline

    run = replayed(**options)
    found = run_timeline(run, edits_of(run, assumptions))
    if output is not None:
        from mlperf.report.traces.run_timelines import write_timeline_page

        write_timeline_page(found, output)
        show.note(f"page written to {output}")
    show(found)
