"""``mlperf record``: run a command with everything recorded, and ask recordings what to change."""

from __future__ import annotations

from mlperf.cli.framework.group import DefaultGroup, LazyCommand
from mlperf.cli.recordings.run import run

COMMANDS = {
    "report": LazyCommand("mlperf.cli.recordings.report:report", "Write one page with everything in it."),
    "steps": LazyCommand("mlperf.cli.recordings.steps:steps", "Find the steps, and where the time of a step goes."),
    "advise": LazyCommand("mlperf.cli.recordings.advise:advise", "Say what to change, and what it will bring."),
    "workers": LazyCommand("mlperf.cli.recordings.advise:workers", "Say what other numbers of loader workers would bring."),
    "swarms": LazyCommand("mlperf.cli.recordings.steps:swarms", "Group functions into swarms, and say which follows which."),
    "diff": LazyCommand("mlperf.cli.recordings.steps:diff", "Say what changed between two recordings."),
    "scaling": LazyCommand("mlperf.cli.recordings.steps:scaling", "Set recordings of one program on more devices side by side."),
    "matrix": LazyCommand("mlperf.cli.recordings.links:matrix", "Show who sends how much to whom."),
    "ring": LazyCommand("mlperf.cli.recordings.links:ring", "Find the best ring through the links, and name the one in use."),
    "table": LazyCommand("mlperf.cli.recordings.table:table", "Make a measurement table for `mlperf train`."),
}

record = DefaultGroup(default=run, table=COMMANDS)
