"""``mlperf accuracy``: the accuracy ladder on open measurements."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from mlperf.cli.options import jobs_option, output_options
from mlperf.cli.show import Show


def complete_rung(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's
    """Names of rungs that begin like this."""
    from mlperf.systems.ladder import rung_names

    return [CompletionItem(name) for name in rung_names() if name.startswith(incomplete.upper())]


def upper(ctx: click.Context, param: click.Parameter, names: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG001 - click's
    """Names of rungs as they are written."""
    return tuple(name.upper() for name in names)


@click.command(
    epilog="""\b
Examples:
  mlperf accuracy -o accuracy.md --jobs 2
  mlperf accuracy --rung A1 --rung B1
"""
)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="File to write: .md, .csv or .json.")
@click.option(
    "--rung",
    "rungs",
    metavar="NAME",
    multiple=True,
    callback=upper,
    shell_complete=complete_rung,
    help="This rung only; repeatable.",
)
@jobs_option
@output_options
def accuracy(output: Path | None, rungs: tuple[str, ...], n_jobs: int, show: Show) -> None:
    """Score every method on the open measurements in the folder that MLPERF_SHARED_DATA names, beside the goals."""
    from mlperf.systems.ladder import check_ending, climb, write_ladder

    if output is not None:
        check_ending(output)
    ladder = climb(rungs, jobs=n_jobs)
    if output is not None:
        write_ladder(ladder, output)
        show.note(f"table written to {output}")
    show(ladder, data_sha256=ladder.data_sha256, seed=0)
