"""``mlperf trace``: recorded runs, and what to change in them."""

from __future__ import annotations

import click

from mlperf.cli.framework.group import LazyCommand, LazyGroup

FILES = "mlperf.cli.traces.files"
WHAT_IFS = "mlperf.cli.traces.what_ifs"
RANKS = "mlperf.cli.traces.ranks"

COMMANDS = {
    "record": LazyCommand("mlperf.cli.traces.record:record", "Run an MPI program and record its messages."),
    "import": LazyCommand(f"{FILES}:import_command", "Read a trace of any format and store it."),
    "export": LazyCommand(f"{FILES}:export", "Write a trace in another format."),
    "check": LazyCommand(f"{FILES}:check", "Count events, match messages, and say what is wrong with a trace."),
    "replay": LazyCommand(f"{WHAT_IFS}:replay", "Replay a trace under LogGPS, unchanged or for another network."),
    "whatif": LazyCommand(f"{WHAT_IFS}:whatif", "Predict the run after one change or several, or rank every single change."),
    "domino": LazyCommand(f"{WHAT_IFS}:domino", "Follow domino paths: the few waits whose removal shortens the run most."),
    "balance": LazyCommand(f"{WHAT_IFS}:balance", "Rank parallel steps by what balancing each would bring."),
    "bounds": LazyCommand(f"{WHAT_IFS}:bounds", "Bound what equal computation, equal volume and no waits in a region bring."),
    "tolerance": LazyCommand(f"{WHAT_IFS}:tolerance", "Say how much slower a network may be before the run is."),
    "efficiency": LazyCommand(f"{WHAT_IFS}:efficiency", "Split a run's efficiency into balance, serialisation and transfer."),
    "timeline": LazyCommand(f"{WHAT_IFS}:timeline", "Draw a run before and after a change as a page."),
    "ranks": LazyCommand(f"{RANKS}:ranks", "Find the straggler among training ranks, and what its removal brings."),
    "job": LazyCommand("mlperf.cli.traces.ranks:job", "Find what slows a job with data and pipeline parallelism."),
    "steps": LazyCommand(f"{RANKS}:steps", "Split every step of a training trace into its parts."),
    "diff": LazyCommand(f"{RANKS}:diff", "List what differs between two traces."),
    "table": LazyCommand(f"{RANKS}:table", "Make a measurement table for `mlperf train` from traces."),
}


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    epilog="""\b
Examples:
  mlperf trace check run.alog
  mlperf trace domino run.alog
  mlperf trace ranks rank_*.json.gz
""",
)
def trace() -> None:
    """Ask recorded runs what to change, and what it will bring."""
