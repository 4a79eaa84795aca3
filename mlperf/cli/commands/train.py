"""``mlperf train``: from a campaign, or any table, to one model file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from mlperf.cli.framework.options import jobs_option, join_options, output_options, seed_option, system_option
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.systems import SPRINT, digests_of
from mlperf.cli.framework.values import NEW_FILE, OLD_FILE, FoldCount, NameList, NumberRange, TermList, Words
from mlperf.core.errors import UsageError

TABLE_OPTIONS = ("terms", "formula", "groups", "join", "on", "method", "totals", "direction", "criterion", "k", "na", "categorical")
NO_SET = "none"
TABLE_METHODS = ("auto", "ols", "log", "nonnegative", "quantile", "ratio", "local", "boosted", "boosted-log")
LIST = "list"
CRITERIA = ("aic", "bic", "aicc", "cp", "p_value", "adj_r2")


def list_methods(ctx: click.Context, _: click.Parameter, value: str | None) -> str | None:
    """Explain the methods and leave, where --method list asks for it."""
    if value != LIST:
        return value
    from mlperf.training.table.methods import explanation

    click.echo(explanation())
    return ctx.exit()


SYSTEM_OPTIONS = ("component", "factors", "apart", "features", "exchange", "latency_s", "bytes_per_s")
CAMPAIGN_OPTIONS = ("backend", "leave_out", "characteristics", "counters", "runs", "further", "repeats")


@click.command(
    epilog="""\b
Examples:
  mlperf train campaign/ -o model.json
  mlperf train times.csv --target time_ms
  mlperf train cpu-epyc --characteristics swc-s,dwc-b -o model.json
  mlperf train cpu-epyc --runs asgd-emulated --runs asgd-networks -o model.json
  mlperf train campaign/ --further mine/ -o model.json
  mlperf train times.csv --target time_ms -o model.json
  mlperf train times.csv --target time_ms --terms 'm*n*k, m*n, log2(n)' --groups device -o model.json
  mlperf train times.csv --join nests.csv --join counts.csv --on kernel --target time_s -o model.json
  mlperf train steps.csv --system data-parallel --factor device -o model.json
  mlperf train speeds.csv --system parameter-server -o model.json
  mlperf train runs.csv --system data-parallel --exchange exchange.csv --apart mode -o parts.json
  mlperf train constants/ --system model-parallel --latency 5e-6 --bandwidth 6e9 -o constants.json
  mlperf train allreduce.csv --system data-parallel --component exchange -o exchange.json
  mlperf train quality/ --target-accuracy 0.9 -o quality.json
  mlperf train times.csv --target time_ms --formula 'time_ms ~ a * b + poly(c, 2)' --noise absolute -o model.json
