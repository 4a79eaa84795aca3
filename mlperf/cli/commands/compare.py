"""``mlperf compare``: how far predictions are from measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mlperf.cli.commands.predict import METHODS
from mlperf.cli.framework.networks import CnnName
from mlperf.cli.framework.options import (
    join_options,
    machine_option,
    model_argument,
    output_options,
    plot_option,
    seed_option,
    system_option,
)
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.systems import FITTED, SPRINT, digests_of, is_fitted
from mlperf.cli.framework.values import NumberRange, Words
from mlperf.core.errors import UsageError


@click.command(
    epilog="""\b
Examples:
  mlperf compare model.json campaign/
  mlperf compare model.json campaign/ --only vgg11 --max-error 0.08 --plot compare.svg
  mlperf compare model.json asgd-networks
  mlperf compare model.json runs.csv --system data-parallel --machine cluster.toml
  mlperf compare constants.json ps_runs.csv --cnn mine.toml
  mlperf compare table-model.json measured.csv --by device
"""
)
@model_argument
@click.argument("source", metavar="SOURCE")
@system_option
@click.option("--only", "cnns", multiple=True, help="Compare this CNN only; may be repeated.")
@click.option(
    "--cnn",
    "networks",
    type=CnnName(),
    multiple=True,
    help="Network that rows of plans name; may be repeated.",
)
@machine_option
@click.option("--method", type=Words(METHODS), help="How kernel times are predicted.  [default: learnt]")
@click.option("--backend", help="Which engine's steps, where SOURCE names it otherwise than the model.")
@click.option("--by", metavar="COLUMN", help="Rows of a table: judge those with an equal value together, too.")
@join_options
@click.option("--max-error", type=NumberRange(min=0.0), help="Exit 1 when the mean relative error is above this fraction.")
@seed_option
@plot_option
@output_options
def compare(
    model_path: Path,
    source: str,
    system: str | None,
    networks: tuple[Path | str, ...],
    max_error: float | None,
    seed: int,
    show: Show,
    **options: Any,
) -> int:
    """Compare predictions with the training steps or asynchronous runs of the campaign SOURCE, or with the rows of a table."""
    import mlperf
    from mlperf.training.table.table_model import TableModel

    model = mlperf.load_model(model_path, "system", "table", *FITTED)
    if is_fitted(model):
        from mlperf.planning.systems.fitted import compare_fitted
        from mlperf.specs.zoo.zoo import find_cnn

        refuse({**options, "cnns": options["cnns"] or None}, "MODEL is of a system's own table")
        result: Any = compare_fitted(model, source, cnns=[find_cnn(name) for name in networks])
    elif networks:
        raise UsageError("got --cnn, but MODEL is no machine's constants", hint="--only picks networks of a campaign.")
    elif system not in (None, SPRINT):
        result = system_rows(model, str(system), source, seed, **options)
    else:
        compared = table_rows if isinstance(model, TableModel) else campaign_runs
        result = compared(model, source, seed, **options)
    show(result, data_sha256=digests_of(model), seed=seed)
    if max_error is None or result.mape <= max_error:
        return 0
    show.note(f"mean relative error {result.mape:.1%} is above {max_error:.1%}")
    return 1


def campaign_runs(
    model: Any,
    source: str,
    seed: int,
    *,
    cnns: tuple[str, ...],
    machine: Path | str | None,
    method: str | None,
    backend: str | None,
    **of_tables: Any,
) -> Any:
    """A campaign's steps or runs."""
    import mlperf
    from mlperf.specs.machine import find_machine

    refuse(of_tables, "MODEL is of a campaign")
    found = None if machine is None else find_machine(machine)
    return mlperf.compare_runs(
        model, source, cnns=cnns or None, machine=found, method=method or METHODS[0], backend=backend, seed=seed
    )


def system_rows(
    model: Any,
    system: str,
    source: str,
    seed: int,
    *,
    cnns: tuple[str, ...],
    machine: Path | str | None,
    method: str | None,
    **of_tables: Any,
) -> Any:
    """Measured runs of a system, one a row."""
    from mlperf.planning.systems.compare import compare_system

    refuse({**of_tables, "cnns": cnns}, f"--system {system} compares every row of a table")
    if machine is None:
        raise UsageError("got no --machine, expected the one that was measured", hint="A TOML file or a shipped name.")
    return compare_system(model, system, source, machine, method=method or METHODS[0], seed=seed)


def table_rows(
    model: Any, source: str, _: int, *, by: str | None, join: tuple[Path, ...], on: tuple[tuple[str, ...], ...], **of_campaigns: Any
) -> Any:
    """Rows of a table."""
    from mlperf.planning.table_comparison import compare_rows

    refuse(of_campaigns, f"MODEL is of a table ({model.target})")
    if source != "-" and not Path(source).is_file():
        hint = "A campaign is compared with the model of a campaign (mlperf train CAMPAIGN)."
        raise UsageError(f"got {source!r}, expected a table's file: MODEL is of a table ({model.target})", hint=hint)
    keys: dict[str, Any] = {"on": on} if on else {}
    return compare_rows(model, source, by=by, join=join, **keys)


def refuse(options: dict[str, Any], why: str) -> None:
    """Refuse options that belong to the other kind of model."""
    given = [name for name, value in options.items() if value not in (None, ())]
    if given:
        flags = ", ".join("--" + {"cnns": "only"}.get(name, name) for name in given)
        raise UsageError(f"got {flags}, but {why}", hint="Leave it out.")
