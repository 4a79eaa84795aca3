"""``mlperf compare-runs A B``: whether B is faster than A, and how sure that is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mlperf.cli.framework.given import refuse_idle
from mlperf.cli.framework.options import output_options, plot_option
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import Duration, NumberRange, Words
from mlperf.core.errors import UsageError

if TYPE_CHECKING:
    from mlperf.traces.runs.compared import ComparedRuns, Question

ENDINGS = (".csv", ".json", ".jsonl", ".txt")
COMMAND, FILE, FOLDER = "a command", "a file of times", "a recording"
ALWAYS = ("statistic", "margin")
USED = {
    COMMAND: (*ALWAYS, "blocks", "warm_up", "most_s", "metric", "higher_is_better"),
    FILE: (*ALWAYS, "column", "higher_is_better"),
    FOLDER: (*ALWAYS, "marker"),
}
"""Options that count, by what both are."""
KINDS = {COMMAND: "commands", FILE: "files of times", FOLDER: "recordings"}
HINTS = {
    COMMAND: "Of their output, --metric takes a number.",
    FILE: "Name the numbers by --column.",
    FOLDER: "The times of their steps are compared; --marker says which marks are steps.",
}
EPILOG = """\b
Examples:
  mlperf compare-runs './old 1000' './new 1000'
  mlperf compare-runs 'OMP_NUM_THREADS=1 ./program' 'OMP_NUM_THREADS=2 ./program' --blocks 10 --margin 0.02
  mlperf compare-runs 'python a.py' 'python b.py' --metric '([\\d.]+) samples/s' --higher-is-better
  mlperf compare-runs before/ after/
  mlperf compare-runs before.json after.json --column step_s

A and B are commands (no shell; NAME=value may stand before), or files of times, or folders of `mlperf record`. Commands are run in
blocks ABBA or BAAB by a coin, so that a machine that gets slower bears on neither. The number of runs is fixed beforehand:
stopping as soon as the answer pleases would make it wrong. Exit code 0: decided (faster, slower, or no difference beyond the
margin); 1: inconclusive, with how many more blocks would decide.
"""


@click.command(epilog=EPILOG)
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--blocks", type=click.IntRange(min=2), default=6, help="Blocks of four runs.")
@click.option("--warm-up", type=click.IntRange(min=0), default=1, help="First runs of each command that have no say.")
@click.option("--max-time", "most_s", type=Duration(), metavar="TIME", help="Start no run after it, and end the one that runs.")
@click.option("--metric", metavar="REGEX", help="Compare the number that its first group finds last in the output, not the time.")
@click.option("--higher-is-better", is_flag=True, help="Numbers compared are rates.")
@click.option("--statistic", type=Words(("mean", "median")), default="mean", help="The median takes little note of disturbed runs.")
@click.option(
    "--margin", type=NumberRange(0.0, 1.0, max_open=True), default=0.01, help="Differences up to this share do not matter."
)
@click.option("--level", type=NumberRange(0.0, 1.0, min_open=True, max_open=True), default=0.95, help="Coverage of intervals.")
@click.option("--column", metavar="NAME", help="Column or key of files of times.")
@click.option("--marker", metavar="REGEX", help="Marks of recordings that are a step each.")
@click.option("--seed", type=int, default=0, help="Of the order of runs.")
@plot_option
@output_options
def compare_runs(a: str, b: str, show: Show, **options: Any) -> int:
    """Say whether B is faster than A: commands run in turns, times already measured, or two recordings."""
    kind = _kind_of_both(a, b)
    refuse_idle(USED[kind], f"A and B are {KINDS[kind]}", hint=HINTS[kind])
    from mlperf.traces.runs.compared import Question

    question = Question(
        margin=options["margin"],
        level=options["level"],
        statistic=options["statistic"],
        higher_is_better=options["higher_is_better"],
        is_time=options["metric"] is None and not options["higher_is_better"],
    )
    found = _compared(kind, a, b, question, options)
    show(found, seed=options["seed"])
    if found.interrupted:
        return 130
    return 0 if found.is_decided else 1


def _kind_of_both(a: str, b: str) -> str:
    """What A and B are.

    Raises
    ------
    UsageError
        They are not of one kind.
    """
    kinds = {kind_of(each): each for each in (a, b)}
    if len(kinds) == 1:
        return kind_of(a)
    hint = "Compare two commands, two files of times, or two recordings."
    if COMMAND in kinds and not shutil.which(kinds[COMMAND].split(" ")[0]):
        hint = f"There is no file or folder {kinds[COMMAND]}: correct the path."
    raise UsageError(f"got {kind_of(a)} ({a}) and {kind_of(b)} ({b}), expected two of one kind", hint=hint)


def _compared(kind: str, a: str, b: str, question: Question, options: dict[str, Any]) -> ComparedRuns:
    """The comparison of what both are."""
    if kind == FOLDER:
        from mlperf.cli.recordings.given import read_given
        from mlperf.traces.runs.recorded_steps import compare_recordings

        return compare_recordings(read_given(Path(a)), read_given(Path(b)), question, marker=options["marker"])
    if kind == FILE:
        from mlperf.traces.runs.compared import compare_times
        from mlperf.traces.runs.times_file import read_times

        return compare_times(read_times(Path(a), options["column"]), read_times(Path(b), options["column"]), question, names=(a, b))
    return _commands(a, b, question, options)


def _commands(a: str, b: str, question: Question, options: dict[str, Any]) -> ComparedRuns:
    """Both run in turns."""
    from mlperf.traces.runs.compared import compare_commands
    from mlperf.traces.runs.interleaved import RunPlan
    from mlperf.traces.runs.timed import metric_pattern

    metric = None if options["metric"] is None else metric_pattern(options["metric"])
    if metric is None and question.higher_is_better:
        raise UsageError("got --higher-is-better without --metric", hint="Of the time that a command takes, less is better.")
    plan = RunPlan(options["blocks"], options["warm_up"], options["most_s"], metric, options["seed"])
    return compare_commands(a, b, plan, question)


def kind_of(text: str) -> str:
    """What A or B is: a folder, a file of times by its ending or because it cannot be executed, else a command."""
    path = Path(text)
    if path.is_dir():
        return FOLDER
    if not path.is_file():
        return COMMAND
    return FILE if path.suffix.lower() in ENDINGS or not os.access(path, os.X_OK) else COMMAND
