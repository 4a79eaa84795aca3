"""``mlperf train``: from a campaign, or any table, to one model file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mlperf.cli.options import jobs_option, output_options, seed_option
from mlperf.cli.show import Show
from mlperf.cli.values import TermList, Words
from mlperf.core.errors import UsageError

TABLE_OPTIONS = ("terms", "formula", "groups")
CAMPAIGN_OPTIONS = ("backend", "leave_out")


@click.command(
    epilog="""\b
Examples:
  mlperf train campaign/ -o model.json
  mlperf train times.csv --target time_ms --terms 'm*n*k, m*n, log2(n)' --groups device -o model.json
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
@click.option("--target", metavar="COLUMN", help="Column to predict: SOURCE is one CSV table.")
@click.option("--terms", type=TermList(), help="Candidate terms: expressions over columns, comma-separated.")
@click.option("--formula", help="Candidate terms in R's language.")
@click.option("--groups", metavar="COLUMN", help="Rows with an equal value stay in one fold.")
@seed_option
@jobs_option
@output_options
def train(show: Show, source: str, output: Path, target: str | None, n_jobs: int, **options: Any) -> None:
    """Fit a model of every component time of the campaign SOURCE (a folder or a bundled name).

    With --target, SOURCE is any CSV table and the model is one of that column.
    """
    from mlperf import save_model
    from mlperf import train as fit

    foreign = CAMPAIGN_OPTIONS if target else TABLE_OPTIONS
    refuse([name for name in foreign if options[name]], target)
    kept = {name: value for name, value in options.items() if name not in foreign and value is not None}
    model = fit(source, target=target, **kept) if target else fit(source, jobs=n_jobs, **kept)
    save_model(model, output)
    show(model, data_sha256=model.provenance["data_sha256"], seed=options["seed"])
    show.note(f"model written to {output}")


def refuse(names: list[str], target: str | None) -> None:
    """Refuse options that belong to the other kind of source."""
    if names:
        flags = ", ".join("--" + name.replace("_", "-") for name in names)
        other = "SOURCE is a table (--target given)" if target else "SOURCE is a campaign (no --target given)"
        raise UsageError(f"got {flags}, but {other}", hint="Leave it out, or say which column to predict with --target.")
