"""``mlperf compare``: how far predictions are from measurements."""

from __future__ import annotations

from pathlib import Path

import click

from mlperf.cli.commands.predict import METHODS
from mlperf.cli.framework.options import machine_option, model_argument, output_options, plot_option, seed_option
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import Words


@click.command(
    epilog="""\b
Examples:
  mlperf compare model.json campaign/
  mlperf compare model.json campaign/ --only vgg11 --max-error 0.08 --plot compare.svg
"""
)
@model_argument
@click.argument("campaign", metavar="CAMPAIGN")
@click.option("--only", "cnns", multiple=True, help="Compare this CNN only; may be repeated.")
@machine_option
@click.option("--method", type=Words(METHODS), default="learnt", help="How kernel times are predicted.")
@click.option("--max-error", type=click.FloatRange(min=0.0), help="Exit 1 when the mean relative error is above this fraction.")
@seed_option
@plot_option
@output_options
def compare(
    model_path: Path,
    campaign: str,
    cnns: tuple[str, ...],
    machine: Path | str | None,
    method: str,
    max_error: float | None,
    seed: int,
    show: Show,
) -> int:
    """Compare predictions with measured training steps or asynchronous runs."""
    import mlperf
    from mlperf.specs.machine import find_machine

    model = mlperf.load_model(model_path, "system", "table")
    found = None if machine is None else find_machine(machine)
    result = mlperf.compare_runs(model, campaign, cnns=cnns or None, machine=found, method=method, seed=seed)
    show(result, data_sha256=model.provenance["data_sha256"], seed=seed)
    if max_error is None or result.mape <= max_error:
        return 0
    show.note(f"mean relative error {result.mape:.1%} is above {max_error:.1%}")
    return 1
