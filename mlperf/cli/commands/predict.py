"""``mlperf predict``."""

from __future__ import annotations

from pathlib import Path

import click

from mlperf.cli.framework.options import (
    counter_options,
    join_options,
    model_argument,
    output_options,
    plot_option,
    seed_option,
    strict_option,
)
from mlperf.cli.framework.request import Request, request_options
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import Factors, Words

CLOSED_FORMS = ("convolution", "phases", "second_moment", "paper")
REFINEMENTS = ("recursion",)
METHODS = ("learnt", "linear", "ols", "paper")
N_ITERATIONS = 5000


@click.command(
    epilog="""\b
Examples:
  mlperf predict model.json --cnn vgg16 --machine kfc --job imagenet.toml --nodes 8 --subbatch 4
  mlperf predict model.json --cnn mine.toml --machine mine-cluster.toml --dataset-size 1281167 --nodes 1,2,4,8 --json
  mlperf predict model.json --cnn vgg16 --machine kfc --dataset-size 1281167 --nodes 8 --subbatch 4 --elasticities --plot run.svg
  mlperf predict model.json --cnn vgg16 --machine kfc --dataset-size 1281167 --nodes 8 --subbatch 4 --compare-forms --simulate
  mlperf predict model.json --cnn vgg16 --machine kfc --dataset-size 1281167 --nodes 8 --what-if sum_gradient=0.25
  mlperf predict model.json --cnn vgg16 --machine kfc --dataset-size 1281167 --nodes 2 --subbatch 4 --timeline threads.svg
  mlperf predict counters-model.json --cnn alexnet --machine kfc --dataset-size 1281167 --subbatch 4 --profile-run
  mlperf predict table-model.json --rows new.csv
  mlperf predict table-model.json --rows new-nests.csv --join new-counts.csv --on kernel
"""
)
@model_argument
@request_options
@click.option("--rows", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="CSV to predict with a table's model.")
@join_options
@counter_options
@click.option("--closed", type=Words(CLOSED_FORMS), default="convolution", help="Closed form of waits and barrier.")
@click.option("--refine", type=Words(REFINEMENTS), help="Refine the form convolution update by update (seconds a configuration).")
@click.option("--compare-forms", is_flag=True, help="Add a table of all forms and say which to believe.")
@click.option("--simulate", is_flag=True, help="Run Algorithms 1 and 2 event by event, and say where the equations differ.")
@click.option(
    "--iterations", "n_iterations", type=click.IntRange(min=100), default=N_ITERATIONS, help="Simulated iterations of each GPU."
)
@click.option(
    "--distributions", is_flag=True, help="Distributions of mini-batch and staleness of more than 32 configurations, too."
)
@click.option("--elasticities", is_flag=True, help="Add how much the outputs change with each component's time.")
@click.option(
    "--timeline",
    "timeline_path",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Simulate the one configuration and draw its threads (.svg, .png, .pdf) or write a Chrome trace (.json).",
)
@click.option("--method", type=Words(METHODS), default="learnt", help="How kernel times are predicted.")
@click.option(
    "--what-if", "factors", type=Factors(), multiple=True, help="Scale a component or wait: sum_gradient=0.25; may be repeated."
)
@click.option("--level", type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True), default=0.95, help="Level of intervals.")
@strict_option
@seed_option
@plot_option
@output_options
def predict(
    model_path: Path,
    request: Request,
    rows: Path | None,
    join: tuple[Path, ...],
    on: tuple[tuple[str, ...], ...],
    counters_from: str | None,
    closed: str,
    refine: str | None,
    compare_forms: bool,
    simulate: bool,
    n_iterations: int,
    distributions: bool,
    elasticities: bool,
    timeline_path: Path | None,
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
        from mlperf.planning.table_prediction import predict_rows

        keys = {"on": on} if on else {}
        found = predict_rows(model, rows, level=level, strict=strict, join=join, **keys)
        show(found, data_sha256=model.provenance["data_sha256"], seed=seed)
        return
    if counters_from is not None:
        from mlperf.training.with_counters import with_counters

        sizes = request.subbatch_size or request.needed_job().subbatch_size
        model = with_counters(model, request.needed_cnns(), sizes, counters_from)
        show.note(f"counters of the kernels from: {counters_from}")
    result = mlperf.predict_epoch(
        model,
        request.needed_cnns(),
        request.needed_machine(),
        request.needed_job(),
        n_nodes=request.n_nodes,
        n_gpus_per_node=request.n_gpus_per_node,
        subbatch_size=request.subbatch_size,
        closed=closed,
        refine=refine,
        compare_forms=compare_forms,
        simulate=n_iterations if simulate else None,
        distributions=True if distributions else None,
        elasticities=elasticities,
        method=method,
        factors=dict(factors),
        level=level,
        seed=seed,
        strict=strict,
    )
    if timeline_path is not None:
        from mlperf.planning import simulated_configuration
        from mlperf.report.pages.timelines import write_timeline

        threads = simulated_configuration(
            model, result, request.needed_cnns(), request.needed_machine(), method, dict(factors), seed
        )
        write_timeline(threads, timeline_path)
        show.note(f"timeline written to {timeline_path}")
    show(result, data_sha256=model.provenance["data_sha256"], seed=seed)
