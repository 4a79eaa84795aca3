"""``mlperf train``: from a campaign, or any table, to one model file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mlperf.cli.framework.options import jobs_option, join_options, output_options, seed_option
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import NameList, TermList, Words
from mlperf.core.errors import UsageError

TABLE_OPTIONS = ("terms", "formula", "groups", "join", "on")
CAMPAIGN_OPTIONS = ("backend", "leave_out", "characteristics", "counters")


@click.command(
    epilog="""\b
Examples:
  mlperf train campaign/ -o model.json
  mlperf train cpu-epyc --characteristics swc-s,dwc-b -o model.json
  mlperf train times.csv --target time_ms --terms 'm*n*k, m*n, log2(n)' --groups device -o model.json
  mlperf train times.csv --join nests.csv --join counts.csv --on kernel --target time_s -o model.json
  mlperf train quality/ --target-accuracy 0.9 -o quality.json
  mlperf train times.csv --target time_ms --formula 'time_ms ~ a * b + poly(c, 2)' --noise absolute -o model.json
"""
)
@click.argument("source", metavar="SOURCE")
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False, path_type=Path), help="Model file to write (JSON).")
@click.option("--noise", type=Words(("relative", "absolute")), default="relative", help="Weights 1/t^2, or plain least squares.")
@click.option(
    "--folds", "n_folds", type=click.IntRange(min=0), help="Folds of the left-out error; 0 leaves out each CNN.  [default: 10]"
)
@click.option("--duplicates", type=Words(("keep", "drop", "error")), default="error", help="Fully identical rows.")
@click.option("--leave-out", multiple=True, metavar="CNN", help="CNN that nothing may be fitted on; may be repeated.")
@click.option("--backend", help="Which engine's rows, where the campaign holds several.")
@click.option(
    "--characteristics",
    type=NameList(("swc-s", "swc-o", "dwc-b")),
    default=(),
    help="Further candidate terms of kernel times, comma-separated: swc-s, swc-o, dwc-b.",
)
@click.option(
    "--counters",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Kernel counters for dwc-b, from mlperf collect kernel-counters.  [default: those of the campaign]",
)
@click.option("--target", metavar="COLUMN", help="Column to predict: SOURCE is one CSV table.")
@click.option(
    "--target-accuracy",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Epochs to this accuracy over mini-batch and staleness: SOURCE are runs of `mlperf collect asgd`.",
)
@click.option("--terms", type=TermList(), help="Candidate terms: expressions over columns, comma-separated.")
@click.option("--formula", help="Candidate terms in R's language.")
@click.option("--groups", "--group", "groups", metavar="COLUMN", help="Rows with an equal value stay in one fold.")
@join_options
@seed_option
@jobs_option
@output_options
def train(
    show: Show, source: str, output: Path, target: str | None, target_accuracy: float | None, n_jobs: int, **options: Any
) -> None:
    """Fit a model of every component time of the campaign SOURCE (a folder or a bundled name).

    With --target, SOURCE is any CSV table and the model is one of that column; --join adds the columns of feature tables, such as
    `mlperf features` writes.
    """
    if target_accuracy is not None:
        return learning(show, source, output, target_accuracy, target, options)
    from mlperf import save_model
    from mlperf import train as fit

    foreign = CAMPAIGN_OPTIONS if target else TABLE_OPTIONS
    refuse([name for name in foreign if options[name]], target)
    kept = {name: value for name, value in options.items() if name not in foreign and value not in (None, ())}
    model = fit(source, target=target, **kept) if target else fit(source, jobs=n_jobs, **kept)
    save_model(model, output)
    show(model, data_sha256=model.provenance["data_sha256"], seed=options["seed"])
    show.note(f"model written to {output}")
    return None


def learning(show: Show, source: str, output: Path, target_accuracy: float, target: str | None, options: dict[str, Any]) -> None:
    """Fit the epochs to an accuracy."""
    from mlperf import save_model
    from mlperf.training.quality import fit_quality

    given = [name for name in (*TABLE_OPTIONS, *CAMPAIGN_OPTIONS) if options[name]]
    if target or given:
        flags = ", ".join("--" + name.replace("_", "-") for name in (["target"] if target else []) + given)
        raise UsageError(
            f"got {flags} with --target-accuracy, expected neither", hint="Epochs are fitted on mini-batch and staleness alone."
        )
    model = fit_quality([source], target_accuracy, seed=options["seed"])
    save_model(model, output)
    show(model, data_sha256=model.provenance["data_sha256"], seed=options["seed"])
    show.note(f"model written to {output}")


def refuse(names: list[str], target: str | None) -> None:
    """Refuse options that belong to the other kind of source."""
    if names:
        flags = ", ".join("--" + name.replace("_", "-") for name in names)
        other = "SOURCE is a table (--target given)" if target else "SOURCE is a campaign (no --target given)"
        raise UsageError(f"got {flags}, but {other}", hint="Leave it out, or say which column to predict with --target.")
