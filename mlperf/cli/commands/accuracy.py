"""``mlperf accuracy``: the accuracy ladder on open measurements, and the equations against an asynchronous trainer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from mlperf.cli.framework.options import jobs_option, output_options, plot_option
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import NEW_FILE
from mlperf.core.errors import UsageError


def complete_rung(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's
    """Names of rungs that begin like this."""
    from mlperf.studies.open_data import rung_names

    return [CompletionItem(name) for name in rung_names() if name.startswith(incomplete.upper())]


def upper(ctx: click.Context, param: click.Parameter, names: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG001 - click's
    """Names of rungs as they are written."""
    return tuple(name.upper() for name in names)


@click.command(
    epilog="""\b
Examples:
  mlperf accuracy -o accuracy.md --jobs 2
  mlperf accuracy --rung A1 --rung B1
  mlperf accuracy --trainer emulated/ --trainer headline/ --trainer slow-network/ --rounds-from cpu-epyc
"""
)
@click.option("-o", "--output", type=NEW_FILE, help="File to write: .md, .csv or .json.")
@click.option(
    "--rung",
    "rungs",
    metavar="NAME",
    multiple=True,
    callback=upper,
    shell_complete=complete_rung,
    help="This rung only; repeatable.",
)
@click.option(
    "--trainer", "trainer", metavar="CAMPAIGN", multiple=True, help="Judge the equations by these runs of `mlperf collect asgd`."
)
@click.option("--trained-on", metavar="CNN", help="With --trainer: fit on this network.  [default: that with most settings]")
@click.option(
    "--rounds-from", metavar="CAMPAIGN", help="With --trainer: whose steps were waited; its networks show the gradient formula."
)
@click.option("--form", "forms", metavar="NAME", multiple=True, help="With --trainer: this form of the equations only; repeatable.")
@jobs_option
@plot_option
@output_options
def accuracy(
    output: Path | None,
    rungs: tuple[str, ...],
    trainer: tuple[str, ...],
    trained_on: str | None,
    rounds_from: str | None,
    forms: tuple[str, ...],
    n_jobs: int,
    show: Show,
) -> int:
    """Score every method on the open measurements in the folder that MLPERF_SHARED_DATA names, beside the goals.

    With --trainer, judge the equations of SPRINT by runs of the asynchronous trainer instead; exit 1 where a gate is missed.
    """
    if trainer:
        if output is not None or rungs:
            hint = "--json writes everything that was found."
            raise UsageError("got --output or --rung with --trainer, expected neither", hint=hint)
        return judge_equations(trainer, trained_on, rounds_from, forms, show)
    if trained_on or rounds_from or forms:
        raise UsageError("got --trained-on, --rounds-from or --form without --trainer, expected campaigns of the trainer")
    return score_methods(rungs, output, n_jobs, show)


def score_methods(rungs: tuple[str, ...], output: Path | None, n_jobs: int, show: Show) -> int:
    """Score every method on the open measurements."""
    from mlperf.studies.open_data import check_ending, climb, write_ladder

    if output is not None:
        check_ending(output)
    ladder = climb(rungs, jobs=n_jobs)
    if output is not None:
        write_ladder(ladder, output)
        show.note(f"table written to {output}")
    show(ladder, data_sha256=ladder.data_sha256, seed=0)
    return 0


def judge_equations(
    trainer: tuple[str, ...], trained_on: str | None, rounds_from: str | None, forms: tuple[str, ...], show: Show
) -> int:
    """Judge the equations by runs of the trainer."""
    from mlperf.studies.trainer import judge_trainer

    chosen = {"forms": forms} if forms else {}
    found = judge_trainer(trainer, trained_on=trained_on, rounds_from=rounds_from, **chosen)
    show(found, data_sha256=found.sha256, seed=0)
    return 1 if found.missed else 0
