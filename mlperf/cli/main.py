"""The ``mlperf`` command and the table of its commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from mlperf import __version__
from mlperf.cli.framework.failures import exit_code
from mlperf.cli.framework.group import LazyCommand, LazyGroup
from mlperf.cli.framework.process import collect_rarely, ended_like_ctrl_c, open_streams
from mlperf.cli.framework.show import Settings

COMMANDS = {
    "demo": LazyCommand("mlperf.cli.commands.demo:demo", "Run the whole path on the bundled measurements."),
    "collect": LazyCommand("mlperf.cli.commands.collect:collect", "Measure this machine."),
    "data": LazyCommand("mlperf.cli.commands.data:data", "List, describe, check, export and import measurement tables."),
    "features": LazyCommand("mlperf.cli.commands.features:features", "Describe kernels by source, compiled code or counters."),
    "watch": LazyCommand("mlperf.cli.commands.watch:watch", "Run a program and forecast its performance while it runs."),
    "train": LazyCommand("mlperf.cli.commands.train:train", "Fit a model of every component time."),
    "report": LazyCommand("mlperf.cli.commands.report:report", "Show what a model rests on: terms, tests, left-out errors."),
    "predict": LazyCommand("mlperf.cli.commands.predict:predict", "Predict epoch time and mean mini-batch size of an unseen CNN."),
    "compare": LazyCommand("mlperf.cli.commands.compare:compare", "Set predictions beside measurements."),
    "calibrate": LazyCommand("mlperf.cli.commands.calibrate:calibrate", "Bring any predictor to a few measured rows."),
    "search": LazyCommand("mlperf.cli.commands.search:search", "Find the fastest run whose mean mini-batch size fits a window."),
    "optimize": LazyCommand("mlperf.cli.commands.optimize:optimize", "Find the fastest partition of a network on a cluster."),
    "trace": LazyCommand("mlperf.cli.traces.group:trace", "Ask recorded runs what to change, and what it will bring."),
    "record": LazyCommand("mlperf.cli.recordings.group:record", "Record everything a program does, and say what to change."),
    "compare-runs": LazyCommand(
        "mlperf.cli.recordings.compare_runs:compare_runs", "Say whether one command is faster than another."
    ),
    "kernels": LazyCommand("mlperf.cli.commands.kernels:kernels", "Study measured kernels, and predict kernels nobody has run."),
    "accuracy": LazyCommand("mlperf.cli.commands.accuracy:accuracy", "Score every method on open measurements."),
    "completion": LazyCommand("mlperf.cli.framework.completion:completion", "Print the completion script of a shell."),
}

EXAMPLES = """\b
Examples:
  mlperf demo
  mlperf train campaign/ -o model.json
  mlperf predict model.json --cnn vgg16 --machine kfc --nodes 8 --subbatch 4 --dataset-size 1281167
"""

EXIT_CODES = """\b
Exit codes: 0 done; 1 done and the answer is no; 2 wrong use; 3 bad data or specification; 4 cannot fit;
5 outside the measured domain with --strict; 6 an optional package is missing; 70 a fault in mlperf itself;
130 interrupted.
"""


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    epilog=f"{EXAMPLES}\n{EXIT_CODES}",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120, "show_default": True},
)
@click.version_option(__version__, "-V", "--version", prog_name="mlperf", message="%(prog)s %(version)s")
def cli() -> None:
    """Predict how long CNN training takes on a cluster, and how sure that is, from measurements."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    settings = Settings()
    open_streams()
    collect_rarely()
    with ended_like_ctrl_c() as requests, exit_code(settings, requests) as outcome:
        words = sys.argv[1:] if arguments is None else list(arguments)
        result = cli.main(words, prog_name="mlperf", obj=settings, standalone_mode=False)
        outcome.code = result if isinstance(result, int) else 0
    sys.exit(outcome.code)
