"""``mlperf predict``."""

from __future__ import annotations

from pathlib import Path

import click

from mlperf.cli.options import model_argument, output_options, plot_option, seed_option, strict_option
from mlperf.cli.request import Request, request_options
from mlperf.cli.show import Show
from mlperf.cli.values import Factors, Words

CLOSED_FORMS = ("convolution", "second_moment", "paper")
METHODS = ("learnt", "linear", "ols", "paper")


@click.command(
    epilog="""\b
Examples:
  mlperf predict model.json --cnn vgg16 --machine kfc --job imagenet.toml --nodes 8 --subbatch 4
  mlperf predict model.json --cnn mine.toml --machine mine-cluster.toml --dataset-size 1281167 --nodes 1,2,4,8 --json
  mlperf predict table-model.json --rows new.csv
"""
)
@model_argument
@request_options
@click.option("--rows", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="CSV to predict with a table's model.")
@click.option("--closed", type=Words(CLOSED_FORMS), default="convolution", help="Closed form of waits and barrier.")
@click.option("--method", type=Words(METHODS), default="learnt", help="How kernel times are predicted.")
@click.option("--what-if", "factors", type=Factors(), multiple=True, help="Scale a component: sum_gradient=0.25; may be repeated.")
@click.option("--level", type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True), default=0.95, help="Level of intervals.")
@strict_option
@seed_option
@plot_option
@output_options
def predict(
    model_path: Path,
    request: Request,
    rows: Path | None,
    closed: str,
    method: str,
    factors: tuple[tuple[str, float], ...],
    level: float,
    strict: bool,
    seed: int,
    show: Show,
) -> None:
    """Predict epoch time and mean mini-batch size of a CNN that was never run, or the rows of any table."""
    import mlperf

    model = mlperf.load_model(model_path)
    if rows is not None:
        from mlperf.systems.table_prediction import predict_rows

        show(predict_rows(model, rows, level=level, strict=strict), data_sha256=model.provenance["data_sha256"], seed=seed)
        return
    result = mlperf.predict_epoch(
        model,
        request.needed_cnns(),
        request.needed_machine(),
        request.needed_job(),
        n_nodes=request.n_nodes,
        n_gpus_per_node=request.n_gpus_per_node,
        subbatch_size=request.subbatch_size,
        closed=closed,
        method=method,
        factors=dict(factors),
        level=level,
        seed=seed,
        strict=strict,
    )
    show(result, data_sha256=model.provenance["data_sha256"], seed=seed)
