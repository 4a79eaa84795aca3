"""``mlperf optimize``: the fastest partition of a network on a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mlperf.cli.framework.networks import CnnName
from mlperf.cli.framework.options import output_options, plot_option
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import OLD_FILE, Counts, Duration, NumberRange, Window


@click.command(
    epilog="""\b
Examples:
  mlperf optimize vgg16 --constants cluster.toml --machines 20 --minibatch-size 100 --dataset-size 1281167
  mlperf optimize mine.toml --constants cluster.toml --machines 100 --minibatch-size 32 --dataset-size 60000 --scaling 1:100:9
  mlperf optimize vgg16 --constants cluster.toml --machines 20 --minibatch-size 100 --dataset-size 1281167 --what-if rdma
  mlperf optimize vgg16 --constants cluster.toml --machines 20 --minibatch-size 100 --dataset-size 1281167 --budget 6h
"""
)
@click.argument("network", metavar="NET", type=CnnName(functions=True))
@click.option(
    "--constants",
    "constants_path",
    type=OLD_FILE,
    required=True,
    help="Constants of a machine: a TOML file (mlperf data template constants), or a model of mlperf train.",
)
@click.option("--machines", type=click.IntRange(min=1, max=100_000), required=True, help="Machines there are, servers included.")
@click.option("--minibatch-size", type=click.IntRange(min=1), required=True, help="Samples per update of one replica.")
@click.option("--dataset-size", type=click.IntRange(min=1), required=True, help="Samples per epoch.")
@click.option("--synchronous", is_flag=True, help="Replicas wait for the exchange with the servers.")
@click.option("--cores", type=click.IntRange(min=1), help="Most threads of a machine.  [default: those of the constants]")
@click.option("--memory-bytes", type=NumberRange(min=0.0, min_open=True), help="Most bytes a worker holds of all layers.")
@click.option("--max-replicas", type=click.IntRange(min=1), help="Most replicas.")
@click.option("--max-staleness", type=NumberRange(min=0.0), help="Largest mean staleness of asynchronous replicas, updates.")
@click.option("--minibatch", type=Window(), help="Window of replicas times mini-batch, samples.")
@click.option("--scaling", type=Counts(), default=(), help="Numbers of machines of a scaling curve: 1,2,4 or 1:64.")
@click.option("--what-if", "what_ifs", multiple=True, help="Other hardware, such as rdma; may be repeated; all for every one.")
@click.option("--price", type=NumberRange(min=0.0), help="Of a machine for an hour: adds the cost of an epoch to the curve.")
@click.option("--budget", type=Duration(), help="Time there is, such as 6h: how many epochs the plan completes.")
@click.option("--top", type=click.IntRange(min=1), default=10, help="Shapes (workers, replicas, servers) to rank.")
@plot_option
@output_options
def optimize(
    network: Any,
    constants_path: Path,
    machines: int,
    minibatch_size: int,
    dataset_size: int,
    synchronous: bool,
    cores: int | None,
    memory_bytes: float | None,
    max_replicas: int | None,
    max_staleness: float | None,
    minibatch: tuple[float, float] | None,
    scaling: tuple[int, ...],
    what_ifs: tuple[str, ...],
    price: float | None,
    budget: float | None,
    top: int,
    show: Show,
) -> None:
    """Find stripes, copies and threads of every layer, replicas and servers with the least epoch time."""
    from mlperf.planning.partition.optimize import Limits, PartitionJob
    from mlperf.planning.partition.plan import plan_partition
    from mlperf.planning.partition.what_ifs import WHAT_IFS
    from mlperf.specs import find_cnn

    no_end = float("inf")
    limits = Limits(
        machines,
        cores,
        no_end if memory_bytes is None else memory_bytes,
        max_replicas,
        minibatch or (0.0, no_end),
        no_end if max_staleness is None else max_staleness,
    )
    result = plan_partition(
        find_cnn(network) if isinstance(network, (str, Path)) else network,
        constants_of(constants_path),
        PartitionJob(float(dataset_size), float(minibatch_size), synchronous),
        limits,
        what_ifs=tuple(WHAT_IFS) if "all" in what_ifs else what_ifs,
        scaling=scaling,
        price_per_machine_hour=price,
        budget_s=budget,
        top=top,
    )
    show(result)


def constants_of(path: Path) -> Any:
    """Constants of a TOML file, or of what ``mlperf train --system model-parallel`` wrote."""
    if path.suffix != ".json":
        from mlperf.specs.constants import read_constants

        return read_constants(path)
    from mlperf import load_model

    return load_model(path, "mlperf-constants").constants
