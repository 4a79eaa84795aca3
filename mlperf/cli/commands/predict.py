"""``mlperf predict``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mlperf.cli.framework.given import refuse_idle
from mlperf.cli.framework.options import (
    counter_options,
    exchange_option,
    join_options,
    model_or_bundled,
    output_options,
    plot_option,
    seed_option,
    settings_option,
    strict_option,
    system_option,
)
from mlperf.cli.framework.request import Request, request_options
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.systems import (
    FITTED,
    SPRINT,
    Settings,
    digests_of,
    is_fitted,
    read_exchange,
    refuse_of_sprint,
    refuse_of_systems,
)
from mlperf.cli.framework.values import NEW_FILE, NEW_ROWS, OLD_FILE, OLD_OR_INPUT, Factors, NumberRange, Words
from mlperf.cli.framework.whole_run import WholeRunAsked, whole_run_options
from mlperf.core.errors import UsageError

CLOSED_FORMS = ("phases", "convolution", "second_moment", "paper")
REFINEMENTS = ("recursion",)
METHODS = ("learnt", "linear", "ols", "paper")
N_ITERATIONS = 5000
NETWORK = (
    "cnns",
    "machine",
    "job",
    "n_nodes",
    "n_gpus_per_node",
    "subbatch_size",
    "dataset_size",
    "epochs",
    "system",
    "counters_from",
)
WHOLE = ("deadline", "price", "slurm", "probability", "run_path", "startup", "validation", "checkpoint", "checkpoint_every", "mtbf")
OF_SYSTEMS = (*NETWORK, *WHOLE, "settings", "exchange_path", "method", "factors", "observed")
OF_TABLE = "MODEL is of a system's own table"
GRID = ("n_nodes", "n_gpus_per_node", "subbatch_size", "settings")
"""Options that count for a network, for its whole run, for another system than SPRINT, for sizes of a fitted system."""


@click.command(
    epilog="""\b
Examples:
  mlperf predict model.json --cnn vgg16 --machine kfc --job imagenet.toml --nodes 8 --subbatch 4
  mlperf predict model.json --cnn mine.toml --machine mine-cluster.toml --dataset-size 1281167 --nodes 1,2,4,8 --json
  mlperf predict model.json --cnn vgg16 --machine kfc --dataset-size 1281167 --nodes 8 --subbatch 4 --elasticities --plot run.svg
  mlperf predict model.json --cnn vgg16 --machine kfc --dataset-size 1281167 --nodes 8 --subbatch 4 --compare-forms --simulate
  mlperf predict model.json --cnn vgg16 --machine kfc --dataset-size 1281167 --nodes 8 --what-if sum_gradient=0.25
  mlperf predict model.json --cnn vgg16 --machine kfc --dataset-size 1281167 --nodes 2 --subbatch 4 --timeline threads.svg
  mlperf predict model.json --cnn vgg16 --machine kfc --job imagenet.toml --nodes 8 --deadline 12h --price prices.toml
  mlperf predict model.json --cnn vgg16 --machine kfc --job imagenet.toml --nodes 8 --slurm --probability 0.99 -q
  mlperf predict counters-model.json --cnn alexnet --machine kfc --dataset-size 1281167 --subbatch 4 --profile-run
  mlperf predict --system data-parallel --cnn resnet50 --machine dgx-h100 --dataset-size 1281167 --nodes 1,2,4 --subbatch 32
  mlperf predict steps-model.json --nodes 1:16 --gpus-per-node 8 --subbatch 32
  mlperf predict constants.json --rows plans.csv --cnn mine.toml
  mlperf predict table-model.json --rows new.csv
  mlperf predict table-model.json --rows new.csv -o predicted.csv --by network
  mlperf predict table-model.json --rows new-nests.csv --join new-counts.csv --on kernel
