"""``mlperf accuracy``: every method on open measurements, or the predictor against an asynchronous trainer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from mlperf.cli.framework.options import jobs_option, output_options, plot_option, system_option
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import NEW_FILE, OLD_FILE
from mlperf.core.errors import UsageError


def complete_task(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's
    """Names of tasks that begin like this."""
    from mlperf.studies.open_data import task_names

    return [CompletionItem(name) for name in task_names() if name.startswith(incomplete.upper())]


def upper(ctx: click.Context, param: click.Parameter, names: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG001 - click's
    """Names of tasks as they are written."""
    return tuple(name.upper() for name in names)


@click.command(
    epilog="""\b
Examples:
  mlperf accuracy -o accuracy.md --jobs 2
  mlperf accuracy --task A1 --task B1 --limits limits.toml
  mlperf accuracy --task A1 --device V100
  mlperf accuracy --system fully-sharded
  mlperf accuracy --trainer emulated/ --trainer headline/ --trainer slow-network/ --rounds-from cpu-epyc
"""
)
@click.option("-o", "--output", type=NEW_FILE, help="File to write: .md, .csv or .json.")
@click.option(
    "--task",
    "tasks",
    metavar="NAME",
    multiple=True,
    callback=upper,
    shell_complete=complete_task,
    help="This task only; repeatable.",
)
@click.option(
    "--rung", "older_tasks", metavar="NAME", multiple=True, callback=upper, hidden=True, help="The older word for --task."
)
@click.option("--device", "devices", metavar="NAME", multiple=True, help="This device of the tasks only; repeatable.")
@system_option
@click.option(
    "--limits",
    metavar="FILE",
    type=OLD_FILE,
    help="TOML file of limits to judge what was reached by; exit 1 where one is missed.",
)
@click.option(
    "--trainer",
    "trainer",
    metavar="CAMPAIGN",
    multiple=True,
    help="Judge training and predicting by these runs of `mlperf collect asgd`.",
)
@click.option(
    "--trained-on", metavar="CNN", help="With --trainer: the one network to predict all others from.  [default: each in turn]"
)
@click.option(
    "--rounds-from", metavar="CAMPAIGN", help="With --trainer: kernels of further networks, for the steps of one left out."
)
@click.option(
    "--form",
    "forms",
    metavar="NAME",
    multiple=True,
    help="With --trainer: this form in the table of the equations alone; repeatable.",
)
@jobs_option
@plot_option
@output_options
def accuracy(
    output: Path | None,
    tasks: tuple[str, ...],
    older_tasks: tuple[str, ...],
    devices: tuple[str, ...],
    system: str | None,
    limits: Path | None,
    trainer: tuple[str, ...],
    trained_on: str | None,
    rounds_from: str | None,
    forms: tuple[str, ...],
    n_jobs: int,
    show: Show,
) -> int:
    """Score every method on the open measurements in the folder that MLPERF_SHARED_DATA names.

    With --trainer, train on some runs of the asynchronous trainer and predict the others instead. Exit 1 where a limit is missed.
    """
    asked = (*tasks, *older_tasks, *([] if system is None else tasks_of(system)))
    if trainer:
        if output is not None or asked or devices:
            hint = "--json writes everything that was found."
            raise UsageError("got --output, --task or --device with --trainer, expected none of them", hint=hint)
        return judge_predictions(trainer, trained_on, rounds_from, forms, limits, n_jobs, show)
    if trained_on or rounds_from or forms:
        raise UsageError("got --trained-on, --rounds-from or --form without --trainer, expected campaigns of the trainer")
    return score_methods(asked, devices, limits, output, n_jobs, show)


def tasks_of(system: str) -> tuple[str, ...]:
    """Names of the tasks that judge a system.

    Raises
    ------
    UsageError
        No task does.
    """
    from mlperf.studies.open_data.tasks import TASKS_OF_SYSTEMS

    if system not in TASKS_OF_SYSTEMS:
        hint = "Asynchronous runs of SPRINT are judged with --trainer." if system == "sprint" else ""
        raise UsageError(f"no open measurements judge {system!r}, expected one of {', '.join(TASKS_OF_SYSTEMS)}", hint=hint)
    return TASKS_OF_SYSTEMS[system]


def score_methods(
    tasks: tuple[str, ...], devices: tuple[str, ...], limits: Path | None, output: Path | None, n_jobs: int, show: Show
) -> int:
    """Score methods on the open measurements, and write the table where a file is named."""
    from mlperf.studies.open_data import check_ending, run_tasks, write_accuracy

    if output is not None:
        check_ending(output)
    found = run_tasks(tasks, jobs=n_jobs, limits=limits, devices=devices)
    if output is not None:
        write_accuracy(found, output)
        show.note(f"table written to {output}")
    show(found, data_sha256=found.data_sha256, seed=0)
    return 1 if found.missed() else 0


def judge_predictions(
    trainer: tuple[str, ...],
    trained_on: str | None,
    rounds_from: str | None,
    forms: tuple[str, ...],
    limits: Path | None,
    n_jobs: int,
    show: Show,
) -> int:
    """Judge training and predicting by runs of the trainer."""
    from mlperf.studies.trainer import judge_trainer, read_trainer_limits

    chosen: dict[str, Any] = {"forms": forms} if forms else {}
    asked = None if limits is None else read_trainer_limits(limits)
    found = judge_trainer(trainer, trained_on=trained_on, rounds_from=rounds_from, limits=asked, jobs=n_jobs, **chosen)
    show(found, data_sha256=found.sha256, seed=0)
    return 1 if found.missed else 0
