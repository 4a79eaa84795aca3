"""``mlperf collect asgd -- ...``: train asynchronously for real and measure every component."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mlperf.cli.framework.networks import CnnName
from mlperf.cli.framework.options import output_options, seed_option, shipped_samples
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import FOLDER, Counts, NameList, NameOrFile, Words
from mlperf.collect.trainer.network import EXCHANGES, Network

EPILOG = """\b
Examples:
  mlperf collect asgd -- -o campaign
  mlperf collect asgd -- -o campaign --cnn my.toml --data my.npz --nodes 1,2 --gpus-per-node 1,2,4 --epochs 20
  mlperf collect asgd -- -o learning --nodes 1,2 --lockstep --delay 4
  mlperf collect asgd -- -o emulated --cnn my.toml --wait gradient,memory,network --rounds-from campaign --updates 400

Nodes are MPI ranks, GPUs are threads with a network each, mutexes and all-reduces are real. --wait replaces work by waits, drawn
from measured rounds of a campaign (mlperf collect steps updates); every row says so. The same command continues an interrupted
campaign. Measure on an idle machine.
"""


def waited_parts() -> tuple[str, ...]:
    """Parts that may be waited for; which of them go together is the trainer's to say."""
    from mlperf.collect.trainer.request import WAITED

    return tuple(WAITED)


@click.command("asgd", epilog=EPILOG)
@click.option("-o", "--out", type=FOLDER, required=True, help="Folder of the campaign.")
@click.option(
    "--cnn",
    "cnn_named",
    type=CnnName(functions=True),
    help="TOML or ONNX file, a shipped name, CAMPAIGN/NAME, module:function.  [default: a small one]",
)
@click.option("--data", type=NameOrFile("data set", shipped_samples), help="NumPy file, digits or gratings.  [default: digits]")
@click.option("--nodes", "n_nodes", type=Counts(), default="2", help="MPI ranks.")
@click.option("--gpus-per-node", "n_gpus_per_node", type=Counts(), default="2", help="Worker threads of a rank.")
@click.option("--subbatch", "subbatch_sizes", type=Counts(), default="8", help="Samples of a gradient.")
@click.option("--repeats", type=click.IntRange(min=1), default=3, help="Runs of each setting.")
@click.option("--epochs", type=click.IntRange(min=0), default=60, help="End of a run; 0: no limit.")
@click.option("--updates", "max_updates", type=click.IntRange(min=0), default=0, help="End of a run; 0: no limit.")
@click.option("--learning-rate", type=float, default=0.0003, help="eta; an update adds up all gradients that arrived.")
@click.option("--momentum", type=float, default=0.9, help="nu.")
@click.option("--shift", type=float, default=0.5, help="Largest shift of a deformed image, elements.")
@click.option("--scale", type=float, default=0.05, help="Largest relative change of its size.")
@click.option("--lockstep", is_flag=True, help="Workers wait for the update that uses their gradient.")
@click.option("--delay", type=click.IntRange(min=0), default=0, help="Age of the weights that workers read, updates.")
@click.option(
    "--wait",
    "waits",
    type=NameList(waited_parts, "part", "parts"),
    default=(),
    help="Parts to wait for: gradient, memory, network.",
)
@click.option("--rounds-from", metavar="CAMPAIGN", help="Campaign whose rounds are waited.  [default: the folder of -o]")
@click.option("--backend", default="numpy", help="Whose rounds of steps.csv.")
@click.option("--latency", "latency_s", type=float, default=5e-6, metavar="SECONDS", help="Of the network waited for.")
@click.option("--bandwidth", "bytes_per_s", type=float, default=3e9, metavar="BYTES/S", help="Of the network waited for.")
@click.option("--exchange", type=Words(tuple(EXCHANGES)), default=Network().exchange, help="Form of its all-reduce.")
@click.option("--time-scale", type=float, default=1.0, help="Factor on every wait.")
@click.option(
    "--dataset-size", type=click.IntRange(min=1), default=1_281_167, help="Samples of an epoch where gradients are waited for."
)
@click.option("--limit", "limit_s", type=float, default=300.0, metavar="SECONDS", help="Longest wait for another rank.")
@click.option("--mpiexec", metavar="COMMAND", help="Launcher with its options, as 'mpirun --hostfile hosts'.  [default: mpiexec]")
@seed_option
@output_options
def asgd(cnn_named: Path | str | None, latency_s: float, bytes_per_s: float, exchange: str, show: Show, **options: Any) -> None:
    """Train a CNN by asynchronous SGD, nodes as MPI ranks and GPUs as threads, and measure every component."""
    from mlperf.collect.trainer import AsgdRequest, train_asynchronously
    from mlperf.report.text.answer import count_text
    from mlperf.specs import find_cnn

    cnn = cnn_named and find_cnn(cnn_named)
    request = AsgdRequest(cnn=cnn or None, network=Network(latency_s, bytes_per_s, exchange), **options)
    trained = train_asynchronously(request, show_progress=show.progress_shown)
    show.note(f"left out of the means: {trained.rule}")
    if trained.n_done_before:
        show.note(f"already there: {count_text(trained.n_done_before, 'run')} of these settings")
    show(trained, seed=request.seed)
