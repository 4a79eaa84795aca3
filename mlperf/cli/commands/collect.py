"""``mlperf collect``: measure this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mlperf.cli.framework.group import DefaultCommand, DefaultGroup, LazyCommand
from mlperf.cli.framework.options import cnn_option, output_options, seed_option
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import FOLDER, Counts, Words

COMMANDS = {
    "asgd": LazyCommand("mlperf.cli.commands.asgd:asgd", "Train asynchronously for real and measure every component."),
    "contraction": LazyCommand(
        "mlperf.cli.commands.contraction:contraction", "Generate, compile, check and time tensor contractions."
    ),
    "counters": LazyCommand("mlperf.cli.commands.counters:counters", "Run a command and count what it does."),
    "kernel-counters": LazyCommand("mlperf.cli.commands.counters:kernel_counters", "Count what the kernels of a campaign do."),
}
KINDS = ("sgemm", "kernels", "steps", "updates")

EPILOG = """\b
Examples:
  mlperf collect kernels steps -o campaign --generate 40 --rounds 10
  mlperf collect sgemm updates -o campaign --budget 600
  mlperf collect steps -o campaign --cnn alexnet --cnn my.toml --subbatch 1,2
  mlperf collect kernels steps -o campaign --cnn resnet18 --backend torch
  mlperf collect asgd -- -o campaign --nodes 1,2
  mlperf collect contraction -o sweep --n 50,100 --subset 100
  mlperf collect counters -o counters.csv -- ./program 1000

kernels and steps share their visits: collect them in one command. The same command continues an interrupted campaign; more
--rounds add to a finished one. Measure on an idle machine.

Backends: numpy runs im2col, matrix products and the other kernels of SPRINT one by one; torch runs library layers on one CPU
thread; cuda runs them on the GPU (times from device events), and takes the products of sgemm and the copies of updates there.
Images and the update thread's own operations are measured on the host in any case.

asgd trains asynchronously for real, contraction compiles and times tensor contractions, counters runs a command and counts what
it does; they have options of their own: mlperf collect asgd --help.
"""


@click.command("collect", cls=DefaultCommand, epilog=EPILOG)
@click.argument("kinds", type=Words(KINDS), nargs=-1, required=True)
@click.option("-o", "--out", type=FOLDER, required=True, help="Folder of the campaign.")
@cnn_option
@click.option("--generate", "n_generated", type=click.IntRange(min=0), default=0, help="Random networks to measure besides --cnn.")
@click.option(
    "--generate-residual", "n_residual", type=click.IntRange(min=0), default=0, help="Random residual networks besides them."
)
@click.option("--max-macs", type=click.FloatRange(min=0, min_open=True), help="Leave out steps of more multiply-accumulates.")
@click.option("--subbatch", "subbatch_sizes", type=Counts(), default="1,2,4,8", help="Samples in a training step.")
@click.option("--rounds", type=click.IntRange(min=1), help="Visits of each configuration.  [default: 10; sgemm 5]")
@click.option("--budget", "budget_s", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="Stop after this time.")
@click.option("--step", type=Words(("half", "full")), default="half", help="Grid of sgemm: powers of sqrt(2), or of 2.")
@click.option("--backend", type=Words(("numpy", "torch", "cuda")), default="numpy", help="What runs products and training steps.")
@seed_option
@output_options
def collect_tables(
    kinds: tuple[str, ...], cnns: tuple[Path | str, ...], n_generated: int, n_residual: int, seed: int, show: Show, **request: Any
) -> None:
    """Measure this machine: matrix products, kernels, whole training steps, memory operations."""
    from mlperf.collect.campaign.run import CollectRequest
    from mlperf.collect.campaign.run import collect as measure
    from mlperf.specs import find_cnn, make_cnns, make_residual_cnns

    named = [find_cnn(each) for each in cnns]
    generated = make_cnns(n_generated, seed=seed) if n_generated else []
    generated += make_residual_cnns(n_residual, seed=seed) if n_residual else []
    found = measure(CollectRequest(kinds, cnns=(*generated, *named), seed=seed, **request), show_progress=show.progress_shown)
    for reason in found.left_out:
        show.note(f"left out: {reason}")
    if not found.complete:
        show.note("the budget ended before all rounds; the same command continues")
    show(found, seed=seed)


collect = DefaultGroup(default=collect_tables, table=COMMANDS)
