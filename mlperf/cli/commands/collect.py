"""``mlperf collect``: measure this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mlperf.cli.framework.group import DefaultCommand, DefaultGroup, LazyCommand
from mlperf.cli.framework.options import cnn_option, output_options, seed_option
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import FOLDER, Counts, NumberRange, Words

COMMANDS = {
    "asgd": LazyCommand("mlperf.cli.commands.asgd:asgd", "Train asynchronously for real and measure every component."),
    "canonical": LazyCommand("mlperf.cli.commands.canonical:canonical", "Measure the innermost loops of layers by themselves."),
    "contraction": LazyCommand(
        "mlperf.cli.commands.contraction:contraction", "Generate, compile, check and time tensor contractions."
    ),
    "counters": LazyCommand("mlperf.cli.commands.counters:counters", "Run a command and count what it does."),
    "ddp": LazyCommand("mlperf.cli.commands.ddp:ddp", "Train synchronously on several processes and measure every part."),
    "kernel-counters": LazyCommand("mlperf.cli.commands.counters:kernel_counters", "Count what the kernels of a campaign do."),
    "loggps": LazyCommand("mlperf.cli.traces.loggps:loggps", "Measure what a message costs between two ranks (LogGPS)."),
    "network": LazyCommand("mlperf.cli.commands.canonical:network", "Measure latency and bandwidth between two processes."),
    "ps": LazyCommand("mlperf.cli.commands.ps:ps", "Train with parameter servers for real."),
}
KINDS = ("sgemm", "kernels", "steps", "updates")
USUAL: dict[str, Any] = {"n_generated": 40}
QUICK: dict[str, Any] = {
    "n_generated": 30,
    "rounds": 2,
    "subbatch_sizes": (1, 2, 8),
    "step": "full",
    "budget_s": 150.0,
}
"""What --quick means; options that are given win."""


EPILOG = """\b
Examples:
  mlperf collect -o campaign --quick
  mlperf collect -o campaign
  mlperf collect -o campaign --generate 60 --budget 3600
  mlperf collect sgemm updates -o campaign --budget 600
  mlperf collect steps -o campaign --cnn alexnet --cnn my.toml --subbatch 1,2
  mlperf collect kernels steps -o campaign --cnn resnet18 --backend torch
  mlperf collect asgd -- -o campaign --nodes 1,2
  mlperf collect ddp -- -o runs --quick
  mlperf collect contraction -o sweep --n 50,100 --subset 100
  mlperf collect counters -o counters.csv -- ./program 1000

Without KINDS everything is measured: matrix products, kernels and whole steps of 40 random networks, memory operations; how long
it will take is said first. With torch and cuda two fifths of the networks have layers of today (attention, windows, layer norm,
squeeze-excite, depthwise and transposed convolutions, recurrent cells), so that such networks can be predicted. --quick measures
a part of it in under three minutes, for a first impression. The same command continues an interrupted campaign; more --rounds or
a larger --generate add to a finished one. Measure on an idle machine.

The folder gets machine.toml, this machine as predictions read it (mlperf predict ... --machine campaign/machine.toml).

Backends: numpy runs im2col, matrix products and the other kernels of SPRINT one by one; torch runs library layers on one CPU
thread; cuda runs them on the GPU (times from device events), and takes the products of sgemm and the copies of updates there.
Images and the update thread's own operations are measured on the host in any case.

asgd and ddp train for real, asynchronously and synchronously, contraction compiles and times tensor contractions, counters runs a
command and counts what it does; they have options of their own: mlperf collect asgd --help.
"""


@click.command("collect", cls=DefaultCommand, epilog=EPILOG)
@click.argument("kinds", metavar="[sgemm|kernels|steps|updates]...", type=Words(KINDS), nargs=-1)
@click.option("-o", "--out", type=FOLDER, required=True, help="Folder of the campaign.")
@cnn_option
@click.option(
    "--generate",
    "n_generated",
    type=click.IntRange(min=0),
    help="Random networks besides --cnn, three of ten with batch norm and residual branches, with torch and cuda two fifths of"
    " today's layers.  [default: 40; with --cnn 0]",
)
@click.option("--generate-residual", "n_residual", type=click.IntRange(min=0), help="How many residual ones, besides the others.")
@click.option(
    "--generate-modern",
    "n_modern",
    type=click.IntRange(min=0),
    help="How many of today's layers (attention, layer norm, squeeze-excite, ...), besides the others; for torch and cuda.",
)
@click.option("--quick", is_flag=True, help="30 networks, two rounds, a coarser grid: under three minutes.")
@click.option("--max-macs", type=NumberRange(min=0, min_open=True), help="Leave out steps of more multiply-accumulates.")
@click.option("--subbatch", "subbatch_sizes", type=Counts(), help="Samples in a training step.  [default: 1,2,4,8]")
@click.option("--rounds", type=click.IntRange(min=1), help="Visits of each configuration.  [default: 10; sgemm 5]")
@click.option("--budget", "budget_s", type=NumberRange(min=0, min_open=True), metavar="SECONDS", help="Stop after this time.")
@click.option("--step", type=Words(("half", "full")), help="Grid of sgemm: powers of sqrt(2) (half), or of 2.  [default: half]")
@click.option("--backend", type=Words(("numpy", "torch", "cuda")), default="numpy", help="What runs products and training steps.")
@seed_option
@output_options
def collect_tables(
    kinds: tuple[str, ...],
    cnns: tuple[Path | str, ...],
    out: Path,
    n_generated: int | None,
    n_residual: int | None,
    n_modern: int | None,
    seed: int,
    show: Show,
    *,
    quick: bool,
    **request: Any,
) -> None:
    """Measure this machine: matrix products, kernels, whole training steps, memory operations."""
    from mlperf.collect.campaign.population import Shares, population
    from mlperf.collect.campaign.run import CollectRequest
    from mlperf.collect.campaign.run import collect as measure
    from mlperf.specs import find_cnn

    named = [find_cnn(each) for each in cnns]
    kinds = kinds or KINDS
    usual = QUICK if quick else USUAL
    asked = {name: value for name, value in request.items() if value is not None}
    is_chosen = bool(named) or n_residual is not None or n_modern is not None
    n_random = n_generated if n_generated is not None else 0 if is_chosen else usual["n_generated"]
    shares = Shares.of(n_random, n_residual, n_modern, str(asked["backend"]))
    generated = population(out, shares, seed) if {"kernels", "steps"} & set(kinds) else []
    settings = {name: value for name, value in usual.items() if name != "n_generated"} | asked
    found = measure(CollectRequest(kinds, out, cnns=(*generated, *named), seed=seed, **settings), show_progress=show.progress_shown)
    for reason in found.left_out:
        show.note(f"left out: {reason}")
    if not found.complete:
        show.note("the budget ended before all rounds; the same command continues")
    show(found, seed=seed)


collect = DefaultGroup(default=collect_tables, table=COMMANDS)
