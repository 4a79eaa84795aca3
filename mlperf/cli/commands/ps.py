"""``mlperf collect ps -- ...``: train with parameter servers for real."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mlperf.cli.framework.options import output_options, seed_option
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import FOLDER, OLD_FILE, NameOrFile, Words

EPILOG = """\b
Examples:
  mlperf collect ps -- -o runs --cnn digits-fc --plan 2x1x1/2x1x1/1x1x1
  mlperf collect ps -- -o runs --cnn digits-fc --plan 1x1x1/1x1x1/1x1x1 --replicas 2 --servers 1 --exchange synchronous
  mlperf collect ps -- -o emulated --plans plans.toml --wait compute,network --code scalar

A plan is stripes x copies x threads of every layer with work of its own, from the input up. Workers and servers are MPI ranks;
gradients are real, and so is the accuracy. --wait lets segments take the time that the trainer's own loops take alone, and messages
that of a network, both slowed down, so that a few cores can host many ranks: every row says so. plans.toml holds [[configurations]]
with cnn, plan, n_replicas, n_servers, exchange and minibatch_size. The same command goes on where it was stopped.
"""


def own_networks() -> list[str]:
    """Names of the networks that the trainer brings."""
    from mlperf.collect.servers import shipped_nets

    return list(shipped_nets())


@click.command("ps", epilog=EPILOG)
@click.option("-o", "--out", type=FOLDER, required=True, help="Folder of the runs.")
@click.option(
    "--cnn", type=NameOrFile("network", own_networks), default="digits-fc", help="digits-fc, digits-conv, or a TOML file."
)
@click.option("--plan", "plans", multiple=True, help="Stripes x copies x threads of every layer; may be repeated.")
@click.option("--plans", "plans_file", type=OLD_FILE, help="TOML file with [[configurations]].")
@click.option("--replicas", "n_replicas", type=click.IntRange(min=1), default=1, help="Model replicas.")
@click.option("--servers", "n_servers", type=click.IntRange(min=0), default=0, help="Parameter servers.")
@click.option("--exchange", type=Words(("asynchronous", "synchronous")), default="asynchronous", help="When weights are exchanged.")
@click.option("--minibatch", "minibatch_size", type=click.IntRange(min=1), default=16, help="Samples between two exchanges.")
@click.option("--repeats", type=click.IntRange(min=1), default=2, help="Runs of each configuration.")
@click.option("--minibatches", type=click.IntRange(min=2), default=8, help="Length of a run, mini-batches of each replica.")
@click.option("--epochs", type=click.IntRange(min=0), default=5, help="Passes over the data behind the accuracy.")
@click.option("--learning-rate", type=float, default=0.01, help="Step for a mean gradient.")
@click.option("--code", type=Words(("blas", "scalar")), default="blas", help="Products by BLAS, or loops compiled by numba.")
@click.option("--wait", default="", help="Parts to wait for: compute, or compute,network.")
@click.option("--latency", "latency_s", type=float, default=5e-6, metavar="SECONDS", help="Of the network waited for.")
@click.option("--bandwidth", "bytes_per_s", type=float, default=6e9, metavar="BYTES/S", help="Of the network waited for.")
@click.option("--time-scale", type=float, default=100.0, help="Factor on every wait.")
@click.option("--limit", "limit_s", type=float, default=120.0, metavar="SECONDS", help="Longest silence of a rank.")
@click.option("--mpiexec", metavar="COMMAND", help="Launcher with its options.  [default: mpiexec]")
@seed_option
@output_options
def ps(cnn: Path | str, plans: tuple[str, ...], plans_file: Path | None, wait: str, show: Show, **options: Any) -> None:
    """Train with replicas, stripes, copies, threads and parameter servers, and measure how long an epoch takes."""
    from mlperf.collect.servers import EmulatedNetwork, ServersRequest, run_servers, shipped_nets
    from mlperf.collect.servers.configuration import configuration_from
    from mlperf.collect.servers.plans import read_configurations
    from mlperf.report.text.answer import count_text
    from mlperf.specs import find_cnn

    named = {name: options.pop(name) for name in ("n_replicas", "n_servers", "exchange", "minibatch_size")}
    network = EmulatedNetwork(options.pop("latency_s"), 0.0, options.pop("bytes_per_s"))
    cnns = shipped_nets()
    if isinstance(cnn, Path):
        found = find_cnn(cnn)
        cnns[found.name], cnn = found, found.name
    configurations = [configuration_from({"cnn": cnn, "plan": plan, **named}) for plan in plans]
    configurations += read_configurations(plans_file) if plans_file else []
    request = ServersRequest(
        configurations=tuple(configurations),
        waits=tuple(part.strip() for part in wait.split(",") if part.strip()),
        network=network,
        cnns=cnns,
        **options,
    )
    done = run_servers(request, show_progress=show.progress_shown)
    if done.n_done_before:
        show.note(f"already there: {count_text(done.n_done_before, 'run')} of these configurations")
    if request.waits:
        show.note(f"{request.mode}: nothing here was measured on such a machine")
    show(done, seed=request.seed)
