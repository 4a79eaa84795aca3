"""``mlperf collect ddp -- ...``: train synchronously on several processes of this machine and measure every part of a step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mlperf.cli.framework.options import cnn_option, output_options, seed_option, shipped_samples
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import FOLDER, Counts, NameOrFile, NumberRange, Words

EPILOG = """\b
Examples:
  mlperf collect ddp -- -o runs --quick
  mlperf collect ddp -- -o runs --cnn my.toml --processes 1,2,4 --subbatch 8,16,32
  mlperf collect ddp -- -o runs --engine torch --processes 1,2

Every process has a replica of the network and reads its part of the same samples; gradients are summed by an MPI all-reduce (torch:
gloo) once a step. Processes beyond the cores wait for the times of real steps instead of computing (--wait auto), and exchange for
real: their rows say "emulated compute". The same command continues what was interrupted. Measure on an idle machine.
"""
QUICK: dict[str, Any] = {
    "repeats": 1,
    "run_s": 0.4,
    "n_processes": (1, 2),
    "subbatch_sizes": (8, 16, 32),
    "exchange_bytes": (2**12, 2**16, 2**20),
}
"""What --quick means; options that are given win."""


@click.command("ddp", epilog=EPILOG)
@click.option("-o", "--out", type=FOLDER, required=True, help="Folder of the tables.")
@cnn_option
@click.option("--data", type=NameOrFile("data set", shipped_samples), help="NumPy file, digits or gratings.  [default: what fits]")
@click.option("--processes", "n_processes", type=Counts(), help="Processes, each with a replica.  [default: 1,2,4]")
@click.option("--subbatch", "subbatch_sizes", type=Counts(), help="Samples of a process in a step.  [default: 8,16,32]")
@click.option("--repeats", type=click.IntRange(min=1), help="Runs of each setting.  [default: 3]")
@click.option("--seconds", "run_s", type=NumberRange(min=0, min_open=True), help="Timed steps of a run.  [default: 1.5]")
@click.option("--quick", is_flag=True, help="Short runs of one and two processes: well under a minute.")
@click.option("--engine", type=Words(("numpy", "torch")), default="numpy", help="NumPy and MPI, or torch and gloo.")
@click.option("--wait", type=Words(("auto", "never", "always")), default="auto", help="Wait instead of computing.")
@click.option("--exchange-bytes", type=Counts(), help="Of isolated exchanges.  [default: 4 KiB to 16 MiB or the largest gradient]")
@click.option("--learning-rate", type=float, default=0.01, help="Of plain SGD on the mean gradient.")
@click.option("--momentum", type=float, default=0.9, help="Share of the last update that is kept.")
@click.option("--limit", "limit_s", type=float, default=120.0, metavar="SECONDS", help="Longest wait for another process.")
@click.option("--mpiexec", metavar="COMMAND", help="Launcher with its options.  [default: mpiexec]")
@seed_option
@output_options
def ddp(cnns: tuple[Path | str, ...], show: Show, *, quick: bool, **options: Any) -> None:
    """Train a CNN synchronously, data-parallel, and measure every part of the step and the exchange alone."""
    from mlperf.collect.synchronous import DdpRequest, train_synchronously
    from mlperf.report.text.answer import count_text
    from mlperf.specs import find_cnn

    given = {name: value for name, value in options.items() if value is not None}
    request = DdpRequest(cnns=tuple(find_cnn(each) for each in cnns), **((QUICK if quick else {}) | given))
    found = train_synchronously(request, show_progress=show.progress_shown)
    emulated = request.needs_rounds()
    if emulated:
        counts = ", ".join(map(str, emulated))
        show.note(f"{counts} processes waited for the times of real steps instead of computing; their exchange is real")
    if found.n_done_before:
        show.note(f"already there: {count_text(found.n_done_before, 'run')} of these settings")
    if found.n_diverged:
        runs = f"{found.n_diverged} of {count_text(len(found.runs), 'run')}"
        show.note(f"{runs} ended with a loss that is no number: training diverged, take a smaller --learning-rate")
    show(found, seed=request.seed)