"""
)
@model_or_bundled
@system_option
@settings_option
@exchange_option
@request_options
@click.option("--rows", type=OLD_OR_INPUT, help="Table to predict with a table's model; - is the standard input.")
@click.option("-o", "--output", type=NEW_ROWS, help="With --rows: write every row with its prediction as CSV.")
@click.option("--by", metavar="COLUMN", help="With --rows: sum the predictions of rows with an equal value.")
@join_options
@counter_options
@click.option("--closed", type=Words(CLOSED_FORMS), default=CLOSED_FORMS[0], help="Closed form of waits and barrier.")
@click.option("--refine", type=Words(REFINEMENTS), help="Refine the closed form update by update (seconds a configuration).")
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
    type=NEW_FILE,
    help="Simulate the one configuration and draw its threads (.svg, .png, .pdf) or write a Chrome trace (.json).",
)
@click.option("--method", type=Words(METHODS), default="learnt", help="How kernel times are predicted.")
@click.option(
    "--what-if", "factors", type=Factors(), multiple=True, help="Scale a component or wait: sum_gradient=0.25; may be repeated."
)
@click.option("--observed", type=OLD_FILE, help="Measured steps or components (CSV) that the prediction is calibrated on.")
@click.option("--level", type=NumberRange(0.0, 1.0, min_open=True, max_open=True), default=0.95, help="Level of intervals.")
@whole_run_options
@strict_option
@seed_option
@plot_option
@output_options
def predict(
    model_path: Path | None,
    system: str | None,
    settings: Settings,
    exchange_path: Path | None,
    request: Request,
    rows: Path | None,
    output: Path | None,
    by: str | None,
    join: tuple[Path, ...],
    on: tuple[tuple[str, ...], ...],
    counters_from: str | None,
    timeline_path: Path | None,
    observed: Path | None,
    whole: WholeRunAsked,
    show: Show,
    **options: Any,
) -> None:
    """Predict epoch time and mean mini-batch size of a CNN that was never run, or the rows of any table."""
    from mlperf import load_model
    from mlperf.studies.model_files import model_for

    path = model_path or model_for(request.machine, request.cnns)
    model = load_model(path, "system", "table", *FITTED)
    if is_fitted(model):
        refuse_of_fitted(model, system, rows)
        predict_fitted_rows(model, rows, dict(settings), request, output, options, show)
        return
    if rows is not None:
        if whole or observed is not None:
            raise UsageError(
                "got --observed or an option of the whole run with --rows, expected networks",
                hint="Rows have no epochs; mlperf calibrate brings rows to measured ones.",
            )
        refuse_idle(("rows", "output", "by", "join", "on"), "rows of a table are predicted")
        asked = {"join": join, "by": by, **({"on": on} if on else {})}
        predict_table_rows(model, rows, asked, output, (Path(path), rows, *join), options, show)
        return
    if output is not None or by is not None:
        raise UsageError("got -o or --by without --rows, expected the rows of a table", hint="For example --rows new.csv.")
    if system not in (None, SPRINT):
        refuse_of_sprint({"--timeline": timeline_path, **of_sprint(options)}, str(system))
        refuse_idle(OF_SYSTEMS, f"--system {system} has no such thing, or it needs --rows")
        options |= {"exchange": read_exchange(exchange_path), "observed": observed}
        predict_systems(counted(model, request, counters_from, show), str(system), settings, request, options, whole, show)
        return
    refuse_of_systems(settings, exchange_path)
    predict_networks(model, request, counters_from, timeline_path, {**options, "observed": observed}, whole, show)


def refuse_of_fitted(model: Any, system: str | None, rows: Path | None) -> None:
    """Refuse what the model of a system's own table cannot obey."""
    from mlperf.training.systems.constants_model import ConstantsModel

    own = {"cnns"} if isinstance(model, ConstantsModel) else set[str]()
    if rows is None:
        refuse_idle({"output", "system", *GRID, *own}, f"{OF_TABLE}, asked for sizes")
    else:
        refuse_idle({"rows", "output", "system", *own}, f"{OF_TABLE}, asked for the rows of a file")
    known = getattr(model, "system", None)
    if system is not None and known is not None and system != known:
        raise UsageError(f"got --system {system}, but MODEL is of the system {known}", hint="Leave --system out.")


def predict_fitted_rows(
    model: Any,
    rows: Path | None,
    settings: dict[str, tuple[float, ...]],
    request: Request,
    output: Path | None,
    options: dict[str, Any],
    show: Show,
) -> None:
    """Rows, or a grid of sizes, of a system that was fitted to a table of its own."""
    from mlperf.planning.systems.fitted import fitted_grid, predict_fitted
    from mlperf.planning.table_output import write_frame
    from mlperf.report.text.answer import count_text

    if rows is None:
        asked: Any = fitted_grid(model, {**request.sizes, **settings})
    else:
        asked = rows
    found = predict_fitted(model, asked, options["level"], strict=options["strict"], cnns=request.cnns)
    if output is not None:
        write_frame(found.to_frame(), output, () if rows is None else (rows,))
        show.note(f"{count_text(len(found.rows), 'row')} written to {output}")
    show(found, data_sha256=digests_of(model), seed=options["seed"])


def of_sprint(options: dict[str, Any]) -> dict[str, Any]:
    """The flags that only the SPRINT equations understand, as given."""
    flags = ("refine", "compare_forms", "simulate", "distributions", "elasticities")
    return {f"--{name.replace('_', '-')}": options[name] for name in flags}


