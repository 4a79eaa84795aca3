"""``mlperf search``."""

from __future__ import annotations

from pathlib import Path

import click

from mlperf.cli.options import minibatch_option, model_argument, output_options, plot_option, seed_option, strict_option
from mlperf.cli.predict import METHODS
from mlperf.cli.request import Request, request_options
from mlperf.cli.show import Show
from mlperf.cli.values import Factors, Words
from mlperf.core.errors import UsageError

OBJECTIVES = ("epoch_s", "cost", "energy_j")


@click.command(
    epilog="""\b
Examples:
  mlperf search model.json --cnn vgg16 --machine kfc --dataset-size 1281167 --minibatch 103.5:172.5
  mlperf search model.json --cnn mine.toml --machine cluster.toml --job imagenet.toml --nodes 1:64 --subbatch 1:11 --plot map.svg
"""
)
@model_argument
@request_options
@minibatch_option
@click.option("--objective", type=Words(OBJECTIVES), default="epoch_s", help="What to minimise.")
@click.option("--top", type=click.IntRange(min=1), default=10, help="Rows of the ranking.")
@click.option("--method", type=Words(METHODS), default="learnt", help="How kernel times are predicted.")
@click.option("--what-if", "factors", type=Factors(), multiple=True, help="Scale a component: sum_gradient=0.25; may be repeated.")
@click.option("--ignore-memory", is_flag=True, help="Rank configurations that do not fit the device, too.")
@strict_option
@seed_option
@plot_option
@output_options
def search(
    model_path: Path,
    request: Request,
    minibatch: tuple[float, float] | None,
    objective: str,
    top: int,
    method: str,
    factors: tuple[tuple[str, float], ...],
    ignore_memory: bool,
    strict: bool,
    seed: int,
    show: Show,
) -> int:
    """Rank nodes x sub-batch by epoch time, where the mean mini-batch size fits a window; exit 1 where nothing does."""
    import mlperf

    cnns = request.needed_cnns()
    if len(cnns) > 1:
        raise UsageError(f"got {len(cnns)} CNNs, expected one", hint="Search them one by one.")
    model = mlperf.load_model(model_path)
    result = mlperf.search_runs(
        model,
        cnns[0],
        request.needed_machine(),
        request.needed_job(),
        n_nodes=request.n_nodes,
        n_gpus_per_node=request.n_gpus_per_node,
        subbatch_size=request.subbatch_size,
        minibatch=minibatch,
        objective=objective,
        top=top,
        method=method,
        factors=dict(factors),
        ignore_memory=ignore_memory,
        seed=seed,
        strict=strict,
    )
    show(result, data_sha256=model.provenance["data_sha256"], seed=seed)
    return 0 if len(result.best) else 1