"""
)
@click.argument("source", metavar="SOURCE")
@click.option("-o", "--output", type=NEW_FILE, help="Model file to write (JSON).  [default: none, only shown]")
@click.option("--noise", type=Words(("relative", "absolute")), default="relative", help="Weights 1/t^2, or plain least squares.")
@click.option(
    "--folds",
    "n_folds",
    type=FoldCount(),
    help="Folds of the left-out error; 0 leaves out each CNN, or group.  [default: 10, of long tables 5]",
)
@click.option("--duplicates", type=Words(("keep", "drop", "error")), default="error", help="Fully identical rows.")
@click.option("--leave-out", multiple=True, metavar="CNN", help="CNN that nothing may be fitted on; may be repeated.")
@click.option(
    "--runs",
    multiple=True,
    metavar="CAMPAIGN",
    help="Asynchronous runs on the machine of SOURCE, whose components win over those measured alone; may be repeated.",
)
@click.option(
    "--further",
    multiple=True,
    metavar="CAMPAIGN",
    help="Further campaign on the machine of SOURCE, whose kernels and steps are fitted, too; may be repeated.",
)
@click.option(
    "--repeats",
    type=Words(("all", "median")),
    help="Asynchronous runs of a setting that count: all, or that of the median T_Update, the paper's rule.  [default: all]",
)
@click.option("--backend", help="Which engine's rows, where the campaign holds several.")
@click.option(
    "--characteristics",
    type=NameList(("swc-s", "swc-o", "dwc-b", NO_SET)),
    help="Further candidate terms of kernel times, comma-separated: swc-s, swc-o, dwc-b, or none.  [default: swc-s where the "
    "NumPy engine ran]",
)
@click.option(
    "--counters",
    type=OLD_FILE,
    help="Kernel counters for dwc-b, from mlperf collect kernel-counters.  [default: those of the campaign]",
)
@click.option("--target", metavar="COLUMN", help="Column to predict: SOURCE is one CSV table.")
@click.option(
    "--target-accuracy",
    type=NumberRange(0, 1, min_open=True, max_open=True),
    help="Epochs to this accuracy over mini-batch and staleness: SOURCE are runs of `mlperf collect asgd`.",
)
@click.option("--data-set", metavar="NAME", help="With --target-accuracy: the data set, where SOURCE has runs on several.")
@click.option("--terms", type=TermList(), help="Candidate terms: expressions over columns, comma-separated.")
@click.option("--formula", help="Candidate terms in R's language.")
@click.option(
    "--method",
    type=Words((*TABLE_METHODS, LIST)),
    is_eager=True,
    callback=list_methods,
    help="What predicts: auto compares all on left-out rows; --method list explains them.  [default: auto]",
)
@click.option(
    "--totals", type=Words(("free", "keep")), help="keep: one factor on predictions where it makes left-out totals truer."
)
@click.option("--direction", type=Words(("backward", "forward", "both")), help="Of the selection of terms.  [default: backward]")
@click.option("--criterion", type=Words(CRITERIA), help="Of the selection of terms.  [default: aic]")
@click.option("--k", type=NumberRange(min=0.0), help="Penalty for each parameter in the criterion.  [default: 2, of bic log n]")
@click.option("--na", type=Words(("error", "drop")), help="Rows with a missing cell in a column that is used.  [default: error]")
@click.option("--categorical", multiple=True, metavar="COLUMN", help="Column of labels that look like numbers; may be repeated.")
@click.option("--groups", "--group", "groups", metavar="COLUMN", help="Rows with an equal value stay in one fold.")
@system_option
@click.option("--component", type=Words(("exchange",)), help="With --system: train this component alone, on a table of its own.")
@click.option(
    "--factor", "factors", metavar="COLUMN", multiple=True, help="With --system: levels have own costs of work; may be repeated."
)
@click.option("--apart", metavar="COLUMN", multiple=True, help="With --system: levels are fitted by themselves; may be repeated.")
@click.option(
    "--feature", "features", metavar="COLUMN", multiple=True, help="With --system parameter-server: what makes up the service time."
)
@click.option(
    "--exchange",
    type=OLD_FILE,
    help="With --system data-parallel: isolated exchanges (CSV); the measured parts of the steps in SOURCE are then fitted apart.",
)
@click.option(
    "--latency", "latency_s", type=float, metavar="SECONDS", help="With --system model-parallel: of the network, if not measured."
)
@click.option(
    "--bandwidth", "bytes_per_s", type=float, metavar="BYTES/S", help="With --system model-parallel: of the network, likewise."
)
@join_options
@seed_option
@jobs_option
@output_options
def train(
    show: Show,
    source: str,
    output: Path | None,
    system: str | None,
    target: str | None,
    target_accuracy: float | None,
    n_jobs: int,
    **options: Any,
) -> None:
    """Fit a model of every component time of the campaign SOURCE (a folder or a bundled name).

    With --target, SOURCE is any CSV table and the model is one of that column; --join adds the columns of feature tables, such as
    `mlperf features` writes.
    """
    if system not in (None, SPRINT):
        model = system_model(source, str(system), target, options)
    elif target_accuracy is not None:
        model = epochs_model(source, target_accuracy, target, options)
    elif options["data_set"]:
        raise UsageError(
            "got --data-set without --target-accuracy, expected both", hint="Only epochs to an accuracy belong to a data set."
        )
    elif target:
        model = table_model(source, target, options)
    else:
        model = campaign_model(source, n_jobs, options)
    if output is not None:
        from mlperf import save_model

        save_model(model, output)
    show(model, data_sha256=digests_of(model), seed=options["seed"])
    show.note(
        "the model was not kept: -o model.json writes it, for mlperf predict and mlperf report"
        if output is None
        else f"model written to {output}; mlperf report {output} shows all that it rests on"
    )


def system_model(source: str, system: str, target: str | None, options: dict[str, Any]) -> Any:
    """Fit another system than SPRINT to a table of its own runs."""
    from mlperf.training.systems.by_system import train_for_system

    foreign = [name for name in (*TABLE_OPTIONS, *CAMPAIGN_OPTIONS) if name != "groups"]
    refuse(tuple(foreign), options, f"SOURCE is a table of runs (--system {system})")
    names = ("component", "groups", "factors", "apart", "features", "exchange", "latency_s", "bytes_per_s", "seed")
    return train_for_system(source, system, target=target, **{name: options[name] for name in names})


def campaign_model(source: str, n_jobs: int, options: dict[str, Any]) -> Any:
    """Fit every component of a campaign."""
    from mlperf import train as fit

    refuse((*TABLE_OPTIONS, *SYSTEM_OPTIONS), options, "SOURCE is a campaign (no --target given)")
    asked = given(options, but=(*TABLE_OPTIONS, *SYSTEM_OPTIONS))
    if NO_SET in asked.get("characteristics", ()):
        if len(asked["characteristics"]) > 1:
            raise UsageError(f"got --characteristics {','.join(asked['characteristics'])}, expected sets, or {NO_SET} alone")
        asked["characteristics"] = ()
    return fit(source, jobs=n_jobs, **asked)


def table_model(source: str, target: str, options: dict[str, Any]) -> Any:
    """Fit one column of a table."""
    from mlperf import train as fit

    refuse((*CAMPAIGN_OPTIONS, *SYSTEM_OPTIONS), options, "SOURCE is a table (--target given)")
    return fit(source, target=target, **given(options, but=(*CAMPAIGN_OPTIONS, *SYSTEM_OPTIONS)))


def epochs_model(source: str, target_accuracy: float, target: str | None, options: dict[str, Any]) -> Any:
    """Fit the epochs to an accuracy."""
    from mlperf.training.quality import fit_quality

    foreign = given(
        {"target": target or None} | {name: options[name] for name in (*TABLE_OPTIONS, *CAMPAIGN_OPTIONS, *SYSTEM_OPTIONS)}
    )
    if foreign:
        hint = "Epochs are fitted on mini-batch and staleness alone."
        raise UsageError(f"got {flags(foreign)} with --target-accuracy, expected neither", hint=hint)
    return fit_quality([source], target_accuracy, data=options["data_set"], seed=options["seed"])


def given(options: dict[str, Any], but: tuple[str, ...] = ()) -> dict[str, Any]:
    """The options that the line holds, without some."""
    return {name: value for name, value in options.items() if name not in but and value not in (None, ())}


def refuse(names: tuple[str, ...], options: dict[str, Any], source: str) -> None:
    """Refuse options that belong to the other kind of source."""
    foreign = given({name: options[name] for name in names})
    if foreign:
        raise UsageError(f"got {flags(foreign)}, but {source}", hint="Leave it out, or say which column to predict with --target.")


def flags(names: Iterable[str]) -> str:
    """Options as they are typed."""
    return ", ".join("--" + name.replace("_", "-") for name in names)