def predict_systems(
    model: Any,
    system: str,
    settings: Settings,
    request: Request,
    options: dict[str, Any],
    whole: WholeRunAsked,
    show: Show,
) -> None:
    """Epochs of networks under another system than SPRINT."""
    from mlperf import predict_system

    names = ("method", "level", "seed", "strict", "exchange")
    given = {name: options[name] for name in names} | {"factors": dict(options["factors"])}
    given |= {"settings": dict(settings), **request.sizes}
    cnns, machine, job = request.needed_cnns(), request.needed_machine(), request.needed_job()
    if options["observed"] is None:
        result = predict_system(model, system, cnns, machine, job, **given)
    else:
        from mlperf.planning.calibration.observed_systems import predict_system_observed

        result = predict_system_observed(model, system, cnns, machine, job, options["observed"], **given)
    show_or_whole_run(model, result, machine, request, options, whole, show)


def show_or_whole_run(
    model: Any, result: Any, machine: Any, request: Request, options: dict[str, Any], whole: WholeRunAsked, show: Show
) -> None:
    """Show a prediction, or the whole run that it makes where one was asked for."""
    told = {"data_sha256": model.provenance["data_sha256"], "seed": options["seed"]}
    if whole:
        whole.show(whole.of(result, machine, request.needed_job(), options["seed"]), show, **told)
        return
    show(result, **told)


def predict_table_rows(
    model: Any, rows: Path, asked: dict[str, Any], output: Path | None, read: tuple[Path, ...], options: dict[str, Any], show: Show
) -> None:
    """The target of each row of a table, shown or written."""
    from mlperf.planning.table_output import write_rows
    from mlperf.planning.table_prediction import predict_rows

    found = predict_rows(model, rows, level=options["level"], strict=options["strict"], **asked)
    result = found if output is None else write_rows(found, output, read)
    show(result, data_sha256=model.provenance["data_sha256"], seed=options["seed"])


def predict_networks(
    model: Any,
    request: Request,
    counters_from: str | None,
    timeline_path: Path | None,
    options: dict[str, Any],
    whole: WholeRunAsked,
    show: Show,
) -> None:
    """Epochs of networks on a cluster, and the threads of one configuration."""
    from mlperf import predict_epoch
    from mlperf.training.table.table_model import TableModel

    if isinstance(model, TableModel):
        hint = "Name the table: --rows FILE. Networks are predicted with the model of a campaign (mlperf train CAMPAIGN)."
        raise UsageError(f"got the model of a table ({model.target}) without --rows, expected rows to predict", hint=hint)
    model = counted(model, request, counters_from, show)
    observed = options.pop("observed")
    chosen = prediction_options(**options)
    cnns, machine = request.needed_cnns(), request.needed_machine()
    if observed is None:
        result = predict_epoch(model, cnns, machine, request.needed_job(), **request.sizes, **chosen)
    else:
        from mlperf.planning.calibration.observed import predict_observed

        if timeline_path is not None:
            raise UsageError("got --timeline with --observed, expected one", hint="A timeline shows what the model says by itself.")
        result = predict_observed(model, cnns, machine, request.needed_job(), observed, **request.sizes, **chosen)
    if timeline_path is not None:
        from mlperf.planning import PredictionOptions, simulated_configuration
        from mlperf.report.pages.timelines import write_timeline

        asked = PredictionOptions(**chosen, optimizer=request.needed_job().optimizer)
        write_timeline(simulated_configuration(model, result, cnns, machine, asked), timeline_path)
        show.note(f"timeline written to {timeline_path}")
    show_or_whole_run(model, result, machine, request, options, whole, show)


def counted(model: Any, request: Request, counters_from: str | None, show: Show) -> Any:
    """The model with counters of the networks to predict, where they were asked for."""
    if counters_from is None:
        return model
    from mlperf.training.with_counters import with_counters

    sizes = request.subbatch_size or request.needed_job().subbatch_size
    found: Any = with_counters(model, request.needed_cnns(), sizes, counters_from)
    show.note(f"counters of the kernels from: {found.gradient.characteristics.source}")
    return found


def prediction_options(
    *, simulate: bool, n_iterations: int, distributions: bool, factors: tuple[tuple[str, float], ...], **others: Any
) -> dict[str, Any]:
    """What the flags say as options of `mlperf.predict_epoch`."""
    return {
        **others,
        "simulate": n_iterations if simulate else None,
        "distributions": True if distributions else None,
        "factors": dict(factors),
    }
